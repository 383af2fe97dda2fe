"""Cells that move alike are one cell to the search: ties, the merged problem, and cuts and patterns taken back."""

import numpy as np
import pytest
from safe_patterns import is_safe, least

import cellward as cw
from cellward.exact import NO_BOUND
from cellward.instance import Instance
from cellward.protect.suppression import search as searching
from cellward.protect.suppression.cut_pool import CutPool
from cellward.protect.suppression.merging import Merged
from cellward.protect.suppression.problem import CapacityCut, SuppressionProblem
from cellward.protect.suppression.search import search
from cellward.protect.suppression.ties import GROUND, Ties
from cellward.protect.suppression.whole_cuts import WholeCuts
from cellward.solve.budget import Budget
from cellward.table.relations import Relations
from cellward.table.sensitivity import Sensitivity


def table_of(rows, a):
    """A table of equations whose cells add up to nothing."""
    matrix = np.zeros((len(rows), len(a)), int)
    for j, row in enumerate(rows):
        for i, coef in row.items():
            matrix[j, i] = coef
    return cw.Table.from_equations(np.array(a), matrix)


def tied(seed, spl=0):
    """Two by two leaves with their margins, one of which is the only child of another, which a second table states once more."""
    rng = np.random.default_rng([seed, 60])
    leaf = rng.integers(0 if seed % 4 == 3 else 1, 9, 4)
    east, west = int(leaf[0] + leaf[1]), int(leaf[2] + leaf[3])
    north, south = int(leaf[0] + leaf[2]), int(leaf[1] + leaf[3])
    #    0-3 leaves, 4 east, 5 west, 6 north, 7 south, 8 total, 9 = 4 (one child), 10 = 0 + 1 again, 11 = 3
    a = [*leaf.tolist(), east, west, north, south, east + west, east, east, int(leaf[3])]
    rows = [
        {0: 1, 1: 1, 4: -1}, {2: 1, 3: 1, 5: -1}, {0: 1, 2: 1, 6: -1}, {1: 1, 3: 1, 7: -1}, {6: 1, 7: 1, 8: -1}, {9: 1, 5: 1, 8: -1},
        {4: 1, 9: -1}, {0: 1, 1: 1, 10: -1}, {3: -1, 11: 1}, {2: 1, 11: 1, 5: -1},
    ]  # fmt: skip
    table = table_of(rows, a)
    cells = np.sort(rng.choice([i for i in (0, 3, 5, 9, 11) if a[i]], 2, replace=False))
    lpl, upl = (np.minimum(rng.integers(1, 3, 2), np.array(a)[cells]) for _ in range(2))
    return table.with_sensitivity(Sensitivity.of(table.cells, cells, lpl, upl, np.full(2, spl)))


def problem_of(table, attackers=None, **options):
    instance = Instance.of(table, weights="value", attackers=attackers)
    method = cw.CellSuppression(**options)
    forced = method.hidden(instance)
    return SuppressionProblem(instance, np.where(forced, 0, instance.weight), method.candidate(instance), forced)


def attackers_of(table, seed):
    """The public, and a singleton or a holding who knows cells exactly or in part."""
    kind, cell = seed % 3, int(table.sensitivity.unsafe[0])
    if not kind:
        return None
    if kind == 1:
        return [cw.Attacker.external(), cw.Attacker.knowing(table, "singleton", exactly=[2])]
    knows = {i: max(int(table.scaled[i]) - 1, 0) for i in (cell, 7)}
    return [cw.Attacker.external(), cw.Attacker.knowing(table, "holding", lower=knows)]


def test_ties_are_found_in_equations_of_two_in_pairs_and_where_cells_are_printed():
    table = tied(0)
    ties = Ties(table.relations, np.ones(table.cells, bool))
    assert ties.label[4] == ties.label[9] == ties.label[10] and ties.label[3] == ties.label[11]
    assert len(set(ties.label.tolist())) == 9
    live = np.ones(table.cells, bool)
    live[[0, 6]] = False  # so that 2 cannot move, 1 moves as 4 does, and 7 as the total
    still = Ties(table.relations, live)
    assert [int(still.label[i]) for i in (0, 2, 6)] == [GROUND] * 3
    assert still.label[1] == still.label[4] == still.label[9] == still.label[10]
    assert still.label[7] == still.label[8] and still.label[5] == still.label[3]


