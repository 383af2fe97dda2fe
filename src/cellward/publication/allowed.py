"""AllowedSet: the values a method may publish in each cell: lo, lo + step, …, hi; of some not those in a gap between."""

from __future__ import annotations

from dataclasses import dataclass

import numpy as np
from numpy.typing import NDArray

from cellward.exact import Ints, freeze, one_number


@dataclass(frozen=True, eq=False)
class Gaps:
    """Cells (increasing) that may not take what lies strictly between ``below`` and ``above``, which they may both take."""

    cell: Ints
    below: Ints
    above: Ints

    def permuted(self, order: Ints) -> Gaps:
        """The same when cell order[k] becomes cell k."""
        cell = np.argsort(order)[self.cell]
        turn = np.argsort(cell)
        return Gaps(cell[turn], self.below[turn], self.above[turn])


@dataclass(frozen=True, eq=False)
class AllowedSet:
    """Cell i may take lo[i], lo[i] + step[i], … up to hi[i]; with step 0 the two ends are the same and the cell is fixed. ``gaps``: but not these."""

    lo: Ints
    hi: Ints
    step: Ints
    gaps: Gaps | None = None

    def __post_init__(self) -> None:
        freeze(self.lo, self.hi, self.step)

    def outside(self, v: Ints) -> Ints:
        """The cells whose value is not allowed."""
        moved, step = v - self.lo, one_number(np.maximum(self.step, 1))
        out = (moved < 0) | (v > self.hi) | (moved // step * step != moved)
        if self.gaps is not None:
            own = v[self.gaps.cell]
            out[self.gaps.cell] |= (self.gaps.below < own) & (own < self.gaps.above)
        return np.flatnonzero(out)

    def permuted(self, order: Ints) -> AllowedSet:
        """The same when cell order[k] becomes cell k."""
        gaps = None if self.gaps is None else self.gaps.permuted(order)
        return AllowedSet(self.lo[order], self.hi[order], self.step[order], gaps)

    def beside(self, v: Ints) -> AllowedSet:
        """Without gaps: of cells that have one what lies on the side of ``v``."""
        if (gaps := self.gaps) is None:
            return self
        lo, hi, above = self.lo.copy(), self.hi.copy(), v[gaps.cell] >= gaps.above
        lo[gaps.cell[above]], hi[gaps.cell[~above]] = gaps.above[above], gaps.below[~above]
        return AllowedSet(lo, hi, np.where(lo == hi, 0, self.step))

    @property
    def free(self) -> NDArray[np.bool_]:
        """Which cells have a choice."""
        return np.asarray(self.lo < self.hi)

    @property
    def empty(self) -> Ints:
        """The cells with no allowed value."""
        return np.flatnonzero(self.lo > self.hi)
