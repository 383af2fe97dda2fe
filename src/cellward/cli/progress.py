"""Progress: a bar on a terminal, sparse lines in a log, and what Ctrl-C does."""

from __future__ import annotations

import contextlib
import os
import signal
import sys
import threading
from collections.abc import Callable, Iterator
from contextvars import ContextVar
from typing import Final

from cellward.cli.exits import say
from cellward.protect.stopped import Stopped
from cellward.protection import Protection
from cellward.solve.budget import Budget
from cellward.solve.watch import Standing

AFTER_S: Final = 2.0
"""What ends sooner draws no bar."""
LINES_S: Final = 10.0
"""The time between two lines where standard error is no terminal."""
DRAWN_S: Final = 0.2


_silent: ContextVar[bool] = ContextVar("silent", default=False)


@contextlib.contextmanager
def silent() -> Iterator[None]:
    """While in here, nothing is drawn and no lines are written."""
    token = _silent.set(True)
    try:
        yield
    finally:
        _silent.reset(token)


@contextlib.contextmanager
def bar(what: str) -> Iterator[Callable[[int, int], None] | None]:
    """A bar of how much is done, on a terminal only."""
    if _silent.get() or not sys.stderr.isatty():
        yield None
        return
    latest = Latest(what)
    with _drawn(latest):
        yield latest.counted


@contextlib.contextmanager
def spinner(what: str) -> Iterator[None]:
    """A bar that moves to and fro while something runs, on a terminal only."""
    if _silent.get() or not sys.stderr.isatty():
        yield
        return
    with _drawn(Latest(what)):
        yield


@contextlib.contextmanager
def _drawn(latest: Latest) -> Iterator[None]:
    done = threading.Event()
    drawing = threading.Thread(target=_draw, args=(latest, Budget(), done), daemon=True)
    drawing.start()
    try:
        yield
    finally:
        done.set()
        drawing.join()


@contextlib.contextmanager
def told(budget: Budget, *, quiet: bool = False) -> Iterator[None]:
    """While in here, whoever looks on sees how far the job is: a bar on a terminal, a line now and then elsewhere unless ``quiet``."""
    terminal, done = sys.stderr.isatty(), threading.Event()
    if _silent.get() or (quiet and not terminal):
        yield
        return
    latest = Latest("")
    budget.watch.listener, before = latest, budget.watch.listener
    budget.watch.tell()
    drawing = threading.Thread(target=_draw if terminal else _write_lines, args=(latest, budget, done), daemon=True)
    drawing.start()
    try:
        yield
    finally:
        budget.watch.listener = before
        done.set()
        drawing.join()


class Latest:
    """The last that was told, for whoever draws it when it is time."""

    def __init__(self, what: str) -> None:
        self.what = what
        self.standing = Standing(phase=what)
        self.share: tuple[int, int] | None = None

    def __call__(self, standing: Standing) -> None:
        """Keep it."""
        self.standing = standing

    def counted(self, done: int, every: int) -> None:
        """So much is done, of so much."""
        self.share = done, every
        self.standing = Standing(phase=f"{self.what}, {done:,} of {every:,}")

    def passed(self, budget: Budget) -> tuple[float | None, float | None]:
        """How far the bar is, and of how much: what is done, or else the time; without a limit it moves to and fro."""
        if self.share is not None:
            return float(self.share[0]), float(self.share[1])
        limit = budget.time_limit_s
        return (None, None) if limit is None else (min(budget.spent, limit), limit)

    def clock(self, budget: Budget) -> str:
        """The time that has passed, and that which is left, as far as it can be told."""
        spent, left = budget.spent, budget.left
        if self.share is not None and self.share[0]:
            left = spent * (self.share[1] - self.share[0]) / self.share[0]
        return f"{spent:.0f} s" + ("" if left is None else f", {left:.0f} s left")


def _write_lines(latest: Latest, budget: Budget, done: threading.Event) -> None:
    while not done.wait(LINES_S):
        say(f"{latest.standing} ({budget.spent:.0f} s)")


def _draw(latest: Latest, budget: Budget, done: threading.Event) -> None:
    """Drawn after a while, and again and again."""
    if done.wait(AFTER_S):
        return
    from rich.console import Console
    from rich.progress import BarColumn, Progress, TextColumn

    columns = (
        TextColumn("{task.description}", markup=False),
        BarColumn(),
        TextColumn("{task.fields[clock]}", markup=False),
    )
    console = Console(stderr=True)
    with Progress(*columns, console=console, transient=True, redirect_stdout=False, redirect_stderr=False) as progress:
        task = progress.add_task(str(latest.standing), total=latest.passed(budget)[1], clock=latest.clock(budget))
        while not done.wait(DRAWN_S):
            completed, total = latest.passed(budget)
            progress.update(
                task, description=str(latest.standing), completed=completed, total=total, clock=latest.clock(budget)
            )


@contextlib.contextmanager
def ending_on_interrupt() -> Iterator[None]:
    """Ctrl-C ends the program at once, but for the first in a search, which stops it: nothing is being written meanwhile."""
    if threading.current_thread() is not threading.main_thread():
        yield
        return

    def at_once(*_: object) -> None:
        signal.signal(signal.SIGINT, signal.SIG_DFL)
        say("interrupted; nothing was written")
        os.kill(os.getpid(), signal.SIGINT)

    before = signal.signal(signal.SIGINT, at_once)
    try:
        yield
    finally:
        signal.signal(signal.SIGINT, before)


def best_of(protect: Callable[[], Protection]) -> Protection:
    """What a protection comes to; where Ctrl-C stops it, the best it has."""
    with ending_on_interrupt():
        try:
            return protect()
        except Stopped as stop:
            if stop.best.publication is not None:
                say("the search was stopped; what it found is written if it protects, Ctrl-C again to end at once")
            return stop.best
