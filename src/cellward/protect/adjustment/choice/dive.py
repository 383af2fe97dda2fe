"""Dive: senses by the relaxation, decided a part at a time: those nearest to a side first, the others once the relaxation has moved after them."""

from __future__ import annotations

import numpy as np

from cellward.exact import Ints
from cellward.protect.adjustment.choice.tree import Relaxation
from cellward.solve.budget import Budget


def dive(relaxation: Relaxation, share: float, budget: Budget) -> tuple[Ints, float] | None:
    """Sides of all things at risk with their cost, each time so large a ``share`` of those still open decided; None where that ends nowhere."""
    sides = relaxation.sides
    decided, wide = sides.only.copy(), sides.up + sides.down
    while not budget.over:
        found = relaxation.solve(decided)
        if found.status != "optimal" or found.z is None:
            return None
        taken = sides.taken(found.z, decided)
        open_ = np.flatnonzero(taken == 0)
        if not len(open_):
            return taken, found.bound
        away = (found.z[open_] + sides.down[open_]) / wide[open_]
        first = np.argsort(np.minimum(away, 1 - away), kind="stable")[: int(np.ceil(share * len(open_)))]
        nearest = open_[first]
        decided = decided.copy()
        decided[nearest] = sides.nearer(found.z)[nearest]
    return None
