"""CP-SAT alone on everyday tables: the rounding to base 5 without levels, as a general solver gets it, beside what everyday.py has of the same table.

python benchmarks/everyday_rival.py            the tables of counts of which a distance to the bound is asked, seed 0, 60 s each; writes RESULTS.md
python benchmarks/everyday_rival.py --quick    the smallest of them; writes nothing

Eight workers on the cores there are, unit weights, every equation (without those that others imply it finds nothing), no start.
Exits 1 where CP-SAT alone has the nearer table.
"""

from __future__ import annotations

import argparse
import sys
import tempfile
from pathlib import Path

import measure  # noqa: F401  # isort: skip (finds the oracles)
import everyday
from everyday_bank import Way, job, made
from results import rows_of, section_of, table, write_section
from rounding_rivals import program

import cellward as cw
from cellward.solve.ask import ask
from cellward.solve.budget import Budget
from cellward.solve.cpsat import solve_cpsat

BASE, SEED, LIMIT_S, WORKERS = 5, 0, 60.0, 8
HEAD = ["table", "cells", "CP-SAT alone, Σ|v−a|", "its bound", "ours", "steps", "ours above our bound"]


def alone(name: str, place: Path) -> tuple[int, float | None, float]:
    """Cells, what CP-SAT finds (None: nothing) and its bound."""
    path = job(made(place, SEED), name, Way("round", f"base = {BASE}\n{everyday.WITHOUT}"), None, place / name)
    one = cw.Job.read(path).table()
    asked = program(one, BASE, implied=True)
    columns = len(asked.free)
    found = ask(solve_cpsat, asked.linear, columns=columns, budget=Budget(time_limit_s=LIMIT_S, threads=WORKERS))
    loss = None if found.x is None else asked.constant + float(asked.linear.cost @ found.x)
    return one.cells, loss, asked.constant + max(found.bound, -float(asked.constant))


def ours(name: str) -> list[str]:
    """Loss, steps and distance to the bound of the row that everyday.py has."""
    way = str(Way("round", f"base = {BASE}\n{everyday.WITHOUT}"))
    for row in rows_of(section_of(everyday.SCRIPT), everyday.HEAD):
        if row[:3] == [name, str(SEED), way]:
            loss = sum(int(entry.replace(",", "")) for entry in row[7:9] if entry)
            return [f"{loss:,}", row[5], row[6].strip("*")]
    return ["", "", ""]


def main() -> int:
    """The command line; 1 when something falls short."""
    parser = argparse.ArgumentParser(description=__doc__, formatter_class=argparse.RawDescriptionHelpFormatter)
    parser.add_argument("--quick", action="store_true")
    quick, rows, short = parser.parse_args().quick, list[list[str]](), list[str]()
    with tempfile.TemporaryDirectory() as inner:
        for name in ("town",) if quick else everyday.NEAR:
            cells, loss, bound = alone(name, Path(inner))
            mine = ours(name)
            said = "nothing" if loss is None else f"{loss:,.0f}"
            rows.append([name, f"{cells:,}", said, f"{bound:,.0f}", *mine])
            print(" | ".join(rows[-1]), flush=True)
            if loss is not None and mine[0] and int(mine[0].replace(",", "")) > loss:
                short.append(f"{name}: CP-SAT alone finds {loss:,.0f}")
    verdict = f"**Falls short:** {'; '.join(short)}" if short else "**Everything holds.**"
    if not quick:
        text = f"Base {BASE}, seed {SEED}, {LIMIT_S:.0f} s, {WORKERS} workers; ours are the rows of everyday.py (two threads)."
        write_section(
            "everyday_rival.py", "Everyday tables: CP-SAT alone", f"{verdict}\n\n{text}\n\n{table(HEAD, rows)}"
        )
    print(verdict)
    return 1 if short else 0


if __name__ == "__main__":
    sys.exit(main())
