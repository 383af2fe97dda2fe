"""The application: all commands together, those of the methods read off their declarations."""

from __future__ import annotations

import sys
from typing import Annotated

import typer

from cellward.cli import audit, convert, key, policy, protect, run, tabulate, verify
from cellward.cli.exits import BAD_INPUT, DONE, EPILOG, FAILED, INTERRUPTED, die
from cellward.errors import CellwardError, InputError, ResourceError, out_of_memory
from cellward.files.scratch import sweep
from cellward.files.whole import private_files
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
        with private_files():
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
        die(f"this is a bug: {type(error).__name__}: {error}; {said}", FAILED)


def _notes(error: BaseException) -> list[str]:
    """What had been written when the error came, or the one that caused it."""
    cause = error.__cause__
    return [*getattr(error, "__notes__", []), *getattr(cause if cause is not error else None, "__notes__", [])]


def _noted(error: CellwardError, notes: list[str] | None = None) -> str:
    return "; ".join([str(error), *(_notes(error) if notes is None else notes)])
