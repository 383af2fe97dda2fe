"""Sweep: a table put together from the top down, by what the prices of the relaxation say of the parts that are still to come.

Along the dimension with the most codes, the sums are decided first (by a sweep along another dimension, where they are many), then family after
family of the codes below them, together with the sums above that family. Rows that hold columns which are not decided yet are kept as far as those
leave them open, and priced: their multipliers at the optimum of the relaxation are charged to the columns decided now. Sums whose parts come later
are drawn towards the relaxation's point besides. Where a family does not fit what was decided, more of that is decided anew with it.

No step looks back, so a sweep takes the same time whatever its answer is worth; neighbourhoods go on from it.
"""

from __future__ import annotations

from collections.abc import Iterator
from dataclasses import dataclass, replace

import numpy as np

from cellward.exact import Bools, Floats, Ints
from cellward.protect.engine import Adapter
from cellward.protect.lattice.best_table import BestTable, whole
from cellward.protect.lattice.neighbourhoods import Tree
from cellward.solve.ask import ask
from cellward.solve.budget import Budget
from cellward.solve.model import LinearModel
from cellward.solve.outcome import Outcome
from cellward.table.components import components

SIZE = 2500
"""Columns of one step, about: what CP-SAT decides well in seconds."""
TOO_MANY = 1.5
"""A step of so many times as many columns is taken in several."""
DRAWN = 0.5
"""How strongly sums are drawn towards the relaxation's point, in mean costs of a column."""
FINE = 50.0
"""Costs in a step are whole: fiftieths of the mean."""
LEAST_S = 0.3
FIT_S = 0.25
"""Seconds to see whether a family fits."""
LONGER = 3.0
"""How many times longer some table of a step is waited for where a good one was not found in its time."""
SUMS = 4.0
"""How much more time sums have than what is below them."""
WORK = 1.0
"""CP-SAT's work for a thousand columns, without a time limit."""


@dataclass(frozen=True, eq=False)
class Step:
    """Columns to decide, those decided before that may move with them, and others that may where these do not fit.

    ``turn``: steps of one turn are families below the same sums, which may come in any order.
    """

    turn: int
    columns: Bools
    moved: Bools
    wider: Bools

    @property
    def weight(self) -> float:
        """Its part of the time: sums that are decided before what they consist of are worth more."""
        return float(np.count_nonzero(self.columns)) * (1 if self.moved.any() else SUMS)


