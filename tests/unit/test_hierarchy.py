"""Hierarchy: what it derives from its sums, how it is made, and what it refuses, in words."""

from __future__ import annotations

import pickle
import subprocess
import sys
import time

import pandas as pd
import polars as pl
import pyarrow as pa
import pytest

from cellward.errors import InputError
from cellward.hierarchy import Hierarchy

NUTS = Hierarchy(
    (
        ("Total", ("North", "South")),
        ("Total", ("East", "West")),
        ("North", ("N1", "N2")),
        ("South", ("S1", "S2")),
        ("East", ("N2", "S2")),
        ("West", ("N1", "S1")),
    )
)


def test_two_groupings_of_the_same_regions():
    assert NUTS.total == "Total"
    assert NUTS.depth == 2
    assert sorted(NUTS.leaves) == ["N1", "N2", "S1", "S2"]
    above_n2 = {ancestor for leaf, ancestor in NUTS.closure if leaf == "N2"}
    assert above_n2 == {"N2", "North", "East", "Total"}
    assert len(NUTS.closure) == len(set(NUTS.closure)) == 16
    place = {code: i for i, code in enumerate(NUTS.codes)}
    assert all(place[parent] < place[child] for parent, children in NUTS.sums for child in children)


def test_tree_is_read_depth_first_as_declared():
    tree = Hierarchy((("b", ("b2", "b1")), ("T", ("b", "a")), ("a", ("a1",)), ("b1", ("z", "y"))))
    assert tree.codes == ("T", "b", "b2", "b1", "z", "y", "a", "a1")
    assert tree.leaves == ("b2", "z", "y", "a1")
    assert tree.depth == 3
    assert [parent for parent, _ in tree.sums] == ["T", "b", "b1", "a"]


def test_order_of_declaration_changes_nothing():
    backwards = Hierarchy(tuple(sorted(NUTS.sums, key=lambda s: (s[0] != "Total", "WESN".find(s[0][0])))))
    assert backwards == NUTS
    assert hash(backwards) == hash(NUTS)
    assert backwards.codes == NUTS.codes
    assert backwards.closure == NUTS.closure


def test_survives_pickling():
    assert pickle.loads(pickle.dumps(NUTS)) == NUTS


def test_repeated_sums_are_dropped_whatever_the_order_of_children():
    assert Hierarchy((("T", ("a", "b")), ("T", ("b", "a")), ("T", ("a", "b")))).sums == (("T", ("a", "b")),)


def test_lists_are_taken_too():
    assert Hierarchy([["T", ["a", "b"]]]).sums == (("T", ("a", "b")),)  # type: ignore[arg-type]


def test_total_needs_one_root():
    two = Hierarchy((("T", ("a", "b")), ("East", ("b",))))
    assert two.roots == ("T", "East")
    with pytest.raises(InputError, match=r"no one total, because nothing stands above any of 'T', 'East'"):
        _ = two.total


@pytest.mark.parametrize(
    ("sums", "sentence"),
    [
        ((("A", ("B",)), ("B", ("A",))), "in a circle, A → B → A"),
        ((("T", ("A",)), ("A", ("B", "x")), ("B", ("C",)), ("C", ("A",))), "in a circle, A → B → C → A"),
        ((("T", ("x",)), ("A", ("B",)), ("B", ("A",))), "in a circle, A → B → A"),
        ((("A", ("A", "B")),), "'A' is among its own children"),
        ((("A", ()),), "the sum of 'A' has no children"),
        ((("A", ("B", "C", "B")),), "'B' is more than once among the children of 'A'"),
        ((("A", ("B", "")),), "the sum of 'A' has an empty code"),
        ((("", ("B",)),), "sum 1 of the hierarchy has an empty code"),
        ((("A", ("B", 1)),), "the sum of 'A' has 1 where a code belongs"),
        ((("A", (["B"],)),), "the sum of 'A' has a list where a code belongs"),
        (((None, ("B",)),), "sum 1 of the hierarchy has None where a code belongs"),
        ((("A", "BC"),), "the children of 'A' are given as a str"),
        ((("A", 3),), "the children of 'A' are given as 3"),
        ((("A",),), "sum 1 of the hierarchy is a tuple"),
        ((), "the hierarchy has no sums"),
        ({"A": ("B",)}, "not a dict"),
        (None, "not None"),
        ((("T", ("A", "B")), ("A", ("x", "y")), ("B", ("y", "z"))), "'T' counts 'y' twice, in 'A' and in 'B'"),
        ((("T", ("A", "y")), ("A", ("x", "y"))), "the sum of 'T' counts 'y' twice, as 'y' and in 'A'"),
        (
            (("T", ("A", "B")), ("A", ("m", "x")), ("m", ("n",)), ("B", ("k",)), ("k", ("n",))),
            "the sum of 'T' counts 'n' twice, in 'A' and in 'B'",
        ),
    ],
)
def test_refused_with_a_sentence(sums, sentence):
    with pytest.raises(InputError) as caught:
        Hierarchy(sums)
    assert sentence in str(caught.value)
    assert "\n" not in str(caught.value)


