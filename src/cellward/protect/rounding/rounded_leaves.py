"""Rounded leaves: every leaf at a multiple next to it and the sums of these, which always adds up; sums are brought near to the true ones.

Leaves are first rounded along an order so that the sum of any run of them is less than a base off. Then leaves are turned to their other multiple
by annealing (see solve/anneal.py), which makes Σ w·|v − a| small, and sums that are a base or more off few.
"""

from __future__ import annotations

from collections.abc import Iterator
from typing import Any, Final

import numpy as np

from cellward.exact import Ints
from cellward.instance import Instance
from cellward.solve.anneal import Annealing
from cellward.solve.budget import Budget
from cellward.table.labels import Labels

QUICK, FEWER, PASSES = 40, 250, 1000
"""Passes of annealing over all leaves: for a first look, for a start whose levels are still to be shown, and for a start."""
SHARE: Final = 0.3
"""The part of the time left for annealing, at most."""
NO_LEAST: Final = -(2**62)


def rounded_leaves(
    instance: Instance, base: Ints, budget: Budget, *, alone: bool = False, passes: int = PASSES
) -> Ints | None:
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
    least = np.full_like(instance.a, NO_LEAST)
    if alone:
        near = _lifted(sums, near, instance.a, form.leaves, one)
        least[instance.a >= one] = one - instance.a[instance.a >= one]
    low, off = leaf // one * one, np.asarray(sums @ near + form.constant).astype(np.int64) - instance.a
    turned = np.full(int(free.sum()), one, np.int64)
    part = budget.part(None if budget.left is None else SHARE * budget.left)
    annealing = Annealing(sums[:, free], turned, base, instance.weight.astype(np.float64), least)
    near[free] = low[free] + one * annealing.run(near[free] > low[free], off, part, passes)
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
