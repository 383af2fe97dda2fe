"""Equation form of an adjustment: the linear program of the papers, M·(z⁺ − z⁻) = 0, for L1 and L∞; and how far levels must bend where there is none.

The objective is scaled so that its least weight is 1: weights 1/a of totals above 10⁷ would fall below the solver's tolerance.
"""

from __future__ import annotations

from dataclasses import dataclass, replace
from typing import ClassVar

import numpy as np

from cellward.exact import Floats, Ints
from cellward.protect.adjustment.continuous import AdjustmentProblem, Continuous, FormName, capped, checked, still_most
from cellward.protect.adjustment.distance import Norm
from cellward.protect.engine import Adapter
from cellward.solve.ask import ask
from cellward.solve.budget import Budget
from cellward.solve.highs import solve_lp
from cellward.solve.model import LinearModel
from cellward.solve.outcome import Outcome

MODERATE = 10
"""Deviations that must be are at most 2 to this power, and a factor below 2, as the solver sees them."""
WHOLE = 1e-4
"""A number of steps this near to a whole one is whole; the table is tested exactly."""
BENT = 1e-6
"""A level that has to give way by more than this share of itself has to bend."""


@dataclass(frozen=True, eq=False)
class _Parts:
    """z = Σ sign·x over the columns of each moving cell: z⁺ where it may rise, z⁻ where it may fall."""

    problem: AdjustmentProblem
    cell: Ints
    sign: Floats
    lower: Floats
    upper: Floats

    @staticmethod
    def of(problem: AdjustmentProblem) -> _Parts:
        up = np.flatnonzero((problem.hi > 0) & (problem.lo < problem.hi))
        down = np.flatnonzero((problem.lo < 0) & (problem.lo < problem.hi))
        return _Parts(
            problem,
            np.concatenate((up, down)),
            np.repeat([1.0, -1.0], [len(up), len(down)]),
            np.concatenate((np.maximum(problem.lo[up], 0), np.maximum(-problem.hi[down], 0))),
            np.concatenate((problem.hi[up], -problem.lo[down])),
        )

    def values(self, x: Floats) -> Floats:
        """Deviations of all cells."""
        p = self.problem
        still = np.where(p.lo == p.hi, p.lo, 0.0)
        return np.asarray(still + np.bincount(self.cell, self.sign * x, p.relations.cells))

    def entries(self, rows: Ints) -> tuple[Ints, Ints, Floats]:
        """(row, column, coefficient) of the equations over these columns."""
        r = self.problem.relations
        ptr, entry = r.by_cell
        many = ptr[self.cell + 1] - ptr[self.cell]
        column = np.repeat(np.arange(len(self.cell)), many)
        at = entry[np.repeat(ptr[self.cell] - np.cumsum(many) + many, many) + np.arange(int(many.sum()))]
        return rows[r.row[at]], column, r.coefs[at] * self.sign[column]


