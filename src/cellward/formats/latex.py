"""LaTeX: a printed table for a paper (packages booktabs, and longtable where it is long), with its title as caption and its remarks below."""

from __future__ import annotations

from cellward.formats.layout import Layout, laid_out
from cellward.formats.printed_table import PrintedTable

_LONG = 40
"""More rows than this go over several pages."""
_SPECIAL = {
    "\\": r"\textbackslash{}", "{": r"\{", "}": r"\}", "#": r"\#", "$": r"\$", "%": r"\%", "&": r"\&", "_": r"\_", "^": r"\textasciicircum{}",
    "~": r"\textasciitilde{}", "<": r"\textless{}", ">": r"\textgreater{}", "≥": r"$\ge$", "≤": r"$\le$", "–": "--", "|": r"\textbar{}",
}  # fmt: skip


def latex(table: PrintedTable) -> bytes:
    """The table by itself, to be \\input into a document."""
    grid = laid_out(table)
    body = [_row(row) for row in grid.rows]
    long = len(body) > _LONG
    lines = _long(table, grid, body) if long else _short(table, grid, body)
    packages = "booktabs and longtable" if long else "booktabs"
    return "\n".join([f"% needs the package{'s' * long} {packages}", *lines, ""]).encode()


def _short(table: PrintedTable, grid: Layout, body: list[str]) -> list[str]:
    return [
        r"\begin{table}",
        r"\centering",
        *([rf"\caption{{{escaped(table.title)}}}"] if table.title else []),
        rf"\begin{{tabular}}{{{_kinds(grid)}}}",
        r"\toprule",
        _row(grid.heads),
        r"\midrule",
        *body,
        r"\bottomrule",
        r"\end{tabular}",
        *(rf"\par\smallskip{{\footnotesize {escaped(remark)}}}" for remark in table.remarks),
        r"\end{table}",
    ]


def _long(table: PrintedTable, grid: Layout, body: list[str]) -> list[str]:
    return [
        rf"\begin{{longtable}}{{{_kinds(grid)}}}",
        *([rf"\caption{{{escaped(table.title)}}}\\"] if table.title else []),
        r"\toprule",
        _row(grid.heads),
        r"\midrule",
        r"\endhead",
        *body,
        r"\bottomrule",
        r"\end{longtable}",
        *(rf"{{\footnotesize {escaped(remark)}}}\par" for remark in table.remarks),
    ]


def _kinds(grid: Layout) -> str:
    return "l" * grid.names + "r" * (len(grid.heads) - grid.names)


def _row(texts: tuple[str, ...]) -> str:
    return " & ".join(map(_cell, texts)) + r" \\"


def _cell(text: str) -> str:
    """An entry; a bracket at its beginning would be taken for an option of the row before, a minus for a hyphen."""
    shown = escaped(text)
    if shown.startswith("["):
        return f"{{{shown}}}"
    return f"${shown}$" if shown.startswith("-") and shown[1:].replace(".", "", 1).isdigit() else shown


def escaped(text: str) -> str:
    r"""A text in which nothing is taken for a command.

    >>> print(escaped("50 % & more_"))
    50 \% \& more\_
    """
    return "".join(_SPECIAL.get(c, c) for c in text)
