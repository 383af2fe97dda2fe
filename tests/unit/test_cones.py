"""Adjustment in second-order cones: the paper's example, HiGHS agreeing, bounds that hold, odd cases answered."""

from __future__ import annotations

import signal
import threading

import numpy as np
import pytest
from scipy import sparse

from cellward.errors import SolverError
from cellward.solve.budget import NO_TIME, Budget
from cellward.solve.cones import _ctrl_c, solve_cones
from cellward.solve.dual_bound import close_sides, contradiction, lower_bound
from cellward.solve.highs import import_highs, solve_lp
from cellward.solve.model import LinearModel
from cellward.solve.separable import Separable

TABLE = np.array([[10.0, 15, 11, 9], [8, 10, 12, 15], [10, 12, 11, 13]])


def margins(rows, columns):
    """Row sums and column sums of a table whose margins are fixed."""
    across = sparse.kron(sparse.eye_array(rows), np.ones((1, columns)))
    down = sparse.kron(np.ones((1, rows)), sparse.eye_array(columns))
    return sparse.csr_array(sparse.vstack([across, down]))


def with_margins(table):
    """The table with its totals as cells, and the equations that tie them."""
    full = np.block([[table, table.sum(1, keepdims=True)], [table.sum(0, keepdims=True), table.sum(keepdims=True)]])
    ends = [np.append(np.ones(k), -1.0)[None, :] for k in table.shape]
    across = sparse.kron(sparse.eye_array(full.shape[0]), ends[1])
    down = sparse.kron(ends[0], sparse.eye_array(full.shape[1]))
    return full.ravel(), sparse.csr_array(sparse.vstack([across, down]))


def paper_example():
    """Paper 004, section 6.1: margins fixed, cells 1 and 12 must rise by 3 and 5."""
    lo, hi = -TABLE.ravel(), np.full(12, np.inf)
    lo[0], lo[11] = 3.0, 5.0
    return margins(3, 4), np.zeros(7), lo, hi


def random_case(seed, *, top=1000.0, size=(5, 6)):
    """A table with free margins, some zeros, some cells that must rise or fall by a tenth, weights 1/a."""
    rng = np.random.default_rng(seed)
    inner = np.ceil(top ** rng.random(size)) * (rng.random(size) < 0.9)
    a, matrix = with_margins(inner)
    lo, hi = -a, np.where(a > 0, np.inf if seed % 2 else 2.0 * a, 0.0)
    forced = rng.choice(np.flatnonzero(a > 0), 6, replace=False)
    lo[forced[:3]], hi[forced[3:]] = 0.1 * a[forced[:3]], -0.1 * a[forced[3:]]
    return matrix, np.zeros(matrix.shape[0]), lo, hi, 1.0 / np.maximum(a, 1.0)


def by_simplex(matrix, rhs, lo, hi, weights):
    """The L1 form split in two, z = rise − fall, solved by HiGHS."""
    both = sparse.csr_array(sparse.hstack([matrix, -matrix]))
    model = LinearModel(
        cost=np.concatenate([weights, weights]),
        lower=np.concatenate([np.maximum(lo, 0), np.maximum(-hi, 0)]),
        upper=np.concatenate([np.maximum(hi, 0), np.maximum(-lo, 0)]),
        indptr=both.indptr.astype(np.int64),
        indices=both.indices.astype(np.int64),
        coefs=both.data,
        row_lower=rhs,
        row_upper=rhs,
    )
    return solve_lp(model)


def by_quadratic(matrix, rhs, lo, hi, weights):
    """The least Σ w·z² by HiGHS' own quadratic method."""
    highspy = import_highs()
    h = highspy.Highs()
    h.setOptionValue("output_flag", False)
    n = len(lo)
    lp = highspy.HighsLp()
    lp.num_col_, lp.num_row_ = n, len(rhs)
    lp.col_cost_, lp.col_lower_, lp.col_upper_ = np.zeros(n), lo, hi
    lp.row_lower_, lp.row_upper_ = rhs, rhs
    lp.a_matrix_.format_ = highspy.MatrixFormat.kRowwise
    lp.a_matrix_.start_, lp.a_matrix_.index_, lp.a_matrix_.value_ = matrix.indptr, matrix.indices, matrix.data
    h.passModel(lp)
    hessian = highspy.HighsHessian()
    hessian.dim_, hessian.format_ = n, highspy.HessianFormat.kTriangular
    hessian.start_, hessian.index_, hessian.value_ = np.arange(n + 1), np.arange(n), 2.0 * weights
    h.passHessian(hessian)
    h.run()
    assert h.getModelStatus() == highspy.HighsModelStatus.kOptimal
    return h.getInfo().objective_function_value


