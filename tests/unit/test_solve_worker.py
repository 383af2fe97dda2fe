"""The worker process: warm, killed at its limit, replaced after a crash, whose instance can be replayed."""

from __future__ import annotations

import functools
import os
import signal
import subprocess
import sys
import threading
import time
from dataclasses import replace
from pathlib import Path

import numpy as np
import polars
import pytest

from cellward.errors import InputError, SolverError
from cellward.protect.lattice.stretch import Road, Side
from cellward.solve import crash, worker
from cellward.solve.budget import Budget
from cellward.solve.flow import solve_flow
from cellward.solve.highs import solve_lp
from cellward.solve.model import FlowModel, LinearModel

SOURCE = str(Path(worker.__file__).parents[2])
MODEL = FlowModel(
    tail=np.array([0, 0]),
    head=np.array([1, 1]),
    capacity=np.array([1, 1]),
    cost=np.array([3, 2]),
    supply=np.array([1, -1]),
)


def large_model():
    """Some 40 MB: far more than any pipe holds."""
    arcs = 1_250_000
    return FlowModel(
        tail=np.zeros(arcs, np.int64),
        head=np.ones(arcs, np.int64),
        capacity=np.ones(arcs, np.int64),
        cost=np.arange(arcs),
        supply=np.array([2, -2]),
    )


@pytest.fixture(autouse=True)
def a_worker_of_its_own():
    worker.shut_down()
    yield
    worker.shut_down()


def child_runs(monkeypatch, code):
    """From here on, workers are this program instead."""
    worker.shut_down()
    monkeypatch.setattr(worker, "COMMAND", [sys.executable, "-c", code])


def pid():
    return worker._lanes[0].worker.process.pid


def test_the_worker_is_kept():
    assert worker._lanes[0].worker is None
    solve_flow(MODEL)
    first = pid()
    assert solve_flow(MODEL).objective == 2
    assert pid() == first


def test_warm_up_starts_it_once():
    worker.warm_up()
    first = pid()
    worker.warm_up()
    solve_flow(MODEL)
    assert pid() == first


def test_highs_and_the_worker_take_turns():
    one = np.ones(1)
    lp = LinearModel(
        cost=one,
        lower=0 * one,
        upper=9 * one,
        indptr=np.array([0, 1]),
        indices=np.array([0]),
        coefs=one,
        row_lower=one,
        row_upper=one,
    )
    for _ in range(2):
        assert solve_lp(lp).objective == 1
        assert solve_flow(MODEL).objective == 2


def test_a_large_model_goes_through():
    outcome = solve_flow(large_model())
    assert outcome.objective == 1 and outcome.x[:3].tolist() == [1, 1, 0]


def test_time_limit_kills_the_worker_and_the_next_call_has_a_new_one():
    solve_flow(MODEL)
    first = pid()
    outcome = worker.call(time.sleep, 600.0, time_limit_s=0.2)
    assert outcome.status == "unknown" and outcome.limit_reached and outcome.x is None
    with pytest.raises(ProcessLookupError):
        os.kill(first, 0)
    assert solve_flow(MODEL, budget=Budget(time_limit_s=60)).objective == 2


def test_time_limit_holds_when_the_child_reads_nothing(monkeypatch):
    child_runs(monkeypatch, "import time; time.sleep(600)")
    outcome = solve_flow(large_model(), budget=Budget(time_limit_s=0.2))
    assert outcome.status == "unknown" and outcome.limit_reached


def test_time_limit_holds_in_the_middle_of_an_answer(monkeypatch):
    child_runs(monkeypatch, "import os, time; os.write(1, b'\\1' + bytes(7) + b'\\0'); time.sleep(600)")
    assert solve_flow(MODEL, budget=Budget(time_limit_s=0.2)).status == "unknown"


def test_no_time_at_all():
    over = Budget()
    over.stop()
    outcome = solve_flow(MODEL, budget=over)
    assert outcome.status == "unknown" and outcome.limit_reached


@pytest.mark.parametrize("limit", [float("inf"), 1e300, None])
def test_endless_time(limit):
    assert solve_flow(MODEL, budget=Budget(time_limit_s=limit)).status == "optimal"


