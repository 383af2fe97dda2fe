"""The rival τ-ARGUS as a reader of our files: one batch run, or one JJ file audited, by pytauargus in a process of its own.

python benchmarks/peer_tauargus_files.py run FILE.arb        runs a batch; its outputs stand beside it
python benchmarks/peer_tauargus_files.py audit FILE.jj       prints what it read of every withheld cell, as JSON
"""

from __future__ import annotations

import json
import subprocess
import sys
from pathlib import Path
from typing import Any

LIMIT_S = 300


def run_batch(path: Path) -> str:
    """Run a batch in pytauargus; what it said when it failed, or nothing."""
    return _child("run", path)[1]


def audit_jj(path: Path) -> list[dict[str, Any]]:
    """What pytauargus reads of the withheld cells of a JJ file, and the intervals it finds."""
    out, failed = _child("audit", path)
    if failed:
        raise RuntimeError(failed)
    found: list[dict[str, Any]] = json.loads(out.splitlines()[-1])
    return found


def _child(what: str, path: Path) -> tuple[str, str]:
    command = [sys.executable, str(Path(__file__).resolve()), what, str(path)]
    done = subprocess.run(command, capture_output=True, text=True, check=False, timeout=LIMIT_S, cwd=path.parent)
    failed = "" if done.returncode == 0 else (done.stderr.strip().splitlines() or [f"exit code {done.returncode}"])[-1]
    return done.stdout, failed


if __name__ == "__main__":
    if sys.argv[1] == "run":
        from pytauargus.engine import Engine

        Engine().run_batch(sys.argv[2])
    else:
        from pytauargus._tauargus import audit_jj as native

        print(
            json.dumps(
                [{key: row[key] for key in ("cell", "value", "status", "min", "max")} for row in native(sys.argv[2])]
            )
        )
