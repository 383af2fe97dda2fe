"""Loss and bias by level of sums: do totals lean to one side? Of withheld cells the share, of ranges the mean width."""

from __future__ import annotations

from typing import Any

import numpy as np

from cellward.protection import Protection
from cellward.publication.ranges import Ranges
from cellward.publication.withheld import Withheld
from cellward.report.pictures.theme import BLUE, INK, SKY, VERMILLION, figure, key, short, ticks
from cellward.report.sections.loss_by_level import LevelLoss, losses


def title(result: Protection) -> str:
    """What it is called in a report."""
    return (
        "Loss by level of sums"
        if result.publication is None or result.publication.v is None
        else "Change and bias by level of sums"
    )


def refuses(result: Protection) -> str | None:  # noqa: ARG001
    """It applies to every publication."""
    return None


def caption(result: Protection) -> str:
    """What to see in it."""
    if isinstance(result.publication, Withheld):
        return "How much of each level is withheld: cells at risk themselves, and others for their sake. Level 0 are the cells that are no sum."
    if isinstance(result.publication, Ranges):
        return "How wide the ranges of each level are on average, exact cells counted as 0. Level 0 are the cells that are no sum."
    return (
        "How much the cells of each level change on average, and which way they lean: a bias near 0 means that ups and downs balance. "
        "Level 0 are the cells that are no sum."
    )


def draw(result: Protection) -> Any:
    """A bar for every level."""
    made, axes = figure(height=3.2)
    rows = losses(result)
    place = np.arange(len(rows))
    axes.set_xticks(place, [_name(row) for row in rows])
    axes.set_xlim(-0.6, max(len(rows) - 0.4, 2.6))
    axes.grid(visible=True, axis="y")
    if isinstance(result.publication, Withheld):
        _withheld(result, axes, rows)
    else:
        bars = axes.bar(place, [row.mean for row in rows], width=0.5, color=SKY)
        for bar, row in zip(bars, rows, strict=True):
            near = abs(row.bias - row.mean) < 0.08 * max(row.mean for row in rows)
            _label(axes, bar, "M", short(row.mean), above=9 if near else 2)
        if isinstance(result.publication, Ranges):
            axes.set_ylabel("mean width")
            key(axes, [("M", SKY, "mean width")])
        else:
            axes.scatter(place, [row.bias for row in rows], marker="D", s=38, color=VERMILLION, zorder=3)
            for k, row in enumerate(rows):
                axes.text(k + 0.28, row.bias, f"B {short(row.bias)}", va="center", fontsize=8.5, color=VERMILLION)
            axes.axhline(0, color=INK, linewidth=0.8)
            axes.set_ylabel("mean change, bias")
            key(axes, [("M", SKY, "mean change, up or down"), ("B", VERMILLION, "bias (mean with its sign)")])
    axes.margins(y=0.16)
    ticks(axes.yaxis)
    return made


def _withheld(result: Protection, axes: Any, rows: list[LevelLoss]) -> None:
    p, i = result.publication, result.instance
    assert isinstance(p, Withheld)
    risky = np.zeros(i.cells, bool)
    risky[i.sensitivity.unsafe] = True
    base = np.zeros(len(rows))
    most = max((100.0 * row.touched / row.cells for row in rows), default=0.0)
    for letter, colour, mine in (("R", VERMILLION, p.withheld & risky), ("O", BLUE, p.withheld & ~risky)):
        share = np.array([100.0 * (mine & (i.relations.height == row.level)).sum() / row.cells for row in rows])
        bars = axes.bar(np.arange(len(rows)), share, width=0.5, bottom=base, color=colour)
        for bar, one in zip(bars, share.tolist(), strict=True):
            if one > 0.07 * most:
                _label(axes, bar, letter, f"{one:.0f} %" if one >= 1 else "< 1 %", inside=True, colour="white")
        base += share
    axes.set_ylabel("% of the level's cells")
    key(axes, [("R", VERMILLION, "at risk"), ("O", BLUE, "withheld for the sake of others")])


def _label(
    axes: Any, bar: Any, letter: str, text: str, *, inside: bool = False, colour: str = INK, above: int = 2
) -> None:
    x, top = bar.get_x() + bar.get_width() / 2, bar.get_y() + bar.get_height()
    if inside:
        axes.text(
            x,
            top - bar.get_height() / 2,
            f"{letter} {text}",
            ha="center",
            va="center",
            fontsize=8.5,
            color=colour,
            weight="bold",
        )
    else:
        axes.annotate(
            f"{letter} {text}",
            (x, top),
            xytext=(0, above),
            textcoords="offset points",
            ha="center",
            fontsize=8.5,
            color=INK,
        )


def _name(row: LevelLoss) -> str:
    return f"level {row.level}\n{row.cells:,} cell{'s' * (row.cells != 1)}"
