"""Search: the best table so far and the bound on it, over time; not in reports, since times differ from run to run."""

from __future__ import annotations

from typing import Any

from cellward.protection import Protection
from cellward.report.pictures.theme import BLUE, VERMILLION, figure, key, ticks


def title(result: Protection) -> str:  # noqa: ARG001
    """What it is called in a report."""
    return "The search"


def refuses(result: Protection) -> str | None:
    """Why there is none."""
    if not any(one.incumbent is not None or one.bound is not None for one in result.run.history):
        return "the search told of no better table on its way (it was over at once), so there is nothing to draw"
    return None


def caption(result: Protection) -> str:  # noqa: ARG001
    """What to see in it."""
    return (
        "The best table found so far, and the bound below which there is none; where they meet, the table is optimal."
    )


def draw(result: Protection) -> Any:
    """Seconds to the right, objective upwards."""
    made, axes = figure()
    lines = (("B", VERMILLION, [(s.seconds, s.incumbent) for s in result.run.history if s.incumbent is not None]),
             ("L", BLUE, [(s.seconds, s.bound) for s in result.run.history if s.bound is not None]))  # fmt: skip
    end = max(result.seconds, *(one.seconds for one in result.run.history))
    for letter, colour, points in lines:
        if points:
            x, y = [t for t, _ in points], [value for _, value in points]
            axes.step([*x, end], [*y, y[-1]], where="post", color=colour, linewidth=1.8)
            axes.annotate(
                letter,
                (end, y[-1]),
                xytext=(4, -3),
                textcoords="offset points",
                color=colour,
                weight="bold",
                fontsize=9,
            )
    axes.set_xlabel("seconds")
    axes.set_ylabel("objective")
    axes.set_xlim(left=0)
    axes.grid(visible=True, axis="y")
    ticks(axes.xaxis)
    ticks(axes.yaxis)
    key(axes, [("B", VERMILLION, "best table so far"), ("L", BLUE, "bound: no table is below it")])
    return made
