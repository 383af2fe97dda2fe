"""Potentials: multipliers that prove a minimum-cost flow optimal, read off the flow itself without a solver.

A table whose relations are a network is a flow. It is optimal exactly when no cycle of single steps along which it could be changed lowers the cost.
The shortest distances over these steps are then potentials, whole numbers, under which every cell is where its reduced cost wants it, and L(λ) meets
the cost.
"""

from __future__ import annotations

import math

import numpy as np

from cellward.audit.lagrangian import SAFE, Part, Whole, largest
from cellward.exact import Ints
from cellward.table.network import Network
from cellward.table.relations import ranges

LARGEST_DENOMINATOR = 10**9
_LOOK = 32
"""Rounds between two looks for a cycle."""


def potentials(part: Part, network: Network, d: Whole) -> tuple[Ints, int] | None:
    """λ = n/q on the part's equations under which d is optimal, or None: d is not, steps differ within an equation, or numbers are too large."""
    tail, head = network.tail[part.cells], network.head[part.cells]
    arc = np.flatnonzero(tail >= 0)
    if part.step.dtype == object:
        return None
    ground = network.nodes - 1
    step = np.zeros(network.nodes, np.int64)
    for end in (tail[arc], head[arc]):
        step[end] = part.step[arc]
    same = (step[tail] == part.step) | (tail == ground), (step[head] == part.step) | (head == ground)
    if not all(ends[arc].all() for ends in same):
        return None
    step[ground] = 0
    q = math.lcm(*(int(s) for s in np.unique(step) if s))
    cost = part.weight * np.abs(d)
    up = arc[(d < part.hi)[arc]]
    down = arc[(d > part.lo)[arc]]
    length = np.concatenate(
        (
            (part.weight * np.abs(d + part.step) - cost)[up],
            (part.weight * np.abs(d - part.step) - cost)[down],
        )
    )
    if q > LARGEST_DENOMINATOR or largest(length) * network.nodes * q >= SAFE:
        return None
    distance = distances(
        network.nodes, np.concatenate((tail[up], head[down])), np.concatenate((head[up], tail[down])), length
    )
    if distance is None:
        return None
    distance -= distance[ground]
    n = np.zeros(int(part.equations.max(initial=0)) + 1, np.int64)
    used = step[:-1] > 0
    n[network.equations[used]] = (network.sign * distance[:-1])[used] * (q // step[:-1][used])
    return n[part.equations], q


def distances(nodes: int, tail: Ints, head: Ints, length: Ints) -> Ints | None:
    """Shortest distances to every node from anywhere (Bellman and Ford, a round being all arcs out of changed nodes); None with a negative cycle."""
    order = np.argsort(tail.astype(np.min_scalar_type(nodes)), kind="stable")
    head, length = head[order], length[order]
    ptr = np.concatenate(([0], np.cumsum(np.bincount(tail, minlength=nodes)))).astype(np.int64)
    distance = np.zeros(nodes, np.int64)
    parent = np.arange(nodes)
    changed = np.arange(nodes)
    for tried in range(nodes + 1):
        arcs = ranges(ptr[changed], ptr[changed + 1])
        new = np.repeat(distance[changed], ptr[changed + 1] - ptr[changed]) + length[arcs]
        better = np.flatnonzero(new < distance[head[arcs]])
        if not len(better):
            return distance
        arcs, new = arcs[better], new[better]
        from_ = np.searchsorted(ptr, arcs, side="right") - 1
        np.minimum.at(distance, head[arcs], new)
        best = new == distance[head[arcs]]
        parent[head[arcs[best]]] = from_[best]
        changed = np.unique(head[arcs])
        if tried % _LOOK == _LOOK - 1 and _cyclic(parent):
            return None
    return None


def _cyclic(parent: Ints) -> bool:
    """Whether following the parents ever comes round: then the steps round that cycle sum to less than 0."""
    ahead = parent
    for _ in range(len(parent).bit_length()):
        ahead = ahead[ahead]
    return bool(np.any(parent[ahead] != ahead))
