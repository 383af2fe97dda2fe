"""Attackers who know the method, and insiders of adjustments: what they are left with, by code that shares nothing with the audit.

python benchmarks/method_attack.py             about five minutes; writes RESULTS.md; exits 1 when a figure falls short
python benchmarks/method_attack.py --quick     the same on few tables; writes nothing

nearest    small tables of random counts, rounded to the nearest table that keeps its levels. Whoever knows how tries every table that the release
           leaves possible and strikes those of which it is no least rounding. The audit (Attacker.knowing_method) must say the same.
remedies   the same releases with unbiased=True and keyed=True: a table is possible when the release can come of it under some seed or key.
insiders   adjusted tables with two cells at risk in a row: who is alone in one of them takes all other cells to be unmoved.
"""

from __future__ import annotations

import hashlib
import sys
from collections import Counter
from collections.abc import Callable, Iterator
from dataclasses import dataclass
from itertools import product
from typing import Any

import numpy as np
from numpy.typing import NDArray
from results import Report, run_parts, table

import cellward as cw
from cellward.table.sensitivity import Sensitivity

Ints = NDArray[np.int64]
SHAPES: tuple[tuple[tuple[int, ...], int], ...] = (((2,), 5), ((3,), 5), ((4,), 5), ((5,), 5), ((2, 2), 5), ((2, 3), 3))
MOST_LEVEL = {5: 3, 3: 1}
"""The largest level, by base."""
TOP, TABLES = 30, 150


def key_of(*what: object) -> bytes:
    """A key for a study that can be repeated."""
    return hashlib.sha256(" ".join(map(str, what)).encode()).digest()


def with_margins(inner: Ints) -> Ints:
    """Tables (first axis) with margins last on each further axis, flat."""
    for axis in range(1, inner.ndim):
        inner = np.concatenate((inner, inner.sum(axis=axis, keepdims=True)), axis=axis)
    return inner.reshape(len(inner), -1)


@dataclass(frozen=True, eq=False)
class Small:
    """A true table with levels on its inner cells, flat with margins."""

    shape: tuple[int, ...]
    base: int
    a: Ints
    cells: Ints
    level: Ints

    @staticmethod
    def of(shape: tuple[int, ...], base: int, seed: int) -> Small:
        """Counts from 1 to TOP; one to all inner cells at risk, levels from 1 to 3 (base 5) or of 1 (base 3)."""
        rng = np.random.default_rng([seed, base, *shape])
        inner = rng.integers(1, TOP + 1, shape)
        place = np.arange(np.prod([n + 1 for n in shape])).reshape([n + 1 for n in shape])
        inside = place[tuple(slice(n) for n in shape)].ravel()
        cells = np.sort(rng.choice(inside, rng.integers(1, len(inside) + 1), replace=False))
        return Small(
            shape, base, with_margins(inner[None])[0], cells, rng.integers(1, MOST_LEVEL[base] + 1, len(cells))
        )

    @property
    def below(self) -> Ints:
        """Levels below: no further than there is room."""
        return np.minimum(self.level, self.a[self.cells])

    def protected(self, **options: Any) -> cw.Protection:
        """What the code makes of it."""
        inner = self.a.reshape([n + 1 for n in self.shape])[tuple(slice(n) for n in self.shape)]
        made = cw.Table.from_array(inner)
        levels = self.below, self.level, np.zeros_like(self.level)
        made = made.with_sensitivity(Sensitivity.of(made.cells, self.cells, *levels))
        key = options.pop("key", None)
        return cw.ControlledRounding(self.base, **options).protect(made, key=key)

    def kept(self, left: Ints) -> int:
        """How many levels the tables left keep."""
        low, high = left.min(axis=0)[self.cells], left.max(axis=0)[self.cells]
        a, level = self.a[self.cells], self.level
        return int(((a - low >= self.below) & (high - a >= level) & (low < high)).sum())


