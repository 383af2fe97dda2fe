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


def test_the_two_largest_of_every_unsafe_cell():
    table = tabulate(ROWS).find(PPercent(10))
    assert table.sensitivity.upl[[table.labels.find(code) for code in "NSW"]].tolist() == [8, 2, 0]
    found = from_data(table)
    # a in N: 10 % of b less what others than a and b contribute, 0.8 - 2 < 0; in S it is alone: nothing is left to ask, so a is left out.
    assert list(found) == ["respondent b"]
    # b in N: 10 % of 100 - (110 - 8 - 100) = 8; it knows that N and the total hold its own 8.
    assert found["respondent b"] == ({"Total": (8, NONE), "N": (8, NONE)}, {"N": (8, 8, 0)})


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
    # (Total, x): a 50, b 7: 0.7 - 0. (N, Total): a 57, b 3: 0.3. (N, x): a 50, b 3: 0.3. All rounded up; nothing where it is alone.
    assert levels == {"Total, x": (1, 1, 0), "N, Total": (1, 1, 0), "N, x": (1, 1, 0)}
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
    assert levels == {"Total, x": (5, 5, 0), "N, Total": (6, 6, 0), "N, x": (5, 5, 0)}


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
    assert found == {"respondent b": ({"Total": (0, NONE), "N": (0, NONE)}, {"N": (10, 10, 0)})}


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
    assert set(found) == {"respondent A", "respondent b", "respondent c"}
    assert found["respondent A"] == (
        {"Total": (103, NONE), "N": (100, NONE), "S": (3, NONE)},
        {"N": (1, 1, 0), "S": (5, 5, 0)},
    )
    assert found["respondent b"][1] == {"N": (10, 10, 0)}
    assert found["respondent c"][1] == {"S": (1, 1, 0)}


def test_records_are_units_where_nobody_is_named():
    table = Table.from_microdata({"region": ["N", "N", "S"], "value": [100, 8, 20]}, dims=["region"], measure="value")
    found = from_data(table.find(PPercent(10)))
    # N: 10 - (108 - 8 - 100) from record 2. The total, 100 + 20 + 8: 10 - (128 - 20 - 100) from record 3, nothing from record 1.
    assert found == {
        "respondent record 1": ({"Total": (100, NONE), "N": (100, NONE)}, {"N": (1, 1, 0)}),
        "respondent record 2": ({"Total": (8, NONE), "N": (8, NONE)}, {"N": (10, 10, 0)}),
        "respondent record 3": ({"Total": (20, NONE), "S": (20, 20)}, {"Total": (2, 2, 0)}),
    }


def test_whole_values_are_told_to_all():
    attackers = Attacker.from_data(tabulate(ROWS).find(PPercent(10)), whole=True)
    assert all(one.whole for one in attackers)
    assert len(attackers) == 2


def test_contributions_of_decimals_are_exact():
    table = tabulate([("N", "a", "10.25"), ("N", "b", "0.5"), ("S", "c", "1"), ("S", "d", "1"), ("S", "e", "1")])
    found = from_data(table.find(PPercent(10)), respondents=2)
    assert table.decimals == 2
    assert found["respondent b"] == ({"Total": (50, NONE), "N": (50, NONE)}, {"N": (103, 103, 0)})  # 102.5 rounded up


# ---- what must be kept from them -----------------------------------------------------------------------------------------------------------


def cell(*amounts, **options):
    """One cell N of units a, b, c, ..., beside a safe one; for its levels."""
    rows = [("N", chr(97 + k), x) for k, x in enumerate(amounts)]
    return tabulate([*rows, *(("W", f"w{k}", 1000) for k in range(12))], **options)


