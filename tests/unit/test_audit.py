"""Audits: intervals worked out by hand, verdicts, and what a limit leaves open."""

from fractions import Fraction

import certificates
import numpy as np
import pytest
from paper_000 import FIGURE_1
from releases import by_hand

import cellward as cw
from cellward.audit.propagation import propagate
from cellward.exact import NO_BOUND
from cellward.table.relations import Relations
from cellward.table.sensitivity import Sensitivity

II_C = 6


def figure_1(lpl=0, upl=0, spl=0):
    table = cw.Table.from_array(FIGURE_1, dims=["activity", "region"])
    return table.with_sensitivity(Sensitivity.of(16, [II_C], *(np.array([x]) for x in (lpl, upl, spl))))


def released(table, knowledge, v=None):
    return by_hand(table, table.scaled if v is None else v, knowledge)


def interval(audit, cell, attacker=0):
    n = len(set(audit.intervals["cell"].tolist()))
    return audit.ends[attacker * n + cell]


def test_the_suppression_of_figure_2a():
    table = figure_1(lpl=10, upl=12)
    found = cw.audit(released(table, cw.Knowledge.suppressed(table.scaled, np.array([4, 6, 8, 10]))), table=table)
    assert interval(found, II_C) == (5, 30)
    assert found.intervals["verdict"][II_C] == "under-protected"
    assert found.intervals["shortfall"][II_C] == 4
    assert found.protected is False
    assert "(1, 2): attacker external narrows it down to 5 to 30, under-protected by 4" in found.worst()[0]


def test_the_intervals_of_figure_2b():
    table = figure_1(lpl=2, upl=3)
    lo, hi = table.scaled.copy(), table.scaled.copy()
    for cell, (low, high) in {0: (18, 24), 2: (6, 12), 4: (4, 10), 6: (20, 26)}.items():
        lo[cell], hi[cell] = low, high
    found = cw.audit(released(table, cw.Knowledge.interval(lo, hi)), table=table)
    assert interval(found, II_C) == (20, 26)
    assert found.protected is True


def test_the_rounding_of_figure_2c():
    p = cw.ControlledRounding(5, knowledge="paper", ignore_levels=True).protect(figure_1(lpl=10, upl=12))
    found = p.audit()
    assert interval(found, II_C) == (15, 25)
    assert found.intervals["verdict"][II_C] == "under-protected"
    assert p.audit(cells="sensitive", only_levels=True).protected is False
    strict = cw.ControlledRounding(5).protect(figure_1(lpl=2, upl=2)).audit(cells=[("1", "2")])
    assert strict.ends == [(16, 24)]
    assert strict.protected is True


def test_an_insider_sees_more():
    table = figure_1(lpl=1, upl=1)
    insider = cw.Attacker.knowing(table, "Smith", exactly=[4, 5, 7])
    p = cw.ControlledRounding(5, ignore_levels=True).protect(table, attackers=[cw.Attacker.external(), insider])
    found = p.audit()
    assert interval(found, II_C) == (16, 24)
    assert interval(found, II_C, 1) == (22, 22)
    assert found.intervals["verdict"][16 + II_C] == "exactly disclosed"
    assert found.intervals["verdict"][16 + 4] == "known to the attacker"
    assert "works out its value 22 exactly" in found.worst()[0]
    assert found.protected is False


def test_whole_values_halve_an_interval():
    # 2·x + y = 7 with 0 ≤ x ≤ 3.. and y in 0..2: y is odd for whole x, so y = 1 and x = 3; a real attacker sees x in 2.5 to 3.
    table = cw.Table.from_equations([3, 1], [[2, 1]], rhs=[7], upper=[3, 2])
    knowledge = cw.Knowledge.interval(np.array([0, 0]), np.array([3, 2]))
    real, whole = (
        cw.audit(released(table, knowledge), table=table, attackers=[cw.Attacker.external(whole=w)])
        for w in (False, True)
    )
    assert real.ends == [(Fraction(5, 2), 3), (1, 2)]
    assert whole.ends == [(3, 3), (1, 1)]


def test_a_withheld_cell_without_a_bound_is_endless():
    table = cw.Table.from_equations([3, 4, 7], [[1, 1, -1]])
    found = cw.audit(released(table, cw.Knowledge.suppressed(table.scaled, np.array([0, 2]))), table=table)
    assert found.ends == [(0, None), (4, 4), (4, None)]
    assert found.intervals["upper"].tolist() == [np.inf, 4.0, np.inf]


