"""Levels: how far an attacker must be kept from some cells; held for these cells only. And how numbers that users give become levels."""

from __future__ import annotations

from collections.abc import Callable, Iterable
from dataclasses import dataclass

import numpy as np
from numpy.typing import NDArray

from cellward import exact
from cellward.errors import InputError
from cellward.exact import Ints, Numbers, freeze
from cellward.table.labels import Labels

INFINITE = 2**60
"""A level without an end, whatever the unit: no table is so far off, so that the cell may only move to the other side."""
_MARK = 10**29
_ENDLESS = ("inf", "+inf", "infinity", "+infinity", "∞")
TINY = 3
"""A level is rounded up to the table's unit; one of less than so many decimals below it is no level in that unit, but a mistake."""


@dataclass(frozen=True, eq=False)
class Levels:
    """Cells in increasing order, and for each the distances that an attacker's interval must reach below (``lpl``) and above (``upl``) the true
    value, and the width it must have (``spl``); scaled integers."""

    cell: Ints
    lpl: Ints
    upl: Ints
    spl: Ints

    def __post_init__(self) -> None:
        freeze(self.cell, self.lpl, self.upl, self.spl)
        if np.any(np.diff(self.cell) <= 0):
            raise InputError("levels: a cell is named twice, or out of order; name each cell once")
        for name, level in (("lpl", self.lpl), ("upl", self.upl), ("spl", self.spl)):
            if int(level.min(initial=0)) < 0:
                raise InputError(
                    f"{name}: the level of cell {int(self.cell[level.argmin()])} is negative; levels are distances"
                )

    def __len__(self) -> int:
        return len(self.cell)

    def take(self, keep: NDArray[np.bool_]) -> Levels:
        """Only these of the levels, which need not be checked again: behind a census there are levels by the hundred thousand, in small parts."""
        made = object.__new__(Levels)
        for name in ("cell", "lpl", "upl", "spl"):
            part = getattr(self, name)[keep]
            freeze(part)
            object.__setattr__(made, name, part)
        return made

    def times(self, factor: int) -> Levels:
        """The same levels counted in a unit ``factor`` times finer."""
        return Levels(self.cell, finer_levels(self.lpl, factor), finer_levels(self.upl, factor), self.spl * factor)

    def permuted(self, place: Ints) -> Levels:
        """The same levels when cell i becomes cell place[i]."""
        order = np.argsort(place[self.cell])
        return Levels(place[self.cell][order], self.lpl[order], self.upl[order], self.spl[order])


def finer_levels(level: Ints, factor: int) -> Ints:
    """Levels counted in a unit so many times finer."""
    endless = level >= INFINITE
    return np.where(endless, INFINITE, np.where(endless, 0, level) * factor)


def marked(entries: Iterable[object]) -> list[object]:
    """Levels as users write them, those without an end (inf) so that they can be read as numbers."""
    return [_MARK if _is_endless(entry) else entry for entry in entries]


def _is_endless(entry: object) -> bool:
    if isinstance(entry, float | np.floating):
        return bool(entry == np.inf)
    return isinstance(entry, str) and entry.strip().casefold() in _ENDLESS


def level_of(value: object, decimals: int, name: str, cell: str) -> int:
    """One level as a scaled integer, rounded up; ``name`` (lpl, upl, spl) and ``cell`` are what errors call it.

    >>> level_of("0.3", 0, "lpl", "(North)")
    1
    >>> level_of("0.00001", 0, "lpl", "(North)")
    Traceback (most recent call last):
    ...
    cellward.errors.InputError: lpl: the level 0.00001 of (North) is far below the table's unit, 1; give it in the table's units, or 0 for none
    """
    column = Numbers.read([value], lambda _: f"{name} of {cell}")
    return int(_scaled(column, decimals, name, lambda _: cell)[0])


def levels_of(column: Numbers, decimals: int, name: str, labels: Labels) -> Ints:
    """A level for every cell of a table, scaled and rounded up."""
    return _scaled(column, decimals, name, labels.name)


def _scaled(column: Numbers, decimals: int, name: str, called: Callable[[int], str]) -> Ints:
    endless = (
        np.array([int(m) >= _MARK for m in column.mantissa], bool) if name in ("lpl", "upl") else np.zeros(0, bool)
    )
    if endless.any():
        finite = [0 if end else int(m) for m, end in zip(column.mantissa, endless.tolist(), strict=True)]
        rest = _scaled(Numbers(finite, column.places, column.where), decimals, name, called)
        return np.where(endless, INFINITE, rest)
    scaled = column.scaled(decimals, "up")

    def given(i: int) -> str:
        return exact.short(int(column.mantissa[i]), int(column.places[i]))

    for i in np.flatnonzero(column.places > decimals + TINY).tolist():
        if 0 < int(column.mantissa[i]) < 10 ** (int(column.places[i]) - decimals - TINY):
            raise InputError(
                f"{name}: the level {given(i)} of {called(i)} is far below the table's unit, {exact.text(1, decimals)}; give it in the table's "
                "units, or 0 for none"
            )
    negative = np.flatnonzero(np.asarray(column.mantissa) < 0)
    if len(negative):
        i = int(negative[0])
        raise InputError(
            f"{name}: the level of {called(i)} is negative, {given(i)}; levels are distances, so at least 0"
        )
    return scaled