@pytest.mark.parametrize(
    ("rule", "levels"),
    [
        (PPercent(10), {"a": None, "b": 8}),  # 0.1·8 - 2 < 0; 0.1·100 - 2
        (PPercent(50), {"a": 2, "b": 48}),  # 0.5·8 - 2; 0.5·100 - 2
        (PPercent("0.5"), {}),  # 0.5 - 2 < 0: no cell is unsafe
        (PriorPosterior(10, 40), {"a": None, "b": 23}),  # 0.25·8 - 2 = 0; 0.25·100 - 2
        (PriorPosterior(20, 60), {"a": 1, "b": 32}),  # 8/3 - 2 = 0.67; 100/3 - 2 = 31.3
        (Dominance(1, 80), {"a": None, "b": 23}),  # 1.25·8 - (110 - 100) = 0; 1.25·100 - (110 - 8)
        (Dominance(2, 80), {"a": 25, "b": 25}),  # 1.25·108 - 110 for both
        (Dominance(3, 90), {"a": 13, "b": 13}),  # 110/0.9 - 110 = 12.2
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
    }
    # Dominance(1, 95) does not call the cell unsafe (100 < 104.5), so it asks nothing, though (100/95)·100 - 102 = 3.3 > 0.
    table = cell(100, 8, 2).find(Dominance(1, 95), AtLeast(4))
    assert {name: levels["N"] for name, (_, levels) in from_data(table).items()} == {
        "respondent a": (1, 1, 0),
        "respondent b": (1, 1, 0),
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
    }
    table = tabulate([("N", "a", 9), ("N", "b", 1), *(("W", f"w{k}", 10) for k in range(5))])
    found = from_data(table.find(AtLeast(3, percent=50)))
    assert found["respondent a"][1] == {"N": (1, 5, 0)}
    assert found["respondent b"][1] == {"N": (5, 5, 0)}
    zeros = tabulate([("N", "a", 0), ("N", "b", 0), *(("W", f"w{k}", 10) for k in range(5))]).find(AtLeast(3))
    assert from_data(zeros)["respondent a"][1] == {"N": (0, 1, 0)}


def test_a_single_contributor_has_nothing_to_find_out():
    table = tabulate([("N", "a", 9), *(("W", f"w{k}", 10) for k in range(5))]).find(AtLeast(3), PPercent(10))
    assert table.sensitivity.unsafe.tolist() == [table.labels.find("N")]
    assert from_data(table, coalitions=True) == {}


def test_requests_and_decisions_by_hand_ask_for_their_own_levels():
    rows = {
        "region": ["N", "N", "N", *"WWWWW"],
        "unit": list("abcdefgh"),
        "value": [30, 30, 30, *[50] * 5],
        "asked": ["1", *[""] * 7],
    }
    table = Table.from_microdata(rows, dims=["region"], measure="value", contributor="unit", request="asked")
    found = from_data(table.find(Request(20, units=4), Manual({"W": "sensitive branch"}, units=2)))
    assert found["respondent b"][1] == {"N": (4, 4, 0)}
    assert found["respondent d"][1] == {"W": (2, 2, 0)}
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
    }


def test_frozen_and_declared_safe_cells_ask_nothing():
    assert from_data(cell(100, 8).find(PPercent(10), frozen=["N"])) == {}
    assert from_data(cell(100, 8).find(PPercent(10), Manual({"N": "old data"}, status="safe"))) == {}


def test_levels_given_by_the_user_are_taken_instead():
    found = from_data(cell(100, 8, 2).find(PPercent(10), levels={"N": (4, 4, 0)}))
    assert {name: own["N"] for name, (_, own) in found.items()} == {
        "respondent a": (4, 4, 0),
        "respondent b": (4, 4, 0),
    }
    found = from_data(cell(100, 8, 2).find(PPercent(10), levels={"N": (40, 40, 0)}))
    assert {name: own["N"] for name, (_, own) in found.items()} == {
        "respondent a": (10, 40, 0),
        "respondent b": (40, 40, 0),
    }
    given_alone = from_data(cell(100, 8, 2).find(levels={"N": (3, 3, 0)}))
    assert {name: own["N"] for name, (_, own) in given_alone.items()} == {
        "respondent a": (3, 3, 0),
        "respondent b": (3, 3, 0),
    }


@pytest.mark.xfail(reason="insiders take the user's upl for lpl too, drop spl, and ask nothing where upl is 0")
@pytest.mark.parametrize(
    ("given", "a", "b"), [((20, 5, 30), (10, 5, 30), (20, 5, 30)), ((20, 0, 0), (10, 0, 0), (20, 0, 0))]
)
def test_each_of_the_levels_given_by_the_user(given, a, b):
    found = from_data(cell(100, 8, 2).find(PPercent(10), levels={"N": given}))
    assert {name: own["N"] for name, (_, own) in found.items()} == {"respondent a": a, "respondent b": b}


@pytest.mark.xfail(reason="insiders ask for no width, though the rule does")
def test_the_width_that_a_rule_asks_for():
    table = tabulate([("N", "a", 9), ("N", "b", 1), *(("W", f"w{k}", 10) for k in range(5))])
    found = from_data(table.find(AtLeast(3, units=1, sliding_units=6)))
    assert found["respondent a"][1] == {"N": (1, 1, 6)}


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
    # S: b and c are all there is.
    assert found == {
        "coalition b and c": ({"Total": (26, NONE), "N": (13, NONE), "S": (13, 13)}, {"N": (9, 9, 0)}),
    }
    everyone = from_data(table, coalitions=True)
    assert list(everyone) == ["respondent b", "coalition b and c", "respondent c"]
    assert everyone["respondent b"][1] == {"N": (4, 4, 0), "S": (1, 1, 0)}  # 10 - 6; 0.7
    assert everyone["respondent c"][1] == {"S": (1, 1, 0)}


