"""The engines of suppression: demands, tables that show them, cuts that hold of every safe pattern, and patterns that are least."""

from dataclasses import replace

import numpy as np
import pytest
from safe_patterns import is_safe, least, patterns

import cellward as cw
from cellward.audit.ends import Witness
from cellward.audit.evidence import show_levels
from cellward.instance import Instance
from cellward.protect.suppression.cheapest_witness import CheapestWitness, Goals
from cellward.protect.suppression.construction import Construction
from cellward.protect.suppression.cut_pool import CutPool
from cellward.protect.suppression.demand import Demand
from cellward.protect.suppression.equation_cuts import bridges, equation_cuts, lone_cells
from cellward.protect.suppression.neighbourhoods import Neighbourhoods
from cellward.protect.suppression.problem import SuppressionProblem
from cellward.protect.suppression.search import search
from cellward.protect.suppression.separation import Separation
from cellward.protect.suppression.witness_pool import WitnessPool
from cellward.publication.withheld import Withheld
from cellward.solve.budget import Budget
from cellward.table.leaves import eliminated
from cellward.table.relations import Relations
from cellward.table.sensitivity import Sensitivity


def problem_of(table, attackers=None, zeros="published"):
    """The problem of a table with values as costs."""
    instance = Instance.of(table, weights="value", attackers=attackers)
    method = cw.CellSuppression(zeros=zeros)
    forced = method.hidden(instance)
    cost = np.where(forced, 0, instance.weight)
    return SuppressionProblem(instance, cost, method.candidate(instance), forced)


def grid(seed, shape=(2, 3), risk=2, spl=0):
    rng = np.random.default_rng([seed, 30])
    table = cw.Table.from_array(rng.integers(1, 9, shape))
    cells = np.sort(rng.choice(np.flatnonzero(table.relations.height == 0), risk, replace=False))
    level = np.minimum(rng.integers(1, 4, risk), table.scaled[cells])
    return table.with_sensitivity(Sensitivity.of(table.cells, cells, level, level, np.full(risk, spl)))


def safe_patterns_of(problem):
    free, forced = problem.candidate, problem.forced
    return [one for one in patterns(free, forced) if is_safe(problem.instance, one)]


@pytest.mark.parametrize("seed", range(8))
def test_cuts_hold_of_every_safe_pattern_and_bridges_of_the_least(seed):
    table = grid(seed, spl=seed % 3 * 4)
    problem = problem_of(table, [cw.Attacker.external(), cw.Attacker.knowing(table, "insider", exactly=[seed % 6])])
    demand = Demand.of_instance(problem.instance, problem.candidate | problem.forced)
    pool = CutPool(problem)
    pool.add(equation_cuts(demand, problem.instance.relations, problem.forced))
    separation = Separation(problem.instance.relations, demand, problem.forced, pool.free, problem.cost, Budget())
    x = np.random.default_rng(seed).random(problem.instance.cells)
    pool.add(separation.capacity(x))
    pool.add(separation.capacity(problem.forced.astype(float)))  # of a whole point
    pool.add(pool.covers(x))
    levels = len(pool.derived)
    for i in np.flatnonzero(pool.free).tolist():
        pool.add(bridges(problem.instance.relations, problem.forced, pool.free, np.eye(len(x))[i]))
    pool.add(separation.bridges(x))
    safe = safe_patterns_of(problem)
    costs = [int(problem.cost[list(one)].sum()) for one in safe]
    for k, cut in enumerate(pool.derived):
        for one, cost in zip(safe, costs, strict=True):
            if k < levels or cost == min(costs):
                assert sum(coef for i, coef in cut.row.items() if one[i]) >= cut.least
    relaxed = pool.relaxed(Budget())
    assert not safe or relaxed.bound <= min(costs)


