"""Records added up inside a warehouse give the table that the same records give here."""

import random
import subprocess
import sys
from decimal import Decimal

import numpy as np
import pyarrow as pa
import pytest

from cellward import Hierarchy, InputError, Table
from cellward.tabulate.roles import Roles
from cellward.tabulate.warehouse import build_from_ibis, is_ibis

ibis = pytest.importorskip("ibis")
pytestmark = pytest.mark.filterwarnings(
    "ignore::DeprecationWarning"
)  # ibis calls what pandas and DuckDB have deprecated

BACKENDS = ("duckdb", "sqlite")
REGIONS = Hierarchy.from_dict({"Total": ["north", "south"], "north": ["a", "b"], "south": ["c", "d"]})


def stored(records, backend="duckdb"):
    """The records as a table of a database."""
    return getattr(ibis, backend).connect().create_table("records", ibis.memtable(pa.table(records)))


def built(records, backend="duckdb", **roles):
    return build_from_ibis(stored(records, backend), Roles(**roles))


def refusal(records, backend="duckdb", **roles):
    with pytest.raises(InputError) as refused:
        built(records, backend, **roles)
    return str(refused.value)


def random_records(seed, *, negative=False, blanks=False, missing=False, distinct=False, anonymous=0.0):
    """Records of firms, some of which have several records in several places and belong to a group."""
    draw = random.Random(seed)
    many = draw.randint(1, 60)
    sizes = draw.sample(range(1, 10_000), many) if distinct else [draw.choice((0, 1, 2, 5, 100)) for _ in range(many)]

    def maybe(share, entry, instead=None):
        return instead if draw.random() < share else entry

    firms = [f"firm {draw.randint(1, 25)}" for _ in range(many)]
    return {
        "region": pa.array([maybe(0.1 * missing, draw.choice("abcd"), draw.choice((None, "", "?"))) for _ in range(many)], pa.string()),
        "nace": pa.array([draw.randint(8, 12) for _ in range(many)], pa.int64()),
        "size": pa.array([draw.choice(("small", "large")) for _ in range(many)], pa.string()),
        "firm": pa.array([maybe(anonymous, firm, draw.choice((None, ""))) for firm in firms], pa.string()),
        "group": pa.array([maybe(0.6, f"group {draw.randint(1, 3)}") for _ in range(many)], pa.string()),
        "turnover": pa.array([maybe(0.1 * blanks, x * draw.choice((1, -1) if negative else (1,))) for x in sizes], pa.int64()),
        "weight": pa.array([draw.choice((1.0, 1.5, 2.25)) for _ in range(many)], pa.float64()),
        "asks": pa.array([draw.choice(("1", " 2", "0", "", None, None)) for _ in range(many)], pa.string()),
    }  # fmt: skip


def assert_same(ours, theirs, *, named=True):
    """Two tables are one, except for what records without a name are called."""
    assert ours.labels.columns() == theirs.labels.columns()
    assert ours.decimals == theirs.decimals
    for field in ("scaled", "lower", "upper"):
        np.testing.assert_array_equal(getattr(ours, field), getattr(theirs, field))
    assert [ours.equation_text(j) for j in range(ours.relations.equations)] == [
        theirs.equation_text(j) for j in range(theirs.relations.equations)
    ]
    one, other = ours.contributions, theirs.contributions
    for field in ("rows", "units", "size", "top", "weighted", "negative"):
        np.testing.assert_array_equal(getattr(one, field), getattr(other, field), err_msg=field)
    assert one.requested.keys() == other.requested.keys()
    for code in one.requested:
        np.testing.assert_array_equal(one.requested[code], other.requested[code])
    np.testing.assert_array_equal(one.unit < 0, other.unit < 0)
    parts = {}
    for pair in {
        pair for pair in zip(one.unit.ravel().tolist(), other.unit.ravel().tolist(), strict=True) if pair[0] >= 0
    }:
        names = one.name(pair[0]), other.name(pair[1])
        assert names[0].startswith("record ") == names[1].startswith("record ")
        assert names[0] == names[1] or (not named and names[0].startswith("record "))
        assert parts.setdefault(names[0], names[1]) == names[1]
        for mine, yours in zip(one.parts.of(pair[0]), other.parts.of(pair[1]), strict=True):
            np.testing.assert_array_equal(mine, yours)


