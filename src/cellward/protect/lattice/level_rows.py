"""Level rows: what the levels of a cell ask of each equation that it stands in, as rows that every protected release satisfies.

Legend: z = y − a of a table that attacker k must think possible, so Σ m·z = 0 in every equation. What is told of a cell leaves it some *room*:
−down ≤ z ≤ up, where up = min(ub, high) − a, down = a − max(lb, low). For a cell p of the equation therefore

    |m_p|·z_p ≤ Σ over the others of |m|·(up or down, by the sign of m),

and a level of p asks that the right-hand side reach it. Where a cell has two allowed values v, told as v ± h, its room is linear in the one choice;
where it is told a box that widens around values on an end (told_box.py), its room is linear in who sits there. So this is a row, exactly; a cell with
more values counts with the largest room. These are the cuts of capacity.py with a single equation each, found without a solver.
"""

from __future__ import annotations

from dataclasses import dataclass

import numpy as np

from cellward.exact import Ints
from cellward.protect.lattice.capacity import Capacity, Cut
from cellward.protect.lattice.linear import Row, tightened
from cellward.protect.lattice.model import LatticeModel
from cellward.protect.lattice.single_equations import Room, SingleEquations
from cellward.protect.lattice.told_box import AroundValue, BetweenMultiples, Requirement

FARTHEST = 2**40
"""Room beyond this counts as so much: no level comes near."""


@dataclass(frozen=True, eq=False)
class LevelRow:
    """A row, and the requirement that asks for it."""

    row: Row
    need: Requirement


@dataclass(frozen=True, eq=False)
class LevelCut:
    """The same as a cut on the 0–1 quantities of a box."""

    cut: Cut
    need: Requirement


def level_rows(model: LatticeModel, guard: Capacity) -> list[LevelRow]:
    """The rows on columns that not every table of the model satisfies, each once; the quantities are the columns of cells with two values."""
    if not isinstance(guard.told, AroundValue) or guard.cells != guard.instance.cells:
        return []
    parts = (guard.instance.a, guard.told.half, model.allowed.lo, model.allowed.hi, choice_of(model))

    def room(lb: Ints, ub: Ints, cell: Ints) -> tuple[Room, Room]:
        return around(lb, ub, *(part[cell] for part in parts))

    found: dict[bytes, LevelRow] = {}
    for at, coef, least, need in SingleEquations(guard).rows(room):
        row = tightened(model.columns, at, coef, least)
        if row is not None:
            found.setdefault(row.mark, LevelRow(row, need))
    return list(found.values())


def choice_of(model: LatticeModel) -> Ints:
    """The column of every cell that has two values, −1 elsewhere."""
    two = model.free & (model.allowed.hi - model.allowed.lo == model.allowed.step)
    out = np.full(model.instance.cells, -1, np.int64)
    out[two] = np.searchsorted(model.columns.cell, np.flatnonzero(two))
    return out


def level_cuts(guard: Capacity) -> list[LevelCut]:
    """The same where a box is told: on who sits on which end."""
    told = guard.told
    if not isinstance(told, BetweenMultiples) or guard.cells != guard.instance.cells:
        return []
    a, n = guard.instance.a, guard.cells

    def room(lb: Ints, ub: Ints, cell: Ints) -> tuple[Room, Room]:
        low, high, below, above = (part[cell] for part in (told.lo, told.hi, told.below, told.above))
        up = [_within(np.minimum(ub, end) - a[cell]) for end in (high, high + above)]
        down = [_within(a[cell] - np.maximum(lb, end)) for end in (low, low - below)]
        at = np.where(above > 0, cell + n, -1), np.where(below > 0, cell, -1)
        first, second = (Room(one[0], one[1] - one[0], where) for one, where in zip((up, down), at, strict=True))
        return first, second

    found: dict[bytes, LevelCut] = {}
    for where, coef, least, need in SingleEquations(guard).rows(room):
        cut = Cut(where, coef, least)
        found.setdefault(cut.mark, LevelCut(cut, need))
    return list(found.values())


def _within(room: Ints) -> Ints:
    return np.clip(room, 0, FARTHEST)


def around(lb: Ints, ub: Ints, a: Ints, half: Ints, lo: Ints, hi: Ints, column: Ints) -> tuple[Room, Room]:
    """Upwards and downwards, where v ± h is told of cells known between lb and ub; one without a column of its own counts with its best value."""
    two = column >= 0
    up = [_within(np.minimum(ub, v + half) - a) for v in (np.where(two, lo, hi), hi)]
    down = [_within(a - np.maximum(lb, v - half)) for v in (lo, np.where(two, hi, lo))]
    return Room(up[0], up[1] - up[0], column), Room(down[0], down[1] - down[0], column)
