"""Records in text, ``.asc`` with its ``.rda``: fixed width (every variable at its place in the line) or separated."""

from __future__ import annotations

import csv
import io
import os
import re
from collections.abc import Mapping, Sequence
from pathlib import Path

from cellward.errors import InputError, brief
from cellward.files.text import read_text
from cellward.files.whole import write_whole
from cellward.tauargus.files.rda import MOST_CODE, Metadata, Variable

Columns = dict[str, list[str | None]]
"""The entries of each variable; None where a number is missing."""


def read_asc(path: str | os.PathLike[str], metadata: Metadata, wanted: Sequence[str] | None = None) -> Columns:
    """The records of a file, as the columns of these variables (all unless named).

    Codes stay as they stand, blanks included; in separated files they are padded to their width with blanks on the left, as τ-ARGUS does.
    Numbers lose the blanks around them, a decimal comma becomes a point, and the code of a missing number, or nothing, is None.
    """
    path = Path(path)
    if metadata.kind not in ("fixed", "free"):
        raise InputError(f"{metadata.path}: describes a table, not records; give the .rda of {path.name}")
    names = [v.name for v in metadata.variables] if wanted is None else list(wanted)
    variables = [metadata.variable(name, str(metadata.path)) for name in names]
    text = read_text(path)
    lines = [(number, line) for number, line in enumerate(text.split("\n"), start=1) if line.strip()]
    read = _fixed if metadata.kind == "fixed" else _free
    return read(path, metadata, variables, lines)


def _fixed(path: Path, _: Metadata, variables: list[Variable], lines: list[tuple[int, str]]) -> Columns:
    last = max(v.start for v in variables)
    for number, line in lines:
        if len(line) < last:
            cut = next(v for v in variables if v.start > len(line))
            raise InputError(
                f"{path} line {number}: has {len(line)} characters, and {cut.name} begins at {cut.start}; it is cut off, or the .rda is another's"
            )
    columns: Columns = {}
    for v in variables:
        begin, end = v.start - 1, v.start - 1 + v.width
        raw = [line[begin:end].ljust(min(v.width, MOST_CODE)) for _, line in lines]
        columns[v.name] = numbers_of(raw, v) if is_number(v) else list(raw)
    return columns


def _free(path: Path, metadata: Metadata, variables: list[Variable], lines: list[tuple[int, str]]) -> Columns:
    place = [metadata.variables.index(v) for v in variables]
    columns: Columns = {v.name: [] for v in variables}
    many = len(metadata.variables)
    for number, fields in separated(path, metadata.separator, lines, many):
        for v, k in zip(variables, place, strict=True):
            entry = fields[k]
            if not is_number(v) and len(entry.strip()) > v.width:
                raise InputError(
                    f"{path} line {number}: {v.name} is {brief(entry.strip())}, longer than its width {v.width}; correct the .rda"
                )
            columns[v.name].append(_number(entry, v) if is_number(v) else entry.strip().rjust(min(v.width, MOST_CODE)))
    return columns


def separated(path: Path, separator: str, lines: list[tuple[int, str]], many: int) -> list[tuple[int, list[str]]]:
    """The fields of separated lines, so many on each; a separator after the last is passed over.

    Blanks around quotes are passed over, those of an unquoted field belong to it; a quote inside quotes is doubled.
    """
    mark, blank = re.escape(separator), "[ \t]*".replace(separator, "")
    field = re.compile(f'{blank}"((?:[^"]|"")*)"{blank}(?={mark}|$)|([^"{mark}]*)(?={mark}|$)')
    rows = []
    for number, line in lines:
        fields, at = [], 0
        while at <= len(line):
            found = field.match(line, at)
            if found is None:
                raise InputError(
                    f"{path} line {number}: quotes that do not go together in {brief(line[at:])}; correct them"
                )
            fields.append(found[2] if found[1] is None else found[1].replace('""', '"'))
            at = found.end() + 1
        if len(fields) == many + 1 and not fields[-1].strip():
            fields.pop()
        if len(fields) != many:
            raise InputError(
                f"{path} line {number}: {len(fields)} fields where the .rda has {many} variables; check separators and quotes"
            )
        rows.append((number, fields))
    return rows


