"""The contract: what every protection method owes every table of the bank, whatever it does inside."""

import gc
import pickle
import types

import exact_lp
import integer_points
import numpy as np
import pytest
from bank import BANK

from cellward.audit.region import Region
from cellward.errors import InputError, VerificationError
from cellward.exact import NO_BOUND
from cellward.instance import Instance
from cellward.protection import Protection
from cellward.publication.release import Release
from cellward.risk.attacker import Attacker
from cellward.solve.budget import Budget
from cellward.table.relations import Relations
from cellward.table.sensitivity import CellStatus, Sensitivity
from cellward.table.table import Table


def reachable(root):
    """Every object that can be reached from one, modules and types aside."""
    seen, stack = {}, [root]
    while stack:
        thing = stack.pop()
        if id(thing) in seen or isinstance(
            thing, type | types.ModuleType | types.FunctionType | types.BuiltinFunctionType
        ):
            continue
        seen[id(thing)] = thing
        stack.extend(gc.get_referents(thing))
    return seen.values()


def repeated(instance, which):
    """The same instance with one equation stated twice, the second time negated."""
    r = instance.relations
    rows = [r.equation(j) for j in range(r.equations)]
    rhs, cells, coefs = rows[which]
    extra = Relations.from_rows(r.cells, [*rows, (-rhs, cells, [-c for c in coefs])])
    fields = {name: getattr(instance, name) for name in instance.__dataclass_fields__}
    return Instance(**{**fields, "relations": extra})


