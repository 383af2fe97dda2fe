"""Messages between the worker and its parent, over pipes (why not multiprocessing.connection: docs/decisions/0016).

A message is the number of its parts and their lengths (64-bit little-endian), then the parts: a pickle, then the arrays
it refers to, which travel without being copied (pickle protocol 5, PEP 574).
"""

from __future__ import annotations

import contextlib
import io
import pickle
import select
import struct
from collections.abc import Sequence
from typing import Any, Final

PIPE_BYTES: Final = 1 << 20


def pack(message: object) -> list[memoryview]:
    """A message, ready to be sent."""
    buffers: list[pickle.PickleBuffer] = []
    body = pickle.dumps(message, protocol=5, buffer_callback=buffers.append)
    parts = [memoryview(body), *(buffer.raw() for buffer in buffers)]
    lengths = struct.pack(f"<{len(parts) + 1}q", len(parts), *(part.nbytes for part in parts))
    return [memoryview(lengths), *parts]


def unpack(parts: Sequence[memoryview]) -> Any:
    """What a received message holds."""
    return pickle.loads(parts[0], buffers=parts[1:])


def send(file: io.FileIO, message: Sequence[memoryview]) -> None:
    """Write a message whole."""
    for part in message:
        sent = 0
        while sent < part.nbytes:
            sent += file.write(part[sent:])


def receive(file: io.FileIO) -> list[memoryview] | None:
    """The parts of the next message; None when the other side is gone, wherever in the message."""
    count = _read(file, 8)
    if count is None:
        return None
    lengths = _read(file, 8 * struct.unpack("<q", count)[0])
    if lengths is None:
        return None
    parts = []
    for length in struct.unpack(f"<{lengths.nbytes // 8}q", lengths):
        part = _read(file, length)
        if part is None:
            return None
        parts.append(part)
    return parts


def _read(file: io.FileIO, length: int) -> memoryview | None:
    buffer = memoryview(bytearray(length))
    filled = 0
    while filled < length:
        wait(file)
        got = file.readinto(buffer[filled:])
        if not got:
            return None
        filled += got
    return buffer


def wait(file: io.FileIO, *, timeout_s: float | None = None) -> bool:
    """Sleep until there is something to read; False when the time is over before.

    Some libraries (polars) have the system restart interrupted reads, so Ctrl-C would wait for the answer; poll is never
    restarted.
    """
    if hasattr(select, "poll"):
        poll = select.poll()
        poll.register(file, select.POLLIN)
        return bool(poll.poll(None if timeout_s is None else 1000 * timeout_s))
    return True


def closed(fd: int) -> bool:
    """Whether the other side has closed its end; False where the system cannot tell."""
    if not hasattr(select, "poll"):
        return False
    poll = select.poll()
    poll.register(fd, 0)
    return any(event & select.POLLHUP for _, event in poll.poll(0))


def widen(fd: int) -> None:
    """A wider pipe means fewer switches between the two processes; where the system has none, the default does."""
    with contextlib.suppress(ImportError, AttributeError, OSError):
        import fcntl

        fcntl.fcntl(fd, fcntl.F_SETPIPE_SZ, PIPE_BYTES)
