"""Bound: the proof of how little any table must cost, or that there is none: the certificate's ``bound`` entry (docs/certificate.md, check 8)."""

from __future__ import annotations

import math
from collections.abc import Mapping, Sequence
from dataclasses import dataclass
from fractions import Fraction
from typing import Any, Literal

import numpy as np
from numpy.typing import NDArray

from cellward.audit.congruence import Unit, find_misfit, find_unit, plain
from cellward.audit.lagrangian import Box, Multipliers, Part, Whole, total
from cellward.audit.potentials import potentials
from cellward.audit.relaxation import Relaxation
from cellward.audit.search_tree import WHOLE, Branching, Limit, Tree, grow
from cellward.errors import SolverError
from cellward.exact import Floats, Ints
from cellward.instance import Instance
from cellward.objective import Aim
from cellward.publication.allowed import AllowedSet
from cellward.solve.budget import Budget

Node = dict[str, Any]

SHY = (1e-9, 1e-6)
"""Shares by which the multipliers of a hint are made smaller in turn: those that are a hair too large prove nothing of cells without bounds."""
LARGEST_GUESS = 1e30
"""No multiplier is of this size; what is not a number is not below it either."""


@dataclass(frozen=True, eq=False)
class BoundProof:
    """A proven lower bound: ``content`` is the certificate's entry, ``value`` what a verifier derives from it."""

    value: Fraction | Literal["infeasible"] | None
    content: dict[str, Any]
    nodes: int


def prove_bound(
    instance: Instance,
    allowed: AllowedSet,
    *,
    v: Ints | None = None,
    aim: Aim | None = None,
    multipliers: Floats | None = None,
    hint: Sequence[tuple[int, int] | Floats] = (),
    most_nodes: int = 2000,
    search: bool = True,
    budget: Budget | None = None,
) -> BoundProof:
    """Prove how little Σ w·|v − a| (or the cost of an ``aim``) can be over all tables of allowed values, or (without ``v``) that there is none.

    ``v`` is the best table known, and must be one; ``multipliers``, one an equation, are a guess of good ones, ``hint`` a guess of a good tree over
    cells with gaps (see :class:`Objective`). Trouble with a solver only costs
    sharpness, and the same input gives the same proof, unless a ``budget`` ends it. Without ``search`` only the guess is tried.
    """
    part = Part.of(instance, allowed, aim)
    origin, weight = (instance.a, instance.weight) if aim is None else (aim.target, aim.weight)
    limit, budget = Limit(instance, most_nodes), budget or Budget()
    if v is None:
        tree = _refute(instance, allowed, part, limit, budget)
        return _proof("infeasible" if tree else None, plain(1), tree)
    deviation = (v - origin).astype(part.weight.dtype)
    problem = _Problem(instance, allowed, part, deviation[part.cells], limit, budget)
    tree = problem.prove(multipliers, search=search and allowed.gaps is None)
    if hint and not budget.over:
        tree = problem.by_hint(hint) or tree
    return _proof(Fraction(total(weight * np.abs(deviation)) - problem.missing), problem.unit, tree)


def nothing_proven() -> BoundProof:
    """No statement about the least objective."""
    return _proof(None, plain(1), [])


def refuted(nodes: Sequence[Mapping[str, Any]]) -> BoundProof:
    """That there is no table, by a tree at hand."""
    return _proof("infeasible", plain(1), [dict(node) for node in nodes])


def farkas_leaf(equations: Ints, multipliers: Ints) -> Node:
    """A leaf of a tree: these whole multipliers show that there is no table."""
    order = np.argsort(equations)
    return _leaf("farkas", equations[order], multipliers[order], 1)


def _proof(value: Fraction | Literal["infeasible"] | None, unit: Unit, tree: list[Node]) -> BoundProof:
    shown = {"size": unit.size, "equation": unit.equations.tolist(), "multiplier": unit.multipliers.tolist()}
    return BoundProof(value, {"value": None if value is None else str(value), "unit": shown, "tree": tree}, len(tree))


