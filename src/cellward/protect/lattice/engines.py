"""Engines for a table on a lattice, in the order in which they are tried: the cheapest exact one first.

Which one is taken depends on the instance alone, so that the same input always gives the same answer.
"""

from __future__ import annotations

from collections.abc import Sequence

import numpy as np

from cellward.protect.engine import first_answer
from cellward.protect.lattice.along_cycles import AlongCycles
from cellward.protect.lattice.any_table import AnyTable
from cellward.protect.lattice.flow_in_worker import FlowInWorker
from cellward.protect.lattice.nested_blocks import NestedBlocks
from cellward.protect.lattice.portfolio import Portfolio
from cellward.protect.lattice.problem import Found, LatticeEngine, LatticeProblem
from cellward.protect.lattice.repaired_vertex import RepairedVertex
from cellward.protect.lattice.staged_flow import StagedFlow
from cellward.protect.lattice.vertex import VertexThenBlocks
from cellward.solve.budget import Budget

ENGINES: tuple[LatticeEngine, ...] = (StagedFlow(), FlowInWorker(), NestedBlocks(), Portfolio(), VertexThenBlocks())
"""For the least table."""
ANY_TABLE: tuple[LatticeEngine, ...] = (StagedFlow(), AlongCycles(), AnyTable(), RepairedVertex())
"""For some table, as fast as possible."""


def solve(problem: LatticeProblem, budget: Budget, engines: Sequence[LatticeEngine] = ENGINES) -> Found:
    """The answer of the first engine that accepts the problem."""
    if not problem.size:
        return Found("optimal", "nothing to decide", np.zeros(0, np.int64), 0)
    return first_answer(problem, budget, engines)
