"""Shortage: the moves of the table that come nearest to what senses ask, by a linear program, and the conflicts that its prices prove.

Legend: z deviations, r levels, p and q by how much z falls short of them: z + p − q ≥ r where a cell rises, z + p − q ≤ −r where it falls. Other
senses are other bounds of these rows alone, so that the prices of the last answer are a start for the next. The costs of p and q are powers of 2 near
1/level: prices are then whole numbers in the least of them wherever the equations are simple.
"""

from __future__ import annotations

from dataclasses import dataclass

import numpy as np

from cellward.errors import SolverError
from cellward.exact import Bools, Floats, Ints
from cellward.protect.adjustment.conflict import Conflict, Prover
from cellward.protect.adjustment.continuous import AdjustmentProblem
from cellward.protect.adjustment.needs import Room
from cellward.protect.adjustment.senses import Senses
from cellward.protect.whole_multiples import NOT_ZERO
from cellward.solve.budget import Budget
from cellward.solve.model import LinearModel
from cellward.solve.warm_lp import WarmLp
from cellward.table.components import components

SHORT = 1e-6
"""A cell that falls short by less than this share of its level does not fall short; the optimum will tell."""
EXPONENTS = 12
"""Costs differ by at most 2 to this power from the typical one, either way."""
MANY = 100
"""Senses turned at once from which a linear program starts over."""
MODERATE = 2.0**30
"""Amounts are counted in units in which none that is asked is larger."""


@dataclass(frozen=True, eq=False)
class Nearest:
    """Deviations nearest to what is asked, which cells at risk fall short, and the ``conflicts`` proven; ``unproven``: cells of the others."""

    z: Floats
    short: Bools
    conflicts: tuple[Conflict, ...] = ()
    unproven: tuple[Ints, ...] = ()


