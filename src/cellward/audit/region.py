"""Region: the tables y that one attacker must still think possible: M·y = b, lo ≤ y ≤ hi, y whole or not."""

from __future__ import annotations

from collections.abc import Iterable
from dataclasses import dataclass
from functools import cached_property
from typing import TYPE_CHECKING

import numpy as np

from cellward.audit.propagation import Propagation, propagate
from cellward.exact import Ints, freeze
from cellward.publication.knowledge import Knowledge
from cellward.risk.attacker import Attacker
from cellward.table.relations import Relations

if TYPE_CHECKING:
    from cellward.table.leaves import LeafForm

SAFE = 2**62


@dataclass(frozen=True, eq=False)
class Region:
    """Exact integers throughout; ``center`` is a whole table with M·center = b, inside the bounds or not."""

    relations: Relations
    lo: Ints
    hi: Ints
    whole: bool
    center: Ints
    own: Ints | None = None
    """The cells of which the attacker knows more than the public, looked at first."""
    public: Propagation | None = None
    """Bounds that this region shares with those of other attackers."""

    def __post_init__(self) -> None:
        freeze(self.lo, self.hi, self.center)

    @staticmethod
    def of(
        relations: Relations, lower: Ints, upper: Ints, knowledge: Knowledge, attacker: Attacker, center: Ints
    ) -> Region:
        """Public bounds, what the release tells, and what the attacker knows by itself."""
        return Region.of_each(relations, lower, upper, knowledge, (attacker,), center)[0]

    @staticmethod
    def of_each(
        relations: Relations,
        lower: Ints,
        upper: Ints,
        knowledge: Knowledge,
        attackers: Iterable[Attacker],
        center: Ints,
    ) -> list[Region]:
        """The regions of several attackers, who share the public bounds and what the release tells."""
        public = Propagation(relations, np.maximum(lower, knowledge.lo), np.minimum(upper, knowledge.hi))
        return [
            Region(
                relations,
                *attacker.narrow(public.lo, public.hi),
                knowledge.whole or attacker.whole,
                center,
                attacker.cell,
                public,
            )
            for attacker in attackers
        ]

    @cached_property
    def outer(self) -> tuple[Ints, Ints]:
        """Bounds that every table of the region keeps, from one equation at a time."""
        if self.public is None:
            return propagate(self.relations, self.lo, self.hi, whole=self.whole)
        return self.public.narrowed(self.lo, self.hi, whole=self.whole)

    @property
    def form(self) -> LeafForm:
        """a = N·u + c of the relations."""
        return self.relations.leaf_form

    def shift_of(self, leaves: Ints) -> Ints:
        """The change of all cells that these changes of the leaves bring."""
        return np.asarray(self.form.matrix @ leaves)

    def contains(self, y: Ints) -> bool:
        """Whether a whole table lies in the region, exactly."""
        if self.own is not None:
            mine = y[self.own]
            if np.any(mine < self.lo[self.own]) or np.any(mine > self.hi[self.own]):
                return False
        inside = bool(np.all(y >= self.lo) and np.all(y <= self.hi))
        return inside and not self.relations.residual(y).any()

    def contains_shift(self, shift: Ints, denominator: int) -> bool:
        """Whether center + shift/denominator lies in the region, exactly (denominator 1 where values are whole)."""
        if denominator == 1:
            return self.contains(self.center + shift)
        r, largest = self.relations, int(np.abs(shift).max(initial=0))
        longest = max(int(np.diff(r.indptr).max(initial=0)), 1) * int(np.abs(r.coefs).max(initial=1))
        if (
            self.whole
            or largest * longest >= SAFE
            or int(np.abs(self.center).max(initial=0)) >= SAFE // 2 // denominator
        ):
            return False
        room = SAFE // 2 // denominator
        down, up = (np.clip(_minus(bounds, self.center), -room, room) for bounds in (self.lo, self.hi))
        inside = bool(np.all(shift >= denominator * down) and np.all(shift <= denominator * up))
        return inside and not r.sums(r.coefs * shift[r.indices]).any()


def _minus(bounds: Ints, center: Ints) -> Ints:
    """bounds − center without leaving int64."""
    return np.clip(bounds, -SAFE, SAFE) - center
