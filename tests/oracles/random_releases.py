"""Random releases: small tables of every kind, released by every rule there is, with attackers of every kind.

The tables are those of random_tables.py and some Poisson arrays. What a release tells its reader is written down here once more, straight from the
definitions and in plain integers, so that the package's own reading is judged as well.
"""

from __future__ import annotations

from dataclasses import dataclass
from fractions import Fraction
from random import Random
from typing import Any

import numpy as np
from random_tables import random_case
from releases import by_hand

import cellward as cw
from cellward.publication.knowledge import Knowledge

RULES = (
    "rounded strict", "rounded paper", "rounded in steps strict", "rounded in steps paper", "perturbed distance strict",
    "perturbed distance paper", "perturbed base strict", "perturbed base paper", "suppressed", "interval", "adjusted",
    "rounded up strict", "rounded zero strict", "rounded up paper", "rounded zero paper", "rounded up in steps strict",
    "rounded zero in steps strict", "rounded up in steps paper", "rounded zero in steps paper",
)  # fmt: skip

Bound = int | None
FAR = cw.exact.NO_BOUND


@dataclass(frozen=True, eq=False)
class Released:
    """A table, what was released of it, and who attacks it; ``box``: what the release tells by the oracle's own reading."""

    rule: str
    table: cw.Table
    release: cw.Release
    attackers: list[cw.Attacker]
    box: list[tuple[Bound, Bound]]
    whole: bool


def random_release(seed: int) -> Released:
    """The release of this seed."""
    rng = Random(seed)
    table = _with_levels(_table(rng, seed), rng)
    rule = RULES[seed % len(RULES)]
    a = table.scaled.tolist()
    bounds = [
        (None if p == -FAR else p, None if q == FAR else q)
        for p, q in zip(table.lower.tolist(), table.upper.tolist(), strict=True)
    ]
    knowledge, v, box, whole = _released(rule, a, bounds, rng)
    release = by_hand(table, v, knowledge, rule)
    return Released(rule, table, release, _attackers(table, rng), box, whole)


def _table(rng: Random, seed: int) -> cw.Table:
    if rng.random() < 0.5:
        return random_case(seed).table
    shape = rng.choice([(3, 3), (4, 3), (2, 2, 2), (3, 2, 2), (3, 3, 2), (2, 2, 2, 2), (3, 3, 3)])
    values = np.random.default_rng(seed).poisson(rng.choice([1, 3, 8]), shape)
    table = cw.Table.from_array(values)
    if rng.random() < 0.3:  # the same table without its dimensions: no swaps to help
        table = cw.Table.from_equations(table.values, _dense(table), decimals=0)
    return table


def _dense(table: cw.Table) -> np.ndarray[Any, Any]:
    r = table.relations
    out = np.zeros((r.equations, r.cells), np.int64)
    np.add.at(out, (r.row, r.indices), r.coefs)
    return out


def _with_levels(table: cw.Table, rng: Random) -> cw.Table:
    from cellward.table.sensitivity import Sensitivity

    unsafe = sorted(rng.sample(range(table.cells), min(table.cells, rng.randint(0, 4))))
    lpl, upl, spl = ([rng.randint(0, 4) for _ in unsafe] for _ in range(3))
    spl = [s * 2 for s in spl]
    as_array = [np.array(x, np.int64) for x in (lpl, upl, spl)]
    return table.with_sensitivity(Sensitivity.of(table.cells, unsafe, *as_array))


