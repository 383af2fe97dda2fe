"""Clauses: conflicts taken together: senses that meet all of them, near those at hand; or a tree that shows that none do."""

from __future__ import annotations

from collections.abc import Sequence
from dataclasses import dataclass

import numpy as np

from cellward.errors import SolverError
from cellward.exact import Ints
from cellward.protect.adjustment.conflict import Conflict
from cellward.protect.adjustment.senses import Senses
from cellward.solve.budget import Budget
from cellward.solve.highs import solve_mip
from cellward.solve.model import LinearModel

NEAR, DRAWN = 3.0, 1.0
"""What a cell costs that is turned now, and one that is turned away from its draw."""
MOST_NODES = 4000
"""Nodes of a tree that is written down."""


def settle(clauses: Sequence[tuple[Ints, Ints]], senses: Senses, drawn: Ints, budget: Budget) -> Ints | None:
    """Senses near these, and near those drawn, in which one of every clause (places, senses) is turned; None where there are none, or in no time.

    The least cost is an integer program on the cells of the clauses alone.
    """
    at = np.unique(np.concatenate([cells for cells, _ in clauses]))
    length = [len(cells) for cells, _ in clauses]
    column = np.searchsorted(at, np.concatenate([cells for cells, _ in clauses]))
    taken = np.concatenate([sense for _, sense in clauses])
    row = np.repeat(np.arange(len(clauses)), length)
    free = senses.turnable[at]
    up = (senses.sense[at] > 0).astype(float)
    model = LinearModel(
        cost=-(NEAR * senses.sense[at] + DRAWN * drawn[at]).astype(float),
        lower=np.where(free, 0.0, up),
        upper=np.where(free, 1.0, up),
        indptr=np.concatenate(([0], np.cumsum(length))).astype(np.int64),
        indices=column.astype(np.int64),
        coefs=-taken.astype(float),
        row_lower=np.asarray(1.0 - np.bincount(row, taken > 0, len(clauses)), np.float64),
        row_upper=np.full(len(clauses), np.inf),
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


def refutation(conflicts: Sequence[Conflict]) -> tuple[int | Conflict, ...]:
    """A tree over senses every leaf of which is a conflict that holds there; empty where senses are left, or the tree grows too large.

    Where a branch does without the cell that it branched on, it stands for both.
    """
    clauses = [dict(zip(one.at.tolist(), one.sense.tolist(), strict=True)) for one in conflicts]
    where: dict[int, list[int]] = {}
    for k, clause in enumerate(clauses):
        for j in clause:
            where.setdefault(j, []).append(k)
    left = MOST_NODES

    def grow(sense: dict[int, int], near: Sequence[int]) -> _Proof | None:
        nonlocal left
        left -= 1
        if left < 0:
            return None
        best: tuple[int, int] | None = None
        for k in near:
            clause = clauses[k]
            if any(sense.get(j, s) != s for j, s in clause.items()):
                continue
            open_ = [j for j in clause if j not in sense]
            if not open_:
                return _Proof((conflicts[k],), frozenset(clause))
            if best is None or len(open_) < best[0]:
                best = (len(open_), open_[0])
        if best is None:
            return None
        j, sides = best[1], []
        for s in (-1, 1):
            side = grow({**sense, j: s}, near)
            if side is None:
                return None
            if j not in side.leans_on:
                return side
            sides.append(side)
        return _Proof((j, *sides[0].nodes, *sides[1].nodes), (sides[0].leans_on | sides[1].leans_on) - {j})

    order = sorted(range(len(clauses)), key=lambda k: len(clauses[k]))
    try:
        found = grow({}, order)
    except RecursionError:
        return ()
    return found.nodes if found is not None else ()
