"""Sets of records at risk or not: what they are truly, and how far up or down each must be."""

from __future__ import annotations

from dataclasses import dataclass
from typing import Any

import numpy as np
from scipy import sparse

from cellward.exact import Bools, Ints


@dataclass(frozen=True, eq=False)
class Sets:
    """Rows of zeros and ones over the atoms, true values, how many records each has, and how far up or down each must be (0: it need not)."""

    sums: Any
    value: Ints
    rows: Ints
    up: Ints
    down: Ints

    def near(self, off: Ints) -> Bools:
        """Which are off by less than they must be."""
        return np.asarray((self.up > 0) & (off < self.up) & (off > -self.down))

    def off(self, shadow: Ints) -> Ints:
        """What they are off by."""
        return np.asarray(self.sums @ shadow - self.value)

    def take(self, which: Any) -> Sets:
        """Some of them."""
        return Sets(self.sums[which], self.value[which], self.rows[which], self.up[which], self.down[which])

    def at_risk(self) -> Sets:
        """Those at risk, each set of records once, with the most that is asked of it."""
        risky = self.take(np.flatnonzero(self.up > 0))
        first, of = same_sets(risky.sums)
        up, down = np.zeros((2, len(first)), np.int64)
        np.maximum.at(up, of, risky.up)
        np.maximum.at(down, of, risky.down)
        return Sets(risky.sums[first], risky.value[first], risky.rows[first], up, down)


def rows_over(number: Ints, atom: Ints, many: int, atoms: int) -> Any:
    """So many sets as rows over the atoms."""
    return sparse.csr_array((np.ones(len(atom), np.int64), (number, atom)), shape=(many, atoms))


def same_sets(rows: Any) -> tuple[Ints, Ints]:
    """The first of all rows with the same atoms, and which of these each row is like."""
    weight = np.random.default_rng(0).integers(1, 1 << 62, rows.shape[1], dtype=np.int64)
    _, first, of = np.unique(rows @ weight, return_index=True, return_inverse=True)
    return first, np.asarray(of, np.int64)


def joined_sets(one: Sets, other: Sets) -> Sets:
    """Both together."""
    both = (np.concatenate((getattr(one, name), getattr(other, name))) for name in ("value", "rows", "up", "down"))
    return Sets(sparse.vstack([one.sums, other.sums], format="csr"), *both)


def pairs_of(sets: list[Ints]) -> tuple[Ints, Ints, int]:
    """Sets of atoms as pairs of number and atom, and how many there are."""
    number = np.repeat(np.arange(len(sets)), [len(one) for one in sets])
    return number, np.concatenate([np.zeros(0, np.int64), *sets]), len(sets)


def distinct_sets(rows: Any) -> Any:
    """Each set of atoms once, none of them empty."""
    first = same_sets(rows)[0]
    return rows[first[np.diff(rows.indptr)[first] > 0]]
