"""Cellward's adjustments of random tables in all forms of every distance, which must agree."""

from __future__ import annotations

from collections import Counter
from collections.abc import Callable, Iterable, Sequence
from dataclasses import replace
from random import Random
from typing import Any

import numpy as np
from fixed_keys import key_of
from random_adjustments import random_case
from tally import Tally

import cellward as cw
from cellward.table.levels import INFINITE

FORMS = {
    "l1": ("equation", "leaf", "cone", "network"),
    "l2": ("sums", "leaf", "cone"),
    "linf": ("equation", "leaf"),
    "l1-2": ("leaf", "cone"),
    "huber": ("cone",),
}
CLOSE = 1e-6
GAP = 1e-5
"""Gap by our own check that an answer called optimal may have."""


def differences(seed: int, seen: Counter[str]) -> list[str]:
    """Where the forms disagree on one table."""
    made, senses, options, weights = random_case(seed)
    rng = Random(f"sides {seed}")
    made, ways = one_sided(rng, made, senses)
    options |= ways
    out: list[str] = _chosen(rng, made, senses, options, weights, seed, seen)
    seen["tables"] += 1
    statuses: dict[str, set[str]] = {}
    for norm, forms in FORMS.items():
        found: dict[str, cw.Protection] = {}
        for form in forms:
            if form == "network" and made.relations.network is None:
                continue
            if form == "sums" and made.relations.leaf_form.condition.shape[0]:
                continue
            method = cw.ControlledAdjustment(norm=norm, senses=senses, jitter=0, grid=None, form=form, **options)
            try:
                p = method.protect(made, weights=weights)
            except cw.InputError:
                if form != "network":
                    raise
                seen[f"{norm}, {form}: costs beyond 64 bits"] += 1
                continue
            found[form] = p
            seen[f"{norm}, {form}: {p.status}"] += 1
            statuses.setdefault(norm, set()).add("there" if p.scaled is not None else p.status)
            if p.scaled is None:
                continue
            check = p.details.check
            if p.protected is not True:
                out.append(f"seed {seed}: {norm}, {form} is not protected: {p.missing[:1]}")
            if p.status == "optimal" and check.gap > GAP:
                out.append(f"seed {seed}: {norm}, {form} has the gap {check.gap:.1e}")
            if p.status != "optimal":
                seen[f"{norm}: in decimals dearer than the optimum by more than 1e-6"] += 1
                if p.status != "feasible" or check.gap > CLOSE:
                    out.append(f"seed {seed}: {norm}, {form} is {p.status}, gap {p.gap}, of the optimum {check.gap}")
            if not p.certificate().check():
                out.append(f"seed {seed}: {norm}, {form}: {p.certificate().check().reason}")
        values = {form: float(p.details.continuous) for form, p in found.items() if p.scaled is not None}
        if values and max(values.values()) - min(values.values()) > CLOSE * max(1e-3, abs(max(values.values()))):
            out.append(f"seed {seed}: {norm} differs: {values}")
    if len({status for each in statuses.values() for status in each}) > 1:
        out.append(f"seed {seed}: {statuses}")
    return out


def one_sided(rng: Random, made: cw.Table, senses: Sequence[int]) -> tuple[cw.Table, dict[str, Any]]:
    """Now and then the side that a cell at risk does not take is closed by a level without an end, or by an option, as it is for other cells."""
    s, risky = made.sensitivity, np.flatnonzero(made.sensitivity.lpl)
    lpl, upl, ways = s.lpl.copy(), s.upl.copy(), {"only_up": [], "only_down": []}
    for i, sense in zip(risky.tolist(), senses, strict=True):
        how = rng.random()
        if how < 0.1:
            (lpl if sense > 0 else upl)[i] = INFINITE
        elif how < 0.2:
            ways["only_up" if sense > 0 else "only_down"].append(i)
    for i in range(made.cells):
        if i not in risky and rng.random() < 0.05:
            ways[rng.choice(("only_up", "only_down"))].append(i)
    levels = type(s).of(made.cells, risky.tolist(), lpl[risky], upl[risky], s.spl[risky])
    return replace(made, sensitivity=levels), {name: own for name, own in ways.items() if own}


def _chosen(
    rng: Random,
    made: cw.Table,
    senses: Sequence[int],
    options: dict[str, Any],
    weights: Any,
    seed: int,
    seen: Counter[str],
) -> list[str]:
    """Senses that are chosen lose no more than those given, or than senses drawn with slack, whose best is one under caps."""
    out = []
    slack = rng.choice((0, 0.05, 0.5))
    for norm in ("l1", "l2"):
        common = {"norm": norm, "jitter": 0, "grid": None, "keep": "nothing", **options}
        given, best, drawn = (
            cw.ControlledAdjustment(**how, **common).protect(made, weights=weights, key=key_of(seed))
            for how in ({"senses": senses}, {"senses": "choose"}, {"slack": slack})
        )
        seen[f"{norm}, senses chosen: {best.status}"] += 1
        for other, name in ((given, "given"), (drawn, f"drawn with slack {slack}")):
            if (best.status == "infeasible") and other.scaled is not None:
                out.append(f"seed {seed}: {norm}: senses {name} have a table, and chosen ones none")
            if best.scaled is None or other.scaled is None:
                continue
            if (
                best.objective > other.objective * (1 + CLOSE) + CLOSE
                or best.bound > other.objective * (1 + CLOSE) + CLOSE
            ):
                out.append(
                    f"seed {seed}: {norm}: {best.objective}, bound {best.bound}; senses {name} lose {other.objective}"
                )
    return out


def summary(seeds: Iterable[int], *, tell: Callable[[str], None] | None = None) -> Tally:
    """What these seeds show; ``tell`` takes the differences as they come."""
    seen = Tally()
    for seed in seeds:
        seen.differ(differences(seed, seen.count), tell)
    return seen
