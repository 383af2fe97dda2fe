"""The rounding model as solvers see it: columns, equations in small whole numbers, and rows that cut tables off; split into independent blocks."""

from __future__ import annotations

from collections.abc import Sequence
from dataclasses import dataclass

import numpy as np

from cellward.exact import Ints
from cellward.protect.lattice.capacity import Cut
from cellward.protect.lattice.model import Columns, LatticeModel
from cellward.solve.model import LinearModel
from cellward.table.components import components
from cellward.table.relations import Relations, ranges

WIDEST = 10**9
"""Costs whose spread is wider than this cannot be told apart by HiGHS' tolerances: its word that a table is optimal is then not taken."""


@dataclass(frozen=True, eq=False)
class Row:
    """Σ coef·x[column] ≥ least, a row that every table looked for satisfies."""

    column: Ints
    coef: Ints
    least: int

    @property
    def mark(self) -> bytes:
        """The same for equal rows."""
        return self.column.tobytes() + self.coef.tobytes() + str(self.least).encode()

    def never(self, columns: Columns) -> bool:
        """Whether no x at all satisfies it."""
        return int((np.maximum(self.coef, 0) * columns.top[self.column]).sum()) < self.least


def row_of(model: LatticeModel, cut: Cut) -> Row | None:
    """A cut on values as a row on columns, as strong as whole numbers make it; None where every x satisfies it."""
    columns = model.columns
    start, stop = (np.searchsorted(columns.cell, cut.at, side) for side in ("left", "right"))
    coef = np.repeat(cut.coef * model.r[cut.at], stop - start)
    least = cut.least - int((cut.coef * model.allowed.lo[cut.at]).sum())
    return tightened(columns, ranges(start, stop), coef, least)


def tightened(columns: Columns, column: Ints, coef: Ints, least: int) -> Row | None:
    """Σ coef·x[column] ≥ least, as strong as whole numbers make it; None where every x satisfies it.

    With negative coefficients complemented, Σ δ·x ≥ δ₀ holds for 0–1 columns exactly when it holds with δ := min(δ, δ₀); then everything is divided
    by the greatest common divisor, and δ₀ rounded up.
    """
    keep = coef != 0
    column, coef = column[keep], coef[keep]
    top = columns.top[column]
    down = coef < 0
    size = np.abs(coef)
    least += int((size * top)[down].sum())
    if least <= 0:
        return None
    size = np.where(top == 1, np.minimum(size, least), size)
    if len(size):
        common = int(np.gcd.reduce(size))
        size, least = size // common, -(-least // common)
    coef = np.where(down, -size, size)
    least -= int((size * top)[down].sum())
    return Row(column, coef, least)


def no_good(model: LatticeModel, x: Ints, column: Ints) -> list[Row]:
    """Rows that x alone violates, among tables that fill the columns of each cell in order, and the rows that see to the order."""
    columns = model.columns
    up = x[column] > 0
    coef = np.where(up, -1, 1)
    out = [Row(column, coef, 1 - int(up.sum()))]
    pair = np.flatnonzero(columns.cell[column[1:]] == columns.cell[column[:-1]])
    out += [Row(column[k : k + 2], np.array([1, -1]), 0) for k in pair.tolist()]
    return out


def blocks(model: LatticeModel, rows: Sequence[Row] = ()) -> Ints:
    """For every column the number of its block: columns of different blocks share no equation and no row."""
    relations, columns = model.instance.relations, model.columns
    if not rows:
        return relations.blocks(model.free)[columns.cell]
    keep = model.free[relations.indices]
    cell, node = [relations.indices[keep]], [relations.row[keep] + relations.cells]
    for k, row in enumerate(rows):
        cell.append(columns.cell[row.column])
        node.append(np.full(len(row.column), relations.cells + relations.equations + k))
    many = relations.cells + relations.equations + len(rows)
    return components(many, np.concatenate(cell), np.concatenate(node))[columns.cell]


def unit_of(cost: Ints) -> int:
    """The greatest common divisor of the costs, at least 1."""
    if not len(cost) or int(np.abs(cost).min()) == 1:
        return 1
    return max(int(np.gcd.reduce(cost)), 1)


