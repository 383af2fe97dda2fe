"""Withheld: true values are printed except in some cells, of which nothing is; suppression publishes so."""

from __future__ import annotations

from dataclasses import dataclass
from functools import cached_property
from typing import TYPE_CHECKING, Any, ClassVar

import numpy as np

from cellward import exact
from cellward.errors import VerificationError
from cellward.exact import Bools, Ints, freeze
from cellward.publication.knowledge import Knowledge
from cellward.publication.publication import Kind, Publication, exact_sum

if TYPE_CHECKING:
    from cellward.instance import Instance
    from cellward.publication.allowed import AllowedSet


@dataclass(frozen=True, eq=False, repr=False)
class Withheld(Publication):
    """``shown``: the values printed, 0 where ``hidden``; made by :meth:`of`, which forgets what is withheld."""

    shown: Ints
    hidden: Bools

    kind: ClassVar[Kind] = "withheld"

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
    def start(self) -> Ints:
        """The values printed, 0 elsewhere."""
        return self.shown

    def permuted(self, order: Ints) -> Withheld:
        """The same when cell order[k] becomes cell k."""
        return Withheld(self.shown[order], self.hidden[order])

    def columns(self, decimals: int) -> dict[str, list[str]]:
        """One column, ``value``, empty where withheld."""
        texts = exact.texts(self.shown, decimals)
        return {"value": ["" if hidden else text for hidden, text in zip(self.hidden.tolist(), texts, strict=True)]}

    def printed(self) -> dict[str, Any]:
        """The values, null where withheld."""
        pairs = zip(self.hidden.tolist(), self.shown.tolist(), strict=True)
        return {"kind": self.kind, "value": [None if hidden else value for hidden, value in pairs]}

    def check(self, instance: Instance, allowed: AllowedSet | None) -> None:
        """What is printed is true."""
        if allowed is not None:
            raise VerificationError("withheld cells have no allowed values; nothing is released")
        false = np.flatnonzero(~self.hidden & (self.shown != instance.a))
        if len(false):
            name = instance.labels.name(int(false[0]))
            raise VerificationError(f"the value printed of {name} is not the true one; nothing is released")

    def cost(self, instance: Instance) -> int:
        """Σ w over the withheld cells."""
        return exact_sum(instance.weight, self.hidden.astype(np.int64))

    def deviations(self, a: Ints) -> Ints:
        """The whole value where it is withheld."""
        return np.where(self.hidden, np.abs(a), 0)
