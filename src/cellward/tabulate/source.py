"""Source: records wherever they are (a CSV or Parquet file, a frame, a DuckDB table or query) as one relation that DuckDB can read."""

from __future__ import annotations

import contextlib
import csv
import io
import re
import secrets
from collections.abc import Callable, Iterator, Mapping, Sequence
from dataclasses import dataclass, replace
from pathlib import Path
from typing import Any

import duckdb
import numpy as np

from cellward.errors import InputError, brief, kind_of, printable
from cellward.files.database import connect_confined, first_line, pattern, sql_text, translated
from cellward.files.text import check_input, is_packed, opened, unpacked_suffix
from cellward.files.workbook import sheet_rows

_SEPARATORS = ",;\t|"
_HEAD = 1 << 20
_MOST_COLUMNS = 10_000


@dataclass(frozen=True, eq=False)
class Source:
    """``relation`` is SQL after FROM, with columns c0, c1, … and the record number ``rn`` (1, 2, …); ``names`` and ``types`` describe the columns.

    ``mark`` begins the names of all tables made on the way, so that none of the user's is touched.
    """

    run: Callable[[str], Any]
    relation: str
    names: tuple[str, ...]
    types: tuple[str, ...]
    name: str
    mark: str = "cellward"

    def column(self, name: str) -> str:
        """The column of this name in SQL."""
        if (many := self.names.count(name)) != 1:
            if many:
                raise InputError(f"{self.name}: {many} columns are called {brief(name)}; rename all but one")
            near = [own for own in self.names if own.strip().casefold() == name.strip().casefold()]
            hint = f"did you mean {brief(near[0])}" if near else f"it has {_listed(self.names)}"
            raise InputError(f"{self.name}: there is no column {brief(name)}; {hint}")
        return f"c{self.names.index(name)}"

    def type_of(self, name: str) -> str:
        """The DuckDB type of a column."""
        return self.types[int(self.column(name)[1:])]

    def place(self, record: int) -> str:
        """Where a record stands, for a sentence."""
        return f"{self.name} record {record}"

    def one(self, sql: str) -> tuple[Any, ...]:
        """The single row of a query."""
        row: tuple[Any, ...] = self.run(sql).fetchall()[0]
        return row


@contextlib.contextmanager
def open_source(
    rows: Any,
    *,
    query: str | None = None,
    separator: str | None = None,
    sheet: str | None = None,
    threads: int | None = None,
    memory_mb: int | None = None,
) -> Iterator[Source]:
    """Make records readable: a path, a frame, a mapping of columns, a DuckDB relation, or a DuckDB connection or file with a query."""
    _check_options(query, separator, sheet, threads, memory_mb)
    limits: dict[str, Any] = {} if threads is None else {"threads": threads}
    if memory_mb is not None:
        limits["memory_limit"] = f"{memory_mb}MB"
    with contextlib.ExitStack() as stack:
        if isinstance(rows, duckdb.DuckDBPyRelation):
            mark = f"cellward_{secrets.token_hex(6)}"
            source = _described(lambda sql: rows.query(mark, sql), mark, "the relation")
        elif isinstance(rows, duckdb.DuckDBPyConnection):
            source = _queried(rows, query, "the connection")
        elif isinstance(rows, str | Path):
            source = _file(stack, Path(rows), query, separator, sheet, limits)
        else:
            # objects are read as text: DuckDB would guess their type from a sample, and round what does not fit
            source = _frame(stack.enter_context(_connect(":memory:", {**limits, "pandas_analyze_sample": 0})), rows)
        stack.callback(_drop, source)
        yield source


def _check_options(query: object, separator: object, sheet: object, threads: object, memory_mb: object) -> None:
    for name, text in (("query", query), ("separator", separator), ("sheet", sheet)):
        if text is not None and not isinstance(text, str):
            raise InputError(f"{name}={text!r}: give text")
    for name, number, most in (("threads", threads, 1024), ("memory_mb", memory_mb, 1 << 30)):
        whole = isinstance(number, int) and not isinstance(number, bool)
        if number is not None and not (whole and 1 <= number <= most):  # type: ignore[operator]
            raise InputError(f"{name}={number!r}: give a whole number from 1 to {most}")


