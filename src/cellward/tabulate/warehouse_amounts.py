"""Warehouse amounts: a column of an ibis table as exact scaled integers, by expressions that mean the same on every backend.

Backends differ in how they round halves, divide integers and take remainders, so none of these is used as it comes. |x| rounded to d places is
n = k + [|x| ≥ h], where k = ⌊|x|·10^d⌋ and h = (2k + 1)/(2·10^d) is half-way to the next. In decimals this is exact. In doubles the product may be
off by its last bit, which at worst moves k to a neighbour whose h leads to the same n; and h divides two exact doubles, so it is the double next to
the half itself. x has d places exactly when it is the double next to n/10^d (see :mod:`cellward.exact`).
"""

from __future__ import annotations

import math
import re
from dataclasses import dataclass
from typing import Any

import ibis

from cellward.errors import InputError
from cellward.tabulate.amounts import NUMBER, fits
from cellward.tabulate.warehouse import Warehouse

_MOST_PLACES = 15
_MOST_SCALE = 20
"""2^53·10^20 and its double still have no more than 38 digits, the widest decimal of most backends."""
_MOST_DIGITS = 15
"""Numbers of so many digits are told apart by doubles, through which text is read."""


@dataclass(frozen=True, eq=False)
class WarehouseAmounts:
    """``column``: int64 counts of 10^−places, null where nothing stands; ``largest`` bounds their size."""

    column: Any
    places: int
    largest: int
    blanks: int
    negatives: int
    records: int


def amounts(warehouse: Warehouse, name: str, *, decimals: int | None, mark: str, role: str) -> WarehouseAmounts:
    """Read a column of numbers exactly; with ``decimals``, each number is rounded to them (halves away from zero)."""
    column, source = warehouse.rows[name], warehouse.source
    kind = column.type()
    if kind.is_string():
        column = _parsed(warehouse, name, column, mark)
    elif kind.is_decimal() and warehouse.rows.get_backend().name == "sqlite":
        column = column.cast("float64")  # which is what SQLite keeps
    elif kind.is_floating():
        column = warehouse.without_nan(column)
    elif not kind.is_numeric() or kind.is_boolean():
        raise InputError(f"{source.name}: the column {name!r} holds {kind}, not numbers; name another {role}")
    rows = warehouse.rows
    found = warehouse.one(
        records=rows.count(),
        most=column.cast("float64").abs().max(),
        blanks=rows.count(where=column.isnull()),
        negatives=rows.count(where=column < 0),
    )
    if not found["records"]:
        raise InputError(f"{source.name}: there are no records; give at least one")
    most = float(found["most"] or 0)
    if math.isinf(most):
        raise InputError(f"{source.name}, column {name}: an infinite number; fill in a value")
    read = _whole if column.type().is_integer() else _decimals if column.type().is_decimal() else _floats
    places, whole = read(warehouse, name, column, decimals, most)
    largest = fits(source, name, most, places)
    return WarehouseAmounts(whole, places, largest, found["blanks"], found["negatives"], found["records"])


def quotient(number: Any, divisor: int) -> Any:
    """A whole number from 0 to 2^62 by another, rounded with halves up.

    ``//`` may go through doubles, so that a first result is a little off for large numbers; what it leaves over is small, and divided exactly.
    """
    first = number // divisor
    return first + ((number - first * divisor) * 2 + divisor) // (2 * divisor)


def _signed(x: Any, size: Any) -> Any:
    return (x < 0).ifelse(-size, size)


def _whole(warehouse: Warehouse, name: str, x: Any, decimals: int | None, most: float) -> tuple[int, Any]:
    places = decimals or 0
    fits(warehouse.source, name, most, places)
    return places, x.cast("int64") * 10**places


