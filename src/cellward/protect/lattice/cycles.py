"""Rounding along cycles: a zero-restricted rounding of a network table without any objective, many cycles at a time.

Paper 003, section 2, pushes along one cycle of fractional arcs after the other until all are whole. Here a pass pushes along many closed walks that
share no arc: where every node has an even number of arc ends, pairing the ends of each node splits all arcs into such walks. Three kinds of pass find
even numbers of ends, and each takes time linear in the arcs:

- Halve. Where w is even the arcs with odd p have an even number of ends at every node, for Σ ±p there is a multiple of w. A push by 1 makes every p
  even, and p/w is (p/2)/(w/2).
- Thin out. A spanning forest holds a set of arcs without which every node has an even number of ends: fewer arcs than nodes, so of a dense network
  nearly all are left. A push by 1 in the direction in which Σ p·(w − p) falls makes half of the arcs whole at w = 3, a quarter or a fifth at w = 5.
- Finish. Any other w is turned into a power of two 2ᵗ (Alon, "A simple algorithm for edge-coloring bipartite multigraphs", 2003). With
  2ᵗ = α·w + β and any g ∈ {0, 1}, the amounts q = α·p + β·g balance up to β·(what g misses), which false arcs to one more node carry. Now halve t
  times, each push in the direction in which the false arcs carry no more than before. They carry B < 2ᵗ in all at first and at most B/2ᵗ < 1 at the
  end, hence nothing.

Legend: arc k carries p/w with 0 < p < w; its ends are 2k (where it leaves) and 2k + 1 (where it enters), and ``node`` has the node of every end.
"""

from __future__ import annotations

import numpy as np

from cellward.exact import Bools, Ints
from cellward.table.components import components

DENSE = 3
"""Arcs a node from which thinning out pays."""

WORTHWHILE = 10
"""Thinning out goes on as long as a pass makes at least one arc in this many whole."""

LARGEST = 2**60
"""Up to here, wholes times arcs leave room in 64 bits: g is the nearest choice and misses at most 1 an arc, hence B < w·arcs and 2ᵗ ≤ 2·LARGEST."""


def round_along_cycles(tail: Ints, head: Ints, part: Ints, whole: Ints) -> Bools:
    """x ∈ {0, 1} an arc such that Σ x out − Σ x in is what Σ part/whole out − Σ part/whole in is, at every node.

    Arcs of different ``whole`` may meet at a node (the ground) if those of each ``whole`` have a whole balance there. Raises ValueError when
    some balance is not whole, or a part not between 0 and its whole.

    >>> one = np.ones(3, np.int64)
    >>> int(round_along_cycles(one - 1, one, one, 3 * one).sum())  # three arcs of 1/3 from node 0 to node 1
    1
    """
    node, nodes = _nodes(tail, head, whole)
    p, w = part.astype(np.int64), whole.astype(np.int64)
    outside = np.flatnonzero((p <= 0) | (p >= w))
    if len(outside):
        k = int(outside[0])
        raise ValueError(f"arc {k} carries {p[k]}/{w[k]}, which is not between 0 and 1")
    if len(w) and int(w.max()) * len(w) > LARGEST:
        raise ValueError(f"parts of {int(w.max())} on {len(w)} arcs exceed 64 bits in sum; divide them")
    broken = np.flatnonzero(_net(node, nodes, p) % _at_nodes(node, nodes, w))
    if len(broken):
        k = int(np.flatnonzero(node == broken[0])[0])
        raise ValueError(f"the arcs at node {(tail, head)[k % 2][k // 2]} do not add up to a whole number")
    ends = _by_node(node)
    while len(ends) and not np.all(w[ends >> 1] & 1):
        even = (w & 1) == 0
        arc, step = _walk(ends[(even & (p & 1 > 0))[ends >> 1]])
        p[arc] += step
        p[even] >>= 1
        w[even] >>= 1
        ends = ends[_fractional(p, w)[ends >> 1]]
    ends = _thin_out(node, nodes, ends, p, w)
    x = np.asarray(p == w)
    left = np.sort(ends[ends & 1 == 0] >> 1)
    x[left] = _finish(np.stack((node[2 * left], node[2 * left + 1]), axis=1).ravel(), nodes, p[left], w[left])
    return x


def _thin_out(node: Ints, nodes: int, ends: Ints, p: Ints, w: Ints) -> Ints:
    """Push (in place) while the fractional arcs are many for their nodes and become fewer; the ends that are left."""
    while len(ends):
        degree = np.bincount(node[ends], minlength=nodes)
        if len(ends) < 2 * DENSE * np.count_nonzero(degree):
            break
        aside = np.zeros(len(p), bool)
        aside[_odd_join(node, degree, ends)] = True
        arc, step = _walk(ends[~aside[ends >> 1]], w - 2 * p)
        p[arc] += step
        before = len(ends)
        ends = ends[_fractional(p, w)[ends >> 1]]
        if WORTHWHILE * (before - len(ends)) < before:
            break
    return ends


