"""Merging: the problem in which cells that every table moves alike are one, and its answer as one of the cells themselves.

Withholding a part of such cells keeps nothing from anyone: they are withheld together, at what they cost together, or not at all. What is asked of
one of them is asked of all, and each has the room that all leave it. Cells that no table can move are printed, and equations that say what another
says are left out.
"""

from __future__ import annotations

from dataclasses import dataclass, replace

import numpy as np

from cellward.audit.ends import Witness
from cellward.audit.evidence import CoveringWitness, Evidence
from cellward.exact import NO_BOUND, Bools, Ints
from cellward.instance import Instance
from cellward.protect.suppression.problem import Pattern, SuppressionProblem
from cellward.protect.suppression.ties import GROUND, Ties
from cellward.protect.suppression.whole_cuts import WholeCuts
from cellward.risk.attacker import Attacker
from cellward.table.labels import Labels
from cellward.table.levels import Levels
from cellward.table.relations import Relations
from cellward.table.sensitivity import CellStatus, Sensitivity


@dataclass(frozen=True, eq=False)
class Merged:
    """The merged problem, and how it came about."""

    whole: SuppressionProblem
    problem: SuppressionProblem
    ties: Ties
    place: Ints
    """The cell of the merged problem that each cell is part of; GROUND: it is printed."""
    equation: Ints
    """The equation that each of the merged problem was."""
    constant: int
    """What is withheld with cells at risk costs."""

    @staticmethod
    def of(problem: SuppressionProblem) -> Merged | None:
        """None where no cells are tied, or what is asked of some cannot be kept while others are printed or known: that is for the whole problem to
        say."""
        instance = problem.instance
        if instance.sensitivity.sums:
            return None
        live = problem.candidate | problem.forced
        ties = Ties(instance.relations, live)
        if not ties.steps:
            return None
        labels, place = np.unique(ties.label, return_inverse=True)
        if len(labels) and labels[0] == GROUND:
            labels, place = labels[1:], place - 1
        asked = _asked(instance)
        if np.any(asked & live & (place == GROUND)):
            return None
        merged = _Classes(instance, place, labels).instance(ties)
        if merged is None:
            return None
        rows, equation = merged
        at, n = np.flatnonzero(place >= 0), len(labels)
        at_risk = np.bincount(place[at], asked[at], n) > 0
        forced = at_risk | (np.bincount(place[at], ~problem.forced[at], n) == 0)
        cost = np.zeros(n, np.int64)
        np.add.at(cost, place[at], problem.cost[at])
        return Merged(
            problem,
            replace(problem, instance=rows, cost=np.where(forced, 0, cost), candidate=np.ones(n, bool), forced=forced),
            ties, place, equation, int(cost[forced].sum()),
        )  # fmt: skip

    def taken_back(self, found: Pattern) -> Pattern:
        """The answer as one of the cells themselves."""
        cuts = WholeCuts(self.whole, self.problem, self.ties, self.place, self.equation).taken_back(found)
        found = replace(found, cuts=cuts.cuts, weights=cuts.weights, weight_scale=cuts.scale)
        if found.withheld is None:
            return found
        withheld = self.whole.forced | self._each(found.withheld)
        bound = None if found.bound is None else found.bound + self.constant
        evidence = None if found.evidence is None else self._evidence(found.evidence)
        return replace(found, withheld=withheld, bound=bound, evidence=evidence)

    def _each(self, flags: Bools) -> Bools:
        return np.asarray(np.append(flags, False)[self.place])

    def _evidence(self, found: Evidence) -> Evidence:
        """Tables of the cells, and whose levels they show."""
        levels = self.whole.instance.sensitivity.levels
        asked: dict[int, Ints] = {}
        mark = np.zeros(self.problem.instance.cells + 1, bool)
        shown = []
        for one in found.shown:
            covers = []
            for k, cells in one.covers:
                if k not in asked:
                    asked[k] = self.whole.instance.attackers[k].asked(levels).cell
                mark[cells] = True
                covers.append((k, asked[k][mark[self.place[asked[k]]]]))
                mark[cells] = False
            shown.append(CoveringWitness(self._table(one.witness), tuple(covers)))
        return replace(found, shown=tuple(shown), tables=tuple(map(self._table, found.tables)))

    def _table(self, table: Witness) -> Witness:
        return Witness(np.append(table.shift, 0)[self.place], table.denominator)


def _asked(instance: Instance) -> Bools:
    """The cells that something must be kept from anyone of."""
    out = np.zeros(instance.cells, bool)
    out[instance.sensitivity.unsafe] = True
    for attacker in instance.attackers:
        out[attacker.asked(instance.sensitivity.levels).cell] = True
    return out


