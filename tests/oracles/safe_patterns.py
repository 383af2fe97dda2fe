"""Safe patterns: which sets of withheld cells keep every level from every attacker, by trying them all; exact linear programs judge."""

from __future__ import annotations

from collections.abc import Iterator
from itertools import product

import exact_lp
import integer_points
import numpy as np

from cellward.exact import NO_BOUND
from cellward.instance import Instance


def is_safe(instance: Instance, withheld: tuple[bool, ...], *, exact: bool = False) -> bool:
    """Whether every attacker is kept as far as its levels ask; ``exact``: only from the value itself."""
    a, r, s = instance.a.tolist(), instance.relations, instance.sensitivity
    rows = [r.equation(j) for j in range(r.equations)]
    for attacker in instance.attackers:
        lower, upper = attacker.narrow(instance.lower, instance.upper)
        lo = [None if x == -NO_BOUND else x for x in lower.tolist()]
        hi = [None if x == NO_BOUND else x for x in upper.tolist()]
        for i, hidden in enumerate(withheld):
            if not hidden:
                lo[i] = hi[i] = a[i]
        asked = attacker.asked(s.levels)
        oracle = integer_points if attacker.whole else exact_lp
        ends = oracle.intervals(rows, lo, hi, asked.cell.tolist())
        levels = zip(asked.cell.tolist(), asked.lpl.tolist(), asked.upl.tolist(), asked.spl.tolist(), strict=True)
        for (i, lpl, upl, spl), (low, high) in zip(levels, ends, strict=True):
            wide = low is None or high is None
            if exact:
                if not wide and high - low < s.unit:
                    return False
                continue
            below, above = low is None or low <= a[i] - lpl, high is None or high >= a[i] + upl
            if not (below and above and (wide or high - low >= spl)):
                return False
    return True


def patterns(free: np.ndarray, forced: np.ndarray) -> Iterator[tuple[bool, ...]]:
    """All patterns over the free cells, the forced ones withheld."""
    where = np.flatnonzero(free & ~forced).tolist()
    for chosen in product((False, True), repeat=len(where)):
        out = forced.astype(bool).tolist()
        for i, x in zip(where, chosen, strict=True):
            out[i] = x
        yield tuple(out)


def least(instance: Instance, free: np.ndarray, forced: np.ndarray, *, exact: bool = False) -> int | None:
    """The least weight of a safe pattern beyond what is forced; None where there is none."""
    weight = instance.weight.tolist()
    costs = (
        (sum(w for w, x, must in zip(weight, one, forced.tolist(), strict=True) if x and not must), one)
        for one in patterns(free, forced)
    )
    for cost, one in sorted(costs):
        if is_safe(instance, one, exact=exact):
            return cost
    return None
