"""Verify, an exact check of a certificate in the standard library alone: python verify.py certificate.json.gz [release.csv] [release.json]

Copy this file out and run it by itself. docs/certificate.md says what a certificate holds and numbers the checks. Evidence: witnesses, tables that an
attacker cannot rule out, show that it comes no closer to a cell than its levels allow; a search tree shows that no allowed table costs less. Nothing
is trusted, all is computed again in whole numbers. Not checked: that table, labels, bounds, target and attackers are those you mean, and any claim.
"""

import csv
import hashlib
import json
import os
import re
import sys
import zlib
from fractions import Fraction
from itertools import islice, pairwise, zip_longest
from typing import Any, NamedTuple

FORMAT, VERSION = "cellward certificate", 3
MOST_BYTES, MOST_ENTRIES, MOST_DIGITS = 1 << 29, 1 << 25, 40
MOST_STEPS, STEPS_EACH = 1 << 25, 100  # what a check may take, and for each number listed: no small file takes long
ANY = float("inf")  # stands for a bound that is not there; only ever compared
SHAPES = """certificate format:any version:any salt:str method:dict decimals:int weight_decimals:int equations:any nominal:numbers lower:floor/nominal
  upper:ceiling/nominal published:numbers?/nominal allowed:any weight:amounts/nominal target:numbers?/nominal objective:int? knowledge:dict
  protection:str levels:any attackers:list definitions:any witnesses:list bound:any status:str engine:str; cover cells:numbers;
equations length:numbers cell:numbers coef:column/cell rhs:column/length; allowed lo:column/n hi:column/n step:amounts/n; node cell:int at:int;
rounded rule:str kind:str steps:positive base:amounts/n; spared rule:str kind:str small:str steps:positive base:amounts/n; bound value:any unit:any
  tree:list; perturbed rule:str form:str kind:str amount:amounts/n; adjusted rule:str most:amounts?/n; interval rule:str lo:floor/n hi:ceiling/n;
suppressed rule:str withheld:indices/n; definitions equation:numbers cell:numbers/equation; levels cell:indices/n lpl:amounts/cell upl:amounts/cell
  spl:amounts/cell; attacker name:str whole:bool cell:indices/n lower:floor/cell upper:ceiling/cell levels:any; unit size:positive equation:indices/m
  multiplier:numbers/equation; leaf kind:str denominator:positive equation:indices/m multiplier:numbers/equation;
witness denominator:positive leaf:indices/n difference:numbers/leaf covers:list"""  # entry:kind/what a list is as long as, or stays below
KINDS = {name: dict(x.split(":") for x in entries) for name, *entries in map(str.split, SHAPES.split(";"))}
PROTECTED = {"shown": True, "none asked": None, "ignored": False}
RULES = "rounded (paper|strict)( up| zero)?|perturbed (distance|base) (paper|strict)|interval|suppressed|adjusted"
_text = json.JSONEncoder(sort_keys=True, separators=(",", ":"), ensure_ascii=False).encode  # canonical JSON


class Refused(Exception):  # noqa: N818 (it reads as what happened)
    """The certificate does not hold; the message says why in one sentence."""


class Unreadable(Refused):
    """There is no certificate to check."""


class Verdict(NamedTuple):
    """What the check found: truthy when the certificate holds; ``reason`` says in a sentence what holds or what fails."""

    holds: bool
    reason: str
    protected: bool | None = False  # True: every level is shown; None: none is asked for
    bound: Fraction | str | None = None  # what the search tree proves: a lower bound, or "infeasible"
    proven: bool = False  # whether it proves that no better table, or no table at all, exists
    digest: str | None = None  # SHA-256 of the JSON; None when checked in memory

    def __bool__(self) -> bool:
        return self.holds


def verify(path: Any, *, expected: dict[str, Any] | None = None) -> Verdict:
    """Check a certificate file, and that the entries expected are its own; never raises for a bad one."""
    try:
        content = load(path)
        for key, value in (expected or {}).items():
            _need(_text(content.get(key)) == _text(value), f"the certificate is of another table: its {key} differs")
        return check(content, hashlib.sha256(_text(content).encode()).hexdigest())
    except Refused as refusal:
        return Verdict(False, str(refusal))


