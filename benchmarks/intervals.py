"""Interval publication: least widths beside one exact linear program of all attackers, and sizes of the field beside what suppression costs.

    python benchmarks/intervals.py                   all parts: about an hour; writes RESULTS.md; exits 1 when one falls short
    python benchmarks/intervals.py --part sizes      one part; repeatable
    python benchmarks/intervals.py --quick           a few of each, not judged by the clock; writes nothing

- small: 5,000 small tables of every kind. The certified bound is the least Σ w·width of real ends rounded up, no ranges are found exactly where
  there are none, every release is safe, on the grid and of no more widths than asked.
- sizes: cost, gap, seconds, and on the same tables what a suppression of 20 s withholds, in cells and in their values.
- readable: grids and few widths on one table.
"""

from __future__ import annotations

import os
import sys
import time
from collections import Counter
from concurrent.futures import ProcessPoolExecutor
from dataclasses import dataclass
from pathlib import Path

import numpy as np

sys.path.insert(0, str(Path(__file__).parent.parent / "tests" / "oracles"))

from least_widths import Asker, Least, least_widths
from results import Report, run_parts, table
from small_tables import askers, attackers, bounds, drawn
from suppression import of_size

import cellward as cw
from cellward.protection import Protection

PARTS = {
    "small": "small tables beside an exact linear program",
    "sizes": "sizes of the field",
    "readable": "round ends and few widths",
}
SMALL, SMALL_QUICK = 5000, 30


def least_of(p: Protection, method: cw.IntervalPublication) -> Least:
    """The least widths, by the oracle."""
    i = p.instance
    rows = [
        (right, dict(zip(cells, coefs, strict=True)))
        for right, cells, coefs in map(i.relations.equation, range(i.relations.equations))
    ]
    free = method.candidate(i).tolist()
    return least_widths(rows, i.a.tolist(), bounds(i.lower), bounds(i.upper), free, i.weight.tolist(), askers(i, Asker))


def one_of(seed: int) -> tuple[str | None, Counter[str]]:
    """What is wrong with the ranges of one table (None: nothing), and what came of it."""
    found: Counter[str] = Counter()
    return compared(seed, found), found


