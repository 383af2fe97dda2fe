"""Linking: several tables of one population become one, in which the same cell is one cell."""

from __future__ import annotations

from dataclasses import replace

import numpy as np

from cellward import exact
from cellward.errors import InputError, kind_of
from cellward.exact import LARGEST, NO_BOUND, Ints
from cellward.table.cell_sums import CellSum
from cellward.table.labels import Labels, LinkedTable
from cellward.table.linked_contributions import LinkedContributions, link_contributions
from cellward.table.made_additive import MadeAdditive
from cellward.table.relations import Relations
from cellward.table.sensitivity import CellStatus, Sensitivity
from cellward.table.table import Table

_STRICTNESS = np.array([0, 3, 1, 2], np.uint8)
"""Of two statuses of one cell the stricter counts: safe < secondary < fixed < unsafe (positions follow CellStatus)."""


def link(*tables: Table) -> Table:
    """Join tables that share cells: a dimension that a table lacks stands at its total there.

    The same cell must have the same value everywhere. Its levels are the largest asked, its bounds the tightest, its status the strictest. Who stands
    behind the cells is kept where every table knows it, and must agree in shared cells; findings are put together, and what was moved so that tables
    add up. A release of the whole is taken apart again by :meth:`Release.tables`.

    >>> by_sex = Table.from_frame({"sex": ["F", "M"], "n": [3, 4]}, dims=["sex"], value="n")
    >>> by_age = Table.from_frame({"age": ["old", "young"], "n": [2, 5]}, dims=["age"], value="n")
    >>> link(by_sex, by_age)
    Table(sex × age, 5 cells, 2 equations)
    """
    if not tables:
        raise InputError("link: give at least one table")
    for k, table in enumerate(tables):
        if not isinstance(table, Table):
            raise InputError(f"link: argument {k + 1} is {kind_of(table)}; give tables, link(one, two)")
        if not table.labels.dims:
            raise InputError(
                f"link: table {k + 1} has no named dimensions; build it with from_frame or from_array(dims=...)"
            )
    from cellward.risk.linked_findings import link_findings

    labels, places = _join(tables)
    decimals = max(table.decimals for table in tables)
    if decimals - min(table.decimals for table in tables) > 15:
        raise InputError("link: the tables' decimals differ by more than 15; build them with like decimals")
    factors = [10 ** (decimals - table.decimals) for table in tables]
    value = np.zeros(labels.cells, np.int64)
    seen = np.full(labels.cells, -1, np.int64)
    lower, upper = np.full(labels.cells, -NO_BOUND), np.full(labels.cells, NO_BOUND)
    status = np.zeros(labels.cells, np.uint8)
    levels = {name: np.zeros(labels.cells, np.int64) for name in ("lpl", "upl", "spl")}
    for k, (table, place, factor) in enumerate(zip(tables, places, factors, strict=True)):
        scaled = _finer(table.scaled, factor)
        clash = np.flatnonzero((seen[place] >= 0) & (value[place] != scaled))
        if len(clash):
            i = int(clash[0])
            cell = int(place[i])
            more = "" if len(clash) == 1 else f" (and {len(clash) - 1} more cells)"
            raise InputError(
                f"{labels.name(cell)} has one value in table {int(seen[cell]) + 1} and another in table {k + 1}{more}; correct one of them: "
                "linked tables must agree"
            )
        value[place], seen[place] = scaled, k
        lower[place] = np.maximum(lower[place], exact.finer(table.lower, factor))
        upper[place] = np.minimum(upper[place], exact.finer(table.upper, factor))
        for level in (table.sensitivity.lpl, table.sensitivity.upl, table.sensitivity.spl):
            _finer(level, factor)
        own = table.sensitivity.scaled_by(factor)
        stricter = _STRICTNESS[own.status] > _STRICTNESS[status[place]]
        status[place[stricter]] = own.status[stricter]
        for name, level in levels.items():
            level[place] = np.maximum(level[place], getattr(own, name))
    behind = link_contributions(tables, places, labels, factors)
    weight, weight_decimals = _joint_weight(tables, places, labels.cells)
    linked = Table(
        relations=_stack(tables, places, labels.cells, decimals),
        scaled=value,
        decimals=decimals,
        lower=lower,
        upper=upper,
        labels=labels,
        sensitivity=Sensitivity(
            status, levels["lpl"], levels["upl"], levels["spl"], _sums(tables, places, factors, behind)
        ),
        weight=weight,
        weight_decimals=weight_decimals,
        contributions=None if behind is None else behind.common,
        made_additive=_made_additive(tables, places, factors, labels, decimals),
    )
    return replace(linked, findings=link_findings(linked, tables, places, behind))


assert len(_STRICTNESS) == len(CellStatus)


