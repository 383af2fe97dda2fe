"""Outcome: what came of a protection in a few lines: status, proof, protection, notes, and the files written."""

from __future__ import annotations

from collections.abc import Sequence
from pathlib import Path

from cellward.protect.methods import method_titled
from cellward.protection import Protection
from cellward.publication.ranges import Ranges
from cellward.publication.withheld import Withheld
from cellward.report.section import Lines, Section
from cellward.table.table import Table


def outcome(result: Protection, table: Table) -> Section:
    """Of a result that may be released; of any other, why not."""
    if not result.releasable or result.publication is None:
        status = result.status if result.publication is None else "not protected"
        said = f"{status}: {reason_of(result)}. Nothing was written."
        return Section("outcome", (Lines((said, *(f"note: {note}" for note in notes(result)))),))
    came_out, proven, shown = conclusions(result)
    return Section(
        "outcome",
        (
            Lines(
                (
                    repr(table),
                    came_out,
                    f"verified: every equation holds exactly, {_values_are(result)} ({result.seconds:.2f} s, {result.engine})",
                    proven,
                    shown,
                    *(f"note: {note}" for note in notes(result)),
                )
            ),
        ),
    )


def conclusions(result: Protection) -> tuple[str, str, str]:
    """Of a result that may be released: what came out, what is proven of it, and what is shown of the protection."""
    return _status(result), _proven(result), _shown(result)


def without_levels(result: Protection) -> int:
    """How many cells at risk have no level of their own, and are kept from exact disclosure only."""
    s = result.instance.sensitivity
    given = (s.lpl > 0) | (s.upl > 0) | (s.spl > 0)
    return int((~given[s.unsafe]).sum())


def notes(result: Protection) -> list[str]:
    """That it was stopped, and what the method has to say of its result."""
    method = method_titled(result.method.get("name"))
    stopped = ["the search was stopped (Ctrl-C); a longer one may find a better table"] if result.run.stopped else []
    return stopped + ([] if method is None else method.notes(result))


def reason_of(result: Protection) -> str:
    """Why nothing may be released, as a clause."""
    if result.reason or result.publication is None:
        return result.reason
    return (result.given_away if result.ignore_levels else result.missing)[0]


def files(paths: Sequence[Path], eyes: dict[str, str]) -> Section:
    """The files written, and for whose eyes each is."""
    return Section("files", (Lines(tuple(f"  {path}  ({eyes.get(path.name, 'confidential')})" for path in paths)),))


def _status(result: Protection) -> str:
    """Status and changes; what is called least is what was made small, and proven only where the certificate proves it."""
    loss, what = result.loss(), _made_small(result)
    if isinstance(result.publication, Ranges):
        return f"{result.status}: {what} {_number(result.objective)} ({_how_least(result)})"
    if isinstance(result.publication, Withheld):
        return f"{result.status}: {what} {_number(result.objective)} ({_how_least(result)}); withheld in all {_number(loss.sum_abs)}"
    moved = f"largest {_number(loss.max_abs)}, {loss.changed:,} cells changed"
    head = f"{result.status}: {what} {_number(result.objective)} ({_how_least(result)})"
    if what == "sum of changes":
        return f"{head}, {moved}"
    return f"{head}; plain sum of changes {_number(loss.sum_abs)}, {moved}"


def _values_are(result: Protection) -> str:
    if isinstance(result.publication, Ranges):
        return "every range holds its value"
    return (
        "every value printed is the true one" if isinstance(result.publication, Withheld) else "every value is allowed"
    )


def _how_least(result: Protection) -> str:
    if result.certified_bound == result.objective:
        return "proven least"
    return (
        "least by the solver's word"
        if result.status == "optimal"
        else f"not proven least, gap {100 * (result.gap or 0):.3g} %"
    )


def _made_small(result: Protection) -> str:
    """What the objective is of these values."""
    if isinstance(result.publication, Withheld):
        return "weight of cells withheld for others"
    if isinstance(result.publication, Ranges):
        return "total width"
    if not result.sought.plain:
        return "objective"
    return "sum of changes" if result.objective == result.loss().sum_abs else "weighted sum of changes"


def _number(x: float | None) -> str:
    """A number in the user's units, without the decimals that a whole one does not have."""
    return "" if x is None else f"{int(x):,}" if x == int(x) else f"{x:,}"


def _proven(result: Protection) -> str:
    """What of the optimum is proven in exact arithmetic."""
    what = _made_small(result)
    if result.certified_bound is None:
        return f"certified: no bound on the {what} was proven"
    told = result.knowledge
    chosen = result.sought.allowed is not None and result.sought.allowed.gaps is not None
    senses = " with the same levels, whatever the senses" if chosen else " with the same senses and levels"
    drawn = "" if told is None or told.intervals else senses
    if result.certified_bound == result.objective:
        return f"certified: no smaller {what} exists{drawn}, proven in exact arithmetic"
    return f"certified: no {what} below {_number(result.certified_bound)} exists{drawn}, proven in exact arithmetic"


def _shown(result: Protection) -> str:
    """What of the protection is shown."""
    if result.protected is None:
        return "protection: no levels asked"
    if result.ignore_levels:
        if isinstance(result.publication, Withheld):
            return "protection: no cell at risk can be worked out exactly by the public; the levels were NOT LOOKED AT (--guarantee exact)"
        return "protection: NOT LOOKED AT, the levels were ignored (--ignore-levels)"
    evidence, count = result.evidence, len(result.instance.attackers)
    head = f"protected: {evidence.requirements:,} requirements against {count:,} attacker{'s' * (count > 1)}"
    if bare := without_levels(result):
        head += f" ({bare:,} cell{'s' * (bare > 1)} at risk without a level: of each a unit at least is kept unknown)"
    if result.knowledge is not None and not result.knowledge.intervals:
        return f"{head} met by distance: each value is published at least its level away from the truth; insiders are not covered"
    sums = "" if result.sums is None else (
        f", {result.sums.evidence.requirements:,} on sums of cells by {len(result.sums.evidence.shown):,} more"
    )  # fmt: skip
    return f"{head} shown by {len(evidence.shown):,} witness tables{sums}"
