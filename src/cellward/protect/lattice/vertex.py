"""Vertex of the linear relaxation: where it is whole it is the optimum; each block where it is not goes to an engine for blocks."""

from __future__ import annotations

import math
from collections.abc import Iterable
from dataclasses import dataclass
from typing import Any, ClassVar

import numpy as np

from cellward.exact import Ints
from cellward.protect.engine import Adapter, first_answer
from cellward.protect.lattice.branch_and_bound import BranchAndBound
from cellward.protect.lattice.improvement import Improvement
from cellward.protect.lattice.linear import blocks, leaf_costs, linear, unit_of
from cellward.protect.lattice.problem import Block, BlockEngine, Found, LatticeProblem, Vertex, none_found
from cellward.solve.ask import ask
from cellward.solve.budget import Budget
from cellward.solve.highs import solve_lp

WHOLE = 1e-6
"""An x this near to a whole number is taken for it; the table made of it is checked exactly."""
HIGHS_LP = "HiGHS LP"


def relax(problem: LatticeProblem, budget: Budget, equations: Ints | None = None, solver: Adapter = solve_lp) -> Vertex:
    """An optimal vertex of the linear relaxation; ``equations``: those to keep, the problem's own unless given."""
    model = problem.model
    every, kept = np.arange(problem.size), problem.equations if equations is None else equations
    question, unit, used = linear(model, kept, every, model.columns.cost, problem.rows)
    outcome = ask(solver, question, columns=len(every), rows=question.rows, budget=budget, stoppable=True)
    if outcome.x is None:
        return Vertex(none_found(outcome, question, HIGHS_LP))
    if outcome.status == "feasible":  # stopped at the limit before the vertex was optimal
        return Vertex("unknown")
    multipliers = np.zeros(model.instance.relations.equations)
    if outcome.row_duals is not None:
        multipliers[used] = outcome.row_duals[: len(used)] * unit / model.common[used]
    return Vertex("optimal", outcome.x, multipliers)


def relaxed_bound(problem: LatticeProblem, vertex: Vertex) -> int:
    """A lower bound on what any table costs: the relaxation's, in whole numbers, or that of single cells."""
    cost, least = problem.model.columns.cost, problem.model.least()
    if vertex.x is None or not problem.tellable:
        return least
    value = float(cost @ vertex.x)
    unit = unit_of(cost)
    return max(unit * math.ceil((value - 1e-6 * max(1.0, abs(value))) / unit), least)


def lower_bound(problem: LatticeProblem, budget: Budget, engines: Iterable[Any] = ()) -> int:
    """The same, from a relaxation solved for it."""
    return relaxed_bound(problem, relax(problem, budget, solver=lp_solver(engines))) if problem.size else 0


def lp_solver(engines: Iterable[Any]) -> Adapter:
    """The solver of linear programs among these engines, so that cuts are made with the one that bounds are."""
    return next((each.solver for each in engines if isinstance(each, VertexThenBlocks)), solve_lp)


@dataclass(frozen=True)
class VertexThenBlocks:
    """A vertex, and where it is not ``whole`` within that much, the first of ``blocks`` that accepts a block."""

    name: ClassVar[str] = HIGHS_LP
    solver: Adapter = solve_lp
    whole: float = WHOLE
    blocks: tuple[BlockEngine, ...] = (Improvement(), BranchAndBound())

    def accepts(self, problem: LatticeProblem) -> str | None:  # noqa: ARG002
        """Anything."""
        return None

    def solve(self, problem: LatticeProblem, budget: Budget) -> Found:
        """The optimum, or the best table that the engines for blocks find."""
        model, cost = problem.model, problem.model.columns.cost
        vertex = relax(problem, budget, solver=self.solver)
        if vertex.x is None or vertex.multipliers is None:
            return Found("unknown" if vertex.status == "unknown" else "infeasible", self.name)
        x = np.rint(vertex.x).astype(np.int64)
        broken = np.abs(vertex.x - x) > self.whole
        if not broken.any():
            value, bound = model.proven(x, tellable=problem.tellable)
            return Found("optimal" if bound == value else "feasible", self.name, x, bound, vertex.multipliers)
        block, costs = blocks(model, problem.rows), leaf_costs(model)
        split = np.unique(block[broken])
        value, bound = model.proven(x, np.flatnonzero(~np.isin(block, split)), tellable=problem.tellable)
        used: list[str] = []
        budget.found(bound=relaxed_bound(problem, vertex))
        for label in split.tolist():
            # What is found of one block is told where nothing of the others is open.
            known = label == split[-1] and value == bound
            told = budget.counting(value, 1) if known else budget.silent()
            part = np.flatnonzero(block == label)
            share = float(broken[part].mean())
            one = Block(problem, part, vertex.x[part], vertex.multipliers, share, costs)
            found = first_answer(one, told, self.blocks)
            if found.x is None or found.bound is None:
                return found
            x[part] = found.x
            value += int(cost[part] @ found.x)
            bound += found.bound
            used.append(found.engine)
        engine = " and ".join(dict.fromkeys(used))
        return Found("optimal" if bound == value else "feasible", engine, x, bound, vertex.multipliers)