def test_cuts_that_cover_cells_raise_the_bound_and_hold_in_the_certificate():
    rng = np.random.default_rng(5)
    cube = cw.Table.from_array(rng.integers(5, 60, (4, 4, 4)))
    cells = rng.choice(np.flatnonzero(cube.relations.height == 0), 6, replace=False)
    table = cube.with_sensitivity(Sensitivity.of(cube.cells, np.sort(cells), *(np.full(6, x) for x in (5, 25, 0))))
    problem = problem_of(table)
    demand = Demand.of_instance(problem.instance, problem.candidate | problem.forced)
    pool = CutPool(problem)
    pool.add(equation_cuts(demand, problem.instance.relations, problem.forced))
    separation = Separation(problem.instance.relations, demand, problem.forced, pool.free, problem.cost, Budget())
    while pool.add(separation.capacity((root := pool.relaxed(Budget())).x), root.x):
        pass
    plain = root.bound
    for _ in range(5):
        pool.add(pool.covers(root.x), root.x)
        root = pool.relaxed(Budget())
    p = cw.CellSuppression().protect(table)
    assert plain < root.bound <= p.objective and p.status == "optimal"
    verdict = p.certificate().check()
    assert verdict and p.certified_bound > plain
    assert any("covered" in cut for cut in p.certificate().content["bound"]["cuts"])


@pytest.mark.parametrize("seed", range(8))
def test_small_searches_end_with_the_least_pattern(seed):
    table = grid(seed, spl=seed % 2 * 5)
    problem = problem_of(table)
    found = search(problem, Budget())
    best = least(problem.instance, problem.candidate, problem.forced)
    if best is None:
        assert found.status == "infeasible"
        return
    cost = int(problem.cost[found.withheld].sum())
    assert is_safe(problem.instance, tuple(found.withheld.tolist()))
    assert found.bound <= best <= cost
    if not seed % 2:  # what cuts say of widths does not always prove a pattern least
        assert (found.status, cost, found.bound) == ("optimal", best, best)


def test_a_construction_shows_all_that_is_asked_and_trims_to_what_is_needed():
    table = grid(3, (8, 9), 12)
    insiders = [cw.Attacker.knowing(table, f"insider {i}", exactly=[int(i)]) for i in table.sensitivity.unsafe]
    problem = problem_of(table, [cw.Attacker.external(), *insiders])
    demand = Demand.of_instance(problem.instance, problem.candidate | problem.forced)
    guide = problem.forced.astype(float)
    made = Construction(problem, demand, Budget(), np.random.default_rng(0), guide)
    assert made.build()
    first = made.withheld_cost()
    made.trim(Budget())
    assert made.pool.many_open == 0 and made.withheld_cost() <= first
    assert is_safe(problem.instance, tuple(made.pattern.tolist()))
    r = problem.instance.relations
    for one in made.pool.witnesses:
        assert not r.sums(r.coefs * one.shift[r.indices]).any()
        assert not one.shift[~made.pattern].any()


def test_widths_are_asked_as_moves_that_the_rooms_allow():
    table = cw.Table.from_array([3, 5, 7], upper=[3, 9, 99, 99])
    table = table.with_sensitivity(Sensitivity.of(table.cells, [0, 1], np.zeros(2, int), np.zeros(2, int), [2, 6]))
    demand = Demand.of_instance(Instance.of(table), np.ones(table.cells, bool))
    assert demand.up.tolist() == [0, 4] and demand.down.tolist() == [2, 2]
    assert demand.wide.tolist() == [2, 6]


def test_attackers_are_shown_tables_that_leave_what_they_know():
    table = grid(1, (2, 3), 2)
    cell = int(table.sensitivity.unsafe[0])
    known = cw.Attacker.knowing(table, "insider", exactly=[cell])
    instance = Instance.of(table, attackers=[cw.Attacker.external(), known])
    demand = Demand.of_instance(instance, np.ones(table.cells, bool))
    shift = np.zeros(table.cells, np.int64)
    shift[cell] = 10**6
    up, _ = demand.reached(Witness(shift))
    assert {int(g) for g in demand.of[up & (demand.cell == cell)]} == {0}
    pool = WitnessPool(demand)
    pool.add(Witness(shift))
    assert len(pool.witnesses) == 1  # its mirror image would be negative
    assert not pool.without(np.zeros(table.cells, bool)).witnesses


