"""Solvers that time out, lie or crash: an error with a name, no values, or safe values all the same; benchmarks/solver_faults.py has thousands."""

import math
import os
import signal
import threading
from dataclasses import replace

import numpy as np
import pytest
from releases import by_hand

import cellward as cw
from cellward.audit import bound, linear, settle
from cellward.protect.lattice.branch_and_bound import BranchAndBound
from cellward.protect.lattice.flow_in_worker import FlowInWorker
from cellward.protect.lattice.vertex import VertexThenBlocks
from cellward.solve import highs, worker
from cellward.solve.flow import solve_flow
from cellward.solve.highs import solve_lp, solve_mip
from cellward.solve.outcome import Outcome
from cellward.solve.warm_lp import WarmLp
from cellward.table.sensitivity import Sensitivity

FIGURE_1 = [[20, 50, 10], [8, 19, 22], [17, 32, 12]]
LEAST = 16
II_C = 6
LIARS = {
    "solve_lp": lambda lie: (VertexThenBlocks(solver=lie(solve_lp)),),
    "solve_mip": lambda lie: (VertexThenBlocks(whole=-1.0, blocks=(BranchAndBound(solver=lie(solve_mip)),)),),
    "solve_flow": lambda lie: (FlowInWorker(fewest=0, solver=lie(solve_flow)), VertexThenBlocks()),
}
"""One of the engines, forced, with another adapter in the place of its own."""
ENGINES = list(LIARS)


def figure_1(level=2):
    table = cw.Table.from_array(FIGURE_1, dims=["activity", "region"])
    return table.with_sensitivity(Sensitivity.of(16, [II_C], *(np.array([level]) for _ in range(3))))


def rounded(level=2, method=None):
    return (method or cw.ControlledRounding(5)).protect(figure_1(level))


def rounding_by(name, lie):
    """A rounding by one engine, whose adapter is what ``lie`` makes of the true one."""

    class Lied(cw.ControlledRounding):
        engines = LIARS[name](lie)

    return Lied(5)


def lying(name, change):
    """The same with every true answer sent through ``change``."""
    return rounding_by(name, lambda true: lambda *given, **options: change(true(*given, **options)))


@pytest.fixture
def fake(monkeypatch):
    """Replace an adapter where it is used: its true answer goes through ``change``."""

    def put(owner, name, change):
        true = getattr(owner, name)
        monkeypatch.setattr(owner, name, lambda *given, **options: change(true(*given, **options)))

    return put


@pytest.fixture
def bound_by_lp(monkeypatch):
    """A rounding that leaves the proof of the bound to WarmLp: no potentials, no duals from the engine."""
    monkeypatch.setattr(bound, "potentials", lambda *_: None)
    return lying("solve_lp", lambda outcome: replace(outcome, row_duals=None))


@pytest.fixture
def audit_by_lp(monkeypatch):
    """Leave the attackers to linear and integer programs."""
    monkeypatch.setattr(settle, "_structured", lambda questions: False)
    monkeypatch.setattr(settle, "_leaf_moves", lambda questions: None)


def raises(error):
    def change(outcome):
        raise error

    return change


# ---- engines -------------------------------------------------------------------------------------------------------------------------------------


@pytest.mark.parametrize("name", ENGINES)
def test_a_time_out_releases_nothing(name):
    method = lying(name, lambda _: Outcome(status="unknown", limit_reached=True))
    p = rounded(method=method)
    assert p.status == "failed"
    with pytest.raises(cw.VerificationError, match="nothing can be released"):
        p.release()


@pytest.mark.parametrize("name", ENGINES)
def test_nan_in_values_is_no_answer(name):
    method = lying(name, lambda outcome: replace(outcome, x=np.full_like(outcome.x, math.nan)))
    with pytest.raises(cw.SolverError):
        rounded(method=method)


@pytest.mark.parametrize("name", ENGINES)
def test_a_false_infeasible_stays_a_claim(name):
    method = lying(name, lambda _: Outcome(status="infeasible"))
    p = rounded(method=method)
    verdict = p.certificate().check()
    assert p.status == "infeasible"
    assert verdict
    assert not verdict.proven


@pytest.mark.parametrize("name", ["solve_lp", "solve_mip"])
def test_a_false_optimum_stays_a_claim(name):
    turned = rounding_by(name, lambda true: lambda model, **o: true(replace(model, cost=-model.cost), **o))
    p = rounded(level=0, method=turned)
    verdict = p.certificate().check()
    assert p.status in ("optimal", "feasible")
    assert p.objective > LEAST
    assert p.certified_bound <= LEAST
    assert verdict
    assert not verdict.proven


