"""Turning senses that do not go together: conflicts are proven and resolved, few cells turned, until a table reaches every level or none can.

Drawn senses need not fit the sums: of two cells that add up to a third, not all three can move as they like. In turn we look for the moves of the
table that come nearest to what the senses ask (shortage.py), learn from its prices which senses do not go together (conflict.py), and turn as few of
these as resolve all conflicts known (clauses.py). Only cells in conflict are turned; all others keep the sense that was drawn. Each round rules out
the senses at hand, so the search ends: with senses that a table reaches, with a tree of conflicts that leaves none, or with its time.
"""

from __future__ import annotations

from collections.abc import Sequence
from dataclasses import dataclass, replace

import numpy as np

from cellward.exact import Ints
from cellward.protect.adjustment.caps import Caps
from cellward.protect.adjustment.clauses import refutation, settle
from cellward.protect.adjustment.conflict import Conflict
from cellward.protect.adjustment.continuous import AdjustmentProblem, PublishedGrid
from cellward.protect.adjustment.cut import Cut
from cellward.protect.adjustment.equation import least_bending
from cellward.protect.adjustment.needs import DOWN, UP, Room
from cellward.protect.adjustment.senses import Senses
from cellward.protect.adjustment.shortage import Nearest, Shortage
from cellward.solve.budget import Budget
from cellward.table.relations import Relations

MOST_ROUNDS = 500
HARD, MOST_PAIRS = 6, 20_000
"""Rounds after which all single equations are asked what they leave of senses, and so many pairs of them."""
LONG = 12
"""Conflicts of more cells than this say little: the cells that the nearest moves send the other way are turned with them."""
MOST_TURNS = 2
"""How often one cell is turned for that reason."""
FEW = 64
"""Cells that can be turned up to which a conflict that is not proven rules out nothing but the senses at hand."""
CAPPED, SEARCHED = 0.25, 0.7
"""The share of the time left after which all caps are widened, and that after which only what can be fallen back upon is looked at."""
PATIENCE, LEAST_PATIENT, MOST_PATIENT = 200_000, 5, 40
"""Rounds after which all caps are widened, each time: so many by cells, between these."""
PATIENT_WITH_TOTALS = 4
"""How many times as many where only grand totals are left to give way."""
FALLING_BACK = 200
"""Rounds after which all up and all down are looked at."""


@dataclass(frozen=True, eq=False)
class Turned:
    """Senses after the search: ``found`` when a table reaches every level, in the ``room`` that caps leave; ``short``: how many fall short in the
    nearest table seen.

    ``tree``: the proof that no senses do, in preorder: places of cells to branch on (down, then up) and conflicts; empty where there is none.
    """

    senses: Senses
    found: bool
    room: Room
    short: int = 0
    rounds: int = 0
    tree: tuple[int | Conflict, ...] = ()


def alike(relations: Relations, lo: Ints, hi: Ints, senses: Senses) -> Senses:
    """Senses in which cells that an equation of two moving cells ties together are of one mind: that of the first that can choose, or must.

    Not counted as turned: they never had two senses.
    """
    moves = lo < hi
    entry = np.flatnonzero(moves[relations.indices])
    count = np.bincount(relations.row[entry], minlength=relations.equations)
    pair = entry[count[relations.row[entry]] == 2].reshape(-1, 2)
    first, second = relations.indices[pair[:, 0]], relations.indices[pair[:, 1]]
    same = relations.coefs[pair[:, 0]] == -relations.coefs[pair[:, 1]]
    if not len(pair):
        return senses
    wish = np.zeros(relations.cells, np.int64)
    wish[senses.cell] = senses.sense
    near: dict[int, list[tuple[int, int]]] = {}
    for i, j, s in zip(first.tolist(), second.tolist(), np.where(same, 1, -1).tolist(), strict=True):
        near.setdefault(i, []).append((j, s))
        near.setdefault(j, []).append((i, s))
    seen: set[int] = set()
    for k in np.argsort(senses.turnable, kind="stable").tolist():  # those that cannot turn speak first
        start = int(senses.cell[k])
        if start in seen or start not in near:
            continue
        seen.add(start)
        waiting = [(start, int(senses.sense[k]))]
        while waiting:
            i, sense = waiting.pop()
            wish[i] = sense
            for j, s in near[i]:
                if j not in seen:
                    seen.add(j)
                    waiting.append((j, sense * s))
    turn = (wish[senses.cell] != senses.sense) & senses.turnable
    return replace(senses, sense=np.where(turn, -senses.sense, senses.sense))


