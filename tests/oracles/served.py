"""A server for tests: both processes as users get them, over a vault that holds nothing, on a free port of this machine."""

from __future__ import annotations

import contextlib
import http.client
import json
import os
import signal
import ssl
import subprocess
import sys
import time
from collections.abc import Iterator
from dataclasses import dataclass, field
from pathlib import Path
from urllib.parse import urlsplit

import fake_vault

import cellward
from cellward.server.front.people import Limits, People

SCRIPT = """
import json, sys
from pathlib import Path
from cellward.errors import CellwardError
from cellward.server.serving import Address, Serving
vault, people, wait, cert, key = sys.argv[1:]
tls = (Path(cert), Path(key)) if cert else ()
try:
    serving = Serving(json.loads(vault), Path(people), Address("127.0.0.1", 0, *tls), float(wait))
    serving.run(lambda said: print(f"said: {said}", file=sys.stderr, flush=True), lambda url: print(url, flush=True))
except CellwardError as error:
    sys.exit(f"said: {error}")
"""
GENEROUS = Limits(per_minute=1_000_000, cells_a_table=1_000_000, cells_a_day=1_000_000_000)
ROLES = {"rita": "reader", "ron": "reader", "vera": "reviewer", "ada": "admin"}


@dataclass
class Reply:
    """What came back."""

    status: int
    headers: dict[str, str]
    body: bytes

    @property
    def json(self):
        return json.loads(self.body)


@dataclass
class Served:
    """A server that runs."""

    url: str
    folder: Path
    process: subprocess.Popen
    tokens: dict[str, str]
    people: People
    cert: Path | None = None
    connections: dict = field(default_factory=dict)

    def __call__(self, method, path, who=None, body=None, /, **headers) -> Reply:
        """One request; ``who``: a name, or a token as it is."""
        given = {name.replace("_", "-"): text for name, text in headers.items()}
        if who is not None:
            given["Authorization"] = f"Bearer {self.tokens.get(who, who)}"
        if body is not None and not isinstance(body, bytes):
            body = json.dumps(body).encode()
            given.setdefault("Content-Type", "application/json")
        line = self.line()
        try:
            line.request(method, path, body, given)
            answer = line.getresponse()
            return Reply(answer.status, {n.lower(): t for n, t in answer.getheaders()}, answer.read())
        finally:
            line.close()

    def line(self, timeout=30):
        """A connection."""
        at = urlsplit(self.url)
        if at.scheme == "http":
            return http.client.HTTPConnection(at.hostname, at.port, timeout=timeout)
        return http.client.HTTPSConnection(
            at.hostname, at.port, timeout=timeout, context=ssl.create_default_context(cafile=self.cert)
        )

    @property
    def log(self) -> str:
        """All that both processes and the one above them said."""
        return (self.folder / "log").read_text()

    def pid(self, name) -> int:
        """The process of the front or of the vault."""
        words = {"front": ("cellward.server.front",), "vault": ("fake_vault.py", "cellward.server.vault")}[name]
        until = time.monotonic() + 20
        while time.monotonic() < until:
            for pid in children_of(self.process.pid):
                with contextlib.suppress(OSError):
                    line = Path(f"/proc/{pid}/cmdline").read_text().replace("\0", " ")
                    if any(word in line for word in words):
                        return pid
            time.sleep(0.02)
        raise AssertionError(f"no {name} among the children of {self.process.pid}")

    def kill(self, name) -> int:
        """kill -9."""
        pid = self.pid(name)
        os.kill(pid, signal.SIGKILL)
        return pid


def children_of(pid) -> list[int]:
    return [int(each) for each in Path(f"/proc/{pid}/task/{pid}/children").read_text().split()]


def table(dimensions=(("region", 1),), measure="count", where=None) -> dict:
    """A request for a table."""
    return {
        "dimensions": [{"name": n, "level": level} for n, level in dimensions],
        "measure": measure,
        "where": where or {},
    }


@contextlib.contextmanager
def served(
    folder: Path, *, wait=10.0, env=None, tls=None, limits=GENEROUS, roles=ROLES, vault=None, **config
) -> Iterator[Served]:
    """A server in a folder, ended at the end; ``vault``: the command of another one."""
    folder.mkdir(exist_ok=True, parents=True)
    file = folder / "config.json"
    file.write_text(json.dumps({"ledger": str(folder / "ledger.jsonl"), **config}))
    people = People(folder / "people.sqlite")
    tokens = {name: people.add(name, role, 3600, limits) for name, role in roles.items()}
    command = [
        sys.executable,
        "-c",
        SCRIPT,
        json.dumps(vault or [sys.executable, fake_vault.__file__, str(file)]),
        str(people.path),
        str(wait),
    ]
    command += [str(each) for each in tls or ("", "")]
    env = {**os.environ, "PYTHONPATH": str(Path(cellward.__file__).parents[1]), **(env or {})}
    with (folder / "log").open("w") as log:
        process = subprocess.Popen(command, stdout=subprocess.PIPE, stderr=log, env=env, text=True)
    try:
        url = process.stdout.readline().strip()
        assert url, (folder / "log").read_text()
        server = Served(url, folder, process, tokens, people, tls[0] if tls else None)
        yield server
    finally:
        process.terminate()
        process.wait(30)
        process.stdout.close()
        people.close()
