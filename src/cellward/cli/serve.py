"""cellward serve: the on-line table server."""

from __future__ import annotations

import importlib.util
import sys
from pathlib import Path
from typing import Annotated

import typer

from cellward.cli.exits import say
from cellward.cli.options import by_dimension
from cellward.cli.token import PEOPLE
from cellward.errors import InputError
from cellward.server.described import write_config
from cellward.server.front.people import People
from cellward.server.serving import Address, Serving

FIRST_S = 86_400


def serve(
    source: Annotated[
        Path,
        typer.Argument(
            metavar="SOURCE", help="A configuration .toml, as docs/server.md says, or a file of records with --dims."
        ),
    ],
    dims: Annotated[str, typer.Option(help="Of a file of records: the dimension columns, separated by commas.")] = "",
    measure: Annotated[str, typer.Option(help="The columns that are added up, separated by commas.")] = "",
    contributor: Annotated[str | None, typer.Option(help="The column that says whose record it is.")] = None,
    holding: Annotated[str | None, typer.Option(help="The column of holdings.")] = None,
    hierarchy: Annotated[
        list[str] | None, typer.Option(help="DIM=FILE: the sums between its codes; repeatable.")
    ] = None,
    policy: Annotated[str, typer.Option(help="The rules: a policy file, or default.")] = "default",
    people: Annotated[Path, PEOPLE] = Path("people.sqlite"),
    host: Annotated[str, typer.Option(help="Where to listen; this machine alone unless told.")] = "127.0.0.1",
    port: Annotated[int, typer.Option(help="The port; 0: any that is free.", min=0, max=65535)] = 8000,
    tls_cert: Annotated[Path | None, typer.Option(help="Certificate of TLS (PEM, with its chain).")] = None,
    tls_key: Annotated[Path | None, typer.Option(help="Key of that certificate (PEM).")] = None,
    wait: Annotated[
        float,
        typer.Option(
            help="Seconds that a client waits for a table before it is told where to look after it.",
            min=0.0,
            max=3600.0,
        ),
    ] = 10.0,
) -> None:
    """Serve tables over records: whatever is asked, the same cell is the same, all adds up, and nobody is given away."""
    if missing := [name for name in ("fastapi", "uvicorn") if importlib.util.find_spec(name) is None]:
        raise InputError(f"{missing[0]} is not installed; install the extra: pip install 'cellward[server]'")
    if not source.is_file():
        raise InputError(f"{source}: no such file; give the configuration of a server")
    address = Address(host, port, tls_cert, tls_key)
    config = source
    if source.suffix.lower() != ".toml":
        hung = {name: files[-1] for name, files in by_dimension(hierarchy, "hierarchy", "DIM=FILE").items()}
        config = write_config(
            source, dimensions=_names(dims), measures=_names(measure), policy=policy, hierarchies=hung, contributor=contributor, holding=holding
        )  # fmt: skip
        say(f"{config} says what is served; change it there, and keep its key and its ledger")
    elif dims or measure or contributor or holding or hierarchy or policy != "default":
        raise InputError(f"{source}: says itself what is served; leave --dims, --measure and the like out")
    first = not people.exists()
    tokens = People(people)
    if first:
        token = tokens.add("first", "admin", FIRST_S)
        say(f"{people} is new: it holds one token, of an administrator called first, for a day: {token}")
    tokens.close()
    if not address.alone and tls_cert is None:
        say(
            f"{host} can be reached from elsewhere, and without TLS tokens travel in clear; give --tls-cert and --tls-key"
        )
    vault = [sys.executable, "-P", "-m", "cellward.server.vault", str(config)]
    Serving(vault, people, address, wait).run(say, typer.echo)


def _names(text: str) -> list[str]:
    return [name.strip() for name in text.split(",") if name.strip()]
