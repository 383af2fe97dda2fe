"""Markdown: sections as a plain text file that version control and wikis show well."""

from __future__ import annotations

from collections.abc import Iterable

from cellward.errors import printable
from cellward.report.first_cells import first_cells
from cellward.report.section import Beside, Block, Cells, Drawing, Facts, Figures, Lines, Section, Verdict

MOST_ROWS = 100
_SPECIAL = str.maketrans({c: f"\\{c}" for c in "\\`*_[]|#~$"} | {"<": "&lt;", ">": "&gt;", "&": "&amp;"})


def render(title: str, subtitle: str, sections: Iterable[Section]) -> str:
    """The whole file."""
    parts = [f"# {_text(title)}", _text(subtitle)]
    for section in sections:
        parts.append(f"## {_text(section.title)}")
        parts += [_block(block) for block in section.blocks]
    return "\n\n".join(part for part in parts if part) + "\n"


def _text(text: str) -> str:
    """A text that means nothing to Markdown or HTML."""
    return printable(text).translate(_SPECIAL)


def _block(block: Block) -> str:
    match block:
        case Lines():
            return "\n\n".join(_text(line) for line in block.lines)
        case Figures():
            return _figures(block)
        case Beside():
            return f"{_figures(block.left)}\n\n{_figures(block.right)}"
        case Facts():
            return "\n".join(f"- **{_text(f.name)}: {_text(f.value)}.** {_text(f.sentence)}" for f in block.facts)
        case Verdict():
            return f"> **{_text(block.sentence)}**"
        case Drawing():
            return f"*{_text(block.title)}: the page (.html) has this picture.*"
        case Cells():
            return _figures(first_cells(block, MOST_ROWS))


def _figures(figures: Figures) -> str:
    heads = [_text(column.strip()) or " " for column in figures.columns]
    lines = [f"**{_text(figures.title)}**", ""] if figures.title else []
    lines.append(f"| {' | '.join(heads)} |")
    lines.append("|" + "".join(" --- |" if k < figures.names else " ---: |" for k in range(len(heads))))
    for j, row in enumerate(figures.rows):
        padded = [*row, *("" for _ in range(len(heads) - len(row)))]
        shown = [
            f"**{_text(text.strip())}**" if (j, k) in figures.marked and text.strip() else _text(text.strip())
            for k, text in enumerate(padded)
        ]
        lines.append(f"| {' | '.join(shown)} |")
    return "\n".join(lines) + (f"\n\n{_text(figures.note)}" if figures.note else "")
