"""Newton systems: solve with NᵀDN under conditions R·u = r for many diagonals D, by a dense or a sparse factorisation, whichever is less work."""

from __future__ import annotations

from typing import TYPE_CHECKING, Protocol

import numpy as np
from numpy.typing import NDArray

from cellward.exact import Floats, Ints
from cellward.solve.cholesky import Cholesky

if TYPE_CHECKING:
    from scipy.sparse import csr_matrix


LONG = 14
"""Rows of N that hold more than this share (1/LONG) of all u enter a dense NᵀDN as a dense product."""
SMALL = 150
"""Up to this many unknowns nothing is gained by a sparse factorisation."""
DENSE = 0.4
"""From this share of entries on that differ from 0 neither."""
SAMPLED = 32
"""Columns of NᵀDN that are looked at for that."""
CLEARLY = 0.7
"""The share of a dense factorisation's work that a sparse one may be at most."""
MARKED = 40
"""How many flags a key is worth when distinct ones are looked for."""
SHIFT, FLOOR = 1e-14, 1e-300
"""The diagonal is raised by this share, and by this much."""


class _System(Protocol):
    def factorise(self, d: Floats) -> bool: ...

    def solve(self, right: Floats, given: Floats) -> Floats: ...


class _Pairs:
    """The lower triangle of NᵀDN over the given rows of N, column by column: entries ``at`` (column·size + row) are ``product``·d."""

    def __init__(self, matrix: csr_matrix, rows: NDArray[np.bool_]) -> None:
        from scipy.sparse import csr_matrix

        size = int(matrix.shape[1])
        length = np.diff(matrix.indptr).astype(np.int64)
        row = np.repeat(np.arange(matrix.shape[0]), length)
        entry = np.flatnonzero(rows[row])
        # With the entries of every row sorted, each goes with those up to itself: the lower triangle.
        before = entry - matrix.indptr[row[entry]] + 1
        first = np.repeat(entry, before)
        second = np.arange(len(first)) - np.repeat(np.cumsum(before) - before - matrix.indptr[row[entry]], before)
        key = matrix.indices[second].astype(np.int64) * size + matrix.indices[first]
        self.at, place = _distinct(key, size * size)
        value = matrix.data[first] * matrix.data[second]
        self.product = csr_matrix((value, (place, row[first])), shape=(len(self.at), matrix.shape[0]))


def _distinct(keys: Ints, below: int) -> tuple[Ints, NDArray[np.integer]]:
    """The distinct keys, sorted, and the place of each key among them: by marking, unless that would take far more room than the keys."""
    if below > MARKED * len(keys):
        distinct, place = np.unique(keys, return_inverse=True)
        return distinct, place
    found = np.zeros(below, bool)
    found[keys] = True
    distinct = np.flatnonzero(found)
    where = np.empty(below, np.int32)
    where[distinct] = np.arange(len(distinct))
    return distinct, where[keys]


