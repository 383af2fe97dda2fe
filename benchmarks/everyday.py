"""Everyday tables: the bank of shared/everyday, protected by every method in a minute each (beside CP-SAT alone: everyday_rival.py).

python benchmarks/everyday.py                         all tables at seeds 0 to 2: some hours; writes RESULTS.md; exits 1 when one falls short
python benchmarks/everyday.py --seed 0 --table town   only these; repeatable; rows of RESULTS.md that were not run again stay
python benchmarks/everyday.py --only-first            only the seconds to first answers
python benchmarks/everyday.py --quick                 three small tables, not judged by the clock; writes nothing

Each task is a job run by the command line in a process of its own, 60 s from reading the records to writing the release, two threads; what is
released is verified by `cellward verify`. It must end with a released and verified table, its steps stated, or with the proof that there is none.
"""

from __future__ import annotations

import argparse
import csv
import json
import os
import subprocess
import sys
import tempfile
import time
from collections.abc import Iterator
from dataclasses import dataclass, field
from pathlib import Path
from typing import Any

from everyday_bank import COUNTS, MAGNITUDES, Way, job, made
from fixed_keys import key_file
from results import rows_of, section_of, table, write_section

import cellward as cw

LIMIT_S, SMALL_S, ADVICE_S = 60, 20, 60
SEEDS = (0, 1, 2)
KEYS = ("everyday", "everyday 2", "everyday 3")
WITHOUT = "ignore_levels = true"
FOR_COUNTS = (
    *(Way("round", f"base = {base}\n{WITHOUT}") for base in (3, 5, 10)),
    Way("round", "base = 5"),
    Way("perturb", "base = 10"),
)
ADJUSTMENTS = tuple(Way("adjust", f'norm = "{norm}"') for norm in ("l1", "l2"))
QUICK = ("town", "survey", "net_positions")
NEAR = {"census4": 0.01, "small_areas": 0.01, "health": 0.03, "school": 0.03}
"""How far above the bound roundings to base 5 may end."""
PEER = {
    ("census4", 5): (1.3, 22_080, 4.0, 13),
    ("census4", 3): (0.8, 12_288, 4.8, 6),
    ("health", 5): (2.6, 72_866, 5.3, 15),
    ("health", 3): (2.5, 41_616, 6.2, 7),
}
"""SmallCountRounding at seed 0: seconds, Σ|v − a|, share of cells a base or more off (%), largest."""


@dataclass(frozen=True)
class Task:
    """A table at a seed, a method, and the key of its draws."""

    table: str
    seed: int
    way: Way
    key: str = KEYS[0]
    limit_s: int = LIMIT_S

    def __str__(self) -> str:
        return f"{self.table} (seed {self.seed}), {self.way}"


@dataclass(frozen=True)
class Ended:
    """How a task ended: the summary that the command line gives, its seconds and peak memory, and whether the release verifies."""

    task: Task
    said: dict[str, Any]
    code: int
    seconds: float
    peak_mb: float
    verified: bool
    off: list[tuple[int, float]] = field(default_factory=list)
    words: str = ""

    @property
    def status(self) -> str:
        return str(self.said.get("status", {2: "refused", 3: "failed"}.get(self.code, f"exit code {self.code}")))

    @property
    def released(self) -> bool:
        return self.code == 0 and self.verified

    @property
    def holds(self) -> bool:
        """A released, verified table, or the proof that there is none."""
        return self.released or (self.code == 1 and self.status == "infeasible")

    @property
    def gap(self) -> float | None:
        gap = self.said.get("gap")
        return None if gap is None else float(gap)


def tasks_of(name: str, seed: int) -> Iterator[Task]:
    """What is tried on a table, but for what needs the adviser first."""
    if name in COUNTS:
        yield from (Task(name, seed, way) for way in FOR_COUNTS)
    else:
        yield from (Task(name, seed, way, key) for way in ADJUSTMENTS for key in KEYS)


MEASURED = """
import resource
from cellward.cli import main
try:
    main()
finally:
    import sys
    print(max(resource.getrusage(who).ru_maxrss for who in (resource.RUSAGE_SELF, resource.RUSAGE_CHILDREN)), file=sys.stderr)
"""
"""The command line, which says at the very end how much memory it or a worker of it held."""


