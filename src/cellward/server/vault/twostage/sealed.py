"""Sealed: what the vault notes beside an answer for itself alone, enciphered and authenticated under the key.

A stream of keyed BLAKE2b blocks, numbered, under a nonce of its own for each text, and a keyed BLAKE2b over nonce and cipher: encrypt, then
authenticate, with the primitives that the rest of the vault uses.
"""

from __future__ import annotations

import hmac
import secrets
from hashlib import blake2b

import numpy as np

from cellward.errors import InputError

NONCE_BYTES = 16
SEAL_BYTES = 32
_BLOCK = 64


def seal(key: bytes, text: bytes) -> bytes:
    """The text, readable with the key alone.

    >>> import secrets
    >>> key = secrets.token_bytes(32)
    >>> opened(key, seal(key, b"said"))
    b'said'
    """
    nonce = secrets.token_bytes(NONCE_BYTES)
    cipher = _streamed(key, nonce, text)
    return nonce + cipher + _mark(key, nonce + cipher)


def opened(key: bytes, sealed: bytes) -> bytes:
    """The text that was sealed; refused where it was changed, or sealed with another key."""
    body, mark = sealed[:-SEAL_BYTES], sealed[-SEAL_BYTES:]
    if len(body) < NONCE_BYTES or not hmac.compare_digest(mark, _mark(key, body)):
        raise InputError(
            "what the ledger keeps beside an answer was not sealed with this key; give the key that it was served with"
        )
    return _streamed(key, body[:NONCE_BYTES], body[NONCE_BYTES:])


def _streamed(key: bytes, nonce: bytes, text: bytes) -> bytes:
    own = hmac.digest(key, b"stream of what is sealed", "sha256")
    blocks = (
        blake2b(nonce + number.to_bytes(8, "big"), key=own, digest_size=_BLOCK).digest()
        for number in range(-(-len(text) // _BLOCK))
    )
    stream = np.frombuffer(b"".join(blocks), np.uint8)[: len(text)]
    return (np.frombuffer(text, np.uint8) ^ stream).tobytes()


def _mark(key: bytes, body: bytes) -> bytes:
    own = hmac.digest(key, b"mark of what is sealed", "sha256")
    return blake2b(body, key=own, digest_size=SEAL_BYTES).digest()
