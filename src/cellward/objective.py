"""Aim: what a method makes as small as it can, Σ w·|v − target| in whole numbers, and what that is in the user's units.

A cost that is linear between two ends is of this kind too: w·|v − end| plus a constant. So one proof of bounds serves all of them.
"""

from __future__ import annotations

from dataclasses import dataclass
from fractions import Fraction
from typing import Protocol

import numpy as np

from cellward.exact import Ints, freeze


@dataclass(frozen=True, eq=False)
class Aim:
    """(``constant`` + Σ ``weight``·|v − ``target``|) / ``scale``; the sum is the *cost*, whole numbers throughout."""

    target: Ints
    weight: Ints
    constant: int = 0
    scale: int = 1

    def __post_init__(self) -> None:
        freeze(self.target, self.weight)

    def cost(self, v: Ints) -> int:
        """Σ w·|v − target|, exact."""
        away = np.abs(v - self.target)
        if int(away.max(initial=0)) * int(self.weight.max(initial=0)) * len(away) < 2**62:
            return int(away @ self.weight)
        return sum(d * w for d, w in zip(away.tolist(), self.weight.tolist(), strict=True))

    def objective(self, cost: int | Fraction) -> Fraction:
        """The objective of which this is the cost."""
        return Fraction(self.constant + cost) / self.scale


class Measure(Protocol):
    """A distance that is not of this kind: of squares, of maxima."""

    def exact(self, z: Ints, decimals: int, /) -> Fraction:
        """What deviations z, in units of 10^−``decimals``, cost in the user's units."""
