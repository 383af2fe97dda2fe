"""Verify: an exact check of a certificate, in the standard library alone.

    python verify.py certificate.json.gz [release.csv] [release.json]

Copy this file out and run it by itself. docs/certificate.md says what a certificate holds and numbers the checks; they follow here in that order.
A certificate states what is printed of a table and carries evidence: witnesses, tables that an attacker cannot rule out, show that it comes no
closer to a cell than its levels allow; a search tree shows that no allowed table costs less. Nothing is trusted: what is told follows from what is
printed, and all is computed again in whole numbers. Whether table, labels, levels, weights and attackers are those
you mean is checked where you say which they are (check 10).

Legend: M·x = b the equations, a the true values, v the values printed, y a table that an attacker cannot rule out, S_i the values that cell i was
allowed, w the weights, t the target. Amounts are whole numbers in units of 10^−decimals.
"""

import csv
import hashlib
import io
import json
import math
import os
import re
import sys
import zlib
from bisect import bisect_left
from collections import defaultdict
from fractions import Fraction
from itertools import islice, pairwise
from typing import Any, NamedTuple

FORMAT, VERSION = "cellward certificate", 5
MOST_BYTES, MOST_ENTRIES, MOST_DIGITS = 1 << 29, 1 << 25, 40
MOST_STEPS, STEPS_EACH = 1 << 25, 100  # what a check may take, and for each number listed: no small file takes long
INFINITY = float("inf")  # stands for a bound that is not there, and for the least cost of no table; only ever compared

ENTRIES = (
    "format", "version", "salt", "method", "decimals", "weight_decimals", "labels", "equations", "nominal", "lower", "upper", "printed", "allowed",
    "weight", "target", "objective", "knowledge", "protection", "levels", "attackers", "definitions", "witnesses", "bound", "status", "engine",
    "sums",
)  # fmt: skip
COLUMNS = {"values": ["value"], "withheld": ["value"], "ranges": ["lower", "upper"]}  # what each kind prints
STATED = {
    "rounded": ["kind", "base", "steps"],
    "perturbed": ["form", "kind", "amount"],
    "adjusted": ["most"],
}  # by a rule
KINDS = {"rounded": "values", "perturbed": "values", "adjusted": "values", "suppressed": "withheld", "interval": "ranges"}  # fmt: skip
RULES = {
    "controlled rounding": "rounded", "cell perturbation": "perturbed", "controlled tabular adjustment": "adjusted",
    "cell suppression": "suppressed", "interval publication": "interval",
}  # fmt: skip
NO_BOUND: Any = {"value": None, "unit": {"size": 1, "equation": [], "multiplier": []}, "tree": []}  # nothing is proven
FORMS = {"base": ["between", "nearest"], "distance": ["distance"]}  # of a perturbation, and what it can make small
OF_SUMS = "sums.certificate.json.gz"  # stands beside the certificate that names its digest
SENSES = ("up", "down", "slide", "bridge")  # of cuts
WAYS = {"up": [1], "down": [-1], "slide": [1, -1], "above": [1], "below": [-1]}  # of cuts on widths
PROTECTED = {"shown": True, "none asked": None, "ignored": False}
NOT_WHOLE = "a number is not whole, or has too many digits"
LONG_NUMBER = re.compile(rf"[\[,:-][0-9]{{{MOST_DIGITS + 1}}}")  # in canonical JSON
NUMBER = re.compile(r"-?[0-9]{1,40}(\.[0-9]{1,40})?")  # as it is printed in a release
_canonical = json.JSONEncoder(sort_keys=True, separators=(",", ":"), ensure_ascii=False).encode


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
    """Check a certificate file, that of its sums beside it, and that it is of the table expected (check 10); never raises for a bad one."""
    try:
        return check_file(path, expected)[0]
    except Refused as refusal:
        return Verdict(False, str(refusal))


def check_file(path: Any, expected: dict[str, Any] | None = None) -> tuple[Verdict, Any]:
    """The verdict on a certificate file and the one of sums that stands beside it, and its content; raises Refused."""
    content = load(path)
    verdict = check(content, _digest(content), expected)
    if content["sums"] is not None:
        folder, name = os.path.split(os.fspath(path))
        own = os.path.join(folder, name.removesuffix("certificate.json.gz") + OF_SUMS)  # noqa: PTH118
        beside = own if os.path.exists(own) else os.path.join(folder, OF_SUMS)  # noqa: PTH110, PTH118
        try:
            compare_sums(content, load(beside), (expected or {}).get("sums"))
        except Refused as refusal:
            raise Refused(f"it has sums of cells at risk, and {OF_SUMS} beside it does not hold: {refusal}") from None
    return verdict, content


def load(path: Any) -> Any:
    """Read a certificate strictly: one gzip member, unpacked no further than a certificate would grow, its JSON in canonical form."""
    packed = _read(path)
    unpacker, most = zlib.decompressobj(zlib.MAX_WBITS | 16), min(MOST_BYTES, max(1 << 25, 25 * len(packed)))
    try:
        data = unpacker.decompress(packed, most + 1)
        _need(len(data) <= most, f"unpacks to more than {most} bytes")
        _need(unpacker.eof and not unpacker.unused_data, "cut off, or something follows its end")
        _need(data.count(b",") <= min(MOST_ENTRIES, (1 << 18) + 16 * len(packed)), "too many entries for its size")
        text = data.decode()
        _need(not LONG_NUMBER.search(text), NOT_WHOLE)
        content = json.loads(text, parse_float=_parse, parse_constant=_parse)
        _need(isinstance(content, dict) and _canonical(content) == text, "not one object in canonical JSON")
    except (zlib.error, ValueError, RecursionError, MemoryError) as error:
        raise Refused(f"not the packed JSON of a certificate ({error})") from None
    return content


def check(content: Any, digest: str | None = None, expected: dict[str, Any] | None = None) -> Verdict:
    """Check a loaded certificate; returns what was shown, or raises Refused with a sentence on what fails."""
    c = Certificate(content)
    check_table(c)
    check_method(c)
    compare_table(c, content, expected or {})
    lo, hi = check_box(c)
    attackers = check_attackers(c)
    reached = check_witnesses(c, lo, hi, attackers, check_definitions(c))
    shown = check_requirements(c, attackers, reached)
    refuted = isinstance(c.bound, dict) and c.bound.get("value") == "infeasible"
    if c.rule == "adjusted" and c.amount is None and not c.printed and refuted:
        c.gaps = _gaps(c, attackers)
    bound = check_bound(c, attackers)
    proven = bound is not None and bound == (c.objective if c.printed else INFINITY)
    if "weights" not in (expected or {}):
        check_weights(c, proven=proven)
    which = "published values" if c.printed == "values" else "true values"
    hidden = f", {c.columns[0].count(None)} of them withheld," if c.printed == "withheld" else ""
    sums = "" if c.sums is None else "; sums of cells at risk in a certificate of their own"
    reason = (
        f"{c.n} {which}{hidden} satisfy {len(c.rows)} equations; {shown}{sums}; {_optimality(c, bound, proven=proven)}"
    )
    return Verdict(True, reason, PROTECTED[c.protection], "infeasible" if bound == INFINITY else bound, proven, digest)


def _optimality(c: "Certificate", bound: Any, *, proven: bool) -> str:
    """What is proven and what is claimed, in words and in the user's units."""
    if not c.printed:
        return f"that no allowed table exists is {'proven' if proven else 'claimed by the engine'}"
    objective = "no objective" if c.objective is None else f"objective {_decimal(c.objective, c.places)}"
    if proven:
        return f"{objective}; no smaller objective exists (proven)"
    limit = "no lower bound" if bound is None else f"lower bound {_decimal(int(bound), c.places)}"
    claim = "; that nothing smaller exists is the engine's claim" if c.status == "optimal" else ""
    return f"{objective}; {limit} is proven{claim}"


def _decimal(amount: int, places: int) -> str:
    """amount · 10^−places as plain decimal text, exact."""
    digits = str(abs(amount)).zfill(places + 1)
    point = len(digits) - places
    fraction = digits[point:].rstrip("0")
    return f"{'-' if amount < 0 else ''}{digits[:point]}{'.' if fraction else ''}{fraction}"


def _digest(content: Any) -> str:
    return hashlib.sha256(_canonical(content).encode()).hexdigest()


def _read(path: Any) -> bytes:
    """The bytes of a file of bearable size; a pipe would keep us waiting."""
    try:
        _need(os.stat(path).st_size <= MOST_BYTES and os.path.isfile(path), f"not a file of at most {MOST_BYTES} bytes")  # noqa: PTH113, PTH116
        with open(path, "rb") as file:  # noqa: PTH123
            return file.read(MOST_BYTES)
    except FileNotFoundError:
        raise Unreadable("there is no such file") from None
    except (OSError, ValueError, TypeError) as error:
        raise Refused(f"not a readable file ({error})") from None


def _parse(_: str) -> None:
    raise Refused(NOT_WHOLE)


