"""kill -9 of the front and of the vault by turns, under load: no acknowledged answer is lost or changed, and the chain holds.

Both processes are started as users start them, over 2,000 records. Four clients ask for tables at random, all the time, and note each answer that
they got; after a random time one of the two processes is killed and begun again by the one above them. In the end every table that was acknowledged
is read by its number, and the ledger is verified. A connection that breaks under the front is no answer; an answer that is an error is counted.

python benchmarks/server_front_kills.py             500 kills of each; exits 1 when an answer is lost, changed or wrong
python benchmarks/server_front_kills.py --kills N   so many of each
python benchmarks/server_front_kills.py --quick     2 of each; writes nothing
"""

from __future__ import annotations

import argparse
import contextlib
import http.client
import random
import sys
import tempfile
import threading
import time
from collections import Counter
from collections.abc import Iterator
from dataclasses import dataclass, field
from pathlib import Path

import measure  # noqa: F401 (tests/oracles on the path)
from results import Report, write_section
from served import Served, served, table
from server_population import population, write

SCRIPT = "server_front_kills.py"
ASK = "/v1/datasets/firms/tables"
CLIENTS = 4
BEGUN_WITHIN_S = 120.0
DIMENSIONS = (("region", 1), ("sector", 1), ("size", 1), ("legal", 1), ("year", 1))


@dataclass
class Told:
    """What the clients got."""

    tables: dict[str, list[list[str]]] = field(default_factory=dict)
    changed: int = 0
    broken: int = 0
    wrong: Counter[str] = field(default_factory=Counter)


def ask(server: Served, told: Told, seed: int, stop: threading.Event) -> None:
    draw = random.Random(seed)
    while not stop.is_set():
        picked = draw.sample(DIMENSIONS, draw.randint(1, 3))
        shown = [one for one in DIMENSIONS if one in picked]  # tables are kept in the dataset's own order
        where = {"year": draw.sample(["2023", "2024", "2025"], draw.randint(1, 2))} if draw.random() < 0.5 else {}
        try:
            reply = server("POST", ASK, "rita", table(shown, draw.choice(["count", "turnover"]), where))
        except (OSError, http.client.HTTPException):
            told.broken += 1
            continue
        if reply.status != 201:
            told.wrong[f"{reply.status} {reply.json['code']}"] += 1
        elif told.tables.setdefault(reply.json["id"], sorted(reply.json["rows"])) != sorted(reply.json["rows"]):
            told.changed += 1


@contextlib.contextmanager
def asking(server: Served, told: Told) -> Iterator[None]:
    stop = threading.Event()
    threads = [threading.Thread(target=ask, args=(server, told, seed, stop)) for seed in range(CLIENTS)]
    for thread in threads:
        thread.start()
    try:
        yield
    finally:
        stop.set()
        for thread in threads:
            thread.join()


def begun_again(server: Served, name: str, killed: int) -> bool:
    """Whether the process is there again and an answer came through both."""
    until = time.monotonic() + BEGUN_WITHIN_S
    while time.monotonic() < until:
        with contextlib.suppress(OSError, http.client.HTTPException):
            if server.pid(name) != killed and server("GET", "/health").status == 200:
                return True
        time.sleep(0.05)
    return False


def figures(report: Report, kills: int) -> None:
    draw, told, stuck = random.Random(5), Told(), 0
    with tempfile.TemporaryDirectory() as folder:
        config = write(Path(folder), population(2_000, 9))
        vault = [sys.executable, "-P", "-m", "cellward.server.vault", str(config.path)]
        with served(Path(folder) / "s", vault=vault) as server:
            with asking(server, told):
                for name in ["front", "vault"] * kills:
                    time.sleep(draw.uniform(0.05, 1.5))
                    stuck += not begun_again(server, name, server.kill(name))
            read = {number: server("GET", f"/v1/tables/{number}", "vera") for number in told.tables}
            lost = sum(
                reply.status != 200 or sorted(reply.json["rows"]) != told.tables[number]
                for number, reply in read.items()
            )
            ledger = server("GET", "/v1/ledger", "ada").json
    report.add(
        f"{kills:,} kills of the front and {kills:,} of the vault under {CLIENTS} clients: {len(told.tables):,} different tables acknowledged, "
        f"{lost} lost, {told.changed} changed, {told.broken:,} connections that broke, answers that were errors: {dict(told.wrong) or 'none'}. "
        f"{ledger['sentence']}"
    )
    report.require(told.tables and not lost and not told.changed, "no acknowledged answer is lost or changed")
    report.require(not told.wrong, f"no answer is an error: {told.wrong}")
    report.require(not stuck, f"both are there again within {BEGUN_WITHIN_S:.0f} s: {stuck} were not")
    report.require(ledger["ok"], "the chain holds")


def main() -> int:
    parser = argparse.ArgumentParser(description=__doc__, formatter_class=argparse.RawDescriptionHelpFormatter)
    parser.add_argument("--quick", action="store_true")
    parser.add_argument("--kills", type=int, default=500)
    options = parser.parse_args()
    report = Report()
    figures(report, 2 if options.quick else options.kills)
    if not options.quick:
        write_section(SCRIPT, "kill -9 of the server's processes", "\n\n".join([report.verdict, *report.sections]))
    print(report.verdict)
    return 1 if report.short else 0


if __name__ == "__main__":
    sys.exit(main())