class _Dense:
    """One dense Cholesky a factorisation, in place, lower triangles in Fortran order."""

    def __init__(self, matrix: csr_matrix, condition: csr_matrix) -> None:
        size = int(matrix.shape[1])
        long = np.diff(matrix.indptr) > max(size / LONG, 8)
        self.pairs = _Pairs(matrix, ~long)
        self.long = np.flatnonzero(long)
        self.rows = matrix[self.long].toarray()
        self.condition = np.asfortranarray(condition.T.toarray())
        self.h = np.zeros((size, size), order="F")

    def factorise(self, d: Floats) -> bool:
        from scipy.linalg.blas import dsyrk, dtrsm
        from scipy.linalg.lapack import dpotrf

        h = self.h
        if len(self.long):
            rows = self.rows * np.sqrt(d[self.long])[:, None]
            h = dsyrk(1.0, rows.T, lower=1, c=h, overwrite_c=1)  # rows.T is in Fortran order: no copy
        else:
            h[:] = 0
        flat = h.reshape(-1, order="F")
        flat[self.pairs.at] += self.pairs.product @ d
        flat[:: len(h) + 1] *= 1 + SHIFT
        flat[:: len(h) + 1] += FLOOR
        self.h, trouble = dpotrf(h, lower=1, overwrite_a=1, clean=0)
        if not trouble and self.condition.shape[1]:
            self.v = dtrsm(1.0, self.h, self.condition, lower=1)
            self.s, trouble = dpotrf(dsyrk(1.0, self.v, trans=1, lower=1), lower=1, overwrite_a=1, clean=0)
        return not trouble and bool(np.isfinite(self.h.diagonal()).all())

    def solve(self, right: Floats, given: Floats) -> Floats:
        from scipy.linalg.blas import dtrsv

        if not len(right):
            return right
        b = dtrsv(self.h, right, lower=1)
        if len(given):
            part = dtrsv(self.s, self.v.T @ b - given, lower=1, overwrite_x=1)
            b -= self.v @ dtrsv(self.s, part, lower=1, trans=1, overwrite_x=1)
        return np.asarray(dtrsv(self.h, b, lower=1, trans=1, overwrite_x=1))


class _Sparse:
    """A sparse Cholesky."""

    def __init__(self, pairs: _Pairs, cholesky: Cholesky, size: int) -> None:
        self.product, self.cholesky = pairs.product, cholesky
        self.diagonal = np.flatnonzero(pairs.at // size == pairs.at % size)

    @staticmethod
    def plan(matrix: csr_matrix, down: csr_matrix, condition: csr_matrix) -> _Sparse | None:
        """None when it would not clearly be less work than a dense one."""
        size, carried = int(matrix.shape[1]), int(condition.shape[0])
        if size <= SMALL:
            return None
        sample = down[np.linspace(0, size - 1, SAMPLED).astype(np.int64)]
        if (sample @ matrix).nnz > DENSE * SAMPLED * size:
            return None
        pairs = _Pairs(matrix, np.ones(matrix.shape[0], bool))
        dense = 1.3 * size**3 / 3 + 2.0 * size**2 * carried + 1.0 * size * carried**2 + 100.0 * size**2
        cholesky = Cholesky.plan(pairs.at, condition, CLEARLY * dense)
        return None if cholesky is None else _Sparse(pairs, cholesky, size)

    def factorise(self, d: Floats) -> bool:
        values = self.product @ d
        values[self.diagonal] *= 1 + SHIFT
        values[self.diagonal] += FLOOR
        return self.cholesky.factorise(values)

    def solve(self, right: Floats, given: Floats) -> Floats:
        return self.cholesky.solve(right, given)


class Newton:
    """Solves with [NᵀDN, NᵀE; EᵀN, F] under R·u = given, for one D, E, F at a time."""

    def __init__(self, matrix: csr_matrix, condition: csr_matrix) -> None:
        if not matrix.has_sorted_indices:
            matrix = matrix.sorted_indices()
        self.down = matrix.T.tocsr()
        self.condition = condition
        self.system: _System = _Sparse.plan(matrix, self.down, condition) or _Dense(matrix, condition)

    def factorise(self, d: Floats, border: Floats, corner: Floats) -> bool:
        """False when the system is singular in floating point."""
        if not self.system.factorise(d):
            return False
        self.border = self.down @ border if border.shape[1] else border
        if border.shape[1]:
            none = np.zeros(self.condition.shape[0])
            self.turned = np.column_stack([self.system.solve(b, none) for b in self.border.T])
            self.corner = corner - self.border.T @ self.turned
        return True

    def solve(self, right: Floats, below: Floats, given: Floats) -> tuple[Floats, Floats]:
        """(du, dτ)."""
        u = self.system.solve(right, given)
        if not len(below):
            return u, below
        try:
            tau = np.linalg.solve(self.corner, below - self.border.T @ u)
        except np.linalg.LinAlgError:
            return np.full_like(u, np.nan), np.full_like(below, np.nan)
        return u - self.turned @ tau, tau
