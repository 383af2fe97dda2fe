"""Layout: a requested table laid over the atoms of a dataset; its leaves are its cells without totals, and every cell is a sum of leaves."""

from __future__ import annotations

from dataclasses import dataclass
from itertools import product
from math import prod

import numpy as np

from cellward.exact import Ints
from cellward.server.vault.request import Request


@dataclass(frozen=True, eq=False)
class Layout:
    """The atoms that a table takes, the leaf of each, and how many groups each of its dimensions has."""

    atom: Ints
    leaf: Ints
    groups: tuple[int, ...]

    @staticmethod
    def of(request: Request, code: Ints) -> Layout:
        """A request over atoms with these bottom codes (a row a dimension)."""
        keep = np.ones(code.shape[1], bool)
        for dim, below in request.where.items():
            keep &= below[code[dim]]
        atom = np.flatnonzero(keep)
        crossed = [one for one in request.crossings if one.level]
        groups = tuple(len(one.groups) for one in crossed)
        leaf = np.zeros(len(atom), np.int64)
        for one, many in zip(crossed, groups, strict=True):
            own = request.dimensions[one.at].above(one.level)[code[one.at, atom]]
            leaf = leaf * many + np.searchsorted(one.groups, own)
        return Layout(atom, leaf, groups)

    @property
    def cells(self) -> int:
        """How many cells the table has, totals included."""
        return prod(many + 1 for many in self.groups)

    def pairs(self) -> tuple[Ints, Ints]:
        """Every cell with every atom below it."""
        place = (
            np.stack(np.unravel_index(self.leaf, self.groups))
            if self.groups
            else np.zeros((0, len(self.leaf)), np.int64)
        )
        cells = []
        for total in product((False, True), repeat=len(self.groups)):
            cell = np.zeros(len(self.leaf), np.int64)
            for own, many, summed in zip(place, self.groups, total, strict=True):
                cell = cell * (many + 1) + (many if summed else own)
            cells.append(cell)
        return np.concatenate(cells), np.tile(self.atom, len(cells))
