"""Leaf form of an adjustment: few numbers u with every cell a sum of them, solved by the interior point of solve/interior.py."""

from __future__ import annotations

import math
from collections.abc import Sequence
from dataclasses import dataclass, replace
from typing import TYPE_CHECKING, ClassVar

import numpy as np

from cellward.exact import Bools, Floats, Ints
from cellward.protect.adjustment.continuous import AdjustmentProblem, Continuous, FormName, capped, checked, still_most
from cellward.solve.budget import Budget
from cellward.solve.interior import Interior, Rows, interior_point

if TYPE_CHECKING:
    from cellward.table.compact import Compact


MOST = 4500
"""Numbers u up to which the matrix NᵀDN is formed (160 MB)."""
ACCURACY = 1e-9


class Classes:
    """Bounds, costs and forces of classes of cells that move alike."""

    def __init__(self, problem: AdjustmentProblem, form: Compact) -> None:
        self.problem, self.form, self.costs = problem, form, problem.costs
        self.own = np.flatnonzero(form.of >= 0)
        self.of, self.sign, self.cell = form.of[self.own], form.sign[self.own], problem.moving[self.own]

    def box(self, lo: Floats, hi: Floats) -> tuple[Floats, Floats]:
        """Bounds of the classes from those of all cells."""
        low, high = self._ends(lo, hi)
        return low[self._last(low)], -high[self._last(high)]

    def _ends(self, lo: Floats, hi: Floats) -> tuple[Floats, Floats]:
        """For every cell what it keeps its class above, and (with the sign turned) below."""
        below, above = lo[self.cell], hi[self.cell]
        return np.where(self.sign > 0, below, -above), np.where(self.sign > 0, -above, below)

    def _last(self, size: Floats) -> Ints:
        """The cell of every class with the largest ``size``."""
        order = np.lexsort((size, self.of))
        return order[np.append(np.flatnonzero(np.diff(self.of[order])), len(order) - 1)] if len(order) else order

    def total(self, weight: Floats) -> Floats:
        """Weights of classes: the sum over their cells."""
        return np.bincount(self.of, weight[self.cell], self.form.classes).astype(float)

    def most(self, weight: Floats, cells: Bools) -> Floats:
        """The largest weight among some cells of each class, 0 where it has none of them."""
        mine = np.where(cells, weight, 0.0)[self.cell]
        return np.asarray(mine[self._last(mine)])

    def spread(self, z: Floats) -> Floats:
        """Deviations of all cells."""
        p = self.problem
        out = np.where(p.lo == p.hi, p.lo, 0.0)
        out[p.moving] = self.form.cells(z)
        return out

    def forces(self, found: Interior, box: Rows, caps: Sequence[tuple[Rows, Bools]]) -> Floats:
        """What pulls at each moving cell: the slope of its cost, less the push of the bounds that are its own."""
        absolute, square = (x[self.cell] for x in (self.costs.absolute, self.costs.square))
        if caps:
            absolute = 0 * absolute
        total = np.bincount(self.of, absolute, self.form.classes)[self.of]
        share = np.divide(absolute, total, out=np.zeros(len(self.of)), where=total > 0)
        force = self.sign * (share * found.slope[self.of] + 2 * square * found.x[self.of])
        low, high = self._ends(self.problem.lo, self.problem.hi)
        first = 0
        push = np.zeros(len(self.of))
        for rows, owners in ((box, (self._last(low), self._last(high))), *((r, self._owners(own)) for r, own in caps)):
            y = found.multipliers[first : first + len(rows.cell)]
            first += len(rows.cell)
            up = rows.sign > 0
            np.add.at(push, owners[0][rows.cell[up]], y[up])
            np.add.at(push, owners[1][rows.cell[~up]], -y[~up])
        out = np.zeros(self.form.relations.cells)
        out[self.own] = force - self.sign * push
        return out

    def _owners(self, cells: Bools) -> tuple[Ints, Ints]:
        mine = np.where(cells, self.costs.absolute, 0.0)[self.cell]
        return self._last(mine), self._last(mine)


