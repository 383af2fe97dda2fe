"""The linear measure against a brute force in fractions: ties, zeros, products beyond 64 bits, weights."""

from fractions import Fraction
from math import ceil

import numpy as np
import pytest

from cellward.risk.measure import LinearMeasure
from cellward.risk.score import float_score, score

MEASURES = (
    LinearMeasure.of([Fraction(11, 10), Fraction(1)]),
    LinearMeasure.of([Fraction(9, 8), Fraction(1), Fraction(1)]),
    LinearMeasure.of([Fraction(4, 3)]),
    LinearMeasure.of([Fraction(10**17, 76543210987654321)] * 3),
    LinearMeasure.of([Fraction(1)], Fraction(7, 10)),
)


def random_cells(rng, cells, kept, largest):
    """Contributions with many ties, zeros and exact limit cases; the total holds more than the kept."""
    top = rng.integers(0, largest, (kept, cells), endpoint=True)
    top[:, rng.random(cells) < 0.3] = largest  # ties
    top[rng.random(top.shape) < 0.2] = 0
    top = -np.sort(-top, axis=0)
    rest = np.where(rng.random(cells) < 0.5, 0, rng.integers(0, largest // 4 + 1, cells))
    return top, top.sum(axis=0) + rest


def agree(found, levels):
    cell, level = found
    assert cell.tolist() == [i for i, exact in enumerate(levels) if exact > 0]
    assert level.tolist() == [ceil(exact) for exact in levels if exact > 0]


@pytest.mark.parametrize("measure", MEASURES)
@pytest.mark.parametrize("largest", [1, 10, 1000, 2**31, 2**51])
def test_unsafe_is_the_brute_force(measure, largest):
    top, size = random_cells(np.random.default_rng(largest % 997), 400, len(measure.coefficients), largest)
    c, d = measure.coefficients, measure.denominator
    levels = [
        sum(Fraction(c[k], d) * int(top[k, i]) for k in range(len(c))) - Fraction(measure.total, d) * int(size[i])
        for i in range(400)
    ]
    agree(measure.unsafe(top, size), levels)
    assert [measure.level(int(size[i]), top[:, i].tolist()) for i in range(400)] == levels


@pytest.mark.parametrize("beyond", [-1, 0, 1])
@pytest.mark.parametrize("largest", [10, 10**6 * 10, 2**52 // 10 * 10])
def test_the_limit_is_exact(beyond, largest):
    """X − x1 − x2 = 10 % of x1 is safe; one unit less is not, whatever the size."""
    size = np.array([largest + 7 + largest // 10 - beyond])
    cell, level = MEASURES[0].unsafe(np.array([[largest], [7]]), size)
    assert (cell.tolist(), level.tolist()) == (([0], [1]) if beyond > 0 else ([], []))


def brute_score(x, weights, many):
    """Count units one small piece at a time: 1/60 of a unit divides every weight of the test."""
    pieces = [value for value, w in zip(x[:many], weights[:many], strict=True) for _ in range(int(w * 60))]
    return sum((Fraction(value, 60) for value in pieces[: many * 60]), Fraction(0))


@pytest.mark.parametrize("measure", MEASURES[:4])
@pytest.mark.parametrize("largest", [60, 60 * 10**4, 60 * 2**43])
def test_weighted_is_the_brute_force(measure, largest):
    rng = np.random.default_rng(5)
    many, cells = len(measure.coefficients), 200
    weights = [[Fraction(int(w), 60) for w in row] for row in rng.integers(20, 200, (many, cells))]
    top = -np.sort(-rng.integers(0, largest // 60, (many, cells), endpoint=True), axis=0) * 60
    weighted = np.array(
        [[int(x * w) for x, w in zip(*rows, strict=True)] for rows in zip(top.tolist(), weights, strict=True)]
    )
    size = weighted.sum(axis=0) + rng.integers(0, largest // 3, cells) * rng.integers(0, 2, cells)
    c, d = measure.coefficients, measure.denominator
    levels = []
    for i in range(cells):
        s = brute_score(top[:, i].tolist(), [row[i] for row in weights], many)
        assert score(top[:, i].tolist(), weighted[:, i].tolist(), many) == s
        assert float_score(top, weighted, many)[i] == pytest.approx(float(s), rel=1e-14)
        levels.append((Fraction(c[0] - c[-1]) * int(top[0, i]) + c[-1] * s - measure.total * int(size[i])) / d)
    agree(measure.unsafe_weighted(top, weighted, size), levels)


def test_weights_of_one_change_nothing():
    top, size = random_cells(np.random.default_rng(2), 300, 3, 50)
    measure = MEASURES[1]
    plain, weighted = measure.unsafe(top, size), measure.unsafe_weighted(top, top, size)
    assert [a.tolist() for a in plain] == [a.tolist() for a in weighted]


def test_no_cells():
    cell, level = MEASURES[0].unsafe(np.zeros((2, 0), np.int64), np.zeros(0, np.int64))
    assert (len(cell), len(level)) == (0, 0)
