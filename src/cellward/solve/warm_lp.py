"""WarmLp: one linear model kept in HiGHS while its objective, bounds and rows change; each answer starts from the last basis."""

from __future__ import annotations

import math
from dataclasses import replace
from time import perf_counter
from typing import Any, Final

import numpy as np

from cellward.errors import CellwardError, SolverError, described
from cellward.exact import Floats, Ints
from cellward.solve.budget import Budget
from cellward.solve.highs import (
    LP_OPTIONS,
    TRUSTED_RESIDUAL,
    VERDICTS,
    check_shape,
    cost_scale,
    import_highs,
    pass_model,
    residual,
)
from cellward.solve.model import LinearModel
from cellward.solve.outcome import Outcome

Options = dict[str, object]

OTHER_BOUNDS: Final[Options] = {"simplex_strategy": 1, "presolve": "choose"}
"""Other bounds or rows leave the last prices feasible: the dual simplex goes on from them."""
OTHER_OBJECTIVE: Final[Options] = {"simplex_strategy": 4, "presolve": "off"}
"""Another objective leaves the last vertex feasible: the primal simplex goes on from it; the dual one would start over."""
AFRESH: Final[Options] = OTHER_BOUNDS | {"primal_feasibility_tolerance": 1e-9}
"""From no basis, after the presolve: where the last basis led astray, that may do."""
LARGE: Final = 1e6
"""Bounds beyond this leave fewer digits behind the point."""


