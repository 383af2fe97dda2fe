"""Two-way slice: two dimensions as a grid, all others at their totals; colour says how much a cell changed, letters what is at risk or withheld.

Of a release it is a plain grid of what is printed, which is fit for everybody.
"""

from __future__ import annotations

from dataclasses import dataclass
from typing import Any

import numpy as np

from cellward.errors import InputError
from cellward.exact import Floats, Ints
from cellward.protection import Protection
from cellward.publication.publication import Publication
from cellward.publication.ranges import Ranges
from cellward.publication.release import Release
from cellward.publication.withheld import Withheld
from cellward.report.numbers import entry
from cellward.report.pictures.theme import BLUE, INK, RULE, VERMILLION, cut, figure, key
from cellward.report.sections.cells import printed_columns
from cellward.report.sections.loss_by_level import lost_of
from cellward.table.labels import Labels
from cellward.table.relations import Relations

_ROWS, _COLUMNS = 24, 12
_TEXTS = 9
"""Characters of a number that fit a cell of the grid."""


@dataclass(frozen=True, eq=False)
class Grid:
    """Codes of rows and columns, and the cell at each place (−1: none)."""

    rows: tuple[str, ...]
    columns: tuple[str, ...]
    names: tuple[str, str]
    cell: Ints
    left_out: int


def title(source: Protection | Release) -> str:  # noqa: ARG001
    """What it is called in a report."""
    return "A slice of the table"


def refuses(source: Protection | Release) -> str | None:
    """Why there is none."""
    labels = source.instance.labels if isinstance(source, Protection) else source.labels
    if not labels.dims:
        return "the cells of this table have numbers and no dimensions, so there is no slice to draw"
    if len(labels.dims) > 1 and all(total is None for total in labels.totals):
        return "no dimension of this table has a total at which the others could be shown, so there is no slice to draw"
    return None


def caption(source: Protection | Release) -> str:
    """What to see in it."""
    labels, relations = _of(source)
    grid = slice_of(labels, relations)
    others = [dim for dim in labels.dims if dim not in grid.names]
    at = f" The other dimensions ({', '.join(others)}) are at their totals." if others else ""
    more = (
        f" {grid.left_out:,} further rows or columns do not fit; the highest sums are shown." if grid.left_out else ""
    )
    if isinstance(source, Release):
        return f"What is published of {' by '.join(name for name in grid.names if name)}.{at}{more}"
    crossed = ", × is a cell withheld" if isinstance(source.publication, Withheld) else ""
    change = "Blue cells are published too low, orange ones too high, the deeper the more." if source.publication is not None and (
        source.publication.v is not None
    ) else "Deeper cells lose more."  # fmt: skip
    return f"{change} R marks cells at risk; the numbers are those published{crossed}.{at}{more}"


def draw(source: Protection | Release, rows: str | None = None, columns: str | None = None) -> Any:
    """The grid, with numbers where they fit."""
    labels, relations = _of(source)
    grid = slice_of(labels, relations, rows, columns)
    confidential = isinstance(source, Protection)
    publication = source.publication
    assert publication is not None
    high, wide = grid.cell.shape
    made, axes = figure(width=min(8.0, 2.2 + 0.62 * max(wide, 5)), height=max(1.6, 0.7 + 0.26 * high))
    shade = _shades(source) if isinstance(source, Protection) else np.zeros(labels.cells)
    texts = _texts(
        publication, source.instance.decimals if isinstance(source, Protection) else source.decimals, labels, grid
    )
    small = max((len(text) for text in texts.values()), default=0) <= _TEXTS
    risky = set(source.instance.sensitivity.unsafe.tolist()) if isinstance(source, Protection) else set()
    for (y, x), cell in np.ndenumerate(grid.cell):
        if cell >= 0:
            _cell(axes, x, y, float(shade[cell]), texts[int(cell)] if small else "", marked=int(cell) in risky)
    axes.set(xlim=(-0.5, wide - 0.5), ylim=(high - 0.5, -0.5))
    axes.set_xticks(range(wide), [cut(code, 10) for code in grid.columns], fontsize=8.5)
    axes.set_yticks(range(high), [cut(code, 22) for code in grid.rows], fontsize=8.5)
    axes.tick_params(length=0, top=False, labeltop=True, bottom=False, labelbottom=False)
    for side in axes.spines.values():
        side.set_visible(False)
    axes.set_ylabel(cut(grid.names[0], 40))
    axes.set_xlabel(cut(grid.names[1], 60))
    axes.xaxis.set_label_position("top")
    if confidential:
        _key(axes, publication)
    return made


def _key(axes: Any, publication: Publication) -> None:
    """What colours and letters say, below the grid."""
    placed = {"loc": "upper left", "bbox_to_anchor": (0.0, 0.0)}
    if isinstance(publication, Withheld):
        key(axes, [("×", VERMILLION, "withheld"), ("R", INK, "at risk")], **placed)
    elif isinstance(publication, Ranges):
        key(axes, [("R", INK, "at risk"), ("", VERMILLION, "range, the deeper the wider")], **placed)
    else:
        key(
            axes,
            [("R", INK, "at risk"), ("−", BLUE, "published too low"), ("+", VERMILLION, "published too high")],
            **placed,
        )


