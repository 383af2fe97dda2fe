"""Refuted: levels that no perturbation between multiples meets together, by what follows from one sum after the other; without a solver.

The columns are v − lo of every cell and, for the ends that a level speaks of, whether the value sits there: v ≤ hi − (hi − lo)·z below,
v ≥ lo + (hi − lo)·z above. v need not be whole; with coefficients of ±1 nothing is rounded on the way.
"""

from __future__ import annotations

from collections.abc import Sequence

import numpy as np

from cellward.exact import Ints
from cellward.instance import Instance
from cellward.protect.lattice.capacity import Capacity
from cellward.protect.lattice.level_rows import level_cuts
from cellward.protect.lattice.refutation import FAR, Constraints
from cellward.protect.lattice.told_box import BetweenMultiples, Requirement


def refuted(instance: Instance, guards: Sequence[Capacity], lo: Ints, hi: Ints) -> list[Requirement]:
    """The requirements of such a conflict, as few as a filter finds; none where nothing is refuted."""
    told, r, n = guards[0].told if guards else None, instance.relations, instance.cells
    cuts = level_cuts(guards[0]) if guards else []
    if not isinstance(told, BetweenMultiples) or not cuts or r.largest > 1:
        return []
    at = np.unique(np.concatenate([one.cut.at for one in cuts]))
    cell, upper = at % n, at >= n
    place = np.full(told.quantities, -1, np.int64)
    place[at] = n + np.arange(len(at))
    # An end that lies beyond the bounds is never sat on.
    there = np.where(upper, hi[cell] == told.hi[cell], lo[cell] == told.lo[cell])
    width = (hi - lo)[cell]
    right = -r.residual(lo)
    rows = [
        (r.indices[r.indptr[j] : r.indptr[j + 1]], r.coefs[r.indptr[j] : r.indptr[j + 1]], int(right[j]), int(right[j]))
        for j in range(r.equations)
    ]
    for k, (i, up, wide) in enumerate(zip(cell.tolist(), upper.tolist(), width.tolist(), strict=True)):
        most = 0 if up else wide
        rows.append((np.array([i, n + k]), np.array([-1 if up else 1, wide]), -FAR, most))
    rows += [(place[one.cut.at], one.cut.coef, one.cut.least, FAR) for one in cuts]
    top = np.concatenate((hi - lo, there.astype(np.int64)))
    found = Constraints.listed(rows, top).conflict()
    if found is None:
        return []
    first = r.equations + len(at)
    return list(dict.fromkeys(cuts[k - first].need for k in found[0] if k >= first))
