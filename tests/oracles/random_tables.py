"""Random tables: seeded small tables of every kind, each with a base and weights to round it with.

Some are meant to have no rounding, some to be refused as bad input.
"""

from __future__ import annotations

import itertools
from collections.abc import Callable, Iterable
from dataclasses import dataclass, replace
from decimal import Decimal
from random import Random
from typing import Any

import numpy as np
from zero_restricted import Case, neighbours, refused

import cellward as cw

KINDS = ("2-D", "3-D", "hierarchical", "overlapping", "linked", "equations")
MOST_FREE = 14
KEPT_REFUSED, KEPT_DECIDED = 0.15, 0.1
"""Shares of the draws kept that are refused, or have no free cell; the rest are drawn again."""


Key = tuple[str, ...]
Values = dict[Key, int]


def random_case(seed: int) -> Case:
    """The case of this seed, the same on every machine; seeds run through the kinds in turn. At most 14 cells have a choice."""
    rng, kind = Random(seed), KINDS[seed % len(KINDS)]
    for attempt in itertools.count():
        sketch = _Sketch.draw(rng, kind, attempt)
        case = sketch.equations() if kind == "equations" else sketch.labelled()
        if case is None:
            continue
        count = sum(len(own) == 2 for own in neighbours(case))
        if count > MOST_FREE or (count == 0 and rng.random() > KEPT_DECIDED):
            continue
        if refused(case) and rng.random() > KEPT_REFUSED:
            continue
        return replace(case, seed=seed)
    raise AssertionError("unreachable")


@dataclass(frozen=True)
class _Dim:
    """Codes of a dimension with the leaves below each, and the sums between them; the leaves come first and Total last."""

    name: str
    below: dict[str, frozenset[str]]
    sums: tuple[tuple[str, tuple[str, ...]], ...]

    @staticmethod
    def flat(name: str, size: int) -> _Dim:
        leaves = tuple(f"{name}{k}" for k in range(size))
        return _Dim(name, {x: frozenset([x]) for x in leaves} | {"Total": frozenset(leaves)}, (("Total", leaves),))

    @property
    def leaves(self) -> list[str]:
        return [code for code, below in self.below.items() if below == {code}]

    def with_sum(self, parent: str, children: Iterable[str]) -> _Dim:
        children = tuple(children)
        below = frozenset().union(*(self.below[c] for c in children))
        kept = {code: own for code, own in self.below.items() if code not in ("Total", parent)}
        return _Dim(
            self.name,
            kept | ({} if parent == "Total" else {parent: below}) | {"Total": self.below["Total"]},
            (*self.sums, (parent, children)),
        )

    def as_tree(self, rng: Random) -> _Dim:
        """Replace the flat sum: group neighbours at random, level by level, until a few codes are left under the total."""
        tree, top = replace(self, sums=()), self.leaves
        for level in range(rng.choice((1, 1, 2))):
            cuts = sorted(rng.sample(range(1, len(top)), rng.randint(1, min(2, len(top) - 1)))) if len(top) > 1 else []
            groups = [top[i:j] for i, j in itertools.pairwise((0, *cuts, len(top)))]
            top = []
            for k, group in enumerate(groups):
                if len(group) == 1 and rng.random() < 0.8:  # a sum of a single code is rare, but allowed
                    top.extend(group)
                else:
                    top.append(f"{self.name}{'gh'[level]}{k}")
                    tree = tree.with_sum(top[-1], group)
        return tree.with_sum("Total", top)

    def with_groupings(self, rng: Random) -> _Dim:
        """Add groupings of the same leaves that do not nest: some add up to the total once more, some only stand there."""
        out = self
        for k in range(rng.choice((1, 1, 2))):
            leaves = rng.sample(self.leaves, len(self.leaves))
            cut = rng.randint(1, len(leaves) - 1)
            parts = [f"{self.name}x{k}", f"{self.name}y{k}"]
            out = out.with_sum(parts[0], leaves[:cut])
            if rng.random() < 0.7:
                out = out.with_sum(parts[1], leaves[cut:]).with_sum("Total", parts)
        return out