def exact_problem(table, attackers=None):
    """The problem of exact disclosure only."""
    instance = Instance.of(table, weights="value", attackers=attackers)
    forced = cw.CellSuppression(guarantee="exact").hidden(instance)
    return SuppressionProblem(
        instance, np.where(forced, 0, instance.weight), np.ones(instance.cells, bool), forced, exact_only=True
    )


@pytest.mark.parametrize("seed", range(4))
def test_exact_disclosure_is_bounded_by_equations_with_one_cell_at_risk(seed):
    table = grid(seed, (3, 4), 3)
    problem = exact_problem(table)
    demand = Demand.of_instance(problem.instance, problem.candidate)
    pool = CutPool(problem)
    pool.add(lone_cells(problem.instance.relations, demand, problem.forced))
    assert pool.derived and all(cut.least == 1 for cut in pool.derived)
    found = search(problem, Budget())
    assert pool.relaxed(Budget()).bound <= found.bound <= int(problem.cost[found.withheld].sum())


def test_who_knows_contributions_is_asked_nothing_beyond_the_levels():
    table = grid(2, (3, 4), 3)
    cell = int(table.sensitivity.unsafe[0])
    knows = cw.Attacker.knowing(table, "respondent", exactly=[cell])
    own = replace(knows, levels=table.sensitivity.levels)
    alone = search(exact_problem(table), Budget())
    beside = search(exact_problem(table, [cw.Attacker.external(), own]), Budget())
    insider = search(exact_problem(table, [cw.Attacker.external(), knows]), Budget())
    costs = [int(table.scaled[one.withheld].sum()) for one in (alone, beside, insider)]
    assert costs[0] == costs[1] <= costs[2]


def test_the_same_question_has_the_same_answer():
    table = grid(5, (7, 7), 9)
    first, second = (cw.CellSuppression().protect(table) for _ in range(2))
    assert first.publication.withheld.tolist() == second.publication.withheld.tolist()
    assert first.bound == second.bound


def test_time_that_is_up_leaves_a_safe_pattern_or_none():
    table = grid(6, (12, 12), 20)
    p = cw.CellSuppression().protect(table, time_limit_s=1)
    assert p.publication is None or (p.protected and p.release())


def test_rooms_of_some_cells_are_those_of_all():
    table = grid(4, (3, 4), 3)
    insiders = [cw.Attacker.knowing(table, f"insider {i}", exactly=[i, i + 3]) for i in range(3)]
    instance = Instance.of(table, attackers=[cw.Attacker.external(), *insiders])
    demand = Demand.of_instance(instance, np.ones(table.cells, bool))
    cells = np.array([0, 2, 4, 5, 9])
    for group in range(len(demand.groups)):
        chosen = np.arange(len(demand.groups)) == group
        assert np.array_equal(demand.rooms_of(group, cells), demand.rooms(chosen)[:, cells])


@pytest.mark.parametrize(
    ("shape", "levels", "known", "options", "least"),
    [
        ([[5, 7, 1], [1, 2, 0]], {4: (1, 2, 0), 7: (0, 0, 1), 9: (1, 1, 4)}, 7, {}, 29),
        ([[1, 0, 0], [7, 6, 2], [1, 2, 0]], {14: (0, 0, 1)}, 14, {"zeros": "candidates", "publish": [5, 12]}, 11),
    ],
)
def test_the_least_of_few_candidates_is_known(shape, levels, known, options, least):
    """Cuts of widths leave patterns that are not safe: all that are cheaper are tried."""
    table = cw.Table.from_array(shape)
    own = [np.array([one[k] for one in levels.values()]) for k in range(3)]
    table = table.with_sensitivity(Sensitivity.of(table.cells, np.array(list(levels)), *own))
    insider = cw.Attacker.knowing(table, "insider", exactly=[known])
    p = cw.CellSuppression(**options).protect(table, attackers=[cw.Attacker.external(), insider], weights="value")
    assert (p.status, p.objective_scaled) == ("optimal", least)
    assert p.certificate().check()


