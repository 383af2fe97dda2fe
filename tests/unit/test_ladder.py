"""More steps than one: by level of sums, as few as are found, and small counts alone."""

import hashlib
import itertools
from dataclasses import replace

import numpy as np
import pytest
from bank import causey_cox_ernst, hierarchical
from scipy.sparse import csr_array

import cellward as cw
from cellward.instance import Instance
from cellward.protect.methods import from_file, from_texts
from cellward.protect.rounding import ladder
from cellward.protect.rounding.attempt import RoundingAttempt
from cellward.protect.rounding.rounded_leaves import rounded_leaves
from cellward.publication.knowledge import Knowledge
from cellward.solve.budget import Budget


def counts(shape=(4, 3, 3), seed=5, most=9):
    return cw.Table.from_array(np.random.default_rng(seed).integers(0, most, shape))


def steps_of(p):
    said = p.method["steps"]
    return np.full(p.instance.cells, said) if isinstance(said, int) else np.array(said)


# ---- by level ----------------------------------------------------------------------------------------------------------------------------------


def test_steps_by_level_keep_leaves_next_to_their_values():
    """A table without a rounding to neighbours has one where sums alone may go further."""
    table = causey_cox_ernst()
    assert cw.ControlledRounding(2).protect(table).status == "infeasible"
    p = cw.ControlledRounding(2, max_steps={0: 1, 1: 2}).protect(table)
    assert p.status == "optimal"
    height, off = p.instance.relations.height, np.abs(p.scaled - p.instance.a)
    assert np.all(off[height == 0] < 2)
    assert np.all(off < 2 * steps_of(p))
    assert sorted(set(zip(height.tolist(), steps_of(p).tolist(), strict=True)))[0] == (0, 1)
    assert p.certificate().check()


def test_neighbours_come_first_whatever_is_allowed():
    p = cw.ControlledRounding(3, max_steps={0: 1, 1: 3}).protect(counts())
    assert p.method["steps"] == 1


def test_steps_by_level_are_told_as_they_are():
    v, base, steps = np.array([5, 10]), np.array([5, 5]), np.array([1, 2])
    strict = Knowledge.rounded(v, base, steps=steps)
    assert (strict.lo.tolist(), strict.hi.tolist()) == ([1, 1], [9, 19])
    paper = Knowledge.rounded(v, base, kind="paper", steps=steps, a=np.array([5, 10]))
    assert (paper.lo.tolist(), paper.hi.tolist()) == ([5, 0], [5, 20])


@pytest.mark.parametrize("steps", ["soon", 0, {0: 0}, {0: 1.5}, {1: 2}, 101, True])
def test_what_is_no_number_of_steps_is_refused(steps):
    with pytest.raises(cw.InputError, match="max_steps"):
        cw.ControlledRounding(5, max_steps=steps).protect(counts())


def test_a_level_that_is_not_there_is_refused():
    with pytest.raises(cw.InputError, match="no level 9"):
        cw.ControlledRounding(2, max_steps={0: 1, 9: 2}).protect(causey_cox_ernst())


# ---- as few as are found -----------------------------------------------------------------------------------------------------------------------


def test_auto_says_what_it_needed_and_no_more():
    p = cw.ControlledRounding(2, max_steps="auto").protect(causey_cox_ernst())
    height, steps = p.instance.relations.height, steps_of(p)
    need = np.abs(p.scaled - p.instance.a) // 2 + 1
    for level in np.unique(height):
        assert steps[height == level].max() == need[height == level].max()
    assert steps[height == 0].max() == 1
    assert any("the release says so" in note for note in cw.ControlledRounding.notes(p))
    assert p.certificate().check()


def test_auto_rounds_to_neighbours_where_that_can_be_done():
    for table in (counts(), hierarchical()):
        p, one = (cw.ControlledRounding(5, max_steps=most).protect(table) for most in ("auto", 1))
        assert (p.method["steps"], p.objective) == (1, one.objective)


def test_auto_goes_on_from_rounded_leaves_where_the_search_finds_nothing(monkeypatch):
    """Tables in five dimensions: nothing is found for neighbours, and every table has rounded leaves."""
    table = counts((3, 3, 3), seed=2)
    asked = []

    def solve(self):
        asked.append(self)
        return real(self) if self.start is not None else self.failed("nothing was found", "none")

    real = RoundingAttempt.solve
    monkeypatch.setattr(RoundingAttempt, "solve", solve)
    p = cw.ControlledRounding(5, max_steps="auto").protect(table, time_limit_s=60)
    assert len(asked) == 2
    assert p.publication is not None
    assert np.all(np.abs(p.scaled - p.instance.a) < 5 * steps_of(p))


