"""Relations: making them from rows, matrices and margins, exact residuals at any size, and who is whose total."""

from __future__ import annotations

import dataclasses
import random

import numpy as np
import pytest
import scipy.sparse as sp

from cellward import InputError
from cellward.exact import LARGEST
from cellward.table.array import margins
from cellward.table.components import components
from cellward.table.relations import Relations, distinct, ranges


def rows_of(r: Relations) -> list[tuple[int, dict[int, int]]]:
    """Every equation as (right-hand side, cell → coefficient)."""
    out = []
    for j in range(r.equations):
        rhs, cells, coefs = r.equation(j)
        assert len(set(cells)) == len(cells)
        assert 0 not in coefs
        out.append((rhs, dict(zip(cells, coefs, strict=True))))
    return out


def plain_residual(r: Relations, a: list[int]) -> list[int]:
    return [sum(c * a[i] for i, c in terms.items()) - rhs for rhs, terms in rows_of(r)]


# Cells 0 to 8 of a 2 × 2 table with margins:   0 1 | 2
#                                               3 4 | 5
#                                               6 7 | 8
TWO_BY_TWO = margins((2, 2))


# ---- making ----------------------------------------------------------------------------------------------------------------------------------


def test_margins_state_every_line_with_its_total_last():
    assert rows_of(TWO_BY_TWO) == [
        (0, {0: 1, 3: 1, 6: -1}),
        (0, {1: 1, 4: 1, 7: -1}),
        (0, {2: 1, 5: 1, 8: -1}),
        (0, {0: 1, 1: 1, 2: -1}),
        (0, {3: 1, 4: 1, 5: -1}),
        (0, {6: 1, 7: 1, 8: -1}),
    ]


