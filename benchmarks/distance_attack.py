"""Attacks on perturbation within a distance: what someone who knows everything but the key can work out about the cells at risk.

    python benchmarks/distance_attack.py            200 tables; writes RESULTS.md; exits 1 when the method is above guessing
    python benchmarks/distance_attack.py --quick    20 tables; writes nothing

The attacker knows the code, the distance, the rule of the levels (p % of the value), which cells are at risk, and that values are whole and at least
0: not the key. Before: cells at risk on an end of what their levels leave them, drawn by the number of the cell. After: releases of the method as it
is. Guessing is what anybody is promised: one of the values within the distance of the published one.
"""

from __future__ import annotations

import argparse
import hmac
import sys
from collections.abc import Callable
from dataclasses import dataclass
from random import Random

import numpy as np
from fixed_keys import key_of
from numpy.typing import NDArray
from results import Report, table, write_section

import cellward as cw
from cellward.table.sensitivity import Sensitivity

Ints = NDArray[np.int64]

TABLES, ROWS, COLUMNS, AT_RISK, PERCENT, WITHIN = 200, 9, 6, 10, 10, 60
ABOVE = 3.0
"""Standard deviations that chance may be above guessing."""


@dataclass(frozen=True, eq=False)
class Case:
    """A table of one period: inner values by the names of rows, and which of its cells are at risk."""

    inner: Ints
    rows: tuple[str, ...]
    at_risk: tuple[tuple[str, str], ...]

    @staticmethod
    def of(seed: int) -> Case:
        """Values of which no level exceeds a third of the distance."""
        rng = np.random.default_rng(seed)
        inner = np.minimum(np.rint(rng.lognormal(4.6, 0.7, (ROWS, COLUMNS))).astype(np.int64), 195) + 5
        rows = tuple(f"r{k}" for k in range(ROWS))
        chosen = rng.choice(ROWS * COLUMNS, AT_RISK, replace=False)
        return Case(inner, rows, tuple((f"r{k // COLUMNS}", str(k % COLUMNS)) for k in chosen.tolist()))

    def next(self, seed: int) -> Case:
        """The same with one more code, which comes first."""
        more = np.random.default_rng(10**6 + seed).integers(5, 200, (1, COLUMNS))
        return Case(np.concatenate((more, self.inner)), ("new", *self.rows), self.at_risk)

    @property
    def table(self) -> cw.Table:
        columns = [str(k) for k in range(COLUMNS)]
        made = cw.Table.from_array(self.inner, dims=["region", "sector"], codes=[self.rows, columns])
        cells = np.array([made.labels.find(cell) for cell in self.at_risk], np.int64)
        asks = level(made.scaled[cells])
        order = np.argsort(cells)
        return made.with_sensitivity(Sensitivity.of(made.cells, cells[order], asks[order], asks[order], 0 * asks))

    def cells(self, made: cw.Table) -> Ints:
        return np.array([made.labels.find(cell) for cell in self.at_risk], np.int64)


