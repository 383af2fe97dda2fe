"""Nested search: a rounding of a table of areas within areas, too large to be asked about as a whole, and a better one as long as there is time.

1. From the top down, as quickly as possible: the uppermost levels, then the parts below them given their rounded totals, all by CP-SAT.
2. An interior point prices the equations meanwhile; what the prices prove is computed in whole numbers.
3. From the top down again, by the prices: what lies below an open row is charged to the columns above it.
4. Neighbourhoods: children of one block or of two, with everything below them and all that stands above, decided anew while the rest stays.

Where a part has no table below its totals, the top is opened again together with it, then also the parts that were decided before it, the smallest
first. Parts go through an executor, so many at a time as there are threads. Answers are taken in the order in which they were asked for and as moves
(all of them keep every sum, so that two together do), so that without a time limit the same problem has the same answer.
"""

from __future__ import annotations

from collections.abc import Callable, Iterable, Iterator
from concurrent.futures import Executor, Future, ThreadPoolExecutor
from dataclasses import dataclass
from typing import Any

import numpy as np

from cellward.exact import Bools, Floats, Ints
from cellward.protect.engine import Adapter
from cellward.protect.lattice.best_table import BestTable, whole
from cellward.protect.lattice.nested import Nested
from cellward.protect.lattice.nested_draw import NestedDraw
from cellward.protect.lattice.nested_plan import LARGEST, Part, Plan, chosen
from cellward.protect.lattice.part_questions import PartQuestions
from cellward.protect.lattice.problem import Found
from cellward.protect.lattice.ways import Way, choice
from cellward.solve.ask import ask
from cellward.solve.budget import Budget
from cellward.solve.checkpoint import Checkpoint
from cellward.solve.in_order import in_order
from cellward.solve.model import LinearModel
from cellward.solve.outcome import Outcome

SEARCHERS = 8
"""CP-SAT's threads where some table is wanted quickly: its searchers for a first one come in with the eighth, whatever the number of cores."""
FIRST_SHARE, AGAIN_SHARE = 0.2, 0.3
"""The part of the time left for one part of which some table is wanted, and where it is opened again with others."""
TOP_SHARE, SWEEP_SHARE, PART_SHARE = 0.1, 0.8, 0.03
"""The part of the time left for the top by the prices, for all parts below it, and for one of these at most."""
LEAST_S = 1.0
NEAR_ENOUGH = 0.004
"""A part by the prices that is as near to its own bound as this is good enough for now."""
NEAR_SHARE, NEAR_LEAST_S, NEAR_MOST_S = 0.02, 1.0, 20.0
"""Time for one neighbourhood: this share of all there is, between these."""
SMALLEST, QUICK = 2500.0, 1 / 3
"""Columns of a neighbourhood at first; one solved within this part of its time may grow."""
WORK = 1.0
"""CP-SAT's work for a thousand columns, without a time limit."""
FIRST_WORK = 20.0
"""The same where some table is wanted."""
LARGEST_FREE = 4000.0
"""Columns of a neighbourhood at most without a time limit."""


@dataclass(frozen=True, eq=False)
class Effort:
    """Who prices, who decides parts and where they are decided, and neighbourhoods without a gain after which no more are tried without a limit."""

    pricer: Adapter
    decide: Callable[..., Outcome]
    executor: Callable[[Budget], Executor]
    patience: int
    first_share: float
    """The part of the time left in which a first table must be found, or the search is given up."""


