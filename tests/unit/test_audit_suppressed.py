"""Audits of releases that withhold cells: intervals as an independent linear program finds them, also where cells are determined."""

from dataclasses import replace

import numpy as np
import pytest
from scipy.optimize import linprog

import cellward as cw
from cellward.publication.release import Release
from cellward.publication.withheld import Withheld


def release_of(table, withheld):
    """True values but for those withheld."""
    return Release(
        labels=table.labels, publication=Withheld.of(table.scaled, np.array(withheld, np.int64)), decimals=table.decimals,
        method={"name": "suppression"}, relations=table.relations, lower=table.lower, upper=table.upper, digest="",
    )  # fmt: skip


def expected(table, withheld, i):
    """The ends of cell i by linear programs over all cells, the others fixed."""
    r = table.relations
    matrix = np.zeros((r.equations, r.cells))
    np.add.at(matrix, (r.row, r.indices), r.coefs)
    bounds = [(0, None) if k in withheld else (int(a), int(a)) for k, a in enumerate(table.scaled)]
    ends = []
    for sign in (1, -1):
        cost = np.zeros(r.cells)
        cost[i] = sign
        found = linprog(cost, A_eq=matrix, b_eq=r.rhs, bounds=bounds)
        ends.append(-sign * np.inf if found.status == 3 else found.x[i])
    return ends


@pytest.mark.parametrize("shape", [(3,), (2, 2), (2, 3), (3, 3), (2, 2, 2)])
@pytest.mark.parametrize("truth", [False, True])
def test_intervals_of_withheld_cells(shape, truth):
    rng = np.random.default_rng([len(shape), *shape])
    determined = 0
    for _ in range(12):
        table = cw.Table.from_array(rng.integers(0, 9, shape))
        withheld = sorted(rng.choice(table.cells, rng.integers(1, min(7, table.cells)), replace=False).tolist())
        found = cw.audit(release_of(table, withheld), table=table if truth else None)
        assert found.open == 0
        for i, low, high in zip(*(found.intervals[name] for name in ("cell", "lower", "upper")), strict=True):
            assert (low, high) == pytest.approx(expected(table, withheld, i))
        inside = found.intervals["lower"] == found.intervals["upper"]
        determined += inside.all()
    assert determined  # tables in which nothing is hidden are among them


@pytest.mark.parametrize("truth", [False, True])
def test_linked_and_overlapping_tables_too(truth):
    nuts = cw.Hierarchy.from_dict({"Total": {"N": ["n1", "n2"], "S": ["s1", "s2"]}, "East": ["n2", "s2"]})
    frame = {"r": ["n1", "n2", "s1", "s2"] * 2, "x": ["a"] * 4 + ["b"] * 4, "n": [3, 4, 5, 6, 7, 8, 9, 1]}
    table = cw.Table.from_frame(frame, dims=["r", "x"], value="n", hierarchies={"r": nuts})
    table = cw.link(
        table,
        cw.Table.from_frame({"r": ["East", "Total"], "n": [19, 43]}, dims=["r"], value="n", hierarchies={"r": nuts}),
    )
    rng = np.random.default_rng(3)
    for _ in range(12):
        withheld = sorted(rng.choice(table.cells, 7, replace=False).tolist())
        found = cw.audit(release_of(table, withheld), table=table if truth else None)
        for i, low, high in zip(*(found.intervals[name] for name in ("cell", "lower", "upper")), strict=True):
            assert (low, high) == pytest.approx(expected(table, withheld, i))


def test_a_release_at_odds_with_its_equations_is_refused():
    table = cw.Table.from_array([[1, 2], [3, 4]])
    wrong = release_of(table, [0])
    values = table.scaled.copy()
    values[8] += 1
    wrong = replace(wrong, publication=Withheld.of(values, np.array([0])))
    with pytest.raises(cw.InputError, match="contradict each other"):
        cw.audit(wrong)
