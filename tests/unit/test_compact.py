"""Compact form: every move of the table and only those, cells that move alike once, multipliers of forces that do no work."""

import numpy as np
import pytest
from scipy.sparse import csr_matrix

import cellward as cw
from cellward.table.relations import Relations


def dense(relations):
    return csr_matrix(
        (relations.coefs, relations.indices, relations.indptr), (relations.equations, relations.cells)
    ).toarray()


def tables():
    rng = np.random.default_rng(7)
    yield cw.Table.from_array(rng.integers(0, 50, (3, 4))).relations
    yield cw.Table.from_array(rng.integers(0, 50, (3, 2, 4))).relations
    yield cw.Table.from_array(rng.integers(0, 50, (2, 1, 3, 2))).relations
    # a total with two overlapping partitions, one of them of two parts that are sums again
    yield Relations.from_rows(
        9,
        [
            (0, [0, 1, 2, 8], [1, 1, 1, -1]),
            (0, [3, 4, 8], [1, 1, -1]),
            (0, [5, 6, 3], [1, 1, -1]),
            (0, [0, 1, 7], [1, 1, -1]),
        ],
    )
    yield Relations.from_rows(4, [(0, [0, 1], [1, -1]), (0, [1, 2], [2, -3]), (0, [0, 2, 3], [1, 1, -1])])


@pytest.mark.parametrize("relations", list(tables()))
def test_the_form_holds_all_moves_and_nothing_else(relations):
    form, m = relations.compact, dense(relations)
    free = relations.cells - np.linalg.matrix_rank(m)
    matrix, condition = form.matrix.toarray(), form.condition.toarray()
    kernel = np.eye(matrix.shape[1])
    if len(condition):
        _, size, v = np.linalg.svd(condition)
        kernel = v[np.sum(size > 1e-9) :].T
    moves = np.column_stack([form.cells(matrix @ u) for u in kernel.T])
    assert np.abs(m @ moves).max() < 1e-9
    assert np.linalg.matrix_rank(moves) == free


def test_cells_that_move_alike_are_one_class():
    relations = Relations.from_rows(4, [(0, [0, 1], [1, -1]), (0, [1, 2, 3], [1, 1, -1])])
    form = relations.compact
    assert form.of[0] == form.of[1] and form.classes == 3
    opposite = Relations.from_rows(3, [(0, [0, 1], [1, 1])]).compact
    assert opposite.of[0] == opposite.of[1] and opposite.sign[0] == -opposite.sign[1]


def test_cells_that_cannot_move_have_no_class():
    form = Relations.from_rows(3, [(0, [0], [1]), (0, [0, 1, 2], [1, 1, -1])]).compact
    assert form.of[0] == -1 and form.of[1] == form.of[2]
    assert form.cells(np.array([2.0])).tolist() == [0.0, 2.0, 2.0]


def test_right_hand_sides_move_cells_by_a_constant():
    relations = Relations.from_rows(3, [(5, [0, 1, 2], [1, 1, -1])])
    form = relations.compact
    z = form.cells(form.matrix @ np.arange(form.matrix.shape[1]) + form.constant)
    assert not relations.residual(np.rint(z).astype(np.int64)).any()


@pytest.mark.parametrize("relations", list(tables()))
def test_multipliers_of_a_force_without_work(relations):
    m = dense(relations)
    force = m.T @ np.random.default_rng(1).normal(size=relations.equations)
    y = relations.compact.multipliers(force)
    assert np.abs(m.T @ y - force).max() < 1e-9
