"""Certificate mutations: valid certificates and their public files with one thing changed; whatever makes a claim false must be rejected.

The change is made before anything is hashed, so no checksum catches it. Each mutant is judged by a reading of docs/certificate.md written here once
more, in plain whole numbers and without the package: is the file well formed, is every claim true (exact linear programs, enumeration), is all
evidence what the specification asks for; does release.csv, read field by field, print what the certificate says and nothing else. A mutant that
fails any of these and is accepted is a failure; so is a valid certificate, or a valid public file, that is rejected. Every kind of what is printed is
there: values under each rule, withheld values, ranges, and nothing.

    python benchmarks/certificate_mutations.py --cases 100000 --seed 0      all, twenty minutes; exits 1 on a failure
    python benchmarks/certificate_mutations.py --quick                      2,000 mutations
"""

from __future__ import annotations

import argparse
import contextlib
import gzip
import hashlib
import io
import json
import re
import signal
import sys
import tempfile
import time
from collections import Counter
from collections.abc import Callable, Iterator, Sequence
from dataclasses import dataclass, field, replace
from fractions import Fraction
from itertools import islice, pairwise
from pathlib import Path
from random import Random
from typing import Any

import numpy as np

sys.path.insert(0, str(Path(__file__).parent))
sys.path.insert(0, str(Path(__file__).parent.parent / "tests" / "oracles"))

import exact_lp
import integer_points
import releases
from bank import BANK, causey_cox_ernst
from random_tables import random_case
from results import table

import cellward as cw
from cellward.audit import verify as checker
from cellward.audit.evidence import show_levels
from cellward.instance import Instance
from cellward.objective import Aim
from cellward.publication.allowed import AllowedSet
from cellward.publication.knowledge import Knowledge
from cellward.table.sensitivity import Sensitivity