def turn_senses(problem: AdjustmentProblem, senses: Senses, budget: Budget, caps: Caps | None = None) -> Turned:
    """Senses and levels that some table reaches, few turned; or that there are none; or how near one came.

    ``problem`` is the one without the levels; ``caps``: how far cells should move at most, unless nothing goes together under them.
    """
    room = problem.room
    assert room is not None
    if senses.secret:
        senses = alike(problem.relations, room.lo, room.hi, senses)
    return _Search(problem, senses, budget, caps or Caps.none(room)).run()


class _Search:
    """The search for senses, with the conflicts known so far."""

    def __init__(self, problem: AdjustmentProblem, senses: Senses, budget: Budget, caps: Caps) -> None:
        self.drawn, self.rest, self.caps = senses, budget, caps
        self.budget = self._some(budget, SEARCHED)
        self.capped = self._some(self.budget, CAPPED)
        self.shortage = Shortage(problem.within(caps.room), senses)
        self.proven: list[Conflict] = []
        self.guessed: list[Cut] = []
        """What is not proven: it guides the search, and no more."""
        self.unresolved = 0
        """Rounds in the room at hand."""
        self.patient = min(max(PATIENCE // max(problem.relations.cells, 1), LEAST_PATIENT), MOST_PATIENT)
        self.turns = np.zeros(len(senses.cell), np.int64)
        self.best = (len(senses.cell), senses)

    @staticmethod
    def _some(budget: Budget, share: float) -> Budget:
        return budget if budget.left is None else budget.part(share * budget.left)

    def run(self) -> Turned:
        """The search."""
        senses, rounds = self.drawn, 0
        for rounds in range(1, MOST_ROUNDS + 1):
            near = self.shortage.find(senses, self.budget)
            if near is None or self.budget.over:
                break
            short = int(near.short.sum())
            self.best = min(self.best, (short, senses), key=lambda one: one[0])
            if not short:
                return self._found(senses, rounds)
            patient = self.patient * (1 if self.caps.others.any() else PATIENT_WITH_TOTALS)
            if (rounds % patient == 0 or self.capped.over) and self.caps.capped.any():
                self._cap(self.caps.wider())
                self.capped = self._some(self.budget, CAPPED)
                continue
            self._learn(senses, near)
            blocked = [one for one, cut in zip(self.proven, self._cuts, strict=True) if not len(cut.at)]
            after = None if blocked or not senses.secret else self._next(senses, near, first=rounds == 1)
            if after is not None:
                senses = after
            elif not self._give_way(blocked or near.conflicts):
                break
            if rounds == FALLING_BACK and (fallen_back := self._one_way()) is not None:
                return self._found(fallen_back, rounds)
        tree = refutation(self.proven, [one.cut for one in self.proven]) if not self.caps.capped.any() else ()
        if not tree and self.drawn.secret:
            self._cap(self.caps.released())
            if (fallen_back := self._one_way()) is not None:
                return self._found(fallen_back, rounds)
        return Turned(self.best[1], False, self.caps.rooms[-1], self.best[0], rounds, tree)

    def _found(self, senses: Senses, rounds: int) -> Turned:
        flipped = int((senses.sense != self.drawn.sense).sum())
        self.shortage.widen(self.caps.whole)
        lowered = replace(self.shortage.lowered(senses, self.rest), flipped=flipped)
        return Turned(lowered, True, self.caps.whole, rounds=rounds)

    def _give_way(self, conflicts: Sequence[Conflict]) -> bool:
        """Let the caps give way that no senses go together under: those of conflicts that no sense resolves; False where there are none."""
        if not self.caps.capped.any():
            return False
        tree = [node for node in refutation(self.proven, self._cuts) if isinstance(node, Conflict)]
        self._cap(self.caps.without([one.cells for one in (*conflicts, *tree)]) or self.caps.wider())
        return True

    def _cap(self, caps: Caps) -> None:
        """Other caps; conflicts that lean on those that gave way are forgotten."""
        wider = (caps.room.lo < self.caps.room.lo) | (caps.room.hi > self.caps.room.hi)
        self.caps = caps
        self.proven = [one for one in self.proven if not wider[one.cells].any()]
        self.guessed.clear()
        self.unresolved = 0
        self.shortage.widen(caps.room)

    @property
    def hard(self) -> bool:
        """Whether rounds without caps have left something unresolved: then conflicts say all that their multipliers do.

        Under caps, which give way in turn, and while few conflicts are known, what is turned for single clauses is the least, and found in no time.
        """
        return self.unresolved >= HARD and not self.caps.capped.any()

    @property
    def _cuts(self) -> list[Cut]:
        hard = self.hard
        return [one.cut if hard else one.clause for one in self.proven]

    def _learn(self, senses: Senses, near: Nearest) -> None:
        """The conflicts of these senses, and after some rounds those of all equations; where none is proven, that these do not go."""
        self.proven += near.conflicts
        self.unresolved += 1
        if self.hard and self.unresolved == HARD:
            self.proven += self.shortage.prover.cuts(MOST_PAIRS)
        if not near.conflicts:
            places = np.flatnonzero(senses.turnable)
            if len(places) > FEW and near.unproven:
                places = np.intersect1d(places, np.concatenate(near.unproven))
            self.guessed.append(Cut.one_of(places, -senses.sense[places]))

    def _next(self, senses: Senses, near: Nearest, *, first: bool) -> Senses | None:
        """Senses that resolve all conflicts known; in the first round, and where conflicts are long, those that the nearest moves take."""
        short = near.short & senses.turnable & (self.turns < MOST_TURNS)
        wrong = short & (senses.sense * near.z[senses.cell] < 0)
        if first and wrong.any():
            self.turns += wrong
            return senses.turned(wrong)
        long = [one.at for one in near.conflicts if len(one.at) > LONG]
        if long:
            mine = np.zeros(len(senses.cell), bool)
            mine[np.concatenate(long)] = True
            wrong &= mine
            self.turns += wrong
            senses = senses.turned(wrong)
        cuts = self._cuts + self.guessed
        if any(not len(cut.at) for cut in cuts):
            return None
        sense = settle(cuts, senses, self.drawn.sense, self.budget)
        return None if sense is None else senses.turned(sense != senses.sense)

    def _one_way(self) -> Senses | None:
        """All cells at risk up, or all down, where a table reaches that: nonnegative tables without upper bounds mostly have one."""
        for way in (UP, DOWN):
            s = self.drawn
            senses = s.turned((s.sense != way) & s.turnable)
            near = None if self.rest.over else self.shortage.find(senses, self.rest)
            if near is not None and not near.short.any():
                return senses
        return None


def _grid(problem: AdjustmentProblem) -> PublishedGrid:
    assert problem.grid is not None
    return problem.grid


def bending(problem: AdjustmentProblem, senses: Senses, budget: Budget) -> Ints | None:
    """By how much each level must give way at least, in units of what is published; None where that does not help."""
    grid = _grid(problem)
    least = senses.least / grid.factor
    amount = least_bending(problem, senses.cell, senses.sense, least, np.maximum(least, 1e-9), budget)
    if amount is None:
        return None
    return np.ceil(amount * grid.factor / grid.step - 1e-6).astype(np.int64) * grid.step


def conflicting(tree: Sequence[int | Conflict], senses: Senses) -> Ints:
    """The cells at risk that a proof leans on."""
    places = [np.concatenate((node.at, node.without_choice)) for node in tree if isinstance(node, Conflict)]
    return senses.cell[np.unique(np.concatenate(places))] if places else senses.cell[:0]
