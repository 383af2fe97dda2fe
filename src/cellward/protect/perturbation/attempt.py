"""One attempt at a perturbation: what cannot be met at all, the continuous optimum, the values published, and what is said when there are none."""

from __future__ import annotations

import math
from collections.abc import Iterator
from dataclasses import dataclass, replace
from fractions import Fraction
from functools import cached_property
from typing import TYPE_CHECKING, Any, Literal

import numpy as np

from cellward import exact
from cellward.errors import InputError, SolverError
from cellward.exact import LARGEST, Floats, Ints
from cellward.objective import Objective
from cellward.protect.amounts import is_list
from cellward.protect.asked_of_cells import AskedOfCells
from cellward.protect.attempt import Attempt, few
from cellward.protect.lattice.capacity import Capacity, Cut, guards
from cellward.protect.lattice.engines import ANY_TABLE, ENGINES
from cellward.protect.lattice.linear import row_of
from cellward.protect.lattice.model import LatticeModel, check_grid
from cellward.protect.lattice.protected import ProtectedSearch as Snapping
from cellward.protect.lattice.refutation import Constraints
from cellward.protect.lattice.told_box import AroundValue, BetweenMultiples
from cellward.protect.perturbation.cutting_planes import CuttingPlanes, Drawn, FractionalOptimum
from cellward.protect.perturbation.decimals import near
from cellward.protect.perturbation.further import FurtherDetails, further, likely_needed
from cellward.protect.perturbation.intervals import PerturbationIntervals
from cellward.protect.perturbation.master import Costs
from cellward.protect.perturbation.refuted import refuted
from cellward.protection import Protection
from cellward.publication.allowed import AllowedSet
from cellward.publication.knowledge import Knowledge
from cellward.publication.values import Values
from cellward.risk.attacker import Attacker
from cellward.table.levels import Levels

if TYPE_CHECKING:
    from cellward.protect.perturbation.method import CellPerturbation


PLAIN_PLACES, MOST_PLACES = 3, 7
"""Decimals more than the table's that an optimum may turn out to have, and those published where it has no end of them."""
VIOLATED = 1e-6
"""A level that is missed by more than this, in units of the table, is missed."""
NEAR = 1e-3
"""How near to whole an optimum must be, in the last of its decimals."""
OPTIMAL = 1e-6
"""How far above its bound, in parts of it, what is published may be and still be called the continuous optimum."""
LARGE, START_SHARE = 4000, 0.9
"""Cells from which a table to begin with comes before the linear program where time is limited, and the part of the time for what comes first."""
VERY_LARGE = 10_000
"""Cells from which, where a table was found, the linear program is left: it does not end in a minute, which showing and certifying need."""
MANY, MOST_DRAWS = 2000, 8
"""Levels, of all attackers together, from which the auditor judges before any cut is sought, and how often cells around those he misses are drawn."""
WIDENINGS = (0, 1, 2, 8)
"""Steps of the grid, beyond the two around the optimum, that are tried in turn; then the whole interval is."""


