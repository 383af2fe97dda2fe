"""UserLevels: the rules that say which cells are unsafe and not how far to keep attackers away; the user says that."""

from __future__ import annotations

from dataclasses import KW_ONLY, dataclass
from fractions import Fraction
from typing import Any

import numpy as np
from numpy.typing import NDArray

from cellward.exact import Ints
from cellward.risk import parameter
from cellward.risk.rule import Judgement, Rule
from cellward.table.levels import level_of
from cellward.table.table import Table


@dataclass(frozen=True)
class UserLevels(Rule):
    """The level on both sides is the larger of ``percent`` of the value and ``units`` (in the table's units), rounded up.

    With neither, it is one unit in the last place of the table: this prevents exact disclosure only. ``sliding_percent`` and ``sliding_units`` give
    the width that the interval must have in the same way; with neither, none is asked.
    """

    _: KW_ONLY
    percent: parameter.Number | None = None
    units: parameter.Number | None = None
    sliding_percent: parameter.Number | None = None
    sliding_units: parameter.Number | None = None

    def __post_init__(self) -> None:
        for name in ("percent", "units", "sliding_percent", "sliding_units"):
            if (value := getattr(self, name)) is not None:
                object.__setattr__(self, name, parameter.decimal(value, f"{type(self).__name__}: {name}"))

    def levels(self, table: Table, cell: Ints) -> Judgement:
        """These cells, unsafe, with the user's levels."""
        sliding = None
        if self.sliding_percent is not None or self.sliding_units is not None:
            sliding = _larger(table, cell, self.sliding_percent, self.sliding_units)
        return Judgement.at(table, cell, _larger(table, cell, self.percent, self.units), sliding)

    @property
    def levels_sentence(self) -> str:
        """The levels as a reviewer reads them."""
        text = _words(self.percent, self.units)
        said = f"Levels: {text} on both sides" if text else "Levels: one unit, against exact disclosure only"
        sliding = _words(self.sliding_percent, self.sliding_units)
        return f"{said}, and a width of {sliding}." if sliding else f"{said}."


def _larger(table: Table, cell: Ints, percent: parameter.Number | None, units: parameter.Number | None) -> NDArray[Any]:
    """The larger of a percentage of the value and a number of units, rounded up to the scaled unit, at least one."""
    level = np.ones(len(cell), object)
    if units is not None:
        level = np.maximum(level, level_of(units, table.decimals, "units", "every cell"))
    if percent is not None:
        share = Fraction(percent) / 100
        value = np.abs(table.scaled[cell]).astype(object)
        level = np.maximum(level, -(-value * share.numerator // share.denominator))
    return level


def _words(percent: parameter.Number | None, units: parameter.Number | None) -> str:
    parts = [f"{percent} % of the value"] * (percent is not None) + [f"{units}"] * (units is not None)
    return parts[0] if len(parts) == 1 else f"the larger of {' and '.join(parts)}" if parts else ""