def slice_of(labels: Labels, relations: Relations, rows: str | None = None, columns: str | None = None) -> Grid:
    """The slice over two dimensions, the first two unless named; too many codes are cut to those of the highest sums."""
    for name in (rows, columns):
        if name is not None and name not in labels.dims:
            raise InputError(f"slice: there is no dimension {name!r}; use {', '.join(labels.dims)}")
    free = [dim for dim in labels.dims if dim not in (rows, columns)]
    first = rows if rows is not None else free.pop(0)
    second = columns if columns is not None else (free.pop(0) if free else None)
    if first == second:
        raise InputError(f"slice: rows and columns are both {first!r}; name two dimensions")
    own = [labels.dims.index(dim) for dim in (first, second) if dim is not None]
    inside = np.ones(labels.cells, bool)
    for k in range(len(labels.dims)):
        if k not in own:
            inside &= labels.index[k] == _total(labels, k)
    cells = np.flatnonzero(inside)
    kept = [
        _kept(labels.index[k][cells], relations.height[cells], most)
        for k, most in zip(own, (_ROWS, _COLUMNS), strict=False)
    ]
    place = [{code: at for at, code in enumerate(codes)} for codes, _ in kept]
    out = np.full((len(kept[0][0]), len(kept[1][0]) if len(kept) > 1 else 1), -1, np.int64)
    for cell in cells.tolist():
        at = [one.get(int(labels.index[k][cell])) for one, k in zip(place, own, strict=True)]
        if None not in at:
            out[at[0], at[1] if len(at) > 1 else 0] = cell
    named = [tuple(labels.codes[k][code] for code in codes) for k, (codes, _) in zip(own, kept, strict=True)]
    left = sum(gone for _, gone in kept)
    return Grid(named[0], named[1] if len(named) > 1 else ("",), (first, second or ""), out, left)


def _total(labels: Labels, k: int) -> int:
    total = labels.totals[k] if k < len(labels.totals) else None
    return labels.codes[k].index(total) if total in labels.codes[k] else -1


def _kept(codes: Ints, height: Ints, most: int) -> tuple[list[int], int]:
    """The codes in the order in which the cells bring them up, those of the highest sums where they are too many."""
    used, first = np.unique(codes, return_index=True)
    order = used[np.argsort(first)].tolist()
    if len(order) <= most:
        return order, 0
    highest = {code: int(height[codes == code].max()) for code in order}
    chosen = set(sorted(order, key=lambda code: -highest[code])[:most])
    return [code for code in order if code in chosen], len(order) - most


def _of(source: Protection | Release) -> tuple[Labels, Relations]:
    i = source.instance if isinstance(source, Protection) else source
    return i.labels, i.relations


def _shades(result: Protection) -> Floats:
    """From −1 (far too low) to 1 (far too high, or all lost)."""
    lost, signed, touched = lost_of(result)
    if result.publication is not None and result.publication.v is None:
        most = float(lost[touched].max(initial=0)) or 1.0
        return (
            np.where(touched, 0.25 + 0.75 * np.sqrt(lost / most), 0.0)
            if isinstance(result.publication, Ranges)
            else touched.astype(float)
        )
    most = float(np.abs(signed).max(initial=0)) or 1.0
    return np.sign(signed) * np.sqrt(np.abs(signed) / most)


def _texts(publication: Publication, decimals: int, labels: Labels, grid: Grid) -> dict[int, str]:
    """What is printed of the cells shown."""
    columns = printed_columns(publication, decimals, labels.dims)
    out = {}
    for cell in grid.cell[grid.cell >= 0].tolist():
        parts = dict.fromkeys(entry(column, cell) for column in columns)
        out[cell] = "–".join(parts) or "×"
    return out


def _cell(axes: Any, x: int, y: int, shade: float, text: str, *, marked: bool) -> None:
    from matplotlib.patches import Rectangle

    depth = abs(shade)
    if depth:
        tint = VERMILLION if shade > 0 else BLUE
        axes.add_patch(
            Rectangle((x - 0.47, y - 0.45), 0.94, 0.9, facecolor=tint, alpha=0.12 + 0.5 * depth, linewidth=0)
        )
    else:
        axes.add_patch(Rectangle((x - 0.47, y - 0.45), 0.94, 0.9, facecolor="none", edgecolor=RULE, linewidth=0.6))
    if text:
        axes.text(
            x + (0.4 if not marked else 0.22),
            y,
            text,
            ha="right",
            va="center",
            fontsize=7.5,
            color=INK,
        )
    if marked:
        axes.text(x + 0.43, y, "R", ha="right", va="center", fontsize=7.5, weight="bold", color=INK)
