"""Widened: an instance with its sums at risk as further cells, after its own, so that what keeps cells off their true values keeps sums off theirs.

Nothing is printed of a sum, and moving it costs nothing; its level is a distance like any other. The audit sees a release in the same way
(audit/sums_as_cells.py).
"""

from __future__ import annotations

from collections.abc import Sequence
from dataclasses import replace

import numpy as np

from cellward.audit.sums_as_cells import unbounded
from cellward.exact import NO_BOUND, Ints
from cellward.instance import Instance
from cellward.protect.adjustment.needs import Needs
from cellward.risk.attacker import Attacker
from cellward.table.cell_sums import CellSum, add_up, with_sums
from cellward.table.labels import Labels
from cellward.table.sensitivity import Sensitivity


def widened(instance: Instance) -> Instance:
    """The instance with a cell for each sum at risk; the same where there are none. Cells are called by what is drawn for them."""
    sums = instance.sensitivity.sums
    if not sums:
        return instance
    n, many = instance.cells, len(sums)
    names = instance.labels.identities(np.arange(n))
    named = dict(enumerate([*names, *(_identity(one, names) for one in sums)]))
    return replace(
        instance,
        relations=with_sums(instance.relations, sums),
        a=add_up(instance.a, sums),
        lower=unbounded(instance.lower, -NO_BOUND, many),
        upper=unbounded(instance.upper, NO_BOUND, many),
        weight=np.concatenate((instance.weight, np.zeros(many, np.int64))),
        sensitivity=Sensitivity.none(n + many),
        labels=Labels(n + many, named=named),
        attackers=(Attacker.external(),),
    )


def _identity(one: CellSum, names: Sequence[str]) -> str:
    """What is drawn for a sum depends on its cells, in whatever order they are."""
    return f"the sum of {' + '.join(sorted(names[i] for i in one.cell.tolist()))}"


def with_needs_of_sums(needs: Needs, attackers: Sequence[Attacker], sums: Sequence[CellSum], cells: int) -> Needs:
    """What is asked of the sums after what is asked of the ``cells``: the most that any attacker's levels ask."""
    if not sums:
        return needs
    up, down = np.zeros((2, len(sums)), np.int64)
    for attacker in attackers:
        if attacker.levels is None:
            asked = [(k, one.lpl, one.upl) for k, one in enumerate(sums)]
        elif attacker.sums is not None:
            levels = attacker.sums
            least = (np.maximum(levels.lpl, levels.spl), np.maximum(levels.upl, levels.spl))
            asked = list(zip(levels.cell.tolist(), *(x.tolist() for x in least), strict=True))
        else:
            continue
        for k, below, above in asked:
            down[k], up[k] = max(down[k], below), max(up[k], above)
    at = np.flatnonzero((up > 0) | (down > 0))
    return Needs(
        np.concatenate((needs.cell, cells + at)),
        np.concatenate((needs.up, up[at])),
        np.concatenate((needs.down, down[at])),
    )


def padded(column: Ints, cells: int) -> Ints:
    """A column of the cells with 0 for the sums after them."""
    return np.concatenate((column, np.zeros(cells - len(column), column.dtype)))
