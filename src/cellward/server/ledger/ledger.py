"""Ledger: what was published, by whom it was asked, kept in SQLite before it leaves; one value a cell, whatever happens to the process.

Cells are kept by identity (the set of records behind them) with their released value in scaled integers, never a true one.
"""

from __future__ import annotations

import contextlib
import datetime as dt
import json
import os
import sqlite3
import zlib
from collections.abc import Iterator, Mapping, Sequence
from dataclasses import dataclass
from pathlib import Path
from threading import RLock
from typing import Any

from cellward.errors import InputError, ResourceError
from cellward.server.ledger.chain import FIRST, link, published

SCHEMA = 1
IDENTITY_BYTES = 16
BACK_S = 300.0
"""So many seconds may the clock go back; times are then those of the entry before."""
_AT_ONCE = 500
_TABLES = """
CREATE TABLE meta (name TEXT PRIMARY KEY, value TEXT NOT NULL) WITHOUT ROWID;
CREATE TABLE answer (id TEXT PRIMARY KEY, dataset TEXT NOT NULL, request TEXT NOT NULL, body BLOB NOT NULL, seq INTEGER NOT NULL) WITHOUT ROWID;
CREATE TABLE cell (dataset TEXT NOT NULL, measure TEXT NOT NULL, identity BLOB NOT NULL, value INTEGER NOT NULL, seq INTEGER NOT NULL,
    PRIMARY KEY (dataset, measure, identity)) WITHOUT ROWID;
CREATE TABLE entry (seq INTEGER PRIMARY KEY, at TEXT NOT NULL, who TEXT NOT NULL, kind TEXT NOT NULL, dataset TEXT NOT NULL, request TEXT NOT NULL,
    once TEXT, said TEXT NOT NULL, digest BLOB NOT NULL, hash BLOB NOT NULL);
CREATE UNIQUE INDEX entry_once ON entry (who, once) WHERE once IS NOT NULL;
CREATE INDEX entry_who ON entry (who, seq);
CREATE INDEX cell_seq ON cell (seq);
"""


class ConflictError(Exception):
    """A value was to be published for a cell that was published with another one."""


class UsedOnceError(Exception):
    """The idempotency key stands for another request of the same analyst."""


@dataclass(frozen=True)
class Asked:
    """Who asks for what, of which dataset, as worded; ``once``: the idempotency key."""

    who: str
    dataset: str
    request: str
    once: str | None = None


@dataclass(frozen=True)
class Answer:
    """A table as it was published."""

    id: str
    dataset: str
    request: str
    body: Mapping[str, Any]


