"""Mended: tables that attackers had to think possible, brought inside what another publication tells, which differs in a few cells.

A table is the true one with some leaves moved. Where a cell leaves its new room, the leaves below it go back, and so on until every cell is inside,
at the latest with the true table. Most of what the table showed, it shows still.
"""

from __future__ import annotations

from collections.abc import Iterator, Sequence
from typing import TYPE_CHECKING

import numpy as np

from cellward.audit.ends import Witness
from cellward.exact import Ints

if TYPE_CHECKING:
    from cellward.table.leaves import LeafForm


def mended(tables: Sequence[Witness], form: LeafForm, low: Ints, high: Ints) -> Iterator[Ints]:
    """The moves of whole tables, all cells between ``low`` and ``high``; those of which nothing is left, and all where leaves are not free, are not
    given."""
    if not len(tables) or form.condition.shape[0] or np.any((low > 0) | (high < 0)):
        return
    sums = form.matrix.tocsr()
    below = abs(sums.T).tocsr()
    for one in tables:
        if one.denominator > 1:
            continue
        leaves, shift = one.shift[form.leaves].copy(), one.shift
        while (out := (shift < low) | (shift > high)).any():
            leaves[below @ out > 0] = 0
            shift = np.asarray(sums @ leaves)
        if leaves.any():
            yield shift
