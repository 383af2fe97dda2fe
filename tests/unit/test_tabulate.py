"""Tables from records, each option on a case small enough to add up by hand."""

from decimal import Decimal

import duckdb
import numpy as np
import pandas as pd
import polars as pl
import pyarrow as pa
import pytest

from cellward import Hierarchy, InputError, Table
from cellward.exact import NO_BOUND

RECORDS = {
    "region": ["N1", "N1", "N2", "S1", "S1", "S1"],
    "kind": ["a", "b", "a", "a", "a", "b"],
    "firm": ["f", "g", "f", "h", "g", "f"],
    "value": [5, 2, 4, 7, 1, 3],
}
NUTS = Hierarchy.from_dict({"N": ["N1", "N2"], "S": ["S1", "S2"]}, total="Total")


def values(table):
    """Values by codes."""
    return dict(zip(map(table.labels.tuple_of, range(table.cells)), table.values.tolist(), strict=True))


def sums(table):
    """The equations of a table of one dimension: the total's code with those of its parts."""
    code = [table.labels.tuple_of(i)[0] for i in range(table.cells)]
    members = [
        (int(table.relations.total[j]), table.relations.equation(j)[1]) for j in range(table.relations.equations)
    ]
    return {code[total]: {code[i] for i in own if i != total} for total, own in members}, len(members)


def by_region(records=None, **options):
    return Table.from_microdata(RECORDS if records is None else records, dims=["region"], **options)


def at(table, *codes):
    """(records, units, size, largest, whose) of a cell."""
    c, i = table.contributions, table.labels.find(codes)
    names = [c.names[u] for u in c.unit[:, i].tolist() if u >= 0]
    return int(c.rows[i]), int(c.units[i]), int(c.size[i]), c.top[:, i].tolist(), names


# ---- cells -------------------------------------------------------------------------------------------------------------------------------


def test_sums_counts_and_the_largest_by_record():
    table = by_region(measure="value")
    assert values(table) == {("Total",): 22, ("N1",): 7, ("N2",): 4, ("S1",): 11}
    assert at(table, "Total") == (6, 6, 22, [7, 5, 4], ["record 4", "record 1", "record 3"])
    assert at(table, "N2") == (1, 1, 4, [4, 0, 0], ["record 3"])


def test_without_a_measure_records_are_counted():
    table = by_region()
    assert values(table) == {("Total",): 6, ("N1",): 2, ("N2",): 1, ("S1",): 3}
    assert table.decimals == 0


def test_a_hierarchy_adds_every_level_and_no_empty_code():
    table = by_region(measure="value", hierarchies={"region": NUTS})
    assert values(table) == {("Total",): 22, ("N",): 11, ("N1",): 7, ("N2",): 4, ("S",): 11, ("S1",): 11}
    assert sums(table) == ({"Total": {"N", "S"}, "N": {"N1", "N2"}, "S": {"S1"}}, 3)


def test_overlapping_groupings_of_the_same_codes():
    coast = Hierarchy.from_dict({"Coast": ["N2", "S1"]})
    table = by_region(measure="value", hierarchies={"region": [NUTS, coast]}, contributor="firm")
    assert values(table)[("Coast",)] == 15
    assert at(table, "Coast") == (4, 3, 15, [7, 7, 1], ["f", "h", "g"])


def test_records_of_one_contributor_are_summed_in_every_cell():
    """f contributes 5 to N1, 4 to N2 and 3 to S1: 12 in all, more than h's 7."""
    table = by_region(measure="value", contributor="firm", hierarchies={"region": NUTS})
    assert at(table, "Total") == (6, 3, 22, [12, 7, 3], ["f", "h", "g"])
    assert at(table, "N") == (3, 2, 11, [9, 2, 0], ["f", "g"])
    assert at(table, "S1") == (3, 3, 11, [7, 3, 1], ["h", "f", "g"])


def test_what_a_unit_contributes_to_every_cell():
    table = by_region(measure="value", contributor="firm", hierarchies={"region": NUTS})
    c = table.contributions
    cells, amounts = c.parts.of(list(c.names).index("f"))
    own = {table.labels.tuple_of(i)[0]: x for i, x in zip(cells.tolist(), amounts.tolist(), strict=True)}
    assert own == {"Total": 12, "N": 9, "N1": 5, "N2": 4, "S": 3, "S1": 3}


