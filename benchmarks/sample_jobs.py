"""From microdata to a certified, protected release in one job file, on each of the three samples, twice: the same bytes both times."""

from __future__ import annotations

import hashlib
import json
import subprocess
import sys
import tempfile
from pathlib import Path

from fixed_keys import key_file
from results import SHARED, Report, table

import cellward as cw

SAME = ("release.csv", "release.json", "certificate.json.gz", "sums.certificate.json.gz", "findings.csv")

JOBS = {
    "tau_testW": f"""
        [input]
        file = "{SHARED}/data/tauargus/tau_testW.csv"
        [roles]
        dims = ["Size", "Region"]
        measure = "Var2"
        pad = {{Size = 2, Region = 2}}
        [hierarchies]
        Region = "{SHARED}/data/tauargus/region2.hrc"
        [risk]
        rules = ["PPercent(15)", "Threshold(3)"]
        [method]
        base = 5000
    """,
    "example_enterprise": f"""
        [input]
        file = "{SHARED}/data/tauargus/example_enterprise.csv"
        [roles]
        dims = ["act", "region"]
        measure = "turnover"
        holding = "h_id"
        missing = {{act = "keep"}}
        missing_codes = {{act = ["00"]}}
        [hierarchies]
        act = "{SHARED}/data/tauargus/nace_divisions.hrc"
        region = "{SHARED}/data/tauargus/KohStatReg.hrc"
        [risk]
        policy = "default"
        [method]
        base = 5000
    """,
    "indiv_dt": f"""
        [input]
        file = "{SHARED}/data/linked/rtauargus_indiv_dt.csv"
        [roles]
        dims = ["A88", "CJ"]
        measure = "TURNOVER"
        decimals = 4
        [hierarchies]
        A88 = {{levels = ["A10", "A21", "A88"]}}
        [risk]
        policy = "default"
        [method]
        base = 1000000
    """,
}


def figures(report: Report, *, quick: bool) -> None:
    """Run every job twice; ``quick`` leaves the coalitions out."""
    rows: list[list[object]] = []
    for name, text in JOBS.items():
        with tempfile.TemporaryDirectory() as folder:
            said = [_run(Path(folder), name, text, k, coalitions=not quick) for k in range(2)]
            one, two = (Path(folder) / f"{name}{k}" for k in range(2))
            facts = said[0]
            verdict = cw.verify(
                one / "certificate.json.gz", table=cw.Job.read(Path(folder) / f"{name}0.toml", outside=True).table()
            )
            same = _bytes(one) == _bytes(two)
            details = json.loads((one / "protection.json").read_text())
        report.require(
            facts["status"] == "optimal" and facts["protected"] and facts["verified"], f"{name}: protected and verified"
        )
        report.require(verdict and verdict.protected, f"{name}: its certificate holds")
        report.require(same, f"{name}: the second run gives the same bytes")
        rows.append(
            [
                name, facts["cells"], facts["sensitive"], len(details["attackers"]), details["witnesses"], details["sums"], facts["status"],
                "yes" if verdict.protected else "no", "same" if same else "differ",
            ]
        )  # fmt: skip
    head = [
        "sample",
        "cells",
        "unsafe",
        "attackers",
        "witnesses",
        "sums",
        "status",
        "protected, certificate holds",
        "bytes of a second run",
    ]
    report.add(table(head, rows))


def _run(folder: Path, name: str, text: str, k: int, *, coalitions: bool) -> dict[str, object]:
    """One run of a job by the command line; what it says."""
    end = (
        f'\n[attackers]\ncoalitions = {str(coalitions).lower()}\n[output]\nfolder = "{name}{k}"\nkey_file = "key.txt"\n'
    )
    key_file(folder / "key.txt")
    job = folder / f"{name}{k}.toml"
    job.write_text("\n".join(line.strip() for line in text.splitlines()) + end)
    command = [
        sys.executable,
        "-c",
        "from cellward.cli import main; main()",
        "run",
        str(job),
        "--json",
        "--allow-outside",
    ]
    done = subprocess.run(command, capture_output=True, text=True, check=False)
    if done.returncode:
        raise RuntimeError(f"{name}: {done.stderr.strip()}")
    facts: dict[str, object] = json.loads(done.stdout)
    return facts


def _bytes(folder: Path) -> dict[str, str]:
    return {name: hashlib.sha256((folder / name).read_bytes()).hexdigest() for name in SAME if (folder / name).exists()}
