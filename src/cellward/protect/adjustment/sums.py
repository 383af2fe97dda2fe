"""Form of sums of an adjustment: least squares by prices on the equations, without a matrix where the table is an array."""

from __future__ import annotations

from dataclasses import dataclass
from typing import ClassVar

from cellward.protect.adjustment.continuous import GAP, AdjustmentProblem, Check, Continuous, Form, FormName
from cellward.solve.budget import Budget

LARGE, FINE, ROUGH = 200_000, 1e-9, 1e-7
"""Least squares are asked for to this accuracy, less of it from so many cells on."""


@dataclass(frozen=True)
class BySums:
    """Least squares of any size; ``whole``: only where what moves by a fixed amount does so by whole units.

    ``otherwise``: the form that is tried where Newton's steps do not end in the optimum.
    """

    name: ClassVar[FormName] = "sums"
    whole: bool = False
    otherwise: Form | None = None

    def accepts(self, problem: AdjustmentProblem) -> str | None:
        """L2, where every equation defines a cell."""
        norm, r = problem.distance.norm, problem.relations
        if norm != "l2":
            return f"form='sums' does not go with norm={norm!r}; use 'leaf' or 'auto'"
        if self.whole and not problem.whole_still:
            return "form='sums' does not go with cells that must move by a fraction of the table's unit; use 'auto'"
        if r.array_shape is None and r.leaf_form.condition.shape[0]:
            return "form='sums' does not go with a table in which equations define no cell; use 'leaf' or 'auto'"
        return None

    def solve(self, problem: AdjustmentProblem, budget: Budget) -> Continuous:
        """The least squares."""
        from cellward.solve.least_squares import least_squares
        from cellward.table.leaf_sums import leaf_sums

        found = least_squares(
            leaf_sums(problem.relations),
            problem.costs.square,
            problem.lo,
            problem.hi,
            accuracy=FINE if problem.relations.cells < LARGE else ROUGH,
            budget=budget,
        )
        words = f"least squares by prices on the equations ({found.newton_steps} Newton steps, {found.steps} of conjugate gradients)"
        check = Check(0.0, found.residual, max(found.gap, found.stationarity, found.complementarity))
        right = found.status == "optimal" or (check.gap <= GAP and check.violation <= GAP)
        if not right and self.otherwise is not None and self.otherwise.accepts(problem) is None:
            other = self.otherwise.solve(problem, budget)
            if other is not None:
                return other
        return Continuous(
            "optimal" if right else "unknown", self.name, words, found.x, found.objective, found.bound, None, check
        )
