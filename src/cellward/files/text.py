"""Reading text files: bytes to lines, with the encodings and line ends that occur, and one sentence for what cannot be read."""

from __future__ import annotations

import os
from collections.abc import Iterator
from contextlib import contextmanager
from pathlib import Path
from typing import TYPE_CHECKING, BinaryIO

from cellward.errors import InputError, kind_of

if TYPE_CHECKING:
    from gzip import GzipFile

MOST_BYTES = 4 << 30


def check_input(path: str | os.PathLike[str], what: str = "a file") -> Path:
    """The path of a file that is to be read; refused, before anything else is asked, where there is none."""
    if not isinstance(path, str | os.PathLike):
        raise InputError(f"{what} is wanted, and {kind_of(path)} is given; give its path as text or a Path")
    file = Path(path)
    try:
        if not file.exists():
            raise InputError(f"{path}: no such file; check the path")
        if not file.is_file():  # a pipe would wait for ever
            raise InputError(f"{path}: a folder or device and not a file; give the name of a file")
    except (OSError, ValueError) as error:
        why = getattr(error, "strerror", None) or error
        raise InputError(f"{path!s}: cannot be read ({why}); check the path and its permissions") from None
    return file


def is_packed(path: Path) -> bool:
    """Whether a file is compressed by gzip, whatever it is called."""
    with path.open("rb") as handle:
        return handle.read(2) == b"\x1f\x8b"


def unpacked_suffix(path: Path) -> str:
    """The end of a file's name without ``.gz``."""
    return (Path(path.stem) if path.suffix.lower() == ".gz" else path).suffix.lower()


@contextmanager
def opened(path: Path) -> Iterator[BinaryIO | GzipFile]:
    """The bytes of a file, unpacked where it is compressed by gzip."""
    if not is_packed(path):
        with path.open("rb") as handle:
            yield handle
        return
    import gzip
    import zlib

    try:
        with gzip.open(path) as packed:
            yield packed
    except (gzip.BadGzipFile, EOFError, zlib.error):
        raise InputError(f"{path}: not readable as gzip; it is cut off or damaged: fetch it again") from None


def decode_file(path: str | os.PathLike[str], *, most_bytes: int = MOST_BYTES) -> str:
    """The file's text: UTF-8 with or without a byte-order mark, otherwise Latin-1; every line end becomes a newline."""
    file = check_input(path)
    try:
        with opened(file) as handle:
            data = handle.read(most_bytes + 1)
    except (OSError, ValueError) as error:
        why = getattr(error, "strerror", None) or error
        raise InputError(f"{path!s}: cannot be read ({why}); check the path and its permissions") from None
    if len(data) > most_bytes:
        raise InputError(f"{path}: larger than {most_bytes >> 20:,} MiB; check that it is the right file, or split it")
    data = data.removeprefix(b"\xef\xbb\xbf")
    try:
        text = data.decode()
    except UnicodeDecodeError:
        text = data.decode("latin-1")
    return text.replace("\r\r\n", "\n").replace("\r\n", "\n").replace("\r", "\n")


def read_text(path: Path) -> str:
    """Like :func:`decode_file`, for files that must hold a table: not empty, not binary."""
    text = decode_file(path)
    if not text.strip():
        raise InputError(f"{path}: the file is empty; give a file with a table in it")
    if "\0" in text[:4096]:
        raise InputError(f"{path}: not a text file (it holds NUL bytes); give text in UTF-8")
    return text


@contextmanager
def naming(path: Path) -> Iterator[None]:
    """Errors raised inside name the file, if they do not already."""
    try:
        yield
    except InputError as error:
        raise error if str(path) in str(error) else InputError(f"{path}: {error}") from error