def test_where_time_is_over_the_first_look_is_the_answer(monkeypatch):
    """A large table has rounded leaves from the first second on; nothing else is found here, and the search is over then."""
    table, told, asked = counts((4, 4, 3, 3), seed=3, most=4), [], []
    monkeypatch.setattr(ladder, "FEW_CELLS", 100)

    def solve(self):
        if self.start is not None:
            return real(self)
        self.budget.root.end()  # as Ctrl-C does
        asked.append(self)
        return self.failed("nothing was found", "none")

    real = RoundingAttempt.solve
    monkeypatch.setattr(RoundingAttempt, "solve", solve)
    with pytest.raises(cw.Stopped) as stopped:
        cw.ControlledRounding(5, max_steps="auto").protect(table, time_limit_s=60, progress=told.append)
    best = stopped.value.best
    assert best.publication is not None
    assert np.all(np.abs(best.scaled - best.instance.a) < 5 * steps_of(best))
    assert asked and any(each.incumbent is not None for each in told)


def test_where_time_is_over_before_more_steps_are_tried_nothing_is_called_impossible(monkeypatch):
    """Neighbouring multiples are refuted, and the time ends with that: sums of two steps would do."""
    real, instance, key = RoundingAttempt.solve, Instance.of(causey_cox_ernst()), hashlib.sha256(b"ladder").digest()

    def solve(self):
        found = real(self)
        self.budget.root.end()
        return found

    method = cw.ControlledRounding(2, max_steps="auto")
    assert method.solve(instance, Budget(time_limit_s=60), key).publication is not None
    monkeypatch.setattr(RoundingAttempt, "solve", solve)
    found = method.solve(instance, Budget(time_limit_s=60), key)
    assert (found.status, found.run.limit_reached) == ("failed", True)
    assert "give more time" in found.failure.reason


def test_large_tables_with_fixed_cells_have_sums_that_go_further(monkeypatch):
    """They have no rounded leaves to begin with."""
    monkeypatch.setattr(ladder, "FEW_CELLS", 1)
    free = causey_cox_ernst()
    r = free.relations
    matrix = csr_array((r.coefs, r.indices, r.indptr), shape=(r.equations, r.cells))
    table = cw.Table.from_equations(free.values, matrix, fixed=[int(np.argmax(free.values))])
    p = cw.ControlledRounding(2, max_steps="auto").protect(table)
    assert p.publication is not None
    assert steps_of(p).max() == 2


def test_the_command_line_and_jobs_take_auto_and_python_one():
    assert from_texts(cw.ControlledRounding, {}).max_steps == "auto"
    assert from_texts(cw.ControlledRounding, {"max_steps": "0=1,1=2"}).max_steps == {0: 1, 1: 2}
    assert from_texts(cw.ControlledRounding, {"max_steps": "3"}).max_steps == 3
    assert from_file(cw.ControlledRounding, {"max_steps": {"0": 1, "1": 2}}, "[method]").max_steps == {0: 1, 1: 2}
    assert cw.ControlledRounding().max_steps == 1
    assert from_texts(cw.ControlledRounding, {"unbiased": True}).max_steps == "auto"  # which then takes one step


@pytest.mark.parametrize("most", ["auto", 3, {0: 1, 1: 2}])
def test_a_base_of_one_unit_is_not_helped_by_more_steps(most):
    """Every value is a multiple of it: with two steps the levels would hold on paper, and the least table be the true one."""
    table = cw.Table.from_equations([7, 4, 11], [[1, 1, -1]], sensitive=[0], spl=[1])
    assert cw.ControlledRounding(1, max_steps=most).protect(table).status == "infeasible"


# ---- rounded leaves ----------------------------------------------------------------------------------------------------------------------------


