"""Building tables: arrays, long frames, bare equations and links, against naive sums."""

from __future__ import annotations

import itertools
import random
import subprocess
import sys
from decimal import Decimal

import numpy as np
import pandas as pd
import polars as pl
import pyarrow as pa
import pytest
import scipy.sparse as sp

import cellward as cw
from cellward.exact import NO_BOUND
from cellward.table.sensitivity import CellStatus

Table, Hierarchy, InputError = cw.Table, cw.Hierarchy, cw.InputError


def equations(table):
    """The equations as a sorted list of (rhs, {cell name: coefficient}), with the total at −1 where there is one."""
    names = [table.labels.tuple_of(i) if table.labels.dims else i for i in range(table.cells)]
    out = []
    for j in range(table.relations.equations):
        rhs, members, coefs = table.relations.equation(j)
        out.append((rhs, frozenset((names[i], c) for i, c in zip(members, coefs, strict=True))))
    return sorted(out, key=lambda e: (e[0], sorted(e[1])))


def by_name(table):
    """{codes of a cell: its exact integer}."""
    named = {table.labels.tuple_of(i): int(table.scaled[i]) for i in range(table.cells)}
    assert len(named) == table.cells
    return named


# ---- arrays ----------------------------------------------------------------------------------------------------------------------------


@pytest.mark.parametrize("shape", [(1,), (4,), (2, 3), (1, 1), (3, 1, 2), (2, 2, 2, 3)])
def test_an_array_gets_its_margins_in_c_order(shape):
    inner = np.random.default_rng(len(shape)).integers(0, 50, shape)
    table = Table.from_array(inner)
    full = [range(size + 1) for size in shape]
    places = list(itertools.product(*full))
    assert table.cells == len(places)
    for i, place in enumerate(places):
        own = tuple(slice(None) if k == size else k for k, size in zip(place, shape, strict=True))
        assert table.scaled[i] == inner[own].sum()
        codes = tuple("Total" if k == size else str(k) for k, size in zip(place, shape, strict=True))
        assert table.labels.tuple_of(i) == codes
    naive = set()
    for axis, size in enumerate(shape):
        for rest in itertools.product(*(r for k, r in enumerate(full) if k != axis)):
            line = [places.index((*rest[:axis], k, *rest[axis:])) for k in range(size + 1)]
            naive.add(frozenset([*((i, 1) for i in line[:-1]), (line[-1], -1)]))
    found = [table.relations.equation(j) for j in range(table.relations.equations)]
    assert {frozenset(zip(members, coefs, strict=True)) for _, members, coefs in found} == naive
    assert len(found) == len(naive)
    assert table.labels.dims == tuple(f"axis{k}" for k in range(len(shape)))


def test_an_array_takes_names_codes_and_a_total():
    table = Table.from_array([[1, 2], [3, 4]], dims=["sex", "age"], codes=[["F", "M"], [10, 20]], total="all")
    assert table.labels.columns()["sex"] == ["F"] * 3 + ["M"] * 3 + ["all"] * 3
    assert table.labels.columns()["age"] == ["10", "20", "all"] * 3
    assert table.labels.totals == ("all", "all")
    assert table.equation_text(3) == "(F, all) = (F, 10) + (F, 20)"
    assert repr(table) == "Table(sex × age, 9 cells, 6 equations)"


@pytest.mark.parametrize(
    "values", [[["1.25", "3.1"]], [[Decimal("1.25"), Decimal("3.10")]], [[1.25, 3.1]], np.array([[1.25, 3.1]])]
)
def test_an_array_of_decimals_is_exact_whatever_its_type(values):
    table = Table.from_array(values)
    assert table.decimals == 2
    assert table.scaled.tolist() == [125, 310, 435, 125, 310, 435]
    assert table.values.dtype == np.float64
    assert table.values.tolist() == [1.25, 3.1, 4.35, 1.25, 3.1, 4.35]


def test_an_array_takes_decimals_and_bounds():
    table = Table.from_array([0.1 + 0.2, 1000.5], decimals=1, upper=[1, None, np.inf], lower=-2.25)
    assert table.scaled.tolist() == [3, 10005, 10008]
    assert table.upper.tolist() == [10, NO_BOUND, NO_BOUND]
    assert table.lower.tolist() == [-22] * 3  # rounded into the grid of tenths: no value at −2.3 is allowed
    assert Table.from_array([3, 4], decimals=2).scaled.tolist() == [300, 400, 700]
    assert Table.from_array([3, 4]).values.dtype == np.int64
    assert Table.from_array([-3, 4], lower=None).lower.tolist() == [-NO_BOUND] * 3


