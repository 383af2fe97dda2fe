"""All roundings of a small table, the cheapest first: its integers, its equations and the multiples that each cell may be rounded to.

Nothing of the package but the table that is read. Legend: a true values, M·a = b in ``rows``, β bases, w weights, v a rounding, s its steps.
"""

from __future__ import annotations

import math
from dataclasses import dataclass, field
from fractions import Fraction
from functools import cached_property

import numpy as np
import zero_restricted
from exact_lp import Row

import cellward as cw

MOST_ROUNDINGS, MOST_NODES = 1500, 12_000

Bound = int | None

Values = tuple[int, ...]
Rounding = tuple[int, Values]
"""Σ w·|v − a| and v."""


class TooManyError(Exception):
    """A table with more roundings than are to be listed."""


@dataclass(frozen=True, eq=False)
class Grid:
    """A table and the multiples it may be rounded to; weights in units of 1/weight_unit."""

    a: list[int]
    rows: list[Row]
    lower: list[Bound]
    upper: list[Bound]
    base: list[int]
    fixed: list[bool]
    weight: list[int]
    weight_unit: int = 1
    _listed: dict[int, list[Rounding]] = field(default_factory=dict)

    @cached_property
    def refused(self) -> bool:
        """Whether an equation is off the grid: no multiples at all can make up what its right-hand side and fixed cells leave."""
        for rhs, cells, coefs in self.rows:
            terms = list(zip(cells, coefs, strict=True))
            step = math.gcd(*(c * self.base[i] for i, c in terms if not self.fixed[i]))
            if step and (rhs - sum(c * self.a[i] for i, c in terms if self.fixed[i])) % step:
                return True
        return False

    def choices(self, s: int) -> list[list[int]]:
        """For every cell the multiples less than s bases away and inside the public bounds (a positive bound: or next below it); its own value
        when fixed."""
        out = []
        for a, b, least, high, fixed in zip(self.a, self.base, self.lower, self.upper, self.fixed, strict=True):
            low = least if least is None or least <= 0 else least // b * b
            near = [a] if fixed else [a // b * b + k * b for k in range(-s, s + 2)]
            out.append([
                v for v in near
                if fixed or (abs(v - a) < s * b and (low is None or v >= low) and (high is None or v <= high))
            ])  # fmt: skip
        return out

    def roundings(self, s: int) -> list[Rounding]:
        """All roundings with s steps, the cheapest first. Raises TooManyError."""
        if s not in self._listed:
            self._listed[s] = sorted(self._list(s))
        return self._listed[s]

    def _list(self, s: int) -> list[Rounding]:
        """Depth first, equation by equation; a choice is dropped when an equation of its cell can no longer be met."""
        choices = self.choices(s)
        if not all(choices):
            return []
        order, steps = self._order(choices)
        need = [rhs for rhs, _, _ in self.rows]
        v, found, nodes = list(self.a), [], 0
        priced = [[(x, self.weight[i] * abs(x - self.a[i])) for x in choices[i]] for i in range(len(v))]

        def descend(k: int, cost: int) -> None:
            nonlocal nodes
            if k == len(order):
                found.append((cost, tuple(v)))
                if len(found) > MOST_ROUNDINGS:
                    raise TooManyError
                return
            i, touched = order[k], steps[k]
            for x, price in priced[i]:
                nodes += 1
                if nodes > MOST_NODES:
                    raise TooManyError
                if all(least <= need[j] - c * x <= most for j, c, least, most in touched):
                    v[i] = x
                    for j, c, _, _ in touched:
                        need[j] -= c * x
                    descend(k + 1, cost + price)
                    for j, c, _, _ in touched:
                        need[j] += c * x

        if all(cells or not rhs for rhs, cells, _ in self.rows):
            descend(0, 0)
        return found

    def _order(self, choices: list[list[int]]) -> tuple[list[int], list[list[tuple[int, int, int, int]]]]:
        """The cells, those of nearly settled equations first; for each its equations, its coefficient there, and what later cells can add to them."""
        of: list[list[tuple[int, int]]] = [[] for _ in self.a]
        for j, (_, cells, coefs) in enumerate(self.rows):
            for i, c in zip(cells, coefs, strict=True):
                of[i].append((j, c))
        left = [sum(len(choices[i]) > 1 for i in cells) for _, cells, _ in self.rows]
        waiting = {i for i in range(len(self.a)) if len(choices[i]) > 1}
        order = [i for i in range(len(self.a)) if i not in waiting]
        while waiting:
            i = min(waiting, key=lambda i: (min((left[j] for j, _ in of[i]), default=0), -len(of[i]), i))
            waiting.remove(i)
            order.append(i)
            for j, _ in of[i]:
                left[j] -= 1
        steps: list[list[tuple[int, int, int, int]]] = []
        least, most = [0] * len(self.rows), [0] * len(self.rows)
        for i in reversed(order):
            steps.append([(j, c, least[j], most[j]) for j, c in of[i]])
            for j, c in of[i]:
                ends = sorted((c * choices[i][0], c * choices[i][-1]))
                least[j] += ends[0]
                most[j] += ends[1]
        return order, steps[::-1]


def grid_of(drawn: zero_restricted.Case) -> Grid:
    """A table's integers and equations."""
    t, unit = drawn.table, 10**drawn.table.decimals
    several = isinstance(drawn.base, list | np.ndarray)
    bases = [Fraction(str(b)) * unit for b in (drawn.base if several else [drawn.base] * t.cells)]
    assert all(b.denominator == 1 for b in bases)
    if isinstance(drawn.weights, str):
        weights = [Fraction(w, 10**t.weight_decimals) for w in t.weight.tolist()]
    else:
        weights = [Fraction(str(w)) for w in drawn.weights or [1] * t.cells]
    weight_unit = math.lcm(*(w.denominator for w in weights))
    lower, upper = ([None if abs(x) == cw.exact.NO_BOUND else x for x in ends.tolist()] for ends in (t.lower, t.upper))
    rows = [
        (rhs, list(cells), list(coefs)) for rhs, cells, coefs in map(t.relations.equation, range(t.relations.equations))
    ]
    return Grid(
        t.scaled.tolist(), rows, lower, upper, [int(b) for b in bases], t.sensitivity.fixed.tolist(),
        [int(w * weight_unit) for w in weights], weight_unit,
    )  # fmt: skip