DECLARED = {"missing_codes": {"region": ["?"]}}
ASKED = {"request": "asks", "request_codes": ["2", "1"]}
CASES = {
    "counts": ({}, {"dims": ["region", "nace"], "measure": None, "contributor": "firm"}),
    "firms": ({}, {"dims": ["region", "nace", "size"], "contributor": "firm"}),
    "holdings": ({}, {"dims": ["region", "nace"], "contributor": "firm", "holding": "group", "largest": 2}),
    "weights": ({}, {"dims": ["region", "nace"], "contributor": "firm", "weight": "weight", "largest": 4}),
    "rounded weights": ({"negative": True}, {"dims": ["region"], "contributor": "firm", "weight": "weight", "negative": "absolute", "decimals": 0}),
    "requests": ({}, {"dims": ["region", "nace"], "contributor": "firm"} | ASKED),
    "hierarchy": ({}, {"dims": ["region", "size"], "contributor": "firm", "hierarchies": {"region": REGIONS}, "empty": "zero"}),
    "formula": ({}, {"dims": "region*nace + size*nace", "contributor": "firm", "holding": "group", "pad": {"nace": 3}}),
    "negative": ({"negative": True}, {"dims": ["region", "nace"], "contributor": "firm", "negative": "absolute"}),
    "dropped": ({"missing": True, "blanks": True}, {"dims": ["region"], "contributor": "firm", "missing": "drop", "blank": "drop"} | DECLARED),
    "kept": ({"missing": True, "blanks": True}, {"dims": ["region", "nace"], "contributor": "firm", "missing": "keep", "blank": "zero"} | DECLARED),
    "records": ({"distinct": True}, {"dims": ["region", "nace"], "weight": "weight"} | ASKED),
    "some names": ({"distinct": True, "anonymous": 0.5}, {"dims": ["region", "size"], "contributor": "firm", "holding": "group"} | ASKED),
}  # fmt: skip


@pytest.mark.parametrize("backend", BACKENDS)
@pytest.mark.parametrize("case", CASES)
def test_the_warehouse_gives_the_same_table(case, backend):
    shape, roles = CASES[case]
    for seed in range(2):
        records = random_records(f"{case} {seed}", **shape)
        roles = {"measure": "turnover"} | roles
        assert_same(
            built(records, backend, **roles),
            Table.from_microdata(pa.table(records), **roles),
            named=case not in ("records", "some names"),
        )


NUMBERS = {
    "int8": pa.array([1, 100, None, 7], pa.int8()),
    "uint64": pa.array([1, 100, None, 2**49], pa.uint64()),
    "float64": pa.array([0.1, 0.2, None, 1234.57], pa.float64()),
    "float32": pa.array([0.1, 0.2, None, 1234.57], pa.float32()),
    "whole floats": pa.array([1.0, 3.0, None, 2.0**47], pa.float64()),
    "not a number": pa.array([1.5, float("nan"), 2.0, None], pa.float64()),
    "decimal": pa.array([Decimal("1.50"), Decimal("2.25"), None, Decimal("-0.10")], pa.decimal128(10, 3)),
    "wide decimal": pa.array([Decimal("1.5"), Decimal(10) ** 14, None, Decimal(-3)], pa.decimal128(38, 20)),
    "text": pa.array(["1.50", " 2e3 ", "", "-.25"], pa.string()),
    "long text": pa.array(["000000000001.500000000000000000", None, "2", "3"], pa.string()),
}
ELSEWHERE = ("uint64", "float32", "decimal", "wide decimal")  # which SQLite does not have


