"""A lower bound for any multipliers: what the equations' prices prove about the distance, whoever found them."""

from __future__ import annotations

from typing import Any, Final

import numpy as np
from numpy.typing import NDArray

from cellward.exact import Floats
from cellward.solve.separable import Separable

SHRINKS: Final = (0.0, 1e-13, 1e-12, 1e-11, 1e-10, 1e-9, 1e-8, 1e-7, 1e-6, 1e-5)
"""A price a hair above a cell's slope costs that hair times its whole reach; multipliers a hair smaller cost less."""

ROUNDS: Final = 10
"""A side that is still open after so many passes over the equations stays open."""

ROUNDING: Final = 1e-12
"""Sides computed in floats are moved outward by this share of the numbers that went into them."""

WIDE: Final = 100.0
"""How far cells may be that nothing bounds, in multiples of all finite numbers of the model together."""

SURE: Final = 1e-10
"""A contradiction by this share of the numbers in it does not come from rounding."""


def lower_bound(
    distance: Separable, matrix: Any, rhs: Floats, lo: Floats, hi: Floats, multipliers: Floats, level: float
) -> float:
    """A number that the distance of no z with M·z = r, lo ≤ z ≤ hi falls below (up to rounding).

    It is Σ min over lo ≤ z ≤ hi of cost(z) − (Mᵀy)·z, plus y·r: the cost of every feasible z is at least that,
    whatever the multipliers y. Open sides are closed first, by ``level`` and by the equations: a z that costs no more
    than the level keeps within ``distance.reach(level)``, one that costs more is above the level; so the smaller of
    the two holds, for any level. Take one a little above the best objective known. At inf the sides of cells stay open
    that no equation closes, and the bound is often 0.
    """
    if np.isfinite(level):
        far = distance.reach(level)
        lo, hi = np.maximum(lo, -far), np.minimum(hi, far)
        if np.any(lo > hi):
            return level
    lo, hi = close_sides(matrix, rhs, lo, hi)
    if np.isfinite(level):
        lo, hi = cap_sides(matrix, rhs, lo, hi)
    prices, constant = matrix.T @ multipliers, float(np.sum(multipliers * rhs))
    if not np.all(np.isfinite(prices)) or not np.isfinite(constant):
        return 0.0
    bounds = (distance.dual_bound((1.0 - e) * prices, lo, hi) + (1.0 - e) * constant for e in SHRINKS)
    return min(max(0.0, *bounds), level)


def contradiction(matrix: Any, rhs: Floats, lo: Floats, hi: Floats, multipliers: Floats) -> float:
    """By how much y·(M·z) misses y·r for every z within its bounds, as a share of the numbers summed (0 if it does not).

    Above rounding (``SURE``) this is Farkas' proof that nothing is feasible.
    """
    lo, hi = close_sides(matrix, rhs, lo, hi)
    if np.any(lo > hi):  # the equations alone have closed a side beyond the other
        return 1.0
    lo, hi = cap_sides(matrix, rhs, lo, hi)
    prices = matrix.T @ multipliers
    with np.errstate(invalid="ignore", over="ignore"):
        terms = -np.maximum(prices * lo, prices * hi)
        numbers = np.concatenate([terms, multipliers * rhs])
        missed, size = float(np.sum(numbers)), float(np.sum(np.abs(numbers)))
    return missed / size if missed > 0 and 0 < size < np.inf else 0.0


def close_sides(matrix: Any, rhs: Floats, lo: Floats, hi: Floats) -> tuple[Floats, Floats]:
    """The bounds, with open sides closed where an equation whose other cells are bounded implies a bound.

    >>> import numpy as np, scipy.sparse
    >>> sum_of_two = scipy.sparse.csr_array([[1.0, 1.0]])
    >>> lo, hi = close_sides(sum_of_two, np.array([3.0]), np.array([0.0, -1.0]), np.array([np.inf, 2.0]))
    >>> hi.round(9).tolist()
    [4.0, 2.0]
    """
    used = matrix.data != 0
    rows = np.repeat(np.arange(matrix.shape[0]), np.diff(matrix.indptr))[used]
    cells, coefs = matrix.indices[used], matrix.data[used]
    target, rising = rhs[rows], coefs > 0
    for _ in range(ROUNDS):
        open_sides = np.count_nonzero(np.isinf(lo)) + np.count_nonzero(np.isinf(hi))
        if not open_sides:
            break
        # An equation's term c·z is its right-hand side less the other terms, each at one end of its range.
        least = coefs * np.where(rising, lo[cells], hi[cells])
        most = coefs * np.where(rising, hi[cells], lo[cells])
        term_most = target - _sum_of_others(rows, least, target, -1.0)
        term_least = target - _sum_of_others(rows, most, target, 1.0)
        new_lo, new_hi = lo.copy(), hi.copy()
        np.maximum.at(new_lo, cells, np.where(rising, term_least, term_most) / coefs)
        np.minimum.at(new_hi, cells, np.where(rising, term_most, term_least) / coefs)
        lo, hi = np.where(np.isinf(lo), new_lo, lo), np.where(np.isinf(hi), new_hi, hi)
        if np.count_nonzero(np.isinf(lo)) + np.count_nonzero(np.isinf(hi)) == open_sides:
            break
    return lo, hi


def cap_sides(matrix: Any, rhs: Floats, lo: Floats, hi: Floats) -> tuple[Floats, Floats]:
    """The bounds, with sides that are still open put at ``WIDE`` times all finite numbers of the model together.

    Which cells are open, and how far the others are from 0, leaves equations M₀·z₀ = r₀ in the open ones; if they have
    a solution they have a basic one, whose entries are quotients of subdeterminants of M times numbers of the model.
    In a table of two dimensions the subdeterminants are 0 and ±1, so that 1 would do for ``WIDE``; those of other tables
    are small. So capping loses no cost: open cells with a weight have been closed by ``reach``.
    """
    most = np.maximum(np.where(np.isfinite(lo), np.abs(lo), 0.0), np.where(np.isfinite(hi), np.abs(hi), 0.0))
    wide = WIDE * (float(np.sum(abs(matrix) @ most)) + float(np.sum(np.abs(rhs))) + float(np.sum(most)))
    return np.where(np.isinf(lo), -wide, lo), np.where(np.isinf(hi), wide, hi)


def _sum_of_others(rows: NDArray[np.intp], terms: Floats, target: Floats, outward: float) -> Floats:
    """For each term the sum of its row's other ones, rounded outward; infinite when one of them is."""
    closed = np.isfinite(terms)
    known = np.where(closed, terms, 0.0)
    sizes = np.bincount(rows, np.abs(known))[rows] + np.abs(target)
    others = np.bincount(rows, known)[rows] - known + outward * ROUNDING * sizes
    some_open = np.bincount(rows, ~closed)[rows] > ~closed
    return np.where(some_open, outward * np.inf, others)
