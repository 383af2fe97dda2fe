"""Cells: the whole table to be leafed through, original beside protected for the data holder, what is printed for everybody."""

from __future__ import annotations

from typing import Any

import numpy as np
from numpy.typing import NDArray

from cellward.exact import NO_BOUND, Ints
from cellward.protection import Protection
from cellward.publication.publication import Publication
from cellward.publication.ranges import Ranges
from cellward.publication.release import Release, printed_name
from cellward.publication.withheld import Withheld
from cellward.report.section import AT_RISK, CHANGED, RANGE, WITHHELD, Cells, Column
from cellward.table.labels import Labels

LEVELS = (
    "Cells stand in the order of their level: level 0 is a cell that is no sum of others, and a total is one level above the highest of its parts. "
    "The overall totals come first."
)


def both(result: Protection) -> Cells:
    """What was, and what is printed of it. Confidential."""
    i, p = result.instance, result.publication
    columns, marks = [Column("original", i.a, i.decimals)], np.zeros(i.cells, np.uint8)
    if p is not None:
        columns += printed_columns(p, i.decimals, i.labels.dims)
        marks = marks_of(p)
        if p.v is not None:
            columns.append(Column("change", p.v - i.a, i.decimals, signed=True))
            marks[p.v != i.a] |= CHANGED
    marks[i.sensitivity.unsafe] |= AT_RISK
    return cells_of(i.labels, i.relations.height, columns, marks, "Every cell, as it was and as it is published")


def published(release: Release) -> Cells:
    """What is printed, and nothing else."""
    p = release.publication
    columns = printed_columns(p, release.decimals, release.labels.dims)
    return cells_of(release.labels, release.relations.height, columns, marks_of(p), "Every cell, as it is published")


def printed_columns(p: Publication, decimals: int, dims: tuple[str, ...]) -> list[Column]:
    """The columns of what is printed, as numbers."""
    if isinstance(p, Ranges):
        ends = (("lower", p.lower), ("upper", p.upper))
        return [Column(printed_name(name, dims), _ended(end), decimals, np.abs(end) == NO_BOUND) for name, end in ends]
    absent = p.withheld if isinstance(p, Withheld) else None
    return [Column(printed_name("published", dims), p.start, decimals, absent)]


def marks_of(p: Publication) -> NDArray[np.uint8]:
    """The marks that follow from what is printed alone."""
    out = np.zeros(p.cells, np.uint8)
    if isinstance(p, Withheld):
        out[p.withheld] = WITHHELD
    if isinstance(p, Ranges):
        out[p.lower < p.upper] = RANGE
    return out


def cells_of(
    labels: Labels, level: Ints, columns: list[Column], marks: NDArray[np.uint8], title: str, **more: Any
) -> Cells:
    """These columns with the cells' names, the highest sums first and otherwise in the table's order; codes that no cell has are left out."""
    order = np.lexsort((np.arange(labels.cells), -level))
    taken = [
        Column(c.name, c.scaled[order], c.decimals, None if c.absent is None else c.absent[order], c.signed)
        for c in columns
    ]
    dims, codes, index = _named(labels, order)
    return Cells(title, dims, codes, index, level[order], tuple(taken), marks[order], **{"note": LEVELS, **more})


def some_cells(
    labels: Labels, cells: Ints, columns: list[Column], marks: NDArray[np.uint8], title: str, note: str
) -> Cells:
    """Only these cells, in this order; columns and marks are theirs."""
    dims, codes, index = _named(labels, cells)
    return Cells(title, dims, codes, index, np.zeros(len(cells), np.int64), tuple(columns), marks, note)


def _named(labels: Labels, order: Ints) -> tuple[tuple[str, ...], tuple[tuple[str, ...], ...], tuple[Ints, ...]]:
    if not labels.dims:
        return ("cell",), (tuple(str(i) for i in order.tolist()),), (np.arange(len(order), dtype=np.int64),)
    codes, index = [], []
    for own, where in zip(labels.codes, labels.index, strict=True):
        used, place = np.unique(where[order], return_inverse=True)
        codes.append(tuple(own[k] for k in used.tolist()))
        index.append(place.astype(np.int64))
    return labels.dims, tuple(codes), tuple(index)


def _ended(end: Ints) -> Ints:
    return np.where(np.abs(end) == NO_BOUND, 0, end)
