"""Pattern file: which cells another tool withholds, by the statuses or crosses in its file: τ-ARGUS, rtauargus, sdcTable, GaussSuppression, SDMX."""

from __future__ import annotations

from collections.abc import Mapping
from pathlib import Path

import numpy as np

from cellward.errors import InputError, brief
from cellward.exact import Bools
from cellward.formats.csv_file import read_rows
from cellward.table.sensitivity import CellStatus
from cellward.table.table import Table
from cellward.tauargus.files.tab import TabSpec, read_tab

CROSSES = {"", "x", "×", ".", ":", "c", "s", "na", "nan"}
"""What stands for a value that is withheld."""
_NUMBERS = {**{str(k): 3 <= k <= 9 or k in (11, 12) for k in range(1, 15)}}
_LETTERS = {**dict.fromkeys("umabcdfx", True), **dict.fromkeys("spevzw", False)}
"""τ-ARGUS' letters (S U P M E), those of rtauargus and of business statistics (A B C D F, V), sdcTable's (s u x z w) and ours (s u m z)."""
_WORDS = {
    "withheld": True,
    "published": False,
    "primary": True,
    "secondary": True,
    "safe": False,
    "frozen": False,
    "empty": False,
}
_FLAGS = {**dict.fromkeys(("true", "t", "1", "yes"), True), **dict.fromkeys(("false", "f", "0", "no", "na", ""), False)}
_SDMX = {**dict.fromkeys("ncdsaotgme", True), "f": False, "": False}
COLUMNS: dict[str, Mapping[str, bool]] = {
    "suppressed": _FLAGS,
    "sdcstatus": _LETTERS,
    "conf_status": _SDMX,
    "status": {**_NUMBERS, **_LETTERS, **_WORDS},
}
"""The columns that are known by their names, in any case, and which entries mean that a cell is withheld."""


def read_pattern(file: Path, table: Table, column: str | None = None) -> Bools | None:
    """The cells of this table that are withheld in a file; None where it has no statuses and no crosses. ``column``: that of the statuses."""
    if file.suffix.lower() == ".tab":
        return _of_tab(file, table)
    names, rows, at = read_rows(file)
    found = [name for name in names if name.casefold() in COLUMNS and name not in table.labels.dims]
    if column is not None and column not in names:
        raise InputError(f"{file}: no column {column!r} (--pattern); it has {', '.join(names)}")
    found.sort(key=lambda name: list(COLUMNS).index(name.casefold()))
    chosen = column if column is not None else found[0] if found else names[-1]
    known = COLUMNS.get(chosen.casefold(), COLUMNS["status"]) if column is not None or found else None
    k = names.index(chosen)
    if known is None and not any(row[k].strip().casefold() in CROSSES for row in rows):
        return None
    place = table.labels.dims or ("cell",)
    if missing := [dim for dim in place if dim not in names]:
        raise InputError(
            f"{file}: no column {missing[0]!r}; the file needs {', '.join(place)} to say which cell is which"
        )
    where = [names.index(dim) for dim in place]
    hidden, seen = np.zeros(table.cells, bool), np.zeros(table.cells, bool)
    for row, line in zip(rows, at, strict=True):
        entry = row[k].strip()
        if known is not None and entry.casefold() not in known:
            raise InputError(
                f"{file} line {line}: the status {brief(entry)} in {chosen} is not known; use those of one tool"
            )
        try:
            i = _cell(table, tuple(row[w] for w in where))
        except InputError as error:
            raise InputError(f"{file} line {line}: {error}") from None
        if seen[i]:
            raise InputError(f"{file} line {line}: {table.labels.name(i)} occurs twice; keep one row a cell")
        hidden[i], seen[i] = (entry.casefold() in CROSSES if known is None else known[entry.casefold()]), True
    return _whole(file, table, hidden, seen)


def _of_tab(file: Path, table: Table) -> Bools:
    """U and M of a τ-ARGUS table, whose metadata stand beside it."""
    other = read_tab(file, None, TabSpec(totals="given", response=None, decimals=None))
    hidden, seen = np.zeros(table.cells, bool), np.zeros(table.cells, bool)
    for k, status in enumerate(other.sensitivity.status.tolist()):
        try:
            i = _cell(table, other.labels.tuple_of(k))
        except InputError as error:
            raise InputError(f"{file}: {error}") from None
        hidden[i], seen[i] = status in (CellStatus.UNSAFE, CellStatus.SECONDARY), True
    return _whole(file, table, hidden, seen)


def _cell(table: Table, codes: tuple[str, ...]) -> int:
    if table.labels.dims:
        return table.labels.find(codes)
    return table.labels.find(int(codes[0]) if codes[0].isdecimal() else codes[0])


def _whole(file: Path, table: Table, hidden: Bools, seen: Bools) -> Bools:
    if not seen.all():
        name = table.labels.name(int(np.argmin(seen)))
        raise InputError(f"{file}: no row for {name}; a pattern says of every cell of its table whether it is withheld")
    return hidden
