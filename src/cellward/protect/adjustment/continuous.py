"""Continuous optimum of an adjustment: the least distance over M·z = 0 and the room of the cells, with multipliers and our own check of them.

Which form it is computed in is the business of engines.py. Whatever the form, residuals and bound are computed here.
"""

from __future__ import annotations

from dataclasses import dataclass, field, replace
from functools import cached_property
from typing import Literal, TypeAlias

import numpy as np

from cellward.exact import LARGEST, Bools, Floats, Ints
from cellward.protect.adjustment.distance import Distance
from cellward.protect.adjustment.needs import Room
from cellward.protect.engine import Engine
from cellward.solve.separable import Separable
from cellward.table.compact import Compact
from cellward.table.relations import Relations

FormName = Literal["auto", "leaf", "network", "equation", "cone", "sums"]

GAP = 1e-6
"""What is called optimal proves its distance to be within this share of the least."""
SLACK = 1e-9
"""By how much of themselves the two maxima of L∞ may be exceeded while L1 is made small among the optima."""


@dataclass(frozen=True, eq=False)
class PublishedGrid:
    """The unit of what is published: ``factor`` of it make one of the table's, and values that move are multiples of ``step`` of it.

    ``a``: the true values in it.
    """

    a: Ints
    step: int
    factor: int


@dataclass(frozen=True, eq=False)
class AdjustmentProblem:
    """lo ≤ z ≤ hi (floats in units of the table's last decimal, ±inf: no end), M·z = 0, and the distance.

    Where what is published is on a ``grid``, ``room`` is the same as lo and hi in whole numbers of its unit.
    """

    relations: Relations
    lo: Floats
    hi: Floats
    distance: Distance
    decimals: int
    room: Room | None = None
    grid: PublishedGrid | None = None

    @staticmethod
    def of(
        relations: Relations, room: Room, distance: Distance, decimals: int, grid: PublishedGrid
    ) -> AdjustmentProblem:
        """The problem with this room, in whole numbers; what is farther off than any value may be is no end."""
        no_end = np.abs(grid.a) + LARGEST // 2
        lo = np.where(room.lo <= -no_end, -np.inf, room.lo / grid.factor)
        hi = np.where(room.hi >= no_end, np.inf, room.hi / grid.factor)
        return AdjustmentProblem(relations, lo, hi, distance, decimals, room, grid)

    def within(self, room: Room) -> AdjustmentProblem:
        """The same with another room, in whole numbers."""
        assert self.grid is not None
        return AdjustmentProblem.of(self.relations, room, self.distance, self.decimals, self.grid)

    def between(self, lo: Floats, hi: Floats) -> AdjustmentProblem:
        """The same between other ends, whatever the grid."""
        return replace(self, lo=lo, hi=hi, room=None, grid=None)

    @cached_property
    def costs(self) -> Separable:
        """The distance for engines; for L∞ the L1 among its optima."""
        return self.distance.separable(self.decimals)

    @cached_property
    def moving(self) -> Ints:
        """Cells that may move."""
        return np.flatnonzero(self.lo < self.hi)

    @cached_property
    def compact(self) -> Compact:
        """The compact form of the moves of the cells that may move."""
        r = self.relations
        still = np.where(self.lo == self.hi, self.lo, 0.0)
        if len(self.moving) == r.cells and not r.rhs.any():
            return r.compact
        return r.moves(self.moving, still.astype(np.int64) if still.any() else None, implied=True).compact

    @property
    def whole_still(self) -> bool:
        """Whether cells that are moved by a fixed amount are moved by whole units, as the compact form takes them."""
        still = self.lo[self.lo == self.hi]
        return bool(np.all(still == np.rint(still)))


@dataclass(frozen=True, eq=False)
class Check:
    """How well a point and its multipliers satisfy the conditions of optimality, computed by us: shares of natural sizes, 0 is perfect."""

    additivity: float
    """Largest |M·z| over the largest deviation."""
    violation: float
    """Largest violation of a bound, as a share of that bound, or of the typical level where that is more."""
    gap: float
    """(objective − bound) / objective: complementarity and stationarity together, since the bound holds for any multipliers."""


@dataclass(frozen=True, eq=False)
class Continuous:
    """An engine's answer. ``multipliers``: one an equation; ``bound`` is what they prove of the distance (in the user's units, in floats)."""

    status: Literal["optimal", "infeasible", "unknown"]
    form: FormName
    engine: str
    z: Floats | None = None
    objective: float = float("nan")
    bound: float = float("-inf")
    multipliers: Floats | None = field(default=None, repr=False)
    check: Check | None = None
    whole: Ints | None = None
    """The deviations in units of what is published, where the engine works in these."""


Form: TypeAlias = Engine[AdjustmentProblem, Continuous]
"""A form of the problem, and who solves it."""


def untouched(relations: Relations) -> Continuous:
    """The answer where no cell is at risk: nothing moves, and nothing is nearer than that."""
    z, y = np.zeros(relations.cells), np.zeros(relations.equations)
    return Continuous("optimal", "auto", "no cell at risk", z, 0.0, 0.0, y, Check(0.0, 0.0, 0.0))


def prices(relations: Relations, multipliers: Floats) -> Floats:
    """Mᵀ·y."""
    return np.bincount(relations.indices, relations.coefs * multipliers[relations.row], relations.cells).astype(float)


