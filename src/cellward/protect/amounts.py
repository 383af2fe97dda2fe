"""Amounts: a positive number for every cell (a base, a distance), given as one number, one a cell, or one a level of sums."""

from __future__ import annotations

from collections.abc import Mapping, Sequence
from decimal import Decimal
from typing import Any

import numpy as np

from cellward import exact
from cellward.errors import InputError
from cellward.exact import LARGEST, Ints
from cellward.instance import Instance, by_level
from cellward.table.table import Table

NOUNS = {"base": "base", "within": "distance", "grid": "grid"}


def amounts(instance: Instance, given: Any, what: str) -> Ints:
    """The amount of every cell as scaled integers; ``what`` names the option."""
    given = by_level(instance.relations, given, what) if isinstance(given, Mapping) else given
    each = is_list(given)
    if each and len(given) != instance.cells:
        raise InputError(
            f"{what}: {len(given)} {NOUNS[what]}s for {instance.cells} cells; give one number, or one a cell"
        )
    scaled: dict[Any, int] = {}
    for i, amount in enumerate(given if each else [given]):
        if amount in scaled:
            continue
        where = f"{what} of {instance.labels.name(i)}" if each else what
        value = exact.scale_one(amount, instance.decimals, where, strict=True)
        if not 0 < value <= LARGEST:
            raise InputError(f"{where}: {amount} is not a {NOUNS[what]}; give a positive number such as 3, 5 or 10")
        scaled[amount] = value
    if each:
        return np.array([scaled[amount] for amount in given], np.int64)
    return np.full(instance.cells, scaled[given], np.int64)


def beyond_every_value(instance: Instance, given: Any, what: str) -> list[str]:
    """The note on a stated amount above every value of the table: hardly anything is then left of it; none where some value is larger."""
    size, amount = np.abs(instance.a), amounts(instance, given, what)
    if not size.any() or not bool(np.all(amount > size)):
        return []
    least = exact.short(int(amount.min()), instance.decimals)
    return [
        f"the {NOUNS[what]} {least} is larger than every value of the table: hardly anything is left of the values; choose a smaller one"
    ]


def stated_amounts(table: Table, given: Any, what: str) -> Ints:
    """The amount of every cell that a release states; 0 of those that are published as they are."""
    noun = NOUNS[what]
    each = given if isinstance(given, list) else [given]
    if isinstance(given, list) and len(given) != table.cells:
        raise InputError(f"{noun}: {len(given)} {noun}s for {table.cells} cells; give one, or one a cell")
    scaled = [exact.scale_one(one, table.decimals, noun, strict=True) for one in each]
    if not 0 < min(scaled) <= max(scaled) <= LARGEST:
        raise InputError(f"{noun}: a {noun} is a positive number such as 3, 5 or 10, and below 2^53")
    column = np.array(scaled if isinstance(given, list) else scaled * table.cells, np.int64)
    return np.where(table.sensitivity.fixed, 0, column)


def stated(given: Any) -> Any:
    """An amount as a release states it: plain decimals."""
    return [_plain(one) for one in given] if is_list(given) else _plain(given)


def _plain(amount: Any) -> str:
    return format(Decimal(str(amount)), "f")


def is_list(given: object) -> bool:
    """Whether one a cell is given."""
    return (
        np.ndim(given) > 0
        if isinstance(given, np.ndarray)
        else isinstance(given, Sequence) and not isinstance(given, str | bytes)
    )