def _decimals(warehouse: Warehouse, name: str, x: Any, decimals: int | None, most: float) -> tuple[int, Any]:
    scale = x.type().scale
    if scale is not None and scale > _MOST_SCALE:
        raise InputError(
            f"{warehouse.source.name}: the column {name} has {scale} decimals, and at most {_MOST_SCALE} are read; cast it to a shorter decimal"
        )
    places = decimals
    if places is None:
        deepest = _MOST_SCALE if scale is None else scale
        rows = warehouse.rows
        missed = (
            warehouse.one(**{f"p{d}": rows.count(where=x != x.round(d)) for d in range(deepest)}) if deepest else {}
        )
        places = next((d for d in range(deepest) if not missed[f"p{d}"]), deepest)
    fits(warehouse.source, name, most, places)
    k = (x.abs() * 10**places).floor().cast("int64")
    return places, _signed(x, k + (x.abs() * (2 * 10**places) >= k * 2 + 1).cast("int64"))


def _floats(warehouse: Warehouse, name: str, x: Any, decimals: int | None, most: float) -> tuple[int, Any]:
    kind = x.type()
    limit, deepest = (2.0**22, 10) if kind.is_float32() else (2.0**51, _MOST_PLACES)
    if decimals is not None:
        fits(warehouse.source, name, most, decimals)
    tried = [d for d in range(deepest + 1) if most * 10.0**d < limit and decimals in (None, d)]
    rows, size, wide = warehouse.rows, x.abs(), x.abs().cast("float64")

    def nearest(d: int) -> Any:
        k = (wide * 10.0**d).floor().cast("int64")
        return k + (size >= ((k * 2 + 1).cast("float64") / (2 * 10.0**d)).cast(kind)).cast("int64")

    def missed(d: int) -> Any:
        return rows.count(where=size != (nearest(d).cast("float64") / 10.0**d).cast(kind))

    found = warehouse.one(**{f"p{d}": missed(d) for d in tried}) if tried else {}
    places = next((d for d in tried if not found[f"p{d}"]), None)
    if places is None and tried and decimals is not None and most * 10.0 ** (decimals + 1) < limit:
        places = decimals  # halves, which have a place more, are told apart
    if places is None:
        fewer = max((d for d in range(deepest) if most * 10.0 ** (d + 1) < limit / 1024), default=None)
        rounded = "" if fewer is None else f"round them with decimals={fewer} (--decimals {fewer}), or "
        raise InputError(
            f"{warehouse.source.name}: the numbers of column {name} have too many digits to be read exactly from {kind}; {rounded}cast the "
            "column to a decimal or whole number"
        )
    return places, _signed(x, nearest(places))


def _parsed(warehouse: Warehouse, name: str, column: Any, mark: str) -> Any:
    """Text as doubles, once every entry is known to be a number that doubles tell apart."""
    source = warehouse.source
    if not (warehouse.can("RegexSearch") and warehouse.can("RegexReplace")):
        raise InputError(f"{source.name}: the column {name} holds text; cast it to a decimal or whole number")
    text = column.strip().nullif("")
    number = text if mark == "." else text.contains(".").ifelse(ibis.literal("?"), text.replace(",", "."))
    digits = number.re_replace("[eE].*", "").re_replace("[^0-9]", "").re_replace("^0+", "").re_replace("0+$", "")
    found = warehouse.one(wrong=text.min(where=~number.re_search(f"^{NUMBER}$")), most=digits.length().max())
    if found["wrong"] is not None:
        entry = str(found["wrong"])
        shown = entry if len(entry) <= 40 else entry[:37] + "..."
        remedy = "write digits with a point for decimals, such as 1234.5"
        if mark == ",":
            remedy = "write digits with a comma for decimals and no points, such as 1234,5"
        elif re.fullmatch(r"[+-]?[\d.]*,\d+", entry):
            remedy = "if the comma is a decimal mark, say so with decimal=',' (--decimal ,)"
        raise InputError(f"{source.name}, column {name}: {shown!r} is not a number; {remedy}")
    if (most := found["most"] or 0) > _MOST_DIGITS:
        raise InputError(
            f"{source.name}: the column {name} is text with numbers of up to {most} digits, and at most {_MOST_DIGITS} are read from text; "
            "cast it to a decimal"
        )
    return number.cast("float64")