class Shortage:
    """The linear program of one problem (without levels), to be asked of senses one after the other."""

    def __init__(self, problem: AdjustmentProblem, senses: Senses) -> None:
        from scipy.sparse import csr_matrix

        assert problem.grid is not None and problem.room is not None
        r, k, self.factor = problem.relations, len(senses.cell), problem.grid.factor
        self.problem, self.cells, self.rows, self.many = problem, r.cells, r.equations, k
        self.prover = Prover(r, problem.room, senses)
        level = np.maximum(np.where(senses.asked_up > 0, senses.asked_up, senses.asked_down), 1) / self.factor
        self.unit = float(2.0 ** max(0, np.ceil(np.log2(float(level.max(initial=1.0)) / MODERATE))))
        typical = float(np.median(level)) if k else 1.0
        self.cost = 2.0 ** np.clip(np.rint(np.log2(typical / level)), -EXPONENTS, EXPONENTS)
        own, n = np.arange(k), r.cells
        row = np.concatenate((r.row, *([r.equations + own] * 3)))
        column = np.concatenate((r.indices, senses.cell, n + own, n + k + own))
        coef = np.concatenate((r.coefs.astype(float), np.ones(2 * k), -np.ones(k)))
        matrix = csr_matrix((coef, (row, column)), shape=(r.equations + k, n + 2 * k))
        self.matrix = matrix[: r.equations, :n].tocsr()
        self.tied = np.diff(r.by_cell[0])[senses.cell] > 0
        """Which cells at risk are in an equation: the others never fall short."""
        self.last = senses.sense
        no_end = np.full(k, np.inf)
        self.lp = WarmLp(
            LinearModel(
                cost=np.concatenate((np.zeros(n), self.cost, self.cost)),
                lower=np.concatenate((problem.lo / self.unit, np.zeros(2 * k))),
                upper=np.concatenate((problem.hi / self.unit, no_end, no_end)),
                indptr=matrix.indptr.astype(np.int64),
                indices=matrix.indices.astype(np.int64),
                coefs=matrix.data,
                row_lower=np.concatenate((np.zeros(r.equations), -no_end)),
                row_upper=np.concatenate((np.zeros(r.equations), no_end)),
            )
        )

    def widen(self, room: Room) -> None:
        """Give cells another room."""
        self.problem = self.problem.within(room)
        self.prover = Prover(self.problem.relations, room, self.prover.senses)
        self.lp.restrict(np.arange(self.cells), self.problem.lo / self.unit, self.problem.hi / self.unit)

    def find(self, senses: Senses, budget: Budget) -> Nearest | None:
        """What comes nearest to the levels asked; None where there is no answer in time."""
        found = self._solved(senses, senses.asked, np.full(self.many, np.inf), budget)
        if found is None:
            return None
        z, prices = found
        least = senses.asked / self.factor
        short = senses.sense * z[senses.cell] < least * (1 - SHORT)
        if not short.any():
            return Nearest(z, short)
        return Nearest(z, short, *self._conflicts(senses, prices, budget))

    def lowered(self, senses: Senses, budget: Budget) -> Senses:
        """Senses that go together, drawn levels lowered towards those asked where all of them cannot be reached."""
        found = self._solved(senses, senses.least, (senses.least - senses.asked) / self.factor, budget)
        if found is None:
            return senses.lowered(senses.asked)
        assert self.problem.grid is not None
        reached, step = senses.sense * found[0][senses.cell], self.problem.grid.step
        short = reached < senses.least / self.factor * (1 - SHORT)
        least = np.floor(reached * self.factor / step * (1 + 1e-12) + 1e-9).astype(np.int64) * step
        return senses.lowered(np.where(short, least, senses.least))

    def _solved(self, senses: Senses, level: Ints, most: Floats, budget: Budget) -> tuple[Floats, Floats] | None:
        """Deviations, and the prices of the equations."""
        n, k, least = self.cells, self.many, level / self.factor / self.unit
        rises, most = senses.sense > 0, np.where(self.tied, most / self.unit, 0.0)
        if int((senses.sense != self.last).sum()) > MANY:
            self.lp.start_over()
        self.last = senses.sense
        rows = np.arange(self.rows, self.rows + k)
        self.lp.restrict_rows(rows, np.where(rises, least, -np.inf), np.where(rises, np.inf, -least))
        self.lp.restrict(np.arange(n, n + 2 * k), np.zeros(2 * k), np.tile(most, 2))
        try:
            outcome = self.lp.solve(budget=budget)
        except SolverError:
            return None
        if outcome.x is None:
            return None
        prices = np.zeros(self.rows) if outcome.row_duals is None else outcome.row_duals[: self.rows]
        return outcome.x[:n] * self.unit, prices

    def _conflicts(
        self, senses: Senses, prices: Floats, budget: Budget
    ) -> tuple[tuple[Conflict, ...], tuple[Ints, ...]]:
        """One for each set of equations with prices that share cells; and the cells at risk of those of which nothing is proven."""
        most = float(np.abs(prices).max(initial=0.0))
        used = np.flatnonzero(np.abs(prices) > NOT_ZERO * most)
        if not len(used):
            return (), ()
        sub = self.matrix[used]
        row = np.repeat(np.arange(len(used)), np.diff(sub.indptr))
        label = components(len(used) + self.cells, row, len(used) + sub.indices)[: len(used)]
        order = np.argsort(label, kind="stable")
        parts = np.split(used[order], np.flatnonzero(np.diff(label[order])) + 1)
        least = float(self.cost.min(initial=1.0))
        proven, unproven = [], []
        for equations in parts:
            found = self.prover.prove(senses.sense, equations, prices[equations] / least)
            found = found or self._by_ray(senses, equations, budget)
            if found is not None:
                proven.append(found)
                continue
            own = self.prover.place[np.unique(self.matrix[equations].indices)]
            unproven.append(own[own >= 0])
        return tuple(proven), tuple(unproven)

    def _by_ray(self, senses: Senses, equations: Ints, budget: Budget) -> Conflict | None:
        """A conflict among some equations from the ray by which a linear program of these alone is shown to have no solution."""
        sub = self.matrix[equations]
        cells = np.unique(sub.indices)
        assert self.problem.room is not None
        room = senses.lowered(senses.asked).room(self.problem.room)
        no_end = 2.0**52
        lower, upper = (x[cells] / self.factor for x in (room.lo, room.hi))
        model = LinearModel(
            cost=np.zeros(len(cells)),
            lower=np.where(lower < -no_end, -np.inf, lower),
            upper=np.where(upper > no_end, np.inf, upper),
            indptr=sub.indptr.astype(np.int64),
            indices=np.searchsorted(cells, sub.indices).astype(np.int64),
            coefs=sub.data,
            row_lower=np.zeros(len(equations)),
            row_upper=np.zeros(len(equations)),
        )
        try:
            outcome = WarmLp(model).solve(budget=budget)
        except SolverError:
            return None
        if outcome.status != "infeasible" or outcome.row_duals is None:
            return None
        return self.prover.prove(senses.sense, equations, outcome.row_duals)
