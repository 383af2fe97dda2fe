"""Sums of cells that one unit dominates: which are found, with which levels, and that they are audited, shown, certified and linked."""

import copy
import json
from dataclasses import replace

import numpy as np
import pytest
from certificates import holds
from fixed_keys import key_of

import cellward as cw
from cellward import Attacker, ControlledRounding, Dominance, Hierarchy, Manual, PPercent, Table, Threshold
from cellward.audit.certificate import Certificate
from cellward.table.cell_sums import CellSum, add_up, with_sums
from cellward.table.relations import Relations

KEY = key_of("sums")


def tabulate(rows, dims="region", **options):
    """Rows of (codes..., unit, value) as a table."""
    names = [name.strip() for name in dims.replace("*", "+").split("+")]
    columns = dict(zip([*names, "unit", "value"], map(list, zip(*rows, strict=True)), strict=True))
    return Table.from_microdata(columns, dims=dims, **{"measure": "value", "contributor": "unit", **options})


def crowd(code, many, amount, *more):
    """A safe cell of equal contributors that are in no other."""
    return [(*((code,) if isinstance(code, str) else code), f"{code} {k}", amount) for k in range(many)] + list(more)


def sums(table):
    """{names of the cells: (lpl, upl, unit)}."""
    return {
        tuple(table.labels.name(i).strip("()") for i in one.cell.tolist()): (one.lpl, one.upl, one.unit)
        for one in table.sensitivity.sums
    }


# ---- which ---------------------------------------------------------------------------------------------------------------------------------


def test_a_unit_behind_two_cells_of_an_equation():
    rows = [("A", "a", 93), ("A", "b", 1), ("B", "a", 87), ("B", "c", 1), *crowd("C", 5, 20)]
    table = tabulate(rows).find(PPercent(10))
    # A + B = 182: a 180, b and c 1 each: 18 - (182 - 180 - 1) = 17.
    assert sums(table) == {("A", "B"): (17, 17, "a")}
    rows[3] = ("B", "b", 1)  # and where b is the second of both: 18
    assert sums(tabulate(rows).find(PPercent(10))) == {("A", "B"): (18, 18, "a")}
    assert sums(tabulate(rows).find(Dominance(1, 80))) == {("A", "B"): (43, 43, "a")}  # 1.25·180 - 182
    assert sums(tabulate(rows).find(PPercent(10), Dominance(1, 80))) == {("A", "B"): (43, 43, "a")}


def test_no_sum_where_each_cell_has_a_unit_of_its_own():
    rows = [("A", "a", 93), ("A", "b", 1), ("B", "d", 87), ("B", "c", 1), *crowd("C", 5, 20)]
    assert sums(tabulate(rows).find(PPercent(10))) == {}
    assert (
        sums(Table.from_microdata({"r": list("AABB"), "v": [9, 1, 8, 1]}, dims=["r"], measure="v").find(PPercent(10)))
        == {}
    )


def test_the_sum_of_all_parts_is_the_total():
    rows = [("A", "a", 93), ("A", "b", 1), ("B", "a", 87), ("B", "c", 1)]
    table = tabulate(rows).find(PPercent(10))
    assert sums(table) == {}
    assert table.sensitivity.upl[table.labels.find("Total")] == 17


def test_all_cells_of_the_unit_and_every_two_at_risk():
    rows = [("A", "a", 93), ("A", "b", 1), ("B", "a", 87), ("B", "b", 1), ("D", "a", 3), *crowd("C", 5, 20)]
    table = tabulate(rows + crowd("D", 1, 10)).find(PPercent(10))
    # With D: a 183, the one of D 10: 18.3 - (195 - 183 - 10). A + D = 107: a 96: 9.6 - 1; B + D = 101: a 90: 9 - 1.
    assert sums(table) == {
        ("A", "B"): (18, 18, "a"),
        ("A", "B", "D"): (17, 17, "a"),
        ("A", "D"): (9, 9, "a"),
        ("B", "D"): (8, 8, "a"),
    }
    table = tabulate(rows + crowd("D", 9, 10)).find(PPercent(10))  # D has 93, and the sum of the three is safe
    assert sums(table) == {("A", "B"): (18, 18, "a")}


