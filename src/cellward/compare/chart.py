"""The map of risk and utility: what attackers get across, what users lose upwards; ours by letters, rivals by numbers. Needs matplotlib."""

from __future__ import annotations

import io
from importlib.util import find_spec
from itertools import combinations
from typing import TYPE_CHECKING, Any

import numpy as np

from cellward.compare.row import ENDED, Row
from cellward.errors import InputError
from cellward.exact import Floats

if TYPE_CHECKING:
    from matplotlib.figure import Figure

    from cellward.compare.comparison import Comparison

OURS, RIVALS = "#0072B2", "#D55E00"
"""Blue and vermilion, which the colour-blind tell apart; shapes and marks say the same."""
SAFE = "#E8F3EC"
STYLE: Any = {
    "svg.fonttype": "none",
    "svg.hashsalt": "cellward",
    "font.family": "sans-serif",
    "font.size": 10,
}
SIZE = (11.0, 6.4)
BADGE = 0.032
"""How near two badges may be, as a part of the map's width."""
STEPS = 400
SIDEWAYS = np.array([1.0, 0.35])
"""Badges rather move to the side than up or down: that is where room is, and the height is what is compared."""
NONE = -4.5
"""Where those stand that give no cell away: left of the axis of those that do."""
LEAST = 1e-5
"""Losses below are drawn here."""
LINE = 0.045
"""The height of a line in the list."""
LONGEST = 44


def drawable() -> bool:
    """Whether matplotlib is installed."""
    return find_spec("matplotlib") is not None


def svg(comparison: Comparison) -> bytes:
    """The map as SVG, text as text; the same bytes for the same figures."""
    import matplotlib as mpl

    out = io.BytesIO()
    with mpl.rc_context(STYLE):
        draw(comparison).savefig(out, format="svg", metadata={"Date": None, "Creator": None})
    return out.getvalue()


def draw(comparison: Comparison) -> Figure:
    """The map as a figure."""
    if not drawable():
        raise InputError("matplotlib is not installed; install it with pip install 'cellward[report]'")
    import matplotlib as mpl
    from matplotlib.figure import Figure

    rows = [row for row in comparison.rows if row.answer in ENDED]
    with mpl.rc_context(STYLE):
        figure = Figure(figsize=SIZE)
        axes = figure.add_axes((0.075, 0.11, 0.5, 0.77))
        _frame(axes, rows, comparison)
        _points(axes, rows)
        _list(figure, comparison)
    return figure


def _frame(axes: Any, rows: list[Row], comparison: Comparison) -> None:
    """Axes with words, and the part where nothing is given away."""
    losses = [max(row.utility.loss, LEAST) for row in rows if row.utility is not None] or [LEAST, 1.0]
    axes.set_yscale("log")
    axes.set_ylim(min(losses) / 1.8, max(losses) * 1.8)
    axes.set_xlim(-9, 104)
    axes.axvspan(-9, 0, color=SAFE, zorder=0)
    axes.set_xticks([NONE, *range(20, 101, 20)], ["none", *map(str, range(20, 101, 20))])
    axes.axvline(0, color="#BBBBBB", linewidth=0.8, zorder=1)
    axes.set_xlabel("cells at risk that attackers get, %")
    axes.set_ylabel("lost: changes as a share of all values, %")
    axes.yaxis.set_major_formatter(lambda y, _: f"{100 * y:.4g}")
    axes.yaxis.set_minor_formatter(lambda y, _: f"{100 * y:.4g}" if max(losses) < 8 * min(losses) else "")
    axes.grid(visible=True, color="#DDDDDD", linewidth=0.6, zorder=1)
    for side in ("top", "right"):
        axes.spines[side].set_visible(False)
    axes.set_title(
        f"{comparison.cells:,} cells, {comparison.at_risk:,} at risk: risk and loss of each method",
        loc="left",
        fontsize=11,
        pad=14,
    )


