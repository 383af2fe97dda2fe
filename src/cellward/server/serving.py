"""Serving: the vault and the front as two processes, started, watched, begun again when one dies, and ended together.

The listening socket belongs to neither: whoever connects while the front begins again waits in its queue. What the front gets is that socket, the
name of the vault's socket, the file of tokens, and an environment with nothing but what Python needs.
"""

from __future__ import annotations

import contextlib
import ctypes
import os
import signal
import socket
import ssl
import stat
import subprocess
import sys
import time
from collections.abc import Callable, Iterator, Sequence
from dataclasses import dataclass
from pathlib import Path
from types import FrameType

import cellward
from cellward.errors import CellwardError, InputError
from cellward.files.scratch import scratch_folder

FOR_THE_FRONT = ("PATH", "HOME", "LANG", "LC_ALL", "LC_CTYPE", "TZ", "TMPDIR", "CELLWARD_SCRATCH", "SYSTEMROOT")
"""What the front's environment keeps."""
LONGEST_SOCKET_NAME = 100
LOOK_S = 0.05
FALLS_IN_A_ROW = 5
"""Deaths before a process was ready, one after the other, that are one too many."""
WELL_S = 2.0
_DIE_WITH_PARENT = 1


class ServingError(CellwardError):
    """The server cannot go on."""


@dataclass(frozen=True)
class Address:
    """Where the front listens."""

    host: str = "127.0.0.1"
    port: int = 8000
    tls_cert: Path | None = None
    tls_key: Path | None = None

    def __post_init__(self) -> None:
        if (self.tls_cert is None) != (self.tls_key is None):
            raise InputError("--tls-cert, --tls-key: one is of no use without the other; give both, or neither")
        for file in (self.tls_cert, self.tls_key):
            if file is not None and not os.access(file, os.R_OK):
                raise InputError(f"{file}: cannot be read; check the name and its permissions")
        if self.tls_cert is not None:
            try:
                ssl.SSLContext(ssl.PROTOCOL_TLS_SERVER).load_cert_chain(self.tls_cert, self.tls_key, lambda: "")
            except (OSError, ValueError):
                raise InputError(
                    f"{self.tls_cert}, {self.tls_key}: no certificate and its key without a password; give both in PEM"
                ) from None

    @property
    def alone(self) -> bool:
        """Whether only this machine reaches it."""
        return self.host in ("127.0.0.1", "::1", "localhost")

    def listen(self) -> socket.socket:
        """The listening socket."""
        family = socket.AF_INET6 if ":" in self.host else socket.AF_INET
        listening = socket.socket(family, socket.SOCK_STREAM)
        try:
            listening.setsockopt(socket.SOL_SOCKET, socket.SO_REUSEADDR, 1)
            listening.bind((self.host, self.port))
            listening.listen(2048)
        except (OSError, OverflowError) as error:
            listening.close()
            why = getattr(error, "strerror", None) or error
            raise InputError(
                f"{self.host} port {self.port}: cannot listen there ({why}); choose another --port or --host"
            ) from None
        return listening

    def url(self, listening: socket.socket) -> str:
        """The address as one types it."""
        host = f"[{self.host}]" if ":" in self.host else self.host
        return f"{'https' if self.tls_cert else 'http'}://{host}:{listening.getsockname()[1]}"


class Child:
    """A process that is begun again when it dies."""

    def __init__(self, name: str, start: Callable[[], subprocess.Popen[bytes]]) -> None:
        self.name = name
        self._start = start
        self._falls = 0
        self._begin()

    def _begin(self) -> None:
        self.process = self._start()
        self._since = time.monotonic()

    def look(self, say: Callable[[str], None]) -> None:
        """Begin it again where it died; an error where it never comes to stand."""
        if (code := self.process.poll()) is None:
            return
        self._falls = 0 if time.monotonic() - self._since > WELL_S else self._falls + 1
        how = f"ended with {code}" if code >= 0 else f"was killed by {signal.Signals(-code).name}"
        if self._falls >= FALLS_IN_A_ROW:
            raise ServingError(
                f"the {self.name} {how}, {self._falls} times in a row; the server ends, and nothing is lost"
            )
        say(f"the {self.name} {how}; it is begun again, and nothing is lost")
        time.sleep(0.1 * self._falls)
        self._begin()

    def end(self, within_s: float) -> None:
        """End it: asked first, then made to."""
        if self.process.poll() is None:
            self.process.terminate()
            try:
                self.process.wait(within_s)
            except subprocess.TimeoutExpired:
                self.process.kill()
                self.process.wait()


