"""Consistency of the table server: one value a cell, and all answers together satisfy every equation among them exactly.

python benchmarks/server_consistency.py           10,000 queries over 20,000 records; writes RESULTS.md; exits 1 when one value differs
python benchmarks/server_consistency.py --queries N   so many
python benchmarks/server_consistency.py --engine two-stage   of the other engine; a section of its own
python benchmarks/server_consistency.py --quick   150 queries over 3,000 records; writes nothing

The finest table (all five dimensions at their last level) is asked for once. Every value of every other answer is a sum of its cells that is
determined by codes alone, whatever the request: where all answers are the sums that the finest table gives, every equation among them holds. The
two-stage engine is not asked for the finest table: its fictive file as it stands in the end has the place of it.
"""

from __future__ import annotations

import argparse
import sys
import tempfile
import threading
import time
from collections.abc import Callable
from decimal import Decimal
from pathlib import Path
from typing import Any

import numpy as np
from results import Report, table, write_section
from server_population import NAMES, Asker, asked, population, write

from cellward.server.config import ServerConfig
from cellward.server.vault.vault import Vault

LIMITS = "max_cells = 400000"


class Finest:
    """The finest table as an array, and what it says of any request."""

    def __init__(self, vault: Vault, asker: Asker, read: Callable[[Vault, str, Finest], np.ndarray[Any, Any]]) -> None:
        self.below: dict[tuple[str, str], np.ndarray[Any, Any]] = {}
        self.bottom = {name: asker.codes[name, asker.levels[name] - 1] for name in NAMES}
        self.shape = [len(self.bottom[name]) for name in NAMES]
        for name, own in self.bottom.items():
            for code in own:
                for above in {code, code[:3] if name in ("region", "sector") else code, "Total"}:
                    self.below.setdefault((name, above), np.zeros(len(own), bool))[own.index(code)] = True
        self.value = {measure: read(vault, measure, self) for measure in ("turnover", "count")}

    def wrong(self, request: dict[str, Any], answer: dict[str, Any]) -> int:
        """How many values of an answer are not the sums of the finest table."""
        array = self.value[request["measure"]]
        kept = {name: np.zeros(len(self.bottom[name]), bool) for name in request["where"]}
        for name, codes in request["where"].items():
            for code in codes:
                kept[name] |= self.below[name, code]
        for k, name in enumerate(NAMES):
            if name in kept:
                array = np.compress(kept[name], array, axis=k)
        own = answer["columns"][:-1]
        array = array.sum(axis=tuple(k for k, name in enumerate(NAMES) if name not in own))
        order = [name for name in NAMES if name in own]
        for k, name in enumerate(order):
            codes = list(dict.fromkeys(row[own.index(name)] for row in answer["rows"]))
            every = np.stack([self.below[name, code] for code in codes]).astype(np.int64)
            every = every[:, kept[name]] if name in kept else every
            array = np.moveaxis(np.tensordot(every, array, axes=(1, k)), 0, k)
        array = array.transpose([order.index(name) for name in own])
        found = np.array([scaled(row[-1]) for row in answer["rows"]], np.int64)
        return int((found != array.ravel()).sum())


def as_answered(vault: Vault, measure: str, finest: Finest) -> np.ndarray[Any, Any]:
    """The finest table, asked for."""
    answer = asked(vault, {"dimensions": [{"name": name} for name in NAMES], "measure": measure})
    rows = [row for row in answer["rows"] if "Total" not in row]
    return np.array([scaled(row[-1]) for row in rows], np.int64).reshape(finest.shape)


def as_kept(vault: Vault, measure: str, finest: Finest) -> np.ndarray[Any, Any]:
    """The fictive file of the two-stage engine as it stands: that every answer is a sum over one file proves every equation among them."""
    served: Any = vault._datasets["firms"]
    at = [
        [finest.bottom[one.name].index(code) if code in finest.bottom[one.name] else -1 for code in one.codes]
        for one in served.dimensions
    ]
    place = tuple(np.array(own)[code] for own, code in zip(at, served.engine._atoms.code, strict=True))
    value = np.zeros(finest.shape, np.int64)
    np.add.at(value, place, served.engine.measured[measure == "count"].shadow * (10 if measure == "count" else 1))
    return value


def scaled(text: str) -> int:
    return int(Decimal(text) * 10)


def relabelled(rows: dict[str, Any]) -> dict[str, Any]:
    """The same records in another order, size classes and legal forms under other names."""
    order = np.random.default_rng(5).permutation(len(rows["id"]))
    other = {name: own[order] for name, own in rows.items()}
    names = {"sole": "1 sole", "ltd": "2 limited", "plc": "0 public", "coop": "9 shared"}
    other["legal"] = np.array([names[one] for one in other["legal"]])
    return other


def worded_otherwise(asker: Asker, request: dict[str, Any]) -> dict[str, Any]:
    """The same request with its dimensions in another order, its conditions spelt out in bottom codes, and dummy conditions added."""
    where = {}
    for name, codes in request["where"].items():
        bottom = asker.codes[name, asker.levels[name] - 1]
        below = [one for one in bottom if one in codes or (name in ("region", "sector") and one[:3] in codes)]
        where[name] = below[::-1]
    for name in NAMES:
        where.setdefault(name, asker.codes[name, 1][::-1])
    return {**request, "dimensions": request["dimensions"][::-1], "where": where}


def by_codes(answer: dict[str, Any]) -> dict[tuple[str, ...], str]:
    order = np.argsort(answer["columns"][:-1])
    return {tuple(row[k] for k in order): row[-1] for row in answer["rows"]}


