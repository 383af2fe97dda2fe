"""The bank: small tables of every kind, on which every protection method must keep its contract."""

import numpy as np
from paper_000 import FIGURE_1

import cellward as cw


def two_dimensional():
    return cw.Table.from_array(FIGURE_1, dims=["activity", "region"])


def three_dimensional():
    return cw.Table.from_array([[[5, 2], [10, 5]], [[3, 5], [1, 10]]])


def hierarchical():
    tree = cw.Hierarchy.from_dict({"Total": {"North": ["N1", "N2", "N3"], "South": ["S1", "S2"]}})
    rng = np.random.default_rng(3)
    rows = [(r, s) for r in tree.leaves for s in ("F", "M")]
    frame = {"region": [r for r, _ in rows], "sex": [s for _, s in rows], "n": rng.poisson(7, len(rows)).tolist()}
    return cw.Table.from_frame(frame, dims=["region", "sex"], value="n", hierarchies={"region": tree})


def overlapping():
    tree = cw.Hierarchy.from_dict(
        {"Total": {"North": ["N1", "N2"], "South": ["S1", "S2"]}, "East": ["N2", "S2"], "West": ["N1", "S1"]}
    )
    return cw.Table.from_frame(
        {"region": ["N1", "N2", "S1", "S2"], "n": [13, 7, 22, 9]},
        dims=["region"],
        value="n",
        hierarchies={"region": tree},
    )


def partitions_of_a_total():
    columns = ["total", "male", "female", "young", "adult"]
    sums = cw.Hierarchy((("total", ("male", "female")), ("total", ("young", "adult"))))
    frame = {
        "area": ["a"] * 5 + ["b"] * 5 + ["Total"] * 5,
        "who": columns * 3,
        "n": [23, 11, 12, 4, 19, 31, 14, 17, 9, 22, 54, 25, 29, 13, 41],
    }
    return cw.Table.from_frame(frame, dims=["area", "who"], value="n", hierarchies={"who": sums})


def linked():
    rng = np.random.default_rng(8)
    inner = rng.poisson(6, (3, 2, 2))
    names, codes = ("act", "size", "region"), (["a", "b", "c"], ["s", "l"], ["n", "s2"])
    one = cw.Table.from_array(inner.sum(axis=2), dims=names[:2], codes=codes[:2])
    two = cw.Table.from_array(inner.sum(axis=1), dims=(names[0], names[2]), codes=(codes[0], codes[2]))
    return cw.link(one, two)


def right_hand_sides():
    return cw.Table.from_equations(
        [7, 4, 16, 3], [[1, 1, -1, 0], [0, 1, 0, 2]], rhs=[-5, 10], upper=[None, None, 100, 9]
    )


def decimals():
    return cw.Table.from_array([["1.25", "3.10"], ["0.45", "7.85"]])


def negatives():
    return cw.Table.from_array([[-7, 4], [3, -12]], lower=None)


def weighted():
    return cw.Table.from_equations([7, 4, 11], [[1, 1, -1]], weight=[1, 10, 3])


def fixed_cells():
    return cw.Table.from_equations([7, 3, 10, 8, 18], [[1, 1, -1, 0, 0], [0, 0, 1, 1, -1]], fixed=[2])


def bounded():
    return cw.Table.from_array([[3, 8], [2, 6]], upper=[4, 9, 20, 20, 20, 20, 20, 20, 20])


def only_multiples():
    return cw.Table.from_array([[5, 10], [0, 15]])


def one_cell():
    return cw.Table.from_equations([7], np.zeros((0, 1), int))


def causey_cox_ernst():
    """2×2×2, no zero-restricted rounding to base 2 exists."""
    inner = np.zeros((2, 2, 2), int)
    for place in ((0, 0, 0), (0, 1, 1), (1, 0, 1), (1, 1, 0)):
        inner[place] = 1
    return cw.Table.from_array(inner)


BANK = {
    make.__name__: make
    for make in (
        two_dimensional, three_dimensional, hierarchical, overlapping, partitions_of_a_total, linked, right_hand_sides, decimals,
        negatives, weighted, fixed_cells, bounded, only_multiples, one_cell,
    )
}  # fmt: skip
