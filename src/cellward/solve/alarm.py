"""Alarm: the end of a job's time, rung where work goes on that does not look at its clock (reading, tabulating, a long step of numpy)."""

from __future__ import annotations

import contextlib
import signal
import threading
from collections.abc import Iterator
from types import FrameType
from typing import Final

from cellward.errors import TimeLimitError
from cellward.solve.budget import Budget

GRACE_S, GRACE_SHARE = 0.1, 0.01
"""How long after the end it rings: whoever looks at the clock has ended by then."""
AGAIN_S: Final = 0.5
"""How soon it rings again, where a library took the first for an error of its own."""
WRITING: Final = "writing"
"""The phase that it leaves alone: what is complete is written."""


@contextlib.contextmanager
def alarm(budget: Budget) -> Iterator[None]:
    """Work that raises TimeLimitError soon after the budget's end, in one sentence that names the phase.

    It rings in the main thread of systems with interval timers; within another alarm, or a program that uses SIGALRM itself, it does not. What looks
    at its clock ends in time everywhere.
    """
    if not _free() or budget.left is None:
        yield
        return
    rang = False

    def ring(_signal: int, _frame: FrameType | None) -> None:
        nonlocal rang
        if budget.watch.phase != WRITING:
            rang = True
            raise late(budget)

    before = signal.signal(signal.SIGALRM, ring)
    signal.setitimer(signal.ITIMER_REAL, budget.left + GRACE_S + GRACE_SHARE * (budget.time_limit_s or 0.0), AGAIN_S)
    try:
        yield
    except TimeLimitError:
        raise
    except BaseException as error:
        if rang and signal.getsignal(signal.SIGALRM) is ring:  # not silenced: what went wrong is that it rang
            raise late(budget) from error
        raise
    finally:
        signal.setitimer(signal.ITIMER_REAL, 0.0)
        signal.signal(signal.SIGALRM, before)


def silence() -> None:
    """No more rings: who had to hear it has."""
    if threading.current_thread() is threading.main_thread() and hasattr(signal, "setitimer"):
        handler = signal.getsignal(signal.SIGALRM)
        if getattr(handler, "__module__", None) == __name__:
            signal.setitimer(signal.ITIMER_REAL, 0.0)
            signal.signal(signal.SIGALRM, signal.SIG_IGN)


def late(budget: Budget) -> TimeLimitError:
    """The sentence of a job that has nothing to give at its end."""
    limit, phase = budget.time_limit_s, budget.watch.phase or "at work"
    return TimeLimitError(
        f"the time limit of {limit:g} s came while {phase} ({budget.spent:.1f} s); give more time (time_limit_s), or a smaller table"
    )


def _free() -> bool:
    """Whether there are interval timers, we may hear them, and nobody else uses them."""
    return (
        hasattr(signal, "setitimer")
        and threading.current_thread() is threading.main_thread()
        and signal.getsignal(signal.SIGALRM) is signal.SIG_DFL
        and signal.getitimer(signal.ITIMER_REAL)[0] == 0.0
    )
