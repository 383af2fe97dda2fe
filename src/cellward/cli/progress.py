"""Progress: a bar on a terminal, sparse lines in a log, and what Ctrl-C does."""

from __future__ import annotations

import contextlib
import os
import signal
import sys
import threading
from collections.abc import Callable, Iterator
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


@contextlib.contextmanager
def bar(what: str) -> Iterator[Callable[[int, int], None] | None]:
    """A progress bar, on a terminal only."""
    if not sys.stderr.isatty():
        yield None
        return
    from rich.console import Console
    from rich.progress import Progress

    with Progress(console=Console(stderr=True), transient=True) as progress:
        task = progress.add_task(what, total=None)
        yield lambda done, total: progress.update(task, completed=done, total=total)


@contextlib.contextmanager
def spinner(what: str) -> Iterator[None]:
    """A spinner while something runs, on a terminal only."""
    if not sys.stderr.isatty():
        yield
        return
    from rich.console import Console

    with Console(stderr=True).status(f"{what} …"):
        yield


@contextlib.contextmanager
def told(budget: Budget, *, quiet: bool = False) -> Iterator[None]:
    """While in here, whoever looks on sees how far the job is: a bar on a terminal, a line now and then elsewhere unless ``quiet``."""
    terminal, done = sys.stderr.isatty(), threading.Event()
    if quiet and not terminal:
        yield
        return
    latest = Latest()
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

    def __init__(self) -> None:
        self.standing = Standing(phase="")

    def __call__(self, standing: Standing) -> None:
        """Keep it."""
        self.standing = standing


def words(standing: Standing) -> str:
    """How far a job is, but for the time.

    >>> words(Standing(phase="solving", incumbent=1250.0, bound=1000.0))
    'solving: best 1,250, bound 1,000, gap 20 %'
    """
    parts = []
    if standing.incumbent is not None:
        parts.append(f"best {_number(standing.incumbent)}")
    if standing.bound is not None:
        parts.append(f"bound {_number(standing.bound)}")
    if standing.gap is not None:
        parts.append(f"gap {100 * standing.gap:.3g} %")
    return f"{standing.phase}: {', '.join(parts)}" if parts else standing.phase


def _number(x: float) -> str:
    return f"{round(x):,}" if abs(x) >= 100 or x == round(x) else f"{x:.4g}"


def _write_lines(latest: Latest, budget: Budget, done: threading.Event) -> None:
    while not done.wait(LINES_S):
        say(f"{words(latest.standing)} ({budget.spent:.0f} s)")


def _draw(latest: Latest, budget: Budget, done: threading.Event) -> None:
    """The bar is the time that has passed of the limit; without a limit it moves to and fro."""
    if done.wait(AFTER_S):
        return
    from rich.console import Console
    from rich.progress import BarColumn, Progress, TextColumn

    columns = (TextColumn("{task.description}", markup=False), BarColumn(), TextColumn("{task.fields[spent]:.0f} s"))
    console = Console(stderr=True)
    with Progress(*columns, console=console, transient=True, redirect_stdout=False, redirect_stderr=False) as progress:
        task = progress.add_task(words(latest.standing), total=budget.time_limit_s, spent=budget.spent)
        while not done.wait(DRAWN_S):
            limit = budget.time_limit_s
            passed = None if limit is None else min(budget.spent, limit)
            progress.update(task, description=words(latest.standing), completed=passed, spent=budget.spent)


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
