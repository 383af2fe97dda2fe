"""Least repair: what has to give way so that there is an adjustment: bounds of cells by the least Σ w·change, levels by the least Σ change/level (the
larger of a cell's two).

An integer program over all senses: z moves on the grid with M·z = 0; s_i = 1 where cell i rises; e how far a bound is passed, b by how much a
level is missed, d = 1 where it is given up:

    z_i ≥ up_i − b_i − B·(1 − s_i + d_i),    z_i ≤ −down_i + b_i + B·(s_i + d_i),    lo_i − e_i ≤ z_i ≤ hi_i + e_i

with B as far as cells move: true values are within their bounds, so that nothing but levels forces anything to move, and on tables of sums no cell
has to move by more than all levels together. Where both may give way, levels do only as far as bounds do not help: first the least Σ change/level is
found with bounds that cost nothing, then the least change of bounds with levels as they then are. What the solver says is taken as whole moves, which
are checked to add up; that no smaller repair does is its word.
"""

from __future__ import annotations

from dataclasses import dataclass, replace

import numpy as np

from cellward.errors import SolverError
from cellward.exact import LARGEST, Bools, Floats, Ints
from cellward.protect.adjustment.explained import Asked
from cellward.protect.adjustment.needs import Room
from cellward.solve.ask import ask
from cellward.solve.budget import Budget
from cellward.solve.highs import solve_mip
from cellward.solve.model import LinearModel
from cellward.table.relations import Relations

TIMES = 2
"""How many times all levels together cells may move, for tables whose sums are none of plain ±1."""
TIGHT = 1e-6


@dataclass(frozen=True, eq=False)
class LeastRepair:
    """By how much each bound is passed (``below``, ``above``) and each level missed, in the order of the cells at risk, with the side it is missed
    on; whole units of what is published."""

    below: Ints
    above: Ints
    short: Ints
    rises: Bools
    proven: bool
    """Whether the solver says that nothing less would do."""


