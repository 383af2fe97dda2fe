"""Engines for controlled rounding, the cheapest exact one first: minimum-cost flow, a vertex of the linear relaxation, branch and bound.

Which one is taken depends on the instance alone, so that the same input always gives the same answer.
"""

from __future__ import annotations

import math
from collections.abc import Callable, Sequence
from dataclasses import dataclass
from typing import Any, Literal

import numpy as np

from cellward.errors import SolverError
from cellward.exact import Floats, Ints
from cellward.protect.lattice.cycles import round_along_cycles
from cellward.protect.lattice.improve import FEW_BROKEN, improve
from cellward.protect.lattice.linear import Row, blocks, independent, leaf_costs, linear, tellable, unit_of
from cellward.protect.lattice.model import LatticeModel
from cellward.solve.ask import ask
from cellward.solve.budget import Budget
from cellward.solve.cpsat import solve_cpsat
from cellward.solve.flow import solve_flow
from cellward.solve.highs import solve_lp, solve_mip
from cellward.solve.model import FlowModel, LinearModel
from cellward.solve.outcome import Outcome
from cellward.table.network import Network

LEVELS_FROM = 1000
"""Columns from which flows are sent level by level in this process; below, HiGHS answers before scipy would be loaded."""
FLOW_FROM = 4000
"""Columns from which other networks go to the flow solver's process; below, HiGHS answers before that process would have started."""

LARGEST_COEFFICIENT = 10**6
"""Equations with larger coefficients cannot be told apart from their neighbours either: HiGHS' word that no table exists is then not taken."""

LARGE = 4000
"""Columns from which a block is searched for a near-optimal rounding: branch and bound would not end."""

_ERROR = 1e-5
"""How far a bound by branch and bound may be off: this much, and 1e-9 of itself. HiGHS has been seen to be off by 1e-9 at 601."""

_WHOLE = 1e-6
"""An x this near to a whole number is taken for it; the table made of it is checked exactly."""


@dataclass(frozen=True, eq=False)
class Found:
    """An engine's answer: x of all columns, and a lower bound on cost·x in the cost's own units."""

    status: Literal["optimal", "feasible", "infeasible", "unknown"]
    engine: str
    x: Ints | None = None
    bound: int | None = None
    multipliers: Floats | None = None
    """The root's duals, one an equation, as cost per unit of v: a hint at a proof."""


def solve(model: LatticeModel, budget: Budget, rows: Sequence[Row] = ()) -> Found:
    """Choose the engine by structure and size, and run it."""
    columns = model.columns
    if not len(columns):
        return Found("optimal", "nothing to decide", np.zeros(0, np.int64), 0)
    network = model.instance.relations.network if model.one_step else None
    if network is not None and not rows:
        worker = len(columns) >= FLOW_FROM or not tellable(columns.cost)
        if worker or len(columns) >= LEVELS_FROM:
            found = _flow(model, network, budget, worker=worker)
            if found is not None:
                return found
    kept = independent(model) if network is None else network.equations
    return _relaxation(model, kept, budget, rows)


def _asked(budget: Budget, adapter: Callable[..., Outcome], question: Any, **options: Any) -> Outcome:
    """A solver's answer within the time that is left; after Ctrl-C none is."""
    outcome = ask(adapter, question, time_limit_s=budget.left, **options)
    if outcome.interrupted:
        budget.stop()
    return outcome


