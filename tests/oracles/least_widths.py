"""Least widths: how little ranges that keep every level can cost, by one linear program of all attackers at once; nothing of the package.

Legend: b, t ≥ 0 how far the range of a cell reaches below and above its value; for every requirement moves z with M·z = 0, −b ≤ z ≤ t within the
attacker's bounds that reach its level. HiGHS proposes both a point and prices; as fractions they are checked exactly, the point by every row, the
prices by the bound that they prove. Where the two meet, that is the optimum.
"""

from __future__ import annotations

from collections.abc import Sequence
from dataclasses import dataclass, field
from fractions import Fraction

import numpy as np
from scipy.optimize import linprog
from scipy.sparse import csr_matrix

Bound = int | None
Rows = Sequence[tuple[int, dict[int, int]]]
"""Equations: right-hand side, coefficients by cell."""
DENOMINATORS = (1, 2, 12, 840, 10**4, 10**6)


@dataclass(frozen=True)
class Asker:
    """An attacker: bounds on all cells, and (cell, lpl, upl, spl) of what must be kept from him."""

    lower: Sequence[Bound]
    upper: Sequence[Bound]
    levels: Sequence[tuple[int, int, int, int]]


@dataclass
class Least:
    """The optimum: ``value`` exact where ``exact``, else HiGHS' word; None: there are no such ranges."""

    value: Fraction | None
    exact: bool
    widths: list[Fraction] = field(default_factory=list)


class _Program:
    """min cost·x, rows x = right (or ≥ right), low ≤ x ≤ high."""

    def __init__(self) -> None:
        self.cost: list[int] = []
        self.low: list[Bound] = []
        self.high: list[Bound] = []
        self.rows: list[tuple[dict[int, int], int, bool]] = []

    def column(self, cost: int, low: Bound, high: Bound) -> int:
        self.cost.append(cost)
        self.low.append(low)
        self.high.append(high)
        return len(self.cost) - 1

    def solve(self) -> Least:
        size = len(self.cost)
        parts = [[row for row in self.rows if row[2] is equal] for equal in (True, False)]
        made = [_matrix([row for row, _, _ in part], size) for part in parts]
        right = [[x for _, x, _ in part] for part in parts]
        for method in ("highs-ds", "highs-ipm"):  # one of them ends without a word now and then
            found = linprog(
                self.cost, A_eq=made[0], b_eq=right[0], A_ub=-made[1], b_ub=[-x for x in right[1]],
                bounds=list(zip(self.low, self.high, strict=True)), method=method,
            )  # fmt: skip
            if found.status in (0, 2):
                break
        if found.status != 0:  # none, or neither method says: nothing is known exactly then
            return Least(None, exact=False)
        prices = np.concatenate((found.eqlin.marginals, -found.ineqlin.marginals))
        rows = [*parts[0], *parts[1]]
        above, below, point = None, None, []
        for d in DENOMINATORS:
            x = [Fraction(round(float(y) * d), d) for y in found.x]
            if above is None and self._keeps(x):
                above, point = sum((c * y for c, y in zip(self.cost, x, strict=True) if c), Fraction(0)), x
            proven = self._proven(rows, [Fraction(round(float(y) * d), d) for y in prices])
            below = proven if below is None or (proven is not None and proven > below) else below
            if above is not None and above == below:
                return Least(above, exact=True, widths=point)
        return Least(Fraction(found.fun), exact=False)

    def _keeps(self, x: list[Fraction]) -> bool:
        inside = all(
            (p is None or p <= y) and (q is None or y <= q) for y, p, q in zip(x, self.low, self.high, strict=True)
        )
        return inside and all(
            (total == right if equal else total >= right)
            for row, right, equal in self.rows
            for total in [sum((c * x[j] for j, c in row.items()), Fraction(0))]
        )

    def _proven(self, rows: list[tuple[dict[int, int], int, bool]], prices: list[Fraction]) -> Fraction | None:
        """What prices prove of the cost of all x: prices·right plus what is left of each column at its better bound."""
        left = [Fraction(c) for c in self.cost]
        total = Fraction(0)
        for (row, right, equal), y in zip(rows, prices, strict=True):
            y = y if equal else max(y, Fraction(0))
            if y:
                total += y * right
                for j, c in row.items():
                    left[j] -= y * c
        for c, low, high in zip(left, self.low, self.high, strict=True):
            end = low if c > 0 else high
            if c and end is None:
                return None
            total += c * (end or 0)
        return total


def _matrix(rows: list[dict[int, int]], size: int) -> csr_matrix:
    data = [(k, j, c) for k, row in enumerate(rows) for j, c in row.items()]
    where = ([k for k, _, _ in data], [j for _, j, _ in data])
    return csr_matrix(([float(c) for *_, c in data], where), shape=(len(rows), size))


def least_widths(
    rows: Rows, a: Sequence[int], lower: Sequence[Bound], upper: Sequence[Bound], free: Sequence[bool], weight: Sequence[int],
    askers: Sequence[Asker],
) -> Least:  # fmt: skip
    """The least Σ w·(b + t) over the cells that may be ranges (``free``), ends being real numbers."""
    program, n = _Program(), len(a)

    def room(i: int, low: Bound, high: Bound) -> tuple[Bound, Bound]:
        return (None if low is None else low - a[i]), (None if high is None else high - a[i])

    below, above = {}, {}
    for i in range(n):
        if free[i]:
            low, high = room(i, lower[i], upper[i])
            below[i] = program.column(weight[i], 0, None if low is None else -low)
            above[i] = program.column(weight[i], 0, high)

    def move(asker: Asker) -> dict[int, int]:
        z = {}
        for i in range(n):
            if free[i]:
                low, high = room(i, *_tighter((lower[i], upper[i]), (asker.lower[i], asker.upper[i])))
                z[i] = program.column(0, low, high)
                program.rows.append(({above[i]: 1, z[i]: -1}, 0, False))
                program.rows.append(({below[i]: 1, z[i]: 1}, 0, False))
        for _, terms in rows:
            program.rows.append(({z[i]: c for i, c in terms.items() if c and i in z}, 0, True))
        return z

    for asker in askers:
        for p, lpl, upl, spl in asker.levels:
            up = move(asker) if upl or spl > lpl + upl else {}
            down = move(asker) if lpl or spl > lpl + upl else {}
            for z, sign, level in ((up, 1, upl), (down, -1, lpl)):
                if level:
                    program.rows.append(({z[p]: sign} if p in z else {}, level, False))
            if spl > lpl + upl:
                program.rows.append(({up[p]: 1, down[p]: -1} if p in up else {}, spl, False))
    if not program.rows:
        return Least(Fraction(0), exact=True)
    return program.solve()


def _tighter(x: tuple[Bound, Bound], y: tuple[Bound, Bound]) -> tuple[Bound, Bound]:
    lows, highs = [end for end in (x[0], y[0]) if end is not None], [end for end in (x[1], y[1]) if end is not None]
    return max(lows, default=None), min(highs, default=None)
