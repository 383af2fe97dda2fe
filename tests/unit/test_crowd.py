"""Many attackers judged together: what is shown holds for each of them, and those who know the same are one."""

from dataclasses import replace

import numpy as np
import pytest
from persons import persons

import cellward as cw
from cellward.audit import evidence
from cellward.audit.crowd import Crowd
from cellward.audit.region import Region
from cellward.instance import Instance
from cellward.publication.knowledge import Knowledge
from cellward.risk.alike import alike, union
from cellward.solve.budget import Budget
from cellward.table.levels import Levels


@pytest.fixture(scope="module")
def case():
    table, attackers = persons()
    return Instance.of(table, attackers=attackers)


def levels(**given):
    cell = np.array(sorted(given["cells"]), np.int64)
    return Levels(cell, *(np.array(given[name], np.int64) for name in ("lpl", "upl", "spl")))


def test_of_several_levels_the_largest_counts():
    one = levels(cells=[1, 4], lpl=[1, 0], upl=[2, 5], spl=[0, 0])
    two = levels(cells=[0, 4], lpl=[3, 2], upl=[0, 1], spl=[0, 9])
    both = union([one, two])
    assert (both.cell.tolist(), both.lpl.tolist(), both.upl.tolist()) == ([0, 1, 4], [3, 1, 2], [0, 2, 5])
    assert both.spl.tolist() == [0, 0, 9]


def test_attackers_who_know_the_same_are_one(case):
    groups = alike(case.attackers, case.sensitivity.levels, case.lower, case.upper)
    assert sorted(k for one in groups for k in one.members) == list(range(len(case.attackers)))
    assert len(groups) < len(case.attackers) > evidence.FEW
    for one in groups:
        for k in one.members:
            low, high = case.attackers[k].narrow(case.lower, case.upper)
            assert np.array_equal(np.flatnonzero((low > case.lower) | (high < case.upper)), one.cell)
            assert np.array_equal(low[one.cell], one.lower) and np.array_equal(high[one.cell], one.upper)
            asked, wide = case.attackers[k].asked(case.sensitivity.levels), one.levels
            at = np.searchsorted(wide.cell, asked.cell)
            assert np.array_equal(wide.cell[at], asked.cell)
            assert all(np.all(getattr(wide, name)[at] >= getattr(asked, name)) for name in ("lpl", "upl", "spl"))


def test_one_attacker_stands_for_all_who_know_the_same_whatever_their_order(case):
    known, levels = case.distinct().attackers, case.sensitivity.levels
    assert (known[0].name, known[0].levels) == ("external", None)
    groups = alike(case.attackers[1:], levels, case.lower, case.upper)
    assert len(known) == len(groups) + 1
    turned = replace(case, attackers=(case.attackers[0], *case.attackers[:0:-1])).distinct().attackers
    assert [one.name for one in turned] == [one.name for one in known]
    own = {tuple(one.cell.tolist()): one for one in known[1:]}
    for one in groups:
        stands = own.get(tuple(one.cell.tolist())) if len(one.members) > 1 else case.attackers[one.members[0] + 1]
        assert stands is not None
        first = case.attackers[one.members[0] + 1]
        bounds = (each.narrow(case.lower, case.upper) for each in (stands, first))
        assert all(np.array_equal(mine, its) for mine, its in zip(*bounds, strict=True))
        assert np.array_equal(stands.asked(levels).cell, one.levels.cell)
    once = case.distinct()
    assert once.distinct() is once


@pytest.mark.parametrize("seed", range(3))
def test_what_is_shown_of_a_crowd_holds_for_everyone_and_what_is_not_is_missing_one_by_one_too(seed, monkeypatch):
    table, attackers = persons(seed)
    made = cw.ControlledRounding(5, max_steps=2).protect(table, attackers=attackers[:1])
    case = Instance.of(table, attackers=attackers)
    together = evidence.show_levels(case, made.publication)
    monkeypatch.setattr(evidence, "FEW", 10**6)
    one_by_one = evidence.show_levels(case, made.publication)
    assert (together.requirements, together.protected) == (one_by_one.requirements, one_by_one.protected)
    assert len(together.missing) <= len(one_by_one.missing) or together.unsettled == 0
    regions = Region.of_each(case.relations, case.lower, case.upper, made.publication.knowledge, case.attackers, case.a)
    low, high = ({} for _ in range(2))
    for one in together.shown:
        for k, cells in one.covers:
            assert regions[k].contains_shift(one.witness.shift, one.witness.denominator)
            for i in cells.tolist():
                low[k, i] = min(low.get((k, i), 0), int(one.witness.shift[i]))
                high[k, i] = max(high.get((k, i), 0), int(one.witness.shift[i]))
    if together.protected:
        for k, attacker in enumerate(case.attackers):
            asked = attacker.asked(case.sensitivity.levels)
            for i, lpl, upl in zip(asked.cell.tolist(), asked.lpl.tolist(), asked.upl.tolist(), strict=True):
                assert low.get((k, i), 0) <= -lpl
                assert high.get((k, i), 0) >= upl


def test_a_level_that_fails_is_named_with_who_finds_out():
    """Two persons in one cell: each knows the other once the sum is told exactly."""
    table, attackers = persons()
    case = Instance.of(table, attackers=attackers)
    crowd = Crowd(case, Knowledge.interval(case.a, case.a), Budget())
    crowd.judge([case.a], until_missed=True)
    assert not crowd.met.any()
    assert any(one.out_of_reach for one in crowd.alone.values())


def test_once_the_time_is_up_what_is_open_is_not_settled(case):
    made = cw.ControlledRounding(5, max_steps=2).protect(persons()[0])
    budget = Budget(time_limit_s=60)
    budget.end()
    found = evidence.show_levels(case, made.publication, budget)
    assert found.missing and found.unsettled == len(found.missing)
    assert all(sentence.endswith("(not settled in time)") for sentence in found.missing)


def test_a_release_against_a_crowd_is_verified():
    table, attackers = persons(1)
    made = cw.ControlledRounding(5, max_steps=2).protect(table, attackers=attackers)
    assert made.protected
    assert made.release().values is not None  # it is not made unless its certificate verifies


def test_a_crowd_is_verified_by_whoever_names_each_of_it(tmp_path):
    table, attackers = persons(1)
    made = cw.ControlledRounding(5, max_steps=2).protect(table, attackers=attackers)
    assert len(made.instance.attackers) < len(attackers)
    path = made.certificate().save(tmp_path / "certificate.json.gz")
    assert cw.verify(path, table=table, attackers=attackers)
    assert not cw.verify(path, table=table, attackers=attackers[: len(attackers) // 2])
