"""Hierarchies from files, by what the file is: ``.hrc``, a parent–child table, or a correspondence table with one column a level.

A CSV (or Parquet) file says itself which of the tables it is, or is told so with ``levels`` or with ``child`` and ``parent``. Unless told:

- columns called ``child`` (or ``code``) and ``parent`` make a parent–child table, one called ``grouping`` beside them its groupings;
- two other columns make one where a code stands in both, or a row has no entry in one of them: parents repeat, or may be missing, children do not;
- otherwise the columns are levels, the broadest first, where every code has one code to its left.

A column called ``label`` (of children), or ``X label`` or ``X_label`` (of the level ``X``), says what codes are called. What could be read two ways
is refused.
"""

from __future__ import annotations

import os
from collections.abc import Sequence
from dataclasses import replace
from pathlib import Path

from cellward.errors import InputError, brief
from cellward.files.text import naming, read_text
from cellward.files.workbook import sheet_rows
from cellward.formats.csv_file import read_rows
from cellward.formats.hrc import read_hrc
from cellward.formats.parquet import read_texts
from cellward.hierarchy import Hierarchy
from cellward.table.code_words import words_from_pairs

_CSV, _PARQUET = (".csv", ".tsv"), (".parquet", ".pq")
_CHILD, _PARENT, _GROUPING = ("child", "code"), "parent", "grouping"
_SEPARATORS = ",;\t|"
_SAY = "say which columns are its levels with levels=[…], the broadest first, or name two columns child and parent"

Row = tuple[str, ...]


def read_hierarchy(
    path: str | os.PathLike[str],
    *,
    total: str = "Total",
    levels: Sequence[str] | None = None,
    child: str | None = None,
    parent: str | None = None,
    grouping: str | None = None,
    lead: str | None = None,
    separator: str | None = None,
) -> Hierarchy:
    r"""Read a hierarchy, whatever kind of file holds it; ``total`` names the code above all others where the file does not.

    >>> import tempfile, pathlib
    >>> with tempfile.TemporaryDirectory() as folder:
    ...     file = pathlib.Path(folder, "nace.csv")
    ...     _ = file.write_text("section,division\nA,01\nA,02\nB,05\n")
    ...     read_hierarchy(file).sums
    (('Total', ('A', 'B')), ('A', ('01', '02')), ('B', ('05',)))
    """
    if not isinstance(path, str | os.PathLike):
        raise InputError(f"the path of a hierarchy is given as {type(path).__name__}: give text or a Path")
    path = Path(path)
    told = [name for name in (levels, child, parent, grouping) if name is not None]
    if told and lead is not None:
        raise InputError(
            f"{path}: lead= is for .hrc files, levels=, child= and parent= are for tables; give one of them"
        )
    if levels is not None and (child is not None or parent is not None):
        raise InputError(f"{path}: give levels=, or child= and parent=, not both")
    if not told and (lead is not None or _is_hrc(path)):
        return read_hrc(path, lead="@" if lead is None else lead, total=total)
    header, rows = _table(path, separator)
    with naming(path):
        header, rows, labels = _labels_apart(header, rows, levels, child)
        return replace(_of_table(header, rows, total, levels, (child, parent, grouping)), labels=labels)


def _of_table(
    header: list[str], rows: list[Row], total: str, levels: Sequence[str] | None, named: tuple[str | None, ...]
) -> Hierarchy:
    """The hierarchy of a table, as it is told what it is, or by itself."""
    child, parent, grouping = named
    if levels is not None:
        return _levels(header, rows, levels, total)
    if child is not None or parent is not None or grouping is not None:
        return _parents(header, rows, child or "child", parent or "parent", grouping, total)
    return _by_itself(header, rows, total)


def _labels_apart(
    header: list[str], rows: list[Row], levels: Sequence[str] | None, child: str | None
) -> tuple[list[str], list[Row], dict[str, str]]:
    """The columns of codes and their rows, and what the columns of labels beside them say."""
    codes = {name.casefold(): name for name in header}
    of_child = child or next((codes[name] for name in _CHILD if name in codes and _PARENT in codes), None)
    of = {f"{name}{mark}": name for name in header for mark in (" label", "_label")}
    if of_child is not None:
        of["label"] = of_child
    found = [name for name in header if name in of and of[name] in header and name not in (levels or ())]
    words: dict[str, str] = {}
    for name in found:
        k, at = header.index(of[name]), header.index(name)
        words |= words_from_pairs(of[name], ((row[k] or None, row[at]) for row in rows), lambda row: f"row {row + 1}")
    kept = [k for k, name in enumerate(header) if name not in found]
    return [header[k] for k in kept], [tuple(row[k] for k in kept) for row in rows], words


def _is_hrc(path: Path) -> bool:
    """Whether the file is no table: by its name, or because its first line has no second column."""
    kind = path.suffix.lower()
    if kind in (".hrc", ".xlsx", *_CSV, *_PARQUET):
        return kind == ".hrc"
    first = read_text(path).split("\n", 1)[0]
    return not any(mark in first for mark in _SEPARATORS)


