"""Interior point for separable distances: min Σ α|z| + β·z² (+ cᵀτ) over z = N·u + k, R·u = r, with bounds on z that may grow with few τ.

A primal–dual method with Mehrotra's corrector in the variables u, which are few: each step factorises NᵀDN (one Cholesky of the size of u). |z| is
the sum of two parts z⁺, z⁻ ≥ 0 where a cell may move either way, and linear where it may not. The bounds of all kinds are rows s·z + e·τ ≥ b.
"""

from __future__ import annotations

from dataclasses import dataclass, field
from time import perf_counter
from typing import TYPE_CHECKING, Final

import numpy as np

from cellward.exact import Floats, Ints
from cellward.solve.budget import Budget
from cellward.solve.newton import Newton
from cellward.solve.outcome import Outcome, Status

if TYPE_CHECKING:
    from scipy.sparse import csr_matrix


SOLVER: Final = "interior point"
MOST_STEPS = 200
TO_BOUNDARY = 0.995
"""How far of the way to the boundary a step goes at most."""
INSIDE = 0.1
"""How far inside its bounds everything starts, as a share of what cells move by."""
POLISHED = 2
"""How often the multipliers are corrected at the end."""


@dataclass(frozen=True, eq=False)
class Rows:
    """Bounds ``sign``·z[``cell``] + ``slope``·τ[``grows``] ≥ ``least``."""

    cell: Ints
    sign: Floats
    least: Floats
    slope: Floats
    grows: Ints

    @staticmethod
    def box(lo: Floats, hi: Floats) -> Rows:
        """lo ≤ z ≤ hi, infinite ones left out."""
        below, above = np.flatnonzero(np.isfinite(lo)), np.flatnonzero(np.isfinite(hi))
        cell = np.concatenate((below, above))
        sign = np.repeat([1.0, -1.0], [len(below), len(above)])
        return Rows(
            cell, sign, np.concatenate((lo[below], -hi[above])), np.zeros(len(cell)), np.zeros(len(cell), np.int64)
        )

    @staticmethod
    def caps(slope: Floats, grows: int) -> Rows:
        """|z| ≤ slope·τ[grows] for every cell whose slope is finite."""
        cell = np.flatnonzero(np.isfinite(slope))
        ones, twice = np.ones(len(cell)), np.concatenate((cell, cell))
        return Rows(
            twice, np.concatenate((ones, -ones)), np.zeros(len(twice)), slope[twice], np.full(len(twice), grows)
        )

    @staticmethod
    def floor(least: float, grows: int) -> Rows:
        """τ[grows] ≥ least, as a bound of no cell; none for 0."""
        one = np.ones(1 if least > 0 else 0)
        return Rows(np.zeros(len(one), np.int64), 0 * one, least * one, one, np.full(len(one), grows))

    @staticmethod
    def joined(*parts: Rows) -> Rows:
        """All of these."""
        names = ("cell", "sign", "least", "slope", "grows")
        return Rows(*(np.concatenate([getattr(part, name) for part in parts]) for name in names))


@dataclass(frozen=True, eq=False, kw_only=True)
class Interior(Outcome):
    """The point z = ``x``, τ, ``multipliers`` (one a row, at least 0), ``slope`` (that of α|z|, between −α and α where z is 0).

    ``residual``: what rows, and the conditions on multipliers of τ, are missed by, as a share of the largest |z|. ``optimal``: it is within the
    accuracy asked for, and so is the gap; ``feasible``: it alone is.
    """

    x: Floats = field(repr=False)
    u: Floats = field(repr=False)
    tau: Floats = field(repr=False)
    multipliers: Floats = field(repr=False)
    slope: Floats = field(repr=False)
    steps: int


