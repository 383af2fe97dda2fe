"""CP-SAT: agrees with brute force and HiGHS, exact in integers, gives back its best point at the limit and at Ctrl-C."""

from __future__ import annotations

import itertools
import os
import signal
import subprocess
import sys
import threading
from dataclasses import fields, replace
from functools import partial
from pathlib import Path

import linear_models
import numpy as np
import pytest

from cellward.errors import SolverError
from cellward.solve import worker
from cellward.solve.budget import NO_TIME, Budget
from cellward.solve.cpsat import solve_cpsat
from cellward.solve.highs import solve_mip
from cellward.solve.model import LinearModel

INF = np.inf
model_of = partial(linear_models.model_of, integer=True)


def random_model(seed):
    """Some rows open to one side, some to both, some with nothing inside."""
    rng = np.random.default_rng(seed)
    matrix = rng.integers(-3, 4, (4, 5))
    middle = matrix @ rng.integers(-1, 2, 5) if seed % 3 else rng.integers(-9, 9, 4)
    row_lower, row_upper = (middle - rng.integers(0, 2, 4)).astype(float), middle.astype(float)
    row_lower[0], row_upper[1], row_lower[2], row_upper[2] = -INF, INF, -INF, INF
    return matrix, model_of(matrix, rng.integers(-5, 6, 5), np.full(5, -1), np.ones(5), row_lower, row_upper)


def enumerated(matrix, model):
    points = np.array(list(itertools.product((-1, 0, 1), repeat=model.columns)), float)
    activity = points @ matrix.T
    inside = np.all((activity >= model.row_lower) & (activity <= model.row_upper), axis=1)
    return (points[inside] @ model.cost).min() if inside.any() else None


def hard():
    """Sixty binary variables in eight knapsacks: a first point at once, the proof in no time that a test has."""
    rng = np.random.default_rng(7)
    weights = rng.integers(1000, 9000, (8, 60)).astype(float)
    sides = np.floor(weights.sum(1) / 2)
    return model_of(
        weights, -weights.sum(0) - rng.integers(0, 9, 60), np.zeros(60), np.ones(60), np.full(8, -INF), sides
    )


def cover(seed=0, points=20, sets=30):
    """Equal costs, hence many optima: a search that depends on chance would find now one and now another."""
    rng = np.random.default_rng(seed)
    matrix = np.zeros((sets, points))
    for row in matrix:
        row[rng.choice(points, 4, replace=False)] = 1
    return model_of(matrix, np.ones(points), np.zeros(points), np.ones(points), np.ones(sets), np.full(sets, INF))


@pytest.mark.parametrize("seed", range(18))
def test_agrees_with_enumeration(seed):
    matrix, model = random_model(seed)
    best = enumerated(matrix, model)
    outcome = solve_cpsat(model)
    assert not outcome.limit_reached and not outcome.interrupted
    if best is None:
        assert outcome.status == "infeasible" and outcome.x is None
    else:
        assert outcome.status == "optimal" and outcome.objective == outcome.bound == best == model.cost @ outcome.x
        assert outcome.residual == 0 and outcome.x.dtype == np.float64 and "CP-SAT" in outcome.solver


@pytest.mark.parametrize("threads", [1, 2])
def test_agrees_with_highs_in_the_same_process(threads):
    model = cover()
    before, found, after = solve_mip(model), solve_cpsat(model, budget=Budget(threads=threads)), solve_mip(model)
    assert found.status == "optimal" and found.objective == before.objective == after.objective


def test_no_columns_no_rows_no_costs_no_room():
    nothing = model_of(np.zeros((0, 0)), [], [], [], [], [])
    assert solve_cpsat(nothing).status == "optimal" and len(solve_cpsat(nothing).x) == 0
    rows_only = model_of(np.zeros((2, 0)), [], [], [], [-1, 0], [0, 1])
    assert solve_cpsat(rows_only).status == "optimal"
    assert solve_cpsat(replace(rows_only, row_lower=np.ones(2), row_upper=np.ones(2))).status == "infeasible"
    columns_only = model_of(np.zeros((0, 3)), [1, -1, 0], [-2.5, 0, 3], [5, 7.5, 9], [], [])
    box = solve_cpsat(columns_only)
    assert box.x[:2].tolist() == [-2, 7] and box.objective == box.bound == -9
    assert solve_cpsat(replace(columns_only, cost=np.zeros(3))).objective == 0
    for name, value in {"lower": 7.6, "upper": -3.0}.items():
        assert solve_cpsat(replace(columns_only, **{name: np.full(3, value)})).status == "infeasible"
    assert solve_cpsat(replace(columns_only, lower=np.full(3, 1.2), upper=np.full(3, 1.8))).status == "infeasible"
    crossing = model_of([[1]], [1], [0], [9], [4], [3])
    assert solve_cpsat(crossing).status == "infeasible"


