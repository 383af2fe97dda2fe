"""Decimals in and out: one strict number grammar, and the scaling of whole columns to exact integers.

A number is a mantissa m and a count of decimals d, worth m·10^−d. A table keeps the integers a·10^d of all its cells with one common d: sums are
then exact, and so is every comparison. Integers stay within ±2^53, so that a solver working in doubles receives them unharmed.
"""

from __future__ import annotations

import math
import re
from collections.abc import Callable, Iterable, Sequence
from dataclasses import dataclass
from decimal import Decimal
from fractions import Fraction
from typing import Any, Literal

import numpy as np
from numpy.typing import NDArray

from cellward.errors import InputError

MAX_DIGITS = 30
MAX_EXPONENT = 15
LARGEST = 2**53
NOISE = 1e-9
"""What moves a number by less than this share of itself is float noise."""
NO_BOUND = 2**63 - 1
"""Stands for +∞ among upper bounds; −NO_BOUND for −∞ among lower bounds."""

_GRAMMAR = re.compile(r"([+-]?)([0-9]*)(?:\.([0-9]*))?(?:[eE]([+-]?[0-9]{1,9}))?", re.ASCII)

Ints = NDArray[np.int64]
Floats = NDArray[np.float64]
Bools = NDArray[np.bool_]
Where = Callable[[int], str]
Rounding = Literal["nearest", "up", "down"]


def parse(text: str, where: str = "number") -> tuple[int, int]:
    """Read one number; returns (mantissa, decimals).

    >>> parse("12.50"), parse("-3e2"), parse("1.5e-3")
    ((1250, 2), (-300, 0), (15, 4))
    >>> parse("1_000", where="data.csv line 3, column value")
    Traceback (most recent call last):
    ...
    cellward.errors.InputError: data.csv line 3, column value: '1_000' is not a number; write digits with a point for decimals, such as 1234.5
    """
    found = _GRAMMAR.fullmatch(text) if is_number(text) else None
    if found is None:
        shown = text if len(text) <= 40 else text[:37] + "..."
        remedy = (
            "fill in a value or leave the cell out"
            if not text.strip()
            else "write digits with a point for decimals, such as 1234.5"
        )
        raise InputError(f"{where}: {shown!r} is not a number; {remedy}")
    sign, whole, fraction, exponent = found[1], found[2], found[3] or "", int(found[4] or 0)
    digits = whole + fraction
    if (size := len(whole.lstrip("0")) + len(fraction)) > MAX_DIGITS:
        raise InputError(f"{where}: a number of {size} digits; at most {MAX_DIGITS} are read: round it first")
    if abs(exponent) > MAX_EXPONENT:
        raise InputError(f"{where}: the exponent {exponent} is outside ±{MAX_EXPONENT}; choose another unit")
    mantissa, decimals = int(sign + (digits.lstrip("0") or "0")), len(fraction) - exponent
    if decimals < 0:
        mantissa, decimals = mantissa * 10**-decimals, 0
    return mantissa, decimals


def is_number(entry: str) -> bool:
    """Whether a text follows the grammar."""
    found = _GRAMMAR.fullmatch(entry)
    return found is not None and bool(found[2] or found[3])


def _read(value: object, where: str) -> tuple[int, int]:
    """Read one Python value of any numeric type; floats by their shortest repr."""
    if isinstance(value, bool | np.bool_):
        raise InputError(f"{where}: {value} is a truth value, not a number; use 1 and 0 if that is meant")
    if isinstance(value, int | np.integer):
        if abs(int(value)) >= 10**MAX_DIGITS:
            raise InputError(f"{where}: an integer of more than {MAX_DIGITS} digits; choose another unit")
        return int(value), 0
    if isinstance(value, float | np.floating):
        if not math.isfinite(value):
            raise InputError(f"{where}: {float(value)} is not a number; fill in a value or leave the cell out")
        return parse(repr(float(value)) if isinstance(value, float) else str(value), where)
    if isinstance(value, Decimal):
        return parse(str(value), where)
    if isinstance(value, str):
        return parse(value, where)
    if value is None:
        raise InputError(f"{where}: no value; fill one in or leave the cell out")
    raise InputError(f"{where}: {type(value).__name__} is not a number; give int, float, Decimal or text")


def _plain(mantissa: int, decimals: int) -> tuple[int, int]:
    """Drop trailing zeros, so that 12.50 needs one decimal and 3.0 none."""
    while decimals and mantissa % 10 == 0:
        mantissa, decimals = mantissa // 10, decimals - 1
    return mantissa, decimals


