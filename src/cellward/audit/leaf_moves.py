"""Leaf moves: whole tables inside a region, each made for as many levels as go into it, by raising and lowering single leaves; no solver.

In a table that lacks most combinations of its codes, exchanges between pairs of codes meet a gap nearly everywhere. A leaf and all sums above it can
still be moved, as far as the sums have room; where some of them have none, another leaf below all of those is moved the other way. From the true
table, every level that is still open is tried once, in random order; what was reached is held while the others follow. One such table shows hundreds
of levels at once, and a few of them show most. For those that remain, moves of several leaves are looked for (local_moves.py), and packed likewise.
"""

from __future__ import annotations

from collections.abc import Callable
from functools import cached_property
from typing import TYPE_CHECKING

import numpy as np

from cellward.audit.ends import HIGH, LOW, Ends
from cellward.audit.local_moves import LocalMoves
from cellward.exact import Ints
from cellward.solve.budget import Budget

if TYPE_CHECKING:
    from cellward.table.leaves import LeafForm

CHOICES = 3
"""Leaves below a cell that are tried for it."""

PARTNERS = 48
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
        self._below = (below.indptr, below.indices, below.data)
        self._many, self._leaves = below.shape[0], below.shape[1]
        self._length = int(np.diff(above.indptr).max(initial=0))
        self._above = (above.indptr.astype(np.int64), above.indices.astype(np.int64), above.data.astype(np.int64))
        self._form = form

    @staticmethod
    def of(form: LeafForm) -> LeafMoves | None:
        """None where leaves have conditions of their own, or move a cell by more than themselves."""
        data = form.matrix.data
        free = not form.condition.shape[0] and bool(np.all(np.abs(data) == 1))
        return LeafMoves(form) if free and form.matrix.shape[1] else None

    @cached_property
    def _columns(self) -> tuple[Ints, Ints]:
        """For every leaf the cells that it moves and by what factor, filled up with one cell beyond the last."""
        start, cell, factor = self._above
        cells = np.full((self._leaves, self._length), self._many, np.int64)
        factors = np.zeros((self._leaves, self._length), np.int64)
        row = np.repeat(np.arange(self._leaves), np.diff(start))
        place = np.arange(len(cell)) - start[row]
        cells[row, place], factors[row, place] = cell, factor
        return cells, factors

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
            y = Packing(self, start, (ends.outer[LOW], ends.outer[HIGH]), rng, local).reach(ends, lambda: budget.over)
            if not ends.region.contains(y):
                return
            ends.see(y)
            idle = idle + 1 if before - ends.many_open < max(LEAST_GAIN * before, 1) else 0
            if idle >= PATIENCE:
                if local is None or not local.learn(ends, budget):
                    return
                idle = 0

    def leaves_below(self, i: int) -> tuple[Ints, Ints]:
        """The leaves of a cell, and their factors."""
        start, leaf, factor = self._below
        part = slice(int(start[i]), int(start[i + 1]))
        return leaf[part], factor[part]

    def column(self, leaf: int) -> tuple[Ints, Ints]:
        """The cells above a leaf, and their factors."""
        start, cell, factor = self._above
        part = slice(int(start[leaf]), int(start[leaf + 1]))
        return cell[part], factor[part]


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
        self.y = np.append(start, 0)
        self.lo = np.append(np.maximum(bounds[LOW], start - FAR), 0)
        self.hi = np.append(np.minimum(bounds[HIGH], start + FAR), 0)
        self._mark = np.zeros(len(self.y), np.int64)

    @property
    def table(self) -> Ints:
        """As it stands."""
        return self.y[:-1]

    def reach(self, ends: Ends, stop: Callable[[], bool]) -> Ints:
        """With as many of the open ends reached as were found to go together."""
        (low, high), goals = ends.open, ends.enough
        cell = np.concatenate((np.flatnonzero(low), np.flatnonzero(high)))
        side = np.repeat((LOW, HIGH), (int(low.sum()), int(high.sum())))
        for turn, k in enumerate(self.rng.permutation(len(cell)).tolist()):
            if turn % 256 == 0 and stop():
                break
            i, way = int(cell[k]), int(side[k])
            goal = int(goals[way][i])
            need = goal - int(self.y[i])
            ahead = need * (1 if way == HIGH else -1) > 0
            if abs(need) > FAR or (ahead and not self._bring(i, need) and not self._locally(i, way, goal)):
                continue
            (self.hi, self.lo)[way][i] = goal
        return self.table

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

    def _bring(self, i: int, need: int) -> bool:
        """Move cell i by so much through one of its leaves, perhaps with another leaf the other way."""
        leaves, factors = self.moves.leaves_below(i)
        first = int(self.rng.integers(len(leaves))) if len(leaves) else 0
        for turn in range(min(CHOICES, len(leaves))):
            k = (first + turn) % len(leaves)
            if self._move(int(leaves[k]), need * int(factors[k])):
                return True
        return False

    def _move(self, leaf: int, step: int) -> bool:
        """Move a leaf by so much, if there is room, or if another leaf makes it."""
        cells, factors = self.moves.column(leaf)
        after = self.y[cells] + step * factors
        full = (after > self.hi[cells]) | (after < self.lo[cells])
        if not full.any():
            self.y[cells] = after
            return True
        if full[cells == leaf].any():
            return False
        partner = self._partner(leaf, step, cells, factors, cells[full])
        if partner is None:
            return False
        self.y[cells] = after
        other, signs = self.moves.column(partner)
        self.y[other] -= step * signs
        return True

    def _partner(self, leaf: int, step: int, cells: Ints, factors: Ints, full: Ints) -> int | None:
        """A leaf below all cells that are full, whose way back leaves every cell inside its room."""
        few = min(full.tolist(), key=lambda i: len(self.moves.leaves_below(i)[0]))
        those = self.moves.leaves_below(few)[0]
        if len(those) > PARTNERS:
            first = int(self.rng.integers(len(those)))
            those = np.take(those, np.arange(first, first + PARTNERS), mode="wrap")
        those = those[those != leaf]
        if not len(those):
            return None
        columns, signs = (part[those] for part in self.moves._columns)
        self._mark[cells] = step * factors
        after = self.y[columns] + self._mark[columns] - step * signs
        inside = np.all((after >= self.lo[columns]) & (after <= self.hi[columns]), axis=1)
        self._mark[cells] = 0
        self._mark[full] = 1
        inside &= self._mark[columns].sum(axis=1) == len(full)
        self._mark[full] = 0
        found = np.flatnonzero(inside)
        return int(those[found[0]]) if len(found) else None