def _released(
    rule: str, a: list[int], bounds: list[tuple[Bound, Bound]], rng: Random
) -> tuple[Knowledge, list[int], list[tuple[Bound, Bound]], bool]:
    """What is published, and what it tells: the package's reading and ours."""
    words = rule.split()
    kind: Any = words[-1]
    n = len(a)
    base = (
        [rng.choice([0, 3, 5]) if rng.random() < 0.1 else 5 for _ in a]
        if rng.random() < 0.5
        else [rng.choice([2, 3, 5])] * n
    )
    bases = np.array(base, np.int64)
    nominal = np.array(a, np.int64)
    whole = False
    if words[0] == "rounded" and words[1] in ("up", "zero"):
        steps, small = rng.randint(2, 3) if "steps" in words else 1, words[1]
        choices = [_choices(x, r, steps, small, *ends) for x, r, ends in zip(a, base, bounds, strict=True)]
        base = [r if own else 0 for r, own in zip(base, choices, strict=True)]
        v = [rng.choice(own) if own else x for x, own in zip(a, choices, strict=True)]
        low, high = (
            np.array([sign * FAR if x is None else x for x in ends])
            for sign, ends in zip((-1, 1), zip(*bounds, strict=True), strict=True)
        )
        knowledge = Knowledge.rounded(
            np.array(v), np.array(base), kind=kind, steps=steps, a=nominal, small=small, lower=low, upper=high
        )  # type: ignore[arg-type]
        whole = kind == "strict"
        box = [
            _spared(x, y, r, steps, small, *ends, strict=whole)
            for x, y, r, ends in zip(a, v, base, bounds, strict=True)
        ]
    elif words[0] == "rounded":
        steps = rng.randint(2, 3) if "steps" in words else 1
        v = [_rounded(x, r, steps, rng) for x, r in zip(a, base, strict=True)]
        knowledge = Knowledge.rounded(np.array(v), bases, kind=kind, steps=steps, a=nominal)
        whole = kind == "strict"
        box = []
        for x, y, r in zip(a, v, base, strict=True):
            unmoved = steps == 1 and (r == 0 or x % r == 0)
            width = max(steps * r - 1, 0) if kind == "strict" else 0 if unmoved else steps * r
            box.append((y - width, y + width))
    elif words[0] == "perturbed":
        amount, form = base, words[1]
        if form == "distance":
            v = [x + rng.randint(-r, r) for x, r in zip(a, amount, strict=True)]
            box = [
                (y - (1 + (kind == "paper")) * r, y + (1 + (kind == "paper")) * r)
                for y, r in zip(v, amount, strict=True)
            ]
        else:
            v = [x if r == 0 or x % r == 0 else x // r * r + rng.randint(0, r) for x, r in zip(a, amount, strict=True)]
            box = []
            for x, y, r in zip(a, v, amount, strict=True):
                if kind == "paper":
                    width = 0 if r == 0 or x % r == 0 else r
                    box.append((y - width, y + width))
                elif r == 0:
                    box.append((y, y))
                elif y % r == 0:
                    box.append((y - r, y + r))
                else:
                    box.append((y // r * r, y // r * r + r))
        knowledge = Knowledge.perturbed(np.array(v), np.array(amount), form=form, kind=kind, a=nominal)  # type: ignore[arg-type]
    elif rule == "suppressed":
        withheld = sorted(rng.sample(range(n), rng.randint(0, n)))
        v = list(a)
        box = [(None, None) if i in withheld else (x, x) for i, x in enumerate(a)]
        knowledge = Knowledge.suppressed(nominal, np.array(withheld, np.int64))
    elif rule == "interval":
        v = list(a)
        far = cw.exact.NO_BOUND
        lo = [-far if rng.random() < 0.05 else x - rng.randint(0, 6) for x in a]
        hi = [far if rng.random() < 0.05 else x + rng.randint(0, 6) for x in a]
        box = [(None if p == -far else p, None if q == far else q) for p, q in zip(lo, hi, strict=True)]
        knowledge = Knowledge.interval(np.array(lo), np.array(hi))
    else:
        most = [rng.randint(0, 5) for _ in a]
        v = [x + rng.randint(-t, t) for x, t in zip(a, most, strict=True)]
        box = [(y - t, y + t) for y, t in zip(v, most, strict=True)]
        knowledge = Knowledge.adjusted(np.array(v), np.array(most))
    return knowledge, v, box, whole


def _rounded(x: int, base: int, steps: int, rng: Random) -> int:
    """A multiple less than ``steps`` bases away."""
    if base == 0 or (steps == 1 and x % base == 0):
        return x
    choices = [
        m for m in range((x // base - steps - 1) * base, x + steps * base + 1, base) if abs(m - x) < steps * base
    ]
    return rng.choice(choices)


def _choices(x: int, base: int, steps: int, small: str, low: Bound, high: Bound) -> list[int]:
    """The multiples less than ``steps`` bases away and within bounds that x may become, small counts as the option says."""
    near = [m for m in range(x - steps * base + 1, x + steps * base) if m % base == 0]
    near = [m for m in near if (low is None or m >= low) and (high is None or m <= high)]
    if low is not None and low >= 0 and 0 < x < base:
        near = [m for m in near if (m == 0) == (small == "zero")]
    return near


def _spared(
    x: int, v: int, base: int, steps: int, small: str, low: Bound, high: Bound, *, strict: bool
) -> tuple[int, int]:
    """From the least to the greatest y that v leaves possible, tried one by one; on paper ends count too, and multiples of one step stay."""
    if base == 0 or (not strict and steps == 1 and x % base == 0):
        return v, v
    width = steps * base - strict
    near = [y for y in range(v - width, v + width + 1) if (low is None or y >= low) and (high is None or y <= high)]
    if low is not None and low >= 0:
        near = [y for y in near if y >= base or v in _choices(y, base, steps, small, low, high)]
    return near[0], near[-1]


def _attackers(table: cw.Table, rng: Random) -> list[cw.Attacker]:
    """The external one, and up to two that know more of some cells; cells are given by number."""
    out = [cw.Attacker.external(whole=rng.random() < 0.3)]
    unit = 10**table.decimals
    for k in range(rng.randint(0, 2)):
        cells = rng.sample(range(table.cells), min(table.cells, rng.randint(1, 3)))
        a = table.scaled.tolist()
        lower = {i: str(Fraction(a[i] - rng.randint(0, 3)) / unit) if unit == 1 else None for i in cells}
        known = [i for i in cells if rng.random() < 0.3]
        bounds = {i: bound for i, bound in lower.items() if bound is not None and i not in known}
        out.append(cw.Attacker.knowing(table, f"insider {k}", lower=bounds, exactly=known, whole=rng.random() < 0.5))
    return out