def assert_holds(answer, matrix, rhs, lo, hi, distance):
    """Everything an optimal answer says is true of its point and multipliers, measured afresh."""
    assert answer.status == "optimal"
    assert np.all((lo <= answer.x) & (answer.x <= hi))
    assert answer.residual == np.max(np.abs(matrix @ answer.x - rhs))
    assert answer.residual <= 1e-9 * max(1.0, np.abs(answer.x).max())
    assert answer.objective == distance.value(answer.x)
    assert answer.bound <= answer.objective
    assert answer.objective - answer.bound <= 1e-8 * answer.objective
    again = lower_bound(distance, matrix, rhs, lo, hi, answer.row_duals, 2.0 * answer.objective)
    assert again == pytest.approx(answer.objective, rel=1e-7)


def test_the_papers_example_absolute():
    answer = solve_cones(*paper_example(), absolute=np.ones(12))
    assert answer.objective == pytest.approx(20, rel=1e-9)
    assert_holds(answer, *paper_example(), Separable.of(12, absolute=np.ones(12)))


def test_the_papers_example_square():
    answer = solve_cones(*paper_example(), square=np.ones(12))
    assert answer.objective == pytest.approx(59.657, abs=5e-4)
    assert np.abs(answer.x).sum() == pytest.approx(20.69, abs=5e-3)
    released = (TABLE.ravel() + answer.x).reshape(3, 4)
    printed = [[13, 15.03, 11.03, 5.94], [7.66, 11.14, 13.14, 13.06], [7.34, 10.83, 9.83, 18]]
    assert released == pytest.approx(np.array(printed), abs=0.0051)
    assert_holds(answer, *paper_example(), Separable.of(12, square=np.ones(12)))


def test_the_papers_example_pseudo_huber():
    distance = Separable.of(12, huber=np.ones(12), delta=0.001)
    answer = solve_cones(*paper_example(), huber=np.ones(12), delta=0.001)
    assert answer.objective == pytest.approx(19.988, abs=5e-4)
    assert np.abs(answer.x).sum() == pytest.approx(20, abs=1e-5)
    assert_holds(answer, *paper_example(), distance)
    # At δ = 0 the model is the one of the absolute value (paper, after equation 5.17).
    assert solve_cones(*paper_example(), huber=np.ones(12)).objective == pytest.approx(20, rel=1e-9)


@pytest.mark.parametrize("top", [50.0, 1e9])
@pytest.mark.parametrize("seed", range(6))
def test_absolute_agrees_with_simplex(seed, top):
    matrix, rhs, lo, hi, weights = random_case(seed, top=top)
    simplex = by_simplex(matrix, rhs, lo, hi, weights)
    answer = solve_cones(matrix, rhs, lo, hi, absolute=weights)
    assert answer.status == simplex.status
    if simplex.status == "optimal":
        assert answer.objective == pytest.approx(simplex.objective, rel=1e-8)
        assert_holds(answer, matrix, rhs, lo, hi, Separable.of(len(lo), absolute=weights))


@pytest.mark.parametrize("seed", [1, 3, 5, 7])
def test_square_agrees_with_highs(seed):
    matrix, rhs, lo, hi, weights = random_case(seed, top=50.0)
    answer = solve_cones(matrix, rhs, lo, hi, square=weights)
    assert answer.objective == pytest.approx(by_quadratic(matrix, rhs, lo, hi, weights), rel=1e-5)
    assert_holds(answer, matrix, rhs, lo, hi, Separable.of(len(lo), square=weights))


@pytest.mark.parametrize("top", [50.0, 1e9])
@pytest.mark.parametrize("seed", [1, 3, 5])
def test_every_distance_is_proven(seed, top):
    matrix, rhs, lo, hi, weights = random_case(seed, top=top)
    rng = np.random.default_rng(seed)
    some = rng.random(len(lo)) < 0.5
    kinds = [
        {"square": weights},
        {"absolute": weights, "square": weights / 100},
        {"huber": weights, "delta": 0.001},
        {"huber": weights, "delta": 10.0},
        {"absolute": np.where(some, weights, 0), "square": np.where(some, 0, weights)},
        {"square": np.where(some, weights, 0), "huber": np.where(some, 0, weights), "delta": 1.0},
    ]
    for kind in kinds:
        answer = solve_cones(matrix, rhs, lo, hi, **kind)
        assert_holds(answer, matrix, rhs, lo, hi, Separable.of(len(lo), **kind))


