"""Separable costs: a convex cost a variable (of an adjusted table: the distance), its slopes, and its closed-form minimum under prices."""

from __future__ import annotations

from dataclasses import dataclass
from typing import Self

import numpy as np
from numpy.typing import NDArray

from cellward.errors import SolverError
from cellward.exact import Floats


@dataclass(frozen=True, eq=False)
class Separable:
    """Σ absolute·|z| + square·z² + huber·(√(z² + δ²) − δ) over the deviations z of the cells, with weights ≥ 0.

    The third term is the pseudo-Huber function, |z| with its corner rounded off; at δ = 0 it is |z| itself. A cell has
    a square or a pseudo-Huber weight, not both; weights of 0 are welcome. ``prices`` below are Mᵀ·y for any multipliers
    y of the equations M·z = r, so that ``dual_bound(prices, lo, hi) + y·r`` never exceeds the optimum.
    """

    absolute: Floats
    square: Floats
    huber: Floats
    delta: float = 0.0

    @classmethod
    def of(
        cls,
        cells: int,
        *,
        absolute: Floats | None = None,
        square: Floats | None = None,
        huber: Floats | None = None,
        delta: float = 0.0,
    ) -> Self:
        """The distance on this many cells; a kind of weight that is left out is 0 everywhere.

        >>> import numpy as np
        >>> distance = Separable.of(2, absolute=np.array([1.0, 2.0]))
        >>> distance.value(np.array([3.0, -1.0]))
        5.0
        """
        a, s, h = (np.zeros(cells) if w is None else np.asarray(w, np.float64) for w in (absolute, square, huber))
        return cls(a, s, h, float(delta))

    def __post_init__(self) -> None:
        kinds = {"absolute": self.absolute, "square": self.square, "huber": self.huber}
        for name, weights in kinds.items():
            if weights.shape != (self.cells,):
                raise SolverError(
                    f"The {name} weights have shape {weights.shape}; give one for each of {self.cells} cells."
                )
            if not np.all((weights >= 0) & (weights < np.inf)):
                raise SolverError(f"The {name} weights must be finite numbers, none below 0.")
        if not 0 <= self.delta < np.inf:
            raise SolverError(f"The pseudo-Huber δ is {self.delta}; it must be a finite number, not below 0.")
        if np.any((self.square > 0) & (self.huber > 0)):
            raise SolverError("A cell has a square and a pseudo-Huber weight; give it one of the two.")

    @property
    def cells(self) -> int:
        """Number of cells."""
        return len(self.absolute)

    def costs(self, z: Floats) -> Floats:
        """What each cell's deviation costs."""
        size = np.abs(z)
        costs: Floats = size * self._mean_slope(size)
        return costs

    def value(self, z: Floats) -> float:
        """What all deviations cost together."""
        return float(np.sum(self.costs(z)))

    def slopes(self, z: Floats) -> tuple[Floats, Floats]:
        """The lowest and the highest slope of each cell's cost at z; they differ only in the corner z = 0."""
        corner, rounded = self.corner_and_round()
        smooth = 2.0 * self.square * z + rounded * _ratio(z, np.hypot(z, self.delta))
        return smooth + np.where(z > 0, corner, -corner), smooth + np.where(z < 0, -corner, corner)

    def least(self, prices: Floats, lo: Floats, hi: Floats) -> Floats:
        """Least cost(z) − price·z over lo ≤ z ≤ hi, cell by cell; −inf where an open side lets it fall for ever.

        >>> import numpy as np
        >>> distance = Separable.of(3, absolute=np.ones(3))
        >>> distance.least(np.array([0.5, 2.0, 2.0]), np.full(3, -1.0), np.array([1.0, 4.0, np.inf])).tolist()
        [0.0, -4.0, -inf]
        """
        free = self._free_minimum(prices)
        z = np.clip(free, lo, hi)
        excess, rounded = self._excess(prices), self.corner_and_round()[1]
        # At the minimum itself the parts of the cost cancel; these forms do not.
        share = np.minimum(_ratio(excess, rounded), 1.0)
        inside = 0.0 - _ratio(excess * excess, 4.0 * self.square)
        inside -= self.delta * share * share * rounded / (1.0 + np.sqrt((1.0 - share) * (1.0 + share)))
        limit = np.where(excess > rounded, -np.inf, -self.delta * rounded)
        size = np.where(np.isfinite(z), np.abs(z), 0.0)
        at_end = size * (self._mean_slope(size) - np.sign(z) * prices)
        result: Floats = np.select([np.isinf(z), z == free], [limit, inside], at_end)
        return result

    def dual_bound(self, prices: Floats, lo: Floats, hi: Floats) -> float:
        """Σ of ``least``: with the constant y·r added, a lower bound on the optimum, whatever the multipliers y."""
        return float(np.sum(self.least(prices, lo, hi)))

    def reach(self, level: float) -> Floats:
        """How far from 0 each cell may be at a cost of at most ``level`` ≥ 0 (inf without a weight).

        This closes open sides of a box: for any level, the smaller of the level and of a lower bound computed within
        these reaches is a lower bound on the optimum, since a point that costs no more than the level keeps within them.
        """
        corner, rounded = self.corner_and_round()
        with np.errstate(divide="ignore", invalid="ignore", over="ignore"):
            by_corner = 2.0 * level / (corner + np.sqrt(corner * corner + 4.0 * self.square * level))
            share = level / rounded
            by_round = np.sqrt(share) * np.sqrt(share + 2.0 * self.delta)
        far: Floats = np.where(corner + self.square + rounded > 0, np.fmin(by_corner, by_round), np.inf)
        return far if level > 0 else np.where(np.isinf(far), far, 0.0)

    def of_cells(self, chosen: NDArray[np.bool_]) -> Separable:
        """The distance on some of the cells."""
        return Separable(self.absolute[chosen], self.square[chosen], self.huber[chosen], self.delta)

    def corner_and_round(self) -> tuple[Floats, Floats]:
        """Weights of |z| and of the pseudo-Huber function proper; the latter at δ = 0 is one of the former."""
        return (self.absolute, self.huber) if self.delta else (self.absolute + self.huber, np.zeros(self.cells))

    def _mean_slope(self, size: Floats) -> Floats:
        """Cost of |z| divided by |z|."""
        corner, rounded = self.corner_and_round()
        slope: Floats = corner + self.square * size
        return slope + rounded * _ratio(size, np.hypot(size, self.delta) + self.delta)

    def _excess(self, prices: Floats) -> Floats:
        """By how much the price, whatever its sign, exceeds the slope of the corner at 0."""
        excess: Floats = np.maximum(np.abs(prices) - self.corner_and_round()[0], 0.0)
        return excess

    def _free_minimum(self, prices: Floats) -> Floats:
        """The z of least cost(z) − price·z without bounds: the one next to 0, or ±inf."""
        excess, rounded = self._excess(prices), self.corner_and_round()[1]
        far = np.full(self.cells, np.inf)
        squared = self.square > 0
        np.divide(excess, 2.0 * self.square, out=far, where=squared)
        bent = (excess < rounded) & ~squared
        under = np.sqrt(np.where(bent, (rounded - excess) * (rounded + excess), 1.0))
        np.divide(self.delta * excess, under, out=far, where=bent)
        far[excess == 0] = 0.0
        minimum: Floats = np.copysign(far, prices)
        return minimum


def _ratio(top: Floats, bottom: Floats) -> Floats:
    """The quotient, 0 where the divisor is 0."""
    return np.divide(top, bottom, out=np.zeros_like(top), where=bottom > 0)
