"""Tables put together from the top down: every sum holds at the end, and what does not fit is decided anew."""

import numpy as np
import pytest

import cellward as cw
from cellward.instance import Instance
from cellward.protect.lattice.best_table import BestTable
from cellward.protect.lattice.model import LatticeModel, allowed_multiples
from cellward.protect.lattice.neighbourhoods import trees_of
from cellward.protect.lattice.problem import LatticeProblem
from cellward.protect.lattice.sweep import Step, Sweep, _tied
from cellward.solve.budget import Budget
from cellward.solve.cpsat import solve_cpsat
from cellward.solve.outcome import Outcome
from cellward.solve.prices import solve_prices


def counts(seed):
    """Persons by municipality (regions, provinces), age (two groups) and sex, without the empty cells."""
    rng = np.random.default_rng(seed)
    mun = [f"{r}{p}{k}" for r in "NS" for p in "ab" for k in range(3)]
    age = [f"{g}{k}" for g in "yo" for k in range(3)]
    rows = [(m, a, s) for m in mun for a in age for s in "fm" for _ in range(rng.poisson(2.5))]
    columns = dict(zip(("mun", "age", "sex"), zip(*rows, strict=True), strict=True))
    trees = {
        "mun": cw.Hierarchy.from_prefixes(sorted(set(columns["mun"])), (1, 2, 3)),
        "age": cw.Hierarchy.from_prefixes(sorted(set(columns["age"])), (1, 2)),
    }
    return cw.Table.from_microdata(columns, dims=["mun", "age", "sex"], hierarchies=trees)


def sweep(seed, size, searcher=solve_cpsat, budget=None):
    instance = Instance.of(counts(seed))
    problem = LatticeProblem(LatticeModel(instance, allowed_multiples(instance, np.full(instance.cells, 5))))
    every = np.arange(problem.size)
    table = BestTable(problem, every)
    prices = solve_prices(table.price_question)
    duals = table.prices_of_all(prices.row_duals)
    table.raise_floor(duals)
    trees = trees_of(problem.model, every)
    return table, Sweep(table, trees, duals, prices.x, searcher, budget or Budget(), size)


@pytest.mark.parametrize("size", [30, 100])
@pytest.mark.parametrize("seed", range(4))
def test_it_ends_with_a_table_near_the_least(seed, size):
    table, one = sweep(seed, size)
    x = one.run()
    assert table.take(x, "sweep")
    least = solve_cpsat(table.question)
    away = np.abs(table.cost).sum()
    assert table.floor <= least.objective <= table.value <= least.objective + 0.1 * away


def test_without_a_limit_it_always_gives_the_same(seed=1):
    first, second = (sweep(seed, 60)[1].run() for _ in range(2))
    assert np.array_equal(first, second)


def test_each_column_is_decided_once_in_its_turn():
    _, one = sweep(0, 40)
    nothing = np.zeros(len(one.x), bool)
    steps = list(one._plan(Step(0, ~nothing, nothing, nothing), [0, 1, 2]))
    assert len(steps) > 4
    assert np.all(np.sum([step.columns for step in steps], axis=0) >= 1)
    turns = [step.turn for step in steps]
    assert turns == sorted(turns)


def test_what_does_not_fit_is_decided_anew_with_more():
    asked = []

    def picky(question, *, budget, first=False, work=None, by_lp=False):
        asked.append(question.columns)
        if not first and len(asked) % 5 == 4:
            return Outcome(status="infeasible", solver="picky")
        return solve_cpsat(question, budget=budget, first=first, work=work, by_lp=by_lp)

    table, one = sweep(2, 40, picky)
    assert table.holds(one.run())


def test_where_nothing_fits_there_is_no_table_and_none_once_the_time_is_up():
    def never(question, *, budget, first=False, work=None, by_lp=False):
        return Outcome(status="infeasible", solver="never")

    assert sweep(2, 40, never)[1].run() is None
    budget = Budget(time_limit_s=60)
    budget.end()
    assert sweep(2, 40, budget=budget)[1].run() is None


def test_few_columns_are_no_sweep():
    assert sweep(0, 10_000)[1].run() is None


def test_sums_of_one_part_are_tied_to_it():
    table, _ = sweep(3, 40)
    q, tied = table.question, _tied(table.question)
    two = np.flatnonzero(np.diff(q.indptr) == 2)
    assert len(two)
    assert np.array_equal(tied[q.indices[q.indptr[two]]], tied[q.indices[q.indptr[two] + 1]])
    assert len(np.unique(tied)) < q.columns