@dataclass(frozen=True)
class _Plan:
    """What is asked of each cell, scaled integers throughout: its base, status letter, bounds (None: none) and weight."""

    base: Values
    status: dict[Key, str]
    lower: dict[Key, int | None]
    upper: dict[Key, int | None]
    weight: dict[Key, int | float]
    bounded: bool
    """Whether some cell has bounds of its own."""
    weighting: str
    """Where the weights are: none, given (to protect) or table."""


@dataclass(frozen=True)
class _Sketch:
    """One draw: the unit (decimals), the typical base, how many values are multiples or zero, and whether some are negative."""

    rng: Random
    kind: str
    decimals: int
    unit: int
    beta: int
    zero: float
    multiple: float
    negative: bool

    @staticmethod
    def draw(rng: Random, kind: str, attempt: int) -> _Sketch:
        decimals = rng.choice((0, 0, 0, 1, 2))
        unit = rng.choice({0: (1,), 1: (1, 5, 10), 2: (1, 5, 25, 100)}[decimals])
        # each attempt leaves fewer cells free, so that the large kinds come through too
        zero, multiple = (rng.uniform(0, 0.35) + min(0.02 * attempt, 0.3) for _ in range(2))
        beta = unit * rng.choice((2, 3, 4, 5, 5, 7, 10))
        return _Sketch(rng, kind, decimals, unit, beta, zero, multiple, rng.random() < 0.15)

    def value(self) -> int:
        luck = self.rng.random()
        if luck < self.zero:
            return 0
        size = (
            self.beta * self.rng.randint(1, 4)
            if luck < self.zero + self.multiple
            else self.rng.randint(1, 4 * self.beta)
        )
        return -size if self.negative and self.rng.random() < 0.5 else size

    def number(self, scaled: int | None) -> Any:
        """A scaled integer as a user would write it: a whole number, a text, a float or a Decimal."""
        if scaled is None:
            return None
        if not self.decimals:
            return scaled
        exact = Decimal(scaled).scaleb(-self.decimals)
        return self.rng.choice((str, float, Decimal))(exact)

    def plan(self, values: Values, level: Callable[[Key], int]) -> _Plan:
        rng = self.rng
        base = self._base(values, level)
        off = {key for key, a in values.items() if a % base[key]}
        status = dict.fromkeys(values, "s")
        mode = rng.choices(("none", "multiples", "any"), (55, 25, 20))[0]
        if mode == "multiples":
            status |= {key: "z" for key in values if key not in off and rng.random() < 0.4}
        elif mode == "any":
            status |= dict.fromkeys(rng.sample(sorted(values), min(len(values), rng.randint(1, 4))), "z")
        if rng.random() < 0.2:
            status |= {key: rng.choice("ms") for key in values if status[key] == "s" and rng.random() < 0.3}
        floor = None if self.negative or rng.random() < 0.1 else 0
        lower, upper = dict.fromkeys(values, floor), dict.fromkeys(values, None)
        bounded = rng.random() < 0.3
        for key, a in values.items() if bounded else ():
            luck = rng.random()
            if luck < 0.12:
                least = a - rng.randrange(base[key])
                lower[key] = least if floor is None else max(least, 0)
            elif luck < 0.24:
                upper[key] = a + rng.randrange(base[key])
        pool = rng.choice(((0, 1, 2, 3), (1, 2, 3, 5, 8, 13), (0.5, 1, 1.5, 2.25), (1, 1000, 1_000_003)))
        weight = {key: rng.choice(pool) for key in values}
        weighting = rng.choice(("none", "none", "given", "table"))
        return _Plan(base, status, lower, upper, weight, bounded, weighting)

    def _base(self, values: Values, level: Callable[[Key], int]) -> Values:
        """One base for all, one a level, or one a cell."""
        rng = self.rng
        mode = rng.choices(("one", "level", "cell", "few"), (55, 20, 8, 17))[0]
        if mode == "one":
            return dict.fromkeys(values, self.beta)
        if mode == "level":
            chain = rng.choice(((3, 5), (2, 4, 8), (5, 10), (5, 10, 20), (2, 10), (10, 5), (5, 5, 3, 10)))
            return {key: self.unit * chain[min(level(key), len(chain) - 1)] for key in values}
        odd = 1.0 if mode == "cell" else 0.2
        return {key: self.unit * rng.choice((2, 3, 5, 10)) if rng.random() < odd else self.beta for key in values}

    def too_free(self, values: Values, plan: _Plan) -> bool:
        """Whether more cells have a choice than can be tried out, before bounds are looked at."""
        return sum(a % plan.base[key] != 0 and plan.status[key] != "z" for key, a in values.items()) > MOST_FREE + 4

    def case(self, table: cw.Table, plan: _Plan, keys: list[Key]) -> Case:
        """The case of a built table whose cell i has key keys[i]."""
        each = [plan.base[key] for key in keys]
        base: Any = [self.number(b) for b in each]
        if len(set(each)) == 1 and self.rng.random() < 0.9:
            base = base[0]
        elif not self.decimals and self.rng.random() < 0.5:
            base = np.array(base)
        weights = {"none": None, "table": "table", "given": [plan.weight[key] for key in keys]}[plan.weighting]
        return Case(self.kind, table, base, weights)

    # ---- tables with dimensions ------------------------------------------------------------------------------------------------------------

    def labelled(self) -> Case | None:
        dims, parts = self._dims()
        people = {key: self.value() for key in itertools.product(*(dim.leaves for dim in dims))}
        values: Values = {}
        for part in parts:
            for key in _keys(dims, part):
                below = [dim.below[code] for dim, code in zip(dims, key, strict=True)]
                values[key] = sum(people[leaf] for leaf in itertools.product(*below))
        height = [{code: (len(own) > 1) + (code == "Total") for code, own in dim.below.items()} for dim in dims]
        plan = self.plan(values, lambda key: sum(h[code] for h, code in zip(height, key, strict=True)))
        if self.too_free(values, plan):
            return None
        tables = [self._part(dims, part, values, plan) for part in parts]
        table = cw.link(*tables) if len(tables) > 1 else tables[0]
        place = {dim: k for k, dim in enumerate(table.labels.dims)}
        names = map(table.labels.tuple_of, range(table.cells))
        keys = [tuple(name[place[dim.name]] if dim.name in place else "Total" for dim in dims) for name in names]
        return self.case(table, plan, keys)

    def _dims(self) -> tuple[list[_Dim], list[dict[int, _Dim]]]:
        """The dimensions, and the tables to link: for each, its dimensions by number."""
        rng = self.rng

        def flat(k: int, least: int = 2, most: int = 3) -> _Dim:
            return _Dim.flat("abc"[k], rng.randint(least, most))

        if self.kind == "2-D":
            dims = [flat(0, 1, 4), flat(1)]
        elif self.kind == "3-D":
            dims = [flat(0, 1), flat(1), flat(2, 2, 2)]
        elif self.kind == "hierarchical":
            dims = [flat(0, 3, 6).as_tree(rng)]
            if rng.random() < 0.7:
                other = flat(1, 2, 3)
                dims.append(other.as_tree(rng) if rng.random() < 0.4 else other)
        elif self.kind == "overlapping":
            first = flat(0, 3, 5)
            dims = [(first.as_tree(rng) if rng.random() < 0.3 else first).with_groupings(rng)]
            if rng.random() < 0.5:
                dims.append(flat(1, 2, 2))
        else:
            return self._linked([flat(k) for k in range(3)])
        return dims, [dict(enumerate(dims))]

    def _linked(self, dims: list[_Dim]) -> tuple[list[_Dim], list[dict[int, _Dim]]]:
        rng = self.rng
        if rng.random() < 0.25:  # one dimension, cut in two ways
            first = _Dim.flat("a", rng.randint(3, 5))
            tree, cut = first.as_tree(rng), first.with_groupings(rng)
            other = {1: dims[1]} if rng.random() < 0.4 else {}
            return [replace(first, below=tree.below | cut.below), *other.values()], [
                {0: tree} | other,
                {0: cut} | other,
            ]
        if rng.random() < 0.4:
            dims[0] = dims[0].as_tree(rng)
        chosen = rng.choice(
            (((0, 1), (1, 2)), ((0, 1), (0, 2)), ((0, 1), (1, 2), (0, 2)), ((0, 1), (2,)), ((0,), (1,), (2,)))
        )
        return dims, [{k: dims[k] for k in part} for part in chosen]

    def _part(self, dims: list[_Dim], part: dict[int, _Dim], values: Values, plan: _Plan) -> cw.Table:
        """One table through the public builders: from an array, from leaves alone, or from all cells with what is asked of each."""
        rng, own, alone = self.rng, list(part.values()), self.kind != "linked"
        keys = _keys(dims, part)
        names = [dim.name for dim in own]
        fixed = any(plan.status[key] != "s" for key in keys)
        decimals = self.decimals or None
        bare = not fixed and plan.weighting != "table"
        one_floor = {plan.lower[key] for key in keys}
        bounds: dict[str, Any] = {"lower": self.number(one_floor.pop()) if len(one_floor) == 1 else None, "upper": None}
        flat = all(dim.sums == _Dim.flat(dim.name, len(dim.leaves)).sums for dim in own)
        if bare and flat and rng.random() < 0.5:
            if plan.bounded:
                bounds = self._bounds(keys, plan)
            inner = np.array([self.number(values[key]) for key in keys if _inner(key, part)], dtype=object)
            shape = [len(dim.leaves) for dim in own]
            codes = [dim.leaves for dim in own]
            return cw.Table.from_array(inner.reshape(shape), dims=names, codes=codes, decimals=decimals, **bounds)
        hierarchies = {dim.name: self._hierarchy(dim) for dim in own if not flat or rng.random() < 0.5}
        if not plan.bounded and rng.random() < 0.3:  # the totals computed, and nothing asked of them
            keys = [key for key in keys if _inner(key, part)]
            # Told, because a code that happens to be the sum of all the others would be taken for a total with another name.
            hierarchies = {dim.name: self._hierarchy(dim) for dim in own}
        else:
            if rng.random() < 0.3:  # an empty inner cell may be left out
                kept = [key for key in keys if values[key] or not _inner(key, part) or rng.random() < 0.5]
                keys = kept if any(_inner(key, part) for key in kept) else keys
            rng.shuffle(keys)
            bounds = self._bounds(keys, plan) if plan.bounded else bounds
        frame: dict[str, list[Any]] = {dim.name: [key[k] for key in keys] for k, dim in part.items()}
        frame["n"] = [self.number(values[key]) for key in keys]
        frame["status"] = [plan.status[key] if alone or rng.random() < 0.8 else "s" for key in keys]
        frame["weight"] = [plan.weight[key] for key in keys]
        weight = "weight" if plan.weighting == "table" else None
        finer = None if decimals is None else decimals + (not alone and rng.random() < 0.3)
        return cw.Table.from_frame(
            frame,
            dims=names,
            value="n",
            hierarchies=hierarchies,
            status="status",
            cost=weight,
            decimals=finer,
            **bounds,
        )

    def _bounds(self, keys: list[Key], plan: _Plan) -> dict[str, Any]:
        return {
            "lower": [self.number(plan.lower[key]) for key in keys],
            "upper": [self.number(plan.upper[key]) for key in keys],
        }

    def _hierarchy(self, dim: _Dim) -> Any:
        """All sums in one hierarchy, or in two."""
        if len(dim.sums) == 1 or self.rng.random() < 0.5:
            return cw.Hierarchy(dim.sums)
        return [cw.Hierarchy(dim.sums[:1]), cw.Hierarchy(dim.sums[1:])]

    # ---- bare equations --------------------------------------------------------------------------------------------------------------------

    def equations(self) -> Case | None:
        """Random rows, or a network's; most have a cell of their own that brings the right-hand side onto the grid."""
        rng = self.rng
        n, m = rng.randint(2, 12), rng.randint(1, 5)
        matrix = self._network(m, n) if rng.random() < 0.4 else self._rows(m, n)
        values = [self.value() for _ in range(matrix.shape[1])]
        for j in range(m):
            own = [
                i for i in np.flatnonzero(matrix[j]) if np.count_nonzero(matrix[:, i]) == 1 and abs(matrix[j, i]) == 1
            ]
            if own and rng.random() < 0.8:
                i = own[-1]
                values[i] -= int(matrix[j, i]) * (int(matrix[j] @ values) % self.beta)
        again = [rng.choice((1, -1, -1, 2)) * matrix[rng.randrange(m)] for _ in range(rng.choice((0, 0, 1, 2)))]
        if m > 1 and rng.random() < 0.2:
            again.append(matrix[0] + matrix[1])
        if rng.random() < 0.05:
            again.append(np.zeros_like(matrix[0]))
        matrix = np.vstack((matrix, *again))[rng.sample(range(m + len(again)), m + len(again))]
        named = {(f"{i:02}",): a for i, a in enumerate(values)}
        plan = self.plan(named, lambda key: int(int(key[0]) >= n))
        if self.too_free(named, plan):
            return None
        keys = list(named)
        lower = {key: min(named[key], bound) if bound == 0 else bound for key, bound in plan.lower.items()}
        table = cw.Table.from_equations(
            [self.number(a) for a in values],
            matrix,
            [self.number(int(row @ values)) for row in matrix],
            fixed=[i for i, key in enumerate(keys) if plan.status[key] == "z"],
            sensitive=[i for i, key in enumerate(keys) if plan.status[key] == "u"],
            weight=[plan.weight[key] for key in keys] if plan.weighting == "table" else None,
            decimals=self.decimals or None,
            **self._bounds(keys, replace(plan, lower=lower)),
        )
        return self.case(table, plan, keys)

    def _rows(self, m: int, n: int) -> Any:
        rng = self.rng
        coefs = rng.choice(((1, -1), (1, -1), (1, 1, 1, -1), (1, -1, 1, -1, 2, -2), (1, 2, 3)))
        matrix = np.zeros((m, n), np.int64)
        for row in matrix:
            for i in rng.sample(range(n), min(n, rng.randint(1, 5))):
                row[i] = rng.choice(coefs)
        return self._with_own_cells(matrix)

    def _network(self, m: int, n: int) -> Any:
        """Every cell an arc between two of m nodes, or between one and the ground; each node's row in either sign."""
        matrix = np.zeros((m + 1, n), np.int64)
        for i in range(n):
            tail, head = self.rng.sample(range(m + 1), 2)
            matrix[tail, i], matrix[head, i] = -1, 1
        return self._with_own_cells(matrix[:m] * np.array([[self.rng.choice((1, -1))] for _ in range(m)]))

    def _with_own_cells(self, matrix: Any) -> Any:
        own = [j for j in range(len(matrix)) if self.rng.random() < 0.7]
        extra = np.zeros((len(matrix), len(own)), np.int64)
        extra[own, np.arange(len(own))] = [self.rng.choice((1, -1)) for _ in own]
        return np.hstack((matrix, extra))


def _keys(dims: list[_Dim], part: dict[int, _Dim]) -> list[Key]:
    """The cells of one table; a dimension that it lacks stands at its total."""
    return list(itertools.product(*(part[k].below if k in part else ("Total",) for k in range(len(dims)))))


def _inner(key: Key, part: dict[int, _Dim]) -> bool:
    return all(part[k].below[key[k]] == {key[k]} for k in part)
