"""Attacks on controlled tabular adjustment: what someone who knows everything but the key can work out about the cells at risk.

python benchmarks/inversion_attack.py             200 tables, about ten minutes on two processes; writes RESULTS.md; exits 1 when a figure falls short
python benchmarks/inversion_attack.py --quick     the same on ten tables, a minute; writes nothing

Tables 10 × 10 of round(lognormal(4, 1)) ≥ 5 with margins; 12 inner cells at risk, levels p = 10 % of the value, rounded up; published on grid 1.
The attacker knows the code, p, norm, jitter, whether senses are secret, the cells at risk, and that every inner cell is at least 5: not the key.

cellwise   one cell by itself, which he takes to sit on its drawn level: every value b with |v − b| among the levels that may be drawn for b.
joint      of these, the values that are part of a whole explanation: a table, senses and levels the rule allows, for which the code itself publishes
           exactly v. Explanations are looked for as he would: values for all cells at risk at once, the other cells then by fixed point until the
           code gives v. What is not found counts as ruled out, so that this overstates what he learns.
"""

from __future__ import annotations

import hashlib
import json
import multiprocessing
import sys
import time
from collections import Counter
from collections.abc import Callable, Sequence
from concurrent.futures import ProcessPoolExecutor
from dataclasses import dataclass, field
from pathlib import Path
from random import Random
from tempfile import TemporaryDirectory
from typing import Any

import numpy as np
from numpy.typing import NDArray
from results import Report, run_parts, table

import cellward as cw
from cellward.protect.adjustment.method import JITTER
from cellward.protect.adjustment.needs import LEAST_STEPS, drawn_levels
from cellward.protect.draws import Draws
from cellward.table.labels import Labels
from cellward.table.sensitivity import Sensitivity

Ints = NDArray[np.int64]
Floats = NDArray[np.float64]

TABLES, SIDE, AT_RISK, PERCENT, LEAST = 200, 10, 12, 10, 5
MOST = 0.01
"""Share of the cells at risk that may be recovered, or pinned to less than their levels ask, with the defaults of a release."""
WHOLE = SIDE + 1
INNER = (np.arange(SIDE)[:, None] * WHOLE + np.arange(SIDE)).ravel()
HYPOTHESES, SINGLE, BASES, STEPS, FIXED_POINT = 6, 6, 4, 150, 8
"""Explanations tried for all cells at risk at once, then for one cell that is still open, with the others as in so many that held; steps from one
explanation to the next where margins are fixed; and how often the code is run for each."""
WITH_FIXED = 40
"""Tables with fixed margins."""


@dataclass(frozen=True)
class Setting:
    """What is published how."""

    norm: str = "l1"
    senses: str = "secret"
    jitter: float = JITTER
    fixed: str | None = None
    slack: float | None = None

    def __str__(self) -> str:
        slack = "" if self.slack is None else f" with slack {self.slack:g}"
        return (
            f"{self.norm}, senses {self.senses}{slack}, jitter {self.jitter:g}{', margins fixed' if self.fixed else ''}"
        )

    @property
    def default(self) -> bool:
        """Whether this is how a release is made unless asked otherwise, but for the norm."""
        return self.senses == "secret" and self.jitter == JITTER and self.slack is None

    @property
    def near(self) -> float | None:
        """By which share a release may lose more than the best senses of its table; None: by any."""
        return 0.0 if self.senses == "choose" else self.slack


SETTINGS = [
    Setting(norm, senses, jitter) for norm in ("l1", "l2") for senses in ("up", "secret") for jitter in (0.0, JITTER)
]
CHOSEN = [
    Setting("l1", senses, jitter, slack=slack)
    for jitter in (0.0, JITTER)
    for senses, slack in (("choose", None), ("secret", 0.05), ("secret", None))
]
WITH_CHOSEN = 12
"""Tables whose senses are chosen, or drawn near the best."""
FIXED = [Setting(norm, fixed="margins") for norm in ("l1", "l2")]


@dataclass(frozen=True, eq=False)
class Case:
    """A true table and its cells at risk, by number in the table with margins."""

    a: Ints
    cells: Ints

    @property
    def levels(self) -> Ints:
        return asked(self.a[self.cells])


