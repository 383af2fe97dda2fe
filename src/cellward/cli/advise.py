"""cellward advise: how large a base or a distance a table needs, what each method costs, and which to use."""

from __future__ import annotations

import json
from pathlib import Path
from typing import Annotated, Any

import typer

from cellward.advise.adviser import TIME_LIMIT_S
from cellward.advise.adviser import advise as look_at
from cellward.cli.options import ALLOW_OUTSIDE, AS_JSON, ATTACKERS
from cellward.cli.progress import spinner
from cellward.cli.reading import READING, read_table, reads_a_table
from cellward.errors import InputError
from cellward.formats.attackers import read_attackers
from cellward.job import Job
from cellward.report.sections.advice import advice_section
from cellward.report.terminal import render
from cellward.risk.attacker import Attacker
from cellward.table.table import Table


@reads_a_table
def advise(
    source: Annotated[
        Path,
        typer.Argument(
            metavar="INPUT", help="A .jj file, a table in .csv, .tsv, .xlsx or .parquet, or a job file .toml."
        ),
    ],
    attackers: Annotated[Path | None, ATTACKERS] = None,
    bases: Annotated[
        str, typer.Option(help="Bases to look at: round (3, 5, 10, 15, 20, 25, …), any, or a list such as 3,5,10.")
    ] = "round",
    time_limit_s: Annotated[
        float,
        typer.Option("--time-limit-s", "--time-limit", help="Seconds; what is not decided by then is called so."),
    ] = TIME_LIMIT_S,
    seed: Annotated[int, typer.Option(help="Breaks ties inside the solvers.")] = 0,
    threads: Annotated[int, typer.Option(help="Solver threads.")] = 1,
    allow_outside: Annotated[bool, ALLOW_OUTSIDE] = False,
    as_json: Annotated[bool, AS_JSON] = False,
    *,
    reading: dict[str, Any],
) -> None:
    """Say what it takes to protect a table: the base, the steps, the distance, what each method costs, and which to use."""
    with spinner(f"reading {source.name}"):
        table, known = read_source(source, attackers, reading, outside=allow_outside)
    with spinner(f"trying methods on {table.cells:,} cells"):
        listed = bases if bases in ("round", "any") else [one.strip() for one in bases.split(",")]
        found = look_at(table, attackers=known, bases=listed, time_limit_s=time_limit_s, seed=seed, threads=threads)
    if as_json:
        typer.echo(json.dumps(found.to_dict()))
    else:
        typer.echo(repr(table))
        render([advice_section(found, of_job=source.suffix.lower() == ".toml")])


def read_source(
    source: Path, attackers: Path | None, reading: dict[str, Any], *, outside: bool
) -> tuple[Table, list[Attacker] | None]:
    """The table and against whom it is protected: as a job says, or as for a method."""
    if source.suffix.lower() != ".toml":
        table = read_table(source, reading)
        return table, None if attackers is None else read_attackers(attackers, table)
    told = [f"--{name}" for name, (_, option) in READING.items() if reading[name] != option.default]
    if attackers is not None or told:
        first = "--attackers" if attackers is not None else told[0]
        raise InputError(f"{first}: the job {source.name} says itself how its table is read; leave it out")
    job = Job.read(source, outside=outside)
    table = job.table()
    return table, job.attackers(table)
