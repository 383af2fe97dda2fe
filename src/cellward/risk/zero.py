"""Zero: a total of zero tells that everyone behind it contributes nothing."""

from __future__ import annotations

from dataclasses import dataclass
from typing import ClassVar

import numpy as np

from cellward.risk.rule import Judgement, contributions_of
from cellward.risk.user_levels import UserLevels
from cellward.table.table import Table


@dataclass(frozen=True)
class Zero(UserLevels):
    """Unsafe where there are records and every contribution is zero."""

    kind: ClassVar[str] = "zero"

    def judge(self, table: Table) -> Judgement:
        """The cells of zeros."""
        c = contributions_of(table)
        return self.levels(table, np.flatnonzero((c.rows > 0) & (c.size == 0)))

    @property
    def sentence(self) -> str:
        """The rule as a reviewer reads it."""
        return f"A cell is unsafe when it has records and all their contributions are zero (zero rule). {self.levels_sentence}"

    def reason(self, table: Table, cell: int) -> str:
        """How many zeros there are."""
        rows = int(contributions_of(table).rows[cell])
        return f"Its {rows} records all contribute zero." if rows > 1 else "Its one record contributes zero."
