"""Attempt: one suppression, from the instance to the problem of the engines and back to a result that is checked."""

from __future__ import annotations

from dataclasses import dataclass, replace
from fractions import Fraction
from typing import TYPE_CHECKING, Any

import numpy as np

from cellward.audit.ends import Witness
from cellward.audit.evidence import CoveringWitness, Evidence
from cellward.audit.sums_as_cells import joined
from cellward.exact import Bools, Ints
from cellward.instance import Instance
from cellward.objective import Objective
from cellward.protect.attempt import Attempt
from cellward.protect.suppression.few_candidates import finished
from cellward.protect.suppression.problem import Pattern, SuppressionProblem
from cellward.protect.suppression.search import search
from cellward.protection import Protection
from cellward.publication.allowed import AllowedSet
from cellward.publication.knowledge import Knowledge
from cellward.publication.withheld import Withheld
from cellward.risk.attacker import Attacker
from cellward.solve.budget import Budget
from cellward.table.levels import Levels

if TYPE_CHECKING:
    from cellward.protect.suppression.method import CellSuppression

ON_THE_GRID = "the public, who knows that values are whole"
"""Whom the gate keeps every cell at risk from, as an attacker of the search."""


@dataclass(frozen=True)
class SuppressionAttempt(Attempt):
    """A suppression with the options of a :class:`CellSuppression`."""

    method: CellSuppression

    def solve(self) -> Protection:
        """What comes of it; where the values of cells at risk follow from the others being whole, once more with that in mind."""
        first = self._solved(self.instance, self.budget)
        if first.publication is None or not first.given_away or self.budget.over:
            return first
        again = self._solved(
            replace(self.instance, attackers=(*self.instance.attackers, self._on_the_grid)), self.budget
        )
        return again if again.publication is None or not again.given_away else first

    @property
    def _on_the_grid(self) -> Attacker:
        s = self.instance.sensitivity
        none = np.zeros(len(s.unsafe), np.int64)
        return Attacker(name=ON_THE_GRID, whole=True, levels=Levels(s.unsafe, none, none, none + s.unit))

    def _solved(self, guarded: Instance, budget: Budget) -> Protection:
        """The answer for these attackers as a result of the instance's own."""
        told = budget.counting(0.0, 10.0**-self.instance.weight_decimals)
        problem = self._problem(guarded)
        found = finished(problem, search(problem, told), told)
        if found.status == "infeasible":
            nothing = self.infeasible(f"{found.reason}{self._remedy}", found.engine)
            return replace(nothing, sought=self._sought(found, guarded))
        if found.withheld is None:
            return self.failed(
                f"no safe pattern was found{self.within} ({found.engine}; {self.took}); give more time", found.engine
            )
        n = self.instance.cells
        publication = Withheld.of(self.instance.a, np.flatnonzero(found.withheld[:n]))
        allowed = self._allowed
        cost = publication.cost(self.instance, allowed)
        bound = cost if found.status == "optimal" else max(0, min(found.bound or 0, cost))
        sought = replace(self._sought(found, guarded), bound=Fraction(bound))
        late = found.status == "feasible" and budget.limited
        status: Any = "optimal" if bound == cost else "feasible"
        result = self.result_of(publication, sought, status=status, engine=found.engine, limit_reached=late)
        if found.evidence is not None:
            if self.levels:
                result.shown.known(self._evidence(found.evidence))
            else:
                result.shown.after(Evidence(0, tables=self._on_grid(found.evidence)))
        return result

    def _on_grid(self, found: Evidence) -> tuple[Witness, ...]:
        """Tables in whole numbers: those with fractions are taken as often as they ask for, where the public bounds allow it. Where exact disclosure
        is all that is guarded against, any move will do."""
        n, i = self.instance.cells, self.instance
        shifts = [one.witness.shift[:n] for one in found.shown]
        return tuple(Witness(z) for z in shifts if np.all((z >= i.lower - i.a) & (z <= i.upper - i.a)))

    def _evidence(self, found: Evidence) -> Evidence:
        """What shows the levels of the instance itself, from what showed those that were guarded: sums come after its cells, more attackers last."""
        n, everyone = self.instance.cells, self.instance.attackers
        shown, others = [], []
        for one in found.shown:
            covers = tuple((k, cells[cells < n]) for k, cells in one.covers if k < len(everyone) and np.any(cells < n))
            table = Witness(one.witness.shift[:n], one.witness.denominator)
            if covers:
                shown.append(CoveringWitness(table, covers))
            else:
                others.append(table)  # of sums alone, or of more attackers
        asked = sum(len(attacker.asked(self.instance.sensitivity.levels)) for attacker in everyone)
        return Evidence(asked, tuple(shown), tables=tuple(others))

    def _problem(self, guarded: Instance) -> SuppressionProblem:
        exact = self.method.ignores_levels
        whole = guarded if exact else joined(guarded)
        more = whole.cells - self.instance.cells
        forced = _and_sums(self.method.hidden(self.instance), more)
        cost = np.concatenate((self.instance.weight, np.zeros(more, np.int64)))
        return SuppressionProblem(
            instance=whole,
            cost=np.where(forced, 0, cost),
            candidate=_and_sums(self.method.candidate(self.instance), more),
            forced=forced,
            exact_only=exact,
        )

    @property
    def _allowed(self) -> AllowedSet:
        """1 where a cell is withheld: what was left to choose."""
        lo = self.method.hidden(self.instance).astype(np.int64)
        hi = self.method.candidate(self.instance).astype(np.int64)
        return AllowedSet(lo, hi, hi - lo)

    def _sought(self, found: Pattern, guarded: Instance) -> Objective:
        """What was made small, with the cuts that a reader of the certificate can derive: those of cells and equations that it has."""
        cells, equations = self.instance.cells, self.instance.relations.equations
        named = {attacker.name for attacker in self.instance.attackers}
        cuts, weights = [], []
        for cut, weight in zip(found.cuts, found.weights or [0] * len(found.cuts), strict=True):
            name, used = guarded.attackers[cut.attacker].name, sorted(cut.multipliers)
            if name in named and max((cut.cell, *cut.covered)) < cells and all(j < equations for j, _ in used):
                cuts.append(
                    {
                        "attacker": name,
                        "cell": int(cut.cell),
                        "sense": "bridge" if self.method.ignores_levels else cut.sense,
                        "scale": int(cut.scale),
                        "equation": [int(j) for j, _ in used],
                        "multiplier": [int(x) for _, x in used],
                        **({"covered": list(cut.covered)} if cut.covered else {}),
                    }
                )
                weights.append(int(weight))
        return Objective(
            allowed=self._allowed,
            pattern=True,
            cuts=tuple(cuts),
            cut_weights=tuple(weights),
            cut_scale=found.weight_scale,
        )

    @property
    def _remedy(self) -> str:
        free = "let zeros be withheld (zeros='candidates'), " if self.method.zeros == "published" else ""
        return f"; even with every cell withheld that may be; {free}free cells that must be published, or ask for lower levels"

    def stated(self) -> dict[str, Any]:
        """The options."""
        return self.method.says(self.instance)

    def untold(self) -> tuple[Objective, Knowledge]:
        """Over the patterns; nothing is told where nothing is published."""
        nothing: Ints = np.zeros(self.instance.cells, np.int64)
        told = Knowledge.suppressed(nothing, np.arange(self.instance.cells))
        return Objective(allowed=self._allowed, pattern=True), told


def _and_sums(cells: Bools, more: int) -> Bools:
    """Flags of the cells, and after them of the sums, of which nothing is ever printed."""
    return np.concatenate((cells, np.ones(more, bool)))
