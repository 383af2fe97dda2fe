"""The rival τ-ARGUS: cells withheld by its optimal method (OPT, from a JJ file) or its modular one (MOD, by a batch), in a child process.

The peer ignores its own time limit and may die on the way, so each run is a process of its own that is ended when the time is up. What comes back
are the cells that it withholds beside those at risk; whether that is safe is for our audit to say.
"""

from __future__ import annotations

import csv
import json
import subprocess
import sys
import tempfile
from dataclasses import dataclass
from pathlib import Path

import numpy as np

import cellward as cw
from cellward.exact import NO_BOUND
from cellward.tauargus.files.intermediate import write_tab

FAR = 1_000_000
STARTUP_ALLOWANCE_S = 15.0


@dataclass(frozen=True)
class PeerPattern:
    """``secondary``: cells withheld for the sake of others, None where nothing came back, for the reason in ``status``."""

    secondary: list[int] | None
    seconds: float
    status: str


def suppress_with_tauargus(table: cw.Table, method: str, time_limit_s: float) -> PeerPattern:
    """OPT or MOD on a table in whole numbers; what withholding a cell costs is its value."""
    with tempfile.TemporaryDirectory(prefix="tauargus") as name:
        folder = Path(name)
        if method == "OPT":
            (folder / "in.jj").write_text(_jj(table), encoding="ascii")
        elif table.labels.dims and len(table.labels.dims) > 1:
            _batch(table, folder, max(1, round(time_limit_s / 60)))
        else:
            return PeerPattern(None, 0.0, "no dimensions, so no batch")
        command = [sys.executable, str(Path(__file__).resolve()), method, str(max(1, round(time_limit_s / 60)))]
        try:
            child = subprocess.run(
                command, cwd=folder, capture_output=True, text=True, errors="replace", check=False, timeout=time_limit_s + STARTUP_ALLOWANCE_S,
            )  # fmt: skip
        except subprocess.TimeoutExpired:
            return PeerPattern(None, time_limit_s, "time limit")
        answer = folder / "answer.json"
        if not answer.exists():
            if child.returncode < 0:
                return PeerPattern(None, 0.0, f"crash (signal {-child.returncode})")
            last = (child.stderr.strip().splitlines() or ["no message"])[-1]
            return PeerPattern(None, 0.0, f"failed: {last[:80]}")
        said = json.loads(answer.read_text())
        if method == "OPT":
            if said["code"] > 1 or not (folder / "out.jj").exists():
                return PeerPattern(None, said["seconds"], f"failed (code {said['code']})")
            cells = [int(line.split()[0]) for line in (folder / "out.jj").read_text().splitlines() if line.strip()]
            risk = set(table.sensitivity.unsafe.tolist())
            return PeerPattern(sorted(set(cells) - risk), said["seconds"], "pattern")
        return PeerPattern(_read(table, folder / "out.csv"), said["seconds"], "pattern")


def _jj(table: cw.Table) -> str:
    s, a = table.sensitivity, table.scaled.tolist()
    risk, most = set(s.unsafe.tolist()), max(a, default=0) + FAR
    lines = [
        f"{i} {x} {max(x, 1)} {'u' if i in risk else 's'} {0 if low == -NO_BOUND else low} {most if high == NO_BOUND else high} {lpl} {upl} {spl}"
        for i, (x, low, high, lpl, upl, spl) in enumerate(
            zip(
                a,
                table.lower.tolist(),
                table.upper.tolist(),
                s.lpl.tolist(),
                s.upl.tolist(),
                s.spl.tolist(),
                strict=True,
            )
        )
    ]
    rows = []
    for j in range(table.relations.equations):
        right, cells, coefs = table.relations.equation(j)
        rows.append(f"{right} {len(cells)} : " + " ".join(f"{i} ({q})" for i, q in zip(cells, coefs, strict=True)))
    return "\n".join(["0", str(len(lines)), *lines, str(len(rows)), *rows]) + "\n"


def _batch(table: cw.Table, folder: Path, minutes: int) -> None:
    write_tab(table, folder / "t.tab")
    dims = "".join(f'"{name}"' for name in table.labels.dims)
    (folder / "m.arb").write_text(
        f'<OPENTABLEDATA> "t.tab"\n<OPENMETADATA> "t.rda"\n<SPECIFYTABLE> {dims}|"value"||"value"\n<SAFETYRULE>\n<READTABLE> 0\n'
        f'<SUPPRESS> MOD(1,{minutes},1,0,0)\n<WRITETABLE> (1,3,AS+,"out.csv")\n'
    )


def _read(table: cw.Table, path: Path) -> list[int]:
    """Secondaries of the output: status 11 in τ-ARGUS' numbers."""
    with path.open(encoding="utf-8", newline="") as file:
        rows = [row for row in csv.reader(file) if row]
    k = len(table.labels.dims)
    names = {tuple(table.labels.tuple_of(i)): i for i in range(table.cells)}
    return sorted(names[tuple(row[:k])] for row in rows if int(row[-1]) in range(11, 14))


def unmet(table: cw.Table, secondary: list[int]) -> int:
    """How many levels our auditor finds unmet where the cells at risk and these are withheld."""
    from cellward.audit.evidence import show_levels
    from cellward.instance import Instance
    from cellward.publication.withheld import Withheld

    instance = Instance.of(table)
    hidden = np.union1d(table.sensitivity.unsafe, np.array(secondary, np.int64))
    return len(show_levels(instance, Withheld.of(instance.a, hidden)).missing)


def _child(method: str, minutes: int) -> None:
    import time

    if method == "OPT":
        from pytauargus import HiTaSCtrl

        control = HiTaSCtrl()
        began = time.perf_counter()
        code = control.full_jj(in_file_jj="in.jj", out_file="out.jj", max_time=minutes)
    else:
        from pytauargus.engine import Engine

        began, code = time.perf_counter(), 0
        Engine().run_batch("m.arb")
    part = Path("answer.part")
    part.write_text(json.dumps({"code": code, "seconds": time.perf_counter() - began}))
    part.rename("answer.json")


if __name__ == "__main__":
    _child(sys.argv[1], int(sys.argv[2]))