@pytest.mark.parametrize("seed", range(8))
@pytest.mark.parametrize("alone", [False, True])
def test_rounded_leaves_add_up_and_stay_next_to_their_values(seed, alone):
    table = counts((4, 3, 4), seed, most=8)
    instance = Instance.of(table)
    v = rounded_leaves(instance, np.full(instance.cells, 5), Budget(), alone=alone)
    assert not instance.relations.residual(v).any()
    leaf = instance.relations.height == 0
    assert np.all(np.abs(v - instance.a)[leaf] < 5)
    if not alone:
        assert not (v % 5).any()
        return
    small = instance.a < 5
    assert not (v[small] % 5).any()
    assert np.all(v[~small] >= 5)
    assert np.array_equal(v[leaf & ~small], instance.a[leaf & ~small])


def test_fixed_or_negative_cells_have_no_rounded_leaves():
    negative = cw.Table.from_array([[0, 1], [-2, -1]], lower=-10)
    fixed = cw.Table.from_equations([3, 4, 7], [[1, 1, -1]], fixed=[2])
    for instance in map(Instance.of, (negative, fixed)):
        assert rounded_leaves(instance, np.full(instance.cells, 5), Budget()) is None


# ---- small counts alone ------------------------------------------------------------------------------------------------------------------------


def least_alone(table, base):
    """The least Σ|v − a| by trying all: counts below the base at 0 or the base, all others within less than a base and at least the base."""
    instance = Instance.of(table)
    a = instance.a
    leaves = np.flatnonzero(instance.relations.height == 0)
    form = instance.relations.leaf_form
    choices = []
    for i in form.leaves.tolist():
        x = int(a[i])
        choices.append([0] if x == 0 else [0, base] if x < base else list(range(max(base, x - base + 1), x + base)))
    best = None
    for u in itertools.product(*choices):
        v = np.asarray(form.matrix @ np.array(u) + form.constant)
        right = (np.abs(v - a) < base) & np.where(a < base, (v % base == 0) & ((a > 0) | (v == 0)), v >= base)
        if right.all():
            cost = int(np.abs(v - a).sum())
            best = cost if best is None else min(best, cost)
    assert len(leaves) == len(form.leaves)
    return best


@pytest.mark.parametrize("seed", range(6))
def test_small_counts_alone_are_the_least_such_table(seed):
    table = counts((2, 3), seed, most=6)
    p = cw.ControlledRounding(3, only="small").protect(table)
    best = least_alone(table, 3)
    if best is None:
        assert p.status == "infeasible"
        return
    assert (p.status, p.objective) == ("optimal", best)
    assert p.method["small_counts"] == "only"
    assert p.certificate().check()


def test_small_counts_alone_leave_no_small_count_behind():
    p = cw.ControlledRounding(5, only="small", max_steps="auto").protect(counts((5, 4, 3), 7, most=12))
    assert p.publication is not None
    published = p.scaled
    assert not np.any((published > 0) & (published < 5))
    small = p.instance.a < 5
    assert not (published[small] % 5).any()
    assert p.certificate().check()


def test_what_small_counts_alone_tell_is_what_could_have_become_so():
    """Every whole y from 0 on that the rule can turn into v lies in the box, and both ends of the box are such."""
    base = 5
    for s, v in itertools.product((1, 2), (0, 5, 6, 9, 10, 12, 15, 23)):
        could = [y for y in range(60) if v in _becomes(y, base, s)]
        told = Knowledge.rounded(
            np.array([v]), np.array([base]), steps=s, small="only", lower=np.array([0]), upper=np.array([2**62])
        )
        assert (int(told.lo[0]), int(told.hi[0])) == (could[0], could[-1])


def _becomes(y, base, s):
    if y == 0:
        return [0]
    if y < base:
        return [x for x in range(0, y + s * base, base) if abs(x - y) < s * base]
    return range(max(base, y - s * base + 1), y + s * base)


def test_small_counts_alone_are_for_counts():
    with pytest.raises(cw.InputError, match="only='small'"):
        cw.ControlledRounding(5, only="small").protect(cw.Table.from_array([[-3, 4], [5, 6]], lower=-100))


def test_a_forged_statement_about_small_counts_is_refused():
    p = cw.ControlledRounding(5, only="small", max_steps="auto").protect(counts((4, 4), 3, most=12))
    certificate = p.certificate()
    for told in ("up", "zero", None):
        method = {**certificate.content["method"], "small_counts": told}
        knowledge = {**certificate.content["knowledge"], "small": told}
        for forged in ({"method": method}, {"method": method, "knowledge": knowledge}):
            assert not replace(certificate, content={**certificate.content, **forged}).check()
