"""Records as they come: whatever can be read adds up to what plain Python adds up; whatever cannot is refused in one sentence."""

from __future__ import annotations

import dataclasses
import datetime as dt
import gzip
import itertools
import os
import random
import re
from decimal import ROUND_HALF_UP, Decimal
from pathlib import Path

import duckdb
import numpy as np
import pandas as pd
import polars as pl
import pyarrow as pa
import pyarrow.parquet as pq
import pytest

import cellward as cw
from cellward.table.contributions import Parts
from cellward.tabulate.leaf_states import RecordNames

pytestmark = pytest.mark.usefixtures("one_instance")

A, B = ["a", "b"], [1, 2]
SMALL = {("Total",): 3, ("a",): 1, ("b",): 2}


def bug(why):
    """Known and reported; strict, so that the repair shows."""
    return pytest.mark.xfail(reason=why)


def build(rows, **options):
    options = {"dims": ["r"], "measure": "v", "threads": 1, **options}  # one thread: tests share a small machine
    return cw.Table.from_microdata(rows, **options)


def cells(table):
    """The cells by their codes, exactly."""
    found = {
        table.labels.tuple_of(i): Decimal(scaled).scaleb(-table.decimals)
        for i, scaled in enumerate(table.scaled.tolist())
    }
    assert len(found) == table.cells
    return found


def added(records, *, decimals=None):
    """What (codes…, amount) records come to in every cell of flat dimensions, by plain addition of decimals."""
    out = {}
    for *codes, amount in records:
        exact = Decimal(str(amount))
        if decimals is not None:
            exact = exact.quantize(Decimal(1).scaleb(-decimals), ROUND_HALF_UP)
        for cell in itertools.product(*((code, "Total") for code in codes)):
            out[cell] = out.get(cell, Decimal(0)) + exact
    return out


def file(folder, content, name="t.csv"):
    path = folder / name
    path.write_bytes(content if isinstance(content, bytes) else content.encode())
    return path


def refuses(words, rows, **options):
    """One printable line, not too long, that says these words."""
    with pytest.raises(cw.InputError) as caught:
        build(rows, **options)
    said = str(caught.value)
    assert re.search(words, said), said
    assert said.isprintable()
    assert len(said) < 600
    assert "Traceback" not in said
    return said


# ---- text files that can be read -----------------------------------------------------------------------------------------------------------

AB = [("a", 1), ("b", 2)]
READ = {
    "commas": ("r,v\na,1\nb,2\n", AB, {}),
    "semicolons": ("r;v\na;1\nb;2\n", AB, {}),
    "tabs": ("r\tv\na\t1\nb\t2\n", AB, {}),
    "bars": ("r|v\na|1\nb|2\n", AB, {}),
    "a separator of one's own": ("r^v\na^1\nb^2\n", AB, {"separator": "^"}),
    "no line end at the end": ("r,v\na,1\nb,2", AB, {}),
    "empty lines": ("r,v\n\na,1\n\n\nb,2\n\n", AB, {}),
    "CR": ("r,v\ra,1\rb,2\r", AB, {}),
    "CR LF": ("r,v\r\na,1\r\nb,2\r\n", AB, {}),
    "a byte-order mark": (b"\xef\xbb\xbfr,v\na,1\nb,2\n", AB, {}),
    "a byte-order mark before a quote": (b'\xef\xbb\xbf"r",v\na,1\nb,2\n', AB, {}),
    "UTF-8": ("r,v\né,1\n北,2\n\U0001f600,4\n", [("é", 1), ("北", 2), ("\U0001f600", 4)], {}),
    "Latin-1": ("r,v\né,1\nb,2\n".encode("latin-1"), [("é", 1), ("b", 2)], {}),
    "Latin-1 beyond the first megabyte": (
        b"r,v\n" + (b"a" * 2000 + b",1\n") * 600 + "é,2\n".encode("latin-1"),
        [("a" * 2000, 600), ("é", 2)],
        {},
    ),
    "a separator in quotes": ('r,v\n"a,x",1\nb,2\n', [("a,x", 1), ("b", 2)], {}),
    "a quote in quotes": ('r,v\n"a""x",1\n"""",2\n', [('a"x', 1), ('"', 2)], {}),
    "a quote inside a bare code": ('r,v\na"x"y,1\nb",2\n', [('a"x"y', 1), ('b"', 2)], {}),
    "a line end in quotes": ('r,v\n"a\nx",1\nb,2\n', [("a\nx", 1), ("b", 2)], {}),
    "other line ends in quotes": ('r,v\r\n"a\nx",1\r\n"b\ry",2\r\n', [("a\nx", 1), ("b\ry", 2)], {}),
    "numbers in quotes": ('r,v\na,"1"\nb,"2"\n', AB, {}),
    "decimal commas in quotes": ('r,v\na,"1,5"\nb,"2"\n', [("a", "1.5"), ("b", 2)], {"decimal": ","}),
    "blanks around codes": ("r,v\n a,1\na,2\na ,4\n", [(" a", 1), ("a", 2), ("a ", 4)], {}),
    "codes of blanks": ("r,v\n ,1\n  ,2\n", [(" ", 1), ("  ", 2)], {}),
    "codes that differ in case": ("r,v\na,1\nA,2\n", [("a", 1), ("A", 2)], {}),
    "codes that differ in composition": ("r,v\ne\u0301,1\n\u00e9,2\n", [("e\u0301", 1), ("\u00e9", 2)], {}),
    "codes that look like nothing": (
        "r,v\nNULL,1\nNone,2\nnull,4\nnan,8\nNA,16\n\\N,32\n",
        [("NULL", 1), ("None", 2), ("null", 4), ("nan", 8), ("NA", 16), ("\\N", 32)],
        {},
    ),
    "codes that look like numbers": ("r,v\n01,1\n1,2\n1.0,4\n1e0,8\n", [("01", 1), ("1", 2), ("1.0", 4), ("1e0", 8)], {}),
    "codes of single quotes and backslashes": ("r,v\na'b,1\n',2\n\\,4\n\"\\\",8\n", [("a'b", 1), ("'", 2), ("\\", 12)], {}),
    "codes of controls": ("r,v\n\x1b[2J,1\n\x0c,2\na\x85b,4\n", [("\x1b[2J", 1), ("\x0c", 2), ("a\x85b", 4)], {}),
    "codes that speak SQL": ("r,v\n'; DROP TABLE t; --,1\n$1,2\n?,4\n", [("'; DROP TABLE t; --", 1), ("$1", 2), ("?", 4)], {}),
    "a line that looks like a comment": ("r,v\n#a,1\n", [("#a", 1)], {}),
    "a NUL far down": (b"r,v\n" + b"b,2\n" * 3000 + b"a\0b,1\na\0c,4\n", [("b", 6000), ("a\0b", 1), ("a\0c", 4)], {}),
    "a code of a megabyte": (f"r,v\n{'x' * 1_000_000},1\n{'x' * 999_999}y,2\n", [("x" * 1_000_000, 1), ("x" * 999_999 + "y", 2)], {}),
    "columns nobody asked for, twice": ("r,v,x,x\na,1,,\nb,2,,\n", AB, {}),
    "names that differ in case": ("r,v,V,R\na,1,9,q\nb,2,9,q\n", AB, {}),
    "a measure that differs in case": ("r,V,v\na,9,1\nb,9,2\n", AB, {}),
    "a name in quotes": ('"r",v\na,1\nb,2\n', AB, {}),
    "a missing code, dropped": ("r,v\na,1\n,7\nb,2\n", AB, {"missing": "drop"}),
    "a missing code, kept": ("r,v\na,1\n,7\nb,2\n", [*AB, ("missing", 7)], {"missing": "keep"}),
    "declared missing codes, dropped": ("r,v\na,1\n9,7\nb,2\n", AB, {"missing": "drop", "missing_codes": {"r": ["9"]}}),
    "declared missing codes, kept": ("r,v\na,1\n9,7\nb,2\n", [*AB, ("9", 7)], {"missing": "keep", "missing_codes": {"r": ["9"]}}),
    "padded codes": ("r,v\n1,1\n12,2\n 1,4\n123,8\n", [(" 1", 5), ("12", 2), ("123", 8)], {"pad": {"r": 2}}),
}  # fmt: skip


@pytest.mark.parametrize("name", READ)
def test_what_can_be_read_adds_up(tmp_path, name):
    content, records, options = READ[name]
    assert cells(build(file(tmp_path, content), **options)) == added(records)


@pytest.mark.parametrize(
    "content",
    ["r,v\r\r\na,1\r\r\nb,2\r\r\n", "r,v\r\na,1\nb,2\r\n", "r,v\na,1\r\nb,2\n"],
    ids=["CR CR LF", "CR LF first", "LF first"],
)
def test_line_ends_of_several_kinds_add_up_or_are_named(tmp_path, content):
    try:
        table = build(file(tmp_path, content))
    except cw.InputError as error:
        assert "line end" in str(error)
    else:
        assert cells(table) == added(AB)


def test_records_without_a_measure_are_counted(tmp_path):
    path = file(tmp_path, "r,v\na,x\nb,\na,3\n")
    assert cells(build(path, measure=None)) == added([("a", 2), ("b", 1)])


def test_a_file_of_one_column_is_counted(tmp_path):
    assert cells(build(file(tmp_path, 'r\na\nb\na\n"a,b"\n'), measure=None)) == added([("a", 2), ("b", 1), ("a,b", 1)])


# ---- text files that cannot ----------------------------------------------------------------------------------------------------------------