def _drop(source: Source) -> None:
    """Take away the tables made on the way."""
    with contextlib.suppress(InputError, duckdb.Error):
        for (name,) in source.run(
            f"SELECT table_name FROM duckdb_tables() WHERE temporary AND starts_with(table_name, '{source.mark}_')"
        ).fetchall():
            source.run(f'DROP TABLE IF EXISTS temp."{name}"')


def _file(
    stack: contextlib.ExitStack,
    path: Path,
    query: str | None,
    separator: str | None,
    sheet: str | None,
    limits: dict[str, Any],
) -> Source:
    kind = unpacked_suffix(path)
    try:
        check_input(path)
        with path.open("rb"):
            pass
    except (OSError, ValueError) as error:
        why = getattr(error, "strerror", None) or error
        raise InputError(f"{path!s}: cannot be read ({why}); check the path and its permissions") from None
    if kind in (".duckdb", ".db"):
        connection = stack.enter_context(_connect(str(path), {**limits, "access_mode": "READ_ONLY"}))
        return _queried(connection, query, str(path))
    if query is not None:
        raise InputError("query: only a DuckDB file or connection takes one; leave it out")
    if kind in (".parquet", ".pq"):
        return _parquet(stack.enter_context(_connect(":memory:", limits, path)), path)
    if sheet is not None and kind != ".xlsx":
        raise InputError("sheet: only an Excel file has sheets; leave it out")
    if kind == ".xlsx":
        return _workbook(stack.enter_context(_connect(":memory:", limits)), path, sheet)
    if kind in (".csv", ".tsv", ".txt", ".asc"):
        return _csv(stack.enter_context(_connect(":memory:", limits, path)), path, separator)
    raise InputError(
        f"{path}: the extension {kind or '(none)'!r} is not known; use .csv, .tsv, .xlsx, .parquet or .duckdb"
    )


def _workbook(connection: duckdb.DuckDBPyConnection, path: Path, sheet: str | None) -> Source:
    """The rows of a sheet, as texts."""
    header, rows, _ = sheet_rows(path, sheet)
    if twice := [name for name in header if header.count(name) > 1]:
        raise InputError(f"{path}: two columns are called {brief(twice[0])}; rename one")
    columns = zip(*rows, strict=True) if rows else ((),) * len(header)
    found = _frame(
        connection, {name: [entry or None for entry in own] for name, own in zip(header, columns, strict=True)}
    )
    return replace(found, name=str(path))


def _connect(database: str, config: dict[str, Any], *files: Path) -> duckdb.DuckDBPyConnection:
    try:
        return connect_confined(database, files, config)
    except (duckdb.Error, MemoryError) as error:
        said = InputError(f"{database}: cannot be opened by DuckDB ({first_line(error)}); check file and options")
        raise translated(error, database, said) from None


def _described(
    run: Callable[[str], Any],
    relation: str,
    name: str,
    numbered: str | None = None,
    names: Sequence[str] | None = None,
    translate: Callable[[Exception], InputError] | None = None,
) -> Source:
    """A relation with its columns by position and its records numbered; ``numbered``: a last column that counts them from 0."""

    def safely(sql: str) -> Any:
        try:
            return run(sql)
        except (duckdb.Error, UnicodeError, OverflowError, MemoryError) as error:
            said = InputError(f"{name}: cannot be read ({first_line(error)}); check the records and the options")
            raise translated(error, name, said if translate is None else translate(error)) from None

    described = safely(f"DESCRIBE SELECT * FROM {relation}").fetchall()
    found, types = [row[0] for row in described], [row[1] for row in described]
    columns = ", ".join(f"c{k}" for k in range(len(found)))
    counting = "row_number() OVER ()" if numbered is None else f"c{len(found) - 1} + 1"
    inner = f"(SELECT *, {counting} AS rn FROM (SELECT * FROM {relation}) AS t({columns}))"
    kept = len(found) - (numbered is not None)
    called = found[:kept] if names is None or len(names) != kept else names
    return Source(safely, inner, tuple(called), tuple(types[:kept]), name, f"cellward_{secrets.token_hex(6)}")


