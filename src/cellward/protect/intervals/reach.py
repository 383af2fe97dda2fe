"""Reach: how far an attacker thinks a cell can lie where ranges reach so far, and the cut on the widths that follows from the prices.

Legend: max ±z_p over M·z = 0, −below ≤ z ≤ above; y its prices, so that for every such z ±z_p ≤ Σ c⁺·above + c⁻·below with c = ±e_p + Mᵀy. Cells
whose range has no width are left out of the problem, which makes it small: whatever the prices, the cut holds.
"""

from __future__ import annotations

from dataclasses import dataclass
from typing import Any

import numpy as np

from cellward.exact import Bools, Floats, Ints
from cellward.protect.intervals.requirements import SENSES, Requirements
from cellward.solve.ask import ask
from cellward.solve.budget import Budget
from cellward.solve.highs import solve_lp
from cellward.solve.model import LinearModel
from cellward.table.relations import Relations

DENOMINATORS = (1, 2, 3, 4, 6, 12, 60, 840)
COARSE = 10**6
"""The denominator of prices that none of these fits."""
HAIR, NEAR = 1e-6, 1e-7
Cut = dict[str, Any]
"""As the certificate states it, but for the attacker, who stands by name."""


@dataclass(frozen=True, eq=False)
class Reached:
    """How far a requirement is met, the moves that show it (one a way), and the cut of the prices."""

    much: float
    moves: tuple[Floats, ...]
    cut: Cut


class Reach:
    """Attackers' problems at some widths; ``live``: cells of which a range has some width, those without end included."""

    def __init__(self, relations: Relations, asked: Requirements, below: Floats, above: Floats, budget: Budget) -> None:
        self.asked, self.below, self.above, self.budget = asked, below, above, budget
        keep = np.ones(relations.equations, bool)
        keep[relations.redundant] = False
        self.equation = np.flatnonzero(keep)
        self.rows = relations.take(self.equation)
        live: Bools = (below > HAIR) | (above > HAIR)
        live[asked.cell] = True
        self.cells = np.flatnonzero(live)
        self.place = np.full(relations.cells, -1, np.int64)
        self.place[self.cells] = np.arange(len(self.cells))
        inside = self.place[self.rows.indices] >= 0
        self.row, at = np.unique(self.rows.row[inside], return_inverse=True)
        self.indptr = np.concatenate(([0], np.cumsum(np.bincount(at, minlength=len(self.row))))).astype(np.int64)
        self.indices, self.coefs = self.place[self.rows.indices[inside]], self.rows.coefs[inside].astype(float)

    def of(self, r: int) -> Reached | None:
        """How far requirement r is met; None where the solver has no answer."""
        way, p = int(self.asked.way[r]), int(self.asked.cell[r])
        below, above = self.asked.widths(r, self.below, self.above)
        parts = [self._most(p, sign, below, above) for sign in ((way,) if way else (1, -1))]
        found = [part for part in parts if part is not None]
        if len(found) < len(parts):
            return None
        scale = next(d for d in (*DENOMINATORS, COARSE) if d == COARSE or all(_fits(y, d) for _, _, y in found))
        ways = [self._way(r, sign, y, scale) for sign, (_, _, y) in zip((way,) if way else (1, -1), found, strict=True)]
        cut = {"attacker": self.asked.attacker[r], "cell": p, "sense": SENSES[way], "scale": scale, "ways": ways}
        return Reached(sum(much for much, _, _ in found), tuple(z for _, z, _ in found), cut)

    def _most(self, p: int, sign: int, below: Floats, above: Floats) -> tuple[float, Floats, Floats] | None:
        """How far cell p moves that way, the move, and the prices of the equations."""
        cost = np.zeros(len(self.cells))
        cost[self.place[p]] = -sign
        model = LinearModel(
            cost=cost,
            lower=-below[self.cells],
            upper=above[self.cells],
            indptr=self.indptr,
            indices=self.indices,
            coefs=self.coefs,
            row_lower=np.zeros(len(self.row)),
            row_upper=np.zeros(len(self.row)),
        )
        found = ask(solve_lp, model, columns=model.columns, rows=model.rows, budget=self.budget)
        if found.x is None or found.row_duals is None or found.status != "optimal":
            return None
        z, prices = np.zeros(len(self.place)), np.zeros(self.rows.equations)
        z[self.cells], prices[self.row] = found.x, found.row_duals
        return -found.objective, z, prices

    def _way(self, r: int, sign: int, prices: Floats, scale: int) -> dict[str, Any]:
        """Multipliers, and the cells that count by what those alike know rather than by their range."""
        whole: Ints = np.rint(prices * scale).astype(np.int64)
        used = np.flatnonzero(whole)
        own, low, high = self.asked.rooms[int(self.asked.of[r])]
        known: list[int] = []
        if len(own):
            c = np.bincount(self.rows.indices, self.rows.coefs * whole[self.rows.row], minlength=len(self.place))
            c[int(self.asked.cell[r])] += sign * scale
            by_room = np.where(c[own] > 0, high < self.above[own] - HAIR, low < self.below[own] - HAIR)
            known = np.sort(own[(c[own] != 0) & by_room]).tolist()
        return {"equation": self.equation[used].tolist(), "multiplier": whole[used].tolist(), "known": known}


def _fits(prices: Floats, d: int) -> bool:
    return bool(float(np.abs(np.rint(prices * d) - prices * d).max(initial=0.0)) < NEAR * d)