@dataclass(frozen=True, eq=False)
class Numbers:
    """A column of exact numbers: mantissas (Python integers or int64) and the decimals of each."""

    mantissa: Ints | list[int]
    places: NDArray[np.int16]
    where: Where

    @staticmethod
    def read(values: Iterable[object] | NDArray[Any], where: Where | None = None) -> Numbers:
        """Read a column: a numpy array, or any iterable of numbers or texts.

        >>> Numbers.read(["1.25", "3"]).scaled().tolist()
        [125, 300]
        >>> Numbers.read([0.1, 0.2]).decimals
        1
        """
        where = where or (lambda i: f"value {i}")
        if isinstance(values, np.ndarray):
            if values.ndim != 1:
                raise InputError(
                    f"a column of numbers must have one dimension, not {values.ndim}; use Table.from_array"
                )
            if values.dtype.kind == "i" or (values.dtype.kind == "u" and values.dtype.itemsize < 8):
                whole = values.astype(np.int64)
                if not len(whole) or abs(int(whole.min())) <= LARGEST >= abs(int(whole.max())):
                    return Numbers(whole, np.zeros(len(whole), np.int16), where)
            if values.dtype == np.float64:
                return _read_floats(values, where)
        pairs = [_plain(*_read(value, where(i))) for i, value in enumerate(values)]
        return Numbers([m for m, _ in pairs], np.array([d for _, d in pairs], np.int16), where)

    @property
    def decimals(self) -> int:
        """Decimals that every number of the column can be written with."""
        return int(self.places.max(initial=0))

    def scaled(self, decimals: int | None = None, rounding: Rounding = "nearest") -> Ints:
        """The integers value·10^decimals; numbers with more decimals are rounded (nearest: ties to even)."""
        target = self.decimals if decimals is None else decimals
        if isinstance(self.mantissa, np.ndarray):
            if target == 0:
                return self.mantissa
            if 10**target <= LARGEST and int(np.abs(self.mantissa).max(initial=0)) * 10**target <= LARGEST:
                return self.mantissa * np.int64(10**target)
        if (i := self.too_fine(target, rounding)) is not None:
            fitting = [d for d in range(target) if self.too_fine(d, rounding) is None]
            noisy = target <= self.decimals  # more decimals than the numbers have can only have been asked for
            plain = next((d for d in fitting if noisy and self.moved(d) <= NOISE), None)
            raise self.refuse_too_fine(i, target, max(fitting, default=None) if plain is None else plain)
        mantissas = self.mantissa.tolist() if isinstance(self.mantissa, np.ndarray) else self.mantissa
        return np.array(
            [rescale(m, d, target, rounding) for m, d in zip(mantissas, self.places.tolist(), strict=True)], np.int64
        )

    def moved(self, decimals: int) -> float:
        """The largest share of itself by which a number moves when rounded to so many decimals."""
        if isinstance(self.mantissa, np.ndarray):
            return 0.0
        share = 0.0
        for m, d in zip(self.mantissa, self.places.tolist(), strict=True):
            if m and d > decimals:
                share = max(share, abs(rescale(m, d, decimals) * 10 ** (d - decimals) - m) / abs(m))
        return share

    def too_fine(self, decimals: int, rounding: Rounding = "nearest") -> int | None:
        """The first number that exceeds 2^53 when counted in 10^−decimals, or None when all fit."""
        if isinstance(self.mantissa, np.ndarray):
            largest = int(np.abs(self.mantissa).argmax()) if len(self.mantissa) else 0
            over = bool(len(self.mantissa)) and abs(int(self.mantissa[largest])) * 10**decimals > LARGEST
            return largest if over else None
        for i, (m, d) in enumerate(zip(self.mantissa, self.places.tolist(), strict=True)):
            if abs(rescale(m, d, decimals, rounding)) > LARGEST:
                return i
        return None

    def refuse_too_fine(self, i: int, decimals: int, proposed: int | None) -> InputError:
        """The sentence for a number that does not fit, with the decimals to use instead."""
        value = text(int(self.mantissa[i]), int(self.places[i]))
        remedy = "choose a larger unit (thousands, millions)" if proposed is None else f"use decimals={proposed}"
        return InputError(
            f"{self.where(i)}: {value} counted with {decimals} decimals is beyond 2^53 = {LARGEST}, where doubles stop being exact; {remedy}"
        )


def _read_floats(x: NDArray[np.float64], where: Where) -> Numbers:
    """Shortest-repr reading of doubles, most of them without making text.

    k/10^d with k < 2^51 and d ≤ 15 divides two exact doubles, so the quotient is the double nearest to that decimal; and as 10^−d then exceeds the
    spacing of doubles around x, no other decimal with d places shares it: x is printed with d places exactly when x == k/10^d.
    """
    finite = np.isfinite(x)
    if not finite.all():
        i = int(np.flatnonzero(~finite)[0])
        raise InputError(f"{where(i)}: {x[i]} is not a number; fill in a value or leave the cell out")
    mantissa = np.zeros(len(x), np.int64)
    places = np.zeros(len(x), np.int16)
    open_ = np.arange(len(x))
    for d in range(16):
        with np.errstate(over="ignore"):  # what is too large for 10^d places is left to the text
            k = np.rint(x[open_] * 10.0**d)
        hit = (np.abs(k) < 2.0**51) & (k / 10.0**d == x[open_])
        mantissa[open_[hit]] = k[hit].astype(np.int64)
        places[open_[hit]] = d
        open_ = open_[~hit]
        if not len(open_):
            return _common(mantissa, places, where)
    exact = mantissa.tolist()
    for i in open_.tolist():
        exact[i], places[i] = _plain(*parse(repr(float(x[i])), where(i)))
    return Numbers(exact, places, where)


