"""Any table: some table of a large problem, whatever it costs, by CP-SAT on all equations; it comes long before the least one."""

from __future__ import annotations

from collections.abc import Iterator
from dataclasses import dataclass, replace
from typing import ClassVar

import numpy as np

from cellward.exact import Floats, Ints
from cellward.protect.engine import Adapter
from cellward.protect.lattice.neighbourhoods import Neighbourhoods
from cellward.protect.lattice.problem import Found, LatticeProblem, none_found
from cellward.protect.lattice.whole_search import SEARCHERS, question_of_all, too_easy
from cellward.solve.ask import ask
from cellward.solve.budget import Budget
from cellward.solve.cpsat import solve_cpsat
from cellward.solve.model import LinearModel
from cellward.solve.outcome import Outcome

KNOWN = "rounded leaves"
AROUND, AROUND_SHARE = (50, 200, 800, 3200), 0.4
"""Leaves that are decided anew around each row that a table misses, and the part of the time left for each number."""
NAME = "CP-SAT on all equations, first table"
FIRST_WORK, MOST_WORK = 2.0, 1e5
"""CP-SAT's work for a first table without a time limit, four times as much where there is none, up to this."""


@dataclass(frozen=True)
class AnyTable:
    """Problems of at least ``fewest`` columns that are no network."""

    name: ClassVar[str] = NAME
    fewest: int = 4000
    searcher: Adapter = solve_cpsat

    def accepts(self, problem: LatticeProblem) -> str | None:
        """Large problems; others have a vertex in no time."""
        return too_easy(problem, self.fewest)

    def solve(self, problem: LatticeProblem, budget: Budget) -> Found:
        """The one that is known, or the first found."""
        return any_table(problem, budget, self.searcher)


def any_table(problem: LatticeProblem, budget: Budget, searcher: Adapter = solve_cpsat) -> Found:
    """The one that is known, if it is one of this problem, one near it if only rows are missed, or the first found; with the cheapest choices cell by
    cell as bound."""
    known = problem.model.known
    if known is not None and np.array_equal(problem.model.values(x := problem.model.steps_of(known)), known):
        if all(int(row.coef @ x[row.column]) >= row.least for row in problem.rows):
            return Found("feasible", KNOWN, x, problem.model.least())
        return near_table(problem, x, budget, searcher)
    question, _, _ = question_of_all(problem, np.arange(problem.size))
    return _found(problem, question, np.zeros(problem.size), None, budget, searcher)


def near_table(problem: LatticeProblem, x: Ints, budget: Budget, searcher: Adapter = solve_cpsat) -> Found:
    """The same, with as few columns as possible other than in x: decided anew around the rows that x misses, more and more of them, at last all."""
    question, _, _ = question_of_all(problem, np.arange(problem.size))
    cost = np.where(x > 0, -1.0, 1.0)
    for free, near in _around(problem, question, x):
        if budget.over:
            break
        part = budget.part(None if budget.left is None else AROUND_SHARE * budget.left)
        outcome = first_table(replace(near, cost=cost[free]), part, searcher, x[free].astype(float))
        if outcome.x is not None:
            found = x.copy()
            found[free] = np.rint(outcome.x).astype(np.int64)
            return Found("feasible", NAME, found, problem.model.least())
    return _found(problem, question, cost, x.astype(float), budget, searcher)


def _around(problem: LatticeProblem, question: LinearModel, x: Ints) -> Iterator[tuple[Ints, LinearModel]]:
    """Columns around the rows that x misses, and the question about these: those of cells above the leaves that share the most with the rows' own, in
    small sums above all. Whatever becomes of some leaves, the cells above them can follow."""
    missed = [row.column for row in problem.rows if int(row.coef @ x[row.column]) < row.least]
    form = problem.model.instance.relations.leaf_form
    if not missed or form.condition.shape[0]:
        return
    sums = abs(form.matrix).tocsr()
    many = np.maximum(np.diff(sums.indptr), 1)
    own = np.zeros(sums.shape[0])
    np.add.at(own, problem.model.columns.cell[np.concatenate(missed)], 1.0)
    shared = sums.T @ ((sums @ (sums.T @ (own / many))) / many)
    nearest = np.argsort(-shared, kind="stable")
    near = Neighbourhoods(problem.model, np.arange(problem.size), question, np.random.default_rng(0))
    for size in (each * len(missed) for each in AROUND):
        chosen = np.zeros(sums.shape[1])
        chosen[nearest[:size]] = shared[nearest[:size]] > 0
        free = np.flatnonzero((sums @ chosen > 0)[problem.model.columns.cell])
        if len(free) == problem.size:
            return
        yield free, near.restricted(free, x)


def _found(
    problem: LatticeProblem,
    question: LinearModel,
    cost: Floats,
    start: Floats | None,
    budget: Budget,
    searcher: Adapter,
) -> Found:
    outcome = first_table(replace(question, cost=cost), budget, searcher, start)
    if outcome.x is None:
        return Found(none_found(outcome, question, NAME), NAME)
    return Found("feasible", NAME, np.rint(outcome.x).astype(np.int64), problem.model.least())


def first_table(question: LinearModel, budget: Budget, searcher: Adapter, start: Floats | None = None) -> Outcome:
    """The first table that any of CP-SAT's searchers finds.

    Without a time limit which of them comes first would be a matter of chance: then it is the best after so much work, and more as long as there is
    none.
    """
    many, columns = budget.part(threads=SEARCHERS), question.columns
    if budget.limited:
        return ask(searcher, question, columns=columns, start=start, budget=many, first=True)
    work = FIRST_WORK
    while True:
        outcome = ask(searcher, question, columns=columns, start=start, budget=many, work=work)
        if outcome.x is not None or outcome.status == "infeasible" or outcome.interrupted or work > MOST_WORK:
            return outcome
        work *= 4