def test_an_adjustment_without_a_published_deviation_meets_levels_or_not():
    table = figure_1(lpl=3, upl=3)
    moved = table.scaled.copy()
    moved[II_C] += 3
    met = cw.audit(released(table, cw.Knowledge.adjusted(moved.copy()), moved), table=table)
    assert met.intervals["verdict"][II_C] == "level met"
    assert met.protected is None
    moved[II_C] -= 1
    missed = cw.audit(released(table, cw.Knowledge.adjusted(moved), moved), table=table)
    assert (missed.intervals["verdict"][II_C], missed.intervals["shortfall"][II_C]) == ("level not met", 1)
    assert missed.protected is False
    wide = cw.audit(released(table, cw.Knowledge.adjusted(moved, np.full(16, 9)), moved), table=table)
    assert wide.intervals["verdict"][II_C] == "protected"


def test_a_bare_release_gives_intervals_without_verdicts():
    p = cw.ControlledRounding(5).protect(figure_1())
    bare, full = cw.audit(p.release()), cw.audit(p)
    assert bare.ends == full.ends
    assert set(bare.intervals["verdict"]) == {""}
    assert bare.protected is None


def test_decimals_come_back_in_the_users_units():
    table = cw.Table.from_array([["1.25", "3.10"], ["0.45", "7.85"]])
    found = cw.audit(cw.ControlledRounding("0.5").protect(table))
    assert found.intervals["lower"][0] == pytest.approx(0.51)
    assert found.ends[0] == (Fraction(51, 100), Fraction(149, 100))


def test_frames():
    found = cw.audit(cw.ControlledRounding(5).protect(figure_1()))
    assert list(found.intervals) == ["cell", "attacker", "lower", "upper", "verdict", "shortfall", "exact"]
    assert found.intervals.to_pandas().shape == (16, 7)
    assert found.intervals.to_polars().shape == (16, 7)
    assert "16 intervals" in repr(found)


def test_threads_change_nothing():
    table = cw.Table.from_array(np.random.default_rng(5).poisson(4, (6, 5, 4)))
    table = cw.Table.from_equations(table.values, _dense(table))  # without dimensions: linear programs only
    p = cw.ControlledRounding(5).protect(table)
    insiders = [cw.Attacker.external(), *(cw.Attacker.knowing(table, f"k{k}", exactly=[k]) for k in range(3))]
    one, two = (cw.audit(p, attackers=insiders, threads=threads) for threads in (1, 2))
    assert one.ends == two.ends
    assert one.open == two.open == 0


def _dense(table):
    r = table.relations
    out = np.zeros((r.equations, r.cells), np.int64)
    np.add.at(out, (r.row, r.indices), r.coefs)
    return out


def test_a_limit_leaves_cells_open_and_says_so(monkeypatch):
    from cellward.solve.budget import Budget

    monkeypatch.setattr(Budget, "over", True)
    table = cw.Table.from_array(np.random.default_rng(5).poisson(4, (4, 4, 4)))
    table = table.with_sensitivity(Sensitivity.of(125, [0], np.array([1]), np.array([4]), np.array([0])))
    found = cw.ControlledRounding(5, ignore_levels=True).protect(table).audit(time_limit_s=1)
    assert found.open > 0
    assert not found.intervals["exact"].all()
    assert found.intervals["verdict"][0] == "open"
    assert found.protected is None


def test_progress_counts_up_to_all():
    seen = []
    cw.ControlledRounding(5).protect(figure_1()).audit(progress=lambda done, total: seen.append((done, total)))
    assert seen[-1] == (32, 32)
    assert [done for done, _ in seen] == sorted(done for done, _ in seen)


@pytest.mark.parametrize(
    ("options", "words"),
    [
        ({"cells": "some"}, "use 'all', 'sensitive' or a list"),
        ({"cells": [99]}, "cell 99 does not exist"),
        ({"time_limit_s": 0}, "give a positive number of seconds"),
        ({"threads": 0}, "give at least 1"),
        ({"attackers": []}, "at least one Attacker"),
    ],
)
def test_refusals(options, words):
    p = cw.ControlledRounding(5).protect(figure_1())
    with pytest.raises(cw.InputError, match=words):
        cw.audit(p, **options)


