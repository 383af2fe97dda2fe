"""Own words: standard output holds what the command line says and nothing else; what compiled libraries print there goes to standard error.

HiGHS prints lines of its own on some tables whatever its options say, and one of them would spoil the object that ``--json`` promises.
"""

from __future__ import annotations

import contextlib
import io
import os
import sys
from collections.abc import Iterator


@contextlib.contextmanager
def own_words() -> Iterator[None]:
    """While this lasts, only Python's ``sys.stdout`` reaches standard output."""
    before = sys.stdout
    try:
        plain = before.fileno() == 1 and sys.stderr.fileno() == 2
    except (AttributeError, OSError, ValueError, io.UnsupportedOperation):
        plain = False
    if not plain:  # somebody else has taken standard output for themselves
        yield
        return
    before.flush()
    kept = os.dup(1)
    os.dup2(2, 1)
    lines = 1 if before.isatty() else -1
    sys.stdout = open(os.dup(kept), "w", buffering=lines, encoding=before.encoding, errors=before.errors)  # noqa: PTH123, SIM115
    try:
        yield
    finally:
        with contextlib.suppress(OSError):
            sys.stdout.close()
        sys.stdout = before
        os.dup2(kept, 1)
        os.close(kept)
