"""Integer points: the least and greatest value of every cell over {y : M·y = b, lo ≤ y ≤ hi}, y whole, to judge attackers' intervals by.

Plain whole numbers, nothing of the package. The equations narrow the bounds; whether a cell can be at (or next to) a bound is then decided depth
first, narrowing again at every node. Each point found is a witness for the ends of all cells; each end refuted narrows the bounds for good, which
helps all later searches. Ends are tried with few nodes first, then with ever more: the answer is exact, or takes too long.

Where a bound is missing, ``exact_lp`` tells whether the equations imply one, and cells that stay endless are replaced by a lattice. Where all bounds
are given, nothing of ``exact_lp`` is used.
"""

from __future__ import annotations

from collections.abc import Iterable, Iterator
from contextlib import suppress
from itertools import islice
from math import ceil, floor, gcd, inf
from operator import index

import exact_lp
from exact_lp import Bounds, EmptyRegionError, Row

Interval = tuple[int | None, int | None]
Equation = tuple[int, dict[int, int]]
"""Right-hand side, and coefficients by cell."""
End = tuple[int, int]
"""A cell and the way to go: −1 to its least value, 1 to its greatest."""

FEW_NODES, MORE = 50, 4
"""Nodes for each end in the first round, and the factor from round to round."""
WIDE = 2**53
"""Widths from here on are alike when the next cell is chosen, by a floating-point ratio."""


class _OutOfNodesError(Exception):
    """An end is neither reached nor refuted within the nodes given."""


def intervals(rows: Iterable[Row], lo: Bounds, hi: Bounds, cells: Iterable[int] | None = None) -> list[Interval]:
    """The least and greatest whole y_p for each of ``cells`` (all unless told), None where there is none. Raises EmptyRegionError."""
    equations, low, high = _read(rows, len(lo)), _whole(lo), _whole(hi)
    chosen = list(range(len(low)) if cells is None else cells)
    if None in low or None in high:
        low, high = _implied(equations, low, high)
    endless = {p for p, ends in enumerate(zip(low, high, strict=True)) if None in ends}
    search = _Search(*_without(endless, equations, low, high))
    search.settle([(p, way) for p in chosen if p not in endless for way in (-1, 1)])
    return [
        (_end_of_endless(p, -1, equations, low, high), _end_of_endless(p, 1, equations, low, high))
        if p in endless
        else (search.lo[p], search.hi[p])
        for p in chosen
    ]


def points(rows: Iterable[Row], lo: Bounds, hi: Bounds, most: int) -> list[tuple[int, ...]]:
    """All points of a tiny region, each cell bounded, in order. Raises ValueError when there are more than ``most``."""
    equations = _read(rows, len(lo))
    low, high = ([x for x in _whole(ends) if x is not None] for ends in (lo, hi))
    if not len(low) == len(high) == len(lo) == len(hi):
        raise ValueError("points are counted only where every cell has both bounds")
    # For the cells from p on: what they can put into each equation, at least and at most.
    left = [[(0, 0)] * len(equations)]
    for p in reversed(range(len(low))):
        own = [sorted((c * low[p], c * high[p])) for c in (terms.get(p, 0) for _, terms in equations)]
        left.insert(0, [(a + x, b + y) for (a, b), (x, y) in zip(left[0], own, strict=True)])

    def points_from(start: tuple[int, ...], need: list[int]) -> Iterator[tuple[int, ...]]:
        p = len(start)
        if any(not least <= rhs <= greatest for rhs, (least, greatest) in zip(need, left[p], strict=True)):
            return
        if p == len(low):
            yield start
            return
        coefs = [terms.get(p, 0) for _, terms in equations]
        for y in range(low[p], high[p] + 1):
            yield from points_from((*start, y), [rhs - c * y for rhs, c in zip(need, coefs, strict=True)])

    found = list(islice(points_from((), [rhs for rhs, _ in equations]), most + 1))
    if len(found) > most:
        raise ValueError(f"more than {most} points")
    return found


def _read(rows: Iterable[Row], count: int) -> list[Equation]:
    equations: list[Equation] = []
    for rhs, cells, coefs in rows:
        terms: dict[int, int] = {}
        for p, c in zip(map(index, cells), map(index, coefs), strict=True):
            if not 0 <= p < count:
                raise IndexError(f"equation {len(equations)} names cell {p}, and there are {count}")
            terms[p] = terms.get(p, 0) + c
        equations.append((index(rhs), {p: c for p, c in terms.items() if c}))
    return equations


def _whole(bounds: Bounds) -> list[int | None]:
    return [None if x is None else index(x) for x in bounds]


# ---- missing bounds ----------------------------------------------------------------------------------------------------------------------------


