"""Growth: what doubles when a table doubles, for each method, on tables of the bank (shared/everyday) cut to four sizes.

A table is cut by leaving out codes of one hierarchy, and their records. Each size is a job in a process of its own; its phases are timed by the
clock of the job, its memory is that of the process and of its largest worker. The exponent e of seconds ~ cells^e (1: twice the cells, twice as
long) is fitted to all sizes that end within the limit.

python benchmarks/everyday_growth.py [--quick]
"""

from __future__ import annotations

import csv
import json
import os
import re
import subprocess
import sys
import tempfile
from dataclasses import dataclass
from pathlib import Path

import numpy as np
from everyday_bank import Way, job, made
from results import Report, run_parts, table

PARTS = {"methods": "what doubles when the table doubles"}
SHARES = (0.125, 0.25, 0.5, 1.0)
QUICK_SHARES = (0.1, 0.2)
LIMIT_S, QUICK_LIMIT_S = 60, 20


@dataclass(frozen=True)
class Grown:
    """A table of the bank, the dimension whose codes are left out, the way it is protected, and whether its cells at risk are looked for."""

    table: str
    dimension: str
    way: Way
    risk: bool


CASES = (
    Grown("census4", "mun", Way("round", 'base = 5\ngoal = "any"\nmax_steps = 3'), risk=False),
    Grown("census4", "mun", Way("perturb", "base = 5"), risk=False),
    Grown("business2", "division", Way("round", "base = 1000"), risk=False),
    Grown("business2", "division", Way("adjust", 'norm = "l1"'), risk=True),
    Grown("business2", "division", Way("adjust", 'norm = "l2"'), risk=True),
)
MEASURED = """
import json, resource, sys, time
from pathlib import Path
from cellward.job import Job
began, phases = time.perf_counter(), []
job = Job.read(sys.argv[1])
budget = job.budget()
budget.watch.listener = lambda told: phases.append((told.phase, time.perf_counter()))
table, status = job.table(budget), "failed"
try:
    result = job.protect(table, budget)
    budget.enter("showing levels")
    if result.releasable:
        job.write(table, result, budget)
    status = result.status
finally:
    phases.append(("", time.perf_counter()))
    own = int(Path("/proc/self/status").read_text().split("VmHWM:")[1].split()[0]) / 1024
    from cellward.solve import worker
    worker.shut_down()
    child = resource.getrusage(resource.RUSAGE_CHILDREN).ru_maxrss / 1024
    spent = {}
    for (phase, at), (_, until) in zip(phases, phases[1:]):
        spent[phase] = spent.get(phase, 0.0) + until - at
    print(json.dumps({"status": status, "cells": table.cells, "spent": spent, "memory": own + child}))
"""


def cut(bank: Path, grown: Grown, share: float, folder: Path, limit_s: float) -> Path:
    """The job on a part of the table: that share of the codes of the hierarchy's lowest level, spread over all of it, and their records."""
    path = job(bank, grown.table, grown.way, limit_s, folder)
    if not grown.risk:
        path.write_text(re.sub(r"\[risk\]\n[^\[]*", "", path.read_text()))
    groups: list[list[str]] = []
    for line in (folder / f"{grown.dimension}.hrc").read_text().splitlines():
        if line.startswith("@"):
            groups[-1].append(line)
        else:
            groups.append([line])
    leaves = [line for group in groups for line in group[1:]]
    codes = {line.lstrip("@") for k, line in enumerate(leaves) if int((k + 1) * share) > int(k * share)}
    kept = [[group[0], *(line for line in group[1:] if line.lstrip("@") in codes)] for group in groups]
    (folder / f"{grown.dimension}.hrc").write_text("\n".join(line for own in kept if own[1:] for line in own) + "\n")
    with (folder / "records.csv").open(newline="") as file:
        rows = list(csv.DictReader(file))
    with (folder / "records.csv").open("w", newline="") as file:
        writer = csv.DictWriter(file, list(rows[0]))
        writer.writeheader()
        writer.writerows(row for row in rows if row[grown.dimension] in codes)
    return path


def measured(path: Path) -> dict[str, object]:
    """Run a job and tell its cells, its seconds by phase and its memory."""
    env = {**os.environ, "PYTHONPATH": os.pathsep.join(one for one in sys.path if one)}
    done = subprocess.run(
        [sys.executable, "-c", MEASURED, str(path)], capture_output=True, text=True, check=False, env=env
    )
    if not done.stdout:
        return {"status": done.stderr.strip().splitlines()[-1], "cells": 0, "spent": {}, "memory": 0.0}
    return dict(json.loads(done.stdout.splitlines()[-1]))


def exponent(sizes: list[float], amounts: list[float]) -> str:
    """The slope of the amounts on the sizes, both in logarithms."""
    if len(sizes) < 2 or min(amounts) <= 0:
        return "–"
    return f"{np.polyfit(np.log(sizes), np.log(amounts), 1)[0]:.2f}"


def figures(report: Report, part: str, *, quick: bool) -> None:  # noqa: ARG001 (one part)
    """Every case at every size."""
    rows: list[list[object]] = []
    with tempfile.TemporaryDirectory() as place:
        bank = made(Path(place), 0)
        for grown in CASES[-2:] if quick else CASES:
            runs = []
            for share in QUICK_SHARES if quick else SHARES:
                with tempfile.TemporaryDirectory(dir=place) as own:
                    path = cut(bank, grown, share, Path(own) / "job", QUICK_LIMIT_S if quick else LIMIT_S)
                    runs.append(measured(path))
                print(grown.table, grown.way, share, runs[-1], flush=True)
            ended = [one for one in runs if one["status"] in ("optimal", "feasible")]
            report.require(ended, f"{grown.table}, {grown.way}: no size ends")
            sizes = [float(one["cells"]) for one in ended]  # type: ignore[arg-type]
            seconds = {
                what: [float(sum(one["spent"].get(phase, 0.0) for phase in phases)) for one in ended]  # type: ignore[attr-defined]
                for what, phases in (
                    ("before", ("reading", "finding cells at risk", "finding attackers")),
                    ("solving", ("solving",)),
                    ("after", ("showing levels", "certifying", "writing")),
                )
            }
            memory = [float(one["memory"]) for one in ended]  # type: ignore[arg-type]
            at = " → ".join
            rows.append(
                [f"`{grown.table}`, {grown.way}", at(f"{x:,.0f}" for x in sizes),
                 *(f"{at(f'{x:.2f}' for x in own)} s, **{exponent(sizes, own)}**" for own in seconds.values()),
                 f"{at(f'{x:.0f}' for x in memory)} MB, **{exponent(sizes, memory)}**",
                 ", ".join(str(one["status"]) for one in runs if one not in ended) or "none"]
            )  # fmt: skip
    head = [
        "table, method",
        "cells",
        "reading, finding",
        "solving",
        "showing, certifying, writing",
        "memory",
        "not ended",
    ]
    report.add(
        f"Seconds at each size and **the exponent** (2^e: how many times longer for twice the cells); limit {LIMIT_S} s a size. Counts without cells "
        "at risk, magnitudes as marked in the bank.\n\n" + table(head, rows)
    )


if __name__ == "__main__":
    sys.exit(run_parts("everyday_growth.py", "Growth on everyday tables", PARTS, figures, __doc__))
