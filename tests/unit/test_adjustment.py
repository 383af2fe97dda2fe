"""Controlled tabular adjustment: options, secrets, senses that do not go together, levels that bend, and what is said of it."""

from __future__ import annotations

import json
from fractions import Fraction

import numpy as np
import pytest
from fixed_keys import key_of

import cellward as cw
from cellward.table.sensitivity import Sensitivity

SMALL = [[20, 50, 10], [8, 19, 22], [17, 32, 12]]
KEY = key_of(0)
KEYS = [key_of(k) for k in range(12)]
PLAIN = {"senses": "up", "jitter": 0}
NORMS = ["l1", "l2", "linf", "l1-2", "huber"]


def asking(table, cells, lpl, upl, spl=0):
    many = len(cells)
    level = [np.full(many, x, np.int64) for x in (lpl, upl, spl)]
    return table.with_sensitivity(Sensitivity.of(table.cells, cells, *level))


def small(cells=(5, 6, 9), lpl=2, upl=2):
    return asking(cw.Table.from_array(SMALL), list(cells), lpl, upl)


def row(levels=2, **options):
    """Two cells at risk, and their sum."""
    return asking(cw.Table.from_equations([10, 20, 30], [[1, 1, -1]], **options), [0, 1], levels, levels)


def moved(p):
    return (p.scaled - p.instance.a).tolist()


def check(p):
    """What every result owes: sums, bounds, levels by distance, and a certificate that holds."""
    i = p.instance
    assert not i.relations.residual(p.scaled).any()
    assert np.all((i.lower <= p.scaled) & (p.scaled <= i.upper))
    levels = i.sensitivity.levels
    move = p.scaled[levels.cell] - i.a[levels.cell]
    up, down = (move >= levels.upl) & (levels.upl > 0), (-move >= levels.lpl) & (levels.lpl > 0)
    assert np.all(up | down)
    assert p.protected is (True if len(levels.cell) else None)
    assert p.certificate().check()
    assert p.release()
    return p


# ---- norms -----------------------------------------------------------------------------------------------------------------------------------


@pytest.mark.parametrize("grid", ["table", 1, 5, "0.5", None])
@pytest.mark.parametrize("norm", NORMS)
def test_every_norm_on_every_grid(norm, grid):
    p = check(cw.ControlledAdjustment(norm=norm, grid=grid).protect(small(), key=KEY))
    step = {"table": 1, "0.5": Fraction(1, 2), None: Fraction(1, 10**7)}.get(grid, grid)
    values = [Fraction(v, 10**p.instance.decimals) for v in p.scaled.tolist()]
    stay = p.scaled == p.instance.a
    assert all(v % step == 0 for v, same in zip(values, stay.tolist(), strict=True) if not same)
    assert p.sought.bound <= p.objective_scaled
    if grid is None:
        assert p.status == "optimal"


def objective(norm, z, w, risk, *, delta=0.001, shares=(0.99, 0.01)):
    z, w = np.abs(z.astype(float)), w.astype(float)
    if norm == "l1":
        return (w * z).sum()
    if norm == "l2":
        return (w * z * z).sum()
    if norm == "linf":
        return (w * z)[risk].max() + np.delete(w * z, risk).max()
    if norm == "huber":
        return (w * (np.sqrt(z * z + delta**2) - delta)).sum()
    return shares[0] * (w * z).sum() + shares[1] * (w * z * z).sum()


@pytest.mark.parametrize("norm", NORMS)
def test_the_objective_is_what_the_norm_says(norm):
    p = cw.ControlledAdjustment(norm=norm).protect(small(), key=KEY, weights="equal")
    z = p.scaled - p.instance.a
    assert float(p.objective) == pytest.approx(objective(norm, z, p.instance.weight, [5, 6, 9]), rel=1e-9)


def test_weights_are_relative_unless_others_are_given():
    table = small()
    p = cw.ControlledAdjustment().protect(table, key=KEY)
    a, z = np.maximum(table.values, 1), np.abs(p.values - table.values)
    assert float(p.objective) == pytest.approx((z / a).sum(), rel=1e-6)
    assert cw.ControlledAdjustment().protect(table, key=KEY, weights="equal").objective == int(
        np.abs(cw.ControlledAdjustment().protect(table, key=KEY, weights="equal").values - table.values).sum()
    )


