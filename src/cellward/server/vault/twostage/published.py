"""Published: all sets of records whose value is out, as far as the union audit needs them: what they span, and which differ by few respondents."""

from __future__ import annotations

import secrets
from typing import Any

import numpy as np
from scipy import sparse

from cellward.exact import Bools, Ints
from cellward.server.vault.twostage.elimination import Elimination, nothing
from cellward.solve.budget import Budget
from cellward.solve.compiled import compiled

MOST_PAIRS = 200_000
"""Differences of few respondents that one table may make; one with more is refused."""


class Published:
    """The published sets of one measure over so many atoms. What is taken in is kept or taken back."""

    def __init__(self, atoms: Any) -> None:
        """Over atoms whose codes are these bits."""
        self._atoms = atoms
        self._rows = Elimination(len(atoms))
        self._rng = np.random.default_rng(secrets.randbits(128))
        self._fingerprint = self._rows.fingerprint(self._rng)
        self.signature = np.zeros(len(atoms), np.uint64)
        self._sets: list[Ints] = []
        self._boxes = np.zeros((0, atoms.shape[1]), np.uint64)
        self._units = np.zeros(0, np.int64)

    @property
    def rank(self) -> int:
        """How many of the sets are no combination of others."""
        return self._rows.rank

    @property
    def entries(self) -> int:
        """How many entries the elimination has."""
        return self._rows.entries

    @property
    def cells(self) -> int:
        """How many sets there are."""
        return len(self._units)

    def known(self, sums: Any) -> Bools:
        """Which sets (rows over the atoms) are linear combinations of those published."""
        return nothing(sums, self._fingerprint)

    def take(self, leaves: list[Ints]) -> Any:
        """Take in the leaves of a table; what takes them back."""
        rank, before, signature, many = self._rows.rank, self._fingerprint, self.signature, len(self._sets)
        fresh = self._rows.take(leaves)
        if fresh:
            self._fingerprint = self._rows.fingerprint(self._rng)
            self.signature = signature.copy()
            for k in fresh:
                self.signature[leaves[k]] += self._rng.integers(0, 1 << 63, dtype=np.uint64)
            self._sets += [leaves[k] for k in fresh]

        def back() -> None:
            self._rows.back(rank)
            self._fingerprint, self.signature = before, signature
            del self._sets[many:]

        return back

    @property
    def fixed(self) -> Any:
        """The independent published sets as rows over the atoms."""
        size = np.array([len(own) for own in self._sets], np.int64)
        index = np.concatenate(self._sets) if self._sets else np.zeros(0, np.int64)
        return sparse.csr_array(
            (np.ones(len(index), np.int64), index, np.concatenate(([0], np.cumsum(size)))),
            shape=(len(size), len(self._atoms)),
        )

    def keep(self, boxes: Any, units: Ints) -> None:
        """Note the cells of a table that was published: bits of their codes, and units."""
        self._boxes, self._units = np.concatenate((self._boxes, boxes)), np.concatenate((self._units, units))

    def differences(self, boxes: Any, units: Ints, fewest: int) -> list[Ints] | None:
        """The atoms of all differences between new cells, or a new and a published one, that may have fewer units; None: too many."""
        every, all_units = np.concatenate((self._boxes, boxes)), np.concatenate((self._units, units))
        first, second = np.zeros((2, MOST_PAIRS), np.int64)
        arguments = (every, all_units, np.int64(len(self._units)), np.int64(fewest), first, second)
        loop = compiled(_pairs, Budget(), *arguments)
        assert loop is not None  # without a limit it is waited for
        many = int(loop(*arguments))
        if many >= MOST_PAIRS:
            return None
        return [
            np.flatnonzero(self._within(every[one]) & ~self._within(every[other]))
            for one, other in zip(first[:many].tolist(), second[:many].tolist(), strict=True)
        ]

    def _within(self, box: Any) -> Bools:
        return np.asarray(((self._atoms & ~box) == 0).all(axis=1))


def _pairs(boxes: Any, units: Ints, new: int, fewest: int, first: Ints, second: Ints) -> int:
    """Pairs of a set and one within it that have nearly as many units, at least one of them from ``new`` on; how many."""
    many = 0
    for i in range(new, len(units)):
        for j in range(i):
            apart = units[i] - units[j]
            if apart >= fewest or apart <= -fewest:
                continue
            within, around = True, True
            for word in range(boxes.shape[1]):
                both = boxes[i, word] & boxes[j, word]
                within = within and both == boxes[i, word]
                around = around and both == boxes[j, word]
                if not within and not around:
                    break
            if within == around:
                continue
            if many == len(first):
                return many
            first[many], second[many] = (j, i) if within else (i, j)
            many += 1
    return many
