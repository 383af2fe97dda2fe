"""cellward tabulate: add up a file of records, find the cells at risk, and write the table."""

from __future__ import annotations

import json
from pathlib import Path
from typing import Annotated, Any

import typer

from cellward.cli.options import AS_JSON
from cellward.cli.progress import spinner
from cellward.cli.reading import reads_records, tabulated
from cellward.errors import InputError
from cellward.files.whole import check_folder, write_whole
from cellward.registry import check_target, write
from cellward.report.sections.findings import findings_csv, findings_section
from cellward.report.sections.outcome import files as files_section
from cellward.report.terminal import render
from cellward.risk.policy import named_rules
from cellward.risk.rule_text import read_rule


@reads_records
def tabulate(
    source: Annotated[
        Path, typer.Argument(metavar="RECORDS", help="A .csv, .tsv, .xlsx, .parquet or .duckdb file of records.")
    ],
    out: Annotated[
        Path | None, typer.Option(help="File for the table, .csv, .parquet or .jj (confidential, like the records).")
    ] = None,
    rule: Annotated[
        list[str] | None,
        typer.Option(help="Rule that finds cells at risk, such as 'PPercent(10)' or 'Threshold(3)'; repeatable."),
    ] = None,
    policy: Annotated[
        str | None, typer.Option(help="Policy file with rules, 'default', or 'default for counts'.")
    ] = None,
    findings: Annotated[
        Path | None, typer.Option(help="CSV file for the cells at risk and why (confidential).")
    ] = None,
    threads: Annotated[int | None, typer.Option(help="Threads that add up; all cores unless given.")] = None,
    as_json: Annotated[bool, AS_JSON] = False,
    *,
    reading: dict[str, Any],
) -> None:
    """Add up a file of records, find the cells at risk, and write the table."""
    rules = [*(() if policy is None else named_rules(policy)), *map(read_rule, rule or [])]
    _refuse_same(source, out, findings)
    if out is not None:
        check_target(out)
    if findings is not None:
        check_folder(findings)
    if findings is not None and not rules:
        raise InputError("--findings: there are no rules to find anything by; give --rule or --policy")
    with spinner(f"adding up {source.name}"):
        table = tabulated(source, reading, threads)
        table = table.find(*rules) if rules else table
    files = []
    why = None if findings is None else findings_csv(table)
    if out is not None:
        files.append(write(table, out))
        if rules and not as_json:
            typer.echo(
                "note: the file holds statuses and levels, not who stands behind the cells; to protect against respondents, use a job (cellward run)",
                err=True,
            )
    if findings is not None:
        files.append(write_whole(findings, why or b"", confidential=True))
    if as_json:
        c = table.contributions
        facts = {"cells": table.cells, "equations": table.relations.equations, "sensitive": len(table.sensitive)}
        facts |= {
            "records": c.records if c else 0,
            "dropped": c.dropped if c else 0,
            "sums": len(table.sensitivity.sums),
        }
        typer.echo(json.dumps(facts | {"rules": table.findings.counts() if table.findings else {}}))
    else:
        typer.echo(repr(table))
        render([findings_section(table), files_section(files, {})])


def _refuse_same(*paths: Path | None) -> None:
    """Refuse an output that is the input, or another output."""
    given = [path.resolve() for path in paths if path is not None]
    if len(set(given)) < len(given):
        twice = next(path for path in given if given.count(path) > 1)
        raise InputError(f"{twice}: is read and written, or written twice; give each output a name of its own")
