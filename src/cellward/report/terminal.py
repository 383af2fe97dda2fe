"""The terminal view, for the data holder's eyes: the original table and the protected one side by side, the cells at risk marked and listed."""

from __future__ import annotations

import numpy as np
from rich.console import Console
from rich.table import Table as Grid
from rich.text import Text

from cellward import exact
from cellward.protection import Protection
from cellward.table.labels import Labels

_MOST_ROWS, _MOST_COLUMNS, _MOST_LISTED = 40, 12, 20


def show(protection: Protection, console: Console) -> None:
    """Print a 1- or 2-dimensional table of moderate size as two grids, and in any case the cells at risk."""
    instance, scaled = protection.instance, protection.scaled
    if scaled is None:
        return
    before = exact.texts(instance.a, instance.decimals)
    after = exact.texts(scaled, instance.decimals)
    unsafe = instance.sensitivity.unsafe.tolist()
    pivot = _Pivot.of(instance.labels, set(unsafe))
    if pivot is not None:
        _print_grids(pivot, before, after, console)
    if unsafe:
        console.print(f"Cells at risk ({len(unsafe)}){', marked * above' if pivot is not None else ''}:")
        for i in unsafe[:_MOST_LISTED]:
            console.print(Text(f"  {instance.labels.name(i)}: {before[i]} is published as {after[i]}"))
        if len(unsafe) > _MOST_LISTED:
            console.print(f"  … and {len(unsafe) - _MOST_LISTED} more")
        console.print()


def _print_grids(pivot: _Pivot, before: list[str], after: list[str], console: Console) -> None:
    one, two = pivot.grid(before, row_names=True), pivot.grid(after, row_names=False)
    titles = Text(" Original (confidential) ", style="bold"), Text(" Protected ", style="bold")
    if (
        sum(max(console.measure(grid).maximum, len(title)) for grid, title in zip((one, two), titles, strict=True))
        < console.width
    ):
        both = Grid.grid()
        for _ in titles:
            both.add_column(no_wrap=True)
        both.add_row(*titles)
        both.add_row(one, two)
        console.print(both)
    else:
        console.print(titles[0], one, Text(), titles[1], pivot.grid(after, row_names=True), sep="\n")
    console.print()


class _Pivot:
    """A table's cells as rows and columns."""

    def __init__(self, labels: Labels, unsafe: set[int], rows: list[int], columns: list[int]) -> None:
        self.labels, self.unsafe, self.rows, self.columns = labels, unsafe, rows, columns
        second = labels.index[1].tolist() if len(labels.dims) == 2 else [-1] * labels.cells
        self.place = {
            (row, column): i for i, (row, column) in enumerate(zip(labels.index[0].tolist(), second, strict=True))
        }

    @staticmethod
    def of(labels: Labels, unsafe: set[int]) -> _Pivot | None:
        if len(labels.dims) not in (1, 2):
            return None
        rows = _in_order(labels, 0)
        columns = _in_order(labels, 1) if len(labels.dims) == 2 else [-1]
        return None if len(rows) > _MOST_ROWS or len(columns) > _MOST_COLUMNS else _Pivot(labels, unsafe, rows, columns)

    def grid(self, texts: list[str], *, row_names: bool) -> Grid:
        grid = Grid(header_style="bold", box=None, padding=(0, 0, 0, 1))
        if row_names:
            grid.add_column(Text(self.labels.dims[0]))
        for column in self.columns:
            grid.add_column(Text(self.labels.codes[1][column] if column >= 0 else "value").append(" "), justify="right")
        for row in self.rows:
            cells = [self._cell(self.place.get((row, column)), texts) for column in self.columns]
            grid.add_row(*([Text(self.labels.codes[0][row])] if row_names else []), *cells)
        return grid

    def _cell(self, i: int | None, texts: list[str]) -> Text:
        if i is None:
            return Text("")
        return Text(f"{texts[i]}*", style="bold red") if i in self.unsafe else Text(f"{texts[i]} ")


def _in_order(labels: Labels, axis: int) -> list[int]:
    """The codes of a dimension in the order in which the cells bring them up."""
    codes, first = np.unique(labels.index[axis], return_index=True)
    ordered: list[int] = codes[np.argsort(first)].tolist()
    return ordered
