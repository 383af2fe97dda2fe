"""Nested blocks: areas within areas, found in the equations of a table, whatever they are called.

Two equations are *parallel* where a cell of the one and another cell of it each share an equation with cells of the other: the sums over the wards of
an authority, one for each age, are parallel, and so are the sums over ages in all of these. Classes of parallel equations are the directions of a
table, as far as each reaches. Those within areas come again in every area and are large; those that link areas reach no further than one authority.

So cells are joined class by class, those first that come again the most, as long as what is joined stays small. The equations that are left *link*
the blocks made so: each has every cell in another block, and all that join a block to others have their totals in one block, which stands above it;
else there are no nested blocks of this size, and larger ones are tried.
"""

from __future__ import annotations

from collections import Counter
from collections.abc import Iterator
from dataclasses import dataclass
from functools import cached_property
from itertools import groupby, pairwise
from weakref import WeakKeyDictionary

import numpy as np

from cellward.exact import Ints
from cellward.table.components import components
from cellward.table.relations import Relations, ranges

BATCH = 2000
"""Equations whose parallels are looked for at a time."""
SAMPLED = 0.1
"""The share of the equations that is looked at first; those that are found in a large class by then are known well enough."""
LARGE = 400
"""Equations in a class from which on it is large."""
LONGEST = 256
"""Longer equations are not gone through in search of parallels."""
SMALLEST, GROWTH, PARTS = 64, 2, 8
"""Cells of a block at most, at first; how much larger the next try is, as long as there could be so many blocks."""


@dataclass(frozen=True, eq=False)
class Nested:
    """Blocks of a table: the block of every cell, and for every block the one above it (−1: none). Blocks are numbered from above."""

    block: Ints
    above: Ints

    @property
    def blocks(self) -> int:
        """How many there are."""
        return len(self.above)

    @cached_property
    def below(self) -> tuple[Ints, Ints]:
        """The blocks right below block b are ``children[ptr[b]:ptr[b + 1]]``."""
        inside = np.flatnonzero(self.above >= 0)
        children = inside[np.argsort(self.above[inside], kind="stable")]
        many = np.bincount(self.above[inside], minlength=self.blocks)
        return np.concatenate(([0], np.cumsum(many))).astype(np.int64), children

    def children(self, block: int) -> Ints:
        """The blocks right below."""
        ptr, children = self.below
        return children[ptr[block] : ptr[block + 1]]


def find_nested(relations: Relations) -> Nested | None:
    """The nested blocks of a table; None where its equations show none. Whoever asks again is told what was found.

    >>> rows = [(0, [20 * k + j for j in range(20)], [-1] + 19 * [1]) for k in range(4)]
    >>> rows += [(0, [j, j + 20, j + 40, j + 60], [-1, 1, 1, 1]) for j in range(20)]
    >>> nested = find_nested(Relations.from_rows(80, rows))
    >>> nested.blocks, nested.above[:4].tolist(), nested.block[:3].tolist(), nested.block[20:23].tolist()
    (20, [-1, 0, 0, 0], [0, 1, 2], [0, 1, 2])
    """
    if relations not in _found:
        _found[relations] = _find(relations)
    return _found[relations]


_found: WeakKeyDictionary[Relations, Nested | None] = WeakKeyDictionary()


def _find(relations: Relations) -> Nested | None:
    if not relations.equations or bool(np.any(relations.total < 0)):
        return None
    joining = _Joining.of(relations, parallel_classes(relations))
    most = SMALLEST
    while most * PARTS <= max(relations.cells, SMALLEST * PARTS):
        found = _tree(relations, joining.blocks(most))
        if found is not None:
            return found
        most *= GROWTH
    return None


# ---- parallel equations ------------------------------------------------------------------------------------------------------------------------


