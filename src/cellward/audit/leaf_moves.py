"""Leaf moves: whole tables inside a region, each made for as many levels as go into it, by raising and lowering single leaves (solve/packing.py).

In a table that lacks most combinations of its codes, exchanges between pairs of codes meet a gap nearly everywhere. A leaf and all sums above it can
still be moved, as far as the sums have room; where some of them have none, another leaf below all of those is moved the other way. From the true
table, every level that is still open is tried once, in random order; what was reached is held while the others follow. One such table shows hundreds
of levels at once, and a few of them show most. For those that remain, moves of several leaves are looked for (local_moves.py), and packed likewise.
"""

from __future__ import annotations

from typing import TYPE_CHECKING

import numpy as np

from cellward.audit.ends import HIGH, LOW, Ends
from cellward.audit.local_moves import LocalMoves
from cellward.exact import Ints
from cellward.solve.budget import Budget
from cellward.solve.packing import Lists, pack

if TYPE_CHECKING:
    from cellward.table.leaves import LeafForm

CHOICES = 8
"""Leaves below a cell that are tried for it."""

PARTNERS = 200
"""Leaves that are looked at for the way back."""

PATIENCE = 2
"""Tables in a row that may bring nothing new."""

LEAST_GAIN = 0.01
"""Of what was open, a table that brings less counts as nothing new."""

FAR = 2**40
"""Where no bound is known, there is this much room."""


class LeafMoves:
    """The leaves of one table, the cells above each, and the leaves below each cell; None from :meth:`of` where leaves are not free."""

    def __init__(self, form: LeafForm) -> None:
        below = form.matrix.tocsr()
        below.sort_indices()
        above = below.tocsc()
        above.sort_indices()
        self.above, self.below = Lists.of(above), Lists.of(below)
        """Of every leaf the cells above it, of every cell the leaves below it."""
        self._form = form

    @staticmethod
    def of(form: LeafForm) -> LeafMoves | None:
        """None where leaves have conditions of their own, or move a cell by more than themselves."""
        data = form.matrix.data
        free = not form.condition.shape[0] and bool(np.all(np.abs(data) == 1))
        return LeafMoves(form) if free and form.matrix.shape[1] else None

    def explore(self, ends: Ends, rng: np.random.Generator, budget: Budget, *, solver: bool = True) -> None:
        """Tables from the true one, or the first that is known, towards the ends still wanted, until they bring nothing new.

        ``solver``: with moves of several leaves where single ones do not do; not where a level is out of reach anyway.
        """
        if ends.start is None:
            return
        center = ends.region.center
        start = center if ends.region.contains(center) else ends.start
        local = LocalMoves(self._form) if solver and start is center and not ends.out_of_reach else None
        idle = 0
        while not budget.over:
            before = ends.many_open
            if not before:
                return
            y = Packing(self, start, (ends.outer[LOW], ends.outer[HIGH]), rng, local).reach(ends, budget)
            if not ends.region.contains(y):
                return
            ends.see(y)
            idle = idle + 1 if before - ends.many_open < max(LEAST_GAIN * before, 1) else 0
            if idle >= PATIENCE:
                if local is None or not local.learn(ends, budget):
                    return
                idle = 0


class Packing:
    """One table in the making: where it stands, and the room that is left once what it has reached is held."""

    def __init__(
        self,
        moves: LeafMoves,
        start: Ints,
        bounds: tuple[Ints, Ints],
        rng: np.random.Generator,
        local: LocalMoves | None = None,
    ) -> None:
        self.moves, self.rng, self.local = moves, rng, local
        self.y = start.copy()
        self.lo = np.maximum(bounds[LOW], start - FAR)
        self.hi = np.minimum(bounds[HIGH], start + FAR)

    def reach(self, ends: Ends, budget: Budget) -> Ints:
        """With as many of the open ends reached as were found to go together."""
        (low, high), goals = ends.open, ends.enough
        cell = np.concatenate((np.flatnonzero(low), np.flatnonzero(high)))
        side = np.repeat((LOW, HIGH), (int(low.sum()), int(high.sum())))
        value = np.where(side == HIGH, goals[HIGH][cell], goals[LOW][cell])
        near = self.rng.permutation(np.flatnonzero(np.abs(value - self.y[cell]) <= FAR))
        cell, side, value = cell[near], side[near], value[near]
        moves, seed = self.moves, int(self.rng.integers(2**31))
        reached = pack(
            moves.above,
            moves.below,
            self.y,
            self.lo,
            self.hi,
            (cell, side, value),
            choices=CHOICES,
            partners=PARTNERS,
            seed=seed,
            budget=budget,
        )
        if self.local is not None:
            for k in np.flatnonzero(~reached).tolist():
                if self._locally(int(cell[k]), int(side[k]), int(value[k])):
                    (self.hi, self.lo)[int(side[k])][int(cell[k])] = int(value[k])
        return self.y

    def _locally(self, i: int, way: int, goal: int) -> bool:
        """By a move of several leaves, where one is known and there is room for it."""
        move = None if self.local is None else self.local.of(i, way)
        if move is None:
            return False
        after = self.y[move.cell] + move.shift
        if np.any((after > self.hi[move.cell]) | (after < self.lo[move.cell])):
            return False
        there = int(after[move.cell == i][0])
        if (there < goal) if way == HIGH else (there > goal):
            return False
        self.y[move.cell] = after
        return True
