"""Intervals: where a perturbation may publish each cell, what its costs are there, and what the public reads out of it.

Legend (paper 000, section 4): ⌊a⌋ and ⌈a⌉ the multiples of the cell's base around a (form ``base``; a multiple stays), or a − t and a + t (form
``distance``); v anywhere between them, inside the cell's public bounds.
"""

from __future__ import annotations

import math
from dataclasses import dataclass, replace
from functools import cached_property
from typing import Any, Literal

import numpy as np

from cellward.errors import InputError
from cellward.exact import Ints
from cellward.instance import Instance
from cellward.objective import Aim
from cellward.protect.lattice.told_box import AroundValue, BetweenMultiples, ToldBox
from cellward.publication.allowed import AllowedSet
from cellward.publication.knowledge import Knowledge

Form = Literal["base", "distance"]
LARGEST_SCALE = 10**6
"""Bases whose common multiple is larger would leave no digits for the costs."""


@dataclass(frozen=True, eq=False)
class PerturbationIntervals:
    """⌊a⌋ = ``floor``, ⌈a⌉ = ``ceiling``; ``amount``: base or distance of every cell, 0 where it is published as it is.

    ``factor``: how much finer the unit is than the table's own.
    """

    instance: Instance
    form: Form
    amount: Ints
    floor: Ints
    ceiling: Ints
    factor: int = 1

    @staticmethod
    def of(instance: Instance, form: Form, amount: Ints) -> PerturbationIntervals:
        """Around the true values of an instance; fixed cells stay."""
        a = instance.a
        amount = np.where(instance.sensitivity.fixed, 0, amount)
        if form == "distance":
            return PerturbationIntervals(instance, form, amount, a - amount, a + amount)
        base = np.maximum(amount, 1)
        moves = amount > 0
        return PerturbationIntervals(
            instance, form, amount, np.where(moves, a // base * base, a), np.where(moves, -(-a // base) * base, a)
        )

    def finer(self, places: int) -> PerturbationIntervals:
        """The same counted in a finer unit."""
        factor = 10**places
        scaled = {name: getattr(self, name) * factor for name in ("amount", "floor", "ceiling")}
        return replace(self, instance=self.instance.finer(places), factor=self.factor * factor, **scaled)

    @cached_property
    def lo(self) -> Ints:
        """The least value that may be published; of a value known to be positive, the multiple below its bound too, as in a rounding."""
        least = np.minimum(self.instance.lower, self.instance.a)
        if self.form == "base":
            step = np.maximum(self.amount, 1)
            least = np.where((least > 0) & (self.amount > 0), least - least % step, least)
        return np.maximum(self.floor, least)

    @cached_property
    def hi(self) -> Ints:
        """The largest one."""
        return np.minimum(self.ceiling, np.maximum(self.instance.upper, self.instance.a))

    @property
    def allowed(self) -> AllowedSet:
        """Every whole value between."""
        return AllowedSet(self.lo, self.hi, (self.lo < self.hi).astype(np.int64))

    def aim(self, objective: str) -> Aim | None:
        """What is made small: ``between`` (Figure 3), ``nearest``, or None for Σ w·|v − a|."""
        if objective == "distance":
            return None
        a, w = self.instance.a, self.instance.weight
        width, lean = ((x // self.factor) for x in (self.ceiling - self.floor, self.ceiling + self.floor - 2 * a))
        target = np.where(lean >= 0, self.floor, self.ceiling)
        if objective == "nearest":
            return Aim(target, np.where(width > 0, w, 0))
        # w·|v − a| at both ends and linear between them: from the end that costs less, it rises by w·|lean|/width a unit.
        widths = np.unique(width[width > 0]).tolist()
        scale = math.lcm(*widths)
        if scale > LARGEST_SCALE * max(widths, default=1):
            raise InputError("base: the bases have no common multiple of bearable size; choose rounder ones")
        weight = w * np.abs(lean) * (scale // np.maximum(width, 1))
        constant = scale * sum(x * y for x, y in zip(w.tolist(), np.abs(target - a).tolist(), strict=True))
        return Aim(target, weight, constant, scale)

    def knowledge(self, v: Ints, kind: Any) -> Knowledge:
        """What the public reads out of v."""
        return Knowledge.perturbed(v, self.amount, form=self.form, kind=kind, a=self.instance.a)

    def told_box(self, kind: str) -> ToldBox:
        """The same as it depends on what is decided."""
        if self.form == "base" and kind == "strict":
            return self._boxes
        known = self.knowledge(self.instance.a, kind)
        return AroundValue(known.hi - self.instance.a)

    @property
    def _boxes(self) -> BetweenMultiples:
        """Of a multiple it is told that it is one, or was moved to one: it may lie a base away to either side, whatever is decided."""
        stays = self.floor == self.ceiling
        beside = np.where(stays, self.amount, 0)
        below = np.where(~stays & (self.lo == self.floor), self.amount, 0)
        above = np.where(~stays & (self.hi == self.ceiling), self.amount, 0)
        return BetweenMultiples(self.floor - beside, self.ceiling + beside, below, above)
