"""Cost spread: up to what ratio of costs HiGHS' word "optimal" is right, against brute force; the limit that the engines trust rests on this.

    python benchmarks/cost_spread.py            40,000 trials; writes RESULTS.md; exits 1 when a trusted ratio shows a wrong answer
    python benchmarks/cost_spread.py --quick    600 trials; writes nothing

The engines' own limit and the exact flow are switched off, so that HiGHS answers at every ratio.
"""

from __future__ import annotations

import argparse
import sys
from collections import Counter
from dataclasses import replace
from fractions import Fraction

import numpy as np

import measure  # noqa: F401  # isort: skip (finds the oracles)
import random_tables
import zero_restricted
from results import table, write_section

import cellward as cw
from cellward.instance import Instance
from cellward.protect.amounts import amounts
from cellward.protect.lattice import linear
from cellward.protect.lattice.model import LatticeModel, allowed_multiples
from cellward.protect.lattice.vertex import VertexThenBlocks

TRUSTED = linear.WIDEST


class RoundingWithoutFlow(cw.ControlledRounding):
    """Every table is sent to HiGHS."""

    engines = (VertexThenBlocks(),)


def spread(case: zero_restricted.Case) -> int:
    """The largest cost in units of the costs' common divisor, as the engines measure it."""
    instance = Instance.of(case.table, weights=case.weights)
    base = amounts(instance, case.base, "base")
    model = LatticeModel(instance, allowed_multiples(instance, base))
    cost = model.columns.cost
    return int(np.abs(cost).max(initial=0)) // max(int(np.gcd.reduce(cost)), 1) if len(cost) else 0


def trial(seed: int) -> tuple[int, str, bool] | None:
    """(decade of the spread, engine, whether a claimed optimum is wrong); None when nothing was claimed."""
    rng = np.random.default_rng(seed)
    case = random_tables.random_case(seed)
    ratio = 10 ** int(rng.integers(4, 14))
    heavy = rng.random(case.table.cells) < 0.3
    weights = np.where(heavy, ratio, 1) * rng.integers(0, 4, case.table.cells)
    case = replace(case, weights=weights.tolist())
    truth = zero_restricted.brute_force(case)
    if truth.status != "optimal":
        return None
    try:
        p = RoundingWithoutFlow(case.base).protect(case.table, weights=case.weights)
    except (cw.InputError, cw.SolverError):
        return None
    if p.status != "optimal" or not p.engine.startswith("HiGHS"):
        return None
    ours = Fraction(p.objective_scaled, 10 ** (p.instance.decimals + p.instance.weight_decimals))
    return len(str(spread(case))) - 1, p.engine, ours != truth.objective


def main() -> int:
    parser = argparse.ArgumentParser(description=__doc__, formatter_class=argparse.RawDescriptionHelpFormatter)
    parser.add_argument("--quick", action="store_true")
    quick = parser.parse_args().quick
    cases = 600 if quick else 40_000
    linear.WIDEST = 10**30
    claims: Counter[tuple[int, str]] = Counter()
    wrong: Counter[tuple[int, str]] = Counter()
    for seed in range(cases):
        if (found := trial(seed)) is not None:
            decade, engine, bad = found
            claims[decade, engine] += 1
            wrong[decade, engine] += bad
    rows = []
    for decade in sorted({d for d, _ in claims}):
        counts = [f"{wrong[decade, e]} of {claims[decade, e]:,}" for e in ("HiGHS LP", "HiGHS MIP")]
        rows.append([f"10^{decade}–10^{decade + 1}", "yes" if 10 ** (decade + 1) <= TRUSTED else "no", *counts])
    body = (
        f"{cases:,} random tables, seeds 0 to {cases - 1:,}, weights mixed from 0–3 and 0–3 times 10^4 to 10^13; wrong means claimed optimal and "
        f"not so by brute force. Trusted: spreads up to {TRUSTED:,}.\n\n"
        + table(["spread of the costs", "trusted", "LP wrong", "MIP wrong"], rows)
    )
    print(body)
    if not quick:
        write_section("cost_spread.py", "Cost spread: where HiGHS' word stops being enough", body)
    return 1 if any(n for (decade, _), n in wrong.items() if 10 ** (decade + 1) <= TRUSTED) else 0


if __name__ == "__main__":
    sys.exit(main())
