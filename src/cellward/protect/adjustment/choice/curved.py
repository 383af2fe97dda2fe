"""Curved: the relaxation of an adjustment under L2 whose senses are open, in leaves, by the interior point.

Things at risk are classes of cells that move alike. One that is not decided is z = −down + t + p − q: 0 ≤ t ≤ up + down at the slope of the envelope,
and p, q ≥ 0 with f beyond the levels. p and q are two leaves more and t, which is z + down − p + q, stands in the place of the class, so that the
interior point of solve/interior.py takes it as it is. Where the envelope falls, everything is mirrored, so that no slope is negative.
"""

from __future__ import annotations

from collections.abc import Callable
from functools import cached_property

import numpy as np
from scipy.sparse import csr_matrix, diags, hstack, vstack

from cellward.protect.adjustment.choice.classes import Classes
from cellward.protect.adjustment.choice.envelope import Envelope, Relaxed
from cellward.protect.adjustment.choice.sides import Decided
from cellward.solve.budget import Budget
from cellward.solve.interior import Rows, interior_point

ACCURACY = 1e-9
SHY = 1e-9
"""The share of a bound that is given up for the last digits of the interior point."""


class Curved:
    """The relaxation of one problem by classes."""

    def __init__(self, classes: Classes, otherwise: Callable[[Decided], float | None], budget: Budget) -> None:
        self.otherwise = otherwise
        self.classes, self.sides, self.budget = classes, classes.sides, budget

    @cached_property
    def _any(self) -> Envelope:
        """Whether any table has these decisions, which the interior point does not say."""
        return Envelope.in_leaves(self.classes, self.budget)

    def _settled(self, decided: Decided) -> Relaxed:
        """Where the interior point has no answer: that no table has these decisions; or, once all are made, the least distance by other forms."""
        found = self._any.solve(decided)
        if found.status == "infeasible":
            return found
        cost = self.otherwise(decided) if decided.all() else None
        return Relaxed("unknown") if cost is None else Relaxed("optimal", cost)

    def solve(self, decided: Decided) -> Relaxed:
        """The relaxation with these decisions."""
        c, s = self.classes, self.sides
        lo, hi, square, absolute = c.lo.copy(), c.hi.copy(), c.square.copy(), np.zeros(c.count)
        rises, falls = c.at[decided > 0], c.at[decided < 0]
        lo[rises] = np.maximum(lo[rises], s.up[decided > 0])
        hi[falls] = np.minimum(hi[falls], -s.down[decided < 0])
        if np.any(lo > hi):
            return Relaxed("infeasible", float("inf"))
        open_ = np.flatnonzero(decided == 0)
        own, k, w = c.at[open_], len(open_), c.square[c.at[open_]]
        mirror = np.where(s.up[open_] >= s.down[open_], 1.0, -1.0)
        near, far = np.minimum(s.up, s.down)[open_], np.maximum(s.up, s.down)[open_]
        room = np.where(mirror > 0, hi[own], -lo[own]), np.where(mirror > 0, -lo[own], hi[own])
        lo[own], hi[own] = 0.0, near + far
        square[own], absolute[own] = 0.0, w * (far - near)
        shift = np.zeros(c.count + 2 * k)
        shift[own] = near
        turn = np.ones(c.count)
        turn[own] = mirror
        beyond = csr_matrix(
            (np.repeat([-1.0, 1.0], k), (np.concatenate((own, own)), np.arange(2 * k))), shape=(c.count, 2 * k)
        )
        leaves = c.matrix.shape[1]
        tail = csr_matrix(
            (np.ones(2 * k), (np.arange(2 * k), leaves + np.arange(2 * k))), shape=(2 * k, leaves + 2 * k)
        )
        matrix = vstack((hstack((diags(turn) @ c.matrix, beyond)), tail)).tocsr()
        condition = hstack((c.condition, csr_matrix((c.condition.shape[0], 2 * k)))).tocsr()
        lo = np.concatenate((lo, np.zeros(2 * k)))
        hi = np.concatenate((hi, np.maximum(room[0] - far, 0), np.maximum(room[1] - near, 0)))
        square = np.concatenate((square, w, w))
        absolute = np.concatenate((absolute, 2 * w * far, 2 * w * near))
        unit = _power(float(np.concatenate((s.up, s.down)).mean()))
        price = _power(max(float((square * unit**2).max(initial=0.0)), float((absolute * unit).max(initial=0.0))))
        found = interior_point(
            matrix,
            condition,
            np.zeros(condition.shape[0]),
            shift / unit,
            Rows.box(lo / unit, hi / unit),
            absolute=absolute * (unit / price),
            square=square * (unit**2 / price),
            accuracy=ACCURACY,
            budget=self.budget,
        )
        if found.status != "optimal" or not np.isfinite(found.x).all():
            return self._settled(decided)
        x = found.x * unit
        z = x[c.at].copy()
        z[open_] = mirror * (x[own] - near + x[c.count : c.count + k] - x[c.count + k :])
        bound = min(found.bound, found.objective) * price + float((w * near**2).sum())
        between = np.maximum(np.minimum(z + s.down, s.up - z), 0.0)
        missed = np.where(decided == 0, c.square[c.at] * between * (s.up + s.down), 0.0)
        return Relaxed("optimal", bound - SHY * abs(bound), z, missed)


def _power(size: float) -> float:
    return float(2.0 ** round(np.log2(size))) if size > 0 else 1.0
