"""Explained: why there is no adjustment: levels and ends of cells that do not go together, proven in whole numbers, none of them too many.

A level says: z ≥ up or z ≤ −down (0: not that way). A set of levels and ends is refuted by a tree: where a contradiction of ends
(contradiction.py) is found, the branch is closed; else one of the levels is taken to either side, which is an end like any other as long as
the branch lasts. What the closed branches lean on is refuted. A deletion filter then leaves out one after the other what is not needed.
"""

from __future__ import annotations

from collections.abc import Iterable
from dataclasses import dataclass

import numpy as np

from cellward.exact import NO_BOUND, Floats, Ints
from cellward.protect.adjustment.needs import Room
from cellward.protect.contradiction import FEASIBLE, HIGH, LOW, End, contradiction, irreducible, nearest_to, only
from cellward.solve.budget import Budget
from cellward.table.relations import Relations

LEVEL = 0
"""What stands for a cell's level where LOW and HIGH stand for the ends of its room."""
MOST_NODES = 2000
SHORT = 1e-7
"""A cell that falls short by less than this share of its level does not fall short."""
MOST_ENDS = 400
"""Ends of the first proof up to which one after the other is left out."""


@dataclass(frozen=True, eq=False)
class Asked:
    """The levels of cells at risk: for each how far up or down (0: not that way)."""

    cell: Ints
    up: Ints
    down: Ints

    def of(self, i: int) -> tuple[int, int]:
        """Of one cell."""
        at = int(np.searchsorted(self.cell, i))
        return int(self.up[at]), int(self.down[at])


class _OutOfNodesError(Exception):
    """The tree grew too large."""


class Refuter:
    """Refutes sets of levels and ends of one table's moves (M·z = 0)."""

    def __init__(self, relations: Relations, room: Room, asked: Asked, budget: Budget) -> None:
        self.relations, self.room, self.asked, self.budget = relations, room, asked, budget

    def refuted(self, ends: Iterable[End]) -> frozenset[End] | None:
        """Those of the ends, LEVEL among them, that a proof leans on; None where a table meets them all, or nothing is proven."""
        ends = frozenset(ends)
        low, high = only((end for end in ends if end[1] != LEVEL), self.room.lo, self.room.hi)
        levels = frozenset(i for i, side in ends if side == LEVEL)
        self.left = MOST_NODES
        try:
            return self._grow(low, high, levels, {})
        except (_OutOfNodesError, RecursionError):
            return None

    def _grow(self, low: Ints, high: Ints, levels: frozenset[int], taken: dict[End, int]) -> frozenset[End] | None:
        """``taken``: ends that stand for levels, with their cells."""
        self.left -= 1
        if self.left < 0 or self.budget.over:
            raise _OutOfNodesError
        if (found := contradiction(self.relations, low, high, self.budget)) is not None:
            return frozenset((i, LEVEL) if (i, side) in taken else (i, side) for i, side in found.ends)
        if not levels:
            return None
        near = nearest_to(self.relations, low, high, self.budget)
        if near is None or near.missed > FEASIBLE:
            return None
        i = self._short(near.point, levels)
        if i is None:
            return None
        leaned: frozenset[End] = frozenset({(i, LEVEL)})
        up, down = self.asked.of(i)
        for least, side in ((up, LOW), (down, HIGH)):
            if not least:
                continue
            lo, hi, more = low.copy(), high.copy(), dict(taken)
            if side == LOW and least > lo[i]:
                lo[i], more[i, LOW] = least, i
            elif side == HIGH and -least < hi[i]:
                hi[i], more[i, HIGH] = -least, i
            below = self._grow(lo, hi, levels - {i}, more)
            if below is None:
                return None
            if (i, LEVEL) not in below:
                return below
            leaned |= below
        return leaned

    def _short(self, point: Floats, levels: frozenset[int]) -> int | None:
        """The cell that falls shortest of its level, as a share of it; None where none does."""
        worst, cell = 0.0, None
        for i in sorted(levels):
            up, down = self.asked.of(i)
            z = float(point[i])
            missed = [(level - way * z) / level for level, way in ((up, 1), (down, -1)) if level]
            short = min(missed, default=1.0)
            if short > SHORT and (cell is None or short > worst):
                worst, cell = short, i
        return cell


def least_conflict(relations: Relations, room: Room, asked: Asked, equations: Ints, budget: Budget) -> frozenset[End]:
    """Levels and ends that do not go together, few of them; ``equations``: those that a proof leans on. Nothing where nothing is proven."""
    refuter = Refuter(relations.take(equations), room, asked, budget)
    cells = np.unique(refuter.relations.indices)
    ends = {(i, LOW) for i in cells.tolist() if room.lo[i] > -NO_BOUND} | {
        (i, HIGH) for i in cells.tolist() if room.hi[i] < NO_BOUND
    }
    ends |= {(i, LEVEL) for i in np.intersect1d(asked.cell, cells).tolist()}
    first = refuter.refuted(ends)
    if first is None or len(first) > MOST_ENDS:
        return first or frozenset()
    found = []
    for sign in (1, -1):  # the smallest that is found from either end
        order = sorted(first, key=lambda end: (end[1] == LEVEL, sign * end[0], end[1]))
        found.append(irreducible(first, refuter.refuted, order, budget))
    return min(found, key=len)
