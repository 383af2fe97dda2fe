"""cellward key: make the secret that a release draws from."""

from __future__ import annotations

from pathlib import Path
from typing import Annotated

import typer

from cellward.key import write_new_key

app = typer.Typer(help="Make the secret that a release draws from.", no_args_is_help=True)


@app.callback()
def key() -> None:
    """Make the secret that a release draws from."""


@app.command()
def new(
    file: Annotated[Path, typer.Argument(metavar="FILE", help="A new file; one that exists is never written over.")],
) -> None:
    """Write a random key into a new file that only its owner can read."""
    typer.echo(f"  {write_new_key(file)}  (secret: keep it for the next periods, and out of any repository)")
