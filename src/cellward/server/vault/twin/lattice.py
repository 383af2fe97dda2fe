"""Cells of the lattice: every cell that crosses few dimensions, every combination of bottom codes, what is asked of each and what lies below."""

from __future__ import annotations

from dataclasses import dataclass
from itertools import combinations
from typing import Any

import numpy as np
from scipy import sparse

from cellward.exact import Bools, Ints
from cellward.hierarchy import Hierarchy
from cellward.risk.rule import Rule
from cellward.server.vault.dimension import Dimension
from cellward.server.vault.records import Records
from cellward.table.table import Table


@dataclass(frozen=True, eq=False)
class Needs:
    """Cells as sums of atoms (cells × atoms), their true values, how many records each has, and how far up or down each must go (0: it need not)."""

    sums: Any
    value: Ints
    rows: Ints
    up: Ints
    down: Ints
    code: Ints
    """The code of each cell in every dimension; −1 throughout for sums of cells that a rule names."""


def needs_of(
    records: Records,
    database: Any,
    measure: int | None,
    atoms: Ints,
    atom: Ints,
    rules: tuple[Rule, ...],
    chosen: Bools,
) -> Needs:
    """The cells over the ``chosen`` records, of which ``atom`` is the number, and ``atoms`` the codes of all numbers (a row a dimension)."""
    config, dims = records.config, records.dimensions
    depth = min(config.depth, len(dims))
    names = [f"d{k}" for k in range(len(dims))]
    formula = " + ".join(" * ".join(term) for term in combinations(names, depth))
    _with_atoms(database, np.flatnonzero(chosen), atom[chosen])
    hierarchies = {f"d{k}": _hierarchy(own) for k, own in enumerate(dims)}
    total = dict.fromkeys(names, "0")
    table = _table(records, database, measure, formula, rules, hierarchies=hierarchies, total=total)
    single = _table(records, database, measure, "atom", rules)
    first = _of_lattice(table, atoms, np.unique(atom[chosen]))
    return _together(first, _of_atoms(single, atoms), atoms.shape[1])


def table_of_sets(
    records: Records, database: Any, measure: int | None, rules: tuple[Rule, ...], record: Ints, number: Ints
) -> tuple[Table, Ints]:
    """Sets of records, given as pairs of record and number (all numbers from 0 on), as cells of a table judged by rules; and the cell of each."""
    _with_atoms(database, record, number)
    table = _table(records, database, measure, "atom", rules)
    cell, own = _numbered(table)
    place = np.zeros(len(cell), np.int64)
    place[own] = cell
    return table, place


def _with_atoms(database: Any, record: Ints, atom: Ints) -> None:
    """A table ``chosen`` of these records, each with its atom."""
    database.register("given", {"rn": record, "atom": atom})
    database.execute("CREATE OR REPLACE TABLE chosen AS SELECT r.*, g.atom FROM records r JOIN given g USING (rn)")
    database.unregister("given")


def _hierarchy(dimension: Dimension) -> Hierarchy:
    """The sums of a dimension between the numbers of its codes."""
    below: dict[int, list[str]] = {}
    for code, parent in enumerate(dimension.parent.tolist()):
        if parent >= 0:
            below.setdefault(parent, []).append(str(code))
    return Hierarchy(tuple((str(parent), tuple(children)) for parent, children in below.items()))


def _table(
    records: Records, database: Any, measure: int | None, dims: str, rules: tuple[Rule, ...], **more: Any
) -> Table:
    """The chosen records as a table of these dimensions, with what the rules ask."""
    amount = ""
    decimals = 0
    if measure is not None:
        decimals = records.decimals[measure]
        unit = (
            f"CAST('{format(10**-decimals, f'.{decimals}f')}' AS DECIMAL({decimals + 1}, {decimals}))"
            if decimals
            else "1"
        )
        amount = f", CAST(x{measure} AS DECIMAL(19, 0)) * {unit} AS amount"
    codes = ", ".join(f"d{k}" for k in range(len(records.dimensions)))
    weight = "" if measure is None or records.weight is None else ", weight"
    table = Table.from_microdata(
        database,
        query=f"SELECT {codes}, atom, unit{amount}{weight} FROM chosen",
        dims=dims,
        measure=None if measure is None else "amount",
        weight="weight" if weight else None,
        contributor="unit",
        decimals=decimals,
        **more,
    )
    return table.find(*rules)