class MethodContract:
    """Subclass it, give ``method`` and ``same_without(table, method)``, and every test below runs on the whole bank."""

    method = None
    """A method instance that can be asked to protect every table of the bank."""

    def least_objective(self, instance):
        """The optimum by an independent exact route, or None when there is none; overridden where the method has a brute force."""
        raise NotImplementedError

    @pytest.fixture(params=BANK)
    def table(self, request):
        return BANK[request.param]()

    @pytest.fixture
    def result(self, table) -> Protection:
        return self.method.protect(table)

    def test_it_adds_up(self, result):
        assert result.scaled is None or not np.any(result.instance.relations.residual(result.scaled))

    def test_values_are_on_the_grid_and_inside_the_allowed_set(self, result):
        if result.scaled is not None:
            lo, hi, step = result.allowed.lo, result.allowed.hi, result.allowed.step
            assert np.all((lo <= result.scaled) & (result.scaled <= hi))
            assert np.all((result.scaled - lo) % np.maximum(step, 1) == 0)
            assert np.all((result.instance.lower <= result.scaled) & (result.scaled <= result.instance.upper))

    def test_fixed_cells_stay(self, result):
        if result.scaled is not None:
            fixed = result.instance.sensitivity.fixed
            assert np.array_equal(result.scaled[fixed], result.instance.a[fixed])

    def test_status_is_honest(self, result):
        least = self.least_objective(result.instance)
        if least is None:
            assert result.status == "infeasible"
            assert result.values is None
            assert result.reason
        else:
            assert result.status == "optimal"
            assert result.objective_scaled == result.bound_scaled == least
            assert result.gap == 0.0

    def test_objective_is_the_weighted_sum_of_deviations(self, result):
        if result.scaled is not None:
            terms = zip(
                result.instance.weight.tolist(), result.scaled.tolist(), result.instance.a.tolist(), strict=True
            )
            assert result.objective_scaled == sum(w * abs(v - a) for w, v, a in terms)

    def test_it_is_deterministic(self, table, result, tmp_path):
        result, again = result.with_key(bytes(32)), self.method.protect(table, key=bytes(32))
        assert again.status == result.status
        if result.scaled is not None:
            first, second = (
                x.release().save(tmp_path / f"{k}.csv").read_bytes() for k, x in enumerate((result, again))
            )
            assert first == second
            proof, proof_again = (
                x.certificate().save(tmp_path / f"{k}.gz").read_bytes() for k, x in enumerate((result, again))
            )
            assert proof == proof_again

    def test_the_release_holds_no_true_value(self, table, result):
        if result.scaled is None:
            with pytest.raises(VerificationError):
                result.release()
            return
        release = result.release()
        for thing in reachable(release):
            assert not isinstance(thing, Table | Instance | Protection | Sensitivity)
            assert thing is not result.instance.a
            assert thing is not table.scaled
        if result.loss().changed:
            assert result.instance.a.tobytes() not in pickle.dumps(release)

    def test_the_release_depends_on_the_published_values_alone(self, result, tmp_path):
        """A table that already is the published one gives the same release: what is told says nothing more about the true values."""
        if result.scaled is None:
            return
        fields = {name: getattr(result, name) for name in result.__dataclass_fields__}
        true_is_published = {name: getattr(result.instance, name) for name in result.instance.__dataclass_fields__}
        instance = Instance(**{**true_is_published, "a": result.scaled})
        twin = Protection(**{**fields, "instance": instance, "bound_scaled": None, "seconds": 1.0, "engine": "other"})
        one = result.release().save(tmp_path / "one.csv").read_bytes()
        assert one == twin.release().save(tmp_path / "two.csv").read_bytes()
        assert isinstance(twin.release(), Release)

    def test_permuting_cells_changes_neither_status_nor_objective(self, result):
        order = np.random.default_rng(1).permutation(result.instance.cells)
        twin = self.method.solve(result.instance.permuted(order), Budget(), bytes(32))
        assert twin.status == result.status
        assert twin.objective == result.objective

    def test_repeating_an_equation_changes_neither_status_nor_objective(self, result):
        if result.instance.relations.equations:
            twin = self.method.solve(repeated(result.instance, 0), Budget(), bytes(32))
            assert twin.status == result.status
            assert twin.objective == result.objective

    def test_levels_are_refused_or_met(self, table):
        unsafe = np.zeros(table.cells, np.uint8)
        level = np.zeros(table.cells, np.int64)
        unsafe[0], level[0] = CellStatus.UNSAFE, 1
        asking = table.with_sensitivity(Sensitivity(unsafe, level, level, level))
        reason = self.method.accepts(Instance.of(asking))
        if reason is not None:
            assert "level" in reason
            with pytest.raises(InputError):
                self.method.protect(asking)
            return
        insider = Attacker.knowing(asking, "insider", exactly=[asking.cells - 1])
        result = self.method.protect(asking, attackers=[Attacker.external(), insider])
        if result.scaled is None:
            assert result.status in ("infeasible", "failed")
            assert result.reason
            return
        assert result.protected
        assert result.release()
        self.check_levels(result)

    def check_levels(self, result):
        """Every level against every attacker, by exact oracles that share nothing with the package."""
        instance, levels = result.instance, result.instance.sensitivity.levels
        for attacker in instance.attackers:
            region = Region.of(
                instance.relations, instance.lower, instance.upper, result.knowledge, attacker, instance.a
            )
            rows = [instance.relations.equation(j) for j in range(instance.relations.equations)]
            lo = [None if x == -NO_BOUND else x for x in region.lo.tolist()]
            hi = [None if x == NO_BOUND else x for x in region.hi.tolist()]
            cells = [i for i in levels.cell.tolist() if i not in attacker.known.tolist()]
            oracle = integer_points if region.whole else exact_lp
            for i, (low, high) in zip(cells, oracle.intervals(rows, lo, hi, cells), strict=True):
                a = int(instance.a[i])
                assert low is None or low <= a - instance.sensitivity.lpl[i]
                assert high is None or high >= a + instance.sensitivity.upl[i]

    def test_a_tampered_result_cannot_be_made(self, result):
        if result.scaled is None or not result.instance.relations.equations:
            return
        wrong = result.scaled.copy()
        wrong[int(result.instance.relations.indices[0])] += 1
        fields = {name: getattr(result, name) for name in result.__dataclass_fields__}
        with pytest.raises(VerificationError):
            Protection(**{**fields, "scaled": wrong})

    def test_the_certificate_is_checked_from_its_file(self, result, tmp_path):
        from cellward import verify

        if result.scaled is not None:
            path = result.certificate().save(tmp_path / "certificate.json.gz")
            assert verify(path)
