"""The rival τ-ARGUS: one table rounded by its controlled rounder (pytauargus), in a child process, and checked.

    a, M   cell values and equations: Σ coef · a[cell] = rhs, margins being cells like any other
    v      the rounded values: multiples of the base, v[i] in {⌊a[i]⌋, ⌈a[i]⌉}, with Σ coef · v[cell] = rhs

The rounder minimises Σ|v − a|. It is driven with a JJ file because pytauargus' own `Engine` refuses small bases.
"""

from __future__ import annotations

import json
import re
import signal
import subprocess
import sys
import tempfile
import time
from collections.abc import Sequence
from dataclasses import dataclass
from pathlib import Path

Equation = tuple[int, Sequence[int], Sequence[int]]  # rhs, cells, coefficients

MEAN_ROW_MAX = 30  # with longer rows on average the rounder corrupts its memory; empty rows bring the mean down
STARTUP_ALLOWANCE_S = 30.0
SOLVER_CONSTANTS = {101: 1e-7, 102: 2.14e13, 103: 1e-4, 104: 0.01}  # as pytauargus sets them: JJZERO, JJINF, ...

SOLUTION_LINE = re.compile(r"^\s*(\d+) from\s+\S+ to\s+(\S+)\s*$", re.MULTILINE)
BOUNDS = re.compile(r"UB = (\S+); LB = (\S+)")


@dataclass(frozen=True)
class PeerResult:
    """What the peer achieved: `values` only if they passed our check, `seconds` of the rounding call alone.

    `status` is `optimal` (the peer's bounds meet), `feasible`, `time limit`, or begins with `crash`, `failed`
    (the peer said so) or `invalid` (the peer said it succeeded, and its table is not a rounding of ours).
    """

    values: list[int] | None
    seconds: float
    status: str

    def distance(self, a: Sequence[int]) -> int | None:
        """Σ|v − a|, or None without a table."""
        return None if self.values is None else sum(abs(v - x) for v, x in zip(self.values, a, strict=True))


def round_with_tauargus(
    values: Sequence[int], equations: Sequence[Equation], base: int, time_limit_s: float
) -> PeerResult:
    """Round an additive, non-negative table to multiples of `base` as τ-ARGUS does, all weights being 1."""
    if base < 1 or time_limit_s <= 0:
        raise ValueError(f"base {base} and time limit {time_limit_s} s must be positive")
    if any(a < 0 for a in values):
        raise ValueError("a cell is negative: the JJ file gives every cell the lower bound 0")
    if (row := _broken_equation(values, equations)) is not None:
        raise ValueError(f"equation {row} does not hold: the table to round must be additive")

    with tempfile.TemporaryDirectory(prefix="tauargus") as name:
        folder = Path(name)
        (folder / "in.jj").write_text(_jj(values, equations, base), encoding="ascii")
        command = [sys.executable, str(Path(__file__).resolve()), str(base), str(time_limit_s)]
        try:
            child = subprocess.run(
                command, cwd=folder, capture_output=True, text=True, errors="replace", check=False,
                timeout=time_limit_s + STARTUP_ALLOWANCE_S,
            )  # fmt: skip
        except subprocess.TimeoutExpired:
            return PeerResult(None, time_limit_s, "time limit")
        if child.returncode == -signal.SIGALRM:
            return PeerResult(None, time_limit_s, "time limit")

        # The peer may die while it is torn down, its answer being complete: the answer decides, not the exit code.
        answer = folder / "answer.json"
        if not answer.exists():
            last = (child.stderr.strip().splitlines() or ["no message"])[-1]
            return PeerResult(None, 0.0, f"crash: exit code {child.returncode}: {last}")
        outcome = json.loads(answer.read_text(encoding="ascii"))
        seconds = outcome["seconds"]
        if outcome["result"] != 0:
            return PeerResult(None, seconds, f"failed: result {outcome['result']}, error {outcome['error']}")
        solution = folder / "out.txt"
        text = solution.read_text(encoding="utf-8", errors="replace") if solution.exists() else ""

    rounded = {int(cell): float(value) for cell, value in SOLUTION_LINE.findall(text)}
    if sorted(rounded) != list(range(len(values))):
        return PeerResult(None, seconds, f"invalid: {len(rounded)} of {len(values)} cells came back")
    v = [round(rounded[cell]) for cell in range(len(values))]
    if wrong := sum(x not in (a // base * base, -(-a // base) * base) for x, a in zip(v, values, strict=True)):
        return PeerResult(None, seconds, f"invalid: {wrong} cells are not their value rounded down or up")
    if (row := _broken_equation(v, equations)) is not None:
        return PeerResult(None, seconds, f"invalid: equation {row} is not additive")
    bounds = BOUNDS.search(child.stdout)
    proven = bounds is not None and abs(float(bounds[1]) - float(bounds[2])) < 0.5
    return PeerResult(v, seconds, "optimal" if proven else "feasible")


def _broken_equation(values: Sequence[int], equations: Sequence[Equation]) -> int | None:
    for row, (rhs, cells, coefs) in enumerate(equations):
        if sum(q * values[cell] for cell, q in zip(cells, coefs, strict=True)) != rhs:
            return row
    return None


def _jj(values: Sequence[int], equations: Sequence[Equation], base: int) -> str:
    ub = 10 * (max(values, default=0) + base)
    lines = [f"{i} {a} 1 s 0 {ub} 0 0 0" for i, a in enumerate(values)]
    rows = [
        f"{rhs} {len(cells)} : " + " ".join(f"{i} ({q})" for i, q in zip(cells, coefs, strict=True))
        for rhs, cells, coefs in equations
    ]
    entries = sum(len(cells) for _, cells, _ in equations)
    # At least two rows: the rounder dislikes a lone one (pytauargus duplicates it).
    padding = max(2, entries // MEAN_ROW_MAX + 1) - len(rows)
    rows += ["0 0 :"] * padding
    return "\n".join(["0", str(len(lines)), *lines, str(len(rows)), *rows]) + "\n"


def _child(base: float, time_limit_s: float) -> None:
    """Round in.jj of the working directory. The peer ignores its own limit, so the kernel's alarm ends the process."""
    from pytauargus import RounderCtrl

    rounder = RounderCtrl()
    for constant, value in SOLVER_CONSTANTS.items():
        rounder.set_double_constant(constant, value)
    signal.setitimer(signal.ITIMER_REAL, time_limit_s)
    start = time.perf_counter()
    result, _, _, _, error = rounder.do_round(
        solver="SCIP",  # the name that pytauargus passes; the build has HiGHS only, and says so
        in_file="in.jj", base=base, upper_bound=[1e40], lower_bound=[0.0],
        solution_file="out.txt", statistics_file="statistics.txt", max_time=max(1, round(time_limit_s)),
    )  # fmt: skip
    seconds = time.perf_counter() - start
    signal.setitimer(signal.ITIMER_REAL, 0.0)
    # Renamed when complete: with its memory corrupted, the process can die in the middle of writing.
    part = Path("answer.part")
    part.write_text(json.dumps({"result": result, "error": error, "seconds": seconds}), encoding="ascii")
    part.rename("answer.json")


if __name__ == "__main__":
    _child(float(sys.argv[1]), float(sys.argv[2]))
