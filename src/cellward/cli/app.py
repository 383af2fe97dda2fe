"""The application: all commands together, those of the methods read off their declarations."""

from __future__ import annotations

import functools
import sys
import traceback
from collections.abc import Callable
from pathlib import Path
from typing import Annotated, Any

import typer

from cellward.cli import (
    advise,
    audit,
    compare,
    convert,
    key,
    ledger,
    policy,
    protect,
    run,
    serve,
    tabulate,
    token,
    verify,
)
from cellward.cli.exits import BAD_INPUT, DONE, EPILOG, FAILED, INTERRUPTED, die
from cellward.cli.options import with_options
from cellward.cli.own_words import own_words
from cellward.cli.voice import VOICE, speaking
from cellward.cli.writing import ReportAlone
from cellward.errors import CellwardError, InputError, ResourceError, out_of_memory
from cellward.files.scratch import sweep
from cellward.files.whole import private_files
from cellward.protect.methods import METHODS
from cellward.version import __version__

COMMANDS: dict[str, Callable[..., None]] = {
    "tabulate": tabulate.tabulate,
    "run": run.run,
    "advise": advise.advise,
    "compare": compare.compare,
    "policy": policy.policy,
    "convert": convert.convert,
    "audit": audit.audit,
    "verify": verify.verify,
    "serve": serve.serve,
}
"""The commands that are of no method."""


def build() -> typer.Typer:
    """The application with a command for every method that is known now."""
    app = typer.Typer(
        add_completion=False,
        pretty_exceptions_enable=False,
        help="Protect statistical tables: find a table that gives nobody away, still adds up, and comes with a proof.",
        epilog=EPILOG,
    )
    app.callback(invoke_without_command=True)(_version)
    for method in METHODS:
        app.command(method.word, cls=ReportAlone, help=method.summary)(_heard(protect.command(method)))
    for name, command in COMMANDS.items():
        app.command(name, cls=ReportAlone)(_heard(command))
    app.add_typer(key.app, name="key")
    app.add_typer(ledger.app, name="ledger")
    app.add_typer(token.app, name="token")
    return app


def _heard(command: Callable[..., None]) -> Callable[..., None]:
    """The command, whose Ctrl-C reaches us with its notes; typer by itself would end without a word."""

    @functools.wraps(command)
    def run_it(*, voice: dict[str, Any], **given: Any) -> None:
        try:
            with speaking(voice, as_json=given.get("as_json", False)):
                command(**given)
        except KeyboardInterrupt as error:
            raise typer.Abort from error

    return with_options(VOICE, "voice")(run_it)


def _version(version: Annotated[bool, typer.Option("--version", help="Print the version and exit.")] = False) -> None:
    if version:
        typer.echo(f"cellward {__version__}")
        raise typer.Exit(DONE)


def main() -> None:
    """Run the command line; every error is one sentence on standard error and an exit code."""
    try:
        with own_words(), private_files():
            sweep()
            sys.exit(build()(sys.argv[1:] or ["--help"], standalone_mode=False) or DONE)
    except InputError as error:
        die(_noted(error), BAD_INPUT)
    except CellwardError as error:
        die(_noted(error), FAILED)
    except (KeyboardInterrupt, typer.Abort) as error:
        die(f"interrupted; {'; '.join(_notes(error)) or 'nothing was written'}", INTERRUPTED)
    except Exception as error:  # noqa: BLE001 (the last resort: a bug of ours must not look like an answer either)
        if hasattr(error, "format_message"):
            die(f"{error.format_message().rstrip('.')}; see cellward --help", BAD_INPUT)
        if out_of_memory(error):
            die(_noted(ResourceError.memory("on the way"), _notes(error)), FAILED)
        said = "; ".join(_notes(error)) or "nothing was released"
        die(f"this is a bug: {type(error).__name__} in {_place(error)}; {said}", FAILED)


def _place(error: BaseException) -> str:
    """Where an error of ours comes from; not what it says, which may hold a value of the table."""
    frames = [frame for frame in traceback.extract_tb(error.__traceback__) if "cellward" in frame.filename]
    last = frames[-1] if frames else traceback.extract_tb(error.__traceback__)[-1]
    return f"{Path(last.filename).name} line {last.lineno}"


def _notes(error: BaseException) -> list[str]:
    """What had been written when the error came, or the one that caused it."""
    cause = error.__cause__
    return [*getattr(error, "__notes__", []), *getattr(cause if cause is not error else None, "__notes__", [])]


def _noted(error: CellwardError, notes: list[str] | None = None) -> str:
    return "; ".join([str(error), *(_notes(error) if notes is None else notes)])
