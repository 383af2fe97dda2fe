"""DisclosureStudy: what an attacker who knows the method can tell from an adjusted table, as in the propositions of Castro 2004. Confidential.

Legend: μ the multipliers of the levels of the cells at risk, e the attacker's errors in them, z the deviations published, z′ those that he obtains.
Proposition 1: for small errors the least distance grows by Σ μ·e. The least distance is convex in the levels, so that it never grows by less; where
several μ prove the optimum, the largest of their Σ μ·e is the rate. Proposition 2: L2 has one optimum only; L1 and L∞ may have many.
"""

from __future__ import annotations

from collections.abc import Iterable, Sequence
from dataclasses import dataclass, field, replace
from functools import cached_property
from typing import Any, Self

import numpy as np

from cellward.errors import InputError, SolverError, VerificationError
from cellward.exact import Bools, Floats, Ints
from cellward.instance import Weights
from cellward.protect.adjustment.cone import ByCones
from cellward.protect.adjustment.continuous import AdjustmentProblem, Continuous, PublishedGrid, value
from cellward.protect.adjustment.details import AdjustmentDetails
from cellward.protect.adjustment.distance import Distance
from cellward.protect.adjustment.equation import ByEquations
from cellward.protect.adjustment.faces import CLEAR, DeviationFace, MultiplierFace
from cellward.protect.adjustment.leaf import ByLeaves
from cellward.protect.adjustment.method import ControlledAdjustment
from cellward.protect.adjustment.needs import Room
from cellward.protection import Protection
from cellward.risk.attacker import Attacker
from cellward.solve.blas import blas_threads
from cellward.solve.budget import Budget
from cellward.table.relations import Relations
from cellward.table.table import Table

SAME = 1e-6
"""Rates and deviations that differ by this share at most are the same."""


@dataclass(frozen=True, eq=False)
class Resolved:
    """What an attacker obtains who solves the method's problem with levels that are off by ``errors``; all in the user's units.

    ``predicted``: Σ μ·e; ``rate``: the largest that any multipliers predict, which is the same unless they are ambiguous; ``growth``: what the least
    distance really is more. ``deviations`` are his, ``off`` how far they are from the ones published, both one a cell; he takes each true value to be
    the published one less his deviation, and so misses it by as much.
    """

    errors: Floats
    status: str
    objective: float
    predicted: float
    rate: float
    growth: float
    deviations: Floats | None = field(default=None, repr=False)
    off: Floats | None = field(default=None, repr=False)
    at_risk: Bools = field(default_factory=lambda: np.zeros(0, bool), repr=False)
    levels: Floats = field(default_factory=lambda: np.zeros(0), repr=False)

    def _of(self, cells: Bools | slice) -> tuple[float, float]:
        far = np.zeros(0) if self.off is None else self.off[cells]
        return (float(far.max()), float(far.mean())) if len(far) else (0.0, 0.0)

    @property
    def largest(self) -> float:
        """How far his farthest deviation is from the one published."""
        return self._of(slice(None))[0]

    @property
    def mean(self) -> float:
        """How far his deviations are from those published, on average."""
        return self._of(slice(None))[1]

    @property
    def largest_at_risk(self) -> float:
        """The same as ``largest``, of the cells at risk."""
        return self._of(self.at_risk)[0]

    @property
    def mean_at_risk(self) -> float:
        """The same as ``mean``, of the cells at risk."""
        return self._of(self.at_risk)[1]

    @property
    def found(self) -> int:
        """Cells at risk whose true value he finds, to a millionth of their level."""
        return 0 if self.off is None else int((self.off[self.at_risk] <= SAME * np.maximum(self.levels, SAME)).sum())

    def to_dict(self) -> dict[str, Any]:
        """The figures by name."""
        names = (
            "status",
            "objective",
            "predicted",
            "rate",
            "growth",
            "largest",
            "mean",
            "largest_at_risk",
            "mean_at_risk",
            "found",
        )
        return {"errors": self.errors.tolist(), **{name: getattr(self, name) for name in names}}

    def __str__(self) -> str:
        if self.off is None:
            return f"levels with these errors: {self.status}"
        return (
            f"levels with errors up to {float(np.abs(self.errors).max(initial=0.0)):.6g}: distance {self.objective:.6g}, grown by {self.growth:.6g} "
            f"(predicted {self.predicted:.6g}); his deviations are off by {self.mean_at_risk:.6g} on average and {self.largest_at_risk:.6g} at most "
            f"in cells at risk, {self.mean:.6g} and {self.largest:.6g} in all; he finds {self.found:,} of {len(self.levels):,} cells at risk"
        )


