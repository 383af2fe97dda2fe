"""The command line: arguments to the flow of the library, and back to exit codes; no logic of its own."""

import contextlib
import functools
import inspect
import json
import signal
import sys
import threading
from collections.abc import Callable, Iterator
from pathlib import Path
from typing import TYPE_CHECKING, Annotated, Any

import typer

from cellward.errors import CellwardError, InputError
from cellward.method_options import OPTIONS as METHOD
from cellward.method_options import by_level, method_asked

if TYPE_CHECKING:
    from rich.console import Console

    from cellward.protection import Protection
    from cellward.table.table import Table

app = typer.Typer(
    add_completion=False,
    pretty_exceptions_enable=False,
    help="Protect statistical tables: find a table that gives nobody away, still adds up, and comes with a proof.",
    epilog="Exit codes: 0 done and verified; 1 infeasible, a cell under-protected, or a certificate that does not hold; 2 bad input; "
    "3 a solver failed, nothing released.",
)

DONE, INFEASIBLE, BAD_INPUT, FAILED = 0, 1, 2, 3

READING: dict[str, tuple[Any, Any]] = {
    "dims": (str | None, typer.Option(None, help="Dimension columns of a long table, separated by commas.")),
    "value": (str | None, typer.Option(None, help="Value column of a long table.")),
    "hierarchy": (list[str] | None, typer.Option(None, help="DIM=FILE.hrc, repeatable, also for the same dimension.")),
    "total": (str, typer.Option("Total", help="Code that stands for the total.")),
    "totals": (
        str,
        typer.Option("auto", help="auto: compute totals that no row holds; given: never; compute: all anew."),
    ),
    "missing": (str, typer.Option("absent", help="Cells that no row holds: absent or zero.")),
    "status": (str | None, typer.Option(None, help="Column of statuses: s safe, u unsafe, m secondary, z fixed.")),
    "lpl": (str | None, typer.Option(None, help="Column of lower protection levels.")),
    "upl": (str | None, typer.Option(None, help="Column of upper protection levels.")),
    "spl": (str | None, typer.Option(None, help="Column of sliding protection levels.")),
    "weight": (str | None, typer.Option(None, help="Column of weights, used with --weights table.")),
    "decimals": (int | None, typer.Option(None, help="Decimals to round values to. Default: as many as they have.")),
    "lower": (str, typer.Option("0", help="Lower bound of every cell: a number, a column of bounds, or 'none'.")),
    "upper": (str, typer.Option("none", help="Upper bound of every cell: a number, a column of bounds, or 'none'.")),
    "separator": (str | None, typer.Option(None, help="CSV separator; found from the header unless given.")),
    "decimal": (str, typer.Option(".", help="Decimal mark in text files: . or ,")),
    "names": (
        str | None,
        typer.Option(None, help="Column names, separated by commas, of a text file without a header."),
    ),
}
"""The options that say how to read a table, for every command that reads one."""


