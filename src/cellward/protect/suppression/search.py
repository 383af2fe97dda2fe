"""Search: a safe pattern and how much cheaper any could be, by the engines of this folder, as far as the time goes."""

from __future__ import annotations

from collections.abc import Sequence
from dataclasses import replace

import numpy as np

from cellward.audit.ends import Witness
from cellward.audit.evidence import Evidence, show_levels
from cellward.errors import TimeLimitError
from cellward.exact import Bools, Floats
from cellward.instance import Instance
from cellward.protect.suppression.cheap_cells import cheap_cells
from cellward.protect.suppression.closing import closed
from cellward.protect.suppression.construction import Construction
from cellward.protect.suppression.cut_pool import CutPool, Relaxed
from cellward.protect.suppression.demand import Demand
from cellward.protect.suppression.equation_cuts import bridges, equation_cuts, lone_cells
from cellward.protect.suppression.master import Best, Master, strengthened
from cellward.protect.suppression.merging import Merged
from cellward.protect.suppression.neighbourhoods import Neighbourhoods
from cellward.protect.suppression.problem import Pattern, SuppressionProblem
from cellward.protect.suppression.separation import Separation
from cellward.publication.withheld import Withheld
from cellward.solve.alarm import silence
from cellward.solve.budget import Budget
from cellward.table.levels import Levels

ENGINE = "witness tables"
LITTLE = 1e-3
"""Bridges are added as long as the bound grows by this part of itself."""
BRIDGED = 0.05
"""The part of the time for that, but for the last round."""
AUDITS = 4.0
"""A pattern is made better as long as there is time to judge it so many times over."""
LARGE, WORTH_IT = 20_000, 3000
"""Cells of a large table, and those among which others are withheld first there."""
AT_THE_ROOT = 0.2
"""The part of the time for cuts of the relaxation: those of patterns say more."""
NEARBY, NEARER = 0.3, 0.05
"""The part of the time left for patterns around the first, where that costs twice the bound or more; and where cuts lead to better ones soon."""
FURTHER = 0.7
"""The part of the time left for more cuts of the relaxation after that, where it still does."""
TRIMMED = 0.3
"""The part of the time for that where cuts lead to better patterns too."""
FEW, SEPARATED = 3000, 50_000
"""Levels of attackers alike up to which the first pattern is left to the cuts to better, and up to which cuts are sought by them."""
MISSED, MORE = 10, 500
"""Where tables that are no fractions leave so few cells to be shown, so many around them are withheld too."""
BUILT = 0.8
"""The part of the time for the first pattern."""
MANY = 150_000
"""Levels of attackers alike from which their tables are left to the auditor."""


def search(problem: SuppressionProblem, budget: Budget) -> Pattern:
    """A safe pattern, each level of which is shown exactly, with a bound; of a problem in which cells tied to each other are one, where there are
    such."""
    merged = Merged.of(problem)
    if merged is None:
        return _Search(problem, budget).run()
    found = merged.taken_back(_Search(merged.problem, budget.counting(float(merged.constant), 1.0)).run())
    if found.status == "infeasible":
        proof = CutPool(problem)
        proof.add(found.cuts)
        if not proof.refuted:
            return _Search(problem, budget).run()
    return found


