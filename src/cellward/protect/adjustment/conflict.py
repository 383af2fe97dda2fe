"""Conflict: senses that do not go together whatever the other cells do, and the whole multipliers of equations that prove it (Farkas).

Legend: λ multipliers, g = Mᵀλ, z deviations. Every table has M·z = 0, so Σ g·z = 0; where the least of Σ −g·z over the room of the cells is above 0,
cell by cell, there is none. The room of a cell at risk depends on its sense; those whose sense the proof leans on are the conflict: one of them has
to be turned.
"""

from __future__ import annotations

from collections.abc import Iterator
from dataclasses import dataclass, replace
from functools import cached_property
from itertools import combinations, islice, pairwise
from math import gcd
from typing import TYPE_CHECKING

import numpy as np

from cellward.exact import Bools, Floats, Ints
from cellward.protect.adjustment.cut import Cut
from cellward.protect.adjustment.needs import Room
from cellward.protect.adjustment.senses import Senses
from cellward.protect.whole_multiples import whole_multiples
from cellward.table.relations import Relations

if TYPE_CHECKING:
    from scipy.sparse import csr_matrix


@dataclass(frozen=True, eq=False)
class Conflict:
    """Cells at risk by their place among them, and the senses of which one has to be turned; ``multiplier`` on ``equation`` prove it.

    ``without_choice``: those that the proof leans on besides, which can only move one way; ``cells``: all whose room it leans on; ``cut``: what the
    same multipliers leave of all senses.
    """

    at: Ints
    sense: Ints
    without_choice: Ints
    equation: Ints
    multiplier: Ints
    cells: Ints
    cut: Cut

    @staticmethod
    def of_nothing() -> Conflict:
        """Where a single cell has no value left: no equation is needed to show it."""
        none = np.zeros(0, np.int64)
        return Conflict(none, none, none, none, none, none, Cut.one_of(none, none))

    @property
    def clause(self) -> Cut:
        """One of its cells has to be turned: less than the cut says."""
        return Cut.one_of(self.at, -self.sense)

    def leaning_on(self, at: Ints, sense: Ints) -> Conflict:
        """The same multipliers as a conflict of other cells, which they prove just as well."""
        order = np.argsort(at)
        return replace(self, at=at[order], sense=sense[order])


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
                    used = g != 0
                    cut = self._cut(cells[used], sign * g[used])
                    return Conflict(free, sense[free], bound, equation, sign * multiplier, cells[used], cut)
        return None

    def cuts(self, most_pairs: int) -> Iterator[Conflict]:
        """What single equations leave of senses, and pairs of them that share a cell, without it."""
        from scipy.sparse import csr_matrix, identity, vstack

        r = self.relations
        matrix = csr_matrix((r.coefs, r.indices, r.indptr), (r.equations, r.cells))
        both = list(islice(_pairs(r), most_pairs))
        row = np.repeat(np.arange(len(both)), 2)
        column, coef = (np.array([x for pair in both for x in pair[k : k + 2]], np.int64) for k in (0, 2))
        two = csr_matrix((coef, (row, column)), (len(both), r.equations))
        taken = vstack((identity(r.equations, np.int64, format="csr"), two)).tocsr()
        for sign in (1, -1):
            left = (sign * taken @ matrix).tocsr()
            left.eliminate_zeros()
            for j in np.flatnonzero(self._may_miss(left)).tolist():
                own, lam = slice(left.indptr[j], left.indptr[j + 1]), slice(taken.indptr[j], taken.indptr[j + 1])
                cells, g = left.indices[own].astype(np.int64), left.data[own]
                cut = self._cut(cells, g)
                if cut.need <= 0:
                    continue
                place = self.place[cells]
                known = place[place >= 0]
                known = known[self.senses.one_way[known]]
                equation, multiplier = taken.indices[lam].astype(np.int64), sign * taken.data[lam]
                yield Conflict(cut.at, -cut.sense, known, equation, multiplier, cells, cut)

    def _may_miss(self, left: csr_matrix) -> Bools:
        """Whether, by the floats, some senses leave Σ g·z below 0, one a row of g."""
        lo, hi = (x.astype(float) for x in (self.free.lo, self.free.hi))
        s, falls, rises = self.senses, hi.copy(), lo.copy()
        can_fall, can_rise = (~s.one_way | (s.sense == way) for way in (-1, 1))
        falls[s.cell[can_fall]] = np.minimum(hi[s.cell], -s.asked_down)[can_fall]
        rises[s.cell[can_rise]] = np.maximum(lo[s.cell], s.asked_up)[can_rise]
        g, cells = left.data, left.indices
        greatest = np.where(g > 0, g * falls[cells], g * rises[cells])
        row = np.repeat(np.arange(left.shape[0]), np.diff(left.indptr))
        return np.asarray(np.bincount(row, greatest, left.shape[0]) < 0)

    def _cut(self, cells: Ints, g: Ints) -> Cut:
        """What Σ g·z ≥ 0 leaves of senses."""
        s, need, found = self.senses, 0, []
        lo, hi = self.free.lo[cells].tolist(), self.free.hi[cells].tolist()
        for x, k, low, high in zip(g.tolist(), self.place[cells].tolist(), lo, hi, strict=True):
            best = x * high if x > 0 else x * low
            side = 1 if x > 0 else -1
            if k < 0 or (s.one_way[k] and s.sense[k] == side):
                need -= best
                continue
            least = x * (min(-int(s.asked_down[k]), high) if x > 0 else max(int(s.asked_up[k]), low))
            need -= least
            if not s.one_way[k] and best > least:
                found.append((k, side, best - least))
        at, sense = (np.array([one[k] for one in found], np.int64) for k in (0, 1))
        return Cut(at, sense, tuple(min(one[2], max(need, 0)) for one in found), need)

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


def _pairs(relations: Relations) -> Iterator[tuple[int, int, int, int]]:
    """Equations that share a cell, each two once, with multipliers that take it out of their sum."""
    r, seen = relations, set[tuple[int, int]]()
    start, entry = r.by_cell
    for first, last in pairwise(start.tolist()):
        for one, other in combinations(entry[first:last].tolist(), 2):
            rows = int(r.row[one]), int(r.row[other])
            if rows not in seen:
                seen.add(rows)
                common = gcd(int(r.coefs[one]), int(r.coefs[other]))
                yield *rows, int(r.coefs[other]) // common, -int(r.coefs[one]) // common
