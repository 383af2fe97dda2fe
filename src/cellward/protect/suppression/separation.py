"""Separation: cuts that a point does not keep, from the prices of attackers' problems in which each cell may move as far as it is withheld.

Legend: x_i between 0 and 1, how far cell i is withheld; min ∓z_p over M·z = 0, −below·x ≤ z ≤ above·x, whose prices y are the multipliers of a cut.
Cells with x = 0 are left out of the problems, which makes these small: whatever the multipliers, the cut holds.
"""

from __future__ import annotations

from collections.abc import Iterator
from dataclasses import replace

import numpy as np

from cellward.errors import SolverError
from cellward.exact import Bools, Floats, Ints
from cellward.protect.suppression.cheapest_witness import CheapestWitness, Goals
from cellward.protect.suppression.demand import FAR, Demand
from cellward.protect.suppression.problem import CapacityCut
from cellward.solve.ask import ask
from cellward.solve.budget import Budget
from cellward.solve.highs import solve_lp
from cellward.solve.model import LinearModel
from cellward.table.relations import Relations, ranges

DENOMINATORS = (1, 2, 3, 4, 6, 12, 60, 840)
COARSE = 10**4
"""The denominator of prices that none of these fits."""
NEAR = 1e-6
NESTED = 3
"""Cuts of one requirement at one point."""
SENSES, SLIDE = ("up", "down", "slide"), 2
ORDERS, GROWN, GROWTHS = 4, 30, 40
"""Orders in which cells join a whole point, the cheapest first in the one, and steps of each; and how often they do at one point."""
MOST, ASKED = 300, 300
"""Cuts of one point, and questions where some are found, but for those of the last requirement."""
FEW, TURNS = 1000, 6
"""Entries from which tables that show many at once are looked for first, and how often."""


