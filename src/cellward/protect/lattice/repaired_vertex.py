"""Repaired vertex: some table next to a vertex of the relaxation, by CP-SAT, which starts from it and stops at its first solution.

Large problems, whose relaxation takes longer than CP-SAT on all equations, do without the vertex, and without costs.
"""

from __future__ import annotations

from dataclasses import dataclass, field, replace
from typing import ClassVar

import numpy as np

from cellward.protect.engine import Adapter
from cellward.protect.lattice.linear import independent, linear
from cellward.protect.lattice.problem import Found, LatticeProblem, none_found
from cellward.protect.lattice.vertex import HIGHS_LP, WHOLE, relax, relaxed_bound
from cellward.protect.lattice.whole_search import SEARCHERS, WholeSearch, question_of_all
from cellward.solve.ask import ask
from cellward.solve.budget import Budget
from cellward.solve.cpsat import solve_cpsat
from cellward.solve.highs import solve_lp


@dataclass(frozen=True)
class RepairedVertex:
    """Any table, as fast as possible: the vertex itself where it is whole."""

    name: ClassVar[str] = "vertex and CP-SAT"
    relaxation: Adapter = solve_lp
    solver: Adapter = solve_cpsat
    instead: WholeSearch = field(default_factory=WholeSearch)
    """Which problems are large."""

    def accepts(self, problem: LatticeProblem) -> str | None:  # noqa: ARG002
        """Anything."""
        return None

    def solve(self, problem: LatticeProblem, budget: Budget) -> Found:
        """A table, with the relaxation's bound."""
        if self.instead.accepts(problem) is None:
            return self._without_vertex(problem, budget)
        model = problem.model
        equations = independent(model.instance.relations)
        vertex = relax(problem, budget, equations, self.relaxation)
        if vertex.x is None:
            return Found("unknown" if vertex.status == "unknown" else "infeasible", HIGHS_LP)
        x = np.rint(vertex.x).astype(np.int64)
        if not np.any(np.abs(vertex.x - x) > WHOLE):
            return Found("feasible", "vertex", x, model.proven(x, tellable=problem.tellable)[1])
        question, _, _ = linear(model, equations, np.arange(problem.size), model.columns.cost, problem.rows)
        alone = budget.part(threads=1)
        outcome = ask(self.solver, question, columns=problem.size, budget=alone, start=vertex.x, first=True)
        if outcome.x is None:
            return Found("infeasible" if outcome.status == "infeasible" else "unknown", self.name)
        return Found("feasible", self.name, np.rint(outcome.x).astype(np.int64), relaxed_bound(problem, vertex))

    def _without_vertex(self, problem: LatticeProblem, budget: Budget) -> Found:
        """The first table that CP-SAT finds, with the bound of single cells."""
        question, _, _ = question_of_all(problem, np.arange(problem.size))
        question = replace(question, cost=np.zeros(problem.size))
        many = budget.part(threads=SEARCHERS)
        outcome = ask(self.solver, question, columns=problem.size, budget=many, first=True)
        engine = self.instead.name
        if outcome.x is None:
            return Found(none_found(outcome, question, engine), engine)
        return Found("feasible", engine, np.rint(outcome.x).astype(np.int64), problem.model.least())
