"""Threshold: a cell needs a minimum number of contributors."""

from __future__ import annotations

from dataclasses import dataclass
from typing import ClassVar

import numpy as np

from cellward.errors import InputError
from cellward.exact import Ints
from cellward.risk import parameter
from cellward.risk.rule import Judgement, contributions_of
from cellward.risk.user_levels import UserLevels
from cellward.table.table import Table


@dataclass(frozen=True)
class Threshold(UserLevels):
    """Unsafe where there are contributors, but fewer than n; ``by="records"`` counts records instead of units.

    >>> print(Threshold(3).sentence)
    A cell is unsafe when it has contributors, but fewer than 3 (minimum frequency rule, n = 3). Levels: one unit, against exact disclosure only.
    """

    kind: ClassVar[str] = "threshold"
    n: int = 3
    by: str = "units"

    def __post_init__(self) -> None:
        super().__post_init__()
        object.__setattr__(self, "n", parameter.count(self.n, "Threshold: n", least=2))
        if self.by not in ("units", "records"):
            raise InputError(f"Threshold: by={self.by!r}; give 'units' or 'records'")

    @property
    def _noun(self) -> str:
        return "contributors" if self.by == "units" else "records"

    def _count(self, table: Table) -> Ints:
        c = contributions_of(table)
        return c.units if self.by == "units" else c.rows

    def judge(self, table: Table) -> Judgement:
        """The cells with too few behind them."""
        count = self._count(table)
        return self.levels(table, np.flatnonzero((count > 0) & (count < self.n)))

    @property
    def sentence(self) -> str:
        """The rule as a reviewer reads it."""
        return f"A cell is unsafe when it has {self._noun}, but fewer than {self.n} (minimum frequency rule, n = {self.n}). {self.levels_sentence}"

    def reason(self, table: Table, cell: int) -> str:
        """How many there are."""
        count = int(self._count(table)[cell])
        noun = self._noun if count > 1 else self._noun[:-1]
        return f"It has {count} {noun}, fewer than {self.n}."