@pytest.mark.parametrize("decimals", [None, 1])
@pytest.mark.parametrize(
    ("backend", "kind"),
    [("duckdb", kind) for kind in NUMBERS] + [("sqlite", kind) for kind in NUMBERS if kind not in ELSEWHERE],
)
def test_numbers_of_every_kind_are_exact(kind, decimals, backend):
    records = {"region": ["a", "a", "b", "b"], "x": NUMBERS[kind]}
    roles = {"dims": ["region"], "measure": "x", "blank": "zero", "negative": "absolute", "decimals": decimals}
    assert_same(built(records, backend, **roles), Table.from_microdata(pa.table(records), **roles), named=False)


@pytest.mark.parametrize("backend", BACKENDS)
def test_halves_go_away_from_zero_as_the_digits_say(backend):
    draw = random.Random(1)
    halves = [draw.randint(-(10**7), 10**7) / 1000 for _ in range(400)] + [
        1.005,
        2.675,
        -0.125,
        1 / 3,
        0.12499999999999999,
    ]
    records = {"n": [str(i) for i in range(len(halves))], "x": halves}
    for decimals in (0, 1, 2, 3):
        roles = {"dims": ["n"], "measure": "x", "negative": "absolute", "decimals": decimals}
        np.testing.assert_array_equal(
            built(records, backend, **roles).scaled, Table.from_microdata(pa.table(records), **roles).scaled
        )


@pytest.mark.parametrize("backend", BACKENDS)
def test_weighted_contributions_beyond_doubles_are_rounded_exactly(backend):
    draw = random.Random(2)
    records = {
        "n": [str(i) for i in range(200)],
        "x": [draw.randint(10**11, 10**12) for _ in range(200)],
        "w": [draw.randint(1, 10**4) / 10**4 for _ in range(200)],
        "firm": [f"firm {i // 2}" for i in range(199)] + ["one"],
    }
    roles = {"dims": ["n"], "measure": "x", "weight": "w", "decimals": 2, "contributor": "firm"}
    assert_same(built(records, backend, **roles), Table.from_microdata(pa.table(records), **roles))


@pytest.mark.parametrize("backend", BACKENDS)
def test_whole_names_kept_as_doubles_are_written_without_decimals(backend):
    records = {
        "region": ["a", "a", "b", "b"],
        "x": [1, 2, 3, 4],
        "firm": pa.array([17.0, 2.5, float("nan"), None], pa.float64()),
        "asks": pa.array([1.0, 0.0, None, float("nan")], pa.float64()),
    }
    roles = {"dims": ["region"], "measure": "x", "contributor": "firm", "request": "asks"}
    table = built(records, backend, **roles)
    assert_same(table, Table.from_microdata(pa.table(records), **roles), named=False)
    assert "17" in table.contributions.names


def test_decimal_commas_and_their_refusals():
    records = {"region": ["a", "b"], "x": ["1,5", "2"]}
    assert built(records, dims=["region"], measure="x", decimal=",").values.tolist() == [3.5, 1.5, 2.0]
    assert "'1,5' is not a number; if the comma is a decimal mark, say so with decimal=','" in refusal(
        records, dims=["region"], measure="x"
    )
    points = {"region": ["a"], "x": ["1.5"]}
    assert "write digits with a comma" in refusal(points, dims=["region"], measure="x", decimal=",")


RECORDS = {
    "region": ["a", None, "b"],
    "x": [1, -2, None],
    "w": [1.0, None, 2.0],
    "flag": [True, False, True],
    "asks": ["1", "yes", None],
}
REFUSED = {
    "no column 'turnover'; it has region, x, w, flag, asks": {"measure": "turnover"},
    "column x: no value (1 records have none); fill it in": {"measure": "x"},
    "column x: a negative contribution (1 records have one); correct it": {"measure": "x", "blank": "drop"},
    "column w: no weight (1 records); weights are numbers of at least 0": {"weight": "w"},
    "the warehouse table, column region (1 record): no code; fill it in": {},
    "'flag' holds boolean, not numbers; name another measure": {"measure": "flag"},
    "the dimension w holds decimal numbers; make the column text": {"dims": ["w"]},
    "column asks: the request code 'yes' is not declared": {"request": "asks"},
    "the code 'b' is not in the hierarchy of region": {"missing": "drop", "hierarchies": {"region": Hierarchy.flat(["a", "c"])}},
}  # fmt: skip


