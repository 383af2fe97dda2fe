"""Rules on tables that were added up elsewhere: frequencies and largest contributions as columns."""

import numpy as np
import polars as pl
import pytest

import cellward as cw

RNG = np.random.default_rng(5)
RECORDS = {
    "region": [f"R{k}" for k in RNG.integers(0, 4, 200)],
    "nace": [f"N{k}" for k in RNG.integers(0, 8, 200)],
    "v": (RNG.pareto(1.0, 200) * 10 + 1).astype(int).tolist(),
}
RULES = (cw.PPercent(15), cw.Dominance(2, 85), cw.Threshold(3))


def records_table():
    return cw.Table.from_microdata(RECORDS, dims=["region", "nace"], measure="v")


def aggregated(table):
    c = table.contributions
    columns = {name: list(column) for name, column in table.labels.columns().items()}
    return columns | {"v": table.values, "n": c.units, "max": c.top[0], "max2": c.top[1], "max3": c.top[2]}


def build(columns, **options):
    given = {"dims": ["region", "nace"], "value": "v", "frequency": "n", "largest": ["max", "max2", "max3"]}
    return cw.Table.from_frame(columns, **{**given, **options})


def by_cell(table):
    s = table.sensitivity
    return {table.labels.tuple_of(i): (int(s.lpl[i]), int(s.upl[i])) for i in table.sensitive.tolist()}


@pytest.mark.parametrize("totals", ["auto", "given", "compute"])
def test_rules_find_what_they_find_in_the_records(totals):
    records = records_table().find(*RULES)
    assert 3 < len(records.sensitive) < records.cells
    assert by_cell(build(aggregated(records), totals=totals).find(*RULES)) == by_cell(records)


def test_totals_that_are_not_there_are_made_of_their_parts():
    records = records_table().find(*RULES)
    columns = aggregated(records)
    inner = [k for k in range(records.cells) if "Total" not in (columns["region"][k], columns["nace"][k])]
    table = build({name: [column[k] for k in inner] for name, column in columns.items()})
    assert table.cells == records.cells
    assert by_cell(table.find(*RULES)) == by_cell(records)


def test_files_and_frames_alike(tmp_path):
    columns = aggregated(records_table())
    pl.DataFrame(columns).write_csv(tmp_path / "t.csv")
    pl.DataFrame(columns).write_parquet(tmp_path / "t.parquet")
    plain = build(columns).find(*RULES)
    for given in (tmp_path / "t.csv", tmp_path / "t.parquet"):
        read = cw.read(given, dims=["region", "nace"], value="v", frequency="n", largest=["max", "max2", "max3"])
        assert by_cell(read.find(*RULES)) == by_cell(plain)
    assert (
        "number 1 of (R0, N0) contributes" in build(columns).find(cw.PPercent(1000)).findings.reasons(("R0", "N0"))[0]
    )


def test_frequencies_alone_serve_the_rules_that_count():
    table = build(aggregated(records_table()), largest=[])
    assert by_cell(table.find(cw.Threshold(3))) == by_cell(records_table().find(cw.Threshold(3)))
    with pytest.raises(cw.InputError, match=r"looks at the 2 largest contributions, but 0 were kept.*largest=\[…\]"):
        table.find(cw.PPercent(10))


def test_decimals_and_blanks():
    table = cw.Table.from_frame(
        {"a": ["x", "y"], "v": ["10", "8"], "n": [1, 5], "m": ["9.2", "3"], "m2": [None, 2]},
        dims=["a"], value="v", frequency="n", largest=["m", "m2"],
    )  # fmt: skip
    assert table.contributions.top.tolist() == [[10, 3, 10], [0, 2, 3]]  # rounded up: never less protection
    assert table.contributions.units.tolist() == [1, 5, 6]


def test_protected_from_columns_to_release():
    table = build(aggregated(records_table())).find(cw.PPercent(15), cw.Threshold(3))
    p = cw.ControlledRounding(base=100).protect(table)
    assert p.protected or p.status == "infeasible"
    with pytest.raises(cw.InputError, match="how many stand behind each cell, not who"):
        cw.Attacker.from_data(table)


CELL = {"a": ["x", "y", "Total"], "v": [10, 20, 30], "n": [2, 4, 6], "m": [7, 12, 12], "m2": [3, 5, 7]}
WRONG = {
    "frequencies that do not add up": ({"n": [2, 4, 7]}, r"column n: of the frequencies, equation 0, .*, does not add up: difference 1"),
    "a largest above the value": ({"m": [11, 12, 12]}, r"\(x\): the largest contribution, in column m, is more than the value"),
    "a second larger than the first": ({"m2": [8, 5, 7]}, r"\(x\): the contribution in column m2 is larger than that in column m; name the columns"),
    "more contributions than contributors": ({"n": [1, 4, 5]}, r"\(x\): 2 contributions are given, and column n has 1 contributors"),
    "nobody behind a value": ({"n": [0, 4, 4], "m": [0, 12, 12], "m2": [0, 5, 5]}, r"\(x\): the value is not 0, and column n has no contributors"),
    "a negative contribution": ({"m2": [-1, 5, 7]}, r"\(x\), column m2: the contribution is negative"),
    "half a contributor": ({"n": [2.5, 4, 6]}, r"row 0, column n: the frequency 2\.5 is no count"),
    "a negative frequency": ({"n": [-2, 4, 6]}, r"row 0, column n: the frequency -2 is no count"),
    "no frequency": ({"n": [None, 4, 6]}, r"row 0, column n: no frequency; give the number of contributors, 0 for an empty cell"),
}  # fmt: skip


@pytest.mark.parametrize("case", WRONG)
def test_numbers_that_cannot_be_are_refused_in_a_sentence(case):
    changed, words = WRONG[case]
    with pytest.raises(cw.InputError, match=words):
        cw.Table.from_frame(CELL | changed, dims=["a"], value="v", frequency="n", largest=["m", "m2"])


def test_wrong_options_and_negative_values():
    for options, words in (
        ({"largest": ["m"]}, r"largest: they need the numbers of contributors"),
        ({"frequency": "n", "largest": "m"}, r"largest='m': give a list of columns"),
        ({"frequency": "n", "largest": ["m", "m"]}, r"each once"),
        ({"frequency": "nn"}, r"there is no column 'nn'"),
        ({"frequency": "a"}, r"cannot be a dimension and a number"),
    ):
        with pytest.raises(cw.InputError, match=words):
            cw.Table.from_frame(CELL, dims=["a"], value="v", **options)
    loss = CELL | {"v": [-10, 20, 10]}
    with pytest.raises(cw.InputError, match=r"\(x\): the value is negative, and its largest contributions then say"):
        cw.Table.from_frame(loss, dims=["a"], value="v", frequency="n", largest=["m", "m2"], lower=None)
    assert cw.Table.from_frame(loss, dims=["a"], value="v", frequency="n", lower=None).find(cw.Threshold(3)).cells == 3
