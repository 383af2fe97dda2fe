"""Attack: how far the tables that an attacker must still think possible reach, below and above the cells at risk.

The means are those of the audit: bounds by one equation at a time (proven), tables found by moves, then a linear program an end. A program's word is
taken to a hair here, as nothing is released of what is attacked; where a rival's values are whole, its relaxation is in the rival's favour.
Legend: a true values, low and high the ends, lpl, upl, spl what is asked.
"""

from __future__ import annotations

from dataclasses import dataclass
from functools import cached_property

import numpy as np

from cellward.audit.ends import HIGH, LOW, Ends
from cellward.audit.linear import AttackerModel
from cellward.audit.region import Region
from cellward.audit.settle import Question, settle
from cellward.exact import NO_BOUND, Bools, Floats
from cellward.solve.ask import ask
from cellward.solve.budget import Budget
from cellward.solve.warm_lp import WarmLp
from cellward.table.labels import Labels
from cellward.table.levels import Levels

HAIR = 1e-6


@dataclass(eq=False)
class Attack:
    """One attacker's ends of the cells of which something is asked; ``outer`` are proven, ``inner`` are reached."""

    levels: Levels
    a: Floats
    inner: tuple[Floats, Floats]
    outer: tuple[Floats, Floats]

    @staticmethod
    def of(region: Region, levels: Levels, labels: Labels, budget: Budget) -> Attack:
        """As far as the budget lasts: what is not decided without a solver first, then the ends of cells that are disclosed anyway."""
        ends = settle([Question(region, levels.cell, levels)], labels, [region.center], budget, only_swaps=True)[0]
        inner, outer = (
            (_far(each[LOW]), _far(each[HIGH])) for each in (ends.inner[:, levels.cell], ends.outer[:, levels.cell])
        )
        found = Attack(levels, region.center[levels.cell].astype(float), inner, outer)
        programs = _Programs(ends)
        for some in (~(found.met | found.unmet), found.unmet & ~found.exact):
            for k in np.flatnonzero(some).tolist():
                found.push(programs, k, budget)
        return found

    def push(self, programs: _Programs, k: int, budget: Budget) -> None:
        """Both ends of one cell by linear programs; what the time does not suffice for stays as it was."""
        for side in (LOW, HIGH):
            value = None if budget.over else programs.end(int(self.levels.cell[k]), side, budget)
            if value is not None:
                self.inner[side][k] = self.outer[side][k] = value

    @property
    def met(self) -> Bools:
        """The cells that tables reach far enough from."""
        return self._far_enough(*self.inner)

    @property
    def unmet(self) -> Bools:
        """Those from which no table reaches far enough."""
        return ~self._far_enough(*self.outer)

    @property
    def exact(self) -> Bools:
        """Those of which only one value is possible."""
        return np.asarray(self.outer[HIGH] - self.outer[LOW] <= self._hair)

    def _far_enough(self, low: Floats, high: Floats) -> Bools:
        asked, hair = self.levels, self._hair
        wide = high - low >= np.maximum(asked.spl - hair, 2 * hair)
        return np.asarray((self.a - low >= asked.lpl - hair) & (high - self.a >= asked.upl - hair) & wide)

    @property
    def _hair(self) -> Floats:
        return HAIR * (1 + np.abs(self.a))

    @property
    def narrowest(self) -> float:
        """The least, over decided cells and their sides, of the room that is left as a part of what is asked; at most 1."""
        out, asked = 1.0, self.levels
        low, high = (np.where(self.unmet, far, near) for far, near in zip(self.outer, self.inner, strict=True))
        decided = self.met | self.unmet
        for room, level in ((self.a - low, asked.lpl), (high - self.a, asked.upl), (high - low, asked.spl)):
            some = decided & (level > 0)
            out = min(out, float((room[some] / level[some]).min(initial=1.0)))
        return max(out, 0.0)


class _Programs:
    """The linear programs of one region, made when the first is needed."""

    def __init__(self, ends: Ends) -> None:
        self.ends = ends

    @cached_property
    def model(self) -> AttackerModel:
        return AttackerModel.of(self.ends)

    @cached_property
    def lp(self) -> WarmLp:
        return WarmLp(self.model.linear())

    def end(self, i: int, side: int, budget: Budget) -> float | None:
        """How far tables reach; None where there was no answer."""
        model, sign = self.model, 1 if side == HIGH else -1
        at = int(np.searchsorted(model.free, i))
        center = float(model.region.center[i])
        if at == len(model.free) or int(model.free[at]) != i:
            return center
        cost = np.zeros(len(model.free))
        cost[at] = sign
        outcome = ask(self.lp.maximise, cost, columns=len(cost), rows=model.rows.equations, budget=budget)
        if outcome.status != "optimal" or outcome.x is None:
            return None
        value = float(outcome.x[at])
        return sign * np.inf if model.endless[side][i] and sign * value > model.far / 4 else center + value


def _far(ends: np.ndarray[tuple[int], np.dtype[np.int64]]) -> Floats:
    """As floats, without a bound as infinities; the other way round where nothing was reached yet."""
    out = ends.astype(float)
    out[np.abs(ends) == NO_BOUND] = np.sign(ends[np.abs(ends) == NO_BOUND]) * np.inf
    return out
