"""Reserve: the part of a job's time that is kept for what comes after the search: showing, certifying, writing."""

from __future__ import annotations

from cellward.instance import Instance
from cellward.solve.budget import Budget

AT_LEAST_S, A_CELL_S, AN_ENTRY_S = 0.05, 4e-5, 8e-6
"""Measured on tables of 400 to 70,000 cells, with some to spare: a certificate is made, checked and packed by the cell."""
A_RISK_S = 1e-4
"""Another table for each cell at risk, at the gate."""
MOST = 0.4
"""The largest share of what is left that is kept: a table must be found first."""


def reserve_s(instance: Instance, budget: Budget) -> float:
    """Seconds to keep, by the size of the table; 0 where there is no limit."""
    if budget.left is None:
        return 0.0
    size = A_CELL_S * instance.cells + AN_ENTRY_S * len(instance.relations.indices)
    return min(AT_LEAST_S + size + A_RISK_S * len(instance.sensitivity.unsafe), MOST * budget.left)
