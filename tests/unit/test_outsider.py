"""The outsider of the gate's benchmark finds what was put there to be found, and shares nothing with the package."""

from __future__ import annotations

import ast
import json
import sys
from dataclasses import replace
from fractions import Fraction
from pathlib import Path

import pytest
from outsider import PublicTable, Secret, attack
from outsider_equations import equations_of
from outsider_reading import (
    Claim,
    ClaimedAttacker,
    Published,
    UnreadableError,
    read_grid,
    read_release,
    read_rows,
    runnable,
)
from outsider_told import known_before, told
from random_gate_cases import random_gate_case

ORACLES = Path(__file__).resolve().parents[1] / "oracles"
FLAT = ({"a": "Total", "b": "Total"},)
ROUNDED = {"name": "controlled rounding", "base": "5", "steps": 1}


def published(values, method=ROUNDED):
    return Published(values={codes: Fraction(v) for codes, v in values.items()}, method=method, decimals=0)


def secret(truth, at_risk):
    levels = {codes: tuple(map(Fraction, own)) for codes, own in at_risk.items()}
    return Secret(truth={codes: Fraction(a) for codes, a in truth.items()}, at_risk=levels)


def claim(levels, kind="strict"):
    own = {i: tuple(map(Fraction, level)) for i, level in levels.items()}
    external = ClaimedAttacker(name="external", whole=False, known={}, levels=own)
    return Claim(shown=True, kind=kind, method=ROUNDED, decimals=0, levels=own, attackers=[external])


ROW = {("a",): 1, ("b",): 13, ("Total",): 14}
ROW_ROUNDED = {("a",): 0, ("b",): 15, ("Total",): 15}
PUBLIC = PublicTable(dims=("A",), trees=(FLAT,), counts=True)


def kinds(*given):
    return [one.kind for one in attack(*given).breaks]


def test_a_protected_rounding_is_left_alone():
    done = attack(PUBLIC, published(ROW_ROUNDED), claim({0: (1, 3, 0)}), secret(ROW, {("a",): (1, 3, 0)}))
    assert (done.breaks, done.looked_at, done.levels) == ([], 1, 1)


def test_base_1_discloses():
    told_all = published(ROW, {**ROUNDED, "base": "1"})
    assert kinds(PUBLIC, told_all, None, secret(ROW, {("a",): (0, 0, 0)})) == ["exactly disclosed"]


def test_sums_disclose():
    ones = secret({("a",): 1, ("b",): 1, ("Total",): 2}, {("a",): (0, 0, 0), ("b",): (0, 0, 0)})
    shown = published({("a",): 2, ("b",): 0, ("Total",): 2}, {**ROUNDED, "base": ["2", "2", "1"]})
    assert kinds(PUBLIC, shown, None, ones) == []
    rows = PublicTable(dims=("A",), trees=(FLAT,), counts=True, rows="records")
    assert kinds(rows, shown, None, ones) == ["exactly disclosed"] * 2


def test_what_does_not_add_up_is_found():
    shown = published({("a",): 0, ("b",): 15, ("Total",): 10})
    assert "does not add up" in kinds(PUBLIC, shown, None, secret(ROW, {}))


def test_what_anyone_knew_before_is_not_disclosed():
    public = PublicTable(dims=("A",), trees=(({"a": "Total"},),), lower=Fraction(1), upper=Fraction(1))
    shown = published({("a",): 1, ("Total",): 1}, {**ROUNDED, "base": "1"})
    done = attack(public, shown, None, secret({("a",): 1, ("Total",): 1}, {("a",): (0, 0, 0)}))
    assert (done.breaks, done.known_anyway) == ([], 1)


def test_a_level_that_does_not_hold_is_found():
    done = attack(PUBLIC, published(ROW_ROUNDED), claim({0: (1, 4, 0)}), secret(ROW, {("a",): (1, 4, 0)}))
    assert [one.kind for one in done.breaks] == ["a claimed level does not hold"]
    assert "[0, 4] around 1" in done.breaks[0].words


def test_rows_tell_that_there_is_a_record():
    rows = PublicTable(dims=("A",), trees=(FLAT,), counts=True, rows="records")
    given = published(ROW_ROUNDED), claim({0: (1, 3, 0)}), secret(ROW, {("a",): (1, 3, 0)})
    assert kinds(rows, *given) == ["a claimed level does not hold"]
    two = PublicTable(dims=("A", "B"), trees=(FLAT, FLAT), counts=True, rows="unknown")
    assert two.rows_tell({("a", "a"): Fraction(1), ("b", "b"): Fraction(1)})
    assert not two.rows_tell({("a", "a"): Fraction(1), ("a", "b"): Fraction(1)})


def test_an_insider_takes_its_neighbour_apart():
    truth = {("a",): 7, ("b",): 8, ("Total",): 15}
    shown = published({("a",): 5, ("b",): 10, ("Total",): 15}, {**ROUNDED, "base": ["5", "5", "1"]})
    known = {"Smith": {("a",): (Fraction(7), True), ("Total",): (Fraction(7), False)}}
    asked = secret(truth, {("a",): (1, 1, 0), ("b",): (1, 1, 0)})
    assert kinds(PUBLIC, shown, claim({0: (1, 1, 0), 1: (1, 1, 0)}), asked) == []
    told_to = attack(PUBLIC, shown, claim({0: (1, 1, 0), 1: (1, 1, 0)}), replace(asked, insiders=known))
    assert [(one.kind, one.cell) for one in told_to.breaks] == [("exactly disclosed to an insider", ("b",))]


