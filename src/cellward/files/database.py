"""DuckDB, confined: it reads the files named and no others, installs and loads nothing, spills into the scratch space, and stays so configured."""

from __future__ import annotations

import re
from collections.abc import Mapping, Sequence
from pathlib import Path
from typing import TYPE_CHECKING, Any

from cellward.errors import InputError, ResourceError
from cellward.files.scratch import scratch

if TYPE_CHECKING:
    import duckdb

_APART: dict[str, Any] = {
    "autoinstall_known_extensions": False,
    "autoload_known_extensions": False,
    "allow_community_extensions": False,
    "allow_persistent_secrets": False,
    "python_enable_replacements": False,
}
"""Nothing comes in from the network, the home directory or the caller's variables."""


def connect_confined(
    database: str = ":memory:", files: Sequence[Path] = (), config: Mapping[str, Any] | None = None
) -> duckdb.DuckDBPyConnection:
    """A connection that may use the database and these files alone."""
    import duckdb

    connection = duckdb.connect(database, config={**_APART, "temp_directory": str(scratch()), **(config or {})})
    try:
        _confine(connection, files)
    except BaseException:
        connection.close()
        raise
    return connection


def _confine(connection: duckdb.DuckDBPyConnection, files: Sequence[Path]) -> None:
    """No way out from here on, whatever is asked of it."""
    paths = [each for file in files for each in (str(file.absolute()), pattern(file.absolute()))]
    if paths:
        connection.execute(f"SET allowed_paths = [{', '.join(map(sql_text, paths))}]")
    connection.execute("SET enable_external_access = false")
    connection.execute("SET lock_configuration = true")


def translated(error: Exception, name: str, otherwise: InputError) -> InputError | ResourceError:
    """What DuckDB complains of, where it is not the records: memory, the disk, or a query that reaches beyond what it was given."""
    import duckdb

    text = str(error).lower()
    if isinstance(error, duckdb.OutOfMemoryException | MemoryError):
        return ResourceError.memory(f"while {name} was added up")
    if "no space left" in text or "max_temp_directory_size" in text:
        return ResourceError.disk(f"while {name} was added up")
    if "cannot start thread" in text or "resource temporarily unavailable" in text or "bad_alloc" in text:
        return ResourceError.memory(f"while {name} was added up")
    if isinstance(error, duckdb.PermissionException) or "configuration has been locked" in text:
        return InputError(
            f"{name}: the query reaches for another file, an extension or a setting ({first_line(error)}), and may read {name} alone; "
            "put what it needs into one file"
        )
    return otherwise


def pattern(path: Path) -> str:
    """The path as a pattern that matches itself alone."""
    return re.sub(r"([*?\[])", r"[\1]", str(path))


def sql_text(value: str) -> str:
    """A text as SQL writes it."""
    return "'" + value.replace("'", "''") + "'"


def first_line(error: Exception) -> str:
    """What an error says, in short."""
    text = str(error).splitlines()[0] if str(error) else type(error).__name__
    return text if len(text) <= 200 else text[:199] + "…"