def test_time_limit_counts_the_wait_for_another_thread():
    worker.warm_up()
    slow = threading.Thread(target=worker.call, args=(time.sleep, 600.0), kwargs={"time_limit_s": 2.0})
    slow.start()
    while not worker._lanes[0].lock.locked():
        time.sleep(0.01)
    assert solve_flow(MODEL, budget=Budget(time_limit_s=0.1)).status == "unknown"
    slow.join()
    assert solve_flow(MODEL).status == "optimal"


def test_threads_share_it():
    answers = []
    threads = [threading.Thread(target=lambda: answers.append(solve_flow(MODEL).objective)) for _ in range(8)]
    for thread in threads:
        thread.start()
    for thread in threads:
        thread.join()
    assert answers == [2.0] * 8


@pytest.mark.parametrize(
    ("code", "sentence"),
    [
        ("import os, signal; os.kill(os.getpid(), signal.SIGSEGV)", r"signal 11 \(SIGSEGV\)"),
        ("import sys; sys.exit(7)", "exit code 7"),
        ("raise ImportError('no such module')", "no such module"),
        ("import os; os.read(0, 100); os.write(1, b'\\1' + bytes(7) + b'\\0'); os._exit(3)", "exit code 3"),
    ],
)
def test_a_crash_is_a_sentence_and_a_file_that_can_be_replayed(monkeypatch, tmp_path, code, sentence):
    with monkeypatch.context() as patch:
        child_runs(patch, code)
        with pytest.raises(SolverError, match=sentence) as caught:
            solve_flow(MODEL, crash_dir=tmp_path)
        with pytest.raises(SolverError):
            solve_flow(MODEL, crash_dir=tmp_path)
    (saved,) = tmp_path.iterdir()
    assert str(saved) in str(caught.value) and "CONFIDENTIAL" in str(caught.value)
    assert saved.name.startswith("cellward-crash-") and saved.stat().st_mode & 0o777 == 0o600
    assert solve_flow(MODEL, crash_dir=tmp_path).objective == 2
    outcome = worker.replay(saved)
    assert outcome.status == "optimal" and outcome.x.tolist() == [0, 1]


def test_killed_in_the_middle_of_a_call(tmp_path):
    worker.warm_up()
    killer = threading.Timer(0.5, os.kill, (pid(), signal.SIGKILL))
    killer.start()
    with pytest.raises(SolverError, match=r"signal 9 \(SIGKILL.*could not be saved"):
        worker.call(time.sleep, 600.0, crash_dir=tmp_path)
    killer.join()
    assert list(tmp_path.iterdir()) == []
    assert solve_flow(MODEL).objective == 2


def test_a_stray_signal_of_our_own_writing_is_nobodys_crash(monkeypatch, tmp_path):
    struck = tmp_path / "struck"
    once = "import os, signal, sys; from pathlib import Path; from cellward.solve.worker import serve; "
    once += f"p = Path({str(struck)!r}); first = not p.exists(); p.touch(); "
    once += "first and (os.read(0, 100), os.kill(os.getpid(), signal.SIGIO)); serve()"
    child_runs(monkeypatch, once)
    assert solve_flow(MODEL, crash_dir=tmp_path).objective == 2
    child_runs(monkeypatch, "import os, signal; os.read(0, 100); os.kill(os.getpid(), signal.SIGIO)")
    with pytest.raises(SolverError, match="SIGIO"):
        solve_flow(MODEL, crash_dir=tmp_path)


def test_killed_while_idle_is_nobodys_crash():
    solve_flow(MODEL)
    first = worker._lanes[0].worker.process
    os.kill(first.pid, signal.SIGKILL)
    os.waitid(os.P_PID, first.pid, os.WEXITED | os.WNOWAIT)
    assert solve_flow(MODEL).objective == 2
    assert pid() != first.pid


def test_a_crash_that_cannot_be_saved_is_still_a_sentence(monkeypatch, tmp_path):
    (tmp_path / "file").touch()
    with monkeypatch.context() as patch:
        child_runs(patch, "import sys; sys.exit(7)")
        with pytest.raises(SolverError, match=r"exit code 7.*could not be saved"):
            solve_flow(MODEL, crash_dir=tmp_path / "file")


