"""Tables that do not add up: made the nearest that do, by every reader, with cells kept, or refused with what stands in the way."""

import json
from random import Random

import nearest_additive
import numpy as np
import pytest

import cellward as cw

ROUNDED = {
    "area": ["N", "N", "S", "S", "N", "S", "Total", "Total", "Total"],
    "sex": ["F", "M", "F", "M", "Total", "Total", "F", "M", "Total"],
    "n": [3, 4, 5, 6, 8, 11, 9, 10, 20],
    "lpl": [1, 0, 0, 0, 0, 0, 0, 0, 0],
    "status": ["u", "s", "s", "s", "s", "s", "s", "s", "s"],
    "count": [2, 2, 2, 2, 4, 4, 4, 4, 8],
}
LONG = {"dims": ["area", "sex"], "value": "n"}


def made(**options):
    return cw.Table.from_frame(ROUNDED, **LONG, **options)


@pytest.mark.parametrize("norm", ["l1", "l2"])
@pytest.mark.parametrize("weights", ["equal", "table"])
def test_nothing_is_nearer_than_the_table_made(norm, weights):
    for seed in range(30):
        rng = Random(1000 + seed)
        rows, a, lo, hi = nearest_additive.random_rounded(rng)
        if len(a) > 16:
            continue
        cost = [rng.randrange(1, 6) if weights == "table" else 1 for _ in a]
        kept = rng.sample(range(len(a)), 1)
        matrix = np.zeros((len(rows), len(a)), np.int64)
        for j, (_, cells, coefs) in enumerate(rows):
            matrix[j, cells] = coefs
        table = cw.Table.from_equations(
            a, matrix, lower=lo, upper=hi, weight=cost, additive=norm, keep_values=kept, additive_weights=weights
        )
        power = 1 if norm == "l1" else 2
        v = table.scaled.tolist()
        value = sum(w * abs(x - y) ** power for w, x, y in zip(cost, v, a, strict=True))
        assert v[kept[0]] == a[kept[0]]
        assert table.made_additive.distance == value
        assert nearest_additive.least(rows, a, lo, hi, cost, power, kept, value) == value


def test_levels_statuses_and_frequencies_stay_with_their_cells():
    table = made(additive="l1", lpl="lpl", upl="lpl", status="status", frequency="count", keep_values="total")
    assert table.sensitivity.lpl.tolist() == ROUNDED["lpl"]
    assert table.sensitive.tolist() == [0]
    assert table.contributions.rows.tolist() == ROUNDED["count"]
    assert table.values[8] == 20
    assert cw.ControlledRounding(5).protect(table).status == "optimal"


def test_words_and_statuses_say_which_cells_are_kept():
    assert made(additive="l1", keep_values="inner").values.tolist() == [3, 4, 5, 6, 7, 11, 8, 10, 18]
    fixed = {**ROUNDED, "status": ["s", "z", "s", "s", "s", "s", "s", "s", "z"]}
    table = cw.Table.from_frame(fixed, **LONG, status="status", additive="l1")
    assert (table.values[1], table.values[8]) == (4, 20)


def test_what_cannot_be_kept_is_named():
    with pytest.raises(cw.InputError) as refusal:
        made(additive="l1", keep_values="margins")
    said = str(refusal.value)
    assert "no table that adds up keeps the values of (Total, F), (Total, M), (Total, Total)" in said
    assert "(Total, Total) = (Total, F) + (Total, M) cannot hold; take one of them out of keep_values" in said
    with pytest.raises(cw.InputError, match="upper bound of"):
        made(additive="l1", keep_values="total", upper=[3, 4, 5, 6, 8, 11, 9, 10, 20])


def test_a_table_of_which_every_cell_is_kept_is_refused_or_adds_up_already():
    every = list(zip(ROUNDED["area"], ROUNDED["sex"], strict=True))
    with pytest.raises(cw.InputError, match="no table that adds up keeps the values of"):
        made(additive="l2", keep_values=every)
    right = {**ROUNDED, "n": [3, 4, 5, 6, 7, 11, 8, 10, 18]}
    table = cw.Table.from_frame(right, **LONG, additive="l1", keep_values=every)
    assert table.made_additive.columns()["is"] == []
    assert table.made_additive.proven


def test_a_total_that_no_row_holds_costs_nothing():
    rows = {"area": ["N", "N", "S", "Total"], "sex": ["F", "M", "F", "Total"], "n": [3, 4, 5, 14]}
    table = cw.Table.from_frame(rows, **LONG, additive="l1")
    assert table.made_additive.to_dict()["sum_abs"] == 2
    assert table.made_additive.proven


def test_float_noise_goes_without_being_asked_for_decimals():
    noisy = {"sex": ["F", "M", "Total"], "n": [0.1 + 0.2, 12.1, 12.4 + 1e-15]}
    table = cw.Table.from_frame(noisy, dims=["sex"], value="n", additive="l1")
    assert table.decimals == 1
    assert table.values.tolist() == [0.3, 12.1, 12.4]
    assert table.made_additive.sentence == "the table adds up as it is; nothing was moved"


def test_without_the_wish_the_refusal_names_it():
    with pytest.raises(cw.InputError, match=r"additive='l1' \(--additive l1\)"):
        made()
    with pytest.raises(cw.InputError, match=r"additive='l1' \(--additive l1\)"):
        cw.Table.from_equations([1, 2, 4], [[1, 1, -1]])


