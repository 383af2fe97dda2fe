"""Widths: how far ranges must reach below and above each value so that every level holds: a linear program by cutting planes.

Legend: b, t ≥ 0 how far a range reaches below and above; M·z = 0 the moves of a table; for attacker k −min(b, l) ≤ z ≤ min(t, u), where l and u are
how far he takes cells to reach anyway. A requirement is max z_p ≥ upl, −min z_p ≥ lpl, or both together ≥ spl. For multipliers π and c = e_p − Mᵀπ
every such z has z_p = Σ c·z ≤ Σ c⁺·min(t, u) + c⁻·min(b, l): a cut on b and t, linear once a side is chosen for each minimum.
"""

from __future__ import annotations

from collections.abc import Iterator
from dataclasses import dataclass

import numpy as np

from cellward.exact import NO_BOUND, Bools, Floats, Ints
from cellward.instance import Instance
from cellward.solve.ask import ask
from cellward.solve.budget import Budget
from cellward.solve.highs import solve_lp
from cellward.solve.model import LinearModel

HAIR, ROUNDS = 1e-6, 200
ENGINE = "cutting planes (HiGHS)"


@dataclass(frozen=True, eq=False)
class Widths:
    """``below`` and ``above``: the widths, None where nothing was found; ``bound``: no widths cost less, by the solver's word."""

    status: str
    engine: str = ENGINE
    below: Floats | None = None
    above: Floats | None = None
    bound: float = 0.0
    late: bool = False
    reason: str = ""


@dataclass(frozen=True, eq=False)
class _Need:
    """What must be kept from an attacker in one cell: its room, and the level in a sense: 1 up, −1 down, 0 both together."""

    attacker: str
    below: Floats
    above: Floats
    cell: int
    sense: int
    level: float


def least_widths(instance: Instance, candidate: Bools, budget: Budget) -> Widths:
    """The least Σ w·(b + t) that meets every level as real numbers; ``candidate``: the table's cells, behind which sums are ranges at no cost."""
    n, own = instance.cells, len(candidate)
    free = np.concatenate((candidate, np.ones(n - own, bool)))
    sums = np.arange(n) >= own
    most_below = np.where(sums, np.inf, np.where(free, _room(instance.a - instance.lower, instance.lower), 0.0))
    most_above = np.where(sums, np.inf, np.where(free, _room(instance.upper - instance.a, instance.upper), 0.0))
    needs = list(_needs(instance))
    weight = np.where(sums, 0.0, instance.weight.astype(float))
    cost = np.concatenate((weight, weight))
    below, above = np.where(sums, np.inf, 0.0), np.where(sums, np.inf, 0.0)
    rows: list[tuple[Floats, float]] = []
    bound = 0.0
    for _ in range(ROUNDS):
        missed = 0
        for need in needs:
            if budget.over:
                return Widths("unknown", late=True)
            cut = _cut(instance, need, below, above, budget)
            if cut is None:
                continue
            missed += 1
            rows.append(cut)
            if cut[0] @ np.where(cut[0] > 0, np.concatenate((most_below, most_above)), 0.0) < cut[1] - HAIR:
                name = instance.labels.name(need.cell)
                return Widths(
                    "infeasible",
                    reason=f"{name}: no ranges keep attacker {need.attacker} as far away as its level asks, even with every cell a range that may be",
                )
        if not missed:
            return Widths("feasible", below=below, above=above, bound=bound)
        solved = _master(rows, cost, np.concatenate((most_below, most_above)), sums, budget)
        if solved is None:
            return Widths("unknown", late=budget.over)
        x, bound = solved
        below, above = x[:n], x[n:]
    return Widths("unknown")


def _room(far: Ints, bounds: Ints) -> Floats:
    return np.where(np.abs(bounds) == NO_BOUND, np.inf, far.astype(float))


def _needs(instance: Instance) -> Iterator[_Need]:
    for attacker in instance.attackers:
        lower, upper = attacker.narrow(instance.lower, instance.upper)
        below, above = _room(instance.a - lower, lower), _room(upper - instance.a, upper)
        asked = attacker.asked(instance.sensitivity.levels)
        columns = (asked.cell.tolist(), asked.lpl.tolist(), asked.upl.tolist(), asked.spl.tolist())
        for i, lpl, upl, spl in zip(*columns, strict=True):
            for sense, level in ((1, upl), (-1, lpl), (0, spl if spl > lpl + upl else 0)):
                if level:
                    yield _Need(attacker.name, below, above, i, sense, float(level))


def _cut(instance: Instance, need: _Need, below: Floats, above: Floats, budget: Budget) -> tuple[Floats, float] | None:
    """The cut that these widths miss; None where the requirement is met."""
    ways = (1, -1) if need.sense == 0 else (need.sense,)
    reached, coefs, constant = 0.0, np.zeros(2 * instance.cells), 0.0
    for way in ways:
        value, c = _reach(instance, need, way, below, above, budget)
        reached += value
        if np.isinf(value):
            return None
        for side, widths, room, part in (
            (0, below, need.below, np.maximum(-c, 0.0)),
            (instance.cells, above, need.above, np.maximum(c, 0.0)),
        ):
            by_width = (widths < room - HAIR) | np.isinf(room)
            coefs[side : side + instance.cells] += np.where(by_width, part, 0.0)
            constant += float((part * np.where(by_width, 0.0, room))[part > 0].sum())
    if reached >= need.level - HAIR * max(1.0, need.level):
        return None
    coefs[np.abs(coefs) < 1e-9] = 0.0
    return coefs, need.level - constant


def _reach(
    instance: Instance, need: _Need, way: int, below: Floats, above: Floats, budget: Budget
) -> tuple[float, Floats]:
    """How far cell p moves that way inside these widths, and c = way·e_p − Mᵀπ."""
    r, n = instance.relations, instance.cells
    cost = np.zeros(n)
    cost[need.cell] = -way
    model = LinearModel(
        cost=cost,
        lower=-np.minimum(below, need.below),
        upper=np.minimum(above, need.above),
        indptr=r.indptr,
        indices=r.indices,
        coefs=r.coefs.astype(float),
        row_lower=np.zeros(r.equations),
        row_upper=np.zeros(r.equations),
    )
    found = ask(solve_lp, model, columns=n, rows=r.equations, budget=budget)
    if found.x is None or found.row_duals is None:
        return np.inf, cost
    c = -(cost - np.bincount(r.indices, r.coefs * found.row_duals[r.row], minlength=n))
    return -found.objective, c


def _master(
    rows: list[tuple[Floats, float]], cost: Floats, most: Floats, sums: Bools, budget: Budget
) -> tuple[Floats, float] | None:
    """The least widths that keep every cut so far, and what they cost."""
    used = [np.flatnonzero(coefs) for coefs, _ in rows]
    model = LinearModel(
        cost=cost,
        lower=np.zeros(len(cost)),
        upper=most,
        indptr=np.concatenate(([0], np.cumsum([len(one) for one in used]))).astype(np.int64),
        indices=np.concatenate(used).astype(np.int64),
        coefs=np.concatenate([coefs[one] for one, (coefs, _) in zip(used, rows, strict=True)]),
        row_lower=np.array([least for _, least in rows]),
        row_upper=np.full(len(rows), np.inf),
    )
    found = ask(solve_lp, model, columns=model.columns, rows=model.rows, budget=budget)
    if found.x is None or found.status != "optimal":
        return None
    both = np.concatenate((sums, sums))
    return np.where(both, np.inf, np.clip(found.x, 0.0, most)), float(found.objective)
