"""CheapestWitness: linear programs for tables that reach many demands at once while they move few cells that are not withheld yet.

Legend: z = y − a is split into what is moved up and what is moved down, both ≥ 0; M·z = 0.
"""

from __future__ import annotations

from dataclasses import dataclass
from fractions import Fraction

import numpy as np

from cellward.audit.ends import Witness
from cellward.errors import SolverError
from cellward.exact import Bools, Floats, Ints
from cellward.solve.ask import ask
from cellward.solve.budget import Budget
from cellward.solve.highs import solve_lp
from cellward.solve.model import LinearModel
from cellward.table.leaves import eliminated
from cellward.table.relations import Relations, distinct

DENOMINATOR = 5000
"""Factors of a common denominator are looked for up to here."""
SURELY = 0.01
"""How far a number may be from a whole one, however large the denominator."""
FINE, SHORT = 10**6, 1 - 1e-4
"""Where no denominator is read off, a table is sought in steps so fine, which goes so far of the way so that it stays within all rooms."""
NEAR = 1e-6
LARGEST = 1e4
"""The largest cost that the solver sees."""
SAFE = 2**52
"""Whole numbers up to here are told apart in doubles."""


@dataclass(frozen=True, eq=False)
class Goals:
    """Cells, how far each is to be moved, and which way (±1)."""

    cell: Ints
    level: Floats
    sign: Floats

    def take(self, keep: Bools) -> Goals:
        """Only these."""
        return Goals(self.cell[keep], self.level[keep], self.sign[keep])

    def beyond(self, room: Floats) -> Goals:
        """A little further, as far as there is room: so that a table beside the one found goes far enough."""
        ahead = np.where(self.sign > 0, room[1][self.cell], room[0][self.cell])
        return Goals(self.cell, np.maximum(np.minimum(self.level / SHORT**2, ahead), self.level), self.sign)


class CheapestWitness:
    """Tables of one system of equations."""

    def __init__(self, relations: Relations, budget: Budget) -> None:
        self.relations, self.budget = relations, budget
        keep = np.ones(relations.equations, bool)
        keep[relations.redundant] = False
        self._rows = relations.take(np.flatnonzero(keep))

    def hard(self, cost: Floats, room: Floats, goals: Goals, budget: Budget | None = None) -> Floats | None:
        """The cheapest table that reaches all goals; None where there is none, or no time (of this budget, where one is given)."""
        return self._solve(cost, room, goals, budget or self.budget, soft=False)

    def soft(self, cost: Floats, room: Floats, goals: Goals) -> Floats | None:
        """A table that reaches as much of the goals as is possible together, cheap among those."""
        return self._solve(cost, room, goals, self.budget, soft=True)

    def _solve(self, cost: Floats, room: Floats, goals: Goals, budget: Budget, *, soft: bool) -> Floats | None:
        active = np.flatnonzero((room[0] > 0) | (room[1] > 0))
        place = np.full(self.relations.cells, -1, np.int64)
        place[active] = np.arange(len(active))
        at, k, q = place[goals.cell], len(active), len(goals.cell)
        if np.any(at < 0) or not q:
            return None
        r = self._rows
        mine = place[r.indices] >= 0
        column, row, coef = place[r.indices[mine]], r.row[mine], r.coefs[mine].astype(float)
        used = distinct(row, r.equations)
        many = 2 * np.bincount(row, minlength=r.equations)[used]
        indices = np.repeat(column, 2)
        indices[1::2] += k
        coefs = np.repeat(coef, 2)
        coefs[1::2] *= -1
        lower, upper = np.zeros(2 * k), np.concatenate((room[1][active], room[0][active]))
        costs = np.concatenate((cost[active], cost[active]))
        costs *= LARGEST / max(float(costs.max(initial=0.0)), 1e-9)
        rows = len(used)
        if soft:
            # What is reached counts for more than all that is moved for it.
            costs = np.concatenate((costs / (10 * float(goals.level.max())), -LARGEST / goals.level))
            lower, upper = np.zeros(2 * k + q), np.concatenate((upper, goals.level))
            own = np.stack((at, k + at, 2 * k + np.arange(q)), axis=1).ravel()
            signs = np.stack((goals.sign, -goals.sign, -np.ones(q)), axis=1).ravel()
            indices, coefs = np.concatenate((indices, own)), np.concatenate((coefs, signs))
            many = np.concatenate((many, np.full(q, 3)))
        else:
            ahead, behind = np.where(goals.sign > 0, at, k + at), np.where(goals.sign > 0, k + at, at)
            if np.any(goals.level > upper[ahead]):
                return None
            lower[ahead], upper[behind] = goals.level, 0.0
        model = LinearModel(
            cost=costs,
            lower=lower,
            upper=upper,
            indptr=np.concatenate(([0], np.cumsum(many))).astype(np.int64),
            indices=indices,
            coefs=coefs,
            row_lower=np.zeros(len(many)),
            row_upper=np.concatenate((np.zeros(rows), np.full(len(many) - rows, np.inf))),
        )
        try:
            found = ask(solve_lp, model, columns=model.columns, budget=budget)
        except SolverError:
            return None
        if found.x is None:
            return None
        z = np.zeros(self.relations.cells)
        z[active] = found.x[:k] - found.x[k : 2 * k]
        return z

    def exact(self, z: Floats) -> Witness | None:
        """The table with exact numbers that a solver's point stands for: its denominator is read off its numbers."""
        r, d = self.relations, 1
        largest = float(np.abs(z).max(initial=0.0))
        moved = z[np.abs(z) > NEAR]
        while largest * d <= SAFE:
            off = np.abs(np.rint(moved * d) - moved * d)
            if float(off.max(initial=0.0)) < min(NEAR * d, SURELY):
                shift = np.rint(z * d).astype(np.int64)
                if not r.sums(r.coefs * shift[r.indices]).any():
                    return Witness(shift, d)
                return None
            more = Fraction(float(moved[int(np.argmax(off))]) * d).limit_denominator(DENOMINATOR).denominator
            if more == 1:
                return None
            d *= more
        return None

    def beside(self, z: Floats) -> Witness | None:
        """A table in fine steps that moves the same cells nearly as far, where some of them determine the others in whole numbers."""
        if float(np.abs(z).max(initial=0.0)) * FINE > SAFE:
            return None
        cells = np.flatnonzero(np.abs(z) > NEAR)
        r = self.relations
        form = eliminated(r.moves(cells, implied=True))
        free = np.rint(z[cells][form.leaves] * (SHORT * FINE)).astype(np.int64)
        if form.condition.shape[0] or not (np.abs(form.matrix).astype(float) @ np.abs(free) < SAFE).all():
            return None
        shift = np.zeros(r.cells, np.int64)
        shift[cells] = form.matrix @ free
        return None if r.sums(r.coefs * shift[r.indices]).any() else Witness(shift, FINE)

    def near(self, cells: Ints, among: Bools, many: int) -> Bools:
        """Cells among these that are linked to the first by few equations: about so many."""
        r, out = self._rows, np.zeros(self.relations.cells, bool)
        out[cells] = True
        while int(out.sum()) < many:
            touched = np.zeros(r.equations, bool)
            touched[r.row[out[r.indices]]] = True
            more = out.copy()
            more[r.indices[touched[r.row]]] = True
            more &= among
            more |= out
            if int(more.sum()) == int(out.sum()):
                break
            out = more
        return out