class _Classes:
    """Cells of one instance by the class that each is part of."""

    def __init__(self, instance: Instance, place: Ints, first: Ints) -> None:
        self.whole, self.place, self.first = instance, place, first

    def instance(self, ties: Ties) -> tuple[Instance, Ints] | None:
        """The instance of the classes, and which of the equations it has; None where someone knows a cell that is tied to one that must be kept from
        him."""
        attackers = [self._attacker(one) for one in self.whole.attackers]
        if any(one is None for one in attackers):
            return None
        n, own = len(self.first), self.whole
        a = own.a[self.first]
        at = np.flatnonzero(self.place >= 0)
        low, high = self._moves(at, own.lower[at], own.upper[at])
        lower, upper = np.full(n, -NO_BOUND), np.full(n, NO_BOUND)
        np.maximum.at(lower, self.place[at], low)
        np.minimum.at(upper, self.place[at], high)
        equations, kept = self._equations(ties, a)
        return (
            Instance(
                relations=equations,
                a=a,
                decimals=own.decimals,
                lower=np.where(lower == -NO_BOUND, -NO_BOUND, a + lower),
                upper=np.where(upper == NO_BOUND, NO_BOUND, a + upper),
                weight=np.zeros(n, np.int64),
                weight_decimals=0,
                sensitivity=self._sensitivity(),
                labels=Labels(n, named={k: own.labels.name(i) for k, i in enumerate(self.first.tolist())}),
                attackers=tuple(one for one in attackers if one is not None),
            ),
            kept,
        )

    def _moves(self, cell: Ints, lower: Ints, upper: Ints) -> tuple[Ints, Ints]:
        """How far bounds let cells move."""
        a = self.whole.a[cell]
        return np.where(lower == -NO_BOUND, -NO_BOUND, lower - a), np.where(upper == NO_BOUND, NO_BOUND, upper - a)

    def _equations(self, ties: Ties, a: Ints) -> tuple[Relations, Ints]:
        """What the equations say of the classes, each once."""
        row, label, coef = ties.entries()
        at = self.place[label]
        r = Relations.from_entries(len(a), self.whole.relations.equations, row, at, coef)
        end = r.indptr.tolist()
        seen: dict[tuple[bytes, bytes], int] = {}
        for j in range(r.equations):
            mine = slice(end[j], end[j + 1])
            if end[j + 1] > end[j]:
                sign = 1 if r.coefs[end[j]] > 0 else -1
                seen.setdefault((r.indices[mine].tobytes(), (sign * r.coefs[mine]).tobytes()), j)
        kept = np.array(sorted(seen.values()), np.int64)
        left = r.take(kept)
        return Relations(len(a), left.indptr, left.indices, left.coefs, left.sums(left.coefs * a[left.indices])), kept

    def _sensitivity(self) -> Sensitivity:
        own, n = self.whole.sensitivity, len(self.first)
        levels = self._levels(own.levels)
        full = [np.zeros(n, np.int64) for _ in range(3)]
        for whole, level in zip(full, (levels.lpl, levels.upl, levels.spl), strict=True):
            whole[levels.cell] = level
        status = np.zeros(n, np.uint8)
        at_risk = self.place[own.unsafe]
        status[at_risk[at_risk >= 0]] = CellStatus.UNSAFE
        return Sensitivity(status, full[0], full[1], full[2], unit=own.unit)

    def _levels(self, levels: Levels) -> Levels:
        """The largest of each class; cells that are printed are asked nothing."""
        at = self.place[levels.cell]
        keep = at >= 0
        cell, where = np.unique(at[keep], return_inverse=True)
        out = [np.zeros(len(cell), np.int64) for _ in range(3)]
        for most, level in zip(out, (levels.lpl, levels.upl, levels.spl), strict=True):
            np.maximum.at(most, where, level[keep])
        return Levels(cell, *out)

    def _attacker(self, one: Attacker) -> Attacker | None:
        """What he knows of the classes and must be kept from."""
        own = None if one.levels is None else self._levels(one.levels)
        at = self.place[one.cell]
        keep = at >= 0
        if not keep.any():
            none = np.zeros(0, np.int64)
            return replace(one, cell=none, lower=none, upper=none, own=none, levels=own, sums=None)
        cell, where = np.unique(at[keep], return_inverse=True)
        low, high = self._moves(one.cell[keep], one.lower[keep], one.upper[keep])
        lower, upper = np.full(len(cell), -NO_BOUND), np.full(len(cell), NO_BOUND)
        np.maximum.at(lower, where, low)
        np.minimum.at(upper, where, high)
        asked = self.place[one.asked(self.whole.sensitivity.levels).cell]
        if np.any(np.isin(cell[lower == upper], asked)):
            return None
        a = self.whole.a[self.first[cell]]
        lower = np.where(lower == -NO_BOUND, -NO_BOUND, a + lower)
        upper = np.where(upper == NO_BOUND, NO_BOUND, a + upper)
        return replace(one, cell=cell, lower=lower, upper=upper, own=0 * cell, levels=own, sums=None)
