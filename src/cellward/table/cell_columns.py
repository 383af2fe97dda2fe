"""Cell columns: a table as one row a cell, for frames: codes and labels, value, status, levels and how many stand behind. Confidential."""

from __future__ import annotations

from collections.abc import Mapping
from typing import Any

import numpy as np

from cellward import exact
from cellward.exact import Floats, Ints
from cellward.table.labels import Labels, unused
from cellward.table.levels import INFINITE
from cellward.table.sensitivity import CellStatus, Sensitivity


def word_of(status: int) -> str:
    """What a cell is, in one word: safe, unsafe, secondary or fixed."""
    return CellStatus(status).name.lower()


def cell_columns(
    labels: Labels, scaled: Ints, decimals: int, sensitivity: Sensitivity, frequency: Ints | None
) -> dict[str, Any]:
    """The columns by name: numbers in the user's units, levels without an end infinite."""
    s = sensitivity
    columns: dict[str, Any] = {
        "value": exact.units(scaled, decimals),
        "status": [word_of(code) for code in s.status.tolist()],
        **{name: _level(level, decimals) for name, level in (("lpl", s.lpl), ("upl", s.upl), ("spl", s.spl))},
        **({} if frequency is None else {"frequency": frequency}),
    }
    return beside({**labels.columns(), **labels.word_columns()}, columns, "cell")


def beside(first: Mapping[str, Any], further: Mapping[str, Any], word: str) -> dict[str, Any]:
    """Further columns beside the first, each under a name of its own."""
    out = dict(first)
    for name, column in further.items():
        out[unused(name, out, word)] = column
    return out


def _level(level: Ints, decimals: int) -> Ints | Floats:
    endless = level >= INFINITE
    if not endless.any():
        return exact.units(level, decimals)
    return np.where(endless, np.inf, exact.units(np.where(endless, 0, level), decimals).astype(np.float64))
