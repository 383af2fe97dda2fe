"""Enumeration: every zero-restricted rounding of a small instance, for tests to compare with."""

import numpy as np

MOST_FREE = 20
CHUNK = 1 << 15


def every_rounding(instance, base):
    """All zero-restricted roundings, as (objective, values): each combination of neighbouring multiples is tried against every equation."""
    a, fixed = instance.a, instance.sensitivity.fixed
    down = a - a % base
    up = np.where(a % base == 0, down, down + base)
    lo = np.where(fixed, a, np.where((down >= instance.lower) | (instance.lower > 0), down, up))
    hi = np.where(fixed, a, np.where(up <= instance.upper, up, down))
    if np.any(lo > hi):
        return
    free = np.flatnonzero(lo < hi)
    assert len(free) <= MOST_FREE
    r = instance.relations
    dense = np.zeros((r.equations, r.cells), np.int64)
    np.add.at(dense, (r.row, r.indices), r.coefs)
    for start in range(0, 1 << len(free), CHUNK):
        numbers = np.arange(start, min(start + CHUNK, 1 << len(free)))
        bits = (numbers[:, None] >> np.arange(len(free))) & 1
        v = np.tile(lo, (len(numbers), 1))
        v[:, free] += bits * (hi - lo)[free]
        for k in np.flatnonzero((v @ dense.T == r.rhs).all(axis=1)):
            yield int(instance.weight @ np.abs(v[k] - a)), v[k]
