"""Large tables that are no network: some table at once, a floor proven by prices, and neighbourhoods along the codes."""

from dataclasses import replace

import numpy as np
import pytest
from bank import causey_cox_ernst

import cellward as cw
from cellward.instance import Instance
from cellward.protect.lattice.any_table import NAME, AnyTable
from cellward.protect.lattice.best_table import BestTable
from cellward.protect.lattice.engines import ANY_TABLE, ENGINES
from cellward.protect.lattice.model import LatticeModel, allowed_multiples
from cellward.protect.lattice.neighbourhoods import Neighbourhoods, trees_of
from cellward.protect.lattice.portfolio import Portfolio
from cellward.protect.lattice.problem import LatticeProblem
from cellward.protect.lattice.vertex import VertexThenBlocks
from cellward.protect.lattice.whole_search import question_of_all
from cellward.solve.budget import Budget
from cellward.solve.outcome import Outcome
from cellward.solve.prices import solve_prices

COUNTS = np.random.default_rng(4).poisson(1.5, (4, 3, 2, 3))
SEARCH = Portfolio(fewest=1, open_share=-1.0, patience=5)
"""Neighbourhoods whatever the size, and never a vertex."""


def rounding(values=COUNTS, base=3):
    table = values if isinstance(values, cw.Table) else cw.Table.from_array(values)
    instance = Instance.of(table)
    return LatticeProblem(LatticeModel(instance, allowed_multiples(instance, np.full(instance.cells, base))))


def sparse():
    """Counts of persons by municipality (two regions), age and sex, without the empty cells."""
    rng = np.random.default_rng(8)
    rows = [
        (f"{r}{k}", f"a{a}", s)
        for r in "NS"
        for k in range(3)
        for a in range(4)
        for s in "fm"
        for _ in range(rng.poisson(1.2))
    ]
    mun, age, sex = zip(*rows, strict=True)
    tree = cw.Hierarchy.from_prefixes(sorted(set(mun)), (1, 2))
    frame = {"mun": mun, "age": age, "sex": sex}
    return cw.Table.from_microdata(frame, dims=["mun", "age", "sex"], hierarchies={"mun": tree})


@pytest.fixture(scope="module")
def problem():
    return rounding()


@pytest.fixture(scope="module")
def exact(problem):
    return VertexThenBlocks().solve(problem, Budget())


@pytest.mark.parametrize("budget", [{}, {"time_limit_s": 5}, {"time_limit_s": 5, "threads": 2}])
def test_it_finds_the_least_table_of_a_small_problem(problem, exact, budget):
    found = SEARCH.solve(problem, Budget(**budget))
    cost = problem.model.columns.cost
    assert int(cost @ found.x) == int(cost @ exact.x)
    assert found.bound <= int(cost @ exact.x)


def test_it_is_given_the_implied_equations_too(problem):
    question, _, used = question_of_all(problem, np.arange(problem.size))
    assert question.rows == len(used) > len(problem.equations)


def test_it_is_for_large_problems_that_are_neither_networks_nor_plain_arrays(problem):
    assert Portfolio().accepts(problem).endswith("few enough for a vertex")
    assert "walks" in SEARCH.accepts(problem)
    assert SEARCH.accepts(rounding(sparse())) is None
    assert any(isinstance(engine, Portfolio) for engine in ENGINES)
    assert any(isinstance(engine, AnyTable) for engine in ANY_TABLE)


def test_without_a_limit_the_same_problem_has_the_same_answer():
    one, other = (SEARCH.solve(rounding(sparse(), 5), Budget()) for _ in range(2))
    assert np.array_equal(one.x, other.x)


def test_where_the_prices_leave_little_open_a_vertex_is_asked(problem, exact):
    asked = []

    class Exact(VertexThenBlocks):
        def solve(self, problem, budget):
            asked.append(budget.time_limit_s)
            return super().solve(problem, budget)

    search = Portfolio(fewest=1, open_share=1.0, exact=Exact())
    found = search.solve(problem, Budget())
    assert asked == [None]
    assert (found.status, found.bound) == (exact.status, exact.bound)


def test_some_table_is_the_first_one():
    problem = rounding(sparse(), 5)
    found = AnyTable(fewest=1).solve(problem, Budget(time_limit_s=60, threads=2))
    assert found.engine == NAME
    assert BestTable(problem, np.arange(problem.size)).holds(found.x)


def test_what_has_no_table_is_said_to_have_none():
    cube = causey_cox_ernst()
    matrix = np.zeros((cube.relations.equations, cube.cells), int)
    matrix[cube.relations.row, cube.relations.indices] = cube.relations.coefs
    problem = rounding(cw.Table.from_equations(cube.scaled, matrix), 2)  # no dimensions, hence no walk
    for budget in (Budget(time_limit_s=60, threads=2), Budget()):
        assert SEARCH.solve(problem, budget).status == "infeasible"


