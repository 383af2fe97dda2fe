"""Engines for adjustments: the form is chosen by structure and size; where senses do not go together, some are turned first."""

from __future__ import annotations

import math
from dataclasses import replace
from typing import TYPE_CHECKING

import numpy as np

from cellward.errors import InputError
from cellward.protect.adjustment import equation, leaf, turning
from cellward.protect.adjustment.continuous import Check, Continuous, Form, Problem, checked
from cellward.protect.adjustment.draws import Room
from cellward.protect.adjustment.flow import least_flow
from cellward.protect.adjustment.senses import Senses

if TYPE_CHECKING:
    from cellward.protect.adjustment.attempt import AdjustmentAttempt


FEW = 1500
"""Cells up to which L1 goes to the simplex, which ends in a vertex: many deviations are then 0 and most are round."""
FLOW_FROM = 1500
"""Cells from which networks go to the flow solver's process; below, HiGHS answers before that process would have started."""
LARGE, FINE, ROUGH = 200_000, 1e-9, 1e-7
"""Least squares are asked for to this accuracy, less of it from so many cells on."""
GAP = 1e-6


def solve(attempt: AdjustmentAttempt, problem: Problem, near: Continuous | None = None) -> Continuous:
    """The continuous optimum in the form asked for, or the one that suits; ``near``: the answer to nearly the same problem."""
    form = _form(attempt, problem) if near is None else near.form
    norm = problem.distance.norm
    if form == "leaf":
        if norm == "huber":
            raise InputError("form='leaf' does not go with norm='huber'; use 'cone' or 'auto'")
        return leaf.solve(problem, attempt.budget.left)
    if form == "equation":
        if norm not in ("l1", "linf"):
            raise InputError(f"form='equation' does not go with norm={norm!r}; use 'leaf', 'cone' or 'auto'")
        return equation.solve(problem, attempt.budget)
    if form == "cone":
        if norm == "linf":
            raise InputError("form='cone' does not go with norm='linf'; use 'leaf', 'equation' or 'auto'")
        return _cone(attempt, problem)
    if form == "sums":
        if norm != "l2":
            raise InputError(f"form='sums' does not go with norm={norm!r}; use 'leaf' or 'auto'")
        found = _sums(attempt, problem)
        if found.status == "optimal" or attempt.method.form != "auto" or not _few(problem):
            return found
        return leaf.solve(problem, attempt.budget.left)
    raise InputError(f"form={form!r} does not go with this table and norm={norm!r}; use 'auto'")


def _form(attempt: AdjustmentAttempt, problem: Problem) -> Form:
    norm, asked = problem.distance.norm, attempt.method.form
    if asked != "auto":
        return asked  # type: ignore[return-value]
    if norm == "huber" or not problem.whole_still:
        return "cone" if norm in ("huber", "l2", "l1-2") else "equation"
    if norm == "l1" and problem.relations.cells <= FEW:
        return "equation"
    if norm == "l2" and _defined(problem):
        return "sums"
    if _few(problem):
        return "leaf"
    return "equation" if norm in ("l1", "linf") else "cone"


def _defined(problem: Problem) -> bool:
    """Whether every equation defines a cell, as the form of sums needs it."""
    r = problem.relations
    return r.array_shape is not None or not r.leaf_form.condition.shape[0]


def _few(problem: Problem) -> bool:
    """Whether the leaf form is small enough."""
    if problem.relations.array_shape is not None and math.prod(problem.relations.array_shape) > leaf.MOST:
        return False
    return bool(problem.compact.matrix.shape[1] <= leaf.MOST)


def _cone(attempt: AdjustmentAttempt, problem: Problem) -> Continuous:
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
        time_limit_s=attempt.budget.left,
        threads=attempt.budget.threads,
    )
    if answer.x is None or answer.status == "infeasible":
        return Continuous("infeasible" if answer.status == "infeasible" else "unknown", "cone", answer.solver)
    return checked(problem, "cone", answer.solver, answer.x, answer.row_duals, GAP)