def test_audits_of_the_wrong_thing():
    p = cw.ControlledRounding(5).protect(figure_1())
    with pytest.raises(cw.InputError, match="give a Protection or a Release"):
        cw.audit(figure_1())
    with pytest.raises(cw.InputError, match="has no levels"):
        cw.audit(p.release(), only_levels=True)
    with pytest.raises(cw.InputError, match="give the table that was protected"):
        cw.audit(p.release(), table=cw.Table.from_array([[1, 2], [3, 4]]))
    other = cw.Table.from_array(np.array(FIGURE_1) + 30)
    with pytest.raises(cw.InputError, match="contradicts the release"):
        cw.audit(p.release(), table=other)
    clash = cw.Attacker.knowing(cw.Table.from_array([[90, 50, 10], [8, 19, 22], [17, 32, 12]]), "Smith", exactly=[0])
    with pytest.raises(cw.InputError, match="contradict each other"):
        cw.audit(p.release(), attackers=[clash])


def test_propagation_without_bounds_and_with_coefficients():
    r = Relations.from_rows(3, [(10, [0, 1], [2, 3]), (0, [1, 2], [1, -1])])
    far = cw.exact.NO_BOUND
    lo, hi = propagate(r, np.array([0, 0, -far]), np.array([far, far, far]), whole=False)
    assert (lo.tolist(), hi.tolist()) == ([0, 0, 0], [5, 4, 4])
    lo, hi = propagate(r, np.array([1, 0, -far]), np.array([far, far, far]), whole=True)
    assert (lo.tolist(), hi.tolist()) == ([2, 0, 0], [5, 2, 2])


def test_an_unsafe_cell_without_a_level_must_not_be_disclosed_in_either_mode():
    table = cw.Table.from_equations([10, 13, 9], [[0, 0, 0]], sensitive=[0, 1], upl=[0, 3], lpl=[0, 3])
    assert cw.ControlledRounding(5, knowledge="paper").protect(table).status == "infeasible"
    p = cw.ControlledRounding(5, knowledge="paper", ignore_levels=True).protect(table)
    assert cw.audit(p).protected is cw.audit(p, only_levels=True).protected is False


@pytest.mark.parametrize("values", [[2**52 - 3, 2**52 - 1, 2**53 - 4], [9 * 10**15 - 3, 3, 9 * 10**15]])
def test_values_near_the_limit(values):
    table = cw.Table.from_equations(values, [[1, 1, -1]], sensitive=[1], upl=[2])
    p = cw.ControlledRounding(7).protect(table)
    found = p.audit() if p.scaled is not None else None
    assert found is None or found.open == 0


@pytest.mark.parametrize(
    ("options", "words"),
    [
        ({"attackers": ["x"]}, "at least one Attacker"),
        ({"attackers": cw.Attacker.external()}, "at least one Attacker"),
        (
            {"attackers": [cw.Attacker.knowing(cw.Table.from_array(np.ones((9, 9), int)), "S", lower={80: 0})]},
            "make it for this table",
        ),
        ({"seed": -1}, "from 0 to"),
        ({"threads": "2"}, "at least 1"),
        ({"time_limit_s": "3"}, "positive number"),
        ({"cells": 5}, "use 'all'"),
        ({"progress": 5}, "give a function"),
        ({"table": 5}, "is no Table"),
    ],
)
def test_odd_options_get_a_sentence(options, words):
    release = cw.ControlledRounding(5).protect(figure_1()).release()
    with pytest.raises(cw.InputError, match=words):
        cw.audit(release, **options)


def test_a_table_with_other_equations_is_not_the_one_protected():
    release = cw.ControlledRounding(5).protect(cw.Table.from_equations([11, 13, 24], [[1, 1, -1]])).release()
    with pytest.raises(cw.InputError, match="other equations"):
        cw.audit(release, table=cw.Table.from_equations([11, 14, 24], [[0, 0, 0]]))


def test_a_time_limit_reaches_the_integer_programs(monkeypatch):
    from cellward.audit import linear

    given = []
    true = linear.solve_mip
    monkeypatch.setattr(linear, "solve_mip", lambda model, **o: given.append(o["budget"].left) or true(model, **o))
    table = cw.Table.from_equations([3, 2, 4, 5], [[2, 3, 5, -7], [3, -2, 1, 1]], rhs=[-3, 14])
    knowledge = cw.Knowledge.interval(np.zeros(4, int), np.full(4, 9))
    cw.audit(released(table, knowledge), table=table, attackers=[cw.Attacker.external(whole=True)], time_limit_s=50)
    assert given
    assert all(0 < limit <= 50 for limit in given)


