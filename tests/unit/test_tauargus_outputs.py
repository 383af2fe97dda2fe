"""τ-ARGUS' output types: each by hand on a small table, and statuses in the words of four lists."""

from __future__ import annotations

from fractions import Fraction

import numpy as np
import pytest

import cellward as cw
from cellward.errors import InputError
from cellward.tauargus.files.intermediate import intermediate
from cellward.tauargus.files.output_files import output_files, write_output
from cellward.tauargus.files.output_table import Options, Written
from cellward.tauargus.files.outputs import business, code_value, grid
from cellward.tauargus.files.statuses import CellState, conf_status, letter, number, obs_status, rtauargus, sbs, style
from cellward.tauargus.files.tab import read_tab

RECORDS = {
    "kind": ["a", "a", "a", "b", "b", "b", "b"],
    "place": ["N", "N", "S", "N", "S", "S", "S"],
    "v": [90, 10, 7, 5, 4, 4, 4],
}


@pytest.fixture
def table():
    made = cw.Table.from_microdata(RECORDS, dims=["kind", "place"], measure="v")
    return made.find(cw.Dominance(1, 80), cw.Threshold(2))


def test_a_grid_shows_what_the_public_may_see(table):
    assert grid(Written(table=table), Options()) == (
        ',"Total","N","S"\n"Total",124,x,19\n"a",x,x,x\n"b",17,x,12\n\n'
    )  # fmt: skip
    three = cw.Table.from_array(np.arange(8).reshape(2, 2, 2), dims=["x", "y", "z"])
    lines = grid(Written(table=three), Options(quotes=False)).split("\n")
    assert lines[:5] == ["Var 1,Total", ",Total,0,1", "Total,28,12,16", "0,10,4,6", "1,18,8,10"]
    one = cw.Table.from_array([1, 2], dims=["x"])
    assert grid(Written(table=one), Options()) == ',"Total","0","1"\n,3,1,2\n\n'


def test_code_and_value_without_and_with_statuses(table):
    plain = code_value(Written(table=table, response="v"), Options(names=True)).split("\n")
    assert plain[:3] == ['"kind","place","v"', '"Total","Total",124', '"Total","N",x']
    told = code_value(Written(table=table), Options(statuses=True)).split("\n")
    assert told[1] == '"Total","N",105,3'
    assert told[5] == '"a","S",7,3'
    assert told[7] == '"b","N",5,3'
    sdmx = code_value(Written(table=table), Options(statuses=True, names=True), "sdmx").split("\n")
    assert sdmx[0].endswith('"CONF_STATUS","OBS_STATUS"')
    assert sdmx[2] == '"Total","N",105,O,Q'
    assert code_value(Written(table=table), Options(statuses=True), "rtauargus").split("\n")[1] == '"Total","N",105,B'


def test_changed_values_stand_beside_the_true_ones_only_when_asked(table):
    rounded = (table.scaled + 5) // 10 * 10
    written = Written(table=table, response="v", published=rounded, suffix="_Round")
    assert code_value(written, Options(names=True)).split("\n")[:2] == [
        '"kind","place","v_Round"',
        '"Total","Total",120',
    ]
    assert code_value(written, Options(names=True, statuses=True)).split("\n")[:2] == [
        '"kind","place","v_Round","v_Orig"',
        '"Total","Total",120,124',
    ]
    assert ",x" not in grid(written, Options())


def test_empty_cells_have_a_place_or_not():
    table = cw.Table.from_microdata({"a": ["x", "y"], "b": ["p", "q"], "v": [1, 2]}, dims=["a", "b"], measure="v")
    every = code_value(Written(table=table), Options()).split("\n")
    assert '"x","q",-' in every
    assert '"x","q",-' not in code_value(Written(table=table), Options(skip_empty=True)).split("\n")
    more = Written(table=table, more_codes={"a": ["99"]})
    assert '"99","Total",-' in code_value(more, Options())
    assert '"99";"Total";0;0;0;0;0;0;0;E;0;0' in intermediate(
        Written(table=table, more_codes={"a": ["99"]}), Options()
    ).split("\n")


def test_business_statistics(table):
    tree = cw.Hierarchy.from_dict({"Total": {"West": ["N", "S"], "East": ["E"]}})
    lines = business(Written(table=table, trees={"place": tree}), Options(levels=True)).split("\n")
    assert lines[0] == '"Total",0,"Total",0,124,7,V'
    assert lines[1] == '"Total",0,"N",2,105,3,B,85.7'
    p = business(Written(table=table.find(cw.PPercent(10))), Options()).split("\n")
    assert '"a","N",100,2,F,90.0,10.0' in p
    with pytest.raises(InputError, match="no frequencies"):
        business(Written(table=cw.Table.from_array([1, 2])), Options())


