"""First cells: the beginning of a long table as a small one, where nothing can be leafed through."""

from __future__ import annotations

from cellward.report.numbers import entry
from cellward.report.section import AT_RISK, Cells, Figures


def first_cells(cells: Cells, most: int) -> Figures:
    """The first cells of a long table as a small one."""
    shown = range(min(len(cells), most))
    rows = tuple((*cells.name(row), *(entry(column, row) for column in cells.columns)) for row in shown)
    heads = (*cells.dims, *(column.name for column in cells.columns))
    names = len(cells.dims)
    marked = {(row, k) for row in shown if cells.marks[row] & AT_RISK for k in range(names, len(heads))}
    left = f"the first {most:,} of {len(cells):,} cells" if len(cells) > most else ""
    return Figures(
        f"{cells.title} ({left})" if left else cells.title, heads, rows, names, frozenset(marked), cells.note
    )