MICRODATA: dict[str, tuple[Any, Any]] = {
    "dims": (str, typer.Option(..., help="Dimension columns: A,B for one table, or a formula such as 'A*B + C'.")),
    "measure": (str | None, typer.Option(None, help="Column to be added up; without it records are counted.")),
    "contributor": (str | None, typer.Option(None, help="Column that says whose record it is.")),
    "holding": (str | None, typer.Option(None, help="Column that says to which holding a contributor belongs.")),
    "weight": (str | None, typer.Option(None, help="Column of sampling weights.")),
    "request": (
        str | None,
        typer.Option(None, help="Column that says who asked for protection (blank or 0: did not)."),
    ),
    "request_codes": (str, typer.Option("1", help="Codes that ask, separated by commas.")),
    "hierarchy": (list[str] | None, typer.Option(None, help="DIM=FILE.hrc, repeatable, also for the same dimension.")),
    "total": (str, typer.Option("Total", help="Code that stands for the total.")),
    "missing": (
        list[str] | None,
        typer.Option(None, help="Records without a code: refuse, drop or keep; or DIM=drop for one dimension."),
    ),
    "missing_codes": (list[str] | None, typer.Option(None, help="DIM=CODE,CODE: codes that mean a missing one.")),
    "pad": (list[str] | None, typer.Option(None, help="DIM=WIDTH: pad codes with blanks on the left.")),
    "blank": (str, typer.Option("refuse", help="Records without a value: refuse, drop or zero.")),
    "negative": (
        str,
        typer.Option("refuse", help="Negative contributions: refuse, or absolute (rules look at sizes)."),
    ),
    "empty": (str, typer.Option("absent", help="Combinations without a record: absent or zero.")),
    "largest": (int, typer.Option(3, help="How many of the largest contributions are kept of each cell.")),
    "decimals": (int | None, typer.Option(None, help="Decimals to round values to. Default: as many as they have.")),
    "decimal": (str, typer.Option(".", help="Decimal mark in text files: . or ,")),
    "separator": (str | None, typer.Option(None, help="CSV separator; found from the header unless given.")),
    "query": (str | None, typer.Option(None, help="Table or SELECT of a DuckDB file.")),
}
"""The options that say how to read a file of records."""


def _with_options(
    options: dict[str, tuple[Any, Any]], together: str
) -> Callable[[Callable[..., None]], Callable[..., None]]:
    """Give a command these options; it gets them as one dictionary of this name."""

    def decorate(command: Callable[..., None]) -> Callable[..., None]:
        own = [p for p in inspect.signature(command).parameters.values() if p.name != together]
        kind = inspect.Parameter.KEYWORD_ONLY
        extra = [inspect.Parameter(name, kind, annotation=a, default=d) for name, (a, d) in options.items()]

        @functools.wraps(command)
        def run(**given: Any) -> None:
            command(**{together: {name: given.pop(name) for name in options}}, **given)

        parameters = [*(p.replace(kind=kind) for p in own), *extra]
        run.__signature__ = inspect.Signature(parameters)  # type: ignore[attr-defined]
        run.__annotations__ = {p.name: p.annotation for p in parameters}
        return run

    return decorate


reads_a_table = _with_options(READING, "reading")
reads_records = _with_options(MICRODATA, "reading")
chooses_a_method = _with_options(METHOD, "choosing")


def _pairs(entries: list[str] | None, option: str, form: str) -> dict[str, list[str]]:
    """DIM=TEXT options by dimension."""
    found: dict[str, list[str]] = {}
    for entry in entries or []:
        dim, equals, text = entry.partition("=")
        if not equals or not dim or not text:
            raise InputError(f"--{option} {entry}: write {form}")
        found.setdefault(dim, []).append(text)
    return found


def _trees(entries: list[str] | None, total: str) -> dict[str, list[Any]]:
    from cellward.formats.hrc import read_hrc

    files = _pairs(entries, "hierarchy", "DIM=FILE.hrc")
    return {dim: [read_hrc(Path(file), total=total) for file in own] for dim, own in files.items()}


def _tabulated(path: Path, reading: dict[str, Any], threads: int | None) -> "Table":
    """Add up a file of records."""
    from cellward.table.table import Table

    options = {
        name: entry for name, entry in reading.items() if name not in ("hierarchy", "pad", "missing", "missing_codes")
    }
    listed = [name.strip() for name in reading["dims"].split(",")]
    options["dims"] = reading["dims"] if "*" in reading["dims"] or "+" in reading["dims"] else listed
    options["request_codes"] = reading["request_codes"].split(",")
    plain = [entry for entry in reading["missing"] or [] if "=" not in entry]
    by_dim = _pairs([entry for entry in reading["missing"] or [] if "=" in entry], "missing", "DIM=drop")
    if plain and (by_dim or len(plain) > 1):
        raise InputError("--missing: give one word for all dimensions, or DIM=word for each")
    widths = {dim: own[-1] for dim, own in _pairs(reading["pad"], "pad", "DIM=WIDTH").items()}
    if wrong := [text for text in widths.values() if not text.isdecimal()]:
        raise InputError(f"--pad {wrong[0]}: write DIM=WIDTH, such as region=2")
    return Table.from_microdata(
        path,
        hierarchies=_trees(reading["hierarchy"], reading["total"]),
        missing=plain[0] if plain else {dim: own[-1] for dim, own in by_dim.items()} or "refuse",
        missing_codes={
            dim: [code for text in own for code in text.split(",")]
            for dim, own in _pairs(reading["missing_codes"], "missing-codes", "DIM=CODE,CODE").items()
        },
        pad={dim: int(width) for dim, width in widths.items()},
        threads=threads,
        **options,
    )


