"""Spellings of one name are one unit's, near codes are reported, and labels that a spreadsheet would run are not written."""

import unicodedata

import ibis
import numpy as np
import pyarrow as pa
import pytest

import cellward as cw
from cellward import ControlledRounding, InputError, Table, Threshold
from cellward.outputs import summary, write_outputs
from cellward.report.sections.findings import findings_section

WORD = "Société"
NAMES = ["Acme", "ACME", "  acme ", "A  b", "a b", WORD, unicodedata.normalize("NFD", WORD), "Straße", "STRASSE", ""]
ROWS = {"region": ["x"] * 10, "firm": NAMES, "v": [1] * 10}


def tabulate(rows=ROWS, **options):
    return Table.from_microdata(rows, dims=["region"], measure="v", contributor="firm", **options)


def test_spellings_of_one_name_are_one_unit():
    table = tabulate()
    c = table.contributions
    assert c.units.tolist() == [5, 5]  # acme, a b, société, straße, and the record without a name
    assert (c.alike[0].names, c.alike[0].several) == (9, 4)
    said = str(findings_section(table))
    assert "9 names of units were taken for those of 4" in said and "'Acme'" in said
    assert tabulate(spelling="as written").contributions.units.tolist() == [10, 10]
    with pytest.raises(InputError, match="spelling='loose' is not known"):
        tabulate(spelling="loose")


def test_a_threshold_is_not_fooled_and_consents_reach_every_spelling():
    rows = {"region": ["x"] * 3, "firm": ["Acme", "ACME", "acme "], "v": [1, 2, 3]}
    assert len(tabulate(rows).find(Threshold(3)).sensitive) == 2
    assert not len(tabulate(rows, spelling="as written").find(Threshold(3)).sensitive)
    assert not len(tabulate(rows).find(Threshold(3), waivers=["ACME"]).sensitive)


def test_a_request_in_another_spelling_of_a_record_left_out_counts():
    rows = {"region": ["x", "x"], "firm": ["Acme", "ACME"], "v": [5, None], "ask": ["0", "1"]}
    table = tabulate(rows, request="ask", blank="drop")
    assert table.contributions.requested["1"].tolist() == [5, 5]


@pytest.mark.filterwarnings("ignore::DeprecationWarning")  # ibis calls what pandas and DuckDB have deprecated
@pytest.mark.parametrize("backend", ["duckdb", "sqlite"])
def test_a_warehouse_folds_the_same(backend):
    there = getattr(ibis, backend).connect().create_table("records", ibis.memtable(pa.table(ROWS)))
    here, folded = tabulate().contributions, tabulate(there).contributions
    assert folded.units.tolist() == here.units.tolist()
    assert folded.top.tolist() == here.top.tolist()
    assert tabulate(there, spelling="as written").contributions.units.tolist() == [10, 10]


def test_whole_numbers_are_names_as_they_are():
    table = tabulate({"region": ["x"] * 3, "firm": np.array([7, 7, 8]), "v": [1, 2, 3]})
    assert (table.contributions.units.tolist(), table.contributions.alike) == ([2, 2], ())


def test_codes_that_differ_in_spelling_stay_apart_and_are_reported():
    rows = {"region": ["North", "north ", "South"], "firm": ["a", "b", "c"], "v": [1, 2, 3]}
    table = tabulate(rows)
    assert table.cells == 4
    assert "2 codes of region differ only in case" in table.contributions.alike[0].sentence


@pytest.mark.parametrize("label", ["=cmd|' /C calc'!A0", "@SUM(1)", "\tx", "+f(1)", "-2+cmd|x", " =1"])
def test_labels_that_a_spreadsheet_would_run_are_not_written(label, tmp_path):
    p = ControlledRounding(5).protect(Table.from_frame({"a": [label, "y"], "n": [5, 10]}, dims=["a"], value="n"))
    with pytest.raises(InputError, match="a spreadsheet would run the label"):
        p.release().save(tmp_path / "release.csv")
    with pytest.raises(InputError, match="as a formula; give it another name"):
        write_outputs(p, tmp_path / "out", summary(p, verified=True))
    assert not list(tmp_path.iterdir())


def test_codes_with_signs_are_ordinary(tmp_path):
    codes = ["-1", "+5", "65+", "-9 to 0", "--"]
    table = cw.Table.from_frame({"a": codes, "n": [5] * 5}, dims=["a"], value="n")
    file = ControlledRounding(5).protect(table).release().save(tmp_path / "release.csv")
    assert "-9 to 0,5" in file.read_text()
