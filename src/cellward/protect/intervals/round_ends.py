"""RoundEnds: ranges that end on the grid, from widths that are real numbers: rounded outwards, made narrower again where every level still holds.

Legend: g the grid; column i: how far the range of cell i reaches below its value, column n + i: above. A range has both ends on the grid or at a
public bound, or no width at all. Widths on the grid are o + g·k with o what is left to the next multiple.
"""

from __future__ import annotations

import numpy as np

from cellward.exact import NO_BOUND, Floats, Ints
from cellward.instance import Instance
from cellward.protect.intervals.few_widths import few_widths
from cellward.protect.intervals.grid_program import GridProgram
from cellward.protect.intervals.widths import WidthSearch

HAIR = 1e-6
TRIALS = 3000
"""Attackers' problems that narrowing may take."""
Ends = tuple[Ints, Ints]


class RoundEnds:
    """Ends for one search; ``step``: the grid; ``many``: of so many different widths at most (0: any)."""

    def __init__(self, search: WidthSearch, instance: Instance, step: int, many: int) -> None:
        self.search, self.own, self.step, self.many = search, instance, step, many
        self.trials = TRIALS

    def least(self, below: Floats, above: Floats) -> Ends | None:
        """Ends on the grid as near as they are found; None where no so few widths suit all ranges."""
        n = self.own.cells
        ends = self._outwards(below[:n], above[:n])
        real = np.concatenate((below[:n], above[:n]))
        if np.any(self._reach(*ends) > real + HAIR):
            ends = self._programmed(self._narrower(ends, real))
        return self._few(ends) if self.many else ends

    def wider(self, low: Ints, high: Ints) -> Ends:
        """Every range by a step of the grid more to both sides."""
        own, g, wide = self.own, self.step, low < high
        down, up = (low - g) // g * g, -(-(high + g) // g) * g
        ends = np.where(wide, np.maximum(own.lower, down), low), np.where(wide, np.minimum(own.upper, up), high)
        return (self._few(ends) or ends) if self.many else ends

    def _outwards(self, below: Floats, above: Floats) -> Ends:
        own, g = self.own, self.step
        wide = (below > HAIR) | (above > HAIR)
        down, up = np.ceil(below - HAIR).astype(np.int64), np.ceil(above - HAIR).astype(np.int64)
        low = np.maximum(own.lower, (own.a - down) // g * g)
        high = np.minimum(own.upper, -(-(own.a + up) // g) * g)
        return np.where(wide, low, own.a), np.where(wide, high, own.a)

    def _reach(self, low: Ints, high: Ints) -> Floats:
        return np.concatenate((self.own.a - low, high - self.own.a)).astype(float)

    def _cost(self, ends: Ends) -> int:
        return sum(w * x for w, x in zip(self.own.weight.tolist(), (ends[1] - ends[0]).tolist(), strict=True))

    # ---- narrower ----------------------------------------------------------------------------------------------------------------------------

    def _narrower(self, ends: Ends, real: Floats) -> Ends:
        """Ranges wider than they had to be, the dearest first: printed as they are, or an end moved inwards by a step, where all still holds."""
        low, high = ends[0].copy(), ends[1].copy()
        n, g, own = self.own.cells, self.step, self.own
        weight = np.concatenate((own.weight, own.weight))
        over = np.flatnonzero(self._reach(low, high) > real + HAIR)
        for j in over[np.argsort(-weight[over], kind="stable")].tolist():
            if self.trials <= 0 or self.search.budget.over:
                break
            i, above = j % n, j >= n
            tries = [(int(own.a[i]), int(own.a[i]))] if g > 1 else []
            inner = -(-(int(high[i]) - g) // g) * g if above else (int(low[i]) + g) // g * g
            if (inner >= own.a[i]) if above else (inner <= own.a[i]):
                tries.append((int(low[i]), inner) if above else (inner, int(high[i])))
            for one, other in tries:
                kept = int(low[i]), int(high[i])
                if kept[0] == kept[1]:
                    break
                low[i], high[i] = one, other
                if self._holds(low, high):
                    break
                low[i], high[i] = kept
        return low, high

    def _holds(self, low: Ints, high: Ints) -> bool:
        """Whether every requirement is met by these ranges, as far as floats tell."""
        search, x = self.search, self._columns(low, high)
        missing = [r for r in np.flatnonzero(search.asked.first).tolist() if not search.still(r, x)]
        if not missing:
            return True
        reach, shown = search.at(x), {}
        for r in missing:
            self.trials -= 1
            found = reach.of(r)
            level = float(search.asked.level[r])
            if found is None or found.much < level - HAIR * max(1.0, level):
                return False
            shown[r] = found.moves
        for r, moves in shown.items():
            search.remember(r, moves)
        return True

    def _columns(self, low: Ints, high: Ints) -> Floats:
        """Widths of all cells of the search, sums after the table's own."""
        more = np.zeros(self.search.n - self.own.cells)
        reach = self._reach(low, high)
        n = self.own.cells
        return np.concatenate((reach[:n], more, reach[n:], more))

    # ---- by an integer program ---------------------------------------------------------------------------------------------------------------

    def _programmed(self, ends: Ends) -> Ends:
        """The least that an integer program over the cuts finds, where it is cheaper."""
        program = GridProgram(self.search, self.own, self.step, self._cost(ends))
        for x in program.points(self._reach(*ends)):
            made = self._outwards(x[: self.own.cells], x[self.own.cells :])
            if self._cost(made) < self._cost(ends) and self._holds(*made):
                return made
        return ends

    # ---- of few widths -----------------------------------------------------------------------------------------------------------------------

    def _few(self, ends: Ends) -> Ends | None:
        """The same with few widths; then ranges that are not needed any more are printed as they are."""
        low, high = ends[0].copy(), ends[1].copy()
        own, wide = self.own, np.flatnonzero(ends[0] < ends[1])
        most = np.where(
            (own.upper == NO_BOUND) | (own.lower == -NO_BOUND), np.inf, (own.upper - own.lower).astype(float)
        )
        need, weight = (high - low)[wide].tolist(), own.weight[wide].tolist()
        chosen = few_widths(need, most[wide].tolist(), weight, self.many)
        if chosen is None:
            return None
        for i, width in zip(wide.tolist(), chosen, strict=True):
            placed = self._placed(i, int(low[i]), int(high[i]), width)
            if placed is None:
                return None
            low[i], high[i] = placed
        for i in wide[np.argsort(-((high - low) * own.weight)[wide], kind="stable")].tolist():
            if self.trials <= 0 or self.search.budget.over:
                break
            kept = int(low[i]), int(high[i])
            low[i] = high[i] = own.a[i]
            if not self._holds(low, high):
                low[i], high[i] = kept
        return low, high

    def _placed(self, i: int, low: int, high: int, width: int) -> tuple[int, int] | None:
        """A range of this width that holds another, with ends on the grid, as much to both sides as it can; None where there is none."""
        g, least, most = self.step, int(self.own.lower[i]), int(self.own.upper[i])
        spare = width - (high - low)
        starts = [
            *range(low - spare // (2 * g) * g, low + 1, g),
            *range(low - spare // (2 * g) * g, low - spare - 1, -g),
            least,
        ]
        for one in starts:
            other = one + width
            inside = least <= one <= low and high <= other <= most
            if inside and (one % g == 0 or one == least) and (other % g == 0 or other == most):
                return one, other
        return None
