"""Attacks on what the gate lets out, each with its rate before, now, and beside guessing: rows, lookups, redrawn draws, insiders, the method itself.

python benchmarks/gate_attacks.py            every attack, its section of RESULTS.md
python benchmarks/gate_attacks.py --quick    fewer tables, nothing written
python benchmarks/gate_attacks.py --keep     keep what was measured as "before", in gate_attacks_before.json

The attackers read releases only (and what each is said to know); they use nothing of the package's own audits.
"""

from __future__ import annotations

import argparse
import json
import sys
from collections import defaultdict
from collections.abc import Callable
from fractions import Fraction
from itertools import product
from math import ceil
from pathlib import Path
from random import Random
from typing import Any

import measure  # noqa: F401  # isort: skip (finds the oracles)
import results
from outsider import PublicTable
from outsider_equations import equations_of
from outsider_intervals import Region
from outsider_told import known_before, told, within

import cellward as cw
from cellward.errors import CellwardError

BEFORE = Path(__file__).with_name("gate_attacks_before.json")
TABLES, QUICK = 120, 15


class Rates:
    """Hits of an attack, of how many tries, and the hits that guessing would have had."""

    def __init__(self) -> None:
        self.hits: dict[str, float] = defaultdict(float)
        self.tries: dict[str, int] = defaultdict(int)
        self.guessed: dict[str, float] = defaultdict(float)

    def add(self, attack: str, hit: float, guess: float = 0.0) -> None:
        self.tries[attack] += 1
        self.hits[attack] += hit
        self.guessed[attack] += guess

    def rows(self) -> dict[str, tuple[float, int, float]]:
        return {name: (self.hits[name], many, self.guessed[name]) for name, many in self.tries.items()}


def _key(rng: Random) -> bytes:
    return bytes(rng.randrange(256) for _ in range(32))


def _released(method: Any, table: cw.Table, **options: Any) -> dict[tuple[str, ...], Fraction] | None:
    """The published values by codes; None where nothing is released."""
    try:
        p = method.protect(table, time_limit_s=5, **options)
        if not p.releasable:
            return None
        *places, values = p.release().columns().values()
    except CellwardError:
        return None
    return {tuple(codes): Fraction(v) for *codes, v in zip(*places, values, strict=True)}


# ---- rows ----------------------------------------------------------------------------------------------------------------------------------


def rows_tell(rates: Rates, rng: Random) -> None:
    """Counts of records: where some combination has no row, every row is a count of 1 or more."""
    n = rng.randint(40, 90)
    columns = {dim: [f"{dim}{k}" for k in rng.choices((1, 2, 3, 4), (9, 5, 3, 1), k=n)] for dim in "AB"}
    table = cw.Table.from_microdata(columns, dims=["A", "B"], threads=1).find(cw.Threshold(3, units=2))
    values = _released(cw.ControlledRounding(5), table, key=_key(rng))
    if values is None:
        return
    flat = [(dict.fromkeys(sorted(set(columns[dim])), "Total"),) for dim in "AB"]
    public = PublicTable(dims=("A", "B"), trees=tuple(flat), counts=True, rows="unknown")
    before = known_before(values, Fraction(0), None, rows_tell=public.rows_tell(values), unit=Fraction(1))
    method = {"name": "controlled rounding", "base": "5", "steps": 1}
    shown = told(values, method, 0, fixed=(), multiples=None, public=before)
    assert shown is not None
    bounds = {codes: within(before[codes], shown.bounds[codes]) for codes in values}
    region = Region(equations_of(values, flat), bounds, Fraction(1), whole=True)
    s = table.sensitivity
    for i in table.sensitive.tolist():
        codes = table.labels.tuple_of(i)
        if int(s.lpl[i]) > 0:
            low = region.end(codes, -1)
            rates.add("rows: levels below that the row alone makes false", low > int(table.scaled[i]) - int(s.lpl[i]))
        if values[codes] == 0:
            true_zero = int(table.scaled[i]) == 0
            rates.add("rows: published zeros known to be none", public.rows_tell(values) and not true_zero)


# ---- lookup --------------------------------------------------------------------------------------------------------------------------------

DISTANCE = 60


def _level(a: int) -> int:
    """The public rule of the levels: a fifth of the value."""
    return max(1, ceil(a / 5))


def _amounts(rng: Random, shape: tuple[int, int]) -> list[list[int]]:
    return [[round(10 ** rng.uniform(1.3, 2.4)) for _ in range(shape[1])] for _ in range(shape[0])]


