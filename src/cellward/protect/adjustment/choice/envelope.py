"""Envelope: the linear relaxation of an adjustment under L1 whose senses are open, by equations or in leaves, solved again after every decision.

A cell at risk (in leaves: a class of cells that move alike) is z = −down + t + p − q with 0 ≤ t ≤ up + down at the slope of the envelope (sides.py),
p and q beyond its levels at ±w. A decision only moves bounds: up takes all of t and no q, down none of t and no p. The multipliers of the equations
prove the bound whatever the decisions of others, and go into the certificate; in leaves a node takes a twentieth of the time.
"""

from __future__ import annotations

from dataclasses import dataclass
from typing import Literal

import numpy as np
from scipy.sparse import csr_matrix, hstack, identity, vstack

from cellward.errors import SolverError
from cellward.exact import Floats, Ints
from cellward.protect.adjustment.choice.classes import Classes
from cellward.protect.adjustment.choice.sides import Decided, Sides
from cellward.protect.adjustment.continuous import AdjustmentProblem
from cellward.solve.budget import Budget
from cellward.solve.model import LinearModel
from cellward.solve.warm_lp import WarmLp
from cellward.table.relations import Relations


@dataclass(frozen=True, eq=False)
class Relaxed:
    """The least cost there may be with some sides decided, the deviations of the things at risk there, and the multipliers that prove it."""

    status: Literal["optimal", "infeasible", "unknown"]
    bound: float = float("-inf")
    z: Floats | None = None
    price: Floats | None = None
    """What it misses of the cost of each thing at risk, about."""
    multipliers: Floats | None = None
    """One an equation; where it is infeasible those of a contradiction, of unknown sign."""


class Envelope:
    """The relaxation of one problem without levels."""

    def __init__(self, model: LinearModel, part: _Part, equations: Ints | None, many: int, budget: Budget) -> None:
        self.sides, self.budget, self._part = part.sides, budget, part
        self._lp, self._equations, self._many = WarmLp(model), equations, many
        self._open = model.upper.copy()
        self._decided = np.zeros(len(part.at), np.int64)

    @staticmethod
    def by_equations(problem: AdjustmentProblem, at: Ints, sides: Sides, budget: Budget) -> Envelope:
        """Things at risk are the cells ``at``; equations that the others imply are left out."""
        part = _Part.of_cells(problem, at, sides)
        kept = _needed(problem.relations)
        return Envelope(part.by_equations(problem.relations, kept), part, kept, problem.relations.equations, budget)

    @staticmethod
    def model_by_equations(problem: AdjustmentProblem, at: Ints, sides: Sides) -> LinearModel:
        """The linear program of this."""
        return _Part.of_cells(problem, at, sides).by_equations(problem.relations, _needed(problem.relations))

    @staticmethod
    def in_leaves(classes: Classes, budget: Budget) -> Envelope:
        """Things at risk are classes."""
        c = classes
        rows = vstack((-identity(c.count), csr_matrix((c.condition.shape[0], c.count)))).tocsr()
        part = _Part(c.at, c.sides, c.absolute, c.lo, c.hi)
        model = part.model(rows, vstack((c.matrix, c.condition)).tocsr(), np.zeros(rows.shape[0]))
        return Envelope(model, part, None, 0, budget)

    def solve(self, decided: Decided) -> Relaxed:
        """The relaxation with these decisions."""
        part = self._part
        n, at, wide = len(part.weight), part.at, part.sides.up + part.sides.down
        turned = np.flatnonzero(decided != self._decided)
        if len(turned):
            side, cell = decided[turned], at[turned]
            columns = np.concatenate((cell, n + cell, 2 * n + turned))
            lower = np.concatenate((np.zeros(2 * len(turned)), np.where(side > 0, wide[turned], 0.0)))
            upper = np.concatenate(
                (
                    np.where(side < 0, 0.0, self._open[cell]),
                    np.where(side > 0, 0.0, self._open[n + cell]),
                    np.where(side < 0, 0.0, wide[turned]),
                )
            )
            self._lp.restrict(columns, lower, upper)
            self._decided = decided.copy()
        try:
            found = self._lp.solve(budget=self.budget)
        except SolverError:
            return Relaxed("unknown")
        if found.status == "infeasible":
            return Relaxed("infeasible", float("inf"), multipliers=self._of_all(found.row_duals))
        if found.x is None or found.status != "optimal":
            return Relaxed("unknown")
        many = len(at)
        z = found.x[at] - found.x[n + at] + found.x[2 * n : 2 * n + many] - self.sides.down
        between = np.minimum(z + self.sides.down, self.sides.up - z)
        price = np.where(decided == 0, part.weight[at] * np.maximum(between, 0), 0.0)
        return Relaxed("optimal", found.objective + part.constant, z, price, self._of_all(found.row_duals))

    def _of_all(self, duals: Floats | None) -> Floats | None:
        """One an equation of the table, 0 for those left out; in leaves none."""
        if duals is None or self._equations is None:
            return None
        out = np.zeros(self._many)
        out[self._equations] = duals
        return out