def _need(holds: object, sentence: str) -> None:
    if not holds:
        raise Refused(sentence)


def _entries(value: Any, what: str, *names: str) -> list[Any]:
    """The entries of an object that has exactly these, in the order of their names."""
    wrong = set(value) ^ set(names) if isinstance(value, dict) else {"no object"}
    _need(not wrong, f"{what} does not have exactly its entries: {sorted(map(ascii, wrong))[:5]}")
    return [value[name] for name in names]


def _of(kind: type, value: Any, what: str) -> Any:
    """A value of this very type: true is not 1."""
    _need(type(value) is kind, f"{what} is not of the kind {kind.__name__}")
    return value


def _whole(value: Any, what: str, least: int) -> int:
    """A whole number that is not below ``least``."""
    _need(type(value) is int and value >= least, f"{what} is not a whole number from {least} on")
    return value  # type: ignore[no-any-return]


def _numbers(value: Any, what: str, size: int | None = None, *, gaps: bool = False) -> list[Any]:
    """A list of whole numbers, with ``gaps`` also of nulls, as long as it must be."""
    kinds = {int, type(None)} if gaps else {int}
    right = type(value) is list and set(map(type, value)) <= kinds and size in (None, len(value))
    _need(right, f"{what} is not a list of {'' if size is None else f'{size} '}whole numbers")
    return value  # type: ignore[no-any-return]


def _column(value: Any, what: str, size: int, least: float = -INFINITY) -> list[int]:
    """A list of so many whole numbers, or one that stands for all."""
    column = [value] * size if type(value) is int else _numbers(value, what, size)
    _need(min(column, default=least) >= least, f"{what} holds a number below {least}")
    return column


def _bounds(value: Any, what: str, size: int, absent: float) -> list[Any]:
    """A column of bounds, ``absent`` where there is none."""
    one = value is None or type(value) is int
    column = [value] * size if one else _numbers(value, what, size, gaps=True)
    return [absent if bound is None else bound for bound in column]


def _indices(value: Any, what: str, below: int) -> list[int]:
    """Numbers of cells, equations or the like, increasing."""
    numbers = _numbers(value, what)
    _need(all(x < y for x, y in pairwise([-1, *numbers, below])), f"{what} does not increase from 0 to below {below}")
    return numbers


class Certificate:
    """What a certificate says of the table and of what is printed of it, each entry of its kind, columns written out; and the steps left.

    ``printed``: the kind of what is printed, "" for nothing; ``columns``: a number or None (an empty field) for each cell; ``v``: if they are values.
    """

    def __init__(self, content: Any) -> None:
        c = content if isinstance(content, dict) else {}
        version = c.get("version")
        _need(c.get("format") == FORMAT and type(version) is int, f"not a {FORMAT}")
        other = f"a {FORMAT} of version {version}, and this verify.py reads version {VERSION}"
        remedy = "make the release again, or use the verify.py of the version that wrote it"
        _need(version == VERSION, f"{other}: {remedy}")
        _entries(c, "certificate", *ENTRIES)
        _need(re.fullmatch("[0-9a-fA-F]{64}", _of(str, c["salt"], "salt")), "salt is not 64 hexadecimal digits")
        places = [_whole(c[name], name, 0) for name in ("decimals", "weight_decimals")]
        _need(max(places) <= MOST_DIGITS, f"more than {MOST_DIGITS} decimals")
        self.decimals = places[0]
        self.a = _numbers(c["nominal"], "nominal")
        self.n = n = len(self.a)
        self._read_labels(c["labels"])
        self._read_equations(c["equations"])
        self.lines, self.at_least = (self.rows, self.rhs), False  # what a proof combines: equations, or cuts (at least)
        self.left = MOST_STEPS + STEPS_EACH * (n + sum(map(len, self.rows)) + len(self.rows))
        self.lower, self.upper = _bounds(c["lower"], "lower", n, -INFINITY), _bounds(c["upper"], "upper", n, INFINITY)
        self.method, self.told = _of(dict, c["method"], "method"), c["knowledge"]
        self._read_knowledge(_of(dict, c["knowledge"], "knowledge"))
        self._read_printed(c["printed"])
        self.places = sum(places) if KINDS[self.rule] != "withheld" else places[1]  # of the objective
        self.gaps: dict[int, tuple[float, float]] = {}  # values left out: those between
        self._read_allowed(c["allowed"], c["target"])
        self.weight = _column(c["weight"], "weight", n, 0)
        self.objective = None if c["objective"] is None else _of(int, c["objective"], "objective")
        self.status, self.protection = _of(str, c["status"], "status"), _of(str, c["protection"], "protection")
        self.levels, self.definitions, self.bound = c["levels"], c["definitions"], c["bound"]
        self.attackers, self.witnesses = _of(list, c["attackers"], "attackers"), _of(list, c["witnesses"], "witnesses")
        _of(str, c["engine"], "engine")
        self.sums = c["sums"]
        right = self.sums is None or re.fullmatch("[0-9a-f]{64}", _of(str, self.sums, "sums"))
        _need(right, "sums is not 64 hexadecimal digits")

    def pay(self, steps: int, listed: int = 0) -> None:
        """Steps are counted before they are taken; each number listed pays for some."""
        self.left += STEPS_EACH * listed - steps
        _need(self.left >= 0, "takes more steps to check than a certificate of its size may")

    def _read_labels(self, value: Any) -> None:
        names, self.labels_digest = _entries(value, "labels", "column", "sha256")
        self.labels = [_of(str, name, "a name in column of labels") for name in _of(list, names, "column of labels")]
        _need(len(set(self.labels)) == len(self.labels), "two label columns have one name")
        digits = re.fullmatch("[0-9a-f]{64}", _of(str, self.labels_digest, "sha256 of labels"))
        _need(digits, "sha256 of labels is not 64 hexadecimal digits")

    def _read_equations(self, value: Any) -> None:
        length, cell, coef, rhs = _entries(value, "equations", "length", "cell", "coef", "rhs")
        lengths, cells = _numbers(length, "length of equations"), _numbers(cell, "cell of equations")
        fits = sum(lengths) == len(cells) and min([*lengths, *cells], default=0) >= 0
        there = max(cells, default=-1) < self.n
        _need(fits and there, "the lengths of the equations do not fit, or they name a cell that is not there")
        terms = zip(cells, _column(coef, "coef of equations", len(cells)), strict=True)
        self.rows = [list(islice(terms, size)) for size in lengths]
        self.rhs = _column(rhs, "rhs of equations", len(lengths))

    def _read_knowledge(self, value: dict[str, Any]) -> None:
        """The rule and what goes with it; ``amount``: base of a rounding, q of a perturbation, most of an adjustment (None: nothing is told)."""
        self.rule = _of(str, value.get("rule"), "rule of knowledge")
        _need(self.rule in KINDS, "knowledge has no known rule")
        option = ["small"] if self.rule == "rounded" and "small" in value else []
        _entries(value, "knowledge", "rule", *STATED.get(self.rule, []), *option)
        self.form, self.kind, self.small = value.get("form"), value.get("kind"), value.get("small")
        _need("form" not in value or self.form in ("distance", "base"), "the form of knowledge is not known")
        _need("kind" not in value or self.kind in ("paper", "strict"), "the kind of knowledge is not known")
        _need(not option or self.small in ("up", "zero", "only"), "what knowledge says of small counts is not known")
        if self.rule == "rounded":
            self.steps = _column(value["steps"], "steps of knowledge", self.n, 1)
        amount = value.get("base", value.get("amount", value.get("most")))
        nothing = self.rule in ("adjusted", "suppressed", "interval") and amount is None
        self.amount: Any = None if nothing else _column(amount, "base, amount or most of knowledge", self.n, 0)

    def _read_printed(self, value: Any) -> None:
        self.printed, self.columns = "", list[list[Any]]()
        self.v: Any = None
        if value is None:
            return
        kind = KINDS[self.rule]
        stated, *columns = _entries(value, "printed", "kind", *COLUMNS[kind])
        _need(stated == kind, f"what is printed of a table {self.rule} is not of the kind {kind}")
        self.printed = kind
        self.columns = [_numbers(column, "a column of printed", self.n, gaps=kind != "values") for column in columns]
        self.v = self.columns[0] if kind == "values" else None

    def _read_allowed(self, value: Any, target: Any) -> None:
        """The sets S_i as ranges, and t; of withheld values those of x, 1 where one is withheld; of ranges which cells may be."""
        self.sets: Any = None
        self.grid = 1
        self.ranging: Any = None  # of ranges, where it is stated: which cells may be wider than 0
        self.target = [0] * self.n
        kind = KINDS[self.rule]
        none = value is None and kind != "values"
        right = kind == "values" or (target is None and (value is None or not none))
        _need(right, f"a table {self.rule} has no allowed values and no target")
        if none:
            return
        gaps = ["gaps"] if kind == "values" and isinstance(value, dict) and "gaps" in value else []
        lo, hi, step, *gaps = _entries(value, "allowed", "lo", "hi", "step", *gaps)
        first, last = _column(lo, "lo of allowed", self.n), _column(hi, "hi of allowed", self.n)
        self.step = _column(step, "step of allowed", self.n, 0)
        single = all(z or x == y for x, y, z in zip(first, last, self.step, strict=True))
        _need(single, "a step is 0 and lo is not hi")
        if kind == "ranges":
            right = all(0 == x <= y <= 1 >= z for x, y, z in zip(first, last, self.step, strict=True))
            _need(right, "which cells may be ranges has another entry than 0 and 1")
            self.ranging = [y == 1 for y in last]
            return
        self.sets = [range(x, y + 1, z or 1) for x, y, z in zip(first, last, self.step, strict=True)]
        self.target = self.a if target is None else _numbers(target, "target", self.n)
        if gaps:
            self._read_gaps(gaps[0])
        if kind == "withheld":
            self.target = first
            right = all(0 <= x <= y <= 1 >= z for x, y, z in zip(first, last, self.step, strict=True))
            _need(right, "a pattern has another entry than 0 and 1")

    def _read_gaps(self, value: Any) -> None:
        """What is left out of some S_i: all that lies between two of their elements, around t."""
        cell, below, above = _entries(value, "gaps of allowed", "cell", "below", "above")
        cells = _indices(cell, "the cells of gaps", self.n)
        ends = [_numbers(end, "an end of gaps", len(cells)) for end in (below, above)]
        for i, low, high in zip(cells, *ends, strict=True):
            right = low in self.sets[i] and high in self.sets[i] and low <= self.target[i] <= high
            _need(right, f"the gap of cell {i} does not lie around its target, between two values allowed")
            self.gaps[i] = (low, high)


