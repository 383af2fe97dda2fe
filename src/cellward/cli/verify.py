"""cellward verify: check certificates exactly, independently of what wrote them."""

from __future__ import annotations

from pathlib import Path
from typing import Annotated, Any

import typer

from cellward.audit.certificate import verify as verify_against
from cellward.audit.verify import main as check
from cellward.cli.exits import INFEASIBLE
from cellward.cli.reading import read_table, reads_a_table


@reads_a_table
def verify(
    certificates: Annotated[
        list[Path],
        typer.Argument(
            metavar="CERTIFICATE...",
            help="certificate.json.gz files; or one of them with its release.csv and release.json.",
        ),
    ],
    table: Annotated[
        Path | None, typer.Option(help="The table that should have been certified, read as for the protection.")
    ] = None,
    *,
    reading: dict[str, Any],
) -> None:
    """Check certificates exactly, independently of what wrote them."""
    if table is not None:
        original = read_table(table, reading)
        for path in certificates:
            if path.name.endswith(".gz") and not (verdict := verify_against(path, table=original)):
                typer.echo(f"{path}: DOES NOT HOLD: {verdict.reason}")
                raise typer.Exit(INFEASIBLE)
    raise typer.Exit(check([str(path) for path in certificates]))
