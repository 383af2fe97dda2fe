"""Choose: senses of least distance: a start that goes together, turned by prices, block by block and all at once, with a bound over all senses.

The start is that of drawn senses (turning.py: conflicts, clauses, proof that none go together), or what a search before this one kept. Then, in turn:
branch and bound over senses with the relaxation by envelopes (tree.py), which settles small tables and gives the tree of the certificate; senses by
that relaxation, a part at a time (dive.py), and single turns (flips.py); under L2 turning by prices; the integer program in leaves (program.py),
first of blocks, then of all senses, of tables under L1 that have a leaf form; of others blocks along the table (nearby.py). The last word is always
the least distance for the senses chosen, computed as if they had been given.
"""

from __future__ import annotations

from collections import deque
from dataclasses import dataclass, replace
from functools import cached_property

import numpy as np

from cellward.exact import Bools, Ints
from cellward.protect.adjustment import engines
from cellward.protect.adjustment.caps import Caps
from cellward.protect.adjustment.choice import program
from cellward.protect.adjustment.choice.classes import Classes
from cellward.protect.adjustment.choice.curved import Curved
from cellward.protect.adjustment.choice.descent import Standing, Trials, blocks
from cellward.protect.adjustment.choice.dive import dive
from cellward.protect.adjustment.choice.envelope import Envelope
from cellward.protect.adjustment.choice.flips import flips
from cellward.protect.adjustment.choice.nearby import Nearby
from cellward.protect.adjustment.choice.program import Answered
from cellward.protect.adjustment.choice.retraced import retraced
from cellward.protect.adjustment.choice.sides import Sides
from cellward.protect.adjustment.choice.slack import Wish, towards
from cellward.protect.adjustment.choice.tree import CLOSED, Searched, search
from cellward.protect.adjustment.continuous import AdjustmentProblem, Form
from cellward.protect.adjustment.engines import Sensed
from cellward.protect.adjustment.leaf import MOST
from cellward.protect.adjustment.needs import DOWN, UP, Room
from cellward.protect.adjustment.senses import Senses
from cellward.solve.budget import Budget
from cellward.solve.checkpoint import Checkpoint

UNASKED_S = 600.0
"""How long better senses are looked for where no time limit is given and a table is not settled by its tree."""
START, TREE, CLOSER, DIVE, FLIPS, PRICES, ALL, LAST, WISHED = 0.3, 0.1, 0.15, 0.5, 0.1, 0.2, 0.5, 0.1, 0.4
"""Shares of the time for the start, a tree by equations, one in leaves, diving, single turns, turning by prices, all senses at once after blocks, and
what is kept to solve for the senses chosen, and to turn them to those drawn."""
STEEP, CAREFUL = 0.7, 0.25
"""The share of what is open that a dive decides at a time, by equations and in leaves."""
NODES, LEAST_NODES, MOST_NODES = 100_000, 1, 400
"""A tree by equations has so many nodes by cells, between these."""
LEAF_NODES, LEAST_LEAF_NODES, MOST_LEAF_NODES, LOOK = 200_000, 15, 200, 8
"""A tree in leaves under L1 has so many nodes by cells, between these, which all go into the certificate; so many classes are looked at for each."""
CURVED_NODES = 1_000_000
"""Nodes of a tree in leaves under L2."""
LEAVES, ENVELOPES = 60_000, 2_000_000
"""Cells up to which leaves are looked for, and the relaxation by equations is asked."""
ROUND, LITTLE = 200, 1e-4
"""Blocks of a large table after which it is looked whether they gained more than this share."""
FEW = 3000
"""Cells of a network up to which there are no blocks."""
WHOLE, BLOCK, LEAST_BLOCK, BLOCK_S, IDLE = 40, 24, 8, 4.0, 10
"""Things at risk up to which there are no blocks, those in the first block and at least, the time of one, and how many in a row gain nothing
in the end."""


@dataclass(frozen=True, eq=False)
class Chosen:
    """What choosing came to: ``bound`` on the distance over all senses, ``proven``: whether these are the best; the tree, for the certificate."""

    bound: float
    searched: Searched | None
    room: Room
    senses: Senses
    began: float
    """The distance for the senses of the start."""


