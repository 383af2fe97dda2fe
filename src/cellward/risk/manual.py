"""Manual: cells that a person has declared unsafe, safe or fixed, each with the reason."""

from __future__ import annotations

from collections.abc import Mapping
from dataclasses import dataclass
from typing import ClassVar

import numpy as np

from cellward.errors import InputError
from cellward.exact import Bools
from cellward.risk.attacker import Cell
from cellward.risk.rule import Judgement
from cellward.risk.user_levels import UserLevels
from cellward.table.table import Table

STATUSES = ("unsafe", "safe", "fixed")


@dataclass(frozen=True)
class Manual(UserLevels):
    """``cells`` maps cells, by number or by their codes, to reasons.

    ``safe`` overrides the other rules, ``fixed`` publishes the cell as it is; both stand in the findings with their reason.

    >>> Manual({("North", "Total"): "expert judgement"}).sentence
    '1 cell is declared unsafe by hand. Levels: one unit, against exact disclosure only.'
    """

    kind: ClassVar[str] = "manual"
    cells: Mapping[Cell, str]
    status: str = "unsafe"

    def __post_init__(self) -> None:
        super().__post_init__()
        if self.status not in STATUSES:
            raise InputError(f"Manual: status={self.status!r}; give 'unsafe', 'safe' or 'fixed'")
        if not isinstance(self.cells, Mapping) or not self.cells:
            raise InputError("Manual: cells names no cell; give a mapping of cells to reasons, {cell: reason}")
        for cell, reason in self.cells.items():
            if not isinstance(reason, str) or not reason.strip():
                raise InputError(f"Manual: cell {cell!r} has no reason; say why it is {self.status}")
        object.__setattr__(self, "cells", dict(self.cells))
        levels = (self.percent, self.units, self.sliding_percent, self.sliding_units)
        if self.status != "unsafe" and any(level is not None for level in levels):
            raise InputError(f"Manual: levels are for unsafe cells, and these are {self.status}; leave the levels out")

    def located(self, table: Table) -> dict[int, str]:
        """The reasons by cell number."""
        found: dict[int, str] = {}
        for cell, reason in self.cells.items():
            try:
                i = table.labels.find(cell)
            except InputError as error:
                raise InputError(f"Manual: {error}") from None
            if i in found:
                raise InputError(f"Manual: {table.labels.name(i)} is named twice; name it once")
            found[i] = reason
        return found

    def judge(self, table: Table) -> Judgement:
        """The cells that are declared unsafe."""
        cells = sorted(self.located(table)) if self.status == "unsafe" else []
        return self.levels(table, np.array(cells, np.int64))

    def after_waivers(self, table: Table, judgement: Judgement, waived: Bools) -> Judgement:  # noqa: ARG002 (every rule has this shape)
        """Consents of contributors do not undo a person's decision."""
        return judgement

    @property
    def short(self) -> str:
        """The rule without its cells."""
        return f"Manual({self.status})"

    @property
    def sentence(self) -> str:
        """The rule as a reviewer reads it."""
        many = f"{len(self.cells):,} cells are" if len(self.cells) > 1 else "1 cell is"
        said = f"{many} declared {self.status} by hand."
        return f"{said} {self.levels_sentence}" if self.status == "unsafe" else said

    def reason(self, table: Table, cell: int) -> str:
        """The reason that was given."""
        return f"Declared {self.status}: {self.located(table)[cell]}"
