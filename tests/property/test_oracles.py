"""The oracles that judge attackers' intervals: exact LP against all vertices and HiGHS, integer points against a full count, cases by hand."""

from __future__ import annotations

import itertools
from fractions import Fraction
from math import ceil, floor
from random import Random

import exact_lp
import integer_points
import numpy as np
import pytest
from exact_lp import EmptyRegionError
from hypothesis import given, settings
from hypothesis import strategies as st
from scipy.optimize import linprog

MANY = settings(max_examples=150, deadline=None, derandomize=True)
HALF = Fraction(1, 2)


@st.composite
def regions(draw, cells=4, least=0, coefs=(-3, -2, -1, 1, 2, 3), width=4, missing=False):
    """Equations, at least ``least`` with as many cells, through a whole point, some moved off it, and bounds about it."""
    n = draw(st.integers(1, cells))
    y = draw(st.lists(st.integers(-2, 2), min_size=n, max_size=n))
    rows = []
    for _ in range(draw(st.integers(least, 3))):
        own = draw(st.dictionaries(st.integers(0, n - 1), st.sampled_from(coefs), min_size=least, max_size=n))
        moved = draw(st.sampled_from((0, 0, 0, 0, 1)))
        rows.append((moved + sum(c * y[p] for p, c in own.items()), list(own), list(own.values())))
    away = st.integers(0, width) | st.none() if missing else st.integers(0, width)
    lo = [None if d is None else v - d for v, d in ((v, draw(away)) for v in y)]
    hi = [None if d is None else v + d for v, d in ((v, draw(away)) for v in y)]
    return rows, lo, hi


def table(shape, rng, width, known=0.0):
    """All cells and margins of a random table, each within a random interval of at most ``width`` or, by the share ``known``, given."""
    parts = {key: rng.randint(0, 9) for key in itertools.product(*map(range, shape))}
    keys = list(itertools.product(*(range(size + 1) for size in shape)))
    number = {key: i for i, key in enumerate(keys)}
    rows = [
        (0, [number[(*key[:d], k, *key[d + 1 :])] for k in range(size + 1)], [1] * size + [-1])
        for d, size in enumerate(shape)
        for key in keys
        if key[d] == size
    ]
    lo, hi = [], []
    for key in keys:
        y = sum(v for part, v in parts.items() if all(k in (q, s) for k, q, s in zip(key, part, shape, strict=True)))
        below = rng.randint(0, width)
        lo.append(y if (given := rng.random() < known) else max(0, y - below))
        hi.append(y if given else y + width - below)
    return rows, lo, hi


def ends(points):
    """The least and greatest of every cell over some points; None when there are no points."""
    return [(min(column), max(column)) for column in zip(*points, strict=True)] or None


def outcome(oracle, region):
    """An oracle's intervals, None when it calls the region empty."""
    try:
        return oracle.intervals(*region)
    except EmptyRegionError:
        return None


# ---- by hand -----------------------------------------------------------------------------------------------------------------------------------


def test_an_odd_cycle_ends_in_a_half():
    # y0 + y1 + s = 1, y1 + y2 + s' = 1, y0 + y2 + s'' = 1, total t = y0 + y1 + y2. The sum of the three is 2·t + s + s' + s'' = 3, so t ≤ 3/2,
    # reached at y = (½, ½, ½); two whole y of 1 would share an equation, so t ≤ 1 there.
    rows = [(1, [0, 1, 3], [1] * 3), (1, [1, 2, 4], [1] * 3), (1, [0, 2, 5], [1] * 3), (0, [0, 1, 2, 6], [1, 1, 1, -1])]
    lo, hi = [0] * 7, [1] * 6 + [None]
    assert exact_lp.intervals(rows, lo, hi) == [(0, 1)] * 6 + [(0, Fraction(3, 2))]
    assert integer_points.intervals(rows, lo, hi) == [(0, 1)] * 7
    # Without the slack only the halves are left, and nothing whole.
    assert exact_lp.intervals(rows, lo, [1] * 3 + [0] * 3 + [None], [0, 1, 2]) == [(HALF, HALF)] * 3
    with pytest.raises(EmptyRegionError):
        integer_points.intervals(rows, lo, [1] * 3 + [0] * 3 + [None])


