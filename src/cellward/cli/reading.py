"""Reading: the options that say how to read a table or a file of records, and the reading."""

from __future__ import annotations

from collections.abc import Mapping
from pathlib import Path
from typing import Any

import typer

from cellward.cli.exits import say
from cellward.cli.options import Options, by_dimension, in_panel, with_options
from cellward.errors import InputError
from cellward.formats.hierarchy_file import read_hierarchy
from cellward.hierarchy import Hierarchy
from cellward.protect.option import Cells
from cellward.registry import ADDITIVE, read
from cellward.table.made_additive import WORDS
from cellward.table.table import Table

LABEL = "DIM=COLUMN: column that says what the codes of a dimension are called; repeatable."
SHEET = "Sheet of an Excel file, where several hold something."
READING: Options = in_panel(
    {
        "dims": (str | None, typer.Option(None, help="Dimension columns of a long table, separated by commas.")),
        "value": (str | None, typer.Option(None, help="Value column of a long table.")),
        "hierarchy": (
            list[str] | None,
            typer.Option(
                None,
                help="DIM=FILE (.hrc, or CSV: child and parent, or one column a level); repeatable, also for one dimension.",
            ),
        ),
        "total": (str, typer.Option("Total", help="Code that stands for the total.")),
        "totals": (
            str,
            typer.Option("auto", help="auto: compute totals that no row holds; given: never; compute: all anew."),
        ),
        "empty": (str, typer.Option("absent", help="Cells that no row holds: absent or zero.")),
        "missing": (str | None, typer.Option(None, hidden=True)),
        "across": (
            str | None,
            typer.Option(None, help="Dimension whose codes are the columns of a wide table; --dims names it too."),
        ),
        "labels": (list[str] | None, typer.Option(None, help=LABEL)),
        "sheet": (str | None, typer.Option(None, help=SHEET)),
        "status": (str | None, typer.Option(None, help="Column of statuses: s safe, u unsafe, m secondary, z fixed.")),
        "lpl": (str | None, typer.Option(None, help="Column of lower protection levels.")),
        "upl": (str | None, typer.Option(None, help="Column of upper protection levels.")),
        "spl": (str | None, typer.Option(None, help="Column of sliding protection levels.")),
        "cost": (
            str | None,
            typer.Option(None, help="Column of what a unit of deviation costs, used with --weights table."),
        ),
        "weight": (str | None, typer.Option(None, hidden=True)),
        "decimals": (
            int | None,
            typer.Option(None, help="Decimals to round values to. Default: as many as they have."),
        ),
        "additive": (
            str | None,
            typer.Option(
                None,
                help="Make a table that does not add up the nearest that does: l1 by the least sum of changes, l2 of their squares; what moved is "
                "listed. Unless told, it is refused.",
            ),
        ),
        "keep_values": (
            list[str] | None,
            typer.Option(
                None,
                "--keep-values",
                "--keep-value",
                help="With --additive: total, margins or inner, or a cell that keeps its value (its codes A,B; its number in a JJ file); repeatable.",
            ),
        ),
        "additive_weights": (
            str,
            typer.Option(
                "equal", help="With --additive: how changes are weighted: equal, relative (1/value) or table (--cost)."
            ),
        ),
        "lower": (str, typer.Option("0", help="Lower bound of every cell: a number, a column of bounds, or 'none'.")),
        "upper": (
            str,
            typer.Option("none", help="Upper bound of every cell: a number, a column of bounds, or 'none'."),
        ),
        "separator": (str | None, typer.Option(None, help="CSV separator; found from the header unless given.")),
        "decimal": (str, typer.Option(".", help="Decimal mark in text files: . or ,")),
        "names": (
            str | None,
            typer.Option(None, help="Column names, separated by commas, of a text file without a header."),
        ),
    },
    "Reading the table",
)
"""The options that say how to read a table, for every command that reads one."""

RECORDS: Options = in_panel(
    {
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
        "hierarchy": (
            list[str] | None,
            typer.Option(
                None,
                help="DIM=FILE (.hrc, or CSV: child and parent, or one column a level); repeatable, also for one dimension.",
            ),
        ),
        "total": (str, typer.Option("Total", help="Code that stands for the total.")),
        "missing": (
            list[str] | None,
            typer.Option(None, help="Records without a code: refuse, drop or keep; or DIM=drop for one dimension."),
        ),
        "missing_codes": (list[str] | None, typer.Option(None, help="DIM=CODE,CODE: codes that mean a missing one.")),
        "labels": (list[str] | None, typer.Option(None, help=LABEL)),
        "sheet": (str | None, typer.Option(None, help=SHEET)),
        "pad": (list[str] | None, typer.Option(None, help="DIM=WIDTH: pad codes with blanks on the left.")),
        "blank": (str, typer.Option("refuse", help="Records without a value: refuse, drop or zero.")),
        "negative": (
            str,
            typer.Option("refuse", help="Negative contributions: refuse, or absolute (rules look at sizes)."),
        ),
        "empty": (str, typer.Option("absent", help="Combinations without a record: absent or zero.")),
        "spelling": (
            str,
            typer.Option(
                "folded", help="Names of units that differ in case, blanks or Unicode form: folded or 'as written'."
            ),
        ),
        "largest": (int, typer.Option(3, help="How many of the largest contributions are kept of each cell.")),
        "decimals": (
            int | None,
            typer.Option(None, help="Decimals to round values to. Default: as many as they have."),
        ),
        "decimal": (str, typer.Option(".", help="Decimal mark in text files: . or ,")),
        "separator": (str | None, typer.Option(None, help="CSV separator; found from the header unless given.")),
        "query": (str | None, typer.Option(None, help="Table or SELECT of a DuckDB file.")),
    },
    "Reading the records",
)
"""The options that say how to read a file of records."""

