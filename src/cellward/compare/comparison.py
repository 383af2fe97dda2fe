"""Comparison: several methods and rivals on one table, a row each, and what is recommended. Confidential: it says how far values moved."""

from __future__ import annotations

import csv
import io
from dataclasses import dataclass
from html import escape
from pathlib import Path
from typing import TYPE_CHECKING, Any

from cellward.advise.advice import percent
from cellward.compare.row import Row
from cellward.errors import InputError
from cellward.files.folder import replacing
from cellward.files.whole import write_whole
from cellward.protect.method import Method

if TYPE_CHECKING:
    from matplotlib.figure import Figure

RISK = ("", "method", "disclosed", "exact", "open", "least", "misses")
LOSS = ("", "lost", "leaves", "sums", "bias", "holes", "rank", "V", "χ²", "slope", "s")
LEGEND = (
    "disclosed: cells at risk of which a level is unmet; exact: values known exactly; open: not decided in the time; least: the narrowest interval "
    "against its level, at most 1 (–: only distances are promised); misses: sums that no longer add up.",
    "In %, lost: changes as a share of all values, of the leaves (cells that are no sum), of the sums; bias: of the leaves; holes: cells without a "
    "value; χ², slope: the largest change of χ² in two-way slices, and that of a regression on margins. rank: rank correlation; V: the largest "
    "change of Cramér's V; s: seconds.",
)
"""What the columns say."""
TABLE, PICTURE, TEXT = "comparison.csv", "map.svg", "recommendation.md"
FILES = (TABLE, PICTURE, TEXT)


@dataclass(frozen=True, kw_only=True)
class Comparison:
    """What :func:`cellward.compare` found.

    ``rows``: a row a method, ours first; ``recommended``: that of the method to use, None where nothing is safe; ``method``: it, ready:
    ``found.method.protect(table)`` draws with a key of its own. ``recommendation``: all of it in words.
    """

    rows: tuple[Row, ...]
    recommended: Row | None
    recommendation: str
    cells: int
    at_risk: int
    attackers: int
    seed: int
    seconds: float

    @property
    def method(self) -> Method | None:
        """The method to use."""
        entry = None if self.recommended is None else self.recommended.entry
        return entry if isinstance(entry, Method) else None

    def to_dict(self) -> dict[str, Any]:
        """By name, for ``--json``."""
        return {
            "recommended": None if self.recommended is None else self.recommended.mark,
            "recommendation": self.recommendation,
            "cells": self.cells,
            "at_risk": self.at_risk,
            "attackers": self.attackers,
            "seed": self.seed,
            "seconds": round(self.seconds, 3),
            "rows": [row.to_dict() for row in self.rows],
        }

    def to_pandas(self) -> Any:
        """A pandas frame, a row a method."""
        try:
            frame = __import__("pandas").DataFrame
        except ImportError:
            raise InputError("pandas is not installed; install it, or use .rows") from None
        return frame([row.flat() for row in self.rows])

    def plot(self) -> Figure:
        """The map of risk and utility, a matplotlib figure."""
        from cellward.compare.chart import draw

        return draw(self)

    def to_svg(self) -> str:
        """The map as SVG, with text as text."""
        from cellward.compare.chart import svg

        return svg(self).decode()

    def save(self, folder: str | Path) -> list[Path]:
        """Write the table (CSV), the map (SVG, where matplotlib is installed) and the recommendation into a folder; confidential all of them."""
        from cellward.compare.chart import drawable

        folder = Path(folder)
        pictures = {PICTURE: self.to_svg().encode()} if drawable() else {}
        files = {TABLE: self.to_csv().encode(), **pictures, TEXT: self.to_markdown().encode()}
        try:
            with replacing(folder, FILES) as target:
                for name, content in files.items():
                    write_whole(target / name, content, confidential=True)
        except OSError as error:
            raise InputError(f"{folder}: cannot be written ({error.strerror}); choose another --out") from error
        return [folder / name for name in files]

    def to_csv(self) -> str:
        """All figures, a line a method."""
        text = io.StringIO()
        lines = [row.flat() for row in self.rows]
        writer = csv.DictWriter(text, list(lines[0]), lineterminator="\n")
        writer.writeheader()
        writer.writerows(lines)
        return text.getvalue()

    def to_markdown(self) -> str:
        """The recommendation, and the figures."""
        parts = ["# Which method for this table (confidential)", self.recommendation]
        for (title, columns, rows), legend in zip(self.tables(), LEGEND, strict=True):
            lines = [f"| {' | '.join(line)} |" for line in (columns, ["---"] * len(columns), *rows)]
            parts += [f"## {title}", "\n".join(lines), legend]
        parts += ["## Notes", "\n".join(f"- {line}" for line in self.notes())]
        return "\n\n".join(parts) + "\n"

    def tables(self) -> list[tuple[str, tuple[str, ...], list[tuple[str, ...]]]]:
        """What attackers get and what users lose: title, columns and rows of each."""
        risks = [(row.mark, row.name, *_risk(row)) for row in self.rows]
        losses = [(row.mark, *_utility(row), f"{row.seconds:.1f}") for row in self.rows if row.utility is not None]
        return [("What attackers get", RISK, risks), ("What users lose", LOSS, losses)]

    def notes(self) -> list[str]:
        """What is to be known of single rows; what attackers know of a rival once."""
        notes: dict[str, list[str]] = {}
        for row in self.rows:
            if row.reason:
                notes.setdefault(row.reason, []).append(row.mark)
        return [f"{', '.join(marks)}: {reason}" for reason, marks in notes.items()]

    def _repr_html_(self) -> str:
        blocks = [f"<p>{escape(self.recommendation)}</p>"]
        for (_, columns, rows), legend in zip(self.tables(), LEGEND, strict=True):
            head = "".join(f"<th>{escape(one)}</th>" for one in columns)
            body = "".join(f"<tr>{''.join(f'<td>{escape(one)}</td>' for one in row)}</tr>" for row in rows)
            blocks.append(f"<table><thead><tr>{head}</tr></thead><tbody>{body}</tbody></table><p>{escape(legend)}</p>")
        return f"<div><p><b>Comparison (confidential)</b></p>{''.join(blocks)}</div>"

    def __str__(self) -> str:
        tables = [_grid((columns, *rows)) for _, columns, rows in self.tables()]
        return "\n\n".join((self.recommendation, *tables, "\n".join(self.notes())))

    def __repr__(self) -> str:
        use = "none" if self.recommended is None else self.recommended.setting
        return f"Comparison({len(self.rows)} methods, recommended: {use}, {self.seconds:.1f} s)"


