"""Withheld: true values are printed except in some cells, of which nothing is but that; suppression publishes so."""

from __future__ import annotations

from dataclasses import dataclass
from functools import cached_property
from typing import TYPE_CHECKING, Any, ClassVar

import numpy as np

from cellward import exact
from cellward.errors import VerificationError
from cellward.exact import Bools, Floats, Ints, freeze
from cellward.publication.knowledge import Knowledge
from cellward.publication.publication import Kind, Publication, exact_sum

if TYPE_CHECKING:
    from cellward.instance import Instance
    from cellward.publication.allowed import AllowedSet


WITHHELD, PUBLISHED = "withheld", "published"
"""What the column ``status`` says of a cell. Whether a cell is at risk itself or withheld for the sake of others would tell more than an audit takes
attackers to know (that a count is below a threshold, that a cell is not dominated), so it is not published."""


@dataclass(frozen=True, eq=False, repr=False)
class Withheld(Publication):
    """``shown``: the values printed, 0 where ``hidden``; made by :meth:`of`, which forgets what is withheld."""

    shown: Ints
    hidden: Bools

    kind: ClassVar[Kind] = "withheld"
    costs_amounts: ClassVar[bool] = False

    @staticmethod
    def of(a: Ints, withheld: Ints) -> Withheld:
        """These values but for the cells withheld."""
        hidden = np.zeros(len(a), bool)
        hidden[withheld] = True
        return Withheld(np.where(hidden, 0, a), hidden)

    def __post_init__(self) -> None:
        freeze(self.shown, self.hidden)
        if self.shown[self.hidden].any():
            raise VerificationError("a publication holds a value that is withheld; nothing is released")

    @cached_property
    def knowledge(self) -> Knowledge:
        """The printed values; nothing of the others."""
        return Knowledge.suppressed(self.shown, np.flatnonzero(self.hidden))

    @property
    def withheld(self) -> Bools:
        """The cells of which nothing is printed."""
        return self.hidden

    @property
    def start(self) -> Ints:
        """The values printed, 0 elsewhere."""
        return self.shown

    def values(self, decimals: int) -> Floats:
        """The values printed, not a number where withheld."""
        return np.where(self.hidden, np.nan, exact.units(self.shown, decimals).astype(float))

    def columns(self, decimals: int) -> dict[str, list[str]]:
        """``value``, empty where withheld, and ``status``, which says so."""
        texts, hidden = exact.texts(self.shown, decimals), self.hidden.tolist()
        return {
            "value": ["" if gone else text for gone, text in zip(hidden, texts, strict=True)],
            "status": self._statuses,
        }

    @property
    def _statuses(self) -> list[str]:
        return [WITHHELD if gone else PUBLISHED for gone in self.hidden.tolist()]

    @property
    def unsaid(self) -> Bools:
        """Those withheld."""
        return self.hidden

    def numbers(self, decimals: int) -> dict[str, Any]:
        """``value``, masked where withheld, and ``status``."""
        return {"value": np.ma.masked_array(exact.units(self.shown, decimals), self.hidden), "status": self._statuses}

    def printed(self) -> dict[str, Any]:
        """The values, null where withheld."""
        pairs = zip(self.hidden.tolist(), self.shown.tolist(), strict=True)
        return {"kind": self.kind, "value": [None if hidden else value for hidden, value in pairs]}

    def take(self, cells: Ints) -> Withheld:
        """The values of these cells, but for those withheld."""
        return Withheld(self.shown[cells], self.hidden[cells])

    def check(self, instance: Instance, allowed: AllowedSet | None) -> None:
        """What is printed is true, and what was to be printed or withheld is."""
        outside = np.zeros(0, np.int64) if allowed is None else allowed.outside(self.hidden.astype(np.int64))
        if len(outside):
            i = int(outside[0])
            word = WITHHELD if self.hidden[i] else "printed"
            raise VerificationError(f"{instance.labels.name(i)} is {word}, which it may not be; nothing is released")
        false = np.flatnonzero(~self.hidden & (self.shown != instance.a))
        if len(false):
            name = instance.labels.name(int(false[0]))
            raise VerificationError(f"the value printed of {name} is not the true one; nothing is released")

    def cost(self, instance: Instance, allowed: AllowedSet | None = None) -> int:
        """Σ w over the withheld cells, but for those that had to be."""
        free = self.hidden if allowed is None else self.hidden & (allowed.lo == 0)
        return exact_sum(instance.weight, free.astype(np.int64))

    def deviations(self, a: Ints) -> Ints:
        """The whole value where it is withheld."""
        return np.where(self.hidden, np.abs(a), 0)
