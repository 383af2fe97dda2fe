"""Options that several commands share, given to a command as one dictionary."""

from __future__ import annotations

import functools
import inspect
from collections.abc import Callable
from typing import Any

import typer

from cellward.errors import InputError

Options = dict[str, tuple[Any, Any]]
"""Annotation and default of each option by name."""


def with_options(options: Options, together: str) -> Callable[[Callable[..., None]], Callable[..., None]]:
    """Give a command these options; it gets them as one dictionary of this name."""

    def decorate(command: Callable[..., None]) -> Callable[..., None]:
        signature = inspect.signature(command, eval_str=True)
        own = [p for p in signature.parameters.values() if p.name != together]
        kind = inspect.Parameter.KEYWORD_ONLY
        extra = [inspect.Parameter(name, kind, annotation=a, default=d) for name, (a, d) in options.items()]

        @functools.wraps(command)
        def run(**given: Any) -> None:
            command(**{together: {name: given.pop(name) for name in options}}, **given)

        parameters = [*(p.replace(kind=kind) for p in own), *extra]
        run.__signature__ = inspect.Signature(parameters)  # type: ignore[attr-defined]
        run.__annotations__ = {p.name: p.annotation for p in parameters}
        del run.__wrapped__
        return run

    return decorate


def in_panel(options: Options, panel: str) -> Options:
    """The same options under a heading of their own in the help."""
    for _, option in options.values():
        option.rich_help_panel = panel
    return options


def by_dimension(entries: list[str] | None, option: str, form: str) -> dict[str, list[str]]:
    """DIM=TEXT options by dimension."""
    found: dict[str, list[str]] = {}
    for entry in entries or []:
        dim, equals, text = entry.partition("=")
        if not equals or not dim or not text:
            raise InputError(f"--{option} {entry}: write {form}")
        found.setdefault(dim, []).append(text)
    return found


AS_JSON = typer.Option("--json", help="Print one JSON object and nothing else.")
ATTACKERS = typer.Option(help="CSV of what attackers know: attacker, the dimensions (or cell), lower, upper.")
SHOW = typer.Option("--show", help="Also print original and protected values, deviations and risks (confidential).")
ALLOW_OUTSIDE = typer.Option(
    "--allow-outside", help="Let the job, and files it names, name files outside their folders."
)