def test_a_code_on_two_ways_to_the_same_parent_is_no_double_count():
    assert NUTS.merge(Hierarchy((("World", ("Total", "Rest")),))).total == "World"


def test_deep_chains_and_wide_sums_are_quick():
    n = 100_000
    started = time.process_time()
    chain = Hierarchy(tuple((str(i), (str(i + 1),)) for i in reversed(range(n))))
    assert chain.depth == n
    assert chain.total == "0"
    assert len(chain.closure) == n + 1
    wide = Hierarchy.flat([str(i) for i in range(n)]) | Hierarchy.flat([str(i) for i in range(0, n, 2)], total="Even")
    assert len(wide.closure) == 2 * n + n // 2
    assert time.process_time() - started < 20  # near-linear takes a second; quadratic would take hours


def test_a_long_circle_is_named_briefly():
    n = 10_000
    with pytest.raises(InputError) as caught:
        Hierarchy(tuple((str(i), (str((i + 1) % n),)) for i in range(n)))
    assert "0 → 1 → 2 → 3 → 4 → 5 → … → 9999 → 0" in str(caught.value)


class TestFromDict:
    def test_leaves_in_all_their_forms(self):
        made = Hierarchy.from_dict({"Total": {"A": ["1", "2"], "B": {}, "C": None, "D": [], "E": ("3",)}})
        assert made.leaves == ("1", "2", "B", "C", "D", "3")
        assert made.sums == (("Total", ("A", "B", "C", "D", "E")), ("A", ("1", "2")), ("E", ("3",)))

    def test_total_goes_on_top(self):
        inner = {"A": ["1"], "B": {}}
        assert Hierarchy.from_dict(inner, total="T") == Hierarchy.from_dict({"T": inner})

    def test_several_roots_as_declared(self):
        made = Hierarchy.from_dict({"Total": ["a", "b", "c"], "East": ["b", "c"], "a": None})
        assert made.roots == ("Total", "East")

    def test_deep(self):
        nested: dict[str, object] = {"0": None}
        for i in range(1, 20_000):
            nested = {str(i): nested}
        assert Hierarchy.from_dict(nested).depth == 19_999

    @pytest.mark.parametrize(
        ("nested", "sentence"),
        [
            ({"Total": ["a"], "x": None}, "'x' has neither children nor parent"),
            ({"Total": "ab"}, "below 'Total' stands a str"),
            ({"Total": {"a": 3}}, "below 'a' stands 3"),
            ({"Total": ["a", {"b": []}]}, "the sum of 'Total' has a dict where a code belongs"),
            ({"Total": {1: ["a"]}}, "has 1 where a code belongs"),
            ({"Total": {}}, "has no sums"),
            ({}, "has no sums"),
            (["a"], "not a list"),
        ],
    )
    def test_refused(self, nested, sentence):
        with pytest.raises(InputError) as caught:
            Hierarchy.from_dict(nested)
        assert sentence in str(caught.value)


ROWS = [("Total", None), ("A", "Total"), ("B", "Total"), ("1", "A"), ("2", "A"), ("3", "B")]
TREE = Hierarchy.from_dict({"Total": {"A": ["1", "2"], "B": ["3"]}})


class TestFromParents:
    def test_tuples(self):
        assert Hierarchy.from_parents(ROWS) == TREE
        assert Hierarchy.from_parents([("Total", ""), *ROWS[1:]]) == TREE

    @pytest.mark.parametrize("library", [pd.DataFrame, pl.DataFrame, pa.table, "categorical"])
    def test_frames(self, library):
        columns = {"child": [c for c, _ in ROWS], "parent": [p for _, p in ROWS]}
        frame = pd.DataFrame(columns).astype("category") if library == "categorical" else library(columns)
        assert Hierarchy.from_parents(frame) == TREE

    @pytest.mark.parametrize("library", [pd.DataFrame, pl.DataFrame])
    def test_named_columns_and_groupings(self, library):
        columns = {"code": ["m", "f", "y", "a"], "up": ["T"] * 4, "by": ["sex", "sex", None, None]}
        made = Hierarchy.from_parents(library(columns), child="code", parent="up", grouping="by")
        assert made.sums == (("T", ("m", "f")), ("T", ("y", "a")))
        assert made == Hierarchy.from_parents(list(zip(*columns.values(), strict=True)))

    @pytest.mark.parametrize(
        ("frame", "sentence"),
        [
            (pd.DataFrame({"child": ["a"], "up": ["T"]}), "has no column 'parent' but 'child', 'up'"),
            (pd.DataFrame({"child": [1], "parent": ["T"]}), "row 1 of the parent–child table has 1 where"),
            (pd.DataFrame({"child": [None], "parent": ["T"]}), "row 1 of the parent–child table has None"),
            (pl.LazyFrame({"child": ["a"], "parent": ["T"]}), "is a LazyFrame"),
            (3, "is 3"),
            ({"child": ["a"], "parent": ["T"]}, "is a dict"),
            ([("a", "T"), ("b",)], "row 2 of the parent–child table is a tuple"),
            (["ab"], "row 1 of the parent–child table is a str"),
            ([("a", ["T"])], "row 1 of the parent–child table has a list"),
            ([("a", "T"), ("a", "T")], "'a' is more than once among the children of 'T'"),
            ([("a", None)], "has no sums"),
        ],
    )
    def test_refused(self, frame, sentence):
        with pytest.raises(InputError) as caught:
            Hierarchy.from_parents(frame)
        assert sentence in str(caught.value)


