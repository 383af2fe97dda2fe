"""The application: all commands together, those of the methods read off their declarations."""

from __future__ import annotations

import sys
from typing import Annotated

import typer

from cellward.cli import audit, convert, key, policy, protect, run, tabulate, verify
from cellward.cli.exits import BAD_INPUT, DONE, EPILOG, FAILED, INTERRUPTED, die
from cellward.errors import CellwardError, InputError
from cellward.protect.methods import METHODS
from cellward.version import __version__


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
        app.command(method.word, help=method.summary)(protect.command(method))
    app.command("tabulate")(tabulate.tabulate)
    app.command("run")(run.run)
    app.command("policy")(policy.policy)
    app.add_typer(key.app, name="key")
    app.command("convert")(convert.convert)
    app.command("audit")(audit.audit)
    app.command("verify")(verify.verify)
    return app


def _version(version: Annotated[bool, typer.Option("--version", help="Print the version and exit.")] = False) -> None:
    if version:
        typer.echo(f"cellward {__version__}")
        raise typer.Exit(DONE)


def main() -> None:
    """Run the command line; every error is one sentence on standard error and an exit code."""
    try:
        sys.exit(build()(sys.argv[1:] or ["--help"], standalone_mode=False) or DONE)
    except InputError as error:
        die(str(error), BAD_INPUT)
    except CellwardError as error:
        die(str(error), FAILED)
    except (KeyboardInterrupt, typer.Abort):
        die("interrupted; nothing was written", INTERRUPTED)
    except Exception as error:  # noqa: BLE001 (the last resort: a bug of ours must not look like an answer either)
        if hasattr(error, "format_message"):
            die(f"{error.format_message().rstrip('.')}; see cellward --help", BAD_INPUT)
        die(f"this is a bug: {type(error).__name__}: {error}; nothing was released", FAILED)