def test_a_holding_stands_before_its_contributors():
    """Records 1 and 4 are of holding H; record 2 has no holding and is g's; record 3 has neither."""
    records = {
        "r": ["x", "x", "x", "y"],
        "v": [1, 2, 3, 4],
        "firm": ["f", "g", None, "h"],
        "group": ["H", "", None, "H"],
    }
    table = Table.from_microdata(records, dims=["r"], measure="v", contributor="firm", holding="group")
    assert at(table, "Total") == (4, 3, 10, [5, 3, 2], ["H", "record 3", "g"])
    assert at(table, "x") == (3, 3, 6, [3, 2, 1], ["record 3", "g", "H"])


def test_every_unit_in_several_leaves():
    records = {"r": ["x", "y", "x", "y"], "v": [1, 2, 3, 4], "firm": ["f", "f", "g", "g"]}
    table = Table.from_microdata(records, dims=["r"], measure="v", contributor="firm")
    assert at(table, "Total") == (4, 2, 10, [7, 3, 0], ["g", "f"])
    assert values(table) == {("Total",): 10, ("x",): 4, ("y",): 6}


def test_equal_contributions_stand_in_the_order_of_their_units():
    records = {"r": ["x"] * 4, "v": [3, 3, 3, 3], "firm": ["10", "9", "b", "a"]}
    assert at(Table.from_microdata(records, dims=["r"], measure="v"), "x")[4] == ["record 1", "record 2", "record 3"]
    assert at(Table.from_microdata(records, dims=["r"], measure="v", contributor="firm"), "x")[4] == ["9", "a", "b"]


@pytest.mark.parametrize("largest", [1, 2, 5])
def test_as_many_of_the_largest_as_asked_for(largest):
    table = by_region(measure="value", largest=largest)
    assert at(table, "Total")[3] == [7, 5, 4, 3, 2][:largest]
    with pytest.raises(InputError, match=rf"looks at the {largest + 1} largest contributions, but {largest} were kept"):
        table.contributions.largest(largest + 1)


def test_many_units_and_large_amounts_need_more_than_64_bits():
    """Size and unit travel as one number: 2^52 with 2,000 units takes 63 bits."""
    records = {"r": ["x", "y"] * 1000, "v": [1] * 1999 + [2**52], "firm": [f"f{k // 2}" for k in range(2000)]}
    assert at(Table.from_microdata(records, dims=["r"], measure="v"), "y")[3:] == (
        [2**52, 1, 1], ["record 2000", "record 2", "record 4"],
    )  # fmt: skip
    table = Table.from_microdata(records, dims=["r"], measure="v", contributor="firm")
    assert at(table, "Total") == (2000, 1000, 2**52 + 1999, [2**52 + 1, 2, 2], ["f999", "f0", "f1"])


# ---- formulas ----------------------------------------------------------------------------------------------------------------------------


def test_a_formula_makes_linked_tables():
    table = Table.from_microdata(RECORDS, dims="region + kind", measure="value", contributor="firm")
    assert values(table) == {
        ("Total", "Total"): 22, ("N1", "Total"): 7, ("N2", "Total"): 4, ("S1", "Total"): 11, ("Total", "a"): 17, ("Total", "b"): 5,
    }  # fmt: skip
    assert at(table, "Total", "a") == (4, 3, 17, [9, 7, 1], ["f", "h", "g"])
    assert at(table, "Total", "Total") == (6, 3, 22, [12, 7, 3], ["f", "h", "g"])


def test_a_formula_in_text_is_the_list():
    both = [
        Table.from_microdata(RECORDS, dims=dims, measure="value") for dims in (["region", "kind"], "region*kind + kind")
    ]
    assert values(both[0]) == values(both[1])
    assert both[0].labels.dims == both[1].labels.dims == ("region", "kind")


def test_a_table_without_a_dimension_needs_its_total():
    two = Hierarchy((("Total", ("N1", "N2", "S1")), ("All", ("N1", "N2", "S1"))))
    with pytest.raises(InputError, match="the dimension region has no total"):
        Table.from_microdata(RECORDS, dims="region + kind", hierarchies={"region": two}, total="Sum")


@pytest.mark.parametrize("dims", ["region*region", "region +", "", [], ["region", "region"], 3, ["region", 1]])
def test_bad_formulas_are_refused(dims):
    with pytest.raises(InputError, match="dims="):
        Table.from_microdata(RECORDS, dims=dims)


