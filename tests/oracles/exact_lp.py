"""Exact LP: the least and greatest value of every cell over {y : M·y = b, lo ≤ y ≤ hi}, y real, to judge attackers' intervals by.

Plain whole numbers, nothing of the package. A simplex method on a dictionary (Chvátal, Linear Programming, chapters 2 and 8) with sparse rows, each
over a denominator of its own. A cell outside the basis sits on a whole bound, so all numbers kept are whole:

    den_i · y_i = num_i + Σ_j row_ij · (y_j − at_j)        i in the basis, den_i > 0; j outside, where y_j = at_j

The cell whose end is wanted is kept in the basis: its row is the objective, and when it leaves, it has reached its bound. So one dictionary serves
all ends, and finding a first point is the same step: a cell out of its bounds is pushed towards them while the others keep those they have reached.
"""

from __future__ import annotations

from collections.abc import Iterable, Sequence
from fractions import Fraction
from math import gcd
from operator import index

Row = tuple[int, Sequence[int], Sequence[int]]
"""An equation: right-hand side, cells, coefficients."""
Bounds = Sequence[int | None]
Interval = tuple[Fraction | None, Fraction | None]


class EmptyRegionError(ValueError):
    """No y keeps all equations and bounds."""


def intervals(rows: Iterable[Row], lo: Bounds, hi: Bounds, cells: Iterable[int] | None = None) -> list[Interval]:
    """The least and greatest y_p for each of ``cells`` (all unless told), None where there is none. Raises EmptyRegionError."""
    vertex = Vertex(rows, lo, hi)
    return [(vertex.end(p, -1), vertex.end(p, 1)) for p in (range(len(lo)) if cells is None else cells)]


