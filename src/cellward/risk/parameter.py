"""Parameters of rules: exact decimals and counts, checked when a rule is made."""

from __future__ import annotations

from decimal import Decimal

import numpy as np

from cellward import exact
from cellward.errors import InputError

Number = int | float | Decimal | str
"""How a user may write a parameter; a float stands for its shortest decimal."""


def decimal(
    value: object, where: str, *, above: int = 0, most: int | None = None, below: int | None = None
) -> int | Decimal:
    """The exact number, an int where it is whole; within the limits or refused.

    >>> decimal(12.50, "p"), decimal("10.0", "p")
    (Decimal('12.5'), 10)
    >>> decimal(0, "PPercent: p", most=100)
    Traceback (most recent call last):
    ...
    cellward.errors.InputError: PPercent: p=0; give a number above 0 and at most 100
    """
    limits = f"above {above}"
    limits += f" and at most {most}" if most is not None else f" and below {below}" if below is not None else ""
    if isinstance(value, bool | np.bool_) or not isinstance(value, int | float | np.number | Decimal | str):
        raise InputError(f"{where}={value!r}; give a number {limits}")
    mantissa, places = exact.parse(str(value), where)
    number = Decimal(exact.short(mantissa, places))
    if number <= above or (most is not None and number > most) or (below is not None and number >= below):
        raise InputError(f"{where}={number}; give a number {limits}")
    return int(number) if number == number.to_integral_value() else number


MOST = 10**6
"""No rule counts further."""


def count(value: object, where: str, *, least: int = 1) -> int:
    """A whole number from ``least`` to MOST."""
    if isinstance(value, bool | np.bool_) or not isinstance(value, int | np.integer) or not least <= value <= MOST:
        raise InputError(f"{where}={value!r}; give a whole number from {least} to {MOST:,}")
    return int(value)
