"""Recommendation: which of the methods compared to use, and why; never one that is not shown to protect, and none where nothing is."""

from __future__ import annotations

from collections.abc import Sequence

from cellward.advise.advice import percent, said
from cellward.compare.row import Row
from cellward.instance import Instance
from cellward.protect.method import Method

WORTH = 0.5
"""An adjustment promises distances only, and crosses and ranges leave cells without a value: worth that where they lose at most this part."""
NOTHING_AT_RISK = (
    "No cell of this table is at risk, so nothing is recommended: it may be published as it is, or the cells at risk are still to be found "
    "(rules and table.find, or statuses and levels)."
)
NAMED = 3
"""Rivals, and methods in the way, that are named."""


def choose(rows: Sequence[Row]) -> Row | None:
    """Of those that are safe the one that loses least; None where none is safe, or nothing is at risk."""
    safe = [row for row in rows if row.safe]
    whole = min((row for row in safe if not _weaker(row)), key=lost, default=None)
    least = min((row for row in safe if _weaker(row)), key=lost, default=None)
    if whole is None or (least is not None and lost(least) <= WORTH * lost(whole)):
        return least or whole
    return whole


def _weaker(row: Row) -> bool:
    """Whether it promises distances only, or leaves cells without a value."""
    return row.kind != "values" or row.distances


def lost(row: Row) -> float:
    """What users lose of all values, as a share."""
    assert row.utility is not None
    return row.utility.loss


def words(rows: Sequence[Row], chosen: Row | None, instance: Instance) -> str:
    """The recommendation in a paragraph."""
    if not at_risk(instance):
        return NOTHING_AT_RISK
    if chosen is None:
        return " ".join((*_nothing(rows), *_rivals(rows)))
    assert isinstance(chosen.entry, Method)
    who = "the public" if len(instance.attackers) == 1 else f"all of {len(instance.attackers):,} attackers"
    first = f"Use {chosen.mark}, {chosen.setting} (cellward {said(chosen.entry)})."
    return " ".join((first, _promise(chosen, who), *_why(rows, chosen), *_rivals(rows), *_cut(rows, chosen)))


def at_risk(instance: Instance) -> bool:
    """Whether anything is to be kept from anybody."""
    return instance.asks or bool(instance.sensitivity.sums)


def _promise(chosen: Row, who: str) -> str:
    assert chosen.risk is not None
    many = "the one cell" if chosen.risk.asking == 1 else f"all {chosen.risk.asking:,} cells"
    many = many if chosen.risk.asking else "the sums of cells"
    shown = (
        f"Every level of {many} at risk is shown to hold against {who}, by tables that they must still think possible"
    )
    if chosen.distances:
        shown = f"The values of {many} at risk are as far off as their levels ask; no intervals are promised, and nothing against respondents"
    return f"{shown}. {_loss(chosen)}."


def _loss(row: Row) -> str:
    """What users lose, in a clause."""
    u = row.utility
    assert u is not None
    out = f"Users lose {percent(u.loss)} of all values ({percent(u.leaves)} in cells that are no sum, {percent(u.margins)} in the sums)"
    if u.unprinted:
        out += f", and {percent(u.unprinted)} of the cells have no value of their own"
    if u.cramers_v is not None:
        out += f"; Cramér's V of two-way slices moves by at most {u.cramers_v:.2g}"
    return out


def _why(rows: Sequence[Row], chosen: Row) -> list[str]:
    """Beside the others that are safe."""
    others = sorted((row for row in rows if row.safe and row is not chosen), key=lost)
    if not others:
        return ["Nothing else that was tried is shown to protect."]
    if _weaker(chosen) and (whole := [row for row in others if not _weaker(row)]):
        best = whole[0]
        return [
            f"Where every cell must have a value, and what attackers can conclude must be bounded, use {best.mark} ({best.setting}): it loses "
            f"{percent(lost(best))}, more than twice as much."
        ]
    less = [row for row in others if lost(row) < lost(chosen)]
    if not less:
        return [
            f"None of the {len(others)} others that protect loses less; next is {others[0].mark} ({others[0].setting}), {percent(lost(others[0]))}."
        ]
    return [f"{row.mark} ({row.setting}) loses less, {percent(lost(row))}, but {_but(row)}." for row in less[:NAMED]]


def _but(row: Row) -> str:
    if row.distances:
        return "promises distances only: nothing bounds what attackers may conclude"
    if row.kind == "values":
        return "changes more where it was not to"
    assert row.utility is not None
    what = "crosses" if row.kind == "withheld" else "ranges"
    return f"prints {what} in {percent(row.utility.unprinted)} of the cells, which users must fill by estimates of their own"


def _rivals(rows: Sequence[Row]) -> list[str]:
    """What attackers get of rivals, the one that loses least first."""
    drawn = sorted((row for row in rows if row.answer == "rival"), key=lost)
    out = []
    for row in drawn[:NAMED]:
        risk = row.risk
        assert risk is not None
        gets = f"attackers get {risk.unmet:,} of {risk.asking:,} cells at risk"
        if not risk.unmet and not risk.undecided:
            gets = "the attack found no cell disclosed in this draw, and no other draw is promised to do as well"
        if risk.undecided:
            gets += f", {risk.undecided:,} were not decided in the time"
        sums = "" if not risk.equations else f", and {risk.equations:,} of {risk.of_equations:,} sums no longer add up"
        out.append(f"{row.mark} ({row.setting}, a rival) loses {percent(lost(row))}: {gets}{sums}.")
    return [*out, "Rivals are there to compare with; nothing is released of them."] if out else []


def _nothing(rows: Sequence[Row]) -> list[str]:
    """That nothing is safe, what is in the way, and what to do."""
    out = ["Nothing that was tried is safe to release, so nothing is recommended."]
    ours = [row for row in rows if not row.rival]
    out += [f"{row.mark} ({row.setting}): {row.answer}, {row.reason}." for row in ours if row.reason][:NAMED]
    if any(row.limit_reached or row.answer == "undecided" for row in ours):
        out.append("Some were not decided in their time: give more (time_limit_s).")
    return [*out, "cellward advise says which base or distance the levels ask for."]


def _cut(rows: Sequence[Row], chosen: Row) -> list[str]:
    """What more time may change."""
    cut = [row.mark for row in rows if not row.rival and row.limit_reached and row is not chosen]
    own = "Its search was ended by the time it had: with more it may lose less." if chosen.limit_reached else ""
    others = f"Others that the time ended, and that may lose less with more: {', '.join(cut)}." if cut else ""
    return [one for one in (own, others) if one]
