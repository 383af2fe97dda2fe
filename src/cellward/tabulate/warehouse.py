"""Warehouse: records that stay in the user's database; ibis expressions add them up there, and only leaf states are fetched.

Nothing here imports ibis by itself: who hands over an ibis table has done so.
"""

from __future__ import annotations

import sys
from dataclasses import dataclass
from typing import Any

from cellward.errors import InputError
from cellward.table.code_words import label_columns, words_of
from cellward.table.table import Table
from cellward.tabulate.roles import Roles
from cellward.tabulate.source import Source


def is_ibis(rows: Any) -> bool:
    """Whether these rows are an ibis table expression."""
    ibis = sys.modules.get("ibis")
    return ibis is not None and isinstance(rows, ibis.Table)


def build_from_ibis(expression: Any, roles: Roles, threads: int | None = None) -> Table:
    """The table :meth:`Table.from_microdata` makes of the same records, added up by the expression's own backend; ``threads`` are ours."""
    from cellward.tabulate.build import build_from_leaves
    from cellward.tabulate.warehouse_leaves import code_text, read_leaves

    warehouse = Warehouse.of(expression)
    for name in roles.wanted:
        warehouse.source.column(name)

    def places(dim: str, code: str | None) -> str:
        text = code_text(warehouse, roles, dim)
        test = text.isnull() if code is None else text == code
        many = warehouse.one(many=expression.count(where=test))["many"]
        return f"{warehouse.source.name}, column {dim} ({many:,} record{'' if many == 1 else 's'})"

    if columns := label_columns(roles.labels):
        raise InputError(
            f"labels: records of {warehouse.source.name} stay there, and {next(iter(columns.values()))!r} is one of their columns; give the labels "
            "as a mapping from codes"
        )
    table = build_from_leaves(read_leaves(warehouse, roles), roles, places, threads)
    return table.called(words_of(roles.hierarchies, roles.labels, {}))


@dataclass(frozen=True, eq=False)
class Warehouse:
    """``rows`` is an ibis table; ``source`` has its name and columns, for sentences about them."""

    rows: Any
    source: Source

    @staticmethod
    def of(expression: Any) -> Warehouse:
        """The warehouse that an expression reads."""
        types = tuple(str(kind) for kind in expression.schema().values())
        names = tuple(expression.columns)
        source = Source(run=expression.sql, relation="", names=names, types=types, name="the warehouse table")
        return Warehouse(expression, source)

    def fetch(self, expression: Any) -> Any:
        """What an expression finds, as an Arrow table."""
        from ibis.common.exceptions import IbisError

        try:
            return expression.to_pyarrow()
        except IbisError as error:
            raise InputError(
                f"{self.source.name}: its ibis backend cannot add the records up ({str(error).strip().split(chr(10))[0]}); fetch them with "
                ".to_pyarrow() and give these"
            ) from None

    def one(self, **aggregates: Any) -> dict[str, Any]:
        """Some aggregates over all rows."""
        row: dict[str, Any] = self.fetch(self.rows.aggregate(**aggregates)).to_pylist()[0]
        return row

    def without_nan(self, column: Any) -> Any:
        """A column of floating numbers, null where it holds what is no number."""
        return column.isnan().ifelse(None, column) if self.can("IsNan") else column

    def can(self, operation: str) -> bool:
        """Whether the backend knows an operation of ibis."""
        import ibis.expr.operations as operations

        return bool(self.rows.get_backend().has_operation(getattr(operations, operation)))
