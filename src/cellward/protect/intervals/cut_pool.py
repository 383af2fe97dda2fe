"""CutPool: cuts that the widths of safe ranges keep (bridges: those of least ones), their least point, and the bound that its prices prove exactly.

Legend: b, t how far ranges reach below and above, columns i and n + i of x; a cut is Σ coef·x ≥ least; u ≥ 0 the weights of cuts. A bridge says that
a range is of no use further than tables move its cell: from one equation, t_i ≤ Σ of what the others in it move.
"""

from __future__ import annotations

from collections.abc import Iterable
from dataclasses import dataclass
from fractions import Fraction

import numpy as np

from cellward.audit.derived_cut import DerivedCut
from cellward.audit.width_bound import WidthCuts, least_cost
from cellward.exact import Bools, Floats
from cellward.instance import Instance
from cellward.protect.intervals.reach import Cut
from cellward.protect.intervals.requirements import SENSES, Requirements
from cellward.solve.ask import ask
from cellward.solve.budget import Budget
from cellward.solve.model import LinearModel
from cellward.solve.warm_lp import WarmLp

HAIR = 1e-6
DENOMINATORS = (1, 2, 4, 12, 60, 840)
DIGITS = 13
"""Of the weights of cuts that none of these fits."""
FAR = 1e15
"""Widths have no end beyond this: whoever may be anything moves as far as anybody asks."""


@dataclass(frozen=True, eq=False)
class Point:
    """The least widths that keep the cuts, what they cost, and the prices of the cuts."""

    x: Floats
    cost: float
    prices: Floats


@dataclass(frozen=True, eq=False)
class Proof:
    """What weights of the cuts, over their scale, prove of the cost of all safe ranges."""

    bound: Fraction
    weights: tuple[int, ...]
    scale: int


