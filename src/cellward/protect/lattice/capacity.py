"""Capacity constraints: what published values must satisfy so that attackers stay far enough from the cells at risk (paper 000, section 3.1).

Legend: attacker k knows lb ≤ y ≤ ub and, from the release, low ≤ y ≤ high, cell by cell; z = y − a, so M·z = 0. For any multipliers γ of the
equations and d = e_p − Mᵀγ, every table that k must think possible has

    z_p ≤ Σ_{d>0} d·min(ub − a, high − a) + Σ_{d<0} d·max(lb − a, low − a),

and a minimum is at most either of its terms. low and high are linear in what is decided (v − h and v + h, mostly; see told_box.py). So, with one of
the two terms chosen in each cell, "the right-hand side is at least UPL" is a linear inequality that every protected decision satisfies, whatever γ
is: a *cut*. γ are the duals of the attacker's problem, brought to small fractions; the cut is computed from them in whole numbers. Downwards the same
holds of −z_p and LPL; for a width, the two right-hand sides add up to at least SPL.
"""

from __future__ import annotations

import math
from collections.abc import Iterator, Sequence
from dataclasses import dataclass, replace
from fractions import Fraction
from functools import cached_property

import numpy as np

from cellward import exact
from cellward.audit.propagation import Propagation
from cellward.audit.region import Region
from cellward.audit.settle import Question, settle
from cellward.audit.sums_as_cells import instance_of_sums
from cellward.errors import SolverError
from cellward.exact import NO_BOUND, Bools, Floats, Ints
from cellward.instance import Instance
from cellward.protect.lattice.told_box import CellLevels, Requirement, ToldBox
from cellward.publication.allowed import AllowedSet
from cellward.publication.knowledge import Knowledge
from cellward.risk.alike import beyond
from cellward.solve.ask import ask
from cellward.solve.budget import Budget
from cellward.solve.model import LinearModel
from cellward.solve.warm_lp import WarmLp
from cellward.table.levels import Levels
from cellward.table.relations import Relations, among

DENOMINATORS = (1, 2, 3, 4, 6, 12, 60, 840, 27720)
"""Denominators tried for the multipliers of a cut."""

LARGEST_FRACTION = 5000
"""Multipliers that have a common denominator up to this are taken as they are."""

LARGEST_COEFFICIENT = 10**6
"""Cuts with larger coefficients are not taken: no solver could tell them from their neighbours."""

VIOLATED = 1e-4

MOST_SEPARATED = 300
"""Attackers up to which cuts are looked for against each; of more the first, who is the public, and the audit has the last word on the others."""
SWAPPED_FROM = 20
"""Requirements from which swaps are tried before linear programs."""

PUSHES = 3
"""AttackerProblems that push all levels of an attacker at once, before they are taken one by one."""


@dataclass(frozen=True, eq=False)
class Cut:
    """Σ coef·q[at] ≥ least, for the quantities q of every protected release (the values, where the release tells of y around them)."""

    at: Ints
    coef: Ints
    least: int

    @property
    def mark(self) -> bytes:
        """The same for equal cuts."""
        return self.at.tobytes() + self.coef.tobytes() + str(self.least).encode()


@dataclass
class AttackerProblems:
    """Attacker problems solved, out of those listed."""

    solved: int = 0
    listed: int = 0


