"""File formats: JJ, CSV and Parquet, read, written and read again; whole files or none."""

from __future__ import annotations

import csv
import os
import random
import stat
from decimal import Decimal

import numpy as np
import pandas as pd
import polars as pl
import pytest
from bank import BANK

import cellward as cw
from cellward.exact import NO_BOUND
from cellward.files.whole import write_whole
from cellward.registry import read, write

SMALL = """0
4
0 3 1 u 0 100 1 2 3
1 4 2.5 s 0 100 0 0 0
2 0 1 m -5 7 0 0 0
3 7 1 z 7 7 0 0 0
1
0 4 : 3 (-1) 0 (1) 1 (1) 2 (1)
"""


def facts(table, *, bounds=True):
    """Everything a file can say of a table, with its unit taken out (so 3 and 3.00 are the same)."""
    unit = Decimal(1).scaleb(-table.decimals)

    def column(scaled):
        return [None if abs(x) == NO_BOUND else (x * unit).normalize() for x in scaled.tolist()]

    s, r = table.sensitivity, table.relations
    weight = (
        None if table.weight is None else [Decimal(w).scaleb(-table.weight_decimals) for w in table.weight.tolist()]
    )
    sums = []
    for j in range(r.equations):
        rhs, members, coefs = r.equation(j)
        sums.append(((rhs * unit).normalize(), tuple(zip(members, coefs, strict=True))))
    return {
        "values": column(table.scaled),
        "bounds": (column(table.lower), column(table.upper)) if bounds else None,
        "status": s.status.tolist(),
        "levels": [column(level) for level in (s.lpl, s.upl, s.spl)],
        "weight": weight or [Decimal(1)] * table.cells,
        "sums": sorted(set(sums)),  # linked tables state the sums of a shared margin once each
    }


def put(path, text):
    path.write_bytes(text if isinstance(text, bytes) else text.encode())
    return path


# ---- JJ ----------------------------------------------------------------------------------------------------------------------------------


def test_jj_reads_every_column_and_status_letter(tmp_path):
    table = read(put(tmp_path / "t.jj", SMALL))
    assert table.values.tolist() == [3, 4, 0, 7]
    assert table.sensitivity.status.tolist() == [1, 0, 2, 3]
    assert (table.weight.tolist(), table.weight_decimals) == ([10, 25, 10, 10], 1)
    assert table.lower.tolist() == [0, 0, -5, 7]
    assert table.upper.tolist() == [100, 100, 7, 7]
    assert [level[0] for level in (table.sensitivity.lpl, table.sensitivity.upl, table.sensitivity.spl)] == [1, 2, 3]
    assert table.relations.equation(0) == (0, [0, 1, 2, 3], [1, 1, 1, -1])
    assert read(put(tmp_path / "T.JJ", SMALL.replace(" u ", " U "))).sensitive.tolist() == [0]


@pytest.mark.parametrize("first", ["0", "-1", "2", "3", "4", "-4"])
def test_jj_first_lines_that_occur(tmp_path, first):
    assert read(put(tmp_path / "t.jj", SMALL.replace("0\n", f"{first}\n", 1))).cells == 4


@pytest.mark.parametrize("first", ["1", "5", "00", "0.0", "cells", "0 0"])
def test_jj_other_first_lines_are_refused(tmp_path, first):
    with pytest.raises(cw.InputError, match=r"t\.jj line 1: a JJ file starts with a line 0"):
        read(put(tmp_path / "t.jj", SMALL.replace("0\n", f"{first}\n", 1)))


@pytest.mark.parametrize(
    "change",
    [
        lambda text: text.replace("\n", "\r\n"),
        lambda text: text.replace("\n", "\r\r\n"),
        lambda text: text.replace("\n", "\r"),
        lambda text: "\ufeff" + text,
        lambda text: text.replace("\n", "\n\n  \n"),
        lambda text: "\n" + text.rstrip("\n"),
        lambda text: text.replace(" ", "\t"),
        lambda text: text.replace(" ", "   ").replace("\n", "  \n"),
        lambda text: text.replace(" (", "("),
        lambda text: text.replace("4 :", "4:").replace("(", "( ").replace(")", " )"),
        lambda text: text.replace("(1)", "(+1)").replace("(-1)", "(-1.0)"),
    ],
    ids=["CRLF", "CRCRLF", "CR", "BOM", "blank lines", "no last newline", "tabs", "blanks", "tight", "loose", "coefficients"],
)  # fmt: skip
def test_jj_habits_of_real_files(tmp_path, change):
    assert facts(read(put(tmp_path / "t.jj", change(SMALL)))) == facts(read(put(tmp_path / "u.jj", SMALL)))