def test_tables_with_any_denominator_are_brought_to_exact_numbers():
    """x + y = total and x − y = 11·z − 13·w: a point in 143rds is read off; any other is taken in fine steps."""
    rows = [(0, [0, 1, 2], [1, 1, -1]), (0, [0, 1, 3, 4], [1, -1, -11, 13])]
    tables = CheapestWitness(Relations.from_rows(5, rows), Budget())
    z = np.array([50 / 143, 17 / 143, 67 / 143, 3 / 143, 0.0])
    made = tables.exact(z)
    assert made.denominator == 143 and made.shift.tolist() == [50, 17, 67, 3, 0]
    odd = np.array([2**0.5, 3**0.5, 2**0.5 + 3**0.5, (2**0.5 - 3**0.5) / 11, 0.0])
    near = tables.beside(odd)
    x, y, total, z, w = near.shift.tolist()
    assert (x + y, x - y, w) == (total, 11 * z, 0)
    assert np.all(np.abs(near.shift / near.denominator) <= np.abs(odd)) and x >= 0.999 * 2**0.5 * near.denominator
    uneven = CheapestWitness(Relations.from_rows(2, [(0, [0, 1], [2, 3])]), Budget())
    assert uneven.beside(np.array([3 * 2**0.5, -2 * 2**0.5])) is None  # neither follows from the other in whole numbers


def test_goals_are_set_further_only_where_there_is_room():
    goals = Goals(np.array([0, 1]), np.array([5.0, 5.0]), np.array([1.0, -1.0]))
    further = goals.beyond(np.array([[9.0, 5.0], [9.0, 9.0]]))
    assert further.level[0] > 5 and further.level[1] == 5


def test_tables_beyond_what_the_public_takes_for_possible_are_not_taken():
    table = grid(3, (3, 4), 3)
    problem = problem_of(table)
    demand = Demand.of_instance(problem.instance, problem.candidate | problem.forced)
    made = Construction(problem, demand, Budget(), np.random.default_rng(0), problem.forced.astype(float))
    shift = np.zeros(table.cells, np.int64)
    shift[0] = -(10**6)
    assert not made._take(Witness(shift)) and not made.pool.witnesses
    assert not made._take(None)


def test_neighbourhoods_make_a_pattern_cheaper_and_leave_it_safe():
    rng = np.random.default_rng(7)
    cube = cw.Table.from_array(rng.integers(1, 100, (4, 4, 4)))
    cells = np.sort(rng.choice(np.flatnonzero(cube.relations.height == 0), 8, replace=False))
    level = np.maximum(1, cube.scaled[cells] // 6)
    problem = problem_of(cube.with_sensitivity(Sensitivity.of(cube.cells, cells, level, level, 0 * level)))
    demand = Demand.of_instance(problem.instance, problem.candidate | problem.forced)
    made = Construction(problem, demand, Budget(), np.random.default_rng(0), problem.forced.astype(float))
    assert made.build()
    first = made.withheld_cost()
    Neighbourhoods(made).run(Budget(), 0)
    assert made.pool.many_open == 0 and made.withheld_cost() < first
    shown = show_levels(
        problem.instance, Withheld.of(problem.instance.a, np.flatnonzero(made.pattern)), Budget(), made.pool.witnesses
    )
    assert not shown.missing


def test_elimination_alone_gives_all_tables_of_a_system():
    relations = cw.Table.from_array(np.arange(1, 28).reshape(3, 3, 3)).relations
    form = eliminated(relations)
    assert not form.condition.shape[0]
    moves = form.matrix @ np.eye(len(form.leaves), dtype=np.int64)
    for move in moves.T:  # a table for each free cell, which it moves by one
        assert not relations.sums(relations.coefs * move[relations.indices]).any()
    assert len(form.leaves) == np.linalg.matrix_rank(moves) == 27
    assert np.array_equal(moves[form.leaves], np.eye(27))
