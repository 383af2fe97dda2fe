"""The rounding model in unit steps: v = lo + step·Σx over the columns of each cell, exact integers throughout.

Legend (paper 000, section 3): a nominal value, base β, s the steps allowed, lo and hi the outermost multiples of β less than s·β away from a and
inside the cell's public bounds, step the distance from one allowed value to the next (β, or one unit where a cell only follows others). A *column*
x is a run of steps that cost the same: below a, across a, above a; costs rise from one to the next, so cheap tables fill them in order. Equation j
becomes Σ m·step·x = d with d = b − M·lo, divided by the greatest common divisor of its coefficients.
"""

from __future__ import annotations

import math
from dataclasses import dataclass, replace
from functools import cached_property

import numpy as np

from cellward import exact
from cellward.errors import InputError
from cellward.exact import Bools, Floats, Ints
from cellward.instance import Instance
from cellward.publication.allowed import AllowedSet
from cellward.table.relations import Relations
from cellward.table.table import equation_name, equation_text

UNARY, FEW_CELLS = 16, 4000
"""Runs of at most so many steps are a column of 0 or 1 each, which a cut can single out, but in tables with more than so many free cells not
those of cells that follow unit by unit, nor any where a table is known to begin with."""


def allowed_multiples(instance: Instance, base: Ints, steps: int | Ints = 1) -> AllowedSet:
    """The multiples of every cell's base less than ``steps`` bases away, inside its bounds; fixed cells keep their value; lo > hi: none is left.

    Of a value known to be positive, the multiple below its bound is allowed too: a count of at least 1 may be published as 0.
    """
    a, fixed = instance.a, instance.sensitivity.fixed
    each = exact.one_number(base)
    reach = steps * each - 1
    lo, hi = a - reach, a + reach
    least = instance.lower
    if int(least.max(initial=0)) > 0:
        least = np.where(least > 0, least - least % each, least)
    np.negative(np.maximum(lo, least, out=lo), out=lo)
    np.minimum(hi, instance.upper, out=hi)
    for end, sign in ((lo, -1), (hi, 1)):
        end //= each
        end *= sign * each
    if not fixed.any():
        return AllowedSet(lo, hi, base)
    return AllowedSet(np.where(fixed, a, lo), np.where(fixed, a, hi), np.where(fixed, 0, base))


def followers(instance: Instance, base: Ints, allowed: AllowedSet, rounded: Bools, steps: int | Ints) -> AllowedSet:
    """The allowed values when only some cells are rounded: the others follow, one unit at a time, by less than ``steps`` bases."""
    follow = ~rounded & ~instance.sensitivity.fixed
    reach = steps * base - 1
    lo = np.where(follow, np.maximum(instance.a - reach, instance.lower), allowed.lo)
    hi = np.where(follow, np.minimum(instance.a + reach, instance.upper), allowed.hi)
    return AllowedSet(lo, hi, np.where(follow, 1, allowed.step))


def small_ones(instance: Instance, base: Ints, allowed: AllowedSet, where: str) -> AllowedSet:
    """The allowed values when counts below their base are never published as 0 (``up``), or always (``zero``)."""
    small = (instance.a > 0) & (instance.a < base) & (instance.lower >= 0) & (allowed.step == base)
    lo = np.where(small, np.maximum(allowed.lo, base), allowed.lo) if where == "up" else allowed.lo
    hi = np.where(small, 0, allowed.hi) if where == "zero" else allowed.hi
    return AllowedSet(lo, hi, allowed.step)


def small_alone(instance: Instance, base: Ints, steps: int | Ints) -> AllowedSet:
    """The allowed values when only counts below their base are rounded, to multiples of it: 0 stays, and the others follow, one unit at a time, by
    less than ``steps`` bases and not below the base."""
    a, fixed = instance.a, instance.sensitivity.fixed
    reach = steps * base - 1
    lo = np.where(a < base, 0, np.maximum(np.maximum(a - reach, base), instance.lower))
    hi = np.minimum(np.where(a == 0, 0, a + reach), instance.upper)
    hi = np.where(a < base, hi - hi % base, hi)
    step = np.where(a < base, base, 1)
    return AllowedSet(np.where(fixed, a, lo), np.where(fixed, a, hi), np.where(fixed, 0, step))


def check_grid(instance: Instance, step: Ints) -> None:
    """Refuse an equation whose right-hand side and fixed cells no sum of multiples can meet."""
    r, fixed = instance.relations, instance.sensitivity.fixed
    if not r.rhs.any() and not fixed.any():
        return  # nothing but multiples, which may all be 0
    moving = ~fixed[r.indices]
    common = gcds(r, np.where(moving, np.abs(r.coefs) * step[r.indices], 0))
    rest = -r.residual(np.where(fixed, instance.a, 0))
    off = np.flatnonzero((common > 0) & (rest % np.maximum(common, 1) != 0))
    if len(off):
        j = int(off[0])
        more = "" if len(off) == 1 else f" (and {len(off) - 1} more equations)"
        words = equation_text(r, instance.labels, j, instance.decimals)
        grid = exact.short(int(common[j]), instance.decimals)
        raise InputError(
            f"{equation_name(instance.labels, j)}{words}: its right-hand side and fixed cells leave what is not a multiple of {grid}, the grid of "
            f"its bases{more}; free a fixed cell of it or choose another base"
        )


