"""Workers: an executor as concurrent.futures knows them, whose tasks run in the worker processes (see worker.py), one a core and two at most.

Whoever hands out parts asks for nothing but ``submit(task, question, **options)``: any other executor (a pool of processes, a cluster's) can take
their place.
"""

from __future__ import annotations

import functools
from collections.abc import Callable
from concurrent.futures import Executor, Future, ThreadPoolExecutor
from queue import SimpleQueue
from typing import Any

from cellward.solve import worker
from cellward.solve.budget import Budget
from cellward.solve.cpsat import solve_cpsat_here
from cellward.solve.model import LinearModel
from cellward.solve.outcome import Outcome

MOST_LANES = 2
LATE_S = 10.0
"""How much later than its limit a part may answer before its process is killed: on a busy machine a worker's start takes seconds."""


def decide(
    question: LinearModel,
    *,
    time_limit_s: float | None = None,
    threads: int = 1,
    seed: int = 0,
    **options: Any,
) -> Outcome:
    """One part, by CP-SAT in this process; the options are those of ``solve_cpsat_here``. It needs nothing but its question, wherever it runs."""
    return solve_cpsat_here(question, budget=Budget(threads=threads, seed=seed).part(time_limit_s), **options)


class Workers(Executor):
    """So many worker processes as a budget has threads; a wish to stop the budget stops what they do."""

    def __init__(self, budget: Budget) -> None:
        self.budget = budget
        self.lanes: SimpleQueue[int] = SimpleQueue()
        many = max(min(budget.threads, MOST_LANES), 1)
        for lane in range(many):
            worker.warm_up(lane)
            self.lanes.put(lane)
        self.threads = ThreadPoolExecutor(many)

    def submit(self, fn: Callable[..., Any], /, *args: Any, **kwargs: Any) -> Future[Any]:
        """Have ``fn(*args, **kwargs)`` answered by a worker; the one positional argument is a model, the answer an Outcome."""
        return self.threads.submit(self._run, fn, *args, **kwargs)

    def _run(self, fn: Callable[..., Outcome], question: Any, **options: Any) -> Outcome:
        lane, limit = self.lanes.get(), options.get("time_limit_s")
        try:
            if self.budget.stopped:
                return Outcome(status="unknown", solver=worker.SOLVER, limit_reached=True, interrupted=True)
            kill_s = None if limit is None else limit + LATE_S
            task = functools.partial(fn, **options)
            return worker.call(task, question, time_limit_s=kill_s, stoppable=True, lane=lane, budget=self.budget)
        finally:
            self.lanes.put(lane)

    def shutdown(self, wait: bool = True, *, cancel_futures: bool = False) -> None:  # noqa: FBT001 (as Executor has it)
        """Take no more; the processes stay warm for whoever comes next."""
        self.threads.shutdown(wait=wait, cancel_futures=cancel_futures)
