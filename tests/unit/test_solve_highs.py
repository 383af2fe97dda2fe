"""HiGHS adapter: agrees with brute force, knows infeasible from unbounded, measures its points, and never leaks."""

from __future__ import annotations

import itertools
import os
import signal
import threading
import time
from dataclasses import replace

import numpy as np
import polars
import pytest
from linear_models import model_of

from cellward.errors import SolverError
from cellward.solve import highs
from cellward.solve.budget import NO_TIME, Budget
from cellward.solve.highs import residual, solve_lp, solve_mip
from cellward.solve.model import LinearModel

INF = np.inf


def random_integer_model(seed):
    rng = np.random.default_rng(seed)
    rows, columns = 3, 5
    matrix = rng.integers(-3, 4, (rows, columns))
    middle = matrix @ rng.integers(0, 3, columns) if seed % 3 else rng.integers(-9, 9, rows)
    cost = rng.integers(-5, 6, columns)
    return matrix, model_of(
        matrix,
        cost,
        np.zeros(columns),
        np.full(columns, 2),
        middle - rng.integers(0, 2, rows),
        middle,
        np.ones(columns),
    )


def enumerated(matrix, model):
    points = np.array(list(itertools.product(range(3), repeat=model.columns)), float)
    activity = points @ matrix.T
    inside = np.all((activity >= model.row_lower) & (activity <= model.row_upper), axis=1)
    return (points[inside] @ model.cost).min() if inside.any() else None


def transport(n, seed, scale=1.0):
    """An n × n transport problem: totally unimodular, so its vertices are whole."""
    rng = np.random.default_rng(seed)
    flow = rng.integers(0, 4, (n, n))
    matrix = np.vstack([np.kron(np.eye(n), np.ones(n)), np.kron(np.ones(n), np.eye(n))])
    sums = np.concatenate([flow.sum(1), flow.sum(0)])
    return model_of(matrix, scale * rng.integers(1, 9, n * n), np.zeros(n * n), np.full(n * n, INF), sums, sums)


@pytest.mark.parametrize("seed", range(24))
def test_mip_agrees_with_enumeration(seed):
    matrix, model = random_integer_model(seed)
    best = enumerated(matrix, model)
    outcome = solve_mip(model)
    if best is None:
        assert outcome.status == "infeasible" and outcome.x is None
    else:
        assert outcome.status == "optimal"
        assert outcome.objective == best == pytest.approx(outcome.bound)
        assert outcome.residual == 0.0 and np.array_equal(outcome.x, np.rint(outcome.x))
        assert solve_lp(model).objective <= best + 1e-9


@pytest.mark.parametrize("scale", [1.0, 1e-11, 1e7])
@pytest.mark.parametrize("seed", range(4))
def test_lp_vertices_are_whole_and_duals_prove_them_optimal(seed, scale):
    model = transport(5, seed, scale)
    outcome = solve_lp(model)
    assert outcome.status == "optimal" and outcome.residual <= 1e-9
    assert np.array_equal(outcome.x, np.rint(outcome.x))
    y = outcome.row_duals
    matrix = np.zeros((model.rows, model.columns))
    matrix[np.repeat(np.arange(model.rows), np.diff(model.indptr)), model.indices] = model.coefs
    reduced = model.cost - matrix.T @ y
    assert reduced.min() >= -1e-9 * scale
    assert y @ model.row_lower == pytest.approx(outcome.objective, rel=1e-12) == pytest.approx(outcome.bound, rel=1e-12)


def test_lp_dual_signs():
    outcome = solve_lp(model_of([[1, 0], [0, 1]], [1, -1], [-INF, -INF], [INF, INF], [2, -INF], [INF, 3]))
    assert outcome.x.tolist() == [2, 3] and outcome.row_duals.tolist() == [1, -1]


def test_lp_ignores_integer_marks_and_mip_without_marks_is_an_lp():
    model = model_of([[2]], [1], [0], [5], [3], [INF], [True])
    assert solve_lp(model).objective == 1.5
    assert solve_mip(model).objective == 2
    assert solve_mip(replace(model, integer=None)).objective == 1.5
    assert solve_mip(replace(model, integer=np.array([False]))).objective == 1.5


