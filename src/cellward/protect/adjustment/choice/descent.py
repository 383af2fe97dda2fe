"""Descent: better senses from senses at hand: those turned that prices say would pay, then blocks of classes chosen anew with all others as they are.

The prices of the least distance for senses at hand say of each cell at risk what the other side would cost at these prices. Cells whose other side is
cheaper are turned together; where that does not pay, the better half of them, down to single cells. Each trial is a least distance anew, in whatever
form suits the table, so this goes at any size.
"""

from __future__ import annotations

from dataclasses import dataclass

import numpy as np

from cellward.exact import Bools, Floats, Ints
from cellward.protect.adjustment import engines
from cellward.protect.adjustment.continuous import AdjustmentProblem, Continuous, Form, prices
from cellward.protect.adjustment.needs import Room
from cellward.protect.adjustment.senses import Senses
from cellward.solve.budget import Budget

PAYS = 1e-9
"""A gain of less than this share of the cost is none."""
FAILS = 12
"""Trials in a row that gain nothing after which turning by prices ends."""


@dataclass(frozen=True, eq=False)
class Standing:
    """Senses with the least distance for them."""

    senses: Senses
    answer: Continuous

    @property
    def cost(self) -> float:
        """That distance."""
        return self.answer.objective


class Trials:
    """Least distances for senses of one problem, ``free`` being its room without levels."""

    def __init__(
        self, problem: AdjustmentProblem, free: Room, budget: Budget, forms: tuple[Form, ...], factor: int
    ) -> None:
        self.problem, self.free, self.budget, self.forms, self.factor = problem, free, budget, forms, factor

    def of(self, senses: Senses) -> Standing | None:
        """The least distance for these senses; None where there is none, or it was not found."""
        inside = self.problem.within(senses.room(self.free))
        found = engines.solve(inside, self.budget, self.forms)
        if found.status == "unknown" and not self.budget.over:
            found = engines.second_opinion(inside, self.budget, found)
        return Standing(senses, found) if found.status == "optimal" and found.z is not None else None

    def by_prices(self, standing: Standing, budget: Budget) -> Standing:
        """Cells turned while prices find any that pay."""
        tried: set[bytes] = set()
        share, fails = 1.0, 0
        while not budget.over and fails < FAILS:
            gain = self.gains(standing)
            order = np.flatnonzero(gain > PAYS * standing.cost)
            order = order[np.argsort(-gain[order], kind="stable")]
            many = int(np.ceil(share * len(order)))
            if not many:
                break
            which = np.zeros(len(gain), bool)
            which[order[:many]] = True
            senses = standing.senses.turned(which)
            key = senses.sense.tobytes()
            found = None
            if key not in tried:
                tried.add(key)
                found = self.of(senses)
            if found is not None and found.cost < standing.cost * (1 - PAYS):
                standing, share, fails = found, min(1.0, 2 * share), 0
                continue
            fails += 1
            if many == 1:
                break
            share /= 2
        return standing

    def gains(self, standing: Standing) -> Floats:
        """What turning each cell at risk would gain at the prices of the least distance; −inf for those that cannot turn."""
        p, s, y = self.problem, standing.senses, standing.answer.multipliers
        gain = np.full(len(s.cell), -np.inf)
        turnable = s.turnable
        if y is None or not turnable.any():
            return gain
        at = s.cell[turnable]
        g = prices(p.relations, y)[at]
        w, v = p.costs.absolute[at], p.costs.square[at]
        up, down = s.up[turnable] / self.factor, s.down[turnable] / self.factor
        rising, falling = _least(w, v, g, up, p.hi[at]), _least(w, v, -g, down, -p.lo[at])
        rises = s.sense[turnable] > 0
        gain[turnable] = np.where(rises, rising - falling, falling - rising)
        return gain


def _least(w: Floats, v: Floats, g: Floats, level: Floats, most: Floats) -> Floats:
    """The least w·z + v·z² − g·z over level ≤ z ≤ most, but for what falls without end: at four times the level there."""
    end = np.minimum(most, 4 * level)
    turn = np.divide(g - w, 2 * v, out=np.where(g > w, end, level), where=v > 0)
    z = np.clip(turn, level, np.maximum(end, level))
    return np.asarray((w - g) * z + v * z**2)


def blocks(many: int, size: int, near: Ints, rng: np.random.Generator) -> Bools:
    """A block of things at risk: in turns at random and next to each other in the order ``near``."""
    out = np.zeros(many, bool)
    if rng.integers(2):
        out[rng.choice(many, min(size, many), replace=False)] = True
    else:
        first = int(rng.integers(many))
        out[near[(first + np.arange(min(size, many))) % many]] = True
    return out
