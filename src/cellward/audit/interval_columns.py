"""Interval columns: an audit's intervals with the codes of their cells, and what it comes to for each cell."""

from __future__ import annotations

from collections.abc import Mapping
from typing import Any

import numpy as np
from numpy.typing import NDArray

from cellward.table.labels import Labels, unused


def interval_columns(labels: Labels, intervals: Mapping[str, NDArray[Any]]) -> dict[str, Any]:
    """The codes and labels of each interval's cell instead of its number, then the other columns."""
    picked = intervals["cell"].tolist()
    first = {**labels.columns(), **labels.word_columns()}
    return {
        **{name: [column[i] for i in picked] for name, column in first.items()},
        **{unused(name, first, "audited"): intervals[name] for name in intervals if name != "cell"},
    }


def closest(intervals: Mapping[str, NDArray[Any]], cells: int, known: str) -> dict[str, Any]:
    """For each cell what the attacker makes of it who comes closest: the largest shortfall, then the narrowest interval; those who have the verdict
    ``known`` come last, and cells of which nothing was asked are missing."""
    c = intervals
    width = np.asarray(c["upper"], float) - np.asarray(c["lower"], float)
    order = np.lexsort((width, -np.asarray(c["shortfall"], float), c["verdict"] == known, c["cell"]))
    asked, first = np.unique(c["cell"][order], return_index=True)
    row = np.full(cells, -1, np.int64)
    row[asked] = order[first]
    texts = {name: [None if k < 0 else str(c[name][k]) for k in row.tolist()] for name in ("attacker", "verdict")}
    ends = {f"audited {name}": np.ma.masked_array(c[name][row], row < 0) for name in ("lower", "upper")}
    return {**ends, "audited attacker": texts["attacker"], "verdict": texts["verdict"]}