def test_small_counts_tell_the_hull_of_what_could_have_become_the_published_value():
    seen = set()
    for base, steps, small, lower, upper, step, v, a, possible in certificates.hulls():
        seen.add((small, len(possible) == possible[-1] - possible[0] + 1))
        low, high = -NO_BOUND if lower is None else lower, NO_BOUND if upper is None else upper
        options = {
            "steps": steps,
            "a": np.array([a]),
            "small": small,
            "lower": np.array([low]),
            "upper": np.array([high]),
        }
        told = cw.Knowledge.rounded(np.array([v]), np.array([base]), **options)
        assert (max(told.lo[0], low), min(told.hi[0], high)) == (possible[0], possible[-1]), (base, options, v)
        if step == base:  # on paper ends count too, but for what the option rules out of 0 to base − 1
            told = cw.Knowledge.rounded(np.array([v]), np.array([base]), kind="paper", **options)
            width = 0 if steps == 1 and a % base == 0 else steps * base
            near = [y for y in range(v - width, v + width + 1) if low <= y <= high]
            if small != "free" and low >= 0:
                near = [y for y in near if y >= base or y in possible]
            assert (max(told.lo[0], low), min(told.hi[0], high)) == (near[0], near[-1]), (base, options, v)
    assert seen == {(small, True) for small in ("free", "up", "zero")} | {("up", False), ("zero", False)}


@pytest.mark.parametrize(
    ("kind", "steps", "small", "v", "ends"),
    [
        ("strict", 1, "up", 0, (0, 0)), ("strict", 1, "up", 5, (1, 9)), ("strict", 1, "up", 10, (6, 14)),
        ("strict", 2, "up", 0, (0, 9)), ("strict", 2, "up", 5, (0, 14)), ("strict", 2, "up", 10, (1, 19)),
        ("strict", 1, "zero", 0, (0, 4)), ("strict", 1, "zero", 5, (5, 9)), ("strict", 1, "zero", 10, (6, 14)),
        ("strict", 2, "zero", 0, (0, 9)), ("strict", 2, "zero", 5, (0, 14)), ("strict", 2, "zero", 10, (5, 19)),
        ("paper", 1, "up", 5, (1, 10)), ("paper", 1, "zero", 0, (0, 5)), ("paper", 1, "zero", 5, (5, 10)),
        ("paper", 2, "up", 0, (0, 10)), ("paper", 2, "up", 10, (1, 20)), ("paper", 2, "zero", 10, (5, 20)),
    ],
)  # fmt: skip
def test_what_small_counts_tell_by_hand(kind, steps, small, v, ends):
    column = np.array([v, v])
    options = {"kind": kind, "steps": steps, "a": np.array([7, 7]), "small": small, "lower": np.array([0, -1])}
    told = cw.Knowledge.rounded(column, np.array([5, 5]), **options)
    assert (max(told.lo[0], 0), told.hi[0]) == ends
    assert told.stated["small"] == small
    free = cw.Knowledge.rounded(column, np.array([5, 5]), kind=kind, steps=steps, a=np.array([7, 7]))
    assert (told.lo[1], told.hi[1]) == (free.lo[1], free.hi[1])
    assert "small" not in free.stated


def test_knowledge_of_small_counts_needs_bounds():
    v = np.array([5])
    with pytest.raises(cw.InputError, match="needs the public lower bounds"):
        cw.Knowledge.rounded(v, v, small="up")
    with pytest.raises(cw.InputError, match="'down' is not known; use 'free', 'up', 'zero' or 'only'"):
        cw.Knowledge.rounded(v, v, small="down", lower=v)


def test_an_audit_sees_what_small_counts_tell():
    """Of a published 0 nothing is left open under "up"; under "zero" a published 5 is at least 5."""
    table = cw.Table.from_array([[0, 3], [6, 12]])
    lower, base = table.lower, np.full(9, 5)
    up, zero = [0, 5, 5, 5, 10, 15, 5, 15, 20], [0, 0, 0, 5, 15, 20, 5, 15, 20]
    for small, v, ends in (("up", up, {0: (0, 0), 1: (1, 9)}), ("zero", zero, {0: (0, 4), 1: (0, 4), 3: (5, 9)})):
        told = cw.Knowledge.rounded(np.array(v), base, small=small, lower=lower, a=table.scaled)
        found = cw.audit(released(table, told, v), table=table)
        assert {cell: interval(found, cell) for cell in ends} == ends
