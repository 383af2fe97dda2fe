"""Level rows: what the levels of a cell ask of each equation that it stands in, as rows that every protected release satisfies.

Legend: z = y − a of a table that attacker k must think possible, so Σ m·z = 0 in every equation. What is told of a cell leaves it some *room*:
−down ≤ z ≤ up, where up = min(ub, high) − a, down = a − max(lb, low). For a cell p of the equation therefore

    |m_p|·z_p ≤ Σ over the others of |m|·(up or down, by the sign of m),

and a level of p asks that the right-hand side reach it. Where a cell has two allowed values v, told as v ± h, its room is linear in the one choice;
where it is told a box that widens around values on an end (told_box.py), its room is linear in who sits there. So this is a row, exactly; a cell with
more values counts with the largest room. These are the cuts of capacity.py with a single equation each, found without a solver.
"""

from __future__ import annotations

from collections.abc import Iterator
from dataclasses import dataclass

import numpy as np

from cellward.exact import Bools, Ints
from cellward.protect.lattice.capacity import Capacity, Cut
from cellward.protect.lattice.linear import Row, tightened
from cellward.protect.lattice.model import LatticeModel
from cellward.protect.lattice.told_box import AroundValue, BetweenMultiples, Requirement
from cellward.publication.allowed import AllowedSet
from cellward.table.relations import ranges

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


@dataclass(frozen=True, eq=False)
class Room:
    """Room to one side: so much, and so much more where the 0–1 quantity ``at`` is 1 (may be negative; −1: no such quantity)."""

    least: Ints
    more: Ints
    at: Ints


def level_rows(model: LatticeModel, guard: Capacity) -> list[LevelRow]:
    """The rows on columns that not every table of the model satisfies, each once; the quantities are the columns of cells with two values."""
    if not isinstance(guard.told, AroundValue) or guard.cells != guard.instance.cells:
        return []
    half, allowed, columns = guard.told.half, model.allowed, model.columns
    found: dict[bytes, LevelRow] = {}
    column = choice_of(model)
    for k in range(len(guard.asked)):
        rooms = around(guard, k, half, allowed, column)
        for at, coef, least, need in _Single(guard, k, *rooms).rows():
            row = tightened(columns, at, coef, least)
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
    found: dict[bytes, LevelCut] = {}
    for k in range(len(guard.asked)):
        (lb, ub), a, n = guard.box(k), guard.instance.a, guard.cells
        up = [_within(np.minimum(ub, high) - a) for high in (told.hi, told.hi + told.above)]
        down = [_within(a - np.maximum(lb, low)) for low in (told.lo, told.lo - told.below)]
        at = np.where(told.above > 0, np.arange(n) + n, -1), np.where(told.below > 0, np.arange(n), -1)
        rooms = (Room(one[0], one[1] - one[0], where) for one, where in zip((up, down), at, strict=True))
        for where, coef, least, need in _Single(guard, k, *rooms).rows():
            cut = Cut(where, coef, least)
            found.setdefault(cut.mark, LevelCut(cut, need))
    return list(found.values())


def _within(room: Ints) -> Ints:
    return np.clip(room, 0, FARTHEST)


def around(guard: Capacity, k: int, half: Ints, allowed: AllowedSet, column: Ints) -> tuple[Room, Room]:
    """Upwards and downwards, where v ± h is told; a cell without a column of its own counts with its best value."""
    (lb, ub), a, two = guard.box(k), guard.instance.a, column >= 0
    up = [_within(np.minimum(ub, v + half) - a) for v in (np.where(two, allowed.lo, allowed.hi), allowed.hi)]
    down = [_within(a - np.maximum(lb, v - half)) for v in (allowed.lo, np.where(two, allowed.hi, allowed.lo))]
    return Room(up[0], up[1] - up[0], column), Room(down[0], down[1] - down[0], column)


class _Single:
    """One attacker's levels in single equations."""

    def __init__(self, guard: Capacity, k: int, up: Room, down: Room) -> None:
        self.k, self.asked, self.relations = k, guard.asked[k], guard.instance.relations
        r = self.relations
        self.size, rises = np.abs(r.coefs), r.coefs > 0
        # What Σ m·z can be at most, and −Σ m·z, entry by entry.
        self.above, self.below = (self._terms(one, other, rises) for one, other in ((up, down), (down, up)))

    def _terms(self, one: Room, other: Room, rises: Bools) -> Room:
        cell = self.relations.indices
        least, more, at = (
            np.where(rises, mine[cell], its[cell])
            for mine, its in ((one.least, other.least), (one.more, other.more), (one.at, other.at))
        )
        return Room(self.size * least, np.where(at >= 0, self.size * more, 0), at)

    def rows(self) -> Iterator[tuple[Ints, Ints, int, Requirement]]:
        """Σ coef·q[at] ≥ least and who asks for it, where not every choice meets the level."""
        r = self.relations
        ptr, entry = r.by_cell
        cell = self.asked.cell
        at = entry[ranges(ptr[cell], ptr[cell + 1])]
        which = np.repeat(np.arange(len(cell)), ptr[cell + 1] - ptr[cell])
        for level, sign in ((self.asked.upl, 1), (self.asked.lpl, -1)):
            asks = level[which] > 0
            for terms, mine in ((self.below, r.coefs * sign > 0), (self.above, r.coefs * sign < 0)):
                chosen = asks & mine[at]
                yield from self._short(terms, at[chosen], which[chosen], level)

    def _short(self, terms: Room, at: Ints, which: Ints, level: Ints) -> Iterator[tuple[Ints, Ints, int, Requirement]]:
        """Those of these entries whose levels the worst choice does not meet."""
        r, asked = self.relations, self.asked
        worst = terms.least + np.minimum(terms.more, 0)
        room = r.sums(worst)[r.row[at]] - worst[at]
        for place, j in zip(*(x[room < level[which] * self.size[at]].tolist() for x in (at, which)), strict=True):
            need = Requirement(self.k, *(int(x[j]) for x in (asked.cell, asked.lpl, asked.upl, asked.spl)))
            equation = int(r.row[place])
            others = np.arange(r.indptr[equation], r.indptr[equation + 1])
            others = others[others != place]
            chosen = others[terms.more[others] != 0]
            chosen = chosen[np.argsort(terms.at[chosen])]
            least = int(level[j]) * int(self.size[place]) - int(terms.least[others].sum())
            yield terms.at[chosen], terms.more[chosen], least, need