def _read(path: Path, reading: dict[str, Any]) -> "Table":
    """Read a table, passing on only what its format takes."""
    from cellward.registry import read

    if path.suffix.lower() == ".jj":
        if given := [
            f"--{n}" for n, (_, option) in READING.items() if n != "decimals" and reading[n] != option.default
        ]:
            raise InputError(f"{path}: a JJ file says itself how it is to be read; leave out {', '.join(given)}")
        return read(path, decimals=reading["decimals"])
    if path.suffix.lower() == ".tab" and not reading["dims"]:
        taken = ("decimals", "totals", "value")
        told = {n: reading[n] for n, (_, option) in READING.items() if reading[n] != option.default or n in taken}
        return read(path, **{name: entry for name, entry in told.items() if entry is not None})
    trees = _trees(reading["hierarchy"], reading["total"])
    options = {name: entry for name, entry in reading.items() if name != "hierarchy" and entry is not None}
    if reading["names"] is not None:
        options["names"] = [name.strip() for name in reading["names"].split(",")]
    if reading["decimal"] == ".":
        options.pop("decimal")
    options["dims"] = [name.strip() for name in (reading["dims"] or "").split(",") if name.strip()]
    for side in ("lower", "upper"):
        options[side] = None if reading[side].lower() == "none" else reading[side]
    return read(path, hierarchies=trees, **options)


@app.callback(invoke_without_command=True)
def _version(version: Annotated[bool, typer.Option("--version", help="Print the version and exit.")] = False) -> None:
    if version:
        from cellward.version import __version__

        typer.echo(f"cellward {__version__}")
        raise typer.Exit(DONE)


@app.command()
@reads_a_table
@chooses_a_method
def protect(
    source: Annotated[
        Path, typer.Argument(metavar="INPUT", help="A .jj file, or a long table in .csv, .tsv or .parquet.")
    ],
    out: Annotated[
        Path,
        typer.Option(help="Folder for release.csv (public), protection.json and certificate.json.gz (confidential)."),
    ],
    attackers: Annotated[
        Path | None, typer.Option(help="CSV of what attackers know: attacker, the dimensions (or cell), lower, upper.")
    ] = None,
    key: Annotated[
        str | None, typer.Option(help="Secret of 64 hexadecimal digits that salts the proof; random unless given.")
    ] = None,
    weights: Annotated[
        str | None,
        typer.Option(
            help="How deviations are weighted: table (the table's own), totals (ten times more from level to level of sums), relative "
            "(1/value, what adjust does unless told), equal (what the others do), or one a level, 0=1,1=20."
        ),
    ] = None,
    time_limit: Annotated[
        float | None, typer.Option(help="Seconds; the best table found by then is given with its gap.")
    ] = None,
    seed: Annotated[int, typer.Option(help="Breaks ties inside the solvers.")] = 0,
    threads: Annotated[int, typer.Option(help="Solver threads.")] = 1,
    as_json: Annotated[bool, typer.Option("--json", help="Print one JSON object and nothing else.")] = False,
    show: Annotated[
        bool,
        typer.Option("--show", help="Also print original and protected values, deviations and risks (confidential)."),
    ] = False,
    *,
    choosing: dict[str, Any],
    reading: dict[str, Any],
) -> None:
    """Protect a table and write its release with a certificate."""
    from cellward.formats.attackers import read_attackers
    from cellward.outputs import summary, write_outputs

    chosen = method_asked(choosing)
    secret = _key(key)
    with _progress(f"reading {source.name}"):
        table = _read(source, reading)
    with _progress(f"protecting {table.cells:,} cells"), _ending_on_interrupt():
        known = None if attackers is None else read_attackers(attackers, table)
        result = chosen.protect(
            table,
            weights=by_level(weights, "--weights"),
            attackers=known,
            time_limit_s=time_limit,
            seed=seed,
            threads=threads,
            key=secret,
        )

    def write() -> list[Path]:
        return write_outputs(result, out, summary(result, verified=True))

    _finish(result, table, out, write, as_json=as_json, show=show)


