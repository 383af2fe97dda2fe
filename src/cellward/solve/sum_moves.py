"""Moves of parts: whole numbers moved one by one, by a compiled loop, until sums at risk are far enough from where they were and others near to it.

Part i moved by z_i moves every sum above it; sum c is then off by d_c. A sum at risk asks for d_c ≥ up_c or d_c ≤ −down_c. What is made small is

    Σ (d_c / scale_c)² + Σ_at risk dear_c·(1/2 + miss_c / far_c)   where miss_c > 0,

miss_c being how much the sum lacks to the nearer of its two sides, far_c the smaller of up_c and down_c. One part after the other takes the best of a
few moves: the least of the quadratic part, back to nothing, to the other side, a random step, and what one of its sums lacks. Where sums still lack
something, what that costs grows round by round, and the parts below them are gone over again. The same seed gives the same moves.
"""

from __future__ import annotations

from dataclasses import dataclass
from typing import Any

import numpy as np

from cellward.exact import Bools, Floats, Ints
from cellward.solve.budget import Budget
from cellward.solve.compiled import compiled
from cellward.table.relations import ranges

DEARER = 2.0
"""What a sum that lacks something costs more from round to round."""
FEWER = 200
"""Sums of at most so many parts are gone after by all of these, larger ones by this many of them."""


@dataclass(frozen=True, eq=False)
class SumMoves:
    """Sums over parts (sums × parts, zeros and ones), what they ask, and by how much parts may move."""

    sums: Any
    up: Ints
    down: Ints
    scale: Floats
    low: Ints
    high: Ints

    def lacking(self, d: Ints) -> Bools:
        """Which sums at risk are not far enough from where they were."""
        return np.asarray((self.up > 0) & (d < self.up) & (d > -self.down))

    def run(
        self, z: Ints, d: Ints, dear: float, budget: Budget, *, sweeps: int = 12, rounds: int = 200
    ) -> tuple[Ints, Ints]:
        """The moves found, from ``z`` on, and what the sums are off by; ``d``: what they are off by at first."""
        z, d = np.clip(z, self.low, self.high).astype(np.int64), d.astype(np.int64)
        rows, columns = self.sums.tocsr(), self.sums.tocsc()
        d += np.asarray(rows @ z, np.int64) if len(z) else 0
        if not len(z):
            return z, d
        price = np.full(len(d), dear)
        far = np.maximum(np.minimum(self.up, self.down), 1).astype(np.float64)
        fixed = (
            columns.indptr.astype(np.int64),
            columns.indices.astype(np.int32),
            self.up,
            self.down,
            far,
            1 / self.scale**2,
        )
        ends = (self.low.astype(np.int64), self.high.astype(np.int64))
        state = np.array([2 * budget.seed + 1], np.uint64)
        every = np.arange(len(z))
        rng = np.random.default_rng(budget.seed)
        sweep = compiled(_sweep, budget, *fixed, price, *ends, z, d, state, every)
        if sweep is None:
            return z, d
        for _ in range(sweeps):
            sweep(*fixed, price, *ends, z, d, state, rng.permutation(every))
        for _ in range(rounds):
            lacking = np.flatnonzero(self.lacking(d))
            if not len(lacking) or budget.over:
                break
            price[lacking] *= DEARER
            sweep(*fixed, price, *ends, z, d, state, rng.permutation(_below(rows, lacking, rng)))
        return z, d


def _below(rows: Any, sums: Ints, rng: np.random.Generator) -> Ints:
    """The parts below these sums; of large sums some."""
    first, size = rows.indptr[sums], np.diff(rows.indptr)[sums]
    small = size <= FEWER
    own = [rows.indices[ranges(first[small], first[small] + size[small])]]
    own += [
        rows.indices[start + rng.integers(0, many, FEWER)]
        for start, many in zip(first[~small].tolist(), size[~small].tolist(), strict=True)
    ]
    return np.unique(np.concatenate(own)).astype(np.int64)


def _sweep(
    up_at: Ints, above: Ints, up: Ints, down: Ints, far: Floats, stiff: Floats, price: Floats, low: Ints, high: Ints, z: Ints, d: Ints,
    state: Any, order: Ints,
) -> int:  # fmt: skip
    """Every part in this order takes the best of its moves, in place; how many moved. Part i lies below the sums above[up_at[i]:up_at[i+1]]."""
    moved, x = 0, state[0]
    tried = np.zeros(12, np.int64)
    for i in order:
        begin, end = up_at[i], up_at[i + 1]
        slope, bend, many = 0.0, 0.0, 0
        for at in range(begin, end):
            c = above[at]
            slope += d[c] * stiff[c]
            bend += stiff[c]
            if many < 6 and up[c] > 0 and d[c] < up[c] and d[c] > -down[c]:
                tried[many], tried[many + 1] = up[c] - d[c], -down[c] - d[c]
                many += 2
        x ^= x << np.uint64(13)
        x ^= x >> np.uint64(7)
        x ^= x << np.uint64(17)
        part = float(x >> np.uint64(11)) / 9007199254740992.0
        tried[many] = np.int64(np.round(-slope / bend))
        tried[many + 1] = -z[i]
        tried[many + 2] = -2 * z[i]
        tried[many + 3] = np.int64(np.round((part - 0.5) * (abs(z[i]) + 2)))
        tried[many + 4] = np.int64(np.round(-slope / bend * part))
        best, step = -1e-9, np.int64(0)
        for k in range(many + 5):
            s = min(max(tried[k], low[i] - z[i]), high[i] - z[i])
            if s == 0:
                continue
            delta = 0.0
            for at in range(begin, end):
                c = above[at]
                old, new = d[c], d[c] + s
                delta += (float(new) * new - float(old) * old) * stiff[c]
                if up[c] > 0:
                    if old < up[c] and old > -down[c]:
                        delta -= price[c] * (0.5 + min(up[c] - old, old + down[c]) / far[c])
                    if new < up[c] and new > -down[c]:
                        delta += price[c] * (0.5 + min(up[c] - new, new + down[c]) / far[c])
            if delta < best:
                best, step = delta, s
        if step != 0:
            moved += 1
            z[i] += step
            for at in range(begin, end):
                d[above[at]] += step
    state[0] = x
    return moved
