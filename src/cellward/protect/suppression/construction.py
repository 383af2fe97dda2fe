"""Construction: a safe pattern from tables that show many demands at once; what they move joins the pattern.

The public comes first, a part of its cells at a time, the largest levels first, no two of them in one equation; between two parts, tables that move
withheld cells alone show what they can. Then all other attackers as if they had put their heads together; then as many of them at once as leave room
for what is asked of each other; and those still open one by one.
"""

from __future__ import annotations

from collections.abc import Sequence

import numpy as np

from cellward.audit.ends import Witness
from cellward.exact import Bools, Floats
from cellward.protect.suppression.cheapest_witness import CheapestWitness, Goals
from cellward.protect.suppression.demand import Demand
from cellward.protect.suppression.problem import SuppressionProblem
from cellward.protect.suppression.witness_pool import WitnessPool
from cellward.solve.budget import Budget

PARTS, FEW_PARTS, LARGE = 20, 6, 20_000
"""The public's cells are taken in about so many parts, in fewer where the table is large."""
LEAST_PART = 3
EACH, FEWER, VAIN = 0.02, 4, 5
"""A table may take this part of the time left; where it takes longer, so many times fewer goals are tried together, down to single ones until so many
in a row are out of reach."""
GAIN = 0.2
"""Free tables are looked for as long as each shows this part of what is open."""
KNOWN = 0.9
"""How much less a cell costs that the cuts ask for, times how far they do."""
FEW = 0.05
"""Free tables are not looked for where they serve less than this part of the attackers."""
AGAIN = 2
"""Times that a table is sought again with costs by what the last one moves."""
NEAR = 3000
"""Cells around few goals that are looked at first."""
HAIR = 1e-6


