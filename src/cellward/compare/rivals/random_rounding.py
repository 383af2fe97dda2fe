"""Random rounding: every cell by itself goes up or down to a multiple of the base, so that it is right on average; margins do not add up.

Legend: β base, r = a mod β; up with probability r/β, multiples stay. Whoever knows the base knows |y − v| ≤ β − 1.
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
class RandomRounding(Rival):
    """Unbiased random rounding, cell by cell, as the censuses of Canada (base 5) and New Zealand (base 3) publish."""

    word = "random-rounding"
    title = "random rounding"
    tells = "the true value is less than a base away"

    base: Any = option(5, Amount("base"), "Base in the table's units.", first=True)

    def accepts(self, instance: Instance) -> str | None:  # noqa: ARG002
        """Any table."""
        return None

    def print_of(self, instance: Instance, rng: np.random.Generator) -> Values:
        """⌊a⌋ or ⌈a⌉."""
        base = amounts(instance, self.base, "base")
        rest = instance.a % base
        v = instance.a - rest + np.where(rng.integers(0, base) < rest, base, 0)
        return told(v, v - base + 1, v + base - 1)
