"""Engines for adjustments: the form is the first of a list that accepts the problem; where senses do not go together, some are turned first.

What is taken by itself (AUTO) depends on structure and size; a form that is asked for by name (ASKED) is taken whatever the size, or says why not.
"""

from __future__ import annotations

from collections.abc import Sequence
from dataclasses import replace

import numpy as np

from cellward.protect.adjustment import turning
from cellward.protect.adjustment.cone import ByCones
from cellward.protect.adjustment.continuous import AdjustmentProblem, Continuous, Form
from cellward.protect.adjustment.equation import ByEquations
from cellward.protect.adjustment.leaf import ByLeaves
from cellward.protect.adjustment.needs import Room
from cellward.protect.adjustment.network import ByNetwork
from cellward.protect.adjustment.senses import Senses
from cellward.protect.adjustment.sums import BySums
from cellward.protect.engine import first_answer
from cellward.solve.budget import Budget

CURVED = ByCones(norms=("l2", "l1-2", "huber"))
AUTO: tuple[Form, ...] = (
    ByNetwork(fewest=1500),
    ByEquations(norms=("l1",), most=1500),
    BySums(whole=True, otherwise=ByLeaves()),
    ByLeaves(),
    ByEquations(),
    CURVED,
)
"""The first that accepts is taken."""
ASKED: tuple[Form, ...] = (ByLeaves(most=None), ByNetwork(), ByEquations(), ByCones(), BySums())
"""Those that can be asked for by name."""
SECOND_OPINIONS: tuple[Form, ...] = (ByEquations(), CURVED, ByLeaves())
"""Those that are asked before senses that seem to go together are said not to."""


def forms_of(name: str) -> tuple[Form, ...]:
    """The forms to choose from: one by its name, or ``auto``."""
    return AUTO if name == "auto" else tuple(form for form in ASKED if form.name == name)


def solve(problem: AdjustmentProblem, budget: Budget, forms: Sequence[Form] = AUTO) -> Continuous:
    """The continuous optimum in the first form that accepts the problem; raises InputError, with the reasons, where none does."""
    if problem.room is not None and len(problem.room.empty):
        return Continuous("infeasible", "equation", "bounds of single cells")
    return first_answer(problem, budget, forms)


def again(problem: AdjustmentProblem, budget: Budget, near: Continuous, forms: Sequence[Form] = AUTO) -> Continuous:
    """The optimum in the form of an answer to nearly the same problem."""
    for form in (*forms, *ASKED):
        if form.name == near.form and (found := form.solve(problem, budget)) is not None:
            return found
    return Continuous("unknown", near.form, near.engine)


def solve_with_senses(
    problem: AdjustmentProblem,
    senses: Senses,
    budget: Budget,
    forms: Sequence[Form] = AUTO,
    *,
    soft_levels: bool = False,
) -> tuple[Continuous, Senses, Room]:
    """The optimum for the senses, some turned or bent where they do not go together, as far as that is allowed; with the room it has.

    ``problem`` is the one without the levels.
    """
    free = problem.room
    assert free is not None
    room = senses.room(free)
    answer = solve(problem.within(room), budget, forms)
    if answer.status == "optimal" or budget.over:
        # That these senses do not go together says nothing of others, for which there is no time.
        return (answer if answer.status != "infeasible" else replace(answer, status="unknown")), senses, room
    senses = turning.turn_senses(problem, senses, budget)
    if len(senses.conflict) and np.any(senses.least > senses.asked):
        # what is drawn above the levels gives way before a sense is given up
        lowered = replace(senses.lowered(senses.asked), conflict=senses.conflict[:0])
        senses = turning.turn_senses(problem, lowered, budget)
    if len(senses.conflict):
        amount = turning.bending(problem, senses, budget) if soft_levels else None
        if amount is None:  # at the end of the time it says nothing of whether there is a table
            words = "linear program of bent levels"
            return Continuous("unknown" if budget.over else "infeasible", "equation", words), senses, room
        senses = senses.bending(amount)
    room = senses.room(free)
    inside = problem.within(room)
    found = solve(inside, budget, forms)
    if found.status != "optimal" and not budget.over and not len(room.empty):
        found = second_opinion(inside, budget, found)
    if found.status == "infeasible" and budget.over:  # there was no time to hear the others, or to turn more
        found = replace(found, status="unknown")
    return found, senses, room


def second_opinion(
    problem: AdjustmentProblem, budget: Budget, first: Continuous, forms: Sequence[Form] = SECOND_OPINIONS
) -> Continuous:
    """Where senses seem to go together and yet no optimum was found: what other forms say; infeasible only where none has an optimum."""
    found = [first]
    for form in forms:
        if form.name == first.form or form.accepts(problem) is not None:
            continue
        if (answer := form.solve(problem, budget)) is not None:
            found.append(answer)
        if found[-1].status == "optimal" or budget.over:
            break
    best = [answer for answer in found if answer.status == "optimal"]
    claims = [answer for answer in found if answer.status == "infeasible"]
    points = [answer for answer in found if answer.z is not None]
    return (best or claims or points or found)[0]
