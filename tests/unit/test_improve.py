"""improve: what it gives back is a rounding, never worse than its start, the optimum on small tables, and the same each time."""

import numpy as np
import pytest

import cellward as cw
from cellward.instance import Instance
from cellward.protect.lattice.improvement import Improvement, _ImprovementSearch
from cellward.protect.lattice.layers import sides_of
from cellward.protect.lattice.linear import Row, leaf_costs
from cellward.protect.lattice.model import LatticeModel, allowed_multiples
from cellward.protect.lattice.problem import Block, LatticeProblem
from cellward.protect.lattice.vertex import relax
from cellward.solve.budget import Budget
from cellward.solve.highs import solve_mip

SHORT = Improvement(walk_positions=1e5, patience=3)


def poisson(shape, seed=0):
    return cw.Table.from_array(np.random.default_rng(seed).poisson(4, shape))


def without_labels(table):
    relations = table.relations
    from scipy.sparse import csr_matrix

    matrix = csr_matrix(
        (relations.coefs, relations.indices, relations.indptr), shape=(relations.equations, table.cells)
    )
    return cw.Table.from_equations(table.scaled, matrix, relations.rhs)


def block(table, base=5, steps=1, rows=()):
    """The whole table as one block, with a vertex of its relaxation."""
    instance = Instance.of(table)
    model = LatticeModel(instance, allowed_multiples(instance, np.full(instance.cells, base), steps))
    problem = LatticeProblem(model, rows)
    vertex = relax(problem, Budget())
    share = float((np.abs(vertex.x - np.rint(vertex.x)) > 1e-6).mean())
    return Block(problem, np.arange(len(model.columns)), vertex.x, vertex.multipliers, share, leaf_costs(model))


def asked(one):
    return one.question(one.problem.model.columns.cost)[0]


def check(model, x):
    v = model.values(x)
    assert not model.instance.relations.residual(v).any()
    assert np.all((v >= model.allowed.lo) & (v <= model.allowed.hi))
    return model.objective(v)


@pytest.mark.parametrize("threads", [1, 2])
@pytest.mark.parametrize("steps", [1, 2])
@pytest.mark.parametrize("labelled", [True, False])
def test_a_small_table_comes_out_at_the_optimum_or_near_it(threads, steps, labelled):
    table = poisson((5, 5, 5))
    one = block(table if labelled else without_labels(table), steps=steps)
    model, budget = one.problem.model, Budget(threads=threads)
    result = SHORT.solve(one, budget)
    least = solve_mip(asked(one))
    value = check(model, result.x) - model.start
    assert least.objective <= value <= least.objective + 0.02 * check(model, np.rint(least.x).astype(np.int64))
    assert model.columns.cost @ one.x <= value and result.bound <= least.objective
    assert not budget.stopped
    assert result.engine


@pytest.mark.parametrize("threads", [1, 2])
def test_the_same_block_has_the_same_answer(threads):
    one = block(poisson((6, 6, 6)))
    first, second = (SHORT.solve(one, Budget(threads=threads)) for _ in range(2))
    assert first.x.tolist() == second.x.tolist()
    assert first.engine == second.engine


def test_the_walk_alone_never_ends_above_its_start():
    one = block(poisson((6, 6, 6), seed=1))
    search = _ImprovementSearch(SHORT, one, Budget())
    search.start()
    before = check(one.problem.model, search.x)
    search.walk()
    assert check(one.problem.model, search.x) < before


@pytest.mark.parametrize("shape", [(4, 5, 6), (3, 3, 3, 3)])
def test_pairs_of_layers_are_networks_in_three_dimensions_and_not_in_four(shape):
    one = block(poisson(shape))
    sides = sides_of(one.problem.model, one.part, asked(one))
    assert len(sides) == (3 if len(shape) == 3 else 0)
    for d, side in enumerate(sides):
        codes = shape[d] + 1
        assert side.cell.shape == (codes, np.prod([n + 1 for n in shape]) // codes)
        assert len(set(side.group.tolist())) == 1
        assert sorted(np.abs([side.sign.sum()]).tolist()) == [codes - 2]  # the total has the other sign


def test_rows_that_cut_tables_off_are_kept():
    one = block(poisson((4, 4, 4)))
    best = SHORT.solve(one, Budget())
    up = best.x > 0
    row = Row(one.part, np.where(up, -1, 1), 1 - int(up.sum()))
    cut = block(poisson((4, 4, 4)), rows=[row])
    model = cut.problem.model
    assert not sides_of(model, cut.part, asked(cut))
    other = SHORT.solve(cut, Budget(threads=2))
    assert other.x.tolist() != best.x.tolist()
    assert check(model, other.x) >= check(model, best.x)


def test_a_limit_that_is_over_gives_nothing_or_a_rounding():
    one = block(poisson((6, 6, 6)))
    result = SHORT.solve(one, Budget(time_limit_s=1e-3))
    assert result.x is None or check(one.problem.model, result.x)


def test_a_limit_is_used_for_better_roundings():
    one = block(poisson((6, 6, 6), seed=2))
    model = one.problem.model
    result = SHORT.solve(one, Budget(threads=2, time_limit_s=4))
    assert check(model, result.x) - model.start <= float(model.columns.cost @ one.x) + 0.05 * model.start


def test_small_blocks_and_those_with_few_fractions_are_left_to_branch_and_bound():
    one = block(poisson((4, 4, 4)))
    assert "small enough for branch and bound" in SHORT.accepts(one)
    assert "few columns" in Improvement(fewest=1, few_broken=1.0).accepts(one)
    assert Improvement(fewest=1, few_broken=-1.0).accepts(one) is None