def test_a_column_named_twice_in_a_row_counts_twice():
    model = model_of([[1, 1]], [1, 9], [0, 0], [9, 9], [7], [INF])
    assert solve_cpsat(replace(model, indices=np.zeros(2, np.int64))).x.tolist() == [4, 0]


def test_large_numbers_stay_exact():
    big = 2.0**50 + 1
    model = model_of([[1, 1]], [3, 5], [0, 0], [big, big], [big + 1], [big + 1])
    outcome = solve_cpsat(model)
    assert outcome.x.tolist() == [big, 1] and outcome.objective == 3 * big + 5


@pytest.mark.parametrize(
    ("change", "sentence"),
    [
        ({"integer": None}, "integer variables only"),
        ({"integer": np.array([True, False])}, "integer variables only"),
        ({"upper": np.array([INF, 1])}, "lower|upper has others"),
        ({"lower": np.array([-(2.0**54), 1])}, "lower has others"),
        ({"cost": np.array([0.5, 1])}, "cost has others"),
        ({"cost": np.array([2.0**54, 1])}, "cost has others"),
        ({"coefs": np.array([1.5, 1])}, "coefs has others"),
        ({"row_lower": np.array([0.5])}, "row_lower has others"),
        ({"row_upper": np.array([1.5])}, "row_upper has others"),
        ({"coefs": np.array([2.0**53, 1]), "upper": np.array([2.0**9, 1])}, "64 bits"),
        ({"cost": np.array([2.0**53, 1]), "upper": np.array([2.0**9, 1])}, "64 bits"),
        ({"cost": np.array([np.nan, 1])}, "finite"),
        ({"indices": np.array([0, 2])}, "indices"),
    ],
)
def test_bad_models_are_refused_in_a_sentence(change, sentence):
    model = model_of([[1, 1]], [1, 1], [0, 0], [1, 1], [1], [2])
    with pytest.raises(SolverError, match=sentence):
        solve_cpsat(replace(model, **change))
    assert solve_cpsat(model).objective == 1


def test_bad_options_are_refused_in_a_sentence():
    model = random_model(1)[1]
    with pytest.raises(SolverError, match="start has shape"):
        solve_cpsat(model, start=np.zeros(4))


def test_the_limit_returns_the_best_point_and_its_bound():
    outcome = solve_cpsat(hard(), budget=Budget(time_limit_s=2.0), start=np.zeros(60))
    assert outcome.status == "feasible" and outcome.limit_reached and not outcome.interrupted
    assert outcome.residual == 0 and outcome.bound < outcome.objective <= 0


def test_no_time_at_all_is_unknown_or_the_start():
    outcome = solve_cpsat(hard(), budget=Budget(time_limit_s=NO_TIME))
    assert outcome.status == "unknown" and outcome.limit_reached and outcome.bound == -INF
    kept = solve_cpsat(hard(), budget=Budget(time_limit_s=NO_TIME), start=np.zeros(60))
    assert kept.status == "feasible" and kept.limit_reached and kept.objective == 0 and kept.bound == -INF


def test_starts_of_every_kind():
    matrix, model = random_model(1)
    best = enumerated(matrix, model)
    for start in (np.full(5, 99.0), np.full(5, np.nan), np.full(5, -INF), np.full(5, 0.4)):
        assert solve_cpsat(model, start=start).objective == best
    at_best = solve_cpsat(model)
    again = solve_cpsat(model, start=at_best.x, first=True)
    assert again.objective == best and not again.limit_reached


def test_the_first_solution_is_enough():
    outcome = solve_cpsat(hard(), first=True)
    assert outcome.status == "feasible" and not outcome.limit_reached and outcome.bound < outcome.objective


