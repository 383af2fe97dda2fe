"""Swaps: whole tables inside a region, reached by exchanges that keep every sum; thousands at a time, without a solver.

In one dimension the codes and their totals have an exchange for every pair of leaves x, x': +1 on x and on the totals above x alone, −1 on x' and
on the totals above x' alone; and for a leaf alone, +1 on it and on all its totals. The product of one exchange per dimension changes a few cells
(2^k in a k-dimensional table) by ±1 and keeps every equation, since each equation runs along one dimension. Exchanges that share no cell are made
together, each as far as the bounds let it. From the true table this reaches nearly every end of nearly every interval.
"""

from __future__ import annotations

from collections.abc import Sequence
from dataclasses import dataclass
from functools import reduce
from typing import Any

import numpy as np

from cellward.audit.ends import Ends
from cellward.exact import Ints
from cellward.table.labels import Labels
from cellward.table.relations import Relations, distinct

LARGEST_GRID = 2 * 10**7
"""Code combinations up to which a table is laid out as a grid; sparser ones are left to the linear programs."""

EPOCH = 10
"""Rounds between two looks at what is still to be reached."""

PATIENCE = 24
"""Epochs over which it must go on..."""

PACE = 0.05
"""... by at least this share of what was open, or the rest is left to the linear programs."""

FAR = 1000
"""Where no bound is known, moves stop at this many units beyond four times the largest value."""

HIGHER = 0.4
"""Share of rounds in which a dimension with several levels exchanges above the leaves instead of between siblings."""


