"""Data in: compressed text, sheets, wide tables and labels beside codes, in Python, on the command line and in jobs; one sentence for bad input."""

import datetime
import gzip
import json
import subprocess
import sys

import openpyxl
import pandas as pd
import polars as pl
import pytest
from fixed_keys import key_of

import cellward as cw

LONG = "region,sex,n\nN,f,3\nN,m,4\nS,f,5\nS,m,6\n"
WIDE = "region,f,m\nN,3,4\nS,5,6\n"
DIMS = {"dims": ["region", "sex"], "value": "n"}


def cells(table):
    return dict(zip(zip(*table.labels.columns().values(), strict=True), table.values.tolist(), strict=True))


def plain(tmp_path):
    (tmp_path / "plain.csv").write_text(LONG)
    return cw.read(tmp_path / "plain.csv", **DIMS)


def workbook(path, rows, title="Sheet", change=lambda sheet: None, others=()):
    book = openpyxl.Workbook()
    sheet = book.active
    sheet.title = title
    for row in rows:
        sheet.append(row)
    for name in others:
        book.create_sheet(name).append(["x"])
    change(sheet)
    book.save(path)
    return path


ROWS = [["region", "sex", "n"], ["N", "f", 3], ["N", "m", 4], ["S", "f", 5], ["S", "m", 6]]


# ---- compressed text -----------------------------------------------------------------------------------------------------------------------


@pytest.mark.parametrize("name", ["t.csv.gz", "t.CSV.GZ", "t.csv"])
def test_compressed_tables_are_read_as_they_are(tmp_path, name):
    (tmp_path / name).write_bytes(gzip.compress(LONG.encode(), mtime=0))
    assert cells(cw.read(tmp_path / name, **DIMS)) == cells(plain(tmp_path))


def test_compressed_records_are_read_as_they_are(tmp_path):
    records = "region,turnover\n" + "".join(f"Ö{k % 3},{k}\n" for k in range(60))
    (tmp_path / "r.csv").write_text(records)
    for encoding in ("utf-8", "latin-1"):
        (tmp_path / "r.csv.gz").write_bytes(gzip.compress(records.encode(encoding), mtime=0))
        options = {"dims": ["region"], "measure": "turnover"}
        packed, text = (cw.Table.from_microdata(tmp_path / name, **options) for name in ("r.csv.gz", "r.csv"))
        assert cells(packed) == cells(text)


@pytest.mark.parametrize(
    "data",
    [
        gzip.compress(LONG.encode(), mtime=0)[:-9],
        b"\x1f\x8bnot gzip at all",
        gzip.compress(LONG.encode(), mtime=0)[:30],
    ],
)
def test_damaged_files_are_told(tmp_path, data):
    (tmp_path / "t.csv.gz").write_bytes(data)
    for read in (lambda path: cw.read(path, **DIMS), lambda path: cw.Table.from_microdata(path, dims=["region"])):
        with pytest.raises(
            cw.InputError, match=r"t\.csv\.gz: not readable as gzip; it is cut off or damaged: fetch it again$"
        ):
            read(tmp_path / "t.csv.gz")


# ---- sheets --------------------------------------------------------------------------------------------------------------------------------


def test_a_sheet_is_read_as_a_table_of_cells(tmp_path):
    path = workbook(tmp_path / "t.xlsx", [[], *ROWS, [None, None, None]])
    assert cells(cw.read(path, **DIMS)) == cells(plain(tmp_path))


def test_numbers_are_those_that_are_stored_and_codes_those_that_are_shown(tmp_path):
    def change(sheet):
        for cell in sheet["A"][1:]:
            cell.number_format = "00"
        sheet["B2"].number_format = "0"

    path = workbook(tmp_path / "t.xlsx", [["nace", "n"], [1, 12.25], [2, 3], [11, "4.50"]], change=change)
    with pytest.raises(cw.InputError, match=r"the column 'n' holds text \(B4\) and numbers \(B2\)"):
        cw.read(path, dims=["nace"], value="n")
    path = workbook(tmp_path / "t.xlsx", [["nace", "n"], [1, 12.25], [2, 3.0], [11, 4.5]], change=change)
    assert cells(cw.read(path, dims=["nace"], value="n")) == {
        ("01",): 12.25,
        ("02",): 3.0,
        ("11",): 4.5,
        ("Total",): 19.75,
    }


def test_records_and_hierarchies_may_be_sheets(tmp_path):
    records = workbook(tmp_path / "r.xlsx", [["region", "turnover"], ["N1", 5], ["N1", 2.5], ["S", None]])
    tree = workbook(
        tmp_path / "h.xlsx",
        [["child", "parent", "label"], ["N1", "N", "North one"], ["N", "Total", "North"], ["S", "Total", "South"]],
    )
    hierarchy = cw.Hierarchy.from_file(tree)
    table = cw.Table.from_microdata(
        records, dims=["region"], measure="turnover", blank="zero", empty="zero", hierarchies={"region": hierarchy}
    )
    assert cells(table) == {("Total",): 7.5, ("N",): 7.5, ("N1",): 7.5, ("S",): 0.0}
    assert table.labels.word_columns() == {"region label": ["Total", "North", "North one", "South"]}


