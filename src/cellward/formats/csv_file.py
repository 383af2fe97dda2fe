"""CSV: long tables as comma-, semicolon- or tab-separated text with a header."""

from __future__ import annotations

import csv
import io
from collections.abc import Callable
from pathlib import Path

from cellward.errors import InputError
from cellward.files import write_whole
from cellward.formats.long import MOST_COLUMNS, build, check_header, long_columns
from cellward.formats.text import read_text
from cellward.table.frame import LongSpec
from cellward.table.table import Table

_SEPARATORS = ",;\t|"


def read_csv(path: str | Path, spec: LongSpec, *, separator: str | None = None) -> Table:
    """Read a long table; without a separator given, the header's most frequent one of comma, semicolon, tab and bar is taken."""
    path = Path(path)
    names, every, at = read_rows(path, separator=separator, check=lambda names: check_header(path, names, spec))
    pick = [names.index(name) for name in spec.wanted]
    return build(path, spec, [[row[k] for k in pick] for row in every], lambda row: f"line {at[row]}")


def read_rows(
    path: Path, *, separator: str | None = None, check: Callable[[list[str]], None] | None = None
) -> tuple[list[str], list[list[str]], list[int]]:
    """The header, the rows that are not empty, and their line numbers; ``check`` may refuse the header before the rest is read."""
    text = read_text(path)
    header = text[: text.find("\n")] if "\n" in text else text
    most = max(header.count(mark) for mark in _SEPARATORS)
    if most >= MOST_COLUMNS:
        raise InputError(
            f"{path}: the header has {most + 1:,} columns, more than {MOST_COLUMNS:,}; give a long table, one row a cell"
        )
    if separator is None:
        separator = max(_SEPARATORS, key=header.count)
    elif len(separator) != 1:
        raise InputError(f"separator={separator!r}: give one character")
    reader = csv.reader(io.StringIO(text, newline=""), delimiter=separator, strict=True)
    rows: list[list[str]] = []
    at: list[int] = []
    try:
        names = next(reader)
        if check is not None:
            check(names)
        for row in reader:
            if not row:
                continue
            if len(row) != len(names):
                raise InputError(
                    f"{path} line {reader.line_num}: {len(row)} fields where the header has {len(names)}; check separators and quotes"
                )
            rows.append(row)
            at.append(reader.line_num)
    except csv.Error as error:
        raise InputError(f"{path} line {reader.line_num}: not readable as CSV ({error}); check the quotes") from error
    return names, rows, at


def write_csv(table: Table, path: str | Path) -> Path:
    """Write a confidential table as a long CSV, whole or not at all."""
    columns = long_columns(table)
    out = io.StringIO()
    writer = csv.writer(out, lineterminator="\n")
    writer.writerow(columns)
    writer.writerows(zip(*columns.values(), strict=True))
    return write_whole(Path(path), out.getvalue().encode(), confidential=True)
