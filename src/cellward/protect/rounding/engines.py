"""Engines for zero-restricted rounding, the cheapest exact one first: minimum-cost flow, a vertex of the linear relaxation, branch and bound.

Which one is taken depends on the instance alone, so that the same input always gives the same answer.
"""

from __future__ import annotations

import math
from dataclasses import dataclass
from typing import Literal

import numpy as np
from numpy.typing import NDArray

from cellward.errors import SolverError
from cellward.protect.method import Clock, Limits
from cellward.protect.rounding.model import RoundingModel
from cellward.solve.ask import ask
from cellward.solve.flow import solve_flow
from cellward.solve.highs import solve_lp, solve_mip
from cellward.solve.model import FlowModel, LinearModel
from cellward.solve.outcome import Outcome
from cellward.table.network import Network
from cellward.table.relations import ranges

Ints = NDArray[np.int64]
Bools = NDArray[np.bool_]

FLOW_FROM = 4000
"""Free cells from which a network goes to the flow solver's process; below, HiGHS answers before that process would have started."""

WIDEST = 10**9
"""Costs whose spread is wider than this cannot be told apart by HiGHS' tolerances: its word that a table is optimal is then not taken."""

LARGEST_COEFFICIENT = 10**6
"""Equations with larger coefficients cannot be told apart from their neighbours either: its word that no table exists is then not taken."""

_WHOLE = 1e-6
"""An x this near to 0 or 1 is taken for it; the table made of it is checked exactly."""


@dataclass(frozen=True, eq=False)
class Found:
    """An engine's answer: x on all cells, and a lower bound on cost·x over the free cells in the cost's own units."""

    status: Literal["optimal", "feasible", "infeasible", "unknown"]
    engine: str
    x: Bools | None = None
    bound: int | None = None
    multipliers: NDArray[np.float64] | None = None
    """The root's duals, one an equation, as cost per unit of v: a hint at a proof."""


def solve(model: RoundingModel, limits: Limits) -> Found:
    """Choose the engine by structure and size, and run it."""
    if not model.free.any():
        return Found("optimal", "nothing to decide", np.zeros(len(model.free), bool), 0)
    clock = Clock(limits)
    network = model.instance.relations.network if model.one_step else None
    if network is not None and (int(model.free.sum()) >= FLOW_FROM or not _tellable(model.cost[model.free])):
        return _flow(model, network, clock)
    kept = _independent(model) if network is None else network.equations
    return _relaxation(model, kept, limits, clock)


def _tellable(cost: Ints) -> bool:
    """Whether HiGHS' tolerances can tell costs apart: the largest of them, in units of their common divisor, is not too large."""
    return int(np.abs(cost).max(initial=0)) // _unit(cost) <= WIDEST


