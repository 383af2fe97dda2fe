"""CuttingPlanes: the least continuous perturbation that meets every level, by cutting planes (model.md holds the proofs).

Where the public reads y around v, everything is linear: bounds first, then the capacity constraints that the last optimum misses, until it misses
none. Where it reads a box that widens only around values on an end, sitting on an end is a choice, and the cuts are on these choices.
"""

from __future__ import annotations

from collections.abc import Sequence
from dataclasses import dataclass, field, replace
from typing import Literal

import numpy as np
from scipy.sparse import csr_array, hstack, vstack

from cellward.exact import Floats, Ints
from cellward.protect.lattice.capacity import SWAPPED_FROM, Capacity, Cut
from cellward.protect.lattice.told_box import BetweenMultiples
from cellward.protect.perturbation.intervals import PerturbationIntervals
from cellward.protect.perturbation.master import Costs, Master, MasterForm, best_form, equation_form
from cellward.solve.ask import ask
from cellward.solve.budget import Budget
from cellward.solve.highs import solve_mip
from cellward.solve.model import LinearModel
from cellward.solve.outcome import Outcome

Drawn = tuple[Ints, Ints, int]
"""Cells that are held to values drawn for them, these values, and the step of what else they may take."""
ON_END = 1e-6
"""A value this near to an end sits on it."""
MOST_ROUNDS = 500


@dataclass(frozen=True, eq=False)
class FractionalOptimum:
    """The optimum of the linear program: values, their cost as the solver counts it, the cuts that hold it, and the duals of the equations.

    ``held``: cells that are to stay exactly where they are, whatever becomes of the others; of ``needed`` that is known to matter. ``between``:
    what was allowed, where that is less than the intervals.
    """

    status: Literal["optimal", "infeasible", "unknown"]
    engine: str
    v: Floats | None = None
    value: float = np.nan
    cuts: tuple[Cut, ...] = ()
    held: Ints = field(default_factory=lambda: np.zeros(0, np.int64))
    needed: Ints | None = None
    multipliers: Floats | None = None
    between: tuple[Ints, Ints] | None = None


