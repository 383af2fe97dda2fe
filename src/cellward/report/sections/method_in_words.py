"""A method in words, read off what a release states of it and nothing else: fit for everybody."""

from __future__ import annotations

from collections.abc import Mapping
from typing import Any

from cellward.report.section import Figures

ADDITIVE = "The published numbers still add up: every total is exactly the sum of the published parts."
_MOST = 4
NAMES = {
    "name": "method",
    "base": "base",
    "within": "largest change",
    "steps": "steps",
    "knowledge": "what readers may conclude",
    "norm": "measure of change",
    "grid": "smallest unit published",
    "guarantee": "promise",
    "zeros": "cells of 0",
    "version": "version of cellward",
}
"""What the parameters are called in a report, where their own names say too little."""


def in_words(method: Mapping[str, Any]) -> list[str]:
    """How the published numbers were made, a sentence each.

    >>> in_words({"name": "controlled rounding", "base": "5", "steps": 1, "knowledge": "strict"})[0]
    'Every number is published as a multiple of 5, one of the two multiples around the true value.'
    """
    writer = _WRITERS.get(str(method.get("name", "")))
    return [f"The table was protected by {method.get('name', 'a method')}."] if writer is None else writer(method)


def amount(said: Any) -> str:
    """An amount that a release states once, or once a cell.

    >>> amount("5"), amount(["5", "10", "5"])
    ('5', '5 or 10, depending on the cell')
    """
    if not isinstance(said, list):
        return str(said)
    different = list(dict.fromkeys(map(str, said)))
    if len(different) > _MOST:
        return "an amount that release.json states cell by cell"
    *others, last = different
    return f"{', '.join(others)} or {last}, depending on the cell" if others else last


def parameters(method: Mapping[str, Any]) -> Figures:
    """All that is stated, as a table."""
    rows = tuple((NAMES.get(name, name.replace("_", " ")), _value(said)) for name, said in method.items())
    return Figures("", ("stated publicly", "value"), rows, names=2)


def _value(said: Any) -> str:
    if isinstance(said, list):
        return amount(said)
    return {True: "yes", False: "no"}.get(said, str(said)) if isinstance(said, bool) else str(said)


def _rounding(m: Mapping[str, Any]) -> list[str]:
    base, steps = amount(m.get("base")), m.get("steps", 1)
    near = "one of the two multiples around the true value" if steps == 1 else (
        f"at most {steps} steps from the true value" if isinstance(steps, int) else "a few steps from the true value at most"
    )  # fmt: skip
    out = [f"Every number is published as a multiple of {base}, {near}."]
    small = {
        "up": "Numbers above 0 and below the base are never published as 0.",
        "zero": "Numbers above 0 and below the base are always published as 0.",
        "only": "Only numbers above 0 and below the base are rounded; all others follow so that sums hold.",
    }
    out += [small[m["small_counts"]]] if m.get("small_counts") in small else []
    if m.get("knowledge") == "paper" and steps == 1:
        out.append("Numbers that were multiples already are published unchanged.")
    elif steps == 1:
        out.append("A published number says that the true one is less than one base away, up or down, and no more.")
    return [*out, ADDITIVE]


def _perturbation(m: Mapping[str, Any]) -> list[str]:
    if "within" in m:
        head = f"Every number was moved by a small amount, at most {amount(m['within'])} up or down."
    else:
        head = f"Every number was moved a little: it lies between the two multiples of {amount(m.get('base'))} around the true value."
    return [head, ADDITIVE]


def _adjustment(m: Mapping[str, Any]) -> list[str]:  # noqa: ARG001
    return [
        "The numbers that would give somebody away were moved far enough from the truth; the others follow as little as possible.",
        "Which numbers these are, by how much they moved and which way is not published.",
        ADDITIVE,
    ]


def _suppression(m: Mapping[str, Any]) -> list[str]:
    exact = "so that nobody can work them out exactly" if m.get("guarantee") == "exact" else (
        "so that nobody can work them out nearly enough to matter"
    )  # fmt: skip
    return [
        f"Numbers that are printed are the true ones. Some cells are withheld, {exact} from the sums of the table.",
        "Some of the withheld cells would give a respondent away, others only help to work those out. Which is which is not published.",
    ]


def _intervals(m: Mapping[str, Any]) -> list[str]:
    return [
        f"Some numbers are published as a range that holds the true value, with ends on multiples of {m.get('grid', '1')}; "
        "the others are exact (both ends are the same).",
        "The true value may lie anywhere in its range, not only in the middle.",
    ]


_WRITERS = {
    "controlled rounding": _rounding,
    "cell perturbation": _perturbation,
    "controlled tabular adjustment": _adjustment,
    "cell suppression": _suppression,
    "interval publication": _intervals,
}
