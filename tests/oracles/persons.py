"""Persons in a small table of counts, with all who stand behind its small cells: a crowd of attackers."""

import numpy as np

import cellward as cw


def persons(seed=0):
    """Persons by place (two regions), age and sex, with the small counts at risk, and all who stand behind them."""
    rng = np.random.default_rng(seed)
    rows = [(f"{r}{k}", f"a{a}", s) for r in "NS" for k in range(3) for a in range(4) for s in "fm" for _ in range(rng.poisson(2))]  # fmt: skip
    columns = dict(zip(("place", "age", "sex"), zip(*rows, strict=True), strict=True))
    tree = cw.Hierarchy.from_prefixes(sorted(set(columns["place"])), (1, 2))
    table = cw.Table.from_microdata(columns, dims=["place", "age", "sex"], hierarchies={"place": tree})
    table = table.find(cw.Threshold(3))
    return table, cw.Attacker.from_data(table, respondents=2)