def test_for_every_partner_the_cells_in_which_the_two_are_too_much():
    # a with p in A, B and D, with q in E and F, and 50 among many in G, which is safe.
    rows = (
        [(code, "a", 90) for code in "ABDEF"] + [(code, "p", 30) for code in "ABD"] + [(code, "q", 30) for code in "EF"]
    )
    rows += [("G", "a", 50), *crowd("G", 50, 10), *crowd("C", 5, 20)]
    table = tabulate(rows).find(PPercent(10))
    found = sums(table)
    pairs = {(x, y) for x in "ABDEF" for y in "ABDEF" if x < y}
    # With p A, B and D; with q all of E and F, a pair; without either none: 9 - 30 < 0. All of a's, G included: safe.
    assert {cells for cells in found if len(cells) > 2} == {("A", "B", "D")}
    assert {cells for cells in found if len(cells) == 2} < pairs
    assert found["A", "B", "D"] == (27, 27, "a")  # 27 - 0
    assert found["E", "F"] == (18, 18, "a")
    assert ("A", "E") not in found  # 18 - 30 < 0


def test_the_largest_of_a_sum_are_kept_with_it():
    rows = [("A", "a", 93), ("A", "b", 1), ("B", "a", 87), ("B", "b", 2), ("B", "c", 1), *crowd("C", 5, 20)]
    table = tabulate(rows).find(PPercent(10))
    (one,) = table.sensitivity.sums
    assert [(table.contributions.name(unit), x) for unit, x in one.largest] == [("a", 180), ("b", 3), ("c", 1)]
    finer = one.times(10)
    assert [x for _, x in finer.largest] == [1800, 30, 10]
    assert (finer.lpl, finer.upl) == (one.lpl * 10, one.upl * 10)
    assert one.permuted(np.array([3, 2, 1, 0])).largest == one.largest
    assert one.permuted(np.array([3, 2, 1, 0])).cell.tolist() == [1, 2]


def test_a_zero_is_no_part_of_a_sum():
    rows = [("A", "a", 93), ("A", "b", 1), ("B", "a", 0), ("B", "c", 1), *crowd("C", 5, 20)]
    assert sums(tabulate(rows).find(PPercent(10))) == {}


def test_only_cells_that_a_concentration_rule_calls_unsafe_make_sums():
    rows = [("A", "a", 10), ("A", "b", 9), ("B", "a", 10), ("B", "c", 9), *crowd("C", 5, 20)]
    assert sums(tabulate(rows).find(Threshold(3))) == {}
    rows = [("A", "a", 93), ("A", "b", 1), ("B", "a", 87), ("B", "c", 1), *crowd("C", 5, 20)]
    table = tabulate(rows)
    assert sums(table.find(PPercent(10), frozen=["A"])) == {("A", "B"): (17, 17, "a")}  # B alone makes it
    assert sums(table.find(PPercent(10), frozen=["A", "B"])) == {}
    assert sums(table.find(PPercent(10), Manual({"A": "old", "B": "old"}, status="safe"))) == {}
    assert sums(table.find(Manual({"A": "small", "B": "small"}))) == {}
    assert sums(table.find(PPercent(10), waivers=["a", "b", "c"])) == {}
    assert sums(table.find(PPercent(10), waivers=["a"])) == {}  # b and c have one leaf each
    without = replace(table, contributions=replace(table.contributions, parts=None))
    assert sums(without.find(PPercent(10))) == {}  # who is where is not known
    assert sums(table.find(PPercent(10)).without_levels()) == {}


def test_levels_given_by_the_user_are_of_cells_and_not_of_sums():
    rows = [("A", "a", 93), ("A", "b", 1), ("B", "a", 87), ("B", "c", 1), *crowd("C", 5, 20)]
    table = tabulate(rows).find(PPercent(10), levels={"A": (1, 1, 0), "C": (3, 3, 0)})
    assert sums(table) == {("A", "B"): (17, 17, "a")}


