"""Repaired: an adjustment that cannot be, once more with bounds or levels that give way as far as the user allows, and a list of what gave way."""

from __future__ import annotations

from dataclasses import dataclass, replace
from typing import TYPE_CHECKING

import numpy as np

from cellward import exact
from cellward.exact import NO_BOUND, Bools, Ints
from cellward.protect.adjustment.details import AdjustmentDetails, Repair
from cellward.protect.adjustment.explained import Asked
from cellward.protect.adjustment.least_repair import LeastRepair, Repairable
from cellward.protect.adjustment.needs import UP, Room, given_senses
from cellward.protection import Protection
from cellward.solve.budget import Budget

if TYPE_CHECKING:
    from cellward.protect.adjustment.attempt import AdjustmentAttempt

SHARE = 0.5
"""The part of the time left in which the least repair is looked for."""
MOST_S = 60.0


@dataclass(frozen=True, eq=False)
class Lowered:
    """Levels that gave way: of these cells at risk so much is asked up and down now (0: not that way), in units of what is published."""

    cell: Ints
    up: Ints
    down: Ints


def solve_and_repair(attempt: AdjustmentAttempt) -> Protection:
    """What comes of an attempt; where nothing does, and something may give way, of one that is repaired."""
    found, allowed = attempt.solve(), attempt.method.repairs
    if not allowed or found.publication is not None or not len(attempt.needs.cell):
        return found
    by_levels = "levels" in allowed and not attempt.method.gives_senses
    least = _repairable(attempt).least(_time(attempt), bounds="bounds" in allowed, levels=by_levels)
    if least is None or not _changes(least):
        if "levels" in allowed:  # given senses, or no answer in time: levels of the senses at hand are bent
            return replace(attempt, bends=True).solve()
        if found.failure is None or "bounds" not in allowed:
            return found
        reason = f"{found.failure.reason}; no wider bounds were found that alone lead to a table"
        return replace(found, failure=replace(found.failure, reason=reason))
    again, repairs = _repaired(attempt, least)
    result = again.solve()
    if not isinstance(result.details, AdjustmentDetails):
        return result
    how = "" if least.proven else ", the least that was found in the time"
    said = f"repaired (repair={attempt.method.repair or 'levels'!r}{how}): {_listed(repairs)}"
    bent = sum(one.what == "level" for one in repairs)
    details = replace(result.details, repairs=repairs, bent=bent, notes=(said, *result.details.notes))
    return replace(result, details=details)


def _time(attempt: AdjustmentAttempt) -> Budget:
    left = attempt.budget.left
    return attempt.budget.part(MOST_S if left is None else min(MOST_S, SHARE * left))


def _changes(least: LeastRepair) -> bool:
    return bool(least.below.any() or least.above.any() or least.short.any())


def _repairable(attempt: AdjustmentAttempt) -> Repairable:
    """The instance as its integer program: only the table's own bounds may be widened, not what the method's options say of cells."""
    lo, hi = attempt.free
    low, high = own_bounds(attempt)
    step = 0 if attempt.method.grid is None else attempt.step
    return Repairable(
        relations=attempt.relations,
        room=Room(lo, hi),
        asked=asked_of(attempt),
        base=np.zeros_like(lo) if not step else (attempt.origin - attempt.wide.a) % step,
        step=step,
        low=low,
        high=high,
        weight=attempt.wide.weight.astype(float),
    )


def own_bounds(attempt: AdjustmentAttempt) -> tuple[Bools, Bools]:
    """Which ends of the room are bounds of the table, and nothing besides."""
    (lo, hi), wide = attempt.free, attempt.wide
    low = (wide.lower > -NO_BOUND) & (lo == wide.lower - wide.a)
    high = (wide.upper < NO_BOUND) & (hi == wide.upper - wide.a)
    stays = attempt.still
    rises, falls = attempt.one_way
    if attempt.method.max_change is not None:
        held = np.ones(wide.cells, bool)
        held[attempt.needs.cell] = False
        stays = stays | held
    return low & ~stays & ~rises, high & ~stays & ~falls


def asked_of(attempt: AdjustmentAttempt) -> Asked:
    """The levels asked either way, only the one where senses are given."""
    up, down = attempt.asked
    cell = attempt.needs.cell
    if attempt.method.gives_senses:
        sense = given_senses(attempt.method.senses, attempt.wide, cell)
        up, down = np.where(sense == UP, up, 0), np.where(sense == UP, 0, down)
    return Asked(cell, up, down)


def _repaired(attempt: AdjustmentAttempt, least: LeastRepair) -> tuple[AdjustmentAttempt, tuple[Repair, ...]]:
    """The attempt with what gives way, and a list of it."""
    i, factor, n = attempt.instance, attempt.factor, attempt.instance.cells
    lower = np.where(least.below[:n] > 0, i.lower - -(-least.below[:n] // factor), i.lower)
    upper = np.where(least.above[:n] > 0, i.upper + -(-least.above[:n] // factor), i.upper)
    repairs = []
    for what, was, now in (("lower bound", i.lower, lower), ("upper bound", i.upper, upper)):
        for cell in np.flatnonzero(was != now).tolist():
            own = (exact.short(int(x[cell]), i.decimals) for x in (was, now))
            repairs.append(Repair(cell, i.labels.name(cell), what, *own))
    needs, short = attempt.needs, least.short
    for p in np.flatnonzero(short > 0).tolist():
        level, at = int((needs.up if least.rises[p] else needs.down)[p]), int(needs.cell[p])
        left = max(level - int(short[p]), 0)
        own = (exact.short(x, attempt.fine.decimals) for x in (level, left))
        repairs.append(Repair(attempt.stands_for(at), attempt.names([at]), "level" if level else "closed sides", *own))
    up = np.where(least.rises & (short > 0), np.maximum(needs.up - short, 0), needs.up)
    down = np.where(~least.rises & (short > 0), np.maximum(needs.down - short, 0), needs.down)
    gone = (short > 0) & np.where(
        least.rises, up == 0, down == 0
    )  # nothing is left of the level: the cell need not move
    up, down = np.where(gone, 0, up), np.where(gone, 0, down)
    lowered = Lowered(needs.cell, up, down) if short.any() else None
    return replace(attempt, instance=replace(i, lower=lower, upper=upper), lowered=lowered), tuple(repairs)


def _listed(repairs: tuple[Repair, ...], shown: int = 4) -> str:
    more = f" and {len(repairs) - shown:,} more" if len(repairs) > shown else ""
    return f"{'; '.join(f'{one.what} of {one.name} {one.was} → {one.now}' for one in repairs[:shown])}{more}"
