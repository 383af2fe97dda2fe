"""The code list ``.cdl``: one code and its label a line, ``code,label``; blanks before a code belong to it."""

from __future__ import annotations

import os
from collections.abc import Mapping
from pathlib import Path

from cellward.errors import InputError, brief
from cellward.files.whole import write_whole
from cellward.tauargus.files.lines import read_lines

MOST_BYTES = 1 << 26  # 64 MiB


def read_cdl(path: str | os.PathLike[str]) -> dict[str, str]:
    """The labels by code, in the order of the file."""
    labels: dict[str, str] = {}
    for line in read_lines(Path(path), most_bytes=MOST_BYTES):
        code, comma, label = line.text.partition(",")
        code = code.rstrip()
        if not comma or not code:
            raise line.error(f"{brief(line.text)} is no code and label; write them like 11,Noord-Brabant")
        if code in labels:
            raise line.error(f"the code {brief(code)} is in the list already; keep one of the two lines")
        labels[code] = label.strip()
    if not labels:
        raise InputError(f"{path}: no codes in it; write one a line, code,label")
    return labels


def write_cdl(labels: Mapping[str, str], path: str | os.PathLike[str]) -> Path:
    """Write a code list, whole or not at all."""
    for code, label in labels.items():
        if (
            not code
            or "," in code
            or not (code + label).isprintable()
            or code != code.rstrip()
            or code.lstrip()[:2] == "//"
        ):
            raise InputError(f"{path}: the code {brief(code)} cannot stand in a code list; rename it")
    text = "".join(f"{code},{label.strip()}\n" for code, label in labels.items())
    return write_whole(Path(path), text.encode())
