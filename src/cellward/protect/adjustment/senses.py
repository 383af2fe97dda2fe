"""Senses of the cells at risk: which way each moves and by how much at least, which may be turned, and what was turned or bent."""

from __future__ import annotations

from dataclasses import dataclass, replace

import numpy as np

from cellward.exact import Bools, Ints
from cellward.protect.adjustment.needs import Room


@dataclass(frozen=True, eq=False)
class Senses:
    """``sense`` (+1 up, −1 down) of the cells at risk, ``up`` and ``down`` their levels either way (0: none), and which ways their bounds allow.

    ``asked_up`` and ``asked_down`` are the protection levels themselves, below which no level is lowered. ``secret``: senses are drawn from the key,
    so that a cell may be turned where they do not go together.
    """

    cell: Ints
    sense: Ints
    up: Ints
    down: Ints
    asked_up: Ints
    asked_down: Ints
    can_up: Bools
    can_down: Bools
    secret: bool
    flipped: int = 0
    bent: int = 0

    @property
    def least(self) -> Ints:
        """The level of each cell the way it moves."""
        return np.where(self.sense > 0, self.up, self.down)

    @property
    def asked(self) -> Ints:
        """The protection level of each cell the way it moves."""
        return np.where(self.sense > 0, self.asked_up, self.asked_down)

    def lowered(self, least: Ints) -> Senses:
        """With levels of at most ``least`` the way cells move, but never below the protection levels."""
        least = np.maximum(np.minimum(self.least, least), self.asked)
        up, down = np.where(self.sense > 0, least, self.up), np.where(self.sense < 0, least, self.down)
        return replace(self, up=up, down=down)

    @property
    def stuck(self) -> Ints:
        """Cells whose bounds do not let them move far enough this way."""
        return self.cell[~np.where(self.sense > 0, self.can_up, self.can_down)]

    @property
    def turnable(self) -> Bools:
        """Which may be turned."""
        return np.asarray(np.where(self.sense > 0, self.can_down, self.can_up) & self.secret)

    @property
    def one_way(self) -> Bools:
        """Which have no choice."""
        return np.asarray(~(self.can_up & self.can_down) | (not self.secret))

    def turned(self, which: Bools) -> Senses:
        """With some turned."""
        return replace(self, sense=np.where(which, -self.sense, self.sense), flipped=self.flipped + int(which.sum()))

    def room(self, free: Room) -> Room:
        """What cells may move by."""
        lo, hi = free.lo.copy(), free.hi.copy()
        rises, falls = self.sense > 0, self.sense < 0
        at, least = self.cell, self.least
        lo[at[rises]] = np.maximum(lo[at[rises]], least[rises])
        hi[at[falls]] = np.minimum(hi[at[falls]], -least[falls])
        return Room(lo, hi)

    def bending(self, amount: Ints) -> Senses:
        """With levels lowered by so much; below 0 where a cell has to move the other way."""
        rises = self.sense > 0
        up = np.where(rises, self.up - amount, self.up)
        down = np.where(~rises, self.down - amount, self.down)
        return replace(self, up=up, down=down, bent=int((amount > 0).sum()))