def test_the_figures_of_a_paper_are_those_of_levels_up_without_jitter():
    p = check(cw.ControlledAdjustment(**PLAIN, grid=None).protect(small()))
    assert [moved(p)[i] / 10**p.instance.decimals for i in (5, 6, 9)] == [2, 2, 2]


def test_a_certified_bound_of_l1_and_none_of_the_others():
    assert cw.ControlledAdjustment().protect(small(), key=KEY).certified_bound == pytest.approx(
        cw.ControlledAdjustment().protect(small(), key=KEY).objective
    )
    assert cw.ControlledAdjustment(norm="l2").protect(small(), key=KEY).certified_bound is None


@pytest.mark.parametrize(
    ("norm", "forms"), [("l1", ("leaf", "equation", "cone")), ("l2", ("leaf", "cone")), ("linf", ("leaf", "equation"))]
)
def test_every_form_finds_the_same_optimum(norm, forms):
    found = [cw.ControlledAdjustment(norm=norm, form=form, **PLAIN, grid=None).protect(small()) for form in forms]
    assert all(p.details.form == form for p, form in zip(found, forms, strict=True))
    for p in found[1:]:
        assert float(p.objective) == pytest.approx(float(found[0].objective), rel=1e-5)


def test_second_weights_subsets_and_shares():
    table = small()
    given = {"norm": "l1-2", "shares": ("0.5", "0.25"), "subset": [5, 6], "second_weights": [2] * 16}
    p = check(cw.ControlledAdjustment(**given).protect(table, key=KEY, weights="equal"))
    z = np.abs(np.array(moved(p), float))
    assert float(p.objective) == pytest.approx(0.5 * z.sum() + 0.25 * (2 * z[[5, 6]] ** 2).sum())
    named = cw.ControlledAdjustment(**{**given, "subset": [("1", "1"), ("1", "2")]})
    assert named.protect(table, key=KEY, weights="equal").objective == p.objective


# ---- secrets ---------------------------------------------------------------------------------------------------------------------------------


def test_one_key_one_table_and_other_keys_others(tmp_path):
    table = small()
    bytes_of = [
        cw.ControlledAdjustment().protect(table, key=key).release().save(tmp_path / "r.csv").read_bytes()
        for key in (KEY, KEY, *KEYS[1:])
    ]
    assert bytes_of[0] == bytes_of[1]
    assert len(set(bytes_of)) > 4
    drawn = {tuple(cw.ControlledAdjustment().protect(table, key=key).details.senses.values()) for key in KEYS}
    assert len(drawn) > 3
    assert {sense for senses in drawn for sense in senses} == {1, -1}


def test_a_seed_has_no_part_in_secrets():
    one, two = (cw.ControlledAdjustment().protect(small(), key=KEY, seed=seed) for seed in (0, 1))
    assert one.details.senses == two.details.senses
    assert one.details.levels == two.details.levels


def test_without_a_key_one_is_drawn():
    drawn = {tuple(cw.ControlledAdjustment().protect(small()).scaled.tolist()) for _ in range(12)}
    assert len(drawn) > 1


def test_levels_are_drawn_above_what_is_asked():
    levels = [
        int(level)
        for key in KEYS
        for level in cw.ControlledAdjustment(jitter=1.0).protect(small(upl=6, lpl=4), key=key).details.levels.values()
    ]
    assert min(levels) >= 4
    assert max(levels) <= 12
    assert len(set(levels)) > 4
    plain = cw.ControlledAdjustment(jitter=0).protect(small(), key=KEY)
    assert set(plain.details.levels.values()) == {"2"}


def test_secrets_are_nowhere_but_in_the_details():
    p = cw.ControlledAdjustment().protect(small(), key=KEY)
    assert set(p.method) == {"name", "norm", "version"}
    release = p.release()
    told = json.dumps(release.statement()) + repr(p) + repr(release) + json.dumps(p.certificate().content["method"])
    for word in ("sense", "jitter", "level", KEY.hex(), "flipped", "bent"):
        assert word not in told
    assert p.certificate().content["knowledge"] == {"rule": "adjusted", "most": None}


# ---- senses and room -------------------------------------------------------------------------------------------------------------------------


@pytest.mark.parametrize("senses", ["up", "down"])
def test_given_senses(senses):
    p = check(cw.ControlledAdjustment(senses=senses, jitter=0).protect(small()))
    assert [np.sign(moved(p)[i]) for i in (5, 6, 9)] == [1 if senses == "up" else -1] * 3


