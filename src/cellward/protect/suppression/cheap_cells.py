"""CheapCells: safe patterns where levels are too many for tables of their own: all cells withheld, then the cheap ones and what the auditor asks."""

from __future__ import annotations

import numpy as np

from cellward.audit.evidence import Evidence, show_levels
from cellward.exact import Bools
from cellward.instance import Instance
from cellward.protect.suppression.construction import Construction
from cellward.publication.withheld import Withheld
from cellward.solve.budget import Budget

SHARE = 0.3
"""The cheapest cells that make this part of all costs are withheld, and what they leave unmet is completed."""
ROUNDS = 2
"""Times that such a pattern is judged."""
AUDITS = 4.0
"""An audit is begun while there is time for so many."""


def cheap_cells(made: Construction, judged: Instance, budget: Budget) -> tuple[Bools, Evidence]:
    """The pattern and what shows it; evidence that something is missing where even all cells are not enough, or time is."""
    problem, began = made.problem, budget.spent
    withheld = problem.candidate | problem.forced
    evidence = _shown(made, judged, withheld, budget)
    took = budget.spent - began
    if evidence.missing:
        return withheld, evidence
    withheld = problem.forced | _moved(evidence, withheld)
    order = np.argsort(made.cost, kind="stable")
    so_far = np.cumsum(made.cost[order])
    cheap = order[so_far <= SHARE * so_far[-1]]
    made.pattern[cheap] |= problem.candidate[cheap]
    for _ in range(ROUNDS):
        if budget.left is not None and budget.left < AUDITS * took:
            break
        tried = _shown(made, judged, made.pattern, budget)
        if not tried.missing:
            return made.pattern, tried
        made.complete(tried.cells, budget.part(took))
    return withheld, evidence


def _shown(made: Construction, judged: Instance, withheld: Bools, budget: Budget) -> Evidence:
    return show_levels(judged, Withheld.of(judged.a, np.flatnonzero(withheld)), budget.showing, made.pool.witnesses)


def _moved(evidence: Evidence, among: Bools) -> Bools:
    """The cells that some witness moves: the others may as well be printed."""
    out = np.zeros_like(among)
    for one in evidence.shown:
        out |= one.witness.shift != 0
    return out & among
