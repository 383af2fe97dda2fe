"""People: who may ask, by tokens that are stored as scrypt hashes, with roles, an end and limits each; a SQLite file of the front's own.

A token is ``cw_`` and two parts: a number by which its row is found, no secret, and 32 random bytes. A row keeps a salt and a scrypt hash of the
whole token. One that was found right is remembered in memory by a digest under a key that is drawn anew for each process, so that only the first
request of a token pays for scrypt; its row is read again for each request, so that one taken back ends at once.
"""

from __future__ import annotations

import contextlib
import hashlib
import hmac
import os
import re
import secrets
import sqlite3
import threading
import time
from collections.abc import Iterator
from dataclasses import astuple, dataclass
from pathlib import Path

from cellward.errors import InputError

ROLES = ("reader", "reviewer", "admin")
"""Each may do what those before it may."""
NAME = re.compile(r"[A-Za-z0-9][A-Za-z0-9 ._@-]{0,63}")
TOKEN = re.compile(r"cw_([0-9a-f]{16})_([A-Za-z0-9_-]{43})")
VERSION = 1
TABLES = """
CREATE TABLE IF NOT EXISTS tokens (id TEXT PRIMARY KEY, name TEXT NOT NULL, role TEXT NOT NULL, salt BLOB NOT NULL, hash BLOB NOT NULL,
    made INTEGER NOT NULL, expires INTEGER NOT NULL, revoked INTEGER, per_minute INTEGER NOT NULL, cells_a_table INTEGER NOT NULL,
    cells_a_day INTEGER NOT NULL);
CREATE UNIQUE INDEX IF NOT EXISTS one_a_name ON tokens (name) WHERE revoked IS NULL;
CREATE TABLE IF NOT EXISTS spent (name TEXT NOT NULL, day INTEGER NOT NULL, cells INTEGER NOT NULL, PRIMARY KEY (name, day));
"""


@dataclass(frozen=True)
class Limits:
    """What a token may ask for: requests a minute, cells a table, new cells a day."""

    per_minute: int = 600
    cells_a_table: int = 100_000
    cells_a_day: int = 2_000_000

    def __post_init__(self) -> None:
        if min(astuple(self)) < 1:
            raise InputError("limits: each must be at least 1; take a token back with cellward token revoke NAME")


@dataclass(frozen=True)
class Person:
    """Whose token it is, and what it allows; times are seconds since 1970."""

    id: str
    name: str
    role: str
    made: int
    expires: int
    revoked: int | None
    limits: Limits

    def may(self, role: str) -> bool:
        """Whether the role is at least this one."""
        return ROLES.index(self.role) >= ROLES.index(role)