def test_options_of_a_task_are_saved_with_it(tmp_path):
    model = FlowModel(**{name: getattr(MODEL, name) for name in ("tail", "head", "capacity", "cost", "supply")})
    crash.save(functools.partial(worker.replay, time_limit_s=3), model, tmp_path)
    (saved,) = tmp_path.iterdir()
    task, again = crash.load(saved)
    assert task.func is worker.replay and task.keywords == {"time_limit_s": 3}
    assert np.array_equal(again.cost, model.cost)
    crash.save(functools.partial(worker.replay, time_limit_s=4), model, tmp_path)
    assert len(list(tmp_path.iterdir())) == 2


def test_what_could_not_be_replayed_is_not_saved(tmp_path):
    road = Road((), *(np.zeros(1, np.int64) for _ in range(4)), 0)
    side = Side(*(np.zeros((1, 1), np.int64) for _ in range(5)), 1)
    assert "could not be saved" in crash.save(time.sleep, replace(road, sides=(side, side)), tmp_path)
    assert list(tmp_path.iterdir()) == []


def test_replay_refuses_strangers(tmp_path):
    for name, content in {"empty.npz": b"", "text.npz": b"hello", "zip.npz": b"PK\5\6" + bytes(18)}.items():
        (tmp_path / name).write_bytes(content)
    np.savez(tmp_path / "foreign.npz", about=np.array('{"task": "os:system", "model": "builtins:str", "options": {}}'))
    for path in [*tmp_path.iterdir(), tmp_path / "missing.npz"]:
        with pytest.raises(InputError, match=path.name):
            worker.replay(path)


def test_an_exception_in_the_child_is_a_sentence_and_the_child_lives_on():
    with pytest.raises(SolverError, match="ValueError: sleep length must be non-negative"):
        worker.call(time.sleep, -1)
    first = pid()
    assert solve_flow(MODEL).objective == 2
    assert pid() == first


def test_what_the_child_prints_is_not_an_answer(capfd):
    worker.warm_up()
    with pytest.raises(SolverError, match="print must return an Outcome"):
        worker.call(print, "noise")
    assert solve_flow(MODEL).objective == 2
    assert capfd.readouterr().out == ""


def test_an_answer_that_beats_the_limit_by_a_hair_leaves_a_usable_worker():
    worker.warm_up()
    for limit in np.linspace(0.0002, 0.002, 40):
        solve_flow(MODEL, budget=Budget(time_limit_s=limit))
        assert solve_flow(MODEL).status == "optimal"


def test_ctrl_c_leaves_no_half_read_answer():
    polars.DataFrame({"a": [1]})  # it makes the system restart interrupted reads
    worker.warm_up()
    first = pid()
    alarm = threading.Timer(0.5, signal.pthread_kill, (threading.main_thread().ident, signal.SIGINT))
    alarm.start()
    with pytest.raises(KeyboardInterrupt):
        worker.call(time.sleep, 600.0)
    alarm.join()
    assert worker._lanes[0].worker is None
    with pytest.raises(ProcessLookupError):
        os.kill(first, 0)
    assert solve_flow(MODEL).objective == 2


def ctrl_c(*after_s):
    """Ctrl-C at these moments, from now on; the timers."""
    timers = [threading.Timer(s, signal.pthread_kill, (threading.main_thread().ident, signal.SIGINT)) for s in after_s]
    for timer in timers:
        timer.start()
    return timers


def test_a_stoppable_task_that_does_not_stop_is_ended_after_a_grace(monkeypatch):
    monkeypatch.setattr(worker, "STOP_GRACE_S", 0.3)
    worker.warm_up()
    first = pid()
    timers = ctrl_c(0.5)
    outcome = worker.call(time.sleep, 600.0, stoppable=True)
    timers[0].join()
    assert outcome.status == "unknown" and outcome.interrupted and outcome.limit_reached
    with pytest.raises(ProcessLookupError):
        os.kill(first, 0)
    after = solve_flow(MODEL)
    assert after.objective == 2 and not after.interrupted


def test_a_second_ctrl_c_raises(monkeypatch):
    monkeypatch.setattr(worker, "STOP_GRACE_S", 600.0)
    worker.warm_up()
    timers = ctrl_c(0.5, 1.5)
    with pytest.raises(KeyboardInterrupt):
        worker.call(time.sleep, 600.0, stoppable=True)
    for timer in timers:
        timer.join()
    assert worker._lanes[0].worker is None
    assert solve_flow(MODEL).objective == 2


