"""HTML: sections as one page that holds all it needs, reads without script, and loads nothing.

Whatever comes from the user is escaped where it is written; the data of long tables stand in blocks that no browser runs. The page's policy lets it
run the one script whose hash it names, so that even a code that got through could do nothing.
"""

from __future__ import annotations

import base64
import hashlib
import json
from collections.abc import Iterable, Sequence
from html import escape
from importlib.resources import files

from cellward.errors import printable
from cellward.report.numbers import entry
from cellward.report.section import (
    AT_RISK,
    CHANGED,
    RANGE,
    WITHHELD,
    Beside,
    Block,
    Cells,
    Drawing,
    Facts,
    Figures,
    Lines,
    Section,
    Verdict,
)

PAGE = 50
"""Cells on one page of a long table."""
CHIPS = (
    (AT_RISK, "R", "at risk"),
    (WITHHELD, "W", "withheld"),
    (RANGE, "I", "range"),
)
"""Marks that are shown beside a cell: letter and word; colour is never the only sign."""
FILTERS = ((AT_RISK, "at risk"), (CHANGED, "changed"), (WITHHELD, "withheld"), (RANGE, "ranges"))


def page(title: str, subtitle: str, sections: Sequence[Section], *, confidential: bool) -> str:
    """The whole file."""
    style, script = _own("style.css"), _own("browse.js")
    digest = base64.b64encode(hashlib.sha256(script.encode()).digest()).decode()
    policy = f"default-src 'none'; style-src 'unsafe-inline'; script-src 'sha256-{digest}'; base-uri 'none'; form-action 'none'"
    shown = [section for section in sections if section.blocks]
    numbered = {id(block): k for k, block in enumerate(b for s in shown for b in s.blocks if isinstance(b, Cells))}
    badge = "Internal edition · confidential" if confidential else "Public edition"
    body = [
        f'<header class="{"internal" if confidential else "public"}"><p class="badge">{badge}</p>',
        f"<h1>{_text(title)}</h1><p class=subtitle>{_text(subtitle)}</p></header>",
        "<div class=layout><nav aria-label=Contents><ol>",
        *(f'<li><a href="#{escape(s.name)}">{_text(s.title)}</a></li>' for s in shown),
        "</ol></nav><main>",
        *(_section(section, numbered) for section in shown),
        *([_SIGNATURE] if confidential else []),
        "</main></div>",
    ]
    return (
        "<!DOCTYPE html>\n<html lang=en><head><meta charset=utf-8>"
        f'<meta http-equiv="Content-Security-Policy" content="{escape(policy)}">'
        '<meta name=viewport content="width=device-width, initial-scale=1"><meta name=color-scheme content="light dark">'
        f"<meta name=referrer content=no-referrer><title>{_text(title)}</title>\n<style>{style}</style></head>\n<body>"
        + "\n".join(body)
        + f"\n<script>{script}</script></body></html>\n"
    )


_SIGNATURE = (
    "<section class=signature aria-label=Signature>"
    "<div><span>Approved for publication by</span></div><div><span>Date and signature</span></div></section>"
)


def _own(name: str) -> str:
    """A part of the page that is the same in every report."""
    return files("cellward.report").joinpath("page", name).read_text(encoding="utf-8")


def _text(text: str) -> str:
    """A text that means nothing to HTML, and holds no character that could not be seen."""
    return escape(printable(text))


def _section(section: Section, numbered: dict[int, int]) -> str:
    blocks = "\n".join(_block(block, numbered.get(id(block), 0)) for block in section.blocks)
    return f'<section id="{escape(section.name)}"><h2>{_text(section.title)}</h2>\n{blocks}</section>'


def _block(block: Block, number: int) -> str:
    match block:
        case Lines():
            return "".join(_line(line) for line in block.lines)
        case Figures():
            return _figures(block)
        case Beside():
            return f"<div class=beside>{_figures(block.left)}{_figures(block.right)}</div>{_legend([CHIPS[0]])}"
        case Facts():
            cards = "".join(
                f"<div class=fact><dt>{_text(f.name)}</dt><dd class=value>{_text(f.value)}</dd><dd>{_text(f.sentence)}</dd></div>"
                for f in block.facts
            )
            return f"<dl class=facts>{cards}</dl>"
        case Verdict():
            sign, word = ("✓", "good") if block.good else ("!", "bad")
            return f'<p class="verdict {word}"><span class=sign aria-hidden=true>{sign}</span><span>{_text(block.sentence)}</span></p>'
        case Drawing():
            said = f"<figcaption>{_text(block.caption)}</figcaption>"
            return f"<figure><h3>{_text(block.title)}</h3><div class=drawing>{block.svg}</div>{said}</figure>"
        case Cells():
            return _cells(block, number)


def _line(line: str) -> str:
    """A sentence; what is to be typed stands by itself."""
    return f"<pre><code>{_text(line)}</code></pre>" if line.startswith("cellward ") else f"<p>{_text(line)}</p>"


def _figures(figures: Figures) -> str:
    heads = "".join(
        f"<th scope=col{'' if k < figures.names else ' class=n'}>{_text(column.strip())}</th>"
        for k, column in enumerate(figures.columns)
    )
    rows = []
    for j, row in enumerate(figures.rows):
        padded = [*row, *("" for _ in range(len(figures.columns) - len(row)))]
        rows.append(
            "".join(_entry(text.strip(), k, figures, marked=(j, k) in figures.marked) for k, text in enumerate(padded))
        )
    body = "".join(f"<tr>{row}</tr>" for row in rows)
    caption = f"<caption>{_text(figures.title)}</caption>" if figures.title else ""
    note = f"<p class=note>{_text(figures.note)}</p>" if figures.note else ""
    return f"<div class=scroll><table>{caption}<thead><tr>{heads}</tr></thead><tbody>{body}</tbody></table></div>{note}"


