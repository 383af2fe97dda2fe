"""Master: the least pattern over a growing pool of cuts; where it is not safe, the attackers who see through it give more of them."""

from __future__ import annotations

from collections.abc import Callable
from dataclasses import dataclass, replace

import numpy as np

from cellward.errors import SolverError
from cellward.exact import Bools, Floats
from cellward.protect.suppression.cut_pool import CutPool, Relaxed
from cellward.protect.suppression.equation_cuts import bridges
from cellward.protect.suppression.separation import Separation
from cellward.solve.ask import ask
from cellward.solve.budget import Budget
from cellward.solve.cpsat import solve_cpsat
from cellward.solve.highs import solve_mip
from cellward.solve.outcome import Outcome

STALLED, LITTLE = 3, 1e-4
"""The root is left after so many rounds in which the bound grows by no more than this part of itself."""
FIRST_WORK, MOST_WORK = 4.0, 32.0
"""What CP-SAT may spend on a pattern, by its own measure; twice as much each time that brings none that is cheaper than the best, up to a limit."""
FEW_CELLS = 2000
"""A pattern is sought among so many cells; among twice as many each time that brings none that is cheaper."""
BY_TREE, NEARLY, HAIR = 0.2, 1 - 1e-4, 1e-6
"""The part of the time left for HiGHS; costs are whole, so a gap of less than one is none; and how far its bound is taken."""
FAINT = 1e-4
"""How far a cell is withheld between points to be looked at there."""
OFTEN = 8
"""Every so many patterns, one is grown safe."""
REPAIRED = 8
"""Patterns near one that are repaired after each other."""
Safe = Callable[[Bools], Bools | None]
"""What a pattern becomes once it is safe: itself, or one that grew from it; None where none did. And what a safe one becomes without what it can
spare."""


def strengthened(
    pool: CutPool, root: Relaxed, separation: Separation, most: int, budget: Budget, whole: Budget
) -> Relaxed:
    """The relaxation with cuts of attackers' prices, until they have none left, bring little, or prove what a pattern costs (``most``). The cuts of
    the last round count even where the time for cuts is over, as long as the ``whole`` time is not. Cuts are sought between the points of the last
    rounds: they are deeper there, and the bound grows twice as fast."""
    little, separation.budget, between = 0, budget, root.x
    while not budget.over and root.bound < most and little < STALLED:
        between = (between + root.x) / 2
        found = pool.relaxed(whole.part()) if cut_off(pool, separation, root.x, between) else None
        if found is None:
            break
        little = little + 1 if found.bound <= root.bound * (1 + LITTLE) else 0
        root = found if found.bound >= root.bound else replace(root, x=found.x)
    return root


def cut_off(pool: CutPool, separation: Separation, x: Floats, between: Floats | None = None) -> int:
    """Cuts that these x do not keep, and how many they are: such as a point ``between`` them and others does not keep either, where one is given and
    there are such; bridges of combinations of equations where nothing else is found; and before it is said that there are none, those are asked too
    who had none of late."""
    problem = pool.problem
    new = 0 if between is None else pool.add(separation.capacity(np.where(between > FAINT, between, 0.0)), x)
    for _ in range(2):
        new = new or pool.add(separation.capacity(x), x)
        new += pool.add(pool.covers(x), x)
        new += pool.add(bridges(problem.instance.relations, problem.forced, pool.free, x), x)
        new = new or pool.add(separation.bridges(x), x)
        if new or not separation.quiet:
            return new
        separation.quiet.clear()
    return 0


@dataclass
class Best:
    """The cheapest safe pattern so far: whoever waits for the search has it at any moment."""

    withheld: Bools
    cost: int