@pytest.mark.parametrize(
    ("values", "options", "words"),
    [
        ([], {}, "empty"),
        (3, {}, "no array"),
        ([[1, 2], [3]], {}, "differ in length"),
        ([1, None], {}, r"values\[1\]: no value"),
        ([1, np.nan], {}, r"values\[1\]: nan"),
        ([[1, 2], [3, np.inf]], {}, r"values\[1, 1\]: inf"),
        ([True, False], {}, "truth value"),
        ([2**52, 2**52, 2], {}, "2\\^53"),
        ([2**60], {}, "2\\^53"),
        ([1 + 1j], {}, "complex"),
        ([1, -2], {}, r"\(1\): its value is below its lower bound 0.*lower="),
        ([1, 2], {"upper": 2}, r"\(Total\): its value is above its upper bound 2.*upper="),
        ([1, 2], {"upper": [1, 2]}, "2 bounds for 3 cells"),
        ([1, 2], {"dims": ["a", "b"]}, "2 names for 1 axes"),
        ([[1, 2]], {"dims": ["a", "a"]}, "all different"),
        ([1, 2], {"codes": [["a"]]}, r"lengths \[2\]"),
        ([1, 2], {"codes": [["a", "a"]]}, "occurs twice"),
        ([1, 2], {"codes": [["a", "Total"]]}, "occurs twice, or is the total's"),
        ([1, 2], {"decimals": -1}, "decimals=-1"),
        ([1, 2], {"decimals": 1.0}, "decimals=1.0"),
        ([0.1 + 0.2, 1000.5], {}, "use decimals=1"),
    ],
)
def test_a_bad_array_is_refused_in_a_sentence(values, options, words):
    with pytest.raises(InputError, match=words) as caught:
        Table.from_array(values, **options)
    assert "\n" not in str(caught.value)


def test_a_margin_just_beyond_the_largest_integer_is_refused():
    with pytest.raises(InputError, match="2\\^53"):
        Table.from_array([2**52, 2**52, 1])


# ---- long frames: a naive recursion as oracle --------------------------------------------------------------------------------------------


def random_tree(rng, name, depth, width):
    """{parent: children} of a random tree and its leaves; every parent has one to ``width`` children."""
    sums, leaves = {}, []

    def grow(code, level):
        if level == depth or (level and rng.random() < 0.3):
            leaves.append(code)
            return
        sums[code] = [f"{code}{k}" if level else f"{name}{k}" for k in range(rng.randint(1, width))]
        for child in sums[code]:
            grow(child, level + 1)

    grow("Total", 0)
    return sums, leaves


def naive_value(trees, leaf_values, codes):
    """The value of a cell by recursion on the first dimension whose code is a parent; None when nothing is below it."""
    for k, code in enumerate(codes):
        if code in trees[k]:
            parts = [naive_value(trees, leaf_values, (*codes[:k], c, *codes[k + 1 :])) for c in trees[k][code]]
            known = [part for part in parts if part is not None]
            return sum(known) if known else None
    return leaf_values.get(codes)


def naive_cells(trees, leaf_values):
    every = [sorted(set(tree) | {c for children in tree.values() for c in children}) for tree in trees]
    found = {codes: naive_value(trees, leaf_values, codes) for codes in itertools.product(*every)}
    return {codes: value for codes, value in found.items() if value is not None}


def naive_equations(trees, cells):
    out = []
    for k, tree in enumerate(trees):
        for codes in cells:
            if codes[k] in tree:
                here = [(*codes[:k], c, *codes[k + 1 :]) for c in tree[codes[k]]]
                out.append((0, frozenset([(codes, -1), *((c, 1) for c in here if c in cells)])))
    return sorted(out, key=lambda e: (e[0], sorted(e[1])))


def as_columns(dims, cells):
    rows = list(cells.items())
    return {**{dim: [codes[k] for codes, _ in rows] for k, dim in enumerate(dims)}, "n": [v for _, v in rows]}


@pytest.mark.parametrize("seed", range(24))
def test_random_hierarchical_frames_agree_with_a_naive_recursion(seed):
    rng = random.Random(seed)
    dims = ["one", "two", "three"][: rng.randint(1, 3)]
    grown = [random_tree(rng, dim[0], rng.randint(1, 3), 3) for dim in dims]
    trees = [tree for tree, _ in grown]
    every = list(itertools.product(*(leaves for _, leaves in grown)))
    kept = [codes for codes in every if rng.random() < 0.8] or every
    leaf_values = {codes: rng.randint(0, 99) for codes in kept}
    hierarchies = {
        dim: Hierarchy(tuple((parent, tuple(children)) for parent, children in tree.items()))
        for dim, tree in zip(dims, trees, strict=True)
    }
    options = {"dims": dims, "value": "n", "hierarchies": hierarchies}
    cells = naive_cells(trees, leaf_values)

    computed = Table.from_frame(as_columns(dims, leaf_values), **options)
    assert by_name(computed) == cells
    assert equations(computed) == naive_equations(trees, cells)
    assert [computed.labels.tuple_of(i) for i in range(len(kept))] == kept  # the rows first, in their order

    shuffled = dict(rng.sample(sorted(cells.items()), len(cells)))
    given = Table.from_frame(as_columns(dims, shuffled), totals="given", **options)
    assert by_name(given) == cells
    assert equations(given) == naive_equations(trees, cells)
    assert [given.labels.tuple_of(i) for i in range(given.cells)] == list(shuffled)

    wrong = {c: v + (7 if any(c[k] in t for k, t in enumerate(trees)) else 0) for c, v in shuffled.items()}
    assert by_name(Table.from_frame(as_columns(dims, wrong), totals="compute", **options)) == cells

    filled = {codes: leaf_values.get(codes, 0) for codes in every}
    zero = Table.from_frame(as_columns(dims, leaf_values), empty="zero", **options)
    assert by_name(zero) == naive_cells(trees, filled)
    assert equations(zero) == naive_equations(trees, naive_cells(trees, filled))