def test_jj_errors_count_the_files_own_lines(tmp_path):
    text = SMALL.replace("\n", "\r\r\n").replace("1 4 2.5", "\r\r\n1 x 2.5")
    with pytest.raises(cw.InputError, match=r"t\.jj line 5, column value: 'x' is not a number"):
        read(put(tmp_path / "t.jj", text))


def test_jj_right_hand_sides_decimals_and_repeated_cells(tmp_path):
    text = "0\n2\n0 1.50 1 s -3.25 9 0.125 0 0\n1 -2 1 u -9 9 0.125 0 0\n2\n-3.5 2 : 0 (1) 1 (2.5)\n"
    with pytest.raises(cw.InputError, match=r"equation 0 has the coefficient 2.5; coefficients are whole numbers"):
        read(put(tmp_path / "t.jj", text))
    text = text.replace("2\n-3.5 2 : 0 (1) 1 (2.5)\n", "2\n-2.5 2 : 0 (1) 1 (2)\n1.5 2 : 0 (2) 0 (-1)\n")
    table = read(put(tmp_path / "t.jj", text))
    assert (table.decimals, table.scaled.tolist()) == (1, [15, -20])
    assert [table.relations.equation(j) for j in range(2)] == [(-25, [0, 1], [1, 2]), (15, [0], [1])]
    assert table.sensitivity.lpl.tolist() == [2, 2]  # 0.125 rounded up to tenths
    assert table.lower.tolist() == [-32, -90]  # −3.25 rounded up to tenths
    assert read(tmp_path / "t.jj", decimals=3).sensitivity.lpl.tolist() == [125, 125]
    assert facts(read(write(table, tmp_path / "u.jj"))) == facts(table)


@pytest.mark.parametrize("decimals", [0, 2])
def test_jj_keeps_the_absence_of_bounds(tmp_path, decimals):
    table = cw.Table.from_equations(
        ["1.25", "2", "3.25"] if decimals else [1, 2, 3], [[1, 1, -1]], lower=[None, -4, 0], upper=[None, 9, None]
    )
    again = read(write(table, tmp_path / "t.jj"))
    assert again.lower.tolist() == table.lower.tolist()
    assert again.upper.tolist() == table.upper.tolist()
    assert facts(again) == facts(table)


def test_jj_keeps_the_absence_of_bounds_of_whole_values_with_decimals(tmp_path):
    table = cw.Table.from_equations([1, 2, 3], [[1, 1, -1]], lower=None, decimals=2)
    assert facts(read(write(table, tmp_path / "t.jj"))) == facts(table)


@pytest.mark.parametrize("name", BANK)
def test_jj_holds_every_table_of_the_bank(tmp_path, name):
    table = BANK[name]()
    again = read(write(table, tmp_path / "t.jj"))
    assert facts(again) == facts(table)
    assert again.decimals == table.decimals
    write(again, tmp_path / "u.jj")
    assert (tmp_path / "u.jj").read_bytes() == (tmp_path / "t.jj").read_bytes()


def test_jj_takes_decimals_only(tmp_path):
    path = put(tmp_path / "t.jj", SMALL)
    assert read(path, decimals=2).decimals == 2
    with pytest.raises(cw.InputError, match=r"says itself what its columns are; leave out dims, value"):
        read(path, dims=["a"], value="n")


