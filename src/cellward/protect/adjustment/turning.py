"""Turning senses that do not go together: as few as a feasibility pump finds, before the levels themselves would have to bend.

Drawn senses need not fit the sums: of two cells that add up to a third, not all three can move as they like. In turn we look for the moves of the
table that come nearest to what the senses ask (a linear program), turn the cells that these moves send the other way, lower drawn levels towards the
protection levels where that is what is missing, and let the cells that fall short count more in the next round.
"""

from __future__ import annotations

from dataclasses import replace

import numpy as np

from cellward.exact import Ints
from cellward.protect.adjustment.continuous import AdjustmentProblem, PublishedGrid
from cellward.protect.adjustment.equation import least_bending
from cellward.protect.adjustment.leaf import MOST, Nearest
from cellward.protect.adjustment.senses import Senses
from cellward.solve.budget import Budget

MOST_ROUNDS = 60
SHORT = 1e-4
"""A cell that falls short by less than this share of its level does not fall short; the optimum will tell."""
MORE = 2.0
"""How much more a cell counts after each round in which it fell short."""
MOST_TURNS = 2
"""How often one cell is turned."""
PATIENCE = 4
"""Rounds in which a cell may fall short on its own side before it is turned."""


def alike(near: Nearest, senses: Senses) -> Senses:
    """Senses in which cells that always move alike are of one mind: that of the first of them, where it is free to choose. Not counted as turned."""
    wish = senses.sense * near.sign
    first: dict[int, int] = {}
    for k in np.argsort(senses.turnable, kind="stable").tolist():  # those that cannot turn speak first
        if near.of[k] >= 0:
            first.setdefault(int(near.of[k]), int(wish[k]))
    turn = np.array([first.get(int(c), w) != w for c, w in zip(near.of.tolist(), wish.tolist(), strict=True)], bool)
    return replace(senses, sense=np.where(turn & senses.turnable, -senses.sense, senses.sense))


def turn_senses(problem: AdjustmentProblem, senses: Senses, budget: Budget) -> Senses:
    """Senses and levels that some table reaches, few turned; or, with ``conflict`` set, the nearest to that which was found.

    ``problem`` is the one without the levels.
    """
    if not len(senses.cell):
        return senses
    if not problem.whole_still or problem.compact.matrix.shape[1] > MOST:
        return _bent(problem, senses, budget)
    near = Nearest(problem, senses.cell)
    if senses.secret:
        senses = alike(near, senses)
    grid = _grid(problem)
    factor, step, count = grid.factor, grid.step, np.ones(len(senses.cell))
    short_for, turns = np.zeros((2, len(senses.cell)), np.int64)
    for _ in range(MOST_ROUNDS):
        least = senses.least / factor
        z = near.find(senses.sense * least, np.maximum(least, 1e-9) / count, budget)
        if z is None or budget.over:
            break
        reached = senses.sense * z[senses.cell]
        short = reached < least * (1 - SHORT)
        if not short.any():
            return senses
        enough = short & (reached >= senses.asked / factor * (1 - SHORT))
        lower = np.floor(reached * factor / step).astype(np.int64) * step
        senses = senses.lowered(np.where(enough, lower, senses.least))
        short &= ~enough
        short_for = np.where(short, short_for + 1, 0)
        turn = short & senses.turnable & (turns < MOST_TURNS) & ((reached < 0) | (short_for > PATIENCE))
        if turn.any():
            turns += turn
            senses = senses.turned(turn)
            short_for[turn] = 0
        count = np.where(short, count * MORE, count)
        if not short.any() and not enough.any():
            return senses
        if int(short_for.max()) > 3 * PATIENCE:
            break
    return _bent(problem, senses, budget)


def _grid(problem: AdjustmentProblem) -> PublishedGrid:
    assert problem.grid is not None
    return problem.grid


def _bent(problem: AdjustmentProblem, senses: Senses, budget: Budget) -> Senses:
    """What a linear program that bends levels says of them: ``conflict`` are the cells whose levels had to bend."""
    amount = bending(problem, senses, budget)
    if amount is None:
        return replace(senses, conflict=senses.cell)
    drawn = senses.lowered(np.where(amount > 0, senses.least - amount, senses.least))
    left = np.where(amount > 0, amount - (senses.least - drawn.least), 0)
    return replace(drawn, conflict=senses.cell[left > 0])


def bending(problem: AdjustmentProblem, senses: Senses, budget: Budget) -> Ints | None:
    """By how much each level must give way at least, in units of what is published; None where that does not help."""
    grid = _grid(problem)
    least = senses.least / grid.factor
    amount = least_bending(problem, senses.cell, senses.sense, least, np.maximum(least, 1e-9), budget)
    if amount is None:
        return None
    return np.ceil(amount * grid.factor / grid.step - 1e-6).astype(np.int64) * grid.step
