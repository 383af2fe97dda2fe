"""Census: the two large table structures of Salazar-González (2004, paper 000), exact in shape, seeded, any size."""

from __future__ import annotations

import itertools
from dataclasses import dataclass

import numpy as np
from numpy.typing import NDArray

Ints = NDArray[np.int64]


@dataclass(frozen=True, eq=False)
class Census:
    """An additive table of counts: M · values = rhs, M in compressed rows, each row's total (−1) before its parts."""

    values: Ints
    indptr: Ints
    indices: Ints
    coefs: Ints
    rhs: Ints
    area: Ints  # per cell; areas are numbered from the smallest level up, the children of one parent side by side
    kind: Ints  # per cell, an index into `kinds`
    kinds: tuple[str, ...]
    level: Ints  # per area, 0 being the smallest
    parent: Ints  # per area, −1 at the top level

    @property
    def cells(self) -> int:
        return len(self.values)

    @property
    def equations(self) -> int:
        return len(self.rhs)

    def residuals(self) -> Ints:
        """M · values − rhs, in integers."""
        return np.add.reduceat(self.coefs * self.values[self.indices], self.indptr[:-1]) - self.rhs

    def check(self) -> None:
        """Raises AssertionError unless the structure keeps its conventions and the values add up exactly."""
        starts = self.indptr[:-1]
        negative = np.zeros(len(self.coefs), dtype=bool)
        negative[starts] = True
        facts = {
            "the row pointers match the entries": self.indptr[0] == 0 and self.indptr[-1] == len(self.indices),
            "every equation has a total and a part": bool(np.all(np.diff(self.indptr) >= 2)),
            "totals come first with −1, parts follow with +1": np.array_equal(self.coefs, np.where(negative, -1, 1)),
            "every index names a cell": self.indices.min() >= 0 and self.indices.max() < self.cells,
            "no count is negative": self.values.min() >= 0,
            "every equation holds": not self.residuals().any(),
        }
        for fact, holds in facts.items():
            if not holds:  # raised by hand, so that it also runs under python -O
                raise AssertionError(f"not so: {fact}")


@dataclass(frozen=True, eq=False)
class _Geography:
    """Areas in levels: families[bounds[i]:bounds[i+1]] is a parent area followed by its children."""

    sizes: tuple[int, ...]
    parent: Ints
    level: Ints
    families: Ints
    bounds: Ints

    @property
    def areas(self) -> int:
        return len(self.parent)

    def roll_up(self, smallest: Ints) -> Ints:
        """Values of all areas, from those of the smallest level (first axis: areas)."""
        levels, first = [smallest], 0
        for size in self.sizes[:-1]:
            parents = self.parent[first : first + size]
            # Siblings lie side by side, so that a level's sums are sums of runs.
            runs = np.flatnonzero(np.diff(parents, prepend=-1))
            levels.append(np.add.reduceat(levels[-1], runs, axis=0))
            first += size
        return np.concatenate(levels)


def _geography(sizes: tuple[int, ...], rng: np.random.Generator) -> _Geography:
    if not sizes or min(sizes) < 1 or any(a < b for a, b in itertools.pairwise(sizes)):
        raise ValueError(f"geography {sizes}: give level sizes from the smallest areas up, each ≥ 1, none growing.")
    parent = np.full(sum(sizes), -1, dtype=np.int64)
    first = 0
    for size, above in itertools.pairwise(sizes):
        # One child each, the rest by uneven shares: real parents differ several-fold in their number of children.
        children = 1 + rng.multinomial(size - above, rng.dirichlet(np.full(above, 2.0)))
        parent[first : first + size] = np.repeat(first + size + np.arange(above), children)
        first += size
    child = np.flatnonzero(parent >= 0)
    heads = np.arange(sizes[0], len(parent))
    # parent[child] is sorted by construction; inserting each head before its first child gives the families.
    families = np.insert(child, np.searchsorted(parent[child], heads), heads)
    bounds = np.concatenate([[0], np.cumsum(1 + np.bincount(parent[child], minlength=len(parent))[sizes[0] :])])
    level = np.repeat(np.arange(len(sizes)), sizes)
    return _Geography(sizes, parent, level, families.astype(np.int64), bounds.astype(np.int64))


