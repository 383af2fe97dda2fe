"""Ladder: how many steps are tried in turn where neighbouring multiples do not do, and how a release says so.

One number n: 1 to n for all cells alike. Numbers by level of sums: neighbouring multiples first, then these. ``auto``: leaves stay next to their
values while sums may go further, more from level to level; where nothing is found in time, leaves are rounded one by one, which always adds up, and
the search goes on from there. What is published is then what the table needs.
"""

from __future__ import annotations

from collections.abc import Iterator, Sequence
from dataclasses import dataclass, replace
from itertools import groupby
from typing import TYPE_CHECKING, Any

import numpy as np

from cellward.errors import InputError
from cellward.exact import Ints
from cellward.instance import by_level
from cellward.protect.option import MOST_STEPS
from cellward.protect.rounding.rounded_leaves import FEWER, PASSES, QUICK, rounded_leaves
from cellward.protection import Protection
from cellward.table.relations import Relations
from cellward.table.table import Table

if TYPE_CHECKING:
    from cellward.protect.rounding.attempt import RoundingAttempt

FEW_CELLS = 4000
"""Up to so many cells every rung is tried; in larger tables rounded leaves come next."""
MOST_FOR_SUMS = 3
"""Steps that ``auto`` tries for sums before leaves may go further too."""
FIRST_SHARE, MORE_SHARE = 0.4, 0.9
"""The part of the time left in which a first rounding to neighbouring multiples must be found, and that for each number of steps after it."""
WIDER_SHARE = 0.6
"""The part of the time left in which two steps of all cells must be shown to protect, where levels of a large table are asked."""
UNLIKELY, UNLIKELY_SHARE, ALONE_SHARE = 0.075, 0.1, 0.03
"""Where rounded leaves leave more than this share of the cells a base or more off, neighbouring multiples have this part of the time: tables of five
dimensions leave 10 to 14 % and seem to have no such rounding, tables of three and four 3 to 6 %. And where small counts alone are rounded."""


def climb(attempt: RoundingAttempt, most: Any) -> Protection:
    """The first result on the ladder that is one; ``none``: no ladder at all."""
    if most in ("none", 1) or _fine(attempt):
        return attempt.solve()
    if isinstance(most, int):
        return _first(attempt, [np.full_like(attempt.steps, s) for s in range(1, most + 1)])
    if not isinstance(most, str):
        given = np.array(by_level(attempt.instance.relations, most, "max_steps"), np.int64)
        return _first(attempt, [attempt.steps, given])
    return _as_few_as_found(attempt)


def _fine(attempt: RoundingAttempt) -> bool:
    """Whether a base is one unit of the table: every value is a multiple of it, so that with more steps the least table is the true one."""
    return bool(np.any(attempt.base[attempt.rounded] <= attempt.instance.sensitivity.unit))


def _first(attempt: RoundingAttempt, ladder: Sequence[Ints]) -> Protection:
    """The first that is not proven to be impossible; of the last one, why."""
    for rung, steps in enumerate(ladder, start=1):
        attempt.budget.watch.anew()
        found = replace(attempt, steps=steps, explains=rung == len(ladder)).solve()
        if found.status != "infeasible":
            break
    return found


def _as_few_as_found(attempt: RoundingAttempt) -> Protection:
    """Neighbouring multiples, then sums further and further, then what rounded leaves lead to; of large tables that comes before sums go further."""
    whole, large = attempt.budget, attempt.instance.cells > FEW_CELLS
    quick = replace(attempt, explains=False)
    look = _FirstLook.of(attempt) if large else _FirstLook()
    first = _neighbours(replace(quick, start=look.neighbours), look.share, large=large)
    if first.publication is not None:
        return first
    last, steps = first, attempt.steps

    def rounded() -> Ints | None:
        return look.table if whole.over else _start(attempt, FEWER if attempt.levels else PASSES)

    start = rounded() if large else None  # a search from nothing takes long there
    if first.status == "infeasible" and start is None and not whole.stopped:
        for steps in _further(attempt):
            more = None if whole.left is None else MORE_SHARE * whole.left
            whole.watch.anew()
            last = replace(quick, steps=steps, budget=whole.part(more)).solve()
            if last.publication is not None:
                return _tightened(attempt, last)
            if last.status != "infeasible":
                break
    start = start if large else rounded()
    if start is None and last is first and whole.over:
        return _undecided(attempt, first)
    away = None if start is None else np.abs(start - attempt.instance.a) // attempt.base + 1
    if start is None or away is None or int(away.max(initial=1)) > MOST_STEPS:
        return replace(attempt, steps=steps).solve() if last.status == "infeasible" else last
    whole.watch.anew()
    needed = _by_height(attempt.instance.relations, away)
    wider = (
        attempt.levels and large
    )  # a second step of all cells protects nearly every such table, and a third the others
    begun = replace(attempt, steps=np.maximum(needed, 2) if wider else needed, start=start)
    if whole.over:
        found = begun.taken(start)
        return _undecided(attempt, last) if attempt.levels and found.protected is False else found
    found = replace(begun, first_share=WIDER_SHARE if wider else 1.0).solve()
    if found.publication is None and wider:
        if whole.over:
            return _undecided(attempt, found)
        whole.watch.anew()
        found = replace(begun, steps=begun.steps + 1).solve()
    return _tightened(attempt, found) if found.publication is not None else found


def _undecided(attempt: RoundingAttempt, last: Protection) -> Protection:
    """Where the time was over before more steps were tried: nothing is proven of these, so that there may well be a table."""
    if last.status != "infeasible":
        return last
    steps = int(np.max(last.method["steps"]))
    tried = "neighbouring multiples do" if steps == 1 else f"multiples less than {steps} bases away do"
    reason = f"{tried} not suffice ({last.run.engine}), and no rounding with more steps was found{attempt.within}; give more time"
    return attempt.failed(reason, last.run.engine)


