"""Interior point: against linear programs and closed forms; what has no answer is called unknown."""

import numpy as np
import pytest
from scipy.optimize import linprog
from scipy.sparse import csr_matrix

import cellward as cw
from cellward.solve.interior import Rows, interior_point
from cellward.table.relations import Relations


def solve(relations, lo, hi, absolute, square=None, **options):
    form = relations.compact
    n = form.classes
    place = np.argsort(form.of)  # no cells of these tables move alike
    turned, lo, hi, absolute = form.sign[place] < 0, lo[place], hi[place], absolute[place]
    square = np.zeros(n) if square is None else square[place]
    low, high = np.where(turned, -hi, lo), np.where(turned, -lo, hi)
    answer = interior_point(
        form.matrix, form.condition, form.rhs, form.constant, Rows.box(low, high),
        absolute=absolute, square=square, **options,
    )  # fmt: skip
    return answer, form.cells(answer.x)


def random_problem(seed):
    rng = np.random.default_rng(seed)
    relations = cw.Table.from_array(rng.integers(1, 50, (3, 4))).relations
    n = relations.cells
    lo, hi = -rng.uniform(5, 50, n), rng.uniform(5, 50, n)
    at = rng.choice(n, 3, replace=False)
    lo[at], hi[at] = 2.0, 60.0
    return relations, lo, hi, rng.uniform(0.1, 2, n)


@pytest.mark.parametrize("seed", range(20))
def test_least_sums_of_absolute_values(seed):
    relations, lo, hi, w = random_problem(seed)
    m = csr_matrix((relations.coefs, relations.indices, relations.indptr), (relations.equations, relations.cells))
    bounds = list(zip(np.maximum(lo, 0), np.maximum(hi, 0), strict=True)) + list(
        zip(np.maximum(-hi, 0), np.maximum(-lo, 0), strict=True)
    )
    exact = linprog(
        np.concatenate((w, w)),
        A_eq=np.hstack((m.toarray(), -m.toarray())),
        b_eq=np.zeros(relations.equations),
        bounds=bounds,
    )
    answer, z = solve(relations, lo, hi, w)
    if exact.status == 2:
        assert answer.status == "unknown"
        return
    assert answer.status == "optimal"
    assert answer.objective == pytest.approx(exact.fun, rel=1e-7)
    assert np.abs(m @ z).max() < 1e-7 and np.all(z >= lo - 1e-6) and np.all(z <= hi + 1e-6)


def test_least_squares_of_one_sum():
    relations = Relations.from_rows(3, [(0, [0, 1, 2], [1, 1, -1])])
    lo, hi = np.array([-9.0, -9.0, 4.0]), np.full(3, 9.0)
    w = np.array([1 / 12, 1 / 8, 1 / 20])
    answer, z = solve(relations, lo, hi, np.zeros(3), square=w)
    assert answer.status == "optimal" and z == pytest.approx([2.4, 1.6, 4.0], abs=1e-6)


def test_bounds_that_grow():
    """min τ with |z| ≤ τ for two cells that add up to 4."""
    relations = Relations.from_rows(3, [(0, [0, 1, 2], [1, 1, -1])])
    form = relations.compact
    sum_class = form.of[2]
    low, high = np.full(3, -9.0), np.full(3, 9.0)
    low[sum_class] = 4.0 * form.sign[2]
    high[sum_class] = max(low[sum_class], 9.0) if form.sign[2] > 0 else low[sum_class] + 1e-6
    rows = Rows.box(low, high)
    slope = np.where(np.arange(3) == sum_class, np.inf, 1.0)
    answer = interior_point(
        form.matrix, form.condition, form.rhs, form.constant, Rows.joined(rows, Rows.caps(slope, 0)),
        absolute=np.zeros(3), square=np.zeros(3), grow_cost=np.ones(1),
    )  # fmt: skip
    assert answer.status == "optimal" and answer.tau[0] == pytest.approx(2.0, abs=1e-6)


def test_no_point_at_all_is_unknown():
    relations = Relations.from_rows(3, [(0, [0, 1, 2], [1, 1, -1])])
    answer, _ = solve(relations, np.array([3.0, 3.0, -1.0]), np.array([9.0, 9.0, 1.0]), np.ones(3))
    assert answer.status == "unknown"