def _assemble(
    geo: _Geography, block: Ints, equations: list[Ints], additive: int, kind: Ints, kinds: tuple[str, ...]
) -> Census:
    """The table with one block of cells per area, `equations` within each, its first `additive` cells over geography.

    An equation is an array of positions in the block, the total's first; so is a two-dimensional array of several.
    """
    width = block.shape[1]
    rows = [row for group in equations for row in np.atleast_2d(group)]
    lengths = np.array([len(row) for row in rows])
    inside = (np.arange(geo.areas)[:, None] * width + np.concatenate(rows)).ravel()
    # Geographic rows run over (parent, cell of the block); all rows of a parent have the length of its family.
    heads = len(geo.bounds) - 1
    across_lengths = np.repeat(np.diff(geo.bounds), additive)
    starts = np.cumsum(across_lengths) - across_lengths
    member = np.arange(across_lengths.sum()) + np.repeat(np.repeat(geo.bounds[:-1], additive) - starts, across_lengths)
    across = geo.families[member] * width + np.repeat(np.tile(np.arange(additive), heads), across_lengths)

    indptr = np.concatenate([[0], np.cumsum(np.concatenate([np.tile(lengths, geo.areas), across_lengths]))])
    coefs = np.ones(indptr[-1], dtype=np.int64)
    coefs[indptr[:-1]] = -1
    return Census(
        values=np.ascontiguousarray(block, dtype=np.int64).ravel(),
        indptr=indptr.astype(np.int64),
        indices=np.concatenate([inside, across]).astype(np.int64),
        coefs=coefs,
        rhs=np.zeros(len(indptr) - 1, dtype=np.int64),
        area=np.repeat(np.arange(geo.areas), width),
        kind=np.tile(kind.astype(np.int64), geo.areas),
        kinds=kinds,
        level=geo.level,
        parent=geo.parent,
    )


def income_support(
    *,
    geography: tuple[int, ...] = (10524, 408, 55, 11, 3, 1),
    partitions: tuple[int, ...] = (2, 2, 3, 4, 4, 4),
    seed: int = 0,
) -> Census:
    """Income Support, August 2000: per area a total and several partitions of it, every value additive over geography.

    The paper says how many values and equations there are, not how many parts each partition has: the default is ours.
    Cells of an area: the total (kind 0), then the parts of each partition (kinds 1, 2, …).
    """
    partitions = tuple(partitions)
    if not partitions or min(partitions) < 1:
        raise ValueError(f"partitions {partitions}: give at least one number of parts, each ≥ 1.")
    rng = np.random.default_rng(seed)
    geo = _geography(tuple(geography), rng)
    areas = geo.sizes[0]
    # About 3.9 million claimants in 10,524 wards; poverty is concentrated, hence the long tail (and some tiny wards).
    total = rng.poisson(370 * rng.gamma(1.0, 1.0, areas))
    columns, equations, kind, position = [total[:, None]], [], [0], 1
    for number, parts in enumerate(partitions, start=1):
        national = rng.dirichlet(np.full(parts, 1.5))
        # Every ward has its own mix around the national one; the small constant keeps a rare part from vanishing.
        mix = rng.gamma(30 * national + 0.05, size=(areas, parts))
        columns.append(rng.multinomial(total, mix / mix.sum(axis=1, keepdims=True)))
        equations.append(np.r_[0, position : position + parts])
        kind += [number] * parts
        position += parts
    kinds = ("total", *(f"partition {number}" for number in range(1, len(partitions) + 1)))
    return _assemble(geo, geo.roll_up(np.hstack(columns)), equations, position, np.array(kind), kinds)