def value(problem: AdjustmentProblem, z: Floats) -> float:
    """The distance of deviations in the engines' units."""
    if problem.distance.norm != "linf":
        return problem.costs.value(z)
    each, own = problem.costs.absolute * np.abs(z), problem.distance.sensitive
    return float(each[own].max(initial=0.0) + each[~own].max(initial=0.0))


def still_most(problem: AdjustmentProblem, cells: Bools) -> float:
    """The largest w·|z| among those of some cells that are moved by a fixed amount."""
    still = cells & (problem.lo == problem.hi)
    return float((problem.costs.absolute[still] * np.abs(problem.lo[still])).max(initial=0.0))


def capped(problem: AdjustmentProblem, most: Floats) -> Floats:
    """How far each cell may move so that w·|z| stays below the maximum found for it, or above it by next to nothing."""
    w = problem.costs.absolute
    return np.asarray(np.divide(most * (1 + SLACK), w, out=np.full(len(w), np.inf), where=w > 0))


def proven(problem: AdjustmentProblem, multipliers: Floats, most: float) -> float:
    """What multipliers prove of the least distance, whatever they are: the least of distance − (Mᵀy)·z over the room, cell by cell.

    ``most``: a distance that some table has; those that are no dearer keep their cells within reach, which bounds the room.
    """
    g = prices(problem.relations, multipliers)
    if problem.distance.norm == "linf":
        # Smaller multipliers prove as well; at the optimum |g|/w adds up to 1, and beyond it nothing is proven.
        g = g * (1 - 1e-8)
        own = problem.distance.sensitive
        w = problem.costs.absolute
        return sum(_proven_most(g[k], w[k], problem.lo[k], problem.hi[k]) for k in (own, ~own) if k.any())
    reach = problem.costs.reach(most)
    lo, hi = np.maximum(problem.lo, -reach), np.minimum(problem.hi, reach)
    return min(most, problem.costs.dual_bound(g, np.minimum(lo, problem.hi), np.maximum(hi, problem.lo)))


def _proven_most(g: Floats, w: Floats, lo: Floats, hi: Floats) -> float:
    """A lower bound on τ − Σ g·z over all τ and lo ≤ z ≤ hi with w|z| ≤ τ: convex in τ, so two of its tangents bound it."""
    with np.errstate(invalid="ignore"):
        must = float(np.max(w * np.maximum(np.maximum(lo, -hi), 0.0), initial=0.0))
    wide = np.divide(1.0, w, out=np.full(len(w), np.inf), where=w > 0)

    def at(tau: float) -> tuple[float, float]:
        with np.errstate(invalid="ignore"):
            cap = np.where(np.isinf(wide), np.inf, tau * wide)
        end = np.where(g > 0, np.minimum(hi, cap), np.maximum(lo, -cap))
        bound = np.where(g > 0, cap < hi, -cap > lo) & (g != 0)
        moved = np.where(g != 0, g * np.where(g != 0, end, 0.0), 0.0)
        return tau - float(moved.sum()), 1.0 - float((np.abs(g) * wide)[bound & np.isfinite(wide)].sum())

    low, high = must, max(2 * must, 1e-12)
    value_low, slope_low = at(low)
    if slope_low >= 0:
        return value_low
    for _ in range(200):
        value_high, slope_high = at(high)
        if slope_high >= 0:
            break
        low, value_low, slope_low, high = high, value_high, slope_high, 2 * high
    else:
        return float("-inf")
    for _ in range(100):
        middle = (low + high) / 2
        found, slope = at(middle)
        if slope >= 0:
            high, value_high, slope_high = middle, found, slope
        else:
            low, value_low, slope_low = middle, found, slope
    if slope_high == slope_low:
        return min(value_low, value_high)
    cross = (value_low - value_high + slope_high * high - slope_low * low) / (slope_high - slope_low)
    cross = min(max(cross, low), high)
    return max(value_low + slope_low * (cross - low), value_high + slope_high * (cross - high))


def checked(
    problem: AdjustmentProblem,
    form: FormName,
    engine: str,
    z: Floats,
    multipliers: Floats | None,
    goal: float = GAP,
) -> Continuous:
    """An engine's point with what we make of it; ``optimal`` when the gap is at most ``goal`` and the point is one."""
    if not np.isfinite(z).all():
        return Continuous("unknown", form, engine)
    r = problem.relations
    with np.errstate(all="ignore"):  # what is no number is not below any limit, and proves nothing
        size = max(float(np.abs(z).max(initial=0.0)), 1e-300)
        sums = np.bincount(r.row, r.coefs * z[r.indices], r.equations)
        must = np.abs(np.clip(0.0, problem.lo, problem.hi))
        level = float(np.median(must[must > 0])) if must.any() else size
        below, above = (
            (problem.lo - z) / np.maximum(np.abs(problem.lo), level),
            (z - problem.hi) / np.maximum(np.abs(problem.hi), level),
        )
        free = problem.lo < problem.hi
        away = max(
            float(x[free & np.isfinite(end)].max(initial=0.0)) for x, end in ((below, problem.lo), (above, problem.hi))
        )
        objective = value(problem, z)
        bound = float("-inf") if multipliers is None else proven(problem, multipliers, objective)
    bound = min(bound, objective) if np.isfinite(bound) else float("-inf")
    gap = (objective - bound) / max(objective, 1e-12)
    check = Check(float(np.abs(sums).max(initial=0.0)) / size, away, gap)
    right = check.additivity <= 1e-9 and check.violation <= 1e-6 and check.gap <= goal
    return Continuous("optimal" if right else "unknown", form, engine, z, objective, bound, multipliers, check)
