"""The worker: a process of its own for OR-tools, which cannot share one with highspy; kept warm, killed at its limit.

Parent and child exchange one request and one answer at a time, and the child reads a request whole before it answers,
so neither waits for the other to read. The parent reads and writes plainly and sleeps in the kernel meanwhile; a timer
kills the child at the time limit, which ends any read or write that the parent may be in.

A message is the number of its parts and their lengths (64-bit little-endian), then the parts: a pickle, then the arrays
it refers to, which travel without being copied (pickle protocol 5, PEP 574).
"""

from __future__ import annotations

import atexit
import contextlib
import functools
import hashlib
import importlib
import io
import json
import math
import os
import pickle
import signal
import struct
import subprocess
import sys
import tempfile
import threading
import zipfile
from collections.abc import Callable, Sequence
from dataclasses import fields
from pathlib import Path
from time import perf_counter
from typing import Any, Final, TypeVar, cast

import numpy as np

from cellward.errors import CellwardError, InputError, SolverError
from cellward.solve.outcome import Outcome

M = TypeVar("M")

# -P: the directory the user happens to stand in must not shadow a module of the worker.
COMMAND: Final[list[str]] = [sys.executable, "-P", "-m", "cellward.solve.worker"]
PIPE_BYTES: Final = 1 << 20
LAST_WORDS: Final = 300
SOLVER: Final = "worker"


def call(
    task: Callable[[M], Outcome], model: M, *, time_limit_s: float | None = None, crash_dir: Path | None = None
) -> Outcome:
    """Run ``task(model)`` in the worker: a module-level function, or a ``functools.partial`` of one with keywords.

    The time limit covers everything: waiting for another thread's call, the worker's start, the transfer, the solve.
    """
    began = perf_counter()
    limit = math.inf if time_limit_s is None else max(0.0, time_limit_s)
    request = _pack((task, model))
    lock = _lock
    if not lock.acquire(timeout=min(limit, threading.TIMEOUT_MAX) if math.isfinite(limit) else -1):
        return _out_of_time(began)
    try:
        answer = _exchange(request, limit - (perf_counter() - began))
    except _TimeLimitError:
        return _out_of_time(began)
    except _CrashError as crash:
        raise SolverError(
            f"The worker process {crash} while it ran {_name(task)}. {_save(task, model, crash_dir)}"
        ) from crash
    finally:
        lock.release()
    if isinstance(answer, _Failure):
        raise SolverError(answer.sentence)
    if not isinstance(answer, Outcome):
        raise SolverError(f"{_name(task)} must return an Outcome, not {type(answer).__name__}.")
    return answer


def warm_up() -> None:
    """Start the worker, which loads OR-tools while the caller goes on; the first call is then as fast as the next."""
    with _lock:
        _started()


def shut_down() -> None:
    """End the worker, if there is one; the next call starts another."""
    global _worker
    ended, _worker = _worker, None
    if ended is not None:
        ended.stop()


def replay(path: Path | str, *, time_limit_s: float | None = None) -> Outcome:
    """Solve a saved instance again, in the worker."""
    path = Path(path)
    task, model = _load(path)
    return call(task, model, time_limit_s=time_limit_s, crash_dir=path.parent)


# ── the parent's side ────────────────────────────────────────────────────────────────────────────────────────────────


class _TimeLimitError(Exception):
    """The worker was killed at its time limit."""


class _CrashError(Exception):
    """The worker ended in the middle of an exchange; the message says how."""


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
        self.stderr = tempfile.TemporaryFile()  # noqa: SIM115
        self.expired = False
        try:
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
            _widen(pipe.fileno())

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


_lock = threading.Lock()
_worker: _Worker | None = None


def _started() -> _Worker:
    """The living worker; one that died while idle is nobody's crash and is replaced."""
    global _worker
    if _worker is not None and (_worker.process.poll() is not None or _worker.expired):
        shut_down()
    if _worker is None:
        _worker = _Worker()
    return _worker


