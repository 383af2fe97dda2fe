"""Attacker problems as linear programs: pushes of many ends at once, the rest one by one; integer programs where values are whole and it matters.

A solver only proposes. A point counts once it is a table of the region in exact arithmetic, a bound once multipliers prove it in exact arithmetic:
for any λ, every table has z_p ≤ λ·d + Σ_i max over lo ≤ z_i ≤ hi of (c_i − (Aᵀλ)_i)·z_i, where A·z = d are the equations in z = y − center.
"""

from __future__ import annotations

from collections.abc import Iterator
from concurrent.futures import Executor
from dataclasses import dataclass, replace
from fractions import Fraction
from functools import cached_property
from math import lcm

import numpy as np

from cellward.audit.ends import HIGH, LOW, Ends
from cellward.audit.region import Region
from cellward.errors import InputError, SolverError
from cellward.exact import NO_BOUND, Bools, Floats, Ints
from cellward.solve.ask import ask
from cellward.solve.budget import Budget
from cellward.solve.highs import solve_mip
from cellward.solve.model import LinearModel
from cellward.solve.outcome import Outcome
from cellward.solve.warm_lp import WarmLp
from cellward.table.relations import Relations

DENOMINATORS = (1, 2, 3, 4, 6, 12, 60, 840, 27720, 2**20)
"""Denominators tried for points and multipliers before a denominator is read off the number itself."""

LARGEST_DENOMINATOR = 10**6
NEAR = 1e-6
PUSHES = 12
"""Most pushes before the ends are taken one by one."""

PUSH_SECONDS = 20
"""Most seconds of a push among whole tables: what it finds by then will do."""

FARTHEST = 2**60
GAP = 0.05
"""A push of whole tables may stop this near to its bound: any table will do."""


@dataclass(frozen=True, eq=False)
class AttackerModel:
    """The region in z = y − center over the cells that can move; exact integers beside the floats the solver sees."""

    region: Region
    lo: Ints
    hi: Ints
    endless: tuple[Bools, Bools]
    """Cells without a low or a high bound: the solver gets one far away, which proves nothing."""
    far: int

    @staticmethod
    def of(ends: Ends) -> AttackerModel:
        """The region with the bounds known so far."""
        center = ends.region.center
        finite = np.where(np.abs(ends.outer) == NO_BOUND, 0, np.abs(ends.outer))
        far = min(1000 * (int(np.abs(center).max(initial=0)) + int(finite.max(initial=0)) + 1), FARTHEST)
        endless = (ends.outer[LOW] == -NO_BOUND, ends.outer[HIGH] == NO_BOUND)
        outer = np.where(np.abs(ends.outer) == NO_BOUND, 0, ends.outer) - center
        return AttackerModel(
            ends.region,
            np.where(endless[LOW], -far, outer[LOW]),
            np.where(endless[HIGH], far, outer[HIGH]),
            endless,
            far,
        )

    @cached_property
    def free(self) -> Ints:
        """The cells that can move."""
        return np.flatnonzero(self.lo < self.hi)

    @cached_property
    def rows(self) -> Relations:
        """A·z = d over the free cells, in their own numbering; equations implied by others left out."""
        return self.region.relations.moves(self.free, np.where(self.lo < self.hi, 0, self.lo))

    def linear(self, cost: Floats | None = None, *, whole: bool = False) -> LinearModel:
        """What the solver sees (a minimisation)."""
        rows = self.rows
        return LinearModel(
            cost=np.zeros(len(self.free)) if cost is None else cost,
            lower=self.lo[self.free].astype(float),
            upper=self.hi[self.free].astype(float),
            indptr=rows.indptr,
            indices=rows.indices,
            coefs=rows.coefs.astype(float),
            row_lower=rows.rhs.astype(float),
            row_upper=rows.rhs.astype(float),
            integer=np.ones(len(self.free), bool) if whole else None,
        )

    def shifts(self, x: Floats) -> Iterator[tuple[Ints, int]]:
        """Exact tables near a solver's point, as (shift of all cells, denominator): its leaves are snapped, the rest follows from them."""
        z = np.where(self.lo < self.hi, 0, self.lo).astype(float)
        z[self.free] = x
        leaves = z[self.region.form.leaves]
        tried = set()
        for denominator in (*DENOMINATORS[:8], _common(leaves)):
            if not denominator or denominator in tried or (self.region.whole and denominator > 1):
                continue
            tried.add(denominator)
            snapped = np.rint(leaves * denominator)
            if float(np.abs(snapped - leaves * denominator).max(initial=0.0)) < NEAR * denominator:
                yield self.region.shift_of(snapped.astype(np.int64)), denominator

    @cached_property
    def cone(self) -> AttackerModel:
        """The directions in which one can go on for ever: they keep the equations at 0 and stay off every bound there is."""
        r, (no_low, no_high) = self.region.relations, self.endless
        still = np.zeros(r.cells, np.int64)
        around = Relations(r.cells, r.indptr, r.indices, r.coefs, np.zeros_like(r.rhs))
        directions = Region(around, -no_low.astype(np.int64), no_high.astype(np.int64), whole=False, center=still)
        return AttackerModel.of(Ends(directions))

    def goes_on(self, i: int, sign: int) -> bool:
        """Whether a direction is found, exactly, in which sign·z_i grows for ever."""
        cone = self.cone
        if i not in cone.free:
            return False
        cost = np.where(cone.free == i, float(sign), 0.0)
        outcome = ask(WarmLp(cone.linear()).maximise, cost, columns=len(cost))
        return outcome.x is not None and any(
            sign * int(shift[i]) > 0 and cone.region.contains_shift(shift, denominator)
            for shift, denominator in cone.shifts(outcome.x)
        )

    def bound(self, i: int, sign: int, multipliers: Floats | None) -> Fraction | None:
        """The best exact bound on max sign·z_i that multipliers near these prove."""
        if multipliers is None:
            return None
        found = [self._evaluate(i, sign, multipliers, d) for d in (*DENOMINATORS, _common(multipliers)) if d]
        return min((bound for bound in found if bound is not None), default=None)

    def _evaluate(self, i: int, sign: int, multipliers: Floats, denominator: int) -> Fraction | None:
        scaled = np.rint(multipliers * denominator)
        if float(np.abs(scaled).max(initial=0.0)) >= 2**40:
            return None
        rows, whole = self.rows, scaled.astype(np.int64)
        terms = (rows.coefs * whole[rows.row]).astype(float)
        if (
            float(np.bincount(rows.indices, np.abs(terms), minlength=1).max()) >= 2**52
        ):  # doubles add whole numbers exactly below
            return None
        reduced = -np.bincount(rows.indices, terms, minlength=len(self.free)).astype(np.int64)
        reduced[np.searchsorted(self.free, i)] += sign * denominator
        moved = np.flatnonzero(reduced)
        cell, upwards = self.free[moved], reduced[moved] > 0
        if np.any(np.where(upwards, self.endless[HIGH][cell], self.endless[LOW][cell])):
            return None
        best = np.where(upwards, self.hi[cell], self.lo[cell])
        used = np.flatnonzero(whole)
        return Fraction(_dot(whole[used], rows.rhs[used]) + _dot(reduced[moved], best), denominator)


