"""cellward run: everything from the records to the release as a job file or a τ-ARGUS batch says."""

from __future__ import annotations

import json
from pathlib import Path
from typing import Annotated, Any

import typer

from cellward.cli.exits import BAD_INPUT, FAILED, INFEASIBLE, say
from cellward.cli.finish import finish
from cellward.cli.options import ALLOW_OUTSIDE, AS_JSON, SHOW, with_options
from cellward.cli.progress import best_of, ending_on_interrupt, spinner, told
from cellward.cli.writing import REPORTS, report_wished
from cellward.errors import InputError
from cellward.job import Job
from cellward.outputs import KEPT
from cellward.report.sections.findings import findings_section
from cellward.report.sections.outcome import notes
from cellward.report.terminal import render
from cellward.solve.alarm import alarm
from cellward.solve.budget import Budget
from cellward.tauargus.batch import Batch


@with_options(REPORTS, "writing")
def run(
    source: Annotated[
        Path,
        typer.Argument(
            metavar="JOB", help="A job file .toml (input, roles, rules, method, output), or a τ-ARGUS batch .arb."
        ),
    ],
    as_json: Annotated[bool, AS_JSON] = False,
    show: Annotated[
        bool,
        SHOW,
    ] = False,
    statuses: Annotated[
        str,
        typer.Option(
            help="Statuses in a batch's outputs: tauargus, sdmx, rtauargus, cellward, or own letters, safe=S,primary=P."
        ),
    ] = "tauargus",
    allow_outside: Annotated[bool, ALLOW_OUTSIDE] = False,
    *,
    writing: dict[str, Any],
) -> None:
    """Do everything from the records to the release as a job file says; the same job makes the same release."""
    wished = report_wished(writing)
    if source.suffix.lower() == ".arb":
        if wished is not None:
            raise InputError("--report, --no-report: a batch writes no reports; leave it out")
        if show:
            raise InputError("--show: a batch shows what it writes; leave it out")
        _run_batch(source, statuses, as_json=as_json, outside=allow_outside)
        return
    if statuses != "tauargus":
        raise InputError("--statuses: it is for the outputs of τ-ARGUS batches, and a job has none; leave it out")
    job = Job.read(source, outside=allow_outside)
    budget = job.budget()
    with alarm(budget):
        _run_job(job, budget, as_json=as_json, show=show, report=wished)


def _run_job(job: Job, budget: Budget, *, as_json: bool, show: bool, report: str | None) -> None:
    """Everything that a job says, by one clock."""
    with told(budget, quiet=as_json):
        table = job.table(budget)
    if table.made_additive is not None:
        say(table.made_additive.sentence)
    if not as_json:
        typer.echo(job.name)
        render([findings_section(table)])
    if job.method is None:
        kept = job.write_table(table)
        if not as_json:
            typer.echo(f"  {kept}  (confidential)" if kept is not None else repr(table))
        else:
            typer.echo(json.dumps({"cells": table.cells, "sensitive": len(table.sensitive)}))
        return
    again = not job.names_key and job.key is not None
    with told(budget, quiet=as_json):
        result = best_of(lambda: job.protect(table, budget))

    def write() -> list[Path]:
        return job.write(table, result, budget, report=report)

    finish(result, table, job.folder, write, budget, as_json=as_json, show=show)
    if not job.names_key and not as_json:
        drawn = "note: the job names no key_file, so a key was drawn; it stands in protection.json and is used again in this folder"
        typer.echo(KEPT if again else drawn)


def _run_batch(source: Path, statuses: str, *, as_json: bool, outside: bool) -> None:
    """Carry out a τ-ARGUS batch, or say of each command why not."""
    batch = Batch(source, outside=outside)
    if batch.refusals:
        for sentence in batch.refusals:
            say(sentence)
        raise typer.Exit(BAD_INPUT)
    with spinner(f"running {source.name}"), ending_on_interrupt():
        done = batch.run(statuses=statuses)
    if as_json:
        tables = [{"cells": table.cells, "sensitive": len(table.sensitive)} for table in done.tables]
        results = [
            {"status": p.status, "objective": p.objective, "protected": p.protected, "notes": notes(p)}
            for p in done.protections
        ]
        files = [{"file": str(path), "public": public} for path, public in done.files]
        typer.echo(json.dumps({"tables": tables, "protections": results, "files": files}))
    else:
        for line in done.lines:
            typer.echo(line)
        for path, public in done.files:
            typer.echo(f"  {path}  ({'public' if public else 'confidential'})")
    if done.infeasible:
        say(f"{done.infeasible}; nothing was written")
        raise typer.Exit(FAILED if done.protections[-1].status == "failed" else INFEASIBLE)
