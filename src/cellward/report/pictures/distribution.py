"""Distribution: how often changes of each size occur; of ranges their widths; of a suppression which sizes of values are withheld."""

from __future__ import annotations

from typing import Any

import numpy as np

from cellward.exact import Bools, Floats
from cellward.protection import Protection
from cellward.publication.ranges import Ranges
from cellward.publication.withheld import Withheld
from cellward.report.pictures.theme import BLUE, VERMILLION, figure, key, ticks
from cellward.report.sections.loss_by_level import lost_of

_BINS = 31


def title(result: Protection) -> str:
    """What it is called in a report."""
    if isinstance(result.publication, Withheld):
        return "Which sizes are withheld"
    return "How wide the ranges are" if isinstance(result.publication, Ranges) else "How large the changes are"


def refuses(result: Protection) -> str | None:  # noqa: ARG001
    """It applies to every publication."""
    return None


def caption(result: Protection) -> str:
    """What to see in it."""
    if isinstance(result.publication, Withheld):
        return "Of the cells of each size of value, how many are withheld and how many printed."
    if isinstance(result.publication, Ranges):
        return "How many of the ranges have which width; exact cells are left out."
    return "How many per cent of the cells changed by how much, those at risk and others by themselves. Left of 0 the published number is too low."


def draw(result: Protection) -> Any:
    """Sizes to the right, how often upwards."""
    made, axes = figure(height=3.2)
    i, p = result.instance, result.publication
    risky = np.zeros(i.cells, bool)
    risky[i.sensitivity.unsafe] = True
    lost, signed, touched = lost_of(result)
    if isinstance(p, Withheld):
        _of_sizes(axes, np.abs(i.a) / 10.0**i.decimals, p.withheld)
    elif isinstance(p, Ranges):
        _histogram(axes, lost[touched], risky[touched])
        axes.set_xlabel("width of the range")
    else:
        _histogram(axes, signed, risky)
        axes.set_xlabel("published minus true value")
    axes.grid(visible=True, axis="y")
    return made


def _histogram(axes: Any, x: Floats, risky: Bools) -> None:
    """Shares of cells in classes of equal width, 0 in the middle of one."""
    most = float(np.abs(x).max(initial=0)) or 1.0
    width = 2 * most / (_BINS - 1)
    distinct = np.unique(np.round(x, 9))
    if len(distinct) <= _BINS and len(distinct) > 1:
        width = float(np.diff(distinct).min())
    half = min(int(np.ceil(most / width)), 2 * _BINS)
    low = -half if float(x.min(initial=0)) < 0 else 0
    place = np.clip(np.rint(x / width).astype(int), low, half)
    at = np.arange(low, half + 1) * width
    groups = [(~risky, -0.21, "O", BLUE, "other cells"), (risky, 0.21, "R", VERMILLION, "at risk")]
    for mine, shift, letter, colour, _ in groups:
        if mine.any():
            share = 100.0 * np.bincount(place[mine] - low, minlength=len(at)) / mine.sum()
            axes.bar(at + shift * width, share, width=0.42 * width, color=colour)
            top = int(share.argmax())
            axes.annotate(
                letter,
                (at[top] + shift * width, share[top]),
                xytext=(0, 2),
                textcoords="offset points",
                ha="center",
                fontsize=9,
                weight="bold",
                color=colour,
            )
    axes.set_ylabel("% of cells")
    axes.margins(y=0.12)
    ticks(axes.xaxis)
    ticks(axes.yaxis)
    key(axes, [(letter, colour, words) for _, _, letter, colour, words in reversed(groups)])


def _of_sizes(axes: Any, size: Floats, hidden: Bools) -> None:
    """One class for 0, then one a power of ten."""
    kind = np.where(size < 1, np.where(size > 0, 1, 0), np.floor(np.log10(np.maximum(size, 1))).astype(int) + 1)
    classes = np.unique(kind)
    names = ["0" if k == 0 else "1–9" if k == 1 else f"{10 ** (k - 1):,}–" for k in classes.tolist()]
    place = np.arange(len(classes))
    base = np.zeros(len(classes))
    most = max(int((kind == k).sum()) for k in classes)
    for letter, colour, mine in (("W", VERMILLION, hidden), ("P", BLUE, ~hidden)):
        count = np.array([(mine & (kind == k)).sum() for k in classes])
        axes.bar(place, count, width=0.6, bottom=base, color=colour)
        for x, (low, high) in enumerate(zip(base.tolist(), count.tolist(), strict=True)):
            if high > 0.07 * most:
                axes.text(
                    x,
                    low + high / 2,
                    f"{letter} {high:,}",
                    ha="center",
                    va="center",
                    fontsize=8.5,
                    color="white",
                    weight="bold",
                )
        base += count
    axes.set_xticks(place, names)
    axes.set_xlim(-0.6, max(len(classes) - 0.4, 2.6))
    axes.set_xlabel("size of the true value")
    axes.set_ylabel("cells")
    ticks(axes.yaxis)
    key(axes, [("W", VERMILLION, "withheld"), ("P", BLUE, "printed")])