# ---- long frames: kinds of input ---------------------------------------------------------------------------------------------------------

ROWS = {"sex": ["F", "M", "Total"], "n": [3, 4, 7]}
FRAMES = {
    "mapping": lambda columns: columns,
    "mapping of tuples": lambda columns: {name: tuple(column) for name, column in columns.items()},
    "pandas": pd.DataFrame,
    "pandas, other index": lambda columns: pd.DataFrame(columns, index=[7] * len(next(iter(columns.values())))),
    "polars": pl.DataFrame,
    "pyarrow": pa.table,
}


@pytest.mark.parametrize("kind", FRAMES)
@pytest.mark.parametrize(
    ("column", "decimals"),
    [
        ([3, 4, 7], 0),
        ([3.0, 4.0, 7.0], 0),
        ([0.1, 0.2, 0.3], 1),
        ([Decimal("0.10"), Decimal("0.25"), Decimal("0.35")], 2),
        (["0.1", "0.25", "0.35"], 2),
        (["3", "4", "7"], 0),
    ],
    ids=["int", "whole float", "float", "Decimal", "text", "whole text"],
)
def test_every_kind_of_frame_and_of_number(kind, column, decimals):
    table = Table.from_frame(FRAMES[kind]({"sex": ["F", "M", "Total"], "n": column}), dims=["sex"], value="n")
    assert table.decimals == decimals
    assert table.scaled.tolist() == [int(Decimal(str(x)) * 10**decimals) for x in column]
    assert equations(table) == [(0, frozenset([(("F",), 1), (("M",), 1), (("Total",), -1)]))]


@pytest.mark.parametrize(
    "frame",
    [
        pd.DataFrame({"a": pd.Categorical(["x", "y"]), "n": pd.array([1, 2], dtype="Int64")}),
        pd.DataFrame({"a": pd.array(["x", "y"], dtype="string"), "n": pd.array([1, 2], dtype="Float64")}),
        pd.DataFrame({"a": ["x", "y"], "n": np.array([1, 2], np.uint8)}),
        pl.DataFrame({"a": ["x", "y"], "n": [1, 2]}, schema={"a": pl.Categorical, "n": pl.UInt64}),
        pl.DataFrame({"a": ["x", "y"], "n": [1, 2]}, schema={"a": pl.Enum(["y", "x"]), "n": pl.Float32}),
        {"a": np.array(["x", "y"]), "n": pd.Series([1, 2])},
    ],
)
def test_columns_of_other_types(frame):
    table = Table.from_frame(frame, dims=["a"], value="n")
    assert by_name(table) == {("x",): 1, ("y",): 2, ("Total",): 3}


@pytest.mark.parametrize("make", [pd.DataFrame, pl.DataFrame, dict])
def test_whole_numbers_as_codes_stay_as_written(make):
    assert by_name(Table.from_frame(make({"a": [1, 10], "n": [1, 2]}), dims=["a"], value="n"))[("10",)] == 2
    with pytest.raises(InputError, match=r"row 0, column a: the code 1.0 is a decimal number; make the column text"):
        Table.from_frame(make({"a": [1.0, 10.0], "n": [1, 2]}), dims=["a"], value="n")


def test_missing_values_in_pandas_and_polars_are_named():
    for frame in (
        pd.DataFrame({"a": ["x", "y"], "n": [1, None]}),
        pd.DataFrame({"a": ["x", "y"], "n": pd.array([1, None], dtype="Int64")}),
        pl.DataFrame({"a": ["x", "y"], "n": [1, None]}),
    ):
        with pytest.raises(InputError, match=r"row 1, column n: no value; fill one in or leave"):
            Table.from_frame(frame, dims=["a"], value="n")
    for frame in (pd.DataFrame({"a": ["x", None], "n": [1, 2]}), pl.DataFrame({"a": ["x", None], "n": [1, 2]})):
        with pytest.raises(InputError, match=r"row 1, column a: no code"):
            Table.from_frame(frame, dims=["a"], value="n")


def test_missing_text_in_pandas_string_columns():
    text = pd.array(["u", None], dtype="string")
    table = Table.from_frame(pd.DataFrame({"a": ["x", "y"], "n": [1, 2], "s": text}), dims=["a"], value="n", status="s")
    assert table.sensitive.tolist() == [0]
    with pytest.raises(InputError, match=r"row 1, column a: no code"):
        Table.from_frame(pd.DataFrame({"a": text, "n": [1, 2]}), dims=["a"], value="n")


def test_float32_is_read_by_its_own_shortest_repr():
    column = np.array([0.1, 0.2], np.float32)
    for frame in ({"a": ["x", "y"], "n": column}, pl.DataFrame({"a": ["x", "y"], "n": column})):
        assert Table.from_frame(frame, dims=["a"], value="n").scaled.tolist() == [1, 2, 3]


