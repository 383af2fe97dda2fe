"""LinearMeasure: the concentration of a cell as one linear form of its largest contributions and its total, evaluated exactly.

Legend: x_1 ≥ x_2 ≥ … contributions of a cell, X its total; level = (Σ c_i·x_i − C·X)/D with integers c, C, D > 0; unsafe where level > 0 (Cox 1981).
"""

from __future__ import annotations

from collections.abc import Sequence
from dataclasses import dataclass
from fractions import Fraction
from math import lcm
from typing import Any

import numpy as np
from numpy.typing import NDArray

from cellward.exact import Ints
from cellward.risk.score import float_score, score

_MARGIN = 1e-12
"""Share of Σ|terms| below which a float result says nothing: far above the rounding error, (terms + 3)·2^−53."""
_FITS = 2.0**62


@dataclass(frozen=True)
class LinearMeasure:
    """``coefficients`` c_1, …, c_N, ``total`` C and ``denominator`` D; all coefficients but the first are equal.

    >>> LinearMeasure.of([Fraction(11, 10), Fraction(1)])
    LinearMeasure(coefficients=(11, 10), total=10, denominator=10)
    """

    coefficients: tuple[int, ...]
    total: int
    denominator: int

    @staticmethod
    def of(coefficients: Sequence[Fraction], total: Fraction = Fraction(1)) -> LinearMeasure:
        """The measure Σ c_i·x_i − C·X of rational coefficients."""
        d = lcm(total.denominator, *(c.denominator for c in coefficients))
        return LinearMeasure(tuple(int(c * d) for c in coefficients), int(total * d), d)

    def level(self, total: int, largest: Sequence[int]) -> Fraction:
        """The level of one cell; contributions that are missing are 0."""
        c = self.coefficients
        return Fraction(sum(c * x for c, x in zip(c, largest, strict=False)) - self.total * total, self.denominator)

    def weighted_level(self, total: int, largest: Sequence[int], weighted: Sequence[int]) -> Fraction:
        """The level of one cell when the sum of the N largest counts each as often as its sampling weight says."""
        n, (first, *_, last) = len(self.coefficients), (*self.coefficients, self.coefficients[-1])
        head = (first - last) * largest[0] + last * score(largest[:n], weighted[:n], n)
        return (head - self.total * total) / self.denominator

    def unsafe(self, top: Ints, size: Ints) -> tuple[Ints, NDArray[Any]]:
        """The cells of positive level, and the level rounded up to whole units; ``top`` is (N, cells)."""
        d = self.denominator
        sums = np.zeros(len(size))
        for c, x in zip(self.coefficients, top, strict=True):
            sums += (c / d) * x
        ahead, cell = self._candidates(sums, size)
        small = (ahead * d < _FITS) & (max(*self.coefficients, self.total) < _FITS)
        level = np.zeros(len(cell), object)
        for which, kind in ((small, np.int64), (~small, object)):
            at = cell[which]
            exact = np.zeros(len(at), kind) - size[at].astype(kind) * self.total
            for c, x in zip(self.coefficients, top, strict=True):
                exact += x[at].astype(kind) * c
            level[which] = -(-exact // d)
        return cell[level > 0], level[level > 0]

    def unsafe_weighted(self, top: Ints, weighted: Ints, size: Ints) -> tuple[Ints, NDArray[Any]]:
        """Like :meth:`unsafe`, with the sampling weights."""
        n, (first, *_, last) = len(self.coefficients), (*self.coefficients, self.coefficients[-1])
        d = self.denominator
        _, cell = self._candidates((first - last) / d * top[0] + last / d * float_score(top, weighted, n), size)
        level = np.zeros(len(cell), object)
        for k, i in enumerate(cell.tolist()):
            exact = self.weighted_level(int(size[i]), top[:, i].tolist(), weighted[:, i].tolist())
            level[k] = -(-exact.numerator // exact.denominator)
        return cell[level > 0], level[level > 0]

    def _candidates(self, sums: NDArray[np.float64], size: Ints) -> tuple[NDArray[np.float64], Ints]:
        """The cells whose level may be positive, and the size of the terms that make it; the others are safe beyond rounding error."""
        against = (self.total / self.denominator) * size
        terms = sums + against
        cell = np.flatnonzero(sums - against > -_MARGIN * terms)
        return terms[cell], cell