def _queried(connection: duckdb.DuckDBPyConnection, query: str | None, name: str) -> Source:
    if not query or not query.strip():
        raise InputError(f"{name}: say which records are meant with query=, the name of a table or a SELECT")
    text = query.strip().rstrip(";")
    select = text if re.match(r"(?i)(select|with|from|values)\b", text) else f"SELECT * FROM {text}"
    try:
        statements = connection.extract_statements(select)
    except duckdb.Error as error:
        raise InputError(f"{name}: the query cannot be read ({first_line(error)}); correct it") from None
    if len(statements) != 1 or statements[0].type != duckdb.StatementType.SELECT:
        raise InputError(f"{name}: the query is no single SELECT; give the name of a table or one SELECT")
    return _described(connection.execute, f"({select}\n)", name)


def _parquet(connection: duckdb.DuckDBPyConnection, path: Path) -> Source:
    try:
        names = _parquet_names(connection, path)
    except duckdb.Error as error:
        said = InputError(f"{path}: not readable as Parquet ({first_line(error)}); check the file")
        raise translated(error, str(path), said) from None
    if "file_row_number" in [name.casefold() for name in names]:
        relation = f"read_parquet({sql_text(pattern(path))}, hive_partitioning=false)"
        return _described(connection.execute, relation, str(path), None, names)
    relation = f"read_parquet({sql_text(pattern(path))}, hive_partitioning=false, file_row_number=true)"
    return _described(connection.execute, relation, str(path), "file_row_number", names)


def _parquet_names(connection: duckdb.DuckDBPyConnection, path: Path) -> list[str]:
    """The names of the columns as the file has them; DuckDB itself renames those that differ only in case."""
    rows = connection.execute(f"SELECT name, num_children FROM parquet_schema({sql_text(pattern(path))})").fetchall()
    names, skip = [], 0
    for name, children in rows[1:]:
        if not skip:
            names.append(name)
        skip = max(skip - 1, 0) + (children or 0)
    return names


def _frame(connection: duckdb.DuckDBPyConnection, rows: Any) -> Source:
    name = "the frame"
    names: list[str] | None = None
    if isinstance(rows, Mapping):
        rows = _arrays(rows)
        names = [str(own) for own in rows]
        rows = {f"c{k}": array for k, array in enumerate(rows.values())}
    else:
        if hasattr(rows, "collect") and hasattr(rows, "collect_schema") and not hasattr(rows, "height"):
            rows = rows.collect()
        elif hasattr(rows, "read_all"):
            rows = rows.read_all()
        names = [str(own) for own in getattr(rows, "column_names", getattr(rows, "columns", ()))]
        if twice := [own for own in names if names.count(own) > 1]:
            raise InputError(f"{name}: two columns are called {brief(twice[0])}; rename one")
    try:
        connection.register("cellward_frame", rows)
    except (duckdb.Error, TypeError, ValueError) as error:
        why = (
            ""
            if rows is None or isinstance(rows, bool | int | float | list | tuple | set)
            else f" ({first_line(error)})"
        )
        raise InputError(
            f"{kind_of(rows)} is no file of records{why}; give a path, a pandas, polars or pyarrow frame, a mapping of columns, or a DuckDB relation"
        ) from None
    return _described(connection.execute, "cellward_frame", name, None, names)


def _arrays(rows: Mapping[str, Any]) -> dict[str, np.ndarray[Any, Any]]:
    out: dict[str, np.ndarray[Any, Any]] = {}
    for name, given in rows.items():
        entries = given.tolist() if isinstance(given, np.ma.MaskedArray) else given
        if isinstance(entries, str | bytes) or not hasattr(entries, "__len__"):
            raise InputError(f"the column {name!r} is {type(entries).__name__}, not a list; give one entry a record")
        plain = isinstance(entries, np.ndarray) or all(type(entry) in (int, float) for entry in entries)
        array = np.asarray(entries) if plain else np.zeros(0, object)
        if array.dtype.kind not in "iuf" or array.ndim != 1:
            array = np.array([None if entry is None else str(entry) for entry in entries], dtype=object)
        out[name] = array
    if len({len(array) for array in out.values()}) > 1:
        raise InputError("the columns differ in length; give one entry a record in each")
    return out


