"""The least protected rounding of a small table: all roundings in order of their cost, until one keeps every level from every attacker.

Plain integers and equations, nothing of the package; what an attacker can work out is settled in exact arithmetic (exact_lp.py, integer_points.py).

Legend: a true values, M·a = b in ``rows``, β bases, w weights, v a rounding, s its steps, y a table that an attacker must still think possible.
"""

from __future__ import annotations

import math
from collections.abc import Iterable, Iterator
from dataclasses import dataclass, field
from fractions import Fraction
from typing import Any, Literal

import exact_lp
import integer_points
from exact_lp import Row
from rounding_grid import Grid, Values
from spies import Level, Spy

MOST_POINTS = 30
"""Tables of an attacker's that are kept to be tried on the next rounding."""

Status = Literal["optimal", "infeasible", "refused"]


@dataclass(frozen=True, eq=False)
class Problem:
    """The least rounding of ``grid`` with at most ``max_steps`` steps, as few as possible, that keeps the levels from every spy."""

    grid: Grid
    knowledge: str
    levels: dict[int, Level] = field(default_factory=dict)
    spies: list[Spy] = field(default_factory=lambda: [Spy("external")])
    max_steps: int = 1

    def wanted(self, spy: Spy) -> dict[int, Level]:
        """The positive levels against this spy."""
        return {i: level for i, level in (self.levels if spy.levels is None else spy.levels).items() if any(level)}

    def asked(self, spy: Spy) -> dict[int, Level]:
        """The same without the cells that it knows."""
        return {i: level for i, level in self.wanted(spy).items() if not spy.knows(i)}

    @property
    def asks(self) -> bool:
        return any(self.wanted(spy) for spy in self.spies)


class View:
    """What one spy sees of roundings with s steps."""

    def __init__(self, problem: Problem, spy: Spy, s: int) -> None:
        g = self.grid = problem.grid
        self.asked = problem.asked(spy)
        self.whole = spy.whole or problem.knowledge == "strict"
        self.width = []
        for a, b, fixed in zip(g.a, g.base, g.fixed, strict=True):
            if fixed:
                self.width.append(0)
            elif problem.knowledge == "strict":
                self.width.append(s * b - 1)
            else:
                self.width.append(0 if s == 1 and a % b == 0 else s * b)
        self.lower, self.upper = list(g.lower), list(g.upper)
        for i, bound in spy.lower.items():
            self.lower[i] = bound if (own := self.lower[i]) is None else max(own, bound)
        for i, bound in spy.upper.items():
            self.upper[i] = bound if (own := self.upper[i]) is None else min(own, bound)
        self._points: list[list[int]] = []

    def box(self, v: Iterable[int]) -> tuple[list[int], list[int]]:
        """lo ≤ y ≤ hi."""
        lo = [x - h if b is None else max(b, x - h) for x, h, b in zip(v, self.width, self.lower, strict=True)]
        hi = [x + h if b is None else min(b, x + h) for x, h, b in zip(v, self.width, self.upper, strict=True)]
        return lo, hi

    def intervals(self, v: Iterable[int], cells: Iterable[int]) -> list[tuple[Any, Any]]:
        """The least and greatest y of these cells."""
        oracle: Any = integer_points if self.whole else exact_lp
        return list(oracle.intervals(self.grid.rows, *self.box(v), list(cells)))

    def missed(self, v: Iterable[int]) -> Iterator[int]:
        """The cells whose levels are not met. Only what simple bounds and tables seen before leave open is asked of the oracles."""
        a, (lo, hi) = self.grid.a, self.box(v)
        left = dict(self.asked)
        for by_equations in (False, True):
            low, high = narrowed(self.grid.rows, lo, hi) if by_equations and left else (lo, hi)
            for i in [i for i, level in left.items() if not meets(level, a[i] - low[i], high[i] - a[i])]:
                yield i
                del left[i]
        if not left:
            return
        seen = _Seen(left, a)
        for y in self._points:
            if all(p <= x <= q for p, x, q in zip(lo, y, hi, strict=True)):
                seen.note(y)
        if seen.left:
            yield from self._settled(seen, lo, hi)

    def _settled(self, seen: _Seen, lo: list[int], hi: list[int]) -> Iterator[int]:
        """The same by the oracles. Where y is whole, real y come first: their ends are never inside, and most are whole tables."""
        a, vertex, doubtful = self.grid.a, _Vertex(self.grid.rows, lo, hi), []
        for i, level in seen.left.copy().items():
            low, high = Fraction(a[i]), Fraction(a[i])
            if level[0] or level[2]:
                low = self._end(vertex, seen, i, -1)
            if level[1] or level[2]:
                high = self._end(vertex, seen, i, 1)
            below, above = math.floor(a[i] - low), math.floor(high - a[i])
            if not meets(level, below, above) if self.whole else not meets(level, a[i] - low, high - a[i]):
                yield i
                del seen.left[i]
            elif self.whole and i in seen.left:
                doubtful.append(i)
        if doubtful:
            ends = integer_points.intervals(self.grid.rows, lo, hi, doubtful)
            for i, (least, most) in zip(doubtful, ends, strict=True):
                assert least is not None
                assert most is not None
                if not meets(seen.asked[i], a[i] - least, most - a[i]):
                    yield i

    def _end(self, vertex: _Vertex, seen: _Seen, i: int, way: int) -> Fraction:
        """An end for real y; the table found there is kept when it is whole."""
        end = vertex.end(i, way)
        assert end is not None
        point = vertex.whole_point()
        if point is not None:
            seen.note(point)
            if point not in self._points:
                self._points.insert(0, point)
                del self._points[MOST_POINTS:]
        return end