TREE = cw.Hierarchy.from_dict({"Total": {"A": ["a1", "a2"], "B": ["b1"]}})
IN_TREE = {"hierarchies": {"r": TREE}}
BAD = {
    "a wrong separator": ("r,v\na,1\n", {"separator": ";"}, r"t\.csv: there is no column 'r'; it has r,v"),
    "a separator of two characters": ("r,v\na,1\n", {"separator": "::"}, r"separator='::': give one character"),
    "no separator": ("r,v\na,1\n", {"separator": ""}, r"separator='': give one character"),
    "UTF-16": ("r,v\na,1\n".encode("utf-16"), {}, r"t\.csv: not a text file in UTF-8 or Latin-1; save it as UTF-8"),
    "UTF-16 without a mark": ("r,v\na,1\n".encode("utf-16-be"), {}, r"t\.csv: not a text file .*save it as UTF-8"),
    "UTF-32": ("r,v\na,1\n".encode("utf-32"), {}, r"t\.csv: not a text file"),
    "a NUL": (b"r,v\na\0b,1\n", {}, r"t\.csv: not a text file"),
    "half a gzip": (gzip.compress(b"r,v\na,1\n")[:-9], {}, r"t\.csv: not readable as gzip; it is cut off or damaged: fetch it again"),
    "nothing": ("", {}, r"t\.csv: the file is empty; give a file of records"),
    "blanks": (" \n\n", {}, r"t\.csv: the file is empty"),
    "a header only": ("r,v\n", {}, r"t\.csv: there are no records; give at least one"),
    "a header without a line end": ("r,v", {}, r"t\.csv: there are no records"),
    "a short line": ("r,v\na,1\nb\n", {}, r"t\.csv line 3: 1 fields where the header has 2; check separators and quotes"),
    "a long line": ("r,v\na,1\nb,2,3\n", {}, r"t\.csv line 3: 3 fields where the header has 2"),
    "a shifted line": ("r,v\na,,1\n", {"blank": "zero"}, r"t\.csv line 2: 3 fields where the header has 2"),
    "an open quote": ('r,v\na,1\n"b,2\n', {}, r"t\.csv line 3: a quote is not closed"),
    "an open quote at the very end": ('r,v\na,1\nb,"2', {}, r"t\.csv line 3: a quote is not closed"),
    "text after a quote": ('r,v\n"a"b,1\n', {}, r"t\.csv line 2: .*text follows it; double the quotes"),
    "an open quote in the header": ('"r,v\na,1\n', {}, r"t\.csv"),
    "an empty first line": ("\nr,v\na,1\n", {}, r"t\.csv"),
    "a column that is not there": ("r,w\na,1\n", {}, r"t\.csv: there is no column 'v'; it has r, w"),
    "a column with blanks": (" r , v \na,1\n", {}, r"there is no column 'r'; did you mean ' r '"),
    "a column in another case": ("R,v\na,1\n", {}, r"there is no column 'r'; did you mean 'R'"),
    "a column twice": ("r,v,v\na,1,2\n", {}, r"t\.csv: 2 columns are called 'v'; rename all but one"),
    "10,001 columns": (",".join(["r", "v", *map(str, range(9_999))]) + "\n", {}, r"10,001 columns, more than 10,000"),
    "a name that speaks SQL": ("r,v\na,1\n", {"dims": ["r); DROP TABLE t; --"]}, r"there is no column 'r\); DROP TABLE t; --'"),
    "no code": ("r,v\na,1\n,2\n,3\n", {}, r"t\.csv record 2, column r \(and 1 more records\): no code; .*missing='drop' or missing='keep'"),
    "an empty code in quotes": ('r,v\n"",1\n', {}, r"record 1, column r: no code"),
    "a declared missing code": ("r,v\na,1\n9,2\n", {"missing_codes": {"r": ["9"]}}, r"record 2, column r: the code '9', which stands for a missing"),
    "a code of ours": ("r,v\na,1\n,2\nmissing,3\n", {"missing": "keep"}, r"record 3, column r: the code 'missing' is in the data and is ours"),
    "the total's own code": ("r,v\na,1\nTotal,2\n", {}, r"record 2, column r: the code 'Total' stands for the total.*total="),
    "a code that is not in the hierarchy": ("r,v\na1,1\nzz,2\nzy,4\n", IN_TREE, r"column r: the code 'z[yz]' is not in the hierarchy of r \(nor"),
    "a code with a quote that is not in the hierarchy": ("r,v\n';--,1\n", IN_TREE, r"record 1, column r: the code \"';--\" is not in the hierarchy"),
    "a parent's code": ("r,v\na1,1\nA,2\n", IN_TREE, r"record 2, column r: the code 'A' is a sum of others in the hierarchy of r"),
    "everything dropped for want of codes": ("r,v\n,1\n,2\n", {"missing": "drop"}, r"no record"),
    "everything dropped for want of values": ("r,v\na,\nb,\n", {"blank": "drop"}, r"t\.csv: no record is left; check what blank= and missing= drop"),
    "no value": ("r,v\na,1\nb,\n", {}, r"t\.csv record 2, column v: no value .*blank='drop' or blank='zero' \(--blank\)"),
    "a negative value": ("r,v\na,1\nb,-2\n", {}, r"t\.csv record 2, column v: a negative contribution .*negative='absolute'"),
    "a query": ("r,v\na,1\n", {"query": "t"}, r"query: only a DuckDB file or connection takes one; leave it out"),
}  # fmt: skip


@pytest.mark.parametrize("name", BAD)
def test_what_cannot_be_read_is_one_sentence(tmp_path, name):
    content, options, words = BAD[name]
    refuses(words, file(tmp_path, content), **options)


@pytest.mark.parametrize(
    ("content", "words"),
    [
        pytest.param("\n\nr,v\na,1\n", r"first line|header", marks=bug("DuckDB's own words: 'requires at least a single column'")),
        pytest.param(b"r,v\n\x80,1\n", r"save (it|the file) as UTF-8"),
        (f"r,v\n{'x' * 3_000_000},1\n", r"long|size"),
    ],
    ids=["empty lines first", "Windows-1252", "a code of three megabytes"],
)  # fmt: skip
def test_the_sentence_names_the_mistake(tmp_path, content, words):
    refuses(words, file(tmp_path, content))


LONG = bug("it is quoted at full length")


@pytest.mark.parametrize(
    ("rows", "options"),
    [
        ({"r": ["x" * 10_000], "v": [1]}, IN_TREE),
        ({"r": ["x" * 10_000], "v": [1]}, {"total": "x" * 10_000}),
        ({"r": ["x" * 10_000], "v": [1]}, {"missing_codes": {"r": ["x" * 10_000]}}),
        ({"x" * 10_000: ["a"], "v": [1]}, {}),
        pytest.param({"r": ["a"], "v": [1], "q": ["z" * 10_000]}, {"request": "q"}, marks=LONG),
        pytest.param(pd.DataFrame({"r": ["a"] * 500, "v": pd.Categorical([f"{i:030d}" for i in range(500)])}), {}, marks=LONG),
    ],
    ids=["unknown code", "total", "missing code", "column", "request", "categories"],
)  # fmt: skip
def test_sentences_stay_short(rows, options):
    refuses("", rows, **options)


@pytest.mark.parametrize("seed", range(2))
def test_damaged_files_add_up_as_python_reads_them_or_are_refused(tmp_path, seed):
    import csv as standard
    import io

    rng, whole = random.Random(seed), 'r,v\na,1\nb,2.5\n"c,x",4\n'
    for _ in range(25):
        data = bytearray(whole.encode())
        for _ in range(rng.randint(1, 3)):
            place = rng.randrange(len(data))
            kind = rng.randrange(3)
            if kind == 0:
                data[place] = rng.choice(b"a,\"\n.;0129e-+ \\'")
            elif kind == 1:
                del data[place : place + rng.randint(1, 3)]
            else:
                data[place:place] = rng.choice([b'"', b"\n", b"-", b"9" * 20, b"e9", b" ", b",", b".", b"''"])
            data = data or bytearray(b" ")
        path = file(tmp_path, bytes(data))
        try:
            table = build(path, missing="keep", blank="zero", negative="absolute", dims=["r"])
        except cw.InputError as error:
            assert len(str(error).splitlines()) == 1
        else:
            header, *rows = [row for row in standard.reader(io.StringIO(data.decode(), newline="")) if row]
            at = header.index("r"), header.index("v")
            records = [(row[at[0]] or "missing", row[at[1]].strip() or "0") for row in rows]
            if not any('"' in code for code, _ in records):  # blanks outside of quotes are read differently
                assert cells(table) == added(records), bytes(data)


# ---- numbers -------------------------------------------------------------------------------------------------------------------------------

NUMBERS = {
    "whole": (["1", "22", "+3"], {}),
    "decimals": (["0.1", "0.2", "1.50", "2.500"], {}),
    "exponents": (["1e3", "1E-2", "1.5e1", "100e-2", "1e+05", "12.25e1"], {}),
    "bare points": ([".5", "5."], {}),
    "zeros": (["0", "-0", "-0.0", "0e5", "00000000000000000000000000000000000000000", "0.000000000000000000000000000000000"], {}),
    "zeros in front": (["0" * 50 + "1", "007"], {}),
    "zeros behind": (["1." + "0" * 50, "2.10000000000000000000"], {}),
    "blanks around": ([" 12 ", "3 "], {}),
    "2^53": (["9007199254740992"], {}),
    "2^53 in parts": (["4503599627370496", "4503599627370496"], {}),
    "16 decimals": (["0.1234567890123456"], {}),
    "17 decimals, tiny": (["0.00000000000000001", "0.1e-16"], {}),
    "15 digits": (["123456789012.345", "0.001"], {}),
    "negative ones": (["-1.5", "3", "-0.25"], {"negative": "absolute"}),
    "rounded, halves away from zero": (["0.5", "1.5", "2.5", "2.49999999999999999999999999"], {"decimals": 0}),
    "rounded below zero": (["-0.5", "-1.5", "-2.5", "2.675", "1.005"], {"decimals": 0, "negative": "absolute"}),
    "rounded to two": (["1.005", "2.675", "1e-5", "0.995", "4.45e-1", "1.5e-1"], {"decimals": 2}),
    "more decimals than there are": (["5", "0.5"], {"decimals": 3}),
    "blank as zero": (["", "1", " "], {"blank": "zero"}),
}  # fmt: skip


def as_kind(kind, folder, texts):
    """The texts as the column v of records with the codes a, b, a, …"""
    codes = [A[i % 2] for i in range(len(texts))]
    if kind == "csv":
        return file(folder, "r;v\n" + "".join(f"{r};{v}\n" for r, v in zip(codes, texts, strict=True)))
    if kind == "csv with commas":
        rows = zip(codes, (text.replace(".", ",") for text in texts), strict=True)
        return file(folder, "r;v\n" + "".join(f"{r};{v}\n" for r, v in rows))
    if kind == "mapping":
        return {"r": codes, "v": texts}
    assert kind == "parquet"
    pl.DataFrame({"r": codes, "v": texts}).write_parquet(folder / "t.parquet")
    return folder / "t.parquet"


@pytest.mark.parametrize(
    ("kind", "name"),
    [
        *(("csv", name) for name in NUMBERS),
        *(("csv with commas", name) for name in ("decimals", "exponents", "bare points", "rounded to two", "blank as zero")),
        *((kind, name) for kind in ("mapping", "parquet") for name in ("exponents", "blanks around", "rounded below zero")),
    ],
)  # fmt: skip
def test_numbers_written_out_add_up_exactly(tmp_path, kind, name):
    texts, options = NUMBERS[name]
    if kind == "csv with commas":
        options = {**options, "decimal": ","}
    table = build(as_kind(kind, tmp_path, texts), **options)
    records = [(A[i % 2], text.strip() or "0") for i, text in enumerate(texts)]
    assert cells(table) == added(records, decimals=options.get("decimals"))


FINE = ["12.123456789", "1000000.123456", "1234567.123456789", "1000000000000.123"]


@pytest.mark.parametrize("text", FINE)
def test_fine_numbers_below_2_to_the_53_add_up(tmp_path, text):
    assert cells(build(file(tmp_path, f"r,v\na,{text}\n"))) == added([("a", text)])
    column = pl.Series([Decimal(text)], dtype=pl.Decimal(30, 9))
    assert cells(build(pl.DataFrame({"r": ["a"], "v": column}))) == added([("a", text)])