def parallel_classes(relations: Relations) -> Ints:
    """For every equation the smallest one of its class."""
    rng = np.random.default_rng(0)
    first, second = _two_cells(relations, rng)
    label = np.arange(relations.equations, dtype=np.int64)
    order = rng.permutation(np.flatnonzero(first >= 0))
    sampled, rest = np.split(order, [int(SAMPLED * len(order))])
    for some in (sampled, rest):
        large = np.bincount(label, minlength=len(label))[label] >= LARGE
        for chosen in _batches(some[~large[some]] if some is rest else some):
            e, parallel = _parallels(relations, chosen, first, second)
            label = components(
                len(label), np.concatenate((np.arange(len(label)), e)), np.concatenate((label, parallel))
            )
    return label


def _batches(rows: Ints) -> Iterator[Ints]:
    for begin in range(0, len(rows), BATCH):
        yield rows[begin : begin + BATCH]


def _two_cells(relations: Relations, rng: np.random.Generator) -> tuple[Ints, Ints]:
    """Two cells of every equation, parts rather than its total; −1 where there are none."""
    entry_is_total = relations.indices == relations.total[relations.row]
    order = np.lexsort((rng.random(len(relations.indices)), entry_is_total, relations.row))
    cells, many = relations.indices[order], np.diff(relations.indptr)
    first, second = (np.full(relations.equations, -1, np.int64) for _ in range(2))
    enough = many >= 2
    first[enough] = cells[relations.indptr[:-1][enough]]
    second[enough] = cells[relations.indptr[:-1][enough] + 1]
    return first, second