# ---- weights, requests, negatives --------------------------------------------------------------------------------------------------------


def test_weights():
    """0.5·5 + 2·2 = 6.5; the largest are ranked unweighted."""
    table = by_region(RECORDS | {"w": ["0.5", "2", "1", "1", "1.5", "0"]}, measure="value", weight="w")
    c, n1, s1 = table.contributions, table.labels.find(("N1",)), table.labels.find(("S1",))
    assert table.decimals == 1
    assert values(table) == {("Total",): 19, ("N1",): 6.5, ("N2",): 4, ("S1",): 8.5}
    assert (c.top[:, n1].tolist(), c.weighted[:, n1].tolist()) == ([50, 20, 0], [25, 40, 0])
    assert (c.top[:, s1].tolist(), c.weighted[:, s1].tolist()) == ([70, 30, 10], [70, 0, 15])
    assert c.size.tolist() == table.scaled.tolist()


def test_the_weight_of_a_unit_is_that_of_its_records_together():
    records = {"r": ["x", "x", "y"], "v": [10, 20, 5], "w": [1, 2, 4], "firm": ["f", "f", "f"]}
    table = Table.from_microdata(records, dims=["r"], measure="v", weight="w", contributor="firm")
    c = table.contributions
    assert (c.top[0].tolist(), c.weighted[0].tolist()) == ([35, 30, 5], [70, 50, 20])


def test_weighted_counts():
    table = by_region({"region": ["x", "x", "y"], "w": ["1.25", "2.5", "1"]}, weight="w")
    assert values(table) == {("Total",): 4.75, ("x",): 3.75, ("y",): 1.0}


def test_weighted_counts_are_rounded_as_asked():
    table = by_region({"region": ["x", "x", "y"], "w": ["1.25", "2.55", "1"]}, weight="w", decimals=1)
    assert (table.decimals, values(table)) == (1, {("Total",): 4.9, ("x",): 3.9, ("y",): 1.0})


@pytest.mark.parametrize(("weight", "said"), [("-1", "a negative weight"), ("", "no weight"), (None, "no weight")])
def test_weights_that_are_none_are_refused(weight, said):
    with pytest.raises(InputError, match=f"record 2, column w: {said}"):
        by_region({"region": ["x", "y"], "w": ["1", weight]}, weight="w")


def test_requests_are_kept_by_code():
    records = RECORDS | {"asked": ["1", "", " 1 ", None, "2", "0"]}
    table = by_region(records, measure="value", request="asked", request_codes=["1", "2"])
    assert {code: own.tolist() for code, own in table.contributions.requested.items()} == {
        "1": [5, 5, 4, 0],
        "2": [1, 0, 0, 1],
    }


def test_a_unit_that_asks_in_one_record_asks_everywhere():
    records = RECORDS | {"asked": ["1", "0", "0", "0", "0", "0"]}
    table = by_region(records, measure="value", request="asked", contributor="firm")
    assert table.contributions.requested["1"].tolist() == [12, 5, 4, 3]


def test_a_unit_that_asks_in_a_dropped_record_asks_everywhere():
    records = {"region": ["x", "x", "y"], "firm": ["f", "f", "g"], "value": ["", "3", "4"], "asked": ["1", "0", "0"]}
    table = by_region(records, measure="value", request="asked", contributor="firm", blank="drop")
    assert table.contributions.requested["1"].tolist() == [3, 3, 0]


def test_undeclared_request_codes_are_refused():
    with pytest.raises(InputError, match="record 2, column asked: the request code '3' is not declared"):
        by_region({"region": ["x", "y"], "asked": ["1", "3"]}, request="asked")


def test_requests_in_a_column_of_doubles():
    """As pandas reads whole numbers with blanks among them."""
    frame = pd.DataFrame({"region": ["x", "y", "y"], "asked": [1, np.nan, 0]})
    assert by_region(frame, request="asked").contributions.requested["1"].tolist() == [1, 1, 0]


