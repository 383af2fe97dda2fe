"""The gate: no cell at risk is given away by a release, whatever the method, with levels, without them, or where they are ignored."""

import numpy as np
import pytest
from fixed_keys import key_of

import cellward as cw
from cellward.audit.gate import given_away
from cellward.instance import Instance
from cellward.publication.knowledge import Knowledge
from cellward.publication.values import Values
from cellward.publication.withheld import Withheld
from cellward.table.sensitivity import CellStatus, Sensitivity

KEY = key_of("gate")
INNER = [[20, 50, 10], [8, 19, 22], [17, 32, 12]]


def at_risk(*cells, inner=INNER):
    """A table with cells at risk, no level given."""
    table = cw.Table.from_array(inner)
    none = np.zeros(len(cells), np.int64)
    return table.with_sensitivity(Sensitivity.of(table.cells, list(cells), none, none, none))


def test_a_cell_at_risk_without_a_level_asks_for_a_unit_of_width():
    table = at_risk(4, 6)
    levels = table.sensitivity.levels
    assert levels.cell.tolist() == [4, 6]
    assert levels.spl.tolist() == [1, 1]
    assert not (levels.lpl.any() or levels.upl.any() or table.sensitivity.spl.any())
    finer = table.sensitivity.scaled_by(100).levels
    assert finer.spl.tolist() == [100, 100]


def test_a_given_level_is_not_added_to():
    table = cw.Table.from_array(INNER)
    level = np.array([3], np.int64)
    asked = Sensitivity.of(table.cells, [4], 0 * level, level, 0 * level).levels
    assert (asked.upl.tolist(), asked.spl.tolist()) == ([3], [0])


@pytest.mark.parametrize(
    "method",
    [cw.ControlledRounding(5), cw.CellPerturbation(5), cw.CellPerturbation(within=3), cw.ControlledAdjustment()],
    ids=lambda method: repr(method)[:30],
)
def test_every_method_protects_cells_without_levels(method):
    p = method.protect(at_risk(4, 6, 9), key=KEY)
    assert p.protected
    assert p.certificate().check()
    assert p.release()
    if isinstance(method, cw.ControlledAdjustment):
        assert all(p.scaled[i] != p.instance.a[i] for i in (4, 6, 9))


@pytest.mark.parametrize("method", [cw.ControlledRounding(1), cw.CellPerturbation(1)], ids=["round", "perturb"])
def test_a_base_of_one_gives_cells_away(method):
    p = method.protect(at_risk(4), key=KEY)
    assert p.publication is None
    assert not p.releasable


def test_ignored_levels_do_not_open_the_gate():
    p = cw.ControlledRounding(1, ignore_levels=True).protect(at_risk(4), key=KEY)
    assert p.publication is not None
    assert not p.releasable
    with pytest.raises(cw.VerificationError, match=r"\(1, 0\) is given away by what is published; protect it by other"):
        p.release()


def test_ignored_levels_are_ignored_as_far_as_nobody_is_given_away():
    table = cw.Table.from_array(INNER)
    level = np.array([100], np.int64)
    asked = table.with_sensitivity(Sensitivity.of(table.cells, [4], level, level, 0 * level))
    p = cw.ControlledRounding(5, ignore_levels=True).protect(asked, key=KEY)
    assert p.protected is False
    assert p.releasable
    assert p.release()


def test_attackers_with_levels_of_their_own_do_not_stand_for_the_public():
    """The only attacker is asked about another cell; nobody would look at the one at risk."""
    table = at_risk(4)
    insider = cw.Attacker.knowing(table, "insider", levels={0: (1, 1, 0)})
    p = cw.ControlledRounding(1, ignore_levels=True).protect(table, attackers=[insider], key=KEY)
    assert not p.releasable
    published = Values(Knowledge.rounded(p.instance.a, np.ones(table.cells, np.int64)))
    assert len(given_away(p.instance, published)) == 1


def test_withheld_values_that_follow_from_the_others_are_given_away():
    table = at_risk(4)
    instance = Instance.of(table)
    (alone,) = given_away(instance, Withheld.of(instance.a, np.array([4])))
    assert alone.startswith("(1, 0) is given away")
    assert given_away(instance, Withheld.of(instance.a, np.array([0, 1, 4, 5]))) == ()