class Ledger:
    """One open ledger; its methods may be called from several threads, and several processes may have it open."""

    def __init__(self, path: str | os.PathLike[str], *, now: Any = None, readonly: bool = False) -> None:
        self.path = Path(path)
        self._now = now or (lambda: dt.datetime.now(dt.UTC))
        self._lock = RLock()
        with self._told("opened"):
            self._database = _opened(self.path, readonly=readonly)

    def close(self) -> None:
        """Let go of the file."""
        with self._lock:
            self._database.close()

    def known(self, dataset: str, measure: str, identities: Sequence[int]) -> dict[int, int]:
        """The published values of those of these cells that have one."""
        found: dict[int, int] = {}
        wanted = sorted({_packed(one) for one in identities})
        with self._lock, self._told("read"):
            for at in range(0, len(wanted), _AT_ONCE):
                some = wanted[at : at + _AT_ONCE]
                rows = self._database.execute(
                    f"SELECT identity, value FROM cell WHERE dataset = ? AND measure = ? AND identity IN ({', '.join('?' * len(some))})",
                    (dataset, measure, *some),
                )
                found |= {int.from_bytes(identity, "big"): value for identity, value in rows}
        return found

    def publish(
        self, asked: Asked, answer: Answer, measure: str, identities: Sequence[int], values: Sequence[int]
    ) -> bool:
        """Keep an answer and its cells; whether all of them had been published before. It may leave when this returns, and not before."""
        cells = dict(zip(identities, values, strict=True))
        if any(cells[one] != value for one, value in zip(identities, values, strict=True)):
            raise ConflictError
        with self._lock, self._told("written"), self._writing():
            self._check_once(asked)
            seq = self._last()[0] + 1
            before = self.known(answer.dataset, measure, list(cells))
            if any(cells[one] != value for one, value in before.items()):
                raise ConflictError
            fresh = [(_packed(one), value) for one, value in cells.items() if one not in before]
            self._database.executemany(
                "INSERT INTO cell VALUES (?, ?, ?, ?, ?)",
                [(answer.dataset, measure, identity, value, seq) for identity, value in fresh],
            )
            body = zlib.compress(json.dumps(answer.body, separators=(",", ":")).encode(), 6)
            self._database.execute(
                "INSERT OR IGNORE INTO answer VALUES (?, ?, ?, ?, ?)",
                (answer.id, answer.dataset, answer.request, body, seq),
            )
            kept = self._database.execute("SELECT body FROM answer WHERE id = ?", (answer.id,)).fetchone()[0]
            self._append(
                asked, "answer", answer.id, published((answer.id, answer.dataset, answer.request), kept, fresh)
            )
        return not fresh

    def refuse(self, asked: Asked, code: str) -> None:
        """Keep that this was asked and not answered."""
        with self._lock, self._told("written"), self._writing():
            self._append(Asked(asked.who, asked.dataset, asked.request), "refusal", code, b"")

    def again(self, asked: Asked) -> Answer | None:
        """The answer that this analyst got with this idempotency key; refused where it was for another request."""
        if asked.once is None:
            return None
        with self._lock, self._told("read"):
            row = self._database.execute(
                "SELECT dataset, request, said FROM entry WHERE who = ? AND once = ?", (asked.who, asked.once)
            ).fetchone()
        if row is None:
            return None
        if (row[0], row[1]) != (asked.dataset, asked.request):
            raise UsedOnceError
        return self.answer(row[2])

    def answer(self, name: str) -> Answer | None:
        """The answer of this name."""
        with self._lock, self._told("read"):
            row = self._database.execute(
                "SELECT id, dataset, request, body FROM answer WHERE id = ?", (name,)
            ).fetchone()
        return None if row is None else Answer(row[0], row[1], row[2], json.loads(zlib.decompress(row[3])))

    def notes(self, dataset: str) -> list[str]:
        """What the engine of a dataset noted beside its answers, the first one first."""
        with self._lock, self._told("read"):
            rows = self._database.execute(
                "SELECT body FROM answer WHERE dataset = ? ORDER BY seq", (dataset,)
            ).fetchall()
        bodies = (json.loads(zlib.decompress(body)) for (body,) in rows)
        return [body["note"] for body in bodies if "note" in body]

    def entries(
        self, *, who: str | None = None, kind: str | None = None, offset: int = 0, limit: int = 100
    ) -> list[dict[str, Any]]:
        """The trail, newest first."""
        tests = [(f"{name} = ?", value) for name, value in (("who", who), ("kind", kind)) if value is not None]
        where = f"WHERE {' AND '.join(test for test, _ in tests)}" if tests else ""
        with self._lock, self._told("read"):
            rows = self._database.execute(
                f"SELECT seq, at, who, kind, dataset, request, said FROM entry {where} ORDER BY seq DESC LIMIT ? OFFSET ?",
                (*(value for _, value in tests), limit, offset),
            ).fetchall()
        return [dict(zip(("seq", "at", "who", "kind", "dataset", "request", "said"), row, strict=True)) for row in rows]

    def counts(self) -> dict[str, int]:
        """How many answers, cells and entries it holds."""
        with self._lock, self._told("read"):
            return {
                name: self._database.execute(f"SELECT count(*) FROM {name}").fetchone()[0]
                for name in ("answer", "cell", "entry")
            }

    def bind(self, name: str, value: str) -> str:
        """What the ledger was first told under this name: a fact that may not change, such as the decimals of a measure."""
        with self._lock, self._told("written"), self._writing():
            self._database.execute("INSERT OR IGNORE INTO meta VALUES (?, ?)", (name, value))
            return str(self._database.execute("SELECT value FROM meta WHERE name = ?", (name,)).fetchone()[0])

    def copy(self, target: str | os.PathLike[str]) -> Path:
        """A consistent copy in a new file, made while others write."""
        path = Path(target)
        if path.exists():
            raise InputError(f"{path}: exists already; choose another name")
        with self._lock, self._told("copied"):
            os.close(os.open(path, os.O_WRONLY | os.O_CREAT | os.O_EXCL, 0o600))
            copy = sqlite3.connect(path)
            with contextlib.closing(copy):
                self._database.backup(copy)
        return path

    def _last(self) -> tuple[int, str, bytes]:
        row = self._database.execute("SELECT seq, at, hash FROM entry ORDER BY seq DESC LIMIT 1").fetchone()
        return (0, "", FIRST) if row is None else (row[0], row[1], row[2])

    def _append(self, asked: Asked, kind: str, said: str, digest: bytes) -> None:
        seq, last, previous = self._last()
        at = self._time(last)
        fields = (seq + 1, at, asked.who, kind, asked.dataset, asked.request, asked.once, said)
        self._database.execute(
            "INSERT INTO entry VALUES (?, ?, ?, ?, ?, ?, ?, ?, ?, ?)", (*fields, digest, link(previous, fields, digest))
        )

    def _time(self, last: str) -> str:
        """Now, and never before the last entry; refused where the clock went back by much."""
        now: dt.datetime = self._now()
        if last and (back := (dt.datetime.fromisoformat(last) - now).total_seconds()) > 0:
            if back > BACK_S:
                raise ResourceError(
                    f"the clock of this machine stands {back / 60:,.0f} minutes before the last entry of the ledger; set it right"
                )
            return last
        return now.isoformat(timespec="milliseconds")

    def _check_once(self, asked: Asked) -> None:
        """Another thread may have used the key meanwhile."""
        if asked.once is None:
            return
        row = self._database.execute(
            "SELECT said FROM entry WHERE who = ? AND once = ?", (asked.who, asked.once)
        ).fetchone()
        if row is not None:
            raise UsedOnceError

    @contextlib.contextmanager
    def _writing(self) -> Iterator[None]:
        """One transaction, on the disk when it ends."""
        self._database.execute("BEGIN IMMEDIATE")
        try:
            yield
            self._database.execute("COMMIT")
        except BaseException:
            if self._database.in_transaction:
                self._database.execute("ROLLBACK")
            raise

    @contextlib.contextmanager
    def _told(self, done: str) -> Iterator[None]:
        """What SQLite complains of, in one sentence."""
        try:
            yield
        except sqlite3.Error as error:
            text = str(error).lower()
            if "full" in text or "disk i/o" in text:
                raise ResourceError(
                    f"the ledger cannot be {done}, since its disk is full or fails; free space there, nothing was published"
                ) from None
            raise InputError(
                f"{self.path}: the ledger cannot be {done} ({text}); check the file and its folder"
            ) from None


