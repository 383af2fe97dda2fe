"""Least squares in a box, against an active-set search by exact conditions, and the sums it works with."""

import math

import numpy as np
import pytest
from scipy.optimize import linprog, lsq_linear
from scipy.sparse import csr_matrix

import cellward as cw
from cellward.errors import InputError
from cellward.solve.budget import NO_TIME, Budget
from cellward.solve.least_squares import least_squares
from cellward.table.array import margins
from cellward.table.leaf_sums import AxisSums, SparseSums, leaf_sums
from cellward.table.relations import Relations

SHAPES = [(1,), (7,), (3, 4), (1, 5), (2, 3, 4), (1, 2, 1), (2, 3, 2, 3)]
INF = math.inf


def equations_of(relations):
    return csr_matrix(
        (relations.coefs.astype(float), relations.indices, relations.indptr),
        shape=(relations.equations, relations.cells),
    )


def every_form(shape):
    """The same sums: over axes, by the table's equations, by its leaf form."""
    relations = margins(shape)
    form = relations.leaf_form
    return (
        AxisSums(shape),
        SparseSums(form.matrix, form.leaves, equations_of(relations)),
        SparseSums(form.matrix, form.leaves),
    )


def random_problem(seed):
    """A small table with random weights and bounds, sensitive and fixed cells among them; it may be infeasible."""
    rng = np.random.default_rng(seed)
    axes = int(rng.integers(1, 5))
    shape = tuple(int(size) for size in rng.integers(1, {1: 20, 2: 8, 3: 5, 4: 4}[axes], axes))
    a = np.round(rng.lognormal(rng.uniform(1, 4), rng.uniform(0.2, 1.5), shape))
    for axis in range(axes):
        a = np.concatenate((a, a.sum(axis=axis, keepdims=True)), axis=axis)
    a = a.ravel()
    cap, level = rng.choice([1e6, 1.0, 0.1]), rng.uniform(0.01, 0.3)
    lo, hi = -a * min(cap, 1.0), cap * (a + 0.1)
    if rng.random() < 0.5:
        hi[:] = INF
    sensitive = (rng.random(a.size) < rng.uniform(0, 0.4)) & (a > 0)
    upwards = rng.random(a.size) < rng.choice([0.5, 0.8, 1.0])
    up, down = sensitive & upwards, sensitive & ~upwards
    lo[up], hi[up] = level * a[up], INF
    lo[down], hi[down] = -a[down], -level * a[down]
    fixed = ~sensitive & (rng.random(a.size) < rng.choice([0.0, 0.1]))
    lo[fixed] = hi[fixed] = 0.0
    return shape, 1 / np.maximum(a, 1) ** rng.choice([0, 1]), lo, hi


def conditions(matrix, w, lo, hi, found):
    """The residuals of the optimality conditions, by dense algebra: equations, bounds, stationarity, signs and slackness."""
    z, force = found.x, found.multipliers
    scale = max(1.0, float(np.abs(2 * w * z).max()), float(np.abs(force).max()))
    held = np.where(force > 0, lo, np.where(force < 0, hi, z))
    return max(
        float(np.abs(matrix @ found.u - z).max()) / max(1.0, float(np.abs(z).max())),
        float(np.maximum(lo - z, z - hi).max()) / max(1.0, float(np.abs(z).max())),
        float(np.abs(matrix.T @ (2 * w * z - force)).max()) / scale,
        float(np.abs(force * (z - held)).sum()) / max(1e-9, found.objective),
    )


@pytest.mark.parametrize("shape", SHAPES)
def test_sums_over_axes_are_the_sums_of_the_leaf_form(shape):
    rng = np.random.default_rng(1)
    axis, equations, plain = every_form(shape)
    u, g = rng.normal(size=len(plain.leaves)), rng.normal(size=axis.cells)
    assert axis.leaves.tolist() == plain.leaves.tolist() == equations.leaves.tolist()
    for other in (equations, plain):
        assert np.allclose(axis.up(u), other.up(u))
        assert np.allclose(axis.down(g), other.down(g))
    assert axis.equations == plain.equations == axis.cells - len(u)


