"""ToldBox: what a release tells of every cell, low ≤ y ≤ high, as functions of what is still to be decided; cuts are made of them (see capacity.py).

Each end is a constant plus a multiple of one decided *quantity*. Around the published value v, as rounding and most perturbations tell it
(AroundValue), the quantities are the values themselves: v − h ≤ y ≤ v + h. In boxes, as a perturbation between multiples tells it
(BetweenMultiples), they are 0 or 1: whether v sits on the lower, or on the upper end of its box, which widens what is told by one base to that side.
"""

from __future__ import annotations

from abc import ABC, abstractmethod
from dataclasses import dataclass

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
    def meets(self, need: Requirement, a: int, own: tuple[int, int], allowed: AllowedSet) -> bool:
        """Whether some decision on the cell alone keeps an attacker with these bounds of its ``own`` far enough from a."""

    @abstractmethod
    def room(self, need: Requirement, a: int, own: tuple[int, int]) -> tuple[int, int]:
        """Between which values v of the cell must lie for that (±NO_BOUND: anywhere)."""


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

    def meets(self, need: Requirement, a: int, own: tuple[int, int], allowed: AllowedSet) -> bool:
        """Whether an allowed value lies in the room."""
        least, most = self.room(need, a, own)
        lo, hi, step = (int(x[need.cell]) for x in (allowed.lo, allowed.hi, allowed.step))
        step = max(step, 1)
        first = lo + -(-max(least - lo, 0) // step) * step
        last = hi - -(-max(hi - most, 0) // step) * step
        return first <= last and 2 * int(self.half[need.cell]) >= need.spl

    def room(self, need: Requirement, a: int, own: tuple[int, int]) -> tuple[int, int]:
        """v + h ≥ a + UPL, v − h ≤ a − LPL, and as wide as asked inside the attacker's bounds."""
        (lb, ub), h = own, int(self.half[need.cell])
        least, most = -NO_BOUND, NO_BOUND
        if need.upl:
            least = max(least, a + need.upl - h)
        if need.lpl:
            most = min(most, a - need.lpl + h)
        if need.spl:
            least = max(least, need.spl + lb - h) if lb > -NO_BOUND else least
            most = min(most, ub + h - need.spl) if ub < NO_BOUND else most
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

    def ways(self, cell: int) -> list[tuple[int, int]]:
        """What can be told of one cell: inside its box, on its lower, on its upper end."""
        lo, hi, below, above = (int(x[cell]) for x in (self.lo, self.hi, self.below, self.above))
        return [(lo, hi), *([(lo - below, hi)] if below else []), *([(lo, hi + above)] if above else [])]

    def meets(self, need: Requirement, a: int, own: tuple[int, int], allowed: AllowedSet) -> bool:  # noqa: ARG002
        """Whether one of its ways does."""
        for low, high in self.ways(need.cell):
            y, z = max(low, own[0]), min(high, own[1])
            if z >= a + need.upl and y <= a - need.lpl and z - y >= need.spl:
                return True
        return False

    def room(self, need: Requirement, a: int, own: tuple[int, int]) -> tuple[int, int]:  # noqa: ARG002
        """Anywhere: which way is taken is a choice, not a room."""
        return -NO_BOUND, NO_BOUND
