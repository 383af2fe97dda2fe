"""ToldBox: what a release tells of every cell, low ≤ y ≤ high, as functions of what is still to be decided; cuts are made of them (see capacity.py).

Each end is a constant plus a multiple of one decided *quantity*. Around the published value v, as rounding and most perturbations tell it
(AroundValue), the quantities are the values themselves: v − h ≤ y ≤ v + h. In boxes, as a perturbation between multiples tells it
(BetweenMultiples), they are 0 or 1: whether v sits on the lower, or on the upper end of its box, which widens what is told by one base to that side.
"""

from __future__ import annotations

from abc import ABC, abstractmethod
from dataclasses import dataclass
from typing import NamedTuple

import numpy as np

from cellward.exact import NO_BOUND, Bools, Floats, Ints
from cellward.publication.allowed import AllowedSet


@dataclass(frozen=True)
class Requirement:
    """What must be kept from one attacker (by number) in one cell."""

    attacker: int
    cell: int
    lpl: int
    upl: int
    spl: int


class CellLevels(NamedTuple):
    """Levels of cells in a row, of one attacker or of several."""

    cell: Ints
    lpl: Ints
    upl: Ints
    spl: Ints


@dataclass(frozen=True, eq=False)
class End:
    """One end of what is told of every cell: constant + coef·q[at]."""

    constant: Ints
    coef: Ints
    at: Ints

    def of(self, q: Floats) -> Floats:
        """The end where these quantities are decided."""
        return np.asarray(self.constant + self.coef * q[self.at])


class ToldBox(ABC):
    """Both ends, and what can be said of single cells before anything is decided."""

    @property
    @abstractmethod
    def low(self) -> End:
        """The lower ends."""

    @property
    @abstractmethod
    def high(self) -> End:
        """The upper ends."""

    @property
    def quantities(self) -> int:
        """How many there are to decide."""
        return int(max(self.low.at.max(initial=-1), self.high.at.max(initial=-1))) + 1

    @property
    @abstractmethod
    def moving(self) -> Bools:
        """Cells that an attacker may think to be moved."""

    @abstractmethod
    def widest(self, allowed: AllowedSet) -> tuple[Ints, Ints]:
        """The lowest lower and the highest upper end that any decision leads to."""

    @abstractmethod
    def meets(self, asked: CellLevels, a: Ints, own: tuple[Ints, Ints], allowed: AllowedSet) -> Bools:
        """Whether some decision on each cell alone keeps an attacker with these bounds of its ``own`` far enough from a."""

    @abstractmethod
    def room(self, asked: CellLevels, a: Ints, own: tuple[Ints, Ints]) -> tuple[Ints, Ints]:
        """Between which values v of each cell must lie for that (±NO_BOUND: anywhere)."""


@dataclass(frozen=True, eq=False)
class AroundValue(ToldBox):
    """v − h ≤ y ≤ v + h."""

    half: Ints

    @property
    def low(self) -> End:
        """v − h."""
        return End(-self.half, np.ones_like(self.half), np.arange(len(self.half)))

    @property
    def high(self) -> End:
        """v + h."""
        return End(self.half, np.ones_like(self.half), np.arange(len(self.half)))

    @property
    def moving(self) -> Bools:
        """Where h is positive."""
        return np.asarray(self.half > 0)

    def widest(self, allowed: AllowedSet) -> tuple[Ints, Ints]:
        """Around the outermost allowed values."""
        return allowed.lo - self.half, allowed.hi + self.half

    def meets(self, asked: CellLevels, a: Ints, own: tuple[Ints, Ints], allowed: AllowedSet) -> Bools:
        """Whether an allowed value lies in the room."""
        least, most = self.room(asked, a, own)
        lo, hi = allowed.lo[asked.cell], allowed.hi[asked.cell]
        step = np.maximum(allowed.step[asked.cell], 1)
        first = lo + -(-np.maximum(np.maximum(least, lo) - lo, 0) // step) * step
        last = hi - -(-np.maximum(hi - np.minimum(most, hi), 0) // step) * step
        return np.asarray((first <= last) & (2 * self.half[asked.cell] >= asked.spl))

    def room(self, asked: CellLevels, a: Ints, own: tuple[Ints, Ints]) -> tuple[Ints, Ints]:
        """v + h ≥ a + UPL, v − h ≤ a − LPL, and as wide as asked inside the attacker's bounds."""
        (lb, ub), h, (_, lpl, upl, spl) = own, self.half[asked.cell], asked
        least = np.where(upl > 0, a + upl - h, -NO_BOUND)
        most = np.where(lpl > 0, a - lpl + h, NO_BOUND)
        below, above = (spl > 0) & (lb > -NO_BOUND), (spl > 0) & (ub < NO_BOUND)
        least = np.where(below, np.maximum(least, spl + np.where(below, lb, 0) - h), least)
        most = np.where(above, np.minimum(most, np.where(above, ub, 0) + h - spl), most)
        return least, most


@dataclass(frozen=True, eq=False)
class BetweenMultiples(ToldBox):
    """lo ≤ y ≤ hi, and ``below`` further down where v sits on the lower end, ``above`` further up where it sits on the upper one.

    The quantities are: on the lower end (one a cell), then: on the upper end.
    """

    lo: Ints
    hi: Ints
    below: Ints
    above: Ints

    @property
    def low(self) -> End:
        """lo, or further down."""
        return End(self.lo, -self.below, np.arange(len(self.lo)))

    @property
    def high(self) -> End:
        """hi, or further up."""
        return End(self.hi, self.above, np.arange(len(self.lo)) + len(self.lo))

    @property
    def moving(self) -> Bools:
        """Where the widest box holds more than one value."""
        return np.asarray(self.lo - self.below < self.hi + self.above)

    def widest(self, allowed: AllowedSet) -> tuple[Ints, Ints]:  # noqa: ARG002
        """On both ends at once, which is more than any decision."""
        return self.lo - self.below, self.hi + self.above

    def meets(self, asked: CellLevels, a: Ints, own: tuple[Ints, Ints], allowed: AllowedSet) -> Bools:  # noqa: ARG002
        """Whether the cell inside its box, on its lower or on its upper end does."""
        lo, hi, below, above = (part[asked.cell] for part in (self.lo, self.hi, self.below, self.above))
        met = np.zeros(len(a), bool)
        for low, high in ((lo, hi), (lo - below, hi), (lo, hi + above)):
            y, z = np.maximum(low, own[0]), np.minimum(high, own[1])
            met |= (z >= a + asked.upl) & (y <= a - asked.lpl) & (z - y >= asked.spl)
        return met

    def room(self, asked: CellLevels, a: Ints, own: tuple[Ints, Ints]) -> tuple[Ints, Ints]:  # noqa: ARG002
        """Anywhere: which way is taken is a choice, not a room."""
        return np.full(len(a), -NO_BOUND, np.int64), np.full(len(a), NO_BOUND, np.int64)