@pytest.mark.parametrize("seed", [1, 3, 5])
def test_zero_weights(seed):
    matrix, rhs, lo, hi, weights = random_case(seed)
    weights = np.where(np.random.default_rng(seed).random(len(lo)) < 0.3, 0.0, weights)
    answer = solve_cones(matrix, rhs, lo, hi, absolute=weights)
    assert answer.objective == pytest.approx(by_simplex(matrix, rhs, lo, hi, weights).objective, rel=1e-8)
    assert_holds(answer, matrix, rhs, lo, hi, Separable.of(len(lo), absolute=weights))


def test_zero_weights_that_let_cells_run_for_ever():
    """Corners of a rectangle without weights or upper bounds can rise and fall together; the bound must not suffer."""
    a, matrix = with_margins(np.full((3, 3), 8.0))
    lo, hi, weights = -a, np.full(16, np.inf), np.ones(16)
    lo[0], hi[0] = 2.0, 3.0
    weights[[5, 7, 13, 15]] = 0.0
    answer = solve_cones(matrix, np.zeros(8), lo, hi, absolute=weights)
    assert answer.objective == pytest.approx(by_simplex(matrix, np.zeros(8), lo, hi, weights).objective, rel=1e-8)
    assert_holds(answer, matrix, np.zeros(8), lo, hi, Separable.of(16, absolute=weights))


@pytest.mark.parametrize("delta", [1e-6, 1.0, 1e3, 1e6])
def test_pseudo_huber_far_from_its_corner_and_deep_in_it(delta):
    matrix, rhs, lo, hi, weights = random_case(1)
    answer = solve_cones(matrix, rhs, lo, hi, huber=weights, delta=delta)
    assert_holds(answer, matrix, rhs, lo, hi, Separable.of(len(lo), huber=weights, delta=delta))
    limits = {1e-6: {"absolute": weights}, 1e6: {"square": weights / 2e6}}  # |z| and z²/2δ
    if delta in limits:
        limit = solve_cones(matrix, rhs, lo, hi, **limits[delta])
        assert answer.objective == pytest.approx(limit.objective, rel=1e-4)


def test_three_dimensions_with_their_redundant_equations():
    rng = np.random.default_rng(7)
    cube = np.ceil(np.exp(rng.normal(4, 3, (5, 5, 5))))
    for axis in range(3):
        cube = np.concatenate([cube, cube.sum(axis, keepdims=True)], axis)
    a, line, one = cube.ravel(), np.append(np.ones(5), -1.0)[None, :], sparse.eye_array(6)
    kinds = [(line, one, one), (one, line, one), (one, one, line)]
    matrix = sparse.csr_array(sparse.vstack([sparse.kron(sparse.kron(p, q), r) for p, q, r in kinds]))
    lo, hi, rhs = -a, np.full(len(a), np.inf), np.zeros(matrix.shape[0])
    forced = rng.choice(len(a), 20, replace=False)
    lo[forced[:10]], hi[forced[10:]] = 0.1 * a[forced[:10]], -0.1 * a[forced[10:]]
    for kind in ({"absolute": 1 / a}, {"square": 1 / a}, {"huber": 1 / a, "delta": 0.001}):
        answer = solve_cones(matrix, rhs, lo, hi, **kind)
        assert_holds(answer, matrix, rhs, lo, hi, Separable.of(len(a), **kind))
    assert by_simplex(matrix, rhs, lo, hi, 1 / a).objective == pytest.approx(
        solve_cones(matrix, rhs, lo, hi, absolute=1 / a).objective, rel=1e-8
    )


def test_without_any_weight_a_point_is_enough():
    matrix, rhs, lo, hi, _ = random_case(1)
    answer = solve_cones(matrix, rhs, lo, hi)
    assert (answer.status, answer.objective, answer.bound) == ("optimal", 0.0, 0.0)
    assert answer.residual < 1e-8


