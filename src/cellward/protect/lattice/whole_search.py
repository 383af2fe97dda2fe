"""Whole search: CP-SAT on all equations at once, for large problems whose linear relaxation does not end in the time there is.

It is given every equation, implied ones too: they say nothing new, but what follows from single equations is most of what leads it to a table. On
four-dimensional counts it finds a first table in a second with all of them, and none in a minute without.
"""

from __future__ import annotations

import math
from dataclasses import dataclass
from typing import ClassVar

import numpy as np

from cellward.exact import Ints
from cellward.protect.engine import Adapter
from cellward.protect.lattice.linear import linear
from cellward.protect.lattice.problem import Found, LatticeProblem, none_found
from cellward.solve.ask import ask
from cellward.solve.budget import Budget
from cellward.solve.cpsat import solve_cpsat
from cellward.solve.model import LinearModel

SEARCHERS = 8
"""CP-SAT's threads: its searchers for a first table come in with the eighth, whatever the number of cores."""


@dataclass(frozen=True)
class WholeSearch:
    """The best table that CP-SAT finds of problems with at least ``fewest`` columns that are no network."""

    name: ClassVar[str] = "CP-SAT on all equations"
    solver: Adapter = solve_cpsat
    fewest: int = 4000

    def accepts(self, problem: LatticeProblem) -> str | None:
        """Large problems; small ones are for exact engines."""
        if problem.size < self.fewest:
            return f"{problem.size:,} columns are few enough for a linear relaxation"
        return None if problem.network is None else "the equations are a network, whose relaxation is easy"

    def solve(self, problem: LatticeProblem, budget: Budget) -> Found:
        """The best table found, with CP-SAT's own bound."""
        model, every = problem.model, np.arange(problem.size)
        question, unit, _ = question_of_all(problem, every)
        outcome = ask(
            self.solver, question, columns=problem.size, budget=budget.part(threads=SEARCHERS).counting(0, unit)
        )
        if outcome.x is None:
            return Found(none_found(outcome, question, self.name), self.name)
        x = np.rint(outcome.x).astype(np.int64)
        value, least = int(model.columns.cost @ x), model.least()
        if math.isfinite(outcome.bound):
            least = max(least, min(value, unit * math.ceil(outcome.bound)))
        return Found("optimal" if least == value else "feasible", self.name, x, least)


def question_of_all(problem: LatticeProblem, part: Ints) -> tuple[LinearModel, int, Ints]:
    """Some columns (a union of blocks) in all of their equations, the unit of the cost, and the equations of its first rows."""
    equations = np.arange(problem.model.instance.relations.equations, dtype=np.int64)
    return linear(problem.model, equations, part, problem.model.columns.cost, problem.rows)