@dataclass(frozen=True)
class ByEquations:
    """The linear program of these norms; ``most``: cells up to which it is taken, None: any number.

    The simplex ends in a vertex: of a small table many deviations are then 0, and most are round. ``loose``: only tables of fewer equations than
    cells, where it takes few steps.
    """

    name: ClassVar[FormName] = "equation"
    norms: tuple[Norm, ...] = ("l1", "linf")
    most: int | None = None
    loose: bool = False
    solver: Adapter = solve_lp

    def accepts(self, problem: AdjustmentProblem) -> str | None:
        """Distances that are linear, up to its size."""
        norm = problem.distance.norm
        if norm not in self.norms:
            return f"form='equation' does not go with norm={norm!r}; use 'leaf', 'cone' or 'auto'"
        if self.most is not None and problem.relations.cells > self.most:
            return f"form='equation' is for tables of up to {self.most:,} cells; use 'leaf' or 'auto'"
        r = problem.relations
        if self.loose and r.equations >= r.cells:
            return "form='equation' is for tables of fewer equations than cells; use 'leaf' or 'auto'"
        return None

    def solve(self, problem: AdjustmentProblem, budget: Budget) -> Continuous:
        """The least L1 or L∞ by a linear program."""
        return self._l1(problem, budget) if problem.distance.norm == "l1" else self._linf(problem, budget)

    def _l1(self, problem: AdjustmentProblem, budget: Budget) -> Continuous:
        parts, right = _Parts.of(problem), -_still(problem)
        cost = problem.costs.absolute[parts.cell]
        outcome, scale = _ask(
            cost, parts.lower, parts.upper, _equations(parts), right, right, budget, self.solver
        )  # fmt: skip
        if outcome.x is None:
            return _none(outcome)
        y = None if outcome.row_duals is None else outcome.row_duals * scale
        return checked(problem, self.name, outcome.solver, parts.values(outcome.x), y)

    def _linf(self, problem: AdjustmentProblem, budget: Budget) -> Continuous:
        """The two maxima are two more columns; among their optima the one of least L1."""
        parts, w, own = _Parts.of(problem), problem.costs.absolute, problem.distance.sensitive
        row, column, coef = _equations(parts)
        m, n = problem.relations.equations, len(parts.cell)
        limited = np.flatnonzero(w > 0)
        place = np.full(len(w), -1, np.int64)
        place[limited] = np.arange(len(limited))
        mine = np.flatnonzero(place[parts.cell] >= 0)
        row = np.concatenate((row, m + place[parts.cell[mine]], m + np.arange(len(limited))))
        column = np.concatenate((column, mine, n + np.where(own[limited], 0, 1)))
        coef = np.concatenate((coef, np.ones(len(mine)), -1 / w[limited]))
        right = -_still(problem)
        outcome, scale = _ask(
            np.append(np.zeros(n), [1.0, 1.0]),
            np.append(parts.lower, [still_most(problem, own), still_most(problem, ~own)]),
            np.append(parts.upper, [np.inf, np.inf]),
            (row, column, coef),
            np.concatenate((right, np.full(len(limited), -np.inf))),
            np.concatenate((right, np.zeros(len(limited)))),
            budget,
            self.solver,
        )
        if outcome.x is None:
            return _none(outcome)
        y = None if outcome.row_duals is None else outcome.row_duals[:m] * scale
        first = checked(problem, self.name, outcome.solver, parts.values(outcome.x[:n]), y)
        if first.status != "optimal":
            return first
        cap = capped(problem, np.where(own, outcome.x[n], outcome.x[n + 1]))
        low = np.maximum(problem.lo, -cap)
        second = self._l1(problem.between(low, np.maximum(np.minimum(problem.hi, cap), problem.lo)), budget)
        if second.z is None:
            return first
        again = checked(problem, self.name, f"{outcome.solver}, then least L1", second.z, y)
        return again if again.status == "optimal" else first


def _none(outcome: Outcome) -> Continuous:
    return Continuous("infeasible" if outcome.status == "infeasible" else "unknown", "equation", outcome.solver)


def _equations(parts: _Parts) -> tuple[Ints, Ints, Floats]:
    return parts.entries(np.arange(parts.problem.relations.equations))


def _still(problem: AdjustmentProblem) -> Floats:
    """What the cells that are moved by a fixed amount add to each equation."""
    r = problem.relations
    still = np.where(problem.lo == problem.hi, problem.lo, 0.0)
    return np.bincount(r.row, r.coefs * still[r.indices], r.equations).astype(float)


