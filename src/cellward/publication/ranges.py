"""Ranges: an interval that holds the true value is printed for every cell, of width 0 where it is exact; interval publication publishes so."""

from __future__ import annotations

from dataclasses import dataclass
from functools import cached_property
from typing import TYPE_CHECKING, Any, ClassVar

import numpy as np

from cellward import exact
from cellward.errors import VerificationError
from cellward.exact import NO_BOUND, Bools, Floats, Ints, freeze
from cellward.publication.knowledge import Knowledge
from cellward.publication.publication import Kind, Publication, exact_sum

if TYPE_CHECKING:
    from cellward.instance import Instance
    from cellward.publication.allowed import AllowedSet


@dataclass(frozen=True, eq=False, repr=False)
class Ranges(Publication):
    """``lower`` and ``upper`` ends (±NO_BOUND: open to that side)."""

    lower: Ints
    upper: Ints

    kind: ClassVar[Kind] = "ranges"

    def __post_init__(self) -> None:
        freeze(self.lower, self.upper)
        if np.any(self.lower > self.upper):
            raise VerificationError("a range ends before it begins; nothing is released")

    @cached_property
    def knowledge(self) -> Knowledge:
        """The ranges."""
        return Knowledge.interval(self.lower, self.upper)

    @property
    def start(self) -> Ints:
        """The lower ends, where there are none the upper ones, else 0."""
        upper = np.where(self.upper == NO_BOUND, 0, self.upper)
        return np.where(self.lower == -NO_BOUND, upper, self.lower)

    def values(self, decimals: int) -> Floats:
        """The values of ranges without width."""
        return np.where(self.lower == self.upper, exact.units(self.start, decimals).astype(float), np.nan)

    def columns(self, decimals: int) -> dict[str, list[str]]:
        """``lower`` and ``upper``, empty where open."""
        return {"lower": _texts(self.lower, decimals), "upper": _texts(self.upper, decimals)}

    @property
    def unsaid(self) -> Bools:
        """Those of which a range is printed."""
        return np.asarray(self.lower < self.upper)

    def numbers(self, decimals: int) -> dict[str, Any]:
        """``lower`` and ``upper``, masked where open."""
        ends = (("lower", self.lower), ("upper", self.upper))
        none = {name: np.abs(end) == NO_BOUND for name, end in ends}
        return {
            name: np.ma.masked_array(exact.units(np.where(none[name], 0, end), decimals), none[name])
            for name, end in ends
        }

    def printed(self) -> dict[str, Any]:
        """Both ends, null where open."""
        return {"kind": self.kind, "lower": _ends(self.lower), "upper": _ends(self.upper)}

    def take(self, cells: Ints) -> Ranges:
        """The ranges of these cells."""
        return Ranges(self.lower[cells], self.upper[cells])

    def check(self, instance: Instance, allowed: AllowedSet | None) -> None:
        """Every range holds the true value, and only cells that may be ranges are (``allowed``: 1 where a cell may)."""
        if allowed is not None:
            exact_ones = np.flatnonzero((allowed.hi == 0) & (self.lower < self.upper))
            if len(exact_ones):
                name = instance.labels.name(int(exact_ones[0]))
                raise VerificationError(f"{name} must be printed as it is, and a range is; nothing is released")
        outside = np.flatnonzero((instance.a < self.lower) | (instance.a > self.upper))
        if len(outside):
            name = instance.labels.name(int(outside[0]))
            raise VerificationError(f"the range printed of {name} does not hold its value; nothing is released")

    def cost(self, instance: Instance, allowed: AllowedSet | None = None) -> int | None:  # noqa: ARG002
        """Σ w·width; an open end counts as the public bound to that side, and None where there is none."""
        lower, upper = self._within(instance)
        if np.any((lower == -NO_BOUND) | (upper == NO_BOUND)):
            return None
        return exact_sum(instance.weight, upper - lower)

    def _within(self, instance: Instance) -> tuple[Ints, Ints]:
        lower = np.where(self.lower == -NO_BOUND, instance.lower, self.lower)
        return lower, np.where(self.upper == NO_BOUND, instance.upper, self.upper)

    def deviations(self, a: Ints) -> Ints:
        """How far the farther end is; an open one as far as the value itself."""
        below = np.where(self.lower == -NO_BOUND, np.abs(a), a - self.lower)
        above = np.where(self.upper == NO_BOUND, np.abs(a), self.upper - a)
        return np.maximum(below, above)


def _texts(ends: Ints, decimals: int) -> list[str]:
    none = np.abs(ends) == NO_BOUND
    texts = exact.texts(np.where(none, 0, ends), decimals)
    return ["" if missing else text for missing, text in zip(none.tolist(), texts, strict=True)]


def _ends(ends: Ints) -> list[int | None]:
    return [None if abs(end) == NO_BOUND else end for end in ends.tolist()]
