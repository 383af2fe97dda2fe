"""Chain: every row of the trail holds the hash of the one before it, so that none can be changed, left out or put in without the rest showing it."""

from __future__ import annotations

import json
from collections.abc import Iterable, Sequence
from hashlib import sha256

FIRST = bytes(32)
"""What stands before the first row."""


def link(previous: bytes, fields: Sequence[str | int | None], digest: bytes) -> bytes:
    """The hash of a row: of the one before it, of its fields, and of what it published."""
    said = json.dumps(list(fields), separators=(",", ":"), ensure_ascii=False).encode()
    return sha256(previous + len(said).to_bytes(8, "big") + said + digest).digest()


def published(answer: Sequence[str], body: bytes, cells: Iterable[tuple[bytes, int]]) -> bytes:
    """The hash of an answer and of the cells first published with it."""
    found = sha256()
    for part in (*(text.encode() for text in answer), body):
        found.update(len(part).to_bytes(8, "big") + part)
    for identity, value in sorted(cells):
        found.update(identity + value.to_bytes(16, "big", signed=True))
    return found.digest()
