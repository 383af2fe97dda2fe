"""Score: the sum of the N largest contributions of a cell when each stands for as many units as its sampling weight says.

The contribution x_i with weight w_i counts w_i times, in order, until N units are used: Σ x_i·t_i with t_i = min(w_i, N − t_1 − … − t_{i−1}).
Source: the τ-ARGUS manual, sampling weights.
"""

from __future__ import annotations

from collections.abc import Sequence
from fractions import Fraction

import numpy as np
from numpy.typing import NDArray

from cellward.exact import Ints


def score(largest: Sequence[int], weighted: Sequence[int], many: int) -> Fraction:
    """The score of one cell, exactly; ``weighted`` are the contributions times their weights.

    >>> score([100, 50], [150, 50], 2)  # 1.5 units of 100, half a unit of 50
    Fraction(175, 1)
    """
    total, used = Fraction(0), Fraction(0)
    for x, wx in zip(largest[:many], weighted[:many], strict=True):
        if not x:
            break
        units = min(Fraction(wx, x), many - used)
        total += units * x
        used += units
    return total


def float_score(top: Ints, weighted: Ints, many: int) -> NDArray[np.float64]:
    """The scores of all cells in doubles. Each t_i is right to a few ulps, or is N − used where used·x_i is already in the sum, so the
    relative error stays near N·2^−53."""
    total, used = np.zeros(top.shape[1]), np.zeros(top.shape[1])
    for x, wx in zip(top[:many], weighted[:many], strict=True):
        units = np.minimum(np.divide(wx, x, out=np.zeros(len(x)), where=x > 0), many - used)
        total += units * x
        used += units
    return total
