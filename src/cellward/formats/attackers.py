"""Attackers from a file: a CSV with one row for each cell that an attacker knows more of than the public."""

from __future__ import annotations

from pathlib import Path

from cellward.errors import InputError
from cellward.formats.csv_file import read_rows
from cellward.risk.attacker import Amounts, Attacker, Cell
from cellward.table.table import Table

COLUMNS = ("attacker", "lower", "upper")


def read_attackers(path: str | Path, table: Table, *, whole: bool = False) -> list[Attacker]:
    """The attackers of a file beside the external one, which always comes first.

    Columns: ``attacker``, the table's dimensions (or ``cell``, its number), ``lower`` and ``upper`` (empty: no bound; equal: it knows the value).
    """
    path = Path(path)
    header, rows, at = read_rows(path)
    names = [name.strip() for name in header]
    if twice := [name for name in names if names.count(name) > 1]:
        raise InputError(f"{path}: two columns are called {twice[0]!r}; keep one")
    place = table.labels.dims or ("cell",)
    if missing := [name for name in (*COLUMNS, *place) if name not in names]:
        raise InputError(
            f"{path}: no column {missing[0]!r} in the header; it needs {', '.join((*COLUMNS[:1], *place, *COLUMNS[1:]))}"
        )
    where = {name: names.index(name) for name in (*COLUMNS, *place)}
    bounds: dict[str, tuple[dict[Cell, str], dict[Cell, str]]] = {}
    seen: set[tuple[str, int]] = set()
    for row, line in zip(rows, at, strict=True):
        name = row[where["attacker"]].strip()
        if not name:
            raise InputError(f"{path} line {line}: the attacker has no name; give one")
        cell = _cell(table, tuple(row[where[dim]].strip() for dim in place), f"{path} line {line}")
        if (name, cell) in seen:
            raise InputError(
                f"{path} line {line}: {table.labels.name(cell)} occurs twice for {name}; give both bounds in one row"
            )
        seen.add((name, cell))
        own = bounds.setdefault(name, ({}, {}))
        for side, column in enumerate(COLUMNS[1:]):
            if text := row[where[column]].strip():
                own[side][cell] = text
    out = [Attacker.external(whole=whole)]
    for name, (lower, upper) in bounds.items():
        try:
            out.append(Attacker.knowing(table, name, lower=_amounts(lower), upper=_amounts(upper), whole=whole))
        except InputError as error:
            raise InputError(f"{path}: {error}") from None
    return out


def _amounts(bounds: dict[Cell, str]) -> Amounts:
    return bounds


def _cell(table: Table, codes: tuple[str, ...], where: str) -> int:
    try:
        if table.labels.dims:
            return table.labels.find(codes)
        if not codes[0].strip().isdecimal():
            raise InputError(f"{codes[0]!r} is no number of a cell; give one from 0 to {table.cells - 1}")
        return table.labels.find(int(codes[0]))
    except InputError as error:
        raise InputError(f"{where}: {error}") from None
