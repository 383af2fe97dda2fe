"""Annealing: leaves of a table turned one by one or in pairs, by a compiled loop, until their sums are near to what is wanted.

Every leaf has two values, ``turn`` apart. A pass proposes as many turns as there are leaves: one leaf, or a pair below a common sum turned against
each other, which leaves that sum and all above it as they are. What makes the measure smaller is taken; what makes it larger by δ with probability
exp(−δ/T), while T falls from the size of a usual turn to a small part of it. Of cells off by d the measure is

    Σ w·|d| + dear·(e + far·max(0, e − base)),  e = max(0, |d| − base + 1),

so that few cells are off by a base or more, and none by two where that can be, as ``far`` rises. No turn takes a cell below its ``least``, unless it
is there already and rises.

Where few cells are still off by a base or more, what they cost grows while they are, and proposals turn leaves below them: tables with large values
reach their neighbouring multiples this way within a second, tables of small counts do not.
The same seed and number of passes give the same leaves; a time limit ends the passes early, at a temperature that falls with the clock.
"""

from __future__ import annotations

from dataclasses import dataclass
from typing import Any

import numpy as np

from cellward.exact import Bools, Floats, Ints
from cellward.solve.budget import Budget
from cellward.solve.compiled import compiled
from cellward.table.relations import ranges

HOT, COLD = 0.06, 0.008
"""Temperatures at first and in the end, in parts of what a usual turn changes."""
PAIRS = 0.8
"""The share of proposals that are pairs."""
DEAR = 0.7
"""What a unit beyond the nearest multiples costs more, in mean weights."""
FAR = 2.0, 200.0
"""How many times as much more a unit beyond two bases costs, at first and in the end."""
ROUND = 20_000
"""Proposals between two looks at the clock, at least."""
FEW_OFF, WARM, DEARER = 0.01, 0.02, 3.0
"""The share of cells off by a base or more up to which these are gone after; the temperature then, in parts of what a usual turn changes; and what
they cost more from round to round."""
TIMES, LEAST, PATIENCE = 20, 1000, 1500
"""Proposals of a round for each leaf below them, and at least; and rounds in a row that may bring nothing."""


