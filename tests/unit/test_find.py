"""Finding the cells at risk: rules together, consents, published cells, decisions by hand, given levels, and what the findings say."""

from dataclasses import replace
from fractions import Fraction
from itertools import combinations
from math import ceil

import numpy as np
import pytest

from cellward import Attacker, InputError, Table
from cellward.risk.dominance import Dominance
from cellward.risk.find import find
from cellward.risk.manual import Manual
from cellward.risk.p_percent import PPercent
from cellward.risk.policy import Policy
from cellward.risk.prior_posterior import PriorPosterior
from cellward.risk.request import Request
from cellward.risk.threshold import Threshold
from cellward.table.contributions import Contributions
from cellward.table.sensitivity import CellStatus, Sensitivity

CELLS = ([100, 8, 2], [40, 30, 20, 10], [5], [60, 60, 1], [9, 9], [0, 0])


def table_of(cells=CELLS, *, kept=4, weighted=False):
    """A row of cells and its total; unit u of every cell is called ``u``."""
    row = [list(own) for own in cells]
    whole = [sum(own[u] for own in row if u < len(own)) for u in range(max(map(len, row)))]
    every = [*row, whole]
    top, unit = np.zeros((kept, len(every)), np.int64), np.full((kept, len(every)), -1)
    for i, own in enumerate(every):
        for k, u in enumerate(sorted(range(len(own)), key=lambda u: -own[u])[:kept]):
            top[k, i], unit[k, i] = own[u], u
    units = np.array([len(own) for own in every])
    contributions = Contributions(
        rows=units, units=units, size=np.array([sum(own) for own in every]), top=top, unit=unit,
        names=["A", "B", "C", "D", "E", "F"], weighted=top.copy() if weighted else None,
        requested={"1": np.where(units > 3, top[0], 0)},
    )  # fmt: skip
    table = Table.from_frame(
        {"area": [f"R{i}" for i in range(len(row))], "value": [sum(own) for own in row]}, dims=["area"], value="value"
    )
    assert table.scaled.tolist() == contributions.size.tolist()
    return replace(table, contributions=contributions)


def test_any_rule_makes_unsafe_and_the_largest_level_counts():
    table = table_of()
    rules = [PPercent(10), Dominance(1, 90), Threshold(3, units=2)]
    sensitivity, findings = find(table, rules)
    judged = [rule.judge(table) for rule in rules]
    cells = sorted({int(i) for j in judged for i in j.cell})
    assert sensitivity.unsafe.tolist() == findings.unsafe.tolist() == cells == [0, 2, 3, 4, 5]
    for name in ("lpl", "upl", "spl"):
        expected = np.zeros(table.cells, np.int64)
        for j in judged:
            for i, level in zip(j.cell.tolist(), getattr(j, name).tolist(), strict=True):
                expected[i] = max(expected[i], level)
        assert getattr(sensitivity, name).tolist() == expected.tolist()
    assert findings.counts() == {"PPercent(10)": 4, "Dominance(1, 90)": 2, "Threshold(3, units=2)": 3}
    assert findings.rules_of(2) == tuple(rules)
    assert len(findings.reasons("R2")) == 3
    assert findings.reasons(("R1",)) == []
    assert findings.lines()[-1] == "To be protected: 5 cells of 7."
    assert repr(findings) == "Findings(5 unsafe; PPercent(10): 4, Dominance(1, 90): 2, Threshold(3, units=2): 3)"


# ---- waivers -------------------------------------------------------------------------------------------------------------------------------


def after_waivers(rule, own, consenting):
    """The level by brute force: every unit that has not consented, against every coalition of the size that the rule knows."""
    intruders = rule.needs - 1
    asked = [Fraction(0)]
    for t in set(range(len(own))) - consenting:
        others = [u for u in range(len(own)) if u != t]
        for coalition in combinations(others, min(intruders, len(others))):
            asked.append(rule.against(sum(own), sum(own[u] for u in coalition), [own[t]]))  # noqa: PERF401
    return ceil(max(asked))


