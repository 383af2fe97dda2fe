"""Conflict: senses that do not go together whatever the other cells do, and the whole multipliers of equations that prove it (Farkas).

Legend: λ multipliers, g = Mᵀλ, z deviations. Every table has M·z = 0, so Σ g·z = 0; where the least of Σ −g·z over the room of the cells is above 0,
cell by cell, there is none. The room of a cell at risk depends on its sense; those whose sense the proof leans on are the conflict: one of them has
to be turned.
"""

from __future__ import annotations

from dataclasses import dataclass
from functools import cached_property

import numpy as np

from cellward.exact import Floats, Ints
from cellward.protect.adjustment.needs import Room
from cellward.protect.adjustment.senses import Senses
from cellward.protect.whole_multiples import whole_multiples
from cellward.table.relations import Relations


@dataclass(frozen=True, eq=False)
class Conflict:
    """Cells at risk by their place among them, and the senses of which one has to be turned; ``multiplier`` on ``equation`` prove it.

    ``without_choice``: those that the proof leans on besides, which can only move one way; ``cells``: all whose room it leans on.
    """

    at: Ints
    sense: Ints
    without_choice: Ints
    equation: Ints
    multiplier: Ints
    cells: Ints

    @staticmethod
    def of_nothing() -> Conflict:
        """Where a single cell has no value left: no equation is needed to show it."""
        none = np.zeros(0, np.int64)
        return Conflict(none, none, none, none, none, none)


@dataclass(frozen=True, eq=False)
class Prover:
    """Conflicts of senses at the levels asked, in whole units of what is published."""

    relations: Relations
    free: Room
    senses: Senses

    @cached_property
    def place(self) -> Ints:
        """Of each cell its place among those at risk, −1 elsewhere."""
        place = np.full(self.relations.cells, -1, np.int64)
        place[self.senses.cell] = np.arange(len(self.senses.cell))
        return place

    def prove(self, sense: Ints, equation: Ints, guess: Floats) -> Conflict | None:
        """The conflict that multipliers near the guess prove; None where none of those tried proves one."""
        r = self.relations
        entries = np.concatenate([np.arange(r.indptr[j], r.indptr[j + 1]) for j in equation.tolist()])
        length = r.indptr[equation + 1] - r.indptr[equation]
        cells, local = np.unique(r.indices[entries], return_inverse=True)
        for multiplier in whole_multiples(guess):
            terms = r.coefs[entries] * np.repeat(multiplier, length)
            g = np.zeros(len(cells), np.int64)
            np.add.at(g, local.ravel(), terms)
            for sign in (1, -1):
                if (found := self._leans_on(sense, cells, sign * g)) is not None:
                    free = found[~self.senses.one_way[found]]
                    bound = found[self.senses.one_way[found]]
                    return Conflict(free, sense[free], bound, equation, sign * multiplier, cells[g != 0])
        return None

    def _leans_on(self, sense: Ints, cells: Ints, g: Ints) -> Ints | None:
        """The places of the cells at risk whose senses the proof needs; None where it is none."""
        used = np.flatnonzero(g)
        cells, g = cells[used], g[used]
        at = self.place[cells]
        end = np.where(g > 0, self.free.hi[cells], self.free.lo[cells])
        value = -sum(map(int.__mul__, g.tolist(), end.tolist()))
        s = self.senses
        # A cell that rises is kept above its level, one that falls below it; the proof uses one end of each cell.
        mine = np.flatnonzero((at >= 0) & np.where(g > 0, sense[at] < 0, sense[at] > 0))
        own = at[mine]
        level = np.where(g[mine] > 0, -s.asked_down[own], s.asked_up[own])
        level = np.where(g[mine] > 0, np.minimum(level, end[mine]), np.maximum(level, end[mine]))
        gain = [-x * (b - f) for x, b, f in zip(g[mine].tolist(), level.tolist(), end[mine].tolist(), strict=True)]
        for k in sorted(range(len(gain)), key=lambda k: (not s.one_way[own[k]], -gain[k])):
            if value > 0 and not s.one_way[own[k]]:
                break
            value += gain[k]
            gain[k] = -1
        if value <= 0:
            return None
        return np.sort(own[np.array([x < 0 for x in gain], bool)])