@dataclass(frozen=True, eq=False)
class Brute:
    """All moves of a shape: between tables and their roundings, and between two roundings of one table."""

    near: Ints
    far: Ints
    base: int

    @staticmethod
    def of(shape: tuple[int, ...], base: int) -> Brute:
        def moves(values: range) -> Ints:
            every = np.array(list(product(values, repeat=int(np.prod(shape)))), np.int64)
            return with_margins(every.reshape(-1, *shape))

        near, far = moves(range(1 - base, base)), base * moves(range(-1, 2))
        return Brute(near[np.all(np.abs(near) < base, axis=1)], far[np.all(np.abs(far) <= base, axis=1)], base)

    def region(self, v: Ints) -> Ints:
        """Tables of counts that round to v."""
        y = v + self.near
        return y[np.all(y >= 0, axis=1)]

    def keeps(self, v: Ints, y: Ints, small: Small) -> NDArray[np.bool_]:
        """Which tables y have their levels kept when v is published."""
        region = self.region(v)
        low, high, mine = region.min(axis=0)[small.cells], region.max(axis=0)[small.cells], y[:, small.cells]
        below = np.minimum(small.below, mine)
        return np.all((mine - low >= below) & (high - mine >= small.level), axis=1)

    def left(self, v: Ints, small: Small) -> tuple[Ints, Ints]:
        """Tables of which v is a least rounding, of all or of those that keep the levels; and those of the latter kind alone."""
        y = self.region(v)
        cost = np.abs(y - v).sum(axis=1)
        nearest, protected = np.ones(len(y), bool), self.keeps(v, y, small)
        for d in self.far:
            other = v + d
            if not d.any() or (other < 0).any():
                continue
            better = np.all(np.abs(y - other) < self.base, axis=1) & (np.abs(y - other).sum(axis=1) < cost)
            nearest &= ~better
            better &= protected
            if better.any():
                protected[better] &= ~self.keeps(other, y[better], small)
        return y[nearest | protected], y[protected]


# ---- the nearest rounding ----------------------------------------------------------------------------------------------------------------


def releases(shape: tuple[int, ...], base: int, tables: int, **options: Any) -> Iterator[tuple[Small, cw.Protection]]:
    """Small tables that have a rounding which keeps their levels, and that rounding."""
    for seed in range(tables):
        small = Small.of(shape, base, seed)
        p = small.protected(key=key_of("method", shape, base, seed), **options)
        if p.scaled is not None:
            yield small, p


