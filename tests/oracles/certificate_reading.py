"""The specification of certificates (docs/certificate.md) written down once more: form, truth of plain claims, evidence.

Plain whole numbers, nothing of the package.
"""

from __future__ import annotations

import re
from collections.abc import Sequence
from dataclasses import dataclass
from fractions import Fraction
from itertools import pairwise
from typing import Any

Json = Any

Bound = int | None
Level = tuple[int, int, int, int, int]
"""Attacker, cell, lpl, upl, spl."""

# ---- the specification: form ---------------------------------------------------------------------------------------------------------------------


class MalformedError(Exception):
    """Not of the form that the specification gives a certificate."""


def need(holds: object, what: str) -> None:
    if not holds:
        raise MalformedError(what)


def entries(x: Json, *names: str) -> list[Json]:
    """The entries of an object that has exactly these."""
    need(type(x) is dict and set(x) == set(names), f"an object that is not exactly {names}")
    return [x[name] for name in names]


def text(x: Json, *among: str) -> str:
    need(type(x) is str and (not among or x in among), f"{x!r} is not a text, or none of {among}")
    return x


def whole(x: Json, least: int | None = None) -> int:
    need(type(x) is int and abs(x) < 10**40 and (least is None or x >= least), f"{x!r} is not a whole number ≥ {least}")
    return x


def numbers(x: Json, size: int | None = None) -> list[int]:
    need(type(x) is list and size in (None, len(x)), f"not a list of {size}")
    return [whole(y) for y in x]


def column(x: Json, size: int, least: int | None = None) -> list[int]:
    return [whole(y, least) for y in (numbers(x, size) if type(x) is list else [whole(x)] * size)]


def bounds(x: Json, size: int) -> list[Bound]:
    if type(x) is not list:
        return [None if x is None else whole(x)] * size
    need(len(x) == size, f"not a list of {size}")
    return [None if y is None else whole(y) for y in x]


def increasing(x: Json, below: int) -> list[int]:
    found = numbers(x)
    need(all(y < z for y, z in pairwise([-1, *found, below])), f"not increasing from 0 to below {below}")
    return found


@dataclass(frozen=True)
class Steps:
    """first, first + step, …: ``count`` values."""

    first: int
    step: int
    count: int

    def __contains__(self, v: int) -> bool:
        if self.step == 0:
            return v == self.first and self.count > 0
        return (v - self.first) % self.step == 0 and 0 <= (v - self.first) // self.step < self.count

    @property
    def last(self) -> int:
        return self.first + (self.count - 1) * self.step

    def split(self, at: int) -> tuple[Steps, Steps]:
        """What is ≤ at, and what is above."""
        low = self.count if self.count and self.last <= at else 0
        if self.count and self.step and self.first <= at < self.last:
            low = (at - self.first) // self.step + 1
        return Steps(self.first, self.step, low), Steps(self.first + low * self.step, self.step, self.count - low)

    def corners(self, t: int) -> list[int]:
        """Two values at each end and two to each side of t: a convex function with its kink at t has its least and all its steps among them."""
        if self.step == 0:
            return [self.first]
        k = (t - self.first) // self.step
        places = {0, 1, k - 1, k, k + 1, k + 2, self.count - 2, self.count - 1}
        return [self.first + place * self.step for place in sorted(places) if 0 <= place < self.count]


@dataclass(frozen=True)
class Levels:
    cell: list[int]
    lpl: list[int]
    upl: list[int]
    spl: list[int]

    @staticmethod
    def read(x: Json, n: int) -> Levels:
        cell, *amounts = entries(x, "cell", "lpl", "upl", "spl")
        found = increasing(cell, n)
        return Levels(found, *(column(y, len(found), 0) for y in amounts))


@dataclass(frozen=True)
class Attacker:
    """Bounds on all cells (None: nothing), and what is to be kept from it: (cell, lpl, upl, spl)."""

    name: str
    whole: bool
    lower: list[Bound]
    upper: list[Bound]
    levels: Levels | None

    @staticmethod
    def read(x: Json, n: int) -> Attacker:
        name, is_whole, cell, lower, upper, levels = entries(x, "name", "whole", "cell", "lower", "upper", "levels")
        need(type(is_whole) is bool, "whole is neither true nor false")
        cells = increasing(cell, n)
        low, high = (dict(zip(cells, bounds(y, len(cells)), strict=True)) for y in (lower, upper))
        return Attacker(
            text(name),
            is_whole,
            [low.get(i) for i in range(n)],
            [high.get(i) for i in range(n)],
            None if levels is None else Levels.read(levels, n),
        )

    def asked(self, levels: Levels) -> list[tuple[int, int, int, int]]:
        own = self.levels or levels
        rows = zip(own.cell, own.lpl, own.upl, own.spl, strict=True)
        known = [low is not None and low == high for low, high in zip(self.lower, self.upper, strict=True)]
        return [(i, *amounts) for i, *amounts in rows if any(amounts) and not known[i]]  # type: ignore[misc]


