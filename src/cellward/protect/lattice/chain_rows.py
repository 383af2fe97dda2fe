"""Chain rows: what a level asks of several equations at once, where these show that a table fails it.

Legend as in level_rows.py. At a table v every cell has room −down ≤ z ≤ up; equations narrow it. Where a cell at risk is left less than its level,
the few equations E that led there prove it; of a level that moves of leaves do not show, the equations around the cell may. The best multipliers γ of
E (a linear program of a few dozen cells) give d = e_p − Eᵀγ and

    z_p ≤ Σ_{d>0} d·up + Σ_{d<0} |d|·down,

a row on the choices of cells with two values, which v violates and every protected table satisfies. No attacker problem of the whole table is solved.
"""

from __future__ import annotations

from collections.abc import Callable, Iterator, Sequence
from itertools import chain

import numpy as np

from cellward.errors import SolverError
from cellward.exact import Ints
from cellward.protect.lattice.capacity import DENOMINATORS, MOST_SEPARATED, VIOLATED, Capacity
from cellward.protect.lattice.level_rows import LevelRow, around, choice_of
from cellward.protect.lattice.linear import Row, tightened
from cellward.protect.lattice.model import LatticeModel
from cellward.protect.lattice.refutation import HIGH, LOW, Constraints, Narrowing
from cellward.protect.lattice.single_equations import Room
from cellward.protect.lattice.told_box import AroundValue, Requirement
from cellward.solve.ask import ask
from cellward.solve.highs import solve_lp
from cellward.solve.model import LinearModel
from cellward.table.relations import ranges

MOST_ROWS, MOST_AROUND = 400, 100
"""Rows of one table, and cells whose surroundings are looked at: the next table has others."""


def chain_rows(
    model: LatticeModel, guard: Capacity, v: Ints, unshown: Ints, over: Callable[[], bool] = lambda: False
) -> list[LevelRow]:
    """The rows that v violates, one for each level that it fails so, each once; ``unshown``: cells whose levels are not shown otherwise."""
    if not isinstance(guard.told, AroundValue) or guard.cells != guard.instance.cells:
        return []
    if guard.instance.relations.largest > 1:
        return []
    found: dict[bytes, LevelRow] = {}
    column = choice_of(model)
    some = range(len(guard.asked) if len(guard.asked) <= MOST_SEPARATED else 1)  # of a crowd the public alone
    told = (guard.instance.a, guard.told.half, model.allowed.lo, model.allowed.hi, column)
    rooms = [around(*guard.box(k), *told) for k in some]
    chains = [_Chains(model, guard, k, room, v) for k, room in enumerate(rooms)]
    for one in chain.from_iterable(each.rows() for each in chains):
        found.setdefault(one.row.mark, one)
        if len(found) >= MOST_ROWS:
            return list(found.values())
    for one in chain.from_iterable(each.rows_around(unshown[:MOST_AROUND], over) for each in chains):
        found.setdefault(one.row.mark, one)
    return list(found.values())


def opened(model: LatticeModel, x: Ints, guards: Sequence[Capacity], cells: Ints) -> list[Row]:
    """For each of these cells, that one of the sums above it which leave it the least room be rounded up: a way to try, not a need."""
    form, column, out = model.instance.relations.leaf_form, choice_of(model), []
    below, above = form.matrix.tocsr(), form.matrix.tocsc()
    told = guards[-1].told
    if not isinstance(told, AroundValue):
        return []
    v, a = model.values(x), model.instance.a
    room = np.minimum(model.instance.upper, v + told.half) - a
    for p in cells[cells < len(a)].tolist():
        leaf = int(below.indices[below.indptr[p]])
        higher = above.indices[above.indptr[leaf] : above.indptr[leaf + 1]]
        higher = higher[(column[higher] >= 0) & (v[higher] < model.allowed.hi[higher])]
        full = column[higher[room[higher] == room[higher].min(initial=0)]]
        if len(full):
            out.append(Row(np.sort(full), np.ones(len(full), np.int64), 1))
    return out