def test_of_several_sheets_one_is_named(tmp_path):
    path = workbook(tmp_path / "t.xlsx", ROWS, title="cells", others=["notes"])
    with pytest.raises(
        cw.InputError,
        match=r"t\.xlsx: several sheets hold something \('cells', 'notes'\); name one with sheet= \(--sheet\)$",
    ):
        cw.read(path, **DIMS)
    assert cells(cw.read(path, sheet="cells", **DIMS)) == cells(plain(tmp_path))
    with pytest.raises(cw.InputError, match=r"there is no sheet 'cell'; it has 'cells', 'notes'$"):
        cw.read(path, sheet="cell", **DIMS)
    with pytest.raises(cw.InputError, match=r"plain\.csv: only an Excel file has sheets; leave sheet out$"):
        cw.read(tmp_path / "plain.csv", sheet="cells", **DIMS)
    with pytest.raises(cw.InputError, match=r"^sheet: only an Excel file has sheets; leave it out$"):
        cw.Table.from_microdata(tmp_path / "plain.csv", dims=["region"], sheet="cells")


@pytest.mark.parametrize(
    ("rows", "change", "said"),
    [
        (ROWS, lambda s: s.merge_cells("A2:A3"), r"the cells A2:A3 are merged; unmerge them and fill in each, or save the sheet as CSV$"),
        ([["Firms by region"], *ROWS], None, r"B1 in the header is empty; name the column, and have no title above the header$"),
        ([["region", None, "n"], ["N", "f", 3]], None, r"B1 in the header is empty"),
        ([*ROWS, ["S", "x", "=SUM(C2:C5)"]], None, r"C6 holds a formula; replace the formulas by their values$"),
        ([*ROWS, [7, "x", 1]], None, r"the column 'region' holds text \(A2\) and numbers \(A6\); make all of them text, or all numbers$"),
        ([*ROWS, ["S", "x", "#N/A"]], None, r"C6 holds the error #N/A; correct it$"),
        ([*ROWS, ["S", "x", True]], None, r"C6 holds TRUE or FALSE; make it text or a number$"),
        ([["region", "sex", "n"], [datetime.date(2026, 1, 2), "f", 3]], None, r"A2 holds a date or a time; make it text or a number$"),
        ([], None, r"no sheet holds anything; give a table$"),
        ([["region", "sex", "n"]], None, r"there is a header but no rows"),
        ([["region", "sex", "m"], ["N", "f", 3]], None, r"there is no column 'n'; the columns are 'region', 'sex', 'm'$"),
        ([["region", "sex", "n", "n"], ["N", "f", 3, 4]], None, r"the column 'n' occurs twice in the header; rename one$"),
        ([["region", "sex", "n"], ["N", "f", None]], None, r"t\.xlsx row 2, column n: '' is not a number; fill in a value"),
    ],
)  # fmt: skip
def test_what_could_be_read_two_ways_is_refused_in_one_sentence(tmp_path, rows, change, said):
    path = workbook(tmp_path / "t.xlsx", rows, change=change or (lambda sheet: None))
    with pytest.raises(cw.InputError, match=said) as refusal:
        cw.read(path, **DIMS)
    assert "t.xlsx" in str(refusal.value)


def test_what_is_no_workbook_is_told(tmp_path):
    (tmp_path / "t.xlsx").write_text(LONG)
    with pytest.raises(
        cw.InputError, match=r"t\.xlsx: not readable as an Excel file \(BadZipFile\); save it as \.xlsx or CSV$"
    ):
        cw.read(tmp_path / "t.xlsx", **DIMS)


# ---- wide tables ---------------------------------------------------------------------------------------------------------------------------


def test_a_wide_table_is_the_long_one(tmp_path):
    (tmp_path / "w.csv").write_text(WIDE)
    workbook(tmp_path / "w.xlsx", [["region", "f", "m"], ["N", 3, 4], ["S", 5, 6]])
    pl.DataFrame({"region": ["N", "S"], "f": [3, 5], "m": [4, 6]}).write_parquet(tmp_path / "w.parquet")
    long = cells(plain(tmp_path))
    for name in ("w.csv", "w.xlsx", "w.parquet"):
        assert cells(cw.read(tmp_path / name, across="sex", **DIMS)) == long
    frames = (
        {"region": ["N", "S"], "f": [3, 5], "m": [4, 6]},
        pd.read_csv(tmp_path / "w.csv"),
        pl.read_csv(tmp_path / "w.csv"),
    )
    for frame in frames:
        assert cells(cw.Table.from_frame(frame, across="sex", **DIMS)) == long
    indexed = pd.read_csv(tmp_path / "w.csv").set_index("region")
    assert cells(cw.Table.from_frame(indexed, across="sex", **DIMS)) == long


