"""Master: the linear program over the published values, with the cuts found so far; kept in the solver and solved again from where it stood.

Values are v = offset + B·x, 0 ≤ x. In the *equation form* x are the cells and the rows the equations; in the *leaf form* x are the leaves and the
rows the bounds of the totals, which stand for the equations. The one with fewer entries is taken. A cost that bends at a splits a cell into what goes
up and what goes down. Cuts that have been slack for some rounds are dropped; one that is missed later is found again.
"""

from __future__ import annotations

from collections.abc import Sequence
from dataclasses import dataclass, field

import numpy as np
from scipy.sparse import csr_array, diags_array, eye_array, hstack

from cellward.exact import Floats, Ints
from cellward.instance import Instance
from cellward.protect.lattice.capacity import Cut
from cellward.protect.lattice.linear import independent
from cellward.solve.ask import ask
from cellward.solve.budget import Budget
from cellward.solve.model import LinearModel
from cellward.solve.outcome import Outcome
from cellward.solve.warm_lp import WarmLp

PATIENCE = 5
"""Rounds that a cut may be slack before it is dropped."""
SLACK = 1e-6


@dataclass(frozen=True, eq=False)
class Costs:
    """What a unit of v costs in every cell, upwards and downwards from ``bend`` (None: the same everywhere)."""

    up: Floats
    down: Floats
    bend: Ints | None = None


@dataclass(frozen=True, eq=False)
class MasterForm:
    """v = offset + B·x, and the linear model of x; ``equations``: those of the first rows (none in leaf form)."""

    name: str
    offset: Ints
    b: csr_array
    model: LinearModel
    equations: Ints

    def values(self, x: Floats) -> Floats:
        """The values of a point."""
        return np.asarray(self.offset + self.b @ x)

    def rows(self, cuts: Sequence[Cut]) -> tuple[csr_array, Floats]:
        """Cuts on values as rows on x."""
        length = [len(cut.at) for cut in cuts]
        coef = np.concatenate([cut.coef.astype(float) for cut in cuts])
        at = np.concatenate([cut.at for cut in cuts])
        picked = csr_array((coef, at, np.concatenate(([0], np.cumsum(length)))), shape=(len(cuts), len(self.offset)))
        least = np.array([cut.least - int((cut.coef * self.offset[cut.at]).sum()) for cut in cuts], float)
        return csr_array(picked @ self.b), least


def best_form(instance: Instance, lo: Ints, hi: Ints, costs: Costs) -> MasterForm:
    """The form with fewer entries."""
    if costs.bend is None:
        leaf = _leaf_form(instance, lo, hi, costs)
        if leaf is not None:
            return leaf
    return equation_form(instance, lo, hi, costs)


def equation_form(instance: Instance, lo: Ints, hi: Ints, costs: Costs) -> MasterForm:
    """x are the cells; with a bend, what goes up and what goes down in each."""
    r = instance.relations
    equations = independent(r)
    rows = r.take(equations)
    n = r.cells
    m = csr_array((rows.coefs.astype(float), rows.indices, rows.indptr), shape=(rows.equations, n))
    if costs.bend is None:
        offset, b = lo, csr_array(eye_array(n))
        lower, upper, cost = np.zeros(n), (hi - lo).astype(float), costs.up
    else:
        offset, b = costs.bend, csr_array(hstack((eye_array(n), -eye_array(n))))
        # Up, and down; where a is no choice, one of them has a least.
        lower, upper = (
            np.concatenate((np.maximum(one - offset, 0), np.maximum(offset - two, 0))).astype(float)
            for one, two in ((lo, hi), (hi, lo))
        )
        cost = np.concatenate((costs.up, costs.down))
        m = csr_array(m @ b)
    right = -rows.residual(offset).astype(float)
    model = _model(cost, lower, upper, m, right, right)
    return MasterForm("equations", offset, b, model, equations)


