"""Cell perturbation: objectives, knowledge, grids, held ends, what cannot be met, and what is said of it."""

from __future__ import annotations

from fractions import Fraction

import numpy as np
import pytest
from fixed_keys import key_of

import cellward as cw
from cellward.protect.draws import Draws
from cellward.protect.perturbation import attempt
from cellward.protect.perturbation.intervals import PerturbationIntervals
from cellward.protection import Protection
from cellward.table.sensitivity import Sensitivity

SMALL = [[20, 50, 10], [8, 19, 22], [17, 32, 12]]


def asking(table, cells, lpl, upl, spl=0):
    many = len(cells)
    level = [np.full(many, x, np.int64) for x in (lpl, upl, spl)]
    return table.with_sensitivity(Sensitivity.of(table.cells, cells, *level))


def cube():
    """Causey, Cox and Ernst's table, which has no rounding to base 2."""
    inner = np.zeros((2, 2, 2), np.int64)
    for place in ((0, 0, 0), (0, 1, 1), (1, 0, 1), (1, 1, 0)):
        inner[place] = 1
    return cw.Table.from_array(inner)


# ---- objectives ------------------------------------------------------------------------------------------------------------------------------


def test_between_costs_what_a_rounding_costs_at_the_multiples():
    table = cw.Table.from_array(SMALL)
    p, r = cw.CellPerturbation(5).protect(table), cw.ControlledRounding(5).protect(table)
    assert (p.status, p.objective) == ("optimal", r.objective)  # the relaxation is whole here
    assert p.certified_bound == p.objective


