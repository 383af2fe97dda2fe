"""Session: one linear model kept in HiGHS, asked again and again with another objective; every answer starts from the last one's basis."""

from __future__ import annotations

from dataclasses import replace
from typing import Any

import numpy as np

from cellward.errors import SolverError
from cellward.exact import Floats
from cellward.solve.highs import TRUSTED_RESIDUAL, VERDICTS, import_highs, pass_model, residual
from cellward.solve.model import LinearModel
from cellward.solve.outcome import Outcome

LARGE = 1e6
"""Bounds beyond this leave fewer digits behind the point."""


class Session:
    """``maximise(cost)`` over the rows and bounds of one model; not to be shared between threads."""

    def __init__(self, model: LinearModel, *, seed: int = 0) -> None:
        self.model = replace(model, integer=None)
        self._columns = np.arange(model.columns, dtype=np.int32)
        self._highs: Any = None
        self._seed = seed

    def _load(self) -> Any:
        highspy = import_highs()
        h = highspy.Highs()
        # Another objective leaves the last vertex feasible, so primal simplex goes on from it; the dual one would start over.
        options = {
            "output_flag": False,
            "solver": "simplex",
            "simplex_strategy": 4,
            "presolve": "off",
            "threads": 1,
            "random_seed": self._seed,
        }
        for name, value in options.items():
            h.setOptionValue(name, value)
        pass_model(highspy, h, self.model, np.zeros(self.model.columns), maximise=True)
        return h

    def restrict(self, lower: Floats, upper: Floats) -> None:
        """Give the columns other bounds; the next answer starts from the last one's basis all the same."""
        self.model = replace(self.model, lower=lower, upper=upper)
        if self._highs is not None:
            self._highs.changeColsBounds(len(self._columns), self._columns, lower, upper)

    def maximise(self, cost: Floats, *, time_limit_s: float | None = None, again: bool = True) -> Outcome:
        """The model with this objective, asked ``again`` in another way where HiGHS has no answer.

        ``row_duals`` y bound it: cost − Aᵀ·y is ≤ 0 where x is at its lower bound and ≥ 0 at its upper one.
        """
        if self._highs is None:
            self._highs = self._load()
        h = self._highs
        h.setOptionValue(
            "time_limit", float("inf") if time_limit_s is None else h.getRunTime() + max(time_limit_s, 0.001)
        )
        h.changeColsCost(self.model.columns, self._columns, np.asarray(cost, np.float64))
        # See highs.py: another solve may have left a pool of another size.
        import_highs().Highs.resetGlobalScheduler(True)
        h.run()
        word = h.getModelStatus().name
        verdict = VERDICTS.get(word)
        if verdict is None and again:
            return self._afresh(cost, time_limit_s)
        if verdict is None:
            self._highs = None
            raise SolverError(f"HiGHS stopped without an answer (status {word}) in an attacker's problem.")
        if verdict == "infeasible":
            return Outcome(status="infeasible", solver="HiGHS simplex")
        solution = h.getSolution()
        if verdict != "optimal" or not solution.value_valid:
            self._highs = None  # its basis may be anywhere: the next question starts afresh
            return Outcome(status="unknown", solver="HiGHS simplex", limit_reached=verdict == "limit")
        x = np.array(solution.col_value, np.float64)
        violation = residual(self.model, x)
        if not violation <= self._trusted and again:
            return self._afresh(cost, time_limit_s)
        if not violation <= self._trusted:
            self._highs = None
            raise SolverError(f"HiGHS says optimal, but its point violates an attacker's problem by {violation:.3g}.")
        duals = np.array(solution.row_dual, np.float64) if solution.dual_valid else None
        objective = float(cost @ x)
        return Outcome(
            status="optimal",
            x=x,
            objective=objective,
            bound=objective,
            residual=violation,
            solver="HiGHS simplex",
            row_duals=duals,
        )

    @property
    def _trusted(self) -> float:
        """What a point may violate the model by: where numbers are large, in proportion. Nothing is shown by a point that is not checked exactly."""
        m = self.model
        sizes = [
            float(np.abs(x[np.isfinite(x)]).max(initial=0.0)) for x in (m.lower, m.upper, m.row_lower, m.row_upper)
        ]
        return TRUSTED_RESIDUAL * max(1.0, max(sizes) / LARGE)

    def _afresh(self, cost: Floats, time_limit_s: float | None) -> Outcome:
        """From no basis, after the presolve, by the dual simplex: where the last basis led astray, that may do."""
        self._highs = h = self._load()
        h.setOptionValue("presolve", "choose")
        h.setOptionValue("simplex_strategy", 1)
        h.setOptionValue("primal_feasibility_tolerance", 1e-9)
        try:
            return self.maximise(cost, time_limit_s=time_limit_s, again=False)
        finally:
            self._highs = None  # the next question starts as usual