def _flow(model: LatticeModel, network: Network, budget: Budget, *, worker: bool) -> Found | None:
    """Minimum-cost flow of the moves away from the nearest choice: all costs ≥ 0, and only what fails to add up has to move.

    None where it is not simple enough for this process, and no ``worker`` is to be asked.
    """
    columns = model.columns
    tail, head = network.tail.take(columns.cell), network.head.take(columns.cell)
    arc: Ints | slice = slice(None) if int(tail.min()) >= 0 else np.flatnonzero(tail >= 0)
    tail, head, top, cost = tail[arc], head[arc], columns.top[arc], columns.cost[arc]
    flipped = cost < 0
    rest, common = model.rest[network.equations], model.common[network.equations]
    need = np.zeros(network.nodes, np.int64)
    need[:-1] = network.sign * (rest // np.maximum(common, 1))
    up = np.flatnonzero(flipped)
    many = None if int(top.max(initial=1)) == 1 else top[up]
    into, out = (np.bincount(ends[up], many, minlength=network.nodes) for ends in (head, tail))
    need -= (into - out).astype(np.int64)
    need[-1] = -int(need[:-1].sum())
    tail[up], head[up] = head[up], tail[up]
    cost = np.abs(cost)
    unit = unit_of(cost)
    flow = FlowModel(tail=tail, head=head, capacity=top, cost=cost // unit, supply=-need)
    outcome = ask(_levels, flow, columns=flow.arcs)
    if outcome.x is None and not worker:
        return None
    if outcome.x is None:
        outcome = _asked(budget, solve_flow, flow, columns=flow.arcs)
    if outcome.x is None:
        return Found("unknown" if outcome.status == "unknown" else "infeasible", "minimum-cost flow")
    x = model.nearest.copy()
    used = np.flatnonzero(outcome.x)
    moved = np.rint(outcome.x[used]).astype(np.int64)
    x[used if isinstance(arc, slice) else arc[used]] += np.where(flipped[used], -moved, moved)
    return Found("optimal", "minimum-cost flow", x, int(columns.cost @ x))


def _levels(flow: FlowModel) -> Outcome:
    """Solve it in this process if it is simple enough; scipy is loaded for large tables only."""
    from cellward.solve.staged_flow import solve_levels

    return solve_levels(flow)


def any_rounding(model: LatticeModel, budget: Budget) -> Found:
    """Some rounding, as fast as possible: in a network the least one where flows are simple, else one along cycles; elsewhere a vertex, repaired."""
    columns = model.columns
    every = np.arange(len(columns))
    network = model.instance.relations.network if model.one_step else None
    across = len(columns) == int(model.free.sum()) and model.between
    if network is not None and across:
        if len(columns) >= LEVELS_FROM and (found := _flow(model, network, budget, worker=False)) is not None:
            return found
        x = model.nearest.copy()
        arc = np.flatnonzero(network.tail[columns.cell] >= 0)
        cell = columns.cell[arc]
        part = (model.instance.a - model.allowed.lo)[cell]
        x[arc] = round_along_cycles(network.tail[cell], network.head[cell], part, model.r[cell])
        return Found("feasible", "cycles", x, _least(model, every))
    equations = independent(model)
    vertex = relax(model, equations, budget)
    if vertex.x is None:
        return Found("unknown" if vertex.status == "unknown" else "infeasible", "HiGHS LP")
    x = np.rint(vertex.x).astype(np.int64)
    if not np.any(np.abs(vertex.x - x) > _WHOLE):
        return Found("feasible", "vertex", x, _value_and_bound(model, every, x)[1])
    question, _, _ = linear(model, equations, every, columns.cost)
    outcome = _asked(budget, solve_cpsat, question, columns=len(every), seed=budget.seed, start=vertex.x, first=True)
    if outcome.x is None:
        return Found("infeasible" if outcome.status == "infeasible" else "unknown", "vertex and CP-SAT")
    return Found("feasible", "vertex and CP-SAT", np.rint(outcome.x).astype(np.int64), _floor(model, vertex))


def _floor(model: LatticeModel, vertex: Vertex) -> int:
    """The relaxation's bound on the cost, in whole numbers."""
    every = np.arange(len(model.columns))
    if vertex.x is None or not tellable(model.columns.cost):
        return _least(model, every)
    value = float(model.columns.cost @ vertex.x)
    unit = unit_of(model.columns.cost)
    return max(unit * math.ceil((value - 1e-6 * max(1.0, abs(value))) / unit), _least(model, every))


def bound(model: LatticeModel, budget: Budget) -> int:
    """A lower bound on what any rounding costs: the relaxation's, or that of single cells."""
    if not len(model.columns):
        return 0
    return _floor(model, relax(model, independent(model), budget))


@dataclass(frozen=True, eq=False)
class Vertex:
    """A vertex of the linear relaxation; without ``x`` there is none, or the limit came first."""

    status: Literal["optimal", "infeasible", "unknown"]
    x: Floats | None = None
    multipliers: Floats | None = None


def relax(model: LatticeModel, equations: Ints, budget: Budget, rows: Sequence[Row] = ()) -> Vertex:
    """An optimal vertex of the linear relaxation."""
    every = np.arange(len(model.columns))
    question, unit, used = linear(model, equations, every, model.columns.cost, rows)
    outcome = _asked(
        budget, solve_lp, question, columns=len(every), rows=question.rows, threads=budget.threads, seed=budget.seed,
        stoppable=True,
    )  # fmt: skip
    if outcome.x is None:
        return Vertex(_none(outcome, question, "HiGHS LP"))
    if outcome.status == "feasible":  # stopped at the limit before the vertex was optimal
        return Vertex("unknown")
    multipliers = np.zeros(model.instance.relations.equations)
    if outcome.row_duals is not None:
        multipliers[used] = outcome.row_duals[: len(used)] * unit / model.common[used]
    return Vertex("optimal", outcome.x, multipliers)


def _relaxation(model: LatticeModel, equations: Ints, budget: Budget, rows: Sequence[Row]) -> Found:
    """A vertex of the linear relaxation; where it is whole it is optimal, and each block where it is not goes to branch and bound."""
    columns = model.columns
    vertex = relax(model, equations, budget, rows)
    if vertex.x is None:
        return Found("unknown" if vertex.status == "unknown" else "infeasible", "HiGHS LP")
    x = np.rint(vertex.x).astype(np.int64)
    broken = np.abs(vertex.x - x) > _WHOLE
    if not broken.any():
        value, bound = _value_and_bound(model, np.arange(len(columns)), x)
        return Found("optimal" if bound == value else "feasible", "HiGHS LP", x, bound, vertex.multipliers)
    block = blocks(model, rows)
    split = np.unique(block[broken])
    costs = leaf_costs(model)
    value, bound = _value_and_bound(model, np.flatnonzero(~np.isin(block, split)), x)
    used: list[str] = []
    for label in split.tolist():
        part = np.flatnonzero(block == label)
        few = float(broken[part].mean()) <= FEW_BROKEN
        found = None
        if len(part) >= LARGE:
            found = _searched(model, equations, part, vertex, budget, rows, start_only=few)
        if found is None or (few and found.status != "optimal" and not budget.over):
            start = None if found is None or found.x is None else found.x.astype(float)
            found = _branch(model, equations, part, costs, budget, rows, start)
        if found.x is None or found.bound is None:
            return found
        x[part] = found.x
        value += int(columns.cost[part] @ found.x)
        bound += found.bound
        used.append(found.engine)
    engine = " and ".join(dict.fromkeys(used))
    return Found("optimal" if bound == value else "feasible", engine, x, bound, vertex.multipliers)


def _searched(
    model: LatticeModel,
    equations: Ints,
    part: Ints,
    vertex: Vertex,
    budget: Budget,
    rows: Sequence[Row],
    *,
    start_only: bool,
) -> Found:
    """A near-optimal rounding of a large block, with the relaxation's bound; ``start_only``: just the first one."""
    assert vertex.x is not None and vertex.multipliers is not None
    question, unit, used = linear(model, equations, part, model.columns.cost, rows)
    floor = float(question.cost @ vertex.x[part])
    duals = None if rows else vertex.multipliers[used] * model.common[used] / unit
    found = improve(model, question, part, vertex.x[part], floor, budget, duals, start_only=start_only)
    if found.interrupted:
        budget.stop()
    if found.x is None:
        return Found("unknown", found.engine)
    value, least = int(model.columns.cost[part] @ found.x), _least(model, part)
    if tellable(model.columns.cost):
        least = max(least, min(value, unit * math.ceil(floor - 1e-6 * max(1.0, abs(floor)))))
    return Found("optimal" if least == value else "feasible", found.engine, found.x, least)


def _value_and_bound(model: LatticeModel, part: Ints, x: Ints) -> tuple[int, int]:
    """The cost of a whole vertex on a union of blocks, and what it proves: itself, or only the cheapest choices where costs cannot be told apart."""
    value = int(model.columns.cost[part] @ x[part])
    return value, value if tellable(model.columns.cost) else _least(model, part)


def _least(model: LatticeModel, part: Ints) -> int:
    """The cost of the cheapest choice cell by cell: no table costs less."""
    return int((model.columns.cost * model.nearest)[part].sum())


def _branch(
    model: LatticeModel,
    equations: Ints,
    part: Ints,
    costs: Ints,
    budget: Budget,
    rows: Sequence[Row],
    start: Floats | None = None,
) -> Found:
    """Branch and bound on one block; its objective moves in whole units, so a gap below one is no gap."""
    question, unit, _ = linear(model, equations, part, costs, rows)
    outcome = _asked(
        budget, solve_mip, question, columns=len(part), threads=budget.threads, seed=budget.seed, absolute_gap=1 - 1e-3,
        start=start, stoppable=True,
    )  # fmt: skip
    engine = "HiGHS MIP"
    if outcome.x is None:
        return Found(_none(outcome, question, engine), engine)
    told = tellable(model.columns.cost) and math.isfinite(outcome.objective)
    short = told and not _whole_bound(outcome) >= round(outcome.objective)
    if short and not outcome.limit_reached and not outcome.interrupted:
        # Its bound was a hair above a whole number, and it took the next one for proven: another engine, in whole numbers, goes on.
        engine = "HiGHS MIP and CP-SAT"
        outcome = _asked(budget, solve_cpsat, question, columns=len(part), seed=budget.seed, start=outcome.x)
        if outcome.x is None:
            return Found(_none(outcome, question, engine), engine)
    assert outcome.x is not None
    x = np.rint(outcome.x).astype(np.int64)
    value, least = int(model.columns.cost[part] @ x), _least(model, part)
    if not tellable(model.columns.cost) or not math.isfinite(outcome.bound):
        return Found("feasible", engine, x, least)
    bound = min(value, max(least, value - int(costs[part] @ x) + unit * int(_whole_bound(outcome))))
    return Found("optimal" if bound == value else "feasible", engine, x, bound)


def _whole_bound(outcome: Outcome) -> float:
    """What a bound says of costs that are whole: the next whole number, once its own error is taken off."""
    bound = outcome.bound
    return math.ceil(bound - _ERROR * max(1.0, 1e-4 * abs(bound))) if math.isfinite(bound) else bound


def _none(outcome: Outcome, question: LinearModel, engine: str) -> Literal["infeasible", "unknown"]:
    """No point: none exists, or the limit came first."""
    if outcome.status != "infeasible":
        return "unknown"
    if float(np.abs(question.coefs).max(initial=0.0)) > LARGEST_COEFFICIENT:
        raise SolverError(
            f"{engine} finds no table, but with coefficients beyond {LARGEST_COEFFICIENT:,} its word is not enough; nothing is released"
        )
    return "infeasible"
