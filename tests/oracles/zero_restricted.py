"""Zero-restricted rounding by brute force: the least rounding of a small table and how many there are.

It reads a table's integers and equations and shares nothing else with the package: it lists the neighbouring multiples of every cell, goes through
all choices that keep every sum, and counts the cheapest.
"""

from __future__ import annotations

import math
from collections.abc import Iterable
from dataclasses import dataclass
from fractions import Fraction
from typing import Any, Literal

import numpy as np

import cellward as cw

Status = Literal["optimal", "infeasible", "refused"]


@dataclass(frozen=True, eq=False)
class Case:
    """A table to be rounded: ``base`` and ``weights`` are what ``ControlledRounding(base).protect(table, weights=weights)`` takes."""

    kind: str
    table: cw.Table
    base: Any
    weights: Any = None
    seed: int | None = None


@dataclass(frozen=True)
class Answer:
    """The truth about a case: the least Σ w·|v − a| in the user's units, and how many roundings attain it."""

    status: Status
    objective: Fraction | None = None
    optima: int = 0


def brute_force(case: Case) -> Answer:
    """Go through all choices of neighbouring multiples, one free cell after the other, dropping those that can no longer add up."""
    if refused(case):
        return Answer("refused")
    choices = neighbours(case)
    if not all(choices):
        return Answer("infeasible")
    table, (weight, weight_unit) = case.table, whole_weights(case)
    free = [i for i, own in enumerate(choices) if len(own) == 2]
    column = {i: k for k, i in enumerate(free)}
    need = np.zeros(table.relations.equations, np.int64)
    low, high = (np.zeros((len(free), len(need)), np.int64) for _ in range(2))
    for j, (rhs, members, coefs) in enumerate(equations(table)):
        need[j] = rhs - sum(c * choices[i][0] for i, c in zip(members, coefs, strict=True) if i not in column)
        for i, c in zip(members, coefs, strict=True):
            if i in column:
                low[column[i], j], high[column[i], j] = c * choices[i][0], c * choices[i][1]
    # least[k], most[k]: what the free cells from k on can still add to each equation
    least, most = (
        np.vstack((pick(low, high)[::-1].cumsum(axis=0)[::-1], np.zeros_like(need)))
        for pick in (np.minimum, np.maximum)
    )
    a = table.scaled.tolist()
    cost = np.array([sum(weight[i] * abs(choices[i][0] - a[i]) for i in range(len(a)) if i not in column)], np.int64)
    need = need[None, :]
    for k, i in enumerate(free):
        down, up = (weight[i] * abs(v - a[i]) for v in choices[i])
        need = np.concatenate((need - low[k], need - high[k]))
        cost = np.concatenate((cost + down, cost + up))
        alive = ((need >= least[k + 1]) & (need <= most[k + 1])).all(axis=1)
        need, cost = need[alive], cost[alive]
    cost = cost[(need == 0).all(axis=1)]
    if not len(cost):
        return Answer("infeasible")
    best = int(cost.min())
    return Answer("optimal", Fraction(best, weight_unit * 10**table.decimals), int((cost == best).sum()))


def refused(case: Case) -> bool:
    """Whether an equation is off the grid: no multiples of its open cells' bases can make up what right-hand side and fixed cells leave."""
    base, fixed, a = bases(case), case.table.sensitivity.fixed.tolist(), case.table.scaled.tolist()
    for rhs, members, coefs in equations(case.table):
        grid = math.gcd(*(c * base[i] for i, c in zip(members, coefs, strict=True) if not fixed[i]))
        left = rhs - sum(c * a[i] for i, c in zip(members, coefs, strict=True) if fixed[i])
        if grid and left % grid:
            return True
    return False


def neighbours(case: Case) -> list[list[int]]:
    """For every cell the values it may take, scaled: one or both multiples around it, its own value when fixed, nothing when bounds forbid both."""
    t = case.table
    columns = (x.tolist() for x in (t.scaled, t.lower, t.upper, t.sensitivity.fixed))
    return [
        [a] if fixed else [v for v in sorted({a // b * b, -(-a // b) * b}) if (lower <= v or lower > 0) and v <= upper]
        for a, lower, upper, fixed, b in zip(*columns, bases(case), strict=True)
    ]


def equations(table: cw.Table) -> Iterable[tuple[int, list[int], list[int]]]:
    return (table.relations.equation(j) for j in range(table.relations.equations))


def bases(case: Case) -> list[int]:
    several = isinstance(case.base, list | np.ndarray)
    exact = [Fraction(str(b)) * 10**case.table.decimals for b in (case.base if several else [case.base])]
    assert all(b.denominator == 1 for b in exact), f"seed {case.seed}: a base is finer than the table"
    return [int(b) for b in exact] * (1 if several else case.table.cells)


def whole_weights(case: Case) -> tuple[list[int], int]:
    """The weights as whole numbers, and what they are counted in."""
    if case.weights is None:
        return [1] * case.table.cells, 1
    if isinstance(case.weights, str):
        return case.table.weight.tolist(), 10**case.table.weight_decimals
    exact = [Fraction(str(w)) for w in case.weights]
    unit = math.lcm(*(w.denominator for w in exact))
    return [int(w * unit) for w in exact], unit
