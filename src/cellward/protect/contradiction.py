"""Contradiction: ends of cells and equations that no table can meet together, proven in whole numbers (Farkas), with no end among them too many.

Legend: M·z = b the equations, lo ≤ z ≤ hi the room, λ whole multipliers, g = Mᵀλ. Every table has g·z = λ·b; where the most that g·z can be within
the room is less, there is none. The ends that the sum needs are hi where g > 0 and lo where g < 0.
"""

from __future__ import annotations

from collections.abc import Callable, Iterable
from dataclasses import dataclass

import numpy as np

from cellward.errors import SolverError
from cellward.exact import NO_BOUND, Floats, Ints
from cellward.protect.whole_multiples import NOT_ZERO, whole_multiples
from cellward.solve.ask import ask
from cellward.solve.budget import Budget
from cellward.solve.highs import solve_lp
from cellward.solve.model import LinearModel
from cellward.table.relations import Relations

LOW, HIGH = -1, 1
End = tuple[int, int]
"""A cell, and which end of its room: LOW or HIGH."""
FEASIBLE = 1e-6
"""Equations that are missed by less than this in all are not missed."""


@dataclass(frozen=True, eq=False)
class Contradiction:
    """Whole multipliers λ of equations, and the ends of cells that they contradict."""

    equation: Ints
    multiplier: tuple[int, ...]
    ends: frozenset[End]


def contradiction(relations: Relations, lo: Ints, hi: Ints, budget: Budget | None = None) -> Contradiction | None:
    """Why no table, fractions included, lies in the room; None where one does, or where nothing is proven."""
    if len(empty := np.flatnonzero(lo > hi)):
        i = int(empty[0])
        return Contradiction(np.zeros(0, np.int64), (), frozenset({(i, LOW), (i, HIGH)}))
    found = nearest_to(relations, lo, hi, budget)
    if found is None or found.missed <= FEASIBLE:
        return None
    prices = found.prices
    used = np.flatnonzero(np.abs(prices) > NOT_ZERO * float(np.abs(prices).max(initial=0.0)))
    if not len(used):
        return None
    part = relations.take(used)
    for multiplier in whole_multiples(prices[used]):
        for sign in (1, -1):
            if (ends := leans_on(part, sign * multiplier, lo, hi)) is not None:
                return Contradiction(used, tuple((sign * multiplier).tolist()), ends)
    return None


def leans_on(relations: Relations, multiplier: Ints, lo: Ints, hi: Ints) -> frozenset[End] | None:
    """The ends that these multipliers contradict; None where they prove nothing. In Python's whole numbers."""
    g: dict[int, int] = {}
    most = 0
    for j, times in enumerate(multiplier.tolist()):
        if times:
            rhs, cells, coefs = relations.equation(j)
            most -= times * rhs
            for i, c in zip(cells, coefs, strict=True):
                g[i] = g.get(i, 0) + times * c
    ends = set()
    for i, x in g.items():
        if not x:
            continue
        end = int(hi[i] if x > 0 else lo[i])
        if abs(end) >= NO_BOUND:
            return None
        most += x * end
        ends.add((i, HIGH if x > 0 else LOW))
    return frozenset(ends) if most < 0 else None


@dataclass(frozen=True, eq=False)
class Nearest:
    """A point of the room that misses the equations by the least in all, by how much, and the prices of the equations."""

    point: Floats
    missed: float
    prices: Floats


def nearest_to(relations: Relations, lo: Ints, hi: Ints, budget: Budget | None = None) -> Nearest | None:
    """What of the room comes nearest to the equations, by a linear program; None: no answer. The room must not be empty."""
    m = relations.equations
    used, column = np.unique(relations.indices, return_inverse=True)
    k = len(used)
    row = np.concatenate((relations.row, np.arange(m), np.arange(m)))
    at = np.concatenate((column.ravel(), k + np.arange(m), k + m + np.arange(m)))
    coef = np.concatenate((relations.coefs.astype(float), np.ones(m), -np.ones(m)))
    order = np.lexsort((at, row))
    lower = np.where(lo[used] <= -NO_BOUND, -np.inf, lo[used].astype(float))
    upper = np.where(hi[used] >= NO_BOUND, np.inf, hi[used].astype(float))
    right = relations.rhs.astype(float)
    model = LinearModel(
        cost=np.concatenate((np.zeros(k), np.ones(2 * m))),
        lower=np.concatenate((lower, np.zeros(2 * m))),
        upper=np.concatenate((upper, np.full(2 * m, np.inf))),
        indptr=np.concatenate(([0], np.cumsum(np.bincount(row, minlength=m)))).astype(np.int64),
        indices=at[order].astype(np.int64),
        coefs=coef[order],
        row_lower=right,
        row_upper=right,
    )
    try:
        outcome = ask(solve_lp, model, columns=model.columns, rows=m, budget=budget or Budget())
    except SolverError:
        return None
    if outcome.status != "optimal" or outcome.x is None or outcome.row_duals is None:
        return None
    point = np.clip(0.0, lo.astype(float), hi.astype(float))
    point[used] = outcome.x[:k]
    return Nearest(point, outcome.objective, outcome.row_duals)


Prove = Callable[[frozenset[End]], "frozenset[End] | None"]
"""Given ends, those among them that a proof leans on that no table meets them all; None where there is none."""


def irreducible(
    first: frozenset[End], prove: Prove, order: Iterable[End], budget: Budget | None = None
) -> frozenset[End]:
    """Ends that contradict each other of which none can be left out, as far as is proven (a deletion filter); the first of the order are left out
    first."""
    ends = first
    for end in order:
        if end not in ends:
            continue
        if budget is not None and budget.over:
            break
        if (fewer := prove(ends - {end})) is not None:
            ends = fewer
    return ends


def within(
    relations: Relations,
    lo: Ints,
    hi: Ints,
    found: Contradiction,
    order: Callable[[End], tuple[int, ...]],
    budget: Budget,
) -> Contradiction:
    """A contradiction without the ends it can do without, looked at in this order, among the equations that it leans on."""
    best = found

    def prove(ends: frozenset[End]) -> frozenset[End] | None:
        nonlocal best
        less = contradiction(relations.take(best.equation), *only(ends, lo, hi), budget)
        if less is None:
            return None
        best = Contradiction(best.equation[less.equation], less.multiplier, less.ends)
        return best.ends

    irreducible(found.ends, prove, sorted(found.ends, key=order), budget)
    return best


def only(ends: Iterable[End], lo: Ints, hi: Ints) -> tuple[Ints, Ints]:
    """The room that these ends alone leave."""
    low, high = np.full_like(lo, -NO_BOUND), np.full_like(hi, NO_BOUND)
    for i, side in ends:
        if side == LOW:
            low[i] = lo[i]
        else:
            high[i] = hi[i]
    return low, high