class WarmLp:
    """A linear model inside HiGHS, single-threaded: the same calls in the same order give the same answers. Not to be shared between threads.

    ``model`` is the model as it stands now; integer marks are ignored. HiGHS is loaded at the first question.

    >>> import numpy as np
    >>> model = LinearModel(
    ...     cost=np.array([1.0, 2.0]), lower=np.zeros(2), upper=np.ones(2),
    ...     indptr=np.array([0, 2]), indices=np.array([0, 1]), coefs=np.ones(2),
    ...     row_lower=np.array([1.5]), row_upper=np.array([np.inf]))
    >>> lp = WarmLp(model)
    >>> lp.solve().x.tolist()
    [1.0, 0.5]
    >>> lp.restrict(np.array([0]), np.zeros(1), np.full(1, 0.75))
    >>> lp.solve().x.tolist()
    [0.75, 0.75]
    >>> lp.maximise(np.array([1.0, 0.0])).x[0]
    np.float64(0.75)
    >>> lp.add_rows(np.array([0, 1]), np.array([1]), np.ones(1), np.array([0.875]), np.array([np.inf]))
    >>> lp.solve().x.tolist()
    [0.625, 0.875]
    >>> lp.drop_rows(np.array([0]))
    >>> lp.solve().x.tolist()
    [0.0, 0.875]
    >>> lp.restrict_rows(np.array([0]), np.array([0.5]), np.array([np.inf]))
    >>> lp.solve().x.tolist()
    [0.0, 0.5]
    """

    def __init__(self, model: LinearModel) -> None:
        check_shape(model)
        self.model = replace(model, lower=model.lower.copy(), upper=model.upper.copy(), integer=None)
        self._columns = np.arange(model.columns, dtype=np.int32)
        self._highs: Any = None
        self._cost: Floats | None = None
        """The objective that HiGHS has, but for its scale."""
        self._scale = 1.0

    # ---- changes ---------------------------------------------------------------------------------------------------------------------------

    def restrict(self, columns: Ints, lower: Floats, upper: Floats) -> None:
        """Give some columns other bounds."""
        self.model.lower[columns], self.model.upper[columns] = lower, upper
        if self._highs is not None:
            self._highs.changeColsBounds(len(columns), columns.astype(np.int32), lower, upper)

    def restrict_rows(self, rows: Ints, lower: Floats, upper: Floats) -> None:
        """Give some rows other bounds."""
        row_lower, row_upper = self.model.row_lower.copy(), self.model.row_upper.copy()
        row_lower[rows], row_upper[rows] = lower, upper
        self.model = replace(self.model, row_lower=row_lower, row_upper=row_upper)
        if self._highs is not None:
            self._highs.changeRowsBounds(len(rows), rows.astype(np.int32), lower, upper)

    def start_over(self) -> None:
        """Forget the last basis: where much has changed, the presolve leads there sooner."""
        self._highs = None

    def add_rows(self, indptr: Ints, indices: Ints, coefs: Floats, lower: Floats, upper: Floats) -> None:
        """Rows more, after the others."""
        model, starts = self.model, indptr[:-1].astype(np.int32)
        if self._highs is not None:
            self._obeyed(
                self._highs.addRows(len(lower), lower, upper, len(coefs), starts, indices.astype(np.int32), coefs)
            )
        self.model = replace(
            model,
            indptr=np.concatenate((model.indptr, model.indptr[-1] + indptr[1:])),
            indices=np.concatenate((model.indices, indices)),
            coefs=np.concatenate((model.coefs, coefs)),
            row_lower=np.concatenate((model.row_lower, lower)),
            row_upper=np.concatenate((model.row_upper, upper)),
        )

    def drop_rows(self, rows: Ints) -> None:
        """These rows less (in increasing order); the others move up."""
        model = self.model
        if self._highs is not None:
            self._obeyed(self._highs.deleteRows(len(rows), rows.astype(np.int32)))
        keep = np.ones(model.rows, bool)
        keep[rows] = False
        length = np.diff(model.indptr)
        entry = np.repeat(keep, length)
        self.model = replace(
            model,
            indptr=np.concatenate(([0], np.cumsum(length[keep]))).astype(np.int64),
            indices=model.indices[entry],
            coefs=model.coefs[entry],
            row_lower=model.row_lower[keep],
            row_upper=model.row_upper[keep],
        )

    # ---- questions -------------------------------------------------------------------------------------------------------------------------

    def solve(self, *, budget: Budget | None = None) -> Outcome:
        """The least cost of the model as it stands.

        Where HiGHS has no answer, or one that violates the model, it is asked again from no basis. Of an infeasible model ``row_duals`` is a ray of
        its dual, where HiGHS has one.
        """
        return self._answer(self.model.cost, OTHER_BOUNDS, budget or Budget())

    def maximise(self, cost: Floats, *, budget: Budget | None = None) -> Outcome:
        """The most of another objective; ``bound`` is then no less than it.

        ``row_duals`` y bound it: cost − Aᵀ·y is ≤ 0 where x is at its lower bound and ≥ 0 at its upper one.
        """
        found = self._answer(-np.asarray(cost, np.float64), OTHER_OBJECTIVE, budget or Budget())
        if found.x is None:
            return replace(found, bound=-found.bound)
        duals = None if found.row_duals is None else -found.row_duals
        return replace(found, objective=-found.objective, bound=-found.bound, row_duals=duals)

    def probe(self, columns: Ints, lower: Floats, upper: Floats, *, iterations: int) -> float:
        """The least cost that these bounds would lead to, from below when the iterations run out (inf: infeasible); nothing is left changed."""
        h = self._loaded()
        basis, kept = h.getBasis(), (self.model.lower[columns], self.model.upper[columns])
        self.restrict(columns, lower, upper)
        verdict = VERDICTS.get(self._run(self.model.cost, OTHER_BOUNDS, Budget(), iterations))
        objective = float(h.getInfo().objective_function_value) / self._scale
        self.restrict(columns, *kept)
        h.setBasis(basis)
        if verdict == "infeasible":
            return math.inf
        return objective if verdict in ("optimal", "limit") else -math.inf

    # ---- HiGHS -----------------------------------------------------------------------------------------------------------------------------

    def _load(self) -> Any:
        """The model in a new HiGHS object, without an objective."""
        highspy = import_highs()
        h = highspy.Highs()
        for name, value in (LP_OPTIONS | {"output_flag": False, "threads": 1}).items():
            h.setOptionValue(name, value)
        pass_model(highspy, h, self.model, np.zeros(self.model.columns))
        return h

    def _loaded(self) -> Any:
        if self._highs is None:
            self._highs, self._cost = self._load(), None
        return self._highs

    def _obeyed(self, status: Any) -> None:
        if status == import_highs().HighsStatus.kError:
            self._highs = None
            raise SolverError(f"HiGHS refused to change the rows of a model of {self.model.rows} rows.")

    def _answer(self, cost: Floats, options: Options, budget: Budget, *, again: bool = True) -> Outcome:
        began = perf_counter()
        word = self._run(cost, options, budget)
        h, verdict, violation = self._highs, VERDICTS.get(word), math.nan
        solver = f"HiGHS {h.version()} simplex"
        if verdict == "infeasible":
            _, known, ray = h.getDualRay()
            duals = np.array(ray, np.float64) if known else None
            return Outcome(status="infeasible", row_duals=duals, seconds=perf_counter() - began, solver=solver)
        if verdict in ("limit", "unsettled"):
            self._highs = None  # its basis may be anywhere: the next question starts afresh
            limit, seconds = verdict == "limit", perf_counter() - began
            return Outcome(status="unknown", seconds=seconds, solver=solver, limit_reached=limit)
        solution = h.getSolution()
        if verdict == "optimal" and solution.value_valid and len(solution.col_value) == self.model.columns:
            x = np.array(solution.col_value, np.float64)
            violation = residual(self.model, x)
            if violation <= self._trusted:
                objective = float((cost * x).sum())
                return Outcome(
                    status="optimal",
                    x=x,
                    objective=objective,
                    bound=objective,
                    residual=violation,
                    seconds=perf_counter() - began,
                    solver=solver,
                    row_duals=np.array(solution.row_dual, np.float64) / self._scale if solution.dual_valid else None,
                )
        self._highs = None
        if not again:
            raise SolverError(f"{solver} stopped with {word} at a point that violates the model by {violation:.3g}.")
        try:
            return self._answer(cost, AFRESH, budget, again=False)
        finally:
            self._highs = None  # the next question starts as usual

    def _run(self, cost: Floats, options: Options, budget: Budget, iterations: int | None = None) -> str:
        """Ask HiGHS, in minimisation; its word."""
        h = self._loaded()
        if cost is not self._cost:
            self._cost, self._scale = cost, cost_scale(cost)
            h.changeColsCost(self.model.columns, self._columns, cost * self._scale)
        # HiGHS counts its time from the start of the object, its iterations from the start of the run.
        limits = {
            "time_limit": math.inf if (left := budget.left) is None else h.getRunTime() + left,
            "simplex_iteration_limit": 2**31 - 1 if iterations is None else iterations,
            "random_seed": budget.seed,
        }
        for name, value in (options | limits).items():
            h.setOptionValue(name, value)
        import_highs().Highs.resetGlobalScheduler(True)  # see highs.py: a thread's pool may have another size
        try:
            h.run()
        except CellwardError:  # the alarm, in the middle of a run
            self._highs = None
            raise
        except Exception as error:
            self._highs = None
            raise SolverError(f"HiGHS failed: {described(error)}") from error
        return str(h.getModelStatus().name)

    @property
    def _trusted(self) -> float:
        """What a point may violate the model by: where numbers are large, in proportion. Nothing is shown by a point that is not checked exactly."""
        m = self.model
        sizes = [
            float(np.abs(x[np.isfinite(x)]).max(initial=0.0)) for x in (m.lower, m.upper, m.row_lower, m.row_upper)
        ]
        return TRUSTED_RESIDUAL * max(1.0, max(sizes) / LARGE)
