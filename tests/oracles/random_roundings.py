"""Random roundings: small tables with protection levels and attackers, to be rounded; some without a rounding, some to be refused.

Legend: a true values, M·a = b in ``rows``, β bases, w weights, v a rounding, s its steps.
"""

from __future__ import annotations

import math
from dataclasses import dataclass, replace
from functools import cached_property
from random import Random
from typing import Any

import numpy as np
import random_tables
import zero_restricted
from least_rounding import Problem, Truth, View, narrowed, truth
from random_levels import attacker_of, random_level, random_spies, with_levels
from rounding_grid import Grid, TooManyError, grid_of
from spies import Level

import cellward as cw
from cellward.table.sensitivity import CellStatus

ARRAYS = ("1-D", "2-D", "2×2×2", "3×2×2")
DRAWN = ("2-D", "3-D", "hierarchical", "overlapping", "linked", "equations")
KINDS = (*ARRAYS, "2-D, mixed bases", "hierarchical", "2×2×2", "equations", "coefficients", "drawn")
LADDER = 10
"""One case in so many may take two steps."""

HIDDEN = 0.45
"""Share of cases whose levels look met and are not."""
EAGER = {"coefficients": 20, "equations": 6, "2×2×2": 4, "3×2×2": 4, "hierarchical": 3, "drawn": 3}
"""Draws by kind until levels that a single equation shows to be missed will do; in other kinds single equations tell nearly all."""
PATIENCE = 60
"""Draws until a case that is to need two steps may do with one."""
KEPT_REFUSED, KEPT_NONE, KEPT_PROTECTED = 0.3, 0.12, 0.6
"""Shares of the draws kept that are refused, have no rounding, or whose least rounding keeps all levels; the rest are drawn again."""


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
        return [attacker_of(self.table, spy) for spy in self.problem.spies]


def random_case(seed: int) -> Case:
    """The case of this seed, the same on every machine; seeds run through the kinds in turn."""
    rng, kind = Random(seed), KINDS[seed % len(KINDS)]
    ladder = seed // len(KINDS) % LADDER == 0
    goal = rng.choice(("no rounding", "levels", "any")) if ladder else ""
    hidden, attempt = rng.random() < HIDDEN, 0
    while True:
        attempt += 1
        drawn = drawn_table(rng, kind)
        grid = grid_of(drawn)
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
        case = Case(seed, drawn.kind, problem, with_levels(drawn.table, problem.levels), drawn.base, drawn.weights)
        found = case.truth
        if found.least is not None and not found.violated and rng.random() > KEPT_PROTECTED:
            continue
        if goal == "levels" and found.steps == 1 and attempt < PATIENCE:
            continue
        return case


def drawn_table(rng: Random, kind: str) -> zero_restricted.Case:
    """A table of our own, or one of random_tables.py."""
    if kind in ARRAYS or "mixed" in kind:
        return zero_restricted.Case(kind, *_array(rng, kind))
    if kind == "coefficients":
        return zero_restricted.Case(kind, *_coefficients(rng))
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


def _asked(rng: Random, grid: Grid, max_steps: int, goal: str) -> Problem:
    """Attackers, and levels that each cell can meet on its own: by its own choice, or all by those of one rounding."""
    strict = rng.random() < 0.5
    s = next((s for s in range(1, max_steps + 1) if grid.roundings(s)), 1)
    s = max_steps if goal == "levels" else s
    open_cells = [i for i, fixed in enumerate(grid.fixed) if not fixed]
    eligible = [i for i in open_cells if s > 1 or grid.a[i] % grid.base[i] or (strict and rng.random() < 0.05)]
    cells = rng.sample(eligible, min(len(eligible), rng.choice((1, 1, 2, 2, 3, 4))))
    problem = Problem(grid, "strict" if strict else "paper", {}, random_spies(rng, grid, s, cells), max_steps)
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
            levels[i] = random_level(rng, min(below for below, _ in shared), min(above for _, above in shared))
        for name, mine in own.items():
            if name in rooms and rng.random() < 0.8:
                mine[i] = random_level(rng, *rooms[name])
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
    simple = narrowed(grid.rows, *box)
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
