"""Nested blocks: the engine for large tables of areas within areas, whose structure is found in their equations (see nested.py, nested_search.py)."""

from __future__ import annotations

from collections.abc import Callable
from concurrent.futures import Executor
from dataclasses import dataclass, field
from typing import ClassVar

import numpy as np

from cellward.exact import Ints
from cellward.protect.engine import Adapter
from cellward.protect.lattice.best_table import BestTable
from cellward.protect.lattice.nested import find_nested
from cellward.protect.lattice.nested_plan import Plan, plan_of
from cellward.protect.lattice.nested_search import Effort, NestedSearch
from cellward.protect.lattice.part_questions import PartQuestions
from cellward.protect.lattice.problem import Found, LatticeProblem
from cellward.protect.lattice.vertex import WHOLE, VertexThenBlocks
from cellward.protect.lattice.whole_search import too_easy
from cellward.solve.ask import ask
from cellward.solve.budget import Budget
from cellward.solve.highs import solve_lp
from cellward.solve.outcome import Outcome
from cellward.solve.prices import solve_prices
from cellward.solve.workers import Workers, decide

LOOKED_AT, LOOK_S = 3, 3.0
"""Parts, with the blocks right above them, whose vertex says what that of the whole would be like, and seconds for each."""
EXACT_SHARE = 0.5
"""The part of the time left for what a vertex leads to."""


@dataclass(frozen=True)
class NestedBlocks:
    """Problems of at least ``fewest`` columns whose blocks are nested.

    Where vertices of single parts leave no more than the share ``few_broken`` of the columns fractional, that of the whole is asked for instead.
    ``executor``: where parts are decided, any of concurrent.futures' kind; processes of this machine unless given.
    """

    name: ClassVar[str] = "nested blocks"
    fewest: int = 20_000
    few_broken: float = 0.005
    fewest_with_codes: int = 100_000
    """The same for tables with dimensions, which the portfolio takes apart by their codes."""
    patience: int = 40
    first_share: float = 1.0
    """The part of the time left in which a first table must be found."""
    pricer: Adapter = solve_prices
    decide: Callable[..., Outcome] = decide
    executor: Callable[[Budget], Executor] = Workers
    exact: VertexThenBlocks = field(default_factory=VertexThenBlocks)

    def accepts(self, problem: LatticeProblem) -> str | None:
        """Large problems without rows of their own."""
        if problem.rows:
            return "rows cut tables off, which may join any cells"
        labels = problem.model.instance.labels
        return too_easy(problem, self.fewest_with_codes if labels.dims else self.fewest)

    def solve(self, problem: LatticeProblem, budget: Budget) -> Found | None:
        """The best table found; None where there are no nested blocks, or some part would be too large."""
        nested = find_nested(problem.model.instance.relations)
        if nested is None:
            return None
        many = np.bincount(nested.block[problem.model.columns.cell], minlength=nested.blocks)
        plan, slices = plan_of(nested, many), plan_of(nested, many, slices=True)
        if plan is None or slices is None:
            return None
        table = BestTable(problem, np.arange(problem.size, dtype=np.int64), budget)
        if self._nearly_whole(table, nested.block[problem.model.columns.cell], plan, budget):
            half = None if budget.left is None else EXACT_SHARE * budget.left
            found = self.exact.solve(problem, budget.part(half).counting(0, 1))
            if found.x is not None or found.status == "infeasible" or budget.over:
                return found
        effort = Effort(self.pricer, self.decide, self.executor, self.patience, self.first_share)
        found = NestedSearch(effort, table, nested, (plan, slices), budget).run()
        given_up = found.status == "unknown" and self.first_share == 1.0 and not budget.over
        return None if given_up else found

    def _nearly_whole(self, table: BestTable, block: Ints, plan: Plan, budget: Budget) -> bool:
        """Whether the vertices of a few parts and what is right above them, with everything else open, have hardly a fraction."""
        parts = [part for turn in plan.turns[1:] for part in turn]
        questions = PartQuestions(table.question)
        open_, x = np.zeros(len(block), bool), np.zeros(len(block), np.int64)
        seen = broken = 0
        for part in (parts[k] for k in np.unique(np.linspace(0, len(parts) - 1, LOOKED_AT).astype(int)).tolist()):
            free = np.flatnonzero(np.isin(block, np.concatenate((part.blocks, part.heads))))
            question = questions.about(free, x, open_)
            limit = budget.part(None if budget.left is None else LOOK_S, threads=1)
            outcome = ask(solve_lp, question, columns=len(free), rows=question.rows, budget=limit)
            if outcome.x is None or outcome.status != "optimal":
                return False
            seen += len(free)
            broken += int(np.count_nonzero(np.abs(outcome.x - np.rint(outcome.x)) > WHOLE))
        return broken <= self.few_broken * max(seen, 1)
