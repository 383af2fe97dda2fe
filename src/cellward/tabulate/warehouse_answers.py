"""Warehouse answers: the three fetched tables (leaves, the largest of each, spread units) as leaf states and members.

A database has no first record. Records without a name are numbered by their codes, then by size, largest first: ``record 17`` is the 17th of them in
this order. Of records equal in all that, it makes no difference which is which.
"""

from __future__ import annotations

from collections.abc import Callable, Mapping, Sequence
from dataclasses import dataclass
from typing import Any

import numpy as np
import pyarrow as pa
import pyarrow.compute as pc

from cellward.exact import Ints
from cellward.tabulate.leaf_states import Members, RecordNames
from cellward.tabulate.states import States


@dataclass(frozen=True, eq=False)
class Answers:
    """Numbers of the three tables by column. LeafStates stand in reading order; units are numbered by name, then come the records without one."""

    codes: tuple[tuple[str, ...], ...]
    leaf: Ints
    leaves: Mapping[str, Ints]
    largest: Mapping[str, Ints]
    spread: Mapping[str, Ints]
    names: tuple[str, ...]

    @staticmethod
    def of(leaves: Any, largest: Any, spread: Any, dims: Sequence[str], kept: int) -> Answers | None:
        """From Arrow tables; None where they are not about the same records."""
        tables = (leaves, largest, spread)
        cuts = np.cumsum([len(table) for table in tables])[:2]
        codes, numbers = zip(*(_numbered([table[dim] for table in tables]) for dim in dims), strict=True)
        at = np.zeros(len(numbers[0]), np.int64)
        for texts, number in zip(codes, numbers, strict=True):
            at = np.unique(at * (len(texts) + 1) + number + 1, return_inverse=True)[1].astype(np.int64)
        own, top, several = np.split(at, cuts)
        if len(np.unique(own)) < len(own) or int(at.max()) >= len(own):
            return None
        order = np.argsort(own)
        ordered = {name: column[order] for name, column in _ints(leaves, dims).items()}
        promised = np.minimum(ordered["u"], kept), ordered["m"]
        if any(
            (np.bincount(rows, minlength=len(own)) != many).any()
            for rows, many in zip((top, several), promised, strict=True)
        ):
            return None
        names, unit = _numbered([largest["unit"], spread["unit"]], key=lambda name: (name[:1], len(name), name))
        ranked = _ints(largest, [*dims, "unit"]) | {"leaf": top}
        record = (np.cumsum(ordered["alone"]) - ordered["alone"])[top] + ranked["own"] + 1
        ranked["unit"] = np.where(unit[: len(top)] < 0, len(names) + record, unit[: len(top)])
        members = _ints(spread, [*dims, "unit"]) | {"leaf": several, "unit": unit[len(top) :]}
        leaf = np.stack([number[: len(own)][order] for number in numbers])
        return Answers(codes, leaf, ordered, ranked, members, names)

    def states(self, kept: int, requests: int, *, weighted: bool) -> States:
        """The states of the leaves."""
        column, rows = self.leaves, self.largest
        order = np.lexsort((rows["unit"], -rows["size"], rows["leaf"]))
        leaf = rows["leaf"][order]
        rank = np.arange(len(leaf)) - np.searchsorted(leaf, leaf)
        none = States.empty(self.leaf.shape[1], kept, requests, weighted=weighted)
        none.top[rank, leaf] = rows["size"][order]
        none.unit[rank, leaf] = rows["unit"][order]
        if none.weighted is not None:
            none.weighted[rank, leaf] = rows["heavy"][order]
        for j in range(requests):
            none.requested[j] = column[f"r{j}"]
        return States(
            column["n"], column["u"], column["v"], column["s"], none.top, none.unit, none.weighted, none.requested
        )

    def members(self, requests: int) -> Members:
        """The units that are in several leaves, in order."""
        rows = self.spread
        order = np.lexsort((rows["leaf"], rows["unit"]))
        asked = np.zeros((requests, len(order)), bool)
        for j in range(requests):
            asked[j] = rows[f"q{j}"][order] == 1
        return Members(
            rows["unit"][order], self.leaf[:, rows["leaf"][order]], rows["x"][order], rows["wx"][order], asked
        )

    def called(self, units: Ints) -> Sequence[str]:
        """What these units are called."""
        if not self.names:
            return RecordNames(units)
        named = len(self.names)
        return [self.names[unit][1:] if unit < named else f"record {unit - named}" for unit in units.tolist()]


def _numbered(columns: Sequence[Any], key: Callable[[str], Any] = str) -> tuple[tuple[str, ...], Ints]:
    """The texts of some columns, sorted, and the position of each entry among them, column after column; −1 where nothing stands."""
    whole = pa.chunked_array([chunk for column in columns for chunk in column.cast(pa.string()).chunks], pa.string())
    texts = sorted(pc.drop_null(whole.unique()).to_pylist(), key=key)
    number = pc.fill_null(pc.index_in(whole, value_set=pa.array(texts, pa.string())), -1)
    return tuple(texts), number.to_numpy().astype(np.int64)


def _ints(table: Any, others: Sequence[str]) -> dict[str, Ints]:
    """The columns of numbers."""
    return {
        name: table[name].cast(pa.int64()).to_numpy().astype(np.int64)
        for name in table.column_names
        if name not in others
    }
