"""The command line: arguments to the flow of the library, and back to exit codes; no logic of its own."""

from __future__ import annotations

import contextlib
import json
import sys
from collections.abc import Iterator
from pathlib import Path
from typing import Annotated, Any

import typer

from cellward.errors import CellwardError, InputError

app = typer.Typer(
    add_completion=False,
    no_args_is_help=True,
    pretty_exceptions_enable=False,
    help="Protect statistical tables: find a table that gives nobody away, still adds up, and comes with a proof.",
    epilog="Exit codes: 0 done and verified; 1 infeasible, or a certificate that does not hold; 2 bad input; 3 a solver failed, nothing released.",
)

DONE, INFEASIBLE, BAD_INPUT, FAILED = 0, 1, 2, 3

Dims = Annotated[str | None, typer.Option(help="Dimension columns of a long table, separated by commas.")]
Value = Annotated[str | None, typer.Option(help="Value column of a long table.")]
HierarchyFiles = Annotated[
    list[str] | None, typer.Option("--hierarchy", help="DIM=FILE.hrc, repeatable, also for the same dimension.")
]
Total = Annotated[str, typer.Option(help="Code that stands for the total.")]
Totals = Annotated[
    str,
    typer.Option(
        help="auto: compute totals that no row holds; given: never; compute: always, ignoring those in the file."
    ),
]
Missing = Annotated[str, typer.Option(help="Cells that no row holds: absent or zero.")]
StatusColumn = Annotated[
    str | None, typer.Option("--status", help="Column of statuses: s safe, u unsafe, m secondary, z fixed.")
]
Lpl = Annotated[str | None, typer.Option(help="Column of lower protection levels.")]
Upl = Annotated[str | None, typer.Option(help="Column of upper protection levels.")]
Spl = Annotated[str | None, typer.Option(help="Column of sliding protection levels.")]
WeightColumn = Annotated[str | None, typer.Option("--weight", help="Column of weights, used with --weights table.")]
Decimals = Annotated[
    int | None, typer.Option(help="Decimals to keep; values are rounded to them. Default: as many as the values have.")
]
Lower = Annotated[str, typer.Option(help="Lower bound of every cell, or 'none'.")]
Separator = Annotated[str | None, typer.Option(help="CSV separator; found from the header unless given.")]


def _read(
    path: Path,
    *,
    dims: str | None,
    value: str | None,
    hierarchy: list[str] | None,
    total: str,
    lower: str,
    decimals: int | None,
    **options: Any,
) -> Any:
    """Read a table, passing on only what its format takes."""
    from cellward.formats.hrc import read_hrc
    from cellward.formats.registry import read

    if path.suffix.lower() == ".jj":
        given = [name for name, entry in (("--dims", dims), ("--value", value), ("--hierarchy", hierarchy)) if entry]
        if given:
            raise InputError(f"{path}: a JJ file says itself what its columns are; leave out {', '.join(given)}")
        return read(path, decimals=decimals)
    trees: dict[str, list[Any]] = {}
    for entry in hierarchy or []:
        dim, equals, file = entry.partition("=")
        if not equals or not dim or not file:
            raise InputError(f"--hierarchy {entry}: write DIM=FILE.hrc")
        trees.setdefault(dim, []).append(read_hrc(Path(file), total=total))
    return read(
        path,
        dims=[name.strip() for name in dims.split(",")] if dims else None,
        value=value,
        hierarchies=trees,
        total=total,
        decimals=decimals,
        lower=None if lower.lower() == "none" else lower,
        **{name: entry for name, entry in options.items() if entry is not None},
    )


@app.command()
def protect(
    source: Annotated[
        Path, typer.Argument(metavar="INPUT", help="A .jj file, or a long table in .csv, .tsv or .parquet.")
    ],
    out: Annotated[
        Path,
        typer.Option(help="Folder for release.csv (public), protection.json and certificate.json.gz (confidential)."),
    ],
    method: Annotated[str, typer.Option(help="round: controlled rounding.")] = "round",
    base: Annotated[str, typer.Option(help="Rounding base, in the table's units.")] = "5",
    ignore_levels: Annotated[
        bool, typer.Option("--ignore-levels", help="Round although the table asks for protection levels.")
    ] = False,
    weights: Annotated[
        str | None,
        typer.Option(help="'table' to weight deviations by the table's own weights; otherwise each counts 1."),
    ] = None,
    time_limit: Annotated[
        float | None, typer.Option(help="Seconds; the best table found by then is given with its gap.")
    ] = None,
    seed: Annotated[int, typer.Option(help="Breaks ties inside the solvers.")] = 0,
    threads: Annotated[int, typer.Option(help="Solver threads.")] = 1,
    as_json: Annotated[bool, typer.Option("--json", help="Print one JSON object and nothing else.")] = False,
    show: Annotated[
        bool, typer.Option("--show", help="Also print original and protected values (confidential).")
    ] = False,
    dims: Dims = None,
    value: Value = None,
    hierarchy: HierarchyFiles = None,
    total: Total = "Total",
    totals: Totals = "auto",
    missing: Missing = "absent",
    status: StatusColumn = None,
    lpl: Lpl = None,
    upl: Upl = None,
    spl: Spl = None,
    weight: WeightColumn = None,
    decimals: Decimals = None,
    lower: Lower = "0",
    separator: Separator = None,
) -> None:
    """Protect a table and write its release with a certificate."""
    from cellward.outputs import summary, write_outputs
    from cellward.protect.rounding import ControlledRounding

    if method != "round":
        raise InputError(f"--method {method} is not known; use round")
    rounding = ControlledRounding(base, ignore_levels=ignore_levels)
    with _progress(f"reading {source.name}"):
        table = _read(
            source, dims=dims, value=value, hierarchy=hierarchy, total=total, totals=totals, missing=missing, status=status,
            lpl=lpl, upl=upl, spl=spl, weight=weight, decimals=decimals, lower=lower, separator=separator,
        )  # fmt: skip
    with _progress(f"rounding {table.cells:,} cells"):
        result = rounding.protect(table, weights=weights, time_limit_s=time_limit, seed=seed, threads=threads)
    files: list[Path] = []
    if result.scaled is not None:
        with _progress("verifying and writing"):
            files = write_outputs(result, out, summary(result, verified=True))
    facts = summary(result, verified=bool(files))
    if as_json:
        typer.echo(json.dumps(facts))
    else:
        _report(result, table, files, show=show)
    if not files:
        raise typer.Exit(INFEASIBLE if result.status == "infeasible" else FAILED)


