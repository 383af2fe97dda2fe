"""Elimination: which sets of atoms are linear combinations of sets taken in before, exactly, modulo the prime 2^61 − 1.

A set is a vector of zeros and ones over the atoms. Each one taken in is reduced by the rows before it; what is left, if anything, is a row of its own
with a pivot. A *fingerprint* w is drawn from all vectors orthogonal to the rows: a set whose w adds up to nothing is a combination of them, and one
that is none adds up to nothing with a chance of 2^-61. So whole lattices of sets are tested by adding up one number an atom. What holds for whole
numbers or fractions holds modulo the prime too; the other way the prime would have to divide a minor of zeros and ones, and the verdict errs to the
safe side: a set is taken for known that is not.
"""

from __future__ import annotations

from typing import Any

import numpy as np
from numpy.typing import NDArray

from cellward.exact import Bools, Ints
from cellward.solve.budget import Budget
from cellward.solve.compiled import compiled

PRIME = (1 << 61) - 1
Residues = NDArray[np.uint64]
_FIRST_ENTRIES = 1 << 16


class Elimination:
    """Rows over so many atoms; they can be taken back to an earlier number of rows."""

    def __init__(self, atoms: int) -> None:
        self._atoms = atoms
        self._at = np.zeros(1, np.int64)
        self._index = np.zeros(_FIRST_ENTRIES, np.int32)
        self._value = np.zeros(_FIRST_ENTRIES, np.uint64)
        self._pivot = np.zeros(0, np.int64)
        self._used = np.zeros(atoms, np.int64)
        self._scratch = np.zeros(atoms, np.uint64)

    @property
    def rank(self) -> int:
        """How many rows there are."""
        return len(self._pivot)

    @property
    def entries(self) -> int:
        """How many entries the rows have together."""
        return int(self._at[-1])

    def take(self, sets: list[Ints]) -> list[int]:
        """Take in sets of atoms one after the other; which of them are no combination of those before."""
        fresh: list[int] = []
        pivot: list[int] = []
        at = [int(self._at[-1])]
        self._at, first = np.concatenate((self._at, np.zeros(len(sets), np.int64))), self.rank
        self._pivot = np.concatenate((self._pivot, np.zeros(len(sets), np.int64)))
        for k, own in enumerate(sets):
            many = first + len(pivot)
            self._scratch[own] = 1
            _call(_reduce, self._scratch, self._at, self._index, self._value, self._pivot, np.int64(many))
            left = np.flatnonzero(self._scratch)
            if len(left):
                entries = self._scratch[left]
                chosen = int(np.argmin(self._used[left]))
                self._append(left, _times(entries, pow(int(entries[chosen]), -1, PRIME)), at[-1])
                at.append(at[-1] + len(left))
                self._at[many + 1], self._pivot[many] = at[-1], left[chosen]
                pivot.append(int(left[chosen]))
                self._used[left] += 1
                fresh.append(k)
            self._scratch[left] = 0
        self._at, self._pivot = self._at[: first + len(pivot) + 1], self._pivot[: first + len(pivot)]
        return fresh

    def back(self, rank: int) -> None:
        """Forget all rows after so many."""
        self._used -= np.bincount(self._index[self._at[rank] : self._at[-1]], minlength=self._atoms)
        self._at, self._pivot = self._at[: rank + 1], self._pivot[:rank]

    def fingerprint(self, rng: np.random.Generator) -> Residues:
        """A vector orthogonal to all rows, drawn from all such vectors."""
        w = rng.integers(0, PRIME, self._atoms, dtype=np.uint64)
        _call(_solve_back, w, self._at, self._index, self._value, self._pivot, np.int64(self.rank))
        return w

    def _append(self, index: Ints, value: Residues, at: int) -> None:
        while at + len(index) > len(self._index):
            self._index = np.concatenate((self._index, np.zeros_like(self._index)))
            self._value = np.concatenate((self._value, np.zeros_like(self._value)))
        self._index[at : at + len(index)] = index
        self._value[at : at + len(index)] = value


def nothing(sums: Any, fingerprint: Residues) -> Bools:
    """Which sets (rows of zeros and ones over the atoms) add up to nothing."""
    half = np.uint64(31)
    low = np.asarray(sums @ (fingerprint & np.uint64((1 << 31) - 1)).astype(np.int64))
    high = np.asarray(sums @ (fingerprint >> half).astype(np.int64)) % PRIME
    turned = ((high & ((1 << 30) - 1)) << 31) + (high >> 30)  # times 2^31: a rotation of 61 bits
    return np.asarray((turned % PRIME + low % PRIME) % PRIME == 0)


def _times(values: Residues, factor: int) -> Residues:
    if factor == 1:
        return values
    if factor == PRIME - 1:
        return np.where(values > 0, np.uint64(PRIME) - values, values)
    return np.array([value * factor % PRIME for value in values.tolist()], np.uint64)


def _call(function: Any, *arguments: Any) -> None:
    loop = compiled(function, Budget(), *arguments)
    assert loop is not None  # without a limit it is waited for
    loop(*arguments)


_MASK32, _M61 = np.uint64(0xFFFFFFFF), np.uint64(PRIME)
_S32, _S61, _EIGHT = np.uint64(32), np.uint64(61), np.uint64(8)


def _reduce(s: Residues, at: Ints, index: Any, value: Residues, pivot: Ints, many: int) -> None:
    """Take multiples of the rows off a vector until it has nothing at their pivots; products of 61 bits by halves of 32."""
    for k in range(many):
        a = s[pivot[k]]
        if a == 0:
            continue
        a0, a1 = a & _MASK32, a >> _S32
        for t in range(at[k], at[k + 1]):
            b = value[t]
            b0, b1 = b & _MASK32, b >> _S32
            low = a0 * b0
            middle = a0 * b1 + a1 * b0 + (low >> _S32)
            below = (middle << _S32) | (low & _MASK32)
            r = (a1 * b1 + (middle >> _S32)) * _EIGHT + (below & _M61) + (below >> _S61)
            r = (r & _M61) + (r >> _S61)
            if r >= _M61:
                r -= _M61
            old = s[index[t]]
            s[index[t]] = old - r if old >= r else old + _M61 - r


def _solve_back(w: Residues, at: Ints, index: Any, value: Residues, pivot: Ints, many: int) -> None:
    """Choose w at each pivot, the last one first, so that its row adds up to nothing."""
    for k in range(many - 1, -1, -1):
        total = np.uint64(0)
        w[pivot[k]] = np.uint64(0)
        for t in range(at[k], at[k + 1]):
            a, b = w[index[t]], value[t]
            if a == 0:
                continue
            a0, a1 = a & _MASK32, a >> _S32
            b0, b1 = b & _MASK32, b >> _S32
            low = a0 * b0
            middle = a0 * b1 + a1 * b0 + (low >> _S32)
            below = (middle << _S32) | (low & _MASK32)
            r = (a1 * b1 + (middle >> _S32)) * _EIGHT + (below & _M61) + (below >> _S61)
            r = (r & _M61) + (r >> _S61)
            if r >= _M61:
                r -= _M61
            total += r
            if total >= _M61:
                total -= _M61
        w[pivot[k]] = _M61 - total if total > 0 else total
