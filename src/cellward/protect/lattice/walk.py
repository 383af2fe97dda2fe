"""Walk: roundings by circulations under noise that cools down, stretch by stretch (see stretch.py); on two cores two walks, side by side."""

from __future__ import annotations

import math
from concurrent.futures import Future, ThreadPoolExecutor
from dataclasses import dataclass, replace
from typing import Final

import numpy as np

from cellward.errors import SolverError
from cellward.exact import Ints
from cellward.protect.lattice.stretch import Road, Stretch, walk_on
from cellward.solve.budget import Budget
from cellward.solve.outcome import Outcome

HOT: Final = 0.125
COLD: Final = 0.08
"""The noise at the start and at the end, in mean costs of a step: above, a walk wanders about; below, it stands still."""
STRETCHES: Final = 60
LEAST_STRETCH_S: Final = 0.25


def solve_walk(road: Road, *, budget: Budget, target: int, positions: float) -> Outcome:
    """The best rounding met (x of every step, its cost as objective); at Ctrl-C the best so far, ``interrupted``.

    A walk ends when it has looked at so many ``positions``, and the same road then has the same walk; with a time limit it cools down in time. It
    also ends at a cost of ``target``.
    """
    walks = [_Walk.start(road, lane) for lane in range(2 if budget.threads > 1 else 1)]
    interrupted = False
    try:
        interrupted = _go(walks, budget, target, positions)
    except KeyboardInterrupt:
        interrupted = True
    best = min(walks, key=lambda walk: walk.least)
    x = np.arange(len(road.cost)) - np.repeat(road.first, road.many) < np.repeat(best.best, road.many)
    return Outcome(
        status="feasible",
        x=x.astype(np.float64),
        objective=float(best.least),
        solver="walk",
        seconds=budget.spent,
        interrupted=interrupted,
    )


@dataclass(eq=False)
class _Walk:
    """Where one walk is, the best place that it came by, and the lane of the worker that walks."""

    road: Road
    best: Ints
    least: float
    lane: int
    rng: np.random.Generator

    @staticmethod
    def start(road: Road, lane: int) -> _Walk:
        return _Walk(road, road.steps, math.inf, lane, np.random.default_rng([road.seed, lane]))

    def on(self, noise: float, sweeps: float, budget: Budget, target: int) -> bool:
        """One stretch; whether Ctrl-C ended it."""
        road = replace(self.road, seed=int(self.rng.integers(2**62)))
        out = walk_on(road, noise=noise, sweeps=sweeps, budget=budget, least=target, lane=self.lane)
        if isinstance(out, Stretch) and out.x is not None:
            self.road = replace(road, steps=out.x.astype(np.int64))
            if out.least < self.least:
                self.best, self.least = out.best, out.least
        elif not out.interrupted and not out.limit_reached:
            raise SolverError("A stretch of a walk did not end; nothing is released")
        return out.interrupted


def _go(walks: list[_Walk], budget: Budget, target: int, positions: float) -> bool:
    """Stretch after stretch with less and less noise; whether Ctrl-C ended it."""
    sweeps = max(positions / sum(side.cell.size for side in walks[0].road.sides), 1.0)
    each, done, limit = max(sweeps / STRETCHES, 1.0), 0.0, budget.time_limit_s
    with ThreadPoolExecutor(1) as second:
        while all(walk.least > target for walk in walks):
            spent = 0.0 if limit is None else budget.spent / limit
            progress = max(0.0 if math.isinf(sweeps) else done / sweeps, spent)
            if progress >= 1:
                return False
            done += each
            part = budget.part(None if limit is None else max(limit / STRETCHES, LEAST_STRETCH_S))
            stretch = HOT * (COLD / HOT) ** progress, each, part, target
            others: list[Future[bool]] = [second.submit(walk.on, *stretch) for walk in walks[1:]]
            try:
                if walks[0].on(*stretch):
                    return True
            finally:  # a stretch is short, and its lane must be left in order
                for other in others:
                    other.result()
            budget.found(min(walk.least for walk in walks))
    return False
