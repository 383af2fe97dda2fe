"""Layout: a printed table as people read it, the last dimension across the columns where it has few codes, otherwise one row a cell."""

from __future__ import annotations

from dataclasses import dataclass

from cellward.formats.printed_table import PrintedTable

MOST_ACROSS = 12


@dataclass(frozen=True)
class Layout:
    """Heads and rows of texts: ``names`` columns of codes or labels to the left, ``entries`` to the right."""

    heads: tuple[str, ...]
    rows: tuple[tuple[str, ...], ...]
    names: int


def laid_out(table: PrintedTable, most_across: int = MOST_ACROSS) -> Layout:
    """The layout of a table; a combination of codes that is no cell is empty."""
    axes = table.axes
    if len(axes) < 2 or len(axes[-1].codes) > most_across:
        heads = (*(axis.name for axis in axes), "value")
        columns = [[axis.called(axis.codes[k]) for k in axis.index.tolist()] for axis in axes]
        return Layout(heads, tuple(zip(*columns, table.entries, strict=True)), len(axes))
    *down, across = axes
    where: dict[tuple[int, ...], list[str]] = {}
    keys = zip(*(axis.index.tolist() for axis in down), strict=True)
    for key, k, entry in zip(keys, across.index.tolist(), table.entries, strict=True):
        where.setdefault(key, [""] * len(across.codes))[k] = entry
    rows = tuple(
        (*(axis.called(axis.codes[k]) for axis, k in zip(down, key, strict=True)), *entries)
        for key, entries in where.items()
    )
    heads = (*(axis.name for axis in down), *map(across.called, across.codes))
    return Layout(heads, rows, len(down))