# ---- long frames: totals -----------------------------------------------------------------------------------------------------------------


def test_totals_of_one_dimension_are_computed_when_none_is_given():
    frame = {"sex": ["F", "M", "Total"] * 2, "age": ["old"] * 3 + ["young"] * 3, "n": [1, 2, 3, 4, 5, 9]}
    table = Table.from_frame(frame, dims=["sex", "age"], value="n")
    assert by_name(table)[("Total", "Total")] == 12
    assert table.cells == 9
    assert table.relations.equations == 6
    alone = Table.from_frame(frame, dims=["sex", "age"], value="n", totals="given")
    assert (alone.cells, alone.relations.equations) == (6, 2)


def test_totals_may_be_called_anything_by_dimension():
    frame = {"sex": ["F", "M", "both"], "age": ["all"] * 3, "n": [1, 2, 3]}
    table = Table.from_frame(frame, dims=["sex", "age"], value="n", total={"sex": "both", "age": "all"})
    assert table.labels.totals == ("both", "all")
    assert table.relations.equations == 1
    tree = Hierarchy.from_dict({"EU": ["AT", "BE"]})
    given = Table.from_frame({"geo": ["AT", "BE"], "n": [1, 2]}, dims=["geo"], value="n", hierarchies={"geo": tree})
    assert given.labels.totals == ("EU",)
    assert by_name(given)[("EU",)] == 3


def test_several_partitions_of_a_total_all_become_equations():
    sex, age = Hierarchy.flat(["F", "M"]), Hierarchy.flat(["old", "young"])
    frame = {"who": ["F", "M", "old", "young", "Total"], "n": [1, 2, 1, 2, 3]}
    table = Table.from_frame(frame, dims=["who"], value="n", hierarchies={"who": [sex, age]})
    total = (("Total",), -1)
    assert equations(table) == sorted(
        [
            (0, frozenset([total, (("F",), 1), (("M",), 1)])),
            (0, frozenset([total, (("old",), 1), (("young",), 1)])),
        ],
        key=lambda e: (e[0], sorted(e[1])),
    )
    computed = Table.from_frame(
        {"who": frame["who"][:4], "n": frame["n"][:4]}, dims=["who"], value="n", hierarchies={"who": sex | age}
    )
    assert by_name(computed) == by_name(table)
    with pytest.raises(InputError, match=r"\(Total\) = \(old\) \+ \(young\), does not add up: difference -1"):
        Table.from_frame(
            {"who": frame["who"], "n": [1, 2, 2, 2, 3]}, dims=["who"], value="n", hierarchies={"who": [sex, age]}
        )


def test_overlapping_groupings_and_several_hierarchies_of_one_dimension():
    regions = Hierarchy.from_dict({"Total": {"North": ["N1", "N2"], "South": ["S1", "S2"]}})
    coast = Hierarchy.from_dict({"Coast": ["N2", "S1"], "Inland": ["N1", "S2"]})
    leaf = {"N1": 1, "N2": 20, "S1": 300, "S2": 4000}
    expected = {**leaf, "North": 21, "South": 4300, "Total": 4321, "Coast": 320, "Inland": 4001}
    frame = {"r": list(leaf), "n": list(leaf.values())}
    for both in ([regions, coast], (coast, regions), regions | coast):
        table = Table.from_frame(frame, dims=["r"], value="n", hierarchies={"r": both})
        assert by_name(table) == {(code,): value for code, value in expected.items()}
        assert table.relations.equations == 5
        assert table.labels.totals == ("Total",)


def test_a_total_of_one_part_is_an_equation_too():
    tree = Hierarchy.from_dict({"Total": {"A": ["A1"], "B": ["B1", "B2"]}})
    frame = {"c": ["A1", "B1", "B2"], "n": [1, 2, 3]}
    table = Table.from_frame(frame, dims=["c"], value="n", hierarchies={"c": tree})
    assert (0, frozenset([(("A",), -1), (("A1",), 1)])) in equations(table)
    assert table.relations.equations == 3


def test_absent_cells_leave_their_sums_and_zero_fills_them():
    frame = {"a": ["x", "y", "y"], "b": ["p", "p", "q"], "n": [1, 2, 3]}
    absent = Table.from_frame(frame, dims=["a", "b"], value="n")
    assert ("x", "q") not in by_name(absent)
    assert (0, frozenset([(("x", "Total"), -1), (("x", "p"), 1)])) in equations(absent)
    zero = Table.from_frame(frame, dims=["a", "b"], value="n", empty="zero")
    assert by_name(zero)[("x", "q")] == 0
    assert (zero.cells, zero.relations.equations) == (9, 6)
    with pytest.raises(InputError, match=r"would make .* cells; leave empty cells absent"):
        wide = {f"d{k}": [str(i) for i in range(300)] for k in range(4)}
        Table.from_frame({**wide, "n": [1] * 300}, dims=list(wide), value="n", empty="zero", totals="given")


