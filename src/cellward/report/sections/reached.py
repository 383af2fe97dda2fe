"""What attackers are left with: of each cell at risk the values that the public must at least think possible, beside what was asked. Confidential.

Shown by the witness tables of the certificate: each is a table that fits all that is published, so nobody can rule its values out. What an attacker
must think possible may be wider still; an audit has the exact ends.
"""

from __future__ import annotations

from dataclasses import dataclass
from typing import Any

import numpy as np

from cellward.audit.audit import Audit
from cellward.exact import Ints
from cellward.protection import Protection
from cellward.report.numbers import many
from cellward.report.section import AT_RISK, Block, Cells, Column, Lines
from cellward.report.sections.cells import some_cells

_FAR = 2**53


@dataclass(frozen=True, eq=False)
class Reached:
    """Cells in the order of how little is left of them beside what was asked, ``attacker`` who is kept out, and whether the ends are exact.

    Scaled integers: what was asked (``below``, ``above`` the true value, ``width``) and the ends ``low`` and ``high`` that are left.
    """

    attacker: str
    cell: Ints
    below: Ints
    above: Ints
    width: Ints
    low: Ints
    high: Ints
    exactly: bool


def reached(result: Protection, audit: Audit | None = None) -> Reached | None:
    """What is shown of the first attacker of whom something is asked, or what an audit found; None where nothing is told in intervals."""
    known = result.knowledge
    if result.publication is None or known is None or not known.intervals:
        return None
    return _of_witnesses(result) if audit is None else _of_audit(result, audit)


def _of_witnesses(result: Protection) -> Reached | None:
    if result.ignore_levels or not result.protected:
        return None
    i = result.instance
    for k, attacker in enumerate(i.attackers):
        levels = attacker.asked(i.sensitivity.levels)
        if not len(levels):
            continue
        low, high = i.a.astype(object), i.a.astype(object)
        for one in result.evidence.shown:
            for who, cells in one.covers:
                if who == k:
                    moved, den = one.witness.shift[cells], one.witness.denominator
                    low[cells] = np.minimum(low[cells], i.a[cells] - (-moved // den))
                    high[cells] = np.maximum(high[cells], i.a[cells] + moved // den)
        ends = (np.array([int(side[c]) for c in levels.cell.tolist()], np.int64) for side in (low, high))
        return _sorted(attacker.name, levels.cell, (levels.lpl, levels.upl, levels.spl), *ends, exactly=False)
    return None


def _of_audit(result: Protection, audit: Audit) -> Reached | None:
    i, c = result.instance, audit.intervals
    first = next(iter(dict.fromkeys(c["attacker"].tolist())), None)
    levels = i.sensitivity.levels
    rows = np.flatnonzero((c["attacker"] == first) & np.isin(c["cell"], levels.cell))
    if first is None or not audit.tells or not len(rows):
        return None
    at = np.searchsorted(levels.cell, c["cell"][rows])
    unit = 10.0**i.decimals
    ends = (
        np.clip(np.nan_to_num(np.rint(c[side][rows] * unit), posinf=_FAR, neginf=-_FAR), -_FAR, _FAR).astype(np.int64)
        for side in ("lower", "upper")
    )
    asked = (levels.lpl[at], levels.upl[at], levels.spl[at])
    return _sorted(str(first), levels.cell[at], asked, *ends, exactly=not audit.open)


def _sorted(name: str, cell: Ints, asked: tuple[Ints, Ints, Ints], low: Ints, high: Ints, *, exactly: bool) -> Reached:
    """The tightest first."""
    lpl, upl, spl = asked
    wanted = np.maximum(np.maximum(lpl + upl, spl), 1)
    order = np.lexsort((cell, (high - low) / wanted))
    ordered = {"below": lpl, "above": upl, "width": spl, "low": low, "high": high}
    return Reached(name, cell[order], **{key: column[order] for key, column in ordered.items()}, exactly=exactly)


def reached_blocks(result: Protection, audit: Audit | None = None) -> list[Block]:
    """In words, and cell by cell."""
    found = reached(result, audit)
    if found is None:
        return [Lines((_why_none(result),))]
    who = "The public" if found.attacker.startswith("external") else f"The attacker {found.attacker}"
    surely = "can narrow each cell at risk down to exactly the interval below, and no further" if found.exactly else (
        "must think possible, of each cell at risk, at least all between the two tables that reach furthest; the interval may be wider still"
    )  # fmt: skip
    others = len(result.instance.attackers) - 1
    lines = [
        f"{who} {surely}. Beside it stands the interval that was asked for, which it must cover.",
    ]
    if others:
        known = (
            f"That the levels hold is shown for {many(others, 'more attacker')} as well; the certificate names them."
        )
        lines.append(known)
    return [Lines(tuple(lines)), _cells(result, found)]


def _cells(result: Protection, found: Reached) -> Cells:
    i, cell = result.instance, found.cell
    a = i.a[cell]
    columns: list[Any] = [
        ("original", a, None),
        ("asked from", a - found.below, None),
        ("asked to", a + found.above, None),
        ("width asked", found.width, found.width == 0),
        ("left from", found.low, found.low <= -_FAR),
        ("left to", found.high, found.high >= _FAR),
    ]
    columns = [column for column in columns if column[2] is None or not column[2].all()]
    made = [Column(name, scaled, i.decimals, absent) for name, scaled, absent in columns]
    note = "The tightest intervals come first."
    if any(column[2] is not None and column[2].any() for column in columns):
        note += " An empty field: nothing is asked of that kind, or the interval has no end on that side."
    marks = np.full(len(cell), AT_RISK, np.uint8)
    return some_cells(i.labels, cell, made, marks, "Cells at risk: what was asked, what is left", note)


def _why_none(result: Protection) -> str:
    if result.publication is None:
        return "Nothing is published, so nobody is left with anything."
    if result.knowledge is not None and not result.knowledge.intervals:
        return (
            "An adjustment publishes neither how far nor which way values moved, so it tells no intervals. Each cell at risk is published at "
            "least its protection level away from the truth."
        )
    if result.ignore_levels:
        return "The protection levels were not looked at, as was asked for; nothing is shown of intervals."
    if result.protected is None:
        return "No protection levels were asked, so there are no intervals to hold against them."
    return "The levels are not shown to be met, so nothing is released and no intervals are shown."
