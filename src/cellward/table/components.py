"""Connected components of a graph given by its edges, in a few vectorised sweeps."""

from __future__ import annotations

import numpy as np

from cellward.exact import Ints


def components(nodes: int, u: Ints, v: Ints) -> Ints:
    """For every node the smallest node of its component; edges join u[e] and v[e].

    Each sweep hooks the root of the larger label onto the smaller one and then shortens all chains (Shiloach–Vishkin), so the number of sweeps grows
    with the logarithm of the number of nodes.

    >>> components(5, np.array([0, 3]), np.array([2, 2])).tolist()
    [0, 1, 0, 0, 4]
    """
    label = np.arange(nodes, dtype=np.int64)
    if len(u) > 16 * nodes:  # a few edges at random join nearly everything; the many others then need one look
        some = np.random.default_rng(0).integers(0, len(u), 8 * nodes)
        label = components(nodes, u[some], v[some])
    while len(u):
        a, b = label[u], label[v]
        differ = a != b
        if not differ.any():
            break
        u, v, a, b = u[differ], v[differ], a[differ], b[differ]
        np.minimum.at(label, np.maximum(a, b), np.minimum(a, b))
        while True:
            shorter = label[label]
            if np.array_equal(shorter, label):
                break
            label = shorter
    return label
