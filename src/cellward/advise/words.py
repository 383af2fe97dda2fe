"""Words: the advice as a paragraph."""

from __future__ import annotations

from collections.abc import Mapping, Sequence
from typing import Any

import numpy as np

from cellward import exact
from cellward.advise.advice import AdviceRow, number, percent, said
from cellward.instance import Instance
from cellward.protect.adjustment import ControlledAdjustment
from cellward.protect.perturbation import CellPerturbation
from cellward.protect.rounding import ControlledRounding
from cellward.protect.rounding.least_base import SingleCells

SHOWN = 4
"""Bases of which nothing is proven that are named."""


def paragraph(
    instance: Instance, single: SingleCells, facts: Mapping[str, Any], undecided: Sequence[float], *, any_base: bool
) -> str:
    """What is asked, what each method needs and costs, and which to use; ``any_base``: bases need not be round."""
    sentences = [
        _use(facts),
        *_asked(instance, single, facts),
        _rounding(facts, undecided, any_base=any_base),
        *(_other(row) for row in facts["table"] if isinstance(row.method, CellPerturbation | ControlledAdjustment)),
    ]
    return " ".join(sentences)


def _asked(instance: Instance, single: SingleCells, facts: Mapping[str, Any]) -> list[str]:
    asked = single.asked
    many = int(asked.any.sum())
    if not many:
        return [f"{instance.cells:,} cells; no protection levels are asked."]
    who = "the public" if len(instance.attackers) == 1 else f"{len(instance.attackers):,} attackers"
    sums = len(instance.sensitivity.sums)
    more = "" if not sums else f", and {sums:,} {'sum' if sums == 1 else 'sums'} of cells"
    out = [f"{instance.cells:,} cells, {many:,} of them{more} to be kept from {who}."]
    least = single.least()
    worst = instance.labels.name(int(np.where(asked.any, asked.width, -1).argmax()))
    most = exact.short(int(np.quantile(least[asked.any], 0.9, method="inverted_cdf")), instance.decimals)
    ruled = f"The levels of {worst} rule out every base below {number(facts['least_base'])} (proven)"
    out.append(f"{ruled}; nine in ten of these cells ask for {_grouped(most)} or less.")
    if int(asked.width.max()) <= 2:
        out.append(
            "All levels are one unit of the last decimal: they keep a value from being told exactly, and no more."
        )
    return out


def _rounding(facts: Mapping[str, Any], undecided: Sequence[float], *, any_base: bool) -> str:
    base = facts["base"]
    if facts["base_found"]:
        row = next(row for row in facts["table"] if row.answer == "protects" and _at(row, base))
        finest = (
            " One that is not round tells the level it was made for: publish with a larger, round one."
            if any_base
            else ""
        )
        smaller = any(
            row.answer == "none exists" and isinstance(row.method, ControlledRounding) for row in facts["table"]
        )
        rest = "every smaller one looked at is proven not to do" if smaller else "no smaller one was looked at"
        if undecided:
            rest = f"not decided in time: {_few(undecided)}"
        return f"Rounding: base {number(base)} protects, the smallest found ({rest}); it {_costs(row)}.{finest}"
    public = next((row for row in facts["table"] if row.answer == "public only" and _at(row, base)), None)
    if public is not None:
        return f"Rounding: base {number(base)} protects against the public, where it {_costs(public)}; against all attackers it was not decided."
    if base is not None:
        return f"Rounding: no protecting one was found in the time there was; base {number(base)} is the smallest that is not ruled out."
    return "Rounding: none protects at any of the bases looked at (proven)."


def _at(row: AdviceRow, base: float) -> bool:
    """Whether it is the rounding to this base."""
    return isinstance(row.method, ControlledRounding) and row.steps == 1 and row.method.base == base


def _other(row: AdviceRow) -> str:
    name = f"{'Adjustment' if isinstance(row.method, ControlledAdjustment) else 'Perturbation'} ({said(row.method)})"
    if row.answer == "protects":
        return f"{name}: it {_costs(row)}."
    if row.answer == "public only":
        return f"{name}: against the public it {_costs(row)}; against all attackers it was not decided."
    if row.answer == "undecided":
        return f"{name}: not decided in {row.seconds:.0f} s."
    return f"{name}: {'none exists (proven)' if row.answer == 'none exists' else 'refused'}."


def _use(facts: Mapping[str, Any]) -> str:
    method = facts["method"]
    if method is None:
        return f"No method can be recommended: {facts['why']}; give more time."
    return f"Use cellward {said(method)}: {facts['why']}."


def _costs(row: AdviceRow) -> str:
    assert row.cost is not None
    c = row.cost
    return (
        f"changes values by {c.sum_abs:,.10g} in all, {percent(c.share)} of them ({percent(c.totals)} of the sums, {percent(c.leaves)} of the rest; "
        f"{row.seconds:.1f} s)"
    )


def _few(bases: Sequence[float]) -> str:
    more = f" and {len(bases) - SHOWN:,} more" if len(bases) > SHOWN else ""
    return ", ".join(map(number, bases[:SHOWN])) + more


def _grouped(text: str) -> str:
    whole, point, rest = text.partition(".")
    return f"{int(whole):,}{point}{rest}"
