"""The wire: what holds of every request: its number, its limits, the headers of its answer, a line in the log, and never a trace.

The log names the route and not the address, so that codes, numbers of tables and whatever else a client puts there stay out of it.
"""

from __future__ import annotations

import asyncio
import json
import re
import secrets
import sys
import time
import traceback
from collections.abc import Awaitable, Callable, MutableMapping
from dataclasses import dataclass, field
from pathlib import Path
from typing import Any

from cellward.server.front.fault import Fault, broken
from cellward.server.front.metrics import Metrics
from cellward.server.front.twins import Form, without_ending

Message = MutableMapping[str, Any]
Receive = Callable[[], Awaitable[Message]]
Send = Callable[[Message], Awaitable[None]]
App = Callable[[MutableMapping[str, Any], Receive, Send], Awaitable[None]]

NUMBER = re.compile(r"[A-Za-z0-9._-]{1,64}")
LONGEST_BODY, LONGEST_HEARD = 1 << 20, 8 << 20
"""Bytes of a body; one that is longer is heard to its end up to so many, so that whoever sends it hears what is wrong."""
LONGEST_ADDRESS = 8_192
BODY_WITHIN_S = 20.0
METHODS = ("GET", "HEAD", "POST", "PUT", "PATCH", "DELETE", "OPTIONS")
HEADERS = {
    "x-content-type-options": "nosniff",
    "content-security-policy": "default-src 'none'; frame-ancestors 'none'",
    "referrer-policy": "no-referrer",
    "cross-origin-resource-policy": "same-origin",
    "x-frame-options": "DENY",
    "cache-control": "no-store",
}
"""Of every answer that does not say otherwise."""


@dataclass
class Seen:
    """What is known of a request: its number, the form that its ending asks for, and, once that is known, whose it is."""

    number: str
    form: Form | None = None
    who: str | None = None
    status: int = 0
    sent: int = 0
    trouble: str = ""
    began: float = field(default_factory=time.monotonic)


class Wire:
    """The application with all this around it."""

    def __init__(
        self, app: App, metrics: Metrics, *, tls: bool = False, log: Callable[[str], None] | None = None
    ) -> None:
        self.app = app
        self.metrics = metrics
        self.log = log or _to_standard_error
        self.headers = {**HEADERS, **({"strict-transport-security": "max-age=31536000"} if tls else {})}

    async def __call__(self, scope: MutableMapping[str, Any], receive: Receive, send: Send) -> None:
        """One request."""
        if scope["type"] != "http":
            await self.app(scope, receive, send)
            return
        given = _header(scope, b"x-request-id") or ""
        seen = Seen(given if NUMBER.fullmatch(given) else secrets.token_hex(16))
        scope["cellward"], method = seen, scope["method"]
        self.metrics.add("cellward_under_way")
        try:
            await self._answer(scope, receive, self._dressed(seen, send, bare=method == "HEAD"), seen)
        finally:
            self.metrics.add("cellward_under_way", -1)
            self._note(scope, seen, method if method in METHODS else "other")

    async def _answer(self, scope: MutableMapping[str, Any], receive: Receive, send: Send, seen: Seen) -> None:
        try:
            if len(scope["path"]) + len(scope["query_string"]) > LONGEST_ADDRESS:
                raise Fault(
                    414,
                    "address-too-long",
                    f"the address has more than {LONGEST_ADDRESS:,} characters",
                    "ask for less at a time",
                )
            if scope["method"] == "HEAD":
                scope["method"] = "GET"
            if scope["path"].startswith("/v1/"):
                scope["path"], seen.form = without_ending(scope["path"])
                scope["raw_path"] = None
            body = await _body(scope, receive)
            await self.app(scope, _replay(body, receive), send)
        except Fault as fault:
            await _send_fault(fault, send)
        except Exception as error:  # noqa: BLE001 (no trace of ours ever leaves, nor what an error says, which may hold what was asked)
            seen.trouble = _place(error)
            if not seen.status:
                await _send_fault(broken(), send)

    def _dressed(self, seen: Seen, send: Send, *, bare: bool) -> Send:
        """Sending, with headers for all; without the body where none was asked for."""

        async def dressed(message: Message) -> None:
            if message["type"] == "http.response.start":
                seen.status = message["status"]
                given = {name for name, _ in message["headers"]}
                more = {**self.headers, "x-request-id": seen.number}
                message["headers"] = [
                    *message["headers"],
                    *((name.encode(), text.encode()) for name, text in more.items() if name.encode() not in given),
                ]
            elif message["type"] == "http.response.body":
                seen.sent += 0 if bare else len(message.get("body", b""))
                if bare:
                    message = {**message, "body": b""}
            await send(message)

        return dressed

    def _note(self, scope: MutableMapping[str, Any], seen: Seen, method: str) -> None:
        seconds = time.monotonic() - seen.began
        route = getattr(scope.get("route"), "path", "none")
        self.metrics.add("cellward_requests_total", route=route, method=method, status=str(seen.status))
        self.metrics.time(route, seconds)
        line = {
            "at": time.strftime("%Y-%m-%dT%H:%M:%SZ", time.gmtime()), "request": seen.number, "method": method, "route": route,
            "status": seen.status, "ms": round(1000 * seconds, 1), "bytes": seen.sent, "who": seen.who,
        }  # fmt: skip
        self.log(json.dumps(line | ({"trouble": seen.trouble} if seen.trouble else {})))


