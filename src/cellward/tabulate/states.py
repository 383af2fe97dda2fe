"""States: what is known of groups of records (counts, sums, the largest contributions), and how groups are put together."""

from __future__ import annotations

from dataclasses import dataclass
from typing import cast

import numpy as np
from numpy.typing import NDArray

from cellward.exact import Ints

NOBODY = np.iinfo(np.int64).max
"""Stands in for a unit where there is none; larger than every unit, so that of equal contributions a real one comes first."""


@dataclass(frozen=True, eq=False)
class States:
    """One column a group. ``top`` holds sizes, largest first, −1 where there are fewer; of equal sizes the smaller ``unit`` comes first."""

    rows: Ints
    units: Ints
    value: Ints
    size: Ints
    top: Ints
    unit: Ints
    weighted: Ints | None
    requested: Ints

    @staticmethod
    def empty(groups: int, kept: int, requests: int, *, weighted: bool) -> States:
        """Groups without records."""
        zero = np.zeros(groups, np.int64)
        nobody = np.full((kept, groups), NOBODY, np.int64)
        weights = np.zeros((kept, groups), np.int64) if weighted else None
        return States(
            zero, zero, zero, zero, np.full((kept, groups), -1, np.int64), nobody, weights,
            np.zeros((requests, groups), np.int64),
        )  # fmt: skip

    def take(self, groups: Ints | NDArray[np.bool_]) -> States:
        """These groups."""
        return States(
            self.rows[groups], self.units[groups], self.value[groups], self.size[groups], self.top[:, groups], self.unit[:, groups],
            None if self.weighted is None else self.weighted[:, groups], self.requested[:, groups],
        )  # fmt: skip

    def then(self, other: States) -> States:
        """These groups, and those of another after them."""
        weighted = None
        if self.weighted is not None and other.weighted is not None:
            weighted = np.concatenate((self.weighted, other.weighted), axis=1)

        def joined(name: str) -> Ints:
            return np.concatenate((getattr(self, name), getattr(other, name)), axis=-1)

        return States(
            joined("rows"), joined("units"), joined("value"), joined("size"), joined("top"), joined("unit"), weighted,
            joined("requested"),
        )  # fmt: skip

    def merged(self, key: Ints) -> tuple[Ints, States]:
        """Groups with the same key put together, keys in increasing order; no unit may be in two of the groups put together."""
        order = np.argsort(key, kind="stable")
        sorted_key = key[order]
        first = np.flatnonzero(np.concatenate(([True], sorted_key[1:] != sorted_key[:-1])))
        own = self.take(order)
        kept, groups = own.top.shape
        which = np.repeat(np.arange(len(first)), np.diff(np.append(first, groups)))
        top, unit = np.full((kept, len(first)), -1, np.int64), np.full((kept, len(first)), NOBODY, np.int64)
        weighted = None if own.weighted is None else np.zeros((kept, len(first)), np.int64)
        at = np.zeros(groups, np.int64)  # how many of a group's largest are already placed
        every = np.arange(groups)
        for rank in range(kept):
            left = at < kept
            place = np.minimum(at, kept - 1)
            head = np.where(left, own.top[place, every], -1)
            who = np.where(left, own.unit[place, every], NOBODY)
            top[rank] = np.maximum.reduceat(head, first)
            best = head == top[rank][which]
            unit[rank] = np.minimum.reduceat(np.where(best, who, NOBODY), first)
            taken = best & (who == unit[rank][which])
            if weighted is not None:
                heaviness = cast("Ints", own.weighted)[place, every]
                weighted[rank] = np.maximum.reduceat(np.where(taken & (head >= 0), heaviness, 0), first)
            at += taken
        rows, units, value, size = (
            np.add.reduceat(column, first) for column in (own.rows, own.units, own.value, own.size)
        )
        asked = np.maximum.reduceat(own.requested, first, axis=1) if len(own.requested) else own.requested[:, first]
        return sorted_key[first], States(rows, units, value, size, top, unit, weighted, asked)

    def with_others(self, at: Ints, other: States) -> States:
        """The same groups, with those of another added to the groups ``at``, each once; no unit may be in both."""
        rows, units, value, size = (column.copy() for column in (self.rows, self.units, self.value, self.size))
        for mine, theirs in ((rows, other.rows), (units, other.units), (value, other.value), (size, other.size)):
            mine[at] += theirs
        kept, many = other.top.shape
        top, unit = self.top.copy(), self.unit.copy()
        weighted = None if self.weighted is None else self.weighted.copy()
        mine_at, theirs_at = np.zeros(many, np.int64), np.zeros(many, np.int64)
        every = np.arange(many)
        old_top, old_unit = self.top[:, at], self.unit[:, at]
        for rank in range(kept):
            a, b = old_top[mine_at, every], other.top[theirs_at, every]
            first = (a > b) | ((a == b) & (old_unit[mine_at, every] <= other.unit[theirs_at, every]))
            top[rank, at] = np.where(first, a, b)
            unit[rank, at] = np.where(first, old_unit[mine_at, every], other.unit[theirs_at, every])
            if weighted is not None and self.weighted is not None and other.weighted is not None:
                weighted[rank, at] = np.where(first, self.weighted[mine_at, at], other.weighted[theirs_at, every])
            mine_at += first
            theirs_at += ~first
        requested = self.requested.copy()
        requested[:, at] = np.maximum(requested[:, at], other.requested)
        return States(rows, units, value, size, top, unit, weighted, requested)