def test_negative_contributions():
    records = {"r": ["x", "x", "y"], "v": [-5, 2, 3], "firm": ["u", "v", "v"]}
    with pytest.raises(InputError, match=r"record 1, column v: a negative contribution .*negative='absolute'"):
        Table.from_microdata(records, dims=["r"], measure="v")
    table = Table.from_microdata(records, dims=["r"], measure="v", contributor="firm", negative="absolute")
    assert values(table) == {("Total",): 0, ("x",): -3, ("y",): 3}
    assert at(table, "Total") == (3, 2, 10, [5, 5, 0], ["u", "v"])
    assert at(table, "x") == (2, 2, 7, [5, 2, 0], ["u", "v"])
    assert table.contributions.negative
    assert set(table.lower.tolist()) == {-NO_BOUND}
    cells, amounts = table.contributions.parts.of(0)
    assert dict(zip(cells.tolist(), amounts.tolist(), strict=True)) == {0: 5, 1: 5}  # sizes


def test_what_is_rounded_to_zero_is_not_negative():
    table = by_region({"region": ["x", "y"], "value": ["-0.4", "3"]}, measure="value", decimals=0)
    assert (table.scaled.tolist(), table.contributions.negative, set(table.lower.tolist())) == ([3, 0, 3], False, {0})


def test_negatives_that_cancel_within_a_unit():
    records = {"r": ["x", "x", "y"], "v": [-5, 5, 3], "firm": ["u", "u", "u"]}
    table = Table.from_microdata(records, dims=["r"], measure="v", contributor="firm", negative="absolute")
    assert at(table, "x") == (2, 1, 0, [0, 0, 0], ["u"])


def test_bounds():
    assert set(by_region(measure="value").lower.tolist()) == {0}
    table = by_region(measure="value", lower=-3, upper=1000)
    assert (set(table.lower.tolist()), set(table.upper.tolist())) == ({-3}, {1000})
    with pytest.raises(InputError, match=r"\(Total\): its value is above its upper bound 20"):
        by_region(measure="value", upper=20)


# ---- what is missing ---------------------------------------------------------------------------------------------------------------------

GAPS = {"region": ["N1", None, "S1", "", "99"], "value": [1, 2, 4, 8, 16]}


def test_missing_codes_are_refused():
    with pytest.raises(InputError, match=r"record 2, column region \(and 1 more records?\): no code; .*missing='drop'"):
        by_region(GAPS)
    declared = {"region": ["N1", "99"]}
    with pytest.raises(InputError, match="record 2, column region: the code '99', which stands for a missing one"):
        by_region(declared, missing_codes={"region": ["99"]})


def test_missing_codes_are_dropped():
    table = by_region(GAPS, measure="value", missing="drop", missing_codes={"region": ["99"]})
    assert values(table) == {("Total",): 5, ("N1",): 1, ("S1",): 4}
    assert int(table.contributions.rows[0]) == 2


@pytest.mark.parametrize("tree", [None, NUTS])
def test_missing_codes_are_kept_below_the_total(tree):
    options = {} if tree is None else {"hierarchies": {"region": tree}}
    table = by_region(GAPS, measure="value", missing={"region": "keep"}, missing_codes={"region": ["99"]}, **options)
    found = values(table)
    assert (found["Total",], found["missing",], found["99",]) == (31, 10, 16)
    if tree is not None:
        assert (found["N",], found["S",]) == (1, 4)


def test_a_kept_code_hangs_below_every_sum_of_the_total():
    two = [NUTS, Hierarchy.from_dict({"E": ["N1", "S1"], "W": ["N2", "S2"]}, total="Total")]
    table = by_region(
        GAPS, measure="value", missing="keep", missing_codes={"region": ["99"]}, hierarchies={"region": two}
    )
    texts = {table.equation_text(j) for j in range(table.relations.equations)}
    assert {"(Total) = (N) + (S) + (99) + (missing)", "(Total) = (99) + (missing) + (E)"} <= texts


def test_a_missing_code_that_is_a_sum_is_refused():
    records = {"region": ["N1", "N"], "value": [1, 2]}
    with pytest.raises(InputError, match=r"'N' is a sum of others"):
        by_region(records, hierarchies={"region": NUTS}, missing="keep", missing_codes={"region": ["N"]})


def test_missing_by_dimension():
    records = {"a": ["x", None, "x"], "b": ["u", "u", None]}
    table = Table.from_microdata(records, dims=["a", "b"], missing={"a": "drop", "b": "keep"})
    assert values(table) == {
        ("Total", "Total"): 2,
        ("Total", "missing"): 1,
        ("Total", "u"): 1,
        ("x", "Total"): 2,
        ("x", "missing"): 1,
        ("x", "u"): 1,
    }


def test_nothing_left_is_refused():
    with pytest.raises(InputError, match=r"no record is left|no record has a code"):
        by_region({"region": [None, ""]}, missing="drop")