@dataclass(eq=False)
class CuttingPlanes:
    """One set of intervals between ``lo`` and ``hi``, its costs and the levels to be met."""

    intervals: PerturbationIntervals
    costs: Costs
    guards: Sequence[Capacity]
    budget: Budget
    lo: Ints
    hi: Ints
    drawn: Drawn | None = None
    rounds: int = 0

    def solve(self) -> FractionalOptimum:
        """The least perturbation, or that there is none."""
        told = self.guards[0].told if self.guards else None
        if isinstance(told, BetweenMultiples):
            return self._on_ends(told)
        if self.drawn is None:
            return self._planes(self.lo, self.hi, [])[0]
        return self._held()

    # ---- around v: cutting planes ------------------------------------------------------------------------------------------------------------

    def _planes(
        self, lo: Ints, hi: Ints, known: list[Cut], costs: Costs | None = None
    ) -> tuple[FractionalOptimum, list[Cut]]:
        """Cutting planes between these bounds, with other costs than one's own where given; all cuts ever found come back too."""
        form = best_form(self.intervals.instance, lo, hi, self.costs if costs is None else costs)
        master, found, seen = Master(form), list(known), {cut.mark for cut in known}
        master.add(known)
        while True:
            self.rounds += 1
            outcome = master.solve(self.budget)
            if outcome.x is None:
                status: Literal["infeasible", "unknown"] = "infeasible" if outcome.status == "infeasible" else "unknown"
                return FractionalOptimum(status, self._engine(form, master.added)), found
            v = np.clip(form.values(outcome.x), lo, hi)
            cuts = [cut for guard in self.guards for cut in guard.cuts(v, self.budget)]
            # A cut that the master holds and yet is missed is missed by the solver's tolerance.
            held = {cut.mark for cut in master.cuts}
            fresh = [cut for cut in cuts if cut.mark not in held]
            if not fresh or self.budget.over or self.rounds > MOST_ROUNDS:
                value = self._value(v)
                duals = master.multipliers(outcome, self.intervals.instance.relations.equations)
                engine = self._engine(form, master.added)
                done: Literal["optimal", "unknown"] = "unknown" if fresh else "optimal"
                return FractionalOptimum(done, engine, v, value, tuple(master.cuts), multipliers=duals), found
            found += [cut for cut in fresh if cut.mark not in seen]
            seen |= {cut.mark for cut in fresh}
            master.purge(v)
            master.add(fresh)

    def _value(self, v: Floats) -> float:
        """What v costs, counted from where the costs bend, or from 0."""
        bend = 0 if self.costs.bend is None else self.costs.bend
        away = v - bend
        if self.costs.bend is None:
            return float((self.costs.up * away).sum())
        return float((self.costs.up * np.maximum(away, 0) + self.costs.down * np.maximum(-away, 0)).sum())

    def _engine(self, form: MasterForm | None, cuts: int) -> str:
        name = "HiGHS MIP" if form is None else f"HiGHS LP ({form.name})"
        if not self.guards:
            return name
        solved, listed = (sum(getattr(guard.effort, what) for guard in self.guards) for what in ("solved", "listed"))
        return f"{name} with {cuts} cuts, {solved} of {listed} attacker problems"

    # ---- cells held to what was drawn -----------------------------------------------------------------------------------------------------------

    def _held(self) -> FractionalOptimum:
        """Cells at the values drawn; where no protected table has them all, as near to them as one comes: first that, then the least of all others.

        Each round ends it or knows one cut more.
        """
        assert self.drawn is not None
        cell, value, step = self.drawn
        known: list[Cut] = []
        low = high = value
        while True:
            lo, hi = self.lo.copy(), self.hi.copy()
            lo[cell], hi[cell] = low, high
            found, known = self._planes(lo, hi, known)
            if found.status != "infeasible":
                return replace(found, held=cell[low == high], between=(lo, hi))
            before = len(known)
            nearest, known = self._planes(self.lo, self.hi, known, self._off_drawn)
            if (
                nearest.v is None or nearest.status != "optimal"
            ):  # not known to protect: nothing follows from where it is
                return nearest
            at = nearest.v[cell]
            whole = np.rint(at / step) * step
            at = np.where(np.abs(at - whole) < ON_END, whole, at)
            under, over = (np.asarray(f(at / step), np.int64) * step for f in (np.floor, np.ceil))
            under, over = np.maximum(under, self.lo[cell]), np.minimum(over, self.hi[cell])
            if np.array_equal(under, low) and np.array_equal(over, high) and len(known) == before:
                return replace(found, status="unknown")  # the table just found lies within: a matter of tolerances
            low, high = under, over

    @property
    def _off_drawn(self) -> Costs:
        """The distance of the cells from what was drawn for them; nothing else counts."""
        assert self.drawn is not None
        cell, value, _ = self.drawn
        weight, bend = np.zeros(len(self.lo)), self.intervals.instance.a.copy()
        weight[cell], bend[cell] = 1.0, value
        return Costs(weight, weight, bend)

    # ---- boxes: sitting on an end is a choice -----------------------------------------------------------------------------------------------------

    def _on_ends(self, told: BetweenMultiples) -> FractionalOptimum:
        """Cuts on who sits on which end: first at the plain optimum, which often has enough of them, then with the choices as 0 or 1."""
        form = best_form(self.intervals.instance, self.lo, self.hi, self.costs)
        master = Master(form)
        outcome = master.solve(self.budget)
        duals = None if outcome.x is None else master.multipliers(outcome, self.intervals.instance.relations.equations)
        return replace(self._choosing(told, form, outcome), multipliers=duals)

    def least_on_grid(self, told: BetweenMultiples, step: int) -> FractionalOptimum:
        """The same where every value is a multiple of ``step``: the choices and the values in one integer program."""
        stays = self.lo == self.hi
        lo, hi = np.where(stays, self.lo, -(-self.lo // step) * step), np.where(stays, self.hi, self.hi // step * step)
        if np.any(lo > hi):
            return FractionalOptimum("infeasible", "bounds")
        form = equation_form(self.intervals.instance, lo, hi, self.costs)
        model = form.model
        steps = replace(
            model,
            cost=model.cost * step,
            upper=model.upper / step,
            coefs=model.coefs * step,
            integer=np.ones(model.columns, bool),
        )
        form = replace(form, b=csr_array(form.b * float(step)), model=steps)
        outcome = ask(solve_mip, steps, columns=steps.columns, budget=self.budget.part(threads=1))
        return self._choosing(told, form, outcome)

    def _choosing(self, told: BetweenMultiples, form: MasterForm, outcome: Outcome) -> FractionalOptimum:
        """From the optimum of a form on: cuts on who sits where, and these choices decided with everything else."""
        added: list[Cut] = []
        seen: set[bytes] = set()
        name: MasterForm | None = form
        while outcome.x is not None:
            self.rounds += 1
            v = np.clip(form.values(outcome.x[: form.model.columns]), self.lo, self.hi)
            q = _sitting(told, v)
            fresh = [cut for guard in self.guards for cut in guard.cuts(q, self.budget)]
            fresh = [cut for cut in fresh if cut.mark not in seen]
            engine = self._engine(name, len(added))
            if not fresh or self.budget.over or self.rounds > MOST_ROUNDS:
                n = len(told.lo)
                ends = np.flatnonzero((q[:n] > 0) | (q[n:] > 0))
                value = self._value(v)
                if outcome.status != "optimal" or fresh:
                    return FractionalOptimum("unknown", engine, v, value)
                return FractionalOptimum("optimal", engine, v, value, held=ends, needed=self._needed(told, q))
            added += fresh
            seen |= {cut.mark for cut in fresh}
            model = self._with_choices(form, told, added)
            outcome = ask(
                solve_mip, model, columns=model.columns, budget=self.budget.part(threads=1), absolute_gap=1e-7
            )
            name = None
        status: Literal["infeasible", "unknown"] = "infeasible" if outcome.status == "infeasible" else "unknown"
        return FractionalOptimum(status, self._engine(name, len(added)))

    def _needed(self, told: BetweenMultiples, q: Floats) -> Ints:
        """Cells on an end that together do: those at risk, and of the others that sit there the ones that cuts speak of, until no cut is missed."""
        n = len(told.lo)
        risky = np.zeros(n, bool)
        levels = [asked for guard in self.guards for asked in guard.asked]
        if (
            sum(map(len, levels)) >= SWAPPED_FROM
        ):  # each level that has to be looked at without them is a linear program
            for asked in levels:
                risky[asked.cell[asked.cell < n]] = True
        enough = q * np.concatenate((risky, risky))
        while cuts := [cut for guard in self.guards for cut in guard.cuts(enough, self.budget)]:
            more = np.unique(np.concatenate([cut.at[cut.coef > 0] for cut in cuts]))
            more = more[(q[more] > 0) & (enough[more] == 0)]
            if not len(more) or self.budget.over:
                enough = q
                break
            enough[more] = 1
        return np.unique(np.flatnonzero(enough) % n)

    def _with_choices(self, form: MasterForm, told: BetweenMultiples, cuts: Sequence[Cut]) -> LinearModel:
        """The linear program with a 0–1 column for each end that a cut speaks of: 1 only where v sits there."""
        n = len(told.lo)
        at = np.unique(np.concatenate([cut.at for cut in cuts]))
        place = np.full(told.quantities, -1, np.int64)
        place[at] = np.arange(len(at))
        cell, upper = at % n, at >= n
        width = (self.hi - self.lo)[cell].astype(float)
        # Below: v + width·z ≤ hi. Above: v − width·z ≥ lo.
        values = csr_array(form.b[cell])
        pick = csr_array(
            (np.where(upper, -width, width), (np.arange(len(at)), np.arange(len(at)))), shape=(len(at), len(at))
        )
        least = np.where(upper, (self.lo - form.offset)[cell], -np.inf)
        most = np.where(upper, np.inf, (self.hi - form.offset)[cell])
        length = [len(cut.at) for cut in cuts]
        rows = csr_array(
            (
                np.concatenate([cut.coef.astype(float) for cut in cuts]),
                place[np.concatenate([cut.at for cut in cuts])],
                np.concatenate(([0], np.cumsum(length))),
            ),
            shape=(len(cuts), len(at)),
        )
        needs = np.array([float(cut.least) for cut in cuts])
        nothing = csr_array((len(cuts), form.model.columns))
        return _joined(
            form.model,
            len(at),
            [(values, pick, least, most), (nothing, rows, needs, np.full(len(cuts), np.inf))],
        )


def _sitting(told: BetweenMultiples, v: Floats) -> Floats:
    """Who sits on which end."""
    on = np.abs(v - told.lo) < ON_END, np.abs(v - told.hi) < ON_END
    return np.concatenate((on[0] & (told.below > 0), on[1] & (told.above > 0))).astype(float)


NewRows = tuple[csr_array, csr_array, Floats, Floats]
"""Rows on the columns there are, the same rows on the columns that are new, and their two sides."""


def _joined(model: LinearModel, more: int, blocks: Sequence[NewRows]) -> LinearModel:
    """A model with 0–1 columns that cost nothing, and rows, more."""
    old = csr_array((model.coefs, model.indices, model.indptr), shape=(model.rows, model.columns))
    rows = [hstack((old, csr_array((model.rows, more))))]
    for left, right, _, _ in blocks:
        rows.append(hstack((left, right)))
    a = csr_array(vstack(rows))
    return LinearModel(
        cost=np.concatenate((model.cost, np.zeros(more))),
        lower=np.concatenate((model.lower, np.zeros(more))),
        upper=np.concatenate((model.upper, np.ones(more))),
        indptr=a.indptr.astype(np.int64),
        indices=a.indices.astype(np.int64),
        coefs=a.data,
        row_lower=np.concatenate([model.row_lower, *(least for _, _, least, _ in blocks)]),
        row_upper=np.concatenate([model.row_upper, *(most for _, _, _, most in blocks)]),
        integer=np.concatenate(
            (np.zeros(model.columns, bool) if model.integer is None else model.integer, np.ones(more, bool))
        ),
    )