def test_weights_and_negative_contributions_make_no_sums():
    rows = [("A", "a", 93), ("A", "b", 1), ("B", "a", 87), ("B", "c", 1), *crowd("C", 5, 20)]
    assert sums(tabulate([*rows, ("C", "n", -1)], negative="absolute").find(PPercent(10))) == {}
    columns = dict(zip(["region", "unit", "value"], map(list, zip(*rows, strict=True)), strict=True))
    weighted = Table.from_microdata(
        {**columns, "w": [1] * len(rows)}, dims=["region"], measure="value", contributor="unit", weight="w"
    )
    assert sums(weighted.find(PPercent(10))) == {}


def test_the_public_bounds_cap_lpl():
    rows = [("A", "a", 93), ("A", "b", 1), ("B", "a", 87), ("B", "c", 1), *crowd("C", 5, 20)]
    assert sums(tabulate(rows, lower=80).find(PPercent(10))) == {("A", "B"): (17, 17, "a")}  # 14 + 8
    assert sums(tabulate(rows, lower=84).find(PPercent(10))) == {("A", "B"): (14, 17, "a")}  # 10 + 4
    assert sums(tabulate(rows).find(PPercent(300))) == {("A", "B"): (182, 539, "a")}  # 540 - 1, and 182 down to 0


def test_every_row_column_and_level_of_a_hierarchy_has_its_own():
    tree = Hierarchy.from_dict({"Total": {"North": ["N1", "N2", "N3"], "South": ["S1", "S2"]}})
    rows = [
        ("N1", "x", "a", 50),
        ("N2", "x", "a", 40),
        ("S1", "x", "a", 30),
        ("N3", "x", "b", 2),
        ("N1", "y", "b", 3),
        *crowd(("N3", "y"), 30, 10),
        *crowd(("S2", "y"), 30, 10),
        *crowd(("S2", "x"), 30, 10),
    ]
    table = tabulate(rows, "region*kind", hierarchies={"region": tree}).find(PPercent(10))
    # Down column x: N1 + N2 of North (a 90: 9), North itself at risk with S1 in other equations. Across regions of both kinds: N1 53, N2 40.
    found = sums(table)
    assert found["N1, x", "N2, x"] == (9, 9, "a")
    assert found["N1, Total", "N2, Total"] == (9, 9, "a")  # a 90, b 3: 9 - 0
    assert set(found) == {("N1, x", "N2, x"), ("N1, Total", "N2, Total")}


def test_sums_of_linked_tables_of_one_formula():
    rows = [
        ("A", "s", "a", 93),
        ("A", "s", "b", 1),
        ("B", "t", "a", 87),
        ("B", "t", "b", 1),
        *crowd(("C", "s"), 30, 20),
        *crowd(("C", "t"), 30, 20),
        *crowd(("C", "z"), 30, 20),
    ]
    table = tabulate(rows, "region + size").find(PPercent(10))
    assert sums(table) == {("A, Total", "B, Total"): (18, 18, "a")}  # in sizes s and t it is one among many


def test_holdings_dominate_sums():
    rows = {
        "r": [*"AABB", *"CCCCC"],
        "firm": ["a1", "b", "a2", "c", *"pqrst"],
        "group": ["G", "", "G", *[""] * 6],
        "v": [93, 1, 87, 1, *[20] * 5],
    }
    alone = Table.from_microdata(rows, dims=["r"], measure="v", contributor="firm").find(PPercent(10))
    assert sums(alone) == {}
    table = Table.from_microdata(rows, dims=["r"], measure="v", contributor="firm", holding="group").find(PPercent(10))
    assert sums(table) == {("A", "B"): (17, 17, "G")}


@pytest.mark.xfail(
    strict=True, reason="the level of a sum is that of its largest unit, though only another has not consented"
)
def test_a_sum_is_not_asked_for_the_sake_of_one_that_has_consented():
    # b's 2 against a's 180: 0.2; the sum is asked 18 as if a had not consented, and named after b.
    rows = [("A", "a", 93), ("A", "b", 1), ("B", "a", 87), ("B", "b", 1), *crowd("C", 5, 20)]
    table = tabulate(rows).find(PPercent(10), waivers=["a"])
    assert table.sensitivity.upl.tolist() == [0, 1, 1, 0]
    assert sums(table) == {("A", "B"): (1, 1, "b")}


