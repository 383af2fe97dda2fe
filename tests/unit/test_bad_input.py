"""Bad input: one sentence on standard error, exit code 2, nothing written, whatever the file or option holds."""

from __future__ import annotations

import json
import random
import re
import subprocess
import sys

import numpy as np
import polars as pl
import pytest

import cellward as cw

JJ = """0
4
0 3 1 s 0 100 0 0 0
1 4 2.5 s 0 100 0 0 0
2 0 1 m -5 7 0 0 0
3 7 1 z 7 7 0 0 0
1
0 4 : 3 (-1) 0 (1) 1 (1) 2 (1)
"""
CSV = "region,n\nN1,3\nN2,4\nTotal,7\n"
LONG = ["--dims", "region", "--value", "n"]
FIXED_MARGIN = """0
3
0 3 1 s 0 9 0 0 0
1 4 1 s 0 9 0 0 0
2 7 1 z 7 7 0 0 0
1
0 3 : 0 (1) 1 (1) 2 (-1)
"""
RIGHT_HAND_SIDE = """0
2
0 3 1 s 0 9 0 0 0
1 4 1 s 0 9 0 0 0
1
7 2 : 0 (1) 1 (1)
"""


def csv(text, *options, hrc=None, name="t.csv"):
    return {"name": name, "content": text, "options": [*LONG, *options], "hrc": hrc}


def jj(text, *options):
    return {"name": "t.jj", "content": text, "options": options, "hrc": None}