class Separation:
    """Attackers' problems of one system of equations."""

    def __init__(
        self, relations: Relations, demand: Demand, forced: Bools, free: Bools, cost: Ints, budget: Budget
    ) -> None:
        self.cost = cost
        self.demand, self.forced, self.free, self.budget = demand, forced, free, budget
        keep = np.ones(relations.equations, bool)
        keep[relations.redundant] = False
        self.equation = np.flatnonzero(keep)
        self.rows = relations.take(self.equation)
        self.tables = CheapestWitness(relations, budget)
        self.quiet: set[tuple[int, int]] = set()
        """Ways of entries that the last points reached: they are not asked again until all others do too."""
        self.growths = GROWTHS
        self.rng = np.random.default_rng(0)
        self.first = 0
        """The entry that is asked first: where the last point's were enough."""

    def capacity(self, x: Floats) -> Iterator[CapacityCut]:
        """For ways of entries that these x do not reach, the cuts of their prices, up to a number; those that were reached before are asked last."""
        self.growths = GROWTHS
        active, shown = self._active(x), self._shown(x)
        found = many = 0
        for asked in (False, True):
            for e, way, much in self._ways(shown, asked=asked):
                if self.budget.over:
                    return
                cuts = list(self._cuts(e, way, much, x, active))
                found, many = found + len(cuts), many + 1
                yield from cuts
                (self.quiet.discard if cuts else self.quiet.add)((e, way))
                if found >= MOST or (found and many >= ASKED):
                    self.first = e + 1
                    return
            if found:
                return

    def _ways(self, shown: Bools, *, asked: bool) -> Iterator[tuple[int, int, float]]:
        """Entries with a way that something is asked of and how much: those that were reached before, or those that were not."""
        d = self.demand
        for e in np.roll(np.arange(len(d.cell)), -self.first).tolist():
            for way, much in enumerate((d.upl, d.lpl, d.wide)):
                if much[e] > 0 and not shown[way, e] and ((e, way) in self.quiet) == asked:
                    yield e, way, float(much[e])

    def _shown(self, x: Floats) -> Bools:
        """Ways of entries that tables of these x show, many at once: they need not be asked. First within what all know together, then for attackers
        who leave each other room."""
        d = self.demand
        out = np.zeros((3, len(d.cell)), bool)
        if len(d.cell) <= FEW:
            return out
        soft, rng = np.where(self.forced, 1.0, np.where(self.free, x, 0.0)), np.random.default_rng(0)
        everyone = np.arange(len(d.groups))
        for turn in range(TURNS):
            open_ = ((d.upl > 0) & ~out[0]) | ((d.lpl > 0) & ~out[1])
            if not open_.any() or self.budget.over:
                break
            left = rng.permutation(everyone[np.bincount(d.of[open_], minlength=len(d.groups)) > 0])
            chosen = np.ones(len(d.groups), bool) if not turn else d.compatible(left, open_)
            rooms = d.rooms(chosen)
            rooms = np.where(soft > 0, np.where(np.isinf(rooms), float(FAR), rooms) * soft, 0.0)
            for way, much in enumerate((d.upl, d.lpl)):
                goals = self._goals(chosen[d.of] & ~out[way] & (much > 0), much, rooms[1 - way], 1 - 2 * way)
                z = self.tables.soft(0 * x, rooms, goals) if len(goals.cell) else None
                for table in () if z is None else (z, -z):
                    self._reached(table, soft, out)
        return out

    def _goals(self, entries: Bools, much: Ints, room: Floats, sign: int) -> Goals:
        """The cells of some entries as far as most of them ask, where there is room."""
        level = np.zeros(len(room))
        np.maximum.at(level, self.demand.cell[entries], much[entries].astype(float))
        cell = np.flatnonzero((level > 0) & (level <= room))
        return Goals(cell, level[cell], np.full(len(cell), float(sign)))

    def _reached(self, z: Floats, soft: Floats, out: Bools) -> None:
        """Mark what a table shows where each cell may move as far as it is withheld."""
        d, hair = self.demand, NEAR * float(np.abs(z).max(initial=1.0))
        public = np.all((z >= -d.room[0] * soft - hair) & (z <= d.room[1] * soft + hair))
        own = z[d.own]
        odd = (own < d.low * soft[d.own] - hair) | (own > d.high * soft[d.own] + hair)
        fits = (np.bincount(d.whose[odd], minlength=len(d.groups)) == 0) & public
        move, usable = z[d.cell], fits[d.of]
        out[0] |= usable & (move >= d.upl * (1 - NEAR))
        out[1] |= usable & (-move >= d.lpl * (1 - NEAR))

    def _cuts(self, e: int, way: int, level: float, x: Floats, active: _Active) -> Iterator[CapacityCut]:
        """The cut of one requirement, and those that are left when its cells count as withheld; of a whole point cuts of larger ones too."""
        soft, whole = x, bool(np.all((x <= NEAR) | (x >= 1 - NEAR)))
        for nested in range(1 if whole else NESTED):
            prices = self._short(e, way, level, soft, active)
            if prices is None:
                return
            yield self._asked(e, way, prices)
            turns = min(ORDERS if whole else 0, self.growths)
            self.growths -= turns
            for turn in range(turns):
                order = self.cost * self.rng.uniform(0.5, 2.0, len(x)) ** turn
                yield self._grown(e, way, level, x, prices, order)
            if nested + 1 < NESTED:
                soft = np.where((np.abs(self._asking(e, way, prices)) > NEAR) & self.free, 1.0, soft)
                active = self._active(soft)

    def _grown(self, e: int, way: int, level: float, x: Floats, prices: Floats, order: Floats) -> CapacityCut:
        """Cells join a whole point in this order as long as the way stays open: of the few left, which the cut asks for, at least one must be
        withheld."""
        needed = np.zeros(len(x), bool)
        for _ in range(GROWN):
            gives = self._gives(e, way, self._asking(e, way, prices))
            spare = level * (1 - NEAR) - float(gives[self.forced | (x > 0.5)].sum())
            left = np.flatnonzero((gives > NEAR) & self.free & (x < 0.5))
            left = left[np.lexsort((left, order[left]))]
            more = x.copy()
            for i in left.tolist():
                if gives[i] < spare:
                    more[i], spare = 1.0, spare - gives[i]
            tried = left[~needed[left]][:1]
            if not more[left].any():  # none for which these prices vouch: others may
                more[tried] = 1.0
            if not more[left].any():
                break
            found = self._short(e, way, level, more, self._active(more))
            if found is not None:
                x, prices = more, found
            elif len(tried):
                needed[tried] = True
            else:
                break
        asked = self._gives(e, way, self._asking(e, way, prices)) > NEAR
        return replace(
            self._asked(e, way, prices), covered=tuple(np.flatnonzero(asked & self.free & (x > 0.5)).tolist())
        )

    def _gives(self, e: int, way: int, slope: Floats) -> Floats:
        """What each cell gives at most where its move counts so much."""
        used = np.flatnonzero(np.abs(slope) > NEAR)
        below, above = self.demand.rooms_of(int(self.demand.of[e]), used)
        out = np.zeros(len(slope))
        room = below + above if way == SLIDE else np.where(slope[used] > 0, above, below)
        out[used] = np.abs(slope[used]) * room
        return out

    def _short(self, e: int, way: int, level: float, soft: Floats, active: _Active) -> Floats | None:
        """The prices of one requirement where it is not met."""
        p, sign, group = int(self.demand.cell[e]), -1.0 if way == 1 else 1.0, int(self.demand.of[e])
        rooms = self.demand.rooms_of(group, active.cells)
        if way == SLIDE:  # between two tables each cell moves by both rooms together
            rooms = np.broadcast_to(rooms.sum(axis=0), rooms.shape).copy()
        capped = np.minimum(rooms, level)
        rooms[0 if sign < 0 else 1, active.place[p]] = level  # further need not be seen
        # Where a cell counts in part, no coefficient counts for more than the level; where it counts in full, the attacker moves it as he can.
        part = np.where(self.forced[active.cells], 1.0, soft[active.cells])
        found = active.most(p, sign, np.where(part >= 1.0, rooms, capped * part), self.budget)
        return None if found is None or found[0] >= level * (1 - NEAR) else found[1]

    def _asked(self, e: int, way: int, prices: Floats) -> CapacityCut:
        """The cut of these prices."""
        whose = self.demand.groups[int(self.demand.of[e])].members[0]
        return self._cut(whose, int(self.demand.cell[e]), SENSES[way], *self._rounded(prices))

    def _asking(self, e: int, way: int, prices: Floats) -> Floats:
        """How much of each cell's move counts for what is asked."""
        slope = self._slope(prices)
        slope[int(self.demand.cell[e])] += -1.0 if way == 1 else 1.0
        return slope

    def _slope(self, prices: Floats) -> Floats:
        """What the equations at these prices make of each cell."""
        used = np.flatnonzero(prices)
        part = self.rows.take(used)
        entries: Floats = part.coefs * prices[used][part.row]
        return np.bincount(part.indices, entries, minlength=self.rows.cells).astype(float)

    def bridges(self, x: Floats) -> Iterator[CapacityCut]:
        """For each cell that is withheld further than cells around it allow, the bridge of its prices."""
        active, far = self._active(x), float(len(x))
        room = np.where(self.free[active.cells], x[active.cells], far * self.forced[active.cells])
        for i in np.flatnonzero(self.free & (x > NEAR)).tolist():
            if self.budget.over:
                return
            mine = room.copy()
            mine[active.place[i]] = far
            found = active.most(i, 1.0, np.stack((mine, mine)), self.budget)
            if found is not None and found[0] < x[i] - NEAR:
                yield self._cut(0, i, "bridge", *self._rounded(found[1]))

    def _active(self, x: Floats) -> _Active:
        return _Active(self.rows, np.flatnonzero(self.forced | (self.free & (x > NEAR))))

    def _rounded(self, prices: Floats) -> tuple[Ints, int]:
        """Prices as whole numbers over their scale."""
        for d in (*DENOMINATORS, COARSE):
            near = np.rint(prices * d)
            if float(np.abs(near - prices * d).max(initial=0.0)) < NEAR * d:
                break
        return near.astype(np.int64), d

    def _cut(self, attacker: int, p: int, sense: str, multipliers: Ints, scale: int) -> CapacityCut:
        used = np.flatnonzero(multipliers)
        pairs = zip(self.equation[used].tolist(), multipliers[used].tolist(), strict=True)
        return CapacityCut(attacker, p, sense, tuple(pairs), scale)


