"""Annealing: leaves turned until their sums are near; against all tables of small ones."""

from itertools import product

import numpy as np
import pytest
from scipy import sparse

import cellward as cw
from cellward.solve.anneal import Annealing
from cellward.solve.budget import Budget

NONE = -(2**62)


def small(seed):
    """A 3 × 4 table of counts: its sums of leaves, and the true values of all cells."""
    table = cw.Table.from_array(np.random.default_rng(seed).integers(1, 5, (3, 4)))
    form = table.relations.leaf_form
    return form.matrix, table.scaled


def annealing(sums, a, base=5, least=None):
    leaves, cells = sums.shape[1], sums.shape[0]
    least = np.full(cells, NONE) if least is None else least
    return Annealing(sums, np.full(leaves, base), np.full(cells, base), np.ones(cells), least)


def off(sums, a, up, base=5):
    return (sums @ (base * up.astype(np.int64))) - a


def dear(d, base=5):
    """Far tables count so much that the least of all tables is the least of those with few far cells."""
    return float(np.abs(d).sum() + 0.7 * np.maximum(np.abs(d) - base + 1, 0).sum())


@pytest.mark.parametrize("seed", range(6))
def test_small_tables_end_at_the_least_of_all_tables(seed):
    sums, a = small(seed)
    every = np.array(list(product((0, 1), repeat=sums.shape[1])))
    least = min(dear(d) for d in (5 * every @ sums.T.toarray()) - a)
    start = np.zeros(sums.shape[1], bool)
    found = annealing(sums, a).run(start, off(sums, a, start), Budget(seed=seed), 400)
    assert dear(off(sums, a, found)) == pytest.approx(least)


def test_the_same_seed_gives_the_same_leaves():
    sums, a = small(1)
    start = np.ones(sums.shape[1], bool)
    runs = [annealing(sums, a).run(start, off(sums, a, start), Budget(seed=3), 20) for _ in range(2)]
    assert np.array_equal(*runs)


@pytest.mark.parametrize("seed", range(6))
def test_no_cell_falls_below_its_least(seed):
    sums, a = small(seed)
    start = np.ones(sums.shape[1], bool)
    below = np.where(a >= 5, 5 - a, NONE)
    found = annealing(sums, a, least=below).run(start, off(sums, a, start), Budget(seed=seed), 50)
    assert np.all(off(sums, a, found) >= below)


def test_leaves_that_count_several_times():
    """v = 2·x: turning x moves the sum by two bases."""
    sums, a = sparse.csr_array(np.array([[1], [2]])), np.array([3, 6])
    found = annealing(sums, a).run(np.zeros(1, bool), -a, Budget(), 10)
    assert found.tolist() == [True]


def test_a_time_limit_ends_the_passes_and_no_leaves_need_none():
    sums, a = small(2)
    start = np.zeros(sums.shape[1], bool)
    found = annealing(sums, a).run(start, off(sums, a, start), Budget(time_limit_s=0.05), 10**9)
    assert dear(off(sums, a, found)) <= dear(off(sums, a, start))
    none = annealing(sums[:, :0], a).run(start[:0], -a, Budget(), 10)
    assert len(none) == 0


@pytest.mark.parametrize("seed", range(3))
def test_large_values_reach_their_neighbouring_multiples(seed):
    """Cells that are still off by a base or more are gone after until there are none."""
    table = cw.Table.from_array(np.random.default_rng(seed).integers(100, 10_000, (8, 7, 6)))
    form, base = table.relations.leaf_form, 500
    a, leaf = table.scaled, table.scaled[form.leaves]
    start = leaf % base > base // 2
    low = leaf // base * base
    off = np.asarray(form.matrix @ (low + base * start)).astype(np.int64) - a
    cells = len(a)
    made = Annealing(form.matrix, np.full(len(leaf), base), np.full(cells, base), np.ones(cells), np.full(cells, NONE))
    up = made.run(start, off, Budget(seed=seed), 200)
    assert np.all(np.abs(form.matrix @ (low + base * up) - a) < base)
