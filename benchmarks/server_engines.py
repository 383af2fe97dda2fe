"""Both engines of the table server side by side: the same drill-downs, what is answered, how true it is, how long it takes, what the audit costs."""

from __future__ import annotations

import tempfile
import time
from collections import Counter, defaultdict
from collections.abc import Callable, Iterator
from contextlib import contextmanager
from dataclasses import dataclass, field
from pathlib import Path
from typing import Any

import numpy as np
from results import Report, table
from server_population import Asker, drill, population, write

from cellward.key import read_key
from cellward.server.vault.records import Records
from cellward.server.vault.request import Request
from cellward.server.vault.twostage.atoms import Atoms
from cellward.server.vault.twostage.cells import Cells
from cellward.server.vault.twostage.first_stage import FirstStage
from cellward.server.vault.twostage.layout import Layout
from cellward.server.vault.twostage.measured import Measured
from cellward.server.vault.twostage.published import Published
from cellward.server.vault.vault import Vault

ENGINES = (
    ("twin", 'engine = "twin"\ndepth = 5'),
    ("two-stage", 'engine = "two-stage"\ndepth = 5'),
    ("two-stage, common tables first", 'engine = "two-stage"\ndepth = 5\nstart = 2'),
)
DEPTHS = (2, 3, 5)
FIRST = 200
"""Queries by which depths are compared."""
SIZES = ((3, 10), (10, 100), (100, 1_000), (1_000, 1 << 62))
PARTS = 4
"""Into so many parts are the queries divided, to see what costs more as the ledger grows."""
TIMED = (
    ("rules", FirstStage, "judged"),
    ("differences", Published, "differences"),
    ("elimination", Published, "take"),
    ("known sets", Published, "known"),
    ("solve", Measured, "_moves"),
)


@dataclass
class Run:
    """What one engine did with the queries."""

    said: Counter[str] = field(default_factory=Counter)
    new_s: list[float] = field(default_factory=list)
    known_s: list[float] = field(default_factory=list)
    off: dict[tuple[str, int], list[float]] = field(default_factory=lambda: defaultdict(list))
    near: int = 0
    parts: list[list[str]] = field(default_factory=list)
    start_s: float = 0.0

    @property
    def answered(self) -> float:
        """The share that is answered."""
        return self.said["answered"] / max(sum(self.said.values()), 1)


class Truth:
    """True values, sizes and risk of the cells of any request, each set of records judged once."""

    def __init__(self, records: Records) -> None:
        config, database = records.config, records.database()
        self.atoms = Atoms.of(records)
        self.stages = {
            "turnover": FirstStage(records, database, self.atoms, 0, config.rules, b""),
            "count": FirstStage(records, database, self.atoms, None, config.count_rules, b""),
        }
        self.seen: dict[str, set[int]] = {"turnover": set(), "count": set()}

    def see(self, run: Run, request: Request, value: np.ndarray[Any, Any]) -> None:
        """Note how far the cells of an answer are off that were in none before."""
        name = request.measure_name
        cells = Cells.of(Layout.of(request, self.atoms.code), self.atoms, self.seen[name])
        self.seen[name] |= cells.names
        own = self.stages[name].judged(*cells.new_pairs())
        off = value[cells.fresh] - own.value
        run.near += int(own.near(off).sum())
        safe = own.up == 0
        for k, (least, most) in enumerate(SIZES):
            chosen = safe & (own.rows >= least) & (own.rows < most) & (own.value > 0)
            run.off[name, k] += (np.abs(off[chosen]) / own.value[chosen]).tolist()


