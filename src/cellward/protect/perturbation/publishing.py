"""Published: the continuous optimum as an additive table, exact where it has few decimals, else on a grid near it."""

from __future__ import annotations

from collections.abc import Iterator
from dataclasses import dataclass, replace
from fractions import Fraction
from typing import Literal

import numpy as np

from cellward import exact
from cellward.errors import SolverError
from cellward.exact import Ints
from cellward.objective import Objective
from cellward.protect.lattice.capacity import Cut
from cellward.protect.lattice.engines import ANY_TABLE, ENGINES
from cellward.protect.lattice.linear import row_of
from cellward.protect.lattice.model import LatticeModel
from cellward.protect.lattice.protected import ProtectedSearch as Snapping
from cellward.protect.lattice.told_box import BetweenMultiples
from cellward.protect.perturbation.cutting_planes import CuttingPlanes, FractionalOptimum
from cellward.protect.perturbation.decimals import near
from cellward.protect.perturbation.intervals import PerturbationIntervals
from cellward.protect.perturbation.question import PerturbationQuestion
from cellward.protection import Protection
from cellward.publication.allowed import AllowedSet
from cellward.publication.values import Values

PLAIN_PLACES = 3
"""Decimals more than the table's that an optimum may turn out to have."""
NEAR = 1e-3
"""How near to whole an optimum must be, in the last of its decimals."""
OPTIMAL = 1e-6
"""How far above its bound, in parts of it, what is published may be and still be called the continuous optimum."""
WIDENINGS = (0, 1, 2, 8)
"""Steps of the grid, beyond the two around the optimum, that are tried in turn; then the whole interval is."""