def interior_point(
    matrix: csr_matrix,
    condition: csr_matrix,
    rhs: Floats,
    constant: Floats,
    rows: Rows,
    *,
    absolute: Floats,
    square: Floats,
    grow_cost: Floats | None = None,
    accuracy: float = 1e-9,
    budget: Budget | None = None,
) -> Interior:
    """Minimise Σ absolute·|z| + square·z² + Σ grow_cost·τ over z = matrix·u + constant with condition·u = rhs and the rows."""
    began = perf_counter()
    costs = np.zeros(0) if grow_cost is None else grow_cost
    with np.errstate(all="ignore"):
        search = _Search(matrix, condition, rhs, constant, rows, absolute, square, costs)
    steps, best, out_of_time = 0, np.inf, False
    with np.errstate(all="ignore"):  # what overflows ends the search; the caller checks the point anew
        while True:
            search.measure()
            status = search.status(accuracy)
            if status == "optimal":
                break
            out_of_time = budget is not None and budget.over
            best = min(best, max(search.gap, search.residual))
            if out_of_time or steps >= MOST_STEPS or not np.isfinite(best) or not search.step():
                break
            steps += 1
        for _ in range(POLISHED if search.factorised else 0):
            search.polish()
    return Interior(
        status=status,
        x=search.z,
        objective=search.objective,
        bound=search.objective - search.products,
        residual=search.residual,
        seconds=perf_counter() - began,
        solver=SOLVER,
        limit_reached=out_of_time or steps >= MOST_STEPS,
        u=search.u,
        tau=search.tau,
        multipliers=search.y,
        slope=search.slope,
        steps=steps,
    )