def is_number(variable: Variable) -> bool:
    """Whether its entries are amounts and not codes."""
    return variable.role in ("number", "weight") and not variable.recodable


def _number(text: str, variable: Variable) -> str | None:
    entry = text.strip()
    if not entry or entry in variable.missing:
        return None
    return with_point(entry)


def numbers_of(texts: Sequence[str | None], variable: Variable) -> list[str | None]:
    """The entries of a variable as amounts, also of one that is a code as well."""
    return [None if text is None else _number(text, variable) for text in texts]


def with_point(entry: str) -> str:
    """A number with a decimal comma, written with a point."""
    return entry.replace(",", ".") if entry.count(",") == 1 and "." not in entry else entry


def write_asc(columns: Mapping[str, Sequence[object]], metadata: Metadata, path: str | os.PathLike[str]) -> Path:
    """Write records as the metadata describe them, whole or not at all; entries stand right in their place, as τ-ARGUS' own files have them.

    A missing entry (None) is the first code for missing, or blank. Confidential, like all records.
    """
    if metadata.kind not in ("fixed", "free"):
        raise InputError(f"{metadata.path}: describes a table, not records; give the .rda of records")
    lost = [v.name for v in metadata.variables if v.name not in columns]
    if lost:
        raise InputError(
            f"{path}: there is no column {brief(lost[0])} for the variable of this name in {metadata.path.name}; name it so"
        )
    many = {len(columns[v.name]) for v in metadata.variables}
    if len(many) != 1:
        raise InputError(f"{path}: the columns differ in length; give one entry a record in each")
    padded = {
        v.name: [_padded(entry, v, row, Path(path)) for row, entry in enumerate(columns[v.name], start=1)]
        for v in metadata.variables
    }
    records = list(zip(*(padded[v.name] for v in metadata.variables), strict=True))
    for row, record in enumerate(records, start=1):
        if not "".join(record).strip():
            raise InputError(
                f"{path} record {row}: holds nothing, and a blank line is no record; give codes for missing in the .rda"
            )
    text = _fixed_text(records, metadata) if metadata.kind == "fixed" else _free_text(records, metadata)
    data = _one_byte_each(text, Path(path)) if metadata.kind == "fixed" else text.encode()
    return write_whole(Path(path), data, confidential=True)


def _one_byte_each(text: str, path: Path) -> bytes:
    """A fixed-width file has one byte a character: τ-ARGUS counts bytes. What Latin-1 lacks, or what would be read as UTF-8, is refused."""
    try:
        data = text.encode("latin-1")
    except UnicodeEncodeError as error:
        raise InputError(
            f"{path}: {text[error.start]!r} takes several bytes, and fixed-width files count bytes; write separated ones"
        ) from None
    try:
        again = data.decode()
    except UnicodeDecodeError:
        return data
    if again != text:
        raise InputError(f"{path}: the text would be taken for UTF-8; write separated records")
    return data


def _padded(entry: object, v: Variable, row: int, path: Path) -> str:
    text = (v.missing[0] if v.missing else "") if entry is None else str(entry)
    if len(text) > v.width:
        raise InputError(
            f"{path} record {row}: {v.name} is {brief(text)}, longer than its width {v.width} in the .rda; widen it there"
        )
    if not text.isprintable():
        raise InputError(f"{path} record {row}: {v.name} is {brief(text)}, which does not fit into a line; correct it")
    return text.rjust(v.width)


def _fixed_text(records: list[tuple[str, ...]], metadata: Metadata) -> str:
    order = sorted(range(len(metadata.variables)), key=lambda k: metadata.variables[k].start)
    at, gaps = 1, []
    for k in order:
        v = metadata.variables[k]
        if v.start < at:
            raise InputError(
                f"{metadata.path} line {v.line}: {v.name} begins at {v.start}, inside another variable; give each its own place"
            )
        gaps.append(" " * (v.start - at))
        at = v.start + v.width
    out = io.StringIO()
    for record in records:
        out.write("".join(gap + record[k] for gap, k in zip(gaps, order, strict=True)) + "\n")
    return out.getvalue()


def _free_text(records: list[tuple[str, ...]], metadata: Metadata) -> str:
    out = io.StringIO()
    writer = csv.writer(out, delimiter=metadata.separator, lineterminator="\n")
    writer.writerows(records)
    return out.getvalue()