@pytest.mark.parametrize("shape", [(3,), (1, 4), (2, 3, 2), (2, 2, 2, 2)])
def test_margins_hold_for_every_array_with_its_sums(shape):
    full = np.random.default_rng(0).integers(-9, 9, shape)
    for axis in range(len(shape)):
        full = np.concatenate((full, full.sum(axis=axis, keepdims=True)), axis=axis)
    r = margins(shape)
    assert r.cells == full.size
    assert r.equations == sum(full.size // (size + 1) for size in shape)
    assert not r.residual(full.ravel()).any()


def test_from_rows_adds_up_repeated_cells_and_drops_zeros():
    r = Relations.from_rows(4, [(5, [2, 0, 2], [1, 3, 1]), (0, [1, 1], [1, -1]), (-1, [], [])])
    assert rows_of(r) == [(5, {0: 3, 2: 2}), (0, {}), (-1, {})]
    assert (r.cells, r.equations) == (4, 3)


def test_no_equations_at_all():
    r = Relations.from_rows(3, [])
    assert (r.equations, r.residual(np.array([1, 2, 3])).tolist()) == (0, [])
    assert r.blocks().tolist() == [0, 1, 2]
    assert r.leaf_form.leaves.tolist() == [0, 1, 2]
    assert r.network is not None


DENSE = np.array([[1, 1, -1, 0], [0, 0, 0, 0], [0, -2, 0, 3]])


def as_coo_with_duplicates() -> sp.coo_matrix:
    """The same matrix with entries in pieces, some of which cancel."""
    row = [0, 0, 0, 0, 2, 2, 2, 1, 1]
    col = [2, 0, 1, 0, 1, 3, 1, 3, 3]
    val = [-1, 3, 1, -2, -1, 3, -1, 5, -5]
    return sp.coo_matrix((val, (row, col)), shape=DENSE.shape)


@pytest.mark.parametrize(
    "matrix",
    [
        DENSE,
        DENSE.tolist(),
        DENSE.astype(np.int8),
        DENSE.astype(float),
        np.asfortranarray(DENSE),
        sp.csr_matrix(DENSE),
        sp.csc_matrix(DENSE.astype(float)),
        sp.coo_array(DENSE),
        sp.lil_matrix(DENSE),
        as_coo_with_duplicates(),
        as_coo_with_duplicates().astype(float),
    ],
    ids=[
        "array",
        "list",
        "int8",
        "float",
        "fortran",
        "csr",
        "csc",
        "coo_array",
        "lil",
        "duplicates",
        "float duplicates",
    ],
)
def test_from_matrix_reads_dense_and_sparse_alike(matrix):
    r = Relations.from_matrix(matrix, np.array([1, 2, 3]))
    assert rows_of(r) == [(1, {0: 1, 1: 1, 2: -1}), (2, {}), (3, {1: -2, 3: 3})]
    assert r.cells == 4
    assert [x.dtype for x in (r.indptr, r.indices, r.coefs, r.rhs)] == [np.int64] * 4
    assert Relations.from_matrix(matrix).rhs.tolist() == [0, 0, 0]


@pytest.mark.parametrize("make", [sp.csr_matrix, sp.csc_matrix], ids=["csr", "csc"])
def test_from_matrix_adds_up_duplicates_in_compressed_matrices(make):
    data, indices, indptr = [1, 2, -1, 4], [0, 0, 1, 1], [0, 4, 4]
    shape = (2, 2)
    matrix = make((data, indices, indptr), shape=shape)
    r = Relations.from_matrix(matrix)
    assert [{i: c for i, c in enumerate(row) if c} for row in matrix.toarray().tolist()] == [t for _, t in rows_of(r)]


def test_from_matrix_takes_truth_values_as_ones():
    assert rows_of(Relations.from_matrix(np.array([[True, False, True]]))) == [(0, {0: 1, 2: 1})]


def test_from_matrix_without_rows_or_columns():
    assert Relations.from_matrix(np.zeros((0, 5))).cells == 5
    assert Relations.from_matrix(np.zeros((2, 0))).equations == 2


# ---- bad input -------------------------------------------------------------------------------------------------------------------------------


@pytest.mark.parametrize("cell", [3, -1])
def test_a_cell_that_does_not_exist_is_named(cell):
    with pytest.raises(InputError, match=rf"^equation 1: cell {cell} does not exist; the table has cells 0 to 2$"):
        Relations.from_rows(3, [(0, [0, 1], [1, -1]), (0, [0, cell], [1, -1])])


def test_cells_and_coefficients_must_be_as_many():
    with pytest.raises(InputError, match=r"^equation 0: 2 cells but 3 coefficients; give one coefficient a cell$"):
        Relations.from_rows(3, [(0, [0, 1], [1, 1, -1])])


@pytest.mark.parametrize(
    "row",
    [(0, [0, 1], [1.5, -1]), (0.5, [0, 1], [1, -1]), (0, [0.5, 1], [1, -1]), (0, [0, 1], [2**70, -1])],
    ids=["coefficient", "right-hand side", "cell", "too large"],
)
def test_rows_of_anything_but_whole_numbers_are_refused(row):
    with pytest.raises(InputError, match=r"^equation 1: .*whole number"):
        Relations.from_rows(2, [(0, [0], [1]), row])


@pytest.mark.parametrize("value", [0.5, -1.25, 2.0**32, -(2.0**63), 1e300, np.nan, np.inf, -np.inf])
@pytest.mark.parametrize("make", [np.array, sp.csr_matrix, sp.coo_array], ids=["array", "csr", "coo"])
def test_a_coefficient_that_is_no_small_whole_number_is_named(make, value):
    with pytest.raises(
        InputError, match=r"^matrix: coefficient .* of cell 2 in equation 1 is not a whole number below"
    ):
        Relations.from_matrix(make([[1.0, 1.0, -1.0], [0.0, 1.0, value]]))


@pytest.mark.parametrize("value", [2**32, -(2**32), 2**62, -(2**63)])
def test_integer_coefficients_have_the_same_limit(value):
    with pytest.raises(InputError, match=rf"^matrix: coefficient {value} of cell 0 in equation 0"):
        Relations.from_matrix(np.array([[value, 1]]))


@pytest.mark.parametrize(
    ("matrix", "sentence"),
    [
        (np.array([1, 1, -1]), "matrix: 1 dimensions; give a 2-D array"),
        (np.zeros((2, 2, 2)), "matrix: 3 dimensions; give a 2-D array"),
        (5, "matrix: 0 dimensions; give a 2-D array"),
        (sp.coo_array(np.array([1, 1, -1])), "matrix: 1 dimensions; give a 2-D array"),
        ([[1, 1], [1]], "matrix: the rows differ in length"),
        (np.array([["1", "x"]]), "matrix: entries of type <U1; give whole numbers"),
        (np.array([[1j, 1]]), "matrix: entries of type complex128; give whole numbers"),
        (np.array([[None, 1]]), "matrix: entries of type object; give whole numbers"),
    ],
    ids=["1-D", "3-D", "number", "1-D sparse", "ragged", "text", "complex", "object"],
)
def test_matrices_of_a_wrong_shape_or_type_are_refused(matrix, sentence):
    with pytest.raises(InputError) as caught:
        Relations.from_matrix(matrix)
    assert str(caught.value).startswith(sentence)


def test_right_hand_sides_must_be_one_an_equation():
    with pytest.raises(InputError, match="rhs"):
        Relations.from_matrix(DENSE, np.array([1, 2]))


def test_check_refuses_right_hand_sides_beyond_two_to_the_53():
    Relations.from_matrix([[1], [1]], np.array([LARGEST, -LARGEST])).check()
    with pytest.raises(InputError, match=r"^equation 1: the right-hand side is beyond 2\^53"):
        Relations.from_matrix([[1], [1]], np.array([0, -LARGEST - 1])).check()


def test_relations_are_frozen():
    with pytest.raises(dataclasses.FrozenInstanceError):
        TWO_BY_TWO.cells = 5


# ---- residuals -------------------------------------------------------------------------------------------------------------------------------


def test_residual_of_small_numbers():
    r = Relations.from_rows(3, [(0, [0, 1, 2], [1, 1, -1]), (10, [0], [2]), (4, [], [])])
    assert r.residual(np.array([1, 2, 5])).tolist() == [-2, -8, -4]


@pytest.mark.parametrize("coef", [1, 3, 2**20, 2**31])
@pytest.mark.parametrize("terms", [2, 100, 5000])
def test_residuals_of_huge_numbers_are_exact_or_saturated(coef, terms):
    """In int64, 5000 terms of 2^31 · 2^53 would wrap round many times; the sum of Python integers is the judge."""
    rng = random.Random(terms * coef)
    values = [LARGEST - rng.randint(0, 5) for _ in range(terms)]
    alternating = [coef if k % 2 else -coef for k in range(terms)]
    rows = [
        (7, list(range(terms)), [coef] * terms),
        (-7, list(range(terms)), [-coef] * terms),
        (0, list(range(terms)), alternating),  # huge terms, small sum: must come out exactly
        (LARGEST, [0, terms - 1], [1, 1]),
        (0, [], []),
    ]
    r = Relations.from_rows(terms, rows)
    expected = [max(-(2**62), min(2**62, x)) for x in plain_residual(r, values)]
    assert r.residual(np.array(values, np.int64)).tolist() == expected


def test_a_residual_never_wraps_to_zero():
    r = Relations.from_rows(2**12, [(0, list(range(2**12)), [1] * 2**12)])
    assert r.residual(np.full(2**12, 2**52)).tolist() == [2**62]  # 2^64 in truth, 0 in int64


@pytest.mark.parametrize("seed", range(20))
def test_residuals_of_random_systems(seed):
    rng = random.Random(seed)
    n, size, most = rng.randint(1, 12), rng.choice([10, 2**31]), rng.choice([100, LARGEST])
    rows = []
    for _ in range(rng.randint(0, 10)):
        cells = rng.sample(range(n), rng.randint(0, n))
        rows.append((rng.randint(-most, most), cells, [rng.randint(-size, size) for _ in cells]))
    r = Relations.from_rows(n, rows)
    a = [rng.randint(-most, most) for _ in range(n)]
    assert r.residual(np.array(a, np.int64)).tolist() == [max(-(2**62), min(2**62, x)) for x in plain_residual(r, a)]


# ---- who is whose total ------------------------------------------------------------------------------------------------------------------------


@pytest.mark.parametrize(
    ("cells", "coefs", "total"),
    [
        ([0, 1, 2], [1, 1, -1], 2),
        ([0, 1, 2], [-1, -1, 1], 2),
        ([2, 1, 0], [-1, 1, 1], 2),
        ([0, 1], [1, -1], 1),
        ([0, 1], [-1, 1], 0),
        ([0, 1, 2], [1, 1, 1], -1),  # no sign of its own
        ([0, 1, 2, 3], [1, 1, -1, -1], -1),
        ([0, 1, 2], [1, 1, -2], -1),  # twice the total is not the total
        ([0, 1, 2], [2, 3, -1], 2),
        ([0, 1], [1, -2], 0),
        ([0, 1], [2, -3], -1),
        ([0], [1], -1),
        ([], [], -1),
    ],
)
def test_the_total_of_an_equation(cells, coefs, total):
    assert Relations.from_rows(4, [(0, cells, coefs)]).total.tolist() == [total]


def test_parents_and_children():
    assert [TWO_BY_TWO.parents(i) for i in range(9)] == [[2, 6], [2, 7], [8], [5, 6], [5, 7], [8], [8], [8], []]
    assert sorted(TWO_BY_TWO.children(8)) == [[2, 5], [6, 7]]
    assert TWO_BY_TWO.children(2) == [[0, 1]]
    assert TWO_BY_TWO.children(0) == []
    lone = Relations.from_rows(3, [(5, [0, 1], [1, 1])])
    assert (lone.parents(0), lone.children(0), lone.parents(2)) == ([], [], [])


def test_by_cell_lists_each_cells_entries():
    ptr, entry = TWO_BY_TWO.by_cell
    for i in range(9):
        mine = entry[ptr[i] : ptr[i + 1]]
        assert (TWO_BY_TWO.indices[mine] == i).all()
        assert sorted(TWO_BY_TWO.row[mine].tolist()) == [j for j, (_, t) in enumerate(rows_of(TWO_BY_TWO)) if i in t]


# ---- blocks ------------------------------------------------------------------------------------------------------------------------------------


def test_blocks_are_named_after_their_smallest_cell():
    r = Relations.from_rows(7, [(0, [1, 4], [1, -1]), (0, [4, 6], [1, -1]), (0, [5, 2], [1, -1]), (0, [], [])])
    assert r.blocks().tolist() == [0, 1, 2, 3, 1, 2, 1]
    assert TWO_BY_TWO.blocks().tolist() == [0] * 9


def test_cells_that_are_not_free_join_nothing():
    r = Relations.from_rows(5, [(0, [0, 1, 2], [1, 1, -1]), (0, [2, 3, 4], [1, 1, -1])])
    free = np.array([True, True, False, True, True])
    assert r.blocks(free).tolist() == [0, 0, 2, 3, 3]
    assert r.blocks(np.zeros(5, bool)).tolist() == [0, 1, 2, 3, 4]


@pytest.mark.parametrize("seed", range(20))
def test_components_agree_with_a_plain_search(seed):
    rng = random.Random(seed)
    n = rng.randint(1, 60)
    edges = [(rng.randrange(n), rng.randrange(n)) for _ in range(rng.randint(0, n))]
    smallest = list(range(n))
    for _ in range(n):
        for u, v in edges:
            smallest[u] = smallest[v] = min(smallest[u], smallest[v])
    u, v = (np.array([edge[k] for edge in edges], np.int64) for k in (0, 1))
    assert components(n, u, v).tolist() == smallest


def test_components_of_a_long_path_and_of_nothing():
    path = np.random.default_rng(0).permutation(5000)
    assert not components(5000, path[:-1], path[1:]).any()
    assert components(0, np.zeros(0, np.int64), np.zeros(0, np.int64)).tolist() == []


# ---- changing ----------------------------------------------------------------------------------------------------------------------------------


def test_take_keeps_the_equations_asked_for_in_that_order():
    r = Relations.from_rows(4, [(1, [0, 1], [1, 2]), (2, [], []), (3, [3], [5]), (4, [1, 2, 3], [1, 1, -1])])
    rows = rows_of(r)
    assert rows_of(r.take(np.array([3, 1, 0]))) == [rows[3], rows[1], rows[0]]
    assert rows_of(r.take(np.array([2, 2]))) == [rows[2], rows[2]]
    none = r.take(np.zeros(0, np.int64))
    assert (none.cells, none.equations) == (4, 0)


@pytest.mark.parametrize("seed", range(5))
def test_permuted_renumbers_the_cells(seed):
    rng = np.random.default_rng(seed)
    r, a = margins((2, 3)), rng.integers(-9, 9, 12)
    order = rng.permutation(12)
    turned = r.permuted(order)
    assert turned.residual(a[order]).tolist() == r.residual(a).tolist()
    place = {int(cell): k for k, cell in enumerate(order)}
    assert rows_of(turned) == [(rhs, {place[i]: c for i, c in terms.items()}) for rhs, terms in rows_of(r)]
    assert rows_of(turned.permuted(np.argsort(order))) == rows_of(r)


def test_ranges_and_distinct():
    start, stop = np.array([3, 5, 0, 9]), np.array([5, 5, 2, 12])
    assert ranges(start, stop).tolist() == [3, 4, 0, 1, 9, 10, 11]
    assert ranges(start[:0], stop[:0]).tolist() == []
    for size in (8, 10_000):  # by marking, by sorting
        assert distinct(np.array([5, 1, 5, 7]), size).tolist() == [1, 5, 7]