@pytest.mark.parametrize(
    "rule", [PPercent(10), PPercent(40, n=2), PriorPosterior(20, 60), Dominance(1, 45), Dominance(2, 70)]
)
def test_waivers_protect_exactly_those_that_have_not_consented(rule):
    rng = np.random.default_rng(11)
    cells = [[int(x) for x in rng.integers(0, 30, rng.integers(1, 6)) ** 2] for _ in range(150)]
    table = table_of(cells, kept=6)
    for consenting in ({0}, {0, 1}, {0, 2, 3}, {0, 1, 2, 3, 4}):
        names = [table.contributions.names[u] for u in consenting]
        sensitivity, findings = find(table, [rule], waivers=names)
        for i, own in enumerate(cells):
            expected = after_waivers(rule, own, consenting)
            assert sensitivity.upl[i] == expected
            assert (i in findings.unsafe) == (expected > 0)
            called = rule.level(sum(own), sorted(own, reverse=True)) > 0
            assert (i in findings.waived) == (called and not expected)


def test_waivers_of_all_that_are_kept_do_not_speak_for_the_rest():
    table = table_of(([100, 8, 2],), kept=2)
    assert find(table, [PPercent(10)], waivers=["A", "B"])[0].upl[0] == 8
    assert find(table, [PPercent(10)], waivers=["A", "B", "C"])[0].upl[0] == 8
    whole = table_of(([100, 8, 2],), kept=3)
    assert find(whole, [PPercent(10)], waivers=["A", "B", "C"])[0].upl[0] == 0


def test_a_threshold_is_waived_by_everyone_only():
    table = table_of()
    rules = [Threshold(3)]
    assert find(table, rules, waivers=["A"])[1].waived.tolist() == [2]
    sensitivity, findings = find(table, rules, waivers=["A", "B", "nobody"])
    assert findings.waived.tolist() == [2, 4, 5]
    assert not len(sensitivity.unsafe)
    assert findings.reasons(4)[-1].startswith("Not protected: the units")
    assert "3 cells called unsafe, and not protected because the units behind them have consented." in findings.lines()


def test_in_weighted_tables_only_everyone_waives():
    table = table_of(weighted=True)
    assert 0 in find(table, [PPercent(10)], waivers=["A"])[1].unsafe
    assert 0 in find(table, [PPercent(10)], waivers=["A", "B", "C"])[1].waived


def test_manual_decisions_are_not_waived():
    sensitivity, _ = find(table_of(), [PPercent(10), Manual({0: "sensitive branch"})], waivers=["A", "B", "C", "D"])
    assert sensitivity.unsafe.tolist() == [0]
    assert sensitivity.upl[0] == 1


def test_a_request_is_waived_by_everyone_only():
    table = table_of()
    assert find(table, [Request(30)])[1].unsafe.tolist() == [1, 6]
    assert find(table, [Request(30)], waivers=["A"])[1].unsafe.tolist() == [1, 6]
    assert find(table, [Request(30)], waivers=["A", "B", "C", "D"])[1].waived.tolist() == [1, 6]


# ---- exceptions ----------------------------------------------------------------------------------------------------------------------------


def test_frozen_cells_are_fixed_and_reported():
    sensitivity, findings = find(table_of(), [PPercent(10)], frozen=["R0", 1])
    assert sensitivity.status[:2].tolist() == [CellStatus.FIXED] * 2
    assert sensitivity.upl[0] == 0
    assert findings.published.tolist() == [0]
    assert findings.reasons("R0")[-1] == "Published already, or fixed: not protected."
    assert 0 not in findings.unsafe


def test_cells_fixed_in_the_table_stay_fixed_and_old_risks_are_forgotten():
    table = table_of()
    status = np.zeros(table.cells, np.uint8)
    status[[0, 1]] = CellStatus.FIXED, CellStatus.UNSAFE
    zero = np.zeros(table.cells, np.int64)
    sensitivity, findings = find(table.with_sensitivity(Sensitivity(status, zero, zero, zero)), [PPercent(10)])
    assert sensitivity.status[:2].tolist() == [CellStatus.FIXED, CellStatus.SAFE]
    assert findings.published.tolist() == [0]


def test_decisions_by_hand():
    rules = [
        PPercent(10), Manual({"R0": "consent by letter", "R1": "harmless"}, status="safe"), Manual({"R3": "law"}, status="fixed"),
        Manual({"R1": "x"}, status="safe"),
    ]  # fmt: skip
    sensitivity, findings = find(table_of(), rules)
    assert sensitivity.unsafe.tolist() == [2, 4]
    assert sensitivity.status[3] == CellStatus.FIXED
    assert findings.reasons(0)[-1] == "Declared safe: consent by letter"
    assert findings.reasons(3)[-2:] == ["Declared fixed: law", "Published already, or fixed: not protected."]
    assert findings.counts() == {"PPercent(10)": 2}
    assert "1 cell called unsafe, and declared safe by hand." in findings.lines()