BAD = {
    # numbers that do not add up
    "values that do not add up": (
        csv(CSV.replace("7", "9")),
        r"t\.csv: equation 0, \(Total\) = \(N1\) \+ \(N2\), does not add up: difference 2; correct",
    ),
    "JJ values that do not add up": (
        jj(JJ.replace("1 4 2.5", "1 5 2.5")),
        r"t\.jj: equation 0, cell 3 = cell 0 \+ cell 1 \+ cell 2, does not add up: difference -1",
    ),
    "a total that contradicts the computed ones": (
        csv("region,n\nN1,3\nN2,4\nNorth,8\n", hrc="North\n@N1\n@N2\nSouth\n"),
        r"t\.csv: equation \d, \(North\) = \(N1\) \+ \(N2\), does not add up: difference 1.*totals",
    ),
    "a cell twice": (csv(CSV + "N1,3\n"), r"t\.csv line 2 and .*t\.csv line 5: the cell \(N1\) occurs twice; keep one"),
    "float noise": (csv("region,n\nN1,100.1\nN2,200.2\nTotal,300.3000000001\n"), r"float noise: with decimals=1"),
    # bounds
    "a value below 0": (csv("region,n\nN1,-3\nN2,4\n"), r"\(N1\): its value is below its lower bound 0.*widen.*lower"),
    "a value below its lower bound": (jj(JJ.replace("0 3 1 s 0", "0 3 1 s 4")), r"cell 0: its value is below its lower bound 4"),
    "a value above its upper bound": (jj(JJ.replace("s 0 100", "s 0 2", 1)), r"cell 0: its value is above its upper bound 2"),
    "a lower bound in words": (csv(CSV, "--lower", "low"), r"there is no column 'low'"),
    # grids
    "a fixed margin off the grid": (
        jj(FIXED_MARGIN),
        r"equation 0, cell 2 = cell 0 \+ cell 1: its right-hand side and fixed cells leave what is not a multiple of 5",
    ),
    "a right-hand side off the grid": (jj(RIGHT_HAND_SIDE), r"equation 0, cell 0 \+ cell 1 = 7: .* leave what is not a multiple of 5"),
    "a base of 0": (csv(CSV, "--base", "0"), r"base: 0 is not a base; give a positive number"),
    "a negative base": (csv(CSV, "--base", "-5"), r"base: -5 is not a base; give a positive number"),
    "a base finer than the decimals": (csv(CSV, "--base", "0.5"), r"base: 0\.5 is finer than the table's 0 decimals; .*decimals=1"),
    "a base in words": (csv(CSV, "--base", "abc"), r"base: 'abc' is not a number"),
    "a base of nothing": (csv(CSV, "--base", ""), r"base: '' is not a number"),
    "a base of NaN": (csv(CSV, "--base", "nan"), r"base: 'nan' is not a number"),
    "an endless base": (csv(CSV, "--base", "1e300"), r"base: the exponent 300 is outside"),
    "a base of many digits": (csv(CSV, "--base", "9" * 5000), r"base: a number of 5000 digits"),
    # hierarchies and codes
    "an unknown code": (
        csv(CSV.replace("N2", "N9"), hrc="N1\nN2\n"),
        r"t\.csv line 3, column region: the code 'N9' is not in the hierarchy of region; add it there",
    ),
    "a hierarchy that runs in a circle": (csv(CSV, hrc="N1\n@N2\n@@N1\n"), r"region\.hrc, line 3: 'N1' is on line 1 already"),
    "two hierarchies that run in a circle": (
        csv(CSV, "--hierarchy", "region={folder}/second.hrc", hrc="N1\n@N2\n"),
        r"the hierarchy runs in a circle, .*N1.*N2.*: remove one of these sums",
    ),
    "a hierarchy with a level skipped": (csv(CSV, hrc="N1\n@@N2\n"), r"region\.hrc, line 2: 'N2' has 2 lead strings"),
    "an empty hierarchy": (csv(CSV, hrc="\n"), r"region\.hrc: no codes in it"),
    "a hierarchy file that is not there": (csv(CSV, "--hierarchy", "region={folder}/none.hrc"), r"none\.hrc: no such file"),
    "a hierarchy of no dimension": (csv(CSV, "--hierarchy", "sex={folder}/second.hrc"), r"'sex' is not among the dims region"),
    "a hierarchy without a file": (csv(CSV, "--hierarchy", "region"), r"--hierarchy region: write DIM=FILE\.hrc"),
    "no code": (csv("region,n\nN1,3\n,4\n"), r"t\.csv line 3, column region: no code; fill in"),
    # text where numbers belong
    "text in a number column": (csv("region,n\nN1,3\nN2,four\n"), r"t\.csv line 3, column n: 'four' is not a number; write"),
    "a decimal comma": (csv("region;n\nN1;3,5\n"), r"t\.csv line 2, column n: '3,5' is not a number; if the comma is a decimal mark"),
    "a thousands separator": (csv("region,n\nN1,1 000\n"), r"'1 000' is not a number"),
    "an underscore": (csv("region,n\nN1,1_000\n"), r"'1_000' is not a number"),
    "digits of another script": (csv("region,n\nN1,٣\n"), r"'٣' is not a number"),
    "hexadecimal": (csv("region,n\nN1,0x10\n"), r"'0x10' is not a number"),
    "NaN": (csv("region,n\nN1,NaN\n"), r"t\.csv line 2, column n: 'NaN' is not a number"),
    "infinity": (csv("region,n\nN1,inf\n"), r"t\.csv line 2, column n: 'inf' is not a number"),
    "an infinite exponent": (csv("region,n\nN1,1e999\n"), r"t\.csv line 2, column n: the exponent 999 is outside"),
    "a number of 10,000 digits": (csv(f"region,n\nN1,{'9' * 10_000}\n"), r"t\.csv line 2, column n: a number of 10000 digits"),
    "a number beyond 2^53": (csv("region,n\nN1,9007199254740993\n"), r"2\^53"),
    "an empty value": (csv("region,n\nN1,\n"), r"t\.csv line 2, column n: '' is not a number; fill in a value"),
    "JJ text in a number column": (jj(JJ.replace("2.5", "x")), r"t\.jj line 4, column weight: 'x' is not a number"),
    "JJ NaN": (jj(JJ.replace("0 3 1", "0 nan 1")), r"t\.jj line 3, column value: 'nan' is not a number"),
    "an unknown status": (csv("region,n,s\nN1,3,q\n", "--status", "s"), r"t\.csv line 2, column s: the status 'q' is not known"),
    "a negative level": (csv("region,n,l\nN1,3,-1\n", "--lpl", "l"), r"lpl: the level of \(N1\) is negative, -1"),
    "a negative weight": (csv("region,n,w\nN1,3,-1\n", "--cost", "w"), r"a negative weight"),
    # files
    "an empty CSV": (csv(""), r"t\.csv: the file is empty; give a file"),
    "a CSV of blanks": (csv(" \n\n"), r"t\.csv: the file is empty"),
    "a header only": (csv("region,n\n"), r"t\.csv: there is a header but no rows; give at least one cell"),
    "a header without a line end": (csv("region,n"), r"t\.csv: there is a header but no rows"),
    "a short row": (csv("region,n\nN1\n"), r"t\.csv line 2: 1 fields where the header has 2"),
    "an open quote": (csv('region,n\n"N1,3\n'), r"t\.csv line 2: not readable as CSV"),
    "a field of a megabyte": (csv(f"region,n\n{'x' * 1_000_000},3\n"), r"t\.csv line 2: not readable as CSV"),
    "binary": (csv(b"\x7fELF\0\0\0"), r"t\.csv: not a text file \(it holds NUL bytes\)"),
    "UTF-16": (csv(CSV.encode("utf-16")), r"t\.csv: not a text file"),
    "an unknown column": (csv(CSV.replace("n\n", "m\n", 1)), r"t\.csv: there is no column 'n'; the columns are 'region', 'm'"),
    "a column twice": (csv("region,n,n\nN1,3,3\n"), r"t\.csv: the column 'n' occurs twice in the header"),
    "an empty JJ": (jj(""), r"t\.jj: the file is empty"),
    "a JJ cut off": (jj(JJ[:60]), r"t\.jj.* line \d"),
    "a JJ index out of range": (jj(JJ.replace("3 (-1)", "4 (-1)")), r"t\.jj line 8: equation 0 names cell '4', which does not exist"),
    "a JJ of no cells": (jj("0\n0\n0\n"), r"t\.jj line 2: the table has no cells"),
    "a JJ that announces 10^8 cells": (jj("0\n100000000\n"), r"t\.jj: the file ends after line 2 where cell 0 of 100000000"),
    "a CSV called JJ": (jj(CSV), r"t\.jj line 1: a JJ file starts with a line 0"),
    "an unknown extension": (csv(CSV, name="t.ods"), r"t\.ods: the extension '\.ods' is not known; use \.jj, \.tab, \.csv"),
    "no extension": (csv(CSV, name="t"), r"the extension '\(none\)' is not known"),
    "text called Parquet": (csv(CSV, name="t.parquet"), r"t\.parquet: not readable as Parquet"),
    "a file that is not there": (csv(None), r"t\.csv: no such file; check the path"),
    "a JJ that is not there": (jj(None), r"t\.jj: no such file; check the path"),
    "a Parquet that is not there": (csv(None, name="t.parquet"), r"t\.parquet: (no such file|a folder)"),
    "a folder as CSV": (csv("folder"), r"t\.csv: a folder or device and not a file"),
    "a folder as JJ": (jj("folder"), r"t\.jj: a folder or device and not a file"),
    "a folder as Parquet": (csv("folder", name="t.parquet"), r"t\.parquet: (no such file|a folder)"),
    # options
    "an unknown method": (csv(CSV, "--knowledge", "blur"), r"knowledge='blur' is not known; use 'strict'"),
    "no dims": ({**csv(CSV), "options": ["--value", "n"]}, r"name the dimension columns and the value column.*--dims"),
    "a dim twice": ({**csv(CSV), "options": ["--dims", "region,region", "--value", "n"]}, r"dims: a column is named twice"),
    "dims for a JJ": (jj(JJ, "--dims", "a"), r"a JJ file says itself how it is to be read; leave out --dims"),
    "an unknown way of totals": (csv(CSV, "--totals", "guess"), r"totals='guess' is not known; use one of"),
    "an unknown way of empty cells": (csv(CSV, "--empty", "guess"), r"empty='guess' is not known; use one of"),
    "only totals to compute from": (csv("region,n\nTotal,3\n", "--totals", "compute", hrc="N1\n"), r"every row holds a total"),
    "negative decimals": (csv(CSV, "--decimals", "-1"), r"decimals=-1: give a whole number"),
    "1,000 decimals": (csv(CSV, "--decimals", "1000"), r"decimals=1000: give a whole number"),
    "decimals too fine for doubles": (csv(CSV, "--decimals", "17"), r"beyond 2\^53.*use decimals=15"),
    "a separator of two characters": (csv(CSV, "--separator", "::"), r"separator='::': give one character"),
    "weights the table does not have": (csv(CSV, "--weights", "table"), r"the table has no weights"),
    "unknown weights": (csv(CSV, "--weights", "mine"), r"weights='mine' is not known; use .*, or leave it out$"),
    "no time": (csv(CSV, "--time-limit", "0"), r"time_limit_s=0\.0: give a positive number"),
    "NaN seconds": (csv(CSV, "--time-limit", "nan"), r"time_limit_s=nan: give a positive number"),
    "a negative seed": (csv(CSV, "--seed", "-1"), r"seed=-1: give a whole number"),
    "negative threads": (csv(CSV, "--threads", "-1"), r"threads=-1: give at least 1"),
}  # fmt: skip