@pytest.mark.parametrize("text", [*FINE, "0.1", "90071992547409.91", "0.30000000000000004"])
def test_fine_doubles_add_up_or_are_refused(text):
    try:
        table = build({"r": ["a"], "v": [float(text)]})
    except cw.InputError as error:
        assert re.search(r"beyond 2\^53 when scaled.*round them (with|to) .*decimals", str(error))
    else:
        assert cells(table) == added([("a", repr(float(text)))])


@pytest.mark.parametrize("kind", ["text", "float", "float32", "decimal"])
def test_random_numbers_add_up_exactly(kind):
    rng = random.Random(kind)
    for _ in range(8):
        places, decimals = rng.randint(0, 4), rng.choice([None, None, 0, 1, 2, 3])
        texts = [str(Decimal(rng.randrange(10 ** rng.randint(1, 6))).scaleb(-rng.randint(0, places))) for _ in range(6)]
        codes = [rng.choice(A) for _ in texts]
        if kind == "text":
            rows = {"r": codes, "v": texts}
        elif kind == "decimal":
            rows = pl.DataFrame({"r": codes, "v": pl.Series([Decimal(t) for t in texts], dtype=pl.Decimal(20, 6))})
        else:
            column = np.array([float(t) for t in texts], np.float64 if kind == "float" else np.float32)
            texts = [str(x) for x in column]
            rows = {"r": codes, "v": column}
        assert cells(build(rows, decimals=decimals)) == added(zip(codes, texts, strict=True), decimals=decimals)


NOT_NUMBERS = {
    "a decimal comma": ("1,5", ".", r"record 1, column v: '1,5' is not a number; if the comma is a decimal mark, say so with decimal=','"),
    "a comma for thousands": ("1,234.5", ".", r"'1,234\.5' is not a number; write digits with a point"),
    "a point for thousands": ("1.234,5", ",", r"'1\.234,5' is not a number; write digits with a comma for decimals and no points"),
    "a point where commas are": ("1.5", ",", r"'1\.5' is not a number; write digits with a comma"),
    "two commas": ("1,234,567", ",", r"'1,234,567' is not a number"),
    "a blank for thousands": ("1 234", ".", r"'1 234' is not a number"),
    "a hard blank for thousands": ("1\u00a0234", ".", r"is not a number"),
    "an apostrophe for thousands": ("1'234", ".", r"is not a number"),
    "an underscore": ("1_000", ".", r"'1_000' is not a number"),
    "NaN": ("NaN", ".", r"'NaN' is not a number"),
    "infinity": ("inf", ".", r"'inf' is not a number"),
    "minus infinity": ("-Infinity", ".", r"is not a number"),
    "NULL": ("NULL", ".", r"'NULL' is not a number"),
    "a truth value": ("true", ".", r"'true' is not a number"),
    "hexadecimal": ("0x10", ".", r"'0x10' is not a number"),
    "digits of another script": ("٣", ".", r"'٣' is not a number"),
    "a lone point": (".", ".", r"'\.' is not a number"),
    "a lone sign": ("-", ".", r"'-' is not a number"),
    "a lone exponent": ("e5", ".", r"'e5' is not a number"),
    "a currency": ("5 €", ".", r"'5 €' is not a number"),
    "a formula": ("=1+1", ".", r"'=1\+1' is not a number"),
    "SQL": ("1) OR 1=1 --", ".", r"is not a number"),
    "a number of 10,000 digits": ("9" * 10_000, ".", r"beyond 2\^53|is not a number"),
    "2^53 + 1": ("9007199254740993", ".", r"beyond 2\^53"),
    "a large exponent": ("1e99", ".", r"beyond 2\^53 when scaled, where doubles stop being exact; choose a larger unit"),
    "an endless exponent": ("1e999", ".", r"'1e999' is not a number|exponent"),
    "18 decimals": ("0.123456789012345678", ".", r"up to 18 decimals.*beyond 2\^53 when scaled.*round them (with|to) .*1\d"),
}  # fmt: skip


@pytest.mark.parametrize("name", NOT_NUMBERS)
def test_what_is_no_number_is_named(tmp_path, name):
    text, decimal, words = NOT_NUMBERS[name]
    refuses(words, file(tmp_path, f"r;v\na;{text}\n"), decimal=decimal)
    if name in ("NaN", "a decimal comma", "18 decimals"):
        refuses(words, {"r": ["a"], "v": [text]}, decimal=decimal)


@pytest.mark.parametrize(
    ("values", "words"),
    [
        ([2**53, 1], r"\(Total\): its value .*beyond 2\^53"),
        ([2**63 - 1], r"beyond 2\^53"),
        ([2**70, 1], r"beyond 2\^53"),
        ([2**53] * 2048, r"add up.* to a number beyond 2\^53"),
        ([2.0**53 + 2], r"beyond 2\^53"),
        ([1e300], r"beyond 2\^53 .*choose a larger unit"),
        ([float("inf")], r"record 1, column v: an infinite number; fill in a value"),
        ([1.0, float("-inf")], r"record 2, column v: an infinite number"),
        ([1.0, float("nan")], r"record 2, column v: no value"),
        ([1, None], r"record 2, column v: no value"),
        ([True, False], r"record 1, column v: 'True' is not a number"),
        ([1j], r"'1j' is not a number"),
    ],
    ids=str,
)
def test_numbers_beyond_exactness_are_refused(values, words):
    refuses(words, {"r": ["a"] * len(values), "v": values})


@pytest.mark.parametrize("decimals", [-1, 31, True, 1.5, "2"])
def test_bad_decimals(decimals):
    refuses(r"decimals=.*: give a whole number", {"r": ["a"], "v": [1]}, decimals=decimals)


def test_the_smallest_double_is_refused_in_a_sentence():
    refuses(r"beyond 2\^53", {"r": ["a"], "v": [5e-324]})


def test_the_remedy_can_be_followed():
    said = refuses("decimals", {"r": ["a"], "v": ["1e-99"]})
    decimals = int(re.search(r"(?:decimals=|round them to )(\d+)", said)[1])
    assert cells(build({"r": ["a"], "v": ["1e-99"]}, decimals=decimals)) == added([("a", 0)])


def test_what_is_rounded_to_zero_is_not_negative():
    assert cells(build({"r": ["a"], "v": ["-0.001"]}, decimals=2)) == added([("a", 0)])
    refuses(r"record 2, column v: a negative contribution", {"r": A, "v": ["-0.001", "-0.01"]}, decimals=2)


@bug("those that are rounded to zero are counted too")
def test_negative_records_are_counted_after_rounding():
    said = refuses(r"record 2, column v: a negative contribution", {"r": A, "v": ["-0.001", "-0.01"]}, decimals=2)
    assert "2 records" not in said


def test_sums_that_cancel_are_exact():
    rows = {"r": ["a"] * 4, "v": [2**53, 2**53, -(2**53), -(2**53) + 1]}
    assert cells(build(rows, negative="absolute")) == {("Total",): 1, ("a",): 1}


