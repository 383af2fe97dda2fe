"""Sparse Cholesky: H = L·Lᵀ, with conditions R·u = r carried along, for many H of one pattern.

Multifrontal: every front is a small dense matrix, so that the arithmetic is BLAS's; where each number goes is worked out once. The conditions are the
last front: what reaches it is −R·H⁻¹·Rᵀ, and only the fronts that a condition touches, and those above them, know of it.
"""

from __future__ import annotations

from typing import TYPE_CHECKING

import numpy as np

from cellward.exact import Floats, Ints
from cellward.solve.fronts import Front, find_fronts

if TYPE_CHECKING:
    from scipy.sparse import csr_matrix


PAIR_S, RUN_S, PICKED_S = 2.2e-6, 1.7e-9, 11e-9
"""Seconds to add a pair of runs of a border into the parent, for each number in them, and for each number that is picked out one by one."""


class _Add:
    """How a part of a child's update is added into one block of its parent: by runs, or number by number where runs are short."""

    def __init__(self, rows: Ints, cols: Ints, skip: tuple[int, int], child: int, height: int) -> None:
        """Number (i + skip, j + skip) goes to (rows[i], cols[j]); where the part lies on the diagonal only if i ≥ j."""
        triangle = skip[0] == skip[1]
        share = 0.5 if triangle else 1.0
        numbers = share * len(rows) * len(cols)
        down, across = _runs(rows), _runs(cols)
        self.slices: list[tuple[slice, slice, slice, slice]] = []
        self.to = self.source = np.zeros(0, np.int64)
        if share * len(down) * len(across) * PAIR_S + numbers * RUN_S <= numbers * PICKED_S:
            for k, (i, r, m) in enumerate(down):
                for j, c, n in across[: k + 1] if triangle else across:
                    a, b = i + skip[0], j + skip[1]
                    self.slices.append((slice(r, r + m), slice(c, c + n), slice(a, a + m), slice(b, b + n)))
        else:
            ii, jj = np.indices((len(rows), len(cols))).reshape(2, -1)
            if triangle:
                ii, jj = ii[ii >= jj], jj[ii >= jj]
            self.to = rows[ii] + cols[jj] * height
            self.source = ii + skip[0] + (jj + skip[1]) * child

    def __call__(self, target: Floats, update: Floats) -> None:
        for down, across, i, j in self.slices:
            target[down, across] += update[i, j]
        if len(self.to):
            target.reshape(-1, order="F")[self.to] += update.reshape(-1, order="F")[self.source]


def _runs(places: Ints) -> list[tuple[int, int, int]]:
    """(index, place, length) of every stretch of consecutive places."""
    begin = np.flatnonzero(np.diff(places, prepend=-2) != 1)
    many = np.diff(np.append(begin, len(places)))
    return list(zip(begin.tolist(), places[begin].tolist(), many.tolist(), strict=True))


class _Panel:
    """A front's numbers: the triangle of its pivots, the block of its border below them, and the update it passes on."""

    def __init__(self, front: Front, memory: Floats, begin: int) -> None:
        self.pivots, self.border, self.parent = front.pivots, front.border, front.parent
        p, b = len(front.pivots), len(front.border)
        self.p, self.b, self.begin = p, b, begin
        self.triangle = memory[begin : begin + p * p].reshape((p, p), order="F")
        self.below = memory[begin + p * p : begin + p * p + b * p].reshape((b, p), order="F")
        self.update = np.zeros((b, b), order="F")
        self.children: list[tuple[_Panel, _Add, _Add, _Add]] = []

    def adopt(self, child: _Panel, place: Ints) -> None:
        """Work out where the child's update goes; ``place`` are positions in this front."""
        at = place[child.border]
        q = int(np.searchsorted(at, self.p))
        inner, outer = at[:q], at[q:] - self.p
        into_triangle = _Add(inner, inner, (0, 0), child.b, self.p)
        into_below = _Add(outer, inner, (q, 0), child.b, self.b)
        into_update = _Add(outer, outer, (q, q), child.b, self.b)
        self.children.append((child, into_triangle, into_below, into_update))