@pytest.mark.parametrize("shape", SHAPES)
def test_sums_fit_together(shape):
    rng = np.random.default_rng(2)
    for sums in every_form(shape):
        u, g, x = (rng.normal(size=n) for n in (len(sums.leaves), sums.cells, sums.cells))
        y, d = rng.normal(size=sums.equations), rng.random(sums.cells)
        assert sums.up(u) @ g == pytest.approx(u @ sums.down(g))
        assert sums.restored(sums.arranged(x)).tolist() == x.tolist()
        assert sums.at_leaves(sums.arranged(x)).tolist() == x[sums.leaves].tolist()
        z = sums.arranged(sums.up(u))
        assert np.abs(sums.sweep(y, lambda block, _, z=z: z[block])).max() < 1e-12 * max(1, np.abs(z).max()) * len(u)
        # K·diag(d)·Kᵀ is symmetric and has the diagonal stated
        unit = np.eye(sums.equations)
        square = np.array([sums.sweep(e, lambda block, pull, d=d: pull * d[block]) for e in unit])
        assert np.allclose(square, square.T)
        assert np.allclose(np.diag(square), sums.diagonal(d))
        pulls = np.empty(sums.cells)

        def keep(block, pull, pulls=pulls):
            pulls[block] = pull
            return pull

        image = sums.sweep(y, keep)
        assert y @ image == pytest.approx(pulls @ pulls)
        assert np.abs(sums.down(sums.restored(pulls))).max() < 1e-12 * max(1, np.abs(y).max()) * sums.cells


def test_blocks_of_an_array_make_no_difference(monkeypatch):
    shape, rng = (7, 3, 2), np.random.default_rng(3)
    sums = AxisSums(shape)
    y, d = rng.normal(size=sums.equations), rng.random(sums.cells)
    whole = sums.sweep(y, lambda block, pull: pull * d[block])
    monkeypatch.setattr("cellward.table.leaf_sums.BLOCK", 12)
    assert np.allclose(sums.sweep(y, lambda block, pull: pull * d[block]), whole)
    assert np.allclose(sums.down(d), every_form(shape)[1].down(d))


def test_a_table_from_an_array_knows_its_shape():
    relations = cw.Table.from_array(np.arange(24).reshape(2, 3, 4)).relations
    sums = leaf_sums(relations)
    assert isinstance(sums, AxisSums)
    assert sums.shape == (2, 3, 4)
    assert "leaf_form" not in relations.__dict__
    assert isinstance(leaf_sums(relations.take(np.arange(5))), SparseSums)
    assert relations.permuted(np.arange(relations.cells)[::-1].copy()).array_shape is None


def test_equations_without_a_unit_coefficient_are_refused():
    with pytest.raises(InputError, match="coefficient 1 or -1"):
        leaf_sums(Relations.from_rows(3, [(0, [0, 1, 2], [2, 3, -5])]))


def test_leaves_must_have_unit_rows():
    with pytest.raises(InputError, match="unit vector"):
        SparseSums(np.array([[2, 0], [0, 1], [1, 1]]), np.array([0, 1]))


@pytest.mark.parametrize("seed", range(120))
def test_answers_are_optimal_or_unknown_as_feasibility_says(seed):
    shape, w, lo, hi = random_problem(seed)
    relations = margins(shape)
    matrix = relations.leaf_form.matrix
    rows = equations_of(relations)
    possible = linprog(np.zeros(len(w)), A_eq=rows, b_eq=np.zeros(rows.shape[0]), bounds=np.c_[lo, hi]).status == 0
    found = least_squares(every_form(shape)[seed % 3], w, lo, hi)
    assert (found.status == "optimal") == possible
    if possible:
        assert conditions(matrix, w, lo, hi, found) < 1e-5
        assert max(found.gap, found.residual, found.stationarity, found.complementarity) <= 1e-7
        assert found.objective == pytest.approx(float(w @ found.x**2))
    else:
        assert max(found.gap, found.residual, found.stationarity, found.complementarity) > 1e-7


@pytest.mark.parametrize("seed", range(20))
def test_objective_is_that_of_another_method(seed):
    """Bounds on leaves alone make it an ordinary bounded least-squares problem."""
    rng = np.random.default_rng(seed)
    shape = (3, 4)
    sums = AxisSums(shape)
    w = rng.uniform(0.01, 1, sums.cells)
    lo, hi = np.full(sums.cells, -INF), np.full(sums.cells, INF)
    middle = rng.normal(0, 2, len(sums.leaves))
    lo[sums.leaves], hi[sums.leaves] = middle - rng.random(len(middle)), middle + rng.random(len(middle))
    matrix = margins(shape).leaf_form.matrix.toarray()
    other = lsq_linear(
        np.sqrt(w)[:, None] * matrix, np.zeros(sums.cells), (lo[sums.leaves], hi[sums.leaves]), tol=1e-13
    )
    found = least_squares(sums, w, lo, hi, accuracy=1e-9)
    assert found.status == "optimal"
    assert found.objective == pytest.approx(2 * other.cost, rel=1e-8)
    assert np.allclose(found.u, other.x, atol=1e-5)


