"""Staged flow: minimum-cost flow level by level in this process, for networks with few different costs."""

from __future__ import annotations

from dataclasses import dataclass
from typing import ClassVar

from cellward.protect.engine import Adapter
from cellward.protect.lattice.problem import Found, LatticeProblem
from cellward.solve.ask import ask
from cellward.solve.budget import Budget
from cellward.solve.model import FlowModel
from cellward.solve.outcome import Outcome


def _solve_levels(flow: FlowModel) -> Outcome:
    """scipy is loaded for large tables only."""
    from cellward.solve.staged_flow import solve_levels

    return solve_levels(flow)


@dataclass(frozen=True)
class StagedFlow:
    """The least flow where it is simple enough: networks of at least ``fewest`` columns; below, HiGHS answers before scipy would be loaded."""

    name: ClassVar[str] = "minimum-cost flow"
    fewest: int = 1000
    solver: Adapter = _solve_levels

    def accepts(self, problem: LatticeProblem) -> str | None:
        """Networks, from its size on."""
        if problem.size < self.fewest:
            return f"{problem.size:,} columns are too few for flows in this process, which pay from {self.fewest:,} on"
        return problem.no_flow

    def solve(self, problem: LatticeProblem, budget: Budget) -> Found | None:  # noqa: ARG002 (it ends at once)
        """The optimum; None where costs are too many, or there is no flow."""
        moves = problem.moves
        outcome = ask(self.solver, moves.flow, columns=moves.flow.arcs)
        if outcome.x is None:
            return None
        x = moves.columns(outcome.x)
        return Found("optimal", self.name, x, int(problem.model.columns.cost @ x))
