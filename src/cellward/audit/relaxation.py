"""Relaxation: the linear relaxation of a part of a table, each cell's cost replaced by its convex envelope over the allowed values.

The envelope of w·|d| over lo, lo + step, …, hi bends only at the allowed values next to 0. So a cell is the sum of at most three columns, its
segments, each counted in steps: cheapest first, hence filled in order. Bounds at allowed values keep the envelope what it is.
"""

from __future__ import annotations

import math
from dataclasses import dataclass
from typing import Literal

import numpy as np

from cellward.audit.lagrangian import Box, Part, total
from cellward.exact import Floats, Ints
from cellward.solve.ask import ask
from cellward.solve.budget import Budget
from cellward.solve.highs import solve_lp
from cellward.solve.model import LinearModel
from cellward.solve.warm_lp import WarmLp
from cellward.table.relations import ranges

Steps = dict[int, tuple[int, int]]
"""What branching did: for some cells of the part the least and the largest number of steps above lo."""


@dataclass(frozen=True, eq=False)
class Point:
    """The relaxation's answer: the least cost and where (steps above lo of every cell), with multipliers; or those of a Farkas proof, where known."""

    status: Literal["optimal", "infeasible", "unknown"]
    cost: float = math.nan
    steps: Floats | None = None
    multipliers: Floats | None = None


class Relaxation:
    """The linear relaxation of a part, solved again after every branching from where it stood."""

    def __init__(self, part: Part, budget: Budget | None = None) -> None:
        self.part, self.budget = part, budget or Budget()
        self._segments = _Segments.of(part)
        self._model = _linear(part, self._segments)
        self._lp = WarmLp(self._model)
        self._at_lo = total(part.weight * np.abs(part.lo))
        self._common = part.common.astype(float)
        self._steps: Steps = {}

    def box(self, steps: Steps) -> Box:
        """The allowed sets after branching."""
        lo, hi = self.part.lo.copy(), self.part.hi.copy()
        for k, (least, most) in steps.items():
            lo[k], hi[k] = self.part.lo[k] + least * self.part.step[k], self.part.lo[k] + most * self.part.step[k]
        return Box(lo, hi)

    def range(self, cell: int, steps: Steps) -> tuple[int, int]:
        """The least and the largest number of steps that branching leaves a cell."""
        return steps.get(cell, (0, int(self.part.bends[2][cell])))

    def solve(self, steps: Steps) -> Point:
        """The relaxation after these branchings."""
        changed = sorted(k for k in self._steps.keys() | steps.keys() if self._steps.get(k) != steps.get(k))
        for k in changed:
            self._lp.restrict(*self._segments.bounds(k, *self.range(k, steps)))
        self._steps = dict(steps)
        model = self._model
        outcome = ask(self._lp.solve, columns=model.columns, rows=model.rows, budget=self.budget)
        multipliers = None if outcome.row_duals is None else outcome.row_duals / self._common
        if outcome.status == "infeasible":
            return Point("infeasible", multipliers=multipliers)
        if outcome.x is None or outcome.status != "optimal":
            return Point("unknown")
        x = np.asarray(np.bincount(self._segments.cell, outcome.x, minlength=len(self.part.cells)), np.float64)
        return Point("optimal", self._at_lo + outcome.objective, x, multipliers)

    def probe(self, cell: int, least: int, most: int, *, iterations: int) -> float:
        """About what the relaxation would cost if this cell were restricted to so many steps (inf: infeasible)."""
        return self._at_lo + self._lp.probe(*self._segments.bounds(cell, least, most), iterations=iterations)

    def phase_one(self, steps: Steps) -> Floats | None:
        """Multipliers of the least total violation of the equations: a Farkas proof when there is no point."""
        model, m = self._model, self._model.rows
        lower, upper = model.lower.copy(), model.upper.copy()
        for k, (least, most) in steps.items():
            columns, low, high = self._segments.bounds(k, least, most)
            lower[columns], upper[columns] = low, high
        row = np.repeat(np.arange(m), np.diff(model.indptr))
        slack = np.arange(m)
        rows = np.concatenate((row, slack, slack))
        order = np.argsort(rows, kind="stable")
        indices = np.concatenate((model.indices, model.columns + slack, model.columns + m + slack))[order]
        coefs = np.concatenate((model.coefs, np.ones(m), -np.ones(m)))[order]
        question = LinearModel(
            cost=np.concatenate((np.zeros(model.columns), np.ones(2 * m))),
            lower=np.concatenate((lower, np.zeros(2 * m))),
            upper=np.concatenate((upper, np.full(2 * m, np.inf))),
            indptr=model.indptr + 2 * np.arange(m + 1),
            indices=indices,
            coefs=coefs,
            row_lower=model.row_lower,
            row_upper=model.row_upper,
        )
        outcome = ask(solve_lp, question, columns=question.columns, rows=m, budget=self.budget)
        return None if outcome.row_duals is None else outcome.row_duals / self._common


@dataclass(frozen=True, eq=False)
class _Segments:
    """For every column its cell, where it starts, how long it is (in steps above lo), what a step costs; ``first[k]`` is cell k's first column."""

    cell: Ints
    start: Ints
    length: Ints
    cost: Floats
    first: Ints

    @staticmethod
    def of(part: Part) -> _Segments:
        first, second, most = part.bends
        start = np.stack((np.zeros_like(first), first, second), axis=1)
        length = np.stack((first, second - first, most - second), axis=1)
        across = part.weight * (np.abs(part.above) - np.abs(part.below)) / np.maximum(second - first, 1)
        cost = np.stack((-part.weight * part.step, across, part.weight * part.step), axis=1)
        cell, which = np.nonzero(length)
        count = np.bincount(cell, minlength=len(part.cells))
        return _Segments(
            cell=cell,
            start=start[cell, which],
            length=length[cell, which],
            cost=cost[cell, which].astype(float),
            first=np.concatenate(([0], np.cumsum(count))).astype(np.int64),
        )

    def bounds(self, k: int, least: int, most: int) -> tuple[Ints, Floats, Floats]:
        """The columns of cell k, and their bounds when it may take so many steps."""
        columns = np.arange(self.first[k], self.first[k + 1])
        start, length = self.start[columns], self.length[columns]
        lower, upper = (np.clip(steps - start, 0, length).astype(float) for steps in (least, most))
        return columns, lower, upper


def _linear(part: Part, segments: _Segments) -> LinearModel:
    """The relaxation in steps, every equation divided by its common divisor."""
    pick = ranges(part.ptr[segments.cell], part.ptr[segments.cell + 1])
    column = np.repeat(np.arange(len(segments.cell)), np.diff(part.ptr)[segments.cell])
    order = np.argsort(part.row[pick], kind="stable")
    row, column, coef = part.row[pick][order], column[order], part.coef[pick][order]
    right = (part.rest / part.common).astype(float)
    return LinearModel(
        cost=segments.cost,
        lower=np.zeros(len(segments.cell)),
        upper=segments.length.astype(float),
        indptr=np.concatenate(([0], np.cumsum(np.bincount(row, minlength=len(part.equations))))).astype(np.int64),
        indices=column,
        coefs=(coef * part.step[segments.cell[column]] // part.common[row]).astype(float),
        row_lower=right,
        row_upper=right,
    )
