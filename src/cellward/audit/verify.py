"""Verify: an exact check of a certificate, in the standard library alone; copy this file out and run it by itself.

    python verify.py certificate.json.gz

A certificate states a table's structure (equations M·a = b), its nominal values a, the values v to be published, and the
set each of them was allowed to lie in (lo, lo + step, …, hi), all as whole numbers in units of 10^−decimals. Checked,
without trusting whoever wrote it: the nominal values satisfy every equation, so do the published ones, every published
value is allowed and, for a rounding, a neighbouring multiple of its base, and the objective Σ w·|v − a| is the one stated.
Not checked: what a solver claims (that no smaller objective exists; it stands under "claims"), and that the table in the
certificate is the one you mean.
"""

from __future__ import annotations

import gzip
import json
import os
import sys
import zlib
from itertools import islice
from operator import mul
from typing import Any

FORMAT = "cellward certificate"
VERSION = 1
MOST_BYTES = 1 << 29
MOST_ENTRIES = 1 << 27
MOST_DIGITS = 40
KEYS = {
    "format", "version", "method", "decimals", "weight_decimals", "equations", "nominal", "published", "allowed", "weight",
    "objective", "claims",
}  # fmt: skip


class Refused(Exception):  # noqa: N818 (it reads as what happened)
    """The certificate does not hold; the message says why in one sentence."""


class Unreadable(Refused):
    """There is no certificate to check."""


class Verdict:
    """What the check found: truthy when the certificate holds; ``reason`` says in a sentence what holds or what fails."""

    def __init__(self, holds: bool, reason: str) -> None:  # noqa: FBT001
        self.holds = holds
        self.reason = reason

    def __bool__(self) -> bool:
        return self.holds

    def __repr__(self) -> str:
        return f"Verdict({'holds' if self.holds else 'does not hold'}: {self.reason})"


def verify(path: Any) -> Verdict:
    """Check a certificate file; never raises for a bad one."""
    try:
        return Verdict(True, check(load(path)))
    except Refused as refusal:
        return Verdict(False, str(refusal))


def load(path: Any) -> dict[str, Any]:
    """Read a certificate file strictly: gzip, JSON, whole numbers only, no key twice."""
    try:
        if os.path.exists(path) and not os.path.isfile(path):  # noqa: PTH110, PTH113 (a pipe would keep us waiting)
            raise Refused("not a file")
        with open(path, "rb") as raw, gzip.GzipFile(fileobj=raw) as packed:  # noqa: PTH123 (a path may be anything open takes)
            data = packed.read(MOST_BYTES + 1)
    except FileNotFoundError:
        raise Unreadable("there is no such file") from None
    except (OSError, EOFError, zlib.error, ValueError, TypeError) as error:
        raise Refused(f"not a readable gzip file, or cut off ({error})") from None
    if len(data) > MOST_BYTES:
        raise Refused(f"unpacks to more than {MOST_BYTES} bytes")
    try:
        found = json.loads(
            data, object_pairs_hook=_no_key_twice, parse_int=_whole, parse_float=_no_float, parse_constant=_no_float
        )
    except (ValueError, RecursionError, MemoryError) as error:
        raise Refused(f"not the JSON of a certificate ({error})") from None
    if not isinstance(found, dict):
        raise Refused("not the JSON of a certificate (no object at the top)")
    return found


def _no_key_twice(pairs: list[tuple[str, Any]]) -> dict[str, Any]:
    found = dict(pairs)
    if len(found) < len(pairs):
        raise ValueError("a key occurs twice")
    return found


def _whole(text: str) -> int:
    if len(text) > MOST_DIGITS:
        raise ValueError(f"a number of {len(text)} digits")
    return int(text)


def _no_float(text: str) -> Any:
    raise ValueError(f"{text} is not a whole number")


def check(certificate: dict[str, Any]) -> str:
    """Check a loaded certificate; returns a sentence on what was shown, or raises Refused with one on what fails."""
    if (
        not isinstance(certificate, dict)
        or certificate.get("format") != FORMAT
        or _number(certificate.get("version"), "version") != VERSION
    ):
        raise Refused(f"not a {FORMAT} of version {VERSION}")
    if set(certificate) != KEYS:
        raise Refused(f"the entries differ from those of a certificate: {sorted(map(str, set(certificate) ^ KEYS))}")
    for key in ("decimals", "weight_decimals", "objective"):
        _number(certificate[key], key, least=0)
    nominal = _column(certificate, "nominal", None)
    n = len(nominal)
    published = _column(certificate, "published", n)
    weight = _column(certificate, "weight", n)
    if min(weight, default=0) < 0:
        raise Refused("a weight is negative")
    equations = _equations(certificate["equations"], n)
    _check_sums(equations, nominal, "nominal")
    _check_sums(equations, published, "published")
    _check_allowed(certificate["allowed"], published)
    _check_method(certificate["method"], certificate["allowed"], nominal, published)
    objective = sum(w * abs(v - a) for w, v, a in zip(weight, published, nominal, strict=True))
    if objective != certificate["objective"]:
        raise Refused(f"the objective is {objective}, not {certificate['objective']} as stated")
    return f"{n} published values satisfy {len(equations[0])} equations and lie in their allowed sets; objective {objective} as stated"


