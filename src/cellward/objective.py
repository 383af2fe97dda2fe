"""Objective: what a method makes as small as it can, over which tables, and what its engine says of the least there is.

An aim is Σ w·|v − target| in whole numbers. A cost that is linear between two ends is of this kind too: w·|v − end| plus a constant. So one proof of
bounds serves all of them. What is no such sum (squares, maxima) is a measure, of which no bound is proven.
"""

from __future__ import annotations

from collections.abc import Mapping
from dataclasses import dataclass, field, replace
from fractions import Fraction
from typing import Any, Protocol

import numpy as np

from cellward.exact import Floats, Ints, freeze
from cellward.instance import Instance
from cellward.publication.allowed import AllowedSet
from cellward.publication.publication import Publication, exact_sum


@dataclass(frozen=True, eq=False)
class Aim:
    """(``constant`` + Σ ``weight``·|v − ``target``|) / ``scale``; the sum is the *cost*, whole numbers throughout."""

    target: Ints
    weight: Ints
    constant: int = 0
    scale: int = 1

    def __post_init__(self) -> None:
        freeze(self.target, self.weight)

    def permuted(self, order: Ints) -> Aim:
        """The same when cell order[k] becomes cell k."""
        return Aim(self.target[order], self.weight[order], self.constant, self.scale)

    def cost(self, v: Ints) -> int:
        """Σ w·|v − target|, exact."""
        return exact_sum(self.weight, np.abs(v - self.target))

    def objective(self, cost: int | Fraction) -> Fraction:
        """The objective of which this is the cost."""
        return Fraction(self.constant + cost) / self.scale


class Measure(Protocol):
    """A distance that is not of this kind: of squares, of maxima."""

    def exact(self, z: Ints, decimals: int, /) -> Fraction:
        """What deviations z, in units of 10^−``decimals``, cost in the user's units."""

    def permuted(self, order: Ints, /) -> Measure:
        """The same when cell order[k] becomes cell k."""


@dataclass(frozen=True, eq=False, kw_only=True)
class Objective:
    """``allowed``: the values to choose from; of withheld cells the flags, 1 where one is withheld (None: nothing of the kind). Made small is the
    cost of the publication (Σ w·|v − a| of values), that of ``aim``, or ``measure`` (the certificate then states the cost and no bound).

    ``bound``: the engine's word on the least objective possible, in units of 10^−(decimals + weight_decimals); ``multipliers`` (one an equation) its
    hint at a proof; ``search``: whether the proof may look for better ones; ``refutation``: the nodes of a tree that shows that there is no table, in
    the certificate's form. ``tolerance``: how far from its bound a result may be called optimal
    (methods that work in fractions).
    """

    allowed: AllowedSet | None = None
    aim: Aim | None = None
    measure: Measure | None = None
    bound: Fraction | None = None
    multipliers: Floats | None = field(default=None, repr=False)
    search: bool = True
    refutation: tuple[Mapping[str, Any], ...] = ()
    pattern: bool = False
    """Whether cells are chosen to be withheld, so that ``allowed`` is of flags."""
    cuts: tuple[Mapping[str, Any], ...] = field(default=(), repr=False)
    """Of withheld cells: inequalities that every safe pattern keeps, in the certificate's form but for attackers, who stand by name."""
    cut_weights: tuple[int, ...] = field(default=(), repr=False)
    """Whole multipliers of the cuts, over ``cut_scale``, that prove a bound."""
    cut_scale: int = 1
    grid: int | None = None
    """Where ranges are chosen, what their ends are multiples of; ``allowed`` is of flags, 1 where a cell may be a range, ``cuts`` are of widths."""
    tree: tuple[tuple[int, int] | Floats, ...] = field(default=(), repr=False)
    """Of values with gaps: nodes in preorder of a hint at a better proof than ``multipliers``: a cell to branch on with the value up to which the
    first of its two subtrees goes, or a leaf's multipliers, one an equation."""
    tolerance: Fraction = Fraction(0)

    @property
    def plain(self) -> bool:
        """Whether the publication's own cost is made small."""
        return self.aim is None and self.measure is None

    def permuted(self, order: Ints, equations: Ints) -> Objective:
        """The same when cell order[k] becomes cell k, and equation equations[j] equation j."""
        cell, equation = np.argsort(order), np.argsort(equations)
        return replace(
            self,
            allowed=None if self.allowed is None else self.allowed.permuted(order),
            aim=None if self.aim is None else self.aim.permuted(order),
            measure=None if self.measure is None else self.measure.permuted(order),
            multipliers=None if self.multipliers is None else self.multipliers[equations],
            refutation=tuple(_renumbered(node, cell, equation) for node in self.refutation),
            tree=tuple(_hint(node, cell, equations) for node in self.tree),
            cuts=tuple(_cut(one, cell, equation) for one in self.cuts),
        )

    def cost(self, instance: Instance, publication: Publication) -> int | None:
        """What the certificate states and bounds."""
        if self.aim is None:
            return publication.cost(instance, self.allowed)
        assert publication.v is not None
        return self.aim.cost(publication.v)

    def of_cost(self, cost: int | Fraction) -> int | Fraction:
        """The objective of which this is the cost."""
        return cost if self.aim is None else self.aim.objective(cost)

    def value(self, instance: Instance, publication: Publication) -> int | Fraction | None:
        """The objective, exact, in units of 10^−(decimals + weight_decimals)."""
        if self.measure is not None:
            assert publication.v is not None
            measured: Fraction = self.measure.exact(publication.v - instance.a, instance.decimals)
            return measured * Fraction(10) ** (instance.decimals + instance.weight_decimals)
        cost = self.cost(instance, publication)
        return None if cost is None else self.of_cost(cost)


def _hint(node: tuple[int, int] | Floats, cell: Ints, equations: Ints) -> tuple[int, int] | Floats:
    """A node of a hint when cell i becomes cell[i], and equation equations[j] equation j."""
    return (int(cell[node[0]]), node[1]) if isinstance(node, tuple) else node[equations]


def _cut(one: Mapping[str, Any], cell: Ints, equation: Ints) -> Mapping[str, Any]:
    """A cut when cell i becomes cell[i], and equation j equation[j]."""
    moved = {"cell": int(cell[one["cell"]])}
    if "ways" in one:
        ways = [
            {**_combined(way, equation), "known": sorted(int(cell[i]) for i in way["known"])} for way in one["ways"]
        ]
        return {**one, **moved, "ways": ways}
    covered = {"covered": sorted(int(cell[i]) for i in one["covered"])} if "covered" in one else {}
    return {**one, **moved, **covered, **_combined(one, equation)}


def _combined(one: Mapping[str, Any], equation: Ints) -> dict[str, Any]:
    """Multipliers of equations when equation j becomes equation[j]."""
    own = sorted(zip((int(equation[j]) for j in one["equation"]), one["multiplier"], strict=True))
    return {"equation": [j for j, _ in own], "multiplier": [x for _, x in own]}


def _renumbered(node: Mapping[str, Any], cell: Ints, equation: Ints) -> Mapping[str, Any]:
    """A node when cell i becomes cell[i], and equation j equation[j]."""
    if "cell" in node:
        return {**node, "cell": int(cell[node["cell"]])}
    return {**node, **_combined(node, equation)}