def lay_out(folder, case):
    """Put a case's files into the folder; returns the command line."""
    source = folder / case["name"]
    if case["content"] == "folder":
        source.mkdir()
    elif case["content"] is not None:
        source.write_bytes(case["content"] if isinstance(case["content"], bytes) else case["content"].encode())
    (folder / "second.hrc").write_text("N2\n@N1\n")
    options = [str(option).replace("{folder}", str(folder)) for option in case["options"]]
    if case["hrc"] is not None:
        (folder / "region.hrc").write_text(case["hrc"])
        options += ["--hierarchy", f"region={folder / 'region.hrc'}"]
    return ["round", source, *options, "--out", folder / "out"]


def refused(said, words):
    """One sentence that starts with our name and says these words; exit code 2."""
    assert (said.code, said.out) == (2, "")
    assert said.err.startswith("cellward: ")
    assert said.err.endswith("\n")
    assert len(said.err.splitlines()) == 1
    assert len(said.err) < 600
    assert re.search(words, said.err), said.err
    assert "Traceback" not in said.err


@pytest.mark.parametrize("name", BAD)
def test_bad_input_is_one_sentence_exit_2_and_nothing_written(tmp_path, run, name):
    case, words = BAD[name]
    command = lay_out(tmp_path, case)
    before = sorted(tmp_path.iterdir())
    refused(run(*command), words)
    assert sorted(tmp_path.iterdir()) == before
    refused(run(*command, "--json"), words)


