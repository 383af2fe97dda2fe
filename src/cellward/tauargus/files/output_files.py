"""The output types by number, 1 to 6, and the files that each makes."""

from __future__ import annotations

import os
from pathlib import Path

from cellward.errors import InputError
from cellward.files.scratch import scratch_folder
from cellward.files.whole import check_folder, write_whole
from cellward.formats.jj import write_jj
from cellward.table.table import Table
from cellward.tauargus.files.intermediate import intermediate, write_metadata
from cellward.tauargus.files.jj_output import for_solvers
from cellward.tauargus.files.output_table import Options, Written
from cellward.tauargus.files.outputs import business, code_value, grid


def output_files(
    written: Written, output: int, options: Options, name: str, statuses: str = "tauargus"
) -> dict[str, bytes]:
    """What an output type makes of a table, by file name: an intermediate table comes with its metadata, a JJ file with its frequencies."""
    if output == 1:
        return {name: grid(written, options).encode()}
    if output in (2, 3):
        return {name: code_value(written, options, statuses).encode()}
    if output == 4:
        return {name: business(written, options).encode()}
    if output not in (5, 6):
        raise InputError(f"output type {output} is not known; use 1 to 6")
    with scratch_folder() as folder:
        made = folder / name
        if output == 6:
            write_jj(for_solvers(written.table), made)
        else:
            if made.suffix.lower() != ".rda":
                write_metadata(written, options, made)
            write_whole(made, intermediate(written, options).encode(), confidential=True)
        return {file.name: file.read_bytes() for file in sorted(folder.iterdir())}


def write_output(
    table: Table,
    path: str | os.PathLike[str],
    output: int,
    options: str = "",
    *,
    response: str = "value",
    statuses: str = "tauargus",
) -> list[Path]:
    """Write a table of ours as one of τ-ARGUS' output types, options as in a batch (``AS+FL+``); confidential, like the table.

    ``statuses``: ``tauargus``, ``sdmx`` (CONF_STATUS and OBS_STATUS) or ``rtauargus``.
    """
    path = Path(path)
    written = Written(table=table, response=response)
    files = output_files(written, output, Options.read(options, output, str(path)), path.name, statuses)
    for name in files:
        check_folder(path.with_name(name))
    return [write_whole(path.with_name(name), data, confidential=True) for name, data in files.items()]