@dataclass(frozen=True, eq=False)
class Repairable:
    """One instance: its moves, their room and grid (z is ``base`` plus a multiple of ``step``; 0: any fraction), and what may give way."""

    relations: Relations
    room: Room
    asked: Asked
    base: Ints
    step: int
    low: Bools
    high: Bools
    weight: Floats

    def least(self, budget: Budget, *, bounds: bool, levels: bool) -> LeastRepair | None:
        """The least repair; None where none is found."""
        if bounds and (found := self._solved(budget, bounds=True, levels=False, cost="bounds")) is not None:
            return found
        if not levels:
            return None
        found = self._solved(budget, bounds=bounds, levels=True, cost="levels")
        if found is None or not bounds:
            return found
        again = self._solved(
            budget, bounds=True, levels=True, cost="bounds", most=float(self._shares(found.short).sum())
        )
        return found if again is None else replace(again, proven=again.proven and found.proven)

    def _shares(self, short: Ints) -> Floats:
        """What is missed of the levels, as shares of the larger level of each cell, 1 where nothing is left."""
        return np.asarray(
            np.minimum(short / np.maximum(np.maximum(self.asked.up, self.asked.down), 1), 1.0), np.float64
        )

    def _solved(
        self, budget: Budget, *, bounds: bool, levels: bool, cost: str, most: float | None = None
    ) -> LeastRepair | None:
        """One program; ``most``: what is missed of all levels at most, in shares."""
        n, k, at = self.relations.cells, len(self.asked.cell), self.asked.cell
        up, down = (x.astype(float) for x in (self.asked.up, self.asked.down))
        size = np.maximum(np.maximum(up, down), 1.0)
        closed = (up == 0) & (down == 0)
        far = TIMES * float(np.maximum(up, down).sum()) + self.step
        stays = self.room.lo == self.room.hi
        step = float(max(self.step, 1))
        base = np.where(stays & ~(self.low | self.high), 0, self.base).astype(float)
        lo = np.maximum(self.room.lo.astype(float), -far)
        hi = np.minimum(self.room.hi.astype(float), far)
        may_low, may_high = self.low & bounds & (lo > -far), self.high & bounds & (hi < far)
        moves = may_low | may_high | ~stays
        # Columns: steps of z, e below, e above, s, b, d.
        z, below, above, s, b, d = 0, n, 2 * n, 3 * n, 3 * n + k, 3 * n + 2 * k
        columns = 3 * n + 3 * k
        rows = _Rows(columns)
        r = self.relations
        for j in range(r.equations):
            rhs, cells, coefs = r.equation(j)
            c = np.array(coefs, float)
            rows.add(np.array(cells), c * step, *(2 * [rhs - float(c @ base[cells])]))
        for i in np.flatnonzero(may_low).tolist():
            rows.add(np.array([z + i, below + i]), np.array([step, 1.0]), lo[i] - base[i], np.inf)
        for i in np.flatnonzero(may_high).tolist():
            rows.add(np.array([z + i, above + i]), np.array([step, -1.0]), -np.inf, hi[i] - base[i])
        for p, i in enumerate(at.tolist()):
            own = np.array([z + i, s + p, b + p, d + p])
            rows.add(own, np.array([step, -far - up[p], 1.0, far + up[p]]), -far - base[i], np.inf)
            rows.add(own, np.array([step, -far - down[p], -1.0, -far - down[p]]), -np.inf, -down[p] - base[i])
        if most is not None:
            at_most = np.concatenate((b + np.arange(k), d + np.arange(k)))
            rows.add(at_most, np.concatenate((1.0 / size, np.ones(k))), -np.inf, most * (1 + TIGHT) + TIGHT)
        free = np.where(moves, far, 0.0)
        least, greatest = np.where(may_low | ~moves, -free, lo), np.where(may_high | ~moves, free, hi)
        ends = np.full(n, 2 * far)
        price = np.concatenate((np.zeros(n), self.weight, self.weight, np.zeros(3 * k)))
        if cost == "levels":
            price = np.concatenate((np.zeros(3 * n + k), 1.0 / size, np.ones(k)))
        largest = float(price.max(initial=0.0))
        model = rows.model(
            cost=price / largest if largest > 0 else price,
            lower=np.concatenate(
                (
                    (least - base) / step,
                    np.zeros(2 * n),
                    np.where((down > 0) | closed, 0.0, 1.0),
                    np.zeros(k),
                    np.where(closed, 1.0, 0.0),
                )
            ),
            upper=np.concatenate(
                (
                    (greatest - base) / step,
                    np.where(may_low, ends, 0.0),
                    np.where(may_high, ends, 0.0),
                    np.where((up > 0) | closed, 1.0, 0.0),
                    np.where(levels, size, 0.0),
                    np.full(k, float(levels)),
                )
            ),
            integer=np.concatenate(
                (
                    np.full(n, self.step > 0),
                    np.zeros(2 * n, bool),
                    np.ones(k, bool),
                    np.zeros(k, bool),
                    np.ones(k, bool),
                )
            ),
        )
        if np.any(model.lower > model.upper):
            return None
        try:
            outcome = ask(solve_mip, model, columns=columns, budget=budget)
        except SolverError:
            return None
        if outcome.x is None:
            return None
        made = self._read(outcome.x[:n] * step + base, outcome.x[s:b] > 0.5, outcome.x[d:] > 0.5)
        return None if made is None else replace(made, proven=outcome.status == "optimal")

    def _read(self, moved: Floats, rises: Bools, dropped: Bools) -> LeastRepair | None:
        """What moves pass, and what they miss; on a grid they must add up exactly."""
        whole = np.rint(moved).astype(np.int64)
        if self.step and self.relations.residual(whole).any():
            return None
        x = whole if self.step else moved
        at = self.asked.cell
        asked = np.where(rises, self.asked.up, self.asked.down)
        level = np.where(dropped, asked, asked - np.where(rises, x[at], -x[at]))
        below, above, short = (np.ceil(np.maximum(y, 0) - TIGHT) for y in (self.room.lo - x, x - self.room.hi, level))
        if max(y.max(initial=0) for y in (below, above)) > LARGEST:
            return None
        return LeastRepair(below.astype(np.int64), above.astype(np.int64), short.astype(np.int64), rises, proven=False)


class _Rows:
    """Rows of a model, one after the other."""

    def __init__(self, columns: int) -> None:
        self.columns = columns
        self.at: list[Ints] = []
        self.coef: list[Floats] = []
        self.low: list[float] = []
        self.high: list[float] = []

    def add(self, at: Ints, coef: Floats, low: float, high: float) -> None:
        """A row."""
        order = np.argsort(at)
        self.at.append(at[order])
        self.coef.append(coef[order])
        self.low.append(low)
        self.high.append(high)

    def model(self, *, cost: Floats, lower: Floats, upper: Floats, integer: Bools) -> LinearModel:
        """All of them."""
        length = [len(own) for own in self.at]
        return LinearModel(
            cost=cost,
            lower=lower,
            upper=upper,
            indptr=np.concatenate(([0], np.cumsum(length))).astype(np.int64),
            indices=np.concatenate([*self.at, np.zeros(0)]).astype(np.int64),
            coefs=np.concatenate([*self.coef, np.zeros(0)]),
            row_lower=np.array(self.low),
            row_upper=np.array(self.high),
            integer=integer,
        )