def _number(value: Any, name: str, least: int | None = None) -> int:
    if type(value) is not int or (least is not None and value < least):
        raise Refused(f"{name} is not a whole number{'' if least is None else f' of at least {least}'}")
    return value


def _column(holder: dict[str, Any], name: str, length: int | None) -> list[int]:
    """A list of whole numbers; where the length is known, one number stands for a list of it."""
    value = holder.get(name)
    if type(value) is int and length is not None:
        return [value] * length
    if (
        not isinstance(value, list)
        or (length is not None and len(value) != length)
        or not set(map(type, value)) <= {int}
    ):
        raise Refused(f"{name} is not a list of {'' if length is None else f'{length} '}whole numbers")
    return value


def _equations(value: Any, n: int) -> tuple[list[int], list[int], list[int], list[int]]:
    """(lengths, right-hand sides, cells, coefficients), the last two run through all equations one after the other."""
    if not isinstance(value, dict) or set(value) != {"length", "rhs", "cell", "coef"}:
        raise Refused("the equations are not given by length, rhs, cell and coef")
    length = _column(value, "length", None)
    if min(length, default=0) < 0:
        raise Refused("an equation has a negative length")
    entries = sum(length)
    if entries > MOST_ENTRIES:
        raise Refused(f"the equations hold {entries} entries, more than {MOST_ENTRIES}")
    rhs = _column(value, "rhs", len(length))
    cell = _column(value, "cell", entries)
    coef = _column(value, "coef", entries)
    if cell and not 0 <= min(cell) <= max(cell) < n:
        raise Refused(f"an equation names a cell outside 0 to {n - 1}")
    return length, rhs, cell, coef


def _check_sums(equations: tuple[list[int], list[int], list[int], list[int]], values: list[int], which: str) -> None:
    length, rhs, cell, coef = equations
    terms = map(mul, coef, map(values.__getitem__, cell))
    for j, (size, right) in enumerate(zip(length, rhs, strict=True)):
        left = sum(islice(terms, size))
        if left != right:
            raise Refused(f"the {which} values miss equation {j}: they sum to {left}, not {right}")


def _check_allowed(value: Any, published: list[int]) -> None:
    if not isinstance(value, dict) or set(value) != {"lo", "hi", "step"}:
        raise Refused("the allowed set is not given by lo, hi and step")
    lo, hi, step = (_column(value, key, len(published)) for key in ("lo", "hi", "step"))
    for i, (v, least, most, by) in enumerate(zip(published, lo, hi, step, strict=True)):
        if not least <= v <= most or (by < 1 and v != least) or (by > 0 and (v - least) % by):
            raise Refused(
                f"the published value {v} of cell {i} is not allowed there: {least} to {most} in steps of {by}"
            )


def _check_method(method: Any, allowed: dict[str, Any], nominal: list[int], published: list[int]) -> None:
    """What a method promises beyond its allowed set: a rounding keeps fixed cells and moves the others to a multiple less than one base away."""
    if not isinstance(method, dict):
        raise Refused("the method is not described")
    if method.get("name") != "controlled rounding":
        return
    for i, (v, a, base) in enumerate(zip(published, nominal, _column(allowed, "step", len(nominal)), strict=True)):
        if v != a if base < 1 else v % base or abs(v - a) >= base:
            raise Refused(
                f"the published value {v} of cell {i} is not {a} rounded to a neighbouring multiple of {base}"
            )


def main(arguments: list[str]) -> int:
    """Check the files named; 0 when all hold, 1 when one does not, 2 when none is named or one is missing."""
    if not arguments:
        print("usage: verify.py CERTIFICATE ...", file=sys.stderr)
        return 2
    worst = 0
    for path in arguments:
        try:
            print(f"{path}: holds: {check(load(path))}")
        except Unreadable as refusal:
            print(f"{path}: {refusal}; check the name", file=sys.stderr)
            worst = 2
        except Refused as refusal:
            print(f"{path}: DOES NOT HOLD: {refusal}")
            worst = max(worst, 1)
    return worst


if __name__ == "__main__":
    sys.exit(main(sys.argv[1:]))
