"""Program: the integer program of choosing senses under L1, in leaves, for HiGHS: of all senses at once, or of a block with all others as they are.

Columns are the leaves u; |z| by a column p ≥ z, p ≥ 0 for classes not at risk (w·(2p − z)); and for one at risk z = −down + (up + down)·y + p − q
with y whole, p ≤ far·y and q ≤ far·(1 − y). ``far`` comes from the cost that is to be beaten: w·|z| is at most that less what all others at risk cost
at least. Rows of classes not at risk are nearly all there is: of HIER13 1,600 rows, where the form by cells has 6,700.
"""

from __future__ import annotations

from dataclasses import dataclass

import numpy as np
from scipy.sparse import csr_matrix, diags, hstack, identity, vstack

from cellward.errors import SolverError
from cellward.exact import Bools, Floats, Ints
from cellward.protect.adjustment.choice.classes import Classes
from cellward.solve.budget import Budget
from cellward.solve.highs import solve_mip
from cellward.solve.model import LinearModel

WIDER = 1e-6
"""By how much of itself the cost to beat is exceeded, so that what has it stays a solution."""


@dataclass(frozen=True, eq=False)
class Answered:
    """Sides and their cost (None: none better was found), and what no sides cost less than."""

    decided: Ints | None
    cost: float
    bound: float


def least(classes: Classes, known: float, decided: Ints, free: Bools, budget: Budget) -> Answered:
    """The least cost over the sides of the free classes at risk, the others as decided; ``known``: what ``decided`` costs."""
    c = classes.within(known * (1 + WIDER))
    s, many, leaves = c.sides, len(c.at), c.matrix.shape[1]
    free = free & c.reachable()
    one_side = (s.only == 0) & ~c.reachable()
    side = np.where(s.only != 0, s.only, np.where(one_side, np.where(s.up <= c.hi[c.at], 1, -1), decided))
    risky = np.zeros(c.count, bool)
    risky[c.at] = True
    plain = np.flatnonzero(~risky & ((c.absolute > 0) | np.isfinite(c.lo) | np.isfinite(c.hi)))
    wide = s.up + s.down
    w, own = c.absolute[c.at], c.absolute[plain]
    above = np.maximum(np.minimum(c.hi[c.at], 2**53) - s.up, 0.0)
    below = np.maximum(np.minimum(-c.lo[c.at], 2**53) - s.down, 0.0)
    many_plain = len(plain)
    here, there = c.matrix[plain], c.matrix[c.at]

    def none(rows: int, columns: int) -> csr_matrix:
        return csr_matrix((rows, columns))

    one = identity(many, format="csr")
    rows = vstack(
        (
            hstack((-here, identity(many_plain, format="csr"), none(many_plain, 3 * many))),
            hstack((there, none(many, many_plain), -one, one, -diags(wide))),
            hstack((none(many, leaves + many_plain), one, none(many, many), -diags(above))),
            hstack((none(many, leaves + many_plain + many), one, diags(below))),
            hstack((c.condition, none(c.condition.shape[0], many_plain + 3 * many))),
        )
    ).tocsr()
    no_end, conditions = np.full(many, -np.inf), np.zeros(c.condition.shape[0])
    first, last = np.where(free, 0.0, side > 0), np.where(free, 1.0, side > 0)
    low, high = _ends_of_leaves(c)
    slope = np.divide(w * (s.up - s.down), wide, out=np.zeros(many), where=wide > 0)
    model = LinearModel(
        cost=np.concatenate((-(here.T @ own), 2 * own, w, w, slope * wide)),
        lower=np.concatenate((low, np.zeros(many_plain + 2 * many), first)),
        upper=np.concatenate((high, np.maximum(c.hi[plain], 0), above, below, last)),
        indptr=rows.indptr.astype(np.int64),
        indices=rows.indices.astype(np.int64),
        coefs=rows.data.astype(np.float64),
        row_lower=np.concatenate((np.zeros(many_plain), -s.down, no_end, no_end, conditions)),
        row_upper=np.concatenate((np.maximum(-c.lo[plain], 0), -s.down, np.zeros(many), below, conditions)),
        integer=np.arange(rows.shape[1]) >= rows.shape[1] - many,
    )
    constant = float((w * s.down).sum())
    try:
        found = solve_mip(model, budget=budget.counting(constant, 1.0), stoppable=True)
    except SolverError:
        return Answered(None, known, float("-inf"))
    bound = known if found.status == "infeasible" else min(found.bound + constant, known)
    if found.x is None or found.objective + constant >= known:
        return Answered(None, known, bound)
    return Answered(np.where(found.x[-many:] > 0.5, 1, -1), found.objective + constant, bound)


def _ends_of_leaves(c: Classes) -> tuple[Floats, Floats]:
    """Bounds of the leaves that are classes themselves."""
    single = np.flatnonzero(np.diff(c.matrix.indptr) == 1)
    at = c.matrix.indptr[single]
    leaf, coef = c.matrix.indices[at], c.matrix.data[at]
    ends = np.sort(np.stack((c.lo[single] / coef, c.hi[single] / coef)), axis=0)
    low, high = np.full(c.matrix.shape[1], -np.inf), np.full(c.matrix.shape[1], np.inf)
    np.maximum.at(low, leaf, ends[0])
    np.minimum.at(high, leaf, ends[1])
    return low, high
