"""The rivals by name; one line makes one known."""

from __future__ import annotations

from cellward.compare.rivals.cell_key import CellKey
from cellward.compare.rivals.conventional_rounding import ConventionalRounding
from cellward.compare.rivals.noise import AdditiveNoise, MultiplicativeNoise
from cellward.compare.rivals.random_rounding import RandomRounding
from cellward.compare.rivals.recoding import Recoding
from cellward.compare.rivals.rival import Rival
from cellward.compare.rivals.small_counts import SmallCounts

RIVALS: tuple[type[Rival], ...] = (
    RandomRounding,
    ConventionalRounding,
    SmallCounts,
    CellKey,
    AdditiveNoise,
    MultiplicativeNoise,
    Recoding,
)
