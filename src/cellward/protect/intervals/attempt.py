"""Attempt: one interval publication: widths by cutting planes, ends on the grid, and the audit's word on them."""

from __future__ import annotations

import math
from dataclasses import dataclass, replace
from fractions import Fraction
from typing import TYPE_CHECKING, Any

import numpy as np

from cellward.audit.sums_as_cells import joined
from cellward.exact import Floats, Ints
from cellward.objective import Objective
from cellward.protect.attempt import Attempt
from cellward.protect.intervals.widths import Widths, least_widths
from cellward.protection import Protection
from cellward.publication.knowledge import Knowledge
from cellward.publication.ranges import Ranges

if TYPE_CHECKING:
    from cellward.protect.intervals.method import IntervalPublication

HAIR = 1e-6
WIDER = 12
"""So often ranges are widened by a unit of the grid more, where the audit does not find every level met."""


@dataclass(frozen=True)
class IntervalAttempt(Attempt):
    """An interval publication with the options of an :class:`IntervalPublication`; ``step``: the grid, scaled."""

    method: IntervalPublication
    step: int

    def solve(self) -> Protection:
        """The narrowest ranges found that the audit finds every level met by."""
        found = least_widths(joined(self.instance), self.method.candidate(self.instance), self.budget)
        if found.status == "infeasible":
            remedy = "let zeros become ranges (zeros='candidates'), free cells that must be published, or ask for lower levels"
            return self.infeasible(f"{found.reason}; {remedy}", found.engine)
        if found.below is None or found.above is None:
            return self.failed(
                f"no ranges were found{self.within} ({found.engine}; {self.took}); give more time", found.engine
            )
        made = None
        for more in range(WIDER):
            made = self._result(found, self._ends(found.below, found.above, more))
            if self.budget.over or (made.protected is not False and not made.given_away):
                break
        assert made is not None
        return made

    def _ends(self, below: Floats, above: Floats, more: int) -> Ranges:
        """Ends on the grid that hold these widths and so many steps more, inside the public bounds."""
        own, n = self.instance, self.instance.cells
        low, high = own.a.copy(), own.a.copy()
        for i in np.flatnonzero((below[:n] > HAIR) | (above[:n] > HAIR)).tolist():
            a, g = int(own.a[i]), self.step
            down, up = math.ceil(below[i] - HAIR), math.ceil(above[i] - HAIR)
            low[i] = max(int(own.lower[i]), (a - down) // g * g - more * g)
            high[i] = min(int(own.upper[i]), -(-(a + up) // g) * g + more * g)
        return Ranges(np.minimum(low, own.a), np.maximum(high, own.a))

    def _result(self, found: Widths, ranges: Ranges) -> Protection:
        cost = ranges.cost(self.instance)
        assert cost is not None
        bound = Fraction(max(0, min(math.ceil(found.bound - HAIR), cost)))
        status: Any = "optimal" if bound == cost else "feasible"
        sought = replace(self.untold()[0], bound=bound)
        return self.result_of(ranges, sought, status=status, engine=found.engine, limit_reached=found.late)

    def stated(self) -> dict[str, Any]:
        """The options."""
        return self.method.says(self.instance)

    def untold(self) -> tuple[Objective, Knowledge]:
        """Nothing is told where nothing is published."""
        a: Ints = self.instance.a
        return Objective(), Knowledge.interval(a, a)
