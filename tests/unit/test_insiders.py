"""Attackers from the data: what each unit behind the cells at risk knows, and what must be kept from it; every number is worked out by hand."""

from dataclasses import replace

import pytest

import cellward as cw
from cellward import Attacker, Dominance, Hierarchy, InputError, Manual, PPercent, PriorPosterior, Request, Table
from cellward import Threshold as AtLeast
from cellward.exact import NO_BOUND

NONE = NO_BOUND


def tabulate(rows, dims="region", **options):
    """Rows of (codes..., unit, value) as a table; ``dims`` names the columns of codes."""
    names = [name.strip() for name in dims.replace("*", "+").split("+")]
    columns = dict(zip([*names, "unit", "value"], map(list, zip(*rows, strict=True)), strict=True))
    plain = {"measure": "value", "contributor": "unit", **options}
    return Table.from_microdata(columns, dims=dims, **plain)


def named(table, attackers):
    """By name: {cell: (lower, upper)}, and {cell: (lpl, upl, spl)}."""

    def name(i):
        return table.labels.name(i).strip("()")

    found = {}
    for one in attackers[1:]:
        bounds = zip(one.cell.tolist(), one.lower.tolist(), one.upper.tolist(), strict=True)
        asked = one.levels
        levels = zip(*(column.tolist() for column in (asked.cell, asked.lpl, asked.upl, asked.spl)), strict=True)
        assert one.name not in found
        found[one.name] = (
            {name(i): (low, high) for i, low, high in bounds},
            {name(i): tuple(level) for i, *level in levels},
        )
    return found


def from_data(table, **options):
    attackers = Attacker.from_data(table, **options)
    assert attackers[0].name == "external"
    assert attackers[0].levels is None
    assert not len(attackers[0].cell)
    return named(table, attackers)


# North: a 100, b 8, c 2; South: a 20 and nobody else; West: three of 20.
ROWS = [("N", "a", 100), ("N", "b", 8), ("N", "c", 2), ("S", "a", 20), ("W", "d", 20), ("W", "e", 20), ("W", "f", 20)]


# ---- what they know ------------------------------------------------------------------------------------------------------------------------


def test_the_two_largest_of_every_unsafe_cell_and_the_largest_beside_one():
    table = tabulate(ROWS).find(PPercent(10))
    assert table.sensitivity.upl[[table.labels.find(code) for code in "NSW"]].tolist() == [8, 2, 0]
    found = from_data(table)
    # a in N: 10 % of b less what others than a and b contribute, 0.8 - 2 < 0; in S it is alone: nothing is left to ask, so a is left out.
    # d is the largest of W, beside N and S; e and f are not.
    assert list(found) == ["respondent b", "respondent d"]
    # b in N: 10 % of 100 - (110 - 8 - 100) = 8; it knows that N and the total hold its own 8. In S it has nothing: 10 % of 20 - 0.
    assert found["respondent b"] == ({"Total": (8, NONE), "N": (8, NONE)}, {"N": (8, 8, 0), "S": (2, 2, 0)})
    # d in N: 10 % of 100 - (110 - 0 - 100) = 0.
    assert found["respondent d"] == ({"Total": (20, NONE), "W": (20, NONE)}, {"S": (2, 2, 0)})
    assert from_data(table, respondents=0) == {}
    assert list(from_data(table, respondents=1)) == ["respondent d"]


def test_bounds_on_every_cell_with_all_margins_and_known_exactly_where_alone():
    rows = [
        ("N", "x", "a", 50),
        ("N", "x", "b", 3),
        ("N", "y", "a", 7),
        ("S", "x", "b", 4),
        ("S", "y", "c", 9),
        ("S", "y", "d", 8),
        ("S", "y", "e", 8),
    ]
    table = tabulate(rows, "region*kind").find(PPercent(10))
    found = from_data(table, respondents=1)
    bounds, levels = found["respondent a"]
    assert bounds == {
        "Total, Total": (57, NONE),
        "Total, x": (50, NONE),
        "Total, y": (7, NONE),
        "N, Total": (57, NONE),
        "N, x": (50, NONE),
        "N, y": (7, 7),
    }
    # (Total, x): a 50, b 7: 0.7 - 0. (N, Total): a 57, b 3: 0.3. (N, x): a 50, b 3: 0.3. (S, x): b 4: 0.4; a is not in it, but in (N, x) beside it.
    # All rounded up; nothing where it is alone.
    assert levels == {"Total, x": (1, 1, 0), "N, Total": (1, 1, 0), "N, x": (1, 1, 0), "S, x": (1, 1, 0)}
    both = from_data(table)
    bounds, levels = both["respondent b"]
    assert bounds == {
        "Total, Total": (7, NONE),
        "Total, x": (7, NONE),
        "N, Total": (3, NONE),
        "N, x": (3, NONE),
        "S, Total": (4, NONE),
        "S, x": (4, 4),
    }
    assert levels == {"Total, x": (5, 5, 0), "N, Total": (6, 6, 0), "N, x": (5, 5, 0), "N, y": (1, 1, 0)}
    # c is the largest of (S, y). (N, Total) is beside (S, Total): 5.7 - 3; (N, y) beside (Total, y): 0.7; (S, x) beside (S, y): 0.4; (Total, x)
    # beside (Total, y): 5 - 7 < 0. (N, x) is in no equation with a cell of c's.
    bounds, levels = both["respondent c"]
    assert set(bounds) == {"Total, Total", "Total, y", "S, Total", "S, y"}
    assert levels == {"N, Total": (3, 3, 0), "N, y": (1, 1, 0), "S, x": (1, 1, 0)}
    assert set(both) == set(found) == {f"respondent {unit}" for unit in "abc"}


