"""Hierarchies from files: each is read by what it is, and what could be read two ways is refused in a sentence."""

import re

import polars as pl
import pytest

import cellward as cw
from cellward.formats.hierarchy_file import read_hierarchy

TREE = cw.Hierarchy.from_dict({"Total": {"A": ["01", "02"], "B": ["05"]}})
LEVELS = "section,division\nA,01\nA,02\nB,05\n"
SAME = {
    "nace.hrc": "A\n@01\n@02\nB\n@05\n",
    "nace.txt": "A\n@01\n@02\nB\n@05\n",
    "levels.csv": LEVELS,
    "levels.txt": LEVELS.replace(",", "\t"),
    "semicolons.csv": LEVELS.replace(",", ";"),
    "with the total.csv": "all,section,division\nTotal,A,01\nTotal,A,02\nTotal,B,05\n",
    "rows twice.csv": LEVELS + LEVELS.split("\n", 1)[1],
    "parents.csv": "child,parent\nA,Total\nB,Total\n01,A\n02,A\n05,B\n",
    "Parents.csv": "Parent,Child\nTotal,A\nTotal,B\nA,01\nA,02\nB,05\n",
    "code and parent.csv": "code,label,parent\nA,x,\nB,y,\n01,z,A\n02,z,A\n05,z,B\n",
    "unnamed parents.csv": "x,y\nA,Total\nB,Total\n01,A\n02,A\n05,B\n",
    "unnamed parents left.csv": "x,y\nTotal,A\nTotal,B\nA,01\nA,02\nB,05\n",
    "unnamed roots.csv": "x,y\nA,\nB,\n01,A\n02,A\n05,B\n",
}


@pytest.mark.parametrize("name", SAME)
def test_a_file_is_read_by_what_it_is(tmp_path, name):
    (tmp_path / name).write_text(SAME[name])
    assert cw.Hierarchy.from_file(tmp_path / name) == TREE
    assert read_hierarchy(str(tmp_path / name)) == TREE


def test_parquet_too(tmp_path):
    pl.DataFrame({"child": ["A", "B", "01", "02", "05"], "parent": [None, None, "A", "A", "B"]}).write_parquet(
        tmp_path / "n.parquet"
    )
    assert read_hierarchy(tmp_path / "n.parquet") == TREE


def test_a_file_may_be_told_what_it_is(tmp_path):
    (tmp_path / "n.csv").write_text("a,b,c\nA,x,01\nA,y,02\nB,z,05\n")
    assert read_hierarchy(tmp_path / "n.csv", levels=["a", "c"]) == TREE
    assert read_hierarchy(tmp_path / "n.csv", child="c", parent="a") == TREE
    assert read_hierarchy(tmp_path / "n.csv", levels=["a", "c"], total="NL").total == "NL"
    (tmp_path / "n.csv").write_text("A\n-01\n-02\nB\n-05\n")
    assert read_hierarchy(tmp_path / "n.csv", lead="-") == TREE


def test_groupings_and_overlaps_stay(tmp_path):
    (tmp_path / "g.csv").write_text("child,parent,grouping\nm,Total,sex\nf,Total,sex\ny,Total,age\no,Total,age\n")
    assert read_hierarchy(tmp_path / "g.csv").sums == (("Total", ("m", "f")), ("Total", ("y", "o")))
    (tmp_path / "o.csv").write_text("child,parent\nN,NL\nS,NL\nn1,N\nn2,N\ns1,S\nn2,East\ns1,East\n")
    assert read_hierarchy(tmp_path / "o.csv").roots == ("NL", "East")


def test_a_path_may_end_early(tmp_path):
    (tmp_path / "n.csv").write_text("section,division,group\nA,01,011\nA,02,\nB,,\n")
    assert read_hierarchy(tmp_path / "n.csv").leaves == ("011", "02", "B")
    assert cw.Hierarchy.from_levels([("A", "01", None), ("A", "02"), ("B", "", "")]).leaves == ("01", "02", "B")


REFUSED = {
    "one column": ("code\nA\nB\n", r"has one, 'code'; add the others"),
    "a chain of two columns": ("x,y\nA,B\nB,C\nC,D\n", r"not plain which of the two columns holds the parents; say which"),
    "levels from right to left": ("division,section\n01,A\n02,A\n05,B\n", r"'A' of 'section' stands beside '02' and '01' of 'division'; say which"),
    "labels among the levels": ("section,name,division\nA,Farms,01\nA,Farms,02\nB,Mines,05\n", r"'section' and 'name' say the same.*levels=\["),
    "no rows": ("child,parent\n", r"a header but no rows"),
    "a column twice": ("a,a\n1,2\n", r"two columns are called 'a'"),
    "a row without a code": ("child,parent\nA,Total\n,Total\n", r"row 2 has no code in the column 'child'"),
    "no parents": ("child,parent\nA,\nB,\n", r"no row has a parent in the column 'parent'"),
    "a hole in a path": ("section,division,group\nA,,011\nA,02,021\nA,02,022\n", r"row 1 of the correspondence table has an empty code"),
}  # fmt: skip


@pytest.mark.parametrize("case", REFUSED)
def test_what_could_be_read_two_ways_is_refused(tmp_path, case):
    written, words = REFUSED[case]
    (tmp_path / "n.csv").write_text(written)
    with pytest.raises(cw.InputError, match=words) as found:
        read_hierarchy(tmp_path / "n.csv")
    assert "n.csv" in str(found.value)


def test_wrong_options_are_refused(tmp_path):
    (tmp_path / "n.csv").write_text(LEVELS)
    for options, words in (
        ({"levels": ["section"], "child": "division"}, "not both"),
        ({"levels": "section"}, "as a list of texts"),
        ({"levels": ["colour"]}, "there is no column 'colour'; it has 'section', 'division'"),
        ({"levels": ["section"], "lead": "@"}, "lead= is for .hrc files"),
    ):
        with pytest.raises(cw.InputError, match=re.escape(words)):
            read_hierarchy(tmp_path / "n.csv", **options)
    with pytest.raises(cw.InputError, match=r"n\.csv: a table is no \.hrc file; read it with Hierarchy\.from_file"):
        cw.Hierarchy.from_hrc(tmp_path / "n.csv")
    with pytest.raises(cw.InputError, match="no such file"):
        cw.Hierarchy.from_file(tmp_path / "none.csv")


def test_to_hrc_comes_back(tmp_path):
    TREE.to_hrc(tmp_path / "n.hrc")
    assert cw.Hierarchy.from_hrc(tmp_path / "n.hrc") == TREE
    TREE.to_hrc(tmp_path / "m.hrc", lead="--")
    assert cw.Hierarchy.from_hrc(tmp_path / "m.hrc", lead="--") == TREE


def test_to_hrc_refuses_what_is_no_tree(tmp_path):
    for tree, words in (
        (cw.Hierarchy.from_dict({"Total": {"N": ["1", "2"], "S": ["3"]}, "East": ["2", "3"]}), "no one total"),
        (cw.Hierarchy((("T", ("m", "f")), ("T", ("y", "o")))), "'T' has several sums"),
    ):
        with pytest.raises(cw.InputError, match=words):
            tree.to_hrc(tmp_path / "n.hrc")
    assert not (tmp_path / "n.hrc").exists()


def test_a_hierarchy_prints_one_line():
    many = cw.Hierarchy.flat([str(k) for k in range(5000)])
    assert repr(many) == "Hierarchy('Total': 5,001 codes, 1 sum)"
    assert repr(TREE) == "Hierarchy('Total': 6 codes, 3 sums, 2 deep)"
