"""Cells of a requested table: the atoms below each, identities, and which of them were never published."""

from __future__ import annotations

from collections.abc import Container
from dataclasses import dataclass

import numpy as np

from cellward.exact import Ints
from cellward.server.vault.twostage.atoms import Atoms
from cellward.server.vault.twostage.layout import Layout


@dataclass(frozen=True, eq=False)
class Cells:
    """Pairs of cell and atom, identities (0: no records), and which cells were never published, each set of records once."""

    layout: Layout
    cell: Ints
    atom: Ints
    identity: list[int]
    fresh: Ints

    @staticmethod
    def of(layout: Layout, atoms: Atoms, seen: Container[int]) -> Cells:
        """The cells of a layout, where those of these identities were published."""
        cell, atom = layout.pairs()
        identity = atoms.identities(cell, atom, layout.cells)
        first = {one: k for k, one in reversed(list(enumerate(identity))) if one and one not in seen}
        return Cells(layout, cell, atom, identity, np.array(sorted(first.values()), np.int64))

    @property
    def names(self) -> set[int]:
        """The identities of the cells with records."""
        return {one for one in self.identity if one}

    def new_pairs(self) -> tuple[Ints, Ints, int]:
        """The cells never published, numbered, with every atom of each, cell by cell; and how many they are."""
        number = np.full(self.layout.cells, -1, np.int64)
        number[self.fresh] = np.arange(len(self.fresh))
        own = np.flatnonzero(number[self.cell] >= 0)
        own = own[np.argsort(number[self.cell[own]], kind="stable")]
        return number[self.cell[own]], self.atom[own], len(self.fresh)