def test_senses_one_a_cell_at_risk_or_one_a_cell():
    p = check(cw.ControlledAdjustment(senses=[1, -1, 1], jitter=0).protect(small()))
    assert [np.sign(moved(p)[i]) for i in (5, 6, 9)] == [1, -1, 1]
    every = np.ones(16, np.int64)
    every[6] = -1
    assert moved(cw.ControlledAdjustment(senses=every, jitter=0).protect(small())) == moved(p)


@pytest.mark.parametrize("key", KEYS)
def test_drawn_senses_that_do_not_go_together_are_turned(key):
    """Two cells at risk whose sum is fixed: one goes up, the other down, whatever was drawn."""
    p = check(cw.ControlledAdjustment(fixed=[2]).protect(row(), key=key))
    first, second, total = moved(p)
    assert first == -second != 0
    assert total == 0
    assert p.details.flipped in (0, 1)


def test_given_senses_are_not_turned():
    p = cw.ControlledAdjustment(fixed=[2], **PLAIN).protect(row())
    assert p.status == "infeasible"
    assert "cell 0" in p.reason or "cell 1" in p.reason
    assert "allow soft_levels" in p.reason
    assert set(p.failure.cells) <= {0, 1}


def test_a_side_that_asks_nothing_is_not_taken():
    for key in KEYS[:4]:
        p = check(cw.ControlledAdjustment().protect(small(lpl=0, upl=3), key=key))
        assert all(moved(p)[i] >= 3 for i in (5, 6, 9))
    p = cw.ControlledAdjustment(senses="up").protect(small(lpl=3, upl=0))
    assert p.status == "infeasible"
    assert "(1, 1), (1, 2), (2, 1)" in p.reason


def test_fixed_margins_and_fixed_cells():
    p = check(cw.ControlledAdjustment(fixed="margins").protect(small(), key=KEY))
    margins = np.flatnonzero(p.instance.relations.height > 0)
    assert not np.array(moved(p))[margins].any()
    for fixed in ([0, 15], [("0", "0"), ("Total", "Total")]):
        p = check(cw.ControlledAdjustment(fixed=fixed).protect(small(), key=KEY))
        assert (moved(p)[0], moved(p)[15]) == (0, 0)


def test_cells_that_the_table_fixes_stay():
    table = cw.Table.from_equations([7, 3, 10, 8, 18], [[1, 1, -1, 0, 0], [0, 0, 1, 1, -1]], fixed=[2])
    asked = Sensitivity.of(5, [0], np.array([2]), np.array([2]), np.array([0]))
    status = np.where(table.sensitivity.fixed, table.sensitivity.status, asked.status)
    table = table.with_sensitivity(Sensitivity(status, asked.lpl, asked.upl, asked.spl))
    p = check(cw.ControlledAdjustment().protect(table, key=KEY))
    assert moved(p)[2:] == [0, 0, 0]


def test_soft_margins_move_only_when_they_must():
    p = check(cw.ControlledAdjustment(fixed="margins", soft_margins=1000).protect(small(), key=KEY))
    assert not np.array(moved(p))[p.instance.relations.height > 0].any()
    margin = small(cells=[3])
    assert cw.ControlledAdjustment(fixed="margins").protect(margin, key=KEY).status == "infeasible"
    p = check(cw.ControlledAdjustment(fixed="margins", soft_margins=1000).protect(margin, key=KEY))
    assert moved(p)[3] != 0


def test_soft_margins_of_numbers_far_apart():
    table = asking(cw.Table.from_array([[10**12, 3], [7, 10**12]]), [1], 1, 1)
    p = check(cw.ControlledAdjustment(fixed="margins", soft_margins=10**6).protect(table, key=KEY))
    assert np.abs(moved(p)).max() <= 3


def test_zeros_stay_unless_they_are_freed_or_at_risk():
    table = cw.Table.from_array([[0, 5, 3], [4, 0, 6]])
    at_risk = asking(table, [1, 2], 2, 2)
    p = check(cw.ControlledAdjustment().protect(at_risk, key=KEY))
    assert [moved(p)[i] for i in (0, 5)] == [0, 0]
    stuck = cw.ControlledAdjustment(fixed="margins").protect(asking(table, [1], 2, 2), key=KEY)
    assert stuck.status == "infeasible"
    freed = cw.ControlledAdjustment(fixed="margins", zeros_stay=False).protect(asking(table, [1], 2, 2), key=KEY)
    assert moved(check(freed))[1] < 0  # the zero below it can only rise
    assert moved(check(cw.ControlledAdjustment().protect(asking(table, [0], 2, 2), key=KEY)))[0] > 0


