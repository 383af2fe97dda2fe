"""Settle: the ends of an attacker's intervals by the cheapest exact means first: propagation, moved leaves, swaps, pushes, one problem an end."""

from __future__ import annotations

from collections.abc import Sequence
from concurrent.futures import ThreadPoolExecutor
from dataclasses import dataclass

import numpy as np

from cellward.audit.ends import Ends, Witness
from cellward.audit.leaf_moves import LeafMoves
from cellward.audit.linear import one_by_one, push, see_the_only_one
from cellward.audit.region import Region
from cellward.audit.single_moves import SingleMoves
from cellward.audit.swaps import Swaps
from cellward.exact import Ints
from cellward.solve.budget import Budget, Progress
from cellward.table.labels import Labels
from cellward.table.levels import Levels

LARGE, SOLVER_SHARE = 4000, 0.1
"""Cells from which problems of the whole table have only this part of the time left."""


@dataclass(frozen=True, eq=False)
class Question:
    """One attacker's region and what is wanted of it: some cells (None: all), or levels."""

    region: Region
    cells: Ints | None = None
    levels: Levels | None = None


@dataclass(frozen=True, eq=False)
class Means:
    """What tables are moved by without a solver, where the table has it; made once for all questions on one table."""

    swaps: Swaps | None
    leaves: LeafMoves | None

    @staticmethod
    def of(questions: Sequence[Question], labels: Labels) -> Means:
        """Those of the table that these questions are on."""
        relations = questions[0].region.relations
        return Means(Swaps.of(relations, labels) if _structured(questions) else None, _leaf_moves(questions))


def settle(
    questions: Sequence[Question],
    labels: Labels,
    inside: Sequence[Ints],
    budget: Budget,
    *,
    known: Sequence[Witness] = (),
    only_swaps: bool = False,
    until_missed: bool = False,
    means: Means | None = None,
) -> list[Ends]:
    """The ends of every question; ``inside``: whole tables that may lie in the regions, ``known``: others that may. Tables found for one attacker
    are tried on the next.

    ``only_swaps``: as far as swaps of a structured table and moves of leaves get, which takes no solver; what they do not settle stays open.
    ``until_missed``: nothing more is looked for once a level is proven not to be met. ``means``: where they were made already.
    """
    if not questions:
        return []
    ends = [Ends(question.region, question.cells, question.levels) for question in questions]
    if until_missed and any(one.out_of_reach for one in ends):
        return ends
    means = Means.of(questions, labels) if means is None else means
    swaps, leaves = means.swaps, means.leaves
    report = _Report(ends, budget.progress)
    several = len(ends) > 1 and all(question.levels is not None for question in questions)
    moves = (
        SingleMoves(swaps, labels, ends, np.random.default_rng(budget.seed), lambda: budget.over)
        if swaps is not None and several
        else None
    )

    def run(k: int, found: Sequence[Witness], pool: ThreadPoolExecutor | None) -> None:
        mine, rng = ends[k], np.random.default_rng([budget.seed, k])
        for y in inside:
            if mine.region.contains(y):
                mine.see(y)
        see_the_only_one(mine)
        if moves is not None:
            moves.show_to(mine)
        for witness in (*known, *found):
            if mine.any_open:
                mine.see_shift(witness.shift, witness.denominator)
        report(k)
        if not mine.any_open:
            return
        if leaves is not None:
            leaves.explore(mine, rng, budget, solver=not only_swaps)
            report(k)
        if swaps is not None and mine.any_open:
            swaps.explore(mine, rng, lambda: budget.over)
            report(k)
        if only_swaps:
            return
        whole = _for_solvers(budget, mine)
        push(mine, rng, whole)
        report(k)
        if mine.start is not None and swaps is not None:
            swaps.explore(mine, rng, lambda: budget.over)
        one_by_one(mine, whole, pool)
        report(k)

    if budget.threads == 1:
        for k in range(len(ends)):
            run(k, ends[0].witnesses if k else (), None)
        return ends
    with ThreadPoolExecutor(budget.threads) as pool:
        run(0, (), pool)
        found = list(ends[0].witnesses)
        for done in [pool.submit(run, k, found, None) for k in range(1, len(ends))]:
            done.result()
    return ends


def _for_solvers(budget: Budget, ends: Ends) -> Budget:
    """What problems of the whole table may take: of a large one most do not end in the time there is, which others may use better."""
    if budget.left is None or len(ends.asked) < LARGE:
        return budget
    return budget.part(SOLVER_SHARE * budget.left)


def _leaf_moves(questions: Sequence[Question]) -> LeafMoves | None:
    """For levels: how far to go is known then."""
    if any(question.levels is None for question in questions):
        return None
    return LeafMoves.of(questions[0].region.form)


def _structured(questions: Sequence[Question]) -> bool:
    """Whether there is anything to explore: a cell that can move and is asked for."""
    return any(bool(np.any(q.region.outer[0] < q.region.outer[1])) for q in questions)


class _Report:
    """Counts settled ends over all attackers."""

    def __init__(self, ends: list[Ends], progress: Progress | None) -> None:
        self.progress = progress
        self.left = [2 * int(one.asked.sum()) for one in ends]
        self.all = sum(self.left)
        self.ends = ends

    def __call__(self, k: int) -> None:
        if self.progress is not None:
            low, high = self.ends[k].open
            self.left[k] = int(low.sum() + high.sum())
            self.progress(self.all - sum(self.left), self.all)
