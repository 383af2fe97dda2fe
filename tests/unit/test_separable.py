"""Closed forms of the distances: they agree with a fine grid, with one another, and bound the optimum from below."""

from __future__ import annotations

import numpy as np
import pytest

from cellward.errors import SolverError
from cellward.solve.separable import Separable

GRID = np.linspace(-1.0, 1.0, 200_001)


def random_distance(rng, cells, delta):
    absolute, square, huber = rng.integers(0, 4, (3, cells)).astype(float)
    squared = rng.random(cells) < 0.5
    return Separable(absolute, np.where(squared, square, 0.0), np.where(squared, 0.0, huber), delta)


def cheapest(distance, prices, lo, hi):
    """The z in [lo, hi] of least cost(z) − price·z."""
    return np.clip(distance._free_minimum(prices), lo, hi)


def cost_of_one(distance, i, z):
    """The definition, written out; cancellation and all."""
    rounded = np.sqrt(z * z + distance.delta**2) - distance.delta
    return distance.absolute[i] * np.abs(z) + distance.square[i] * z * z + distance.huber[i] * rounded


@pytest.mark.parametrize("delta", [0.0, 0.001, 1.0, 50.0])
@pytest.mark.parametrize("seed", range(5))
def test_agrees_with_a_grid(seed, delta):
    rng = np.random.default_rng(seed)
    distance = random_distance(rng, 40, delta)
    lo, hi = np.sort(rng.integers(-6, 7, (2, 40)).astype(float), axis=0)
    prices = rng.choice([0.0, 1.0, -1.0, 2.0, -3.0, 2.5, -0.7, 9.0], 40)
    least, z = distance.least(prices, lo, hi), cheapest(distance, prices, lo, hi)
    assert np.all((lo <= z) & (z <= hi))
    for i in range(40):
        points = (lo[i] + hi[i]) / 2 + (hi[i] - lo[i]) / 2 * GRID
        worth = cost_of_one(distance, i, points) - prices[i] * points
        assert least[i] <= worth.min() + 1e-10
        assert worth.min() - least[i] <= 1e-4 * (1 + np.ptp(points))
        assert cost_of_one(distance, i, z[i]) - prices[i] * z[i] == pytest.approx(least[i], abs=1e-10)
    assert distance.dual_bound(prices, lo, hi) == least.sum()


@pytest.mark.parametrize("delta", [0.0, 0.001, 2.0])
def test_cost_value_and_slopes(delta):
    rng = np.random.default_rng(3)
    distance = random_distance(rng, 60, delta)
    z = rng.choice([-4.0, -0.5, 0.0, 0.5, 3.0], 60)
    costs = distance.costs(z)
    assert costs == pytest.approx(np.array([cost_of_one(distance, i, z[i]) for i in range(60)]), abs=1e-12)
    assert distance.value(z) == costs.sum()
    low, high = distance.slopes(z)
    step = 1e-9
    to_left = (costs - distance.costs(z - step)) / step
    to_right = (distance.costs(z + step) - costs) / step
    tolerance = 1e-4
    assert low == pytest.approx(to_left, abs=tolerance)
    assert high == pytest.approx(to_right, abs=tolerance)
    assert np.all((low == high) | (z == 0))


@pytest.mark.parametrize("delta", [0.0, 0.001, 2.0])
def test_the_minimum_is_where_the_price_is_a_slope(delta):
    rng = np.random.default_rng(8)
    distance = random_distance(rng, 60, delta)
    prices = rng.uniform(-3, 3, 60)
    open_side = np.full(60, np.inf)
    z = cheapest(distance, prices, -open_side, open_side)
    finite = np.isfinite(z)
    low, high = distance.slopes(np.where(finite, z, 0.0))
    assert np.all((low - 1e-9 <= prices) & (prices <= high + 1e-9) | ~finite)
    least = distance.least(prices, -open_side, open_side)
    assert np.all((least == -np.inf) == ~finite)


def test_open_sides():
    side = np.full(6, np.inf)
    distance = Separable(
        np.array([1.0, 1, 0, 0, 0, 0]), np.array([0.0, 0, 0, 1, 0, 0]), np.array([0.0, 0, 0, 0, 2, 2]), 0.5
    )
    prices = np.array([1.0, -1.5, 0.0, 4.0, 2.0, -2.1])
    # At the slope of |z| itself every z ≥ 0 is best, and the one next to 0 is taken; at that of the pseudo-Huber function
    # the minimum is a limit, −weight·δ; beyond either there is none.
    assert distance.least(prices, -side, side).tolist() == [0.0, -np.inf, 0.0, -4.0, -1.0, -np.inf]
    assert cheapest(distance, prices, -side, side).tolist() == [0.0, -np.inf, 0.0, 2.0, np.inf, -np.inf]
    assert cheapest(distance, prices, np.full(6, 3.0), side).tolist()[:2] == [3.0, 3.0]


def test_small_differences_survive_large_numbers():
    distance = Separable.of(2, huber=np.array([1.0, 1.0]), delta=1e-3)
    assert distance.costs(np.array([1e-9, 1e-12])) == pytest.approx(np.array([5e-16, 5e-22]), rel=1e-6, abs=0)
    lone = Separable.of(1, absolute=np.array([1e-8]))
    price, side = np.array([1e-8 * (1 + 1e-12)]), np.array([1e9])
    assert lone.least(price, -side, side)[0] == pytest.approx(-1e-11, rel=1e-3)


@pytest.mark.parametrize("delta", [0.0, 0.25, 10.0])
@pytest.mark.parametrize("level", [0.0, 0.3, 7.0, 1e6])
def test_reach_holds_every_point_of_that_cost(level, delta):
    rng = np.random.default_rng(4)
    distance = random_distance(rng, 60, delta)
    far = distance.reach(level)
    weightless = distance.absolute + distance.square + distance.huber == 0
    assert np.all(np.isinf(far) == weightless)
    beyond = np.where(weightless, 1.0, far * (1 + 1e-9) + 1e-9)
    assert np.all((distance.costs(beyond) >= level) | weightless)
    lone = np.count_nonzero([distance.absolute, distance.square, distance.huber], axis=0) == 1
    assert distance.costs(np.where(lone, far, 0.0))[lone] == pytest.approx(
        np.full(lone.sum(), level), rel=1e-9, abs=1e-12
    )


def test_delta_of_zero_is_the_absolute_value():
    rng = np.random.default_rng(5)
    weights, prices, z = rng.random(9), rng.uniform(-1, 1, 9), rng.uniform(-2, 2, 9)
    one, other = Separable.of(9, absolute=weights), Separable.of(9, huber=weights)
    lo, hi = np.full(9, -3.0), np.full(9, 4.0)
    assert one.value(z) == other.value(z)
    assert one.least(prices, lo, hi).tolist() == other.least(prices, lo, hi).tolist()


@pytest.mark.parametrize(
    ("weights", "words"),
    [
        ({"absolute": np.array([1.0, -1.0])}, "none below 0"),
        ({"square": np.array([1.0, np.nan])}, "finite"),
        ({"square": np.ones(3)}, "one for each of 2 cells"),
        ({"square": np.ones(2), "huber": np.ones(2)}, "one of the two"),
        ({"huber": np.ones(2), "delta": -1.0}, "δ is -1.0"),
    ],
)
def test_odd_weights_are_refused(weights, words):
    with pytest.raises(SolverError, match=words):
        Separable.of(2, **weights)
