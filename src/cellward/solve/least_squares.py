"""Least squares in a box: the smallest weighted sum of squared moves that keeps every equation of a table and every cell within its bounds.

Minimise Σ w·z² subject to K·z = 0, lo ≤ z ≤ hi. With a price y on each equation every cell has a pull g = Kᵀ·y of its own and answers it alone
with the z in [lo, hi] that minimises w·z² − g·z. The sum of these minima is a lower bound on the optimum whatever the prices, concave
and piecewise quadratic in them. We maximise it by Newton's method: its second derivative is K·diag(d)·Kᵀ, where d is 1/2w for the
cells strictly within their bounds and 0 for the others, and conjugate gradients preconditioned with its diagonal solve for the step. At
the maximum the answers satisfy the equations. The point returned satisfies them in any case, being N·u with u the answers of the leaves.
"""

from __future__ import annotations

import math
from dataclasses import dataclass, field
from time import perf_counter
from typing import Final

import numpy as np

from cellward.errors import InputError
from cellward.exact import Floats
from cellward.solve.budget import Budget
from cellward.solve.outcome import Outcome, Status
from cellward.table.leaf_sums import BLOCK, LeafSums

SOLVER: Final = "least squares by prices on the equations"
MOST_NEWTON_STEPS = 200
MOST_GRADIENT_STEPS = 5000
"""Conjugate gradient steps within one Newton step."""
MOST_TRIALS = 40
"""Points tried along one Newton direction."""
PATIENCE = 50
"""Newton steps without a smaller gradient, after which there is no hope of one: most likely no point lies within all bounds."""
FORCING = 0.1
"""The largest part of the gradient that a Newton step may leave unsolved; it shrinks with the square root of the gradient."""
DAMPING, LEAST_DAMPING, MOST_DAMPING = 1e-3, 1e-6, 1.0
"""What is added to the second derivative, as a share of its diagonal, at first and at the extremes; it shrinks with the gradient too."""
FLOOR = 0.01
"""The damping takes no diagonal entry for smaller than this share of what it is with all cells free."""
ENDLESS = 1e9
"""So many times the Newton step, and the bound still grows: it grows for ever, and no point lies within all bounds."""
STEEP = 0.9
"""A point along a direction will do when its slope is less steep, up or down, than this share of the slope at the start."""


@dataclass(frozen=True, eq=False, kw_only=True)
class LeastSquares(Outcome):
    """The point found (``x``: the moves of all cells, N·u), with residuals that are computed from the point and the multipliers alone.

    ``optimal``: all of gap, residual, stationarity and complementarity are within the accuracy asked for. ``feasible``: the residual is.
    ``unknown``: it is not, because a limit was reached, the arithmetic allows no better, or no point lies within all bounds. The equations hold in
    any case; ``residual`` is the largest violation of a bound, relative to max(1, |bound|). No point within all bounds has an objective Σ w·z² below
    ``bound`` (up to rounding): the prices prove it, optimal or not.
    """

    u: Floats = field(repr=False)
    """The moves of the leaves."""
    multipliers: Floats = field(repr=False)
    """One a cell: positive where the lower bound holds it up, negative where the upper bound holds it down, 0 where neither does."""
    prices: Floats = field(repr=False)
    """One an equation: a start for a similar problem."""
    stationarity: float
    """The largest entry of Nᵀ·(2w·z − multipliers), relative to the largest of |2w·z| and |multipliers|."""
    complementarity: float
    """The sum over the cells of |multiplier| times the distance from the bound it belongs to, relative to the objective."""
    newton_steps: int
    steps: int
    """Conjugate gradient steps in all."""


def least_squares(
    sums: LeafSums,
    w: Floats,
    lo: Floats,
    hi: Floats,
    *,
    accuracy: float = 1e-7,
    budget: Budget | None = None,
    start: Floats | None = None,
) -> LeastSquares:
    """Minimise Σ w·z² over z = N·u with lo ≤ z ≤ hi, all given for every cell; w > 0, bounds may be infinite. ``start``: prices of an earlier answer.

    >>> from cellward.table.leaf_sums import AxisSums
    >>> free = np.full(9, np.inf)
    >>> lower = np.array([4.0, *[-np.inf] * 8])
    >>> least_squares(AxisSums((2, 2)), np.ones(9), lower, free).x.reshape(3, 3).round(6).tolist()
    [[4.0, -2.0, 2.0], [-2.0, 1.0, -1.0], [2.0, -1.0, 1.0]]
    """
    w, lo, hi = (np.asarray(values, np.float64) for values in (w, lo, hi))
    for name, values in (("w", w), ("lo", lo), ("hi", hi)):
        if values.shape != (sums.cells,):
            raise InputError(f"{name}: shape {values.shape} for {sums.cells} cells; give one number a cell")
    if not (np.isfinite(w).all() and (w > 0).all()):
        raise InputError("w: a weight is not a positive number; give each cell one")
    bad = np.flatnonzero(~(lo <= hi) | (lo == np.inf) | (hi == -np.inf))
    if len(bad):
        i = int(bad[0])
        raise InputError(f"lo, hi: cell {i} has no number between {lo[i]} and {hi[i]}; give bounds with lo <= hi")
    if start is not None and start.shape != (sums.equations,):
        raise InputError(f"start: shape {start.shape} for {sums.equations} equations; give the prices of an answer")
    prices = np.zeros(sums.equations) if start is None else start.astype(np.float64)
    return _Ascent(sums, w, lo, hi, accuracy, budget or Budget()).run(prices)


