"""Faces of an adjustment's optimum: all deviations at the same least distance, and all multipliers that prove it, as linear programs.

Legend: z* one optimal point, y multipliers of M·z = 0, g = Mᵀ·y the prices, c the cost of a cell. Deviations are optimal exactly when each cell's is
cheapest under the prices, least c(z) − g·z over its room, and multipliers are optimal exactly when z* is cheapest under theirs; so one optimal pair
tells both faces. For L∞ shares λ of the two maxima, each a sum of 1 over the cells that reach it, take the place of slopes.
"""

from __future__ import annotations

from dataclasses import dataclass
from functools import cached_property

import numpy as np

from cellward.exact import Floats, Ints
from cellward.protect.adjustment.continuous import AdjustmentProblem, prices, value
from cellward.solve.ask import ask
from cellward.solve.budget import Budget
from cellward.solve.model import LinearModel
from cellward.solve.warm_lp import WarmLp

SAME = 1e-9
"""Deviations whose distance is larger by this share at most are as near."""
CLEAR = 1e-6
"""A price that differs from a slope by more than this share of it is another one; a cell this near to a bound, in units of the table, is at it."""
NO_END = 1e6
"""A multiplier beyond so many times the largest slope has no end."""


def _rows(entries: tuple[Ints, Ints, Floats], shape: tuple[int, int]) -> tuple[Ints, Ints, Floats]:
    """(row, column, coefficient) as the rows of a model."""
    from scipy.sparse import csr_matrix

    row, column, coef = entries
    matrix = csr_matrix((coef.astype(float), (row, column)), shape=shape)
    return matrix.indptr.astype(np.int64), matrix.indices.astype(np.int64), matrix.data


def _maximise(lp: WarmLp, cost: Floats, budget: Budget | None) -> Floats | None:
    """The point of the largest cost·x; None where the solver has none."""
    model = lp.model
    outcome = ask(lp.maximise, cost, columns=model.columns, rows=model.rows, budget=budget)
    return outcome.x