def _ask(
    cost: Floats,
    lower: Floats,
    upper: Floats,
    entries: tuple[Ints, Ints, Floats],
    row_lower: Floats,
    row_upper: Floats,
    budget: Budget,
    solver: Adapter = solve_lp,
) -> tuple[Outcome, float]:
    """HiGHS' answer, and what its duals must be multiplied by."""
    from scipy.sparse import csr_matrix

    positive = cost[cost > 0]
    scale = float(positive.min()) if len(positive) else 1.0
    unit = _unit(lower, row_lower)
    row, column, coef = entries
    matrix = csr_matrix((coef.astype(float), (row, column)), shape=(len(row_lower), len(cost)))
    model = LinearModel(
        cost=cost / scale,
        lower=lower / unit,
        upper=upper / unit,
        indptr=matrix.indptr.astype(np.int64),
        indices=matrix.indices.astype(np.int64),
        coefs=matrix.data,
        row_lower=row_lower / unit,
        row_upper=row_upper / unit,
    )
    outcome = ask(
        solver, model, columns=model.columns, rows=model.rows, budget=budget, stoppable=True
    )  # fmt: skip
    return outcome if outcome.x is None else replace(outcome, x=outcome.x * unit), scale


def _unit(*amounts: Floats) -> float:
    """What deviations are counted in, a power of 2, so that those that must be are of moderate size; duals do not depend on it."""
    size = max((float(np.abs(x[np.isfinite(x)]).max(initial=0.0)) for x in amounts), default=0.0)
    return float(2.0 ** max(int(np.floor(np.log2(max(size, 1.0)))) - MODERATE, 0))


def nearest_whole(problem: AdjustmentProblem, z: Floats, budget: Budget) -> Ints | None:
    """Deviations in whole steps of the grid next to z, in units of what is published; None where the linear program does not end in such.

    The least Σ w·|z′ − t| with t the steps nearest to z. Bounds and kinks are whole, so a vertex is, where the equations are near to a network.
    """
    room, grid, w = problem.room, problem.grid, problem.costs
    assert room is not None and grid is not None
    lo, hi = -(-room.lo // grid.step), room.hi // grid.step
    target = np.clip(np.rint(z * (grid.factor / grid.step)).astype(np.int64), lo, hi)
    r = problem.relations
    left = -r.sums(r.coefs * target[r.indices])
    around = replace(problem, lo=(lo - target).astype(float), hi=(hi - target).astype(float), room=None, grid=None)
    parts = _Parts.of(around)
    weight = w.absolute + w.square + w.huber
    outcome, _ = _ask(
        weight[parts.cell], parts.lower, parts.upper, _equations(parts), left.astype(float), left.astype(float), budget
    )  # fmt: skip
    if outcome.x is None:
        return None
    d = parts.values(outcome.x)
    whole = np.rint(d)
    return (target + whole.astype(np.int64)) * grid.step if np.abs(d - whole).max(initial=0.0) <= WHOLE else None


def least_bending(
    problem: AdjustmentProblem, cell: Ints, sense: Ints, least: Floats, size: Floats, budget: Budget
) -> Floats | None:
    """How far each level must give way so that there is a table at all, in units of the table; None: however far, there is none.

    The least Σ bending / size such that z + bending reaches every level; ``problem`` is the one without the levels.
    """
    parts = _Parts.of(problem)
    row, column, coef = _equations(parts)
    m, n, k = problem.relations.equations, len(parts.cell), len(cell)
    place = np.full(problem.relations.cells, -1, np.int64)
    place[cell] = np.arange(k)
    mine = np.flatnonzero(place[parts.cell] >= 0)
    which = place[parts.cell[mine]]
    row = np.concatenate((row, m + which, m + np.arange(k)))
    column = np.concatenate((column, mine, n + np.arange(k)))
    coef = np.concatenate((coef, sense[which] * parts.sign[mine], np.ones(k)))
    right = -_still(problem)
    outcome, _ = _ask(
        np.concatenate((np.zeros(n), 1 / np.maximum(size, 1e-12))),
        np.append(parts.lower, np.zeros(k)),
        np.append(parts.upper, np.full(k, np.inf)),
        (row, column, coef),
        np.concatenate((right, least)),
        np.concatenate((right, np.full(k, np.inf))),
        budget,
    )
    if outcome.x is None:
        return None
    bending = outcome.x[n:]
    return np.where(bending > BENT * np.maximum(least, 1.0), bending, 0.0)
