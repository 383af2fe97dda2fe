"""Owners: which tables a reader has asked for, by the vault's own trail, of which what was read once is remembered."""

from __future__ import annotations

from cellward.server.front.vault_line import VaultLine, part

PAGE = 1_000
MOST_KEPT = 1_000_000


class Owners:
    """The tables of each person."""

    def __init__(self, vault: VaultLine) -> None:
        self._vault = vault
        self._tables: dict[str, set[str]] = {}

    def add(self, name: str, table: str) -> None:
        """Somebody got a table."""
        if sum(map(len, self._tables.values())) >= MOST_KEPT:
            self._tables.clear()
        self._tables.setdefault(name, set()).add(table)

    async def has(self, name: str, table: str) -> bool:
        """Whether somebody asked for a table."""
        if table in self._tables.get(name, ()):
            return True
        offset = 0
        while True:
            said = await self._vault.call("answers", {"who": name, "offset": offset, "limit": PAGE})
            page = part(said, "answers", list)
            if any(entry["id"] == table for entry in page):
                self.add(name, table)
                return True
            if not page:
                return False
            offset += len(page)
