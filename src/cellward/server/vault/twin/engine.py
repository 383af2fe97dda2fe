"""The twin engine: a dataset answered by sums over its twin; true values are read when the twin is built, and by no answer."""

from __future__ import annotations

from collections.abc import Iterator
from contextlib import contextmanager
from dataclasses import dataclass
from typing import Any

import numpy as np

from cellward.errors import InputError
from cellward.files.database import connect_confined
from cellward.server.vault.records import Records
from cellward.server.vault.request import Request
from cellward.server.vault.tabulator import Cells, Tabulator
from cellward.server.vault.twin.build import Twin, build_twin, rules_of
from cellward.server.vault.twin.kept import read_twin, write_twin

STATEMENT = (
    "Values are sums over an adjusted copy of the records: they add up in this table and across all tables, the same respondents always have the "
    "same value, and values of few respondents, or of a dominant one, differ from the true ones."
)


@dataclass(frozen=True, eq=False)
class TwinEngine:
    """Answers requests; ``decimals`` of each measure, the count last."""

    tabulator: Tabulator
    decimals: tuple[int, ...]
    name = "twin"
    statement = STATEMENT

    @staticmethod
    def of(records: Records, key: bytes) -> TwinEngine:
        """The engine of a dataset."""
        twin = twin_of(records, key)
        return TwinEngine(_tabulator(records, twin), twin.decimals)

    @contextmanager
    def answering(self, request: Request) -> Iterator[Cells]:
        """Every cell of the table as it is published."""
        at = len(self.decimals) - 1 if request.measure is None else request.measure
        yield self.tabulator.cells(request, f"v{at}")


def twin_of(records: Records, key: bytes) -> Twin:
    """The twin of a dataset: read, or built and kept, or extended by the records that are new."""
    before = read_twin(records.config.twin, key)
    if before is not None:
        _check(records, before)
    twin = build_twin(records, key, before)
    if before is None or not _same(twin, before):
        write_twin(records.config.twin, twin, key)
    return twin


def _same(one: Twin, other: Twin) -> bool:
    """Whether they are of the same records under the same codes: then they are the same."""
    return one.codes == other.codes and all(
        np.array_equal(np.sort(getattr(one, name)), np.sort(getattr(other, name))) for name in ("low", "high")
    )


def _check(records: Records, before: Twin) -> None:
    """Refuse what would change what was published."""
    names = tuple(measure.name for measure in records.config.measures)
    where = f"{records.config.twin}: the twin of {records.config.name}"
    if before.names[:-1] != names:
        raise InputError(
            f"{where} has the measures {', '.join(before.names[:-1])}; serve these, or name another twin file"
        )
    if before.rules != rules_of(records):
        raise InputError(
            f"{where} was built for other rules, roles, dimensions, depth or headline, and what was published cannot be taken back; restore them, or "
            "serve the records as a new dataset with a twin and a ledger of its own"
        )
    for name, now, then in zip(names, records.decimals, before.decimals, strict=False):
        if now != then:
            raise InputError(
                f"{where} has {then} decimals of {name}, and the records have {now}; say decimals = {then} of it"
            )


def _tabulator(records: Records, twin: Twin) -> Tabulator:
    """The parts of the twin in a database that holds nothing else: their codes, the sums of their records' numbers, and their values."""
    first = np.unique(twin.part, return_index=True)[1]
    columns: dict[str, Any] = {f"d{k}": own[first].astype(np.int32) for k, own in enumerate(records.code)}
    columns |= {f"v{j}": own for j, own in enumerate(twin.value)}
    columns |= {"part": np.arange(twin.parts)}
    connection = connect_confined()
    connection.register("given", columns)
    connection.register("numbers", {"part": twin.part, "lo": twin.low, "hi": twin.high})
    connection.execute(
        "CREATE TABLE parts AS SELECT g.* EXCLUDE (part), n.lo, n.hi FROM given g JOIN (SELECT part, sum(CAST(lo AS HUGEINT)) AS lo, "
        "sum(CAST(hi AS HUGEINT)) AS hi FROM numbers GROUP BY part) n USING (part)"
    )
    for name in ("given", "numbers"):
        connection.unregister(name)
    return Tabulator(connection, "parts", records.dimensions)
