"""Workbooks: a sheet of an Excel file as texts, exactly as stored; what could be read two ways is refused in one sentence. Needs openpyxl."""

from __future__ import annotations

import datetime
import importlib
import re
import zipfile
from collections.abc import Callable, Sequence
from pathlib import Path
from typing import Any

from cellward.errors import InputError, brief
from cellward.files.text import check_input

MOST_BYTES = 1 << 30
"""Unpacked."""
_PADDED = re.compile(r"0{2,15}")


def openpyxl() -> Any:
    """The package, or a sentence on how to get it."""
    try:
        return importlib.import_module("openpyxl")
    except ImportError:
        raise InputError(
            "openpyxl is not installed, which reads and writes Excel files; install it (pip install 'cellward[excel]'), or use CSV"
        ) from None


def sheet_rows(
    path: Path, sheet: str | None = None, check: Callable[[list[str]], None] | None = None
) -> tuple[list[str], list[list[str]], list[int]]:
    """The header, the rows below it that are not empty, and their numbers; ``check`` may refuse the header before the rest is looked at."""
    own = _sheet(path, sheet)
    where = f"{path}, sheet {brief(own.title)}"
    rows = [list(row) for row in own.iter_rows()]
    while rows and all(cell.value is None for cell in rows[0]):
        rows.pop(0)
    if not rows:
        raise InputError(f"{where}: is empty; give a sheet with a header and rows")
    wide = max((k + 1 for row in rows for k, cell in enumerate(row) if cell.value is not None), default=0)
    if own.merged_cells.ranges:
        first = min(str(one) for one in own.merged_cells.ranges)
        raise InputError(
            f"{where}: the cells {first} are merged; unmerge them and fill in each, or save the sheet as CSV"
        )
    head = [_text(cell, where) for cell in rows[0][:wide]]
    if "" in head:
        name = rows[0][head.index("")].coordinate
        raise InputError(f"{where}: {name} in the header is empty; name the column, and have no title above the header")
    if check is not None:
        check(head)
    body = [row[:wide] for row in rows[1:] if any(cell.value is not None for cell in row)]
    _refuse_mixed(head, body, where)
    return head, [[_text(cell, where) for cell in row] for row in body], [row[0].row for row in body]


def _sheet(path: Path, sheet: str | None) -> Any:
    """The sheet that is meant: the one named, or the only one that holds something."""
    check_input(path)
    try:
        with zipfile.ZipFile(path) as held:
            if sum(entry.file_size for entry in held.infolist()) > MOST_BYTES:
                raise InputError(f"{path}: larger than {MOST_BYTES >> 20:,} MiB when unpacked; save the sheet as CSV")
        book = openpyxl().load_workbook(path)
    except InputError:
        raise
    except Exception as error:  # noqa: BLE001 (whatever openpyxl makes of a file that is none)
        raise InputError(
            f"{path}: not readable as an Excel file ({type(error).__name__}); save it as .xlsx or CSV"
        ) from None
    names = list(book.sheetnames)
    if sheet is not None:
        if sheet not in names:
            raise InputError(f"{path}: there is no sheet {brief(sheet)}; it has {', '.join(map(brief, names[:12]))}")
        return book[sheet]
    filled = [one for one in book.worksheets if any(cell.value is not None for row in one.iter_rows() for cell in row)]
    if not filled:
        raise InputError(f"{path}: no sheet holds anything; give a table")
    if len(filled) > 1:
        listed = ", ".join(brief(one.title) for one in filled[:12])
        raise InputError(f"{path}: several sheets hold something ({listed}); name one with sheet= (--sheet)")
    return filled[0]


def _text(cell: Any, where: str) -> str:
    """An entry as text: numbers as they are stored, codes with the zeros that their format shows."""
    value = cell.value
    if value is None:
        return ""
    if cell.data_type == "f":
        raise InputError(f"{where}: {cell.coordinate} holds a formula; replace the formulas by their values")
    if cell.data_type == "e":
        raise InputError(f"{where}: {cell.coordinate} holds the error {value}; correct it")
    if isinstance(value, bool | datetime.date | datetime.time | datetime.timedelta):
        what = "TRUE or FALSE" if isinstance(value, bool) else "a date or a time"
        raise InputError(f"{where}: {cell.coordinate} holds {what}; make it text or a number")
    if isinstance(value, int | float):
        whole = int(value) if float(value).is_integer() else value
        padded = _PADDED.fullmatch(cell.number_format or "") if isinstance(whole, int) else None
        return str(whole).zfill(len(padded[0])) if padded else str(whole)
    return str(value)


def _refuse_mixed(head: Sequence[str], rows: Sequence[Sequence[Any]], where: str) -> None:
    """Refuse a column of numbers and of texts that are none: a code may have lost its zeros."""
    for k, name in enumerate(head):
        kinds: dict[bool, str] = {}
        for row in rows:
            value = row[k].value
            if value is None or row[k].data_type not in "sn":
                continue
            kinds.setdefault(isinstance(value, str), row[k].coordinate)
        if len(kinds) == 2:
            raise InputError(
                f"{where}: the column {brief(name)} holds text ({kinds[True]}) and numbers ({kinds[False]}); make all of them text, or all numbers"
            )
