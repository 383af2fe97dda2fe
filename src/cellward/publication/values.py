"""Values: an additive vector is printed, one number a cell; rounding, perturbation and adjustment publish so."""

from __future__ import annotations

from dataclasses import dataclass
from typing import TYPE_CHECKING, Any, ClassVar

import numpy as np

from cellward import exact
from cellward.errors import VerificationError
from cellward.exact import Ints
from cellward.publication.knowledge import Knowledge
from cellward.publication.publication import Kind, Publication, exact_sum

if TYPE_CHECKING:
    from cellward.instance import Instance
    from cellward.publication.allowed import AllowedSet


@dataclass(frozen=True, eq=False, repr=False)
class Values(Publication):
    """What is known of values as their method tells it; the values printed are those that it was read off."""

    told: Knowledge

    kind: ClassVar[Kind] = "values"

    def __post_init__(self) -> None:
        if self.told.v is None:
            raise VerificationError(f"a release that is {self.told.rule} prints no values; nothing is released")

    @property
    def v(self) -> Ints:
        """The values."""
        assert self.told.v is not None
        return self.told.v

    @property
    def knowledge(self) -> Knowledge:
        """As the method tells it."""
        return self.told

    @property
    def start(self) -> Ints:
        """The values themselves."""
        return self.v

    def columns(self, decimals: int) -> dict[str, list[str]]:
        """One column, ``value``."""
        return {"value": exact.texts(self.v, decimals)}

    def numbers(self, decimals: int) -> dict[str, Any]:
        """One column, ``value``."""
        return {"value": exact.units(self.v, decimals)}

    def printed(self) -> dict[str, Any]:
        """The values."""
        return {"kind": self.kind, "value": self.v.tolist()}

    def take(self, cells: Ints) -> Values:
        """The values of these cells."""
        return Values(self.told.take(cells))

    def check(self, instance: Instance, allowed: AllowedSet | None) -> None:
        """M·v = b and v_i ∈ S_i."""
        missed = np.flatnonzero(instance.relations.residual(self.v))
        if len(missed):
            raise VerificationError(f"the protected values miss equation {int(missed[0])}; nothing is released")
        outside = np.zeros(0, np.int64) if allowed is None else allowed.outside(self.v)
        if len(outside):
            name = instance.labels.name(int(outside[0]))
            raise VerificationError(f"the protected value of {name} is outside its allowed set; nothing is released")

    def cost(self, instance: Instance, allowed: AllowedSet | None = None) -> int:  # noqa: ARG002
        """Σ w·|v − a|."""
        return exact_sum(instance.weight, self.deviations(instance.a))

    def deviations(self, a: Ints) -> Ints:
        """|v − a|."""
        return np.asarray(np.abs(self.v - a))