@dataclass(eq=False)
class Sweep:
    """One sweep: ``duals`` of the table's rows and a ``point`` near the optimum of the relaxation."""

    table: BestTable
    trees: list[Tree]
    duals: Floats
    point: Floats
    searcher: Adapter
    budget: Budget
    size: int = SIZE

    def __post_init__(self) -> None:
        q = self.table.question
        self.x, self.known = np.zeros(q.columns, np.int64), np.zeros(q.columns, bool)
        self.tied = _tied(q)
        self.done: list[Bools] = []
        self.turns = 0

    def run(self) -> Ints | None:
        """A table, checked by nobody yet; None where there are no codes to go along, or some part does not fit whatever is decided anew."""
        nothing = np.zeros(len(self.x), bool)
        steps = list(self._plan(Step(0, ~nothing, nothing, nothing), list(range(len(self.trees)))))
        if len(steps) < 2:
            return None
        turn = -1
        while steps and not self.budget.over:
            if steps[0].turn != turn:
                turn = steps[0].turn
                steps.sort(key=lambda step: (step.turn, self._fits(step) if step.turn == turn else False))
            step = steps.pop(0)
            rest = sum(other.weight for other in steps)
            left = self.budget.left
            limit = None if left is None else max(left * step.weight / (step.weight + rest), LEAST_S)
            if not self._decided(step, limit):
                return None
            self.done.append(step.columns)
        return None if steps else self.x

    # ---- the order ---------------------------------------------------------------------------------------------------------------------------

    def _plan(self, step: Step, dims: list[int]) -> Iterator[Step]:
        """The steps in which a step is taken: at once where its columns are few, else their sums along a dimension first."""
        inside = step.columns
        dims = [d for d in dims if len(self.trees[d].parents)]
        if np.count_nonzero(inside) <= TOO_MANY * self.size or not dims:
            self.turns += 1
            if inside.any():
                yield replace(step, turn=step.turn or self.turns)
            return
        d = max(dims, key=lambda d: len(np.unique(self.trees[d].code[inside])))
        tree, others = self.trees[d], [other for other in dims if other != d]
        above = np.zeros(len(tree.above), bool)
        above[tree.parents] = True
        sums = inside & self._with_ties(above[tree.code])
        yield from self._plan(replace(step, columns=sums, turn=0), others)
        self.turns += 1
        turn = self.turns
        below = np.bincount(tree.code[inside & ~sums], minlength=len(above))
        for kids, chain in _families(tree, below, self.size):
            moved = step.moved | (inside & chain[tree.code])
            yield from self._plan(Step(turn, inside & kids[tree.code], moved, step.wider | sums), others)

    def _with_ties(self, columns: Bools) -> Bools:
        """These, and those that follow from one of them alone."""
        out = np.zeros(int(self.tied.max()) + 1, bool)
        out[self.tied[columns]] = True
        return out[self.tied]

    # ---- one step ----------------------------------------------------------------------------------------------------------------------------

    def _fits(self, step: Step) -> bool:
        """Whether a family may have a table below its sums as they are; those that have none come first, as long as sums can still move."""
        free = np.flatnonzero(step.columns & ~self.known)
        if not step.moved.any() or not len(free):
            return True
        return self._ask(free, FIT_S, first=True).status != "infeasible"

    def _decided(self, step: Step, limit: float | None) -> bool:
        """Decide a step; where it does not fit, with all sums above, and then with what was decided last, step by step."""
        sets = [step.columns | step.moved, step.columns | step.moved | step.wider]
        for last in reversed(self.done):
            sets.append(sets[-1] | last)
        for k, each in enumerate(sets):
            if k and np.array_equal(each, sets[k - 1]):
                continue
            columns = self._with_ties(each)
            free = np.flatnonzero(columns)
            outcome = self._ask(free, limit)
            if outcome.status == "unknown" and not outcome.interrupted:
                # On a busy machine a step gets less done in its time: what is late is worth less than what is missing.
                outcome = self._ask(free, None if limit is None else LONGER * limit, first=True)
            if outcome.x is not None:
                self.x[columns] = whole(outcome.x)
                self.known |= columns
                return True
            if outcome.interrupted or self.budget.over:
                return False
        return False

    def _ask(self, free: Ints, limit: float | None, *, first: bool = False) -> Outcome:
        question = self._question(free)
        limited = self.budget.limited
        budget = self.budget.part(limit) if limited else self.budget.part(threads=1)
        work = None if limited else WORK * len(free) / 1000
        return ask(self.searcher, question, columns=len(free), budget=budget, work=work, first=first, by_lp=not first)

    def _question(self, free: Ints) -> LinearModel:
        """These columns, the other known ones as they are, the rest of every row a range."""
        q, row = self.table.question, self.table.row
        place = np.full(q.columns, -1, np.int64)
        place[free] = np.arange(len(free))
        mine = place[q.indices] >= 0
        held = self.known[q.indices] & ~mine
        open_ = ~self.known[q.indices] & ~mine
        ends = q.coefs * q.lower[q.indices], q.coefs * q.upper[q.indices]
        fixed = np.bincount(row, np.where(held, q.coefs * self.x[q.indices], 0.0), minlength=q.rows)
        least = np.bincount(row, np.where(open_, np.minimum(*ends), 0.0), minlength=q.rows)
        most = np.bincount(row, np.where(open_, np.maximum(*ends), 0.0), minlength=q.rows)
        priced = np.bincount(row, open_, minlength=q.rows) > 0
        rows = np.flatnonzero(np.bincount(row, mine, minlength=q.rows))
        number = np.full(q.rows, -1, np.int64)
        number[rows] = np.arange(len(rows))
        charge = np.bincount(q.indices, np.where(priced[row], q.coefs * self.duals[row], 0.0), minlength=q.columns)
        summed = np.zeros(q.columns, bool)
        summed[q.indices[priced[row]]] = True
        mean = max(float(np.abs(q.cost).mean()), 1e-9)
        cost = self.table.aim - charge + np.where(summed, DRAWN * mean * (1 - 2 * self.point), 0.0)
        many = np.bincount(number[row[mine]], minlength=len(rows))
        return LinearModel(
            cost=np.rint(np.clip(FINE / mean * cost[free], -1e9, 1e9)),
            lower=q.lower[free],
            upper=q.upper[free],
            indptr=np.concatenate(([0], np.cumsum(many))).astype(np.int64),
            indices=place[q.indices[mine]],
            coefs=q.coefs[mine],
            row_lower=(q.row_lower - fixed - most)[rows],
            row_upper=(q.row_upper - fixed - least)[rows],
            integer=np.ones(len(free), bool),
        )


def _tied(question: LinearModel) -> Ints:
    """Equal numbers for columns that rows of two terms tie to each other: in sparse tables many sums have one part."""
    two = question.indptr[:-1][np.diff(question.indptr) == 2]
    return components(question.columns, question.indices[two], question.indices[two + 1])


def _families(tree: Tree, many: Ints, most: int) -> Iterator[tuple[Bools, Bools]]:
    """The codes below each parent that stand above none, small families together; and those above them."""
    leaf = np.ones(len(tree.above), bool)
    leaf[tree.parents] = False
    kids, chain, size = np.zeros_like(leaf), np.zeros_like(leaf), 0
    for parent in tree.parents.tolist():
        family = leaf & (tree.above == parent) & (many > 0)
        count = int(many[family].sum())
        if size and size + count > most:
            yield kids, chain
            kids, chain, size = np.zeros_like(leaf), np.zeros_like(leaf), 0
        if count:
            kids = kids | family
            chain[tree.chains[parent]] = True
            size += count
    if size:
        yield kids, chain
