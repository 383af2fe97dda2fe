"""Ends: both ends of every cell's interval in one region, from the inside (tables found) and from the outside (bounds proven)."""

from __future__ import annotations

from collections.abc import Sequence
from dataclasses import dataclass
from fractions import Fraction
from math import ceil, floor
from threading import Lock

import numpy as np
from numpy.typing import NDArray

from cellward.audit.region import Region
from cellward.errors import VerificationError
from cellward.exact import NO_BOUND, Bools, Ints
from cellward.table.levels import Levels

LOW, HIGH = 0, 1
HAIR = 1e-9
MOST_KEPT = 2 * 10**7
"""Numbers kept as witnesses for other attackers when no levels are to be shown."""


@dataclass(frozen=True, eq=False)
class Witness:
    """A table of the region, center + shift/denominator, exactly."""

    shift: Ints
    denominator: int = 1

    @property
    def mark(self) -> bytes:
        """The same for equal ones."""
        return self.shift.tobytes() + self.denominator.to_bytes(8, "big")


@dataclass(frozen=True, eq=False)
class Tables:
    """Witnesses as one array: a row of shifts each, and their denominators."""

    shift: Ints
    denominator: Ints

    @staticmethod
    def of(pool: Sequence[Witness]) -> Tables:
        """Some witnesses, in their order."""
        shift = np.stack([one.shift for one in pool]) if pool else np.zeros((0, 0), np.int64)
        return Tables(shift, np.array([one.denominator for one in pool], np.int64))


