"""Ranks: contributors of a table that was added up elsewhere; how many they are, and how much the largest contribute, but not who they are."""

from __future__ import annotations

from collections.abc import Sequence
from dataclasses import replace

import numpy as np

from cellward import exact
from cellward.errors import InputError
from cellward.exact import Ints
from cellward.table.contributions import Contributions
from cellward.table.labels import Labels
from cellward.table.relations import Relations
from cellward.table.table import Table, check_additive

MOST = 20
"""No rule looks at more of the largest contributions."""


class Ranks(Sequence[str]):
    """What the contributors are called: nobody knows more than their rank in a cell."""

    def __init__(self, labels: Labels) -> None:
        self._labels = labels

    def __len__(self) -> int:
        return MOST * self._labels.cells

    def __getitem__(self, unit):  # type: ignore[no-untyped-def]
        rank, cell = divmod(unit, self._labels.cells)
        return f"number {rank + 1} of {self._labels.name(cell)}"


def ranked(table: Table, frequency: Ints, size: Ints, top: Ints, *, negative: bool) -> Contributions:
    """Contributions of which the frequencies, the totals X and the largest (k, cells) are known."""
    unit = np.where(top > 0, np.arange(top.size, dtype=np.int64).reshape(top.shape), -1)
    return Contributions(
        rows=frequency, units=frequency, size=size, top=np.maximum(top, 0), unit=unit, names=Ranks(table.labels), negative=negative
    )  # fmt: skip


def with_ranks(table: Table, frequency: Ints, top: Ints, known: exact.Bools, called: Sequence[str]) -> Table:
    """The table with frequencies and largest contributions, those of cells that are not ``known`` added up from their parts.

    ``called``: the columns of the frequencies and of the largest contributions, for sentences. A contributor must stand in one part of a sum only:
    then frequencies add up, and the largest of a sum are the largest of its parts.
    """
    frequency, top = frequency.copy(), top.copy()
    _fill(table.relations, frequency, top, known)
    try:
        check_additive(table.relations, frequency, 0, table.labels, "correct the frequencies, or leave them out")
    except InputError as error:
        raise InputError(f"column {called[0]}: of the frequencies, {error}") from None
    _check(table, frequency, top, called)
    size, negative = np.abs(table.scaled), bool((table.scaled < 0).any())
    return replace(table, contributions=ranked(table, frequency, size, top, negative=negative))


def _fill(relations: Relations, frequency: Ints, top: Ints, known: exact.Bools) -> None:
    """Cells that are not known, from the parts of an equation, the lowest first."""
    equation = {int(total): j for j, total in reversed(list(enumerate(relations.total.tolist()))) if total >= 0}
    height = relations.height
    for cell in sorted(np.flatnonzero(~known).tolist(), key=lambda i: int(height[i])):
        if cell not in equation:
            continue  # a cell without a row that is no sum: nobody stands behind it
        _, members, _ = relations.equation(equation[cell])
        parts = [i for i in members if i != cell]
        frequency[cell] = frequency[parts].sum()
        top[:, cell] = np.sort(top[:, parts].ravel())[::-1][: len(top)]


def _check(table: Table, frequency: Ints, top: Ints, called: Sequence[str]) -> None:
    """Refuse numbers that cannot be those of one cell."""
    name, many, value = table.labels.name, (top > 0).sum(axis=0), np.abs(table.scaled)
    rows = range(len(top))
    if len(top) and len(negative := np.flatnonzero(table.scaled < 0)):
        i = int(negative[0])
        raise InputError(
            f"{name(i)}: the value is negative, and its largest contributions then say nothing of the others; leave "
            "largest= out, or give the records"
        )
    for k in rows:
        if len(wrong := np.flatnonzero(top[k] < 0)):
            i = int(wrong[0])
            raise InputError(f"{name(i)}, column {called[k + 1]}: the contribution is negative; correct it")
    for k in rows[1:]:
        if len(wrong := np.flatnonzero(top[k] > top[k - 1])):
            i = int(wrong[0])
            raise InputError(
                f"{name(i)}: the contribution in column {called[k + 1]} is larger than that in column {called[k]}; "
                "name the columns with the largest first"
            )
    if len(top) and len(wrong := np.flatnonzero(top[0] > value)):
        i = int(wrong[0])
        raise InputError(
            f"{name(i)}: the largest contribution, in column {called[1]}, is more than the value; correct one of them"
        )
    if len(wrong := np.flatnonzero(many > frequency)):
        i = int(wrong[0])
        raise InputError(
            f"{name(i)}: {int(many[i])} contributions are given, and column {called[0]} has {int(frequency[i])} contributors; correct one of them"
        )
    if len(wrong := np.flatnonzero((frequency == 0) & (table.scaled != 0))):
        i = int(wrong[0])
        raise InputError(
            f"{name(i)}: the value is not 0, and column {called[0]} has no contributors; correct one of them"
        )
