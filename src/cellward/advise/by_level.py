"""By level of sums: a base, or a distance, for each level where the cells of one ask for more than those of another."""

from __future__ import annotations

from dataclasses import dataclass

import numpy as np

from cellward.advise.candidates import round_up
from cellward.protect.rounding.least_base import SingleCells, round_bases


@dataclass(frozen=True)
class LevelNeeds:
    """What the cells of one level of sums ask for: how many, the one that asks for most, and for it the least base and distance (scaled)."""

    level: int
    cells: int
    asking: int
    cell: int | None
    base: int
    distance: int


def level_needs(single: SingleCells) -> list[LevelNeeds]:
    """Of every level of sums, the cells that are no sum first."""
    height, asked = single.instance.relations.height, single.asked
    least, span = single.least(), asked.lpl + asked.upl
    distance = np.maximum(span + (span + 1) // 2, (asked.spl + 1) // 2)
    out = []
    for level in range(int(height.max(initial=0)) + 1):
        cells = np.flatnonzero(height == level)
        mine = cells[asked.any[cells]]
        if not len(mine):
            out.append(LevelNeeds(level, len(cells), 0, None, 0, 0))
            continue
        most = int(mine[asked.width[mine].argmax()])
        out.append(LevelNeeds(level, len(cells), len(mine), most, int(least[mine].max()), int(distance[mine].max())))
    return out


def bases_by_level(single: SingleCells) -> dict[int, int] | None:
    """Round bases, each a multiple of the one below it, that block no cell; None where cells that are no sum ask for most anyway.

    The bases rise: what is a sum of multiples of β is one itself, so that a smaller base of a sum leaves it hardly a value near the true one.
    """
    height = single.instance.relations.height
    found: dict[int, int] = {}
    below = 1
    for level in range(int(height.max(initial=0)) + 1):
        mine = height == level
        ladder = (base for base in round_bases(below) if base % below == 0)
        most = 4 * int(np.abs(single.instance.a).max(initial=0)) + 2 * int(single.least().max(initial=1))
        base = next((base for base in ladder if base > most or not mine[single.blocked(base)].any()), None)
        if base is None or base > most:
            return None
        found[level] = below = base
    return found if found[0] < below else None


def distances_by_level(needs: list[LevelNeeds]) -> dict[int, int] | None:
    """A round distance a level, the smallest of them where nothing is asked; None where all are the same."""
    asked = [round_up(need.distance) for need in needs if need.asking]
    if not asked:
        return None
    each = {need.level: round_up(need.distance) if need.asking else min(asked) for need in needs}
    return each if len(set(each.values())) > 1 else None
