"""Publishing an adjustment: a table of few decimals, or on a grid, next to the continuous optimum, additive and with every level reached exactly."""

from __future__ import annotations

from collections.abc import Iterator
from dataclasses import dataclass, replace
from functools import cached_property
from typing import TYPE_CHECKING, Any

import numpy as np

from cellward.exact import Floats, Ints
from cellward.instance import Instance
from cellward.protect.adjustment.continuous import AdjustmentProblem
from cellward.protect.lattice.engines import solve
from cellward.protect.lattice.model import LatticeModel
from cellward.protect.lattice.problem import LatticeProblem
from cellward.publication.allowed import AllowedSet
from cellward.solve.budget import Budget
from cellward.table.leaf_sums import leaf_sums

if TYPE_CHECKING:
    from cellward.table.leaves import LeafForm


WIDENINGS = (0, 1, 4)
"""Steps of the grid beyond the two around the optimum that cells may take, tried in this order."""
NEAR = 1e-6
"""A value this near to the grid, in steps, is on it."""
LARGE = 200_000
"""Cells of an array from which its leaf form is not written out."""
MOST_TERMS = 1_000_000
"""Numbers in the leaves' matrix up to which rounded leaves are improved many at once."""
DESCENTS = 60
"""How often all leaves are tried, many at once."""
MOST_ALONE = 5_000
"""Leaves up to which they are improved one by one where each of them moves many cells: steps that pay alone then hardly ever pay together."""
DESCENTS_ALONE = 5
"""How often all leaves are tried, one by one."""
PAYS = 1e-12
"""A move pays when it makes the table cheaper by more than this share: less is the error of the floats it is told by."""
LARGEST_COST = 2**40
"""Costs of steps are whole numbers up to this."""


def snapped(
    fine: Instance, problem: AdjustmentProblem, z: Floats, allowed: AllowedSet, factor: int, budget: Budget
) -> Iterator[tuple[Ints, str]]:
    """Tables on the grid near z (in units of the table), by the rounding machinery: wider around it from one to the next; with the engine's name."""
    step = np.where(allowed.step > 0, allowed.step, 1)
    assert problem.grid is not None
    origin = fine.a - problem.grid.a
    x = problem.grid.a + z * factor
    at = np.rint(x / step)
    on = np.abs(x / step - at) <= NEAR
    floor = origin + np.where(on, at, np.floor(x / step)).astype(np.int64) * step
    ceiling = origin + np.where(on, at, np.ceil(x / step)).astype(np.int64) * step
    for more in WIDENINGS:
        down = np.clip(floor - more * step, allowed.lo, allowed.hi)
        up = np.clip(ceiling + more * step, allowed.lo, allowed.hi)
        model = _model(fine, problem, down, up, np.where(down < up, allowed.step, 0), factor)
        if len(model.impossible):
            continue
        found = solve(LatticeProblem(model), budget)
        if found.x is not None:
            yield model.values(found.x), f"{found.engine}{f', {more} steps wider' if more else ''}"
        if budget.over:
            return


def _model(fine: Instance, problem: AdjustmentProblem, down: Ints, up: Ints, step: Ints, factor: int) -> LatticeModel:
    """Each cell's cost between its ends, as a weight on the way from the cheaper one."""
    low, high = ((end - fine.a) / factor for end in (down, up))
    rise = problem.costs.costs(high) - problem.costs.costs(low)
    nearest = np.clip(fine.a, down, up)
    nearest = np.where(step > 0, down + np.rint((nearest - down) / np.maximum(step, 1)).astype(np.int64) * step, down)
    width = np.maximum(up - down, 1)
    two = up - down <= step
    slope = np.abs(np.where(two, rise, np.maximum(problem.costs.costs(low), problem.costs.costs(high)))) / width
    steepest = float(slope.max(initial=0.0))
    scale = LARGEST_COST / steepest if steepest > 0 else 0.0
    weight = np.rint(slope * scale).astype(np.int64)
    target = np.where(two, np.where(rise >= 0, down, up), nearest)
    return LatticeModel(replace(fine, weight=weight), AllowedSet(down, up, step), target)


