"""Faults of other suppressors on record, as regressions: what each leaves open is closed here, or refused in a sentence."""

import numpy as np
import pytest
from safe_patterns import is_safe

import cellward as cw
from cellward.publication.withheld import Withheld
from cellward.table.sensitivity import Sensitivity


def at_risk(table, cells, lpl, upl=None, spl=0):
    """These cells at risk, the same levels each."""
    index = sorted(table.labels.find(cell) for cell in cells)
    size = len(index)
    own = [np.full(size, level, np.int64) for level in (lpl, lpl if upl is None else upl, spl)]
    return table.with_sensitivity(Sensitivity.of(table.cells, index, *own))


def checked(p):
    """A release, every level of which an exact linear program finds met."""
    assert p.protected
    assert p.release()
    assert is_safe(p.instance, tuple(p.publication.withheld.tolist()))
    return {p.instance.labels.tuple_of(int(i)) for i in np.flatnonzero(p.publication.withheld)}


def test_three_singletons_in_a_row_know_their_own_contributions():
    """Each of three units alone in its cell knows its own value: of the others only the sum may follow."""
    rows = {
        "r": ["a", "b", "c", "d", "a", "b", "c", "d"],
        "k": ["x"] * 4 + ["y"] * 4,
        "firm": ["A", "B", "C", "D1", "E", "F", "G", "H"],
        "n": [10, 20, 30, 40, 50, 60, 70, 80],
    }
    table = cw.Table.from_microdata(rows, dims=["r", "k"], measure="n", contributor="firm").find(
        cw.Threshold(2, percent=10)
    )
    known = cw.Attacker.from_data(table, respondents=1)
    assert len(known) > 3
    checked(cw.CellSuppression().protect(table, attackers=known))


def test_two_singletons_withheld_in_one_row_are_no_protection():
    table = at_risk(cw.Table.from_array([[10, 20, 30], [40, 50, 60]], dims=["r", "k"]), [("0", "0"), ("0", "1")], 1)
    one = cw.Attacker.respondent(table, "A", {("0", "0"): 10}, alone=[("0", "0")])
    two = cw.Attacker.respondent(table, "B", {("0", "1"): 20}, alone=[("0", "1")])
    hidden = checked(cw.CellSuppression().protect(table, attackers=[cw.Attacker.external(), one, two]))
    assert len([codes for codes in hidden if codes[0] == "0"]) > 2


def test_linked_tables_are_one_problem():
    """Safe patterns of each table may give a cell away together; the whole is judged."""
    inner = np.array([[[4, 7], [9, 3]], [[6, 8], [5, 12]]])
    names, codes = ("a", "b", "c"), (["0", "1"], ["s", "l"], ["n", "w"])
    one = cw.Table.from_array(inner.sum(axis=2), dims=names[:2], codes=codes[:2])
    two = cw.Table.from_array(inner.sum(axis=1), dims=(names[0], names[2]), codes=(codes[0], codes[2]))
    table = cw.link(one, two)
    level = np.full(1, 2, np.int64)
    table = table.with_sensitivity(
        Sensitivity.of(table.cells, [2], level, level, 0 * level)
    )  # (0, Total), which both hold
    p = cw.CellSuppression().protect(table)
    checked(p)
    assert sum(bool(part.publication.withheld.any()) for part in p.release().tables()) == 2


@pytest.mark.parametrize(("parts", "withheld"), [([0, 0, 0], [0, 1]), ([10, 5, 0, 0], [2, 3])])
def test_whole_numbers_do_not_give_zeros_away(parts, withheld):
    """0 = x + x + 0 and 15 = 10 + 5 + x + x: crosses over what can only be 0 hide nothing, and a pattern of them is no release."""
    table = cw.Table.from_array(parts, dims=["r"])
    risk = at_risk(table, [(str(withheld[0]),)], 0, 0, 1)
    found = cw.audit(released(risk, withheld), table=risk)
    assert found.protected is False
    assert "works out its value 0 exactly" in found.worst()[0]
    p = cw.CellSuppression(zeros="candidates").protect(risk)
    if p.publication is None:
        assert p.status == "infeasible"
    else:
        checked(p)
        assert not p.given_away