def _flow(model: RoundingModel, network: Network, clock: Clock) -> Found:
    """Minimum-cost flow of the flips away from the nearest choice: all costs ≥ 0, and only what fails to add up has to move."""
    nearest = model.nearest & model.free
    arc = np.flatnonzero(model.free & (network.tail >= 0))
    flipped = nearest[arc]
    tail = np.where(flipped, network.head[arc], network.tail[arc])
    head = np.where(flipped, network.tail[arc], network.head[arc])
    need = np.zeros(network.nodes, np.int64)
    rest, common = model.rest[network.equations], model.common[network.equations]
    need[:-1] = network.sign * (rest // np.maximum(common, 1))
    up = arc[flipped]
    need -= np.bincount(network.head[up], minlength=network.nodes) - np.bincount(
        network.tail[up], minlength=network.nodes
    )
    need[-1] = -int(need[:-1].sum())
    cost = np.abs(model.cost[arc])
    unit = _unit(cost)
    flow = FlowModel(tail=tail, head=head, capacity=np.ones(len(arc), np.int64), cost=cost // unit, supply=-need)
    outcome = ask(solve_flow, flow, columns=len(arc), time_limit_s=clock.left)
    if outcome.x is None:
        return Found("unknown" if outcome.status == "unknown" else "infeasible", "minimum-cost flow")
    x = nearest.copy()
    x[arc] ^= outcome.x > 0.5
    return Found("optimal", "minimum-cost flow", x, int(model.cost[x & model.free].sum()))


def _independent(model: RoundingModel) -> Ints:
    """The equations that are left without the implied ones."""
    relations = model.instance.relations
    keep = np.ones(relations.equations, bool)
    keep[relations.redundant] = False
    return np.flatnonzero(keep)


def _relaxation(model: RoundingModel, equations: Ints, limits: Limits, clock: Clock) -> Found:
    """A vertex of the linear relaxation; where it is whole it is optimal, and each block where it is not goes to branch and bound."""
    free = np.flatnonzero(model.free)
    linear, unit, used = _linear(model, equations, free, model.cost)
    outcome = ask(
        solve_lp, linear, columns=len(free), rows=len(used), time_limit_s=clock.left, threads=limits.threads,
        seed=limits.seed,
    )  # fmt: skip
    if outcome.x is None:
        return _none(outcome, linear, "HiGHS LP")
    multipliers = np.zeros(model.instance.relations.equations)
    if outcome.row_duals is not None:
        multipliers[used] = outcome.row_duals * unit / model.common[used]
    x = np.zeros(len(model.free), bool)
    x[free] = outcome.x > 0.5
    if outcome.status == "feasible":  # stopped at the limit before the vertex was optimal
        return Found("unknown", "HiGHS LP")
    broken = np.abs(outcome.x - np.rint(outcome.x)) > _WHOLE
    if not broken.any():
        value, bound = _value_and_bound(model, free, x)
        return Found("optimal" if bound == value else "feasible", "HiGHS LP", x, bound, multipliers)
    block = model.instance.relations.blocks(model.free)[free]
    split = np.unique(block[broken])
    costs = leaf_costs(model)
    value, bound = _value_and_bound(model, free[~np.isin(block, split)], x)
    for label in split.tolist():
        part = free[block == label]
        found = _branch(model, equations, part, costs, limits, clock)
        if found.x is None or found.bound is None:
            return found
        x[part] = found.x
        value += int(model.cost[part[found.x]].sum())
        bound += found.bound
    return Found("optimal" if bound == value else "feasible", "HiGHS MIP", x, bound, multipliers)


def _value_and_bound(model: RoundingModel, part: Ints, x: Bools) -> tuple[int, int]:
    """The cost of a whole vertex on a union of blocks, and what it proves: itself, or only the cheapest choices where costs cannot be told apart."""
    value = int(model.cost[part[x[part]]].sum())
    return value, value if _tellable(model.cost[model.free]) else _least(model, part)


def _least(model: RoundingModel, part: Ints) -> int:
    """The cost of the cheapest choice cell by cell: no table costs less."""
    return int(np.minimum(model.cost[part], 0).sum())


def _branch(model: RoundingModel, equations: Ints, part: Ints, costs: Ints, limits: Limits, clock: Clock) -> Found:
    """Branch and bound on one block; its objective moves in whole units, so a gap below one is no gap."""
    linear, unit, _ = _linear(model, equations, part, costs)
    outcome = ask(
        solve_mip, linear, columns=len(part), time_limit_s=clock.left, threads=limits.threads, seed=limits.seed,
        absolute_gap=1 - 1e-3,
    )  # fmt: skip
    if outcome.x is None:
        return _none(outcome, linear, "HiGHS MIP")
    x = outcome.x > 0.5
    value, least = int(model.cost[part[x]].sum()), _least(model, part)
    if not _tellable(model.cost[model.free]) or not math.isfinite(outcome.bound):
        return Found("feasible", "HiGHS MIP", x, least)
    if outcome.status == "optimal":
        return Found("optimal", "HiGHS MIP", x, value)
    units = math.ceil(outcome.bound - 1e-6 * max(1.0, abs(outcome.bound)))
    bound = min(value, max(least, value - int(costs[part[x]].sum()) + unit * units))
    return Found("feasible", "HiGHS MIP", x, bound)


def _none(outcome: Outcome, linear: LinearModel, engine: str) -> Found:
    """No point: none exists, or the limit came first."""
    if outcome.status != "infeasible":
        return Found("unknown", engine)
    if float(np.abs(linear.coefs).max(initial=0.0)) > LARGEST_COEFFICIENT:
        raise SolverError(
            f"{engine} finds no table, but with coefficients beyond {LARGEST_COEFFICIENT:,} its word is not enough; nothing is released"
        )
    return Found("infeasible", engine)


def leaf_costs(model: RoundingModel) -> Ints:
    """Costs on the leaves alone that differ from ``model.cost`` by a constant over all roundings of a block, when their common divisor is larger.

    With one step r everywhere, Σ cost·x = Σ c·(v − lo)/r for any c that agrees with cost on the free cells; and v = N·u + const turns that into
    Σ (Nᵀ·c)·x over the leaves, up to a constant. A margin repeats its leaves, so Nᵀ·c has large divisors where cost has none: with all margins of a
    k-dimensional table and an odd base, at least 2. Bounds then round up further, and branch and bound stops earlier.
    """
    r = model.r[model.free]
    form = model.instance.relations.leaf_form
    if not model.one_step or int(r.min()) != int(r.max()) or form.condition.shape[0]:
        return model.cost
    full = np.where(model.free, model.cost, model.instance.weight * r[0])
    if float((np.abs(form.matrix).T @ np.abs(full).astype(float)).max(initial=0.0)) >= 2**62:
        return model.cost
    out = np.zeros(model.instance.cells, np.int64)
    out[form.leaves] = form.matrix.T @ full
    better = _unit(out[model.free]) > _unit(model.cost[model.free]) and _tellable(out[model.free])
    return out if better else model.cost


def _unit(cost: Ints) -> int:
    """The greatest common divisor of the costs, at least 1."""
    return max(int(np.gcd.reduce(cost)), 1) if len(cost) else 1


def _linear(model: RoundingModel, equations: Ints, part: Ints, costs: Ints) -> tuple[LinearModel, int, Ints]:
    """The linear model of some free cells (a union of blocks) in small whole numbers, the unit of its cost, and the equations of its rows."""
    relations = model.instance.relations
    column = np.full(relations.cells, -1, np.int64)
    column[part] = np.arange(len(part))
    pick = ranges(relations.indptr[equations], relations.indptr[equations + 1])
    row = np.repeat(np.arange(len(equations)), relations.indptr[equations + 1] - relations.indptr[equations])
    inside = column[relations.indices[pick]] >= 0
    pick, row = pick[inside], row[inside]
    used, new_row = np.unique(row, return_inverse=True)
    common = model.common[equations[used]]
    coefs = relations.coefs[pick] * model.r[relations.indices[pick]] // common[new_row]
    right = (model.rest[equations[used]] // common).astype(float)
    cost = costs[part]
    unit = _unit(cost)
    ones = np.ones(len(part))
    return (
        LinearModel(
            cost=(cost // unit).astype(float),
            lower=np.zeros(len(part)),
            upper=ones,
            indptr=np.concatenate(([0], np.cumsum(np.bincount(new_row, minlength=len(used))))).astype(np.int64),
            indices=column[relations.indices[pick]],
            coefs=coefs.astype(float),
            row_lower=right,
            row_upper=right,
            integer=ones > 0,
        ),
        unit,
        equations[used],
    )
