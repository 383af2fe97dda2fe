"""What an outsider can narrow cells down to: linear and integer programs of its own over the equations and what it is told.

Values are counted in units of the last decimal. Linear programs come first; a vertex that is whole answers the integer one too.
"""

from __future__ import annotations

from collections.abc import Mapping, Sequence
from fractions import Fraction

import numpy as np
from outsider_equations import Codes, Equation
from outsider_told import Bounds
from scipy.optimize import Bounds as Box
from scipy.optimize import LinearConstraint, milp
from scipy.sparse import csr_array

CLOSE = 1e-5
"""Ends of linear programs are taken to be exact within this many units."""


class NoTableError(Exception):
    """What is told contradicts itself: no table is left, not even the true one."""


class Region:
    """The tables that an outsider cannot exclude."""

    def __init__(
        self, equations: Sequence[Equation], bounds: Mapping[Codes, Bounds], unit: Fraction, *, whole: bool
    ) -> None:
        self.place = {codes: k for k, codes in enumerate(bounds)}
        self.whole = whole
        row, column, entry, right = [], [], [], []
        for j, equation in enumerate(equations):
            right.append(float(equation.right / unit))
            for codes, coef in equation.terms:
                row.append(j)
                column.append(self.place[codes])
                entry.append(float(coef))
        shape = (len(equations), len(bounds))
        self.matrix = csr_array((entry, (row, column)), shape=shape)
        self.right = np.array(right)
        low = [-np.inf if p is None else _up(p / unit) if whole else float(p / unit) for p, _ in bounds.values()]
        high = [np.inf if q is None else -_up(-q / unit) if whole else float(q / unit) for _, q in bounds.values()]
        self.low, self.high = np.array(low), np.array(high)
        self.seen: list[np.ndarray] = []
        """Whole tables of the region that were met on the way."""

    def end(self, codes: Codes, sign: int) -> float:
        """The largest (+1) or the least (−1) value, in units; ±inf where there is no end."""
        k = self.place[codes]
        cost = np.zeros(len(self.low))
        cost[k] = -sign
        found = self._solve(cost, None)
        if found is None:
            return sign * np.inf
        if self.whole:
            near = np.round(found)
            if not self._holds(near) or abs(near[k] - found[k]) > CLOSE:
                found = self._solve(cost, np.ones(len(cost)))
                if found is None:
                    return sign * np.inf
                near = np.round(found)
            self.seen.append(near)
            return float(near[k])
        return float(found[k])

    def only_value(self, codes: Codes, truth: float) -> bool:
        """Whether nothing but the true value is left."""
        k = self.place[codes]
        if any(abs(table[k] - truth) > CLOSE for table in self.seen):
            return False
        return abs(self.end(codes, 1) - truth) <= CLOSE and abs(self.end(codes, -1) - truth) <= CLOSE

    def _holds(self, table: np.ndarray) -> bool:
        return (
            bool(np.all(table >= self.low))
            and bool(np.all(table <= self.high))
            and not np.any(self.matrix @ table - self.right)
        )

    def _solve(self, cost: np.ndarray, integrality: np.ndarray | None) -> np.ndarray | None:
        constraints = LinearConstraint(self.matrix, self.right, self.right) if len(self.right) else ()
        answer = milp(
            cost, constraints=constraints, bounds=Box(self.low, self.high), integrality=integrality,
            options={"mip_rel_gap": 0.0},
        )  # fmt: skip
        if answer.status == 0:
            return np.asarray(answer.x)
        if answer.status == 3 or (answer.status == 4 and "nbounded" in answer.message):
            return None
        raise NoTableError(answer.message)


def _up(x: Fraction) -> float:
    return float(-(-x.numerator // x.denominator))
