"""Neighbourhoods: a safe pattern made cheaper by printing a few of its cells again and finding tables that show without them what theirs did.

The cells are drawn, the dearer the likelier. Tables that move few cells beyond those still withheld, at costs that are drawn around the true ones,
show what is open; cells that no table needs any more are printed too. What has become cheaper is kept.
"""

from __future__ import annotations

import numpy as np

from cellward.exact import Bools
from cellward.protect.suppression.construction import Construction
from cellward.solve.budget import Budget

VAIN = 40
"""Tries without gain after which it ends."""
ROAMS, BACK = 1.01, 10
"""How much dearer than the best a pattern may be to go on from, and after how many tries without gain it goes back to the best."""
SHARE = 0.1
"""The largest part of the cells that is printed at once."""
SPREAD = 2.0
"""Costs are drawn up to so many times higher or lower."""
DEARER = 5.0
"""How many times as much the drawn cells cost."""


class Neighbourhoods:
    """Better patterns near the one that a construction has shown."""

    def __init__(self, made: Construction) -> None:
        self.made, self.rng = made, made.rng
        self.true = np.where(made.problem.forced, 0, made.problem.cost).astype(float)

    def run(self, budget: Budget, least: int) -> None:
        """Until nothing more is gained for long, the time is up, or the pattern costs what any must (``least``)."""
        made, vain = self.made, 0
        made.within(budget)
        self._settle()
        best = made.pattern, made.pool
        most = made.withheld_cost()
        while vain < VAIN and not budget.over and most > least and not made.vague:
            vain += 1
            if self._tried(most * ROAMS) and made.withheld_cost() < most:
                best, most, vain = (made.pattern, made.pool), made.withheld_cost(), 0
            if vain % BACK == BACK - 1:
                made.pattern, made.pool = best
        made.pattern, made.pool = best

    def _tried(self, most: float) -> bool:
        """One neighbourhood; True where it costs no more than this."""
        made = self.made
        before, pool = made.pattern, made.pool
        drawn = self._drawn()
        made.pattern = before & ~drawn
        made.pool = pool.without(made.pattern)
        made.cost = self.true * SPREAD ** self.rng.uniform(-1, 1, len(before)) * np.where(drawn, DEARER, 1.0)
        if made.repair(2 * most) and not made.vague:
            self._settle()
            if made.withheld_cost() <= most:
                return True
        made.pattern, made.pool = before, pool
        made.vague.clear()
        return False

    def _drawn(self) -> Bools:
        """Cells to be printed."""
        cells = np.flatnonzero(self.made.pattern & (self.true > 0))
        many = int(self.rng.integers(1, max(int(SHARE * len(cells)), 1) + 1))
        chance = self.true[cells] / self.true[cells].sum()
        out = np.zeros(len(self.true), bool)
        out[self.rng.choice(cells, many, replace=False, p=chance)] = True
        return out

    def _settle(self) -> None:
        """Without tables that the others make superfluous, and cells that none moves."""
        made = self.made
        made.pool = made.pool.only_needed(self.true)
        made.pattern = made.problem.forced | made.pool.moved
