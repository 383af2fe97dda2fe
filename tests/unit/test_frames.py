"""Frames and notebook cards: what stands in them is what the objects hold, withheld is missing, and what is public holds nothing else."""

import importlib
import math

import numpy as np
import pandas as pd
import polars as pl
import pytest
from fixed_keys import key_of

import cellward as cw
from cellward.files import made_frames
from cellward.table.sensitivity import Sensitivity

KEY = key_of("frames")


def risky(values, cells=(0,), level=3):
    table = cw.Table.from_array(values, dims=["region", "sector"])
    levels = (np.full(len(cells), level, np.int64),) * 3
    return table.with_sensitivity(Sensitivity.of(table.cells, list(cells), *levels))


TABLE = risky([[20, 31, 5], [40, 12, 6], [7, 8, 9]])
METHODS = {
    "values": cw.ControlledRounding(10),
    "withheld": cw.CellSuppression(),
    "ranges": cw.IntervalPublication(),
}


def protected(kind):
    return METHODS[kind].protect(TABLE, key=KEY)


def rows(frame):
    """The rows of a frame of either package, missing as None."""
    entries = frame.to_dict("list") if isinstance(frame, pd.DataFrame) else frame.to_dict(as_series=False)
    lists = ([None if isinstance(x, float) and math.isnan(x) else x for x in column] for column in entries.values())
    return list(entries), list(zip(*lists, strict=True))


def test_a_table_as_a_frame_holds_codes_values_statuses_levels_and_frequencies():
    records = {"region": ["N", "N", "S"], "turnover": ["5.25", "2.50", "4.00"]}
    table = cw.Table.from_microdata(records, dims=["region"], measure="turnover").find(cw.Threshold(2, units=1))
    assert rows(table.to_pandas()) == rows(table.to_polars())
    names, entries = rows(table.to_pandas())
    assert names == ["region", "value", "status", "lpl", "upl", "spl", "frequency"]
    assert entries == [
        ("Total", 11.75, "safe", 0.0, 0.0, 0.0, 3),
        ("N", 7.75, "safe", 0.0, 0.0, 0.0, 2),
        ("S", 4.0, "unsafe", 1.0, 1.0, 0.0, 1),
    ]


def test_a_level_without_an_end_is_infinite():
    table = cw.Table.from_frame(
        {"d": ["a", "b"], "n": [3, 4], "status": ["u", "s"], "upl": ["inf", "0"]},
        dims=["d"], value="n", status="status", upl="upl",
    )  # fmt: skip
    assert table.to_pandas()["upl"].tolist() == [math.inf, 0.0, 0.0]


def test_dimensions_may_be_called_as_columns_are():
    table = cw.Table.from_frame(
        {"value": ["a", "b"], "status": ["x", "y"], "n": [1, 2]}, dims=["value", "status"], value="n"
    )
    assert list(table.to_polars().columns)[:4] == ["value", "status", "cell value", "cell status"]
    p = cw.ControlledRounding(5).protect(table, key=KEY)
    assert p.release().to_pandas().columns.tolist() == ["value", "status", "published value"]
    assert "cell value" in table._repr_html_()


@pytest.mark.parametrize("kind", METHODS)
@pytest.mark.parametrize("package", ["pandas", "polars"])
def test_a_release_as_a_frame_is_its_csv(kind, package):
    release = protected(kind).release()
    names, entries = rows(getattr(release, f"to_{package}")())
    columns = release.columns()
    assert names == list(columns)
    for row, texts in zip(entries, zip(*columns.values(), strict=True), strict=True):
        assert [("" if x is None else x if isinstance(x, str) else f"{x:g}") for x in row] == list(texts)


@pytest.mark.parametrize("kind", METHODS)
def test_a_protection_as_a_frame_compares_value_and_publication(kind):
    p = protected(kind)
    assert rows(p.to_pandas()) == rows(p.to_polars())
    frame = p.to_pandas()
    assert frame["value"].tolist() == TABLE.values.tolist()
    printed = p.values
    told = ~np.isnan(printed.astype(float))
    assert frame["deviation"][told].tolist() == (printed - TABLE.values)[told].tolist()
    assert frame["deviation"][~told].isna().all()
    if kind != "ranges":
        np.testing.assert_array_equal(frame["published"].to_numpy(float), printed.astype(float))


def test_audited_intervals_stand_beside_the_cells():
    p = protected("values")
    audit = p.audit()
    frame = p.to_pandas(audit=audit)
    assert frame["audited lower"].tolist() == audit.intervals["lower"].tolist()
    assert frame["audited attacker"].unique().tolist() == ["external"]
    of_two = p.to_pandas(audit=p.audit(cells=[0, 3]))
    assert of_two["audited lower"].notna().tolist() == [i in (0, 3) for i in range(TABLE.cells)]
    assert of_two["verdict"].notna().tolist() == [i in (0, 3) for i in range(TABLE.cells)]
    other = cw.ControlledRounding(5).protect(cw.Table.from_array([1, 2]), key=KEY).audit()
    with pytest.raises(cw.InputError, match=r"^audit: it is of 3 cells, and the table has 16; give the result's own$"):
        p.to_pandas(audit=other)


def test_of_several_attackers_the_one_who_comes_closest_is_named():
    insider = cw.Attacker.knowing(TABLE, "neighbour", exactly=[("0", "1"), ("1", "0")])
    p = cw.ControlledRounding(10).protect(TABLE, attackers=[cw.Attacker.external(), insider], key=KEY)
    audit = p.audit()
    frame = p.to_pandas(audit=audit)
    full = audit.to_pandas()
    for i, row in enumerate(frame.itertuples()):
        own = full.iloc[[k for k, cell in enumerate(audit.intervals["cell"]) if cell == i]]
        judged = own[own["verdict"] != "known to the attacker"]
        width = (judged["upper"] - judged["lower"]).min() if judged["shortfall"].max() == 0 else None
        if width is not None:
            assert frame["audited upper"][i] - frame["audited lower"][i] == width, row


