"""Repair: widths that meet every requirement, from widths that do not: each requirement that is missed gets the move that costs least beyond them.

Legend: min Σ w·(p + q) over M·(z + p − q) = 0, −below ≤ z ≤ above, p, q ≥ 0 within the attacker's rooms, ±(z + p − q)_i ≥ level.
"""

from __future__ import annotations

import numpy as np

from cellward.exact import Bools, Floats
from cellward.protect.intervals.requirements import Requirements
from cellward.solve.ask import ask
from cellward.solve.budget import Budget
from cellward.solve.highs import solve_lp
from cellward.solve.model import LinearModel
from cellward.table.relations import Relations

DUST = 1e-7
"""Moves smaller than this are the solver's."""


def cheapest_move(
    relations: Relations,
    asked: Requirements,
    r: int,
    level: float,
    way: int,
    x: Floats,
    free: Bools,
    weight: Floats,
    budget: Budget,
) -> Floats | None:
    """The move that reaches a level that way and costs least beyond widths x (columns below, then above); None where there is none."""
    n, p = relations.cells, int(asked.cell[r])
    most_below, most_above = asked.widths(r, np.where(free, asked.below, 0.0), np.where(free, asked.above, 0.0))
    below, above = np.minimum(x[:n], most_below), np.minimum(x[n:], most_above)
    keep = np.ones(relations.equations, bool)
    keep[relations.redundant] = False
    rows = relations.take(np.flatnonzero(keep))
    # Each column once within the widths, once beyond them upwards and once downwards.
    coefs = np.repeat(rows.coefs.astype(float), 3) * np.tile([1.0, 1.0, -1.0], len(rows.coefs))
    indices = np.repeat(rows.indices, 3) + np.tile([0, n, 2 * n], len(rows.indices))
    model = LinearModel(
        cost=np.concatenate((np.zeros(n), weight, weight)),
        lower=np.concatenate((-below, np.zeros(2 * n))),
        upper=np.concatenate((above, most_above - above, most_below - below)),
        indptr=np.concatenate((3 * rows.indptr, [3 * len(rows.indices) + 3])),
        indices=np.concatenate((indices, [p, n + p, 2 * n + p])),
        coefs=np.concatenate((coefs, [way, way, -way])),
        row_lower=np.append(np.zeros(rows.equations), level),
        row_upper=np.append(np.zeros(rows.equations), np.inf),
    )
    found = ask(solve_lp, model, columns=3 * n, rows=model.rows, budget=budget)
    if found.x is None or found.status != "optimal":
        return None
    z = found.x[:n] + found.x[n : 2 * n] - found.x[2 * n :]
    return np.where(np.abs(z) > DUST, z, 0.0)