@dataclass(frozen=True)
class Serving:
    """What is served, where, and to whom; ``vault``: the command that the socket's name is added to."""

    vault: Sequence[str]
    people: Path
    address: Address
    wait_s: float = 10.0
    start_within_s: float = 3600.0

    def run(self, say: Callable[[str], None], ready: Callable[[str], None]) -> None:
        """Serve until told to end; ``ready`` gets the address."""
        with _told_to_end() as told, _private_folder() as folder, self.address.listen() as listening:
            name = folder / "vault"
            children: list[Child] = []
            try:
                children.append(Child("vault", lambda: self._start_vault(name)))
                if not self._wait_for(name, children[0], told):
                    return
                children.append(Child("front", lambda: self._start_front(name, listening)))
                ready(self.address.url(listening))
                while not told:
                    for child in children:
                        child.look(say)
                    _close_to_others(name)
                    time.sleep(LOOK_S)
            finally:
                for child in reversed(children):
                    child.end(15.0)

    def _start_vault(self, name: Path) -> subprocess.Popen[bytes]:
        name.unlink(missing_ok=True)
        return _start([*self.vault, str(name)], env=dict(os.environ), cwd=None)

    def _start_front(self, name: Path, listening: socket.socket) -> subprocess.Popen[bytes]:
        number = listening.fileno()
        given = [
            "--vault",
            str(name),
            "--people",
            str(self.people.absolute()),
            "--listening",
            str(number),
            "--wait",
            str(self.wait_s),
        ]
        if self.address.tls_cert is not None and self.address.tls_key is not None:
            given += [
                "--tls-cert",
                str(self.address.tls_cert.absolute()),
                "--tls-key",
                str(self.address.tls_key.absolute()),
            ]
        env = {name: os.environ[name] for name in FOR_THE_FRONT if name in os.environ}
        env["PYTHONPATH"] = str(Path(cellward.__file__).parents[1])
        return _start(
            [sys.executable, "-P", "-m", "cellward.server.front", *given], env=env, cwd=str(name.parent), keep=number
        )

    def _wait_for(self, name: Path, vault: Child, told: list[int]) -> bool:
        """Wait until the vault answers; False where we are told to end before."""
        until = time.monotonic() + self.start_within_s
        while time.monotonic() < until:
            if told:
                return False
            if vault.process.poll() is not None:
                raise ServingError("the vault ended before it was ready; what it said stands above")
            with contextlib.suppress(OSError), socket.socket(socket.AF_UNIX) as line:
                line.connect(str(name))
                _close_to_others(name)
                return True
            time.sleep(LOOK_S)
        raise ServingError(f"the vault was not ready within {self.start_within_s:.0f} s; make its data smaller")


def _start(
    command: Sequence[str], *, env: dict[str, str], cwd: str | None, keep: int | None = None
) -> subprocess.Popen[bytes]:
    """A process in a session of its own, which ends when this one does, and inherits no file but its outputs and the one named."""
    return subprocess.Popen(
        command, env=env, cwd=cwd, stdin=subprocess.DEVNULL, stdout=2, pass_fds=() if keep is None else (keep,), start_new_session=True,
        umask=0o077, preexec_fn=_die_with_parent if sys.platform == "linux" else None,
    )  # fmt: skip


def _die_with_parent() -> None:
    ctypes.CDLL(None).prctl(_DIE_WITH_PARENT, signal.SIGTERM)


def _close_to_others(name: Path) -> None:
    """The socket is its owner's alone."""
    with contextlib.suppress(FileNotFoundError):
        if stat.S_IMODE(name.stat().st_mode) != 0o600:
            name.chmod(0o600)


@contextlib.contextmanager
def _private_folder() -> Iterator[Path]:
    """A folder for the vault's socket, whose name a socket can have."""
    with scratch_folder() as folder:
        if len(str(folder)) + len("/vault") > LONGEST_SOCKET_NAME:
            raise InputError(
                f"{folder}: too long a name for a socket; set CELLWARD_SCRATCH to a folder with a shorter one"
            )
        yield folder


@contextlib.contextmanager
def _told_to_end() -> Iterator[list[int]]:
    """The signals by which we are told to end."""
    told: list[int] = []

    def hear(number: int, _: FrameType | None) -> None:
        told.append(number)

    before = {number: signal.signal(number, hear) for number in (signal.SIGINT, signal.SIGTERM)}
    try:
        yield told
    finally:
        for number, handler in before.items():
            signal.signal(number, handler)
