"""Random adjustments: seeded small tables of every kind with levels and senses, in all forms of every distance, which must agree.

python benchmarks/random_adjustments.py --cases 200 --seed 0
"""

from __future__ import annotations

import argparse
import sys
from collections import Counter
from collections.abc import Iterable
from dataclasses import replace
from pathlib import Path
from random import Random
from typing import Any

import numpy as np

sys.path.insert(0, str(Path(__file__).parent))

import random_tables

import cellward as cw
from cellward.table.sensitivity import Sensitivity

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


def random_case(seed: int) -> tuple[cw.Table, list[int], dict[str, Any], Any]:
    """A table with levels, the senses of its cells at risk, further options, and weights."""
    rng = Random(seed)
    made = random_tables.random_case(seed).table
    made = replace(made, sensitivity=Sensitivity.none(made.cells))
    many = rng.randint(1, max(1, min(5, made.cells // 3)))
    at = sorted(rng.sample(range(made.cells), many))
    levels = np.array([rng.randint(1, max(1, abs(int(made.scaled[i])) // 3)) for i in at], np.int64)
    made = replace(made, sensitivity=Sensitivity.of(made.cells, at, levels, levels, 0 * levels))
    senses = [rng.choice((1, -1)) for _ in at]
    options: dict[str, Any] = {"zeros_stay": rng.random() < 0.5}
    if rng.random() < 0.3:
        options["fixed"] = [i for i in rng.sample(range(made.cells), min(2, made.cells)) if i not in at]
    return made, senses, options, rng.choice((None, "equal", "totals"))


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
            check = p.details["check"]
            if p.protected is not True:
                out.append(f"seed {seed}: {norm}, {form} is not protected: {p.missing[:1]}")
            if p.status == "optimal" and check["gap"] > GAP:
                out.append(f"seed {seed}: {norm}, {form} has the gap {check['gap']:.1e}")
            if p.status != "optimal":
                seen[f"{norm}: in decimals dearer than the optimum by more than 1e-6"] += 1
                if p.status != "feasible" or check["gap"] > CLOSE:
                    out.append(f"seed {seed}: {norm}, {form} is {p.status}, gap {p.gap}, of the optimum {check['gap']}")
            if not p.certificate().check():
                out.append(f"seed {seed}: {norm}, {form}: {p.certificate().check().reason}")
        values = {form: float(p.details["continuous"]) for form, p in found.items() if p.scaled is not None}
        if values and max(values.values()) - min(values.values()) > CLOSE * max(1e-3, abs(max(values.values()))):
            out.append(f"seed {seed}: {norm} differs: {values}")
    if len({status for each in statuses.values() for status in each}) > 1:
        out.append(f"seed {seed}: {statuses}")
    return out


def compare(seeds: Iterable[int]) -> tuple[Counter[str], list[str]]:
    """What was seen on these seeds, and where forms disagree."""
    seen: Counter[str] = Counter()
    wrong: list[str] = []
    for seed in seeds:
        wrong += differences(seed, seen)
    return seen, wrong


def main() -> int:
    parser = argparse.ArgumentParser(description=__doc__, formatter_class=argparse.RawDescriptionHelpFormatter)
    parser.add_argument("--cases", type=int, default=200)
    parser.add_argument("--seed", type=int, default=0)
    options = parser.parse_args()
    seen, wrong = compare(range(options.seed, options.seed + options.cases))
    for name, count in sorted(seen.items()):
        print(f"{count:8,}  {name}")
    for line in wrong:
        print(line)
    return 1 if wrong else 0


if __name__ == "__main__":
    sys.exit(main())
