"""OR-tools' minimum-cost flow: exact in integers, solved in the worker process (see worker.py)."""

from __future__ import annotations

from dataclasses import replace
from pathlib import Path
from time import perf_counter
from typing import Final

import numpy as np

from cellward.errors import SolverError
from cellward.exact import Bools, Ints
from cellward.solve import worker
from cellward.solve.budget import Budget
from cellward.solve.model import FlowModel
from cellward.solve.outcome import Outcome, Status

STATUSES: Final[dict[str, Status]] = {"OPTIMAL": "optimal", "INFEASIBLE": "infeasible"}
"""The words of OR-tools that are answers."""

FAILURES: Final[dict[str, str]] = {
    "NOT_SOLVED": "it did not solve the model",
    "FEASIBLE": "it stopped before the optimum",
    "UNBALANCED": "the supplies do not sum to 0",
    "BAD_RESULT": "it reports an internal error",
    "BAD_COST_RANGE": "the costs are too large for its 64-bit integers; divide them",
    "BAD_CAPACITY_RANGE": "the capacities are too large for its 64-bit integers; lower them",
}
"""The words of OR-tools that are not, in ours."""

CLAIMS: Final = "where it claims"
"""How we say that a cost is not what OR-tools states, as where it is beyond 64 bits."""

LARGEST_INDEX: Final = 2**31 - 1
LARGEST_EXACT: Final = 2**53
"""Every whole number up to here is a float64."""


def solve_flow(model: FlowModel, *, budget: Budget | None = None, crash_dir: Path | None = None) -> Outcome:
    """Solve the flow in the worker process; ``seconds`` is the whole round trip, the worker's start included.

    At the time limit the worker is killed and the answer is ``unknown``. When OR-tools crashes, the instance is saved
    in ``crash_dir``, if that is given, and a SolverError names the file.

    >>> import numpy as np
    >>> one, cost, supply = np.array([1, 1]), np.array([3, 2]), np.array([1, -1])
    >>> model = FlowModel(tail=one - 1, head=one, capacity=one, cost=cost, supply=supply)
    >>> outcome = solve_flow(model)
    >>> outcome.status, outcome.x.tolist(), outcome.objective
    ('optimal', [0.0, 1.0], 2.0)
    """
    began = perf_counter()
    limit = None if budget is None else budget.left
    outcome = worker.call(solve_flow_here, model, time_limit_s=limit, crash_dir=crash_dir, budget=budget)
    return replace(outcome, seconds=perf_counter() - began)


def solve_flow_here(model: FlowModel) -> Outcome:
    """Solve the flow in this process, which must not have loaded highspy."""
    began = perf_counter()
    _check(model)
    if model.arcs == 0:
        return _without_arcs(model, began)

    import ortools
    from ortools.graph.python import min_cost_flow

    solver = f"OR-tools {ortools.__version__} min-cost flow"
    problem = min_cost_flow.SimpleMinCostFlow()
    arcs = problem.add_arcs_with_capacity_and_unit_cost(
        model.tail.astype(np.int32), model.head.astype(np.int32), model.capacity, model.cost
    )
    problem.set_nodes_supplies(np.arange(model.nodes, dtype=np.int32), model.supply)
    word = problem.solve().name
    if word not in STATUSES:
        reason = FAILURES.get(word, f"it stopped with the unknown status {word}")
        raise SolverError(f"{solver} gave no answer on {_size(model)}: {reason}.")
    if STATUSES[word] == "infeasible":
        return Outcome(status="infeasible", seconds=perf_counter() - began, solver=solver)

    flow = np.asarray(problem.flows(arcs), np.int64)
    violation = residual(model, flow)
    objective = _cost_of(model, flow)
    if violation != 0 or objective != problem.optimal_cost():
        raise SolverError(
            f"{solver} says optimal on {_size(model)}, but its flow violates the model by {violation} "
            f"and costs {objective} {CLAIMS} {problem.optimal_cost()}; solve the model as an LP instead."
        )
    return Outcome(
        status="optimal",
        x=flow.astype(np.float64),
        objective=float(objective),
        bound=float(objective),
        residual=0.0,
        seconds=perf_counter() - began,
        solver=solver,
    )