def test_ctrl_c_before_a_stoppable_task_has_its_whole_question(monkeypatch):
    with monkeypatch.context() as patch:
        child_runs(patch, "import time; time.sleep(600)")
        timers = ctrl_c(0.5)
        outcome = worker.call(time.sleep, large_model(), stoppable=True)
        timers[0].join()
    assert outcome.status == "unknown" and outcome.interrupted
    assert solve_flow(MODEL).objective == 2


def test_the_time_limit_holds_for_a_task_that_was_asked_to_stop(monkeypatch):
    monkeypatch.setattr(worker, "STOP_GRACE_S", 600.0)
    worker.warm_up()
    timers = ctrl_c(0.5)
    outcome = worker.call(time.sleep, 600.0, time_limit_s=2.0, stoppable=True)
    timers[0].join()
    assert outcome.status == "unknown" and outcome.limit_reached and outcome.interrupted


LISTENER = """
import threading, time
from cellward.solve import worker
from cellward.solve.outcome import Outcome

def listen(seconds):
    stopped = threading.Event()
    time.sleep(seconds)
    with worker.stopping(stopped.set):
        stopped.wait(600)
    return Outcome(status="feasible", limit_reached=stopped.is_set())

def leave(seconds):
    with worker.stopping(lambda: None):
        time.sleep(seconds)
    return Outcome(status="optimal")
"""


@pytest.fixture
def listener(monkeypatch, tmp_path):
    (tmp_path / "listener_of_a_test.py").write_text(LISTENER)
    monkeypatch.setenv("PYTHONPATH", str(tmp_path))
    monkeypatch.syspath_prepend(tmp_path)
    import listener_of_a_test

    return listener_of_a_test


@pytest.mark.parametrize("preparing_s", [0.0, 1.0])
def test_a_stoppable_task_is_asked_even_while_it_prepares(listener, preparing_s):
    worker.warm_up()
    timers = ctrl_c(0.6)
    outcome = worker.call(listener.listen, preparing_s, stoppable=True)
    timers[0].join()
    assert outcome.status == "feasible" and outcome.limit_reached and outcome.interrupted
    assert not worker.call(listener.leave, 0.0, stoppable=True).interrupted


def test_nobody_asks_outside_the_worker_nor_without_ctrl_c(listener):
    assert listener.leave(0.0).status == "optimal"
    for _ in range(20):
        assert worker.call(listener.leave, 0.0, stoppable=True).status == "optimal"
    first = pid()
    assert signal.SIGUSR1 not in signal.pthread_sigmask(signal.SIG_BLOCK, [])
    os.kill(first, signal.SIGUSR1)
    assert solve_flow(MODEL).objective == 2
    assert pid() == first


def test_the_child_ignores_ctrl_c():
    solve_flow(MODEL)
    first = pid()
    os.kill(first, signal.SIGINT)
    assert solve_flow(MODEL).objective == 2
    assert pid() == first


def run(code, **options):
    return subprocess.run(
        [sys.executable, "-W", "error", "-c", code],
        env={**os.environ, "PYTHONPATH": SOURCE},
        text=True,
        capture_output=True,
        **options,
    )


def gone(process):
    """Waits until the process is no more (or only a zombie that nobody here can reap)."""
    deadline = time.monotonic() + 60
    while time.monotonic() < deadline:
        try:
            if Path(f"/proc/{process}/stat").read_text().rsplit(")", 1)[1].split()[0] == "Z":
                return True
        except FileNotFoundError:
            return True
        time.sleep(0.01)
    return False


PARENT = """
import os, signal, sys, threading, time
sys.path.insert(0, {source!r})
from cellward.solve import worker
worker.warm_up()
print(worker._lanes[0].worker.process.pid, flush=True)
{then}
"""


