"""Random microdata in every form that the package reads: mappings, data frames, files, DuckDB."""

from __future__ import annotations

import contextlib
import csv
import tempfile
from collections.abc import Iterator, Sequence
from decimal import Decimal
from pathlib import Path
from random import Random
from typing import Any

from random_microdata import Microdata


@contextlib.contextmanager
def given(case: Microdata, kind: str | None = None) -> Iterator[tuple[Any, dict[str, Any]]]:
    """The records as an object or a file, and the options that go with it."""
    import duckdb
    import pandas as pd
    import polars as pl

    kind = kind or case.kind
    rng = Random(case.seed)
    options = dict(case.options)
    columns = case.records.columns
    with contextlib.ExitStack() as stack:
        if kind == "CSV":
            folder = stack.enter_context(tempfile.TemporaryDirectory())
            yield _csv(case, Path(folder) / "records.csv", rng, options), options
            return
        if kind == "mapping":
            yield {name: _entries(own, case.forms.get(name, "text")) for name, own in columns.items()}, options
            return
        if kind == "pandas":
            frame = pd.DataFrame({name: _pandas(own, case.forms.get(name, "text")) for name, own in columns.items()})
            yield frame, options
            return
        if kind == "polars":
            made = pl.DataFrame([_polars(name, own, case.forms.get(name, "text")) for name, own in columns.items()])
            yield rng.choice((made, made.lazy())), options
            return
        arrow = _arrow(case)
        if kind == "pyarrow":
            yield arrow, options
        elif kind == "Parquet":
            import pyarrow.parquet

            folder = stack.enter_context(tempfile.TemporaryDirectory())
            path = Path(folder) / "records [1]*.parquet"
            pyarrow.parquet.write_table(arrow, path, row_group_size=rng.choice((7, 1000)))
            yield rng.choice((path, str(path))), options
        else:
            folder = stack.enter_context(tempfile.TemporaryDirectory())
            path = Path(folder) / "records.duckdb"
            connection = stack.enter_context(duckdb.connect(str(path)))
            connection.register("arrow_rows", arrow)
            connection.execute("CREATE TABLE records AS SELECT * FROM arrow_rows")
            if kind == "DuckDB relation":
                yield connection.table("records"), options
                return
            options["query"] = rng.choice(("records", "SELECT * FROM records;", "from records"))
            if rng.random() < 0.5:
                yield connection, options
            else:
                connection.close()
                yield path, options


def _entries(own: Sequence[str | None], form: str) -> list[Any]:
    if form == "int" and None not in own:
        return [int(entry) for entry in own if entry is not None]
    if form == "float":
        return [float("nan") if entry is None else float(entry) for entry in own]
    if form == "decimal":
        return [None if entry is None else Decimal(entry) for entry in own]
    return list(own)


def _pandas(own: Sequence[str | None], form: str) -> Any:
    import pandas as pd

    if form == "int":
        whole = [None if entry is None else int(entry) for entry in own]
        return pd.Series(whole, dtype="Int64" if None in own else "int64")
    if form == "float":
        return pd.Series(_entries(own, form), dtype="float64")
    return pd.Series(_entries(own, form), dtype={"category": "category", "text": "str"}.get(form, "object"))


def _polars(name: str, own: Sequence[str | None], form: str) -> Any:
    import polars as pl

    kinds = {"int": pl.Int64, "float": pl.Float64, "decimal": pl.Decimal(30, 6), "category": pl.Categorical}
    entries = _entries(own, form) if form == "decimal" else list(own)
    if form in ("int", "float"):
        entries = [None if entry is None else (int if form == "int" else float)(entry) for entry in own]
    return pl.Series(name, entries, dtype=kinds.get(form, pl.String))


def _arrow(case: Microdata) -> Any:
    import pyarrow as pa

    kinds = {"int": pa.int64(), "float": pa.float64(), "decimal": pa.decimal128(30, 6)}
    arrays = {}
    for name, own in case.records.columns.items():
        form = case.forms.get(name, "text")
        entries: list[Any] = list(own)
        if form in ("int", "float", "decimal"):
            read = {"int": int, "float": float, "decimal": Decimal}[form]
            entries = [None if entry is None else read(entry) for entry in own]
        array = pa.array(entries, kinds.get(form, pa.string()))
        arrays[name] = array.dictionary_encode() if form == "category" else array
    return pa.table(arrays)


def _csv(case: Microdata, path: Path, rng: Random, options: dict[str, Any]) -> Path:
    """A CSV file of some dialect; what is missing is empty."""
    separator = rng.choice((",", ";", "\t", "|"))
    numbers = [name for name in (case.records.measure, case.records.weight) if name is not None]
    comma = rng.random() < 0.3
    if comma:
        options["decimal"] = ","
    head, *rest = case.records.columns.items()
    rows = list(zip(*(own for _, own in (head, *rest)), strict=True))
    names = [head[0], *(name for name, _ in rest)]
    if rng.random() < 0.5 or len(names) == 1:
        options["separator"] = separator
    encoding = rng.choice(("utf-8", "utf-8-sig", "latin-1"))
    with path.open("w", newline="", encoding=encoding) as file:
        quoting = rng.choice((csv.QUOTE_MINIMAL, csv.QUOTE_ALL))
        writer = csv.writer(file, delimiter=separator, quoting=quoting, lineterminator=rng.choice(("\n", "\r\n")))
        writer.writerow(names)
        for row in rows:
            cells = ["" if entry is None else entry for entry in row]
            if comma:
                cells = [e.replace(".", ",") if n in numbers else e for n, e in zip(names, cells, strict=True)]
            writer.writerow(cells)
    return path
