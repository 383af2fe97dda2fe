"""Excel: printed tables written with a read-me, as people read them and one row a cell; long tables of cells read from a sheet.

Needs openpyxl (``pip install 'cellward[excel]'``). Numbers are written as numbers, but for those with more digits than a spreadsheet keeps; every
other entry is text, whatever it begins with.
"""

from __future__ import annotations

import importlib
import io
import re
import zipfile
from collections.abc import Iterable, Sequence
from decimal import Decimal
from pathlib import Path
from typing import Any

from cellward.errors import InputError, brief
from cellward.files.workbook import openpyxl, sheet_rows
from cellward.formats.layout import laid_out
from cellward.formats.long import build, check_header
from cellward.formats.printed_table import PrintedTable
from cellward.table.frame import LongSpec
from cellward.table.table import Table

MOST_ROWS, MOST_CHARACTERS = 1_048_576, 32_767
DIGITS = 15
"""What a spreadsheet keeps of a number."""
SHEETS = ("Read me", "Table", "Layout")
_EPOCH = (1980, 1, 1, 0, 0, 0)
_NUMBER = re.compile(r"-?[0-9]+(\.[0-9]+)?", re.ASCII)
_STATUSES = {
    "published": "The value is printed.",
    "withheld": "The value is confidential, and is not printed.",
    "range": "The value lies between lower and upper, both included; an empty end is open.",
}


def excel(table: PrintedTable) -> bytes:
    """The workbook: read-me, one row a cell, and the table laid out; the same bytes for the same table."""
    if table.cells >= MOST_ROWS:
        raise InputError(
            f"a sheet has {MOST_ROWS:,} rows, and the table {table.cells:,} cells; choose another format, such as Parquet"
        )
    book = openpyxl().Workbook(write_only=True)
    book.properties.creator = "cellward"
    long, form = table.long(), f"0.{'0' * table.decimals}" if table.decimals else "0"
    rows = zip(*long.values(), strict=True)
    grid = laid_out(table)
    _sheet(book, SHEETS[0], [], _read_me(table), [], form)
    _sheet(book, SHEETS[1], list(long), rows, table.numeric, form)
    if grid.heads[: grid.names] != tuple(axis.name for axis in table.axes):
        across = [k >= grid.names for k in range(len(grid.heads))]
        remarks = [[remark] for remark in (*([""] if table.remarks else []), *table.remarks)]
        _sheet(book, SHEETS[2], list(grid.heads), [*grid.rows, *remarks], across, form)
    out = io.BytesIO()
    book.save(out)
    return _still(out.getvalue())


def _sheet(
    book: Any, name: str, heads: list[str], rows: Iterable[Sequence[str]], numeric: Sequence[bool], form: str
) -> None:
    """A sheet of texts and, in columns that are ``numeric``, numbers."""
    sheet = book.create_sheet(name)
    bold = importlib.import_module("openpyxl.styles").Font(bold=True)
    if heads:
        sheet.freeze_panes = "A2"
        cells = [_text(sheet, head) for head in heads]
        for cell in cells:
            cell.font = bold
        sheet.append(cells)
    for row in rows:
        numbers = [*numeric, *[False] * (len(row) - len(numeric))]
        sheet.append(
            [
                _number(sheet, entry, form) if number else _text(sheet, entry)
                for entry, number in zip(row, numbers, strict=False)
            ]
        )


def _text(sheet: Any, text: str) -> Any:
    """A text, never a formula or an error, whatever it looks like."""
    if len(text) > MOST_CHARACTERS:
        raise InputError(
            f"{brief(text)}: a text of {len(text):,} characters, more than a sheet has room for; shorten it"
        )
    cell = importlib.import_module("openpyxl.cell").WriteOnlyCell(sheet, "x")
    cell.value = text or None
    if text:
        cell._value, cell.data_type = text, "s"
    return cell


def _number(sheet: Any, text: str, form: str) -> Any:
    """A number that a spreadsheet keeps as it is; any other entry as text."""
    if not _NUMBER.fullmatch(text) or len(text.strip("-0").replace(".", "")) > DIGITS:
        return _text(sheet, text)
    cell = importlib.import_module("openpyxl.cell").WriteOnlyCell(sheet, Decimal(text))
    cell.number_format = form
    return cell


def _read_me(table: PrintedTable) -> list[tuple[str, ...]]:
    """What the file holds, in rows of a word and its meaning."""
    rows: list[tuple[str, ...]] = [("Title", table.title)] if table.title else []
    rows += [("Note", note) for note in table.footnotes]
    rows += [("Cells", f"{table.cells:,}"), ("Dimensions", ", ".join(axis.name for axis in table.axes))]
    rows += [(f"Status {status}", _STATUSES[status]) for status in sorted(set(table.status))]
    rows += [("In the layout", mark) for mark in table.marks]
    rows += [(key, text) for key, text in table.about.items()]
    rows.append(
        ("Numbers", f"Those with more than {DIGITS} digits are written as text, since spreadsheets keep {DIGITS}.")
    )
    return rows


def _still(data: bytes) -> bytes:
    """The same workbook without the time at which it was written."""
    out = io.BytesIO()
    with zipfile.ZipFile(io.BytesIO(data)) as made, zipfile.ZipFile(out, "w", zipfile.ZIP_DEFLATED) as still:
        for name in made.namelist():
            content = made.read(name)
            if name == "docProps/core.xml":
                content = re.sub(rb"\d{4}-\d\d-\d\dT\d\d:\d\d:\d\dZ", b"1980-01-01T00:00:00Z", content)
            entry = zipfile.ZipInfo(name, _EPOCH)
            entry.compress_type = zipfile.ZIP_DEFLATED
            still.writestr(entry, content)
    return out.getvalue()


def read_excel(path: str | Path, spec: LongSpec, *, sheet: str | None = None) -> Table:
    """Read a long or a wide table from a sheet, the only one that holds something unless named."""
    path = Path(path)
    header, every, at = sheet_rows(path, sheet, lambda names: check_header(path, names, spec))
    picked = spec.picked(header)
    pick = [header.index(name) for name in picked]
    return build(path, spec, picked, [[row[k] for k in pick] for row in every], lambda row: f"row {at[row]}")