def test_sentences_on_sums_are_printable():
    rows = [("A", "\x1b[31ma", 93), ("A", "b", 1), ("B", "\x1b[31ma", 87), ("B", "c", 1), *crowd("C", 5, 20)]
    p = ControlledRounding(5, ignore_levels=True).protect(tabulate(rows).find(PPercent(10)))
    assert all(sentence.isprintable() for sentence in p.audit().worst())


# ---- as cells ------------------------------------------------------------------------------------------------------------------------------


def test_sums_are_further_cells_with_equations_of_their_own():
    relations = Relations.from_rows(4, [(0, [0, 1, 2, 3], [-1, 1, 1, 1])])
    some = (CellSum(np.array([1, 2]), 1, 2, "a"), CellSum(np.array([2, 3]), 3, 4, "b"))
    wider = with_sums(relations, some)
    a = np.array([6, 1, 2, 3])
    assert (wider.cells, wider.equations) == (6, 3)
    assert add_up(a, some).tolist() == [6, 1, 2, 3, 3, 5]
    assert not wider.residual(add_up(a, some)).any()
    assert wider.residual(np.array([6, 1, 2, 3, 3, 4])).tolist() == [0, 0, 1]
    assert add_up(a, ()).tolist() == a.tolist()


def test_sums_move_with_the_cells():
    table = tabulate(ROWS).find(PPercent(10))
    order = np.random.default_rng(3).permutation(table.cells)
    moved = table.sensitivity.permuted(order)
    finer = table.sensitivity.scaled_by(100)
    assert len(table.sensitivity.sums) == 4
    for one, two, three in zip(table.sensitivity.sums, moved.sums, finer.sums, strict=True):
        assert sorted(order[two.cell].tolist()) == one.cell.tolist()
        assert two.cell.tolist() == sorted(two.cell.tolist())
        assert (three.lpl, three.upl) == (one.lpl * 100, one.upl * 100)
        assert (two.lpl, two.upl, two.unit, two.largest) == (one.lpl, one.upl, one.unit, one.largest)


def test_levels_on_sums_move_with_the_attacker():
    table = tabulate(ROWS).find(PPercent(10))
    attacker = Attacker.from_data(table)[-1]
    order = np.random.default_rng(3).permutation(table.cells)
    assert attacker.permuted(np.argsort(order)).sums is attacker.sums  # by their numbers, which stay
    assert len(attacker.sums)


# ---- end to end ----------------------------------------------------------------------------------------------------------------------------

# Of three cells a has 73 of 74, 101 of 103, 85 of 87. Rounded by less than 15 each is as uncertain as is asked of it (8, 11 and 9); their sum 264 is
# the total less C, uncertain by 28 to either side of 270. Asked for is 23 below, 241; it reaches 242.
ROWS = [
    *(("A0", "a", 73), ("A0", "b", 1)),
    *(("A1", "a", 101), ("A1", "c", 2)),
    *(("A2", "a", 85), ("A2", "d", 2)),
    *crowd("C", 5, 20),
]


def test_a_sum_is_under_protected_though_every_cell_is_protected():
    table = tabulate(ROWS).find(PPercent(10))
    assert sums(table) == {
        ("A0", "A1", "A2"): (23, 23, "a"),  # 25.9 - (264 - 259 - 2) = 22.9
        ("A0", "A1"): (17, 17, "a"),  # 17.4 - (177 - 174 - 2) = 16.4
        ("A0", "A2"): (15, 15, "a"),  # 15.8 - (161 - 158 - 2) = 14.8
        ("A1", "A2"): (17, 17, "a"),  # 18.6 - (190 - 186 - 2) = 16.6
    }
    p = ControlledRounding(15, ignore_levels=True).protect(table, key=KEY)
    assert p.values.tolist() == [360, 75, 105, 90, 90]
    for found in (cw.audit(p.release(), table=table), p.audit(), p.audit(only_levels=True)):
        verdicts = [verdict for verdict in found.intervals["verdict"].tolist() if verdict]
        assert verdicts == ["protected"] * 3
        assert found.sums.intervals["verdict"].tolist() == ["under-protected", *["protected"] * 3]
        assert found.sums.protected is False
        assert found.protected is False
        assert found.worst()[0].startswith("the sum (A0) + (A1) + (A2) that a dominates: attacker external narrows")
    # The total is 360 ± 14 and C 90 ± 14: at least 346 - 104 = 242 is left for the sum of 264.
    full = cw.audit(p.release(), table=table).sums
    assert full.ends[0] == (242, 298)
    assert full.intervals["shortfall"].tolist() == [1, 0, 0, 0]


