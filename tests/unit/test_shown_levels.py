"""Levels of sparse tables of counts: shown by moves of leaves, refuted from the sums alone, kept within the time, and mended."""

from dataclasses import replace
from itertools import product

import numpy as np
import pytest
from fixed_keys import key_of

from cellward import CellPerturbation, ControlledRounding, Table, Threshold
from cellward.audit import settle as settling
from cellward.audit.ends import HIGH, LOW, Ends
from cellward.audit.evidence import show_levels
from cellward.audit.leaf_moves import LeafMoves
from cellward.audit.local_moves import LocalMoves
from cellward.audit.region import Region
from cellward.instance import Instance
from cellward.protect.lattice.capacity import guards
from cellward.protect.lattice.chain_rows import chain_rows
from cellward.protect.lattice.level_rows import level_cuts, level_rows
from cellward.protect.lattice.model import LatticeModel, allowed_multiples
from cellward.protect.lattice.refutation import Constraints
from cellward.protect.lattice.told_box import AroundValue
from cellward.protect.perturbation.intervals import PerturbationIntervals
from cellward.protect.perturbation.refuted import refuted
from cellward.publication.knowledge import Knowledge
from cellward.solve.budget import Budget

KEY = key_of("shown levels")


def counts(seed, shape=(6, 5, 4), share=0.35, most=4):
    """Counts of records by three codes, most combinations absent, with the default rule for counts."""
    rng = np.random.default_rng(seed)
    rows = [
        tuple(f"{d}{code}" for d, code in zip("abc", codes, strict=False))
        for codes in product(*map(range, shape))
        if rng.random() < share
        for _ in range(int(rng.integers(1, most)))
    ]
    names = [f"d{k}" for k in range(len(shape))]
    columns = {name: [row[k] for row in rows] for k, name in enumerate(names)}
    return Table.from_microdata(columns, dims=names).find(Threshold(3, units=2))


def instance_of(table):
    return Instance.of(table)


def rounding_parts(table, base=5, steps=1):
    """The model of a rounding, and its levels against what it tells."""
    i = instance_of(table)
    bases = np.full(i.cells, base)
    model = LatticeModel(i, allowed_multiples(i, bases, steps))
    told = Knowledge.rounded(i.a, bases, steps=steps)
    return i, model, guards(i, told, AroundValue(told.hi - i.a))[0]


def ends_at(i, v, base, steps=1):
    knowledge = Knowledge.rounded(v, np.full(i.cells, base), steps=steps)
    region = Region.of(i.relations, i.lower, i.upper, knowledge, i.attackers[0], i.a)
    made = Ends(region, levels=i.attackers[0].asked(i.sensitivity.levels))
    made.see(i.a)
    return made


# ---- shown by moves of leaves ----------------------------------------------------------------------------------------------------------------------