def test_the_child_ends_with_its_parent_even_in_the_middle_of_a_task(tmp_path):
    """The parent is killed when the task has begun, which the task says by a file with the number of its process."""
    began = tmp_path / "began"
    task = f"""
import os, time
with open({str(began) + ".part"!r}, "w") as file:
    file.write(str(os.getpid()))
os.rename(file.name, {str(began)!r})
time.sleep(600)
"""
    then = f"""
def end_in_the_middle():
    while not os.path.exists({str(began)!r}):
        time.sleep(0.01)
    os.kill(os.getpid(), signal.SIGKILL)

threading.Thread(target=end_in_the_middle).start()
worker.call(exec, {task!r})
"""
    ended = run(PARENT.format(source=SOURCE, then=then))
    assert ended.returncode == -signal.SIGKILL, ended.stderr
    assert gone(int(began.read_text()))


def test_the_child_ends_with_a_parent_that_is_gone_before_the_task_begins():
    late = "import time; time.sleep(1.5); from cellward.solve.worker import serve; serve()"
    then = f"""
worker.shut_down()
worker.COMMAND[:] = [sys.executable, "-c", {late!r}]
worker.warm_up()
print(worker._lanes[0].worker.process.pid, flush=True)
threading.Timer(0.3, os.kill, (os.getpid(), signal.SIGKILL)).start()
worker.call(time.sleep, 600.0)
"""
    ended = run(PARENT.format(source=SOURCE, then=then))
    assert ended.returncode == -signal.SIGKILL
    assert gone(int(ended.stdout.split()[1]))


def test_the_child_is_closed_at_exit_without_a_word():
    ended = run(PARENT.format(source=SOURCE, then=""))
    assert ended.returncode == 0 and ended.stderr == ""
    assert gone(int(ended.stdout))


def test_the_child_finds_the_package_when_only_sys_path_knows_it(tmp_path):
    (tmp_path / "struct.py").write_text("raise ImportError('shadowed by the current directory')")
    then = """
import numpy as np
from cellward.solve.flow import solve_flow
from cellward.solve.model import FlowModel
one = np.array([1])
print(solve_flow(FlowModel(tail=one - 1, head=one, capacity=one, cost=one, supply=np.array([1, -1]))).status)
"""
    code = PARENT.format(source=SOURCE, then=then).replace("import os,", "import sys; sys.path.remove(''); import os,")
    env = {name: value for name, value in os.environ.items() if name != "PYTHONPATH"}
    ended = subprocess.run([sys.executable, "-c", code], env=env, text=True, capture_output=True, cwd=tmp_path)
    assert ended.stderr == "" and ended.stdout.split()[1] == "optimal"


def test_a_forked_child_has_a_worker_of_its_own():
    then = """
import numpy as np
from cellward.solve.flow import solve_flow
from cellward.solve.model import FlowModel
one = np.array([1])
model = FlowModel(tail=one - 1, head=one, capacity=one, cost=one, supply=np.array([1, -1]))
before = worker._lanes[0].worker.process.pid
child = os.fork()
if child == 0:
    good = worker._lanes[0].worker is None and solve_flow(model).status == "optimal" and worker._lanes[0].worker.process.pid != before
    worker.shut_down()
    os._exit(0 if good else 1)
assert os.waitpid(child, 0)[1] == 0
assert solve_flow(model).status == "optimal" and worker._lanes[0].worker.process.pid == before
"""
    ended = run(PARENT.format(source=SOURCE, then=then))
    assert (ended.returncode, ended.stderr) == (0, "")


def test_importing_the_layer_loads_no_solver():
    code = """
import sys
import cellward.solve.flow, cellward.solve.highs, cellward.solve.worker
print([name for name in sys.modules if name.partition(".")[0] in {"highspy", "ortools", "scipy"}])
"""
    assert run(code).stdout.strip() == "[]"


def test_using_highs_and_flows_loads_only_highspy_here():
    code = """
import sys
import numpy as np
from cellward.solve.flow import solve_flow
from cellward.solve.highs import solve_lp
from cellward.solve.model import FlowModel, LinearModel
one, f = np.array([1]), np.ones(1)
solve_flow(FlowModel(tail=one - 1, head=one, capacity=one, cost=one, supply=np.array([1, -1])))
entry = dict(indptr=np.array([0, 1]), indices=one - 1, coefs=f)
solve_lp(LinearModel(cost=f, lower=f, upper=f, row_lower=f, row_upper=f, **entry))
print("highspy" in sys.modules, "ortools" in sys.modules)
"""
    ended = run(code)
    assert ended.stdout.split() == ["True", "False"], ended.stderr
