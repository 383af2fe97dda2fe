"""Part questions: some columns of a large question as a question of their own, in time proportional to the part.

Columns outside are known, and then fixed, or still open: what a row has of those becomes a range, and the multipliers of such rows are charged to the
columns inside, so that these are chosen with a view to what comes below them.
"""

from __future__ import annotations

from dataclasses import replace
from functools import cached_property

import numpy as np

from cellward.exact import Bools, Floats, Ints
from cellward.solve.model import LinearModel
from cellward.table.relations import distinct, ranges

FINE = 50.0
"""Costs in a question with charges are whole: fiftieths of the mean."""
DRAWN = 0.5
"""How strongly columns in rows that are open are drawn towards the relaxation's point, in mean costs."""


class PartQuestions:
    """The questions about parts of one question."""

    def __init__(self, question: LinearModel) -> None:
        self.whole = question
        self.row = np.repeat(np.arange(question.rows, dtype=np.int64), np.diff(question.indptr))
        self.by_column = np.argsort(question.indices, kind="stable")
        many = np.bincount(question.indices, minlength=question.columns)
        self.pointer = np.concatenate(([0], np.cumsum(many))).astype(np.int64)
        self.place = np.full(question.columns, -1, np.int64)

    @cached_property
    def mean(self) -> float:
        """What a column costs on average, whatever the sign."""
        return max(float(np.abs(self.whole.cost).mean()), 1e-9)

    def rows_of(self, columns: Ints) -> Ints:
        """The rows that hold any of these columns."""
        entry = self.by_column[ranges(self.pointer[columns], self.pointer[columns + 1])]
        return distinct(self.row[entry], self.whole.rows)

    def about(
        self, free: Ints, x: Ints, known: Bools | None = None, prices: tuple[Floats, Floats] | None = None
    ) -> LinearModel:
        """These columns; ``known``: which of the others are fixed to x (None: all of them); ``prices``: multipliers and a point of the relaxation."""
        q, rows = self.whole, self.rows_of(free)
        entry = ranges(q.indptr[rows], q.indptr[rows + 1])
        row = np.repeat(np.arange(len(rows)), q.indptr[rows + 1] - q.indptr[rows])
        column, coef = q.indices[entry], q.coefs[entry]
        self.place[free] = np.arange(len(free))
        mine = self.place[column] >= 0
        open_ = np.zeros(len(column), bool) if known is None else ~known[column] & ~mine
        held = ~mine & ~open_
        fixed = np.bincount(row, np.where(held, coef * x[column], 0.0), minlength=len(rows))
        low, high = coef * q.lower[column], coef * q.upper[column]
        least = np.bincount(row, np.where(open_, np.minimum(low, high), 0.0), minlength=len(rows))
        most = np.bincount(row, np.where(open_, np.maximum(low, high), 0.0), minlength=len(rows))
        part = LinearModel(
            cost=q.cost[free],
            lower=q.lower[free],
            upper=q.upper[free],
            indptr=np.concatenate(([0], np.cumsum(np.bincount(row[mine], minlength=len(rows))))).astype(np.int64),
            indices=self.place[column[mine]],
            coefs=coef[mine],
            row_lower=q.row_lower[rows] - fixed - most,
            row_upper=q.row_upper[rows] - fixed - least,
            integer=np.ones(len(free), bool),
        )
        self.place[free] = -1
        touched = np.bincount(row, open_, minlength=len(rows)) > 0
        if prices is None or not touched.any():
            return part
        return replace(
            part, cost=self._charged(part, np.where(touched, prices[0][rows], 0.0), touched, prices[1][free])
        )

    def _charged(self, part: LinearModel, duals: Floats, touched: Bools, point: Floats) -> Floats:
        row = np.repeat(np.arange(part.rows), np.diff(part.indptr))
        charge = np.bincount(part.indices, part.coefs * duals[row], minlength=part.columns)
        summed = np.bincount(part.indices, touched[row], minlength=part.columns) > 0
        cost = part.cost - charge + np.where(summed, DRAWN * self.mean * (1 - 2 * point), 0.0)
        return np.asarray(np.rint(np.clip(FINE / self.mean * cost, -1e9, 1e9)))
