"""Each rule against its definition, its levels against what an attacker can tell, and the facts that rules.md proves."""

from dataclasses import replace
from decimal import Decimal
from fractions import Fraction
from itertools import combinations
from math import ceil

import numpy as np
import pytest

from cellward import InputError, Table
from cellward.exact import NO_BOUND
from cellward.risk.dominance import Dominance
from cellward.risk.manual import Manual
from cellward.risk.p_percent import PPercent
from cellward.risk.prior_posterior import PriorPosterior
from cellward.risk.request import Request
from cellward.risk.threshold import Threshold
from cellward.risk.zero import Zero
from cellward.table.contributions import Contributions

CONCENTRATION = (
    PPercent(10), PPercent("12.5", n=2), PPercent(1000), Dominance(1, 75), Dominance(2, 85), Dominance(3, Decimal("33.3")),
    PriorPosterior(10, 30), PriorPosterior(20.5, 50, n=2),
)  # fmt: skip


def table_of(cells, *, kept=4, decimals=0, lower=0, weights=None, requested=None):
    """A table without relations: cell i has the contributions cells[i], of units u0, u1, … in that order, of weight weights[i]."""
    many = len(cells)
    top, unit, weighted = np.zeros((kept, many), np.int64), np.full((kept, many), -1), np.zeros((kept, many), np.int64)
    size = np.zeros(many, np.int64)
    for i, own in enumerate(cells):
        w = weights[i] if weights else [1] * len(own)
        size[i] = sum(int(abs(x) * v) for x, v in zip(own, w, strict=True))
        for k, u in enumerate(sorted(range(len(own)), key=lambda u: -abs(own[u]))[:kept]):
            top[k, i], unit[k, i], weighted[k, i] = abs(own[u]), u, abs(own[u]) * w[u]
    units = np.array([len(own) for own in cells])
    values = size if all(x >= 0 for own in cells for x in own) else np.array([sum(own) for own in cells])
    table = Table.from_equations(np.asarray(values), np.zeros((0, many), np.int64), lower=lower)
    contributions = Contributions(
        rows=units, units=units, size=size, top=top, unit=unit, names=[f"u{u}" for u in range(50)],
        weighted=weighted if weights else None, negative=any(x < 0 for own in cells for x in own), requested=requested or {},
    )  # fmt: skip
    return replace(table, decimals=decimals, contributions=contributions)


def definition(rule, own):
    """(unsafe, level) by the tables 3.1 and 3.2, word for word."""
    x = sorted(own, reverse=True) + [0] * 5
    total = sum(own)
    if isinstance(rule, Dominance):
        head = sum(x[: rule.n])
        return head > Fraction(rule.k) / 100 * total, 100 / Fraction(rule.k) * head - total
    rest = total - sum(x[: rule.n + 1])
    if isinstance(rule, PPercent):
        return rest < Fraction(rule.p) / 100 * x[0], Fraction(rule.p) / 100 * x[0] - rest
    p, q = Fraction(rule.p), Fraction(rule.q)
    return q * rest < p * x[0], p / q * x[0] - rest