def check_table(c: Certificate) -> None:
    """Check 1: the true values add up and keep to the public bounds; values printed add up and were allowed; status and objective fit."""
    _need(c.status in ("optimal", "feasible", "infeasible"), "there is no such status")
    _need((c.status == "infeasible") == (not c.printed), "the status does not fit what is printed")
    _check_sums(c, "true", c.a)
    for i, (low, a, high) in enumerate(zip(c.lower, c.a, c.upper, strict=True)):
        if not low <= a <= high:
            raise Refused(f"the true value of cell {i} lies outside the public bounds")
    if c.v is not None:
        _check_sums(c, "published", c.v)
        for i, (v, allowed) in enumerate(zip(c.v, c.sets, strict=True)):
            below, above = c.gaps.get(i, (v, v))
            if v not in allowed or below < v < above:
                raise Refused(f"the published value of cell {i} is not allowed")
    if c.printed == "withheld" and c.sets is not None:
        for i, (value, allowed) in enumerate(zip(c.columns[0], c.sets, strict=True)):
            if (value is None) not in allowed:
                raise Refused(f"cell {i} was not free to be {'printed' if value is not None else 'withheld'}")
    cost = _cost(c)
    _need(c.objective == cost, f"the objective is {cost}, not as stated")


def _check_sums(c: Certificate, which: str, values: list[int]) -> None:
    for j, (row, right) in enumerate(zip(c.rows, c.rhs, strict=True)):
        if sum(coef * values[i] for i, coef in row) != right:
            raise Refused(f"the {which} values miss equation {j}")


def _cost(c: Certificate) -> Any:
    """Of values Σ w·|v − t|, of withheld values Σ w where they could have been printed, of ranges Σ w·(upper − lower), an open end at the public
    bound; None where there is none."""
    if not c.printed:
        return None
    if c.printed == "values":
        return sum(w * abs(v - t) for w, v, t in zip(c.weight, c.columns[0], c.target, strict=True))
    if c.printed == "withheld":
        return sum(w for w, v, must in zip(c.weight, c.columns[0], c.target, strict=True) if v is None and not must)
    lower, upper = c.columns
    lows = [public if low is None else low for low, public in zip(lower, c.lower, strict=True)]
    highs = [public if high is None else high for high, public in zip(upper, c.upper, strict=True)]
    if -INFINITY in lows or INFINITY in highs:
        return None
    return sum(w * (high - low) for w, low, high in zip(c.weight, lows, highs, strict=True))


def check_method(c: Certificate) -> None:
    """Check 2: method and rule are those of one release, down to the amounts; each cell was free to take any value that the method gives it."""
    name, rule = _of(str, c.method.get("name"), "name of method"), c.rule
    own = RULES.get(name)
    right = own == rule or (own is None and KINDS[rule] == "values")
    _need(right, f"the method {name} does not leave a table {rule}")
    _need(c.method.get("small_counts") == c.small, "method and knowledge differ on small counts")
    if own is None:
        stated = _canonical(c.method.get("tells")) == _canonical(c.told)
        _need(stated, f"the method {name} is not known here, and its entry tells is not the knowledge")
    if own in ("rounded", "perturbed"):
        _need(c.method.get("knowledge") == c.kind, "method and knowledge differ on what is read out of a value")
    if own == "rounded":
        _check_amounts(c, "base")
        _check_rounding(c)
    if own == "perturbed":
        form = "base" if "base" in c.method else "distance"
        _need(
            form == c.form and ("base" in c.method) != ("within" in c.method), "method and knowledge differ on the form"
        )
        _check_amounts(c, "base" if form == "base" else "within")
        _need(c.method.get("objective") in FORMS[form], "the objective is none of this perturbation")
        _check_perturbation(c)
    if own == "adjusted":
        _need(c.amount is None, "an adjustment tells nothing of how far values were moved")
        linear = _of(str, c.method.get("norm"), "norm of method") == "l1"
        _need(linear or not c.printed or c.bound == NO_BOUND, "a bound is stated of a norm that is not l1")
    if own == "interval" and c.ranging is not None:
        _check_ranges(c)
    if c.sets is not None:
        aim = [t for t, _ in _aim(c)]
        _need(aim == c.target, "the target is not that of the method")


def _check_ranges(c: Certificate) -> None:
    """Ranges end on the grid or at a public bound, have no more widths than stated, and stand where cells were free to be ranges."""
    text, widths = c.method.get("grid"), c.method.get("widths")
    _need(type(text) is str and NUMBER.fullmatch(text), "grid of method is not a number")
    grid = Fraction(text) * 10**c.decimals
    _need(grid.denominator == 1 <= grid, "grid of method is not a whole number of units")
    c.grid = int(grid)
    _need(widths is None or (type(widths) is int and widths >= 1), "widths of method is not a number from 1 on")
    zeros, stated = c.method.get("zeros") == "published", c.method.get("printed")
    said = type(stated) is str and stated != ""
    for i, free in enumerate(c.ranging):
        _need(free or said or (zeros and c.a[i] == 0), f"cell {i} was not free to be a range, and nothing says why")
    found = set()
    for i, (low, high) in enumerate(zip(*c.columns, strict=True)) if c.printed else ():
        _need(None not in (low, high), f"the range of cell {i} is open to a side, and so ends on no grid")
        if low < high:
            on = (low % c.grid == 0 or low == c.lower[i]) and (high % c.grid == 0 or high == c.upper[i])
            _need(c.ranging[i], f"cell {i} was not free to be a range")
            _need(on, f"the range of cell {i} does not end on the grid")
            found.add(high - low)
    _need(widths is None or len(found) <= widths, "the ranges have more widths than stated")


def _check_amounts(c: Certificate, name: str) -> None:
    """The amounts of knowledge are those that the method states in the user's units, or 0 in cells that are published as they are."""
    stated = c.method.get(name)
    texts = stated if type(stated) is list else [stated] * c.n
    right = len(texts) == c.n and all(type(text) is str and NUMBER.fullmatch(text) for text in texts)
    _need(right, f"{name} of method is not a number, or one for each of {c.n} cells")
    for i, (text, amount) in enumerate(zip(texts, c.amount, strict=True)):
        if amount not in (0, Fraction(text) * 10**c.decimals):
            raise Refused(f"method and knowledge differ on the {name} of cell {i}")
    _need(any(c.amount) or not c.n, f"{name} is 0 in every cell: the table would be published as it is")


