"""What methods owe that publish one value for every cell, which add up: rounding, perturbation, adjustment.

Legend: a true values, v published ones, M·v = b the equations, w weights; all in exact, scaled integers.
"""

import numpy as np
import pytest
from method_contract import KEY
from twins import of_the_published, repeated, with_values

import cellward as cw
from cellward.solve.budget import Budget


def absolute(instance, v):
    """Σ w·|v − a|."""
    terms = zip(instance.weight.tolist(), v.tolist(), instance.a.tolist(), strict=True)
    return sum(w * abs(x - a) for w, x, a in terms)


def same(one, other, close):
    """Whether two results have the same status and objective, but for the arithmetic of a solver."""
    if one.status != other.status or one.values is None:
        return (one.status, one.objective) == (other.status, other.objective)
    return abs(one.objective - other.objective) <= close * abs(other.objective)


class AdditiveValues:
    """Beside MethodContract."""

    close = 0
    """How far objectives may be apart, relatively, that are the same but for the arithmetic of a solver."""

    def cost(self, instance, v):
        """What the method makes small, exact, in units of 10^−(decimals + weight_decimals)."""
        raise NotImplementedError

    def test_it_adds_up(self, published):
        for j in range(published.instance.relations.equations):
            rhs, cells, coefs = published.instance.relations.equation(j)
            assert sum(c * int(published.scaled[i]) for i, c in zip(cells, coefs, strict=True)) == rhs

    def test_values_are_on_the_grid_and_inside_the_allowed_set(self, published):
        v, allowed, instance = published.scaled, published.sought.allowed, published.instance
        assert np.all((allowed.lo <= v) & (v <= allowed.hi))
        assert np.all((v - allowed.lo) % np.maximum(allowed.step, 1) == 0)
        assert np.all((instance.lower <= v) & (v <= instance.upper))

    def test_fixed_cells_stay(self, published):
        fixed = published.instance.sensitivity.fixed
        assert np.array_equal(published.scaled[fixed], published.instance.a[fixed])

    def test_the_objective_is_that_of_the_values(self, published):
        assert published.objective_scaled == self.cost(published.instance, published.scaled)

    def test_no_bound_is_above_the_objective(self, published):
        assert published.sought.bound <= published.objective_scaled
        assert published.certified_bound is None or published.certified_bound <= published.objective

    def test_the_loss_is_that_of_the_values(self, published):
        moved = np.abs(published.scaled - published.instance.a)
        loss, unit = published.loss(), 10**published.instance.decimals
        assert (loss.cells, loss.changed) == (len(moved), np.count_nonzero(moved))
        assert (loss.sum_abs, loss.max_abs) == pytest.approx((moved.sum() / unit, moved.max() / unit), rel=1e-12)

    def test_the_release_has_the_same_values(self, published):
        release = published.release()
        assert np.array_equal(release.publication.v, published.scaled)
        assert np.array_equal(release.values, published.values)

    def test_a_tampered_result_cannot_be_made(self, published):
        if published.instance.relations.equations:
            wrong = published.scaled.copy()
            wrong[int(published.instance.relations.indices[0])] += 1
            what = "miss equation"
        else:
            wrong, what = published.sought.allowed.hi + 1, "outside its allowed set"
        with pytest.raises(cw.VerificationError, match=what):
            with_values(published, wrong)

    def test_stating_an_equation_twice_changes_neither_status_nor_objective(self, result):
        instance = result.instance
        again = repeated(instance, 0) if instance.relations.equations else instance
        twin = self.method.solve(again, Budget(), KEY)
        assert same(twin, result, self.close)


class OneOptimum:
    """What is found does not hang on the order of the cells: nothing is drawn by their numbers."""

    def test_permuting_cells_changes_neither_status_nor_objective(self, result):
        order = np.random.default_rng(1).permutation(result.instance.cells)
        twin = self.method.solve(result.instance.permuted(order), Budget(), KEY)
        assert same(twin, result, self.close)


class KnownOptimum:
    """There is an independent way to the optimum."""

    def least_objective(self, instance):
        """The optimum by that way, or None where there is no table."""
        raise NotImplementedError

    def test_the_status_is_honest(self, result):
        least = self.least_objective(result.instance)
        assert (least is None) == (result.status == "infeasible")
        if least is not None:
            slack = self.close * max(1, least)
            assert result.sought.bound <= least + slack
            assert result.objective_scaled >= least - slack
            assert result.status == "feasible" or abs(result.objective_scaled - least) <= slack


class TellsOnlyValues:
    """A table that already is the published one gives the same release: what is told says nothing more about the true values."""

    def own(self, instance):
        """The fields of Protection that are the table's own: others for ``instance``, whose true values are the published ones."""
        return {}

    def test_the_release_depends_on_the_published_values_alone(self, published, tmp_path):
        twin = of_the_published(published, self.own)
        one, two = (p.release().save(tmp_path / f"{k}.csv").read_bytes() for k, p in enumerate((published, twin)))
        assert one == two
