"""The zero-restricted rounding model in unit steps: v = lo + r·x, x ∈ {0, 1} on the free cells, exact integers throughout.

Legend (paper 000, section 3): a nominal value, base β, ⌊a⌋ and ⌈a⌉ the multiples of β around a, lo and hi what is left of the two inside the cell's
public bounds, r = hi − lo. Equation j becomes Σ m·r·x = d with d = b − M·lo, divided by the greatest common divisor of its coefficients.
"""

from __future__ import annotations

from dataclasses import dataclass
from functools import cached_property

import numpy as np
from numpy.typing import NDArray

from cellward import exact
from cellward.allowed import AllowedSet
from cellward.errors import InputError
from cellward.instance import Instance
from cellward.table.relations import Relations
from cellward.table.table import equation_text

Ints = NDArray[np.int64]


def allowed_multiples(instance: Instance, base: Ints) -> AllowedSet:
    """⌊a⌋ and ⌈a⌉ of every cell, as far as they lie inside its bounds; fixed cells keep their value; lo > hi where nothing is left."""
    a, fixed = instance.a, instance.sensitivity.fixed
    down = a - a % base
    up = np.where(down == a, a, down + base)
    lo = np.where(down >= instance.lower, down, up)
    hi = np.where(up <= instance.upper, up, down)
    step = np.where(fixed, 0, base)
    return AllowedSet(np.where(fixed, a, lo), np.where(fixed, a, hi), step)


def check_grid(instance: Instance, base: Ints) -> None:
    """Refuse an equation whose right-hand side and fixed cells no sum of multiples can meet."""
    r, fixed = instance.relations, instance.sensitivity.fixed
    moving = ~fixed[r.indices]
    step = np.where(moving, np.abs(r.coefs) * base[r.indices], 0)
    common = gcds(r, step)
    rest = -r.residual(np.where(fixed, instance.a, 0))
    off = np.flatnonzero((common > 0) & (rest % np.maximum(common, 1) != 0))
    if len(off):
        j = int(off[0])
        more = "" if len(off) == 1 else f" (and {len(off) - 1} more equations)"
        words = equation_text(r, instance.labels, j, instance.decimals)
        shown, grid = exact.short(int(rest[j]), instance.decimals), exact.short(int(common[j]), instance.decimals)
        raise InputError(
            f"equation {j}, {words}: its right-hand side and fixed cells leave {shown}, which is not a multiple of {grid}, the grid of its "
            f"bases{more}; free a fixed cell of it or choose another base"
        )


def gcds(relations: Relations, entries: Ints) -> Ints:
    """Greatest common divisor of the entries of every equation (0 where all are 0)."""
    out = np.zeros(relations.equations, np.int64)
    filled = np.flatnonzero(np.diff(relations.indptr))
    if len(filled):
        out[filled] = np.gcd.reduceat(entries, relations.indptr[filled])
    return out


@dataclass(frozen=True, eq=False)
class RoundingModel:
    """What is to be decided: x ∈ {0, 1} for each cell in ``free``; ``cost`` is what x = 1 adds to Σ w·|v − a| over x = 0."""

    instance: Instance
    allowed: AllowedSet

    @cached_property
    def free(self) -> NDArray[np.bool_]:
        """Cells with a choice."""
        return self.allowed.free

    @cached_property
    def r(self) -> Ints:
        """hi − lo."""
        return self.allowed.hi - self.allowed.lo

    @cached_property
    def cost(self) -> Ints:
        """w·(|hi − a| − |lo − a|)."""
        a = self.instance.a
        return np.asarray(self.instance.weight * (np.abs(self.allowed.hi - a) - np.abs(self.allowed.lo - a)))

    @cached_property
    def common(self) -> Ints:
        """For every equation the greatest common divisor of its free coefficients m·r."""
        relations = self.instance.relations
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
        """Whether the free cells of every equation all have the same r, so that x itself obeys the equations' signs."""
        relations = self.instance.relations
        r = self.r[relations.indices]
        return not np.any((r > 0) & ((r != self.common[relations.row]) | (np.abs(relations.coefs) != 1)))

    @property
    def nearest(self) -> NDArray[np.bool_]:
        """x of the cheapest choice cell by cell, additive or not."""
        return np.asarray(self.cost < 0)

    def values(self, x: NDArray[np.bool_]) -> Ints:
        """v = lo + r·x."""
        return np.asarray(np.where(x, self.allowed.hi, self.allowed.lo))

    def objective(self, v: Ints) -> int:
        """Σ w·|v − a| of any v within a base of a, exact: Σ w·base stays below 2^62 (see method.py)."""
        return int(self.instance.weight @ np.abs(v - self.instance.a))
