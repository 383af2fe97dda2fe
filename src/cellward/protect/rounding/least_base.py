"""Least base: what the levels of single cells ask of a base, in whole numbers and without a solver; no rounding to one that they rule out exists.

Legend: a true values, β bases, s steps, h = s·β − 1 the half-width that a rounded value tells (strict), all scaled. A cell that is to be kept LPL
below and UPL above has a + UPL − h ≤ v ≤ a − LPL + h, whatever the other cells are: so 2·h ≥ LPL + UPL, and a multiple of β must lie in there
(model.md, Levels). These conditions are necessary: equations, attackers' own bounds and other cells are left aside, so what passes them may still
have no rounding.
"""

from __future__ import annotations

from collections.abc import Iterator
from dataclasses import dataclass

import numpy as np

from cellward.exact import LARGEST, Ints
from cellward.instance import Instance
from cellward.protect.asked_of_cells import AskedOfCells
from cellward.protect.lattice.model import allowed_multiples
from cellward.publication.knowledge import Knowledge

FIRST = (3, 5)
DECADE = (10, 15, 20, 25, 30, 40, 50, 75)
"""Round bases: 3, 5, 10, 15, 20, 25, 30, 40, 50, 75, 100, 150, …"""


def round_bases(least: int = 1) -> Iterator[int]:
    """The round bases from ``least`` on, in units of the table's last decimal, without end but that of numbers.

    >>> from itertools import islice
    >>> list(islice(round_bases(), 8)), next(round_bases(17_622))
    ([3, 5, 10, 15, 20, 25, 30, 40], 20000)
    """
    yield from (base for base in FIRST if base >= least)
    size = 1
    while 100 * size <= LARGEST:
        yield from (size * base for base in DECADE if size * base >= least)
        size *= 10


@dataclass(frozen=True, eq=False)
class SingleCells:
    """The levels of an instance as conditions on bases."""

    instance: Instance
    asked: AskedOfCells

    @staticmethod
    def of(instance: Instance) -> SingleCells:
        """Those that hold whatever is published in other cells."""
        return SingleCells(instance, AskedOfCells.of(instance))

    def least(self, steps: int = 1) -> Ints:
        """For each cell the base below which none does: 2·(s·β − 1) ≥ width; 1 where nothing is asked."""
        half = -(-self.asked.width // 2)
        return np.where(self.asked.any, -(-(half + 1) // steps), 1)

    def blocked(self, base: Ints | int, steps: int = 1) -> Ints:
        """The cells whose levels no multiple of their base next to them meets: while there is one, no rounding protects."""
        a, fixed = self.instance.a, self.instance.sensitivity.fixed
        each = np.broadcast_to(np.asarray(base, np.int64), a.shape)
        allowed = allowed_multiples(self.instance, each, steps)
        half = Knowledge.rounded(a, np.where(fixed, 0, each), steps=steps).hi - a
        low = np.where(self.asked.upl > 0, np.maximum(allowed.lo, a + self.asked.upl - half), allowed.lo)
        high = np.where(self.asked.lpl > 0, np.minimum(allowed.hi, a - self.asked.lpl + half), allowed.hi)
        first = allowed.lo + -(-(low - allowed.lo) // each) * each
        return np.flatnonzero(self.asked.any & ((first > high) | (2 * half < self.asked.spl)))

    def least_round(self, steps: int = 1) -> int | None:
        """The first round base at which no cell is blocked; None where none is larger than every value and does."""
        most = 4 * int(np.abs(self.instance.a).max(initial=0)) + 2 * int(self.least(steps).max(initial=1))
        for base in round_bases(int(self.least(steps).max(initial=1))):
            if not len(self.blocked(base, steps)):
                return base
            if base > most:
                break
        return None

    def least_steps(self, base: Ints | int, most: int) -> int | None:
        """The first number of steps at which no cell is blocked, of those up to ``most``; more steps block no more cells."""
        half = -(-self.asked.width // 2)
        first = int((-(-(half + 1) // np.asarray(base, np.int64)))[self.asked.any].max(initial=1))
        for steps in range(first, most + 1):
            if not len(self.blocked(base, steps)):
                return steps
        return None
