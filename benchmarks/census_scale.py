"""Census scale: the two structures of paper 000, section 5, rounded zero-restricted in base 5: first rounding, gap, memory, curve, growth, resume.

    python benchmarks/census_scale.py [--part scottish|income|growth|resume] [--quick]

The bars are those for two cores that nothing else uses; processor seconds and the machine's load stand beside every time. LIMIT_S in the environment
shortens the long runs (the bars then stay what they are). ``--quick`` runs a small instance of the same structure and judges no times.
"""

from __future__ import annotations

import os
import resource
import signal
import subprocess
import sys
import tempfile
import time
from dataclasses import dataclass, field, replace
from pathlib import Path

import numpy as np

import measure  # isort: skip (finds the oracles)
import census
import rounding_rivals as rivals
import seeded_tables
from results import Report, run_parts, table

import cellward as cw
from cellward.protect.lattice.nested_blocks import NestedBlocks
from cellward.solve import worker
from cellward.solve.budget import Budget
from cellward.solve.highs import solve_mip

BASE, QUICK_FEWEST = 5, 500
LIMIT_S = float(os.environ.get("LIMIT_S", "1200"))
FIRST_S, GAP, MEMORY_MB = 60.0, 0.01, 6 * 1024
CURVE = Path(__file__).with_name("census_scale.svg")
GROWTH = ((136, 4), (276, 8), (551, 15), (1094, 30))
"""Wards and authorities of about 50,000 to 400,000 cells."""
PARTS = {
    "scottish": "431,613 cells",
    "income": "220,040 cells beside HiGHS' MIP",
    "growth": "from 50,000 to 400,000 cells",
    "resume": "killed and resumed",
}


@dataclass
class Run:
    """One rounding: what came when, and what it took."""

    result: cw.Protection
    seconds: float
    processor_s: float
    memory_mb: float
    load: float
    curve: list[tuple[float, float | None, float | None]] = field(default_factory=list)

    @property
    def first_s(self) -> float | None:
        return next((t for t, best, _ in self.curve if best is not None), None)

    def reached(self, gap: float) -> float | None:
        """When the gap to the final bound was this small."""
        bound = self.result.certified_bound
        return next((t for t, best, _ in self.curve if best is not None and bound and best <= bound * (1 + gap)), None)


def rounded(made: census.Census, limit: float, threads: int = 2) -> Run:
    """One rounding to neighbouring multiples, with its curve."""
    t, curve = seeded_tables.of_census(made), []
    before = _processor_s()
    began = time.perf_counter()

    def told(standing: cw.Standing) -> None:
        curve.append((time.perf_counter() - began, standing.incumbent, standing.bound))

    p = cw.ControlledRounding(BASE).protect(t, time_limit_s=limit, threads=threads, progress=told)
    seconds = time.perf_counter() - began
    worker.shut_down()
    # Workers run one a core; each is no larger than the largest of them.
    memory = measure.peak_mb() + threads * resource.getrusage(resource.RUSAGE_CHILDREN).ru_maxrss / 1024
    return Run(p, seconds, _processor_s() - before, memory, os.getloadavg()[0], curve)


def _processor_s() -> float:
    return sum(
        one.ru_utime + one.ru_stime for one in map(resource.getrusage, (resource.RUSAGE_SELF, resource.RUSAGE_CHILDREN))
    )


def additive(p: cw.Protection) -> bool:
    """Whether every value is a neighbouring multiple and every equation holds, in whole numbers."""
    v, a, r = np.asarray(p.values), p.instance.a, p.instance.relations
    near = bool(np.all((v % BASE == 0) & (np.abs(v - a) < BASE)))
    return near and not r.residual(v.astype(np.int64)).any()


def verified(p: cw.Protection) -> tuple[bool, float]:
    """What the verifier says of the saved certificate, and how long it takes."""
    with tempfile.TemporaryDirectory() as folder:
        path = p.certificate().save(Path(folder) / "certificate.json.gz")
        began = time.perf_counter()
        return bool(cw.verify(path)), time.perf_counter() - began


