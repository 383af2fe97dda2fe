"""Form of sums of an adjustment: least squares by prices on the equations, without a matrix where the table is an array."""

from __future__ import annotations

from dataclasses import dataclass
from typing import ClassVar

import numpy as np

from cellward.exact import Floats
from cellward.protect.adjustment.continuous import GAP, AdjustmentProblem, Check, Continuous, Form, FormName
from cellward.solve.budget import Budget

SMALL = 1e-8
"""What a cell without a weight may cost at most, as a share of the distance."""
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
        if _weights(problem) is None:
            return "form='sums' does not go with cells of weight 0 that are no sums of cells with weights; use 'leaf' or 'auto'"
        return None

    def solve(self, problem: AdjustmentProblem, budget: Budget) -> Continuous:
        """The least squares."""
        from cellward.solve.least_squares import least_squares
        from cellward.table.leaf_sums import leaf_sums

        weights = _weights(problem)
        assert weights is not None
        found = least_squares(
            leaf_sums(problem.relations),
            weights[0],
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
        if found.x is None:
            return Continuous("unknown", self.name, words)
        objective = problem.costs.value(found.x)
        bound = min(found.bound - weights[1] * objective, objective)
        return Continuous("optimal" if right else "unknown", self.name, words, found.x, objective, bound, None, check)


def _weights(problem: AdjustmentProblem) -> tuple[Floats, float] | None:
    """Positive weights, and the share of the distance that those add which had none; None where that cannot be said.

    A sum at risk has no weight. Tables no dearer than F have |z_j| ≤ √(F/w_j), so a cell that some equation makes a sum of cells with weights moves
    by at most √F·Σ 1/√w_j: a weight of SMALL over the square of that sum costs no more than SMALL·F.
    """
    w, r = problem.costs.square, problem.relations
    zero = np.flatnonzero(w <= 0)
    if not len(zero):
        return w, 0.0
    out, (ptr, entry) = w.copy(), r.by_cell
    for i in zero.tolist():
        for j in r.row[entry[ptr[i] : ptr[i + 1]]].tolist():
            part = slice(int(r.indptr[j]), int(r.indptr[j + 1]))
            others = r.indices[part][r.indices[part] != i]
            if np.all(w[others] > 0):
                out[i] = SMALL / max(float((1 / np.sqrt(w[others])).sum()) ** 2, 1e-300)
                break
        else:
            return None
    return out, SMALL * len(zero)
