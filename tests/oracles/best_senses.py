"""Best senses: the least distance over all combinations of senses of a small table, each combination a linear or quadratic program of its own.

Nothing of the method's own code: the boxes are those of every_sense.py, the linear programs SciPy's and the quadratic ones Clarabel's, from the cells
and equations as they are.
"""

from __future__ import annotations

import math

import clarabel
import every_sense
import numpy as np
from scipy.optimize import Bounds, LinearConstraint, linprog, milp
from scipy.sparse import csc_matrix, csr_matrix, diags, hstack, identity, vstack

import cellward as cw

FAR = 1e12
"""Bounds beyond this are none."""


class InDoubtError(Exception):
    """The quadratic program was not solved, where the linear one has a point to the precision of floats."""


Sides = list[tuple[int, list[tuple[float, float]]]]


def least_distance(
    table: cw.Table,
    weight: np.ndarray,
    norm: str,
    *,
    fixed: set[int] | frozenset[int] = frozenset(),
    zeros_stay: bool = True,
) -> float:
    """The least Σ w·|z| or Σ w·z² over all senses, in units of the table's last decimal; inf where no senses have a table."""
    r, a = table.relations, np.asarray(table.scaled, float)
    matrix = csr_matrix((r.coefs.astype(float), r.indices, r.indptr), shape=(r.equations, r.cells))
    (lo, hi), found = every_sense.sides(table, fixed=fixed, zeros_stay=zeros_stay)
    low, high = (far(np.asarray(end, float) - a) for end in (lo, hi))
    sides = [(i, [tuple(far(np.array(own, float) - a[i])) for own in ways]) for i, ways in found]
    return least_over(matrix, weight, norm, low, high, sides)


def far(ends: np.ndarray) -> np.ndarray:
    """Ends, where those beyond FAR are none."""
    return np.where(ends < -FAR, -np.inf, np.where(ends > FAR, np.inf, ends))


def least_over(
    matrix: csr_matrix, weight: np.ndarray, norm: str, low: np.ndarray, high: np.ndarray, sides: Sides, step: int = 0
) -> float:
    """The least cost of moves in the room low to high over every combination of the sides of some cells.

    All combinations, but those of which a part alone costs as much already, or has no moves at all. With a ``step`` moves are multiples of it (L1).
    """
    best = math.inf
    cost = _l1 if norm == "l1" else _l2

    def look(low: np.ndarray, high: np.ndarray, left: Sides) -> None:
        nonlocal best
        if np.any(low > high):
            return
        try:
            least = cost(matrix, weight, low, high)
        except InDoubtError:
            if not left:
                raise
            least = -math.inf
        if least >= best * (1 - 1e-12) or least == math.inf:
            return
        if not left:
            best = min(best, _whole(matrix, weight, low, high, step) if step else least)
            return
        (i, ways), more = left[0], left[1:]
        for least_i, most_i in ways:
            lower, upper = low.copy(), high.copy()
            lower[i], upper[i] = max(least_i, low[i]), min(most_i, high[i])
            look(lower, upper, more)

    look(low, high, sides)
    return best


def _whole(matrix: csr_matrix, weight: np.ndarray, low: np.ndarray, high: np.ndarray, step: int) -> float:
    n = len(weight)
    both = hstack((matrix, -matrix)).tocsr()
    ends = [np.maximum(low, 0), np.maximum(-high, 0)], [np.maximum(high, 0), np.maximum(-low, 0)]
    least, most = np.ceil(np.concatenate(ends[0]) / step), np.floor(np.concatenate(ends[1]) / step)
    if np.any(least > most):
        return math.inf
    sums = LinearConstraint(both, 0, 0)
    cost = np.concatenate((weight, weight)) * step
    found = milp(cost, integrality=np.ones(2 * n), bounds=Bounds(least, most), constraints=sums)
    return float(found.fun) if found.success else math.inf


def _l1(matrix: csr_matrix, weight: np.ndarray, low: np.ndarray, high: np.ndarray) -> float:
    found = linprog(
        np.concatenate((weight, weight)),
        A_eq=hstack((matrix, -matrix)),
        b_eq=np.zeros(matrix.shape[0]),
        bounds=[
            *zip(np.maximum(low, 0), np.maximum(high, 0), strict=True),
            *zip(np.maximum(-high, 0), np.maximum(-low, 0), strict=True),
        ],
    )
    return float(found.fun) if found.success else math.inf


def _l2(matrix: csr_matrix, weight: np.ndarray, low: np.ndarray, high: np.ndarray) -> float:
    n, m = len(weight), matrix.shape[0]
    if _l1(matrix, weight, low, high) == math.inf:
        return math.inf
    one = identity(n, format="csr")
    below, above = np.flatnonzero(np.isfinite(low)), np.flatnonzero(np.isfinite(high))
    rows = csc_matrix(vstack((matrix, one[above], -one[below])))
    right = np.concatenate((np.zeros(m), high[above], -low[below]))
    cones = [clarabel.ZeroConeT(m), clarabel.NonnegativeConeT(len(above) + len(below))]
    cost = csc_matrix(diags(2 * weight / max(float(weight.max()), 1e-300)))
    size = max(float(np.abs(right).max(initial=0.0)), 1.0)
    for accuracy, unit in ((1e-10, 1.0), (1e-10, size), (1e-8, 1.0), (1e-8, size)):
        settings = clarabel.DefaultSettings()
        settings.verbose = False
        settings.tol_gap_abs = settings.tol_gap_rel = settings.tol_feas = accuracy
        found = clarabel.DefaultSolver(cost, np.zeros(n), rows, right / unit, cones, settings).solve()
        z = np.asarray(found.x) * unit
        if "Solved" in str(found.status):
            break
    else:
        raise InDoubtError
    return float((weight * z**2).sum())
