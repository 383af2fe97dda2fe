"""Clients of a server by the dozen in one process: each asks, waits for the whole answer, thinks, and asks again, on a connection that stays open."""

from __future__ import annotations

import asyncio
import json
import random
import time
from collections import defaultdict
from collections.abc import Callable, Sequence
from dataclasses import dataclass, field
from urllib.parse import urlsplit

Ask = tuple[str, str, dict[str, object] | None]
"""Method, address, body."""
Kinds = Callable[[random.Random], tuple[str, Ask]]


@dataclass
class Load:
    """What came of it: seconds by kind, and whatever was no answer."""

    seconds: dict[str, list[float]] = field(default_factory=lambda: defaultdict(list))
    wrong: list[str] = field(default_factory=list)
    lasted: float = 0.0

    @property
    def count(self) -> int:
        return sum(map(len, self.seconds.values()))

    def quantile(self, kind: str, q: float) -> float:
        """Seconds that a share of the requests of a kind stayed below."""
        ordered = sorted(self.seconds[kind])
        return ordered[min(int(q * len(ordered)), len(ordered) - 1)]


def run_load(
    url: str,
    tokens: Sequence[str],
    kinds: Kinds,
    *,
    seconds: float,
    think_s: float,
) -> Load:
    """Let clients, one a token, ask for so many seconds; ``kinds`` draws what is asked for next, and what kind that is."""
    load = Load()
    began = time.perf_counter()

    async def everybody() -> None:
        until = time.perf_counter() + seconds
        await asyncio.gather(
            *(_client(url, token, kinds, random.Random(k), load, until, think_s) for k, token in enumerate(tokens))
        )

    asyncio.run(everybody())
    load.lasted = time.perf_counter() - began
    return load


async def _client(
    url: str,
    token: str,
    kinds: Kinds,
    draw: random.Random,
    load: Load,
    until: float,
    think_s: float,
) -> None:
    at = urlsplit(url)
    reader, writer = await asyncio.open_connection(at.hostname, at.port)
    await asyncio.sleep(draw.random() * think_s)
    while time.perf_counter() < until:
        kind, (method, address, body) = kinds(draw)
        data = b"" if body is None else json.dumps(body).encode()
        lines = [
            f"{method} {address} HTTP/1.1",
            "Host: x",
            f"Authorization: Bearer {token}",
            "Content-Type: application/json",
        ]
        head = "\r\n".join([*lines, f"Content-Length: {len(data)}", "", ""])
        began = time.perf_counter()
        writer.write(head.encode() + data)
        try:
            answer = await reader.readuntil(b"\r\n\r\n")
            length = int(answer.lower().partition(b"content-length: ")[2].split(b"\r\n")[0])
            await reader.readexactly(length)
        except (OSError, EOFError, ValueError) as error:
            load.wrong.append(f"{kind}: {type(error).__name__}")
            reader, writer = await asyncio.open_connection(at.hostname, at.port)
            continue
        load.seconds[kind].append(time.perf_counter() - began)
        status = int(answer.split(b" ", 2)[1])
        if status not in (200, 201, 409):
            load.wrong.append(f"{kind}: status {status}")
        if think_s:
            await asyncio.sleep(draw.expovariate(1 / think_s))
    writer.close()
