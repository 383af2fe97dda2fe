"""The terminal: sections as text and grids."""

from __future__ import annotations

import sys
from collections.abc import Iterable

from rich.console import Console
from rich.table import Table as Grid
from rich.text import Text

from cellward.report.first_cells import first_cells
from cellward.report.section import Beside, Block, Drawing, Facts, Figures, Lines, Section, Verdict

_MOST_ROWS = 20


def render(sections: Iterable[Section], console: Console | None = None) -> None:
    """Print sections one after the other, an empty line behind those that hold tables."""
    wide = Console(highlight=False, soft_wrap=not sys.stdout.isatty()) if console is None else console
    grids = Console(highlight=False) if console is None else console
    for section in sections:
        for block in section.blocks:
            _print(block, wide if isinstance(block, Lines) else grids)
        if not all(isinstance(block, Lines) for block in section.blocks):
            wide.print()


def _print(block: Block, console: Console) -> None:
    if isinstance(block, Lines):
        for line in block.lines:
            console.print(line, markup=False, soft_wrap=True)
    elif isinstance(block, Figures):
        console.print(_grid(block, titled=True))
    elif isinstance(block, Beside):
        _beside(block, console)
    elif isinstance(block, Facts):
        console.print(
            _grid(Figures("", ("", "", ""), tuple((f.name, f.value, f.sentence) for f in block.facts), 3), titled=False)
        )
    elif isinstance(block, Verdict | Drawing):
        console.print(block.sentence if isinstance(block, Verdict) else f"{block.title}: {block.caption}", markup=False)
    else:
        console.print(_grid(first_cells(block, _MOST_ROWS), titled=True))


def _grid(figures: Figures, *, titled: bool) -> Grid:
    title = figures.title if titled else None
    pad = (0, 1) if titled else (0, 0, 0, 1)
    grid = Grid(title=title, header_style="bold", box=None, title_justify="left", padding=pad)
    for k, column in enumerate(figures.columns):
        grid.add_column(Text(column), justify="left" if k < figures.names else "right")
    for j, row in enumerate(figures.rows):
        grid.add_row(*(Text(text, style="bold red" if (j, k) in figures.marked else "") for k, text in enumerate(row)))
    return grid


def _beside(block: Beside, console: Console) -> None:
    names = block.left.names
    cut = Figures(
        block.right.title,
        block.right.columns[names:],
        tuple(row[names:] for row in block.right.rows),
        0,
        frozenset((j, k - names) for j, k in block.right.marked),
    )
    titles = [Text(f" {figures.title} ", style="bold") for figures in (block.left, block.right)]
    grids = [_grid(figures, titled=False) for figures in (block.left, cut)]
    widths = [max(console.measure(grid).maximum, len(title)) for grid, title in zip(grids, titles, strict=True)]
    if sum(widths) < console.width:
        both = Grid.grid()
        for _ in titles:
            both.add_column(no_wrap=True)
        both.add_row(*titles)
        both.add_row(*grids)
        console.print(both)
    else:
        console.print(titles[0], grids[0], Text(), titles[1], _grid(block.right, titled=False), sep="\n")
    console.print()
