"""Obstacles: levels and ends of cells that do not go together, in words: bounds, fixed values, zeros, ways that are closed."""

from __future__ import annotations

from collections.abc import Sequence
from typing import TYPE_CHECKING

import numpy as np

from cellward.protect.adjustment.conflict import Conflict
from cellward.protect.adjustment.explained import LEVEL, least_conflict
from cellward.protect.adjustment.needs import Room
from cellward.protect.adjustment.repaired import asked_of, own_bounds
from cellward.protect.contradiction import HIGH, LOW, End
from cellward.protection import Obstacle

if TYPE_CHECKING:
    from cellward.protect.adjustment.attempt import AdjustmentAttempt

SHARE, MOST_S = 0.3, 20.0
"""The part of the time left in which a small conflict is looked for, and the most of it."""
SHOWN = 6


def obstacles(attempt: AdjustmentAttempt, tree: Sequence[int | Conflict]) -> tuple[Obstacle, ...]:
    """Of a proof that no senses have a table; nothing where none is proven anew."""
    used = [node.equation for node in tree if isinstance(node, Conflict) and len(node.equation)]
    if not used:
        return ()
    left = attempt.budget.left
    budget = attempt.budget.part(MOST_S if left is None else min(MOST_S, SHARE * left))
    equations = np.unique(np.concatenate(used))
    ends = least_conflict(attempt.relations, Room(*attempt.free), asked_of(attempt), equations, budget)
    return _named(attempt, ends)


def obstacles_of_one(attempt: AdjustmentAttempt, cell: int) -> tuple[Obstacle, ...]:
    """Of a cell whose room leaves no value that is far enough off."""
    up, down = asked_of(attempt).of(cell)
    ends: set[End] = {(cell, LEVEL)} | ({(cell, HIGH)} if up else set()) | ({(cell, LOW)} if down else set())
    return _named(attempt, ends)


def together(conflict: Sequence[Obstacle]) -> str:
    """Several obstacles as one subject."""
    words = [str(one) for one in conflict[:SHOWN]]
    if len(conflict) > SHOWN:
        return f"{', '.join(words)} and {len(conflict) - SHOWN:,} more"
    return words[0] if len(words) == 1 else f"{', '.join(words[:-1])} and {words[-1]}"


def _named(attempt: AdjustmentAttempt, ends: frozenset[End] | set[End]) -> tuple[Obstacle, ...]:
    low, high = own_bounds(attempt)
    rises, falls = attempt.one_way
    found: dict[Obstacle, None] = {}
    for i, side in sorted(ends, key=lambda end: (end[1] != LEVEL, end[0], end[1])):
        if side == LEVEL:
            what = "level"
        elif attempt.still[i]:
            what = "fixed value" if attempt.wide.a[i] or i >= attempt.fine.cells else "zero"
        elif (side == LOW and rises[i]) or (side == HIGH and falls[i]):
            what = "only way (only_up)" if side == LOW else "only way (only_down)"
        elif (low if side == LOW else high)[i]:
            what = "lower bound" if side == LOW else "upper bound"
        else:
            what = "largest change (max_change)" if attempt.method.max_change is not None else "range of values"
        found[Obstacle(cell=attempt.stands_for(i), name=attempt.names([i]), what=what)] = None
    return tuple(found)
