"""Cell suppression: sizes of the field, everyday tables beside a named rival.

python benchmarks/suppression.py                    all parts: two hours; writes RESULTS.md; exits 1 when one falls short
python benchmarks/suppression.py --part sizes       one part; repeatable
python benchmarks/suppression.py --quick            a few of each, not judged by the clock; writes nothing

- sizes, large, census: seconds to the first safe pattern, cost and gap.
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
from scipy.sparse import csr_matrix

import cellward as cw
from cellward.table.sensitivity import Sensitivity

sys.path.insert(0, str(Path(__file__).parent.parent / "tests" / "oracles"))

import census

PARTS = {
    "sizes": "sizes of the field",
    "large": "large hierarchical tables and cubes",
    "census": "a census of small areas",
    "everyday": "everyday tables",
}


@dataclass(frozen=True)
class Size:
    """A table to suppress in so many seconds; None: nothing is asked of the gap, the cost, or the time to the first pattern."""

    name: str
    limit_s: float
    gap: float | None = None
    first_s: float | None = None
    """Where the gap is to be 0, the time in which that is asked for."""
    peer: int | None = None
    """What τ-ARGUS' optimal method (OPT) withholds for the sake of others, however long it takes (suppression_peers.py)."""


SIZES = {
    "sizes": (
        Size("10×10", 60, 0.0, 10), Size("20×20", 60, 0.0, 10), Size("50×50", 60, 0.01), Size("100×100", 60), Size("300×300", 60, 0.05),
        Size("6×6×6", 10, peer=1036), Size("8×8×8", 60), Size("(5·8)×(5·6)", 60, 0.01), Size("HIER13", 300, 0.25, 5),
    ),
    "large": (
        Size("TWO5IN6", 300), Size("HIER16", 300), Size("NINE5D", 300), Size("NINENEW", 300), Size("NINE12", 300), Size("20×20×20", 300),
    ),
    "census": (Size("census", 1200),),
}  # fmt: skip
AT_RISK = {
    "10×10": 10, "20×20": 40, "50×50": 100, "100×100": 150, "300×300": 500, "6×6×6": 20, "8×8×8": 40, "20×20×20": 200, "(5·8)×(5·6)": 60,
    "census": 2000,
}  # fmt: skip
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
    if name.isalnum() and name.isupper():
        return cw.read(SHARED / "instances" / "csplib" / f"{name}.jj")
    rng, risk = np.random.default_rng(7), AT_RISK[name]
    if name == "census":
        return small_counts(risk, rng)
    if name.startswith("("):
        return at_risk(hierarchical(rng, (5, 8), (5, 6)), risk, rng)
    shape = tuple(int(x) for x in name.split("×"))
    return at_risk(cw.Table.from_array(rng.integers(1, 100, shape)), risk, rng)


def small_counts(many: int, rng: np.random.Generator) -> cw.Table:
    """1,000 areas in 4 levels by 20 ages and 2 sexes, so many of the counts from 1 to 3 at risk, none of which is to be told from its neighbours."""
    made = census.persons()
    matrix = csr_matrix((made.coefs, made.indices, made.indptr), shape=(made.equations, made.cells))
    one = cw.Table.from_equations(made.values, matrix)
    small = np.flatnonzero((one.scaled > 0) & (one.scaled <= 3) & (one.relations.height == 0))
    cells = np.sort(rng.choice(small, many, replace=False))
    level = np.ones(many, np.int64)
    return one.with_sensitivity(Sensitivity.of(one.cells, cells, level, level, 0 * level))


def sizes(report: Report, part: str, *, quick: bool) -> None:
    """Cost, gap and seconds to the first safe pattern."""
    rows = []
    for size in SIZES[part][:1] if quick else SIZES[part]:
        one, first = of_size(size.name), []
        began = time.perf_counter()

        def seen(standing: Any, began: float = began, first: list[float] = first) -> None:
            if standing.incumbent is not None and not first:
                first.append(time.perf_counter() - began)

        p = cw.CellSuppression().protect(one, weights="value", time_limit_s=size.limit_s, progress=seen)
        seconds = time.perf_counter() - began
        named = [size.name, f"{one.cells:,}", f"{len(one.sensitivity.levels):,}"]
        safe = p.publication is not None and p.protected is True and bool(p.certificate().check())
        report.require(safe, f"{size.name}: no safe pattern")
        if not safe or p.objective is None or p.bound is None or p.gap is None:
            rows.append([*named, "", "", "", "", p.status, "", f"{seconds:.1f} s"])
            continue
        within = size.gap is None or p.gap <= size.gap
        took = seconds if size.gap == 0.0 else first[0] if first else seconds
        report.require(quick or within, f"{size.name}: gap {100 * p.gap:.1f} %")
        early = quick or size.first_s is None or took <= size.first_s
        report.require(early, f"{size.name}: {took:.1f} s where {size.first_s} are asked")
        dear = not quick and size.peer is not None and p.objective > size.peer
        report.require(not dear, f"{size.name}: {p.objective:,.0f} where τ-ARGUS finds {size.peer}")
        rows.append(
            [*named, f"{p.objective:,.0f}", f"{p.bound:,.0f}", f"{100 * p.gap:.1f} %", f"{float(p.certified_bound):,.0f}", p.status,
             f"{first[0]:.1f} s" if first else "", f"{seconds:.1f} s"]
        )  # fmt: skip
        print(" | ".join(rows[-1]), flush=True)
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


def figures(report: Report, part: str, *, quick: bool) -> None:
    if part in SIZES:
        if not quick or part == "sizes":
            sizes(report, part, quick=quick)
    else:
        everyday(report, quick=quick)


if __name__ == "__main__":
    sys.exit(run_parts("suppression.py", "Suppression", PARTS, figures, __doc__))