def test_missing_bounds_follow_from_the_equations_or_are_none():
    # Known: y0 + y1 = 5 and y2 − y3 = 2, nothing negative; y4 is in no equation, y5 = −3 has no bounds of its own.
    rows = [(5, [0, 1], [1, 1]), (2, [2, 3], [1, -1]), (-6, [5], [2])]
    lo, hi = [0] * 4 + [None] * 2, [None] * 6
    expected = [(0, 5), (0, 5), (2, None), (0, None), (None, None), (-3, -3)]
    assert exact_lp.intervals(rows, lo, hi) == expected
    assert integer_points.intervals(rows, lo, hi) == expected
    assert (
        exact_lp.intervals(rows, lo, hi, [3, 0])
        == integer_points.intervals(rows, lo, hi, [3, 0])
        == [(0, None), (0, 5)]
    )


def test_the_end_of_a_cell_without_another_end_is_that_of_a_point():
    # 2·y0 − 5·y1 = 1: y0 would begin at ½, but 1 and 2 leave 1 and 3 to 5·y1; (3, 1) is the first point.
    region = [(1, [0, 1], [2, -5])], [0, 0], [None, None]
    assert exact_lp.intervals(*region) == [(HALF, None), (0, None)]
    assert integer_points.intervals(*region) == [(3, None), (1, None)]
    mirrored = [(-1, [0, 1], [2, -5])], [None, None], [0, 0]
    assert integer_points.intervals(*mirrored) == [(None, -3), (None, -1)]


EMPTY = {
    "bounds cross": ([], [3], [2]),
    "equations contradict": ([(3, [0, 1], [1, 1]), (-4, [0, 1], [-1, -1])], [None] * 2, [None] * 2),
    "an equation without cells": ([(1, [], [])], [0], [1]),
    "terms that cancel": ([(1, [0, 0], [1, -1])], [0], [1]),
    "bounds too narrow": ([(9, [0, 1], [1, 1])], [0, 0], [4, 4]),
    "narrowed without end": ([(0, [0, 1, 2], [1, -1, 1]), (-1, [0, 1, 2], [1, -1, -1])], [0, 0, 1], [None, None, 9]),
}


@pytest.mark.parametrize("region", EMPTY.values(), ids=EMPTY)
@pytest.mark.parametrize("oracle", [exact_lp, integer_points])
def test_an_empty_region_is_said_to_be_empty(oracle, region):
    with pytest.raises(EmptyRegionError):
        oracle.intervals(*region)


@pytest.mark.parametrize("bound", [None, 9])
def test_a_region_without_whole_numbers_is_empty_only_for_whole_cells(bound):
    # 2·y0 − 4·y1 = y2, and y2 is 1.
    region = [(0, [0, 1, 2], [2, -4, -1])], [0, 0, 1], [bound, bound, 1]
    assert exact_lp.intervals(*region)[0] == (HALF, bound)
    with pytest.raises(EmptyRegionError):
        integer_points.intervals(*region)


@pytest.mark.parametrize("oracle", [exact_lp, integer_points])
def test_only_whole_numbers_are_taken(oracle):
    with pytest.raises(TypeError):
        oracle.intervals([(1.0, [0], [1])], [0], [1])
    assert outcome(oracle, ([(np.int64(2**62), [0, 1], np.array([1, -1]))], np.array([0, 0]), [None, 2**62])) == [
        (2**62, 2**63),
        (0, 2**62),
    ]


@pytest.mark.parametrize("oracle", [exact_lp, integer_points])
@pytest.mark.parametrize("cell", [-1, 2])
def test_an_equation_on_a_cell_that_is_not_there_is_refused(oracle, cell):
    with pytest.raises(IndexError, match=f"equation 1 names cell {cell}, and there are 2"):
        oracle.intervals([(1, [0], [1]), (1, [cell], [1])], [0, 0], [1, 1])


def test_more_points_than_asked_for_are_refused():
    assert integer_points.points([(2, [0, 1], [1, 1])], [0, 0], [9, 9], 3) == [(0, 2), (1, 1), (2, 0)]
    with pytest.raises(ValueError, match="more than 2 points"):
        integer_points.points([(2, [0, 1], [1, 1])], [0, 0], [9, 9], 2)
    with pytest.raises(ValueError, match="both bounds"):
        integer_points.points([], [0], [None], 2)


# ---- exact LP ----------------------------------------------------------------------------------------------------------------------------------


def vertices(rows, lo, hi):
    """Every point of a bounded region whose cells off their bounds are determined by the rest: among them all vertices."""
    for choice in itertools.product(*({low, high, None} for low, high in zip(lo, hi, strict=True))):
        y = solve(rows, choice)
        if y is not None and all(low <= v <= high for low, v, high in zip(lo, y, hi, strict=True)):
            yield y