def _points(axes: Any, rows: list[Row]) -> None:
    """A dot where each method is, and its badge beside it; a line to the right as far as what is undecided may reach."""
    x = np.array([100 * row.risk.disclosed if row.risk is not None and row.risk.unmet else NONE for row in rows])
    y = np.array([max(row.utility.loss, LEAST) if row.utility is not None else LEAST for row in rows])
    if not rows:
        return
    there = axes.transData.transform(np.stack((x, y), axis=1))
    box = axes.get_window_extent()
    badge = apart(there, BADGE * SIZE[0] * axes.figure.dpi, (box.x0, box.y0, box.x1, box.y1))
    back = axes.transData.inverted().transform(badge)
    for row, at, (px, py) in zip(rows, zip(x, y, strict=True), back.tolist(), strict=True):
        colour = RIVALS if row.rival else OURS
        if row.risk is not None and row.risk.undecided:
            reach = 100 * (row.risk.unmet + row.risk.undecided) / row.risk.asking
            axes.plot((at[0], reach), (at[1], at[1]), color=colour, linewidth=1.6, alpha=0.35, zorder=2)
        axes.plot((at[0], px), (at[1], py), color=colour, linewidth=0.7, zorder=3)
        axes.plot(*at, marker="s" if row.rival else "o", markersize=4, color=colour, zorder=4)
        box_style = "square,pad=0.28" if row.rival else "circle,pad=0.22"
        face = "white" if row.distances else colour
        axes.text(
            px, py, row.mark, ha="center", va="center", fontsize=9, fontweight="bold", color=colour if row.distances else "white", zorder=5,
            bbox={"boxstyle": box_style, "facecolor": face, "edgecolor": colour, "linewidth": 1.2},
        )  # fmt: skip


def apart(there: Floats, distance: float, box: tuple[float, float, float, float]) -> Floats:
    """Places near these, none nearer to another than this distance where the box has room: badges push each other away, a little at a time."""
    at = there.copy()
    golden = np.pi * (3 - np.sqrt(5))
    at += 0.01 * distance * np.stack([(np.cos(k * golden), np.sin(k * golden)) for k in range(len(at))])
    low, high = np.array(box[:2]) + distance / 2, np.array(box[2:]) - distance / 2
    for _ in range(STEPS):
        moved = False
        for j, k in combinations(range(len(at)), 2):
            away = at[k] - at[j]
            gap = float(np.hypot(*away))
            if gap < distance:
                push = away / max(gap, 1e-9) * (distance - gap) / 2 * SIDEWAYS
                at[j], at[k], moved = at[j] - push, at[k] + push, True
        at = np.clip(at, low, high)
        if not moved:
            break
    return at


def _list(figure: Figure, comparison: Comparison) -> None:
    """What the marks stand for, beside the map."""
    axes = figure.add_axes((0.6, 0.0, 0.4, 1.0))
    axes.set_axis_off()
    axes.set_xlim(0, 1)
    axes.set_ylim(0, 1)
    step = min(LINE, 0.86 / (len(comparison.rows) + 5))
    y = 0.93
    for title, rivals in (("Methods of cellward", False), ("Rivals: for comparison, never released", True)):
        rows = [row for row in comparison.rows if row.rival is rivals]
        if not rows:
            continue
        colour = RIVALS if rivals else OURS
        axes.text(0, y, title, fontsize=10, fontweight="bold", color=colour, va="center")
        y -= step
        for row in rows:
            chosen = row is comparison.recommended
            axes.text(0.03, y, row.mark, fontsize=9, fontweight="bold", color=colour, va="center", ha="center")
            text = f"{_cut(row.setting.replace(', max steps auto', ''))}{_remark(row)}"
            axes.text(
                0.075,
                y,
                text,
                fontsize=9,
                va="center",
                fontweight="bold" if chosen else "normal",
                color="#222222" if row.answer in ENDED else "#777777",
            )
            y -= step
        y -= 0.4 * step
    for line in _legend(comparison):
        axes.text(0, y, line, fontsize=8, color="#444444", va="center")
        y -= 0.8 * step


def _cut(text: str) -> str:
    return text if len(text) <= LONGEST else f"{text[: LONGEST - 1]}…"


def _remark(row: Row) -> str:
    """What is to be known of it at a glance."""
    if row.answer not in ENDED:
        return f": {row.answer}"
    return " ≠" if row.risk is not None and row.risk.equations else ""


def _legend(comparison: Comparison) -> list[str]:
    out = []
    if comparison.recommended is not None:
        out.append("bold: recommended")
    if any(row.distances for row in comparison.rows):
        out.append("white badge: promises distances, no intervals")
    if any(row.risk is not None and row.risk.equations for row in comparison.rows):
        out.append("≠ printed values do not add up")
    if any(row.risk is not None and row.risk.undecided for row in comparison.rows):
        out.append("faint line: as far as undecided cells may reach")
    return out
