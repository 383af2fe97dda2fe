"""Source: records wherever they are (a CSV or Parquet file, a frame, a DuckDB table or query) as one relation that DuckDB can read."""

from __future__ import annotations

import contextlib
import csv
import io
import re
from collections.abc import Callable, Iterator, Mapping, Sequence
from dataclasses import dataclass
from pathlib import Path
from typing import Any

import duckdb
import numpy as np

from cellward.errors import InputError

_SEPARATORS = ",;\t|"
_HEAD = 1 << 20
_MOST_COLUMNS = 10_000


@dataclass(frozen=True, eq=False)
class Source:
    """``relation`` is SQL after FROM, with columns c0, c1, … and the record number ``rn`` (1, 2, …); ``names`` and ``types`` describe the columns."""

    run: Callable[[str], Any]
    relation: str
    names: tuple[str, ...]
    types: tuple[str, ...]
    name: str

    def column(self, name: str) -> str:
        """The column of this name in SQL."""
        if (many := self.names.count(name)) != 1:
            if many:
                raise InputError(f"{self.name}: {many} columns are called {name!r}; rename all but one")
            near = [own for own in self.names if own.strip().casefold() == name.strip().casefold()]
            hint = f"did you mean {near[0]!r}" if near else f"it has {_listed(self.names)}"
            raise InputError(f"{self.name}: there is no column {name!r}; {hint}")
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
    threads: int | None = None,
    memory_mb: int | None = None,
) -> Iterator[Source]:
    """Make records readable: a path, a frame, a mapping of columns, a DuckDB relation, or a DuckDB connection or file with a query."""
    if isinstance(rows, duckdb.DuckDBPyRelation):
        view = "cellward_rows"
        yield _described(lambda sql: rows.query(view, sql), view, "the relation")
        return
    if isinstance(rows, duckdb.DuckDBPyConnection):
        with rows.cursor() as cursor:
            yield _queried(cursor, query, "the connection")
        return
    limits: dict[str, Any] = {} if threads is None else {"threads": threads}
    if memory_mb is not None:
        limits["memory_limit"] = f"{memory_mb}MB"
    if isinstance(rows, str | Path):
        path = Path(rows)
        if not path.exists():
            raise InputError(f"{path}: there is no such file; check the name")
        if path.is_dir():
            raise InputError(f"{path}: is a folder; give a file of records")
        kind = path.suffix.lower()
        if kind in (".duckdb", ".db"):
            with _connect(str(path), {**limits, "access_mode": "READ_ONLY"}) as connection:
                yield _queried(connection, query, str(path))
            return
        if query is not None:
            raise InputError("query: only a DuckDB file or connection takes one; leave it out")
        with _connect(":memory:", limits) as connection:
            if kind in (".parquet", ".pq"):
                yield _parquet(connection, path)
            elif kind in (".csv", ".tsv", ".txt", ".asc"):
                yield _csv(connection, path, separator)
            else:
                raise InputError(
                    f"{path}: the extension {kind or '(none)'!r} is not known; use .csv, .tsv, .parquet or .duckdb"
                )
        return
    with _connect(":memory:", limits) as connection:
        yield _frame(connection, rows)


def _connect(database: str, config: dict[str, Any]) -> duckdb.DuckDBPyConnection:
    try:
        return duckdb.connect(database, config=config)
    except duckdb.Error as error:
        raise InputError(f"{database}: cannot be opened by DuckDB ({_first(error)}); check file and options") from None


def _first(error: Exception) -> str:
    return str(error).splitlines()[0] if str(error) else type(error).__name__


def _described(run: Callable[[str], Any], relation: str, name: str, numbered: str = "row_number() OVER ()") -> Source:
    """A relation with its columns by position and its records numbered."""
    try:
        described = run(f"DESCRIBE SELECT * FROM {relation}").fetchall()
    except duckdb.Error as error:
        raise InputError(f"{name}: cannot be read ({_first(error)})") from None
    names, types = [row[0] for row in described], [row[1] for row in described]
    extra = 1 if numbered.endswith("+ 1") else 0  # Parquet counts its own records, in a last column
    columns = ", ".join(f"c{k}" for k in range(len(names)))
    numbered_from = numbered.replace("LAST", f"c{len(names) - 1}")
    inner = f"(SELECT *, {numbered_from} AS rn FROM (SELECT * FROM {relation}) AS t({columns}))"
    kept = len(names) - extra
    return Source(run, inner, tuple(names[:kept]), tuple(types[:kept]), name)