@dataclass(frozen=True, eq=False)
class _Part:
    """Some cells: which atoms lie below (cell, atom), and the columns of :class:`Needs`."""

    cell: Ints
    atom: Ints
    value: Ints
    rows: Ints
    up: Ints
    down: Ints
    code: Ints


def _of_lattice(table: Table, atoms: Ints, present: Ints) -> _Part:
    """The cells of a table of dimensions, and the sums of cells that its rules name."""
    parts: Any = table.contributions.parts if table.contributions is not None else None
    lattice = parts.lattice
    place = [np.argsort([int(code) for code in axis.codes]) for axis in lattice.axes]
    owner, cell = parts.cells_above(np.stack([at[own] for at, own in zip(place, atoms[:, present], strict=True)]))
    up, down = sides(table)
    numbers = [np.array([int(code) for code in axis.codes]) for axis in lattice.axes]
    code = np.stack([own[at] for own, at in zip(numbers, lattice.codes(parts.key), strict=True)])
    rows: Any = table.contributions
    more_cell, more_atom, more_up, more_down = [cell], [present[owner]], [up], [down]
    sums = table.sensitivity.sums
    value, many = [table.scaled], [rows.rows]
    for k, one in enumerate(sums):
        own = np.unique(present[owner[np.isin(cell, one.cell)]])
        more_cell.append(np.full(len(own), table.cells + k))
        more_atom.append(own)
        more_up.append(np.array([max(one.upl, 1)]))
        more_down.append(np.array([max(one.lpl, 1)]))
        value.append(np.array([int(table.scaled[one.cell].sum())]))
        many.append(np.array([int(rows.rows[one.cell].sum())]))
    code = np.concatenate((code, np.full((len(code), len(sums)), -1)), axis=1)
    return _Part(
        np.concatenate(more_cell), np.concatenate(more_atom), np.concatenate(value), np.concatenate(many), np.concatenate(more_up),
        np.concatenate(more_down), code,
    )  # fmt: skip


def _of_atoms(table: Table, atoms: Ints) -> _Part:
    """The atoms themselves, of a table of one dimension that they are the codes of."""
    rows: Any = table.contributions
    keep, atom = _numbered(table)
    up, down = sides(table)
    return _Part(
        np.arange(len(keep)), atom, table.scaled[keep], rows.rows[keep], up[keep], down[keep], atoms[:, atom]
    )  # fmt: skip


def _numbered(table: Table) -> tuple[Ints, Ints]:
    """The cells of a table of one dimension of numbers that are no totals, and the number of each."""
    names, code = table.labels.codes[0], table.labels.index[0]
    number = np.array([-1 if name == "Total" else int(name) for name in names])[code]
    keep = np.flatnonzero(number >= 0)
    return keep, number[keep]


def _together(first: _Part, second: _Part, atoms: int) -> Needs:
    """All cells of both."""
    n = len(first.value)
    cell, atom = np.concatenate((first.cell, second.cell + n)), np.concatenate((first.atom, second.atom))
    sums = sparse.csr_array((np.ones(len(cell), np.int64), (cell, atom)), shape=(n + len(second.value), atoms))
    value, rows, up, down = (
        np.concatenate((getattr(first, name), getattr(second, name))) for name in ("value", "rows", "up", "down")
    )
    return Needs(sums, value, rows, up, down, np.concatenate((first.code, second.code), axis=1))


def sides(table: Table) -> tuple[Ints, Ints]:
    """How far each cell must go up or down, 0 where it is not at risk; a width asks for as much to either side.

    Down to 0 at most, however much is asked: that a cell has records is not public here, since empty cells are published too.
    """
    up, down = np.zeros((2, table.cells), np.int64)
    levels = table.sensitivity.levels
    up[levels.cell] = np.maximum(np.maximum(levels.upl, levels.spl), 1)
    down[levels.cell] = np.maximum(np.minimum(up[levels.cell], table.scaled[levels.cell]), np.maximum(levels.lpl, 1))
    return up, down
