"""τ-ARGUS' output type 6, a JJ file as its own solvers expect it: whole weights up to 20,000, and every cell bounded above."""

from __future__ import annotations

from dataclasses import replace

import numpy as np

from cellward.errors import InputError
from cellward.exact import LARGEST, NO_BOUND
from cellward.table.table import Table

MOST_COST = 20_000


def with_whole_costs(table: Table) -> Table:
    """The same table with costs, its weights or the sizes of its values, scaled to whole numbers from 1 to 20,000 as τ-ARGUS does."""
    cost = np.abs(table.scaled) if table.weight is None else table.weight
    most = int(cost.max(initial=0))
    weight = np.maximum(1, [(2 * c * MOST_COST + most) // (2 * most) if most else 1 for c in cost.tolist()]).astype(
        np.int64
    )
    return replace(table, weight=weight, weight_decimals=0)


def for_solvers(table: Table) -> Table:
    """The same with whole costs, and one and a half times the largest amount where no upper bound is known.

    The bound is τ-ARGUS' own: its solvers take what is beyond 2·10^13 for infinite and fail on some tables that are open above. A value with its
    level stays within.
    """
    table = with_whole_costs(table)
    largest = int(np.abs(table.scaled).max(initial=0))
    if table.contributions is not None:
        largest = max(largest, int(table.contributions.size.max(initial=0)))
    reach = int((table.scaled + table.sensitivity.upl).max(initial=0))
    bound = max(largest + (largest + 1) // 2, reach)
    if bound > LARGEST:
        raise InputError(
            "the bound of the cells, one and a half times the largest amount, is beyond 2^53; choose a larger unit"
        )
    return replace(table, upper=np.where(table.upper == NO_BOUND, bound, table.upper))
