"""Fronts: in which order, and in which groups, to eliminate the unknowns of a sparse symmetric system so that little fills in.

Minimum degree on rows of bits: eliminating an unknown joins its neighbours' rows, and all neighbours that then look the same go with it. Each group
is a front: its pivots, and its border, the later unknowns it touches. Small fronts are merged into their parents where a model of the work says so.
Carried unknowns (the multipliers of conditions) are never chosen: they enter borders only and make up the last front.
"""

from __future__ import annotations

from dataclasses import dataclass

import numpy as np
from numpy.typing import NDArray

from cellward.exact import Ints

Bits = NDArray[np.uint64]

TRIANGLE, PANEL, MOVED, OVERHEAD = 2.0, 3.0, 150.0, 3e6
"""What pivots' own elimination, their border's, a number passed on to the parent and a front cost, in operations of a matrix product."""
GONE = np.iinfo(np.int64).max


@dataclass(frozen=True, eq=False)
class Front:
    """``pivots`` eliminated together, ``border``: what they touch of what comes later; ``parent`` is the front that gets the border (−1: none)."""

    pivots: Ints
    border: Ints
    parent: int


def work(pivots: int, border: int) -> float:
    """What one front costs, in operations of a matrix product: a model measured on one machine."""
    p, b = float(pivots), float(border)
    return TRIANGLE * p**3 / 3 + PANEL * p * p * b + p * b * b + MOVED * b * b + OVERHEAD


def find_fronts(
    row: Ints, col: Ints, size: int, condition: Ints, touched: Ints, carried: int, most: float
) -> list[Front] | None:
    """Fronts, children first, for entries (row, col) of the lower or upper triangle, and conditions that touch unknowns; None beyond ``most`` work.

    Carried unknowns are numbered from ``size`` on.
    """
    groups = _minimum_degree(row, col, size, condition, touched, carried, most)
    if groups is None:
        return None
    merged = _merge(groups, size)
    fronts = _ordered(merged, size, carried)
    return fronts if sum(work(len(f.pivots), len(f.border)) for f in fronts) <= most else None