def test_an_empty_entry_of_a_wide_table_is_no_cell(tmp_path):
    (tmp_path / "w.csv").write_text("region;f;m;Total\nN;3,5;;3,5\nS;5,0;6,25;11,25\n")
    table = cw.read(tmp_path / "w.csv", across="sex", decimal=",", **DIMS)
    assert ("N", "m") not in cells(table)
    assert cells(table)["Total", "Total"] == 14.75


@pytest.mark.parametrize(
    ("text", "options", "said"),
    [
        (WIDE, {"across": "age"}, r"across='age' is not among the dims region, sex; name the dimension whose codes are columns$"),
        (LONG, {"across": "sex"}, r"across='sex': there is a column of this name, so the table is long already; leave across out$"),
        ("region\nN\n", {"across": "sex"}, r"there is no column besides region that could be one of its codes$"),
        (WIDE, {"across": "sex", "status": "f"}, r"across: a wide table has a column a code, and none for status; give a long table"),
        (WIDE, {"across": "region", "dims": ["region"]}, r"across='region' is the only dimension; name the other ones too"),
        ("region,f,m\nN,3,x\n", {"across": "sex"}, r"w\.csv line 2, column m: 'x' is not a number"),
        ("region,f,m\nN,3,4\nN,5,6\n", {"across": "sex"}, r"w\.csv line 2 and .*w\.csv line 3: the cell \(N, f\) occurs twice"),
        (WIDE, {"across": "sex", "labels": {"sex": "f"}}, r"labels: the codes of sex are columns; give its labels as a mapping$"),
    ],
)  # fmt: skip
def test_wide_tables_that_are_none_are_told(tmp_path, text, options, said):
    (tmp_path / "w.csv").write_text(text)
    with pytest.raises(cw.InputError, match=said):
        cw.read(tmp_path / "w.csv", **{**DIMS, **options})


# ---- labels --------------------------------------------------------------------------------------------------------------------------------


LABELLED = "region,name,sex,n\nN,North,f,3\nN,North,m,4\nS,,f,5\nS,South,m,6\n"


def test_labels_come_from_columns_mappings_and_hierarchies(tmp_path):
    (tmp_path / "t.csv").write_text(LABELLED)
    table = cw.read(tmp_path / "t.csv", labels={"region": "name", "sex": {"f": "women"}}, **DIMS)
    words = table.labels.word_columns()
    assert set(words["region label"]) == {"North", "South", "Total"}
    assert set(words["sex label"]) == {"women", "m", "Total"}
    (tmp_path / "h.csv").write_text(
        "A10,A10 label,A21,A21_label\nN,North,N1,North one\nN,North,N2,\nS,South,S1,South one\n"
    )
    hierarchy = cw.Hierarchy.from_file(tmp_path / "h.csv")
    assert hierarchy.sums == (("Total", ("N", "S")), ("N", ("N1", "N2")), ("S", ("S1",)))
    assert hierarchy.labels == {"N": "North", "S": "South", "N1": "North one", "S1": "South one"}
    assert hierarchy.adding("X").merge(cw.Hierarchy.flat(["N", "S"], total="Total")).labels == hierarchy.labels
    frame = {"region": ["N1", "S1"], "n": [3, 4]}
    options = {"dims": ["region"], "value": "n", "hierarchies": {"region": hierarchy}}
    found = cw.Table.from_frame(frame, labels={"region": {"N": "the north"}}, **options).labels.word_columns()
    assert set(found["region label"]) == {"Total", "the north", "North one", "South", "South one"}


def test_records_say_what_their_codes_are_called():
    records = {"region": ["N", "N", "S"], "name": ["North", None, "South"], "sex": ["f", "m", "f"]}
    table = cw.Table.from_microdata(records, dims="region + sex", labels={"region": "name"})
    assert set(table.labels.word_columns()["region label"]) == {"North", "South", "Total"}
    first, second = cw.ControlledRounding(5).protect(table, key=key_of("labels")).release().tables()
    assert "region label" in first.to_pandas().columns
    assert "region label" not in second.to_pandas().columns
    linked = cw.link(
        table, cw.Table.from_microdata({"region": ["N", "N", "S"], "age": ["o", "y", "o"]}, dims=["region", "age"])
    )
    assert set(linked.labels.word_columns()["region label"]) == {"North", "South", "Total"}