def program(*arguments: object) -> tuple[subprocess.CompletedProcess[str], float, float]:
    """The command line, its seconds and its peak memory in megabytes."""
    paths = os.pathsep.join(path for path in sys.path if path)
    began = time.perf_counter()
    done = subprocess.run(
        [sys.executable, "-c", MEASURED, *map(str, arguments)],
        capture_output=True, text=True, check=False, env={**os.environ, "PYTHONPATH": paths},
    )  # fmt: skip
    seconds = time.perf_counter() - began
    *said, peak = done.stderr.strip().splitlines()
    done.stderr = "\n".join(said)
    return done, seconds, int(peak) / 1024


def run(task: Task, bank: Path, place: Path) -> Ended:
    """Run a task in a new folder and verify what it releases."""
    with tempfile.TemporaryDirectory(dir=place) as inner:
        path = job(bank, task.table, task.way, task.limit_s, Path(inner) / task.table)
        key_file(path.parent / "key", task.key)
        text = path.read_text().replace('key_file = "key"', 'key_file = "key"\nthreads = 2')
        if WITHOUT in text:  # nothing is at risk then, so that nothing can be given away
            text = text.replace(WITHOUT, "").replace('[risk]\npolicy = "default for counts"\n', "")
        path.write_text(text)
        done, seconds, peak = program("run", path, "--json")
        try:
            said = json.loads(done.stdout.splitlines()[-1])
        except (ValueError, IndexError):
            said = {}
        if (release := path.parent / "out" / "release.json").exists():
            said["method"] = json.loads(release.read_text())["method"]
        verified = done.returncode == 0 and program("verify", path.parent / "out")[0].returncode == 0
        off = _deviations(path.parent / "out") if verified else []
    words = (done.stderr.strip().splitlines() or [""])[-1]
    return Ended(task, said, done.returncode, seconds, peak, verified, off, words)


def _deviations(folder: Path) -> list[tuple[int, float]]:
    """The published values beside the true ones, as the confidential table of the job has them: (1 for a sum, |v − a|) of each cell."""
    columns, published = _values(folder / "release.csv")
    _, true = _values(folder.parent / "table.csv", columns)
    return [(int("Total" in codes), abs(v - true[codes])) for codes, v in published.items() if codes in true]


def _values(path: Path, columns: list[str] | None = None) -> tuple[list[str], dict[tuple[str, ...], float]]:
    """The names of the columns of codes, which are all but the value unless given, and the value of each cell."""
    if not path.exists():
        return [], {}
    with path.open(newline="") as file:
        rows = csv.DictReader(file)
        columns = columns or [name for name in rows.fieldnames or [] if name != "value"]
        return columns, {tuple(row[name] for name in columns): float(row["value"]) for row in rows if row.get("value")}


def near(one: Ended) -> bool:
    """Whether a rounding is as near to the bound as is asked of it."""
    most = NEAR.get(one.task.table)
    if most is None or "base = 5\nignore_levels" not in one.task.way.options or not one.released:
        return True
    return one.gap is not None and one.gap <= most


def line(one: Ended) -> list[str]:
    """One line of the table, bold where it falls short."""
    steps = one.said.get("method", {}).get("steps", "")
    steps = f"1 to {max(steps)}" if isinstance(steps, list) else str(steps)
    sums = [d for is_sum, d in one.off if is_sum]
    leaves = [d for is_sum, d in one.off if not is_sum]
    gap = "" if one.gap is None else f"{100 * one.gap:.2f} %"
    return [
        one.task.table, str(one.task.seed), str(one.task.way), one.task.key, one.status if one.holds else f"**{one.status}**", steps,
        gap if near(one) else f"**{gap}**", f"{sum(sums):,.0f}" if sums else "", f"{sum(leaves):,.0f}" if leaves else "",
        f"{one.seconds:.1f} s", f"{one.peak_mb:,.0f} MB",
    ]  # fmt: skip


HEAD = [
    "table", "seed", "method", "key", "ends", "steps", "above the bound", "Σ|v−a| of sums", "of leaves", "time", "memory",
]  # fmt: skip
SMALL_HEAD = ["table", "base", "Σ|v−a|", "SmallCountRounding", "less", "a base or more off", "its", "largest", "its", "time", "its"]  # fmt: skip
SCRIPT = "everyday.py"