def test_small_weights_on_large_totals_are_not_called_unbounded():
    # Found while this was written: totals near 10¹¹ with weights 1/a made HiGHS call a bounded model unbounded.
    rng = np.random.default_rng(1)
    a = (rng.pareto(1.0, (40, 40)) * 1e8).astype(np.int64)
    matrix = np.vstack([np.kron(np.eye(40), np.ones(40)), np.kron(np.ones(40), np.eye(40))])
    sums = np.concatenate([a.sum(1), a.sum(0)])
    outcome = solve_lp(model_of(matrix, 1 / np.maximum(1, a.ravel()), np.zeros(1600), np.full(1600, INF), sums, sums))
    assert outcome.status == "optimal" and outcome.bound == pytest.approx(outcome.objective, rel=1e-9)


@pytest.mark.parametrize("solve", [solve_lp, solve_mip])
def test_infeasible(solve):
    crossing_rows = model_of([[1, 1], [1, 1]], [1, 1], [0, 0], [5, 5], [4, -INF], [INF, 3], [1, 1])
    assert solve(crossing_rows).status == "infeasible"
    assert solve(replace(crossing_rows, lower=np.array([6.0, 0.0]))).status == "infeasible"
    no_integer_inside = model_of([[3, 3]], [0, 0], [0, 0], [5, 5], [4], [5], [1, 1])
    assert solve(no_integer_inside).status == ("optimal" if solve is solve_lp else "infeasible")


@pytest.mark.parametrize("solve", [solve_lp, solve_mip])
def test_unbounded_is_an_error_and_infeasible_with_a_free_ray_is_not(solve):
    free = model_of([[1, -1]], [-1, 0], [0, 0], [INF, INF], [0], [0], [1, 1])
    with pytest.raises(SolverError, match="unbounded"):
        solve(free)
    contradiction = model_of(
        [[1, -1, 0], [0, 0, 1], [0, 0, 1]], [-1, 0, 0], [0] * 3, [INF] * 3, [0, 2, 0], [0, 3, 1], [1] * 3
    )
    assert solve(contradiction).status == "infeasible"


@pytest.mark.parametrize("solve", [solve_lp, solve_mip])
def test_models_without_rows_columns_or_coefficients(solve):
    nothing = model_of(np.zeros((0, 0)), [], [], [], [], [], [])
    assert solve(nothing).status == "optimal" and solve(nothing).objective == 0
    rows_only = model_of(np.zeros((2, 0)), [], [], [], [-1, 0], [0, 1], [])
    assert solve(rows_only).status == "optimal" and len(solve(rows_only).x) == 0
    assert solve(replace(rows_only, row_lower=np.array([0.5, 0]), row_upper=np.array([1.0, 1]))).status == "infeasible"
    columns_only = model_of(np.zeros((0, 3)), [1, -1, 0], [-2, 0, 3], [5, 7, 9], [], [], [1, 1, 0])
    assert solve(columns_only).x.tolist() == [-2, 7, 3] and solve(columns_only).objective == -9
    empty_row = model_of([[0.0]], [1], [1], [2], [1], [1], [1])
    assert solve(empty_row).status == "infeasible"
    assert solve(replace(empty_row, row_lower=np.zeros(1))).row_duals.tolist() == [0]
    with pytest.raises(SolverError, match="unbounded"):
        solve(replace(columns_only, lower=np.array([-INF, 0, 3])))


def test_box_keeps_integers_whole():
    box = model_of(np.zeros((0, 2)), [1, -1], [0.5, 0.5], [2.5, 2.5], [], [], [1, 1])
    assert solve_mip(box).x.tolist() == [1, 2]
    assert solve_mip(replace(box, upper=np.array([0.7, 2.5]))).status == "infeasible"


def hard_knapsack():
    rng = np.random.default_rng(7)
    weights = rng.integers(1000, 9000, (8, 60)).astype(float)
    cost = -weights.sum(0) - rng.random(60)
    return model_of(
        weights, cost, np.zeros(60), np.ones(60), np.full(8, -INF), np.floor(weights.sum(1) / 2), np.ones(60)
    )


def test_mip_time_limit_is_not_a_proof():
    outcome = solve_mip(hard_knapsack(), budget=Budget(time_limit_s=0.3), start=np.zeros(60))
    assert outcome.limit_reached and outcome.status == "feasible"
    assert outcome.bound < outcome.objective and outcome.residual == 0.0


def test_no_time_at_all_is_unknown():
    for outcome in (
        solve_mip(hard_knapsack(), budget=Budget(time_limit_s=NO_TIME)),
        solve_lp(transport(30, 0), budget=Budget(time_limit_s=NO_TIME)),
    ):
        assert outcome.limit_reached and outcome.status in {"unknown", "feasible"}
        assert outcome.bound <= 0


