"""Demand: what a safe pattern must leave possible: for attackers alike and cells, how far tables have to move the cell up and down.

Legend: z = y − a for a table y; entry e asks of the attackers alike ``of[e]`` a table that moves ``cell[e]`` up by ``up[e]`` and one that moves it
down by ``down[e]``. A width is asked as two such moves.
"""

from __future__ import annotations

from collections.abc import Sequence
from dataclasses import dataclass, replace

import numpy as np

from cellward.audit.ends import Witness
from cellward.exact import NO_BOUND, Bools, Floats, Ints
from cellward.instance import Instance
from cellward.risk.alike import Alike, alike

FAR = 2**60
"""Rooms without end, in whole numbers."""


@dataclass(frozen=True, eq=False)
class Demand:
    """The entries, and what the attackers alike know beyond the public: ``low`` and ``high`` as moves of their ``own`` cells."""

    groups: tuple[Alike, ...]
    room: Ints
    """How far below (row 0) and above (row 1) its true value the public must think each cell possible beforehand; 0 where it must be printed."""
    cell: Ints
    of: Ints
    up: Ints
    down: Ints
    upl: Ints
    lpl: Ints
    wide: Ints
    """What is asked of each way by itself, and of both together (0: nothing beyond what each is asked)."""
    own: Ints
    whose: Ints
    low: Ints
    high: Ints

    @staticmethod
    def of_instance(instance: Instance, candidate: Bools) -> Demand:
        """What the levels of an instance ask where these cells may be withheld."""
        a = instance.a
        lower, upper = np.where(candidate, instance.lower, a), np.where(candidate, instance.upper, a)
        groups = [g for g in alike(instance.attackers, instance.sensitivity.levels, lower, upper) if len(g.levels)]
        below = np.where(lower == -NO_BOUND, FAR, np.minimum(a - np.maximum(lower, -FAR), FAR))
        above = np.where(upper == NO_BOUND, FAR, np.minimum(np.minimum(upper, FAR) - a, FAR))
        own = _row([g.cell for g in groups])
        made = Demand(
            tuple(groups),
            np.stack((below, above)),
            _row([g.levels.cell for g in groups]),
            np.repeat(np.arange(len(groups)), [len(g.levels) for g in groups]),
            _row([g.levels.upl for g in groups]),
            _row([g.levels.lpl for g in groups]),
            _row([g.levels.upl for g in groups]),
            _row([g.levels.lpl for g in groups]),
            _row([g.levels.spl for g in groups]),
            own,
            np.repeat(np.arange(len(groups)), [len(g.cell) for g in groups]),
            np.maximum(_row([g.lower for g in groups]) - a[own], -FAR),
            np.minimum(_row([g.upper for g in groups]), FAR) - a[own],
        )
        return made._with_widths()

    def _with_widths(self) -> Demand:
        """Widths as moves: up as far as the room allows where that is enough, else down for the rest."""
        more = np.maximum(self.wide - self.up - self.down, 0)
        below, above = self.own_room()
        up = self.up + np.minimum(more, np.maximum(above - self.up, 0))
        down = self.down + np.maximum(self.wide - up - self.down, 0)
        down = np.minimum(down, np.maximum(below, self.down))
        return replace(self, up=up, down=down, wide=np.where(more > 0, self.wide, 0))

    def own_room(self) -> tuple[Ints, Ints]:
        """What the room of each entry's cell is to those that it is asked of."""
        below, above = self.room[0][self.cell].copy(), self.room[1][self.cell].copy()
        cells = self.room.shape[1]
        key, mine = self.of * cells + self.cell, self.whose * cells + self.own
        order = np.argsort(mine, kind="stable")
        at = np.minimum(np.searchsorted(mine[order], key), max(len(mine) - 1, 0))
        if len(mine):
            found = mine[order][at] == key
            own = order[at]
            below = np.where(found, np.minimum(below, -self.low[own]), below)
            above = np.where(found, np.minimum(above, self.high[own]), above)
        return below, above

    @property
    def public(self) -> Bools:
        """Which of those alike know nothing beyond the public."""
        return np.asarray(np.bincount(self.whose, minlength=len(self.groups)) == 0)

    def rooms(self, chosen: Bools) -> Floats:
        """How far below and above each cell may be moved without any of these noticing."""
        room = self.room.copy()
        mine = chosen[self.whose]
        np.minimum.at(room[0], self.own[mine], -self.low[mine])
        np.minimum.at(room[1], self.own[mine], self.high[mine])
        return np.where(room >= FAR, np.inf, room.astype(float))

    def rooms_of(self, group: int, cells: Ints) -> Floats:
        """The same for one of those alike, of some cells in increasing order."""
        room = self.room[:, cells]
        mine = slice(*np.searchsorted(self.whose, [group, group + 1]).tolist())
        at = np.searchsorted(cells, self.own[mine])
        there = at < len(cells)
        there[there] = cells[at[there]] == self.own[mine][there]
        at = at[there]
        np.minimum.at(room[0], at, -self.low[mine][there])
        np.minimum.at(room[1], at, self.high[mine][there])
        return np.where(room >= FAR, np.inf, room.astype(float))

    def compatible(self, order: Ints, open_: Bools) -> Bools:
        """Attackers in this order, without those who know too much of a cell of which something is open to one before, or the other way round."""
        room, goal = self.room.copy(), np.zeros_like(self.room)
        own_room = np.stack((-self.low, self.high))
        # Nobody is to blame for what the public's room does not allow.
        level = np.minimum(np.where(open_, np.stack((self.down, self.up)), 0), self.room[:, self.cell])
        chosen = np.zeros(len(self.groups), bool)
        own_end, end = (np.searchsorted(of, np.arange(len(self.groups) + 1)) for of in (self.whose, self.of))
        for g in order.tolist():
            mine, asked = slice(own_end[g], own_end[g + 1]), slice(end[g], end[g + 1])
            own, cell = self.own[mine], self.cell[asked]
            if np.any(own_room[:, mine] < goal[:, own]) or np.any(level[:, asked] > room[:, cell]):
                continue
            chosen[g] = True
            room[:, own] = np.minimum(room[:, own], own_room[:, mine])
            goal[:, cell] = np.maximum(goal[:, cell], level[:, asked])
        if not chosen.any():
            chosen[order[:1]] = True
        return chosen

    def reached(self, witness: Witness) -> tuple[Bools, Bools]:
        """Which entries a table shows, upwards and downwards."""
        z, d = witness.shift, witness.denominator
        own = z[self.own]
        odd = (own < d * np.maximum(self.low, -FAR // d)) | (own > d * np.minimum(self.high, FAR // d))
        fits = np.bincount(self.whose[odd], minlength=len(self.groups)) == 0
        if d > 1:
            fits &= ~np.array([g.whole for g in self.groups], bool)
        move, usable = z[self.cell], fits[self.of]
        return np.asarray(usable & (move >= d * self.up)), np.asarray(usable & (-move >= d * self.down))

    def mirrored(self, witness: Witness) -> Witness | None:
        """The table as far on the other side, where the public takes it for possible too."""
        other = Witness(-witness.shift, witness.denominator)
        return other if self.inside(other) else None

    def inside(self, witness: Witness) -> bool:
        """Whether the public takes a table for possible."""
        z, d = witness.shift, witness.denominator
        moved = np.flatnonzero(z)
        z, room = z[moved], np.minimum(self.room[:, moved], FAR // d)
        return bool(np.all((z >= -d * room[0]) & (z <= d * room[1])))


def _row(many: Sequence[Ints]) -> Ints:
    return np.concatenate(many) if many else np.zeros(0, np.int64)
