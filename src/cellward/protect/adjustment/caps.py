"""Caps: how far cells move at most for the sake of those who read the table; they give way, cell by cell, where no senses go together under them.

Users look at headline totals first: the grand total and the sums that it is made of. And nobody expects a cell that is not at risk to change by half,
or one at risk by ten times what is asked, where other senses do without. None of this is worth a table that does not exist.
"""

from __future__ import annotations

from collections.abc import Sequence
from dataclasses import dataclass, replace
from fractions import Fraction
from functools import cached_property

import numpy as np

from cellward.exact import LARGEST, Bools, Ints
from cellward.protect.adjustment.needs import Room, capped_room
from cellward.protect.adjustment.senses import Senses
from cellward.table.relations import Relations

CHANGES = (Fraction(1, 10), Fraction(1), Fraction(10))
"""The shares by which cells that are not at risk change at most, from cap to cap; then as far as need be."""
TIMES = (4, 40, 400)
"""How many times their drawn levels cells at risk move at most."""
HARDLY = Fraction(1, 100)
"""The share by which headline totals change at most that cannot stay."""
HALF = 2
"""Senses are looked for in rooms of half the width, at the levels asked: what is drawn above these, up to as much again, then has room too."""
LARGE = 20_000
AT_ONCE = 3
"""Cells of one conflict whose caps give way at once: those with the most room, where it matters least."""


@dataclass(frozen=True, eq=False)
class Caps:
    """Rooms from the narrowest to the widest, and for each cell which of them it has.

    ``headline``: totals that stay, or hardly move; ``top``: the grand totals among them, which give way after all other cells; ``wished``: those that
    move as little as they can once senses are found.
    """

    rooms: tuple[Room, ...]
    step: Ints
    headline: Bools
    top: Bools
    wished: Bools

    @staticmethod
    def none(free: Room) -> Caps:
        """No caps."""
        none = np.zeros(len(free.lo), bool)
        return Caps((free,), none.astype(np.int64), none, none, none)

    @staticmethod
    def of(
        a: Ints, free: Room, senses: Senses, headline: Bools, top: Bools, cells: int, *, capped: bool, least: int = 0
    ) -> Caps:
        """Headlines stay; with ``capped``, changes are held small too, but not below ``least``. What stands after the ``cells`` is no cell.

        In tables of LARGE cells headlines are free while senses are looked for, and move as little as they can once they are found: totals that stay
        tie everything together, and linear programs take many times as long.
        """
        wished = headline
        if len(a) >= LARGE and capped:
            headline, top = np.zeros_like(headline), np.zeros_like(top)
        narrow, wide, far = (
            _near(a, free, senses, change / HALF, times // HALF, cells, least) if capped else free
            for change, times in zip(CHANGES, TIMES, strict=True)
        )
        hardly = _near(a, free, senses, HARDLY / HALF, 1, cells, least)
        rooms = (
            Room(np.where(headline, 0, narrow.lo), np.where(headline, 0, narrow.hi)),
            Room(np.where(headline, hardly.lo, wide.lo), np.where(headline, hardly.hi, wide.hi)),
            Room(np.where(headline, wide.lo, far.lo), np.where(headline, wide.hi, far.hi)),
            free,
        )
        return Caps(rooms, np.zeros(len(a), np.int64), headline, top, wished)

    @cached_property
    def room(self) -> Room:
        """What cells may move by while senses are looked for."""
        at = np.arange(len(self.step))
        lo, hi = (np.stack(ends) for ends in zip(*((one.lo, one.hi) for one in self.rooms), strict=True))
        return Room(lo[self.step, at], hi[self.step, at])

    @property
    def whole(self) -> Room:
        """What they may move by once these are found."""
        free = self.rooms[-1]
        return Room(np.maximum(free.lo, HALF * self.room.lo), np.minimum(free.hi, HALF * self.room.hi))

    @cached_property
    def capped(self) -> Bools:
        """Which cells have less room than there is."""
        free = self.rooms[-1]
        return np.asarray((self.room.lo > free.lo) | (self.room.hi < free.hi))

    @property
    def others(self) -> Bools:
        """Those among them that are no grand totals."""
        return self.capped & ~self.top

    @property
    def _turn(self) -> Ints:
        """Which give way first: headlines a little, then other cells, then headlines, the grand totals last."""
        first = np.where(self.headline, np.where(self.step == 0, 0, 2), 1)
        return np.where(self.top, 3, first)

    def without(self, conflicts: Sequence[Ints]) -> Caps | None:
        """With more room for a few cells of each conflict; None where none has a cap."""
        step, turn, width = self.step.copy(), self._turn, (self.room.hi - self.room.lo).astype(float)
        for cells in conflicts:
            mine = cells[self.capped[cells]]
            mine = mine[turn[mine] == turn[mine].min(initial=9)]
            step[mine[np.argsort(-width[mine], kind="stable")[:AT_ONCE]]] += 1
        step = np.minimum(np.where(step > self.step, self.step + 1, step), len(self.rooms) - 1)
        return replace(self, step=step) if np.any(step > self.step) else None

    def wider(self) -> Caps:
        """With more room for all cells but the grand totals, and for these where no others have caps."""
        last = len(self.rooms) - 1
        others = np.where(self.top, self.step, np.minimum(self.step + 1, last))
        if np.array_equal(others, self.step):
            return self.released()
        return replace(self, step=others)

    def released(self) -> Caps:
        """No caps any more."""
        return replace(self, step=np.full_like(self.step, len(self.rooms) - 1))


def headlines(relations: Relations, *, first: bool = True) -> Bools:
    """The grand totals, sums that are part of no other, and (with ``first``) the sums that they are stated to be made of."""
    r = relations
    total = r.total[r.row]
    part, sums, below = np.zeros((3, r.cells), bool)
    part[r.indices[(total >= 0) & (total != r.indices)]] = True
    sums[r.total[r.total >= 0]] = True
    top = sums & ~part
    if not first:
        return np.asarray(top)
    below[r.indices[(total >= 0) & top[total]]] = True
    return np.asarray(top | (below & sums))


def _near(a: Ints, free: Room, senses: Senses, change: Fraction, times: int, cells: int, least: int) -> Room:
    """The room in which nothing changes by much."""
    lo, hi = capped_room(a, (free.lo, free.hi), change, senses.cell, cells, least)
    own = senses.cell < cells
    at, most = senses.cell[own], np.minimum(times * np.maximum(senses.up, senses.down)[own] + least, 2 * LARGEST)
    lo[at], hi[at] = np.maximum(lo[at], -most), np.minimum(hi[at], most)
    return Room(lo, hi)