def test_a_rounding_that_leaves_a_sum_open_is_refused():
    table = tabulate(ROWS).find(PPercent(10))
    p = ControlledRounding(15).protect(table)
    assert p.status == "infeasible"
    assert p.values is None
    assert p.sums is None
    assert "level" in p.reason or "that a dominates cannot be kept" in p.reason
    assert p.protected is None
    with pytest.raises(cw.VerificationError, match="nothing can be released"):
        p.release()
    cells = table.with_sensitivity(replace(table.sensitivity, sums=()))
    assert ControlledRounding(15).protect(cells).status == "optimal"


def test_a_result_that_is_made_anyway_is_not_released():
    table = tabulate(ROWS).find(PPercent(10))
    p = ControlledRounding(15, ignore_levels=True).protect(table)
    honest = replace(p, ignore_levels=False)
    assert honest.protected is False
    assert honest.evidence.protected
    assert not honest.sums.evidence.protected
    assert len(honest.missing) == 1
    with pytest.raises(cw.VerificationError, match=r"not protected: the sum \(A0\)"):
        honest.release()


MET = [("A", "a", 93), ("A", "b", 1), ("B", "a", 87), ("B", "b", 1), *crowd("C", 5, 20)]


@pytest.fixture(scope="module")
def protected():
    table = tabulate(MET).find(PPercent(10))
    assert sums(table) == {("A", "B"): (18, 18, "a")}
    p = ControlledRounding(20).protect(table, attackers=Attacker.from_data(table), key=KEY)
    assert p.status == "optimal"
    return table, p


def test_where_the_sums_are_met_too_a_certificate_shows_it(protected, tmp_path):
    table, p = protected
    assert p.protected
    assert p.missing == ()
    assert p.release().values.tolist() == p.values.tolist()
    assert p.audit().protected
    assert p.audit().sums.intervals["verdict"].tolist() == ["protected"] * 4
    certificate = p.certificate_of_sums()
    assert certificate.check()
    assert certificate.check().protected
    assert holds(json.loads(certificate.text))
    assert cw.verify(certificate.save(tmp_path / "sums.json.gz"))
    content = certificate.content
    n = table.cells
    assert content["nominal"] == [*table.scaled.tolist(), 182]
    told = p.knowledge
    assert content["printed"] == {
        "kind": "ranges",
        "lower": [*told.lo.tolist(), None],
        "upper": [*told.hi.tolist(), None],
    }
    assert content["levels"] == {"cell": [n], "lpl": 18, "upl": 18, "spl": 0}
    # The crowd of C is outside: 18 - 2; a aims at b's 2: 0.2, and knows that its 180 are in the sum; b aims at a: 18 - 0.
    assert {one["name"]: one["levels"] for one in content["attackers"]} == {
        "external": None,
        "respondent C 0": {"cell": [n], "lpl": 16, "upl": 16, "spl": 0},
        "respondent a": {"cell": [n], "lpl": 1, "upl": 1, "spl": 0},
        "respondent b": {"cell": [n], "lpl": 18, "upl": 18, "spl": 0},
    }
    assert all(one["whole"] for one in content["attackers"])  # what the release says of whole values is not lost
    assert p.sums.instance.labels.name(n) == "the sum (A) + (B) that a dominates"
    assert p.certificate().content["attackers"][1]["name"] == "respondent a"


