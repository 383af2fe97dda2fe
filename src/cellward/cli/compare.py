"""cellward compare: several methods, and rivals, on one table: what attackers get, what users lose, and which to use."""

from __future__ import annotations

import json
from pathlib import Path
from typing import Annotated, Any

import typer

from cellward.cli.advise import read_source
from cellward.cli.exits import INFEASIBLE, say
from cellward.cli.options import ALLOW_OUTSIDE, AS_JSON, ATTACKERS
from cellward.cli.progress import spinner
from cellward.cli.reading import reads_a_table
from cellward.compare.chart import drawable
from cellward.compare.comparer import TIME_LIMIT_S
from cellward.compare.comparer import compare as try_all
from cellward.compare.comparison import PICTURE
from cellward.compare.entries import read
from cellward.report.sections.compare import compare_section
from cellward.report.sections.outcome import files
from cellward.report.terminal import render


@reads_a_table
def compare(
    source: Annotated[
        Path,
        typer.Argument(
            metavar="INPUT", help="A .jj file, a long table in .csv, .tsv or .parquet, or a job file .toml."
        ),
    ],
    methods: Annotated[
        list[str] | None,
        typer.Option(
            "--methods",
            "--method",
            help="A method or a rival with its options, such as 'round base=5' or 'random-rounding base=3'; repeatable. Unless given, those "
            "that fit the table.",
        ),
    ] = None,
    attackers: Annotated[Path | None, ATTACKERS] = None,
    out: Annotated[
        Path | None, typer.Option(help="Folder for the table (CSV), the map (SVG) and the recommendation.")
    ] = None,
    time_limit_s: Annotated[
        float,
        typer.Option("--time-limit-s", "--time-limit", help="Seconds, which all methods share."),
    ] = TIME_LIMIT_S,
    seed: Annotated[int, typer.Option(help="What rivals and secrets are drawn from; nothing of it is released.")] = 0,
    threads: Annotated[int, typer.Option(help="Solver threads.")] = 1,
    allow_outside: Annotated[bool, ALLOW_OUTSIDE] = False,
    as_json: Annotated[bool, AS_JSON] = False,
    *,
    reading: dict[str, Any],
) -> None:
    """Compare methods, and rivals of other offices, on one table: what attackers get, what users lose, and which to use."""
    entries = [read(one) for one in methods] if methods else None
    with spinner(f"reading {source.name}"):
        table, known = read_source(source, attackers, reading, outside=allow_outside)
    with spinner(f"comparing methods on {table.cells:,} cells"):
        found = try_all(table, entries, attackers=known, time_limit_s=time_limit_s, seed=seed, threads=threads)
    written = [] if out is None else found.save(out)
    if out is not None and not drawable():
        say(
            f"note: {PICTURE} was not drawn, matplotlib is not installed; install it with pip install 'cellward[report]'"
        )
    if as_json:
        typer.echo(json.dumps(found.to_dict()))
    else:
        typer.echo(repr(table))
        render([compare_section(found), files(written, {})])
    if found.recommended is None and found.at_risk:
        raise typer.Exit(INFEASIBLE)
