"""Pattern tree: branch and bound over cuts, in which every leaf is proven in whole numbers, so that no safe pattern costs less than the one found.

Legend: Σ coef·x ≥ least the cuts, x_i = 1 where cell i is withheld, w what that costs, u ≥ 0 the weights of the cuts at a leaf.
"""

from __future__ import annotations

import math
from collections.abc import Mapping, Sequence
from dataclasses import dataclass
from fractions import Fraction
from typing import Any

import numpy as np

from cellward.errors import SolverError
from cellward.solve.ask import ask
from cellward.solve.budget import Budget
from cellward.solve.highs import solve_lp
from cellward.solve.model import LinearModel

MOST_NODES, MOST_STEPS = 2000, 1 << 24
"""Nodes, and half of the steps that a verifier grants at least."""
DIGITS = 9
"""Of the weights of cuts."""
HAIR = 1e-6

Row = tuple[Mapping[int, int], int]
"""Coefficients by cell, and the right-hand side."""
Fixed = dict[int, int]
"""What branchings leave of single cells."""


@dataclass(frozen=True)
class PatternLeaf:
    """Weights of the cuts over ``scale``; ``dual``: no pattern here costs less than was asked; ``farkas``: there is none."""

    kind: str
    scale: int
    weights: tuple[int, ...]

    def to_node(self) -> dict[str, Any]:
        """As the certificate states it, in lowest terms."""
        used = [t for t, weight in enumerate(self.weights) if weight]
        common = math.gcd(*(self.weights[t] for t in used), *([self.scale] if self.kind == "dual" else []))
        common = common or 1
        return {
            "kind": self.kind,
            "denominator": self.scale // common if self.kind == "dual" else 1,
            "equation": used,
            "multiplier": [self.weights[t] // common for t in used],
        }


def bound_of(rows: Sequence[Row], leaf: PatternLeaf, costs: Mapping[int, int], fixed: Fixed) -> Fraction:
    """What the weights prove of all patterns after these branchings: (Σ u·least − Σ max (Σ u·coef − scale·w)·x) / scale, in Farkas leaves w = 0."""
    scale = leaf.scale if leaf.kind == "dual" else 0
    gain: dict[int, int] = dict.fromkeys(fixed, 0)
    right = 0
    for (row, least), u in zip(rows, leaf.weights, strict=True):
        if u:
            right += u * least
            for i, coef in row.items():
                gain[i] = gain.get(i, 0) + u * coef
    for i, g in gain.items():
        over = g - scale * costs[i]
        right -= over if fixed.get(i) == 1 else 0 if fixed.get(i) == 0 else max(over, 0)
    return Fraction(right, leaf.scale)


def root_leaf(rows: Sequence[Row], costs: Mapping[int, int], budget: Budget) -> PatternLeaf | None:
    """The weights of the linear relaxation before any branching; None where there are none."""
    leaf, _ = _solve(rows, costs, {}, budget)
    return leaf if leaf is not None and leaf.kind == "dual" else None


def grow_pattern(
    rows: Sequence[Row], costs: Mapping[int, int], above: int, budget: Budget
) -> list[dict[str, Any]] | None:
    """Nodes in preorder that prove every pattern to cost more than ``above``; None where the cuts do not, or not in so many nodes."""
    out: list[dict[str, Any]] = []
    waiting: list[Fixed] = [{}]
    a_leaf = 65 * len(costs) + 3 * sum(len(row) for row, _ in rows) + 1
    most = min(MOST_NODES, MOST_STEPS // a_leaf)
    while waiting:
        if len(out) + len(waiting) > most or budget.over:
            return None
        fixed = waiting.pop()
        leaf, x = _solve(rows, costs, fixed, budget)
        if leaf is not None and bound_of(rows, leaf, costs, fixed) > (above if leaf.kind == "dual" else 0):
            out.append(leaf.to_node())
            continue
        i = None if x is None else _branch(x, costs, fixed)
        if i is None:
            return None
        out.append({"cell": i, "at": 0})
        waiting += {**fixed, i: 1}, {**fixed, i: 0}
    return out


def _branch(x: Mapping[int, float], costs: Mapping[int, int], fixed: Fixed) -> int | None:
    """The cell furthest from whole, by its cost."""
    off = {i: min(value, 1 - value) for i, value in x.items() if i not in fixed and HAIR < value < 1 - HAIR}
    return max(off, key=lambda i: (off[i] * (costs[i] + 1), -i)) if off else None


def _solve(
    rows: Sequence[Row], costs: Mapping[int, int], fixed: Fixed, budget: Budget
) -> tuple[PatternLeaf | None, dict[int, float] | None]:
    """The linear relaxation after these branchings: the weights of its cuts, and where it lies."""
    cells = sorted(costs)
    place = {i: k for k, i in enumerate(cells)}
    sizes = [max(least, 1) for _, least in rows]
    indices = [place[i] for row, _ in rows for i in row]
    coefs = [coef / size for (row, _), size in zip(rows, sizes, strict=True) for coef in row.values()]
    largest = max(costs.values(), default=1) or 1
    model = LinearModel(
        cost=np.array([costs[i] / largest for i in cells], float),
        lower=np.array([float(fixed.get(i, 0)) for i in cells]),
        upper=np.array([float(fixed.get(i, 1)) for i in cells]),
        indptr=np.concatenate(([0], np.cumsum([len(row) for row, _ in rows]))).astype(np.int64),
        indices=np.array(indices, np.int64),
        coefs=np.array(coefs, float),
        row_lower=np.array([least / size for (_, least), size in zip(rows, sizes, strict=True)], float),
        row_upper=np.full(len(rows), np.inf),
    )
    try:
        found = ask(solve_lp, model, columns=model.columns, rows=model.rows, budget=budget)
    except SolverError:
        return None, None
    if found.status == "infeasible" or found.x is None:
        for k, (row, least) in enumerate(rows):
            if sum(coef for i, coef in row.items() if coef > 0 and fixed.get(i, 1)) < least:
                return PatternLeaf("farkas", 1, tuple(int(t == k) for t in range(len(rows)))), None
        return None, None
    if found.row_duals is None:
        return None, None
    scale = 10 ** (DIGITS + len(str(max(sizes, default=1))))
    prices = zip(found.row_duals.tolist(), sizes, strict=True)
    weights = tuple(round(max(dual, 0.0) * largest / size * scale) for dual, size in prices)
    return PatternLeaf("dual", scale, weights), {i: float(x) for i, x in zip(cells, found.x, strict=True)}
