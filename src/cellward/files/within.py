"""Paths that a file names: below the folder of that file, unless who runs it allows more."""

from __future__ import annotations

import contextlib
import os
from collections.abc import Iterator
from contextvars import ContextVar
from pathlib import Path

from cellward.errors import InputError, brief

_outside: ContextVar[bool] = ContextVar("outside", default=False)


@contextlib.contextmanager
def allowing_outside(*, allowed: bool = True) -> Iterator[None]:
    """Whether files read in this block may name others outside their own folder; never for a file to say itself."""
    token = _outside.set(allowed or _outside.get())
    try:
        yield
    finally:
        _outside.reset(token)


def within(reference: str, referrer: Path, where: str = "") -> Path:
    """The path that ``referrer`` names, seen from its folder; refused outside of it: absolute, by ``..``, or through a link."""
    path = Path(os.path.normpath(referrer.parent / reference))
    if _outside.get():
        return path
    try:
        root, real = referrer.parent.resolve(), path.resolve()
    except (OSError, ValueError, RuntimeError) as error:
        raise InputError(f"{where or referrer}: {brief(reference)} is no path ({error}); correct it") from None
    if not real.is_relative_to(root):
        raise InputError(
            f"{where or referrer}: {brief(reference)} is outside the folder of {referrer.name}; put it there, or allow it with --allow-outside"
        )
    return path
