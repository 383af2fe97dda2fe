"""Least adjustment by flow: agrees with enumeration and with the LP of the papers, and its multipliers prove it in whole numbers."""

from __future__ import annotations

from dataclasses import replace
from fractions import Fraction
from itertools import product

import numpy as np
import pytest
from scipy.optimize import linprog
from scipy.sparse import csr_array, hstack

from cellward import Table
from cellward.audit.bound import prove_bound
from cellward.errors import SolverError
from cellward.exact import NO_BOUND
from cellward.instance import Instance
from cellward.protect.adjustment.flow import LeastFlow
from cellward.publication.allowed import AllowedSet
from cellward.solve.budget import Budget
from cellward.solve.flow import FAILURES, solve_flow
from cellward.table.array import margins
from cellward.table.relations import Relations

BIG = 10**9
WAYS = {
    "whole": LeastFlow(few=BIG),
    "sifted": LeastFlow(few=0, most=1.0, most_wrong=0),
    "repaired": LeastFlow(few=0, most=1.0, most_wrong=BIG, effort=BIG),
    "given up": LeastFlow(few=0, most=1.0, most_wrong=BIG, effort=1),
}
"""The ways to the answer: all cells at once; a few and more; a few and repairs; repairs that take too long."""


def least_flow(relations, lo, hi, weight, way=LeastFlow(), budget=None):  # noqa: B008
    return way.solve(relations, lo, hi, weight, budget or Budget())


def hierarchy(fans, columns):
    """A hierarchy of rows, fans[k] children a row of level k, by columns with their total last (columns=0: the hierarchy alone)."""
    parent, level = [-1], [0]
    for fan in fans:
        start = len(parent)
        parent += [p for p in level for _ in range(fan)]
        level = list(range(start, len(parent)))
    rows, width = len(parent), columns + 1
    equations = []
    for p in sorted(set(parent) - {-1}):
        children = [r for r in range(rows) if parent[r] == p]
        equations += [
            (0, [*(r * width + c for r in children), p * width + c], [*[1] * len(children), -1]) for c in range(width)
        ]
    if columns:
        equations += [(0, [r * width + c for c in range(width)], [*[1] * columns, -1]) for r in range(rows)]
    return Relations.from_rows(rows * width, equations)


def beside(*parts):
    """Tables that share nothing, the cells of one after those of another, and last a cell that is in no equation."""
    rows, cells = [], 0
    for part in parts:
        for j in range(part.equations):
            right, members, coefs = part.equation(j)
            rows.append((right, [cells + i for i in members], coefs))
        cells += part.cells
    return Relations.from_rows(cells + 1, rows)


SHAPES = {
    "2-D": lambda: margins((4, 5)),
    "wide": lambda: margins((3, 40)),
    "hierarchical": lambda: hierarchy((2, 3), 4),
    "deep": lambda: hierarchy((2, 2, 2), 2),
    "one-dimensional": lambda: hierarchy((3, 4), 0),
    "one column": lambda: hierarchy((2, 3), 1),
    "blocks": lambda: beside(margins((3, 3)), hierarchy((2, 2), 2), hierarchy((4,), 0)),
}


