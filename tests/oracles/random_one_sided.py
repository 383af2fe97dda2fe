"""Random small tables to adjust: levels without an end, only_up and only_down, negative values, deviations on a grid; and tables whose bounds and
levels contradict each other. With what brute force says of them.
"""

from __future__ import annotations

from collections.abc import Iterator
from dataclasses import dataclass
from fractions import Fraction
from itertools import product
from random import Random
from typing import Any

import exact_lp
import nearest_additive
import numpy as np
from exact_lp import Row
from scipy.optimize import Bounds, LinearConstraint, milp

import cellward as cw

SHAPES = ((2, 2), (2, 3), (3,), (5,), (2, 2, 2))
SMALL = ((2, 2), (3,), (4,), (2, 3))
NO_END = 2**53


@dataclass(frozen=True)
class Case:
    """A table in plain numbers, and the options of the method; levels: None for one without an end."""

    rows: list[Row]
    a: list[int]
    lo: list[int | None]
    hi: list[int | None]
    lpl: dict[int, int | None]
    upl: dict[int, int | None]
    weight: list[int]
    options: dict[str, Any]

    @property
    def table(self) -> cw.Table:
        """As the package takes it."""
        matrix = np.zeros((len(self.rows), len(self.a)), np.int64)
        for j, (_, cells, coefs) in enumerate(self.rows):
            matrix[j, cells] = coefs
        at = sorted(self.lpl)
        levels = {
            name: [float("inf") if own[i] is None else own[i] for i in at]
            for name, own in (("lpl", self.lpl), ("upl", self.upl))
        }
        return cw.Table.from_equations(self.a, matrix, sensitive=at, lower=self.lo, upper=self.hi, **levels)

    @property
    def still(self) -> set[int]:
        """Cells that stay."""
        zeros = self.options.get("zeros_stay", True)
        fixed = set(self.options.get("fixed", ()))
        return fixed | {i for i, x in enumerate(self.a) if zeros and not x and i not in self.lpl}

    @property
    def unit(self) -> int:
        """What deviations are multiples of."""
        return int(self.options.get("grid", 1))

    def room(self) -> tuple[list[int], list[int]]:
        """What cells may move by but for their levels."""
        low, high = [], []
        for i, x in enumerate(self.a):
            below, above = (
                (-NO_END if self.lo[i] is None else self.lo[i] - x),
                (NO_END if self.hi[i] is None else self.hi[i] - x),
            )
            if i in self.still:
                below = above = 0
            low.append(max(below, 0) if i in self.options.get("only_up", ()) else below)
            high.append(min(above, 0) if i in self.options.get("only_down", ()) else above)
        return low, high

    def sides(self) -> list[tuple[int, list[tuple[int, int]]]]:
        """Of each cell at risk the least and the greatest moves of every side that it may take."""
        found = []
        for i in sorted(self.lpl):
            up, down = (-(-(level or 0) // self.unit) * self.unit for level in (self.upl[i], self.lpl[i]))
            found.append((i, ([(up, NO_END)] if up else []) + ([(-NO_END, -down)] if down else [])))
        return found

    def senses(self) -> Iterator[tuple[list[int], list[list[int]]]]:
        """Every combination of +1 and −1 of the cells at risk, and the room it leaves: the least and the greatest moves."""
        low, high = self.room()
        at = sorted(self.lpl)
        for chosen in product((1, -1), repeat=len(at)):
            lo, hi, closed = low.copy(), high.copy(), False
            for i, sense in zip(at, chosen, strict=True):
                level = (self.upl if sense > 0 else self.lpl)[i]
                closed |= not level  # 0: nothing asked that way; None: no end
                least = -(-(level or 0) // self.unit) * self.unit  # levels are rounded up to the grid
                if sense > 0:
                    lo[i] = max(lo[i], least)
                else:
                    hi[i] = min(hi[i], -least)
            if not closed and all(x <= y for x, y in zip(lo, hi, strict=True)):
                yield list(chosen), [lo, hi]

    def goes(self, box: list[list[int]]) -> bool:
        """Whether some table, fractions included, lies in the room."""
        try:
            exact_lp.Vertex([(0, cells, coefs) for _, cells, coefs in self.rows], *box)
        except exact_lp.EmptyRegionError:
            return False
        return True

    def goes_whole(self, box: list[list[int]]) -> bool:
        """Whether some table whose moves are on the grid does, by SciPy's integer programs."""
        matrix = np.zeros((len(self.rows), len(self.a)))
        for j, (_, cells, coefs) in enumerate(self.rows):
            matrix[j, cells] = coefs
        low = [-np.inf if x <= -NO_END else -(-x // self.unit) for x in box[0]]
        high = [np.inf if x >= NO_END else x // self.unit for x in box[1]]
        if any(x > y for x, y in zip(low, high, strict=True)):
            return False
        n = len(self.a)
        sums = LinearConstraint(matrix, 0, 0)
        return bool(milp(np.zeros(n), integrality=np.ones(n), bounds=Bounds(low, high), constraints=sums).success)

    def least(self, box: list[list[int]], most: int, power: int = 1) -> int | None:
        """The least Σ w·|z|^power over moves on the grid, by brute force; at most ``most``."""
        u = self.unit
        lo, hi = [-(-x // u) for x in box[0]], [x // u for x in box[1]]
        a = [0] * len(self.a)
        weight = [w * u**power for w in self.weight]
        rows = [(0, cells, coefs) for _, cells, coefs in self.rows]
        return nearest_additive.least(rows, a, lo, hi, weight, power, (), most, nodes=300_000)

    def linear(self, box: list[list[int]]) -> Fraction | None:
        """The least Σ w·|z| over fractions, by an exact linear program."""
        rows = [(0, cells, coefs) for _, cells, coefs in self.rows]
        lo, hi = [None if x <= -NO_END else x for x in box[0]], [None if x >= NO_END else x for x in box[1]]
        return nearest_additive.linear(rows, [0] * len(self.a), lo, hi, self.weight, ())

    def least_repair(self, which: str) -> Fraction | None:
        """The least Σ w·change of bounds (``bounds``), or Σ change/level (``levels``), over all whole moves, by brute force."""
        low, high = self.room()
        only_up, only_down = self.options.get("only_up", ()), self.options.get("only_down", ())
        far = sum(max(self.lpl[i] or 0, self.upl[i] or 0) for i in self.lpl)
        times = 60
        lo, hi = [max(x, -far) for x in low], [min(x, far) for x in high]
        if which == "bounds":
            for i in range(len(self.a)):
                if i not in self.still:
                    lo[i] = lo[i] if i in only_up else -far
                    hi[i] = hi[i] if i in only_down else far

        def price(i: int, z: int) -> int:
            if which == "bounds":
                if i in self.lpl and not any(
                    level and way * z >= level for way, level in ((1, self.upl[i]), (-1, self.lpl[i]))
                ):
                    return 10**9
                return self.weight[i] * max(low[i] - z, z - high[i], 0)
            if i not in self.lpl:
                return 0
            size = max(self.upl[i] or 0, self.lpl[i] or 0)
            short = [level - way * z for way, level in ((1, self.upl[i]), (-1, self.lpl[i])) if level]
            return min([times, *(times * max(x, 0) // size for x in short)])

        rows = [(0, cells, coefs) for _, cells, coefs in self.rows]
        most = 10**9 - 1
        found = nearest_additive.cheapest(rows, lo, hi, price, most, nodes=600_000)
        return None if found is None else Fraction(found, 1 if which == "bounds" else times)


def one_sided(seed: int, shapes: tuple[tuple[int, ...], ...] = SHAPES, most_at_risk: int = 3) -> Case:
    """A table with options of every kind."""
    rng = Random(seed)
    negative = rng.random() < 0.3
    rows, exact = nearest_additive.random_table(rng, shapes, lambda: rng.randrange(-12 if negative else 0, 30))
    a = [int(x) for x in exact]
    n = len(a)
    at = sorted(rng.sample(range(n), rng.randrange(1, min(most_at_risk, n - 1) + 1)))
    lpl: dict[int, int | None] = {}
    upl: dict[int, int | None] = {}
    for i in at:
        lpl[i], upl[i] = rng.randrange(1, 5), rng.randrange(1, 5)
        side = rng.random()
        if side < 0.25:
            lpl[i] = rng.choice((None, 0))
        elif side < 0.5:
            upl[i] = rng.choice((None, 0))
    lo: list[int | None] = [None if negative else 0 for _ in a]
    hi: list[int | None] = [None for _ in a]
    for i in range(n):
        if rng.random() < 0.1:
            hi[i] = a[i] + rng.randrange(6)
        if rng.random() < 0.1:
            lo[i] = a[i] - rng.randrange(6) if negative else max(0, a[i] - rng.randrange(4))
    options: dict[str, Any] = {}
    ways = rng.sample(range(n), rng.choice((0, 0, 1, 2)))
    if ways[::2]:
        options["only_up"] = ways[::2]
    if ways[1::2]:
        options["only_down"] = ways[1::2]
    if rng.random() < 0.3:
        options |= {"grid": rng.choice((2, 3)), "grid_of": "deviations"}
    if rng.random() < 0.3:
        options["fixed"] = rng.sample([i for i in range(n) if i not in at], 1)
    if rng.random() < 0.3:
        options["zeros_stay"] = False
    return Case(rows, a, lo, hi, lpl, upl, [rng.randrange(1, 6) for _ in a], options)


def contradictory(seed: int) -> Case:
    """A table whose bounds are narrow, so that levels often cannot be reached."""
    rng = Random(seed)
    rows, exact = nearest_additive.random_table(rng, SMALL, lambda: rng.randrange(1, 30))
    a = [int(x) for x in exact]
    at = sorted(rng.sample(range(len(a)), rng.randrange(1, 4)))
    lpl: dict[int, int | None] = {i: rng.randrange(1, 4) for i in at}
    upl: dict[int, int | None] = {i: rng.choice((lpl[i], rng.randrange(1, 4))) for i in at}
    lo: list[int | None] = [max(0, x - rng.choice((0, 0, 1, 2, 9))) for x in a]
    hi: list[int | None] = [x + rng.choice((0, 0, 1, 2, 9)) for x in a]
    return Case(rows, a, lo, hi, lpl, upl, [rng.randrange(1, 6) for _ in a], {})
