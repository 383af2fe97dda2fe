"""Candidates: the bases that are looked at, rising, and no farther than where hardly anything would be left of the table; round distances."""

from __future__ import annotations

from collections.abc import Iterable, Sequence
from itertools import takewhile
from typing import Any

from cellward import exact
from cellward.errors import InputError
from cellward.exact import LARGEST
from cellward.protect.rounding.least_base import SingleCells, round_bases

CHOICES = ("round", "any")


def candidate_bases(single: SingleCells, bases: Any) -> Iterable[int]:
    """``"round"``: 3, 5, 10, 15, 20, 25, …; ``"any"``: every multiple of the table's unit that levels leave; or these, in the table's units."""
    largest = int(abs(single.instance.a).max(initial=0))
    least = max(int(single.least().max(initial=1)), 2)
    most = min(4 * largest + 2 * least, LARGEST)
    if isinstance(bases, str) and bases == "round":
        return takewhile(lambda base: base <= most, round_bases())
    if isinstance(bases, str) and bases == "any":
        return range(least, most + 1)
    if isinstance(bases, str) or not isinstance(bases, Sequence) or not len(bases):
        raise InputError(f"bases={bases!r} is not known; use 'round', 'any' or a list of bases such as [3, 5, 10]")
    scaled = [exact.scale_one(base, single.instance.decimals, "bases", strict=True) for base in bases]
    if not 0 < min(scaled) <= max(scaled) <= LARGEST:
        raise InputError("bases: a base is a positive number such as 3, 5 or 10, and below 2^53; leave out the others")
    return sorted(set(scaled))


def round_up(amount: int) -> int:
    """The first round amount that is at least as large. Amounts are published: a finer one would tell the level that it was made for.

    >>> round_up(4), round_up(52_867), round_up(99_500)
    (5, 75000, 100000)
    """
    return next(round_bases(amount), amount)