def test_no_threads_are_refused(tmp_path, run):
    refused(run(*lay_out(tmp_path, csv(CSV, "--threads", "0"))), "threads=0: give at least 1")


@pytest.mark.parametrize(
    "text",
    ['region,n\n"N\n1",3\nN2,4\nTotal,9\n', 'region,"n\nm"\nN1,3\n', "region,n\nN\u20281,3\nTotal,4\n", "region,n\nN\x1b[2J1,3\nTotal,4\n"],
    ids=["a line end in a code", "a line end in a column's name", "a line separator in a code", "an escape code in a code"],
)  # fmt: skip
def test_the_sentence_stays_one_line_whatever_the_codes_hold(tmp_path, text):
    path = tmp_path / "t.csv"
    path.write_text(text)
    with pytest.raises(cw.InputError) as caught:
        cw.read(path, dims=["region"], value="n")
    assert len(str(caught.value).splitlines()) == 1
    assert str(caught.value).isprintable()


def test_the_out_folder_must_be_possible(tmp_path, run):
    source = tmp_path / "t.csv"
    source.write_text(CSV)
    refused(run("round", source, *LONG, "--out", source), r"t\.csv: is a file, not a folder; choose another --out")
    refused(run("round", source, *LONG, "--out", source / "out"), r"out: cannot be made")
    assert source.read_text() == CSV
    assert [path.name for path in tmp_path.iterdir()] == ["t.csv"]


