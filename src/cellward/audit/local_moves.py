"""Local moves: a few leaves around a cell that together bring it as far as a level asks, by a small integer program; each found once and kept.

Where single leaves and pairs of them find no way (leaf_moves.py), some sixty leaves that share the most sums with one of the cell's own nearly always
do: what is told of sums leaves them little room, but leaves under the same sums can make it for each other. The program has a row for every cell that
these leaves move, and looks for any solution that moves few.
"""

from __future__ import annotations

from concurrent.futures import ThreadPoolExecutor
from dataclasses import dataclass
from functools import partial
from typing import TYPE_CHECKING

import numpy as np

from cellward.audit.ends import HIGH, LOW, Ends
from cellward.errors import SolverError
from cellward.exact import Ints
from cellward.solve.ask import ask
from cellward.solve.budget import Budget
from cellward.solve.highs import solve_mip
from cellward.solve.model import LinearModel

if TYPE_CHECKING:
    from cellward.table.leaves import LeafForm

LEAVES = (60, 240)
"""Leaves of a program, and of a second one where the first has no solution."""

SECONDS = 2.0
"""For one program."""

FAILURES = 12
"""Programs without a solution after which no more are tried: the rest is for whole problems."""

AT_ONCE = 120
"""Programs before tables are made of what they found: one of these may show what others were to be for."""

FARTHEST = 2**30


@dataclass(frozen=True, eq=False)
class LocalMove:
    """The cells it touches and by how much it shifts each."""

    cell: Ints
    shift: Ints


class LocalMoves:
    """Those found so far, by cell and side."""

    def __init__(self, form: LeafForm) -> None:
        self._leaf = form.leaves
        self._above = form.matrix.tocsc()
        self._below = form.matrix.tocsr()
        self._found: dict[tuple[int, int], LocalMove] = {}
        self._tried: set[tuple[int, int]] = set()

    def of(self, i: int, side: int) -> LocalMove | None:
        """The one that is known for an end."""
        return self._found.get((i, side))

    def learn(self, ends: Ends, budget: Budget) -> bool:
        """Look for moves to some of the ends that are open, side by side; whether any was found."""
        sides = ((LOW, ends.open[LOW]), (HIGH, ends.open[HIGH]))
        todo = [(i, side) for side, open_ in sides for i in np.flatnonzero(open_).tolist()]
        todo = [one for one in todo if one not in self._tried][:AT_ONCE]
        failures, new, goal = 0, False, ends.enough
        with ThreadPoolExecutor(budget.threads) as pool:
            for at in range(0, len(todo), FAILURES):
                if budget.over or failures >= FAILURES:
                    break
                some = todo[at : at + FAILURES]
                self._tried.update(some)
                moves = pool.map(partial(self._move, ends, goal, budget), some)
                for one, move in zip(some, moves, strict=True):
                    if move is None:
                        failures += 1
                    else:
                        self._found[one], new = move, True
        return new

    def _move(self, ends: Ends, goal: Ints, budget: Budget, end: tuple[int, int]) -> LocalMove | None:
        """A move that brings one end as far as is wanted of it."""
        (i, side), center = end, ends.region.center
        need = int(goal[side][i] - center[i])
        room = tuple(np.clip(bound - center, -FARTHEST, FARTHEST) for bound in ends.outer)
        below = self._below.indices[self._below.indptr[i] : self._below.indptr[i + 1]]
        if not len(below) or abs(need) > FARTHEST:
            return None
        for many in LEAVES:
            leaves = self._around(int(below[0]), many)
            found = self._solve(leaves, i, need, room[LOW], room[HIGH], budget)
            if found is not None:
                shift = np.asarray(self._above[:, leaves] @ found)
                cell = np.flatnonzero(shift)
                return LocalMove(cell, shift[cell])
        return None

    def _around(self, leaf: int, many: int) -> Ints:
        """The leaves that share the most cells with one."""
        cells = self._above.indices[self._above.indptr[leaf] : self._above.indptr[leaf + 1]]
        shared = np.bincount(self._below[cells].indices, minlength=self._above.shape[1])
        chosen = np.argsort(-shared, kind="stable")[:many]
        return np.asarray(np.sort(chosen[shared[chosen] > 0]))

    def _solve(self, leaves: Ints, i: int, need: int, low: Ints, high: Ints, budget: Budget) -> Ints | None:
        """Whole steps of these leaves that keep every cell inside its room and bring cell i so far."""
        part = self._above[:, leaves].tocsr()
        cells = np.flatnonzero(np.diff(part.indptr))
        part = part[cells]
        least, most = low[cells].astype(float), high[cells].astype(float)
        at = int(np.searchsorted(cells, i))
        (most if need < 0 else least)[at] = need
        if least[at] > most[at]:
            return None
        # Up and down apart, so that few leaves are moved.
        many, length = len(leaves), np.diff(part.indptr)
        twice = np.concatenate(([0], np.cumsum(2 * length))).astype(np.int64)
        row = np.repeat(np.arange(len(cells)), length)
        place = np.arange(len(part.indices)) - part.indptr[row] + twice[row]
        indices, coefs = np.empty(2 * len(row), np.int64), np.empty(2 * len(row))
        for shift, sign in ((0, 1), (1, -1)):
            to = place + shift * length[row]
            indices[to], coefs[to] = part.indices + shift * many, sign * part.data
        mine = self._leaf[leaves]
        model = LinearModel(
            cost=np.ones(2 * many),
            lower=np.zeros(2 * many),
            upper=np.concatenate((np.maximum(high[mine], 0), np.maximum(-low[mine], 0))).astype(float),
            indptr=twice,
            indices=indices,
            coefs=coefs,
            row_lower=least,
            row_upper=most,
            integer=np.ones(2 * many, bool),
        )
        try:
            outcome = ask(
                solve_mip,
                model,
                columns=2 * many,
                absolute_gap=float(2 * FARTHEST),
                budget=budget.part(SECONDS, threads=1),
            )
        except SolverError:
            return None
        if outcome.x is None:
            return None
        x = np.rint(outcome.x).astype(np.int64)
        return np.asarray(x[:many] - x[many:])