def test_bounds_are_respected():
    upper = [21, 51, 11, None, 9, 20, 60, None, 18, 60, 13, None, None, None, None, None]
    table = asking(cw.Table.from_array(SMALL, upper=upper), [5, 6], 4, 4)
    for key in KEYS[:4]:
        p = check(cw.ControlledAdjustment().protect(table, key=key))
        assert moved(p)[5] <= -4


def test_negative_values():
    table = asking(cw.Table.from_array([[-7, 4], [3, -12]], lower=None), [0, 4], 2, 2)
    for norm in NORMS:
        check(cw.ControlledAdjustment(norm=norm).protect(table, key=KEY))


def test_tables_of_one_dimension_and_of_one_cell():
    check(cw.ControlledAdjustment().protect(asking(cw.Table.from_array([5, 9, 11]), [1], 3, 3), key=KEY))
    alone = cw.Table.from_equations([7], np.zeros((0, 1), int))
    check(cw.ControlledAdjustment().protect(asking(alone, [0], 3, 3), key=KEY))


def test_a_table_without_levels_is_published_as_it_is():
    for norm in NORMS:
        p = check(cw.ControlledAdjustment(norm=norm).protect(cw.Table.from_array(SMALL), key=KEY))
        assert (p.status, p.objective, p.protected) == ("optimal", 0, None)
        assert not any(moved(p))


@pytest.mark.parametrize("norm", ["l1", "l2", "l1-2", "huber"])
def test_huge_values(norm):
    table = asking(cw.Table.from_array((np.array(SMALL) * 10**12).tolist()), [5, 6], 10**11, 10**11)
    p = check(cw.ControlledAdjustment(norm=norm).protect(table, key=KEY))
    assert p.status == "optimal"


@pytest.mark.parametrize("norm", ["l1", "linf"])
def test_huge_values_in_linear_programs(norm):
    """The solver sees deviations of moderate size, whatever the unit; without that it gave up on every third of these."""
    rng = np.random.default_rng(0)
    for _ in range(6):
        table = cw.Table.from_array((rng.poisson(1000, (5, 6)) * 10**9).tolist())
        at_risk = asking(table, rng.choice(table.cells, 6, replace=False).tolist(), 10**11, 10**11)
        check(cw.ControlledAdjustment(norm=norm, form="equation", grid=None).protect(at_risk, key=KEY))


@pytest.mark.parametrize("grid", ["table", None, "0.5", "0.1", "0.001", 1])
def test_decimals(grid):
    table = asking(cw.Table.from_array([["1.25", "3.10"], ["0.45", "7.85"]]), [0, 4], 20, 20)
    check(cw.ControlledAdjustment(grid=grid).protect(table, key=KEY))


def test_linked_tables_and_cubes():
    rng = np.random.default_rng(4)
    inner = rng.poisson(9, (4, 3, 3)) + 1
    one = cw.Table.from_array(inner.sum(axis=2), dims=("a", "b"))
    two = cw.Table.from_array(inner.sum(axis=1), dims=("a", "c"))
    for table in (cw.link(one, two), cw.Table.from_array(inner)):
        for norm in ("l1", "l2"):
            check(cw.ControlledAdjustment(norm=norm).protect(asking(table, [0, 5, 7], 2, 2), key=KEY))


# ---- levels that cannot be reached -----------------------------------------------------------------------------------------------------------


def test_an_infeasible_table_names_its_cells():
    alone = asking(cw.Table.from_equations([3, 20, 23], [[1, 1, -1]], upper=[4, None, None]), [0], 5, 5)
    p = cw.ControlledAdjustment().protect(alone, key=KEY)
    assert (p.status, p.scaled) == ("infeasible", None)
    assert p.reason.startswith("the bounds of cell 0 leave no value that is far enough off; ask for lower levels")
    assert p.failure.cells == (0,)
    table = small(cells=[5])
    stuck = cw.ControlledAdjustment(fixed=[i for i in range(16) if i != 5]).protect(table, key=KEY)
    assert stuck.status == "infeasible"
    assert "(1, 1)" in stuck.reason
    assert stuck.failure.cells == (5,)


