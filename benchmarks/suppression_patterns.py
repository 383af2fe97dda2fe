"""Least patterns beside all there are: small tables of every kind, each suppressed without a time limit and by trying every pattern.

    python benchmarks/suppression_patterns.py           20,000 tables, about an hour; writes RESULTS.md; exits 1 on a difference
    python benchmarks/suppression_patterns.py --quick   a few; writes nothing

Lines, grids, cubes, trees, trees by codes and linked tables with at most 14 cells that may be withheld; the public, insiders, respondents and
singletons; levels to one side, to both, and widths. The oracle (tests/oracles/least_pattern.py) shares nothing with the package. A table differs
where the costs are not the same, a pattern is called least and is not, or a certified bound is above what a safe pattern costs.
"""

from __future__ import annotations

import os
import sys
import time
from collections import Counter
from concurrent.futures import ProcessPoolExecutor
from pathlib import Path

import numpy as np

sys.path.insert(0, str(Path(__file__).parent.parent / "tests" / "oracles"))

from least_pattern import Asker, Table, Tried, least_pattern
from results import Report, run_parts
from small_tables import askers, attackers, bounds, drawn, published

import cellward as cw
from cellward.instance import Instance
from cellward.protection import Protection

TABLES, TABLES_QUICK = 20_000, 20
WORKERS = os.cpu_count() or 1
PARTS = {"patterns": "all patterns of small tables"}


def tried(p: Protection, method: cw.CellSuppression) -> Tried:
    """The least of all patterns."""
    i = p.instance
    free, forced = method.candidate(i), method.hidden(i)
    table = Table(
        [i.relations.equation(j) for j in range(i.relations.equations)], i.a.tolist(), askers(i, Asker), i.sensitivity.unsafe.tolist(),
        bounds(i.lower), bounds(i.upper),
    )  # fmt: skip
    cells = [np.flatnonzero(part).tolist() for part in (free & ~forced, forced)]
    return least_pattern(table, *cells, i.weight.tolist())


def one(seed: int) -> tuple[bool, Counter[str], Counter[str]]:
    """Whether ours and the least of all patterns agree in one table, what came of it, and the seconds that both took."""
    found: Counter[str] = Counter()
    seconds: Counter[str] = Counter()
    return compared(seed, found, seconds), found, seconds


def compared(seed: int, found: Counter[str], seconds: Counter[str]) -> bool:
    rng = np.random.default_rng([seed, 20])
    made = drawn(rng)
    known, zeros = attackers(made, rng), str(rng.choice(["published", "candidates"]))
    weights = str(rng.choice(["value", "equal"]))
    plain, instance = cw.CellSuppression(zeros=zeros), Instance.of(made, attackers=known)
    method = cw.CellSuppression(
        zeros=zeros, publish=published(made, plain.candidate(instance), plain.hidden(instance), rng)
    )
    began = time.perf_counter()
    p = method.protect(made, attackers=known, weights=weights)
    middle = time.perf_counter()
    best = tried(p, method)
    seconds["ours"] += middle - began
    seconds["all patterns"] += time.perf_counter() - middle
    found["tables"] += 1
    found["patterns judged"] += best.judged
    if p.publication is None:
        found["no safe pattern"] += 1
        found["of these proven by the certificate"] += bool(p.certificate().check().proven)
        return (p.status, best.cost) == ("infeasible", None)
    certified = p.certified_bound * 10**p.instance.weight_decimals
    found["called least"] += p.status == "optimal"
    found["proven least by the certificate"] += certified == p.objective_scaled
    return p.releasable and best.cost == p.objective_scaled and certified <= best.cost and p.sought.bound <= best.cost


def figures(report: Report, part: str, *, quick: bool) -> None:  # noqa: ARG001
    found: Counter[str] = Counter()
    seconds: Counter[str] = Counter()
    wrong = []
    with ProcessPoolExecutor(WORKERS) as pool:
        for seed, (same, what, took) in enumerate(
            pool.map(one, range(TABLES_QUICK if quick else TABLES), chunksize=20)
        ):
            found, seconds = found + what, seconds + took
            if not same:
                wrong.append(seed)
                print(f"table {seed} differs", flush=True)
            if seed % 1000 == 999:
                print(f"{seed + 1:,} tables, {len(wrong)} differ, {sum(seconds.values()):.0f} s", flush=True)
    said = ", ".join(f"{many:,} {what}" for what, many in found.items())
    times = ", ".join(f"{what} {took:.0f} s" for what, took in seconds.items())
    report.add(f"{said}; **{len(wrong)} differences** from trying all patterns ({times}).")
    report.require(not wrong, f"tables {wrong[:5]} differ")


if __name__ == "__main__":
    sys.exit(run_parts("suppression_patterns.py", "Suppression", PARTS, figures, __doc__))