def _sums(
    tables: tuple[Table, ...], places: list[Ints], factors: list[int], behind: LinkedContributions | None
) -> tuple[CellSum, ...]:
    """Each sum of cells at risk once, with the largest levels asked."""
    out: dict[tuple[int, ...], CellSum] = {}
    for k, (table, place, factor) in enumerate(zip(tables, places, factors, strict=True)):
        numbered = None if behind is None else behind.units[k]
        for own in table.sensitivity.sums:
            one = (own if numbered is None else numbered.of_sum(own)).times(factor).permuted(place)
            key = tuple(one.cell.tolist())
            known = out.setdefault(key, one)
            out[key] = replace(known, lpl=max(known.lpl, one.lpl), upl=max(known.upl, one.upl))
    return tuple(out.values())


def _made_additive(
    tables: tuple[Table, ...], places: list[Ints], factors: list[int], labels: Labels, decimals: int
) -> MadeAdditive | None:
    """What was moved in those that were made additive."""
    made = [
        (table.made_additive, place, factor)
        for table, place, factor in zip(tables, places, factors, strict=True)
        if table.made_additive is not None
    ]
    return MadeAdditive.linked(made, labels, decimals) if made else None


def _finer(scaled: Ints, factor: int) -> Ints:
    if int(np.abs(scaled).max(initial=0)) * factor > LARGEST:
        raise InputError(
            "link: at the finest table's decimals a value exceeds 2^53; build the tables with fewer decimals"
        )
    return scaled * factor


def _join(tables: tuple[Table, ...]) -> tuple[Labels, list[Ints]]:
    """The labels of all distinct cells, and for each table where its cells are among them."""
    totals: dict[str, str] = {}
    codes: dict[str, dict[str, int]] = {}
    for k, table in enumerate(tables):
        for dim, own, total in zip(table.labels.dims, table.labels.codes, table.labels.totals, strict=True):
            if total is None:
                raise InputError(f"link: dimension {dim} of table {k + 1} has no total; name it with total=")
            if totals.setdefault(dim, total) != total:
                raise InputError(
                    f"link: the total of {dim} is {totals[dim]!r} in one table and {total!r} in table {k + 1}; use one code"
                )
            known = codes.setdefault(dim, {total: 0})
            for code in own:
                known.setdefault(code, len(known))
    dims = tuple(totals)
    where: dict[tuple[int, ...], int] = {}
    places = []
    for table in tables:
        columns = []
        for dim in dims:
            if dim in table.labels.dims:
                axis = table.labels.dims.index(dim)
                numbers = np.array([codes[dim][code] for code in table.labels.codes[axis]], np.int64)
                columns.append(numbers[table.labels.index[axis]])
            else:
                columns.append(np.zeros(table.cells, np.int64))
        keys = zip(*(column.tolist() for column in columns), strict=True)
        places.append(np.array([where.setdefault(key, len(where)) for key in keys], np.int64))
    index = np.array(list(where), np.int64).T
    names = tuple(tuple(codes[dim]) for dim in dims)
    linked: list[LinkedTable] = []
    for table, place in zip(tables, places, strict=True):
        several = table.labels.tables or (LinkedTable(table.labels, np.arange(table.cells)),)
        linked += [LinkedTable(one.labels, place[one.cell]) for one in several]
    kept = tuple(linked) if len(linked) > 1 else ()
    joint = Labels(len(where), dims, names, tuple(index), tuple(totals.values()), tables=kept)
    return replace(joint, words=_words(tables, dims)), places


def _words(tables: tuple[Table, ...], dims: tuple[str, ...]) -> tuple[dict[str, str], ...]:
    """What the tables call their codes, the first of them before the others; empty where none says anything."""
    every: dict[str, dict[str, str]] = {dim: {} for dim in dims}
    for table in reversed(tables):
        for dim, words in zip(table.labels.dims, table.labels.words, strict=False):
            every[dim].update(words)
    return tuple(every.values()) if any(every.values()) else ()


def _stack(tables: tuple[Table, ...], places: list[Ints], cells: int, decimals: int) -> Relations:
    rows, members, coefs, rhs = [], [], [], []
    start = 0
    for table, place in zip(tables, places, strict=True):
        r = table.relations
        rows.append(r.row + start)
        members.append(place[r.indices])
        coefs.append(r.coefs)
        rhs.append(r.rhs * 10 ** (decimals - table.decimals))
        start += r.equations
    return Relations.from_entries(cells, start, *(np.concatenate(x) for x in (rows, members, coefs, rhs)))


def _joint_weight(tables: tuple[Table, ...], places: list[Ints], cells: int) -> tuple[Ints | None, int]:
    """Weights, when every table has them; a shared cell takes the largest."""
    if any(table.weight is None for table in tables):
        return None, 0
    decimals = max(table.weight_decimals for table in tables)
    weight = np.zeros(cells, np.int64)
    for table, place in zip(tables, places, strict=True):
        assert table.weight is not None
        weight[place] = np.maximum(weight[place], _finer(table.weight, 10 ** (decimals - table.weight_decimals)))
    return weight, decimals