def test_a_certificate_that_says_more_than_was_shown_does_not_hold(protected):
    _, p = protected
    content = json.loads(p.certificate_of_sums().text)
    n = len(content["nominal"])

    def broken(change):
        other = copy.deepcopy(content)
        change(other)
        verdict = Certificate(other).check()
        assert bool(verdict) == holds(other)
        return not verdict

    assert content["witnesses"]
    for w in range(len(content["witnesses"])):
        for k in range(len(content["witnesses"][w]["difference"])):
            for move in (-40, 40):

                def moved(c, w=w, k=k, move=move):
                    c["witnesses"][w]["difference"][k] += move

                assert broken(moved)
    assert broken(lambda c: c["witnesses"].pop())
    assert broken(lambda c: c["levels"].update(upl=60))
    assert broken(lambda c: c["levels"].update(lpl=60))
    assert broken(lambda c: c["levels"].update(spl=200))
    assert broken(lambda c: c["levels"].update(cell=[n]))
    assert broken(lambda c: c["nominal"].__setitem__(n - 1, c["nominal"][n - 1] + 1))
    assert broken(lambda c: c["printed"]["lower"].__setitem__(n - 1, c["nominal"][n - 1]))
    assert broken(lambda c: c["printed"]["upper"].__setitem__(n - 1, c["nominal"][n - 1] - 1))
    assert broken(lambda c: c["equations"]["cell"].__setitem__(-1, 0))
    assert broken(lambda c: c.update(protection="none asked"))
    assert not broken(lambda c: c["levels"].update(upl=1))  # less is shown all the more


def test_the_same_key_gives_the_same_bytes(protected):
    table, p = protected
    other = bytes(reversed(KEY))
    again = p.with_key(other)
    assert again.certificate_of_sums().digest != p.certificate_of_sums().digest
    back = again.with_key(KEY)
    assert back.certificate_of_sums().text == p.certificate_of_sums().text
    assert back.certificate().text == p.certificate().text
    fresh = ControlledRounding(20).protect(table, attackers=Attacker.from_data(table), key=other)
    assert fresh.certificate_of_sums().text == again.certificate_of_sums().text
    assert fresh.certificate_of_sums().content["salt"] == fresh.certificate().content["salt"]


def test_the_second_certificate_must_stand_beside_the_first(protected, tmp_path):
    table, p = protected
    first = p.certificate().save(tmp_path / "rounding.certificate.json.gz")
    for alone in (cw.verify(first), cw.verify(first, table=table)):
        assert not alone
        assert not alone.protected
        assert "sums.certificate.json.gz beside it does not hold: there is no such file" in alone.reason
    second = p.certificate_of_sums().save(tmp_path / "sums.certificate.json.gz")
    assert cw.verify(first, table=table)
    assert cw.verify(first, table=table).protected
    assert cw.verify(second, table=table).protected
    without = cw.verify(first, table=table.with_sensitivity(replace(table.sensitivity, sums=())))
    assert "whether sums of cells are at risk differs" in without.reason
    other = tabulate([*MET[:4], *crowd("C", 4, 25)]).find(PPercent(10))  # the same values
    assert cw.verify(second, table=other)
    for rules in ([PPercent(12)], [PPercent(10), Dominance(1, 80)]):
        assert not cw.verify(second, table=tabulate(MET).find(*rules))
    content = json.loads(p.certificate_of_sums().text)
    content["witnesses"].pop()
    Certificate(content).save(second)
    broken = cw.verify(first, table=table)
    assert not broken
    assert "it is not the one whose digest the certificate names" in broken.reason
    second.write_bytes(b"")
    assert not cw.verify(first, table=table)


def test_the_second_certificate_must_be_of_the_same_release(protected, tmp_path):
    table, p = protected
    first = p.certificate().save(tmp_path / "rounding.certificate.json.gz")
    other = ControlledRounding(40).protect(table, key=KEY)
    assert other.values.tolist() != p.values.tolist()
    other.certificate_of_sums().save(tmp_path / "sums.certificate.json.gz")
    assert not cw.verify(first, table=table)


def test_the_second_certificate_must_show_its_levels(protected, tmp_path):
    table, p = protected
    first = p.certificate().save(tmp_path / "rounding.certificate.json.gz")
    content = json.loads(p.certificate_of_sums().text)
    content.update(protection="ignored", witnesses=[])
    second = Certificate(content).save(tmp_path / "sums.certificate.json.gz")
    assert cw.verify(second, table=table).protected is False
    assert not cw.verify(first, table=table).protected


