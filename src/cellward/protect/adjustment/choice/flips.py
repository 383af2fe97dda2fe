"""Flips: single senses turned, one after the other in an order drawn at random, as long as one of them pays.

Every trial is the least distance for all senses, by the dual simplex from the last one: a few bounds differ, so that it takes a few steps.
"""

from __future__ import annotations

import numpy as np

from cellward.exact import Ints
from cellward.protect.adjustment.choice.tree import CLOSED, Relaxation
from cellward.solve.budget import Budget


def flips(
    relaxation: Relaxation, decided: Ints, cost: float, rng: np.random.Generator, budget: Budget
) -> tuple[Ints, float]:
    """Sides from which no single turn pays, or those reached in time, with their cost."""
    free = np.flatnonzero(relaxation.sides.only == 0)
    idle = 0
    while idle < len(free):
        for k in rng.permutation(free).tolist():
            if budget.over or idle >= len(free):
                return decided, cost
            tried = decided.copy()
            tried[k] *= -1
            found = relaxation.solve(tried)
            better = found.status == "optimal" and found.bound < cost * (1 - CLOSED)
            if better:
                decided, cost = tried, found.bound
            idle = 0 if better else idle + 1
    return decided, cost
