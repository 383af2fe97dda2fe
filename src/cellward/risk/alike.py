"""Alike: attackers who know the same beyond the public are one, of whom all is asked that is asked of any.

Behind the cells at risk of a census stand thousands of respondents; most of them know nothing that the public does not, and many know the same.
"""

from __future__ import annotations

from collections.abc import Sequence
from dataclasses import dataclass, replace

import numpy as np

from cellward.exact import Ints
from cellward.risk.attacker import Attacker
from cellward.table.levels import Levels

FEW = 40
"""Attackers up to which each is looked at by itself."""


@dataclass(frozen=True, eq=False)
class Alike:
    """What some attackers know beyond given bounds, what is asked of any of them, and who they are, by number."""

    cell: Ints
    lower: Ints
    upper: Ints
    whole: bool
    levels: Levels
    members: tuple[int, ...]


def alike(
    attackers: Sequence[Attacker], levels: Levels, lower: Ints, upper: Ints, *, whole: bool = False
) -> list[Alike]:
    """Attackers by what they know beyond these bounds, in the order of the first of each; ``levels``: those of the table, ``whole``: so is all."""
    groups: dict[tuple[bytes, bytes, bytes, bool], list[int]] = {}
    known: list[tuple[Ints, Ints, Ints]] = []
    for k, one in enumerate(attackers):
        low, high = np.maximum(one.lower, lower[one.cell]), np.minimum(one.upper, upper[one.cell])
        more = (low > lower[one.cell]) | (high < upper[one.cell])
        known.append((one.cell[more], low[more], high[more]))
        cell, low, high = known[-1]
        groups.setdefault((cell.tobytes(), low.tobytes(), high.tobytes(), whole or one.whole), []).append(k)
    return [
        Alike(*known[members[0]], key[3], union([attackers[k].asked(levels) for k in members]), tuple(members))
        for key, members in groups.items()
    ]


def merged(attackers: Sequence[Attacker], levels: Levels, lower: Ints, upper: Ints) -> tuple[Attacker, ...]:
    """One attacker for all who know the same, called as the first of them; a few are left as they are, each with the name that users gave it."""
    if len(attackers) <= FEW:
        return tuple(attackers)
    return tuple(
        replace(attackers[one.members[0]], cell=one.cell, lower=one.lower, upper=one.upper, own=0 * one.cell, whole=one.whole, levels=one.levels)
        for one in alike(attackers, levels, lower, upper)
    )  # fmt: skip


def union(many: Sequence[Levels]) -> Levels:
    """For every cell the largest of its levels."""
    if len(many) == 1:
        return many[0]
    cell = np.concatenate([one.cell for one in many])
    order = np.argsort(cell, kind="stable")
    cells, begin = np.unique(cell[order], return_index=True)
    if not len(cells):
        return many[0]
    lpl, upl, spl = (
        np.maximum.reduceat(np.concatenate([getattr(one, name) for one in many])[order], begin) for name in ("lpl", "upl", "spl")
    )  # fmt: skip
    return Levels(cells, lpl, upl, spl)
