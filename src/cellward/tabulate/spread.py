"""Spread units: those in several leaves are summed in every cell before they are ranked there; the others need not be looked at again."""

from __future__ import annotations

from collections.abc import Iterator

import duckdb
import numpy as np
from numpy.typing import NDArray

from cellward.errors import InputError
from cellward.table.lattice import Lattice
from cellward.tabulate.leaf_states import Members, packing
from cellward.tabulate.states import NOBODY, States

Ints = NDArray[np.int64]
_AT_ONCE = 10_000_000
"""About so many (cell, unit) pairs are grouped at a time, which bounds the memory."""


def spread_states(
    lattice: Lattice, members: Members, kept: int, *, weighted: bool, threads: int | None
) -> tuple[Ints, States]:
    """The keys of all cells that spread units contribute to, and the states of these units there."""
    requests = len(members.requested)
    nothing = np.zeros(0, np.int64), States.empty(0, kept, requests, weighted=weighted)
    if not len(members.unit):
        return nothing
    if float(np.abs(members.weighted).astype(float).sum()) >= 2**62:
        raise InputError(
            "the totals would be beyond 2^53, where doubles stop being exact; choose a larger unit or fewer decimals"
        )
    with duckdb.connect(config={} if threads is None else {"threads": threads}) as work:
        parts = []
        for term in lattice.terms:
            depth = 1.0
            for dim in range(len(lattice.axes)):
                child, parent = lattice.above(term, dim)
                depth *= len(child) / max(len(lattice.axes[dim].bottom), 1)
                work.register(f"above{dim}", {"code": child, "part": parent * lattice.stride[dim]})
            key, states = nothing
            for chunk in _chunks(members.unit, max(int(_AT_ONCE / depth), 1)):
                fresh_key, fresh = _grouped(work, lattice, members, chunk, kept, weighted=weighted)
                key, states = states.then(fresh).merged(np.concatenate((key, fresh_key)))
            parts.append((key, states))
    key, every = parts[0]
    for more_key, more in parts[1:]:
        key, every = np.concatenate((key, more_key)), every.then(more)
    distinct, first = np.unique(key, return_index=True)  # a cell of two tables is the same in both
    return distinct, every.take(first)


def _chunks(unit: Ints, most: int) -> Iterator[slice]:
    """Runs of rows that do not cut a unit in two; ``unit`` is sorted."""
    start = 0
    while start < len(unit):
        stop = min(start + most, len(unit))
        stop = int(np.searchsorted(unit, unit[stop - 1], side="right"))
        yield slice(start, stop)
        start = stop


def _grouped(
    work: duckdb.DuckDBPyConnection, lattice: Lattice, members: Members, rows: slice, kept: int, *, weighted: bool
) -> tuple[Ints, States]:
    dims, requests = range(len(lattice.axes)), range(len(members.requested))
    columns = {"unit": members.unit[rows], "x": members.amount[rows], "wx": members.weighted[rows]}
    columns |= {f"i{dim}": members.leaf[dim, rows] for dim in dims}
    columns |= {f"q{j}": members.requested[j, rows].astype(np.int64) for j in requests}
    work.register("member", columns)
    first = int(columns["unit"][0])
    most = int(np.abs(columns["x"]).astype(float).sum()) + 1
    kind, bits = packing(most, int(columns["unit"][-1]) - first + 1)
    mask = (1 << bits) - 1
    packed = f"CAST(abs(x) AS {kind}) * {mask + 1} + ({mask + first} - unit)"
    gave = "".join(f", max(q{j}) AS q{j}" for j in requests)
    asked = "".join(f", coalesce(max(abs(x)) FILTER (q{j} = 1), 0) AS r{j}" for j in requests)
    heavy = f", arg_max(abs(wx), {packed}, {kept}) AS heavy" if weighted else ""
    picks = [f"CAST(coalesce(top[{r + 1}] >> {bits}, -1) AS BIGINT) AS t{r}" for r in range(kept)]
    picks += [
        f"CAST(coalesce({mask + first} - (top[{r + 1}] & {mask}), {NOBODY}) AS BIGINT) AS w{r}" for r in range(kept)
    ]
    picks += [f"coalesce(heavy[{r + 1}], 0) AS h{r}" for r in range(kept)] if weighted else []
    picks += [f"r{j}" for j in requests]
    found = work.execute(
        f"WITH pair AS (SELECT {' + '.join(f'above{d}.part' for d in dims)} AS key, unit, "
        f"CAST(sum(x) AS BIGINT) AS x, CAST(sum(wx) AS BIGINT) AS wx{gave} "
        f"FROM member {' '.join(f'JOIN above{d} ON i{d} = above{d}.code' for d in dims)} GROUP BY 1, 2), "
        f"cell AS (SELECT key, count(*) AS u, CAST(sum(abs(wx)) AS BIGINT) AS s, max({packed}, {kept}) AS top{heavy}{asked} FROM pair GROUP BY key) "
        f"SELECT key, u, s, {', '.join(picks)} FROM cell ORDER BY key"
    ).fetchnumpy()
    column = {name: np.asarray(array, np.int64) for name, array in found.items()}
    groups = len(column["key"])
    zero = np.zeros(groups, np.int64)

    def stacked(letter: str, many: int) -> Ints:
        return np.stack([column[f"{letter}{r}"] for r in range(many)]) if many else np.zeros((0, groups), np.int64)

    return column["key"], States(
        zero, column["u"], zero, column["s"], stacked("t", kept), stacked("w", kept),
        stacked("h", kept) if weighted else None, stacked("r", len(requests)),
    )  # fmt: skip