def _csv(connection: duckdb.DuckDBPyConnection, path: Path, separator: str | None) -> Source:
    with opened(path) as handle:
        head = handle.read(_HEAD)
    if not head.strip():
        raise InputError(f"{path}: the file is empty; give a file of records")
    if head.startswith((b"\xff\xfe", b"\xfe\xff")) or b"\0" in head[:4096]:
        raise InputError(f"{path}: not a text file in UTF-8 or Latin-1; save it as UTF-8")
    latin = not _is_utf8(path)
    text = head.removeprefix(b"\xef\xbb\xbf").decode("latin-1" if latin else "utf-8", errors="ignore")
    text = text.replace("\r\r\n", "\n").replace("\r\n", "\n").replace("\r", "\n")
    line = text.split("\n", 1)[0]
    if separator is None:
        separator = max(_SEPARATORS, key=line.count)
    elif len(separator) != 1:
        raise InputError(f"separator={separator!r}: give one character")
    try:
        names = next(csv.reader(io.StringIO(text, newline=""), delimiter=separator, strict=False))
    except csv.Error as error:
        raise InputError(f"{path}: the header is not readable ({error}); check the quotes") from None
    if len(names) > _MOST_COLUMNS:
        raise InputError(
            f"{path}: the header has {len(names):,} columns, more than {_MOST_COLUMNS:,}; check the separator"
        )
    columns = ", ".join(f"'c{k}': 'VARCHAR'" for k in range(len(names)))
    encoding = ", encoding='latin-1'" if latin else ""
    packed = ", compression='gzip'" if is_packed(path) else ""
    relation = (
        f"read_csv({sql_text(pattern(path))}, auto_detect=false, header=true, delim={sql_text(separator)}, quote='\"', escape='\"', "
        f"strict_mode=true, null_padding=false, columns={{{columns}}}{encoding}{packed})"
    )

    return _described(
        connection.execute, relation, str(path), None, names, lambda error: _csv_error(path, error, names)
    )


def _is_utf8(path: Path) -> bool:
    """Whether the whole file is UTF-8."""
    import codecs

    decoder = codecs.getincrementaldecoder("utf-8")()
    with opened(path) as handle:
        try:
            while block := handle.read(1 << 24):
                if not block.isascii() or decoder.getstate()[0]:
                    decoder.decode(block)
            decoder.decode(b"", final=True)
        except UnicodeDecodeError:
            return False
    return True


def _csv_error(path: Path, error: Exception, names: Sequence[str]) -> InputError:
    """DuckDB's complaint about a line, in one sentence."""
    text = str(error)
    line = re.search(r"CSV Error on Line: (\d+)", text)
    where = f"{path} line {line[1]}" if line else str(path)
    if fields := re.search(r"Expected Number of Columns: (\d+) Found: (\d+)", text):
        return InputError(f"{where}: {fields[2]} fields where the header has {fields[1]}; check separators and quotes")
    if "unterminated quote" in text.lower():
        return InputError(
            f"{where}: a quote is not closed, or text follows it; double the quotes inside a quoted field"
        )
    if "maximum line size" in text.lower() or "max_line_size" in text.split("Possible")[0].lower():
        return InputError(f"{where}: a line is too long to be one record; check the quotes and the line ends")
    if "invalid unicode" in text.lower() or "latin-1 encoded" in text.lower():
        return InputError(f"{where}: the text is neither UTF-8 nor Latin-1; save the file as UTF-8")
    return InputError(
        f"{where}: not readable as CSV with {len(names)} columns ({first_line(error)}); check separators, quotes and line ends"
    )


def _listed(names: Sequence[str]) -> str:
    return ", ".join(printable(name)[:60] for name in names[:12]) + (
        f" and {len(names) - 12} more" if len(names) > 12 else ""
    )
