"""Cellward's adjustments of random tables in all forms of every distance, which must agree."""

from __future__ import annotations

from collections import Counter
from collections.abc import Callable, Iterable

from random_adjustments import random_case
from tally import Tally

import cellward as cw

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
    out: list[str] = []
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


def summary(seeds: Iterable[int], *, tell: Callable[[str], None] | None = None) -> Tally:
    """What these seeds show; ``tell`` takes the differences as they come."""
    seen = Tally()
    for seed in seeds:
        seen.differ(differences(seed, seen.count), tell)
    return seen
