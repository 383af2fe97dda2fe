"""cellward ledger: verify, show and export what a server has published."""

from __future__ import annotations

import csv
import io
import json
from pathlib import Path
from typing import Annotated

import typer

from cellward.cli.exits import INFEASIBLE
from cellward.cli.options import AS_JSON
from cellward.errors import InputError
from cellward.files.whole import check_folder, write_whole
from cellward.server.ledger.ledger import Ledger
from cellward.server.ledger.verify import verify_ledger

app = typer.Typer(help="Verify, show and export what a server has published.", no_args_is_help=True)
LEDGER = typer.Argument(metavar="LEDGER", help="The ledger of a server; it may be in use.")
_COLUMNS = ("seq", "at", "who", "kind", "dataset", "request", "said")


@app.command()
def verify(file: Annotated[Path, LEDGER], as_json: Annotated[bool, AS_JSON] = False) -> None:
    """Check the chain of all entries, every answer and every cell; exit code 1 where something was changed."""
    found = verify_ledger(file)
    if as_json:
        typer.echo(json.dumps({"ok": found.ok, "rows": found.rows, "head": found.head, "sentence": found.sentence}))
    else:
        typer.echo(f"  {found.sentence}" + (f"\n  head {found.head}" if found.ok else ""))
    if not found:
        raise typer.Exit(INFEASIBLE)


@app.command()
def show(
    file: Annotated[Path, LEDGER],
    who: Annotated[str | None, typer.Option(help="Only what this analyst asked.")] = None,
    limit: Annotated[int, typer.Option(help="So many entries, the newest first.", min=1)] = 20,
) -> None:
    """Who asked what, the newest first."""
    ledger = Ledger(file, readonly=True)
    for one in ledger.entries(who=who, limit=limit):
        typer.echo(
            f"  {one['seq']:>6}  {one['at']}  {one['who']}  {one['kind']} {one['said']}  {one['dataset']}  {one['request']}"
        )


@app.command()
def export(
    file: Annotated[Path, LEDGER],
    out: Annotated[
        Path,
        typer.Argument(metavar="OUT", help="A new .sqlite file for a consistent copy, or a .csv file for the trail."),
    ],
) -> None:
    """Copy a ledger as it stands at one moment, or write its trail as a table."""
    check_folder(out)
    if out.resolve() == file.resolve():
        raise InputError(f"{out}: is the ledger itself; choose another name")
    ledger = Ledger(file, readonly=True)
    if out.suffix == ".sqlite":
        ledger.copy(out)
    elif out.suffix == ".csv":
        text = io.StringIO(newline="")
        rows = csv.writer(text, lineterminator="\n")
        rows.writerow(_COLUMNS)
        rows.writerows([one[name] for name in _COLUMNS] for one in reversed(ledger.entries(limit=-1)))
        write_whole(out, text.getvalue().encode(), confidential=True)
    else:
        raise InputError(f"{out}: the extension {out.suffix or '(none)'!r} is not known; use .sqlite or .csv")
    typer.echo(f"  {out}")
