"""Notebook: results as a notebook shows them; small HTML, every text escaped, what is confidential marked as such."""

from __future__ import annotations

from collections.abc import Collection, Mapping, Sequence
from html import escape

MOST_ROWS = 12
"""So many cells are shown."""
_COLOURS = {"confidential": "#b3261e", "public": "#1b6e3c"}


def card(
    heading: str,
    *,
    confidential: bool,
    lines: Sequence[str] = (),
    columns: Mapping[str, Sequence[object]] | None = None,
    marked: Collection[int] = (),
    cells: int = 0,
) -> str:
    """A heading with its seal, some sentences, and some rows; those that are ``marked`` are at risk, ``cells``: how many rows there are in all.

    >>> print(card("Release(1 cell)", confidential=False, columns={"a<b": ["x & y"]}, cells=1).count("&lt;"))
    1
    """
    seal = "confidential" if confidential else "public"
    out = [
        '<div style="font-family:sans-serif;font-size:13px">',
        f"<div><b>{escape(heading)}</b> "
        f'<span style="border:1px solid {_COLOURS[seal]};color:{_COLOURS[seal]};border-radius:3px;padding:0 4px">{seal}</span></div>',
        *(f"<div>{escape(line)}</div>" for line in lines),
    ]
    if columns:
        out += _grid(columns, marked)
    shown = len(next(iter(columns.values()))) if columns else 0
    if shown < cells:
        out.append(f"<div>… and {cells - shown:,} more</div>")
    return "\n".join([*out, "</div>"])


def _grid(columns: Mapping[str, Sequence[object]], marked: Collection[int]) -> list[str]:
    left = 'style="text-align:left"'
    head = "".join(f"<th {left}>{escape(name)}</th>" for name in columns)
    rows = []
    for k, row in enumerate(zip(*columns.values(), strict=True)):
        texts = "".join(f"<td {left}>{escape(_text(entry))}</td>" for entry in row)
        rows.append(f'<tr style="font-weight:bold">{texts}</tr>' if k in marked else f"<tr>{texts}</tr>")
    return [f"<table><thead><tr>{head}</tr></thead><tbody>", *rows, "</tbody></table>"]


def _text(entry: object) -> str:
    if isinstance(entry, float):
        return f"{entry:,.12g}"
    return f"{entry:,}" if isinstance(entry, int) and not isinstance(entry, bool) else str(entry)