def test_one_whole_value_left_is_none_hidden():
    """Between 2.5 and 3.4 lies one count, which a continuous interval does not tell."""
    table = cw.Table.from_equations([3, 4, 7], [[1, 1, -1]], sensitive=[0])
    fine = Instance.of(table).finer(1)
    v = np.array([30, 40, 70], np.int64)
    near = np.array([4, 4, 4], np.int64)
    assert len(given_away(fine, Values(Knowledge.perturbed(v, near, form="distance")))) == 1
    assert given_away(fine, Values(Knowledge.perturbed(v, near + 6, form="distance"))) == ()


def test_what_an_adjustment_leaves_as_it_is_is_given_away():
    table = at_risk(4)
    instance = Instance.of(table)
    (same,) = given_away(instance, Values(Knowledge.adjusted(instance.a)))
    assert same.startswith("(1, 0) is published as it is")


# ---- what rows tell ------------------------------------------------------------------------------------------------------------------------------


RECORDS = {"region": ["N", "N", "S", "S", "S"], "sex": ["f", "m", "f", "f", "f"]}


def test_a_count_that_is_there_is_at_least_one():
    table = cw.Table.from_microdata(RECORDS, dims=["region", "sex"])
    parts = {
        ("Total", "Total"): 3,
        ("N", "Total"): 2,
        ("Total", "f"): 2,
    }  # a sum of rows that are there is at least as many
    assert {codes: int(table.lower[table.labels.find(codes)]) for codes in parts} == parts
    assert int(table.lower.min()) == 1
    found = table.find(cw.Threshold(3, units=2))
    i = found.labels.find(("N", "m"))
    assert (int(found.sensitivity.lpl[i]), int(found.sensitivity.upl[i])) == (0, 2)


def test_with_empty_combinations_nothing_is_told():
    table = cw.Table.from_microdata(RECORDS, dims=["region", "sex"], empty="zero")
    assert not table.lower.any()


def test_sums_of_amounts_tell_nothing_by_their_rows():
    table = cw.Table.from_microdata({**RECORDS, "wage": [0, 1, 2, 3, 4]}, dims=["region", "sex"], measure="wage")
    assert not table.lower.any()


def test_a_weighted_count_is_more_than_nothing():
    table = cw.Table.from_microdata({**RECORDS, "w": ["0.5", "2", "1", "1.5", "1"]}, dims=["region", "sex"], weight="w")
    assert table.lower[table.labels.find(("N", "m"))] == 1  # in units of the last decimal
    assert table.lower[table.labels.find(("Total", "Total"))] == 3


@pytest.mark.parametrize(
    ("rows", "least"),
    [
        ([("N", "f", 1), ("N", "m", 2), ("S", "f", 3)], 1),
        ([("N", "f", 1), ("N", "m", 2), ("S", "f", 0)], 0),
        ([("N", "f", 1), ("N", "m", 2), ("S", "f", 3), ("S", "m", 4)], 0),
    ],
    ids=["sparse", "sparse with a zero", "complete"],
)
def test_what_the_rows_of_a_long_table_tell(rows, least):
    region, sex, count = zip(*rows, strict=True)
    frame = {"region": region, "sex": sex, "count": list(count)}
    table = cw.Table.from_frame(frame, dims=["region", "sex"], value="count")
    assert int(table.lower.min()) == least
    assert int(table.lower.max()) == 3 * least
    assert not cw.Table.from_frame(frame, dims=["region", "sex"], value="count", empty="zero").lower.any()


def test_a_positive_count_may_be_rounded_to_zero():
    table = cw.Table.from_microdata(RECORDS, dims=["region", "sex"])
    p = cw.ControlledRounding(5).protect(table, key=KEY)
    assert p.status == "optimal"
    assert p.values[table.labels.find(("N", "m"))] == 0
    audited = p.audit().intervals
    assert int(audited["lower"].min()) >= 1
    assert p.certificate().check()


def test_statuses_of_cells_at_risk_are_read(tmp_path):
    table = at_risk(4)
    assert table.sensitivity.status[4] == CellStatus.UNSAFE
    cw.write(table, tmp_path / "t.csv")
    names = table.labels.dims
    again = cw.read(tmp_path / "t.csv", dims=list(names), value="value", status="status")
    assert again.sensitivity.levels.spl.tolist() == [1]
