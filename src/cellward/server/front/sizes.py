"""Sizes: how many cells a table can have at most, from the public lists of codes, before the vault is asked for it."""

from __future__ import annotations

import asyncio
import math
import time
from collections.abc import Mapping, Sequence
from dataclasses import dataclass
from typing import Any

from cellward.server.front.vault_line import VaultLine, part

KEPT_S = 60.0
PAGE = 10_000
MOST_KEPT = 1_000
MANY = 2_000
"""Codes that are counted beside other requests."""


@dataclass(frozen=True)
class Codes:
    """The codes of a dimension: the level of each, and the one above it."""

    level: Mapping[str, int]
    parent: Mapping[str, str | None]

    def shown(self, level: int, only: Sequence[str] | None) -> int:
        """How many codes of a level are left where records have one of these, their total included."""
        total = level > 0
        if only is None:
            return sum(found == level for found in self.level.values()) + total
        picked = set(only)
        above = {code for each in picked for code in self._up(each)}
        shown = (code for code, at in self.level.items() if at == level)
        return sum(code in above or not picked.isdisjoint(self._up(code)) for code in shown) + total

    def _up(self, code: str) -> list[str]:
        """A code and all above it."""
        chain: list[str] = []
        at: str | None = code
        while at is not None and at in self.level and at not in chain:
            chain.append(at)
            at = self.parent.get(at)
        return chain


class Sizes:
    """What is known of the codes, for a minute."""

    def __init__(self, vault: VaultLine) -> None:
        self._vault = vault
        self._kept: dict[tuple[str, str], tuple[float, Codes]] = {}

    async def most_cells(self, dataset: str, asked: Mapping[str, Any]) -> int:
        """The most cells that a table can have."""
        where = asked["where"]
        sizes = []
        for one in asked["dimensions"]:
            codes, only = await self._codes(dataset, one["name"]), where.get(one["name"])
            if len(codes.level) > MANY:
                sizes.append(await asyncio.to_thread(codes.shown, one["level"], only))
            else:
                sizes.append(codes.shown(one["level"], only))
        return math.prod(sizes)

    async def _codes(self, dataset: str, dimension: str) -> Codes:
        key = dataset, dimension
        kept = self._kept.get(key)
        if kept is not None and time.monotonic() - kept[0] < KEPT_S:
            return kept[1]
        entries: list[Any] = []
        while True:
            said = await self._vault.call(
                "codes", {"dataset": dataset, "dimension": dimension, "offset": len(entries), "limit": PAGE}
            )
            page = part(said, "codes", list)
            entries += page
            if not page or len(entries) >= part(said, "total", int):
                break
        codes = Codes({e["code"]: e["level"] for e in entries}, {e["code"]: e["parent"] for e in entries})
        if len(self._kept) >= MOST_KEPT:
            self._kept.clear()
        self._kept[key] = time.monotonic(), codes
        return codes
