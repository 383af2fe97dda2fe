"""The census benchmark tables: exact sizes, exact additivity, seeded."""

from __future__ import annotations

import dataclasses

import census
import numpy as np
import pytest


@pytest.fixture(scope="module")
def income():
    return census.income_support()


@pytest.fixture(scope="module")
def scottish():
    return census.scottish_census()


def _rows(table):
    """Every equation as (total, parts), slowly and plainly."""
    for start, end in zip(table.indptr[:-1], table.indptr[1:], strict=True):
        assert table.coefs[start] == -1
        assert set(table.coefs[start + 1 : end].tolist()) == {1}
        yield int(table.indices[start]), table.indices[start + 1 : end].tolist()


def test_income_support_has_the_papers_size(income):
    assert (income.cells, income.equations) == (220_040, 75_572)
    assert np.bincount(income.level).tolist() == [10524, 408, 55, 11, 3, 1]
    income.check()


def test_scottish_census_has_the_papers_size(scottish):
    assert (scottish.cells, scottish.equations) == (431_613, 105_960)
    assert np.bincount(scottish.kind).tolist() == [1209 * n for n in (280, 40, 14, 20, 2, 1)]
    scottish.check()


def test_scottish_counts_are_close_to_table_1(scottish):
    paper = np.array([131831, 33241, 19535, 13934, 11406, 9476, 8561, 7412, 6820, 6250, 5466])
    ours = np.bincount(scottish.values)[:11]
    assert np.all(np.abs(ours / paper - 1) < 0.2)


SMALL = [
    (census.income_support, {"geography": (7, 3, 1), "partitions": (2, 3)}, 11 * 6, 11 * 2 + 4 * 6),
    (census.income_support, {"geography": (1,), "partitions": (1,)}, 2, 1),
    (census.income_support, {"geography": (3, 3, 2), "partitions": (4,)}, 8 * 5, 8 + 5 * 5),
    (census.scottish_census, {"wards": 5, "authorities": 2, "ages": 3, "living": 4}, 8 * 44, 8 * 23 + 3 * 24),
    (census.scottish_census, dict.fromkeys(("wards", "authorities", "ages", "sexes", "living"), 1), 3 * 6, 3 * 7 + 2),
]


@pytest.mark.parametrize(("make", "sizes", "cells", "equations"), SMALL)
@pytest.mark.parametrize("seed", range(5))
def test_small_sizes_are_exact_and_additive(make, sizes, cells, equations, seed):
    table = make(**sizes, seed=seed)
    assert (table.cells, table.equations) == (cells, equations)
    table.check()
    rows = list(_rows(table))
    values = table.values.tolist()
    assert all(values[total] == sum(values[part] for part in parts) for total, parts in rows)
    assert all(len({total, *parts}) == 1 + len(parts) for total, parts in rows)
    assert len({(total, *sorted(parts)) for total, parts in rows}) == len(rows)
    for total, parts in rows:
        areas = table.area[parts]
        if np.all(areas == table.area[total]):
            continue
        # A geographic equation has one cell of the same kind in every child, and only there.
        assert areas.tolist() == np.flatnonzero(table.parent == table.area[total]).tolist()
        assert np.all(table.kind[parts] == table.kind[total])


def test_scottish_equations_are_the_margins():
    ages, sexes, living = 3, 2, 4
    table = census.scottish_census(wards=4, authorities=2, ages=ages, sexes=sexes, living=living, seed=3)
    block = table.values.reshape(7, -1)
    inner = block[:, : ages * sexes * living].reshape(7, ages, sexes, living)
    margins = [inner.sum(3), inner.sum(1), inner.sum((2, 3)), inner.sum((1, 3)), inner.sum((1, 2, 3))]
    assert np.array_equal(np.hstack([m.reshape(7, -1) for m in margins]), block[:, ages * sexes * living :])
    counts = {}
    for total, parts in _rows(table):
        key = (table.kinds[table.kind[total]], table.kinds[table.kind[parts[0]]])
        counts[key] = counts.get(key, 0) + 1
    every = "age × sex × living"
    assert counts == {
        ("age × sex", every): 7 * 6,
        ("sex × living", every): 7 * 8,
        ("age", "age × sex"): 7 * 3,
        ("sex", "age × sex"): 7 * 2,
        ("sex", "sex × living"): 7 * 2,
        ("total", "age"): 7,
        ("total", "sex"): 7,
        (every, every): 3 * 24,
    }


def test_every_parent_has_a_child_one_level_below_and_families_are_uneven(income):
    child = np.flatnonzero(income.parent >= 0)
    assert np.all(income.level[income.parent[child]] == income.level[child] + 1)
    children = np.bincount(income.parent[child], minlength=len(income.parent))[10524:]
    assert children.min() >= 1
    assert len(set(children[:408].tolist())) > 10


@pytest.mark.parametrize(
    ("make", "sizes"),
    [(census.income_support, {"geography": (40, 5, 1)}), (census.scottish_census, {"wards": 20, "authorities": 3})],
)
def test_same_seed_same_table_other_seed_other_table(make, sizes):
    first, again, other = make(**sizes, seed=1), make(**sizes, seed=1), make(**sizes, seed=2)
    for field in dataclasses.fields(first):
        assert np.array_equal(getattr(first, field.name), getattr(again, field.name))
    assert not np.array_equal(first.values, other.values)


def test_arrays_are_int64(income, scottish):
    for table in (income, scottish):
        for field in dataclasses.fields(table):
            if field.name != "kinds":
                assert getattr(table, field.name).dtype == np.int64


def test_check_refuses_a_table_that_does_not_add_up():
    table = census.income_support(geography=(4, 1), partitions=(2,))
    table.values[0] += 1
    with pytest.raises(AssertionError, match="every equation holds"):
        table.check()


@pytest.mark.parametrize(
    "call",
    [
        lambda: census.income_support(geography=(3, 4, 1)),
        lambda: census.income_support(geography=()),
        lambda: census.income_support(geography=(3, 0)),
        lambda: census.income_support(partitions=()),
        lambda: census.income_support(partitions=(2, 0)),
        lambda: census.scottish_census(wards=3, authorities=4),
        lambda: census.scottish_census(ages=0),
    ],
)
def test_impossible_sizes_are_refused(call):
    with pytest.raises(ValueError, match=r"≥ 1"):
        call()
