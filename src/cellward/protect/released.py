"""Released: a release read back from its files, or another tool's rounding, to be audited against the table it was made of."""

from __future__ import annotations

import json
from collections.abc import Mapping
from pathlib import Path
from typing import Any

import numpy as np

from cellward import exact
from cellward.errors import InputError
from cellward.exact import NO_BOUND
from cellward.files.text import check_input, decode_file
from cellward.formats.csv_file import read_rows
from cellward.protect.methods import METHODS, method_titled
from cellward.protect.pattern_file import read_pattern
from cellward.protect.rounding import ControlledRounding
from cellward.protect.suppression import CellSuppression
from cellward.publication.ranges import Ranges
from cellward.publication.release import Release, printed_name
from cellward.publication.withheld import Withheld
from cellward.table.table import Table

COLUMNS = {"values": ("value",), "withheld": ("value",), "ranges": ("lower", "upper")}
"""What each kind of publication prints."""


def read_release(
    path: str | Path, table: Table, *, told: Mapping[str, Any] | None = None, pattern: str | None = None
) -> Release:
    """A release of this table: a folder that cellward wrote, a CSV of labels and printed values, or another tool's file of statuses or crosses.

    The method's parameters are read from ``release.json`` beside the CSV; what is ``told`` here (base, steps, knowledge of a rounding) replaces them,
    or stands in for them. ``pattern``: the column that says which cells are withheld; without it, one that is known by its name.
    """
    path = Path(path)
    file = check_input(path / "release.csv" if path.is_dir() else path, "a release")
    stated, kind, digest = _statement(file.with_suffix(".json"), table)
    given = {name: entry for name, entry in (told or {}).items() if entry is not None}
    if pattern is not None or (not stated and not given):
        if pattern is None and (ranges := _ranges(file, table)) is not None:
            return _of_others(table, ranges, "interval publication")
        hidden = read_pattern(file, table, pattern)
        if hidden is not None:
            return _of_others(table, Withheld.of(table.scaled, np.flatnonzero(hidden)), CellSuppression.title)
    method = method_titled(stated.get("name", ControlledRounding.title))
    assert method is not None
    if stated and (wrong := [name for name in given if name not in stated]):
        raise InputError(f"--{wrong[0]} does not go with a release made by {method.title}; leave it out")
    stated = {"name": method.title} | stated | given
    if stated["name"] == ControlledRounding.title and "base" not in stated:
        raise InputError(f"{file}: no release.json beside it says how it was made; give the rounding base (--base)")
    printed = _printed(file, table, kind, last=not digest)
    release = Release(
        labels=table.labels,
        publication=method.publication(stated, printed, table),
        decimals=table.decimals,
        method=stated,
        relations=table.relations,
        lower=table.lower,
        upper=table.upper,
        digest=digest,
    )
    _compare_tables(file, release)
    return release


def _ranges(file: Path, table: Table) -> Ranges | None:
    """Ranges, where a file has a column ``lower`` and one ``upper``: those that go with a suppression, or another tool's."""
    if file.suffix.lower() == ".tab" or not {printed_name(n, table.labels.dims) for n in COLUMNS["ranges"]} <= set(
        read_rows(file)[0]
    ):
        return None
    read = _printed(file, table, "ranges", last=False)
    return Ranges(
        np.where(read["empty lower"], -NO_BOUND, read["lower"]), np.where(read["empty upper"], NO_BOUND, read["upper"])
    )


def _of_others(table: Table, publication: Withheld | Ranges, method: str) -> Release:
    """What another tool publishes, of which nothing is stated but what is printed."""
    return Release(
        labels=table.labels,
        publication=publication,
        decimals=table.decimals,
        method={"name": method},
        relations=table.relations,
        lower=table.lower,
        upper=table.upper,
        digest="",
    )


def _compare_tables(file: Path, release: Release) -> None:
    """Refuse linked tables by themselves that print other than the whole; where there are none beside it, nothing is to be compared."""
    for k, part in enumerate(release.tables() if release.labels.tables else (), start=1):
        beside = file.with_name(f"{file.stem}-{k}.csv")
        if beside.is_file() and beside.read_bytes() != part.to_csv():
            raise InputError(
                f"{beside}: is not the table of {file.name} that it should be; make it again with Release.tables"
            )


def _printed(file: Path, table: Table, kind: str, *, last: bool) -> dict[str, Any]:
    """The printed columns in the table's cell order; ``last``: other tools may call the last column as they like. Of kinds other than
    values also the cells of which a field is empty, as ``empty NAME``; 0 stands there."""
    names, rows, at = read_rows(file)
    columns = COLUMNS[kind]
    place = table.labels.dims or ("cell",)
    printed = tuple(printed_name(name, table.labels.dims) for name in columns)
    wanted = (names[-1],) if last and len(printed) == 1 else printed
    if missing := [dim for dim in place if dim not in names or dim in wanted]:
        raise InputError(
            f"{file}: no column {missing[0]!r} before the values; a release has {', '.join(place)} and then the value"
        )
    if missing := [name for name in wanted if name not in names]:
        raise InputError(f"{file}: no column {missing[0]!r}; a release has {', '.join((*place, *wanted))}")
    where = [names.index(dim) for dim in place]
    found: dict[str, Any] = {name: np.zeros(table.cells, np.int64) for name in columns}
    empty = {name: np.zeros(table.cells, bool) for name in columns}
    seen = np.zeros(table.cells, bool)
    for row, line in zip(rows, at, strict=True):
        codes = tuple(row[k] for k in where)
        try:
            i = (
                table.labels.find(codes)
                if table.labels.dims
                else table.labels.find(int(codes[0]) if codes[0].isdecimal() else codes[0])
            )
            if seen[i]:
                raise InputError(f"{table.labels.name(i)} occurs twice; keep one row a cell")
            for name, column in zip(columns, wanted, strict=True):
                text = row[names.index(column)]
                if not text and kind != "values":
                    empty[name][i] = True
                    continue
                value = exact.scale_one(text, table.decimals, "its value", strict=True)
                if abs(value) > exact.LARGEST:
                    raise InputError(f"{text} is beyond 2^53; check the value")
                found[name][i] = value
        except InputError as error:
            raise InputError(f"{file} line {line}: {error}") from None
        seen[i] = True
    if not seen.all():
        raise InputError(
            f"{file}: no row for {table.labels.name(int(np.argmin(seen)))}; a release holds every cell of its table"
        )
    return found if kind == "values" else {**found, **{f"empty {name}": flags for name, flags in empty.items()}}


def _statement(file: Path, table: Table) -> tuple[dict[str, Any], str, str]:
    """Method, kind of publication and digest of the public statement, nothing where there is none."""
    if not file.is_file():
        return {}, "values", ""
    try:
        said = json.loads(decode_file(file, most_bytes=1 << 26))
        method, decimals, kind, digest = said["method"], said["decimals"], said["printed"], said["certificate"]
    except (ValueError, KeyError, TypeError, RecursionError):
        raise InputError(
            f"{file}: not the public statement of a release; restore it, or give the method by options"
        ) from None
    right = isinstance(method, dict) and kind in COLUMNS and isinstance(digest, str)
    if not right or method_titled(method.get("name")) is None:
        known = ", ".join(one.title for one in METHODS)
        raise InputError(
            f"{file}: its method is none of ours ({known}); other releases cannot be audited from files yet"
        )
    if decimals != table.decimals:
        raise InputError(
            f"{file}: the release has {decimals} decimals, the table {table.decimals}; read the table with --decimals {decimals}"
        )
    return method, kind, digest
