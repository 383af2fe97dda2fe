"""Nearest: the least whole moves that make a table additive: a linear program in pieces, an integer program where its vertex is not whole, a proof.

A piece is a run of moves of one cell that cost the same a unit. Of |z| there are two; of z² there is one from each whole number to the next, and only
those near the optimum are written out: where the optimum lies at the end of a longer one, it is cut there and the program is solved again. So the
relaxation has its corners at whole numbers, and on networks (two-way tables, one hierarchy) its vertex is whole, whatever the distance.
"""

from __future__ import annotations

from collections.abc import Iterable
from dataclasses import dataclass, replace
from fractions import Fraction
from typing import Literal

import numpy as np

from cellward.additive.distance import Distance
from cellward.errors import SolverError
from cellward.exact import LARGEST, NO_BOUND, Floats, Ints
from cellward.instance import Instance
from cellward.protect.lattice.engines import solve as solve_lattice
from cellward.protect.lattice.model import LatticeModel
from cellward.protect.lattice.problem import LatticeProblem
from cellward.publication.allowed import AllowedSet
from cellward.solve.ask import ask
from cellward.solve.budget import Budget
from cellward.solve.highs import solve_lp, solve_mip
from cellward.solve.model import LinearModel
from cellward.table.labels import Labels
from cellward.table.relations import Relations
from cellward.table.sensitivity import Sensitivity

MOST_ROUNDS = 200
WHOLE = 1e-6
WIDENINGS = (1, 3, 10)
"""How much further than the whole numbers about the relaxation a first table is looked for, one after the other."""
FIRST_S = 20.0
"""Seconds for each of these."""
DESCENTS = 20
"""How often all leaves are tried."""
MOST_PIECES = 100_000
"""Pieces of an integer program that is solved as one; larger ones are left to the machinery of roundings."""
LONGEST = 64
"""Moves of one cell that are pieces of their own in an integer program of squares."""


@dataclass(frozen=True, eq=False)
class Found:
    """Moves, what they cost and what every table costs at least, in whole weights; ``claimed``: no dearer by the word of an integer solver."""

    status: Literal["found", "infeasible", "unknown"]
    z: Ints | None = None
    cost: int = 0
    bound: Fraction = Fraction(0)
    claimed: bool = False
    engine: str = ""

    @property
    def proven(self) -> bool:
        """Whether whole numbers prove that nothing is nearer."""
        return self.bound > self.cost - 1


def nearest(relations: Relations, distance: Distance, budget: Budget) -> Found:
    """The least moves with M·z = b, where ``relations`` are those of the moves; what is said is checked in whole numbers."""
    return _Search(relations, distance, budget).run()


