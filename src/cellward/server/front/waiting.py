"""Waiting: asks that take longer than their client waits go on, and can be looked after at an address of their own."""

from __future__ import annotations

import asyncio
import secrets
from collections import OrderedDict
from collections.abc import Coroutine
from dataclasses import dataclass, field
from typing import Any

from cellward.server.front.answer import Answer
from cellward.server.front.fault import Fault

MOST_KEPT = 10_000
MOST_EACH = 8
"""Asks that one person may have under way."""


@dataclass
class Ask:
    """An ask that its client did not wait for; what is kept of the table is its number."""

    who: str
    table: asyncio.Task[str]
    id: str = field(default_factory=lambda: secrets.token_hex(12))


class Waiting:
    """The asks under way, and the last ones that are done."""

    def __init__(self) -> None:
        self._asks: OrderedDict[str, Ask] = OrderedDict()
        self._under_way: dict[str, set[asyncio.Task[Answer]]] = {}

    def begin(self, who: str, work: Coroutine[Any, Any, Answer]) -> asyncio.Task[Answer]:
        """Begin an ask, which goes on whatever becomes of its client; a Fault where this person has too many."""
        own = self._under_way.setdefault(who, set())
        if len(own) >= MOST_EACH:
            work.close()
            sentence = f"{MOST_EACH} of your requests are under way already"
            raise Fault(429, "too-many-under-way", sentence, "wait for one of them", {"Retry-After": "1"})
        task = asyncio.create_task(work)
        own.add(task)
        task.add_done_callback(lambda done: self._ended(who, done))
        return task

    def _ended(self, who: str, done: asyncio.Task[Answer]) -> None:
        self._under_way[who].discard(done)
        if not self._under_way[who]:
            del self._under_way[who]
        if not done.cancelled():
            done.exception()  # it is told where it is looked after

    def keep(self, who: str, task: asyncio.Task[Answer]) -> Ask:
        """Let an ask be looked after; the oldest make room."""
        ask = Ask(who, asyncio.create_task(_number(task)))
        ask.table.add_done_callback(lambda done: done.cancelled() or done.exception())
        self._asks[ask.id] = ask
        while len(self._asks) > MOST_KEPT:
            self._asks.popitem(last=False)
        return ask

    def find(self, number: str) -> Ask | None:
        """An ask by its number."""
        return self._asks.get(number)

    async def end(self) -> None:
        """Let go of what is under way; the vault finishes it all the same."""
        tasks: list[asyncio.Task[Any]] = [task for own in self._under_way.values() for task in own]
        tasks += [ask.table for ask in self._asks.values() if not ask.table.done()]
        for task in tasks:
            task.cancel()
        await asyncio.gather(*tasks, return_exceptions=True)


async def _number(task: asyncio.Task[Answer]) -> str:
    return (await asyncio.shield(task)).id