def test_what_a_search_leaves_unsettled_is_unknown(problem):
    def nothing(*_, **__):
        return Outcome(status="unknown", limit_reached=True)

    found = Portfolio(fewest=1, searcher=nothing, pricer=nothing).solve(problem, Budget(time_limit_s=60, threads=2))
    assert (found.status, found.x) == ("unknown", None)
    without = Portfolio(fewest=1, pricer=nothing, patience=3).solve(problem, Budget())
    assert without.x is not None
    assert without.bound >= problem.model.least()


def test_a_claim_of_the_interior_point_that_there_is_no_table_is_not_taken(problem, exact):
    """A vertex is asked instead; and where a table is known the claim is false."""

    def liar(*_, **__):
        return Outcome(status="infeasible", solver="liar")

    for budget in (Budget(), Budget(time_limit_s=5, threads=2)):
        found = Portfolio(fewest=1, pricer=liar, patience=3).solve(problem, budget)
        assert int(problem.model.columns.cost @ found.x) == int(problem.model.columns.cost @ exact.x)


def test_what_a_vertex_proves_is_not_what_the_table_at_hand_costs(problem, exact):
    """Where few steps are wanted as well as a small cost, the least table may not be the one that is kept."""
    known = problem.model.values(exact.x)
    model = replace(problem.model, known=known)
    found = Portfolio(fewest=1, open_share=1.0).solve(LatticeProblem(model), Budget())
    assert found.bound <= int(model.columns.cost @ exact.x)


def test_any_multipliers_prove_a_floor_and_prices_the_best(problem, exact):
    least = int(problem.model.columns.cost @ exact.x)
    rng = np.random.default_rng(3)
    table = BestTable(problem, np.arange(problem.size))
    for _ in range(50):
        table.raise_floor(rng.normal(0, 2, table.question.rows))
        assert table.unit * table.floor <= least
    priced = solve_prices(table.price_question)
    table.raise_floor(table.prices_of_all(priced.row_duals))
    relaxed = priced.objective * table.unit
    assert relaxed - 1 <= table.unit * table.floor <= least


def test_multipliers_that_are_no_numbers_prove_nothing(problem):
    table = BestTable(problem, np.arange(problem.size))
    before = table.floor
    table.raise_floor(np.full(table.question.rows, np.nan))
    table.raise_floor(np.full(table.question.rows, 1e300))
    assert table.floor == before


def test_families_hold_children_with_all_below_and_all_above():
    problem = rounding(sparse(), 5)
    labels, part = problem.model.instance.labels, np.arange(problem.size)
    tree = trees_of(problem.model, part)[labels.dims.index("mun")]
    codes = labels.codes[labels.dims.index("mun")]
    above = {code: (codes[up] if up >= 0 else None) for code, up in zip(codes, tree.above.tolist(), strict=True)}
    assert above["N1"] == "N"
    assert above["S"] == labels.totals[labels.dims.index("mun")]
    everywhere = np.ones(problem.size, bool)
    for seed in range(20):
        chosen = tree.family(np.random.default_rng(seed), everywhere, 1.0)
        inside = {codes[c] for c in tree.code[chosen].tolist()}
        heads = {above[code] for code in inside if above[code] in inside}
        assert heads
        assert all(above[head] is None or above[head] in inside for head in heads)


def test_a_neighbourhood_solved_anew_keeps_every_sum():
    problem = rounding(sparse(), 5)
    table = BestTable(problem, np.arange(problem.size))
    table.take(SEARCH.solve(problem, Budget()).x, "search")
    near = Neighbourhoods(problem.model, table.part, table.question, np.random.default_rng(1))
    assert {word for word, _ in near.kinds} == {"family", "codes"}
    for kind in near.kinds:
        free = near.draw(kind, 20, np.ones(problem.size, bool))
        question = near.restricted(free, table.x)
        activity = np.zeros(question.rows)
        np.add.at(
            activity,
            np.repeat(np.arange(question.rows), np.diff(question.indptr)),
            question.coefs * table.x[free][question.indices],
        )
        assert np.array_equal(activity, question.row_lower)


def test_a_table_to_begin_with_is_kept_whatever_the_prices_say(problem, exact):
    """Prices that ask for a vertex, an exact engine and a searcher that find nothing: what was known is given."""
    known = replace(problem.model, known=problem.model.values(exact.x))

    class Nothing(VertexThenBlocks):
        def solve(self, problem, budget):
            return replace(exact, status="unknown", x=None, bound=None)

    def never(question, **options):
        return Outcome(status="unknown", solver="never", limit_reached=True)

    search = replace(SEARCH, open_share=1.0, searcher=never, exact=Nothing())
    found = search.solve(LatticeProblem(known), Budget(time_limit_s=5, threads=2))
    assert found is None or np.array_equal(known.values(found.x), known.known)