@pytest.mark.parametrize(
    ("old", "new", "words"),
    [
        ("\n4\n", "\nfour\n", r"line 2: 'four' is not the number of cells"),
        ("\n4\n", "\n-4\n", r"line 2: '-4' is not the number of cells"),
        ("\n4\n", "\n0\n", r"line 2: the table has no cells"),
        ("\n4\n", "\n99999999999999999999\n", r"line 2: .* is not the number of cells"),
        ("\n4\n", "\n5\n", r"line 7: cell 4 has 1 entries, not the 9"),
        ("\n4\n", "\n3\n", r"line 6: '3 7 1 z 7 7 0 0 0' is not the number of equations"),
        ("1 4 2.5", "2 4 2.5", r"line 4: the cell index is '2' where 1 should stand"),
        (" u ", " q ", r"line 3, column status: the status 'q' is not known"),
        ("0 100 1 2 3", "0 100 -1 2 3", r"t\.jj: lpl: the level of cell 0 is negative"),
        ("2.5", "-2.5", r"line 4, column weight: a negative weight"),
        ("1 4 2.5", "1 4e 2.5", r"line 4, column value: '4e' is not a number"),
        ("3 7 1", "3 8 1", r"t\.jj: equation 0, cell 3 = cell 0 .* does not add up: difference 1"),
        ("-5 7", "1 7", r"t\.jj: cell 2: its value is below its lower bound 1"),
        ("0 4 : 3", "1 4 : 3", r"does not add up"),
        ("0 4 : 3", "0 5 : 3", r"line 8: equation 0 announces 5 terms and holds 4"),
        ("3 (-1)", "9 (-1)", r"line 8: equation 0 names cell '9', which does not exist; the cells are 0 to 3"),
        ("3 (-1)", "-1 (-1)", r"names cell '-1'"),
        ("3 (-1)", "3 -1", r"line 8: equation 0 is not of the form"),
        ("3 (-1)", "3 (x)", r"line 8, equation 0: 'x' is not a number"),
        (" : ", " ", r"line 8: equation 0 is not of the form"),
        ("2 (1)\n", "2 (1)\nmore\n", r"line 9: text after the last equation"),
    ],
)
def test_jj_errors_name_the_place(tmp_path, old, new, words):
    assert old in SMALL
    with pytest.raises(cw.InputError, match=words) as caught:
        read(put(tmp_path / "t.jj", SMALL.replace(old, new, 1)))
    assert str(tmp_path / "t.jj") in str(caught.value)
    assert "\n" not in str(caught.value)


# ---- CSV ---------------------------------------------------------------------------------------------------------------------------------

ROWS = [["region", "sex", "n", "risk"], ["North", "F", "1.5", "u"], ["North", "M", "2", ""], ["South", "F", "3", "z"]]
SPEC = {"dims": ["region", "sex"], "value": "n", "status": "risk"}


@pytest.mark.parametrize("separator", [",", ";", "\t", "|"])
@pytest.mark.parametrize("end", ["\n", "\r\n", "\r\r\n"])
@pytest.mark.parametrize("quoted", [False, True])
def test_csv_separators_line_ends_and_quotes(tmp_path, separator, end, quoted):
    lines = [separator.join(f'"{x}"' if quoted else x for x in row) for row in ROWS]
    path = put(tmp_path / "t.csv", end.join(lines) + end)
    for table in (read(path, **SPEC), read(path, separator=separator, **SPEC)):
        assert table.labels.columns()["region"][:3] == ["North", "North", "South"]
        assert table.scaled.tolist()[:3] == [15, 20, 30]
        assert table.sensitivity.status.tolist()[:3] == [1, 0, 3]


def test_csv_names_and_codes_may_hold_separators_quotes_and_line_ends(tmp_path):
    codes = ["a,b", 'say "x"', "two\nlines", " padded ", "ü", "01", "1"]
    table = cw.Table.from_frame({"the, code": codes, "n": [1] * 7}, dims=["the, code"], value="n")
    again = read(write(table, tmp_path / "t.csv"), dims=["the, code"], value="value", separator=",")
    assert again.labels.columns() == table.labels.columns()
    assert facts(again) == facts(table)


@pytest.mark.parametrize("encoding", ["utf-8", "utf-8-sig", "latin-1"])
def test_csv_encodings(tmp_path, encoding):
    path = put(tmp_path / "t.csv", "Größe,n\nklein,1\ngroß,2\n".encode(encoding))
    assert read(path, dims=["Größe"], value="n").labels.columns()["Größe"] == ["klein", "groß", "Total"]


def test_csv_blank_lines_and_extra_columns_are_passed_over(tmp_path):
    path = put(tmp_path / "t.csv", "note,a,n\n\nx y,p,1\n\nz,q,2\n\n")
    assert read(path, dims=["a"], value="n").values.tolist() == [1, 2, 3]


