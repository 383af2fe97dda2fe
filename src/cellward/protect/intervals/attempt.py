"""Attempt: one interval publication: widths by cutting planes, ends on the grid, and the audit's word on them."""

from __future__ import annotations

import math
from dataclasses import dataclass, replace
from fractions import Fraction
from typing import TYPE_CHECKING, Any

import numpy as np

from cellward.audit.ends import Witness
from cellward.audit.sums_as_cells import joined
from cellward.audit.width_bound import WidthCuts, unit_of
from cellward.exact import Ints
from cellward.objective import Objective
from cellward.protect.attempt import Attempt
from cellward.protect.intervals.round_ends import RoundEnds
from cellward.protect.intervals.widths import Widths, WidthSearch
from cellward.protection import Protection
from cellward.publication.allowed import AllowedSet
from cellward.publication.knowledge import Knowledge
from cellward.publication.ranges import Ranges

if TYPE_CHECKING:
    from cellward.protect.intervals.method import IntervalPublication

WIDER = 12
"""So often ranges are widened by a unit of the grid more, where the audit does not find every level met."""


@dataclass(frozen=True)
class IntervalAttempt(Attempt):
    """An interval publication with the options of an :class:`IntervalPublication`; ``step``: the grid, scaled."""

    method: IntervalPublication
    step: int

    def solve(self) -> Protection:
        """The narrowest ranges found that the audit finds every level met by."""
        told = self.budget.counting(0.0, 10.0 ** -(self.instance.weight_decimals + self.instance.decimals))
        search = WidthSearch(joined(self.instance), self.method.candidate(self.instance), told)
        found = search.run()
        if found.status == "infeasible":
            remedy = "let zeros become ranges (zeros='candidates'), free cells that must be published, or ask for lower levels"
            nothing = self.infeasible(f"{found.reason}; {remedy}", found.engine)
            return replace(nothing, sought=self._sought(found, None))
        if found.below is None or found.above is None:
            return self.failed(
                f"no ranges were found{self.within} ({found.engine}; {self.took}); give more time", found.engine
            )
        ends = RoundEnds(search, self.instance, self.step, self.method.widths)
        first = ends.least(found.below, found.above)
        if first is None:
            few = f"no ranges of at most {self.method.widths} different widths suit the public bounds of every cell"
            return self.failed(f"{few}; allow more (widths), or state wider bounds", found.engine, limit_reached=False)
        low, high = first
        made = self._result(found, Ranges(low, high))
        for _ in range(WIDER):
            if not self.levels or (made.protected and not made.given_away):
                return made
            low, high = ends.wider(low, high)
            made = self._result(found, Ranges(low, high))
        return made

    def _result(self, found: Widths, ranges: Ranges) -> Protection:
        cost = ranges.cost(self.instance)
        assert cost is not None
        sought = self._sought(found, cost)
        status: Any = "optimal" if sought.bound == cost else "feasible"
        result = self.result_of(ranges, sought, status=status, engine=found.engine, limit_reached=found.late)
        if found.tables and result.shown.levels is not None:
            n = self.instance.cells
            result.shown.levels.known = tuple(Witness(one.shift[:n], one.denominator) for one in found.tables)
        return result

    @property
    def _allowed(self) -> AllowedSet:
        """1 where a cell may be a range."""
        free = self.method.candidate(self.instance).astype(np.int64)
        return AllowedSet(np.zeros_like(free), free, free)

    def _sought(self, found: Widths, cost: int | None) -> Objective:
        """What was made small, with the cuts that a reader of the certificate can derive: those of cells and equations that it has."""
        cells, equations = self.instance.cells, self.instance.relations.equations
        kept = [
            (cut, weight)
            for cut, weight in zip(found.cuts, found.weights, strict=True)
            if weight
            and cut["cell"] < cells
            and all(j < equations for way in cut["ways"] for j in way["equation"])
            and all(i < cells for way in cut["ways"] for i in way["known"])
        ]
        bound = None
        if cost is not None:
            unit = unit_of(WidthCuts(self.instance, self.method.candidate(self.instance)), self.step)
            bound = Fraction(max(0, min(-(-math.ceil(found.bound) // unit) * unit, cost)))
        return Objective(
            allowed=self._allowed,
            grid=self.step,
            bound=bound,
            cuts=tuple(cut for cut, _ in kept),
            cut_weights=tuple(weight for _, weight in kept),
            cut_scale=found.scale,
        )

    def stated(self) -> dict[str, Any]:
        """The options."""
        return self.method.says(self.instance)

    def untold(self) -> tuple[Objective, Knowledge]:
        """Nothing is told where nothing is published."""
        a: Ints = self.instance.a
        return Objective(allowed=self._allowed, grid=self.step), Knowledge.interval(a, a)