@pytest.mark.parametrize("name", ENGINES)
def test_a_point_that_is_no_table_is_refused(name):
    method = lying(name, lambda outcome: replace(outcome, x=1 - outcome.x * (np.arange(len(outcome.x)) > 0)))
    with pytest.raises(cw.SolverError, match="does not hold"):
        rounded(method=method)


@pytest.mark.parametrize("off", [1e-6, 1e-2])
@pytest.mark.parametrize("name", ENGINES)
def test_values_a_little_off_make_the_same_table(name, off):
    method = lying(name, lambda outcome: replace(outcome, x=np.abs(outcome.x - off)))
    p = rounded(method=method)
    assert p.objective == LEAST
    assert p.release().publication.v.tolist() == p.scaled.tolist()


@pytest.mark.parametrize("duals", [lambda y: y * math.nan, lambda y: 1000 * y, lambda y: -y, lambda y: y + 1e300])
def test_garbage_duals_of_the_engine_prove_nothing_false(monkeypatch, duals):
    monkeypatch.setattr(bound, "potentials", lambda *_: None)
    method = lying("solve_lp", lambda outcome: replace(outcome, row_duals=duals(outcome.row_duals)))
    p = rounded(method=method)
    p.release()
    assert p.certified_bound <= LEAST


def test_a_bound_too_high_is_only_the_solvers_word():
    method = lying("solve_mip", lambda outcome: replace(outcome, status="feasible", bound=1e9))
    p = rounded(method=method)
    assert p.objective == LEAST
    assert p.certified_bound <= LEAST


@pytest.mark.parametrize("error", [cw.SolverError("it gives up."), RuntimeError("it broke down"), MemoryError()])
@pytest.mark.parametrize("name", ENGINES)
def test_a_crash_of_an_engine_is_a_solver_error(name, error):
    method = lying(name, raises(error))
    with pytest.raises(cw.SolverError):
        rounded(method=method)


def test_duals_of_an_engine_cut_short_prove_nothing_false():
    method = lying("solve_lp", lambda outcome: replace(outcome, row_duals=outcome.row_duals[:-1]))
    try:
        p = rounded(method=method)
    except cw.SolverError:
        return
    assert p.certified_bound <= LEAST


@pytest.mark.parametrize("cut", [-1, 0])
@pytest.mark.parametrize("name", ENGINES)
def test_an_engine_cut_short_is_a_solver_error(name, cut):
    method = lying(name, lambda outcome: replace(outcome, x=outcome.x[:cut]))
    with pytest.raises(cw.SolverError):
        rounded(method=method)


@pytest.mark.parametrize("how", [signal.SIGKILL, signal.SIGSEGV])
def test_a_killed_worker_is_a_solver_error(monkeypatch, tmp_path, how):
    def solve(model, **options):
        worker.warm_up()
        mine = worker._lanes[0].worker.process.pid
        os.kill(mine, signal.SIGSTOP)  # held, so that it cannot answer first
        timer = threading.Timer(0.01, lambda: (os.kill(mine, how), os.kill(mine, signal.SIGCONT)))
        if how == signal.SIGKILL:
            timer = threading.Timer(0.01, os.kill, (mine, how))
        timer.start()
        try:
            return solve_flow(model, **options)
        finally:
            timer.join()

    monkeypatch.chdir(tmp_path)
    with pytest.raises(cw.SolverError, match=how.name):
        rounded(method=rounding_by("solve_flow", lambda _: solve))
    assert list(tmp_path.iterdir()) == []  # the instance is kept on request alone


# ---- inside HiGHS --------------------------------------------------------------------------------------------------------------------------------


@pytest.mark.parametrize(
    "change",
    [
        lambda answer: replace(answer, x=answer.x[:-1]),
        lambda answer: replace(answer, x=answer.x * math.nan),
        lambda answer: replace(answer, x=answer.x + 1e-2),
        lambda answer: replace(answer, objective=answer.objective + 1e6),
        raises(RuntimeError("it broke down")),
    ],
)
def test_what_highs_says_is_measured(fake, change):
    fake(highs, "_run", change)
    with pytest.raises(cw.SolverError):
        rounded()


# ---- attackers -----------------------------------------------------------------------------------------------------------------------------------


