"""Rivals of our adjustment: HiGHS' engines on the linear and quadratic programs as paper 002 writes them."""

from __future__ import annotations

import time
from typing import Any

import numpy as np
from scipy.sparse import csr_matrix, diags, hstack, vstack

from cellward.protect.adjustment.continuous import AdjustmentProblem

Array = Any


def solve(problem: AdjustmentProblem, norm: str, solver: str, limit_s: float) -> tuple[float, bool, float]:
    """(seconds of the solve alone, whether it ended in an optimum, its objective in our units); weights are scaled to a least one of 1."""
    r = problem.relations
    m = csr_matrix((r.coefs.astype(float), r.indices, r.indptr), shape=(r.equations, r.cells))
    lo, hi = problem.lo, problem.hi
    zero = np.zeros(r.equations)
    if norm == "l2":
        w = problem.costs.square
        return _run(m, 0 * w, lo, hi, zero, zero, solver, limit_s, hessian=2 * w)
    w = problem.costs.absolute
    lower = np.concatenate((np.maximum(lo, 0), np.maximum(-hi, 0)))
    upper = np.concatenate((np.maximum(hi, 0), np.maximum(-lo, 0)))
    both = hstack([m, -m])
    if norm == "l1":
        least = float(w[w > 0].min())
        seconds, right, objective = _run(
            both, np.concatenate((w, w)) / least, lower, upper, zero, zero, solver, limit_s
        )
        return seconds, right, objective * least
    own = problem.distance.sensitive.astype(float)
    caps = csr_matrix(np.column_stack((-own, own - 1)))
    weights = diags(w)
    full = vstack([hstack([both, csr_matrix((r.equations, 2))]), hstack([weights, weights, caps])])
    return _run(
        full,
        np.concatenate((np.zeros(2 * r.cells), [1.0, 1.0])),
        np.concatenate((lower, [0.0, 0.0])),
        np.concatenate((upper, [np.inf, np.inf])),
        np.concatenate((zero, np.full(r.cells, -np.inf))),
        np.concatenate((zero, np.zeros(r.cells))),
        solver,
        limit_s,
    )


def _run(
    matrix: Array,
    cost: Array,
    lower: Array,
    upper: Array,
    row_lower: Array,
    row_upper: Array,
    solver: str,
    limit_s: float,
    hessian: Array | None = None,
) -> tuple[float, bool, float]:
    import highspy

    highspy.Highs.resetGlobalScheduler(True)  # the package's own solves started it with one thread
    h = highspy.Highs()
    options: dict[str, Any] = {"output_flag": False, "solver": solver, "time_limit": limit_s, "threads": 2}
    if solver in ("ipx", "hipo"):
        options["run_crossover"] = "off"
    for name, value in options.items():
        h.setOptionValue(name, value)
    columns = matrix.tocsc()
    model = highspy.HighsLp()
    model.num_row_, model.num_col_ = columns.shape
    model.col_cost_, model.col_lower_, model.col_upper_ = cost, lower, upper
    model.row_lower_, model.row_upper_ = row_lower, row_upper
    model.a_matrix_.format_ = highspy.MatrixFormat.kColwise
    model.a_matrix_.start_, model.a_matrix_.index_, model.a_matrix_.value_ = (
        columns.indptr,
        columns.indices,
        columns.data,
    )
    h.passModel(model)
    if hessian is not None:
        quadratic = highspy.HighsHessian()
        quadratic.dim_, quadratic.format_ = len(hessian), highspy.HessianFormat.kTriangular
        quadratic.start_, quadratic.index_ = np.arange(len(hessian) + 1), np.arange(len(hessian))
        quadratic.value_ = hessian
        h.passHessian(quadratic)
    began = time.perf_counter()
    h.run()
    seconds = time.perf_counter() - began
    highspy.Highs.resetGlobalScheduler(True)
    right = h.modelStatusToString(h.getModelStatus()) == "Optimal"
    return seconds, right, float(h.getInfo().objective_function_value)