@dataclass(frozen=True, eq=False)
class Exchanges:
    """One dimension: the leaf codes, and the totals above each.

    Leaf k owns positions ``start[k]:start[k + 1]`` of ``code`` and ``coef``: itself and its totals. ``group``: leaves with the same totals.
    ``chain``: the totals of every leaf from the lowest up, where they form a tree whose leaves all have the same depth; None otherwise.
    """

    leaf: Ints
    start: Ints
    code: Ints
    coef: Ints
    group: Ints
    chain: Ints | None

    def draw(self, rng: np.random.Generator) -> tuple[Ints, Ints]:
        """Some exchanges that share no code: (exchanges × codes, factors)."""
        depth = 0 if self.chain is None else self.chain.shape[1]
        if depth == 1:
            return self._flat(rng)
        if rng.random() >= HIGHER:
            codes = self.leaf[_pairs(np.arange(len(self.leaf)), self.group, rng)]
        elif depth == 0:
            return self._any(rng)
        else:
            codes = self._level(int(rng.integers(1, depth + 1)), rng)
        if not len(codes):
            return self._any(rng)
        half = codes.shape[1] // 2
        return codes, np.tile(np.repeat(np.array([1, -1]), half), (len(codes), 1))

    def _flat(self, rng: np.random.Generator) -> tuple[Ints, Ints]:
        """All leaves under one total: pairs of leaves, and perhaps one leaf with the total."""
        assert self.chain is not None
        codes = rng.permutation(self.leaf)
        lone = len(codes) % 2 == 1 or bool(rng.random() < 0.5)
        paired = codes[: (len(codes) - lone) // 2 * 2].reshape(-1, 2)
        signs = np.tile(np.array([1, -1]), (len(paired), 1))
        if not lone:
            return paired, signs
        return np.vstack((paired, [[codes[-1], self.chain[0, 0]]])), np.vstack((signs, [[1, 1]]))

    def _level(self, j: int, rng: np.random.Generator) -> Ints:
        """Exchanges between totals j levels above the leaves that have the same total above them, each through one of its leaves."""
        assert self.chain is not None
        if j == self.chain.shape[1]:
            return self.leaf[:0, None]
        shuffled = rng.permutation(len(self.leaf))
        _, first = np.unique(self.chain[shuffled, j - 1], return_index=True)
        chosen = shuffled[first]
        pairs = _pairs(chosen, self.chain[chosen, j], rng)
        column = np.concatenate((self.leaf[:, None], self.chain[:, :j]), axis=1)
        return np.concatenate((column[pairs[:, 0]], column[pairs[:, 1]]), axis=1)

    def _any(self, rng: np.random.Generator) -> tuple[Ints, Ints]:
        """One exchange between any two leaves, or of one leaf alone."""
        one, other = (int(k) for k in rng.integers(len(self.leaf), size=2))
        kept = self._column(one)
        if other != one and rng.random() < 0.5:
            for code, coef in self._column(other).items():
                kept[code] = kept.get(code, 0) - coef
        kept = {code: coef for code, coef in kept.items() if coef}
        return np.array([list(kept)], np.int64), np.array([list(kept.values())], np.int64)

    def through(self, code: int, rng: np.random.Generator) -> dict[int, int]:
        """An exchange that adds to this code: of a leaf below it (or itself) alone, or against a leaf that is not below it."""
        below = np.repeat(np.arange(len(self.leaf)), np.diff(self.start))[(self.code == code) & (self.coef > 0)]
        if not len(below):
            return {}
        kept = self._column(int(rng.choice(below)))
        if rng.random() < 0.5:
            for other, coef in self._column(int(rng.integers(len(self.leaf)))).items():
                kept[other] = kept.get(other, 0) - coef
        return {other: coef for other, coef in kept.items() if coef} if kept.get(code, 0) > 0 else {}

    def _column(self, k: int) -> dict[int, int]:
        part = slice(int(self.start[k]), int(self.start[k + 1]))
        return dict(zip(self.code[part].tolist(), self.coef[part].tolist(), strict=True))


def _pairs(members: Ints, group: Ints, rng: np.random.Generator) -> Ints:
    """The members paired off at random within their groups (one label each): a row a pair."""
    order = np.lexsort((rng.random(len(members)), group))
    members, group = members[order], group[order]
    first = np.concatenate(([True], group[1:] != group[:-1])) if len(group) else np.zeros(0, bool)
    begin = np.maximum.accumulate(np.where(first, np.arange(len(group)), 0)) if len(group) else np.zeros(0, np.int64)
    even = np.flatnonzero((np.arange(len(group)) - begin) % 2 == 0)
    even = even[even + 1 < len(group)]
    even = even[group[even] == group[even + 1]]
    return np.stack((members[even], members[even + 1]), axis=1)


@dataclass(frozen=True, eq=False)
class _Grid:
    """The table as a grid of codes: ``place`` holds the cell of every combination (−1: absent), ``number`` the combination of every cell."""

    widths: tuple[int, ...]
    index: tuple[Ints, ...]
    number: Ints
    place: Ints

    @staticmethod
    def of(labels: Labels, widths: tuple[int, ...]) -> _Grid | None:
        """None when two cells have the same codes."""
        number = np.zeros(labels.cells, np.int64)
        for width, index in zip(widths, labels.index, strict=True):
            number = number * width + index
        place = np.full(int(np.prod(widths)), -1, np.int64)
        place[number] = np.arange(labels.cells)
        return _Grid(widths, labels.index, number, place) if int((place >= 0).sum()) == labels.cells else None

    def absent(self, cells: Ints, d: int, codes: list[int]) -> bool:
        """Whether none of these codes of dimension d occurs beside these cells."""
        stride = int(np.prod(self.widths[d + 1 :], dtype=np.int64))
        origin = self.number[cells] - self.index[d][cells] * stride
        return bool(np.all(self.place[origin[:, None] + stride * np.array(codes, np.int64)] < 0))


class Swaps:
    """The exchanges of one table; None from :meth:`of` where it is not laid out in dimensions."""

    def __init__(self, place: Ints, widths: tuple[int, ...], exchanges: list[Exchanges]) -> None:
        self.place = place
        self.widths = widths
        self.exchanges = exchanges

    @staticmethod
    def of(relations: Relations, labels: Labels) -> Swaps | None:
        """Lay the table out as a grid of codes and read each dimension's sums off its equations."""
        widths = tuple(len(codes) for codes in labels.codes)
        if not widths or not relations.equations or reduce(lambda x, y: x * y, widths, 1) > LARGEST_GRID:
            return None
        along = _along(relations, labels)
        if along is None:
            return None
        grid = _Grid.of(labels, widths)
        if grid is None:
            return None
        exchanges = [_exchanges(relations, grid, d, np.flatnonzero(along == d)) for d in range(len(widths))]
        if any(one is None for one in exchanges):
            return None
        return Swaps(grid.place, widths, [one for one in exchanges if one is not None])

    def draw(self, rng: np.random.Generator) -> tuple[Ints, Ints]:
        """Moves that share no cell: (moves × cells, factors); a move that meets a combination the table lacks is left out."""
        cells, signs = np.zeros((1, 1), np.int64), np.ones((1, 1), np.int64)
        for width, exchange in zip(self.widths, self.exchanges, strict=True):
            codes, factor = exchange.draw(rng)
            shape = (len(cells) * len(codes), cells.shape[1] * codes.shape[1])
            cells = (cells[:, None, :, None] * width + codes[None, :, None, :]).reshape(shape)
            signs = (signs[:, None, :, None] * factor[None, :, None, :]).reshape(shape)
        cells = self.place[cells]
        complete = (cells >= 0).all(axis=1)
        return cells[complete], signs[complete]

    def through(self, codes: Sequence[int], rng: np.random.Generator) -> tuple[Ints, Ints]:
        """One move that adds to the cell with these codes: (cells, factors); empty where it meets a combination that the table lacks."""
        none = np.zeros(0, np.int64)
        cells, factor = np.zeros(1, np.int64), np.ones(1, np.int64)
        for width, exchange, code in zip(self.widths, self.exchanges, codes, strict=True):
            kept = exchange.through(code, rng)
            if not kept:
                return none, none
            cells = (cells[:, None] * width + np.array(list(kept), np.int64)).ravel()
            factor = (factor[:, None] * np.array(list(kept.values()), np.int64)).ravel()
        cells = self.place[cells]
        return (cells, factor) if bool((cells >= 0).all()) else (none, none)

    def explore(self, ends: Ends, rng: np.random.Generator, stop: Any) -> None:
        """Walk through the region from a table inside it, towards the ends still wanted, until nothing new is reached."""
        if ends.start is None:
            return
        y = ends.start.copy()
        far = 4 * int(np.abs(y).max(initial=0)) + FAR
        lo, hi = np.maximum(ends.outer[0], y - far), np.minimum(ends.outer[1], y + far)
        left: list[int] = []
        while not stop():
            want = ends.directions(rng)
            left.append(sum(int(side.sum()) for side in ends.open))
            if not left[-1] or (len(left) > PATIENCE and left[-1] > (1 - PACE) * left[-1 - PATIENCE]):
                return
            for _ in range(EPOCH):
                self._step(y, lo, hi, want, rng)
            if not ends.region.contains(y):  # an exchange that keeps not every sum: nothing it leads to counts
                return
            ends.see(y)

    def _step(self, y: Ints, lo: Ints, hi: Ints, want: Ints, rng: np.random.Generator) -> None:
        """One round of moves, each to its limit in the direction wanted, or somewhere at random where none is."""
        cells, factor = self.draw(rng)
        if not len(cells):
            return
        now = y[cells]
        up, down = (hi[cells] - now) // np.abs(factor), (now - lo[cells]) // np.abs(factor)
        positive = factor > 0
        forward, backward = np.where(positive, up, down).min(axis=1), np.where(positive, down, up).min(axis=1)
        gain = (want[cells] * factor).sum(axis=1)
        step = np.where(gain > 0, forward, -backward)
        aimless = np.flatnonzero(gain == 0)
        step[aimless] = rng.integers(-backward[aimless], forward[aimless], endpoint=True)
        y[cells] = now + factor * step[:, None]


def _along(relations: Relations, labels: Labels) -> Ints | None:
    """The one dimension along which each equation runs; None when an equation runs along several."""
    filled = np.flatnonzero(np.diff(relations.indptr))
    starts = relations.indptr[filled]
    along = np.full(relations.equations, -1, np.int64)
    for d, index in enumerate(labels.index):
        codes = index[relations.indices]
        varies = np.maximum.reduceat(codes, starts) != np.minimum.reduceat(codes, starts)
        if np.any(along[filled[varies]] >= 0):
            return None
        along[filled[varies]] = d
    return None if np.any(along[filled] < 0) else along


def _exchanges(relations: Relations, grid: _Grid, d: int, equations: Ints) -> Exchanges | None:
    """The sums of one dimension, each once, and the totals of every leaf code."""
    from cellward.table.leaves import find_leaf_form

    index, width = grid.index[d], grid.widths[d]
    sums = Relations.from_rows(width, _full_sums(relations, grid, d, equations))
    form = find_leaf_form(sums)
    if form.condition.shape[0]:
        return None
    used = distinct(index, width)
    columns = form.matrix.tocsc()
    columns.sort_indices()
    leaf = form.leaves[np.isin(form.leaves, used)]
    if not len(leaf):
        return None
    columns = columns[:, np.searchsorted(form.leaves, leaf)]
    start, code, coef = columns.indptr.astype(np.int64), columns.indices.astype(np.int64), columns.data.astype(np.int64)
    owner = np.repeat(np.arange(len(leaf)), np.diff(start))
    above = code != leaf[owner]
    key = np.random.default_rng(20040402).integers(0, 2**63, width, dtype=np.int64)
    mark = np.zeros(len(leaf), np.int64)
    np.add.at(mark, owner[above], coef[above] * key[code[above]])
    group = np.unique(mark, return_inverse=True)[1].astype(np.int64)
    return Exchanges(leaf, start, code, coef, group, _chain(leaf, owner[above], code[above], coef[above]))


def _full_sums(relations: Relations, grid: _Grid, d: int, equations: Ints) -> list[tuple[int, list[int], list[int]]]:
    """The distinct sums of one dimension; one that is part of another only because the cells it lacks are absent says nothing of its own."""
    part, index = relations.take(equations), grid.index[d]
    if not len(equations):
        return []
    key = np.random.default_rng(20040401).integers(0, 2**63, grid.widths[d], dtype=np.int64)
    mark = part.sums(part.coefs * key[index[part.indices]])
    _, first, which = np.unique(mark, return_index=True, return_inverse=True)
    by_total: dict[int, list[dict[int, int]]] = {}
    for kind in sorted(range(len(first)), key=lambda k: (int(part.indptr[first[k]] - part.indptr[first[k] + 1]), k)):
        _, cells, coefs = part.equation(int(first[kind]))
        total = int(part.total[first[kind]])
        terms = dict(zip(index[cells].tolist(), coefs, strict=True))
        known = by_total.setdefault(int(index[total]) if total >= 0 else -1, [])
        lines = part.indices[part.indptr[np.flatnonzero(which == kind)]]
        if not any(
            terms.items() <= other.items() and grid.absent(lines, d, [c for c in other if c not in terms])
            for other in known
        ):
            known.append(terms)
    return [(0, list(terms), list(terms.values())) for known in by_total.values() for terms in known]


def _chain(leaf: Ints, owner: Ints, code: Ints, coef: Ints) -> Ints | None:
    """The totals of every leaf, lowest first, when all leaves have as many and every total has one next above it; None otherwise."""
    count = np.bincount(owner, minlength=len(leaf))
    if not len(code) or count.min() != count.max() or np.any(coef != 1):
        return None
    below = np.bincount(code)[code]
    chain = code[np.lexsort((below, owner))].reshape(len(leaf), -1)
    if len(np.unique(chain)) < sum(len(np.unique(column)) for column in chain.T):
        return None  # a total stands at two heights: groupings overlap
    for j in range(chain.shape[1] - 1):
        if len(np.unique(chain[:, j : j + 2], axis=0)) != len(np.unique(chain[:, j])):
            return None
    return chain if len(np.unique(chain[:, -1])) == 1 else None