def test_a_free_cell_without_weight_or_bounds_takes_everything():
    matrix = sparse.csr_array(np.array([[1.0, 1.0, 1.0]]))
    lo, hi = np.array([3.0, -5.0, -np.inf]), np.array([4.0, 5.0, np.inf])
    answer = solve_cones(matrix, np.zeros(1), lo, hi, absolute=np.array([1.0, 1.0, 0.0]))
    assert answer.status == "optimal"
    assert answer.x == pytest.approx(np.array([3.0, 0.0, -3.0]), abs=1e-7)
    assert answer.objective == pytest.approx(3.0, rel=1e-8)


@pytest.mark.parametrize("kind", ["absolute", "square", "huber"])
def test_fixed_cells(kind):
    matrix, rhs, lo, hi, weights = random_case(1)
    free = solve_cones(matrix, rhs, lo, hi, **{kind: weights}, delta=1.0)
    movers = np.argsort(-np.abs(free.x))[10:20]
    lo[movers] = hi[movers] = np.round(free.x[movers], 9)
    answer = solve_cones(matrix, rhs, lo, hi, **{kind: weights}, delta=1.0)
    assert answer.x[movers].tolist() == lo[movers].tolist()
    assert answer.objective == pytest.approx(free.objective, rel=1e-6)
    assert_holds(answer, matrix, rhs, lo, hi, Separable.of(len(lo), **{kind: weights}, delta=1.0))


def test_all_cells_fixed():
    matrix, z = margins(2, 2), np.array([1.0, -1.0, -1.0, 1.0])
    answer = solve_cones(matrix, np.zeros(4), z, z, absolute=np.ones(4))
    assert (answer.status, answer.objective, answer.bound, answer.residual) == ("optimal", 4.0, 4.0, 0.0)
    wrong = z + np.array([0.5, 0, 0, 0])
    answer = solve_cones(matrix, np.zeros(4), wrong, wrong, absolute=np.ones(4))
    assert answer.status == "infeasible"
    assert contradiction(matrix, np.zeros(4), wrong, wrong, answer.row_duals) > 0


def test_nothing_to_do():
    matrix, rhs, lo, hi = paper_example()
    answer = solve_cones(matrix, rhs, np.minimum(lo, 0), hi, absolute=np.ones(12))
    assert (answer.status, answer.objective, answer.solver) == ("optimal", 0.0, "bounds")
    assert not answer.x.any()
    empty = solve_cones(sparse.csr_array((0, 0)), np.zeros(0), np.zeros(0), np.zeros(0))
    assert (empty.status, empty.objective) == ("optimal", 0.0)


def test_right_hand_sides_other_than_zero():
    matrix, _, lo, hi, weights = random_case(1)
    shift = np.random.default_rng(0).uniform(-0.05, 0.05, len(lo)) * np.maximum(-lo, 1.0)
    rhs = matrix @ shift
    answer = solve_cones(matrix, rhs, lo, hi, absolute=weights)
    assert answer.objective == pytest.approx(by_simplex(matrix, rhs, lo, hi, weights).objective, rel=1e-8)
    assert_holds(answer, matrix, rhs, lo, hi, Separable.of(len(lo), absolute=weights))


@pytest.mark.parametrize("kind", ["absolute", "square", "huber"])
@pytest.mark.parametrize("upper", [100.0, np.inf])
def test_infeasible_senses(kind, upper):
    matrix, rhs, lo, hi = paper_example()
    lo[:4], hi[:] = 3.0, upper  # a whole row must rise, and its sum is fixed
    answer = solve_cones(matrix, rhs, lo, hi, **{kind: np.ones(12)}, delta=0.1)
    assert answer.status == "infeasible"
    assert answer.x is None
    assert contradiction(matrix, rhs, lo, hi, answer.row_duals) > 1e-10


def test_infeasible_although_no_equation_says_so_alone():
    # Columns 1 and 2 must rise by 22 in rows 1 and 2, so fall by as much in row 3, whose other cells take only 20.
    matrix, rhs, lo, hi = paper_example()
    lo[[0, 4]], lo[[1, 5]], hi[[10, 11]] = 5.0, 6.0, 10.0
    answer = solve_cones(matrix, rhs, lo, hi, absolute=np.ones(12))
    assert answer.status == by_simplex(matrix, rhs, lo, hi, np.ones(12)).status == "infeasible"
    assert np.count_nonzero(np.abs(answer.row_duals) > 1e-6 * np.abs(answer.row_duals).max()) > 1
    hi[10] = 12.0
    assert solve_cones(matrix, rhs, lo, hi, absolute=np.ones(12)).objective == pytest.approx(88, rel=1e-8)


