"""Senses chosen for the least distance: against all combinations of senses of small tables, and HIER13's classes."""

from __future__ import annotations

import json
import math
from dataclasses import replace

import best_senses
import hard_senses
import numpy as np
import pytest
from fixed_keys import key_of
from one_hierarchy import PAPER_001, Structure, one_hierarchy

import cellward as cw
from cellward.audit import verify
from cellward.errors import InputError
from cellward.instance import Instance
from cellward.protect.adjustment import engines
from cellward.protect.adjustment.attempt import AdjustmentAttempt
from cellward.protect.adjustment.choice.choose import checkpoint_of
from cellward.protect.adjustment.choice.classes import Classes
from cellward.protect.adjustment.choice.descent import Trials
from cellward.protect.adjustment.choice.dive import dive
from cellward.protect.adjustment.choice.envelope import Envelope
from cellward.protect.adjustment.choice.flips import flips
from cellward.protect.adjustment.choice.nearby import Nearby
from cellward.protect.adjustment.choice.retraced import retraced
from cellward.protect.adjustment.choice.sides import Sides
from cellward.protect.adjustment.choice.tree import preorder, search
from cellward.protect.adjustment.needs import Room
from cellward.report.sections.outcome import outcome
from cellward.solve.budget import Budget
from cellward.solve.checkpoint import NAME, Checkpoint, Kept
from cellward.table.sensitivity import Sensitivity


@pytest.mark.parametrize("norm", ["l1", "l2"])
@pytest.mark.parametrize("block", range(4))
def test_no_combination_of_senses_is_nearer(norm, block):
    said = set()
    for seed in range(20 * block, 20 * block + 20):
        table, options, fixed = hard_senses.hard_case(seed)
        method = cw.ControlledAdjustment(senses="choose", jitter=0, grid=None, norm=norm, **options)
        p = method.protect(table, weights="equal" if seed % 2 else None, key=key_of(seed))
        weight = p.instance.weight / 10.0**p.instance.weight_decimals
        least = best_senses.least_distance(table, weight, norm, fixed=fixed, zeros_stay=options["zeros_stay"])
        said.add(p.status)
        if math.isinf(least):
            assert p.status == "infeasible", seed
            continue
        least *= 10.0 ** -(table.decimals * (1 if norm == "l1" else 2))
        assert p.status == "optimal", seed
        assert p.objective == pytest.approx(least, rel=1e-5), seed
        assert p.bound == pytest.approx(least, rel=1e-5), seed
        assert p.protected, seed
        if norm == "l1":
            assert p.certificate().check(), seed
            assert float(p.certified_bound) == pytest.approx(least, rel=1e-5), seed
    assert said == {"optimal", "infeasible"}


def test_drawn_levels_are_those_of_the_sides():
    table = cw.Table.from_equations([40, 50, 90], [[1, 1, -1]], sensitive=[0, 1], lpl=[4, 4], upl=[4, 4])
    p = cw.ControlledAdjustment(senses="choose").protect(table, key=key_of(1))
    assert p.protected
    assert p.status == "optimal"
    assert len(set(np.sign(p.values - table.values)[:2])) == 2  # one up, one down: the total hardly moves


@pytest.mark.parametrize("option", [{"norm": "huber"}, {"norm": "linf"}, {"soft_levels": True}])
def test_what_cannot_be_chosen_is_refused(option):
    with pytest.raises(InputError, match="senses='choose' does not go with"):
        cw.ControlledAdjustment(senses="choose", **option)


def test_a_gap_that_hides_better_senses_is_seen():
    table = cw.Table.from_equations([40, 50, 90], [[1, 1, -1]], sensitive=[0, 1], lpl=[4, 4], upl=[4, 4])
    p = cw.ControlledAdjustment(senses="choose", jitter=0).protect(table, key=key_of(1))
    certificate = p.certificate()
    content = json.loads(json.dumps(certificate.content))
    assert content["allowed"]["gaps"] == {"cell": [0, 1], "below": [36, 46], "above": [44, 54]}
    assert verify.check(content).proven
    wrong = {
        "is not allowed": ([30, 46], [60, 54]),  # what is published lies in it
        "does not lie around its target": ([44, 46], [50, 54]),
        "the bound is": ([39, 49], [41, 51]),  # nearer tables were allowed, of which the proof says nothing
    }
    for sentence, (below, above) in wrong.items():
        content["allowed"]["gaps"] |= {"below": below, "above": above}
        with pytest.raises(verify.Refused, match=sentence):
            verify.check(content)