class Capacity:
    """The requirements of an instance against what a release tells: fixings, and cuts at any point.

    ``told`` is of the cells published: all, unless sums at risk stand after them, of which nothing is told. A cut counts when the point misses it by
    more than ``violated``, in units of the table.
    """

    def __init__(self, instance: Instance, told: ToldBox, violated: float = VIOLATED) -> None:
        self.instance, self.told, self.violated = instance, told, violated
        self.low, self.high = told.low, told.high
        self.cells = len(self.low.constant)
        self.asked = [attacker.asked(instance.sensitivity.levels) for attacker in instance.attackers]
        self.effort = AttackerProblems()

    # ---- before any solver -----------------------------------------------------------------------------------------------------------------

    def box(self, k: int) -> tuple[Ints, Ints]:
        """lb and ub of attacker k, the public bounds included."""
        return self.instance.attackers[k].narrow(self.instance.lower, self.instance.upper)

    def impossible(self, allowed: AllowedSet) -> Iterator[tuple[Requirement, str]]:
        """Requirements that no choice of allowed values meets, as far as bounds and single equations tell, each with a sentence."""
        wide = [np.full(self.instance.cells, sign * NO_BOUND, np.int64) for sign in (-1, 1)]
        wide[0][: self.cells], wide[1][: self.cells] = self.told.widest(allowed)
        public = Propagation(
            self.instance.relations,
            np.maximum(self.instance.lower, wide[0]),
            np.minimum(self.instance.upper, wide[1]),
        )
        several = len(self.asked) <= MOST_SEPARATED
        for k, asked in enumerate(self.asked):
            if not len(asked) or not (several or k == 0):
                continue
            lb, ub = self.box(k)
            low, high = public.narrowed(np.maximum(lb, wide[0]), np.minimum(ub, wide[1]), whole=self._whole(k))
            levels = CellLevels(asked.cell, asked.lpl, asked.upl, asked.spl)
            for j in np.flatnonzero(~self._reachable(levels, (low, high), (lb, ub), allowed)).tolist():
                requirement = Requirement(k, *(int(part[j]) for part in levels))
                yield requirement, self._sentence(requirement)

    def _whole(self, k: int) -> bool:
        return self.instance.attackers[k].whole

    def _reachable(
        self, asked: CellLevels, reach: tuple[Ints, Ints], own: tuple[Ints, Ints], allowed: AllowedSet
    ) -> Bools:
        """Whether some allowed value of each cell alone would do; ``reach``: as far as equations and bounds let y go."""
        a, (low, high) = self.instance.a[asked.cell], (end[asked.cell] for end in reach)
        out = ((asked.upl == 0) | (high >= a + asked.upl)) & ((asked.lpl == 0) | (low <= a - asked.lpl))
        endless = (low <= -NO_BOUND) | (high >= NO_BOUND)
        out &= endless | (np.where(endless, 0, high) - np.where(endless, 0, low) >= asked.spl)
        told = np.flatnonzero(asked.cell < self.cells)
        some = CellLevels(*(part[told] for part in asked))
        out[told] &= self.told.meets(some, a[told], (own[0][some.cell], own[1][some.cell]), allowed)
        return np.asarray(out)

    def _sentence(self, need: Requirement) -> str:
        """What cannot be kept from whom."""
        decimals = self.instance.decimals
        asked = [
            f"{exact.short(level, decimals)} {word}"
            for level, word in ((need.lpl, "below"), (need.upl, "above"), (need.spl, "of width"))
            if level
        ]
        name = self.instance.labels.name(need.cell)
        who = self.instance.attackers[need.attacker].name
        return f"{name} cannot be kept {' and '.join(asked)} from attacker {who}"

    def room(self) -> tuple[Ints, Ints]:
        """Bounds on v that the levels of each cell by itself ask for: the trivial cuts, as fixings."""
        least, most = np.full(self.cells, -NO_BOUND, np.int64), np.full(self.cells, NO_BOUND, np.int64)
        who, asked = self.every
        mine = np.flatnonzero(asked.cell < self.cells)
        asked = CellLevels(*(part[mine] for part in asked))
        low, high = self.told.room(asked, self.instance.a[asked.cell], self.bounds(who[mine], asked.cell))
        np.maximum.at(least, asked.cell, low)
        np.minimum.at(most, asked.cell, high)
        return least, most

    @cached_property
    def every(self) -> tuple[Ints, CellLevels]:
        """All levels in a row, and whose each is."""
        many = [len(one) for one in self.asked]
        parts = (np.concatenate([getattr(one, name) for one in self.asked]) for name in ("cell", "lpl", "upl", "spl"))
        return np.repeat(np.arange(len(many)), many), CellLevels(*parts)

    @cached_property
    def known(self) -> tuple[Ints, Ints, Ints]:
        """Who (by number) knows more than the public of which cell, as who · cells + cell in order, and between what he knows it to be."""
        known = beyond(self.instance.attackers, self.instance.lower, self.instance.upper)
        who = np.repeat(np.arange(len(known)), [len(cell) for cell, _, _ in known])
        cell, low, high = (np.concatenate(part) for part in zip(*known, strict=True))
        return who * self.instance.cells + cell, low, high

    def bounds(self, who: Ints, cell: Ints) -> tuple[Ints, Ints]:
        """lb and ub of these cells, each as one attacker (−1: the public) knows it."""
        lb, ub = self.instance.lower[cell], self.instance.upper[cell]
        key, low, high = self.known
        asked = np.where(who >= 0, who * self.instance.cells + cell, -1)
        more = np.flatnonzero(among(key, asked))
        at = np.searchsorted(key, asked[more])
        lb[more], ub[more] = low[at], high[at]
        return lb, ub

    # ---- cuts ------------------------------------------------------------------------------------------------------------------------------

    @cached_property
    def _free(self) -> Ints:
        """Cells that an attacker may think to be moved."""
        return np.flatnonzero(np.concatenate((self.told.moving, np.ones(self.instance.cells - self.cells, bool))))

    @cached_property
    def _rows(self) -> Relations:
        """M·z = 0 over the free cells, in their own numbering, without implied equations."""
        return self.instance.relations.moves(self._free)

    @cached_property
    def _lp(self) -> WarmLp:
        rows, none = self._rows, np.zeros(len(self._free))
        zero = np.zeros(rows.equations)
        return WarmLp(
            LinearModel(
                cost=none,
                lower=none,
                upper=none,
                indptr=rows.indptr,
                indices=rows.indices,
                coefs=rows.coefs.astype(float),
                row_lower=zero,
                row_upper=zero,
            )
        )

    def cuts(self, q: Floats | Ints, budget: Budget | None = None) -> list[Cut]:
        """Cuts that these quantities violate, one for each requirement that fails at them; they may be fractions between allowed ones.

        The problems of an attacker are scheduled: some push all its levels at once, and then the largest level is taken first, and after each problem
        the one that its table comes nearest to; levels that a table already shows are not looked at again.
        """
        q, found = np.asarray(q, np.float64), []
        for k, asked in enumerate(self._left(q, budget or Budget())):
            self.effort.listed += _problems(self.asked[k])
            if len(asked) and not (budget is not None and budget.over):
                found += _Separation(self, k, asked, q, budget).cuts()
        return found

    def _left(self, q: Floats, budget: Budget) -> list[Levels]:
        """The levels that swaps of the table do not already show to be met at this point; few are not worth the look."""
        if sum(map(len, self.asked)) < SWAPPED_FROM:
            return self.asked
        if len(self.asked) > MOST_SEPARATED:
            return [asked.take(np.full(len(asked), k == 0)) for k, asked in enumerate(self.asked)]
        instance = self.instance
        # Whole tables strictly inside what is told: the ends are rounded inwards.
        lo, hi = (np.full(instance.cells, sign * NO_BOUND, np.int64) for sign in (-1, 1))
        lo[: self.cells] = np.minimum(np.ceil(self.low.of(q) - 1e-9), instance.a[: self.cells])
        hi[: self.cells] = np.maximum(np.floor(self.high.of(q) + 1e-9), instance.a[: self.cells])
        known = Knowledge.interval(lo, hi)
        regions = Region.of_each(
            instance.relations, instance.lower, instance.upper, known, instance.attackers, instance.a
        )
        questions = [Question(region, levels=asked) for region, asked in zip(regions, self.asked, strict=True)]
        ends = settle(questions, instance.labels, [instance.a], budget, only_swaps=True)
        return [asked.take(~one.met) for asked, one in zip(self.asked, ends, strict=True)]


