"""Compact form: z = N·u with R·u = r in as few numbers as pay: cells that always move alike are one, conditions are put in only where they are short.

The leaf form eliminates everything it can, which fills N where hierarchies overlap. Here a condition left over by the definitions is eliminated only
while it holds few leaves; the others stay, for an engine that carries conditions. Redundant conditions are found by a Cholesky factorisation with
pivoting, in floating point: a wrong verdict costs a table that does not add up, which the exact check behind every engine refuses.
"""

from __future__ import annotations

from dataclasses import dataclass
from functools import cached_property
from typing import TYPE_CHECKING

import numpy as np

from cellward.exact import Floats, Ints
from cellward.table.leaves import Definitions, define, eliminate_short, in_leaves
from cellward.table.relations import Relations

if TYPE_CHECKING:
    from scipy.sparse import csr_matrix


SHORT = 12
"""A condition of up to this many leaves is eliminated."""
INDEPENDENT = 1e-9
"""What is left of a condition, as a share of it, below which it follows from the others."""


@dataclass(frozen=True, eq=False)
class Compact:
    """Cell i moves by ``sign[i]`` times class ``of[i]``; classes move by ``matrix``·u + ``constant``, where ``condition``·u = ``rhs``.

    A cell that cannot move has class −1.
    """

    relations: Relations
    matrix: csr_matrix
    of: Ints
    sign: Ints
    constant: Floats
    condition: csr_matrix
    rhs: Floats

    @property
    def classes(self) -> int:
        """Number of classes of cells."""
        return int(self.matrix.shape[0])

    def cells(self, classes: Floats) -> Floats:
        """What the cells move by when the classes move by so much."""
        return np.asarray(self.sign * np.append(classes, 0.0)[self.of])

    @cached_property
    def _defined(self) -> tuple[Definitions, Ints]:
        return define(self.relations)

    def multipliers(self, force: Floats) -> Floats:
        """y with Mᵀ·y as near to ``force`` (one a cell) as it gets: exact where the force does no work in any move of the table."""
        from scipy.linalg import lstsq
        from scipy.sparse import csr_matrix

        found, remaining = self._defined
        definition, level = found.definition, found.level
        r = self.relations
        m = csr_matrix((r.coefs.astype(float), r.indices, r.indptr), shape=(r.equations, r.cells))
        y = np.zeros(r.equations)
        if len(remaining):
            rows, _, matrix, _ = in_leaves(r, found, remaining)
            kept = _independent(rows.astype(float))
            y[remaining[kept]] = lstsq(rows[kept].toarray().T, matrix.T @ force, lapack_driver="gelsy")[0]
        by_cell = m.T.tocsr()
        for depth in range(int(level.max(initial=0)), 0, -1):
            cells = np.flatnonzero(level == depth)
            equations = definition[cells]
            own = np.asarray(m[equations, cells]).ravel()
            y[equations] = own * (force[cells] - by_cell[cells] @ y)
        return y


def compact_form(relations: Relations) -> Compact:
    """The compact form of M·z = r."""
    found, remaining = define(relations)
    rows, rhs, matrix, constant = in_leaves(relations, found, remaining)
    turn, shift, rows, rhs = eliminate_short(rows, rhs, SHORT)
    constant = constant + matrix @ shift
    matrix = (matrix @ turn).tocsr()
    matrix.eliminate_zeros()
    kept = _independent(rows.astype(float))
    rows, right = rows[kept].astype(float), rhs[kept].astype(float)
    if relations.rhs.any():  # cells move by a constant too: each is a class of its own
        of = np.arange(relations.cells)
        return Compact(relations, matrix.astype(float), of, np.ones_like(of), constant.astype(float), rows, right)
    of, sign, first = _classes(matrix)
    return Compact(relations, matrix[first].astype(float), of, sign, np.zeros(len(first)), rows, right)


def _classes(matrix: csr_matrix) -> tuple[Ints, Ints, Ints]:
    """Rows that are the same up to their sign, by fingerprint: (class of each, its sign, a row of each class)."""
    seed = np.random.default_rng(20040403).integers(0, 2**62, matrix.shape[1], dtype=np.int64)
    mark = matrix.astype(np.int64) @ seed
    other = -mark
    sign = np.where(mark.view(np.uint64) <= other.view(np.uint64), 1, -1)
    still = np.diff(matrix.indptr) == 0
    _, first, of = np.unique(np.where(sign > 0, mark, other), return_index=True, return_inverse=True)
    of = of.astype(np.int64)
    if still.any():  # cells that cannot move have the fingerprint 0: no class
        gone = of[np.flatnonzero(still)[0]]
        first = np.delete(first, gone)
        of = np.where(of == gone, -1, np.where(of > gone, of - 1, of))
    keep = of >= 0
    sign = np.where(keep, sign * sign[first[of]], 1) if len(first) else np.ones(len(of), np.int64)
    return of, sign, first


def _independent(rows: csr_matrix) -> Ints:
    """Conditions that do not follow from others."""
    if not rows.shape[0]:
        return np.zeros(0, np.int64)
    from scipy.linalg.lapack import dpstrf
    from scipy.sparse import diags

    length = np.sqrt(np.asarray(rows.multiply(rows).sum(axis=1)).ravel())
    filled = np.flatnonzero(length > 0)
    scaled = diags(1 / length[filled]) @ rows[filled]
    _, order, rank, _ = dpstrf((scaled @ scaled.T).toarray(), tol=INDEPENDENT)
    return np.asarray(filled[np.sort(order[:rank] - 1)])
