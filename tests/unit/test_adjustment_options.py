"""What users of adjustment have: ways that are closed, deviations on a grid, infeasible instances explained, and repaired as far as is allowed."""

import json
from itertools import product

import nearest_additive
import numpy as np
import pytest
import random_one_sided
from fixed_keys import key_of

import cellward as cw

INF = float("inf")


def row(**options):
    """Two cells at risk, their sum, and what is beside it."""
    matrix = [[1, 1, -1, 0, 0], [0, 0, 1, 1, -1]]
    asked = {"sensitive": [0, 1], "lpl": [2, 3], "upl": [2, 3], **options}
    return cw.Table.from_equations([10, 20, 30, 5, 35], matrix, **asked)


# ---- closed ways -----------------------------------------------------------------------------------------------------------------------------


@pytest.mark.parametrize("block", range(4))
def test_feasible_with_closed_ways_where_some_senses_are_and_only_there(block):
    said = set()
    for seed in range(1000 + 30 * block, 1030 + 30 * block):
        case = random_one_sided.one_sided(seed)
        p = cw.ControlledAdjustment(**case.options).protect(case.table, weights=case.weight, key=key_of(seed))
        some = any(case.goes(box) for _, box in case.senses())
        said.add(p.status)
        assert (p.status == "infeasible") is not some, seed
        if p.publication is not None:
            assert p.protected
            assert p.certificate().check().holds
            low, high = case.room()
            z = (p.scaled - case.table.scaled).tolist()
            assert all(x <= move <= y and move % case.unit == 0 for x, move, y in zip(low, z, high, strict=True)), seed
        elif p.status == "infeasible":
            assert p.certificate().check().proven, seed
    assert {"optimal", "infeasible"} <= said


def test_given_senses_with_closed_ways_have_the_optimum_of_brute_force():
    for seed in range(2000, 2015):
        case = random_one_sided.one_sided(seed)
        every = {tuple(chosen): box for chosen, box in case.senses()}
        for chosen in product((1, -1), repeat=len(case.lpl)):
            p = cw.ControlledAdjustment(senses=chosen, jitter=0, **case.options).protect(
                case.table, weights=case.weight
            )
            box = every.get(chosen)
            if p.status == "infeasible":
                assert box is None or not case.goes(box)
            elif p.publication is not None:
                try:
                    least = case.least(box, round(p.objective))
                except nearest_additive.TooManyError:
                    continue
                assert p.bound <= least + 1e-6
                assert p.status == "feasible" or least == p.objective


def test_levels_without_an_end_come_and_go_in_files(tmp_path):
    table = row(lpl=[INF, 3], upl=[2, INF])
    for name in ("t.jj", "t.csv", "t.parquet"):
        path = cw.write(table, tmp_path / name)
        options = (
            {}
            if name == "t.jj"
            else {"dims": ["cell"], "value": "value", "status": "status", "lpl": "lpl", "upl": "upl"}
        )
        read = cw.read(path, **options)
        assert read.sensitivity.lpl.tolist()[:5] == table.sensitivity.lpl.tolist()
        assert read.sensitivity.upl.tolist()[:5] == table.sensitivity.upl.tolist()
    for grid in ("table", None):
        p = cw.ControlledAdjustment(grid=grid).protect(table, key=key_of(1))
        assert p.values[0] >= 12
        assert p.values[1] <= 17
        path = p.certificate().save(tmp_path / f"{grid}.json.gz")
        assert cw.verify(path, table=table)


def test_other_methods_say_that_such_a_level_is_not_for_them():
    with pytest.raises(cw.InputError, match="cell 0: a level without an end forbids an adjustment"):
        cw.ControlledRounding(5).protect(row(lpl=[INF, 3]))
    with pytest.raises(cw.InputError, match="nothing can be advised on it"):
        cw.advise(row(lpl=[INF, 3]))
    both = cw.ControlledAdjustment().protect(row(lpl=[INF, 3], upl=[INF, 3]))
    assert both.status == "infeasible"
    assert "cell 0" in both.reason


def test_deviations_are_multiples_of_the_grid():
    for norm in ("l1", "l2"):
        p = cw.ControlledAdjustment(norm=norm, grid=5, grid_of="deviations").protect(row(), key=key_of(0))
        moves = p.scaled - p.instance.a
        assert not (moves % 5).any()
        assert (p.scaled % 5).any() or not (p.instance.a % 5).any()
        assert "grid" not in p.method
    assert any("left of true values" in note for note in p.details.notes)


# ---- why not, and what gives way -------------------------------------------------------------------------------------------------------------


