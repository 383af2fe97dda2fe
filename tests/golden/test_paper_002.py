"""Castro 2004: the figures on disclosure risk, on alternative optima and on the combination of L1 and L2."""

import numpy as np
import pytest

import cellward as cw
from cellward.protect.adjustment.study import DisclosureStudy

FIGURE_1 = [[10, 15, 11, 9, 45], [8, 10, 12, 15, 45], [10, 12, 11, 13, 46], [28, 37, 34, 37, 136]]
LEVELS = {0: 3, 7: 4, 12: 2, 13: 5}
FIGURE_1B = [[7, 0, -6, -1], [0, 0, 4, -4], [-7, 0, 2, 5]]
FIGURE_2B = [[6, 0, -6, 0], [1, 0, 4, -5], [-7, 0, 2, 5]]
FIGURE_2C = [[41 / 12, 41 / 12, -6, -10 / 12], [1 / 12, 1 / 12, 4, -50 / 12], [-3.5, -3.5, 2, 5]]


def figure_1():
    """The 3×4 table with its margins, and levels of four cells."""
    cell = np.arange(20).reshape(4, 5)
    sums = [*cell, *cell.T]
    matrix = np.zeros((len(sums), 20), int)
    for equation, members in zip(matrix, sums, strict=True):
        equation[members] = 1
        equation[members[-1]] = -1
    levels = list(LEVELS.values())
    return cw.Table.from_equations(np.ravel(FIGURE_1), matrix, sensitive=list(LEVELS), lpl=levels, upl=levels)


def protected(norm):
    method = cw.ControlledAdjustment(norm=norm, senses="up", jitter=0, grid=None, fixed="margins")
    return method.protect(figure_1(), weights="equal")


def deviations(protection):
    return (protection.values - figure_1().values).reshape(4, 5)[:3, :4]


@pytest.fixture(scope="module")
def study():
    return DisclosureStudy(protected("l1"))


def test_figure_1_multipliers(study):
    assert study.objective == pytest.approx(36)
    assert study.multipliers == pytest.approx([0, 2, 4, 4])
    assert study.indicator == pytest.approx(6)
    assert not study.ambiguous


@pytest.mark.parametrize(("errors", "objective"), [(0, 36), (1, 46), ((1, 2, 3, 4), 68), ((4, 0, 0, 0), 36)])
def test_figure_1_levels_with_errors(study, errors, objective):
    found = study.resolve(errors)
    assert found.objective == pytest.approx(objective)
    assert found.growth == pytest.approx(found.predicted)
    assert found.rate == pytest.approx(found.predicted)


def test_figure_1_beyond_four_the_first_level_costs_too(study):
    found = study.resolve((5, 0, 0, 0))
    assert (found.predicted, found.growth > 0.5) == (0, True)


@pytest.mark.parametrize("printed", [FIGURE_1B, FIGURE_2B])
def test_figure_2_alternative_solutions(study, printed):
    """Both tables printed are optima, and within the ranges of all optima."""
    z = np.zeros((4, 5))
    z[:3, :4] = printed
    assert np.abs(z).sum() == 36
    assert not figure_1().relations.residual(z.ravel().astype(int)).any()
    found = study.alternatives()
    mine = z.ravel()[found.cell]
    assert np.all((found.lower - 1e-6 <= mine) & (mine <= found.upper + 1e-6))
    assert not found.unique


def test_figure_2_ranges_of_all_optima(study):
    found = study.alternatives(count=5)
    assert found.lower == pytest.approx([3, 4, 2, 5])
    assert found.upper == pytest.approx([7, 4, 2, 5])
    assert (found.determined, found.settled) == (3, True)
    assert found.deviations
    for other in found.deviations:
        assert np.abs(other).sum() == pytest.approx(36)


def test_figure_2_l2():
    p = protected("l2")
    assert deviations(p) == pytest.approx(np.array(FIGURE_2C), abs=1e-6)
    assert p.objective**0.5 == pytest.approx(12.1209, abs=1e-4)
    study = DisclosureStudy(p)
    assert study.alternatives().unique
    assert study.resolve(0).found == 4


@pytest.mark.parametrize("tenths", range(11))
def test_figure_3(tenths):
    omega = tenths / 10
    table = cw.Table.from_equations([12, 8, 20], [[1, 1, -1]], sensitive=[2], lpl=[4], upl=[4])
    method = cw.ControlledAdjustment(
        norm="l1-2", shares=(f"{omega:.1f}", f"{1 - omega:.1f}"), senses="up", jitter=0, grid=None
    )
    first = 4 if tenths == 10 else min(4, 2.4 + omega / (10 * (1 - omega)))
    assert method.protect(table).values - table.values == pytest.approx([first, 4 - first, 4], abs=1e-4)
