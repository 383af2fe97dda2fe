"""The form of a certificate: docs/certificate.md read once more, in plain whole numbers and without the package."""

from __future__ import annotations

import re
from dataclasses import dataclass
from fractions import Fraction
from itertools import pairwise
from typing import Any

Json = Any
Bound = int | None
Level = tuple[int, int, int, int, int]
"""Attacker, cell, lpl, upl, spl."""


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
    insider: bool
    """Whether it knows cells."""

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
            bool(cells),
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


@dataclass(frozen=True)
class Cut:
    """A requirement, and multipliers of equations."""

    attacker: int
    cell: int
    sense: str
    scale: int
    multipliers: list[tuple[int, int]]
    covered: list[int]

    @staticmethod
    def read(x: Json, r: Reading) -> Cut:
        more = ["covered"] if type(x) is dict and "covered" in x else []
        attacker, cell, sense, scale, equation, multiplier, *covered = entries(
            x, "attacker", "cell", "sense", "scale", "equation", "multiplier", *more
        )
        need(0 <= whole(attacker) < len(r.attackers) and 0 <= whole(cell) < r.n, "a cut of nobody, or of no cell")
        found = increasing(equation, r.m)
        own = list(zip(found, numbers(multiplier, len(found)), strict=True))
        cells = increasing(covered[0], r.n) if covered else []
        need(not covered or sense != "bridge", "a bridge that covers")
        need(all(r.sets[i].count == 2 for i in cells), "a cell covered was not free")
        return Cut(attacker, cell, text(sense, "up", "down", "slide", "bridge"), whole(scale, 1), own, cells)


@dataclass(frozen=True)
class WidthCut:
    """A requirement, or how far a range is of use, and for each way multipliers of equations and the cells that count by what is known of them."""

    attacker: int
    cell: int
    sense: str
    scale: int
    ways: list[tuple[list[tuple[int, int]], list[int]]]

    @staticmethod
    def read(x: Json, r: Reading) -> WidthCut:
        attacker, cell, sense, scale, ways = entries(x, "attacker", "cell", "sense", "scale", "ways")
        need(0 <= whole(attacker) < len(r.attackers) and 0 <= whole(cell) < r.n, "a cut of nobody, or of no cell")
        text(sense, "up", "down", "slide", "above", "below")
        need(type(ways) is list and len(ways) == (2 if sense == "slide" else 1), "a cut of another number of ways")
        found = []
        for way in ways:
            equation, multiplier, known = entries(way, "equation", "multiplier", "known")
            own = increasing(equation, r.m)
            found.append((list(zip(own, numbers(multiplier, len(own)), strict=True)), increasing(known, r.n)))
        return WidthCut(attacker, cell, sense, whole(scale, 1), found)


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
        self.pattern = self.kind == "withheld" and allowed is not None
        self.ranges = self.kind == "ranges" and allowed is not None
        self.ranging: list[bool] = []
        self.width_cuts: list[WidthCut] = []
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
        if self.ranges:
            los, his, steps = (column(x, self.n) for x in entries(allowed, "lo", "hi", "step"))
            flags = all(lo == 0 and hi in (0, 1) and s in (0, 1) for lo, hi, s in zip(los, his, steps, strict=True))
            need(flags and all(s or not hi for hi, s in zip(his, steps, strict=True)), "allowed: no flags")
            need(target is None, "a target of ranges")
            self.ranging = [hi == 1 for hi in his]
            return
        if self.kind != "values" and not self.pattern:
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
        if self.pattern:
            need(target is None, "a target of withheld cells")
            right = all(0 <= lo <= hi <= 1 and s <= 1 for lo, hi, s in zip(los, his, self.step, strict=True))
            need(right, "allowed: no flags")
            self.t = los

    def cost(self) -> int | None:
        """Check 1: what the printed columns cost."""
        if self.printed is None:
            return None
        if self.v is not None:
            return sum(w * abs(v - t) for w, v, t in zip(self.w, self.v, self.t, strict=True))
        if self.kind == "withheld":
            must = self.t if self.pattern else [0] * self.n
            return sum(w for w, v, x in zip(self.w, self.printed[0], must, strict=True) if v is None and not x)
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
        self.small = text(x["small"], "up", "zero", "only") if "small" in x else None
        self.rule, self.knowledge, self.stated = rule, dict(x), x
        if "kind" in names:
            text(x["kind"], "paper", "strict")
        if rule == "rounded":
            self.knowledge |= {"base": column(x["base"], self.n, 0), "steps": column(x["steps"], self.n, 1)}
        elif rule == "perturbed":
            text(x["form"], "distance", "base")
            self.knowledge["amount"] = column(x["amount"], self.n, 0)
        elif rule == "adjusted" and x["most"] is not None:
            self.knowledge["most"] = column(x["most"], self.n, 0)

    def _read_bound(self, x: Json) -> None:
        by_cuts = self.pattern or self.ranges
        value, unit, self.tree, *cuts = entries(x, "value", "unit", "tree", *(["cuts"] if by_cuts else []))
        need(not cuts or type(cuts[0]) is list, "cuts is no list")
        self.cuts = [Cut.read(one, self) for one in (cuts[0] if self.pattern else [])]
        self.width_cuts = [WidthCut.read(one, self) for one in (cuts[0] if self.ranges else [])]
        lines = len(cuts[0]) if by_cuts else self.m
        if value is not None and text(value) != "infeasible":
            need(re.fullmatch(r"-?[0-9]+(/[0-9]+)?", value), "the bound's value is no rational")
            need(not value.endswith("/0") and str(Fraction(value)) == value, "the bound's value is not in lowest terms")
            value = Fraction(value)
        self.value: Fraction | str | None = value
        size, equation, multiplier = entries(unit, "size", "equation", "multiplier")
        self.unit = whole(size, 1), self._multipliers(equation, multiplier)
        need(not by_cuts or not self.unit[1], "a unit of flags with multipliers")
        need(type(self.tree) is list, "the tree is no list")
        for node in self.tree:
            if type(node) is dict and "kind" not in node:
                i, at = entries(node, "cell", "at")
                whole(at)
                need(0 <= whole(i) < self.n, "a branching on no cell")
            else:
                kind, d, equation, multiplier = entries(node, "kind", "denominator", "equation", "multiplier")
                text(kind, "dual", "farkas", *(() if by_cuts else ("modular",)))
                whole(d, 1)
                numbers(multiplier, len(increasing(equation, lines)))

    def _multipliers(self, equation: Json, multiplier: Json) -> list[tuple[int, int]]:
        found = numbers(equation)
        need(all(0 <= j < self.m for j in found), "a multiplier of no equation")
        return list(zip(found, numbers(multiplier, len(found)), strict=True))
