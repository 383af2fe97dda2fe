"""Limits, progress and Ctrl-C of a whole job: fakes for engines, alarms that ring at once, signals raised on purpose."""

from __future__ import annotations

import json
import os
import signal
import subprocess
import sys
import threading
import time
from pathlib import Path

import numpy as np
import pytest

import cellward as cw
from cellward.cli import finish as finish_module
from cellward.cli import progress
from cellward.errors import SolverError, TimeLimitError
from cellward.instance import Instance
from cellward.protect.adjustment import engines as adjustment_engines
from cellward.protect.adjustment.continuous import Continuous
from cellward.protect.lattice.engines import ENGINES
from cellward.protect.lattice.problem import Found
from cellward.protect.perturbation.cutting_planes import CuttingPlanes, FractionalOptimum
from cellward.protect.reserve import BUSIEST, MOST, SHOWN_SHARE, reserves
from cellward.protect.rounding import attempt as rounding_attempt
from cellward.protect.rounding.conflict import Conflict
from cellward.solve import alarm as alarms
from cellward.solve import worker
from cellward.solve.alarm import WRITING, alarm
from cellward.solve.budget import NO_TIME, Budget
from cellward.solve.cpsat import solve_cpsat
from cellward.solve.highs import solve_mip
from cellward.solve.model import LinearModel
from cellward.solve.watch import Standing, Watch

TABLE = cw.Table.from_array([[20, 51, 11], [8, 19, 22], [17, 33, 12]])
AT_RISK = cw.Table.from_equations([12, 21, 33], [[1, 1, -1]], sensitive=[0], lpl=[1], upl=[1])


@pytest.fixture
def rings_at_once(monkeypatch):
    monkeypatch.setattr(alarms, "GRACE_S", 0.0)
    monkeypatch.setattr(alarms, "AGAIN_S", 0.02)


def busy(*_, **__):
    """Work that looks at no clock."""
    while True:
        sum(range(1000))


def rounded(problem, budget):
    """What the true engines find, whatever the budget says."""
    return next(one for one in ENGINES if one.accepts(problem) is None).solve(problem, Budget())


# ---- the clock ---------------------------------------------------------------------------------------------------------------------------


def test_a_search_is_given_less_than_the_limit_and_never_nothing(round_by):
    seen = []
    round_by(lambda problem, budget: seen.append(budget) or rounded(problem, budget))
    cw.ControlledRounding(5).protect(TABLE, time_limit_s=60)
    kept = 60 - seen[0].time_limit_s
    assert 0 < kept < 1 and 59 < seen[0].showing.left < 60
    cw.ControlledRounding(5).protect(AT_RISK, time_limit_s=60)
    kept = 60 - seen[1].time_limit_s
    assert SHOWN_SHARE * 60 < kept < SHOWN_SHARE * 60 + 1
    cw.ControlledRounding(5).protect(TABLE, time_limit_s=0.5)
    assert seen[-1].time_limit_s > (1 - 2 * MOST) * 0.4


def test_the_reserve_grows_with_the_table_and_is_none_without_a_limit():
    small, large = (Instance.of(cw.Table.from_array(np.ones((n, n)))) for n in (3, 60))
    minute = Budget(time_limit_s=60)
    for little, more in zip(reserves(small, minute), reserves(large, minute), strict=True):
        assert 0 < little < more < 15
    assert reserves(large, Budget()) == (0, 0)


def test_more_is_kept_to_close_on_a_busy_machine(monkeypatch):
    one = Instance.of(cw.Table.from_array(np.ones((60, 60))))
    kept = []
    for load in (0.1, 2.0, 100.0):
        monkeypatch.setattr(os, "getloadavg", lambda load=load: (load, 0.0, 0.0))
        monkeypatch.setattr(os, "cpu_count", lambda: 1)
        kept.append(reserves(one, Budget(time_limit_s=60))[1])
    assert kept == pytest.approx([kept[0], 2 * kept[0], BUSIEST * kept[0]], rel=0.01)


def test_work_that_looks_at_no_clock_is_ended_in_a_sentence(rings_at_once):
    budget = Budget(time_limit_s=0.01)
    budget.enter("finding attackers")
    words = r"the time limit of 0\.01 s came while finding attackers \(\d\.\d s\); give more time"
    with pytest.raises(TimeLimitError, match=words), alarm(budget):
        busy()
    assert signal.getsignal(signal.SIGALRM) is signal.SIG_DFL
    assert signal.getitimer(signal.ITIMER_REAL)[0] == 0


