"""The claims of a certificate that are false by looking at them: what docs/certificate.md says of equations, bounds, methods and boxes."""

from __future__ import annotations

import re
from collections.abc import Sequence
from dataclasses import dataclass
from fractions import Fraction

import certificate_widths
from certificate_cuts import misplaced
from certificate_form import Bound, Reading
from public_files import canonical


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
            base, s = k["base"][i], k["steps"][i]
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
    if r.small == "only":
        below = 0 if v == 0 else 1 if v % base == 0 else base
        return max(low, below), min(high, base - 1) if v == 0 else high
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
    a, base, s = r.a[i], r.knowledge["base"][i], r.knowledge["steps"][i]
    if base == 0:
        return a, a, 1
    step = r.step[i]
    low, high = -(-(a - s * base + 1) // step) * step, (a + s * base - 1) // step * step
    if r.small == "only":
        if a == 0:
            return 0, 0, step
        return (max(0, low), high, step) if a < base else (max(low, base), high, step)
    bound = r.lower[i]
    if r.small and bound is not None and bound >= 0 and 0 < a < base:
        return (0, 0, step) if r.small == "zero" else (max(low, step), high, step)
    return low, high, step


def misperturbed(r: Reading) -> bool:
    """Check 2: whether the allowed sets are not those of a cell perturbation."""
    for i, (a, q, own) in enumerate(zip(r.a, r.knowledge["amount"], r.sets, strict=True)):
        least, most = r.lower[i], r.upper[i]
        if r.knowledge["form"] == "distance":
            low, high, least = (
                a - q,
                a + q,
                None if least is None else min(least, 0),
            )  # a count of at least 1 may become 0
        else:
            low, high = (a // q * q, -(-a // q) * q) if q else (a, a)
        low, high = low if least is None else max(low, least), high if most is None else min(high, most)
        runs = own.count == 1 or (own.count > 1 and own.step == 1)
        if r.knowledge["form"] == "base" and q and low > 0:
            low = low // q * q  # of a positive bound the multiple below
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


def regions(r: Reading, printed: list[Bound] | None = None) -> list[Region]:
    """Of what is printed, or of another pattern of values."""
    lo, hi, by_box = box(r) if printed is None else (printed, printed, False)
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
    if wrong := misstated(r) or (misplaced(r) if r.rule == "suppressed" else None):
        return wrong
    if r.ranges and (wrong := certificate_widths.misplaced(r)):
        return wrong
    rounding = r.method["name"] == "controlled rounding"
    if rounding:
        k = r.knowledge
        if r.rule != "rounded" or canonical(r.method.get("steps")) != canonical(r.stated["steps"]):
            return "the rounding is not as its knowledge says"
        if r.small == "only":
            counts = all(
                bound is not None and bound >= 0 for bound, base in zip(r.lower, k["base"], strict=True) if base
            )
            if k["kind"] != "strict" or not counts:
                return "small counts are not rounded alone like this"
        only = k["kind"] == "strict" and type(r.method.get("only")) is str and r.method["only"] != ""
        follow = [a >= base if r.small == "only" else only for a, base in zip(r.a, k["base"], strict=True)]
        cells = zip(r.step, k["base"], follow, strict=True)
        if any(step != base and not (follows and step == 1 < base) for step, base, follows in cells):
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
    if r.pattern and any((v is None) not in own for v, own in zip(r.printed[0], r.sets, strict=True)):
        return "a cell is withheld, or printed, that was not free to be"
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
