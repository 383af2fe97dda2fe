"""Socket: the vault's side of the line; one request object a line, one response object a line, several connections."""

from __future__ import annotations

import contextlib
import json
import os
import socketserver
import threading
from pathlib import Path
from typing import Any

from cellward.errors import InputError
from cellward.server.vault.vault import Vault

LONGEST_LINE = 1 << 24
"""Bytes of a request; a longer one ends its connection."""
MOST_AT_ONCE = 8
"""Requests that are worked on at a time; the others wait their turn."""


class Server(socketserver.ThreadingMixIn, socketserver.UnixStreamServer):
    """Listens until it is told to shut down."""

    daemon_threads = True
    request_queue_size = 128

    def __init__(self, vault: Vault, path: Path) -> None:
        self.vault, self.busy = vault, threading.Semaphore(MOST_AT_ONCE)
        mask = os.umask(0o177)  # the socket is its owner's alone from the moment it is there
        try:
            super().__init__(str(path), _Line)
        except OSError as error:
            raise InputError(f"{path}: cannot listen there ({error.strerror or error}); choose another name") from None
        finally:
            os.umask(mask)

    def handle_error(self, request: Any, client_address: Any) -> None:
        """A connection that broke is closed without a word: what the error says may hold a value of the records."""


class _Line(socketserver.StreamRequestHandler):
    server: Server

    def handle(self) -> None:
        """Answer line by line until the other side closes."""
        while line := self.rfile.readline(LONGEST_LINE):
            if not line.endswith(b"\n"):
                return
            try:
                request = json.loads(line)
            except (ValueError, RecursionError):
                request = None
            with self.server.busy:
                response = self.server.vault.handle(request)
            self.wfile.write(json.dumps(response, separators=(",", ":")).encode() + b"\n")


def serve_socket(vault: Vault, path: str | os.PathLike[str], *, ready: threading.Event | None = None) -> None:
    """Serve until the process is interrupted; a socket left behind by a process that died is put aside."""
    name = Path(path)
    if name.is_socket():
        name.unlink()
    server = Server(vault, name)
    if ready is not None:
        ready.set()
    try:
        server.serve_forever(poll_interval=0.2)
    finally:
        server.server_close()
        with contextlib.suppress(OSError):
            name.unlink()
        vault.close()
