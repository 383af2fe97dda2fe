"""Propagation: what each single equation says about the bounds of its cells, until no equation has more to say."""

from __future__ import annotations

from dataclasses import dataclass
from functools import cached_property

import numpy as np
from numpy.typing import NDArray

from cellward.errors import InputError
from cellward.exact import NO_BOUND, Ints, freeze
from cellward.table.relations import Relations, distinct, ranges

MOST_ROUNDS = 60
"""Bounds may creep towards each other for ever when values are not whole; the bounds of every round are valid, so we may stop."""

FAR = 2**61
"""Bounds beyond this count as none: no table value comes near."""


def propagate(relations: Relations, lo: Ints, hi: Ints, *, whole: bool) -> tuple[Ints, Ints]:
    """Bounds kept by every y with M·y = b and lo ≤ y ≤ hi; whole numbers, rounded outwards where y need not be whole and inwards where it must.

    >>> from cellward.table.relations import Relations
    >>> r = Relations.from_rows(3, [(0, [0, 1, 2], [1, 1, -1])])
    >>> lo, hi = propagate(r, np.array([0, 3, 5]), np.array([9, 4, 6]), whole=True)
    >>> lo.tolist(), hi.tolist()
    ([1, 3, 5], [3, 4, 6])
    """
    return _follow(relations, *_near(lo, hi), None, whole=whole)[:2]


@dataclass(frozen=True, eq=False)
class Propagation:
    """What the equations say about bounds that several attackers share, worked out once; for each of them only what it knows besides is followed.

    The equations narrow narrower bounds to narrower ones, so that what they say in the end is the same from wherever they start.
    """

    relations: Relations
    lo: Ints
    hi: Ints

    def narrowed(self, lo: Ints, hi: Ints, *, whole: bool) -> tuple[Ints, Ints]:
        """The same as ``propagate`` of bounds that lie within the shared ones.

        >>> r = Relations.from_rows(3, [(0, [0, 1, 2], [1, 1, -1])])
        >>> shared = Propagation(r, np.array([0, 3, 5]), np.array([9, 4, 6]))
        >>> lo, hi = shared.narrowed(np.array([0, 4, 5]), np.array([9, 4, 6]), whole=True)
        >>> lo.tolist(), hi.tolist()
        ([1, 4, 5], [2, 4, 6])
        """
        low, high, ended = self._whole if whole else self._any
        lo, hi = _near(lo, hi)
        lo, hi = np.maximum(lo, low), np.minimum(hi, high)
        news = np.flatnonzero((lo > low) | (hi < high)) if ended else None
        if news is not None and not len(news):
            return low, high
        return _follow(self.relations, lo, hi, news, whole=whole)[:2]

    @cached_property
    def _any(self) -> tuple[Ints, Ints, bool]:
        return self._shared(whole=False)

    @cached_property
    def _whole(self) -> tuple[Ints, Ints, bool]:
        return self._shared(whole=True)

    def _shared(self, *, whole: bool) -> tuple[Ints, Ints, bool]:
        lo, hi, ended = _follow(self.relations, *_near(self.lo, self.hi), None, whole=whole)
        freeze(lo, hi)
        return lo, hi, ended


def _near(lo: Ints, hi: Ints) -> tuple[Ints, Ints]:
    return np.where(lo < -FAR, -NO_BOUND, lo), np.where(hi > FAR, NO_BOUND, hi)


def _follow(r: Relations, lo: Ints, hi: Ints, news: Ints | None, *, whole: bool) -> tuple[Ints, Ints, bool]:
    """Round after round, only the equations with news: cells whose bounds are narrower than when they were last looked at (None: all).

    The bounds, and whether no equation has more to say.
    """
    if _large(r, lo, hi):
        return lo, hi, False  # sums could leave int64: the bounds given are valid as they are
    for _ in range(MOST_ROUNDS):
        new_lo, new_hi = _round(_Equations.of(r, news), lo, hi, whole=whole)
        if np.any(new_lo > new_hi):
            raise InputError(
                "the release and what the attacker knows contradict each other: no table satisfies both; correct the attacker"
            )
        news = np.flatnonzero((new_lo > lo) | (new_hi < hi))
        if not len(news):
            return lo, hi, True
        lo, hi = new_lo, new_hi
    return lo, hi, False


