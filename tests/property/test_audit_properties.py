"""Audits of random releases against exact oracles; the full programme is benchmarks/audit.py."""

import numpy as np
import pytest
import random_releases
import release_check

import cellward as cw
from cellward.audit.ends import Ends
from cellward.audit.region import Region
from cellward.audit.swaps import Swaps
from cellward.publication.knowledge import Knowledge


@pytest.mark.parametrize("seed", range(5000, 5000 + 4 * len(random_releases.RULES)))
def test_intervals_and_verdicts_are_exact(seed):
    _, faults = release_check.compare(random_releases.random_release(seed))
    assert faults == []


TREE = {"Total": {"N": {"N1": ["a", "b"], "N2": ["c", "d"]}, "S": {"S1": ["e", "f"], "S2": ["g", "h", "i"]}}}
RAGGED = {
    "Total": {"N": ["a", "b", "c"], "S": ["d"], "W": {"W1": ["e", "f"], "W2": ["g", "h"]}},
    "Coast": ["a", "d", "h"],
}


@pytest.mark.parametrize("tree", [TREE, RAGGED])
@pytest.mark.parametrize("missing", [0, 5])
def test_exchanges_keep_every_equation(tree, missing):
    hierarchy = cw.Hierarchy.from_dict(tree)
    rng = np.random.default_rng(4)
    rows = [(r, s) for r in hierarchy.leaves for s in ("f", "m", "x")]
    rows = [rows[k] for k in sorted(rng.choice(len(rows), len(rows) - missing, replace=False))]
    frame = {"r": [r for r, _ in rows], "s": [s for _, s in rows], "n": rng.poisson(6, len(rows)).tolist()}
    table = cw.Table.from_frame(frame, dims=["r", "s"], value="n", hierarchies={"r": hierarchy})
    swaps = Swaps.of(table.relations, table.labels)
    y = table.scaled.copy()
    moved = 0
    for _ in range(300):
        cells, factor = swaps.draw(rng)
        assert len(np.unique(cells)) == cells.size  # moves share no cell
        y[cells] += factor * rng.integers(-3, 4, (len(cells), 1))
        moved += len(cells)
        assert not table.relations.residual(y).any()
    assert moved > 300


def test_exchanges_reach_the_ends_of_a_three_dimensional_table():
    table = cw.Table.from_array(np.random.default_rng(2).poisson(20, (6, 5, 4)))
    a = table.scaled
    region = Region.of(
        table.relations,
        table.lower,
        table.upper,
        Knowledge.adjusted(a, np.full(len(a), 3)),
        cw.Attacker.external(whole=True),
        a,
    )
    ends = Ends(region)
    ends.see(a)
    Swaps.of(table.relations, table.labels).explore(ends, np.random.default_rng(0), lambda: False)
    assert not any(side.any() for side in ends.open)
    assert (ends.inner[0] == np.maximum(a - 3, 0)).all()


@pytest.mark.parametrize(
    "table",
    [
        cw.Table.from_equations([3, 4, 7], [[1, 1, -1]]),
        cw.Table.from_array([[1, 2], [3, 4]]).with_sensitivity(cw.Table.from_array([[1, 2], [3, 4]]).sensitivity),
    ],
)
def test_tables_without_dimensions_have_no_exchanges(table):
    assert (Swaps.of(table.relations, table.labels) is None) == (not table.labels.dims)


@pytest.mark.parametrize("seed", [117, 123, 321, 634, 747, 825, 1126, 1557, 1737, 1797, 1845, 1851])
def test_exchanges_of_overlapping_groupings_keep_every_equation(seed):
    table = random_releases.random_release(seed).table
    swaps = Swaps.of(table.relations, table.labels)
    rng, y = np.random.default_rng(0), table.scaled.copy()
    for _ in range(100):
        cells, factor = swaps.draw(rng)
        y[cells] += factor * rng.integers(-3, 4, (len(cells), 1))
    assert not table.relations.residual(y).any()
