"""The process of the front: an application over a listening socket that it was handed, and a line to the vault."""

from __future__ import annotations

import argparse
import socket
import sys
from pathlib import Path

import h11
import uvicorn
from uvicorn.protocols.http.h11_impl import H11Protocol

from cellward.errors import CellwardError
from cellward.server.front.app import application
from cellward.server.front.fault import Fault
from cellward.server.front.front import Front
from cellward.server.front.people import People
from cellward.server.front.vault_line import VaultLine
from cellward.server.front.wire import Wire

NOT_HTTP = Fault(
    400, "not-http", "the request is not HTTP", "check the client; where TLS is on, the address begins with https"
)


class InOurShape(H11Protocol):
    """HTTP as uvicorn speaks it; what is none at all is told in our shape too."""

    def send_400_response(self, msg: str) -> None:  # noqa: ARG002 (what h11 says is not for the client)
        """Say so, and close."""
        headers = [
            (b"content-type", b"application/json"),
            (b"connection", b"close"),
            (b"x-content-type-options", b"nosniff"),
        ]
        for event in (
            h11.Response(status_code=400, headers=headers, reason=b"Bad Request"),
            h11.Data(data=NOT_HTTP.body),
            h11.EndOfMessage(),
        ):
            self.transport.write(self.conn.send(event) or b"")
        self.transport.close()


def main() -> int:
    """Serve until told to end."""
    parser = argparse.ArgumentParser()
    parser.add_argument("--vault", required=True)
    parser.add_argument("--people", required=True, type=Path)
    parser.add_argument("--listening", required=True, type=int)
    parser.add_argument("--wait", required=True, type=float)
    parser.add_argument("--tls-cert")
    parser.add_argument("--tls-key")
    given = parser.parse_args()
    try:
        front = Front(VaultLine(given.vault), People(given.people), wait_s=given.wait)
    except CellwardError as error:
        print(f"cellward: {error}", file=sys.stderr)
        return 2
    wire = Wire(application(front), front.metrics, tls=given.tls_cert is not None)
    config = uvicorn.Config(
        wire, http=InOurShape, ws="none", lifespan="on", log_config=None, log_level="critical", access_log=False, server_header=False,
        proxy_headers=False, timeout_keep_alive=30, timeout_graceful_shutdown=10, ssl_certfile=given.tls_cert, ssl_keyfile=given.tls_key,
    )  # fmt: skip
    uvicorn.Server(config).run(sockets=[socket.socket(fileno=given.listening)])
    return 0


if __name__ == "__main__":
    sys.exit(main())