def _finish(node: Ints, nodes: int, p: Ints, w: Ints) -> Bools:
    """Round what is left by way of a power of two; q, α, β, g and t as at the head of the file."""
    g = (2 * p > w).astype(np.int64)
    unit = _at_nodes(node, nodes, w)
    missing = _net(node, nodes, p) // unit - _net(node, nodes, g)
    short = np.flatnonzero(missing)
    if not len(short):
        return g > 0
    amount, unit = np.abs(missing[short]), unit[short]
    t = 1
    while int((1 << t) % unit @ amount) >= 1 << t:
        t += 1
    false_arcs = np.where(missing[short] > 0, (short, np.full_like(short, nodes)), (np.full_like(short, nodes), short))
    ends = _by_node(np.concatenate((node, false_arcs.T.ravel())))
    q = np.concatenate(((1 << t) // w * p + (1 << t) % w * g, (1 << t) % unit * amount))
    score = np.concatenate((np.zeros(len(p), np.int64), np.ones(len(short), np.int64)))
    for _ in range(t):
        arc, step = _walk(ends[(q & 1 > 0)[ends >> 1]], score)
        q[arc] += step
        q >>= 1
    return np.asarray(q[: len(p)] > 0)


def _walk(ends: Ints, score: Ints | None = None) -> tuple[Ints, Ints]:
    """Split the arcs with these ends, sorted by node and an even number at each, into closed walks, and give each arc a step.

    The step is +1 where the walk takes the arc forward and −1 where it takes it backward; of the two directions of a walk, the one with the smaller
    Σ score·step.
    """
    from scipy.sparse import csr_array
    from scipy.sparse.csgraph import connected_components

    if not len(ends):
        return ends, ends
    # A walk that takes an arc from one end comes out at its other end, and goes on from the end paired with that: a permutation of the ends, whose
    # cycles are the walks in both directions.
    count = len(ends)
    place = np.empty(int(ends.max()) + 2, np.int32)
    place[ends] = np.arange(count, dtype=np.int32)
    other = place[ends ^ 1]
    following = csr_array((np.ones(count), other ^ 1, np.arange(count + 1, dtype=np.int32)), shape=(count, count))
    walks, walk = connected_components(following, directed=True, connection="strong")
    start = np.flatnonzero(ends & 1 == 0)
    arc = ends[start] >> 1
    there, back = walk[start], walk[other[start]]
    ahead = there < back
    if score is not None:
        along = np.bincount(there, score[arc], minlength=walks) - np.bincount(back, score[arc], minlength=walks)
        ahead = np.where(along[there] == 0, ahead, along[there] < 0)
    return arc, np.where(ahead, 1, -1)


def _odd_join(node: Ints, degree: Ints, ends: Ints) -> Ints:
    """Arcs of a spanning forest without which every node has an even number of ends: those with an odd number of odd nodes beyond them."""
    from scipy.sparse import csr_array
    from scipy.sparse.csgraph import breadth_first_order

    nodes = len(degree)
    here, there = node[ends], node[ends ^ 1]
    roots = np.unique(components(nodes, here[ends & 1 == 0], there[ends & 1 == 0]))
    # One more node leads to a root of each component, so that one search spans them all.
    first = np.concatenate(([0], np.cumsum(degree), [len(ends) + len(roots)]))
    target = np.concatenate((there, roots))
    graph = csr_array((np.ones(len(target)), target, first), shape=(nodes + 1, nodes + 1))
    order, parent = breadth_first_order(graph, nodes, directed=True)
    via = np.full(nodes, -1, np.int64)
    upward = np.flatnonzero(parent[here] == there)
    via[here[upward]] = ends[upward] >> 1
    odd, above = [*(degree & 1).tolist(), 0], parent.tolist()
    for v in order[:0:-1].tolist():
        if odd[v]:
            odd[above[v]] ^= 1
    return via[np.flatnonzero(odd[:nodes])]


def _fractional(p: Ints, w: Ints) -> Bools:
    return np.asarray((p > 0) & (p < w))


def _nodes(tail: Ints, head: Ints, whole: Ints) -> tuple[Ints, int]:
    """The node of every end, and how many there are; arcs of different wholes never share one."""
    node = np.stack((tail, head), axis=1).ravel()
    if len(whole) and whole.min() != whole.max():
        kind = np.unique(whole, return_inverse=True)[1]
        node = np.unique(node * len(whole) + np.repeat(kind, 2), return_inverse=True)[1]
    return node, int(node.max(initial=-1)) + 1


def _by_node(node: Ints) -> Ints:
    """All ends, sorted by node and then by number; as one sort of whole numbers the fastest, and the same on every machine."""
    bits = len(node).bit_length()
    return np.sort(node << bits | np.arange(len(node))) & ((1 << bits) - 1)


def _net(node: Ints, nodes: int, amount: Ints) -> Ints:
    """Σ out − Σ in at every node."""
    net = np.zeros(nodes, np.int64)
    np.add.at(net, node[::2], amount)
    np.subtract.at(net, node[1::2], amount)
    return net


def _at_nodes(node: Ints, nodes: int, w: Ints) -> Ints:
    """The whole of each node's arcs, 1 where there are none."""
    unit = np.ones(nodes, np.int64)
    unit[node] = np.repeat(w, 2)
    return unit