class _Vertex(exact_lp.Vertex):
    def whole_point(self) -> list[int] | None:
        """The vertex, when it is whole."""
        y = [self._value(i) for i in range(self.cells)]
        return [int(x) for x in y] if all(x.denominator == 1 for x in y) else None


class _Seen:
    """The outermost values seen of some cells, and the levels that they do not yet meet."""

    def __init__(self, asked: dict[int, Level], a: list[int]) -> None:
        self.asked, self.left, self.a = asked, dict(asked), a
        self.below, self.above = dict.fromkeys(asked, 0), dict.fromkeys(asked, 0)  # a itself is always possible

    def note(self, y: list[int]) -> None:
        for i, level in list(self.left.items()):
            self.below[i] = max(self.below[i], self.a[i] - y[i])
            self.above[i] = max(self.above[i], y[i] - self.a[i])
            if meets(level, self.below[i], self.above[i]):
                del self.left[i]


def meets(level: Level, below: Any, above: Any) -> bool:
    return below >= level[0] and above >= level[1] and below + above >= level[2]


def narrowed(rows: list[Row], lo: list[int], hi: list[int]) -> tuple[list[int], list[int]]:
    """Whole bounds that every real y in the region keeps, from one equation at a time, in two rounds."""
    lo, hi = list(lo), list(hi)
    for _ in range(2):
        for rhs, cells, coefs in rows:
            above, below = rhs, -rhs  # what the terms at their least leave, and at their most
            for i, c in zip(cells, coefs, strict=True):
                above -= c * (lo[i] if c > 0 else hi[i])
                below += c * (hi[i] if c > 0 else lo[i])
            for i, c in zip(cells, coefs, strict=True):
                low, high, size = lo[i], hi[i], abs(c)
                if size * (high - low) > min(above, below):
                    up, down = (above, below) if c > 0 else (below, above)
                    lo[i], hi[i] = max(low, high + -down // size), min(high, low - -up // size)
    return lo, hi


@dataclass(frozen=True)
class Truth:
    """The least protected rounding: its steps and Σ w·|v − a| (scaled); and what the least rounding of all costs and misses."""

    status: Status
    steps: int = 0
    cost: Fraction | None = None
    v: Values | None = None
    least: Fraction | None = None
    """Σ w·|v − a| of the least rounding without levels, with the fewest steps that allow one; None: there is no rounding at all."""
    requirements: int = 0
    """Pairs of a spy and a cell with a level, where there is a rounding."""
    violated: int = 0
    """Those that the least rounding without levels does not meet."""


def missed(problem: Problem, v: Values, s: int) -> list[tuple[str, int]]:
    """The requirements that a rounding does not meet, as (attacker, cell)."""
    return [(spy.name, i) for spy in problem.spies for i in View(problem, spy, s).missed(v)]


def truth(problem: Problem) -> Truth:
    """Goes through all roundings, the cheapest first, until one keeps every level; with one step first, then with two, …"""
    grid, least, known = problem.grid, None, (0, 0)
    if grid.refused:
        return Truth("refused")
    for s in range(1, problem.max_steps + 1):
        views = [view for view in (View(problem, spy, s) for spy in problem.spies) if view.asked]
        for cost, v in grid.roundings(s):
            price = Fraction(cost, grid.weight_unit)
            if least is None:
                least = price
                known = sum(len(view.asked) for view in views), sum(1 for view in views for _ in view.missed(v))
            if not any(True for view in views for _ in view.missed(v)):
                return Truth("optimal", s, price, v, least, *known)
    return Truth("infeasible", 0, None, None, least, *known)