def test_hierarchies_are_margins_too():
    tree = Hierarchy.from_dict({"Total": {"North": ["N1", "N2"], "South": ["S1"]}})
    rows = [("N1", "a", 30), ("N1", "b", 2), ("N2", "b", 5), ("S1", "c", 10), ("S1", "d", 10), ("S1", "e", 10)]
    table = tabulate(rows, hierarchies={"region": tree}).find(PPercent(10))
    bounds, levels = from_data(table)["respondent b"]
    assert bounds == {"Total": (7, NONE), "North": (7, NONE), "N1": (2, NONE), "N2": (5, 5)}
    assert levels == {"North": (3, 3, 0), "N1": (3, 3, 0)}


def test_a_zero_contribution_counts_as_one():
    rows = [("N", "a", 100), ("N", "b", 0), ("S", "c", 0), ("W", "d", 20), ("W", "e", 20), ("W", "f", 20)]
    table = tabulate(rows).find(PPercent(10))
    found = from_data(table)
    assert found == {
        "respondent b": ({"Total": (0, NONE), "N": (0, NONE)}, {"N": (10, 10, 0)}),
        "respondent c": ({"Total": (0, NONE), "S": (0, 0)}, {"N": (10, 10, 0)}),
        "respondent d": ({"Total": (20, NONE), "W": (20, NONE)}, {"N": (10, 10, 0)}),
    }


def test_holdings_are_one_attacker_across_cells():
    rows = {
        "region": ["N", "N", "N", "S", "S", "W", "W", "W"],
        "firm": ["a1", "a2", "b", "a3", "c", "d", "e", "f"],
        "group": ["A", "A", "", "A", "", "", "", ""],
        "value": [60, 40, 5, 3, 50, 30, 30, 30],
    }
    table = Table.from_microdata(rows, dims=["region"], measure="value", contributor="firm", holding="group")
    table = table.find(PPercent(10))
    found = from_data(table)
    assert set(found) == {f"respondent {unit}" for unit in "Abcd"}
    assert found["respondent A"] == (
        {"Total": (103, NONE), "N": (100, NONE), "S": (3, NONE)},
        {"N": (1, 1, 0), "S": (5, 5, 0)},
    )
    # From outside: A's 10 - 5 in N, c's 5 - 3 in S.
    assert found["respondent b"][1] == {"N": (10, 10, 0), "S": (2, 2, 0)}
    assert found["respondent c"][1] == {"N": (5, 5, 0), "S": (1, 1, 0)}
    assert found["respondent d"][1] == {"N": (5, 5, 0), "S": (2, 2, 0)}


def test_records_are_units_where_nobody_is_named():
    table = Table.from_microdata({"region": ["N", "N", "S"], "value": [100, 8, 20]}, dims=["region"], measure="value")
    found = from_data(table.find(PPercent(10)))
    # N: 10 - (108 - 8 - 100) from record 2, 10 - 8 from outside. The total, 100 + 20 + 8: 10 - (128 - 20 - 100) from record 3, nothing from
    # record 1, and 10 - 20 < 0 from record 2. S: 2 from outside.
    assert found == {
        "respondent record 1": ({"Total": (100, NONE), "N": (100, NONE)}, {"N": (1, 1, 0), "S": (2, 2, 0)}),
        "respondent record 2": ({"Total": (8, NONE), "N": (8, NONE)}, {"N": (10, 10, 0), "S": (2, 2, 0)}),
        "respondent record 3": ({"Total": (20, NONE), "S": (20, 20)}, {"N": (2, 2, 0), "Total": (2, 2, 0)}),
    }


def test_whole_values_are_told_to_all():
    attackers = Attacker.from_data(tabulate(ROWS).find(PPercent(10)), whole=True)
    assert all(one.whole for one in attackers)
    assert len(attackers) == 3


def test_contributions_of_decimals_are_exact():
    table = tabulate([("N", "a", "10.25"), ("N", "b", "0.5"), ("S", "c", "1"), ("S", "d", "1"), ("S", "e", "1")])
    found = from_data(table.find(PPercent(10)), respondents=2)
    assert table.decimals == 2
    assert found["respondent b"] == ({"Total": (50, NONE), "N": (50, NONE)}, {"N": (103, 103, 0)})  # 102.5 rounded up


# ---- what must be kept from them -----------------------------------------------------------------------------------------------------------


def inside(found):
    """Without w0, the largest of the safe cell beside the one at risk."""
    return {name: own for name, own in found.items() if name != "respondent w0"}


def cell(*amounts, **options):
    """One cell N of units a, b, c, ..., beside a safe one of w0, w1, ...; for its levels."""
    rows = [("N", chr(97 + k), x) for k, x in enumerate(amounts)]
    return tabulate([*rows, *(("W", f"w{k}", 1000) for k in range(12))], **options)


