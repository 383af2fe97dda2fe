"""Portfolio: large tables that are no network get a rounding within seconds, and a bound beside it.

1. An interior point prices the equations; what the prices prove is computed in whole numbers.
2. CP-SAT is given all equations, implied ones too, and looks for some table with eight searchers, whatever the number of cores.
3. With the prices a table is put together from the top down (see sweep.py).
4. Neighbourhoods of the best table are decided anew by CP-SAT. Sizes follow what is solved in its time, kinds are drawn by what they gained a second
   lately.

With a time limit the best table so far is given at its end. Without one all work is counted, and the same problem has the same answer.
"""

from __future__ import annotations

from collections.abc import Iterable
from concurrent.futures import Future, ThreadPoolExecutor, wait
from dataclasses import dataclass, field, replace
from typing import Any, ClassVar, Literal

import numpy as np

from cellward.exact import Floats, Ints
from cellward.protect.engine import Adapter
from cellward.protect.lattice.any_table import first_table
from cellward.protect.lattice.best_table import BestTable, whole
from cellward.protect.lattice.layers import sides_of
from cellward.protect.lattice.neighbourhoods import Neighbourhoods, trees_of
from cellward.protect.lattice.problem import Found, LatticeProblem, none_found
from cellward.protect.lattice.sweep import Sweep
from cellward.protect.lattice.vertex import VertexThenBlocks
from cellward.protect.lattice.ways import Way, choice
from cellward.protect.lattice.whole_search import too_easy
from cellward.solve.ask import ask
from cellward.solve.budget import Budget
from cellward.solve.cpsat import solve_cpsat
from cellward.solve.outcome import Outcome
from cellward.solve.prices import solve_prices

INSIDE = 1e-4
"""A price point this far from both ends of a column leaves it open."""
SMALLEST = 1500.0
"""Columns of a neighbourhood, at first."""
SHARE, LEAST_S, MOST_S = 0.05, 0.5, 3.0
"""Time for one neighbourhood: this share of all there is, between these."""
QUICK = 1 / 3
"""A neighbourhood solved within this part of its time may grow."""
PRICED_SHARE = 0.3
"""The part of the time left that prices are waited for."""
ALONE_SHARE = 0.25
"""The part of the time that prices have both cores for themselves."""
QUICK_SHARE, QUICK_COLUMNS = 0.08, 20_000
"""The part of the time in which a first table is looked for before a sweep, and the columns up to which it is."""
SWEEP_SHARE, SWEEP_ALONE = 0.9, 0.75
"""The part of the time left for a sweep, and that where there is no table yet."""
EXACT_SHARE = 0.5
"""The part of the time left for what a vertex leads to."""
LARGEST_FREE = 1500.0
"""Columns of a neighbourhood at most without a time limit."""


@dataclass(frozen=True)
class Portfolio:
    """Problems of at least ``fewest`` columns that are no network and whose relaxation leaves more than the share ``open_share`` of them open.

    ``patience``: neighbourhoods without a gain, one after the other, after which no more are tried where there is no time limit.
    """

    name: ClassVar[str] = "portfolio"
    fewest: int = 4000
    open_share: float = 0.3
    patience: int = 40
    first_share: float = 1.0
    """The part of the time left in which a first table must be found, or the search is given up."""
    searcher: Adapter = solve_cpsat
    pricer: Adapter = solve_prices
    exact: VertexThenBlocks = field(default_factory=VertexThenBlocks)
    """For problems whose vertex promises to be nearly whole."""

    def accepts(self, problem: LatticeProblem) -> str | None:
        """Large problems."""
        return too_easy(problem, self.fewest)

    def solve(self, problem: LatticeProblem, budget: Budget) -> Found | None:
        """The best table found; None where pairs of layers can be walked over."""
        every = np.arange(problem.size, dtype=np.int64)
        table = BestTable(problem, every, budget)
        if sides_of(problem.model, every, table.question):
            return None
        return _PortfolioSearch(self, table, budget).run()


