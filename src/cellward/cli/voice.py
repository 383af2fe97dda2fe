"""Voice: how much a command says: ``-q`` nothing but errors and ``--json``, ``-v`` every phase, ``-vv`` every better table too, by the logger."""

from __future__ import annotations

import contextlib
import io
import logging
from collections.abc import Iterator
from typing import Any

import typer

from cellward.cli.options import Options, in_panel
from cellward.cli.progress import silent
from cellward.errors import InputError
from cellward.solve.watch import LOGGER

VOICE: Options = in_panel(
    {
        "quiet": (bool, typer.Option(False, "--quiet", "-q", help="Say nothing but errors, and what --json prints.")),
        "verbose": (
            int,
            typer.Option(
                0, "--verbose", "-v", count=True, help="Log every phase on standard error; -vv every better table too."
            ),
        ),
    },
    "What is said",
)


@contextlib.contextmanager
def speaking(voice: dict[str, Any], *, as_json: bool) -> Iterator[None]:
    """While in here, a command says as much as it is asked to."""
    if voice["quiet"] and voice["verbose"]:
        raise InputError("--quiet: it does not go with --verbose; leave one of them out")
    with contextlib.ExitStack() as stack:
        if voice["quiet"] or voice["verbose"]:
            stack.enter_context(silent())
        if voice["quiet"] and not as_json:
            stack.enter_context(contextlib.redirect_stdout(io.StringIO()))
        if voice["verbose"]:
            stack.enter_context(_logging(logging.INFO if voice["verbose"] == 1 else logging.DEBUG))
        yield


@contextlib.contextmanager
def _logging(level: int) -> Iterator[None]:
    """The log on standard error, with the seconds since the program began."""
    handler, before = logging.StreamHandler(), LOGGER.level
    handler.setFormatter(_Seconds())
    LOGGER.addHandler(handler)
    LOGGER.setLevel(level)
    try:
        yield
    finally:
        LOGGER.removeHandler(handler)
        LOGGER.setLevel(before)


class _Seconds(logging.Formatter):
    """A line with its time."""

    def format(self, record: logging.LogRecord) -> str:
        """As the command line says everything."""
        return f"cellward: {record.getMessage()} ({record.relativeCreated / 1000:.1f} s)"