class People:
    """The file of tokens."""

    def __init__(self, path: Path) -> None:
        self.path = path
        self._memory_key = secrets.token_bytes(32)
        self._known: dict[bytes, str] = {}
        self._lock = threading.Lock()
        try:
            if not path.exists():
                os.close(os.open(path, os.O_WRONLY | os.O_CREAT | os.O_EXCL, 0o600))
            if os.name == "posix" and path.stat().st_mode & 0o077:
                raise InputError(f"{path}: others than its owner can reach the tokens; run chmod 600 {path}")
            self._base, self._reads = self._open(), self._open()
            self._prepare()
        except (OSError, sqlite3.Error) as error:
            why = getattr(error, "strerror", None) or error
            raise InputError(f"{path}: cannot be used as the file of tokens ({why}); choose another --people") from None

    def _open(self) -> sqlite3.Connection:
        return sqlite3.connect(self.path, timeout=10, isolation_level=None, check_same_thread=False)

    def _prepare(self) -> None:
        version = self._base.execute("PRAGMA user_version").fetchone()[0]
        if version not in (0, VERSION):
            raise InputError(f"{self.path}: tokens of version {version}, and this is {VERSION}; use a newer cellward")
        self._base.execute("PRAGMA journal_mode = WAL")  # who reads never waits for who writes
        self._base.execute("PRAGMA synchronous = FULL")
        if version == 0:
            self._base.executescript(f"BEGIN IMMEDIATE; {TABLES} PRAGMA user_version = {VERSION}; COMMIT;")

    def close(self) -> None:
        """Close the file."""
        self._reads.close()
        self._base.close()

    # ---- making and taking back

    def add(self, name: str, role: str, seconds: int, limits: Limits | None = None) -> str:
        """A new token, which nobody can see again; a name has one at a time, and keeps its tables when it gets another."""
        if not NAME.fullmatch(name):
            raise InputError(
                f"name {name!r}: up to 64 letters, digits, blanks and . _ @ - are wanted; choose such a name"
            )
        if role not in ROLES:
            raise InputError(f"role {role!r}: there is no such role; take one of {', '.join(ROLES)}")
        limits, now, salt = limits or Limits(), int(time.time()), secrets.token_bytes(16)
        number, secret = secrets.token_hex(8), secrets.token_urlsafe(32)
        token = f"cw_{number}_{secret}"
        row = (number, name, role, salt, _hash(token, salt), now, now + seconds, None, *astuple(limits))
        with self._writing() as base:
            base.execute(
                "UPDATE tokens SET revoked = ? WHERE name = ? AND revoked IS NULL AND expires <= ?", (now, name, now)
            )
            try:
                base.execute("INSERT INTO tokens VALUES (?,?,?,?,?,?,?,?,?,?,?)", row)
            except sqlite3.IntegrityError:
                raise InputError(
                    f"{name}: has a token already; take it back first with cellward token revoke"
                ) from None
        return token

    def revoke(self, name: str) -> None:
        """Take a token back; it ends at once."""
        with self._writing() as base:
            done = base.execute(
                "UPDATE tokens SET revoked = ? WHERE name = ? AND revoked IS NULL", (int(time.time()), name)
            )
            if not done.rowcount:
                raise InputError(f"{name}: has no token; see cellward token list")

    def listed(self) -> list[Person]:
        """Everybody who ever had a token, in the order in which they got it."""
        return [_person(row) for row in self._reads.execute("SELECT * FROM tokens ORDER BY made, rowid").fetchall()]

    @contextlib.contextmanager
    def _writing(self) -> Iterator[sqlite3.Connection]:
        """A whole change or none."""
        with self._lock:
            try:
                self._base.execute("BEGIN IMMEDIATE")
                yield self._base
                self._base.execute("COMMIT")
            except BaseException as error:
                if self._base.in_transaction:
                    self._base.execute("ROLLBACK")
                if isinstance(error, sqlite3.Error):
                    raise InputError(f"{self.path}: cannot be written ({error}); free space there") from None
                raise

    # ---- recognising

    def remembered(self, token: str) -> Person | None:
        """Whose token it is, where it was found right before; costs microseconds."""
        number = self._known.get(self._digest(token))
        return self._row(number)[0] if number is not None else None

    def number_of(self, token: str) -> str | None:
        """The number in a token that has the right form and a row; no proof of anything."""
        form = TOKEN.fullmatch(token)
        return form[1] if form and self._row(form[1])[0] is not None else None

    def recognise(self, token: str) -> Person | None:
        """Whose token it is, by its hash; costs some 50 milliseconds."""
        form = TOKEN.fullmatch(token)
        person, salt, kept = self._row(form[1]) if form else (None, b"", b"")
        if person is None or not hmac.compare_digest(_hash(token, salt), kept):
            return None
        if len(self._known) >= 10_000:
            self._known.clear()
        self._known[self._digest(token)] = person.id
        return person

    def _digest(self, token: str) -> bytes:
        return hmac.digest(self._memory_key, token.encode(errors="replace"), "sha256")

    def _row(self, number: str) -> tuple[Person | None, bytes, bytes]:
        row = self._reads.execute("SELECT * FROM tokens WHERE id = ?", (number,)).fetchone()
        return (_person(row), row[3], row[4]) if row else (None, b"", b"")

    # ---- what was asked for today

    def spent(self, name: str, day: int) -> int:
        """The new cells that a person got on a day."""
        row = self._reads.execute("SELECT cells FROM spent WHERE name = ? AND day = ?", (name, day)).fetchone()
        return int(row[0]) if row else 0

    def spend(self, name: str, day: int, cells: int) -> None:
        """Note new cells."""
        with self._writing() as base:
            base.execute("DELETE FROM spent WHERE name = ? AND day < ?", (name, day))
            upsert = (
                "INSERT INTO spent VALUES (?,?,?) ON CONFLICT (name, day) DO UPDATE SET cells = cells + excluded.cells"
            )
            base.execute(upsert, (name, day, cells))


def _hash(token: str, salt: bytes) -> bytes:
    return hashlib.scrypt(token.encode(), salt=salt, n=1 << 14, r=8, p=1, maxmem=1 << 26, dklen=32)


def _person(row: tuple[object, ...]) -> Person:
    number, name, role, _, _, made, expires, revoked, *limits = row
    return Person(number, name, role, made, expires, revoked, Limits(*limits))  # type: ignore[arg-type]
