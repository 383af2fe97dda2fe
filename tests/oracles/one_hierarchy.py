"""One hierarchy: tables of two dimensions, one of them hierarchical, with the dimensions of paper 001, Table 1, and smaller ones of the same kind.

Each number of that table follows from three: columns C with their total, rows R of the tree with its sums, of which P have rows below them. There are
n = R·C cells, m = R + P·C equations and R·C + (R − 1 + P)·C coefficients, which only one choice of C and P meets in each of the four.
"""

from __future__ import annotations

from dataclasses import dataclass

import numpy as np
from scipy.sparse import csr_matrix

import cellward as cw
from cellward.table.sensitivity import Sensitivity

LEVEL = (5, 25)
"""Levels are so many percent of the value, between these."""


@dataclass(frozen=True)
class Structure:
    """``columns`` and ``rows`` with all sums, ``parents`` of them with rows below, and how many cells are at risk."""

    columns: int
    rows: int
    parents: int
    at_risk: int

    @property
    def cells(self) -> int:
        """n."""
        return self.columns * self.rows

    @property
    def equations(self) -> int:
        """m."""
        return self.rows + self.parents * self.columns

    @property
    def coefficients(self) -> int:
        """N. coef."""
        return self.columns * (2 * self.rows - 1 + self.parents)


PAPER_001 = {
    "case 35": Structure(41, 12178, 209, 55527),
    "case 36": Structure(41, 29279, 399, 107743),
    "case 37": Structure(51, 5804, 100, 42652),
    "case 38": Structure(51, 11223, 150, 81359),
}


def tree(structure: Structure, rng: np.random.Generator) -> np.ndarray:
    """The row above each (−1 for the first): those with rows below come first, each below one before it; every one of them has at least two."""
    parents, rows = structure.parents, structure.rows
    above = np.full(rows, -1, np.int64)
    above[1:parents] = np.floor(rng.random(parents - 1) * np.minimum(np.arange(1, parents), 12)).astype(np.int64)
    leaves = np.arange(parents, rows)
    count = np.bincount(above[1:parents], minlength=parents)
    must = np.repeat(np.arange(parents), np.maximum(2 - count, 0))
    above[leaves[: len(must)]] = must
    above[leaves[len(must) :]] = rng.integers(parents, size=len(leaves) - len(must))
    return above


def one_hierarchy(structure: Structure, seed: int = 0) -> cw.Table:
    """Lognormal values, inner cells at risk at random; cell (row, column) is number row·C + column, the total of a row its last."""
    rng = np.random.default_rng(seed)
    r, c, p = structure.rows, structure.columns, structure.parents
    above = tree(structure, rng)
    a = np.zeros((r, c), np.int64)
    a[p:, :-1] = np.rint(rng.lognormal(4.0, 1.2, (r - p, c - 1))).astype(np.int64) + 1
    a[:, -1] = a.sum(1)
    for row in range(r - 1, 0, -1):
        a[above[row]] += a[row]
    cell = np.arange(r * c).reshape(r, c)
    below = np.argsort(above[1:], kind="stable") + 1
    line = np.concatenate(
        (np.repeat(np.arange(r), c), (r + above[below][:, None] * c + np.arange(c)).ravel(), r + np.arange(p * c))
    )
    at = np.concatenate((cell.ravel(), cell[below].ravel(), cell[:p].ravel()))
    sums = np.ones((r, c))
    sums[:, -1] = -1
    coef = np.concatenate((sums.ravel(), np.ones((r - 1) * c), -np.ones(p * c)))
    matrix = csr_matrix((coef, (line, at)), shape=(structure.equations, structure.cells))
    risky = np.sort(rng.choice(cell[p:, :-1].ravel(), structure.at_risk, replace=False))
    percent = rng.integers(LEVEL[0], LEVEL[1] + 1, structure.at_risk)
    level = np.maximum(a.ravel()[risky] * percent // 100, 1)
    made = cw.Table.from_equations(a.ravel(), matrix)
    return made.with_sensitivity(Sensitivity.of(made.cells, risky, level, level, 0 * level))
