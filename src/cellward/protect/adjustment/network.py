"""Network form of an adjustment: least L1 by minimum-cost flow in whole steps of the grid; the answer is the published table itself."""

from __future__ import annotations

from dataclasses import dataclass, field
from typing import ClassVar

import numpy as np

from cellward.protect.adjustment.continuous import AdjustmentProblem, Check, Continuous, FormName
from cellward.protect.adjustment.flow import LeastFlow
from cellward.solve.budget import Budget


@dataclass(frozen=True)
class ByNetwork:
    """Networks of at least ``fewest`` cells; below, HiGHS answers before the flow solver's process would have started."""

    name: ClassVar[FormName] = "network"
    fewest: int = 0
    flow: LeastFlow = field(default_factory=LeastFlow)

    def accepts(self, problem: AdjustmentProblem) -> str | None:
        """L1 of networks whose values that may move are on the grid."""
        norm, grid, room = problem.distance.norm, problem.grid, problem.room
        if norm != "l1":
            return f"form='network' does not go with norm={norm!r}; use 'auto'"
        if problem.relations.cells < self.fewest:
            return f"form='network' pays from {self.fewest:,} cells on; use 'auto'"
        if grid is None or room is None:
            return "form='network' does not go with values that are on no grid; use 'auto'"
        moves = room.lo < room.hi
        if np.any(grid.a[moves] % grid.step) or np.any(room.lo[~moves] % grid.step):
            return "form='network' does not go with true values that are off the grid; use 'auto', or grid='table'"
        if problem.relations.network is None:
            return "form='network' does not go with a table whose equations are no network; use 'auto'"
        return None

    def solve(self, problem: AdjustmentProblem, budget: Budget) -> Continuous | None:
        """The optimum, or that there is no table; None where numbers are too large for flows."""
        grid, room, distance = problem.grid, problem.room, problem.distance
        assert grid is not None and room is not None
        lo, hi = -(-room.lo // grid.step), room.hi // grid.step
        answer = self.flow.solve(problem.relations, lo, hi, distance.weight, budget)
        if answer is None:
            return None
        if answer.z is None or answer.cost is None or answer.multipliers is None:
            return Continuous(answer.status, self.name, answer.engine)
        units = 10.0 ** (problem.decimals + distance.weight_decimals)
        cost = answer.cost * grid.step / (units * grid.factor)
        z = answer.z * grid.step
        check = Check(0.0, 0.0, 0.0)
        return Continuous(
            "optimal", self.name, answer.engine, z / grid.factor, cost, cost, answer.multipliers / units, check, z
        )
