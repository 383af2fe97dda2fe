"""Distance of a table from values that do not add up, in whole numbers: what moves cost, and a bound that prices of the equations prove.

Legend: z whole moves, f(z) = w·|z| or w·z² what they cost, M·z = r what they have to make up for, lo ≤ z ≤ hi with lo ≤ 0 ≤ hi, y = n/q prices of the
equations, g = Mᵀn. For any prices and every table of the room

    q·Σ f(z) = q·Σ f(z) − n·(M·z − r) ≥ n·r + Σ_i min over whole z of the room of (q·f(z) − g_i·z),

a sum of terms in one cell each; whatever the prices, nothing false is proven.
"""

from __future__ import annotations

from dataclasses import dataclass
from fractions import Fraction
from math import isqrt

import numpy as np

from cellward.exact import LARGEST, NO_BOUND, Floats, Ints
from cellward.table.relations import Relations

DENOMINATORS = (1, 2, 3, 4, 6, 12, 60, 2**20)
"""Prices are rounded to whole numbers over one of these."""


@dataclass(frozen=True, eq=False)
class Distance:
    """What moves cost: ``power`` 1 or 2, a whole ``weight`` a cell; and the room of each cell."""

    power: int
    weight: Ints
    lo: Ints
    hi: Ints

    def value(self, z: Ints) -> int:
        """Σ f(z), exactly."""
        return sum(w * abs(x) ** self.power for w, x in zip(self.weight.tolist(), z.tolist(), strict=True) if x)

    def slope(self, start: Ints, end: Ints, weight: Ints) -> Floats:
        """What a unit costs on average from one move to another, further from 0, on the same side of it."""
        slope = weight.astype(float)
        return slope if self.power == 1 else slope * (np.abs(start) + np.abs(end)).astype(float)

    def least(self, relations: Relations, n: Ints, q: int, most: int | None) -> Fraction | None:
        """What prices n/q prove that tables cost at least; ``most``: what a table known costs, dearer moves than which none has to look at.

        None where a cell could go on for ever.
        """
        g = _transposed(relations, n)
        value = sum(x * y for x, y in zip(n.tolist(), relations.rhs.tolist(), strict=True))
        columns = (self.weight.tolist(), g, self.lo.tolist(), self.hi.tolist())
        for w, gi, lo, hi in zip(*columns, strict=True):
            if not gi:
                continue
            if (own := self._least_of(w, gi, q, lo, hi, most)) is None:
                return None
            value += own
        return Fraction(value, q)

    def _least_of(self, w: int, g: int, q: int, lo: int, hi: int, most: int | None) -> int | None:
        """The least of q·f(z) − g·z over the room of a cell."""
        size, end = abs(g), hi if g > 0 else -lo
        if w and most is not None:
            end = min(end, most // w if self.power == 1 else isqrt(most // w))
        if self.power == 1 or not w:
            if size <= q * w:
                return 0
            return None if end >= NO_BOUND else (q * w - size) * end
        best = min((2 * size + 2 * q * w) // (4 * q * w), end)  # g / 2qw, rounded
        return q * w * best * best - size * best

    def narrowed(self, relations: Relations, n: Ints, q: int, least: Fraction, most: int) -> tuple[Ints, Ints]:
        """The room without moves of single cells that prices prove to lead to nothing cheaper than ``most``."""
        g, spare = _transposed(relations, n), int((most - least) * q)
        lo, hi = self.lo.copy(), self.hi.copy()
        for i, (w, gi) in enumerate(zip(self.weight.tolist(), g, strict=True)):
            own = self._least_of(w, gi, q, int(lo[i]), int(hi[i]), most)
            assert own is not None
            for side in (1, -1):
                end = int(hi[i]) if side > 0 else -int(lo[i])
                cap = self._furthest(w, side * gi, q, own + spare, end)
                if side > 0:
                    hi[i] = cap
                else:
                    lo[i] = -cap
        return lo, hi

    def _furthest(self, w: int, g: int, q: int, most: int, end: int) -> int:
        """The greatest z ≥ 0 of the room with q·f(z) − g·z ≤ most; 0 where none is."""
        if self.power == 1:
            rise = q * w - g
            return end if rise <= 0 else min(end, max(0, most // rise))
        if not w:
            return end if g >= 0 else min(end, max(0, most // -g))
        root = isqrt(max(g * g + 4 * q * w * most, 0))
        return min(end, max(0, (g + root) // (2 * q * w)))

    def by_prices(self, relations: Relations, prices: Floats, most: int | None) -> tuple[Fraction, Ints, int] | None:
        """The best that prices near these prove, and the whole numbers that prove it."""
        best: tuple[Fraction, Ints, int] | None = None
        for q in DENOMINATORS:
            many = np.rint(prices * q)
            if np.abs(many).max(initial=0.0) > LARGEST:
                break
            n = many.astype(np.int64)
            found = self.least(relations, n, q, most)
            if found is not None and (best is None or found > best[0]):
                best = found, n, q
            if best is not None and most is not None and best[0] > most - 1:
                break
        return best


def _transposed(relations: Relations, n: Ints) -> list[int]:
    """Mᵀn, in whole numbers of any size."""
    size = float(np.abs(n).max(initial=0)) * relations.largest * max(relations.cells, 1)
    if size < 2.0**62:
        out = np.zeros(relations.cells, np.int64)
        np.add.at(out, relations.indices, relations.coefs * n[relations.row])
        return out.tolist()
    g = [0] * relations.cells
    for j, times in enumerate(n.tolist()):
        _, cells, coefs = relations.equation(j)
        for i, c in zip(cells, coefs, strict=True):
            g[i] += times * c
    return g
