"""Which reader and writer a file name asks for."""

from __future__ import annotations

import os
from dataclasses import fields
from pathlib import Path
from typing import Any

from cellward.errors import InputError, kind_of
from cellward.files.text import check_input, unpacked_suffix
from cellward.files.whole import check_folder
from cellward.formats.csv_file import read_csv, write_csv
from cellward.formats.excel import read_excel
from cellward.formats.jj import read_jj, write_jj
from cellward.formats.parquet import read_parquet, write_parquet
from cellward.table.frame import LongSpec, refuse_former
from cellward.table.table import Table
from cellward.tauargus.files.intermediate import write_tab
from cellward.tauargus.files.tab import TabSpec, read_tab

_LONG = {
    ".xlsx": "excel",
    ".csv": "csv",
    ".tsv": "csv",
    ".txt": "csv",
    ".tab": "csv",
    ".parquet": "parquet",
    ".pq": "parquet",
}


ADDITIVE = ("additive", "keep_values", "additive_weights")
"""How a table that does not add up is made to, in every format."""


def read(path: str | Path, **options: Any) -> Table:
    """Read a table by its file's extension: ``.jj``, a τ-ARGUS ``.tab`` with its ``.rda`` beside it, or a long table in ``.csv``, ``.tsv`` or
    ``.parquet`` with the options of :meth:`Table.from_frame`.

    JJ files take ``decimals`` only; ``.tab`` files without ``dims`` take ``decimals``, ``totals`` (``"given"``, ``"compute"``) and ``value``; every
    file takes ``additive``, ``keep_values`` and ``additive_weights``, by which a table that does not add up becomes the nearest that does;
    long tables need at least ``dims`` and ``value``; CSV (also ``.txt`` and ``.tab``) takes ``separator``, ``decimal`` (``","`` for
    decimal commas) and, where there is no header, ``names`` of the columns; text files may be compressed (``.csv.gz``). An Excel file (``.xlsx``)
    takes ``sheet``, where several hold something.
    """
    path = check_input(path, "a table's file")
    kind = unpacked_suffix(path)
    if kind == ".jj":
        extra = sorted(set(options) - {"decimals", *ADDITIVE})
        if extra:
            raise InputError(f"{path}: a JJ file says itself what its columns are; leave out {', '.join(extra)}")
        return read_jj(path, **options)
    if kind == ".tab" and not options.get("dims"):
        return _read_tab(path, **options)
    if kind not in _LONG:
        raise InputError(
            f"{path}: the extension {kind or '(none)'!r} is not known; use .jj, .tab, .csv, .tsv, .xlsx or .parquet"
        )
    if not options.get("dims") or not options.get("value"):
        raise InputError(
            f"{path}: name the dimension columns and the value column with dims= and value= (--dims A,B --value V)"
        )
    text = {name: options.pop(name) for name in ("separator", "names", "decimal") if name in options}
    sheet = {name: options.pop(name) for name in ("sheet",) if name in options}
    refuse_former(options)
    if unknown := sorted(set(options) - {field.name for field in fields(LongSpec)}):
        raise InputError(f"{path}: the option {unknown[0]!r} is not known; use those of Table.from_frame")
    if _LONG[kind] != "csv" and text:
        raise InputError(f"{path}: {', '.join(text)} {'is' if len(text) == 1 else 'are'} for text files; leave it out")
    if _LONG[kind] != "excel" and sheet:
        raise InputError(f"{path}: only an Excel file has sheets; leave sheet out")
    spec = LongSpec(**options)
    if _LONG[kind] == "csv":
        return read_csv(path, spec, **text)
    return read_excel(path, spec, **sheet) if _LONG[kind] == "excel" else read_parquet(path, spec)


def _read_tab(path: Path, **options: Any) -> Table:
    """A τ-ARGUS table; its metadata say what the columns are."""
    if extra := sorted(set(options) - {"decimals", "totals", "value", *ADDITIVE}):
        raise InputError(
            f"{path}: its .rda says what its columns are; leave out {', '.join(extra)}, or name the columns with dims= and value="
        )
    totals = options.get("totals", "given")
    if totals not in ("auto", "given", "compute"):
        raise InputError(f"totals={totals!r} is not known; use 'given' or 'compute'")
    spec = TabSpec(
        totals="compute" if totals == "compute" else "given",
        response=options.get("value"),
        decimals=options.get("decimals"),
        **{name: options[name] for name in ADDITIVE if name in options},
    )
    return read_tab(path, None, spec)


_WRITERS = {".jj": write_jj, ".tab": write_tab, ".csv": write_csv, ".parquet": write_parquet}


def write(table: Table, path: str | Path) -> Path:
    """Write a confidential table by its file's extension: ``.jj``, ``.tab`` (with ``.rda`` and ``.hrc`` files), ``.csv`` or ``.parquet``."""
    if not isinstance(table, Table):
        raise InputError(
            f"{kind_of(table)} is no Table, and cannot be written; make one of it first, such as with Table.from_frame"
        )
    target = check_target(path)
    return _WRITERS[target.suffix.lower()](table, target)


def check_target(path: str | Path) -> Path:
    """Refuse a file that no table could be written to, before the work is done."""
    if not isinstance(path, str | os.PathLike):
        raise InputError(f"{kind_of(path)} is no path of a file; give text or a Path")
    path = Path(path)
    kind = path.suffix.lower()
    if kind not in _WRITERS:
        raise InputError(f"{path}: the extension {kind or '(none)'!r} is not known; use .jj, .tab, .csv or .parquet")
    check_folder(path)
    return path
