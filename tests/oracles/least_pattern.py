"""Least pattern: the cheapest set of cells to withhold that keeps every level, by trying all in the order of cost; nothing of the package.

Who may see less learns no more: what is withheld in a safe pattern may be joined by others, and a pattern within an unsafe one is unsafe. So an
unsafe pattern is first grown as long as the level that it misses stays missed, and all patterns within count as tried; every other one is judged
by exact linear programs over the cells that it withholds, and by whole tables where a cell at risk must have another value.
"""

from __future__ import annotations

from collections.abc import Sequence
from dataclasses import dataclass

import exact_lp
import integer_points
import numpy as np

Bound = int | None
Row = tuple[int, Sequence[int], Sequence[int]]


@dataclass(frozen=True)
class Asker:
    """An attacker: bounds on all cells, whether he knows that values are whole, and (cell, lpl, upl, spl) of what must be kept from him."""

    lower: Sequence[Bound]
    upper: Sequence[Bound]
    levels: Sequence[tuple[int, int, int, int]]
    whole: bool = False


Requirement = tuple[int, int, tuple[int, int, int]]
"""Attacker, cell, levels."""


@dataclass
class Table:
    """Equations, true values, the attackers, and the cells at risk, which must keep another whole value."""

    rows: Sequence[Row]
    a: Sequence[int]
    askers: Sequence[Asker]
    at_risk: Sequence[int]
    lower: Sequence[Bound]
    upper: Sequence[Bound]

    def _system(
        self, hidden: Sequence[bool], lo: Sequence[Bound], hi: Sequence[Bound]
    ) -> tuple[list[Row], list[int], list[Bound], list[Bound]]:
        """The equations between withheld cells, each once."""
        cells = [i for i, gone in enumerate(hidden) if gone]
        place = {i: k for k, i in enumerate(cells)}
        seen: set[tuple[int, tuple[tuple[int, int], ...]]] = set()
        for right, members, coefs in self.rows:
            terms = tuple((place[i], c) for i, c in zip(members, coefs, strict=True) if i in place and c)
            rest = right - sum(c * self.a[i] for i, c in zip(members, coefs, strict=True) if i not in place)
            if terms:
                seen.add((rest, terms))
        rows = [(rest, [k for k, _ in terms], [c for _, c in terms]) for rest, terms in sorted(seen)]
        return rows, cells, [lo[i] for i in cells], [hi[i] for i in cells]

    def misses(self, hidden: Sequence[bool], one: Requirement) -> bool:
        """Whether a level is not kept."""
        k, p, (lpl, upl, spl) = one
        asker = self.askers[k]
        if not hidden[p]:
            return True
        rows, cells, lo, hi = self._system(hidden, *_tighter(self, asker))
        at = cells.index(p)
        oracle = integer_points if asker.whole else exact_lp
        ((low, high),) = oracle.intervals(rows, lo, hi, [at])
        below, above = low is None or low <= self.a[p] - lpl, high is None or high >= self.a[p] + upl
        wide = low is None or high is None or high - low >= spl
        return not (below and above and wide)

    def gives_away(self, hidden: Sequence[bool], p: int) -> bool:
        """Whether the public, who knows that values are whole, knows a cell."""
        if not hidden[p]:
            return True
        rows, cells, lo, hi = self._system(hidden, self.lower, self.upper)
        ((low, high),) = integer_points.intervals(rows, lo, hi, [cells.index(p)])
        return low is not None and low == high

    def fault(self, hidden: Sequence[bool]) -> Requirement | int | None:
        """A level that is missed, or a cell that is given away; None: the pattern is safe."""
        for k, asker in enumerate(self.askers):
            for p, *level in asker.levels:
                one = (k, p, (level[0], level[1], level[2]))
                if self.misses(hidden, one):
                    return one
        return next((p for p in self.at_risk if self.gives_away(hidden, p)), None)


def _tighter(table: Table, asker: Asker) -> tuple[list[Bound], list[Bound]]:
    lows = [
        max((x for x in ends if x is not None), default=None) for ends in zip(table.lower, asker.lower, strict=True)
    ]
    highs = [
        min((x for x in ends if x is not None), default=None) for ends in zip(table.upper, asker.upper, strict=True)
    ]
    return lows, highs


@dataclass
class Tried:
    """The least cost beyond what must be withheld, None where no pattern is safe, and how many patterns an exact program judged."""

    cost: int | None
    judged: int


def least_pattern(table: Table, free: Sequence[int], forced: Sequence[int], weight: Sequence[int]) -> Tried:
    """The least over all patterns of the free cells, the forced ones withheld."""
    costs = np.zeros(1, np.int64)
    for i in free:
        costs = np.concatenate((costs, costs + weight[i]))
    every = np.arange(len(costs))
    alive, judged = np.ones(len(costs), bool), 0
    base = [False] * len(table.a)
    for i in forced:
        base[i] = True

    def hidden(pattern: int) -> list[bool]:
        out = base.copy()
        for k, i in enumerate(free):
            out[i] = bool(pattern >> k & 1)
        return out

    for pattern in np.argsort(costs, kind="stable").tolist():
        if not alive[pattern]:
            continue
        judged += 1
        fault = table.fault(hidden(pattern))
        if fault is None:
            return Tried(int(costs[pattern]), judged)
        grown = pattern
        for k in range(len(free)):
            more = grown | 1 << k
            if more == grown:
                continue
            judged += 1
            out = hidden(more)
            if table.gives_away(out, fault) if isinstance(fault, int) else table.misses(out, fault):
                grown = more
        alive[(every & ~grown) == 0] = False
    return Tried(None, judged)