def solve_with_senses(attempt: AdjustmentAttempt, senses: Senses, free: Room) -> tuple[Continuous, Senses, Room]:
    """The optimum for the senses, some turned or bent where they do not go together, as far as that is allowed."""
    room = senses.room(free)
    answer = _within(attempt, room)
    if answer.status == "optimal" or attempt.budget.over:
        return answer, senses, room
    senses = turning.turn_senses(attempt, senses, free)
    if len(senses.conflict) and np.any(
        senses.least > senses.asked
    ):  # what is drawn above the levels gives way before a sense is given up
        senses = turning.turn_senses(attempt, replace(senses.lowered(senses.asked), conflict=senses.conflict[:0]), free)
    if len(senses.conflict):
        amount = turning.bending(attempt, senses, free) if attempt.method.soft_levels else None
        if amount is None:
            return Continuous("infeasible", "equation", "linear program of bent levels"), senses, room
        senses = senses.bending(amount)
    room = senses.room(free)
    again = _within(attempt, room)
    if again.status != "optimal" and not attempt.budget.over and not len(room.empty):
        again = _second_opinion(attempt, attempt.problem(room.lo, room.hi), again)
    return again, senses, room


def _second_opinion(attempt: AdjustmentAttempt, problem: Problem, first: Continuous) -> Continuous:
    """Where senses seem to go together and yet no optimum was found: what other forms say; infeasible only where none has an optimum."""
    linear, few = problem.distance.norm in ("l1", "linf"), problem.distance.norm != "huber" and _few(problem)
    forms = ["equation" if linear else "cone", *(["leaf"] if few and problem.whole_still else [])]
    found = [first]
    for form in forms:
        if form == "leaf":
            found.append(leaf.solve(problem, attempt.budget.left))
        else:
            found.append(equation.solve(problem, attempt.budget) if linear else _cone(attempt, problem))
        if found[-1].status == "optimal" or attempt.budget.over:
            break
    best = [answer for answer in found if answer.status == "optimal"]
    claims = [answer for answer in found if answer.status == "infeasible"]
    points = [answer for answer in found if answer.z is not None]
    return (best or claims or points or found)[0]


def _within(attempt: AdjustmentAttempt, room: Room) -> Continuous:
    if len(room.empty):
        return Continuous("infeasible", "equation", "bounds of single cells")
    found = _flow(attempt, room)
    return solve(attempt, attempt.problem(room.lo, room.hi)) if found is None else found


def _flow(attempt: AdjustmentAttempt, room: Room) -> Continuous | None:
    """Least L1 in a network, in steps of the grid, where all values that may move are on it; None: not asked for, or not such a table."""
    asked = attempt.method.form
    if attempt.distance.norm != "l1" or asked not in ("auto", "network"):
        return None
    if asked == "auto" and attempt.instance.cells < FLOW_FROM:
        return None
    step, a, moves = attempt.step, attempt.fine.a, room.lo < room.hi
    still = room.lo[~moves]
    if np.any(a[moves] % step) or np.any(still % step):
        return None
    lo, hi = -(-room.lo // step), room.hi // step
    answer = least_flow(attempt.relations, lo, hi, attempt.distance.weight, attempt.budget.left)
    if answer is None:
        return None
    if answer.z is None or answer.cost is None or answer.multipliers is None:
        return Continuous(answer.status, "network", answer.engine)
    units = 10.0 ** (attempt.fine.decimals + attempt.distance.weight_decimals)
    cost = answer.cost * step / units
    return Continuous(
        "optimal",
        "network",
        answer.engine,
        answer.z * step / attempt.factor,
        cost,
        cost,
        answer.multipliers / 10.0 ** (attempt.instance.decimals + attempt.distance.weight_decimals),
        Check(0.0, 0.0, 0.0),
        answer.z * step,
    )


def _sums(attempt: AdjustmentAttempt, problem: Problem) -> Continuous:
    """Least squares by prices on the equations, without a matrix where the table is an array."""
    from cellward.solve.least_squares import least_squares
    from cellward.table.leaf_sums import leaf_sums

    accuracy = FINE if problem.relations.cells < LARGE else ROUGH
    found = least_squares(
        leaf_sums(problem.relations),
        problem.costs.square,
        problem.lo,
        problem.hi,
        accuracy=accuracy,
        time_limit_s=attempt.budget.left,
    )
    words = f"{found.solver} ({found.newton_steps} Newton steps, {found.steps} of conjugate gradients)"
    check = Check(0.0, found.residual, max(found.gap, found.stationarity, found.complementarity))
    right = found.status == "optimal" or (check.gap <= GAP and check.violation <= GAP)
    return Continuous(
        "optimal" if right else "unknown", "sums", words, found.x, found.objective, found.bound, None, check
    )