def test_a_unit_keeps_what_is_not_dropped():
    records = {"region": ["x", None, "y"], "firm": ["f", "f", "f"], "value": [1, 2, 4]}
    table = by_region(records, measure="value", contributor="firm", missing="drop")
    assert at(table, "Total") == (2, 1, 5, [5, 0, 0], ["f"])


def test_codes_that_do_not_fit_the_hierarchy_are_refused():
    with pytest.raises(InputError, match=r"record 2, column region: the code 'X' is not in the hierarchy"):
        by_region({"region": ["N1", "X"]}, hierarchies={"region": NUTS})
    with pytest.raises(InputError, match=r"record 2, column region: the code 'S' is a sum of others"):
        by_region({"region": ["N1", "S"]}, hierarchies={"region": NUTS})
    with pytest.raises(InputError, match=r"record 1, column region: the code 'Total' stands for the total"):
        by_region({"region": ["Total", "S"]})


def test_another_name_for_the_total():
    assert by_region(total="All").labels.totals == ("All",)
    assert by_region(total={"region": "All"}).labels.find(("All",)) == 0


def test_codes_are_padded():
    tree = Hierarchy.from_dict({"L": [" 1", " 2"], "H": ["10"]}, total="Total")
    table = by_region({"region": [1, 10, 2, 2]}, pad={"region": 2}, hierarchies={"region": tree})
    assert values(table) == {("Total",): 4, ("L",): 3, (" 1",): 1, (" 2",): 2, ("H",): 1, ("10",): 1}


@pytest.mark.parametrize(("blank", "expected"), [("drop", (1, 4, 1, 4)), ("zero", (2, 4, 2, 4))])
def test_records_without_a_value(blank, expected):
    records = {"region": ["x", "x", "y"], "value": ["4", "", None]}
    with pytest.raises(InputError, match=r"record 2, column value: no value \(2 records have none\)"):
        by_region(records, measure="value")
    table = by_region(records, measure="value", blank=blank)
    assert at(table, "x")[:3] == (expected[0], expected[0], 4)
    assert (("y",) in values(table)) == (blank == "zero")


def test_a_column_of_blanks_alone():
    table = by_region({"region": ["x"], "value": [None]}, measure="value", blank="zero")
    assert values(table) == {("Total",): 0, ("x",): 0}


def test_empty_cells():
    table = Table.from_microdata(
        RECORDS, dims=["region", "kind"], hierarchies={"region": NUTS}, empty="zero", measure="value"
    )
    found = values(table)
    assert len(found) == 7 * 3
    assert found["S2", "a"] == found["N2", "b"] == 0
    assert at(table, "S2", "Total") == (0, 0, 0, [0, 0, 0], [])


# ---- numbers -----------------------------------------------------------------------------------------------------------------------------


def test_decimals_are_as_many_as_occur():
    table = by_region({"region": ["x", "x", "y"], "value": ["1.50", "2", "0.125"]}, measure="value")
    assert (table.decimals, table.scaled.tolist()) == (3, [3625, 3500, 125])


@pytest.mark.parametrize(
    "numbers",
    [
        ["0.05", "-0.05", "0.15", "2.25"],
        [0.05, -0.05, 0.15, 2.25],
        list(map(Decimal, ("0.05", "-0.05", "0.15", "2.25"))),
    ],
)
def test_each_contribution_is_rounded_halves_away_from_zero(numbers):
    table = by_region(
        {"region": ["a", "b", "c", "d"], "value": numbers}, measure="value", decimals=1, negative="absolute"
    )
    assert table.scaled.tolist() == [25, 1, -1, 2, 23]


def test_doubles_are_their_shortest_decimals():
    table = by_region({"region": ["x"] * 3, "value": [0.1, 0.2, 1e-5]}, measure="value")
    assert (table.decimals, table.scaled.tolist()) == (5, [30001, 30001])


@pytest.mark.parametrize(
    ("text", "exact"),
    [
        ("1e3", "1000"), ("1.5E-2", "0.015"), (".5", "0.5"), ("5.", "5"), ("+3", "3"), (" 7 ", "7"), ("1234567890123456e-4", "123456789012.3456"),
        ("39602828469.1234", "39602828469.1234"), ("9007199254740992", "9007199254740992"), ("900719925474.0992", "900719925474.0992"),
        ("00000000000000000001.50", "1.5"),
    ],
)  # fmt: skip
def test_numbers_as_files_have_them(text, exact):
    table = by_region({"region": ["x"], "value": [text]}, measure="value")
    assert Decimal(int(table.scaled[0])).scaleb(-table.decimals) == Decimal(exact)