USAGE = [
    ["round"],
    ["round", "t.csv"],
    ["blur"],
    ["round", "t.csv", "--out", "o", "--blur"],
    ["round", "t.csv", "--out", "o", "--decimals", "two"],
    ["verify"],
]


@pytest.mark.parametrize("arguments", USAGE, ids=" ".join)
def test_wrong_usage_exits_2_and_writes_nothing(tmp_path, run, monkeypatch, arguments):
    monkeypatch.chdir(tmp_path)
    said = run(*arguments)
    assert (said.code, said.out) == (2, "")
    assert "Traceback" not in said.err
    assert not list(tmp_path.iterdir())


@pytest.mark.parametrize("arguments", USAGE, ids=" ".join)
def test_wrong_usage_is_one_sentence(tmp_path, run, monkeypatch, arguments):
    monkeypatch.chdir(tmp_path)
    refused(run(*arguments), "")


@pytest.mark.parametrize("target", ["none/t.jj", "none/t.csv", "t.xlsx", "t"])
def test_convert_refuses_in_a_sentence(tmp_path, run, target):
    source = tmp_path / "s.csv"
    source.write_text(CSV)
    refused(run("convert", source, tmp_path / target, *LONG), r"cannot be written|is not known")
    assert [path.name for path in tmp_path.iterdir()] == ["s.csv"]


def test_convert_refuses_parquet_in_no_folder_in_a_sentence(tmp_path, run):
    source = tmp_path / "s.csv"
    source.write_text(CSV)
    refused(run("convert", source, tmp_path / "none" / "t.parquet", *LONG), "cannot be written")


# ---- files that are cut off or damaged ---------------------------------------------------------------------------------------------------


def test_every_prefix_of_a_jj_file_is_a_table_or_a_sentence(tmp_path):
    path, whole = tmp_path / "t.jj", JJ.encode()
    tables = 0
    for size in range(len(whole) + 1):
        path.write_bytes(whole[:size])
        try:
            cw.read(path)
        except cw.InputError as error:
            assert str(path) in str(error), size
            assert len(str(error).splitlines()) == 1
        else:
            tables += 1
            assert size >= len(whole) - 1
    assert tables == 2


def options_of(name):
    return {} if name.endswith(".jj") else {"dims": ["region"], "value": "n"}


@pytest.mark.parametrize(("name", "text"), [("t.jj", JJ), ("t.csv", CSV)])
@pytest.mark.parametrize("seed", range(4))
def test_damaged_files_are_a_table_or_a_sentence(tmp_path, name, text, seed):
    rng, path = random.Random(seed), tmp_path / name
    for _ in range(150):
        data = bytearray(text.encode())
        for _ in range(rng.randint(1, 3)):
            place = rng.randrange(len(data))
            kind = rng.randrange(4)
            if kind == 0:
                data[place] = rng.randrange(256)
            elif kind == 1:
                del data[place : place + rng.randint(1, 4)]
            elif kind == 2:
                data[place:place] = rng.choice(
                    [b"\0", b"\xff", b'"', b"\n", b"-", b"9" * 40, b"e9", b" ", b"(", b":", b".", b"\x85"]
                )
            else:
                data[place:place] = data[: rng.randint(1, 20)]
            data = data or bytearray(b" ")
        path.write_bytes(bytes(data))
        try:
            table = cw.read(path, **options_of(name))
        except cw.InputError as error:
            assert str(path) in str(error), bytes(data)
        else:
            assert not table.relations.residual(table.scaled).any()