@dataclass(frozen=True, eq=False)
class DeviationFace:
    """All deviations as near as ``z``, which is optimal, as ``multipliers`` prove."""

    problem: AdjustmentProblem
    z: Floats
    multipliers: Floats

    @cached_property
    def unique(self) -> bool:
        """Whether the distance alone tells that there is no other: each cell that may move makes it larger by squares."""
        costs = self.problem.costs
        curved = costs.square > 0 if not costs.delta else (costs.square > 0) | (costs.huber > 0)
        return bool(self.problem.distance.norm != "linf" and curved[self.problem.moving].all())

    @cached_property
    def _room(self) -> tuple[Floats, Floats]:
        """What each cell may move by on the face: where it is cheapest under the prices."""
        p, costs = self.problem, self.problem.costs
        if p.distance.norm == "linf":
            return p.lo, p.hi
        g, corner = prices(p.relations, self.multipliers), costs.corner_and_round()[0]
        near = CLEAR * corner
        lo, hi = p.lo.copy(), p.hi.copy()
        stays = (costs.square > 0) | ((costs.huber > 0) & (costs.delta > 0))
        lo, hi = np.where(stays, self.z, lo), np.where(stays, self.z, hi)
        # A price below the slope upwards: the cell is as low as it may be above 0; and so on the other side.
        hi = np.where(~stays & (g < corner - near), np.minimum(hi, np.maximum(p.lo, 0.0)), hi)
        lo = np.where(~stays & (g > -corner + near), np.maximum(lo, np.minimum(p.hi, 0.0)), lo)
        hi = np.where(~stays & (g < -corner - near), np.minimum(hi, p.lo), hi)
        lo = np.where(~stays & (g > corner + near), np.maximum(lo, p.hi), lo)
        # The optimal point itself is on its face, whatever the error of prices.
        return np.minimum(lo, self.z), np.maximum(hi, self.z)

    @cached_property
    def _lp(self) -> WarmLp:
        p, r, w = self.problem, self.problem.relations, self.problem.costs.corner_and_round()[0]
        lo, hi = self._room
        n, m = r.cells, r.equations
        entries = [(r.row, r.indices, r.coefs.astype(float))]
        most = value(p, self.z) * (1 + SAME)
        if p.distance.norm == "linf":
            cap = np.flatnonzero(w > 0)
            rise, fall = cap[hi[cap] > 0], cap[lo[cap] < 0]
            cell = np.concatenate((rise, fall))
            sign = np.repeat([1.0, -1.0], [len(rise), len(fall)])
            at = m + np.arange(len(cell))
            entries += [(at, cell, sign), (at, n + np.where(p.distance.sensitive[cell], 0, 1), -1 / w[cell])]
            entries.append((np.full(2, m + len(cell)), np.array([n, n + 1]), np.ones(2)))
            rows, columns, above = m + len(cell) + 1, n + 2, np.append(np.zeros(len(cell)), most)
            lo, hi = np.append(lo, [0.0, 0.0]), np.append(hi, [np.inf, np.inf])
        else:
            sign = np.where(hi > np.maximum(lo, 0), 1.0, np.where(lo < np.minimum(hi, 0), -1.0, 0.0))
            linear = np.flatnonzero((lo < hi) & (w > 0))
            least = float(w[linear].min(initial=np.inf)) if len(linear) else 1.0
            entries.append((np.full(len(linear), m), linear, sign[linear] * w[linear] / least))
            rest = most - float(p.costs.costs(np.where(lo == hi, lo, 0.0)).sum())
            rows, columns, above = m + 1, n, np.array([rest / least])
        row, column, coef = (np.concatenate(part) for part in zip(*entries, strict=True))
        indptr, indices, coefs = _rows((row, column, coef), (rows, columns))
        right = np.zeros(m)
        return WarmLp(
            LinearModel(
                cost=np.zeros(columns),
                lower=lo,
                upper=hi,
                indptr=indptr,
                indices=indices,
                coefs=coefs,
                row_lower=np.concatenate((right, np.full(rows - m, -np.inf))),
                row_upper=np.concatenate((right, above)),
            )
        )

    def towards(self, direction: Floats, budget: Budget | None = None) -> Floats | None:
        """The deviations on the face that are farthest in a direction (one number a cell)."""
        cost = np.zeros(self._lp.model.columns)
        cost[: len(direction)] = direction
        found = _maximise(self._lp, cost, budget)
        return None if found is None else found[: len(direction)]


