"""JSON-stat 2: a printed table as a dataset; withheld values are null with the status c, ranges have a dimension of value, lower and upper."""

from __future__ import annotations

import json
from typing import Any

import numpy as np

from cellward.formats.printed_table import MARK, MEANING, Axis, PrintedTable, flat_places
from cellward.table.labels import unused

PRINTED = ("value", "lower", "upper")


def json_stat(table: PrintedTable) -> bytes:
    """The dataset; numbers are written digit by digit, and not as doubles."""
    axes, numbers, status = observations(table)
    place, size = flat_places(axes)
    said = {
        "version": "2.0",
        "class": "dataset",
        **({"label": table.title} if table.title else {}),
        **({"note": list(table.footnotes)} if table.footnotes else {}),
        "id": [axis.name for axis in axes],
        "size": [len(axis.codes) for axis in axes],
        **({"role": {"metric": [axes[-1].name]}} if table.ranges else {}),
        "dimension": {axis.name: _dimension(axis) for axis in axes},
        **_statuses(place, status),
        "extension": {
            "decimals": table.decimals,
            **({"cellward": dict(table.about)} if table.about else {}),
            **_labels(status),
        },
    }
    head = json.dumps(said, ensure_ascii=False, indent=1)
    return f'{head[:-2]},\n "value": {_values(place, numbers, size)}\n}}\n'.encode()


def observations(table: PrintedTable) -> tuple[list[Axis], list[str], list[str]]:
    """The axes, and for each observation its number (empty: null) and status; of ranges there are three observations a cell."""
    axes = list(table.axes)
    if not table.ranges:
        return axes, table.value, ["" if value else MARK for value in table.value]
    n = table.cells
    thrice = [Axis(axis.name, axis.codes, np.tile(axis.index, 3), axis.words) for axis in axes]
    name = unused("printed", [axis.name for axis in axes], "as")
    which = np.repeat(np.arange(3, dtype=np.int64), n)
    ends = [*table.columns["lower"], *table.columns["upper"]]
    status = ["" if value else "r" for value in table.value] + ["" if end else "o" for end in ends]
    return [*thrice, Axis(name, PRINTED, which, {})], [*table.value, *ends], status


def _dimension(axis: Axis) -> dict[str, Any]:
    labels = {"label": {code: axis.called(code) for code in axis.codes}} if axis.words else {}
    return {"label": axis.name, "category": {"index": list(axis.codes), **labels}}


def _statuses(place: list[int], status: list[str]) -> dict[str, Any]:
    held = {str(k): one for k, one in sorted(zip(place, status, strict=True)) if one}
    return {"status": held} if held else {}


def _labels(status: list[str]) -> dict[str, Any]:
    used = sorted(set(status) - {""})
    return {"status": {"label": {one: MEANING[one] for one in used}}} if used else {}


def _values(place: list[int], numbers: list[str], size: int) -> str:
    """A list where most places are cells, otherwise by place."""
    found = dict(zip(place, numbers, strict=True))
    if size <= 2 * len(found):
        return f"[{', '.join(found.get(k) or 'null' for k in range(size))}]"
    pairs = ", ".join(f'"{k}": {found[k] or "null"}' for k in sorted(found))
    return f"{{{pairs}}}"
