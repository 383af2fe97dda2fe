"""Width bound: what cuts prove of how wide ranges that keep every level must be in all, or that there are none (docs/certificate.md, check 8).

Legend: b_i, t_i ≥ 0 how far the range of cell i reaches below and above its true value, columns i and n + i; z = y − a for a table y that an attacker
cannot rule out; c = ±d·e_p + Mᵀμ; a cut is Σ coef·(b, t) ≥ least; u ≥ 0 the weights of cuts.
"""

from __future__ import annotations

import math
from collections.abc import Mapping, Sequence
from fractions import Fraction
from typing import Any

import numpy as np

from cellward.audit.bound import BoundProof, nothing_proven
from cellward.audit.derived_cut import LARGEST, MOST_STEPS, CutSource, DerivedCut
from cellward.audit.verify import STEPS_EACH
from cellward.errors import SolverError
from cellward.exact import Bools
from cellward.instance import Instance
from cellward.objective import Objective
from cellward.publication.publication import Publication

WAYS: Mapping[str, tuple[int, ...]] = {"up": (1,), "down": (-1,), "slide": (1, -1), "above": (1,), "below": (-1,)}
"""Senses of cuts: a level of one way or of both together, or (``above``, ``below``) how far a range is of use."""


class WidthCuts(CutSource):
    """Derives cuts of one instance; ``free``: the cells that may be ranges."""

    def __init__(self, instance: Instance, free: Bools) -> None:
        super().__init__(instance)
        self.n, self.free = instance.cells, free.tolist()

    def derive(self, stated: Mapping[str, Any]) -> DerivedCut | None:
        """The cut, or None where it says nothing."""
        k, p, d = self.number[stated["attacker"]], int(stated["cell"]), int(stated["scale"])
        bridge = stated["sense"] in ("above", "below")
        if max((abs(x) for way in stated["ways"] for x in (d, *way["multiplier"])), default=d) >= LARGEST:
            return None
        least = 0
        if not bridge:
            levels = self.levels(k).get(p)
            if levels is None:
                return None
            least = d * levels[("down", "up", "slide").index(stated["sense"])]
        row: dict[int, int] = {}
        steps = 10
        for sign, way in zip(WAYS[stated["sense"]], stated["ways"], strict=True):
            slope, entries = self.slope(way["equation"], way["multiplier"])
            slope[p] = slope.get(p, 0) + sign * d
            steps += max(0, 3 * entries + 30 * len(slope) + 40 - STEPS_EACH * len(way["equation"]))
            known = set(way["known"])
            for i, x in slope.items():
                if not x or not self.free[i]:
                    continue
                if i in known:
                    room = self.room(k, i)[x > 0]
                    if room is None:
                        return None
                    least -= abs(x) * room
                else:
                    column = i + self.n if x > 0 else i
                    row[column] = row.get(column, 0) + abs(x)
        if bridge:
            column = p + self.n if stated["sense"] == "above" else p
            row[column] = row.get(column, 0) - d
        elif least <= 0:
            return None
        return DerivedCut({**stated, "attacker": k}, {j: x for j, x in row.items() if x}, least, steps)

    def most(self, column: int) -> int | None:
        """How far a range needs to reach at most: as far as the public bounds."""
        return self.public[column % self.n][column >= self.n] if self.free[column % self.n] else 0


