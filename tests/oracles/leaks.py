"""Leaks: random tables of long numbers, protected by random methods, and what of their secrets a text for the public holds.

Numbers have nine digits or more, and so do deviations and levels nearly, so that a text holds them by chance less than once in a million tables.
"""

from __future__ import annotations

import re
from collections.abc import Iterator
from dataclasses import dataclass

import numpy as np
from fixed_keys import key_of

import cellward as cw
from cellward.audit.certificate import salt_of
from cellward.protect.adjustment.details import AdjustmentDetails
from cellward.publication.ranges import Ranges
from cellward.publication.withheld import Withheld

BASE, SEEDS = 10**7, (10**8, 2**31)
FEWEST_DIGITS = 6
"""Zeros at the end do not count: round numbers stand in a text by chance, such as the base itself."""
METHODS = ("round", "perturb", "within", "adjust", "suppress", "intervals")


@dataclass(frozen=True)
class Case:
    """A protection, the seed it was made with, and what the public may not read anywhere."""

    result: cw.Protection
    secrets: dict[str, set[str]]


def case(number: int, time_limit_s: float | None = None) -> Case | None:
    """The random table and method of this number; None where no such table can be protected so, or not in time."""
    rng = np.random.default_rng((22, number))
    seed = int(rng.integers(*SEEDS))
    word = METHODS[number % len(METHODS)]
    table = _table(rng)
    try:
        result = _method(word).protect(table, seed=seed, key=key_of(("leaks", number)), time_limit_s=time_limit_s)
    except cw.CellwardError:
        return None
    return Case(result, secrets_of(result, seed)) if result.releasable else None


def _table(rng: np.random.Generator) -> cw.Table:
    shape = (2, 2, 2) if rng.random() < 0.2 else tuple(rng.integers(3, 6, 2).tolist())
    table = cw.Table.from_array(rng.integers(10**9, 10**10, shape))
    at_risk = rng.choice(table.cells, max(2, table.cells // 8), replace=False)
    lowest = np.array([int(rng.integers(10**6, 4 * 10**6)) for _ in at_risk])
    levels = {int(i): (int(level), int(level) + 7, 0) for i, level in zip(at_risk, lowest, strict=True)}
    return table.find(levels=levels)


def _method(word: str) -> cw.protect.method.Method:
    return {
        "round": cw.ControlledRounding(BASE),
        "perturb": cw.CellPerturbation(BASE),
        "within": cw.CellPerturbation(within=BASE, grid=1),
        "adjust": cw.ControlledAdjustment("l1", grid=1),
        "suppress": cw.CellSuppression(),
        "intervals": cw.IntervalPublication(10**5),
    }[word]


def secrets_of(result: cw.Protection, seed: int) -> dict[str, set[str]]:
    """What must not be read, by what it is: only what is not printed anyway."""
    i, p = result.instance, result.publication
    assert p is not None
    known = _printed(p)
    hidden = set(map(str, i.a.tolist())) - known
    of_risk = {str(int(i.a[c])) for c in i.sensitivity.unsafe.tolist()} - known
    levels = {str(int(x)) for side in (i.sensitivity.lpl, i.sensitivity.upl) for x in side[i.sensitivity.unsafe]}
    found = {"true value at risk": of_risk, "true value": hidden, "level": levels - known, "seed": {str(seed)}}
    if p.v is not None:
        found["deviation"] = set(map(str, np.abs(p.v - i.a).tolist())) - known
    if isinstance(result.details, AdjustmentDetails):
        found["jittered level"] = {re.sub(r"\D", "", str(level)) for level in result.details.levels.values()} - known
    found["objective"] = {str(x) for x in (result.objective, result.bound, result.certified_bound) if x is not None}
    found["key"] = {result.key.hex(), salt_of(result.key)}
    return {name: {one for one in texts if len(one.rstrip("0")) >= FEWEST_DIGITS} for name, texts in found.items()}


def _printed(p: object) -> set[str]:
    if isinstance(p, Withheld):
        return set(map(str, p.shown[~p.hidden].tolist()))
    if isinstance(p, Ranges):
        return set(map(str, [*p.lower.tolist(), *p.upper.tolist()]))
    return set(map(str, p.v.tolist()))


def leaks(text: str, secrets: dict[str, set[str]], digest: str) -> Iterator[str]:
    """What of it a text holds, however its thousands are set apart; and marks that only the data holder may see."""
    own = text.replace(digest, "")
    plain = re.sub(r"(?<=\d)[,.\u2009\u202f ](?=\d)", "", own)
    runs = {run for source in (own, plain) for run in re.findall(r"[0-9a-f]{6,}", source)}
    for name, texts in secrets.items():
        yield from (f"{name} {one}" for one in texts if one in runs or any(one in run for run in runs))
    for words in ("at risk", "sense", '"signed":true', "optimal", "feasible", "witness"):
        if words in own:
            yield f"the words {words!r}"
    if re.search(r"[+−]\d", own):
        yield "a number with its sign"
