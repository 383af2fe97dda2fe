"""Conversions of what is no table: records between ``.asc``, CSV and Parquet, hierarchies and code lists between τ-ARGUS' files and CSV."""

from __future__ import annotations

import csv
import io
from collections.abc import Mapping, Sequence
from pathlib import Path

from cellward.errors import InputError
from cellward.files.whole import write_whole
from cellward.formats.csv_file import read_rows
from cellward.formats.hierarchy_file import read_hierarchy
from cellward.formats.hrc import read_hrc, write_hrc
from cellward.formats.parquet import read_texts, write_texts
from cellward.tauargus.files.asc import read_asc, write_asc
from cellward.tauargus.files.cdl import read_cdl, write_cdl
from cellward.tauargus.files.rda import Metadata, read_rda
from cellward.tauargus.files.references import companion
from cellward.tauargus.files.tab import metadata_beside

_CSV, _PARQUET = (".csv", ".tsv", ".txt"), (".parquet", ".pq")


def convert_other(source: Path, target: Path) -> str | None:
    """Convert records, a hierarchy or a code list, and say so; None where both files are tables."""
    kinds = source.suffix.lower(), target.suffix.lower()
    for special, convert in ((".asc", _records), (".hrc", _hierarchy), (".cdl", _code_list)):
        if special in kinds:
            if kinds[0] == kinds[1]:
                raise InputError(f"{target}: is {special} as the input is; give another extension")
            return convert(source, target)
    return None


def _records(source: Path, target: Path) -> str:
    if source.suffix.lower() == ".asc":
        metadata = metadata_beside(source, "records")
        columns = read_asc(source, metadata)
        _write_columns(columns, target)
    else:
        metadata = _layout(source, target)
        columns = {name: list(own) for name, own in _read_columns(source).items()}
        write_asc(columns, metadata, target)
    many = len(next(iter(columns.values())))
    return f"{target}: {many:,} records, {len(columns)} variables"


def _layout(source: Path, target: Path) -> Metadata:
    """The metadata of records to be written: the .rda of the target's name beside it, or beside the source."""
    for near in (target, source):
        if (found := companion(f"{target.stem}.rda", near)) is not None:
            return read_rda(found, "records")
    raise InputError(
        f"{target}: there is no {target.stem}.rda that says where each variable stands; write one beside it"
    )


def _hierarchy(source: Path, target: Path) -> str:
    if source.suffix.lower() == ".hrc":
        tree = read_hrc(source)
        pairs = [(child, parent) for parent, children in tree.sums for child in children]
        _write_columns({"child": [child for child, _ in pairs], "parent": [parent for _, parent in pairs]}, target)
    else:
        tree = read_hierarchy(source)
        write_hrc(tree, target)
    return f"{target}: {len(tree.codes):,} codes, total {tree.total}"


def _code_list(source: Path, target: Path) -> str:
    if source.suffix.lower() == ".cdl":
        labels = read_cdl(source)
        _write_columns({"code": list(labels), "label": list(labels.values())}, target)
    else:
        columns = _read_columns(source)
        if lost := [name for name in ("code", "label") if name not in columns]:
            raise InputError(f"{source}: there is no column {lost[0]!r}; a code list has the columns code and label")
        labels = {str(code): str(label) for code, label in zip(columns["code"], columns["label"], strict=True)}
        write_cdl(labels, target)
    return f"{target}: {len(labels):,} codes"


def _read_columns(path: Path) -> Mapping[str, Sequence[str | None]]:
    kind = path.suffix.lower()
    if kind in _PARQUET:
        return read_texts(path)
    if kind not in _CSV:
        raise InputError(f"{path}: is neither CSV nor Parquet; convert it to one of these first")
    header, rows, _ = read_rows(path)
    if len(set(header)) < len(header):
        raise InputError(f"{path}: a column occurs twice in the header; rename one")
    return {name: [row[k] for row in rows] for k, name in enumerate(header)}


def _write_columns(columns: Mapping[str, Sequence[str | None]], path: Path) -> None:
    kind = path.suffix.lower()
    if kind in _PARQUET:
        write_texts(columns, path)
    elif kind in _CSV:
        out = io.StringIO()
        writer = csv.writer(out, delimiter="\t" if kind == ".tsv" else ",", lineterminator="\n")
        writer.writerow(columns)
        writer.writerows(
            zip(*(["" if entry is None else entry for entry in own] for own in columns.values()), strict=True)
        )
        write_whole(path, out.getvalue().encode(), confidential=True)
    else:
        raise InputError(f"{path}: the extension {kind or '(none)'!r} is not known here; use .csv, .tsv or .parquet")
