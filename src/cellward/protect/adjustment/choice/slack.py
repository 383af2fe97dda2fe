"""Slack: senses drawn from the key among those whose distance is within a share of the best that was found.

From the best senses found, cells are turned towards the senses that were drawn for them, in an order drawn from the key as well, as long as the least
distance for the senses keeps within the share: many at a time, and half as many where that is too dear, down to single cells. Which senses are left
as chosen is then a matter of key and table, where chosen senses are one of the table alone.
"""

from __future__ import annotations

from collections.abc import Callable
from dataclasses import dataclass

import numpy as np

from cellward.exact import Bools, Ints
from cellward.protect.adjustment.choice.classes import Classes
from cellward.solve.budget import Budget

PARTS = 4
"""At first so many parts of what is left to turn are tried one after the other."""


@dataclass(frozen=True, eq=False)
class Wish:
    """``drawn`` senses of the cells at risk, the ``order`` in which they are turned towards them, and the ``share`` that may be lost by it."""

    drawn: Ints
    order: Ints
    share: float


def towards(
    wish: Wish,
    best: Ints,
    cost: float,
    one_way: Bools,
    classes: Classes | None,
    cost_of: Callable[[Ints], float | None],
    budget: Budget,
) -> Ints:
    """Senses towards those drawn that cost at most the share more than ``cost``, that of the ``best``."""
    limit, sense = cost * (1 + wish.share), best
    waiting = _groups(wish, best, one_way, classes)
    size = max(1, len(waiting) // PARTS)
    while waiting and not budget.over:
        part = waiting[:size]
        tried = sense.copy()
        for group in part:
            tried[group] *= -1
        found = cost_of(tried)
        if found is not None and found <= limit:
            sense, waiting, size = tried, waiting[size:], 2 * size
        elif len(part) > 1:
            size = len(part) // 2
        else:
            waiting = waiting[1:]
    return sense


def _groups(wish: Wish, sense: Ints, one_way: Bools, classes: Classes | None) -> list[Ints]:
    """Cells to be turned together, since they always move alike, in the order of the first; those that are not as drawn and can be."""
    alike = np.arange(len(wish.drawn)) if classes is None else classes.of
    if classes is not None:  # of one mind: that of the first
        first = np.zeros(len(classes.at), np.int64)
        for k in wish.order[::-1].tolist():
            first[alike[k]] = wish.drawn[k] * classes.sign[k]
        wanted = first[alike] * classes.sign
    else:
        wanted = wish.drawn
    turns = (wanted != sense) & ~one_way
    groups: dict[int, list[int]] = {}
    for k in wish.order.tolist():
        if turns[k]:
            groups.setdefault(int(alike[k]), []).append(k)
    return [np.array(group, np.int64) for group in groups.values()]