def test_less_may_not_be_claimed_than_was_asked():
    assert kinds(PUBLIC, published(ROW_ROUNDED), claim({0: (1, 1, 0)}), secret(ROW, {("a",): (9, 2, 0)})) == [
        "less is claimed than was asked"
    ]
    assert kinds(PUBLIC, published(ROW_ROUNDED), claim({0: (1, 2, 0)}), secret(ROW, {("a",): (9, 2, 0)})) == []


@pytest.mark.parametrize(
    ("v", "levels", "found"),
    [
        (1, (0, 0, 0), ["published as it is"]),
        (2, (0, 0, 0), []),
        (2, (0, 2, 0), ["nearer than its level"]),
        (3, (0, 2, 0), []),
        (0, (0, 2, 0), ["nearer than its level"]),
        (0, (1, 2, 0), []),
    ],
)
def test_adjustments_are_judged_by_distance(v, levels, found):
    shown = published({("a",): v, ("b",): 13, ("Total",): v + 13}, {"name": "controlled tabular adjustment"})
    assert kinds(PUBLIC, shown, None, secret(ROW, {("a",): levels})) == found


def test_perturbed_values_tell_the_multiples_around_them():
    cells = [("a",), ("b",)]
    values = {("a",): Fraction(10), ("b",): Fraction(23, 2)}
    method = {"name": "cell perturbation", "base": "5"}
    before = known_before(cells, Fraction(0), None, rows_tell=False, unit=Fraction(1))
    strict = told(values, method, 0, fixed=(), multiples=None, public=before)
    paper = told(values, method, 0, fixed=(), multiples=[("a",)], public=before)
    assert strict.bounds == {("a",): (5, 15), ("b",): (10, 15)}
    assert paper.bounds == {("a",): (10, 10), ("b",): (Fraction(13, 2), Fraction(33, 2))}
    within = told(
        values, {"name": "cell perturbation", "within": "3"}, 0, fixed=[("b",)], multiples=None, public=before
    )
    assert within.bounds == {("a",): (7, 13), ("b",): (Fraction(23, 2),) * 2}


@pytest.mark.parametrize(
    ("small", "v", "bounds"), [("up", 0, (-4, 0)), ("up", 5, (1, 9)), ("zero", 0, (-4, 4)), ("zero", 5, (5, 9))]
)
def test_small_counts_tell_more(small, v, bounds):
    before = known_before([("a",)], Fraction(0), None, rows_tell=False, unit=Fraction(1))
    found = told({("a",): Fraction(v)}, {**ROUNDED, "small_counts": small}, 0, fixed=(), multiples=None, public=before)
    assert found.bounds["a",] == bounds


def test_equations_leave_out_cells_without_a_row():
    tree = {"a": "X", "b": "X", "X": "Total", "c": "Total"}
    found = equations_of([("a",), ("X",), ("Total",)], [[tree]])
    assert sorted(sorted(codes for codes, _ in one.terms) for one in found) == [[("Total",), ("X",)], [("X",), ("a",)]]


def test_files_are_read_strictly(tmp_path):
    said = {"method": ROUNDED, "decimals": 0, "printed": "values", "certificate": ""}
    (tmp_path / "release.json").write_text(json.dumps(said))
    (tmp_path / "release.csv").write_text("A,value\na,5\nTotal,5\n")
    assert read_release(tmp_path, ["A"]).values == {("a",): 5, ("Total",): 5}
    for text in ("A,value,true_value\na,5,4\n", "A,value\na,5\na,5\n", "A,value\na,\n", "A,value\na,5,1\n"):
        (tmp_path / "release.csv").write_text(text)
        with pytest.raises(UnreadableError):
            read_release(tmp_path, ["A"])


def test_labels_that_a_spreadsheet_would_run_are_found(tmp_path):
    (tmp_path / "release.csv").write_text("A,value\n=1+1,-5\n'@sum,5\n-,0\n")
    assert runnable(tmp_path / "release.csv") == ["=1+1"]
    assert set(read_rows(tmp_path / "release.csv", ["A"])) == {("=1+1",), ("@sum",), ("-",)}


def test_grids_are_read_block_by_block(tmp_path):
    text = 'Var 1,"x"\n,"Total","p"\n"Total",3,-\n"q",3,-\n\nVar 1,"y"\n,"Total","p"\n"Total",4,4\n"q",4,4\n\n'
    (tmp_path / "grid.csv").write_text(text)
    read = read_grid(tmp_path / "grid.csv", 3)
    assert len(read) == 6
    assert (read["x", "q", "Total"], read["y", "q", "p"]) == (3, 4)


def test_a_seed_is_a_case():
    for seed in range(40):
        one, two = random_gate_case(seed), random_gate_case(seed)
        assert (one.public, one.secret, one.options) == (two.public, two.secret, two.options)
        values = one.secret.truth
        assert not any(equation.missed_by(values) for equation in one.public.sums(list(values)))


@pytest.mark.parametrize(
    "path", sorted([*ORACLES.glob("outsider*.py"), *ORACLES.glob("random_gate_*.py")]), ids=lambda path: path.name
)
def test_nothing_of_the_package_is_used(path):
    found = set()
    for node in ast.walk(ast.parse(path.read_text())):
        if isinstance(node, ast.Import):
            found |= {alias.name.split(".")[0] for alias in node.names}
        elif isinstance(node, ast.ImportFrom):
            found.add((node.module or "").split(".")[0])
    ours = {one.stem for one in ORACLES.glob("outsider*.py")} | {"random_gate_tables", "direct_tabulation"}
    assert found <= set(sys.stdlib_module_names) | {"numpy", "scipy"} | ours