def _header(scope: MutableMapping[str, Any], name: bytes) -> str | None:
    return next((text.decode("latin-1") for found, text in scope["headers"] if found == name), None)


async def _body(scope: MutableMapping[str, Any], receive: Receive) -> bytes:
    """The whole body, which is short and comes soon or is refused."""
    told = _header(scope, b"content-length")
    if told is None and _header(scope, b"transfer-encoding") is None:
        return b""
    if told is not None and int(told) > LONGEST_HEARD:
        raise _too_long()
    parts, length = [], 0
    try:
        async with asyncio.timeout(BODY_WITHIN_S):
            more = True
            while more:
                message = await receive()
                part = message.get("body", b"")
                length += len(part)
                if length > LONGEST_HEARD:
                    raise _too_long()
                if length <= LONGEST_BODY:
                    parts.append(part)
                more = message["type"] == "http.request" and message.get("more_body", False)
    except TimeoutError:
        sentence = f"the body did not come within {BODY_WITHIN_S:.0f} s"
        raise Fault(408, "body-too-slow", sentence, "send it at once", {"Connection": "close"}) from None
    if length > LONGEST_BODY:
        raise _too_long()
    return b"".join(parts)


def _too_long() -> Fault:
    sentence = f"the body has more than {LONGEST_BODY:,} bytes"
    return Fault(413, "body-too-long", sentence, "name fewer codes", {"Connection": "close"})


def _replay(body: bytes, receive: Receive) -> Receive:
    """Give the body once, and then what comes."""
    given = False

    async def replay() -> Message:
        nonlocal given
        if not given:
            given = True
            return {"type": "http.request", "body": body, "more_body": False}
        return await receive()

    return replay


async def _send_fault(fault: Fault, send: Send) -> None:
    headers = {"content-type": "application/json", "content-length": str(len(fault.body)), **fault.headers}
    pairs = [(name.lower().encode(), text.encode()) for name, text in headers.items()]
    await send({"type": "http.response.start", "status": fault.status, "headers": pairs})
    await send({"type": "http.response.body", "body": fault.body})


def _place(error: BaseException) -> str:
    """Where an error of ours comes from; not what it says."""
    last = traceback.extract_tb(error.__traceback__)[-1]
    return f"{type(error).__name__} in {Path(last.filename).name} line {last.lineno}"


def _to_standard_error(line: str) -> None:
    print(line, file=sys.stderr, flush=True)
