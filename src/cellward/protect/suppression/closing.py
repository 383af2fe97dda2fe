"""Closing: from a safe pattern to one from which no single cell can be taken, the dearest first, every level judged exactly each time."""

from __future__ import annotations

import numpy as np

from cellward.audit.evidence import Evidence, show_levels
from cellward.exact import Bools
from cellward.instance import Instance
from cellward.protect.suppression.problem import SuppressionProblem
from cellward.publication.withheld import Withheld
from cellward.solve.budget import Budget

AUDITS = 2.0
"""Another candidate is asked about while there is time for so many answers as the last one was."""


def closed(
    problem: SuppressionProblem, judged: Instance, withheld: Bools, evidence: Evidence, budget: Budget
) -> tuple[Bools, Evidence]:
    """What is left of a pattern that this evidence shows to be safe, and what shows it."""
    moved, took = _moved(evidence, judged.cells), 0.0
    withheld = withheld & (problem.forced | moved)
    for i in sorted(np.flatnonzero(withheld & ~problem.forced).tolist(), key=lambda i: (-int(problem.cost[i]), i)):
        if budget.over or (budget.left is not None and budget.left < AUDITS * took):
            break
        withheld[i] = False
        if moved[i]:
            began = budget.spent
            tried = show_levels(judged, Withheld.of(judged.a, np.flatnonzero(withheld)), budget.part())
            took = budget.spent - began
            if tried.missing:
                withheld[i] = True
            else:
                evidence, moved = tried, _moved(tried, judged.cells)
    return withheld, evidence


def _moved(evidence: Evidence, cells: int) -> Bools:
    """The cells that some witness moves: closing another leaves every witness."""
    moved = np.zeros(cells, bool)
    for one in evidence.shown:
        moved |= one.witness.shift != 0
    return moved