def least_cost(cuts: WidthCuts, kept: Sequence[tuple[DerivedCut, int]], scale: int) -> tuple[Fraction, int]:
    """What these weights over their scale prove of Σ w·(b + t), and the scale that they prove it with.

    Where more of a width is gained than it costs, it counts as far as it may reach, (gain − scale·w)·most; where it may reach without end, the scale
    is made so large that it is not. Where such a width costs nothing, nothing is proven.
    """
    gain: dict[int, int] = {}
    right = 0
    for cut, weight in kept:
        right += weight * cut.least
        for j, coef in cut.row.items():
            gain[j] = gain.get(j, 0) + weight * coef
    w = cuts.instance.weight
    cost = {j: int(w[j % cuts.n]) for j in gain}
    endless = {j: g for j, g in gain.items() if cuts.most(j) is None and g > scale * cost[j]}
    if not all(cost[j] for j in endless):
        return Fraction(0), scale
    scale = max([scale, *(-(-g // cost[j]) for j, g in endless.items())])
    over = {j: g for j, g in gain.items() if g > scale * cost[j]}
    beyond = sum((g - scale * cost[j]) * (cuts.most(j) or 0) for j, g in over.items())
    ways = [(Fraction(right - beyond, scale), scale)]
    if over and all(cost[j] for j in over):
        larger = max(-(-g // cost[j]) for j, g in over.items())
        ways.append((Fraction(right, larger), larger))
    return max(ways, key=lambda one: one[0])


def unit_of(cuts: WidthCuts, grid: int) -> int:
    """What the cost of ranges on the grid is a multiple of: the public bounds that exist count as ends too."""
    each = []
    for i in range(cuts.n):
        if cuts.free[i]:
            a = int(cuts.instance.a[i])
            ends = [a - x if k == 0 else a + x for k, x in enumerate(cuts.public[i]) if x is not None]
            each.append(int(cuts.instance.weight[i]) * (grid if all(end % grid == 0 for end in ends) else 1))
    return math.gcd(*each) or 1


def prove_widths(instance: Instance, publication: Publication | None, sought: Objective) -> BoundProof:
    """The bound of the cuts with their weights, or that no ranges are safe, as the certificate states it."""
    assert sought.allowed is not None and sought.grid is not None
    cuts = WidthCuts(instance, np.asarray(sought.allowed.hi == 1))
    made = [(cuts.derive(stated), weight) for stated, weight in zip(sought.cuts, sought.cut_weights, strict=True)]
    kept = _bearable([(cut, weight) for cut, weight in made if cut is not None and weight > 0])
    if publication is None:
        return _refuted(cuts, kept)
    least, scale = least_cost(cuts, kept, sought.cut_scale)
    if least <= 0 or scale >= LARGEST:
        kept, least, scale = [], Fraction(0), 1
    unit = unit_of(cuts, sought.grid)
    value = -(-math.ceil(least) // unit) * unit
    cost = publication.cost(instance, sought.allowed)
    if cost is None:
        return _stated(None, 1, [], 1, "dual")
    if value > cost:
        raise SolverError("the cuts contradict the ranges that were found; nothing is released")
    return _stated(value, unit, kept, scale, "dual")


def _refuted(cuts: WidthCuts, kept: Sequence[tuple[DerivedCut, int]]) -> BoundProof:
    """A cut that all ranges together do not keep, however wide."""
    for cut, _ in kept:
        most = [(coef, cuts.most(j)) for j, coef in cut.row.items() if coef > 0]
        if all(far is not None for _, far in most) and sum(coef * (far or 0) for coef, far in most) < cut.least:
            return _stated("infeasible", 1, [(cut, 1)], 1, "farkas")
    return _stated(None, 1, [], 1, "farkas")


def _bearable(derived: list[tuple[DerivedCut, int]]) -> list[tuple[DerivedCut, int]]:
    """As many as a verifier takes, in their order, with weights of a length that it reads."""
    order = sorted(range(len(derived)), key=lambda t: (-derived[t][1] * max(derived[t][0].least, 1), t))
    spent, chosen = 0, set()
    for t in order:
        spent += derived[t][0].steps + 3 * len(derived[t][0].row)
        if spent > MOST_STEPS:
            break
        chosen.add(t)
    return [one for t, one in enumerate(derived) if t in chosen and one[1] < LARGEST]


def _stated(
    value: int | str | None, unit: int, kept: Sequence[tuple[DerivedCut, int]], scale: int, kind: str
) -> BoundProof:
    """The certificate's entry."""
    if value is None:
        return BoundProof(None, {**nothing_proven().content, "cuts": []}, 0)
    weights = [weight for _, weight in kept]
    common = math.gcd(scale, *weights) if kind == "dual" else 1
    leaf = {
        "kind": kind,
        "denominator": scale // common if kept else 1,
        "equation": list(range(len(kept))),
        "multiplier": [weight // common for weight in weights],
    }
    content = {
        "value": str(value),
        "unit": {"size": unit, "equation": [], "multiplier": []},
        "tree": [leaf],
        "cuts": [dict(cut.stated) for cut, _ in kept],
    }
    return BoundProof(value if isinstance(value, str) else Fraction(value), content, 1)  # type: ignore[arg-type]
