"""Propagation: what each single equation says about the bounds of its cells, until no equation has more to say."""

from __future__ import annotations

import numpy as np
from numpy.typing import NDArray

from cellward.errors import InputError
from cellward.exact import NO_BOUND, Ints
from cellward.table.relations import Relations

MOST_ROUNDS = 60
"""Bounds may creep towards each other for ever when values are not whole; the bounds of every round are valid, so we may stop."""

FAR = 2**61
"""Bounds beyond this count as none: no table value comes near."""


def propagate(relations: Relations, lo: Ints, hi: Ints, *, whole: bool) -> tuple[Ints, Ints]:
    """Bounds kept by every y with M·y = b and lo ≤ y ≤ hi; whole numbers, rounded outwards where y need not be whole and inwards where it must.

    >>> from cellward.table.relations import Relations
    >>> r = Relations.from_rows(3, [(0, [0, 1, 2], [1, 1, -1])])
    >>> lo, hi = propagate(r, np.array([0, 3, 5]), np.array([9, 4, 6]), whole=True)
    >>> lo.tolist(), hi.tolist()
    ([1, 3, 5], [3, 4, 6])
    """
    lo, hi = np.where(lo < -FAR, -NO_BOUND, lo), np.where(hi > FAR, NO_BOUND, hi)
    r = relations
    if _large(r, lo, hi):
        return lo, hi  # sums could leave int64: the bounds given are valid as they are
    size = np.abs(r.coefs)
    for _ in range(MOST_ROUNDS):
        new_lo, new_hi = _round(r, size, lo, hi, whole=whole)
        if np.any(new_lo > new_hi):
            raise InputError(
                "the release and what the attacker knows contradict each other: no table satisfies both; correct the attacker"
            )
        if np.array_equal(new_lo, lo) and np.array_equal(new_hi, hi):
            break
        lo, hi = new_lo, new_hi
    return lo, hi


def _large(r: Relations, lo: Ints, hi: Ints) -> bool:
    """Whether an equation's finite bounds could sum beyond int64."""
    finite = np.maximum(np.where(lo > -NO_BOUND, np.abs(lo), 0), np.where(hi < NO_BOUND, np.abs(hi), 0)).astype(float)
    return float(np.bincount(r.row, np.abs(r.coefs) * finite[r.indices], minlength=1).max()) >= 2**61


def _round(r: Relations, size: Ints, lo: Ints, hi: Ints, *, whole: bool) -> tuple[Ints, Ints]:
    """One round over all equations: term t of an equation is at most b − Σ of the least of the others, and at least b − Σ of the largest."""
    positive = r.coefs > 0
    low, high = lo[r.indices], hi[r.indices]
    least, most = np.where(positive, low, high), np.where(positive, high, low)
    no_least, no_most = np.abs(least) == NO_BOUND, np.abs(most) == NO_BOUND
    least, most = np.where(no_least, 0, r.coefs * least), np.where(no_most, 0, r.coefs * most)
    up = _others(r, least, no_least)
    down = _others(r, most, no_most)
    # term c·y between down and up, hence y between down/c and up/c for c > 0, the other way round for c < 0
    top, bottom = np.where(positive, up, -down), np.where(positive, down, -up)
    unknown_top, unknown_bottom = np.where(positive, up, down) == NO_BOUND, np.where(positive, down, up) == NO_BOUND
    if whole:
        top, bottom = top // size, -(-bottom // size)
    else:
        top, bottom = -(-top // size), bottom // size
    new_lo, new_hi = lo.copy(), hi.copy()
    keep = ~unknown_top
    np.minimum.at(new_hi, r.indices[keep], top[keep])
    keep = ~unknown_bottom
    np.maximum.at(new_lo, r.indices[keep], bottom[keep])
    return new_lo, new_hi


def _others(r: Relations, term: Ints, missing: NDArray[np.bool_]) -> Ints:
    """b − Σ of the other terms of the equation, or NO_BOUND where one of them has no bound."""
    total = r.sums(term)[r.row]
    gone = r.sums(missing.astype(np.int64))[r.row] - missing
    return np.where(gone > 0, NO_BOUND, r.rhs[r.row] - (total - term))