class CutPool:
    """Cuts of one instance, each once; ``free``: cells that may be ranges; ``sums``: cells of which nothing is ever printed."""

    def __init__(self, instance: Instance, free: Bools, sums: Bools) -> None:
        self.instance, self.n = instance, instance.cells
        self.free, self.sums = free, sums
        self.derive = WidthCuts(instance, free)
        self.cuts: list[Cut] = []
        self.rows: list[DerivedCut] = []
        self._seen: set[tuple[tuple[int, int], ...]] = set()
        self._bridged: set[tuple[int, int]] = set()
        room = [self.derive.most(j) for j in range(2 * self.n)]
        self.most: Floats = np.array([np.inf if far is None else float(far) for far in room])
        self.weight = np.concatenate((instance.weight, instance.weight)).astype(float)
        self._lp = WarmLp(
            LinearModel(
                cost=self.weight,
                lower=np.zeros(2 * self.n),
                upper=self.most,
                indptr=np.zeros(1, np.int64),
                indices=np.zeros(0, np.int64),
                coefs=np.zeros(0),
                row_lower=np.zeros(0),
                row_upper=np.zeros(0),
            )
        )

    def add(self, cuts: Iterable[Cut], against: Floats | None = None) -> int:
        """Take cuts in, and say how many are new; ``against``: only those that these widths do not keep."""
        new = []
        for cut in cuts:
            made = self.derive.derive(cut)
            if made is None or any(self.sums[j % self.n] for j in made.row):  # a sum may be anything: no cut holds it
                continue
            if against is not None and _slack(made, against) >= -HAIR * max(made.least, int(cut["scale"]), 1):
                continue
            key = ((-1, made.least), *sorted(made.row.items()))
            if key not in self._seen:
                self._seen.add(key)
                self.cuts.append(cut)
                new.append(made)
        self.rows += new
        if new:
            size = [max(one.least, int(one.stated["scale"]), 1) for one in new]
            self._lp.add_rows(
                np.concatenate(([0], np.cumsum([len(one.row) for one in new]))).astype(np.int64),
                np.array([j for one in new for j in one.row], np.int64),
                np.array([x / s for one, s in zip(new, size, strict=True) for x in one.row.values()], float),
                np.array([one.least / s for one, s in zip(new, size, strict=True)], float),
                np.full(len(new), np.inf),
            )
        return len(new)

    def begin(self, asked: Requirements) -> None:
        """For each requirement that its own range is wide enough, and that the others in each of its equations move as far."""
        ptr, entry = self.instance.relations.by_cell
        cuts = []
        for r in range(len(asked.cell)):
            p, way = int(asked.cell[r]), int(asked.way[r])
            inside = entry[ptr[p] : ptr[p + 1]].tolist() if asked.first[r] else []
            for k in (None, *inside):
                signs = (way,) if way else (1, -1)
                ways, scale = [self._alone(k, sign) for sign in signs], 1 if k is None else self._size(k)
                named = {"attacker": asked.attacker[r], "cell": p, "sense": SENSES[way], "scale": scale}
                cuts.append({**named, "ways": ways})
                known = [asked.rooms[int(asked.of[r])][0].tolist()] if len(asked.rooms[int(asked.of[r])][0]) else []
                cuts += [{**named, "ways": [{**one, "known": own} for one in ways]} for own in known]
        self.add(cuts)

    def bridge(self, x: Floats) -> int:
        """Bridges of single equations that these widths do not keep."""
        r, n = self.instance.relations, self.n
        b, t = (np.where(self.sums, np.inf, part)[r.indices] for part in (x[:n], x[n:]))
        m = np.abs(r.coefs).astype(float)
        up, down = np.where(r.coefs > 0, t, b) * m, np.where(r.coefs > 0, b, t) * m
        cuts = []
        with np.errstate(invalid="ignore"):
            for sense, have, others, side in (("above", t, (down, up), 1), ("below", b, (up, down), -1)):
                mine = np.where(r.coefs > 0, others[0], others[1])
                total = [np.bincount(r.row, part, minlength=r.equations)[r.row] for part in others]
                can = (np.where(r.coefs > 0, total[0], total[1]) - mine) / m
                short = have - can > HAIR * np.maximum(1.0, have)
                for k in np.flatnonzero(short & np.isfinite(have)).tolist():
                    if (side, k) not in self._bridged:
                        self._bridged.add((side, k))
                        named = {"attacker": self.instance.attackers[0].name, "cell": int(r.indices[k])}
                        ways = [self._alone(k, side)]
                        cuts.append({**named, "sense": sense, "scale": self._size(k), "ways": ways})
        return self.add(cuts)

    def _size(self, k: int) -> int:
        return abs(int(self.instance.relations.coefs[k]))

    def _alone(self, k: int | None, sign: int) -> Cut:
        """The multiplier that takes the cell of entry k out of its equation: d·e_p ± equation, d the size of its coefficient."""
        if k is None:
            return {"equation": [], "multiplier": [], "known": []}
        r = self.instance.relations
        multiplier = -sign if r.coefs[k] > 0 else sign
        return {"equation": [int(r.row[k])], "multiplier": [multiplier], "known": []}

    def least(self, budget: Budget) -> Point | None:
        """The least widths that keep all cuts; None where the solver has no answer, and none where they are infeasible."""
        found = ask(self._lp.solve, columns=2 * self.n, rows=len(self.rows), budget=budget)
        if found.x is None or found.row_duals is None or found.status != "optimal":
            return None
        x = np.clip(found.x, 0.0, np.minimum(self.most, FAR))
        size = np.array([max(one.least, int(one.stated["scale"]), 1) for one in self.rows], float)
        return Point(x, float(found.objective), np.maximum(found.row_duals, 0.0) / size)

    def proof(self, raw: Floats) -> Proof:
        """What the prices of the first cuts prove in whole numbers: as fractions of small denominators where they are, else to so many digits."""
        used = np.flatnonzero(raw > 0).tolist()
        best = Proof(Fraction(0), (0,) * len(self.rows), 1)
        if not used:
            return best
        unit = float(10**DIGITS) / max(float(raw.max(initial=0.0)), 1e-300)
        for d in (*DENOMINATORS, max(1, int(unit))):
            near = np.rint(raw * d)
            if d <= DENOMINATORS[-1] and float(np.abs(near - raw * d).max(initial=0.0)) > 1e-5:
                continue
            whole = {t: int(near[t]) for t in used}
            bound, scale = least_cost(self.derive, [(self.rows[t], u) for t, u in whole.items()], d)
            if bound > best.bound:
                best = Proof(bound, tuple(whole.get(t, 0) for t in range(len(self.rows))), scale)
            if d <= DENOMINATORS[-1] and bound > 0:
                break
        return best


def _slack(cut: DerivedCut, x: Floats) -> float:
    return float(sum(coef * x[j] for j, coef in cut.row.items()) - cut.least)
