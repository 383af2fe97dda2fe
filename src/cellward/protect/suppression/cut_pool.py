"""CutPool: cuts that every safe pattern keeps (bridges: every least one), their linear relaxation, and the bound that its prices prove exactly.

Legend: a cut is Σ coef·x ≥ least, x_i = 1 where cell i is withheld; u ≥ 0 the weights of cuts.
"""

from __future__ import annotations

from collections.abc import Iterable, Iterator, Mapping
from dataclasses import dataclass, replace
from math import gcd
from typing import Any

import numpy as np

from cellward.audit.derived_cut import DerivedCut
from cellward.audit.pattern_bound import Cuts
from cellward.errors import SolverError
from cellward.exact import Bools, Floats, Ints
from cellward.protect.suppression.problem import CapacityCut, SuppressionProblem
from cellward.publication.allowed import AllowedSet
from cellward.solve.ask import ask
from cellward.solve.budget import Budget
from cellward.solve.highs import solve_lp
from cellward.solve.model import LinearModel

DIGITS = 6
"""Of the weights of cuts."""
HAIR = 1e-6


@dataclass(frozen=True, eq=False)
class Relaxed:
    """The linear relaxation of the cuts: x of all cells, and the bound with the weights (over ``scale``) that prove it."""

    x: Floats
    bound: int
    weights: tuple[int, ...]
    scale: int
    dearer: Floats
    """By how much more than the bound, at least, patterns cost that withhold a cell."""


