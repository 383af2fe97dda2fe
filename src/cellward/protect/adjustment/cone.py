"""Cone form of an adjustment: second-order cones over the equations themselves, solved by Clarabel."""

from __future__ import annotations

from dataclasses import dataclass
from typing import ClassVar

import numpy as np

from cellward.protect.adjustment.continuous import AdjustmentProblem, Continuous, FormName, checked
from cellward.protect.adjustment.distance import Norm
from cellward.solve.budget import Budget


@dataclass(frozen=True)
class ByCones:
    """Cones of these norms."""

    name: ClassVar[FormName] = "cone"
    norms: tuple[Norm, ...] = ("l1", "l2", "l1-2", "huber")

    def accepts(self, problem: AdjustmentProblem) -> str | None:
        """Its norms, on any table."""
        norm = problem.distance.norm
        return (
            None
            if norm in self.norms
            else f"form='cone' does not go with norm={norm!r}; use 'leaf', 'equation' or 'auto'"
        )

    def solve(self, problem: AdjustmentProblem, budget: Budget) -> Continuous:
        """The least distance by cones."""
        from scipy.sparse import csr_matrix

        from cellward.solve.cones import solve_cones

        r, costs = problem.relations, problem.costs
        answer = solve_cones(
            csr_matrix((r.coefs.astype(float), r.indices, r.indptr), shape=(r.equations, r.cells)),
            np.zeros(r.equations),
            problem.lo,
            problem.hi,
            absolute=costs.absolute,
            square=costs.square,
            huber=costs.huber,
            delta=costs.delta,
            budget=budget,
        )
        if answer.x is None or answer.status == "infeasible":
            return Continuous("infeasible" if answer.status == "infeasible" else "unknown", self.name, answer.solver)
        return checked(problem, self.name, answer.solver, answer.x, answer.row_duals)
