"""Markdown: a printed table for a page or a paper, with its title above and its remarks below."""

from __future__ import annotations

import re

from cellward.formats.layout import laid_out
from cellward.formats.printed_table import PrintedTable

_SPECIAL = re.compile(r"([\\`*_\[\]<>|#&~^$])")


def markdown(table: PrintedTable) -> bytes:
    """The table as a grid of bars."""
    grid = laid_out(table)
    marks = ["---" if k < grid.names else "---:" for k in range(len(grid.heads))]
    lines = [f"**{escaped(table.title)}**", ""] if table.title else []
    lines += [_row([escaped(head) for head in grid.heads]), _row(marks)]
    lines += [_row([escaped(text) for text in row]) for row in grid.rows]
    for remark in table.remarks:
        lines += ["", escaped(remark)]
    return ("\n".join(lines) + "\n").encode()


def _row(texts: list[str]) -> str:
    return f"| {' | '.join(texts)} |"


def escaped(text: str) -> str:
    r"""A text in which nothing is taken for markup.

    >>> print(escaped("a|b *c*"))
    a\|b \*c\*
    """
    return _SPECIAL.sub(r"\\\1", text)
