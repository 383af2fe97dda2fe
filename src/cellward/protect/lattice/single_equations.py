"""Single equations: where the levels of a cell are more than the other cells of one equation leave room for, against each attacker; of all together.

Of thousands of attackers each knows a few cells more than the public. In an equation that holds none of these he sees what the public sees: there the
largest of all levels of a cell is looked at once, against the public. The others are listed attacker by attacker, some hundred thousand cells of
equations at a time. Legend as in level_rows.py.
"""

from __future__ import annotations

from collections.abc import Callable, Iterator
from dataclasses import dataclass
from itertools import pairwise

import numpy as np

from cellward.exact import Bools, Ints
from cellward.protect.lattice.capacity import Capacity
from cellward.protect.lattice.told_box import Requirement
from cellward.table.relations import among, ranges

AT_ONCE = 400_000
"""Cells of equations that are looked at together."""
MOST_KNOWN = 1_000_000
"""Where attackers know more than so many cells beyond the public, one by one, the public alone is looked at: the audit judges all of them anyway."""


@dataclass(frozen=True, eq=False)
class Room:
    """Room to one side: so much, and so much more where the 0–1 quantity ``at`` is 1 (may be negative; −1: no such quantity)."""

    least: Ints
    more: Ints
    at: Ints

    @property
    def worst(self) -> Ints:
        """What there is of it at least."""
        return np.asarray(self.least + np.minimum(self.more, 0))


RoomOf = Callable[[Ints, Ints, Ints], tuple[Room, Room]]
"""Upwards and downwards, of cells (the last) of which an attacker knows that they lie between these."""


@dataclass(frozen=True, eq=False)
class _Looks:
    """Levels to be looked at: ``who`` is taken to know what (0: the public, k + 1: attacker k), which of the levels asked, and to which side."""

    who: Ints
    which: Ints
    rising: Bools

    def take(self, some: Ints) -> _Looks:
        """Some of them."""
        return _Looks(self.who[some], self.which[some], self.rising[some])


class SingleEquations:
    """The levels of a guard, and who knows more than the public of which cells."""

    def __init__(self, guard: Capacity) -> None:
        self.guard, self.relations = guard, guard.instance.relations
        self.whose, self.asked = guard.every
        known = guard.known[0]
        self.known = known if len(known) <= MOST_KNOWN else known[:0]
        who, own = np.divmod(self.known, guard.instance.cells)
        ptr, entry = self.relations.by_cell
        equation = self.relations.row[entry[ranges(ptr[own], ptr[own + 1])]]
        self.seen = np.unique(np.repeat(who + 1, ptr[own + 1] - ptr[own]) * self.relations.equations + equation)
        """Who and which equation with a cell of which he knows more, in order."""

    def rows(self, room: RoomOf) -> Iterator[tuple[Ints, Ints, int, Requirement]]:
        """Σ coef·q[at] ≥ least and who asks for it, where not every choice meets the level."""
        r, looks = self.relations, self._looks()
        ptr, entry = r.by_cell
        cell = self.asked.cell[looks.which]
        first, last = ptr[cell], ptr[cell + 1]
        at, looks = entry[ranges(first, last)], looks.take(np.repeat(np.arange(len(first)), last - first))
        pair = looks.who * r.equations + r.row[at]
        mine = (looks.who == 0) | among(self.seen, pair)
        at, pair, looks = at[mine], pair[mine], looks.take(np.flatnonzero(mine))
        pairs, place = np.unique(pair, return_inverse=True)
        ends = np.cumsum(np.diff(r.indptr)[pairs % r.equations])
        order = np.argsort(place, kind="stable")
        at, looks, place = at[order], looks.take(order), place[order]
        cuts = np.unique(ends // AT_ONCE, return_index=True)[1].tolist()
        for begin, end in pairwise([*cuts, len(pairs)]):
            some = slice(*np.searchsorted(place, [begin, end]).tolist())
            part = _Part(self, pairs[begin:end], room)
            yield from part.short(at[some], looks.take(np.arange(some.start, some.stop)), place[some] - begin)

    def _looks(self) -> _Looks:
        """The largest level of each cell and side against the public, and all of those who know more."""
        parts = []
        cell = self.asked.cell
        own = np.flatnonzero(np.isin(self.whose, self.known // self.guard.instance.cells))
        for level, rising in ((self.asked.upl, True), (self.asked.lpl, False)):
            order = np.lexsort((self.whose, -level, cell))
            largest = order[np.flatnonzero(np.diff(cell[order], prepend=-1))]
            which = np.concatenate((largest, own))
            who = np.concatenate((np.zeros_like(largest), self.whose[own] + 1))
            asked = level[which] > 0
            parts.append(_Looks(who[asked], which[asked], np.full(int(asked.sum()), rising)))
        return _Looks(*(np.concatenate([getattr(one, name) for one in parts]) for name in ("who", "which", "rising")))


class _Part:
    """Some equations, each as somebody sees it: the room of all their cells."""

    def __init__(self, every: SingleEquations, pairs: Ints, room: RoomOf) -> None:
        self.every, r = every, every.relations
        who, equation = pairs // r.equations, pairs % r.equations
        self.equation, length = equation, np.diff(r.indptr)[equation]
        self.begin = np.cumsum(length) - length
        entry = ranges(r.indptr[equation], r.indptr[equation + 1])
        cell, coefs = r.indices[entry], r.coefs[entry]
        up, down = room(*every.guard.bounds(np.repeat(who, length) - 1, cell), cell)
        self.size, self.rises = np.abs(coefs), coefs > 0
        # What Σ m·z can be at most, and −Σ m·z, entry by entry.
        self.above, self.below = self._terms(up, down), self._terms(down, up)

    def _terms(self, one: Room, other: Room) -> Room:
        least, more, at = (
            np.where(self.rises, mine, its)
            for mine, its in ((one.least, other.least), (one.more, other.more), (one.at, other.at))
        )
        return Room(self.size * least, np.where(at >= 0, self.size * more, 0), at)

    def short(self, at: Ints, looks: _Looks, place: Ints) -> Iterator[tuple[Ints, Ints, int, Requirement]]:
        """Those whose levels the worst choice does not meet; ``at``: the cell's entry in the equation ``place``."""
        asked = self.every.asked
        entry = self.begin[place] + at - self.every.relations.indptr[self.equation[place]]
        level = np.where(looks.rising, asked.upl[looks.which], asked.lpl[looks.which])
        for terms, mine in ((self.below, self.rises[entry] == looks.rising), (self.above, self.rises[entry] != looks.rising)):  # fmt: skip
            worst = terms.worst
            room = (np.add.reduceat(worst, self.begin) if len(worst) else worst)[place] - worst[entry]
            for t in np.flatnonzero(mine & (room < level * self.size[entry])).tolist():
                i, j, equation = int(entry[t]), int(looks.which[t]), int(place[t])
                others = np.arange(self.begin[equation], self._end(equation))
                others = others[others != i]
                chosen = others[terms.more[others] != 0]
                chosen = chosen[np.argsort(terms.at[chosen])]
                least = int(level[t]) * int(self.size[i]) - int(terms.least[others].sum())
                need = (int(part[j]) for part in (self.every.whose, *asked))
                yield terms.at[chosen], terms.more[chosen], least, Requirement(*need)

    def _end(self, equation: int) -> int:
        return int(self.begin[equation + 1]) if equation + 1 < len(self.begin) else len(self.size)
