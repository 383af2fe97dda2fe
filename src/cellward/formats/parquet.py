"""Parquet: long tables through DuckDB; numbers travel as text or DECIMAL, so nothing is rounded on the way."""

from __future__ import annotations

import os
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
                row[0] for row in connection.execute("DESCRIBE SELECT * FROM read_parquet(?)", [str(path)]).fetchall()
            ]
            check_header(path, names, spec)
            texts = ", ".join(f"CAST({_quoted(name)} AS VARCHAR)" for name in spec.wanted)
            rows = connection.execute(f"SELECT {texts} FROM read_parquet(?)", [str(path)]).fetchall()
        except duckdb.Error as error:
            raise InputError(f"{path}: not readable as Parquet ({str(error).splitlines()[0]})") from error
    return build(path, spec, rows, lambda row: f"row {row + 1}")


def write_parquet(table: Table, path: str | Path) -> Path:
    """Write a confidential table as a long Parquet file, whole or not at all."""
    import duckdb

    path = Path(path)
    columns = {name: np.array(column, dtype=object) for name, column in long_columns(table).items()}
    kind = dict.fromkeys(("value", "lpl", "upl", "spl"), f"DECIMAL(18, {table.decimals})")
    kind["weight"] = f"DECIMAL(18, {table.weight_decimals})"
    names = [f"CAST({_quoted(name)} AS {kind.get(name, 'VARCHAR')}) AS {_quoted(name)}" for name in columns]
    handle, temporary = tempfile.mkstemp(dir=path.parent, prefix=f".{path.name}.")
    os.close(handle)
    try:
        with duckdb.connect() as connection:
            connection.execute(
                f"COPY (SELECT {', '.join(names)} FROM columns) TO '{temporary.replace(chr(39), chr(39) * 2)}' (FORMAT parquet)"
            )
        os.replace(temporary, path)  # noqa: PTH105
    except duckdb.Error as error:
        raise InputError(f"{path}: cannot be written ({str(error).splitlines()[0]})") from error
    finally:
        Path(temporary).unlink(missing_ok=True)
    return path


def _quoted(name: str) -> str:
    return '"' + name.replace('"', '""') + '"'