def choose(
    problem: AdjustmentProblem,
    senses: Senses,
    budget: Budget,
    forms: tuple[Form, ...],
    caps: Caps | None,
    wish: Wish | None = None,
) -> Sensed:
    """The least distance over all senses, as far as there is time; ``problem`` is the one without levels, ``senses`` may all be turned.

    With a ``wish`` the least distance for senses towards those drawn, within its share of the best found.
    """
    budget = budget if budget.limited else budget.part(UNASKED_S)
    checkpoint = checkpoint_of(problem, senses, budget)
    senses = _kept(checkpoint, senses)
    start = engines.solve_with_senses(problem, senses, _share(budget, START), forms, caps=caps)
    if (
        start.answer.z is None and start.answer.status != "infeasible" and not budget.over
    ):  # slow: what is left is for it
        start = engines.solve_with_senses(problem, senses, _share(budget, 1 - LAST), forms, caps=caps)
    if start.answer.z is None or (start.turned is not None and not start.turned.found):
        return start
    assert problem.grid is not None
    search_budget = _share(budget, 1 - (LAST if wish is None else WISHED)).counting(0.0, 1.0)
    free = _without_senses(problem, start, caps)
    trials = Trials(problem, free, search_budget, forms, problem.grid.factor)
    standing = Standing(start.senses, start.answer)
    chosen = _Choosing(problem.within(free), trials, standing, search_budget, checkpoint).run()
    checkpoint.write(chosen.sense, None, None)
    trials.budget = budget
    if wish is not None:
        chosen.budget = _share(budget, 1 - LAST)
        chosen.sense = towards(
            wish, chosen.sense, chosen.cost, start.senses.one_way, chosen.classes, chosen.cost_of, chosen.budget
        )
    best = chosen.standing()
    if wish is not None:
        turned = replace(best.senses, flipped=int((best.senses.sense != wish.drawn).sum()))
        return Sensed(best.answer, turned, turned.room(free), start.turned)
    bound = min(chosen.bound, best.cost)
    sensed = Sensed(best.answer, replace(best.senses, flipped=0), best.senses.room(free), start.turned)
    return replace(sensed, chosen=Chosen(bound, chosen.searched, free, best.senses, start.answer.objective))


def checkpoint_of(problem: AdjustmentProblem, senses: Senses, budget: Budget) -> Checkpoint:
    """Where the senses of this question are kept; which question it is its relaxation says."""
    if budget.resume is None:
        return Checkpoint.nowhere()
    assert problem.grid is not None
    sides = Sides.of(senses, problem.grid.factor)
    relaxation = Envelope.model_by_equations(problem, senses.cell, sides)
    return Checkpoint.of(budget, replace(relaxation, cost=np.concatenate((relaxation.cost, problem.costs.square))))


def _kept(checkpoint: Checkpoint, senses: Senses) -> Senses:
    """Senses that a search before this one kept, to begin with; whether they go together, and what they cost, is found out anew."""
    kept = checkpoint.read()
    if kept is None or kept.x is None or kept.x.shape != senses.sense.shape or not np.isin(kept.x, (UP, DOWN)).all():
        return senses
    return replace(senses, sense=np.where(senses.turnable, kept.x, senses.sense))


def _share(budget: Budget, share: float) -> Budget:
    return budget.part(None if budget.left is None else share * budget.left)


def _without_senses(problem: AdjustmentProblem, start: Sensed, caps: Caps | None) -> Room:
    """The room that all senses are chosen in: that of the start, headlines kept as there, without its levels."""
    room = problem.room if start.turned is None else start.turned.room
    assert room is not None
    if caps is None:
        return room
    near = caps.wished.copy()
    near[start.senses.cell] = False
    return Room(np.where(near, start.room.lo, room.lo), np.where(near, start.room.hi, room.hi))


