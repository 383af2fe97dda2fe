"""Codes: how the codes of each dimension stand above one another, read off the equations; which are finest, and which is the top."""

from __future__ import annotations

from collections.abc import Iterator
from dataclasses import dataclass
from itertools import combinations

import numpy as np

from cellward.exact import Bools, Ints
from cellward.table.labels import Labels
from cellward.table.relations import MOST_HEIGHT, Relations


@dataclass(frozen=True, eq=False)
class CodeTree:
    """For each dimension the height of every code: 0 for the finest, and one more than the highest of its parts for a code that is a sum."""

    labels: Labels
    height: tuple[Ints, ...]

    @staticmethod
    def of(relations: Relations, labels: Labels) -> CodeTree:
        """From the sums that run along one dimension alone."""
        total = relations.total[relations.row]
        part = (total >= 0) & (total != relations.indices)
        above, below = total[part], relations.indices[part]
        differs = [index[above] != index[below] for index in labels.index]
        alone = sum((own.astype(np.int64) for own in differs), np.zeros(len(above), np.int64)) == 1
        out = []
        for index, own in zip(labels.index, differs, strict=True):
            pairs = np.unique(np.stack((index[above], index[below]))[:, own & alone], axis=1)
            used = np.zeros(int(index.max(initial=-1)) + 1, np.int64)
            for _ in range(MOST_HEIGHT):
                higher = used.copy()
                np.maximum.at(higher, pairs[0], used[pairs[1]] + 1)
                if np.array_equal(higher, used):
                    break
                used = higher
            out.append(used)
        return CodeTree(labels, tuple(out))

    def finest(self, dim: int) -> Bools:
        """The cells that stand at a finest code of a dimension that has sums."""
        height = self.height[dim]
        own = self.labels.index[dim]
        return (height[own] == 0) if height.max(initial=0) else np.zeros(len(own), bool)

    def top(self, dim: int) -> int:
        """The highest code of a dimension: its total where it has one."""
        total = self.labels.totals[dim] if self.labels.totals else None
        codes = self.labels.codes[dim]
        return codes.index(total) if total in codes else int(self.height[dim].argmax())

    def two_way(self) -> Iterator[tuple[tuple[str, str], Ints]]:
        """Each pair of dimensions with the cells of its slice as a matrix (−1: no such cell): finest codes of these two, the tops of all others."""
        many = len(self.labels.dims)
        at_top = [self.labels.index[d] == self.top(d) for d in range(many)]
        for d, e in combinations(range(many), 2):
            others = np.ones(self.labels.cells, bool)
            for k in set(range(many)) - {d, e}:
                others &= at_top[k]
            cells = np.flatnonzero(others & self.finest(d) & self.finest(e))
            row_codes, row = np.unique(self.labels.index[d][cells], return_inverse=True)
            column_codes, column = np.unique(self.labels.index[e][cells], return_inverse=True)
            if min(len(row_codes), len(column_codes)) < 2:
                continue
            matrix = np.full((len(row_codes), len(column_codes)), -1, np.int64)
            matrix[row, column] = cells
            yield (self.labels.dims[d], self.labels.dims[e]), matrix
