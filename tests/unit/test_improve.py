"""improve: what it gives back is a rounding, never worse than its start, the optimum on small tables, and the same each time."""

import numpy as np
import pytest

import cellward as cw
from cellward.instance import Instance
from cellward.protect.lattice import improve as improving
from cellward.protect.lattice.improve import improve
from cellward.protect.lattice.linear import Row, independent, linear
from cellward.protect.lattice.model import LatticeModel, allowed_multiples
from cellward.solve.budget import Budget
from cellward.solve.highs import solve_lp, solve_mip


@pytest.fixture(autouse=True)
def short(monkeypatch):
    monkeypatch.setattr(improving, "WALK_POSITIONS", 1e5)
    monkeypatch.setattr(improving, "PATIENCE", 3)


def poisson(shape, seed=0):
    return cw.Table.from_array(np.random.default_rng(seed).poisson(4, shape))


def without_labels(table):
    relations = table.relations
    from scipy.sparse import csr_matrix

    matrix = csr_matrix(
        (relations.coefs, relations.indices, relations.indptr), shape=(relations.equations, table.cells)
    )
    return cw.Table.from_equations(table.scaled, matrix, relations.rhs)


def asked(table, base=5, steps=1, rows=()):
    instance = Instance.of(table)
    model = LatticeModel(instance, allowed_multiples(instance, np.full(instance.cells, base), steps))
    part = np.arange(len(model.columns))
    question, _, _ = linear(model, independent(model), part, model.columns.cost, rows)
    return model, question, part


def run(model, question, part, *, threads=1, **limits):
    relaxed = solve_lp(question)
    budget = Budget(threads=threads, **limits)
    return improve(model, question, part, relaxed.x, relaxed.objective, budget, relaxed.row_duals), relaxed


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
    model, question, part = asked(table if labelled else without_labels(table), steps=steps)
    result, relaxed = run(model, question, part, threads=threads)
    least = solve_mip(question)
    value = check(model, result.x) - model.start
    assert least.objective <= value <= least.objective + 0.02 * check(model, np.rint(least.x).astype(np.int64))
    assert relaxed.objective <= value
    assert not result.interrupted
    assert result.engine


@pytest.mark.parametrize("threads", [1, 2])
def test_the_same_block_has_the_same_answer(threads):
    model, question, part = asked(poisson((6, 6, 6)))
    first, second = (run(model, question, part, threads=threads)[0] for _ in range(2))
    assert first.x.tolist() == second.x.tolist()
    assert first.engine == second.engine


def test_the_walk_alone_never_ends_above_its_start(monkeypatch):
    model, question, part = asked(poisson((6, 6, 6), seed=1))
    relaxed = solve_lp(question)
    search = improving._Search(model, question, part, relaxed.x, relaxed.objective, Budget(), None)
    search.start()
    before = check(model, search.x)
    search.walk()
    assert check(model, search.x) < before


@pytest.mark.parametrize("shape", [(4, 5, 6), (3, 3, 3, 3)])
def test_pairs_of_layers_are_networks_in_three_dimensions_and_not_in_four(shape):
    model, question, part = asked(poisson(shape))
    sides = improving._sides(model, part, question)
    assert len(sides) == (3 if len(shape) == 3 else 0)
    for d, side in enumerate(sides):
        codes = shape[d] + 1
        assert side.cell.shape == (codes, np.prod([n + 1 for n in shape]) // codes)
        assert len(set(side.group.tolist())) == 1
        assert sorted(np.abs([side.sign.sum()]).tolist()) == [codes - 2]  # the total has the other sign


def test_rows_that_cut_tables_off_are_kept(monkeypatch):
    model, question, part = asked(poisson((4, 4, 4)))
    best, _ = run(model, question, part)
    up = best.x > 0
    row = Row(part, np.where(up, -1, 1), 1 - int(up.sum()))
    model, question, part = asked(poisson((4, 4, 4)), rows=[row])
    assert not improving._sides(model, part, question)
    other, _ = run(model, question, part, threads=2)
    assert other.x.tolist() != best.x.tolist()
    assert check(model, other.x) >= check(model, best.x)


def test_a_limit_that_is_over_gives_nothing_or_a_rounding():
    model, question, part = asked(poisson((6, 6, 6)))
    result, _ = run(model, question, part, time_limit_s=1e-3)
    assert result.x is None or check(model, result.x)


def test_a_limit_is_used_for_better_roundings():
    model, question, part = asked(poisson((6, 6, 6), seed=2))
    result, relaxed = run(model, question, part, threads=2, time_limit_s=4)
    assert check(model, result.x) - model.start <= relaxed.objective * 1.0 + 0.05 * model.start
