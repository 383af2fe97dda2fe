"""Castro 2004: the small examples of minimum-distance controlled perturbation."""

import numpy as np
import pytest

import cellward as cw
from cellward.risk.sensitivity import Sensitivity

FIGURE_1 = [[10, 15, 11, 9], [8, 10, 12, 15], [10, 12, 11, 13]]
LEVELS = {(0, 0): 3, (1, 2): 4, (2, 2): 2, (2, 3): 5}
PAPER = {"senses": "up", "jitter": 0, "grid": None}


def figure_1(more=(0, 0, 0, 0)):
    """The table with its upper levels, and what an attacker errs by."""
    table = cw.Table.from_array(FIGURE_1)
    cells = [table.labels.find((str(i), str(j))) for i, j in LEVELS]
    up = np.array([level + e for level, e in zip(LEVELS.values(), more, strict=True)], np.int64)
    return table.with_sensitivity(Sensitivity.of(table.cells, cells, np.zeros(4, np.int64), up, np.zeros(4, np.int64)))


@pytest.mark.parametrize(("errors", "least"), [((0, 0, 0, 0), 36), ((1, 1, 1, 1), 46), ((1, 2, 3, 4), 68)])
def test_figure_1_sums_of_deviations(errors, least):
    p = cw.ControlledAdjustment(norm="l1", fixed="margins", **PAPER).protect(figure_1(errors), weights="equal")
    assert (p.status, p.objective, p.certified_bound) == ("optimal", least, least)


def test_figure_2_the_only_optimum_of_l2():
    p = cw.ControlledAdjustment(norm="l2", fixed="margins", **PAPER).protect(figure_1(), weights="equal")
    z = (p.values - figure_1().values).reshape(4, 5)[:3, :4]
    assert np.sqrt((z**2).sum()) == pytest.approx(12.12, abs=0.005)


@pytest.mark.parametrize(("norm", "z"), [("l1", (4, 0, 4)), ("l2", (2.4, 1.6, 4))])
def test_figure_3_a_margin_at_risk(norm, z):
    table = cw.Table.from_equations([12, 8, 20], [[1, 1, -1]], sensitive=[2], lpl=[0], upl=[4])
    p = cw.ControlledAdjustment(norm=norm, **PAPER).protect(table)
    assert p.status == "optimal"
    assert (p.values - table.values).tolist() == pytest.approx(z, abs=1e-5)


def test_figure_3_shares_lie_between():
    table = cw.Table.from_equations([12, 8, 20], [[1, 1, -1]], sensitive=[2], lpl=[0], upl=[4])
    first = []
    for tenths in range(11):
        shares = (f"{tenths / 10:.1f}", f"{1 - tenths / 10:.1f}")
        p = cw.ControlledAdjustment(norm="l1-2", shares=shares, **PAPER).protect(table)
        first.append(float(p.values[0] - 12))
    assert first == sorted(first)
    assert first[0] == pytest.approx(2.4, abs=1e-5)
    assert first[-1] == pytest.approx(4, abs=1e-5)