def _finish(
    result: "Protection", table: "Table", out: Path, write: Callable[[], list[Path]], *, as_json: bool, show: bool
) -> None:
    """Write what came out, if it may be, say so, and end with the exit code of it."""
    from cellward.outputs import summary

    files: list[Path] = []
    if _releasable(result):
        with _progress("verifying and writing"):
            files = write()
    facts = summary(result, verified=bool(files))
    if as_json:
        typer.echo(json.dumps(facts))
        if result.reason:
            typer.echo(f"cellward: {'' if result.scaled is None else 'not protected: '}{result.reason}", err=True)
    else:
        _report(result, table, files, show=show)
    if not files:
        if (out / "release.csv").exists():
            typer.echo(f"cellward: {out / 'release.csv'} is of an earlier run, not of this one", err=True)
        raise typer.Exit(FAILED if result.limit_reached else INFEASIBLE)


def _releasable(result: "Protection") -> bool:
    """Whether there are values, with every level met as far as it was to be."""
    return result.scaled is not None and (result.protected is not False or result.ignore_levels or not result.reason)


@app.command()
@reads_records
def tabulate(
    source: Annotated[
        Path, typer.Argument(metavar="RECORDS", help="A .csv, .tsv, .parquet or .duckdb file of records.")
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
    as_json: Annotated[bool, typer.Option("--json", help="Print one JSON object and nothing else.")] = False,
    *,
    reading: dict[str, Any],
) -> None:
    """Add up a file of records, find the cells at risk, and write the table."""
    from cellward.files.whole import check_folder, write_whole
    from cellward.registry import check_target, write
    from cellward.report.findings import findings_csv
    from cellward.risk.policy import named_rules
    from cellward.risk.rule_text import read_rule

    rules = [*(() if policy is None else named_rules(policy)), *map(read_rule, rule or [])]
    _refuse_same(source, out, findings)
    if out is not None:
        check_target(out)
    if findings is not None:
        check_folder(findings)
    if findings is not None and not rules:
        raise InputError("--findings: there are no rules to find anything by; give --rule or --policy")
    with _progress(f"adding up {source.name}"):
        table = _tabulated(source, reading, threads)
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
        for line in [*_found(table), *(f"  {path}  (confidential)" for path in files)]:
            typer.echo(line)


def _refuse_same(*paths: Path | None) -> None:
    """Refuse an output that is the input, or another output."""
    given = [path.resolve() for path in paths if path is not None]
    if len(set(given)) < len(given):
        twice = next(path for path in given if given.count(path) > 1)
        raise InputError(f"{twice}: is read and written, or written twice; give each output a name of its own")


def _found(table: "Table") -> list[str]:
    """A table from records in a few lines, and what was found in it."""
    lines = [repr(table)]
    if (c := table.contributions) is not None:
        left_out = f", {c.dropped:,} left out (no value or no code)" if c.dropped else ""
        lines.append(f"{c.records:,} records added up{left_out}.")
    if table.findings is not None:
        lines += table.findings.lines()
    if sums := len(table.sensitivity.sums):
        what = "1 sum of cells is" if sums == 1 else f"{sums:,} sums of cells are"
        lines.append(f"{what} dominated by one respondent, and to be protected too.")
    return lines


@app.command()
def run(
    source: Annotated[
        Path,
        typer.Argument(
            metavar="JOB", help="A job file .toml (input, roles, rules, method, output), or a τ-ARGUS batch .arb."
        ),
    ],
    as_json: Annotated[bool, typer.Option("--json", help="Print one JSON object and nothing else.")] = False,
    show: Annotated[
        bool,
        typer.Option("--show", help="Also print original and protected values, deviations and risks (confidential)."),
    ] = False,
    statuses: Annotated[
        str, typer.Option(help="Statuses in a batch's outputs: tauargus, sdmx (CONF_STATUS, OBS_STATUS) or rtauargus.")
    ] = "tauargus",
) -> None:
    """Do everything from the records to the release as a job file says; the same job makes the same release."""
    from cellward.job import Job

    if source.suffix.lower() == ".arb":
        if show:
            raise InputError("--show: a batch shows what it writes; leave it out")
        _run_batch(source, statuses, as_json=as_json)
        return
    if statuses != "tauargus":
        raise InputError("--statuses: it is for the outputs of τ-ARGUS batches, and a job has none; leave it out")
    job = Job.read(source)
    with _progress(f"reading {job.source.name}"):
        table = job.table()
    if not as_json:
        for line in [job.name, *_found(table)[1:]]:
            typer.echo(line)
    if job.method is None:
        kept = job.write_table(table)
        if not as_json:
            typer.echo(f"  {kept}  (confidential)")
        else:
            typer.echo(json.dumps({"cells": table.cells, "sensitive": len(table.sensitive)}))
        return
    with _progress(f"protecting {table.cells:,} cells"), _ending_on_interrupt():
        result = job.protect(table)
    _finish(result, table, job.folder, lambda: job.write(table, result), as_json=as_json, show=show)
    if job.key is None and not as_json:
        typer.echo(
            "note: the job names no key, so one was drawn (see protection.json); name it to make the same bytes again"
        )


def _run_batch(source: Path, statuses: str, *, as_json: bool) -> None:
    """Carry out a τ-ARGUS batch, or say of each command why not."""
    from cellward.tauargus.batch import Batch

    batch = Batch(source)
    if batch.refusals:
        for sentence in batch.refusals:
            typer.echo(f"cellward: {' '.join(sentence.split())}", err=True)
        raise typer.Exit(BAD_INPUT)
    with _progress(f"running {source.name}"), _ending_on_interrupt():
        done = batch.run(statuses=statuses)
    if as_json:
        tables = [{"cells": table.cells, "sensitive": len(table.sensitive)} for table in done.tables]
        results = [{"status": p.status, "objective": p.objective, "protected": p.protected} for p in done.protections]
        files = [{"file": str(path), "public": public} for path, public in done.files]
        typer.echo(json.dumps({"tables": tables, "protections": results, "files": files}))
    else:
        for line in done.lines:
            typer.echo(line)
        for path, public in done.files:
            typer.echo(f"  {path}  ({'public' if public else 'confidential'})")
    if done.infeasible:
        typer.echo(f"cellward: {' '.join(done.infeasible.split())}; nothing was written", err=True)
        raise typer.Exit(FAILED if done.protections[-1].limit_reached else INFEASIBLE)


@app.command()
def policy(
    source: Annotated[Path, typer.Argument(metavar="POLICY.toml", help="A policy file with rules.")],
    lock: Annotated[
        bool,
        typer.Option("--lock", help="Lock the file: from now on it is refused when its name or rules were changed."),
    ] = False,
) -> None:
    """Read out the rules of a policy file, and lock it."""
    from cellward.risk.policy import Policy

    read = Policy.read(source)
    if lock:
        read = read.lock()
        read.write(source)
    typer.echo(f"{read.name}: {f'locked, {read.locked}' if read.locked else 'not locked'}")
    for rule in read.rules:
        typer.echo(f"  {rule.short}: {rule.sentence}")


@app.command()
@reads_a_table
def convert(
    source: Annotated[
        Path,
        typer.Argument(
            metavar="INPUT",
            help="A table (.jj, .tab with .rda, .csv, .tsv, .parquet), records (.asc with .rda), .hrc or .cdl.",
        ),
    ],
    target: Annotated[
        Path,
        typer.Argument(
            metavar="OUTPUT", help="A file of the same kind in another format (confidential, like the input)."
        ),
    ],
    *,
    reading: dict[str, Any],
) -> None:
    """Convert a table, records, a hierarchy or a code list between file formats."""
    from cellward.convert import convert_other
    from cellward.registry import write

    if target.exists() and source.exists() and target.samefile(source):
        raise InputError(f"{target}: is the input itself; give the output another name")
    if (said := convert_other(source, target)) is not None:
        typer.echo(said)
        return
    with _progress(f"converting {source.name}"):
        table = _read(source, reading)
        write(table, target)
    typer.echo(f"{target}: {table.cells:,} cells, {table.relations.equations:,} equations")
    if target.suffix.lower() not in (".jj", ".tab") and not table.labels.dims:
        typer.echo(
            f"{target} holds the cells only: a long table has no place for bare equations, keep {source}.", err=True
        )


@app.command()
@reads_a_table
def audit(
    source: Annotated[Path, typer.Argument(metavar="INPUT", help="The table that was protected, as for protect.")],
    release: Annotated[Path, typer.Option(help="Folder that protect wrote, or a CSV of labels and published values.")],
    base: Annotated[str | None, typer.Option(help="Rounding base, where no release.json says it.")] = None,
    steps: Annotated[
        int | None, typer.Option(help="Bases a value may have moved by; 1 unless release.json says more.")
    ] = None,
    knowledge: Annotated[str | None, typer.Option(help="strict or paper; as released unless given.")] = None,
    attackers: Annotated[
        Path | None, typer.Option(help="CSV of what attackers know: attacker, the dimensions (or cell), lower, upper.")
    ] = None,
    whole: Annotated[bool, typer.Option("--whole", help="Attackers know that values have no finer decimals.")] = False,
    cells: Annotated[str, typer.Option(help="all or sensitive.")] = "all",
    only_levels: Annotated[
        bool, typer.Option("--only-levels", help="Follow each interval only as far as the levels ask; faster.")
    ] = False,
    out: Annotated[Path | None, typer.Option(help="CSV file for the intervals (confidential).")] = None,
    time_limit: Annotated[
        float | None, typer.Option(help="Seconds; cells not settled by then are called open.")
    ] = None,
    threads: Annotated[int, typer.Option(help="Problems solved side by side.")] = 1,
    as_json: Annotated[bool, typer.Option("--json", help="Print one JSON object and nothing else.")] = False,
    *,
    reading: dict[str, Any],
) -> None:
    """Work out what attackers can learn from a release, and whether it is protected."""
    from cellward.audit.audit import audit as run
    from cellward.formats.attackers import read_attackers
    from cellward.protect.released import read_release
    from cellward.report.audit import audit_csv, audit_lines, audit_summary
    from cellward.risk.attacker import Attacker

    with _progress(f"reading {source.name}"):
        table = _read(source, reading)
        published = read_release(release, table, base=base, steps=steps, knowledge=knowledge)
        known = [Attacker.external(whole=whole)] if attackers is None else read_attackers(attackers, table, whole=whole)
    with _bar("auditing") as tell:
        found = run(
            published, table=table, attackers=known, cells=cells, only_levels=only_levels, time_limit_s=time_limit,
            threads=threads, progress=tell,
        )  # fmt: skip
    if missed := int((published.relations.residual(published.scaled) != 0).sum()):
        typer.echo(f"cellward: note: the published values miss {missed} equations; they do not add up", err=True)
    if out is not None:
        audit_csv(found, out)
    if as_json:
        typer.echo(json.dumps(audit_summary(found)))
    else:
        for line in [repr(table), *audit_lines(found), *([f"  {out}  (confidential)"] if out else [])]:
            typer.echo(line)
    if found.protected is False:
        raise typer.Exit(INFEASIBLE)


@app.command()
@reads_a_table
def verify(
    certificates: Annotated[
        list[Path],
        typer.Argument(
            metavar="CERTIFICATE...",
            help="certificate.json.gz files; or one of them with its release.csv and release.json.",
        ),
    ],
    table: Annotated[
        Path | None, typer.Option(help="The table that should have been certified, read as for protect.")
    ] = None,
    *,
    reading: dict[str, Any],
) -> None:
    """Check certificates exactly, independently of what wrote them."""
    from cellward.audit.verify import main as check

    if table is not None:
        from cellward.audit.certificate import verify as verify_against

        original = _read(table, reading)
        for path in certificates:
            if path.name.endswith(".gz") and not (verdict := verify_against(path, table=original)):
                typer.echo(f"{path}: DOES NOT HOLD: {verdict.reason}")
                raise typer.Exit(INFEASIBLE)
    raise typer.Exit(check([str(path) for path in certificates]))


def _key(text: str | None) -> bytes | None:
    """The key from its hexadecimal digits."""
    if text is None:
        return None
    try:
        return bytes.fromhex(text)
    except ValueError:
        raise InputError("--key: give 64 hexadecimal digits, or leave it out") from None


@contextlib.contextmanager
def _bar(what: str) -> Iterator[Callable[[int, int], None] | None]:
    """A progress bar, on a terminal only."""
    if not sys.stderr.isatty():
        yield None
        return
    from rich.console import Console
    from rich.progress import Progress

    with Progress(console=Console(stderr=True), transient=True) as progress:
        task = progress.add_task(what, total=None)
        yield lambda done, total: progress.update(task, completed=done, total=total)


@contextlib.contextmanager
def _progress(what: str) -> Iterator[None]:
    """A spinner while something runs, on a terminal only."""
    if not sys.stderr.isatty():
        yield
        return
    from rich.console import Console

    with Console(stderr=True).status(f"{what} …"):
        yield


@contextlib.contextmanager
def _ending_on_interrupt() -> Iterator[None]:
    """Ctrl-C stops the solver, and the best it has is given; a second one ends the program at once: nothing is being written meanwhile."""
    if threading.current_thread() is not threading.main_thread():
        yield
        return

    def once(*_: object) -> None:
        signal.signal(signal.SIGINT, signal.SIG_DFL)
        raise KeyboardInterrupt

    before = signal.signal(signal.SIGINT, once)
    try:
        yield
    finally:
        signal.signal(signal.SIGINT, before)


def _report(result: "Protection", table: "Table", files: list[Path], *, show: bool) -> None:
    """Say in a few lines what came out."""
    from rich.console import Console

    from cellward.outputs import FILES

    console = Console(highlight=False, soft_wrap=not sys.stdout.isatty())
    if not _releasable(result):
        status = result.status if result.scaled is None else "not protected"
        console.print(f"{status}: {result.reason}. Nothing was written.", markup=False)
        return
    assert result.scaled is not None
    if show:
        _show(result, Console(highlight=False))
    loss, unsafe = result.loss(), result.instance.sensitivity.unsafe
    proven = "proven least" if result.status == "optimal" else f"not proven least, gap {100 * (result.gap or 0):.3g} %"
    what = "sum of changes"
    if result.objective != loss.sum_abs:
        named = "weighted sum of changes" if result.aim is None and result.measure is None else "objective"
        what = f"{named} {result.objective:,}, plain sum of changes"
    unchanged = int((result.scaled[unsafe] == result.instance.a[unsafe]).sum())
    lines = [
        repr(table),
        f"{result.status}: {what} {loss.sum_abs:,} ({proven}), largest {loss.max_abs:,}, {loss.changed:,} cells changed",
        f"verified: every equation holds exactly, every value is allowed ({result.seconds:.2f} s, {result.engine})",
        _proven(result),
        _shown(result),
    ]
    if unchanged:
        why = "are multiples of their base and " if "base" in result.method else ""
        why = why if result.knowledge.intervals else "have no protection levels and "
        lines.append(f"note: {unchanged:,} of {len(unsafe):,} unsafe cells {why}are published as they are")
    lines += [f"note: {note}" for note in result.details.get("notes", ())]
    if (steps := result.method.get("steps", 1)) > 1:
        lines.append(
            f"note: fewer steps do not do; values are multiples less than {steps} bases away, and the release says so"
        )
    lines += [f"  {path}  ({FILES.get(path.name, 'confidential')})" for path in files]
    for line in lines:
        console.print(line, markup=False, soft_wrap=True)


def _show(result: "Protection", console: "Console") -> None:
    """What is for the data holder's eyes: both tables, the deviations, and what attackers make of an adjustment."""
    from cellward.report.deviations import Deviations
    from cellward.report.terminal import show as show_tables

    show_tables(result, console)
    console.print(Deviations.of(result).grid())
    if not result.knowledge.intervals and result.protected is not None:
        from cellward.protect.adjustment.study import DisclosureStudy
        from cellward.report.disclosure import show_study

        console.print()
        show_study(DisclosureStudy(result), console)
    console.print()


def _proven(result: "Protection") -> str:
    """What of the optimum is proven in exact arithmetic."""
    what = "sum of changes" if result.aim is None and result.measure is None else "objective"
    if result.certified_bound is None:
        return f"certified: no bound on the {what} was proven"
    if result.certified_bound == result.objective:
        drawn = "" if result.knowledge.intervals else " with the same senses and levels"
        return f"certified: no smaller {what} exists{drawn}, proven in exact arithmetic"
    claim = "; that it is least is the solver's word" if result.status == "optimal" else ""
    return f"certified: no {what} below {result.certified_bound:,} exists, proven in exact arithmetic{claim}"


def _shown(result: "Protection") -> str:
    """What of the protection is shown."""
    if result.protected is None:
        return "protection: no levels asked"
    if result.ignore_levels:
        return "protection: NOT LOOKED AT, the levels were ignored (--ignore-levels)"
    evidence, count = result.evidence, len(result.instance.attackers)
    if not result.knowledge.intervals:
        return (
            f"protected: {evidence.requirements:,} requirements against {count:,} attacker{'s' * (count > 1)} met by distance: "
            "each value is published at least its level away from the truth"
        )
    return (
        f"protected: {evidence.requirements:,} requirements against {count:,} attacker{'s' * (count > 1)} shown by "
        f"{len(evidence.shown):,} witness tables"
        + (
            ""
            if result.sums is None
            else f", {result.sums.evidence.requirements:,} on sums of cells by {len(result.sums.evidence.shown):,} more"
        )
    )


def main() -> None:
    """Run the command line; every error is one sentence on standard error and an exit code."""
    try:
        sys.exit(app(sys.argv[1:] or ["--help"], standalone_mode=False) or DONE)
    except InputError as error:
        _die(str(error), BAD_INPUT)
    except CellwardError as error:
        _die(str(error), FAILED)
    except (KeyboardInterrupt, typer.Abort):
        _die("interrupted; nothing was written", 130)
    except Exception as error:  # noqa: BLE001 (the last resort: a bug of ours must not look like an answer either)
        if hasattr(error, "format_message"):
            _die(f"{error.format_message().rstrip('.')}; see cellward --help", BAD_INPUT)
        _die(f"this is a bug: {type(error).__name__}: {error}; nothing was released", FAILED)


def _die(message: str, code: int) -> None:
    typer.echo(f"cellward: {' '.join(message.split())}", err=True)
    sys.exit(code)
