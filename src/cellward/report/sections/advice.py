"""Advice on a terminal: the paragraph, what was looked at, what is in the way, and what each level of sums asks for. Confidential."""

from __future__ import annotations

from cellward.advise.advice import COLUMNS, NAMES, Advice, in_a_job
from cellward.report.section import Block, Figures, Lines, Section

LEVELS = ("cells", "asked most of", "number", "asking", "least base", "least distance")


def advice_section(advice: Advice, *, of_job: bool = False) -> Section:
    """Everything that is said of a table before it is protected; ``of_job``: with the lines that a job file takes."""
    settings = tuple(row.texts() for row in advice.table)
    blocks: list[Block] = [Lines((advice.paragraph, ""))]
    if of_job and advice.method is not None:
        blocks.append(Lines((*in_a_job(advice.method), "")))
    blocks.append(Figures("What was looked at (confidential; none exists: proven)", COLUMNS, settings, names=NAMES))
    if why := [row.in_the_way for row in advice.table if row.in_the_way]:
        blocks.append(Lines(("", *why, "")))
    if any(row.asking for row in advice.levels):
        levels = tuple(row.texts() for row in advice.levels)
        blocks.append(Figures("What the levels ask for (proven)", LEVELS, levels, names=NAMES))
    return Section("advice", tuple(blocks))
