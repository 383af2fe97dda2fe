"""Scratch space: one private folder a process for what libraries put on the disk, made on first need and removed at the end.

It stands in CELLWARD_SCRATCH, or else in the temporary directory. A process that was killed cannot remove its own; the next one does.
"""

from __future__ import annotations

import atexit
import contextlib
import os
import shutil
import tempfile
from collections.abc import Iterator
from pathlib import Path

from cellward.errors import InputError
from cellward.files.claimed import Claim, claim_new, left_behind

VARIABLE = "CELLWARD_SCRATCH"
PREFIX = "cellward-scratch-"

_own: Claim | None = None


def scratch_base() -> Path:
    """Where scratch space stands."""
    given = os.environ.get(VARIABLE)
    base = Path(given) if given else Path(tempfile.gettempdir())
    if not base.is_dir():
        raise InputError(f"{base}: there is no such folder for scratch files; make it, or set {VARIABLE} to another")
    return base.resolve()


def scratch() -> Path:
    """The folder of this process (mode 0700)."""
    global _own
    if _own is None or not _own.path.is_dir():
        base = scratch_base()
        sweep()
        try:
            _own = claim_new(base, PREFIX)
        except OSError as error:
            raise InputError(
                f"{base}: no scratch folder can be made there ({error.strerror}); set {VARIABLE} to a folder where one can"
            ) from error
    return _own.path


@contextlib.contextmanager
def scratch_folder() -> Iterator[Path]:
    """A folder in the scratch space for one purpose, removed afterwards."""
    with tempfile.TemporaryDirectory(dir=scratch(), ignore_cleanup_errors=True) as folder:
        yield Path(folder)


def sweep() -> None:
    """Remove what killed processes of this user left in the scratch space."""
    with contextlib.suppress(InputError):
        for folder in left_behind(scratch_base(), PREFIX):
            shutil.rmtree(folder, ignore_errors=True)


def remove_scratch() -> None:
    """Remove the folder of this process, if there is one; the next need makes another."""
    global _own
    ended, _own = _own, None
    if ended is not None:
        shutil.rmtree(ended.path, ignore_errors=True)
        ended.give_up()


def _disown() -> None:
    """In a forked child: the folder stayed with the parent."""
    global _own
    ended, _own = _own, None
    if ended is not None:
        ended.give_up()


atexit.register(remove_scratch)
if hasattr(os, "register_at_fork"):
    os.register_at_fork(after_in_child=_disown)