@dataclass(frozen=True)
class Witness:
    denominator: int
    leaf: list[int]
    difference: list[int]
    covers: list[tuple[int, list[int]]]

    @staticmethod
    def read(x: Json, n: int, attackers: int) -> Witness:
        d, leaf, difference, covers = entries(x, "denominator", "leaf", "difference", "covers")
        leaves = increasing(leaf, n)
        moved = numbers(difference, len(leaves))
        need(all(moved), "a difference is 0")
        need(
            type(covers) is list and all(type(cover) is list and cover for cover in covers),
            "covers is no list of lists",
        )
        found = [(k, cells) for k, *cells in map(numbers, covers)]
        increasing([k for k, _ in found], attackers)
        need(all(0 <= i < n for _, cells in found for i in cells), "a cell covered does not exist")
        return Witness(whole(d, 1), leaves, moved, found)


class Reading:
    """A certificate, columns written out; raises MalformedError."""

    def __init__(self, c: Json) -> None:
        (form, version, salt, method, decimals, weight_decimals, equations, nominal, lower, upper, published, allowed, weight, target, objective,
         knowledge, protection, levels, attackers, definitions, witnesses, bound, status, engine) = entries(
            c, "format", "version", "salt", "method", "decimals", "weight_decimals", "equations", "nominal", "lower", "upper", "published",
            "allowed", "weight", "target", "objective", "knowledge", "protection", "levels", "attackers", "definitions", "witnesses", "bound",
            "status", "engine",
        )  # fmt: skip
        text(form, "cellward certificate")
        need(whole(version) == 3, "another version")
        need(re.fullmatch("[0-9a-fA-F]{64}", text(salt)), "salt is not 64 hexadecimal digits")
        need(type(method) is dict and type(method.get("name")) is str, "the method has no name")
        self.method = method
        whole(decimals, 0)
        whole(weight_decimals, 0)
        self.a = numbers(nominal)
        self.n = n = len(self.a)
        length, rhs, cell, coef = entries(equations, "length", "rhs", "cell", "coef")
        lengths, cells = [whole(size, 0) for size in numbers(length)], numbers(cell)
        need(sum(lengths) == len(cells) and all(0 <= i < n for i in cells), "equations: lengths or cells do not fit")
        pairs = iter(zip(cells, column(coef, len(cells)), strict=True))
        self.rows = []
        for right, size in zip(column(rhs, len(lengths)), lengths, strict=True):
            terms: dict[int, int] = {}
            for i, x in (next(pairs) for _ in range(size)):
                terms[i] = terms.get(i, 0) + x
            self.rows.append((right, terms))
        self.m = len(self.rows)
        self.lower, self.upper = bounds(lower, n), bounds(upper, n)
        self.v = None if published is None else numbers(published, n)
        los, his, self.step = (column(x, n) for x in entries(allowed, "lo", "hi", "step"))
        need(
            all(s >= 0 and (s or lo == hi) for lo, hi, s in zip(los, his, self.step, strict=True)),
            "allowed: no such set",
        )
        self.sets = [
            Steps(lo, s, max(0, (hi - lo) // s + 1) if s else 1) for lo, hi, s in zip(los, his, self.step, strict=True)
        ]
        self.w = column(weight, n, 0)
        self.t = self.a if target is None else numbers(target, n)
        self.objective = None if objective is None else whole(objective, 0)
        self._read_knowledge(knowledge)
        self.protection = text(protection, "shown", "none asked", "ignored")
        self.levels = Levels.read(levels, n)
        need(type(attackers) is list and attackers, "no attackers")
        self.attackers = [Attacker.read(x, n) for x in attackers]
        need(len({x.name for x in self.attackers}) == len(attackers), "two attackers of one name")
        equation, defined = map(numbers, entries(definitions, "equation", "cell"))
        need(len(equation) == len(defined), "definitions of unequal length")
        need(all(0 <= j < self.m for j in equation) and all(0 <= i < n for i in defined), "definitions: not there")
        self.definitions = list(zip(equation, defined, strict=True))
        need(type(witnesses) is list, "no list of witnesses")
        self.witnesses = [Witness.read(x, n, len(attackers)) for x in witnesses]
        self._read_bound(bound)
        self.status = text(status, "optimal", "feasible", "infeasible")
        text(engine)

    def _read_knowledge(self, x: Json) -> None:
        need(type(x) is dict, "knowledge is no object")
        rule = text(x.get("rule"), "rounded", "perturbed", "interval", "suppressed", "adjusted")
        names = {
            "rounded": ("kind", "base", "steps"), "perturbed": ("kind", "form", "amount"), "interval": ("lo", "hi"),
            "suppressed": ("withheld",), "adjusted": ("most",),
        }[rule]  # fmt: skip
        entries(x, "rule", *names, *(["small"] if rule == "rounded" and "small" in x else []))
        self.small = text(x["small"], "up", "zero") if "small" in x else None
        self.rule, self.knowledge = rule, dict(x)
        if "kind" in names:
            text(x["kind"], "paper", "strict")
        if rule == "rounded":
            self.knowledge |= {"base": column(x["base"], self.n, 0), "steps": whole(x["steps"], 1)}
        elif rule == "perturbed":
            text(x["form"], "distance", "base")
            self.knowledge["amount"] = column(x["amount"], self.n, 0)
        elif rule == "interval":
            self.knowledge |= {"lo": bounds(x["lo"], self.n), "hi": bounds(x["hi"], self.n)}
        elif rule == "suppressed":
            increasing(x["withheld"], self.n)
        elif x["most"] is not None:
            self.knowledge["most"] = column(x["most"], self.n, 0)

    def _read_bound(self, x: Json) -> None:
        value, unit, self.tree = entries(x, "value", "unit", "tree")
        if value is not None and text(value) != "infeasible":
            need(re.fullmatch(r"-?[0-9]+(/[0-9]+)?", value), "the bound's value is no rational")
            need(not value.endswith("/0") and str(Fraction(value)) == value, "the bound's value is not in lowest terms")
            value = Fraction(value)
        self.value: Fraction | str | None = value
        size, equation, multiplier = entries(unit, "size", "equation", "multiplier")
        self.unit = whole(size, 1), self._multipliers(equation, multiplier)
        need(type(self.tree) is list, "the tree is no list")
        for node in self.tree:
            if type(node) is dict and "kind" not in node:
                i, at = entries(node, "cell", "at")
                whole(at)
                need(0 <= whole(i) < self.n, "a branching on no cell")
            else:
                kind, d, equation, multiplier = entries(node, "kind", "denominator", "equation", "multiplier")
                text(kind, "dual", "farkas", "modular")
                whole(d, 1)
                increasing(equation, self.m)
                self._multipliers(equation, multiplier)

    def _multipliers(self, equation: Json, multiplier: Json) -> list[tuple[int, int]]:
        found = numbers(equation)
        need(all(0 <= j < self.m for j in found), "a multiplier of no equation")
        return list(zip(found, numbers(multiplier, len(found)), strict=True))


# ---- the specification: truth --------------------------------------------------------------------------------------------------------------------


def misses(rows: Sequence[tuple[int, dict[int, int]]], x: Sequence[int]) -> bool:
    return any(sum(c * x[i] for i, c in terms.items()) != right for right, terms in rows)


def within(x: Sequence[int], lo: Sequence[Bound], hi: Sequence[Bound], d: int = 1) -> bool:
    """Whether lo ≤ x/d ≤ hi."""
    return all((p is None or p * d <= y) and (q is None or y <= q * d) for y, p, q in zip(x, lo, hi, strict=True))


def box(r: Reading) -> tuple[list[Bound], list[Bound], bool]:
    """Check 3: what the public learns of every cell, and whether it learns that values are whole."""
    assert r.v is not None
    k, lo, hi = r.knowledge, [], []
    for i, (a, v) in enumerate(zip(r.a, r.v, strict=True)):
        low: Bound
        high: Bound
        if r.rule == "interval":
            low, high = k["lo"][i], k["hi"][i]
        elif r.rule == "suppressed":
            low, high = (None, None) if i in k["withheld"] else (v, v)
        elif r.rule == "adjusted":
            low, high = (None, None) if k["most"] is None else (v - k["most"][i], v + k["most"][i])
        elif r.rule == "rounded":
            base, s = k["base"][i], k["steps"]
            if base == 0:
                width = 0
            elif k["kind"] == "strict":
                width = s * base - 1
            else:
                width = 0 if s == 1 and a % base == 0 else s * base
            low, high = v - width, v + width
            if r.small and base:
                low, high = spared(r, i, v, base, s, low, high)
        else:
            t = k["amount"][i]
            if t == 0:
                low, high = v, v
            elif k["form"] == "distance":
                width = 2 * t if k["kind"] == "paper" else t
                low, high = v - width, v + width
            elif k["kind"] == "paper":
                width = 0 if a % t == 0 else t
                low, high = v - width, v + width
            else:
                low, high = t * (v // t), t * -(-v // t)
                if v % t == 0:
                    low, high = low - t, high + t
        lo.append(low)
        hi.append(high)
    return lo, hi, r.rule == "rounded" and k["kind"] == "strict"


def spared(r: Reading, i: int, v: int, base: int, s: int, low: int, high: int) -> tuple[int, int]:
    """The section on small counts: what is left of low ≤ y ≤ high."""
    least, most = r.lower[i], r.upper[i]
    if least is None or least < 0:
        return low, high
    zero = least <= 0 and v < s * base
    few = v > 0 if r.small == "up" else v == 0
    many = (most is None or most >= base) and v + s * base > base
    if not zero:
        low = max(low, 1 if few else base)
    if not few and not many:
        high = min(high, 0)
    return low, high


def roundings(r: Reading, i: int) -> tuple[int, int, int]:
    """Check 2: the least and the greatest value that cell i may take whatever its bounds, and the distance from one to the next."""
    a, base, s = r.a[i], r.knowledge["base"][i], r.knowledge["steps"]
    if base == 0:
        return a, a, 1
    step = r.step[i]
    low, high = -(-(a - s * base + 1) // step) * step, (a + s * base - 1) // step * step
    bound = r.lower[i]
    if r.small and bound is not None and bound >= 0 and 0 < a < base:
        return (0, 0, step) if r.small == "zero" else (max(low, step), high, step)
    return low, high, step


def misperturbed(r: Reading) -> bool:
    """Check 2: whether the allowed sets are not those of a cell perturbation."""
    for i, (a, q, own) in enumerate(zip(r.a, r.knowledge["amount"], r.sets, strict=True)):
        least, most = r.lower[i], r.upper[i]
        if r.knowledge["form"] == "distance":
            low, high = a - q, a + q
        else:
            low, high = (a // q * q, -(-a // q) * q) if q else (a, a)
        low, high = low if least is None else max(low, least), high if most is None else min(high, most)
        runs = own.count == 1 or (own.count > 1 and own.step == 1)
        if not runs or not low <= own.first <= own.last <= high:
            return True
        if r.knowledge["form"] == "base" and (own.first, own.last) != (low, high):
            return True
    return False


@dataclass(frozen=True)
class Region:
    """What one attacker cannot rule out: the equations, these bounds, and whether values are whole."""

    lo: list[Bound]
    hi: list[Bound]
    whole: bool


def regions(r: Reading) -> list[Region]:
    lo, hi, by_box = box(r)
    return [
        Region(
            [max((y for y in ends if y is not None), default=None) for ends in zip(lo, r.lower, k.lower, strict=True)],
            [min((y for y in ends if y is not None), default=None) for ends in zip(hi, r.upper, k.upper, strict=True)],
            by_box or k.whole,
        )
        for k in r.attackers
    ]


def plain_claim(r: Reading) -> str | None:
    """A claim that is false by looking at it: checks 1 to 4, and 7 and 8 as far as they are about words."""
    if misses(r.rows, r.a):
        return "the true values miss an equation"
    if not within(r.a, r.lower, r.upper):
        return "the true values leave the public bounds"
    if not all(within(r.a, k.lower, k.upper) for k in r.attackers):
        return "the true values leave an attacker's bounds"
    if (r.v is None) != (r.status == "infeasible") or (r.v is None) != (r.objective is None):
        return "values, objective and status contradict each other"
    if r.method.get("small_counts") != r.small:
        return "the method says something else of small counts"
    rounding = r.method["name"] == "controlled rounding"
    if rounding:
        steps, k = r.method.get("steps"), r.knowledge
        if type(steps) is not int or steps < 1 or r.rule != "rounded" or k["steps"] != steps:
            return "the rounding is not as its knowledge says"
        only = k["kind"] == "strict" and type(r.method.get("only")) is str and r.method["only"] != ""
        if any(step != base and not (only and step == 1 < base) for step, base in zip(r.step, k["base"], strict=True)):
            return "the rounding is not as its allowed sets say"
        for i, own in enumerate(r.sets):
            low, high, step = roundings(r, i)
            least, most = r.lower[i], r.upper[i]
            low = low if least is None else max(low, -(-least // step) * step)
            high = high if most is None else min(high, most // step * step)
            if low <= high and not (low in own and high in own):
                return "a cell was not free to be rounded"
    if r.method["name"] == "cell perturbation" and (r.rule != "perturbed" or misperturbed(r)):
        return "a cell was not free to be perturbed, or further than stated"
    if r.protection == "none asked" and any(k.asked(r.levels) for k in r.attackers):
        return "a level is asked"
    if r.v is None:
        return None
    if misses(r.rows, r.v):
        return "the published values miss an equation"
    if not all(v in own for v, own in zip(r.v, r.sets, strict=True)):
        return "a published value is not allowed"
    if rounding:
        for i, v in enumerate(r.v):
            low, high, step = roundings(r, i)
            if v % step or not low <= v <= high:
                return "a published value is not a rounding"
    if r.objective != sum(w * abs(v - t) for w, v, t in zip(r.w, r.v, r.t, strict=True)):
        return "another objective"
    lo, hi, _ = box(r)
    if not within(r.a, lo, hi):
        return "the true values leave the box"
    if r.value == "infeasible" or (isinstance(r.value, Fraction) and r.value > r.objective):
        return "the bound exceeds the objective"
    return None


# ---- the specification: evidence -----------------------------------------------------------------------------------------------------------------


def wrong_definitions(r: Reading) -> str | None:
    """Check 5."""
    cells = [i for _, i in r.definitions]
    if len(set(cells)) < len(cells) or len({j for j, _ in r.definitions}) < len(cells):
        return "an equation or a cell is defined twice"
    late = set(cells)
    for j, i in r.definitions:
        terms = r.rows[j][1]
        if abs(terms.get(i, 0)) != 1:
            return "a definition without coefficient ±1"
        if any(c and other in late for other, c in terms.items() if other != i):
            return "definitions are not triangular"
        late.remove(i)
    return None


def shift(r: Reading, witness: Witness) -> list[int] | None:
    """Check 6: Δ of a witness, None when it moves what is no leaf or misses an equation; the definitions are in order."""
    out = [0] * r.n
    if {i for _, i in r.definitions} & set(witness.leaf):
        return None
    for i, x in zip(witness.leaf, witness.difference, strict=True):
        out[i] = x
    for j, i in r.definitions:
        terms = r.rows[j][1]
        out[i] = -terms[i] * sum(c * out[other] for other, c in terms.items() if other != i)
    return None if misses([(0, terms) for _, terms in r.rows], out) else out


def meets(reached: Sequence[Fraction], lpl: int, upl: int, spl: int) -> bool:
    low, high = min(0, *reached, 0), max(0, *reached, 0)
    return low <= -lpl and high >= upl and high - low >= spl


def published_within(r: Reading) -> str | None:
    """Check 7 where nothing can be worked out from the values: they themselves must be far enough off."""
    assert r.v is not None
    for k in r.attackers:
        for i, lpl, upl, spl in k.asked(r.levels):
            if spl or not (r.v[i] >= r.a[i] + upl or r.v[i] <= r.a[i] - lpl):
                return f"cell {i} is published within its levels"
    return None


class Evidence:
    """Checks 5 to 7: what is wrong with the witnesses, and which levels no table among them shows."""

    def __init__(self, r: Reading) -> None:
        self.wrong = wrong_definitions(r)
        self.unshown: list[Level] = []
        self.asked = [(k, *one) for k, own in enumerate(r.attackers) for one in own.asked(r.levels)]
        if r.v is None:
            # The specification does not say what the public learns from nothing: only that witnesses would be needed.
            self.wrong = self.wrong or (
                "levels of nothing published" if r.protection == "shown" and self.asked else None
            )
            return
        found = [] if self.wrong else [(shift(r, witness), witness) for witness in r.witnesses]
        if any(moved is None for moved, _ in found):
            self.wrong = "a witness that is no table"
        tables = [(moved, witness) for moved, witness in found if moved is not None]
        own = regions(r)
        inside = [[_inside(r, moved, witness.denominator, region) for region in own] for moved, witness in tables]
        if any(not good[k] for good, (_, witness) in zip(inside, tables, strict=True) for k, _ in witness.covers):
            self.wrong = self.wrong or "a witness outside a region that it covers"
        if r.protection != "shown":
            return
        if r.rule == "adjusted" and r.knowledge["most"] is None:
            self.wrong = self.wrong or published_within(r)
            return
        for k, i, *level in self.asked:
            covering = [
                Fraction(moved[i], witness.denominator)
                for moved, witness in tables
                if any(k == other and i in cells for other, cells in witness.covers)
            ]
            if not meets(covering, *level):
                self.wrong = self.wrong or "a level that no witness shows"
            usable = [
                Fraction(moved[i], witness.denominator)
                for good, (moved, witness) in zip(inside, tables, strict=True)
                if good[k]
            ]
            if not meets(usable, *level):
                self.unshown.append((k, i, *level))  # type: ignore[arg-type]


def _inside(r: Reading, moved: list[int], d: int, region: Region) -> bool:
    return (d == 1 or not region.whole) and within(
        [a * d + x for a, x in zip(r.a, moved, strict=True)], region.lo, region.hi, d
    )


def slope(r: Reading, multipliers: Sequence[tuple[int, int]]) -> tuple[int, list[int]]:
    """λ·b and Mᵀλ."""
    right, out = 0, [0] * r.n
    for j, x in multipliers:
        right += x * r.rows[j][0]
        for i, c in r.rows[j][1].items():
            out[i] += x * c
    return right, out


def leaf(r: Reading, node: Json, sets: list[Steps]) -> Fraction | str | None:
    """What a leaf shows: L, or None that there is no table; a text when it shows nothing."""
    if not all(own.count for own in sets):
        return None
    d = node["denominator"]
    right, m = slope(r, list(zip(node["equation"], node["multiplier"], strict=True)))
    if node["kind"] == "dual":
        each = zip(r.w, r.t, m, sets, strict=True)
        return Fraction(
            right + sum(min(d * w * abs(v - t) - c * v for v in own.corners(t)) for w, t, c, own in each), d
        )
    if node["kind"] == "farkas":
        least = right + sum(min(-c * own.first, -c * own.last) for c, own in zip(m, sets, strict=True))
        return None if least > 0 else "a farkas leaf that shows nothing"
    fits = all(c * own.step % d == 0 for c, own in zip(m, sets, strict=True) if own.count > 1)
    rest = right - sum(c * own.first for c, own in zip(m, sets, strict=True))
    return None if d >= 2 and fits and rest % d else "a modular leaf that shows nothing"


@dataclass(frozen=True)
class Derived:
    """What unit and tree show together."""

    value: Fraction | str | None


def wrong_bound(r: Reading) -> str | None:
    """Check 8, all but whether the value is true."""
    derived = derive(r)
    if isinstance(derived, str):
        return derived
    return None if r.value == derived.value else f"the tree derives {derived.value}, not {r.value}"


def derive(r: Reading) -> Derived | str:
    """What the tree shows; a text when it shows nothing."""
    g, multipliers = r.unit
    right, m = slope(r, multipliers)
    residue = right
    for w, t, c, own in zip(r.w, r.t, m, r.sets, strict=True):
        left = {(w * abs(v - t) - c * v) % g for v in (own.corners(t) if own.count else ())}
        if len(left) > 1:
            return "a unit in which tables do not cost the same"
        residue += sum(left)
    if not r.tree:
        return Derived(None)
    waiting, shown = [r.sets], []
    for node in r.tree:
        if not waiting:
            return "a tree that goes on after its end"
        sets = waiting.pop()
        if "kind" in node:
            shown.append(leaf(r, node, sets))
        else:
            i = node["cell"]
            low, high = sets[i].split(node["at"])
            waiting += [[*sets[:i], high, *sets[i + 1 :]], [*sets[:i], low, *sets[i + 1 :]]]
    if waiting:
        return "a tree that ends too early"
    for one in shown:
        if isinstance(one, str):
            return one
    counted = [one for one in shown if isinstance(one, Fraction)]
    if not counted:
        return Derived("infeasible")
    above = -(-min(counted).numerator // min(counted).denominator)
    return Derived(Fraction(above + (residue - above) % g))
