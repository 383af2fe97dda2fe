"""Question: what the second stage is asked: atoms that may move, cells of a table, sets of the lattice, and published sets that stay."""

from __future__ import annotations

from dataclasses import dataclass
from functools import cached_property
from typing import Any

import numpy as np

from cellward.exact import Bools, Floats, Ints

NEARLY = 1e-6


@dataclass(frozen=True, eq=False)
class Away:
    """Sets (rows over the atoms that may move), what they are off by, the side that each goes to, and how far up or down at least and if possible; 0:
    a set that is not at risk."""

    sums: Any
    off: Ints
    side: Ints
    up: Ints
    down: Ints
    up_far: Ints
    down_far: Ints

    @cached_property
    def level(self) -> Ints:
        """How far each goes at least, to its side."""
        return np.where(self.side > 0, self.up, self.down)

    @cached_property
    def far(self) -> Ints:
        """How far each goes if possible, to its side."""
        return np.where(self.side > 0, self.up_far, self.down_far)

    @cached_property
    def least(self) -> Floats:
        """By how much each may be moved at least, so that it keeps its level."""
        return np.where(self.side > 0, self.up - self.off, -np.inf)

    @cached_property
    def most(self) -> Floats:
        """By how much each may be moved at most."""
        return np.where(self.side > 0, np.inf, -self.down - self.off)


@dataclass(frozen=True, eq=False)
class Question:
    """``value`` of the atoms that may move; cells of the table, with what is much for them to be off by; sets of the lattice, all at risk, that keep
    their levels; published sets."""

    value: Ints
    cells: Away
    scale: Floats
    lattice: Away
    fixed: Any

    @cached_property
    def risky(self) -> Ints:
        """The cells of the table at risk."""
        return np.flatnonzero(self.cells.level)

    @cached_property
    def together(self) -> Bools:
        """Which sets of the lattice have several atoms; what one atom asks is a bound on its move."""
        return np.asarray(np.diff(self.lattice.sums.indptr) > 1)

    def broken(self, z: Floats) -> Bools:
        """Which sets of the lattice these moves take nearer than they may be."""
        by = self.lattice.sums @ z
        return np.asarray((by < self.lattice.least - NEARLY) | (by > self.lattice.most + NEARLY))

    @cached_property
    def most_up(self) -> Floats:
        """How far each atom may go up: as much as it is, and as much as the farthest cell of the table needs."""
        return self.bounded(self.room, self.lattice.most, ~self.together)

    @cached_property
    def most_down(self) -> Floats:
        """How far each atom may go down: to zero."""
        return self.bounded(np.maximum(self.value, 0).astype(np.float64), -self.lattice.least, ~self.together)

    @property
    def room(self) -> Floats:
        """What an atom may go up by where nothing else bounds it."""
        farthest = float(np.max(np.maximum(self.cells.up_far, self.cells.down_far) + np.abs(self.cells.off), initial=0))
        return np.maximum(self.value, 1) + 2 * farthest

    def bounded(self, room: Floats, ends: Floats, alone: Bools) -> Floats:
        """Room for the atoms, within the ends of those sets of the lattice that are single atoms."""
        out = room.copy()
        np.minimum.at(out, self.lattice.sums[alone].indices, ends[alone])
        return out
