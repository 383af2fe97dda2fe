"""WholeCuts: cuts of a merged problem as cuts of the cells themselves, which a verifier derives from equations that it has.

Multiples of the equations that tie a class gather what a cut counts of it in one of its cells, the one with the least room; bridges along the same
equations say that the others are withheld with it, so that their costs count too.
"""

from __future__ import annotations

from collections.abc import Iterator
from dataclasses import dataclass, replace
from itertools import pairwise

import numpy as np

from cellward.audit.derived_cut import CutSource, DerivedCut
from cellward.exact import Ints
from cellward.protect.suppression.cut_pool import CutPool
from cellward.protect.suppression.problem import CapacityCut, Pattern, SuppressionProblem
from cellward.protect.suppression.ties import Ties

PLACE = {"down": 0, "up": 1, "slide": 2}


@dataclass(frozen=True)
class Taken:
    """Cuts of the cells, and their weights."""

    cuts: tuple[CapacityCut, ...]
    weights: tuple[int, ...]
    scale: int


class WholeCuts:
    """Takes cuts of one merged problem back."""

    def __init__(
        self, whole: SuppressionProblem, merged: SuppressionProblem, ties: Ties, place: Ints, equation: Ints
    ) -> None:
        self.whole, self.merged, self.ties, self.place, self.equation = whole, merged, ties, place, equation
        self.pool = CutPool(whole)
        self.source = CutSource(whole.instance)
        order = np.argsort(place, kind="stable")
        order = order[np.searchsorted(place[order], 0) :]
        parts = np.split(order, np.searchsorted(place[order], np.arange(1, merged.instance.cells)))
        self.members: list[list[int]] = [part.tolist() for part in parts]

    def taken_back(self, found: Pattern) -> Taken:
        """All cuts of what was found, with bridges that carry the weights to all cells that cost."""
        given = zip(found.cuts, found.weights or (0,) * len(found.cuts), strict=True)
        taken = [(self.cut(cut), weight) for cut, weight in given]
        derived = [(self.pool.derive(cut), weight) for cut, weight in taken]
        bridged = list(self._bridges([(cut, weight) for cut, weight in derived if cut is not None], found))
        cuts, weights = zip(*taken, *bridged, strict=True) if taken or bridged else ((), ())
        return Taken(tuple(cuts), tuple(weights), found.weight_scale)

    # ---- one cut ---------------------------------------------------------------------------------------------------------------------------

    def cut(self, cut: CapacityCut) -> CapacityCut:
        """The same cut of the cells."""
        multipliers = tuple((int(self.equation[q]), x) for q, x in cut.multipliers)
        slope = self.ties.slope(multipliers)
        p = self._asked_of(cut)
        if cut.sense != "bridge":
            slope[p] = slope.get(p, 0) + (-cut.scale if cut.sense == "down" else cut.scale)
        total: dict[int, int] = {}
        for i, x in slope.items():
            total[int(self.place[i])] = total.get(int(self.place[i]), 0) + x
        total.pop(-1, None)
        target = {c: self._chosen(c, x, cut) for c, x in total.items() if x}
        if cut.sense == "bridge":
            target[cut.cell] = p
        more = self.ties.gathered(slope, lambda label: target.get(int(self.place[label]), label))
        for j, x in multipliers:
            more[j] = more.get(j, 0) + x
        free = self.pool.free
        counted = {target[c] for c in cut.covered if c in target}
        if cut.sense != "bridge":
            counted |= {i for c, i in target.items() if self.merged.forced[c]}
        return replace(
            cut,
            cell=p,
            multipliers=tuple((j, x) for j, x in sorted(more.items()) if x),
            covered=tuple(sorted(i for i in counted if free[i])),
        )

    def _asked_of(self, cut: CapacityCut) -> int:
        """The cell of the class that the cut is of: the one of which most is asked."""
        members = self.members[cut.cell]
        if cut.sense == "bridge" and not self.merged.forced[cut.cell]:
            return next(i for i in members if self.pool.free[i])
        levels = self.source.levels(cut.attacker)
        at = PLACE.get(cut.sense, 0)
        return max((i for i in members if i in levels), key=lambda i: (levels[i][at], -i))

    def _chosen(self, c: int, x: int, cut: CapacityCut) -> int:
        """The cell of a class that stands for it: among those free to be withheld, unless all are withheld, that with the least room."""
        members = self.members[c]
        if not self.merged.forced[c]:
            members = [i for i in members if self.pool.free[i]]
        if len(members) == 1:
            return members[0]
        return min(members, key=lambda i: (self._room(i, x, cut), bool(self.pool.free[i]), i))

    def _room(self, i: int, x: int, cut: CapacityCut) -> float:
        below, above = self.source.room(cut.attacker, i)
        ends = (below, above) if cut.sense in ("slide", "bridge") else (above,) if x > 0 else (below,)
        return sum(float("inf") if end is None else end for end in ends)

    # ---- the cells tied to those of the cuts -----------------------------------------------------------------------------------------------

    def _bridges(self, derived: list[tuple[DerivedCut, int]], found: Pattern) -> Iterator[tuple[CapacityCut, int]]:
        """Weights that some cells have too much of, to those tied to them; and those of cells that are withheld with one at risk."""
        gain: dict[int, int] = {}
        for cut, u in derived:
            for i, coef in cut.row.items():
                gain[i] = gain.get(i, 0) + u * coef
        cost = self.whole.cost
        for c in np.flatnonzero(self.merged.forced).tolist():
            for j in self.members[c]:
                if self.pool.free[j] and found.withheld is not None:
                    missing = found.weight_scale * int(cost[j]) - gain.get(j, 0)
                    yield from self._with_one_at_risk(c, j, max(missing, 0))
        for c in sorted({int(self.place[i]) for i in gain}):
            free = [i for i in self.members[c] if self.pool.free[i]]
            if self.merged.forced[c] or len(free) < 2:
                continue
            left = {i: found.weight_scale * int(cost[i]) - gain.get(i, 0) for i in free}
            told = set()
            for i in (i for i in free if left[i] < 0):
                for j in (j for j in free if left[j] > 0):
                    if u := min(-left[i], left[j]):
                        left[i], left[j] = left[i] + u, left[j] - u
                        told.add((i, j))
                        yield self._bridge(0, i, j), u
            if found.status == "optimal":  # a tree may need them
                ring = [*pairwise(free), (free[-1], free[0])]
                yield from ((self._bridge(0, i, j), 0) for i, j in ring if (i, j) not in told)

    def _with_one_at_risk(self, c: int, j: int, weight: int) -> Iterator[tuple[CapacityCut, int]]:
        """A cell that is known as soon as it is printed what one at risk is."""
        for k in range(len(self.whole.instance.attackers)):
            p = next((i for i in self.members[c] if i in self.source.levels(k)), None)
            if p is not None:
                yield self._bridge(k, p, j), weight
                return

    def _bridge(self, attacker: int, p: int, other: int) -> CapacityCut:
        """Of two tied cells: where the first is withheld, so is the other."""
        label = int(self.ties.label[p])
        slope = {p: -1}
        used = self.ties.gathered(slope, lambda one: other if one == label else one)
        return CapacityCut(attacker, p, "bridge", tuple(sorted(used.items())), 1)
