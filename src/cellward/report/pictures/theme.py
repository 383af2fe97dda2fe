"""Theme: how all pictures look, and how they become SVG: text as text, colours that the colour-blind tell apart, the same bytes each time.

Okabe and Ito's colours; beside each stands a letter, since some readers see no colours and some print without them. Text and rules have one ink
each, which a page may replace by its own so that a picture follows light and dark.
"""

from __future__ import annotations

import io
import re
from collections.abc import Iterator
from contextlib import contextmanager
from typing import Any

from cellward.errors import InputError, printable

INK, RULE, SOFT = "#1c2431", "#d9dee7", "#566275"
BLUE, VERMILLION, GREEN, SKY, PURPLE, GREY = "#0072B2", "#D55E00", "#009E73", "#56B4E9", "#CC79A7", "#8A94A3"
REMEDY = "pictures need matplotlib, which is not installed; pip install 'cellward[report]'"
_SETTINGS: dict[str, Any] = {
    "svg.fonttype": "none", "svg.hashsalt": "cellward", "text.parse_math": False, "font.size": 10.0, "axes.titlesize": 10.0, "axes.edgecolor": SOFT,
    "axes.labelcolor": INK, "text.color": INK, "xtick.color": SOFT, "ytick.color": SOFT, "xtick.labelcolor": INK, "ytick.labelcolor": INK,
    "axes.spines.top": False, "axes.spines.right": False, "axes.linewidth": 0.8, "axes.axisbelow": True, "axes.grid": False, "grid.color": RULE,
    "grid.linewidth": 0.6, "legend.frameon": False, "legend.fontsize": 9.0, "axes.unicode_minus": True, "figure.facecolor": "none",
    "axes.facecolor": "none", "axes.formatter.useoffset": False, "axes.formatter.limits": (-12, 12), "path.simplify": False,
    "font.family": ["DejaVu Sans"],
}  # fmt: skip
_INKS = {INK: "ink", RULE: "rule", SOFT: "soft", BLUE.lower(): "blue", VERMILLION.lower(): "vermillion"}
"""Colours that a page may replace by its own, so that a picture is as clear in the dark."""


@contextmanager
def themed() -> Iterator[None]:
    """While in here, what is drawn looks like ours, whatever the user's settings are."""
    import matplotlib as mpl

    defaults: Any = mpl.rcParamsDefault
    settings: Any = {name: defaults[name] for name in defaults if not name.startswith("backend")} | _SETTINGS
    with mpl.rc_context(settings):
        yield


def figure(width: float = 8.0, height: float = 3.6) -> tuple[Any, Any]:
    """A figure and its axes, without pyplot: nothing global is kept or shown."""
    try:
        from matplotlib.figure import Figure
    except ModuleNotFoundError as error:
        raise InputError(REMEDY) from error
    made = Figure(figsize=(width, height), layout="constrained")
    return made, made.add_subplot()


def svg(drawn: Any, *, page: bool = False) -> str:
    """The picture as SVG; ``page``: to stand inside a page, in the page's own inks and letters."""
    held = io.StringIO()
    with themed():
        drawn.savefig(
            held, format="svg", metadata=dict.fromkeys(("Date", "Creator", "Format", "Type")), transparent=True
        )
    text = held.getvalue()
    if not page:
        return text
    text = text[text.index("<svg") :]
    text = re.sub(r"\s*<style.*?</style>|\s*<metadata>.*?</metadata>", "", text, flags=re.DOTALL)
    text = re.sub(r'<g id="[^"]*">', "<g>", text)
    text = re.sub(r"font-family: [^;\"]*", "font-family: inherit", text)
    text = re.sub(r' transform="rotate\(-0 [^)]*\)"', "", text)
    text = re.sub(r"\n+", "\n", text)
    for ink, own in _INKS.items():
        text = text.replace(ink, f"var(--{own}, {ink})")
    return re.sub(
        r'^<svg [^>]*?viewBox="([^"]*)"[^>]*>',
        r'<svg viewBox="\1" role="img" xmlns:xlink="http://www.w3.org/1999/xlink">',
        text,
    )


def key(axes: Any, entries: list[tuple[str, str, str]], **placed: Any) -> None:
    """A legend of (letter, colour, words): the letter stands in its colour, so that it is read with and without colours."""
    from matplotlib.lines import Line2D

    handles = [Line2D([], [], linestyle="none", marker="s", markersize=9, color=colour) for _, colour, _ in entries]
    labels = [f"{letter}  {words}" for letter, _, words in entries]
    placed = {
        "loc": "lower left",
        "bbox_to_anchor": (0.0, 1.0),
        "ncols": len(entries),
        "borderaxespad": 0.2,
        "handletextpad": 0.3,
        **placed,
    }
    axes.legend(handles, labels, **placed)


def short(x: float) -> str:
    """A number for a picture, with few characters.

    >>> short(1234567.0), short(0.25), short(-12.0), short(15300)
    ('1.2M', '0.25', '−12', '15k')
    """
    for size, unit in ((1e9, "G"), (1e6, "M"), (1e4, "k")):
        if abs(x) >= size:
            scaled = x / min(size, 1e3) if unit == "k" else x / size
            text = f"{scaled:.2g}" if abs(scaled) < 100 else f"{scaled:.0f}"
            return f"{text}{unit}".replace("-", "−")
    return f"{x:.3g}".replace("-", "−") if abs(x) < 1000 else f"{x:.0f}".replace("-", "−")


def ticks(axis: Any) -> None:
    """Numbers on an axis as we write them."""
    from matplotlib.ticker import FuncFormatter

    axis.set_major_formatter(FuncFormatter(lambda x, _: short(x)))


def cut(text: str, most: int) -> str:
    """A code that fits its place, without characters that could not be seen."""
    text = printable(text)
    return text if len(text) <= most else f"{text[: most - 1]}…"