def test_an_alarm_that_a_library_takes_for_its_own_error_is_still_one(rings_at_once):
    with pytest.raises(TimeLimitError), alarm(Budget(time_limit_s=0.01)):
        try:
            busy()
        except TimeLimitError:
            raise RuntimeError("Query interrupted") from None


def test_an_alarm_that_is_swallowed_rings_again(rings_at_once):
    rang = []
    with pytest.raises(TimeLimitError), alarm(Budget(time_limit_s=0.01)):
        for _ in range(3):
            try:
                busy()
            except TimeLimitError as error:
                rang.append(error)
        raise rang[-1]
    assert len(rang) == 3


def test_what_is_being_written_is_written(rings_at_once):
    budget = Budget(time_limit_s=0.01)
    budget.enter(WRITING)
    with alarm(budget):
        time.sleep(0.1)
    assert budget.over  # and nothing rang


def test_without_a_limit_or_beside_another_alarm_nothing_rings(rings_at_once):
    with alarm(Budget()):
        assert signal.getsignal(signal.SIGALRM) is signal.SIG_DFL
    with alarm(Budget(time_limit_s=60)):
        own = signal.getsignal(signal.SIGALRM)
        with alarm(Budget(time_limit_s=NO_TIME)):
            assert signal.getsignal(signal.SIGALRM) is own


def test_an_engine_that_does_not_look_at_its_clock_has_failed(round_by, rings_at_once):
    round_by(busy)
    p = cw.ControlledRounding(5).protect(TABLE, time_limit_s=0.05)
    assert (p.status, p.run.limit_reached) == ("failed", True)
    assert p.reason.startswith("the time limit of 0.05 s came while solving (")


def test_the_sentence_names_the_phase_that_had_no_end(tmp_path, run, round_by, rings_at_once, monkeypatch):
    monkeypatch.setattr(finish_module, "summary", lambda *_, **__: time.sleep(0.1) or {})
    round_by(busy)
    (tmp_path / "t.csv").write_text("a,n\nx,1\ny,2\nz,4\n")
    said = run(
        "round", tmp_path / "t.csv", "--dims", "a", "--value", "n", "--out", tmp_path / "out", "--time-limit", 0.3, "--json"
    )  # fmt: skip
    assert said.code == 3 and "came while solving (" in said.err and said.err.count("\n") == 1
    assert signal.getsignal(signal.SIGALRM) is signal.SIG_DFL


def test_reading_that_takes_too_long_ends_in_a_sentence(tmp_path, run, monkeypatch, rings_at_once):
    (tmp_path / "t.csv").write_text("a,n\nx,1\ny,2\n")
    (tmp_path / "j.toml").write_text(
        '[input]\nfile = "t.csv"\n[roles]\ndims = ["a"]\n[method]\nbase = 5\ntime_limit_s = 0.5\n[output]\nfolder = "out"\n'
    )
    monkeypatch.setattr(cw.Table, "from_microdata", busy)
    said = run("run", tmp_path / "j.toml")
    assert said.code == 3 and "came while reading (" in said.err and said.err.count("\n") == 1
    assert not (tmp_path / "out").exists()


@pytest.mark.parametrize("phase", ["showing levels", "certifying"])
def test_what_comes_after_the_search_has_the_same_clock(tmp_path, run, monkeypatch, rings_at_once, phase):
    (tmp_path / "t.csv").write_text("a,n\nx,1\ny,2\nz,4\n")
    where = (cw.Protection, "releasable") if phase == "showing levels" else (cw.Protection, "release")
    monkeypatch.setattr(*where, property(busy) if phase == "showing levels" else busy)
    said = run(
        "round", tmp_path / "t.csv", "--dims", "a", "--value", "n", "--out", tmp_path / "out", "--time-limit", 0.5
    )
    assert said.code == 3 and f"came while {phase} (" in said.err
    assert [path.name for path in tmp_path.iterdir()] == ["t.csv"]


# ---- a limit is never "infeasible" -------------------------------------------------------------------------------------------------------


def test_senses_that_do_not_go_together_prove_nothing_at_the_end_of_the_time(monkeypatch):
    t = cw.Table.from_equations([10, 20, 30], np.array([[1, 1, -1]]), sensitive=[0, 1, 2], lpl=[3, 3, 3], upl=[3, 3, 3])
    monkeypatch.setattr(
        adjustment_engines, "first_answer", lambda *_: Continuous("infeasible", "equation", "no engine")
    )
    monkeypatch.setattr(Budget, "over", property(lambda _: True))
    p = cw.ControlledAdjustment().protect(t, time_limit_s=60)
    assert p.status == "failed"


