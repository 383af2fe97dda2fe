"""Building a table from bare cells and any integer system of equations."""

from __future__ import annotations

from collections.abc import Mapping, Sequence
from typing import Any

import numpy as np

from cellward.errors import InputError
from cellward.exact import Ints, Numbers
from cellward.table.assemble import assemble, read_column
from cellward.table.labels import Labels
from cellward.table.levels import marked
from cellward.table.made_additive import Additive
from cellward.table.relations import Relations
from cellward.table.sensitivity import CellStatus
from cellward.table.table import Table


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
    additive: Additive | None,
) -> Table:
    """See :meth:`Table.from_equations`."""
    numbers = read_column(values, lambda i: f"value of cell {i}", "values")
    n = len(numbers.places)
    relations = matrix if isinstance(matrix, Relations) else Relations.from_matrix(matrix)
    if relations.cells != n:
        raise InputError(f"matrix: {relations.cells} columns for {n} values; give one column a cell")
    right = None if rhs is None else read_column(rhs, lambda j: f"right-hand side of equation {j}", "rhs")
    cost = None if weight is None else read_column(weight, lambda i: f"weight of cell {i}", "weight")
    if cost is not None and len(cost.places) != n:
        raise InputError(f"weight: {len(cost.places)} weights for {n} cells; give one a cell")
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
        weight=cost,
        additive=additive,
    )


def cell_numbers(cells: Sequence[int] | Ints | None, n: int, name: str) -> Ints:
    """Validated cell numbers."""
    index = np.asarray([] if cells is None else cells)
    if index.ndim != 1 or (len(index) and index.dtype.kind not in "iu"):
        raise InputError(f"{name}: give a list of cell numbers from 0 to {n - 1}")
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
    return Numbers.read(marked(column) if name != "spl" else column, lambda i: f"{name} of cell {i}")