def see_the_only_one(ends: Ends) -> None:
    """Where every cell is determined there is one table at most, and nothing to ask a solver."""
    low, high = ends.outer
    if ends.start is None and np.array_equal(low, high):
        if not ends.region.contains(low):
            raise _contradiction()
        ends.see(low)


def push(ends: Ends, rng: np.random.Generator, budget: Budget) -> None:
    """Linear programs (integer ones where values are whole and vertices are not) that drive all open ends outwards at once."""
    if not any(map(np.any, ends.open)):
        return
    model = AttackerModel.of(ends)
    lp = WarmLp(model.linear())
    for _ in range(PUSHES):
        open_before = _count(ends)
        if not open_before or budget.over:
            return
        cost = ends.directions(rng)[model.free] * rng.uniform(0.9, 1.1, len(model.free))
        outcome = ask(lp.maximise, cost, columns=len(cost), rows=model.rows.equations, budget=budget)
        _refuse_empty(ends, outcome)
        if outcome.x is None:
            return
        taken = any(ends.see_shift(*shift) for shift in model.shifts(outcome.x))
        if not taken and ends.region.whole:
            _push_whole(ends, model, cost, budget)
        if _count(ends) > 0.9 * open_before:
            return


def _push_whole(ends: Ends, model: AttackerModel, cost: Floats, budget: Budget) -> None:
    """The same push among whole tables only."""
    start = None if ends.start is None else (ends.start - ends.region.center)[model.free].astype(float)
    size = float(np.abs(cost) @ (model.hi - model.lo)[model.free])
    part = budget.part(PUSH_SECONDS, threads=1)
    question = model.linear(-cost, whole=True)
    outcome = ask(solve_mip, question, columns=len(cost), start=start, absolute_gap=GAP * size, budget=part)
    _refuse_empty(ends, outcome)
    if outcome.x is not None:
        _see(ends, model, outcome.x)


def _see(ends: Ends, model: AttackerModel, x: Floats) -> bool:
    return any(ends.see_shift(*shift) for shift in model.shifts(x))


