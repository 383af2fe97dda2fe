"""Tabulator: a request added up in the database, values and identities in one pass, and its margins."""

from __future__ import annotations

from dataclasses import dataclass
from threading import Lock
from typing import TYPE_CHECKING, Any

import numpy as np

from cellward.exact import Ints
from cellward.server.vault.dimension import Dimension
from cellward.server.vault.numbers import MODULUS, joined
from cellward.server.vault.request import Request

if TYPE_CHECKING:
    import duckdb


@dataclass(frozen=True, eq=False)
class Cells:
    """The cells of a request in the order of its shape, margins last: ``value`` scaled, and ``identity``, 0 for a cell without records; ``note``:
    what the engine wants kept beside them for itself."""

    value: Ints
    identity: list[int]
    note: str = ""


class Tabulator:
    """Adds up a table ``name`` with columns d0, d1, … (bottom codes), lo and hi, by the levels of these dimensions."""

    def __init__(self, connection: duckdb.DuckDBPyConnection, name: str, dimensions: tuple[Dimension, ...]) -> None:
        self._connection, self._name, self._dimensions = connection, name, dimensions
        self._lock = Lock()
        self._made: set[str] = set()

    def cells(self, request: Request, value: str) -> Cells:
        """Every cell of the table, where ``value`` is the column that is added up."""
        groups = self._groups(request, value)
        shape = request.shape
        values = np.zeros(shape, np.int64)
        identities = np.full(shape, 0, object)
        grouped = [k for k, one in enumerate(request.crossings) if one.level]
        place = [{code: at for at, code in enumerate(one.groups.tolist())} for one in request.crossings]
        for *own, value_of, low, high in groups:
            at = [0] * len(shape)
            for k, group in zip(grouped, own, strict=True):
                at[k] = place[k][group]
            values[tuple(at)] = value_of
            identities[tuple(at)] = joined(low, high)
        for k in grouped:  # the total of each dimension is its last entry, empty until now
            last = tuple(-1 if j == k else slice(None) for j in range(len(shape)))
            values[last] = values.sum(axis=k)
            identities[last] = identities.sum(axis=k) % MODULUS
        return Cells(values.ravel(), identities.ravel().tolist())

    def _groups(self, request: Request, value: str) -> list[Any]:
        """One row a combination of groups that has records: groups, value, and the sums of both halves of the numbers."""
        picks, joins, tests = [], [], []
        for one in request.crossings:
            if one.level:
                picks.append(f"g{one.at}.own")
                joins.append(f"JOIN {self._map(one.at, one.level)} g{one.at} ON p.d{one.at} = g{one.at}.code")
        for dim, below in request.where.items():
            tests.append(f"p.d{dim} IN ({', '.join(map(str, np.flatnonzero(below).tolist()))})")
        sums = f"CAST(sum({value}) AS BIGINT), sum(CAST(lo AS HUGEINT)), sum(CAST(hi AS HUGEINT))"
        by = f" GROUP BY {', '.join(picks)}" if picks else " HAVING count(*) > 0"
        where = f" WHERE {' AND '.join(tests)}" if tests else ""
        sql = f"SELECT {', '.join([*picks, sums])} FROM {self._name} p {' '.join(joins)}{where}{by}"
        return self._connection.cursor().execute(sql).fetchall()

    def _map(self, dim: int, level: int) -> str:
        """The table that says which code of a level each bottom code belongs to."""
        name = f"map_{dim}_{level}"
        with self._lock:
            if name not in self._made:
                above = self._dimensions[dim].above(level)
                code = np.flatnonzero(self._dimensions[dim].bottom)
                cursor = self._connection.cursor()
                cursor.execute(f"CREATE TABLE {name} (code INTEGER, own INTEGER)")
                pairs = ", ".join(f"({c}, {above[c]})" for c in code.tolist())
                cursor.execute(f"INSERT INTO {name} VALUES {pairs}")
                self._made.add(name)
        return name
