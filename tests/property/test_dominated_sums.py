"""The sums that a unit dominates are those of the definition, in its order, on random tables."""

import numpy as np
import pytest
from slow_sums import sums_of

import cellward as cw
from cellward import Dominance, Hierarchy, PPercent, Table, Threshold
from cellward.risk.prior_posterior import PriorPosterior

RULES = (
    (PPercent(15),),
    (PPercent(30, n=2), Dominance(2, 85)),
    (Dominance(1, 70), Threshold(3)),
    (PriorPosterior(10, 40), PPercent(5)),
)
TREE = Hierarchy.from_dict({"west": ["c0", "c1", "c2"], "east": ["c3", "c4", "c5"], "coast": ["c0", "c3"]})


def made(seed):
    rng = np.random.default_rng(seed)
    many, firms = int(rng.integers(8, 60)), int(rng.integers(3, 25))
    rows = {
        "code": [f"c{k}" for k in rng.integers(0, 6, many)],
        "size": [f"s{k}" for k in rng.integers(0, 3, many)],
        "kind": [f"k{k}" for k in rng.integers(0, 2, many)],
        "firm": [f"f{k}" for k in rng.integers(0, firms, many)],
        "x": np.round(rng.lognormal(2, 1.5, many)).astype(np.int64).tolist(),  # some are 0
    }
    options = {"measure": "x", "contributor": "firm", "largest": int(rng.integers(3, 6))}
    shape = seed % 4
    if shape == 0:
        return Table.from_microdata(rows, dims=["code", "size"], **options)
    if shape == 1:
        return Table.from_microdata(rows, dims=["code", "size"], hierarchies={"code": TREE}, **options)
    if shape == 2:
        return Table.from_microdata(rows, dims="code*size + kind*code", **options)
    return cw.link(*(Table.from_microdata(rows, dims=dims, **options) for dims in (["code", "size"], ["kind"])))


@pytest.mark.parametrize("rules", RULES, ids=lambda rules: " ".join(rule.short for rule in rules))
def test_the_sums_found_are_those_of_the_definition(rules):
    several = 0
    for seed in range(60):
        table = made(seed)
        waivers = [f"f{seed % 7}"] if seed % 3 == 0 else []
        table = table.find(*rules, waivers=waivers)
        found = [(tuple(one.cell.tolist()), one.lpl, one.upl, one.unit, one.largest) for one in table.sensitivity.sums]
        assert found == sums_of(table)
        several += any(len(cells) > 2 for cells, *_ in found)
    assert several >= 5