class TestFromPrefixes:
    def test_longest_prefix_among_the_codes(self):
        made = Hierarchy.from_prefixes(["A", "A123", "A12", "AB", "B", "A1239", "A123"])
        assert made.sums == (("Total", ("A", "B")), ("A", ("A12", "AB")), ("A12", ("A123",)), ("A123", ("A1239",)))

    def test_lengths_make_what_is_missing(self):
        made = Hierarchy.from_prefixes(["4711", "4", "4721", "50"], lengths=(1, 2, 4), total="All")
        assert made.sums == (("All", ("4", "5")), ("4", ("47",)), ("47", ("4711", "4721")), ("5", ("50",)))

    @pytest.mark.parametrize(
        ("codes", "lengths", "sentence"),
        [
            (["471"], (1, 2, 4), "code '471' has 3 characters"),
            (["4"], (), "do not rise"),
            (["4"], (2, 1), "do not rise"),
            (["4"], (0, 1), "do not rise"),
            (["4", ""], None, "has an empty code"),
            ("4711", None, "given as a str"),
            ([], None, "has no sums"),
            (["Total", "a"], None, "'Total' is among its own children"),
            ([4711], None, "has 4711 where a code belongs"),
        ],
    )
    def test_refused(self, codes, lengths, sentence):
        with pytest.raises(InputError) as caught:
            Hierarchy.from_prefixes(codes, lengths)
        assert sentence in str(caught.value)


def test_flat_takes_a_column_of_data():
    assert Hierarchy.flat(pd.Series(["m", "f", "m"])).sums == (("Total", ("m", "f")),)
    with pytest.raises(InputError, match="the sum of 'Total' has no children"):
        Hierarchy.flat([])


def test_merge_is_the_union_of_sums():
    sex, age, east = Hierarchy.flat(["m", "f"]), Hierarchy.flat(["y", "a"]), Hierarchy.flat(["m", "y"], total="East")
    assert sex.merge(age, east) == sex | age | east
    assert set((sex | age | east).sums) == {*sex.sums, *age.sums, *east.sums}
    assert sex | sex == sex.merge() == sex
    with pytest.raises(InputError, match="in a circle, Total → m → Total"):
        _ = sex | Hierarchy((("m", ("Total",)),))
    with pytest.raises(TypeError):
        _ = sex | 3  # type: ignore[operator]


def test_unknown_codes():
    assert NUTS.unknown(["N1", "N9", "Total", "N9", "x"]) == ("N9", "x")
    assert NUTS.unknown([]) == ()


def test_from_hrc_takes_a_path_or_lines(tmp_path):
    file = tmp_path / "a.hrc"
    file.write_text("A\n@1\n@2\nB\n@3\n")
    lines = ["A", "@1", "@2", "B", "@3"]
    assert Hierarchy.from_hrc(file) == Hierarchy.from_hrc(str(file)) == Hierarchy.from_hrc(lines) == TREE
    assert Hierarchy.from_hrc(iter(["A", "--1"]), lead="--", total="All").codes == ("All", "A", "1")
    with pytest.raises(InputError, match="given as NoneType"):
        Hierarchy.from_hrc(None)  # type: ignore[arg-type]


def test_importing_it_loads_nothing_heavy():
    heavy = "{'numpy', 'narwhals', 'pandas', 'polars', 'scipy'} & set(sys.modules)"
    stub = "import sys, types; sys.modules['cellward'] = p = types.ModuleType('cellward'); p.__path__ = [sys.argv[1]]"
    folder = sys.modules["cellward.hierarchy"].__file__.rpartition("hierarchy.py")[0]  # type: ignore[union-attr]
    code = f"{stub}; import cellward.hierarchy; assert not {heavy}, {heavy}"
    subprocess.run([sys.executable, "-c", code, folder], check=True)