def test_a_perturbation_near_what_was_drawn_that_ran_out_of_time_is_not_impossible(monkeypatch):
    answers = iter([FractionalOptimum("infeasible", "fake"), FractionalOptimum("unknown", "fake", np.array([1.0]))] * 3)
    monkeypatch.setattr(CuttingPlanes, "_planes", lambda *_, **__: (next(answers), []))
    monkeypatch.setattr(CuttingPlanes, "_off_drawn", None)
    one = np.array([0])
    search = CuttingPlanes(None, None, [], Budget(), one, one + 5, (one, one, 1))
    assert search.solve().status == "unknown"


# ---- Ctrl-C ------------------------------------------------------------------------------------------------------------------------------


def stopped_on_the_way(problem, budget):
    signal.raise_signal(signal.SIGINT)
    assert budget.stopped and budget.over and not budget.showing.over
    return rounded(problem, budget)


def test_ctrl_c_hands_over_the_best_result(round_by):
    before = signal.getsignal(signal.SIGINT)
    round_by(stopped_on_the_way)
    with pytest.raises(KeyboardInterrupt) as stop:
        cw.ControlledRounding(5).protect(TABLE)
    assert isinstance(stop.value, cw.Stopped)
    assert stop.value.best.run.stopped and stop.value.best.release() is not None
    assert signal.getsignal(signal.SIGINT) is before


def test_ctrl_c_before_anything_is_found_hands_over_that(round_by):
    def nothing(*_):
        signal.raise_signal(signal.SIGINT)
        return Found("unknown", "no engine")

    round_by(nothing)
    with pytest.raises(cw.Stopped) as stop:
        cw.ControlledRounding(5).protect(TABLE, time_limit_s=60)
    assert stop.value.best.status == "failed"
    assert stop.value.best.reason.startswith("nothing was found before the search was stopped (no engine; solving, ")


def test_a_second_ctrl_c_raises_at_once(round_by):
    def stubborn(*_):
        signal.raise_signal(signal.SIGINT)
        signal.raise_signal(signal.SIGINT)
        raise AssertionError("it went on")

    round_by(stubborn)
    with pytest.raises(KeyboardInterrupt) as stop:
        cw.ControlledRounding(5).protect(TABLE)
    assert not isinstance(stop.value, cw.Stopped)


def test_ctrl_c_on_the_command_line_writes_the_best_answer(tmp_path, run, round_by):
    round_by(stopped_on_the_way)
    (tmp_path / "t.csv").write_text("a,n\nx,1\ny,2\nz,4\n")
    said = run(
        "round", tmp_path / "t.csv", "--dims", "a", "--value", "n", "--base", 5, "--out", tmp_path / "out", "--json"
    )
    assert said.code == 0 and "the search was stopped" in said.err
    facts = json.loads(said.out)
    assert facts["verified"] and facts["notes"][0].startswith("the search was stopped (Ctrl-C)")
    assert json.loads((tmp_path / "out" / "protection.json").read_text())["limit_reached"] is True


SECOND = """
import signal, sys
import cellward as cw
from cellward.cli import main
class Stubborn:
    name = "stubborn"
    def accepts(self, _): return None
    def solve(self, problem, budget):
        from cellward.solve import worker
        worker.warm_up()
        print(worker._lanes[0].worker.process.pid, file=sys.stderr, flush=True)
        signal.raise_signal(signal.SIGINT)
        signal.raise_signal(signal.SIGINT)
        while True: pass
cw.ControlledRounding.engines = (Stubborn(),)
main()
"""


def test_a_second_ctrl_c_on_the_command_line_ends_it_with_nothing_written_and_no_child_left(tmp_path):
    (tmp_path / "t.csv").write_text("a,n\nx,1\ny,2\nz,4\n")
    done = subprocess.run(
        [sys.executable, "-c", SECOND, "round", "t.csv", "--dims", "a", "--value", "n", "--out", "out"],
        cwd=tmp_path, capture_output=True, text=True, check=False,
    )  # fmt: skip
    assert done.returncode == -signal.SIGINT
    child, *_, said = done.stderr.splitlines()
    assert said == "cellward: interrupted; nothing was written"
    assert [path.name for path in tmp_path.iterdir()] == ["t.csv"]
    for _ in range(200):
        try:
            state = Path(f"/proc/{child}/stat").read_text().rsplit(")", 1)[1].split()[0]
        except FileNotFoundError:
            return
        if state == "Z":
            return
        time.sleep(0.05)
    raise AssertionError("the worker lives on")