def figures(report: Report, many: int, queries: int, racing: int, engine: str) -> None:
    rows = population(many, 1)
    more = "" if engine == "twin" else f'engine = "{engine}"\ndepth = 5'
    with tempfile.TemporaryDirectory() as held:
        folder = Path(held)
        vault = Vault(write(folder, rows, limits=LIMITS, more=more))
        asker = Asker(vault, 2)
        finest = Finest(vault, asker, as_answered) if engine == "twin" else None
        every = [asker.request() for _ in range(queries)]
        started = time.perf_counter()
        said = [told(vault, one) for one in every]
        seconds = time.perf_counter() - started
        finest = finest or Finest(vault, asker, as_kept)
        answers = [one for one in said if one is not None]
        requests = [one for one, own in zip(every, said, strict=True) if own is not None]
        cells = sum(len(one["rows"]) for one in answers)
        wrong = sum(finest.wrong(*pair) for pair in zip(requests, answers, strict=True))
        lines = [["answered", f"{len(answers):,}", f"{cells:,}", f"{wrong:,}"]]
        vault.close()
        again = Vault(ServerConfig.read(folder / "server.toml"))
        lines.append(["after a restart", f"{len(answers):,}", *compared(again, requests, answers)])
        worded = [worded_otherwise(asker, one) for one in requests]
        lines.append(["in other words, with dummy conditions", f"{len(answers):,}", *compared(again, worded, answers)])
        kept = race(again, requests[:racing])
        lines.append([f"{racing:,} racing, 8 clients", f"{8 * racing:,}", f"{kept[0]:,}", f"{kept[1]:,}"])
        again.close()
        renamed = Vault(write(folder, relabelled(rows), limits=LIMITS, more=more))
        without = [
            k
            for k, one in enumerate(requests)
            if "legal" not in [*one["where"], *(d["name"] for d in one["dimensions"])]
        ]
        other, same = [requests[k] for k in without], [answers[k] for k in without]
        lines.append(["records permuted, codes relabelled", f"{len(other):,}", *compared(renamed, other, same)])
        ledger = renamed.handle({"call": "ledger_verify"})
        renamed.close()
        size = (folder / "ledger.sqlite").stat().st_size
    report.add(
        f"Engine {engine}; {many:,} records over 5 dimensions, two of two levels; {queries:,} random queries of 1 to 3 dimensions, up to 2 "
        f"conditions, {100 * len(answers) / queries:.1f} % answered."
    )
    report.add(table(["queries", "how many", "values", "of another value, or not the sum"], lines))
    report.require(all(line[-1] == "0" for line in lines), "a cell has two values, or an equation does not hold")
    report.require(ledger["ok"], "the ledger does not hold")
    report.add(
        f"Every equation among the answers holds exactly. {1000 * seconds / queries:.0f} ms a query at first; the ledger has {ledger['rows']:,} "
        f"entries, {size / max(cells, 1):.0f} bytes a value published."
    )


def told(vault: Vault, request: dict[str, Any]) -> dict[str, Any] | None:
    """The answer; None where the table is refused."""
    got = vault.handle({"call": "ask", "dataset": "firms", "request": request, "who": "analyst", "key": None})
    if "refusal" in got and got["refusal"]["code"] == "protected":
        return None
    answer: dict[str, Any] = got["answer"]
    return answer


def compared(vault: Vault, requests: list[dict[str, Any]], answers: list[dict[str, Any]]) -> tuple[str, str]:
    values = differing = 0
    for request, before in zip(requests, answers, strict=True):
        old, new = by_codes(before), by_codes(asked(vault, request))
        values += len(new)
        differing += len(old.keys() ^ new.keys()) + sum(
            old[codes] != value for codes, value in new.items() if codes in old
        )
    return f"{values:,}", f"{differing:,}"


def race(vault: Vault, requests: list[dict[str, Any]]) -> tuple[int, int]:
    """Eight clients ask the same queries, each in an order of its own: values, and those that differ from the first."""
    first: dict[Any, str] = {}
    told = [0, 0]
    lock = threading.Lock()

    def client(k: int) -> None:
        for at in np.random.default_rng(k).permutation(len(requests)).tolist():
            answer = asked(vault, requests[at], f"client {k}")
            with lock:
                for codes, value in by_codes(answer).items():
                    told[0] += 1
                    told[1] += first.setdefault((at, codes), value) != value

    clients = [threading.Thread(target=client, args=(k,)) for k in range(8)]
    for one in clients:
        one.start()
    for one in clients:
        one.join()
    return told[0], told[1]


def main() -> int:
    parser = argparse.ArgumentParser(description=__doc__, formatter_class=argparse.RawDescriptionHelpFormatter)
    parser.add_argument("--quick", action="store_true")
    parser.add_argument("--queries", type=int, default=10_000)
    parser.add_argument("--records", type=int, default=20_000)
    parser.add_argument("--engine", choices=("twin", "two-stage"), default="twin")
    options = parser.parse_args()
    quick = options.quick
    report = Report()
    figures(
        report,
        *((3_000, 150, 20) if quick else (options.records, options.queries, options.queries // 8)),
        options.engine,
    )
    print(report.verdict)
    if not quick:
        script = "server_consistency.py" + ("" if options.engine == "twin" else f" --engine {options.engine}")
        title = "Table server: one value a cell" + ("" if options.engine == "twin" else f" ({options.engine})")
        write_section(script, title, "\n\n".join([report.verdict, *report.sections]))
    return 1 if report.short else 0


if __name__ == "__main__":
    sys.exit(main())
