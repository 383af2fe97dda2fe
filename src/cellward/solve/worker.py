"""The worker: a process of its own for OR-tools, kept warm, killed at its limit; why it exists: docs/decisions/0016.

Parent and child exchange one request and one answer at a time, and the child reads a request whole before it answers,
so neither waits for the other to read. The parent reads and writes plainly and sleeps in the kernel meanwhile; a timer
kills the child at the time limit, which ends any read or write that the parent may be in.

Ctrl-C ends the child too, and what it had found is lost; in a stoppable call the child is asked for it first. So it is when the caller's budget is
stopped meanwhile. On its way the child may send notes, of what it has found so far, before its answer.

There are two such workers at most, one a lane: the second is started when a caller with two threads asks for it.
"""

from __future__ import annotations

import atexit
import contextlib
import importlib
import io
import math
import os
import signal
import subprocess
import sys
import tempfile
import threading
from collections.abc import Callable, Iterator, Sequence
from dataclasses import replace
from pathlib import Path
from time import perf_counter
from typing import Final, TypeVar, cast

from cellward.errors import CellwardError, SolverError, described
from cellward.files.scratch import scratch
from cellward.solve.budget import Budget
from cellward.solve.crash import load, name_of, save
from cellward.solve.messages import closed, pack, receive, send, unpack, wait, widen
from cellward.solve.outcome import Outcome

M = TypeVar("M")

# -P: the directory the user happens to stand in must not shadow a module of the worker.
COMMAND: Final[list[str]] = [sys.executable, "-P", "-m", "cellward.solve.worker"]
LAST_WORDS: Final = 300
STRAY_SIGNAL: Final = getattr(signal, "SIGIO", None)
MOST_STRAY: Final = 2
"""How often in a row a request is sent again after a stray signal."""
STOP_SIGNAL: Final = getattr(signal, "SIGUSR1", None)
"""How the parent asks for what has been found; not SIGINT, which Ctrl-C sends to the child as well, whoever decides."""
STOP_GRACE_S: Final = 10.0
"""How long a child that was asked to stop may take to answer."""
LOOK_S: Final = 0.1
"""How often a waiting parent looks whether its budget was stopped."""
SOLVER: Final = "worker"


def call(
    task: Callable[[M], Outcome],
    model: M,
    *,
    time_limit_s: float | None = None,
    crash_dir: Path | None = None,
    stoppable: bool = False,
    lane: int = 0,
    budget: Budget | None = None,
) -> Outcome:
    """Run ``task(model)`` in the worker: a module-level function, or a ``functools.partial`` of one with keywords.

    The time limit covers everything: waiting for another thread's call, the worker's start, the transfer, the solve.

    ``stoppable``: the task works inside ``stopping``. Ctrl-C then asks it to stop and returns its answer, or ``unknown``
    when there is none within STOP_GRACE_S; the outcome is marked ``interrupted``. A second Ctrl-C raises.
    Calls in different lanes run side by side. ``budget``: whose wish to stop is heard as Ctrl-C is, and who is told what notes say.
    """
    began = perf_counter()
    limit = math.inf if time_limit_s is None else max(0.0, time_limit_s)
    request = pack((task, model))
    own = _lanes[lane]
    lock = own.lock
    if not lock.acquire(timeout=min(limit, threading.TIMEOUT_MAX) if math.isfinite(limit) else -1):
        return _out_of_time(began)
    try:
        answer, stopped = _exchange(own, request, limit - (perf_counter() - began), budget, stoppable=stoppable)
    except _TimeLimitError:
        return _out_of_time(began)
    except _StoppedError:
        return replace(_out_of_time(began), interrupted=True)
    except _CrashError as crash:
        raise SolverError(
            f"The worker process {crash} while it ran {name_of(task)}. {save(task, model, crash_dir)}"
        ) from crash
    finally:
        lock.release()
    if isinstance(answer, _Failure):
        raise SolverError(answer.sentence)
    if not isinstance(answer, Outcome):
        raise SolverError(f"{name_of(task)} must return an Outcome, not {type(answer).__name__}.")
    return replace(answer, interrupted=True) if stopped else answer


