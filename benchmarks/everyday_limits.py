"""Time limits on everyday tables: jobs with limits of 1, 5 and 20 s end by them, and none calls a table impossible that a longer run finds.

Each task is a job of the bank (shared/everyday) run by the command line in a process of its own, from reading the records to writing the release.
What it takes beyond its limit is measured by the clock from when the program is loaded; at most a second and a tenth of the limit are allowed. Where
a task says `infeasible`, the same job is run again with a minute more.

python benchmarks/everyday_limits.py [--quick] [--tasks N]
"""

from __future__ import annotations

import argparse
import json
import os
import random
import subprocess
import sys
import tempfile
from collections.abc import Iterator
from dataclasses import dataclass
from pathlib import Path

from everyday_bank import COUNTS, MAGNITUDES, Way, job, made
from results import Report, table, write_section

LIMITS = (1, 5, 20)
SEEDS = (0, 1, 2)
TASKS = 300
QUICK = (("town", "round", 1), ("town", "perturb", 1), ("survey", "adjust", 1), ("census4", "round", 1))
LONGER_S = 60
ALLOWED_S, ALLOWED_SHARE = 1.0, 0.1
FOR_COUNTS = (
    Way("round", "base = 5"),
    Way("round", 'base = 5\nignore_levels = true\ngoal = "any"'),
    Way("perturb", "base = 10"),
)
FOR_MAGNITUDES = (Way("adjust", 'norm = "l1"'), Way("adjust", 'norm = "l2"'), Way("round", "base = 1000"))


@dataclass(frozen=True)
class Task:
    """A table at a seed, the way it is protected, and the limit."""

    table: str
    seed: int
    way: Way
    limit_s: int

    def __str__(self) -> str:
        return f"{self.table} (seed {self.seed}), {self.way}, {self.limit_s} s"


@dataclass(frozen=True)
class Ended:
    """How a task ended: its word, its seconds, and what was said."""

    task: Task
    status: str
    seconds: float
    said: str

    @property
    def beyond(self) -> float:
        """Seconds beyond the limit."""
        return self.seconds - self.task.limit_s

    @property
    def allowed(self) -> bool:
        return self.beyond <= ALLOWED_S + ALLOWED_SHARE * self.task.limit_s


def every() -> list[Task]:
    """All tasks, in an order of their own, so that the first of them are a sample."""
    ways = [(name, way) for name in COUNTS for way in FOR_COUNTS]
    ways += [(name, way) for name in MAGNITUDES for way in FOR_MAGNITUDES]
    tasks = [Task(name, seed, way, limit) for name, way in ways for seed in SEEDS for limit in LIMITS]
    random.Random(18).shuffle(tasks)
    return tasks


def quick_ones() -> Iterator[Task]:
    for name, word, limit in QUICK:
        ways = FOR_COUNTS if name in COUNTS else FOR_MAGNITUDES
        yield Task(name, 0, next(way for way in ways if way.name == word), limit)


TIMED = """
import sys, time
from cellward.cli import main
began = time.perf_counter()
try:
    main()
finally:
    print(f"\\n{time.perf_counter() - began}", file=sys.stderr)
"""
"""The command line, which says at the very end how long it took."""


def command(*arguments: object) -> tuple[subprocess.CompletedProcess[str], list[str], float]:
    """The command line, what it said on standard error, and its seconds."""
    paths = os.pathsep.join(path for path in sys.path if path)
    done = subprocess.run(
        [sys.executable, "-c", TIMED, *map(str, arguments)], capture_output=True, text=True, check=False,
        env={**os.environ, "PYTHONPATH": paths},
    )  # fmt: skip
    *said, seconds = done.stderr.strip().splitlines()
    return done, [line for line in said if line], float(seconds)


def run(task: Task, bank: Path, folder: Path, limit_s: float | None = None) -> Ended:
    """Run a task in a new folder; ``limit_s``: another limit than its own."""
    with tempfile.TemporaryDirectory(dir=folder) as place:
        path = job(bank, task.table, task.way, limit_s or task.limit_s, Path(place) / task.table)
        done, said, seconds = command("run", path, "--json")
    try:
        status = json.loads(done.stdout.splitlines()[-1])["status"]
    except (ValueError, IndexError, KeyError):
        status = {1: "not protected", 2: "refused", 3: "failed"}.get(done.returncode, f"exit code {done.returncode}")
    status = status if done.returncode in (0, 1, 3) or status != "optimal" else f"exit code {done.returncode}"
    return Ended(task, status, seconds, said[-1] if said else "")


def figures(report: Report, tasks: list[Task], *, judged: bool) -> None:
    """Run the tasks; ``judged``: by the clock too."""
    with tempfile.TemporaryDirectory() as place:
        folder = Path(place)
        ended = []
        for k, task in enumerate(tasks, start=1):
            one = run(task, made(folder, task.seed), folder)
            ended.append(one)
            print(f"{k}/{len(tasks)} {task}: {one.status}, {one.beyond:+.1f} s {one.said[:160]}", flush=True)
            report.require(not one.status.startswith("exit code"), f"{task} ends with {one.status}: {one.said}")
            if judged:
                report.require(one.allowed, f"{task} ends {one.beyond:.1f} s late")
        for one in ended:
            if one.status == "infeasible":
                longer = run(one.task, made(folder, one.task.seed), folder, one.task.limit_s + LONGER_S)
                said = f"{one.task} is called infeasible, and {longer.status} with {LONGER_S} s more"
                report.require(longer.status not in ("optimal", "feasible"), said)
    rows: list[list[object]] = []
    for limit in sorted({task.limit_s for task in tasks}):
        mine = [one for one in ended if one.task.limit_s == limit]
        words = [one.status for one in mine]
        late = sorted(one.beyond for one in mine)
        rows.append(
            [f"{limit} s", len(mine), *(words.count(word) for word in ("optimal", "feasible", "infeasible", "not protected", "failed", "refused")),
             f"{late[len(late) // 2]:+.1f} s", f"**{late[-1]:+.1f} s**", f"{ALLOWED_S + ALLOWED_SHARE * limit:.1f} s"]
        )  # fmt: skip
    head = [
        "limit",
        "tasks",
        "optimal",
        "feasible",
        "infeasible",
        "not protected",
        "failed",
        "refused",
        "beyond it, middle",
        "most",
        "allowed",
    ]
    report.add(
        f"{len(tasks)} of {len(every())} tasks (fourteen tables at seeds {', '.join(map(str, SEEDS))}; counts: rounding with levels, any rounding "
        f"without, perturbation; magnitudes: adjustment L1 and L2, rounding), one after the other, each in a process of its own.\n\n"
        + table(head, rows)
    )


def main() -> int:
    """The command line; 1 when something falls short."""
    parser = argparse.ArgumentParser(description=__doc__, formatter_class=argparse.RawDescriptionHelpFormatter)
    parser.add_argument("--quick", action="store_true", help="four tasks, not judged by the clock; nothing is written")
    parser.add_argument("--tasks", type=int, default=TASKS, help="how many, of a fixed order")
    options = parser.parse_args()
    report = Report()
    tasks = list(quick_ones()) if options.quick else every()[: options.tasks]
    figures(report, tasks, judged=not options.quick)
    if not options.quick:
        body = "\n\n".join([report.verdict, *report.sections])
        write_section("everyday_limits.py", "Time limits on everyday tables", body)
    print(report.verdict)
    return 1 if report.short else 0


if __name__ == "__main__":
    sys.exit(main())