class Vertex:
    """A vertex of the region and its dictionary. An equation begins as one more cell, leaves the basis for its right-hand side, and is gone."""

    def __init__(self, rows: Iterable[Row], lo: Bounds, hi: Bounds) -> None:
        self.cells = len(lo)
        # By the way one moves: −1 down, 1 up.
        self.bound = {way: [None if x is None else index(x) for x in ends] for way, ends in ((-1, lo), (1, hi))}
        self.at: list[int] = []
        self.row: dict[int, dict[int, int]] = {}
        self.den: dict[int, int] = {}
        self.num: dict[int, int] = {}
        self.reached: set[tuple[int, int]] = set()
        for p, (low, high) in enumerate(zip(self.bound[-1], self.bound[1], strict=True)):
            if low is not None and high is not None and low > high:
                raise EmptyRegionError(f"cell {p} is to be at least {low} and at most {high}")
            self.at.append(low if low is not None else high if high is not None else 0)
        for equation in rows:
            self._enter(equation)
        self._eliminate()
        for p in list(self.row):
            self._repair(p)
        self._note_ends()

    def end(self, p: int, way: int) -> Fraction | None:
        """The least (``way`` −1) or greatest (``way`` 1) value of cell p; None when it has none."""
        bound = self.bound[way][p]
        if bound is not None and (p, way) in self.reached:
            return Fraction(bound)
        finite = self._push(p, way)
        self._note_ends()
        return self._value(p) if finite else None

    # ---- a first point -----------------------------------------------------------------------------------------------------------------------

    def _enter(self, equation: Row) -> None:
        """A cell that is Σ c·y, in the basis."""
        rhs, cells, coefs = equation
        row: dict[int, int] = {}
        value = 0
        for p, c in zip(map(index, cells), map(index, coefs), strict=True):
            if not 0 <= p < self.cells:
                raise IndexError(f"equation {len(self.at) - self.cells} names cell {p}, and there are {self.cells}")
            value += c * self.at[p]
            if not self._fixed(p):
                row[p] = row.get(p, 0) + c
        e = len(self.at)
        self.at.append(0)
        for ends in self.bound.values():
            ends.append(index(rhs))
        self.row[e], self.den[e], self.num[e] = {p: c for p, c in row.items() if c}, 1, value

    def _eliminate(self) -> None:
        """Gauss–Jordan: every equation leaves for one of its cells, best an unbounded one, which needs no repair; short rows and columns first."""
        waiting = set(self.row)
        while waiting:
            e = min(waiting, key=lambda e: (len(self.row[e]), e))
            waiting.remove(e)
            row, rhs = self.row[e], self.bound[1][e]
            assert rhs is not None
            if row:
                missing = {p: sum(ends[p] is None for ends in self.bound.values()) for p in row}
                column = {p: sum(p in other for other in self.row.values()) for p in row}
                self._pivot(e, min(row, key=lambda p: (abs(row[p]) > 1, -missing[p], column[p], p)), rhs)
            elif self.num[e] != rhs * self.den[e]:
                raise EmptyRegionError(f"equation {e - self.cells} contradicts the others")
            else:
                del self.row[e]

    def _repair(self, p: int) -> None:
        """Brings cell p within its bounds."""
        for way in (-1, 1):
            bound = self.bound[-way][p]
            if bound is not None and (bound - self._value(p)) * way > 0:
                self._push(p, way)
                if self._value(p) != bound:
                    raise EmptyRegionError(f"cell {p} comes no nearer to {bound} than {self._value(p)}")

    # ---- the simplex method ------------------------------------------------------------------------------------------------------------------

    def _push(self, p: int, way: int) -> bool:
        """Moves y_p as far as it goes, or to the next of its own bounds; False when nothing stops it.

        The steepest cell enters; after a step of no length the first that can, until a step has length (Bland's rule): so nothing cycles.
        """
        stalled = False
        while True:
            j, turn = p, way
            if p in self.row:
                row = self.row[p]
                ways = {j: way if c > 0 else -way for j, c in row.items()}
                movable = [j for j, turn in ways.items() if self.at[j] != self.bound[turn][j]]
                if not movable:
                    return True
                j = min(movable) if stalled else max(movable, key=lambda j: abs(row[j]))
                turn = ways[j]
            elif self.at[p] == self.bound[way][p]:
                return True
            step = self._first_stop(p, j, turn)
            if step is None:
                return False
            length, leaving, stop = step
            stalled = length == 0
            if leaving == j:
                self._flip(j, stop)
            else:
                self._pivot(leaving, j, stop)
            if leaving == p:
                return True

    def _first_stop(self, p: int, j: int, turn: int) -> tuple[int, int, int] | None:
        """What stops cell j on its way: (the room left over some denominator, the cell first at a bound, that bound). Of equals: p, j, the first.

        A cell out of its bounds stops where it comes back into them, and nothing stops it on its way out.
        """
        found, room, over = None, 0, 1
        far = self.bound[turn][j]
        if far is not None:
            found, room = (j, far), abs(far - self.at[j])
        for i, row in self.row.items():
            c = row.get(j)
            if c is None:
                continue
            way = turn if c > 0 else -turn
            den, num, stop = self.den[i], self.num[i], self.bound[-way][i]
            if stop is None or (stop * den - num) * way <= 0:
                stop = self.bound[way][i]
                if stop is None or (stop * den - num) * way < 0:
                    continue
            own, c = (stop * den - num) * way, abs(c)
            longer = own * over - room * c  # own / c against room / over
            if found is None or longer < 0 or (longer == 0 and (i == p or (p != found[0] != j and i < found[0]))):
                found, room, over = (i, stop), own, c
        return None if found is None else (room, *found)

    def _flip(self, j: int, stop: int) -> None:
        """Cell j goes to its other bound; the basis stays."""
        for i, row in self.row.items():
            if j in row:
                self.num[i] += row[j] * (stop - self.at[j])
        self.at[j] = stop

    def _pivot(self, r: int, j: int, stop: int) -> None:
        """Cell r leaves the basis for its bound ``stop``, cell j enters: row r solved for y_j, and put into the others.

        d · (y_j − at_j) = step + Σ_k new_k · (y_k − at_k), where at_r is ``stop`` from now on.
        """
        row, den, num = self.row.pop(r), self.den.pop(r), self.num.pop(r)
        c = row.pop(j)
        sign = 1 if c > 0 else -1
        d, step, new = abs(c), sign * (stop * den - num), {k: -sign * v for k, v in row.items()}
        if not self._fixed(r):
            new[r] = sign * den
        self.at[r] = stop
        for i, other in self.row.items():
            a = other.pop(j, 0)
            if not a:
                continue
            if d > 1:
                g = gcd(a, d)
                a, times = a // g, d // g
                self.den[i] *= times
                self.num[i] *= times
                for k in other:
                    other[k] *= times
            self.num[i] += a * step
            for k, v in new.items():
                total = other.get(k, 0) + a * v
                if total:
                    other[k] = total
                else:
                    del other[k]
            self._reduce(i)
        self.row[j], self.den[j], self.num[j] = new, d, d * self.at[j] + step
        self._reduce(j)

    def _reduce(self, i: int) -> None:
        """Takes the common factor out of row i."""
        if self.den[i] > 1 and (g := gcd(self.den[i], self.num[i], *self.row[i].values())) > 1:
            self.den[i] //= g
            self.num[i] //= g
            self.row[i] = {k: c // g for k, c in self.row[i].items()}

    def _fixed(self, p: int) -> bool:
        return self.bound[1][p] is not None and self.bound[-1][p] == self.bound[1][p]

    def _value(self, p: int) -> Fraction:
        return Fraction(self.num[p], self.den[p]) if p in self.row else Fraction(self.at[p])

    def _note_ends(self) -> None:
        """Notes which cells are on a bound at this vertex: that end of theirs needs no push."""
        for way, ends in self.bound.items():
            for p, stop in enumerate(ends):
                if stop is not None and (self.num[p] == stop * self.den[p] if p in self.row else self.at[p] == stop):
                    self.reached.add((p, way))