@pytest.mark.parametrize(
    ("text", "words"),
    [
        ("a,n\np,1\nq,zwei\n", r"t\.csv line 3, column n: 'zwei' is not a number"),
        ('a,n\n"p\nq",1\nr,zwei\n', r"t\.csv line 4, column n: 'zwei'"),
        ("a,n\np,1\nq\n", r"t\.csv line 3: 1 fields where the header has 2"),
        ("a,n\np,1,2\n", r"t\.csv line 2: 3 fields where the header has 2"),
        ('a,n\n"p,1\n', r"t\.csv line 2: not readable as CSV"),
        ('a,n\n"p"x,1\n', r"t\.csv line 2: not readable as CSV"),
        ("a,n,n\np,1,1\n", r"t\.csv: the column 'n' occurs twice"),
        ("a,m\np,1\n", r"t\.csv: there is no column 'n'; the columns are 'a', 'm'"),
        ("a,n\np,1\nq,1\np,1\n", r"t\.csv line 2 and .*t\.csv line 4: the cell \(p\) occurs twice"),
        ("a,n\np,1\n,1\n", r"t\.csv line 3, column a: no code"),
        ("a,n\np,\n", r"t\.csv line 2, column n: '' is not a number; fill in a value or leave the cell out"),
        (
            "a,n\np,1\nTotal,2\n",
            r"t\.csv: equation 0, \(Total\) = \(p\), does not add up: difference 1",
        ),
    ],
)
def test_csv_errors_name_the_place(tmp_path, text, words):
    with pytest.raises(cw.InputError, match=words):
        read(put(tmp_path / "t.csv", text), dims=["a"], value="n")


# ---- CSV and Parquet hold tables with named dimensions -------------------------------------------------------------------------------------


def hierarchies_of(name):
    """The hierarchies that the bank builds this table with."""
    if name == "hierarchical":
        return {"region": cw.Hierarchy.from_dict({"Total": {"North": ["N1", "N2", "N3"], "South": ["S1", "S2"]}})}
    if name == "overlapping":
        nested = {"Total": {"North": ["N1", "N2"], "South": ["S1", "S2"]}, "East": ["N2", "S2"], "West": ["N1", "S1"]}
        return {"region": cw.Hierarchy.from_dict(nested)}
    if name == "partitions_of_a_total":
        return {"who": cw.Hierarchy((("total", ("male", "female")), ("total", ("young", "adult"))))}
    return {}


@pytest.mark.parametrize("extension", ["csv", "parquet"])
@pytest.mark.parametrize("name", [name for name, make in BANK.items() if make().labels.dims])
def test_long_files_hold_every_table_of_the_bank_with_dimensions(tmp_path, name, extension):
    """Bounds have no column in a long table: they are given again on reading."""
    table = BANK[name]()
    path = write(table, tmp_path / f"t.{extension}")
    again = read(
        path,
        dims=list(table.labels.dims),
        value="value",
        status="status",
        hierarchies=hierarchies_of(name),
        totals="given",
        lower=None,
    )
    assert again.labels.columns() == table.labels.columns()
    assert facts(again, bounds=False) == facts(table, bounds=False)


@pytest.mark.parametrize("extension", ["csv", "parquet"])
@pytest.mark.parametrize("seed", range(6))
def test_long_files_hold_levels_weights_and_decimals(tmp_path, extension, seed):
    rng = random.Random(seed)
    size = rng.randint(1, 5)
    decimals = rng.choice([0, 1, 7])
    frame = {
        "a": [f"c{k}" for k in range(size)],
        "n": [str(Decimal(rng.randint(0, 10**9)).scaleb(-decimals)) for _ in range(size)],
        "s": [rng.choice("sumz") for _ in range(size)],
        "l": [str(Decimal(rng.randint(0, 99)).scaleb(-decimals)) for _ in range(size)],
        "w": [str(Decimal(rng.randint(0, 99)).scaleb(-2)) for _ in range(size)],
    }
    columns = {"status": "s", "lpl": "l", "upl": "l", "cost": "w"}
    table = cw.Table.from_frame(frame, dims=["a"], value="n", decimals=decimals, **columns)
    path = write(table, tmp_path / f"t.{extension}")
    given = {"status": "status", "cost": "cost"}
    if table.sensitivity.lpl.any():
        given |= {"lpl": "lpl", "upl": "upl"}
    assert facts(read(path, dims=["a"], value="value", decimals=decimals, **given)) == facts(table)


def test_bare_cells_are_called_by_number_in_a_long_file(tmp_path):
    table = cw.Table.from_equations([7, 4, 11], [[1, 1, -1]], weight=[1, 10, 3])
    with write(table, tmp_path / "t.csv").open(newline="") as file:
        assert list(csv.DictReader(file)) == [
            {"cell": "0", "value": "7", "status": "s", "cost": "1"},
            {"cell": "1", "value": "4", "status": "s", "cost": "10"},
            {"cell": "2", "value": "11", "status": "s", "cost": "3"},
        ]