def test_crossed_bounds_are_infeasible():
    matrix, rhs, lo, hi = paper_example()
    hi[0] = 2.0
    assert solve_cones(matrix, rhs, lo, hi, absolute=np.ones(12)).status == "infeasible"


def test_no_time_proves_nothing_and_says_so():
    matrix, rhs, lo, hi, weights = random_case(1, size=(20, 20))
    answer = solve_cones(matrix, rhs, lo, hi, absolute=weights, budget=Budget(time_limit_s=NO_TIME))
    assert answer.status == "feasible" and answer.limit_reached  # the first point, moved onto the equations
    assert np.all((lo <= answer.x) & (answer.x <= hi)) and answer.residual <= 1e-9 * np.abs(answer.x).max()
    assert "MaxTime" in answer.solver
    best = solve_cones(matrix, rhs, lo, hi, absolute=weights).objective
    assert answer.bound <= best * (1 + 1e-9)


@pytest.mark.parametrize("seed", [1, 3, 5, 9, 11])
def test_any_multipliers_give_a_bound(seed):
    matrix, rhs, lo, hi, weights = random_case(seed)
    distance = Separable.of(len(lo), absolute=weights, square=weights / 50)
    answer = solve_cones(matrix, rhs, lo, hi, absolute=weights, square=weights / 50)
    rng = np.random.default_rng(seed)
    for spread in (1e-9, 1e-3, 0.1, 10.0):
        y = answer.row_duals * (1 + spread * rng.standard_normal(len(rhs)))
        for level in (0.5 * answer.objective, 1.001 * answer.objective, 30 * answer.objective, np.inf):
            assert lower_bound(distance, matrix, rhs, lo, hi, y, level) <= answer.objective * (1 + 1e-9)


def test_sides_are_closed_by_what_the_equations_imply():
    matrix, rhs, lo, hi = paper_example()
    _, closed = close_sides(matrix, rhs, lo, hi)
    # Cell 1 can rise by what the others of its row (35) and of its column (18) can fall.
    assert closed[0] == pytest.approx(18.0)
    assert np.all(closed < 40)
    answer = solve_cones(matrix, rhs, lo, closed, absolute=np.ones(12))
    assert answer.objective == pytest.approx(20, rel=1e-9)
    lone = sparse.csr_array(np.array([[1.0, 1.0]]))
    open_lo, open_hi = close_sides(lone, np.zeros(1), np.full(2, -np.inf), np.full(2, np.inf))
    assert np.all(np.isinf(open_lo)) and np.all(np.isinf(open_hi))


@pytest.mark.parametrize(
    ("change", "words"),
    [
        (lambda m, r, lo, hi: (m.tocsc(), r, lo, hi), "csc"),
        (lambda m, r, lo, hi: (m, r[1:], lo, hi), "give 7 numbers"),
        (lambda m, r, lo, hi: (m, r, lo, hi[1:]), "give 12 numbers"),
        (lambda m, r, lo, hi: (m, r * np.nan, lo, hi), "finite"),
        (lambda m, r, lo, hi: (m, r, lo * np.nan, hi), "bounds"),
        (lambda m, r, lo, hi: (m, r, lo, -hi), "bounds"),
    ],
)
def test_odd_input_is_refused(change, words):
    with pytest.raises(SolverError, match=words):
        solve_cones(*change(*paper_example()), absolute=np.ones(12))


def test_ctrl_c_waits_for_the_solver_to_stop():
    before = signal.getsignal(signal.SIGINT)
    heard = []

    def press():
        with _ctrl_c() as pressed:
            signal.raise_signal(signal.SIGINT)
            heard.append(pressed.is_set())

    with pytest.raises(KeyboardInterrupt):
        press()
    assert heard == [True]
    assert signal.getsignal(signal.SIGINT) is before


def test_other_threads_solve_too():
    answers = []
    thread = threading.Thread(
        target=lambda: answers.append(solve_cones(*paper_example(), absolute=np.ones(12), budget=Budget(threads=2)))
    )
    thread.start()
    thread.join()
    assert answers[0].objective == pytest.approx(20, rel=1e-9)