@dataclass(frozen=True)
class Publishing:
    """What is published of an optimum, for one question."""

    asked: PerturbationQuestion

    def tables(self, found: FractionalOptimum, lo: Ints, hi: Ints, places: int) -> Iterator[Protection]:
        """The optimum on a grid, additive: as it is where it turns out to have few decimals, else snapped; one after the other till one protects."""
        assert found.v is not None
        base = self.asked.base_value
        bound = Fraction(found.value + base - 1e-9 * max(1.0, abs(found.value + base)))
        for exact_places in range(min(PLAIN_PLACES, self.asked.most_places) + 1):
            fine = self.asked.intervals.finer(exact_places)
            v = np.rint(found.v * fine.factor)
            if np.abs(found.v * fine.factor - v).max(initial=0.0) > NEAR:
                continue
            whole = v.astype(np.int64)
            inside = (
                np.all((fine.lo <= whole) & (whole <= fine.hi)) and not fine.instance.relations.residual(whole).any()
            )
            if not inside:
                continue
            bound = self.asked.objective_of(fine, whole)
            if self.asked.method.grid is None or self._on_grid(fine, whole, exact_places):
                yield self.made(fine, whole, found, bound)
            break
        if self.asked.method.grid is None:
            places = self.asked.most_places
            yield from self._in_decimals(found, lo, hi, bound)
        fine = self.asked.intervals.finer(places)
        step = (
            1
            if self.asked.method.grid is None
            else exact.scale_one(self.asked.method.grid, fine.instance.decimals, "grid", strict=True)
        )
        for held in (found.held,) if found.needed is None else (found.held, found.needed):
            for more in (*WIDENINGS, None):
                near = replace(found, held=held)
                made = self._snapped(fine, near, lo * fine.factor, hi * fine.factor, step, more, bound)
                if made is not None:
                    yield made
                if self.asked.budget.over:
                    return
        told = fine.told_box(self.asked.method.knowledge)
        if self.asked.method.grid is not None and isinstance(told, BetweenMultiples):
            yield from self._chosen_on_grid(fine, found, told, step, bound)

    def _chosen_on_grid(
        self, fine: PerturbationIntervals, found: FractionalOptimum, told: BetweenMultiples, step: int, bound: Fraction
    ) -> Iterator[Protection]:
        """Where the ends of the continuous optimum leave no table on the grid: all of it decided anew."""
        search = CuttingPlanes(fine, self.asked.costs, self.asked.watched(fine), self.asked.budget, fine.lo, fine.hi)
        least = search.least_on_grid(told, step)
        if least.v is not None and least.status == "optimal":
            yield self.made(fine, np.rint(least.v).astype(np.int64), found, bound)

    def _in_decimals(self, found: FractionalOptimum, lo: Ints, hi: Ints, bound: Fraction) -> Iterator[Protection]:
        """A table a little inside, where the optimum itself has no end of decimals."""
        assert found.v is not None
        fine = self.asked.intervals.finer(self.asked.most_places)
        for held in (found.held,) if found.needed is None else (found.needed, found.held):
            low, high = lo.copy(), hi.copy()
            low[held] = high[held] = np.rint(found.v[held]).astype(np.int64)
            v = near(self.asked.instance, low, high, self.asked.costs, found.cuts, fine.factor, self.asked.budget)
            if v is not None:
                yield self.made(fine, v, replace(found, held=held), bound)

    def _on_grid(self, fine: PerturbationIntervals, v: Ints, places: int) -> bool:
        step = Fraction(str(self.asked.method.grid)) * 10 ** (self.asked.instance.decimals + places)
        moving = fine.lo < fine.hi
        return step.denominator == 1 and not np.any(v[moving] % step.numerator)

    def _snapped(
        self,
        fine: PerturbationIntervals,
        found: FractionalOptimum,
        lo: Ints,
        hi: Ints,
        step: int,
        more: int | None,
        bound: Fraction,
    ) -> Protection | None:
        """The least table on the grid near the optimum, by the rounding machinery; ``more``: steps beyond the two around it (None: anywhere)."""
        assert found.v is not None
        aim = fine.aim(self.asked.objective)
        at = found.v * fine.factor
        grid = np.rint(at / step).astype(np.int64) * step
        on = np.abs(at - grid) <= NEAR * step
        down, up = (np.where(on, grid, f(at / step).astype(np.int64) * step) for f in (np.floor, np.ceil))
        if more is None:
            down, up = -(-lo // step) * step, hi // step * step
        else:
            down = np.maximum(down - more * step, -(-lo // step) * step)
            up = np.minimum(up + more * step, hi // step * step)
        stays = fine.lo == fine.hi
        held = found.held
        down, up = np.where(stays, fine.lo, down), np.where(stays, fine.lo, up)
        ends = np.where(
            np.abs(at[held] - fine.lo[held]) <= np.abs(at[held] - fine.hi[held]), fine.lo[held], fine.hi[held]
        )
        if fine.form == "distance":
            ends = np.rint(at[held]).astype(np.int64)
        down[held] = up[held] = ends
        if np.any(down > up):
            return None
        weight, target = (fine.instance.weight, None) if aim is None else (aim.weight, aim.target)
        model = LatticeModel(
            replace(fine.instance, weight=weight), AllowedSet(down, up, np.where(down < up, step, 0)), target
        )
        boxes = isinstance(fine.told_box(self.asked.method.knowledge), BetweenMultiples)
        watched = self.asked.watched(fine) if self.asked.levels and not boxes else []
        cuts = [Cut(cut.at, cut.coef, cut.least * fine.factor) for cut in found.cuts]
        rows = [row for cut in cuts if (row := row_of(model, cut)) is not None] if watched else []
        if len(model.impossible) or any(row.never(model.columns) for row in rows):
            return None
        # In the last decimal any table is as good as the least, and the search for that would use all of a limit.
        engines = ANY_TABLE if self.asked.method.grid is None and self.asked.budget.limited else ENGINES
        snapping = Snapping(
            model, watched, lambda v, _: self.made(fine, v, found, bound), self.asked.budget, engines, rows=rows
        )
        try:
            answer = snapping.solve()
            if answer.x is None:
                return None
            made = self.made(fine, model.values(answer.x), found, bound)
        except SolverError:  # so many decimals of a large table are beyond a solver's own; another grid may do
            return None
        return made if snapping.last is None else replace(made, shown=made.shown.knowing(snapping.last.shown))

    def made(self, fine: PerturbationIntervals, v: Ints, found: FractionalOptimum, bound: Fraction) -> Protection:
        """A table as a result; one that does not hold is the engine's fault."""
        objective = self.asked.objective_of(fine, v)
        near = Fraction(OPTIMAL) * max(Fraction(1), objective) if self.asked.method.grid is None else Fraction(0)
        bound = min(bound, objective)
        status: Literal["optimal", "feasible"] = "optimal" if objective - bound <= near else "feasible"
        aim = fine.aim(self.asked.objective)
        scale = 1 if aim is None else aim.scale
        allowed = fine.allowed
        if found.between is not None:
            lo, hi = (np.asarray(f(x, y * fine.factor)) for f, x, y in zip(
                (np.maximum, np.minimum), (allowed.lo, allowed.hi), found.between, strict=True
            ))  # fmt: skip
            allowed = AllowedSet(lo, hi, np.where(lo < hi, allowed.step, 0))
        sought = Objective(
            allowed=allowed,
            aim=aim,
            bound=bound * fine.factor,
            tolerance=near * fine.factor,
            multipliers=None if found.multipliers is None else found.multipliers * scale,
        )
        told = Values(fine.knowledge(v, self.asked.method.knowledge))
        return self.asked.result_of(told, sought, status=status, engine=found.engine, fine=fine.instance)
