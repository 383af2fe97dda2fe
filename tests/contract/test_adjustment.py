"""Controlled tabular adjustment keeps the contract.

It differs from the other methods where it should: levels are met by distance (a cell at risk is published at least its level away from the truth),
not by intervals, because nothing is told of how far values moved; and which way cells move is drawn from the key, so results are compared for one.
"""

from fractions import Fraction

import numpy as np
from additive_values import AdditiveValues, KnownOptimum, OneOptimum, TellsOnlyValues, absolute
from levels import LevelsByDistance
from method_contract import KEY, MethodContract
from scipy.optimize import Bounds, LinearConstraint, milp, minimize

import cellward as cw
from cellward.exact import NO_BOUND
from cellward.solve.budget import Budget

LEVEL = 2


def room(instance):
    """What each cell may become: inside its bounds; fixed cells and zeros stay, the one at risk goes up."""
    lo, hi = instance.lower.astype(float), instance.upper.astype(float)
    lo[instance.lower == -NO_BOUND], hi[instance.upper == NO_BOUND] = -np.inf, np.inf
    risk = instance.sensitivity.levels.cell
    stays = instance.sensitivity.fixed | ((instance.a == 0) & ~np.isin(np.arange(instance.cells), risk))
    lo[stays] = hi[stays] = instance.a[stays]
    lo[risk] = instance.a[risk] + instance.sensitivity.upl[risk]
    return lo, hi


def equations(instance):
    """M and b."""
    m, right = np.zeros((instance.relations.equations, instance.cells)), np.zeros(instance.relations.equations)
    for j in range(len(m)):
        right[j], cells, coefs = instance.relations.equation(j)
        m[j, cells] = coefs
    return m, right


def least_absolute(instance):
    """The least Σ w·|v − a| over whole tables, by another solver's integer program; None where there is no table."""
    n = instance.cells
    (lo, hi), (m, right) = room(instance), equations(instance)
    if np.any(lo > hi):
        return None
    eye = np.eye(n)
    rows = [LinearConstraint(np.hstack((eye, -eye)), -np.inf, instance.a)]
    rows += [LinearConstraint(np.hstack((-eye, -eye)), -np.inf, -instance.a)]
    rows += [LinearConstraint(np.hstack((m, 0 * m)), right, right)] if len(m) else []
    most = max(instance.weight.max(), 1)
    found = milp(
        np.concatenate((np.zeros(n), instance.weight / most)),
        constraints=rows,
        bounds=Bounds(np.concatenate((lo, np.zeros(n))), np.concatenate((hi, np.full(n, np.inf)))),
        integrality=np.concatenate((np.ones(n), np.zeros(n))),
        options={"mip_rel_gap": 0},
    )
    return None if found.x is None else found.fun * most


class Adjustment(MethodContract, AdditiveValues, TellsOnlyValues, LevelsByDistance):
    level = LEVEL
    close = 1e-6

    def cost(self, instance, v):
        return absolute(instance, v)


class TestControlledAdjustment(Adjustment, OneOptimum, KnownOptimum):
    method = cw.ControlledAdjustment(senses="up", jitter=0)
    infeasible = ("bounded",)

    def least_objective(self, instance):
        return least_absolute(instance)


class TestControlledAdjustmentInSecret(Adjustment):
    """Senses and levels are drawn from the key: the same key gives the same table."""

    method = cw.ControlledAdjustment()

    def test_every_cell_at_risk_moves_by_its_level_the_way_that_was_drawn(self, published):
        instance, senses = published.instance, published.details["senses"]
        assert sorted(senses) == instance.sensitivity.levels.cell.tolist()
        for cell, sense in senses.items():
            assert sense * (published.scaled[cell] - instance.a[cell]) >= LEVEL * 10**instance.decimals

    def test_another_order_is_another_draw_whose_levels_are_met_or_cannot_be(self, result):
        order = np.random.default_rng(1).permutation(result.instance.cells)
        twin = self.method.solve(result.instance.permuted(order), Budget(), KEY)
        assert twin.protected is True or twin.status == "infeasible"


class TestControlledAdjustmentInSquares(
    MethodContract, AdditiveValues, OneOptimum, KnownOptimum, TellsOnlyValues, LevelsByDistance
):
    method = cw.ControlledAdjustment(norm="l2", senses="up", jitter=0, grid=None)
    level = LEVEL
    close = 1e-5
    infeasible = ("bounded",)

    def cost(self, instance, v):
        terms = zip(instance.weight.tolist(), v.tolist(), instance.a.tolist(), strict=True)
        return Fraction(sum(w * (x - a) ** 2 for w, x, a in terms), 10**instance.decimals)

    def least_objective(self, instance):
        """By a general method of nonlinear programming, from the table of least absolute deviations."""
        if least_absolute(instance) is None:
            return None
        lo, hi = room(instance)
        _, s, rows = np.linalg.svd(equations(instance)[0])
        m = rows[: np.count_nonzero(s > 1e-9)]  # the equations without those that others imply
        w, a = instance.weight / instance.weight.max(), instance.a
        unit = 10.0**instance.decimals
        found = minimize(
            lambda x: w @ x**2,
            np.zeros(instance.cells),
            jac=lambda x: 2 * w * x,
            bounds=Bounds((lo - a) / unit, (hi - a) / unit),
            constraints=[{"type": "eq", "fun": lambda x: m @ x, "jac": lambda _: m}] if len(m) else [],
            method="SLSQP",
            options={"ftol": 1e-14, "maxiter": 500},
        )
        assert found.success, found.message
        return found.fun * float(instance.weight.max()) * unit