def _implied(equations: list[Equation], lo: Bounds, hi: Bounds) -> tuple[list[int | None], list[int | None]]:
    """The bounds, missing ones as the equations imply them for real y. A side without an end there has none here: the rays are rational."""
    missing = [p for p in range(len(lo)) if lo[p] is None or hi[p] is None]
    low, high = list(lo), list(hi)
    for p, (least, greatest) in zip(missing, exact_lp.intervals(_rows(equations), lo, hi, missing), strict=True):
        low[p] = None if least is None else ceil(least)
        high[p] = None if greatest is None else floor(greatest)
    return low, high


def _without(
    endless: set[int], equations: list[Equation], lo: Bounds, hi: Bounds
) -> tuple[list[Equation], list[int], list[int]]:
    """A bounded region with the same values of all cells but the endless ones, which are 0; new whole numbers s come after the cells.

    There is a ray along which every endless cell moves away from the bound it may have, and no other cell moves: the sum of one such ray for each.
    So whole values of the other cells belong to a point as soon as whole numbers t, of any size, solve the equations for the endless cells; that is,
    when what they leave is in the lattice of these cells' columns. With a basis H of it (by Euclid's algorithm on the columns, as for Hermite's
    normal form), M_endless · t becomes H · s. H is in echelon form, so each s in turn has bounds from the first equation that it is in.
    """
    columns = [{e: terms[p] for e, (_, terms) in enumerate(equations) if p in terms} for p in sorted(endless)]
    low, high = ([0 if x is None or p in endless else x for p, x in enumerate(ends)] for ends in (lo, hi))
    mixed = [(rhs, {p: c for p, c in terms.items() if p not in endless}) for rhs, terms in equations]
    for column in _echelon(columns, len(equations)):
        first = min(column)
        rhs, terms = mixed[first]
        ends = [sorted((c * low[p], c * high[p])) for p, c in terms.items()]
        least, greatest = rhs - sum(most for _, most in ends), rhs - sum(least for least, _ in ends)
        step = column[first]
        if step < 0:
            step, least, greatest = -step, -greatest, -least
        for e, c in column.items():
            mixed[e][1][len(low)] = c
        low.append(-(-least // step))
        high.append(greatest // step)
    return mixed, low, high


def _echelon(columns: list[dict[int, int]], equations: int) -> list[dict[int, int]]:
    """A basis of the lattice of ``columns``, each beginning further down than the one before."""
    basis = []
    for e in range(equations):
        while len(here := [column for column in columns if e in column]) > 1:
            least = min(here, key=lambda column: abs(column[e]))
            columns = [
                column if column is least else _minus(column, column.get(e, 0) // least[e], least) for column in columns
            ]
        basis += here
        columns = [column for column in columns if e not in column]
    return basis


def _minus(column: dict[int, int], times: int, other: dict[int, int]) -> dict[int, int]:
    left = {e: column.get(e, 0) - times * other.get(e, 0) for e in column | other}
    return {e: c for e, c in left.items() if c}


def _end_of_endless(p: int, way: int, equations: list[Equation], lo: Bounds, hi: Bounds) -> int | None:
    """The end of a cell that has none on the other side, in a region that holds a point: the first value from the bound on that some point has."""
    y = (lo if way < 0 else hi)[p]
    while y is not None:
        low, high = ([y if q == p else x for q, x in enumerate(ends)] for ends in (lo, hi))
        with suppress(EmptyRegionError):
            intervals(_rows(equations), low, high, ())
            return y
        y -= way
    return None


def _rows(equations: list[Equation]) -> list[Row]:
    return [(rhs, list(terms), list(terms.values())) for rhs, terms in equations]


# ---- search ------------------------------------------------------------------------------------------------------------------------------------


class _Search:
    """Bounds that hold for all points, the ends seen in points found, and the last of these."""

    def __init__(self, equations: list[Equation], lo: list[int], hi: list[int]) -> None:
        self.equations = [(rhs, list(terms.items())) for rhs, terms in equations]
        self.of: list[list[int]] = [[] for _ in lo]
        for e, (_, terms) in enumerate(equations):
            for p in terms:
                self.of[p].append(e)
        self.weight = [1] * len(equations)
        self.lo, self.hi = list(lo), list(hi)
        self.near = [(low + high) // 2 for low, high in zip(lo, hi, strict=True)]
        self.bound = {-1: self.lo, 1: self.hi}
        self.seen: dict[int, list[int]] = {}
        self.trail: list[tuple[int, int, int]] = []
        ordered = all(low <= high for low, high in zip(lo, hi, strict=True))
        if not (ordered and self._narrow(range(len(equations)))):
            raise EmptyRegionError("the bounds leave no whole numbers to the equations")
        self.trail.clear()

    def settle(self, ends: list[End]) -> None:
        """Narrows the bounds at all these ends to values of points."""
        if not self._complete(inf):
            raise EmptyRegionError("the region holds no whole numbers")
        self._undo(0)
        nodes = FEW_NODES
        while ends:
            for p, way in ends:
                with suppress(_OutOfNodesError):
                    self._settle(p, way, nodes)
            ends = [(p, way) for p, way in ends if self.seen[way][p] != self.bound[way][p]]
            nodes *= MORE

    def _settle(self, p: int, way: int, nodes: float) -> None:
        """Asks for a point at the bound; failing that, among the next two values, four, ... until the bound is the outermost value seen."""
        values = 1
        while gap := abs(self.seen[way][p] - self.bound[way][p]):
            outer = self.bound[way][p]
            inner = outer - way * (min(values, gap) - 1)
            try:
                reached = self._limit(p, min(outer, inner), max(outer, inner)) and self._complete(nodes)
            finally:
                self._undo(0)
            values = 1 if reached else 2 * values
            if not reached:
                self._limit(p, *((inner + 1, self.hi[p]) if way < 0 else (self.lo[p], inner - 1)))
                self.trail.clear()

    def _complete(self, nodes: float) -> bool:
        """Whether there is a point within the bounds as they stand; if so, it is noted."""
        waiting: list[tuple[int, int, int, int]] = []
        while (p := self._next_cell()) is not None:
            low, high = self.lo[p], self.hi[p]
            y = min(max(self.near[p], low), high)
            others = ((len(self.trail), p, *span) for span in ((y + 1, high), (low, y - 1)))
            waiting += [other for other in others if other[2] <= other[3]]
            fits = self._limit(p, y, y)
            while not fits:
                if not waiting:
                    return False
                if nodes <= 0:
                    raise _OutOfNodesError
                nodes -= 1
                mark, p, low, high = waiting.pop()
                self._undo(mark)
                fits = self._limit(p, low, high)
        self.near = list(self.lo)
        for way, extreme in ((-1, min), (1, max)):
            self.seen[way] = list(map(extreme, self.seen.get(way, self.near), self.near))
        return True

    def _next_cell(self) -> int | None:
        """The cell with the fewest values for the failures in its equations so far (Boussemart and others 2004: dom/wdeg); None when all have one."""
        open_cells = [p for p, (low, high) in enumerate(zip(self.lo, self.hi, strict=True)) if low < high]
        return min(open_cells, key=self._ease, default=None)

    def _ease(self, p: int) -> float:
        return min(self.hi[p] - self.lo[p], WIDE) / (1 + sum(self.weight[e] for e in self.of[p]))

    def _limit(self, p: int, low: int, high: int) -> bool:
        """Bounds cell p and narrows the others; False when that leaves no point."""
        self.trail.append((p, self.lo[p], self.hi[p]))
        self.lo[p], self.hi[p] = low, high
        return self._narrow(self.of[p])

    def _undo(self, mark: int) -> None:
        while len(self.trail) > mark:
            p, low, high = self.trail.pop()
            self.lo[p], self.hi[p] = low, high

    def _narrow(self, equations: Iterable[int]) -> bool:
        """Narrows bounds until no equation does any more; False when one cannot hold."""
        waiting = set(equations)
        while waiting:
            e = waiting.pop()
            changed = self._narrow_by(*self.equations[e])
            if changed is None:
                self.weight[e] += 1
                return False
            for p in changed:
                waiting.update(self.of[p])
        return True

    def _narrow_by(self, rhs: int, terms: list[tuple[int, int]]) -> list[int] | None:
        """The cells an equation narrows: each term may exceed its least value by what all terms at theirs leave, and likewise from above."""
        lo, hi = self.lo, self.hi
        above, below, step = rhs, -rhs, 0
        for p, c in terms:
            low, high = lo[p], hi[p]
            above -= c * low if c > 0 else c * high
            below += c * high if c > 0 else c * low
            if low < high:
                step = gcd(step, c)
        if above < 0 or below < 0 or (step > 1 and above % step):
            return None
        changed = []
        for p, c in terms:
            low, high = lo[p], hi[p]
            if abs(c) * (high - low) <= above and abs(c) * (high - low) <= below:
                continue
            up, down = (above // c, below // c) if c > 0 else (below // -c, above // -c)
            lo[p], hi[p] = max(low, high - down), min(high, low + up)
            self.trail.append((p, low, high))
            if lo[p] > hi[p]:
                return None
            changed.append(p)
        return changed
