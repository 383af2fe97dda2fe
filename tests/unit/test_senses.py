"""The search for senses of an adjustment: against all combinations of small tables, its proofs, sums at risk, headline totals and caps."""

from __future__ import annotations

from dataclasses import replace

import every_sense
import hard_senses
import numpy as np
import pytest
from fixed_keys import key_of

import cellward as cw
from cellward.errors import InputError, VerificationError
from cellward.instance import Instance
from cellward.protect.adjustment.attempt import AdjustmentAttempt
from cellward.protect.adjustment.caps import headlines
from cellward.protect.adjustment.clauses import refutation
from cellward.protect.adjustment.conflict import Conflict, Prover
from cellward.protect.adjustment.cut import Cut
from cellward.protect.adjustment.needs import Room
from cellward.solve.budget import Budget
from cellward.table.cell_sums import CellSum
from cellward.table.sensitivity import Sensitivity


@pytest.mark.parametrize("block", range(6))
def test_infeasible_is_said_where_no_combination_goes_and_only_there(block):
    said = set()
    for seed in range(25 * block, 25 * block + 25):
        table, options, fixed = hard_senses.hard_case(seed)
        p = cw.ControlledAdjustment(**options).protect(table, key=key_of(seed))
        boxes = every_sense.boxes(table, fixed=fixed, zeros_stay=options["zeros_stay"])
        some = any(every_sense.goes(table, box) for box in boxes)
        said.add(p.status)
        assert (p.status == "infeasible") is not some, seed
        if p.status == "failed":  # fractions would do, and whole numbers do not
            boxes = every_sense.boxes(table, fixed=fixed, zeros_stay=options["zeros_stay"])
            assert not any(every_sense.goes_whole(table, box) for box in boxes), seed
        elif p.status == "infeasible":
            verdict = p.certificate().check()
            assert verdict and verdict.proven, seed
        else:
            assert p.protected
    assert {"optimal", "infeasible"} <= said


def test_a_tree_of_conflicts_leaves_no_senses():
    def conflict(*literals):
        at, sense = (np.array(column, np.int64) for column in zip(*sorted(literals), strict=True))
        none = np.zeros(0, np.int64)
        return Conflict(at, sense, none, none, none, none, Cut.one_of(at, -sense))

    both = [conflict((0, s), (1, t)) for s in (1, -1) for t in (1, -1)]

    def tree_of(conflicts):
        return refutation(conflicts, [one.clause for one in conflicts])

    tree = tree_of([*both, conflict((2, 1), (3, 1))])
    assert len(tree) == 7
    assert {node for node in tree if isinstance(node, int)} == {0, 1}
    assert tree_of(both[:3]) == ()


@pytest.mark.parametrize("block", range(3))
def test_cuts_leave_every_combination_of_senses_that_goes(block):
    """What equations alone and in pairs say of senses, against an exact linear program for each combination."""
    forbidden = 0
    for seed in range(15 * block, 15 * block + 15):
        table, options, fixed = hard_senses.hard_case(seed)
        method = cw.ControlledAdjustment(jitter=0, **options)
        attempt = AdjustmentAttempt(method, Instance.of(table, weights="equal"), Budget(), key_of(seed))
        senses = attempt.senses()
        if len(senses.stuck):
            continue
        cuts = [one.cut for one in Prover(attempt.relations, Room(*attempt.free), senses).cuts(1000)]
        a, levels = table.scaled.tolist(), table.sensitivity
        for lo, hi in every_sense.boxes(table, fixed=fixed, zeros_stay=options["zeros_stay"]):
            rises = np.array([lo[i] == a[i] + int(levels.upl[i]) and levels.upl[i] > 0 for i in senses.cell.tolist()])
            side = np.where(rises, 1, -1)
            met = all(
                sum(x for x, k, s in zip(c.amount, c.at.tolist(), c.sense.tolist(), strict=True) if side[k] == s)
                >= c.need
                for c in cuts
            )
            goes = every_sense.goes(table, (lo, hi))
            assert met or not goes, seed
            forbidden += not met
    assert forbidden > 10