def _aim(c: Certificate) -> list[tuple[int, int]]:
    """The target of each cell, and how often its weight in the table counts: a perturbation by base has the nearer multiple for a target, and
    between multiples it costs w·|v − a| at both and grows evenly, taken times the common multiple of all widths."""
    objective = c.method.get("objective")
    if RULES.get(c.method["name"]) != "perturbed" or objective == "distance":
        given = RULES.get(c.method["name"]) in (None, "suppressed")
        return [(t, 1) for t in (c.target if given else c.a)]
    ends = [(a - a % q, a + -a % q) if q else (a, a) for a, q in zip(c.a, c.amount, strict=True)]
    common, found = 1, []
    for width in {high - low for low, high in ends if low < high}:
        common = math.lcm(common, width)
        _need(common < 10**MOST_DIGITS, "the bases have no common multiple of bearable size")
    for a, (low, high) in zip(c.a, ends, strict=True):
        lean, width = low + high - 2 * a, high - low
        times = min(width, 1) if objective == "nearest" else abs(lean) * (common // max(width, 1))
        found.append((low if lean >= 0 else high, times))
    return found


def _check_rounding(c: Certificate) -> None:
    """A cell takes a multiple of its base (one that only follows: any whole value) less than ``steps`` bases away, and was free to take each."""
    small, said = c.small, c.method.get("steps")
    same = _canonical(said) == _canonical(c.told["steps"])
    _need(same, "the steps of method and knowledge are not those of one rounding")
    only = c.method.get("only")
    follow = c.kind == "strict" and type(only) is str and only != ""
    alone = small == "only"
    right = not alone or (c.kind == "strict" and all(x >= 0 for x, base in zip(c.lower, c.amount, strict=True) if base))
    _need(right, "small counts are rounded alone under strict knowledge only, in tables without negative values")
    for i, (a, base, step, s) in enumerate(zip(c.a, c.amount, c.step, c.steps, strict=True)):
        follows = a >= base if alone else follow and step == 1
        if step != base and not (follows and step == 1 < base):
            raise Refused(f"base and step of cell {i} are not those of one rounding")
        reach, grid = max(s * base - 1, 0), step or 1
        low, high = a - reach, a + reach
        if alone and base:
            low, high = (max(low, base), high) if a >= base else (0, high if a else 0)
        elif small and 0 < a < base and c.lower[i] >= 0:
            low, high = (0, 0) if small == "zero" else (max(low, 1), high)
        first, last = -(-max(low, c.lower[i]) // grid) * grid, min(high, c.upper[i]) // grid * grid
        if first <= last and not (first in c.sets[i] and last in c.sets[i]):
            raise Refused(f"cell {i} was not free to be rounded")
        if c.v is not None and not (low <= c.v[i] <= high and c.v[i] % grid == 0):
            raise Refused(f"cell {i} is not rounded as stated, to a multiple of {grid} less than {s} times {base} away")


def _check_perturbation(c: Certificate) -> None:
    """S_i holds all whole values between the multiples around a_i inside the public bounds, or a run of those up to q_i away (of counts 0 too)."""
    by_base = c.form == "base"
    for i, (a, q, allowed) in enumerate(zip(c.a, c.amount, c.sets, strict=True)):
        down, up = (a % q, -a % q) if by_base and q else (q, q)
        low, high = max(a - down, c.lower[i] if by_base else min(c.lower[i], 0)), min(a + up, c.upper[i])
        run = allowed and (allowed.step == 1 or not allowed[1:])
        if by_base and q and low > 0:
            low -= low % q  # a count of at least 1 may become 0
        right = run and low <= allowed[0] and allowed[-1] <= high
        if by_base:
            right = right and (allowed[0], allowed[-1]) == (low, high)
        if not right:
            raise Refused(f"cell {i} was not free to be perturbed as stated, or free to go further")


def check_box(c: Certificate) -> tuple[list[Any], list[Any]]:
    """Check 3: lo ≤ y ≤ hi, what the public knows from the printed columns and beforehand; the true values lie in it."""
    lo, hi = told(c)
    lo, hi = list(map(max, lo, c.lower)), list(map(min, hi, c.upper))
    for i, (low, a, high) in enumerate(zip(lo, c.a, hi, strict=True)):
        if not low <= a <= high:
            raise Refused(f"the true value of cell {i} lies outside what is told of it")
    return lo, hi


def told(c: Certificate) -> tuple[list[Any], list[Any]]:
    """What the printed columns alone tell. Where nothing is printed, rules of values tell what they would of v = a, the others nothing."""
    v, amount = c.a if c.v is None else c.v, c.amount
    if c.rule in ("rounded", "perturbed"):
        tell = _told_by_rounding if c.rule == "rounded" else _told_by_perturbation
        ends = [tell(c, i, value) for i, value in enumerate(v)]
        return [low for low, _ in ends], [high for _, high in ends]
    if amount is not None:
        low, high = ([x + way * most for x, most in zip(v, amount, strict=True)] for way in (-1, 1))
        return low, high
    if c.printed in ("", "values"):
        return [-INFINITY] * c.n, [INFINITY] * c.n
    lower, upper = c.columns[0], c.columns[-1]  # a value that is not withheld is both ends
    return [-INFINITY if x is None else x for x in lower], [INFINITY if x is None else x for x in upper]


def _told_by_rounding(c: Certificate, i: int, v: int) -> tuple[int, int]:
    """strict: |y − v| ≤ s·base − 1. paper: |y − v| ≤ s·base, and y = v where s = 1 and a is a multiple, which is public."""
    base, s, small = c.amount[i], c.steps[i], c.small
    width = s * base
    if base and c.kind == "strict":
        width -= 1
    elif base and s == 1 and c.a[i] % base == 0:
        width = 0
    low, high = v - width, v + width
    if not small or not base or c.v is None or c.lower[i] < 0:
        return low, high
    if (
        small == "only"
    ):  # what is below the base became a multiple of it, 0 stayed, and all others are at or above the base
        return (max(low, 0), min(high, base - 1)) if v == 0 else (max(low, base if v % base else 1), high)
    # Small counts: y is 0, small (0 < y < base) or large. Where 0 cannot have become v, y begins behind it, or behind the small values if they
    # cannot either; where neither small nor large values can, y ends at 0.
    from_zero = c.lower[i] <= 0 and v < s * base
    from_small = v > 0 if small == "up" else v == 0
    from_large = c.upper[i] >= base and v + s * base > base
    if not from_zero:
        low = max(low, 1 if from_small else base)
    if not from_small and not from_large:
        high = min(high, 0)
    return low, high


def _told_by_perturbation(c: Certificate, i: int, v: int) -> tuple[int, int]:
    """distance: |y − v| ≤ q, on paper 2q. base: between the multiples around v, one more to both sides of a multiple; on paper as in roundings."""
    q, strict = c.amount[i], c.kind == "strict"
    if q == 0:
        return v, v
    if c.form == "distance":
        width = q if strict else 2 * q
        return v - width, v + width
    if strict:
        return v - (v % q or q), v + (-v % q or q)
    width = 0 if c.a[i] % q == 0 else q
    return v - width, v + width


class Attacker(NamedTuple):
    """Whether it knows that values are whole, its own bounds by cell, whether any level is asked, and lpl, upl, spl of cells to be shown."""

    whole: bool
    own: dict[int, tuple[Any, Any]]
    asked: bool
    must: dict[int, tuple[int, int, int]]


def check_attackers(c: Certificate) -> list[Attacker]:
    """Check 4: what each knows is true; levels must be shown where that is no single value."""
    table, attackers, names = _levels(c, c.levels), [], set()
    strict = c.rule == "rounded" and c.kind == "strict"  # tells that values are whole
    for k, part in enumerate(c.attackers):
        entries = _entries(part, "attacker", "name", "whole", "cell", "lower", "upper", "levels")
        name, whole, cell, low, high, levels = entries
        names.add(_of(str, name, "name of attacker"))
        _of(bool, whole, "whole of attacker")
        cells = _indices(cell, "cell of attacker", c.n)
        lows = _bounds(low, "lower of attacker", len(cells), -INFINITY)
        highs = _bounds(high, "upper of attacker", len(cells), INFINITY)
        own = {i: (low, high) for i, low, high in zip(cells, lows, highs, strict=True)}
        _need(all(low <= c.a[i] <= high for i, (low, high) in own.items()), f"what attacker {k} knows is not true")
        asked = table if levels is None else _levels(c, levels)
        listed = [cell, low, high, *({} if levels is None else levels).values()]
        c.pay(10 * len(asked), listed=sum(len(column) for column in listed if type(column) is list))
        must = {i: level for i, level in asked.items() if i not in own or own[i][0] < own[i][1]}
        attackers.append(Attacker(whole or strict, own, bool(asked), must))
    _need(0 < len(names) == len(attackers), "no attacker, or two namesakes")
    return attackers


def _levels(c: Certificate, value: Any) -> dict[int, tuple[int, int, int]]:
    """lpl, upl and spl of the cells where one of them is positive."""
    cell, *columns = _entries(value, "levels", "cell", "lpl", "upl", "spl")
    cells = _indices(cell, "cell of levels", c.n)
    lpls, upls, spls = (_column(column, "a column of levels", len(cells), 0) for column in columns)
    rows = zip(cells, lpls, upls, spls, strict=True)
    return {i: (lpl, upl, spl) for i, lpl, upl, spl in rows if lpl or upl or spl}


# By equation: its place in the list, the equation, the cell that it defines, the cell's coefficient there.
Definitions = dict[int, tuple[int, int, int, int]]


def check_definitions(c: Certificate) -> Definitions:
    """Check 5: coefficients ±1, no equation and no cell twice, the other cells leaves or defined earlier."""
    equation, cell = _entries(c.definitions, "definitions", "equation", "cell")
    equations, cells = _numbers(equation, "equation of definitions"), _numbers(cell, "cell of definitions")
    _need(len(equations) == len(cells), "definitions name more equations than cells, or fewer")
    place_of = {cell: place for place, cell in enumerate(cells)}
    _need(len(place_of) == len(set(equations)) == len(cells), "a cell or an equation is in two definitions")
    found: Definitions = {}
    for place, (j, cell) in enumerate(zip(equations, cells, strict=True)):
        row = c.rows[j] if 0 <= j < len(c.rows) else []
        signs = [coef for i, coef in row if i == cell]
        in_order = all(place_of.get(i, place) <= place for i, _ in row)
        _need(signs in ([1], [-1]) and in_order, f"definition {place} is none")
        found[j] = place, j, cell, signs[0]
    return found


# By attacker and cell: the least and the greatest y − a of the witnesses that cover them.
Reached = list[dict[int, tuple[Any, Any]]]


def check_witnesses(
    c: Certificate, lo: list[Any], hi: list[Any], attackers: list[Attacker], by: Definitions
) -> Reached:
    """Check 6: each witness y = a + Δ/d satisfies every equation and lies in the region of every attacker that it covers."""
    reached: Reached = [{} for _ in attackers]
    terms_of: list[list[Any]] = [[] for _ in c.a]  # by cell: the equations that it is in, and with which coefficient
    for j, row in enumerate(c.rows if c.witnesses else []):
        for i, coef in row:
            terms_of[i].append((j, coef))
    ruling_out = _Knowers(c, lo, hi, attackers)
    for w, part in enumerate(c.witnesses):
        denominator, leaf, difference, covers = _entries(part, "witness", "denominator", "leaf", "difference", "covers")
        d, leaves = _whole(denominator, "denominator of witness", 1), _indices(leaf, "leaf of witness", c.n)
        delta = dict(zip(leaves, _numbers(difference, "difference of witness", len(leaves)), strict=True))
        _need(0 not in delta.values(), f"witness {w} moves a leaf by 0")
        _complete(c, delta, terms_of, by, w)
        inside = all(lo[i] * d <= c.a[i] * d + x <= hi[i] * d for i, x in delta.items())
        against, last = ruling_out.of(delta, d) if inside else set(), -1
        for cover in _of(list, covers, "covers of witness"):
            numbers = _numbers(cover, "an entry of covers")
            rising = numbers and last < numbers[0] < len(attackers)
            _need(rising, f"witness {w} does not cover attackers in increasing order")
            last, *cells = numbers
            whole, _, _, must = attackers[last]
            c.pay(5, listed=len(cells))
            possible = inside and last not in against and (d == 1 or not whole)
            _need(possible, f"attacker {last} can rule out witness {w}")
            _need(len(must.keys() & set(cells)) == len(cells), f"witness {w} covers a cell twice, or one in vain")
            for i in cells:
                (low, high), moved = reached[last].get(i, (0, 0)), delta.get(i, 0)
                moved = moved if d == 1 else Fraction(moved, d)
                reached[last][i] = min(low, moved), max(high, moved)
    return reached


class _Knowers:
    """By cell: what attackers know of it beyond the box, least and greatest moves in order, each with its attacker."""

    def __init__(self, c: Certificate, lo: list[Any], hi: list[Any], attackers: list[Attacker]) -> None:
        self.c = c
        self.falls: dict[int, list[tuple[Any, int]]] = defaultdict(list)
        self.rises: dict[int, list[tuple[Any, int]]] = defaultdict(list)
        for k, one in enumerate(attackers):
            for i, (low, high) in one.own.items():
                if low > lo[i]:
                    self.falls[i].append((low - c.a[i], k))
                if high < hi[i]:
                    self.rises[i].append((high - c.a[i], k))
        for moves in (*self.falls.values(), *self.rises.values()):
            moves.sort()

    def of(self, delta: dict[int, int], d: int) -> set[int]:
        """The attackers who can rule Δ/d out."""
        found: set[int] = set()
        self.c.pay(5 * len(delta))
        for i, x in delta.items():
            known = self.falls.get(i) if x < 0 else self.rises.get(i)
            if known:  # low > x/d for whole low where low > ⌊x/d⌋, and high < x/d where high < ⌈x/d⌉; moves of 0 are within what anybody knows
                at = bisect_left(known, (x // d + 1 if x < 0 else -(-x // d), -1))
                beyond = known[at:] if x < 0 else known[:at]
                self.c.pay(len(beyond))
                found.update([k for _, k in beyond])
        return found


def _complete(c: Certificate, delta: dict[int, int], terms_of: list[list[Any]], by: Definitions, w: int) -> None:
    """Add to Δ, given on the leaves, what it is in the cells that definitions give; M·Δ = 0 (equations that it does not touch need no look)."""
    touched, left = list(delta), dict[int, int]()  # by equation touched: the sum of its terms in Δ so far
    for i in touched:  # grows by the cells that the equations touched define
        for j, _ in terms_of[i]:
            if j not in left:
                left[j] = 0
                if j in by:
                    touched.append(by[j][2])
    c.pay(60 * len(left) + 30 * len(touched) + 10 * sum([len(terms_of[i]) for i in touched]), listed=len(delta))
    for i, x in delta.items():
        for j, coef in terms_of[i]:
            left[j] += coef * x
    for _, j, cell, sign in sorted(by[j] for j in left.keys() & by.keys()):
        _need(cell not in delta, f"witness {w} moves a cell that is no leaf")
        _need(abs(left[j]) < 10 ** (2 * MOST_DIGITS), f"witness {w} moves a cell by too many digits")
        delta[cell] = x = -sign * left[j]  # so that its definition holds
        for other, coef in terms_of[cell] if x else []:
            left[other] += coef * x
    _need(not any(left.values()), f"witness {w} is no table")


def check_requirements(c: Certificate, attackers: list[Attacker], reached: Reached) -> str:
    """Check 7: every level is shown, or openly not."""
    _need(c.protection in PROTECTED, "there is no such protection")
    table = _levels(c, c.levels)
    asked = bool(table) or any(attacker.asked for attacker in attackers)
    _need(asked == (c.protection != "none asked"), "whether levels are asked is not as protection says")
    if c.protection != "shown":
        _need(not c.witnesses, "there are witnesses, and nothing is said to be shown")
        return f"protection levels: {c.protection}"
    _need(c.printed, "nothing is published that levels could be shown of")
    for i, level in table.items():
        kept = (attacker.must.get(i, (0, 0, 0)) for attacker in attackers)
        if not any(all(map(int.__ge__, own, level)) for own in kept):
            raise Refused(
                f"the level of cell {i} is kept from nobody: every attacker knows the cell, or has lower levels"
            )
    if c.rule == "suppressed":
        _need(c.method.get("guarantee") != "exact", "levels are shown, and the method does not promise to meet them")
    needs = [(k, i, level) for k, attacker in enumerate(attackers) for i, level in attacker.must.items()]
    for k, i, (lpl, upl, spl) in needs:
        if c.rule == "adjusted" and c.amount is None:
            # No intervals can be worked out: the value itself must be far enough off, on a side that is asked for.
            _need(not attackers[k].own, f"nothing is shown against attacker {k}, who knows cells, by distance")
            moved = c.v[i] - c.a[i]
            met = abs(moved) >= spl and (moved >= upl > 0 or -moved >= lpl > 0 or upl == lpl == 0)
        else:
            low, high = reached[k].get(i, (0, 0))
            met = high >= upl and -low >= lpl and high - low >= spl
        _need(met, f"a level of cell {i} is not shown against attacker {k}")
    told_by = " ".join(filter(None, (c.rule, c.form, c.kind, c.small)))
    return f"{len(needs)} requirements against {len(attackers)} attackers shown by {len(c.witnesses)} witnesses ({told_by})"


def check_weights(c: Certificate, *, proven: bool) -> None:
    """Where a cell is free and its weight 0, anything is optimal: only the table's own weights, if you say them, may be so (check 8)."""
    if c.status != "optimal" and not (proven and c.printed):
        return
    free = (
        c.ranging or [True] * c.n
        if c.sets is None
        else [bool(allowed[1:] and times) for allowed, (_, times) in zip(c.sets, _aim(c), strict=True)]
    )
    for i, weight in enumerate(c.weight):
        if free[i] and not weight:
            raise Refused(
                f"cell {i} has weight 0, so that nothing smaller exists says nothing of it; check against the table and its weights"
            )


def check_bound(c: Certificate, attackers: list[Attacker]) -> Any:
    """Check 8: the least cost of any table as far as the tree proves it, INFINITY when it proves that there is none, None when there is no tree."""
    stated_free = c.ranging is not None or (KINDS[c.rule] == "withheld" and c.sets is not None)
    by_cuts = ["cuts"] if stated_free else []
    value, unit, tree, *cuts = _entries(c.bound, "bound", "value", "unit", "tree", *by_cuts)
    nodes = _of(list, tree, "tree of bound")
    size, equation, multiplier = _entries(unit, "unit", "size", "equation", "multiplier")
    g = _whole(size, "size of unit", 1)
    if c.ranging is not None:
        _need(equation == multiplier == [], "the unit of ranges has no multipliers")
        return _least_width(c, attackers, value, g, nodes, _of(list, cuts[0], "cuts of bound"))
    if c.sets is None:  # of ranges and patterns without a word on what was free nothing can be proven
        _need(c.bound == NO_BOUND, f"there is no bound for a table {c.rule}")
        return None
    if by_cuts:
        _check_free(c, attackers)
        _need(equation == [], "the unit of a pattern has no multipliers")
        c.lines, c.at_least = _cuts(c, attackers, _of(list, cuts[0], "cuts of bound")), True
    residue = _residue(c, g, *_combine(c, equation, multiplier))
    least = _least_cost(c, nodes) if nodes else None
    if isinstance(least, Fraction):  # round up, first to a whole number, then to one that a table can cost
        above = -(-least // 1)
        least = Fraction(above + (residue - above) % g)
    stated = None if least is None else "infeasible" if least == INFINITY else str(least)
    _need(value == stated, f"the bound is {stated}, not as stated")
    _need(c.objective is None or least is None or least <= c.objective, "the bound contradicts the published values")
    return least


def _combine(c: Certificate, equation: Any, multiplier: Any) -> tuple[dict[int, int], int]:
    """Mᵀλ by cell, and λ·b, of the multipliers λ of some equations."""
    rows, rhs = c.lines
    equations = _indices(equation, "the equations of a combination", len(rows))
    multipliers = _numbers(multiplier, "the multipliers of a combination", len(equations))
    _need(not c.at_least or min(multipliers, default=0) >= 0, "a cut has a negative multiplier")
    c.pay(3 * sum(len(rows[j]) for j in equations), listed=len(equations))
    slope: dict[int, int] = {}
    right = 0
    for j, x in zip(equations, multipliers, strict=True):
        right += x * rhs[j]
        for i, coef in rows[j]:
            slope[i] = slope.get(i, 0) + x * coef
    return slope, right


def _check_free(c: Certificate, attackers: list[Attacker]) -> None:
    """A cell had to be withheld where a level asks it, had to be printed where it is 0, and elsewhere as the method says in so many words."""
    asked = set(_levels(c, c.levels)).union(*(attacker.must for attacker in attackers))
    zeros = c.method.get("zeros") == "published"
    stated = [type(c.method.get(name)) is str and c.method[name] != "" for name in ("printed", "withheld")]
    for i, allowed in enumerate(c.sets):
        if not allowed[1:]:
            right = stated[1] or i in asked if allowed[0] else stated[0] or (zeros and c.a[i] == 0)
            _need(right, f"cell {i} was not free, and nothing says why")


def _cuts(c: Certificate, attackers: list[Attacker], parts: list[Any]) -> tuple[list[Any], list[int]]:
    """Inequalities Σ coef·x ≥ least that patterns keep, each derived from a requirement and multipliers of the equations (docs/certificate.md).

    For z = y − a of a table y that attacker k cannot rule out, M·z = 0, so d·z_p = Σ c_i·z_i with c = d·e_p + Mᵀμ, and z_i is 0 where a cell is
    printed and keeps to the attacker's bounds elsewhere. What the withheld cells give at most must therefore reach d times the level.
    """
    rows: list[Any] = []
    rhs: list[int] = []
    for part in parts:
        more = ["covered"] if isinstance(part, dict) and "covered" in part else []
        attacker, cell, sense, scale, equation, multiplier, *covered = _entries(
            part, "cut", "attacker", "cell", "sense", "scale", "equation", "multiplier", *more
        )
        k, p = _whole(attacker, "attacker of cut", 0), _whole(cell, "cell of cut", 0)
        d = _whole(scale, "scale of cut", 1)
        _need(
            k < len(attackers) and p < c.n and sense in SENSES,
            "a cut names an attacker, cell or sense that is not there",
        )
        slope, _ = _combine(c, equation, multiplier)
        given = set(_indices(covered[0], "covered of cut", c.n)) if covered else set()
        free = all(c.sets[i][1:] for i in given) and not (covered and sense == "bridge")
        _need(free, "a cut covers a cell that was not free, or a bridge covers any")
        c.pay(30 * len(slope) + 10)
        who = attackers[k]
        row, least = _bridge(c, p, slope, who) if sense == "bridge" else _capacity(c, p, d, sense, slope, who, given)
        rows.append(row if least > -INFINITY else [])
        rhs.append(least if least > -INFINITY else 0)
    return rows, rhs


def _capacity(
    c: Certificate, p: int, d: int, sense: str, slope: dict[int, int], attacker: Attacker, covered: set[int]
) -> tuple[list[Any], Any]:
    """Of a level: cells that must be withheld go to the right, as do those covered, and no coefficient counts for more than what is left there."""
    _need(
        p in attacker.must and c.method.get("guarantee") != "exact",
        "a cut is of a level that nobody has to be kept from",
    )
    lpl, upl, spl = attacker.must[p]
    slope[p] = slope.get(p, 0) + (-d if sense == "down" else d)
    least: Any = d * {"up": upl, "down": lpl, "slide": spl}[sense]
    row = []
    for i, x in slope.items():
        low, high = attacker.own.get(i, (-INFINITY, INFINITY))
        above, below = min(high, c.upper[i]) - c.a[i], c.a[i] - max(low, c.lower[i])
        room = above + below if sense == "slide" else above if x > 0 else below
        coef = abs(x) * room if x and room else 0
        if c.sets[i][1:] and i not in covered:
            row.append((i, coef))
        elif c.sets[i][0] or i in covered:
            least -= coef
    return ([(i, min(coef, least)) for i, coef in row if coef], least) if least > 0 else ([], -INFINITY)


def _bridge(c: Certificate, p: int, slope: dict[int, int], attacker: Attacker) -> tuple[list[Any], Any]:
    """Of a combination with p in it: if p is withheld, another cell of it is, or p is known and may as well be printed; at risk it must not be."""
    _need(slope.get(p), "a bridge does not hold its cell")
    forced = not c.sets[p][1:]
    if forced and not c.sets[p][0]:
        return [], -INFINITY
    _need(not forced or p in attacker.must, "a bridge is of a cell that nobody has to be kept from")
    known = [i for i, (low, high) in attacker.own.items() if low == high] if forced else []
    others = {i for i, x in slope.items() if x and i != p}.difference(known)
    if any(c.sets[i][0] for i in others if not c.sets[i][1:]):
        return [], -INFINITY
    row = [(i, 1) for i in sorted(others) if c.sets[i][1:]]
    return (row, 1) if forced else ([*row, (p, -1)], 0)


def _least_width(
    c: Certificate, attackers: list[Attacker], value: Any, g: int, nodes: list[Any], parts: list[Any]
) -> Any:
    """Of ranges: the least Σ w·(below + above) that the cuts with their multipliers prove, INFINITY when they prove that no ranges are safe."""
    rows, rhs = _width_cuts(c, attackers, parts)
    for i in range(
        c.n
    ):  # ranges cost the same modulo g: both ends are multiples of the grid, unless a public bound is none
        round_ends = all(end % c.grid == 0 for end in (c.lower[i], c.upper[i]) if abs(end) != INFINITY)
        _need(not c.ranging[i] or c.weight[i] * (c.grid if round_ends else 1) % g == 0, "the unit divides no widths")
    least: Any = None
    if nodes:
        _need(len(nodes) == 1, "a bound of ranges has one leaf")
        parts = _entries(nodes[0], "leaf", "kind", "denominator", "equation", "multiplier")
        kind, denominator, equation, multiplier = parts
        _need(kind in ("dual", "farkas"), "a leaf is of no known kind")
        d = _whole(denominator, f"denominator of a {kind} leaf", 1)
        c.lines, c.at_least = (rows, rhs), True
        slope, right = _combine(c, equation, multiplier)
        c.pay(60 * len(slope))
        total = right
        for column, gain in slope.items():
            i, above = column % c.n, column >= c.n
            over = gain - (d * c.weight[i] if kind == "dual" else 0)
            far = c.upper[i] - c.a[i] if above else c.a[i] - c.lower[i]
            if over > 0:
                _need(far != INFINITY, "a width without end gains more than it costs")
                total -= over * far
        _need(kind == "dual" or total > 0, "a farkas leaf does not show what it should")
        least = INFINITY if kind == "farkas" else Fraction(math.ceil(Fraction(total, d * g)) * g)
    stated = None if least is None else "infeasible" if least == INFINITY else str(least)
    _need(value == stated, f"the bound is {stated}, not as stated")
    _need(least is None or least <= (INFINITY if not c.printed else c.objective), "the bound contradicts the ranges")
    _need(least != INFINITY or not c.printed, "the bound contradicts the ranges")
    return least


def _width_cuts(c: Certificate, attackers: list[Attacker], parts: list[Any]) -> tuple[list[Any], list[int]]:
    """Inequalities Σ coef·(below, above) ≥ least that the widths of safe ranges keep, cell i's columns being i and n + i (docs/certificate.md).

    For z = y − a of a table y that attacker k cannot rule out, M·z = 0, so ±d·z_p = Σ c_i·z_i with c = ±d·e_p + Mᵀμ, and z_i is at most what cell i's
    range reaches above and at least what it reaches below, or what the attacker takes for possible. Bridges: a range is of no use further than that.
    """
    rows: list[Any] = []
    rhs: list[int] = []
    for part in parts:
        entries = _entries(part, "cut", "attacker", "cell", "sense", "scale", "ways")
        k, p = _whole(entries[0], "attacker of cut", 0), _whole(entries[1], "cell of cut", 0)
        sense, d, ways = entries[2], _whole(entries[3], "scale of cut", 1), _of(list, entries[4], "ways of cut")
        there = k < len(attackers) and p < c.n and type(sense) is str and sense in WAYS
        _need(there and len(ways) == len(WAYS[sense]), "a cut names an attacker, cell or sense that is not there")
        bridge = sense in ("above", "below")
        _need(bridge or p in attackers[k].must, "a cut is of a level that nobody has to be kept from")
        least: Any = 0 if bridge else d * attackers[k].must[p][("down", "up", "slide").index(sense)]
        row: dict[int, int] = {}
        for sign, way in zip(WAYS[sense], ways, strict=True):
            equation, multiplier, known = _entries(way, "way of cut", "equation", "multiplier", "known")
            own = set(_indices(known, "known of cut", c.n))
            _need(not (bridge and own), "a bridge counts what an attacker knows")
            slope, _ = _combine(c, equation, multiplier)
            slope[p] = slope.get(p, 0) + sign * d
            c.pay(30 * len(slope) + 10 + len(own), listed=len(own))
            for i, x in slope.items():
                if x and c.ranging[i] and i in own:
                    low, high = attackers[k].own.get(i, (-INFINITY, INFINITY))
                    room = min(high, c.upper[i]) - c.a[i] if x > 0 else c.a[i] - max(low, c.lower[i])
                    least -= abs(x) * room
                elif x and c.ranging[i]:
                    column = i + c.n if x > 0 else i
                    row[column] = row.get(column, 0) + abs(x)
        if bridge:
            column = p + c.n if sense == "above" else p
            row[column] = row.get(column, 0) - d
        says = bridge or least > 0
        rows.append([(column, x) for column, x in row.items() if x] if says else [])
        rhs.append(least if says else 0)
    return rows, rhs


def _corners(c: Certificate, i: int, allowed: range, scale: int, slope: int) -> list[int]:
    """f(v) = scale·w·|v − t| − slope·v where it matters, v from what is left of S_i.

    f is linear up to t and from t on, so its least value lies at an end or next to t. If f is the same modulo g at the first two, the last two and
    the two next to t (t itself, if it is one of them), it is everywhere: it moves in equal steps on both sides, and what is next to t joins them.
    """
    t, step, w = c.target[i], allowed.step, scale * c.weight[i]
    below, above = c.gaps.get(i, (INFINITY, -INFINITY))
    if allowed and allowed[0] <= below < above <= allowed[-1]:  # on both sides of a gap: f is linear on each
        parts = range(allowed[0], int(below) + 1, step), range(int(above), allowed[-1] + 1, step)
        return [w * abs(v - t) - slope * v for part in parts for v in (*part[:2], part[-1])]
    some: Any = allowed
    if allowed[6:]:
        some = (*allowed[:2], t - (t - allowed.start) % step, t + (allowed.start - t) % step, *allowed[-2:])
    return [w * abs(v - t) - slope * v for v in some if v in allowed]


def _residue(c: Certificate, g: int, slope: dict[int, int], right: int) -> int:
    """What all tables cost modulo g: μ·b + Σ (w·|v − t| − (Mᵀμ)·v), each term the same for all of S_i (an empty S_i leaves no table)."""
    residue = right
    for i, allowed in enumerate(c.sets):
        first, *others = _corners(c, i, allowed, 1, slope.get(i, 0)) if allowed else [0]
        for other in others:
            if (other - first) % g:
                raise Refused(f"the unit does not divide what cell {i} can cost")
        residue += first
    return residue


def _gaps(c: Certificate, attackers: list[Attacker]) -> dict[int, tuple[float, float]]:
    """Where nothing is printed, an adjustment was to leave out values nearer than levels allow: those above the first and below the second."""
    gaps: dict[int, tuple[float, float]] = {}
    for attacker in attackers:
        for i, (lpl, upl, spl) in attacker.must.items():
            either = lpl == upl == 0
            below, above = gaps.get(i, (INFINITY, -INFINITY))
            low = c.a[i] - max(lpl, spl) if lpl or either else -INFINITY
            high = c.a[i] + max(upl, spl) if upl or either else INFINITY
            gaps[i] = (min(below, low), max(above, high))
    return gaps


def _off(c: Certificate, i: int, r: range) -> range:
    """What of a set is far enough off, between its ends."""
    if i not in c.gaps or not r:
        return r
    below, above = c.gaps[i]
    start, stop = r.start, r.stop
    if start > below:  # so it is not below the gap
        start = r.stop if above == INFINITY else start + max(0, -(-(int(above) - start) // r.step)) * r.step
    if r[-1] < above:
        stop = r.start if below == -INFINITY else min(stop, int(below) + 1)
    return range(start, stop, r.step)


def _least_cost(c: Certificate, nodes: list[Any]) -> Any:
    """The least L over the leaves of the search tree, its nodes in preorder."""
    least: Any = INFINITY
    sets = [_off(c, i, r) for i, r in enumerate(c.sets)] if c.gaps else c.sets
    waiting: list[dict[int, range]] = [{}]  # what the branchings leave of S_i, for each subtree still to come
    for node in nodes:
        _need(waiting, "the tree goes on behind its end")
        left = waiting.pop()
        if isinstance(node, dict) and "at" in node:
            cell, at = _entries(node, "a branching", "cell", "at")
            i, at = _whole(cell, "cell of a branching", 0), _of(int, at, "at of a branching")
            _need(i < c.n, "the tree branches on a cell that is not there")
            c.pay(20 * len(left), listed=2)
            r = left.get(i, sets[i])
            below = range(r.start, min(r.stop, at + 1), r.step)
            above = range(r.start + max((at - r.start) // r.step + 1, 0) * r.step, r.stop, r.step)
            waiting += {**left, i: _off(c, i, above)}, {**left, i: _off(c, i, below)}
        else:
            least = min(least, _leaf(c, node, [left.get(i, r) for i, r in enumerate(sets)]))
    _need(not waiting, "the tree ends before its last leaf")
    return least


def _leaf(c: Certificate, node: Any, sets: list[range]) -> Any:
    """L: every table there costs at least L; INFINITY: there is none."""
    kind, denominator, equation, multiplier = _entries(node, "leaf", "kind", "denominator", "equation", "multiplier")
    _need(kind in ("dual", "farkas", "modular")[: 2 if c.at_least else 3], "a leaf is of no known kind")
    d = _whole(denominator, f"denominator of a {kind} leaf", 2 if kind == "modular" else 1)
    slope, right = _combine(c, equation, multiplier)
    cells: Any = range(c.n) if kind == "dual" else slope
    c.pay(5 * c.n + 60 * len(cells))
    if not all(sets):
        return INFINITY
    if kind == "modular":
        same = all(slope[i] * sets[i].step % d == 0 for i in cells if sets[i][1:])
        rest = right - sum(slope[i] * sets[i][0] for i in cells)
        _need(same and rest % d != 0, "a modular leaf does not show what it should")
        return INFINITY
    scale = d if kind == "dual" else 0
    total = right + sum(min(_corners(c, i, sets[i], scale, slope.get(i, 0))) for i in cells)
    if kind == "dual":
        return Fraction(total, d)
    _need(total > 0, "a farkas leaf does not show what it should")
    return INFINITY


def compare_release(data: bytes, content: Any) -> str:
    """Check 9: release.csv is what the certificate says is printed: label columns, printed columns, a row for each cell, and nothing else."""
    c = Certificate(content)
    _need(c.printed, "nothing is published of this table")
    try:
        heading, *rows = csv.reader(io.StringIO(data.decode(), newline="\n"), strict=True)
    except (ValueError, csv.Error) as error:
        raise Refused(f"not readable ({error})") from None
    expected, k = list(c.labels), len(c.labels)
    words = (
        ["withheld" if number is None else "published" for number in c.columns[0]] if c.printed == "withheld" else []
    )
    for name in [*COLUMNS[c.printed], *(["status"] if c.printed == "withheld" else [])]:
        while name in c.labels:
            name = f"published {name}"
        expected.append(name)
    _need(heading == expected, f"its heading is not {', '.join(expected)}")
    for cell, row in enumerate(rows):
        where = f"row {cell + 2}"
        _need(cell < c.n, f"{where} is one too many for {c.n} cells")
        _need(len(row) == len(heading), f"{where} has {len(row)} fields, the heading {len(heading)}")
        for name, field, column in zip(heading[k:], row[k:], [*c.columns, *([words] if words else [])], strict=True):
            number = column[cell]
            if type(number) is str:
                _need(field == number, f"{where}, column {name} is not {number}")
            elif number is None:
                _need(field == "", f"{where}, column {name} prints what is not published by the certificate")
            else:
                same = NUMBER.fullmatch(field) and Fraction(field) * 10**c.decimals == number
                _need(same, f"{where}, column {name} is not the number of the certificate")
    _need(len(rows) == c.n, f"row {len(rows) + 2} is missing: there are {c.n} cells")
    right = _digest([row[:k] for row in rows]) == c.labels_digest
    _need(right, f"the labels in column {', '.join(c.labels)} are not those of the certificate in their order")
    _need(not k or len({tuple(row[:k]) for row in rows}) == c.n, "two rows have the same labels")
    return f"its labels and its {c.n} {c.printed} are those of the certificate"


def compare_statement(data: bytes, content: Any, digest: str | None) -> str:
    """Check 9: release.json names the method, the decimals, what is printed, and this certificate, and nothing else."""
    _need(content["printed"] is not None, "nothing is published of this table")
    expected = {"decimals": content["decimals"], "method": content["method"], "certificate": digest}
    expected["printed"] = content["printed"]["kind"]
    try:
        same = _canonical(json.loads(data.decode(), object_pairs_hook=_distinct)) == _canonical(expected)
    except (ValueError, RecursionError) as error:
        raise Refused(f"not readable ({error})") from None
    _need(same, "its method, decimals, printed or certificate are not those of the certificate, or it says more")
    return "it names this certificate, its method, its decimals and what is printed"


def _distinct(pairs: list[tuple[str, Any]]) -> dict[str, Any]:
    _need(len(dict(pairs)) == len(pairs), "it says something twice")
    return dict(pairs)


def compare_table(c: Certificate, content: Any, expected: dict[str, Any]) -> None:
    """Check 10: the certificate is of the table that you mean. What is expected stands in the table's own decimals, which may be fewer."""
    finer = c.decimals - expected.get("decimals", c.decimals)
    same = type(expected.get("decimals", 0)) is int and finer >= 0
    _need(same, "the certificate is of another table: its decimals differ")
    factor, repaired = 10**finer, content["method"].get("repair") in ("bounds", "both")
    for key in ("labels", "equations", "nominal", "lower", "upper", "levels", "attackers"):
        if key in expected:
            meant = _scaled(expected[key], factor, amount=key in SCALED)
            same = _canonical(content[key]) == _canonical(meant)
            if repaired and key in ("lower", "upper"):  # bounds may be wider than the table's
                side = -1 if key == "lower" else 1
                own = zip(getattr(c, key), _bounds(meant, key, c.n, side * INFINITY), strict=True)
                same = all(side * told >= side * bound for told, bound in own)
            _need(same, f"the certificate is of another table: its {key} differs")
    if "fixed" in expected:
        _compare_fixed(c, expected["fixed"])
    if "weights" in expected:
        right = any(_weighs(c, content, one, factor) for one in expected["weights"])
        _need(right, "the certificate is of another table: its weight differs; say with which weights it was protected")
    if "sums" in expected:
        there = c.sums is not None or not c.printed or c.protection == "ignored"
        right = c.sums is None if expected["sums"] is None else there
        _need(right, "the certificate is of another table: whether sums of cells are at risk differs")


SCALED = ("nominal", "lower", "upper", "rhs", "lpl", "upl", "spl")  # amounts of a table: in its decimals


def _scaled(value: Any, factor: int, *, amount: bool = False) -> Any:
    """The same in a unit so many times finer."""
    if isinstance(value, dict):
        return {key: _scaled(part, factor, amount=key in SCALED) for key, part in value.items()}
    if isinstance(value, list):
        return [_scaled(part, factor, amount=amount) for part in value]
    return value * factor if amount and type(value) is int and value < 2**60 else value


def _compare_fixed(c: Certificate, fixed: list[int]) -> None:
    """The cells that are published as they are, are those that the table says may be."""
    if c.rule in ("rounded", "perturbed"):
        as_it_is = [i for i, amount in enumerate(c.amount) if amount == 0]
        _need(as_it_is == fixed, "the certificate is of another table: the cells published as they are differ")
    if c.printed == "withheld":
        _need(all(c.columns[0][i] is not None for i in fixed), "a cell that the table says is fixed was withheld")
    if c.printed == "ranges" and c.ranging is not None:
        _need(not any(c.ranging[i] for i in fixed), "a cell that the table says is fixed was free to be a range")
    if c.v is not None:
        _need(all(c.v[i] == c.a[i] for i in fixed), "a cell that the table says is fixed was moved")


def _weighs(c: Certificate, content: Any, weights: dict[str, Any], factor: int) -> bool:
    """Whether these weights of the table are those of the certificate, as the method makes them count."""
    if _canonical(weights["weight_decimals"]) != _canonical(content["weight_decimals"]):
        return False
    column = _column(weights["weight"], "weight of the table", c.n)
    if c.sets is None:
        return column == c.weight
    between = RULES.get(c.method.get("name")) == "perturbed" and c.method.get("objective") == "between"
    finer = factor if between else 1
    return all(w * times == own * finer for w, (_, times), own in zip(column, _aim(c), c.weight, strict=True))


def compare_sums(content: Any, of_sums: Any, expected: dict[str, Any] | None = None) -> None:
    """Check 11: the certificate of sums is the one meant, of the same cells, told the same to the same attackers, and keeps every sum."""
    c, s = Certificate(content), Certificate(of_sums)
    _need(_digest(of_sums) == c.sums, "it is not the one whose digest the certificate names")
    verdict = check(of_sums, expected=expected)
    _need(verdict.protected, "it does not show that they are protected")
    n, m = c.n, len(c.rows)
    first = (s.decimals, s.a[:n], s.lower[:n], s.upper[:n], s.rows[:m], s.rhs[:m])
    same = first == (c.decimals, c.a, c.lower, c.upper, c.rows, c.rhs)
    _need(same and content["salt"] == of_sums["salt"], "it is of another table or release")
    for k, row in enumerate(s.rows[m:]):
        added = [(i, 1) for i, _ in row if i < n]
        _need(added and row == [*added, (n + k, -1)] and s.rhs[m + k] == 0, f"its sum {k} is none of cells")
    free = ([-INFINITY] * (s.n - n), [INFINITY] * (s.n - n))
    _need(s.n - n == len(s.rows) - m and (s.lower[n:], s.upper[n:]) == free, "its sums are not those of its equations")
    told_first, told_second = check_box(c), check_box(s)
    if c.rule == "adjusted" and c.amount is None:  # no intervals: what is printed adds up to values of the sums
        right = s.rule == "adjusted" and s.amount is None and c.v is not None and s.v is not None and s.v[:n] == c.v
    else:
        right = s.rule == "interval" and told_second == tuple(map(list.__add__, told_first, free))
    _need(right, "it takes another release to be told")
    _need(
        list(_levels(s, s.levels)) == list(range(n, s.n)), "its levels are not those of every sum and of nothing else"
    )
    strict = c.rule == "rounded" and c.kind == "strict"
    asked = [{**one, "whole": one["whole"] or strict} for one in content["attackers"] if one["levels"] is None]
    _need([one for one in s.attackers if one["levels"] is None] == asked, "its attackers are others")


def main(arguments: list[str], expected: dict[str, Any] | None = None) -> int:
    """Check the files named; 0 when all hold, 1 when one does not, 2 when none is named or one is missing."""
    public = [path for path in arguments if path.lower().endswith((".csv", ".json"))]
    certificates = [path for path in arguments if path not in public]
    if not certificates or (public and len(certificates) > 1):
        print("usage: verify.py CERTIFICATE ... or verify.py CERTIFICATE [RELEASE.csv] [RELEASE.json]", file=sys.stderr)
        return 2
    worst, content, digest = 0, None, None
    for path in certificates + public:
        try:
            if path in certificates:
                verdict, content = check_file(path, expected)
                digest, words = verdict.digest, verdict.reason
            else:
                data = _read(path)
                _need(content, "its certificate does not hold")
                table = path.lower().endswith(".csv")
                words = compare_release(data, content) if table else compare_statement(data, content, digest)
            print(f"{path}: holds: {words}")
        except Unreadable as refusal:
            worst = 2
            print(f"{path}: {refusal}; check the name", file=sys.stderr)
        except Refused as refusal:
            worst = max(worst, 1)
            print(f"{path}: DOES NOT HOLD: {refusal}")
    return worst


if __name__ == "__main__":
    sys.exit(main(sys.argv[1:]))