def random_cells(seed, many, largest):
    rng = np.random.default_rng(seed)
    out = [[int(x) for x in rng.integers(0, largest, rng.integers(1, 7), endpoint=True)] for _ in range(many)]
    out += [[largest // 10] * k for k in range(1, 7)] + [[0], [0, 0], [10, 5, 1], [100, 5, 10], [largest]]
    return out


@pytest.mark.parametrize("rule", CONCENTRATION, ids=lambda r: r.short)
@pytest.mark.parametrize("largest", [3, 40, 10**6, 2**53 // 60])
def test_concentration_is_its_definition(rule, largest):
    cells = random_cells(largest, 300, largest)
    table = table_of(cells)
    found = rule.judge(table)
    expected = {i: ceil(level) for i, own in enumerate(cells) for unsafe, level in [definition(rule, own)] if unsafe}
    assert dict(zip(found.cell.tolist(), found.upl.tolist(), strict=True)) == expected
    assert found.lpl.tolist() == np.minimum(found.upl, table.scaled[found.cell]).tolist()
    assert not found.spl.any()
    assert (np.diff(found.cell) > 0).all()
    for own in cells:
        assert rule.level(sum(own), sorted(own, reverse=True)) == definition(rule, own)[1]


@pytest.mark.parametrize("rule", CONCENTRATION, ids=lambda r: r.short)
def test_the_level_is_what_the_strongest_attacker_must_be_kept_from(rule):
    for own in random_cells(8, 60, 30):
        x, total = sorted(own, reverse=True), sum(own)
        attackers = 1 if isinstance(rule, Dominance) else rule.n
        asked = []
        for members in combinations(range(len(x)), min(attackers, len(x) - 1)):
            others = [value for i, value in enumerate(x) if i not in members]
            asked.append(rule.against(total, sum(x[i] for i in members), others))
        if isinstance(rule, Dominance) and rule.n == 1:
            asked = [rule.against(total, 0, x)]
        assert max(asked) == rule.level(total, x)


@pytest.mark.parametrize("rule", CONCENTRATION, ids=lambda r: r.short)
def test_merging_records_never_makes_a_cell_safe(rule):
    rng = np.random.default_rng(3)
    for own in random_cells(9, 100, 50):
        holdings = np.bincount(rng.integers(0, 3, len(own)), own, 3).astype(int).tolist()
        assert definition(rule, holdings)[1] >= definition(rule, own)[1]


@pytest.mark.parametrize("rule", CONCENTRATION, ids=lambda r: r.short)
def test_levels_are_subadditive_over_disjoint_cells(rule):
    """Also where a respondent is in several of the cells."""
    rng = np.random.default_rng(4)
    for _ in range(200):
        parts = rng.integers(0, 40, (3, 6)) * rng.integers(0, 2, (3, 6))
        whole, each = definition(rule, parts.sum(axis=0).tolist()), [definition(rule, p.tolist()) for p in parts]
        assert whole[1] <= sum(level for _, level in each)
        assert not whole[0] or any(unsafe for unsafe, _ in each)


@pytest.mark.parametrize("largest", [12, 10**4, 2**53 // 400])
@pytest.mark.parametrize("rule", CONCENTRATION, ids=lambda r: r.short)
def test_weights(rule, largest):
    """Weights are whole here, so the score is that of the records repeated as often as they weigh."""
    rng = np.random.default_rng(largest)
    cells = random_cells(largest, 100, largest)
    weights = [[int(w) for w in rng.integers(1, 4, len(own))] for own in cells]
    found = rule.judge(table_of(cells, weights=weights))
    repeated = [
        [x for x, w in zip(own, each, strict=True) for _ in range(w)] for own, each in zip(cells, weights, strict=True)
    ]
    expected = {i: ceil(level) for i, own in enumerate(repeated) for unsafe, level in [definition(rule, own)] if unsafe}
    assert dict(zip(found.cell.tolist(), found.upl.tolist(), strict=True)) == expected
    plain = replace(rule, weights=False).judge(table_of(cells, weights=weights))
    levels = [rule.level(sum(rep), sorted(own, reverse=True)) for own, rep in zip(cells, repeated, strict=True)]
    assert plain.cell.tolist() == [i for i, level in enumerate(levels) if level > 0]


def test_fractional_weights():
    """Two units of x1 = 100 (1.5 of them) and x2 = 40: 150 + 20 = 170 of 200; 30 left is not below 10 % of 100."""
    table = table_of([[100, 40, 10]], weights=[[Fraction(3, 2), 1, 1]])
    assert not len(PPercent(10).judge(table).cell)
    assert PPercent(31).judge(table).upl.tolist() == [1]
    assert "come to 170 and leave 30" in PPercent(31).reason(table, 0)


def test_level_below_stops_at_the_public_bound():
    cells = [[100, 8, 2]]
    for lower, expected in ((0, 8), (105, 5), (110, 0), (-NO_BOUND, 8), (-5, 8)):
        table = table_of(cells)
        table = replace(table, lower=np.array([lower]))
        found = PPercent(10).judge(table)
        assert (found.lpl.tolist(), found.upl.tolist()) == ([expected], [8])


def test_negative_contributions_are_judged_by_size():
    table = table_of([[-100, 8, 2], [50, -50, 40, -45]], lower=-NO_BOUND)
    assert PPercent(10).judge(table).cell.tolist() == [0]


def test_levels_beyond_the_exact_range_are_refused():
    with pytest.raises(InputError, match=r"cell 0: its level is beyond 2\^53"):
        Dominance(1, "0.0000000001").judge(table_of([[2**52]]))


def test_more_contributions_than_kept_are_refused():
    with pytest.raises(InputError, match=r"looks at the 3 largest contributions, but 2 were kept"):
        Dominance(3, 80).judge(table_of([[1]], kept=2))


def test_a_table_without_contributions_is_refused():
    with pytest.raises(InputError, match=r"no contributions.*Table\.from_microdata"):
        PPercent(10).judge(Table.from_array([[1]]))


# ---- rules with the user's levels ----------------------------------------------------------------------------------------------------------


def test_threshold():
    table = table_of([[], [5], [5, 0], [5, 5, 5]])
    found = Threshold(3).judge(table)
    assert found.cell.tolist() == [1, 2]
    assert (found.lpl.tolist(), found.upl.tolist()) == ([1, 1], [1, 1])
    rows = replace(table, contributions=replace(table.contributions, rows=np.array([0, 3, 2, 3])))
    assert Threshold(3, by="records").judge(rows).cell.tolist() == [2]
    assert Threshold(3).reason(table, 1) == "It has 1 contributor, fewer than 3."


def test_user_levels_are_the_larger_rounded_up():
    table = table_of([[5], [1001], [0]], decimals=1)  # 0.5, 100.1 and 0
    assert Threshold(3, percent="10").judge(table).upl.tolist() == [1, 101, 1]
    assert Threshold(3, percent=10, units="2.05").judge(table).upl.tolist() == [21, 101, 21]
    assert Threshold(3, units=2).judge(table).lpl.tolist() == [5, 20, 0]
    found = Threshold(3, sliding_percent=50, sliding_units=1).judge(table)
    assert (found.spl.tolist(), found.upl.tolist()) == ([10, 501, 10], [1, 1, 1])


def test_zero():
    table = table_of([[], [0, 0], [0, 1]])
    assert Zero(units=3).judge(table).cell.tolist() == [1]
    assert Zero(units=3).judge(table).upl.tolist() == [3]
    assert Zero().reason(table, 1) == "Its 2 records all contribute zero."


def test_request():
    table = table_of([[70, 30], [71, 29], [50, 50], [0]], requested={"1": np.array([70, 71, 0, 0])})
    assert Request(70).judge(table).cell.tolist() == [1]
    assert "contributes 71 of 100, more than 70 % (70)" in Request(70).reason(table, 1)
    with pytest.raises(InputError, match=r"code '2', it holds the codes 1;"):
        Request(70, code="2").judge(table)
    with pytest.raises(InputError, match=r"no requests"):
        Request(70).judge(table_of([[1]]))


def test_manual_by_number_and_by_codes():
    table = Table.from_array([[1, 2], [3, 4]], dims=["a", "b"])
    assert Manual({8: "asked for", ("0", "1"): "small"}, units=2).judge(table).cell.tolist() == [1, 8]
    assert Manual({8: "asked for"}).reason(table, 8) == "Declared unsafe: asked for"
    with pytest.raises(InputError, match=r"Manual: \(0, 1\) is named twice"):
        Manual({1: "x", ("0", "1"): "y"}).judge(table)
    with pytest.raises(InputError, match=r"Manual: b has no code"):
        Manual({("0", "7"): "y"}).judge(table)


@pytest.mark.parametrize(
    "make",
    [
        lambda: PPercent(0), lambda: PPercent(1001), lambda: PPercent("ten"), lambda: PPercent(True), lambda: PPercent(None),
        lambda: PPercent(float("nan")), lambda: PPercent(10, n=0), lambda: PPercent(10, n=1.0), lambda: PPercent(10, weights=1),
        lambda: Dominance(0, 50), lambda: Dominance(1, 100), lambda: Dominance(1, -1), lambda: PriorPosterior(20, 20),
        lambda: PriorPosterior(20, 101), lambda: PriorPosterior(0, 20), lambda: Threshold(1), lambda: Threshold(3, by="rows"),
        lambda: Threshold(3, percent=-1), lambda: Threshold(3, units=0), lambda: Zero(sliding_units="x"), lambda: Request(100),
        lambda: Request(50, code=1), lambda: Manual({}), lambda: Manual({0: " "}), lambda: Manual({0: "x"}, status="odd"),
        lambda: Manual({0: "x"}, status="safe", units=1), lambda: Manual([0]),
    ],
)  # fmt: skip
def test_parameters_are_checked(make):
    with pytest.raises(InputError, match=r"; (give|say|write|attackers|leave)"):
        make()


@pytest.mark.parametrize(
    "rule", [*CONCENTRATION, Threshold(3), Threshold(4, by="records", percent=5, units=1), Zero(sliding_percent=3), Request(60)],
    ids=lambda r: r.short,
)  # fmt: skip
def test_every_rule_says_what_it_is(rule):
    assert rule.sentence.startswith("A cell is unsafe when")
    assert rule.sentence.endswith(".")
    table = table_of([[100, 1], [0]], requested={"1": np.array([100, 0])})
    cell = int(rule.judge(table).cell[0])
    assert rule.reason(table, cell).endswith(".")


def test_short_names():
    assert PPercent(10).short == "PPercent(10)"
    assert PPercent("10.50", n=2, weights=False).short == "PPercent(10.5, weights=False, n=2)"
    assert Dominance(1, 75).short == "Dominance(1, 75)"
    assert Threshold().short == "Threshold(3)"
    assert Zero(units=2).short == "Zero(units=2)"


def test_floats_are_read_by_their_shortest_decimal():
    assert PPercent(0.1) == PPercent("0.1") == PPercent(Decimal("0.10"))
    assert PPercent(np.float64(12.5)).p == Decimal("12.5")


def test_reasons_quote_the_numbers():
    table = table_of([[100, 8, 2]])
    assert PPercent(10).reason(table, 0) == (
        "u0 contributes 100 of 110; the 2 largest come to 108 and leave 2, less than 10 % of the largest (10)."
    )
    assert Dominance(2, 85).reason(table, 0) == (
        "u0 contributes 100 of 110; the 2 largest come to 108, more than 85 % of the total (93.5)."
    )
    assert Dominance(1, 85).reason(table, 0) == (
        "u0 contributes 100 of 110; this is more than 85 % of the total (93.5)."
    )
    assert PriorPosterior(10, 40).reason(table, 0) == (
        "u0 contributes 100 of 110; the 2 largest leave 2, of which 40 % (0.8) is less than 10 % of the largest (10)."
    )
