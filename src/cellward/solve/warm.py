"""WarmLp: one linear model solved again and again by HiGHS while its bounds and rows change; each solve starts from the last basis."""

from __future__ import annotations

import math
from dataclasses import replace
from time import perf_counter
from typing import Any

import numpy as np

from cellward.errors import SolverError
from cellward.exact import Floats, Ints
from cellward.solve.highs import LP_OPTIONS, TRUSTED_RESIDUAL, VERDICTS, import_highs, pass_model, residual
from cellward.solve.model import LinearModel
from cellward.solve.outcome import Outcome


class WarmLp:
    """A linear model inside HiGHS, single-threaded: the same calls in the same order give the same answers.

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
    >>> lp.add_rows(np.array([0, 1]), np.array([1]), np.ones(1), np.array([0.875]), np.array([np.inf]))
    >>> lp.solve().x.tolist()
    [0.625, 0.875]
    >>> lp.drop_rows(np.array([0]))
    >>> lp.solve().x.tolist()
    [0.0, 0.875]
    """

    def __init__(self, model: LinearModel, *, seed: int = 0) -> None:
        self._highspy = import_highs()
        self._h: Any = self._highspy.Highs()
        self._solver = f"HiGHS {self._h.version()} simplex"
        self._model = model
        self._lower, self._upper = model.lower.copy(), model.upper.copy()
        # Tolerances are absolute, so costs are brought to [512, 1024), as in highs.py.
        self._scale = 2.0 ** (10 - math.frexp(float(np.max(np.abs(model.cost), initial=0.0)))[1])
        for name, value in (LP_OPTIONS | {"output_flag": False, "threads": 1, "random_seed": seed % 2**31}).items():
            self._h.setOptionValue(name, value)
        pass_model(self._highspy, self._h, replace(model, integer=None), model.cost * self._scale)

    def restrict(self, columns: Ints, lower: Floats, upper: Floats) -> None:
        """Give some columns other bounds."""
        self._lower[columns], self._upper[columns] = lower, upper
        self._h.changeColsBounds(len(columns), columns.astype(np.int32), lower, upper)

    def add_rows(self, indptr: Ints, indices: Ints, coefs: Floats, lower: Floats, upper: Floats) -> None:
        """Rows more, after the others."""
        model = self._model
        status = self._h.addRows(
            len(lower), lower, upper, len(coefs), indptr[:-1].astype(np.int32), indices.astype(np.int32), coefs
        )
        if status == self._highspy.HighsStatus.kError:
            raise SolverError(f"{self._solver} refused {len(lower)} rows more.")
        self._model = replace(
            model,
            indptr=np.concatenate((model.indptr, model.indptr[-1] + indptr[1:])),
            indices=np.concatenate((model.indices, indices)),
            coefs=np.concatenate((model.coefs, coefs)),
            row_lower=np.concatenate((model.row_lower, lower)),
            row_upper=np.concatenate((model.row_upper, upper)),
        )

    def drop_rows(self, rows: Ints) -> None:
        """These rows less (in increasing order); the others move up."""
        model = self._model
        if self._h.deleteRows(len(rows), rows.astype(np.int32)) == self._highspy.HighsStatus.kError:
            raise SolverError(f"{self._solver} would not drop {len(rows)} rows.")
        keep = np.ones(model.rows, bool)
        keep[rows] = False
        length = np.diff(model.indptr)
        entry = np.repeat(keep, length)
        self._model = replace(
            model,
            indptr=np.concatenate(([0], np.cumsum(length[keep]))).astype(np.int64),
            indices=model.indices[entry],
            coefs=model.coefs[entry],
            row_lower=model.row_lower[keep],
            row_upper=model.row_upper[keep],
        )

    @property
    def rows(self) -> int:
        """How many rows there are now."""
        return self._model.rows

    def solve(self, *, time_limit_s: float | None = None) -> Outcome:
        """The optimum under the present bounds; of an infeasible model ``row_duals`` is a ray of its dual, where HiGHS has one."""
        began = perf_counter()
        word = self._run(time_limit_s, None)
        if VERDICTS.get(word) == "infeasible":
            _, known, ray = self._h.getDualRay()
            duals = np.array(ray, np.float64) if known else None
            seconds = perf_counter() - began
            return Outcome(status="infeasible", row_duals=duals, seconds=seconds, solver=self._solver)
        if VERDICTS.get(word) == "limit":
            seconds = perf_counter() - began
            return Outcome(status="unknown", seconds=seconds, solver=self._solver, limit_reached=True)
        solution = self._h.getSolution()
        x = np.array(solution.col_value, np.float64)
        violation = residual(self._model, x) if len(x) == self._model.columns else math.nan
        if word != "kOptimal" or not violation <= TRUSTED_RESIDUAL:
            raise SolverError(
                f"{self._solver} stopped with {word} at a point that violates the model by {violation:.3g}."
            )
        objective = float(self._model.cost @ x)
        return Outcome(
            status="optimal",
            x=x,
            objective=objective,
            bound=objective,
            residual=violation,
            seconds=perf_counter() - began,
            solver=self._solver,
            row_duals=np.array(solution.row_dual, np.float64) / self._scale,
        )

    def probe(self, columns: Ints, lower: Floats, upper: Floats, *, iterations: int) -> float:
        """The objective that these bounds would lead to, from below when the iterations run out (inf: infeasible); nothing is left changed."""
        basis, kept = self._h.getBasis(), (self._lower[columns].copy(), self._upper[columns].copy())
        self.restrict(columns, lower, upper)
        word = self._run(None, iterations)
        verdict = VERDICTS.get(word)
        objective = float(self._h.getInfo().objective_function_value) / self._scale
        self.restrict(columns, *kept)
        self._h.setBasis(basis)
        if verdict == "infeasible":
            return math.inf
        return objective if verdict in ("optimal", "limit") else -math.inf

    def _run(self, time_limit_s: float | None, iterations: int | None) -> str:
        # HiGHS counts its time from the start of the object, its iterations from the start of the run.
        limit = math.inf if time_limit_s is None else self._h.getRunTime() + max(0.0, time_limit_s)
        self._h.setOptionValue("time_limit", limit)
        self._h.setOptionValue("simplex_iteration_limit", 2**31 - 1 if iterations is None else iterations)
        self._highspy.Highs.resetGlobalScheduler(True)  # see highs.py: a thread's pool may have another size
        try:
            self._h.run()
        except Exception as error:
            raise SolverError(f"{self._solver} failed: {type(error).__name__}: {error}") from error
        return str(self._h.getModelStatus().name)
