"""Attackers, and levels that bind: beyond what the cheapest table gives, within what a witness gives."""

from __future__ import annotations

import math
from collections.abc import Sequence
from dataclasses import dataclass, replace
from typing import Any

import numpy as np
from numpy.typing import NDArray

import cellward as cw
from cellward.instance import Instance
from cellward.publication.allowed import AllowedSet
from cellward.publication.knowledge import Kind, Knowledge
from cellward.table.levels import Levels
from cellward.table.sensitivity import Sensitivity

Ints = NDArray[np.int64]

SLACK = 0.3
"""How often an informed attacker is one unit off, on either side of a cell that it knows."""


@dataclass(frozen=True, eq=False)
class Protected:
    """A table whose levels bind: ``table`` asks, ``attackers`` attack, and ``witness`` is a rounding that protects it."""

    table: cw.Table
    attackers: tuple[cw.Attacker, ...]
    witness: Ints


def attackers(table: cw.Table, sensitive: Ints, seed: int, *, informed: float = 0.9) -> tuple[cw.Attacker, ...]:
    """The public; a respondent with contributions to a tenth of the other cells, alone in some; one who knows a share of them to within one unit."""
    rng = np.random.default_rng(seed)
    others = rng.permutation(np.setdiff1d(np.arange(table.cells), sensitive))
    a = table.scaled
    mine = rng.permutation(others[a[others] > 0])[: max(table.cells // 10, 2)].tolist()
    alone = mine[: max(table.cells // 30, 1)]
    own = {i: int(rng.integers(1, a[i] + 1)) for i in mine if i not in alone}
    known = others[: round(informed * len(others))].tolist()
    lower = {i: max(int(a[i]) - int(rng.random() < SLACK), 0) for i in known}
    upper = {i: int(a[i]) + int(rng.random() < SLACK) for i in known}
    return (
        cw.Attacker.external(),
        cw.Attacker.respondent(table, "respondent", own, alone=alone),
        cw.Attacker.knowing(table, "informed", lower=lower, upper=upper),
    )


def reaches(p: cw.Protection, cells: Ints) -> Ints:
    """How far below a, above a and how wide (whole units) each attacker's interval of each cell is: 3 × attackers × cells."""
    ends: list[Any] = list(p.audit(cells=cells.tolist()).ends)
    who = len(p.instance.attackers)
    a = (p.instance.a[cells] // 10**p.instance.decimals).tolist() * who
    below = [math.floor(x - low) for x, (low, _) in zip(a, ends, strict=True)]
    above = [math.floor(high - x) for x, (_, high) in zip(a, ends, strict=True)]
    wide = [math.floor(high - low) for low, high in ends]
    return np.array([below, above, wide], np.int64).reshape(3, who, len(cells))


def rounded(table: cw.Table, v: Ints, base: int, kind: Kind, against: Sequence[cw.Attacker]) -> cw.Protection:
    """The rounding v of a table, as if it had been found."""
    instance = Instance.of(table.without_levels(), attackers=against)
    told = Knowledge.rounded(v, np.full(table.cells, base, np.int64), kind=kind, a=instance.a)
    return cw.Protection(
        instance=instance,
        method={"name": "a rounding"},
        status="feasible",
        allowed=AllowedSet(v, v, np.zeros_like(v)),
        scaled=v,
        knowledge=told,
    )


def protected(
    table: cw.Table,
    least: Ints,
    witness: Ints,
    base: int,
    kind: Kind,
    seed: int,
    *,
    share: float = 0.1,
    beyond: float = 0.6,
) -> Protected:
    """Levels of all three kinds on a share of the cells, a part of them beyond what the rounding ``least`` gives; ``witness`` meets them all.

    The table's levels are kept from the public and the respondent, the informed attacker has its own. Half of the sensitive cells are rounded to
    different multiples by the two roundings.
    """
    rng = np.random.default_rng(seed)
    cells = sensitive_cells(table, base, witness != least, max(round(share * table.cells), 2), rng)
    against = attackers(table, cells, seed)
    given, wanted = (reaches(rounded(table, v, base, kind, against), cells) for v in (least, witness))
    shared = levels_beyond(given[:, :2].min(axis=1), wanted[:, :2].min(axis=1), beyond, rng)
    own = levels_beyond(given[:, 2], wanted[:, 2], beyond, rng)
    asking = shared.any(axis=0)
    sensitivity = Sensitivity.of(table.cells, cells[asking], *shared[:, asking])
    informed = replace(against[2], levels=Levels(cells, *own).take(own.any(axis=0)))
    return Protected(table.with_sensitivity(sensitivity), (*against[:2], informed), witness)


def levels_beyond(given: Ints, wanted: Ints, beyond: float, rng: np.random.Generator) -> Ints:
    """lpl, upl and spl of every cell, none above ``wanted``: in a part of the cells with room for it one beyond ``given``, the others within both."""
    levels = np.zeros_like(given)
    able = rng.permutation(np.flatnonzero((wanted > given).any(axis=0)))
    for k in able[: max(round(beyond * len(able)), round(0.2 * given.shape[1]))].tolist():
        side = int(rng.choice(np.flatnonzero(wanted[:, k] > given[:, k])))
        levels[side, k] = rng.integers(given[side, k], wanted[side, k]) + 1
    for k in range(given.shape[1]):
        for side in rng.permutation(3)[: rng.integers(1, 4)].tolist():
            most = min(int(given[side, k]), int(wanted[side, k]))
            if not levels[side, k] and most > 0:
                levels[side, k] = rng.integers(1, most + 1)
    return levels


def sensitive_cells(table: cw.Table, base: int, differ: NDArray[np.bool_], many: int, rng: np.random.Generator) -> Ints:
    """So many cells that are no multiples, half of them where two roundings differ (fewer where there are not enough)."""
    first = rng.permutation(np.flatnonzero(differ))[: (many + 1) // 2]
    rest = np.setdiff1d(np.flatnonzero(table.scaled % base), first)
    return np.sort(np.concatenate([first, rng.permutation(rest)[: many - len(first)]]))
