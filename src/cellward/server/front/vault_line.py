"""The line to the vault: JSON lines over a Unix socket, one connection a request under way; what the vault sends is checked before use.

A vault that ends while it works is asked again when it is back: asks carry a key by which it knows them, everything else may be asked twice.
"""

from __future__ import annotations

import asyncio
import contextlib
import itertools
import json
from collections.abc import Mapping
from typing import Any

from cellward.server.front.fault import away, broken, told_by_the_vault

LONGEST_LINE = 1 << 28
"""Bytes of an answer; a table of a million cells has less than a hundred million."""
PAUSES_S = (0.05, 0.1, 0.2, 0.4, 0.8, 1.6, 3.2)
"""How long a vault that is away is waited for, again and again."""

Line = tuple[asyncio.StreamReader, asyncio.StreamWriter]


class VaultLine:
    """Requests to the vault, at most so many at a time."""

    def __init__(self, socket: str, *, most: int = 64, pauses_s: tuple[float, ...] = PAUSES_S) -> None:
        self.socket = socket
        self.pauses_s = pauses_s
        self._idle: list[Line] = []
        self._room = asyncio.Semaphore(most)
        self._ids = itertools.count(1)

    async def call(self, call: str, given: Mapping[str, Any] | None = None, *, patient: bool = True) -> dict[str, Any]:
        """What the vault answers to a request; a Fault where it complains or stays away."""
        async with self._room:
            for pause in (*(self.pauses_s if patient else ()), None):
                try:
                    said = await self._call_once({**(given or {}), "call": call})
                except (OSError, EOFError):
                    if pause is None:
                        raise away() from None
                    await asyncio.sleep(pause)
                else:
                    if "error" in said:
                        raise told_by_the_vault(said["error"])
                    return said
        raise away()

    async def _call_once(self, request: dict[str, Any]) -> dict[str, Any]:
        request["id"] = next(self._ids)
        line = await self._line()
        reader, writer = line
        whole = False
        try:
            writer.write(json.dumps(request).encode() + b"\n")
            await writer.drain()
            try:
                text = await reader.readuntil(b"\n")
            except asyncio.LimitOverrunError:
                raise broken() from None
            said = _read(text, request["id"])
            whole = True
        finally:
            if whole:
                self._idle.append(line)
            else:
                writer.close()
        return said

    async def _line(self) -> Line:
        while self._idle:
            reader, writer = self._idle.pop()
            if not reader.at_eof() and not writer.is_closing():
                return reader, writer
            writer.close()
        return await asyncio.open_unix_connection(self.socket, limit=LONGEST_LINE)

    async def close(self) -> None:
        """Close what is open."""
        for _, writer in self._idle:
            writer.close()
            with contextlib.suppress(OSError):
                await writer.wait_closed()
        self._idle.clear()


def _read(text: bytes, wanted: int) -> dict[str, Any]:
    try:
        said = json.loads(text)
    except (ValueError, RecursionError):
        raise broken() from None
    if not isinstance(said, dict) or said.get("id") != wanted:
        raise broken()
    return said


def part(said: Mapping[str, Any], name: str, kind: type) -> Any:
    """A part of what the vault said, of the kind that was agreed."""
    found = said.get(name)
    if not isinstance(found, kind):
        raise broken()
    return found
