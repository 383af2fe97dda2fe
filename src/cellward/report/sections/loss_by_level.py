"""Loss by level of sums: how much the cells that are no sum change, and how much their totals. Confidential."""

from __future__ import annotations

from dataclasses import dataclass

import numpy as np

from cellward.exact import NO_BOUND, Floats
from cellward.protection import Protection
from cellward.publication.ranges import Ranges
from cellward.publication.withheld import Withheld
from cellward.report.section import Figures


@dataclass(frozen=True)
class LevelLoss:
    """The cells of one level of sums: how many, at risk, touched (changed, withheld, or ranges), and of what was lost mean, largest and bias, in the
    user's units.

    Of values it is |v − a|, and ``bias`` the mean of v − a; of withheld cells the value, ``share`` that of the whole level; of ranges the width.
    """

    level: int
    cells: int
    at_risk: int
    touched: int
    mean: float
    largest: float
    bias: float
    share: float


def losses(result: Protection) -> list[LevelLoss]:
    """One for every level, the cells that are no sum first."""
    i, p = result.instance, result.publication
    assert p is not None
    unit, height = 10.0**i.decimals, i.relations.height
    lost, signed, touched = lost_of(result)
    risky = np.zeros(i.cells, bool)
    risky[i.sensitivity.unsafe] = True
    out = []
    for level in range(int(height.max(initial=0)) + 1):
        own = height == level
        if not own.any():
            continue
        whole = float(np.abs(i.a[own]).sum()) / unit
        out.append(
            LevelLoss(
                level, int(own.sum()), int((own & risky).sum()), int((own & touched).sum()), float(lost[own].mean()),
                float(lost[own].max()), float(signed[own].mean()), float(lost[own].sum()) / whole if whole else 0.0,
            )
        )  # fmt: skip
    return out


def lost_of(result: Protection) -> tuple[Floats, Floats, np.ndarray]:
    """Of every cell what is lost, with its sign, in the user's units, and whether it is touched."""
    i, p = result.instance, result.publication
    assert p is not None
    unit = 10.0**i.decimals
    if isinstance(p, Ranges):
        open_ = (p.lower == -NO_BOUND) | (p.upper == NO_BOUND)
        width = np.where(open_, np.abs(i.a), p.upper - p.lower) / unit
        return width, np.zeros(i.cells), p.lower < p.upper
    if isinstance(p, Withheld):
        return np.where(p.withheld, np.abs(i.a), 0) / unit, np.zeros(i.cells), p.withheld
    assert p.v is not None
    signed = (p.v - i.a) / unit
    return np.abs(signed), signed, signed != 0


def loss_figures(result: Protection) -> Figures:
    """The same as a table, with a sentence that says what it tells."""
    p, places = result.publication, result.instance.decimals
    rows = losses(result)
    common: tuple[str, ...] = ("level", "cells", "at risk")
    heads: tuple[str, ...]
    texts: list[tuple[str, ...]]
    if isinstance(p, Withheld):
        heads = (*common, "withheld", "share of cells", "share of value")
        texts = [(f"{r.touched:,}", f"{100 * r.touched / r.cells:.1f} %", f"{100 * r.share:.1f} %") for r in rows]
        note = "Level 0 are the cells that are no sum of others. The shares say how much of a level readers do not see, by cells and by value."
    elif isinstance(p, Ranges):
        heads = (*common, "ranges", "mean width", "largest width")
        texts = [(f"{r.touched:,}", _fixed(r.mean, places + 1), _fixed(r.largest, places)) for r in rows]
        note = "Level 0 are the cells that are no sum of others. A width of 0 is an exact number; the wider, the less a reader learns."
    else:
        heads = (*common, "changed", "mean change", "largest", "bias")
        texts = [
            (f"{r.touched:,}", _fixed(r.mean, places + 1), _fixed(r.largest, places), _fixed(r.bias, places + 1))
            for r in rows
        ]
        note = (
            "Level 0 are the cells that are no sum of others, each further level sums of those below. The mean change says how far a number "
            "is off, whichever way; the bias is the same with its sign, so near 0 where ups and downs balance."
        )
    named = [(_level(r.level), f"{r.cells:,}", f"{r.at_risk:,}") for r in rows]
    return Figures("By level of sums", heads, tuple((*a, *b) for a, b in zip(named, texts, strict=True)), note=note)


def _fixed(x: float, places: int) -> str:
    """With as many decimals as its neighbours."""
    return f"{x:,.{places}f}".replace("-", "−")


def _level(level: int) -> str:
    return "0 (no sums)" if level == 0 else str(level)
