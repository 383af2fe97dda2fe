"""SearchTree: branch and bound over the linear relaxation of a part of a table, in which every leaf is proven in exact integers."""

from __future__ import annotations

import math
from dataclasses import dataclass
from fractions import Fraction
from typing import Literal

import numpy as np

from cellward.audit.lagrangian import Multipliers
from cellward.audit.relaxation import Point, Relaxation, Steps
from cellward.audit.verify import MOST_STEPS, STEPS_EACH
from cellward.instance import Instance

STEPS_A_CELL, STEPS_AN_ENTRY = 60, 3
"""What verify.py counts for a leaf, by the table's cells and entries; it grants STEPS_EACH for a multiplier listed."""
TRIED, COLUMNS, ITERATIONS = 10, 200_000, 60
"""Cells whose branchings are tried out at a node, at least two and at most so many, and the simplex iterations for each side."""
PATIENCE, HOPELESS = 100, 5
"""After so many nodes a search that would need so many times the nodes allowed, going on as it went, is given up."""
WHOLE = 1e-6
"""Steps this near to a whole number are taken for it."""


@dataclass(frozen=True, eq=False)
class Branching:
    """First the tables with cell ``cell`` of the part at most ``at`` steps above lo, then the others."""

    cell: int
    at: int


@dataclass(frozen=True, eq=False)
class Leaf:
    """No table here, or none that costs less than the search is asked to exceed."""

    kind: Literal["dual", "farkas"]
    multipliers: Multipliers


Tree = list[Branching | Leaf]


class Limit:
    """What a proof may use: nodes, and half of the steps that the verifier grants to a table of this size."""

    def __init__(self, instance: Instance, nodes: int) -> None:
        cells, entries = instance.cells, len(instance.relations.indices)
        self.nodes = nodes
        self.steps = (MOST_STEPS + STEPS_EACH * (cells + entries)) // 2
        self.steps_a_leaf = STEPS_A_CELL * cells + STEPS_AN_ENTRY * entries


def grow(relaxation: Relaxation, above: Fraction | None, limit: Limit) -> Tree | None:
    """Nodes in preorder that prove every table of the part to cost more than ``above`` (None: that there is no table).

    None when a table is met that costs no more, or when nodes run out first; ``limit.nodes`` is what is left of the nodes.
    """
    out: Tree = []
    open_: list[tuple[Steps, float]] = [({}, 1.0)]
    spent, closed = 0, 0.0  # closed: the share of the tree behind us, when every branching halves what it splits
    while open_:
        nodes = len(out) + len(open_)
        hopeless = len(out) > PATIENCE and len(out) > HOPELESS * limit.nodes * closed
        if nodes > limit.nodes or hopeless or spent > limit.steps or relaxation.budget.over:
            break
        steps, share = open_.pop()
        point = relaxation.solve(steps)
        leaf = _close(relaxation, point, steps, above)
        if leaf is not None:
            spent += limit.steps_a_leaf - STEPS_EACH * int(np.count_nonzero(leaf.multipliers.numerator))
            closed += share
            out.append(leaf)
            continue
        node = _choose(relaxation, point, steps, above)
        if node is None:
            open_.append((steps, share))
            break
        least, most = relaxation.range(node.cell, steps)
        out.append(node)
        open_.append((steps | {node.cell: (node.at + 1, most)}, share / 2))
        open_.append((steps | {node.cell: (least, node.at)}, share / 2))
    limit.nodes -= len(out)
    return None if open_ else out


def _close(relaxation: Relaxation, point: Point, steps: Steps, above: Fraction | None) -> Leaf | None:
    """The leaf that ends the search here, if one does."""
    part, box = relaxation.part, relaxation.box(steps)
    if point.status == "infeasible":
        # HiGHS does not say which sign its rays have, and sometimes has none.
        rays = [] if point.multipliers is None else [point.multipliers, -point.multipliers]
        found = next(filter(None, (part.safe_ray(ray, box) for ray in rays)), None)
        if found is None and (ray := relaxation.phase_one(steps)) is not None:
            found = part.safe_ray(ray, box)
        return None if found is None else Leaf("farkas", found)
    if above is None or point.multipliers is None or point.cost < above:
        return None
    dual = part.safe_dual(point.multipliers, above, box)
    return Leaf("dual", dual) if dual.value > above else None


def _choose(relaxation: Relaxation, point: Point, steps: Steps, above: Fraction | None) -> Branching | None:
    """Where to branch: of the cells furthest from whole, by cost, the one whose two sides raise the bound most; None at a table, or unsolved."""
    part, x = relaxation.part, point.steps
    if point.status == "unknown":
        return None
    price = (part.weight * part.step).astype(float)
    off = np.zeros(len(part.cells)) if x is None else np.abs(x - np.rint(x))
    broken = np.flatnonzero(off > WHOLE)
    if x is None or not len(broken):
        if x is not None and (above is None or point.cost <= above):
            return None
        # The floats claim what exact numbers do not confirm: split the dearest cell that still has a choice.
        ranges = ((k, *relaxation.range(k, steps)) for k in np.argsort(-price, kind="stable").tolist())
        return next((Branching(k, (least + most) // 2) for k, least, most in ranges if least < most), None)
    tried = min(TRIED, max(2, COLUMNS // len(part.cells)))
    candidates = broken[np.argsort(-(off * (price + 1e-9))[broken], kind="stable")[:tried]].tolist()
    enough = math.inf if above is None else max(float(above) - point.cost, 0.0) + 1e-6
    best, chosen = -1.0, candidates[0]
    for k in candidates if len(candidates) > 1 else []:
        least, most = relaxation.range(k, steps)
        at = math.floor(x[k])
        sides = ((least, at), (at + 1, most))
        gains = (relaxation.probe(k, *side, iterations=ITERATIONS) - point.cost for side in sides)
        down, up = (min(max(gain, 1e-6), enough, 1e9) for gain in gains)
        if down * up > best:
            best, chosen = down * up, k
    return Branching(chosen, math.floor(x[chosen]))
