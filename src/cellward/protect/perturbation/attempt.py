"""One attempt at a perturbation: what cannot be met at all, the continuous optimum or a table to begin with, and what is said when there are none."""

from __future__ import annotations

from dataclasses import dataclass, replace
from fractions import Fraction

import numpy as np

from cellward.exact import Ints
from cellward.objective import Objective
from cellward.protect.attempt import few
from cellward.protect.lattice.capacity import Capacity
from cellward.protect.perturbation.beginning import Beginning
from cellward.protect.perturbation.cutting_planes import CuttingPlanes
from cellward.protect.perturbation.further import FurtherDetails, further, likely_needed
from cellward.protect.perturbation.publishing import Publishing
from cellward.protect.perturbation.question import PerturbationQuestion
from cellward.protect.perturbation.refuted import refuted
from cellward.protection import Protection
from cellward.publication.allowed import AllowedSet
from cellward.publication.values import Values

LARGE, START_SHARE = 4000, 0.9
"""Cells from which a table to begin with comes before the linear program where time is limited, and the part of the time for what comes first."""
VERY_LARGE = 10_000
"""Cells from which, where a table was found, the linear program is left: it does not end in a minute, which showing and certifying need."""
BETWEEN_SHARE = 0.6
"""The part of the time in which such tables must have one between neighbouring multiples, where values may go further."""
MANY, MOST_DRAWS = 2000, 8
"""Levels, of all attackers together, from which the auditor judges before any cut is sought, and how often cells around those he misses are drawn."""


@dataclass(frozen=True)
class PerturbationAttempt(PerturbationQuestion):
    """A question, and how it is answered."""

    def solve(self) -> Protection:
        """What comes of it; between neighbouring multiples where that does, further where it does not and that is allowed."""
        allowed = self.intervals.form == "base" and self.method.max_steps != 1
        seldom = allowed and self.budget.limited and self.instance.cells >= VERY_LARGE and likely_needed(self)
        wider = further(self) if seldom else None
        if wider is not None and wider.publication is not None:
            return wider
        # What goes further is found in a moment, where nothing between neighbouring multiples takes all the time there is.
        between = self._part(BETWEEN_SHARE) if allowed and not seldom and self.instance.cells >= VERY_LARGE else self
        found = between._as_asked()
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

    @property
    def _publishing(self) -> Publishing:
        return Publishing(self)

    @property
    def _beginning(self) -> Beginning:
        return Beginning(self, self._publishing)

    def _as_asked(self) -> Protection:
        """Inside the intervals."""
        instance, lo, hi = self.instance, self.intervals.lo, self.intervals.hi
        places = self.grid_places()
        watched = self.watched(self.intervals) if self.levels else []
        if impossible := self.method.unreachable(instance):
            cells = tuple(sorted({need.cell for need, _ in impossible if need.cell < instance.cells}))
            words = few([sentence for _, sentence in impossible])
            reason = f"{words}, whatever is published; {self.remedy}"
            return self.infeasible(reason, "levels of single cells", cells)
        for guard in watched:
            least, most = guard.room()
            lo, hi = np.maximum(lo, least), np.minimum(hi, most)
        if len(empty := np.flatnonzero(lo > hi)):
            names = f"the levels of {instance.labels.name(int(empty[0]))} leave no value that meets them against every attacker"
            reason = f"{names}; {self.remedy}"
            return self.infeasible(reason, "levels of single cells", empty.tolist())
        if needs := refuted(instance, watched, lo, hi):
            cells = tuple(sorted({need.cell for need in needs}))
            names = f"no table inside the intervals meets the levels of {self.names(cells)} together"
            return self.infeasible(f"{names}; {self.remedy}", "what follows from one sum after the other", cells)
        if self.budget.left is None or instance.cells < LARGE:
            found = self._part(START_SHARE)._least(watched, lo, hi, places)
            start = self._beginning.table(places) if found.status == "failed" else None
            return found if start is None else start
        # The linear program of a large table may take longer than there is time: a rounding to begin with.
        start = (self if instance.cells >= VERY_LARGE else self._part(START_SHARE))._beginning.table(places)
        if start is not None and (self.budget.over or instance.cells >= VERY_LARGE):
            return start
        found = self._least(watched, lo, hi, places)
        if start is not None:
            worse = found.objective is None or (start.objective is not None and found.objective > start.objective)
            return start if worse else found
        if found.status != "failed" or self.intervals.form != "base":
            return found
        return self.failed(f"{found.reason}; nor was a rounding to the same multiples shown to protect", found.engine)

    def _least(self, watched: list[Capacity], lo: Ints, hi: Ints, places: int) -> Protection:
        """By the linear program: the least perturbation, on a grid or as it is."""
        drawn = self.drawn(lo, hi, places)
        if drawn is not None and sum(len(asked) for guard in watched for asked in guard.asked) >= MANY:
            judged = self._judged(lo, hi, places)
            if judged is not None:
                return judged
        search = CuttingPlanes(self.intervals, self.costs, watched, self.budget, lo, hi, drawn)
        found = search.solve()
        if found.status == "infeasible":
            reason = f"no table inside the intervals meets every level ({found.engine}); {self.remedy}"
            return self.infeasible(reason, found.engine)
        if found.v is None or found.status != "optimal":
            reason = f"no protected table was found{self.within} ({found.engine}; {self.took}); give more time"
            return self.failed(reason, found.engine)
        made = self.first_protected(self._publishing.tables(found, *(found.between or (lo, hi)), places))
        if made is None and found.between is not None:  # values near to what was drawn, and nothing known of the least
            freed = replace(found, between=None, value=0.0)
            made = self.first_protected(self._publishing.tables(freed, lo, hi, places))
        if made is not None:
            return made
        reason = f"no table on {self.grid_words} near the optimum ({found.engine}) was shown to protect"
        remedy = "give more time" if self.budget.over else f"give another grid, or {self.remedy}"
        return self.failed(f"{reason}; {remedy}", found.engine, limit_reached=self.budget.over)

    def _judged(self, lo: Ints, hi: Ints, places: int) -> Protection | None:
        """The least table with the values drawn, as the auditor shows its levels; None where that comes to no end.

        He shows at once what would be a linear program for every level of every attacker here. Where he misses one, the cells around it are drawn
        once more: what is published is drawn from all that protects. Cells that are not drawn, totals above all, keep off the ends of their
        intervals as far as the largest level asks, where that can be: a total at an end would let nothing below it move that way.
        """
        r, times = self.instance.relations, np.zeros(self.instance.cells, np.int64)
        ends = self.off_the_ends(lo, hi, places)
        for _ in range(MOST_DRAWS):
            if self.budget.over:
                break
            drawn = self.drawn(lo, hi, places, times)
            found = CuttingPlanes(self.intervals, self.costs, [], self.budget, *ends, drawn).solve()
            if found.status == "infeasible" and ends[0] is not lo:
                ends = lo, hi
                found = CuttingPlanes(self.intervals, self.costs, [], self.budget, *ends, drawn).solve()
            if found.v is None or found.status != "optimal":
                return None
            made = next(self._publishing.tables(found, *(found.between or ends), places), None)
            if made is None or made.protected is not False:
                return made
            around = np.isin(r.row, r.row[np.isin(r.indices, made.unshown)])
            if not around.any():
                break
            times[np.unique(r.indices[around])] += 1
        return None

    def _part(self, share: float) -> PerturbationAttempt:
        """The same with a part of the time that is left."""
        left = self.budget.left
        return self if left is None else replace(self, budget=self.budget.part(share * left))
