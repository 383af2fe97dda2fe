"""Sides: what each cell at risk may do, up by a level or down by one, and what a side costs with and without a decision.

Legend: w weight, z deviation, f(z) = w·|z| or w·z². A cell at risk takes z ≥ up or z ≤ −down. Undecided, its cost is replaced by the convex envelope
of f over both parts: linear between −down and up, f itself beyond. That is the hull of the perspective form, so no big-M is as tight.
"""

from __future__ import annotations

from dataclasses import dataclass

import numpy as np

from cellward.exact import Floats, Ints
from cellward.protect.adjustment.senses import Senses

Decided = Ints
"""One a thing at risk: +1 up, −1 down, 0 not decided."""
NEAR = 1e-7
"""Deviations this near to a level, as a share of it, are on it."""


@dataclass(frozen=True, eq=False)
class Sides:
    """Levels ``up`` and ``down`` of things at risk (cells, or classes of cells that move alike), and those that have one side only (±1; 0: both)."""

    up: Floats
    down: Floats
    only: Ints

    @staticmethod
    def of(senses: Senses, factor: int) -> Sides:
        """Of the cells at risk, in units of the table."""
        only = np.where(senses.can_up & ~senses.can_down, 1, np.where(senses.can_down & ~senses.can_up, -1, 0))
        return Sides(senses.up / factor, senses.down / factor, only)

    def nearer(self, z: Floats) -> Ints:
        """The side that each deviation is nearer to."""
        return np.where(self.only != 0, self.only, np.where(z >= (self.up - self.down) / 2, 1, -1))

    def taken(self, z: Floats, decided: Decided) -> Ints:
        """Sides with those not decided where their deviations lie; 0 where these lie between the two levels."""
        up, down = z >= self.up * (1 - NEAR), z <= -self.down * (1 - NEAR)
        return np.where(decided != 0, decided, np.where(up, 1, np.where(down, -1, 0)))
