"""Requirements: what ranges must leave possible: for attackers alike and cells, how far tables have to move the cell, one way or both together.

Legend: z = y − a for a table y; requirement r asks of the attackers alike ``of[r]`` a table that moves ``cell[r]`` by ``level[r]`` upwards (way 1) or
downwards (way −1), or two tables that are ``level[r]`` apart there (way 0).
"""

from __future__ import annotations

from collections.abc import Iterator
from dataclasses import dataclass

import numpy as np

from cellward.exact import NO_BOUND, Bools, Floats, Ints
from cellward.instance import Instance
from cellward.risk.alike import Alike, alike
from cellward.table.relations import Relations

SENSES = {1: "up", -1: "down", 0: "slide"}


@dataclass(frozen=True, eq=False)
class Requirements:
    """All of them, and how far below and above its true value each of those alike takes a cell for possible beforehand."""

    cell: Ints
    way: Ints
    level: Ints
    of: Ints
    attacker: tuple[str, ...]
    """Who asks for the level, by name."""
    groups: tuple[Alike, ...]
    below: Floats
    above: Floats
    """The public's rooms."""
    rooms: tuple[tuple[Ints, Floats, Floats], ...]
    """Of those alike: cells of which they know more, and the rooms there."""
    first: Bools
    """Which are not implied by others that are asked of the same attackers in cells tied to theirs."""

    @staticmethod
    def of_instance(instance: Instance) -> Requirements:
        """What the levels of an instance ask."""
        i = instance
        groups = [g for g in alike(i.attackers, i.sensitivity.levels, i.lower, i.upper) if len(g.levels)]
        found = [(k, *one) for k, g in enumerate(groups) for one in _asked(i, g)]
        made = Requirements(
            np.array([p for _, p, _, _, _ in found], np.int64),
            np.array([way for _, _, way, _, _ in found], np.int64),
            np.array([level for _, _, _, level, _ in found], np.int64),
            np.array([k for k, *_ in found], np.int64),
            tuple(name for *_, name in found),
            tuple(groups),
            _room(i.a - np.maximum(i.lower, -NO_BOUND), i.lower),
            _room(np.minimum(i.upper, NO_BOUND) - i.a, i.upper),
            tuple(
                (g.cell, _room(i.a[g.cell] - g.lower, g.lower), _room(g.upper - i.a[g.cell], g.upper)) for g in groups
            ),
            np.ones(len(found), bool),
        )
        made.first[made._implied(i.relations)] = False
        return made

    def _implied(self, relations: Relations) -> list[int]:
        """Those whose cell is tied to another, by equations of two terms, of which as much is asked."""
        tied, sign = _ties(relations)
        best: dict[tuple[int, int, int], int] = {}
        for r in range(len(self.cell)):
            p = int(self.cell[r])
            key = (int(self.of[r]), int(tied[p]), int(self.way[r] * sign[p]))
            other = best.get(key)
            if other is None or self.level[r] > self.level[other]:
                best[key] = r
        kept = set(best.values())
        return [r for r in range(len(self.cell)) if r not in kept]

    def widths(self, r: int, below: Floats, above: Floats) -> tuple[Floats, Floats]:
        """How far cells can move where ranges reach so far, for those that requirement r is asked of."""
        own, low, high = self.rooms[int(self.of[r])]
        if not len(own):
            return below, above
        below, above = below.copy(), above.copy()
        below[own], above[own] = np.minimum(below[own], low), np.minimum(above[own], high)
        return below, above

    def shown_by(self, z: Floats, hair: float) -> Bools:
        """Which requirements of one way a move shows, as far as those alike take it for possible."""
        fits = np.array(
            [bool(np.all((z[own] >= -low - hair) & (z[own] <= high + hair))) for own, low, high in self.rooms]
        )
        enough = self.way * z[self.cell] >= self.level - hair * np.maximum(1, self.level)
        return np.asarray(fits[self.of] & enough & (self.way != 0))


def _room(far: Ints, bounds: Ints) -> Floats:
    return np.where(np.abs(bounds) >= NO_BOUND, np.inf, far.astype(float))


def _asked(instance: Instance, group: Alike) -> Iterator[tuple[int, int, int, str]]:
    """Cell, way, level and the attacker who asks for most."""
    most: dict[tuple[int, int], tuple[int, str]] = {}
    for member in group.members:
        one = instance.attackers[member]
        asked = one.asked(instance.sensitivity.levels)
        columns = (asked.cell.tolist(), asked.lpl.tolist(), asked.upl.tolist(), asked.spl.tolist())
        for p, lpl, upl, spl in zip(*columns, strict=True):
            for way, level in ((1, upl), (-1, lpl), (0, spl if spl > lpl + upl else 0)):
                if level > most.get((p, way), (0, ""))[0]:
                    most[p, way] = level, one.name
    for (p, way), (level, name) in most.items():
        yield p, way, level, name


def _ties(relations: Relations) -> tuple[Ints, Ints]:
    """For each cell one that it is tied to by equations x ± y = b, itself where there is none, and the sign of their moves."""
    n = relations.cells
    tied, sign = np.arange(n), np.ones(n, np.int64)

    def root(i: int) -> tuple[int, int]:
        s = 1
        while tied[i] != i:
            s, i = s * int(sign[i]), int(tied[i])
        return i, s

    for j in np.flatnonzero(np.diff(relations.indptr) == 2).tolist():
        _, (x, y), (p, q) = relations.equation(j)
        if abs(p) != abs(q):
            continue
        (rx, sx), (ry, sy) = root(x), root(y)
        if rx != ry:
            tied[ry], sign[ry] = rx, -sx * sy * (1 if p == q else -1)
    ends = [root(i) for i in range(n)]
    return np.array([i for i, _ in ends], np.int64), np.array([s for _, s in ends], np.int64)
