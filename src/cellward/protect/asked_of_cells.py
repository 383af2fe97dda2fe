"""AskedOfCells: the largest levels of every cell, over all attackers; what they ask of a base or a distance needs no solver."""

from __future__ import annotations

from dataclasses import dataclass

import numpy as np

from cellward.exact import Bools, Ints
from cellward.instance import Instance


@dataclass(frozen=True, eq=False)
class AskedOfCells:
    """The largest levels that any attacker must be kept from in each cell; 0 where nothing is asked."""

    lpl: Ints
    upl: Ints
    spl: Ints

    @staticmethod
    def of(instance: Instance) -> AskedOfCells:
        """Of all attackers together: a value must satisfy each of them."""
        found = AskedOfCells(*(np.zeros(instance.cells, np.int64) for _ in range(3)))
        for attacker in instance.attackers:
            asked = attacker.asked(instance.sensitivity.levels)
            for most, level in ((found.lpl, asked.lpl), (found.upl, asked.upl), (found.spl, asked.spl)):
                most[asked.cell] = np.maximum(most[asked.cell], level)
        return found

    @property
    def width(self) -> Ints:
        """How wide what is told of each cell must be: both levels together, or the sliding one."""
        return np.asarray(np.maximum(self.lpl + self.upl, self.spl))

    @property
    def any(self) -> Bools:
        """The cells of which something is asked."""
        return np.asarray(self.width > 0)

    @property
    def least_distance(self) -> int:
        """The distance below which no perturbation is given: 3/2 of both levels of a cell (perturbation/model.md), or half of its sliding one."""
        span = int((self.lpl + self.upl).max(initial=0))
        return max(span + (span + 1) // 2, (int(self.spl.max(initial=0)) + 1) // 2)
