"""Section: one thing said of a result, as small typed blocks; renderers put them on a terminal, into a page, Markdown or JSON."""

from __future__ import annotations

from collections.abc import Sequence
from dataclasses import dataclass

import numpy as np
from numpy.typing import NDArray

from cellward.exact import Ints

AT_RISK, WITHHELD, CHANGED, RANGE = 1, 2, 4, 8
"""Marks of a cell in :class:`Cells`."""


@dataclass(frozen=True)
class Lines:
    """Sentences, one a line."""

    lines: tuple[str, ...]


@dataclass(frozen=True)
class Figures:
    """A small table of texts: a heading a column, names to the left (``names`` columns of them), numbers to the right."""

    title: str
    columns: tuple[str, ...]
    rows: tuple[tuple[str, ...], ...]
    names: int = 1
    marked: frozenset[tuple[int, int]] = frozenset()
    """Places (row, column) of what is at risk."""
    note: str = ""
    """What the columns say, for those who do not know."""


@dataclass(frozen=True)
class Beside:
    """Two tables of the same rows, to be compared."""

    left: Figures
    right: Figures


@dataclass(frozen=True)
class Fact:
    """One number that matters, its name, and a sentence that says what it means."""

    name: str
    value: str
    sentence: str


@dataclass(frozen=True)
class Facts:
    """Some of them."""

    facts: tuple[Fact, ...]


@dataclass(frozen=True)
class Verdict:
    """The answer in one sentence: good news or bad."""

    sentence: str
    good: bool


@dataclass(frozen=True)
class Drawing:
    """A picture as SVG, with what it shows and what is to be seen in it."""

    title: str
    caption: str
    svg: str


@dataclass(frozen=True, eq=False)
class Column:
    """Whole numbers in units of 10^−decimals, one a cell, nothing where ``absent``; ``signed``: with a plus where above 0."""

    name: str
    scaled: Ints
    decimals: int
    absent: NDArray[np.bool_] | None = None
    signed: bool = False


@dataclass(frozen=True, eq=False)
class Cells:
    """Cells of a table to be leafed through, those of the highest level of sums first: what they are called, their numbers and marks."""

    title: str
    dims: tuple[str, ...]
    codes: tuple[tuple[str, ...], ...]
    """For each dimension the codes in use."""
    index: tuple[Ints, ...]
    """For each dimension the code of every cell, a place in ``codes``."""
    level: Ints
    columns: tuple[Column, ...]
    marks: NDArray[np.uint8]
    note: str = ""

    def __len__(self) -> int:
        return len(self.level)

    def name(self, row: int) -> tuple[str, ...]:
        """The codes of one cell."""
        return tuple(codes[int(index[row])] for codes, index in zip(self.codes, self.index, strict=True))


Block = Lines | Figures | Beside | Facts | Verdict | Drawing | Cells


@dataclass(frozen=True)
class Section:
    """``title``: its heading in a report. ``confidential``: for the data holder's eyes."""

    name: str
    blocks: Sequence[Block]
    confidential: bool = True
    title: str = ""

    @property
    def sentences(self) -> list[str]:
        """All lines."""
        return [line for block in self.blocks if isinstance(block, Lines) for line in block.lines]