def _start(attempt: RoundingAttempt, passes: int) -> Ints | None:
    """Rounded leaves, where all cells are rounded or small ones alone."""
    alone = attempt.method.only == "small"
    if not alone and not attempt.rounded.all():
        return None
    return rounded_leaves(attempt.instance, attempt.base, attempt.budget, alone=alone, passes=passes)


@dataclass(frozen=True)
class _FirstLook:
    """Rounded leaves, quickly: a table at hand from the first second, and what it says of neighbouring multiples: the part of the time for them."""

    table: Ints | None = None
    neighbours: Ints | None = None
    """The same where all of its values are next to the true ones."""
    share: float = FIRST_SHARE

    @staticmethod
    def of(attempt: RoundingAttempt) -> _FirstLook:
        seen = None if attempt.budget.left is None else _start(attempt, QUICK)
        if seen is None:
            return _FirstLook()
        attempt.tell(seen)
        far = np.abs(seen - attempt.instance.a) >= attempt.base
        if attempt.method.only == "small":
            return _FirstLook(seen, share=ALONE_SHARE)
        if not far.any():
            return _FirstLook(seen, seen)
        unlikely = float(np.mean(far)) > UNLIKELY and not attempt.nested
        return _FirstLook(seen, share=UNLIKELY_SHARE if unlikely else FIRST_SHARE)


def _neighbours(attempt: RoundingAttempt, share: float, *, large: bool) -> Protection:
    """A rounding to neighbouring multiples; where none is found in a part of the time, none is."""
    whole, left = attempt.budget, attempt.budget.left
    anytime = large and share == FIRST_SHARE and attempt.method.goal != "any"
    if left is None or anytime:
        return replace(attempt, first_share=share).solve()
    found = replace(attempt, budget=whole.part(share * left)).solve()
    if found.status != "feasible" or whole.over or attempt.method.goal == "any":
        return found
    longer = attempt.solve()
    worse = longer.objective is None or (found.objective is not None and longer.objective > found.objective)
    return found if worse else longer


def _further(attempt: RoundingAttempt) -> Iterator[Ints]:
    """Sums further than leaves, more from level to level; and where levels are asked, which may need it of leaves too, all cells alike."""
    height = attempt.instance.relations.height
    highest = int(height.max(initial=0))
    for most in range(2, min(highest + 1, MOST_FOR_SUMS) + 1):
        yield np.minimum(height + 1, most)
    if attempt.levels:
        for most in range(2, MOST_FOR_SUMS + 1):
            yield np.full_like(height, most)


def _tightened(attempt: RoundingAttempt, found: Protection) -> Protection:
    """The same values under the steps that they need, level by level; where levels are asked, what is told stays as it was shown."""
    assert found.publication is not None and found.publication.v is not None
    v, stated = found.publication.v, np.asarray(found.method["steps"])
    needed = _by_height(attempt.instance.relations, np.abs(v - attempt.instance.a) // attempt.base + 1)
    if attempt.levels or bool(np.all(needed == stated)):
        return found
    return replace(attempt, steps=needed, start=v).restated(found)


def _by_height(relations: Relations, steps: Ints) -> Ints:
    """The most steps among the cells of each level of sums, for all cells of it."""
    most = np.ones(int(relations.height.max(initial=0)) + 1, np.int64)
    np.maximum.at(most, relations.height, steps)
    return most[relations.height]


# ---- what releases say -------------------------------------------------------------------------------------------------------------------------


def stated_steps(table: Table, said: Any) -> int | Ints:
    """The steps that a release states, one number or one a cell."""
    each = said if isinstance(said, list) else [said]
    if any(type(steps) is not int or not 1 <= steps <= MOST_STEPS for steps in each):
        raise InputError(f"steps: {said!r} is not a whole number from 1 to {MOST_STEPS}, or one a cell")
    if not isinstance(said, list):
        return int(said)
    if len(said) != table.cells:
        raise InputError(f"steps: {len(said)} numbers for {table.cells} cells; give one, or one a cell")
    return np.array(said, np.int64)


def within(said: Any, most: Any, relations: Relations) -> bool:
    """Whether the steps that a release states are as many as were allowed, or fewer."""
    each = said if isinstance(said, list) else [said]
    if any(type(steps) is not int or not 1 <= steps <= MOST_STEPS for steps in each):
        return False
    if isinstance(said, list) and len(said) != relations.cells:
        return False
    if isinstance(most, str):
        return True
    if isinstance(most, int):
        return bool(max(each) <= most)
    allowed: Ints = np.array(by_level(relations, most, "max_steps"), np.int64)
    return bool(np.all(np.asarray(each) <= allowed))


def steps_in_words(result: Protection) -> str:
    """How far values may be from the true ones; empty where all are neighbouring multiples."""
    said, height = result.method["steps"], result.instance.relations.height
    if not isinstance(said, list):
        return "" if said == 1 else f"values are multiples less than {said} bases away"
    most = [int(np.asarray(said)[height == level].max()) for level in range(int(height.max(initial=0)) + 1)]
    parts = [f"cells that are no sum less than {_bases(most[0])} away"]
    for steps, run in groupby(range(1, len(most)), key=most.__getitem__):
        levels = list(run)
        which = f"level {levels[0]}" if len(levels) == 1 else f"levels {levels[0]} to {levels[-1]}"
        parts.append(f"sums of {which} less than {_bases(steps)} away")
    return f"published are {', '.join(parts)}"


def _bases(steps: int) -> str:
    return "one base" if steps == 1 else f"{steps} bases"
