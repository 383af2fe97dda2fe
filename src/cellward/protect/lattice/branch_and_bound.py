"""Branch and bound: the optimum of one block by HiGHS, and by CP-SAT from where a bound of HiGHS' is not believed."""

from __future__ import annotations

import math
from dataclasses import dataclass, field
from typing import ClassVar

import numpy as np

from cellward.protect.engine import Adapter
from cellward.protect.lattice.improvement import Improvement
from cellward.protect.lattice.problem import Block, Found, none_found
from cellward.solve.ask import ask
from cellward.solve.budget import Budget
from cellward.solve.cpsat import solve_cpsat
from cellward.solve.highs import solve_mip
from cellward.solve.outcome import Outcome

_ERROR = 1e-5
"""How far a bound by branch and bound may be off: this much, and 1e-9 of itself. HiGHS has been seen to be off by 1e-9 at 601."""


@dataclass(frozen=True)
class BranchAndBound:
    """Branch and bound; large blocks start from what ``starter`` finds first. The objective moves in whole units, so a gap below one is no gap."""

    name: ClassVar[str] = "HiGHS MIP"
    solver: Adapter = solve_mip
    whole_solver: Adapter = solve_cpsat
    starter: Improvement = field(default_factory=Improvement)

    def accepts(self, block: Block) -> str | None:  # noqa: ARG002
        """Any block; whether it ends in bearable time is another matter."""
        return None

    def solve(self, block: Block, budget: Budget) -> Found:
        """The optimum, or the best that the limit left time for."""
        start = None
        if len(block.part) >= self.starter.fewest:
            first = self.starter.start(block, budget)
            if first.status == "optimal" or budget.over:
                return first
            start = None if first.x is None else first.x.astype(float)
        model, part, tellable = block.problem.model, block.part, block.problem.tellable
        question, unit, _ = block.question(block.leaf_costs)
        apart = float((model.columns.cost[part] - block.leaf_costs[part]) @ block.x)
        telling = budget.counting(apart, unit)
        outcome = ask(
            self.solver, question, columns=len(part), budget=telling, absolute_gap=1 - 1e-3, start=start, stoppable=True
        )
        engine = self.name
        if outcome.x is None:
            return Found(none_found(outcome, question, engine), engine)
        told = tellable and math.isfinite(outcome.objective)
        short = told and not _whole_bound(outcome) >= round(outcome.objective)
        if short and not outcome.limit_reached and not outcome.interrupted:
            # Its bound was a hair above a whole number, and it took the next one for proven: another engine, in whole numbers, goes on.
            engine = f"{self.name} and CP-SAT"
            alone = budget.part(threads=1)
            outcome = ask(self.whole_solver, question, columns=len(part), budget=alone, start=outcome.x)
            if outcome.x is None:
                return Found(none_found(outcome, question, engine), engine)
        assert outcome.x is not None
        x = np.rint(outcome.x).astype(np.int64)
        value, least = int(model.columns.cost[part] @ x), model.least(part)
        if not tellable or not math.isfinite(outcome.bound):
            return Found("feasible", engine, x, least)
        bound = min(value, max(least, value - int(block.leaf_costs[part] @ x) + unit * int(_whole_bound(outcome))))
        return Found("optimal" if bound == value else "feasible", engine, x, bound)


def _whole_bound(outcome: Outcome) -> float:
    """What a bound says of costs that are whole: the next whole number, once its own error is taken off."""
    bound = outcome.bound
    return math.ceil(bound - _ERROR * max(1.0, 1e-4 * abs(bound))) if math.isfinite(bound) else bound