@dataclass(frozen=True, eq=False)
class Annealing:
    """The sums of leaves (cells × leaves, whole numbers), by how much each leaf turns, and what the cells weigh and may not fall below."""

    sums: Any
    turn: Ints
    base: Ints
    weight: Floats
    least: Ints

    def run(self, up: Bools, off: Ints, budget: Budget, passes: int) -> Bools:
        """The leaves at their upper value in the best table found; ``off``: what the sums are off while the leaves are as in ``up``.

        They stay as they are where there is no time to compile.
        """
        if not len(up):
            return up
        rows, columns = self.sums.tocsr(), self.sums.tocsc()
        lists = [x.astype(np.int32) for x in (columns.indptr, columns.indices, columns.data, rows.indptr, rows.indices)]
        dear = DEAR * np.maximum(self.weight, float(self.weight.mean()))
        u, d = up.astype(np.int8), off.astype(np.int64)
        state = np.array([2 * budget.seed + 1], np.uint64)
        fixed = (*lists, self.turn.astype(np.int64), self.base.astype(np.int64), self.weight, dear, self.least)
        every = np.arange(len(u))
        proposals = compiled(_proposals, budget, *fixed, u, d, state, every, len(u), 0.0, FAR[0], PAIRS)
        if proposals is None:
            return up
        usual = proposals(*fixed, u.copy(), d.copy(), state, every, len(u), 0.0, FAR[0], PAIRS)
        many = max(len(u), ROUND)
        rounds = max(passes * len(u) // many, 1)
        for k in range(rounds):
            limit = budget.time_limit_s
            done = max(k / rounds, 0.0 if limit is None else budget.spent / limit)
            if done >= 1.0 or budget.over:
                break
            temperature, far = usual * HOT * (COLD / HOT) ** done, FAR[0] * (FAR[1] / FAR[0]) ** done
            proposals(*fixed, u, d, state, every, many, temperature, far, PAIRS)
        proposals(*fixed, u, d, state, every, 2 * len(u), 0.0, FAR[1], PAIRS)
        ends = u.copy()
        if not 0 < int((np.abs(d) >= self.base).sum()) <= FEW_OFF * len(d):
            return np.asarray(ends == 1)
        more, fewest, idle = DEARER * dear, len(d), 0
        while idle < PATIENCE and not budget.over:
            out = np.abs(d) >= self.base
            now = int(out.sum())
            if not now:
                return np.asarray(u == 1)
            fewest, idle = min(now, fewest), 0 if now < fewest else idle + 1
            dear[out] += more[out]
            pick = _below(rows, np.flatnonzero(out))
            proposals(*fixed, u, d, state, pick, min(max(TIMES * len(pick), LEAST), many), usual * WARM, 0.0, PAIRS)
        return np.asarray(ends == 1)


def _below(rows: Any, cells: Ints) -> Ints:
    """The leaves below these cells; of large sums only where there are no smaller ones."""
    size = np.diff(rows.indptr)[cells]
    small = cells[size <= max(int(size.min()), rows.shape[1] // 20)]
    return np.asarray(rows.indices[ranges(rows.indptr[small], rows.indptr[small + 1])], np.int64)


def _proposals(
    up_at: Ints, up: Ints, times: Ints, down_at: Ints, down: Ints, turn: Ints, base: Ints, weight: Floats, dear: Floats, least: Ints,
    u: Ints, d: Ints, state: Any, pick: Ints, many: int, temperature: float, far: float, pairs: float,
) -> float:  # fmt: skip
    """So many proposals on the leaves to pick from, taken in place; the mean change of what was proposed, taken or not.

    Leaf i lies, so many times, below the cells up[up_at[i]:up_at[i+1]], cell c above the leaves down[down_at[c]:down_at[c+1]].
    """
    leaves, x, changed = len(pick), state[0], 0.0
    for _ in range(many):
        # xorshift: three numbers of 21 bits out of one state of 64
        x ^= x << np.uint64(13)
        x ^= x >> np.uint64(7)
        x ^= x << np.uint64(17)
        i = pick[np.int64(x >> np.uint64(24)) % leaves]
        first = float(x & np.uint64(0xFFFFFF)) / 16777216.0
        s = turn[i] if u[i] == 0 else -turn[i]
        j = np.int64(-1)
        if first < pairs:
            x ^= x << np.uint64(13)
            x ^= x >> np.uint64(7)
            x ^= x << np.uint64(17)
            above = up_at[i + 1] - up_at[i]
            one = up[up_at[i] + np.int64(x >> np.uint64(40)) % above]
            other = up[up_at[i] + np.int64((x >> np.uint64(20)) & np.uint64(0xFFFFF)) % above]
            c, few = one, down_at[one + 1] - down_at[one]
            rival = down_at[other + 1] - down_at[other]
            if few < 2 or (rival > 1 and rival < few):  # the smaller of two sums: more of what lies above both stays
                c, few = other, rival
            if few < 2:
                continue
            x ^= x << np.uint64(13)
            x ^= x >> np.uint64(7)
            x ^= x << np.uint64(17)
            j = np.int64(down[down_at[c] + np.int64(x >> np.uint64(24)) % few])
            if u[j] == u[i] or turn[j] != turn[i]:
                continue
        delta, fits = 0.0, True
        for side in range(2):
            k, step = (i, s) if side == 0 else (j, -s)
            if k < 0:
                break
            for at in range(up_at[k], up_at[k + 1]):
                c = up[at]
                old, b, w, out = d[c], base[c], weight[c], dear[c]
                new = old + times[at] * step
                d[c] = new
                if new < least[c] and new < old:
                    fits = False
                size_old, size_new = abs(old), abs(new)
                delta += w * (size_new - size_old)
                if size_old >= b:
                    delta -= out * (size_old - b + 1 + far * max(0, size_old - 2 * b + 1))
                if size_new >= b:
                    delta += out * (size_new - b + 1 + far * max(0, size_new - 2 * b + 1))
        changed += abs(delta)
        taken = fits and delta <= 0.0
        if fits and not taken and temperature > 0.0:
            x ^= x << np.uint64(13)
            x ^= x >> np.uint64(7)
            x ^= x << np.uint64(17)
            chance = float((x >> np.uint64(11)) + np.uint64(1)) / 9007199254740993.0
            taken = delta < -temperature * np.log(chance)
        if taken:
            u[i] = 1 - u[i]
            if j >= 0:
                u[j] = 1 - u[j]
            continue
        for at in range(up_at[i], up_at[i + 1]):
            d[up[at]] -= times[at] * s
        if j >= 0:
            for at in range(up_at[j], up_at[j + 1]):
                d[up[at]] += times[at] * s
    state[0] = x
    return float(changed / many)
