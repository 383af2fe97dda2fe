"""Controlled tabular adjustment keeps the contract.

It differs from the other methods where it should: levels are met by distance (a cell at risk is published at least its level away from the truth),
not by intervals, because nothing is told of how far values moved; and which way cells move is drawn from the key, so results are compared for one.
"""

from dataclasses import replace

import numpy as np
import pytest
from bank import BANK
from method_contract import MethodContract, repeated
from scipy.optimize import Bounds, LinearConstraint, milp

import cellward as cw
from cellward.exact import NO_BOUND
from cellward.instance import Instance
from cellward.protection import Protection
from cellward.solve.budget import Budget
from cellward.table.sensitivity import Sensitivity

KEY = bytes(32)
"""The one that the contract compares results for."""
LEVEL = 2


def at_risk(table):
    """The same table with its first cell at risk, fixed ones left alone."""
    cell = [int(np.flatnonzero(~table.sensitivity.fixed)[0])]
    level = np.full(1, LEVEL * 10**table.decimals, np.int64)
    asked = Sensitivity.of(table.cells, cell, level, level, np.zeros(1, np.int64))
    status = np.where(table.sensitivity.fixed, table.sensitivity.status, asked.status)
    return table.with_sensitivity(Sensitivity(status, asked.lpl, asked.upl, asked.spl))


class TestControlledAdjustment(MethodContract):
    method = cw.ControlledAdjustment(senses="up", jitter=0)

    @pytest.fixture(params=BANK)
    def table(self, request):
        return at_risk(BANK[request.param]())

    @pytest.fixture
    def result(self, table):
        return self.method.protect(table, key=KEY)

    def room(self, instance):
        """What each cell may become: inside its bounds; fixed cells and zeros stay, the one at risk goes up."""
        lo, hi = instance.lower.astype(float), instance.upper.astype(float)
        lo[instance.lower == -NO_BOUND], hi[instance.upper == NO_BOUND] = -np.inf, np.inf
        risk = instance.sensitivity.levels.cell
        stays = instance.sensitivity.fixed | ((instance.a == 0) & ~np.isin(np.arange(instance.cells), risk))
        lo[stays] = hi[stays] = instance.a[stays]
        lo[risk] = instance.a[risk] + instance.sensitivity.upl[risk]
        return lo, hi

    def least_objective(self, instance):
        """The least Σ w·|v − a| over whole tables, by another solver's integer program."""
        n, r = instance.cells, instance.relations
        lo, hi = self.room(instance)
        if np.any(lo > hi):
            return None
        m, right = np.zeros((r.equations, n)), []
        for j in range(r.equations):
            rhs, cells, coefs = r.equation(j)
            m[j, cells] = coefs
            right.append(rhs)
        eye, none = np.eye(n), np.zeros((r.equations, n))
        rows = [LinearConstraint(np.hstack((eye, -eye)), -np.inf, instance.a)]
        rows += [LinearConstraint(np.hstack((-eye, -eye)), -np.inf, -instance.a)]
        rows += [LinearConstraint(np.hstack((m, none)), right, right)] if r.equations else []
        weight = instance.weight / max(instance.weight.max(), 1)
        found = milp(
            np.concatenate((np.zeros(n), weight)),
            constraints=rows,
            bounds=Bounds(np.concatenate((lo, np.zeros(n))), np.concatenate((hi, np.full(n, np.inf)))),
            integrality=np.concatenate((np.ones(n), np.zeros(n))),
            options={"mip_rel_gap": 0},
        )
        return None if found.x is None else found.fun * max(instance.weight.max(), 1)

    def test_status_is_honest(self, result):
        least = self.least_objective(result.instance)
        if least is None:
            assert result.status == "infeasible"
            assert result.values is None
            assert result.reason
            return
        assert float(result.bound_scaled) <= least * (1 + 1e-6)
        if result.status == "optimal":  # otherwise the grid keeps it from its bound, which is that of fractions
            assert float(result.objective_scaled) == pytest.approx(least, rel=1e-6)
            assert result.gap == 0.0
        assert float(result.objective_scaled) >= least * (1 - 1e-6)

    def test_levels_are_met_by_distance(self, result):
        if result.scaled is None:
            return
        i = result.instance
        risk = i.sensitivity.levels.cell
        move = result.scaled[risk] - i.a[risk]
        assert np.all((move >= i.sensitivity.upl[risk]) | (-move >= i.sensitivity.lpl[risk]))
        assert result.protected

    def test_the_certificate_refuses_a_cell_within_its_levels(self, table, result):
        """The truth itself adds up and is a table, but no release."""
        if result.scaled is None:
            return
        fields = {name: getattr(result, name) for name in result.__dataclass_fields__}
        a = result.instance.a
        allowed = replace(result.allowed, lo=np.minimum(result.allowed.lo, a), hi=np.maximum(result.allowed.hi, a))
        allowed = replace(allowed, step=(allowed.lo < allowed.hi).astype(np.int64))
        same = {"scaled": a, "allowed": allowed, "bound_scaled": None, "status": "feasible"}
        truth = Protection(**{**fields, **same})
        assert truth.protected is False
        with pytest.raises(cw.CellwardError, match="within its levels"):
            truth.release()

    def test_the_release_depends_on_the_published_values_alone(self, result, tmp_path):
        """A table that already is the published one, with nobody at risk, gives the same release."""
        if result.scaled is None:
            return
        fields = {name: getattr(result, name) for name in result.__dataclass_fields__}
        instance = replace(result.instance, a=result.scaled, sensitivity=Sensitivity.none(result.instance.cells))
        twin = Protection(
            **{**fields, "instance": instance, "bound_scaled": None, "status": "feasible", "seconds": 1.0}
        )
        one = result.release().save(tmp_path / "one.csv").read_bytes()
        assert one == twin.release().save(tmp_path / "two.csv").read_bytes()

    def test_a_sliding_level_is_refused(self, table):
        level = np.zeros(table.cells, np.int64)
        level[0] = 1
        status = np.zeros(table.cells, np.uint8)
        status[0] = 1
        with pytest.raises(cw.InputError, match="sliding level"):
            self.method.protect(table.with_sensitivity(Sensitivity(status, level, level, level)))