@dataclass(frozen=True, eq=False)
class Alternatives:
    """Other deviations at the same distance, and between what ends the deviation of each cell at risk lies in all of them; in the user's units."""

    unique: bool
    deviations: tuple[Floats, ...] = field(repr=False)
    cell: Ints = field(repr=False)
    lower: Floats
    upper: Floats
    settled: bool = True

    @property
    def determined(self) -> int:
        """Cells at risk whose deviation is the same in all optima: who knows all but the solver's choice can tell it."""
        same = self.upper - self.lower <= SAME * np.maximum(np.abs(self.upper), SAME)
        return int(same.sum())

    def to_dict(self) -> dict[str, Any]:
        """The figures by name."""
        ends = zip(self.cell.tolist(), self.lower.tolist(), self.upper.tolist(), strict=True)
        return {
            "unique": self.unique,
            "found": len(self.deviations),
            "determined": self.determined,
            "settled": self.settled,
            "ranges": {cell: [low, high] for cell, low, high in ends},
        }

    def __str__(self) -> str:
        if self.unique:
            return "alternative optima: none, the optimum is unique; who knows every level and bound can tell all deviations"
        words = f"alternative optima: {len(self.deviations):,} found; the deviations of {self.determined:,} of {len(self.cell):,} cells at risk "
        return words + "are the same in all" + ("" if self.settled else " (as far as the solver could tell)")