class NestedSearch:
    """One run."""

    def __init__(
        self, effort: Effort, table: BestTable, nested: Nested, plans: tuple[Plan, Plan], budget: Budget
    ) -> None:
        self.effort, self.table, self.nested, self.budget = effort, table, nested, budget
        self.families, self.slices = plans
        self.block = nested.block[table.problem.model.columns.cell[table.part]]
        self.parts = PartQuestions(table.question)
        self.rng = np.random.default_rng(budget.seed)
        self.duals: Floats | None = None
        self.point: Floats | None = None
        self.checkpoint = Checkpoint.of(budget, table.question)
        self.finding = budget.part(None if budget.left is None else effort.first_share * budget.left)
        self.pricing = budget.part(threads=1)
        self.looked = self.impossible = False
        """Whether some table was looked for; whether the uppermost levels alone have none."""
        self.priced: Future[Outcome] | None = None
        self.pool: Executor

    def run(self) -> Found:
        """A quick table beside the prices, a good one by them, then neighbourhoods."""
        self._take_known()
        self.pool = self.effort.executor(self.budget)
        with ThreadPoolExecutor(1) as beside:
            try:
                if self.duals is None:
                    self.priced = beside.submit(self._price)
                    if not self.budget.limited or self.budget.threads == 1:
                        self._hear()
                if self.duals is None:
                    self._first()
                self._hear()
                self._sweep()
                self._first()
                if not self.impossible:
                    self._improve()
            finally:
                self.pricing.end()
                self.pool.shutdown(cancel_futures=True)
        self.checkpoint.write(self.table.x, self.duals, self.point)
        return Found("infeasible", "CP-SAT") if self.impossible else self.table.found(self.duals)

    @property
    def _clock(self) -> Budget:
        """What is left for a first table, or of everything once there is one."""
        return self.finding if self.table.x is None else self.budget

    @property
    def _over(self) -> bool:
        return self.budget.over or self.table.done

    # ---- what is known ---------------------------------------------------------------------------------------------------------------------

    def _take_known(self) -> None:
        model, kept = self.table.problem.model, self.checkpoint.read()
        if model.known is not None:
            self._take(model.steps_of(model.known)[self.table.part], "rounded leaves")
        if kept is None:
            return
        self._take(kept.x, "a search before this one")
        if kept.duals is not None and kept.point is not None:
            self._priced_by(kept.duals, kept.point)

    def _take(self, x: Ints | None, engine: str) -> bool:
        """Keep a table if it is one and is better."""
        table = self.table
        if x is None or (table.x is not None and table.better(x) < 0) or not table.holds(x):
            return False
        better = table.take(x, engine)
        self.checkpoint.now_and_then(table.x, self.duals, self.point)
        return better

    def _price(self) -> Outcome:
        q = self.table.price_question
        return ask(self.effort.pricer, q, columns=q.columns, rows=q.rows, budget=self.pricing)

    def _hear(self) -> None:
        """Wait for the prices, and believe of them what they prove."""
        if self.priced is None:
            return
        outcome, self.priced = self.priced.result(), None
        if outcome.row_duals is not None and outcome.x is not None:
            self._priced_by(self.table.prices_of_all(outcome.row_duals), outcome.x)
            self.checkpoint.write(self.table.x, self.duals, self.point)

    def _priced_by(self, duals: Floats, point: Floats) -> None:
        self.duals, self.point = duals, point
        self.table.raise_floor(duals)
        self.budget.found(bound=self.table.unit * self.table.target)

    # ---- parts -----------------------------------------------------------------------------------------------------------------------------

    @property
    def _width(self) -> int:
        """Parts at a time: one less while prices are worked out."""
        pending = self.priced is not None and not self.priced.done()
        return max(self.budget.threads - pending, 1)

    def _answers(self, asked: Iterable[tuple[Any, Callable[[], Future[Outcome]]]]) -> Iterator[tuple[Any, Outcome]]:
        """What was asked for and its answer, in the order asked."""
        for what, outcome in in_order(asked, lambda: self._width):
            yield what, outcome
            self.checkpoint.now_and_then(self.table.x, self.duals, self.point)

    def _submit(self, question: LinearModel, seconds: float | None, work: float, **options: Any) -> Future[Outcome]:
        limit = None if seconds is None else max(min(seconds, self.budget.left or 0.0), 1e-3)
        options["work"] = None if limit is not None else work * max(question.columns / 1000, 1.0)
        return self.pool.submit(self.effort.decide, question, time_limit_s=limit, seed=self.budget.seed, **options)

    def _columns(self, blocks: Ints) -> Ints:
        return np.flatnonzero(chosen(blocks, self.nested.blocks)[self.block])

    def _seconds(self, share: float) -> float | None:
        left = self._clock.left
        return None if left is None else max(share * left, LEAST_S)

    # ---- from the top down -----------------------------------------------------------------------------------------------------------------

    def _first(self) -> None:
        """Some table, where there is none and it was not looked for in vain."""
        if self.table.x is None and not (self.looked or self.impossible or self._clock.over):
            self.looked = True
            self._take(self._from_above(None), "CP-SAT from the top down")

    def _sweep(self) -> None:
        """A table by the prices."""
        if (
            self.duals is not None
            and self.point is not None
            and not self._over
            and not (self.checkpoint.resumed or self.impossible)
        ):
            self._take(self._from_above((self.duals, self.point)), "CP-SAT from the top down")

    def _from_above(self, prices: tuple[Floats, Floats] | None) -> Ints | None:
        """A table, the uppermost levels first; None where some part has none whatever is opened again, or the time is over."""
        x, known = np.zeros(len(self.block), np.int64), np.zeros(len(self.block), bool)
        turns = (self.families if prices is None else self.slices).turns
        done: list[Part] = []
        for number, turn in enumerate(turns):
            below = sum(self.parts_size(other) for other in turns[number + 1 :])
            asked = ((part, self._asking(turn, place, below, x, known, prices)) for place, part in enumerate(turn))
            missed = []
            for part, outcome in self._answers(asked):
                if outcome.x is None and not number:
                    self.impossible = outcome.status == "infeasible"
                    return None
                if outcome.x is None:
                    missed.append(part)
                    continue
                free = self._columns(part.blocks)
                x[free], known[free] = whole(outcome.x), True
                done.append(part)
            for part in missed:
                if self._clock.over or not self._opened_again(part, done, x, known, prices):
                    return None
                done.append(part)
        return x

    def parts_size(self, parts: Iterable[Part]) -> int:
        """The columns of some parts."""
        return sum(len(self._columns(part.blocks)) for part in parts)

    def _asking(
        self,
        turn: tuple[Part, ...],
        number: int,
        below: int,
        x: Ints,
        known: Bools,
        prices: tuple[Floats, Floats] | None,
    ) -> Callable[[], Future[Outcome]]:
        def ask_for() -> Future[Outcome]:
            part = turn[number]
            free = self._columns(part.blocks)
            question = self.parts.about(free, x, known, prices)
            if prices is None:
                return self._submit(question, self._seconds(FIRST_SHARE), FIRST_WORK, threads=SEARCHERS, first=True)
            share = TOP_SHARE
            if len(part.heads):
                share = SWEEP_SHARE * self.budget.threads * len(free) / max(self.parts_size(turn[number:]) + below, 1)
            return self._submit(
                question,
                self._seconds(min(share, PART_SHARE if len(part.heads) else TOP_SHARE)),
                WORK,
                by_lp=True,
                gap=NEAR_ENOUGH,
            )

        return ask_for

    def _opened_again(
        self, part: Part, done: list[Part], x: Ints, known: Bools, prices: tuple[Floats, Floats] | None
    ) -> bool:
        """Some table of a part: as it is, with what else stands below the same blocks, with the top, then with one part decided before after the
        other, the smallest first."""
        near = [one.blocks for one in done if np.isin(one.heads, part.heads).any()]
        far = sorted((one.blocks for one in done[1:]), key=lambda one: len(self._columns(one)))
        blocks = part.blocks
        for more in (blocks[:0], *near[::-1], done[0].blocks, *far):
            blocks = np.union1d(blocks, more)
            free = self._columns(blocks)
            question = self.parts.about(free, x, known, prices)
            if len(free) > LARGEST:
                return False
            outcome = self._submit(
                question, self._seconds(AGAIN_SHARE), FIRST_WORK, threads=SEARCHERS, first=True
            ).result()
            if outcome.x is not None:
                x[free], known[free] = whole(outcome.x), True
                return True
            if self._clock.over:
                return False
        return False

    # ---- neighbourhoods --------------------------------------------------------------------------------------------------------------------

    def _improve(self) -> None:
        """Neighbourhoods until the time is up, the floor is reached or, without a limit, nothing is gained any more."""
        if self.table.x is None or self._over:
            return
        near = NestedDraw(self.nested, self.block, self.table, self.duals, self.point, self.rng)
        most = float(len(self.block)) if self.budget.limited else LARGEST_FREE
        ways = [Way((kind, -1), min(SMALLEST, most)) for kind in near.kinds]
        stale = 0

        def asked() -> Iterator[tuple[Any, Callable[[], Future[Outcome]]]]:
            while not self._over and (self.budget.limited or stale < self.effort.patience):
                way = choice(ways, self.rng)
                free = near.draw(way.kind[0], way.size)
                assert self.table.x is not None
                start = self.table.x[free]
                yield (way, free, start), lambda free=free, start=start: self._near(free, start)  # type: ignore[misc]

        for (way, free, start), outcome in self._answers(asked()):
            gain = self._moved(free, start, outcome)
            near.tried(free, gained=gain > 0)
            stale = 0 if gain > 0 else stale + 1
            limit = self._near_seconds
            quick = limit is None or outcome.seconds < QUICK * limit
            worth = gain if self.budget.limited else gain > 0
            way.learn(worth, outcome, quick=quick, timed=self.budget.limited, most=most)

    @property
    def _near_seconds(self) -> float | None:
        limit = self.budget.time_limit_s
        return None if limit is None else min(max(NEAR_SHARE * limit, NEAR_LEAST_S), NEAR_MOST_S)

    def _near(self, free: Ints, start: Ints) -> Future[Outcome]:
        assert self.table.x is not None
        question = self.parts.about(free, self.table.x)
        seconds = self._near_seconds if self.budget.left is not None else None
        return self._submit(question, seconds, WORK, start=start.astype(float), by_lp=True)

    def _moved(self, free: Ints, start: Ints, outcome: Outcome) -> int:
        """Take a neighbourhood's answer as a move of the best table, which others may have moved meanwhile; what is gained."""
        table = self.table
        if outcome.x is None or table.x is None:
            return 0
        x = table.x.copy()
        x[free] += whole(outcome.x) - start
        gain = table.better(x)
        if gain < 0 or np.array_equal(x, table.x):
            return 0
        return gain if self._take(x, "CP-SAT on neighbourhoods") else 0
