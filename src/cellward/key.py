"""Key: the 32 secret bytes that a release draws from and salts its proof with; checked, read from a file of its own, or made."""

from __future__ import annotations

import hashlib
import os
import secrets
import stat
from itertools import pairwise
from pathlib import Path

from cellward.errors import InputError
from cellward.files.text import decode_file

KEY_BYTES = 32
FEWEST_DISTINCT, MOST_LETTERS = 20, 26
"""32 random bytes have fewer distinct ones, or more that are printable ASCII, less than once in 10^7 keys."""
PUBLISHED = frozenset(
    hashlib.sha256(text).digest()
    for text in (b"", b"0", b"a", b"cellward", b"example", b"key", b"password", b"secret", b"test")
)
"""Keys that look random and are not: digests that stand in books and on the web."""
MAKE = "make one with cellward key new FILE"


def checked_key(key: object = None) -> bytes:
    """The key, refused unless it has 32 bytes that nobody could guess; a random one where none is given."""
    if key is None:
        return secrets.token_bytes(KEY_BYTES)
    if not isinstance(key, bytes) or len(key) != KEY_BYTES:
        raise InputError(
            f"key: give {KEY_BYTES} secret bytes, such as secrets.token_bytes({KEY_BYTES}), or none at all"
        )
    if why := _weakness(key):
        raise InputError(
            f"key: {why}, so that anybody could guess it; {MAKE}, or take secrets.token_bytes({KEY_BYTES})"
        )
    return key


def _weakness(key: bytes) -> str:
    """Why a key is none that was drawn at random; empty where nothing says so."""
    steps = {(after - before) % 256 for before, after in pairwise(key)}
    if len(steps) == 1:
        return "its bytes are all the same" if steps == {0} else "its bytes only count"
    if len(set(key)) < FEWEST_DISTINCT:
        return f"it has only {len(set(key))} distinct bytes"
    if sum(32 <= byte < 127 for byte in key) > MOST_LETTERS:
        return "it is text"
    return "it is published" if key in PUBLISHED else ""


def read_key(path: str | os.PathLike[str]) -> bytes:
    """The key in a file of 64 hexadecimal digits that its owner alone may read."""
    text = decode_file(path, most_bytes=1 << 12).strip()
    if os.name == "posix" and stat.S_IMODE(Path(path).stat().st_mode) & 0o077:
        raise InputError(f"{path}: others than its owner can reach this key; run chmod 600 {path}")
    try:
        key = bytes.fromhex(text)
    except ValueError:
        key = b""
    if len(key) != KEY_BYTES:
        raise InputError(f"{path}: a key is {2 * KEY_BYTES} hexadecimal digits and nothing else; {MAKE}")
    try:
        return checked_key(key)
    except InputError as error:
        raise InputError(f"{path}: {error}") from None


def write_new_key(path: str | os.PathLike[str]) -> Path:
    """A random key in a new file that its owner alone may read; a file that exists is never written over."""
    file = Path(path)
    try:
        handle = os.open(file, os.O_WRONLY | os.O_CREAT | os.O_EXCL, 0o600)
    except FileExistsError:
        raise InputError(
            f"{file}: exists already, and what was drawn from a lost key cannot be drawn again; choose another name"
        ) from None
    except (OSError, ValueError) as error:
        why = getattr(error, "strerror", None) or error
        raise InputError(f"{file}: cannot be written ({why}); choose another name") from None
    with os.fdopen(handle, "wb") as out:
        out.write(f"{checked_key().hex()}\n".encode())
    return file
