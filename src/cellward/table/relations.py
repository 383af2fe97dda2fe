"""Relations: the sparse integer system M·a = b that a table's cells obey, whatever its dimensions.

Legend: n cells, m equations; equation j holds the entries ``indptr[j]:indptr[j+1]`` of ``indices`` (cells) and ``coefs``; ``rhs`` is b.
"""

from __future__ import annotations

from collections.abc import Iterable, Sequence
from dataclasses import dataclass
from functools import cached_property
from typing import TYPE_CHECKING, Any

import numpy as np
from numpy.typing import NDArray

from cellward.errors import InputError
from cellward.exact import LARGEST, Bools, Ints
from cellward.table.components import components

if TYPE_CHECKING:
    from cellward.table.compact import Compact
    from cellward.table.leaves import LeafForm, Structure
    from cellward.table.network import Network

MOST_HEIGHT = 64
"""Sums that state each other in circles have no height; they are not followed further than this."""


def ranges(start: Ints, stop: Ints) -> Ints:
    """The concatenation of arange(start[k], stop[k])."""
    length = stop - start
    offset = np.repeat(start - np.concatenate(([0], np.cumsum(length)[:-1])) if len(start) else start, length)
    return offset + np.arange(int(length.sum()), dtype=np.int64)


def distinct(values: Ints, size: int) -> Ints:
    """The sorted distinct values, all below size: by marking when they are many, by sorting when they are few."""
    if 64 * len(values) < size:
        ordered = np.sort(values)  # several times as fast as the hashing of numpy's unique
        return ordered[np.diff(ordered, prepend=-1) > 0]
    mark = np.zeros(size, bool)
    mark[values] = True
    return np.flatnonzero(mark)


def among(values: Ints, asked: Ints) -> Bools:
    """Which of those asked are among some values in increasing order."""
    if not len(values):
        return np.zeros(len(asked), bool)
    at = np.minimum(np.searchsorted(values, asked), len(values) - 1)
    return np.asarray(values[at] == asked)


