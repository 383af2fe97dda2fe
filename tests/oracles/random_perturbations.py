"""Random perturbations: small tables with protection levels and attackers, to be perturbed between multiples or within distances.

Legend: a true values, v a perturbation, y a table that an attacker must still think possible; amounts are in scaled units of the table.
"""

from __future__ import annotations

import hashlib
import itertools
import math
from dataclasses import dataclass, replace
from decimal import Decimal
from fractions import Fraction
from functools import cached_property
from random import Random
from typing import Any

import numpy as np
import random_tables
import zero_restricted
from least_perturbation import (
    End,
    Form,
    Knowledge,
    Objective,
    Problem,
    Program,
    Truth,
    intervals,
    truth,
)
from random_levels import attacker_of, random_level, random_spies, with_levels
from random_roundings import drawn_table
from rounding_grid import TooManyError, grid_of
from spies import Level, Spy

import cellward as cw
from cellward.table.sensitivity import Sensitivity

KINDS = (
    "2-D",
    "hierarchical",
    "3-D",
    "equations",
    "2-D, mixed bases",
    "overlapping",
    "coefficients",
    "linked",
    "2×2×2",
    "levels",
)
"""``levels``: one base (or distance) a level of sums."""
PAPER, DISTANCE, NEAREST, ON_GRID = 0.5, 0.35, 0.3, 0.2
"""Shares of the cases whose attackers read as the paper's do; that stay within a distance; that aim at the nearest multiple; on a grid."""
MOST_CELLS = 40
KEPT_PLAIN = 0.35
"""Share of the cases whose least perturbation without levels may keep all of them."""
FRACTIONAL = {"coefficients": 0.5, "3-D": 0.3, "2×2×2": 0.5, "equations": 0.3}
"""Shares of the cases that are to have an optimum with fractions of a unit; elsewhere they are rare."""
WITHOUT = 0.06
"""Share of the cases without any level."""
PATIENCE = 30
"""Draws until a case is taken that is not quite what was wanted."""


@dataclass(frozen=True, eq=False)
class Case:
    """A problem, and the same for cellward: ``case.method().protect(case.table, attackers=case.attackers, weights=case.weights, key=case.key)``."""

    seed: int
    kind: str
    problem: Problem
    table: cw.Table
    amount: Any
    weights: Any
    grid: int | None

    @cached_property
    def truth(self) -> Truth:
        return truth(self.problem)

    @property
    def attackers(self) -> list[cw.Attacker]:
        return [attacker_of(self.table, spy) for spy in self.problem.spies]

    @property
    def key(self) -> bytes:
        return hashlib.sha256(f"random perturbation {self.seed}".encode()).digest()

    def method(self, **options: Any) -> Any:
        p = self.problem
        by_default = (p.form, p.objective) in (("base", "between"), ("distance", "distance"))
        options = {"knowledge": p.knowledge, "grid": self.grid, **options}
        if not by_default or self.seed % 2:
            options["objective"] = p.objective
        if p.form == "distance":
            return cw.CellPerturbation(None, within=self.amount, **options)
        return cw.CellPerturbation(self.amount, **options)

    def protect(self, **options: Any) -> cw.Protection:
        made: cw.Protection = self.method(**options).protect(
            self.table, attackers=self.attackers, weights=self.weights, key=self.key
        )
        return made


def random_case(seed: int) -> Case:
    """The case of this seed, the same on every machine; seeds run through the kinds in turn."""
    rng, kind = Random(seed), KINDS[seed % len(KINDS)]
    form: Form = "distance" if rng.random() < DISTANCE else "base"
    knowledge: Knowledge = "paper" if rng.random() < PAPER else "strict"
    objective: Objective = "distance" if form == "distance" else "nearest" if rng.random() < NEAREST else "between"
    on_grid, plain, fractional = (rng.random() < share for share in (ON_GRID, KEPT_PLAIN, FRACTIONAL.get(kind, 0)))
    for attempt in itertools.count():
        drawn, amount = _drawn(rng, kind, form)
        if drawn.table.cells > MOST_CELLS or (on_grid and drawn.table.decimals and attempt < PATIENCE):
            continue
        unsafe = frozenset(drawn.table.sensitivity.unsafe.tolist())
        problem = _asked(rng, Problem(grid_of(drawn), form, knowledge, objective, unsafe=unsafe))
        table = with_levels(drawn.table, problem.levels)
        step = 1 if on_grid and not table.decimals else None
        case = Case(seed, kind, problem, table, amount, drawn.weights, step)
        try:
            found = case.truth
        except TooManyError:
            continue
        wanted = (plain or found.violated or not problem.asks) and (found.fractional or not fractional)
        if wanted or attempt > PATIENCE:
            return case
    raise AssertionError("unreachable")