def test_a_member_that_contributes_nothing_to_a_cell_adds_nothing_there():
    rows = [("N", "a", 100), ("N", "b", 8), ("N", "c", 5), ("S", "a", 7), *(("W", f"w{k}", 100) for k in range(12))]
    found = from_data(tabulate(rows).find(PPercent(10)), respondents=0, coalitions=True)
    assert found["coalition a and b"][0] == {"Total": (115, NONE), "N": (108, NONE), "S": (7, 7)}
    assert found["coalition a and b"][1] == {"N": (1, 1, 0)}
    assert found["coalition b and c"][1] == {"N": (10, 10, 0)}


# ---- signs and weights ---------------------------------------------------------------------------------------------------------------------


def test_where_contributions_may_be_negative_only_cells_of_ones_own_are_known():
    rows = [("N", "a", 100), ("N", "b", -8), ("S", "c", -30), *(("W", f"w{k}", 10) for k in range(9))]
    table = tabulate(rows, negative="absolute").find(PPercent(10))
    attackers = Attacker.from_data(table)
    found = named(table, attackers)
    # N: sizes 100 and 8. b against a: 10 - (108 - 8 - 100); nothing bounds its interval below.
    assert found["respondent b"] == ({"Total": (-NONE, NONE), "N": (-NONE, NONE)}, {"N": (10, 10, 0)})
    assert found["respondent a"][1] == {"N": (1, 1, 0)}
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
    # size t: d 8, e 8, b 7: safe. size s: a 57, c 9: b is not in it.
    assert levels == {"Total, x, Total": (5, 5, 0), "N, Total, Total": (6, 6, 0), "N, x, Total": (5, 5, 0)}
    bounds, levels = from_data(table)["respondent c"]
    assert levels == {"Total, Total, s": (6, 6, 0)}
    assert bounds["Total, Total, s"] == (9, NONE)


# ---- names ---------------------------------------------------------------------------------------------------------------------------------


@pytest.mark.parametrize(
    ("unit", "shown"),
    [
        ('O\'Neill, "Bros" & Co; DROP TABLE', 'O\'Neill, "Bros" & Co; DROP TABLE'),
        ("Зерно 🌾", "Зерно 🌾"),
        ("  ", "  "),
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


@pytest.mark.xfail(reason="two attackers get the same name, and the protection refuses them")
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
    with pytest.raises(InputError, match="not found by rules"):
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
    assert ends == {"external": (51, 149), "respondent a": (100, 149), "respondent b": (51, 149)}
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
    assert p.status == "failed"
    assert "(D): attacker respondent u narrows it down to 100 to 197 around 196, where 10 below, 10 above" in p.reason
    ignored = cw.ControlledRounding(100, knowledge="paper", ignore_levels=True).protect(table, attackers=attackers)
    found = ignored.audit(cells=["D"])
    verdicts = dict(zip(*(found.intervals[name].tolist() for name in ("attacker", "verdict")), strict=True))
    assert verdicts["external"] == verdicts["respondent v"] == "protected"
    assert verdicts["respondent u"] == "under-protected"


@pytest.mark.xfail(
    reason="a unit is asked of the cells it is among the largest of only: one alone elsewhere is left out"
)
@pytest.mark.parametrize("waivers", [[], ["u"]])
def test_a_unit_alone_in_one_cell_takes_another_apart(waivers):
    # A + B = 140 is known (the total and C are multiples of 20); u knows B, hence A = 104, where 10 % of a's 100 are 10.
    rows = [("A", "a", 100), ("A", "b", 4), ("B", "u", 36), *(("C", f"c{k}", 20) for k in range(4))]
    table = tabulate(rows).find(PPercent(10), waivers=waivers)
    p = cw.ControlledRounding(20, knowledge="paper").protect(table, attackers=Attacker.from_data(table))
    assert p.status == "failed"
    assert "attacker respondent u" in p.reason


def test_every_unit_may_be_in_several_leaves():
    table = tabulate([("N", "a", 5), ("S", "a", 6), ("N", "b", 1), ("S", "b", 2)]).find(PPercent(10))
    assert table.values.tolist() == [14, 6, 8]
    assert from_data(table)["respondent b"][1] == {"Total": (2, 2, 0), "N": (1, 1, 0), "S": (1, 1, 0)}


@pytest.mark.xfail(reason="the audit judges every attacker on every unsafe cell, the evidence on its own levels only")
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