def asked(value: Ints, percent: int = PERCENT) -> Ints:
    """The rule: so many percent of the value, rounded up."""
    return np.asarray(-(-value * percent // 100))


def case(seed: int) -> Case:
    rng = np.random.default_rng(seed)
    inner = np.rint(rng.lognormal(4, 1, SIDE * SIDE)).astype(np.int64)
    while (small := inner < LEAST).any():
        inner[small] = np.rint(rng.lognormal(4, 1, int(small.sum()))).astype(np.int64)
    return Case(with_margins(inner), np.sort(rng.choice(INNER, AT_RISK, replace=False)))


def with_margins(inner: Ints) -> Ints:
    return np.pad(inner.reshape(SIDE, SIDE), (0, 1), "constant").ravel() + _margins(inner)


def _margins(inner: Ints) -> Ints:
    out = np.zeros((WHOLE, WHOLE), np.int64)
    square = inner.reshape(SIDE, SIDE)
    out[:SIDE, SIDE], out[SIDE, :SIDE], out[SIDE, SIDE] = square.sum(1), square.sum(0), square.sum()
    return out.ravel()


def secret_key(*what: object) -> bytes:
    """A key for a study that can be repeated."""
    return hashlib.sha256(" ".join(map(str, what)).encode()).digest()


class Plain(cw.ControlledAdjustment):
    """Senses and levels as drawn and nothing else: no caps on cells that are not at risk, which are tried only where senses are secret, so that the
    attacker's trials are what the code does."""

    @property
    def capped(self) -> bool:
        return False


def adjusted(a: Ints, cells: Ints, levels: Ints | tuple[Ints, Ints], setting: Setting, **options: Any) -> cw.Protection:
    """What the code makes of a table; ``levels``: the same either way, or up and down; ``options``: senses and jitter other than the setting's, grid,
    and the key."""
    key = options.pop("key", None)
    made = cw.Table.from_array(a[INNER].reshape(SIDE, SIDE))
    up, down = levels if isinstance(levels, tuple) else (levels, levels)
    made = made.with_sensitivity(Sensitivity.of(made.cells, cells, down, up, np.zeros_like(up)))
    chosen = {
        "norm": setting.norm,
        "senses": setting.senses,
        "jitter": setting.jitter,
        "fixed": setting.fixed,
        "slack": None if "senses" in options else setting.slack,
        "keep": "nothing",
        **options,
    }
    return Plain(**chosen).protect(made, key=key)


# ---- one cell by itself ------------------------------------------------------------------------------------------------------------------


def drawn_range(value: Ints, jitter: float, percent: int = PERCENT) -> tuple[Ints, Ints]:
    """The levels that may be drawn for cells of this value, on grid 1, first and last."""
    first = asked(value, percent)
    if jitter == 0:
        return first, first
    return first, first + np.maximum(np.floor(first * jitter).astype(np.int64), LEAST_STEPS)


@dataclass(frozen=True, eq=False)
class Candidates:
    """Values that one published value leaves open, ascending, with the way the cell went (+1: up) and their odds, all values alike before."""

    value: Ints
    sense: Ints
    odds: Floats

    @staticmethod
    def of(v: int, senses: str, jitter: float, percent: int = PERCENT) -> Candidates:
        b = np.arange(LEAST, 2 * v + 4 * LEAST, dtype=np.int64)
        first, last = drawn_range(b, jitter, percent)
        far = np.abs(v - b)
        possible = (far >= first) & (far <= np.where(b > v, np.maximum(np.minimum(last, b), first), last))
        if senses == "up":
            possible &= b < v
        odds = 1 / (last - first + 1)[possible]
        return Candidates(b[possible], np.sign(v - b[possible]), odds / max(float(odds.sum()), 1e-300))

    @property
    def span(self) -> int:
        return int(self.value[-1] - self.value[0]) if len(self.value) else 0


# ---- whole explanations ------------------------------------------------------------------------------------------------------------------


@dataclass
class Tally:
    """Counts over the cells at risk of all tables."""

    counts: Counter[str] = field(default_factory=Counter)

    def share(self, name: str, of: str = "cells") -> float:
        return self.counts[name] / max(self.counts[of], 1)


@dataclass(eq=False)
class Joint:
    """Explanations of one release: ``found[k]`` holds the values of the k-th cell at risk that are part of one."""

    v: Ints
    cells: Ints
    setting: Setting
    candidates: Sequence[Candidates]
    need: Ints
    """How wide the values of each cell must be to be safe."""
    found: list[set[int]]
    rng: Random
    tried: int = 0
    held: int = 0
    bases: list[tuple[Ints, Ints]] = field(default_factory=list)
    """Values of all cells at risk that are explained, and the table that does."""

    def safe(self, k: int) -> bool:
        return bool(max(self.found[k]) - min(self.found[k]) >= self.need[k])

    def open(self, k: int) -> bool:
        """Whether more explanations could change a figure of this cell."""
        if len(self.found[k]) == 1 and len(self.candidates[k].value) > 1:
            return True
        all_ = self.found[k] | set(self.candidates[k].value.tolist())
        return not self.safe(k) and bool(max(all_) - min(all_) >= self.need[k])

    def explained(self, values: Ints, start: Ints) -> Ints | None:
        """A table with these values of the cells at risk from which the code publishes v, looked for from another table on."""
        z = self.v[self.cells] - values
        levels = np.minimum(np.abs(z), drawn_range(values, self.setting.jitter)[1])
        self.tried += 1
        a = start.copy()
        a[self.cells] = values
        for turn in range(FIXED_POINT):
            if a[INNER].min() < LEAST:
                return None
            made = adjusted(a, self.cells, levels, self.setting, senses=np.sign(z), jitter=0).values
            if made is None:
                return None
            if np.array_equal(made, self.v):
                if not self.near_the_best(a, levels):
                    return None
                self.held += 1
                return a
            miss = self.v - made
            if self.setting.fixed is None and miss[self.cells].any():
                return None
            miss[self.cells] = 0
            if turn > 2:  # a circle is left by changing only some
                miss[[i for i in np.flatnonzero(miss).tolist() if self.rng.random() < 0.5]] = 0
            a = with_margins((a + miss)[INNER])
        return None

    def near_the_best(self, a: Ints, levels: Ints) -> bool:
        """Whether the code could have taken these senses for this table: whatever it draws for the other sides, whose levels are as large as they can
        be here, no senses are much better."""
        if self.setting.near is None:
            return True
        a = with_margins(a[INNER])
        rises, most = self.v[self.cells] > a[self.cells], drawn_range(a[self.cells], self.setting.jitter)[1]
        sides = np.where(rises, levels, most), np.where(rises, most, levels)
        best = adjusted(a, self.cells, sides, self.setting, senses="choose", jitter=0).objective
        return best is not None and float((np.abs(self.v - a) / a).sum()) <= best * (1 + self.setting.near) * (1 + 1e-6)

    def note(self, values: Ints, start: Ints) -> None:
        if (a := self.explained(values, start)) is not None:
            self.bases.append((values, a))
            for k, b in enumerate(values.tolist()):
                self.found[k].add(b)

    def search(self, true: Ints) -> None:
        """All cells at risk at once, at random and then by their ends; what is open after that, alone, the others as in the last that held."""
        for turn in range(HYPOTHESES):
            if not any(self.open(k) for k in range(len(self.cells))):
                return
            values = [self._choice(k, turn, int(true[k])) for k in range(len(self.cells))]
            self.note(np.array(values, np.int64), self.v)
        for k in range(len(self.cells)):
            value = self.candidates[k].value.tolist()
            ends = [b for pair in zip(value, reversed(value), strict=True) for b in pair]
            for base in [true, *(values for values, _ in self.bases[-BASES:])]:
                for b in [b for b in dict.fromkeys(ends) if b not in self.found[k]][:SINGLE]:
                    if not self.open(k):
                        break
                    self.note(np.where(np.arange(len(true)) == k, b, base), self.v)

    def walk(self, true: Case) -> None:
        """Where few hypotheses hold: all cells at once as before, and by turns from one explanation to the next, one open cell changed at a time."""
        self.bases.append((true.a[true.cells], true.a))
        for turn in range(STEPS):
            left = [k for k in range(len(self.cells)) if self.open(k)]
            if not left:
                return
            if turn % 2:
                each = enumerate(true.a[true.cells].tolist())
                self.note(np.array([self._choice(i, turn, x) for i, x in each], np.int64), self.v)
                continue
            k = self.rng.choice(left)
            value = [b for b in self.candidates[k].value.tolist() if b not in self.found[k]]
            outer = max(len(value) // 3, 1)
            values, a = self.rng.choice(self.bases)
            values = values.copy()
            values[k] = self.rng.choice([*value[:outer], *value[-outer:]])
            self.note(values, a)

    def _choice(self, k: int, turn: int, true: int) -> int:
        """The value of one cell in a hypothesis."""
        of = self.candidates[k]
        if not len(of.value):
            return true
        if turn > 1 and self.open(k):
            outer = max(len(of.value) // 4, 1)
            return int(self.rng.choice([*of.value[:outer].tolist(), *of.value[-outer:].tolist()]))
        return int(self.rng.choices(of.value.tolist(), of.odds.tolist())[0])


def attack(seed: int, setting: Setting) -> Counter[str]:
    """Both attackers on one release."""
    true = case(seed)
    key = secret_key("inversion", seed)
    p = adjusted(true.a, true.cells, true.levels, setting, key=key)
    if p.values is None:
        return Counter({"nothing published": 1})
    v, a, need = p.values.astype(np.int64), true.a[true.cells], 2 * true.levels
    candidates = [Candidates.of(int(x), setting.senses, setting.jitter) for x in v[true.cells]]
    out = Counter({"tables": 1, "cells": len(a), "turned": p.details.flipped})
    for x, of, wide in zip(a.tolist(), candidates, need.tolist(), strict=True):
        out["on level"] += x in of.value
        out["cellwise unique"] += of.value.tolist() == [x]
        out["cellwise narrow"] += of.span < wide
        out["best guess"] += bool(len(of.value)) and int(of.value[of.odds.argmax()]) == x
        out["odds of the truth"] += float(of.odds[of.value == x].sum())  # type: ignore[assignment]
    senses = np.array([p.details.senses[i] for i in true.cells.tolist()])
    levels = np.array([abs(int(p.details.levels[i])) for i in true.cells.tolist()])
    again = adjusted(true.a, true.cells, levels, setting, senses=senses, jitter=0).values
    out["truth explains"] += again is not None and np.array_equal(again, v)
    joint = Joint(v, true.cells, setting, candidates, need, [{x} for x in a.tolist()], Random(seed))
    if setting.fixed:
        joint.walk(true)
    else:
        joint.search(a)
    out["tried"], out["held"] = joint.tried, joint.held
    for k, wide in enumerate(need.tolist()):
        out["joint unique"] += len(joint.found[k]) == 1
        out["joint narrow"] += max(joint.found[k]) - min(joint.found[k]) < wide
    return out


def attacked(job: tuple[Setting, range]) -> Counter[str]:
    setting, seeds = job
    return sum((attack(seed, setting) for seed in seeds), Counter())


def inversion(tables: int = TABLES, settings: Sequence[Setting] = SETTINGS, processes: int = 2) -> dict[Setting, Tally]:
    """What both attackers learn, by setting."""
    chunk = 5
    jobs = [(s, range(k, min(k + chunk, tables))) for s in settings for k in range(0, tables, chunk)]
    out = {setting: Tally() for setting in settings}
    with ProcessPoolExecutor(processes, mp_context=multiprocessing.get_context("spawn")) as pool:
        for (setting, seeds), counts in zip(jobs, pool.map(attacked, jobs), strict=True):
            out[setting].counts.update(counts)
            if seeds.stop == tables:
                print(f"{setting}: {dict(out[setting].counts)}", flush=True)
    return out


# ---- several releases of the same table --------------------------------------------------------------------------------------------------

Pairs = set[tuple[int, int]]


def pairs(v: int, jitter: float = JITTER, percent: int = PERCENT) -> Pairs:
    """(value, sense) that one published value leaves open."""
    of = Candidates.of(v, "secret", jitter, percent)
    return set(zip(of.value.tolist(), of.sense.tolist(), strict=True))


def released(key: bytes, true: Case, shift: int = 0, jitter: float = JITTER, percent: int = PERCENT) -> list[int]:
    """The cells at risk as published under a key, each on its level; ``shift``: after a revision by so much."""
    a = true.a[true.cells] + shift
    asks, cells = asked(a, percent), true.cells
    draws = Draws(key, Labels(len(true.a)))
    sense = np.where(draws.bits("sense", cells), 1, -1)
    up = drawn_levels(draws, cells, asks, np.full_like(a, 10**12), jitter, 1, "up")
    down = drawn_levels(draws, cells, asks, a, jitter, 1, "down")
    return [int(x) for x in a + np.where(sense > 0, up, -down)]


def _values(left: Pairs) -> set[int]:
    return {b for b, _ in left}


def _fresh(times: int) -> Callable[[int, Case], list[set[int]]]:
    def look(seed: int, true: Case) -> list[set[int]]:
        seen = [released(secret_key("again", seed, k), true) for k in range(times)]
        return [set.intersection(*(_values(pairs(v)) for v in each)) for each in zip(*seen, strict=True)]

    return look


def _same(**second: Any) -> Callable[[int, Case], list[set[int]]]:
    """Twice under one key, the second time with other options: the sense is the same, and under the same jitter the fraction."""

    def look(seed: int, true: Case) -> list[set[int]]:
        key = secret_key("again", seed)
        two = zip(released(key, true), released(key, true, **second), strict=True)
        return [
            {b for b, s in pairs(v) & pairs(w, **second) if "jitter" in second or _one_fraction(b, s, v, w, second)}
            for v, w in two
        ]

    return look


def _one_fraction(b: int, sense: int, v: int, w: int, second: dict[str, Any]) -> bool:
    """Whether one fraction draws both published values of a cell of this value and sense."""
    (one, wide), (two, wider) = (_steps(b, sense, x, **given) for x, given in ((v, {}), (w, second)))
    return one * (wider + 1) < (two + 1) * (wide + 1) and two * (wide + 1) < (one + 1) * (wider + 1)


def _steps(b: int, sense: int, v: int, jitter: float = JITTER, percent: int = PERCENT) -> tuple[int, int]:
    """How far above its level a cell was drawn, and how far it could have been."""
    level = int(asked(np.array([b]), percent)[0])
    wide = max(int(level * jitter), LEAST_STEPS)
    return abs(v - b) - level, wide if sense > 0 else min(wide, max(b - level, 0))


def _revised(shift: int, *, same: bool) -> Callable[[int, Case], list[set[int]]]:
    """Again after a revision by a known amount, under the same key or a fresh one."""

    def look(seed: int, true: Case) -> list[set[int]]:
        keys = secret_key("again", seed, 0), secret_key("again", seed, 0 if same else 1)
        out = []
        for v, w in zip(released(keys[0], true), released(keys[1], true, shift), strict=True):
            before, after = pairs(v), {(b - shift, sense) for b, sense in pairs(w)}
            out.append(_values(before & after) if same else _values(before) & _values(after))
        return out

    return look


def _sense_known(seed: int, true: Case) -> list[set[int]]:
    key = secret_key("again", seed)
    senses = np.where(Draws(key, Labels(len(true.a))).bits("sense", true.cells), 1, -1).tolist()
    return [{b for b, s in pairs(v) if s == own} for v, own in zip(released(key, true), senses, strict=True)]


AGAIN: dict[str, Callable[[int, Case], list[set[int]]]] = {
    "once": _fresh(1),
    "twice, fresh keys": _fresh(2),
    "three times, fresh keys": _fresh(3),
    "five times, fresh keys": _fresh(5),
    "twice, same key, nothing changed": _same(),
    "twice, same key, jitter 1 then 0.5": _same(jitter=0.5),
    "twice, same key, p = 10 % then 15 %": _same(percent=15),
    "again after a known revision by 1, same key": _revised(1, same=True),
    "again after a known revision by 1, fresh key": _revised(1, same=False),
    "once, the sense known (same cell number and key as in a table whose truth is out)": _sense_known,
}


def again(tables: int = TABLES) -> dict[str, Tally]:
    """What several releases tell together, cellwise: unique recovery, values that span less than the levels, and how many stay possible."""
    out = {}
    for name, look in AGAIN.items():
        tally = Tally()
        for seed in range(tables):
            true = case(seed)
            for x, need, left in zip(
                true.a[true.cells].tolist(), (2 * true.levels).tolist(), look(seed, true), strict=True
            ):
                assert x in left
                tally.counts.update(cells=1, unique=len(left) == 1, narrow=max(left) - min(left) < need, left=len(left))
        out[name] = tally
    return out


# ---- a grid finer than the table ---------------------------------------------------------------------------------------------------------

PRICE = 0.02
"""How large prices of equations are, as far as anything is known of them beforehand."""
KEPT = 60
"""Readings of the table that are followed at once."""


@dataclass(frozen=True, eq=False)
class Reading:
    """True values read so far, as deviations ``z`` (nan: not yet), and what they tell of the prices of the equations: mean and spread."""

    z: Floats
    price: Floats
    spread: Floats
    likely: float = 0.0

    def taking(self, i: int, z: float, row: Floats | None) -> Reading | None:
        """With one more deviation, whose ``row`` times the prices it is (None: a cell at risk, where that does not hold); None: impossible."""
        known = self.z.copy()
        known[i] = z
        if row is None:
            return Reading(known, self.price, self.spread, self.likely)
        moved = self.spread @ row
        width, miss = float(row @ moved) + 1e-10, z - float(row @ self.price)
        if abs(miss) > 6 * width**0.5 + 1e-4:
            return None
        gain = moved / width
        likely = self.likely - (miss * miss / width + np.log(width)) / 2
        return Reading(known, self.price + gain * miss, self.spread - np.outer(gain, moved), likely)


def read_off(v: Floats, cells: Ints, matrix: Floats) -> Ints:
    """True values from an L2 optimum published with decimals: whole numbers a for which v − a = a·(Mᵀy)/2 for some prices y. −1: not known.

    The smallest cells deviate by less than half a unit, so that their fractions tell the prices; with these the next are read, one by one, the
    likeliest readings being followed; equations with one unknown deviation give the cells at risk.
    """
    m, n = matrix.shape
    kept = [Reading(np.full(n, np.nan), np.zeros(m), np.eye(m) * PRICE**2)]
    at_risk, uses = set(cells.tolist()), (matrix != 0).astype(np.int64)
    while kept:
        unknown = np.isnan(kept[0].z)
        lone = np.flatnonzero(uses @ unknown.astype(np.int64) == 1)
        rest = [i for i in np.flatnonzero(unknown).tolist() if i not in at_risk]
        if not len(lone) and not rest:
            return np.where(unknown, -1, np.rint(v - np.nan_to_num(kept[0].z))).astype(np.int64)
        if len(lone):
            i = int(np.flatnonzero((uses[lone[0]] > 0) & unknown)[0])
        else:
            rows = matrix[:, rest].T * v[rest, None]
            i = rest[int(np.einsum("ij,jk,ik->i", rows, kept[0].spread, rows).argmin())]
        out = []
        for one in kept:
            if len(lone):
                z = -float(matrix[lone[0]] @ np.where(unknown, 0.0, one.z)) / matrix[lone[0], i]
                options = [z] if abs(v[i] - z - np.rint(v[i] - z)) < 1e-3 else []
            else:
                near = np.rint(v[i] / (1 + matrix[:, i] @ one.price / 2))
                options = [float(v[i] - near - d) for d in (0, -1, 1, -2, 2)]
            for z in options:
                row = None if i in at_risk else matrix[:, i] * np.rint(v[i] - z) / 2
                if (more := one.taking(i, z, row)) is not None:
                    out.append(more)
        kept = sorted(out, key=lambda one: -one.likely)[:KEPT]
    return np.full(n, -1)


def finer(job: range) -> Counter[str]:
    """The same tables published under L2 with all decimals (grid=None), senses secret and jitter as by default."""
    out: Counter[str] = Counter()
    for seed in job:
        true = case(seed)
        p = adjusted(true.a, true.cells, true.levels, Setting("l2"), grid=None, key=secret_key("inversion", seed))
        assert p.values is not None
        matrix = equations(p)
        read = read_off(p.values.astype(float), true.cells, matrix)[true.cells]
        out.update(tables=1, cells=len(true.cells), protected=bool(p.protected))
        truth = true.a[true.cells]
        out.update(unique=int((read == truth).sum()), wrong=int(((read != truth) & (read >= 0)).sum()))
    return out


# ---- margins known from elsewhere --------------------------------------------------------------------------------------------------------


def elsewhere(norm: str, tables: int) -> Tally:
    """Margins move, but their true values are known from another source: the attacker takes the other inner cells to have moved as prices say.

    Under L1 that is not at all; under L2 the deviations of the margins are their prices, which give those of the inner cells but for the rounding.
    """
    tally = Tally()
    for seed in range(tables):
        true = case(seed)
        p = adjusted(true.a, true.cells, true.levels, Setting(norm), key=secret_key("inversion", seed))
        assert p.scaled is not None
        z = np.full(len(true.a), np.nan)
        margin = np.setdiff1d(np.arange(len(true.a)), INNER)
        other = np.setdiff1d(INNER, true.cells)
        z[margin] = (p.scaled - true.a)[margin]
        matrix = equations(p)
        prices = np.linalg.lstsq(matrix[:, margin].T, 2 * z[margin] / true.a[margin], rcond=None)[0]
        z[other] = 0 if norm == "l1" else np.rint(p.scaled[other] * (matrix[:, other].T @ prices) / 2)
        uses = (matrix != 0).astype(np.int64)
        while len(lone := np.flatnonzero(uses @ np.isnan(z).astype(np.int64) == 1)):
            i = int(np.flatnonzero((uses[lone[0]] > 0) & np.isnan(z))[0])
            z[i] = -float(matrix[lone[0]] @ np.nan_to_num(z)) / matrix[lone[0], i]
        off = np.abs((p.scaled - z - true.a)[true.cells])
        tally.counts.update(
            cells=len(off),
            exact=int((off < 0.5).sum()),
            near=int((off < true.levels).sum()),
            unknown=int(np.isnan(off).sum()),
        )
    return tally


def equations(p: cw.Protection) -> Floats:
    """The equations as a matrix."""
    r = p.instance.relations
    out = np.zeros((r.equations, r.cells))
    out[r.row, r.indices] = r.coefs
    return out


# ---- what is told beside the values ------------------------------------------------------------------------------------------------------


def told(tables: int = 5) -> list[str]:
    """Whatever a release tells of senses, levels or key beside its values, in words; nothing when all is well."""
    out = []
    for seed in range(tables):
        true = case(seed)
        key, other = secret_key("told", seed), secret_key("told", seed, "other")
        made = {s: adjusted(true.a, true.cells, true.levels, s, key=key) for s in SETTINGS if s.norm == "l1"}
        made[Setting("l1", "down")] = adjusted(true.a, true.cells, true.levels, Setting("l1", "down"), key=key)
        statements = {json.dumps({**p.release().statement(), "certificate": ""}, sort_keys=True) for p in made.values()}
        if len(statements) > 1:
            out.append(f"table {seed}: the statement depends on senses or jitter: {statements}")
        plain = Setting("l1", "up", 0.0)
        p, q = made[plain], adjusted(true.a, true.cells, true.levels, plain, key=other)
        if p.release().digest == q.release().digest:
            out.append(
                f"table {seed}: the digest does not depend on the key, so that guesses of the true table can be tried on it"
            )
        drawn_ = made[Setting()]
        texts = repr(p), repr(p.release()), repr(drawn_), str(drawn_.release().knowledge), _files(drawn_)
        words = key.hex(), repr(key), "sense", "flipped", "jitter"
        out += [f"table {seed}: {text[:200]} tells of {word}" for text in texts for word in words if word in text]
        made_ = cw.Table.from_array(true.a[INNER].reshape(SIDE, SIDE))
        levels = true.levels
        made_ = made_.with_sensitivity(Sensitivity.of(made_.cells, true.cells, levels, levels, np.zeros_like(levels)))
        method = cw.ControlledAdjustment()
        by_seed = [method.protect(made_, key=key, seed=k).details.senses for k in range(3)]
        if by_seed != [drawn_.details.senses] * 3:
            out.append(f"table {seed}: senses depend on the seed")
        without = [method.protect(made_, seed=7) for _ in range(2)]
        if np.array_equal(without[0].scaled, without[1].scaled):  # type: ignore[arg-type]
            out.append(
                f"table {seed}: two releases without a key are the same: something else than chance is behind them"
            )
    return out


def _files(p: cw.Protection) -> str:
    """What the public is given, as text."""
    release = p.release()
    with TemporaryDirectory() as folder:
        files = release.save(Path(folder) / "release.csv"), release.save_statement(Path(folder) / "release.json")
        return "\n".join(path.read_text() for path in files)


# ---- the programme -----------------------------------------------------------------------------------------------------------------------


def shown(share: float) -> str:
    return f"{100 * share:.2f} %" if 0 < share < 0.1 or 0.99 < share < 1 else f"{100 * share:.0f} %"


def show_inversion(report: Report, *, quick: bool) -> None:
    """Both attackers, by setting; the defaults of a release must keep them out."""
    tables = 10 if quick else TABLES
    began = time.perf_counter()
    found = inversion(tables)
    seconds = time.perf_counter() - began
    for setting, tally in found.items():
        shares = [tally.share(name) for name in LEARNT]
        if setting.default:
            report.require(max(shares) <= MOST, f"inversion, {setting}: {', '.join(map(shown, shares))}")
        if setting.senses == "up" and setting.jitter == 0:
            report.require(shares[0] > 0.9, f"inversion, {setting}: only {shown(shares[0])} recovered")
    report.add(
        f"{tables} tables 10 × 10 with margins (seeds 0 to {tables - 1}), inner cells round(lognormal(4, 1)) ≥ {LEAST}, {AT_RISK} of them at risk, "
        f"levels {PERCENT} % either way, grid 1 ({seconds:.0f} s). The attacker knows code, p, norm, jitter, cells at risk, whether senses are "
        f"secret, and that every inner cell is at least {LEAST}; not the key. *Unique*: one value is possible, the true one. *Narrow*: the possible "
        "values span less than lpl + upl. *Cellwise*: the published value alone, taken to lie on its drawn level. *Joint*: only values with a whole "
        "explanation, a table with senses and levels from which the code publishes exactly this release; what was not found counts as ruled out. "
        "*Explained*: the share of hypotheses on all cells at risk at once, or on one of them, for which there was one: where it is near 100 %, sums "
        "and optimality tell nothing beyond the single cells. *Best guess*: the likeliest value is the true one, all values alike beforehand.\n\n"
        + inverted(report, found)
    )


def show_fixed(report: Report, *, quick: bool) -> None:
    """The same with the defaults but fixed margins: the sums then say more."""
    tables = 4 if quick else WITH_FIXED
    began = time.perf_counter()
    found = inversion(tables, FIXED)
    text = inverted(report, found)
    report.add(
        f"The same attackers on {tables} of these tables with the defaults but fixed margins ({time.perf_counter() - began:.0f} s). Deviations then "
        f"add to 0 in every row and column, other inner cells move, and fewer hypotheses hold. Explanations are looked for from one to the next, "
        f"at most {STEPS} steps: what is left over is no more than a bound on what he learns.\n\n" + text
    )


def show_chosen(report: Report, *, quick: bool) -> None:
    """Senses chosen, drawn near the best, and drawn, side by side."""
    tables = 3 if quick else WITH_CHOSEN
    began = time.perf_counter()
    text = inverted(report, inversion(tables, CHOSEN))
    report.add(
        f"The same attackers on {tables} of these tables ({time.perf_counter() - began:.0f} s), who also know that senses were chosen for the least "
        "distance, or drawn near it: an explanation then has to be a table for which no senses are better (by more than the slack), whatever levels "
        "were drawn for the sides not taken.\n\n" + text
    )


LEARNT = ("cellwise unique", "cellwise narrow", "joint unique", "joint narrow")


def inverted(report: Report, found: dict[Setting, Tally]) -> str:
    """What was learnt as a table; each release must be what the code makes of its own truth."""
    rows: list[list[object]] = []
    for setting, tally in found.items():
        c = tally.counts
        held = shown(tally.share("held", "tried")) if c["tried"] else "–"
        rows.append([setting, f"{c['cells']:,}", *(shown(tally.share(name)) for name in (*LEARNT, "best guess")), held])
        lost = c["nothing published"]
        report.require(not lost, f"inversion, {setting}: {lost} tables were not published")
        again_ = c["tables"] - c["truth explains"]
        report.require(not again_, f"inversion, {setting}: {again_} releases do not come out of their own truth again")
    return table(["", "cells", *LEARNT, "best guess", "explained"], rows)


def show_again(report: Report, *, quick: bool) -> None:
    """Several releases, and one key used for several."""
    rows: list[list[object]] = []
    for name, tally in again(10 if quick else TABLES).items():
        left = tally.counts["left"] / tally.counts["cells"]
        rows.append([name, shown(tally.share("unique")), shown(tally.share("narrow")), f"{left:.1f}"])
    report.add(
        "The same table published more than once with the defaults, each cell at risk on its drawn level, seen cellwise. One release is safe, and so "
        "is the same table again under the same key. Fresh keys add up; so do other levels or another jitter under one key, and a key serves as many "
        "tables as share its secrets. What was published of a cell has to be kept and published again.\n\n"
        + table(["published", "unique", "narrow", "possible values"], rows)
    )


def show_finer(report: Report, *, quick: bool) -> None:
    """Decimals of the optimum give the table away."""
    tables, chunk = (10, 5) if quick else (TABLES, 20)
    with ProcessPoolExecutor(2, mp_context=multiprocessing.get_context("spawn")) as pool:
        c = sum(pool.map(finer, [range(k, k + chunk) for k in range(0, tables, chunk)]), Counter())
    report.add(
        f"A grid finer than the unit of the table (`grid=None`, L2, senses secret, default jitter): the true values are whole, the published ones "
        f"have decimals, and these are deviations. From the conditions of optimality alone {shown(c['unique'] / c['cells'])} of the cells at risk in "
        f"{c['tables']} tables are recovered exactly, {shown(c['wrong'] / c['cells'])} wrongly; {c['protected']} of these results "
        "are called protected."
    )


def show_elsewhere(report: Report, *, quick: bool) -> None:
    """Free margins whose true values are known."""
    rows: list[list[object]] = []
    for norm in ("l1", "l2"):
        tally = elsewhere(norm, 10 if quick else TABLES)
        rows.append([norm, *(shown(tally.share(name)) for name in ("exact", "near", "unknown"))])
    report.add(
        "Margins free to move, as by default, but their true values known from another source: then their deviations are known too, and those of the "
        "cells at risk are what is left of them. *Exact*: recovered. *Within the level*: guessed nearer than the level allows. *Open*: several cells "
        "at risk in the same rows and columns. Whatever is known elsewhere must be fixed (`fixed=`).\n\n"
        + table(["norm", "exact", "within the level", "open"], rows)
    )


def show_told(report: Report, *, quick: bool) -> None:
    """Statement, digest, files, seed."""
    tables = 2 if quick else 20
    leaks = told(tables)
    report.require(not leaks, f"told: {len(leaks)}, first {leaks[:1]}")
    report.add(
        f"{tables} tables: the public statement is the same for all senses and jitters, the digest depends on the key, no file or name of a release "
        f"tells key, senses or jitter, and the seed decides nothing that is secret: {len(leaks)} exceptions."
    )


RUN: dict[str, Callable[..., None]] = {
    "inversion": show_inversion,
    "fixed": show_fixed,
    "chosen": show_chosen,
    "again": show_again,
    "finer": show_finer,
    "elsewhere": show_elsewhere,
    "told": show_told,
}

PARTS = {
    "inversion": "what one release tells",
    "fixed": "what one release with fixed margins tells",
    "chosen": "what one release with chosen senses tells",
    "again": "what several releases tell",
    "finer": "what a grid finer than the table tells",
    "elsewhere": "what free margins tell those who know them",
    "told": "what is told beside the values",
}


def figures(report: Report, part: str, *, quick: bool) -> None:
    """One part of the programme."""
    RUN[part](report, quick=quick)


if __name__ == "__main__":
    sys.exit(run_parts("inversion_attack.py", "Attacks on adjustments", PARTS, figures, __doc__))
