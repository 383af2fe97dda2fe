"""Tables: the original and the protected one side by side, the cells at risk marked and listed."""

from __future__ import annotations

from fractions import Fraction

import numpy as np

from cellward import exact
from cellward.protection import Protection
from cellward.report.section import Beside, Block, Figures, Lines, Section
from cellward.risk.attacker import Attacker
from cellward.table.labels import Labels

_MOST_ROWS, _MOST_COLUMNS, _MOST_LISTED = 40, 12, 20
_MOST_AUDITED, _AUDIT_S = 2000, 2.0
"""Cells of a table, and seconds, up to which it is also said what attackers can tell."""


def tables(result: Protection) -> Section:
    """A 1- or 2-dimensional table of moderate size as two grids, and in any case the cells at risk."""
    instance = result.instance
    if result.publication is None:
        return Section("tables", ())
    before, after = _texts(result)
    unsafe = instance.sensitivity.unsafe.tolist()
    grids = side_by_side(result)
    blocks: list[Block] = [] if grids is None else [grids]
    if unsafe:
        lines = [f"Cells at risk ({len(unsafe)}){', marked * above' if grids is not None else ''}:"]
        told = _told(result, unsafe[:_MOST_LISTED])
        lines += [
            f"  {instance.labels.name(i)}: {before[i]} is {f'published as {after[i]}' if after[i] else 'withheld'}{told.get(i, '')}"
            for i in unsafe[:_MOST_LISTED]
        ]
        lines += [f"  … and {len(unsafe) - _MOST_LISTED} more"] if len(unsafe) > _MOST_LISTED else []
        blocks.append(Lines((*lines, "")))
    return Section("tables", tuple(blocks))


def side_by_side(result: Protection) -> Beside | None:
    """Original and protected as two grids, of a 1- or 2-dimensional table of moderate size."""
    pivot = _Pivot.of(result.instance.labels, set(result.instance.sensitivity.unsafe.tolist()))
    if pivot is None or result.publication is None:
        return None
    before, after = _texts(result)
    return Beside(
        pivot.figures("Original (confidential)", before), pivot.figures("Protected", [text or "×" for text in after])
    )


def _texts(result: Protection) -> tuple[list[str], list[str]]:
    """What every cell was, and what is printed of it."""
    i, publication = result.instance, result.publication
    assert publication is not None
    printed = {name: texts for name, texts in publication.columns(i.decimals).items() if name != "status"}
    after = [" to ".join(dict.fromkeys(texts)) for texts in zip(*printed.values(), strict=True)]
    return exact.texts(i.a, i.decimals), after


def _told(result: Protection, cells: list[int]) -> dict[int, str]:
    """What anybody can tell of these cells, as a clause each, where it is told in intervals and a moderate table makes it a matter of moments."""
    known = result.knowledge
    if known is None or not known.intervals or result.instance.cells > _MOST_AUDITED:
        return {}
    found = result.audit(cells=cells, attackers=[Attacker.external()], time_limit_s=_AUDIT_S)
    ends = zip(found.intervals["cell"].tolist(), found.ends, found.intervals["exact"].tolist(), strict=True)
    return {
        i: f", and anybody can tell that it is {_number(low)} to {_number(high)}"
        for i, (low, high), exactly in ends
        if exactly and low is not None and high is not None
    }


def _number(end: int | Fraction) -> str:
    return f"{float(end):,.12g}"


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

    def figures(self, title: str, texts: list[str]) -> Figures:
        codes, at = self.labels.codes, [[self.place.get((row, k)) for k in self.columns] for row in self.rows]
        heads = (f"{codes[1][k] if k >= 0 else 'value'} " for k in self.columns)
        rows = tuple(
            (codes[0][row], *(self._text(i, texts) for i in cells)) for row, cells in zip(self.rows, at, strict=True)
        )
        marked = {(j, k + 1) for j, cells in enumerate(at) for k, i in enumerate(cells) if i in self.unsafe}
        return Figures(title, (self.labels.dims[0], *heads), rows, marked=frozenset(marked))

    def _text(self, i: int | None, texts: list[str]) -> str:
        return "" if i is None else f"{texts[i]}{'*' if i in self.unsafe else ' '}"


def _in_order(labels: Labels, axis: int) -> list[int]:
    """The codes of a dimension in the order in which the cells bring them up."""
    codes, first = np.unique(labels.index[axis], return_index=True)
    ordered: list[int] = codes[np.argsort(first)].tolist()
    return ordered
