"""GridProgram: the least widths on the grid that keep the cuts, by CP-SAT; where they miss a level, its cut is added and the program asked again.

Legend: column j's width is o_j·y_i + g·k_j, y_i = 1 where cell i is a range, o_j what is left from its value to the next multiple of the grid g. A
least range on the grid reaches less than a step further than tables move its cell, so bridges hold with g − 1 to spare.
"""

from __future__ import annotations

from collections.abc import Iterator
from math import gcd

import numpy as np

from cellward.audit.derived_cut import DerivedCut
from cellward.errors import SolverError
from cellward.exact import Floats, Ints
from cellward.instance import Instance
from cellward.protect.intervals.widths import WidthSearch
from cellward.solve.ask import ask
from cellward.solve.cpsat import solve_cpsat
from cellward.solve.model import LinearModel

ROUNDS, COLUMNS, WORK = 25, 3000, 4.0
"""Programs, columns of one, and what CP-SAT may spend on it by its own measure."""
LARGEST = 10**9
"""Coefficients beyond this leave CP-SAT no room; such cuts are left out, and found again where they matter."""


class GridProgram:
    """The program of one search; ``most``: what the ranges at hand cost."""

    def __init__(self, search: WidthSearch, instance: Instance, step: int, most: int) -> None:
        self.search, self.own, self.step, self.most = search, instance, step, most

    def points(self, start: Floats) -> Iterator[Floats]:
        """Widths that meet every requirement and cost less than those at hand, as far as floats tell; none where none are found."""
        for _ in range(ROUNDS):
            x = None if self.search.budget.over else self._least(start)
            if x is None:
                return
            n, more = self.own.cells, np.zeros(self.search.n - self.own.cells)
            columns = np.concatenate((x[:n], more, x[n:], more))
            if not self.search.missed(columns):
                yield x
                return

    def _worthwhile(self) -> Ints:
        """Columns that ranges cheaper than those at hand can use: prices of the others are too high."""
        pool, point = self.search.pool, self.search.pool.least(self.search.budget)
        if point is None:
            return np.zeros(0, np.int64)
        gain = np.zeros(2 * self.search.n)
        for cut, price in zip(pool.rows, point.prices.tolist(), strict=True):
            if price:
                for j, coef in cut.row.items():
                    gain[j] += price * coef
        reduced = pool.weight - gain
        used = (point.x > 0) | (reduced < self.most - point.cost)
        return np.flatnonzero(used & (pool.most > 0) & np.tile(~self.search.sums, 2))

    def _least(self, start: Floats) -> Floats | None:
        columns = self._worthwhile()
        if not 0 < len(columns) <= COLUMNS:
            return None
        n, g, own = self.search.n, self.step, self.own
        cells = np.unique(columns % n)
        place = {int(j): k for k, j in enumerate(columns)}
        flag = {int(i): len(columns) + k for k, i in enumerate(cells)}
        a, w = own.a[columns % n], own.weight[columns % n]
        rest = np.where(columns >= n, -a % g, a % g)
        far = np.minimum(self.search.pool.most[columns], float(self.most) / np.maximum(w, 1))
        times = np.ceil(np.maximum(far - rest, 0) / g)
        rows, least = [], []
        for cut in self.search.pool.rows:
            made = self._row(cut, place, flag, dict(zip(place, rest.tolist(), strict=True)))
            if made is not None:
                rows.append(made[0])
                least.append(made[1])
        for k, j in enumerate(columns.tolist()):
            rows.append({flag[j % n]: int(times[k]), k: -1})
            least.append(0)
        both = [sum(int(rest[place[j]]) * int(own.weight[i]) for j in (i, i + n) if j in place) for i in cells.tolist()]
        size = len(columns) + len(cells)
        model = LinearModel(
            cost=np.concatenate((w * g, both)).astype(float),
            lower=np.zeros(size),
            upper=np.concatenate((times, np.ones(len(cells)))),
            indptr=np.concatenate(([0], np.cumsum([len(row) for row in rows]))).astype(np.int64),
            indices=np.array([k for row in rows for k in row], np.int64),
            coefs=np.array([x for row in rows for x in row.values()], float),
            row_lower=np.array(least, float),
            row_upper=np.full(len(rows), np.inf),
            integer=np.ones(size, bool),
        )
        at = np.concatenate((start[: own.cells], np.zeros(n - own.cells), start[own.cells :], np.zeros(n - own.cells)))
        hint = np.concatenate((np.maximum(at[columns] - rest, 0) // g, (at[cells] + at[cells + n] > 0))).astype(float)
        try:
            budget = self.search.budget.part().silent()
            found = ask(solve_cpsat, model, columns=size, budget=budget, start=hint, work=WORK)
        except SolverError:
            return None
        if found.x is None or found.objective >= self.most:
            return None
        x = np.zeros(2 * n)
        on = np.array([found.x[flag[int(i)]] for i in columns % n])
        x[columns] = rest * np.rint(on) + g * np.rint(found.x[: len(columns)])
        return np.concatenate((x[: own.cells], x[n : n + own.cells]))

    def _row(
        self, cut: DerivedCut, place: dict[int, int], flag: dict[int, int], rest: dict[int, int]
    ) -> tuple[dict[int, int], int] | None:
        """A cut over steps and flags, in lowest terms."""
        n, row = self.search.n, dict[int, int]()
        least = cut.least
        if cut.stated["sense"] in ("above", "below"):
            least -= int(cut.stated["scale"]) * (self.step - 1)
        for j, coef in cut.row.items():
            if j in place:
                row[place[j]] = row.get(place[j], 0) + coef * self.step
                if rest[j]:
                    row[flag[j % n]] = row.get(flag[j % n], 0) + coef * rest[j]
        common = gcd(least, *row.values()) or 1
        if max((abs(x) for x in row.values()), default=0) // common > LARGEST:
            return None
        return {k: x // common for k, x in row.items()}, least // common
