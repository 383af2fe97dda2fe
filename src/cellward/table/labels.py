"""Labels: what the cells are called, by dimension and code or by number."""

from __future__ import annotations

import json
from collections.abc import Collection, Mapping, Sequence
from dataclasses import dataclass, field, replace
from functools import cached_property

import numpy as np

from cellward.errors import InputError
from cellward.exact import Ints


@dataclass(frozen=True, eq=False, repr=False)
class Labels:
    """For each dimension its name, its codes, the code of every cell (a position in ``codes``) and the code that stands for the total (or None).

    Without dimensions the cells are called by their numbers, those in ``named`` by what stands there. ``tables``: those that were
    linked, if any were.
    """

    cells: int
    dims: tuple[str, ...] = ()
    codes: tuple[tuple[str, ...], ...] = ()
    index: tuple[Ints, ...] = ()
    totals: tuple[str | None, ...] = ()
    named: Mapping[int, str] = field(default_factory=dict)
    tables: tuple[LinkedTable, ...] = ()
    words: tuple[Mapping[str, str], ...] = ()
    """For each dimension what its codes are called, as far as that is known; empty where it is of none."""

    def tuple_of(self, cell: int) -> tuple[str, ...]:
        """The codes of one cell."""
        return tuple(codes[int(index[cell])] for codes, index in zip(self.codes, self.index, strict=True))

    def name(self, cell: int) -> str:
        """The cell as a sentence calls it: ``(North, Total)`` or ``cell 7``."""
        return f"({', '.join(self.tuple_of(cell))})" if self.dims else self.named.get(cell, f"cell {cell}")

    def identities(self, cells: Ints) -> list[str]:
        """Each cell whatever its table looks like: its sorted dimension and code pairs without totals; its name where there are no dimensions.

        The order of dimensions, the words for totals and dimensions that are at their total have no part in it.
        """
        if not self.dims:
            return [self.name(i) for i in cells.tolist()]
        columns = []
        for k in sorted(range(len(self.dims)), key=self.dims.__getitem__):
            dim, total = self.dims[k], self.totals[k]
            pairs = ["" if code == total else json.dumps([dim, code], ensure_ascii=False) for code in self.codes[k]]
            columns.append(np.array(pairs, dtype=object)[self.index[k][cells]])
        return [" ".join(filter(None, pairs)) for pairs in zip(*columns, strict=True)]

    @cached_property
    def _by_codes(self) -> tuple[Ints, Ints]:
        """The cells' code positions as one number each, sorted, and the cells in that order."""
        number = np.zeros(self.cells, np.int64)
        for codes, index in zip(self.codes, self.index, strict=True):
            number = number * len(codes) + index
        order = np.argsort(number, kind="stable").astype(np.int64)
        return number[order], order

    def find(self, cell: int | str | Sequence[str]) -> int:
        """The cell of this number, or of these codes in the order of the dimensions."""
        if isinstance(cell, int | np.integer) and not isinstance(cell, bool):
            if not 0 <= cell < self.cells:
                raise InputError(f"cell {cell} does not exist; the table has cells 0 to {self.cells - 1}")
            return int(cell)
        codes = (cell,) if isinstance(cell, str) else tuple(cell) if isinstance(cell, Sequence) else ()
        if not self.dims or len(codes) != len(self.dims):
            how = f"its codes in the order {', '.join(self.dims)}, or a number" if self.dims else "a number"
            raise InputError(f"{cell!r} is no cell of this table; give {how} from 0 to {self.cells - 1}")
        number = 0
        for dim, own, code in zip(self.dims, self.codes, codes, strict=True):
            if code not in own:
                raise InputError(
                    f"{dim} has no code {code!r}; it has {', '.join(own[:8])}{', …' if len(own) > 8 else ''}"
                )
            number = number * len(own) + own.index(code)
        numbers, order = self._by_codes
        at = int(np.searchsorted(numbers, number))
        if at == self.cells or int(numbers[at]) != number:
            raise InputError(f"the table has no cell ({', '.join(codes)}); give one that it has")
        return int(order[at])

    def columns(self) -> dict[str, Sequence[str]]:
        """The label columns of a long table: one a dimension, or ``cell``."""
        if not self.dims:
            return {"cell": [str(i) for i in range(self.cells)]}
        return {
            dim: np.array(codes, dtype=object)[index].tolist()
            for dim, codes, index in zip(self.dims, self.codes, self.index, strict=True)
        }

    def word_columns(self) -> dict[str, list[str]]:
        """The columns of what the codes are called, ``region label`` beside ``region``; a code without a label is called by itself."""
        found: dict[str, list[str]] = {}
        for dim, codes, index, words in zip(self.dims, self.codes, self.index, self.words, strict=False):
            if words:
                called = np.array([words.get(code, code) for code in codes], dtype=object)
                found[unused(f"{dim} label", (*self.dims, *found), "cell")] = called[index].tolist()
        return found

    def called(self, given: Mapping[str, Mapping[str, str]]) -> Labels:
        """The same with words for the codes of these dimensions; what was known of other codes stays."""
        if lost := [dim for dim in given if dim not in self.dims]:
            has = ", ".join(self.dims) or "none"
            raise InputError(f"labels: {lost[0]!r} is not among the dimensions ({has}); name one of them")
        before = self.words or ({},) * len(self.dims)
        words = tuple({**own, **given.get(dim, {})} for dim, own in zip(self.dims, before, strict=True))
        tables = tuple(
            replace(one, labels=one.labels.called({dim: own for dim, own in given.items() if dim in one.labels.dims}))
            for one in self.tables
        )
        return replace(self, words=words if any(words) else (), tables=tables)

    def __repr__(self) -> str:
        dims = " × ".join(f"{dim} ({len(codes):,} codes)" for dim, codes in zip(self.dims, self.codes, strict=True))
        return f"Labels({dims + ', ' if dims else ''}{self.cells:,} cells)"

    def canonical_order(self) -> Ints:
        """The cells in an order that is the same for all tables of the same cells, whatever the order of their rows and dimensions.

        By the codes of the dimensions, both in the order of their length and letters, totals last: an array's own order where its codes are numbers.
        Cells without dimensions are known by their numbers and stay.
        """
        if not self.dims:
            return np.arange(self.cells, dtype=np.int64)
        keys = [np.zeros(self.cells, np.int64)]
        size = 1
        for k in self.sorted_dims:
            own = sorted((code == self.totals[k], len(code), code) for code in self.codes[k])
            rank = {code: r for r, (_, _, code) in enumerate(own)}
            ranks = np.array([rank[code] for code in self.codes[k]], np.int64)[self.index[k]]
            size *= len(own)
            if size > 2**62:  # one number has no room for more
                keys.append(ranks)
                size = len(own)
            else:
                keys[-1] = keys[-1] * len(own) + ranks
        if len(keys) == 1 and bool(np.all(keys[0][1:] > keys[0][:-1])):
            return np.arange(self.cells, dtype=np.int64)
        return np.lexsort(keys[::-1]).astype(np.int64)

    @property
    def sorted_dims(self) -> list[int]:
        """The dimensions' places in the order of their names' length and letters."""
        return sorted(range(len(self.dims)), key=lambda k: (len(self.dims[k]), self.dims[k]))

    def permuted(self, order: Ints) -> Labels:
        """The labels when cell order[k] becomes cell k."""
        place = np.empty_like(order)
        place[order] = np.arange(len(order), dtype=np.int64)
        tables = tuple(LinkedTable(one.labels, place[one.cell]) for one in self.tables)
        index = tuple(index[order] for index in self.index)
        return Labels(self.cells, self.dims, self.codes, index, self.totals, tables=tables, words=self.words)


@dataclass(frozen=True, eq=False, repr=False)
class LinkedTable:
    """One of the tables that were linked: what its cells are called in their own order, and which cells of the whole they are."""

    labels: Labels
    cell: Ints


def unused(name: str, taken: Collection[str], before: str) -> str:
    """A name for a column beside those that are there, with a word before it as often as it takes.

    >>> unused("value", ["region", "value"], "cell")
    'cell value'
    """
    while name in taken:
        name = f"{before} {name}"
    return name
