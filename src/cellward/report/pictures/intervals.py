"""Intervals: what is left to an attacker of each cell at risk, beside what was asked."""

from __future__ import annotations

from typing import Any

import numpy as np

from cellward.audit.audit import Audit
from cellward.protection import Protection
from cellward.report.pictures.theme import BLUE, INK, VERMILLION, cut, figure, key, ticks
from cellward.report.sections.reached import Reached, reached

_MOST, _FAR = 30, 8.0
"""Cells drawn, and how far in units of what was asked."""


def title(result: Protection) -> str:  # noqa: ARG001
    """What it is called in a report."""
    return "What attackers are left with"


def refuses(result: Protection, audit: Audit | None = None) -> str | None:
    """Why there is none."""
    if reached(result, audit) is None:
        return "nothing is shown of intervals here (no levels asked, levels ignored, or an adjustment, which tells none), so there are none to draw"
    return None


def caption(result: Protection, audit: Audit | None = None) -> str:
    """What to see in it."""
    found = reached(result, audit)
    assert found is not None
    few = f"the {_MOST} tightest of {len(found.cell):,}" if len(found.cell) > _MOST else f"all {len(found.cell):,}"
    surely = "exactly what an attacker is left with" if found.exactly else "at least what an attacker is left with"
    return (
        f"Each line is a cell at risk ({few}), its true value in the middle. The thick bar is the interval asked for, the thin one {surely}: "
        "where the thin bar reaches as far as the thick one, the cell is protected. Arrows go on."
    )


def draw(result: Protection, audit: Audit | None = None) -> Any:
    """A line for each cell, in units of what was asked."""
    found = reached(result, audit)
    assert found is not None
    many = min(len(found.cell), _MOST)
    made, axes = figure(height=0.9 + 0.24 * max(many, 4))
    for y in range(many):
        _line(axes, result, found, y)
    axes.axvline(0, color=INK, linewidth=0.8)
    labels = result.instance.labels
    axes.set_yticks(range(many), [cut(labels.name(int(c)).strip("()"), 34) for c in found.cell[:many]], fontsize=8.5)
    axes.set(xlim=(-_FAR * 1.05, _FAR * 1.05), ylim=(many - 0.4, -0.6))
    axes.set_xscale("symlog", linthresh=1.0, linscale=1.0)
    axes.set_xticks([-8, -4, -2, -1, 0, 1, 2, 4, 8])
    axes.minorticks_off()
    axes.set_xlabel("distance from the true value, in units of the level asked")
    axes.tick_params(axis="y", length=0)
    axes.grid(visible=True, axis="x")
    ticks(axes.xaxis)
    key(axes, [("A", VERMILLION, "asked"), ("L", BLUE, "left to an attacker")])
    return made


def _line(axes: Any, result: Protection, found: Reached, y: int) -> None:
    below, above, width = (float(side[y]) for side in (found.below, found.above, found.width))
    unit = max(below, above, width / 2, 1.0)
    a = int(result.instance.a[found.cell[y]])
    low, high = (float(np.clip((int(end[y]) - a) / unit, -_FAR, _FAR)) for end in (found.low, found.high))
    asked = (
        (-below / unit, above / unit)
        if below or above
        else (max(low, -width / 2 / unit), max(low, -width / 2 / unit) + width / unit)
    )
    axes.barh(y, asked[1] - asked[0], left=asked[0], height=0.62, color=VERMILLION, alpha=0.35)
    axes.plot([low, high], [y, y], color=BLUE, linewidth=2.4, solid_capstyle="butt")
    for end, marker in ((low, "<"), (high, ">")):
        beyond = abs(end) >= _FAR
        axes.plot([end], [y], marker=marker if beyond else "|", markersize=5 if beyond else 7, color=BLUE)
    if y == 0:
        axes.annotate(
            "A", (asked[1], y), xytext=(2, 5), textcoords="offset points", fontsize=9, weight="bold", color=VERMILLION
        )
        axes.annotate("L", (high, y), xytext=(5, -3), textcoords="offset points", fontsize=9, weight="bold", color=BLUE)