def gcds(relations: Relations, entries: Ints) -> Ints:
    """Greatest common divisor of the entries of every equation (0 where all are 0)."""
    out = np.zeros(relations.equations, np.int64)
    filled = np.flatnonzero(np.diff(relations.indptr))
    if len(filled):
        out[filled] = np.gcd.reduceat(entries, relations.indptr[filled])
    return out


@dataclass(frozen=True, eq=False)
class Columns:
    """What is decided: 0 ≤ x ≤ ``top``, whole; one unit of x moves ``cell`` one step up and costs ``cost``. In the order of cells, cheap first."""

    cell: Ints
    top: Ints
    cost: Ints

    def __len__(self) -> int:
        return len(self.cell)


@dataclass(frozen=True, eq=False)
class LatticeModel:
    """What is to be decided: a value of ``allowed`` for each free cell such that all equations hold and Σ w·|v − target| is least.

    ``target`` is a unless another table is to be come near to.
    """

    instance: Instance
    allowed: AllowedSet
    target: Ints | None = None
    known: Ints | None = None
    """A table that is allowed, for engines that begin with one; they then care for few steps as well as for a small cost."""

    @cached_property
    def free(self) -> Bools:
        """Cells with a choice."""
        return self.allowed.free

    @cached_property
    def r(self) -> Ints:
        """The step of the free cells, 0 elsewhere."""
        return np.asarray(self.free * self.allowed.step)

    @cached_property
    def columns(self) -> Columns:
        """The runs of steps of the free cells."""
        cell = np.flatnonzero(self.free)
        many_cells = len(cell)
        if np.array_equal(self.allowed.hi - self.allowed.lo, self.r):
            return Columns(cell, np.ones(len(cell), np.int64), self._across[cell])
        lo, step, w = self.allowed.lo[cell], self.allowed.step[cell], self.instance.weight[cell]
        many = (self.allowed.hi[cell] - lo) // step
        t = (self.instance.a if self.target is None else self.target)[cell]
        below = np.clip((t - lo) // step, 0, many)
        across = (below < many) & (t > lo + below * step)
        down = lo + below * step
        cost = np.stack((-w * step, w * (np.abs(down + step - t) - np.abs(down - t)), w * step))
        top = np.stack((below, across, many - below - across))
        cell, top, cost = (x.T.ravel() for x in (np.broadcast_to(cell, top.shape), top, cost))
        large = many_cells > FEW_CELLS
        at_once = np.broadcast_to(large & ((step == 1) | (self.known is not None)), (3, many_cells)).T.ravel()
        single = top <= np.where(at_once, 1, UNARY)
        repeat = np.where(single, top, 1)
        cell, top, cost = (np.repeat(x, repeat) for x in (cell, np.where(single, 1, top), cost))
        return Columns(cell, top, cost)

    @cached_property
    def beyond(self) -> Bools:
        """Columns that lead away from the multiples next to the target, or back to them; none of cells that follow unit by unit."""
        columns = self.columns
        step, weight = self.r[columns.cell], self.instance.weight[columns.cell]
        return np.asarray((np.abs(columns.cost) == weight * step) & (weight > 0) & (step > 1))

    @property
    def _across(self) -> Ints:
        """What it costs to publish the uppermost value of a cell and not the lowest."""
        target = self.instance.a if self.target is None else self.target
        out, down = self.allowed.hi - target, self.allowed.lo - target
        np.abs(out, out=out)
        out -= np.abs(down, out=down)
        out *= self.instance.weight
        return out

    @cached_property
    def _step(self) -> int:
        """The step of all free cells where they have the same and every coefficient is ±1, else 0."""
        step = int(self.r.max(initial=0))
        same = self.instance.relations.largest == 1 and bool(np.all((self.r == step) | (self.r == 0)))
        return step if same else 0

    @cached_property
    def common(self) -> Ints:
        """For every equation the greatest common divisor of its free coefficients m·step."""
        relations = self.instance.relations
        if self._step:
            filled = np.flatnonzero(np.diff(relations.indptr))
            out = np.zeros(relations.equations, np.int64)
            out[filled] = np.logical_or.reduceat(self.free.take(relations.indices), relations.indptr[filled])
            return out * self._step
        return gcds(relations, np.abs(relations.coefs) * self.r[relations.indices])

    @cached_property
    def rest(self) -> Ints:
        """d = b − M·lo, before division."""
        return -self.instance.relations.residual(self.allowed.lo)

    @property
    def impossible(self) -> Ints:
        """Equations that no choice of x can meet, by divisibility alone."""
        return np.flatnonzero(np.where(self.common > 0, self.rest % np.maximum(self.common, 1), self.rest) != 0)

    @cached_property
    def one_step(self) -> bool:
        """Whether the free cells of every equation all have the same step, so that x itself obeys the equations' signs."""
        if self._step:
            return True
        relations = self.instance.relations
        r = self.r[relations.indices]
        return not np.any((r > 0) & ((r != self.common[relations.row]) | (np.abs(relations.coefs) != 1)))

    @property
    def between(self) -> bool:
        """Whether every free cell has the two allowed values around its true one."""
        a, free = self.instance.a[self.free], self.free
        lo, hi = self.allowed.lo[free], self.allowed.hi[free]
        return bool(np.all((hi - lo == self.allowed.step[free]) & (lo < a) & (a < hi)))

    @cached_property
    def nearest(self) -> Ints:
        """x of the cheapest choice cell by cell, additive or not."""
        return np.asarray((self.columns.cost < 0) * self.columns.top)

    def least(self, part: Ints | None = None) -> int:
        """The cost of the cheapest choice cell by cell, of some columns or of all: no table costs less."""
        cost = self.columns.cost * self.nearest
        return int((cost if part is None else cost[part]).sum())

    def proven(self, x: Ints, part: Ints | None = None, *, tellable: bool) -> tuple[int, int]:
        """The cost of a whole vertex on a union of blocks, and what it proves: itself, or the cheapest choices where costs cannot be told apart."""
        cost = self.columns.cost
        value = int(cost @ x if part is None else cost[part] @ x[part])
        return value, value if tellable else self.least(part)

    def narrowed(self, lo: Ints, hi: Ints) -> LatticeModel:
        """The same with narrower allowed sets (their ends are moved inwards to the next allowed value)."""
        old, step = self.allowed, np.maximum(self.allowed.step, 1)
        new_lo = np.where(old.step > 0, old.lo + -((old.lo - np.maximum(lo, old.lo)) // step) * step, old.lo)
        new_hi = np.where(old.step > 0, old.hi + (np.minimum(hi, old.hi) - old.hi) // step * step, old.hi)
        return replace(self, allowed=AllowedSet(new_lo, new_hi, old.step))

    @cached_property
    def around(self) -> LatticeModel:
        """The same with the allowed values next to the true ones only."""
        lo, hi, step = self.allowed.lo, self.allowed.hi, np.maximum(self.allowed.step, 1)
        off = self.instance.a - lo
        if np.any((off < 0) | (self.instance.a > hi)):
            return self  # they are next to something else
        narrow = self.narrowed(lo + off // step * step, lo - (-off // step) * step)
        same = np.array_equal(narrow.allowed.lo, lo) and np.array_equal(narrow.allowed.hi, hi)
        return self if same else narrow

    def least_by(self, multipliers: Floats | None) -> int:
        """A bound on what the columns of any table cost: by multipliers of the equations, cell by cell, or by the cheapest choices."""
        least = self.least()
        if multipliers is None:
            return least
        r, columns = self.instance.relations, self.columns
        price = np.bincount(r.indices, r.coefs * multipliers[r.row], minlength=r.cells) * self.r
        value = float(np.minimum(columns.cost - price[columns.cell], 0.0) @ columns.top) + float(
            multipliers @ self.rest
        )
        return max(least, math.floor(value - 1e-6 * max(1.0, abs(value))))

    def values(self, x: Ints) -> Ints:
        """v = lo + step·Σx."""
        cell, moved = self.columns.cell, np.zeros(self.instance.cells, np.int64)
        if len(cell) == np.count_nonzero(self.free):
            moved[cell] = x
        else:
            np.add.at(moved, cell, x)
        moved *= self.r
        moved += self.allowed.lo
        return moved

    def steps_of(self, v: Ints) -> Ints:
        """x of allowed values: the columns of each cell filled in order."""
        columns = self.columns
        moved = (v - self.allowed.lo) // np.maximum(self.r, 1)
        before = np.cumsum(columns.top) - columns.top
        first = np.searchsorted(columns.cell, columns.cell)
        return np.asarray(np.clip(moved[columns.cell] - (before - before[first]), 0, columns.top))

    @cached_property
    def start(self) -> int:
        """Σ w·|lo − target|: what the costs of the columns are counted from."""
        return self.objective(self.allowed.lo)

    def objective(self, v: Ints) -> int:
        """Σ w·|v − target| of any v within the allowed steps of a, exact: Σ w·steps·base stays below 2^62 (see method.py)."""
        target = self.instance.a if self.target is None else self.target
        return int(self.instance.weight @ np.abs(v - target))