def test_levels_bend_on_request_and_nothing_is_released():
    alone = asking(cw.Table.from_equations([3, 20, 23], [[1, 1, -1]], upper=[4, None, None]), [0], 5, 5)
    p = cw.ControlledAdjustment(soft_levels=True).protect(alone, key=KEY)
    assert p.status == "optimal"
    assert p.protected is False
    assert p.details.bent == 1
    assert "levels had to give way" in p.reason
    assert "cell 0" in p.reason
    with pytest.raises(cw.CellwardError, match="not protected: cell 0 is published within its levels"):
        p.release()


def test_levels_that_need_not_bend_do_not():
    soft, hard = (cw.ControlledAdjustment(soft_levels=soft).protect(small(), key=KEY) for soft in (True, False))
    assert moved(soft) == moved(hard)
    assert (soft.reason, soft.details.bent) == ("", 0)


def test_a_bent_level_may_be_reached_the_other_way():
    """Both cells are told to go up and their sum to stay; bent beyond 0, one of them goes down far enough after all."""
    p = check(cw.ControlledAdjustment(fixed=[2], soft_levels=True, **PLAIN).protect(row()))
    assert sorted(moved(p)) == [-2, 0, 2]
    assert p.reason == ""


@pytest.mark.parametrize("key", KEYS)
def test_drawn_levels_give_way_to_those_asked(key):
    """The sums leave cell 0 exactly 4 to either side, and more is drawn for it most of the time."""
    table = cw.Table.from_equations([10, 4, 4], [[1, 1, 0], [1, 0, -1]], rhs=[14, 6], sensitive=[0], lpl=[4], upl=[4])
    p = check(cw.ControlledAdjustment().protect(table, key=key))
    assert abs(moved(p)[0]) == 4


# ---- what is refused -------------------------------------------------------------------------------------------------------------------------

BAD = {
    "norm": ({"norm": "l3"}, "norm='l3' is not known; use 'l1'"),
    "form": ({"form": "table"}, "form='table' is not known; use 'auto'"),
    "senses": ({"senses": "left"}, "senses='left' is not known; use 'secret', 'up', 'down'"),
    "senses as a number": ({"senses": 3}, "senses=3 is not known"),
    "too few senses": ({"senses": [1]}, "for each of the 3 cells at risk, or of all 16 cells"),
    "senses of 2": ({"senses": [1, 2, 1]}, "give [+]1 [(]up[)] or −1 [(]down[)]"),
    "senses in words": ({"senses": ["up", "down", "up"]}, "give [+]1 [(]up[)] or −1 [(]down[)]"),
    "a negative jitter": ({"jitter": -1}, "jitter=-1: give a share of the protection level from 0"),
    "jitter in words": ({"jitter": "much"}, "jitter='much': give a share"),
    "no jitter": ({"jitter": float("nan")}, "jitter=nan: give a share"),
    "a grid of 0": ({"grid": 0}, "grid=0: give a positive number"),
    "a grid in words": ({"grid": "fine"}, "grid='fine': give a positive number"),
    "a grid too fine": ({"grid": "1e-9"}, "grid='1e-9': give a positive number of at most 7 decimals"),
    "a grid too wide": ({"grid": 10**20}, "give a positive number"),
    "one share": ({"norm": "l1-2", "shares": (1,)}, "give two numbers that are not both 0"),
    "shares of nothing": ({"norm": "l1-2", "shares": (0, 0)}, "give two numbers that are not both 0"),
    "a negative share": ({"norm": "l1-2", "shares": (-1, 2)}, "give two numbers that are not both 0"),
    "shares in words": ({"norm": "l1-2", "shares": ("a", "b")}, "give two numbers that are not both 0"),
    "shares of another norm": ({"shares": (1, 1)}, "shares: it is for norm='l1-2', and the norm is 'l1'; leave it out"),
    "delta of another norm": ({"delta": 2}, "delta: it is for norm='huber', and the norm is 'l1'; leave it out"),
    "a delta of 0": ({"norm": "huber", "delta": 0}, "delta: 0 is not a delta; give a positive number"),
    "second weights of another norm": ({"second_weights": [1] * 16}, "second_weights: it is for norm='l1-2'"),
    "too few second weights": ({"norm": "l1-2", "second_weights": [1]}, "for each of 16 cells"),
    "negative second weights": ({"norm": "l1-2", "second_weights": [-1] * 16}, "of at least 0 for each of 16 cells"),
    "a subset of no cell": ({"norm": "l1-2", "subset": [99]}, "subset: cell 99 does not exist; the table has cells 0 to 15"),
    "a subset as a number": ({"norm": "l1-2", "subset": 5}, "subset=5 is not known; use a list of cells"),
    "fixed in words": ({"fixed": "rows"}, "fixed='rows' is not known; use 'margins' or a list of cells"),
    "fixed as a number": ({"fixed": 3}, "fixed=3 is not known; use 'margins' or a list of cells"),
    "a fixed cell that is none": ({"fixed": [("0", "7")]}, "fixed: axis1 has no code '7'; it has 0, 1, 2, Total"),
    "soft margins of nothing": ({"soft_margins": 10}, "no cells are fixed that could move after all; give fixed='margins'"),
    "negative soft margins": ({"soft_margins": -1, "fixed": "margins"}, "soft_margins=-1: give how many times dearer"),
    "soft margins in words": ({"soft_margins": "x", "fixed": "margins"}, "soft_margins='x': give how many times dearer"),
    "a form of another norm": ({"norm": "linf", "form": "cone"}, "form='cone' does not go with norm='linf'; use"),
}  # fmt: skip


