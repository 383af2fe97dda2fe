"""Leaves: which equations define which cells, which say nothing new, and the form a = N·u + c in the cells that are left.

Every equation may define one of its cells with coefficient ±1 through the others. We look for as many such definitions
as possible whose dependencies have no cycle: they are then triangular, hence independent, and integral. First each sum
defines its total, from the leaves up. An equation left over is either implied by the definitions, or it takes away one
more leaf, which it then defines (overlapping groupings). What resists because of a cycle is eliminated in the leaves
themselves, and a row without a unit coefficient stays as an explicit condition R·u = r.

Whether an equation is implied is tested by fingerprints: each leaf gets a random 64-bit number, each defined cell the
sum of its parts modulo 2^64; an implied equation then sums to 0, and one that is not does so with probability below
2^−60. A false verdict could only cost a dropped equation, and every released table is checked against all equations.
"""

from __future__ import annotations

from collections.abc import Iterable, Iterator
from dataclasses import dataclass
from itertools import pairwise
from math import gcd
from typing import TYPE_CHECKING, Any

import numpy as np

from cellward.exact import Bools, Ints
from cellward.table.relations import Relations, distinct, ranges

if TYPE_CHECKING:
    from scipy.sparse import csr_matrix


@dataclass(frozen=True, eq=False)
class Structure:
    """The definitions found: ``definition[i]`` is the equation that defines cell i (−1: a leaf), ``level[i]`` its place in the order (leaves 0)."""

    definition: Ints
    level: Ints
    equations: int
    redundant: Ints
    contradictory: Ints
    remaining: Ints
    """Equations that are neither definitions nor implied by them: only elimination in the leaves settles these."""

    @property
    def rank(self) -> int:
        """Number of independent equations."""
        return self.equations - len(self.redundant) - len(self.contradictory)

    @property
    def leaves(self) -> Ints:
        """Cells that nothing defines."""
        return np.flatnonzero(self.definition < 0)


@dataclass(frozen=True, eq=False)
class LeafForm:
    """a = matrix·u + constant with u the values of the cells ``leaves``, subject to condition·u = condition_rhs (most often no rows)."""

    leaves: Ints
    matrix: csr_matrix
    constant: Ints
    condition: csr_matrix
    condition_rhs: Ints


