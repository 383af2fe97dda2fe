"""FewWidths: ranges of at most so many different widths, each wide enough for its cell, that cost least in all.

Legend: cell i needs a range of width need_i, can have one of at most most_i (the public bounds), and pays w_i for each unit. Of some widths the cell
takes the least that is enough. Which are best is found by dynamic programming over the needs in increasing order: a least choice consists of needs.
"""

from __future__ import annotations

from collections.abc import Sequence

INFINITY = float("inf")


def few_widths(need: Sequence[int], most: Sequence[float], weight: Sequence[int], many: int) -> list[int] | None:
    """The width of each range; None where no so few widths suit all.

    >>> few_widths([3, 5, 5, 9], [20, 20, 20, 20], [1, 1, 1, 1], 2)
    [5, 5, 5, 9]
    >>> few_widths([3, 9], [4, 20], [1, 1], 1) is None
    True
    """
    if not need:
        return []
    order = sorted(range(len(need)), key=lambda i: need[i])
    steps = sorted(set(need))
    at = {width: k for k, width in enumerate(steps)}
    total, least = [0] * (len(steps) + 1), [INFINITY] * len(steps)
    for i in order:
        k = at[need[i]]
        total[k + 1] += weight[i]
        least[k] = min(least[k], most[i])
    for k in range(len(steps)):
        total[k + 1] += total[k]
    # best[k]: the least cost of all needs up to step k, the last width being that step.
    best: list[float] = [0.0] + [INFINITY] * len(steps)
    came: list[list[int]] = []
    for _ in range(many):
        new, by = [0.0] + [INFINITY] * len(steps), [0] * (len(steps) + 1)
        for k, width in enumerate(steps):
            room = INFINITY
            for j in range(k, -1, -1):
                room = min(room, least[j])
                if room < width:
                    break
                cost = best[j] + width * (total[k + 1] - total[j])
                if cost < new[k + 1]:
                    new[k + 1], by[k + 1] = cost, j
        came.append(by)
        best = new
    if best[-1] == INFINITY:
        return None
    chosen, k = [], len(steps)
    for by in reversed(came):
        if k == 0:
            break
        chosen.append(steps[k - 1])
        k = by[k]
    return [min(width for width in chosen if width >= own) for own in need]