def test_moves_of_leaves_show_all_levels_with_two_steps():
    i = instance_of(counts(1))
    ends = ends_at(i, i.a // 5 * 5, 5, steps=2)
    assert ends.any_open
    LeafMoves.of(i.relations.leaf_form).explore(ends, np.random.default_rng(0), Budget(), solver=False)
    assert ends.met.all()
    assert 0 < len(ends.witnesses) < len(ends.levels)
    for witness in ends.witnesses:
        assert witness.denominator == 1
        assert ends.region.contains(i.a + witness.shift)


def test_leaves_with_conditions_are_left_alone():
    table = Table.from_equations([1, 1, 2, 4], [[2, 1, -1, -1], [1, 1, 1, -1]], rhs=[-3, 0])
    form = table.relations.leaf_form
    free = not form.condition.shape[0] and bool(np.all(np.abs(form.matrix.data) == 1))
    assert (LeafMoves.of(form) is not None) == free


def test_local_moves_bring_a_cell_where_it_is_wanted():
    found = 0
    for seed in range(4):
        i, model, _ = rounding_parts(counts(seed))
        v = np.where(i.a % 5 >= 3, model.allowed.hi, model.allowed.lo)
        ends = ends_at(i, v, 5)
        if ends.out_of_reach:
            ends.levels = ends.levels.take(ends.met | ~((ends.outer[HIGH] < i.a + 2)[ends.levels.cell]))
            ends._set_goal()
        local = LocalMoves(i.relations.leaf_form)
        while local.learn(ends, Budget()):
            pass
        for p, side in local._found:
            move = local.of(p, side)
            y = i.a.copy()
            y[move.cell] += move.shift
            assert ends.region.contains(y)
            assert y[p] >= ends.goal[HIGH][p] if side == HIGH else y[p] <= ends.goal[LOW][p]
            found += 1
    assert found


def test_what_is_shown_does_not_depend_on_the_way(monkeypatch):
    for seed in range(3):
        p = ControlledRounding(5, ignore_levels=True).protect(counts(seed, (4, 4, 3), 0.6), key=KEY)
        with_moves = show_levels(p.instance, p.publication)
        monkeypatch.setattr(settling, "_leaf_moves", lambda questions: None)
        without = show_levels(p.instance, p.publication)
        monkeypatch.undo()
        assert set(with_moves.cells) == set(without.cells)
        assert with_moves.protected == without.protected


def test_a_width_asks_for_no_more_than_it_takes():
    i = instance_of(counts(2))
    ends = ends_at(i, i.a // 5 * 5, 5, steps=2)
    cell = ends.levels.cell
    none = np.zeros(len(cell), np.int64)
    wide = Ends(ends.region, levels=replace(ends.levels, lpl=none, upl=none, spl=none + 1))
    wide.see(i.a)
    assert (wide.enough[HIGH][cell] <= i.a[cell] + 1).all()
    assert (wide.goal[HIGH][cell] > i.a[cell] + 1).any()


# ---- refuted from the sums -------------------------------------------------------------------------------------------------------------------------


def test_levels_that_no_rounding_meets_are_named_without_a_solver():
    # Each sum of four ones has to become 5 to leave them room; six of them are 30, and their sum, 24, can be 20 or 25.
    matrix = np.zeros((7, 31), int)
    for k in range(6):
        matrix[k, 4 * k : 4 * k + 4], matrix[k, 24 + k] = 1, -1
    matrix[6, 24:30], matrix[6, 30] = 1, -1
    table = Table.from_equations(
        [1] * 24 + [4] * 6 + [24], matrix, sensitive=list(range(24)), lpl=[0] * 24, upl=[2] * 24, lower=[1] * 31
    )
    p = ControlledRounding(5).protect(table, key=KEY)
    assert p.status == "infeasible"
    assert p.engine == "what follows from one sum after the other"
    assert "these levels cannot be met together" in p.reason
    assert len(p.failure.cells) == 6
    assert p.failure.equations == (6,)
    more = ControlledRounding(5, max_steps=2).protect(table, key=KEY)
    assert (more.status, more.method["steps"]) == ("optimal", 2)
    assert more.release()


def brute(i, model, base):
    """Whether some rounding meets every level, by trying all."""
    lo, hi = model.allowed.lo, model.allowed.hi
    leaves = i.relations.leaf_form.leaves
    choices = [sorted({int(lo[k]), int(hi[k])}) for k in leaves]
    for values in product(*choices):
        v = np.asarray(i.relations.leaf_form.matrix @ np.array(values)) + i.relations.leaf_form.constant
        if np.all((v == lo) | (v == hi)):
            ends = ends_at(i, v, base)
            (settled,) = settling.settle(
                [settling.Question(ends.region, levels=ends.levels)], i.labels, [i.a], Budget()
            )
            if settled.met.all():
                yield v


@pytest.mark.parametrize("seed", range(12))
def test_rows_cut_off_no_protected_rounding(seed):
    i, model, guard = rounding_parts(counts(seed, (2, 4), 0.9, 6))
    rows = level_rows(model, guard)
    protected = list(brute(i, model, 5))
    for v in protected:
        x = model.steps_of(v)
        assert all(int(one.row.coef @ x[one.row.column]) >= one.row.least for one in rows)
    if Constraints.of(model, [one.row for one in rows]).contradiction() is not None:
        assert not protected
    p = ControlledRounding(5).protect(counts(seed, (2, 4), 0.9, 6), key=KEY)
    assert (p.status == "optimal") == bool(protected)
    if protected:
        assert p.objective == min(int(np.abs(v - i.a).sum()) for v in protected)


@pytest.mark.parametrize("seed", range(6))
def test_chain_rows_cut_off_what_fails_and_nothing_else(seed):
    i, model, guard = rounding_parts(counts(seed, (2, 4), 0.9, 6))
    protected = list(brute(i, model, 5))
    x = np.zeros(len(model.columns), np.int64)
    v = model.values(x)
    rows = chain_rows(model, guard, v, np.arange(i.cells))
    for one in rows:
        assert int(one.row.coef @ x[one.row.column]) < one.row.least
        for good in protected:
            y = model.steps_of(good)
            assert int(one.row.coef @ y[one.row.column]) >= one.row.least


def test_a_contradiction_is_a_set_that_nothing_satisfies():
    rng = np.random.default_rng(7)
    refused = 0
    for _ in range(300):
        rows = [
            (np.sort(rng.choice(5, 3, replace=False)), rng.choice([-1, 1, 2], 3), int(rng.integers(-2, 4)), 2**60)
            for _ in range(5)
        ]
        found = Constraints.listed(rows, np.ones(5, np.int64)).conflict()
        fits = [
            all(
                int(coef @ np.array(x)[at]) >= least
                for at, coef, least, _ in ([rows[k] for k in found[0]] if found else rows)
            )
            for x in product((0, 1), repeat=5)
        ]
        if found is not None:
            refused += 1
            assert not any(fits)
    assert refused > 20


# ---- perturbation ----------------------------------------------------------------------------------------------------------------------------------


def test_a_positive_count_may_be_perturbed_to_nothing_as_in_a_rounding():
    i = instance_of(counts(3))
    intervals = PerturbationIntervals.of(i, "base", np.full(i.cells, 5))
    assert (i.lower[i.a < 5] > 0).all()
    assert (intervals.lo[i.a < 5] == 0).all()
    p = CellPerturbation(5).protect(counts(3), key=KEY)
    assert p.status in ("optimal", "feasible", "infeasible")
    if p.publication is not None:
        assert p.release()


def test_box_cuts_hold_for_protected_perturbations():
    for seed in range(4):
        p = CellPerturbation(5).protect(counts(seed), key=KEY)
        if p.publication is None:
            continue
        i = instance_of(counts(seed))
        intervals = PerturbationIntervals.of(i, "base", np.full(i.cells, 5))
        guard = guards(i, intervals.knowledge(i.a, "strict"), intervals.told_box("strict"))[0]
        assert not refuted(i, [guard], intervals.lo, intervals.hi)
        v = p.scaled / 10**p.instance.beyond
        sits = np.concatenate((v == guard.told.lo, v == guard.told.hi)).astype(np.int64)
        assert all(int(one.cut.coef @ sits[one.cut.at]) >= one.cut.least for one in level_cuts(guard))


def test_a_rounding_stands_in_where_the_linear_program_comes_to_nothing(monkeypatch):
    from cellward.protect.perturbation import attempt
    from cellward.protect.perturbation.cutting_planes import FractionalOptimum

    table = Table.from_array([[20, 51, 10], [8, 19, 22], [17, 32, 12]])
    rounding = ControlledRounding(5).protect(table, key=KEY)
    monkeypatch.setattr(attempt.CuttingPlanes, "solve", lambda self: FractionalOptimum("unknown", "none"))
    for grid in (None, 1):
        p = CellPerturbation(5, grid=grid).protect(table, key=KEY)
        assert p.status == "feasible"
        assert p.objective <= rounding.objective
        assert p.release()


# ---- time ------------------------------------------------------------------------------------------------------------------------------------------


def test_what_is_not_shown_in_time_is_not_shown():
    p = ControlledRounding(5, ignore_levels=True).protect(counts(1), key=KEY)
    over = Budget(time_limit_s=1e-9)
    evidence = show_levels(p.instance, p.publication, over)
    assert evidence.missing
    assert not evidence.shown
    assert evidence.unsettled


def test_after_the_limit_there_is_a_moment_to_show_what_was_found():
    over = Budget(time_limit_s=1e-9)
    assert over.over
    assert 0 < over.to_end.time_limit_s < 1
    assert not over.to_end.over
    assert Budget().to_end.time_limit_s is None
    part = Budget(time_limit_s=10).part(1).part(0.5)
    assert part.root.time_limit_s == 10
