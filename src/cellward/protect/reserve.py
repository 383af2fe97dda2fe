"""Reserve: the parts of a job's time that are kept for what comes after the search: showing what it found, certifying and writing it."""

from __future__ import annotations

import os

from cellward.instance import Instance
from cellward.risk.attacker import FEW
from cellward.solve.budget import Budget

AT_LEAST_S, A_CELL_S, AN_ENTRY_S = 0.05, 4e-5, 8e-6
"""To close: measured on tables of 400 to 70,000 cells, with some to spare; a certificate is made, checked and packed by the cell."""
SHOWN_SHARE, A_SHOWN_CELL_S, A_RISK_S = 0.05, 5e-5, 1e-4
"""To show: the bound by the cell; where cells are at risk a share of the limit, and another table for each of them."""
A_LEVEL_S, CROWD_CELL_S = 1.5e-5, 5e-5
"""To close: for each level against each attacker, which a certificate shows by name; and by the cell, as a crowd takes a hundred tables and more."""
WITH_SUMS = 1.7
"""How much longer it takes to close where sums of cells have a certificate of their own."""
BUSIEST = 3.0
"""So many times as much is kept at most where others use the machine too."""
MOST = 0.25
"""The largest share of what is left that is kept for either: a table must be found first."""


def reserves(instance: Instance, budget: Budget) -> tuple[float, float]:
    """Seconds to keep for showing and for closing, by the size of the table; 0 where there is no limit."""
    if budget.left is None or budget.time_limit_s is None:
        return 0.0, 0.0
    close = AT_LEAST_S + A_CELL_S * instance.cells + AN_ENTRY_S * len(instance.relations.indices)
    close += A_LEVEL_S * sum(len(each.wanted(instance.sensitivity.levels)) for each in instance.attackers)
    if len(instance.attackers) > FEW:
        close += CROWD_CELL_S * instance.cells
    close *= busy() * (WITH_SUMS if instance.sensitivity.sums else 1.0)
    show = A_SHOWN_CELL_S * instance.cells
    if len(instance.sensitivity.unsafe):
        show += SHOWN_SHARE * budget.time_limit_s + A_RISK_S * len(instance.sensitivity.unsafe)
    return min(show, MOST * budget.left), min(close, MOST * budget.left)


def busy() -> float:
    """How many times as long as on an idle machine things are likely to take on this one: programs that want to run, over cores."""
    load = os.getloadavg()[0] if hasattr(os, "getloadavg") else 0.0
    return min(max(load / (os.cpu_count() or 1), 1.0), BUSIEST)
