"""Widths: how far ranges must reach below and above each value so that every level holds: a linear program by cutting planes.

Legend: b, t ≥ 0 how far a range reaches below and above; M·z = 0 the moves of a table; for attacker k −min(b, l) ≤ z ≤ min(t, u), where l and u are
how far he takes cells to reach anyway. A requirement is max z_p ≥ upl, −min z_p ≥ lpl, or both together ≥ spl.

Every attacker's problem that falls short gives a cut on the widths (`reach.py`). Cuts of levels alone would lead from one cell to the next along its
equations, one a round: a range that nothing compensates is of no use to anybody, and that bridges say so at once (`cut_pool.py`) is what makes the
relaxation end after a few rounds. Where it does not, cuts are sought halfway between the least point and widths that are safe.
"""

from __future__ import annotations

from collections.abc import Mapping
from dataclasses import dataclass
from fractions import Fraction
from typing import Any

import numpy as np

from cellward.audit.ends import Witness
from cellward.errors import SolverError
from cellward.exact import Bools, Floats
from cellward.instance import Instance
from cellward.protect.intervals.cut_pool import CutPool, Point
from cellward.protect.intervals.reach import Cut, Reach
from cellward.protect.intervals.requirements import Requirements
from cellward.protect.intervals.safe_widths import SafeWidths
from cellward.solve.budget import Budget

HAIR = 1e-6
SMALL, LARGE = 20_000, 2_000_000
"""Requirements times cells, up to which the least point alone soon leads to the end, and from which safe widths take longer than it does."""
PLAIN, MANY, CLOSE = 1, 0.3, 1e-3
"""After so many rounds in which still this part of the requirements is missed, cuts are sought between the least point and safe widths, until the two
cost the same but for this part."""
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
    tables: tuple[Witness, ...] = ()
    """Tables that show the levels, to begin with."""


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
        self.tables: tuple[Witness, ...] = ()
        """What shows that the last safe widths are."""

    def run(self) -> Widths:
        """Cuts until the least widths that keep them meet every requirement, or until the time is up."""
        self.pool.begin(self.asked)
        last: Point | None = None
        safe: Floats | None = None
        rounds, between = 0, False
        while not self.budget.over:
            point = self.pool.least(self.budget)
            if point is None:
                if self.budget.over:
                    break
                return self._impossible()
            last = point
            if self.pool.bridge(point.x):
                continue
            x = (point.x + safe) / 2 if between and safe is not None else point.x
            known = len(self.pool.rows)
            missed = self.missed(x)
            rounds += 1
            if not missed and not self.budget.over:
                if x is point.x:
                    return self._found(point.x, point)
                before, safe = self._cost(safe), self._reached()
                # Safe widths are whole: where they do not get any cheaper, the least point goes on alone.
                between = point.cost * (1 + CLOSE) < self._cost(safe) < before * (1 - CLOSE)
            if safe is None and missed and (self._hard(missed, rounds) or self._late):
                safe = self._safe(point.x)
                between = self._hard(missed, rounds)
            elif missed and len(self.pool.rows) == known:
                if x is point.x:  # prices too coarse to cut the point off: what is missed is made up for
                    break
                between = False
        if last is not None and safe is None and not self.budget.over:
            safe = self._safe(last.x)
        if last is None or safe is None:
            return Widths("unknown", late=True)
        return self._found(safe, last, late=self.budget.over)

    def _hard(self, missed: int, rounds: int) -> bool:
        """Whether so much is missed that cuts at the least point alone would take long: then they are sought halfway to widths that are safe."""
        many = int(self.asked.first.sum())
        return rounds >= PLAIN and missed > MANY * many and many * self.n > SMALL

    @property
    def _late(self) -> bool:
        """Whether it is time to have something safe, where that does not take longer than to go on."""
        left, limit = self.budget.left, self.budget.time_limit_s
        some = int(self.asked.first.sum()) * self.n < LARGE
        return some and left is not None and limit is not None and left < limit / 2

    def _safe(self, guide: Floats) -> Floats | None:
        """Widths that meet every requirement."""
        weight = self.instance.weight.astype(float)
        safe = SafeWidths(self.instance.relations, self.asked, self.pool.free, weight)
        made = safe.made(guide, self.budget)
        if made is not None:
            self.tables = tuple(safe.tables())
            self.budget.found(self._cost(made))
        return made

    def _cost(self, x: Floats | None) -> float:
        return np.inf if x is None else float(self.pool.weight @ np.where(np.tile(self.sums, 2), 0.0, x))

    def _reached(self) -> Floats:
        """What the moves that show the requirements reach."""
        made = SafeWidths(self.instance.relations, self.asked, self.pool.free, self.instance.weight.astype(float))
        made.moves = dict(self.shown)
        self.tables = tuple(made.tables())
        return made.widths()

    def missed(self, x: Floats) -> int:
        """Cuts of the requirements that these widths do not meet; the moves that show the others are kept."""
        reach = self.at(x)
        cuts: list[Cut] = []
        done = np.zeros(len(self.asked.cell), bool)
        for r in np.flatnonzero(self.asked.first).tolist():
            if done[r] or self.still(r, x):
                continue
            if self.budget.over:
                return len(cuts) + 1
            found = reach.of(r)
            if found is None:
                if self.budget.over:
                    return len(cuts) + 1
                raise SolverError("an attacker's problem has no answer")
            level = float(self.asked.level[r])
            if found.much < level - HAIR * max(1.0, level):
                cuts.append(found.cut)
                continue
            # A move that reaches further than asked is of no use there.
            moves = tuple(z * min(1.0, level / found.much) for z in found.moves)
            self.remember(r, moves)
            for z in moves:
                for other in np.flatnonzero(self.asked.shown_by(z, HAIR) & ~done).tolist():
                    done[other] = True
                    self.shown[other] = self.shown[r]
        self.pool.add(cuts, x)
        return len(cuts)

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

    def _found(self, x: Floats, point: Point, *, late: bool = False) -> Widths:
        proof = self.pool.proof(point.prices)
        n = self.n
        return Widths(
            "feasible",
            below=x[:n],
            above=x[n:],
            bound=proof.bound,
            cuts=tuple(self.pool.cuts),
            weights=proof.weights,
            scale=proof.scale,
            late=late,
            tables=self.tables if late else (),
        )


def least_widths(instance: Instance, candidate: Bools, budget: Budget) -> Widths:
    """The least Σ w·(b + t) that meets every level as real numbers."""
    return WidthSearch(instance, candidate, budget).run()
