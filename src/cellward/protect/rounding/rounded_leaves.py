"""Rounded leaves: every leaf at a multiple next to it and the sums of these, which always adds up; sums are brought near to the true ones.

Leaves are first rounded along an order so that the sum of any run of them is less than a base off. Then leaves are turned to their other multiple
wherever that makes the sum of squares Σ (v − a)² smaller, a few at a time: squares weigh the sums that are farthest off, which decide how many
steps a release has to admit. With e = v − a and N the sums of the leaves, turning leaf i by d changes it by 2·d·(Nᵀe)ᵢ + d²·|Nᵢ|².
"""

from __future__ import annotations

from collections.abc import Iterator
from typing import Any, Final

import numpy as np

from cellward.exact import Bools, Floats, Ints
from cellward.instance import Instance
from cellward.solve.budget import Budget
from cellward.table.labels import Labels

MOST_TURNS: Final = 2000
"""Rounds of turning, at most."""
SHARE: Final = 0.2
"""The part of the time left for turning."""


def rounded_leaves(instance: Instance, base: Ints, budget: Budget, *, alone: bool = False) -> Ints | None:
    """The table; None where cells are fixed, bounded from above, may be negative, or have several bases.

    Sums may fall below what the public knows they are at least, as leaves of 1 become 0. ``alone``: only leaves below the base are rounded, and no
    sum of at least the base falls below it.
    """
    form, one = instance.relations.leaf_form, int(base[0])
    plain = not instance.sensitivity.fixed.any() and not form.condition.shape[0] and bool(np.all(base == one))
    if not plain or int(instance.lower.min(initial=0)) < 0 or (instance.relations.rhs % one).any():
        return None
    sums, leaf = form.matrix, instance.a[form.leaves]
    free = leaf % one != 0
    if alone:
        free &= leaf < one
    starts = (_along(order[free[order]], leaf, one) for order in _orders(instance.labels, form.leaves))
    near = min(starts, key=lambda start: float(np.abs(sums @ start + form.constant - instance.a).sum()))
    least = np.where(instance.a >= one, one, 0) if alone else np.zeros_like(instance.a)
    if alone:
        near = _lifted(sums, near, instance.a, form.leaves, one)
    near = _turned(sums, leaf, near, instance.a - form.constant, least - form.constant, free, one, budget)
    v = np.asarray(sums @ near + form.constant).astype(np.int64)
    fits = (alone or not (v % one).any()) and bool(np.all((v >= 0) & (v <= instance.upper)))
    return v if fits else None


def _lifted(sums: Any, start: Ints, a: Ints, leaves: Ints, base: int) -> Ints:
    """The leaves with sums of at least the base that fell to 0 lifted to it, by one of their leaves each: the one that brings the others nearest."""
    down, near = sums.T.tocsr(), start.copy()
    v = np.asarray(sums @ near).astype(np.int64)
    for cell in np.flatnonzero((a >= base) & (v < base)).tolist():
        if v[cell] >= base:
            continue
        under = sums.indices[sums.indptr[cell] : sums.indptr[cell + 1]]
        under = under[(near[under] == 0) & (a[leaves[under]] > 0)]
        touched = [down.indices[down.indptr[i] : down.indptr[i + 1]] for i in under.tolist()]
        worse = [int((np.abs(v[at] + base - a[at]) - np.abs(v[at] - a[at])).sum()) for at in touched]
        best = int(np.argmin(worse))
        near[under[best]] += base
        v[touched[best]] += base
    return near


def _along(order: Ints, leaf: Ints, base: int) -> Ints:
    """The leaves in this order at a multiple next to them, the sum of the first k at the nearest one; the others as they are."""
    ends = (2 * np.cumsum(leaf[order]) + base) // (2 * base)
    out = leaf.copy()
    out[order] = np.diff(ends, prepend=0) * base
    return out


def _orders(labels: Labels, leaves: Ints) -> Iterator[Ints]:
    """The leaves by number; and by their codes, each dimension first in turn."""
    yield np.arange(len(leaves), dtype=np.int64)
    codes = [index[leaves] for index in labels.index]
    shortest = sorted(range(len(codes)), key=lambda d: len(labels.codes[d]))
    for first in shortest if len(codes) > 1 else ():
        rest = [codes[d] for d in reversed(shortest) if d != first]
        yield np.lexsort([*rest, codes[first]]).astype(np.int64)


def _turned(
    sums: Any, leaf: Ints, start: Ints, wanted: Ints, least: Ints, free: Bools, base: int, budget: Budget
) -> Ints:
    """The free leaves after turns that make what their sums are off from ``wanted`` smaller, no sum falling below ``least``: squares, then sizes."""
    turning = _Turning(sums, leaf // base * base, free, base, start.astype(np.float64), wanted, least)
    part = budget.part(None if budget.left is None else SHARE * budget.left)
    rng = np.random.default_rng(budget.seed)
    for squares in (True, False):
        turning.run(rng, part, squares=squares)
    return np.rint(turning.u).astype(np.int64)


class _Turning:
    """Leaves u at one of their two multiples, and what their sums are off; turned in place."""

    def __init__(self, sums: Any, low: Ints, free: Bools, base: int, u: Floats, wanted: Ints, least: Ints) -> None:
        self.up, self.low, self.free, self.base, self.u = sums.astype(np.float64), low, free, base, u
        self.down = self.up.T.tocsr()
        self.size = np.asarray(self.up.multiply(self.up).sum(axis=0)).ravel()
        self.off: Floats = self.up @ u - wanted
        self.lowest: Floats = (least - wanted).astype(np.float64)

    def run(self, rng: np.random.Generator, budget: Budget, *, squares: bool) -> None:
        """Turn leaves until none is worth it alone, the rounds are up, or the time is."""
        share, smallest = 0.3, self._measure(self.off, squares=squares)
        for _ in range(MOST_TURNS):
            turn = np.where(self.free, np.where(self.u == self.low, self.base, -self.base), 0.0)
            turn[(turn < 0) & (self.down @ (self.off - self.base < self.lowest) > 0)] = 0.0
            gain = self._gain(turn, squares=squares)
            worth = np.flatnonzero(gain > 0)
            if not len(worth) or budget.over:
                break
            # Turned together they may undo each other: a few at random, the best ones first, fewer after a failure.
            likely = share * np.minimum(1.0, 3 * gain[worth] / gain[worth].max())
            chosen = worth[rng.random(len(worth)) < likely]
            if not len(chosen):
                chosen = worth[[int(np.argmax(gain[worth]))]]
            moved = np.zeros(len(self.u))
            moved[chosen] = turn[chosen]
            new = self.off + self.up @ moved
            value = self._measure(new, squares=squares)
            if value < smallest and not np.any(new < self.lowest):
                self.u, self.off, smallest, share = self.u + moved, new, value, min(0.5, 1.1 * share)
            else:
                share /= 2

    def _measure(self, off: Floats, *, squares: bool) -> float:
        return float(off @ off) if squares else float(np.abs(off).sum())

    def _gain(self, turn: Floats, *, squares: bool) -> Floats:
        """By how much each turn alone would make it smaller."""
        if squares:
            return np.asarray(-(2 * turn * (self.down @ self.off) + turn * turn * self.size))
        size = np.abs(self.off)
        rise, fall = (self.down @ (np.abs(self.off + way) - size) for way in (self.base, -self.base))
        return np.asarray(np.where(turn > 0, -rise, np.where(turn < 0, -fall, 0.0)))
