"""What newcomers get told first: files that are not there, things that are no tables, decimal commas, amounts that cannot be meant."""

import subprocess
import sys

import pandas as pd
import pytest

import cellward as cw
from cellward.protect.released import read_release
from cellward.report.sections.outcome import notes

TABLE = cw.Table.from_frame({"a": ["x", "y"], "v": [1, 2]}, dims=["a"], value="v")


@pytest.mark.parametrize("name", ["none.csv", "none.parquet", "none.jj", "none.tab", "none", "none.xlsx"])
def test_a_file_that_is_not_there_is_told_before_anything_is_asked(tmp_path, name):
    with pytest.raises(cw.InputError, match=rf"{name}: no such file; check the path"):
        cw.read(tmp_path / name)


def test_a_release_that_is_not_there_is_told_before_its_base_is_asked_for(tmp_path):
    with pytest.raises(cw.InputError, match=r"nowhere: no such file; check the path"):
        read_release(tmp_path / "nowhere", TABLE)
    (tmp_path / "empty").mkdir()
    with pytest.raises(cw.InputError, match=r"release\.csv: no such file; check the path"):
        read_release(tmp_path / "empty", TABLE)


@pytest.mark.parametrize("name", ["folder", "folder.csv", "folder.parquet", "folder.jj"])
def test_a_folder_is_no_file(tmp_path, name):
    (tmp_path / name).mkdir()
    for read in (cw.read, lambda path: cw.Table.from_microdata(path, dims=["a"])):
        with pytest.raises(cw.InputError, match=rf"{name}: a folder or device and not a file"):
            read(tmp_path / name)


@pytest.mark.parametrize(
    ("call", "words"),
    [
        (lambda path: cw.read(None), "a table's file is wanted, and nothing is given"),
        (lambda path: cw.write(pd.DataFrame({"a": [1]}), path / "t.csv"), "a DataFrame is no Table, and cannot be written"),
        (lambda path: cw.write(TABLE, None), "nothing is no path of a file"),
        (lambda path: cw.link(TABLE, None), "link: argument 2 is nothing; give tables"),
        (lambda path: cw.link([TABLE, TABLE]), "link: argument 1 is a list; give tables"),
        (lambda path: cw.Table.from_array(None), "values: nothing is no array"),
        (lambda path: cw.Table.from_frame(None, dims=["a"], value="v"), "nothing is no data frame"),
        (lambda path: cw.Table.from_frame({"a": ["x"]}, dims=["a"], value=None), "value: None is no name of a column"),
        (lambda path: cw.Table.from_frame({"a": ["x"]}, dims=["a"], value="v", total=None), "total=None: give the code"),
        (lambda path: cw.Table.from_microdata(None, dims=["a"]), "nothing is no file of records; give a path"),
        (lambda path: cw.Table.from_microdata(3, dims=["a"]), "an int is no file of records; give a path"),
    ],
)  # fmt: skip
def test_what_is_no_table_is_told_in_a_sentence(tmp_path, call, words):
    with pytest.raises(cw.InputError) as found:
        call(tmp_path)
    assert words in str(found.value)
    assert "NoneType" not in str(found.value)


def test_an_option_that_is_not_known(tmp_path):
    (tmp_path / "t.csv").write_text("a,v\nx,1\n")
    with pytest.raises(cw.InputError, match="the option 'valu' is not known; use those of"):
        cw.read(tmp_path / "t.csv", dims=["a"], value="v", valu="v")


def test_decimal_commas(tmp_path):
    (tmp_path / "t.csv").write_text("a;v\nx;13,5\ny;1\n")
    with pytest.raises(
        cw.InputError, match=r"'13,5' is not a number; if the comma is a decimal mark, .*decimal=',' \(--decimal ,\)"
    ):
        cw.read(tmp_path / "t.csv", dims=["a"], value="v")
    assert cw.read(tmp_path / "t.csv", dims=["a"], value="v", decimal=",").values.tolist() == [13.5, 1, 14.5]
    with pytest.raises(cw.InputError, match=r"'1,000\.5' is not a number; write digits with a point"):
        cw.Table.from_frame({"a": ["x"], "v": ["1,000.5"]}, dims=["a"], value="v")


@pytest.mark.parametrize("levels", [{0: 5, 7: 10}, {0: 5, 2: 10}])
def test_a_level_of_sums_that_is_not_there(levels):
    words = rf"there is no level {max(levels)}, the table has the levels 0 to 1 .*leave it out"
    with pytest.raises(cw.InputError, match=f"base: {words}"):
        cw.ControlledRounding(levels).protect(TABLE)
    with pytest.raises(cw.InputError, match=f"weights: {words}"):
        cw.ControlledRounding(5).protect(TABLE, weights=levels)


def test_a_base_beyond_every_value_is_noted():
    said = "larger than every value of the table: hardly anything is left of the values; choose a smaller one"
    for method in (cw.ControlledRounding, cw.CellPerturbation):
        assert notes(method(3).protect(TABLE)) == []
        assert notes(method({0: 4, 1: 100}).protect(TABLE)) == [f"the base 4 is {said}"]
        assert notes(method(100).protect(TABLE)) == [f"the base 100 is {said}"]
    assert notes(cw.CellPerturbation(within=100).protect(TABLE)) == [f"the distance 100 is {said}"]
    empty = cw.Table.from_array([0, 0], dims=["a"])
    assert notes(cw.ControlledRounding(5).protect(empty)) == []


def test_objects_print_one_short_line():
    table = cw.Table.from_array([[20, 50, 10], [8, 19, 22]], dims=["a", "b"])
    assert repr(table.labels) == "Labels(a (3 codes) × b (4 codes), 12 cells)"
    evidence = (
        cw.ControlledRounding(5)
        .protect(cw.Table.from_equations([1, 2, 3], [[1, 1, -1]], sensitive=[0], upl=[1]))
        .evidence
    )
    assert repr(evidence).startswith("Evidence(1 levels") or repr(evidence).startswith("Evidence(1 level")
    assert len(repr(evidence)) < 80


def test_the_package_runs_as_a_module():
    done = subprocess.run([sys.executable, "-m", "cellward", "--version"], capture_output=True, text=True, check=True)
    assert done.stdout == f"cellward {cw.__version__}\n"