@dataclass(frozen=True)
class PerturbationAttempt(Attempt):
    """The options of a :class:`CellPerturbation` on the intervals of one instance."""

    method: CellPerturbation
    intervals: PerturbationIntervals

    @cached_property
    def _objective(self) -> str:
        return self.method.objective or ("between" if self.intervals.form == "base" else "distance")

    def solve(self) -> Protection:
        """What comes of it; between neighbouring multiples where that does, further where it does not and that is allowed."""
        allowed = self.intervals.form == "base" and self.method.max_steps != 1
        seldom = allowed and self.budget.limited and self.instance.cells >= VERY_LARGE and likely_needed(self)
        wider = further(self) if seldom else None
        if wider is not None and wider.publication is not None:
            return wider
        found = self._as_asked()
        if found.publication is not None or not allowed:
            return found
        if not seldom and not self.budget.over:
            wider = further(self)
        if wider is not None and wider.publication is not None:
            return wider
        if found.status == "infeasible" and (wider is not None or self.budget.over):
            tried = f"nothing between neighbouring multiples protects ({found.run.engine})"
            return self.failed(
                f"{tried}, and nothing further away was found{self.within}; give more time", found.run.engine
            )
        return found

    def taken(self, found: Protection, details: FurtherDetails) -> Protection:
        """A rounding inside these intervals as a result, with what was shown of it."""
        assert found.publication is not None and found.publication.v is not None
        v, own = found.publication.v, self.intervals.allowed
        lo = np.minimum(own.lo, v)  # a count known to be at least 1 may have become 0
        sought = Objective(allowed=AllowedSet(lo, own.hi, (lo < own.hi).astype(np.int64)), bound=Fraction(0))
        told = Values(self.intervals.knowledge(v, self.method.knowledge))
        late, engine = found.run.limit_reached, f"a rounding ({found.engine})"
        made = self.result_of(told, sought, status="feasible", engine=engine, limit_reached=late, details=details)
        return replace(made, shown=made.shown.knowing(found.shown))

    def _as_asked(self) -> Protection:
        """Inside the intervals."""
        instance, lo, hi = self.instance, self.intervals.lo, self.intervals.hi
        places = self._grid_places()
        watched = self._guards(self.intervals) if self.levels else []
        if impossible := self.method.unreachable(instance):
            cells = tuple(sorted({need.cell for need, _ in impossible if need.cell < instance.cells}))
            words = few([sentence for _, sentence in impossible])
            reason = f"{words}, whatever is published; {self._remedy}"
            return self.infeasible(reason, "levels of single cells", cells)
        for guard in watched:
            least, most = guard.room()
            lo, hi = np.maximum(lo, least), np.minimum(hi, most)
        if len(empty := np.flatnonzero(lo > hi)):
            names = f"the levels of {instance.labels.name(int(empty[0]))} leave no value that meets them against every attacker"
            reason = f"{names}; {self._remedy}"
            return self.infeasible(reason, "levels of single cells", empty.tolist())
        if needs := refuted(instance, watched, lo, hi):
            cells = tuple(sorted({need.cell for need in needs}))
            names = f"no table inside the intervals meets the levels of {self.names(cells)} together"
            return self.infeasible(f"{names}; {self._remedy}", "what follows from one sum after the other", cells)
        if self.budget.left is None or instance.cells < LARGE:
            found = self._part(START_SHARE)._least(watched, lo, hi, places)
            start = self._start(places) if found.status == "failed" else None
            return found if start is None else start
        # The linear program of a large table may take longer than there is time: a rounding to begin with.
        start = (self if instance.cells >= VERY_LARGE else self._part(START_SHARE))._start(places)
        if start is not None and (self.budget.over or instance.cells >= VERY_LARGE):
            return start
        found = self._least(watched, lo, hi, places)
        if start is not None:
            worse = found.objective is None or (start.objective is not None and found.objective > start.objective)
            return start if worse else found
        if found.status != "failed" or self.intervals.form != "base":
            return found
        return self.failed(f"{found.reason}; nor was a rounding to the same multiples shown to protect", found.engine)

    def _part(self, share: float) -> PerturbationAttempt:
        """The same with a part of the time that is left."""
        left = self.budget.left
        return self if left is None else replace(self, budget=self.budget.part(share * left))

    def _least(self, watched: list[Capacity], lo: Ints, hi: Ints, places: int) -> Protection:
        """By the linear program: the least perturbation, on a grid or as it is."""
        drawn = self._drawn(lo, hi, places)
        if drawn is not None and sum(len(asked) for guard in watched for asked in guard.asked) >= MANY:
            judged = self._judged(lo, hi, places)
            if judged is not None:
                return judged
        search = CuttingPlanes(self.intervals, self._costs, watched, self.budget, lo, hi, drawn)
        found = search.solve()
        if found.status == "infeasible":
            reason = f"no table inside the intervals meets every level ({found.engine}); {self._remedy}"
            return self.infeasible(reason, found.engine)
        if found.v is None or found.status != "optimal":
            reason = f"no protected table was found{self.within} ({found.engine}; {self.took}); give more time"
            return self.failed(reason, found.engine)
        made = self.first_protected(self._published(found, *(found.between or (lo, hi)), places))
        if made is None and found.between is not None:  # values near to what was drawn, and nothing known of the least
            freed = replace(found, between=None, value=0.0)
            made = self.first_protected(self._published(freed, lo, hi, places))
        if made is not None:
            return made
        reason = f"no table on {self._grid_words} near the optimum ({found.engine}) was shown to protect"
        remedy = "give more time" if self.budget.over else f"give another grid, or {self._remedy}"
        return self.failed(f"{reason}; {remedy}", found.engine, limit_reached=self.budget.over)

    def _judged(self, lo: Ints, hi: Ints, places: int) -> Protection | None:
        """The least table with the values drawn, as the auditor shows its levels; None where that comes to no end.

        He shows at once what would be a linear program for every level of every attacker here. Where he misses one, the cells around it are drawn
        once more: what is published is drawn from all that protects. Cells that are not drawn, totals above all, keep off the ends of their
        intervals as far as the largest level asks, where that can be: a total at an end would let nothing below it move that way.
        """
        r, times = self.instance.relations, np.zeros(self.instance.cells, np.int64)
        ends = self._off_the_ends(lo, hi, places)
        for _ in range(MOST_DRAWS):
            if self.budget.over:
                break
            drawn = self._drawn(lo, hi, places, times)
            found = CuttingPlanes(self.intervals, self._costs, [], self.budget, *ends, drawn).solve()
            if found.status == "infeasible" and ends[0] is not lo:
                ends = lo, hi
                found = CuttingPlanes(self.intervals, self._costs, [], self.budget, *ends, drawn).solve()
            if found.v is None or found.status != "optimal":
                return None
            made = next(self._published(found, *(found.between or ends), places), None)
            if made is None or made.protected is not False:
                return made
            around = np.isin(r.row, r.row[np.isin(r.indices, made.unshown)])
            if not around.any():
                break
            times[np.unique(r.indices[around])] += 1
        return None

    def _off_the_ends(self, lo: Ints, hi: Ints, places: int) -> tuple[Ints, Ints]:
        """Less room for cells that are not drawn: the largest level away from the ends of their intervals, or half the way."""
        drawn, amount, a = self._drawn(lo, hi, places), self.intervals.amount, self.instance.a
        own = [
            self.instance.sensitivity.levels,
            *(k.wanted(self.instance.sensitivity.levels) for k in self.instance.attackers),
        ]
        largest = max(
            (int(part.max(initial=0)) for levels in own for part in (levels.lpl, levels.upl, levels.spl)), default=0
        )
        near = np.maximum(amount - largest, amount // 2)
        low, high = np.maximum(lo, a - near), np.minimum(hi, a + near)
        kept = low > high
        if drawn is not None:
            kept[drawn[0]] = True
        return np.where(kept, lo, low), np.where(kept, hi, high)

    def _start(self, places: int) -> Protection | None:
        """A protected table without the linear program of the whole: a rounding to the same multiples, or the least on the grid with nothing held."""
        fine = self.intervals.finer(places)
        if fine.form != "base":
            return None
        grid = self.method.grid
        step = 1 if grid is None else int(exact.scale_one(grid, fine.instance.decimals, "grid", strict=True))
        try:
            rounded = self._rounding(fine) if not np.any(fine.amount % step) else None
            return self._on_whole_grid(fine, step) if rounded is None and not self.budget.over else rounded
        except SolverError:
            return None

    def _rounding(self, fine: PerturbationIntervals) -> Protection | None:
        """A rounding, which is told as values that all sit on ends."""
        base, stays = np.maximum(fine.amount, 1), fine.lo == fine.hi
        low, high = (np.where(stays, fine.lo, end) for end in (-(-fine.lo // base) * base, fine.hi // base * base))
        model = self._model_of(fine, low, high, base)
        if model is None:
            return None
        known = fine.knowledge(fine.instance.a, self.method.knowledge)
        boxes = isinstance(fine.told_box(self.method.knowledge), BetweenMultiples)
        watched = guards(fine.instance, known, AroundValue(fine.amount)) if boxes else self._guards(fine)
        if boxes:
            watched.append(_gate(fine))
        return self._searched(fine, model, watched if self.levels else [], "a rounding")

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
        aim = fine.aim(self._objective)
        weight, target = (fine.instance.weight, None) if aim is None else (aim.weight, aim.target)
        allowed = AllowedSet(low, high, np.where(low < high, step, 0))
        model = LatticeModel(replace(fine.instance, weight=weight), allowed, target)
        return None if len(model.impossible) else model

    def _searched(
        self, fine: PerturbationIntervals, model: LatticeModel, watched: list[Capacity], what: str
    ) -> Protection | None:
        """The least protected table of a lattice, with what is known of the least of all without a solver."""
        aim = fine.aim(self._objective)
        bound = Fraction(0) if aim is None else Fraction(aim.constant, aim.scale) / fine.factor

        def made(v: Ints, engine: str, prices: Floats | None = None) -> Protection:
            return self._made(fine, v, FractionalOptimum("unknown", f"{what} ({engine})", multipliers=prices), bound)

        search = Snapping(model, watched, made, self.budget)
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
        return None if self.levels and found.protected is False else found

    # ---- what is asked -------------------------------------------------------------------------------------------------------------------------

    @cached_property
    def _costs(self) -> Costs:
        aim = self.intervals.aim(self._objective)
        if aim is None:
            w = self.instance.weight.astype(float)
            return Costs(w, w, self.instance.a)
        up = np.where(aim.target == self.intervals.floor, 1, -1) * aim.weight / aim.scale
        return Costs(up, -up)

    def _guards(self, intervals: PerturbationIntervals) -> list[Capacity]:
        kind = self.method.knowledge
        known = intervals.knowledge(intervals.instance.a, kind)
        return guards(intervals.instance, known, intervals.told_box(kind), violated=VIOLATED)

    def _drawn(self, lo: Ints, hi: Ints, places: int, times: Ints | None = None) -> Drawn | None:
        """Within a distance, each cell at risk is held to a value drawn from all that its levels leave it, and the step of these values.

        ``times``: how often cells are drawn anew.
        """
        if self._objective != "distance":
            return None
        own = self.instance.sensitivity
        cell = np.unique(np.concatenate([own.unsafe, *(k.wanted(own.levels).cell for k in self.instance.attackers)]))
        cell = cell[self.intervals.lo[cell] < self.intervals.hi[cell]]
        step = self._drawing_step(places)
        first, last = -(-lo[cell] // step) * step, hi[cell] // step * step
        none = first > last  # of the grid; what comes of it is seen when the table is brought there
        first, last = np.where(none, lo[cell], first), np.where(none, lo[cell], last)
        # One fraction of two widths would give itself away: another distance is another draw, but for one a cell, which may grow with the values.
        within = "" if is_list(self.method.within) else f" within {self.method.within}"
        many = (last - first) // step
        place = self.draws.up_to(f"place{within}", cell, many)
        often = np.zeros(len(cell), np.int64) if times is None else times[cell]
        for k in range(1, int(often.max(initial=0)) + 1):
            again = often >= k
            place[again] = self.draws.up_to(f"place{within}, drawn again {k}", cell[again], many[again])
        return cell, first + place * step, step

    def _drawing_step(self, places: int) -> int:
        """The least whole number, in the table's own unit, whose multiples are all on the grid."""
        if self.method.grid is None:
            return 1
        factor = 10**places
        step = int(exact.scale_one(self.method.grid, self.instance.decimals + places, "grid", strict=True))
        return int(math.lcm(step, factor) // factor)

    def _grid_places(self) -> int:
        """Decimals more than the table's that the grid asks for."""
        if self.method.grid is None:
            return 0
        for places in range(MOST_PLACES + 1):
            try:
                step = exact.scale_one(self.method.grid, self.instance.decimals + places, "grid", strict=True)
            except InputError:
                continue
            if step <= 0:
                break
            check_grid(self.instance.finer(places), np.full(self.instance.cells, step))
            return places
        raise InputError(
            f"grid={self.method.grid!r}: give a positive number of at most {self.instance.decimals + MOST_PLACES} decimals, such as 1, or None"
        )

    @property
    def _grid_words(self) -> str:
        if self.method.grid is None:
            return f"{self.instance.decimals + self._most_places} decimals"
        return f"multiples of {self.method.grid}"

    # ---- what is published ----------------------------------------------------------------------------------------------------------------------

    def _published(self, found: FractionalOptimum, lo: Ints, hi: Ints, places: int) -> Iterator[Protection]:
        """The optimum on a grid, additive: as it is where it turns out to have few decimals, else snapped; one after the other till one protects."""
        assert found.v is not None
        base = self._base_value
        bound = Fraction(found.value + base - 1e-9 * max(1.0, abs(found.value + base)))
        for exact_places in range(min(PLAIN_PLACES, self._most_places) + 1):
            fine = self.intervals.finer(exact_places)
            v = np.rint(found.v * fine.factor)
            if np.abs(found.v * fine.factor - v).max(initial=0.0) > NEAR:
                continue
            whole = v.astype(np.int64)
            inside = (
                np.all((fine.lo <= whole) & (whole <= fine.hi)) and not fine.instance.relations.residual(whole).any()
            )
            if not inside:
                continue
            bound = self._objective_of(fine, whole)
            if self.method.grid is None or self._on_grid(fine, whole, exact_places):
                yield self._made(fine, whole, found, bound)
            break
        if self.method.grid is None:
            places = self._most_places
            yield from self._in_decimals(found, lo, hi, bound)
        fine = self.intervals.finer(places)
        step = (
            1
            if self.method.grid is None
            else exact.scale_one(self.method.grid, fine.instance.decimals, "grid", strict=True)
        )
        for held in (found.held,) if found.needed is None else (found.held, found.needed):
            for more in (*WIDENINGS, None):
                near = replace(found, held=held)
                made = self._snapped(fine, near, lo * fine.factor, hi * fine.factor, step, more, bound)
                if made is not None:
                    yield made
                if self.budget.over:
                    return
        told = fine.told_box(self.method.knowledge)
        if self.method.grid is not None and isinstance(told, BetweenMultiples):
            yield from self._chosen_on_grid(fine, found, told, step, bound)

    def _chosen_on_grid(
        self, fine: PerturbationIntervals, found: FractionalOptimum, told: BetweenMultiples, step: int, bound: Fraction
    ) -> Iterator[Protection]:
        """Where the ends of the continuous optimum leave no table on the grid: all of it decided anew."""
        search = CuttingPlanes(fine, self._costs, self._guards(fine), self.budget, fine.lo, fine.hi)
        least = search.least_on_grid(told, step)
        if least.v is not None and least.status == "optimal":
            yield self._made(fine, np.rint(least.v).astype(np.int64), found, bound)

    def _in_decimals(self, found: FractionalOptimum, lo: Ints, hi: Ints, bound: Fraction) -> Iterator[Protection]:
        """A table a little inside, where the optimum itself has no end of decimals."""
        assert found.v is not None
        fine = self.intervals.finer(self._most_places)
        for held in (found.held,) if found.needed is None else (found.needed, found.held):
            low, high = lo.copy(), hi.copy()
            low[held] = high[held] = np.rint(found.v[held]).astype(np.int64)
            v = near(self.instance, low, high, self._costs, found.cuts, fine.factor, self.budget)
            if v is not None:
                yield self._made(fine, v, replace(found, held=held), bound)

    def _on_grid(self, fine: PerturbationIntervals, v: Ints, places: int) -> bool:
        step = Fraction(str(self.method.grid)) * 10 ** (self.instance.decimals + places)
        moving = fine.lo < fine.hi
        return step.denominator == 1 and not np.any(v[moving] % step.numerator)

    @cached_property
    def _most_places(self) -> int:
        """As many decimals more as numbers have room for."""
        r, own = self.instance.relations, self.intervals
        size = max(int(np.abs(x).max(initial=1)) for x in (self.instance.a, own.floor, own.ceiling, r.rhs))
        aim = own.aim(self._objective)
        weight = self.instance.weight if aim is None else aim.weight
        cost = float((weight.astype(float) * (own.ceiling - own.floor)).sum()) + 1
        most = MOST_PLACES
        while most and (size * 10**most > LARGEST or cost * 10**most > 2**61):
            most -= 1
        return most

    @cached_property
    def _base_value(self) -> float:
        """What the solver's costs are counted from."""
        aim = self.intervals.aim(self._objective)
        if aim is None:
            return 0.0
        return aim.constant / aim.scale - float((self._costs.up * aim.target).sum())

    def _objective_of(self, fine: PerturbationIntervals, v: Ints) -> Fraction:
        """The objective of values in the table's own units."""
        aim = fine.aim(self._objective)
        if aim is None:
            cost = sum(
                w * abs(x) for w, x in zip(fine.instance.weight.tolist(), (v - fine.instance.a).tolist(), strict=True)
            )
            return Fraction(cost, fine.factor)
        return aim.objective(aim.cost(v)) / fine.factor

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
        aim = fine.aim(self._objective)
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
        boxes = isinstance(fine.told_box(self.method.knowledge), BetweenMultiples)
        watched = self._guards(fine) if self.levels and not boxes else []
        cuts = [Cut(cut.at, cut.coef, cut.least * fine.factor) for cut in found.cuts]
        rows = [row for cut in cuts if (row := row_of(model, cut)) is not None] if watched else []
        if len(model.impossible) or any(row.never(model.columns) for row in rows):
            return None
        # In the last decimal any table is as good as the least, and the search for that would use all of a limit.
        engines = ANY_TABLE if self.method.grid is None and self.budget.limited else ENGINES
        snapping = Snapping(
            model, watched, lambda v, _: self._made(fine, v, found, bound), self.budget, engines, rows=rows
        )
        try:
            answer = snapping.solve()
            if answer.x is None:
                return None
            made = self._made(fine, model.values(answer.x), found, bound)
        except SolverError:  # so many decimals of a large table are beyond a solver's own; another grid may do
            return None
        return made if snapping.last is None else replace(made, shown=made.shown.knowing(snapping.last.shown))

    def _made(self, fine: PerturbationIntervals, v: Ints, found: FractionalOptimum, bound: Fraction) -> Protection:
        """A table as a result; one that does not hold is the engine's fault."""
        objective = self._objective_of(fine, v)
        near = Fraction(OPTIMAL) * max(Fraction(1), objective) if self.method.grid is None else Fraction(0)
        bound = min(bound, objective)
        status: Literal["optimal", "feasible"] = "optimal" if objective - bound <= near else "feasible"
        aim = fine.aim(self._objective)
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
        told = Values(fine.knowledge(v, self.method.knowledge))
        return self.result_of(told, sought, status=status, engine=found.engine, fine=fine.instance)

    # ---- what is said --------------------------------------------------------------------------------------------------------------------------

    @property
    def _remedy(self) -> str:
        larger = "choose a larger base"
        if self.intervals.form == "distance":
            least = exact.short(AskedOfCells.of(self.instance).least_distance, self.instance.decimals)
            larger = f"choose a larger distance ({least} at least, one and a half times both levels; cellward advise tries it)"
        return f"{larger}, ask for lower levels, or free fixed cells"

    def stated(self) -> dict[str, Any]:
        """The options."""
        return {**self.method.stated(self.instance), "knowledge": self.method.knowledge}

    def untold(self) -> tuple[Objective, Knowledge]:
        """Over the intervals."""
        own = self.intervals
        sought = Objective(allowed=own.allowed, aim=own.aim(self._objective))
        return sought, own.knowledge(self.instance.a, self.method.knowledge)


def _gate(fine: PerturbationIntervals) -> Capacity:
    """What the gate asks of cells at risk that can only be larger, where no true value lies on an end of what is told."""
    own, instance = fine.instance.sensitivity, fine.instance
    cell = own.unsafe[instance.a[own.unsafe] <= instance.lower[own.unsafe]]
    none = np.zeros(len(cell), np.int64)
    public = replace(Attacker.external(whole=True), levels=Levels(cell, none, none + own.unit, none))
    return Capacity(replace(instance, attackers=(public,)), AroundValue(np.maximum(fine.amount - own.unit, 0)))
