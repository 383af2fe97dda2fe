"""A comparison on a terminal: the recommendation, what attackers get, what users lose, and what is to be known of single methods. Confidential."""

from __future__ import annotations

from cellward.compare.comparison import LEGEND, Comparison
from cellward.report.section import Block, Figures, Lines, Section


def compare_section(found: Comparison) -> Section:
    """Everything that a comparison found."""
    blocks: list[Block] = [Lines((found.recommendation, ""))]
    for (title, columns, rows), legend, names in zip(found.tables(), LEGEND, (2, 1), strict=True):
        blocks += [Figures(f"{title} (confidential)", columns, tuple(rows), names=names), Lines((legend, ""))]
    if notes := found.notes():
        blocks.append(Lines((*notes, "")))
    return Section("compare", tuple(blocks))