@pytest.mark.parametrize("name", BAD)
def test_bad_options_are_one_sentence(name):
    options, words = BAD[name]
    with pytest.raises(cw.InputError, match=words) as caught:
        cw.ControlledAdjustment(**options).protect(small(), key=KEY)
    assert str(caught.value).isprintable()
    assert len(str(caught.value)) < 300


def test_a_grid_that_leaves_values_no_room():
    huge = asking(cw.Table.from_array((np.array(SMALL) * 10**12).tolist()), [5], 10**9, 10**9)
    with pytest.raises(cw.InputError, match="no room for so many decimals; give a coarser grid, or 'table'"):
        cw.ControlledAdjustment(grid="0.01").protect(huge)


def test_a_width_is_met_by_distance():
    wide = asking(cw.Table.from_array(SMALL), [5], 2, 2, 3)
    p = cw.ControlledAdjustment(jitter=0).protect(wide, key=KEY)
    assert p.protected
    assert abs(moved(p)[5]) >= 3


def test_insiders_levels_count_too():
    """An attacker with levels of its own: the larger of all is kept."""
    table = small(cells=[5])
    insider = cw.Attacker.knowing(table, "insider", exactly=[0], levels={5: (9, 9, 0)})
    p = cw.ControlledAdjustment(jitter=0).protect(table, attackers=[cw.Attacker.external(), insider], key=KEY)
    assert abs(moved(p)[5]) >= 9
    assert p.protected


def test_nothing_is_claimed_against_insiders():
    """The levels are kept as distances; result, certificate, audit and note name no attacker that knows cells as one they hold against."""
    table = small(cells=[5])
    insider = cw.Attacker.knowing(table, "insider", exactly=[0], levels={5: (9, 9, 0)})
    p = cw.ControlledAdjustment().protect(table, attackers=[cw.Attacker.external(), insider], key=KEY)
    assert [attacker.name for attacker in p.instance.attackers] == [
        "external",
        "levels of insiders, as distances alone",
    ]
    assert not any(attacker["cell"] for attacker in p.certificate().content["attackers"])
    assert p.release() is not None
    notes = cw.ControlledAdjustment.notes(p)
    assert any("nothing is claimed against 1 insider" in note for note in notes)
    audited = p.audit(attackers=[insider], cells="sensitive")
    assert audited.intervals["verdict"].tolist() == ["not covered"]
    assert audited.protected is None
    plain = cw.Attacker.knowing(table, "insider", exactly=[0])
    p = cw.ControlledAdjustment().protect(table, attackers=[cw.Attacker.external(), plain], key=KEY)
    assert [attacker.name for attacker in p.instance.attackers] == ["external"]


def test_a_certificate_that_claims_distances_against_an_insider_is_refused():
    from cellward.audit import verify

    table = small(cells=[5])
    p = cw.ControlledAdjustment().protect(table, key=KEY)
    content = json.loads(p.certificate().text)
    assert verify.check(content)
    content["attackers"][0] |= {"cell": [0], "lower": [int(table.scaled[0])], "upper": [int(table.scaled[0])]}
    with pytest.raises(verify.Refused, match="nothing is shown against attacker 0"):
        verify.check(content)