@dataclass(frozen=True, eq=False)
class DisclosureStudy:
    """The disclosure risk of a controlled adjustment (any norm), from its result or, by :meth:`of`, from the method and a table.

    The study takes senses and levels as they were drawn, turned and bent for the result; on a grid coarser than the table's own, levels are those
    that the grid makes of them. ``budget``: what each of its solves may use.

    >>> table = Table.from_equations([12, 8, 20], [[1, 1, -1]], sensitive=[2], lpl=[4], upl=[4])
    >>> study = DisclosureStudy.of(ControlledAdjustment(norm="l1", senses="up", jitter=0), table, weights="equal")
    >>> study.objective, study.multipliers.tolist(), study.indicator
    (8.0, [2.0], 2.0)
    >>> study.resolve(1).growth
    2.0
    """

    protection: Protection
    budget: Budget = field(default_factory=Budget)

    def __post_init__(self) -> None:
        p = self.protection
        if not isinstance(p.details, AdjustmentDetails):
            name = p.method.get("name", "") or "no adjustment"
            if p.scaled is None and name == "controlled tabular adjustment":
                raise VerificationError(f"a result called {p.status} has nothing to study; {p.reason}")
            raise InputError(f"the result is of {name}; only a result of ControlledAdjustment can be studied")

    @classmethod
    def of(
        cls,
        method: ControlledAdjustment,
        table: Table,
        *,
        weights: Weights = None,
        attackers: Iterable[Attacker] | None = None,
        key: bytes | None = None,
        budget: Budget | None = None,
    ) -> Self:
        """The study of what the method makes of a table; ``key``: the one of the result that is studied."""
        budget = Budget() if budget is None else budget
        found = method.protect(
            table,
            weights=weights,
            attackers=attackers,
            key=key,
            time_limit_s=budget.time_limit_s,
            threads=budget.threads,
            seed=budget.seed,
        )
        return cls(found, budget)

    # ---- what was solved -----------------------------------------------------------------------------------------------------------------------

    @property
    def _details(self) -> AdjustmentDetails:
        assert isinstance(self.protection.details, AdjustmentDetails)
        return self.protection.details

    @property
    def cells(self) -> Ints:
        """The cells at risk, by number."""
        return np.array(list(self._details.senses), np.int64)

    @property
    def senses(self) -> Ints:
        """Which way each moves: +1 or −1."""
        return np.array(list(self._details.senses.values()), np.int64)

    @property
    def levels(self) -> Floats:
        """How far each moves at least, as drawn."""
        p = self.problem
        return np.where(self.senses > 0, p.lo[self.cells], -p.hi[self.cells]) / self._unit

    @property
    def deviations(self) -> Floats:
        """The deviations published, one a cell."""
        p = self.protection
        assert p.scaled is not None
        return np.asarray((p.scaled - p.instance.a) / 10.0**p.instance.decimals)

    @property
    def _unit(self) -> float:
        """Units of the problem in one of the user's."""
        return float(10.0**self.problem.decimals)

    @cached_property
    def problem(self) -> AdjustmentProblem:
        """The problem that was solved, in units of the table's last decimal."""
        p, i = self.protection, self.protection.instance
        r, distance = i.relations, self.protection.sought.measure
        if not isinstance(distance, Distance):
            sensitive = np.zeros(i.cells, bool)
            sensitive[self.cells] = True
            distance = Distance("l1", i.weight, i.weight, i.weight_decimals, sensitive)
        still = Relations(r.cells, r.indptr, r.indices, r.coefs, np.zeros_like(r.rhs)) if r.rhs.any() else r
        allowed = p.sought.allowed
        assert allowed is not None
        if p.publication is not None and p.publication.v is not None:
            allowed = allowed.beside(p.publication.v)
        room = Room(allowed.lo - i.a, allowed.hi - i.a)
        return AdjustmentProblem.of(still, room, distance, i.decimals - i.beyond, PublishedGrid(i.a, 1, 10**i.beyond))

    @property
    def norm(self) -> str:
        """The norm of the distance."""
        return self.problem.distance.norm

    def _solved(self, problem: AdjustmentProblem) -> Continuous:
        """The optimum in a form that gives multipliers: L1 and L∞ by the simplex, whose multipliers are those of a basis."""
        budget = self.budget.again()
        if self.norm in ("l1", "linf"):
            return ByEquations().solve(problem, budget)
        with blas_threads(self.budget.threads):
            if ByLeaves().accepts(problem) is None and (found := ByLeaves().solve(problem, budget)).status != "unknown":
                return found
            return ByCones().solve(problem, budget)

    @cached_property
    def optimum(self) -> Continuous:
        """The continuous optimum, which what was published is near to."""
        found = self._solved(self.problem)
        if found.status != "optimal" or found.z is None or found.multipliers is None:
            raise SolverError(f"the optimum was not found again ({found.engine}: {found.status}); give more time")
        return found

    @property
    def objective(self) -> float:
        """The least distance."""
        return self.optimum.objective

    # ---- Proposition 1 -------------------------------------------------------------------------------------------------------------------------

    @cached_property
    def _multipliers(self) -> MultiplierFace:
        o = self.optimum
        assert o.z is not None and o.multipliers is not None
        return MultiplierFace(self.problem, o.z, o.multipliers, self.cells, self.senses)

    def _farthest(self, direction: Floats) -> Floats:
        found = self._multipliers.towards(direction, self.budget.again())
        if found is None:
            raise SolverError("the multipliers of the levels were not found; give more time")
        return found * self._unit

    @cached_property
    def ambiguous(self) -> bool:
        """Whether other multipliers prove the optimum too: the distance then grows at another rate than it falls."""
        if not len(self.cells):
            return False
        mixed = np.random.default_rng(0).uniform(0.5, 1.5, len(self.cells))
        high, low = (float(mixed @ self._farthest(sign * mixed)) for sign in (1, -1))
        usual = self.objective / max(float(self.levels.sum()), 1e-300)
        return bool(high > low + SAME * max(low, usual))

    @cached_property
    def multipliers(self) -> Floats:
        """μ, one a cell at risk: the rate at which the least distance grows with its level, per unit of the user's.

        Where they are ambiguous, those at which it grows when all levels grow alike; where these have no end, since levels cannot grow all together,
        those at which it falls when all levels fall.
        """
        given = self._multipliers.given
        if not len(self.cells):
            return np.zeros(0)
        if given is not None and not self.ambiguous:
            return given * self._unit
        ones = np.ones(len(self.cells))
        growing = self._farthest(ones)
        return growing if np.isfinite(growing).all() else self._farthest(-ones)

    @property
    def indicator(self) -> float:
        """‖μ‖₂: the larger, the farther off are attackers who do not know the levels exactly."""
        return float(np.linalg.norm(self.multipliers))

    def multiplier_ranges(self) -> tuple[Floats, Floats]:
        """For each cell at risk the least and the largest multiplier that go with the optimum: the rates at which the least distance falls when its
        level alone falls, and grows when it grows (inf: the level cannot grow)."""
        low, high = self.multipliers, self.multipliers
        if self.ambiguous:
            each = list(enumerate(np.eye(len(self.cells))))
            low, high = (np.array([self._farthest(sign * one)[k] for k, one in each]) for sign in (-1, 1))
        return low, np.where(self._last, np.inf, high)

    @property
    def _last(self) -> Bools:
        """Cells at risk whose bounds let them move by their level and no farther."""
        return np.asarray(self.problem.lo[self.cells] == self.problem.hi[self.cells])

    def resolve(self, errors: float | Sequence[float] | Floats) -> Resolved:
        """What an attacker obtains who knows all but the levels, and takes them to be larger by ``errors``: one a cell at risk, or one for all.

        A level that an error would turn below 0 is 0.
        """
        e = np.asarray(errors, np.float64)
        if e.ndim == 0:
            e = np.full(len(self.cells), float(e))
        if e.shape != (len(self.cells),) or not np.isfinite(e).all():
            raise InputError(f"errors: give a number, or one for each of the {len(self.cells)} cells at risk")
        p, at = self.problem, self.cells
        level = np.maximum(self.levels + e, 0.0) * self._unit
        lo, hi = p.lo.copy(), p.hi.copy()
        lo[at], hi[at] = np.where(self.senses > 0, level, lo[at]), np.where(self.senses > 0, hi[at], -level)
        predicted = float(self.multipliers @ e)
        rate = float("inf") if np.any(self._last & (e > 0)) else predicted
        if self.ambiguous and np.isfinite(rate):
            steepest = self._farthest(e)
            rate = float((steepest * e)[e != 0].sum()) if np.isfinite(steepest[e != 0]).all() else float("inf")
        nothing = Resolved(e, "infeasible", float("inf"), predicted, rate, float("inf"))
        if np.any(lo > hi):
            return nothing
        found = self._solved(p.between(lo, hi))
        if found.z is None or found.status != "optimal":
            return replace(nothing, status=found.status)
        z = found.z / self._unit
        return Resolved(
            e,
            found.status,
            found.objective,
            predicted,
            rate,
            found.objective - self.objective,
            z,
            np.abs(z - self.deviations),
            np.isin(np.arange(len(z)), at),
            self.levels,
        )

    # ---- Proposition 2 -------------------------------------------------------------------------------------------------------------------------

    def alternatives(self, count: int = 3, seed: int = 0, *, least_l1: bool = False) -> Alternatives:
        """Up to ``count`` other deviations at the least distance, in random directions, and the range of each cell at risk over all of them.

        ``least_l1``: for L∞, only those optima that the method chooses from: of the maxima it found, those of least L1.
        """
        p, found = self.problem, self.optimum
        if least_l1 and self.norm == "linf":
            p, found = self._least_l1()
        assert found.z is not None and found.multipliers is not None
        face, at = DeviationFace(p, found.z, found.multipliers), self.cells
        z = found.z / self._unit
        if face.unique:
            return Alternatives(True, (), at, z[at], z[at])
        settled, others = True, [found.z]
        draws = np.random.default_rng(seed)
        for _ in range(count):
            other = face.towards(draws.normal(size=len(z)), self.budget.again())
            settled &= other is not None
            if other is not None and not any(_alike(other, seen) for seen in others):
                others.append(other)
        ends = np.array([z[at], z[at]])
        for k, i in enumerate(at.tolist()):
            for side, sign in enumerate((-1.0, 1.0)):
                end = face.towards(np.where(np.arange(len(z)) == i, sign, 0.0), self.budget.again())
                settled &= end is not None
                if end is not None:
                    ends[side, k] = end[i] / self._unit
        lower, upper = np.minimum(ends[0], z[at]), np.maximum(ends[1], z[at])
        return Alternatives(False, tuple(other / self._unit for other in others[1:]), at, lower, upper, settled)

    def _least_l1(self) -> tuple[AdjustmentProblem, Continuous]:
        """The second problem of L∞: the maxima found are bounds, and L1 is made small."""
        p, z = self.problem, self.optimum.z
        assert z is not None
        w, own = p.costs.absolute, p.distance.sensitive
        most = [float((w * np.abs(z))[cells].max(initial=0.0)) for cells in (own, ~own)]
        cap = np.divide(np.where(own, *most), w, out=np.full(len(w), np.inf), where=w > 0)
        lo, hi = np.maximum(p.lo, np.minimum(-cap, z)), np.minimum(p.hi, np.maximum(cap, z))
        inside = replace(p.between(lo, hi), distance=replace(p.distance, norm="l1"))
        found = ByEquations().solve(inside, self.budget.again())
        if found.status != "optimal":
            raise SolverError(f"the optimum was not found again ({found.engine}: {found.status}); give more time")
        return inside, found

    # ---- in words ------------------------------------------------------------------------------------------------------------------------------

    @property
    def published_objective(self) -> float:
        """The distance of what was published: at least the least one."""
        return value(self.problem, self.deviations * self._unit)

    def report(self) -> list[str]:
        """A few lines."""
        mu, n = self.multipliers, len(self.cells)
        lines = [
            f"disclosure study of {n:,} cells at risk, norm {self.norm}: least distance {self.objective:.6g}, "
            f"published {self.published_objective:.6g}"
        ]
        if n:
            top = int(mu.argmax())
            name = self.protection.instance.labels.name(int(self.cells[top]))
            lines.append(
                f"multipliers of levels: 2-norm {self.indicator:.6g}, {int((mu > CLEAR * mu.max(initial=0.0)).sum()):,} above 0, largest "
                f"{mu[top]:.6g} of {name}{'; ambiguous: others prove the optimum too' if self.ambiguous else ''}"
            )
        return lines

    def __str__(self) -> str:
        return "\n".join(self.report())

    def to_dict(self) -> dict[str, Any]:
        """The figures by name; confidential."""
        columns = (self.cells, self.senses, self.levels, self.multipliers)
        return {
            "norm": self.norm,
            "objective": self.objective,
            "published_objective": self.published_objective,
            "indicator": self.indicator,
            "ambiguous": self.ambiguous,
            "cells": [
                {"cell": cell, "sense": sense, "level": level, "multiplier": mu}
                for cell, sense, level, mu in zip(*(column.tolist() for column in columns), strict=True)
            ],
        }


def _alike(one: Floats, two: Floats) -> bool:
    return bool(np.abs(one - two).max(initial=0.0) <= SAME * max(float(np.abs(one).max(initial=0.0)), 1.0))
