"""The whole question: some columns in all of their equations, implied ones too, as CP-SAT is asked.

Implied equations say nothing new, but what follows from single equations is most of what leads CP-SAT to a table: on four-dimensional counts it finds
a first one in a second with all of them, and none in a minute without.
"""

from __future__ import annotations

import numpy as np

from cellward.exact import Ints
from cellward.protect.lattice.linear import linear
from cellward.protect.lattice.problem import LatticeProblem
from cellward.solve.model import LinearModel

SEARCHERS = 8
"""CP-SAT's threads: its searchers for a first table come in with the eighth, whatever the number of cores."""


def too_easy(problem: LatticeProblem, fewest: int) -> str | None:
    """Why a problem is not asked as a whole, or None: small ones are for exact engines, plain arrays for walks, networks for flows."""
    if problem.size < fewest:
        return f"{problem.size:,} columns are few enough for a vertex"
    if problem.model.instance.relations.array_shape is not None:
        return "a table of crossed dimensions without other sums is for walks over its layers"
    return None if problem.network is None else "the equations are a network, whose relaxation is easy"


def question_of_all(problem: LatticeProblem, part: Ints) -> tuple[LinearModel, int, Ints]:
    """Some columns (a union of blocks) in all of their equations, the unit of the cost, and the equations of its first rows."""
    equations = np.arange(problem.model.instance.relations.equations, dtype=np.int64)
    return linear(problem.model, equations, part, problem.model.columns.cost, problem.rows)