def test_what_an_insider_works_out_from_fixed_cells_is_refused():
    """Two cells of a row move, its margin stays: who is alone in one of them knows the other, whatever is published."""
    table = asking(cw.Table.from_array([[20, 30, 40], [25, 35, 45]]), [0, 1], 3, 3)
    insider = cw.Attacker.knowing(table, "insider", exactly=[0])
    stays = [2, 3, 8, 9, 10, 11]  # (0, 2), the first row's margin, the last column and the totals
    method = cw.ControlledAdjustment(fixed=[table.labels.tuple_of(i) for i in stays])
    p = method.protect(table, attackers=[cw.Attacker.external(), insider], key=KEY)
    assert p.status == "infeasible"
    assert "attacker insider works out (0, 1)" in p.reason
    assert method.protect(table, key=KEY).protected


def test_an_insiders_guess_is_counted():
    """One equation: of two cells at risk the insider knows one, nothing else moves, so that the other is guessed exactly."""
    table = cw.Table.from_equations(
        [10, 20, 30, 60], [[1, 1, 1, -1]], sensitive=[0, 1], lpl=[2, 2], upl=[2, 2], weight=[1, 1, 1000, 1000]
    )
    insider = cw.Attacker.knowing(table, "insider", exactly=[0])
    method = cw.ControlledAdjustment(senses=[1, -1], jitter=0)
    p = method.protect(table, weights="table", attackers=[cw.Attacker.external(), insider], key=KEY)
    assert p.values.tolist() == [12, 18, 30, 60]
    assert (p.details.insiders.levels, p.details.insiders.within, p.details.insiders.right) == (1, 1, 1)


# ---- audits ----------------------------------------------------------------------------------------------------------------------------------


def test_an_audit_speaks_of_distances():
    table = small()
    p = cw.ControlledAdjustment().protect(table, key=KEY)
    for audited in (p.audit(), cw.audit(p.release(), table=table)):
        assert audited.protected is None  # far enough off, but nothing bounds what attackers may conclude
        assert not audited.tells
        assert (audited.intervals["verdict"] == "level met").sum() == 3
    near = cw.audit(p.release(), table=asking(cw.Table.from_array(p.values.reshape(4, 4)[:3, :3]), [5], 2, 2))
    assert near.protected is False
    assert near.worst() == ["(1, 1): its published value lies within the protection levels"]


# ---- leaves rounded ----------------------------------------------------------------------------------------------------------------------------


@pytest.mark.parametrize("norm", ["l2", "l1-2"])
@pytest.mark.parametrize("grid", ["table", 5])
@pytest.mark.parametrize("terms", [1_000_000, 0], ids=["many at once", "one by one"])
def test_rounded_leaves_end_where_no_step_of_one_leaf_pays(norm, grid, terms, monkeypatch):
    """Against every step of every leaf, tried one by one in exact arithmetic: none is allowed, additive and cheaper."""
    from cellward.protect.adjustment import near_optimum, publish

    monkeypatch.setattr(near_optimum, "nearest_whole", lambda *_: None)
    seen = []
    descended = publish.RoundedLeaves.descended

    def watched(self, v, allowed, budget):
        out = descended(self, v, allowed, budget)
        seen.append((self, v, allowed, out))
        return out

    monkeypatch.setattr(publish.RoundedLeaves, "descended", watched)
    monkeypatch.setattr(publish, "MOST_TERMS", terms)
    rng = np.random.default_rng(4)
    inner = 5 * rng.integers(1, 60, (9, 9, 9))
    table = cw.Table.from_array(inner)
    cells = np.sort(rng.choice(table.cells, 60, replace=False))
    check(cw.ControlledAdjustment(norm=norm, grid=grid, keep="nothing").protect(asking(table, cells, 6, 6), key=KEY))
    (leaves, start, allowed, v) = seen[0]
    distance, decimals, a = leaves.problem.distance, leaves.fine.decimals, leaves.fine.a
    best = distance.exact(v - a, decimals)
    assert best < distance.exact(start - a, decimals)
    matrix = leaves.form.matrix.tocsc()
    for j in range(matrix.shape[1]):
        move = np.zeros_like(v)
        move[leaves.problem.moving] = matrix[:, [j]].toarray().ravel() * leaves.step
        assert not table.relations.sums(table.relations.coefs * move[table.relations.indices]).any()
        for then in (v + move, v - move):
            if not len(allowed.outside(then)):
                assert float(distance.exact(then - a, decimals)) >= float(best) * (1 - 1e-9)
