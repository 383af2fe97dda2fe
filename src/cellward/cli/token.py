"""cellward token: who may ask the server for tables."""

from __future__ import annotations

import re
import time
from pathlib import Path
from typing import Annotated

import typer

from cellward.errors import InputError
from cellward.server.front.people import Limits, People

app = typer.Typer(help="Say who may ask the server for tables.", no_args_is_help=True)
PEOPLE = typer.Option(help="The file of tokens (confidential).")
PEOPLE_FILE = Path("people.sqlite")
UNITS = {"m": 60, "h": 3_600, "d": 86_400}
DEFAULTS = Limits()


@app.callback()
def token() -> None:
    """Say who may ask the server for tables."""


@app.command()
def add(
    name: Annotated[str, typer.Argument(metavar="NAME", help="Whose it is.")],
    role: Annotated[str, typer.Option(help="reader, reviewer or admin.")] = "reader",
    expires: Annotated[str, typer.Option(help="When it ends: 30m, 12h, 90d, or a date such as 2030-12-31.")] = "90d",
    per_minute: Annotated[int, typer.Option(help="Requests a minute.")] = DEFAULTS.per_minute,
    cells_a_table: Annotated[int, typer.Option(help="Cells of one table.")] = DEFAULTS.cells_a_table,
    cells_a_day: Annotated[int, typer.Option(help="New cells a day.")] = DEFAULTS.cells_a_day,
    people: Annotated[Path, PEOPLE] = PEOPLE_FILE,
) -> None:
    """Make a token and print it; it is stored as a hash alone, and cannot be printed again."""
    seconds = seconds_until(expires)
    typer.echo(People(people).add(name, role, seconds, Limits(per_minute, cells_a_table, cells_a_day)))


@app.command("list")
def list_them(people: Annotated[Path, PEOPLE] = PEOPLE_FILE) -> None:
    """Who has, or had, a token."""
    if not people.exists():
        raise InputError(f"{people}: no such file; make the first token with cellward token add NAME")
    now = time.time()
    for person in People(people).listed():
        ends = time.strftime("%Y-%m-%d %H:%M UTC", time.gmtime(person.expires))
        state = "taken back" if person.revoked is not None else "expired" if person.expires <= now else f"until {ends}"
        limits = person.limits
        typer.echo(
            f"  {person.name}: {person.role}, {state}; {limits.per_minute:,} requests a minute, "
            f"{limits.cells_a_table:,} cells a table, {limits.cells_a_day:,} new cells a day"
        )


@app.command()
def revoke(
    name: Annotated[str, typer.Argument(metavar="NAME", help="Whose token is taken back.")],
    people: Annotated[Path, PEOPLE] = PEOPLE_FILE,
) -> None:
    """Take a token back; it ends at once, in a server that runs too."""
    if not people.exists():
        raise InputError(f"{people}: no such file; check --people")
    People(people).revoke(name)
    typer.echo(f"  {name}: taken back")


def seconds_until(text: str) -> int:
    """The seconds until a time that is given as a span or a date.

    >>> seconds_until("90d"), seconds_until("12h")
    (7776000, 43200)
    """
    if span := re.fullmatch(r"([1-9][0-9]{0,5})([mhd])", text):
        return int(span[1]) * UNITS[span[2]]
    try:
        seconds = int(time.mktime(time.strptime(f"{text} UTC", "%Y-%m-%d %Z")) - time.timezone - time.time())
    except (ValueError, OverflowError):
        raise InputError(f"--expires {text}: write 30m, 12h, 90d, or a date such as 2030-12-31") from None
    if seconds <= 0:
        raise InputError(f"--expires {text}: that day is past; write a later one")
    return seconds
