"""PX (PC-Axis): a printed table as a cube; ``..`` stands for withheld values, ``.`` for combinations that are no cell.

Ranges have a dimension of value, lower and upper.
"""

from __future__ import annotations

from collections.abc import Iterable

from cellward.errors import InputError, brief
from cellward.formats.json_stat import observations
from cellward.formats.printed_table import MARK, PrintedTable, flat_places

MOST_PLACES = 20_000_000
_SYMBOL = {MARK: '".."', "r": '"..."', "o": '"...."'}
_SAYS = ("not in the table", "withheld", "a range: see lower and upper", "no end to that side")
_LINE = 200
"""Texts are cut into pieces of this length; lines of a PX file have at most 256 characters."""


def px(table: PrintedTable) -> bytes:
    """The file; numbers as they are printed."""
    axes, numbers, status = observations(table)
    place, size = flat_places(axes)
    if size > MOST_PLACES:
        raise InputError(
            f"a PX file holds every combination of codes, and there are {size:,} of {table.cells:,} cells; choose another format, such as JSON-stat"
        )
    title = table.title or f"Protected table by {', '.join(axis.name for axis in axes)}"
    *stub, heading = axes
    lines = [
        'CHARSET="ANSI";', 'AXIS-VERSION="2013";', 'CODEPAGE="utf-8";', 'LANGUAGE="en";', "DECIMALS=" + f"{table.decimals};",
        f"SHOWDECIMALS={min(table.decimals, 6)};", 'MATRIX="RELEASE";', 'SUBJECT-CODE="P";', 'SUBJECT-AREA="Protected tables";',
        f"CONTENTS={_text(title)};", f"TITLE={_text(title)};", 'UNITS="as in the title";',
        *([f"STUB={_listed(axis.name for axis in stub)};"] if stub else []),
        f"HEADING={_listed([heading.name])};",
        *(f"VALUES({_text(axis.name)})={_listed(map(axis.called, axis.codes))};" for axis in axes),
        *(f"CODES({_text(axis.name)})={_listed(axis.codes)};" for axis in axes),
        *([f"NOTE={_text(' '.join(table.footnotes))};"] if table.footnotes else []),
        *(f"DATASYMBOL{k}={_text(said)};" for k, said in enumerate(_SAYS, start=1)),
        *([f"SOURCE={_text(about)};"] if (about := "; ".join(f"{k}: {v}" for k, v in table.about.items())) else []),
        "DATA=",
    ]  # fmt: skip
    found = {k: number or _SYMBOL[one] for k, number, one in zip(place, numbers, status, strict=True)}
    return "\n".join([*lines, *_rows(found, size, len(heading.codes)), ";", ""]).encode()


def _rows(found: dict[int, str], size: int, across: int) -> Iterable[str]:
    for start in range(0, size, across):
        yield " ".join(found.get(k, '"."') for k in range(start, start + across))


def _text(text: str) -> str:
    """A quoted text, in pieces where it is long."""
    if '"' in text:
        raise InputError(
            f"{brief(text)} holds a quotation mark, for which PX files have no place; take it out, or choose another format"
        )
    pieces = [text[k : k + _LINE] for k in range(0, len(text), _LINE)] or [""]
    return "\n".join(f'"{piece}"' for piece in pieces)


def _listed(texts: Iterable[str]) -> str:
    return ",\n".join(map(_text, texts))