@pytest.mark.parametrize(
    ("labels", "said"),
    [
        ({"region": "title"}, "there is no column 'title'"),
        ({"area": "name"}, "labels: 'area' is not among the dimensions region, sex; name one of them"),
        ({"region": "sex"}, "labels: the column 'sex' is a dimension itself; name another, or leave it out"),
        ({"region": {"N": 3}}, "labels: region needs the name of a column, or a mapping from codes to labels, as text"),
        ("name", "labels='name': give a mapping from dimensions to a column or to labels by code"),
        ({"region": "two"}, r"the code 'N' of region is called 'Nor(th|d)' and 'Nor(d|th)'; give each code one label"),
    ],
)
def test_labels_that_cannot_be_are_told(labels, said):
    frame = {"region": ["N", "N"], "sex": ["f", "m"], "n": [1, 2], "name": ["North"] * 2, "two": ["North", "Nord"]}
    for make in (
        lambda: cw.Table.from_frame(frame, labels=labels, **DIMS),
        lambda: cw.Table.from_microdata(frame, dims=["region", "sex"], labels=labels),
    ):
        with pytest.raises(cw.InputError, match=said):
            make()


def test_labels_are_carried_through_every_step_and_change_nothing_that_is_certified(tmp_path):
    (tmp_path / "t.csv").write_text(LABELLED)
    key = key_of("carried")
    results = [
        cw.ControlledRounding(5).protect(cw.read(tmp_path / "t.csv", labels=labels, **DIMS), key=key)
        for labels in (None, {"region": "name"})
    ]
    releases = [p.release() for p in results]
    assert releases[0].to_csv() == releases[1].to_csv()
    assert releases[0].digest == releases[1].digest
    labelled = results[1]
    for frame in (
        labelled.to_pandas(),
        labelled.audit().to_pandas(),
        releases[1].to_pandas(),
        labelled.join({"region": ["N"], "sex": ["f"]}),
    ):
        assert "region label" in frame or "name" not in frame
    written = cw.write(cw.read(tmp_path / "t.csv", labels={"region": "name"}, **DIMS), tmp_path / "out.csv")
    again = cw.read(written, dims=["region", "sex"], value="value", labels={"region": "region label"})
    assert set(again.labels.word_columns()["region label"]) == {"North", "South", "Total"}
    parquet = cw.write(again, tmp_path / "out.parquet")
    assert (
        cw.read(parquet, dims=["region", "sex"], value="value", labels={"region": "region label"}).labels.words
        == again.labels.words
    )


# ---- on the command line and in jobs -------------------------------------------------------------------------------------------------------


def run(*arguments, folder):
    command = [sys.executable, "-c", "from cellward.cli import main; main()", *map(str, arguments)]
    return subprocess.run(command, capture_output=True, text=True, check=False, cwd=folder)


def test_the_command_line_takes_them_all(tmp_path):
    workbook(
        tmp_path / "t.xlsx",
        [["region", "name", "f", "m"], ["N", "North", 13, 4], ["S", "South", 5, 6]],
        title="cells",
        others=["notes"],
    )
    wide = (
        "t.xlsx",
        "--dims",
        "region,sex",
        "--value",
        "n",
        "--across",
        "sex",
        "--labels",
        "region=name",
        "--sheet",
        "cells",
    )
    done = run("round", *wide, "--base", "5", "--out", "out", "--format", "markdown", folder=tmp_path)
    assert done.returncode == 0, done.stderr
    assert "| North |" in (tmp_path / "out" / "release.md").read_text()
    assert "North" not in (tmp_path / "out" / "release.csv").read_text()
    (tmp_path / "r.csv.gz").write_bytes(gzip.compress(b"region,name\nN,North\nN,North\nS,South\n", mtime=0))
    done = run("tabulate", "r.csv.gz", "--dims", "region", "--labels", "region=name", "--out", "c.csv", folder=tmp_path)
    assert done.returncode == 0, done.stderr
    assert (tmp_path / "c.csv").read_text().splitlines()[0].startswith("region,region label,value")


def test_jobs_take_them_all(tmp_path):
    workbook(tmp_path / "t.xlsx", [["region", "f", "m"], ["N", 13, 4], ["S", 5, 6]], title="cells", others=["notes"])
    job = '[input]\nfile = "t.xlsx"\nkind = "table"\nsheet = "cells"\n[roles]\ndims = ["region", "sex"]\nvalue = "n"\nacross = "sex"\n'
    job += 'labels = {region = {N = "North"}}\n[method]\nname = "round"\nbase = 5\n[output]\nfolder = "out"\nformats = ["json-stat"]\n'
    (tmp_path / "job.toml").write_text(job)
    done = run("run", "job.toml", folder=tmp_path)
    assert done.returncode == 0, done.stderr
    said = json.loads((tmp_path / "out" / "release.jsonstat.json").read_text())
    assert said["dimension"]["region"]["category"]["label"]["N"] == "North"