def level(a: Ints) -> Ints:
    """p % of the value, at least 1."""
    return np.maximum(-(-a * PERCENT // 100), 1)


def room(a: Ints) -> tuple[Ints, Ints]:
    """What the levels of a value leave its published value."""
    return np.maximum(a + level(a) - WITHIN, 0), a - level(a) + WITHIN


Publish = Callable[[Case, bytes], Ints]
"""The cells at risk as published."""


def before(case: Case, key: bytes) -> Ints:
    """On an end, drawn by the number of the cell."""
    made = case.table
    cells = case.cells(made)
    low, high = room(made.scaled[cells])
    up = [hmac.digest(key, f"end of cell {i}".encode(), "sha256")[0] & 1 for i in cells.tolist()]
    return np.where(up, high, low)


def after(case: Case, key: bytes) -> Ints:
    """As the method publishes them."""
    made = case.table
    p = cw.CellPerturbation(within=WITHIN).protect(made, key=key)
    assert p.protected and p.values is not None and not p.instance.beyond
    return np.asarray(p.values, np.int64)[case.cells(made)]


def candidates(v: int, *, ends: bool) -> dict[int, float]:
    """The values that could have become v, with their odds."""
    y = np.arange(max(v - WITHIN, 0), v + WITHIN + 1)
    low, high = room(y)
    odds = np.where(ends, ((v == low) * 0.5 + (v == high) * 0.5), ((low <= v) & (v <= high)) / (high - low + 1))
    return {int(x): float(p) for x, p in zip(y, odds, strict=True) if p}


def best(odds: dict[int, float], rng: Random) -> int:
    most = max(odds.values())
    return rng.choice([x for x, p in odds.items() if p >= most * (1 - 1e-12)])


@dataclass
class Tally:
    """Cells attacked: recovered exactly, pinned to less than their levels span, and the mean number of candidates."""

    cells: int = 0
    exact: int = 0
    narrow: int = 0
    left: int = 0

    def add(self, truth: int, guess: int, open_: dict[int, float]) -> None:
        self.cells += 1
        self.exact += guess == truth
        self.narrow += max(open_) - min(open_) < 2 * int(level(np.array([truth]))[0])
        self.left += len(open_)

    @property
    def row(self) -> list[object]:
        return [f"{100 * self.exact / self.cells:.1f} %", f"{100 * self.narrow / self.cells:.1f} %", f"{self.left / self.cells:.1f}"]  # fmt: skip


def attacked(publish: Publish, tables: int, *, ends: bool) -> dict[str, Tally]:
    """What single releases, next period's table and fresh keys tell."""
    rng, out = Random(0), {}

    def tally(name: str) -> Tally:
        return out.setdefault(name, Tally())

    for seed in range(tables):
        case, key = Case.of(seed), key_of(f"distance {seed}")
        later = case.next(seed)
        one, two = publish(case, key), publish(later, key)
        fresh = [one, *(publish(case, key_of(f"distance {seed} again {k}")) for k in range(1, 3))]
        made = case.table
        for k, truth in enumerate(made.scaled[case.cells(made)].tolist()):
            v, w = int(one[k]), int(two[k])
            open_ = candidates(v, ends=ends)
            tally("once: the likeliest candidate").add(truth, best(open_, rng), open_)
            tally("once: the published value itself").add(truth, v, open_)
            both = {x: p * q for x, p in open_.items() if (q := candidates(w, ends=ends).get(x))} if v != w else open_
            tally("next period, one more code: the mean of both").add(truth, (v + w) // 2, both or open_)
            tally("next period, one more code: the likeliest for both").add(
                truth, best(both or open_, rng), both or open_
            )
            each = [candidates(int(x[k]), ends=ends) for x in fresh]
            every = {x: 1.0 for x in each[0] if all(x in other for other in each[1:])}
            tally("three fresh keys: the likeliest for all").add(truth, best(every or open_, rng), every or open_)
    return out


def guessing(tables: int) -> Tally:
    """Someone who is told the distance and nothing else."""
    rng, out = Random(1), Tally()
    for seed in range(tables):
        case = Case.of(seed)
        made = case.table
        for truth, v in zip(made.scaled[case.cells(made)].tolist(), after(case, key_of(f"distance {seed}")).tolist(), strict=True):  # fmt: skip
            told = dict.fromkeys(range(max(v - WITHIN, 0), v + WITHIN + 1), 1.0)
            out.add(truth, best(told, rng), told)
    return out


def main() -> int:
    parser = argparse.ArgumentParser(description=__doc__, formatter_class=argparse.RawDescriptionHelpFormatter)
    parser.add_argument("--quick", action="store_true")
    tables = 20 if (options := parser.parse_args()).quick else TABLES
    report = Report()
    base = guessing(tables)
    old, new = attacked(before, tables, ends=True), attacked(after, tables, ends=False)
    chance = 1 / (2 * WITHIN + 1)
    head = ["attack", "before: exact", "pinned", "candidates", "after: exact", "pinned", "candidates"]
    rows: list[list[object]] = [[name, *old[name].row, *new[name].row] for name in old]
    report.add(
        f"{tables} tables of {ROWS} × {COLUMNS}, {AT_RISK} cells at risk each, levels of {PERCENT} %, within {WITHIN}. *Exact*: the "
        "true value is guessed; "
        "*pinned*: the candidates span less than both levels; guessing within what is promised is exact in "
        f"{base.row[0]} of {base.cells} cells (one in {2 * WITHIN + 1} is {100 * chance:.1f} %)."
    )
    report.add(table(head, rows))
    for name, tally in new.items():
        most = chance + ABOVE * (chance * (1 - chance) / tally.cells) ** 0.5
        if "fresh" not in name:
            told = f"{tally.exact} of {tally.cells} exact, guessing {100 * chance:.1f} %"
            report.require(tally.exact <= most * tally.cells, f"{name}: {told}")
            report.require(not tally.narrow, f"{name}: {tally.narrow} cells are pinned to less than their levels span")
    report.require(old["once: the likeliest candidate"].exact > 0.3 * base.cells, "the attack on ends finds nothing")
    if not options.quick:
        write_section(
            "distance_attack.py",
            "Attacks on perturbation within a distance",
            "\n\n".join([report.verdict, *report.sections]),
        )
    return 1 if report.short else 0


if __name__ == "__main__":
    sys.exit(main())