class Ends:
    """What is known of the ends so far.

    ``inner`` and ``outer`` hold a row for the low ends and one for the high ends: tables found reach ``inner`` (rounded inwards), and no table of the
    region goes beyond ``outer`` (rounded outwards where values need not be whole). Ends that are proven and not whole stand in ``fraction``; those
    that rest on the word of an integer solver in ``claimed``. With ``levels``, relative to the region's center, an end is wanted only as far as its
    level, or all the way when the level is out of reach.
    """

    def __init__(self, region: Region, cells: Ints | None = None, levels: Levels | None = None) -> None:
        self.region = region
        self.levels = levels
        self.outer = np.stack(region.outer)
        n = self.outer.shape[1]
        self.inner = np.stack((np.full(n, NO_BOUND, np.int64), np.full(n, -NO_BOUND, np.int64)))
        self.fraction: dict[tuple[int, int], Fraction] = {}
        self.claimed: set[tuple[int, int]] = set()
        self.endless: set[tuple[int, int]] = set()
        """Ends that are no ends: tables of the region go on and on."""
        self.asked = np.zeros(n, bool)
        self.asked[levels.cell if levels is not None else slice(None) if cells is None else cells] = True
        self.start: Ints | None = None
        """The whole table of the region seen last."""
        self.reached = np.zeros((2, 0 if levels is None else len(levels)))
        """How far tables with fractions move the cells with levels."""
        self.witnesses: list[Witness] = []
        """The tables that brought an end nearer, as far as memory is worth it."""
        self._lock = Lock()  # parts of the ends may be settled side by side
        self._set_goal()

    # ---- what is wanted --------------------------------------------------------------------------------------------------------------------

    def _set_goal(self) -> None:
        goal = self.outer.copy()
        if self.levels is not None:
            cell, center = self.levels.cell, self.region.center
            self.level = np.stack((center[cell] - self.levels.lpl, center[cell] + self.levels.upl))
            for side, beyond in ((LOW, np.greater), (HIGH, np.less)):
                out_of_reach = beyond(self.outer[side][cell], self.level[side]) | self._wide
                goal[side][cell] = np.where(out_of_reach, self.outer[side][cell], self.level[side])
        self.goal = goal

    @property
    def _wide(self) -> Bools:
        """Levels that ask for more width than their two sides give: both ends are then wanted until the width is there."""
        assert self.levels is not None
        return np.asarray(self.levels.spl > self.levels.lpl + self.levels.upl)

    @property
    def open(self) -> tuple[Bools, Bools]:
        """Low and high ends that are wanted and not settled."""
        low = self.asked & (self.inner[LOW] > self.goal[LOW])
        high = self.asked & (self.inner[HIGH] < self.goal[HIGH])
        if self.levels is not None:
            met = self.levels.cell[self.met]
            low[met] = high[met] = False
        for i, side in self.claimed.union(self.fraction, self.endless):
            (low, high)[side][i] = False
        return low, high

    @property
    def any_open(self) -> bool:
        """Whether an end is still wanted."""
        return any(bool(side.any()) for side in self.open)

    @property
    def met(self) -> Bools:
        """Levels that the tables found already meet."""
        assert self.levels is not None
        low, high = self.inner[:, self.levels.cell]
        seen = low <= high
        width = np.where(seen, high, 0) - np.where(seen, low, 0)
        return np.asarray(seen & (low <= self.level[LOW]) & (high >= self.level[HIGH]) & (width >= self.levels.spl))

    @property
    def enough(self) -> Ints:
        """How far a table has to go to each side for what is wanted: where a width is asked, no further than it takes from the tables found."""
        if self.levels is None or not self._wide.any():
            return self.goal
        out, wide = self.goal.copy(), self._wide
        cell, spl = self.levels.cell[wide], self.levels.spl[wide]
        low, high = self.inner[:, cell]
        seen = low <= high
        up = np.minimum(np.where(seen, low, 0) + spl, self.outer[HIGH][cell])
        down = np.maximum(np.where(seen, high, 0) - spl, self.outer[LOW][cell])
        out[HIGH][cell] = np.where(
            seen, np.maximum(up, np.minimum(self.level[HIGH][wide], out[HIGH][cell])), out[HIGH][cell]
        )
        out[LOW][cell] = np.where(
            seen, np.minimum(down, np.maximum(self.level[LOW][wide], out[LOW][cell])), out[LOW][cell]
        )
        return out

    @property
    def many_open(self) -> int:
        """How many ends are still wanted."""
        return sum(int(side.sum()) for side in self.open)

    @property
    def out_of_reach(self) -> bool:
        """Whether a level is proven not to be met."""
        if self.levels is None:
            return False
        low, high = self.outer[:, self.levels.cell]
        beyond = (low > self.level[LOW]) | (high < self.level[HIGH])
        far = (low > -NO_BOUND) & (high < NO_BOUND)
        return bool(np.any(beyond | (far & (high - low < self.levels.spl))))

    def directions(self, rng: np.random.Generator) -> Ints:
        """For every cell +1, −1 or 0: the way towards an end that is open, one of them at random where both are."""
        low, high = self.open
        return np.where(low & high, rng.choice([-1, 1], len(low)), high.astype(np.int64) - low.astype(np.int64))

    # ---- what was found --------------------------------------------------------------------------------------------------------------------

    def see(self, y: Ints) -> bool:
        """Take in a whole table, which must lie in the region; True when it brings a wanted end nearer."""
        if not self._nearer(y, y) and self.start is not None:
            return False
        if not self.region.contains(y):
            raise VerificationError("a table outside an attacker's region was taken for a witness; nothing is released")
        self.start = y.copy()
        return self._take(y, y, Witness(y - self.region.center))

    def see_shift(self, shift: Ints, denominator: int) -> bool:
        """Take in center + shift/denominator; False when it does not lie in the region."""
        if denominator == 1:
            y = self.region.center + shift
            if not self.region.contains(y):
                return False
            self.see(y)
            return True
        if not self.region.contains_shift(shift, denominator):
            return False
        down, up = self.region.center + shift // denominator, self.region.center - (-shift) // denominator
        witness = Witness(shift, denominator)
        if not self._take(up, down, witness) and self._wider(shift / denominator):
            self.witnesses.append(witness)
        return True

    def _wider(self, moved: NDArray[np.float64]) -> bool:
        """Whether a table with fractions, which rounds to nothing nearer, widens a cell of which a width is asked by more than a hair."""
        if self.levels is None or not self.levels.spl.any():
            return False
        asked = moved[self.levels.cell]
        wider = (self.levels.spl > 0) & ((asked < self.reached[LOW] - HAIR) | (asked > self.reached[HIGH] + HAIR))
        np.minimum(self.reached[LOW], asked, out=self.reached[LOW])
        np.maximum(self.reached[HIGH], asked, out=self.reached[HIGH])
        return bool(wider.any())

    def _nearer(self, low: Ints, high: Ints) -> bool:
        open_low, open_high = self.open
        return bool(np.any(open_low & (low < self.inner[LOW])) or np.any(open_high & (high > self.inner[HIGH])))

    def _take(self, low: Ints, high: Ints, witness: Witness) -> bool:
        nearer = self._nearer(low, high)
        with self._lock:
            np.minimum(self.inner[LOW], low, out=self.inner[LOW])
            np.maximum(self.inner[HIGH], high, out=self.inner[HIGH])
        if nearer and (self.levels is not None or len(self.witnesses) * len(low) < MOST_KEPT):
            self.witnesses.append(witness)
        return nearer

    def bound(self, i: int, side: int, value: Fraction) -> None:
        """No table of the region goes beyond this value: a proven bound."""
        inwards = self.region.whole
        with self._lock:
            if side == LOW:
                self.outer[LOW][i] = max(int(self.outer[LOW][i]), ceil(value) if inwards else floor(value))
            else:
                self.outer[HIGH][i] = min(int(self.outer[HIGH][i]), floor(value) if inwards else ceil(value))
            self._set_goal()

    def end(self, i: int, side: int) -> int | Fraction | None:
        """The end as far as tables reach it; None where there is no bound to that side, or no table yet."""
        if (i, side) in self.fraction:
            return self.fraction[i, side]
        inner = NO_BOUND if (i, side) in self.endless else int(self.inner[side][i])
        return None if abs(inner) == NO_BOUND else inner