@pytest.mark.parametrize("threads", [1, 3])
def test_same_question_same_answer(threads):
    model = cover()
    first = solve_cpsat(model, budget=Budget(seed=4, threads=threads))
    for _ in range(2):
        assert np.array_equal(solve_cpsat(model, budget=Budget(seed=4, threads=threads)).x, first.x)


@pytest.mark.parametrize(
    ("spoil", "sentence"),
    [
        ("residual = lambda self, x: 1", "violates the model by 1"),
        ("cost_of = lambda self, x: 10**6", "does not cost"),
    ],
)
def test_a_false_point_is_an_error(monkeypatch, spoil, sentence):
    code = f"from cellward.solve import cpsat, worker; cpsat._Whole.{spoil}; worker.serve()"
    worker.shut_down()
    with monkeypatch.context() as patch:
        patch.setattr(worker, "COMMAND", [sys.executable, "-c", code])
        with pytest.raises(SolverError, match=sentence):
            solve_cpsat(cover())
        worker.shut_down()


def test_a_crash_is_saved_with_its_start_and_replayed(monkeypatch, tmp_path):
    worker.shut_down()
    matrix, model = random_model(1)
    with monkeypatch.context() as patch:
        patch.setattr(worker, "COMMAND", [sys.executable, "-c", "import sys; sys.exit(7)"])
        with pytest.raises(SolverError, match="exit code 7"):
            solve_cpsat(model, start=np.zeros(5), budget=Budget(time_limit_s=60.0, seed=6), crash_dir=tmp_path)
    (saved,) = tmp_path.iterdir()
    assert worker.replay(saved).objective == enumerated(matrix, model)
    task, question = worker.load(saved)
    assert question.start.tolist() == [0] * 5 and task.keywords["seed"] == 6
    assert {field.name for field in fields(question)} == {field.name for field in fields(LinearModel)} | {"start"}


def pressing_ctrl_c(after_s):
    return threading.Timer(after_s, os.kill, (os.getpid(), signal.SIGINT))


def test_ctrl_c_returns_the_best_point():
    worker.warm_up()
    pressed = pressing_ctrl_c(2.0)
    pressed.start()
    outcome = solve_cpsat(hard(), start=np.zeros(60))
    pressed.join()
    assert outcome.interrupted and outcome.limit_reached and outcome.status == "feasible"
    assert outcome.residual == 0 and outcome.objective <= 0
    assert not solve_cpsat(cover()).interrupted


@pytest.mark.parametrize("after_s", [0.005, 0.02, 0.1, 0.3])
def test_ctrl_c_at_any_moment_of_the_call_is_an_outcome(after_s):
    worker.shut_down()
    worker.warm_up()
    pressed = pressing_ctrl_c(after_s)
    try:
        pressed.start()
        outcome = solve_cpsat(hard(), budget=Budget(threads=2))
    except KeyboardInterrupt:  # on a busy machine, before the call began or while it read its answer
        pass
    else:
        assert outcome.interrupted and outcome.limit_reached and outcome.status in ("feasible", "unknown")
    pressed.join()
    assert solve_cpsat(cover()).status == "optimal"


TERMINAL = """
import os, signal, sys, threading
import numpy as np
from cellward.solve import worker
from cellward.solve.cpsat import solve_cpsat
from cellward.solve.model import LinearModel
model = LinearModel(**np.load(sys.argv[1]))
worker.warm_up()
threading.Timer(float(sys.argv[2]), os.killpg, (0, signal.SIGINT)).start()
outcome = solve_cpsat(model, start=np.zeros(60))
print(outcome.status, outcome.limit_reached, outcome.interrupted, outcome.objective <= 0)
"""


def test_ctrl_c_in_a_terminal_reaches_the_child_too_and_harms_nobody(tmp_path):
    np.savez(tmp_path / "model.npz", **vars(hard()))
    for after_s in (2, 10, 60):  # on a busy machine the search has hardly begun after two seconds
        ended = subprocess.run(
            [sys.executable, "-c", TERMINAL, str(tmp_path / "model.npz"), str(after_s)],
            env={**os.environ, "PYTHONPATH": str(Path(worker.__file__).parents[2])},
            text=True,
            capture_output=True,
            start_new_session=True,
            check=False,
        )
        assert ended.stderr == ""
        if not ended.stdout.startswith("unknown"):
            break
    assert ended.stdout.split() == ["feasible", "True", "True", "True"]