class _Chains:
    """One attacker's rooms at one table, narrowed by the equations."""

    def __init__(self, model: LatticeModel, guard: Capacity, k: int, rooms: tuple[Room, Room], v: Ints) -> None:
        self.model, self.k, self.asked, self.rooms = model, k, guard.asked[k], rooms
        self.relations = r = model.instance.relations
        x = model.steps_of(v)
        self.up, self.down = (
            room.least + np.where(room.at >= 0, room.more * x[np.maximum(room.at, 0)], 0) for room in rooms
        )
        right = r.sums(r.coefs * self.down[r.indices])
        self.narrowing = Narrowing(
            Constraints(r.indptr, r.indices, r.coefs, right, right, self.up + self.down, np.arange(r.equations)), None
        )

    def rows(self) -> Iterator[LevelRow]:
        """Those of all levels that fail."""
        if self.narrowing.contradiction() is not None:
            return
        low, high = self.narrowing.bounds - self.down
        asked = self.asked
        for side, sign, level, reach in ((HIGH, 1, asked.upl, high), (LOW, -1, asked.lpl, -low)):
            for j in np.flatnonzero(reach[asked.cell] < level).tolist():
                p = int(asked.cell[j])
                row = self._row(p, sign, int(level[j]), np.array(self.narrowing.led_to(p, side), np.int64))
                if row is not None:
                    yield LevelRow(
                        row, Requirement(self.k, *(int(c[j]) for c in (asked.cell, asked.lpl, asked.upl, asked.spl)))
                    )

    def rows_around(self, cells: Ints, over: Callable[[], bool]) -> Iterator[LevelRow]:
        """Those of the levels of these cells that the equations of the cells above one of its leaves show to fail."""
        form, r, levels = self.relations.leaf_form, self.relations, self.asked.take(np.isin(self.asked.cell, cells))
        below, above, (ptr, entry) = form.matrix.tocsr(), form.matrix.tocsc(), r.by_cell
        for j, p in enumerate(levels.cell.tolist()):
            leaves = below.indices[below.indptr[p] : below.indptr[p + 1]]
            if over():
                return
            if not len(leaves):
                continue
            leaf = int(leaves[0])
            higher = above.indices[above.indptr[leaf] : above.indptr[leaf + 1]]
            equations = np.unique(r.row[entry[ranges(ptr[higher], ptr[higher + 1])]])
            for sign, level in ((1, int(levels.upl[j])), (-1, int(levels.lpl[j]))):
                row = self._row(p, sign, level, equations) if level else None
                if row is not None:
                    need = Requirement(self.k, p, *(int(c[j]) for c in (levels.lpl, levels.upl, levels.spl)))
                    yield LevelRow(row, need)

    def _row(self, p: int, sign: int, level: int, equations: Ints) -> Row | None:
        """The row of the best multipliers of these equations, if v violates it."""
        if not len(equations):
            return None
        part = self.relations.take(equations)
        cells = np.unique(part.indices)
        at = np.searchsorted(cells, part.indices)
        cost = np.zeros(len(cells))
        cost[np.searchsorted(cells, p)] = -float(sign)
        zero = np.zeros(part.equations)
        question = LinearModel(
            cost=cost,
            lower=-self.down[cells].astype(float),
            upper=self.up[cells].astype(float),
            indptr=part.indptr,
            indices=at,
            coefs=part.coefs.astype(float),
            row_lower=zero,
            row_upper=zero,
        )
        try:
            outcome = ask(solve_lp, question, columns=len(cells), rows=part.equations)
        except SolverError:
            return None
        if outcome.row_duals is None or -outcome.objective > level - VIOLATED:
            return None
        for denominator in DENOMINATORS:
            scaled = np.rint(-outcome.row_duals * denominator).astype(np.int64)
            d = np.zeros(len(cells), np.int64)
            np.subtract.at(d, at, part.coefs * scaled[part.row])
            d[np.searchsorted(cells, p)] += sign * denominator
            if (row := self._of(cells, d, level * denominator)) is not None:
                return row
        return None

    def _of(self, cells: Ints, d: Ints, level: int) -> Row | None:
        """Σ d·room ≥ level as a row; None where v satisfies it."""
        up, down = (np.maximum(sign * d, 0) for sign in (1, -1))
        here = int(up @ self.up[cells] + down @ self.down[cells])
        if here >= level:
            return None
        column, coef, least = [], [], level
        for weight, room in ((up, self.rooms[0]), (down, self.rooms[1])):
            least -= int(weight @ room.least[cells])
            some = (weight > 0) & (room.at[cells] >= 0)
            column.append(room.at[cells][some])
            coef.append((weight * room.more[cells])[some])
        columns, which = np.unique(np.concatenate(column), return_inverse=True)
        sums = np.zeros(len(columns), np.int64)
        np.add.at(sums, which, np.concatenate(coef))
        return tightened(self.model.columns, columns, sums, least)
