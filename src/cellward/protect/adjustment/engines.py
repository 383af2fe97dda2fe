"""Engines for adjustments: the form is chosen by structure and size, and senses that do not go together are turned, few of them.

Turning is guided by a linear program that bends levels as little as possible: the cells whose levels bend are those in the way of the others.
"""

from __future__ import annotations

from dataclasses import replace
from typing import TYPE_CHECKING

import numpy as np
from numpy.typing import NDArray

from cellward.errors import InputError
from cellward.protect.adjustment import equation, leaf
from cellward.protect.adjustment.continuous import Continuous, Form, Problem, checked
from cellward.protect.adjustment.levels import Room
from cellward.protect.adjustment.senses import Senses

if TYPE_CHECKING:
    from cellward.protect.adjustment.attempt import Attempt

Ints = NDArray[np.int64]

FEW = 1500
"""Cells up to which L1 goes to the simplex, which ends in a vertex: many deviations are then 0 and most are round."""
MOST_TURNS = 40
GAP = 1e-6


def solve(attempt: Attempt, problem: Problem, near: Continuous | None = None) -> Continuous:
    """The continuous optimum in the form asked for, or the one that suits; ``near``: the answer to nearly the same problem."""
    form = _form(attempt, problem) if near is None else near.form
    norm = problem.distance.norm
    if form == "leaf":
        if norm == "huber":
            raise InputError("form='leaf' does not go with norm='huber'; use 'cone' or 'auto'")
        return leaf.solve(problem, attempt.clock.left)
    if form == "equation":
        if norm not in ("l1", "linf"):
            raise InputError(f"form='equation' does not go with norm={norm!r}; use 'leaf', 'cone' or 'auto'")
        return equation.solve(problem, attempt.limits, attempt.clock)
    if form == "cone":
        if norm == "linf":
            raise InputError("form='cone' does not go with norm='linf'; use 'leaf', 'equation' or 'auto'")
        return _cone(attempt, problem)
    raise InputError(f"form={form!r} does not go with this table and norm={norm!r}; use 'auto'")


def _form(attempt: Attempt, problem: Problem) -> Form:
    norm, asked = problem.distance.norm, attempt.options.form
    if asked != "auto":
        return asked  # type: ignore[return-value]
    if norm == "huber" or not problem.whole_still:
        return "cone" if norm in ("huber", "l2", "l1-2") else "equation"
    if norm == "l1" and problem.relations.cells <= FEW:
        return "equation"
    if problem.compact.matrix.shape[1] <= leaf.MOST:
        return "leaf"
    return "equation" if norm in ("l1", "linf") else "cone"


def _cone(attempt: Attempt, problem: Problem) -> Continuous:
    from scipy.sparse import csr_matrix

    from cellward.solve.cones import solve_cones

    r, costs = problem.relations, problem.costs
    matrix = csr_matrix((r.coefs.astype(float), r.indices, r.indptr), shape=(r.equations, r.cells))
    answer = solve_cones(
        matrix,
        np.zeros(r.equations),
        problem.lo,
        problem.hi,
        absolute=costs.absolute,
        square=costs.square,
        huber=costs.huber,
        delta=costs.delta,
        time_limit_s=attempt.clock.left,
        threads=attempt.limits.threads,
    )
    if answer.z is None or answer.status == "infeasible":
        return Continuous("infeasible" if answer.status == "infeasible" else "unknown", "cone", answer.solver)
    return checked(problem, "cone", answer.solver, answer.z, answer.multipliers, GAP)


def solve_with_flips(attempt: Attempt, senses: Senses, free: Room) -> tuple[Continuous, Senses, Room]:
    """The optimum for the senses, turned or bent where they do not go together as far as that is allowed."""
    for turn in range(MOST_TURNS):
        room = senses.room(free)
        if not len(room.empty):
            answer = solve(attempt, attempt.problem(room.lo, room.hi))
            if answer.status == "optimal" or attempt.clock.over:
                return answer, senses, room
            if answer.status == "unknown" and answer.check is not None and answer.check.violation <= 1e-6:
                return answer, senses, room
        bending = _bending(attempt, senses, free)
        if bending is None or not bending.any():
            if bending is None:  # not even bent levels help
                return Continuous("infeasible", "equation", "linear program of bent levels"), senses, room
            fallback = equation.solve(attempt.problem(room.lo, room.hi), attempt.limits, attempt.clock)
            return fallback, senses, room
        senses = replace(senses, conflict=senses.cell[bending > 0])
        turn_these = (bending > 0) & senses.turnable
        if turn_these.any() and turn < MOST_TURNS - 1:
            if turn:  # all at once first, then the worst alone: two that are in each other's way need not both turn
                worst = np.where(turn_these, bending / np.maximum(senses.least, 1), 0.0).argmax()
                turn_these = np.zeros(len(bending), bool)
                turn_these[worst] = True
            senses = senses.turned(turn_these)
            continue
        if attempt.options.soft_levels:
            senses = senses.bending(bending)
            room = senses.room(free)
            return solve(attempt, attempt.problem(room.lo, room.hi)), senses, room
        return Continuous("infeasible", "equation", "linear program of bent levels"), senses, room
    return Continuous("unknown", "equation", "senses that do not go together"), senses, room


def _bending(attempt: Attempt, senses: Senses, free: Room) -> Ints | None:
    """By how much each level must give way at least, in units of what is published; None where that does not help."""
    factor = attempt.factor
    found = equation.least_bending(
        attempt.problem(free.lo, free.hi),
        senses.cell,
        senses.sense,
        senses.least / factor,
        np.maximum(senses.least / factor, 1e-9),
        attempt.limits,
        attempt.clock,
    )
    if found.amount is None:
        return None
    return np.ceil(found.amount * factor - 1e-6).astype(np.int64)
