"""SafeWidths: widths that meet every requirement, as narrow as one move after the other makes them: what the moves reach together.

Each requirement has a move (a width two), the cheapest beyond what the others reach; swept once more, each move is sought anew beside the others.
"""

from __future__ import annotations

from collections.abc import Iterator

import numpy as np

from cellward.audit.ends import Witness
from cellward.exact import Bools, Floats, Ints
from cellward.protect.intervals.repair import cheapest_move
from cellward.protect.intervals.requirements import Requirements
from cellward.solve.budget import Budget
from cellward.table.relations import Relations

Move = tuple[Ints, Floats]
"""Cells, and how far they move."""
HAIR = 1e-6
DENOMINATORS = (1, 2, 3, 4, 6, 12, 60, 840)


class SafeWidths:
    """The moves of one instance; ``free``: cells that may be ranges."""

    def __init__(self, relations: Relations, asked: Requirements, free: Bools, weight: Floats) -> None:
        self.relations, self.asked, self.free, self.weight = relations, asked, free, weight
        self.n = relations.cells
        self.moves: dict[int, tuple[Move, ...]] = {}

    def made(self, guide: Floats, budget: Budget) -> Floats | None:
        """Widths from moves of all requirements, the highest levels first; those of the guide cost nothing. None where there are none in time."""
        first = np.flatnonzero(self.asked.first)
        shown = np.zeros(len(self.asked.cell), bool)
        for r in first[np.argsort(-self.asked.level[first], kind="stable")].tolist():
            if shown[r]:
                continue
            if not self._moved(r, np.maximum(np.rint(guide), self.widths()), budget):
                return None
            for cells, amounts in self.moves[r]:
                z = np.zeros(self.n)
                z[cells] = amounts
                shown |= self.asked.shown_by(z, 0.0)
        for r in list(self.moves):
            if budget.over:
                break
            self._moved(r, self.widths(without=r), budget)
        return self.widths()

    def keep(self, r: int, moves: tuple[Floats, ...]) -> None:
        """What meets a requirement."""
        self.moves[r] = tuple((np.flatnonzero(z), z[z != 0]) for z in moves)

    def widths(self, *, without: int | None = None) -> Floats:
        """What the moves reach below and above, in whole numbers: so the vertices of the next problems are fractions that can be told exactly."""
        x = np.zeros(2 * self.n)
        for r, moves in self.moves.items():
            for cells, z in moves if r != without else ():
                x[cells] = np.maximum(x[cells], -z)
                x[self.n + cells] = np.maximum(x[self.n + cells], z)
        return np.ceil(x - HAIR)

    def tables(self) -> Iterator[Witness]:
        """The moves that can be told exactly, as tables."""
        r = self.relations
        for moves in self.moves.values():
            for cells, amounts in moves:
                for d in DENOMINATORS:
                    near = np.rint(amounts * d)
                    if float(np.abs(near - amounts * d).max(initial=0.0)) < HAIR * d:
                        shift = np.zeros(self.n, np.int64)
                        shift[cells] = near.astype(np.int64)
                        if not r.sums(r.coefs * shift[r.indices]).any():
                            yield Witness(shift, d)
                        break

    def _moved(self, r: int, x: Floats, budget: Budget) -> bool:
        way, level, p = int(self.asked.way[r]), float(self.asked.level[r]), int(self.asked.cell[r])
        _, above = self.asked.widths(r, self.asked.below, self.asked.above)
        up = min(level, float(above[p]))
        parts = [(way, level)] if way else [(s, much) for s, much in ((1, up), (-1, level - up)) if much > HAIR]
        found = []
        for sign, much in parts:
            if budget.over:
                return False
            z = cheapest_move(self.relations, self.asked, r, much, sign, x, self.free, self.weight, budget)
            if z is None:
                return False
            found.append(z)
        self.keep(r, tuple(found))
        return True
