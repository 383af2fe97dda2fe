"""Pattern bound: what cuts prove of how little any safe pattern of withheld cells costs, or that there is none (docs/certificate.md, check 8).

Legend: a cut is Σ coef·x ≥ least, x_i = 1 where cell i is withheld; z = y − a for a table y that an attacker cannot rule out; c = d·e_p + Mᵀμ.
"""

from __future__ import annotations

import math
from collections.abc import Mapping, Sequence
from fractions import Fraction
from typing import Any

import numpy as np

from cellward.audit.bound import BoundProof
from cellward.audit.derived_cut import LARGEST, MOST_STEPS, CutSource, DerivedCut
from cellward.audit.pattern_tree import grow_pattern, root_leaf
from cellward.audit.verify import STEPS_EACH
from cellward.errors import SolverError
from cellward.instance import Instance
from cellward.objective import Objective
from cellward.publication.allowed import AllowedSet
from cellward.publication.publication import Publication
from cellward.solve.budget import Budget


class Cuts(CutSource):
    """Derives cuts of one instance and what was left to choose."""

    def __init__(self, instance: Instance, allowed: AllowedSet) -> None:
        super().__init__(instance)
        self.forced = (allowed.lo == 1).tolist()
        self.free = (allowed.lo < allowed.hi).tolist()

    def derive(self, stated: Mapping[str, Any]) -> DerivedCut | None:
        """The cut, or None where it says nothing."""
        k, p = self.number[stated["attacker"]], int(stated["cell"])
        if max(map(abs, (stated["scale"], *stated["multiplier"])), default=0) >= LARGEST:
            return None
        slope, entries = self.slope(stated["equation"], stated["multiplier"])
        content = {**stated, "attacker": k}
        steps = max(0, 3 * entries + 30 * len(slope) + 40 - STEPS_EACH * len(stated["equation"]))
        if stated["sense"] == "bridge":
            return self._bridge(content, p, slope, k, steps)
        return self._capacity(content, p, slope, k, steps)

    def _capacity(
        self, content: Mapping[str, Any], p: int, slope: dict[int, int], k: int, steps: int
    ) -> DerivedCut | None:
        """d·z_p = Σ c·z, and each z_i keeps to the attacker's bounds: what they give at most must reach d times the level."""
        levels = self.levels(k).get(p)
        if levels is None:
            return None
        sense, d = content["sense"], int(content["scale"])
        slope[p] = slope.get(p, 0) + (-d if sense == "down" else d)
        least = d * levels[("down", "up", "slide").index(sense)]
        row: dict[int, int | None] = {}
        for i, x in slope.items():
            below, above = self.room(k, i)
            ends = (below, above) if sense == "slide" else (above,) if x > 0 else (below,)
            coef = None if None in ends else abs(x) * sum(end for end in ends if end is not None)
            if not x or coef == 0:
                continue
            if self.forced[i]:
                if coef is None:
                    return None
                least -= coef
            elif self.free[i]:
                row[i] = coef
        if least <= 0:
            return None
        # What the cells that a cut covers give goes to the right as if they were withheld: what is left is asked of the others.
        for i in content.get("covered", ()):
            coef = row.pop(int(i), 0)
            if coef is None:
                return None
            least -= coef
        if least <= 0:
            return None
        return DerivedCut(
            content, {i: least if coef is None else min(coef, least) for i, coef in row.items()}, least, steps
        )

    def _bridge(
        self, content: Mapping[str, Any], p: int, slope: dict[int, int], k: int, steps: int
    ) -> DerivedCut | None:
        """A cell that is alone in a combination is known; at risk it must not be, and any other may as well be printed."""
        if not slope.get(p) or not (self.free[p] or (self.forced[p] and p in self.levels(k))):
            return None
        known = set(self.instance.attackers[k].known.tolist()) if self.forced[p] else set()
        others = [i for i, x in slope.items() if x and i != p and i not in known]
        if any(self.forced[i] for i in others):
            return None
        row = {i: 1 for i in sorted(others) if self.free[i]}
        return DerivedCut(content, row, 1, steps) if self.forced[p] else DerivedCut(content, {**row, p: -1}, 0, steps)


