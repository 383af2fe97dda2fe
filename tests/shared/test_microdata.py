"""The shared records: what τ-ARGUS made of them, and the figures that are known of them."""

import pytest
import tabulation
from results import Report

from cellward import Table
from cellward.risk.request import Request


@pytest.mark.parametrize(
    "part", [tabulation.tauargus, tabulation.enterprise, tabulation.linked], ids=lambda part: part.__name__
)
def test_known_figures(part):
    report = Report()
    part(report)
    assert report.short == []


def test_two_largest_and_their_records():
    """The two largest agree with pp.tab in all cells but those that were edited by hand."""
    made, rows = tabulation.tau_test(), tabulation.pp_rows()
    at, c = tabulation.by_codes(made), made.contributions
    same = 0
    for row in rows:
        i = at.get((row["Size"], row["Region"]))
        top = [0, 0] if i is None else c.top[:2, i].tolist()
        same += top == [tabulation.money(row["Top1"]), tabulation.money(row["Top2"])]
    assert same == 159


def test_weights_and_requests_of_the_tau_argus_sample():
    """Weighted sums by hand, and two request codes in the column."""
    from decimal import Decimal

    file = tabulation.TAUARGUS / "tau_testW.csv"
    lines = file.read_text().splitlines()
    names = lines[0].split(",")
    records = [dict(zip(names, line.split(","), strict=True)) for line in lines[1:]]
    sums = {}
    for record in records:
        for size in (record["Size"], "Total"):
            sums[size] = sums.get(size, 0) + Decimal(record["Var2"]) * Decimal(record["Wgt"])
    codes = sorted({record["Request"] for record in records} - {"0"})
    made = Table.from_microdata(
        file, dims=["Size"], measure="Var2", weight="Wgt", request="Request", request_codes=codes or ["1"]
    )
    found = {
        own[0]: Decimal(int(made.scaled[i])).scaleb(-made.decimals) for own, i in tabulation.by_codes(made).items()
    }
    assert found == sums
    for code in codes:
        assert len(made.find(Request(50, code=code)).sensitive) <= made.cells


def test_holdings_rank_before_records():
    """What a unit contributes never falls when its records are put together."""
    by_record, by_holding = tabulation.enterprises(None), tabulation.enterprises("h_id")
    assert by_record.scaled.tolist() == by_holding.scaled.tolist()
    assert (by_holding.contributions.top[0] >= by_record.contributions.top[0]).all()
    assert (by_holding.contributions.units <= by_record.contributions.units).all()
    assert int(by_holding.contributions.units[by_holding.labels.find(("Total", "Total"))]) == 5100
