"""Derived cuts: what a verifier derives from a requirement and multipliers of the equations, and what all kinds of cuts need for it."""

from __future__ import annotations

from collections.abc import Mapping, Sequence
from dataclasses import dataclass
from typing import Any

import numpy as np

from cellward.exact import NO_BOUND
from cellward.instance import Instance

LARGEST = 10**39
"""Numbers of a certificate have at most 40 digits."""
MOST_STEPS = 1 << 24
"""Half of what a verifier takes at least: cuts are kept up to it, those that count for most first."""

Room = tuple[int | None, int | None]
"""How far below and above its true value a cell may lie; None: without end."""


@dataclass(frozen=True, eq=False)
class DerivedCut:
    """Σ row·x ≥ least as a verifier derives it; ``steps``: what deriving it costs there."""

    stated: Mapping[str, Any]
    row: Mapping[int, int]
    least: int
    steps: int


class CutSource:
    """Levels, rooms and combinations of equations of one instance, by the number of the attacker."""

    def __init__(self, instance: Instance) -> None:
        self.instance = instance
        self.number = {attacker.name: k for k, attacker in enumerate(instance.attackers)}
        self.public = _rooms(instance.lower.tolist(), instance.upper.tolist(), instance.a.tolist())
        """What the public must think possible beforehand, for every cell."""
        self._own: dict[int, dict[int, Room]] = {}
        self._asked: dict[int, dict[int, tuple[int, int, int]]] = {}

    def slope(self, equations: Sequence[int], multipliers: Sequence[int]) -> tuple[dict[int, int], int]:
        """Mᵀμ, by cell, and how many entries it is made of."""
        slope: dict[int, int] = {}
        entries = 0
        for j, x in zip(equations, multipliers, strict=True):
            _, members, coefs = self.instance.relations.equation(int(j))
            entries += len(members)
            for i, coef in zip(members, coefs, strict=True):
                slope[i] = slope.get(i, 0) + x * coef
        return slope, entries

    def levels(self, k: int) -> dict[int, tuple[int, int, int]]:
        """lpl, upl and spl of the cells that something must be kept from this attacker of."""
        if k not in self._asked:
            asked = self.instance.attackers[k].asked(self.instance.sensitivity.levels)
            columns = zip(asked.lpl.tolist(), asked.upl.tolist(), asked.spl.tolist(), strict=True)
            self._asked[k] = dict(zip(asked.cell.tolist(), columns, strict=True))
        return self._asked[k]

    def room(self, k: int, i: int) -> Room:
        """How far this attacker must think the cell possible beforehand."""
        if k not in self._own:
            one, own = self.instance.attackers[k], self.instance
            lo, hi = np.maximum(own.lower[one.cell], one.lower), np.minimum(own.upper[one.cell], one.upper)
            rooms = _rooms(lo.tolist(), hi.tolist(), own.a[one.cell].tolist())
            self._own[k] = dict(zip(one.cell.tolist(), rooms, strict=True))
        return self._own[k].get(i) or self.public[i]


def _rooms(lo: list[int], hi: list[int], a: list[int]) -> list[Room]:
    return [
        (None if low == -NO_BOUND else x - low, None if high == NO_BOUND else high - x)
        for low, high, x in zip(lo, hi, a, strict=True)
    ]