def solve(rows, choice):
    """The one y with the chosen values that keeps all equations (Gauss); None when there is none, or more than one."""
    free = [p for p, v in enumerate(choice) if v is None]
    system = []
    for rhs, cells, coefs in rows:
        terms = dict(zip(cells, coefs, strict=True))
        known = sum(c * choice[p] for p, c in terms.items() if choice[p] is not None)
        system.append([Fraction(terms.get(p, 0)) for p in free] + [Fraction(rhs - known)])
    for k in range(len(free)):
        pivot = next((i for i in range(k, len(system)) if system[i][k]), None)
        if pivot is None:
            return None
        system[k], system[pivot] = system[pivot], system[k]
        system[k] = [v / system[k][k] for v in system[k]]
        for i, row in enumerate(system):
            if i != k:
                system[i] = [v - row[k] * w for v, w in zip(row, system[k], strict=True)]
    if any(row[-1] for row in system[len(free) :]):
        return None
    values = iter([row[-1] for row in system])
    return [next(values) if v is None else v for v in choice]


@MANY
@given(regions())
def test_exact_lp_finds_the_ends_of_all_vertices(region):
    assert outcome(exact_lp, region) == ends(vertices(*region))


@pytest.mark.parametrize(
    ("shape", "known"), [((6, 7), 0), ((6, 7), 0.5), ((3, 3, 4), 0), ((3, 3, 4), 0.4), ((2, 2, 2, 2), 0)]
)
def test_exact_lp_agrees_with_highs(shape, known):
    rng = Random(f"{shape} {known}")
    rows, lo, hi = table(shape, rng, 6, known)
    hi = [None if high > low and rng.random() < 0.2 else high for low, high in zip(lo, hi, strict=True)]
    matrix = np.zeros((len(rows), len(lo)))
    for e, (_, cells, coefs) in enumerate(rows):
        matrix[e, cells] = coefs
    chosen = rng.sample(range(len(lo)), 20)
    for p, interval in zip(chosen, exact_lp.intervals(rows, lo, hi, chosen), strict=True):
        for sign, end in zip((1, -1), interval, strict=True):
            objective = np.zeros(len(lo))
            objective[p] = sign
            found = linprog(objective, A_eq=matrix, b_eq=[0] * len(rows), bounds=list(zip(lo, hi, strict=True)))
            assert found.status == (3 if end is None else 0)
            assert end is None or abs(sign * found.fun - end) < 1e-9


# ---- integer points ----------------------------------------------------------------------------------------------------------------------------


@MANY
@given(regions(cells=5))
def test_integer_points_finds_the_ends_of_all_points(region):
    assert outcome(integer_points, region) == ends(integer_points.points(*region, 100_000))


@pytest.mark.parametrize("seed", range(40))
def test_ends_that_narrowing_alone_does_not_find(seed):
    # Tiny regions rarely need the search. These do: few points, and equations that share many cells.
    rng = Random(seed)
    y = [rng.randint(0, 3) for _ in range(9)]
    rows = []
    for _ in range(5):
        cells = rng.sample(range(9), rng.randint(3, 5))
        coefs = [rng.choice((-1, 1)) for _ in cells]
        rows.append((sum(c * y[p] for p, c in zip(cells, coefs, strict=True)), cells, coefs))
    region = rows, [0] * 9, [3] * 9
    assert integer_points.intervals(*region) == ends(integer_points.points(*region, 100_000))


@settings(MANY, max_examples=60)
@given(regions(cells=3, least=1, coefs=(-1, 1, 2), width=1, missing=True))
def test_missing_bounds_change_nothing_but_the_ends_that_move_with_a_box(region):
    rows, lo, hi = region
    box, wider = (
        ends(
            integer_points.points(rows, [-d if x is None else x for x in lo], [d if x is None else x for x in hi], 9999)
        )
        for d in (24, 34)
    )
    still = box and [
        tuple(a if a == b else None for a, b in zip(*two, strict=True)) for two in zip(box, wider, strict=True)
    ]
    assert outcome(integer_points, region) == still


@pytest.mark.parametrize("seed", range(12))
def test_whole_ends_lie_within_real_ones_and_on_them_in_two_dimensions(seed):
    rng = Random(seed)
    shape = ((4, 5), (2, 3, 3), (2, 2, 2, 1))[seed % 3]
    region = table(shape, rng, rng.choice((4, 9)), rng.choice((0, 0.3)))
    for (least, greatest), (low, high) in zip(
        exact_lp.intervals(*region), integer_points.intervals(*region), strict=True
    ):
        assert ceil(least) <= low <= high <= floor(greatest)
        # A two-dimensional table is a network, whose vertices are whole.
        assert len(shape) > 2 or (low, high) == (least, greatest)
