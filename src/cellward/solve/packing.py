"""Packing: as many goals as go into one table, by moving single leaves within the room that the cells above them have; a compiled loop.

The goals are taken in turn: cell i is to be at its goal or beyond. It is brought there by one of its leaves, if all cells above that leaf have room.
Else other leaves follow, each below the cell beyond its room that has the fewest of them: the one that mends most, as long as each mends something.
What was reached is held while the others follow.
"""

from __future__ import annotations

from typing import Any, NamedTuple

import numpy as np

from cellward.exact import Bools, Ints
from cellward.solve.budget import Budget
from cellward.solve.compiled import compiled

LONGEST = 8
"""Leaves that are moved for one goal, at most."""


class Lists(NamedTuple):
    """The entries of the rows (or columns) of a sparse matrix: where those of each begin, which, and the factors, ±1."""

    start: Ints
    entry: Ints
    factor: Ints

    @staticmethod
    def of(matrix: Any) -> Lists:
        """By the matrix's own order."""
        return Lists(*(part.astype(np.int64) for part in (matrix.indptr, matrix.indices, matrix.data)))


def pack(
    above: Lists, below: Lists, y: Ints, lo: Ints, hi: Ints, goals: tuple[Ints, Ints, Ints],
    *, choices: int, partners: int, seed: int, budget: Budget,
) -> Bools:  # fmt: skip
    """Bring y, in place, to as many goals (cell, side, value) as go together, in their order; which of them were reached. lo and hi hold them then.

    None of them is where there is no time to compile.
    A side is 0 (at most the value) or 1 (at least). ``above``: for every leaf the cells that it moves; ``below``: for every cell its leaves.
    """
    cell, side, value = (np.ascontiguousarray(part, np.int64) for part in goals)
    reached, moved = np.zeros(len(cell), bool), np.zeros((2, LONGEST), np.int64)
    state = np.array([2 * seed + 1], np.uint64)
    arguments = (*above, *below, y, lo, hi, cell, side, value, reached, choices, partners, *moved, state)
    loop = compiled(_pack, budget, *arguments)
    if loop is not None:
        loop(*arguments)
    return reached


def _pack(
    up_at: Ints, up: Ints, up_by: Ints, down_at: Ints, down: Ints, down_by: Ints, y: Ints, lo: Ints, hi: Ints,
    cell: Ints, side: Ints, value: Ints, reached: Bools, choices: int, partners: int, moved: Ints, by: Ints, state: Any,
) -> None:  # fmt: skip
    x, longest = state[0], len(moved)
    for goal in range(len(cell)):
        i = cell[goal]
        need, low, high = value[goal] - y[i], lo[i], hi[i]
        done = need <= 0 if side[goal] == 1 else need >= 0
        if side[goal] == 1:
            lo[i] = max(low, value[goal])
        else:
            hi[i] = min(high, value[goal])
        many = down_at[i + 1] - down_at[i]
        x ^= x << np.uint64(13)
        x ^= x >> np.uint64(7)
        x ^= x << np.uint64(17)
        first = np.int64(x >> np.uint64(24)) % max(many, 1)
        few = 0 if done else min(choices, many)
        for turn in range(2 * few):  # with one leaf first, then with several
            k = down_at[i] + (first + turn % few) % many
            leaf, step = down[k], need * down_by[k]
            if turn < few:
                done = True
                for at in range(up_at[leaf], up_at[leaf + 1]):
                    after = y[up[at]] + step * up_by[at]
                    if after > hi[up[at]] or after < lo[up[at]]:
                        done = False
                        break
                if done:
                    for at in range(up_at[leaf], up_at[leaf + 1]):
                        y[up[at]] += step * up_by[at]
                    break
                continue
            size, taken = abs(need), 0
            while True:
                moved[taken], by[taken] = leaf, step
                taken += 1
                for at in range(up_at[leaf], up_at[leaf + 1]):
                    y[up[at]] += step * up_by[at]
                # The cell beyond its room with the fewest leaves.
                beyond, narrow, fewest = 0, i, len(up)
                for t in range(taken):
                    for at in range(up_at[moved[t]], up_at[moved[t] + 1]):
                        c = up[at]
                        if y[c] > hi[c] or y[c] < lo[c]:
                            beyond += 1
                            if down_at[c + 1] - down_at[c] < fewest:
                                fewest, narrow = down_at[c + 1] - down_at[c], c
                done = beyond == 0
                if done or taken == longest:
                    break
                back = -size if y[narrow] > hi[narrow] else size
                best = 0
                begin = np.int64(x >> np.uint64(20)) % fewest
                for tried in range(min(partners, fewest)):
                    at_other = down_at[narrow] + (begin + tried) % fewest
                    other, other_step = down[at_other], back * down_by[at_other]
                    used = False
                    for t in range(taken):
                        used |= moved[t] == other
                    if used:
                        continue
                    less = 0
                    for at in range(up_at[other], up_at[other + 1]):
                        c = up[at]
                        after = y[c] + other_step * up_by[at]
                        less += max(0, y[c] - hi[c], lo[c] - y[c]) - max(0, after - hi[c], lo[c] - after)
                    if less > best:
                        best, leaf, step = less, other, other_step
                if best == 0:
                    break
            if done:
                break
            for t in range(taken):
                for at in range(up_at[moved[t]], up_at[moved[t] + 1]):
                    y[up[at]] -= by[t] * up_by[at]
        if done:
            reached[goal] = True
        else:
            lo[i], hi[i] = low, high
    state[0] = x