def test_an_absent_cell_is_named_when_a_total_misses_it():
    frame = {"a": ["x", "y", "Total"], "n": [1, 2, 6]}
    with pytest.raises(InputError, match=r"\(z\) is not in the table: add the cell, or .*totals='compute'"):
        Table.from_frame(frame, dims=["a"], value="n", hierarchies={"a": Hierarchy.flat(["x", "y", "z"])})


def test_status_levels_and_weights_follow_their_rows():
    frame = {
        "a": ["Total", "x", "y", "z", "w"],
        "n": [26, 5, 6, 7, 8],
        "s": ["S", "u", "M", " z ", ""],
        "lo": ["0", "1.5", "", None, "0"],
        "up": [0, 2, 0, 0, float("nan")],
        "sl": [0, "3", 0, 0, 0],
        "w": [1, "2.5", 1, 1, 1],
    }
    columns = {"status": "s", "lpl": "lo", "upl": "up", "spl": "sl", "cost": "w"}
    table = Table.from_frame(frame, dims=["a"], value="n", **columns)
    assert table.sensitivity.status.tolist() == [0, 1, 2, 3, 0]
    assert table.sensitivity.lpl.tolist() == [0, 2, 0, 0, 0]  # 1.5 is rounded up to the grid of whole numbers
    assert table.sensitivity.upl.tolist() == [0, 2, 0, 0, 0]
    assert table.sensitivity.spl.tolist() == [0, 3, 0, 0, 0]
    assert (table.weight.tolist(), table.weight_decimals) == ([10, 25, 10, 10, 10], 1)
    assert (table.sensitive.tolist(), table.sensitivity.fixed.tolist()) == ([1], [False, False, False, True, False])
    again = Table.from_frame(frame, dims=["a"], value="n", totals="compute", **columns)
    assert again.labels.tuple_of(4) == ("Total",)  # computed, so last; its row's attributes stay with it
    assert again.sensitivity.lpl.tolist() == [2, 0, 0, 0, 0]
    finer = Table.from_frame(frame, dims=["a"], value="n", decimals=1, **columns)
    assert finer.sensitivity.lpl.tolist() == [0, 15, 0, 0, 0]


TREE = Hierarchy.from_dict({"Total": {"North": ["N1", "N2"], "South": ["S1"]}})


@pytest.mark.parametrize(
    ("frame", "options", "words"),
    [
        ({"a": ["x", "x"], "n": [1, 2]}, {}, r"row 0 and row 1: the cell \(x\) occurs twice"),
        ({"a": ["x", "y", "Total"], "n": [1, 2, 4]}, {}, r"\(Total\) = \(x\) \+ \(y\), does not add up: difference 1"),
        ({"a": ["x", "y", "Total"], "n": [1, 2, 4]}, {}, r"difference 1; correct the values, give the hierarchy"),
        ({"a": ["N1", "N3"], "n": [1, 2]}, {"hierarchies": {"a": TREE}}, r"row 1, column a: the code 'N3' is not in the h"),
        ({"a": ["x"], "n": [1]}, {"hierarchies": {"b": TREE}}, r"hierarchies: 'b' is not among the dims a"),
        ({"a": ["x"], "n": [1]}, {"totals": "none"}, r"totals='none' is not known; use one of 'auto', 'given', 'compute'"),
        ({"a": ["x"], "n": [1]}, {"empty": "none"}, r"empty='none' is not known; use one of 'absent', 'zero'"),
        ({"a": ["x"], "n": [1]}, {"status": "s"}, r"no column 's'"),
        ({"a": ["x"], "n": [1], "s": ["q"]}, {"status": "s"}, r"row 0, column s: the status 'q' is not known; use s safe"),
        ({"a": ["x"], "n": [1], "l": [-1]}, {"lpl": "l"}, r"lpl: the level of .* is negative"),
        ({"a": ["x"], "n": [1], "w": [-1]}, {"cost": "w"}, r"cost of \(x\): a negative weight"),
        ({"a": ["x"], "n": [1], "l": ["k"]}, {"lpl": "l"}, r"row 0, column l: 'k' is not a number"),
        ({"a": ["x", ""], "n": [1, 2]}, {}, r"row 1, column a: no code"),
        ({"a": ["x", "y"], "n": [1]}, {}, "differ in length"),
        ({"a": [], "n": []}, {}, "no rows"),
        ({"a": ["x"], "n": ["1,5"]}, {}, r"row 0, column n: '1,5' is not a number; if the comma"),
        ({"a": ["x"], "n": ["1 000"]}, {}, r"'1 000' is not a number"),
        ({"a": ["x", "y"], "n": [-1, 2]}, {}, r"\(x\): its value is below its lower bound 0.*lower="),
        ({"a": ["North", "Total"], "n": [1, 1]}, {"hierarchies": {"a": TREE}, "totals": "compute"}, "every row holds a total"),
        ({"a": ["x", "y"], "n": [2**52, 2**52 + 1]}, {}, r"\(Total\): 9007199254740993 .* beyond 2\^53"),
        ({"a": ["x", "y"], "n": [2**52, 2**53]}, {}, r"is beyond 2\^53"),
        ({"n": [1]}, {}, "no column 'a'"),
        ([{"a": "x", "n": 1}], {}, "a list is no data frame; give pandas, polars, pyarrow or a mapping"),
    ],
)  # fmt: skip
def test_a_bad_frame_is_refused_in_a_sentence(frame, options, words):
    with pytest.raises(InputError, match=words) as caught:
        Table.from_frame(frame, dims=["a"], value="n", **options)
    assert "\n" not in str(caught.value)


