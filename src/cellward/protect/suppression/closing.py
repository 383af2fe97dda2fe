"""Closing: from a safe pattern to one from which no single cell can be taken, the dearest first, every level judged exactly each time."""

from __future__ import annotations

import numpy as np

from cellward.audit.evidence import Evidence, show_levels
from cellward.exact import Bools
from cellward.instance import Instance
from cellward.protect.suppression.problem import SuppressionProblem
from cellward.publication.withheld import Withheld
from cellward.solve.budget import Budget


def closed(problem: SuppressionProblem, judged: Instance, withheld: Bools, evidence: Evidence, budget: Budget) -> Bools:
    """What is left of a pattern that this evidence shows to be safe."""
    withheld, moved = withheld.copy(), _moved(evidence, judged.cells)
    for i in sorted(np.flatnonzero(withheld & ~problem.forced).tolist(), key=lambda i: (-int(problem.cost[i]), i)):
        if budget.over:
            break
        withheld[i] = False
        if moved[i]:
            tried = show_levels(judged, Withheld.of(judged.a, np.flatnonzero(withheld)), budget.part())
            if tried.missing:
                withheld[i] = True
            else:
                moved = _moved(tried, judged.cells)
    return withheld


def _moved(evidence: Evidence, cells: int) -> Bools:
    """The cells that some witness moves: closing another leaves every witness."""
    moved = np.zeros(cells, bool)
    for one in evidence.shown:
        moved |= one.witness.shift != 0
    return moved
