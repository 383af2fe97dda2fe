"""Published: a release read back from its files, or another tool's rounding, to be audited against the table it was made of."""

from __future__ import annotations

import json
from pathlib import Path
from typing import Any

import numpy as np

from cellward import exact
from cellward.errors import InputError
from cellward.exact import Ints
from cellward.files.text import decode_file
from cellward.formats.csv_file import read_rows
from cellward.publication.knowledge import Knowledge
from cellward.publication.release import Release
from cellward.table.table import Table

NAME, PERTURBED, ADJUSTED = "controlled rounding", "cell perturbation", "controlled tabular adjustment"
MOST_STEPS = 1000


def read_release(
    path: str | Path, table: Table, *, base: str | None = None, steps: int | None = None, knowledge: str | None = None
) -> Release:
    """A release of this table: a folder that cellward wrote, or a CSV of labels and a last column of values.

    The method's parameters are read from ``release.json`` beside the CSV; ``base``, ``steps`` and ``knowledge`` replace them, or stand in for them.
    """
    path = Path(path)
    file = path / "release.csv" if path.is_dir() else path
    v = _values(file, table)
    method, digest = _statement(file.with_suffix(".json"), table)
    options = {
        name: given for name, given in (("base", base), ("steps", steps), ("knowledge", knowledge)) if given is not None
    }
    if method.get("name") == ADJUSTED:
        if options:
            raise InputError(f"--{next(iter(options))} does not go with a release made by adjustment; leave it out")
        return _release(table, v, method, Knowledge.adjusted(v), digest)
    method |= options
    if "base" not in method and "within" not in method:
        raise InputError(f"{file}: no release.json beside it says how it was made; give the rounding base (--base)")
    method = {"name": NAME, "knowledge": "strict"} | method
    if method["name"] == NAME:
        method = {"steps": 1} | method
    return _release(table, v, method, _knowledge(method, v, table), digest)


def _release(table: Table, v: Ints, method: dict[str, Any], knowledge: Knowledge, digest: str) -> Release:
    return Release(
        labels=table.labels,
        scaled=v,
        decimals=table.decimals,
        method=method,
        relations=table.relations,
        lower=table.lower,
        upper=table.upper,
        knowledge=knowledge,
        digest=digest,
    )


def _values(file: Path, table: Table) -> Ints:
    """The published values in the table's cell order."""
    names, rows, at = read_rows(file)
    place = table.labels.dims or ("cell",)
    if missing := [dim for dim in place if dim not in names[:-1]]:
        raise InputError(
            f"{file}: no column {missing[0]!r} before the values; a release has {', '.join(place)} and then the value"
        )
    where = [names.index(dim) for dim in place]
    v = np.zeros(table.cells, np.int64)
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
            value = exact.scale_one(row[-1], table.decimals, "its value", strict=True)
        except InputError as error:
            raise InputError(f"{file} line {line}: {error}") from None
        if abs(value) > exact.LARGEST:
            raise InputError(f"{file} line {line}: {row[-1]} is beyond 2^53; check the value")
        v[i], seen[i] = value, True
    if not seen.all():
        raise InputError(
            f"{file}: no row for {table.labels.name(int(np.argmin(seen)))}; a release holds every cell of its table"
        )
    return v


def _statement(file: Path, table: Table) -> tuple[dict[str, Any], str]:
    """Method and digest of the public statement, nothing where there is none."""
    if not file.is_file():
        return {}, ""
    try:
        stated = json.loads(decode_file(file, most_bytes=1 << 26))
        method, decimals, digest = stated["method"], stated["decimals"], stated["certificate"]
    except (ValueError, KeyError, TypeError, RecursionError):
        raise InputError(
            f"{file}: not the public statement of a release; restore it, or give the method by options"
        ) from None
    known = (NAME, PERTURBED, ADJUSTED)
    if not isinstance(method, dict) or method.get("name") not in known or not isinstance(digest, str):
        raise InputError(
            f"{file}: its method is neither {NAME} nor {PERTURBED} nor {ADJUSTED}; other methods cannot be audited from files yet"
        )
    if decimals != table.decimals:
        raise InputError(
            f"{file}: the release has {decimals} decimals, the table {table.decimals}; read the table with --decimals {decimals}"
        )
    return method, digest


def _amounts(given: Any, table: Table, what: str) -> Ints:
    """A base, or a distance, of every cell; 0 of those that are published as they are."""
    each = given if isinstance(given, list) else [given]
    if isinstance(given, list) and len(given) != table.cells:
        raise InputError(f"{what}: {len(given)} {what}s for {table.cells} cells; give one, or one a cell")
    scaled = [exact.scale_one(one, table.decimals, what, strict=True) for one in each]
    if not 0 < min(scaled) <= max(scaled) <= exact.LARGEST:
        raise InputError(f"{what}: a {what} is a positive number such as 3, 5 or 10, and below 2^53")
    amounts = np.array(scaled if isinstance(given, list) else scaled * table.cells, np.int64)
    return np.where(table.sensitivity.fixed, 0, amounts)


def _knowledge(method: dict[str, Any], v: Ints, table: Table) -> Knowledge:
    kind = method["knowledge"]
    if method["name"] == PERTURBED:
        form: Any = "distance" if "within" in method else "base"
        amount = (
            _amounts(method["within"], table, "distance")
            if form == "distance"
            else _amounts(method["base"], table, "base")
        )
        return Knowledge.perturbed(v, amount, form=form, kind=kind, a=table.scaled)
    steps = method["steps"]
    if type(steps) is not int or not 1 <= steps <= MOST_STEPS:
        raise InputError(f"steps: {steps!r} is not a whole number from 1 to {MOST_STEPS}")
    bases = _amounts(method["base"], table, "base")
    off = np.flatnonzero(v % np.maximum(bases, 1))
    if len(off) and not method.get("only"):  # cells that only followed the rounded ones are published as they came
        i = int(off[0])
        value, grid = (exact.short(int(x[i]), table.decimals) for x in (v, bases))
        raise InputError(
            f"the published value {value} of {table.labels.name(i)} is no multiple of {grid}; give the base that was used"
        )
    small = method.get("small_counts", "free")
    return Knowledge.rounded(
        v, bases, kind=kind, steps=steps, a=table.scaled, small=small, lower=table.lower, upper=table.upper
    )
