"""Choose: senses of least distance: a start that goes together, turned by prices, block by block and all at once, with a bound over all senses.

The start is that of drawn senses (turning.py: conflicts, clauses, proof that none go together). Then, in order: branch and bound over senses with the
relaxation by envelopes (tree.py), which settles small tables and gives the tree of the certificate; turning by prices; the integer program in leaves
(program.py), first of blocks, then of all senses, of tables under L1 that have a leaf form. The last word is always the least distance for the senses
chosen, computed as if they had been given.
"""

from __future__ import annotations

from dataclasses import dataclass, replace

import numpy as np

from cellward.exact import Ints
from cellward.protect.adjustment import engines
from cellward.protect.adjustment.caps import Caps
from cellward.protect.adjustment.choice import program
from cellward.protect.adjustment.choice.classes import Classes
from cellward.protect.adjustment.choice.curved import Curved
from cellward.protect.adjustment.choice.descent import Standing, Trials, blocks
from cellward.protect.adjustment.choice.envelope import Envelope
from cellward.protect.adjustment.choice.sides import Sides
from cellward.protect.adjustment.choice.tree import Searched, search
from cellward.protect.adjustment.continuous import AdjustmentProblem, Form
from cellward.protect.adjustment.engines import Sensed
from cellward.protect.adjustment.leaf import MOST
from cellward.protect.adjustment.needs import Room
from cellward.protect.adjustment.senses import Senses
from cellward.solve.budget import Budget

