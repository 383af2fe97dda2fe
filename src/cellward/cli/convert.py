"""cellward convert: a table, records, a hierarchy or a code list from one file format to another."""

from __future__ import annotations

from pathlib import Path
from typing import Annotated, Any

import typer

from cellward.cli.progress import spinner
from cellward.cli.reading import read_table, reads_a_table
from cellward.convert import convert_other
from cellward.errors import InputError
from cellward.registry import write


@reads_a_table
def convert(
    source: Annotated[
        Path,
        typer.Argument(
            metavar="INPUT",
            help="A table (.jj, .tab with .rda, .csv, .tsv, .xlsx, .parquet), records (.asc with .rda), .hrc or .cdl.",
        ),
    ],
    target: Annotated[
        Path,
        typer.Argument(
            metavar="OUTPUT", help="A file of the same kind in another format (confidential, like the input)."
        ),
    ],
    *,
    reading: dict[str, Any],
) -> None:
    """Convert a table, records, a hierarchy or a code list between file formats."""
    if target.exists() and source.exists() and target.samefile(source):
        raise InputError(f"{target}: is the input itself; give the output another name")
    if (said := convert_other(source, target)) is not None:
        typer.echo(said)
        return
    with spinner(f"converting {source.name}"):
        table = read_table(source, reading)
        write(table, target)
    typer.echo(f"{target}: {table.cells:,} cells, {table.relations.equations:,} equations")
    if target.suffix.lower() not in (".jj", ".tab") and not table.labels.dims:
        typer.echo(
            f"{target} holds the cells only: a long table has no place for bare equations, keep {source}.", err=True
        )