def prove_pattern(
    instance: Instance,
    publication: Publication | None,
    sought: Objective,
    *,
    optimal: bool = False,
    budget: Budget | None = None,
) -> BoundProof:
    """The bound of the cuts with their weights, or that no pattern is safe, as the certificate states it; of a pattern called ``optimal`` a tree over
    the cuts, where the weights alone do not prove it so."""
    assert sought.allowed is not None
    cuts = Cuts(instance, sought.allowed)
    costs = {i: int(w) for i, w in enumerate(instance.weight.tolist()) if cuts.free[i]}
    scale, weights = _bearable(sought.cut_scale, sought.cut_weights or (0,) * len(sought.cuts))
    made = [(cuts.derive(stated), weight) for stated, weight in zip(sought.cuts, weights, strict=True)]
    derived = [(cut, weight) for cut, weight in made if cut is not None]
    if publication is None:
        return _refuted([cut for cut, _ in derived])
    if derived and not sought.cut_weights:
        scale, derived = _weighted([cut for cut, _ in derived], costs, budget or Budget())
    kept = _kept([(cut, weight) for cut, weight in derived if weight > 0])
    least = _least(kept, scale, costs)
    if least <= 0:
        kept, least = [], Fraction(0)
    unit = math.gcd(*costs.values()) or 1
    value = -(-math.ceil(least) // unit) * unit
    cost = publication.cost(instance, sought.allowed)
    if cost is None or value > cost:
        raise SolverError("the cuts contradict the pattern that was found; nothing is released")
    if optimal and value < cost:
        every = _kept([(cut, 1) for cut, _ in derived])
        tree = grow_pattern([(cut.row, cut.least) for cut, _ in every], costs, cost - unit, budget or Budget())
        if tree is not None:
            used = sorted({t for node in tree for t in node.get("equation", ())})
            place = {t: k for k, t in enumerate(used)}
            nodes = [
                {**node, "equation": [place[t] for t in node["equation"]]} if "equation" in node else node
                for node in tree
            ]
            stated = [dict(every[t][0].stated) for t in used]
            content = {"value": str(cost), "unit": _unit(unit), "tree": nodes, "cuts": stated}
            return BoundProof(Fraction(cost), content, len(nodes))
    return BoundProof(Fraction(value), _content(str(value), unit, kept, scale, "dual"), 1)


def _bearable(scale: int, weights: Sequence[int]) -> tuple[int, Sequence[int]]:
    """Weights and their scale in numbers that a certificate can hold; any that are not negative prove something."""
    over = max((scale, *weights), default=1) // LARGEST
    return (scale, weights) if not over else (max(scale // (over + 1), 1), [weight // (over + 1) for weight in weights])


def _weighted(
    derived: Sequence[DerivedCut], costs: Mapping[int, int], budget: Budget
) -> tuple[int, list[tuple[DerivedCut, int]]]:
    """Cuts without weights: those of the linear relaxation, and their scale."""
    every = [cut for cut, _ in _kept([(cut, 1) for cut in derived])]
    leaf = root_leaf([(cut.row, cut.least) for cut in every], costs, budget)
    if leaf is None:
        return 1, [(cut, 0) for cut in every]
    scale, weights = _bearable(leaf.scale, leaf.weights)
    return scale, list(zip(every, weights, strict=True))


def _least(kept: Sequence[tuple[DerivedCut, int]], scale: int, costs: Mapping[int, int]) -> Fraction:
    """Σ u·least less what the costs do not cover, over the scale of the weights u."""
    gained: dict[int, int] = {}
    for cut, weight in kept:
        for i, coef in cut.row.items():
            gained[i] = gained.get(i, 0) + weight * coef
    right = sum(weight * cut.least for cut, weight in kept)
    return Fraction(right - sum(max(0, gain - scale * costs[i]) for i, gain in gained.items()), scale)


def _refuted(cuts: Sequence[DerivedCut]) -> BoundProof:
    """A cut that even all candidates together do not keep."""
    for cut in cuts:
        if sum(max(coef, 0) for coef in cut.row.values()) < cut.least:
            return BoundProof("infeasible", _content("infeasible", 1, [(cut, 1)], 1, "farkas"), 1)
    return BoundProof(None, {"value": None, "unit": _unit(1), "tree": [], "cuts": []}, 0)


def _kept(derived: list[tuple[DerivedCut, int]]) -> list[tuple[DerivedCut, int]]:
    """As many as a verifier takes, in their order."""
    order = sorted(range(len(derived)), key=lambda t: (-derived[t][1] * derived[t][0].least, t))
    spent, chosen = np.cumsum([derived[t][0].steps for t in order]), set()
    for t, so_far in zip(order, spent.tolist(), strict=True):
        if so_far <= MOST_STEPS:
            chosen.add(t)
    return [one for t, one in enumerate(derived) if t in chosen]


def _content(value: str, unit: int, kept: Sequence[tuple[DerivedCut, int]], scale: int, kind: str) -> dict[str, Any]:
    weights = [weight for _, weight in kept]
    common = math.gcd(scale, *weights)
    leaf = {
        "kind": kind,
        "denominator": scale // common if kept else 1,
        "equation": list(range(len(kept))),
        "multiplier": [weight // common for weight in weights],
    }
    return {"value": value, "unit": _unit(unit), "tree": [leaf], "cuts": [dict(cut.stated) for cut, _ in kept]}


def _unit(size: int) -> dict[str, Any]:
    return {"size": size, "equation": [], "multiplier": []}