def load(path: Any) -> Any:
    """Read a certificate strictly: one gzip member, unpacked no further than a certificate would grow, its JSON in canonical form."""
    packed = _read(path)
    unpacker, most = zlib.decompressobj(zlib.MAX_WBITS | 16), min(MOST_BYTES, max(1 << 25, 25 * len(packed)))
    try:
        data = unpacker.decompress(packed, most + 1)
        _need(len(data) <= most, f"unpacks to more than {most} bytes")
        _need(unpacker.eof and not unpacker.unused_data, "cut off, or something follows its end")
        _need(data.count(b",") <= min(MOST_ENTRIES, (1 << 18) + 16 * len(packed)), "too many entries for its size")
        content = json.loads(data.decode(), parse_int=_whole, parse_float=_whole, parse_constant=_whole)
        _need(isinstance(content, dict) and _text(content) == data.decode(), "not one object in canonical JSON")
    except (zlib.error, ValueError, RecursionError, MemoryError) as error:
        raise Refused(f"not the packed JSON of a certificate ({error})") from None
    return content


def check(content: Any, digest: str | None = None) -> Verdict:
    """Check a loaded certificate; returns what was shown, or raises Refused with a sentence on what fails."""
    c = _Check(content)
    shown, bound, objective = c.check_protection(c.check_witnesses()), c.check_bound(), content["objective"]
    _need(c.v is None or bound is None or bound <= objective, "the bound contradicts the published values")
    proven = bound == (ANY if c.v is None else objective)
    end = f"that no allowed table exists is {'proven' if proven else 'claimed by the engine'}"
    if c.v is not None:
        end = "no lower bound is proven" if bound is None else f"lower bound {bound} is proven"
        end += "; that nothing smaller exists is the engine's claim" if content["status"] == "optimal" else ""
        end = f"objective {objective}; {'no smaller objective exists (proven)' if proven else end}"
    words = f"{c.n} {'nominal' if c.v is None else 'published'} values satisfy {len(c.rhs)} equations; {shown}; {end}"
    return Verdict(True, words, PROTECTED[c.c["protection"]], "infeasible" if bound == ANY else bound, proven, digest)


def _read(path: Any) -> bytes:  # of a file of bearable size; a pipe would keep us waiting
    try:
        _need(os.stat(path).st_size <= MOST_BYTES and os.path.isfile(path), f"not a file of at most {MOST_BYTES} bytes")  # noqa: PTH113, PTH116
        with open(path, "rb") as file:  # noqa: PTH123
            return file.read(MOST_BYTES + 1)
    except (OSError, ValueError, TypeError) as error:
        missing = isinstance(error, FileNotFoundError)
        raise Unreadable("there is no such file") if missing else Refused(f"not a readable file ({error})") from None


def _whole(text: str) -> int:
    digits = text.removeprefix("-")
    _need(digits.isdigit() and len(digits) <= MOST_DIGITS, "a number is not whole, or has too many digits")
    return int(text)


def _need(holds: object, sentence: str) -> None:
    if not holds:
        raise Refused(sentence)


def _parts(value: Any, shape: str, **sizes: int) -> list[Any]:
    """The entries of an object: exactly those of its shape, each of its kind (true is not 1), columns written out."""
    wrong = set(value) ^ set(KINDS[shape]) if isinstance(value, dict) else {"no object"}
    _need(not wrong, f"{shape} does not have exactly its entries: {sorted(map(ascii, wrong))[:5]}")
    found = []
    for key, entry in KINDS[shape].items():
        (kind, _, size), x = entry.replace("?", "").partition("/"), value[key]
        n, null = sizes.get(size), {"floor": -ANY, "ceiling": ANY}.get(kind)
        types = {int, type(None)} if null else {int}
        x = [x] * (n or 0) if kind in ("column", "amounts", "floor", "ceiling") and type(x) in types else x
        if size or kind == "numbers":
            right = type(x) is list and set(map(type, x)) <= types and (kind == "indices" or n in (None, len(x)))
            right = right and (kind != "amounts" or min(x, default=0) >= 0)
            right = right and (kind != "indices" or all(y < z for y, z in pairwise([-1, *x, n])))
        else:
            right = kind in ("any", type(x).__name__) or (kind == "positive" and type(x) is int and x > 0)
        _need(right or (x is None and "?" in entry), f"{key} of {shape} is not of the kind {entry}")
        found.append([null if y is None else y for y in x] if null else x)
        sizes[key] = len(x) if type(x) is list else 0
    return found