def one_by_one(ends: Ends, budget: Budget, executor: Executor | None = None) -> None:
    """Two linear programs for each end that is still open, each from the last one's basis; parts of the list run side by side."""
    low, high = ends.open
    todo = [(int(i), LOW) for i in np.flatnonzero(low)] + [(int(i), HIGH) for i in np.flatnonzero(high)]
    if not todo:
        return
    model = AttackerModel.of(ends)
    model.rows  # noqa: B018 (made once, before the parts share it)
    share = [todo[k :: budget.threads] for k in range(budget.threads)] if executor is not None else [todo]

    def run(part: list[tuple[int, int]]) -> None:
        lp = WarmLp(model.linear())
        for i, side in part:
            if budget.over:
                return
            if ends.open[side][i]:
                _settle(ends, model, lp, i, side, budget)

    if executor is None:
        run(todo)
    else:
        for done in [executor.submit(run, part) for part in share]:
            done.result()


def _settle(ends: Ends, model: AttackerModel, lp: WarmLp, i: int, side: int, budget: Budget) -> None:
    """One end: the linear program's bound, a table that meets it, or the integer program's word."""
    sign = 1 if side == HIGH else -1
    at = int(np.searchsorted(model.free, i))
    if at == len(model.free) or int(model.free[at]) != i:
        return  # determined: any table that is found shows it
    cost = np.zeros(len(model.free))
    cost[at] = sign
    outcome = ask(lp.maximise, cost, columns=len(cost), rows=model.rows.equations, budget=budget)
    _refuse_empty(ends, outcome)
    if outcome.x is None:
        return
    center = int(ends.region.center[i])
    if (
        model.endless[side][i]
        and outcome.objective > model.far / 4
        and ends.start is not None
        and model.goes_on(i, sign)
    ):
        ends.endless.add((i, side))
        return
    bound = model.bound(i, sign, outcome.row_duals)
    if bound is not None:
        ends.bound(i, side, center + sign * bound)
    for shift, denominator in model.shifts(outcome.x):
        if ends.see_shift(shift, denominator):
            if bound is not None and Fraction(int(shift[i]), denominator) == sign * bound and bound.denominator > 1:
                ends.fraction[i, side] = center + sign * bound
            break
    if not ends.open[side][i]:
        return
    if ends.region.whole:
        _settle_whole(ends, model, cost, i, side, budget)
    elif ends.levels is not None:
        _show_whole(ends, model, i, side, budget)


def _show_whole(ends: Ends, model: AttackerModel, i: int, side: int, budget: Budget) -> None:
    """A whole table that reaches the level: a vertex with too many different fractions is not brought to exact numbers."""
    goal = float(ends.goal[side][i] - ends.region.center[i])
    question = model.linear(whole=True)
    lower, upper = question.lower.copy(), question.upper.copy()
    at = int(np.searchsorted(model.free, i))
    if not lower[at] <= goal <= upper[at]:
        return
    (upper, lower)[side][at] = goal
    question = replace(question, lower=lower, upper=upper)
    part = budget.part(PUSH_SECONDS, threads=1)
    outcome = ask(solve_mip, question, columns=len(lower), budget=part)
    if outcome.x is not None:
        _see(ends, model, outcome.x)


def _settle_whole(ends: Ends, model: AttackerModel, cost: Floats, i: int, side: int, budget: Budget) -> None:
    """The end among whole tables, by branch and bound."""
    start = None if ends.start is None else (ends.start - ends.region.center)[model.free].astype(float)
    question = model.linear(-cost, whole=True)
    alone = budget.part(threads=1)
    outcome = ask(solve_mip, question, columns=len(cost), start=start, absolute_gap=1 - 1e-3, budget=alone)
    _refuse_empty(ends, outcome)
    if outcome.x is None or not _see(ends, model, outcome.x) or outcome.status != "optimal" or model.endless[side][i]:
        return
    if ends.open[side][i]:
        ends.claimed.add((i, side))


def _refuse_empty(ends: Ends, outcome: Outcome) -> None:
    if outcome.status == "infeasible" and ends.start is not None:
        raise SolverError(
            f"{outcome.solver} finds no table where one is known, in an attacker's problem; nothing is released"
        )
    if outcome.status == "infeasible":
        raise _contradiction()


def _contradiction() -> InputError:
    return InputError(
        "the release and what the attacker knows contradict each other: no table satisfies both; correct the attacker"
    )


def _count(ends: Ends) -> int:
    low, high = ends.open
    return int(low.sum() + high.sum())


def _common(numbers: Floats) -> int:
    """A common denominator of numbers that are nearly rational, or 0."""
    odd = numbers[np.abs(numbers - np.rint(numbers)) > NEAR]
    found = 1
    for number in np.unique(np.round(odd, 9)).tolist()[:2000]:
        found = lcm(found, Fraction(number).limit_denominator(1000).denominator)
        if found > LARGEST_DENOMINATOR:
            return 0
    return found


def _dot(x: Ints, y: Ints) -> int:
    """Σ x·y, exactly."""
    if float(np.abs(x.astype(float)) @ np.abs(y.astype(float))) < 2**62:
        return int(x @ y)
    return sum(p * q for p, q in zip(x.tolist(), y.tolist(), strict=True))