def _common(mantissa: Ints, places: NDArray[np.int16], where: Where) -> Numbers:
    return Numbers(mantissa if not places.any() else mantissa.tolist(), places, where)


def rescale(mantissa: int, places: int, target: int, rounding: Rounding = "nearest") -> int:
    """m·10^−places as an integer count of 10^−target.

    >>> rescale(125, 2, 1), rescale(125, 2, 1, "up"), rescale(-125, 2, 1, "down"), rescale(3, 0, 2)
    (12, 13, -13, 300)
    """
    if places <= target:
        return int(mantissa * 10 ** (target - places))
    unit: int = 10 ** (places - target)
    floor, rest = divmod(mantissa, unit)
    if rounding == "up":
        return floor + (rest > 0)
    if rounding == "down":
        return floor
    return floor + (2 * rest > unit or (2 * rest == unit and floor % 2 == 1))


def scale_one(value: object, decimals: int, where: str, rounding: Rounding = "nearest", *, strict: bool = False) -> int:
    """One number as an integer count of 10^−decimals; with ``strict``, a number finer than that is refused.

    >>> scale_one("2.5", 1, "base")
    25
    """
    mantissa, places = _plain(*_read(value, where))
    if strict and places > decimals:
        raise InputError(
            f"{where}: {text(mantissa, places)} is finer than the table's {decimals} decimals; give a multiple of "
            f"{text(1, decimals)}, or build the table with decimals={places}"
        )
    return rescale(mantissa, places, decimals, rounding)


def freeze(*arrays: Ints | Bools | None) -> None:
    """Make arrays read-only: what was checked must stay what it was."""
    for array in arrays:
        if array is not None:
            array.setflags(write=False)


def one_number(column: Ints) -> Ints | np.int64:
    """The number that a column holds everywhere, or the column: numpy divides by a number many times faster than by a column."""
    return column[0] if len(column) and (column == column[0]).all() else column


def finer(bounds: Ints, factor: int) -> Ints:
    """Bounds counted in a unit ``factor`` times finer; none, or one that would leave int64, becomes none."""
    inside = np.abs(bounds) < NO_BOUND // factor
    return np.where(inside, bounds * np.where(inside, factor, 1), np.sign(bounds) * NO_BOUND)


def refuse_overflow(scaled: Ints) -> None:
    """Refuse numbers whose sums could leave int64; sums beyond 2^53 are refused by the table they end up in."""
    if float(np.abs(scaled.astype(float)).sum()) >= 2**62:
        raise InputError(
            "the totals would be beyond 2^53, where doubles stop being exact; choose a larger unit or fewer decimals"
        )


def check_decimals(decimals: int | None) -> int | None:
    """Validate a ``decimals`` option."""
    if decimals is None:
        return None
    whole = isinstance(decimals, int | np.integer) and not isinstance(decimals, bool)
    if not whole or not 0 <= decimals <= MAX_DIGITS:
        raise InputError(f"decimals={decimals!r}: give a whole number from 0 to {MAX_DIGITS}")
    return int(decimals)


def text(scaled: int, decimals: int) -> str:
    """The exact decimal text of scaled·10^−decimals, with that many decimals.

    >>> text(1250, 2), text(-5, 1), text(7, 0)
    ('12.50', '-0.5', '7')
    """
    if not decimals:
        return str(scaled)
    digits = str(abs(scaled)).rjust(decimals + 1, "0")
    return f"{'-' if scaled < 0 else ''}{digits[:-decimals]}.{digits[-decimals:]}"


def short(scaled: int, decimals: int) -> str:
    """Like :func:`text` without trailing zeros, for sentences."""
    return text(*_plain(scaled, decimals))


def texts(scaled: Ints, decimals: int) -> list[str]:
    """:func:`text` of a whole column."""
    values: Sequence[int] = scaled.tolist()
    return [str(v) for v in values] if not decimals else [text(v, decimals) for v in values]


def units(scaled: Ints, decimals: int) -> NDArray[np.int64] | NDArray[np.float64]:
    """The user's units: int64 without decimals, float64 (correctly rounded) with them."""
    if not decimals:
        return scaled
    if decimals <= 22:  # 10^22 is the last power of ten that is an exact double
        return np.asarray(scaled / 10.0**decimals, dtype=np.float64)
    return np.array([float(Fraction(v, 10**decimals)) for v in scaled.tolist()])


def unit(scaled: int | Fraction, decimals: int) -> int | float:
    """One number in the user's units: an int when it is whole without decimals, otherwise a float."""
    value = Fraction(scaled, 10**decimals) if isinstance(scaled, int) else scaled / 10**decimals
    return int(value) if value.denominator == 1 and not decimals else float(value)