class _Search:
    """One problem: its cuts, and the best pattern so far with what shows it."""

    def __init__(self, problem: SuppressionProblem, budget: Budget) -> None:
        self.problem, self.budget = problem, budget
        self.judged = _with_levels(problem)
        self.demand = Demand.of_instance(self.judged, problem.candidate | problem.forced)
        self.pool = CutPool(problem)
        self.root: Relaxed | None = None
        self.word = 0
        """CP-SAT's bound."""
        self.known: dict[bytes, Evidence] = {}
        """What shows the patterns found on the way."""

    def run(self) -> Pattern:
        self._equations()
        withheld, evidence = self._first()
        if evidence.missing:
            if evidence.unsettled or np.any((self.problem.candidate | self.problem.forced) & ~withheld):
                return Pattern("unknown", ENGINE)
            self.pool.add(self._separation().capacity(withheld.astype(float)))
            return Pattern("infeasible", ENGINE, cuts=tuple(self.pool.stated), reason=evidence.missing[0])
        withheld, evidence = self._best(withheld, evidence)
        return self._pattern(withheld, evidence)

    def _best(self, withheld: Bools, evidence: Evidence) -> tuple[Bools, Evidence]:
        """A better pattern by cuts and a master, where the table is not too large for them, with CP-SAT's word on the least."""
        cost = int(self.problem.cost[withheld].sum())
        self.budget.found(float(cost))
        if not self._by_cuts or self.root is None or self.root.bound >= cost:
            return withheld, evidence
        self.known[withheld.tobytes()] = evidence
        best = Best(withheld, cost)
        try:
            self._searched(best)
        except TimeLimitError:  # whatever worked last did not look at the clock; what is found and shown stays so
            silence()
        return best.withheld, self.known[best.withheld.tobytes()]

    def _searched(self, best: Best) -> None:
        separation, part = self._separation(), self.budget.part(_share(self.budget.left))
        assert self.root is not None
        self.root = strengthened(self.pool, self.root, separation, best.cost, part, self.budget)
        if self.root.bound < best.cost:
            self._near(best)
        if self._far(best.cost):  # cuts of patterns say little there
            part = self.budget.part(None if self.budget.left is None else FURTHER * self.budget.left)
            self.root = strengthened(self.pool, self.root, separation, best.cost, part, self.budget)
        if self.root.bound < best.cost:
            master = Master(self.pool, self.root, separation, best, (self._safe, self._leaner), self.budget)
            master.run()
            self.word = master.bound
            again = self.pool.relaxed(self.budget.part())  # with the cuts of all patterns
            if again is not None and again.bound > self.root.bound:
                self.root = again

    def _near(self, best: Best) -> None:
        """Better patterns around the best."""
        assert self.root is not None
        made = self._standing(best.withheld)
        left = self.budget.left
        if made.free():
            part = self.budget.part(None if left is None else (NEARBY if self._far(best.cost) else NEARER) * left)
            Neighbourhoods(made).run(part, self.root.bound)
            made.within(self.budget)
            better = self._kept(made) if made.withheld_cost() < best.cost else None
            if better is not None:
                best.withheld, best.cost = better, int(self.problem.cost[better].sum())
                self.budget.found(float(best.cost))

    def _far(self, cost: int) -> bool:
        """Whether a pattern costs more than twice what the relaxation says that any must."""
        return self.root is not None and 2 * self.root.bound < cost

    def _standing(self, withheld: Bools) -> Construction:
        """A construction that has come to this pattern, which is shown."""
        made = self._made(self.problem.forced.astype(float))
        made.pattern = withheld.copy()
        for one in self.known[withheld.tobytes()].shown:
            made.pool.add(one.witness)
        return made

    @property
    def _by_cuts(self) -> bool:
        """Whether each level can be separated by itself."""
        return self.root is not None and len(self.demand.cell) <= SEPARATED

    def _separation(self) -> Separation:
        problem = self.problem
        return Separation(
            problem.instance.relations, self.demand, problem.forced, self.pool.free, problem.cost, self.budget
        )

    def _safe(self, withheld: Bools) -> Bools | None:
        """A safe pattern that grew from this one, shown exactly."""
        if self.budget.over:
            return None
        # Both ways together, however they share.
        if self.demand.wide.any() and not (shown := self._shown(withheld, (), self.budget)).missing:
            self.known[withheld.tobytes()] = shown
            return withheld
        made = self._made(withheld.astype(float))
        if not made.free():
            if not made.build():
                return None
            made.trim(self.budget, withheld)
        return self._kept(made)

    def _leaner(self, withheld: Bools) -> Bools | None:
        """What is left of a safe pattern without the cells that it can spare, shown exactly."""
        made = self._standing(withheld)
        if not made.free():
            return None
        made.trim(self.budget)
        return self._kept(made)

    def _kept(self, made: Construction) -> Bools | None:
        """A pattern where it is shown exactly; what shows it is kept. The time kept for showing is that of the best, which is shown already."""
        if self.budget.over:
            return None
        shown = self._shown(made.pattern, made.pool.only_needed().witnesses, self.budget)
        if shown.missing:
            return None
        self.known[made.pattern.tobytes()] = shown
        return made.pattern

    def _made(self, guide: Floats) -> Construction:
        rng = np.random.default_rng(self.budget.seed)
        return Construction(self.problem, self.demand, self.budget, rng, guide, self._worth_it)

    @property
    def _worth_it(self) -> Bools | None:
        """In large tables with few levels, the cells that cost least beyond the prices of the relaxation."""
        if self.root is None or not self._by_cuts or len(self.root.dearer) <= LARGE:
            return None
        dearer = self.root.dearer[self.pool.free]
        limit = np.partition(dearer, min(WORTH_IT, len(dearer) - 1))[min(WORTH_IT, len(dearer) - 1)]
        return np.asarray(self.pool.free & (self.root.dearer <= limit))

    def _equations(self) -> None:
        """The cuts of single equations, and their relaxation."""
        relations, forced = self.problem.instance.relations, self.problem.forced
        exact = self.problem.exact_only
        self.pool.add(
            lone_cells(relations, self.demand, forced) if exact else equation_cuts(self.demand, relations, forced)
        )
        self.root = self.pool.relaxed(self.budget)
        part = self.budget.part(None if self.budget.left is None else self.budget.left * BRIDGED)
        while self.root is not None and not part.over:
            if not self.pool.add(bridges(relations, forced, self.pool.free, self.root.x), self.root.x):
                return
            before, found = self.root.bound, self.pool.relaxed(self.budget)
            if found is None:
                return
            self.root = found
            if found.bound <= before * (1 + LITTLE):
                return

    def _first(self) -> tuple[Bools, Evidence]:
        """A first safe pattern; evidence that something is missing where there is none, or no time."""
        problem, budget = self.problem, self.budget
        made = self._made(problem.forced.astype(float) if self.root is None else self.root.x)
        if len(self.demand.cell) > MANY:
            return cheap_cells(made, self.judged, budget)
        made.within(part := budget.part(None if budget.left is None else BUILT * budget.left))
        built = made.build() or (part.over and made.pool.many_open <= MISSED)
        made.within(budget)
        if built:
            first, evidence, took = self._judged(made)
            if evidence.cells and len(evidence.cells) <= MISSED:
                around = made.lp.near(np.unique(evidence.cells), problem.candidate, MORE)
                made.pattern |= around & problem.candidate
                first, evidence, took = self._judged(made)
            if not evidence.missing:
                budget.found(float(problem.cost[first].sum()), None if self.root is None else float(self.root.bound))
                if (
                    self._by_cuts and len(self.demand.cell) <= FEW
                ):  # the least pattern over the cuts leads to better ones
                    return first, evidence
                rest = None if budget.left is None else budget.left - AUDITS * took
                if rest is not None and rest <= 0:
                    return first, evidence
                made.trim(budget.part(rest if rest is None or not self._by_cuts else rest * TRIMMED))
                better, shown, _ = self._judged(made)
                return (first, evidence) if shown.missing else (better, shown)
        everything = problem.candidate | problem.forced
        evidence = self._shown(everything, made.pool.witnesses)
        if evidence.missing:
            return everything, evidence
        return closed(problem, self.judged, everything, evidence, budget)

    def _judged(self, made: Construction) -> tuple[Bools, Evidence, float]:
        """A pattern as it stands, what shows it, and how long that took."""
        began, withheld = self.budget.spent, made.pattern.copy()
        evidence = self._shown(withheld, made.pool.only_needed().witnesses)
        return withheld, evidence, self.budget.spent - began

    def _shown(self, withheld: Bools, known: Sequence[Witness], budget: Budget | None = None) -> Evidence:
        told = Withheld.of(self.judged.a, np.flatnonzero(withheld))
        return show_levels(self.judged, told, self.budget.showing if budget is None else budget.part(), known)

    def _pattern(self, withheld: Bools, evidence: Evidence) -> Pattern:
        cost = int(self.problem.cost[withheld].sum())
        root = self.root
        if root is None:
            return Pattern("feasible", ENGINE, withheld, 0, evidence=evidence)
        cuts = tuple(cut for cut, u in zip(self.pool.stated, root.weights, strict=False) if u)
        weights = tuple(u for u in root.weights if u)
        bound = max(root.bound, self.word)
        if bound >= cost:
            cuts = tuple(self.pool.stated)  # a tree over them may prove it
            weights = (*root.weights, *[0] * (len(cuts) - len(root.weights)))
        status = "optimal" if bound >= cost else "feasible"
        return Pattern(status, ENGINE, withheld, min(bound, cost), cuts, weights, root.scale, evidence=evidence)  # type: ignore[arg-type]


def _share(left: float | None) -> float | None:
    return None if left is None else left * AT_THE_ROOT


def _with_levels(problem: SuppressionProblem) -> Instance:
    """The instance with the levels that count."""
    if not problem.exact_only:
        return problem.instance
    bare = problem.instance.sensitivity.without_levels()
    # Who knows contributions has levels that follow from them; exact disclosure is kept from those to whom the table's own levels are owed.
    none = Levels(*(np.zeros(0, np.int64) for _ in range(4)))
    attackers = tuple(
        replace(one, levels=none if one.levels is not None and len(one.cell) else None, sums=None)
        for one in problem.instance.attackers
    )
    return replace(problem.instance, sensitivity=bare, attackers=attackers)
