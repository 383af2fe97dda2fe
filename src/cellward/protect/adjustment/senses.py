"""Senses of the cells at risk: which way each moves and by how much at least, which may be turned, and what was turned or bent."""

from __future__ import annotations

from dataclasses import dataclass, field, replace

import numpy as np
from numpy.typing import NDArray

from cellward.protect.adjustment.levels import Room

Ints = NDArray[np.int64]
Floats = NDArray[np.float64]
Bools = NDArray[np.bool_]


@dataclass(frozen=True, eq=False)
class Senses:
    """``sense`` (+1 up, −1 down) of the cells at risk, ``up`` and ``down`` their levels either way (0: none), and which ways their bounds allow.

    ``secret``: drawn from the key, so that a cell may be turned where senses do not go together.
    """

    cell: Ints
    sense: Ints
    up: Ints
    down: Ints
    can_up: Bools
    can_down: Bools
    secret: bool
    flipped: int = 0
    bent: int = 0
    conflict: Ints = field(default_factory=lambda: np.zeros(0, np.int64))

    @property
    def least(self) -> Ints:
        """The level of each cell the way it moves."""
        return np.where(self.sense > 0, self.up, self.down)

    @property
    def stuck(self) -> Ints:
        """Cells whose bounds do not let them move far enough this way."""
        return self.cell[~np.where(self.sense > 0, self.can_up, self.can_down)]

    @property
    def turnable(self) -> Bools:
        """Which may be turned."""
        return np.asarray(np.where(self.sense > 0, self.can_down, self.can_up) & self.secret)

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

    def eased(self, which: Bools, up: Ints, down: Ints) -> Senses:
        """With some levels lowered to these."""
        return replace(
            self,
            up=np.where(which, np.minimum(self.up, up), self.up),
            down=np.where(which, np.minimum(self.down, down), self.down),
        )

    def changed(self, before: Senses) -> bool:
        """Whether any level is another one."""
        return bool(np.any(self.up != before.up) or np.any(self.down != before.down))

    def bending(self, amount: Ints) -> Senses:
        """With levels lowered by so much; below 0 where a cell has to move the other way."""
        rises = self.sense > 0
        up = np.where(rises, self.up - amount, self.up)
        down = np.where(~rises, self.down - amount, self.down)
        return replace(self, up=up, down=down, bent=int((amount > 0).sum()))