def warm_up(lane: int = 0) -> None:
    """Start a worker, which loads OR-tools while the caller goes on; the first call is then as fast as the next."""
    with _lanes[lane].lock:
        _lanes[lane].started()


def shut_down() -> None:
    """End the workers, if there are any; the next call starts another."""
    for lane in _lanes:
        lane.shut_down()


def replay(path: Path | str, *, time_limit_s: float | None = None) -> Outcome:
    """Solve a saved instance again, in the worker."""
    path = Path(path)
    task, model = load(path)
    return call(task, model, time_limit_s=time_limit_s, crash_dir=path.parent)


# ── the parent's side ────────────────────────────────────────────────────────────────────────────────────────────────


class _TimeLimitError(Exception):
    """The worker was killed at its time limit."""


class _StoppedError(Exception):
    """A wish to stop, and no answer from the worker."""


class _CrashError(Exception):
    """The worker ended in the middle of an exchange; the message says how."""


class _StraySignalError(_CrashError):
    """The system told the worker of the parent's last write after the worker had read it and asked to be told of the parent's end."""


class Note:
    """What a task has found on its way, for the budget of whoever asked."""

    def __init__(self, incumbent: float | None, bound: float | None) -> None:
        self.incumbent, self.bound = incumbent, bound


class _Failure:
    """A task's exception, on its way back to the parent."""

    def __init__(self, sentence: str) -> None:
        self.sentence = sentence


class _Worker:
    """One child process and its two pipes."""

    def __init__(self) -> None:
        package_parent = str(Path(__file__).resolve().parents[2])
        paths = [package_parent, *filter(None, [os.environ.get("PYTHONPATH")])]
        # A file and not a pipe: nobody needs to read it, so it can never fill up and block the child.
        self.stderr = tempfile.TemporaryFile(dir=scratch())  # noqa: SIM115
        self.expired = False
        try:
            with _stop_signal_blocked():
                self.process = subprocess.Popen(
                    COMMAND,
                    bufsize=0,
                    stdin=subprocess.PIPE,
                    stdout=subprocess.PIPE,
                    stderr=self.stderr,
                    env=os.environ | {"PYTHONPATH": os.pathsep.join(paths)},
                )
        except OSError as error:
            self.stderr.close()
            raise SolverError(f"The worker process could not be started with {COMMAND[0]!r}: {error}.") from error
        # Unbuffered, hence plain files: nothing is held back, and closing one has nothing left to write.
        self.requests, self.answers = cast(io.FileIO, self.process.stdin), cast(io.FileIO, self.process.stdout)
        for pipe in (self.requests, self.answers):
            widen(pipe.fileno())

    def expire(self) -> None:
        """Kill the child because its time is over (called by the timer's thread)."""
        self.expired = True
        self.process.kill()

    def stop(self) -> str:
        """Kill the child if it lives, reap it, close everything; return how it ended, in words."""
        self.process.kill()
        code = self.process.wait()
        self.stderr.seek(0, os.SEEK_END)
        self.stderr.seek(max(0, self.stderr.tell() - LAST_WORDS))
        last_words = " ".join(self.stderr.read().decode(errors="replace").split())
        self.close()
        return _ending(code) + (f' (last words: "{last_words}")' if last_words else "")

    def close(self) -> None:
        for file in (self.requests, self.answers, self.stderr):
            with contextlib.suppress(OSError):
                file.close()


@contextlib.contextmanager
def _stop_signal_blocked() -> Iterator[None]:
    """A child born in here has the signal blocked in every thread, those of its libraries included, and for good: see stopping."""
    if STOP_SIGNAL is None:
        yield
        return
    before = signal.pthread_sigmask(signal.SIG_BLOCK, [STOP_SIGNAL])
    try:
        yield
    finally:
        signal.pthread_sigmask(signal.SIG_SETMASK, before)