def narrow():
    return row(lower=[9, 19, 30, 5, 0], upper=[12, 23, 30, 5, 100])


def test_an_infeasible_instance_is_explained_by_what_does_not_go_together():
    p = cw.ControlledAdjustment().protect(narrow(), key=key_of(0))
    assert [(one.cell, one.what) for one in p.failure.conflict] == [
        (1, "level"),
        (0, "lower bound"),
        (1, "lower bound"),
        (2, "upper bound"),
    ]
    told = "the level of cell 1, the lower bound of cell 0, the lower bound of cell 1 and the upper bound of cell 2 do not go together"
    assert told in p.reason
    assert "allow soft_levels or repair='bounds'" in p.reason
    fixed = cw.ControlledAdjustment(only_up=[0, 1], fixed=[2]).protect(row(), key=key_of(0))
    assert {one.what for one in fixed.failure.conflict} == {"level", "only way (only_up)", "fixed value"}


@pytest.mark.parametrize("which", ["bounds", "levels"])
def test_repairs_are_the_least(which):
    done = 0
    for seed in range(5000, 5040):
        case = random_one_sided.contradictory(seed)
        p = cw.ControlledAdjustment(repair=which).protect(case.table, weights=case.weight, key=key_of(seed))
        if any(case.goes(box) for _, box in case.senses()):
            assert p.details.repairs == ()
            continue
        try:
            least = case.least_repair(which)
        except nearest_additive.TooManyError:
            continue
        size = {i: max(case.lpl[i], case.upl[i]) for i in case.lpl}
        cost = case.weight if which == "bounds" else {i: 1 / x for i, x in size.items()}
        total = sum(cost[one.cell] * abs(int(one.now) - int(one.was)) for one in p.details.repairs)
        assert total == pytest.approx(float(least)), seed
        assert p.protected is (which == "bounds")
        assert p.releasable is (which == "bounds")
        done += 1
    assert done > 10


def test_levels_give_way_last():
    p = cw.ControlledAdjustment(repair="both").protect(narrow(), key=key_of(0))
    assert p.protected
    assert {one.what for one in p.details.repairs} == {"lower bound", "upper bound"}
    stuck = row(fixed=[2, 3], upper=[11, 21, 30, 5, 100])
    p = cw.ControlledAdjustment(only_up=[0], only_down=[], repair="both", fixed=[1]).protect(stuck, key=key_of(0))
    assert p.protected is False
    assert {one.what for one in p.details.repairs} == {"level"}
    with pytest.raises(cw.CellwardError, match="not protected"):
        p.release()


def test_bounds_alone_that_do_not_do_are_said_so():
    p = cw.ControlledAdjustment(only_up=[0, 1], fixed=[2], repair="bounds").protect(row(), key=key_of(0))
    assert p.status == "infeasible"
    assert p.reason.endswith("no wider bounds were found that alone lead to a table")
    with pytest.raises(cw.InputError, match="repair='both'"):
        cw.ControlledAdjustment(repair="bounds", soft_levels=True)


def test_a_release_with_repaired_bounds_is_verified_against_its_table(tmp_path):
    table = narrow()
    p = cw.ControlledAdjustment(repair="bounds").protect(table, key=key_of(0))
    path = p.certificate().save(tmp_path / "c.json.gz")
    assert cw.verify(path, table=table)
    wider = row(lower=[0, 0, 0, 0, 0], upper=[99, 99, 99, 99, 100])
    assert not cw.verify(path, table=wider)  # its bounds are tighter than those
    plain = cw.ControlledAdjustment().protect(wider, key=key_of(0)).certificate().save(tmp_path / "w.json.gz")
    assert not cw.verify(plain, table=table)  # and without a repair they must be the table's


def test_conflicts_and_repairs_through_the_command_line(run, tmp_path):
    path = cw.write(narrow(), tmp_path / "narrow.jj")
    said = run("adjust", path, "--out", tmp_path / "out", "--json")
    assert said.code == 1
    facts = json.loads(said.out)
    assert {"cell": "cell 2", "what": "upper bound"} in facts["conflict"]
    said = run("adjust", path, "--out", tmp_path / "out", "--repair", "bounds", "--only-down", "0")
    assert said.code == 0, said.out
    assert "note: repaired (repair='bounds'): lower bound of cell 0 9 → " in said.out
    repairs = json.loads((tmp_path / "out" / "protection.json").read_text())["details"]["repairs"]
    assert repairs[0]["what"] == "lower bound"
    assert run("verify", tmp_path / "out", "--table", path).code == 0
    assert (np.array(cw.read(path).scaled) == narrow().scaled).all()