def _with_levels(
    inner: list[list[int]], risky: list[tuple[int, int]], *, swap: bool = False, order: int = 0
) -> cw.Table:
    """A long table with the cells at risk by their codes; ``swap`` changes the order of its dimensions, ``order`` that of its rows."""
    rows = [(f"r{i}", f"c{j}", a, (i, j) in risky) for i, own in enumerate(inner) for j, a in enumerate(own)]
    if order:
        Random(order).shuffle(rows)
    levels = [_level(a) if at_risk else 0 for _, _, a, at_risk in rows]
    frame = {
        "R": [r for r, *_ in rows], "C": [c for _, c, *_ in rows], "v": [row[2] for row in rows],
        "s": ["u" if row[3] else "s" for row in rows], "l": levels,
    }  # fmt: skip
    dims = ["C", "R"] if swap else ["R", "C"]
    return cw.Table.from_frame(frame, dims=dims, value="v", status="s", lpl="l", upl="l")


def lookup(rates: Rates, rng: Random) -> None:
    """A perturbation within a distance: which values have an end at the published one, by the public rule of the levels."""
    inner = _amounts(rng, (4, 4))
    risky = [tuple(divmod(k, 4)) for k in rng.sample(range(16), 4)]
    key = _key(rng)
    method = cw.CellPerturbation(within=DISTANCE, grid=1)
    values = _released(method, _with_levels(inner, risky), key=key)  # type: ignore[arg-type]
    if values is None:
        return
    more = [[*row, round(10 ** rng.uniform(1.3, 2.4))] for row in inner]
    next_year = _released(method, _with_levels(more, risky), key=key)  # type: ignore[arg-type]
    for i, j in risky:
        a, v = inner[i][j], int(values[f"r{i}", f"c{j}"])
        every = list(range(max(0, v - DISTANCE), v + DISTANCE + 1))
        ends = [y for y in every if v in (max(0, y + _level(y) - DISTANCE), y - min(_level(y), y) + DISTANCE)]
        rates.add(
            "lookup: the value from a list of those with an end here", (a in ends) / max(len(ends), 1), 1 / len(every)
        )
        narrow = a in ends and max(ends) - min(ends) < 2 * _level(a)
        rates.add("lookup: candidates closer together than the levels ask", narrow)
        if next_year is not None:
            both = Fraction(v + int(next_year[f"r{i}", f"c{j}"]), 2)
            rates.add("lookup: the mean of two years' releases is the value", both == a, 1 / len(every))


# ---- draws ---------------------------------------------------------------------------------------------------------------------------------


def draws(rates: Rates, rng: Random) -> None:
    """The same table and key with its dimensions swapped, or its rows in another order: what is drawn anew tells more."""
    inner = _amounts(rng, (4, 4))
    risky = [tuple(divmod(k, 4)) for k in rng.sample(range(16), 4)]
    key = _key(rng)
    methods: dict[str, Any] = {
        "adjustment": cw.ControlledAdjustment(),
        "perturbation within a distance": cw.CellPerturbation(within=DISTANCE, grid=1),
        "unbiased rounding": cw.ControlledRounding(100, unbiased=True),
    }
    for name, method in methods.items():
        first = _released(method, _with_levels(inner, risky), key=key)  # type: ignore[arg-type]
        swapped = _released(method, _with_levels(inner, risky, swap=True), key=key)  # type: ignore[arg-type]
        shuffled = _released(method, _with_levels(inner, risky, order=7), key=key)  # type: ignore[arg-type]
        for codes, v in (first or {}).items():
            if swapped is not None:
                rates.add(f"draws, {name}: cells that differ when dimensions are swapped", swapped[codes[::-1]] != v)
            if shuffled is not None:
                rates.add(f"draws, {name}: cells that differ when rows are shuffled", shuffled[codes] != v)


# ---- insiders ------------------------------------------------------------------------------------------------------------------------------


def insiders(rates: Rates, rng: Random) -> None:
    """An adjustment with fixed margins, two cells at risk in a row: who knows one of them takes the other for what is left."""
    inner = _amounts(rng, (3, 4))
    i, (j, k) = rng.randrange(3), rng.sample(range(4), 2)
    values = _released(cw.ControlledAdjustment(fixed="margins"), _with_levels(inner, [(i, j), (i, k)]), key=_key(rng))
    if values is None:
        return
    own, a, level = inner[i][j], inner[i][k], _level(inner[i][k])
    v = int(values[f"r{i}", f"c{k}"])
    estimate = v + int(values[f"r{i}", f"c{j}"]) - own
    far = [y for y in range(max(0, v - 2 * level), v + 2 * level + 1) if abs(y - v) >= level]  # what anyone may guess
    rates.add("insiders: the other cell's value", estimate == a, (a in far) / max(len(far), 1))
    near = sum(abs(y - a) < level for y in far) / max(len(far), 1)
    rates.add("insiders: the other cell to within its level", abs(estimate - a) < level, near)


# ---- the method itself ---------------------------------------------------------------------------------------------------------------------

