"""CSV: long tables as comma-, semicolon- or tab-separated text with a header."""

from __future__ import annotations

import csv
import io
from collections.abc import Callable, Sequence
from pathlib import Path

from cellward.errors import InputError
from cellward.files.text import read_text
from cellward.files.whole import write_whole
from cellward.formats.long import MOST_COLUMNS, build, check_header, long_columns
from cellward.table.frame import LongSpec
from cellward.table.table import Table

_SEPARATORS = ",;\t|"


def read_csv(
    path: str | Path,
    spec: LongSpec,
    *,
    separator: str | None = None,
    names: Sequence[str] | None = None,
    decimal: str = ".",
) -> Table:
    """Read a long table; without a separator given, the first line's most frequent one of comma, semicolon, tab and bar is taken.

    ``names``: what the columns are called in a file without a header. ``decimal``: the mark of the decimals, ``.`` or ``,``.
    """
    path = Path(path)
    header, every, at = read_rows(
        path, separator=separator, names=names, check=lambda names: check_header(path, names, spec)
    )
    picked = spec.picked(header)
    pick = [header.index(name) for name in picked]
    rows = [[row[k] for k in pick] for row in every]
    if decimal != ".":
        rows = _with_points(path, rows, at, picked, spec.texts, decimal)
    return build(path, spec, picked, rows, lambda row: f"line {at[row]}")


def _with_points(
    path: Path, rows: list[list[str]], at: list[int], names: Sequence[str], words: set[str], decimal: str
) -> list[list[str]]:
    """The rows with decimal points in their numbers."""
    if decimal != ",":
        raise InputError(f"decimal={decimal!r}: give '.' or ','")
    numbers = [k for k, name in enumerate(names) if name not in words]
    for row, line in zip(rows, at, strict=True):
        for k in numbers:
            if "." in row[k]:
                raise InputError(
                    f"{path} line {line}, column {names[k]}: {row[k]!r} has a point where decimals are set off by a comma; write 1234,5"
                )
            row[k] = row[k].replace(",", ".")
    return rows


def read_rows(
    path: Path,
    *,
    separator: str | None = None,
    names: Sequence[str] | None = None,
    check: Callable[[list[str]], None] | None = None,
) -> tuple[list[str], list[list[str]], list[int]]:
    """The header (or the ``names`` given instead of one), the rows that are not empty, and their line numbers; ``check`` may refuse the header
    before the rest is read."""
    text = read_text(path)
    first = text[: text.find("\n")] if "\n" in text else text
    most = max(first.count(mark) for mark in _SEPARATORS)
    if most >= MOST_COLUMNS:
        raise InputError(
            f"{path}: the header has {most + 1:,} columns, more than {MOST_COLUMNS:,}; give a long table, one row a cell"
        )
    if separator is None:
        separator = max(_SEPARATORS, key=first.count)
    elif len(separator) != 1:
        raise InputError(f"separator={separator!r}: give one character")
    reader = csv.reader(io.StringIO(text, newline=""), delimiter=separator, strict=True)
    rows: list[list[str]] = []
    at: list[int] = []
    try:
        header = next(reader) if names is None else list(names)
        if check is not None:
            check(header)
        for row in reader:
            if not row:
                continue
            if len(row) != len(header):
                whose = "the header has" if names is None else "names= gives"
                raise InputError(
                    f"{path} line {reader.line_num}: {len(row)} fields where {whose} {len(header)}; check separators and quotes"
                )
            rows.append(row)
            at.append(reader.line_num)
    except csv.Error as error:
        raise InputError(f"{path} line {reader.line_num}: not readable as CSV ({error}); check the quotes") from error
    return header, rows, at


def write_csv(table: Table, path: str | Path) -> Path:
    """Write a confidential table as a long CSV, whole or not at all."""
    columns = long_columns(table)
    out = io.StringIO()
    writer = csv.writer(out, lineterminator="\n")
    writer.writerow(columns)
    writer.writerows(zip(*columns.values(), strict=True))
    return write_whole(Path(path), out.getvalue().encode(), confidential=True)