def _exchange(request: list[memoryview], limit_s: float) -> object:
    if limit_s <= 0:
        raise _TimeLimitError
    worker = _started()
    timer = threading.Timer(min(limit_s, threading.TIMEOUT_MAX), worker.expire) if math.isfinite(limit_s) else None
    try:
        if timer is not None:
            timer.daemon = True
            timer.start()
        _send(worker.requests, request)
        parts = _receive(worker.answers)
        if parts is None:
            raise EOFError
        return _unpack(parts)
    except (OSError, EOFError):
        ending = _bury(worker)
        raise _TimeLimitError if worker.expired else _CrashError(ending)  # noqa: B904
    except BaseException:
        # Ctrl-C, say: an answer half read would be taken for the next one's, so this worker answers nobody any more.
        _bury(worker)
        raise
    finally:
        if timer is not None:
            timer.cancel()
            timer.join()  # or it might, already awake, kill the worker under the next call


def _bury(worker: _Worker) -> str:
    global _worker
    _worker = None
    return worker.stop()


def _disown() -> None:
    """In a forked child: the worker, its pipes and the lock's holder stayed with the parent."""
    global _lock, _worker
    _lock = threading.Lock()
    if _worker is not None:
        _worker.process.returncode = 0  # not ours to wait for
        _worker.close()
        _worker = None


def _ending(code: int) -> str:
    if code >= 0:
        return f"ended with exit code {code}"
    name = signal.Signals(-code).name if -code in set(signal.Signals) else "unknown"
    memory = ", often a sign that memory ran out" if name == "SIGKILL" else ""
    return f"was ended by signal {-code} ({name}{memory})"


def _out_of_time(began: float) -> Outcome:
    return Outcome(status="unknown", seconds=perf_counter() - began, solver=SOLVER, limit_reached=True)


atexit.register(shut_down)
if hasattr(os, "register_at_fork"):
    os.register_at_fork(after_in_child=_disown)


# ── instances that crashed it ────────────────────────────────────────────────────────────────────────────────────────


def _save(task: Callable[..., Outcome], model: object, crash_dir: Path | None) -> str:
    """Save the instance whole or not at all; the sentence says where. The name depends on nothing but the content."""
    function, options = (task.func, task.keywords) if isinstance(task, functools.partial) else (task, {})
    about = {"task": _address(function), "options": options, "model": _address(type(model))}
    directory = Path.cwd() if crash_dir is None else crash_dir
    try:
        named = {field.name: getattr(model, field.name) for field in fields(model)}  # type: ignore[arg-type]
        arrays = {"about": np.array(json.dumps(about, sort_keys=True))}
        arrays |= {name: np.asarray(value) for name, value in named.items() if value is not None}
        digest = hashlib.sha256()
        for name, array in sorted(arrays.items()):
            digest.update(f"{name} {array.dtype.str} {array.shape}\n".encode() + array.tobytes())
        path = directory / f"cellward-crash-{digest.hexdigest()[:8]}.npz"
        directory.mkdir(parents=True, exist_ok=True)
        handle, temporary = tempfile.mkstemp(dir=directory, prefix=".cellward-crash-")  # mode 0600
        try:
            with os.fdopen(handle, "wb") as file:
                np.savez_compressed(file, **arrays)  # type: ignore[arg-type]
                file.flush()
                os.fsync(file.fileno())
            Path(temporary).replace(path)
        except BaseException:
            Path(temporary).unlink(missing_ok=True)
            raise
    except (OSError, TypeError, ValueError, MemoryError) as error:
        return f"The instance could not be saved in {directory}: {error}."
    return (
        f"The instance is saved in {path}: it holds CONFIDENTIAL values. "
        "Solve it again with cellward.solve.worker.replay, and delete it when done."
    )


def _load(path: Path) -> tuple[Callable[..., Outcome], object]:
    try:
        with np.load(path, allow_pickle=False) as arrays:
            about = json.loads(str(arrays["about"]))
            model = _at(about["model"])(**{name: arrays[name] for name in arrays.files if name != "about"})
        task = _at(about["task"])
    except (
        OSError,
        EOFError,
        ValueError,
        KeyError,
        TypeError,
        AttributeError,
        ImportError,
        zipfile.BadZipFile,
    ) as error:
        raise InputError(f"{path} is not an instance saved by cellward after a crash: {error}.") from error
    return (functools.partial(task, **about["options"]) if about["options"] else task), model


