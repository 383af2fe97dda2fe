"""What a published value tells an outsider of the true one: bounds, by the words of docs/guide.md, docs/certificate.md and the methods' model.md.

Legend: v published, y a true value that could have become v, b base, s steps, t distance, g the unit of the last decimal.
"""

from __future__ import annotations

from collections.abc import Collection, Mapping, Sequence
from dataclasses import dataclass
from fractions import Fraction
from typing import Any

from outsider_equations import Codes

Bounds = tuple[Fraction | None, Fraction | None]
ROUNDING, PERTURBATION, ADJUSTMENT = "controlled rounding", "cell perturbation", "controlled tabular adjustment"
SUPPRESSION = "cell suppression"


@dataclass(frozen=True)
class Told:
    """Bounds of every cell, and whether true values are known to be whole (in units of the last decimal)."""

    bounds: Mapping[Codes, Bounds]
    whole: bool


def told(
    values: Mapping[Codes, Any],
    method: Mapping[str, Any],
    decimals: int,
    *,
    fixed: Collection[Codes],
    multiples: Collection[Codes] | None,
    public: Mapping[Codes, Bounds],
) -> Told | None:
    """What the values tell; None where nothing bounds the distance of true and published values (an adjustment).

    ``fixed``: cells announced as published as they are. ``multiples``: under the paper's reading the cells whose true value is a multiple, which it
    takes to be public; None is the strict reading, which uses nothing but the release. ``public``: what was known before.
    """
    name, unit = method["name"], Fraction(1, 10**decimals)
    if name == ADJUSTMENT:
        return None
    if name == SUPPRESSION:
        return Told({codes: (v, v) for codes, v in values.items()}, whole=False)
    form = "within" if "within" in method else "base"
    amounts, steps = _amounts(method[form], list(values)), _amounts(method.get("steps", 1), list(values))
    out: dict[Codes, Bounds] = {}
    for codes, v in values.items():
        amount = amounts[codes]
        if codes in fixed:
            out[codes] = (v, v)
        elif name == ROUNDING:
            out[codes] = _rounded(v, amount, steps[codes], method, unit, codes, multiples, public[codes])
        elif form == "within":
            width = amount if multiples is None else 2 * amount
            out[codes] = (v - width, v + width)
        elif multiples is not None:
            width = Fraction(0) if codes in multiples else amount
            out[codes] = (v - width, v + width)
        else:
            down = v // amount * amount
            out[codes] = (v - amount, v + amount) if down == v else (down, down + amount)
    return Told(out, whole=name == ROUNDING and multiples is None)


def _rounded(
    v: Fraction,
    base: Fraction,
    steps: Fraction,
    method: Mapping[str, Any],
    unit: Fraction,
    codes: Codes,
    multiples: Collection[Codes] | None,
    before: Bounds,
) -> Bounds:
    width = steps * base if multiples is not None else steps * base - unit
    if multiples is not None and steps == 1 and codes in multiples:
        width = Fraction(0)
    low, high = v - width, v + width
    small = method.get("small_counts")
    counts = before[0] is not None and before[0] >= 0
    if small and counts:
        could_be_zero = before[0] <= 0 and v < steps * base  # type: ignore[operator]
        small_could = (v > 0) == (small == "up")
        large_could = v + steps * base > base and (before[1] is None or before[1] >= base)
        if not could_be_zero:
            low = max(low, unit if small_could else base)
        if not small_could and not large_could:
            high = min(high, Fraction(0))
    return low, high


def _amounts(given: Any, cells: Sequence[Codes]) -> dict[Codes, Fraction]:
    if isinstance(given, list):
        return dict(zip(cells, map(Fraction, given), strict=True))
    if isinstance(given, Mapping):
        raise TypeError("one a level of sums is stated one a cell")
    return dict.fromkeys(cells, Fraction(given))


def known_before(
    cells: Collection[Codes], lower: Fraction | None, upper: Fraction | None, *, rows_tell: bool, unit: Fraction
) -> dict[Codes, Bounds]:
    """What is public before anything is published; ``rows_tell``: counts whose rows exist only where there is a record, so 1 or more."""
    low = lower if not rows_tell else max(lower or Fraction(0), unit)
    return dict.fromkeys(cells, (low, upper))


def within(first: Bounds, second: Bounds) -> Bounds:
    """Both at once."""
    low = second[0] if first[0] is None else first[0] if second[0] is None else max(first[0], second[0])
    high = second[1] if first[1] is None else first[1] if second[1] is None else min(first[1], second[1])
    return low, high