@pytest.mark.parametrize(
    ("rule", "levels"),
    [  # w0 is outside: s = 0
        (PPercent(10), {"a": None, "b": 8, "w0": None}),  # 0.1·8 - 2 < 0; 0.1·100 - 2; 0.1·100 - 10 = 0
        (PPercent(50), {"a": 2, "b": 48, "w0": 40}),  # 0.5·8 - 2; 0.5·100 - 2; 0.5·100 - 10
        (PPercent("0.5"), {}),  # 0.5 - 2 < 0: no cell is unsafe
        (PriorPosterior(10, 40), {"a": None, "b": 23, "w0": 15}),  # 0.25·8 - 2 = 0; 0.25·100 - 2; 0.25·100 - 10
        (PriorPosterior(20, 60), {"a": 1, "b": 32, "w0": 24}),  # 8/3 - 2 = 0.67; 100/3 - 2 = 31.3; 100/3 - 10
        (Dominance(1, 80), {"a": None, "b": 23, "w0": 15}),  # 1.25·8 - (110 - 100) = 0; 1.25·100 - (110 - 8); 125 - 110
        (Dominance(2, 80), {"a": 25, "b": 25, "w0": 15}),  # 1.25·108 - 110 for both; 1.25·100 - 110
        (Dominance(3, 90), {"a": 13, "b": 13, "w0": 10}),  # 110/0.9 - 110 = 12.2; 108/0.9 - 110
    ],
)
def test_levels_by_rule(rule, levels):
    found = from_data(cell(100, 8, 2).find(rule))
    asked = {f"respondent {unit}": level for unit, level in levels.items() if level is not None}
    assert {name: own["N"][1] for name, (_, own) in found.items()} == asked


def test_of_several_rules_the_strictest_that_calls_the_cell_unsafe():
    table = cell(100, 8, 2).find(PPercent(10), Dominance(2, 98), AtLeast(4, units=3))
    # Dominance(2, 98): 108/0.98 - 110 = 0.2, so 1 for both; the threshold asks for 3.
    assert {name: levels["N"] for name, (_, levels) in from_data(table).items()} == {
        "respondent a": (3, 3, 0),
        "respondent b": (8, 8, 0),
        "respondent w0": (3, 3, 0),
    }
    # Dominance(1, 95) does not call the cell unsafe (100 < 104.5), so it asks nothing, though (100/95)·100 - 102 = 3.3 > 0.
    table = cell(100, 8, 2).find(Dominance(1, 95), AtLeast(4))
    assert {name: levels["N"] for name, (_, levels) in from_data(table).items()} == {
        "respondent a": (1, 1, 0),
        "respondent b": (1, 1, 0),
        "respondent w0": (1, 1, 0),
    }


def test_coalitions_inside_a_rule_do_not_make_single_attackers_stronger():
    table = cell(100, 8, 2, 1).find(PPercent(10, n=2))
    assert table.sensitivity.upl[table.labels.find("N")] == 9  # 10 - 1
    assert from_data(table)["respondent b"][1]["N"] == (7, 7, 0)  # 10 - (111 - 8 - 100)
    pairs = from_data(table, coalitions=True)
    assert pairs["coalition b and c"][1]["N"] == (9, 9, 0)


def test_lpl_reaches_to_the_attackers_own_contribution():
    found = from_data(cell(100, 95).find(PPercent(10)))
    # a asks 9.5 and knows N >= 100, 95 below 195; b asks 10.
    assert found["respondent a"][1]["N"] == (10, 10, 0)
    found = from_data(cell(100, 5).find(PPercent(90)))
    assert found["respondent a"][1]["N"] == (5, 5, 0)  # 4.5, and 105 - 100 = 5 below
    assert found["respondent b"][1]["N"] == (90, 90, 0)
    found = from_data(cell(100, 5).find(PPercent(200)))
    assert found["respondent a"][1]["N"] == (5, 10, 0)  # 10 above, 105 - 100 below
    assert found["respondent b"][1]["N"] == (100, 200, 0)  # 105 - 5


def test_lpl_reaches_to_the_public_bound_where_that_is_higher():
    table = cell(100, 5, lower=98).find(PPercent(200))
    found = from_data(table)
    assert found["respondent a"][1]["N"] == (5, 10, 0)
    assert found["respondent b"][1]["N"] == (7, 200, 0)  # 105 - 98
    assert found["respondent b"][0]["N"] == (5, NONE)  # what it knows by itself
    exactly = from_data(cell(100, 5, lower=105).find(PPercent(200)))
    assert exactly["respondent b"][1]["N"] == (0, 200, 0)


def test_a_cell_at_risk_by_its_threshold_only():
    table = tabulate([("N", "a", 9), ("N", "b", 1), *(("W", f"w{k}", 10) for k in range(5))]).find(AtLeast(3))
    assert {name: levels for name, (_, levels) in from_data(table).items()} == {
        "respondent a": {"N": (1, 1, 0)},
        "respondent b": {"N": (1, 1, 0)},
        "respondent w0": {"N": (1, 1, 0)},
    }
    table = tabulate([("N", "a", 9), ("N", "b", 1), *(("W", f"w{k}", 10) for k in range(5))])
    found = from_data(table.find(AtLeast(3, percent=50)))
    assert found["respondent a"][1] == {"N": (1, 5, 0)}
    assert found["respondent b"][1] == {"N": (5, 5, 0)}
    assert found["respondent w0"][1] == {"N": (5, 5, 0)}
    zeros = tabulate([("N", "a", 0), ("N", "b", 0), *(("W", f"w{k}", 10) for k in range(5))]).find(AtLeast(3))
    assert from_data(zeros)["respondent a"][1] == {"N": (0, 1, 0)}


