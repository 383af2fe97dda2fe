"""The shared tables: every JJ file value for value, and four linked tables of turnover by activity, region, size and legal form."""

from __future__ import annotations

import csv
import json
import math
import os
from collections import Counter
from fractions import Fraction
from functools import cache
from itertools import pairwise
from pathlib import Path

import pytest

import cellward as cw
from cellward.exact import LARGEST, NO_BOUND

SHARED = Path(os.environ.get("CELLWARD_SHARED", Path(__file__).parents[2].parent / "shared"))
CSPLIB = SHARED / "instances" / "csplib"
FILES = [*sorted(CSPLIB.glob("*.jj")), *sorted((SHARED / "data" / "tauargus" / "generated").glob("*.jj"))]
ANCHORS = json.loads((CSPLIB / "anchors.json").read_text())


def naive(path):
    """A JJ file by splitting on white space: the cells as Fractions, the equations as (rhs, [(cell, coefficient), …])."""
    words = iter(path.read_text().replace(":", " ").replace("(", " ").replace(")", " ").split())
    next(words)
    cells = []
    for i in range(int(next(words))):
        assert int(next(words)) == i
        value, weight = Fraction(next(words)), Fraction(next(words))
        status = next(words)
        cells.append((value, weight, status, *(Fraction(next(words)) for _ in range(5))))
    equations = []
    for _ in range(int(next(words))):
        rhs, terms = Fraction(next(words)), int(next(words))
        equations.append((rhs, sorted((int(next(words)), Fraction(next(words))) for _ in range(terms))))
    assert not list(words)
    return cells, equations


@cache
def read(path):
    return cw.read(path)


def content(table):
    """The same of a table; a bound that no value can reach is None."""
    unit, s = Fraction(1, 10**table.decimals), table.sensitivity
    weight_unit = Fraction(1, 10**table.weight_decimals)
    columns = (table.scaled, table.weight, s.status, table.lower, table.upper, s.lpl, s.upl, s.spl)
    cells = [
        (a * unit, w * weight_unit, "sumz"[status], _bound(lo, unit), _bound(up, unit), lpl * unit, upl * unit, spl * unit)
        for a, w, status, lo, up, lpl, upl, spl in zip(*(column.tolist() for column in columns), strict=True)
    ]  # fmt: skip
    return cells, sums_of(table)


def sums_of(table):
    unit, equations = Fraction(1, 10**table.decimals), []
    for j in range(table.relations.equations):
        rhs, members, coefs = table.relations.equation(j)
        equations.append((rhs * unit, list(zip(members, coefs, strict=True))))
    return equations


def _bound(scaled, unit):
    return None if abs(scaled) == NO_BOUND else scaled * unit


def test_there_are_files():
    assert len(FILES) >= 10


@pytest.mark.parametrize("path", FILES, ids=lambda path: path.name)
def test_read_value_for_value(path):
    table = read(path)
    unit = Fraction(1, 10**table.decimals)
    cells, equations = naive(path)
    found, sums = content(table)
    assert (len(found), len(sums)) == (len(cells), len(equations))
    for mine, (value, weight, status, lb, ub, *levels) in zip(found, cells, strict=True):
        bounds = [None if abs(bound) >= LARGEST * unit else bound for bound in (lb, ub)]
        on_grid = [math.ceil(level / unit) * unit for level in levels]
        assert mine == (value, weight, status, *bounds, *on_grid)
    assert sums == equations


@pytest.mark.parametrize("path", FILES, ids=lambda path: path.name)
def test_written_and_read_again(path, tmp_path):
    table = read(path)
    cw.write(table, tmp_path / "again.jj")
    assert content(cw.read(tmp_path / "again.jj")) == content(table)


@pytest.mark.parametrize(
    "name", [name for name, facts in ANCHORS.items() if isinstance(facts, dict) and "paper_002" in facts]
)
def test_sizes_are_the_papers(name):
    table, paper = read(CSPLIB / ANCHORS[name]["file"]), ANCHORS[name]["paper_002"]
    assert (table.cells, table.relations.equations) == (paper["n"], paper["m"])
    assert len(table.sensitive) == paper["p"]
    assert len(table.relations.indices) == paper["nnz"]