def test_every_prefix_of_a_parquet_file_is_a_sentence(tmp_path):
    path = tmp_path / "t.parquet"
    pl.DataFrame({"region": ["N1", "N2"], "n": [3, 4]}).write_parquet(path)
    whole = path.read_bytes()
    for size in range(0, len(whole), 37):
        path.write_bytes(whole[:size])
        with pytest.raises(cw.InputError, match=r"t\.parquet: not readable as Parquet"):
            cw.read(path, dims=["region"], value="n")


def test_ten_million_columns_are_refused_at_once_and_in_little_memory(tmp_path):
    path = tmp_path / "t.csv"
    path.write_bytes(b"c," * 10_000_000 + b"n\n")
    script = (
        "import json, pathlib\n"
        "from cellward.cli import main\n"
        "try:\n    main()\n"
        "except SystemExit as stopped:\n"
        "    status = pathlib.Path('/proc/self/status')\n"  # of this program alone: ru_maxrss remembers the one that started it
        "    peak = int(status.read_text().split('VmHWM:')[1].split()[0]) * 1024 if status.exists() else 0\n"
        "    print(json.dumps([stopped.code, peak]))\n"
    )
    done = subprocess.run(
        [sys.executable, "-c", script, "round", str(path), "--dims", "c", "--value", "n", "--out", str(tmp_path / "out")],
        capture_output=True,
        text=True,
        check=True,
    )  # fmt: skip
    code, peak = json.loads(done.stdout)
    assert (
        done.stderr
        == f"cellward: {path}: the header has 10,000,001 columns, more than 10,000; give a long table, one row a cell\n"
    )
    assert code == 2
    assert peak < 400e6  # the file itself is 20 MB, numpy some 60
    assert not (tmp_path / "out").exists()


# ---- the same from Python ----------------------------------------------------------------------------------------------------------------


@pytest.mark.parametrize(
    ("base", "words"),
    [
        (0, "base: 0 is not a base"),
        (-1, "base: -1 is not a base"),
        (0.5, r"finer than the table's 0 decimals"),
        ("abc", "'abc' is not a number"),
        (None, "base: no value"),
        (True, "truth value"),
        (float("nan"), "nan is not a number"),
        (float("inf"), "inf is not a number"),
        ([5, 5], r"2 bases for 4 cells; give one number, or one a cell"),
        ([5, 5, 5, 0], r"base of \(Total\): 0 is not a base"),
        (np.array([5, 5, 5, -1]), r"base of \(Total\): -1 is not a base"),
        (2**60, "is not a base"),
    ],
)
def test_bad_bases_in_python(base, words):
    with pytest.raises(cw.InputError, match=words):
        cw.ControlledRounding(base).protect(cw.Table.from_array([3, 4, 5]))


@pytest.mark.parametrize(
    ("weights", "words"),
    [
        ("mine", "is not known"),
        ("table", "the table has no weights"),
        ([1, 2], "2 for 4 cells"),
        ([1, 2, 3, -4], r"that of \(Total\) is negative"),
        ([1, 2, 3, float("nan")], r"weight of \(Total\): nan"),
    ],
)
def test_bad_weights_in_python(weights, words):
    with pytest.raises(cw.InputError, match=words):
        cw.ControlledRounding(5).protect(cw.Table.from_array([3, 4, 5]), weights=weights)


def test_a_circle_in_a_hierarchy_is_shown():
    with pytest.raises(cw.InputError, match=r"runs in a circle, A → B → A: remove one of these sums"):
        cw.Hierarchy((("A", ("B", "C")), ("B", ("A", "D"))))
