"""Best table: the best rounding so far of some columns, checked before it is believed, and the least that any can cost."""

from __future__ import annotations

import math
from dataclasses import replace
from functools import cached_property

import numpy as np

from cellward.errors import SolverError
from cellward.exact import Floats, Ints
from cellward.protect.lattice.linear import independent, leaf_costs, linear, unit_of
from cellward.protect.lattice.model import LatticeModel
from cellward.protect.lattice.problem import Found, LatticeProblem
from cellward.protect.lattice.whole_search import question_of_all
from cellward.solve.budget import Budget
from cellward.solve.model import LinearModel

BEYOND = 4
"""How many times its cost a step beyond the nearest multiples counts more, where few are wanted."""
PRICE_BITS = 20
"""Multipliers are rounded to so many binary places, so that what they prove is computed in whole numbers."""
LARGEST_PROOF = 2.0**61


class BestTable:
    """Some columns (a union of blocks) of a problem in all of their equations, the best table so far and a floor under what tables cost.

    Costs are those of the question: whole, in its own unit.
    """

    def __init__(self, problem: LatticeProblem, part: Ints, budget: Budget | None = None) -> None:
        self.problem, self.part, self.budget = problem, part, budget
        self.question, self.unit, self.used = question_of_all(problem, part)
        question = self.question
        self.row = np.repeat(np.arange(question.rows, dtype=np.int64), np.diff(question.indptr))
        self.cost = question.cost.astype(np.int64)
        self.aim = self.cost + self._dearer(problem.model)
        """What a search makes small: the cost, with steps beyond the nearest multiples dearer where few of them are wanted."""
        self.x: Ints | None = None
        self.engines: list[str] = []
        self.floor = problem.model.least(part) // self.unit
        self.step, self._away = 1, 0

    @property
    def value(self) -> int:
        """What the best table costs."""
        assert self.x is not None
        return int(self.cost @ self.x)

    def _dearer(self, model: LatticeModel) -> Ints:
        if model.known is None:
            return np.zeros_like(self.cost)
        return np.where(model.beyond[self.part], BEYOND * self.cost, 0)

    def better(self, x: Ints) -> int:
        """By how much a point is better than the best table, as searches see it."""
        assert self.x is not None
        return int(self.aim @ self.x) - int(self.aim @ x)

    @property
    def target(self) -> int:
        """The least that a table can cost as far as is known: all tables cost the same up to multiples of a unit (see leaf_costs), so that the floor
        rounds up to the next of these."""
        return self._away + self.step * -((self._away - self.floor) // self.step)

    @property
    def done(self) -> bool:
        """Whether no table can be better than the best."""
        return self.x is not None and self.value <= self.target

    def take(self, x: Ints, engine: str) -> bool:
        """Believe a point if it is a table, keep it if it costs no more than the best; whether it costs less."""
        if not self.holds(x):
            raise SolverError(
                f"{engine} gave a point that is no rounding of a block of {len(x)} columns; nothing is released"
            )
        gain = 1 if self.x is None else self.better(x)
        if gain > 0 and engine not in self.engines:
            self.engines.append(engine)
        if self.x is None:
            self._see_units(x)
        if gain >= 0:
            self.x = x
        if gain > 0 and self.budget is not None:
            self.budget.found(self.unit * self.value, self.unit * self.target)
        return gain > 0

    def holds(self, x: Ints) -> bool:
        """Whether a point is a table."""
        q = self.question
        activity = np.zeros(q.rows, np.int64)
        np.add.at(activity, self.row, q.coefs.astype(np.int64) * x[q.indices])
        inside = bool(np.all((x >= q.lower) & (x <= q.upper)))
        return inside and bool(np.all((activity >= q.row_lower) & (activity <= q.row_upper)))

    def _see_units(self, x: Ints) -> None:
        model = self.problem.model
        leaf = leaf_costs(model)[self.part]
        if not (leaf % self.unit).any():
            leaf //= self.unit
            self.step, self._away = unit_of(leaf), int(self.cost @ x) - int(leaf @ x)

    @cached_property
    def _priced(self) -> tuple[LinearModel, Ints]:
        model = self.problem.model
        equations = independent(model.instance.relations)
        question, _, used = linear(model, equations, self.part, model.columns.cost, self.problem.rows)
        return replace(question, integer=None), used

    @property
    def price_question(self) -> LinearModel:
        """The relaxation without the implied equations, which add to its work and nothing to its optimum."""
        return self._priced[0]

    def prices_of_all(self, duals: Floats) -> Floats:
        """Multipliers of the question from those of the relaxation, implied equations at 0."""
        used = self._priced[1]
        out = np.zeros(self.question.rows)
        out[np.searchsorted(self.used, used)] = duals[: len(used)]
        out[len(self.used) :] = duals[len(used) :]
        return out

    def raise_floor(self, duals: Floats) -> None:
        """What multipliers of the rows prove, in whole numbers: y·r + Σ min over 0 ≤ x ≤ top of (cost − Aᵀy)·x; negative ones of a row without an
        upper side, and positive ones without a lower side, are taken for 0."""
        q = self.question
        scaled = np.rint(duals * 2.0**PRICE_BITS)
        scaled = np.where((scaled > 0) & np.isinf(q.row_lower) | (scaled < 0) & np.isinf(q.row_upper), 0.0, scaled)
        size = float(np.abs(scaled).max(initial=0.0) + np.abs(q.cost).max(initial=0.0) * 2.0**PRICE_BITS)
        side = np.where(scaled > 0, q.row_lower, np.where(scaled < 0, q.row_upper, 0.0))
        most = size * (float(np.abs(q.coefs).sum()) + q.columns) * float(q.upper.max(initial=1.0))
        if not np.isfinite(scaled).all() or most + float(np.abs(scaled * side).sum()) >= LARGEST_PROOF:
            return
        y = scaled.astype(np.int64)
        prices = np.zeros(q.columns, np.int64)
        np.add.at(prices, q.indices, q.coefs.astype(np.int64) * y[self.row])
        reduced = (self.cost << PRICE_BITS) - prices
        ends = np.minimum(reduced * q.lower.astype(np.int64), reduced * q.upper.astype(np.int64))
        proven = int(y @ side.astype(np.int64)) + int(ends.sum())
        self.floor = max(self.floor, -(-proven >> PRICE_BITS))

    def found(self, duals: Floats | None = None) -> Found:
        """The best table with the floor, and the multipliers of the equations."""
        engine = " + ".join(self.engines) or "portfolio"
        if self.x is None:
            return Found("unknown", engine)
        least = self.unit * min(self.target, self.value)
        multipliers = None
        if duals is not None:
            model = self.problem.model
            multipliers = np.zeros(model.instance.relations.equations)
            multipliers[self.used] = duals[: len(self.used)] * self.unit / model.common[self.used]
        value = self.unit * self.value
        return Found("optimal" if least == value else "feasible", engine, self.x, least, multipliers)


def whole(x: Floats) -> Ints:
    """A solver's point in whole numbers."""
    return np.rint(x).astype(np.int64)


def ceiling(value: float) -> int:
    """The next whole number, a solver's error taken off."""
    return math.ceil(value - 1e-6 * max(1.0, abs(value)))
