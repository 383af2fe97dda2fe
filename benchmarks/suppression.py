"""Cell suppression: sizes of the field, everyday tables beside a named rival.

python benchmarks/suppression.py                    all parts: about an hour; writes RESULTS.md; exits 1 when one falls short
python benchmarks/suppression.py --part sizes       one part; repeatable
python benchmarks/suppression.py --quick            a few of each, not judged by the clock; writes nothing

- sizes: seconds to the first safe pattern, cost and gap.
- everyday: the bank of shared/everyday as jobs of the command line, beside R's GaussSuppression, which guards against exact disclosure only.
"""

from __future__ import annotations

import json
import subprocess
import sys
import tempfile
import time
from collections.abc import Iterator
from dataclasses import dataclass
from pathlib import Path
from typing import Any

import numpy as np
from everyday_bank import Way, job, made
from results import SHARED, Report, run_parts, table

import cellward as cw
from cellward.table.sensitivity import Sensitivity

PARTS = {
    "sizes": "sizes of the field",
    "everyday": "everyday tables",
}


@dataclass(frozen=True)
class Size:
    """A table to suppress in so many seconds; None: nothing is asked of the gap, or of the time to the first pattern."""

    name: str
    limit_s: float
    gap: float | None
    first_s: float | None = None


SIZES = (
    Size("10×10", 60, 0.0, 10), Size("20×20", 60, 0.0, 10), Size("50×50", 60, 0.2), Size("6×6×6", 60, 0.25), Size("(5·8)×(5·6)", 60, 0.25),
    Size("HIER13", 120, None, 5),
)  # fmt: skip
EVERYDAY = {
    "linked": (10, 4, 1.3, 560_854), "business2": (60, 23, 7.5, 2_156_592), "survey": (20, None, None, None), "town": (20, None, None, None),
    "research": (20, None, None, None), "energy": (60, None, None, None), "business3": (60, None, None, None),
    "health": (60, None, None, None), "trade": (60, None, None, None),
}  # fmt: skip
"""Seconds for the job, and in which a pattern is asked for; of the rival seconds and cost, as measured on the same bank (levels ignored there)."""