class Definitions:
    """Definitions in the making: a pivot cell for each chosen equation, their levels and fingerprints."""

    def __init__(self, relations: Relations) -> None:
        self.r = relations
        self.definition = np.full(relations.cells, -1, np.int64)
        self.pivot = np.full(relations.equations, -1, np.int64)
        self.level = np.zeros(relations.cells, np.int64)
        self.seed = np.random.default_rng(20040401).integers(0, 2**64, relations.cells, dtype=np.uint64)
        self.print = self.seed.copy()
        self.constant = np.zeros(relations.cells, np.int64)

    def from_totals(self) -> None:
        """Each sum defines its total, from the leaves up; a cycle is broken by making its smallest cell a leaf."""
        r, total = self.r, self.r.total
        summed = total >= 0
        pending = np.zeros(r.cells, bool)
        pending[total[summed]] = True
        waiting = self._waiting(pending, total)
        ready = np.flatnonzero(summed & (waiting == 0))
        unresolved = int(pending.sum())
        while unresolved:
            if len(ready):
                cell, first = np.unique(total[ready], return_index=True)
                equation, still = ready[first], pending[cell]
                cell, equation = cell[still], equation[still]
                self.definition[cell] = equation
                self.pivot[equation] = cell
            else:
                cell = np.flatnonzero(pending)[:1]
            pending[cell] = False
            unresolved -= len(cell)
            touched = self._entries_of(cell)
            rows = r.row[touched]
            rows = rows[total[rows] != r.indices[touched]]
            if len(rows):
                np.subtract.at(waiting, rows, 1)
                rows = distinct(rows, r.equations)
            ready = rows[summed[rows] & (waiting[rows] == 0) & pending[total[rows]]]
        self.refresh(np.arange(r.cells))

    def _waiting(self, pending: Bools, pivot: Ints) -> Ints:
        """For every equation the number of pending cells in it other than its pivot."""
        r = self.r
        open_ = pending[r.indices] & (r.indices != pivot[r.row])
        return np.bincount(r.row[open_], minlength=r.equations)

    def _entries_of(self, cells: Ints) -> Ints:
        ptr, entry = self.r.by_cell
        return entry[ranges(ptr[cells], ptr[cells + 1])]

    def _touched(self, cells: Ints) -> Ints:
        """These cells and all that depend on them."""
        r = self.r
        found = np.zeros(r.cells, bool)
        while len(cells):
            found[cells] = True
            above = self.pivot[r.row[self._entries_of(cells)]]
            above = above[above >= 0]
            cells = distinct(above[~found[above]], r.cells)
        return np.flatnonzero(found)

    def refresh(self, touched: Ints) -> Ints:
        """Levels, fingerprints and constants of the touched cells anew, or, where a cycle catches some of them, these and nothing done."""
        r, pivot = self.r, self.pivot
        pending = np.zeros(r.cells, bool)
        defined = touched[self.definition[touched] >= 0]
        pending[defined] = True
        equations = self.definition[defined]
        length = r.indptr[equations + 1] - r.indptr[equations]
        entry = ranges(r.indptr[equations], r.indptr[equations + 1])
        waits = pending[r.indices[entry]] & (r.indices[entry] != np.repeat(defined, length))
        waiting = np.zeros(r.equations, np.int64)
        waiting[equations] = np.bincount(np.repeat(np.arange(len(defined)), length)[waits], minlength=len(defined))
        ready = equations[waiting[equations] == 0]
        turns = []
        left = len(defined)
        while len(ready):
            turns.append(ready)
            left -= len(ready)
            cell = pivot[ready]
            pending[cell] = False
            entry = self._entries_of(cell)
            rows = r.row[entry]
            above = pivot[rows]
            rows = rows[(above >= 0) & (above != r.indices[entry])]
            np.subtract.at(waiting, rows, 1)
            rows = distinct(rows, r.equations)
            ready = rows[waiting[rows] == 0]
        if left:
            return defined[pending[defined]]
        leaves = touched[self.definition[touched] < 0]
        self.level[leaves], self.print[leaves], self.constant[leaves] = 0, self.seed[leaves], 0
        for equations in turns:
            self._define(equations, pivot[equations])
        return leaves[:0]

    def _define(self, equations: Ints, cells: Ints) -> None:
        """Level, fingerprint and constant of cells from their defining equations: p·cell = rhs − Σ others, p = ±1, all modulo 2^64."""
        r = self.r
        pick = ranges(r.indptr[equations], r.indptr[equations + 1])
        start = np.concatenate(([0], np.cumsum(r.indptr[equations + 1] - r.indptr[equations])[:-1]))
        own = r.indices[pick] == np.repeat(cells, np.diff(np.append(start, len(pick))))
        coef = r.coefs[pick]
        p = coef[own]
        prints = np.where(own, 0, coef).astype(np.uint64) * self.print[r.indices[pick]]
        constants = np.where(own, 0, coef) * self.constant[r.indices[pick]]
        self.level[cells] = 1 + np.maximum.reduceat(np.where(own, 0, self.level[r.indices[pick]]), start)
        self.print[cells] = np.add.reduceat(prints, start) * (-p).astype(np.uint64)
        self.constant[cells] = p * (r.rhs[equations] - np.add.reduceat(constants, start))

    def open_equations(self) -> tuple[Ints, Ints, Ints]:
        """The equations that define nothing: (not implied, implied, contradictory)."""
        r = self.r
        used = np.zeros(r.equations, bool)
        used[self.definition[self.definition >= 0]] = True
        sums = r.sums((r.coefs.astype(np.uint64) * self.print[r.indices]).view(np.int64))
        known = sums == 0
        constants = r.sums(r.coefs * self.constant[r.indices]) - r.rhs
        rest = np.flatnonzero(~used)
        return (
            rest[~known[rest]],
            rest[known[rest] & (constants[rest] == 0)],
            rest[known[rest] & (constants[rest] != 0)],
        )

    def take_leaves(self) -> Ints:
        """Let equations that are not implied define a leaf of theirs, as long as that makes no cycle; returns those that could not."""
        r = self.r
        refused = np.zeros(r.equations, bool)
        while True:
            open_, _, _ = self.open_equations()
            open_ = open_[~refused[open_]]
            if not len(open_):
                break
            wanted = np.zeros(r.equations, bool)
            wanted[open_] = True
            entry = np.flatnonzero(wanted[r.row] & (self.definition[r.indices] < 0) & (np.abs(r.coefs) == 1))
            offers = np.zeros(r.equations, bool)
            offers[r.row[entry]] = True
            refused[open_[~offers[open_]]] = True
            if not len(entry):
                continue
            # The leaf in the fewest open equations leaves the others the most choice; a leaf goes to the first equation that asks.
            crowd = np.bincount(r.indices[entry], minlength=r.cells)[r.indices[entry]]
            entry = entry[np.lexsort((r.indices[entry], crowd, r.row[entry]))]
            row, first = np.unique(r.row[entry], return_index=True)
            cell, winner = np.unique(r.indices[entry[first]], return_index=True)
            row = row[winner]
            self.definition[cell] = row
            self.pivot[row] = cell
            touched = self._touched(cell)
            while len(stuck := self.refresh(touched)):
                mine = np.isin(cell, stuck)
                # Take back the proposals in the cycle, the last half of them at a time: the first ones may well stand without the others.
                back = np.flatnonzero(mine)[int(mine.sum()) // 2 :]
                self.definition[cell[back]] = -1
                self.pivot[row[back]] = -1
                if int(mine.sum()) == 1:
                    refused[row[back]] = True
                keep = np.ones(len(cell), bool)
                keep[back] = False
                cell, row = cell[keep], row[keep]
        return self.open_equations()[0]


def find_structure(relations: Relations) -> Structure:
    """Definitions, redundancy and contradictions of a system."""
    found, remaining = define(relations)
    _, implied, contradictory = found.open_equations()
    if len(remaining):
        reduced = _eliminate(*in_leaves(relations, found, remaining))
        implied = np.sort(np.concatenate((implied, remaining[reduced.empty])))
        contradictory = np.sort(np.concatenate((contradictory, remaining[reduced.absurd])))
    return Structure(found.definition, found.level, relations.equations, implied, contradictory, remaining)


def define(relations: Relations) -> tuple[Definitions, Ints]:
    """Definitions by totals and by leaves taken away, and the equations that are neither definitions nor implied by them."""
    found = Definitions(relations)
    found.from_totals()
    return found, found.take_leaves()


def _substitution(relations: Relations, definition: Ints, level: Ints) -> tuple[csr_matrix, Ints]:
    """N and c over the leaves, built level by level: a defined cell's row is the combination of the rows of its parts."""
    from scipy.sparse import csr_matrix, vstack

    r = relations
    leaves = np.flatnonzero(definition < 0)
    order = np.lexsort((np.arange(r.cells), level))
    place = np.empty(r.cells, np.int64)
    place[order] = np.arange(r.cells)
    constant = np.zeros(r.cells, np.int64)
    parts = [
        csr_matrix(
            (np.ones(len(leaves), np.int64), (np.arange(len(leaves)), np.arange(len(leaves)))),
            shape=(len(leaves), len(leaves)),
        )
    ]
    stacked = parts[0]
    for depth in range(1, int(level.max(initial=0)) + 1):
        cells = np.flatnonzero(level == depth)
        equations = definition[cells]
        pick = ranges(r.indptr[equations], r.indptr[equations + 1])
        row = np.repeat(np.arange(len(cells)), r.indptr[equations + 1] - r.indptr[equations])
        own = r.indices[pick] == cells[row]
        p = r.coefs[pick][own]
        others = np.flatnonzero(~own)
        weight = -p[row[others]] * r.coefs[pick][others]
        combine = csr_matrix(
            (weight, (row[others], place[r.indices[pick][others]])), shape=(len(cells), stacked.shape[0])
        )
        constant[cells] = p * r.rhs[equations] + combine @ constant[order[: stacked.shape[0]]]
        fresh = combine @ stacked
        fresh.eliminate_zeros()
        stacked = vstack([stacked, fresh], format="csr")
    return stacked[place], constant


def in_leaves(relations: Relations, found: Definitions, equations: Ints) -> tuple[csr_matrix, Ints, csr_matrix, Ints]:
    """The given equations with every defined cell replaced by its leaves: (rows, right-hand sides), and the substitution used."""
    from scipy.sparse import csr_matrix

    matrix, constant = _substitution(relations, found.definition, found.level)
    part = relations.take(equations)
    m = csr_matrix((part.coefs, part.indices, part.indptr), shape=(part.equations, part.cells))
    rows = (m @ matrix).tocsr()
    rows.eliminate_zeros()
    return rows, part.rhs - m @ constant, matrix, constant


@dataclass(frozen=True, eq=False)
class _Reduced:
    pivots: dict[int, tuple[dict[int, int], int]]
    """leaf → (coefficients over the other leaves, constant): leaf = Σ coefficients·leaf + constant, fully substituted."""
    rest: list[tuple[dict[int, int], int]]
    empty: Ints
    absurd: Ints


def _eliminate(rows: Any, rhs: Ints, *_: object, longest: int | None = None) -> _Reduced:
    """Integer elimination with unit pivots, the shortest row first and in it the leaf that the fewest other rows hold (Markowitz).

    Rows that are longer than ``longest`` when their turn comes are left as they are, implied ones among them too.
    """
    import heapq

    columns = rows.tocsc()
    live = {
        k: dict(part)
        for k, part in enumerate(_parts(rows, zip(rows.indices.tolist(), rows.data.tolist(), strict=True)))
    }
    right = dict(enumerate(rhs.tolist()))
    holders = {leaf: set(part) for leaf, part in enumerate(_parts(columns, columns.indices.tolist()))}
    queue = [(len(row), k) for k, row in live.items()]
    heapq.heapify(queue)
    empty: list[int] = []
    absurd: list[int] = []
    solved: list[tuple[int, dict[int, int], int]] = []
    while queue:
        length, k = heapq.heappop(queue)
        if k not in live or len(live[k]) != length or (longest is not None and length > longest):
            continue
        candidates = [leaf for leaf, coef in live[k].items() if abs(coef) == 1]
        if live[k] and not candidates:
            continue  # it stays live: a later pivot may give it a unit coefficient or empty it, and queues it again
        row, value = live.pop(k), right.pop(k)
        for leaf in row:
            holders[leaf].discard(k)
        if not row:
            (empty if value == 0 else absurd).append(k)
            continue
        pivot = min(candidates, key=lambda leaf: (len(holders[leaf]), leaf))
        p = row.pop(pivot)
        expression, constant = {leaf: -p * coef for leaf, coef in row.items()}, p * value
        solved.append((pivot, expression, constant))
        for other in list(holders[pivot]):
            target = live[other]
            factor = target.pop(pivot)
            right[other] -= factor * constant
            for leaf, coef in expression.items():
                total = target.get(leaf, 0) + factor * coef
                if total:
                    target[leaf] = total
                    holders[leaf].add(other)
                elif leaf in target:
                    del target[leaf]
                    holders[leaf].discard(other)
            heapq.heappush(queue, (len(target), other))
        holders[pivot].clear()
    pivots: dict[int, tuple[dict[int, int], int]] = {}
    for pivot, expression, constant in reversed(solved):  # later pivots never hold earlier ones: substitute backwards
        flat: dict[int, int] = {}
        for leaf, coef in expression.items():
            inner, shift = pivots.get(leaf, ({leaf: 1}, 0))
            constant += coef * shift
            for deep, weight in inner.items():
                flat[deep] = flat.get(deep, 0) + coef * weight
        pivots[pivot] = ({leaf: coef for leaf, coef in flat.items() if coef}, constant)
    kept = sorted(live) if longest is not None else _independent(live, right, empty, absurd)
    rest = [(live[k], right[k]) for k in kept]
    return _Reduced(pivots, rest, np.array(sorted(empty), np.int64), np.array(sorted(absurd), np.int64))


def _parts(matrix: Any, entries: Iterable[Any]) -> Iterator[list[Any]]:
    """The entries of a compressed matrix, row by row or column by column as it is stored."""
    entries = list(entries)
    for a, b in pairwise(matrix.indptr.tolist()):
        yield entries[a:b]


def _independent(
    rows: dict[int, dict[int, int]], right: dict[int, int], empty: list[int], absurd: list[int]
) -> list[int]:
    """The rows without a unit coefficient that say something new, by fraction-free elimination; the others join empty or absurd."""
    echelon: dict[int, tuple[dict[int, int], int]] = {}
    kept = []
    for k in sorted(rows):
        row, value = rows[k], right[k]
        while row and (pivot := min(row)) in echelon:
            base, level = echelon[pivot]
            g = gcd(row[pivot], base[pivot])
            p, q = base[pivot] // g, row[pivot] // g
            total = {leaf: p * row.get(leaf, 0) - q * base.get(leaf, 0) for leaf in row.keys() | base.keys()}
            row, value = {leaf: coef for leaf, coef in total.items() if coef}, p * value - q * level
        if row:
            echelon[pivot] = (row, value)
            kept.append(k)
        else:
            (empty if value == 0 else absurd).append(k)
    return kept


def find_leaf_form(relations: Relations) -> LeafForm:
    """a = N·u + c with every unit-pivot elimination done."""
    from scipy.sparse import csr_matrix

    found, remaining = define(relations)
    rows, rhs, matrix, constant = in_leaves(relations, found, remaining)
    leaves = np.flatnonzero(found.definition < 0)
    if not len(remaining):
        return LeafForm(leaves, matrix, constant, csr_matrix((0, len(leaves)), dtype=np.int64), np.zeros(0, np.int64))
    turn, shift, condition, condition_rhs, kept = _put_in(_eliminate(rows, rhs), len(leaves))
    constant = constant + matrix @ shift
    matrix = (matrix @ turn).tocsr()
    matrix.eliminate_zeros()
    return LeafForm(leaves[kept], matrix, constant, condition, condition_rhs)


def eliminated(relations: Relations) -> LeafForm:
    """a = N·u + c by elimination alone: where few cells are free, in a fraction of the time that definitions without a cycle take."""
    from scipy.sparse import csr_matrix

    r = relations
    rows = csr_matrix((r.coefs, r.indices, r.indptr), shape=(r.equations, r.cells))
    matrix, constant, condition, condition_rhs, kept = _put_in(_eliminate(rows, r.rhs), r.cells)
    return LeafForm(kept, matrix, constant, condition, condition_rhs)


def eliminate_short(rows: csr_matrix, rhs: Ints, longest: int) -> tuple[csr_matrix, Ints, csr_matrix, Ints]:
    """Put conditions rows·u = rhs of at most ``longest`` leaves in: u = turn·u′ + shift, and the conditions that are left on u′."""
    turn, shift, condition, condition_rhs, _ = _put_in(_eliminate(rows, rhs, longest=longest), rows.shape[1])
    return turn, shift, condition, condition_rhs


def _put_in(reduced: _Reduced, leaves: int) -> tuple[csr_matrix, Ints, csr_matrix, Ints, Ints]:
    """All leaves through those that are kept: (turn, shift), the conditions on these, and which they are."""
    from scipy.sparse import csr_matrix

    kept = np.array([k for k in range(leaves) if k not in reduced.pivots], np.int64)
    place = np.full(leaves, -1, np.int64)
    place[kept] = np.arange(len(kept))
    row, col, val = list(kept), list(place[kept]), [1] * len(kept)
    shift = np.zeros(leaves, np.int64)
    for leaf, (expression, value) in reduced.pivots.items():
        shift[leaf] = value
        row.extend([leaf] * len(expression))
        col.extend(place[list(expression)].tolist())
        val.extend(expression.values())
    turn = csr_matrix((np.array(val, np.int64), (row, col)), shape=(leaves, len(kept)))
    return turn, shift, *_conditions(reduced.rest, place, len(kept)), kept


def _conditions(rest: list[tuple[dict[int, int], int]], place: Ints, leaves: int) -> tuple[csr_matrix, Ints]:
    from scipy.sparse import csr_matrix

    row = [k for k, (members, _) in enumerate(rest) for _ in members]
    col = place[np.array([leaf for members, _ in rest for leaf in members], np.int64)]
    val = np.array([coef for members, _ in rest for coef in members.values()], np.int64)
    return csr_matrix((val, (row, col)), shape=(len(rest), leaves)), np.array([value for _, value in rest], np.int64)