@pytest.mark.parametrize("duals", [lambda y: y * math.nan, lambda y: 1000 * y, lambda y: y + 1e18])
def test_garbage_duals_leave_an_audit_true(fake, audit_by_lp, duals):
    p = rounded()
    honest = p.audit()
    fake(WarmLp, "maximise", lambda outcome: replace(outcome, row_duals=duals(outcome.row_duals)))
    found = p.audit()
    exactly = found.intervals["exact"]
    assert [end for end, sure in zip(found.ends, exactly, strict=True) if sure] == [
        end for end, sure in zip(honest.ends, exactly, strict=True) if sure
    ]
    assert found.protected is not False


@pytest.mark.parametrize(
    "change",
    [
        lambda outcome: replace(outcome, x=outcome.x + 3),
        lambda outcome: replace(outcome, x=outcome.x + 0.01),
        lambda _: Outcome(status="unknown", limit_reached=True),
    ],
)
def test_useless_points_leave_levels_unshown(fake, audit_by_lp, change):
    fake(WarmLp, "maximise", change)
    fake(linear, "solve_mip", change)
    p = rounded()
    assert p.status == "failed"
    assert "no rounding was shown to protect" in p.reason


def test_a_lying_integer_solver_is_counted_and_shows_nothing(fake, audit_by_lp):
    honest = rounded(level=0)
    truth = honest.audit().ends
    fake(WarmLp, "maximise", lambda outcome: replace(outcome, x=outcome.x + 0.37, row_duals=None))
    fake(linear, "solve_mip", lambda outcome: replace(outcome, x=np.zeros_like(outcome.x), status="optimal"))
    found = honest.audit()
    wrong = sum(
        end != true
        for ends, trues in zip(found.ends, truth, strict=True)
        for end, true in zip(ends, trues, strict=True)
    )
    assert 0 < wrong <= found.claimed
    assert rounded().values is None


@pytest.mark.parametrize("error", [cw.SolverError("it gives up."), RuntimeError("it broke down")])
@pytest.mark.parametrize("place", [(WarmLp, "maximise"), (WarmLp, "_load")])
def test_a_crash_in_an_audit_is_a_solver_error(fake, audit_by_lp, place, error):
    p = rounded(level=0)
    fake(*place, raises(error))
    with pytest.raises(cw.SolverError):
        p.audit()


@pytest.mark.parametrize("spoil", [lambda x: x[:-1], lambda x: x * math.nan])
def test_an_audit_cut_short_or_not_a_number_is_a_solver_error(fake, audit_by_lp, spoil):
    p = rounded(level=0)
    fake(WarmLp, "maximise", lambda outcome: replace(outcome, x=spoil(outcome.x)))
    with pytest.raises(cw.SolverError):
        p.audit()


def test_an_objective_too_high_does_not_make_a_cell_endless(fake):
    # x + y = 5 and x − y = 1 disclose x = 3, y = 2; one equation at a time bounds neither.
    table = cw.Table.from_equations([3, 2], [[1, 1], [1, -1]], rhs=[5, 1], lower=[None, None])
    table = table.with_sensitivity(Sensitivity.of(2, [0], *(np.array([1]) for _ in range(3))))
    release = by_hand(table, table.scaled, cw.Knowledge.suppressed(table.scaled, np.array([0, 1])))
    fake(WarmLp, "maximise", lambda outcome: replace(outcome, objective=1e9))
    assert cw.audit(release, table=table).protected is not True


# ---- the bound -----------------------------------------------------------------------------------------------------------------------------------


@pytest.mark.parametrize(
    "change",
    [
        lambda _: Outcome(status="unknown", limit_reached=True),
        lambda _: Outcome(status="infeasible"),
        lambda outcome: replace(outcome, row_duals=outcome.row_duals * math.nan),
        lambda outcome: replace(outcome, row_duals=outcome.row_duals + math.inf),
        lambda outcome: replace(outcome, row_duals=1000 * outcome.row_duals),
        lambda outcome: replace(outcome, row_duals=outcome.row_duals[:-1]),
        lambda outcome: replace(outcome, x=outcome.x[:-1]),
        lambda outcome: replace(outcome, objective=1e9, bound=1e9),
        raises(cw.SolverError("it gives up.")),
        raises(RuntimeError("it broke down")),
    ],
)
def test_trouble_in_the_proof_only_costs_sharpness(fake, bound_by_lp, change):
    fake(WarmLp, "solve", change)
    p = rounded(method=bound_by_lp)
    p.release()
    assert p.certified_bound <= LEAST
    assert p.certificate().check()