def _parallels(relations: Relations, rows: Ints, first: Ints, second: Ints) -> tuple[Ints, Ints]:
    """Pairs of equations, the one among ``rows`` and the other parallel to it."""
    near = distinct_pairs(*_near(relations, rows, first[rows]), relations.equations)
    also = distinct_pairs(*_near(relations, rows, second[rows]), relations.equations)
    both = np.intersect1d(near, also, assume_unique=True)
    e, other = rows[both // relations.equations], both % relations.equations
    apart = e != other
    return e[apart], other[apart]


def distinct_pairs(position: Ints, other: Ints, size: int) -> Ints:
    """The distinct ones of pairs, as one number each."""
    pairs = np.sort(position * size + other)
    return pairs[np.diff(pairs, prepend=-1) > 0]


def _near(relations: Relations, rows: Ints, cell: Ints) -> tuple[Ints, Ints]:
    """Equations two steps from a cell of each row: position in ``rows``, equation. A step leaves the equation it came by, and the row itself."""
    ptr, entry = relations.by_cell
    position = np.repeat(np.arange(len(rows)), ptr[cell + 1] - ptr[cell])
    between = relations.row[entry[ranges(ptr[cell], ptr[cell + 1])]]
    length = relations.indptr[between + 1] - relations.indptr[between]
    keep = (between != rows[position]) & (length <= LONGEST)
    position, between, length = position[keep], between[keep], length[keep]
    reached = relations.indices[ranges(relations.indptr[between], relations.indptr[between + 1])]
    position, between = np.repeat(position, length), np.repeat(between, length)
    keep = reached != cell[position]
    position, between, reached = position[keep], between[keep], reached[keep]
    many = ptr[reached + 1] - ptr[reached]
    other = relations.row[entry[ranges(ptr[reached], ptr[reached + 1])]]
    position, between = np.repeat(position, many), np.repeat(between, many)
    keep = (other != between) & (other != rows[position])
    return position[keep], other[keep]


# ---- blocks ------------------------------------------------------------------------------------------------------------------------------------


@dataclass(frozen=True, eq=False)
class _Joining:
    """The classes in the order in which their cells are joined: those first that come again the most, counted in equations."""

    relations: Relations
    classes: list[Ints]

    @staticmethod
    def of(relations: Relations, label: Ints) -> _Joining:
        order = np.argsort(label, kind="stable")
        bounds = np.flatnonzero(np.diff(label[order], prepend=-1, append=relations.equations))
        classes = [order[a:b] for a, b in pairwise(bounds.tolist())]
        length = np.diff(relations.indptr)
        looks = [(len(rows), int(length[rows].sum())) for rows in classes]
        again = Counter(looks)
        place = sorted(range(len(classes)), key=lambda k: (-again[looks[k]] * looks[k][0], *looks[k]))
        return _Joining(relations, [classes[k] for k in place])

    def blocks(self, most: int) -> Ints:
        """The block of every cell, where a class is joined if no block of more than ``most`` cells comes of it."""
        node = np.arange(self.relations.cells, dtype=np.int64)
        for large, classes in groupby(self.classes, key=lambda rows: len(rows) >= LARGE):
            if large:
                for rows in classes:
                    joined = components(len(node), *self._edges(rows, node))[node]
                    node = joined if int(np.bincount(joined).max()) <= most else node
                continue
            union = _Union(node)
            for rows in classes:
                union.join(*self._edges(rows, node), most)
            node = union.found()
        return node

    def _edges(self, rows: Ints, node: Ints) -> tuple[Ints, Ints]:
        """The joins that these equations stand for, as pairs of nodes."""
        begin, end = self.relations.indptr[rows], self.relations.indptr[rows + 1]
        members = node[self.relations.indices[ranges(begin, end)]]
        pairs = distinct_pairs(np.repeat(node[self.relations.indices[begin]], end - begin), members, len(node))
        return pairs // len(node), pairs % len(node)


class _Union:
    """Sets of nodes that are joined one class after the other."""

    def __init__(self, node: Ints) -> None:
        self.node = node
        self.head = list(range(len(node)))
        self.size = np.bincount(node, minlength=len(node)).tolist()

    def root(self, one: int) -> int:
        """The node that stands for its set."""
        head = self.head
        while head[one] != one:
            head[one] = head[head[one]]
            one = head[one]
        return one

    def join(self, u: Ints, v: Ints, most: int) -> None:
        """Join what these pairs join, unless a set of more than ``most`` cells would come of it."""
        head: dict[int, int] = {}
        size: dict[int, int] = {}

        def root(one: int) -> int:
            while one in head:
                one = head[one]
            return one

        for one, other in zip(u.tolist(), v.tolist(), strict=True):
            a, b = sorted((root(self.root(one)), root(self.root(other))))
            if a == b:
                continue
            size[a] = size.get(a, self.size[a]) + size.get(b, self.size[b])
            if size[a] > most:
                return
            head[b] = a
        for b, a in head.items():
            self.head[b] = a
        for a, many in size.items():
            self.size[a] = many

    def found(self) -> Ints:
        """The set of every cell."""
        distinct_nodes = np.unique(self.node)
        out = np.arange(len(self.node), dtype=np.int64)
        out[distinct_nodes] = [self.root(one) for one in distinct_nodes.tolist()]
        return out[self.node]


def _tree(relations: Relations, label: Ints) -> Nested | None:
    """The blocks with these labels, if the equations between them make a forest of them."""
    heads, block = np.unique(label, return_inverse=True)
    begin = relations.indptr[:-1]
    of_entry = block[relations.indices]
    links = np.flatnonzero(np.maximum.reduceat(of_entry, begin) > np.minimum.reduceat(of_entry, begin))
    if not len(links):
        return None
    entry = ranges(relations.indptr[links], relations.indptr[links + 1])
    many = np.diff(relations.indptr)[links]
    position, member = np.repeat(np.arange(len(links)), many), of_entry[entry]
    if len(distinct_pairs(position, member, len(heads))) < len(member):
        return None
    over = np.repeat(block[relations.total[links]], many)
    part = member != over
    above = np.full(len(heads), -1, np.int64)
    above[member[part]] = over[part]
    if bool(np.any(above[member[part]] != over[part])):
        return None
    return _from_above(block, above)


def _from_above(block: Ints, above: Ints) -> Nested | None:
    """Blocks numbered level by level from above; None where they stand above each other in circles."""
    depth = np.zeros(len(above), np.int64)
    up = above
    while (up >= 0).any():
        depth += up >= 0
        if int(depth.max()) > len(above):
            return None
        up = np.where(up >= 0, above[up], -1)
    order = np.lexsort((np.arange(len(above)), above, depth))
    place = np.empty_like(order)
    place[order] = np.arange(len(order))
    parent = above[order]
    return Nested(place[block], np.where(parent >= 0, place[parent], -1))
