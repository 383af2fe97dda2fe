"""Classes: the problem of choosing senses in leaf form: cells that always move alike are one, and a class at risk has one sense.

Legend: z of classes = matrix·u, condition·u = 0. A class at risk must move by the largest of its cells' levels on the side it takes.
"""

from __future__ import annotations

from dataclasses import dataclass, replace
from typing import TYPE_CHECKING

import numpy as np

from cellward.exact import Bools, Floats, Ints
from cellward.protect.adjustment.choice.sides import Sides
from cellward.protect.adjustment.continuous import AdjustmentProblem
from cellward.protect.adjustment.leaf import Classes as Alike

if TYPE_CHECKING:
    from scipy.sparse import csr_matrix


@dataclass(frozen=True, eq=False)
class Classes:
    """Bounds, weights and levels of classes; ``at``: those at risk; ``of`` and ``sign``: of each cell at risk its place there and direction."""

    matrix: csr_matrix
    condition: csr_matrix
    lo: Floats
    hi: Floats
    absolute: Floats
    square: Floats
    at: Ints
    sides: Sides
    of: Ints
    sign: Ints

    @staticmethod
    def of_problem(problem: AdjustmentProblem, cell: Ints, sides: Sides) -> Classes | None:
        """The classes of a problem without levels; None where cells are moved by fixed amounts, or one at risk cannot move, or not either way."""
        form = problem.compact
        place = np.full(problem.relations.cells, -1, np.int64)
        place[problem.moving] = np.arange(len(problem.moving))
        if not form.classes or np.any(place[cell] < 0) or np.any((problem.lo > 0) | (problem.hi < 0)):
            return None
        where = place[cell]
        if form.constant.any() or form.rhs.any() or np.any(form.of[where] < 0):
            return None
        alike = Alike(problem, form)
        lo, hi = alike.box(problem.lo, problem.hi)
        at, of = np.unique(form.of[where], return_inverse=True)
        sign, many = form.sign[where], len(at)
        up, down = np.zeros((2, many))
        np.maximum.at(up, of, np.where(sign > 0, sides.up, sides.down))
        np.maximum.at(down, of, np.where(sign > 0, sides.down, sides.up))
        no_up, no_down = np.zeros((2, many), bool)
        way = sides.only * sign
        np.logical_or.at(no_up, of, way < 0)
        np.logical_or.at(no_down, of, way > 0)
        no_up |= up > hi[at]
        no_down |= down > -lo[at]
        if np.any(no_up & no_down):
            return None
        only = np.where(no_down, 1, np.where(no_up, -1, 0))
        absolute, square = (alike.total(x) for x in (problem.costs.absolute, problem.costs.square))
        return Classes(form.matrix, form.condition, lo, hi, absolute, square, at, Sides(up, down, only), of, sign)

    @property
    def count(self) -> int:
        """Number of classes."""
        return len(self.lo)

    def senses(self, decided: Ints) -> Ints:
        """Senses of the cells at risk."""
        return np.asarray(decided[self.of] * self.sign)

    def decided(self, sense: Ints) -> Ints:
        """Sides of the classes from senses of the cells at risk that go together."""
        out = np.zeros(len(self.at), np.int64)
        out[self.of] = sense * self.sign
        return out

    def within(self, cost: float) -> Classes:
        """The same, cut to what a table of at most this cost can reach: w·|z| is at most the cost less what all others at risk cost at least."""
        up, down = self.sides.up, self.sides.down
        nearest = np.where(self.sides.only > 0, up, np.where(self.sides.only < 0, down, np.minimum(up, down)))
        own = np.zeros(self.count)
        own[self.at] = self.absolute[self.at] * nearest + self.square[self.at] * nearest**2
        left = np.maximum(cost - own.sum(), 0.0) + own
        with np.errstate(divide="ignore", invalid="ignore"):
            far = np.minimum(
                np.where(self.absolute > 0, left / self.absolute, np.inf),
                np.sqrt(np.where(self.square > 0, left / self.square, np.inf)),
            )
        far = far * (1 + 1e-9)
        return replace(self, lo=np.maximum(self.lo, -far), hi=np.minimum(self.hi, far))

    def reachable(self) -> Bools:
        """Of the classes at risk, those whose both sides are within their bounds."""
        s = self.sides
        return np.asarray((s.only == 0) & (s.up <= self.hi[self.at]) & (s.down <= -self.lo[self.at]))