@pytest.mark.parametrize(
    "case",
    [
        pytest.param(lambda: Table.from_frame({"a": ["x"], "n": 1}, dims=["a"], value="n"), id="a bare number as column"),
        *(
            pytest.param(
                lambda h=h: Table.from_frame({"a": ["x"], "n": [1]}, dims=["a"], value="n", hierarchies={"a": h}),
                id=f"hierarchy given as {h!r}",
            )
            for h in ([], "a.hrc", {"Total": ["x"]})
        ),
        pytest.param(
            lambda: Table.from_frame(pd.DataFrame([["x", 1, 2]], columns=["a", "n", "n"]), dims=["a"], value="n"),
            id="a pandas column twice",
        ),
        pytest.param(lambda: Table.from_equations([1, 2, 3], [[1, 1, -1]], rhs=0), id="rhs=0"),
        pytest.param(lambda: Table.from_equations([1, 2, 3], [[1, 1, -1]], sensitive=0), id="sensitive=0"),
        pytest.param(lambda: Table.from_equations(3, [[1]]), id="values=3"),
        pytest.param(lambda: Table.from_equations([1, 2, 3], [[1, 1, -1], [1]]), id="a ragged matrix"),
        pytest.param(lambda: Table.from_equations([1, 2, 3], [[np.nan, 1, -1]]), id="nan in the matrix"),
        pytest.param(lambda: Table.from_equations([1, 2, 3], [[1e300, 1, -1]]), id="1e300 in the matrix"),
    ],
)  # fmt: skip
def test_arguments_of_the_wrong_shape_are_refused_in_a_sentence(case):
    with pytest.raises(InputError):
        case()


def test_float_noise_in_totals_is_told_from_wrong_values():
    frame = {"a": ["x", "y", "Total"], "n": [0.1, 0.2, 0.1 + 0.2]}
    with pytest.raises(InputError, match=r"decimals=\d+"):
        Table.from_frame(frame, dims=["a"], value="n")
    assert Table.from_frame(frame, dims=["a"], value="n", decimals=1).scaled.tolist() == [1, 2, 3]
    noise = {"a": ["x", "y", "Total"], "n": ["100.1", "200.2", "300.3000000001"]}
    with pytest.raises(InputError, match=r"that is float noise: with decimals=1 every equation holds"):
        Table.from_frame(noise, dims=["a"], value="n")
    wrong = {"a": ["x", "y", "Total"], "n": ["100.1", "200.2", "300.4"]}
    with pytest.raises(InputError, match=r"difference 0.1; correct the values"):
        Table.from_frame(wrong, dims=["a"], value="n")


# ---- bare equations ----------------------------------------------------------------------------------------------------------------------

MATRIX = [[1, 1, -1, 0], [0, 1, 0, 2]]


@pytest.mark.parametrize(
    "matrix",
    [
        MATRIX,
        np.array(MATRIX, float),
        np.array(MATRIX, np.int8),
        sp.csr_matrix(MATRIX),
        sp.csc_array(np.array(MATRIX)),
        sp.lil_matrix(MATRIX),
        sp.coo_array(([1, 1, -1, 1, 1, 1], ([0, 0, 0, 1, 1, 1], [0, 1, 2, 1, 3, 3])), shape=(2, 4)),  # an entry in two parts
    ],
    ids=["list", "float", "int8", "csr", "csc", "lil", "coo with a repeated entry"],
)  # fmt: skip
def test_equations_from_any_matrix(matrix):
    table = Table.from_equations([7, 4, 16, 3], matrix, rhs=[-5, 10])
    assert equations(table) == [
        (-5, frozenset([(0, 1), (1, 1), (2, -1)])),
        (10, frozenset([(1, 1), (3, 2)])),
    ]
    assert table.equation_text(0) == "cell 2 = cell 0 + cell 1 + 5"
    assert table.equation_text(1) == "cell 1 + 2·cell 3 = 10"
    assert repr(table) == "Table(4 cells, 2 equations)"


def test_right_hand_sides_bring_their_decimals():
    table = Table.from_equations(["1.5", "2"], [[1, 1]], rhs=["3.50"])
    assert (table.decimals, table.scaled.tolist(), table.relations.rhs.tolist()) == (1, [15, 20], [35])
    with pytest.raises(InputError, match=r"equation 0, cell 0 \+ cell 1 = 3.25, does not add up: difference 0.25"):
        Table.from_equations(["1.5", "2"], [[1, 1]], rhs=["3.25"])