class _Lane:
    """A worker, if there is one, and who may talk to it."""

    def __init__(self) -> None:
        self.lock = threading.Lock()
        self.worker: _Worker | None = None

    def started(self) -> _Worker:
        """The living worker; one that died while idle is nobody's crash and is replaced."""
        if self.worker is not None and (self.worker.process.poll() is not None or self.worker.expired):
            self.shut_down()
        if self.worker is None:
            self.worker = _Worker()
        return self.worker

    def shut_down(self) -> str:
        """End the worker, if there is one, and say how it ended."""
        ended, self.worker = self.worker, None
        return "" if ended is None else ended.stop()

    def disown(self) -> None:
        """In a forked child: the worker, its pipes and the lock's holder stayed with the parent."""
        self.lock = threading.Lock()
        if self.worker is not None:
            self.worker.process.returncode = 0  # not ours to wait for
            self.worker.close()
            self.worker = None


_lanes = (_Lane(), _Lane())


def _exchange(
    lane: _Lane, request: list[memoryview], limit_s: float, budget: Budget | None, *, stoppable: bool
) -> tuple[object, bool]:
    """Ask the worker and wait for its answer; one ended by the parent's own writing is replaced and asked again.

    Returns the answer, and whether the worker was asked to stop.
    """
    began = perf_counter()
    for _ in range(MOST_STRAY):
        with contextlib.suppress(_StraySignalError):
            return _exchange_once(lane, request, limit_s - (perf_counter() - began), budget, stoppable=stoppable)
    return _exchange_once(lane, request, limit_s - (perf_counter() - began), budget, stoppable=stoppable)


def _exchange_once(
    lane: _Lane, request: list[memoryview], limit_s: float, budget: Budget | None, *, stoppable: bool
) -> tuple[object, bool]:
    if limit_s <= 0:
        raise _TimeLimitError
    worker = lane.started()
    timer = threading.Timer(min(limit_s, threading.TIMEOUT_MAX), worker.expire) if math.isfinite(limit_s) else None
    sent = stopped = False
    try:
        if timer is not None:
            timer.daemon = True
            timer.start()
        while True:
            try:
                if not sent:
                    send(worker.requests, request)
                    sent = True
                # Reads nothing yet, so Ctrl-C here leaves the answer whole.
                _await(worker.answers, None if stopped else budget, STOP_GRACE_S if stopped else None)
            except (KeyboardInterrupt, _StoppedError) as wish:
                if stopped or (isinstance(wish, KeyboardInterrupt) and (not stoppable or STOP_SIGNAL is None)):
                    raise
                stopped = True
                if not sent or not stoppable or STOP_SIGNAL is None:
                    raise EOFError from None
                worker.process.send_signal(STOP_SIGNAL)
                continue
            parts = receive(worker.answers)
            if parts is None:
                raise EOFError
            answer = unpack(parts)
            if not isinstance(answer, Note):
                break
            if budget is not None:
                budget.found(answer.incumbent, answer.bound)
        if stopped:
            lane.shut_down()  # the signal may have come after the answer, and would then stop the next call's task
        return answer, stopped
    except (OSError, EOFError):
        ending = lane.shut_down()
        if stopped:
            raise _StoppedError from None
        if worker.expired:
            raise _TimeLimitError from None
        raise (_StraySignalError if -worker.process.returncode == STRAY_SIGNAL else _CrashError)(ending) from None
    except BaseException:
        # Ctrl-C, say: an answer half read would be taken for the next one's, so this worker answers nobody any more.
        lane.shut_down()
        raise
    finally:
        if timer is not None:
            timer.cancel()
            timer.join()  # or it might, already awake, kill the worker under the next call


def _await(answers: io.FileIO, budget: Budget | None, grace_s: float | None) -> None:
    """Sleep until there is something to read; raises _StoppedError where the budget is stopped before, EOFError after the grace."""
    while not wait(answers, timeout_s=LOOK_S if budget is not None else grace_s):
        if budget is None:
            raise EOFError
        if budget.stopped:
            raise _StoppedError


def _disown() -> None:
    """In a forked child."""
    for lane in _lanes:
        lane.disown()


def _ending(code: int) -> str:
    if code >= 0:
        return f"ended with exit code {code}"
    name = signal.Signals(-code).name if -code in set(signal.Signals) else "unknown"
    memory = ", often a sign that memory ran out: use fewer threads or a machine with more" if name == "SIGKILL" else ""
    return f"was ended by signal {-code} ({name}{memory})"


