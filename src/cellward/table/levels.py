"""Levels: how far an attacker must be kept from some cells; held for these cells only."""

from __future__ import annotations

from dataclasses import dataclass

import numpy as np
from numpy.typing import NDArray

from cellward.errors import InputError
from cellward.exact import Ints, freeze


@dataclass(frozen=True, eq=False)
class Levels:
    """Cells in increasing order, and for each the distances that an attacker's interval must reach below (``lpl``) and above (``upl``) the true
    value, and the width it must have (``spl``); scaled integers."""

    cell: Ints
    lpl: Ints
    upl: Ints
    spl: Ints

    def __post_init__(self) -> None:
        freeze(self.cell, self.lpl, self.upl, self.spl)
        if np.any(np.diff(self.cell) <= 0):
            raise InputError("levels: a cell is named twice, or out of order; name each cell once")
        for name, level in (("lpl", self.lpl), ("upl", self.upl), ("spl", self.spl)):
            if int(level.min(initial=0)) < 0:
                raise InputError(
                    f"{name}: the level of cell {int(self.cell[level.argmin()])} is negative; levels are distances"
                )

    def __len__(self) -> int:
        return len(self.cell)

    def take(self, keep: NDArray[np.bool_]) -> Levels:
        """Only these of the levels."""
        return Levels(self.cell[keep], self.lpl[keep], self.upl[keep], self.spl[keep])

    def times(self, factor: int) -> Levels:
        """The same levels counted in a unit ``factor`` times finer."""
        return Levels(self.cell, self.lpl * factor, self.upl * factor, self.spl * factor)

    def permuted(self, place: Ints) -> Levels:
        """The same levels when cell i becomes cell place[i]."""
        order = np.argsort(place[self.cell])
        return Levels(place[self.cell][order], self.lpl[order], self.upl[order], self.spl[order])