def _leaf_form(instance: Instance, lo: Ints, hi: Ints, costs: Costs) -> MasterForm | None:
    r = instance.relations
    leaf = r.leaf_form
    if leaf.condition.shape[0]:
        return None
    total = np.ones(r.cells, bool)
    total[leaf.leaves] = False
    b = csr_array(leaf.matrix.astype(float))
    rows = csr_array(b[total])
    if rows.nnz >= r.take(independent(r)).indptr[-1]:
        return None
    offset = np.asarray(leaf.matrix @ lo[leaf.leaves] + leaf.constant)
    upper = (hi - lo)[leaf.leaves].astype(float)
    least, most = ((side - offset)[total].astype(float) for side in (lo, hi))
    model = _model(b.T @ costs.up, np.zeros(len(upper)), upper, rows, least, most)
    return MasterForm("leaves", offset, b, model, np.zeros(0, np.int64))


def _model(cost: Floats, lower: Floats, upper: Floats, rows: csr_array, least: Floats, most: Floats) -> LinearModel:
    return LinearModel(
        cost=np.asarray(cost, float),
        lower=lower,
        upper=upper,
        indptr=rows.indptr.astype(np.int64),
        indices=rows.indices.astype(np.int64),
        coefs=rows.data,
        row_lower=least,
        row_upper=most,
    )


def scaled(rows: csr_array, factor: Floats) -> csr_array:
    """Rows times factors."""
    return csr_array(diags_array(factor) @ rows)


@dataclass
class Master:
    """The linear program of a form, with cuts."""

    form: MasterForm
    cuts: list[Cut] = field(default_factory=list)
    added: int = 0
    _idle: list[int] = field(default_factory=list)
    _lp: WarmLp | None = None

    def add(self, cuts: Sequence[Cut]) -> None:
        """Cuts more."""
        if not cuts:
            return
        rows, least = self.form.rows(cuts)
        # Every row to a largest entry of 1: the solver's tolerances are absolute.
        size = np.zeros(len(cuts))
        np.maximum.at(size, np.repeat(np.arange(len(cuts)), np.diff(rows.indptr)), np.abs(rows.data))
        size = np.where(size > 0, size, 1.0)
        rows, least = scaled(rows, 1 / size), least / size
        self._warm.add_rows(
            rows.indptr.astype(np.int64), rows.indices.astype(np.int64), rows.data, least, np.full(len(cuts), np.inf)
        )
        self.cuts += cuts
        self._idle += [0] * len(cuts)
        self.added += len(cuts)

    @property
    def _warm(self) -> WarmLp:
        if self._lp is None:
            self._lp = WarmLp(self.form.model)
        return self._lp

    def solve(self, budget: Budget) -> Outcome:
        """The optimum with the cuts so far."""
        lp = self._warm
        return ask(lp.solve, columns=self.form.model.columns, rows=lp.model.rows, budget=budget)

    def purge(self, v: Floats) -> None:
        """Drop the cuts that have been slack for long."""
        for k, cut in enumerate(self.cuts):
            slack = float(cut.coef @ v[cut.at]) - cut.least > SLACK * max(1.0, float(np.abs(cut.coef).max()))
            self._idle[k] = self._idle[k] + 1 if slack else 0
        old = np.array([k for k, idle in enumerate(self._idle) if idle > PATIENCE], np.int64)
        if len(old):
            self._warm.drop_rows(self.form.model.rows + old)
            gone = set(old.tolist())
            self.cuts = [cut for k, cut in enumerate(self.cuts) if k not in gone]
            self._idle = [idle for k, idle in enumerate(self._idle) if k not in gone]

    def multipliers(self, outcome: Outcome, equations: int) -> Floats | None:
        """The duals of the equations: a hint at a proof."""
        if outcome.row_duals is None or not len(self.form.equations):
            return None
        out = np.zeros(equations)
        out[self.form.equations] = outcome.row_duals[: len(self.form.equations)]
        return out