def _opened(path: Path, *, readonly: bool) -> sqlite3.Connection:
    """The database, made where there is none, in the mode in which a commit is on the disk when it returns."""
    if readonly:
        if not path.is_file():
            raise InputError(f"{path}: no such ledger; check the path")
        database = sqlite3.connect(
            f"{path.resolve().as_uri()}?mode=ro", uri=True, isolation_level=None, check_same_thread=False
        )
    else:
        if not path.exists():
            os.close(os.open(path, os.O_WRONLY | os.O_CREAT, 0o600))
        database = sqlite3.connect(path, isolation_level=None, check_same_thread=False, timeout=30.0)
        database.execute("PRAGMA journal_mode = WAL")
        database.execute("PRAGMA synchronous = FULL")
    try:
        version = database.execute("PRAGMA user_version").fetchone()[0]
        made = database.execute("SELECT count(*) FROM sqlite_master").fetchone()[0]
        if not made and not readonly:
            database.executescript(f"BEGIN IMMEDIATE;{_TABLES}PRAGMA user_version = {SCHEMA};COMMIT;")
        elif version != SCHEMA:
            raise InputError(
                f"{path}: is no ledger of schema {SCHEMA}, which this version writes; name the ledger's own file"
            )
    except BaseException:
        database.close()
        raise
    return database


def _packed(identity: int) -> bytes:
    return identity.to_bytes(IDENTITY_BYTES, "big")