class Construction:
    """One pattern in the making, guided by where the relaxation of the cuts lies."""

    def __init__(
        self,
        problem: SuppressionProblem,
        demand: Demand,
        budget: Budget,
        rng: np.random.Generator,
        guide: Floats,
        among: Bools | None = None,
    ) -> None:
        self.problem, self.demand, self.budget, self.rng = problem, demand, budget, rng
        self.lp = CheapestWitness(problem.instance.relations, budget)
        self.cost = np.where(problem.forced, 0, problem.cost) * (1 - KNOWN * guide)
        self.pattern = problem.forced | (problem.candidate & (guide > 1 - HAIR))
        self.pool = WitnessPool(demand)
        self.among = among
        """Cells among which others are withheld first; None: all."""
        self.slow = False
        """Whether so many goals as were tried at first took too long."""
        self.vague: set[int] = set()
        """Entries reached by tables that were not brought to exact numbers."""

    def within(self, budget: Budget) -> None:
        """From now on this is the time there is."""
        self.budget = self.lp.budget = budget

    def build(self) -> bool:
        """Withhold cells until everything is shown; False where that does not come about."""
        demand = self.demand
        if demand.public.any():
            self.cover(demand.public)
        if not demand.public.all():
            self.cover(np.ones(len(demand.groups), bool), free=True)
            for free in (True, False) if self._large else (True, True, False):
                self._compatible(free=free)
        self.one_by_one()
        return not self._open.any()

    def _compatible(self, *, free: bool) -> None:
        """Attackers of whom something is open, as many at once as have room for what is asked of each other."""
        d = self.demand
        left = np.unique(d.of[self._open])
        many = len(left)
        while len(left) and not self.budget.over:
            chosen = d.compatible(self.rng.permutation(left), self._open)
            if free and int(chosen.sum()) < FEW * many:
                return
            self.cover(chosen, free=free)
            left = left[~chosen[left]]
            left = left[np.isin(left, d.of[self._open])]

    @property
    def _large(self) -> bool:
        return len(self.pattern) > LARGE

    @property
    def _open(self) -> Bools:
        up, down = self.pool.open
        out = up | down
        out[list(self.vague)] = False
        return out

    # ---- many at once ----------------------------------------------------------------------------------------------------------------------

    def cover(self, chosen: Bools, *, free: bool = False) -> None:
        """Show what is open of these attackers by tables that none of them can rule out, as far as that is possible together; ``free``: and moves
        withheld cells alone."""
        room = self.demand.rooms(chosen)
        even = np.broadcast_to(room.min(axis=0), room.shape)
        ways = ((even, 0), (room, 1), (room, -1))
        for rooms, way in ways:
            self._push(chosen, rooms, way)
        for rooms, way in () if free else ways:
            self._pay(chosen, rooms, way)

    def _pay(self, chosen: Bools, room: Floats, way: int) -> None:
        """Tables that move other cells too, a part of the goals at a time; what cannot be reached so is left to others."""
        size: int | None = None
        first = paid = vain = 0
        left = np.ones(len(self.pattern), bool)
        while not self.budget.over:
            goals = self._goals(chosen, room, way)
            goals = goals.take(left[goals.cell])
            if not len(goals.cell):
                return
            if size is None:
                size = first = max(-(-len(goals.cell) // (FEW_PARTS if self._large else PARTS)), LEAST_PART)
            picked = goals.take(self._apart(goals, size))
            rooms = self._around(picked, room)
            cost = np.where(self.pattern, 0.0, self.cost)
            z = self.lp.hard(cost, rooms, picked, part := self._one_of_many)
            slow = _mostly_spent(part)
            if z is None and not slow:
                picked = self._possible(picked, room) if size > 1 else picked
                z = self.lp.hard(cost, room, picked, part := self._one_of_many) if len(picked.cell) else None
                slow = _mostly_spent(part)
            if z is not None and self._taken(self._leaner(z, cost, rooms, picked), cost, rooms, picked):
                paid, vain = paid + size, 0
                if paid >= first:  # as often as where all of these were paid for at once
                    self._push(chosen, room, way)
                    paid = 0
            elif size > 1 and (z is not None or slow):
                size, self.slow = max(size // FEWER, 1), True
            else:
                left[picked.cell] = False
                vain += 1
                if size > 1 or vain == VAIN:
                    return

    @property
    def _one_of_many(self) -> Budget:
        """The time for one table, where there is a limit: many of them are needed."""
        left = self.budget.left
        return self.budget.part(None if left is None else left * EACH)

    def _push(self, chosen: Bools, room: Floats, way: int) -> None:
        """Tables that move withheld cells alone."""
        while not self.budget.over:
            before = self.pool.many_open
            goals = self._goals(chosen, np.where(self.pattern, room, 0.0), way)
            if not len(goals.cell):
                return
            if not way:
                goals = Goals(goals.cell, goals.level, self.rng.choice([-1.0, 1.0], len(goals.cell)))
            if not self._pushed(goals, np.where(self.pattern, room, 0.0)):
                return
            if before - self.pool.many_open <= GAIN * before:
                return

    def _pushed(self, goals: Goals, room: Floats) -> bool:
        """Take a table that reaches as many goals as it can, or one in fine steps; False where neither is one in exact numbers."""
        rooms = self._around(goals, room)
        z = self.lp.soft(self.cost, rooms, goals)
        if z is None or self._take(self.lp.exact(z)):
            return z is not None
        further = self.lp.soft(self.cost, rooms, goals.beyond(room))
        return further is not None and self._take(self.lp.exact(further) or self.lp.beside(further))

    def _goals(self, chosen: Bools, room: Floats, way: int) -> Goals:
        """Cells of which something is open to these and has room, as far as it must be moved; ``way`` 0: both ways at once."""
        d = self.demand
        up, down = self.pool.open
        level = np.zeros(room.shape[1])
        mine = chosen[d.of]
        for sense, open_, much in ((1, up, d.up), (-1, down, d.down)):
            if way in (0, sense):
                at = open_ & mine
                np.maximum.at(level, d.cell[at], much[at].astype(float))
        limit = room.min(axis=0) if not way else room[1 if way > 0 else 0]
        cell = np.flatnonzero((level > 0) & (level <= limit))
        sign = np.full(len(cell), 1.0 if way >= 0 else -1.0)
        return Goals(cell, level[cell], sign)

    def _apart(self, goals: Goals, size: int) -> Bools:
        """Some of the goals, the largest first, no two in one equation."""
        r = self.problem.instance.relations
        ptr, entry = r.by_cell
        used, out, many = np.zeros(r.equations, bool), np.zeros(len(goals.cell), bool), 0
        for k in np.argsort(-goals.level, kind="stable").tolist():
            i = int(goals.cell[k])
            rows = r.row[entry[ptr[i] : ptr[i + 1]]]
            if not used[rows].any():
                used[rows], out[k], many = True, True, many + 1
                if many == size:
                    break
        return out

    def _possible(self, goals: Goals, room: Floats) -> Goals:
        """Those that can be reached together, whatever it costs."""
        z = self.lp.soft(0 * self.cost, room, goals)
        if z is None:
            return goals.take(np.zeros(len(goals.cell), bool))
        return goals.take(goals.sign * z[goals.cell] >= goals.level * (1 - HAIR))

    def _around(self, goals: Goals, room: Floats) -> Floats:
        """The rooms of cells that are worth it, or near the goals where these are few; all of them otherwise."""
        if self.among is not None:
            return np.where(self.among | self.pattern, room, 0.0)
        if 100 * len(goals.cell) > NEAR or room.shape[1] <= NEAR:
            return room
        free = np.asarray((room[0] > 0) | (room[1] > 0))
        return np.where(self.lp.near(goals.cell, free, NEAR), room, 0.0)

    def _leaner(self, z: Floats, cost: Floats, room: Floats, goals: Goals) -> Floats:
        """A table that moves cheaper cells, by costs that fall with how far the last one moves each."""
        for _ in range(1 if self._large or self.slow else AGAIN):
            again = self.lp.hard(cost / (np.abs(z) + 1), room, goals)
            if again is None or self._added(again) >= self._added(z):
                break
            z = again
        return z

    def _added(self, z: Floats) -> float:
        return float(self.cost[(np.abs(z) > HAIR) & ~self.pattern].sum())

    def _taken(self, z: Floats, cost: Floats, room: Floats, goals: Goals) -> bool:
        """Withhold what this table moves, or one in fine steps that goes as far; False where neither is a table in exact numbers."""
        if self._take(self.lp.exact(z)):
            return True
        further = self.lp.hard(cost / (np.abs(z) + 1), room, goals.beyond(room), self._one_of_many)
        return further is not None and self._take(self.lp.exact(further) or self.lp.beside(further))

    def _take(self, witness: Witness | None) -> bool:
        """Withhold what a table moves; False where there is none, or the public rules it out."""
        if witness is None or not self.demand.inside(witness):
            return False
        self.pattern |= witness.shift != 0
        self.pool.add(witness)
        return True

    # ---- one by one ------------------------------------------------------------------------------------------------------------------------

    def one_by_one(self) -> None:
        """What is open after all, each by itself."""
        for e in np.flatnonzero(self._open).tolist():
            for way, much in ((0, self.demand.up), (1, self.demand.down)):
                if self.budget.over:
                    return
                if self.pool.open[way][e] and not self._alone(e, way, float(much[e])):
                    return

    def _alone(self, e: int, way: int, level: float) -> bool:
        """One way of one entry; False where no table reaches it."""
        chosen = np.zeros(len(self.demand.groups), bool)
        chosen[self.demand.of[e]] = True
        room = self.demand.rooms(chosen)
        goal = Goals(self.demand.cell[e : e + 1], np.array([level]), np.array([1.0 - 2 * way]))
        cost = np.where(self.pattern, 0.0, self.cost)
        for rooms in (self._around(goal, room), room):
            z = self.lp.hard(cost, rooms, goal)
            if z is not None:
                z = self._leaner(z, cost, rooms, goal)
                if not self._taken(z, cost, rooms, goal) or self.pool.open[way][e]:
                    self.pattern |= np.abs(z) > HAIR
                    self.vague.add(e)
                return True
            if rooms is room:
                break
        return False

    def complete(self, cells: Sequence[int], budget: Budget) -> None:
        """Withhold what it takes to show the public's levels of these cells, as far as they can be reached."""
        public = self.demand.public[self.demand.of]
        for e in np.flatnonzero(public & np.isin(self.demand.cell, np.unique(cells))).tolist():
            for way, much in ((0, self.demand.up), (1, self.demand.down)):
                if self.pool.open[way][e] and not budget.over:
                    self._alone(e, way, float(much[e]))

    def repair(self, most: float) -> bool:
        """Show what is open, as cheaply as it goes; False where it does not come about, or not for less than this."""
        while (open_ := self._open).any() and not self.budget.over and self.withheld_cost() < most:
            chosen = self.demand.compatible(self.rng.permutation(np.unique(self.demand.of[open_])), open_)
            room = self.demand.rooms(chosen)
            for rooms, way in ((np.broadcast_to(room.min(axis=0), room.shape), 0), (room, 1), (room, -1)):
                self._pay(chosen, rooms, way)
            e = np.flatnonzero(self._open & chosen[self.demand.of])[:1].tolist()
            for way, much in ((0, self.demand.up), (1, self.demand.down)) if e else ():
                if self.pool.open[way][e[0]] and not self._alone(e[0], way, float(much[e[0]])):
                    return False
        return not self._open.any()

    # ---- cheaper ---------------------------------------------------------------------------------------------------------------------------

    def trim(self, budget: Budget, kept: Bools | None = None) -> None:
        """Print cells again that can be spared, the dearest first: what a table showed that moves the cell is to be shown by others. ``kept``: cells
        that are not asked."""
        true_cost = self.problem.cost
        self._forget_idle()
        free = self.pattern & ~self.problem.forced
        if kept is not None:
            free &= ~kept
        for i in sorted(np.flatnonzero(free).tolist(), key=lambda i: (-true_cost[i], i)):
            if budget.over:
                return
            if self.pattern[i]:
                self._spare(i)

    def _spare(self, i: int) -> None:
        kept = self.pattern.copy(), self.pool, self.vague.copy()
        self.pattern[i] = False
        self.pool = self.pool.without(self.pattern)
        if not self.free():
            self.pattern, self.pool, self.vague = kept
        else:
            self._forget_idle()

    def _forget_idle(self) -> None:
        """Print what no table moves that is needed."""
        if not self.vague:
            self.pool = self.pool.only_needed()
            self.pattern = self.problem.forced | self.pool.moved

    def free(self) -> bool:
        """Whether tables that move withheld cells alone show everything."""
        while open_ := self.pool.many_open:
            if self.budget.over:
                return False
            chosen = self.demand.compatible(np.unique(self.demand.of[self._open]), self._open)
            self.cover(chosen, free=True)
            e = np.flatnonzero(self._open & chosen[self.demand.of])[:1].tolist()
            if e and not all(self._free_alone(e[0], way) for way in (0, 1)):
                return False
            if self.pool.many_open == open_:
                return False
        return True

    def _free_alone(self, e: int, way: int) -> bool:
        if not self.pool.open[way][e]:
            return True
        chosen = np.zeros(len(self.demand.groups), bool)
        chosen[self.demand.of[e]] = True
        level = float((self.demand.up, self.demand.down)[way][e])
        goal = Goals(self.demand.cell[e : e + 1], np.array([level]), np.array([1.0 - 2 * way]))
        room = np.where(self.pattern, self.demand.rooms(chosen), 0.0)
        z = self.lp.hard(self.cost, room, goal)
        return z is not None and self._taken(z, self.cost, room, goal) and not self.pool.open[way][e]

    def withheld_cost(self) -> int:
        """What the pattern costs."""
        return int(self.problem.cost[self.pattern & ~self.problem.forced].sum())


def _mostly_spent(part: Budget) -> bool:
    """Whether an answer that did not come was stopped rather than refused."""
    return part.time_limit_s is not None and part.spent > part.time_limit_s / 2