Json = Any
Counts = Counter[tuple[str, str, bool]]
"""By part, judgement, and whether it was accepted."""
Bound = int | None
Level = tuple[int, int, int, int, int]
"""Attacker, cell, lpl, upl, spl."""
MALFORMED, FALSE, EVIDENCE, TRUE = "malformed", "claim false", "only evidence false", "still true"
BAD = (MALFORMED, FALSE, EVIDENCE)
BY_FILE = 100
"""One mutant in this many is also checked as a file."""

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
        (form, version, salt, method, decimals, weight_decimals, labels, equations, nominal, lower, upper, printed, allowed, weight, target,
         objective, knowledge, protection, levels, attackers, definitions, witnesses, bound, status, engine, sums) = entries(
            c, "format", "version", "salt", "method", "decimals", "weight_decimals", "labels", "equations", "nominal", "lower", "upper", "printed",
            "allowed", "weight", "target", "objective", "knowledge", "protection", "levels", "attackers", "definitions", "witnesses", "bound",
            "status", "engine", "sums",
        )  # fmt: skip
        text(form, "cellward certificate")
        need(whole(version) == 5, "another version")
        need(sums is None or re.fullmatch("[0-9a-f]{64}", text(sums)), "sums is not 64 hexadecimal digits")
        need(re.fullmatch("[0-9a-fA-F]{64}", text(salt)), "salt is not 64 hexadecimal digits")
        need(type(method) is dict and type(method.get("name")) is str, "the method has no name")
        self.method = method
        self.decimals = whole(decimals, 0)
        whole(weight_decimals, 0)
        need(max(decimals, weight_decimals) <= 40, "more than 40 decimals")
        names, digest = entries(labels, "column", "sha256")
        need(type(names) is list and len({text(name) for name in names}) == len(names), "label columns of one name")
        need(re.fullmatch("[0-9a-f]{64}", text(digest)), "sha256 is not 64 hexadecimal digits")
        self.names, self.digest = names, digest
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
        self._read_knowledge(knowledge)
        self._read_printed(printed)
        self._read_allowed(allowed, target)
        self.w = column(weight, n, 0)
        self.objective = None if objective is None else whole(objective, 0)
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

    def _read_printed(self, x: Json) -> None:
        self.kind = {"suppressed": "withheld", "interval": "ranges"}.get(self.rule, "values")
        self.printed: list[list[Bound]] | None = None
        self.v: list[int] | None = None
        if x is None:
            return
        stated, *columns = entries(x, "kind", *(("lower", "upper") if self.kind == "ranges" else ("value",)))
        text(stated, self.kind)
        need(all(type(one) is list for one in columns), "a printed column is no list")
        self.printed = [bounds(one, self.n) for one in columns]
        self.v = numbers(columns[0], self.n) if self.kind == "values" else None

    def _read_allowed(self, allowed: Json, target: Json) -> None:
        self.step, self.sets, self.t = [], [], self.a
        if self.kind != "values":
            need(allowed is None and target is None, "allowed values, or a target, of what is not made of values")
            return
        los, his, self.step = (column(x, self.n) for x in entries(allowed, "lo", "hi", "step"))
        need(
            all(s >= 0 and (s or lo == hi) for lo, hi, s in zip(los, his, self.step, strict=True)),
            "allowed: no such set",
        )
        self.sets = [
            Steps(lo, s, max(0, (hi - lo) // s + 1) if s else 1) for lo, hi, s in zip(los, his, self.step, strict=True)
        ]
        self.t = self.a if target is None else numbers(target, self.n)

    def cost(self) -> int | None:
        """Check 1: what the printed columns cost."""
        if self.printed is None:
            return None
        if self.v is not None:
            return sum(w * abs(v - t) for w, v, t in zip(self.w, self.v, self.t, strict=True))
        if self.kind == "withheld":
            return sum(w for w, v in zip(self.w, self.printed[0], strict=True) if v is None)
        total = 0
        for w, low, high, least, most in zip(self.w, *self.printed, self.lower, self.upper, strict=True):
            ends = [least if low is None else low, most if high is None else high]
            if ends[0] is None or ends[1] is None:
                return None
            total += w * (ends[1] - ends[0])
        return total

    def _read_knowledge(self, x: Json) -> None:
        need(type(x) is dict, "knowledge is no object")
        rule = text(x.get("rule"), "rounded", "perturbed", "interval", "suppressed", "adjusted")
        names = {
            "rounded": ("kind", "base", "steps"), "perturbed": ("kind", "form", "amount"), "interval": (),
            "suppressed": (), "adjusted": ("most",),
        }[rule]  # fmt: skip
        entries(x, "rule", *names, *(["small"] if rule == "rounded" and "small" in x else []))
        self.small = text(x["small"], "up", "zero") if "small" in x else None
        self.rule, self.knowledge, self.stated = rule, dict(x), x
        if "kind" in names:
            text(x["kind"], "paper", "strict")
        if rule == "rounded":
            self.knowledge |= {"base": column(x["base"], self.n, 0), "steps": whole(x["steps"], 1)}
        elif rule == "perturbed":
            text(x["form"], "distance", "base")
            self.knowledge["amount"] = column(x["amount"], self.n, 0)
        elif rule == "adjusted" and x["most"] is not None:
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
    assert r.printed is not None
    if r.v is None:  # a value that is not withheld, or the ends of a range
        return r.printed[0], r.printed[-1], False
    k, lo, hi = r.knowledge, [], []
    for i, (a, v) in enumerate(zip(r.a, r.v, strict=True)):
        low: Bound
        high: Bound
        if r.rule == "adjusted":
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


def misstated(r: Reading) -> str | None:
    """Check 2: whether what the method says is not what is told, or aimed at."""
    m, name, k = r.method, r.method["name"], r.knowledge
    if name not in NAMED:
        return None if canonical(m.get("tells")) == canonical(r.stated) else "the method does not say what it tells"
    if name == "controlled tabular adjustment" and (k["most"] is not None or type(m.get("norm")) is not str):
        return "an adjustment that tells how far values were moved, or has no norm"
    by = "within" if "within" in m and name == "cell perturbation" else "base"
    if name in ("controlled rounding", "cell perturbation"):
        given = m.get(by) if type(m.get(by)) is list else [m.get(by)] * r.n
        amount = k["base" if r.rule == "rounded" else "amount"]
        plain = r"-?[0-9]{1,40}(\.[0-9]{1,40})?"
        if len(given) != r.n or not all(type(x) is str and re.fullmatch(plain, x) for x in given):
            return "the method has no amounts"
        if any(q not in (0, Fraction(x) * 10**r.decimals) for q, x in zip(amount, given, strict=True)):
            return "the method has other amounts"
        if m.get("knowledge") != k["kind"] or not any(amount):
            return "the method says otherwise what is told, or moves nothing"
    if name == "cell perturbation":
        if ("base" in m) == ("within" in m) or k["form"] != ("distance" if by == "within" else "base"):
            return "the method is of another form"
        if m.get("objective") not in (("distance",) if by == "within" else ("between", "nearest")):
            return "the method has another objective"
    if r.kind != "values":
        return None
    aim = list(r.a)
    if name == "cell perturbation" and by == "base":
        for i, q in enumerate(k["amount"]):
            if q:
                down, up = r.a[i] // q * q, -(-r.a[i] // q) * q
                aim[i] = down if r.a[i] - down <= up - r.a[i] else up
    return None if r.t == aim else "the method has another target"


NAMED = {
    "controlled rounding": "rounded", "cell perturbation": "perturbed", "controlled tabular adjustment": "adjusted",
    "cell suppression": "suppressed", "interval publication": "interval",
}  # fmt: skip


def plain_claim(r: Reading) -> str | None:
    """A claim that is false by looking at it: checks 1 to 4, and 7 and 8 as far as they are about words."""
    if misses(r.rows, r.a):
        return "the true values miss an equation"
    if not within(r.a, r.lower, r.upper):
        return "the true values leave the public bounds"
    if not all(within(r.a, k.lower, k.upper) for k in r.attackers):
        return "the true values leave an attacker's bounds"
    if (r.printed is None) != (r.status == "infeasible"):
        return "status and what is printed contradict each other"
    if r.objective != r.cost():
        return "another objective"
    if NAMED.get(r.method["name"], r.rule) != r.rule or (r.kind != "values" and r.method["name"] not in NAMED):
        return "the method is not one of this rule"
    if r.method.get("small_counts") != r.small:
        return "the method says something else of small counts"
    if wrong := misstated(r):
        return wrong
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
    if r.printed is None:
        return None
    if r.v is not None and misses(r.rows, r.v):
        return "the published values miss an equation"
    if r.v is not None and not all(v in own for v, own in zip(r.v, r.sets, strict=True)):
        return "a published value is not allowed"
    if rounding and r.v is not None:
        for i, v in enumerate(r.v):
            low, high, step = roundings(r, i)
            if v % step or not low <= v <= high:
                return "a published value is not a rounding"
    lo, hi, _ = box(r)
    if not within(r.a, lo, hi):
        return "the true values leave the box"
    if r.value == "infeasible" or (isinstance(r.value, Fraction) and r.objective is not None and r.value > r.objective):
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
        if r.printed is None:
            # What the public would learn from nothing matters to nobody: only that witnesses would be needed.
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
    if r.kind != "values":
        return Derived(None) if r.unit == (1, []) and not r.tree else "a bound of what is not made of values"
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


# ---- the truth by brute force --------------------------------------------------------------------------------------------------------------------


SECONDS = 0.5
"""Of processor time for the ends of one cell."""


class TooLongError(Exception):
    """The time is up."""


def in_time(answer: Callable[[], Any]) -> Any:
    """An answer, or None when it takes too long."""

    def stop(*_: object) -> None:
        raise TooLongError

    before = signal.signal(signal.SIGVTALRM, stop)
    signal.setitimer(signal.ITIMER_VIRTUAL, SECONDS)
    try:
        return answer()
    except TooLongError:
        return None
    finally:
        signal.setitimer(signal.ITIMER_VIRTUAL, 0)
        signal.signal(signal.SIGVTALRM, before)


class Oracle:
    """Slow exact answers, each found once."""

    MOST_FREE, MOST_VALUES, MOST_NODES = 18, 12, 30_000

    def __init__(self) -> None:
        self.known: dict[str, Any] = {}
        self.open = 0
        """Ends that were not found in time: whether these levels are met is then left to the evidence alone."""

    def _once(self, what: str, key: object, answer: Callable[[], Any]) -> Any:
        name = f"{what} {key!r}"
        if name not in self.known:
            self.known[name] = answer()
        return self.known[name]

    def protects(self, r: Reading, region: Region, i: int, lpl: int, upl: int, spl: int) -> bool:
        """Whether the region reaches the levels of one cell, as far as can be told: its real ends at least, its whole ones if found in time."""
        rows = [(right, list(terms), list(terms.values())) for right, terms in r.rows]
        for oracle in (exact_lp, integer_points) if region.whole else (exact_lp,):
            ends = self._once(
                "ends",
                (oracle.__name__, rows, region.lo, region.hi, i),
                lambda oracle=oracle: in_time(lambda: oracle.intervals(rows, region.lo, region.hi, [i])[0]),
            )
            if ends is None:
                self.open += 1
                continue
            below, above = (None if end is None else end - r.a[i] for end in ends)
            wide = below is None or above is None or above - below >= spl
            if not ((below is None or below <= -lpl) and (above is None or above >= upl) and wide):
                return False
        return True

    def least(self, r: Reading) -> int | str | None:
        """The least cost of all tables of allowed values; None: there is no table; a text: there are too many to try."""
        return self._once("least", (r.rows, r.t, r.w, r.sets), lambda: self._least(r))

    def _least(self, r: Reading) -> int | str | None:
        if not all(own.count for own in r.sets):
            return None
        free = [i for i, own in enumerate(r.sets) if own.count > 1]
        if len(free) > self.MOST_FREE or any(r.sets[i].count > self.MOST_VALUES for i in free):
            return "too many"
        order = _order(r, free)
        left = [right - sum(c * r.sets[i].first for i, c in terms.items() if i not in free) for right, terms in r.rows]
        cost = sum(w * abs(s.first - t) for w, s, t in zip(r.w, r.sets, r.t, strict=True) if s.count == 1)
        # What the cells from the p-th on can add, at least and at most, to each equation of the p-th; their least cost.
        choices, room, cheap = [], [], [0]
        ends = [(0, 0)] * r.m
        for i in reversed(order):
            own = [r.sets[i].first + x * r.sets[i].step for x in range(r.sets[i].count)]
            mine = [(j, terms[i]) for j, (_, terms) in enumerate(r.rows) if terms.get(i)]
            choices.append([(v, r.w[i] * abs(v - r.t[i])) for v in own])
            room.append([(j, c, *ends[j]) for j, c in mine])
            cheap.append(cheap[-1] + min(w for _, w in choices[-1]))
            for j, c in mine:
                ends[j] = ends[j][0] + min(c * own[0], c * own[-1]), ends[j][1] + max(c * own[0], c * own[-1])
        if any(not low <= x <= high for x, (low, high) in zip(left, ends, strict=True)):
            return None
        choices, room, cheap = choices[::-1], room[::-1], cheap[::-1]
        best: int | None = None
        waiting = [(0, cost, left)]
        for _ in range(self.MOST_NODES):
            if not waiting:
                return best
            p, cost, left = waiting.pop()
            if best is not None and cost + cheap[p] >= best:
                continue
            if p == len(order):
                best = cost
                continue
            for v, own_cost in sorted(choices[p], key=lambda choice: -choice[1]):
                after = left.copy()
                for j, c, low, high in room[p]:
                    after[j] -= c * v
                    if not low <= after[j] <= high:
                        break
                else:
                    waiting.append((p + 1, cost + own_cost, after))
        return "too many"


def _order(r: Reading, free: list[int]) -> list[int]:
    """The free cells, always next one that an equation with few others left holds."""
    open_cells = [{i for i, c in terms.items() if c and i in free} for _, terms in r.rows]
    out: list[int] = []
    while len(out) < len(free):
        shortest = min((own for own in open_cells if own), key=len, default={i for i in free if i not in out})
        i = min(shortest)
        out.append(i)
        for own in open_cells:
            own.discard(i)
    return out


@dataclass(frozen=True)
class Judgement:
    kind: str
    reason: str = ""
    sound: bool = True
    """False: a claim is false and all evidence is as the specification asks, which would be a gap in the specification."""


def judge(content: Json, oracle: Oracle, *, thorough: bool = False) -> Judgement:
    """Whether some claim or evidence of a certificate is false; ``thorough``: levels that witnesses show are also held against the true ends."""
    try:
        r = Reading(content)
    except MalformedError as error:
        return Judgement(MALFORMED, str(error))
    if wrong := plain_claim(r):
        return Judgement(FALSE, wrong)
    evidence = Evidence(r)
    doubtful = evidence.wrong or wrong_bound(r)
    if wrong := unprotected(r, evidence.asked if thorough else evidence.unshown, oracle) or beaten(r, oracle):
        return Judgement(FALSE, wrong, doubtful is not None)
    return Judgement(EVIDENCE, doubtful) if doubtful else Judgement(TRUE)


def unprotected(r: Reading, levels: Sequence[Level], oracle: Oracle) -> str | None:
    """One of these levels that an attacker comes closer than, though all are said to be shown."""
    if r.printed is None or r.protection != "shown":
        return None
    if r.rule == "adjusted" and r.knowledge["most"] is None:
        return published_within(r)
    own = regions(r)
    for k, i, *level in levels:
        if not oracle.protects(r, own[k], i, *level):
            return f"attacker {k} comes too close to cell {i}"
    return None


def beaten(r: Reading, oracle: Oracle) -> str | None:
    """A table that costs less than the bound's value, or exists where none is said to."""
    if r.value is None:
        return None
    least = oracle.least(r)
    if isinstance(least, int) and (r.value == "infeasible" or least < r.value):  # type: ignore[operator]
        return f"a table costs {least}, the bound is {r.value}"
    return None


# ---- the specification: public files -------------------------------------------------------------------------------------------------------------


def fields(data: str) -> list[list[str]]:
    """The rows of a CSV (RFC 4180), read from left to right."""
    rows, k = [], 0
    while k < len(data):
        row: list[str] = []
        while not row or data[k : k + 1] == ",":
            k += 1 if row else 0
            if data[k : k + 1] == '"':
                own, k = "", k + 1
                while True:
                    end = data.find('"', k)
                    need(end >= 0, "a quote that nobody closes")
                    own, k = own + data[k:end], end + 1
                    if data[k : k + 1] != '"':
                        break
                    own, k = own + '"', k + 1
            else:
                end = min((i for i in (data.find(x, k) for x in ",\r\n") if i >= 0), default=len(data))
                own, k = data[k:end], end
            row.append(own)
        rows.append(row)
        ended = next((x for x in ("\r\n", "\n") if data.startswith(x, k)), "")
        need(ended or k == len(data), "something behind a closing quote, or a CR alone")
        k += len(ended)
    return rows


def is_number(field: str, number: int, decimals: int) -> bool:
    """Whether a printed field is this number of units 10^−decimals."""
    left, point, right = field.removeprefix("-").partition(".")
    digits = set("0123456789")
    if not left or (point and not right) or not set(left + right) <= digits or max(len(left), len(right)) > 40:
        return False
    kept, rest = right[:decimals].ljust(decimals, "0"), right[decimals:]
    value = int(left + kept) * (-1 if field.startswith("-") else 1)
    return not rest.strip("0") and value == number


def judge_release(content: Json, data: bytes) -> Judgement:
    """Check 9: whether release.csv is what a certificate says, which itself is well formed."""
    r = Reading(content)
    if r.printed is None:
        return Judgement(FALSE, "there is a release, and nothing is published")
    try:
        heading, *rows = fields(data.decode())
    except (ValueError, MalformedError) as error:
        return Judgement(MALFORMED, str(error))
    names = ["lower", "upper"] if r.kind == "ranges" else ["value"]
    if heading != [*r.names, *(_apart(name, r.names) for name in names)]:
        return Judgement(FALSE, "another heading")
    if len(rows) != r.n or any(len(row) != len(heading) for row in rows):
        return Judgement(FALSE, "more or fewer rows, or fields in one of them")
    width = len(r.names)
    for k, one in enumerate(r.printed):
        for number, row in zip(one, rows, strict=True):
            field = row[width + k]
            if field != "" if number is None else not is_number(field, number, r.decimals):
                return Judgement(FALSE, f"{field!r} is printed, and should be {number}")
    if hashlib.sha256(canonical([row[:width] for row in rows]).encode()).hexdigest() != r.digest:
        return Judgement(FALSE, "other labels")
    if width and len({tuple(row[:width]) for row in rows}) < r.n:
        return Judgement(FALSE, "two rows of the same labels")
    return Judgement(TRUE)


def _apart(name: str, others: list[str]) -> str:
    return _apart(f"published {name}", others) if name in others else name


def judge_statement(content: Json, data: bytes) -> Judgement:
    """Check 9: whether release.json is what a certificate says."""
    pairs: list[list[tuple[str, Json]]] = []

    def keep(own: list[tuple[str, Json]]) -> dict[str, Json]:
        pairs.append(own)
        return dict(own)

    try:
        stated = json.loads(data.decode(), object_pairs_hook=keep)
    except (ValueError, RecursionError) as error:
        return Judgement(MALFORMED, str(error))
    if any(len({key for key, _ in own}) < len(own) for own in pairs):
        return Judgement(FALSE, "something is said twice")
    right = statement(content)
    same = type(stated) is dict and set(stated) == set(right)
    same = same and all(canonical(stated[key]) == canonical(value) for key, value in right.items())
    return Judgement(TRUE) if same else Judgement(FALSE, "it says something else than the certificate")


# ---- the public files of a certificate -----------------------------------------------------------------------------------------------------------


def statement(content: Json) -> Json:
    """What release.json says."""
    digest = hashlib.sha256(canonical(content).encode()).hexdigest()
    kind = content["printed"]["kind"]
    return {"method": content["method"], "decimals": content["decimals"], "printed": kind, "certificate": digest}


LABELS = (
    "region",
    "kind",
    "value",
    "lower",
    "upper",
    "published value",
    "published lower",
    "cell",
    "a,b",
    'q"t',
    "größe",
    "",
)


def labelled(content: Json, rng: Random) -> tuple[Json, list[list[str]]]:
    """A certificate with label columns and labels of all kinds, and its release in rows."""
    names = rng.sample(LABELS, rng.randint(1, 3))
    letters = rng.choice(("ab", 'a,"b', "a\nb\r", "aäß€", "012."))
    labels = [["".join(rng.choices(letters, k=rng.randint(0, 4))) for _ in names] for _ in content["nominal"]]
    for k, own in enumerate(labels):  # no two alike
        own[0] = f"{k} {own[0]}"
    digest = hashlib.sha256(canonical(labels).encode()).hexdigest()
    content = content | {"labels": {"column": names, "sha256": digest}}
    if content["printed"] is None:
        return content, []
    columns = {key: column for key, column in sorted(content["printed"].items()) if key != "kind"}
    rows = [[*names, *(_apart(key, names) for key in columns)]]
    rows += [
        [*own, *(decimal(x, content["decimals"]) for x in numbers)]
        for own, *numbers in zip(labels, *columns.values(), strict=True)
    ]
    return content, rows


def decimal(x: Bound, decimals: int) -> str:
    """A printed field."""
    if x is None:
        return ""
    digits = str(abs(x)).rjust(decimals + 1, "0")
    return (
        "-" * (x < 0) + digits[: len(digits) - decimals] + ("." + digits[len(digits) - decimals :] if decimals else "")
    )


def written(rows: list[list[str]], end: str = "\n") -> str:
    """The text of release.csv."""
    quoted = [[f'"{x.replace(chr(34), chr(34) * 2)}"' if set(x) & set(',"\r\n') else x for x in row] for row in rows]
    return "".join(",".join(row) + end for row in quoted)


# ---- mutations -----------------------------------------------------------------------------------------------------------------------------------

WORDS = (
    "optimal", "feasible", "infeasible", "shown", "none asked", "ignored", "dual", "farkas", "modular", "strict", "paper", "rounded", "perturbed",
    "interval", "suppressed", "adjusted", "distance", "base", "controlled rounding", "cell perturbation", "by hand", "external", "", "0", "1/2", "up",
    "zero", "free", "values", "withheld", "ranges", "cell suppression", "interval publication", "controlled tabular adjustment", "0" * 64,
)  # fmt: skip
RICH = (
    "allowed",
    "attackers",
    "bound",
    "definitions",
    "equations",
    "knowledge",
    "levels",
    "printed",
    "target",
    "witnesses",
)
"""Parts that are drawn three times as often as the others, unless they are empty."""
DEEPER = 0.93
"""How often a mutation goes on into a list or an object, rather than changing it as a whole."""


@dataclass(frozen=True)
class Mutant:
    key: str
    what: str
    content: Json


def canonical(content: Json) -> str:
    return json.dumps(content, sort_keys=True, separators=(",", ":"), ensure_ascii=False)


def mutate(original: str, rng: Random) -> Mutant:
    """One field of a certificate changed: the part is drawn evenly, then a place in it, then what happens there."""
    while True:
        content = json.loads(original)
        parts = sorted(content)
        (key,) = rng.choices(parts, [3 if key in RICH and content[key] else 1 for key in parts])
        holder, at, path = content, key, [key]
        while type(holder[at]) in (list, dict) and holder[at] and rng.random() < DEEPER:
            holder = holder[at]
            at = rng.choice(sorted(holder)) if type(holder) is dict else rng.randrange(len(holder))
            path.append(at)
        if holder[at] in ([], "") and rng.random() < 0.8:  # little can be done to nothing but spoil its form
            continue
        before = canonical(holder[at])
        what = (
            _move(holder, at, rng)
            if rng.random() < (0.3 if type(holder) is list else 0.08)
            else _change(holder, at, content, rng)
        )
        if what and canonical(content) != original:
            return Mutant(key, f"{'.'.join(map(str, path))}: {what} (was {before[:60]})", content)


def _move(holder: Json, at: Any, rng: Random) -> str:
    """A change of where something stands: swapped, twice, gone, under another name."""
    if type(holder) is list:
        what = rng.choice(("swap", "delete", "double", "copy"))
        other = rng.choice((at - 1, at + 1)) % len(holder)
        if what == "swap":
            holder[at], holder[other] = holder[other], holder[at]
        elif what == "delete":
            del holder[at]
        elif what == "double":
            holder.insert(at, json.loads(json.dumps(holder[at])))
        else:
            holder[at] = json.loads(json.dumps(holder[other]))
        return what
    what = rng.choice(("swap", "delete", "rename", "add", "copy"))
    other = rng.choice(sorted(holder))
    if what == "swap":
        holder[at], holder[other] = holder[other], holder[at]
    elif what == "copy":
        holder[at] = json.loads(json.dumps(holder[other]))
    elif what == "add":
        holder[rng.choice(("more", at + " ", "kind", "note", "small", "only"))] = rng.choice(
            (0, None, "x", [], holder[at])
        )
    else:
        value = holder.pop(at)
        if what == "rename":
            holder[rng.choice((at.upper(), at + "s", "x", "", other))] = value
    return what


def _change(holder: Json, at: Any, content: Json, rng: Random) -> str:
    value = holder[at]
    if type(value) is int:
        holder[at] = new = _other_number(value, content, rng)
    elif type(value) is str:
        holder[at] = new = _other_text(value, rng)
    elif type(value) is bool:
        holder[at] = new = rng.choice((not value, not value, not value, int(value), None, "true"))
    elif value is None:
        true = content.get("nominal")
        lists = [json.loads(json.dumps(true))] if type(true) is list else []
        here = true[at] if lists and type(at) is int and at < len(true) else 0  # where it is withheld, the true value
        holder[at] = new = rng.choice((here, here, 0, 1, -1, 5, 10**6, [], {}, "", False, *lists, *lists))
    elif type(value) is list:
        holder[at] = new = _other_list(value, content, rng)
    else:
        holder[at] = new = rng.choice((None, [], {}, [value], list(value.values()), 0))
    return f"to {canonical(new)[:60]}"


def _other_number(x: int, content: Json, rng: Random) -> Json:
    base = rng.choice((2, 3, 5, 10, 100))
    near = (x + 1, x - 1, x + 1, x - 1, x + base, x - base, -x, 0, 1, 2 * x, x // 2)
    luck = rng.random()
    if luck < 0.7:
        return rng.choice(near)
    if luck < 0.8:
        nominal = content.get("nominal")
        return rng.choice(nominal) if type(nominal) is list and nominal else 0
    if luck < 0.93:
        return rng.choice((1, -1)) * 10 ** rng.choice((3, 6, 12, 18, 20, 39))
    return rng.choice((bool(x), str(x), None, [x], {"x": x}, True, False))


def _other_text(x: str, rng: Random) -> Json:
    luck = rng.random()
    if re.fullmatch(r"-?[0-9]+(/[0-9]+)?", x) and luck < 0.7:
        value = Fraction(x)
        return rng.choice((
            str(value + 1), str(value - 1), str(value + Fraction(1, 2)), str(value - Fraction(1, 3)), str(-value), str(2 * value), "0",
            f"{value.numerator}/{value.denominator}", x + "/1", "+" + x, x + ".0", int(value), str(value + 5), str(value - 5), "10" * 20,
        ))  # fmt: skip
    if luck < 0.6:
        return rng.choice(WORDS)
    if luck < 0.85 and x:
        k = rng.randrange(len(x))
        return rng.choice(
            (x[:k] + x[k + 1 :], x[:k] + rng.choice("aZ0é \n") + x[k + 1 :], x + x[k], x.swapcase(), x[::-1])
        )
    return rng.choice((None, 0, 1, [x], {x: x}, True))


def _other_list(x: list[Json], content: Json, rng: Random) -> Json:
    same = x[0] if x and all(y == x[0] for y in x) else None
    nominal = content.get("nominal")
    return rng.choice((
        None, [], x[::-1], x[:-1], x[1:], [*x, 0], [0, *x], [*x, *x], [x], {}, 0, 1, same, *(nominal[:1] if type(nominal) is list else ()),
        x[1:] + x[:1], [0] * len(x), [1] * len(x), list(range(len(x))),
    ))  # fmt: skip


def mutate_release(content: Json, original: list[list[str]], rng: Random) -> tuple[str, bytes]:
    """release.csv with one thing changed: a field, a row, a column, the labels, or some letter of its text."""
    rows, true = [row[:] for row in original], [decimal(x, content["decimals"]) for x in content["nominal"]]
    width, n = len(content["labels"]["column"]), len(rows) - 1
    i, other = rng.randint(1, n), rng.randint(1, n)
    k = rng.randrange(width, len(rows[0]))
    what = rng.choice((
        "field", "field", "field", "true value", "true value", "true values", "empty", "swap rows", "swap labels", "rotate labels", "delete row",
        "double row", "insert column", "insert true values", "delete column", "swap columns", "heading", "one field more", "one field less",
        "label", "label", "letter", "letter", "letter", "delete letter", "line ends", "digits", "order",
    ))  # fmt: skip
    if what == "field":
        rows[i][k] = rng.choice((_other_field(rows[i][k], rng), rows[other][k]))
    elif what == "true value":
        rows[i][k] = true[i - 1]
    elif what == "true values":
        for row, x in zip(rows[1:], true, strict=True):
            row[k] = x
    elif what == "empty":
        rows[i][k] = ""
    elif what == "swap rows":
        rows[i], rows[other] = rows[other], rows[i]
    elif what == "swap labels":
        rows[i][:width], rows[other][:width] = rows[other][:width], rows[i][:width]
    elif what == "rotate labels":
        for row, own in zip(rows[1:], original[2:] + original[1:2], strict=True):
            row[:width] = own[:width]
    elif what == "delete row":
        del rows[i]
    elif what == "double row":
        rows.insert(rng.choice((i, n + 1)), rows[i])
    elif what in ("insert column", "insert true values"):
        at = rng.randint(0, len(rows[0]))
        for row, x in zip(rows, [rng.choice(("value", "x", "true")), *true], strict=True):
            row.insert(at, x if what == "insert true values" else "")
    elif what == "delete column":
        at = rng.randrange(len(rows[0]))
        rows = [row[:at] + row[at + 1 :] for row in rows]
    elif what == "swap columns":
        at, to = rng.randrange(len(rows[0])), rng.randrange(len(rows[0]))
        for row in rows if rng.random() < 0.5 else rows[1:]:
            row[at], row[to] = row[to], row[at]
    elif what == "heading":
        at = rng.randrange(len(rows[0]))
        rows[0][at] = rng.choice(
            (rows[0][at].upper(), f"published {rows[0][at]}", rows[0][at] + " ", "", rng.choice(LABELS))
        )
    elif what == "one field more":
        rows[i].insert(rng.randint(0, len(rows[i])), rng.choice(("", true[i - 1])))
    elif what == "one field less":
        del rows[i][rng.randrange(len(rows[i]))]
    elif what == "label":
        at = rng.randrange(width)
        rows[i][at] = rng.choice((rows[i][at] + " ", rows[i][at][:-1], rows[other][at], rows[i][at].upper()))
    elif what == "digits":
        rows[i][k] += ("" if "." in rows[i][k] else ".") + "0" * rng.choice((1, 5, 39, 41))
    elif what == "order":
        rows[1:] = sorted(rows[1:])
    text = written(rows, "\r\n" if what == "line ends" else "\n")
    at = rng.randrange(len(text))
    if what == "letter":
        text = text[:at] + rng.choice('0123456789,,"\n\r .-+eéa\ufeff٣') + text[at + rng.choice((0, 1)) :]
    elif what == "delete letter":
        text = text[:at] + text[at + 1 :]
    return what, text.encode()


def _other_field(field: str, rng: Random) -> str:
    """A printed field that says something else, or the same in another way."""
    return rng.choice((
        field + "0", "0" + field, "-" + field, "+" + field, field + "e0", " " + field, field + " ", field[:-1], field + "1", field.replace("1", "2"),
        "0", "x", "-", ".", field + ".", "NaN", "1_0", "٣", f"({field})",
    ))  # fmt: skip


def mutate_statement(content: Json, rng: Random) -> tuple[str, bytes]:
    """release.json with one thing changed."""
    original = canonical(statement(content))
    luck = rng.random()
    if luck < 0.6:
        mutant = mutate(original, rng)
        return mutant.what, json.dumps(mutant.content, indent=rng.choice((None, 2))).encode()
    if luck < 0.7:
        key = rng.choice(("method", "decimals", "printed", "certificate", "name"))
        return f"{key} twice", original.replace(f'"{key}":', f'"{key}":0,"{key}":', 1).encode()
    at = rng.randrange(len(original))
    text = (
        original[:at]
        + rng.choice(("0", '"', " ", "\n", "}", ",", "a", "1.0", "\\u0041"))
        + original[at + rng.choice((0, 1)) :]
    )
    return "a letter", text.encode()


def made_to_fit(content: Json, r: Reading) -> Json:
    """The same with right-hand sides, objective, status, base and bound as the rest has them, so that what is false lies deeper."""
    out = json.loads(json.dumps(content))
    out["equations"]["rhs"] = [sum(c * r.a[i] for i, c in terms.items()) for _, terms in r.rows]
    out |= {"objective": r.cost(), "status": "infeasible" if r.printed is None else "feasible"}
    if r.method["name"] == "controlled rounding" and r.rule == "rounded":
        out["knowledge"] |= {"base": r.step, "steps": r.method.get("steps")}
    if "tells" in out["method"]:
        out["method"]["tells"] = out["knowledge"]
    try:
        fitted = Reading(out)
    except MalformedError:
        return out
    if isinstance(derived := derive(fitted), Derived):
        out["bound"]["value"] = None if derived.value is None else str(derived.value)
    else:
        out["bound"] |= {"value": None, "tree": [], "unit": {"size": 1, "equation": [], "multiplier": []}}
    return out


def expanded(content: Json, rng: Random) -> Json:
    """The same certificate with some columns written out: what it says stays the same."""
    n, out = len(content["nominal"]), json.loads(json.dumps(content))
    places = [(out, "weight"), (out, "lower"), (out, "upper")]
    places += [(out["allowed"], key) for key in ("lo", "hi", "step") if out["allowed"] is not None]
    for holder, key in places:
        if type(holder[key]) is not list and rng.random() < 0.5:
            holder[key] = [holder[key]] * n
    return out


# ---- valid certificates --------------------------------------------------------------------------------------------------------------------------

KEY = bytes(32)


def bank(seed: int = 0) -> Iterator[tuple[str, Json]]:
    """Certificates of small tables of every kind, with names."""
    rng = Random(seed)
    for name, make in BANK.items():
        yield from _rounded(name, make(), 5, None, rng)
    yield from _rounded("causey_cox_ernst", causey_cox_ernst(), 2, None, rng, levels=0)
    asked = _with_levels(BANK["two_dimensional"](), 1, 1, Random(1))
    insider = cw.Attacker.knowing(asked, "insider", exactly=asked.sensitivity.asked.tolist())
    assert len(insider.cell) == 1
    known = cw.ControlledRounding(5).protect(asked, attackers=[insider], key=KEY)
    yield "all levels known", json.loads(known.certificate().text)
    found = Counter[str]()
    for number in range(160):
        case = random_case(number)
        weights: Any = case.weights
        if isinstance(weights, list):  # those that are 0 count only beside their table, check 8
            weights = [max(weight, 1) for weight in weights]
        for name, content in _rounded(case.kind, case.table, case.base, weights, rng):
            kind = f"{case.kind}, infeasible" if content["printed"] is None else case.kind
            kind += ", searched" if len(content["bound"]["tree"]) > 1 else ""
            found[kind] += 1
            if found[kind] <= (3 if kind == case.kind else 2):
                yield f"{name}, seed {number}", content
    searched = 0
    for number in range(40):
        shape, base = (((2, 2, 2, 2), 3), ((2, 2, 3, 3), 3), ((2, 2, 2, 2), 5), ((2, 2, 3, 3), 5))[number % 4]
        made = cw.Table.from_array(np.random.default_rng(number).poisson(4, shape))
        for name, content in _rounded(f"Poisson {shape}", made, base, None, rng):
            searched += len(content["bound"]["tree"]) > 1
            if len(content["bound"]["tree"]) > 1 and searched <= 6:
                yield f"{name}, seed {number}", content
    for k, name in enumerate([*BANK] * 2):
        yield from _tight(name, BANK[name](), ("strict", "paper")[k % 2], rng)
    for k, rule in enumerate(HAND * 2 + ("suppressed", "interval") * 4):
        for name, content in _by_hand(
            rule, (BANK["two_dimensional"], BANK["hierarchical"], BANK["three_dimensional"])[k % 3](), rng
        ):
            yield name, content
            if rule in ("suppressed", "interval") and k < len(HAND):
                yield f"{name}, infeasible", _unpublished(content)
    for k, (form, kind) in enumerate(
        (("base", "strict"), ("base", "paper"), ("distance", "strict"), ("distance", "paper"))
    ):
        yield from _perturbed(form, kind, BANK["two_dimensional"](), rng)
        yield from _perturbed(form, kind, cw.Table.from_array(np.random.default_rng(k).poisson(4, (2, 3))), rng)
    for k, (small, steps) in enumerate((("up", 1), ("zero", 1), ("up", 2), ("zero", 2), ("up", 1), ("zero", 1))):
        yield from _spared(small, steps, "paper" if k > 3 else "strict", rng)
    for small in ("free", "up", "zero"):
        yield from _following(small, rng)


def _with_levels(made: cw.Table, cells: int, most: int, rng: Random) -> cw.Table:
    s = made.sensitivity
    amounts = [np.zeros(made.cells, np.int64) for _ in range(3)]
    for i in rng.sample(range(made.cells), min(cells, made.cells)):
        for amount in amounts:
            amount[i] = rng.randint(0, most)
        amounts[2][i] *= rng.choice((0, 1, 2))
    return made.with_sensitivity(Sensitivity(s.status, *amounts))


def _attackers(made: cw.Table, rng: Random) -> list[cw.Attacker]:
    out, unit = [cw.Attacker.external(whole=rng.random() < 0.3)], 10**made.decimals
    for k in range(rng.choice((0, 0, 1, 2))):
        cells = rng.sample(range(made.cells), min(made.cells, rng.randint(1, 3)))
        known = [i for i in cells if rng.random() < 0.4]
        lower = {i: Fraction(int(made.scaled[i]) - rng.randint(1, 4), unit) for i in cells if i not in known}
        asked = {rng.randrange(made.cells): (Fraction(1, unit), 0, Fraction(1, unit))} if rng.random() < 0.3 else None
        shown = {i: str(x.numerator) if x.denominator == 1 else float(x) for i, x in lower.items()}
        own = None if asked is None else {i: tuple(float(x) for x in level) for i, level in asked.items()}
        out.append(
            cw.Attacker.knowing(made, f"insider {k}", lower=shown, exactly=known, whole=rng.random() < 0.3, levels=own)
        )
    return out


def _rounded(
    name: str, made: cw.Table, base: Any, weights: Any, rng: Random, levels: int = 3
) -> Iterator[tuple[str, Json]]:
    """A rounding, its levels as high as they are met, or ignored."""
    kind, ignore = rng.choice(("strict", "paper")), rng.random() < 0.15
    method = cw.ControlledRounding(base, knowledge=kind, ignore_levels=ignore)
    for most in (4, 3, 2, 1, 1, 0, 0):
        asked = _with_levels(made, rng.randint(levels > 0, levels), most, rng)
        try:
            p = method.protect(asked, weights=weights, attackers=_attackers(made, rng), key=KEY)
        except cw.InputError:
            return
        if p.status != "failed":
            yield f"{name}, {kind}{', levels ignored' * ignore}", json.loads(p.certificate().text)
            return


def _tight(name: str, made: cw.Table, kind: str, rng: Random) -> Iterator[tuple[str, Json]]:
    """A rounding whose levels are just met, some of cells that an insider knows something of."""
    cells = sorted(rng.sample(range(made.cells), min(4, made.cells)))
    unit = 10**made.decimals
    lower = {i: float(Fraction(int(made.scaled[i]) - rng.randint(1, 3), unit)) for i in cells[:2]}
    attackers = [cw.Attacker.external(), cw.Attacker.knowing(made, "insider", lower=lower, exactly=cells[3:])]
    method = cw.ControlledRounding(5 if unit == 1 else "0.5", knowledge=kind)
    rounded = replace(method, ignore_levels=True).protect(made, attackers=attackers, key=KEY)
    if rounded.scaled is None:
        return
    ends = rounded.audit().ends
    amounts = [np.zeros(made.cells, np.int64) for _ in range(3)]
    for i in cells:
        a = int(made.scaled[i])
        mine = [
            (int((a - low * unit) // 1), int((high * unit - a) // 1), int((high - low) * unit // 1))
            for low, high in (ends[k * made.cells + i] for k in range(1 if i in cells[3:] else 2))
        ]
        which = rng.choice(((0, 1), (0, 2), (1, 2), (2,), (0, 1, 2)))
        for side in which:
            amounts[side][i] = min(one[side] for one in mine)
    asked = made.with_sensitivity(Sensitivity(made.sensitivity.status, *amounts))
    p = method.protect(asked, attackers=attackers, key=KEY)
    assert p.status == "optimal", f"{name}: the ends of an audit are not reached"
    yield f"{name}, tight, {kind}", json.loads(p.certificate().text)


def _unpublished(content: Json) -> Json:
    """The same where nothing was found to publish."""
    asked = content["protection"] != "none asked"
    return content | {
        "printed": None,
        "objective": None,
        "status": "infeasible",
        "witnesses": [],
        "protection": "ignored" if asked else "none asked",
    }


HAND = (
    "suppressed", "interval", "perturbed distance paper", "perturbed distance strict", "perturbed base paper", "perturbed base strict",
    "adjusted", "adjusted freely", "rounded paper", "rounded strict",
)  # fmt: skip


def _by_hand(rule: str, made: cw.Table, rng: Random) -> Iterator[tuple[str, Json]]:
    """A certificate of a release that no method of the package makes."""
    n, a = made.cells, made.scaled
    rounded = cw.ControlledRounding(5, ignore_levels=True).protect(made, key=KEY)
    assert rounded.scaled is not None
    v, allowed, five = rounded.scaled, rounded.sought.allowed, np.full(n, 5)
    words = rule.split()
    kind: Any = words[-1]
    method: dict[str, Any] = {"name": "by hand"}
    if words[0] == "suppressed":
        method["name"] = "cell suppression"
        knowledge = Knowledge.suppressed(a, np.array(sorted(rng.sample(range(n), rng.choice((n - 2, n - 4, n // 2))))))
    elif words[0] == "interval":
        far = cw.exact.NO_BOUND
        lo, hi = (np.array([int(x) + way * rng.randint(0, 6) for x in a]) for way in (-1, 1))
        lo[0], hi[0] = rng.choice((-far, lo[0])), far
        lo[-1], hi[-1] = -far, rng.choice((hi[-1], far))
        method["name"] = "interval publication"
        knowledge = Knowledge.interval(lo, hi)
    elif words[0] == "perturbed":
        form: Any = words[1]
        knowledge = Knowledge.perturbed(v, five, form=form, kind=kind, a=a)
    elif words[0] == "adjusted":
        if "freely" in words and rng.random() < 0.5:
            method = {"name": "controlled tabular adjustment", "norm": "l1"}
        knowledge = Knowledge.adjusted(v, None if "freely" in words else five)
    else:
        method = {"name": "controlled rounding", "base": decimal(5, made.decimals), "steps": 2, "knowledge": kind}
        down, up = a - a % 5 - 5 * (a % 5 > 0), a - a % 5 + 5 + 5 * (a % 5 > 0)
        allowed = AllowedSet(np.maximum(np.where(a % 5, down, a - 5), 0), np.where(a % 5, up, a + 5), five)
        knowledge = Knowledge.rounded(v, five, kind=kind, steps=2, a=a)
    yield from _certified(rule, made, v, allowed, method, knowledge, rng)


def _perturbed(form: Any, kind: Any, made: cw.Table, rng: Random) -> Iterator[tuple[str, Json]]:
    """A cell perturbation: by base towards the nearer multiples, all values between them; by distance sometimes a single one."""
    a = made.scaled
    rounded = cw.ControlledRounding(5, ignore_levels=True).protect(made, key=KEY)
    assert rounded.scaled is not None
    v, amount = rounded.scaled, np.where(rounded.scaled == a, rng.choice((0, 5)), 5)
    if form == "base":
        lo, hi = a - a % np.maximum(amount, 1), a + -a % np.maximum(amount, 1)
    else:
        held = np.array([rng.random() < 0.3 for _ in a])
        lo, hi = np.where(held, v, a - amount), np.where(held, v, a + amount)
    allowed = AllowedSet(np.maximum(lo, made.lower), np.minimum(hi, made.upper), np.ones(made.cells, np.int64))
    aim = None
    if form == "base":
        base = np.maximum(amount, 1)
        down, up = a - a % base, a + -a % base
        weight = np.array([rng.choice((1, 1, 2, 3)) for _ in a])
        aim = Aim(np.where(amount == 0, a, np.where(a - down <= up - a, down, up)), np.where(down < up, weight, 0))
    knowledge = Knowledge.perturbed(v, amount, form=form, kind=kind, a=a)
    method = {"name": "cell perturbation", "base" if form == "base" else "within": decimal(5, made.decimals)}
    method |= {"knowledge": kind, "objective": "nearest" if form == "base" else "distance"}
    yield from _certified(f"perturbation, {form}, {kind}", made, v, allowed, method, knowledge, rng, aim)


def _certified(
    rule: str,
    made: cw.Table,
    v: Any,
    allowed: AllowedSet,
    method: dict[str, Any],
    knowledge: Knowledge,
    rng: Random,
    aim: Aim | None = None,
) -> Iterator[tuple[str, Json]]:
    """The certificate of a release, its levels as high as they are met."""
    a = made.scaled
    for most in (4, 3, 2, 1, 1, 0):
        asked = _with_levels(made, 3, most, rng)
        if not knowledge.intervals:
            s = asked.sensitivity
            moved = np.where(s.lpl > 0, np.abs(v - a), 0)
            asked = asked.with_sensitivity(Sensitivity(s.status, moved, moved, np.zeros(made.cells, np.int64)))
        instance = Instance.of(asked, attackers=_attackers(made, rng))
        evidence = show_levels(instance, releases.published(v, knowledge))
        if evidence.protected:
            break
    else:
        return
    sought = {"allowed": allowed, "aim": aim} if knowledge.v is not None else {}
    method = method | ({"tells": dict(knowledge.stated)} if method["name"] == "by hand" else {})
    certificate = releases.certified(instance, v, method=method, knowledge=knowledge, salt="0a" * 32, **sought)
    yield rule, json.loads(certificate.text)


def _few(made: cw.Table, small: str, allowed: AllowedSet) -> AllowedSet:
    """What an option for small counts leaves of the values allowed; nothing is known to be above or below but 0."""
    few = (made.scaled > 0) & (made.scaled < 5)
    lo = np.where(few & (small == "up"), np.maximum(allowed.lo, allowed.step), allowed.lo)
    hi = np.where(few & (small == "zero"), 0, allowed.hi)
    return AllowedSet(lo, hi, allowed.step)


def _rounded_small(small: str) -> Iterator[tuple[cw.Table, Any]]:
    """Counts with small ones among them that a rounding happens to treat as the option asks."""
    for number in range(1000):
        made = cw.Table.from_array(np.random.default_rng(number).poisson(5, (3, 3)))
        rounded = cw.ControlledRounding(5, ignore_levels=True).protect(made, key=KEY)
        few = (made.scaled > 0) & (made.scaled < 5)
        right = small == "free" or (few.any() and not ((rounded.scaled[few] > 0) != (small == "up")).any())
        if rounded.scaled is not None and right:
            yield made, rounded.scaled


def _spared(small: Any, steps: int, kind: Any, rng: Random) -> Iterator[tuple[str, Json]]:
    """A rounding with an option for small counts."""
    made, v = next(islice(_rounded_small(small), rng.randrange(3), None))
    a, five, reach = made.scaled, np.full(made.cells, 5), 5 * steps - 1
    lo, hi = -(-np.maximum(a - reach, 0) // 5) * 5, (a + reach) // 5 * 5
    knowledge = Knowledge.rounded(v, five, kind=kind, steps=steps, a=a, small=small, lower=made.lower, upper=made.upper)
    method = {"name": "controlled rounding", "base": "5", "steps": steps, "small_counts": small, "knowledge": kind}
    allowed = _few(made, small, AllowedSet(lo, hi, five))
    yield from _certified(f"small {small}, {kind}, {steps} steps", made, v, allowed, method, knowledge, rng)


def _following(small: Any, rng: Random) -> Iterator[tuple[str, Json]]:
    """A rounding of the margins alone, one circle of inner cells moved by a unit if they may."""
    for made, rounded in _rounded_small(small):
        a, follows = made.scaled, np.ones((4, 4), bool)
        follows[3], follows[:, 3] = False, False
        follows = follows.ravel()
        step = np.where(follows, 1, 5)
        lo = np.where(follows, np.maximum(a - 4, 0), -(-np.maximum(a - 4, 0) // 5) * 5)
        allowed = _few(made, small, AllowedSet(lo, np.where(follows, a + 4, (a + 4) // 5 * 5), step))
        v = rounded.copy()
        v[[0, 1, 4, 5]] += [1, -1, -1, 1]
        if len(allowed.outside(v)):
            continue
        knowledge = Knowledge.rounded(v, np.full(16, 5), a=a, small=small, lower=made.lower, upper=made.upper)
        method = {"name": "controlled rounding", "base": "5", "steps": 1, "knowledge": "strict", "only": "7 cells"}
        method |= {} if small == "free" else {"small_counts": small}
        yield from _certified(f"followers, small {small}", made, v, allowed, method, knowledge, rng)
        return


# ---- the run -------------------------------------------------------------------------------------------------------------------------------------


@dataclass
class Result:
    """What came of all mutants: (part, judgement, accepted) counted, likewise for those made to fit again and for releases
    beside certificates that still hold, and each failure in words."""

    certificates: int = 0
    counts: Counts = field(default_factory=Counter)
    fitted: Counts = field(default_factory=Counter)
    beside: Counts = field(default_factory=Counter)
    failures: list[str] = field(default_factory=list)
    open: int = 0
    seconds: float = 0.0

    def text(self) -> str:
        """Two paragraphs and a table, in Markdown."""
        head = ["part", "mutations", *BAD, "of these rejected", f"{TRUE}, accepted", f"{TRUE}, rejected"]
        rows: list[list[object]] = []
        for key in [*sorted({key for key, _, _ in self.counts}), None]:
            own = [_count(self.counts, key, *kind) for kind in ([], *([x] for x in BAD))]
            rejected = sum(_count(self.counts, key, kind, False) for kind in BAD)
            still = [_count(self.counts, key, TRUE, accepted) for accepted in (True, False)]
            rows.append([f"`{key}`" if key else "all", *(f"{x:,}" for x in (*own, rejected, *still))])
        return (
            f"Valid certificates of {self.certificates} small tables, all accepted unless listed as a failure, and their public files. One-field "
            "mutations of certificates, made before anything is hashed, and mutations of release.csv and release.json (values under each rule, "
            f"withheld values, ranges): {_told(self.counts)} Of certificates false in claim or evidence, again with equations, objective, status and "
            f"bound made to fit: {_told(self.fitted)} The unchanged release.csv beside changed certificates that still hold: {_told(self.beside)} "
            f"In {self.open:,} of all these a level was judged by its evidence alone (no ends found in {SECONDS} s). "
            f"**{len(self.failures)} failures** ({self.seconds:.0f} s).\n\n{table(head, rows)}"
        )


def _count(counts: Counts, *wanted: object) -> int:
    """How many have this part, judgement and acceptance; None: any."""
    return sum(x for found, x in counts.items() if all(w in (None, f) for w, f in zip(wanted, found, strict=False)))


def _told(counts: Counts) -> str:
    form, claim, evidence = (_count(counts, None, kind) for kind in BAD)
    missed = sum(_count(counts, None, kind, True) for kind in BAD)
    false = form + claim + evidence
    return (
        f"{_count(counts):,}; {false:,} are false ({form:,} in form, {claim:,} in a claim, {evidence:,} in evidence alone), **{false - missed:,} of "
        f"these rejected, {missed:,} accepted**; {_count(counts, None, TRUE):,} leave everything true, {_count(counts, None, TRUE, True):,} of these "
        f"accepted and {_count(counts, None, TRUE, False):,} rejected."
    )


def accepted(content: Json) -> tuple[bool, str]:
    """Whether the verifier takes a certificate, and its words; anything that it raises but a refusal is let through."""
    try:
        verdict = checker.check(content)
    except checker.Refused as refusal:
        return False, str(refusal)
    return bool(verdict), verdict.reason


def accepted_release(content: Json, data: bytes, *, table: bool) -> bool:
    """Whether the verifier takes release.csv (or release.json) for that of a certificate."""
    digest = hashlib.sha256(canonical(content).encode()).hexdigest()
    try:
        return bool(
            checker.compare_release(data, content) if table else checker.compare_statement(data, content, digest)
        )
    except checker.Refused:
        return False


def accepted_file(content: Json, path: Path) -> bool:
    path.write_bytes(gzip.compress(canonical(content).encode(), 1))
    return bool(checker.verify(path))


def run(cases: int, seed: int) -> Result:
    """Mutate valid certificates, each in turn."""
    began, rng, oracle, result = time.perf_counter(), Random(seed), Oracle(), Result()
    certificates = list(bank())
    result.certificates = len(certificates)
    for plain, content in certificates:
        for name, shown in ((plain, content), (f"{plain}, columns written out", expanded(content, rng))):
            judgement, (good, reason) = judge(shown, oracle, thorough=True), accepted(shown)
            if judgement.kind != TRUE:
                result.failures.append(f"{name}: a certificate of the package is {judgement.kind}: {judgement.reason}")
            if not good:
                result.failures.append(f"{name}: a valid certificate is rejected: {reason}")
    originals = [(name, *labelled(content, rng)) for name, content in certificates]
    published = [one for one in originals if one[1]["printed"] is not None]
    for name, content, rows in published:
        for end in ("\n", "\r\n"):
            if judge_release(content, data := written(rows, end).encode()).kind != TRUE or not accepted_release(
                content, data, table=True
            ):
                result.failures.append(f"{name}: a valid release.csv is rejected")
        if not accepted_release(content, json.dumps(statement(content)).encode(), table=False):
            result.failures.append(f"{name}: a valid release.json is rejected")
    with tempfile.TemporaryDirectory() as folder:
        path = Path(folder) / "certificate.json.gz"
        for number in range(cases):
            if number % 4 == 3:
                name, content, rows = published[number // 4 % len(published)]
                faults = _try_public(content, rows, number, rng, result, Path(folder))
                result.failures += [f"{name}, mutant {number} of seed {seed}: {fault}" for fault in faults]
                continue
            name, content, rows = originals[number % len(originals)]
            mutant = mutate(canonical(content), rng)
            if number % BY_FILE == 0 and accepted_file(mutant.content, path) != accepted(mutant.content)[0]:
                result.failures.append(
                    f"{name}, mutant {number}, {mutant.what}: another verdict on the file than in memory"
                )
            result.failures += [
                f"{name}, mutant {number}, {mutant.what}: {fault}" for fault in _beside(mutant, rows, result)
            ]
            for fault in _try(mutant, oracle, result, path):
                result.failures.append(f"{name}, mutant {number} of seed {seed}, {mutant.what}: {fault}")
    result.open, result.seconds = oracle.open, time.perf_counter() - began
    return result


def _try_public(
    content: Json, rows: list[list[str]], number: int, rng: Random, result: Result, folder: Path
) -> Iterator[str]:
    """Judge and count one mutant of a public file: of release.csv, and of release.json in one of five."""
    table = number % 20 != 3
    what, data = mutate_release(content, rows, rng) if table else mutate_statement(content, rng)
    judgement = judge_release(content, data) if table else judge_statement(content, data)
    file = "release.csv" if table else "release.json"
    good = accepted_release(content, data, table=table)
    result.counts[file, judgement.kind, good] += 1
    if good and judgement.kind != TRUE:
        yield f"{file}, {what}: accepted though {judgement.kind}: {judgement.reason}"
    if number % BY_FILE < 20:
        (folder / file).write_bytes(data)
        accepted_file(content, folder / "certificate.json.gz")
        with contextlib.redirect_stdout(io.StringIO()):
            code = checker.main([str(folder / "certificate.json.gz"), str(folder / file)])
        if code != (0 if good else 1):
            yield f"{file}, {what}: another verdict on the files than in memory"


def _beside(mutant: Mutant, rows: list[list[str]], result: Result) -> Iterator[str]:
    """A changed certificate that holds, beside the release of the one that it was made of."""
    if not rows or not accepted(mutant.content)[0]:
        return
    data = written(rows).encode()
    judgement, good = judge_release(mutant.content, data), accepted_release(mutant.content, data, table=True)
    result.beside[mutant.key, judgement.kind, good] += 1
    if good and judgement.kind != TRUE:
        yield f"release.csv beside it accepted though {judgement.kind}: {judgement.reason}"


def _try(mutant: Mutant, oracle: Oracle, result: Result, path: Path) -> Iterator[str]:
    """Judge and count one mutant, and once more made to fit; gives what is wrong, in words."""
    content = json.loads(canonical(mutant.content))
    judgement = judge(content, oracle)
    yield from _compare(mutant.key, content, judgement, result.counts, path)
    if judgement.kind in (FALSE, EVIDENCE):
        fitted = made_to_fit(content, Reading(content))
        if canonical(fitted) != canonical(content):
            for fault in _compare(mutant.key, fitted, judge(fitted, oracle), result.fitted, path):
                yield f"made to fit: {fault}"


def _compare(key: str, content: Json, judgement: Judgement, counts: Counts, path: Path) -> Iterator[str]:
    try:
        good, _ = accepted(content)
        if good and judgement.kind == MALFORMED:
            good = accepted_file(content, path)  # where the digits of a number are counted too
    except Exception as error:  # noqa: BLE001 (a verifier that breaks down is what we look for)
        counts[key, judgement.kind, False] += 1
        yield f"the verifier breaks down: {type(error).__name__}: {error}"
        return
    counts[key, judgement.kind, good] += 1
    if good and judgement.kind != TRUE:
        yield f"accepted though {judgement.kind}: {judgement.reason}"
    if not judgement.sound:
        yield f"the specification has a gap: {judgement.reason}"


def main(arguments: list[str] | None = None) -> int:
    parser = argparse.ArgumentParser(description=__doc__, formatter_class=argparse.RawDescriptionHelpFormatter)
    parser.add_argument("--cases", type=int, default=100_000)
    parser.add_argument("--seed", type=int, default=0)
    parser.add_argument("--quick", action="store_true", help="2,000 mutations")
    options = parser.parse_args(arguments)
    result = run(2000 if options.quick else options.cases, options.seed)
    print(result.text())
    for failure in result.failures:
        print(failure)
    return 1 if result.failures else 0


if __name__ == "__main__":
    sys.exit(main())