def _out_of_time(began: float) -> Outcome:
    return Outcome(status="unknown", seconds=perf_counter() - began, solver=SOLVER, limit_reached=True)


atexit.register(shut_down)
if hasattr(os, "register_at_fork"):
    os.register_at_fork(after_in_child=_disown)


# ── the child's side ─────────────────────────────────────────────────────────────────────────────────────────────────


def _end_with_parent(fd: int, *, active: bool) -> None:
    """While active, the system ends this process (SIGIO) when the parent closes its end, even in the middle of a solve.

    OR-tools holds the interpreter's lock while it solves, so no thread of ours could watch. The parent sends nothing
    before it has its answer; only its last write may still be on its way to us as a signal, and then it asks again.
    A parent that closed its end before we asked to be told sends no signal, so we look once.
    """
    with contextlib.suppress(ImportError, AttributeError, OSError):
        import fcntl

        fcntl.fcntl(fd, fcntl.F_SETOWN, os.getpid())
        flags = fcntl.fcntl(fd, fcntl.F_GETFL)
        fcntl.fcntl(fd, fcntl.F_SETFL, flags | os.O_ASYNC if active else flags & ~os.O_ASYNC)
    if active and closed(fd):
        raise BrokenPipeError


def _answer(parts: Sequence[memoryview]) -> list[memoryview]:
    try:
        task, model = unpack(parts)
        return pack(task(model))
    except CellwardError as error:
        return pack(_Failure(str(error)))
    except Exception as error:  # noqa: BLE001 — whatever it is, it is the parent's to report
        return pack(_Failure(f"The worker process failed: {described(error)}"))


_notes: io.FileIO | None = None
"""Where notes go while a task runs in the worker."""
_noting = threading.Lock()


def note(incumbent: float | None = None, bound: float | None = None) -> None:
    """Tell the parent what the task has found so far; outside the worker nobody listens."""
    with _noting:
        if _notes is not None:
            send(_notes, pack(Note(incumbent, bound)))


@contextlib.contextmanager
def stopping(stop: Callable[[], None]) -> Iterator[None]:
    """While a task is in here, the parent's wish to stop it calls ``stop``, in a thread; the task must let threads run.

    A signal that came while the task was still preparing is kept, and delivered on entry. Outside the worker nobody asks.
    """
    if STOP_SIGNAL is None or STOP_SIGNAL not in signal.pthread_sigmask(signal.SIG_BLOCK, []):
        yield
        return
    left = False

    def listen() -> None:
        while True:
            signal.sigwait([STOP_SIGNAL])
            if left:
                return
            stop()

    listener = threading.Thread(target=listen, daemon=True)
    listener.start()
    try:
        yield
    finally:
        left = True
        signal.pthread_kill(cast(int, listener.ident), STOP_SIGNAL)
        listener.join()


def serve() -> None:
    """Answer requests on standard input until it closes."""
    global _notes
    signal.signal(signal.SIGINT, signal.SIG_IGN)  # Ctrl-C reaches the whole process group; the parent decides
    requests, answers = io.FileIO(os.dup(0), "r"), io.FileIO(os.dup(1), "w")
    # What a library prints must not end up among the answers, nor eat requests.
    nothing = os.open(os.devnull, os.O_RDONLY)
    os.dup2(nothing, 0)
    os.close(nothing)
    os.dup2(2, 1)
    with contextlib.suppress(ImportError):  # a task that needs it will say so itself
        importlib.import_module("ortools.graph.python.min_cost_flow")
    with contextlib.suppress(BrokenPipeError):  # the parent is gone
        while (parts := receive(requests)) is not None:
            _end_with_parent(requests.fileno(), active=True)
            _notes = answers
            answer = _answer(parts)
            with _noting:
                _notes = None
            _end_with_parent(requests.fileno(), active=False)
            send(answers, answer)


if __name__ == "__main__":
    # Under its own name, not as __main__: what it pickles must be found again by the parent.
    importlib.import_module("cellward.solve.worker").serve()
