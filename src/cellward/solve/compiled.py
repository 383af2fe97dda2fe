"""Compiled: loops over whole numbers in machine code, by numba, which is loaded when the first of them is asked for.

The first use on a machine compiles for a second or more (kept on disk afterwards). It is done in a thread of its own, since an alarm or Ctrl-C in the
middle of it would be lost in the compiler: who asks waits as long as his time lasts, and goes without where it does not.
"""

from __future__ import annotations

import importlib
import threading
from collections.abc import Callable
from functools import cache
from typing import Any

from cellward.solve.budget import Budget


def compiled(function: Callable[..., Any], budget: Budget, *arguments: Any) -> Callable[..., Any] | None:
    """The function in machine code for arguments such as these, or None where it is not there when the time is over."""
    loop = _Loop.of(function)
    making = loop.made_for(tuple(_kind(argument) for argument in arguments), arguments)
    making.join(budget.left)
    return None if making.is_alive() else loop.call


class _Loop:
    """One function, and the threads that compile it for each kind of arguments."""

    def __init__(self, function: Callable[..., Any]) -> None:
        self.function = function
        self.making: dict[tuple[str, ...], threading.Thread] = {}
        self.lock = threading.Lock()

    @staticmethod
    @cache
    def of(function: Callable[..., Any]) -> _Loop:
        return _Loop(function)

    @property
    def call(self) -> Callable[..., Any]:
        return _dispatcher(self.function)

    def made_for(self, kinds: tuple[str, ...], arguments: tuple[Any, ...]) -> threading.Thread:
        """The thread that makes it, or has made it."""
        with self.lock:
            if kinds not in self.making:
                thread = threading.Thread(target=self._make, args=(arguments,), name="compiling")
                thread.start()
                self.making[kinds] = thread
            return self.making[kinds]

    def _make(self, arguments: tuple[Any, ...]) -> None:
        dispatcher: Any = self.call
        typeof = importlib.import_module("numba").typeof
        dispatcher.compile(tuple(typeof(argument) for argument in arguments))


@cache
def _dispatcher(function: Callable[..., Any]) -> Callable[..., Any]:
    """Kept on disk where there is a place for it, and beside other threads while it runs."""
    numba = importlib.import_module("numba")
    try:
        return numba.njit(cache=True, nogil=True)(function)  # type: ignore[no-any-return]
    except RuntimeError:  # no folder to keep it in
        return numba.njit(nogil=True)(function)  # type: ignore[no-any-return]


def _kind(argument: Any) -> str:
    return f"{type(argument).__name__} {getattr(argument, 'dtype', '')}"