class _Separation:
    """One attacker's problems at one point."""

    def __init__(self, capacity: Capacity, k: int, asked: Levels, q: Floats, budget: Budget | None) -> None:
        self.capacity, self.asked, self.q, self.budget = capacity, asked, q, budget
        self.rows, self.free = capacity._rows, capacity._free
        lb, ub = capacity.box(k)
        a = capacity.instance.a[self.free]
        inside = self.free < capacity.cells
        cell = np.minimum(self.free, capacity.cells - 1)
        self.own = (_less(lb[self.free], a), _less(ub[self.free], a))
        """lb − a and ub − a, infinite where there is none."""
        self.told = (
            np.where(inside, capacity.low.of(q)[cell] - a, -np.inf),
            np.where(inside, capacity.high.of(q)[cell] - a, np.inf),
        )
        self.lower = np.minimum(np.maximum(self.own[0], self.told[0]), 0.0)
        self.upper = np.maximum(np.minimum(self.own[1], self.told[1]), 0.0)
        self.place = np.searchsorted(self.free, asked.cell)
        self.low, self.high = np.zeros(len(asked)), np.zeros(len(asked))
        moving = (self.place < len(self.free)) & (
            self.free[np.minimum(self.place, len(self.free) - 1)] == asked.cell if len(self.free) else False
        )
        self.judged = np.flatnonzero(moving)

    @property
    def _short(self) -> tuple[Floats, Floats]:
        """How far the tables seen fall short of each level, downwards and upwards."""
        width = np.maximum(self.asked.spl - (self.high - self.low), 0)
        down, up = np.maximum(self.asked.lpl + self.low, 0), np.maximum(self.asked.upl - self.high, 0)
        return np.maximum(down, width), np.maximum(up, width)

    def cuts(self) -> list[Cut]:
        """The cuts of all levels that fail."""
        if not len(self.judged):
            return []
        self.capacity._lp.restrict(np.arange(len(self.lower)), self.lower, self.upper)
        self._push()
        out: list[Cut] = []
        todo = set(self.judged.tolist())
        todo &= set(np.flatnonzero(np.maximum(*self._short) > self.capacity.violated).tolist())
        size = np.maximum(np.maximum(self.asked.lpl, self.asked.upl), self.asked.spl)
        j = max(todo, key=lambda j: (int(size[j]), -j), default=None)
        while j is not None:
            out += self._one(j)
            todo.discard(j)
            short = np.maximum(*self._short)
            todo = {i for i in todo if short[i] > self.capacity.violated}
            j = min(todo, key=lambda i: (short[i], -int(size[i]), i), default=None)
            if self.budget is not None and self.budget.over:
                break
        return out

    def _push(self) -> None:
        for turn in range(PUSHES):
            down, up = (short > self.capacity.violated for short in self._short)
            many = int(np.count_nonzero(down | up))
            if many < 4:
                return
            way = np.where(
                down & up, np.where((np.arange(len(down)) + turn) % 2, 1, -1), up.astype(int) - down.astype(int)
            )
            cost = np.zeros(len(self.free))
            cost[self.place[self.judged]] = way[self.judged]
            self._solve(cost)
            down, up = (short > self.capacity.violated for short in self._short)
            if np.count_nonzero(down | up) > 0.8 * many:
                return

    def _solve(self, cost: Floats) -> tuple[float, Floats | None]:
        """The best value of a cost over the tables of the attacker, and its multipliers; what the table shows is kept."""
        self.capacity.effort.solved += 1
        try:
            outcome = ask(
                self.capacity._lp.maximise,
                cost,
                columns=len(cost),
                rows=self.rows.equations,
                budget=self.budget,
            )
        except SolverError:  # no cut comes of it; whether the level is met is for the audit to say, which is exact
            return np.inf, None
        if outcome.x is None:
            return np.inf, None
        z = outcome.x[self.place[self.judged]]
        self.low[self.judged] = np.minimum(self.low[self.judged], z)
        self.high[self.judged] = np.maximum(self.high[self.judged], z)
        return outcome.objective, outcome.row_duals

    def _one(self, j: int) -> list[Cut]:
        """The problems of one level, and its cuts."""
        lpl, upl, spl = (int(x[j]) for x in (self.asked.lpl, self.asked.upl, self.asked.spl))
        ends: dict[int, tuple[float, Floats | None]] = {}
        for sign, level in ((1, upl), (-1, lpl)):
            reached = self.high[j] if sign > 0 else -self.low[j]
            if level > reached + self.capacity.violated or spl > self.high[j] - self.low[j] + self.capacity.violated:
                cost = np.zeros(len(self.free))
                cost[self.place[j]] = sign
                ends[sign] = self._solve(cost)
        out = []
        for sign, level in ((1, upl), (-1, lpl)):
            if sign in ends and level > ends[sign][0] + self.capacity.violated:
                out.append(self._cut(j, [(sign, ends[sign][1])], level, ends[sign][0]))
        if len(ends) == 2 and spl > ends[1][0] + ends[-1][0] + self.capacity.violated:
            out.append(self._cut(j, [(s, ends[s][1]) for s in (1, -1)], spl, ends[1][0] + ends[-1][0]))
        return [cut for cut in out if cut is not None]

    def _cut(self, j: int, terms: Sequence[tuple[int, Floats | None]], level: int, reached: float) -> Cut | None:
        """The cut of these multipliers, if they are small fractions; else with the smallest denominator that keeps nine tenths of the violation."""
        best, most = None, self.capacity.violated
        exact_ones = _common_denominator([multipliers for _, multipliers in terms if multipliers is not None])
        for denominator in (*(() if exact_ones is None else (exact_ones,)), *DENOMINATORS):
            found = self._cut_over(j, terms, level, denominator)
            if found is None:
                continue
            cut, violation = found
            if violation > most:
                best, most = cut, violation
            if violation >= 0.9 * (level - reached):
                return cut
        return best

    def _cut_over(
        self, j: int, terms: Sequence[tuple[int, Floats | None]], level: int, denominator: int
    ) -> tuple[Cut, float] | None:
        """Σ over the terms of what bounds ±z_p, at least the level: as a cut, and by how much v misses it."""
        capacity, rows = self.capacity, self.rows
        a = capacity.instance.a[self.free]
        coef = np.zeros(capacity.told.quantities, np.int64)
        constant = 0
        for sign, multipliers in terms:
            if multipliers is None:
                return None
            scaled = np.rint(multipliers * denominator)
            if float(np.abs(scaled).max(initial=0.0)) >= LARGEST_COEFFICIENT:
                return None
            parts = rows.coefs * scaled.astype(np.int64)[rows.row]
            d = -np.bincount(rows.indices, parts.astype(float), minlength=len(self.free)).astype(np.int64)
            d[self.place[j]] += sign * denominator
            used = np.flatnonzero(d)
            side = (d[used] > 0).astype(int)
            own, told = (np.stack(bounds)[:, used][side, np.arange(len(used))] for bounds in (self.own, self.told))
            # The attacker's own bound where it is the narrower one at this point, what the release tells elsewhere.
            by_own = np.where(side == 1, own <= told, own >= told) & np.isfinite(own)
            if not np.isfinite(np.where(by_own, own, told)).all():
                return None
            constant += sum(x * int(y) for x, y in zip(d[used][by_own].tolist(), own[by_own].tolist(), strict=True))
            for up, end in enumerate((capacity.low, capacity.high)):
                rest = used[~by_own & (side == up)]
                cell = self.free[rest]
                np.add.at(coef, end.at[cell], d[rest] * end.coef[cell])
                shift = end.constant[cell] - a[rest]
                constant += sum(x * y for x, y in zip(d[rest].tolist(), shift.tolist(), strict=True))
        at = np.flatnonzero(coef)
        if int(np.abs(coef).max(initial=0)) > LARGEST_COEFFICIENT:
            return None
        least = level * denominator - constant
        missed = least - float(coef[at] @ self.q[at])
        return Cut(at, coef[at], least), missed / denominator