def test_a_dimension_called_as_a_column_to_be_written(tmp_path):
    table = cw.Table.from_array([1, 2], dims=["status"])
    for extension in ("csv", "parquet"):
        path = write(table, tmp_path / f"t.{extension}")
        again = cw.read(path, dims=["status"], value="value", status="cell status")
        assert again.values.tolist() == table.values.tolist()
        assert again.labels.columns() == table.labels.columns()


# ---- Parquet of others ---------------------------------------------------------------------------------------------------------------------


@pytest.mark.parametrize("writer", ["pandas", "polars"])
@pytest.mark.parametrize(
    ("column", "scaled"),
    [
        ([1, 2, 3], [1, 2, 3]),
        ([0.1, 0.2, 0.3], [1, 2, 3]),
        ([1e-5, 2e-5, 3e-5], [1, 2, 3]),
        ([1e6, 2e6, 3e6], [1000000, 2000000, 3000000]),
        (["0.10", "0.25", "0.35"], [10, 25, 35]),
        ([Decimal("0.10"), Decimal("0.25"), Decimal("0.35")], [10, 25, 35]),
        (np.array([1, 2, 3], np.int16), [1, 2, 3]),
        (np.array([0.5, 0.25, 0.75], np.float32), [50, 25, 75]),
    ],
    ids=["int", "float", "small float", "large float", "text", "decimal", "int16", "float32"],
)
def test_parquet_files_of_pandas_and_polars(tmp_path, writer, column, scaled):
    data = {"year": [2001, 2002, 3000], "sex": ["F", "F", "F"], "n": column}
    path = tmp_path / "t.parquet"
    if writer == "pandas":
        pd.DataFrame(data).to_parquet(path)
    else:
        pl.DataFrame(data).write_parquet(path)
    table = read(path, dims=["year", "sex"], value="n", total={"year": "3000", "sex": "Total"})
    assert table.scaled.tolist()[:3] == scaled
    assert sorted(table.scaled.tolist()[3:]) == sorted(scaled)
    assert table.labels.columns()["year"][:3] == ["2001", "2002", "3000"]


@pytest.mark.parametrize(
    ("data", "words"),
    [
        ({"a": ["x", "y"], "n": [1, None]}, r"t\.parquet row 2, column n: no value"),
        ({"a": ["x", None], "n": [1, 2]}, r"t\.parquet row 2, column a: no code"),
        ({"a": ["x", "y"], "n": [1.0, float("nan")]}, r"t\.parquet row 2, column n: 'nan' is not a number"),
        ({"a": ["x", "y"], "n": [True, False]}, r"t\.parquet row 1, column n: 'true' is not a number"),
        ({"a": ["x", "x"], "n": [1, 2]}, r"t\.parquet row 1 and .*t\.parquet row 2: the cell \(x\) occurs twice"),
        ({"a": ["x"], "m": [1]}, r"t\.parquet: there is no column 'n'; the columns are 'a', 'm'"),
        ({"a": [], "n": []}, r"t\.parquet: there is a header but no rows"),
    ],
)
def test_parquet_errors_name_the_place(tmp_path, data, words):
    pl.DataFrame(data).write_parquet(tmp_path / "t.parquet")
    with pytest.raises(cw.InputError, match=words):
        read(tmp_path / "t.parquet", dims=["a"], value="n")


@pytest.mark.parametrize(
    "content", [b"", b"PAR1", b"not parquet at all, but long enough to look at", b"PAR1" + bytes(64) + b"PAR1"]
)
def test_what_is_not_parquet_is_refused_in_a_sentence(tmp_path, content):
    with pytest.raises(cw.InputError, match=r"t\.parquet: not readable as Parquet") as caught:
        read(put(tmp_path / "t.parquet", content), dims=["a"], value="n")
    assert "\n" not in str(caught.value)


def test_parquet_names_with_quotes_and_paths_with_patterns(tmp_path):
    folder = tmp_path / "it's [a] *folder*"
    folder.mkdir()
    table = cw.Table.from_array([[1, 2]], dims=['a "b"', "c'd"])
    path = write(table, folder / "t[1]?.parquet")
    again = read(path, dims=['a "b"', "c'd"], value="value")
    assert again.labels.columns() == table.labels.columns()
    assert facts(again) == facts(table)


def test_parquet_refuses_names_that_differ_only_in_case(tmp_path):
    table = cw.Table.from_array([[1, 2]], dims=["Value", "STATUS"])
    with pytest.raises(cw.InputError, match="differ only in case"):
        write(table, tmp_path / "t.parquet")
    assert not list(tmp_path.iterdir())