UNASKED_S = 600.0
"""How long better senses are looked for where no time limit is given and a table is not settled by its tree."""
START, TREE, PRICES, LAST = 0.3, 0.25, 0.3, 0.1
"""Shares of the time for the start, the tree, turning by prices, and what is kept to solve for the senses chosen."""
NODES, LEAST_NODES, MOST_NODES = 100_000, 3, 400
"""A tree by equations has so many nodes by cells, between these."""
LEAF_NODES, CURVED_NODES = 300, 1_000_000
"""Nodes of a tree in leaves, under L1 and under L2."""
ENVELOPES = 60_000
"""Cells up to which the relaxation by equations is asked."""
WHOLE, BLOCK, BLOCK_S, IDLE = 40, 24, 4.0, 6
"""Things at risk up to which there are no blocks, those in the first block, the time of one, and how many in a row gain nothing in the end."""


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
    problem: AdjustmentProblem, senses: Senses, budget: Budget, forms: tuple[Form, ...], caps: Caps | None
) -> Sensed:
    """The least distance over all senses, as far as there is time; ``problem`` is the one without levels, ``senses`` may all be turned."""
    budget = budget if budget.limited else budget.part(UNASKED_S)
    start = engines.solve_with_senses(problem, senses, _share(budget, START), forms, caps=caps)
    if start.answer.status != "optimal" or start.answer.z is None:
        return start
    assert problem.grid is not None
    search_budget = budget.part(None if budget.left is None else (1 - LAST) * budget.left)
    free = _without_senses(problem, start, caps)
    trials = Trials(problem, free, search_budget, forms, problem.grid.factor)
    standing = Standing(start.senses, start.answer)
    chosen = _Choosing(problem.within(free), trials, standing, search_budget).run()
    best = chosen.standing
    bound = min(chosen.bound, best.cost)
    sensed = Sensed(best.answer, replace(best.senses, flipped=0), best.senses.room(free), start.turned)
    return replace(sensed, chosen=Chosen(bound, chosen.searched, free, best.senses, start.answer.objective))


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
    """Better and better senses, and the bound over all of them."""

    def __init__(self, problem: AdjustmentProblem, trials: Trials, standing: Standing, budget: Budget) -> None:
        self.problem, self.trials, self.standing, self.budget = problem, trials, standing, budget
        self.bound = float("-inf")
        self.searched: Searched | None = None
        assert problem.grid is not None
        s = standing.senses
        self.sides = Sides.of(s, problem.grid.factor)
        self.linear = problem.distance.norm == "l1"
        self.classes = self._classes()

    def _classes(self) -> Classes | None:
        p = self.problem
        if p.relations.cells > ENVELOPES or p.compact.matrix.shape[1] > MOST:
            return None
        return Classes.of_problem(p, self.standing.senses.cell, self.sides)

    def run(self) -> _Choosing:
        """In order."""
        self.tell()
        self.trees()
        if not self.done:
            self.take(self.trials.by_prices(self.standing, _share(self.budget, PRICES)))
        if not self.done and self.linear and self.classes is not None:
            self.in_blocks(self.classes)
            self.at_once(self.classes)
        return self

    @property
    def done(self) -> bool:
        """Whether nothing better can be, or there is no time."""
        return self.budget.over or self.bound >= self.standing.cost * (1 - 1e-9)

    def tell(self) -> None:
        """What stands."""
        self.budget.found(self.standing.cost, self.bound if np.isfinite(self.bound) else None)

    def take(self, found: Standing | None) -> bool:
        """Keep what is better."""
        if found is None or found.cost >= self.standing.cost:
            return False
        self.standing = found
        self.tell()
        return True

    def trees(self) -> None:
        """Branch and bound with the relaxation by envelopes: by equations for the certificate, which settles small tables, then in leaves."""
        p, cells, c = self.problem, self.problem.relations.cells, self.classes
        at = self.standing.senses.cell
        if self.linear and cells <= ENVELOPES:
            part = _share(self.budget, TREE)
            most = min(max(NODES // max(cells, 1), LEAST_NODES), MOST_NODES)
            found = search(Envelope.by_equations(p, at, self.sides, part), self._known, most, part)
            self.searched = found
            self.learn(found, found.decided)
        if c is not None and not self.done:
            part = _share(self.budget, TREE if self.linear else 1.0)
            most = LEAF_NODES if self.linear else CURVED_NODES
            found = search(
                Envelope.in_leaves(c, part) if self.linear else Curved(c, self.otherwise, part), self._known, most, part
            )
            self.learn(found, None if found.decided is None else c.senses(found.decided))

    def otherwise(self, decided: Ints) -> float | None:
        """The least distance for these sides of classes, in whatever form has one."""
        assert self.classes is not None
        found = self.of(self.classes.senses(decided))
        return None if found is None else found.cost

    @property
    def _known(self) -> float:
        return self.standing.cost * (1 + 1e-9)

    def learn(self, found: Searched, sense: Ints | None) -> None:
        """A bound, and senses where there are better ones."""
        self.bound = max(self.bound, found.bound)
        if sense is not None:
            self.take(self.of(sense))

    def of(self, sense: Ints) -> Standing | None:
        """The least distance for these senses."""
        return self.trials.of(
            replace(
                self.standing.senses, sense=np.where(self.standing.senses.one_way, self.standing.senses.sense, sense)
            )
        )

    def in_blocks(self, classes: Classes) -> None:
        """Blocks of classes at risk, all others as they stand, until so many in a row gain nothing."""
        many, size, idle = len(classes.at), BLOCK, 0
        rng = np.random.default_rng(self.budget.seed)
        near = np.argsort(np.asarray(classes.matrix[classes.at].argmax(axis=1)).ravel(), kind="stable")
        if many <= WHOLE:
            found = program.least(
                classes,
                self.standing.cost,
                classes.decided(self.standing.senses.sense),
                np.ones(many, bool),
                self.budget.silent().part(BLOCK_S),
            )
            self.better(found, classes)
            return
        while idle < IDLE and not self.done:
            part = self.budget.silent().part(BLOCK_S)
            free = blocks(many, size, near, rng)
            found = program.least(classes, self.standing.cost, classes.decided(self.standing.senses.sense), free, part)
            gained = self.better(found, classes)
            idle = 0 if gained else idle + 1
            in_time = found.bound >= found.cost * (1 - 1e-9)
            size = min(many, int(size * 1.5)) if in_time and not gained else max(8, size // 2) if not in_time else size

    def at_once(self, classes: Classes) -> None:
        """All senses, with what stands to be beaten; again from the better, whose cost caps deviations sooner."""
        if self.done:
            return
        free = np.ones(len(classes.at), bool)
        found = program.least(
            classes, self.standing.cost, classes.decided(self.standing.senses.sense), free, self.budget
        )
        self.bound = max(self.bound, found.bound)
        self.better(found, classes)

    def better(self, found: program.Answered, classes: Classes) -> bool:
        """Take what a program found, if it is better."""
        return found.decided is not None and self.take(self.of(classes.senses(found.decided)))
