"""Widths: how far ranges must reach below and above each value so that every level holds: a linear program by cutting planes.

Legend: b, t ≥ 0 how far a range reaches below and above; M·z = 0 the moves of a table; for attacker k −min(b, l) ≤ z ≤ min(t, u), where l and u are
how far he takes cells to reach anyway. A requirement is max z_p ≥ upl, −min z_p ≥ lpl, or both together ≥ spl.

Every attacker's problem that falls short gives a cut on the widths (`reach.py`). Cuts of levels alone would lead from one cell to the next along its
equations, one a round: a range that nothing compensates is of no use to anybody, and that bridges say so at once (`cut_pool.py`) is what makes the
relaxation end after a few rounds.
"""

from __future__ import annotations

from collections.abc import Mapping
from dataclasses import dataclass
from fractions import Fraction
from typing import Any

import numpy as np

from cellward.errors import SolverError
from cellward.exact import Bools, Floats
from cellward.instance import Instance
from cellward.protect.intervals.cut_pool import CutPool, Point
from cellward.protect.intervals.reach import Cut, Reach
from cellward.protect.intervals.requirements import Requirements
from cellward.solve.budget import Budget

HAIR = 1e-6
ENGINE = "cutting planes (HiGHS)"


@dataclass(frozen=True, eq=False)
class Widths:
    """``below`` and ``above``: widths that meet every requirement, None where nothing was found; ``bound``: no widths cost less, as the
    ``weights`` of the ``cuts`` over their ``scale`` prove."""

    status: str
    engine: str = ENGINE
    below: Floats | None = None
    above: Floats | None = None
    bound: Fraction = Fraction(0)
    cuts: tuple[Mapping[str, Any], ...] = ()
    weights: tuple[int, ...] = ()
    scale: int = 1
    late: bool = False
    reason: str = ""


class WidthSearch:
    """One instance: its requirements and its cuts; ``candidate``: the table's cells, behind which sums are ranges at no cost."""

    def __init__(self, instance: Instance, candidate: Bools, budget: Budget) -> None:
        self.instance, self.budget, self.n = instance, budget, instance.cells
        self.sums = np.arange(self.n) >= len(candidate)
        free = np.concatenate((candidate, np.ones(self.n - len(candidate), bool)))
        self.asked = Requirements.of_instance(instance)
        self.pool = CutPool(instance, free, self.sums)
        self.shown: dict[int, tuple[tuple[Any, Floats], ...]] = {}
        """By requirement: the moves that showed it last, cells and amounts."""

    def run(self) -> Widths:
        """Cuts until the least widths that keep them meet every requirement."""
        self.pool.begin(self.asked)
        last: Point | None = None
        while not self.budget.over:
            point = self.pool.least(self.budget)
            if point is None:
                return Widths("unknown", late=True) if self.budget.over else self._impossible()
            last = point
            if self.pool.bridge(point.x):
                continue
            if not self.missed(point.x):
                return self._found(point)
        return Widths("unknown", late=True) if last is None else self._found(last, late=True)

    def missed(self, x: Floats) -> int:
        """Cuts of the requirements that these widths do not meet."""
        reach = self.at(x)
        cuts: list[Cut] = []
        done = np.zeros(len(self.asked.cell), bool)
        for r in np.flatnonzero(self.asked.first).tolist():
            if done[r] or self.still(r, x):
                continue
            if self.budget.over:
                break
            found = reach.of(r)
            if found is None:
                raise SolverError("an attacker's problem has no answer")
            level = float(self.asked.level[r])
            if found.much < level - HAIR * max(1.0, level):
                cuts.append(found.cut)
                continue
            self.remember(r, found.moves)
            for z in found.moves:
                done |= self.asked.shown_by(z, HAIR)
        return self.pool.add(cuts, x)

    def remember(self, r: int, moves: tuple[Floats, ...]) -> None:
        """What shows a requirement."""
        self.shown[r] = tuple((np.flatnonzero(z), z[z != 0]) for z in moves)

    def at(self, x: Floats) -> Reach:
        """The attackers' problems at these widths."""
        below, above = (np.where(self.sums, np.inf, part) for part in (x[: self.n], x[self.n :]))
        return Reach(self.instance.relations, self.asked, below, above, self.budget)

    def still(self, r: int, x: Floats) -> bool:
        """Whether the moves that showed a requirement are possible at these widths too."""
        for cells, z in self.shown.get(r, ()):
            inside = self.sums[cells] | ((-x[cells] <= z + HAIR) & (z <= x[self.n + cells] + HAIR))
            if not inside.all():
                return False
        return r in self.shown

    def _impossible(self) -> Widths:
        """Which level no ranges meet, however wide."""
        x = np.minimum(self.pool.most, 1e12)
        reach = self.at(x)
        for r in range(len(self.asked.cell)):
            found = reach.of(r)
            if found is not None and found.much < float(self.asked.level[r]) - HAIR:
                name = self.instance.labels.name(int(self.asked.cell[r]))
                who = self.asked.attacker[r]
                asks = "as far away as its level asks, even with every cell a range that may be"
                return Widths(
                    "infeasible",
                    cuts=(found.cut,),
                    weights=(1,),
                    reason=f"{name}: no ranges keep attacker {who} {asks}",
                )
        raise SolverError("the cuts on widths contradict each other")

    def _found(self, point: Point, *, late: bool = False) -> Widths:
        proof = self.pool.proof(point.prices)
        n = self.n
        return Widths(
            "feasible",
            below=point.x[:n],
            above=point.x[n:],
            bound=proof.bound,
            cuts=tuple(self.pool.cuts),
            weights=proof.weights,
            scale=proof.scale,
            late=late,
        )


def least_widths(instance: Instance, candidate: Bools, budget: Budget) -> Widths:
    """The least Σ w·(b + t) that meets every level as real numbers."""
    return WidthSearch(instance, candidate, budget).run()