def test_a_single_contributor_has_nothing_to_find_out():
    table = tabulate([("N", "a", 9), *(("W", f"w{k}", 10) for k in range(5))]).find(AtLeast(3), PPercent(10))
    assert table.sensitivity.unsafe.tolist() == [table.labels.find("N")]
    # a knows it; w0, the largest next door, may work it out: 10 % of 9.
    assert {name: levels for name, (_, levels) in from_data(table, coalitions=True).items()} == {
        "respondent w0": {"N": (1, 1, 0)}
    }


def test_a_small_unit_next_door_is_no_attacker_unless_it_is_the_largest_there():
    rows = [("N", "a", 100), ("N", "b", 8), ("S", "s", 30), ("S", "t", 29), ("S", "u", 28), ("S", "v", 27)]
    assert set(from_data(tabulate(rows).find(PPercent(10)), respondents=3)) == {f"respondent {u}" for u in "abs"}


def test_a_cell_let_go_still_brings_its_units():
    """Waived, frozen or declared safe: who stands behind it knows it, and may be asked elsewhere; here by b alone of the two in S."""
    rows = [("N", "a", 100), ("N", "b", 8), ("S", "s", 50), ("S", "t", 4), *(("W", f"w{k}", 1000) for k in range(12))]
    table = tabulate(rows)
    everyone = {"respondent a", "respondent b", "respondent s", "respondent t", "respondent w0"}
    assert set(from_data(table.find(PPercent(10)))) == everyone
    for options in ({"waivers": ["s", "t"]}, {"frozen": ["S"]}):
        found = from_data(table.find(PPercent(10), **options))
        assert set(found) == everyone
        assert all(set(levels) == {"N"} for _, levels in found.values())
    found = from_data(table.find(PPercent(10), Manual({"S": "old data"}, status="safe")))
    assert set(found) == everyone
    assert found["respondent t"][1] == {"N": (2, 2, 0)}  # 10 - 8


def test_requests_and_decisions_by_hand_ask_for_their_own_levels():
    rows = {
        "region": ["N", "N", "N", *"WWWWW"],
        "unit": list("abcdefgh"),
        "value": [30, 30, 30, *[50] * 5],
        "asked": ["1", *[""] * 7],
    }
    table = Table.from_microdata(rows, dims=["region"], measure="value", contributor="unit", request="asked")
    found = from_data(table.find(Request(20, units=4), Manual({"W": "sensitive branch"}, units=2)))
    assert found["respondent b"][1] == {"N": (4, 4, 0), "W": (2, 2, 0)}
    assert found["respondent d"][1] == {"N": (4, 4, 0), "W": (2, 2, 0)}
    assert set(found) == {f"respondent {unit}" for unit in "abde"}


@pytest.mark.parametrize("consenting", [["a"], ["a", "c"]])
def test_of_the_others_the_largest_that_has_not_consented(consenting):
    table = cell(100, 60, 50).find(PPercent(100), waivers=consenting)
    assert table.sensitivity.upl[table.labels.find("N")] == 10  # b's 60 - (210 - 60 - 100)
    # Against b: c's 50 - (210 - 60 - 50) < 0, or nobody where c consents; against c: b's 60 - (210 - 50 - 60) < 0; a is not aimed at.
    found = from_data(table, respondents=3)
    assert {name: own["N"][1] for name, (_, own) in found.items()} == {"respondent a": 10}


def test_who_consents_may_still_attack_and_need_not_be_protected():
    table = cell(100, 8).find(PPercent(10), waivers=["a"])
    assert table.sensitivity.upl[table.labels.find("N")] == 1  # 0.8 against a
    assert {name: levels for name, (_, levels) in from_data(table).items()} == {"respondent a": {"N": (1, 1, 0)}}


def test_a_rule_that_every_other_has_consented_to_asks_nothing():
    table = cell(100, 8).find(PPercent(10), Manual({"N": "sensitive branch"}, units=3), waivers=["a", "b"])
    assert {name: levels["N"] for name, (_, levels) in from_data(table).items()} == {
        "respondent a": (3, 3, 0),
        "respondent b": (3, 3, 0),
        "respondent w0": (3, 3, 0),
    }


def test_frozen_and_declared_safe_cells_ask_nothing():
    assert from_data(cell(100, 8).find(PPercent(10), frozen=["N"])) == {}
    assert from_data(cell(100, 8).find(PPercent(10), Manual({"N": "old data"}, status="safe"))) == {}


def test_levels_given_by_the_user_are_taken_instead():
    found = from_data(cell(100, 8, 2).find(PPercent(10), levels={"N": (4, 4, 0)}))
    assert {name: own["N"] for name, (_, own) in found.items()} == {
        "respondent a": (4, 4, 0),
        "respondent b": (4, 4, 0),
        "respondent w0": (4, 4, 0),
    }
    found = from_data(cell(100, 8, 2).find(PPercent(10), levels={"N": (40, 40, 0)}))
    assert {name: own["N"] for name, (_, own) in found.items()} == {
        "respondent a": (10, 40, 0),
        "respondent b": (40, 40, 0),
        "respondent w0": (40, 40, 0),
    }
    given_alone = from_data(cell(100, 8, 2).find(levels={"N": (3, 3, 0)}))
    assert {name: own["N"] for name, (_, own) in given_alone.items()} == {
        "respondent a": (3, 3, 0),
        "respondent b": (3, 3, 0),
        "respondent w0": (3, 3, 0),
    }
    assert from_data(cell(100, 8, 2).find(PPercent(10), levels={"N": (0, 0, 0)})) == {}


