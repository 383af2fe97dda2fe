"""Numbers of records: a secret number of 128 bits for each, drawn from the key; a cell's identity is the sum of its records' numbers.

A number is the keyed BLAKE2b of what names the record, and of how many of the same name came before it: records that are alike are told apart by
their count alone, so that new records join, and rows change places, without moving any. Sums are taken modulo 2^128, as two halves.
"""

from __future__ import annotations

import hmac
from collections.abc import Iterable
from hashlib import blake2b

import numpy as np
from numpy.typing import NDArray

Halves = NDArray[np.uint64]
NUMBER_BYTES = 16
MODULUS = 1 << 128


def numbers_of_records(key: bytes, names: Iterable[str]) -> tuple[Halves, Halves]:
    """The lower and upper halves of the records' numbers.

    >>> import secrets
    >>> low, high = numbers_of_records(secrets.token_bytes(32), ["a", "b", "a"])
    >>> len(set(low.tolist()))
    3
    """
    own = hmac.digest(key, b"numbers of records", "sha256")
    seen: dict[str, int] = {}
    digests = bytearray()
    for name in names:
        before = seen.get(name, 0)
        seen[name] = before + 1
        digests += blake2b(f"{before}:{name}".encode(), key=own, digest_size=NUMBER_BYTES).digest()
    pairs = np.frombuffer(bytes(digests), "<u8").reshape(-1, 2)
    return pairs[:, 0].copy(), pairs[:, 1].copy()


def joined(low: int, high: int) -> int:
    """The identity of which these are the sums of the lower and the upper halves."""
    return (low + (high << 64)) % MODULUS
