"""What is asked of a perturbation: its costs and the levels watched, what is drawn for cells at risk, the grid, and what the public is told."""

from __future__ import annotations

import math
from dataclasses import dataclass
from fractions import Fraction
from functools import cached_property
from typing import TYPE_CHECKING, Any

import numpy as np

from cellward import exact
from cellward.errors import InputError
from cellward.exact import LARGEST, Ints
from cellward.objective import Objective
from cellward.protect.amounts import is_list
from cellward.protect.asked_of_cells import AskedOfCells
from cellward.protect.attempt import Attempt
from cellward.protect.lattice.capacity import Capacity, guards
from cellward.protect.lattice.model import check_grid
from cellward.protect.perturbation.cutting_planes import Drawn
from cellward.protect.perturbation.intervals import PerturbationIntervals
from cellward.protect.perturbation.master import Costs
from cellward.publication.knowledge import Knowledge

if TYPE_CHECKING:
    from cellward.protect.perturbation.method import CellPerturbation


VIOLATED = 1e-6
"""A level that is missed by more than this, in units of the table, is missed."""
MOST_PLACES = 7
"""Decimals more than the table's that are published where an optimum has no end of them."""


@dataclass(frozen=True)
class PerturbationQuestion(Attempt):
    """The options of a :class:`CellPerturbation` on the intervals of one instance."""

    method: CellPerturbation
    intervals: PerturbationIntervals

    @cached_property
    def objective(self) -> str:
        """Which of the method's objectives is taken."""
        return self.method.objective or ("between" if self.intervals.form == "base" else "distance")

    @cached_property
    def costs(self) -> Costs:
        """The same for the linear program."""
        aim = self.intervals.aim(self.objective)
        if aim is None:
            w = self.instance.weight.astype(float)
            return Costs(w, w, self.instance.a)
        up = np.where(aim.target == self.intervals.floor, 1, -1) * aim.weight / aim.scale
        return Costs(up, -up)

    def watched(self, intervals: PerturbationIntervals) -> list[Capacity]:
        """The levels as constraints on what is published, an attacker each."""
        kind = self.method.knowledge
        known = intervals.knowledge(intervals.instance.a, kind)
        return guards(intervals.instance, known, intervals.told_box(kind), violated=VIOLATED)

    def drawn(self, lo: Ints, hi: Ints, places: int, times: Ints | None = None) -> Drawn | None:
        """Within a distance, each cell at risk is held to a value drawn from all that its levels leave it, and the step of these values.

        ``times``: how often cells are drawn anew.
        """
        if self.objective != "distance":
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

    def off_the_ends(self, lo: Ints, hi: Ints, places: int) -> tuple[Ints, Ints]:
        """Less room for cells that are not drawn: the largest level away from the ends of their intervals, or half the way."""
        drawn, amount, a = self.drawn(lo, hi, places), self.intervals.amount, self.instance.a
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

    def grid_places(self) -> int:
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
    def grid_words(self) -> str:
        """The grid in words."""
        if self.method.grid is None:
            return f"{self.instance.decimals + self.most_places} decimals"
        return f"multiples of {self.method.grid}"

    @cached_property
    def most_places(self) -> int:
        """As many decimals more as numbers have room for."""
        r, own = self.instance.relations, self.intervals
        size = max(int(np.abs(x).max(initial=1)) for x in (self.instance.a, own.floor, own.ceiling, r.rhs))
        aim = own.aim(self.objective)
        weight = self.instance.weight if aim is None else aim.weight
        cost = float((weight.astype(float) * (own.ceiling - own.floor)).sum()) + 1
        most = MOST_PLACES
        while most and (size * 10**most > LARGEST or cost * 10**most > 2**61):
            most -= 1
        return most

    @cached_property
    def base_value(self) -> float:
        """What the solver's costs are counted from."""
        aim = self.intervals.aim(self.objective)
        if aim is None:
            return 0.0
        return aim.constant / aim.scale - float((self.costs.up * aim.target).sum())

    def objective_of(self, fine: PerturbationIntervals, v: Ints) -> Fraction:
        """The objective of values in the table's own units."""
        aim = fine.aim(self.objective)
        if aim is None:
            cost = sum(
                w * abs(x) for w, x in zip(fine.instance.weight.tolist(), (v - fine.instance.a).tolist(), strict=True)
            )
            return Fraction(cost, fine.factor)
        return aim.objective(aim.cost(v)) / fine.factor

    @property
    def remedy(self) -> str:
        """What to ask for where levels cannot be met."""
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
        sought = Objective(allowed=own.allowed, aim=own.aim(self.objective))
        return sought, own.knowledge(self.instance.a, self.method.knowledge)
