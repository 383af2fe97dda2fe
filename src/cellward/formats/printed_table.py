"""PrintedTable: what is printed of a table, as exact texts ready for any format, with title, footnotes and how it was made. Public."""

from __future__ import annotations

import re
from collections.abc import Iterable, Iterator, Mapping, Sequence
from dataclasses import dataclass, field
from functools import cached_property

import numpy as np

from cellward.errors import InputError, brief
from cellward.exact import Ints
from cellward.table.labels import Labels, unused

PUBLISHED, WITHHELD, RANGE = "published", "withheld", "range"
MARK = "c"
"""What stands for a withheld value where there is room for one letter."""
MEANING = {MARK: WITHHELD, "r": "a range: see lower and upper", "o": "no end to that side"}
_NO_TEXT = re.compile("[\x00-\x1f\x7f\ud800-\udfff\ufffe\uffff]")


@dataclass(frozen=True, eq=False)
class PrintedTable:
    """``columns``: what is printed by name, ``value``, ``value`` and ``status``, or ``lower`` and ``upper``, empty where nothing is printed.

    ``about``: how it was made, in pairs of words.
    """

    labels: Labels
    columns: Mapping[str, Sequence[str]]
    decimals: int
    title: str = ""
    footnotes: tuple[str, ...] = ()
    about: Mapping[str, str] = field(default_factory=dict)

    def __post_init__(self) -> None:
        for text in self._texts():
            if _NO_TEXT.search(text):
                raise InputError(
                    f"{brief(text)} holds a control character, which files of tables have no place for; take it out"
                )

    def _texts(self) -> Iterator[str]:
        yield from (self.title, *self.footnotes, *self.labels.dims)
        for axis in self.axes:
            yield from (*axis.codes, *axis.words.values())

    @property
    def cells(self) -> int:
        """Number of cells."""
        return self.labels.cells

    @cached_property
    def axes(self) -> tuple[Axis, ...]:
        """The dimensions with the codes that cells have; the cells' numbers where there are none."""
        own = self.labels
        if not own.dims:
            return (Axis("cell", tuple(map(str, range(own.cells))), np.arange(own.cells, dtype=np.int64), {}),)
        words = own.words or ({},) * len(own.dims)
        every = zip(own.dims, own.codes, own.index, words, strict=True)
        return tuple(Axis.of_used(dim, codes, index, word) for dim, codes, index, word in every)

    @cached_property
    def value(self) -> list[str]:
        """The single value printed of each cell, empty where none is."""
        if "value" in self.columns:
            return list(self.columns["value"])
        pairs = zip(self.columns["lower"], self.columns["upper"], strict=True)
        return [low if low == high else "" for low, high in pairs]

    @property
    def ranges(self) -> bool:
        """Whether ranges are printed."""
        return "lower" in self.columns

    @property
    def status(self) -> list[str]:
        """Of each cell whether a value, a range or nothing is printed."""
        other = RANGE if self.ranges else WITHHELD
        return [PUBLISHED if value else other for value in self.value]

    @cached_property
    def entries(self) -> list[str]:
        """What a reader of the table sees in each cell: a value, a mark, or a range."""
        if not self.ranges:
            return [value or MARK for value in self.value]
        pairs = zip(self.columns["lower"], self.columns["upper"], strict=True)
        return [_range(low, high) for low, high in pairs]

    @property
    def marks(self) -> list[str]:
        """Sentences on the marks and ranges that occur among the entries."""
        if not any(not value for value in self.value):
            return []
        between = "a – b: the value lies between a and b, both included; ≥ a: at least a; ≤ b: at most b."
        return [between] if self.ranges else [f"{MARK}: withheld."]

    @property
    def remarks(self) -> list[str]:
        """What stands below the table."""
        return [*self.footnotes, *self.marks]

    def long(self) -> dict[str, Sequence[str]]:
        """The table with one row a cell: codes, labels, value, where some cells have none the status, and the ends of ranges."""
        out: dict[str, Sequence[str]] = {**self.labels.columns(), **self.labels.word_columns()}
        printed: dict[str, Sequence[str]] = {"value": self.value}
        if "value" not in self.columns or "status" in self.columns:
            printed["status"] = self.status
        if self.ranges:
            printed |= {"lower": self.columns["lower"], "upper": self.columns["upper"]}
        for name, column in printed.items():
            out[unused(name, out, "published")] = column
        return out

    @property
    def numeric(self) -> list[bool]:
        """Of each column of :meth:`long` whether it holds numbers."""
        first = len(self.labels.columns()) + len(self.labels.word_columns())
        return [k >= first and name.split()[-1] != "status" for k, name in enumerate(self.long())]


@dataclass(frozen=True, eq=False)
class Axis:
    """A dimension with the codes that occur, the code of every cell as a position among them, and what they are called."""

    name: str
    codes: tuple[str, ...]
    index: Ints
    words: Mapping[str, str]

    @staticmethod
    def of_used(name: str, codes: Sequence[str], index: Ints, words: Mapping[str, str]) -> Axis:
        """With those codes alone that cells have."""
        used, at = np.unique(index, return_inverse=True)
        kept = tuple(codes[k] for k in used.tolist())
        return Axis(name, kept, at.astype(np.int64), {code: words[code] for code in kept if code in words})

    def called(self, code: str) -> str:
        """A code's label, or itself."""
        return self.words.get(code, code)


def flat_places(axes: Iterable[Axis]) -> tuple[list[int], int]:
    """Where each cell stands in the full array of the axes, the last running fastest, and how many places there are."""
    every = list(axes)
    size, place = 1, [0] * len(every[0].index)
    for axis in every:
        size *= len(axis.codes)
        place = [own * len(axis.codes) + k for own, k in zip(place, axis.index.tolist(), strict=True)]
    return place, size


def _range(low: str, high: str) -> str:
    if low == high and low:
        return low
    if not low or not high:
        return f"≥ {low}" if low else f"≤ {high}" if high else MARK
    return f"{low} – {high}"
