"""Random attackers and levels: in plain integers, and the same as cellward is told of them."""

from __future__ import annotations

from dataclasses import replace
from decimal import Decimal
from random import Random
from typing import Any

import numpy as np
from rounding_grid import Grid
from spies import Level, Spy

import cellward as cw
from cellward.table.sensitivity import CellStatus


def random_level(rng: Random, below: int, above: int) -> Level:
    """Levels of all three kinds that this much room below and above meets, most of them nearly all of it."""

    def most_of(room: int) -> int:
        return rng.randint(0, room) if rng.random() < 0.3 else max(room - rng.choice((0, 0, 0, 1, 2)), 0)

    kinds = rng.choice(("lower", "upper", "both", "both", "sliding", "all"))
    lpl = most_of(max(below, 0)) if kinds in ("lower", "both", "all") else 0
    upl = most_of(max(above, 0)) if kinds in ("upper", "both", "all") else 0
    spl = most_of(max(below + above, 0)) if kinds in ("sliding", "all") else 0
    return lpl, upl, spl


def random_spies(rng: Random, grid: Grid, s: int, cells: list[int]) -> list[Spy]:
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


def with_levels(table: cw.Table, levels: dict[int, Level]) -> cw.Table:
    status = table.sensitivity.status.copy()
    columns = np.zeros((3, table.cells), np.int64)
    for i, level in levels.items():
        columns[:, i] = level
        if any(level):
            status[i] = CellStatus.UNSAFE
    lpl, upl, spl = (column.copy() for column in columns)
    return table.with_sensitivity(replace(table.sensitivity, status=status, lpl=lpl, upl=upl, spl=spl))


def attacker_of(table: cw.Table, spy: Spy) -> cw.Attacker:
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
