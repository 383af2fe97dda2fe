"""Long tables: what CSV and Parquet files of cells have in common, on the way in and on the way out."""

from __future__ import annotations

from collections.abc import Callable, Sequence
from pathlib import Path
from typing import Any

import numpy as np

from cellward import exact
from cellward.errors import InputError
from cellward.exact import NO_BOUND
from cellward.files.text import naming
from cellward.table.assemble import STATUS_LETTERS
from cellward.table.frame import LongSpec, build_from_frame
from cellward.table.labels import unused
from cellward.table.levels import INFINITE
from cellward.table.sensitivity import CellStatus
from cellward.table.table import Table

MOST_COLUMNS = 10_000
_LETTER = {status: letter for letter, status in STATUS_LETTERS.items()}


def check_header(path: Path, names: Sequence[str], spec: LongSpec) -> None:
    """Refuse a header without a wanted column, or with one twice."""
    if len(names) > MOST_COLUMNS:
        raise InputError(
            f"{path}: {len(names):,} columns, more than {MOST_COLUMNS:,}; give a long table, one row a cell"
        )
    for name in spec.picked(names):
        if name not in names:
            shown = ", ".join(map(repr, names[:12])) + (", …" if len(names) > 12 else "")
            raise InputError(f"{path}: there is no column {name!r}; the columns are {shown}")
        if list(names).count(name) > 1:
            raise InputError(f"{path}: the column {name!r} occurs twice in the header; rename one")


def build(
    path: Path, spec: LongSpec, names: Sequence[str], rows: Sequence[Sequence[Any]], line: Callable[[int], str]
) -> Table:
    """The table of these rows, whose columns are called so; errors name the file and the place."""
    if not rows:
        raise InputError(f"{path}: there is a header but no rows; give at least one cell")
    columns = dict(zip(names, (list(column) for column in zip(*rows, strict=True)), strict=True))
    with naming(path):
        return build_from_frame(columns, spec, place=lambda row, column: f"{path} {line(row)}, column {column}")


def long_columns(table: Table) -> dict[str, list[str]]:
    """A table as text columns: dimensions (or ``cell``), value, status, and the levels, bounds and costs that are not the usual ones.

    A column whose name a dimension has is called ``cell value``, ``cell status`` and so on.
    """
    s = table.sensitivity
    first = {**table.labels.columns(), **table.labels.word_columns()}
    out = {name: list(column) for name, column in first.items()}
    extra = {
        "value": exact.texts(table.scaled, table.decimals),
        "status": [_LETTER[CellStatus(code)] for code in s.status.tolist()],
    }
    for name, level in (("lpl", s.lpl), ("upl", s.upl), ("spl", s.spl)):
        if level.any():
            extra[name] = ["inf" if own >= INFINITE else exact.text(own, table.decimals) for own in level.tolist()]
    for name, bound, usual in (("lower", table.lower, 0), ("upper", table.upper, NO_BOUND)):
        if np.any(bound != usual):
            extra[name] = ["" if abs(b) == NO_BOUND else exact.text(b, table.decimals) for b in bound.tolist()]
    if table.weight is not None:
        extra["cost"] = exact.texts(table.weight, table.weight_decimals)
    for name, column in extra.items():
        out[unused(name, out, "cell")] = column  # a dimension may be called so
    return out
