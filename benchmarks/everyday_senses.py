"""Everyday senses: adjustments of everyday tables of magnitudes with many keys, and random small tables against all combinations of senses.

    python benchmarks/everyday_senses.py            business2 with 20 keys, the others with 3 and two norms, 400 small tables; writes RESULTS.md
    python benchmarks/everyday_senses.py --quick    business2 with 2 keys, 60 small tables; writes nothing

The tables are made by everyday/make.py of the shared folder (CELLWARD_SHARED says where that is). Every result has to be released, or proven to be
impossible; on small tables both are held against an exact linear program for every combination of senses. Exits 1 where something falls short.
"""

from __future__ import annotations

import argparse
import subprocess
import sys
import tempfile
import time
from collections import Counter
from pathlib import Path

import numpy as np

import measure  # noqa: F401  # isort: skip (finds the oracles)
import every_sense
import hard_senses
from fixed_keys import key_of
from results import SHARED, Report, table, write_section

import cellward as cw

LIMIT_S, FIRST_S, THREADS = 60.0, 5.0, 2
OTHERS = ("survey", "net_positions", "research", "linked", "energy", "business3", "trade")
HEAD = [
    "table", "cells", "at risk and sums", "norm", "keys", "released", "turned", "processor s", "s", "largest change, not at risk", "headlines moved",
]  # fmt: skip


def made(seed: int, folder: Path) -> Path:
    """The bank of everyday tables of this seed."""
    subprocess.run([sys.executable, SHARED / "everyday" / "make.py", folder, str(seed)], check=True)
    return folder


def adjusted(report: Report, bank: Path, name: str, norm: str, keys: int) -> list[object]:
    """One line: a table adjusted with several keys."""
    source = cw.Job.read(bank / name / "table.toml").table()
    safe = np.ones(source.cells, bool)
    safe[source.sensitivity.levels.cell] = False
    released, turned, spent, passed, change, moved = 0, [], [], [], [], 0
    for k in range(keys):
        began, used = time.perf_counter(), time.process_time()
        p = cw.ControlledAdjustment(norm=norm).protect(source, key=key_of(k), time_limit_s=LIMIT_S, threads=THREADS)
        passed.append(time.perf_counter() - began)
        spent.append(time.process_time() - used)
        report.require(p.publication is not None, f"{name}, {norm}, key {k}: {p.status}, {p.reason}")
        if p.publication is None:
            continue
        released += bool(p.release())
        turned.append(p.details.flipped)
        away = np.abs(p.scaled - p.instance.a) / np.maximum(np.abs(p.instance.a), 1)
        change.append(float(away[safe].max(initial=0.0)))
        moved += any("headline totals that moved" in note for note in cw.ControlledAdjustment.notes(p))
    if name == "business2":
        report.require(
            max(spent) <= FIRST_S, f"{name}, {norm}: {max(spent):.1f} s of processor time where {FIRST_S} are the aim"
        )
    many = len(source.sensitivity.levels)
    risk = f"{many:,} and {len(source.sensitivity.sums)}"
    share = f"{min(turned, default=0):,} to {max(turned, default=0):,}"
    return [name, f"{source.cells:,}", risk, norm, keys, f"{released} of {keys}", share, f"{max(spent):.1f}", f"{max(passed):.1f}",
            f"{max(change, default=0):.0%}", f"{moved} of {keys}"]  # fmt: skip


def small_tables(report: Report, many: int) -> str:
    """Random small tables against every combination of senses."""
    seen: Counter[str] = Counter()
    for seed in range(many):
        source, options, fixed = hard_senses.hard_case(seed)
        p = cw.ControlledAdjustment(**options).protect(source, key=key_of(seed))
        boxes = list(every_sense.boxes(source, fixed=fixed, zeros_stay=options["zeros_stay"]))
        some = any(every_sense.goes(source, box) for box in boxes)
        found = p.publication is not None
        if found:
            seen["adjusted"] += 1
            report.require(p.protected and some, f"small table {seed}: adjusted where nothing goes")
        elif p.status == "infeasible":
            seen["proven impossible"] += 1
            report.require(not some, f"small table {seed}: called infeasible, and some senses go")
        else:
            seen["failed"] += 1
            whole = any(every_sense.goes_whole(source, box) for box in boxes)
            report.require(not whole, f"small table {seed}: failed, and a whole table exists")
    words = ", ".join(f"{count:,} {word}" for word, count in sorted(seen.items()))
    return f"Small tables, {many:,}, against all combinations of senses in exact arithmetic: {words}; none was called infeasible falsely."


def main() -> int:
    """Run what is asked for."""
    parser = argparse.ArgumentParser(description=__doc__)
    parser.add_argument("--quick", action="store_true", help="few keys and tables; write nothing")
    parser.add_argument("--seed", type=int, default=0, help="of the bank of tables")
    given = parser.parse_args()
    report, rows = Report(), []
    with tempfile.TemporaryDirectory() as folder:
        bank = made(given.seed, Path(folder))
        rows.append(adjusted(report, bank, "business2", "l1", 2 if given.quick else 20))
        for name in () if given.quick else ("business2", *OTHERS):
            for norm in ("l1", "l2"):
                if (name, norm) != ("business2", "l1"):
                    rows.append(adjusted(report, bank, name, norm, 3))
                    print(rows[-1], flush=True)
    report.add(table(HEAD, rows))
    report.add(small_tables(report, 60 if given.quick else 400))
    if not given.quick:
        body = "\n\n".join(report.sections)
        tail = f"\n\nLimit {LIMIT_S:.0f} s, {THREADS} threads, bank of seed {given.seed}; times are the longest of the keys."
        short = "".join(f"\n- Falls short: {one}" for one in report.short)
        write_section("everyday_senses.py", "Senses of everyday tables", f"{body}{tail}{short and chr(10) + short}")
    return 1 if report.short else 0


if __name__ == "__main__":
    sys.exit(main())