def compared(seed: int, found: Counter[str]) -> str | None:
    rng = np.random.default_rng([seed, 30])
    made = drawn(rng)
    grid, widths = (1, 1, 1, 5)[seed % 4], (0, 0, 0, 0, 2)[seed % 5]
    method = cw.IntervalPublication(grid, widths=widths, zeros=str(rng.choice(["published", "candidates"])))
    p = method.protect(made, attackers=attackers(made, rng), weights=str(rng.choice(["value", "equal"])))
    best = least_of(p, method)
    found["tables"] += 1
    found["settled exactly by the oracle"] += best.exact or best.value is None
    if p.publication is None:
        found["without ranges"] += 1
        found["of these proven by the certificate"] += bool(p.certificate().check().proven)
        return (
            None if p.status == "infeasible" and best.value is None else f"{p.status}, and the oracle says {best.value}"
        )
    if best.value is None:
        return "ranges where there are none"
    least, certified = best.value, p.certified_bound * 10 ** (p.instance.weight_decimals + p.instance.decimals)
    if not (p.releasable and p.certificate().check()):
        return "not safe"
    found["proven least"] += certified == p.objective_scaled
    found["on the grid of 1 and of any widths"] += (plain := grid == 1 and not widths)
    found["of these proven least"] += plain and certified == p.objective_scaled
    if not best.exact:
        return None if abs(certified - least) < 1 + 1e-6 * certified else "another bound"
    # Rounded up to a multiple of the unit, the bound may exceed the real optimum by less than one.
    unit = int(p.certificate().content["bound"]["unit"]["size"])
    return None if -(-least // unit) * unit == certified <= p.objective_scaled else f"bound {certified}, least {least}"


def small(report: Report, *, quick: bool) -> None:
    found: Counter[str] = Counter()
    wrong, began = [], time.perf_counter()
    with ProcessPoolExecutor(os.cpu_count()) as pool:
        for seed, (fault, what) in enumerate(pool.map(one_of, range(SMALL_QUICK if quick else SMALL), chunksize=10)):
            found += what
            if fault:
                wrong.append(f"table {seed}: {fault}")
                print(wrong[-1], flush=True)
            if seed % 500 == 499:
                print(f"{seed + 1:,} tables, {len(wrong)} differ", flush=True)
    said = ", ".join(f"{many:,} {what}" for what, many in found.items())
    report.add(f"{said}; **{len(wrong)} differences** ({time.perf_counter() - began:.0f} s).")
    report.require(not wrong, "; ".join(wrong[:5]))


@dataclass(frozen=True)
class Size:
    """A table in so many seconds; ``optimal``: whether the least ranges are asked for."""

    name: str
    limit_s: float
    optimal: bool


SIZES = (
    Size("10×10", 60, optimal=True), Size("20×20", 60, optimal=True), Size("50×50", 60, optimal=True), Size("100×100", 60, optimal=True),
    Size("300×300", 60, optimal=True), Size("6×6×6", 60, optimal=True), Size("8×8×8", 60, optimal=False),
    Size("(5·8)×(5·6)", 60, optimal=True), Size("HIER13", 300, optimal=False),
)  # fmt: skip


def sizes(report: Report, *, quick: bool) -> None:
    rows = []
    for size in SIZES[:2] if quick else SIZES:
        one = of_size(size.name)
        began = time.perf_counter()
        p = cw.IntervalPublication().protect(one, time_limit_s=size.limit_s)
        seconds = time.perf_counter() - began
        good = p.publication is not None and p.protected is True and bool(p.certificate().check())
        report.require(good, f"{size.name}: no safe ranges")
        row = [size.name, f"{one.cells:,}", f"{len(one.sensitivity.unsafe):,}"]
        if good:
            proven = p.certified_bound == p.objective
            report.require(proven or not size.optimal, f"{size.name}: not proven least")
            report.require(quick or not size.optimal or seconds <= size.limit_s, f"{size.name}: {seconds:.1f} s")
            wide = p.publication.lower < p.publication.upper
            row += [
                f"{p.objective:,}",
                f"{p.certified_bound:,}",
                f"{100 * (1 - p.certified_bound / p.objective):.1f} %",
                f"{seconds:.1f} s",
                f"{int(wide.sum()):,}",
            ]
        else:
            row += [""] * 5
        s = cw.CellSuppression().protect(one, weights="equal", time_limit_s=min(size.limit_s, 20))
        held = None if s.publication is None else s.publication.withheld
        value = 10**-s.instance.decimals
        row += ["", ""] if held is None else [f"{int(held.sum()):,}", f"{s.instance.a[held].sum() * value:,.0f}"]
        rows.append(row)
        print(" | ".join(row), flush=True)
    head = [
        "table",
        "cells",
        "at risk",
        "total width",
        "certified bound",
        "gap",
        "time",
        "ranges",
        "cells that suppression withholds",
        "their values",
    ]
    report.add(table(head, rows))


def readable(report: Report, *, quick: bool) -> None:
    rows = []
    one = of_size("10×10" if quick else "20×20")
    for grid, widths in ((1, 0), (1, 4), (1, 2), (1, 1), (5, 0), (5, 2), (10, 0), (10, 1)):
        p = cw.IntervalPublication(grid, widths=widths).protect(one, time_limit_s=10 if quick else 30)
        good = p.publication is not None and p.protected is True and bool(p.certificate().check())
        report.require(good, f"grid {grid}, {widths} widths: no safe ranges")
        if good:
            wide = p.publication.lower < p.publication.upper
            many = len(set((p.publication.upper - p.publication.lower)[wide].tolist()))
            rows.append(
                [
                    grid,
                    widths or "any",
                    f"{int(wide.sum())}",
                    many,
                    f"{p.objective:,}",
                    f"{p.certified_bound:,}",
                    f"{100 * p.gap:.1f} %",
                ]
            )
    report.add(
        table(["grid", "widths asked for", "ranges", "different widths", "total width", "certified bound", "gap"], rows)
    )


RUN = {"small": small, "sizes": sizes, "readable": readable}


def figures(report: Report, part: str, *, quick: bool) -> None:
    RUN[part](report, quick=quick)


if __name__ == "__main__":
    sys.exit(run_parts("intervals.py", "Interval publication", PARTS, figures, __doc__))