class _Choosing:
    """Better and better senses with their ``cost``, and the bound over all of them."""

    def __init__(
        self, problem: AdjustmentProblem, trials: Trials, standing: Standing, budget: Budget, checkpoint: Checkpoint
    ) -> None:
        self.problem, self.trials, self.budget, self.checkpoint = problem, trials, budget, checkpoint
        self.began, self.sense, self.cost = standing, standing.senses.sense, standing.cost
        self.bound = float("-inf")
        self.searched: Searched | None = None
        self.relaxation: Envelope | None = None
        assert problem.grid is not None
        self.sides = Sides.of(standing.senses, problem.grid.factor)
        self.linear = problem.distance.norm == "l1"
        p = problem
        small = p.relations.cells <= LEAVES and p.compact.matrix.shape[1] <= MOST
        self.classes = Classes.of_problem(p, standing.senses.cell, self.sides) if small else None

    def run(self) -> _Choosing:
        """In order."""
        self.tell()
        self.by_equations()
        network = self.linear and self.problem.relations.network is not None
        if self.classes is None or network:
            if self.linear and not self.done:
                self.begin_again(self.standing())
            elif not self.done:
                self.begin_again(self.trials.by_prices(self.began, _share(self.budget, PRICES)))
            if self.linear and not self.done:
                self.nearby(network=network)
            return self
        self.in_leaves(self.classes)
        if self.linear and not self.done:
            self.in_blocks(self.classes)
        if self.linear and not self.done:
            self.learn(self._program(self.classes, np.ones(len(self.classes.at), bool), self.budget))
        return self

    def nearby(self, *, network: bool) -> None:
        """Blocks of a large table, until so many of them gain next to nothing together; and a network that is not large all at once.

        HiGHS finds better cuts in the equations of a network than in leaves, and better ones in leaves where equations overlap.
        """
        z = self.began.answer.z
        assert z is not None
        rng = np.random.default_rng(self.budget.seed)
        now = Nearby(self.problem, self.began.senses.cell, self.sides, self.sense.copy(), z.copy(), rng)
        whole = network and self.problem.relations.cells <= LEAVES
        few = whole and self.problem.relations.cells <= FEW
        blocks_s = None if not whole or self.budget.left is None else self.budget.left - self._for_all
        recent: deque[float] = deque(maxlen=ROUND)
        for gain in () if few else now.gains(self.budget.part(blocks_s)):
            recent.append(gain)
            self.cost -= gain
            if gain:
                self.sense = now.sense.copy()
                self.tell()
            if self.done or (len(recent) == ROUND and sum(recent) <= LITTLE * self.cost):
                break
        if whole and not self.done:
            gain, bound = now.all_at_once(self.budget)
            self.cost -= gain
            self.bound = max(self.bound, bound)
        self.sense = now.sense

    def begin_again(self, standing: Standing) -> None:
        """Go on from senses whose least distance is known."""
        self.began, self.sense, self.cost = standing, standing.senses.sense, standing.cost
        self.tell()

    def standing(self) -> Standing:
        """The least distance for the best senses, by whatever form is apt; that of the start where none has it, or it is nearer."""
        if np.array_equal(self.sense, self.began.senses.sense):
            return self.began
        found = self.trials.of(self._senses(self.sense))
        return self.began if found is None or found.cost > self.began.cost else found

    def cost_of(self, sense: Ints) -> float | None:
        """What senses cost; None where no table has them: in leaves, which takes a moment after others, or by whatever form is apt."""
        if self.linear and self.classes is not None:
            found = self._leaves.solve(self.classes.decided(sense))
            return found.bound if found.status == "optimal" else None
        trial = self.trials.of(self._senses(sense))
        return None if trial is None else trial.cost

    def _senses(self, sense: Ints) -> Senses:
        s = self.began.senses
        return replace(s, sense=np.where(s.one_way, s.sense, sense))

    @cached_property
    def _leaves(self) -> Envelope:
        assert self.classes is not None
        return Envelope.in_leaves(self.classes, self.budget)

    @property
    def done(self) -> bool:
        """Whether nothing better can be, or there is no time."""
        return self.budget.over or self.bound >= self.cost * (1 - CLOSED)

    def tell(self) -> None:
        """What stands, to whoever listens and, now and then, to the file of a search that goes on."""
        self.checkpoint.now_and_then(self.sense, None, None)
        self.budget.found(self.cost, self.bound if np.isfinite(self.bound) else None)

    def learn(self, found: Answered, *, of_all: bool = True) -> bool:
        """Keep senses that are better, and a bound that holds ``of_all``; whether they were."""
        better = found.decided is not None and found.cost < self.cost
        if found.decided is not None and better:
            self.sense, self.cost = found.decided, found.cost
        if of_all:
            self.bound = max(self.bound, found.bound)
        self.tell()
        return better

    # ---- branch and bound --------------------------------------------------------------------------------------------------------------------

    def by_equations(self) -> None:
        """The tree of the certificate, which settles small tables."""
        cells = self.problem.relations.cells
        if not self.linear or cells > ENVELOPES:
            return
        part = _share(self.budget, DIVE)
        most = min(max(NODES // max(cells, 1), LEAST_NODES), MOST_NODES)
        relaxation = Envelope.by_equations(self.problem, self.began.senses.cell, self.sides, part)
        self.relaxation = relaxation
        self.searched = search(relaxation, self._known, most, _share(self.budget, TREE))
        self.learn(Answered(self.searched.decided, self.searched.cost, self.searched.bound))
        if self.classes is None or self.problem.relations.network is not None:
            self.dive(relaxation, STEEP, part, None)

    def dive(self, relaxation: Envelope, share: float, budget: Budget, classes: Classes | None) -> None:
        """Senses by the relaxation, of cells or of classes; then single ones turned while that pays."""
        found = None if self.done else dive(relaxation, share, budget)
        if found is not None:
            relaxation.budget = _share(self.budget, FLIPS)
            rng = np.random.default_rng(self.budget.seed)
            decided, cost = flips(relaxation, *found, rng, relaxation.budget)
            relaxation.budget = self.budget
            self.learn(Answered(decided if classes is None else classes.senses(decided), cost, 0.0), of_all=False)

    def in_leaves(self, classes: Classes) -> None:
        """A tree over classes of cells that move alike: under L1 before the program, under L2 to the end."""
        if self.done:
            return
        if self.linear:
            self.dive(self._leaves, CAREFUL, _share(self.budget, TREE), classes)
            most = min(max(LEAF_NODES // self.problem.relations.cells, LEAST_LEAF_NODES), MOST_LEAF_NODES)
            found = search(self._leaves, self._known, most, _share(self.budget, CLOSER), LOOK)
        else:
            curved = Curved(classes, self._otherwise, self.budget)
            found = search(curved, self._known, CURVED_NODES, self.budget)
        decided = None if found.decided is None else classes.senses(found.decided)
        self.learn(Answered(decided, found.cost, found.bound))
        if self.searched is not None and self.relaxation is not None and found.bound > self.searched.bound:
            other = retraced(found, classes, self.relaxation, _share(self.budget, TREE))
            self.searched = other if other is not None and other.bound > self.searched.bound else self.searched

    def _otherwise(self, decided: Ints) -> float | None:
        assert self.classes is not None
        return self.cost_of(self.classes.senses(decided))

    @property
    def _known(self) -> float:
        return self.cost * (1 + CLOSED)

    # ---- the integer program -----------------------------------------------------------------------------------------------------------------

    def in_blocks(self, classes: Classes) -> None:
        """Blocks of classes at risk, all others as they stand, until so many in a row gain nothing; few classes are one block."""
        many, size, idle = len(classes.at), BLOCK, 0
        part = self.budget.silent()
        if many <= WHOLE:
            self.learn(self._program(classes, np.ones(many, bool), part.part(BLOCK_S)))
            return
        rng = np.random.default_rng(self.budget.seed)
        near = np.argsort(np.asarray(classes.matrix[classes.at].argmax(axis=1)).ravel(), kind="stable")
        while idle < IDLE and not self.done:
            if self.budget.left is not None and self.budget.left < self._for_all:
                break
            found = self._program(classes, blocks(many, size, near, rng), part.part(BLOCK_S))
            gained = self.learn(found, of_all=False)
            idle = 0 if gained else idle + 1
            in_time = found.bound >= found.cost * (1 - CLOSED)
            size = (min(many, size * 3 // 2) if not gained else size) if in_time else max(LEAST_BLOCK, size * 2 // 3)

    @cached_property
    def _for_all(self) -> float:
        """The time that is kept for all senses at once, whose bound is better than that of the trees."""
        return ALL * (self.budget.left or 0.0)

    def _program(self, classes: Classes, free: Bools, budget: Budget) -> Answered:
        found = program.least(classes, self.cost, classes.decided(self.sense), free, budget)
        decided = None if found.decided is None else classes.senses(found.decided)
        return Answered(decided, found.cost, found.bound)