def test_any_prices_prove_a_bound():
    shape, w, lo, hi = random_problem(4)
    best = least_squares(AxisSums(shape), w, lo, hi)
    assert best.status == "optimal"
    rng = np.random.default_rng(0)
    for size in (1e-3, 1.0, 1e3):
        prices = best.prices + size * rng.normal(size=len(best.prices))
        stopped = least_squares(AxisSums(shape), w, lo, hi, start=prices, budget=Budget(time_limit_s=NO_TIME))
        assert stopped.bound <= best.objective * (1 + 1e-7)


def test_nothing_to_do_is_done():
    sums = AxisSums((3, 3))
    found = least_squares(sums, np.ones(16), np.full(16, -1.0), np.full(16, INF))
    assert (found.status, found.objective, found.bound, found.steps) == ("optimal", 0.0, 0.0, 0)
    assert not found.x.any()


def test_fixed_cells_stay():
    sums = AxisSums((3, 3))
    lo, hi = np.full(16, -10.0), np.full(16, 10.0)
    lo.reshape(4, 4)[3, :] = hi.reshape(4, 4)[3, :] = 0.0
    lo.reshape(4, 4)[:, 3] = hi.reshape(4, 4)[:, 3] = 0.0
    lo[0] = 4.0
    found = least_squares(sums, np.ones(16), lo, hi)
    assert found.status == "optimal"
    assert np.allclose(found.x.reshape(4, 4), [[4, -2, -2, 0], [-2, 1, 1, 0], [-2, 1, 1, 0], [0, 0, 0, 0]], atol=1e-6)
    moved = least_squares(sums, np.ones(16), np.where(lo == hi, 0.5, lo), np.where(lo == hi, 0.5, hi))
    assert moved.status == "unknown"  # margins of 0.5 do not add up


def test_infeasible_bounds_are_never_called_optimal():
    sums = AxisSums((2, 2))
    lo, hi = np.full(9, -5.0), np.full(9, INF)
    lo[[0, 1]], lo[2], hi[2] = 1.0, -5.0, -1.0
    found = least_squares(sums, np.ones(9), lo, hi)
    assert found.status == "unknown"
    assert found.residual > 0.5
    assert np.isfinite(found.x).all()


def test_a_time_limit_is_obeyed():
    shape, w, lo, hi = random_problem(4)
    found = least_squares(AxisSums(shape), w, lo, hi, budget=Budget(time_limit_s=NO_TIME))
    assert found.status == "unknown"
    assert found.newton_steps == 0
    assert np.isfinite([found.residual, found.stationarity, found.complementarity]).all()


def test_the_steps_are_limited(monkeypatch):
    monkeypatch.setattr("cellward.solve.least_squares.MOST_NEWTON_STEPS", 1)
    shape, w, lo, hi = random_problem(4)
    assert least_squares(AxisSums(shape), w, lo, hi).newton_steps == 1


def test_a_start_saves_steps():
    rng = np.random.default_rng(0)
    sums = AxisSums((12, 12, 12))
    a = sums.up(rng.integers(1, 100, 12**3).astype(float))
    lo, hi = np.where(rng.random(sums.cells) < 0.05, 0.1 * a, -a), np.full(sums.cells, INF)
    first = least_squares(sums, 1 / a, lo, hi)
    again = least_squares(sums, 1 / a, lo, hi, start=first.prices)
    assert again.steps == 0
    assert again.objective == first.objective
    lo[0] = 0.1 * a[0]
    cold, warm = (least_squares(sums, 1 / a, lo, hi, start=start) for start in (None, first.prices))
    assert cold.status == warm.status == "optimal"
    assert warm.objective == pytest.approx(cold.objective, rel=1e-6)
    assert warm.steps < cold.steps


@pytest.mark.parametrize(
    ("w", "lo", "hi", "start", "message"),
    [
        (np.ones(3), np.zeros(4), np.ones(4), None, "^w: shape"),
        (np.array([1, 1, 0, 1.0]), np.zeros(4), np.ones(4), None, "^w: a weight"),
        (np.ones(4), np.array([0, 2, 0, 0.0]), np.ones(4), None, "cell 1 has no number"),
        (np.ones(4), np.array([0, 0, np.nan, 0.0]), np.ones(4), None, "cell 2 has no number"),
        (np.ones(4), np.full(4, INF), np.full(4, INF), None, "cell 0 has no number"),
        (np.ones(4), np.zeros(4), np.ones(4), np.zeros(2), "^start: shape"),
    ],
)
def test_bad_input_is_refused(w, lo, hi, start, message):
    with pytest.raises(InputError, match=message):
        least_squares(AxisSums((1, 1)), w, lo, hi, start=start)


def test_a_shape_without_cells_is_refused():
    with pytest.raises(InputError, match="shape"):
        AxisSums((3, 0))