def test_absolute_gap_and_start():
    model = hard_knapsack()
    start = np.zeros(60)
    loose = solve_mip(model, absolute_gap=1e9, start=start)
    assert loose.status == "optimal" and loose.bound <= loose.objective
    assert loose.objective - loose.bound <= 1e9
    started = solve_mip(model, start=start, budget=Budget(time_limit_s=NO_TIME))
    assert started.limit_reached and started.status == "feasible"
    small = random_integer_model(1)[1]
    assert solve_mip(small, start=np.full(5, 99.0)).objective == solve_mip(small).objective
    assert solve_mip(small, start=np.full(5, np.nan)).objective == solve_mip(small).objective
    with pytest.raises(SolverError, match="start has shape"):
        solve_mip(small, start=np.zeros(4))


def test_same_seed_same_point_whatever_ran_before_and_in_any_thread():
    model = transport(8, 3)
    first = solve_lp(model, budget=Budget(seed=5)).x
    solve_mip(replace(model, integer=np.ones(64, bool)), budget=Budget(threads=2))
    found = []
    thread = threading.Thread(target=lambda: found.append(solve_lp(model, budget=Budget(seed=5)).x))
    thread.start()
    thread.join()
    assert np.array_equal(found[0], first)
    assert np.array_equal(solve_lp(model, budget=Budget(seed=5)).x, first)
    two = solve_mip(replace(model, integer=np.ones(64, bool)), budget=Budget(threads=2, seed=1))
    assert np.array_equal(
        two.x, solve_mip(replace(model, integer=np.ones(64, bool)), budget=Budget(threads=2, seed=1)).x
    )


def ctrl_c(after_s):
    timer = threading.Timer(after_s, os.kill, (os.getpid(), signal.SIGINT))
    timer.start()
    return timer


def test_ctrl_c_returns_the_best_point_of_a_stoppable_mip():
    polars.DataFrame({"a": [1]})  # it makes the system resume interrupted waits
    timer = ctrl_c(1.0)
    outcome = solve_mip(hard_knapsack(), start=np.zeros(60), stoppable=True)
    timer.join()
    assert outcome.status == "feasible" and outcome.limit_reached and outcome.interrupted
    assert outcome.bound < outcome.objective <= 0 and outcome.residual == 0.0
    after = solve_mip(random_integer_model(1)[1], stoppable=True)
    assert after.status == "optimal" and not after.interrupted


def test_ctrl_c_ends_any_other_mip():
    timer = ctrl_c(1.0)
    with pytest.raises(KeyboardInterrupt):
        solve_mip(hard_knapsack())
    timer.join()
    assert solve_mip(random_integer_model(1)[1]).status == "optimal"


def test_an_impatient_ctrl_c_is_no_worse(monkeypatch):
    monkeypatch.setattr(highs, "_run_plainly", press_first(highs._run_plainly, times=3))
    outcome = solve_mip(hard_knapsack(), start=np.zeros(60), stoppable=True)
    assert outcome.interrupted and outcome.limit_reached and outcome.status in ("feasible", "unknown")


def test_ctrl_c_ends_a_large_lp(monkeypatch):
    model = transport(101, 0)
    assert len(model.coefs) >= highs.WATCHED_ENTRIES["LP"]
    monkeypatch.setattr(highs, "_run_plainly", press_first(highs._run_plainly))
    with pytest.raises(KeyboardInterrupt):
        solve_lp(model)
    outcome = solve_lp(model, stoppable=True)
    assert outcome.interrupted
    assert outcome.limit_reached == (outcome.status != "optimal")
    monkeypatch.undo()
    assert not solve_lp(model).interrupted


def press_first(run, times=1):
    """Ctrl-C just before HiGHS begins, whatever the machine is busy with."""

    def pressed(highspy, h):
        for _ in range(times):
            os.kill(os.getpid(), signal.SIGINT)
            time.sleep(0.3)
        run(highspy, h)

    return pressed


def test_other_threads_and_small_models_are_not_watched(monkeypatch):
    monkeypatch.setattr(highs, "_run_watched", None)
    assert solve_lp(transport(3, 0)).status == solve_mip(random_integer_model(1)[1]).status == "optimal"
    found = []
    whole = replace(transport(12, 0), integer=np.ones(144, bool))
    thread = threading.Thread(target=lambda: found.append(solve_mip(whole, stoppable=True)))
    thread.start()
    thread.join()
    assert found[0].status == "optimal"