# ---- solvers hear it, and tell ------------------------------------------------------------------------------------------------------------


@pytest.mark.parametrize("stoppable", [True, False])
def test_a_budget_that_is_stopped_ends_the_worker(monkeypatch, stoppable):
    monkeypatch.setattr(worker, "STOP_GRACE_S", 0.1)
    worker.warm_up()
    child, budget = worker._lanes[0].worker.process, Budget(time_limit_s=600)
    part = budget.part()
    threading.Timer(0.2, budget.stop).start()
    outcome = worker.call(time.sleep, 500.0, time_limit_s=600, stoppable=stoppable, budget=part)
    assert (outcome.status, outcome.interrupted) == ("unknown", True)
    assert child.poll() is not None


def test_notes_come_before_the_answer():
    told = []
    budget = Budget(watch=Watch(told.append)).counting(10.0, 2.0)
    with pytest.raises(SolverError, match="must return an Outcome"):
        worker.call(worker.note, 8.0, budget=budget)
    assert [(one.incumbent, one.bound) for one in told] == [(26.0, None)]


def knapsack(n):
    rng = np.random.default_rng(3)
    return LinearModel(
        cost=-rng.integers(10, 99, n).astype(float), lower=np.zeros(n), upper=np.ones(n),
        indptr=np.arange(0, 5 * n + 1, n), indices=np.tile(np.arange(n), 5), coefs=rng.integers(10, 99, 5 * n).astype(float),
        row_lower=np.full(5, -np.inf), row_upper=np.full(5, 12.0 * n), integer=np.ones(n, bool),
    )  # fmt: skip


def test_cp_sat_tells_what_it_finds():
    told = []
    outcome = solve_cpsat(knapsack(30), budget=Budget(watch=Watch(told.append)).counting(0.0, 1.0))
    found = [one.incumbent for one in told if one.incumbent is not None]
    assert found and min(found) >= outcome.objective
    solve_cpsat(knapsack(30), budget=Budget(watch=Watch(told.clear)))


def test_a_budget_that_is_stopped_ends_highs():
    budget = Budget()
    budget.stop()
    outcome = solve_mip(knapsack(60), budget=budget)
    assert outcome.limit_reached and outcome.status in ("feasible", "unknown")


def test_progress_is_told_of_phases_and_better_tables():
    told: list[Standing] = []
    rng = np.random.default_rng(5)
    p = cw.ControlledRounding(5).protect(cw.Table.from_array(rng.poisson(4, (6, 6, 6))), progress=told.append)
    assert told[0].phase == "solving" and told[0].incumbent is None
    found = [one.incumbent for one in told if one.incumbent is not None]
    assert found == sorted(found, reverse=True) and found[-1] >= p.objective
    assert all(one.bound is None or one.bound <= p.objective + 1e-6 for one in told)


def test_a_log_has_lines_now_and_then_and_none_where_it_is_to_be_quiet(monkeypatch, capsys):
    monkeypatch.setattr(progress, "LINES_S", 0.01)
    for quiet in (True, False):
        budget = Budget(time_limit_s=60)
        with progress.told(budget, quiet=quiet):
            budget.enter("solving")
            budget.counting(0.0, 1.0).found(1250.0, 1000.0)
            time.sleep(0.1)
        said = capsys.readouterr().err
        assert budget.watch.listener is None
        assert ("cellward: solving: best 1,250, bound 1,000, gap 20 % (0 s)" in said) is not quiet


def test_a_terminal_has_a_bar_after_two_seconds(monkeypatch, capsys):
    monkeypatch.setattr(sys.stderr, "isatty", lambda: True, raising=False)
    monkeypatch.setattr(progress, "AFTER_S", 0.0)
    monkeypatch.setattr(progress, "DRAWN_S", 0.01)
    budget = Budget(time_limit_s=60)
    with progress.told(budget, quiet=True):
        budget.enter("solving")
        time.sleep(0.2)
    assert "solving" in capsys.readouterr().err


def test_no_time_is_spent_on_why_there_is_none_while_more_steps_are_tried(round_by, monkeypatch):
    looked = []
    monkeypatch.setattr(rounding_attempt, "of_equations", lambda *_: looked.append(1) or Conflict())
    asked = []
    round_by(lambda *_: asked.append(1) or Found("infeasible", "no engine"))
    p = cw.ControlledRounding(5, max_steps=3).protect(TABLE)
    assert (p.status, len(asked), len(looked)) == ("infeasible", 3, 1)