def with_kept(rows: list[list[str]], head: list[str], key: int) -> list[list[str]]:
    """These rows and those of earlier runs that were not run again (the first ``key`` entries name a row), in the bank's order."""
    known = {_named(row[:key]): row for row in [*rows_of(section_of(SCRIPT), head), *rows]}
    order = [*COUNTS, *MAGNITUDES]
    return sorted(known.values(), key=lambda row: (order.index(row[0]), row[1]))


def _named(entries: list[str]) -> tuple[str, ...]:
    """What names a row: of what the adviser proposes for magnitudes the method alone, since he may propose another base the next time."""
    advised_ = entries[0] in MAGNITUDES and not entries[2].startswith("adjust")
    return tuple(entry.split()[0] if advised_ and k == 2 else entry for k, entry in enumerate(entries))


def short_of(row: list[str]) -> bool:
    """Whether a row falls short somewhere."""
    return any(entry.startswith("**") for entry in row)


def small(tables: list[str], place: Path) -> list[list[str]]:
    """Small counts only, beside SmallCountRounding's figures; bold where less than a tenth is saved."""
    rows: list[list[str]] = []
    for (name, base), (seconds, loss, share, largest) in PEER.items():
        if name not in tables:
            continue
        task = Task(name, 0, Way("round", f'base = {base}\nonly = "small"\n{WITHOUT}'), limit_s=SMALL_S)
        one = run(task, made(place, 0), place)
        ours = sum(d for _, d in one.off)
        far = 100 * sum(d >= base for _, d in one.off) / max(len(one.off), 1)
        most = max((d for _, d in one.off), default=0.0)
        saved = f"{100 * (1 - ours / loss):.1f} %" if one.released else one.status
        rows.append(
            [name, str(base), f"{ours:,.0f}", f"{loss:,}", saved if one.released and ours <= 0.9 * loss else f"**{saved}**", f"{far:.1f} %",
             f"{share} %", f"{most:.0f}", str(largest), f"{one.seconds:.1f} s", f"{seconds} s"]
        )  # fmt: skip
        print(" | ".join(rows[-1]), flush=True)
    return rows


FIRST_S, TIMES_PEER = 5.0, 3.0
"""Seconds to a first rounding of census4 to base 5; and to a first answer for small counts only, in those of SmallCountRounding."""
FIRST_HEAD = ["table, first answer", "base", "rounded", "steps of it", "Σ|v−a| of it", "after", "asked"]


def firsts(place: Path) -> list[list[str]]:
    """Seconds from a table at hand to a first answer, and for roundings of all counts to one with neighbouring multiples."""
    rows: list[list[str]] = []
    asked = [
        ("census4", 5, "all", FIRST_S),
        *((name, base, "small", TIMES_PEER * own[0]) for (name, base), own in PEER.items()),
    ]
    for name, base, only, most in asked:
        path = job(made(place, 0), name, Way("round", f"base = {base}"), None, place / f"first {name} {base} {only}")
        path.write_text(path.read_text().replace('[risk]\npolicy = "default for counts"\n', ""))
        source = cw.Job.read(path).table()
        began, seen = time.perf_counter(), list[tuple[float, float]]()

        def heard(standing: cw.Standing, began: float = began, seen: list[tuple[float, float]] = seen) -> None:
            if standing.incumbent is not None:
                seen.append((time.perf_counter() - began, standing.incumbent))

        steps = 1 if only == "all" else "auto"
        method = cw.ControlledRounding(base=base, max_steps=steps, only=None if only == "all" else only)
        limit = LIMIT_S if only == "all" else SMALL_S
        method.protect(source, time_limit_s=limit, threads=2, progress=heard)
        after, loss = min(seen, default=(float(limit), float("nan")))
        took = f"{after:.1f} s"
        rows.append(
            [
                name,
                str(base),
                only,
                str(steps),
                f"{loss:,.0f}",
                took if after <= most else f"**{took}**",
                f"{most:.1f} s",
            ]
        )
        print(" | ".join(rows[-1]), flush=True)
    return rows