class Cholesky:
    """Factors of H, entries ``at`` (row·size + column, in one triangle) of which may differ from 0, and solves under conditions."""

    def __init__(self, fronts: list[Front], at: Ints, condition: csr_matrix) -> None:
        self.carried, self.size = int(condition.shape[0]), int(condition.shape[1])
        everything = self.size + self.carried
        begin = np.concatenate(([0], np.cumsum([len(f.pivots) * (len(f.pivots) + len(f.border)) for f in fronts])))
        self.memory = np.zeros(int(begin[-1]))
        self.panels = [_Panel(f, self.memory, int(a)) for f, a in zip(fronts, begin[:-1], strict=True)]
        order = np.concatenate([f.pivots for f in fronts]) if fronts else np.zeros(0, np.int64)
        first = np.empty(everything, np.int64)
        first[order] = np.arange(everything)
        self._place(at, condition, first)

    @staticmethod
    def plan(at: Ints, condition: csr_matrix, most: float) -> Cholesky | None:
        """The analysis; None when factors cost more than ``most`` operations."""
        size = int(condition.shape[1])
        held = condition.tocoo()
        fronts = find_fronts(at // max(size, 1), at % max(size, 1), size, held.row, held.col, held.shape[0], most)
        return None if fronts is None else Cholesky(fronts, at, condition)

    def _place(self, at: Ints, condition: csr_matrix, first: Ints) -> None:
        """Where the entries of H and of the conditions go, and the updates of the fronts."""
        held = condition.tocoo()
        row = np.concatenate((at // max(self.size, 1), self.size + held.row.astype(np.int64)))
        col = np.concatenate((at % max(self.size, 1), held.col.astype(np.int64)))
        swap = first[row] < first[col]
        row, col = np.where(swap, col, row), np.where(swap, row, col)
        owner = np.repeat(np.arange(len(self.panels)), [panel.p for panel in self.panels])[first[col]]
        by_owner = np.argsort(owner, kind="stable")
        cuts = np.searchsorted(owner[by_owner], np.arange(len(self.panels) + 1))
        to = np.empty(len(row), np.int64)
        place = np.empty(self.size + self.carried, np.int64)
        children: list[list[_Panel]] = [[] for _ in self.panels]
        for panel in self.panels:
            if panel.parent >= 0:
                children[panel.parent].append(panel)
        for k, panel in enumerate(self.panels):
            place[panel.pivots] = np.arange(panel.p)
            place[panel.border] = panel.p + np.arange(panel.b)
            mine = by_owner[cuts[k] : cuts[k + 1]]
            i, j = place[row[mine]], place[col[mine]]
            inside = i < panel.p
            to[mine] = panel.begin + np.where(inside, i + j * panel.p, panel.p * panel.p + i - panel.p + j * panel.b)
            for child in children[k]:
                panel.adopt(child, place)
        self.to, self.to_held = to[: len(at)], to[len(at) :]
        self.held = held.data.astype(float)

    def factorise(self, values: Floats) -> bool:
        """Factors of the H with these entries; False where it is not positive definite, or conditions depend on each other."""
        from scipy.linalg.blas import dsyrk, dtrsm
        from scipy.linalg.lapack import dpotrf

        self.memory[:] = 0
        self.memory[self.to] = values
        self.memory[self.to_held] = self.held
        for panel in self.panels:
            triangle, below = panel.triangle, panel.below
            for child, inner, across, _ in panel.children:
                inner(triangle, child.update)
                across(below, child.update)
            if panel.pivots[0] >= self.size:
                np.negative(triangle, out=triangle)
            panel.triangle, trouble = dpotrf(triangle, lower=1, overwrite_a=1, clean=0)
            if trouble or not float(panel.triangle.diagonal().min()) > 0:  # not every LAPACK minds a NaN
                return False
            if panel.b:
                panel.below = dtrsm(1.0, panel.triangle, below, side=1, lower=1, trans_a=1, overwrite_b=1)
                panel.update = dsyrk(-1.0, panel.below, lower=1, c=panel.update, overwrite_c=1)
                for child, _, _, outer in panel.children:
                    outer(panel.update, child.update)
        return True

    def solve(self, right: Floats, given: Floats) -> Floats:
        """u with H·u + Rᵀ·λ = right and R·u = given."""
        from scipy.linalg.blas import dtrsv

        x = np.concatenate((right, given))
        halves = []
        for panel in self.panels:
            half = dtrsv(panel.triangle, x[panel.pivots], lower=1, overwrite_x=1)
            if panel.b:
                x[panel.border] -= panel.below @ half
            halves.append(half)
        for panel, half in zip(reversed(self.panels), reversed(halves), strict=True):
            if panel.pivots[0] >= self.size:
                half = -half
            elif panel.b:
                half -= x[panel.border] @ panel.below
            x[panel.pivots] = dtrsv(panel.triangle, half, lower=1, trans=1, overwrite_x=1)
        return x[: self.size]
