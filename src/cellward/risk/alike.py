"""Alike: attackers who know the same beyond the public are one, of whom all is asked that is asked of any.

Behind the cells at risk of a census stand thousands of respondents; most of them know nothing that the public does not, and many know the same.
"""

from __future__ import annotations

from collections.abc import Sequence
from dataclasses import dataclass, replace
from itertools import pairwise

import numpy as np

from cellward.exact import Ints
from cellward.risk.attacker import FEW, Attacker
from cellward.table.levels import Levels


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
    known = beyond(attackers, lower, upper)
    groups: dict[tuple[bytes, bytes, bytes, bool], list[int]] = {}
    for k, (cell, low, high) in enumerate(known):
        groups.setdefault((cell.tobytes(), low.tobytes(), high.tobytes(), whole or attackers[k].whole), []).append(k)
    return [
        Alike(*known[members[0]], key[3], union([attackers[k].asked(levels) for k in members]), tuple(members))
        for key, members in groups.items()
    ]


def beyond(attackers: Sequence[Attacker], lower: Ints, upper: Ints) -> list[tuple[Ints, Ints, Ints]]:
    """The cells of which each attacker knows more than these bounds, and between what."""
    cell, low, high = (np.concatenate([getattr(one, name) for one in attackers]) for name in ("cell", "lower", "upper"))
    low, high = np.maximum(low, lower[cell]), np.minimum(high, upper[cell])
    more = (low > lower[cell]) | (high < upper[cell])
    ends = np.concatenate(([0], np.cumsum(more)))[np.cumsum([0, *(len(one.cell) for one in attackers)])].tolist()
    cell, low, high = cell[more], low[more], high[more]
    return [(cell[i:j], low[i:j], high[i:j]) for i, j in pairwise(ends)]


def merged(attackers: Sequence[Attacker], levels: Levels, lower: Ints, upper: Ints) -> tuple[Attacker, ...]:
    """One attacker for all who know the same and have levels of their own, called after the first of them by name; few attackers stay as they are."""
    if len(attackers) <= FEW:
        return tuple(attackers)
    kept = [one for one in attackers if one.levels is None]
    own = sorted((one for one in attackers if one.levels is not None), key=lambda one: one.name)
    return (*kept, *(_as_one([own[k] for k in one.members], one) for one in alike(own, levels, lower, upper)))


def _as_one(members: Sequence[Attacker], known: Alike) -> Attacker:
    if len(members) == 1:
        return members[0]
    return replace(
        members[0],
        name=f"{members[0].name} and {len(members) - 1} alike",
        cell=known.cell,
        lower=known.lower,
        upper=known.upper,
        own=0 * known.cell,
        whole=known.whole,
        levels=known.levels,
    )


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