def advised(name: str, seed: int, bank: Path, place: Path) -> Iterator[Task]:
    """Roundings and perturbations of magnitudes at what the adviser says."""
    with tempfile.TemporaryDirectory(dir=place) as inner:
        path = job(bank, name, Way("round", "base = 1"), None, Path(inner) / name)
        done, _, _ = program("advise", path, "--json", "--time-limit-s", ADVICE_S)
    try:
        said = json.loads(done.stdout.splitlines()[-1])
    except (ValueError, IndexError):
        return
    if said.get("base") is not None:
        yield Task(name, seed, Way("round", f'base = "{said["base"]}"'))
    distance = said.get("distance") or said.get("least_distance")
    if distance is not None:
        yield Task(name, seed, Way("perturb", f'within = "{distance}"'))


def main() -> int:
    """The command line; 1 when something falls short."""
    parser = argparse.ArgumentParser(description=__doc__, formatter_class=argparse.RawDescriptionHelpFormatter)
    parser.add_argument("--quick", action="store_true")
    parser.add_argument("--seed", type=int, action="append")
    parser.add_argument("--table", choices=(*COUNTS, *MAGNITUDES), action="append")
    parser.add_argument("--way", help="only methods that are written with this text, such as base=5")
    parser.add_argument("--only-first", action="store_true", help="only the seconds to first answers")
    parser.add_argument("--only-small", action="store_true", help="only the part on small counts")
    options = parser.parse_args()
    tables = list(options.table or (QUICK if options.quick else (*COUNTS, *MAGNITUDES)))
    seeds = options.seed or ([0] if options.quick else list(SEEDS))
    rows: list[list[str]] = []
    few: list[list[str]] = []
    early: list[list[str]] = []
    with tempfile.TemporaryDirectory() as inner:
        place = Path(inner)
        for seed in () if options.only_small or options.only_first else seeds:
            for name in tables:
                tasks = list(tasks_of(name, seed))
                tasks = tasks[:: len(KEYS)] if options.quick and name in MAGNITUDES else tasks
                if name in MAGNITUDES and not options.quick and not (options.way or "").startswith("adjust"):
                    tasks += advised(name, seed, made(place, seed), place)
                for task in tasks:
                    if options.way is not None and options.way not in str(task.way):
                        continue
                    one = run(task, made(place, seed), place)
                    rows.append(line(one))
                    words = "" if one.holds else str(one.said.get("reason") or one.words)[:200]
                    print(" | ".join([*rows[-1], words]), flush=True)
                    if not options.quick:
                        save(with_kept(rows, HEAD, 4), with_kept(few, SMALL_HEAD, 2), early)
        if not options.quick and options.way is None and not options.only_first and 0 in seeds:
            few = small(tables, place)
            save(with_kept(rows, HEAD, 4), with_kept(few, SMALL_HEAD, 2), early)
        if not options.quick and options.way is None and not options.only_small and 0 in seeds:
            early = firsts(place)
            save(with_kept(rows, HEAD, 4), with_kept(few, SMALL_HEAD, 2), early)
    every = [*rows, *few, *early]
    short = sum(map(short_of, every))
    print(f"{len(every) - short} of {len(every)} hold")
    return 1 if short else 0


def save(rows: list[list[str]], few: list[list[str]], early: list[list[str]]) -> None:
    """Write the section; of first answers the last that were measured."""
    early = early or rows_of(section_of(SCRIPT), FIRST_HEAD)
    ends = sum(not row[4].startswith("**") for row in rows)
    counted = f"{ends} of {len(rows)} tasks end with a verified table or with the proof that there is none"
    runs = f"{LIMIT_S} s a task, two threads; {counted}. Bold: falls short."
    text = f"{runs}\n\n{table(HEAD, rows)}"
    if few:
        text += f'\n\n**Small counts only** (`only = "small"`, {SMALL_S} s a task, seed 0).\n\n{table(SMALL_HEAD, few)}'
    if early:
        text += f"\n\n**First answers** (seed 0, from a table at hand, within a search of {LIMIT_S} s, or {SMALL_S} s for small counts only).\n\n"
        text += table(FIRST_HEAD, early)
    write_section(SCRIPT, "Everyday tables", text)


if __name__ == "__main__":
    sys.exit(main())
