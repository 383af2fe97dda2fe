"""Exit codes, and the last word on what went wrong."""

from __future__ import annotations

import sys

import typer

DONE, INFEASIBLE, BAD_INPUT, FAILED, INTERRUPTED = 0, 1, 2, 3, 130
EPILOG = (
    "Exit codes: 0 done and verified; 1 infeasible, a cell under-protected, or a certificate that does not hold; 2 bad input; "
    "3 a solver failed or time ran out, nothing released; 130 Ctrl-C, nothing written. Ctrl-C in a search stops it, and what it found is written."
)


def say(sentence: str) -> None:
    """One sentence on standard error."""
    typer.echo(f"cellward: {' '.join(sentence.split())}", err=True)


def die(sentence: str, code: int) -> None:
    """The last sentence."""
    say(sentence)
    sys.exit(code)
