"""Verifying a ledger: the file is sound, the chain holds, and every answer and cell is the one that the chain speaks of."""

from __future__ import annotations

import sqlite3
from collections.abc import Iterator
from dataclasses import dataclass
from pathlib import Path

from cellward.errors import InputError
from cellward.server.ledger.chain import FIRST, link, published


@dataclass(frozen=True)
class LedgerVerdict:
    """Whether a ledger holds, how many entries it has, the hash of its last one, and a sentence; truthy where it holds."""

    ok: bool
    rows: int
    head: str
    sentence: str

    def __bool__(self) -> bool:
        return self.ok


def verify_ledger(path: str | Path) -> LedgerVerdict:
    """Read a ledger, which may be in use, and check it from its first entry to its last."""
    file = Path(path)
    if not file.is_file():
        raise InputError(f"{file}: no such ledger; check the path")
    try:
        database = sqlite3.connect(f"{file.resolve().as_uri()}?mode=ro", uri=True, isolation_level=None)
        try:
            database.execute("BEGIN")  # one moment of it, whatever is written meanwhile
            return _verified(database)
        finally:
            database.close()
    except sqlite3.Error as error:
        return LedgerVerdict(False, 0, "", f"The file is damaged or is no ledger ({str(error).lower()}).")


def _verified(database: sqlite3.Connection) -> LedgerVerdict:
    sound = database.execute("PRAGMA integrity_check").fetchone()[0]
    if sound != "ok":
        return LedgerVerdict(False, 0, "", "The file is damaged: SQLite's own check of it fails.")
    previous, rows = FIRST, 0
    for seq, fields, said, digest, own in _entries(database):
        rows += 1
        if seq != rows:
            return LedgerVerdict(False, rows, "", f"Entry {rows} is missing.")
        if link(previous, fields, digest) != own:
            return LedgerVerdict(
                False, rows, "", f"Entry {seq} was changed, or one before it: its hash does not follow."
            )
        if fields[3] == "answer" and (wrong := _wrong(database, seq, said, digest)):
            return LedgerVerdict(False, rows, "", wrong)
        previous = own
    stray = database.execute(
        "SELECT count(*) FROM cell WHERE seq NOT IN (SELECT seq FROM entry WHERE kind = 'answer')"
    ).fetchone()[0]
    stray += database.execute(
        "SELECT count(*) FROM answer WHERE id NOT IN (SELECT said FROM entry WHERE kind = 'answer')"
    ).fetchone()[0]
    if stray:
        return LedgerVerdict(False, rows, "", f"{stray:,} answers or cells belong to no entry.")
    return LedgerVerdict(
        True, rows, previous.hex(), f"The chain of {rows:,} entries holds, and every answer is the one published."
    )


def _entries(database: sqlite3.Connection) -> Iterator[tuple[int, tuple[str | int | None, ...], str, bytes, bytes]]:
    sql = "SELECT seq, at, who, kind, dataset, request, once, said, digest, hash FROM entry ORDER BY seq"
    for row in database.execute(sql):
        yield row[0], tuple(row[:8]), row[7], row[8], row[9]


def _wrong(database: sqlite3.Connection, seq: int, name: str, digest: bytes) -> str:
    """What is wrong with the answer of an entry; empty where nothing is."""
    answer = database.execute("SELECT id, dataset, request, body FROM answer WHERE id = ?", (name,)).fetchone()
    if answer is None:
        return f"The answer of entry {seq} is missing."
    cells = database.execute("SELECT identity, value FROM cell WHERE seq = ?", (seq,)).fetchall()
    if published(answer[:3], answer[3], cells) != digest:
        return f"The answer of entry {seq}, or a cell published with it, was changed."
    return ""
