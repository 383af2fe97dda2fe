"""The sparse Cholesky against numpy, on patterns of all kinds."""

from __future__ import annotations

import numpy as np
import pytest
from scipy.sparse import csr_matrix, eye_array, random_array

from cellward.solve import newton
from cellward.solve.cholesky import Cholesky
from cellward.solve.fronts import find_fronts
from cellward.solve.newton import Newton


def lower(h):
    """Positions and values of the lower triangle's entries, row by row."""
    size = len(h)
    i, j = np.nonzero(np.tril(h != 0) | np.eye(size, dtype=bool))
    return i * size + j, h[i, j]


def expected(h, r, right, given):
    k = len(r)
    whole = np.block([[h, r.T], [r, np.zeros((k, k))]])
    return np.linalg.solve(whole, np.concatenate((right, given)))[: len(h)]


def spread(rng, size, density):
    part = random_array((size, size), density=density, rng=rng).toarray()
    return part @ part.T + np.eye(size)


def patterns():
    rng = np.random.default_rng(7)
    yield "one", np.array([[3.0]])
    yield "two", np.array([[3.0, 1.0], [1.0, 2.0]])
    yield "diagonal", np.diag(rng.uniform(1, 2, 40))
    yield "dense", spread(rng, 60, 0.9)
    yield "band", np.diag(np.full(90, 2.1)) - np.diag(np.ones(89), 1) - np.diag(np.ones(89), -1)
    arrow = np.diag(np.full(70, 80.0))
    arrow[0, :] = arrow[:, 0] = 1.0
    arrow[0, 0] = 80.0
    yield "arrow", arrow
    blocks = np.zeros((150, 150))
    for k in range(5):
        blocks[30 * k : 30 * k + 30, 30 * k : 30 * k + 30] = spread(rng, 30, 0.1)
    mixed = rng.permutation(150)
    yield "disconnected", blocks[np.ix_(mixed, mixed)]
    for density in (0.002, 0.01, 0.03):
        yield f"random {density}", spread(rng, 200, density)


@pytest.fixture(params=["as measured", "fronts kept apart", "picked one by one", "runs only"])
def model(request, monkeypatch):
    """Small matrices go through one front unless fronts cost nothing; updates go by runs or one by one."""
    if request.param != "as measured":
        monkeypatch.setattr("cellward.solve.fronts.OVERHEAD", 0.0)
        monkeypatch.setattr("cellward.solve.fronts.MOVED", 0.0)
    if request.param == "picked one by one":
        monkeypatch.setattr("cellward.solve.cholesky.PICKED_S", 0.0)
    if request.param == "runs only":
        monkeypatch.setattr("cellward.solve.cholesky.PAIR_S", 0.0)
        monkeypatch.setattr("cellward.solve.cholesky.PICKED_S", 1.0)


