"""LeafSums: what the equations of a table allow its cells to move, z = N·u with u the moves of the leaves, as linear maps instead of matrices.

The equations are K·z = 0. ``sweep`` goes from multipliers of the equations down to the cells and up again, block by block, so
that nothing large leaves the cache; where the table is a full array it needs no matrix, only sums over axes.
"""

from __future__ import annotations

from abc import ABC, abstractmethod
from collections.abc import Callable, Iterator
from functools import cached_property
from math import prod
from typing import TYPE_CHECKING, Any

import numpy as np

from cellward.errors import InputError
from cellward.exact import Floats, Ints

if TYPE_CHECKING:
    from cellward.table.relations import Relations

Act = Callable[[slice, Floats], Floats]
BLOCK = 2**16
"""Leaves of an array that are worked on at a time: a few such arrays of doubles fit into a core's cache."""


class LeafSums(ABC):
    """N and K of a table: N·u obeys K·z = 0 whatever u.

    Cells are counted as in the table by ``up``, ``down`` and ``leaves``, in a working order by ``sweep``, ``diagonal`` and ``at_leaves``.
    """

    cells: int
    equations: int
    """Rows of K; some may be implied by others."""

    @property
    @abstractmethod
    def leaves(self) -> Ints:
        """The cells that are leaves, in the order of u; their rows of N are unit vectors."""

    @abstractmethod
    def up(self, u: Floats) -> Floats:
        """N·u, for all cells."""

    @abstractmethod
    def down(self, g: Floats) -> Floats:
        """Nᵀ·g, for all leaves."""

    @abstractmethod
    def at_leaves(self, x: Floats) -> Floats:
        """A copy of the entries of the leaves, from an array in working order."""

    @abstractmethod
    def arranged(self, x: Floats) -> Floats:
        """A copy of an array over the cells, in working order."""

    @abstractmethod
    def restored(self, x: Floats) -> Floats:
        """An array over the cells in working order, as the table orders them."""

    @abstractmethod
    def sweep(self, y: Floats, act: Act) -> Floats:
        """K·v where v[block] = act(block, (Kᵀ·y)[block]), block after block in working order; act may work in place."""

    @abstractmethod
    def diagonal(self, d: Floats) -> Floats:
        """The diagonal of K·diag(d)·Kᵀ."""


class SparseSums(LeafSums):
    """N and K as sparse matrices (any scipy format, or dense); without K, each cell that is no leaf is an equation: its row of N less itself.

    >>> sums = SparseSums(np.array([[1, 0], [0, 1], [1, 1]]), np.array([0, 1]))
    >>> sums.up(np.array([2.0, 3.0])).tolist()
    [2.0, 3.0, 5.0]
    >>> sums.down(np.array([1.0, 2.0, 10.0])).tolist()
    [11.0, 12.0]
    """

    def __init__(self, matrix: Any, leaves: Ints, equations: Any = None) -> None:
        from scipy.sparse import csr_matrix, identity

        self._up = csr_matrix(matrix, dtype=np.float64)
        self._leaves = np.asarray(leaves, np.int64)
        self.cells = int(self._up.shape[0])
        own = self._up[self._leaves].tocoo()
        own.eliminate_zeros()
        if not (own.nnz == own.shape[0] == own.shape[1] and (own.row == own.col).all() and (own.data == 1).all()):
            raise InputError("matrix: the row of the k-th leaf must be the k-th unit vector")
        if equations is None:
            mark = np.ones(self.cells, bool)
            mark[self._leaves] = False
            others = np.flatnonzero(mark)
            place = csr_matrix(
                (np.ones(len(leaves)), (np.arange(len(leaves)), self._leaves)), (len(leaves), self.cells)
            )
            equations = self._up[others] @ place - identity(self.cells, format="csr")[others]
        self._rows = csr_matrix(equations, dtype=np.float64)
        self._columns = self._rows.T.tocsr()
        self._squares = self._rows.multiply(self._rows).tocsr()
        self.equations = int(self._rows.shape[0])

    @property
    def leaves(self) -> Ints:
        """The cells that are leaves, in the order of u."""
        return self._leaves

    def up(self, u: Floats) -> Floats:
        """N·u, for all cells."""
        made: Floats = self._up @ u
        return made

    def down(self, g: Floats) -> Floats:
        """Nᵀ·g, for all leaves."""
        made: Floats = self._up.T @ g
        return made

    def at_leaves(self, x: Floats) -> Floats:
        """A copy of the entries of the leaves, from an array in working order."""
        return x[self._leaves]

    def arranged(self, x: Floats) -> Floats:
        """A copy: the working order is the table's."""
        return x.copy()

    def restored(self, x: Floats) -> Floats:
        """The same array: the working order is the table's."""
        return x

    def sweep(self, y: Floats, act: Act) -> Floats:
        """K·v where v = act(all, Kᵀ·y)."""
        made: Floats = self._rows @ act(slice(0, self.cells), self._columns @ y)
        return made

    def diagonal(self, d: Floats) -> Floats:
        """The diagonal of K·diag(d)·Kᵀ."""
        made: Floats = self._squares @ d
        return made


