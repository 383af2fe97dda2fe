"""Best senses: the least distance over all combinations of senses of a small table, each combination a linear or quadratic program of its own.

Nothing of the method's own code: the boxes are those of every_sense.py, the linear programs SciPy's and the quadratic ones Clarabel's, from the cells
and equations as they are.
"""

from __future__ import annotations

import math

import clarabel
import every_sense
import numpy as np
from scipy.optimize import linprog
from scipy.sparse import csc_matrix, csr_matrix, diags, hstack, identity, vstack

import cellward as cw

FAR = 1e12
"""Bounds beyond this are none."""


class InDoubtError(Exception):
    """The quadratic program was not solved, where the linear one has a point to the precision of floats."""


def least_distance(
    table: cw.Table,
    weight: np.ndarray,
    norm: str,
    *,
    fixed: set[int] | frozenset[int] = frozenset(),
    zeros_stay: bool = True,
) -> float:
    """The least Σ w·|z| or Σ w·z² over all senses, in units of the table's last decimal; inf where no senses have a table."""
    r = table.relations
    matrix = csr_matrix((r.coefs.astype(float), r.indices, r.indptr), shape=(r.equations, r.cells))
    best = math.inf
    for lo, hi in every_sense.boxes(table, fixed=fixed, zeros_stay=zeros_stay):
        a = np.asarray(table.scaled, float)
        low, high = np.asarray(lo, float) - a, np.asarray(hi, float) - a
        low, high = np.where(low < -FAR, -np.inf, low), np.where(high > FAR, np.inf, high)
        try:
            best = min(best, (_l1 if norm == "l1" else _l2)(matrix, weight, low, high))
        except InDoubtError:
            if every_sense.goes(table, (lo, hi)):
                raise
    return best


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