def problem(relations, seed, *, most=50, share=0.2, cap=True, scale=BIG):
    """Bounds and weights as adjustment has them: sensitive cells in random senses, zeros and some others fixed, weights 1/a."""
    rng = np.random.default_rng(seed)
    n = relations.cells
    form = relations.leaf_form
    u = np.rint(np.exp(rng.normal(2, 1.5, len(form.leaves)))).astype(np.int64) * (rng.random(len(form.leaves)) < 0.9)
    a = form.matrix @ u
    assert not relations.residual(a).any()
    lo, hi = -a, np.maximum(a, 3) if cap else np.full(n, NO_BOUND)
    kind = rng.random(n)
    level = np.maximum(a // 10, 1)
    up, down, fixed = kind < share / 2, (kind >= share / 2) & (kind < share), (kind > 0.95) | (a == 0)
    lo, hi = np.where(up, level, lo), np.where(down, -level, hi)
    lo = np.where(down, np.minimum(lo, hi), lo)
    lo, hi = np.where(fixed, 0, lo), np.where(fixed, 0, hi)
    return lo, hi, np.maximum(scale // np.maximum(a, 1), 1)


def lp(relations, lo, hi, weight):
    """The papers' form: min Σ w·(z⁺ + z⁻), M·(z⁺ − z⁻) = 0; the value, or None where there is no z."""
    m = csr_array(
        (relations.coefs.astype(float), relations.indices, relations.indptr), (relations.equations, relations.cells)
    )
    bounds = [
        (max(low, 0), None if high >= NO_BOUND else max(high, 0))
        for low, high in zip(lo.tolist(), hi.tolist(), strict=True)
    ]
    bounds += [(max(-high, 0), max(-low, 0)) for low, high in zip(lo.tolist(), hi.tolist(), strict=True)]
    unit = float(np.median(weight))
    found = linprog(
        np.concatenate((weight, weight)) / unit, A_eq=hstack((m, -m)), b_eq=np.zeros(relations.equations), bounds=bounds
    )
    assert found.status in (0, 2)
    return found.fun * unit if found.status == 0 else None


def check(relations, lo, hi, weight, answer):
    """Additive, within bounds, and proven least: L(λ) = cost for the answer's own multipliers, in Python's integers."""
    z = answer.z
    assert z.dtype == np.int64 and np.all((lo <= z) & (z <= hi))
    assert np.array_equal(relations.residual(z), -relations.rhs)
    assert answer.cost == sum(w * abs(x) for w, x in zip(weight.tolist(), z.tolist(), strict=True))
    c = [0] * relations.cells
    multipliers = answer.multipliers.tolist()
    for j in range(relations.equations):
        _, members, coefs = relations.equation(j)
        for i, coef in zip(members, coefs, strict=True):
            c[i] += coef * multipliers[j]
    bound = 0
    for low, high, w, ci, x in zip(lo.tolist(), hi.tolist(), weight.tolist(), c, z.tolist(), strict=True):
        assert abs(ci) <= w or (high < NO_BOUND if ci > 0 else low > -NO_BOUND)
        ends = [low if low > -NO_BOUND else x, high if high < NO_BOUND else x, min(max(0, low), high)]
        bound += min(w * abs(y) - ci * y for y in ends)
    assert bound == answer.cost


@pytest.fixture(params=WAYS)
def way(request):
    return WAYS[request.param]


@pytest.mark.parametrize("shape", SHAPES)
def test_agrees_with_the_lp(shape, way):
    relations = SHAPES[shape]()
    solved = 0
    for seed in range(12):
        share = (0.1, 0.2, 0.4)[seed % 3]
        lo, hi, weight = problem(relations, seed, share=share, cap=seed % 2 == 0)
        expected = lp(relations, lo, hi, weight)
        answer = least_flow(relations, lo, hi, weight, way)
        if expected is None:
            assert (answer.status, answer.z, answer.cost) == ("infeasible", None, None)
            continue
        solved += 1
        assert answer.status == "optimal" and answer.cost == pytest.approx(expected, rel=1e-7)
        check(relations, lo, hi, weight, answer)
    assert solved


def test_agrees_with_enumeration(way):
    relations = margins((2, 2))
    form = relations.leaf_form
    leaves = np.array(list(product(range(-4, 5), repeat=len(form.leaves))))
    every = leaves @ form.matrix.T.toarray()
    for seed in range(25):
        rng = np.random.default_rng(seed)
        lo, hi = rng.integers(-4, 1, 9), rng.integers(0, 5, 9)
        some = rng.integers(0, 9, 2)
        hi[some[0]], lo[some[0]] = 3, 2
        lo[some[1]], hi[some[1]] = -3, -1
        lo[form.leaves], hi[form.leaves] = np.maximum(lo[form.leaves], -4), np.minimum(hi[form.leaves], 4)
        weight = rng.integers(0, 8, 9) * 10 ** rng.integers(0, 8, 9)
        inside = every[np.all((every >= lo) & (every <= hi), axis=1)]
        answer = least_flow(relations, lo, hi, weight, way)
        if not len(inside):
            assert answer.status == "infeasible"
            continue
        assert answer.cost == int((np.abs(inside) @ weight).min())
        check(relations, lo, hi, weight, answer)


def test_equal_weights_and_weights_of_0(way):
    relations = margins((6, 30))
    for seed in range(6):
        lo, hi, weight = problem(relations, seed, share=0.1)
        weight = (
            np.zeros_like(weight)
            if seed == 0
            else np.where(np.arange(len(weight)) % 7 < seed, 0, 1)
            if seed < 5
            else weight * 0 + 1
        )
        answer = least_flow(relations, lo, hi, weight, way)
        if answer.status == "infeasible":
            assert lp(relations, lo, hi, weight + 1) is None
        else:
            check(relations, lo, hi, weight, answer)


def test_a_larger_table_is_sifted_as_it_comes():
    relations = hierarchy((6, 12), 30)
    lo, hi, weight = problem(relations, 4, share=0.05, cap=False)
    arcs = []

    def seen(model, **options):
        arcs.append(model.arcs)
        return solve_flow(model, **options)

    answer = least_flow(relations, lo, hi, weight, LeastFlow(solver=seen))
    check(relations, lo, hi, weight, answer)
    assert arcs and arcs[0] < relations.cells
    assert least_flow(relations, lo, hi, weight, LeastFlow(few=BIG, solver=seen)).cost == answer.cost
    assert arcs[-1] > relations.cells


def test_margins_that_stay(way):
    """With all totals fixed only inner cells move, and every one of them has room for little."""
    relations = margins((8, 30))
    rng = np.random.default_rng(5)
    total = np.zeros((9, 31), bool)
    total[-1], total[:, -1] = True, True
    lo = np.where(total.ravel(), 0, -rng.integers(2, 9, total.size))
    hi, weight = -lo, rng.integers(1, BIG, total.size)
    inner = np.flatnonzero(~total.ravel())
    lo[inner[:40:9]] = 2
    answer = least_flow(relations, lo, hi, weight, way)
    assert answer.cost == pytest.approx(lp(relations, lo, hi, weight), rel=1e-7)
    check(relations, lo, hi, weight, answer)
    hi[inner[1:20:3]] = -2
    lo[inner[1:20:3]] = -9
    lo[inner[::2]], hi[inner[::2]] = 0, 0
    again = least_flow(relations, lo, hi, weight, way)
    expected = lp(relations, lo, hi, weight)
    assert (again.status == "infeasible") if expected is None else again.cost == pytest.approx(expected, rel=1e-7)


def test_nothing_asked_nothing_moved():
    relations = margins((3, 3))
    lo, hi = np.full(16, -NO_BOUND), np.full(16, NO_BOUND)
    answer = least_flow(relations, lo, hi, np.ones(16, np.int64))
    assert answer.status == "optimal" and answer.cost == 0 and not answer.z.any()
    check(relations, lo, hi, np.ones(16, np.int64), answer)


def test_unbounded_cells():
    relations = margins((2, 3))
    lo, hi = np.full(12, -NO_BOUND), np.full(12, NO_BOUND)
    lo[0], hi[5] = 1000, -7
    weight = np.arange(1, 13)
    answer = least_flow(relations, lo, hi, weight)
    check(relations, lo, hi, weight, answer)
    limit = np.full(12, 10**6)
    assert answer.cost == pytest.approx(lp(relations, np.maximum(lo, -limit), np.minimum(hi, limit), weight))


@pytest.mark.parametrize("shape", SHAPES)
def test_one_cell_pushes_everything_one_way(shape):
    """All of the supply may pass through one arc; its multipliers must prove the answer without a limit on that arc."""
    relations = SHAPES[shape]()
    for seed in range(15):
        rng = np.random.default_rng(seed)
        lo, hi = np.full(relations.cells, -NO_BOUND), np.full(relations.cells, NO_BOUND)
        lo[rng.integers(relations.cells)] = rng.integers(1, 9)
        weight = rng.integers(0, 3, relations.cells) if seed % 2 else rng.integers(1, BIG, relations.cells)
        check(relations, lo, hi, weight, least_flow(relations, lo, hi, weight))


def test_a_cell_in_no_equation_moves_by_itself():
    relations = beside(margins((2, 2)))
    lo, hi = np.zeros(10, np.int64), np.zeros(10, np.int64)
    lo[-1], hi[-1] = -9, -4
    answer = least_flow(relations, lo, hi, np.full(10, 3))
    assert answer.z.tolist() == [0] * 9 + [-4] and answer.cost == 12


def test_senses_without_a_table(way):
    relations = margins((2, 2))
    lo, hi = np.full(9, -5), np.full(9, 5)
    lo[[0, 1]], hi[2] = 3, 1  # both cells of a row rise, and their total must not
    assert least_flow(relations, lo, hi, np.ones(9, np.int64), way).status == "infeasible"
    lo[4], hi[4] = 2, 1
    assert least_flow(relations, lo, hi, np.ones(9, np.int64), way).status == "infeasible"


def test_no_time_no_answer():
    relations = margins((4, 5))
    lo, hi, weight = problem(relations, 0, share=0.1)
    answer = least_flow(relations, lo, hi, weight, budget=Budget(time_limit_s=1e-9))
    assert (answer.status, answer.z) == ("unknown", None)


def test_what_is_no_network_is_left_to_others():
    relations = margins((3, 3, 3))
    lo, hi = np.full(64, -5), np.full(64, 5)
    assert least_flow(relations, lo, hi, np.ones(64, np.int64)) is None


def test_numbers_beyond_64_bits_are_left_to_others():
    relations = margins((4, 5))
    lo, hi, weight = problem(relations, 2, share=0.1)
    assert least_flow(relations, lo, hi, weight << 29) is None
    far = np.where(lo > 0, lo << 52, lo)
    assert least_flow(relations, far, np.where(hi < 0, hi, NO_BOUND), weight) is None

    def refuse(model, **_):
        raise SolverError(f"OR-tools gave no answer: {FAILURES[reason]}.")

    refusing = LeastFlow(solver=refuse)
    reason = "BAD_COST_RANGE"
    assert least_flow(relations, lo, hi, weight, refusing) is None
    reason = "BAD_RESULT"
    with pytest.raises(SolverError):
        least_flow(relations, lo, hi, weight, refusing)


def test_wide_weights_are_exact(way):
    relations = hierarchy((3, 4), 5)
    for seed in range(5):
        lo, hi, weight = problem(relations, seed, share=0.1, scale=10**15)
        answer = least_flow(relations, lo, hi, weight, way)
        if answer.status == "optimal":
            check(relations, lo, hi, weight, answer)


@pytest.mark.parametrize("fault", ["dearer", "unbalanced"])
def test_a_flow_that_is_not_the_least_is_refused(fault):
    relations = margins((4, 5))
    lo, hi, weight = problem(relations, 0, share=0.1)

    def wrong(model, **options):
        if fault == "dearer":
            outcome = solve_flow(replace(model, cost=model.cost.max() - model.cost), **options)
            return replace(outcome, objective=float(model.cost @ outcome.x.astype(np.int64)))
        outcome = solve_flow(model, **options)
        x = outcome.x.copy()
        x[0] += 1
        return replace(outcome, x=x)

    with pytest.raises(SolverError, match="nothing is released"):
        least_flow(relations, lo, hi, weight, LeastFlow(solver=wrong))


def test_the_certificates_own_proof_covers_it():
    """prove_bound finds potentials for v = a + z by itself."""
    rng = np.random.default_rng(8)
    table = Table.from_array(rng.integers(1, 60, (6, 7)))
    instance = replace(Instance.of(table), weight=BIG // table.scaled, weight_decimals=9)
    a = instance.a
    lo, hi = -a // 2, a // 2
    lo[3], hi[10], lo[20] = 5, -4, 6
    answer = least_flow(instance.relations, lo, hi, instance.weight)
    allowed = AllowedSet(a + lo, a + hi, np.ones_like(a))
    proof = prove_bound(instance, allowed, v=a + answer.z)
    assert proof.value == Fraction(answer.cost) and proof.nodes == 1