def test_parquet_holds_as_many_decimals_as_a_table_may_have(tmp_path):
    table = cw.Table.from_frame({"a": ["x"], "n": ["0.00000000000000000001"]}, dims=["a"], value="n")
    assert facts(read(write(table, tmp_path / "t.parquet"), dims=["a"], value="value")) == facts(table)


# ---- which format, and files whole or not at all -----------------------------------------------------------------------------------------


@pytest.mark.parametrize("name", ["t.ods", "t", "t.jj.txt.bak", ".jj"])
def test_unknown_extensions_are_refused(tmp_path, name):
    with pytest.raises(cw.InputError, match=r"is not known; use \.jj"):
        read(put(tmp_path / name, SMALL))
    with pytest.raises(cw.InputError, match=r"is not known; use \.jj"):
        write(cw.Table.from_array([1]), tmp_path / "u.xlsx")


def test_long_files_need_dims_and_value(tmp_path):
    with pytest.raises(cw.InputError, match="name the dimension columns and the value column with dims= and value="):
        read(put(tmp_path / "t.csv", "a,n\nx,1\n"))


def break_replace(monkeypatch):
    def broken(*_arguments, **_options):
        raise OSError(28, "No space left on device")

    monkeypatch.setattr(os, "replace", broken)


@pytest.mark.parametrize("extension", ["jj", "csv", "parquet"])
def test_a_failed_write_leaves_the_old_file_and_nothing_else(tmp_path, monkeypatch, extension):
    path = put(tmp_path / f"t.{extension}", "old")
    break_replace(monkeypatch)
    with pytest.raises(cw.InputError, match=r"t\.\w+: cannot be written \(No space left on device\)"):
        write(cw.Table.from_array([1, 2]), path)
    assert [(p.name, p.read_text()) for p in tmp_path.iterdir()] == [(path.name, "old")]


def test_a_failed_write_of_parquet_leaves_the_old_file_and_nothing_else(tmp_path, monkeypatch):
    path = put(tmp_path / "t.parquet", "old")
    break_replace(monkeypatch)
    with pytest.raises((cw.InputError, OSError)):
        write(cw.Table.from_array([1, 2]), path)
    assert [(p.name, p.read_text()) for p in tmp_path.iterdir()] == [("t.parquet", "old")]


def test_release_and_certificate_are_written_whole_or_not_at_all(tmp_path, monkeypatch):
    p = cw.ControlledRounding(5).protect(cw.Table.from_array([[3, 4], [5, 6]]))
    break_replace(monkeypatch)
    for save in (p.release().save, p.certificate().save):
        with pytest.raises(cw.InputError, match="cannot be written"):
            save(tmp_path / "file.csv")
    assert not list(tmp_path.iterdir())


def test_an_interrupted_write_leaves_nothing(tmp_path, monkeypatch):
    def interrupted(*_arguments):
        raise KeyboardInterrupt

    monkeypatch.setattr(os, "replace", interrupted)
    with pytest.raises(KeyboardInterrupt):
        write_whole(tmp_path / "t", b"data")
    assert not list(tmp_path.iterdir())


@pytest.mark.parametrize("extension", ["jj", "csv", "parquet"])
def test_a_folder_that_is_not_there_or_a_folder_as_file_is_refused(tmp_path, extension):
    table = cw.Table.from_array([1, 2])
    with pytest.raises(cw.InputError, match="cannot be written"):
        write(table, tmp_path / "none" / f"t.{extension}")
    (tmp_path / f"d.{extension}").mkdir()
    with pytest.raises(cw.InputError, match="cannot be written"):
        write(table, tmp_path / f"d.{extension}")
    assert [p.name for p in tmp_path.iterdir()] == [f"d.{extension}"]


@pytest.mark.parametrize("extension", ["jj", "csv", "parquet"])
def test_confidential_files_are_their_owners_alone(tmp_path, extension):
    path = write(cw.Table.from_array([1, 2]), tmp_path / f"t.{extension}")
    assert stat.S_IMODE(path.stat().st_mode) == 0o600


def test_the_release_follows_the_umask_and_the_certificate_is_private(tmp_path):
    p = cw.ControlledRounding(5).protect(cw.Table.from_array([[3, 4], [5, 6]]))
    before = os.umask(0o027)
    try:
        release, certificate = p.release().save(tmp_path / "r.csv"), p.certificate().save(tmp_path / "c.json.gz")
    finally:
        os.umask(before)
    assert stat.S_IMODE(release.stat().st_mode) == 0o640
    assert stat.S_IMODE(certificate.stat().st_mode) == 0o600
