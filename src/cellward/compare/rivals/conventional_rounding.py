"""Conventional rounding: every cell by itself to the nearest multiple of the base, halves up; margins do not add up.

Whoever knows the base β knows v − ⌊β/2⌋ ≤ y ≤ v + ⌊(β − 1)/2⌋.
"""

from __future__ import annotations

from dataclasses import dataclass
from typing import Any

import numpy as np

from cellward.compare.rivals.rival import Rival, told
from cellward.instance import Instance
from cellward.protect.amounts import amounts
from cellward.protect.option import Amount, option
from cellward.publication.values import Values


@dataclass(frozen=True)
class ConventionalRounding(Rival):
    """Rounding to the nearest, cell by cell, as spreadsheets do."""

    word = "conventional-rounding"
    title = "conventional rounding"
    tells = "the true value is at most half a base away"

    base: Any = option(5, Amount("base"), "Base in the table's units.", first=True)

    def accepts(self, instance: Instance) -> str | None:  # noqa: ARG002
        """Any table."""
        return None

    def print_of(self, instance: Instance, rng: np.random.Generator) -> Values:  # noqa: ARG002
        """The nearest multiple."""
        base = amounts(instance, self.base, "base")
        v = (instance.a + base // 2) // base * base
        return told(v, v - base // 2, v + (base - 1) // 2)
