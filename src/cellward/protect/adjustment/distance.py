"""Distance: how far an adjusted table is from the true one: L1, L2, L∞ of the cells at risk and of the others apart, L1-2, pseudo-Huber.

Legend: z = v − a the deviations, w the weights. Exact on published whole numbers; as floats, in units of the table's last decimal, for the engines.
"""

from __future__ import annotations

import math
from dataclasses import dataclass, replace
from fractions import Fraction
from typing import Literal

import numpy as np

from cellward.exact import Bools, Ints
from cellward.solve.separable import Separable

Norm = Literal["l1", "l2", "linf", "l1-2", "huber"]
BITS = 20
MANY = 100_000
"""Cells up to which squares beyond 64 bits are summed exactly."""
NORMS: tuple[Norm, ...] = ("l1", "l2", "linf", "l1-2", "huber")


@dataclass(frozen=True, eq=False)
class Distance:
    """L1: Σ w|z|. L2: Σ w·z². L∞: max w|z| over the cells at risk plus max w|z| over the others. L1-2: shares of L1 and L2, the latter with weights
    of its own. Pseudo-Huber: Σ w·(√(z² + δ²) − δ). Weights are whole numbers in units of 10^−``weight_decimals``."""

    norm: Norm
    weight: Ints
    second: Ints
    """Weights of the squares in L1-2, 0 for cells outside the subset."""
    weight_decimals: int
    sensitive: Bools
    shares: tuple[Fraction, Fraction] = (Fraction(1), Fraction(0))
    delta: Fraction = Fraction(0)

    def permuted(self, order: Ints) -> Distance:
        """The same when cell order[k] becomes cell k."""
        return replace(self, weight=self.weight[order], second=self.second[order], sensitive=self.sensitive[order])

    def exact(self, z: Ints, decimals: int) -> Fraction:
        """The distance in the user's units, of deviations in units of 10^−``decimals``; pseudo-Huber to the precision of floats."""
        unit = Fraction(1, 10**decimals)
        w = Fraction(1, 10**self.weight_decimals)
        if self.norm == "l1":
            return _sum(self.weight, np.abs(z)) * unit * w
        if self.norm == "l2":
            return _sum(self.weight, z, z) * unit**2 * w
        if self.norm == "l1-2":
            one, two = self.shares
            return (one * _sum(self.weight, np.abs(z)) * unit + two * _sum(self.second, z, z) * unit**2) * w
        if self.norm == "linf":
            return (_most(self.weight, z, self.sensitive) + _most(self.weight, z, ~self.sensitive)) * unit * w
        delta = float(self.delta / unit)
        far = z.astype(float)
        each = self.weight * (far * far / (np.hypot(far, delta) + delta)) if delta else self.weight * np.abs(far)
        return Fraction(float(each.sum())) * unit * w

    def separable(self, decimals: int) -> Separable:
        """The same for the engines, in units of the table's last decimal; L∞: the L1 that tells its optima apart."""
        unit = float(10.0**-decimals)
        w = self.weight.astype(np.float64) / 10.0**self.weight_decimals
        if self.norm == "l2":
            return Separable.of(len(w), square=w * unit**2)
        if self.norm == "l1-2":
            one, two = map(float, self.shares)
            second = self.second.astype(np.float64) / 10.0**self.weight_decimals
            return Separable.of(len(w), absolute=one * w * unit, square=two * second * unit**2)
        if self.norm == "huber":
            return Separable.of(len(w), huber=w * unit, delta=float(self.delta) / unit)
        return Separable.of(len(w), absolute=w * unit)


def _sum(*factors: Ints) -> int:
    """Σ of products: exact up to MANY cells, or where 64 bits hold it; beyond, squares are summed as floats, without loss in the summing."""
    size = 1.0
    for factor in factors:
        size *= float(np.abs(factor).max(initial=0))
    if size * max(len(factors[0]), 1) < 2**62:
        out = factors[0].copy()
        for factor in factors[1:]:
            out *= factor
        return int(out.sum())
    if len(factors) == 2 and len(factors[0]) < 2**22:
        return _dot(*factors)
    if len(factors[0]) > MANY:
        product = np.ones(len(factors[0]))
        for factor in factors:
            product *= factor
        return round(math.fsum(product))
    return sum(map(math.prod, zip(*(factor.tolist() for factor in factors), strict=True)))


def _dot(x: Ints, y: Ints) -> int:
    """Σ x·y of numbers of at least 0, exact: in parts of 20 bits, whose products add up within 64."""
    out = 0
    for i in range(0, 64, BITS):
        part = (x >> i) & (2**BITS - 1)
        if not part.any():
            continue
        for j in range(0, 64, BITS):
            other = (y >> j) & (2**BITS - 1)
            if other.any():
                out += int(part @ other) << (i + j)
    return out


def _most(weight: Ints, z: Ints, cells: Bools) -> int:
    """The largest w·|z| of some cells, exact."""
    w, far = weight[cells], np.abs(z[cells])
    rough = w.astype(float) * far
    near = np.flatnonzero(rough >= float(rough.max(initial=0.0)) * (1 - 1e-12))
    return max((a * b for a, b in zip(w[near].tolist(), far[near].tolist(), strict=True)), default=0)
