"""Lines of a τ-ARGUS text file: numbered, without comments, taken apart into words and quoted texts."""

from __future__ import annotations

import re
from collections.abc import Sequence
from dataclasses import dataclass
from pathlib import Path

from cellward.errors import InputError, brief
from cellward.files.text import decode_file

MOST_BYTES = 1 << 22  # 4 MiB: metadata, recodings and batches are a few pages
MOST_LINES, MOST_CHARACTERS = 2_000_000, 32_000
"""The original's records have so many characters."""
_WORD = re.compile(r'"([^"]*)"|([^\s"]+)')
_CONTROL = re.compile(r"[\x00-\x08\x0b-\x1f\x7f]")


@dataclass(frozen=True)
class LineWord:
    """A word as it stands, or the text between two quotes."""

    text: str
    quoted: bool = False

    @property
    def tag(self) -> str:
        """The name of a tag such as ``<NUMERIC>``, in capitals; empty for any other word."""
        if self.quoted or len(self.text) < 3 or self.text[0] != "<" or self.text[-1] != ">":
            return ""
        return self.text[1:-1].upper()


@dataclass(frozen=True)
class Line:
    """One line, where it stands, and how a sentence says so."""

    path: Path
    number: int
    text: str

    def error(self, message: str) -> InputError:
        """An error at this line."""
        return InputError(f"{self.path} line {self.number}: {message}")

    def words(self) -> list[LineWord]:
        """The words of the line; a quoted text is one word, also where no blank stands around it."""
        found, at = [], 0
        for match in _WORD.finditer(self.text):
            if self.text[at : match.start()].strip():
                break
            at = match.end()
            found.append(LineWord(match[2]) if match[1] is None else LineWord(match[1], quoted=True))
        if rest := self.text[at:].strip():
            raise self.error(f"a quote is not closed at {brief(rest)}; close it")
        return found

    def whole(self, text: str, what: str, least: int, most: int) -> int:
        """A whole number, within limits."""
        if not (text.isascii() and text.isdigit() and len(text) < 10 and least <= int(text) <= most):
            raise self.error(f"{what} is {brief(text)}; give a whole number from {least} to {most:,}")
        return int(text)


def read_lines(path: Path, *, comments: Sequence[str] = ("//",), most_bytes: int = MOST_BYTES) -> list[Line]:
    """The lines that say something: not empty, and not beginning with one of the marks of a comment."""
    text = decode_file(path, most_bytes=most_bytes)
    if text.count("\n") > MOST_LINES:
        raise InputError(f"{path}: more than {MOST_LINES:,} lines; check that it is the right file, or split it")
    lines = []
    for number, raw in enumerate(text.split("\n"), start=1):
        if len(raw) > MOST_CHARACTERS:
            raise InputError(
                f"{path} line {number}: has {len(raw):,} characters, more than {MOST_CHARACTERS:,}; check the line ends"
            )
        if not raw.strip() or raw.lstrip().startswith(tuple(comments)):
            continue
        if control := _CONTROL.search(raw):
            raise InputError(
                f"{path} line {number}: holds the control character {ord(control.group()):#04x}; save the file as plain text"
            )
        lines.append(Line(path, number, raw.rstrip()))
    return lines