HEAD = [
    "cells",
    "first rounding",
    "1 % reached",
    "Σ\\|v−a\\|",
    "certified bound",
    "gap",
    "seconds",
    "processor s",
    "memory",
    "load",
    "verify",
]


def row(run: Run, report: Report, *, gap: float | None = None) -> list[object]:
    """A run as a row, its facts required."""
    p = run.result
    cells = f"{p.instance.cells:,}"
    if p.values is None:
        report.require(False, f"{cells} cells: no rounding in {run.seconds:.0f} s")
        return [cells, "none", *[""] * 5, f"{run.processor_s:.0f}", f"{run.memory_mb:,.0f} MB", f"{run.load:.1f}", ""]
    holds, took = verified(p)
    report.require(additive(p), f"{cells} cells: a value is no neighbouring multiple or an equation does not hold")
    report.require(holds, f"{cells} cells: the certificate is refused")
    bound = float(p.certified_bound or 0)
    apart = p.objective / bound - 1 if bound else float("inf")
    if gap is not None:
        report.require(apart <= gap, f"{cells} cells: {apart:.2%} above the certified bound, not {gap:.1%}")
    first, near = run.first_s, run.reached(0.01)
    return [
        cells, "" if first is None else f"{first:.0f} s", "" if near is None else f"{near:.0f} s", f"{p.objective:,.0f}", f"{bound:,.0f}",
        f"{apart:.2%}", f"{run.seconds:.0f}", f"{run.processor_s:.0f}", f"{run.memory_mb:,.0f} MB", f"{run.load:.1f}",
        f"{'accepted' if holds else 'refused'}, {took:.1f} s",
    ]  # fmt: skip


def draw(run: Run) -> None:
    """The curve of best rounding and bound over time, as a picture."""
    import matplotlib as mpl

    mpl.use("Agg")
    mpl.rcParams["svg.hashsalt"] = "cellward"
    import matplotlib.pyplot as plt

    figure, axes = plt.subplots(figsize=(7, 4))
    for place, name in ((1, "best rounding"), (2, "bound")):
        points = [(point[0], point[place]) for point in run.curve if point[place] is not None]
        if points:
            points.append((run.seconds, points[-1][1]))
            axes.step(*zip(*points, strict=True), where="post", label=name)
    axes.set(
        xlabel="seconds",
        ylabel="Σ|v − a|",
        title=f"{run.result.instance.cells:,} cells, load {run.load:.0f} on 2 cores",
    )
    axes.legend()
    figure.tight_layout()
    figure.savefig(CURVE, metadata={"Date": None})


def scottish(report: Report, *, quick: bool) -> None:
    made = census.scottish_census(wards=40, authorities=6, ages=8, living=4) if quick else census.scottish_census()
    run = rounded(made, 15 if quick else LIMIT_S)
    report.add(table(HEAD, [row(run, report, gap=None if quick else GAP)]))
    if quick:
        return
    first = run.first_s
    report.require(
        first is not None and first <= FIRST_S, f"first rounding after {first and round(first)} s, not {FIRST_S:.0f} s"
    )
    report.require(run.memory_mb <= MEMORY_MB, f"{run.memory_mb:,.0f} MB")
    draw(run)
    report.add("![best rounding and bound over time](census_scale.svg)")


def income(report: Report, *, quick: bool) -> None:
    made = census.income_support(geography=(60, 8, 2, 1)) if quick else census.income_support()
    run = rounded(made, 60 if quick else 600, threads=1)
    program = rivals.program(seeded_tables.of_census(made), BASE)
    began, before = time.perf_counter(), _processor_s()
    rival = solve_mip(program.linear, budget=Budget(time_limit_s=600, threads=1), absolute_gap=0.5)
    seconds, processor = time.perf_counter() - began, _processor_s() - before
    report.add(table(HEAD, [row(run, report)]))
    report.add(
        f"HiGHS' MIP on the same model: {rival.status}, {seconds:.1f} s ({processor:.1f} processor s); ratio {seconds / run.seconds:.1f}."
    )
    report.require(run.result.status == "optimal", "220,040 cells: not proven optimal")
    if not quick:
        report.require(5 * run.seconds <= seconds, f"{seconds / run.seconds:.1f} times as fast as HiGHS' MIP, not 5")


