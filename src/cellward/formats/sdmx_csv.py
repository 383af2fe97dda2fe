"""SDMX-CSV 2.0: a printed table as observations with OBS_STATUS and CONF_STATUS, and the ends of ranges as attributes.

Of a withheld value it is said that it is confidential (OBS_STATUS Q, CONF_STATUS C) and not why: whether it is at risk itself or withheld for the
sake of others is not published.
"""

from __future__ import annotations

import csv
import io
import re
from collections.abc import Iterable

from cellward.formats.formulas import refuse_formulas
from cellward.formats.printed_table import PrintedTable
from cellward.table.labels import unused

STRUCTURE = "CELLWARD:RELEASE(1.0)"
FIXED = ("STRUCTURE", "STRUCTURE_ID", "STRUCTURE_NAME", "ACTION", "SERIES_KEY", "OBS_KEY", "DATAFLOW")
MEASURES = {
    "OBS_VALUE": "Value", "OBS_STATUS": "Observation status", "CONF_STATUS": "Confidentiality status", "LOWER": "Lower end", "UPPER": "Upper end",
    "DECIMALS": "Decimals", "COMMENT_DSET": "Notes",
}  # fmt: skip
NORMAL, SUPPRESSED = "A", "Q"
FREE, CONFIDENTIAL = "F", "C"


def sdmx_csv(table: PrintedTable) -> bytes:
    """The observations; with the labels of codes, or a title, every component has a column of names beside it."""
    dims = identifiers(axis.name for axis in table.axes)
    columns: dict[str, list[str]] = {
        dim: [axis.codes[k] for k in axis.index.tolist()] for dim, axis in zip(dims, table.axes, strict=True)
    }
    words = {
        dim: [axis.called(axis.codes[k]) for k in axis.index.tolist()]
        for dim, axis in zip(dims, table.axes, strict=True)
    }
    columns |= _observed(table)
    for axis in table.axes:
        refuse_formulas(axis.name, (axis.name, *axis.codes, *axis.words.values()))
    refuse_formulas("title and footnotes", (table.title, *table.footnotes))
    named = bool(table.title) or any(axis.words for axis in table.axes)
    n = table.cells
    first = {"STRUCTURE": ["dataflow"] * n, "STRUCTURE_ID": [STRUCTURE] * n}
    if named:
        first["STRUCTURE_NAME"] = [table.title] * n
    first["ACTION"] = ["I"] * n
    heads, rows = [*first], [*first.values()]
    called = dict(zip(dims, (axis.name for axis in table.axes), strict=True)) | MEASURES
    for name, column in columns.items():
        heads.append(name)
        rows.append(column)
        if named:
            heads.append(unused(called[name].replace(": ", " "), [*heads, *columns], "name of"))
            rows.append(words.get(name, [""] * n))
    return _csv(heads, rows)


def _observed(table: PrintedTable) -> dict[str, list[str]]:
    """Value, statuses and ends."""
    told = [bool(value) for value in table.value]
    out = {
        "OBS_VALUE": table.value,
        "OBS_STATUS": [NORMAL if one else SUPPRESSED for one in told],
        "CONF_STATUS": [FREE if one else CONFIDENTIAL for one in told],
    }
    if table.ranges:
        out |= {"LOWER": list(table.columns["lower"]), "UPPER": list(table.columns["upper"])}
    out["DECIMALS"] = [str(table.decimals)] * table.cells
    if table.footnotes:
        out["COMMENT_DSET"] = [" ".join(table.footnotes)] * table.cells
    return out


def identifiers(names: Iterable[str]) -> list[str]:
    """Names of dimensions as SDMX takes them: a letter, then letters, digits, _ and -; different ones, and none that means something else.

    >>> identifiers(["region", "size class", "OBS_VALUE", "2nd"])
    ['region', 'size_class', 'DIM_OBS_VALUE', 'DIM_2nd']
    """
    taken: list[str] = []
    for name in names:
        plain = re.sub(r"[^A-Za-z0-9_-]+", "_", name)
        if not re.match(r"[A-Za-z]", plain) or plain in FIXED or plain in MEASURES:
            plain = f"DIM_{plain.lstrip('_')}"
        while plain in taken:
            plain += "_"
        taken.append(plain)
    return taken


def _csv(heads: list[str], columns: list[list[str]]) -> bytes:
    out = io.StringIO()
    writer = csv.writer(out, lineterminator="\n")
    writer.writerow(heads)
    writer.writerows(zip(*columns, strict=True))
    return out.getvalue().encode()
