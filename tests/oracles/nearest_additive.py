"""Nearest additive table: by brute force over all whole moves that could be cheaper, and by an exact linear program, to judge additive tables by.

Plain whole numbers, nothing of the package: M·v = b, lo ≤ v ≤ hi, some cells kept, least Σ w·|v − a| or Σ w·(v − a)².
"""

from __future__ import annotations

from collections.abc import Collection, Sequence
from fractions import Fraction
from math import isqrt
from random import Random

import exact_lp
from exact_lp import Row

Ends = Sequence[int | None]


class TooManyError(Exception):
    """More nodes than brute force has time for."""


def least(
    rows: Sequence[Row],
    a: Sequence[int],
    lo: Ends,
    hi: Ends,
    weight: Sequence[int],
    power: int,
    kept: Collection[int],
    most: int,
    nodes: int = 2_000_000,
) -> int | None:
    """The least cost of at most ``most``; None: no additive table of whole values costs so little."""
    n, best, left = len(a), most + 1, nodes
    order = _order(rows, n)
    place = {i: k for k, i in enumerate(order)}
    equations = [
        (rhs - sum(c * a[i] for i, c in zip(cells, coefs, strict=True)), cells, coefs) for rhs, cells, coefs in rows
    ]
    of_cell: list[list[tuple[int, int]]] = [[] for _ in range(n)]
    last = [max((place[i] for i in cells), default=-1) for _, cells, _ in equations]
    for j, (_, cells, coefs) in enumerate(equations):
        for i, c in zip(cells, coefs, strict=True):
            of_cell[i].append((j, c))
    need = [right for right, _, _ in equations]
    if any(need[j] and last[j] < 0 for j in range(len(need))):
        return None

    def reach(i: int, cost: int) -> tuple[int, int]:
        """The moves of a cell that fit its bounds and what may still be spent."""
        if i in kept:
            return 0, 0
        spare = best - 1 - cost
        most_z = 10**9 if not weight[i] else spare // weight[i] if power == 1 else isqrt(spare // weight[i])
        low = -most_z if lo[i] is None else max(-most_z, lo[i] - a[i])
        high = most_z if hi[i] is None else min(most_z, hi[i] - a[i])
        return low, high

    def search(k: int, cost: int) -> None:
        nonlocal best, left
        left -= 1
        if left < 0:
            raise TooManyError
        if k == n:
            best = min(best, cost)
            return
        i = order[k]
        low, high = reach(i, cost)
        for j, c in of_cell[i]:
            if last[j] == k:  # the last cell of an equation is what it leaves
                if need[j] % c:
                    return
                z = need[j] // c
                low, high = max(low, z), min(high, z)
        for z in sorted(range(low, high + 1), key=abs):
            more = weight[i] * abs(z) ** power
            if cost + more >= best:
                break
            for j, c in of_cell[i]:
                need[j] -= c * z
            search(k + 1, cost + more)
            for j, c in of_cell[i]:
                need[j] += c * z

    search(0, 0)
    return best if best <= most else None


def _order(rows: Sequence[Row], n: int) -> list[int]:
    """Cells so that equations are done early: those next that leave the fewest open in an equation begun."""
    open_ = [set(cells) for _, cells, _ in rows]
    left, out = set(range(n)), []
    while left:
        waiting = [own for own in open_ if own]
        i = min(min(waiting, key=len)) if waiting else min(left)
        out.append(i)
        left.discard(i)
        for own in open_:
            own.discard(i)
    return out


def linear(
    rows: Sequence[Row], a: Sequence[int], lo: Ends, hi: Ends, weight: Sequence[int], kept: Collection[int]
) -> Fraction | None:
    """The least Σ w·|v − a| over fractions too, by an exact linear program; None: there is no such table, not even with fractions."""
    n = len(a)
    more: list[Row] = []
    for rhs, cells, coefs in rows:
        right = rhs - sum(c * a[i] for i, c in zip(cells, coefs, strict=True))
        more.append((right, [*cells, *(n + i for i in cells)], [*coefs, *(-c for c in coefs)]))
    more.append((0, [*range(2 * n), 2 * n], [*weight, *weight, -1]))
    up = [0 if i in kept else None if hi[i] is None else hi[i] - a[i] for i in range(n)]
    down = [0 if i in kept else None if lo[i] is None else a[i] - lo[i] for i in range(n)]
    try:
        found = exact_lp.Vertex(more, [0] * (2 * n + 1), [*up, *down, None]).end(2 * n, -1)
    except exact_lp.EmptyRegionError:
        return None
    assert found is not None
    return found


def random_rounded(rng: Random) -> tuple[list[Row], list[int], list[int | None], list[int | None]]:
    """A table of two or three dimensions, or of a dimension with groups, every value rounded by itself, some mistaken; rows, values and bounds."""
    shape = rng.choice([(2, 2), (2, 3), (3, 3), (2, 4), (4,), (6,), (2, 2, 2), (2, 2, 3)])
    inner = [rng.choice((0, rng.expovariate(0.3), rng.expovariate(0.02))) for _ in range(_size(shape))]
    full = [s + 1 for s in shape]
    values = [Fraction(0)] * _size(full)
    rows: list[Row] = []
    for k in range(_size(full)):
        at = _at(k, full)
        values[k] = Fraction(
            sum(
                x
                for i, x in enumerate(inner)
                if all(p in (q, s) for p, q, s in zip(at, _at(i, shape), shape, strict=True))
            )
            if _size(shape)
            else 0
        )
    for axis, s in enumerate(shape):
        for k in range(_size(full)):
            if _at(k, full)[axis] == s:
                parts = [
                    j
                    for j in range(_size(full))
                    if all(x == y for d, (x, y) in enumerate(zip(_at(j, full), _at(k, full), strict=True)) if d != axis)
                ]
                rows.append((0, parts, [-1 if j == k else 1 for j in parts]))
    a = [round(x) for x in values]
    if rng.random() < 0.2:  # a slip of the pen
        k = rng.randrange(len(a))
        a[k] = max(0, a[k] + rng.choice((-1, 1)) * rng.randrange(2, 6))
    lo: list[int | None] = [0] * len(a)
    hi: list[int | None] = [None] * len(a)
    for k in range(len(a)):
        if rng.random() < 0.1:
            hi[k] = a[k] + rng.randrange(2)
        if rng.random() < 0.1:
            lo[k] = max(0, a[k] - rng.randrange(2))
    return rows, a, lo, hi


def _size(shape: Sequence[int]) -> int:
    out = 1
    for s in shape:
        out *= s
    return out


def _at(k: int, shape: Sequence[int]) -> tuple[int, ...]:
    out = []
    for s in reversed(shape):
        k, i = divmod(k, s)
        out.append(i)
    return tuple(reversed(out))
