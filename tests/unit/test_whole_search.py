"""CP-SAT on all equations: large problems whose relaxation is slow get a table all the same."""

import numpy as np
from bank import causey_cox_ernst

import cellward as cw
from cellward.instance import Instance
from cellward.protect.lattice.model import LatticeModel, allowed_multiples
from cellward.protect.lattice.problem import LatticeProblem
from cellward.protect.lattice.vertex import VertexThenBlocks
from cellward.protect.lattice.whole_search import WholeSearch, question_of_all
from cellward.solve.budget import Budget
from cellward.solve.cpsat import solve_cpsat
from cellward.solve.outcome import Outcome

COUNTS = np.random.default_rng(4).poisson(1.5, (4, 3, 2, 3))


def rounding(values=COUNTS, base=3):
    instance = Instance.of(cw.Table.from_array(values))
    return LatticeProblem(LatticeModel(instance, allowed_multiples(instance, np.full(instance.cells, base))))


def too_slow(*_, **__):
    """A solver of linear programs that the limit always comes before."""
    return Outcome(status="unknown", limit_reached=True)


def test_it_finds_the_least_table_of_a_small_problem():
    problem = rounding()
    found = WholeSearch().solve(problem, Budget(time_limit_s=60))
    exact = VertexThenBlocks().solve(problem, Budget())
    assert (found.status, found.bound) == (exact.status, exact.bound)
    cost = problem.model.columns.cost
    assert int(cost @ found.x) == int(cost @ exact.x) == found.bound


def test_it_is_given_the_implied_equations_too():
    problem = rounding()
    question, _, used = question_of_all(problem, np.arange(problem.size))
    assert question.rows == len(used) > len(problem.equations)


def test_it_is_for_large_problems_that_are_no_network():
    assert WholeSearch().accepts(rounding()).endswith("few enough for a linear relaxation")
    assert WholeSearch(fewest=1).accepts(rounding()) is None
    assert "network" in WholeSearch(fewest=1).accepts(rounding(np.ones((3, 3), int)))


def test_it_stands_in_where_the_relaxation_takes_more_than_its_share():
    """Tables of counts in four dimensions got no answer, as the relaxation took all of the time."""
    problem, limited = rounding(), Budget(time_limit_s=60)
    engine = VertexThenBlocks(solver=too_slow, instead=WholeSearch(fewest=1))
    found = engine.solve(problem, limited)
    assert (found.status, found.engine) == ("optimal", "CP-SAT on all equations")
    small = VertexThenBlocks(solver=too_slow).solve(problem, limited)
    assert (small.status, small.x) == ("unknown", None)


def test_what_has_no_table_is_said_to_have_none():
    instance = Instance.of(causey_cox_ernst())
    problem = LatticeProblem(LatticeModel(instance, allowed_multiples(instance, np.full(instance.cells, 2))))
    assert WholeSearch().solve(problem, Budget(time_limit_s=60)).status == "infeasible"


def test_what_a_search_leaves_unsettled_is_unknown():
    search = WholeSearch(solver=lambda *_, **__: Outcome(status="unknown", limit_reached=True))
    assert search.solve(rounding(), Budget()).status == "unknown"
    worse = WholeSearch(solver=lambda question, **given: solve_cpsat(question, first=True, **given))
    found = worse.solve(rounding(), Budget(time_limit_s=60))
    assert found.status in ("feasible", "optimal")
    assert found.bound <= int(rounding().model.columns.cost @ found.x)
