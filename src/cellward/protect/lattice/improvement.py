"""Improvement: good roundings of blocks too large for branch and bound, by walks over pairs of layers and by neighbourhoods solved to the optimum.

All roundings of a block obey Σ m·x = d, so what they cost above the linear relaxation is Σ |reduced cost|·|x − vertex|: the *excess* of a column.
1. *Start*: the vertex, solved again around its fractional columns where they are few, else CP-SAT's first rounding.
2. *Walk* (tables with dimensions): pairs of layers that are networks are moved against each other (see walk.py).
3. *Neighbourhoods*: some layers, or the surroundings of a column with excess; columns of large reduced cost that sit where the vertex has them
   stay there; CP-SAT, and HiGHS beside it, decide the rest together. They grow while they are solved without a gain, and shrink when they are not
   solved in time.

Without a time limit the work is bounded by counts, so the same block has the same answer; at a limit the best rounding so far is given.
"""

from __future__ import annotations

import math
from concurrent.futures import ThreadPoolExecutor
from dataclasses import dataclass, replace
from typing import ClassVar

import numpy as np

from cellward.exact import Bools, Floats, Ints
from cellward.protect.lattice.best_table import BestTable, ceiling
from cellward.protect.lattice.layers import codes_of, sides_of
from cellward.protect.lattice.neighbourhoods import Neighbourhoods
from cellward.protect.lattice.problem import Block, Found
from cellward.protect.lattice.stretch import Road
from cellward.protect.lattice.walk import solve_walk
from cellward.protect.lattice.whole_search import SEARCHERS
from cellward.solve.ask import ask
from cellward.solve.budget import Budget
from cellward.solve.cpsat import solve_cpsat
from cellward.solve.highs import solve_lp, solve_mip
from cellward.solve.outcome import Outcome

WALK_SHARE = 0.98
"""The part of the time left that the walk may take."""
ELIGIBLE = 0.5
"""The share of columns, those of the smallest reduced costs, that neighbourhoods decide anew."""
SMALLEST, LARGEST_FREE, LARGEST_LIMITED = 800, 1500, 50_000
"""Columns of a neighbourhood: at first, and at most without and with a time limit."""
GROW, SHRINK = 1.2, 0.65
SUB_SHARE, SUB_LEAST_S = 0.1, 2.0
"""Time for one neighbourhood, as a part of the time left, and the least."""
QUICK = 0.4
"""A neighbourhood solved within this part of its time was small."""
_WHOLE = 1e-6


@dataclass(frozen=True)
class Improvement:
    """Near-optimal roundings of blocks of at least ``fewest`` columns, with the relaxation's bound.

    Up to the share ``few_broken`` of fractional columns a rounding is looked for around them, and branch and bound can be expected to end.
    ``walk_positions``: those that a walk without a time limit looks at, about half a minute. ``patience``: neighbourhoods of the largest size
    without a gain, one after the other, after which no more are tried.
    """

    name: ClassVar[str] = "improvement"
    fewest: int = 4000
    few_broken: float = 0.01
    walk_positions: float = 6e8
    patience: int = 60

    def accepts(self, block: Block) -> str | None:
        """Large blocks with many fractional columns, for which branch and bound would not end."""
        if len(block.part) < self.fewest:
            return f"a block of {len(block.part):,} columns is small enough for branch and bound"
        if block.fractional <= self.few_broken:
            return "few columns of the block are fractional: branch and bound can be expected to end"
        return None

    def solve(self, block: Block, budget: Budget) -> Found:
        """The best rounding found."""
        search = _ImprovementSearch(self, block, budget)
        search.start()
        if search.going:
            search.walk()
        if search.going:
            search.neighbourhoods()
        if search.going and budget.limited:
            search.whole()
        return search.table.found()

    def start(self, block: Block, budget: Budget) -> Found:
        """The first rounding found."""
        search = _ImprovementSearch(self, block, budget)
        search.start()
        return search.table.found()


