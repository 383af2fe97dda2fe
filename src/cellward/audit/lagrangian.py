"""Lagrangian: what multipliers on the equations prove of every table, in exact integers, and how a solver's floats become such multipliers.

Legend: v = t + d, with t = a unless another origin is given; S the allowed d of a cell: lo, lo + step, …, hi; λ = n/q multipliers on the equations,
c = Mᵀ·λ. A table adds up, M·v = b = M·a, so M·d = need over the free cells: M·(a − t), less M·d of the cells with a single allowed value. For any λ

    Σ w·|d|  =  λ·need + Σ (w·|d| − c·d)  ≥  L(λ) = λ·need + Σ min over d ∈ S of (w·|d| − c·d),

and the same sum without the costs, when positive, proves that there is no table (Farkas).
"""

from __future__ import annotations

import math
from collections.abc import Iterator
from dataclasses import dataclass, replace
from fractions import Fraction
from functools import cached_property
from typing import Any, NamedTuple

import numpy as np
from numpy.typing import NDArray

from cellward.exact import Floats, Ints
from cellward.instance import Instance
from cellward.objective import Aim
from cellward.publication.allowed import AllowedSet
from cellward.table.relations import ranges

Whole = NDArray[Any]
"""int64 where nothing can overflow, Python integers in an object array otherwise."""

SAFE = 2**62
MOST = 1e38
"""Numerators stay below: a certificate's numbers have at most 40 digits."""
LARGEST_GRAIN = 10**6
"""Denominators larger than this are not taken over from the steps."""
FINENESS = (0, 1, 2, 3, 4, 6, 8, 12, 16, 20, 24, 28, 32, 40, 48, 56)
"""The powers of two by which multipliers are made finer, in turn: most often a solver's duals are small fractions, and few digits do."""


class Multipliers(NamedTuple):
    """λ = numerator / denominator on a part's equations, and the number that it proves: L, or the Farkas sum."""

    numerator: Whole
    denominator: int
    value: Fraction


class Box(NamedTuple):
    """What branching leaves of the allowed sets of a part: the least and the largest d of every cell."""

    lo: Whole
    hi: Whole


def total(x: Whole) -> int:
    """The sum as a Python integer; int64 is added in two halves, neither of which can overflow."""
    if x.dtype == object:
        return int(x.sum()) if len(x) else 0
    return (int((x >> 31).sum()) << 31) + int((x & (2**31 - 1)).sum())


def largest(x: Whole) -> int:
    """The largest absolute value."""
    return max(abs(int(x.max())), abs(int(x.min()))) if len(x) else 0


def runs(x: Whole, ptr: Ints) -> Whole:
    """Sums of x[ptr[k]:ptr[k + 1]]."""
    out = np.zeros(len(ptr) - 1, x.dtype)
    filled = np.flatnonzero(np.diff(ptr))
    if len(filled):
        out[filled] = np.add.reduceat(x, ptr[filled])
    return out


