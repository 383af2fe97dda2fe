"""FewCandidates: where a few cells are left to choose from, every pattern cheaper than the best counts as tried, so that the least is known.

Cuts of widths take both ways together and do not tell all: a pattern may keep every one of them and be unsafe. Withholding more never helps an
attacker, so a pattern within an unsafe one is unsafe: each that is tried in vain is first grown as far as it stays unsafe, and rules out all
within.
"""

from __future__ import annotations

from dataclasses import replace

import numpy as np

from cellward.audit.evidence import Evidence, show_levels
from cellward.exact import Bools
from cellward.protect.suppression.problem import Pattern, SuppressionProblem
from cellward.publication.withheld import Withheld
from cellward.solve.budget import Budget

FEW = 14
"""Cells to choose from, up to which all patterns are tried."""


def finished(problem: SuppressionProblem, found: Pattern, budget: Budget) -> Pattern:
    """The least pattern where there are few cells to choose from and it is not known yet; else what was found."""
    free = np.flatnonzero(problem.candidate & ~problem.forced)
    best = found.withheld
    if found.status != "feasible" or best is None or problem.exact_only or len(free) > FEW:
        return found
    costs = np.zeros(1, np.int64)
    for i in free.tolist():
        costs = np.concatenate((costs, costs + problem.cost[i]))
    most = int(problem.cost[best].sum())
    every, alive = np.arange(len(costs)), costs < most
    for pattern in np.argsort(costs, kind="stable").tolist():
        if not alive[pattern]:
            continue
        shown = _shown(problem, free, pattern, budget)
        if budget.over or shown.unsettled:
            return found
        if not shown.missing:
            withheld = _withheld(problem, free, pattern)
            cost = int(costs[pattern])
            return replace(found, status="optimal", withheld=withheld, bound=cost, evidence=shown)
        for k in range(len(free)):
            more = pattern | 1 << k
            if more != pattern and _shown(problem, free, more, budget).missing:
                pattern = more
        alive[(every & ~pattern) == 0] = False
    return replace(found, status="optimal", bound=most)


def _withheld(problem: SuppressionProblem, free: np.ndarray, pattern: int) -> Bools:
    out = problem.forced.copy()
    out[free] = (pattern >> np.arange(len(free))) & 1 == 1
    return out


def _shown(problem: SuppressionProblem, free: np.ndarray, pattern: int, budget: Budget) -> Evidence:
    told = Withheld.of(problem.instance.a, np.flatnonzero(_withheld(problem, free, pattern)))
    return show_levels(problem.instance, told, budget.showing)