@pytest.mark.parametrize(
    ("given", "a", "b"), [((20, 5, 30), (10, 5, 30), (20, 5, 30)), ((20, 0, 0), (10, 0, 0), (20, 0, 0))]
)
def test_each_of_the_levels_given_by_the_user(given, a, b):
    found = from_data(cell(100, 8, 2).find(PPercent(10), levels={"N": given}))
    assert {name: own["N"] for name, (_, own) in inside(found).items()} == {"respondent a": a, "respondent b": b}
    assert found["respondent w0"][1] == {"N": given}


def test_the_width_that_a_rule_asks_for():
    table = tabulate([("N", "a", 9), ("N", "b", 1), *(("W", f"w{k}", 10) for k in range(5))])
    found = from_data(table.find(AtLeast(3, units=1, sliding_units=6)))
    assert {name: levels for name, (_, levels) in found.items()} == {
        f"respondent {unit}": {"N": (1, 1, 6)} for unit in ("a", "b", "w0")
    }


# ---- consents that are not seen through ----------------------------------------------------------------------------------------------------


@pytest.mark.xfail(strict=True, reason="dominance aims at the largest other though it has consented")
@pytest.mark.parametrize(
    ("rule", "levels"),
    [
        # X = 210, a consents, b's 90 is the target: 2.5·90 - (210 - s); for b it is c's 20: 2.5·20 - 120 < 0.
        (Dominance(1, 40), {"respondent a": 115, "respondent c": 35, "respondent w0": 15}),
        # (100/60)·(s + 90) - 210: a 106.7, c -26.7, w0 -60; b and c's 20: -26.7.
        (Dominance(2, 60), {"respondent a": 107}),
    ],
)
def test_dominance_does_not_aim_at_who_has_consented(rule, levels):
    table = cell(100, 90, 20).find(rule, waivers=["a"])
    found = from_data(table, respondents=3)
    assert {name: own["N"][1] for name, (_, own) in found.items()} == levels


@pytest.mark.parametrize("consenting", [["a", "b"], ["a", "b", "c"]])
def test_who_is_not_among_the_kept_is_protected_too(consenting):
    # X = 340. c aims at d's 70: 3·70 - (340 - 80 - 70) = 20. With four kept it does; with three it must be asked something, or be refused.
    assert from_data(cell(100, 90, 80, 70, largest=4).find(PPercent(300), waivers=consenting), respondents=3)[
        "respondent c"
    ][1] == {"N": (20, 20, 0)}
    table = cell(100, 90, 80, 70).find(PPercent(300), waivers=consenting)
    assert table.sensitivity.upl[table.labels.find("N")] > 0
    try:
        found = from_data(table, respondents=3)
    except InputError:
        return
    assert found["respondent c"][1]["N"][1] >= 20


@pytest.mark.xfail(
    strict=True, reason="insiders are asked the level of a rule that let the cell go, since another calls it unsafe"
)
def test_a_threshold_that_everyone_has_consented_to_asks_nothing():
    rules = (AtLeast(5, units=7), Manual({"N": "sensitive branch"}, units=3))
    table = cell(100, 8).find(*rules, waivers=["a", "b"])
    assert table.sensitivity.upl[table.labels.find("N")] == 3
    assert {levels["N"] for _, levels in from_data(table).values()} == {(3, 3, 0)}


# ---- coalitions ----------------------------------------------------------------------------------------------------------------------------


def test_two_of_the_three_largest_together():
    rows = [
        ("N", "a", 100),
        ("N", "b", 8),
        ("N", "c", 5),
        ("N", "d", 1),
        ("S", "b", 6),
        ("S", "c", 7),
        *(("W", f"w{k}", 100) for k in range(12)),
    ]
    table = tabulate(rows).find(PPercent(10))
    found = from_data(table, respondents=0, coalitions=True)
    # N = 114: b and c against a: 10 - (114 - 13 - 100) = 9; a and b against c: 0.5 - (114 - 108 - 5) < 0; a and c against b: 0.8 - 1 < 0.
    # S: b and c are all there is; a and b against c's 7: 0.7, a and c against b's 6: 0.6.
    assert found == {
        "coalition a and b": ({"Total": (114, NONE), "N": (108, NONE), "S": (6, NONE)}, {"S": (1, 1, 0)}),
        "coalition a and c": ({"Total": (112, NONE), "N": (105, NONE), "S": (7, NONE)}, {"S": (1, 1, 0)}),
        "coalition b and c": ({"Total": (26, NONE), "N": (13, NONE), "S": (13, 13)}, {"N": (9, 9, 0)}),
    }
    everyone = from_data(table, coalitions=True)
    assert list(everyone) == [
        "coalition a and b",
        "coalition a and c",
        "respondent b",
        "coalition b and c",
        "respondent c",
    ]
    assert everyone["respondent b"][1] == {"N": (4, 4, 0), "S": (1, 1, 0)}  # 10 - 6; 0.7
    assert everyone["respondent c"][1] == {"N": (1, 1, 0), "S": (1, 1, 0)}  # 10 - 9; 0.6