def _table(path: Path, separator: str | None) -> tuple[list[str], list[Row]]:
    """The names of the columns and the rows."""
    if path.suffix.lower() in _PARQUET:
        columns = read_texts(path)
        entries = ([entry or "" for entry in column] for column in columns.values())
        return list(columns), list(zip(*entries, strict=True))
    if path.suffix.lower() == ".xlsx":
        header, rows, _ = sheet_rows(path)
    else:
        header, rows, _ = read_rows(path, separator=separator)
    names = [name.strip() for name in header]
    if twice := [name for name in names if names.count(name) > 1]:
        raise InputError(f"{path}: two columns are called {brief(twice[0])}; rename one")
    return names, [tuple(row) for row in rows]


def _column(header: Sequence[str], name: str) -> int:
    if name not in header:
        raise InputError(f"there is no column {brief(name)}; it has {', '.join(map(brief, header[:12]))}")
    return header.index(name)


def _levels(header: Sequence[str], rows: Sequence[Row], levels: Sequence[str], total: str) -> Hierarchy:
    if isinstance(levels, str) or not levels or not all(isinstance(name, str) for name in levels):
        raise InputError("levels: name the columns of the correspondence table, the broadest first, as a list of texts")
    at = [_column(header, name) for name in levels]
    return Hierarchy.from_levels([tuple(row[k] for k in at) for row in rows], total=total)


def _parents(
    header: Sequence[str], rows: Sequence[Row], child: str, parent: str, grouping: str | None, total: str
) -> Hierarchy:
    names = [child, parent, *([] if grouping is None else [grouping])]
    at = [_column(header, name) for name in names]
    pairs = [tuple(row[k] for k in at) for row in rows]
    if empty := [number for number, pair in enumerate(pairs, start=1) if not pair[0]]:
        raise InputError(f"row {empty[0]} has no code in the column {brief(child)}; fill it in, or delete the row")
    if all(not pair[1] for pair in pairs):
        raise InputError(f"no row has a parent in the column {brief(parent)}; name the code above each")
    return _below(total, Hierarchy.from_parents(list(dict.fromkeys(pairs))))


def _below(total: str, found: Hierarchy) -> Hierarchy:
    """Roots that are parts of something, in a file that does not say of what, under the total; overlapping groupings stay roots."""
    if len(found.roots) == 1 or total in found.codes:
        return found
    under: dict[str, set[str]] = {}
    for leaf, code in found.closure:
        under.setdefault(code, set()).add(leaf)
    apart = sum(len(under[root]) for root in found.roots) == len(found.leaves)
    return Hierarchy(((total, found.roots),)).merge(found) if apart else found


def _by_itself(header: Sequence[str], rows: Sequence[Row], total: str) -> Hierarchy:
    """The hierarchy of a table that nobody has described."""
    if not rows:
        raise InputError("there is a header but no rows; give a row for every code")
    known = {name.casefold(): name for name in header}
    child = next((known[name] for name in _CHILD if name in known), None)
    if child is not None and _PARENT in known:
        return _parents(header, rows, child, known[_PARENT], known.get(_GROUPING), total)
    if len(header) == 1:
        raise InputError(
            f"a hierarchy as a table has a column a level, or a child and its parent, and this has one, {brief(header[0])}; add the others"
        )
    if len(header) == 2 and (is_parent := _side_of_parents(rows)) is not None:
        return _parents(header, rows, header[1 - is_parent], header[is_parent], None, total)
    _refuse_no_levels(header, rows)
    return Hierarchy.from_levels(rows, total=total)


def _side_of_parents(rows: Sequence[Row]) -> int | None:
    """Which of two columns holds the parents of the other; None where both are levels."""
    columns = [[row[k] for row in dict.fromkeys(rows) if row[0] != row[1]] for k in (0, 1)]
    blank = ["" in own for own in columns]
    if blank[0] != blank[1]:
        return blank.index(True)
    if not set(columns[0]) & set(columns[1]):
        return None
    repeats = [len(set(own)) < len(own) for own in columns]
    if repeats[0] == repeats[1]:
        raise InputError(f"it is not plain which of the two columns holds the parents; {_SAY}")
    return repeats.index(True)


def _refuse_no_levels(header: Sequence[str], rows: Sequence[Row]) -> None:
    """Refuse columns that are no levels from left to right: a code with two above it, or a column that only renames the one before."""
    for k in range(1, len(header)):
        pairs = dict.fromkeys((row[k - 1], row[k]) for row in rows if row[k] and row[k] != row[k - 1])
        above: dict[str, str] = {}
        for left, right in pairs:
            if above.setdefault(right, left) != left:
                raise InputError(
                    f"the columns are no levels from left to right, since {brief(right)} of {brief(header[k])} stands beside {brief(left)} and "
                    f"{brief(above[right])} of {brief(header[k - 1])}; {_SAY}"
                )
        if pairs and len({left for left, _ in pairs}) == len(pairs) == len({row[k] for row in rows}):
            raise InputError(
                f"the columns {brief(header[k - 1])} and {brief(header[k])} say the same, as codes and their labels do; {_SAY}"
            )