reads_a_table = with_options(READING, "reading")
reads_records = with_options(RECORDS, "reading")


def hierarchy_files(reading: dict[str, Any]) -> dict[str, Path]:
    """The files of hierarchies that are read, by what they are for."""
    files = by_dimension(reading["hierarchy"], "hierarchy", "DIM=FILE.hrc")
    return {f"hierarchy {k} of {dim}": Path(file) for dim, own in files.items() for k, file in enumerate(own, start=1)}


def _trees(entries: list[str] | None, total: str) -> dict[str, list[Hierarchy]]:
    files = by_dimension(entries, "hierarchy", "DIM=FILE.hrc")
    return {dim: [read_hierarchy(Path(file), total=total) for file in own] for dim, own in files.items()}


def _labels(entries: list[str] | None) -> dict[str, str | Mapping[str, str]]:
    """DIM=COLUMN options; the last one a dimension counts."""
    return {dim: own[-1] for dim, own in by_dimension(entries, "labels", "DIM=COLUMN").items()}


def tabulated(path: Path, reading: dict[str, Any], threads: int | None) -> Table:
    """Add up a file of records."""

    options = {
        name: entry
        for name, entry in reading.items()
        if name not in ("hierarchy", "pad", "missing", "missing_codes", "labels")
    }
    listed = [name.strip() for name in reading["dims"].split(",")]
    options["dims"] = reading["dims"] if "*" in reading["dims"] or "+" in reading["dims"] else listed
    options["request_codes"] = reading["request_codes"].split(",")
    plain = [entry for entry in reading["missing"] or [] if "=" not in entry]
    by_dim = by_dimension([entry for entry in reading["missing"] or [] if "=" in entry], "missing", "DIM=drop")
    if plain and (by_dim or len(plain) > 1):
        raise InputError("--missing: give one word for all dimensions, or DIM=word for each")
    widths = {dim: own[-1] for dim, own in by_dimension(reading["pad"], "pad", "DIM=WIDTH").items()}
    if wrong := [text for text in widths.values() if not text.isdecimal()]:
        raise InputError(f"--pad {wrong[0]}: write DIM=WIDTH, such as region=2")
    return Table.from_microdata(
        path,
        hierarchies=_trees(reading["hierarchy"], reading["total"]),
        missing=plain[0] if plain else {dim: own[-1] for dim, own in by_dim.items()} or "refuse",
        missing_codes={
            dim: [code for text in own for code in text.split(",")]
            for dim, own in by_dimension(reading["missing_codes"], "missing-codes", "DIM=CODE,CODE").items()
        },
        labels=_labels(reading["labels"]),
        pad={dim: int(width) for dim, width in widths.items()},
        threads=threads,
        **options,
    )


def read_table(path: Path, reading: dict[str, Any]) -> Table:
    """Read a table, passing on only what its format takes, and say what was moved in one that did not add up."""
    table = _read_table(
        path, {**reading, "keep_values": Cells(WORDS).read_text(reading["keep_values"] or [], "--keep-values")}
    )
    if table.made_additive is not None:
        say(table.made_additive.sentence)
    return table


def _read_table(path: Path, reading: dict[str, Any]) -> Table:
    additive = {name: reading[name] for name in ADDITIVE}
    if path.suffix.lower() == ".jj":
        if given := [
            f"--{n}"
            for n, (_, option) in READING.items()
            if n not in ("decimals", *ADDITIVE) and reading[n] != option.default
        ]:
            raise InputError(f"{path}: a JJ file says itself how it is to be read; leave out {', '.join(given)}")
        return read(path, decimals=reading["decimals"], **additive)
    if path.suffix.lower() == ".tab" and not reading["dims"]:
        taken = ("decimals", "totals", "value", *ADDITIVE)
        told = {n: reading[n] for n, (_, option) in READING.items() if reading[n] != option.default or n in taken}
        return read(path, **{name: entry for name, entry in told.items() if entry is not None})
    trees = _trees(reading["hierarchy"], reading["total"])
    own = ("hierarchy", "labels")
    options = {name: entry for name, entry in reading.items() if name not in own and entry is not None}
    options["labels"] = _labels(reading["labels"])
    if reading["names"] is not None:
        options["names"] = [name.strip() for name in reading["names"].split(",")]
    if reading["decimal"] == ".":
        options.pop("decimal")
    options["dims"] = [name.strip() for name in (reading["dims"] or "").split(",") if name.strip()]
    for side in ("lower", "upper"):
        options[side] = None if reading[side].lower() == "none" else reading[side]
    return read(path, hierarchies=trees, **options)