class _Check:
    """One certificate: a true values, v published values, rows and rhs the equations M·x = b, sets the S_i, left the steps left."""

    def __init__(self, content: Any) -> None:  # 1: M·a = b; with values M·v = b, v_i ∈ S_i and the objective as stated
        head = content if isinstance(content, dict) else {}
        _need((head.get("format"), head.get("version")) == (FORMAT, VERSION), f"not a {FORMAT} of version {VERSION}")
        self.c = c = dict(zip(KINDS["certificate"], _parts(content, "certificate"), strict=True))
        self.a, self.v, self.n, n = c["nominal"], c["published"], len(c["nominal"]), len(c["nominal"])
        _need(re.fullmatch("[0-9a-fA-F]{64}", c["salt"]), "salt is not 64 hexadecimal digits")
        _need(all(0 <= c[x] <= MOST_DIGITS for x in ("decimals", "weight_decimals")), "too many decimals, or too few")
        length, cell, coef, self.rhs = _parts(c["equations"], "equations")
        fits = sum(length) == len(cell) and min([*length, *cell], default=0) >= 0 and max(cell, default=-1) < n
        _need(fits, "the lengths of the equations do not fit, or they name a cell that is not there")
        self.rows = [list(islice(entries, size)) for entries in [zip(cell, coef, strict=True)] for size in length]
        self.left, self.target = MOST_STEPS + STEPS_EACH * (n + len(cell) + len(length)), c["target"] or self.a
        lo, hi, self.step = _parts(c["allowed"], "allowed", n=n)
        _need(all(z or x == y for x, y, z in zip(lo, hi, self.step, strict=True)), "a step is 0 and lo is not hi")
        self.sets = [range(x, y + 1, z or 1) for x, y, z in zip(lo, hi, self.step, strict=True)]
        absent = (self.v is None) == (c["objective"] is None) == (c["status"] == "infeasible")
        _need(absent and c["status"] in ("optimal", "feasible", "infeasible"), "the status does not fit the values")
        for which, values in (("nominal", self.a), ("published", self.v or self.a)):
            missed = [j for j, row in enumerate(self.rows) if sum(x * values[i] for i, x in row) != self.rhs[j]]
            _need(not missed, f"the {which} values miss equation {missed[:1]}")
        wrong = [i for i, x in enumerate(self.v or []) if x not in self.sets[i]]
        _need(not wrong, f"the published value is not allowed in cell {wrong[:1]}")
        found = sum(w * abs(x - t) for w, x, t in zip(c["weight"], self.v or self.target, self.target, strict=True))
        _need(c["objective"] in (None, found), f"the objective is {found}, not as stated")
        for part in (self.check_knowledge, self.check_method, self.check_attackers, self.check_definitions):
            part()

    def pay(self, steps: int, listed: int = 0) -> None:  # steps are counted before they are taken
        self.left += STEPS_EACH * listed - steps
        _need(self.left >= 0, "takes more steps to check than a certificate of its size may")

    def check_knowledge(self) -> None:  # 3: what the release and the public bounds tell, lo ≤ y ≤ hi, is true of a
        c, given, v, small = self.c, self.c["knowledge"], self.v or self.a, self.c["knowledge"].get("small")
        self.told = told = " ".join(x for x in map(given.get, ("rule", "form", "kind", "small")) if isinstance(x, str))
        _need(re.fullmatch(RULES, told), "knowledge has no known rule, form or kind, or none of small counts")
        _need(small == c["method"].get("small_counts"), "method and knowledge differ on small counts")
        _, *more, t = _parts(given, "spared" if "small" in given else told.split()[0], n=self.n)
        self.base, self.steps, self.free = t, more[-1] if told.startswith("rounded") else 1, t is None
        if told == "suppressed" or self.free:
            t = [ANY if self.free or i in hidden else 0 for hidden in [set(t or [])] for i in range(self.n)]
        s, less = 2 if told == "perturbed distance paper" else self.steps, told.startswith("rounded strict")
        exact = told == "perturbed base paper" or (told.startswith("rounded paper") and s == 1)  # a multiple stays
        r = [0 if exact and x % (y or 1) == 0 else max(s * y - less, 0) for x, y in zip(self.a, t, strict=True)]
        lo, hi = ([x + sign * y for x, y in zip(v, r, strict=True)] for sign in (-1, 1))
        if told == "perturbed base strict":  # between the multiples around v, or around its neighbours where v is one
            lo, hi = ([x + sign * (-sign * x % (y or 1) or y) for x, y in zip(v, t, strict=True)] for sign in (-1, 1))
        lo, hi = (more[0], t) if told == "interval" else (lo, hi)
        for i, b in enumerate(t if small and self.v else []):
            if b and c["lower"][i] >= 0:  # y is 0, small (y < b) or large: where 0 cannot become v, y begins behind it
                no_small, no_zero = (v[i] == 0) == (small == "up"), c["lower"][i] > 0 or v[i] >= s * b
                lo[i] = max(lo[i], b if no_small else 1) if no_zero else lo[i]
                hi[i] = min(hi[i], 0) if no_small and (c["upper"][i] < b or v[i] + s * b <= b) else hi[i]
        self.lo, self.hi = list(map(max, lo, c["lower"])), list(map(min, hi, c["upper"]))
        wrong = [i for i, x in enumerate(self.a) if not self.lo[i] <= x <= self.hi[i]]
        _need(not wrong, f"the true value lies outside what the public knows of cell {wrong[:1]}")

    def check_method(self) -> None:  # 2: a cell was free to take any value that its method gives it, and takes one
        method, s, c, option = self.c["method"], self.steps, self.c, self.c["method"].get("small_counts")
        _need(isinstance(method.get("name"), str), "the method has no name")
        if method["name"] == "cell perturbation":  # all between the multiples around a, or some of what is up to t away
            _need(self.told.startswith("perturbed"), "the knowledge is not that of a perturbation")
            for i, (t, a, own) in enumerate(zip(self.base, self.a, self.sets, strict=True)):
                down, up = (a % (t or 1), -a % (t or 1)) if "base" in self.told else (t, t)
                free = range(max(a - down, c["lower"][i]), min(a + up, c["upper"][i]) + 1)
                some = free if "base" in self.told or not own else free[own[0] - free[0] : own[-1] - free[0] + 1]
                _need(own and own == some, f"cell {i} was not free to be perturbed as stated, or free to go further")
        if method["name"] != "controlled rounding":
            return
        follow = self.told.startswith("rounded strict") and isinstance(method.get("only"), str) and method["only"]
        right = self.told.startswith("rounded") and _text(method.get("steps")) == str(s)
        right = right and all(x == b or (follow and x == 1 < b) for x, b in zip(self.step, self.base, strict=True))
        _need(right, "knowledge, steps of the method and steps of the allowed sets are not those of one rounding")
        for i, (b, a, allowed) in enumerate(zip(self.base, self.a, self.sets, strict=True)):
            r, step, small = max(s * b - 1, 0), self.step[i] or 1, 0 < a < b and c["lower"][i] >= 0 and option
            low, high = (0, 0) if small == "zero" else (max(a - r, step) if small else a - r, a + r)
            least, most = -(-max(low, c["lower"][i]) // step) * step, min(high, c["upper"][i]) // step * step
            _need(least > most or (least in allowed and most in allowed), f"cell {i} was not free to be rounded")
            right = self.v is None or (self.v[i] % step == 0 and low <= self.v[i] <= high)
            _need(right, f"cell {i} is not rounded as stated, to a multiple of {step} less than {s} times {b} away")

    def check_attackers(self) -> None:  # 4: what each knows is true; levels must be shown where that is no single value
        table, self.asked, self.attackers = self.levels(self.c["levels"]), False, []
        for k, part in enumerate(self.c["attackers"]):
            _, whole, cells, lower, upper, levels = _parts(part, "attacker", n=self.n)
            own = {i: (x, y) for i, x, y in zip(cells, lower, upper, strict=True)}
            _need(all(x <= self.a[i] <= y for i, (x, y) in own.items()), f"what attacker {k} knows is not true")
            asked = table if levels is None else self.levels(levels)
            self.pay(10 * len(asked))
            must = {i: level for i, level in asked.items() if i not in own or own[i][0] < own[i][1]}
            self.attackers.append((whole or self.told.startswith("rounded strict"), own, must))
            self.asked |= bool(asked)
        _need(0 < len({x["name"] for x in self.c["attackers"]}) == len(self.attackers), "no attacker, or two namesakes")

    def levels(self, value: Any) -> dict[int, list[int]]:  # lpl, upl, spl where one is positive
        return {i: level for i, *level in zip(*_parts(value, "levels", n=self.n), strict=True) if any(level)}

    def check_definitions(self) -> None:  # 5: coefficients ±1, nothing twice, other cells defined nowhere or earlier
        (equations, cells), self.defining = _parts(self.c["definitions"], "definitions"), {}
        self.defined = {c: k for k, c in enumerate(cells)}
        _need(len(self.defined) == len(set(equations)) == len(cells), "a cell or an equation is in two definitions")
        for k, (j, c) in enumerate(zip(equations, cells, strict=True)):
            row = self.rows[j] if 0 <= j < len(self.rows) else []
            sign = [x for i, x in row if i == c]
            _need(sign in ([1], [-1]) and all(self.defined.get(i, 0) <= k for i, _ in row), f"definition {k} is none")
            self.defining[j] = k, j, c, sign[0]

    def check_witnesses(self) -> list[dict[int, tuple[Any, Any]]]:  # 6: gives by attacker and cell the range of y − a
        found: list[dict[int, tuple[Any, Any]]] = [{} for _ in self.attackers]
        uses: list[list[int]] = [[] for _ in self.a]
        for j, i in ((j, i) for j, row in enumerate(self.rows) for i, _ in row if self.c["witnesses"]):
            uses[i].append(j)
        for w, part in enumerate(self.c["witnesses"]):
            d, leaf, amount, covers = _parts(part, "witness", n=self.n)
            _need(0 not in amount and self.defined.keys().isdisjoint(leaf), f"witness {w} moves no leaf, or one by 0")
            z, last, touched, rows = dict(zip(leaf, amount, strict=True)), -1, leaf[:], set()  # z is Δ
            for i in touched:  # grows by the cells that the equations touched define
                touched += [self.defining[j][2] for j in uses[i] if j in self.defining and j not in rows]
                rows.update(uses[i])
            self.pay(sum(4 * len(self.rows[j]) + 60 for j in rows) + 30 * len(touched), listed=len(leaf))
            for _, j, c, sign in sorted(self.defining[j] for j in rows & self.defining.keys()):
                if x := sum(k * z[i] for i, k in self.rows[j] if i in z):
                    z[c] = -sign * x
                    _need(abs(x) < 10 ** (2 * MOST_DIGITS), f"witness {w} moves a cell by too many digits")
            _need(not any(sum(k * z[i] for i, k in self.rows[j] if i in z) for j in rows), f"witness {w} is no table")
            known = all(self.lo[i] * d <= self.a[i] * d + x <= self.hi[i] * d for i, x in z.items())
            for k, *cells in (_parts({"cells": x}, "cover")[0] or [-1] for x in covers):
                _need(last < k < len(self.attackers), f"witness {w} does not cover attackers in increasing order")
                (whole, own, must), last = self.attackers[k], k
                self.pay(5 * min(len(own), len(z)), listed=len(cells))
                right = all(own[i][0] * d <= self.a[i] * d + z[i] <= own[i][1] * d for i in own.keys() & z.keys())
                _need(known and right and (d == 1 or not whole), f"attacker {k} can rule out witness {w}")
                _need(len(must.keys() & set(cells)) == len(cells), f"witness {w} covers a cell twice, or one in vain")
                for i in cells:
                    (low, high), x = found[k].get(i, (0, 0)), Fraction(z.get(i, 0), d)
                    found[k][i] = min(low, x), max(high, x)
        return found

    def check_protection(self, reached: list[dict[int, tuple[Any, Any]]]) -> str:  # 7: levels are shown, or openly not
        said, n = self.c["protection"], len(self.c["witnesses"])
        right = said in PROTECTED and self.asked == (said != "none asked") and (self.v if said == "shown" else not n)
        _need(right, "protection is not what levels, values and witnesses say it is")
        if said != "shown":
            return f"protection levels: {said}"
        needs = [(k, *need) for k, (_, _, must) in enumerate(self.attackers) for need in must.items()]
        for k, i, (lpl, upl, spl) in needs:
            (low, high), x = reached[k].get(i, (0, 0)), self.v[i] - self.a[i]
            met = high >= upl and -low >= lpl and high - low >= spl
            if self.free:  # no intervals: the published value must be far enough off, on a side that is asked for
                met = spl == 0 and (x >= upl > 0 or -x >= lpl > 0)
            _need(met, f"a level of cell {i} is not shown against attacker {k}")
        return f"{len(needs)} requirements against {len(self.attackers)} attackers shown by {n} witnesses ({self.told})"

    def check_bound(self) -> Any:  # 8: the least L over the leaves of the tree, rounded up to what a table can cost
        value, unit, tree = _parts(self.c["bound"], "bound")
        size, m, rest = self.combine(unit, "unit")
        for i, r in enumerate(self.sets):  # all tables cost the same modulo size: μ·b + Σ (w·|v − t| − (Mᵀμ)·v)
            first, *others = self.costs(i, r, 1, m.get(i, 0)) if r else [0]
            _need(not any((x - first) % size for x in others), f"the unit does not divide what cell {i} can cost")
            rest += first
        least: Any = ANY if tree else None
        waiting: list[Any] = [{}] if tree else []  # what the branchings leave of S_i, for each node still to come
        for node in tree:
            _need(waiting, "the tree goes on behind its end")
            sets = waiting.pop()
            if isinstance(node, dict) and "at" in node:
                i, at = _parts(node, "node")
                _need(0 <= i < self.n, "the tree branches on a cell that is not there")
                self.pay(20 * len(sets), listed=2)
                r = sets.get(i, self.sets[i])
                above = range(r.start + max((at - r.start) // r.step + 1, 0) * r.step, r.stop, r.step)
                waiting += {**sets, i: above}, {**sets, i: range(r.start, min(r.stop, at + 1), r.step)}
            else:
                least = min(least, self.leaf(node, [sets.get(i, r) for i, r in enumerate(self.sets)]))
        _need(not waiting, "the tree ends before its last leaf")
        least = Fraction(-(-least // 1) + (rest + -least // 1) % size) if isinstance(least, Fraction) else least
        stated = "infeasible" if least == ANY else None if least is None else str(least)
        _need(value == stated, f"the bound is {stated}, not as stated")
        return least

    def combine(self, part: Any, shape: str) -> tuple[Any, ...]:  # what else the part says, then Mᵀλ and λ·b
        *head, equations, multipliers = _parts(part, shape, m=len(self.rows))
        self.pay(3 * sum(len(self.rows[j]) for j in equations), listed=len(equations))
        m: dict[int, int] = {}
        for i, y in ((i, x * k) for j, x in zip(equations, multipliers, strict=True) for i, k in self.rows[j]):
            m[i] = m.get(i, 0) + y
        return *head, m, sum(x * self.rhs[j] for j, x in zip(equations, multipliers, strict=True))

    def costs(self, i: int, r: range, scale: int, m: int) -> list[int]:  # f(v) = scale·w·|v − t| − m·v, v from S_i
        # f is linear up to t and from t on: its least value lies at an end or next to t. If f is the same modulo g at the first two, the last two and
        # the two next to t (t itself, if it is one of S_i), then everywhere: it moves in equal steps on both sides, and what is next to t joins them.
        t, step, w = self.target[i], r.step, scale * self.c["weight"][i]
        some = (*r[:2], t - (t - r.start) % step, t + (r.start - t) % step, *r[-2:]) if r[6:] else r
        return [w * abs(v - t) - m * v for v in some if v in r]

    def leaf(self, node: Any, sets: list[range]) -> Any:  # L: every table there costs at least L; ANY: there is none
        kind, d, m, total = self.combine(node, "leaf")
        _need(kind in ("dual", "farkas", "modular") and d > (kind == "modular"), "a leaf is of no known kind")
        cells, scale = (range(self.n), d) if kind == "dual" else (list(m), 0)
        self.pay(5 * self.n + 60 * len(cells))
        if not all(sets):
            return ANY
        if kind == "modular":
            right = not any(sets[i][1:] and m[i] * sets[i].step % d for i in cells)
            right = right and (total - sum(m[i] * sets[i][0] for i in cells)) % d != 0
        else:
            total += sum(min(self.costs(i, sets[i], scale, m.get(i, 0))) for i in cells)
            right = kind == "dual" or total > 0
        _need(right, f"a {kind} leaf does not show what it should")
        return Fraction(total, d) if kind == "dual" else ANY


def _compare(path: str, content: Any, digest: Any) -> str:
    """A public file agrees with the certificate: release.json, or release.csv (a heading, then the values in its last column)."""
    data, (method, decimals) = _read(path), (content["method"], content["decimals"])
    try:
        if path.lower().endswith(".json"):
            right = _text(json.loads(data)) == _text({"method": method, "decimals": decimals, "certificate": digest})
            _need(right, "its method, decimals or certificate are not those of the certificate, or it says more")
            return "it names this certificate, its method and its decimals"
        rows = list(csv.reader(data.decode().removesuffix("\n").split("\n"), strict=True))[1:]
    except (ValueError, RecursionError, csv.Error) as error:
        raise Refused(f"not readable ({error})") from None
    for k, (row, v) in enumerate(zip_longest(rows, content["published"] or []), 2):
        plain = v is not None and row and re.fullmatch(r"-?[0-9]{1,40}(\.[0-9]{1,40})?", row[-1])
        _need(plain and Fraction(row[-1]) * 10**decimals == v, f"the release differs from the certificate in row {k}")
    return f"its {len(rows)} values are those of the certificate"


def main(arguments: list[str]) -> int:
    """Check the files named; 0 when all hold, 1 when one does not, 2 when none is named or one is missing."""
    public = [path for path in arguments if path.lower().endswith((".csv", ".json"))]
    certificates = [path for path in arguments if path not in public]
    if not certificates or (public and len(certificates) > 1):
        print("usage: verify.py CERTIFICATE ... or verify.py CERTIFICATE [RELEASE.csv] [RELEASE.json]", file=sys.stderr)
        return 2
    worst, verdict = 0, Verdict(False, "")
    for path in certificates + public:
        verdict = verify(path) if path in certificates else verdict
        try:
            _need(verdict, verdict.reason if path in certificates else "its certificate does not hold")
            words = _compare(path, load(certificates[0]), verdict.digest) if path in public else verdict.reason
            print(f"{path}: holds: {words}")
        except Refused as refusal:
            missing = not os.path.exists(path)  # noqa: PTH110
            words = f"{refusal}; check the name" if missing else f"DOES NOT HOLD: {refusal}"
            print(f"{path}: {words}", file=sys.stderr if missing else sys.stdout)
            worst = max(worst, 2 if missing else 1)
    return worst


if __name__ == "__main__":
    sys.exit(main(sys.argv[1:]))