class _Search:
    """One search."""

    def __init__(self, relations: Relations, distance: Distance, budget: Budget) -> None:
        self.r, self.distance, self.budget = relations, distance, budget
        self.best: Ints | None = None
        self.cost = 0
        self.prices: tuple[Fraction, Ints, int] | None = None
        self.engine = "HiGHS simplex"

    def run(self) -> Found:
        """The relaxation, and what is left to do where its vertex is not whole."""
        if not self.r.rhs.any():
            return Found("found", np.zeros(self.r.cells, np.int64), engine="nothing to do")
        relaxed = self._relaxed()
        if not isinstance(relaxed, tuple):
            return Found(relaxed)
        z, prices = relaxed
        self._take(z)
        self._learn(prices)
        if self.best is None or not self._proven:
            claimed = self._whole(z, prices)
            if self.best is None:
                return Found("unknown", engine=self.engine)
            return self._found(claimed=claimed)
        return self._found()

    # ---- the relaxation ----------------------------------------------------------------------------------------------------------------------

    def _relaxed(self) -> tuple[Floats, Floats] | Literal["infeasible", "unknown"]:
        """The optimum over fractions with corners at whole numbers, and its prices; or that there is none, or no answer."""
        cuts = _cuts(self.distance, _doubling(self.r) if self.distance.power == 2 else ())
        best: tuple[Floats, Floats] | Literal["unknown"] = "unknown"
        for _ in range(MOST_ROUNDS):
            pieces = _Pieces.of(self.distance, cuts)
            outcome = ask(
                solve_lp, pieces.model(self.r), columns=len(pieces), rows=self.r.equations, budget=self.budget
            )
            if outcome.status == "infeasible":
                return "infeasible"
            if outcome.x is None or outcome.row_duals is None:
                break
            z = pieces.moves(outcome.x)
            best = z, outcome.row_duals
            missing = _missing(self.distance, cuts, z) if self.distance.power == 2 else cuts[:0]
            if not len(missing):
                break
            cuts = np.unique(np.concatenate((cuts, missing)), axis=0)
        return best

    def _take(self, z: Floats | Ints) -> None:
        """Keep moves where they are whole, add up, and cost less than those at hand."""
        whole = np.rint(z).astype(np.int64)
        d = self.distance
        if np.abs(z - whole).max(initial=0.0) > WHOLE or np.any(whole < d.lo) or np.any(whole > d.hi):
            return
        if self.r.residual(whole).any():
            return
        cost = d.value(whole)
        if self.best is None or cost < self.cost:
            self.best, self.cost = whole, cost

    def _learn(self, prices: Floats) -> None:
        found = self.distance.by_prices(self.r, prices, None if self.best is None else self.cost)
        if found is not None and (self.prices is None or found[0] > self.prices[0]):
            self.prices = found

    @property
    def _proven(self) -> bool:
        return self.prices is not None and self.prices[0] > self.cost - 1

    def _found(self, *, claimed: bool = False) -> Found:
        assert self.best is not None
        bound = Fraction(0) if self.prices is None else max(self.prices[0], Fraction(0))
        return Found("found", self.best, self.cost, min(bound, Fraction(self.cost)), claimed, self.engine)

    # ---- whole moves -------------------------------------------------------------------------------------------------------------------------

    def _whole(self, z: Floats, prices: Floats) -> bool:
        """Whole moves near the relaxation's, then the least of all that could be cheaper; whether a solver says that none is.

        What the leaves give is where the integer programs begin.
        """
        near = d = self.distance
        self._by_leaves(z)
        for more in WIDENINGS:
            near = replace(
                d,
                lo=np.maximum(d.lo, np.minimum(np.floor(z - WHOLE).astype(np.int64) - more, 0)),
                hi=np.minimum(d.hi, np.maximum(np.ceil(z + WHOLE).astype(np.int64) + more, 0)),
            )
            self._solved(near, self.budget.part(FIRST_S))
            if self.best is not None or self.budget.over:
                break
        if self.best is None:
            return False
        self._learn(prices)
        if self._proven or self.prices is None:
            return False
        least, n, q = self.prices
        lo, hi = d.narrowed(self.r, n, q, least, self.cost)
        if np.any(hi - lo > LONGEST) and d.power == 2:
            self._solved(near, self.budget)  # what is left to look at is too wide to be written out
            return False
        return self._solved(replace(d, lo=lo, hi=hi), self.budget)

    def _by_leaves(self, z: Floats) -> None:
        """The leaves' moves rounded, all others as they follow, where nothing that is kept or bounded is in the way.

        Then leaves are stepped one by one, where that pays.
        """
        form, d = self.r.leaf_form, self.distance
        if form.condition.shape[0]:
            return
        moved = np.rint(z[form.leaves]).astype(np.int64)
        self._take(np.asarray(form.matrix @ moved) + form.constant)
        if self.best is None:
            return
        matrix = form.matrix.tocsc()
        z_now, lo, hi, w = self.best.copy(), d.lo, d.hi, d.weight.astype(float)
        for _ in range(DESCENTS):
            gained = False
            for k in range(matrix.shape[1]):
                part = slice(matrix.indptr[k], matrix.indptr[k + 1])
                cells, own = matrix.indices[part], z_now[matrix.indices[part]]
                now = np.abs(own).astype(float) ** d.power
                for move in (matrix.data[part], -matrix.data[part]):
                    then = own + move
                    inside = np.all((lo[cells] <= then) & (then <= hi[cells]))
                    if inside and w[cells] @ (np.abs(then) ** d.power - now) < -WHOLE:
                        z_now[cells], gained = then, True
                        break
            if self.budget.over:
                break
            if not gained:
                break
        self._take(z_now)
        self.engine = "leaves rounded, one by one"

    def _solved(self, d: Distance, budget: Budget) -> bool:
        """Take the least moves of a room; whether they are the least by the solver's word."""
        cuts = _cuts(d, range(1, int(max(d.hi.max(initial=1), -d.lo.min(initial=-1))) + 1) if d.power == 2 else ())
        pieces = _Pieces.of(d, cuts)
        if len(pieces) > MOST_PIECES:
            self._by_lattice(d, budget)
            return False
        try:
            start = None if self.best is None else pieces.filled(self.best)
            outcome = ask(
                solve_mip,
                pieces.model(self.r, whole=True),
                columns=len(pieces),
                budget=budget,
                start=start,
                absolute_gap=0.5,
            )
        except SolverError:
            return False
        if outcome.x is None:
            return False
        self.engine = outcome.solver
        self._take(pieces.moves(outcome.x))
        return outcome.status == "optimal"

    def _by_lattice(self, d: Distance, budget: Budget) -> None:
        """Large tables: values next to one another, by the engines of roundings."""
        n, none = self.r.cells, np.zeros(self.r.cells, np.int64)
        if np.any(d.hi - d.lo >= LARGEST):
            return
        moves = Instance(
            relations=self.r, a=none, decimals=0, lower=d.lo, upper=d.hi, weight=d.weight, weight_decimals=0,
            sensitivity=Sensitivity.none(n), labels=Labels(n),
        )  # fmt: skip
        model = LatticeModel(moves, AllowedSet(d.lo, d.hi, np.where(d.lo < d.hi, 1, 0)), none)
        if len(model.impossible):
            return
        found = solve_lattice(LatticeProblem(model), budget)
        if found.x is not None:
            self.engine = found.engine
            self._take(model.values(found.x))


