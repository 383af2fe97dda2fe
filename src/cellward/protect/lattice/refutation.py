"""Refutation: that no table keeps all equations and satisfies all rows, by what follows from one of them after the other; in whole numbers.

A row and the bounds of its columns bound each of its columns further. Where that ends in a row that nothing within the bounds satisfies, there is no
table, and the rows that led there are the proof. It takes no solver, and no more than a second where a search takes minutes.
"""

from __future__ import annotations

from collections.abc import Callable, Sequence
from dataclasses import dataclass, field
from typing import TypeVar

import numpy as np

from cellward.exact import Ints
from cellward.protect.lattice.linear import Row, linear
from cellward.protect.lattice.model import LatticeModel

T = TypeVar("T")

MOST_ROUNDS = 200
MOST_TRIED = 300
"""Most subsets that are tried: counted, and not timed, so that the same table always gives the same sentence."""
FAR = 2**60
LOW, HIGH = 0, 1


@dataclass(eq=False)
class Constraints:
    """Equations (``equations``: their numbers) and then rows, as least ≤ Σ coef·x ≤ most."""

    indptr: Ints
    indices: Ints
    coefs: Ints
    least: Ints
    most: Ints
    top: Ints
    equations: Ints

    @staticmethod
    def of(model: LatticeModel, rows: Sequence[Row]) -> Constraints:
        """All equations of a model that hold a column, and these rows."""
        every = np.arange(len(model.columns))
        numbers = np.arange(model.instance.relations.equations, dtype=np.int64)
        filled = [row for row in rows if len(row.column)]
        question, _, used = linear(model, numbers, every, model.columns.cost, filled)
        most = np.where(np.isfinite(question.row_upper), question.row_upper, FAR)
        whole = (question.coefs, question.row_lower, most)
        coefs, least, most = (np.asarray(part).astype(np.int64) for part in whole)
        return Constraints(question.indptr, question.indices, coefs, least, most, model.columns.top, used)

    @staticmethod
    def listed(rows: Sequence[tuple[Ints, Ints, int, int]], top: Ints) -> Constraints:
        """Columns, coefficients, least and most (±FAR: none) of each; every column from 0 to ``top``.

        Columns need not be whole where all their coefficients are ±1: nothing is then rounded.
        """
        length = [len(at) for at, _, _, _ in rows]
        none = [np.zeros(0, np.int64)]
        return Constraints(
            np.concatenate(([0], np.cumsum(length))).astype(np.int64),
            np.concatenate([*none, *(at for at, _, _, _ in rows)]),
            np.concatenate([*none, *(coef for _, coef, _, _ in rows)]),
            np.array([least for _, _, least, _ in rows], np.int64),
            np.array([most for _, _, _, most in rows], np.int64),
            top,
            np.arange(len(rows)),
        )

    def contradiction(self, chosen: Sequence[int] | None = None) -> list[int] | None:
        """Constraints, out of those chosen (None: all), that nothing satisfies together; None where none are found so."""
        return Narrowing(self, None if chosen is None else np.array(sorted(chosen), np.int64)).contradiction()

    def conflict(self) -> tuple[list[int], bool] | None:
        """As few of them as a filter finds that nothing satisfies together, and whether none of these can be left out; None as above."""
        found = self.contradiction()
        if found is None:
            return None
        return fewest(found, lambda some: self.contradiction(some) is not None, MOST_TRIED, lambda: False)