def _drawn(rng: Random, kind: str, form: Form) -> tuple[zero_restricted.Case, Any]:
    """A table of the other generators with its bases or distances, and these as a user gives them; some cells of it are fixed or at risk."""
    if kind in random_tables.KINDS:
        number = random_tables.KINDS.index(kind)
        drawn = random_tables.random_case(rng.randrange(10**6) * len(random_tables.KINDS) + number)
    else:
        drawn = drawn_table(rng, rng.choice(("2-D", "3×2×2", "hierarchical")) if kind == "levels" else kind)
    table = drawn.table
    table = table.with_sensitivity(replace(Sensitivity.none(table.cells), status=table.sensitivity.status))
    amount: Any = drawn.base
    typical = int(max(Fraction(str(b)) for b in np.atleast_1d(np.array(amount, object))) * 10**table.decimals)

    def units(scaled: int) -> Any:
        return Decimal(scaled).scaleb(-table.decimals) if table.decimals else scaled

    def some() -> Any:
        return units(rng.randint(1, typical))

    if kind == "levels":
        amount = {
            level: some() if form == "distance" else units(rng.randint(2, 10)) for level in range(rng.randint(1, 3))
        }
        each = [amount[min(level, len(amount) - 1)] for level in table.relations.height.tolist()]
    elif form == "distance":
        each = [some()] * table.cells if rng.random() < 0.6 else [some() for _ in range(table.cells)]
        amount = each[0] if len(set(each)) == 1 else each
    else:
        each = amount
    return replace(drawn, table=table, base=each), amount


def _asked(rng: Random, problem: Problem) -> Problem:
    """Attackers, and levels that each cell can meet on its own: by its own choice, or all by those of one table."""
    grid = problem.grid
    movable = [i for i, (low, high) in enumerate(problem.ends) if low < high]
    stuck = [i for i, fixed in enumerate(grid.fixed) if not fixed and i not in movable]
    eligible = movable + [i for i in stuck if problem.jumps and rng.random() < 0.1]
    many = 0 if rng.random() < WITHOUT else rng.choice((1, 1, 2, 2, 3, 4))
    cells = rng.sample(eligible, min(len(eligible), many))
    spies = [replace(spy, whole=False) for spy in random_spies(rng, grid, 1, cells)]
    problem = replace(problem, spies=spies)
    way, v = rng.choice(("cell", "table", "table", "interval", "interval")), _some_table(rng, problem)
    levels: dict[int, Level] = {}
    own: dict[str, dict[int, Level]] = {spy.name: {} for spy in spies if spy.levels is not None}
    for i in cells:
        if way == "cell":
            low, high = problem.box[i]
            v[i] = Fraction(rng.choice((low, high)) if rng.random() < 0.7 else rng.randint(low, high))
        rooms = {spy.name: _room(problem, spy, v, i, alone=way != "interval") for spy in spies if not spy.knows(i)}
        shared = [room for name, room in rooms.items() if name not in own]
        if shared:
            levels[i] = random_level(rng, min(below for below, _ in shared), min(above for _, above in shared))
        for name, mine in own.items():
            if name in rooms and rng.random() < 0.8:
                mine[i] = random_level(rng, *rooms[name])
            elif rng.random() < 0.3:
                mine[i] = (1, 1, 1)  # of a cell it knows, nothing can be kept; of another, a little
    return replace(
        problem,
        levels=levels,
        spies=[replace(spy, levels=own[spy.name]) if spy.name in own else spy for spy in spies],
    )


def _some_table(rng: Random, problem: Problem) -> list[Fraction]:
    """A vertex of all perturbations."""
    n = len(problem.grid.a)
    ends = problem.box
    costs = {i: rng.randint(-9, 9) for i in range(n)}
    found = Program([low for low, _ in ends], [high for _, high in ends], list(problem.grid.rows), costs).vertex()
    assert found is not None, "a itself is a perturbation"
    return found[1][:n]


def _room(problem: Problem, spy: Spy, v: list[Fraction], i: int, *, alone: bool) -> tuple[int, int]:
    """How far below and above a the values of cell i reach that this spy must think possible; ``alone``: other cells left aside."""
    low: End
    high: End
    if alone:
        low, high = (ends[i] for ends in problem.told(v))
        lower, upper = (ends[i] for ends in problem.bounds(spy))
        low, high = (
            low if lower is None else max(low, Fraction(lower)),
            high if upper is None else min(high, Fraction(upper)),
        )
    else:
        ((low, high),) = intervals(problem, spy, v, [i])
    assert low is not None
    assert high is not None
    return math.floor(problem.grid.a[i] - low), math.floor(high - problem.grid.a[i])