@app.command()
def convert(
    source: Annotated[
        Path, typer.Argument(metavar="INPUT", help="A .jj file, or a long table in .csv, .tsv or .parquet.")
    ],
    target: Annotated[
        Path, typer.Argument(metavar="OUTPUT", help="A .jj, .csv or .parquet file (confidential, like the input).")
    ],
    dims: Dims = None,
    value: Value = None,
    hierarchy: HierarchyFiles = None,
    total: Total = "Total",
    totals: Totals = "auto",
    missing: Missing = "absent",
    status: StatusColumn = None,
    lpl: Lpl = None,
    upl: Upl = None,
    spl: Spl = None,
    weight: WeightColumn = None,
    decimals: Decimals = None,
    lower: Lower = "0",
    separator: Separator = None,
) -> None:
    """Convert a table between file formats."""
    from cellward.formats.registry import write

    with _progress(f"converting {source.name}"):
        table = _read(
            source, dims=dims, value=value, hierarchy=hierarchy, total=total, totals=totals, missing=missing, status=status,
            lpl=lpl, upl=upl, spl=spl, weight=weight, decimals=decimals, lower=lower, separator=separator,
        )  # fmt: skip
        write(table, target)
    typer.echo(f"{target}: {table.cells:,} cells, {table.relations.equations:,} equations")
    if target.suffix.lower() != ".jj" and not table.labels.dims:
        typer.echo(
            f"{target} holds the cells only: a long table has no place for bare equations, keep {source}.", err=True
        )


@app.command()
def verify(
    certificates: Annotated[list[Path], typer.Argument(metavar="CERTIFICATE...", help="certificate.json.gz files.")],
) -> None:
    """Check certificates exactly, independently of what wrote them."""
    from cellward.audit.verify import main as check

    raise typer.Exit(check([str(path) for path in certificates]))


@contextlib.contextmanager
def _progress(what: str) -> Iterator[None]:
    """A spinner while something runs, on a terminal only."""
    if not sys.stderr.isatty():
        yield
        return
    from rich.console import Console

    with Console(stderr=True).status(f"{what} …"):
        yield


def _report(result: Any, table: Any, files: list[Path], *, show: bool) -> None:
    """Say in a few lines what came out."""
    from rich.console import Console

    console = Console(highlight=False, soft_wrap=not sys.stdout.isatty())
    if result.scaled is None:
        console.print(f"{result.status}: {result.reason}. Nothing was written.", markup=False)
        return
    if show:
        from cellward.report.terminal import show as show_tables

        show_tables(result, Console(highlight=False))
    loss = result.loss()
    proven = (
        "proven least"
        if result.status == "optimal"
        else f"gap {100 * (result.gap or 0):.3g} % when the limit was reached"
    )
    console.print(f"{table!r}", markup=False)
    console.print(
        f"{result.status}: sum of changes {loss.sum_abs:g} ({proven}), largest {loss.max_abs:g}, {loss.changed:,} cells changed",
        markup=False,
    )
    console.print(
        f"verified: adds up exactly, every value allowed ({result.seconds:.2f} s, {result.engine})", markup=False
    )
    for path, who in zip(
        files, ("confidential: the proof", "confidential: the result in numbers", "public"), strict=True
    ):
        console.print(f"  {path}  ({who})", markup=False)


def main() -> None:
    """Run the command line; every error of ours is one sentence on standard error and an exit code."""
    try:
        app()
    except InputError as error:
        _die(error, BAD_INPUT)
    except CellwardError as error:
        _die(error, FAILED)
    except KeyboardInterrupt:
        typer.echo("interrupted; nothing was written", err=True)
        sys.exit(130)


def _die(error: Exception, code: int) -> None:
    typer.echo(f"cellward: {error}", err=True)
    sys.exit(code)
