"""Insiders of an adjustment: attackers that know cells are set apart, because nothing is claimed against them; what they know for certain, and guess.

An adjusted value tells nothing of the true one but where it is fixed, so there are no regions that levels could be shown in. An insider knows the
deviations of its own cells, and sums tie them to others: model.md, "Not guaranteed", and decision 0025 say what follows and what was rejected.
"""

from __future__ import annotations

from collections.abc import Iterator, Sequence
from dataclasses import dataclass, replace

import numpy as np

from cellward.audit.ends import HIGH, LOW
from cellward.audit.region import Region
from cellward.audit.settle import Question, settle
from cellward.exact import NO_BOUND, Bools, Ints
from cellward.instance import Instance
from cellward.protect.adjustment.needs import Needs
from cellward.publication.knowledge import Knowledge
from cellward.risk.attacker import Attacker
from cellward.solve.budget import Budget
from cellward.table.levels import Levels
from cellward.table.relations import ranges

BY_DISTANCE = "levels of insiders, as distances alone"


def set_apart(instance: Instance) -> tuple[Instance, tuple[Attacker, ...]]:
    """The instance with attackers that know nothing of single cells, and those that do.

    What insiders ask beyond the others is kept as a distance, under a name of its own that knows nothing.
    """
    insiders = tuple(attacker for attacker in instance.attackers if len(attacker.cell))
    if not insiders:
        return instance, ()
    others = tuple(attacker for attacker in instance.attackers if not len(attacker.cell)) or (Attacker.external(),)
    made, needs = replace(instance, attackers=others), Needs.of(instance)
    if more := _beyond(needs, Needs.of(made)):
        made = replace(made, attackers=(*others, Attacker(name=BY_DISTANCE, levels=more)))
    return made, insiders


def _beyond(needs: Needs, kept: Needs) -> Levels | None:
    """Levels of cells that are not kept anyway."""
    have = dict(zip(kept.cell.tolist(), zip(kept.up.tolist(), kept.down.tolist(), strict=True), strict=True))
    asked = zip(needs.cell.tolist(), needs.up.tolist(), needs.down.tolist(), strict=True)
    more = [(i, down, up) for i, up, down in asked if have.get(i) != (up, down)]
    cell, lpl, upl = (np.ascontiguousarray(column) for column in np.array(more, np.int64).reshape(-1, 3).T)
    return Levels(cell, lpl, upl, np.zeros_like(cell)) if more else None


def worked_out(
    instance: Instance, insiders: Sequence[Attacker], still: Bools, budget: Budget
) -> Iterator[tuple[str, int]]:
    """Who works out which cell to less than a unit, for certain: from its own cells and bounds, those that stay as they are, and the sums.

    That does not depend on what is published of the cells that move.
    """
    those = [attacker for attacker in insiders if len(attacker.known)]
    if not those or not still.any():
        return
    knowledge = Knowledge.interval(np.where(still, instance.a, -NO_BOUND), np.where(still, instance.a, NO_BOUND))
    regions = Region.of_each(instance.relations, instance.lower, instance.upper, knowledge, those, instance.a)
    questions = []
    for attacker, region in zip(those, regions, strict=True):
        cell = attacker.asked(instance.sensitivity.levels).cell
        none = np.zeros_like(cell)
        questions.append(Question(region, levels=Levels(cell, none, none, none + 1)))
    for attacker, ends in zip(those, settle(questions, instance.labels, [instance.a], budget), strict=True):
        assert ends.levels is not None
        for j in np.flatnonzero(~ends.met).tolist():
            i = int(ends.levels.cell[j])
            if not (ends.open[LOW][i] or ends.open[HIGH][i]):
                yield attacker.name, i


@dataclass(frozen=True)
class Guesses:
    """What insiders guess who take every cell that is not at risk to be unmoved: of so many levels, so many missed, so many values exactly right."""

    insiders: int
    levels: int
    within: int
    right: int

    def __str__(self) -> str:
        many = "1 insider" if self.insiders == 1 else f"{self.insiders:,} insiders"
        head = f"levels hold against the external attacker; nothing is claimed against {many}"
        if not self.levels:
            return head
        return (
            f"{head}: of {self.levels:,} values to be kept from them, {self.within:,} are guessed within their level and {self.right:,} exactly by "
            "who takes all cells not at risk to be unmoved; where that matters, round or perturb the table"
        )


def guesses(instance: Instance, insiders: Sequence[Attacker], at_risk: Ints, v: Ints) -> Guesses:
    """From each equation in which an insider knows all cells at risk but one: its deviation, if no other cell moved. Confidential."""
    r, z = instance.relations, v - instance.a
    ptr, entry = r.by_cell
    risky = np.zeros(instance.cells, bool)
    risky[at_risk] = True
    levels = within = right = 0
    known = np.zeros(instance.cells, bool)
    for attacker in insiders:
        asked = attacker.asked(instance.sensitivity.levels)
        levels += len(asked)
        own = attacker.known
        if not len(own):  # whose knowledge ends at bounds cannot take a sum apart
            continue
        known[own] = True
        level = dict(zip(asked.cell.tolist(), zip(asked.lpl.tolist(), asked.upl.tolist(), strict=True), strict=True))
        misses: dict[int, list[float]] = {}
        for j in np.unique(r.row[entry[ranges(ptr[own], ptr[own + 1])]]).tolist():
            part = slice(int(r.indptr[j]), int(r.indptr[j + 1]))
            cell, coef = r.indices[part], r.coefs[part]
            open_ = ~known[cell]
            at_stake = cell[open_ & risky[cell]].tolist()
            if len(at_stake) > 1:
                continue
            moved = int((coef[open_] * z[cell[open_]]).sum())
            for i in at_stake or cell[open_].tolist():
                if i in level:
                    mine = int(coef[cell == i][0])
                    misses.setdefault(i, []).append(-(moved - mine * int(z[i])) / mine)
        known[own] = False
        for i, found in misses.items():
            lpl, upl = level[i]
            within += any(-lpl < miss < upl for miss in found)
            right += any(miss == 0 for miss in found)
    return Guesses(len(insiders), levels, within, right)