def _large(r: Relations, lo: Ints, hi: Ints) -> bool:
    """Whether an equation's finite bounds could sum beyond int64."""
    finite = np.maximum(np.where(lo > -NO_BOUND, np.abs(lo), 0), np.where(hi < NO_BOUND, np.abs(hi), 0)).astype(float)
    return float(np.bincount(r.row, np.abs(r.coefs) * finite[r.indices], minlength=1).max()) >= 2**61


@dataclass(frozen=True, eq=False)
class _Equations:
    """Some equations, none of them empty: their terms, and where those of each begin."""

    cell: Ints
    coef: Ints
    row: Ints
    start: Ints
    rhs: Ints

    @staticmethod
    def of(r: Relations, news: Ints | None) -> _Equations:
        """The equations that hold one of these cells; None: all."""
        if news is None or 4 * len(news) > r.cells:
            rows = np.flatnonzero(np.diff(r.indptr))
            return _Equations(
                r.indices,
                r.coefs,
                np.repeat(np.arange(len(rows)), np.diff(r.indptr)[rows]),
                r.indptr[rows],
                r.rhs[rows],
            )
        ptr, entry = r.by_cell
        rows = distinct(r.row[entry[ranges(ptr[news], ptr[news + 1])]], r.equations)
        begin, end = r.indptr[rows], r.indptr[rows + 1]
        at, length = ranges(begin, end), end - begin
        start = np.cumsum(length) - length
        return _Equations(r.indices[at], r.coefs[at], np.repeat(np.arange(len(rows)), length), start, r.rhs[rows])

    def others(self, term: Ints, missing: NDArray[np.bool_]) -> Ints:
        """b − Σ of the other terms of the equation, or NO_BOUND where one of them has no bound."""
        gone = self._sums(missing.astype(np.int64)) - missing
        return np.where(gone > 0, NO_BOUND, self.rhs[self.row] - (self._sums(term) - term))

    def _sums(self, term: Ints) -> Ints:
        return np.asarray(np.add.reduceat(term, self.start)[self.row] if len(term) else term)


def _round(part: _Equations, lo: Ints, hi: Ints, *, whole: bool) -> tuple[Ints, Ints]:
    """One round over equations: term t of an equation is at most b − Σ of the least of the others, and at least b − Σ of the largest."""
    cell, coef, size = part.cell, part.coef, np.abs(part.coef)
    positive = coef > 0
    low, high = lo[cell], hi[cell]
    least, most = np.where(positive, low, high), np.where(positive, high, low)
    no_least, no_most = np.abs(least) == NO_BOUND, np.abs(most) == NO_BOUND
    least, most = np.where(no_least, 0, coef * least), np.where(no_most, 0, coef * most)
    up, down = part.others(least, no_least), part.others(most, no_most)
    # term c·y between down and up, hence y between down/c and up/c for c > 0, the other way round for c < 0
    top, bottom = np.where(positive, up, -down), np.where(positive, down, -up)
    unknown_top, unknown_bottom = np.where(positive, up, down) == NO_BOUND, np.where(positive, down, up) == NO_BOUND
    if whole:
        top, bottom = top // size, -(-bottom // size)
    else:
        top, bottom = -(-top // size), bottom // size
    new_lo, new_hi = lo.copy(), hi.copy()
    keep = ~unknown_top
    np.minimum.at(new_hi, cell[keep], top[keep])
    keep = ~unknown_bottom
    np.maximum.at(new_lo, cell[keep], bottom[keep])
    return new_lo, new_hi
