"""Congruence: what divisibility alone says of all tables: that there is none, or that their costs differ by multiples of a unit.

The unit. Moving cell i up by one step costs J_i, its jump; where a cell has several, they must agree modulo the unit. If (Mᵀμ)_i·step_i ≡ J_i
modulo g on every free cell, then Σ w·|v − a| − (Mᵀμ)·v is the same modulo g for all tables, and so is the cost, as (Mᵀμ)·v = μ·b. To find μ, let
every definition take over the jump of the cell that it defines, from the last to the first; what is left sits on the leaves, and its common divisor
is the unit. A margin repeats its leaves: with all margins of a table and an odd base the unit is at least 2 (rounding/model.md, leaf costs). A cell
without a choice may be given any jump; w a unit of v keeps the pattern.
"""

from __future__ import annotations

import itertools
import math
from dataclasses import dataclass

import numpy as np

from cellward.audit.lagrangian import SAFE, Part, Whole, largest
from cellward.exact import Ints
from cellward.instance import Instance
from cellward.table.relations import Relations, ranges

LARGEST_COMMON = 10**6


@dataclass(frozen=True, eq=False)
class Unit:
    """All tables cost the same modulo ``size``, as the multipliers on these equations show."""

    size: int
    equations: Ints
    multipliers: Whole


def plain(size: int) -> Unit:
    """A unit that needs no multipliers."""
    return Unit(size, np.zeros(0, np.int64), np.zeros(0, np.int64))


def find_unit(instance: Instance, part: Part) -> Unit:
    """The largest unit found: that of the definitions, or the common divisor of all jumps."""
    w, step = part.weight, part.step
    first, second, most = part.bends
    across = w * (np.abs(part.lo + second * step) - np.abs(part.lo + first * step))
    falls, crosses, rises = first > 0, first < second, second < most
    h = _gcd((w * step)[falls | rises], across[crosses])
    if h == 0 or step.dtype == object:
        return plain(max(h, 1))
    jump = np.where(crosses, across, np.where(rises, w * step, -w * step))
    within = _gcd(
        (2 * w * step)[falls & rises], (w * step + across)[falls & crosses], (w * step - across)[crosses & rises]
    )
    # Everything is divided by h, steps by t; with R the common multiple of the steps, jumps are counted per R units of v.
    t = math.gcd(h, _gcd(step))
    steps = step // t
    R = math.lcm(*np.unique(steps).tolist())
    if R > LARGEST_COMMON or (largest(instance.weight) * t + largest(jump)) * R >= SAFE:
        return plain(h)
    jumps = instance.weight * (R * t) // h
    jumps[part.cells] = jump // h * (R // steps)
    taken = _take_over(instance.relations, jumps)
    if taken is None:
        return plain(h)
    left = jumps[part.cells]
    if largest(left) * largest(steps) >= SAFE:
        return plain(h)
    g = math.gcd(_gcd(left * steps), within // h)
    while g and (shared := math.gcd(g, R)) > 1:  # R must have an inverse modulo g
        g //= shared
    if g <= 1:
        return plain(h)
    whole = taken.astype(object) if g >= 2**31 else taken
    mu = whole % g * pow(R, -1, g) % g
    mu = np.where(2 * mu > g, mu - g, mu) * (h // t)
    used = np.flatnonzero(mu)
    return Unit(g * h, used, mu[used])


def _take_over(r: Relations, jumps: Ints) -> Ints | None:
    """Multipliers on the definitions that leave no jump on a defined cell; changes ``jumps`` to what is left. None when numbers grow too large."""
    definition, level = r.structure.definition, r.structure.level
    order = np.argsort(level, kind="stable")
    bounds = np.searchsorted(level[order], np.arange(1, int(level.max(initial=0)) + 2))
    out = np.zeros(r.equations, np.int64)
    steepest = largest(r.coefs) * int(np.diff(r.by_cell[0]).max(initial=0))
    size = largest(jumps)
    for low, high in reversed(list(itertools.pairwise(bounds.tolist()))):
        cells = order[low:high]
        equations = definition[cells]
        pick = ranges(r.indptr[equations], r.indptr[equations + 1])
        length = r.indptr[equations + 1] - r.indptr[equations]
        sign = r.coefs[pick][r.indices[pick] == np.repeat(cells, length)]
        taken = sign * jumps[cells]
        size += steepest * largest(taken)
        if size >= SAFE:
            return None
        out[equations] = taken
        np.subtract.at(jumps, r.indices[pick], r.coefs[pick] * np.repeat(taken, length))
    return out


def find_misfit(part: Part) -> tuple[int, int] | None:
    """(equation, modulus): the coefficients of its free cells, counted in steps, are multiples of the modulus, and what they must sum to is not."""
    off = np.flatnonzero(part.rest % part.common)
    return (int(part.equations[off[0]]), int(part.common[off[0]])) if len(off) else None


def _gcd(*groups: Whole) -> int:
    return math.gcd(*(int(np.gcd.reduce(group)) for group in groups if len(group)))