def _dot(x: Floats, y: Floats) -> float:
    """x·y without BLAS, whose threads cost more than they bring here, and whose sums depend on their number."""
    return float(np.einsum("i,i", x, y))


def _relative(amount: float, scale: float) -> float:
    """amount / scale, 0 when there is no amount, inf when there is no scale."""
    return amount / scale if scale else math.inf if amount else 0.0


@dataclass(frozen=True, eq=False)
class _Point:
    """Prices, the bound they prove, and its gradient, −K·z for the answers z."""

    y: Floats
    bound: float
    gradient: Floats


class _Ascent:
    """The climb to the best prices. Arrays over the cells are in working order; ``z`` and ``d`` belong to the ``latest`` point evaluated."""

    latest: _Point

    def __init__(self, sums: LeafSums, w: Floats, lo: Floats, hi: Floats, accuracy: float, budget: Budget) -> None:
        self.began = perf_counter()
        self.sums, self.accuracy, self.budget = sums, accuracy, budget
        self.w, self.lo, self.hi = sums.arranged(w), sums.arranged(lo), sums.arranged(hi)
        self.h = 0.5 / self.w
        self.scale = sums.diagonal(self.h)
        self.scale[self.scale == 0] = 1.0  # an equation without cells
        self.h[self.lo == self.hi] = 0.0  # a fixed cell answers no pull
        self.z, self.d = np.empty_like(self.w), np.empty_like(self.w)
        self.newton_steps = self.steps = 0

    def run(self, y: Floats) -> LeastSquares:
        """Climb until the answer is accurate enough or there is no hope of it."""
        point = self._at(y)
        size = best = self._size(point.gradient)
        large = max(size, math.sqrt(abs(point.bound)))
        waited, damping = 0, DAMPING
        while True:
            if size <= self.accuracy * math.sqrt(abs(point.bound)):
                answer = self._answer(point)
                if answer.status == "optimal":
                    return answer
            hopeless = size == 0 or waited == PATIENCE
            if hopeless or self.newton_steps == MOST_NEWTON_STEPS or self.budget.over:
                break
            share = min(1.0, size / large)
            direction = self._direction(point, min(FORCING, math.sqrt(share)), damping * share)
            length = self._search(point, direction)
            self.newton_steps += 1
            if length == 0:
                break
            point = self.latest
            if length < 0.1:
                damping = min(MOST_DAMPING, damping * 10)
            elif length > 0.5:
                damping = max(LEAST_DAMPING, damping / 10)
            size = self._size(point.gradient)
            waited = 0 if size < best else waited + 1
            best = min(best, size)
        return self._answer(self._at(point.y))

    def _size(self, gradient: Floats) -> float:
        return math.sqrt(_dot(gradient, gradient / self.scale))

    def _at(self, y: Floats) -> _Point:
        """Let every cell answer the pull of these prices."""
        bound = 0.0

        def answer(block: slice, pull: Floats) -> Floats:
            nonlocal bound
            h, z = self.h[block], self.z[block]
            wish = pull * h
            np.clip(wish, self.lo[block], self.hi[block], out=z)
            np.multiply(h, wish == z, out=self.d[block])
            np.multiply(z, self.w[block], out=wish)
            wish -= pull
            bound += _dot(wish, z)
            return z

        gradient = self.sums.sweep(y, answer)
        np.negative(gradient, out=gradient)
        self.latest = _Point(y, bound, gradient)
        return self.latest

    def _direction(self, point: _Point, forcing: float, damping: float) -> Floats:
        """Conjugate gradients for (K·diag(d)·Kᵀ + damping)·direction = gradient, until the given part of the gradient is left."""

        def weigh(block: slice, pull: Floats) -> Floats:
            pull *= self.d[block]
            return pull

        diagonal = self.sums.diagonal(self.d)
        extra = damping * np.maximum(diagonal, FLOOR * self.scale)
        diagonal += extra
        direction = np.zeros_like(point.y)
        rest = point.gradient.copy()
        step = rest / diagonal
        size = _dot(rest, step)
        goal = forcing * forcing * size
        for _ in range(MOST_GRADIENT_STEPS):
            image = self.sums.sweep(step, weigh)
            image += extra * step
            self.steps += 1
            curvature = _dot(step, image)
            if not curvature > 0:
                break
            direction += (size / curvature) * step
            rest -= (size / curvature) * image
            turned = rest / diagonal
            shrunk = _dot(rest, turned)
            if shrunk <= goal or self.budget.over:
                break
            step *= shrunk / size
            step += turned
            size = shrunk
        return direction

    def _search(self, point: _Point, direction: Floats) -> float:
        """How far to go along the direction: a good part of the way to its highest point; 0 when it has none, or rounding hides every improvement."""
        slope = _dot(point.gradient, direction)
        if not slope > 0:
            return 0.0
        noise = 1e-13 * abs(point.bound)
        length, near, near_slope, far, far_slope, rising = 1.0, 0.0, slope, math.inf, 0.0, 0
        for _ in range(MOST_TRIALS):
            trial = self._at(point.y + length * direction)
            here = _dot(trial.gradient, direction)
            enough = here >= 0 or trial.bound >= point.bound + 1e-4 * length * slope - noise
            if enough and abs(here) <= STEEP * slope:
                return length
            again = rising == (1 if here > 0 else -1)
            rising = 1 if here > 0 else -1
            if here > 0:
                near, near_slope = length, here
            else:
                far, far_slope = length, here
            if self.budget.over:
                break
            if far == math.inf:
                length *= 4.0
                if length > ENDLESS:
                    return 0.0
            else:
                part = 0.5 if again else near_slope / (near_slope - far_slope)
                length = near + (far - near) * min(0.95, max(0.05, part))
        if near > 0:
            self._at(point.y + near * direction)
        return near

    def _answer(self, point: _Point) -> LeastSquares:
        """The point that the answers of the leaves lead to, and everything measured at it."""
        sums = self.sums
        multipliers = np.empty_like(self.z)

        def hold(block: slice, pull: Floats) -> Floats:
            force = np.multiply(self.w[block], self.z[block], out=multipliers[block])
            force *= 2.0
            force -= pull
            force *= self.d[block] == 0
            return pull

        sums.sweep(point.y, hold)
        u = sums.at_leaves(self.z)
        z = sums.up(u)
        rest = sums.arranged(z)
        objective = slack = violation = scale = 0.0
        for begin in range(0, len(rest), BLOCK):
            block = slice(begin, begin + BLOCK)
            move, force, lo, hi = rest[block], multipliers[block], self.lo[block], self.hi[block]
            for bound, beyond in ((lo, lo - move), (hi, move - hi)):
                np.maximum(beyond, 0.0, out=beyond)
                beyond /= np.maximum(1.0, np.abs(bound))
                violation = max(violation, float(beyond.max()))
            held = np.flatnonzero(force)
            away = move[held] - np.where(force[held] > 0, lo[held], hi[held])
            slack += _dot(np.abs(force[held]), np.abs(away))
            marginal = self.w[block] * move
            objective += _dot(marginal, move)
            marginal *= 2.0
            scale = max(scale, float(np.abs(marginal).max()), float(np.abs(force).max()))
            np.subtract(marginal, force, out=move)
        stationarity = _relative(float(np.abs(sums.down(sums.restored(rest))).max(initial=0.0)), scale)
        complementarity = _relative(slack, objective)
        gap = _relative(abs(objective - point.bound), objective)
        inside = violation <= self.accuracy
        proven = all(residual <= self.accuracy for residual in (gap, stationarity, complementarity))  # no nan is
        status: Status = "unknown" if not inside else "optimal" if proven else "feasible"
        over = self.budget.over or self.newton_steps == MOST_NEWTON_STEPS
        return LeastSquares(
            status=status,
            x=z,
            u=u,
            multipliers=sums.restored(multipliers),
            prices=point.y,
            objective=objective,
            bound=point.bound,
            residual=violation,
            stationarity=stationarity,
            complementarity=complementarity,
            newton_steps=self.newton_steps,
            steps=self.steps,
            seconds=perf_counter() - self.began,
            solver=SOLVER,
            limit_reached=over and status != "optimal",
        )