def test_large_numbers_with_decimals_asked_for():
    """396,028,284,690,000 in the fourth decimal is well within 2^53."""
    for value in ("39602828469", 39602828469, 39602828469.0, Decimal(39602828469)):
        table = by_region({"region": ["x"], "value": [value]}, measure="value", decimals=4)
        assert table.scaled.tolist() == [396028284690000] * 2


@pytest.mark.parametrize(
    ("value", "said"),
    [
        ("1,5", r"say so with decimal=','"), ("ten", "'ten' is not a number"), ("0x10", "is not a number"),
        ("nan", "is not a number"), ("inf", "is not a number"),
        ("1e300", r"beyond 2\^53|is not a number"), ("0.1234567890123456789", r"round them .*decimals"), ("9007199254740993", r"beyond 2\^53"),
    ],
)  # fmt: skip
def test_numbers_that_are_none_are_refused(value, said):
    with pytest.raises(InputError, match=said):
        by_region({"region": ["x", "y"], "value": ["1", value]}, measure="value")


def test_totals_beyond_exactness_are_refused():
    with pytest.raises(InputError, match=r"beyond 2\^53"):
        by_region({"region": ["x", "x"], "value": [2**53, 1]}, measure="value")


def test_infinite_doubles_are_refused():
    with pytest.raises(InputError, match="record 2, column value: an infinite number"):
        by_region({"region": ["x", "y"], "value": [1.0, np.inf]}, measure="value")


# ---- sources -----------------------------------------------------------------------------------------------------------------------------


def content(table):
    """Everything of a table that does not depend on how its records were given."""
    return [
        (table.labels.tuple_of(i), int(table.scaled[i]), *at(table, *table.labels.tuple_of(i)))
        for i in range(table.cells)
    ]


@pytest.fixture
def sources(tmp_path):
    """The same records in every way that is read."""
    frame = pd.DataFrame(RECORDS)
    frame.to_csv(tmp_path / "comma.csv", index=False)
    frame.to_csv(tmp_path / "tab.tsv", index=False, sep="\t")
    frame.to_csv(tmp_path / "bar.txt", index=False, sep="|", quoting=1)
    (tmp_path / "mac.csv").write_bytes(frame.to_csv(index=False, sep=";", lineterminator="\r\n").encode("utf-8-sig"))
    frame.to_parquet(tmp_path / "records.parquet")
    with duckdb.connect(str(tmp_path / "records.duckdb")) as connection:
        connection.register("frame", frame)
        connection.execute("CREATE TABLE records AS SELECT * FROM frame")
    memory = duckdb.connect()
    memory.register("frame", frame)
    memory.execute("CREATE TABLE records AS SELECT * FROM frame")
    category = frame.astype({"region": "category", "kind": "category"})
    yield {
        "mapping": (RECORDS, {}),
        "arrays": ({name: np.array(own) for name, own in RECORDS.items()}, {}),
        "texts": ({name: list(map(str, own)) for name, own in RECORDS.items()}, {}),
        "pandas": (frame, {}),
        "pandas, categories": (category, {}),
        "pandas, another index": (frame.set_index(pd.Index([9, 8, 7, 6, 5, 4])), {}),
        "polars": (pl.DataFrame(RECORDS), {}),
        "polars, lazy": (pl.DataFrame(RECORDS).lazy(), {}),
        "pyarrow": (pa.table(RECORDS), {}),
        "CSV": (tmp_path / "comma.csv", {}),
        "CSV by name": (str(tmp_path / "comma.csv"), {"separator": ","}),
        "TSV": (tmp_path / "tab.tsv", {}),
        "bars": (tmp_path / "bar.txt", {}),
        "semicolons, CRLF, BOM": (tmp_path / "mac.csv", {}),
        "Parquet": (tmp_path / "records.parquet", {}),
        "relation": (memory.table("records"), {}),
        "connection": (memory, {"query": "records"}),
        "query": (memory, {"query": "SELECT * FROM records WHERE value > 0;"}),
        "DuckDB file": (tmp_path / "records.duckdb", {"query": "FROM records"}),
    }
    memory.close()