def _doubling(relations: Relations) -> list[int]:
    """Moves at which the squares are cut at first: up to what the largest equation has to make up for, each twice the one before."""
    return [2**k for k in range(max(int(np.abs(relations.rhs).max(initial=1)), 4).bit_length())]


def _cuts(d: Distance, at: Iterable[int]) -> Ints:
    """Pairs of a cell and a move at which it is cut, for all cells that have the move."""
    out = []
    for k in at:
        for side, end in ((1, d.hi), (-1, -d.lo)):
            cells = np.flatnonzero(end > k)
            out.append(np.column_stack((cells, np.full(len(cells), side * k))))
    return np.concatenate(out).astype(np.int64) if out else np.zeros((0, 2), np.int64)


def _missing(d: Distance, cuts: Ints, z: Floats) -> Ints:
    """The cuts about z that are not there yet: on a whole number its neighbours too, else those about it."""
    size = np.abs(z)
    at = np.rint(size)
    whole = np.abs(size - at) <= WHOLE
    low = np.where(whole, at - 1, np.floor(size))
    high = np.where(whole, at + 1, np.ceil(size))
    known = {(int(i), int(k)) for i, k in cuts}
    end = np.where(z >= 0, d.hi, -d.lo)
    out = []
    for i in np.flatnonzero(size > WHOLE).tolist():
        side = 1 if z[i] > 0 else -1
        near = {int(low[i]), int(high[i]), int(at[i]) if whole[i] else int(low[i])}
        out += [(i, side * k) for k in near if 0 < k < end[i] and (i, side * k) not in known]
    return np.array(out, np.int64).reshape(-1, 2)


@dataclass(frozen=True, eq=False)
class _Pieces:
    """Columns: how far each goes (``top``), which cell it moves and which way, and what a unit costs; of a cell, those nearest 0 first."""

    cells: int
    cell: Ints
    side: Ints
    start: Ints
    top: Floats
    cost: Floats

    def __len__(self) -> int:
        return len(self.cell)

    @staticmethod
    def of(d: Distance, cuts: Ints) -> _Pieces:
        """The pieces between the cuts; the last goes to the end of the room."""
        cell, side, start, end = [], [], [], []
        for way, room in ((1, d.hi), (-1, -d.lo)):
            own = cuts[cuts[:, 1] * way > 0]
            cells = np.flatnonzero(room > 0)
            at = np.concatenate((cells, own[:, 0]))
            k = np.concatenate((np.zeros(len(cells), np.int64), np.abs(own[:, 1])))
            order = np.lexsort((k, at))
            at, k = at[order], k[order]
            last = np.append(at[1:] != at[:-1], True) if len(at) else np.zeros(0, bool)
            stop = np.where(last, room[at], np.append(k[1:], 0)) if len(at) else k
            cell.append(at)
            side.append(np.full(len(at), way))
            start.append(k)
            end.append(stop)
        cells, ways, starts, ends = (np.concatenate(x).astype(np.int64) for x in (cell, side, start, end))
        open_ = ends >= NO_BOUND
        # Squares without an end: a unit beyond the last cut tells what it costs at least there; it is cut where the optimum goes.
        slope = d.slope(starts, np.where(open_, starts + 1, ends), d.weight[cells])
        return _Pieces(len(d.lo), cells, ways, starts, np.where(open_, np.inf, (ends - starts).astype(float)), slope)

    def model(self, relations: Relations, *, whole: bool = False) -> LinearModel:
        """M·z = b in the pieces."""
        ptr, entry = relations.by_cell
        count = np.diff(ptr)[self.cell]
        column = np.repeat(np.arange(len(self)), count)
        first = np.repeat(ptr[self.cell] - (np.cumsum(count) - count), count)
        at = entry[first + np.arange(int(count.sum()))]
        row, coef = relations.row[at], (relations.coefs[at] * self.side[column]).astype(float)
        order = np.lexsort((column, row))
        right = relations.rhs.astype(float)
        return LinearModel(
            cost=self.cost,
            lower=np.zeros(len(self)),
            upper=self.top,
            indptr=np.concatenate(([0], np.cumsum(np.bincount(row, minlength=relations.equations)))).astype(np.int64),
            indices=column[order].astype(np.int64),
            coefs=coef[order],
            row_lower=right,
            row_upper=right,
            integer=np.ones(len(self), bool) if whole else None,
        )

    def moves(self, x: Floats) -> Floats:
        """z of the columns."""
        return np.asarray(np.bincount(self.cell, x * self.side, minlength=self.cells), np.float64)

    def filled(self, z: Ints) -> Floats:
        """The columns of moves."""
        return np.asarray(np.clip((z[self.cell] * self.side - self.start).astype(float), 0.0, self.top), np.float64)
