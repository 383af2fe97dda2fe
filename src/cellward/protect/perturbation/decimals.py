"""Decimals: a table next to a continuous optimum whose values have few decimals and still add up; found by one more linear program.

An optimum sits on its bounds and cuts, and its values need not have an end of decimals. A little away from all of these there is room: the values of
the leaves can be rounded, and every other cell follows through its definition, in whole numbers. *Leaves* are those of the equations that are left
once the cells that must not move are put in. A cell that is a sum of n leaves is off by √n times a rounding error or so, so that much room is kept
first, and n/2 times where that was not enough.
"""

from __future__ import annotations

from collections.abc import Sequence
from dataclasses import replace

import numpy as np

from cellward.exact import Floats, Ints
from cellward.instance import Instance
from cellward.protect.lattice.capacity import Cut
from cellward.protect.perturbation.master import Costs, MasterForm, equation_form
from cellward.solve.ask import ask
from cellward.solve.budget import Budget
from cellward.solve.highs import solve_lp
from cellward.solve.model import LinearModel
from cellward.table.relations import Relations


def near(
    instance: Instance,
    lo: Ints,
    hi: Ints,
    costs: Costs,
    cuts: Sequence[Cut],
    factor: int,
    budget: Budget,
) -> Ints | None:
    """The least table with some room to its bounds and cuts, exact, in units of 1/``factor``; cells with lo = hi stay. None: there is no room."""
    moving = np.flatnonzero(lo < hi)
    rest = instance.relations.moves(moving, still=(lo - instance.a) * factor)
    form = rest.leaf_form
    if form.condition.shape[0]:
        return None
    parts = np.asarray(np.abs(form.matrix).sum(axis=1)).ravel()
    for room in (np.minimum(parts / 2, 4 * np.sqrt(parts)), parts / 2):
        if budget.over:
            return None
        margin = np.zeros(instance.cells)
        margin[moving] = (room + 1) / factor  # and the solver's own error
        v = _inside(instance, lo, hi, costs, cuts, margin, budget)
        if v is None:
            return None
        out = _rounded(instance, v, moving, rest, factor, lo)
        if _fits(out, lo, hi, cuts, factor):
            return out
    return None


def _inside(
    instance: Instance,
    lo: Ints,
    hi: Ints,
    costs: Costs,
    cuts: Sequence[Cut],
    margin: Floats,
    budget: Budget,
) -> Floats | None:
    """The optimum with a margin to all bounds and cuts."""
    form = equation_form(instance, lo, hi, costs)
    model = _with_margin(form, margin)
    if cuts:
        rows, least = form.rows(cuts)
        least = least + np.array([float(np.abs(cut.coef) @ margin[cut.at]) for cut in cuts])
        model = replace(
            model,
            indptr=np.concatenate((model.indptr, model.indptr[-1] + rows.indptr[1:])).astype(np.int64),
            indices=np.concatenate((model.indices, rows.indices)).astype(np.int64),
            coefs=np.concatenate((model.coefs, rows.data)),
            row_lower=np.concatenate((model.row_lower, least)),
            row_upper=np.concatenate((model.row_upper, np.full(len(cuts), np.inf))),
        )
    outcome = ask(
        solve_lp, model, columns=model.columns, rows=model.rows, budget=budget.part(threads=1), stoppable=True
    )
    return form.values(outcome.x) if outcome.status == "optimal" and outcome.x is not None else None


def _with_margin(form: MasterForm, margin: Floats) -> LinearModel:
    """The model of the equation form with its cells kept off their bounds."""
    model = form.model
    if model.columns == len(margin):
        free = model.upper > model.lower
        return replace(
            model,
            lower=np.where(free, model.lower + margin, model.lower),
            upper=np.where(free, model.upper - margin, model.upper),
        )
    twice = np.concatenate((margin, margin))  # up, and down
    free = model.upper > model.lower
    return replace(model, upper=np.where(free, np.maximum(model.upper - twice, model.lower), model.upper))


def _rounded(instance: Instance, v: Floats, moving: Ints, rest: Relations, factor: int, lo: Ints) -> Ints:
    """The leaves rounded, everything else as it follows."""
    form = rest.leaf_form
    out = lo * factor
    leaf = moving[form.leaves]
    u = np.rint((v[leaf] - instance.a[leaf]) * factor).astype(np.int64)
    out[moving] = instance.a[moving] * factor + np.asarray(form.matrix @ u) + form.constant
    return out


def _fits(v: Ints, lo: Ints, hi: Ints, cuts: Sequence[Cut], factor: int) -> bool:
    inside = bool(np.all((lo * factor <= v) & (v <= hi * factor)))
    return inside and all(int((cut.coef * v[cut.at]).sum()) >= cut.least * factor for cut in cuts)
