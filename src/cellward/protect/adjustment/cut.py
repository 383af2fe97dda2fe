"""Cut: what equations, taken times multipliers, leave of senses: one inequality over them, of which a conflict is what it says of those at hand.

Legend: λ multipliers, g = Mᵀλ, z deviations. Every table has Σ g·z = 0. Let h_i(s) be the greatest g_i·z_i when cell i has the sense s: for senses
that go together Σ h_i(s_i) ≥ 0. Counted from the smaller h of each cell, those that take the sense of the larger must make up for what is missing.
"""

from __future__ import annotations

from collections.abc import Sequence
from dataclasses import dataclass
from functools import cached_property

import numpy as np

from cellward.exact import Floats, Ints

FINE = 2**20
"""Amounts go to solvers in so many parts of what is needed, rounded up, which forbids a little less and nothing that goes."""


@dataclass(frozen=True, eq=False)
class Cut:
    """Of the cells at risk ``at`` those that take the ``sense`` make up ``need`` with their ``amount``; exact, nothing larger than the need."""

    at: Ints
    sense: Ints
    amount: tuple[int, ...]
    need: int

    @staticmethod
    def one_of(at: Ints, sense: Ints) -> Cut:
        """One of these cells takes its sense."""
        return Cut(at, sense, (1,) * len(at), 1)

    @cached_property
    def shares(self) -> Floats:
        """Amounts as whole parts of FINE, which is what is needed; in parts of the need where it is smaller."""
        return np.array([-(-x * self.parts // self.need) for x in self.amount], np.float64)

    @property
    def parts(self) -> int:
        """What is needed, in those parts."""
        return min(self.need, FINE)


@dataclass(frozen=True, eq=False)
class Cuts:
    """Many of them as rows: the entries of each one after the other, ``share`` of its ``need``."""

    start: Ints
    at: Ints
    sense: Ints
    share: Floats
    need: Floats

    @staticmethod
    def of(cuts: Sequence[Cut]) -> Cuts:
        """Their entries."""
        length = [len(cut.at) for cut in cuts]
        return Cuts(
            np.concatenate(([0], np.cumsum(length))).astype(np.int64),
            np.concatenate([cut.at for cut in cuts]),
            np.concatenate([cut.sense for cut in cuts]),
            np.concatenate([cut.shares for cut in cuts]),
            np.array([cut.parts for cut in cuts], np.float64),
        )

    @property
    def row(self) -> Ints:
        """The cut of each entry."""
        return np.repeat(np.arange(len(self.need)), np.diff(self.start))

    def total(self, share: Floats) -> Floats:
        """Sums over the entries of each cut."""
        return np.asarray(np.bincount(self.row, share, len(self.need)))