def _problems(asked: Levels) -> int:
    """How many there are: one for each side that a level asks for."""
    return int(((asked.upl > 0) | (asked.spl > 0)).sum() + ((asked.lpl > 0) | (asked.spl > 0)).sum())


def _common_denominator(multipliers: Sequence[Floats]) -> int | None:
    """The denominator in which all of these are whole, where it is small."""
    out = 1
    for value in np.unique(np.round(np.abs(np.concatenate(multipliers)), 9)).tolist() if multipliers else []:
        found = Fraction(value).limit_denominator(LARGEST_FRACTION)
        if abs(float(found) - value) > 1e-8:
            return None
        out = math.lcm(out, found.denominator)
        if out > LARGEST_FRACTION:
            return None
    return out


def guards(instance: Instance, knowledge: Knowledge, told: ToldBox, violated: float = VIOLATED) -> list[Capacity]:
    """The levels of the cells, and those of the sums at risk, against what a release tells."""
    sums = instance_of_sums(instance, knowledge)
    if knowledge.whole and not all(k.whole for k in instance.attackers):
        instance = replace(instance, attackers=tuple(replace(k, whole=True) for k in instance.attackers))
    own = Capacity(instance, told, violated)
    return [own] if sums is None else [own, Capacity(sums, told, violated)]


def _less(bounds: Ints, a: Ints) -> Floats:
    """bounds − a, infinite where there is no bound."""
    out = np.asarray(bounds, np.float64) - a
    out[np.abs(bounds) == NO_BOUND] *= np.inf
    return out