def _pack(row: Ints, col: Ints, shape: tuple[int, int]) -> Bits:
    """Rows of bits, in whole words."""
    words = -(-shape[1] // 64)
    out = np.zeros(shape[0] * words, np.uint64)
    np.bitwise_or.at(out, row * words + col // 64, np.left_shift(np.uint64(1), (col % 64).astype(np.uint64)))
    return out.reshape(shape[0], words)


def _members(bits: Bits) -> Ints:
    return np.flatnonzero(np.unpackbits(bits.view(np.uint8), bitorder="little"))


def _minimum_degree(
    row: Ints, col: Ints, size: int, condition: Ints, touched: Ints, carried: int, most: float
) -> list[tuple[Ints, Ints, Bits]] | None:
    """Groups (pivots, later neighbours, conditions as bits) in the order of elimination."""
    every = np.arange(size)
    near = _pack(np.concatenate((row, col, every)), np.concatenate((col, row, every)), (size, size))
    held = _pack(touched, condition, (size, carried))
    degree = np.bitwise_count(near).sum(axis=1, dtype=np.int64)
    left = np.ones(near.shape[1] * 64, bool)
    groups = []
    spent, done = 0.0, 0
    while done < size:
        pivot = int(np.argmin(degree))
        least = int(degree[pivot])
        if (
            spent + least**3 / 3 > most
        ):  # what is left has this degree everywhere: no less than a clique of it is still to come
            return None
        around = _members(near[pivot])
        joined = near[around] | near[pivot]
        count = np.bitwise_count(joined).sum(axis=1, dtype=np.int64)
        alike = count == least
        pivots, later = around[alike], around[~alike]
        conditions = np.bitwise_or.reduce(held[pivots], axis=0)
        groups.append((pivots, later, conditions))
        p, b = len(pivots), len(later)
        spent += p**3 / 3 + p * b * (p + b)
        done += p
        degree[pivots] = GONE
        left[pivots] = False
        near[later] = joined[~alike] & np.packbits(left, bitorder="little").view(np.uint64)
        degree[later] = count[~alike] - p
        held[later] |= conditions
    return groups


@dataclass(eq=False)
class _Node:
    pivots: list[Ints]
    many: int
    border: Ints
    conditions: Bits
    children: list[_Node]

    def work(self) -> float:
        return work(self.many, len(self.border) + int(np.bitwise_count(self.conditions).sum()))

    def with_(self, other: _Node, border: Ints) -> _Node:
        """One node of both."""
        conditions = self.conditions | other.conditions
        return _Node(
            other.pivots + self.pivots, self.many + other.many, border, conditions, self.children + other.children
        )

    def below(self) -> list[_Node]:
        """This and everything under it, children first."""
        found, stack = [], [self]
        while stack:
            found.append(stack.pop())
            stack += found[-1].children
        return found[::-1]


def _merge(groups: list[tuple[Ints, Ints, Bits]], size: int) -> list[_Node]:
    """Groups as nodes, children first, and joined where that is less work: siblings with each other, children with their parent."""
    group = np.zeros(size, np.int64)
    for k, (pivots, _, _) in enumerate(groups):
        group[pivots] = k
    waiting: list[list[_Node]] = [[] for _ in groups]
    roots: list[_Node] = []
    for k, (pivots, later, conditions) in enumerate(groups):
        node = _with_children(_Node([pivots], len(pivots), later, conditions, _bundled(waiting[k])))
        (waiting[int(group[later].min())] if len(later) else roots).append(node)
    return [node for root in _bundled(roots) for node in root.below()]


def _with_children(node: _Node) -> _Node:
    """The node joined by those of its children, and theirs, that cost more on their own, the best first."""
    alone = {id(child): child.work() for child in node.children}
    while node.children:
        own = node.work()
        gain = []
        for child in node.children:
            conditions = int(np.bitwise_count(child.conditions | node.conditions).sum())
            gain.append(alone[id(child)] + own - work(child.many + node.many, len(node.border) + conditions))
        best = int(np.argmax(gain))
        if gain[best] <= 0:
            break
        child = node.children.pop(best)
        alone |= {id(deep): deep.work() for deep in child.children}
        node = node.with_(child, node.border)
    return node


def _bundled(nodes: list[_Node]) -> list[_Node]:
    """Neighbours in size joined two by two, as long as some are better off."""
    nodes = sorted(nodes, key=lambda node: len(node.border))
    while True:
        out = []
        for k in range(0, len(nodes) - 1, 2):
            one, other = nodes[k], nodes[k + 1]
            both = one.with_(other, np.union1d(one.border, other.border))
            out += [both] if both.work() < one.work() + other.work() else [one, other]
        out += nodes[len(nodes) // 2 * 2 :]
        if len(out) == len(nodes):
            return out
        nodes = out


def _ordered(nodes: list[_Node], size: int, carried: int) -> list[Front]:
    """Fronts from nodes, pivots sorted so that the borders that hold some of them hold runs, borders in the order of elimination."""
    everything = size + carried
    node_of = np.full(everything, len(nodes), np.int64)
    pivots = [np.concatenate(node.pivots) for node in nodes]
    borders = [np.concatenate((n.border, size + _members(n.conditions))) for n in nodes]
    if carried:
        pivots.append(np.arange(size, everything))
        borders.append(np.zeros(0, np.int64))
    for k, own in enumerate(pivots):
        node_of[own] = k
    holders: list[list[int]] = [[] for _ in pivots]
    for k, border in enumerate(borders):
        for j in np.unique(node_of[border]).tolist():
            holders[j].append(k)
    place = np.empty(everything, np.int64)
    begin = 0
    for k, own in enumerate(pivots):
        inside = np.zeros(everything, bool)
        keys = []
        for holder in sorted(holders[k], key=lambda h: len(borders[h])):
            inside[borders[holder]] = True
            keys.append(~inside[own])
            inside[borders[holder]] = False
        if keys:
            pivots[k] = own = own[np.lexsort(keys)]
        place[own] = begin + np.arange(len(own))
        begin += len(own)
    fronts = []
    for own, border in zip(pivots, borders, strict=True):
        border = border[np.argsort(place[border])]
        fronts.append(Front(own, border, int(node_of[border[0]]) if len(border) else -1))
    return fronts
