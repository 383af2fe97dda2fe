"""Seeded tables: counts in arrays of any shape with all their margins, and the tables of census structures."""

from __future__ import annotations

import math
from collections.abc import Sequence

import census
import numpy as np
from numpy.typing import NDArray
from scipy.sparse import csr_matrix

import cellward as cw

Ints = NDArray[np.int64]


def with_multiples(shape: tuple[int, ...], share: float, base: int, seed: int | Sequence[int]) -> Ints:
    """Inner cells uniform among 0 to 99: exactly this share of them multiples of the base, at random places, the others not."""
    rng = np.random.default_rng(seed)
    values = np.arange(100)
    multiples, others = values[values % base == 0], values[values % base != 0]
    size = math.prod(shape)
    chosen = np.zeros(size, bool)
    chosen[rng.permutation(size)[: round(share * size)]] = True
    return np.where(chosen, rng.choice(multiples, size), rng.choice(others, size)).reshape(shape)


def poisson(shape: tuple[int, ...], seed: int, mean: float = 4.0) -> cw.Table:
    """Poisson counts with all margins."""
    return cw.Table.from_array(np.random.default_rng(seed).poisson(mean, shape))


def of_census(made: census.Census) -> cw.Table:
    """The table of a census structure."""
    matrix = csr_matrix((made.coefs, made.indices, made.indptr), shape=(made.equations, made.cells))
    return cw.Table.from_equations(made.values, matrix, made.rhs)