@pytest.mark.parametrize(
    ("options", "told"),
    [
        ({"additive": "l3"}, "additive='l3' is not known"),
        ({"keep_values": [("N", "F")]}, "give additive='l1' too"),
        ({"additive": "l1", "keep_values": "all"}, "keep_values='all' is not known"),
        ({"additive": "l1", "keep_values": [("N", "X")]}, "keep_values: sex has no code 'X'"),
        ({"additive": "l1", "additive_weights": "table"}, "additive_weights='table'"),
        ({"additive": "l1", "totals": "compute"}, "leave one of them out"),
    ],
)
def test_wishes_that_cannot_be_meant_are_refused(options, told):
    with pytest.raises(cw.InputError, match=told):
        made(**options)


def _file(tmp_path):
    rows = zip(ROUNDED["area"], ROUNDED["sex"], map(str, ROUNDED["n"]), strict=True)
    path = tmp_path / "rounded.csv"
    path.write_text("\n".join(["area,sex,n", *map(",".join, rows)]) + "\n")
    return path


def test_files_of_every_kind_are_made_additive(tmp_path):
    expected = made(additive="l2", keep_values="total").values.tolist()
    read = cw.read(_file(tmp_path), **LONG, additive="l2", keep_values="total")
    assert read.values.tolist() == expected
    jj = cw.write(read, tmp_path / "t.jj")
    text = jj.read_text().replace("0 4 1 s", "0 3 1 s", 1)
    assert text != jj.read_text()
    jj.write_text(text)
    assert cw.read(jj, additive="l1", keep_values=["8"]).values[8] == 20


def test_the_command_line_says_what_moved_and_lists_it(run, tmp_path):
    path, out = _file(tmp_path), tmp_path / "out"
    reading = (path, "--dims", "area,sex", "--value", "n")
    said = run("round", *reading, "--base", "5", "--out", out)
    assert said.code == 2
    assert "--additive l1" in said.err
    reading = (*reading, "--additive", "l1", "--keep-value", "Total,Total")
    said = run("round", *reading, "--base", "5", "--out", out)
    assert said.code == 0
    assert "made additive: 4 equations did not hold; 4 cells moved by 4 in all, at most 1" in said.err
    listed = (out / "made_additive.csv").read_text().splitlines()
    assert listed[0] == "area,sex,was,is,change"
    assert len(listed) == 5
    assert json.loads((out / "protection.json").read_text())["made_additive"]["moved"] == 4
    assert run("verify", out, "--table", *reading).code == 0
    for command in (
        ("audit", *reading, "--release", out),
        ("advise", *reading),
        ("convert", *reading, tmp_path / "t.csv"),
    ):
        said = run(command[0], *command[1:])
        assert (said.code, "made additive" in said.err) == (0, True), command
    said = run("adjust", *reading, "--out", tmp_path / "adjusted", "--json")
    assert json.loads(said.out)["made_additive"]["proven"] is True


def test_a_job_makes_its_table_additive(run, tmp_path):
    _file(tmp_path)
    job = tmp_path / "job.toml"
    job.write_text(
        '[input]\nfile = "rounded.csv"\nkind = "table"\n[roles]\ndims = ["area", "sex"]\nvalue = "n"\nadditive = "l1"\n'
        'keep_values = [["Total", "Total"]]\n[method]\nname = "round"\nbase = 5\n[output]\nfolder = "out"\n'
    )
    said = run("run", job)
    assert said.code == 0, said.err
    assert "made additive" in said.err
    assert run("verify", "--job", job, tmp_path / "out").code == 0


def test_linked_tables_keep_what_was_moved_in_each_of_them():
    by_sex = made(additive="l1", keep_values="inner")
    by_age = cw.Table.from_frame(
        {
            "area": ["N", "S", "Total"] * 3,
            "age": ["old"] * 3 + ["young"] * 3 + ["Total"] * 3,
            "n": ["2.5", "3", "6", "4.5", "8", "12", "7", "11", "19"],
        },
        dims=["area", "age"],
        value="n",
        additive="l2",
        keep_values=[("N", "Total"), ("S", "Total")],
    )
    linked = cw.link(by_sex, by_age)
    listed = linked.made_additive.columns()
    moved = {tuple(row[:3]): row[3:] for row in zip(*listed.values(), strict=True) if row[3] != "20.0"}
    assert list(listed) == ["area", "sex", "age", "was", "is", "change"]
    assert len(listed["was"]) == len(by_sex.made_additive.cell) + len(by_age.made_additive.cell)
    assert moved["N", "Total", "Total"] == ("8.0", "7.0", "-1.0")  # tenths, as in the finer of the two
    assert moved["N", "Total", "old"] == ("2.5", "2.7", "0.2")
    for row, now in zip(zip(*listed.values(), strict=True), listed["is"], strict=True):
        assert float(now) == linked.values[linked.labels.find(row[:3])]
    told = linked.made_additive.to_dict()
    assert (told["missed"], told["proven"], told["distance"]) == (8, True, None)  # changes and squares are not added up
    assert "sums of changes and of squared changes" in linked.made_additive.sentence


def test_one_made_additive_keeps_its_distance_when_linked_to_one_that_was_not():
    by_sex = made(additive="l1", keep_values="inner")
    by_age = cw.Table.from_frame({"age": ["old", "young"], "n": [9, 9]}, dims=["age"], value="n")
    assert cw.link(by_age).made_additive is None
    told = cw.link(by_age, by_sex).made_additive.to_dict()
    assert told == by_sex.made_additive.to_dict()