def test_cuts_refute_what_single_clauses_leave_open():
    """A cube with fixed margins and little room: clauses alone turn and turn, and end without table or proof."""
    rng = np.random.default_rng(1)
    table = cw.Table.from_array(np.rint(rng.lognormal(4, 1.2, (8, 8, 8))).astype(int) + 1)
    inner = np.flatnonzero(table.relations.height == 0)
    at = np.sort(rng.choice(inner, int(0.3 * len(inner)), replace=False))
    level = np.maximum(table.scaled[at] * rng.integers(5, 26, len(at)) // 100, 1)
    table = table.with_sensitivity(Sensitivity.of(table.cells, at, level, level, 0 * level))
    method = cw.ControlledAdjustment(senses="choose", jitter=0, grid=None, fixed="margins", max_change=0.1)
    p = method.protect(table, key=key_of("senses"))
    verdict = p.certificate().check()
    assert (p.status, verdict.holds, verdict.proven) == ("infeasible", True, True)


def with_a_sum():
    """Four cells, two of which are at risk, and their sum, which is no cell, too."""
    table = cw.Table.from_equations([40, 50, 60, 70, 220], [[1, 1, 1, 1, -1]])
    level = np.full(2, 5, np.int64)
    asked = Sensitivity.of(5, [0, 1], level, level, 0 * level)
    sums = (CellSum(np.array([0, 1], np.int64), 9, 9, "firm"),)
    return table.with_sensitivity(replace(asked, sums=sums))


@pytest.mark.parametrize("norm", ["l1", "l2", "linf"])
def test_sums_at_risk_are_kept_off_their_values_and_certified(norm, tmp_path):
    table = with_a_sum()
    for k in range(12):
        p = cw.ControlledAdjustment(norm=norm).protect(table, key=key_of(k))
        assert p.protected
        moved = (p.scaled - p.instance.a).tolist()
        assert abs(moved[0] + moved[1]) >= 9
        assert min(abs(moved[0]), abs(moved[1])) >= 5
        assert p.audit().protected is not False
    folder = tmp_path / "out"
    folder.mkdir()
    p.certificate().save(folder / "certificate.json.gz")
    p.certificate_of_sums().save(folder / "sums.certificate.json.gz")
    assert p.release().to_csv().count(b"\n") == 6  # nothing is printed of the sum
    assert cw.verify(folder / "certificate.json.gz", table=table)
    (folder / "sums.certificate.json.gz").unlink()
    assert not cw.verify(folder / "certificate.json.gz", table=table)


def test_an_adjustment_that_leaves_a_sum_where_it_was_is_not_released():
    """Two cells move against each other: each far enough, their sum not at all."""
    table = with_a_sum()
    p = cw.ControlledAdjustment(senses=[1, -1], jitter=0, soft_levels=True, fixed=[2, 3, 4]).protect(
        table.with_sensitivity(replace(table.sensitivity, sums=()))
    )
    moved = (p.scaled - p.instance.a).tolist()
    assert moved[:2] == [5, -5]
    with_sum = replace(p, instance=replace(p.instance, sensitivity=table.sensitivity), shown=None)
    assert not with_sum.protected
    with pytest.raises(VerificationError, match="the sum"):
        with_sum.release()


def test_a_certificate_of_other_sums_does_not_hold(tmp_path):
    one, two = (cw.ControlledAdjustment().protect(with_a_sum(), key=key_of(k)) for k in (0, 1))
    one.certificate().save(tmp_path / "certificate.json.gz")
    two.certificate_of_sums().save(tmp_path / "sums.certificate.json.gz")
    assert not cw.verify(tmp_path / "certificate.json.gz")


def wide(seed=3):
    """A table of 12 by 9 with 14 inner cells at risk, and room to keep every total."""
    rng = np.random.default_rng(seed)
    inner = rng.integers(200, 2000, (12, 9))
    table = cw.Table.from_array(inner)
    at = np.sort([i * 10 + j for i, j in zip(range(1, 11), [1, 5, 2, 7, 3, 8, 0, 4, 6, 2], strict=True)])
    level = np.maximum(table.scaled[at] // 12, 1)
    return table.with_sensitivity(Sensitivity.of(table.cells, at, level, level, 0 * level))


@pytest.mark.parametrize("norm", ["l1", "l2"])
def test_headline_totals_stay_where_levels_allow_it(norm):
    table = wide()
    top = headlines(table.relations)
    assert int(top.sum()) == 12 + 9 + 1
    kept = [cw.ControlledAdjustment(norm=norm).protect(table, key=key_of(k)) for k in range(5)]
    assert all((p.scaled == table.scaled)[top].all() for p in kept)
    assert not any("headline" in note for p in kept for note in cw.ControlledAdjustment.notes(p))
    free = [cw.ControlledAdjustment(norm=norm, keep="nothing").protect(table, key=key_of(k)) for k in range(5)]
    assert not all((p.scaled == table.scaled)[top].all() for p in free)


def test_a_headline_total_that_is_at_risk_is_named():
    table = wide()
    row = 9  # the total of the first row
    s = table.sensitivity
    at = np.sort(np.append(s.unsafe, row))
    level = np.maximum(table.scaled[at] // 12, 1)
    table = table.with_sensitivity(Sensitivity.of(table.cells, at, level, level, 0 * level))
    p = cw.ControlledAdjustment().protect(table, key=key_of(0))
    assert p.protected
    assert p.scaled[-1] == table.scaled[-1]
    assert any("at risk themselves" in note and "(0, Total)" in note for note in cw.ControlledAdjustment.notes(p))


def test_no_cell_that_is_not_at_risk_changes_by_more_than_max_change():
    table = wide()
    safe = np.ones(table.cells, bool)
    safe[table.sensitivity.unsafe] = False
    for k in range(6):
        p = cw.ControlledAdjustment(max_change=0.02, keep="nothing").protect(table, key=key_of(k))
        if p.publication is not None:
            moved = np.abs(p.scaled - table.scaled)
            assert (100 * moved <= 2 * np.abs(table.scaled))[safe].all()
    with pytest.raises(InputError, match="max_change"):
        cw.ControlledAdjustment(max_change=0)


def test_a_max_change_that_cannot_be_is_proven_impossible_and_named():
    table = cw.Table.from_equations([10, 100, 110], [[1, 1, -1]], sensitive=[0], lpl=[5], upl=[5])
    p = cw.ControlledAdjustment(max_change=0.01).protect(table, key=key_of(0))
    assert p.status == "infeasible"
    assert "give a larger max_change" in p.reason
    assert cw.ControlledAdjustment(max_change=0.1).protect(table, key=key_of(0)).protected


def test_caps_do_not_take_the_choice_of_senses_away():
    """In a small table every sense that is turned for the sake of totals is one fewer to guess."""
    inner = np.array([[20, 50, 10], [8, 21, 20], [17, 32, 12]])
    table = cw.Table.from_array(inner)
    level = np.full(3, 2, np.int64)
    table = table.with_sensitivity(Sensitivity.of(table.cells, [5, 6, 9], level, level, 0 * level))
    drawn = {tuple(cw.ControlledAdjustment().protect(table, key=key_of(k)).details.senses.values()) for k in range(24)}
    assert len(drawn) > 4


@pytest.mark.parametrize("sense", ["up", "down"])
def test_senses_that_are_given_are_proven_not_to_go_together(sense):
    table = cw.Table.from_equations([10, 20, 30], [[1, 1, -1]], sensitive=[0, 1], lpl=[2, 2], upl=[2, 2])
    p = cw.ControlledAdjustment(senses=sense, jitter=0, fixed=[2]).protect(table)
    verdict = p.certificate().check()
    assert (p.status, verdict.holds, verdict.proven) == ("infeasible", True, True)


def test_a_tree_that_leaves_a_side_out_does_not_hold():
    """Of two cells that add up to a fixed one, one of which may move one way only, far enough, the other has to follow it."""
    import json

    from cellward.audit import verify

    table = cw.Table.from_equations(
        [10, 20, 30], [[1, 1, -1]], upper=[30, 21, 30], sensitive=[0, 1], lpl=[4, 0], upl=[4, 2]
    )
    p = cw.ControlledAdjustment(fixed=[2], keep="nothing").protect(table, key=key_of(0))
    assert p.status == "infeasible"
    content = json.loads(p.certificate().text)
    assert verify.check(content).proven
    lower = {**content, "levels": {**content["levels"], "upl": [4, 1]}}
    with pytest.raises(verify.Refused, match="farkas"):
        verify.check(lower)