def scottish_census(
    *, wards: int = 1176, authorities: int = 32, ages: int = 20, sexes: int = 2, living: int = 7, seed: int = 0
) -> Census:
    """Scottish Census 2001: age × sex × living arrangement with five margins per area, inner cells additive over areas.

    Cells of an area, in order: age × sex × living (living fastest), age × sex, sex × living, age, sex, total.
    """
    if min(ages, sexes, living) < 1:
        raise ValueError(f"ages {ages}, sexes {sexes}, living {living}: each must be ≥ 1.")
    rng = np.random.default_rng(seed)
    geo = _geography((wards, authorities, 1), rng)
    shape = (ages, sexes, living)
    inner = geo.roll_up(_persons(wards, shape, rng))
    margins = [inner, inner.sum(axis=3), inner.sum(axis=1), inner.sum(axis=(2, 3)), inner.sum(axis=(1, 3))]
    margins.append(inner.sum(axis=(1, 2, 3)))
    block = np.hstack([m.reshape(geo.areas, -1) for m in margins])

    sizes = [m[0].size for m in margins]
    ends = np.cumsum(sizes)
    cell, age_sex, sex_living, age, sex, total = (np.arange(e - s, e) for s, e in zip(sizes, ends, strict=True))
    cell, age_sex, sex_living = cell.reshape(shape), age_sex.reshape(ages, sexes), sex_living.reshape(sexes, living)
    equations = [
        np.column_stack([age_sex.ravel(), cell.reshape(-1, living)]),
        np.column_stack([sex_living.ravel(), cell.reshape(ages, -1).T]),
        np.column_stack([age, age_sex]),
        np.column_stack([sex, age_sex.T]),
        np.column_stack([sex, sex_living]),
        np.concatenate([total, age]),
        np.concatenate([total, sex]),
    ]
    kinds = ("age × sex × living", "age × sex", "sex × living", "age", "sex", "total")
    return _assemble(geo, block, equations, cell.size, np.repeat(np.arange(6), sizes), kinds)


def persons(*, geography: tuple[int, ...] = (1000, 50, 5, 1), ages: int = 20, sexes: int = 2, seed: int = 0) -> Census:
    """Persons by area, age and sex with all margins: areas of uneven size in levels, the young more frequent than the old.

    The default has 1,056 areas of all levels × 21 × 3 = 66,528 cells.
    """
    rng = np.random.default_rng(seed)
    geo = _geography(geography, rng)
    profile = np.linspace(1.5, 0.5, ages)[:, None] * np.ones(sexes)
    inner = rng.poisson(5 * rng.gamma(4.0, 0.25, geography[0])[:, None, None] * profile)
    block = np.zeros((geography[0], ages + 1, sexes + 1), np.int64)
    block[:, :-1, :-1] = inner
    block[:, -1, :-1], block[:, :-1, -1], block[:, -1, -1] = inner.sum(1), inner.sum(2), inner.sum((1, 2))
    at = np.arange((ages + 1) * (sexes + 1)).reshape(ages + 1, sexes + 1)
    equations = [np.roll(at, 1, axis=1), np.roll(at, 1, axis=0).T]  # a total before its parts
    width = at.size
    kind = np.zeros(width, np.int64)
    return _assemble(geo, geo.roll_up(block.reshape(-1, width)), equations, width, kind, ("persons",))


def _persons(wards: int, shape: tuple[int, int, int], rng: np.random.Generator) -> Ints:
    """Ward counts, gamma-Poisson; the constants were fitted to the frequencies 0 … 20 in Table 1 of the paper.

    Each living arrangement has its time of life and is rare far from it: the rates span many orders of magnitude, which
    gives the paper's many zeros and its slow decline (about 1/k) of the number of cells with count k.
    """
    ages, _, living = shape
    time_of_life = (np.arange(living) + 0.5) / living
    breadth = np.linspace(0.1, 0.225, living)
    distance = ((np.arange(ages) + 0.5)[:, None] / ages - time_of_life) / breadth
    profile = np.exp(-0.5 * distance**2)[:, None, :] * rng.uniform(0.7, 1.3, shape)
    size = rng.gamma(2.0, 0.5, wards).reshape(-1, 1, 1, 1)
    # The mean per inner cell is fixed, not that per ward, so that tables of other sizes have as many small counts.
    rate = 14 * size * (profile / profile.mean()) * rng.gamma(0.8, 1 / 0.8, (wards, *shape))
    return rng.poisson(rate)