def searcher_of(engines: Iterable[Any]) -> Adapter:
    """The searcher among these engines, so that some table is looked for with the one that the least is."""
    return next((each.searcher for each in engines if isinstance(each, Portfolio)), solve_cpsat)


class _PortfolioSearch:
    """One run."""

    def __init__(self, effort: Portfolio, table: BestTable, budget: Budget) -> None:
        self.effort, self.table, self.budget = effort, table, budget
        self.rng = np.random.default_rng(budget.seed)
        self.duals: Floats | None = None
        self.point: Floats | None = None
        self.swept = False
        self.verdict: Literal["", "infeasible", "vertex"] = ""
        """That there is no table, by CP-SAT or by a vertex; or that a vertex is to be asked."""
        self.engine = ""

    def run(self) -> Found:
        """Prices, a first table, a sweep, then neighbourhoods, and what a vertex leads to where it promises to be nearly whole."""
        self._take_known()
        with ThreadPoolExecutor(1) as beside:
            if self.budget.limited and self.budget.threads > 1:
                self._side_by_side(beside)
            else:
                self._heard(self._price(self.budget.part(threads=1)))
                if not self.verdict:
                    self._first(self.budget)
                    self._sweep()
                    self._improve(None)
            if self.verdict == "vertex":
                self._from_vertex()
                self._improve(None)
        if self.verdict == "infeasible":
            return Found("infeasible", self.engine)
        return self.table.found(self.duals)

    def _side_by_side(self, beside: ThreadPoolExecutor) -> None:
        """Prices in a thread of their own, alone at first: eight searchers beside them leave them a fifth of two cores. Then a first table, at once
        where there are no prices yet; with prices a sweep finds one too: the search for another is short, and left out in very large problems."""
        pricing = self.budget.part(threads=1)
        priced = beside.submit(self._price, pricing)
        left = self.budget.left or 0.0
        try:
            wait((priced,), timeout=ALONE_SHARE * left)
            if priced.done():
                self._heard(priced.result())
                if len(self.table.part) <= QUICK_COLUMNS or self.verdict:
                    self._first(self.budget.part(QUICK_SHARE * left))
                self._sweep()
            if self.table.x is None and not self.verdict:
                self._first(self.budget)
                if not self.verdict and not self.table.done:
                    wait((priced,), timeout=PRICED_SHARE * (self.budget.left or 0.0))
            self._improve(priced)
        finally:
            pricing.end()
        if not self.verdict:
            self._heard(priced.result())

    def _from_vertex(self) -> None:
        """The table that a vertex leads to, in half of the time left; then neighbourhoods go on."""
        self.verdict = ""
        if self.budget.over or self.table.done:
            return
        half = None if self.budget.left is None else EXACT_SHARE * self.budget.left
        found = self.effort.exact.solve(self.table.problem, self.budget.part(half))
        if found.x is not None:
            self.table.take(found.x, found.engine)
            if found.bound is not None:
                self.table.floor = max(self.table.floor, -(-found.bound // self.table.unit))
        elif found.status == "infeasible" and self.table.x is None:
            self.verdict, self.engine = "infeasible", found.engine

    # ---- prices ------------------------------------------------------------------------------------------------------------------------------

    def _price(self, budget: Budget) -> Outcome:
        q = self.table.price_question
        return ask(self.effort.pricer, q, columns=q.columns, rows=q.rows, budget=budget)

    def _heard(self, outcome: Outcome) -> None:
        """Believe of the prices what they prove; an open share that is small asks for a vertex, and so does a claim that there is no table."""
        if self.duals is not None or self.verdict:
            return
        if outcome.status == "infeasible":
            self.verdict = "vertex" if self.table.x is None else ""
        elif outcome.row_duals is not None and outcome.x is not None:
            self.duals, self.point = self.table.prices_of_all(outcome.row_duals), outcome.x
            self.table.raise_floor(self.duals)
            q = self.table.question
            inside = np.minimum(outcome.x - q.lower, q.upper - outcome.x) > INSIDE
            if not outcome.limit_reached and float(inside.mean()) <= self.effort.open_share:
                self.verdict = "vertex"

    # ---- tables ------------------------------------------------------------------------------------------------------------------------------

    def _take_known(self) -> None:
        model = self.table.problem.model
        if model.known is not None:
            x = model.steps_of(model.known)[self.table.part]
            if self.table.holds(x):  # rows may cut it off
                self.table.take(x, "rounded leaves")

    def _first(self, budget: Budget) -> None:
        """Some table by CP-SAT, where there is none yet."""
        if self.table.x is not None:
            return
        q = self.table.question
        part = budget.part(None if budget.left is None else self.effort.first_share * budget.left)
        outcome = first_table(q, part, self.effort.searcher)
        if outcome.x is not None:
            self.table.take(whole(outcome.x), "CP-SAT")
        elif none_found(outcome, q, "CP-SAT") == "infeasible":
            self.verdict, self.engine = "infeasible", "CP-SAT"

    @property
    def _going(self) -> bool:
        return self.table.x is not None and not self.table.done and not self.budget.over and not self.verdict

    def _sweep(self) -> None:
        """A table put together by the prices, if it is better."""
        if (
            self.swept
            or self.duals is None
            or self.point is None
            or self.verdict
            or self.table.done
            or self.budget.over
        ):
            return
        self.swept = True
        share = SWEEP_ALONE if self.table.x is None else SWEEP_SHARE
        part = self.budget.part(None if self.budget.left is None else share * self.budget.left)
        trees = trees_of(self.table.problem.model, self.table.part)
        x = Sweep(self.table, trees, self.duals, self.point, self.effort.searcher, part).run()
        if x is not None and self.table.holds(x):
            self.table.take(x, "CP-SAT from the top down")

    def _improve(self, priced: Future[Outcome] | None) -> None:
        """Neighbourhoods until the time is up, nothing is gained any more, or the floor is reached; a sweep as soon as there are prices."""
        aimed = replace(self.table.question, cost=self.table.aim.astype(np.float64))
        near = Neighbourhoods(self.table.problem.model, self.table.part, aimed, self.rng)
        most = float(len(self.table.part)) if self.budget.limited else LARGEST_FREE
        ways = [Way(kind, min(SMALLEST, most)) for kind in near.kinds]
        stale = 0
        while self._going and (self.budget.limited or stale < self.effort.patience):
            if priced is not None and priced.done():
                self._heard(priced.result())
                self._sweep()
                if not self._going:
                    return
            way = choice(ways, self.rng)
            free = near.draw(way.kind, way.size, np.ones(len(self.table.part), bool))
            gain = self._taken(way, free, self._decide(near, free), most)
            stale = 0 if gain else stale + 1

    def _share(self) -> Budget:
        limit = self.budget.time_limit_s
        if limit is None:
            return self.budget.part(threads=1)
        return self.budget.part(min(max(SHARE * limit, LEAST_S), MOST_S))

    def _decide(self, near: Neighbourhoods, free: Ints) -> Outcome:
        assert self.table.x is not None
        start = self.table.x[free].astype(float)
        question = near.restricted(free, self.table.x)
        return ask(self.effort.searcher, question, columns=len(free), budget=self._share(), start=start)

    def _taken(self, way: Way, free: Ints, outcome: Outcome, most: float) -> bool:
        """Take what is better; learn what this kind is worth, and how large the next one may be."""
        table = self.table
        assert table.x is not None
        gain = 0
        if outcome.x is not None:
            x = table.x.copy()
            x[free] = whole(outcome.x)
            gain = table.better(x)
            if gain >= 0 and (gain > 0 or not np.array_equal(x, table.x)) and table.holds(x):
                table.take(x, "CP-SAT on neighbourhoods")
        limit = self._share().time_limit_s
        quick = limit is None or outcome.seconds < QUICK * limit
        way.learn(gain if self.budget.limited else gain > 0, outcome, quick=quick, timed=self.budget.limited, most=most)
        return gain > 0
