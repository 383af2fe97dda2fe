"""Clauses: conflicts taken together: senses that meet what each leaves of them, near those at hand; or a tree that shows that none do."""

from __future__ import annotations

from collections.abc import Sequence
from dataclasses import dataclass

import numpy as np

from cellward.errors import SolverError
from cellward.exact import Ints
from cellward.protect.adjustment.conflict import Conflict
from cellward.protect.adjustment.cut import Cut, Cuts
from cellward.protect.adjustment.senses import Senses
from cellward.solve.budget import Budget
from cellward.solve.highs import solve_mip
from cellward.solve.model import LinearModel

NEAR, DRAWN = 3.0, 1.0
"""What a cell costs that is turned now, and one that is turned away from its draw."""
MOST_NODES = 4000
"""Nodes of a tree that is written down."""


def settle(cuts: Sequence[Cut], senses: Senses, drawn: Ints, budget: Budget) -> Ints | None:
    """Senses near these, and near those drawn, that meet every cut; None where there are none, or in no time.

    The least cost is an integer program on the cells of the cuts alone.
    """
    rows = Cuts.of(cuts)
    at, column = np.unique(rows.at, return_inverse=True)
    free = senses.turnable[at]
    up = (senses.sense[at] > 0).astype(float)
    model = LinearModel(
        cost=-(NEAR * senses.sense[at] + DRAWN * drawn[at]).astype(float),
        lower=np.where(free, 0.0, up),
        upper=np.where(free, 1.0, up),
        indptr=rows.start,
        indices=column.ravel().astype(np.int64),
        coefs=rows.share * rows.sense,
        row_lower=rows.need - rows.total(np.where(rows.sense < 0, rows.share, 0.0)),
        row_upper=np.full(len(cuts), np.inf),
        integer=np.ones(len(at), bool),
    )
    try:
        outcome = solve_mip(model, budget=budget)
    except SolverError:
        return None
    if outcome.x is None:
        return None
    sense = senses.sense.copy()
    sense[at] = np.where(outcome.x > 0.5, 1, -1)
    return sense


@dataclass(frozen=True, eq=False)
class _Proof:
    """A tree in preorder: places of cells that it branches on (down, then up) and conflicts; and the cells that its conflicts lean on."""

    nodes: tuple[int | Conflict, ...]
    leans_on: frozenset[int]


def refutation(conflicts: Sequence[Conflict], cuts: Sequence[Cut]) -> tuple[int | Conflict, ...]:
    """A tree over senses every leaf of which is a conflict that holds there; empty where senses are left, or the tree grows too large.

    ``cuts``: what each of them leaves. Where a branch does without the cell that it branched on, it stands for both.
    """
    order = sorted(range(len(cuts)), key=lambda k: len(cuts[k].at))
    if not order or not len(cuts[order[0]].at):
        return tuple(conflicts[k] for k in order[:1])
    try:
        found = _Refutation([conflicts[k] for k in order], [cuts[k] for k in order]).grow({})
    except RecursionError:
        return ()
    return found.nodes if found is not None else ()


class _Refutation:
    """The search for such a tree."""

    def __init__(self, conflicts: Sequence[Conflict], cuts: Sequence[Cut]) -> None:
        self.conflicts, self.cuts, self.left = conflicts, cuts, MOST_NODES
        self.rows = Cuts.of(cuts)
        self.cells, self.column = np.unique(self.rows.at, return_inverse=True)

    def grow(self, sense: dict[int, int]) -> _Proof | None:
        """The tree below these senses (by column); None where there is none."""
        self.left -= 1
        if self.left < 0:
            return None
        rows, taken = self.rows, np.zeros(len(self.cells), np.int64)
        taken[list(sense)] = list(sense.values())
        now = taken[self.column]
        met = rows.total(np.where(now == rows.sense, rows.share, 0.0)) >= rows.need
        can = np.where(now != -rows.sense, rows.share, 0.0)
        left = rows.total(can) - rows.need
        for k in np.flatnonzero(left < 0).tolist():  # what is rounded up is missing all the more in truth
            return self._leaf(k, taken)
        largest = np.zeros(len(met))
        np.maximum.at(largest, rows.row, np.where(now == 0, rows.share, 0.0))
        if met.all():
            return None
        k = int(np.argmin(np.where(met, np.inf, (left - largest) / rows.need)))
        own = slice(int(rows.start[k]), int(rows.start[k + 1]))
        j = int(self.column[own][np.argmax(np.where(now[own] == 0, rows.share[own], -1.0))])
        sides = []
        for s in (-1, 1):
            side = self.grow({**sense, j: s})
            if side is None:
                return None
            if j not in side.leans_on:
                return side
            sides.append(side)
        nodes = (int(self.cells[j]), *sides[0].nodes, *sides[1].nodes)
        return _Proof(nodes, (sides[0].leans_on | sides[1].leans_on) - {j})

    def _leaf(self, k: int, taken: Ints) -> _Proof:
        """That what a cut needs cannot be made up for, leaning on as few senses as can be."""
        cut, columns = self.cuts[k], self.column[int(self.rows.start[k]) : int(self.rows.start[k + 1])]
        against = taken[columns] == -cut.sense
        over = cut.need - 1 - sum(x for x, one in zip(cut.amount, against.tolist(), strict=True) if not one)
        leans = []
        for x, n in sorted((cut.amount[n], n) for n in np.flatnonzero(against).tolist()):
            if x <= over:
                over -= x
            else:
                leans.append(n)
        at = np.array(leans, np.int64)
        return _Proof((self.conflicts[k].leaning_on(cut.at[at], -cut.sense[at]),), frozenset(columns[at].tolist()))
