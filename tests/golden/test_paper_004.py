"""Petrenko 2017: the example of section 6.1, the same table by linear program, cones, squares and the pseudo-Huber function."""

import numpy as np
import pytest

import cellward as cw

TABLE = [[10, 15, 11, 9, 45], [8, 10, 12, 15, 45], [10, 12, 11, 13, 46], [28, 37, 34, 37, 136]]
SQUARES = [[13, 15.03, 11.03, 5.94], [7.66, 11.14, 13.14, 13.06], [7.34, 10.83, 9.83, 18]]


def protected(**options):
    cell = np.arange(20).reshape(4, 5)
    matrix = np.zeros((9, 20), int)
    for equation, members in zip(matrix, [*cell, *cell.T], strict=True):
        equation[members] = 1
        equation[members[-1]] = -1
    table = cw.Table.from_equations(np.ravel(TABLE), matrix, sensitive=[0, 13], lpl=[3, 5], upl=[3, 5])
    method = cw.ControlledAdjustment(senses="up", jitter=0, grid=None, fixed="margins", **options)
    p = method.protect(table, weights="equal")
    return p, p.values - table.values


@pytest.mark.parametrize("form", ["equation", "leaf", "cone"])
def test_sum_of_deviations_is_20_in_every_form(form):
    p, z = protected(norm="l1", form=form)
    assert p.status == "optimal"
    assert p.objective == pytest.approx(20, abs=1e-5)
    assert np.abs(z).sum() == pytest.approx(20, abs=1e-5)


@pytest.mark.parametrize("form", ["leaf", "cone"])
def test_squares(form):
    p, z = protected(norm="l2", form=form)
    assert p.objective == pytest.approx(59.657, abs=1e-3)
    assert np.abs(z).sum() == pytest.approx(20.69, abs=5e-3)
    assert p.values.reshape(4, 5)[:3, :4] == pytest.approx(np.array(SQUARES), abs=5.1e-3)


def test_pseudo_huber():
    p, z = protected(norm="huber", delta="0.001")
    assert p.objective == pytest.approx(19.988, abs=1e-3)
    assert np.abs(z).sum() == pytest.approx(20, abs=1e-3)
