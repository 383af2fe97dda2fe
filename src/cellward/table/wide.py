"""Wide tables: one dimension across the columns, made long; a combination with nothing in it is no cell."""

from __future__ import annotations

from collections.abc import Callable, Sequence
from typing import Any

from cellward.errors import InputError
from cellward.table.assemble import is_blank
from cellward.table.coded import Place


def made_long(
    names: Sequence[str], column: Callable[[str], Any], fixed: Sequence[str], across: str, value: str, place: Place
) -> tuple[dict[str, list[Any]], Place]:
    """The columns of the long table, and where its rows stand in the wide one; ``fixed``: the columns that are no codes of ``across``."""
    codes = [name for name in names if name not in fixed]
    if not codes:
        raise InputError(
            f"across={across!r}: there is no column besides {', '.join(fixed)} that could be one of its codes"
        )
    if across in names:
        raise InputError(
            f"across={across!r}: there is a column of this name, so the table is long already; leave across out"
        )
    entries = [list(column(code)) for code in codes]
    kept = [(row, k) for row in range(len(entries[0])) for k in range(len(codes)) if not is_blank(entries[k][row])]
    out: dict[str, list[Any]] = {}
    for name in fixed:
        own = column(name)
        out[name] = [own[row] for row, _ in kept]
    out[across] = [codes[k] for _, k in kept]
    out[value] = [entries[k][row] for row, k in kept]

    def stands(row: int, name: str) -> str:
        at, k = kept[row]
        return place(at, codes[k] if name in (across, value) else name)

    return out, stands
