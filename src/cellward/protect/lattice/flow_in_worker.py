"""Flow in the worker: minimum-cost flow of any network by OR-tools, in a process of its own."""

from __future__ import annotations

from dataclasses import dataclass
from typing import ClassVar

from cellward.protect.engine import Adapter
from cellward.protect.lattice.problem import Found, LatticeProblem
from cellward.solve.ask import ask
from cellward.solve.budget import Budget
from cellward.solve.flow import solve_flow


@dataclass(frozen=True)
class FlowInWorker:
    """The least flow: networks of at least ``fewest`` columns, or with costs that HiGHS cannot tell apart.

    Below, HiGHS answers before the worker would have started.
    """

    name: ClassVar[str] = "minimum-cost flow"
    fewest: int = 4000
    solver: Adapter = solve_flow

    def accepts(self, problem: LatticeProblem) -> str | None:
        """Networks, from its size on or with costs of too wide a range."""
        if problem.no_flow is None and problem.size < self.fewest and problem.tellable:
            return f"{problem.size:,} columns are too few for the worker, which pays from {self.fewest:,} on"
        return problem.no_flow

    def solve(self, problem: LatticeProblem, budget: Budget) -> Found:
        """The optimum, or that there is no flow."""
        moves = problem.moves
        outcome = ask(self.solver, moves.flow, columns=moves.flow.arcs, budget=budget)
        if outcome.x is None:
            return Found("unknown" if outcome.status == "unknown" else "infeasible", self.name)
        x = moves.columns(outcome.x)
        return Found("optimal", self.name, x, int(problem.model.columns.cost @ x))