def _risk(row: Row) -> tuple[str, ...]:
    risk = row.risk
    if risk is None:
        return (row.answer, *("",) * 4)
    misses = f"{risk.equations:,} of {risk.of_equations:,}" if risk.equations else ""
    if not risk.asking:
        return (*("",) * 4, misses)
    narrowest = "–" if row.distances else "" if risk.narrowest is None else f"{risk.narrowest:.2f}"
    return (percent(risk.disclosed), f"{risk.exact:,}", f"{risk.undecided:,}", narrowest, misses)


def _utility(row: Row) -> tuple[str, ...]:
    u = row.utility
    assert u is not None
    rank = "" if u.rank is None else f"{u.rank:.4f}"
    v = "" if u.cramers_v is None else f"{u.cramers_v:.2g}"
    shares = (u.loss, u.leaves, u.margins, u.bias, u.unprinted)
    return (*map(_percent, shares), rank, v, *map(_percent, (u.chi_square, u.slope)))


def _percent(share: float | None) -> str:
    """Without the sign, which stands in the legend; what is below 0 with its own."""
    if share is None:
        return ""
    text = percent(abs(share)).removesuffix(" %").replace("< ", "<")
    return f"−{text}" if share < 0 and not text.startswith("<") else text


def _grid(rows: tuple[tuple[str, ...], ...]) -> str:
    """Columns under each other."""
    widths = [max(len(row[k]) for row in rows) for k in range(len(rows[0]))]
    return "\n".join(
        "  ".join(one.ljust(width) for one, width in zip(row, widths, strict=True)).rstrip() for row in rows
    )