def compare_engines(report: Report, many: int, queries: int) -> None:
    """The report of all engines over so many records."""
    runs = {name: run_of(many, queries, more, judge=True) for name, more in ENGINES}
    depths = {
        depth: run_of(many, min(queries, FIRST), f'engine = "two-stage"\ndepth = {depth}', judge=False)
        for depth in DEPTHS
    }
    names = list(runs)
    report.add(
        f"{many:,} records over 5 dimensions, {queries:,} drill-downs, the same for all; `depth = 5` for both engines."
    )
    kinds = sorted({kind for run in runs.values() for kind in run.said}, key=lambda kind: (kind != "answered", kind))
    rows = [
        [kind, *(f"{100 * run.said[kind] / sum(run.said.values()):.1f} %" for run in runs.values())] for kind in kinds
    ]
    rows.append(["first start", *(f"{run.start_s:.0f} s" for run in runs.values())])
    rows.append(["new table", *(_times(run.new_s) for run in runs.values())])
    rows.append(["all of it published before", *(_times(run.known_s) for run in runs.values())])
    report.add(table(["", *names], rows))
    rows = []
    for measure in ("turnover", "count"):
        for k, (least, most) in enumerate(SIZES):
            if not all(run.off[measure, k] for run in runs.values()):
                continue
            label = f"{least:,}–{most - 1:,}" if most < 1 << 62 else f"{least:,} and more"
            rows.append([measure, label, *(_off(run.off[measure, k]) for run in runs.values())])
        rows += (
            [["", "at risk and nearer than its level", *(f"{run.near:,}" for run in runs.values())]]
            if measure == "count"
            else []
        )
    report.add(
        table(["published cells not at risk", "records", *(f"{name}: median off, 90 %" for name in names)], rows)
    )
    head = [
        "two-stage, queries",
        "published cells",
        "rank",
        "entries",
        *(f"{name}, ms a new table" for name, *_ in TIMED),
    ]
    report.add(table(head, runs["two-stage"].parts))
    report.add(
        table(
            ["two-stage, depth", f"answered of the first {FIRST:,}"],
            [[depth, f"{100 * run.answered:.1f} %"] for depth, run in depths.items()],
        )
    )
    report.add(
        "Rank: published cells that are no combination of others; entries: those of the elimination. *Rules* is the first stage, *solve* the second; "
        "differences, elimination and known sets are the union audit. Depths are of the cells that are protected jointly before the first request."
    )
    for name, run in runs.items():
        report.require(not run.near, f"{name}: {run.near} published cells at risk miss their level")
    report.require(runs["twin"].answered == 1, "the twin refuses what the policy permits")
    report.require(runs["two-stage"].answered >= 0.9, "two-stage answers less than 90 %")


def run_of(many: int, queries: int, more: str, *, judge: bool) -> Run:
    """One engine with a ledger of its own."""
    run = Run()
    with tempfile.TemporaryDirectory() as held, timed() as spent:
        config = write(Path(held), population(many, 7), more=more)
        begun = time.perf_counter()
        vault = Vault(config)
        run.start_s = time.perf_counter() - begun
        served = vault._datasets["firms"]
        truth = Truth(Records.read(config.datasets[0], read_key(config.key_file))) if judge else None
        asker, asked = Asker(vault, 3), 0
        requests = [one for _ in range(-(-queries // 5)) for one in drill(asker)][:queries]
        spent.clear()
        new = 0
        for asked, said in enumerate(requests, 1):
            begun = time.perf_counter()
            got = vault.handle({"call": "ask", "dataset": "firms", "request": said, "who": "a", "key": None})
            seconds = time.perf_counter() - begun
            kind = next(kind for kind in ("answer", "refusal", "error") if kind in got)
            run.said["answered" if kind == "answer" else f"{kind}: {got[kind]['code']}"] += 1
            known = kind == "answer" and got["answer"]["from_ledger"]
            (run.known_s if known else run.new_s).append(seconds)
            new += not known
            if truth is not None and kind == "answer":
                before = dict(spent)  # what is judged here is no work of the server
                request = Request.of(said, served.dimensions, served.config.measures, config.limits)
                body = vault._ledger.answer(got["answer"]["id"])
                assert body is not None
                truth.see(run, request, np.array(body.body["values"], np.int64))
                spent.clear()
                spent.update(before)
            if truth is not None and served.engine.name == "two-stage" and asked % max(len(requests) // PARTS, 1) == 0:
                run.parts.append(_part(served.engine, f"to {asked:,}", spent, new))
                spent.clear()
                new = 0
        vault.close()
    return run


def _part(engine: Any, label: str, spent: dict[str, float], new: int) -> list[str]:
    held = [own.published for own in engine.measured]
    sizes = [sum(getattr(own, name) for own in held) for name in ("cells", "rank", "entries")]
    return [
        label,
        *(f"{size:,}" for size in sizes),
        *(f"{1000 * spent.get(name, 0.0) / max(new, 1):.1f}" for name, *_ in TIMED),
    ]


@contextmanager
def timed() -> Iterator[dict[str, float]]:
    """How long the parts of the two-stage engine take together, meanwhile."""
    spent: dict[str, float] = {}
    kept = [(owner, name, getattr(owner, name)) for _, owner, name in TIMED]

    def clocked(label: str, function: Callable[..., Any]) -> Callable[..., Any]:
        def run(*arguments: Any) -> Any:
            begun = time.perf_counter()
            try:
                return function(*arguments)
            finally:
                spent[label] = spent.get(label, 0.0) + time.perf_counter() - begun

        return run

    for label, owner, name in TIMED:
        setattr(owner, name, clocked(label, getattr(owner, name)))
    try:
        yield spent
    finally:
        for owner, name, function in kept:
            setattr(owner, name, function)


def _times(seconds: list[float]) -> str:
    if not seconds:
        return ""
    quantiles = (1000 * np.quantile(seconds, part) for part in (0.5, 0.95, 0.99))
    return ", ".join(f"p{name} {ms:.0f} ms" for name, ms in zip((50, 95, 99), quantiles, strict=True))


def _off(parts: list[float]) -> str:
    return f"{100 * np.median(parts):.2f} %, {100 * np.quantile(parts, 0.9):.2f} %"