class AxisSums(LeafSums):
    """A full k-dimensional array with one margin last on each axis, all cells in C order: sums over axes, no matrix.

    The margins fall into k facets: facet a holds the margins of axis a that are inner cells on every axis before a. Each margin is an
    equation, the sum of the inner cells it stands for less itself. In working order the inner cells come first, then facet by facet.

    >>> sums = AxisSums((2, 2))
    >>> sums.up(np.array([1.0, 2.0, 3.0, 4.0])).tolist()
    [1.0, 2.0, 3.0, 3.0, 4.0, 7.0, 4.0, 6.0, 10.0]
    >>> sums.down(np.arange(9.0)).tolist()
    [16.0, 18.0, 22.0, 24.0]
    """

    def __init__(self, shape: tuple[int, ...]) -> None:
        if not shape or min(shape) < 1:
            raise InputError(f"shape: {shape}; give at least one axis, and at least one inner cell on each")
        self.shape = tuple(int(size) for size in shape)
        self._full = tuple(size + 1 for size in self.shape)
        self._inner = tuple(slice(0, size) for size in self.shape)
        self._facets = [self.shape[:a] + self._full[a + 1 :] for a in range(len(self.shape))]
        self._ends = np.cumsum([0, *(prod(facet) for facet in self._facets)]).tolist()
        self._leaf_count = prod(self.shape)
        self.cells = prod(self._full)
        self.equations = self.cells - self._leaf_count

    @property
    def leaves(self) -> Ints:
        """The inner cells."""
        return np.arange(self.cells, dtype=np.int64).reshape(self._full)[self._inner].ravel()

    @cached_property
    def _margins(self) -> Ints:
        cell = np.arange(self.cells, dtype=np.int64).reshape(self._full)
        last: list[tuple[Any, ...]] = [(*self._inner[:a], size) for a, size in enumerate(self.shape)]
        return np.concatenate([cell[index].ravel() for index in last])

    def up(self, u: Floats) -> Floats:
        """The array with its margins."""
        inner = u.reshape(self.shape)
        return self._joined(u, self._bordered([inner.sum(axis=a) for a in range(inner.ndim)]))

    def down(self, g: Floats) -> Floats:
        """For every inner cell the sum over itself and its margins."""
        made = g.reshape(self._full)[self._inner].flatten()
        for block, _, _, values in self._blocks(self._folded(g[self._margins])):
            made[block] += values.reshape(-1)
        return made

    def at_leaves(self, x: Floats) -> Floats:
        """A copy of the entries of the inner cells, from an array in working order."""
        return x[: self._leaf_count].copy()

    def arranged(self, x: Floats) -> Floats:
        """A copy, the inner cells first."""
        made = np.empty(self.cells)
        made[: self._leaf_count].reshape(self.shape)[...] = x.reshape(self._full)[self._inner]
        made[self._leaf_count :] = x[self._margins]
        return made

    def restored(self, x: Floats) -> Floats:
        """The inner cells and their margins at their places in the array."""
        return self._joined(x[: self._leaf_count], x[self._leaf_count :])

    def sweep(self, y: Floats, act: Act) -> Floats:
        """K·v where v[block] = act(block, (Kᵀ·y)[block]): a few rows of the array at a time, the margins last."""
        facets = self._folded(y)
        made = [np.zeros_like(facet) for facet in facets]
        for block, start, stop, room in self._blocks(facets):
            values = act(block, room.reshape(-1)).reshape(room.shape)
            made[0] += values.sum(axis=0)
            for a in range(1, len(made)):
                values.sum(axis=a, out=made[a][start:stop])
        return self._bordered(made) - act(slice(self._leaf_count, self.cells), -y)

    def diagonal(self, d: Floats) -> Floats:
        """The diagonal of K·diag(d)·Kᵀ: every margin's own entry and those of its inner cells."""
        inner = d[: self._leaf_count].reshape(self.shape)
        return self._bordered([inner.sum(axis=a) for a in range(inner.ndim)]) + d[self._leaf_count :]

    def _joined(self, inner: Floats, margins: Floats) -> Floats:
        made = np.empty(self.cells)
        made.reshape(self._full)[self._inner] = inner.reshape(self.shape)
        made[self._margins] = margins
        return made

    def _blocks(self, facets: list[Floats]) -> Iterator[tuple[slice, int, int, Floats]]:
        """What the facets bring to some rows of the array at a time: (inner cells, first row, end, values in a room that is used again)."""
        width = prod(self.shape[1:])
        rows = min(self.shape[0], max(1, BLOCK // width))
        room = np.empty((rows, *self.shape[1:]))
        for start in range(0, self.shape[0], rows):
            stop = min(start + rows, self.shape[0])
            values = room[: stop - start]
            values[...] = facets[0]
            for a in range(1, values.ndim):
                values += np.expand_dims(facets[a][start:stop], a)
            yield slice(start * width, stop * width), start, stop, values

    def _folded(self, y: Floats) -> list[Floats]:
        """What each facet brings to the inner cells: margins of margins added to all that they stand for."""
        made = []
        for a, size in enumerate(self._facets):
            facet = y[self._ends[a] : self._ends[a + 1]].reshape(size)
            for axis in range(a, len(size)):
                before = (slice(None),) * axis
                facet = facet[(*before, slice(0, -1))] + facet[(*before, slice(-1, None))]
            made.append(facet)
        return made

    def _bordered(self, facets: list[Floats]) -> Floats:
        """The facets with their margins of margins, one after the other: the transpose of folding."""
        made = []
        for a, facet in enumerate(facets):
            for axis in range(a, facet.ndim):
                facet = np.concatenate((facet, facet.sum(axis=axis, keepdims=True)), axis=axis)
            made.append(facet.ravel())
        return np.concatenate(made)


def leaf_sums(relations: Relations) -> LeafSums:
    """The sums of a table's equations: over axes where the table was built from an array, otherwise by its leaf form.

    >>> from cellward.table.array import margins
    >>> type(leaf_sums(margins((3, 4)))).__name__
    'AxisSums'
    """
    if relations.array_shape is not None:
        return AxisSums(relations.array_shape)
    from scipy.sparse import csr_matrix

    form = relations.leaf_form
    if form.condition.shape[0]:
        raise InputError(
            f"{form.condition.shape[0]} equations have no cell with coefficient 1 or -1 to be solved for; least squares in the leaves needs one"
        )
    rows = csr_matrix(
        (relations.coefs.astype(np.float64), relations.indices, relations.indptr),
        shape=(relations.equations, relations.cells),
    )
    return SparseSums(form.matrix, form.leaves, rows)