def test_sensitive_fixed_levels_bounds_and_weights_of_bare_cells():
    table = Table.from_equations(
        ["1.5", "2.5", "4"],
        [[1, 1, -1]],
        sensitive=[2, 0],
        lpl=["0.25", 1],
        upl=2,
        spl=np.array([0.0, 0.5]),
        fixed=np.array([1]),
        lower=[None, -1, 0],
        upper=[10, float("inf"), "9.99"],
        weight=[1, 2, "0.5"],
    )
    s = table.sensitivity
    assert s.status.tolist() == [CellStatus.UNSAFE, CellStatus.FIXED, CellStatus.UNSAFE]
    assert (s.lpl.tolist(), s.upl.tolist(), s.spl.tolist()) == ([10, 0, 3], [20, 0, 20], [5, 0, 0])
    assert table.lower.tolist() == [-NO_BOUND, -10, 0]
    assert table.upper.tolist() == [100, NO_BOUND, 99]
    assert (table.weight.tolist(), table.weight_decimals) == ([10, 20, 5], 1)
    assert repr(table) == "Table(3 cells, 1 equation, 1 decimal, 2 unsafe, 1 fixed)"
    assert s.levels.cell.tolist() == [0, 2]
    assert table.without_levels().sensitivity.levels.spl.tolist() == [1, 1]
    assert table.without_levels().sensitive.tolist() == [0, 2]


@pytest.mark.parametrize(
    ("options", "words"),
    [
        ({"matrix": [[1, 1]]}, "2 columns for 3 values"),
        ({"matrix": [1, 1, -1]}, "1 dimensions"),
        ({"matrix": [[0.5, 1, -1]]}, "coefficient 0.5 of cell 0 in equation 0 is not a whole number"),
        ({"matrix": [["1", "1", "-1"]]}, "give whole numbers"),
        ({"matrix": [[2**40, 1, -1]]}, "not a whole number below 2"),
        ({"rhs": [1]}, r"cell 2 = cell 0 \+ cell 1 − 1, does not add up: difference 1"),
        ({"rhs": [0, 0]}, "rhs: 2"),
        ({"sensitive": [3]}, "sensitive: cell 3 does not exist; the table has cells 0 to 2"),
        ({"sensitive": [-1]}, "sensitive: cell -1 does not exist"),
        ({"sensitive": [1, 1]}, "named twice"),
        ({"sensitive": [True, False, True]}, "give a list of cell numbers from 0 to 2"),
        ({"sensitive": [0], "lpl": [1, 2]}, "lpl: 2 levels for 1 sensitive cells"),
        ({"sensitive": [0], "upl": [-1]}, "upl: the level of cell 0 is negative"),
        ({"sensitive": [0], "fixed": [0]}, "cell 0 is both sensitive and fixed"),
        ({"fixed": [5]}, "fixed: cell 5 does not exist"),
        ({"weight": [1, 1]}, "weight: 2"),
        ({"weight": [1, -1, 1]}, "weight of cell 1: a negative weight"),
        ({"lower": 2}, "cell 0: its value is below its lower bound 2"),
        ({"upper": [1, 1, 3]}, "cell 1: its value is above its upper bound 1"),
        ({"upper": "x"}, "'x' is not a number"),
    ],
)
def test_bad_equations_are_refused_in_a_sentence(options, words):
    arguments = {"values": [1, 2, 3], "matrix": [[1, 1, -1]], **options}
    with pytest.raises(InputError, match=words) as caught:
        Table.from_equations(**arguments)
    assert "\n" not in str(caught.value)


def test_cells_without_equations_are_a_table():
    table = Table.from_equations([7, 8], np.zeros((0, 2), int))
    assert (table.cells, table.relations.equations) == (2, 0)


def test_huge_sums_are_exact():
    half = 2**52
    table = Table.from_equations([half - 1, half, 2 * half - 1], [[1, 1, -1]])
    assert table.scaled.tolist() == [half - 1, half, 2 * half - 1]
    with pytest.raises(InputError, match="difference 1"):
        Table.from_equations([half - 1, half, 2 * half], [[1, 1, -1]])
    with pytest.raises(InputError, match="does not add up"):  # M·a beyond 2^63: wraps to 0 in int64
        Table.from_equations([2**53, 2**53], [[2**31 - 1, 2**31 - 1]], rhs=[0])


# ---- linking -----------------------------------------------------------------------------------------------------------------------------


def linkable(decimals=None, **changes):
    rows = {"a": ["x", "y", "Total"], "n": [3, 4, 7], "s": ["u", "s", "m"], "l": [1, 0, 0], "w": [1, 2, 3], **changes}
    return Table.from_frame(
        rows, dims=["a"], value="n", status="s", lpl="l", cost="w", decimals=decimals, upper=[10, 20, 30]
    )


def test_linked_tables_share_their_common_cells():
    rng = np.random.default_rng(5)
    cube = rng.integers(0, 30, (2, 3, 2))
    names, codes = ["a", "b", "c"], [["a1", "a2"], ["b1", "b2", "b3"], ["c1", "c2"]]
    pick = [(0, 1), (1, 2), (0, 2)]
    tables = []
    for axes in pick:
        rest = next(k for k in range(3) if k not in axes)
        tables.append(
            Table.from_array(cube.sum(axis=rest), dims=[names[k] for k in axes], codes=[codes[k] for k in axes])
        )
    linked = cw.link(*tables)
    expected, sums = {}, []
    for axes, table in zip(pick, tables, strict=True):
        for i in range(table.cells):
            key = ["Total"] * 3
            for k, code in zip(axes, table.labels.tuple_of(i), strict=True):
                key[k] = code
            expected[tuple(key)] = int(table.scaled[i])
        sums.append(table.relations.equations)
    assert linked.labels.dims == ("a", "b", "c")
    assert by_name(linked) == expected
    assert linked.relations.equations == sum(sums)
    assert not linked.relations.residual(linked.scaled).any()
    assert [linked.labels.tuple_of(i)[:2] for i in range(tables[0].cells)] == [
        tables[0].labels.tuple_of(i) for i in range(tables[0].cells)
    ]