@dataclass(frozen=True, eq=False)
class _Part:
    """The columns p, q and t of things that move between ``lo`` and ``hi`` at a weight, those ``at`` being at risk."""

    at: Ints
    sides: Sides
    weight: Floats
    lo: Floats
    hi: Floats

    @staticmethod
    def of_cells(problem: AdjustmentProblem, at: Ints, sides: Sides) -> _Part:
        """Things are cells."""
        return _Part(at, sides, problem.costs.absolute, problem.lo, problem.hi)

    def by_equations(self, r: Relations, kept: Ints) -> LinearModel:
        """The program in some equations of the table."""
        place = np.full(r.equations, -1, np.int64)
        place[kept] = np.arange(len(kept))
        entry = np.flatnonzero(place[r.row] >= 0)
        rows = csr_matrix((r.coefs[entry].astype(float), (place[r.row[entry]], r.indices[entry])), (len(kept), r.cells))
        return self.model(rows, csr_matrix((len(kept), 0)), r.rhs[kept].astype(float))

    @property
    def constant(self) -> float:
        """What t = 0 costs."""
        return float((self.weight[self.at] * self.sides.down).sum())

    def model(self, rows: csr_matrix, others: csr_matrix, right: Floats) -> LinearModel:
        """rows·z + others·u = right, with u free."""
        s, at, w, many = self.sides, self.at, self.weight, len(self.at)
        n, wide = len(w), s.up + s.down
        slope = np.divide(w[at] * (s.up - s.down), wide, out=np.zeros(many), where=wide > 0)
        start = np.zeros(n)
        start[at] = -s.down
        p, q = np.maximum(self.hi, 0), np.maximum(-self.lo, 0)
        least_p, least_q = np.maximum(self.lo, 0), np.maximum(-self.hi, 0)
        p[at], q[at] = np.maximum(self.hi[at] - s.up, 0), np.maximum(-self.lo[at] - s.down, 0)
        least_p[at] = least_q[at] = 0.0
        matrix = hstack((rows, -rows, rows[:, at], others)).tocsr()
        matrix.sort_indices()
        free = np.full(others.shape[1], np.inf)
        right = right - rows @ start
        return LinearModel(
            cost=np.concatenate((w, w, slope, np.zeros(len(free)))),
            lower=np.concatenate((least_p, least_q, np.zeros(many), -free)),
            upper=np.concatenate((p, q, wide, free)),
            indptr=matrix.indptr.astype(np.int64),
            indices=matrix.indices.astype(np.int64),
            coefs=matrix.data.astype(np.float64),
            row_lower=right,
            row_upper=right,
        )


def _needed(relations: Relations) -> Ints:
    """Equations that the others do not imply."""
    return np.setdiff1d(np.arange(relations.equations), relations.redundant)