def test_all_sources_give_the_same_table(sources):
    options = {"dims": "region*kind", "measure": "value", "contributor": "firm", "hierarchies": {"region": NUTS}}
    expected = content(Table.from_microdata(RECORDS, **options))
    for name, (rows, more) in sources.items():
        assert content(Table.from_microdata(rows, **options, **more)) == expected, name
        assert content(Table.from_microdata(rows, **options, **more, threads=1, memory_mb=200)) == expected, name


def test_a_source_is_left_as_it_was(sources):
    memory = sources["connection"][0]
    before = memory.execute("SHOW TABLES").fetchall()
    by_region(memory, query="records", contributor="firm")
    by_region(sources["relation"][0], contributor="firm")
    assert memory.execute("SHOW TABLES").fetchall() == before


def test_two_equal_columns_of_a_pyarrow_table():
    table = pa.table({"region": ["x"], "kind": ["x"], "value": [1]})
    assert Table.from_microdata(table, dims=["region", "kind"]).cells == 4


def test_decimal_commas(tmp_path):
    file = tmp_path / "records.csv"
    file.write_text("region;value\nx;1,5\ny;2\n")
    assert values(by_region(file, measure="value", decimal=",")) == {("Total",): 3.5, ("x",): 1.5, ("y",): 2.0}
    file.write_text("region;value\nx;1.5\n")
    with pytest.raises(InputError, match="no points"):
        by_region(file, measure="value", decimal=",")


def test_a_latin_1_file(tmp_path):
    file = tmp_path / "records.csv"
    file.write_bytes("région,n\nÎle,1\n".encode("latin-1"))
    assert values(Table.from_microdata(file, dims=["région"], measure="n")) == {("Total",): 1, ("Île",): 1}


@pytest.mark.parametrize(
    ("content", "said"),
    [
        (b"", "the file is empty"), (b"region,value\n", "there are no records"), (b"region,value\nx,1,2\n", "line 2: 3 fields"),
        (b"region,value\nx,1\ny\n", "line 3: 1 fields"), (b'region,value\n"x,1\n', "quote"), (b"\xff\xfer\x00", "not a text file"),
        (b"region,region\nx,y\n", "2 columns are called 'region'"), (b"Region,value\nx,1\n", "did you mean 'Region'"),
    ],
)  # fmt: skip
def test_bad_files_are_refused(tmp_path, content, said):
    file = tmp_path / "records.csv"
    file.write_bytes(content)
    with pytest.raises(InputError, match=said):
        by_region(file)


def test_other_sources_that_are_refused(tmp_path):
    for rows, options, said in (
        (tmp_path / "none.csv", {}, "no such file"),
        (tmp_path, {}, "a folder"),
        (3, {}, "no file of records"),
        (duckdb.connect(), {}, "query="),
        (RECORDS | {"region": "x"}, {}, "not a list"),
        (RECORDS | {"region": ["x"]}, {}, "differ in length"),
        ({"region": [1.5]}, {}, "holds decimal numbers"),
    ):
        with pytest.raises(InputError, match=said):
            by_region(rows, **options)
    (tmp_path / "records.ods").touch()
    with pytest.raises(InputError, match=r"the extension '\.ods' is not known"):
        by_region(tmp_path / "records.ods")
    (tmp_path / "records.csv").write_text("region\nx\n")
    with pytest.raises(InputError, match="query"):
        by_region(tmp_path / "records.csv", query="records")


@pytest.mark.parametrize(
    "options",
    [
        {"missing": "ignore"}, {"missing": {"kind": "drop"}}, {"blank": "maybe"}, {"negative": "yes"}, {"empty": "full"},
        {"largest": 0}, {"largest": 21}, {"largest": True}, {"pad": {"region": 0}}, {"pad": {"x": 2}}, {"pad": 2},
        {"missing_codes": {"region": "99"}}, {"decimal": ";"}, {"decimals": -1}, {"measure": "region"},
        {"measure": "value", "weight": "value"}, {"measure": "turnover"}, {"measure": "firm"}, {"total": {"x": "All"}},
        {"hierarchies": {"kind": NUTS}}, {"hierarchies": {"region": "x"}}, {"request": "kind", "request_codes": "1"},
    ],
    ids=str,
)  # fmt: skip
def test_options_are_checked(options):
    with pytest.raises(InputError):
        by_region(**options)
