"""Publishing an adjustment: a table of few decimals, or on a grid, next to the continuous optimum, additive and with every level reached exactly."""

from __future__ import annotations

from collections.abc import Iterator
from dataclasses import replace

import numpy as np
from numpy.typing import NDArray

from cellward.allowed import AllowedSet
from cellward.instance import Instance
from cellward.protect.adjustment.continuous import Problem
from cellward.protect.method import Clock, Limits
from cellward.protect.rounding import engines
from cellward.protect.rounding.model import RoundingModel

Ints = NDArray[np.int64]
Floats = NDArray[np.float64]

WIDENINGS = (0, 1, 4)
"""Steps of the grid beyond the two around the optimum that cells may take, tried in this order."""
NEAR = 1e-6
"""A value this near to the grid, in steps, is on it."""
LARGEST_COST = 2**40
"""Costs of steps are whole numbers up to this."""


def snapped(
    fine: Instance, problem: Problem, z: Floats, allowed: AllowedSet, factor: int, limits: Limits, clock: Clock
) -> Iterator[tuple[Ints, str]]:
    """Tables on the grid near z (in units of the table), by the rounding machinery: wider around it from one to the next; with the engine's name."""
    step = np.where(allowed.step > 0, allowed.step, 1)
    x = fine.a + z * factor
    at = np.rint(x / step)
    on = np.abs(x / step - at) <= NEAR
    floor = np.where(on, at, np.floor(x / step)).astype(np.int64) * step
    ceiling = np.where(on, at, np.ceil(x / step)).astype(np.int64) * step
    for more in WIDENINGS:
        down = np.clip(floor - more * step, allowed.lo, allowed.hi)
        up = np.clip(ceiling + more * step, allowed.lo, allowed.hi)
        model = _model(fine, problem, down, up, np.where(down < up, allowed.step, 0), factor)
        if len(model.impossible):
            continue
        found = engines.solve(model, limits, clock)
        if found.x is not None:
            yield model.values(found.x), f"{found.engine}{f', {more} steps wider' if more else ''}"
        if clock.over:
            return


def _model(fine: Instance, problem: Problem, down: Ints, up: Ints, step: Ints, factor: int) -> RoundingModel:
    """Each cell's cost between its ends, as a weight on the way from the cheaper one."""
    low, high = ((end - fine.a) / factor for end in (down, up))
    rise = problem.costs.costs(high) - problem.costs.costs(low)
    nearest = np.clip(fine.a, down, up)
    nearest = np.where(step > 0, down + np.rint((nearest - down) / np.maximum(step, 1)).astype(np.int64) * step, down)
    width = np.maximum(up - down, 1)
    two = up - down <= step
    slope = np.abs(np.where(two, rise, np.maximum(problem.costs.costs(low), problem.costs.costs(high)))) / width
    scale = LARGEST_COST / max(float(slope.max(initial=0.0)), 1e-300)
    weight = np.rint(slope * scale).astype(np.int64)
    target = np.where(two, np.where(rise >= 0, down, up), nearest)
    return RoundingModel(replace(fine, weight=weight), AllowedSet(down, up, step), target)


def in_decimals(fine: Instance, problem: Problem, z: Floats, factor: int) -> Ints | None:
    """The leaves of z rounded to the finest unit, every other cell as it follows; cells that stay, stay. None: the leaves are not free."""
    moving = problem.moving
    still = np.rint(np.where(problem.lo == problem.hi, problem.lo, 0.0) * factor).astype(np.int64)
    rest = problem.relations.moves(moving, still if still.any() else None, implied=True)
    form = rest.leaf_form
    if form.condition.shape[0]:
        return None
    u = np.rint(z[moving[form.leaves]] * factor).astype(np.int64)
    out: Ints = fine.a + still
    out[moving] = fine.a[moving] + np.asarray(form.matrix @ u) + form.constant
    return out


def plain(fine: Instance, z: Floats, factor: int, most: int, near: float) -> Ints | None:
    """z itself where it has few decimals: in units of the ``fine`` instance; None where it has not."""
    for places in range(most + 1):
        unit = 10**places
        if factor % unit:
            break
        whole = np.rint(z * unit)
        if np.abs(z * unit - whole).max(initial=0.0) <= near:
            return np.asarray(fine.a + whole.astype(np.int64) * (factor // unit))
    return None