def least_circulation(tail: Ints, head: Ints, cost: Ints, nodes: int) -> Bools:
    """Which of these arcs, each used at most once, make up the cheapest circulation; in this process, which must not have loaded highspy.

    Arcs that pay (cost below 0) are taken at once, and offered backwards: what is left is a flow at costs ≥ 0.
    """
    from ortools.graph.python import min_cost_flow

    paying = cost < 0
    start, stop = np.where(paying, head, tail), np.where(paying, tail, head)
    supply = np.bincount(start[paying], minlength=nodes) - np.bincount(stop[paying], minlength=nodes)
    problem = min_cost_flow.SimpleMinCostFlow()
    arcs = problem.add_arcs_with_capacity_and_unit_cost(start, stop, np.ones(len(cost), np.int64), np.abs(cost))
    problem.set_nodes_supplies(np.arange(nodes, dtype=np.int32), supply)
    if problem.solve() != problem.OPTIMAL:
        raise SolverError(f"OR-tools found no circulation on {nodes} nodes, where standing still is one.")
    used: Bools = (problem.flows(arcs) > 0) != paying
    return used


def residual(model: FlowModel, flow: Ints) -> int:
    """Largest violation of conservation and capacity, in exact integers (0 when there is none)."""
    least, most = int(flow.min(initial=0)), int(flow.max(initial=0))
    if least < -LARGEST_EXACT or most > LARGEST_EXACT:
        raise SolverError(f"A flow on {_size(model)} exceeds 2^53, the last exact whole float; lower the capacities.")
    used = np.flatnonzero(flow)
    moved = flow[used]
    # Sums that might leave 64 bits are done in Python's own integers.
    sums_fit = float(np.abs(moved).sum(dtype=np.float64)) < 2.0**62
    kind = np.int64 if sums_fit else object
    excess = -model.supply.astype(kind)
    np.add.at(excess, model.tail[used], moved.astype(kind))
    np.subtract.at(excess, model.head[used], moved.astype(kind))
    gaps = (np.abs(excess), flow - model.capacity)
    return max(0, -least, *(int(gap.max()) for gap in gaps if gap.size))


def _cost_of(model: FlowModel, flow: Ints) -> int:
    """Cost of the flow as an exact integer."""
    largest = max(abs(int(model.cost.min())), abs(int(model.cost.max())))
    if largest * float(np.abs(flow).sum(dtype=np.float64)) < 2.0**62:
        return int(model.cost @ flow)
    return sum(int(c) * int(x) for c, x in zip(model.cost, flow, strict=True))


def _without_arcs(model: FlowModel, began: float) -> Outcome:
    if np.any(model.supply != 0):
        return Outcome(status="infeasible", seconds=perf_counter() - began, solver="no arcs")
    seconds = perf_counter() - began
    return Outcome(
        status="optimal", x=np.zeros(0), objective=0.0, bound=0.0, residual=0.0, seconds=seconds, solver="no arcs"
    )


def _check(model: FlowModel) -> None:
    """Refuse what OR-tools answers with an abort of the whole process."""
    for name in ("tail", "head", "capacity", "cost", "supply"):
        array, wanted = getattr(model, name), (model.nodes if name == "supply" else model.arcs,)
        if array.shape != wanted or array.dtype != np.int64:
            raise SolverError(f"The flow's {name} must be int64 of shape {wanted}, not {array.dtype} of {array.shape}.")
    if max(model.arcs, model.nodes) > LARGEST_INDEX:
        raise SolverError(f"A flow on {_size(model)} exceeds OR-tools' 32-bit indices; split it.")
    if model.arcs:
        ends = (model.tail.min(), model.head.min(), model.tail.max(), model.head.max())
        if min(ends) < 0 or max(ends) >= model.nodes:
            raise SolverError(
                f"The flow's arcs must join nodes 0 to {model.nodes - 1}, not {min(ends)} to {max(ends)}."
            )
        if model.capacity.min() < 0:
            raise SolverError(f"Arc {int(model.capacity.argmin())} of the flow has a negative capacity.")
    balance = sum(map(int, model.supply.tolist()))
    if balance != 0:
        raise SolverError(f"The flow's supplies sum to {balance}; they must sum to 0.")


def _size(model: FlowModel) -> str:
    return f"{model.nodes} nodes and {model.arcs} arcs"
