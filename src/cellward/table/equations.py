"""Building a table from bare cells and any integer system of equations."""

from __future__ import annotations

from collections.abc import Mapping, Sequence
from typing import Any

import numpy as np
from numpy.typing import NDArray

from cellward.errors import InputError
from cellward.exact import Numbers
from cellward.risk.sensitivity import CellStatus
from cellward.table.assemble import assemble, read_optional
from cellward.table.labels import Labels
from cellward.table.relations import Relations
from cellward.table.table import Table

Ints = NDArray[np.int64]


def build_from_equations(
    values: Any,
    matrix: Any,
    rhs: Any,
    sensitive: Sequence[int] | Ints | None,
    levels: Mapping[str, Any],
    lower: Any,
    upper: Any,
    weight: Any,
    fixed: Sequence[int] | Ints | None,
    decimals: int | None,
) -> Table:
    """See :meth:`Table.from_equations`."""
    column = values if isinstance(values, np.ndarray) else list(values)
    numbers = Numbers.read(column, lambda i: f"value of cell {i}")
    n = len(numbers.places)
    relations = matrix if isinstance(matrix, Relations) else Relations.from_matrix(matrix)
    if relations.cells != n:
        raise InputError(f"matrix: {relations.cells} columns for {n} values; give one column a cell")
    right = read_optional(rhs, lambda j: f"right-hand side of equation {j}", relations.equations, "rhs")
    status = np.zeros(n, np.uint8)
    index = cell_numbers(sensitive, n, "sensitive")
    status[index] = CellStatus.UNSAFE
    status[cell_numbers(fixed, n, "fixed")] = CellStatus.FIXED
    if int((status[index] == CellStatus.FIXED).sum()):
        raise InputError(
            f"cell {int(index[status[index] == CellStatus.FIXED][0])} is both sensitive and fixed; choose one"
        )
    return assemble(
        numbers=numbers,
        relations=relations,
        labels=Labels(n),
        rhs=right,
        decimals=decimals,
        lower=lower,
        upper=upper,
        status=status,
        levels={name: _spread(level, index, n, name) for name, level in levels.items()},
        weight=read_optional(weight, lambda i: f"weight of cell {i}", n, "weight"),
    )


def cell_numbers(cells: Sequence[int] | Ints | None, n: int, name: str) -> Ints:
    """Validated cell numbers."""
    index = np.asarray([] if cells is None else cells)
    if len(index) and index.dtype.kind not in "iu":
        raise InputError(f"{name}: give cell numbers from 0 to {n - 1}, not {index.dtype}")
    index = index.astype(np.int64)
    bad = index[(index < 0) | (index >= n)]
    if len(bad):
        raise InputError(f"{name}: cell {int(bad[0])} does not exist; the table has cells 0 to {n - 1}")
    if len(np.unique(index)) < len(index):
        raise InputError(f"{name}: a cell is named twice; name each cell once")
    return index


def _spread(level: Any, index: Ints, n: int, name: str) -> Numbers | None:
    """Levels aligned with the sensitive cells as a column over all cells."""
    if level is None:
        return None
    given = list(level) if np.ndim(level) else [level] * len(index)
    if len(given) != len(index):
        raise InputError(
            f"{name}: {len(given)} levels for {len(index)} sensitive cells; give one a cell, in the same order"
        )
    column: list[object] = [0] * n
    for i, value in zip(index.tolist(), given, strict=True):
        column[i] = value
    return Numbers.read(column, lambda i: f"{name} of cell {i}")
