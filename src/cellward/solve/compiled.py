"""Compiled: loops over whole numbers in machine code, by numba, which is loaded when the first of them is called."""

from __future__ import annotations

import importlib
from collections.abc import Callable
from functools import cache
from typing import Any


@cache
def compiled(function: Callable[..., Any]) -> Callable[..., Any]:
    """The function in machine code, kept on disk where there is a place for it, and beside other threads while it runs."""
    numba = importlib.import_module("numba")
    try:
        return numba.njit(cache=True, nogil=True)(function)  # type: ignore[no-any-return]
    except RuntimeError:  # no folder to keep it in
        return numba.njit(nogil=True)(function)  # type: ignore[no-any-return]