@dataclass(frozen=True)
class ByLeaves:
    """The interior point on up to ``most`` numbers u; None: on any table, as whoever asks for it by name wants it."""

    name: ClassVar[FormName] = "leaf"
    most: int | None = MOST

    def accepts(self, problem: AdjustmentProblem) -> str | None:
        """Any norm but pseudo-Huber, where few numbers move the table and what moves by a fixed amount does so by whole units."""
        if problem.distance.norm == "huber":
            return "form='leaf' does not go with norm='huber'; use 'cone' or 'auto'"
        if self.most is None:
            return None
        if not problem.whole_still:
            return "form='leaf' does not go with cells that must move by a fraction of the table's unit; use 'auto'"
        shape = problem.relations.array_shape
        if (shape is not None and math.prod(shape) > self.most) or problem.compact.matrix.shape[1] > self.most:
            return f"form='leaf' does not go with a table that moves by more than {self.most:,} numbers; use 'auto'"
        return None

    def solve(self, problem: AdjustmentProblem, budget: Budget) -> Continuous:
        """The least distance in the leaf form."""
        form = problem.compact
        classes = Classes(problem, form)
        low, high = classes.box(problem.lo, problem.hi)
        words = f"interior point on {form.matrix.shape[1]:,} numbers for {form.classes:,} classes of cells"
        if form.condition.shape[0]:
            words += f" with {form.condition.shape[0]:,} conditions"
        stuck = problem.moving[form.of < 0]
        if np.any(low > high) or np.any((problem.lo[stuck] > 0) | (problem.hi[stuck] < 0)):
            return Continuous("infeasible", self.name, "cells that move alike, or not at all")
        if not form.matrix.shape[1]:  # nothing moves but by what it is moved
            still = classes.spread(form.constant)
            if np.any((still < problem.lo) | (problem.hi < still)):
                return Continuous("infeasible", self.name, words)
            return checked(problem, self.name, words, still, np.zeros(problem.relations.equations), np.inf)
        box = Rows.box(low, high)
        if problem.distance.norm == "linf":
            return self._least_most(classes, box, words, budget)
        absolute, square = (classes.total(x) for x in (problem.costs.absolute, problem.costs.square))
        found = _run(form, box, budget, absolute=absolute, square=square)
        return checked(problem, self.name, words, classes.spread(found.x), _multipliers(classes, found, box, ()))

    def _least_most(self, classes: Classes, box: Rows, words: str, budget: Budget) -> Continuous:
        """L∞: the two maxima are two more columns; among their optima the one of least L1."""
        problem, own = classes.problem, classes.problem.distance.sensitive
        caps: list[tuple[Rows, Bools]] = []
        for cells in (cells for cells in (own, ~own) if cells[classes.cell].any()):
            with np.errstate(divide="ignore"):
                caps.append((Rows.caps(1 / classes.most(problem.costs.absolute, cells), len(caps)), cells))
        floors = (Rows.floor(still_most(problem, cells), k) for k, (_, cells) in enumerate(caps))
        rows = Rows.joined(box, *(rows for rows, _ in caps), *floors)
        found = _run(classes.form, rows, budget, grow_cost=np.ones(len(caps)))
        multipliers = _multipliers(classes, found, box, caps)
        first = checked(problem, self.name, words, classes.spread(found.x), multipliers)
        if first.status != "optimal":
            return first
        top = np.zeros(problem.relations.cells)
        for tau, (_, cells) in zip(found.tau, caps, strict=True):
            top[cells] = tau
        cap = capped(problem, top)
        low, high = classes.box(np.maximum(problem.lo, -cap), np.minimum(problem.hi, cap))
        least = Rows.box(low, np.maximum(low, high))
        found = _run(classes.form, least, budget, absolute=classes.total(problem.costs.absolute))
        z, words = classes.spread(found.x), f"{words}, then least L1"
        second = checked(problem, self.name, words, z, first.multipliers)
        return second if second.status == "optimal" else first


def _run(form: Compact, rows: Rows, budget: Budget, **costs: Floats) -> Interior:
    """The interior point in units of its own: deviations, maxima and costs around 1."""
    none, grow_cost = np.zeros(form.classes), costs.get("grow_cost")
    absolute, square = costs.get("absolute", none), costs.get("square", none)
    still = rows.slope == 0
    must = np.maximum(rows.least[still], 0)
    unit = _power(float(must[must > 0].mean()) if must.any() else 1.0)
    growth = 1.0
    if grow_cost is None:
        price = _power(max(float((absolute * unit).max(initial=0.0)), float((square * unit**2).max(initial=0.0))))
    else:
        price = growth = _power(float(unit / np.median(rows.slope[~still])) if not still.all() else 1.0)
    found = interior_point(
        form.matrix,
        form.condition,
        form.rhs / unit,
        form.constant / unit,
        replace(rows, least=rows.least / unit, slope=rows.slope * (growth / unit)),
        absolute=absolute * (unit / price),
        square=square * (unit**2 / price),
        grow_cost=None if grow_cost is None else grow_cost * (growth / price),
        accuracy=ACCURACY,
        budget=budget,
    )
    return replace(
        found,
        x=found.x * unit,
        u=found.u * unit,
        tau=found.tau * growth,
        multipliers=found.multipliers * (price / unit),
        slope=found.slope * (price / unit),
        objective=found.objective * price,
        bound=found.bound * price,
    )


def _power(size: float) -> float:
    """The power of 2 next to a size: dividing by it loses nothing."""
    return float(2.0 ** round(math.log2(size))) if size > 0 and math.isfinite(size) else 1.0


def _multipliers(classes: Classes, found: Interior, box: Rows, caps: Sequence[tuple[Rows, Bools]]) -> Floats | None:
    """Multipliers of the table's equations from those of the bounds."""
    if not np.isfinite(found.x).all() or not np.isfinite(found.multipliers).all():
        return None
    problem, form = classes.problem, classes.form
    y = form.multipliers(classes.forces(found, box, caps))
    out = np.zeros(problem.relations.equations)
    out[_equations_of(problem)] = y
    return out


def _equations_of(problem: AdjustmentProblem) -> Ints:
    """The equations of the table that the compact form is of."""
    r = problem.relations
    if problem.compact.relations is r:
        return np.arange(r.equations)
    moving = np.zeros(r.cells, bool)
    moving[problem.moving] = True
    return np.unique(r.row[moving[r.indices]])
