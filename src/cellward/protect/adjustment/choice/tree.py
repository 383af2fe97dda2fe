"""Tree: branch and bound over senses, best bound first: what all senses cost at least, and the best senses met on the way."""

from __future__ import annotations

import heapq
import itertools
from collections.abc import Iterator
from dataclasses import dataclass, field
from typing import Protocol

import numpy as np

from cellward.exact import Floats, Ints
from cellward.protect.adjustment.choice.envelope import Relaxed
from cellward.protect.adjustment.choice.sides import Decided, Sides
from cellward.solve.budget import Budget

CLOSED = 1e-9
"""Senses that are nearer by less than this share are no better."""
MET = 1e-7
"""A relaxation that misses no more of the cost than this share of it is of senses that are all taken."""
BOTH = 0.15
"""What the dearer side of a thing counts beside the cheaper one."""
ROUNDED = 8
"""At every so many nodes senses are tried that the relaxation leans to."""


class Relaxation(Protocol):
    """What costs are there at least with some sides decided."""

    sides: Sides

    def solve(self, decided: Decided, /) -> Relaxed:
        """The relaxation."""


@dataclass(eq=False)
class Node:
    """Decisions so far, what the relaxation says of them, and, once it is split, on what, with the nodes where that falls and where it rises."""

    decided: Decided
    relaxed: Relaxed
    split: int | None = None
    sides: tuple[Node, ...] = field(default=())


@dataclass(frozen=True, eq=False)
class Searched:
    """``cost`` of the best senses met (inf: none) with their ``decided`` sides, the ``bound`` over all senses, and the tree that proves it."""

    cost: float
    decided: Decided | None
    bound: float
    root: Node
    nodes: int

    @property
    def proven(self) -> bool:
        """Whether no senses are better."""
        return self.bound >= self.cost - CLOSED * abs(self.cost)


def search(relaxation: Relaxation, known: float, most: int, budget: Budget, look: int = 1) -> Searched:
    """Up to ``most`` nodes; senses that cost no less than ``known`` are not looked for; ``look`` at so many things before a node is split on one."""
    sides = relaxation.sides
    root = Node(sides.only.copy(), relaxation.solve(sides.only))
    best: tuple[float, Ints | None] = (known, None)
    open_: list[tuple[float, int, Node]] = []
    done, count, turn = float("inf"), 1, itertools.count()

    def meet(node: Node) -> None:
        nonlocal best, count
        found = node.relaxed
        if found.status == "optimal" and node.decided.all():
            best = min(best, (found.bound, node.decided), key=lambda one: one[0])
            return
        if found.z is None or found.price is None:
            return
        taken = sides.taken(found.z, node.decided)
        if float(found.price.sum()) <= MET * max(found.bound, 1e-12):
            taken = np.where(taken != 0, taken, sides.nearer(found.z))
            if np.array_equal(taken, node.decided):
                best = min(best, (found.bound, taken), key=lambda one: one[0])
                return
        elif count % ROUNDED != 1:
            return
        taken = np.where(taken != 0, taken, sides.nearer(found.z))
        tried = relaxation.solve(taken)
        count += 1
        if tried.status == "optimal" and tried.bound < best[0]:
            best = (tried.bound, taken)

    def put(node: Node) -> None:
        nonlocal done
        if node.relaxed.status == "infeasible":
            return
        meet(node)
        heapq.heappush(open_, (node.relaxed.bound, next(turn), node))

    put(root)
    while open_:
        bound, _, node = open_[0]
        if bound >= best[0] - CLOSED * abs(best[0]) or count >= most or budget.over:
            break
        heapq.heappop(open_)
        split = _split(relaxation, node, look, best[0])
        if split is None:  # all sides taken, or the relaxation is not to be had: no further down
            done = min(done, bound)
            continue
        node.split, node.sides = split
        count += 2
        for child in node.sides:
            put(child)
    bound = min([done, best[0], *(one[0] for one in open_)])
    return Searched(best[0], best[1], bound, root, count)


def _split(relaxation: Relaxation, node: Node, look: int, known: float) -> tuple[int, tuple[Node, Node]] | None:
    """Of the ``look`` things whose decision is missed most that whose sides both cost most; any that is open where the relaxation has no point."""
    open_ = np.flatnonzero(node.decided == 0)
    price: Floats | None = node.relaxed.price
    if price is not None:
        open_ = open_[price[open_] > 0]
        open_ = open_[np.argsort(-price[open_], kind="stable")]
    best: tuple[float, int, tuple[Node, Node]] | None = None
    for split in open_[: look if price is not None else 1].tolist():
        sides = _side(relaxation, node, split, -1), _side(relaxation, node, split, 1)
        less, more = sorted(min(side.relaxed.bound, known) for side in sides)
        gain = less + BOTH * more
        if best is None or gain > best[0]:
            best = (gain, split, sides)
    return None if best is None else (best[1], best[2])


def _side(relaxation: Relaxation, node: Node, split: int, side: int) -> Node:
    """The node where that is decided so; never below the node that it is of."""
    decided, above = node.decided.copy(), node.relaxed
    decided[split] = side
    found = relaxation.solve(decided)
    if found.status == "unknown" or found.bound < above.bound:
        y = above.multipliers if found.multipliers is None else found.multipliers
        found = Relaxed(found.status, above.bound, found.z, found.price, y)
    return Node(decided, found)


def preorder(root: Node) -> Iterator[Node]:
    """All nodes, the side that falls before that which rises."""
    waiting = [root]
    while waiting:
        node = waiting.pop()
        yield node
        waiting += reversed(node.sides)
