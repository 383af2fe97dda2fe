"""Along cycles: some rounding of a network, whatever it costs, by the cycle procedure of cycles.py."""

from __future__ import annotations

from dataclasses import dataclass
from typing import ClassVar

import numpy as np

from cellward.protect.lattice.cycles import round_along_cycles
from cellward.protect.lattice.problem import Found, LatticeProblem
from cellward.solve.budget import Budget


@dataclass(frozen=True)
class AlongCycles:
    """Any rounding of networks in which every free cell has the two allowed values around its true one."""

    name: ClassVar[str] = "cycles"

    def accepts(self, problem: LatticeProblem) -> str | None:
        """Networks of cells with two choices, one on either side of the truth."""
        model = problem.model
        if problem.size != int(model.free.sum()) or not model.between:
            return "cycles need two allowed values for every free cell, one on either side of the true one"
        return problem.no_flow

    def solve(self, problem: LatticeProblem, budget: Budget) -> Found:  # noqa: ARG002 (it ends at once)
        """A rounding, with the bound of single cells."""
        model, network = problem.model, problem.network
        assert network is not None
        x = model.nearest.copy()
        arc = np.flatnonzero(network.tail[model.columns.cell] >= 0)
        cell = model.columns.cell[arc]
        part = (model.instance.a - model.allowed.lo)[cell]
        x[arc] = round_along_cycles(network.tail[cell], network.head[cell], part, model.r[cell])
        return Found("feasible", self.name, x, model.least())
