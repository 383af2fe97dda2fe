"""Deviations against values: is what changed much small or large, at risk or not? Of ranges their widths."""

from __future__ import annotations

from typing import Any

import numpy as np

from cellward.exact import Floats
from cellward.protection import Protection
from cellward.publication.ranges import Ranges
from cellward.publication.withheld import Withheld
from cellward.report.pictures.theme import BLUE, VERMILLION, figure, key, ticks
from cellward.report.sections.loss_by_level import lost_of

_GRID = (240, 120)
"""Points that would fall on the same place of this grid are drawn once."""


def title(result: Protection) -> str:
    """What it is called in a report."""
    return "Widths against values" if isinstance(result.publication, Ranges) else "Changes against values"


def refuses(result: Protection) -> str | None:
    """Why there is none."""
    if isinstance(result.publication, Withheld):
        return "a suppression prints true values or none, so there are no changes to draw; use 'levels', 'distribution' or 'slice'"
    return None


def caption(result: Protection) -> str:
    """What to see in it."""
    what = (
        "the width of its range"
        if isinstance(result.publication, Ranges)
        else "how far the published number is from the true one"
    )
    return f"Each point is a cell: to the right its true value, upwards {what}. Points that would hide each other are drawn once."


def draw(result: Protection) -> Any:
    """Values to the right, changes upwards."""
    made, axes = figure()
    i = result.instance
    lost, _, _ = lost_of(result)
    size = i.a / 10.0**i.decimals
    risky = np.zeros(i.cells, bool)
    risky[i.sensitivity.unsafe] = True
    wide = bool(np.abs(size).max(initial=0) > 100)
    if wide:
        axes.set_xscale("symlog", linthresh=1.0)
    for mine, colour, marker, area in ((~risky, BLUE, "o", 12), (risky, VERMILLION, "^", 26)):
        x, y = _thinned(size[mine], lost[mine], wide=wide)
        axes.scatter(x, y, s=area, c=colour, marker=marker, alpha=0.65, linewidths=0)
    _letters(axes, size, lost, risky)
    axes.set_xlabel("true value" + (" (logarithmic)" if wide else ""))
    axes.set_ylabel("width of the range" if isinstance(result.publication, Ranges) else "change")
    axes.set_ylim(bottom=0)
    axes.grid(visible=True, axis="y")
    if not wide:
        ticks(axes.xaxis)
    else:
        _decades(axes, float(size.min(initial=0)), float(size.max(initial=0)))
    ticks(axes.yaxis)
    key(axes, [("R", VERMILLION, "at risk (triangle)"), ("O", BLUE, "other cells (dot)")])
    return made


def _letters(axes: Any, x: Floats, y: Floats, risky: Any) -> None:
    """The letter beside the largest point of each kind, so that it is told apart without colours."""
    for mine, letter, colour in ((risky, "R", VERMILLION), (~risky, "O", BLUE)):
        if mine.any():
            k = int(np.flatnonzero(mine)[y[mine].argmax()])
            axes.annotate(
                letter, (x[k], y[k]), xytext=(5, 3), textcoords="offset points", color=colour, weight="bold", fontsize=9
            )


def _decades(axes: Any, low: float, high: float) -> None:
    """Ticks at powers of ten, as few as fit."""
    most = int(np.ceil(np.log10(max(high, -low, 10.0))))
    step = max(1, -(-most // 7))
    powers = [10.0**k for k in range(0, most + 1, step)]
    axes.set_xticks([*(-p for p in reversed(powers) if -p >= 10 * low and low < 0), 0.0, *powers])
    axes.minorticks_off()
    axes.set_xlim(1.6 * low if low < 0 else -0.3, 1.6 * max(high, 1.0))
    ticks(axes.xaxis)


def _thinned(x: Floats, y: Floats, *, wide: bool) -> tuple[Floats, Floats]:
    """The points without those that fall on another."""
    if not len(x):
        return x, y
    place = np.sign(x) * np.log10(1 + np.abs(x)) if wide else x
    spans = [max(float(np.ptp(side)), 1e-12) for side in (place, y)]
    cells = [
        np.rint((side - side.min()) / span * count) for side, span, count in zip((place, y), spans, _GRID, strict=True)
    ]
    _, first = np.unique(cells[0] * (_GRID[1] + 1) + cells[1], return_index=True)
    return x[first], y[first]