def test_whole_numbers_alone_give_nothing_away():
    """Two times x is 10 to 11 only if x is whole: the public is taken to know that."""
    table = cw.Table.from_equations([5, 5, 10], [[1, 1, -1]], sensitive=[0], lpl=[0], upl=[0], upper=[5, 9, 99])
    p = cw.CellSuppression().protect(table)
    assert p.publication is None or (p.release() and not p.given_away)


def released(table, withheld):
    return cw.Release(
        labels=table.labels, publication=Withheld.of(table.scaled, np.array(withheld)), decimals=table.decimals,
        method={"name": "another"}, relations=table.relations, lower=table.lower, upper=table.upper, digest="",
    )  # fmt: skip


def test_levels_of_one_child_are_withheld_together():
    """A total of one part is the part: whoever prints it prints the cell."""
    tree = cw.Hierarchy.from_dict({"Total": {"N": ["n1"], "S": ["s1", "s2"], "W": ["w1", "w2"]}})
    frame = {"r": ["n1", "s1", "s2", "w1", "w2"], "n": [7, 20, 30, 25, 15]}
    table = cw.Table.from_frame(frame, dims=["r"], value="n", hierarchies={"r": tree})
    hidden = checked(cw.CellSuppression().protect(at_risk(table, [("n1",)], 2)))
    assert ("N",) in hidden


def test_the_same_table_has_the_same_pattern_whatever_the_order_of_its_rows():
    rng = np.random.default_rng(5)
    rows = [(r, k, int(rng.integers(1, 60))) for r in "abcd" for k in "uvwx"]
    found = []
    for order in (range(16), reversed(range(16)), rng.permutation(16)):
        mine = [rows[i] for i in order]
        table = cw.Table.from_frame(
            {"r": [x for x, _, _ in mine], "k": [x for _, x, _ in mine], "n": [x for _, _, x in mine]},
            dims=["r", "k"],
            value="n",
        )
        p = cw.CellSuppression().protect(at_risk(table, [("a", "u"), ("c", "w")], 3))
        found.append({table.labels.tuple_of(int(i)) for i in np.flatnonzero(p.publication.withheld)})
    assert found[0] == found[1] == found[2]


def test_decimals_do_not_turn_unsafe_into_safe():
    """Levels of hundredths are met in hundredths; scaled by 100 the same pattern."""
    values = [[1.25, 3.10, 2.20], [0.45, 7.85, 1.15], [2.05, 0.95, 4.40]]
    table = cw.Table.from_array([[f"{x:.2f}" for x in row] for row in values], dims=["r", "k"])
    whole = cw.Table.from_array([[round(100 * x) for x in row] for row in values], dims=["r", "k"])
    patterns = [
        cw.CellSuppression().protect(at_risk(one, [("1", "0")], 9)).publication.withheld.tolist()
        for one in (table, whole)
    ]
    assert patterns[0] == patterns[1]
    checked(cw.CellSuppression().protect(at_risk(table, [("1", "0")], 9)))


def test_negative_grand_totals_have_costs_like_others():
    table = cw.Table.from_array([[-70, 4, -9], [3, -120, 8], [5, 6, -2]], dims=["r", "k"], lower=-500, upper=500)
    p = cw.CellSuppression().protect(at_risk(table, [("1", "0")], 2))
    checked(p)
    assert p.instance.weight[-1] == 175


def test_costs_of_the_table_decide():
    frame = {
        "r": list("aaabbbccc"),
        "k": list("xyz") * 3,
        "n": [20, 50, 10, 8, 19, 22, 17, 32, 12],
        "c": [1, 1, 1, 1, 1, 90, 90, 1, 1],
    }
    table = cw.Table.from_frame(frame, dims=["r", "k"], value="n", cost="c")
    cheap = checked(cw.CellSuppression().protect(at_risk(table, [("b", "x")], 2), weights="table"))
    assert not cheap & {("b", "z"), ("c", "x")}


def test_codes_that_begin_with_a_dot_are_codes():
    frame = {"r": [".a", ".b", ".c"] * 2, "k": ["x"] * 3 + ["..y"] * 3, "n": [5, 9, 12, 7, 3, 8]}
    table = cw.Table.from_frame(frame, dims=["r", "k"], value="n")
    hidden = checked(cw.CellSuppression().protect(at_risk(table, [(".a", "..y")], 1)))
    assert (".a", "..y") in hidden