@pytest.mark.parametrize("norm", ["l1", "l2"])
def test_deviations_on_a_grid_keep_off_their_gaps(norm):
    """The grid begins at the true values, 40 and 50: next to them but for the levels are 33 and 43 below, 47 and 57 above."""
    table = cw.Table.from_equations([40, 50, 90], [[1, 1, -1]], sensitive=[0, 1], lpl=[4, 4], upl=[4, 4])
    method = cw.ControlledAdjustment(senses="choose", jitter=0, norm=norm, grid=7, grid_of="deviations")
    p = method.protect(table, key=key_of(1))
    assert p.protected
    assert sorted((p.scaled - table.scaled).tolist()) == [-7, 0, 7]
    assert p.certificate().content["allowed"]["gaps"] == {"cell": [0, 1], "below": [33, 43], "above": [47, 57]}
    assert p.certificate().check()


@pytest.mark.parametrize("seed", range(6))
def test_senses_with_slack_are_drawn_within_it(seed):
    values = np.random.default_rng(seed).integers(20, 90, (6, 6))
    table = cw.Table.from_array(values)
    at = np.random.default_rng(seed).choice(36, 9, replace=False)
    at = np.sort(at // 6 * 7 + at % 6)
    level = np.maximum(table.scaled[at] // 5, 1)
    table = table.with_sensitivity(Sensitivity.of(table.cells, at, level, level, 0 * level))
    common = {"jitter": 0, "grid": None, "keep": "nothing"}
    best = cw.ControlledAdjustment(senses="choose", **common).protect(table)
    assert best.status == "optimal"
    drawn = [cw.ControlledAdjustment(slack=0.3, **common).protect(table, key=key_of(k)) for k in range(4)]
    assert all(p.objective <= best.objective * 1.3 * (1 + 1e-6) for p in drawn)
    assert all(p.objective >= best.objective * (1 - 1e-6) for p in drawn)
    assert len({tuple(sorted(p.details.senses.items())) for p in drawn}) > 1
    none = cw.ControlledAdjustment(slack=0, **common).protect(table, key=key_of(1))
    assert none.objective == pytest.approx(best.objective, rel=1e-6)


@pytest.mark.parametrize("option", [{"senses": "up"}, {"senses": "choose"}, {"norm": "huber"}])
def test_slack_is_for_drawn_senses(option):
    with pytest.raises(InputError, match="slack"):
        cw.ControlledAdjustment(slack=0.05, **option)


def test_structures_of_paper_001():
    dimensions = {name: (s.cells, s.at_risk, s.equations, s.coefficients) for name, s in PAPER_001.items()}
    assert dimensions == {
        "case 35": (499298, 55527, 20747, 1007124),
        "case 36": (1200439, 107743, 45638, 2417196),
        "case 37": (296004, 42652, 10904, 597057),
        "case 38": (572373, 81359, 18873, 1152345),
    }
    small = Structure(columns=5, rows=40, parents=6, at_risk=20)
    table = one_hierarchy(small)
    r = table.relations
    assert (table.cells, r.equations, len(r.coefs)) == (small.cells, small.equations, small.coefficients)
    assert not r.residual(table.scaled).any()
    p = cw.ControlledAdjustment(senses="choose", jitter=0).protect(table, time_limit_s=20)
    assert p.protected


def test_what_is_proven_of_chosen_senses_is_said_of_all():
    one, level = cw.Table.from_array([[20, 50, 10], [8, 19, 22], [17, 32, 12]]), np.array([3, 3])
    table = one.with_sensitivity(Sensitivity.of(one.cells, [0, 5], level, level, 0 * level))
    for senses, words in (("choose", "whatever the senses"), ("up", "with the same senses and levels")):
        p = cw.ControlledAdjustment(senses=senses, jitter=0).protect(table)
        assert any(words in line for line in outcome(p, table).sentences)


# ---- large tables ----------------------------------------------------------------------------------------------------------------------------


SMALL = Structure(columns=9, rows=90, parents=8, at_risk=90)


def beginning(structure=SMALL):
    """A problem, its senses, and the least distance for senses drawn."""
    method = cw.ControlledAdjustment(senses="choose", jitter=0, grid=None, keep="nothing")
    instance = Instance.of(one_hierarchy(structure), weights="relative")
    attempt = AdjustmentAttempt(method, instance, Budget(), key_of("senses"))
    problem = attempt.problem(Room(*attempt.free))
    return attempt, problem, engines.solve_with_senses(problem, attempt.senses(), Budget())


def test_senses_of_a_dive_cost_what_it_says_and_less_than_those_drawn():
    attempt, problem, start = beginning()
    sides = Sides.of(start.senses, attempt.factor)
    relaxation = Envelope.by_equations(problem, start.senses.cell, sides, Budget())
    root = relaxation.solve(sides.only).bound
    for share in (0.25, 0.7):
        decided, cost = dive(relaxation, share, Budget())
        trials = Trials(problem, Room(*attempt.free), Budget(), engines.AUTO, attempt.factor)
        found = trials.of(replace(start.senses, sense=decided))
        assert found.cost == pytest.approx(cost, rel=1e-6)
        assert root <= cost * (1 + 1e-9)
        assert cost < start.answer.objective


def test_no_single_turn_pays_after_flips():
    attempt, problem, start = beginning(Structure(columns=5, rows=40, parents=6, at_risk=20))
    relaxation = Envelope.by_equations(problem, start.senses.cell, Sides.of(start.senses, attempt.factor), Budget())
    sense, cost = flips(relaxation, start.senses.sense, start.answer.objective, np.random.default_rng(0), Budget())
    trials = Trials(problem, Room(*attempt.free), Budget(), engines.AUTO, attempt.factor)
    assert trials.of(replace(start.senses, sense=sense)).cost == pytest.approx(cost, rel=1e-6)
    assert cost < start.answer.objective
    for k in range(len(sense)):
        other = np.where(np.arange(len(sense)) == k, -sense, sense)
        found = trials.of(replace(start.senses, sense=other))
        assert found is None or found.cost >= cost * (1 - 1e-6)


def test_a_tree_over_classes_is_proven_by_equations():
    """Of every two rows one is the sum of the other alone, so that cells at risk are in pairs that move alike."""
    rng = np.random.default_rng(5)
    inner = rng.integers(20, 90, (6, 6))
    codes = [f"r{i}" for i in range(6)]
    rows = {
        "row": [c for c in codes for _ in range(6)],
        "col": [f"c{j}" for j in range(6)] * 6,
        "n": inner.ravel().tolist(),
    }
    above = [*((c, f"s{c}") for c in codes), *((f"s{c}", "Total") for c in codes)]
    table = cw.Table.from_frame(
        rows, dims=["row", "col"], value="n", hierarchies={"row": cw.Hierarchy.from_parents(above)}
    )
    chosen = [(codes[i // 6], f"c{i % 6}") for i in rng.choice(36, 15, replace=False).tolist()]
    at = np.sort([table.labels.find(cell) for row, col in chosen for cell in ((row, col), (f"s{row}", col))])
    level = np.maximum(table.scaled[at] // 5, 1)
    table = table.with_sensitivity(Sensitivity.of(table.cells, at, level, level, 0 * level))
    method = cw.ControlledAdjustment(senses="choose", jitter=0, grid=None, keep="nothing")
    attempt = AdjustmentAttempt(method, Instance.of(table, weights="relative"), Budget(), key_of("senses"))
    problem, senses = attempt.problem(Room(*attempt.free)), attempt.senses()
    sides = Sides.of(senses, attempt.factor)
    classes = Classes.of_problem(problem, senses.cell, sides)
    assert len(classes.at) < len(senses.cell)
    found = search(Envelope.in_leaves(classes, Budget()), np.inf, 40, Budget(), look=4)
    again = retraced(found, classes, Envelope.by_equations(problem, senses.cell, sides, Budget()), Budget())
    assert again.bound == pytest.approx(found.bound, rel=1e-6)
    assert sum(node.split is not None for node in preorder(again.root)) == sum(
        node.split is not None for node in preorder(found.root)
    )
    p = method.protect(table)
    assert p.certificate().check()
    assert float(p.certified_bound) >= found.bound * (1 - 1e-6)
    over = Budget(time_limit_s=1e-9)
    assert retraced(found, classes, Envelope.by_equations(problem, senses.cell, sides, Budget()), over) is None


@pytest.mark.parametrize("order", ["tree", "random"])
@pytest.mark.parametrize("threads", [1, 2])
def test_blocks_side_by_side_gain_what_they_say(order, threads):
    attempt, problem, start = beginning()
    senses, r = start.senses, problem.relations
    sides = Sides.of(senses, attempt.factor)
    now = Nearby(
        problem, senses.cell, sides, senses.sense.copy(), start.answer.z.copy(), np.random.default_rng(0), cells=60
    )
    gains = now.gains(Budget(threads=threads), order)
    gained = sum(next(gains) for _ in range(40))
    gains.close()
    weight = problem.costs.absolute
    assert gained > 0
    assert weight @ np.abs(now.z) == pytest.approx(start.answer.objective - gained, rel=1e-9)
    assert np.abs(np.bincount(r.row, r.coefs * now.z[r.indices], r.equations)).max() < 1e-5
    far = np.where(now.sense > 0, now.z[senses.cell] - sides.up, -now.z[senses.cell] - sides.down)
    assert far.min() > -1e-5


def test_a_search_for_senses_goes_on_where_it_was_left(tmp_path):
    table, method = one_hierarchy(SMALL), cw.ControlledAdjustment(senses="choose", jitter=0, keep="nothing")
    first = method.protect(table, resume=tmp_path, time_limit_s=2)
    told = []
    second = method.protect(table, resume=tmp_path, time_limit_s=2, progress=lambda s: told.append(s.incumbent))
    begun = next(x for x in told if x is not None)
    assert begun <= first.details.continuous * (1 + 1e-6)
    assert second.details.continuous <= first.details.continuous * (1 + 1e-6)
    assert (tmp_path / NAME).stat().st_mode & 0o077 == 0


def test_nothing_is_believed_of_senses_that_were_kept(tmp_path):
    table = cw.Table.from_equations([40, 50, 90], [[1, 1, -1]], sensitive=[0, 1], lpl=[4, 4], upl=[4, 4])
    method = cw.ControlledAdjustment(senses="choose", jitter=0, fixed=[2])
    plain = method.protect(table)
    kept = []
    for spoiled in ([1, 1], [-1, -1], [1, 7], [1, 1, 1], [0, 0]):  # of two that add up to what is fixed one rises
        with pytest.MonkeyPatch.context() as patch:
            patch.setattr(Checkpoint, "read", lambda _, x=spoiled: Kept(np.array(x, np.int64), None, None))
            p = method.protect(table, resume=tmp_path)
        kept.append((p.status, p.objective, p.bound, p.protected))
    assert set(kept) == {(plain.status, plain.objective, plain.bound, True)}


def test_senses_of_another_question_are_not_taken(tmp_path):
    _, problem, start = beginning()
    budget, up = Budget(resume=tmp_path), np.ones(len(start.senses.cell), np.int64)
    checkpoint_of(problem, start.senses, budget).write(up, None, None)
    assert np.array_equal(checkpoint_of(problem, start.senses, budget).read().x, up)
    other = [
        problem.within(Room(problem.room.lo, problem.room.hi // 2)),
        replace(problem, distance=replace(problem.distance, weight=problem.distance.weight + 1)),
        replace(problem, distance=replace(problem.distance, norm="l2")),
    ]
    assert [checkpoint_of(one, start.senses, budget).read() for one in other] == [None] * 3
    higher = replace(start.senses, up=start.senses.up + 1)
    assert checkpoint_of(problem, higher, budget).read() is None
    (tmp_path / NAME).write_bytes(b"nothing")
    with pytest.raises(InputError, match="damaged; remove it"):
        checkpoint_of(problem, start.senses, budget).read()
