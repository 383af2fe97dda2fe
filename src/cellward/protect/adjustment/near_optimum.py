"""Near the optimum: additive tables on the grid, within the room, one after the other, next to a continuous optimum."""

from __future__ import annotations

from collections.abc import Iterator
from dataclasses import dataclass

import numpy as np

from cellward.exact import Ints
from cellward.protect.adjustment import engines, publish
from cellward.protect.adjustment.continuous import AdjustmentProblem, Continuous
from cellward.protect.adjustment.equation import nearest_whole
from cellward.protect.adjustment.question import AdjustmentQuestion
from cellward.publication.allowed import AllowedSet
from cellward.solve.budget import Budget

PLAIN_PLACES = 3
"""Decimals more than the table's that an optimum may turn out to have."""
PLAIN = 1e-7
"""How near to such a value an optimum must be."""
NEARLY = (1e-5, 1e-3)
"""The same where nothing else leads to a table."""
MOST_ROUNDINGS = 25
"""How often an optimum is moved inside, so that its leaves can be rounded."""
FEW_CELLS, SNAPPING_S = 600, 20.0
"""Cells that move up to which the least table on the grid is looked for, and for how long."""


@dataclass(frozen=True)
class NearOptimum:
    """Tables of one question near what was found of it."""

    asked: AdjustmentQuestion

    def tables(self, sensed: engines.Sensed) -> Iterator[tuple[Ints, AllowedSet, str]]:
        """Additive tables within the room, on the grid, next to the optimum: with what was allowed, and the engine."""
        answer, room, budget = sensed.answer, sensed.room, self.asked.budget
        allowed = self.asked.allowed(room)
        assert answer.z is not None
        if len(allowed.empty):
            return
        problem = self.asked.problem(room)
        if answer.whole is not None:
            yield self.asked.wide.a + answer.whole, allowed, answer.engine
            return
        plain = publish.plain(self.asked.wide, answer.z, self.asked.factor, min(PLAIN_PLACES, self.asked.places), PLAIN)
        if plain is not None and self._holds(plain, allowed):
            yield plain, allowed, answer.engine
        quick = len(problem.moving) <= FEW_CELLS or (
            self.asked.relations.array_shape is None and self.asked.relations.network is not None
        )
        if self.asked.method.grid is not None and quick:
            yield from self._snapped(answer, allowed, problem, budget.part(SNAPPING_S))
        yield from self._rounded(answer, allowed, problem, budget, 1)
        if (
            self.asked.method.grid is not None
            and not np.any((self.asked.wide.a - self.asked.origin)[problem.moving] % self.asked.step)
            and not budget.over
        ):
            whole = nearest_whole(problem, answer.z, budget)
            if whole is not None and self._holds(self.asked.wide.a + whole, allowed):
                yield self.asked.wide.a + whole, allowed, f"{answer.engine}; on the grid by a linear program"
        yield from self._rounded(answer, allowed, problem, budget, MOST_ROUNDINGS)
        for near in NEARLY:  # where the room leaves single values, an engine comes only so near to them
            plain = publish.plain(
                self.asked.wide, answer.z, self.asked.factor, min(PLAIN_PLACES, self.asked.places), near
            )
            if plain is not None and self._holds(plain, allowed):
                yield plain, allowed, answer.engine
        if not budget.over:
            yield from self._snapped(answer, allowed, problem, budget)

    def _snapped(
        self, answer: Continuous, allowed: AllowedSet, problem: AdjustmentProblem, budget: Budget
    ) -> Iterator[tuple[Ints, AllowedSet, str]]:
        """Tables on the grid by the rounding machinery, which looks for the least one next to the optimum."""
        assert answer.z is not None
        for v, engine in publish.snapped(self.asked.wide, problem, answer.z, allowed, self.asked.factor, budget):
            if self._holds(v, allowed):
                yield v, allowed, f"{answer.engine}; on the grid by {engine}"

    def _rounded(
        self, answer: Continuous, allowed: AllowedSet, problem: AdjustmentProblem, budget: Budget, most: int
    ) -> Iterator[tuple[Ints, AllowedSet, str]]:
        """The leaves of the optimum rounded; where that leaves the room, those of an optimum a little inside, up to ``most`` times in all."""
        leaves = publish.RoundedLeaves.of(self.asked.wide, problem, self.asked.factor, self.asked.step)
        if leaves is None:
            return
        z, lo, hi, unit = answer.z, problem.lo, problem.hi, self.asked.step / self.asked.factor
        for turn in range(most):
            assert z is not None
            v = leaves.rounded(z)
            if self._holds(v, allowed):
                if self.asked.method.grid is not None and self.asked.distance.norm != "linf":
                    v = leaves.descended(v, allowed, budget)
                yield v, allowed, f"{answer.engine}; leaves rounded"
                return
            if self.asked.method.grid is None:  # room for the rounding of its leaves costs a cell next to nothing
                margin = 2.0**turn * unit * np.sqrt(leaves.parts)
                off = np.where(problem.hi - problem.lo > 4 * margin, margin, 0.0)
                lo, hi = problem.lo + off, problem.hi - off
            else:
                below, above = (np.maximum(x, 0) / self.asked.factor for x in (allowed.lo - v, v - allowed.hi))
                lo, hi = (
                    lo + np.where(below > 0, below + unit / 2, 0.0),
                    hi - np.where(above > 0, above + unit / 2, 0.0),
                )
            if np.any(lo > hi) or budget.over or turn + 1 == most:
                return
            z = engines.again(problem.between(lo, hi), budget, answer, self.asked.forms).z
            if z is None:
                return

    def _holds(self, v: Ints, allowed: AllowedSet) -> bool:
        return not len(allowed.outside(v)) and not self.asked.wide.relations.residual(v).any()
