"""Told by rows: where a row stands only if there is something to count, what the rows below it tell of every sum."""

from __future__ import annotations

import numpy as np

from cellward.exact import Ints
from cellward.table.relations import Relations


def least_of_sums(relations: Relations, least: Ints) -> Ints:
    """Lower bounds in which every sum is at least what its parts are together; the equations are sums of cells."""
    stated = np.flatnonzero(relations.total >= 0)
    total = relations.total[stated]
    out = least
    while True:
        parts = relations.sums(out[relations.indices])[stated] - out[total]
        higher = out.copy()
        np.maximum.at(higher, total, parts)
        if np.array_equal(higher, out):
            return out
        out = higher