@dataclass(frozen=True, eq=False)
class RoundedLeaves:
    """The moves of the cells that move through their leaves, in whole steps of what is published: whatever the leaves do, every sum holds."""

    fine: Instance
    problem: AdjustmentProblem
    form: LeafForm | None
    """None: an array, whose sums run along its axes."""
    still: Ints
    factor: int
    step: int

    @staticmethod
    def of(fine: Instance, problem: AdjustmentProblem, factor: int, step: int) -> RoundedLeaves | None:
        """None where leaves are not free, or values that move are not on the grid."""
        moving, r = problem.moving, problem.relations
        still = np.rint(np.where(problem.lo == problem.hi, problem.lo, 0.0) * factor).astype(np.int64)
        assert problem.grid is not None
        if np.any(problem.grid.a[moving] % step) or np.any(still % step):
            return None
        if r.array_shape is not None and r.cells > LARGE:
            return RoundedLeaves(fine, problem, None, still, factor, step)
        rest = r if len(moving) == r.cells else r.moves(moving, still if still.any() else None, implied=True)
        form = rest.leaf_form
        return None if form.condition.shape[0] else RoundedLeaves(fine, problem, form, still, factor, step)

    @cached_property
    def parts(self) -> Floats:
        """How many leaves each cell is a sum of."""
        if self.form is None:
            sums = leaf_sums(self.problem.relations)
            return sums.up(np.ones(len(sums.leaves)))
        out = np.zeros(self.problem.relations.cells)
        out[self.problem.moving] = np.asarray(np.abs(self.form.matrix).sum(axis=1)).ravel()
        return out

    def rounded(self, z: Floats) -> Ints:
        """The leaves of z rounded, every other cell as it follows."""
        moving, many = self.problem.moving, self.factor / self.step
        if self.form is None:
            sums = leaf_sums(self.problem.relations)
            return np.asarray(
                self.fine.a + np.rint(sums.up(np.rint(z[sums.leaves] * many))).astype(np.int64) * self.step
            )
        u = np.rint(z[moving[self.form.leaves]] * many).astype(np.int64) * self.step
        out: Ints = self.fine.a + self.still
        out[moving] = self.fine.a[moving] + np.asarray(self.form.matrix @ u) + self.form.constant
        return out

    def descended(self, v: Ints, allowed: AllowedSet, budget: Budget) -> Ints:
        """v made cheaper by steps of single leaves, as long as that pays."""
        if self.form is None:
            return v
        matrix = self.form.matrix.tocsc()
        coefs = np.unique(np.concatenate((matrix.data, -matrix.data)))
        if max(matrix.nnz, len(coefs) * len(v)) <= MOST_TERMS:
            return self._many_at_once(matrix, coefs, v, allowed, budget)
        return self._one_by_one(matrix, v, allowed, budget) if matrix.shape[1] <= MOST_ALONE else v

    def _one_by_one(self, matrix: Any, v: Ints, allowed: AllowedSet, budget: Budget) -> Ints:
        """Each leaf in turn, on the cells that it moves."""
        moving, costs, v = self.problem.moving, self.problem.costs, v.copy()
        for _ in range(DESCENTS_ALONE):
            gained = False
            for part in map(slice, matrix.indptr[:-1], matrix.indptr[1:]):
                cells, move = moving[matrix.indices[part]], matrix.data[part] * self.step
                own, a, lo, hi = costs.of_cells(cells), self.fine.a[cells], allowed.lo[cells], allowed.hi[cells]
                now = own.value((v[cells] - a) / self.factor)
                for then in (v[cells] + move, v[cells] - move):
                    inside = np.all((lo <= then) & (then <= hi))
                    if inside and own.value((then - a) / self.factor) < now * (1 - PAYS):
                        v[cells] = then
                        gained = True
                        break
                if budget.over:
                    return v
            if not gained:
                break
        return v

    def _many_at_once(self, matrix: Any, coefs: Ints, v: Ints, allowed: AllowedSet, budget: Budget) -> Ints:
        """All leaves are asked what one step up and one down would cost each on its own.

        Leaves share totals, so steps that pay alone need not pay together: the best of them are taken, half as many each time that all of them do
        not pay. One alone always does.
        """
        costs, leaves, moving = self.problem.costs, matrix.shape[1], self.problem.moving
        cell, leaf = moving[matrix.indices], np.repeat(np.arange(leaves), np.diff(matrix.indptr))
        place = np.searchsorted(coefs, matrix.data)  # and ~place is that of the other sign, counted from the end
        value, many = costs.value((v - self.fine.a) / self.factor), leaves
        for _ in range(DESCENTS):
            now = costs.costs((v - self.fine.a) / self.factor)
            dearer = np.empty((len(coefs), len(v)))
            for k, coef in enumerate(coefs.tolist()):
                then = v + coef * self.step
                dearer[k] = costs.costs((then - self.fine.a) / self.factor) - now
                dearer[k, (then < allowed.lo) | (then > allowed.hi)] = np.inf
            up, down = (-np.bincount(leaf, dearer[at, cell], leaves) for at in (place, ~place))
            gain, step = np.maximum(up, down), np.where(up >= down, self.step, -self.step)
            pays = np.flatnonzero(gain > PAYS * value)
            pays = pays[np.argsort(-gain[pays], kind="stable")]
            many = min(2 * many, len(pays))
            while many and not budget.over:
                chosen = np.zeros(leaves, np.int64)
                chosen[pays[:many]] = step[pays[:many]]
                then = v.copy()
                then[moving] += matrix @ chosen
                cheaper = costs.value((then - self.fine.a) / self.factor)
                if np.all((allowed.lo <= then) & (then <= allowed.hi)) and cheaper < value * (1 - PAYS):
                    v, value = then, cheaper
                    break
                many //= 2
            else:
                break
        return v


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
