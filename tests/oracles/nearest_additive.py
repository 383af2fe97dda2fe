"""Nearest additive table: by brute force over all whole moves that could be cheaper, and by an exact linear program, to judge additive tables by.

Plain whole numbers, nothing of the package: M·v = b, lo ≤ v ≤ hi, some cells kept, least Σ w·|v − a| or Σ w·(v − a)².
"""

from __future__ import annotations

from collections.abc import Callable, Collection, Sequence
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
    low, high = [], []
    for i, x in enumerate(a):
        far = (
            0
            if i in kept
            else 10**9
            if not weight[i]
            else most // weight[i]
            if power == 1
            else isqrt(most // weight[i])
        )
        low.append(max(-far, -far if lo[i] is None else lo[i] - x))
        high.append(min(far, far if hi[i] is None else hi[i] - x))
    rest = [
        (rhs - sum(c * a[i] for i, c in zip(cells, coefs, strict=True)), cells, coefs) for rhs, cells, coefs in rows
    ]
    return cheapest(rest, low, high, lambda i, z: weight[i] * abs(z) ** power, most, nodes)


def cheapest(
    rows: Sequence[Row],
    low: Sequence[int],
    high: Sequence[int],
    price: Callable[[int, int], int],
    most: int,
    nodes: int = 2_000_000,
) -> int | None:
    """The least Σ price(i, z_i) of at most ``most`` over whole z with M·z = b, low ≤ z ≤ high; None where there is none."""
    n, best, left = len(low), most + 1, nodes
    order = _order(rows, n)
    place = {i: k for k, i in enumerate(order)}
    of_cell: list[list[tuple[int, int]]] = [[] for _ in range(n)]
    last = [max((place[i] for i in cells), default=-1) for _, cells, _ in rows]
    for j, (_, cells, coefs) in enumerate(rows):
        for i, c in zip(cells, coefs, strict=True):
            of_cell[i].append((j, c))
    need = [right for right, _, _ in rows]
    if any(need[j] and last[j] < 0 for j in range(len(need))):
        return None
    moves = [
        sorted(((price(i, z), z) for z in range(low[i], high[i] + 1)), key=lambda one: (one[0], abs(one[1])))
        for i in range(n)
    ]

    def search(k: int, cost: int) -> None:
        nonlocal best, left
        left -= 1
        if left < 0:
            raise TooManyError
        if k == n:
            best = min(best, cost)
            return
        i = order[k]
        least_z, most_z = low[i], high[i]
        for j, c in of_cell[i]:
            if last[j] == k:  # the last cell of an equation is what it leaves
                if need[j] % c:
                    return
                least_z, most_z = max(least_z, need[j] // c), min(most_z, need[j] // c)
        if least_z > most_z:
            return
        for more, z in moves[i] if least_z < most_z else [(price(i, least_z), least_z)]:
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
    up = [0 if i in kept else None if hi[i] is None else max(hi[i] - a[i], 0) for i in range(n)]
    down = [0 if i in kept else None if lo[i] is None else max(a[i] - lo[i], 0) for i in range(n)]
    rise = [0 if lo[i] is None else max(lo[i] - a[i], 0) for i in range(n)]  # what has to move
    fall = [0 if hi[i] is None else max(a[i] - hi[i], 0) for i in range(n)]
    try:
        found = exact_lp.Vertex(more, [*rise, *fall, 0], [*up, *down, None]).end(2 * n, -1)
    except exact_lp.EmptyRegionError:
        return None
    assert found is not None
    return found


def random_table(
    rng: Random, shapes: Sequence[tuple[int, ...]], values: Callable[[], Fraction | float | int]
) -> tuple[list[Row], list[Fraction]]:
    """The equations of a table of a random shape with all margins, and its values."""
    shape = rng.choice(shapes)
    inner = [Fraction(values()) for _ in range(_size(shape))]
    full = [s + 1 for s in shape]
    places = [_at(k, full) for k in range(_size(full))]
    within = [_at(i, shape) for i in range(_size(shape))]

    def inside(at: tuple[int, ...], cell: tuple[int, ...]) -> bool:
        return all(p in (q, s) for p, q, s in zip(at, cell, shape, strict=True))

    exact = [sum((x for x, cell in zip(inner, within, strict=True) if inside(at, cell)), Fraction(0)) for at in places]
    rows: list[Row] = []
    for axis, s in enumerate(shape):
        for k, at in enumerate(places):
            if at[axis] == s:
                line = [
                    j
                    for j, other in enumerate(places)
                    if other[:axis] == at[:axis] and other[axis + 1 :] == at[axis + 1 :]
                ]
                rows.append((0, line, [-1 if j == k else 1 for j in line]))
    return rows, exact


def random_rounded(rng: Random) -> tuple[list[Row], list[int], list[int | None], list[int | None]]:
    """A table of one to three dimensions, every value rounded by itself, some mistaken; rows, values and bounds."""
    shapes = [(2, 2), (2, 3), (3, 3), (2, 4), (4,), (6,), (2, 2, 2), (2, 2, 3)]
    rows, exact = random_table(rng, shapes, lambda: rng.choice((0, rng.expovariate(0.3), rng.expovariate(0.02))))
    a = [round(x) for x in exact]
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
