"""Every sense: all combinations of senses of the cells at risk of a small table, each tried in exact arithmetic, to judge searches for senses by.

Nothing of the method's own code: rooms and levels are read off the table, and a combination goes when an exact linear program has a point. Tables on
the grid are asked for by SciPy's integer programs.
"""

from __future__ import annotations

from collections.abc import Iterator
from itertools import product

import exact_lp
import numpy as np
from scipy.optimize import Bounds, LinearConstraint, milp
from scipy.sparse import csr_matrix

import cellward as cw

NO_BOUND = 2**53
Box = tuple[list[int], list[int]]


Sides = list[tuple[int, list[tuple[int, int]]]]
"""Cells at risk, each with the least and greatest values of every side that it may take."""


def sides(
    table: cw.Table, *, fixed: set[int] | frozenset[int] = frozenset(), zeros_stay: bool = True
) -> tuple[Box, Sides]:
    """The least and greatest values that cells may be published with but for their levels, and the sides of those at risk.

    The cells at risk have lpl and upl, of which 0 means not that way.
    """
    s, a = table.sensitivity, table.scaled.tolist()
    risky = [i for i in range(table.cells) if s.lpl[i] > 0 or s.upl[i] > 0]
    lo = [max(int(x), -NO_BOUND) for x in table.lower]
    hi = [min(int(x), NO_BOUND) for x in table.upper]
    for i in range(table.cells):
        if i in fixed or bool(s.fixed[i]) or (zeros_stay and a[i] == 0 and i not in risky):
            lo[i] = hi[i] = a[i]
    found = []
    for i in risky:
        up, down = int(s.upl[i]), int(s.lpl[i])
        own = [(a[i] + up, hi[i])] if up and a[i] + up <= hi[i] else []
        found.append((i, own + ([(lo[i], a[i] - down)] if down and a[i] - down >= lo[i] else [])))
    return (lo, hi), found


def boxes(table: cw.Table, *, fixed: set[int] | frozenset[int] = frozenset(), zeros_stay: bool = True) -> Iterator[Box]:
    """For each combination of senses the least and greatest values that cells may be published with; not those that leave a cell without any."""
    (lo, hi), found = sides(table, fixed=fixed, zeros_stay=zeros_stay)
    for chosen in product(*(own for _, own in found)):
        low, high = lo.copy(), hi.copy()
        for (i, _), (least, most) in zip(found, chosen, strict=True):
            low[i], high[i] = least, most
        yield low, high


def rows_of(table: cw.Table) -> list[exact_lp.Row]:
    """The equations as exact_lp takes them."""
    r = table.relations
    out = []
    for j in range(r.equations):
        rhs, cells, coefs = r.equation(j)
        out.append((int(rhs), [int(i) for i in cells], [int(c) for c in coefs]))
    return out


def goes(table: cw.Table, box: Box) -> bool:
    """Whether some additive table, fractions included, lies in the box."""
    try:
        exact_lp.Vertex(rows_of(table), *box)
    except exact_lp.EmptyRegionError:
        return False
    return True


def goes_whole(table: cw.Table, box: Box) -> bool:
    """Whether some additive table of whole values does."""
    r = table.relations
    matrix = csr_matrix((r.coefs.astype(float), r.indices, r.indptr), shape=(r.equations, r.cells))
    around = np.asarray(table.scaled, float)  # deviations are of moderate size
    lo, hi = (np.asarray(end, float) - around for end in box)
    lo, hi = np.where(lo < -1e12, -np.inf, lo), np.where(hi > 1e12, np.inf, hi)
    found = milp(
        np.zeros(r.cells),
        integrality=np.ones(r.cells),
        bounds=Bounds(lo, hi),
        constraints=LinearConstraint(matrix, 0, 0),
    )
    return bool(found.success)
