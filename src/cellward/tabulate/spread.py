"""Spread units: those in several leaves are summed in every cell before they are ranked there; the others need not be looked at again.

A pair (cell, row of a unit) is one integer; sorted, the rows of one unit in one cell stand side by side, since rows are sorted by unit.
"""

from __future__ import annotations

from collections.abc import Iterator
from concurrent.futures import ThreadPoolExecutor

import numpy as np
from numpy.typing import NDArray

from cellward.errors import InputError
from cellward.exact import Ints
from cellward.table.lattice import Lattice
from cellward.tabulate.leaf_states import Members
from cellward.tabulate.states import NOBODY, States

_AT_ONCE = 6_000_000
"""About so many pairs are sorted at a time, which bounds the memory."""


def with_spread_units(lattice: Lattice, members: Members, key: Ints, states: States, threads: int | None) -> States:
    """The states of all cells (``key``: theirs, in increasing order) with the spread units added."""
    if not len(members.unit):
        return states
    if float(np.abs(members.weighted).astype(float).sum()) >= 2**62:
        raise InputError(
            "the totals would be beyond 2^53, where doubles stop being exact; choose a larger unit or fewer decimals"
        )
    pairs = sum(
        float(
            np.prod(
                [len(lattice.above(term, dim)[0]) / max(len(axis.bottom), 1) for dim, axis in enumerate(lattice.axes)]
            )
        )
        for term in lattice.terms
    )
    kept, weighted = len(states.top), states.weighted is not None

    def work(rows: slice) -> tuple[Ints, States]:
        return _grouped(lattice, members, rows, kept, weighted=weighted)

    with ThreadPoolExecutor(threads or 2) as pool:
        for cells, fresh in pool.map(work, _chunks(members.unit, max(int(_AT_ONCE / pairs), 1))):
            states = states.with_others(np.searchsorted(key, cells), fresh)
    return states


def _chunks(unit: Ints, most: int) -> Iterator[slice]:
    """Runs of rows that do not cut a unit in two; ``unit`` is sorted."""
    start = 0
    while start < len(unit):
        stop = min(start + most, len(unit))
        stop = int(np.searchsorted(unit, unit[stop - 1], side="right"))
        yield slice(start, stop)
        start = stop


def _grouped(lattice: Lattice, members: Members, rows: slice, kept: int, *, weighted: bool) -> tuple[Ints, States]:
    """The states of some units in all their cells."""
    unit = members.unit[rows]
    cell, row = _sorted_pairs(lattice, members.leaf[:, rows])
    whose = unit[row]
    first = _starts((cell[1:] != cell[:-1]) | (whose[1:] != whose[:-1]))
    x, wx = (np.abs(np.add.reduceat(column[rows][row], first)) for column in (members.amount, members.weighted))
    cell, row = cell[first], row[first]
    begin = _starts(cell[1:] != cell[:-1])
    units = np.diff(np.append(begin, len(cell)))
    top, who = np.full((kept, len(begin)), -1, np.int64), np.full((kept, len(begin)), NOBODY, np.int64)
    heavy = np.zeros((kept, len(begin)), np.int64)
    left, place = x.copy(), np.arange(len(x))
    for rank in range(kept):
        top[rank] = np.maximum.reduceat(left, begin)
        best = np.minimum.reduceat(np.where(left == np.repeat(top[rank], units), place, len(x)), begin)
        real = top[rank] >= 0
        who[rank][real], heavy[rank][real] = unit[row[best[real]]], wx[best[real]]
        left[best] = -1  # within a cell units stand in order, so that of equals the first is taken
    zero = np.zeros(len(begin), np.int64)
    asked = [np.maximum.reduceat(np.where(gave[rows][row], x, 0), begin) for gave in members.requested]
    requested = np.stack(asked) if asked else np.zeros((0, len(begin)), np.int64)
    size = np.add.reduceat(wx, begin)
    return cell[begin], States(zero, units, zero, size, top, who, heavy if weighted else None, requested)


def _sorted_pairs(lattice: Lattice, leaf: Ints) -> tuple[Ints, Ints]:
    """(cell, row) pairs of all cells above these leaves, sorted by cell, then row."""
    rows = leaf.shape[1]
    bits = rows.bit_length()
    most = sum(stride * len(axis.codes) for stride, axis in zip(lattice.stride, lattice.axes, strict=True))
    if most.bit_length() + bits > 62:
        row, key = lattice.spread(leaf)
        order = np.lexsort((row, key))
        return key[order], row[order]
    if (above := lattice.levels) is None:
        row, key = lattice.spread(leaf)
        pair = (key << bits) | row
    else:  # every leaf has as many codes above it as any other: a sum over the dimensions of one column each
        pair = np.arange(rows, dtype=np.int64)[:, None]
        for own, code in zip(above, leaf, strict=True):
            pair = (pair[:, :, None] + (own << bits)[code][:, None, :]).reshape(rows, -1)
        pair = pair.ravel()
    pair.sort()
    return pair >> bits, pair & ((1 << bits) - 1)


def _starts(changes: NDArray[np.bool_]) -> Ints:
    """Where runs begin, given where the next differs."""
    return np.concatenate(([0], np.flatnonzero(changes) + 1)).astype(np.int64)