class _ImprovementSearch:
    """The best rounding so far of one block, and the ways to a better one."""

    def __init__(self, effort: Improvement, block: Block, budget: Budget) -> None:
        self.effort, self.block, self.budget = effort, block, budget
        self.part, self.vertex, self.model = block.part, block.x, block.problem.model
        self.table = BestTable(block.problem, block.part, budget)
        question, used = self.table.question, self.table.used
        self.question = question
        if block.problem.tellable:
            self.table.floor = max(self.table.floor, ceiling(float(question.cost @ self.vertex)))
        duals = None if block.problem.rows else block.multipliers[used] * self.model.common[used] / self.table.unit
        self.rng = np.random.default_rng(budget.seed)
        self.near = Neighbourhoods(self.model, self.part, question, self.rng)
        self.two = budget.threads > 1 and bool(np.all(question.row_lower == question.row_upper))
        self.cost = self.table.cost
        self.guide = self._reduced_costs(duals)
        self.reduced = np.abs(self.guide)

    @property
    def x(self) -> Ints | None:
        """The best rounding so far."""
        return self.table.x

    def _reduced_costs(self, duals: Floats | None) -> Floats:
        q = self.question
        if duals is None:
            alone = self.budget.part(threads=1)
            outcome = ask(solve_lp, replace(q, integer=None), columns=q.columns, rows=q.rows, budget=alone)
            duals = outcome.row_duals
        if duals is None:
            return q.cost.copy()
        reduced = q.cost - np.bincount(q.indices, q.coefs * duals[self.table.row], minlength=q.columns)
        return np.asarray(np.where(np.abs(reduced) < _WHOLE, 0.0, reduced))

    @property
    def going(self) -> bool:
        """Whether there is a rounding, a better one is possible, and nobody wants us to stop."""
        return self.x is not None and not self.table.done and not self.budget.over

    # ---- start -----------------------------------------------------------------------------------------------------------------------------

    def start(self) -> None:
        """A first rounding."""
        whole = np.clip(np.rint(self.vertex), self.question.lower, self.question.upper).astype(np.int64)
        broken = np.flatnonzero(np.abs(self.vertex - whole) > _WHOLE)
        if not len(broken):
            self.table.take(whole, "HiGHS LP")
            return
        if len(broken) <= self.effort.few_broken * len(whole):
            size = max(SMALLEST, 20 * len(broken))
            while self.x is None and not self.budget.over and size < len(whole):
                free = self.near.around(broken, size, self.reduced >= 0)
                outcome = ask(solve_cpsat, self.near.restricted(free, whole), columns=len(free), budget=self._share())
                if outcome.x is not None:
                    whole[free] = np.rint(outcome.x).astype(np.int64)
                    self.table.take(whole, "CP-SAT around the fractional columns")
                size *= 3
        if self.x is None and not self.budget.over:
            many = self.budget.part(threads=SEARCHERS)
            outcome = ask(solve_cpsat, self.question, columns=len(whole), budget=many, start=self.vertex, first=True)
            if outcome.x is not None:
                self.table.take(np.rint(outcome.x).astype(np.int64), "CP-SAT")

    def whole(self) -> None:
        """All columns at once from the best table, for what is left of the time."""
        assert self.x is not None
        many = self.budget.part(threads=SEARCHERS).counting(0, self.table.unit)
        start = self.x.astype(float)
        outcome = ask(solve_cpsat, self.question, columns=len(start), budget=many, start=start)
        if outcome.x is not None:
            self.table.take(np.rint(outcome.x).astype(np.int64), "CP-SAT")

    # ---- neighbourhoods --------------------------------------------------------------------------------------------------------------------

    def neighbourhoods(self) -> None:
        """Decide some columns anew, again and again; with two threads two sets of columns at a time, the second by HiGHS.

        Either answer keeps every sum, so that of disjoint sets both can be taken.
        """
        assert self.x is not None
        layers = codes_of(self.model, self.part)
        kinds = ["surroundings", *(["layers"] if layers is not None else [])]
        most = float(min(len(self.part), LARGEST_FREE if self.budget.time_limit_s is None else LARGEST_LIMITED))
        ways = [
            _Kind(kind, by, min(float(SMALLEST), most)) for by in (("CP-SAT", "HiGHS") if self.two else ("CP-SAT",)) for kind in kinds
        ]  # fmt: skip
        small = np.sort(self.reduced)[int(ELIGIBLE * (len(self.part) - 1))]
        tried = np.zeros(len(self.part))
        stale = 0
        while self.going and stale < self.effort.patience:
            away = np.abs(self.x - self.vertex)
            eligible = (self.reduced <= small) | (away > _WHOLE)
            chosen: list[tuple[_Kind, Ints]] = []
            for by in dict.fromkeys(way.by for way in ways):
                own = [way for way in ways if way.by == by]
                share = np.array([way.wins / way.tries for way in own])
                way = own[int(self.rng.choice(len(own), p=share / share.sum()))]
                if way.kind == "layers" and layers is not None:
                    free = self._some_layers(layers, eligible, int(way.size))
                else:
                    weight = np.where(eligible, self.reduced * away, 0.0) / (1 + tried) ** 2
                    weight = weight if weight.any() else eligible.astype(float)
                    seed = self.rng.choice(len(weight), 1, p=weight / weight.sum())
                    free = self.near.around(seed, int(way.size), eligible)
                    tried[free] += 1
                chosen.append((way, free))
                eligible = eligible.copy()
                eligible[free] = False
                if not eligible.any():
                    break
            gains = self._decide(chosen, most)
            full = all(way.size >= most or len(free) < 0.9 * way.size or not way.solved for way, free in chosen)
            stale = 0 if any(gains) else stale + full
            if any(gains):
                tried *= 0.5

    def _decide(self, chosen: list[tuple[_Kind, Ints]], most: float) -> list[bool]:
        """Solve neighbourhoods at the same time, take what is better, and learn how large the next may be; which were better."""
        assert self.x is not None
        share = self._share()
        limit = share.time_limit_s
        with ThreadPoolExecutor(1) as second:
            asked = [second.submit(self._by_highs, free, share) for _, free in chosen[1:]]
            outcomes = [self._by_cpsat(chosen[0][1], share), *(each.result() for each in asked)]
        gains = []
        for (way, free), outcome in zip(chosen, outcomes, strict=True):
            x = self.x.copy()
            if outcome.x is not None:
                x[free] = np.rint(outcome.x).astype(np.int64)
            gain = int(self.cost @ x) < self.table.value
            if gain:
                self.table.take(x, f"{way.by} neighbourhoods")
            way.learn(
                gain=gain,
                solved=outcome.status == "optimal",
                quick=limit is None or outcome.seconds < QUICK * limit,
                most=most,
            )
            gains.append(gain)
        return gains

    def _share(self) -> Budget:
        """What one neighbourhood may use."""
        left = self.budget.left
        return self.budget.part(None if left is None else max(SUB_LEAST_S, SUB_SHARE * left), threads=1)

    def _by_cpsat(self, free: Ints, budget: Budget) -> Outcome:
        assert self.x is not None
        start = self.x[free].astype(float)
        return ask(solve_cpsat, self.near.restricted(free, self.x), columns=len(free), budget=budget, start=start)

    def _by_highs(self, free: Ints, budget: Budget) -> Outcome:
        assert self.x is not None
        gap = self.table.step - 1e-3
        return ask(solve_mip, self.near.restricted(free, self.x), columns=len(free), budget=budget, absolute_gap=gap)

    def _some_layers(self, layers: list[Ints], eligible: Bools, size: int) -> Ints:
        """Random layers of a random dimension until there are enough columns."""
        code = layers[int(self.rng.integers(len(layers)))]
        many = np.bincount(code[eligible], minlength=int(code.max()) + 1)
        order = self.rng.permutation(len(many))
        enough = int(np.searchsorted(np.cumsum(many[order]), size)) + 1
        chosen = np.zeros(len(many), bool)
        chosen[order[:enough]] = True
        return np.flatnonzero(eligible & chosen[code])

    # ---- walk ------------------------------------------------------------------------------------------------------------------------------

    def walk(self) -> None:
        """Circulations on pairs of layers."""
        assert self.x is not None
        sides = sides_of(self.model, self.part, self.question)
        if not sides:
            return
        cell, first = np.unique(self.model.columns.cell[self.part], return_index=True)
        steps = np.bincount(np.searchsorted(cell, self.model.columns.cell[self.part]), self.x).astype(np.int64)
        road = Road(tuple(sides), first.astype(np.int64), self.cost, self.guide, steps, self.budget.seed)
        limit = None if self.budget.left is None else WALK_SHARE * self.budget.left
        most = self.effort.walk_positions if limit is None else math.inf
        part = self.budget.part(limit).counting(0, self.table.unit)
        outcome = ask(solve_walk, road, columns=len(self.part), budget=part, target=self.table.target, positions=most)
        if outcome.x is not None:
            self.table.take(np.rint(outcome.x).astype(np.int64), "walk over pairs of layers")


@dataclass(eq=False)
class _Kind:
    """A kind of neighbourhood and its solver: how large the next one is, and how often it was worth it lately."""

    kind: str
    by: str
    size: float
    wins: float = 1.0
    tries: float = 1.0
    solved: bool = True

    def learn(self, *, gain: bool, solved: bool, quick: bool, most: float) -> None:
        """Grow while all is solved quickly, shrink when it is not solved."""
        self.wins, self.tries, self.solved = 0.95 * self.wins + gain, 0.95 * self.tries + 1, solved
        if not solved:
            self.size = max(self.size * SHRINK, 100.0)
        elif quick and not gain:
            self.size = min(self.size * GROW, most)
