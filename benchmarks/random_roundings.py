"""Random roundings: small tables with protection levels and attackers, and the least protected rounding of each by enumeration, to judge cellward by.

The oracle reads a table's integers and equations and shares nothing else with the package. It lists all roundings in order of their cost and takes
the first that keeps every level from every attacker; what an attacker can work out is settled in exact arithmetic (exact_lp.py, integer_points.py).

    python benchmarks/random_roundings.py --cases 2000 --start 0

Legend: a true values, M·a = b in ``rows``, β bases, w weights, v a rounding, s its steps, y a table that an attacker must still think possible.
"""

from __future__ import annotations

import argparse
import math
import sys
import time
from collections import Counter
from collections.abc import Callable, Iterable, Iterator
from dataclasses import dataclass, field, replace
from decimal import Decimal
from fractions import Fraction
from functools import cached_property
from random import Random
from typing import Any, Literal

import exact_lp
import integer_points
import numpy as np
import random_tables
from exact_lp import Row

import cellward as cw
from cellward.table.sensitivity import CellStatus

ARRAYS = ("1-D", "2-D", "2×2×2", "3×2×2")
DRAWN = ("2-D", "3-D", "hierarchical", "overlapping", "linked", "equations")
KINDS = (*ARRAYS, "2-D, mixed bases", "hierarchical", "2×2×2", "equations", "coefficients", "drawn")
LADDER = 10
"""One case in so many may take two steps."""
MOST_ROUNDINGS, MOST_NODES = 1500, 12_000
HIDDEN = 0.45
"""Share of cases whose levels look met and are not."""
EAGER = {"coefficients": 20, "equations": 6, "2×2×2": 4, "3×2×2": 4, "hierarchical": 3, "drawn": 3}
"""Draws by kind until levels that a single equation shows to be missed will do; in other kinds single equations tell nearly all."""
PATIENCE = 60
"""Draws until a case that is to need two steps may do with one."""
KEPT_REFUSED, KEPT_NONE, KEPT_PROTECTED = 0.3, 0.12, 0.6
"""Shares of the draws kept that are refused, have no rounding, or whose least rounding keeps all levels; the rest are drawn again."""
MOST_POINTS = 30
"""Tables of an attacker's that are kept to be tried on the next rounding."""
CERTIFIED = 9
"""The certificate of one answer in so many is checked; no factor in common with the number of kinds, so that all kinds have their turn."""

Status = Literal["optimal", "infeasible", "refused"]
Bound = int | None
Level = tuple[int, int, int]
"""lpl, upl, spl: how far an attacker's interval must reach below and above a, and how wide it must be."""
Values = tuple[int, ...]
Rounding = tuple[int, Values]
"""Σ w·|v − a| and v."""


class TooManyError(Exception):
    """A table with more roundings than are to be listed."""


# ---- the problem in plain integers -------------------------------------------------------------------------------------------------------------


