"""Linear models written as dense arrays, for the tests of the solvers."""

import numpy as np

from cellward.solve.model import LinearModel


def model_of(matrix, cost, lower, upper, row_lower, row_upper, integer=None):
    """The least cost·x with lower ≤ x ≤ upper and row_lower ≤ matrix·x ≤ row_upper; ``integer``: which x are whole, True for all."""
    matrix = np.asarray(matrix, float).reshape(len(row_lower), len(cost))
    rows, columns = np.nonzero(matrix)
    counts = np.bincount(rows, minlength=len(row_lower))
    return LinearModel(
        cost=np.asarray(cost, float),
        lower=np.asarray(lower, float),
        upper=np.asarray(upper, float),
        indptr=np.concatenate([[0], np.cumsum(counts)]).astype(np.int64),
        indices=columns.astype(np.int64),
        coefs=matrix[rows, columns],
        row_lower=np.asarray(row_lower, float),
        row_upper=np.asarray(row_upper, float),
        integer=None if integer is None else np.array(np.broadcast_to(integer, len(cost)), bool),
    )