BASE = 5


def _closed(inner: tuple[int, ...], shape: tuple[int, int]) -> list[int]:
    """The inner cells, the sums of rows and columns, and the total; of one row the cells and their sum."""
    rows = [list(inner[r * shape[1] : (r + 1) * shape[1]]) for r in range(shape[0])]
    if shape[0] == 1:
        return [*inner, sum(inner)]
    return [*inner, *map(sum, rows), *(sum(column) for column in zip(*rows, strict=True)), sum(inner)]


def _least(y: tuple[int, ...], shape: tuple[int, int]) -> int | None:
    """The least Σ |v − y| of a rounding of y to neighbouring multiples; None where there is none."""
    full = _closed(y, shape)
    choices = [(a,) if a % BASE == 0 else (a - a % BASE, a - a % BASE + BASE) for a in y]
    best = None
    for v in product(*choices):
        away = [abs(p - a) for p, a in zip(_closed(v, shape), full, strict=True)]
        if max(away) < BASE and (best is None or sum(away) < best):
            best = sum(away)
    return best


def knowing_the_method(rates: Rates, rng: Random) -> None:
    """Of the tables that could have become the published one, only those of which it is the nearest rounding."""
    for shape in ((1, 2), (1, 3), (2, 2)):
        many = shape[0] * shape[1]
        inner = tuple(rng.randint(1, 14) for _ in range(many))
        p = rng.randrange(many)
        below, above = min(2, inner[p]), 2
        full = _closed(inner, shape)
        if shape[0] == 1:
            table = cw.Table.from_equations(full, [[*[1] * many, -1]], sensitive=[p], lpl=[below], upl=[above])
        else:
            matrix = [[1, 1, 0, 0, -1, 0, 0, 0, 0], [0, 0, 1, 1, 0, -1, 0, 0, 0], [1, 0, 1, 0, 0, 0, -1, 0, 0],
                      [0, 1, 0, 1, 0, 0, 0, -1, 0], [0, 0, 0, 0, 1, 1, 0, 0, -1]]  # fmt: skip
            table = cw.Table.from_equations(full, matrix, sensitive=[p], lpl=[below], upl=[above])
        values = _released(cw.ControlledRounding(BASE), table, key=_key(rng))
        if values is None:
            continue
        v = [int(x) for x in values.values()]
        left = []
        for y in product(*(range(max(0, x - BASE + 1), x + BASE) for x in v[:many])):
            away = [abs(q - a) for q, a in zip(v, _closed(y, shape), strict=True)]
            if max(away) < BASE and _least(y, shape) == sum(away):
                left.append(y[p])
        fails = inner[p] in left and (min(left) > inner[p] - below or max(left) < inner[p] + above)
        size = "×".join(map(str, shape))
        rates.add(f"knowing the method, {size}: levels that do not survive", fails)


ATTACKS: tuple[Callable[[Rates, Random], None], ...] = (rows_tell, lookup, draws, insiders, knowing_the_method)


def main() -> int:
    parser = argparse.ArgumentParser(description=__doc__, formatter_class=argparse.RawDescriptionHelpFormatter)
    parser.add_argument("--quick", action="store_true", help="fewer tables, nothing is written")
    parser.add_argument("--keep", action="store_true", help="keep what was measured as what was before")
    options = parser.parse_args()
    rates = Rates()
    for attack in ATTACKS:
        for k in range(QUICK if options.quick else TABLES):
            attack(rates, Random(f"{attack.__name__} {k}"))
    now = rates.rows()
    if options.keep:
        BEFORE.write_text(json.dumps(now, indent=1, ensure_ascii=False) + "\n")
    before = json.loads(BEFORE.read_text()) if BEFORE.exists() else {}
    rows: list[list[object]] = [
        [name, _words(before.get(name)), _words(own), f"{100 * own[2] / own[1]:.1f} %"] for name, own in now.items()
    ]
    body = results.table(["attack", "before", "now", "guessing"], rows)
    print(body)
    if not options.quick:
        about = (
            "Shares of the cells, or levels, on which the attack succeeds. Rows: counts of records, Threshold(3, units=2), base 5. Lookup and draws: "
            f"4×4 amounts, four cells at risk with levels of a fifth, within {DISTANCE}. Insiders: 3×4, two cells at risk in a row, fixed margins. "
            f"Knowing the method: base {BASE}, one cell with levels of 2; all tables of which the published one is a least rounding are counted."
        )
        results.write_section("gate_attacks.py", "Attacks on what the gate lets out", f"{about}\n\n{body}")
    return 0


def _words(own: Any) -> str:
    return "" if own is None else f"{100 * own[0] / own[1]:.1f} % of {own[1]:,}"


if __name__ == "__main__":
    sys.exit(main())
