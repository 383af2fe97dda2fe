"""Sums: sums of cells that are at risk though they are no cells of the table, and the table's equations with them as further cells."""

from __future__ import annotations

from collections.abc import Sequence
from dataclasses import dataclass, replace

import numpy as np

from cellward.exact import Ints, freeze
from cellward.table.relations import Relations


@dataclass(frozen=True, eq=False)
class CellSum:
    """Some cells, in increasing order, and how far an attacker must be kept below and above their sum (scaled integers), for the sake of one unit."""

    cell: Ints
    lpl: int
    upl: int
    unit: str
    largest: tuple[tuple[int, int], ...] = ()
    """Who contributes most to the sum, largest first: (unit, contribution)."""

    def __post_init__(self) -> None:
        freeze(self.cell)

    def permuted(self, place: Ints) -> CellSum:
        """The same sum when cell i becomes cell place[i]."""
        return replace(self, cell=np.sort(place[self.cell]))

    def times(self, factor: int) -> CellSum:
        """The same sum counted in a unit ``factor`` times finer."""
        largest = tuple((unit, amount * factor) for unit, amount in self.largest)
        return replace(self, lpl=self.lpl * factor, upl=self.upl * factor, largest=largest)


def with_sums(relations: Relations, sums: Sequence[CellSum]) -> Relations:
    """The equations with each sum as a further cell, after the others, defined by an equation of its own."""
    n, m = relations.cells, relations.equations
    length = np.array([len(one.cell) for one in sums], np.int64)
    own = np.arange(len(sums), dtype=np.int64)
    return Relations.from_entries(
        n + len(sums),
        m + len(sums),
        np.concatenate((relations.row, np.repeat(m + own, length), m + own)),
        np.concatenate((relations.indices, *(one.cell for one in sums), n + own)),
        np.concatenate((relations.coefs, np.ones(int(length.sum()), np.int64), np.full(len(sums), -1, np.int64))),
        np.concatenate((relations.rhs, np.zeros(len(sums), np.int64))),
    )


def add_up(values: Ints, sums: Sequence[CellSum]) -> Ints:
    """The values of the cells, and after them those of the sums."""
    return np.concatenate((values, np.array([int(values[one.cell].sum()) for one in sums], np.int64)))