class _Search:
    """The iterate: u, τ, slacks p with multipliers y of the rows, and the parts z⁺, z⁻ of the cells that may move either way."""

    def __init__(
        self,
        matrix: csr_matrix,
        condition: csr_matrix,
        rhs: Floats,
        constant: Floats,
        rows: Rows,
        absolute: Floats,
        square: Floats,
        grow_cost: Floats,
    ) -> None:
        self.n, self.constant, self.rows, self.square = matrix, constant, rows, square
        self.grow_cost, self.rhs = grow_cost, rhs
        self.cells = len(absolute)
        self.newton = Newton(matrix, condition)
        low, high = np.full(self.cells, -np.inf), np.full(self.cells, np.inf)
        still = rows.slope == 0
        up, down = still & (rows.sign > 0), still & (rows.sign < 0)
        np.maximum.at(low, rows.cell[up], rows.least[up])
        np.minimum.at(high, rows.cell[down], -rows.least[down])
        self.absolute = absolute
        self.linear = np.where(low >= 0, absolute, np.where(high <= 0, -absolute, 0.0))
        self.split = np.flatnonzero((low < 0) & (high > 0) & (absolute > 0))
        self.w = absolute[self.split]
        self._start(np.clip(0.0, low, high))
        self.many = len(self.p) + 2 * len(self.split)
        self.factorised = False

    def _start(self, goal: Floats) -> None:
        """Near the goals of cells that must move, everything else little; then everything well inside."""
        must = np.abs(goal)
        size = max(float(must[must > 0].mean()) if must.any() else 1.0, 1e-6)
        weight = self.absolute / np.maximum(must, size) + self.square
        if len(self.grow_cost):
            weight = weight + self._cap_weights()
        weight = np.where(must > 0, 30 * weight, weight)
        top = float(weight.max(initial=1.0))
        weight = np.maximum(weight, 1e-10 * (top if top > 0 else 1.0))
        tau = len(self.grow_cost)
        self.newton.factorise(weight, np.zeros((self.cells, tau)), np.eye(tau))
        self.u, _ = self.newton.solve(self.newton.down @ (weight * (goal - self.constant)), np.zeros(tau), self.rhs)
        self.z = self.n @ self.u + self.constant
        r = self.rows
        self.tau = np.zeros(tau)
        away = np.abs(self.z)
        for k in range(tau):
            mine = (r.slope > 0) & (r.grows == k)
            self.tau[k] = 1.1 * float((away[r.cell[mine]] / r.slope[mine]).max(initial=0.0)) + 1e-12
        typical = np.maximum(INSIDE * away, INSIDE * float(away.mean()))
        if not typical.any():
            typical = np.full(self.cells, INSIDE * size)
        slack = self._values() - r.least
        caps = r.slope > 0
        room = typical[r.cell]
        if tau:
            room = np.where(caps, 0.5 * r.slope * self.tau[r.grows], room)
        self.p = np.maximum(slack, room)
        z = self.z[self.split]
        self.plus, self.minus = np.maximum(z, 0) + typical[self.split], np.maximum(-z, 0) + typical[self.split]
        self.pull = np.zeros(len(self.split))
        slope = self.absolute + 2 * self.square * typical
        if tau:
            many = np.bincount(r.grows[caps], minlength=tau)
            steep = self.grow_cost[r.grows] / np.maximum(many[r.grows], 1) / np.where(caps, r.slope, 1.0)
            mu = float(np.mean((steep * self.p)[caps]))
            self.y = np.where(caps, steep, mu / self.p)
        else:
            self.y = (slope * typical)[r.cell] / self.p

    @property
    def slope(self) -> Floats:
        """The slope of α|z|."""
        out = self.linear.copy()
        out[self.split] = self.pull
        return out

    def _cap_weights(self) -> Floats:
        r = self.rows
        caps = r.slope > 0
        out = np.zeros(self.cells)
        np.maximum.at(out, r.cell[caps], 1 / r.slope[caps] ** 2)
        many = max(int(caps.sum()), 1)
        return np.asarray(out / many)

    def _values(self) -> Floats:
        """s·z + e·τ of every row."""
        r = self.rows
        out = r.sign * self.z[r.cell]
        if len(self.tau):
            out = out + r.slope * self.tau[r.grows]
        return np.asarray(out)

    def measure(self) -> None:
        """Residuals, the gap and the objective of the iterate."""
        r = self.rows
        self.miss = self._values() - r.least - self.p
        self.apart = self.z[self.split] - self.plus + self.minus
        self.force = self.linear + 2 * self.square * self.z
        self.force -= np.bincount(r.cell, r.sign * self.y, self.cells)
        self.force[self.split] += self.pull
        self.grow = self.grow_cost.copy()
        if len(self.tau):
            self.grow -= np.bincount(r.grows, r.slope * self.y, len(self.tau))
        self.s_plus, self.s_minus = self.w - self.pull, self.w + self.pull
        self.products = float(self.p @ self.y + self.plus @ self.s_plus + self.minus @ self.s_minus)
        self.mu = self.products / max(self.many, 1)
        z = self.z
        self.objective = float(self.absolute @ np.abs(z) + self.square @ (z * z) + self.grow_cost @ self.tau)
        self.gap = self.products / max(abs(self.objective), 1e-12)
        size = max(float(np.abs(z).max(initial=0.0)), 1e-3)
        missed = max(float(np.abs(self.miss).max(initial=0.0)), float(np.abs(self.apart).max(initial=0.0))) / size
        self.residual = max(missed, float(np.abs(self.grow).max(initial=0.0)))

    def status(self, accuracy: float) -> Status:
        """What has been shown of the iterate as it was measured."""
        if not self.residual <= accuracy:
            return "unknown"
        return "optimal" if self.gap <= accuracy else "feasible"

    def step(self) -> bool:
        """One predictor and corrector; False when the linear algebra fails or nothing moves."""
        r = self.rows
        ratio = self.y / self.p
        inverse = self.plus / self.s_plus + self.minus / self.s_minus
        d = 2 * self.square + np.bincount(r.cell, ratio, self.cells)
        d[self.split] += 1 / inverse
        d = np.maximum(d, 1e-18 * float(d.max(initial=1.0)))
        tau = len(self.tau)
        border, corner = np.zeros((self.cells, tau)), np.zeros((tau, tau))
        for k in range(tau):
            mine = r.grows == k
            border[:, k] = np.bincount(r.cell[mine], (ratio * r.sign * r.slope)[mine], self.cells)
            corner[k, k] = float((ratio * r.slope**2)[mine].sum())
        self.factorised = self.newton.factorise(d, border, corner)
        if not self.factorised:
            return False
        self.parts = ratio, inverse
        given = self.rhs - self.newton.condition @ self.u
        zero = np.zeros(0)

        def towards(target: float, second: tuple[Floats, Floats, Floats] | None) -> tuple[Floats, ...]:
            c = target - self.p * self.y
            cp, cm = target - self.plus * self.s_plus, target - self.minus * self.s_minus
            if second is not None:
                c, cp, cm = c - second[0], cp - second[1], cm - second[2]
            t = (c - self.y * self.miss) / self.p  # dy = t − ratio·(s·dz + e·dτ)
            k = (self.apart - cp / self.s_plus + cm / self.s_minus) / inverse  # dpull = dz/inverse + k
            right = self.force - np.bincount(r.cell, r.sign * t, self.cells)
            right[self.split] += k
            below = zero if not tau else -(self.grow - np.bincount(r.grows, r.slope * t, tau))
            du, dtau = self.newton.solve(-(self.newton.down @ right), below, given)
            dz = self.n @ du
            dv = r.sign * dz[r.cell]
            if tau:
                dv = dv + r.slope * dtau[r.grows]
            dpull = dz[self.split] / inverse + k
            dplus, dminus = (cp + self.plus * dpull) / self.s_plus, (cm - self.minus * dpull) / self.s_minus
            return du, dtau, dv + self.miss, t - ratio * dv, dpull, dplus, dminus

        du, _, dp, dy, dpull, dplus, dminus = towards(0.0, None)
        if not np.isfinite(du).all():
            return False
        a, b = self._lengths(dp, dy, dpull, dplus, dminus)
        reached = (self.p + a * dp) @ (self.y + b * dy)
        reached += (self.plus + a * dplus) @ (self.s_plus - b * dpull)
        reached += (self.minus + a * dminus) @ (self.s_minus + b * dpull)
        share = max(float(reached), 0.0) / max(self.many, 1) / self.mu
        target = share**3 * self.mu if share < 1 else self.mu
        moves = towards(target, (dp * dy, -dplus * dpull, dminus * dpull))
        du, dtau, dp, dy, dpull, dplus, dminus = moves
        if not np.isfinite(du).all():
            return False
        a, b = self._lengths(dp, dy, dpull, dplus, dminus)
        a, b = min(1.0, TO_BOUNDARY * a), min(1.0, TO_BOUNDARY * b)
        if max(a, b) < 1e-8:
            return False
        self.u = self.u + a * du
        self.z = self.n @ self.u + self.constant
        self.tau = self.tau + a * dtau
        self.p, self.plus, self.minus = self.p + a * dp, self.plus + a * dplus, self.minus + a * dminus
        self.y, self.pull = self.y + b * dy, self.pull + b * dpull
        return True

    def polish(self) -> None:
        """Take what rounding left of the forces on u away, at the expense of the cells that are held: these hardly notice."""
        r, (ratio, inverse) = self.rows, self.parts
        self.measure()
        none = np.zeros(self.newton.condition.shape[0])
        du, dtau = self.newton.solve(-(self.newton.down @ self.force), -self.grow, none)
        dz = self.n @ du
        dv = r.sign * dz[r.cell] + (r.slope * dtau[r.grows] if len(dtau) else 0.0)
        self.y = self.y - ratio * dv
        self.pull = self.pull + dz[self.split] / inverse

    def _lengths(self, dp: Floats, dy: Floats, dpull: Floats, dplus: Floats, dminus: Floats) -> tuple[float, float]:
        """How far the step may go in the primal and in the dual part: the same in both where the objective is curved."""
        a = min(_reach(self.p, dp), _reach(self.plus, dplus), _reach(self.minus, dminus))
        b = min(_reach(self.y, dy), _reach(self.s_plus, -dpull), _reach(self.s_minus, dpull))
        return (min(a, b),) * 2 if self.square.any() else (a, b)


def _reach(x: Floats, dx: Floats) -> float:
    """The largest step up to 1 that keeps x + step·dx from going below 0."""
    with np.errstate(divide="ignore", invalid="ignore"):
        worst = float(np.max(-dx / x, initial=0.0))
    return 1.0 if worst <= 1.0 else 1.0 / worst