@pytest.mark.parametrize("whose", [lambda i: str(i // 2), lambda _: "x"], ids=["pairs", "one"])
def test_sums_of_spread_units_beyond_exactness_are_refused(whose):
    codes = [str(i) for i in range(2048)]
    rows = {"r": [*codes, "z"], "v": [2**53] * 2048 + [1], "f": [*map(whose, range(2048)), "s"]}
    refuses(r"beyond 2\^53", rows, contributor="f")


def test_sums_of_one_unit_beyond_exactness_are_refused():
    refuses(r"beyond 2\^53", {"r": ["a"] * 2048, "v": [2**53] * 2048, "f": ["x"] * 2048}, contributor="f")


# ---- frames --------------------------------------------------------------------------------------------------------------------------------


DATE = dt.date(2020, 1, 1)
TRUTH = {("Total",): 3, ("true",): 1, ("false",): 2}
HALVES = {("Total",): "3.5", ("a",): 1, ("b",): "2.5"}
FRAMES = {
    "a mapping": ({"r": A, "v": B}, SMALL),
    "tuples and arrays": ({"r": ("a", "b"), "v": np.array(B, np.uint8)}, SMALL),
    "arrays with steps": ({"r": np.array(["a", "x", "b", "x"])[::2], "v": np.array([1, 9, 2, 9])[::2]}, SMALL),
    "whole numbers as codes": ({"r": [1, 2], "v": B}, {("Total",): 3, ("1",): 1, ("2",): 2}),
    "negative whole numbers as codes": ({"r": [-1, 2**62], "v": B}, {("Total",): 3, ("-1",): 1, (str(2**62),): 2}),
    "codes of several types": ({"r": ["a", 1, 2.5], "v": [1, 2, 4]}, {("Total",): 7, ("a",): 1, ("1",): 2, ("2.5",): 4}),
    "numbers of several types": ({"r": ["a", "b"], "v": ["1", 2]}, SMALL),
    "Python decimals": ({"r": A, "v": [Decimal("1.10"), Decimal("2.205")]}, {("Total",): "3.305", ("a",): "1.1", ("b",): "2.205"}),
    "half floats": ({"r": ["a"], "v": np.array([0.5], np.float16)}, {("Total",): "0.5", ("a",): "0.5"}),
    "unsigned": ({"r": A, "v": np.array(B, np.uint64)}, SMALL),
    "pandas": (pd.DataFrame({"r": A, "v": B}), SMALL),
    "pandas with an index of its own": (pd.DataFrame({"r": ["b", "a"], "v": [2, 1]}, index=[1, 0]), SMALL),
    "a pandas slice": (pd.DataFrame({"r": ["x", "a", "b"], "v": [9, 1, 2]})[1:], SMALL),
    "pandas objects": (pd.DataFrame({"r": pd.Series(A, dtype=object), "v": pd.Series([1, "2"], dtype=object)}), SMALL),
    "pandas object decimals": (pd.DataFrame({"r": A, "v": pd.Series([Decimal("1"), Decimal("2.5")], dtype=object)}), HALVES),
    "pandas strings": (pd.DataFrame({"r": pd.array(A, "string"), "v": pd.array(B, "Int64")}), SMALL),
    "pandas Float64": (pd.DataFrame({"r": A, "v": pd.array([1.0, 2.0], "Float64")}), SMALL),
    "pandas on pyarrow": (pd.DataFrame({"r": A, "v": B}).convert_dtypes(dtype_backend="pyarrow"), SMALL),
    "pandas categories": (pd.DataFrame({"r": pd.Categorical(["b", "a"], categories=["b", "z", "a"]), "v": [2, 1]}), SMALL),
    "pandas categories of numbers": (pd.DataFrame({"r": pd.Categorical([3, 1]), "v": [2, 1]}), {("Total",): 3, ("1",): 1, ("3",): 2}),
    "pandas columns with numbers for names": (pd.DataFrame({0: A, 1: B}).rename(columns={0: "r", 1: "v"}), SMALL),
    "pandas truth values": (pd.DataFrame({"r": [True, False], "v": B}), {("Total",): 3, ("true",): 1, ("false",): 2}),
    "polars": (pl.DataFrame({"r": A, "v": B}), SMALL),
    "polars categories": (pl.DataFrame({"r": pl.Series(["b", "a"], dtype=pl.Categorical), "v": [2, 1]}), SMALL),
    "polars enums": (pl.DataFrame({"r": pl.Series(["b", "a"], dtype=pl.Enum(["b", "z", "a"])), "v": [2, 1]}), SMALL),
    "polars dates": (pl.DataFrame({"r": [DATE, DATE], "v": B}), {("Total",): 3, ("2020-01-01",): 3}),
    "polars truth values": (pl.DataFrame({"r": [True, False], "v": B}), {("Total",): 3, ("true",): 1, ("false",): 2}),
    "polars decimals": (pl.DataFrame({"r": A, "v": pl.Series([Decimal("1"), Decimal("2.50")], dtype=pl.Decimal(20, 2))}), HALVES),
    "pyarrow": (pa.table({"r": A, "v": B}), SMALL),
    "a pyarrow batch": (pa.table({"r": A, "v": B}).to_batches()[0], SMALL),
    "pyarrow dictionaries": (pa.table({"r": pa.array(["b", "a"]).dictionary_encode(), "v": pa.array([2, 1]).dictionary_encode()}), SMALL),
    "pyarrow large text": (pa.table({"r": pa.array(A, pa.large_string()), "v": B}), SMALL),
    "pyarrow wide decimals": (pa.table({"r": A, "v": pa.array([Decimal("1"), Decimal("2.5")], pa.decimal128(38, 20))}), HALVES),
    "codes of NUL": ({"r": ["a\0b", "a"], "v": B}, {("Total",): 3, ("a\0b",): 1, ("a",): 2}),
}  # fmt: skip


@pytest.mark.parametrize("name", FRAMES)
def test_frames_add_up(name):
    rows, expected = FRAMES[name]
    assert cells(build(rows)) == {cell: Decimal(value) for cell, value in expected.items()}


FAR = 1_500
"""Beyond the thousand objects of a pandas column that DuckDB would look at."""


@pytest.mark.parametrize(
    ("usual", "odd"),
    [
        (1, 0.5),
        (1, Decimal("0.5")),
        (1, "0.5"),
        (Decimal("1.1"), Decimal("0.0001")),
        (1, np.float64(0.25)),
        (1, 2**40),
        (0.5, "7"),
        ("1", 2.5),
    ],
)
def test_an_odd_object_far_down_counts_in_full(usual, odd):
    frame = pd.DataFrame({"r": ["a"] * (FAR + 1), "v": pd.Series([usual] * FAR + [odd], dtype=object)})
    assert cells(build(frame))["a",] == Decimal(str(usual)) * FAR + Decimal(str(odd))


@pytest.mark.parametrize(("usual", "odd"), [(1, 2.5), (1, "x"), (True, "x"), (dt.date(2020, 1, 1), "x"), ("a", 7)])
def test_an_odd_code_far_down_stays_itself(usual, odd):
    frame = pd.DataFrame({"r": pd.Series([usual] * FAR + [odd], dtype=object), "v": [1] * (FAR + 1)})
    assert cells(build(frame))[str(odd),] == 1


def test_text_that_is_no_number_far_down_in_objects_is_named():
    frame = pd.DataFrame({"r": ["a"] * (FAR + 1), "v": pd.Series(["1"] * FAR + ["x"], dtype=object)})
    refuses(r"the frame record 1501, column v: 'x' is not a number", frame)


MISSING = {
    "a mapping": {"r": ["a", None], "v": B},
    "pandas": pd.DataFrame({"r": ["a", None], "v": B}),
    "pandas objects": pd.DataFrame({"r": pd.Series(["a", np.nan], dtype=object), "v": B}),
    "pandas strings": pd.DataFrame({"r": pd.array(["a", None], "string"), "v": B}),
    "pandas categories": pd.DataFrame({"r": pd.Categorical(["a", None]), "v": B}),
    "polars": pl.DataFrame({"r": ["a", None], "v": B}),
    "pyarrow": pa.table({"r": ["a", None], "v": B}),
    "an empty text": {"r": ["a", ""], "v": B},
}


@pytest.mark.parametrize("name", MISSING)
def test_missing_codes_of_frames(name):
    rows = MISSING[name]
    refuses(r"record 2, column r: no code", rows)
    assert cells(build(rows, missing="keep")) == added([("a", 1), ("missing", 2)])


@pytest.mark.parametrize("missing", ["drop", {"r": "drop"}], ids=str)
def test_records_without_a_code_are_dropped(missing):
    table = build(MISSING["pandas categories"], missing=missing)
    assert cells(table) == added([("a", 1)])
    assert (table.contributions.records, table.contributions.dropped) == (1, 1)


BLANK = {
    "a mapping": {"r": A, "v": [1, None]},
    "NaN": {"r": A, "v": [1.0, float("nan")]},
    "pandas": pd.DataFrame({"r": A, "v": [1, None]}),
    "pandas Int64": pd.DataFrame({"r": A, "v": pd.array([1, None], "Int64")}),
    "pandas Float64": pd.DataFrame({"r": A, "v": pd.array([1.0, None], "Float64")}),
    "pandas objects": pd.DataFrame({"r": A, "v": pd.Series([1, None], dtype=object)}),
    "polars": pl.DataFrame({"r": A, "v": [1, None]}),
    "polars decimals": pl.DataFrame({"r": A, "v": pl.Series([Decimal(1), None], dtype=pl.Decimal(10, 2))}),
    "pyarrow": pa.table({"r": A, "v": [1, None]}),
    "an empty text": {"r": A, "v": ["1", " "]},
}


@pytest.mark.parametrize("name", BLANK)
def test_blank_values_of_frames(name):
    rows = BLANK[name]
    refuses(r"record 2, column v: no value", rows)
    zero = build(rows, blank="zero")
    assert cells(zero) == added([("a", 1), ("b", 0)])
    assert zero.contributions.rows.tolist() == [2, 1, 1]


@pytest.mark.parametrize("name", ["NaN", "pandas objects"])
def test_records_without_a_value_are_dropped(name):
    dropped = build(BLANK[name], blank="drop")
    assert cells(dropped) == added([("a", 1)])
    assert dropped.contributions.rows.tolist() == [1, 1]
    assert (dropped.contributions.records, dropped.contributions.dropped) == (1, 1)


BAD_FRAMES = {
    "no records": ({"r": [], "v": []}, r"the frame: there are no records; give at least one"),
    "no records in pandas": (pd.DataFrame({"r": [], "v": []}), r"the frame: there are no records"),
    "no columns": ({}, r"no file of records|no column"),
    "no columns in pandas": (pd.DataFrame(), r"no file of records|no column"),
    "columns of different lengths": ({"r": A, "v": [1]}, r"the columns differ in length; give one entry a record in each"),
    "text for a column": ({"r": "ab", "v": B}, r"the column 'r' is str, not a list; give one entry a record"),
    "a number for a column": ({"r": 3, "v": B}, r"the column 'r' is int, not a list"),
    "a generator for a column": ({"r": (c for c in "ab"), "v": B}, r"the column 'r' is generator, not a list"),
    "an index of another name": (pd.DataFrame({"v": [1, 2]}, index=pd.Index(["a", "b"], name="x")), "use frame.reset_index()"),
    "columns of two levels": (pd.DataFrame([[1, 2]], columns=pd.MultiIndex.from_tuples([("r", "x"), ("v", "y")])), r"there is no column 'r'"),
    "a column twice": (pd.DataFrame([["a", 1, 2]], columns=["r", "v", "v"]), r"two columns are called 'v'; rename one"),
    "decimal numbers as codes": ({"r": [1.0, 2.5], "v": B}, r"the dimension r holds decimal numbers; make the column text or whole numbers"),
    "whole numbers with a gap as codes": (pd.DataFrame({"r": [1, None], "v": B}), r"the dimension r holds decimal numbers"),
    "categories as numbers": (pd.DataFrame({"r": A, "v": pd.Categorical(["1", "2"])}), r"the column 'v' holds enum.*, not numbers"),
    "truth values as numbers": (pd.DataFrame({"r": A, "v": [True, False]}), r"the column 'v' holds boolean, not numbers"),
    "dates as numbers": (pl.DataFrame({"r": A, "v": [dt.date(2020, 1, 1)] * 2}), r"the column 'v' holds date, not numbers"),
    "lists as numbers": (pl.DataFrame({"r": A, "v": [[1], [2]]}), r"the column 'v' holds bigint\[\], not numbers"),
    "structs as numbers": (pl.DataFrame({"r": A, "v": [{"x": 1}, {"x": 2}]}), r"the column 'v' holds struct.*, not numbers"),
    "periods": (pd.DataFrame({"r": pd.period_range("2020-01", periods=2, freq="M"), "v": B}), r"not recognized"),
    "objects in polars": (pl.DataFrame({"r": pl.Series([object(), object()], dtype=pl.Object), "v": B}), r"no file of records"),
    "a list": ([{"r": "a", "v": 1}], r"a list is no file of records; give a path, a pandas, polars or pyarrow frame"),
    "None": (None, r"nothing is no file of records"),
    "a number": (3, r"no file of records"),
    "bytes": (b"t.csv", r"no file of records"),
}  # fmt: skip


@pytest.mark.parametrize("name", BAD_FRAMES)
def test_frames_that_cannot_be_read_are_one_sentence(name):
    rows, words = BAD_FRAMES[name]
    refuses(words, rows)


KNOWN_FRAMES = {
    "equal pyarrow columns": (lambda: pa.table({"r": B, "v": B}), {("Total",): 3, ("1",): 1, ("2",): 2}, None),
    "a pyarrow column twice": (lambda: pa.table([["a"], [1], [2]], names=["r", "v", "v"]), "called 'v'", None),
    "a masked array": (lambda: {"r": A, "v": np.ma.array(B, mask=[False, True])}, "no value", None),
    "nested lists": (lambda: {"r": [["a"], ["b", "c"]], "v": B}, "", "['a'] becomes a code"),
    "a pyarrow reader": (lambda: pa.table({"r": A, "v": B}).to_reader(), SMALL, None),
    "lazy polars": (lambda: pl.DataFrame({"r": A, "v": B}).lazy(), SMALL, None),
    "lazy polars gone wrong": (lambda: pl.DataFrame({"r": A, "v": B}).lazy().select("zz"), "", "the error of polars"),
    "half a character": (lambda: {"r": ["\ud800", "b"], "v": B}, "", None),
    "lists as codes": (lambda: pl.DataFrame({"r": [["a"], ["b"]], "v": B}), "dimension r", "[a] becomes a code"),
    "structs as codes": (lambda: pl.DataFrame({"r": [{"x": 1}, {"x": 2}], "v": B}), "dimension r", "{'x': 1} becomes a code"),
    "bytes as codes": (lambda: {"r": [b"a", b"b"], "v": B}, "", "b'a' becomes a code"),
    "numbers that are all missing": (lambda: pl.DataFrame({"r": A, "v": [None, None]}), "no value", "it is said to hold no numbers"),
}  # fmt: skip


@pytest.mark.parametrize(
    ("make", "expected"),
    [
        pytest.param(make, expected, id=name, marks=bug(why) if why else ())
        for name, (make, expected, why) in KNOWN_FRAMES.items()
    ],
)
def test_frames_add_up_or_are_refused(make, expected):
    if isinstance(expected, str):
        refuses(expected, make())
    else:
        assert cells(build(make())) == expected


@pytest.mark.parametrize("kind", ["pandas", "polars", "parquet"])
@pytest.mark.parametrize("measure", ["v", "V", "V_1"])
def test_names_that_differ_only_in_case_are_told_apart_or_refused(tmp_path, kind, measure):
    columns = {"r": ["a"], "v": [1], "V": [2], "V_1": [4]}
    rows = pd.DataFrame(columns) if kind == "pandas" else pl.DataFrame(columns)
    if kind == "parquet":
        rows.write_parquet(tmp_path / "t.parquet")
        rows = tmp_path / "t.parquet"
    try:
        table = build(rows, measure=measure)
    except cw.InputError as error:
        assert "differ only in case" in str(error)
    else:
        assert cells(table)["a",] == columns[measure][0]


# ---- names that try to be something else ---------------------------------------------------------------------------------------------------

NAMES = [
    "c0", "c1", "rn", "unit", "d0", "x", "wx", "n", "t", "b", "request", "top", "select", "rowid", "file_row_number_", " ", "a'b", 'a"b', '"q"',
    "; DROP TABLE t; --", "é", "a b", "a,b", "a*b", "a+b", "C0", "%s", "{x}", "\\", "a\nb",
]  # fmt: skip


@pytest.mark.parametrize("kind", ["mapping", "pandas", "polars", "parquet", "csv"])
def test_hostile_names_of_columns(tmp_path, kind):
    """Ten of them at a time: six as dimensions, then the measure, the contributor, the holding and the weight."""
    records = [("a", "x", "p", "k", "m", "o", 1), ("b", "x", "q", "k", "m", "o", 2), ("b", "y", "q", "l", "n", "o", 4)]
    for k in range(0, len(NAMES), 10):
        names = NAMES[k : k + 10]
        values = [*map(list, zip(*records, strict=True)), ["f", "g", "f"], ["", "", "h"], [1, 1, 1]]
        columns = {"first": [9] * 3, **dict(zip(names, values, strict=True)), "last": [8] * 3}
        rows = columns if kind == "mapping" else pd.DataFrame(columns) if kind == "pandas" else pl.DataFrame(columns)
        if kind == "parquet":
            rows.write_parquet(tmp_path / "t.parquet")
            rows = tmp_path / "t.parquet"
        elif kind == "csv":
            pd.DataFrame(columns).to_csv(tmp_path / "t.csv", index=False)
            rows = tmp_path / "t.csv"
        table = build(rows, dims=names[:6], measure=names[6], contributor=names[7], holding=names[8], weight=names[9])
        assert cells(table) == added(records)
        assert table.labels.dims == tuple(names[:6])
        assert sorted(table.contributions.names) == ["f", "g", "h"]


def test_all_our_names_at_once():
    rows = {"c1": ["a", "b"], "c0": [1, 2], "rn": ["p", "p"], "d0": ["x", "y"], "unit": [2, 2]}
    table = build(rows, dims=["c1", "d0"], measure="c0", contributor="rn", weight="unit")
    assert cells(table) == added([("a", "x", 2), ("b", "y", 4)])


@pytest.mark.parametrize(
    ("hostile", "words"),
    [
        (["a\0b"], "is not in the hierarchy"),
        (["'"], "is not in the hierarchy"),
        (["\\'; DROP TABLE x; --"], "is not in the hierarchy"),
        (["x" * 100], "is not in the hierarchy"),
    ],
)
def test_hostile_codes_in_sentences(hostile, words):
    refuses(words, {"r": hostile, "v": [1]}, **IN_TREE)


def test_hostile_request_codes():
    rows = {"r": ["a", "a"], "v": B, "q": ["'; DROP", ""]}
    table = build(rows, request="q", request_codes=["'; DROP", "\\"])
    assert {code: column.tolist() for code, column in table.contributions.requested.items()} == {"'; DROP": [1, 1], "\\": [0, 0]}  # fmt: skip


# ---- DuckDB --------------------------------------------------------------------------------------------------------------------------------


@pytest.fixture
def database():
    with duckdb.connect() as connection:
        connection.execute("CREATE TABLE t AS SELECT * FROM (VALUES ('a', 1), ('b', 2)) AS x(r, v)")
        yield connection


QUERIES = [
    "t",
    "main.t",
    '"t"',
    "select r, v from t",
    "SELECT * FROM t;",
    "WITH q AS (FROM t) SELECT * FROM q",
    "(select * from t)",
    "FROM t",
]


@pytest.mark.parametrize("query", QUERIES)
def test_queries(database, query):
    assert cells(build(database, query=query)) == SMALL


@pytest.mark.parametrize(
    "query",
    [pytest.param("-- all\nselect * from t", marks=bug("refused: taken for a name")), "select * from t -- all"],
)
def test_queries_with_comments(database, query):
    assert cells(build(database, query=query)) == SMALL


BAD_QUERIES = {
    None: r"say which records are meant with query=, the name of a table or a SELECT",
    "": r"say which records are meant",
    "nope": r"the connection: cannot be read \(.*nope does not exist",
    "select * frm t": r"cannot be read",
    "drop table t": r"cannot be read",
    "insert into t values ('c', 3) returning *": r"cannot be read",
    "t) ; drop table t; --": r"cannot be read",
    "copy t to 'leak.csv'": r"cannot be read",
    "select 1 as r": r"there is no column 'v'; it has r",
}


@pytest.mark.parametrize("query", BAD_QUERIES, ids=str)
def test_bad_queries_are_refused_and_change_nothing(database, query, tmp_path, monkeypatch):
    monkeypatch.chdir(tmp_path)
    refuses(BAD_QUERIES[query], database, query=query)
    assert database.execute("SELECT count(*) FROM t").fetchone() == (2,)
    assert not list(tmp_path.iterdir())


SEVERAL = [
    "t; DROP TABLE t",
    "(SELECT * FROM t); DROP TABLE t; SELECT 1",
    "t; COPY (SELECT 42) TO 'leak.csv'",
    "t; CREATE TABLE leak AS FROM t",
]


@pytest.mark.parametrize("query", SEVERAL)
def test_a_query_is_one_question_and_nothing_is_done(database, query, tmp_path, monkeypatch):
    monkeypatch.chdir(tmp_path)
    refuses("query", database, query=query)
    assert database.execute("SHOW TABLES").fetchall() == [("t",)]
    assert not list(tmp_path.iterdir())


def names_in(connection):
    tables = connection.execute("SELECT table_name FROM duckdb_tables() ORDER BY 1").fetchall()
    views = connection.execute("SELECT view_name FROM duckdb_views() WHERE NOT internal ORDER BY 1").fetchall()
    return [name for (name,) in tables + views]


def test_a_connection_is_left_as_it_was(database):
    for name in ("leaf", "code0", "unit", "member", "spread", "rows", "frame"):
        database.execute(f"CREATE TABLE cellward_{name} AS SELECT 42 AS x")
    before = names_in(database)
    for options in ({}, {"contributor": "r"}):
        assert cells(build(database, query="t", **options)) == SMALL
    assert names_in(database) == before
    assert database.execute("SELECT x FROM cellward_leaf").fetchone() == (42,)


@pytest.mark.parametrize(
    ("name", "options"),
    [
        ("cellward_leaf", {}),
        ("cellward_code0", {}),
        ("cellward_rows", {}),
        ("cellward_leaf", {"contributor": "r"}),
        ("cellward_unit", {"contributor": "r"}),
        ("cellward_member", {"contributor": "r"}),
    ],
)
def test_a_table_called_like_ours_can_be_read(database, name, options):
    database.execute(f"CREATE TABLE {name} AS FROM t")
    assert cells(build(database, query=name, **options)) == SMALL


@pytest.mark.parametrize("how", ["transaction", "temporary table", "temporary view", "registered frame"])
def test_what_a_connection_sees_is_what_counts(database, how):
    if how == "transaction":
        database.execute("BEGIN")
        database.execute("INSERT INTO t VALUES ('a', 10)")
    elif how == "registered frame":
        database.register("s", pd.DataFrame({"r": ["a", "b"], "v": [11, 2]}))
    else:
        kind = "TABLE" if how == "temporary table" else "VIEW"
        database.execute(f"CREATE TEMP {kind} s AS SELECT r, CASE r WHEN 'a' THEN 11 ELSE v END AS v FROM t")
    query = "t" if how == "transaction" else "s"
    assert cells(build(database, query=query)) == added([("a", 11), ("b", 2)])


def test_an_open_transaction_is_left_open(database):
    database.execute("BEGIN")
    database.execute("INSERT INTO t VALUES ('c', 4)")
    build(database, query="t")
    assert database.execute("SELECT count(*) FROM t").fetchone() == (3,)
    database.execute("ROLLBACK")
    assert database.execute("SELECT count(*) FROM t").fetchone() == (2,)


def test_a_relation_serves_twice(database):
    relation = database.table("t")
    for options in ({}, {}, {"contributor": "r"}, {"measure": None, "dims": ["r", "v"]}):
        table = build(relation, **options)
        assert cells(table)[("Total",) * len(table.labels.dims)] == (2 if options.get("measure", "v") is None else 3)
    assert relation.fetchall() == [("a", 1), ("b", 2)]


@pytest.mark.parametrize("kind", ["TABLE", "VIEW", "TEMP TABLE", "TEMP VIEW"])
def test_a_relation_beside_a_table_called_like_ours(database, kind):
    database.execute(f"CREATE {kind} cellward_rows AS SELECT 'x' AS r, 99 AS v")
    assert cells(build(database.table("t"))) == SMALL
    assert database.execute("SELECT v FROM cellward_rows").fetchone() == (99,)


def test_a_relations_connection_is_left_as_it_was(database):
    database.execute("CREATE TEMP TABLE cellward_leaf AS SELECT 42 AS x")
    before = names_in(database)
    build(database.table("t"), contributor="r")
    assert names_in(database) == before
    assert database.execute("SELECT x FROM cellward_leaf").fetchone() == (42,)


def test_a_closed_connection_is_refused_in_a_sentence():
    closed = duckdb.connect()
    closed.close()
    refuses("closed", closed, query="t")


def test_a_closed_relation_is_refused_in_a_sentence():
    connection = duckdb.connect()
    relation = connection.sql("SELECT 'a' AS r, 1 AS v")
    connection.close()
    refuses("the relation: cannot be read", relation)


def test_a_database_file_is_only_read(tmp_path):
    path = tmp_path / "t.duckdb"
    with duckdb.connect(path) as connection:
        connection.execute("CREATE TABLE t AS SELECT * FROM (VALUES ('a', 1), ('b', 2)) AS x(r, v)")
    path.chmod(0o444)
    before = path.read_bytes()
    for options in ({}, {"contributor": "r"}):
        assert cells(build(path, query="t", **options)) == SMALL
    refuses(r"t\.duckdb: say which records are meant", path)
    refuses(r"t\.duckdb: cannot be read", path, query="nope")
    assert path.read_bytes() == before
    assert [found.name for found in tmp_path.iterdir()] == ["t.duckdb"]


@pytest.mark.parametrize("content", ["", "not a database"])
def test_a_file_that_is_no_database_is_refused(tmp_path, content):
    refuses(r"t\.duckdb: cannot be opened by DuckDB", file(tmp_path, content, "t.duckdb"), query="t")


def test_a_database_file_that_is_open_elsewhere_is_refused_in_a_sentence(tmp_path):
    path = tmp_path / "t.duckdb"
    with duckdb.connect(path) as connection:
        connection.execute("CREATE TABLE t AS SELECT 'a' AS r, 1 AS v")
        refuses(r"t\.duckdb: cannot be opened by DuckDB", path, query="t")
        assert cells(build(connection, query="t")) == {("Total",): 1, ("a",): 1}


# ---- Parquet -------------------------------------------------------------------------------------------------------------------------------


def test_parquet_of_many_row_groups_counts_its_records(tmp_path):
    path = tmp_path / "t.parquet"
    codes = [f"{i:03d}" for i in range(300)]
    pq.write_table(pa.table({"r": codes, "v": range(300)}), path, row_group_size=7)
    for threads in (1, 3):
        table = build(path, threads=threads)
        assert list(table.contributions.names) == [f"record {i + 1}" for i in range(300)]
        assert table.contributions.unit[0, 1:].tolist() == list(range(300))
    refuses(r"t\.parquet record 251, column r: the code '250' is not in", path, hierarchies={"r": cw.Hierarchy.flat(codes[:250])})  # fmt: skip


@pytest.mark.parametrize(
    ("values", "kind", "decimals"),
    [
        (["1.10", "2.25"], pa.decimal128(10, 2), None),
        (["12345678.12", "0.1"], pa.decimal128(38, 20), None),
        (["123456789012.12", "0.1"], pa.decimal128(38, 2), 1),
        (["1.005", "2.675"], pa.decimal128(10, 3), 2),
        (["0.5", "1.5"], pa.decimal128(4, 1), 0),
    ],
)
def test_parquet_decimals_add_up_exactly(tmp_path, values, kind, decimals):
    path = tmp_path / "t.parquet"
    pq.write_table(pa.table({"r": A, "v": pa.array([Decimal(v) for v in values], kind)}), path)
    assert cells(build(path, decimals=decimals)) == added(zip(A, values, strict=True), decimals=decimals)


def test_every_prefix_of_a_parquet_file_is_a_sentence(tmp_path):
    path = tmp_path / "t.parquet"
    pl.DataFrame({"r": A, "v": B}).write_parquet(path)
    whole = path.read_bytes()
    for size in range(0, len(whole), 67):
        path.write_bytes(whole[:size])
        refuses(r"t\.parquet: not readable as Parquet \(.*\); check the file", path)


@pytest.mark.parametrize("names", [["r", "v", "v"], ["r", "v", "file_row_number"]])
def test_parquet_columns_that_clash(tmp_path, names):
    path = tmp_path / "t.parquet"
    pq.write_table(pa.table([["a"], [1], [2]], names=names), path)
    if names[2] == "v":
        refuses("columns are called 'v'", path)
    else:
        assert cells(build(path)) == {("Total",): 1, ("a",): 1}


# ---- paths and options ---------------------------------------------------------------------------------------------------------------------

PATHS = [
    "a*.csv", "a?.csv", "[ab].csv", "[!a].csv", "[[]].csv", "{a,b}.csv", "it's.csv", "a b.csv", "ünï.csv", "a;b.csv", "-x.csv", "~x.csv", "a%20b.csv",
    "T.CSV", "s3:x.csv", pytest.param("a\\b.csv", marks=bug("beside a pattern a backslash escapes")),
]  # fmt: skip


@pytest.mark.parametrize("name", PATHS)
def test_a_path_means_itself(tmp_path, name):
    folder = tmp_path / "fo[l]d*r"
    folder.mkdir()
    for other in ("a.csv", "ab.csv", "b.csv", "axx.csv"):
        file(folder, "r,v\nwrong,99\n", other)
    path = file(folder, "r,v\na,1\nb,2\n", name)
    assert cells(build(str(path) if name[0] in "{~" else path)) == SMALL
    if name[0] in "a[":
        parquet = path.with_suffix(".parquet")
        pl.DataFrame({"r": A, "v": B}).write_parquet(parquet)
        assert cells(build(parquet)) == SMALL


@pytest.mark.parametrize(
    ("name", "words"),
    [
        ("none.csv", r"none\.csv: no such file"),
        ("none.parquet", r"none\.parquet: no such file"),
        ("none.duckdb", r"none\.duckdb: no such file"),
        ("folder.csv", r"folder\.csv: a folder or device"),
        ("folder.parquet", r"folder\.parquet: a folder or device"),
        ("a\0b.csv", r"no such file|cannot"),
        ("link.csv", r"link\.csv: no such file"),
        ("t.ods", r"t\.ods: the extension '\.ods' is not known; use \.csv, \.tsv, \.xlsx, \.parquet or \.duckdb"),
        ("t.csv.gz", r"t\.csv\.gz: not readable as gzip; it is cut off or damaged: fetch it again"),
        ("t", r"the extension '\(none\)' is not known"),
    ],
)
def test_paths_that_cannot_be_read(tmp_path, name, words):
    for folder in ("folder.csv", "folder.parquet"):
        (tmp_path / folder).mkdir()
    (tmp_path / "link.csv").symlink_to(tmp_path / "nowhere")
    for other in ("t.ods", "t"):
        file(tmp_path, "r,v\na,1\n", other)
    file(tmp_path, gzip.compress(b"r,v\na,1\n")[:-9], "t.csv.gz")
    refuses(words, tmp_path / name, query="t" if name.endswith("duckdb") else None)


def test_an_empty_path_is_refused():
    refuses("a folder", "")


def test_a_path_that_is_too_long_is_refused_in_a_sentence():
    refuses("cannot be read", "x" * 300 + ".csv")


def test_a_file_that_may_not_be_read_is_refused_in_a_sentence(tmp_path, monkeypatch):
    path, whole = file(tmp_path, "r,v\na,1\n"), Path.open

    def forbidden(self, *args, **kwargs):
        if self == path:
            raise PermissionError(13, "Permission denied", str(path))
        return whole(self, *args, **kwargs)

    monkeypatch.setattr(Path, "open", forbidden)
    refuses(r"t\.csv: cannot be read", path)


def test_a_pipe_is_refused_in_a_sentence(tmp_path):
    os.mkfifo(tmp_path / "t.csv")
    refuses(r"t\.csv: .*not a file", tmp_path / "t.csv")


OPTIONS = {
    "no dims": ({"dims": []}, r"dims=\[\]: a dimension has no name"),
    "dims of nothing": ({"dims": ""}, r"dims='': a dimension has no name"),
    "dims None": ({"dims": None}, r"dims=None: give a list of columns, or a formula"),
    "dims of numbers": ({"dims": [1]}, r"dims=\[1\]: give a list"),
    "a dim twice": ({"dims": ["r", "r"]}, r"a table crosses a dimension with itself"),
    "a dim squared": ({"dims": "r*r"}, r"a table crosses a dimension with itself"),
    "an open sum": ({"dims": "r +"}, r"a dimension has no name"),
    "the measure as a dim": ({"dims": ["r", "v"]}, r"the column 'v' cannot be a dimension and a number at once"),
    "the measure as weight": ({"weight": "v"}, r"the column 'v' cannot be the measure and the weight at once"),
    "a contributor that is not there": ({"contributor": "zz"}, r"there is no column 'zz'; it has r, v"),
    "a holding that is not there": ({"holding": "zz"}, r"there is no column 'zz'"),
    "a request that is not there": ({"request": "zz"}, r"there is no column 'zz'"),
    "an unknown policy for missing codes": ({"missing": "guess"}, r"missing='guess' is not known; use one of 'refuse', 'drop', 'keep'"),
    "a number for missing": ({"missing": 3}, r"missing=3: give a mapping"),
    "a policy for no dim": ({"missing": {"zz": "drop"}}, r"missing: 'zz' is not among the dimensions r"),
    "missing codes as text": ({"missing_codes": {"r": "a"}}, r"missing_codes: r needs a list of codes"),
    "missing codes as numbers": ({"missing_codes": {"r": [9]}}, r"missing_codes: r needs a list of codes, as text"),
    "missing codes of no dim": ({"missing_codes": {"zz": ["a"]}}, r"missing_codes: 'zz' is not among the dimensions"),
    "a pad of nothing": ({"pad": {"r": 0}}, r"pad: 0 for r is no width; give a whole number of characters from 1 to 100"),
    "a pad of text": ({"pad": {"r": "2"}}, r"pad: '2' for r is no width"),
    "a pad without end": ({"pad": {"r": 10**9}}, r"is no width"),
    "a pad of no dim": ({"pad": {"zz": 2}}, r"pad: 'zz' is not among the dimensions"),
    "an unknown blank": ({"blank": "guess"}, r"blank='guess' is not known; use one of 'refuse', 'drop', 'zero'"),
    "an unknown negative": ({"negative": "guess"}, r"negative='guess' is not known"),
    "an unknown empty": ({"empty": "guess"}, r"empty='guess' is not known"),
    "an unknown decimal mark": ({"decimal": ";"}, r"decimal=';': give '\.' or ','"),
    "none of the largest": ({"largest": 0}, r"largest=0: give a whole number from 1 to 20"),
    "too many of the largest": ({"largest": 21}, r"largest=21"),
    "half of the largest": ({"largest": 1.5}, r"largest=1\.5"),
    "a total of nothing": ({"total": ""}, r"empty code"),
    "a total of no dim": ({"total": {"zz": "T"}}, r"total: 'zz' is not among the dimensions"),
    "hierarchies of no dim": ({"hierarchies": {"zz": TREE}}, r"hierarchies: 'zz' is not among the dims r"),
    "a hierarchy that is none": ({"hierarchies": {"r": 3}}, r"hierarchies: r needs a Hierarchy"),
    "request codes as text": ({"request": "v", "request_codes": "1"}, r"request_codes='1': give a list"),
    "request codes of nobody": ({"request": "v", "request_codes": ["0"]}, r"blank and 0 mean no request"),
    "a lower bound above": ({"lower": 5}, r"\(Total\): its value is below its lower bound 5"),
    "an upper bound below": ({"upper": 0}, r"\(Total\): its value is above its upper bound 0"),
    "a bound in words": ({"lower": "low"}, r"'low' is not a number"),
    "no threads": ({"threads": 0}, r"at least 1 thread|threads=0"),
    "threads in words": ({"threads": "many"}, r"threads"),
    "too many threads": ({"threads": 100_000}, r"threads=100000: give a whole number from 1 to 1024"),
    "memory in words": ({"memory_mb": "much"}, r"[Mm]emory"),
    "no memory": ({"memory_mb": 0}, r"[Mm]emory"),
}  # fmt: skip


@pytest.mark.parametrize("name", OPTIONS)
def test_bad_options_are_one_sentence(tmp_path, name):
    options, words = OPTIONS[name]
    refuses(words, file(tmp_path, "r,v\na,1\nb,2\n"), **options)


@pytest.mark.parametrize(
    "options",
    [
        {"measure": 3}, {"measure": ["v"]}, {"contributor": 3}, {"holding": ["r"]}, {"weight": 1.5}, {"request": 3},
        {"request_codes": 3},
        {"missing_codes": {"r": None}}, {"separator": 3}, {"query": 3}, {"threads": True}, {"threads": "many"}, {"memory_mb": -1},
    ],
    ids=str,
)  # fmt: skip
def test_options_of_a_wrong_type_are_one_sentence(tmp_path, options):
    rows = file(tmp_path, "r,v\na,1\nb,2\n")
    if "query" in options:
        with duckdb.connect() as connection:
            refuses(next(iter(options)), connection, **options)
    else:
        refuses(next(iter(options)), rows, **options)


# ---- hierarchies and missing codes ---------------------------------------------------------------------------------------------------------


def test_sums_of_a_hierarchy_with_kept_missing_codes():
    rows = {"r": ["a1", "a2", "b1", None, "9"], "v": [1, 2, 4, 8, 16]}
    table = build(rows, missing="keep", missing_codes={"r": ["9"]}, **IN_TREE)
    values = {"Total": 31, "A": 3, "a1": 1, "a2": 2, "B": 4, "b1": 4, "missing": 8, "9": 16}
    assert cells(table) == {(code,): value for code, value in values.items()}


def test_a_missing_code_has_no_place_under_several_roots():
    trees = [cw.Hierarchy.flat(A, total="P"), cw.Hierarchy.flat(A, total="Q")]
    refuses(r"has no place in a hierarchy of 2 roots", {"r": ["a", None], "v": B}, missing="keep", hierarchies={"r": trees})  # fmt: skip


OURS = cw.Hierarchy.from_dict({"Total": {"a1": {}, "missing": ["u1"]}})


@pytest.mark.parametrize(
    ("rows", "tree", "codes"),
    [
        ({"r": ["a1", "A"], "v": B}, TREE, ["A"]),
        ({"r": ["a1", "Total"], "v": B}, TREE, ["Total"]),
        ({"r": ["b1", "A"], "v": B}, TREE, ["A"]),
        pytest.param(
            {"r": ["a1", None], "v": B},
            OURS,
            [],
            marks=bug("our own code is a sum there"),
        ),
    ],
)
def test_a_missing_code_that_is_a_sum_is_refused(rows, tree, codes):
    refuses("sum of others", rows, missing="keep", missing_codes={"r": codes}, hierarchies={"r": tree})


def test_a_formula_with_a_dimension_without_a_total_is_refused():
    trees = [cw.Hierarchy.flat(A, total="P"), cw.Hierarchy.flat(["a"], total="Q")]
    rows = {"r": A, "s": ["x", "y"], "v": B}
    refuses(r"the dimension r has no total of all its codes", rows, dims="r + s", hierarchies={"r": trees})


def test_a_dimension_of_very_many_codes():
    codes = np.arange(30_000)
    table = build({"r": codes, "v": codes % 97})
    assert table.cells == 30_001
    assert int(table.scaled[0]) == int((codes % 97).sum())
    at = table.labels.find(("28765",))
    assert int(table.scaled[at]) == 28765 % 97


def test_dimensions_of_too_many_cells_are_refused_at_once():
    codes = np.arange(9_000)
    refuses(r"empty='zero' would make 81,000,000 cells", {"r": codes, "s": codes, "v": codes}, dims=["r", "s"], empty="zero")  # fmt: skip
    many = {f"d{k}": codes[:1000] for k in range(7)}
    refuses(r"too many codes together .*drop a dimension", {**many, "v": codes[:1000]}, dims=list(many))


# ---- whose record it is --------------------------------------------------------------------------------------------------------------------


def behind(records, *, k=3):
    """By plain Python: for every cell how many records and units, and the largest contributions with their units."""
    out = {}
    for *codes, amount, unit in records:
        for cell in itertools.product(*((code, "Total") for code in codes)):
            rows, by_unit = out.setdefault(cell, ([], {}))
            rows.append(amount)
            by_unit[unit] = by_unit.get(unit, 0) + amount
    return {
        cell: (len(rows), len(by_unit), sorted(by_unit.values(), reverse=True)[:k], by_unit)
        for cell, (rows, by_unit) in out.items()
    }


def check_behind(table, records):
    c, expected = table.contributions, behind(records)
    assert {table.labels.tuple_of(i) for i in range(table.cells)} == set(expected)
    for i in range(table.cells):
        rows, units, top, by_unit = expected[table.labels.tuple_of(i)]
        many = len(top)
        assert (int(c.rows[i]), int(c.units[i]), c.top[:many, i].tolist()) == (rows, units, top)
        assert c.top[many:, i].tolist() == [0] * (c.kept - many)
        assert c.unit[many:, i].tolist() == [-1] * (c.kept - many)
        for rank in range(many):
            assert by_unit[c.name(int(c.unit[rank, i]))] == top[rank]
        assert int(c.size[i]) == sum(by_unit.values()) == int(table.scaled[i])


def test_records_without_a_contributor_stand_for_themselves():
    records = [("a", 1, "x"), ("a", 2, "record 2"), ("b", 4, "record 3"), ("b", 8, "x")]
    for nobody in (None, ""):
        rows = {"r": ["a", "a", "b", "b"], "v": [1, 2, 4, 8], "f": ["x", nobody, nobody, "x"]}
        check_behind(build(rows, contributor="f"), records)


def test_a_holding_called_like_a_contributor_is_somebody_else():
    rows = {"r": ["a", "a", "b"], "v": [1, 2, 4], "f": ["x", "y", "x"], "h": ["y", None, None]}
    c = build(rows, contributor="f", holding="h").contributions
    assert c.units.tolist() == [3, 2, 1]
    assert sorted(c.names) == ["x", "y", "y"]
    assert c.top[:, 0].tolist() == [4, 2, 1]


def test_a_contributor_called_like_a_record_is_somebody_else():
    rows = {"r": ["a", "a", "b"], "v": [1, 2, 4], "f": ["record 2", None, "r2"]}
    c = build(rows, contributor="f").contributions
    assert c.units.tolist() == [3, 2, 1]
    assert sorted(c.names) == ["r2", "record 2", "record 2"]


def test_contributors_of_a_holding_count_as_one():
    rows = {"r": ["a", "a", "a"], "v": [1, 2, 4], "f": ["x", "y", "z"], "h": ["H", "H", ""]}
    check_behind(build(rows, contributor="f", holding="h"), [("a", 1, "H"), ("a", 2, "H"), ("a", 4, "z")])
    check_behind(build(rows, holding="h"), [("a", 1, "H"), ("a", 2, "H"), ("a", 4, "record 3")])


def test_units_that_are_all_in_several_cells():
    rows = {"r": ["a", "b", "a", "b"], "v": [1, 2, 4, 8], "f": ["x", "x", "y", "y"]}
    check_behind(build(rows, contributor="f"), [("a", 1, "x"), ("b", 2, "x"), ("a", 4, "y"), ("b", 8, "y")])


def random_records(seed, many=400):
    rng = random.Random(seed)
    return [
        (rng.choice("abc"), rng.choice("xyz"), rng.randrange(1000), f"f{rng.randrange(many // 3)}")
        for _ in range(many)
    ]  # fmt: skip


def columns_of(records):
    return dict(zip(("r", "s", "v", "f"), map(list, zip(*records, strict=True)), strict=True))


@pytest.mark.parametrize("seed", range(2))
def test_whoever_stands_behind_the_cells(seed):
    records = random_records(seed)
    check_behind(build(columns_of(records), dims=["r", "s"], contributor="f"), records)


def test_weights_of_zero_count_as_records_that_add_nothing():
    rows = {"r": ["a", "a", "b"], "v": [1, 2, 4], "w": [0, "1.5", 0]}
    table = build(rows, weight="w")
    assert cells(table) == added([("a", 3), ("b", 0)])
    c = table.contributions
    assert c.rows.tolist() == [3, 2, 1]
    assert (c.weighted[:, 1] / 10).tolist() == [3, 0, 0]
    assert cells(build({**rows, "w": [0, 0, 0]}, weight="w")) == added([("a", 0), ("b", 0)])


@pytest.mark.parametrize("decimals", [None, 0, 1, 2])
def test_weighted_sums_add_up_exactly(decimals):
    rng = random.Random(7)
    records = [(rng.choice("ab"), rng.randrange(-300, 900), rng.randrange(0, 4000)) for _ in range(200)]
    rows = {
        "r": [r for r, _, _ in records],
        "v": [str(Decimal(v).scaleb(-1)) for _, v, _ in records],
        "w": [str(Decimal(w).scaleb(-3)) for _, _, w in records],
    }
    table = build(rows, weight="w", decimals=decimals, negative="absolute")
    own = [Decimal(v).scaleb(-1) for _, v, _ in records]
    if decimals is not None:
        own = [v.quantize(Decimal(1).scaleb(-decimals), ROUND_HALF_UP) for v in own]
    weighted = [(r, v * Decimal(w).scaleb(-3)) for (r, _, w), v in zip(records, own, strict=True)]
    assert cells(table) == added(weighted, decimals=decimals)


def test_weights_without_a_measure_count():
    assert cells(build({"r": ["a", "a", "b"], "w": [0.5, 1.25, 3]}, measure=None, weight="w")) == added([("a", "1.75"), ("b", 3)])  # fmt: skip


@pytest.mark.parametrize(
    ("weight", "words"),
    [
        (-1, r"record 1, column w: a negative weight; weights are numbers of at least 0"),
        (None, r"record 1, column w: no weight"),
        (float("nan"), r"record 1, column w: no weight"),
        (float("inf"), r"record 1, column w: an infinite number"),
        ("x", r"record 1, column w: 'x' is not a number"),
        (1e300, r"column w .*beyond 2\^53"),
    ],
    ids=str,
)
def test_bad_weights(weight, words):
    refuses(words, {"r": A, "v": B, "w": [weight, 1]}, weight="w")


def test_the_remedy_for_fine_weights_can_be_followed():
    rows, decimals = {"r": ["a"], "v": [5], "w": [1 / 3]}, None
    for _ in range(2):
        try:
            table = build(rows, weight="w", decimals=decimals)
        except cw.InputError as error:
            decimals = int(re.search(r"decimals=(\d+)", str(error))[1])
    assert abs(float(table.values[0]) - 5 / 3) < 1e-4


REQUESTS = {"r": ["a", "a", "b"], "v": [1, 2, 4], "f": ["x", "y", "x"]}


def requested(table):
    return {code: column.tolist() for code, column in table.contributions.requested.items()}


def test_requests():
    rows = {**REQUESTS, "q": [" 1 ", "0", "2"]}
    assert requested(build(rows, request="q", request_codes=["1", "2"])) == {"1": [1, 1, 0], "2": [4, 0, 4]}
    by_unit = build(rows, request="q", request_codes=["1", "2"], contributor="f")
    assert requested(by_unit) == {"1": [5, 1, 4], "2": [5, 1, 4]}
    whole = {**REQUESTS, "q": [1, 0, 0]}
    assert requested(build(whole, request="q")) == {"1": [1, 1, 0]}


@pytest.mark.parametrize("code", ["2", "00", "yes", "'"])
def test_request_codes_that_are_not_declared_are_refused(code):
    words = r"the frame record 2, column q: the request code .* is not declared; .*request_codes=\['1', "
    said = refuses(words, {**REQUESTS, "q": ["1", code, ""]}, request="q")
    assert "blank and 0 mean no request" in said


@bug("RuntimeError of DuckDB: half a character in SQL")
def test_half_a_character_as_a_request_code_is_refused():
    refuses("request_codes", {**REQUESTS, "q": ["1", "", ""]}, request="q", request_codes=["\ud800"])


# ---- the same whatever the way -------------------------------------------------------------------------------------------------------------


def everything(thing):
    """All that a table holds, as plain values; parts of one unit in the order of their leaves."""
    if isinstance(thing, Parts):
        held = thing.rows
        rows = zip(held.unit.tolist(), *held.leaf.tolist(), held.amount.tolist(), strict=True)
        return sorted(rows), everything(thing.lattice), everything(thing.key), everything(thing.cell)
    if isinstance(thing, np.ndarray):
        return thing.dtype.kind, thing.tolist()
    if isinstance(thing, RecordNames):
        return list(thing)
    if dataclasses.is_dataclass(thing):
        return {f.name: everything(getattr(thing, f.name)) for f in dataclasses.fields(thing)}
    if isinstance(thing, dict):
        return {key: everything(value) for key, value in thing.items()}
    if isinstance(thing, list | tuple):
        return [everything(value) for value in thing]
    return thing


def kinds(folder, columns):
    """The same records in every way that they can be given."""
    pd.DataFrame(columns).to_csv(folder / "t.csv", index=False)
    pl.DataFrame(columns).write_parquet(folder / "t.parquet", row_group_size=50)
    yield "csv", folder / "t.csv"
    yield "parquet", folder / "t.parquet"
    yield "mapping", columns
    yield "pandas", pd.DataFrame(columns)
    yield "polars", pl.DataFrame(columns)
    yield "pyarrow", pa.table(columns)


DETERMINED = [
    {"dims": ["r", "s"], "contributor": "f"},
    {"dims": "r*s + t", "contributor": "f", "request": "q"},
    {"dims": ["r", "s"], "contributor": "f", "holding": "h", "weight": "w", "largest": 5},
    {"dims": ["r", "s"], "weight": "w", "request": "q"},
    {"dims": ["r"], "measure": None},
]


def determined_columns():
    rng = random.Random(12)
    columns = columns_of(random_records(12, 150))
    many = len(columns["r"])
    columns["v"] = [v // 100 for v in columns["v"]]  # many equal contributions
    columns["t"] = [rng.choice("uvw") for _ in range(many)]
    columns["h"] = [rng.choice(["H1", "H2", "", ""]) for _ in range(many)]
    columns["w"] = [rng.choice([0.0, 1.0, 1.5, 2.25]) for _ in range(many)]
    columns["q"] = [rng.choice(["", "0", "1"]) for _ in range(many)]
    return columns


@pytest.mark.parametrize("options", DETERMINED, ids=str)
def test_the_same_table_from_every_kind_of_input_and_number_of_threads(tmp_path, options):
    columns = determined_columns()
    first = everything(build(columns, threads=1, **options))
    many = "holding" in options  # every kind with the most roles; with the others files alone
    for name, rows in kinds(tmp_path, columns):
        if name != "mapping" and (many or name in ("csv", "parquet")):
            for threads in (2, 4) if name == "csv" else (2,):
                assert everything(build(rows, threads=threads, **options)) == first, (name, threads)
    if many:
        with duckdb.connect(config={"threads": 2}) as connection:
            connection.execute(f"CREATE TABLE t AS FROM read_parquet('{tmp_path / 't.parquet'}')")
            assert everything(build(connection, query="t", **options)) == first
            assert everything(build(connection.table("t"), **options)) == first


@pytest.mark.parametrize("options", DETERMINED[:3], ids=str)
def test_the_same_table_whatever_the_order_of_the_records(options):
    columns = determined_columns()
    if "holding" in options:  # every record has a name, so that none is called by its place
        assert all(columns["f"])
    first = everything(build(columns, **options))
    order = random.Random(1).sample(range(len(columns["r"])), len(columns["r"]))
    shuffled = {name: [column[i] for i in order] for name, column in columns.items()}
    assert everything(build(shuffled, threads=2, **options)) == first


def test_parts_come_in_one_order():
    columns = determined_columns()
    order = random.Random(1).sample(range(len(columns["r"])), len(columns["r"]))
    shuffled = {name: [column[i] for i in order] for name, column in columns.items()}
    first, second = (build(rows, **DETERMINED[0]).contributions.parts for rows in (columns, shuffled))
    assert first.rows.amount.tolist() == second.rows.amount.tolist()


def test_records_are_called_by_their_place():
    rows = {"r": ["a", "b", "a"], "v": [5, 4, 9]}
    c = build(rows).contributions
    assert [c.name(int(u)) for u in c.unit[:, 0]] == ["record 3", "record 1", "record 2"]


# ---- tables that were made elsewhere, and hierarchies --------------------------------------------------------------------------------------


@pytest.mark.parametrize(
    ("text", "options", "expected"),
    [
        ("a;3\nb;4\n", {"names": ["r", "n"]}, [3, 4, 7]),
        ("r;n\na;3,5\nb;4\n", {"decimal": ","}, [3.5, 4, 7.5]),
        ("a;3,5;z\nb;4;z\n", {"names": ["r", "n", "x"], "decimal": ",", "separator": ";"}, [3.5, 4, 7.5]),
        ("r;n;u\na;3,5;4,5\nb;1;2\n", {"decimal": ",", "upper": "u", "totals": "given", "hierarchies": None}, None),
        ('r,n\n"a,b","3,5"\n', {"decimal": ","}, [3.5, 3.5]),
    ],
)
def test_reading_tables_without_a_header_or_with_decimal_commas(tmp_path, text, options, expected):
    if expected is None:
        options = {key: value for key, value in options.items() if key not in ("totals", "hierarchies")}
        expected = [3.5, 1.0, 4.5]
    table = cw.read(file(tmp_path, text), dims=["r"], value="n", **options)
    assert table.values.tolist() == expected


@pytest.mark.parametrize(
    ("text", "options", "words"),
    [
        ("a;3\n", {"names": ["r"]}, r"t\.csv: there is no column 'n'; the columns are 'r'"),
        ("a;3\n", {"names": ["r", "n", "x"]}, r"t\.csv line 1: 2 fields where names= gives 3"),
        ("a;3\n", {"names": ["n", "n"]}, r"t\.csv: there is no column 'r'"),
        ("a;3;4\n", {"names": ["r", "n", "n"]}, r"'n' occurs twice"),
        ("r;n\na;3,5\n", {}, r"t\.csv line 2, column n: '3,5' is not a number"),
        ("r;n\na;3.5\n", {"decimal": ","}, r"t\.csv line 2, column n: '3\.5' has a point where decimals are set off by a comma"),
        ("r;n\na;1.234,5\n", {"decimal": ","}, r"'1\.234,5' has a point"),
        ("r;n\na;1,2,3\n", {"decimal": ","}, r"t\.csv line 2, column n: .* is not a number"),
        ("r;n\na;3,5\n", {"decimal": ";"}, r"decimal=';': give '\.' or ','"),
    ],
)  # fmt: skip
def test_tables_that_cannot_be_read_are_one_sentence(tmp_path, text, options, words):
    with pytest.raises(cw.InputError, match=words) as caught:
        cw.read(file(tmp_path, text), dims=["r"], value="n", **options)
    assert len(str(caught.value).splitlines()) == 1


LEVELS = [("North", "N1"), ("North", "N2"), ("South", "South")]


@pytest.mark.parametrize("make", [list, pd.DataFrame, lambda rows: pl.DataFrame(rows, schema=["a", "b"], orient="row")])
def test_hierarchies_from_levels(make):
    rows = make(LEVELS)
    if isinstance(rows, pd.DataFrame):
        rows.columns = ["a", "b"]
    found = cw.Hierarchy.from_levels(rows, levels=None if isinstance(rows, list) else ["a", "b"], total="All")
    assert found.sums == (("All", ("North", "South")), ("North", ("N1", "N2")))


@pytest.mark.parametrize(
    ("rows", "words"),
    [
        ([], r"the hierarchy has no sums"),
        ([("A", None, "a1")], r"row 1 of the correspondence table has None where a code belongs"),
        ([("A", "", "a1")], r"row 1 of the correspondence table has an empty code"),
        ([("A", 1)], r"row 1 .* has 1 where a code belongs"),
        ([("A", "x"), ("B", "x")], r"row 2 .*puts 'x' below 'B', an earlier row below 'A': give each code one place"),
        ([("A", "B"), ("B", "A")], r"row 2 .*give each code one place"),
        ([("A", "Total")], r"runs in a circle"),
        (pd.DataFrame({"a": ["A"]}), r"levels: name the columns"),
    ],
)
def test_levels_that_make_no_hierarchy_are_refused(rows, words):
    with pytest.raises(cw.InputError, match=words):
        cw.Hierarchy.from_levels(rows)


def test_adding_codes():
    assert TREE.adding().sums == TREE.adding("a1", "Total").sums == TREE.sums
    assert TREE.adding("x", "x").sums[0] == ("Total", ("A", "B", "x"))
    two = (TREE | cw.Hierarchy.flat(["p", "q"])).adding("x")
    assert [sum_ for sum_ in two.sums if sum_[0] == "Total"] == [("Total", ("A", "B", "x")), ("Total", ("p", "q", "x"))]
    for code, words in (("", "empty code"), (3, "where a code belongs")):
        with pytest.raises(cw.InputError, match=words):
            TREE.adding(code)
    with pytest.raises(cw.InputError, match="has no place in a hierarchy of 2 roots"):
        (TREE | cw.Hierarchy.flat(["a1"], total="Z")).adding("x")


@bug("TypeError of Python")
@pytest.mark.parametrize(
    "make",
    [lambda: cw.Hierarchy.from_levels([3]), lambda: TREE.adding(["a"]), lambda: cw.read("t.csv", dims=["r"], value="n", names=3)],
)  # fmt: skip
def test_wrong_types_are_refused_in_a_sentence(make, tmp_path, monkeypatch):
    monkeypatch.chdir(tmp_path)
    file(tmp_path, "a;3\n")
    with pytest.raises(cw.InputError):
        make()