@dataclass(frozen=True, eq=False)
class Grid:
    """A table and the multiples it may be rounded to; weights in units of 1/weight_unit."""

    a: list[int]
    rows: list[Row]
    lower: list[Bound]
    upper: list[Bound]
    base: list[int]
    fixed: list[bool]
    weight: list[int]
    weight_unit: int = 1
    _listed: dict[int, list[Rounding]] = field(default_factory=dict)

    @cached_property
    def refused(self) -> bool:
        """Whether an equation is off the grid: no multiples at all can make up what its right-hand side and fixed cells leave."""
        for rhs, cells, coefs in self.rows:
            terms = list(zip(cells, coefs, strict=True))
            step = math.gcd(*(c * self.base[i] for i, c in terms if not self.fixed[i]))
            if step and (rhs - sum(c * self.a[i] for i, c in terms if self.fixed[i])) % step:
                return True
        return False

    def choices(self, s: int) -> list[list[int]]:
        """For every cell the multiples less than s bases away and inside the public bounds; its own value when fixed."""
        out = []
        for a, b, low, high, fixed in zip(self.a, self.base, self.lower, self.upper, self.fixed, strict=True):
            near = [a] if fixed else [a // b * b + k * b for k in range(-s, s + 2)]
            out.append([
                v for v in near
                if fixed or (abs(v - a) < s * b and (low is None or v >= low) and (high is None or v <= high))
            ])  # fmt: skip
        return out

    def roundings(self, s: int) -> list[Rounding]:
        """All roundings with s steps, the cheapest first. Raises TooManyError."""
        if s not in self._listed:
            self._listed[s] = sorted(self._list(s))
        return self._listed[s]

    def _list(self, s: int) -> list[Rounding]:
        """Depth first, equation by equation; a choice is dropped when an equation of its cell can no longer be met."""
        choices = self.choices(s)
        if not all(choices):
            return []
        order, steps = self._order(choices)
        need = [rhs for rhs, _, _ in self.rows]
        v, found, nodes = list(self.a), [], 0
        priced = [[(x, self.weight[i] * abs(x - self.a[i])) for x in choices[i]] for i in range(len(v))]

        def descend(k: int, cost: int) -> None:
            nonlocal nodes
            if k == len(order):
                found.append((cost, tuple(v)))
                if len(found) > MOST_ROUNDINGS:
                    raise TooManyError
                return
            i, touched = order[k], steps[k]
            for x, price in priced[i]:
                nodes += 1
                if nodes > MOST_NODES:
                    raise TooManyError
                if all(least <= need[j] - c * x <= most for j, c, least, most in touched):
                    v[i] = x
                    for j, c, _, _ in touched:
                        need[j] -= c * x
                    descend(k + 1, cost + price)
                    for j, c, _, _ in touched:
                        need[j] += c * x

        if all(cells or not rhs for rhs, cells, _ in self.rows):
            descend(0, 0)
        return found

    def _order(self, choices: list[list[int]]) -> tuple[list[int], list[list[tuple[int, int, int, int]]]]:
        """The cells, those of nearly settled equations first; for each its equations, its coefficient there, and what later cells can add to them."""
        of: list[list[tuple[int, int]]] = [[] for _ in self.a]
        for j, (_, cells, coefs) in enumerate(self.rows):
            for i, c in zip(cells, coefs, strict=True):
                of[i].append((j, c))
        left = [sum(len(choices[i]) > 1 for i in cells) for _, cells, _ in self.rows]
        waiting = {i for i in range(len(self.a)) if len(choices[i]) > 1}
        order = [i for i in range(len(self.a)) if i not in waiting]
        while waiting:
            i = min(waiting, key=lambda i: (min((left[j] for j, _ in of[i]), default=0), -len(of[i]), i))
            waiting.remove(i)
            order.append(i)
            for j, _ in of[i]:
                left[j] -= 1
        steps: list[list[tuple[int, int, int, int]]] = []
        least, most = [0] * len(self.rows), [0] * len(self.rows)
        for i in reversed(order):
            steps.append([(j, c, least[j], most[j]) for j, c in of[i]])
            for j, c in of[i]:
                ends = sorted((c * choices[i][0], c * choices[i][-1]))
                least[j] += ends[0]
                most[j] += ends[1]
        return order, steps[::-1]


@dataclass(frozen=True)
class Spy:
    """An attacker: its own bounds on some cells, whether it knows that values are whole, and its own levels (None: the table's)."""

    name: str
    lower: dict[int, int] = field(default_factory=dict)
    upper: dict[int, int] = field(default_factory=dict)
    whole: bool = False
    levels: dict[int, Level] | None = None
    respondent: bool = False

    def knows(self, i: int) -> bool:
        """Whether it knows the value of cell i by itself."""
        return i in self.lower and self.lower[i] == self.upper.get(i)


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


# ---- what attackers can work out ---------------------------------------------------------------------------------------------------------------


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
        for narrowed in (False, True):
            low, high = _narrowed(self.grid.rows, lo, hi) if narrowed and left else (lo, hi)
            for i in [i for i, level in left.items() if not _meets(level, a[i] - low[i], high[i] - a[i])]:
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
            if not _meets(level, below, above) if self.whole else not _meets(level, a[i] - low, high - a[i]):
                yield i
                del seen.left[i]
            elif self.whole and i in seen.left:
                doubtful.append(i)
        if doubtful:
            ends = integer_points.intervals(self.grid.rows, lo, hi, doubtful)
            for i, (least, most) in zip(doubtful, ends, strict=True):
                assert least is not None
                assert most is not None
                if not _meets(seen.asked[i], a[i] - least, most - a[i]):
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
            if _meets(level, self.below[i], self.above[i]):
                del self.left[i]


def _meets(level: Level, below: Any, above: Any) -> bool:
    return below >= level[0] and above >= level[1] and below + above >= level[2]


def _narrowed(rows: list[Row], lo: list[int], hi: list[int]) -> tuple[list[int], list[int]]:
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


# ---- the truth ---------------------------------------------------------------------------------------------------------------------------------


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


# ---- generator ---------------------------------------------------------------------------------------------------------------------------------


@dataclass(frozen=True, eq=False)
class Case:
    """A problem, and the same for cellward: ``ControlledRounding(base).protect(table, attackers=attackers, weights=weights)``."""

    seed: int
    kind: str
    problem: Problem
    table: cw.Table
    base: Any
    weights: Any

    @cached_property
    def truth(self) -> Truth:
        return truth(self.problem)

    @property
    def attackers(self) -> list[cw.Attacker]:
        return [_attacker(self.table, spy) for spy in self.problem.spies]


def random_case(seed: int) -> Case:
    """The case of this seed, the same on every machine; seeds run through the kinds in turn."""
    rng, kind = Random(seed), KINDS[seed % len(KINDS)]
    ladder = seed // len(KINDS) % LADDER == 0
    goal = rng.choice(("no rounding", "levels", "any")) if ladder else ""
    hidden, attempt = rng.random() < HIDDEN, 0
    while True:
        attempt += 1
        drawn = _table(rng, kind)
        grid = _read(drawn)
        if grid.refused and rng.random() > KEPT_REFUSED:
            continue
        try:
            some = bool(grid.roundings(1))
            unwanted = some if goal == "no rounding" and attempt < PATIENCE else not some and not ladder
            if unwanted and (ladder or rng.random() > KEPT_NONE):
                continue
            if ladder:
                grid.roundings(2)
        except TooManyError:
            continue
        problem = _asked(rng, grid, 2 if ladder else 1, goal)
        if hidden and (other := _hidden(rng, problem, eager=attempt < EAGER.get(kind, 0))) is not None:
            problem = other
        elif hidden and attempt < EAGER.get(kind, 0):
            continue
        case = Case(seed, drawn.kind, problem, _with_levels(drawn.table, problem.levels), drawn.base, drawn.weights)
        found = case.truth
        if found.least is not None and not found.violated and rng.random() > KEPT_PROTECTED:
            continue
        if goal == "levels" and found.steps == 1 and attempt < PATIENCE:
            continue
        return case


# ---- tables ------------------------------------------------------------------------------------------------------------------------------------


def _table(rng: Random, kind: str) -> random_tables.Case:
    """A table of our own, or one of random_tables.py."""
    if kind in ARRAYS or "mixed" in kind:
        return random_tables.Case(kind, *_array(rng, kind))
    if kind == "coefficients":
        return random_tables.Case(kind, *_coefficients(rng))
    number = DRAWN.index(kind) if kind in DRAWN else rng.randrange(len(DRAWN))
    return random_tables.random_case(rng.randrange(10**6) * len(DRAWN) + number)


def _array(rng: Random, kind: str) -> tuple[cw.Table, Any, Any]:
    """An array with its margins, its bases and weights; now and then as bare equations."""
    shapes = {
        "1-D": [(3,), (4,), (5,), (6,)],
        "2-D": [(2, 2), (3, 2), (3, 3), (4, 2)],
        "2×2×2": [(2, 2, 2)],
        "3×2×2": [(3, 2, 2)],
    }
    shape = rng.choice(shapes[kind.split(",")[0]])
    mode = (
        rng.choice(("total", "total", "cell"))
        if "mixed" in kind
        else rng.choices(("one", "total", "cell"), (8, 2, 1))[0]
    )
    first, second = (
        (rng.choice((2, 3, 4, 5, 5, 10)),) * 2
        if mode == "one"
        else rng.choice(((2, 4), (5, 10), (3, 6), (2, 6), (4, 2), (2, 8)))
    )
    full = tuple(size + 1 for size in shape)
    margins = [sum(k == size for k, size in zip(index, shape, strict=True)) for index in np.ndindex(full)]
    base = [first if mode == "one" or not m else second for m in margins]
    if mode == "cell":
        base = [rng.choice((first, first, second)) for _ in margins]
    multiple = rng.uniform(0, 0.3) + (0.3 if len(margins) > 20 else 0)
    inner = np.array([
        first * rng.randint(0, 3) if rng.random() < multiple else rng.randint(0, rng.choice((2, 4)) * first)
        for _ in range(math.prod(shape))
    ]).reshape(shape)  # fmt: skip
    table = cw.Table.from_array(inner, lower=None if rng.random() < 0.15 else 0)
    a = table.scaled.tolist()
    if rng.random() < 0.2:
        upper = [x + rng.randrange(2 * b) if rng.random() < 0.3 else None for x, b in zip(a, base, strict=True)]
        table = cw.Table.from_array(inner, upper=upper)
    fixed: list[int] = []
    if rng.random() < 0.2:
        fixed = [i for i, (x, b) in enumerate(zip(a, base, strict=True)) if rng.random() < (0.04 if x % b else 0.4)]
    if rng.random() < 0.15:
        lower, upper = (
            [None if abs(x) == cw.exact.NO_BOUND else x for x in ends.tolist()] for ends in (table.lower, table.upper)
        )
        table = cw.Table.from_equations(a, table.relations, lower=lower, upper=upper, fixed=fixed)
    elif fixed:
        status = table.sensitivity.status.copy()
        status[fixed] = CellStatus.FIXED
        table = table.with_sensitivity(replace(table.sensitivity, status=status))
    weights = None
    if rng.random() < 0.3:
        pool = rng.choice(((0, 1, 2), (1, 2, 3, 5, 8), (0.5, 1, 2.25)))
        weights = [rng.choice(pool) for _ in a]
    return table, first if mode == "one" else base, weights


def _coefficients(rng: Random) -> tuple[cw.Table, Any, Any]:
    """Sums with coefficients of 2 and 3, where whole and real values of an attacker differ; the last cell of each brings it onto the grid."""
    n, m, base = rng.randint(3, 6), rng.randint(1, 3), rng.choice((2, 3, 4, 5, 5))
    matrix = np.zeros((m, n + m), np.int64)
    a = [base * rng.randint(0, 3) if rng.random() < 0.15 else rng.randint(0, 3 * base) for _ in range(n)]
    for j, row in enumerate(matrix):
        for i in rng.sample(range(n), rng.randint(2, min(n, 4))):
            row[i] = rng.choice((1, 1, 2, -2, 3, -1))
        row[n + j] = -1
        a.append(int(row[:n] @ a[:n]))
    lower = [min(x, 0) if rng.random() < 0.8 else None for x in a]
    return cw.Table.from_equations(a, matrix, lower=lower), base, None


def _read(drawn: random_tables.Case) -> Grid:
    """A table's integers and equations."""
    t, unit = drawn.table, 10**drawn.table.decimals
    several = isinstance(drawn.base, list | np.ndarray)
    bases = [Fraction(str(b)) * unit for b in (drawn.base if several else [drawn.base] * t.cells)]
    assert all(b.denominator == 1 for b in bases)
    if isinstance(drawn.weights, str):
        weights = [Fraction(w, 10**t.weight_decimals) for w in t.weight.tolist()]
    else:
        weights = [Fraction(str(w)) for w in drawn.weights or [1] * t.cells]
    weight_unit = math.lcm(*(w.denominator for w in weights))
    lower, upper = ([None if abs(x) == cw.exact.NO_BOUND else x for x in ends.tolist()] for ends in (t.lower, t.upper))
    rows = [
        (rhs, list(cells), list(coefs)) for rhs, cells, coefs in map(t.relations.equation, range(t.relations.equations))
    ]
    return Grid(
        t.scaled.tolist(), rows, lower, upper, [int(b) for b in bases], t.sensitivity.fixed.tolist(),
        [int(w * weight_unit) for w in weights], weight_unit,
    )  # fmt: skip


# ---- attackers and levels ----------------------------------------------------------------------------------------------------------------------


def _asked(rng: Random, grid: Grid, max_steps: int, goal: str) -> Problem:
    """Attackers, and levels that each cell can meet on its own: by its own choice, or all by those of one rounding."""
    strict = rng.random() < 0.5
    s = next((s for s in range(1, max_steps + 1) if grid.roundings(s)), 1)
    s = max_steps if goal == "levels" else s
    open_cells = [i for i, fixed in enumerate(grid.fixed) if not fixed]
    eligible = [i for i in open_cells if s > 1 or grid.a[i] % grid.base[i] or (strict and rng.random() < 0.05)]
    cells = rng.sample(eligible, min(len(eligible), rng.choice((1, 1, 2, 2, 3, 4))))
    problem = Problem(grid, "strict" if strict else "paper", {}, _spies(rng, grid, s, cells), max_steps)
    found, choices = grid.roundings(s), grid.choices(s)
    way = rng.choice(("cell", "rounding", "rounding", "interval")) if found else "cell"
    v = list(rng.choice(found)[1]) if found else list(grid.a)
    levels: dict[int, Level] = {}
    own: dict[str, dict[int, Level]] = {spy.name: {} for spy in problem.spies if spy.levels is not None}
    views = {spy.name: View(problem, spy, s) for spy in problem.spies}
    for i in cells:
        if way == "cell" and choices[i]:
            far = max(choices[i], key=lambda x: (abs(x - grid.a[i]), x))
            v[i] = far if rng.random() < 0.7 else rng.choice(choices[i])
        rooms: dict[str, tuple[int, int]] = {}
        for spy in problem.spies:
            if spy.knows(i):
                continue
            view = views[spy.name]
            if way == "interval":
                ((low, high),) = view.intervals(v, [i])
            else:
                low, high = (ends[i] for ends in view.box(v))
            rooms[spy.name] = math.floor(grid.a[i] - low), math.floor(high - grid.a[i])
        shared = [room for name, room in rooms.items() if name not in own]
        if shared:
            levels[i] = _level(rng, min(below for below, _ in shared), min(above for _, above in shared))
        for name, mine in own.items():
            if name in rooms and rng.random() < 0.8:
                mine[i] = _level(rng, *rooms[name])
            elif rng.random() < 0.5:
                mine[i] = (1, 1, 1)  # of a cell it knows, nothing can be kept; of another, a little
    spies = [replace(spy, levels=own[spy.name]) if spy.name in own else spy for spy in problem.spies]
    return replace(problem, levels=levels, spies=spies)


def _hidden(rng: Random, problem: Problem, *, eager: bool) -> Problem | None:
    """The problem with levels that the bounds of the least rounding seem to meet, and its equations together do not.

    None: there are none such, or (``eager``) only such that equations show one by one. Where one of some other roundings reaches further, the level
    is no more than that.
    """
    grid, spies = problem.grid, [spy for spy in problem.spies if spy.levels is None]
    s = next((s for s in range(1, problem.max_steps + 1) if grid.roundings(s)), 0)
    if not s or not spies:
        return None
    found, choices = grid.roundings(s), grid.choices(s)
    views = [View(problem, spy, s) for spy in spies]
    k = rng.randrange(len(spies))
    view, cells = views[k], [i for i, fixed in enumerate(grid.fixed) if not fixed and not spies[k].knows(i)]
    if s == 1:
        cells = [i for i in cells if grid.a[i] % grid.base[i]]
    box = view.box(found[0][1])
    simple = _narrowed(grid.rows, *box)
    gaps: dict[bool, list[tuple[int, int, int, int]]] = {True: [], False: []}
    for i, ends in zip(cells, view.intervals(found[0][1], cells), strict=True):
        for side in range(3):
            true = _room(grid.a[i], side, *ends)
            seeming, widest = (_room(grid.a[i], side, low[i], high[i]) for low, high in (simple, box))
            if widest > true:
                gaps[seeming > true].append((i, side, true, seeming if seeming > true else widest))
    if not gaps[True] and (eager or not gaps[False]):
        return None
    levels: dict[int, Level] = {}
    for _ in range(rng.choice((1, 1, 2))):
        hard = gaps[True] and (rng.random() < 0.9 or not gaps[False])
        i, side, true, seeming = rng.choice(gaps[bool(hard)])
        level = rng.randint(true + 1, seeming)
        for each, spy in zip(views, spies, strict=True):
            if not spy.knows(i):
                moved = ([x if j == i else y for j, y in enumerate(grid.a)] for x in choices[i])
                level = min(level, max(_room(grid.a[i], side, low[i], high[i]) for low, high in map(each.box, moved)))
        others = (view.intervals(v, [i])[0] for _, v in rng.sample(found, min(len(found), 6)))
        further = max(_room(grid.a[i], side, *ends) for ends in others)
        if further <= true and rng.random() < 0.6:  # most likely infeasible
            continue
        level = min(level, further) if further > true else level
        levels[i] = (level if side == 0 else 0, level if side == 1 else 0, level if side == 2 else 0)
    return replace(problem, levels=levels) if levels else None


def _room(a: int, side: int, low: Any, high: Any) -> int:
    """How far an interval reaches below a, above a, or how wide it is."""
    return math.floor((a - low, high - a, high - low)[side])


def _level(rng: Random, below: int, above: int) -> Level:
    """Levels of all three kinds that this much room below and above meets, most of them nearly all of it."""

    def most_of(room: int) -> int:
        return rng.randint(0, room) if rng.random() < 0.3 else max(room - rng.choice((0, 0, 0, 1, 2)), 0)

    kinds = rng.choice(("lower", "upper", "both", "both", "sliding", "all"))
    lpl = most_of(max(below, 0)) if kinds in ("lower", "both", "all") else 0
    upl = most_of(max(above, 0)) if kinds in ("upper", "both", "all") else 0
    spl = most_of(max(below + above, 0)) if kinds in ("sliding", "all") else 0
    return lpl, upl, spl


def _spies(rng: Random, grid: Grid, s: int, cells: list[int]) -> list[Spy]:
    """One to three: the external one, those with bounds of their own, respondents, and some that know cells exactly."""
    many = rng.choice((1, 1, 2, 2, 3))
    out = [Spy("external", whole=rng.random() < 0.3)] if rng.random() < 0.85 or many == 1 else []
    while len(out) < many:
        lower: dict[int, int] = {}
        upper: dict[int, int] = {}
        kind = rng.choice(("bounds", "respondent", "exactly"))
        pool = cells if cells and rng.random() < 0.5 else range(len(grid.a))
        for i in rng.sample(pool, min(len(pool), rng.randint(1, 3))):
            a, reach = grid.a[i], s * grid.base[i]
            if kind == "exactly" and (not lower or rng.random() < 0.3):
                lower[i] = upper[i] = a
                continue
            floor = grid.lower[i]
            if kind == "respondent" and (floor is None or floor < 0):
                continue
            if kind == "respondent" or rng.random() < 0.7:
                least = a - rng.randint(0, reach)
                lower[i] = max(least, 0) if kind == "respondent" else least
            if kind != "respondent" and (i not in lower or rng.random() < 0.5):
                upper[i] = a + rng.randint(0, reach)
        levels: dict[int, Level] | None = {} if rng.random() < 0.3 else None
        out.append(Spy(f"insider {len(out)}", lower, upper, rng.random() < 0.4, levels, kind == "respondent"))
    return out


def _with_levels(table: cw.Table, levels: dict[int, Level]) -> cw.Table:
    status = table.sensitivity.status.copy()
    columns = np.zeros((3, table.cells), np.int64)
    for i, level in levels.items():
        columns[:, i] = level
        if any(level):
            status[i] = CellStatus.UNSAFE
    lpl, upl, spl = (column.copy() for column in columns)
    return table.with_sensitivity(replace(table.sensitivity, status=status, lpl=lpl, upl=upl, spl=spl))


def _attacker(table: cw.Table, spy: Spy) -> cw.Attacker:
    """The spy as cellward is told of it."""

    def units(scaled: int) -> Any:
        return Decimal(scaled).scaleb(-table.decimals) if table.decimals else scaled

    if spy.name == "external":
        return cw.Attacker.external(whole=spy.whole)
    known = [i for i in spy.lower if spy.knows(i)]
    lower = {i: units(bound) for i, bound in spy.lower.items() if i not in known}
    upper = {i: units(bound) for i, bound in spy.upper.items() if i not in known}
    levels = None if spy.levels is None else {i: tuple(map(units, level)) for i, level in spy.levels.items()}
    if spy.respondent:
        return cw.Attacker.respondent(table, spy.name, lower, alone=known, whole=spy.whole, levels=levels)
    return cw.Attacker.knowing(table, spy.name, lower=lower, upper=upper, exactly=known, whole=spy.whole, levels=levels)


# ---- comparison --------------------------------------------------------------------------------------------------------------------------------


def check(seed: int, *, ignore_levels: bool = False) -> list[str]:
    """What differs between cellward and the oracle, in a line each."""
    return differences(random_case(seed), ignore_levels=ignore_levels)


def differences(case: Case, *, ignore_levels: bool = False) -> list[str]:
    """The same of a case; ``ignore_levels``: of the rounding without a look at the levels."""
    problem = case.problem
    asked = replace(problem, levels={}, spies=[Spy("external")]) if ignore_levels else problem
    found = truth(asked) if ignore_levels else case.truth
    ladder = {"max_steps": problem.max_steps} if problem.max_steps > 1 else {}
    try:
        method = cw.ControlledRounding(case.base, knowledge=problem.knowledge, ignore_levels=ignore_levels, **ladder)
        p = method.protect(case.table, attackers=case.attackers, weights=case.weights)
        faults = list(_faults(case, asked, found, p))
    except cw.InputError as error:
        as_meant = found.status == "refused" and "the grid of its bases" in str(error)
        faults = [] if as_meant else [f"InputError: {error}"]
    except Exception as error:  # noqa: BLE001 (whatever it is, it is what we look for, and the other cases go on)
        faults = [f"{type(error).__name__}: {error}"]
    steps = f"{problem.max_steps} steps at most"
    head = f"seed {case.seed}, {case.kind}, {problem.knowledge}, {steps}, {found.status} (steps {found.steps}, cost {found.cost})"
    return [f"{head}: {fault}" for fault in faults]


def _faults(case: Case, asked: Problem, found: Truth, p: cw.Protection) -> Iterator[str]:
    """What is wrong with a Protection; ``asked`` is the problem that it was to solve, ``case.problem`` has the levels."""
    if p.status != found.status:
        yield f"{p.status} ({p.reason or p.objective})"
    if p.scaled is None:
        return
    grid, v, s = asked.grid, tuple(p.scaled.tolist()), int(p.method["steps"])
    if found.status == "optimal" and s != found.steps:
        yield f"{s} steps"
    if outside := [i for i, own in enumerate(grid.choices(s)) if v[i] not in own]:
        yield f"cells {outside} are no multiples less than {s} steps away"
    for j, (rhs, cells, coefs) in enumerate(grid.rows):
        if sum(c * v[i] for i, c in zip(cells, coefs, strict=True)) != rhs:
            yield f"equation {j} is missed"
    cost = Fraction(sum(w * abs(x - y) for w, x, y in zip(grid.weight, v, grid.a, strict=True)), grid.weight_unit)
    stated = Fraction(p.objective_scaled, 10**p.instance.weight_decimals)
    if stated != cost or (p.status == "optimal" and cost != found.cost):
        yield f"objective {stated} stated, {cost} of its values"
    fails = missed(case.problem, v, s)
    protected = None if not case.problem.asks else not p.ignore_levels and not fails
    if p.protected is not protected:
        yield f"protected is {p.protected}, and these requirements fail: {fails}"
    if p.status == "optimal" and fails and not p.ignore_levels:
        yield f"these requirements fail: {fails}"
    if case.seed % CERTIFIED == 0 and not (verdict := p.certificate().check()):
        yield f"the certificate does not hold: {verdict.reason}"


# ---- many cases --------------------------------------------------------------------------------------------------------------------------------


def summary(seeds: Iterable[int], *, product: bool = True, tell: Callable[[str], None] | None = None) -> dict[str, Any]:
    """Counts over these seeds; ``product``: with cellward's answers, ``tell`` takes the differences as they come."""
    count: Counter[str] = Counter()
    by: dict[str, Counter[Any]] = {name: Counter() for name in ("kind", "knowledge", "steps", "status")}
    found_differences: list[str] = []
    for seed in seeds:
        case = random_case(seed)
        found = case.truth
        count["tables"] += 1
        count["requirements"] += found.requirements
        count["violated by the least rounding"] += found.violated
        count["tables whose least rounding violates"] += found.violated > 0
        count["levels make dearer"] += found.cost is not None and found.cost != found.least
        count["infeasible"] += found.status == "infeasible"
        count["infeasible by levels alone"] += found.status == "infeasible" and found.least is not None
        by["kind"][case.kind] += 1
        by["knowledge"][case.problem.knowledge] += 1
        by["steps"][f"{found.steps or 'none'} of {case.problem.max_steps}"] += 1
        by["status"][found.status] += 1
        for line in differences(case) if product else ():
            found_differences.append(line)
            if tell is not None:
                tell(line)
    share = count["violated by the least rounding"] / max(count["requirements"], 1)
    return {
        **count,
        "share violated": share,
        **{f"by {k}": dict(c) for k, c in by.items()},
        "differences": found_differences,
    }


def main(arguments: list[str] | None = None) -> int:
    parser = argparse.ArgumentParser(
        description="Round random tables with levels by enumeration and by cellward, and compare."
    )
    parser.add_argument("--cases", type=int, default=2000)
    parser.add_argument("--start", type=int, default=0, help="the first seed")
    parser.add_argument("--oracle", action="store_true", help="the oracle alone, without cellward's answers")
    options = parser.parse_args(arguments)
    began = time.perf_counter()

    def seeds() -> Iterator[int]:
        for k in range(options.cases):
            if k and k % 500 == 0:
                print(f"{k:,} cases in {time.perf_counter() - began:.0f} s", flush=True)
            yield options.start + k

    counts = summary(seeds(), product=not options.oracle, tell=lambda line: print(line, flush=True))
    wrong = counts.pop("differences")
    for name, value in counts.items():
        print(f"{name:38}{value:.1%}" if name == "share violated" else f"{name:38}{value}")
    seconds = time.perf_counter() - began
    print(f"{options.cases:,} cases in {seconds:.1f} s, {len(wrong)} differences")
    return 1 if wrong else 0


if __name__ == "__main__":
    sys.exit(main())
