"""Prices: multipliers of a linear relaxation near its optimum, by an interior point that stops short of a vertex.

On tables of four dimensions the vertex is most of the work: HiGHS' simplex takes minutes where its interior point takes seconds. Bounds need no
vertex: any multipliers give one, and these give nearly the best.
"""

from __future__ import annotations

from dataclasses import replace
from time import perf_counter
from typing import Any

import numpy as np

from cellward.errors import SolverError
from cellward.solve.budget import Budget
from cellward.solve.highs import cost_scale, import_highs, limits, pass_model
from cellward.solve.model import LinearModel
from cellward.solve.outcome import Outcome

OPTIONS = {"solver": "ipm", "run_crossover": "off", "ipm_optimality_tolerance": 1e-5, "output_flag": False}
USEFUL = ("kOptimal", "kUnknown", "kTimeLimit", "kIterationLimit", "kInterrupt")
"""Endings after which there may be a point worth looking at; nothing is believed of it but what is proven of its multipliers."""


def solve_prices(model: LinearModel, *, budget: Budget | None = None) -> Outcome:
    """``row_duals`` near the best ones, ``x`` near the optimum and inside its bounds, in general no vertex; ``unknown`` where there are none.

    >>> import numpy as np
    >>> model = LinearModel(
    ...     cost=np.array([1.0, 2.0]), lower=np.zeros(2), upper=np.ones(2),
    ...     indptr=np.array([0, 2]), indices=np.array([0, 1]), coefs=np.ones(2),
    ...     row_lower=np.array([1.5]), row_upper=np.array([1.5]))
    >>> outcome = solve_prices(model)
    >>> outcome.status, outcome.row_duals.round(4).tolist()
    ('feasible', [2.0])
    """
    began, highspy, given = perf_counter(), import_highs(), budget or Budget()
    h, scale = highspy.Highs(), cost_scale(model.cost)
    for name, value in (OPTIONS | limits(given)).items():
        if h.setOptionValue(name, value) == highspy.HighsStatus.kError:
            raise SolverError(f"HiGHS {h.version()} refuses the option {name} = {value!r}.")
    pass_model(highspy, h, replace(model, integer=None), model.cost * scale)

    def look(event: Any) -> None:
        if given.over:
            event.interrupt()

    h.cbIpmInterrupt += look
    highspy.Highs.resetGlobalScheduler(True)
    h.run()
    solver, word = f"HiGHS {h.version()} interior point", h.getModelStatus().name
    if word == "kInfeasible":
        return Outcome(status="infeasible", seconds=perf_counter() - began, solver=solver)
    solution = h.getSolution()
    seconds, late = perf_counter() - began, word != "kOptimal"
    if word not in USEFUL or not solution.value_valid or not solution.dual_valid:
        return Outcome(status="unknown", seconds=seconds, solver=solver, limit_reached=late)
    x, duals = np.array(solution.col_value, np.float64), np.array(solution.row_dual, np.float64) / scale
    if not (np.isfinite(x).all() and np.isfinite(duals).all()):
        return Outcome(status="unknown", seconds=seconds, solver=solver, limit_reached=late)
    x = np.clip(x, model.lower, model.upper)
    value = float((model.cost * x).sum())
    return Outcome(
        status="feasible",
        x=x,
        objective=value,
        seconds=seconds,
        solver=solver,
        limit_reached=late,
        row_duals=duals,
    )