def test_what_is_said_of_a_class_is_gathered_in_one_cell():
    table, rng = tied(1), np.random.default_rng(0)
    live = np.ones(table.cells, bool)
    live[[0, 6]] = False
    for flags in (np.ones(table.cells, bool), live):
        ties = Ties(table.relations, flags)
        for _ in range(20):
            slope = {int(i): int(x) for i, x in enumerate(rng.integers(-3, 4, table.cells)) if x and flags[i]}
            total: dict[int, int] = {}
            for i, x in slope.items():
                total[int(ties.label[i])] = total.get(int(ties.label[i]), 0) + x
            target = {label: int(rng.choice(np.flatnonzero(ties.label == label))) for label in total}
            before = dict(slope)
            used = ties.gathered(slope, lambda label, target=target: target.get(label, label))
            assert slope == {target[label]: x for label, x in total.items() if x and label != GROUND}
            added = ties.slope(tuple(used.items()))
            after = {i: before.get(i, 0) + added.get(i, 0) for i in before.keys() | added.keys()}
            assert {i: x for i, x in after.items() if x} == slope


def test_equations_that_only_look_alike_tie_nothing():
    """2·x = 2·y, x + y = 0 and equations with other coefficients are left as they are."""
    rows = [(0, [0, 1], [2, -2]), (0, [2, 3], [1, 1]), (0, [0, 4, 5], [1, 1, -1]), (0, [0, 4, 6], [1, 2, -1])]
    assert not Ties(Relations.from_rows(7, rows), np.ones(7, bool)).steps


