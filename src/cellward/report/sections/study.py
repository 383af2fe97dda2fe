"""The disclosure study of an adjustment in words and on the terminal, for the data holder's eyes."""

from __future__ import annotations

from collections.abc import Iterable

import numpy as np

from cellward.protect.adjustment.study import Alternatives, DisclosureStudy
from cellward.report.section import Figures, Lines, Section

_MOST_LISTED = 20


def study_lines(
    study: DisclosureStudy, *, errors: Iterable[float] = (0.0, 1.0), alternatives: Alternatives | None = None
) -> list[str]:
    """The study in a few lines: the multipliers, what attackers obtain whose levels are all off by each of ``errors``, and alternative optima."""
    lines = [*study.report(), *(str(study.resolve(error)) for error in errors)]
    return lines if alternatives is None else [*lines, str(alternatives)]


def study_section(
    study: DisclosureStudy, *, errors: Iterable[float] = (0.0, 1.0), alternatives: Alternatives | None = None
) -> Section:
    """The cells at risk with the largest multipliers, and the lines."""
    lines = Lines(tuple(study_lines(study, errors=errors, alternatives=alternatives)))
    return Section("study", (_figures(study, alternatives), lines) if len(study.cells) else (lines,))


def _figures(study: DisclosureStudy, alternatives: Alternatives | None) -> Figures:
    order = np.argsort(-study.multipliers, kind="stable")
    levels, deviations, multipliers = study.senses * study.levels, study.deviations[study.cells], study.multipliers
    rows = []
    for k in order[:_MOST_LISTED].tolist():
        ends = [] if alternatives is None else [f"{alternatives.lower[k]:+.6g} to {alternatives.upper[k]:+.6g}"]
        name = study.protection.instance.labels.name(int(study.cells[k]))
        rows.append((name, f"{levels[k]:+.6g}", f"{deviations[k]:+.6g}", f"{multipliers[k]:.6g}", *ends))
    if len(order) > _MOST_LISTED:
        rows.append((f"… and {len(order) - _MOST_LISTED:,} more",))
    heads = ("cell", "level", "deviation", "multiplier", *(() if alternatives is None else ("in all optima",)))
    return Figures("Levels of cells at risk (confidential)", heads, tuple(rows))