def tellable(cost: Ints) -> bool:
    """Whether HiGHS' tolerances can tell costs apart: the largest of them, in units of their common divisor, is not too large."""
    return int(np.abs(cost).max(initial=0)) // unit_of(cost) <= WIDEST


def independent(relations: Relations) -> Ints:
    """The equations that are left without the implied ones."""
    keep = np.ones(relations.equations, bool)
    keep[relations.redundant] = False
    return np.flatnonzero(keep)


def leaf_costs(model: LatticeModel) -> Ints:
    """Costs on the leaves alone that differ from those of the columns by a constant over all roundings of a block, if their divisor is larger.

    With one step r everywhere and one column a cell, Σ cost·x = Σ c·(v − lo)/r for any c that agrees with cost on the free cells; and v = N·u + const
    turns that into Σ (Nᵀ·c)·x over the leaves, up to a constant. A margin repeats its leaves, so Nᵀ·c has large divisors where cost has none: with
    all margins of a k-dimensional table and an odd base, at least 2. Bounds then round up further, and branch and bound stops earlier.
    """
    columns, r = model.columns, model.r[model.free]
    form = model.instance.relations.leaf_form
    if len(columns) != len(r) or not model.one_step or int(r.min()) != int(r.max()) or form.condition.shape[0]:
        return columns.cost
    full = model.instance.weight * r[0]
    full[columns.cell] = columns.cost
    if float((np.abs(form.matrix).T @ np.abs(full).astype(float)).max(initial=0.0)) >= 2**62:
        return columns.cost
    out = np.zeros(model.instance.cells, np.int64)
    out[form.leaves] = form.matrix.T @ full
    found = out[columns.cell]
    return found if unit_of(found) > unit_of(columns.cost) and tellable(found) else columns.cost


def linear(
    model: LatticeModel, equations: Ints, part: Ints, costs: Ints, rows: Sequence[Row] = ()
) -> tuple[LinearModel, int, Ints]:
    """The linear model of some columns (a union of blocks) in small whole numbers, the unit of its cost, and the equations of its first rows.

    ``rows`` that hold a column of the part come last.
    """
    relations, columns = model.instance.relations, model.columns
    place = np.full(len(columns), -1, np.int64)
    place[part] = np.arange(len(part))
    first, last = (np.searchsorted(columns.cell, np.arange(relations.cells), side) for side in ("left", "right"))
    pick = ranges(relations.indptr[equations], relations.indptr[equations + 1])
    row = np.repeat(np.arange(len(equations)), relations.indptr[equations + 1] - relations.indptr[equations])
    cell = relations.indices[pick]
    many = last[cell] - first[cell]
    row, coef = np.repeat(row, many), np.repeat(relations.coefs[pick] * model.r[cell], many)
    column = place[ranges(first[cell], last[cell])]
    inside = column >= 0
    row, column, coef = row[inside], column[inside], coef[inside]
    used, new_row = np.unique(row, return_inverse=True)
    common = model.common[equations[used]]
    coef = coef // common[new_row]
    right = (model.rest[equations[used]] // common).astype(float)
    length = np.bincount(new_row, minlength=len(used))
    mine = [each for each in rows if len(each.column) and place[each.column[0]] >= 0]
    cost = costs[part]
    unit = unit_of(cost)
    return (
        LinearModel(
            cost=(cost // unit).astype(float),
            lower=np.zeros(len(part)),
            upper=columns.top[part].astype(float),
            indptr=np.concatenate(([0], np.cumsum([*length, *(len(each.column) for each in mine)]))).astype(np.int64),
            indices=np.concatenate([column, *(place[each.column] for each in mine)]),
            coefs=np.concatenate([coef, *(each.coef for each in mine)]).astype(float),
            row_lower=np.concatenate((right, [float(each.least) for each in mine])),
            row_upper=np.concatenate((right, np.full(len(mine), np.inf))),
            integer=np.ones(len(part), bool),
        ),
        unit,
        equations[used],
    )