@pytest.mark.parametrize("sentence", REFUSED)
def test_what_does_not_fit_is_refused_in_a_sentence(sentence):
    assert sentence in refusal(RECORDS, **({"dims": ["region"]} | REFUSED[sentence]))


@pytest.mark.parametrize(
    ("entries", "sentence"),
    [
        ([1.0, float("inf")], "column x: an infinite number; fill in a value"),
        ([1e9 / 3, 1.0], "too many digits to be read exactly from float64; round them with decimals=2 (--decimals 2)"),
        ([2**53 + 2, 1], "beyond 2^53 when scaled, where doubles stop being exact; choose a larger unit"),
        ([2**52] * 1025, "add up, with 0 decimals, to a number beyond 2^53 when scaled"),
        (["0.1234567890123456789", "1"], "numbers of up to 19 digits, and at most 15 are read from text; cast it to a decimal"),
        (["1", "one"], "column x: 'one' is not a number; write digits with a point"),
        ([Decimal("1"), Decimal("1e-30")], "has 30 decimals, and at most 20 are read; cast it to a shorter decimal"),
        (pa.array([], pa.int64()), "there are no records; give at least one"),
    ],
)  # fmt: skip
def test_numbers_that_are_not_exact_are_refused(entries, sentence):
    records = {"region": pa.array(["a"] * len(entries), pa.string()), "x": entries}
    assert sentence in refusal(records, dims=["region"], measure="x")


def test_more_decimals_than_fit_are_refused():
    for entries in ([1, 2], [1.0, 2.5], [Decimal("1.5"), Decimal("2")]):
        records = {"region": ["a", "b"], "x": entries}
        assert "beyond 2^53 when scaled" in refusal(records, dims=["region"], measure="x", decimals=30)


def test_nothing_left():
    records = {"region": ["a"], "x": pa.array([None], pa.int64())}
    assert "no record is left" in refusal(records, dims=["region"], measure="x", blank="drop")


def test_a_backend_without_windows_is_refused():
    records = {"region": ["a", "b"], "x": [1, 2]}
    assert "fetch them with .to_pyarrow() and give these" in refusal(records, "polars", dims=["region"], measure="x")


def test_a_table_that_answers_differently_each_time_is_refused():
    rows = stored({"region": ["a", "b"] * 500, "x": [1] * 1000})
    shaky = rows.mutate(region=(ibis.random() * 10**6).cast("int64").cast("string"))
    with pytest.raises(InputError, match="two readings of it do not agree"):
        build_from_ibis(shaky, Roles(dims=["region"], measure="x"))


def test_records_are_numbered_by_codes_then_by_size():
    records = {"region": ["b", "a", "a"], "x": [9, 1, 5]}
    contributions = built(records, dims=["region"], measure="x").contributions
    assert [contributions.name(unit) for unit in contributions.unit[:, 0]] == ["record 3", "record 1", "record 2"]


def test_an_expression_is_as_good_as_a_table():
    rows = stored({"region": ["a", "b", "a"], "x": [1, 2, 3], "year": [2023, 2024, 2024]})
    recent = rows.filter(rows.year == 2024).mutate(double=rows.x * 2)
    assert build_from_ibis(recent, Roles(dims=["region"], measure="double")).values.tolist() == [10, 6, 4]


def test_only_ibis_tables_are_ibis():
    assert is_ibis(stored({"x": [1]}))
    assert not is_ibis({"x": [1]})
    code = "from cellward.tabulate.warehouse import is_ibis; import sys; print(is_ibis({}), 'ibis' in sys.modules)"
    assert subprocess.run([sys.executable, "-c", code], capture_output=True, text=True, check=True).stdout.split() == [
        "False",
        "False",
    ]
