"""Sums at risk as cells: a release seen together with the sums of cells that are at risk, so that everything made for cells serves for them too."""

from __future__ import annotations

from collections.abc import Sequence
from dataclasses import replace

import numpy as np

from cellward.errors import printable
from cellward.exact import NO_BOUND, Ints
from cellward.instance import Instance
from cellward.publication.knowledge import Knowledge
from cellward.publication.ranges import Ranges
from cellward.publication.values import Values
from cellward.risk.attacker import Attacker
from cellward.table.cell_sums import CellSum, add_up, with_sums
from cellward.table.labels import Labels
from cellward.table.levels import Levels
from cellward.table.sensitivity import CellStatus, Sensitivity


def instance_of_sums(instance: Instance, knowledge: Knowledge) -> Instance | None:
    """The instance with its sums at risk as further cells, of which alone something is asked; None where there are none.

    Nothing is published of a sum, and moving it costs nothing.
    """
    sums = instance.sensitivity.sums
    attackers = attackers_of_sums(instance.attackers, knowledge, instance.cells)
    if not sums or not attackers:
        return None
    n = instance.cells
    return Instance(
        relations=with_sums(instance.relations, sums),
        a=add_up(instance.a, sums),
        decimals=instance.decimals,
        lower=unbounded(instance.lower, -NO_BOUND, len(sums)),
        upper=unbounded(instance.upper, NO_BOUND, len(sums)),
        weight=np.zeros(n + len(sums), np.int64),
        weight_decimals=0,
        sensitivity=sensitivity_of_sums(n, sums),
        labels=labels_of_sums(instance.labels, sums),
        attackers=attackers,
    )


def joined(instance: Instance) -> Instance:
    """The instance with its sums at risk as further cells beside its own, something being asked of both; itself where there are none."""
    sums, n = instance.sensitivity.sums, instance.cells
    if not sums:
        return instance
    own, more = instance.sensitivity, sensitivity_of_sums(n, sums)
    lpl, upl, spl = (
        np.concatenate((mine, theirs[n:]))
        for mine, theirs in ((own.lpl, more.lpl), (own.upl, more.upl), (own.spl, more.spl))
    )
    status = np.concatenate((own.status, more.status[n:]))
    return Instance(
        relations=with_sums(instance.relations, sums),
        a=add_up(instance.a, sums),
        decimals=instance.decimals,
        lower=unbounded(instance.lower, -NO_BOUND, len(sums)),
        upper=unbounded(instance.upper, NO_BOUND, len(sums)),
        weight=np.concatenate((instance.weight, np.zeros(len(sums), np.int64))),
        weight_decimals=instance.weight_decimals,
        sensitivity=Sensitivity(status, lpl, upl, spl, unit=own.unit),
        labels=labels_of_sums(instance.labels, sums),
        attackers=tuple(_with_levels_on_sums(attacker, n) for attacker in instance.attackers),
    )


def _with_levels_on_sums(attacker: Attacker, cells: int) -> Attacker:
    """One who is judged by levels of his own: those on sums as on further cells."""
    if attacker.levels is None or attacker.sums is None:
        return replace(attacker, sums=None)
    mine, of_sums = attacker.levels, attacker.sums
    columns = (
        np.concatenate(pair)
        for pair in (
            (mine.cell, of_sums.cell + cells), (mine.lpl, of_sums.lpl), (mine.upl, of_sums.upl), (mine.spl, of_sums.spl)
        )
    )  # fmt: skip
    return replace(attacker, levels=Levels(*columns), sums=None)


def attackers_of_sums(attackers: tuple[Attacker, ...], knowledge: Knowledge, cells: int) -> tuple[Attacker, ...]:
    """The attackers that sums are to be kept from: those judged by the table's own levels, and those with levels on sums."""
    found = []
    for attacker in attackers:
        levels = None
        if attacker.levels is not None:
            if attacker.sums is None or not len(attacker.sums):
                continue
            levels = replace(attacker.sums, cell=attacker.sums.cell + cells)
        found.append(replace(attacker, whole=attacker.whole or knowledge.whole, levels=levels, sums=None))
    return tuple(found)


def publication_of_sums(knowledge: Knowledge, sums: Sequence[CellSum]) -> Ranges | Values:
    """What a release tells of its cells as ranges, with nothing of the sums; of values that were only adjusted, what they add up to."""
    if not knowledge.intervals:
        assert knowledge.v is not None
        return Values(Knowledge.adjusted(add_up(knowledge.v, sums)))
    return Ranges(unbounded(knowledge.lo, -NO_BOUND, len(sums)), unbounded(knowledge.hi, NO_BOUND, len(sums)))


def labels_of_sums(labels: Labels, sums: tuple[CellSum, ...]) -> Labels:
    """Cells by number, the sums by what they add up."""
    named = {
        labels.cells
        + k: f"the sum {' + '.join(labels.name(i) for i in one.cell.tolist())} that {printable(one.unit)} dominates"
        for k, one in enumerate(sums)
    }
    return Labels(labels.cells + len(sums), named=named)


def sensitivity_of_sums(cells: int, sums: tuple[CellSum, ...]) -> Sensitivity:
    """The levels of the sums, which stand after the cells."""
    lpl, upl = (
        np.concatenate((np.zeros(cells, np.int64), np.array(levels, np.int64)))
        for levels in ([one.lpl for one in sums], [one.upl for one in sums])
    )
    status = np.zeros(cells + len(sums), np.uint8)
    status[cells:] = CellStatus.UNSAFE
    return Sensitivity(status, lpl, upl, np.zeros_like(lpl))


def unbounded(bounds: Ints, bound: int, many: int) -> Ints:
    """Bounds of the cells, and none of the sums after them."""
    return np.concatenate((bounds, np.full(many, bound, np.int64)))