class CutPool:
    """Cuts of one problem, each once."""

    def __init__(self, problem: SuppressionProblem) -> None:
        self.problem = problem
        lo = problem.forced.astype(np.int64)
        hi = (problem.candidate | problem.forced).astype(np.int64)
        self._derive = Cuts(problem.instance, AllowedSet(lo, hi, hi - lo))
        self.free: Bools = np.asarray(hi > lo)
        self.stated: list[CapacityCut] = []
        self.derived: list[DerivedCut] = []
        self._seen: set[tuple[Any, ...]] = set()
        self.refuted = False
        """Whether a cut asks for more than all cells give: no pattern is safe."""

    def add(self, cuts: Iterable[CapacityCut], against: Floats | None = None) -> int:
        """Take cuts in, and say how many are new; ``against``: only those that these x do not keep."""
        many = 0
        for cut in cuts:
            made = self.derive(cut)
            if made is None:
                continue
            if against is not None and _slack(made, against) >= -HAIR * max(made.least, 1):
                continue
            key = (made.least, *sorted(made.row.items()))
            if key not in self._seen:
                self._seen.add(key)
                self.stated.append(cut)
                self.derived.append(made)
                many += 1
                self.refuted |= sum(coef for coef in made.row.values() if coef > 0) < made.least
        return many

    def derive(self, cut: CapacityCut) -> DerivedCut | None:
        """A cut as a verifier derives it; None where it says nothing."""
        return self._derive.derive(self.content(cut))

    def covers(self, x: Floats) -> Iterator[CapacityCut]:
        """Of each cut with room for it: the cells that these x withhold furthest, as long as the others are asked for anything, count as withheld.

        Where Σ coef·x ≥ least and cells A give less than least, the others give what is left: Σ_(i ∉ A) min(coef, left)·x ≥ left.
        """
        for cut, made in zip(tuple(self.stated), tuple(self.derived), strict=True):
            if cut.covered or cut.sense == "bridge":
                continue
            cells = np.fromiter(made.row, np.int64, len(made.row))
            coef = np.fromiter(made.row.values(), float, len(made.row)) / made.least
            order = np.lexsort((cells, -x[cells]))
            cells, coef = cells[order], coef[order]
            left = 1 - np.cumsum(coef)
            most = int(np.argmax(np.append((left <= HAIR) | (x[cells] <= HAIR), True)))
            best, covered = HAIR, 0
            for k in range(1, most + 1):
                least = left[k - 1]
                short = 1 - float(np.minimum(coef[k:], least) @ x[cells[k:]]) / least
                if short > best:
                    best, covered = short, k
            if covered:
                yield replace(cut, covered=tuple(sorted(cells[:covered].tolist())))

    def content(self, cut: CapacityCut) -> Mapping[str, Any]:
        """A cut as the certificate states it, but for the attacker's name."""
        used = sorted(cut.multipliers)
        return {
            "attacker": self.problem.instance.attackers[cut.attacker].name,
            "cell": cut.cell,
            "sense": "bridge" if self.problem.exact_only else cut.sense,
            "scale": cut.scale,
            "equation": [j for j, _ in used],
            "multiplier": [x for _, x in used],
            **({"covered": list(cut.covered)} if cut.covered else {}),
        }

    def model(self, *, whole: bool = False, among: Bools | None = None) -> tuple[LinearModel, list[int]]:
        """Least Σ w·x over the cuts, each divided by its right-hand side where floats are to see it, and the cells of the columns; ``among``: no
        other cell is withheld."""
        rows = [cut.row for cut in self.derived]
        if among is not None:
            kept = among.tolist()
            rows = [{i: coef for i, coef in row.items() if kept[i]} for row in rows]
        cells = sorted({i for row in rows for i in row})
        place = {i: k for k, i in enumerate(cells)}
        size = [
            gcd(cut.least, *row.values()) or 1 if whole else max(cut.least, 1)
            for cut, row in zip(self.derived, rows, strict=True)
        ]
        cost = self.problem.cost[cells].astype(float)
        return (
            LinearModel(
                cost=cost,
                lower=np.zeros(len(cells)),
                upper=np.ones(len(cells)),
                indptr=np.concatenate(([0], np.cumsum([len(row) for row in rows]))).astype(np.int64),
                indices=np.array([place[i] for row in rows for i in row], np.int64),
                coefs=np.array([c / s for row, s in zip(rows, size, strict=True) for c in row.values()]),
                row_lower=np.array([cut.least / s for cut, s in zip(self.derived, size, strict=True)]),
                row_upper=np.full(len(self.derived), np.inf),
                integer=np.ones(len(cells), bool) if whole else None,
            ),
            cells,
        )

    def relaxed(self, budget: Budget) -> Relaxed | None:
        """The relaxation; None where the solver has no answer."""
        x = self.problem.forced.astype(float)
        if not self.derived:
            return Relaxed(x, 0, (), 1, self.problem.cost.astype(float))
        model, cells = self.model()
        largest = max(float(model.cost.max(initial=0.0)), 1.0)
        scaled = LinearModel(
            cost=model.cost / largest * 1e4,
            lower=model.lower,
            upper=model.upper,
            indptr=model.indptr,
            indices=model.indices,
            coefs=model.coefs,
            row_lower=model.row_lower,
            row_upper=model.row_upper,
        )
        try:
            found = ask(solve_lp, scaled, columns=model.columns, rows=model.rows, budget=budget)
        except SolverError:
            return None
        if found.x is None or found.row_duals is None:
            return None
        x[cells] = np.clip(found.x, 0.0, 1.0)
        scale = 10 ** (DIGITS + len(str(max(cut.least for cut in self.derived))))
        prices = np.maximum(found.row_duals, 0.0) * (largest / 1e4)
        weights = tuple(
            int(price / max(cut.least, 1) * scale) for price, cut in zip(prices.tolist(), self.derived, strict=True)
        )
        return Relaxed(x, *self._proven(weights, scale))

    def _proven(self, weights: tuple[int, ...], scale: int) -> tuple[int, tuple[int, ...], int, Floats]:
        """What these weights prove of the cost of every safe pattern, in whole numbers; and of those that withhold a cell."""
        gain: dict[int, int] = {}
        right = 0
        for cut, u in zip(self.derived, weights, strict=True):
            if u:
                right += u * cut.least
                for i, coef in cut.row.items():
                    gain[i] = gain.get(i, 0) + u * coef
        cost = self.problem.cost
        over = sum(max(0, g - scale * int(cost[i])) for i, g in gain.items())
        dearer = cost.astype(float)
        for i, g in gain.items():
            # Rounded down: what is left out for being too dear must be.
            dearer[i] = max(0, scale * int(cost[i]) - g) // scale
        return max(0, -(-(right - over) // scale)), weights, scale, dearer

    def repaired(self, withheld: Bools) -> Bools | None:
        """A pattern near this one that keeps all cuts: cells that give most of what is missing for their cost join it, dear ones that all cuts spare
        leave it."""
        rows, cells, coefs, least = self._entries()
        out, free = withheld.copy(), self.free & (self.problem.cost > 0)
        n, price = len(out), np.maximum(self.problem.cost, 1).astype(float)
        while True:
            missing = least - np.bincount(rows, coefs * out[cells], minlength=len(least))
            at = (missing[rows] > HAIR) & ~out[cells] & self.free[cells] & (coefs > 0)
            if not (missing > HAIR).any():
                break
            if not at.any():
                return None
            gain = np.bincount(cells[at], np.minimum(coefs[at] / missing[rows[at]], 1.0), minlength=n)
            out[int(np.argmax(gain / price))] = True
        spare = -missing
        order = np.argsort(cells, kind="stable")
        end = np.searchsorted(cells[order], np.arange(n + 1))
        for i in sorted(np.flatnonzero(out & free).tolist(), key=lambda i: (-self.problem.cost[i], i)):
            mine = order[end[i] : end[i + 1]]
            if np.all(spare[rows[mine]] >= coefs[mine] - HAIR):
                out[i] = False
                spare[rows[mine]] -= coefs[mine]
        return out

    def _entries(self) -> tuple[Ints, Ints, Floats, Floats]:
        """The cuts by row, cell and coefficient, each divided by its right-hand side, and what each asks."""
        rows = np.repeat(np.arange(len(self.derived)), [len(cut.row) for cut in self.derived])
        cells = np.array([i for cut in self.derived for i in cut.row], np.int64)
        coefs = np.array([coef / max(cut.least, 1) for cut in self.derived for coef in cut.row.values()], float)
        return rows, cells, coefs, np.array([float(cut.least > 0) for cut in self.derived])

    def kept_by(self, withheld: Bools) -> bool:
        """Whether a pattern keeps all cuts."""
        x = withheld.astype(float)
        return all(_slack(cut, x) >= 0 for cut in self.derived)


def _slack(cut: DerivedCut, x: Floats) -> float:
    return float(sum(coef * float(x[i]) for i, coef in cut.row.items()) - cut.least)