def test_a_failure_of_the_watched_thread_is_heard(monkeypatch):
    def fail(highspy, h):
        raise RuntimeError("no memory left")

    monkeypatch.setattr(highs, "_run_plainly", fail)
    with pytest.raises(SolverError, match="no memory left"):
        solve_mip(hard_knapsack())


def test_residual_sees_rows_bounds_and_integrality():
    model = model_of([[1, 1]], [0, 0], [0, 0], [1, 1], [1], [1], [1, 0])
    assert residual(model, np.array([1.0, 0.0])) == 0
    assert residual(model, np.array([1.0, 0.5])) == 0.5
    assert residual(model, np.array([1.25, -0.25])) == 0.25
    assert residual(model, np.array([0.5, 0.5])) == 0.5


@pytest.mark.parametrize(
    ("spoil", "sentence"),
    [
        (lambda answer: replace(answer, x=answer.x + 1e-4), "violates the model"),
        (lambda answer: replace(answer, x=answer.x * np.nan), "violates the model"),
        (lambda answer: replace(answer, x=None), "violates the model"),
        (lambda answer: replace(answer, objective=answer.objective + 1), "contradicts itself"),
    ],
)
def test_a_false_optimal_is_an_error(monkeypatch, spoil, sentence):
    honest = highs._run
    monkeypatch.setattr(highs, "_run", lambda *args: spoil(honest(*args)))
    with pytest.raises(SolverError, match=sentence):
        solve_lp(transport(3, 0))


def test_an_optimal_without_its_proof_is_only_feasible(monkeypatch):
    honest = highs._run
    monkeypatch.setattr(highs, "_run", lambda *args: replace(honest(*args), mip_bound=-1e3))
    model = transport(3, 0)
    assert solve_mip(replace(model, integer=np.ones(9, bool))).status == "feasible"


def test_a_status_nobody_knows_is_an_error(monkeypatch):
    monkeypatch.delitem(highs.VERDICTS, "kOptimal")
    with pytest.raises(SolverError, match="status kOptimal"):
        solve_lp(transport(3, 0))


@pytest.mark.parametrize(
    ("change", "sentence"),
    [
        ({"cost": np.array([np.nan, 1.0])}, "finite"),
        ({"coefs": np.array([np.inf, 1.0])}, "finite"),
        ({"lower": np.array([np.nan, 0.0])}, "lower"),
        ({"upper": np.array([-np.inf, 0.0])}, "upper"),
        ({"indices": np.array([0, 2])}, "indices"),
        ({"indices": np.array([-1, 1])}, "indices"),
        ({"indptr": np.array([0, 1])}, "indptr"),
        ({"upper": np.zeros(3)}, "upper has 3 entries where 2"),
        ({"indices": np.array([0, 0])}, "refused"),
        ({"coefs": np.array([1e16, 1.0])}, "refused"),
    ],
)
def test_bad_models_are_refused_in_a_sentence(change, sentence):
    model = model_of([[1, 1]], [1, 1], [0, 0], [1, 1], [1], [2])
    with pytest.raises(SolverError, match=sentence):
        solve_lp(replace(model, **change))


def test_highs_is_silent(capfd):
    solve_lp(transport(4, 0))
    solve_mip(random_integer_model(1)[1])
    solve_mip(random_integer_model(0)[1])
    captured = capfd.readouterr()
    assert captured.out == "" and captured.err == ""


def test_a_warm_model_asks_again_where_its_point_violates_the_model(monkeypatch):
    from cellward.solve import warm_lp

    model = LinearModel(
        cost=np.zeros(2), lower=np.zeros(2), upper=np.ones(2), indptr=np.array([0, 2]), indices=np.array([0, 1]),
        coefs=np.ones(2), row_lower=np.array([1.0]), row_upper=np.array([1.0]),
    )  # fmt: skip
    true, seen = warm_lp.residual, []

    def residual(*given):
        seen.append(1)
        return 1.0 if len(seen) == 1 else true(*given)

    monkeypatch.setattr(warm_lp, "residual", residual)
    asked = warm_lp.WarmLp(model)
    assert asked.maximise(np.array([1.0, 0.0])).x.tolist() == [1.0, 0.0]
    assert asked.maximise(np.array([0.0, 1.0])).x.tolist() == [0.0, 1.0]
    monkeypatch.setattr(warm_lp, "residual", lambda *_: 1.0)
    with pytest.raises(SolverError, match="violates"):
        asked.maximise(np.array([1.0, 0.0]))