def test_a_member_that_contributes_nothing_to_a_cell_adds_nothing_there():
    rows = [("N", "a", 100), ("N", "b", 8), ("N", "c", 5), ("S", "a", 7), *(("W", f"w{k}", 100) for k in range(12))]
    found = from_data(tabulate(rows).find(PPercent(10)), respondents=0, coalitions=True)
    assert found["coalition a and b"][0] == {"Total": (115, NONE), "N": (108, NONE), "S": (7, 7)}
    assert found["coalition a and b"][1] == {"N": (1, 1, 0)}
    assert found["coalition b and c"][1] == {"N": (10, 10, 0), "S": (1, 1, 0)}  # a's 7 from outside


def test_of_four_largest_only_the_first_three_form_coalitions():
    table = cell(100, 90, 80, 70, largest=4).find(PPercent(300))
    found = from_data(table, respondents=0, coalitions=True)
    assert set(found) == {"coalition a and b", "coalition a and c", "coalition b and c"}


# ---- signs and weights ---------------------------------------------------------------------------------------------------------------------


def test_where_contributions_may_be_negative_only_cells_of_ones_own_are_known():
    rows = [("N", "a", 100), ("N", "b", -8), ("S", "c", -30), *(("W", f"w{k}", 10) for k in range(9))]
    table = tabulate(rows, negative="absolute").find(PPercent(10))
    attackers = Attacker.from_data(table)
    found = named(table, attackers)
    # N: sizes 100 and 8. b against a: 10 - (108 - 8 - 100); nothing bounds its interval below.
    assert found["respondent b"] == ({"Total": (-NONE, NONE), "N": (-NONE, NONE)}, {"N": (10, 10, 0), "S": (3, 3, 0)})
    assert found["respondent a"][1] == {"N": (1, 1, 0), "S": (3, 3, 0)}
    assert found["respondent c"] == ({"Total": (-NONE, NONE), "S": (-30, -30)}, {"N": (2, 2, 0)})  # 10 - 8
    assert all(not one.own.any() for one in attackers)
    rows = [("N", "a", 100), ("N", "b", -8), ("S", "b", -30), *(("W", f"w{k}", 10) for k in range(9))]
    both = from_data(tabulate(rows, negative="absolute").find(PPercent(10)), respondents=0, coalitions=True)
    assert both == {}


def test_a_negative_unit_in_several_leaves_counts_by_its_size():
    rows = [("N", "a", 100), ("N", "b", -8), ("S", "b", -30), *(("W", f"w{k}", 10) for k in range(9))]
    found = from_data(tabulate(rows, negative="absolute").find(PPercent(10)))
    assert found["respondent b"] == (
        {"Total": (-NONE, NONE), "N": (-NONE, NONE), "S": (-30, -30)},
        {"N": (10, 10, 0)},
    )


def test_a_public_bound_below_zero_still_caps_lpl():
    rows = [("N", "a", 100), ("N", "b", -8), *(("W", f"w{k}", 10) for k in range(9))]
    found = from_data(tabulate(rows, negative="absolute", lower=85).find(PPercent(10)))
    assert found["respondent b"][1]["N"] == (7, 10, 0)  # 92 - 85


def test_in_weighted_tables_an_attacker_knows_its_weighted_contribution():
    columns = {
        "region": ["N", "N", "N", *"WWWWW"],
        "unit": list("abcdefgh"),
        "value": [100, 4, 1, *[50] * 5],
        "weight": [1, 2, 1, *[1] * 5],
    }
    table = Table.from_microdata(columns, dims=["region"], measure="value", contributor="unit", weight="weight")
    found = from_data(table.find(PPercent(10)))
    # N = 100 + 8 + 1; b's 4 counts twice: 10 - (109 - 8 - 100) = 9.
    assert found["respondent b"] == ({"Total": (8, NONE), "N": (8, NONE)}, {"N": (9, 9, 0)})
    assert set(found) == {"respondent b", "respondent d"}
    assert found["respondent d"][1] == {"N": (1, 1, 0)}  # 10 - (109 - 100)


def test_in_weighted_tables_the_target_counts_with_its_weight_in_the_rest_and_plainly_in_the_share():
    columns = {
        "region": ["N", "N", "N", *"WWWWW"],
        "unit": list("abcdefgh"),
        "value": [100, 40, 1, *[50] * 5],
        "weight": [2, 1, 3, *[1] * 5],
    }
    table = Table.from_microdata(columns, dims=["region"], measure="value", contributor="unit", weight="weight")
    table = table.find(PPercent(50))
    # X = 243. The score of two units is 200: 50 - 43 = 7.
    assert table.sensitivity.upl[table.labels.find("N")] == 7
    found = from_data(table)
    # b: 50 - (243 - 40 - 200) = 47; a: 20 - (243 - 200 - 40) = 17; from outside 50 - 43.
    assert {name: levels["N"] for name, (_, levels) in found.items()} == {
        "respondent a": (17, 17, 0),
        "respondent b": (47, 47, 0),
        "respondent d": (7, 7, 0),
    }
    assert found["respondent a"][0]["N"] == (200, NONE)


# ---- several tables ------------------------------------------------------------------------------------------------------------------------


