"""cellward policy: read out the rules of a policy file and its hash, and lock it."""

from __future__ import annotations

from pathlib import Path
from typing import Annotated

import typer

from cellward.risk.policy import Policy


def policy(
    source: Annotated[Path, typer.Argument(metavar="POLICY.toml", help="A policy file with rules.")],
    lock: Annotated[
        bool,
        typer.Option("--lock", help="Lock the file: from now on it is refused when its name or rules were changed."),
    ] = False,
) -> None:
    """Read out the rules of a policy file and its hash, which a job can demand ([risk] policy_sha256), and lock it."""
    read = Policy.read(source)
    if lock:
        read = read.lock()
        read.write(source)
    typer.echo(f"{read.name}: {'locked' if read.locked else 'not locked'}, {read.digest}")
    for rule in read.rules:
        typer.echo(f"  {rule.short}: {rule.sentence}")