def _address(thing: Any) -> str:
    return f"{thing.__module__}:{thing.__qualname__}"


def _at(address: str) -> Any:
    module, _, name = address.partition(":")
    if not module.startswith("cellward.solve."):
        raise ValueError(f"it names {address}, which is not part of the solver layer")
    return getattr(importlib.import_module(module), name)


def _name(task: Any) -> str:
    return str(getattr(getattr(task, "func", task), "__name__", task))


# ── messages ─────────────────────────────────────────────────────────────────────────────────────────────────────────


def _pack(message: object) -> list[memoryview]:
    buffers: list[pickle.PickleBuffer] = []
    body = pickle.dumps(message, protocol=5, buffer_callback=buffers.append)
    parts = [memoryview(body), *(buffer.raw() for buffer in buffers)]
    lengths = struct.pack(f"<{len(parts) + 1}q", len(parts), *(part.nbytes for part in parts))
    return [memoryview(lengths), *parts]


def _unpack(parts: Sequence[memoryview]) -> Any:
    return pickle.loads(parts[0], buffers=parts[1:])


def _send(file: io.FileIO, message: Sequence[memoryview]) -> None:
    for part in message:
        sent = 0
        while sent < part.nbytes:
            sent += file.write(part[sent:])


def _receive(file: io.FileIO) -> list[memoryview] | None:
    """The parts of the next message; None when the other side is gone, wherever in the message."""
    count = _read(file, 8)
    if count is None:
        return None
    lengths = _read(file, 8 * struct.unpack("<q", count)[0])
    if lengths is None:
        return None
    parts = []
    for length in struct.unpack(f"<{lengths.nbytes // 8}q", lengths):
        part = _read(file, length)
        if part is None:
            return None
        parts.append(part)
    return parts


def _read(file: io.FileIO, length: int) -> memoryview | None:
    buffer = memoryview(bytearray(length))
    filled = 0
    while filled < length:
        got = file.readinto(buffer[filled:])
        if not got:
            return None
        filled += got
    return buffer


def _widen(fd: int) -> None:
    """A wider pipe means fewer switches between the two processes; where the system has none, the default does."""
    with contextlib.suppress(ImportError, AttributeError, OSError):
        import fcntl

        fcntl.fcntl(fd, fcntl.F_SETPIPE_SZ, PIPE_BYTES)


# ── the child's side ─────────────────────────────────────────────────────────────────────────────────────────────────


def _end_with_parent(fd: int, *, active: bool) -> None:
    """While active, the system ends this process (SIGIO) when the parent closes its end, even in the middle of a solve.

    OR-tools holds the interpreter's lock while it solves, so no thread of ours could watch. Only the parent's death can
    raise the signal: it sends nothing before it has its answer.
    """
    with contextlib.suppress(ImportError, AttributeError, OSError):
        import fcntl

        fcntl.fcntl(fd, fcntl.F_SETOWN, os.getpid())
        flags = fcntl.fcntl(fd, fcntl.F_GETFL)
        fcntl.fcntl(fd, fcntl.F_SETFL, flags | os.O_ASYNC if active else flags & ~os.O_ASYNC)


def _answer(parts: Sequence[memoryview]) -> list[memoryview]:
    try:
        task, model = _unpack(parts)
        return _pack(task(model))
    except CellwardError as error:
        return _pack(_Failure(str(error)))
    except Exception as error:  # noqa: BLE001 — whatever it is, it is the parent's to report
        return _pack(_Failure(f"The worker process failed: {type(error).__name__}: {error}"))


def serve() -> None:
    """Answer requests on standard input until it closes."""
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
        while (parts := _receive(requests)) is not None:
            _end_with_parent(requests.fileno(), active=True)
            answer = _answer(parts)
            _end_with_parent(requests.fileno(), active=False)
            _send(answers, answer)


if __name__ == "__main__":
    # Under its own name, not as __main__: what it pickles must be found again by the parent.
    importlib.import_module("cellward.solve.worker").serve()