def test_a_formula_of_two_tables():
    rows = [
        ("N", "x", "s", "a", 50),
        ("N", "x", "t", "b", 3),
        ("N", "y", "s", "a", 7),
        ("S", "x", "t", "b", 4),
        ("S", "y", "s", "c", 9),
        ("S", "y", "t", "d", 8),
        ("S", "y", "t", "e", 8),
    ]
    table = tabulate(rows, "region*kind + size").find(PPercent(10))
    bounds, levels = from_data(table)["respondent b"]
    assert bounds == {
        "Total, Total, Total": (7, NONE),
        "Total, Total, t": (7, NONE),
        "Total, x, Total": (7, NONE),
        "N, Total, Total": (3, NONE),
        "N, x, Total": (3, NONE),
        "S, Total, Total": (4, NONE),
        "S, x, Total": (4, 4),
    }
    # size t: d 8, e 8, b 7: safe. size s, beside it: a 57, c 9: 5.7 - 9 < 0 from outside.
    assert levels == {
        "Total, x, Total": (5, 5, 0),
        "N, Total, Total": (6, 6, 0),
        "N, x, Total": (5, 5, 0),
        "N, y, Total": (1, 1, 0),
    }
    bounds, levels = from_data(table)["respondent c"]
    assert levels == {
        "Total, Total, s": (6, 6, 0),
        "N, Total, Total": (3, 3, 0),  # 5.7 - 3
        "N, y, Total": (1, 1, 0),
        "S, x, Total": (1, 1, 0),
    }
    assert bounds["Total, Total, s"] == (9, NONE)


# ---- names ---------------------------------------------------------------------------------------------------------------------------------


@pytest.mark.parametrize(
    ("unit", "shown"),
    [
        ('O\'Neill, "Bros" & Co; DROP TABLE', 'O\'Neill, "Bros" & Co; DROP TABLE'),
        ("Зерно 🌾", "Зерно 🌾"),
        ("Brown  &  Sons ", "Brown  &  Sons "),
        ("a\nb", "'a\\nb'"),
        ("\x1b[31mred", "'\\x1b[31mred'"),
        ("zero\u200bwidth", "'zero\\u200bwidth'"),
        ("0", "0"),
    ],
)
def test_odd_names(unit, shown):
    rows = [("N", "big", 100), ("N", unit, 8), *(("W", f"w{k}", 20) for k in range(9))]
    table = tabulate(rows).find(PPercent(10))
    attackers = Attacker.from_data(table, coalitions=True)
    assert f"respondent {shown}" in [one.name for one in attackers]
    assert cw.ControlledRounding(50).protect(table, attackers=attackers).status == "optimal"


@pytest.mark.parametrize("case", ["holding and firm", "record", "and", "escaped"])
def test_names_are_distinct_whatever_the_units_are_called(case):
    units, holdings = {
        "holding and firm": (["s1", "X", "c"], ["X", "", ""]),
        "record": (["record 2", "", "c"], ["", "", ""]),
        "and": (["a", "a and b", "b and c", "c"], [""] * 4),
        "escaped": (["a\nb", "'a\\nb'"], ["", ""]),
    }[case]
    amounts = [100, 90, 80, 70][: len(units)]
    if case == "and":  # coalitions (a, b and c) and (a and b, c)
        regions = ["N", "S", "N", "S"]
        units, holdings, amounts = [*units, "z", "z2"], [""] * 6, [100, 100, 8, 8, 1, 1]
        regions = [*regions, "N", "S"]
    else:
        regions = ["N"] * len(units)
    columns = {"region": regions, "unit": units, "group": holdings, "value": amounts}
    table = Table.from_microdata(columns, dims=["region"], measure="value", contributor="unit", holding="group")
    attackers = Attacker.from_data(table.find(PPercent(200)), coalitions=True)
    names = [one.name for one in attackers]
    assert len(set(names)) == len(names)


def test_a_second_attacker_of_the_same_name_is_numbered():
    columns = {
        "region": ["N"] * 5,
        "unit": ["s1", "X", "X (2)", "y", "z"],
        "group": ["X", "", "", "", ""],
        "value": [100, 90, 80, 70, 60],
    }
    table = Table.from_microdata(
        columns, dims=["region"], measure="value", contributor="unit", holding="group", largest=5
    )
    attackers = Attacker.from_data(table.find(PPercent(300)), respondents=3)
    assert [one.name for one in attackers] == ["external", "respondent X", "respondent X (2)", "respondent X (3)"]
    assert sorted(int(one.own.max()) for one in attackers[1:]) == [80, 90, 100]


# ---- refusals ------------------------------------------------------------------------------------------------------------------------------


@pytest.mark.parametrize("respondents", [-1, 4, 1.0, True, "2", None])
def test_a_number_of_respondents_that_was_not_kept(respondents):
    with pytest.raises(InputError, match=r"from 0 to 3, the largest contributions kept; tabulate with largest="):
        Attacker.from_data(tabulate(ROWS).find(PPercent(10)), respondents=respondents)


def test_refusals():
    table = tabulate(ROWS)
    with pytest.raises(InputError, match=r"were not found by rules; use table.find"):
        Attacker.from_data(table)
    with pytest.raises(InputError, match="holds no contributions"):
        Attacker.from_data(Table.from_array([[1, 2], [3, 4]]))
    with pytest.raises(InputError, match="among the 3 largest, but 2 were kept"):
        Attacker.from_data(tabulate(ROWS, largest=2).find(PPercent(10)), coalitions=True)
    two = table.find(PPercent(10))
    with pytest.raises(InputError, match="not found by rules"):
        Attacker.from_data(replace(two, findings=None))
    with pytest.raises(InputError, match="how many stand behind each cell, not who"):
        Attacker.from_data(replace(two, contributions=replace(two.contributions, parts=None)))