def _queried(connection: duckdb.DuckDBPyConnection, query: str | None, name: str) -> Source:
    if not query:
        raise InputError(f"{name}: say which records are meant with query=, the name of a table or a SELECT")
    text = query.strip().rstrip(";")
    relation = f"({text})" if re.match(r"(?i)(select|with|from|values)\b", text) else text
    return _described(connection.execute, relation, name)


def _parquet(connection: duckdb.DuckDBPyConnection, path: Path) -> Source:
    relation = f"read_parquet({_pattern(path)}, hive_partitioning=false, file_row_number=true)"
    return _described(connection.execute, relation, str(path), "LAST + 1")


def _frame(connection: duckdb.DuckDBPyConnection, rows: Any) -> Source:
    name = "the frame"
    if isinstance(rows, Mapping):
        rows = _arrays(rows)
    else:
        columns = [str(name) for name in getattr(rows, "column_names", getattr(rows, "columns", ()))]
        if twice := [column for column in columns if columns.count(column) > 1]:
            raise InputError(f"{name}: two columns are called {twice[0]!r}; rename one")
        if hasattr(rows, "collect") and hasattr(rows, "lazy") and not hasattr(rows, "height"):
            rows = rows.collect()
    try:
        connection.register("cellward_frame", rows)
    except (duckdb.Error, TypeError, ValueError) as error:
        raise InputError(
            f"a {type(rows).__name__} is no file of records ({_first(error)}); give a path, a pandas, polars or pyarrow frame, a mapping of columns, "
            "or a DuckDB relation"
        ) from None
    return _described(connection.execute, "cellward_frame", name)


def _arrays(rows: Mapping[str, Any]) -> dict[str, np.ndarray[Any, Any]]:
    out: dict[str, np.ndarray[Any, Any]] = {}
    for name, entries in rows.items():
        if isinstance(entries, str | bytes) or not hasattr(entries, "__len__"):
            raise InputError(f"the column {name!r} is {type(entries).__name__}, not a list; give one entry a record")
        array = np.asarray(entries)
        if array.dtype.kind not in "iuf":
            array = np.array([None if entry is None else str(entry) for entry in entries], dtype=object)
        out[name] = array
    if len({len(array) for array in out.values()}) > 1:
        raise InputError("the columns differ in length; give one entry a record in each")
    return out


def _csv(connection: duckdb.DuckDBPyConnection, path: Path, separator: str | None) -> Source:
    with path.open("rb") as handle:
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
    relation = (
        f"read_csv({_pattern(path)}, auto_detect=false, header=true, delim={_text(separator)}, quote='\"', escape='\"', "
        f"strict_mode=true, null_padding=false, columns={{{columns}}}{encoding})"
    )

    def run(sql: str) -> Any:
        try:
            return connection.execute(sql)
        except duckdb.Error as error:
            raise _csv_error(path, error, names) from None

    source = _described(run, relation, str(path))
    return Source(run, source.relation, tuple(names), source.types, str(path))


def _is_utf8(path: Path) -> bool:
    """Whether the whole file is UTF-8."""
    import codecs

    decoder = codecs.getincrementaldecoder("utf-8")()
    with path.open("rb") as handle:
        try:
            while block := handle.read(1 << 24):
                if not block.isascii() or decoder.getstate()[0]:
                    decoder.decode(block)
            decoder.decode(b"", final=True)
        except UnicodeDecodeError:
            return False
    return True


def _csv_error(path: Path, error: duckdb.Error, names: Sequence[str]) -> InputError:
    """DuckDB's complaint about a line, in one sentence."""
    text = str(error)
    line = re.search(r"[Ll]ine:? (\d+)", text)
    where = f"{path} line {line[1]}" if line else str(path)
    if fields := re.search(r"Expected Number of Columns: (\d+) Found: (\d+)", text):
        return InputError(f"{where}: {fields[2]} fields where the header has {fields[1]}; check separators and quotes")
    if "quote" in text.lower():
        return InputError(
            f"{where}: a quote is not closed, or text follows it; double the quotes inside a quoted field"
        )
    if "ncode" in text or "unicode" in text.lower():
        return InputError(f"{where}: the text is neither UTF-8 nor Latin-1; save the file as UTF-8")
    return InputError(
        f"{where}: not readable as CSV with {len(names)} columns ({_first(error)}); check separators and quotes"
    )


def _pattern(path: Path) -> str:
    """The path as a pattern that matches itself alone."""
    return _text(re.sub(r"([*?\[])", r"[\1]", str(path)))


def _text(value: str) -> str:
    """A text as SQL writes it."""
    return "'" + value.replace("'", "''") + "'"


def _listed(names: Sequence[str]) -> str:
    return ", ".join(names[:12]) + (f" and {len(names) - 12} more" if len(names) > 12 else "")
