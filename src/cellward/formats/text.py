"""Reading text files: bytes to lines, with the encodings and line ends that occur, and one sentence for what cannot be read."""

from __future__ import annotations

from collections.abc import Iterator
from contextlib import contextmanager
from pathlib import Path

from cellward.errors import InputError

MOST_BYTES = 4 << 30


def read_text(path: Path) -> str:
    """The file's text: UTF-8 with or without a byte-order mark, otherwise Latin-1; every line end becomes a newline."""
    try:
        if path.exists() and not path.is_file():
            raise InputError(f"{path}: is not a file; give the name of a file")
        if path.stat().st_size > MOST_BYTES:
            raise InputError(f"{path}: larger than {MOST_BYTES >> 30} GiB; split it or use Parquet")
        data = path.read_bytes()
    except (OSError, ValueError) as error:
        why = getattr(error, "strerror", None) or error
        raise InputError(f"{path}: cannot be read ({why}); check the name and the permissions") from error
    data = data.removeprefix(b"\xef\xbb\xbf")
    if not data.strip():
        raise InputError(f"{path}: the file is empty; give a file with a table in it")
    if b"\0" in data[:4096]:
        raise InputError(f"{path}: not a text file (it holds NUL bytes); give text in UTF-8")
    try:
        text = data.decode()
    except UnicodeDecodeError:
        text = data.decode("latin-1")
    return text.replace("\r\r\n", "\n").replace("\r\n", "\n").replace("\r", "\n")


@contextmanager
def naming(path: Path) -> Iterator[None]:
    """Errors raised inside name the file, if they do not already."""
    try:
        yield
    except InputError as error:
        raise error if str(path) in str(error) else InputError(f"{path}: {error}") from error
