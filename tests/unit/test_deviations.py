"""The report of deviations: figures worked out by hand, for any method, and as text."""

import io

import pytest
from rich.console import Console

import cellward as cw
from cellward.report.sections.deviations import Deviations
from cellward.report.terminal import render


@pytest.fixture
def table():
    return cw.Table.from_equations([10, 20, 0, 30], [[1, 1, 1, -1]], sensitive=[0], lpl=[2], upl=[2])


def test_by_hand(table):
    found = Deviations.of(cw.ControlledAdjustment(senses="up", jitter=0).protect(table))
    assert (found.all.cells, found.at_risk.cells, found.others.cells) == (4, 1, 3)
    assert found.all.absolute.mean == 1
    assert found.all.absolute.std == pytest.approx((4 / 3) ** 0.5)
    assert found.all.percent.mean == pytest.approx((20 + 20 / 3) / 3)
    assert found.all.norm2 == pytest.approx(8**0.5)
    assert (found.at_risk.absolute.max, found.at_risk.absolute.std, found.at_risk.percent.max) == (2, 0, 20)
    assert found.others.percent.max == pytest.approx(20 / 3)


def test_of_any_method_in_units_of_the_table():
    table = cw.Table.from_array([[2.5, 0.5], [1.0, 3.0]])
    found = Deviations.of(cw.ControlledRounding(1).protect(table))
    assert found.all.absolute.max in (0.5, 1.0)
    assert found.at_risk.cells == 0
    assert found.at_risk.absolute.max == found.at_risk.norm2 == 0
    assert found.to_dict()["others"]["cells"] == 9


def test_unsafe_cells_are_at_risk_with_levels_or_without():
    table = cw.Table.from_frame({"a": ["x", "y"], "v": [3, 4], "s": ["u", "s"]}, dims=["a"], value="v", status="s")
    assert Deviations.of(cw.ControlledRounding(5).protect(table)).at_risk.cells == 1


def test_as_text_and_on_the_terminal(table):
    found = Deviations.of(cw.ControlledAdjustment(senses="up", jitter=0).protect(table))
    assert [line.split()[0] for line in str(found).splitlines()] == ["deviations", "all", "at", "others"]
    out = io.StringIO()
    render([found.section()], Console(file=out, width=120))
    assert "20.00" in out.getvalue()


def test_nothing_published_has_no_deviations(table):
    with pytest.raises(cw.VerificationError, match="no values to measure"):
        Deviations.of(cw.ControlledAdjustment(fixed=[0]).protect(table))