@dataclass(frozen=True, eq=False)
class Part:
    """Free cells with their equations, by cell: cell k owns the entries ``ptr[k]:ptr[k + 1]`` of ``row`` and ``coef``; rows count within the part."""

    cells: Ints
    equations: Ints
    ptr: Ints
    row: Ints
    coef: Whole
    need: Whole
    weight: Whole
    lo: Whole
    hi: Whole
    step: Whole
    below: Whole
    above: Whole
    """The last allowed d ≤ 0 and the first ≥ 0, or the nearer end where there is none: of a cell with a gap its two ends."""

    @staticmethod
    def of(instance: Instance, allowed: AllowedSet, aim: Aim | None = None) -> Part:
        """All cells with a choice, and the equations that hold one; an ``aim`` has weights and an origin of its own."""
        r = instance.relations
        origin, weight = (instance.a, instance.weight) if aim is None else (aim.target, aim.weight)
        lo, step = allowed.lo - origin, allowed.step
        hi = lo + (allowed.hi - allowed.lo) // np.maximum(step, 1) * step
        free = lo < hi
        away = instance.a - origin
        reach = np.maximum(np.maximum(np.abs(lo), np.abs(hi)), np.abs(away)).astype(float)
        sums = np.bincount(r.row, np.abs(r.coefs) * reach[r.indices], minlength=1)
        small = float(sums.max()) < SAFE / 2 and float(reach @ weight.astype(float)) < SAFE / 2
        kind: Any = np.int64 if small else object
        each = np.maximum(step, 1)
        below, above = (np.clip(x, lo, hi) for x in (lo + -lo // each * each, lo - (lo // each) * each))
        if (gaps := allowed.gaps) is not None:
            below[gaps.cell], above[gaps.cell] = gaps.below - origin[gaps.cell], gaps.above - origin[gaps.cell]
        ptr, entry = r.by_cell
        return Part(
            cells=np.arange(r.cells),
            equations=np.arange(r.equations),
            ptr=ptr,
            row=r.row[entry],
            coef=r.coefs[entry].astype(kind),
            need=runs(r.coefs.astype(kind) * np.where(free, away, away - lo)[r.indices], r.indptr),
            weight=weight.astype(kind),
            lo=lo.astype(kind),
            hi=hi.astype(kind),
            step=step.astype(kind),
            below=below.astype(kind),
            above=above.astype(kind),
        ).take(free)

    def take(self, some: NDArray[np.bool_]) -> Part:
        """A union of blocks, given by its cells."""
        k = np.flatnonzero(some)
        pick = ranges(self.ptr[k], self.ptr[k + 1])
        row = self.row[pick]
        used = np.zeros(len(self.need), bool)
        used[row] = True
        return Part(
            cells=self.cells[k],
            equations=self.equations[used],
            ptr=np.concatenate(([0], np.cumsum(self.ptr[k + 1] - self.ptr[k]))).astype(np.int64),
            row=(np.cumsum(used) - 1)[row],
            coef=self.coef[pick],
            need=self.need[used],
            weight=self.weight[k],
            lo=self.lo[k],
            hi=self.hi[k],
            step=self.step[k],
            below=self.below[k],
            above=self.above[k],
        )

    @cached_property
    def bends(self) -> tuple[Ints, Ints, Ints]:
        """Steps above lo of every cell's ``below``, its ``above``, and hi: between these the cost is linear."""
        first, second, most = ((x - self.lo) // self.step for x in (self.below, self.above, self.hi))
        return first.astype(np.int64), second.astype(np.int64), most.astype(np.int64)

    @cached_property
    def rest(self) -> Whole:
        """What every equation still needs when all cells are at lo."""
        out = self.need.copy()
        np.subtract.at(out, self.row, self.coef * np.repeat(self.lo, np.diff(self.ptr)))
        return out

    def without(self, equations: Ints) -> Part:
        """The same cells without these equations, which the others imply."""
        keep = ~np.isin(self.equations, equations)
        entry = keep[self.row]
        lengths = runs(entry.astype(np.int64), self.ptr)
        return replace(
            self,
            equations=self.equations[keep],
            ptr=np.concatenate(([0], np.cumsum(lengths))).astype(np.int64),
            row=(np.cumsum(keep) - 1)[self.row[entry]],
            coef=self.coef[entry],
            need=self.need[keep],
        )

    # ---- exact evaluation ------------------------------------------------------------------------------------------------------------------

    def least(self, n: Whole, scale: int, box: Box | None = None) -> int:
        """n·need + Σ min over d of (scale·w·|d| − (Mᵀn)·d): q·L(n/q) for scale q, the Farkas sum of n for scale 0."""
        part, n = (self, n) if self._fits(n, scale) else (self._in_python, n.astype(object))
        return total(n * part.need) + total(part.cell_minima(n, scale, box))

    def slack(self, n: Whole, scale: int, d: Whole) -> Floats:
        """By how much scale·w·|d| − (Mᵀn)·d exceeds its minimum in every cell: summed over a block, what L(n/scale) misses of the cost of d."""
        part, n = (self, n) if self._fits(n, scale) else (self._in_python, n.astype(object))
        own = scale * part.weight * np.abs(d) - part.slopes(n) * d
        return np.asarray((own - part.cell_minima(n, scale)) / scale, np.float64)

    def slopes(self, n: Whole) -> Whole:
        """Mᵀ·n on the cells."""
        return runs(self.coef * n[self.row], self.ptr)

    def cell_minima(self, n: Whole, scale: int, box: Box | None = None) -> Whole:
        """Of every cell the least scale·w·|d| − (Mᵀn)·d. The function is convex with its only bend at 0: an end, or a neighbour of 0 or of a gap
        around it, attains it. A box lies on one side of a gap, or reaches over it."""
        c, cost = self.slopes(n), scale * self.weight
        lo, hi = (self.lo, self.hi) if box is None else box
        points = (lo, hi, *(np.clip(near, lo, hi) for near in (self.below, self.above)))
        values = [cost * np.abs(d) - c * d for d in points]
        return np.asarray(np.minimum(np.minimum(values[0], values[1]), np.minimum(values[2], values[3])))

    def _fits(self, n: Whole, scale: int) -> bool:
        """Whether evaluation stays within int64."""
        entries, reach, cost, need = self._sizes
        size = largest(n)
        return n.dtype != object and size * max(entries * reach, need) + scale * cost < SAFE

    @cached_property
    def _sizes(self) -> tuple[int, int, int, int]:
        reach = np.maximum(np.abs(self.lo), np.abs(self.hi))
        by_cell = runs(np.abs(self.coef), self.ptr)
        return largest(by_cell), largest(reach), largest(self.weight * reach), largest(self.need)

    @cached_property
    def _in_python(self) -> Part:
        whole = {
            name: getattr(self, name).astype(object)
            for name in ("coef", "need", "weight", "lo", "hi", "step", "below", "above")
        }
        return replace(self, **whole)

    # ---- from floats -----------------------------------------------------------------------------------------------------------------------

    def safe_dual(self, multipliers: Floats, above: Fraction | None, box: Box | None = None) -> Multipliers:
        """The roundest λ near the given one with L(λ) > above; where there is none (or above is None) the one with the largest L."""
        best: Multipliers | None = None
        for n, q in self._rounded(multipliers, 4.0):
            value = Fraction(self.least(n, q, box), q)
            if best is None or value > best.value:
                best = Multipliers(n, q, value)
            if above is not None and value > above:
                break
        assert best is not None
        return best

    def safe_ray(self, multipliers: Floats, box: Box | None = None) -> Multipliers | None:
        """The roundest λ in the given direction that proves that there is no table, or None."""
        for n, q in self._rounded(multipliers / max(float(np.abs(multipliers).max(initial=0.0)), 1e-300), 2.0**30):
            value = Fraction(self.least(n, 0, box), q)
            if value > 0:
                return Multipliers(n, q, value)
        return None

    def _rounded(self, multipliers: Floats, fineness: float) -> Iterator[tuple[Whole, int]]:
        """Numerators and denominators ever finer, until what rounding can cost, at most Σ |λ error|·|need − M·d|, is below 1/fineness."""
        reach = np.maximum(np.abs(self.lo), np.abs(self.hi)).astype(float)
        sums = np.bincount(self.row, np.abs(self.coef).astype(float) * np.repeat(reach, np.diff(self.ptr)), minlength=1)
        worst = float(sums.sum() + np.abs(self.need).astype(float).sum())
        for power in FINENESS:
            q = self.grain * 2**power
            x = np.rint(multipliers * float(q))
            if power and float(np.abs(x).max(initial=0.0)) > MOST:
                return
            if float(np.abs(x).max(initial=0.0)) < SAFE:
                yield x.astype(np.int64), q
            else:
                yield np.array([int(y) for y in x.tolist()], object), q
            if worst * fineness < q:
                return

    @cached_property
    def common(self) -> Whole:
        """For every equation the greatest common divisor of its coefficients counted in steps."""
        order = np.argsort(self.row, kind="stable")
        entries = np.abs(self.coef * np.repeat(self.step, np.diff(self.ptr)))[order]
        starts = np.searchsorted(self.row[order], np.arange(len(self.equations)))
        return np.gcd.reduceat(entries, starts) if len(starts) else entries

    @cached_property
    def grain(self) -> int:
        """The denominator in which whole duals of the equations, counted in steps, are whole."""
        grain = math.lcm(*map(int, np.unique(self.common)))
        return grain if grain <= LARGEST_GRAIN else 1