def _entry(text: str, k: int, figures: Figures, *, marked: bool) -> str:
    if k == 0:
        return f"<th scope=row>{_text(text)}</th>"
    if k < figures.names:
        return f"<td>{_text(text)}</td>"
    if marked:
        return f"<td class='n risk'>{_text(text.removesuffix('*'))} {_chip('R', 'at risk')}</td>"
    return f"<td class=n>{_text(text)}</td>"


def _chip(letter: str, word: str) -> str:
    return f'<abbr class="chip {letter}" title="{word}">{letter}</abbr>'


def _legend(chips: Iterable[tuple[int, str, str]]) -> str:
    return f"<p class=legend>{' '.join(f'<span>{_chip(letter, word)} {word}</span>' for _, letter, word in chips)}</p>"


# ---- long tables -----------------------------------------------------------------------------------------------------------------------------


def _cells(cells: Cells, number: int) -> str:
    """The first page as plain HTML, everything as data for the script that leafs through it."""
    name = f"cells{number}"
    heads = "".join(f"<th scope=col>{_text(dim)}</th>" for dim in cells.dims)
    heads += "".join(f"<th scope=col class=n>{_text(column.name)}</th>" for column in cells.columns)
    level = "<th scope=col class='n soft'>level</th>" if cells.level.any() else ""
    rows = "".join(_row(cells, k) for k in range(min(len(cells), PAGE)))
    here = _used(cells)
    many = len(cells) > PAGE
    missing = "" if not many else (
        f"<noscript><p class=note>The first {PAGE} of {len(cells):,} cells; the others are shown where the page may run its script, and are in files "
        f"beside it.</p></noscript><p class='note printed'>On paper: {PAGE} of {len(cells):,} cells, those shown when it was printed.</p>"
    )  # fmt: skip
    tools = _tools(cells) if many else ""
    data = f'<script type="application/json" id="{name}-data">{_data(cells)}</script>' if many else ""
    return (
        f'<div class=cells id="{name}"><h3>{_text(cells.title)}</h3><p class=note>{_text(cells.note)}</p>{tools}'
        f"<div class=scroll><table><thead><tr>{heads}{level}<th scope=col class=marks><span class=unseen>marks</span></th></tr></thead>"
        f"<tbody>{rows}</tbody></table></div>{missing}{_legend(here) if here else ''}{data}</div>"
    )


def _used(cells: Cells) -> list[tuple[int, str, str]]:
    """The marks that some cell has: of others not even the word is in the page."""
    return [chip for chip in CHIPS if (cells.marks & chip[0]).any()]


def _tools(cells: Cells) -> str:
    """Search, filter and paging; hidden where there is no script."""
    options = "".join(
        f'<option value="{bit}">{word}</option>'
        for bit, word in FILTERS
        if 0 < int((cells.marks & bit > 0).sum()) < len(cells)
    )
    chosen = (
        f"<label>Show <select class=filter><option value=0>all cells</option>{options}</select></label>"
        if options
        else ""
    )
    return (
        '<div class=tools hidden><label>Search <input type=search class=query placeholder="one code, or several" autocomplete=off></label>'
        f"{chosen}"
        f'<span class=pages><button type=button class=back aria-label="Previous page">‹</button><span class=where role=status>1 – {PAGE}</span>'
        '<button type=button class=on aria-label="Next page">›</button></span></div>'
    )


def _row(cells: Cells, k: int) -> str:
    names = "".join(f"<td>{_text(code)}</td>" for code in cells.name(k))
    numbers = "".join(f"<td class=n>{_number(cells, j, k)}</td>" for j in range(len(cells.columns)))
    marks = "".join(_chip(letter, word) for bit, letter, word in CHIPS if cells.marks[k] & bit)
    most = int(cells.level.max(initial=0))
    level = f"<td class='n soft'>{cells.level[k]}</td>" if most else ""
    return f"<tr{' class=sum' if most and cells.level[k] == most else ''}>{names}{numbers}{level}<td class=marks>{marks}</td></tr>"


def _number(cells: Cells, j: int, k: int) -> str:
    column = cells.columns[j]
    gone = column.absent is not None and bool(column.absent[k])
    return ("×" if cells.marks[k] & WITHHELD else "") if gone else entry(column, k)


def _data(cells: Cells) -> str:
    """Columns as JSON that no HTML parser takes for the end of its block, or anything else."""
    columns = [
        {
            "decimals": c.decimals,
            "signed": c.signed,
            "values": c.scaled.tolist() if c.absent is None else [
                None if gone else x for x, gone in zip(c.scaled.tolist(), c.absent.tolist(), strict=True)
            ],
        }
        for c in cells.columns
    ]  # fmt: skip
    held = {
        "page": PAGE,
        "codes": [[printable(code) for code in codes] for codes in cells.codes],
        "index": [index.tolist() for index in cells.index],
        "columns": columns,
        "level": cells.level.tolist() if cells.level.any() else None,
        "marks": "".join(map(str, cells.marks.tolist()))
        if int(cells.marks.max(initial=0)) < 10
        else cells.marks.tolist(),
        "chips": _used(cells),
        "withheld": WITHHELD,
    }
    text = json.dumps(held, separators=(",", ":"), ensure_ascii=True)
    return text.replace("<", "\\u003c").replace(">", "\\u003e").replace("&", "\\u0026")