@dataclass(eq=False)
class Narrowing:
    """The bounds of the columns, and which constraint narrowed each of them in which round."""

    all: Constraints
    chosen: Ints | None
    reasons: list[dict[tuple[int, int], tuple[int, int]]] = field(default_factory=list)
    """For every round: the column and side that it narrowed, by which constraint, and whether by its least (HIGH ends of terms) or its most."""
    bounds: Ints = field(default_factory=lambda: np.zeros((2, 0), np.int64))

    def contradiction(self) -> list[int] | None:
        """Narrow the bounds until nothing follows any more, or to a contradiction: then the constraints that led there."""
        c = self.all
        self.bounds = bounds = np.stack((np.zeros(len(c.top), np.int64), c.top))
        length = np.diff(c.indptr)
        owner = np.repeat(np.arange(len(length)), length)
        active = np.ones(len(length), bool)
        if self.chosen is not None:
            active[:] = False
            active[self.chosen] = True
        possible = active.copy()
        for _ in range(MOST_ROUNDS):
            entry = np.flatnonzero(active[owner])
            if not len(entry):
                return None
            row, column, coef = owner[entry], c.indices[entry], c.coefs[entry]
            low, high = bounds[LOW][column], bounds[HIGH][column]
            small, large = np.where(coef > 0, coef * low, coef * high), np.where(coef > 0, coef * high, coef * low)
            floor, ceiling = (np.zeros(len(length), np.int64) for _ in range(2))
            np.add.at(floor, row, small)
            np.add.at(ceiling, row, large)
            for broken, end in ((active & (ceiling < c.least), HIGH), (active & (floor > c.most), LOW)):
                if broken.any():
                    return self._traced([(int(np.flatnonzero(broken)[0]), end)])
            # c·x ≤ most − (floor − own), and ≥ least − (ceiling − own).
            over, under = c.most[row] - floor[row] + small, c.least[row] - ceiling[row] + large
            size = np.abs(coef)
            up = coef > 0
            highest = np.where(up, over, -under) // size
            lowest = -(np.where(up, -under, over) // size)
            now = bounds.copy()
            np.minimum.at(now[HIGH], column, highest)
            np.maximum.at(now[LOW], column, lowest)
            reason: dict[tuple[int, int], tuple[int, int]] = {}
            for side, found in ((HIGH, highest), (LOW, lowest)):
                new = np.flatnonzero((found == now[side][column]) & (now[side][column] != bounds[side][column]))
                for e in new.tolist():
                    by_most = bool(up[e]) == (side == HIGH)
                    reason.setdefault((int(column[e]), side), (int(row[e]), LOW if by_most else HIGH))
            self.reasons.append(reason)
            crossed = np.flatnonzero(now[LOW] > now[HIGH])
            if len(crossed):
                j = int(crossed[0])
                found_reasons = (self._reason(j, side, len(self.reasons)) for side in (LOW, HIGH))
                return self._traced([one for one in found_reasons if one is not None])
            if not reason:
                return None
            changed = np.zeros(len(c.top), bool)
            changed[[column for column, _ in reason]] = True
            active = np.zeros(len(length), bool)
            active[owner[changed[c.indices]]] = True
            active &= possible
            self.bounds = bounds = now
        return None

    def led_to(self, column: int, side: int) -> list[int]:
        """The constraints that led to a bound."""
        last = self._reason(column, side, len(self.reasons))
        return [] if last is None else self._traced([last])

    def _reason(self, column: int, side: int, before: int) -> tuple[int, int] | None:
        """What narrowed a column last before a round."""
        return next((r[column, side] for r in reversed(self.reasons[:before]) if (column, side) in r), None)

    def _traced(self, last: Sequence[tuple[int, int]]) -> list[int]:
        """The constraints that led to these; ``last``: with the ends of their terms that they were judged by."""
        c = self.all
        todo = [(row, end, len(self.reasons)) for row, end in last]
        seen: set[tuple[int, int, int]] = set(todo)
        while todo:
            row, end, before = todo.pop()
            for e in range(int(c.indptr[row]), int(c.indptr[row + 1])):
                column = int(c.indices[e])
                side = end if c.coefs[e] > 0 else 1 - end
                for turn in range(before - 1, -1, -1):
                    if (found := self.reasons[turn].get((column, side))) is not None:
                        if (one := (*found, turn)) not in seen:
                            seen.add(one)
                            todo.append(one)
                        break
        return sorted({row for row, _, _ in seen})


def fewest(
    items: Sequence[T], infeasible: Callable[[Sequence[T]], bool], most: int, over: Callable[[], bool]
) -> tuple[list[T], bool]:
    """Items that are infeasible together, after trying to do without halves, quarters, … and at last each of them; whether each was tried."""
    kept, size, tried = list(items), max(len(items) // 2, 1), 0
    while True:
        at = 0
        while at < len(kept):
            if tried >= most or over():
                return kept, False
            rest = kept[:at] + kept[at + size :]
            tried += 1
            if rest and infeasible(rest):
                kept = rest
            else:
                at += size
        if size == 1:
            return kept, True
        size //= 2