def growth(report: Report, *, quick: bool) -> None:
    if quick:  # the same as one of its sizes is another part
        return
    runs = [rounded(census.scottish_census(wards=w, authorities=a), LIMIT_S / 4) for w, a in GROWTH]
    report.add(table(HEAD, [row(run, report) for run in runs]))
    found = [run for run in runs if run.first_s]
    if len(found) > 1:
        cells = np.log([run.result.instance.cells for run in found])
        time_, memory = (
            np.polyfit(cells, np.log(y), 1)[0]
            for y in ([run.first_s for run in found], [run.memory_mb for run in found])
        )
        report.add(f"Fitted exponents: first rounding {time_:.2f}, memory {memory:.2f}.")
        report.require(memory < 1.05, f"memory grows with exponent {memory:.2f}")


SEARCH = """
import sys; sys.path[:0] = {paths!r}
import census, seeded_tables, cellward as cw, census_scale
if {quick}: census_scale.small_too(cw.ControlledRounding)
made = census.scottish_census(**{size!r})
def told(s):
    if s.incumbent is not None: print(s.incumbent, flush=True)
p = cw.ControlledRounding({base}).protect(seeded_tables.of_census(made), time_limit_s={limit}, threads=1, progress=told, resume={folder!r})
print("end", p.objective, p.status, flush=True)
"""


def resume(report: Report, *, quick: bool) -> None:
    """Killed at random moments, resumed in the same folder: never a worse rounding than the last that was kept."""
    size = {"wards": 40, "authorities": 6, "ages": 8, "living": 4} if quick else {"wards": 276, "authorities": 8}
    kills, longest = (1, 6.0) if quick else (5, 60.0)
    rng, seen, rows = np.random.default_rng(0), [], []
    with tempfile.TemporaryDirectory() as folder:
        paths = [str(Path(__file__).parent), str(measure.ORACLES), str(Path(cw.__file__).parents[1])]
        code = SEARCH.format(paths=paths, size=size, base=BASE, limit=2 * longest, folder=folder, quick=quick)
        for k in range(kills + 1):
            with subprocess.Popen([sys.executable, "-c", code], stdout=subprocess.PIPE, text=True) as job:
                if k < kills:
                    time.sleep(float(rng.uniform(0.4, 1)) * longest)
                    job.send_signal(signal.SIGKILL)
                said = job.communicate()[0].split("\n")
            values = [float(line.split()[0]) for line in said if line and not line.startswith("end")]
            rows.append(
                [
                    k + 1,
                    "killed" if k < kills else "to the end",
                    f"{values[0]:,.0f}" if values else "",
                    f"{values[-1]:,.0f}" if values else "",
                ]
            )
            seen.append(values)
    report.add(table(["run", "how it ended", "first rounding told", "last rounding told"], rows))
    firsts = [values[0] for values in seen if values]
    lasts = [values[-1] for values in seen if values]
    report.require(quick or len(firsts) > 1, "no search had found a rounding when it was killed")
    report.require(firsts == sorted(firsts, reverse=True), "a resumed search began with a worse rounding")
    report.require(lasts == sorted(lasts, reverse=True), "a resumed search ended with a worse rounding")


def small_too(method: type[cw.ControlledRounding]) -> None:
    """For quick forms: nested blocks are looked for in small tables too."""
    method.engines = tuple(
        replace(one, fewest=QUICK_FEWEST) if isinstance(one, NestedBlocks) else one for one in method.engines
    )


def figures(report: Report, part: str, *, quick: bool) -> None:
    if quick:
        small_too(cw.ControlledRounding)
    {"scottish": scottish, "income": income, "growth": growth, "resume": resume}[part](report, quick=quick)


if __name__ == "__main__":
    sys.exit(run_parts("census_scale.py", "Census scale", PARTS, figures, __doc__))