@pytest.mark.parametrize("seed", range(24))
def test_merged_or_not_the_least_pattern_is_the_same(seed, monkeypatch):
    table = tied(seed, spl=seed % 2 * 4)
    options = ({}, {"publish": [1]}, {"withhold": [10]}, {"forbidden": [7], "zeros": "candidates"})[seed // 6]
    problem = problem_of(table, attackers_of(table, seed), **options)
    merged = Merged.of(problem)
    found = search(problem, Budget())
    monkeypatch.setattr(searching.Merged, "of", lambda _: None)
    plain = search(problem, Budget())
    best = least(problem.instance, problem.candidate, problem.forced)
    assert (found.status == "infeasible") == (plain.status == "infeasible") == (best is None)
    if best is None:
        proofs = [CutPool(problem), CutPool(problem)]
        for proof, one in zip(proofs, (found, plain), strict=True):
            proof.add(one.cuts)
        assert proofs[0].refuted >= proofs[1].refuted
        return
    cost = int(problem.cost[found.withheld].sum())
    assert found.bound <= best <= cost and is_safe(problem.instance, tuple(found.withheld.tolist()))
    if not seed % 2:
        assert (found.status, cost, int(problem.cost[plain.withheld].sum())) == ("optimal", best, best)
    assert merged is None or (merged.problem.instance.cells < table.cells and np.all(found.withheld[problem.forced]))


@pytest.mark.parametrize("seed", range(12))
def test_cuts_taken_back_hold_and_prove_as_much_as_those_of_the_merged_problem(seed):
    table = tied(seed)
    problem = problem_of(table, attackers_of(table, seed))
    merged = Merged.of(problem)
    if merged is None:
        return
    back = WholeCuts(problem, merged.problem, merged.ties, merged.place, merged.equation)
    pool, whole = CutPool(merged.problem), CutPool(problem)
    inner = searching._Search(merged.problem, Budget())
    inner.run()
    pool.add(inner.pool.stated)
    for cut, made in zip(pool.stated, pool.derived, strict=True):
        derived = whole.derive(back.cut(cut))
        assert derived is not None and derived.least == made.least
        mine = {int(merged.place[i]): coef for i, coef in derived.row.items()}
        assert mine == dict(made.row)
    p = cw.CellSuppression().protect(table, attackers=attackers_of(table, seed), weights="value")
    assert p.status == "infeasible" or (p.release() and p.certificate().check())


def test_certified_bounds_count_all_tied_cells():
    """A total with one child, printed twice: either costs, and the certificate proves both."""
    rows = [{0: 1, 1: 1, 2: -1}, {2: 1, 3: -1}, {1: 1, 4: -1}]
    table = table_of(rows, [5, 7, 12, 12, 7])
    table = table.with_sensitivity(Sensitivity.of(5, np.array([0]), *(np.array([x]) for x in (2, 2, 0))))
    p = cw.CellSuppression().protect(table, weights="value")
    assert (p.status, p.objective_scaled, p.certified_bound) == ("optimal", 14, 14)
    assert p.publication.withheld.tolist() == [True, True, False, False, True]
    assert p.certificate().check().proven
    beside = table.with_sensitivity(Sensitivity.of(5, np.array([2]), *(np.array([x]) for x in (2, 2, 0))))
    p = cw.CellSuppression().protect(beside, weights="value")  # the child of the one at risk goes with it: 12 of the 17
    assert (p.status, p.objective_scaled, p.certified_bound) == ("optimal", 17, 17)


def test_a_cell_tied_to_one_that_is_printed_or_known_is_left_to_the_whole_problem():
    rows = [{0: 1, 1: 1, 2: -1}, {2: 1, 3: -1}]
    table = table_of(rows, [5, 7, 12, 12])
    table = table.with_sensitivity(Sensitivity.of(4, np.array([2]), *(np.array([x]) for x in (2, 2, 0))))
    printed = problem_of(table, publish=[3])
    assert Merged.of(printed) is None and search(printed, Budget()).status == "infeasible"
    knows = [cw.Attacker.external(), cw.Attacker.knowing(table, "insider", exactly=[3])]
    known = problem_of(table, knows)
    assert Merged.of(known) is None and search(known, Budget()).status == "infeasible"
    p = cw.CellSuppression(publish=[3]).protect(table)
    assert p.status == "infeasible" and p.certificate().check().proven


def test_bounds_without_an_end_and_the_tightest_of_each_class_are_kept():
    table = cw.Table.from_equations(np.array([5, 7, 12, 12]), np.array([[1, 1, -1, 0], [0, 0, 1, -1]]))
    table = table.with_sensitivity(Sensitivity.of(4, np.array([0]), *(np.array([x]) for x in (1, 1, 0))))
    problem = problem_of(table)
    own = problem.instance
    lower, upper = np.array([-NO_BOUND, 0, 3, 4]), np.array([9, NO_BOUND, 30, 20])
    instance = Instance(
        relations=own.relations, a=own.a, decimals=0, lower=lower, upper=upper, weight=own.weight, weight_decimals=0,
        sensitivity=own.sensitivity, labels=own.labels, attackers=own.attackers,
    )  # fmt: skip
    merged = Merged.of(SuppressionProblem(instance, problem.cost, problem.candidate, problem.forced)).problem.instance
    assert merged.lower.tolist() == [-NO_BOUND, 0, 4] and merged.upper.tolist() == [9, NO_BOUND, 20]


def test_bridges_are_taken_back_to_cells_that_are_free():
    table = tied(0)
    problem = problem_of(table)
    merged = Merged.of(problem)
    back = WholeCuts(problem, merged.problem, merged.ties, merged.place, merged.equation)
    free = CutPool(merged.problem).free
    for q in range(merged.problem.instance.relations.equations):
        _, members, _ = merged.problem.instance.relations.equation(q)
        if all(free[c] for c in members):
            cut = CapacityCut(0, members[0], "bridge", ((q, 1),), 1)
            derived = back.pool.derive(back.cut(cut))
            assert sorted(derived.row.values()) == [-1, *[1] * (len(members) - 1)]