def test_intervals_beside_withheld_cells(table):
    cell = table.labels.find(("a", "S"))
    written = Written(table=table, intervals={cell: (Fraction(0), Fraction(14))})
    lines = intermediate(written, Options(audit=True)).split("\n")
    assert lines[5].endswith(";0;14;14;100.00;100.00;200.00")
    assert lines[0].endswith(";0;0;0;0;0;0")


@pytest.mark.parametrize("output", [1, 2, 3, 4, 5, 6])
def test_every_type_is_written_whole_and_for_the_owner_alone(table, tmp_path, output):
    files = write_output(table, tmp_path / "out.txt", output, "HL+")
    assert tmp_path / "out.txt" in files
    assert all(file.stat().st_mode & 0o077 == 0 for file in files)
    with pytest.raises(InputError, match="not known"):
        output_files(Written(table=table), 7, Options(), "x")


def test_the_intermediate_table_is_read_back(table, tmp_path):
    write_output(table, tmp_path / "out.tab", 5)
    again = read_tab(tmp_path / "out.tab")
    assert again.scaled.tolist() == table.scaled.tolist()
    assert again.sensitivity.status.tolist() == table.sensitivity.status.tolist()
    assert again.sensitivity.upl.tolist() == table.sensitivity.upl.tolist()
    assert again.contributions.top.tolist() == table.contributions.top.tolist()


def test_jj_for_the_solvers_of_others(table, tmp_path):
    write_output(table, tmp_path / "out.jj", 6)
    again = cw.read(tmp_path / "out.jj")
    assert again.scaled.tolist() == table.scaled.tolist()
    assert int(again.weight.max()) == 20_000
    assert int(again.weight.min()) >= 1
    assert int(again.upper.min()) >= 186
    assert again.contributions.rows.tolist() == table.contributions.rows.tolist()


def test_statuses_in_the_words_of_others():
    """LESSONS' lists: τ-ARGUS S U P M E and 1–14; SBS A B C D F V; CONF_STATUS; OBS_STATUS; rtauargus A B D V."""
    one, two, few, pq = cw.Dominance(1, 75), cw.Dominance(2, 75), cw.Threshold(3), cw.PPercent(10)
    rules = (one, two, pq, few, cw.Request(50), cw.Zero(), None)
    others = [CellState(state) for state in ("secondary", "fixed", "empty")]
    states = [CellState("safe"), *(CellState("unsafe", rule) for rule in rules), *others]
    assert [letter(s) for s in states] == list("SUUUUUUUMPE")
    assert [number(s) for s in states] == ["1", "3", "3", "3", "5", "4", "6", "9", "11", "10", "14"]
    assert [sbs(s) for s in states] == list("VBCFABBBDVV")
    assert [conf_status(s) for s in states] == list("FOTMACCCDFF")
    assert [obs_status(s) for s in states] == list("AQQQQQQQQAA")
    assert [rtauargus(s) for s in states] == list("VBBBABBBDVV")
    with pytest.raises(InputError, match="statuses='other'"):
        style("other")


def test_options_as_batches_write_them():
    assert Options.read("", 2, "here") == Options(names=True)
    assert Options.read("as+ SE+QU-", 3, "here") == Options(statuses=True, skip_empty=True, quotes=False)
    for text in ("XX+", "AS", "AS*", "A"):
        with pytest.raises(InputError, match="here: the options"):
            Options.read(text, 1, "here")


def test_codes_that_break_a_line_are_refused():
    table = cw.Table.from_array([1, 2], dims=["x"], codes=[['a"b', "c,d"]])
    with pytest.raises(InputError, match="holds a quote"):
        grid(Written(table=table), Options())
    plain = cw.Table.from_array([1, 2], dims=["x"], codes=[["ab", "c,d"]])
    with pytest.raises(InputError, match="holds a comma"):
        code_value(Written(table=plain), Options(quotes=False))
    with pytest.raises(InputError, match="by number"):
        grid(Written(table=cw.Table.from_equations([1, 1], [[1, -1]])), Options())


def test_statuses_in_our_words_and_in_letters_of_ones_own():
    states = [CellState(state) for state in ("safe", "unsafe", "secondary", "fixed", "empty")]
    (ours,) = style("cellward").values()
    assert [ours(state) for state in states] == ["safe", "primary", "secondary", "frozen", "empty"]
    (own,) = style("safe=.,primary=P, secondary=X").values()
    assert [own(state) for state in states] == [".", "P", "X", "", ""]
    with pytest.raises(InputError, match="'hidden' is no status; use safe, primary, secondary, frozen, empty"):
        style("hidden=x")