class Master:
    """The search for the least pattern from the ``best`` so far; ``bound`` CP-SAT's word on what none costs less than."""

    def __init__(
        self, pool: CutPool, root: Relaxed, separation: Separation, best: Best, grow: tuple[Safe, Safe], budget: Budget
    ) -> None:
        self.pool, self.root, self.separation, self.found, self.budget = pool, root, separation, best, budget
        self.safe, self.leaner = grow
        separation.budget = budget
        self.cost = pool.problem.cost
        self.bound = 0
        self.work = FIRST_WORK
        self.most = FEW_CELLS
        self.lean: Bools | None = None
        """The best of which no cell could be spared."""

    def run(self) -> None:
        """Until the best is proven to be the least, or the time is up."""
        rounds = 0
        while not self.budget.over and self.bound < self._of(self.best) and self.work <= MOST_WORK:
            x = self._least()
            if x is None:
                return
            if self._of(x) >= self._of(self.best):
                if self.bound < self._of(self.best) and not self._spared():
                    self.work *= 2
                    self.most *= 2
                continue
            rounds += 1
            new = cut_off(self.pool, self.separation, x.astype(float))
            # A pattern is grown safe now and then: between two of them the cuts lead nearer to one.
            due = not new or rounds & (rounds - 1) == 0 or rounds % OFTEN == 0
            if not (due and self._better(self.safe(x))) and not new:
                return
            self._around(x)

    def _around(self, x: Bools) -> None:
        """Cuts of patterns near this one that keep all so far, each repaired from the last: quicker than the least one."""
        for _ in range(REPAIRED):
            near = self.pool.repaired(x)
            if near is None or self.budget.over or self._of(near) >= self._of(self.best):
                return
            if not cut_off(self.pool, self.separation, near.astype(float)):
                self._better(self.safe(near))
                return
            x = near

    def _better(self, found: Bools | None) -> bool:
        """Take a safe pattern that costs less than the best, and say whether it did."""
        if found is None or self._of(found) >= self._of(self.best):
            return False
        self.found.withheld, self.found.cost = found, self._of(found)
        self.budget.found(float(self.found.cost))
        return True

    def _spared(self) -> bool:
        """Whether cells of the best could be printed again; each best is asked once."""
        if self.best is self.lean:
            return False
        better = self._better(self.leaner(self.best))
        self.lean = self.best
        return better

    @property
    def best(self) -> Bools:
        """The safe pattern."""
        return self.found.withheld

    def _of(self, withheld: Bools) -> int:
        return int(self.cost[withheld].sum())

    def _least(self) -> Bools | None:
        """The least pattern that keeps the cuts found so far, and the bound that comes with it."""
        among, every = self._worth_it()
        model, cells = self.pool.model(whole=True, among=among)
        start = self.best[cells].astype(float)
        try:
            part = self.budget.part()
            found = ask(solve_cpsat, model, columns=model.columns, budget=part, start=start, work=self.work, by_lp=True)
            if found.status != "optimal" and self.budget.time_limit_s is not None:
                found = self._by_tree(found, among, start)
        except SolverError:
            return None
        if every and np.isfinite(found.bound):
            # Patterns with cells that were left out cost no less than the best.
            self.bound = max(self.bound, min(int(found.bound), self._of(self.best)))
        if found.x is None:
            return None
        x = self.pool.problem.forced.copy()
        x[np.array(cells, np.int64)[found.x > 0.5]] = True
        return x

    def _by_tree(self, found: Outcome, among: Bools, start: Floats) -> Outcome:
        """What HiGHS makes of the same question in a part of the time, where that is better: on large tables it is. It keeps no measure of its work,
        so it is asked where there is a limit only."""
        model, cells = self.pool.model(among=among)
        model = replace(model, integer=np.ones(len(cells), bool))
        part = self.budget.part(None if self.budget.left is None else BY_TREE * self.budget.left)
        other = ask(
            solve_mip,
            model,
            columns=len(cells),
            budget=part,
            absolute_gap=NEARLY,
            start=start if found.x is None else found.x,
        )
        bound = max(found.bound, np.ceil(other.bound - HAIR * (1 + abs(other.bound))))
        better = other.x is not None and (found.x is None or other.objective < found.objective - 0.5)
        return replace(other if better else found, bound=float(bound))

    def _worth_it(self) -> tuple[Bools, bool]:
        """The cells that a pattern cheaper than the best may withhold, by the prices of the root; of many only those that cost least beyond them,
        with those of the best. And whether these are all."""
        dearer = self.root.dearer
        kept = np.asarray(self.pool.free & (dearer < self._of(self.best) - self.root.bound))
        if int(kept.sum()) <= self.most:
            return kept | self.best, True
        limit = np.partition(dearer[kept], self.most)[self.most]
        return np.asarray((kept & (dearer <= limit)) | self.best), False