def test_nearest_is_the_distance_to_the_nearer_multiple():
    table = cw.Table.from_array(SMALL)
    p = cw.CellPerturbation(5, objective="nearest").protect(table)
    a = p.instance.a
    near = np.where(a % 5 <= 2, a // 5 * 5, -(-a // 5) * 5)
    assert p.objective == np.abs(p.values - near).sum()


def test_where_no_rounding_exists_a_perturbation_does():
    r = cw.ControlledRounding(2).protect(cube())
    assert r.status == "infeasible"
    assert "cellward perturb" in r.reason
    p = r.failure.proposal.protect(cube())
    assert isinstance(r.failure.proposal, cw.CellPerturbation)
    assert p.status == "optimal"
    assert not p.instance.relations.residual(p.scaled).any()
    assert p.certificate().check()


def test_a_rounding_that_exists_proposes_nothing():
    assert cw.ControlledRounding(5).protect(cw.Table.from_array(SMALL)).failure is None


# ---- knowledge -------------------------------------------------------------------------------------------------------------------------------


@pytest.mark.parametrize("knowledge", ["strict", "paper"])
def test_levels_hold_and_the_certificate_shows_it(knowledge):
    table = asking(cw.Table.from_array(SMALL), [5, 6, 9], 2, 2)
    p = cw.CellPerturbation(5, knowledge=knowledge).protect(table)
    assert p.status == "optimal"
    assert p.protected
    assert p.release().save  # it may be released
    assert p.certificate().check().protected


def test_strict_sits_on_an_end_where_the_box_is_too_narrow():
    """22 lies 2 above 20: 3 below it can only be reached from the lower end."""
    table = asking(cw.Table.from_array(SMALL), [6], 3, 0)
    p = cw.CellPerturbation(5).protect(table)
    assert p.protected
    assert p.values[6] == 20
    both = asking(cw.Table.from_array(SMALL), [6], 3, 4)  # and 4 above only from the upper one
    p = cw.CellPerturbation(5).protect(both)
    assert p.status == "infeasible"
    assert p.failure.cells == (6,)


def test_the_strict_box_widens_around_multiples_only():
    table = cw.Table.from_array(SMALL)
    told = PerturbationIntervals.of(cw.CellPerturbation(5).protect(table).instance, "base", np.full(16, 5)).told_box(
        "strict"
    )
    boxes = [[int(x[i]) for x in (told.lo, told.hi, told.below, told.above)] for i in (0, 4)]
    assert boxes == [[15, 25, 0, 0], [5, 10, 5, 5]]  # the first is a multiple


# ---- within a distance -----------------------------------------------------------------------------------------------------------------------


def test_cells_at_risk_are_published_anywhere_within_as_the_key_draws():
    """Ends alone would be a lookup: 7 values are possible, and each of them comes."""
    table = asking(cw.Table.from_array(SMALL), [5, 6, 9], 0, 0)
    seen = []
    for k in range(60):
        p = cw.CellPerturbation(within=3).protect(table, key=key_of(k))
        assert p.status == "optimal"
        seen.append((p.values - p.instance.a)[[5, 6, 9]].tolist())
        if k < 3:
            again = cw.CellPerturbation(within=3).protect(table, key=key_of(k))
            assert again.values.tolist() == p.values.tolist()
    assert all(set(moved) == set(range(-3, 4)) for moved in zip(*seen, strict=True))
    for moved in zip(*seen, strict=True):
        assert abs(np.mean(moved)) < 1


def test_a_drawn_value_leaves_room_for_the_levels():
    """Levels of 1 within 4: v is drawn from a − 3 … a + 3, so that a ± 1 stays within 4 of it."""
    table = asking(cw.Table.from_array(SMALL), [5, 9], 1, 1)
    seen = set()
    for k in range(40):
        p = cw.CellPerturbation(within=4).protect(table, key=key_of(k))
        assert p.protected and p.release()
        seen |= set((p.values - p.instance.a)[[5, 9]].tolist())
    assert seen == set(range(-3, 4))


def test_a_distance_that_leaves_too_little_to_draw_from_is_refused_with_the_remedy():
    """Levels of 3 within 3 leave the value itself, and whoever knows the levels would read it off."""
    table = asking(cw.Table.from_array(SMALL, dims=["row", "column"]), [5], 3, 3)
    for within in (3, 5, 8):
        with pytest.raises(
            cw.InputError,
            match=r"too near to the levels of \(1, 1\), 3 below and 3 above: .* at least 9, one and a half times both levels$",
        ):
            cw.CellPerturbation(within=within).protect(table)
    assert cw.CellPerturbation(within=9).protect(table).protected
    assert cw.CellPerturbation(within=3, ignore_levels=True).protect(table).status == "optimal"


def test_values_that_cannot_be_had_together_are_come_near_to():
    """x + y = z, z from 18 to 21, x and y within 2 of 10: drawn above that, they give way by as little as possible."""
    table = cw.Table.from_equations(
        [10, 10, 20], [[1, 1, -1]], sensitive=[0, 1], lpl=[0, 0], upl=[0, 0], spl=[0, 0], upper=[None, None, 21]
    )
    short = 0
    for k in range(40):
        p = cw.CellPerturbation(within=2).protect(table, key=key_of(k))
        place = Draws(key_of(k), table.labels).up_to("place within 2", np.arange(2), np.full(2, 4)) - 2
        moved = p.values[:2] - 10
        assert p.status == "optimal" and p.certificate().check()
        assert np.abs(moved - place).sum() == max(0, int(place.sum()) - 1, -2 - int(place.sum()))
        short += int(place.sum()) > 1
    assert short


def test_cells_around_a_level_that_is_missed_are_drawn_again(monkeypatch):
    """With many levels the auditor judges tables without a cut; what he misses is drawn anew, and the rest stays as it was drawn."""
    table = asking(cw.Table.from_array([[20, 50, 10], [8, 19, 22], [17, 32, 12]]), [0, 1, 2, 10], 2, 2)
    first = cw.CellPerturbation(within=6).protect(table, key=key_of(1))
    judged, real = [], Protection.protected.func

    def once(self):
        if not judged:
            judged.append(self)
            return False
        return real(self)

    monkeypatch.setattr(attempt, "MANY", 1)
    monkeypatch.setattr(Protection, "protected", property(once))
    monkeypatch.setattr(Protection, "unshown", property(lambda self: np.array([10])))
    p = cw.CellPerturbation(within=6).protect(table, key=key_of(1))
    assert np.array_equal(judged[0].scaled, first.scaled)
    assert p.publication is not None and p.scaled[10] != first.scaled[10]
    assert np.array_equal(p.scaled[:2], first.scaled[:2])


@pytest.mark.parametrize(("within", "kept"), [(12, 8), (15, 11)])
def test_totals_keep_off_the_ends_of_their_intervals_where_many_levels_are_judged(monkeypatch, within, kept):
    """As far as the largest level; without it totals of drawn cells sit wherever these leave them."""
    table = asking(cw.Table.from_array([[20, 50, 10], [18, 29, 22], [17, 32, 12]]), range(3), 4, 4)
    monkeypatch.setattr(attempt, "MANY", 1)
    free = [i for i in range(table.cells) if i not in range(3)]
    p = [cw.CellPerturbation(within=within).protect(table, key=key_of(k)) for k in range(20)]
    assert all(np.abs(each.scaled - each.instance.a)[free].max() <= kept for each in p)
    monkeypatch.setattr(attempt.PerturbationAttempt, "off_the_ends", lambda _self, lo, hi, _places: (lo, hi))
    plain = [cw.CellPerturbation(within=within).protect(table, key=key_of(k)) for k in range(20)]
    assert any(np.abs(each.scaled - each.instance.a)[free].max() > kept for each in plain)


def test_ends_are_taken_after_all_where_nothing_else_adds_up(monkeypatch):
    """Two cells that cannot move the same way far, and a total that has to."""
    table = asking(cw.Table.from_equations([10, 10, 20], [[1, 1, -1]]), [0, 1], 4, 0)
    monkeypatch.setattr(attempt, "MANY", 1)
    monkeypatch.setattr(attempt.PerturbationAttempt, "off_the_ends", lambda _self, lo, hi, _places: (lo - 50, lo - 50))
    assert cw.CellPerturbation(within=12).protect(table, key=key_of(1)).protected


def test_drawn_values_are_on_the_grid():
    table = asking(cw.Table.from_array(SMALL), [5, 6, 9], 0, 0)
    for k in range(10):
        p = cw.CellPerturbation(within=7, grid=2, ignore_levels=True).protect(table, key=key_of(k))
        assert p.values is None or not (p.values % 2).any()


def test_with_nobody_at_risk_nothing_moves():
    p = cw.CellPerturbation(within=3).protect(cw.Table.from_array(SMALL))
    assert p.objective == 0


# ---- grids and decimals ------------------------------------------------------------------------------------------------------------------------


def test_a_grid_is_kept_and_the_continuous_optimum_is_the_bound():
    table = cube()
    free = cw.CellPerturbation(3).protect(table)
    p = cw.CellPerturbation(3, grid=1).protect(table)
    assert not np.any(p.values % 1)
    assert p.bound == pytest.approx(free.objective)
    assert p.objective >= p.bound
    assert p.status == ("optimal" if p.objective == p.bound else "feasible")
    assert p.certificate().check()


@pytest.mark.parametrize("grid", [0, -1, "x", 1e-12])
def test_what_is_no_grid_is_refused(grid):
    with pytest.raises(cw.InputError, match="grid"):
        cw.CellPerturbation(5, grid=grid).protect(cw.Table.from_array(SMALL))


def test_an_optimum_without_an_end_of_decimals_is_published_a_little_inside():
    """20 random cubes; where the optimum needs thirds, seven decimals are published and add up."""
    places = []
    for seed in range(20):
        table = cw.Table.from_array(np.random.default_rng(seed).poisson(4, (5, 5, 5)))
        p = cw.CellPerturbation(5).protect(table)
        assert p.status == "optimal"
        assert not p.instance.relations.residual(p.scaled).any()
        assert abs(p.objective - p.bound) <= 1e-6 * p.objective
        rounded = cw.ControlledRounding(5).protect(table)
        assert p.bound <= rounded.objective + 1e-6
        places.append(p.instance.decimals)
    assert max(places) == 7


# ---- before any solver -----------------------------------------------------------------------------------------------------------------------


@pytest.mark.parametrize(
    ("knowledge", "within", "levels"),
    [
        ("paper", None, (6, 5, 0)),  # more than 2·5
        ("paper", None, (0, 0, 11)),
        ("strict", 3, (4, 3, 0)),  # more than 2·3
        ("strict", 3, (0, 0, 7)),  # more than 2·3
        ("paper", None, (20, 0, 0)),  # below 0
    ],
)
def test_levels_out_of_reach_are_named_before_any_solver_runs(knowledge, within, levels):
    table = asking(cw.Table.from_array(SMALL, dims=["row", "column"]), [5], *levels)
    method = cw.CellPerturbation(None if within else 5, within=within, knowledge=knowledge)
    p = method.protect(table)
    assert (p.status, p.engine) == ("infeasible", "levels of single cells")
    assert p.failure.cells == (5,)
    assert "(1, 1)" in p.reason and "attacker external" in p.reason


def test_a_multiple_with_a_level_is_named_under_paper():
    p = cw.CellPerturbation(5, knowledge="paper").protect(asking(cw.Table.from_array(SMALL), [0], 1, 1))
    assert (p.status, p.engine, p.failure.cells) == ("infeasible", "levels of single cells", (0,))


def test_an_attackers_own_bounds_can_make_a_level_unreachable():
    table = asking(cw.Table.from_array(SMALL), [6], 0, 3)
    insider = cw.Attacker.knowing(table, "insider", upper={6: 24})
    p = cw.CellPerturbation(5, knowledge="paper").protect(table, attackers=[cw.Attacker.external(), insider])
    assert (p.status, p.engine) == ("infeasible", "levels of single cells")
    assert "insider" in p.reason and "external" not in p.reason


# ---- what goes together ----------------------------------------------------------------------------------------------------------------------


@pytest.mark.parametrize(
    ("options", "words"),
    [
        ({"base": 5, "within": 3}, "give one of the two"),
        ({"knowledge": "loose"}, "is not known"),
        ({"objective": "distance"}, "does not go with a base"),
        ({"within": 3, "objective": "between"}, "does not go with a distance"),
        ({"base": 0}, "is not a base"),
        ({"within": -1}, "is not a distance"),
    ],
)
def test_options_that_do_not_go_together_are_refused(options, words):
    with pytest.raises(cw.InputError, match=words):
        cw.CellPerturbation(**options).protect(cw.Table.from_array(SMALL))


def test_an_attacker_that_knows_values_to_be_whole_needs_a_grid():
    table = asking(cw.Table.from_array(SMALL), [5], 1, 1)
    whole = [cw.Attacker.external(whole=True)]
    with pytest.raises(cw.InputError, match="grid=1"):
        cw.CellPerturbation(5).protect(table, attackers=whole)
    p = cw.CellPerturbation(5, grid=1).protect(table, attackers=whole)
    assert p.protected


def test_values_that_fail_the_levels_are_never_given(monkeypatch):
    """A separation that finds nothing leaves the exact audit, and nothing is released."""
    table = asking(cw.Table.from_array(SMALL), [6], 3, 0)
    monkeypatch.setattr("cellward.protect.lattice.capacity.Capacity.cuts", lambda *_: [])
    p = cw.CellPerturbation(5, objective="nearest").protect(table)
    assert p.values is None or p.protected


def test_the_objective_is_exact():
    table = cw.Table.from_array([[3, 4], [4, 3]])
    p = cw.CellPerturbation(5, knowledge="paper").protect(table, weights=[1, 2, 3, 1, 2, 3, 1, 2, 3])
    terms = zip(p.instance.a.tolist(), p.scaled.tolist(), p.instance.weight.tolist(), strict=True)
    f = 10**p.instance.decimals
    total = Fraction(0)
    for a, v, w in terms:
        lo, hi = a // (5 * f) * 5 * f, -(-a // (5 * f)) * 5 * f
        total += w * (a - lo) + (Fraction(w * (hi + lo - 2 * a) * (v - lo), hi - lo) if hi > lo else 0)
    assert p.objective_scaled == total


def test_attackers_made_for_the_table_audit_a_result_with_more_decimals():
    table = cw.Table.from_array([[[0, 8], [7, 0]], [[8, 8], [2, 0]]])
    p = cw.CellPerturbation(5).protect(table)
    assert p.instance.decimals > table.decimals
    found = p.audit(attackers=[cw.Attacker.knowing(table, "insider", exactly=[1])])
    assert found.intervals["upper"][0] >= 0


@pytest.mark.parametrize("options", [{"grid": 1}, {"objective": "nearest"}])
def test_tables_without_levels_need_no_audit(options):
    rows = [[0, 0, 3, 3, -1, 0, 0], [2, 3, 0, 0, 0, -1, 0], [1, 0, 2, 3, 0, 0, -1]]
    table = cw.Table.from_equations([2, 2, 7, 0, 21, 10, 16], rows)
    p = cw.CellPerturbation(5, **options).protect(table)
    assert p.values is not None
    assert p.certificate().check()


def test_other_ends_are_taken_where_those_of_the_optimum_have_no_table_on_the_grid():
    """2·y1 + y2 = y3 with y3 on its upper end, 9, leaves 1.5 for y1; on the lower one it can be 0."""
    table = cw.Table.from_equations([1, 1, 6, 8, 14], [[0, 2, 1, -1, 0], [2, 0, 2, 0, -1]], lower=[None, 0, 0, 0, None])
    p = cw.CellPerturbation(3, grid=1).protect(asking(table, [3], 0, 0, 4))
    assert p.protected
    assert p.objective >= p.bound


# ---- further than between neighbouring multiples ---------------------------------------------------------------------------------------------


def test_where_nothing_between_multiples_protects_a_rounding_within_more_bases_is_given(tmp_path):
    table = asking(cw.Table.from_array(SMALL), [0, 5], 3, 4)
    near = cw.CellPerturbation(3).protect(table)
    assert near.status == "infeasible"
    p = cw.CellPerturbation(3, max_steps="auto").protect(table)
    assert p.status == "feasible" and p.protected
    within = np.array(p.method["within"], float) * np.ones(table.cells)
    assert np.all(np.abs(p.scaled - p.instance.a) < within) and not np.any(p.scaled % 3)
    assert not np.any(within % 3) and "base" not in p.method
    assert any("and the release says so" in note for note in cw.CellPerturbation.notes(p))
    p.certificate().save(tmp_path / "c.json.gz")
    assert cw.verify(tmp_path / "c.json.gz")


def test_how_far_it_may_go_is_agreed_with_what_a_release_states():
    table = asking(cw.Table.from_array(SMALL), [0, 5], 3, 4)
    allowed = cw.CellPerturbation(3, max_steps="auto")
    p = allowed.protect(table)
    assert allowed.agrees(p.method, p.instance)
    assert not cw.CellPerturbation(3).agrees(p.method, p.instance)
    assert not cw.CellPerturbation(4, max_steps="auto").agrees(p.method, p.instance)
    steps = int(np.max(np.array(p.method["within"], float)) // 3)
    assert not cw.CellPerturbation(3, max_steps=steps - 1).agrees(p.method, p.instance)


def test_a_grid_that_the_base_is_not_on_is_kept():
    table = asking(cw.Table.from_array(SMALL), [0, 5], 3, 4)
    assert cw.CellPerturbation(3, grid=2, max_steps="auto").protect(table).publication is None


def test_large_tables_whose_leaves_say_so_go_further_at_once(monkeypatch):
    table = asking(cw.Table.from_array(SMALL), [0, 5], 3, 4)
    monkeypatch.setattr(attempt, "VERY_LARGE", 1)
    monkeypatch.setattr(attempt, "likely_needed", lambda _: True)
    monkeypatch.setattr(attempt.PerturbationAttempt, "_as_asked", lambda _: pytest.fail("tried first"))
    assert cw.CellPerturbation(3, max_steps="auto").protect(table, time_limit_s=30).protected