def test_linking_is_idempotent_and_takes_one_table():
    table = linkable()
    for linked in (cw.link(table), cw.link(table, table)):
        assert by_name(linked) == by_name(table)
        assert linked.upper.tolist() == table.upper.tolist()
        assert linked.weight.tolist() == table.weight.tolist()
        assert linked.sensitivity.status.tolist() == table.sensitivity.status.tolist()


def test_contradicting_values_are_refused_with_both_named():
    other = linkable(n=[2, 5, 7])
    with pytest.raises(
        InputError, match=r"\(x\) has one value in table 1 and another in table 2 \(and 1 more cells\); correct one of"
    ):
        cw.link(linkable(), other)
    with pytest.raises(InputError, match=r"\(Total\) has one value in table [12] and another in table 3"):
        cw.link(
            linkable(),
            linkable(),
            Table.from_frame({"a": ["z"], "n": ["7.5"]}, dims=["a"], value="n"),
        )


def test_differing_decimals_meet_at_the_finest():
    coarse, fine = linkable(), linkable(decimals=2, l=["1.25", 0, 0], s=["s", "u", "z"], w=["0.5", 3, 3])
    linked = cw.link(coarse, fine)
    assert (linked.decimals, linked.scaled.tolist()) == (2, [300, 400, 700])
    assert linked.sensitivity.lpl.tolist() == [125, 0, 0]
    assert linked.sensitivity.status.tolist() == [CellStatus.UNSAFE, CellStatus.UNSAFE, CellStatus.FIXED]
    assert linked.upper.tolist() == [1000, 2000, 3000]
    assert (linked.weight.tolist(), linked.weight_decimals) == ([10, 30, 30], 1)


def test_bounds_and_levels_of_a_shared_cell_are_the_strictest():
    one = Table.from_frame({"a": ["x", "y"], "n": [3, 4]}, dims=["a"], value="n", lower=[1, 0, 0], upper=[None, 5, 9])
    two = Table.from_frame(
        {"a": ["x", "y"], "n": [3, 4]}, dims=["a"], value="n", lower=[0, 2, None], upper=[9, 6, None]
    )
    linked = cw.link(one, two)
    assert (linked.lower.tolist(), linked.upper.tolist()) == ([1, 2, 0], [9, 5, 9])
    assert linked.weight is None


def test_what_cannot_be_linked_says_why():
    with pytest.raises(InputError, match="at least one table"):
        cw.link()
    with pytest.raises(InputError, match="table 2 has no named dimensions"):
        cw.link(linkable(), Table.from_equations([1], np.zeros((0, 1), int)))
    other = Table.from_frame({"a": ["x"], "n": [3]}, dims=["a"], value="n", total="all")
    with pytest.raises(InputError, match="the total of a is 'Total' in one table and 'all' in table 2"):
        cw.link(linkable(), other)
    two_roots = Hierarchy.from_dict({"North": ["x"], "South": ["y"]})
    rootless = Table.from_frame({"a": ["x", "y"], "n": [3, 4]}, dims=["a"], value="n", hierarchies={"a": two_roots})
    with pytest.raises(InputError, match="dimension a of table 2 has no total; name it with total="):
        cw.link(linkable(), rootless)


# ---- imports -----------------------------------------------------------------------------------------------------------------------------


def test_importing_cellward_imports_nothing_heavy():
    heavy = [
        "pandas",
        "polars",
        "pyarrow",
        "scipy",
        "highspy",
        "ortools",
        "duckdb",
        "narwhals",
        "clarabel",
        "rich",
        "typer",
    ]
    script = f"import sys, cellward; print([m for m in {heavy!r} if m in sys.modules])"
    found = subprocess.run([sys.executable, "-c", script], capture_output=True, text=True, check=True)
    assert found.stdout.strip() == "[]"


def test_building_from_a_mapping_imports_no_data_frame_library():
    script = (
        "import sys, cellward as cw\n"
        "cw.Table.from_frame({'a': ['x', 'y'], 'n': [1, 2]}, dims=['a'], value='n')\n"
        "cw.Table.from_array([[1, 2], [3, 4]])\n"
        "cw.Table.from_equations([1, 2, 3], [[1, 1, -1]])\n"
        "print([m for m in ('pandas', 'polars', 'narwhals', 'scipy', 'duckdb') if m in sys.modules])"
    )
    found = subprocess.run([sys.executable, "-c", script], capture_output=True, text=True, check=True)
    assert found.stdout.strip() == "[]"
