"""Draws: what is secret in a release (senses, levels, targets), drawn from the key one way for all methods.

A draw is a fraction u in [0, 1), HMAC-SHA-256 of the purpose and the cell's identity under the key. It depends on nothing else: not on the order of
rows or dimensions, the words for totals, other cells, or values and levels. What is drawn is scaled by u, so that it grows with what it is a part of.
"""

from __future__ import annotations

import hmac
from dataclasses import dataclass, field

import numpy as np

from cellward.exact import Bools, Floats, Ints
from cellward.table.labels import Labels

BITS = 64
"""The binary digits of a fraction."""


@dataclass(frozen=True, eq=False)
class Draws:
    """The draws of a key for the cells that these labels name."""

    key: bytes = field(repr=False)
    labels: Labels

    def _numerators(self, what: str, cells: Ints) -> list[int]:
        """2^BITS·u of each cell."""
        return [
            int.from_bytes(hmac.digest(self.key, f"{what} of {cell}".encode(), "sha256")[: BITS // 8], "big")
            for cell in self.labels.identities(cells)
        ]

    def up_to(self, what: str, cells: Ints, most: Ints) -> Ints:
        """⌊u·(most + 1)⌋: a whole number from 0 to ``most`` for each cell, uniform but for 2^−64."""
        drawn = zip(self._numerators(what, cells), most.tolist(), strict=True)
        return np.array([u * (m + 1) >> BITS for u, m in drawn], np.int64)

    def bits(self, what: str, cells: Ints) -> Bools:
        """One bit for each cell: whether u is at least a half."""
        return np.array([u >> (BITS - 1) for u in self._numerators(what, cells)], bool)

    def fractions(self, what: str, cells: Ints) -> Floats:
        """u of each cell, as far as doubles go and below 1."""
        return np.array([(u >> BITS - 53) / 2.0**53 for u in self._numerators(what, cells)], np.float64)
