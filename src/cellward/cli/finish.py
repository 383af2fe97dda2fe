"""Finish: write what came of a protection, if it may be, say so, and end with its exit code."""

from __future__ import annotations

import contextlib
import json
from collections.abc import Callable
from pathlib import Path

import typer

from cellward.cli.exits import FAILED, INFEASIBLE, say
from cellward.cli.progress import told
from cellward.files.folder import after_writing
from cellward.outputs import folder_files, summary
from cellward.protection import Protection
from cellward.report.of_result import shown_of
from cellward.report.sections.outcome import files as files_section
from cellward.report.sections.outcome import outcome, reason_of
from cellward.report.terminal import render
from cellward.solve.alarm import silence
from cellward.solve.budget import Budget
from cellward.table.table import Table


def finish(
    result: Protection,
    table: Table,
    out: Path,
    write: Callable[[], list[Path]],
    budget: Budget,
    *,
    as_json: bool,
    show: bool,
) -> None:
    """Write what came out, if it may be, say so, and end with the exit code of it."""
    files: list[Path] = []
    with told(budget, quiet=as_json):
        budget.enter("showing levels")
        if result.releasable:
            files = write()
    silence()  # what came out is known, and is said
    with after_writing(out) if files else contextlib.nullcontext():
        _say(result, table, files, as_json=as_json, show=show)
    if not files:
        if (out / "release.csv").exists():
            say(f"{out / 'release.csv'} is of an earlier run, not of this one")
        raise typer.Exit(FAILED if result.status == "failed" else INFEASIBLE)


def _say(result: Protection, table: Table, files: list[Path], *, as_json: bool, show: bool) -> None:
    if as_json:
        typer.echo(json.dumps(summary(result, verified=bool(files), table=table)))
        if not files:
            say(f"{'' if result.publication is None else 'not protected: '}{reason_of(result)}")
    else:
        shown = shown_of(result) if show and files else []
        render([*shown, outcome(result, table), files_section(files, folder_files(len(table.labels.tables)))])
