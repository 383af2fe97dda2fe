"""The disclosure study of an adjustment in words and on the terminal, for the data holder's eyes."""

from __future__ import annotations

from collections.abc import Iterable
from typing import Any

import numpy as np
from rich.console import Console
from rich.table import Table as Grid
from rich.text import Text

from cellward.protect.adjustment.study import Alternatives, DisclosureStudy

_MOST_LISTED = 20


def study_lines(
    study: DisclosureStudy, *, errors: Iterable[float] = (0.0, 1.0), alternatives: Alternatives | None = None
) -> list[str]:
    """The study in a few lines: the multipliers, what attackers obtain whose levels are all off by each of ``errors``, and alternative optima."""
    lines = [*study.report(), *(str(study.resolve(error)) for error in errors)]
    return lines if alternatives is None else [*lines, str(alternatives)]


def study_summary(
    study: DisclosureStudy, *, errors: Iterable[float] = (0.0, 1.0), alternatives: Alternatives | None = None
) -> dict[str, Any]:
    """The same in the words of ``--json``."""
    out = {**study.to_dict(), "resolved": [study.resolve(error).to_dict() for error in errors]}
    return out if alternatives is None else {**out, "alternatives": alternatives.to_dict()}


def show_study(
    study: DisclosureStudy,
    console: Console,
    *,
    errors: Iterable[float] = (0.0, 1.0),
    alternatives: Alternatives | None = None,
) -> None:
    """Print the cells at risk with the largest multipliers, and the lines."""
    if len(study.cells):
        console.print(_grid(study, alternatives))
    for line in study_lines(study, errors=errors, alternatives=alternatives):
        console.print(line, markup=False, soft_wrap=True)


def _grid(study: DisclosureStudy, alternatives: Alternatives | None) -> Grid:
    grid = Grid(title="Levels of cells at risk (confidential)", header_style="bold", box=None, title_justify="left")
    grid.add_column("cell")
    for head in ("level", "deviation", "multiplier", *(() if alternatives is None else ("in all optima",))):
        grid.add_column(head, justify="right")
    order = np.argsort(-study.multipliers, kind="stable")
    levels, deviations, multipliers = study.senses * study.levels, study.deviations[study.cells], study.multipliers
    for k in order[:_MOST_LISTED].tolist():
        ends = [] if alternatives is None else [f"{alternatives.lower[k]:+.6g} to {alternatives.upper[k]:+.6g}"]
        numbers = (f"{levels[k]:+.6g}", f"{deviations[k]:+.6g}", f"{multipliers[k]:.6g}", *ends)
        grid.add_row(Text(study.protection.instance.labels.name(int(study.cells[k]))), *numbers)
    if len(order) > _MOST_LISTED:
        grid.add_row(f"… and {len(order) - _MOST_LISTED:,} more")
    return grid