@dataclass(frozen=True, eq=False)
class MultiplierFace:
    """All multipliers of the levels of the cells at risk that prove ``z`` optimal; ``multipliers``: some of the equations.

    ``cell``: the cells at risk, ``sense``: which way they move. The multiplier of a level is the rate at which the least distance grows with it:
    what its cell costs more less what the price pays for it.
    """

    problem: AdjustmentProblem
    z: Floats
    multipliers: Floats
    cell: Ints
    sense: Ints

    @cached_property
    def _slopes(self) -> tuple[Floats, Floats]:
        """The lowest and the highest slope of each cell's cost, but for the shares of L∞."""
        if self.problem.distance.norm == "linf":
            return np.zeros_like(self.z), np.zeros_like(self.z)
        return self.problem.costs.slopes(np.where(np.abs(self.z) <= CLEAR, 0.0, self.z))

    @cached_property
    def _shares(self) -> tuple[Ints, Floats, Ints]:
        """For L∞ the cells that reach a maximum, the way they do (both ways at 0), and which: 0 of the cells at risk, 1 of the others."""
        p, size = self.problem, np.abs(self.z)
        if p.distance.norm != "linf":
            return np.zeros(0, np.int64), np.zeros(0), np.zeros(0, np.int64)
        each, own = p.costs.absolute * size, p.distance.sensitive
        most = np.where(own, each[own].max(initial=0.0), each[~own].max(initial=0.0))
        top = (each >= most * (1 - CLEAR)) & (p.costs.absolute > 0)
        up, down = (np.flatnonzero(top & ((side > 0) | (size <= CLEAR))) for side in (self.z, -self.z))
        cell = np.concatenate((up, down))
        return cell, np.repeat([1.0, -1.0], [len(up), len(down)]), np.where(own[cell], 0, 1)

    @cached_property
    def _base(self) -> Floats:
        """What the multipliers are where neither prices change nor shares count."""
        low, high = self._slopes
        slope = np.where(self.sense > 0, high[self.cell], low[self.cell])
        return np.asarray(self.sense * (slope - prices(self.problem.relations, self.multipliers)[self.cell]))

    @property
    def given(self) -> Floats | None:
        """Those that go with the multipliers given; None for L∞, where these do not tell the shares."""
        return None if self.problem.distance.norm == "linf" else np.maximum(self._base, 0.0)

    @cached_property
    def _scale(self) -> float:
        sizes = np.abs(np.concatenate((self.problem.costs.absolute, *self._slopes)))
        return float(np.median(sizes[sizes > 0])) if np.any(sizes > 0) else 1.0

    @cached_property
    def _end(self) -> float:
        return NO_END * max(float(np.abs(x).max(initial=0.0)) for x in (self.problem.costs.absolute, *self._slopes))

    @cached_property
    def _lp(self) -> WarmLp:
        """Columns: changes of y, then shares. Rows: each cell's price less its shares, such that z is cheapest; then the sums of the shares."""
        p, r, scale = self.problem, self.problem.relations, self._scale
        n, m = r.cells, r.equations
        low, high = (slope - prices(r, self.multipliers) for slope in self._slopes)
        near = CLEAR * (1 + np.abs(self.z))
        low, high = np.where(self.z - p.lo <= near, -np.inf, low), np.where(p.hi - self.z <= near, np.inf, high)
        cell, sign, which = self._shares
        alone = np.ones(n, bool)
        alone[cell] = False  # the multipliers given are on the face, whatever their error
        low, high = np.where(alone, np.minimum(low, 0.0), low), np.where(alone, np.maximum(high, 0.0), high)
        at, up = self.cell, self.sense > 0
        none, end = (
            np.maximum(self._base, 0.0),
            self._end - self._base,
        )  # changes of the price at which multipliers are 0, or without end
        low[at] = np.where(up, np.maximum(low[at], -end), np.maximum(low[at], -none))
        high[at] = np.where(up, np.minimum(high[at], none), np.minimum(high[at], end))
        share = np.arange(len(cell))
        row = np.concatenate((r.indices, cell, n + which))
        column = np.concatenate((r.row, m + share, m + share))
        coef = np.concatenate((r.coefs.astype(float), -sign * p.costs.absolute[cell] / scale, np.ones(len(cell))))
        indptr, indices, coefs = _rows((row, column, coef), (n + 2, m + len(cell)))
        most = np.array([float(np.any(which == side)) for side in (0, 1)])
        flat = np.array([bool(np.any((which == side) & (np.abs(self.z[cell]) <= CLEAR))) for side in (0, 1)])
        return WarmLp(
            LinearModel(
                cost=np.zeros(m + len(cell)),
                lower=np.append(np.full(m, -np.inf), np.zeros(len(cell))),
                upper=np.append(np.full(m, np.inf), np.ones(len(cell))),
                indptr=indptr,
                indices=indices,
                coefs=coefs,
                row_lower=np.append(low / scale, np.where(flat, 0.0, most)),
                row_upper=np.append(high / scale, most),
            )
        )

    def towards(self, direction: Floats, budget: Budget | None = None) -> Floats | None:
        """The multipliers of the levels that are farthest in a direction (one number a cell at risk); inf: without end."""
        model = self._lp.model
        place = np.zeros(model.rows)
        place[self.cell] = direction * self.sense
        row = np.repeat(np.arange(model.rows), np.diff(model.indptr))
        cost = np.bincount(model.indices, -model.coefs * place[row], model.columns).astype(float)
        found = _maximise(self._lp, cost, budget)
        if found is None:
            return None
        price = np.bincount(row, model.coefs * found[model.indices], model.rows)[self.cell] * self._scale
        out = np.maximum(self._base - self.sense * price, 0.0)
        return np.where(out >= self._end / 2, np.inf, out)
