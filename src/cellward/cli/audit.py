"""cellward audit: work out what attackers can learn from a release, and whether it is protected."""

from __future__ import annotations

import json
from pathlib import Path
from typing import Annotated, Any

import typer

from cellward.audit.audit import audit as work_out
from cellward.cli.exits import INFEASIBLE, say
from cellward.cli.options import AS_JSON, ATTACKERS
from cellward.cli.progress import bar, spinner
from cellward.cli.reading import read_table, reads_a_table
from cellward.formats.attackers import read_attackers
from cellward.protect.released import read_release
from cellward.report.sections.audit import audit_csv, audit_section, audit_summary
from cellward.report.sections.outcome import files as files_section
from cellward.report.terminal import render
from cellward.risk.attacker import Attacker


@reads_a_table
def audit(
    source: Annotated[
        Path, typer.Argument(metavar="INPUT", help="The table that was protected, as for the protection.")
    ],
    release: Annotated[
        Path,
        typer.Option(
            help="Folder of a release, a CSV of labels and published values, or another tool's pattern (CSV, .tab)."
        ),
    ],
    base: Annotated[str | None, typer.Option(help="Rounding base, where no release.json says it.")] = None,
    steps: Annotated[
        int | None, typer.Option(help="Bases a value may have moved by; 1 unless release.json says more.")
    ] = None,
    pattern: Annotated[
        str | None,
        typer.Option(
            help="Column of another tool's file that says which cells are withheld; found by its name unless given."
        ),
    ] = None,
    knowledge: Annotated[str | None, typer.Option(help="strict or paper; as released unless given.")] = None,
    attackers: Annotated[Path | None, ATTACKERS] = None,
    whole: Annotated[bool, typer.Option("--whole", help="Attackers know that values have no finer decimals.")] = False,
    cells: Annotated[str, typer.Option(help="all or sensitive.")] = "all",
    only_levels: Annotated[
        bool, typer.Option("--only-levels", help="Follow each interval only as far as the levels ask; faster.")
    ] = False,
    out: Annotated[Path | None, typer.Option(help="CSV file for the intervals (confidential).")] = None,
    time_limit_s: Annotated[
        float | None,
        typer.Option("--time-limit-s", "--time-limit", help="Seconds; cells not settled by then are called open."),
    ] = None,
    threads: Annotated[int, typer.Option(help="Problems solved side by side.")] = 1,
    as_json: Annotated[bool, AS_JSON] = False,
    *,
    reading: dict[str, Any],
) -> None:
    """Work out what attackers can learn from a release, and whether it is protected."""
    with spinner(f"reading {source.name}"):
        table = read_table(source, reading)
        told = {"base": base, "steps": steps, "knowledge": knowledge}
        published = read_release(release, table, told=told, pattern=pattern)
        known = [Attacker.external(whole=whole)] if attackers is None else read_attackers(attackers, table, whole=whole)
    with bar("auditing") as tell:
        found = work_out(
            published, table=table, attackers=known, cells=cells, only_levels=only_levels, time_limit_s=time_limit_s,
            threads=threads, progress=tell,
        )  # fmt: skip
    v = published.publication.v
    if v is not None and (missed := int((published.relations.residual(v) != 0).sum())):
        say(f"note: the published values miss {missed} equations; they do not add up")
    if out is not None:
        audit_csv(found, out)
    if as_json:
        typer.echo(json.dumps(audit_summary(found)))
    else:
        typer.echo(repr(table))
        render([audit_section(found), files_section([] if out is None else [out], {})])
    if found.protected is False:
        raise typer.Exit(INFEASIBLE)