def mid(seed: int) -> cw.Table:
    """A mid-size table: a grid, a cube or one with a hierarchy."""
    rng = np.random.default_rng([seed, 21])
    if seed % 3 == 0:
        one = cw.Table.from_array(rng.integers(1, 200, rng.integers(5, 14, 2)))
    elif seed % 3 == 1:
        one = cw.Table.from_array(rng.integers(1, 60, rng.integers(3, 6, 3)))
    else:
        one = hierarchical(rng, (3, 4), (1, 6))
    return at_risk(one, max(2, one.cells // 20), rng)


def hierarchical(rng: np.random.Generator, *sizes: tuple[int, int]) -> cw.Table:
    """Two dimensions, each of some groups with some leaves."""
    trees = [
        cw.Hierarchy.from_dict({"Total": {f"{d}{g}": [f"{d}{g}.{k}" for k in range(leaves)] for g in range(groups)}})
        if groups > 1
        else cw.Hierarchy.from_dict({"Total": [f"{d}.{k}" for k in range(leaves)]})
        for d, (groups, leaves) in zip("xy", sizes, strict=True)
    ]
    codes = [(x, y) for x in trees[0].leaves for y in trees[1].leaves]
    frame = {"x": [x for x, _ in codes], "y": [y for _, y in codes], "n": rng.integers(1, 100, len(codes)).tolist()}
    return cw.Table.from_frame(frame, dims=["x", "y"], value="n", hierarchies=dict(zip("xy", trees, strict=True)))


def at_risk(one: cw.Table, many: int, rng: np.random.Generator) -> cw.Table:
    """So many leaves at risk, levels 15 % of their values."""
    cells = np.sort(rng.choice(np.flatnonzero(one.relations.height == 0), many, replace=False))
    level = np.maximum(1, -(-one.scaled[cells] * 15 // 100))
    return one.with_sensitivity(Sensitivity.of(one.cells, cells, level, level, 0 * level))


def of_size(name: str) -> cw.Table:
    """The table of a size."""
    rng = np.random.default_rng(7)
    if name == "HIER13":
        return cw.read(SHARED / "instances" / "csplib" / "HIER13.jj")
    if name.startswith("("):
        return at_risk(hierarchical(rng, (5, 8), (5, 6)), 60, rng)
    shape = tuple(int(x) for x in name.split("×"))
    risk = {"10×10": 10, "20×20": 40, "50×50": 100, "6×6×6": 20}[name]
    return at_risk(cw.Table.from_array(rng.integers(1, 100, shape)), risk, rng)


def sizes(report: Report, *, quick: bool) -> None:
    """Cost, gap and seconds to the first safe pattern."""
    rows = []
    for size in SIZES[:1] if quick else SIZES:
        one, first = of_size(size.name), []
        began = time.perf_counter()

        def seen(standing: Any, began: float = began, first: list[float] = first) -> None:
            if standing.incumbent is not None and not first:
                first.append(time.perf_counter() - began)

        p = cw.CellSuppression().protect(one, time_limit_s=size.limit_s, progress=seen)
        seconds = time.perf_counter() - began
        safe = p.publication is not None and p.protected is True and bool(p.certificate().check())
        within = size.gap is None or (p.gap is not None and p.gap <= size.gap)
        took = seconds if size.gap == 0.0 else first[0] if first else seconds
        early = quick or size.first_s is None or took <= size.first_s
        report.require(safe, f"{size.name}: no safe pattern")
        report.require(quick or within, f"{size.name}: gap {p.gap}")
        report.require(early, f"{size.name}: {took:.1f} s where {size.first_s} are asked")
        rows.append(
            [size.name, f"{one.cells:,}", f"{len(one.sensitivity.levels):,}", f"{p.objective:,.0f}", f"{p.bound:,.0f}", f"{100 * p.gap:.1f} %",
             f"{float(p.certified_bound):,.0f}", p.status, f"{first[0]:.1f} s" if first else "", f"{seconds:.1f} s"]
        )  # fmt: skip
    head = ["table", "cells", "at risk", "cost", "bound", "gap", "certified", "ends", "first safe", "time"]
    report.add(table(head, rows))


def ran(name: str, limit_s: float, place: Path) -> tuple[dict[str, Any], float, bool]:
    """A job on a table of the bank: what it says, its seconds, and whether the release verifies."""
    with tempfile.TemporaryDirectory(dir=place) as inner:
        path = job(made(place, 0), name, Way("suppress", ""), limit_s, Path(inner) / name)
        program = Path(sys.executable).with_name("cellward")
        began = time.perf_counter()
        done = subprocess.run([program, "run", path, "--json"], capture_output=True, text=True, check=False)
        seconds = time.perf_counter() - began
        lines = done.stdout.strip().splitlines()
        said = json.loads(lines[-1]) if lines else {}
        out = path.parent / "out"
        checked = subprocess.run([program, "verify", out], capture_output=True, check=False).returncode == 0
    return said, seconds, checked and done.returncode == 0


def everyday(report: Report, *, quick: bool) -> None:
    """Jobs of the bank in a minute each, and the first safe patterns beside the rival's time."""
    rows = []
    with tempfile.TemporaryDirectory() as inner:
        for name, limit, early in _jobs(quick=quick):
            said, seconds, verified = ran(name, limit, Path(inner))
            peer_s, peer = EVERYDAY[name][2:]
            report.require(verified, f"{name} in {limit} s: no verified release")
            cost = said.get("objective") if verified else None
            rows.append(
                [name, f"{limit} s", "verified" if verified else "**nothing**", f"{cost:,.0f}" if cost is not None else "",
                 f"{100 * said['gap']:.1f} %" if verified else "", f"{seconds:.1f} s", f"{peer:,}" if peer else "",
                 f"{peer_s} s" if peer_s else "", f"{cost / peer:.2f}" if peer and cost is not None else "",
                 f"{seconds / peer_s:.1f}" if peer_s and early else ""]
            )  # fmt: skip
            print(" | ".join(rows[-1]), flush=True)
    rival = ["GaussSuppression, exact disclosure only", "its time", "cost, times its", "time, times its"]
    head = ["table", "limit", "ends", "cost", "gap", "time", *rival]
    report.add(table(head, rows))


def _jobs(*, quick: bool) -> Iterator[tuple[str, float, bool]]:
    """Tables and limits; first those whose first pattern is asked for early, with that limit."""
    if quick:
        yield "survey", 10, False
        return
    for name, (limit, early, _, _) in EVERYDAY.items():
        if early is not None:
            yield name, early, True
        yield name, limit, False


RUN = {"sizes": sizes, "everyday": everyday}


def figures(report: Report, part: str, *, quick: bool) -> None:
    RUN[part](report, quick=quick)


if __name__ == "__main__":
    sys.exit(run_parts("suppression.py", "Suppression", PARTS, figures, __doc__))
