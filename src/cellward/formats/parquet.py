"""Parquet: long tables through DuckDB; numbers travel as text or DECIMAL, so nothing is rounded on the way."""

from __future__ import annotations

from collections.abc import Callable, Mapping, Sequence
from pathlib import Path

import numpy as np

from cellward.errors import InputError
from cellward.files.database import connect_confined, first_line, pattern, sql_text, translated
from cellward.files.scratch import scratch_folder
from cellward.files.text import check_input, naming
from cellward.files.whole import write_whole
from cellward.formats.long import build, check_header, long_columns
from cellward.formats.printed_table import PrintedTable
from cellward.table.frame import LongSpec
from cellward.table.levels import INFINITE
from cellward.table.table import Table


def read_parquet(path: str | Path, spec: LongSpec) -> Table:
    """Read a long table from a Parquet file."""
    path = Path(path)
    wanted = spec.wanted if spec.across is None else None
    columns = read_texts(path, wanted, lambda names: check_header(path, names, spec))
    picked = spec.picked(list(columns))
    rows = list(zip(*(columns[name] for name in picked), strict=True))
    return build(path, spec, picked, rows, lambda row: f"row {row + 1}")


def read_texts(
    path: Path, wanted: Sequence[str] | None = None, check: Callable[[list[str]], None] | None = None
) -> dict[str, list[str | None]]:
    """The columns of a Parquet file (all unless named) as texts; ``check`` may refuse the names before the rest is read."""
    import duckdb

    check_input(path)
    with connect_confined(files=[path]) as connection:
        try:
            names = [
                row[0]
                for row in connection.execute(
                    "DESCRIBE SELECT * FROM read_parquet(?, hive_partitioning=false)", [pattern(path)]
                ).fetchall()
            ]
            if check is not None:
                check(names)
            # By position, because DuckDB takes names that differ only in case for one.
            position = [f"c{k}" for k in range(len(names))]
            picked = names if wanted is None else list(wanted)
            texts = ", ".join(f"CAST({position[names.index(name)]} AS VARCHAR)" for name in picked)
            rows = connection.execute(
                f"SELECT {texts} FROM read_parquet(?, hive_partitioning=false) AS t({', '.join(position)})",
                [pattern(path)],
            ).fetchall()
        except duckdb.Error as error:
            said = InputError(f"{path}: not readable as Parquet ({first_line(error)}); check the file")
            raise translated(error, str(path), said) from error
    return {name: [row[k] for row in rows] for k, name in enumerate(picked)}


def write_parquet(table: Table, path: str | Path) -> Path:
    """Write a confidential table as a long Parquet file, whole or not at all."""
    texts = long_columns(table)
    values = f"DECIMAL(38, {table.decimals})"
    kind = dict.fromkeys(("value", "lpl", "upl", "spl", "lower", "upper"), values)
    kind["cost"] = f"DECIMAL(38, {table.weight_decimals})"
    for name in ("lpl", "upl"):
        if (getattr(table.sensitivity, name) >= INFINITE).any():
            kind[name] = "VARCHAR"  # it has no end to write as a number
    first = len(table.labels.columns()) + len(table.labels.word_columns())
    types = ["VARCHAR"] * first + [kind.get(name.split()[-1], "VARCHAR") for name in list(texts)[first:]]
    return write_texts(texts, Path(path), types)


def write_texts(texts: Mapping[str, Sequence[str | None]], path: Path, types: Sequence[str] | None = None) -> Path:
    """Write columns of texts as a confidential Parquet file, with these types (or as texts); an empty text is no entry."""
    with naming(path):
        return write_whole(path, parquet_bytes(texts, types or ["VARCHAR"] * len(texts)), confidential=True)


def printed_parquet(table: PrintedTable) -> bytes:
    """A printed table: numbers whole, or decimals with as many places as are printed; title, footnotes and method in the file's metadata."""
    number = f"DECIMAL(38, {table.decimals})" if table.decimals else "BIGINT"
    types = [number if numeric else "VARCHAR" for numeric in table.numeric]
    said = {**table.about, "title": table.title, "footnotes": "\n".join(table.footnotes)}
    return parquet_bytes(table.long(), types, {key: text for key, text in said.items() if text})


def parquet_bytes(
    texts: Mapping[str, Sequence[str | None]], types: Sequence[str], said: Mapping[str, str] | None = None
) -> bytes:
    """Columns of texts as a Parquet file, with these types; an empty text is no entry. ``said``: metadata of the file."""
    import duckdb

    if len({name.casefold() for name in texts}) < len(texts):
        raise InputError(
            f"two columns differ only in case ({', '.join(texts)}), which Parquet tools confuse; rename one"
        )
    columns = {f"c{k}": np.array(column, dtype=object) for k, column in enumerate(texts.values())}
    select = ", ".join(
        f"CAST(nullif(c{k}, '') AS {t}) AS {_quoted(name)}"
        for k, (name, t) in enumerate(zip(texts, types, strict=True))
    )
    facts = ", ".join(f"{_quoted(key)}: {sql_text(text)}" for key, text in (said or {}).items())
    options = f"FORMAT parquet, USE_TMP_FILE false{f', KV_METADATA {{{facts}}}' if facts else ''}"
    with scratch_folder() as private:
        made = private / "table.parquet"
        try:
            with connect_confined(files=[made]) as connection:
                connection.register("columns", columns)
                connection.execute(f"COPY (SELECT {select} FROM columns) TO {sql_text(str(made))} ({options})")
        except duckdb.Error as error:
            said_so = InputError(f"cannot be written as Parquet ({first_line(error)}); choose another format")
            raise translated(error, "the file", said_so) from error
        return made.read_bytes()


def _quoted(name: str) -> str:
    return '"' + name.replace('"', '""') + '"'