class TestControlledAdjustmentInSecret(TestControlledAdjustment):
    """Senses and levels drawn from the key: the same key gives the same table, whatever the order in which an engine looks at it."""

    method = cw.ControlledAdjustment()

    def test_status_is_honest(self, result):
        if result.scaled is None:
            assert result.status == "infeasible"
            assert result.reason
            return
        i = result.instance
        risk = i.sensitivity.levels.cell
        assert result.bound_scaled <= result.objective_scaled
        for cell, sense in result.details["senses"].items():
            assert sense * (result.scaled[cell] - i.a[cell]) >= LEVEL * 10**i.decimals
        assert sorted(result.details["senses"]) == risk.tolist()

    def test_permuting_cells_changes_neither_status_nor_objective(self, result):
        """Numbers of cells are drawn for, so another order is another draw: what stays is that every level is met, or that none can be."""
        order = np.random.default_rng(1).permutation(result.instance.cells)
        twin = self.method.solve(result.instance.permuted(order), Budget(), KEY)
        assert twin.protected is True or twin.status == "infeasible"

    def test_repeating_an_equation_changes_neither_status_nor_objective(self, result):
        if result.instance.relations.equations:
            twin = self.method.solve(repeated(result.instance, 0), Budget(), KEY)
            assert (twin.status, twin.objective) == (result.status, result.objective)


class TestControlledAdjustmentInSquares(TestControlledAdjustment):
    method = cw.ControlledAdjustment(norm="l2", senses="up", jitter=0, grid=None)

    def test_status_is_honest(self, result):
        lo, hi = self.room(result.instance)
        assert (result.status == "infeasible") == (self.least_objective(result.instance) is None)
        if result.scaled is not None:
            assert result.status == "optimal"
            assert result.gap == 0.0
            assert np.all((lo <= result.scaled) & (result.scaled <= hi))

    def test_objective_is_the_weighted_sum_of_deviations(self, result):
        if result.scaled is not None:
            i = result.instance
            terms = zip(i.weight.tolist(), result.scaled.tolist(), i.a.tolist(), strict=True)
            unit = 10**i.decimals
            assert result.objective_scaled * unit == sum(w * (v - a) ** 2 for w, v, a in terms)

    def test_permuting_cells_changes_neither_status_nor_objective(self, table, result):
        order = np.random.default_rng(1).permutation(table.cells)
        twin = self.method.solve(Instance.of(table, weights="relative").permuted(order), Budget(), bytes(32))
        assert twin.status == result.status
        if result.scaled is not None:
            assert twin.objective == pytest.approx(result.objective, rel=1e-5)

    def test_repeating_an_equation_changes_neither_status_nor_objective(self, table, result):
        if table.relations.equations:
            twin = self.method.solve(repeated(Instance.of(table, weights="relative"), 0), Budget(), bytes(32))
            assert twin.status == result.status
            if result.scaled is not None:
                assert twin.objective == pytest.approx(result.objective, rel=1e-5)
