"""Cell perturbation keeps the contract."""

from dataclasses import replace
from fractions import Fraction

import numpy as np
import pytest
from method_contract import MethodContract
from scipy.optimize import linprog

import cellward as cw
from cellward.protect.perturbation.intervals import PerturbationIntervals
from cellward.protection import Protection


def slopes(instance, base):
    """⌊a⌋, ⌈a⌉ and the cost of a unit of v between them."""
    for a, w, fixed in zip(
        instance.a.tolist(), instance.weight.tolist(), instance.sensitivity.fixed.tolist(), strict=True
    ):
        lo, hi = (a, a) if fixed else (a // base * base, -(-a // base) * base)
        yield lo, hi, Fraction(w * (hi + lo - 2 * a), hi - lo) if hi > lo else Fraction(0)


class TestCellPerturbation(MethodContract):
    method = cw.CellPerturbation(base=5)
    base = 5

    def least_objective(self, instance):
        """The linear relaxation of the rounding, in fractions."""
        base = self.base * 10**instance.decimals
        rows = [instance.relations.equation(j) for j in range(instance.relations.equations)]
        cells = list(slopes(instance, base))
        lo = [max(x, y) for (x, _, _), y in zip(cells, np.minimum(instance.lower, instance.a).tolist(), strict=True)]
        hi = [min(x, y) for (_, x, _), y in zip(cells, np.maximum(instance.upper, instance.a).tolist(), strict=True)]
        cost = [slope for _, _, slope in cells]
        start = sum(
            w * (a - x) - slope * x
            for w, a, (x, _, slope) in zip(instance.weight.tolist(), instance.a.tolist(), cells, strict=True)
        )
        m = np.zeros((len(rows), instance.cells))
        for j, (_, members, coefs) in enumerate(rows):
            m[j, members] = coefs
        right = [rhs for rhs, _, _ in rows]
        found = linprog(
            list(map(float, cost)), A_eq=m if rows else None, b_eq=right or None, bounds=list(zip(lo, hi, strict=True))
        )
        return float(start) + found.fun

    def test_status_is_honest(self, result):
        places = result.instance.decimals
        least = self.least_objective(result.instance) if not places else None
        assert result.status == "optimal"
        assert result.gap == 0.0
        if least is not None:
            assert float(result.objective_scaled) == pytest.approx(least, rel=1e-6, abs=1e-6)

    def test_objective_is_the_weighted_sum_of_deviations(self, result):
        base = self.base * 10**result.instance.decimals
        terms = zip(
            result.instance.weight.tolist(),
            result.scaled.tolist(),
            result.instance.a.tolist(),
            slopes(result.instance, base),
            strict=True,
        )
        assert result.objective_scaled == sum(w * (a - lo) + slope * (v - lo) for w, v, a, (lo, _, slope) in terms)

    def test_the_release_depends_on_the_published_values_alone(self, result, tmp_path):
        """A table that already is the published one gives the same release, once it is free to move around its own values."""
        fields = {name: getattr(result, name) for name in result.__dataclass_fields__}
        instance = replace(result.instance, a=result.scaled)
        intervals = PerturbationIntervals.of(
            instance, "base", np.full(instance.cells, self.base * 10**instance.decimals)
        )
        own = {
            "instance": instance,
            "allowed": intervals.allowed,
            "aim": intervals.aim("between"),
            "bound_scaled": None,
        }
        twin = Protection(**{**fields, **own, "seconds": 1.0, "engine": "other", "status": "feasible"})
        one = result.release().save(tmp_path / "one.csv").read_bytes()
        assert one == twin.release().save(tmp_path / "two.csv").read_bytes()


class TestCellPerturbationWithin(MethodContract):
    method = cw.CellPerturbation(within=3)

    def test_status_is_honest(self, result):
        assert result.status == "optimal"
        assert result.objective == 0  # nobody is at risk, so nothing moves


class TestCellPerturbationOnPaper(TestCellPerturbation):
    method = cw.CellPerturbation(base=5, knowledge="paper")

    def test_the_release_depends_on_the_published_values_alone(self, result, tmp_path):
        """It does not: which values were multiples is taken to be public."""