def _leaf(kind: str, equations: Ints, n: Whole, q: int) -> Node:
    """A leaf in lowest terms, only the multipliers that are not 0; the size of a Farkas multiplier does not matter."""
    used = np.flatnonzero(n)
    common = math.gcd(int(np.gcd.reduce(n[used])) if len(used) else q, 0 if kind == "farkas" else q)
    return {
        "kind": kind,
        "denominator": 1 if kind == "farkas" else q // common,
        "equation": equations[used].tolist(),
        "multiplier": (n[used] // common).tolist(),
    }


# ---- how little tables cost ----------------------------------------------------------------------------------------------------------------------


class _Problem:
    """To prove that the part's cells cost nowhere less than at the best table known; ``missing`` is what the proof falls short of, in whole units."""

    def __init__(
        self, instance: Instance, allowed: AllowedSet, part: Part, d: Whole, limit: Limit, budget: Budget
    ) -> None:
        self.instance, self.allowed, self.part, self.d, self.limit = instance, allowed, part, d, limit
        self.budget = budget
        self.cost = total(part.weight * np.abs(d))
        self.unit = plain(1)
        self.missing = 0

    def prove(self, multipliers: Floats | None, *, search: bool = True) -> list[Node]:
        """The tree of the proof."""
        part, network = self.part, self.instance.relations.network
        flow = None if network is None else potentials(part, network, self.d)
        if flow is not None and part.least(*flow) == self.cost * flow[1]:
            return [_leaf("dual", part.equations, *flow)]
        self.unit = find_unit(self.instance, part)
        guesses = [np.zeros(len(part.equations))]
        if multipliers is not None and multipliers.shape == (self.instance.relations.equations,):
            guesses.append(multipliers[part.equations])
        roots = [(part, self._dual(part, guess)) for guess in guesses if np.all(np.abs(guess) < LARGEST_GUESS)]
        if search and not self.budget.over and all(root.value <= self.goal for _, root in roots):
            part = part.without(self.instance.relations.redundant)
            try:
                relaxation = Relaxation(part, self.budget)
                point = relaxation.solve({})
                if point.status == "optimal" and point.multipliers is not None:
                    root = self._dual(part, point.multipliers)
                    roots.append((part, root))
                    if root.value <= self.goal and (tree := self._search(root, relaxation)):
                        return tree
            except SolverError:
                pass  # what is proven so far stands
        part, root = max(roots, key=lambda found: found[1].value)
        self.missing = self._short(root)
        return [_leaf("dual", part.equations, root.numerator, root.denominator)]

    def by_hint(self, hint: Sequence[tuple[int, int] | Floats]) -> list[Node]:
        """The tree of a hint, where it proves more than is proven; each of its leaves is proven as far as its multipliers go, or to be empty."""
        part, out = self.part, []
        place = {int(i): k for k, i in enumerate(part.cells)}
        steps, waiting = np.maximum(part.step, 1), [(part.lo, part.hi)]
        least: Fraction | None = None
        enough = Fraction(self.cost) * (1 - Fraction(1, 10**9))
        for node in hint:
            lo, hi = waiting.pop()
            if isinstance(node, tuple):
                k = place.get(node[0])
                if k is None:
                    return []
                origin = int(self.instance.a[node[0]])
                low, high = lo.copy(), hi.copy()
                high[k] = node[1] - origin
                low[k] = max(int(part.above[k]), int(high[k]) + int(steps[k]))
                waiting += (low, hi), (lo, high)
                out.append({"cell": node[0], "at": node[1]})
                continue
            guess, box = node[part.equations], Box(lo, hi)
            ray = next(filter(None, (part.safe_ray(y, box) for y in (guess, -guess))), None) if guess.any() else None
            if ray is not None:
                out.append(_leaf("farkas", part.equations, ray.numerator, 1))
                continue
            found = part.safe_dual(guess, enough, box)
            for shy in SHY:
                if found.value > enough:
                    break
                found = max(found, part.safe_dual(guess * (1 - shy), enough, box), key=lambda dual: dual.value)
            least = found.value if least is None else min(least, found.value)
            out.append(_leaf("dual", part.equations, found.numerator, found.denominator))
        if least is None or waiting or int(self.cost - least) >= self.missing:
            return []
        self.unit, self.missing = plain(1), int(self.cost - least)
        return out

    @property
    def goal(self) -> Fraction:
        """What is above this proves the cost to be the least."""
        return Fraction(self.cost - self.unit.size)

    def _short(self, root: Multipliers) -> int:
        """By how much the cost exceeds what is proven, once that is rounded up to the unit."""
        return int((self.cost - root.value) // self.unit.size) * self.unit.size

    def _dual(self, part: Part, multipliers: Floats) -> Multipliers:
        """The roundest multipliers near these that prove the cost, or else as much as the finest do."""
        best = part.safe_dual(multipliers, self.goal)
        short = self._short(best)
        return part.safe_dual(multipliers, self.goal - short) if short else best

    def _search(self, root: Multipliers, relaxation: Relaxation) -> list[Node] | None:
        """Search the blocks in which the root misses something of the cost; in the others its multipliers do."""
        if self.limit.nodes < 3:
            return None
        part, n, q = relaxation.part, root.numerator, root.denominator
        split = self._split(part.slack(n, q, self.d))
        # Where most cells are to be searched, a fresh relaxation would cost more than the needless blocks in this one.
        inside = part if 2 * int(split.sum()) > len(split) else part.take(split)
        if inside is not part:
            relaxation = Relaxation(inside, self.budget)
        place = np.searchsorted(part.equations, inside.equations)
        outside = root.value - Fraction(inside.least(n[place], q), q)
        tree = grow(relaxation, self.goal - outside, self.limit)
        if tree is None:
            return None
        nodes = []
        for node in tree:
            if isinstance(node, Branching):
                nodes.append(_inner(self.allowed, inside, node))
            elif node.kind == "farkas":
                nodes.append(_leaf("farkas", inside.equations, node.multipliers.numerator, 1))
            else:
                own, own_q = node.multipliers.numerator, node.multipliers.denominator
                common = math.lcm(q, own_q)
                both = n.astype(object) * (common // q)
                both[place] = own.astype(object) * (common // own_q)
                nodes.append(_leaf("dual", part.equations, both, common))
        return nodes

    def _split(self, slack: Floats) -> NDArray[np.bool_]:
        """The cells of the blocks that miss the most, so that the others together miss little of a unit."""
        block, of_cell = np.unique(_blocks(self.instance, self.part), return_inverse=True)
        misses = np.bincount(of_cell, slack, minlength=len(block))
        order = np.argsort(misses, kind="stable")
        split = np.zeros(len(block), bool)
        split[order] = np.cumsum(misses[order]) > self.unit.size / 8
        return np.asarray(split[of_cell])


def _blocks(instance: Instance, part: Part) -> Ints:
    free = np.zeros(instance.cells, bool)
    free[part.cells] = True
    return instance.relations.blocks(free)[part.cells]


def _inner(allowed: AllowedSet, part: Part, node: Branching) -> Node:
    i = int(part.cells[node.cell])
    at = int(allowed.lo[i]) + node.at * int(part.step[node.cell])
    return {"cell": i, "at": at}


# ---- that there is no table ----------------------------------------------------------------------------------------------------------------------


def _refute(instance: Instance, allowed: AllowedSet, part: Part, limit: Limit, budget: Budget) -> list[Node]:
    """A tree whose every leaf shows that there is no table; empty when none was found."""
    none = np.zeros(0, np.int64)
    if len(allowed.empty):
        return [_leaf("farkas", none, none, 1)]
    misfit = find_misfit(part)
    if misfit is not None:
        equation, modulus = misfit
        return [{"kind": "modular", "denominator": modulus, "equation": [equation], "multiplier": [1]}]
    missed = instance.relations.residual(allowed.lo)
    missed[part.equations] = 0
    settled = np.flatnonzero(missed)[:1]
    if len(settled):
        return [_leaf("farkas", settled, -np.sign(missed[settled]), 1)]
    try:
        return [] if budget.over else _refute_by_search(instance, allowed, part, limit, budget)
    except SolverError:
        return []


def _refute_by_search(instance: Instance, allowed: AllowedSet, part: Part, limit: Limit, budget: Budget) -> list[Node]:
    part = part.without(instance.relations.redundant)
    relaxation = Relaxation(part, budget)
    point = relaxation.solve({})
    if point.status == "infeasible":
        tree = grow(relaxation, None, limit)
        return _refutation(allowed, part, tree or [])
    if point.steps is None:
        return []
    block = _blocks(instance, part)
    broken = np.unique(block[np.abs(point.steps - np.rint(point.steps)) > WHOLE])
    for label in broken.tolist():
        some = part.take(block == label)
        tree = grow(Relaxation(some, budget), None, limit)
        if tree is not None:
            return _refutation(allowed, some, tree)
    return []


def _refutation(allowed: AllowedSet, part: Part, tree: Tree) -> list[Node]:
    return [
        _inner(allowed, part, node)
        if isinstance(node, Branching)
        else _leaf("farkas", part.equations, node.multipliers.numerator, 1)
        for node in tree
    ]
