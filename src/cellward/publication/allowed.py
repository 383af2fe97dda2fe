"""AllowedSet: the values a method may publish in each cell: lo, lo + step, …, hi."""

from __future__ import annotations

from dataclasses import dataclass

import numpy as np
from numpy.typing import NDArray

from cellward.exact import Ints, freeze, one_number


@dataclass(frozen=True, eq=False)
class AllowedSet:
    """Cell i may take lo[i], lo[i] + step[i], … up to hi[i]; with step 0 the two ends are the same and the cell is fixed."""

    lo: Ints
    hi: Ints
    step: Ints

    def __post_init__(self) -> None:
        freeze(self.lo, self.hi, self.step)

    def outside(self, v: Ints) -> Ints:
        """The cells whose value is not allowed."""
        moved, step = v - self.lo, one_number(np.maximum(self.step, 1))
        return np.flatnonzero((moved < 0) | (v > self.hi) | (moved // step * step != moved))

    def permuted(self, order: Ints) -> AllowedSet:
        """The same when cell order[k] becomes cell k."""
        return AllowedSet(self.lo[order], self.hi[order], self.step[order])

    @property
    def free(self) -> NDArray[np.bool_]:
        """Which cells have a choice."""
        return np.asarray(self.lo < self.hi)

    @property
    def empty(self) -> Ints:
        """The cells with no allowed value."""
        return np.flatnonzero(self.lo > self.hi)