def show_nearest(report: Report, *, quick: bool) -> None:
    """The share of levels that survive, by shape; the audit must agree table by table."""
    rows: list[list[object]] = []
    shares: dict[tuple[int, ...], float] = {}
    for shape, base in SHAPES:
        if quick and len(shape) == 1 and shape[0] > 4:
            continue
        brute, count = Brute.of(shape, base), Counter[str]()
        tables = TABLES if shape != (5,) else TABLES // 3
        for small, p in releases(shape, base, tables // 10 if quick else tables):
            assert p.scaled is not None
            left, told = brute.left(p.scaled, small)
            alone = brute.region(p.scaled)
            count.update(tables=1, levels=len(small.cells), alone=small.kept(alone))
            count.update(method=small.kept(left), told=small.kept(told))
            for one, expected in ((False, left), (True, told)):
                knows = cw.Attacker.knowing_method(levels_told=one)
                found = p.audit(attackers=[knows])
                same = found.intervals["lower"].tolist() == expected.min(axis=0).tolist()
                same = same and found.intervals["upper"].tolist() == expected.max(axis=0).tolist()
                count["agree"] += same
            count["noted"] += bool(cw.ControlledRounding.notes(p))
        fail = [1 - count[name] / count["levels"] for name in ("alone", "method", "told")]
        shares[shape] = fail[1]
        rows.append([" × ".join(map(str, (1, *shape)[-2:])), base, count["tables"], count["levels"], *map(shown, fail)])
        name = f"nearest, {shape} base {base}"
        report.require(fail[0] == 0, f"{name}: {shown(fail[0])} fail without the method")
        report.require(count["agree"] == 2 * count["tables"], f"{name}: the audit differs on some tables")
        report.require(count["noted"] == count["tables"] or np.prod(shape) > 4, f"{name}: some results carry no note")
    report.require(shares[2,] > 0.2, "nearest: two cells keep more than measured before")
    report.add(
        f"Random counts from 1 to {TOP}, one to all inner cells at risk, levels from 1 to 3 (base 5) or of 1 (base 3), rounded to the nearest table "
        "that keeps them, external attacker, strict knowledge. Shares of levels that fail: *told* against one who knows the release, which is what "
        "is promised; *method* against one who strikes every table of which the release is no least rounding, of all or of those that keep "
        "the levels (`Attacker.knowing_method()`); *and levels* against one who is told the levels as amounts too (`levels_told=True`): "
        "levels must stay secret, whatever the method. Struck by a search of its own; the audit says the same of every cell of every table.\n\n"
        + table(["table", "base", "tables", "levels", "told", "method", "and levels"], rows)
    )


# ---- remedies ----------------------------------------------------------------------------------------------------------------------------


def reached(shape: tuple[int, ...], base: int, draws: int, *, keyed: bool) -> dict[bytes, set[bytes]]:
    """By the residues of the inner cells: the moves y − v of all cells that draws lead to, far from zero."""
    out = {}
    for rest in product(range(base), repeat=int(np.prod(shape))):
        inner = np.array(rest, np.int64).reshape(shape) + 10 * base
        made = cw.Table.from_array(inner)
        seen = set()
        for k in range(draws):
            if keyed:
                p = cw.ControlledRounding(base, keyed=True).protect(made, key=key_of("reached", k))
            else:
                p = cw.ControlledRounding(base, unbiased=True).protect(made, seed=k, key=key_of("reached", k))
            assert p.scaled is not None
            seen.add((made.scaled - p.scaled).tobytes())
        out[np.array(rest, np.int64).tobytes()] = seen
    return out


def show_remedies(report: Report, *, quick: bool) -> None:
    """Keyed and unbiased roundings: which roundings can come of a table, what survives, and what it costs."""
    rows: list[list[object]] = []
    shape, base, draws = (2,), 5, 25 if quick else 150
    brute = Brute.of(shape, base)
    for word, options in (("unbiased", {"unbiased": True}), ("keyed", {"keyed": True})):
        can = reached(shape, base, draws, keyed=word == "keyed")
        whole = sum(
            np.all(np.abs(with_margins(base * np.array([up])) - with_margins(np.array([rest]))) < base)
            for rest in product(range(base), repeat=2)
            for up in product(*((0, 1) if r else (0,) for r in rest))
        )
        got, count = sum(map(len, can.values())), Counter[str]()
        for small, p in releases(shape, base, 20 if quick else TABLES, **options):
            assert p.scaled is not None
            y = brute.region(p.scaled)
            inner = np.ascontiguousarray(y[:, :-1] % base)
            possible = [move.tobytes() in can[r.tobytes()] for move, r in zip(y - p.scaled, inner, strict=True)]
            possible = np.array(possible) | np.all(y == small.a, axis=1)
            count.update(levels=len(small.cells), kept=small.kept(y[possible]))
            count.update(cost=int(np.abs(p.scaled - small.a).sum()))
            least = small.protected()
            assert least.scaled is not None
            count.update(least=int(np.abs(least.scaled - small.a).sum()))
        fail = 1 - count["kept"] / count["levels"]
        rows.append(
            [word, "1 × 2", shown(got / whole), count["levels"], shown(fail), f"{count['cost'] / count['least']:.2f}"]
        )
        if word == "keyed":
            report.require(
                got >= (0.9 if quick else 0.98) * whole, "remedies: keyed roundings do not reach every rounding"
            )
            report.require(fail == 0, f"remedies: {shown(fail)} of levels fail under keyed roundings")
    for shape, base in SHAPES[1:]:
        count, brute = Counter[str](), Brute.of(shape, base)
        for small, p in releases(shape, base, 15 if quick else TABLES // 3, keyed=True):
            least = small.protected()
            assert p.scaled is not None and least.scaled is not None
            count.update(levels=len(small.cells), kept=small.kept(brute.region(p.scaled)))
            count.update(cost=int(np.abs(p.scaled - small.a).sum()), least=int(np.abs(least.scaled - small.a).sum()))
        fail = 1 - count["kept"] / count["levels"]
        words = " × ".join(map(str, (1, *shape)[-2:]))
        rows.append(["keyed", words, "all", count["levels"], shown(fail), f"{count['cost'] / count['least']:.2f}"])
        report.require(fail == 0, f"remedies, keyed, {shape}: {shown(fail)} of levels fail")
    report.add(
        "The same tables, rounded near a table drawn by lot. A table is possible when the release can come of it. *Reached*: the share of the "
        f"roundings of all residues that {draws} draws led to (1 × 2); of a keyed rounding it is all, by proof (protect/rounding/model.md), so "
        "larger tables are judged by all. *Fail*: the levels that fail against one who knows the method. *Cost*: the sum of changes as a "
        "multiple of the nearest rounding's. `unbiased=True` was made for sums over large tables: in a small one it leads to few of the "
        "roundings and is no remedy.\n\n" + table(["rounding", "table", "reached", "levels", "fail", "cost"], rows)
    )


# ---- insiders of adjustments -------------------------------------------------------------------------------------------------------------

PERCENT, LEAST = 10, 5
SIDES = (3, 6)


@dataclass(frozen=True, eq=False)
class Pairs:
    """A square table with two cells at risk in each of half of its rows, flat with margins; the insider is alone in the first of each pair."""

    side: int
    a: Ints
    pairs: Ints
    level: Ints

    @staticmethod
    def of(side: int, seed: int) -> Pairs:
        rng = np.random.default_rng([17, side, seed])
        inner = np.maximum(np.rint(rng.lognormal(4, 1, (side, side))), LEAST).astype(np.int64)
        a = with_margins(inner[None])[0]
        rows = rng.choice(side, side // 2, replace=False)
        pairs = np.array([row * (side + 1) + rng.choice(side, 2, replace=False) for row in rows])
        return Pairs(side, a, pairs, -(-a[pairs] * PERCENT // 100))

    def adjusted(self, norm: str, fixed: str | None, key: bytes) -> cw.Protection:
        """What the code makes of it, every insider given to it."""
        side = self.side
        made = cw.Table.from_array(self.a.reshape(side + 1, side + 1)[:side, :side])
        order = np.argsort(self.pairs.ravel())
        cells, level = self.pairs.ravel()[order], self.level.ravel()[order]
        made = made.with_sensitivity(Sensitivity.of(made.cells, cells, level, level, 0 * level))
        insiders = [cw.Attacker.knowing(made, f"alone in {i}", exactly=[int(i)]) for i, _ in self.pairs]
        method = cw.ControlledAdjustment(norm=norm, fixed=fixed)
        return method.protect(made, attackers=[cw.Attacker.external(), *insiders], key=key)


def open_to_all(v: int) -> Ints:
    """The values that a published one leaves open to whoever knows the levels' rule and the jitter: a level to twice a level off."""
    b = np.arange(1, 3 * v + 10)
    asked, far = -(-b * PERCENT // 100), np.abs(v - b)
    return b[(far >= asked) & (far <= asked + np.maximum(asked, 2))]


def show_insiders(report: Report, *, quick: bool) -> None:
    """What insiders guess, beside guessing blindly; what results say of them."""
    rows: list[list[object]] = []
    for side, norm, fixed in product(SIDES, ("l1", "l2"), (None, "margins")):
        count: Counter[str] = Counter()
        blind = np.zeros(2)
        for seed in range(8 if quick else TABLES):
            case = Pairs.of(side, seed)
            p = case.adjusted(norm, fixed, key_of("insiders", side, seed))
            if p.scaled is None:
                count["infeasible"] += 1
                continue
            z = p.scaled - case.a
            own, other = case.pairs.T
            guess = p.scaled[other] + z[own]  # all others unmoved: what the one gained the other lost
            off = np.abs(guess - case.a[other])
            count.update(levels=len(off), right=int((off == 0).sum()), within=int((off < case.level[:, 1]).sum()))
            for k, i in enumerate(other.tolist()):
                values = open_to_all(int(p.scaled[i]))
                if guess[k] in values:  # otherwise he sees that others moved
                    far = np.abs(values - case.a[i])
                    count.update(stands=1, stands_right=off[k] == 0, stands_within=off[k] < case.level[k, 1])
                    blind += (far == 0).mean(), (far < case.level[k, 1]).mean()
            count.update(claimed=sum(bool(k["cell"]) for k in p.certificate().content["attackers"]))
            assert p.details is not None
            said = p.details.to_dict()["insiders"]
            report.require(
                said["within"] >= (off < case.level[:, 1]).sum(), f"insiders, {norm}: the note counts too few"
            )
            report.require(bool(p.release()), "insiders: no release")
        n, stands = count["levels"], max(count["stands"], 1)
        report.require(count["claimed"] == 0, f"insiders, {norm}: {count['claimed']} claims against insiders")
        shares = [count["right"] / n, count["within"] / n, count["stands"] / n]
        better = [count["stands_right"] / stands, blind[0] / stands, count["stands_within"] / stands, blind[1] / stands]
        what = f"{side} × {side}, {norm}, margins {'fixed' if fixed else 'free'}"
        rows.append([what, n, *map(shown, shares), *map(shown, better), f"{n} of {n}", count["claimed"]])
    report.add(
        f"Square tables of round(lognormal(4, 1)) ≥ {LEAST}, two cells at risk in each of half of the rows, levels {PERCENT} %, defaults. Who "
        "is alone in the first of a pair knows how far it moved, and takes all cells but the second to be unmoved. *Exact*, *within*: this "
        "guess is right, or nearer than the level. *Stands*: it is among the values that the published one leaves open to anybody who knows "
        "the levels' rule and the jitter; of those guesses, how many are right or near, beside a *blind* one by lot among these values. "
        "*Claimed before*: levels that counted as met against these insiders, by distance alone. *Now*: those that certificates claim; "
        "results say how many are guessed, and refuse what an insider works out for certain.\n\n"
        + table(
            ["", "levels", "exact", "within", "stands", "exact", "blind", "within", "blind", "claimed before", "now"],
            rows,
        )
    )


# ---- the programme -----------------------------------------------------------------------------------------------------------------------


def shown(share: float) -> str:
    return f"{100 * share:.1f} %" if share else "0"


RUN: dict[str, Callable[..., None]] = {"nearest": show_nearest, "remedies": show_remedies, "insiders": show_insiders}
PARTS = {
    "nearest": "who knows how tables are rounded",
    "remedies": "roundings by lot",
    "insiders": "insiders of adjustments",
}


def figures(report: Report, part: str, *, quick: bool) -> None:
    """One part of the programme."""
    RUN[part](report, quick=quick)


if __name__ == "__main__":
    sys.exit(run_parts("method_attack.py", "Attackers who know the method", PARTS, figures, __doc__))
