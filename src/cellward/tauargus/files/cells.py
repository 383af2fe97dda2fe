"""Cells of a ``.tab`` file once they are a table: their order, and totals that are empty or safe."""

from __future__ import annotations

from dataclasses import replace

import numpy as np

from cellward.exact import Ints
from cellward.table.sensitivity import CellStatus
from cellward.table.table import Table


def in_code_order(table: Table) -> Table:
    """The same table, its cells in the order of the codes: the total first, the last dimension fastest."""
    order = np.lexsort(tuple(reversed(table.labels.index))).astype(np.int64)
    labels, made = table.labels.permuted(order), table.made_additive
    return replace(
        table,
        relations=table.relations.permuted(order),
        scaled=table.scaled[order],
        lower=table.lower[order],
        upper=table.upper[order],
        labels=labels,
        made_additive=None if made is None else made.permuted(order, labels),
        sensitivity=table.sensitivity.permuted(order),
        weight=None if table.weight is None else table.weight[order],
    )


def with_empty_totals(table: Table, row: Ints) -> Table:
    """The same table, totals of 0 that have no row being empty cells, which stay as they are."""
    s = table.sensitivity
    status = np.where((row < 0) & (table.scaled == 0), CellStatus.FIXED, s.status).astype(np.uint8)
    return table.with_sensitivity(replace(s, status=status))


def with_safe_totals(table: Table) -> Table:
    """The same table, nothing at risk among the cells that are totals; empty ones stay as they are."""
    s, total = table.sensitivity, np.zeros(table.cells, np.bool_)
    total[table.relations.total[table.relations.total >= 0]] = True
    total &= ~s.fixed | (table.scaled != 0)
    status, lpl, upl = s.status.copy(), s.lpl.copy(), s.upl.copy()
    status[total], lpl[total], upl[total] = 0, 0, 0
    return table.with_sensitivity(replace(s, status=status, lpl=lpl, upl=upl))
