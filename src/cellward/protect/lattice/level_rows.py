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

from cellward.exact import Ints
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

    def take(self, cell: Ints) -> Room:
        """The room of some cells."""
        return Room(self.least[cell], self.more[cell], self.at[cell])


def level_rows(model: LatticeModel, guard: Capacity) -> list[LevelRow]:
    """The rows on columns that not every table of the model satisfies, each once; the quantities are the columns of cells with two values."""
    if not isinstance(guard.told, AroundValue) or guard.cells != guard.instance.cells:
        return []
    half, allowed, columns = guard.told.half, model.allowed, model.columns
    found: dict[bytes, LevelRow] = {}
    column = choice_of(model)
    for k, asked in enumerate(guard.asked):
        if not len(asked):
            continue
        single = _Single(guard, k)
        for at, coef, least, need in single.rows(*around(guard, k, half, allowed, column, single.cell)):
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
    for k, asked in enumerate(guard.asked):
        if not len(asked):
            continue
        (lb, ub), a, n = guard.box(k), guard.instance.a, guard.cells
        up = [_within(np.minimum(ub, high) - a) for high in (told.hi, told.hi + told.above)]
        down = [_within(a - np.maximum(lb, low)) for low in (told.lo, told.lo - told.below)]
        at = np.where(told.above > 0, np.arange(n) + n, -1), np.where(told.below > 0, np.arange(n), -1)
        rooms = (Room(one[0], one[1] - one[0], where) for one, where in zip((up, down), at, strict=True))
        single = _Single(guard, k)
        for where, coef, least, need in single.rows(*(room.take(single.cell) for room in rooms)):
            cut = Cut(where, coef, least)
            found.setdefault(cut.mark, LevelCut(cut, need))
    return list(found.values())


def _within(room: Ints) -> Ints:
    return np.clip(room, 0, FARTHEST)


def around(
    guard: Capacity, k: int, half: Ints, allowed: AllowedSet, column: Ints, cell: Ints | None = None
) -> tuple[Room, Room]:
    """Upwards and downwards, where v ± h is told, of all cells or these; a cell without a column of its own counts with its best value."""
    every = (*guard.box(k), guard.instance.a, half, allowed.lo, allowed.hi, column)
    lb, ub, a, half, lo, hi, column = every if cell is None else (each[cell] for each in every)
    two = column >= 0
    up = [_within(np.minimum(ub, v + half) - a) for v in (np.where(two, lo, hi), hi)]
    down = [_within(a - np.maximum(lb, v - half)) for v in (lo, np.where(two, hi, lo))]
    return Room(up[0], up[1] - up[0], column), Room(down[0], down[1] - down[0], column)


class _Single:
    """One attacker's levels in single equations: those that hold a cell that he is asked about, entry by entry.

    There are attackers by the thousand, who stand behind a few cells each.
    """

    def __init__(self, guard: Capacity, k: int) -> None:
        self.k, self.asked, r = k, guard.asked[k], guard.instance.relations
        ptr, entry = r.by_cell
        cell = self.asked.cell
        at = entry[ranges(ptr[cell], ptr[cell + 1])]
        equations = np.unique(r.row[at])
        own = ranges(r.indptr[equations], r.indptr[equations + 1])
        self.at, self.which = np.searchsorted(own, at), np.repeat(np.arange(len(cell)), ptr[cell + 1] - ptr[cell])
        self.begin = np.concatenate(([0], np.cumsum(r.indptr[equations + 1] - r.indptr[equations])))
        self.row = np.repeat(np.arange(len(equations)), np.diff(self.begin))
        self.cell, coefs = r.indices[own], r.coefs[own]
        self.size, self.rises = np.abs(coefs), coefs > 0

    def _terms(self, one: Room, other: Room) -> Room:
        least, more, at = (
            np.where(self.rises, mine, its)
            for mine, its in ((one.least, other.least), (one.more, other.more), (one.at, other.at))
        )
        return Room(self.size * least, np.where(at >= 0, self.size * more, 0), at)

    def rows(self, up: Room, down: Room) -> Iterator[tuple[Ints, Ints, int, Requirement]]:
        """Σ coef·q[at] ≥ least and who asks for it, where not every choice meets the level; the room is that of each entry's cell."""
        # What Σ m·z can be at most, and −Σ m·z, entry by entry.
        above, below = self._terms(up, down), self._terms(down, up)
        for level, rising in ((self.asked.upl, True), (self.asked.lpl, False)):
            asks = level[self.which] > 0
            for terms, mine in ((below, self.rises == rising), (above, self.rises != rising)):
                chosen = asks & mine[self.at]
                yield from self._short(terms, self.at[chosen], self.which[chosen], level)

    def _short(self, terms: Room, at: Ints, which: Ints, level: Ints) -> Iterator[tuple[Ints, Ints, int, Requirement]]:
        """Those of these entries whose levels the worst choice does not meet."""
        if not len(at):
            return
        asked = self.asked
        worst = terms.least + np.minimum(terms.more, 0)
        room = np.add.reduceat(worst, self.begin[:-1])[self.row[at]] - worst[at]
        for place, j in zip(*(x[room < level[which] * self.size[at]].tolist() for x in (at, which)), strict=True):
            need = Requirement(self.k, *(int(x[j]) for x in (asked.cell, asked.lpl, asked.upl, asked.spl)))
            equation = int(self.row[place])
            others = np.arange(self.begin[equation], self.begin[equation + 1])
            others = others[others != place]
            chosen = others[terms.more[others] != 0]
            chosen = chosen[np.argsort(terms.at[chosen])]
            least = int(level[j]) * int(self.size[place]) - int(terms.least[others].sum())
            yield terms.at[chosen], terms.more[chosen], least, need