@pytest.mark.parametrize(("name", "h"), list(patterns()), ids=lambda value: value if isinstance(value, str) else "")
@pytest.mark.parametrize("conditions", [0, 1, 7])
def test_solves_for_many_values_on_one_pattern(name, h, conditions, model):
    size = len(h)
    rng = np.random.default_rng(size + conditions)
    k = min(conditions, size)
    r = np.zeros((k, size))
    if k:
        r[:, :k] = np.eye(k)
        r += random_array((k, size), density=0.1, rng=rng).toarray()
    at, _ = lower(h)
    found = Cholesky.plan(at, csr_matrix(r), np.inf)
    assert found is not None
    for _ in range(4):
        scale = 10 ** rng.uniform(-2, 2, size)
        scaled = h * scale[:, None] * scale
        assert found.factorise(scaled[at // size, at % size])
        right, given = rng.normal(size=size), rng.normal(size=k)
        u = found.solve(right, given)
        want = expected(scaled, r, right, given)
        np.testing.assert_allclose(u, want, rtol=1e-6, atol=1e-8 * np.abs(want).max())
        assert np.abs(r @ u - given).max(initial=0.0) <= 1e-6 * max(1.0, np.abs(u).max())


def test_fronts_hold_every_unknown_once_and_children_come_first():
    h = spread(np.random.default_rng(3), 200, 0.01)
    i, j = np.nonzero(np.tril(h))
    none = np.zeros(0, np.int64)
    fronts = find_fronts(i, j, 200, none, none, 0, np.inf)
    assert fronts is not None
    np.testing.assert_array_equal(np.sort(np.concatenate([f.pivots for f in fronts])), np.arange(200))
    for k, front in enumerate(fronts):
        assert (front.parent > k) if len(front.border) else (front.parent == -1)


def test_nothing_to_solve():
    found = Cholesky.plan(np.zeros(0, np.int64), csr_matrix((0, 0)), np.inf)
    assert found is not None
    assert found.factorise(np.zeros(0))
    assert len(found.solve(np.zeros(0), np.zeros(0))) == 0


def test_too_much_work_is_refused():
    h = spread(np.random.default_rng(5), 120, 0.5)
    assert Cholesky.plan(lower(h)[0], csr_matrix((0, 120)), 1e4) is None


@pytest.mark.parametrize("conditions", [0, 3])
def test_what_is_not_positive_definite_is_told(conditions, model):
    h = spread(np.random.default_rng(11), 100, 0.01)
    at, values = lower(h)
    r = np.eye(100)[:conditions]
    found = Cholesky.plan(at, csr_matrix(r), np.inf)
    assert found is not None
    assert found.factorise(values)
    for wrong in (-1.0, 0.0, np.nan):
        broken = values.copy()
        broken[np.flatnonzero(at == 57 * 101)] = wrong
        assert not found.factorise(broken)
    assert found.factorise(values)
    right = np.ones(100)
    np.testing.assert_allclose(
        found.solve(right, np.zeros(conditions)), expected(h, r, right, np.zeros(conditions)), rtol=1e-8, atol=1e-12
    )


def test_conditions_that_depend_on_each_other_are_told():
    h = np.eye(16)
    found = Cholesky.plan(lower(h)[0], csr_matrix(np.ones((2, 16))), np.inf)
    assert found is not None
    assert not found.factorise(lower(h)[1])


@pytest.mark.parametrize("conditions", [0, 5])
def test_newton_takes_the_sparse_way_only_where_it_is_less_work_and_both_agree(conditions, monkeypatch):
    rng = np.random.default_rng(2)
    size = 400
    links = csr_matrix(np.kron(np.eye(40), np.ones((1, 10))))
    matrix = csr_matrix(np.vstack((eye_array(size).toarray(), links.toarray())))
    condition = csr_matrix(random_array((conditions, size), density=0.1, rng=rng))
    d, right, given = 10 ** rng.uniform(-3, 3, 440), rng.normal(size=size), rng.normal(size=conditions)
    edge, corner = rng.normal(size=(440, 2)), np.eye(2) * 1e5
    answers = []
    for sparse in (True, False):
        monkeypatch.setattr(newton, "SMALL", 150 if sparse else size)
        way = Newton(matrix, condition)
        assert isinstance(way.system, newton._Sparse) == sparse
        for _ in range(2):
            assert way.factorise(d, edge, corner)
            answers.append(np.concatenate(way.solve(right, np.ones(2), given)))
    for other in answers[1:]:
        np.testing.assert_allclose(other, answers[0], rtol=1e-7, atol=1e-9)
    assert len(way.system.pairs.at) * newton.MARKED < size * size  # keys were sorted; in the next one they are marked
    full = Newton(csr_matrix(rng.normal(size=(250, 200))), csr_matrix((0, 200)))
    assert isinstance(full.system, newton._Dense)


def test_newton_with_nothing_to_solve():
    empty = Newton(csr_matrix((3, 0)), csr_matrix((0, 0)))
    assert empty.factorise(np.ones(3), np.zeros((3, 0)), np.zeros((0, 0)))
    assert len(empty.solve(np.zeros(0), np.zeros(0), np.zeros(0))[0]) == 0
