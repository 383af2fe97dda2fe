"""Packing: goals reached by moving leaves, within the room of every cell, and every table along the way adds up."""

from itertools import product

import numpy as np
import pytest

import cellward as cw
from cellward.audit.leaf_moves import CHOICES, PARTNERS
from cellward.solve.budget import Budget
from cellward.solve.packing import Lists, pack


def lists(table):
    below = table.relations.leaf_form.matrix.tocsr()
    return Lists.of(below.tocsc()), Lists.of(below)


def packed(table, room, goals, seed=0):
    """A copy of the true table after packing, the bounds that were left, and which goals were reached."""
    y, lo, hi = table.scaled.copy(), table.scaled - room, table.scaled + room
    kept = lo.copy(), hi.copy()
    reached = pack(*lists(table), y, lo, hi, goals, choices=CHOICES, partners=PARTNERS, seed=seed, budget=Budget())
    return y, kept, reached


@pytest.mark.parametrize("seed", range(20))
def test_what_is_reached_holds_and_every_table_adds_up_inside_its_room(seed):
    rng = np.random.default_rng(seed)
    table = cw.Table.from_array(rng.integers(0, 9, (4, 3, 3)))
    room = rng.integers(0, 4, table.cells)
    cell, side = rng.integers(0, table.cells, 30), rng.integers(0, 2, 30)
    value = table.scaled[cell] + np.where(side == 1, 1, -1) * rng.integers(0, 4, 30)
    y, (lo, hi), reached = packed(table, room, (cell, side, value), seed)
    assert not table.relations.residual(y).any()
    assert np.all((y >= lo) & (y <= hi))
    up = side == 1
    assert np.all(y[cell[reached & up]] >= value[reached & up])
    assert np.all(y[cell[reached & ~up]] <= value[reached & ~up])


@pytest.mark.parametrize("seed", range(10))
def test_single_goals_that_cannot_be_reached_are_not(seed):
    """Against all tables of 2 × 2 cells whose leaves move by at most two; those with a way of four leaves are found too."""
    rng = np.random.default_rng(seed)
    table = cw.Table.from_array(rng.integers(2, 9, (2, 2)))
    room = rng.integers(0, 3, table.cells)
    form = table.relations.leaf_form
    every = np.array(list(product(range(-2, 3), repeat=4))) @ form.matrix.T.toarray()
    allowed = every[np.all(np.abs(every) <= room, axis=1)]
    for i, (side, sign) in product(range(table.cells), ((0, -1), (1, 1))):
        goal = np.array([i]), np.array([side]), table.scaled[[i]] + sign
        _, _, reached = packed(table, room, goal, seed)
        possible = bool(np.any(sign * allowed[:, i] >= 1))
        assert possible or not reached[0]
        if possible and not reached[0]:  # the least way takes several leaves that do not mend one after the other
            assert np.abs(allowed[sign * allowed[:, i] >= 1][:, form.leaves]).sum(axis=1).min() > 1


def test_the_same_seed_gives_the_same_table():
    table = cw.Table.from_array(np.random.default_rng(1).integers(0, 9, (4, 4)))
    room = np.full(table.cells, 2)
    cell = np.arange(table.cells)
    goals = cell, np.ones_like(cell), table.scaled + 1
    one, other = (packed(table, room, goals, seed=5)[0] for _ in range(2))
    assert np.array_equal(one, other)
