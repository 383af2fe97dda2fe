"""Whole multiples: whole numbers in proportion to what a solver says of multipliers of equations, to be tried in exact arithmetic."""

from __future__ import annotations

from collections.abc import Iterator

import numpy as np

from cellward.exact import Floats, Ints

DENOMINATORS = (1, 2, 3, 4, 5, 6, 8, 10, 12, 60)
"""Multipliers that are not whole become so times one of these."""
LARGEST_MULTIPLIER = 2**40
NOT_ZERO = 1e-9
"""What is smaller than this share of the largest multiplier is none."""


def whole_multiples(guess: Floats) -> Iterator[Ints]:
    """Whole multipliers near a guess: itself where it is whole, or in units of its least."""
    size = np.abs(guess)
    least = float(size[size > NOT_ZERO * float(size.max(initial=0.0))].min(initial=np.inf))
    if not np.isfinite(least) or least <= 0:
        return
    for unit in dict.fromkeys((1.0, least)):
        for d in DENOMINATORS:
            many = guess * (d / unit)
            if float(np.abs(many).max()) > LARGEST_MULTIPLIER:
                break
            whole = np.rint(many)
            if np.abs(many - whole).max() <= 1e-6 * max(float(np.abs(many).max()) / 2**20, 1.0) and whole.any():
                yield whole.astype(np.int64)
