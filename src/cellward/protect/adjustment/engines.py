"""Engines for adjustments: the form is the first of a list that accepts the problem; where senses do not go together, some are turned first.

What is taken by itself (AUTO) depends on structure and size; a form that is asked for by name (ASKED) is taken whatever the size, or says why not.
"""

from __future__ import annotations

from collections.abc import Sequence
from dataclasses import dataclass, replace
from typing import TYPE_CHECKING, Literal

import numpy as np

from cellward.exact import Bools
from cellward.protect.adjustment import turning
from cellward.protect.adjustment.caps import Caps
from cellward.protect.adjustment.cone import ByCones
from cellward.protect.adjustment.continuous import AdjustmentProblem, Continuous, Form
from cellward.protect.adjustment.equation import ByEquations
from cellward.protect.adjustment.leaf import ByLeaves
from cellward.protect.adjustment.needs import Room
from cellward.protect.adjustment.network import ByNetwork
from cellward.protect.adjustment.senses import Senses
from cellward.protect.adjustment.sums import BySums
from cellward.protect.adjustment.turning import Turned
from cellward.protect.engine import first_answer
from cellward.solve.budget import Budget

if TYPE_CHECKING:
    from cellward.protect.adjustment.choice.choose import Chosen

CURVED = ByCones(norms=("l2", "l1-2", "huber"))
AUTO: tuple[Form, ...] = (
    ByNetwork(fewest=1500),
    ByEquations(norms=("l1",), most=1500),
    ByEquations(norms=("l1",), most=200_000, loose=True),
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


DIRECT = 300_000
"""Cells from which the optimum is looked for before it is known whether senses go together."""


@dataclass(frozen=True, eq=False)
class Sensed:
    """The optimum for the senses, some turned or bent where they do not go together, as far as that is allowed; with the room it has.

    ``turned``: how senses were found that go together, or that none were; None: those given do. ``chosen``: what is known of all others, where these
    were chosen for their distance.
    """

    answer: Continuous
    senses: Senses
    room: Room
    turned: Turned | None = None
    chosen: Chosen | None = None


def solve_with_senses(
    problem: AdjustmentProblem,
    senses: Senses,
    budget: Budget,
    forms: Sequence[Form] = AUTO,
    *,
    soft_levels: bool = False,
    caps: Caps | None = None,
) -> Sensed:
    """The optimum for the senses as far as they go together; ``problem`` is the one without the levels.

    ``caps``: how far cells should move at most; headlines that cannot stay then move as little as they can, before all others.
    """
    free = problem.room
    assert free is not None
    room = senses.room(free)
    if problem.relations.cells >= DIRECT or _by_flow(problem.within(room), forms):
        answer = solve(problem.within(room), budget, forms)
        if answer.status == "optimal" or budget.over:
            return Sensed(answer, senses, room)
    turned = turning.turn_senses(problem, senses, budget, caps)
    senses = turned.senses
    if not turned.found:
        amount = turning.bending(problem, senses, budget) if soft_levels else None
        if amount is None:
            status: Literal["infeasible", "unknown"] = "infeasible" if turned.tree else "unknown"
            return Sensed(Continuous(status, "equation", "conflicts of senses"), senses, room, turned)
        senses = senses.bending(amount)
    room = senses.room(turned.room)
    if caps is not None and turned.found and (less := _nearer(problem.within(room), caps.wished, budget)) is not None:
        found = solve(problem.within(less), budget, forms)
        if found.status == "optimal":
            return Sensed(found, senses, less, turned)
    inside = problem.within(room)
    found = solve(inside, budget, forms)
    if found.status != "optimal" and not budget.over and not len(room.empty):
        found = second_opinion(inside, budget, found)
    return Sensed(found, senses, room, turned)


def _nearer(problem: AdjustmentProblem, near: Bools, budget: Budget) -> Room | None:
    """The room in which some cells move by no more than they have to: the least Σ w·|z| of these alone, up to a step of the grid."""
    room, grid, d = problem.room, problem.grid, problem.distance
    assert room is not None and grid is not None
    if not np.any(near & (room.lo < room.hi)):
        return None
    weight = np.where(near, np.maximum(d.weight, 1), 0)
    found = ByEquations().solve(replace(problem, distance=replace(d, norm="l1", weight=weight)), budget)
    if found.z is None:
        return None
    most = (np.ceil(np.abs(found.z) * grid.factor / grid.step - 1e-6).astype(np.int64) + 1) * grid.step
    most = np.where(np.abs(found.z) * grid.factor < 1e-6, 0, most)
    return Room(np.where(near, np.maximum(room.lo, -most), room.lo), np.where(near, np.minimum(room.hi, most), room.hi))


def _by_flow(problem: AdjustmentProblem, forms: Sequence[Form]) -> bool:
    """Whether a flow tells at once."""
    first = next((form for form in forms if form.accepts(problem) is None), None)
    return first is not None and first.name == "network"


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