class _Active:
    """The equations between the cells that count as withheld."""

    def __init__(self, rows: Relations, cells: Ints) -> None:
        self.cells, self.equations = cells, rows.equations
        place = np.full(rows.cells, -1, np.int64)
        place[cells] = np.arange(len(cells))
        ptr, by_cell = rows.by_cell
        entry = np.sort(by_cell[ranges(ptr[cells], ptr[cells + 1])])
        self.place = place
        self.row, at = np.unique(rows.row[entry], return_inverse=True)
        self.indptr = np.concatenate(([0], np.cumsum(np.bincount(at, minlength=len(self.row))))).astype(np.int64)
        self.indices, self.coefs = place[rows.indices[entry]], rows.coefs[entry].astype(float)

    def most(self, p: int, sign: float, room: Floats, budget: Budget) -> tuple[float, Floats] | None:
        """How far cell p can be moved where these are the rooms of the cells, and the prices of all equations."""
        cost = np.zeros(len(self.cells))
        cost[self.place[p]] = -sign
        sides = np.zeros(len(self.row))
        model = LinearModel(
            cost=cost, lower=-room[0], upper=room[1], indptr=self.indptr, indices=self.indices,
            coefs=self.coefs, row_lower=sides, row_upper=sides,
        )  # fmt: skip
        try:
            found = ask(solve_lp, model, columns=len(cost), rows=len(sides), budget=budget)
        except SolverError:
            return None
        if found.x is None or found.row_duals is None:
            return None
        prices = np.zeros(self.equations)
        prices[self.row] = found.row_duals
        return -found.objective, prices
