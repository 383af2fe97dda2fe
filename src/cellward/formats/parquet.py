"""Parquet: long tables through DuckDB; numbers travel as text or DECIMAL, so nothing is rounded on the way."""

from __future__ import annotations

import re
import tempfile
from pathlib import Path

import numpy as np

from cellward.errors import InputError
from cellward.formats.long import build, check_header, long_columns
from cellward.table.frame import LongSpec
from cellward.table.table import Table


def read_parquet(path: str | Path, spec: LongSpec) -> Table:
    """Read a long table from a Parquet file."""
    import duckdb

    path = Path(path)
    if not path.is_file():
        raise InputError(f"{path}: there is no such file; check the name")
    with duckdb.connect() as connection:
        try:
            names = [
                row[0]
                for row in connection.execute(
                    "DESCRIBE SELECT * FROM read_parquet(?, hive_partitioning=false)", [_literal(path)]
                ).fetchall()
            ]
            check_header(path, names, spec)
            # By position, because DuckDB takes names that differ only in case for one.
            position = [f"c{k}" for k in range(len(names))]
            texts = ", ".join(f"CAST({position[names.index(name)]} AS VARCHAR)" for name in spec.wanted)
            rows = connection.execute(
                f"SELECT {texts} FROM read_parquet(?, hive_partitioning=false) AS t({', '.join(position)})",
                [_literal(path)],
            ).fetchall()
        except duckdb.Error as error:
            raise InputError(f"{path}: not readable as Parquet ({str(error).splitlines()[0]})") from error
    return build(path, spec, rows, lambda row: f"row {row + 1}")


def write_parquet(table: Table, path: str | Path) -> Path:
    """Write a confidential table as a long Parquet file, whole or not at all."""
    import duckdb

    path = Path(path)
    texts = long_columns(table)
    if len({name.casefold() for name in texts}) < len(texts):
        raise InputError(
            f"{path}: two columns differ only in case ({', '.join(texts)}), which Parquet tools confuse; rename one"
        )
    columns = {f"c{k}": np.array(column, dtype=object) for k, column in enumerate(texts.values())}  # noqa: F841 (DuckDB finds it by name)
    values = f"DECIMAL(38, {table.decimals})"
    kind = dict.fromkeys(("value", "lpl", "upl", "spl", "lower", "upper"), values)
    kind["weight"] = f"DECIMAL(38, {table.weight_decimals})"
    types = ["VARCHAR"] * len(table.labels.columns()) + [kind.get(name, "VARCHAR") for name in texts][
        len(table.labels.columns()) :
    ]
    select = ", ".join(
        f"CAST(nullif(c{k}, '') AS {t}) AS {_quoted(name)}"
        for k, (name, t) in enumerate(zip(texts, types, strict=True))
    )
    try:
        # A private folder: DuckDB makes the file anew, with the permissions it likes.
        with tempfile.TemporaryDirectory(dir=path.parent, prefix=f".{path.name}.") as private:
            temporary = Path(private) / "table.parquet"
            with duckdb.connect() as connection:
                connection.execute(
                    f"COPY (SELECT {select} FROM columns) TO '{str(temporary).replace(chr(39), chr(39) * 2)}' (FORMAT parquet)"
                )
            temporary.chmod(0o600)
            temporary.replace(path)
    except duckdb.Error as error:
        raise InputError(f"{path}: cannot be written ({str(error).splitlines()[0]})") from error
    except OSError as error:
        raise InputError(f"{path}: cannot be written ({error.strerror}); choose another file") from error
    return path


def _literal(path: Path) -> str:
    """The path as a pattern that matches itself alone."""
    return re.sub(r"([*?\[])", r"[\1]", str(path))


def _quoted(name: str) -> str:
    return '"' + name.replace('"', '""') + '"'
