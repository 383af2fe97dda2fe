"""Kill -9 of the vault under load: no acknowledged answer is lost or changed, and the chain holds.

python benchmarks/server_kills.py             60 kills; writes RESULTS.md; exits 1 when an answer is lost or differs
python benchmarks/server_kills.py --kills N   so many
python benchmarks/server_kills.py --quick     2 kills; writes nothing

A vault serves 2,000 records over its socket to 4 clients that ask at random. After a random time it is killed, the ledger is verified as it lies
there, and the next vault begins on it. In the end every answer that a client got is asked for by its name.
"""

from __future__ import annotations

import argparse
import contextlib
import json
import os
import signal
import socket
import subprocess
import sys
import tempfile
import threading
import time
from pathlib import Path
from typing import Any

import numpy as np
from results import Report, write_section
from server_population import Asker, population, write

from cellward.server.ledger.verify import verify_ledger
from cellward.server.vault.vault import Vault

CLIENTS = 4
Told = dict[str, list[list[str]]]


def figures(report: Report, kills: int) -> None:
    rng = np.random.default_rng(4)
    with tempfile.TemporaryDirectory() as held:
        folder = Path(held)
        config = write(folder, population(2_000, 9))
        vault = Vault(config)
        asker = Asker(vault, 6)
        requests = [asker.request() for _ in range(400)]
        vault.close()
        told: Told = {}
        wrong = broken = 0
        for _ in range(kills):
            wrong += _round(folder, requests, told, float(rng.uniform(0.05, 3.0)), rng)
            broken += not verify_ledger(config.ledger)
        vault = Vault(config)
        lost = sum(_rows(vault.handle({"call": "table", "answer": name})) != rows for name, rows in told.items())
        found = vault.handle({"call": "ledger_verify"})
        vault.close()
    report.add(
        f"{kills:,} kills of a vault that serves {CLIENTS} clients: {len(told):,} different answers acknowledged, {lost} lost or changed afterwards, "
        f"{wrong} that differed from an earlier one, {broken} ledgers that did not hold after a kill; {found['rows']:,} entries in the end."
    )
    report.require(not lost and not wrong, "an acknowledged answer was lost or changed")
    report.require(not broken and found["ok"], "a chain did not hold")


def _round(folder: Path, requests: list[Any], told: Told, seconds: float, rng: np.random.Generator) -> int:
    """One life of a vault: how many answers differed from earlier ones."""
    name = folder / "s"
    name.unlink(missing_ok=True)
    child = subprocess.Popen([sys.executable, "-m", "cellward.server.vault", str(folder / "server.toml"), str(name)])
    while not name.exists() and child.poll() is None:
        time.sleep(0.01)
    wrong = [0]
    lock = threading.Lock()
    orders = [rng.permutation(len(requests)).tolist() for _ in range(CLIENTS)]
    clients = [threading.Thread(target=_client, args=(name, requests, order, told, wrong, lock)) for order in orders]
    for one in clients:
        one.start()
    time.sleep(seconds)
    os.kill(child.pid, signal.SIGKILL)
    child.wait()
    for one in clients:
        one.join()
    return wrong[0]


def _client(
    name: Path, requests: list[Any], order: list[int], told: Told, wrong: list[int], lock: threading.Lock
) -> None:
    """Ask until the line breaks."""
    with contextlib.suppress(OSError, ValueError), socket.socket(socket.AF_UNIX) as line:
        line.settimeout(30)
        line.connect(str(name))
        with line.makefile("rwb") as file:
            for at in order:
                file.write(
                    json.dumps(
                        {"id": at, "call": "ask", "dataset": "firms", "request": requests[at], "who": "a"}
                    ).encode()
                    + b"\n"
                )
                file.flush()
                answer = json.loads(file.readline())["answer"]
                own = _sorted(answer)
                with lock:
                    wrong[0] += told.setdefault(answer["id"], own) != own


def _rows(said: dict[str, Any]) -> list[list[str]]:
    return _sorted(said["answer"]) if "answer" in said else []


def _sorted(answer: dict[str, Any]) -> list[list[str]]:
    """The rows of an answer, whatever order its dimensions were asked in."""
    order = [*np.argsort(answer["columns"][:-1]).tolist(), -1]
    return sorted([row[k] for k in order] for row in answer["rows"])


def main() -> int:
    parser = argparse.ArgumentParser(description=__doc__, formatter_class=argparse.RawDescriptionHelpFormatter)
    parser.add_argument("--quick", action="store_true")
    parser.add_argument("--kills", type=int, default=60)
    options = parser.parse_args()
    report = Report()
    figures(report, 2 if options.quick else options.kills)
    print(report.verdict)
    if not options.quick:
        write_section(
            "server_kills.py", "Table server: killed under load", "\n\n".join([report.verdict, *report.sections])
        )
    return 1 if report.short else 0


if __name__ == "__main__":
    sys.exit(main())