def test_an_audit_as_a_frame_has_the_codes():
    frame = protected("values").audit().to_pandas()
    assert frame.columns.tolist() == ["region", "sector", "attacker", "lower", "upper", "verdict", "shortfall", "exact"]
    assert list(zip(frame["region"], frame["sector"], strict=True)) == list(
        zip(*TABLE.labels.columns().values(), strict=True)
    )
    assert protected("values").audit().to_polars().columns == frame.columns.tolist()


def test_rows_are_joined_as_they_stand():
    p = protected("values")
    own = pd.DataFrame({"sector": [2, 0], "region": [1, 0], "firm": ["x", "y"]}, index=[7, 3])
    found = p.join(own)
    at = [TABLE.labels.find(("1", "2")), TABLE.labels.find(("0", "0"))]
    assert found.index.tolist() == [7, 3]
    assert found["published"].tolist() == p.values[at].tolist()
    assert found["deviation"].tolist() == (p.values - TABLE.values)[at].tolist()
    assert own.columns.tolist() == ["sector", "region", "firm"]
    in_polars = p.join(pl.DataFrame({"sector": ["2"], "region": ["1"], "published": ["mine"]}))
    assert in_polars.columns == ["sector", "region", "published", "published published", "deviation"]
    assert in_polars["published published"].to_list() == [p.values[at[0]]]


def test_rows_joined_to_withheld_cells_have_no_value():
    found = protected("withheld").join({"region": ["0", "0"], "sector": ["0", "Total"]})
    assert found["published status"] == ["withheld", "published"]
    assert np.ma.getmaskarray(found["published"]).tolist() == [True, False]
    frame = protected("withheld").join(pl.DataFrame({"region": ["0", "0"], "sector": ["0", "Total"]}))
    assert frame["published"].to_list() == [None, 56]


@pytest.mark.parametrize(
    ("frame", "said"),
    [
        ({"region": ["0"]}, r"^there is no column 'sector'; the rows are joined by region, sector$"),
        ({"region": ["0"], "sector": ["9"]}, r"^row 0, region, sector: sector has no code '9'; it has 0, 1, 2, Total$"),
        ([1, 2], r"^a list is no data frame; give pandas, polars, pyarrow or a mapping of columns$"),
    ],
)
def test_rows_that_cannot_be_joined_are_told(frame, said):
    with pytest.raises(cw.InputError, match=said):
        protected("values").join(frame)


def test_cells_without_codes_are_joined_by_number():
    table = cw.Table.from_equations([1, 2, 3], [[1, 1, -1]])
    p = cw.ControlledRounding(5).protect(table, key=KEY)
    assert p.join({"cell": [2, 0]})["published"].tolist() == p.values[[2, 0]].tolist()
    with pytest.raises(cw.InputError, match="'x' is no number of a cell"):
        p.join({"cell": ["x"]})


def test_where_nothing_is_published_there_is_nothing_to_compare():
    table = risky([[1, 1], [1, 1]], level=50)
    p = cw.ControlledRounding(3, max_steps=1).protect(table, key=KEY)
    assert p.publication is None
    with pytest.raises(cw.VerificationError, match="has no values"):
        p.to_pandas()
    assert "infeasible" in p._repr_html_()


@pytest.mark.parametrize("package", ["pandas", "polars"])
def test_a_package_that_is_missing_is_said(monkeypatch, package):
    def missing(name):
        raise ImportError(name)

    monkeypatch.setattr(made_frames.importlib, "import_module", missing)
    other = {"pandas": "polars", "polars": "pandas"}[package]
    said = rf"^{package} is not installed; install it \(pip install {package}\), or use to_{other}\(\) or the columns as they are$"
    with pytest.raises(cw.InputError, match=said):
        getattr(TABLE, f"to_{package}")()
    monkeypatch.undo()
    assert importlib.import_module(package)


def test_cards_are_escaped_and_say_for_whose_eyes_they_are():
    codes = ["<script>alert(1)</script>", "b & c"]
    table = cw.Table.from_frame({"d": codes, "n": [3, 4]}, dims=["d"], value="n")
    p = cw.ControlledRounding(5).protect(table, key=KEY)
    for thing, seal in (
        (table, "confidential"),
        (p, "confidential"),
        (p.audit(), "confidential"),
        (p.release(), "public"),
    ):
        html = thing._repr_html_()
        assert "<script>" not in html
        assert "&lt;script&gt;" in html
        assert f">{seal}</span>" in html


def test_the_card_of_a_release_holds_no_true_value():
    table = risky([[7654321, 31], [40, 12]], level=1000)
    release = cw.CellSuppression().protect(table, key=KEY).release()
    assert "7654321" not in release._repr_html_() + release.to_pandas().to_csv()


def test_the_card_of_findings_says_why():
    records = {"region": ["N", "N", "S"], "firm": ["a", "b", "<a>"], "turnover": [5, 2, 4]}
    table = cw.Table.from_microdata(records, dims=["region"], measure="turnover", contributor="firm")
    html = table.find(cw.Threshold(3)).findings._repr_html_()
    assert ">confidential</span>" in html
    assert "(S)" in html
    assert "<a>" not in html


def test_large_tables_are_shown_in_part():
    table = cw.Table.from_array(np.arange(400).reshape(20, 20))
    html = table._repr_html_()
    assert html.count("<tr") < 20
    assert "… and 429 more" in html