def test_a_second_audit_asks_the_sums_of_every_attacker_that_has_levels_on_them(protected):
    table, p = protected
    release = p.release()
    insiders = Attacker.from_data(table)

    def verdicts(attackers):
        found = cw.audit(release, table=table, attackers=attackers)
        named = (found.sums.intervals[name].tolist() for name in ("attacker", "verdict"))
        return found, dict(zip(*named, strict=True))

    everyone = ("respondent C 0", "respondent a", "respondent b")
    assert verdicts(insiders[1:])[1] == dict.fromkeys(everyone, "protected")
    # One with levels of its own and none on sums is not asked of them.
    cells_only = [replace(one, sums=None) for one in insiders[1:]]
    assert cw.audit(release, table=table, attackers=cells_only).sums is None
    levelled = Attacker.knowing(table, "Jones", exactly=["C", "Total"], levels={"A": (1, 1, 0)})
    assert cw.audit(release, table=table, attackers=[levelled]).sums is None
    smith = Attacker.knowing(table, "Smith", exactly=["C", "Total"])
    found, named = verdicts([*insiders, smith])
    assert named == {**dict.fromkeys(("external", *everyone), "protected"), "Smith": "exactly disclosed"}
    assert found.protected is False
    assert cw.audit(release).sums is None  # without the table there is nothing to judge by


def test_a_sum_of_cells_without_levels_of_their_own():
    """The user asks nothing of the cells; the sum of both is asked all the same, and the audit says so."""
    table = tabulate(MET).find(PPercent(10), levels={"A": (0, 0, 0), "B": (0, 0, 0)})
    assert sums(table) == {("A", "B"): (18, 18, "a")}
    p = ControlledRounding(5, ignore_levels=True).protect(table)
    found = p.audit()
    assert found.sums.protected is False
    assert found.protected is False


def test_a_rounding_of_cells_without_levels_of_their_own_is_judged_by_its_sums(tmp_path):
    table = tabulate(MET).find(PPercent(10), levels={"A": (0, 0, 0), "B": (0, 0, 0)})
    refused = ControlledRounding(5).protect(table)
    assert refused.status == "infeasible"
    assert "the sum (A) + (B) that a dominates cannot be kept" in refused.reason
    p = ControlledRounding(20).protect(table)
    assert p.protected
    assert p.release().values.tolist() == p.values.tolist()
    first = p.certificate().save(tmp_path / "rounding.certificate.json.gz")
    assert not cw.verify(first, table=table)
    p.certificate_of_sums().save(tmp_path / "sums.certificate.json.gz")
    assert cw.verify(first, table=table)


def test_an_insider_alone_in_a_third_cell_works_out_the_sum():
    # D and the total are multiples of 20, so w, who is alone in C, knows A + B = 182, of which a has 180.
    rows = [*MET[:4], ("C", "w", 38), *crowd("D", 5, 20)]
    table = tabulate(rows).find(PPercent(10))
    attackers = Attacker.from_data(table)
    p = ControlledRounding(20, knowledge="paper").protect(table, attackers=attackers)
    assert p.status == "infeasible"
    w = [one for one in attackers if one.name == "respondent w"]
    ignored = ControlledRounding(20, knowledge="paper", ignore_levels=True).protect(table, attackers=w)
    found = ignored.audit().sums
    assert found.intervals["attacker"].tolist() == ["external", "respondent w"]  # the public is always kept out
    assert found.intervals["verdict"].tolist()[1] == "exactly disclosed"
    assert found.ends[1] == (182, 182)