def test_given_levels_replace_the_rules():
    sensitivity, findings = find(table_of(), [PPercent(10)], levels={"R0": (1, 2, "3"), 1: (0, 50, 0)})
    assert [x[0] for x in (sensitivity.lpl, sensitivity.upl, sensitivity.spl)] == [1, 2, 3]
    assert sensitivity.upl[1] == 50
    assert findings.given.tolist() == [0, 1]
    assert findings.unsafe.tolist() == [0, 1, 2, 3, 4]
    assert findings.reasons(1) == ["Its levels were given by the user."]
    assert find(table_of(), [], levels={1: (1, 1, 0)})[0].unsafe.tolist() == [1]


@pytest.mark.parametrize(
    "arguments",
    [
        {"rules": []}, {"rules": ["p"]}, {"rules": [PPercent(10), PPercent("10.0")]}, {"waivers": "A"}, {"waivers": [1]}, {"frozen": "R0"},
        {"frozen": ["R9"]}, {"levels": {"R0": 1}}, {"levels": {"R0": (1, -1, 0)}}, {"levels": {"R0": (1, 1, 0), 0: (1, 1, 0)}},
        {"levels": {"R0": (1, 2**60, 0)}}, {"levels": [1]}, {"frozen": ["R0"], "levels": {0: (1, 1, 0)}},
        {"rules": [Manual({0: "x"}), Manual({"R0": "y"}, status="safe")]},
        {"rules": [Manual({0: "x"}), Manual({"R0": "y"}, status="fixed")]},
    ],
)  # fmt: skip
def test_contradictions_and_bad_arguments_are_refused(arguments):
    with pytest.raises(InputError, match=r"^(find|Manual)\b.*[;:]"):
        find(table_of(), **{"rules": [PPercent(10)], **arguments})


def test_findings_keep_no_chain_of_tables():
    table = table_of()
    _, findings = find(table, [PPercent(10)])
    _, again = find(replace(table, findings=findings), [PPercent(10)])
    assert again.table.findings is None


# ---- policies, and consents of nobody ----------------------------------------------------------------------------------------------------


def test_a_policy_stands_for_its_rules():
    table, policy = table_of(), Policy("ours", (PPercent(10), Threshold(3)))
    plain = table.find(*policy.rules)
    for given in ((policy,), (policy, PPercent(10)), (PPercent(10), policy)):
        found = table.find(*given)
        assert found.findings.rules == policy.rules
        assert np.array_equal(found.sensitivity.upl, plain.sensitivity.upl)
    assert table.find(policy, PPercent(50)).findings.rules == (*policy.rules, PPercent(50))


def test_a_consent_of_nobody_is_told():
    found = table_of().find(PPercent(10), waivers=["A", "Smth", "Jnes"]).findings
    assert found.without_effect == ("Smth", "Jnes")
    assert found.lines()[-1].startswith("Consents without effect: 'Smth', 'Jnes'; no unit of that name")
    assert "without effect" not in " ".join(table_of().find(PPercent(10), waivers=["A"]).findings.lines())


@pytest.mark.parametrize(
    "give",
    [
        lambda level: Table.from_frame({"a": ["x", "y"], "v": [1, 2], "l": [0, level]}, dims=["a"], value="v", upl="l"),
        lambda level: table_of().find(PPercent(10), levels={"R1": (0, level, 0)}),
        lambda level: Attacker.knowing(table_of(), "S", levels={"R1": (0, level, 0)}),
    ],
    ids=["a column", "find", "an attacker"],
)
def test_levels_that_are_no_levels_are_refused_by_the_name_of_the_cell(give):
    with pytest.raises(InputError, match=r"upl: the level of \((y|R1)\) is negative, -1; levels are distances"):
        give(-1)
    with pytest.raises(
        InputError, match=r"upl: the level 0\.00001 of \((y|R1)\) is far below the table's unit, 1; give it in"
    ):
        give("0.00001")
    give("0.3")  # rounded up


def test_levels_far_below_the_unit_are_refused_in_rules_too():
    with pytest.raises(InputError, match=r"units: the level 0\.00001 of every cell is far below the table's unit, 1"):
        table_of().find(Threshold(3, units="0.00001"))
