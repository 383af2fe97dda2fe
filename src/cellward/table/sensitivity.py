"""Sensitivity: which cells are at risk, and how far an attacker must be kept from each."""

from __future__ import annotations

from collections.abc import Sequence
from dataclasses import dataclass, replace
from enum import IntEnum
from functools import cached_property

import numpy as np
from numpy.typing import NDArray

from cellward.errors import InputError
from cellward.exact import Ints, freeze
from cellward.table.cell_sums import CellSum
from cellward.table.levels import INFINITE, Levels, finer_levels


class CellStatus(IntEnum):
    """What a cell is to the protection."""

    SAFE = 0
    UNSAFE = 1
    """At risk: to be protected."""
    SECONDARY = 2
    """Changed or withheld only for the sake of unsafe cells."""
    FIXED = 3
    """To be published as it is."""


@dataclass(frozen=True, eq=False)
class Sensitivity:
    """Status and protection levels of every cell; levels are distances in the table's scaled integers.

    An attacker's interval for an unsafe cell must reach ``upl`` above and ``lpl`` below the true value and be ``spl`` wide. An unsafe cell for which
    all three are 0 asks for a width of one ``unit``: it must not be disclosed exactly.
    """

    status: NDArray[np.uint8]
    lpl: Ints
    upl: Ints
    spl: Ints
    sums: tuple[CellSum, ...] = ()
    """Sums of cells that are at risk too."""
    unit: int = 1
    """One unit in the last place of the table, in these integers."""

    @staticmethod
    def none(cells: int) -> Sensitivity:
        """Nothing at risk."""
        zero = np.zeros(cells, np.int64)
        return Sensitivity(np.zeros(cells, np.uint8), zero, zero, zero)

    @staticmethod
    def of(cells: int, sensitive: Sequence[int] | Ints, lpl: Ints, upl: Ints, spl: Ints) -> Sensitivity:
        """These cells are unsafe, with levels aligned to them."""
        index = np.asarray(sensitive, np.int64)
        bad = index[(index < 0) | (index >= cells)]
        if len(bad):
            raise InputError(f"sensitive: cell {int(bad[0])} does not exist; the table has cells 0 to {cells - 1}")
        if len(np.unique(index)) < len(index):
            raise InputError("sensitive: a cell is named twice; name each cell once")
        status = np.zeros(cells, np.uint8)
        status[index] = CellStatus.UNSAFE
        full = []
        for name, level in (("lpl", lpl), ("upl", upl), ("spl", spl)):
            if len(level) != len(index):
                raise InputError(
                    f"{name}: {len(level)} levels for {len(index)} sensitive cells; give one a cell, in the same order"
                )
            whole = np.zeros(cells, np.int64)
            whole[index] = level
            full.append(whole)
        return Sensitivity(status, full[0], full[1], full[2])

    def __post_init__(self) -> None:
        self.status.setflags(write=False)
        freeze(self.lpl, self.upl, self.spl)
        for name, level in (("lpl", self.lpl), ("upl", self.upl), ("spl", self.spl)):
            if len(level) and int(level.min()) < 0:
                raise InputError(
                    f"{name}: the level of cell {int(level.argmin())} is negative; levels are distances, so at least 0"
                )

    @property
    def endless(self) -> Ints:
        """Cells with a level without an end, which forbids a side."""
        return np.flatnonzero((self.lpl >= INFINITE) | (self.upl >= INFINITE))

    @property
    def unsafe(self) -> Ints:
        """The cells at risk."""
        return np.flatnonzero(self.status == CellStatus.UNSAFE)

    @property
    def fixed(self) -> NDArray[np.bool_]:
        """Which cells are to be published as they are."""
        return np.asarray(self.status == CellStatus.FIXED)

    @cached_property
    def levels(self) -> Levels:
        """What cells ask for: those with a level, whatever their status, and those at risk without one."""
        given = (self.lpl > 0) | (self.upl > 0) | (self.spl > 0)
        cell = np.flatnonzero(given | (self.status == CellStatus.UNSAFE))
        return Levels(cell, self.lpl[cell], self.upl[cell], np.where(given[cell], self.spl[cell], self.unit))

    def permuted(self, order: Ints) -> Sensitivity:
        """The same when cell order[k] becomes cell k."""
        place = np.empty_like(order)
        place[order] = np.arange(len(order), dtype=np.int64)
        sums = tuple(one.permuted(place) for one in self.sums)
        return Sensitivity(self.status[order], self.lpl[order], self.upl[order], self.spl[order], sums, self.unit)

    def without_levels(self) -> Sensitivity:
        """The same statuses, no levels given: cells at risk are then kept from exact disclosure only."""
        zero = np.zeros(len(self.status), np.int64)
        return replace(self, lpl=zero, upl=zero, spl=zero, sums=())

    def scaled_by(self, factor: int) -> Sensitivity:
        """The same levels counted in a unit ``factor`` times finer."""
        finer = tuple(one.times(factor) for one in self.sums)
        return replace(
            self,
            lpl=finer_levels(self.lpl, factor),
            upl=finer_levels(self.upl, factor),
            spl=self.spl * factor,
            sums=finer,
            unit=self.unit * factor,
        )
