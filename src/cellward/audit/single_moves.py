"""Single moves: one exchange from the true table that brings one cell as far as a level asks, and touches few others.

A witness of many exchanges suits one attacker; one of a single exchange suits every attacker that knows nothing of the few cells it touches. With
hundreds of attackers a few of them for each cell and side settle nearly everything, before any attacker is looked at by itself.
"""

from __future__ import annotations

from collections.abc import Callable, Sequence
from dataclasses import dataclass

import numpy as np

from cellward.audit.ends import HIGH, LOW, Ends
from cellward.audit.swaps import Swaps
from cellward.exact import Ints
from cellward.table.labels import Labels

CHOICES = 6
"""Moves kept for each cell and side."""

ROUNDS, PATIENCE = 4000, 100
"""Rounds of exchanges drawn at most, and without a new move."""

TRIES = 100
"""Moves tried through a cell that random exchanges did not reach."""


@dataclass(frozen=True, eq=False)
class Move:
    """The cells it touches and by how much it shifts each."""

    cell: Ints
    shift: Ints


class SingleMoves:
    """For every cell and side that is asked for, some moves from the center that reach the largest level asked, inside the public bounds."""

    def __init__(
        self,
        swaps: Swaps,
        labels: Labels,
        ends: Sequence[Ends],
        rng: np.random.Generator,
        over: Callable[[], bool] = lambda: False,
    ) -> None:
        self._found: dict[tuple[int, int], list[Move]] = {}
        first = ends[0].region
        center = first.center
        lo = np.minimum.reduce([one.region.lo for one in ends])
        hi = np.maximum.reduce([one.region.hi for one in ends])
        need = np.zeros((2, len(center)), np.int64)
        for one in ends:
            assert one.levels is not None
            for side, level in ((LOW, one.levels.lpl), (HIGH, one.levels.upl)):
                np.maximum.at(need[side], one.levels.cell, level)
        missing = CHOICES * (need > 0)
        down, up = center - np.maximum(lo, -(2**60)), np.minimum(hi, 2**60) - center
        idle = 0
        for _ in range(ROUNDS):
            if idle > PATIENCE or not missing.any() or over():
                break
            idle = 0 if self._draw(swaps, rng, need, missing, down, up) else idle + 1
        missing[LOW][need[LOW] > down] = 0
        missing[HIGH][need[HIGH] > up] = 0
        for i in np.flatnonzero(missing.any(axis=0)).tolist():
            if over():
                return
            self._aim(i, swaps, labels, rng, need, missing, down, up)

    def _aim(
        self,
        i: int,
        swaps: Swaps,
        labels: Labels,
        rng: np.random.Generator,
        need: Ints,
        missing: Ints,
        down: Ints,
        up: Ints,
    ) -> None:
        """Moves through a cell that random exchanges did not reach."""
        codes = [int(index[i]) for index in labels.index]
        for _ in range(TRIES):
            if not missing[:, i].any():
                return
            cells, factor = swaps.through(codes, rng)
            if not len(cells):
                continue
            size, own = np.abs(factor), int(factor[cells == i][0])
            for side, way in ((LOW, -1), (HIGH, 1)):
                step = -(-int(need[side][i]) // own)
                rises = factor * way > 0
                limit = int(np.where(rises, up[cells] // size, down[cells] // size).min())
                if missing[side][i] > 0 and step <= limit:
                    missing[side][i] -= 1
                    self._found.setdefault((i, side), []).append(Move(cells, factor * (way * step)))

    def _draw(self, swaps: Swaps, rng: np.random.Generator, need: Ints, missing: Ints, down: Ints, up: Ints) -> bool:
        """One round of exchanges; True when it brought a new move."""
        cells, factor = swaps.draw(rng)
        if not len(cells):
            return False
        size = np.abs(factor)
        new = False
        for way in (1, -1):
            rises = factor * way > 0
            limit = np.where(rises, up[cells] // size, down[cells] // size).min(axis=1)
            for side in (LOW, HIGH):
                moves_so = rises if side == HIGH else ~rises
                wanted = need[side][cells]
                steps = -(-wanted // size)
                use = moves_so & (missing[side][cells] > 0) & (wanted > 0) & (steps <= limit[:, None])
                for m, j in zip(*np.nonzero(use), strict=True):
                    target = int(cells[m, j])
                    if missing[side][target] > 0:
                        missing[side][target] -= 1
                        move = Move(cells[m].copy(), factor[m] * (way * int(steps[m, j])))
                        self._found.setdefault((target, side), []).append(move)
                        new = True
        return new

    def show_to(self, ends: Ends) -> None:
        """Show to one attacker the moves that stay inside its region and help."""
        assert ends.levels is not None
        region, center = ends.region, ends.region.center
        for side in (LOW, HIGH):
            for i in np.flatnonzero(ends.open[side]).tolist():
                for move in self._found.get((i, side), ()):
                    y = center[move.cell] + move.shift
                    if np.all(y >= region.lo[move.cell]) and np.all(y <= region.hi[move.cell]):
                        whole = center.copy()
                        whole[move.cell] = y
                        ends.see(whole)
                        break