def test_more_respondents_when_more_were_kept():
    table = cell(100, 90, 80, 70, 60, largest=5).find(PPercent(300))
    # X = 400: against 5, 60: 300 - (400 - 60 - 100); against 4, 70: 300 - 230, and so on; the largest aims at 90: 270 - (400 - 100 - 90).
    levels = {name: own["N"][1] for name, (_, own) in from_data(table, respondents=5).items()}
    assert levels == {
        "respondent a": 60,
        "respondent b": 90,
        "respondent c": 80,
        "respondent d": 70,
        "respondent e": 60,
    }
    assert set(from_data(table, respondents=3)) == {f"respondent {unit}" for unit in "abc"}


def test_coalitions_need_more_where_a_rule_looks_at_more():
    rule, amounts = Dominance(3, 60), (100, 90, 80, 70, 60)
    with pytest.raises(
        InputError, match="a rule looks at 2 contributions beside those of 2 attackers, but 3 were kept"
    ):
        Attacker.from_data(cell(*amounts).find(rule), coalitions=True)
    found = from_data(cell(*amounts, largest=4).find(rule), respondents=0, coalitions=True)
    assert found["coalition b and c"][1]["N"][1] == 167  # (170 + 100 + 70)/0.6 - 400


def test_nothing_at_risk_leaves_the_external_attacker():
    assert len(Attacker.from_data(tabulate([("W", f"w{k}", 10) for k in range(9)]).find(PPercent(10)))) == 1


# ---- used ----------------------------------------------------------------------------------------------------------------------------------


def test_insiders_are_audited_each_with_what_it_knows():
    # N = 110 rounds to 100 with base 50: the public thinks of 51 to 149.
    table = cell(100, 8, 2).find(PPercent(10), AtLeast(4))
    attackers = Attacker.from_data(table)
    p = cw.ControlledRounding(50).protect(table, attackers=attackers)
    found = p.audit(cells=["N"])
    ends = dict(zip(found.intervals["attacker"].tolist(), found.ends, strict=True))
    assert ends == {
        "external": (51, 149),
        "respondent a": (100, 149),
        "respondent b": (51, 149),
        "respondent w0": (51, 149),
    }
    assert p.protected
    assert found.protected
    assert p.release().values.tolist() == [12100, 100, 12000]


def test_what_an_insider_knows_makes_a_release_unprotected():
    # C, E and the total are multiples of 100, so A + D = 300 is known. The public thinks of D between 100 and 300; u has 103 in A and thinks of
    # at most 197, and 197 - 96 is close to v's 100.
    rows = [("A", "u", 103), ("A", "x", 1), ("D", "v", 100), ("D", "u", 96), ("E", "u", 5), ("E", "e", 5)]
    rows += [*(("E", f"e{k}", 10) for k in range(49)), *(("C", f"c{k}", 20) for k in range(5))]
    table = tabulate(rows).find(PPercent(10))
    attackers = Attacker.from_data(table)
    p = cw.ControlledRounding(100, knowledge="paper").protect(table, attackers=attackers)
    assert p.status == "infeasible"
    assert "(D)" in p.reason and "respondent u" in p.reason
    ignored = cw.ControlledRounding(100, knowledge="paper", ignore_levels=True).protect(table, attackers=attackers)
    found = ignored.audit(cells=["D"])
    verdicts = dict(zip(*(found.intervals[name].tolist() for name in ("attacker", "verdict")), strict=True))
    assert verdicts["external"] == verdicts["respondent v"] == "protected"
    assert verdicts["respondent u"] == "under-protected"


@pytest.mark.parametrize("waivers", [[], ["u"]])
def test_a_unit_alone_in_one_cell_takes_another_apart(waivers):
    # A + B = 140 is known (the total and C are multiples of 20); u knows B, hence A = 104, where 10 % of a's 100 are 10.
    rows = [("A", "a", 100), ("A", "b", 4), ("B", "u", 36), *(("C", f"c{k}", 20) for k in range(4))]
    table = tabulate(rows).find(PPercent(10), waivers=waivers)
    p = cw.ControlledRounding(20, knowledge="paper").protect(table, attackers=Attacker.from_data(table))
    assert p.status == "infeasible"
    assert "respondent u" in p.reason


def test_every_unit_may_be_in_several_leaves():
    table = tabulate([("N", "a", 5), ("S", "a", 6), ("N", "b", 1), ("S", "b", 2)]).find(PPercent(10))
    assert table.values.tolist() == [14, 6, 8]
    assert from_data(table)["respondent b"][1] == {"Total": (2, 2, 0), "N": (1, 1, 0), "S": (1, 1, 0)}


def test_the_audit_of_a_released_protection_calls_it_protected():
    # As above, and u is an attacker because of D: it works out A though nothing is asked of it there.
    tree = Hierarchy.from_dict({"Total": {"G1": ["A", "B", "C"], "G2": ["D", "E"]}})
    rows = [
        ("A", "a", 100),
        ("A", "b", 4),
        ("B", "u", 36),
        ("D", "d", 94),
        ("D", "u", 3),
        ("D", "e", 1),
        ("E", "f", 22),
    ]
    rows += [*(("C", f"c{k}", 20) for k in range(4)), *(("E", f"e{k}", 20) for k in range(3))]
    table = tabulate(rows, hierarchies={"region": tree}).find(PPercent(10))
    p = cw.ControlledRounding(20, knowledge="paper").protect(table, attackers=Attacker.from_data(table))
    assert p.protected is None or p.protected == p.audit().protected
