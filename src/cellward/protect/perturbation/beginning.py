"""A table to begin a perturbation with, without the linear program of the whole: a rounding to the same multiples, or the least on the grid."""

from __future__ import annotations

from dataclasses import dataclass, replace
from fractions import Fraction

import numpy as np

from cellward import exact
from cellward.errors import SolverError
from cellward.exact import Floats, Ints
from cellward.protect.lattice.capacity import Capacity, guards
from cellward.protect.lattice.model import LatticeModel
from cellward.protect.lattice.protected import ProtectedSearch as Snapping
from cellward.protect.lattice.refutation import Constraints
from cellward.protect.lattice.told_box import AroundValue, BetweenMultiples
from cellward.protect.perturbation.cutting_planes import FractionalOptimum
from cellward.protect.perturbation.intervals import PerturbationIntervals
from cellward.protect.perturbation.publishing import Publishing
from cellward.protect.perturbation.question import PerturbationQuestion
from cellward.protection import Protection
from cellward.publication.allowed import AllowedSet
from cellward.risk.attacker import Attacker
from cellward.table.levels import Levels


@dataclass(frozen=True)
class Beginning:
    """Where a perturbation can begin, and what is published of it."""

    asked: PerturbationQuestion
    publishing: Publishing

    def table(self, places: int) -> Protection | None:
        """A protected table without the linear program of the whole: a rounding to the same multiples, or the least on the grid with nothing held."""
        fine = self.asked.intervals.finer(places)
        if fine.form != "base":
            return None
        grid = self.asked.method.grid
        step = 1 if grid is None else int(exact.scale_one(grid, fine.instance.decimals, "grid", strict=True))
        try:
            rounded = self._rounding(fine) if not np.any(fine.amount % step) else None
            return self._on_whole_grid(fine, step) if rounded is None and not self.asked.budget.over else rounded
        except SolverError:
            return None

    def _rounding(self, fine: PerturbationIntervals) -> Protection | None:
        """A rounding, which is told as values that all sit on ends."""
        base, stays = np.maximum(fine.amount, 1), fine.lo == fine.hi
        low, high = (np.where(stays, fine.lo, end) for end in (-(-fine.lo // base) * base, fine.hi // base * base))
        model = self._model_of(fine, low, high, base)
        if model is None:
            return None
        known = fine.knowledge(fine.instance.a, self.asked.method.knowledge)
        boxes = isinstance(fine.told_box(self.asked.method.knowledge), BetweenMultiples)
        watched = guards(fine.instance, known, AroundValue(fine.amount)) if boxes else self.asked.watched(fine)
        if boxes:
            watched.append(_gate(fine))
        return self._searched(fine, model, watched if self.asked.levels else [], "a rounding")

    def _on_whole_grid(self, fine: PerturbationIntervals, step: int) -> Protection | None:
        """The least table on the grid, wherever in the intervals, if it protects."""
        stays = fine.lo == fine.hi
        low, high = (np.where(stays, fine.lo, end) for end in (-(-fine.lo // step) * step, fine.hi // step * step))
        model = self._model_of(fine, low, high, np.full(len(low), step))
        return None if model is None else self._searched(fine, model, [], "the least table on the grid")

    def _model_of(self, fine: PerturbationIntervals, low: Ints, high: Ints, step: Ints) -> LatticeModel | None:
        """The values from low to high as a lattice; None where it holds no table."""
        if np.any(low > high):
            return None
        aim = fine.aim(self.asked.objective)
        weight, target = (fine.instance.weight, None) if aim is None else (aim.weight, aim.target)
        allowed = AllowedSet(low, high, np.where(low < high, step, 0))
        model = LatticeModel(replace(fine.instance, weight=weight), allowed, target)
        return None if len(model.impossible) else model

    def _searched(
        self, fine: PerturbationIntervals, model: LatticeModel, watched: list[Capacity], what: str
    ) -> Protection | None:
        """The least protected table of a lattice, with what is known of the least of all without a solver."""
        aim = fine.aim(self.asked.objective)
        bound = Fraction(0) if aim is None else Fraction(aim.constant, aim.scale) / fine.factor

        def made(v: Ints, engine: str, prices: Floats | None = None) -> Protection:
            return self.publishing.made(
                fine, v, FractionalOptimum("unknown", f"{what} ({engine})", multipliers=prices), bound
            )

        search = Snapping(model, watched, made, self.asked.budget)
        if watched and Constraints.of(model, [one.row for one in search.level_rows]).contradiction() is not None:
            return None
        answer = search.solve()
        if answer.x is None:
            return None
        prices = answer.multipliers
        if prices is not None and aim is not None:
            prices = prices / aim.scale
        found = made(model.values(answer.x), answer.engine, prices)
        if search.last is not None:
            found = replace(found, shown=found.shown.knowing(search.last.shown))
        return None if self.asked.levels and found.protected is False else found


def _gate(fine: PerturbationIntervals) -> Capacity:
    """What the gate asks of cells at risk that can only be larger, where no true value lies on an end of what is told."""
    own, instance = fine.instance.sensitivity, fine.instance
    cell = own.unsafe[instance.a[own.unsafe] <= instance.lower[own.unsafe]]
    none = np.zeros(len(cell), np.int64)
    public = replace(Attacker.external(whole=True), levels=Levels(cell, none, none + own.unit, none))
    return Capacity(replace(instance, attackers=(public,)), AroundValue(np.maximum(fine.amount - own.unit, 0)))