def test_what_insiders_are_asked_of_a_sum():
    # A + B = 184: a 180, b 2, c 2. From outside 18 - 4; b and c with their 2 each: 18 - 2; a: 0.2 - 2 < 0, nothing. w knows C and D only.
    rows = [("A", "a", 93), ("A", "b", 1), ("A", "c", 1), ("B", "a", 87), ("B", "b", 1), ("B", "c", 1)]
    table = tabulate([*rows, ("C", "w", 38), ("D", "w", 50), *crowd("D", 5, 20)]).find(PPercent(10))
    assert sums(table)["A", "B"] == (16, 16, "a")
    number = list(sums(table)).index(("A", "B"))
    found = {one.name: one.sums for one in Attacker.from_data(table, respondents=3, coalitions=True)[1:]}

    def asked(name):
        at = np.flatnonzero(found[name].cell == number)
        return [] if not len(at) else [int(x[at[0]]) for x in (found[name].lpl, found[name].upl, found[name].spl)]

    assert asked("respondent b") == asked("respondent c") == [16, 16, 0]
    assert asked("respondent w") == [14, 14, 0]
    assert asked("respondent a") == []
    assert asked("coalition b and c") == [18, 18, 0]
    assert asked("coalition a and b") == [1, 1, 0]  # c's 2: 0.2 - 0


def test_a_sum_of_cells_that_an_insider_knows_is_not_asked_of_it():
    rows = [("A", "a", 90), ("B", "a", 80), ("C", "c", 40), *crowd("D", 5, 20)]
    table = tabulate(rows).find(PPercent(10))
    assert set(sums(table)) == {("A", "B")}
    found = {one.name: one.sums for one in Attacker.from_data(table)[1:]}
    assert len(found["respondent a"]) == 0
    assert found["respondent c"].upl.tolist() == [17]


def test_below_a_sum_an_insider_is_asked_no_further_than_its_own_part():
    rows = [("A", "a", 93), ("A", "b", 60), ("B", "a", 87), ("B", "b", 60), *crowd("C", 5, 2000)]
    table = tabulate(rows).find(PPercent(300))
    assert sums(table) == {("A", "B"): (300, 540, "a")}
    found = {one.name: one.sums for one in Attacker.from_data(table)[1:]}
    assert (found["respondent a"].lpl.tolist(), found["respondent a"].upl.tolist()) == ([120], [360])
    assert (found["respondent b"].lpl.tolist(), found["respondent b"].upl.tolist()) == ([180], [540])


def test_a_sum_in_which_the_unit_is_once_the_second_largest():
    # u: 97 of A's 102, 93 of D's 198, 5 of E's 500. A + D = 300: u 190, v 100: 19 - 10 = 9; with E it is safe, and without D no sum.
    rows = [("A", "u", 97), ("A", "x", 5), ("D", "v", 100), ("D", "u", 93), ("D", "y", 5), ("E", "u", 5), ("E", "e", 5)]
    table = tabulate([*rows, *crowd("E", 49, 10), *crowd("C", 5, 20)]).find(PPercent(10))
    assert sums(table) == {("A", "D"): (9, 9, "u")}


# ---- linked --------------------------------------------------------------------------------------------------------------------------------


def test_linking_carries_sums_and_levels_over():
    kind = [*("x" for _ in MET[:4]), *("y" for _ in MET[4:])]
    by_region = tabulate(MET).find(PPercent(10))
    by_kind = tabulate([(k, *row[1:]) for k, row in zip(kind, MET, strict=True)], "kind", decimals=2).find(PPercent(10))
    assert by_kind.decimals == 2
    joint = cw.link(by_kind, by_region)
    a, b, x = (joint.labels.find(codes) for codes in (("Total", "A"), ("Total", "B"), ("x", "Total")))
    assert sums(joint) == {("Total, A", "Total, B"): (1800, 1800, "a")}
    assert joint.sensitivity.sums[0].cell.tolist() == sorted([a, b])
    assert joint.sensitivity.upl[[a, b, x]].tolist() == [1000, 900, 1800]
    assert joint.sensitivity.lpl[[a, b]].tolist() == [1000, 900]
    p = ControlledRounding(30).protect(joint, attackers=Attacker.from_data(joint))
    assert p.protected
    assert p.certificate_of_sums().check()
    assert set(p.audit().sums.intervals["verdict"].tolist()) == {"protected"}


def test_linking_a_table_with_itself_keeps_every_sum():
    table = tabulate(MET).find(PPercent(10))
    joint = cw.link(table, table)
    assert {tuple(one.cell.tolist()) for one in joint.sensitivity.sums} == {(1, 2)}
    assert ControlledRounding(20).protect(joint).protected
