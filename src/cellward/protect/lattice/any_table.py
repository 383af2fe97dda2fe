"""Any table: some table of a large problem, whatever it costs, by CP-SAT on all equations; it comes long before the least one."""

from __future__ import annotations

from collections.abc import Iterable
from dataclasses import replace
from typing import Any

import numpy as np

from cellward.exact import Floats, Ints
from cellward.protect.lattice.portfolio import Portfolio
from cellward.protect.lattice.problem import Found, LatticeProblem, none_found
from cellward.protect.lattice.whole_search import SEARCHERS, question_of_all
from cellward.solve.ask import ask
from cellward.solve.budget import Budget
from cellward.solve.cpsat import solve_cpsat

KNOWN = "rounded leaves"
NAME = "CP-SAT on all equations, first table"


def any_table(problem: LatticeProblem, budget: Budget, engines: Iterable[Any] = ()) -> Found:
    """The one that is known, if it is one of this problem, or the first found; with the cheapest choices cell by cell as bound."""
    known = problem.model.known
    if known is not None:
        x = problem.model.steps_of(known)
        fits = all(int(row.coef @ x[row.column]) >= row.least for row in problem.rows)
        if fits and np.array_equal(problem.model.values(x), known):
            return Found("feasible", KNOWN, x, problem.model.least())
    return _first(problem, np.zeros(problem.size), None, budget, engines)


def near_table(problem: LatticeProblem, x: Ints, budget: Budget, engines: Iterable[Any] = ()) -> Found:
    """The same, with as few columns as possible other than in x: found near it, and at once."""
    return _first(problem, np.where(x > 0, -1.0, 1.0), x.astype(float), budget, engines)


def _first(
    problem: LatticeProblem, cost: Floats, start: Floats | None, budget: Budget, engines: Iterable[Any]
) -> Found:
    solver = next((each.searcher for each in engines if isinstance(each, Portfolio)), solve_cpsat)
    question, _, _ = question_of_all(problem, np.arange(problem.size))
    free = replace(question, cost=cost)
    outcome = ask(solver, free, columns=problem.size, start=start, budget=budget.part(threads=SEARCHERS), first=True)
    if outcome.x is None:
        return Found(none_found(outcome, question, NAME), NAME)
    return Found("feasible", NAME, np.rint(outcome.x).astype(np.int64), problem.model.least())