@dataclass(frozen=True, eq=False)
class Relations:
    """M·a = b, exact and frozen; asked for its structure (leaves, blocks, network, redundancy), it answers once and remembers."""

    cells: int
    indptr: Ints
    indices: Ints
    coefs: Ints
    rhs: Ints

    # ---- making ----------------------------------------------------------------------------------------------------------------------------

    @staticmethod
    def from_entries(
        cells: int, equations: int, row: Ints, cell: Ints, coef: Ints, rhs: Ints | None = None
    ) -> Relations:
        """From coordinate entries; entries of the same cell in one equation are added, zeros dropped."""
        order = np.lexsort((cell, row))
        row, cell, coef = row[order], cell[order], coef[order]
        if len(row):
            first = np.concatenate(([True], (row[1:] != row[:-1]) | (cell[1:] != cell[:-1])))
            if not first.all():
                starts = np.flatnonzero(first)
                coef = np.add.reduceat(coef, starts)
                row, cell = row[first], cell[first]
            keep = coef != 0
            if not keep.all():
                row, cell, coef = row[keep], cell[keep], coef[keep]
        indptr = np.concatenate(([0], np.cumsum(np.bincount(row, minlength=equations)))).astype(np.int64)
        return Relations(cells, indptr, cell, coef, np.zeros(equations, np.int64) if rhs is None else rhs)

    @staticmethod
    def from_rows(cells: int, rows: Iterable[tuple[int, Sequence[int], Sequence[int]]]) -> Relations:
        """From (right-hand side, cells, coefficients), one an equation.

        >>> Relations.from_rows(3, [(0, [0, 1, 2], [1, 1, -1])]).residual(np.array([1, 2, 3])).tolist()
        [0]
        """
        rhs: list[int] = []
        row: list[int] = []
        cell: list[int] = []
        coef: list[int] = []
        for j, (right, members, weights) in enumerate(rows):
            if len(members) != len(weights):
                raise InputError(
                    f"equation {j}: {len(members)} cells but {len(weights)} coefficients; give one coefficient a cell"
                )
            for i in members:
                if not 0 <= i < cells:
                    raise InputError(f"equation {j}: cell {i} does not exist; the table has cells 0 to {cells - 1}")
            for number in (right, *members, *weights):
                if not isinstance(number, int | np.integer) or abs(number) > LARGEST:
                    raise InputError(
                        f"equation {j}: {number!r} is not a whole number within ±2^53; multiply the equation out"
                    )
            rhs.append(right)
            row.extend([j] * len(members))
            cell.extend(members)
            coef.extend(weights)
        as_ints = (np.array(x, np.int64) for x in (row, cell, coef, rhs))
        row_, cell_, coef_, rhs_ = as_ints
        return Relations.from_entries(cells, len(rhs), row_, cell_, coef_, rhs_)

    @staticmethod
    def from_matrix(matrix: Any, rhs: Ints | None = None) -> Relations:
        """From a dense array or any scipy sparse matrix, one row an equation; the coefficients must be whole numbers."""
        if hasattr(matrix, "tocoo"):
            coo = matrix.tocoo()
            if coo.ndim != 2:
                raise InputError(f"matrix: {coo.ndim} dimensions; give a 2-D array, one row an equation")
            (equations, cells), row, cell, data = coo.shape, coo.row, coo.col, coo.data
        else:
            try:
                dense = np.asarray(matrix)
            except ValueError as error:
                raise InputError("matrix: the rows differ in length; give one column a cell in every row") from error
            if dense.ndim != 2:
                raise InputError(
                    f"matrix: {dense.ndim} dimensions; give a 2-D array or a scipy sparse matrix, one row an equation"
                )
            equations, cells = dense.shape
            row, cell = np.nonzero(dense)
            data = dense[row, cell]
        if data.dtype.kind not in "iufb":
            raise InputError(f"matrix: entries of type {data.dtype}; give whole numbers")
        if rhs is not None and np.shape(rhs) != (equations,):
            raise InputError(f"rhs: shape {np.shape(rhs)} for {equations} equations; give one number an equation")
        inside = (data > -(2**31)) & (data < 2**31)  # False for nan and inf too; np.abs(-2^63) would be negative
        coef = np.where(inside, data, 0).astype(np.int64)
        bad = np.flatnonzero(~inside | (coef != data))
        if len(bad):
            j, i, value = int(row[bad[0]]), int(cell[bad[0]]), data[bad[0]]
            raise InputError(
                f"matrix: coefficient {value} of cell {i} in equation {j} is not a whole number below 2^31; multiply the equation out"
            )
        return Relations.from_entries(cells, equations, row.astype(np.int64), cell.astype(np.int64), coef, rhs)

    # ---- reading ---------------------------------------------------------------------------------------------------------------------------

    @property
    def equations(self) -> int:
        """Number of equations."""
        return len(self.rhs)

    @cached_property
    def row(self) -> Ints:
        """The equation of every entry."""
        return np.repeat(np.arange(self.equations, dtype=np.int64), np.diff(self.indptr))

    @cached_property
    def largest(self) -> int:
        """The largest coefficient, whatever its sign."""
        return int(np.abs(self.coefs).max(initial=0))

    @cached_property
    def longest(self) -> int:
        """The most cells that an equation has."""
        return int(np.diff(self.indptr).max(initial=0))

    @cached_property
    def by_cell(self) -> tuple[Ints, Ints]:
        """Entries sorted by cell: cell i owns positions ``ptr[i]:ptr[i+1]`` of ``entry``, which point into ``indices``/``coefs``/``row``."""
        entry = np.argsort(self.indices, kind="stable").astype(np.int64)
        ptr = np.concatenate(([0], np.cumsum(np.bincount(self.indices, minlength=self.cells)))).astype(np.int64)
        return ptr, entry

    def equation(self, j: int) -> tuple[int, list[int], list[int]]:
        """(right-hand side, cells, coefficients) of equation j as Python integers."""
        part = slice(int(self.indptr[j]), int(self.indptr[j + 1]))
        return int(self.rhs[j]), self.indices[part].tolist(), self.coefs[part].tolist()

    def residual(self, a: Ints) -> Ints:
        """M·a − b, exactly: in int64 when nothing can overflow there, in Python integers otherwise (result saturates at ±2^62)."""
        largest = max(int(a.max(initial=0)), -int(a.min(initial=0))) * self.largest * max(self.longest, 1)
        if largest + int(np.abs(self.rhs).max(initial=0)) < 2**62:
            entries = a.take(self.indices)
            entries *= self.coefs
            return self.sums(entries) - self.rhs
        values = a.tolist()
        out = []
        for j in range(self.equations):
            rhs, members, weights = self.equation(j)
            exact = sum(c * values[i] for i, c in zip(members, weights, strict=True)) - rhs
            out.append(max(-(2**62), min(2**62, exact)))
        return np.array(out, np.int64)

    def sums(self, entries: Ints) -> Ints:
        """Sum of the entries of every equation (0 for an empty one)."""
        out = np.zeros(self.equations, np.int64)
        filled = np.flatnonzero(np.diff(self.indptr))
        if len(filled):
            out[filled] = np.add.reduceat(entries, self.indptr[filled])
        return out

    # ---- structure -------------------------------------------------------------------------------------------------------------------------

    @cached_property
    def total(self) -> Ints:
        """The cell that each equation states as a sum of the others (coefficient ±1, of a sign of its own), or −1 where no cell is.

        With two cells of opposite signs the one with −1 is taken: the field writes its totals so.
        """
        out = np.full(self.equations, -1, np.int64)
        for sign in (1, -1):
            mine = np.flatnonzero(np.sign(self.coefs) == sign)
            count = np.bincount(self.row[mine], minlength=self.equations)
            lone = mine[(count[self.row[mine]] == 1) & (self.coefs[mine] == sign)]
            out[self.row[lone]] = self.indices[lone]
        out[np.diff(self.indptr) < 2] = -1
        return out

    @cached_property
    def height(self) -> Ints:
        """How many sums a cell stands above: 0 for cells that are no sum of others, and one more than the highest of its parts for a total."""
        out = np.zeros(self.cells, np.int64)
        total = self.total[self.row]
        part = (total >= 0) & (total != self.indices)
        above, below = total[part], self.indices[part]
        for _ in range(MOST_HEIGHT):
            higher = out.copy()
            np.maximum.at(higher, above, out[below] + 1)
            if np.array_equal(higher, out):
                break
            out = higher
        return out

    def parents(self, cell: int) -> list[int]:
        """The cells that are stated as a sum in which this one is a term."""
        ptr, entry = self.by_cell
        rows = self.row[entry[ptr[cell] : ptr[cell + 1]]]
        totals = self.total[rows]
        return sorted({int(t) for t in totals if t >= 0 and t != cell})

    def children(self, cell: int) -> list[list[int]]:
        """The terms of each sum that states this cell."""
        ptr, entry = self.by_cell
        rows = self.row[entry[ptr[cell] : ptr[cell + 1]]]
        return [[i for i in self.equation(int(j))[1] if i != cell] for j in rows if self.total[j] == cell]

    def blocks(self, free: NDArray[np.bool_] | None = None) -> Ints:
        """For every cell the smallest cell of its independent block; cells that are not free join nothing together."""
        if free is None:
            cell, row = self.indices, self.row
        else:
            keep = free[self.indices]
            cell, row = self.indices[keep], self.row[keep]
        return components(self.cells + self.equations, cell, row + self.cells)[: self.cells]

    @cached_property
    def structure(self) -> Structure:
        """Which equations define which cells, which are implied by them, which contradict them."""
        from cellward.table.leaves import find_structure

        return find_structure(self)

    @property
    def redundant(self) -> Ints:
        """Equations implied by the others."""
        return self.structure.redundant

    @property
    def contradictory(self) -> Ints:
        """Equations that no table can satisfy together with the others."""
        return self.structure.contradictory

    @cached_property
    def leaf_form(self) -> LeafForm:
        """a = N·u + c."""
        from cellward.table.leaves import find_leaf_form

        return find_leaf_form(self)

    @cached_property
    def compact(self) -> Compact:
        """z = N·u in as few numbers as pay."""
        from cellward.table.compact import compact_form

        return compact_form(self)

    @cached_property
    def network(self) -> Network | None:
        """The node–arc form, or None when the equations that are left after dropping implied ones are not a network."""
        from cellward.table.network import find_network

        return find_network(self)

    def with_network(self, network: Network) -> Relations:
        """The same relations, by whoever knows their network and spares us the search."""
        self.__dict__["network"] = network
        return self

    @cached_property
    def array_shape(self) -> tuple[int, ...] | None:
        """The inner shape, where the cells are a full array in C order with one margin last on each axis and that was said; else None."""
        return None

    def with_array_shape(self, shape: tuple[int, ...]) -> Relations:
        """The same relations, by whoever knows that they are those of a full array of this inner shape."""
        self.__dict__["array_shape"] = shape
        return self

    # ---- changing --------------------------------------------------------------------------------------------------------------------------

    def take(self, equations: Ints) -> Relations:
        """Only these equations, in this order."""
        pick = ranges(self.indptr[equations], self.indptr[equations + 1])
        indptr = np.concatenate(([0], np.cumsum(np.diff(self.indptr)[equations]))).astype(np.int64)
        return Relations(self.cells, indptr, self.indices[pick], self.coefs[pick], self.rhs[equations])

    def within(self, cells: Ints) -> Relations:
        """The equations between these cells alone, in their numbering: cells[k] becomes cell k."""
        place = np.full(self.cells, -1, np.int64)
        place[cells] = np.arange(len(cells), dtype=np.int64)
        outside = np.bincount(self.row[place[self.indices] < 0], minlength=self.equations)
        part = self.take(np.flatnonzero(outside == 0))
        return Relations.from_entries(len(cells), part.equations, part.row, place[part.indices], part.coefs, part.rhs)

    def moves(self, cells: Ints, still: Ints | None = None, *, implied: bool = False) -> Relations:
        """M·z = 0 over some cells (sorted), in their own numbering; the others are moved by ``still`` (None: not at all).

        ``implied``: implied equations stay, and need not be found.
        """
        part = self
        if not implied:
            keep = np.ones(self.equations, bool)
            keep[self.redundant] = False
            part = self.take(np.flatnonzero(keep))
        place = np.full(self.cells, -1, np.int64)
        place[cells] = np.arange(len(cells))
        inside = place[part.indices] >= 0
        row, cell, coef = part.row[inside], place[part.indices[inside]], part.coefs[inside]
        used, row = np.unique(row, return_inverse=True)
        right = None
        if still is not None:
            right = -part.sums(np.where(inside, 0, part.coefs * still[part.indices]))[used]
        return Relations.from_entries(len(cells), len(used), row, cell, coef, right)

    def permuted(self, order: Ints) -> Relations:
        """The same relations when cell order[k] becomes cell k."""
        place = np.empty_like(order)
        place[order] = np.arange(len(order), dtype=np.int64)
        return Relations.from_entries(self.cells, self.equations, self.row, place[self.indices], self.coefs, self.rhs)

    def canonical_order(self) -> Ints:
        """The equations in an order that depends on their cells, coefficients and right-hand sides alone (but for chance: one in 2^64)."""
        if not self.equations:
            return np.zeros(0, np.int64)
        mixed = (self.indices.astype(np.uint64) + np.uint64(1)) * np.uint64(0x9E3779B97F4A7C15)
        mixed = (mixed ^ (mixed >> np.uint64(29))) * np.uint64(0xBF58476D1CE4E5B9)
        mark = self.sums((mixed * self.coefs.astype(np.uint64)).view(np.int64))
        length, filled = np.diff(self.indptr), np.diff(self.indptr) > 0
        first, last = (np.full(self.equations, -1, np.int64) for _ in range(2))
        first[filled], last[filled] = self.indices[self.indptr[:-1][filled]], self.indices[self.indptr[1:][filled] - 1]
        return np.lexsort((self.rhs, mark, length, first, last)).astype(np.int64)

    def check(self) -> None:
        """Refuse what exact arithmetic or a solver could not carry."""
        if len(self.rhs) and int(np.abs(self.rhs).max()) > LARGEST:
            j = int(np.abs(self.rhs).argmax())
            raise InputError(
                f"equation {j}: the right-hand side is beyond 2^53; choose a larger unit or fewer decimals"
            )