@pytest.mark.parametrize("name", ["NINE12", "NINE5D", "NINENEW", "TWO5IN6"])
def test_repeated_equations_are_found_redundant(name):
    table = read(CSPLIB / f"{name}.jj")
    counts = Counter(tuple(members) for _, members in sums_of(table))
    repeated = sum(count - 1 for count in counts.values())
    assert 639 <= repeated <= 1315
    assert len(table.relations.structure.redundant) >= repeated
    assert not len(table.relations.structure.contradictory)


def test_fixed_margins_off_the_grid_are_named():
    with pytest.raises(
        cw.InputError, match=r"equation \d+, .*fixed cells leave .* not a multiple of 5, the grid of its"
    ):
        cw.ControlledRounding(5, ignore_levels=True).protect(read(CSPLIB / "OSORIO.jj"))


# ---- linked tables -----------------------------------------------------------------------------------------------------------------------

LINKED = SHARED / "data" / "linked"
NAMES = ("act_cj", "act_size", "nuts_cj", "nuts_size")


def rows(name):
    with (LINKED / f"rtauargus_{name}.csv").open(newline="") as file:
        return list(csv.DictReader(file))


def hierarchy(name):
    """A correspondence table, coarse to fine: each code is the sum of the next finer ones; a code that repeats is one code."""
    sums = {}
    for row in rows(name):
        chain = ["Total", *row.values()]
        for parent, child in pairwise(chain):
            if parent != child:
                sums.setdefault(parent, {})[child] = None
    return cw.Hierarchy(tuple((parent, tuple(children)) for parent, children in sums.items()))


@pytest.fixture(scope="module")
def trees():
    return {"ACTIVITY": hierarchy("activity_corr_table"), "NUTS": hierarchy("nuts23_fr_corr_table")}


def turnover(name, value, trees, **options):
    dims = [dim for dim in ("ACTIVITY", "NUTS", "CJ", "SIZE") if dim in rows(f"turnover_{name}")[0]]
    own = {dim: trees[dim] for dim in dims if dim in trees}
    file = LINKED / f"rtauargus_turnover_{name}.csv"
    return cw.read(file, dims=dims, value=value, hierarchies=own, totals="given", **options)


@pytest.fixture(scope="module")
def counts(trees):
    return cw.link(*(turnover(name, "N_OBS", trees) for name in NAMES))


def test_counts_link_into_1493_cells_and_879_equations(counts):
    """Of the 879, the sums of a shared margin occur in two tables each: 824 are different."""
    assert (counts.cells, counts.relations.equations) == (1493, 879)
    assert counts.labels.dims == ("ACTIVITY", "CJ", "SIZE", "NUTS")
    assert not counts.relations.residual(counts.scaled).any()
    different = {tuple(members) for _, members in sums_of(counts)}
    assert len(different) == 824
    assert len(counts.relations.structure.redundant) >= 879 - 824


def test_counts_agree_with_the_rows(counts):
    values = {counts.labels.tuple_of(i): int(counts.scaled[i]) for i in range(counts.cells)}
    seen = set()
    for name in NAMES:
        for row in rows(f"turnover_{name}"):
            key = tuple(row.get(dim, "Total") for dim in counts.labels.dims)
            assert values[key] == int(row["N_OBS"])
            seen.add(key)
    assert seen == set(values)


@pytest.mark.parametrize("name", NAMES)
def test_turnover_carries_float_noise_and_a_number_of_decimals_is_proposed(name, trees):
    with pytest.raises(cw.InputError, match=r"TOT: .* use decimals=\d+$") as caught:
        turnover(name, "TOT", trees)
    proposed = int(str(caught.value).rpartition("=")[2])
    assert turnover(name, "TOT", trees, decimals=proposed).decimals == proposed


def test_turnover_is_exact_at_four_decimals(trees):
    linked = cw.link(*(turnover(name, "TOT", trees, decimals=4) for name in NAMES))
    assert (linked.cells, linked.relations.equations, linked.decimals) == (1493, 879, 4)


def test_linked_counts_are_rounded(counts):
    p = cw.ControlledRounding(5).protect(counts, time_limit_s=60)
    assert p.status in ("optimal", "infeasible")
    if p.status == "optimal":
        assert not counts.relations.residual(p.scaled).any()
        assert not (p.scaled % 5).any()
        assert int(abs(p.scaled - counts.scaled).max()) < 5
        assert p.objective == p.bound
