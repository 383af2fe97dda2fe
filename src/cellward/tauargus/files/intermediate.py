"""τ-ARGUS' output type 5, the intermediate table ``.tab``, with the ``.rda`` and ``.hrc`` files that make it readable; and tables of ours so."""

from __future__ import annotations

import os
import re
from collections.abc import Mapping
from fractions import Fraction
from pathlib import Path

import numpy as np

from cellward import exact
from cellward.errors import InputError
from cellward.exact import NO_BOUND
from cellward.files.whole import check_folder, write_whole
from cellward.formats.hrc import write_hrc
from cellward.hierarchy import Hierarchy
from cellward.table.table import Table
from cellward.tauargus.files.output_table import Options, Written
from cellward.tauargus.files.rda import Metadata, Variable, read_rda, write_rda
from cellward.tauargus.files.statuses import UNSAFE, letter


def intermediate(written: Written, options: Options) -> str:
    """The rows: codes, value, [frequency, shadow], [cost], [largest], status, lower and upper level, [what an audit found]; see :func:`columns`."""
    table = written.table
    numbers = _numbers(written, options)
    lines = []
    for codes, cell in written.rows(cells_only=options.skip_empty):
        entries = [_quoted(code, options) for code in codes]
        if cell < 0:
            entries += ["0" if whole else exact.text(0, table.decimals) for _, whole in columns(written, options)]
            entries[-3 - 6 * options.audit] = "E"
        else:
            entries += [column[cell] for column in numbers]
        lines.append(";".join(entries))
    return "\n".join(lines) + "\n"


def columns(written: Written, options: Options) -> list[tuple[Variable, bool]]:
    """The columns after the codes as the metadata describe them, and whether they hold whole numbers or words."""
    d, c = written.table.decimals, written.table.contributions
    taken = {dim.casefold() for dim in written.table.labels.dims}

    def fresh_variable(name: str, role: str, decimals: int = 0) -> Variable:
        while name.casefold() in taken:
            name += "_"
        taken.add(name.casefold())
        return Variable(name=name, role=role, decimals=decimals)

    out = [(fresh_variable(written.response, "number", d), False)]
    if c is not None and not written.counts:
        out.append((fresh_variable("Freq", "frequency"), True))
        if not options.status_only:
            out.append((fresh_variable("Shadow", "shadow"), False))
    if written.table.weight is not None or written.cost:
        out.append((fresh_variable("Cost", "cost"), False))
    if c is not None and not options.status_only:
        out += [(fresh_variable(f"Top{k + 1}", "largest"), False) for k in range(_kept(written))]
    out += [
        (fresh_variable("Status", "status"), True),
        (fresh_variable("Lower", "lpl"), False),
        (fresh_variable("Upper", "upl"), False),
    ]
    if options.audit:
        found = ("RealizedLower", "RealizedUpper", "Width")
        out += [(fresh_variable(name, "number"), False) for name in found]
        out += [(fresh_variable(name, "number"), True) for name in ("LowerPercent", "UpperPercent", "WidthPercent")]
    return out


def _kept(written: Written) -> int:
    c = written.table.contributions
    kept = 0 if c is None else c.kept
    return kept if written.largest is None else min(kept, written.largest)


def _numbers(written: Written, options: Options) -> list[list[str]]:
    """The columns after the codes, by cell."""
    table, states = written.table, written.states
    d, c, s = table.decimals, table.contributions, table.sensitivity
    out = [written.texts]
    if c is not None and not written.counts:
        out.append([str(n) for n in (c.units if options.holdings else c.rows).tolist()])
        if not options.status_only:
            out.append(exact.texts(c.size, d))
    if table.weight is not None or written.cost:
        cost = (np.abs(table.scaled), d) if table.weight is None else (table.weight, table.weight_decimals)
        out.append(exact.texts(*cost))
    if c is not None and not options.status_only:
        out += [exact.texts(top, d) for top in c.top[: _kept(written)]]
    out.append([letter(state) for state in states])
    unsafe = np.array([state.state == UNSAFE for state in states], np.bool_)
    unit = np.where((table.scaled != 0), 1, 0)  # what τ-ARGUS writes beside every other cell that is not 0
    out += [exact.texts(np.where(unsafe, level, unit), d) for level in (s.lpl, s.upl)]
    if options.audit:
        out += _audited(written)
    return out


def _audited(written: Written) -> list[list[str]]:
    """What an attacker can narrow each withheld cell down to, and the distances in percent of the value."""
    table = written.table
    found = [(written.intervals or {}).get(i) for i in range(table.cells)]
    zero = exact.text(0, table.decimals)
    out: list[list[str]] = [[] for _ in range(6)]
    for value, ends in zip(table.values.tolist(), found, strict=True):
        if ends is None:
            entries = [zero, zero, zero, "0", "0", "0"]
        else:
            low, high = ends
            entries = [f"{float(end):.{table.decimals}f}" for end in (low, high, high - low)]
            exactly = Fraction(str(value))
            steps = (exactly - low, high - exactly, high - low)
            entries += [f"{float(100 * step / exactly):.2f}" if exactly else "0" for step in steps]
        for column, entry in zip(out, entries, strict=True):
            column.append(entry)
    return out


def _quoted(code: str, options: Options) -> str:
    if '"' in code or not code.isprintable():
        raise InputError(f"the code {code!r} cannot stand in a .tab file, which has no way to write it; rename it")
    if not options.quotes and (";" in code or code != code.strip()):
        raise InputError(f"the code {code!r} needs quotes; write codes in quotes (QU+)")
    return f'"{code}"' if options.quotes else code


def check_metadata(path: Path, trees: Mapping[str, Hierarchy]) -> dict[str, Path]:
    """The files that a ``.tab`` needs beside it: its ``.rda``, and an ``.hrc`` for each dimension that is not flat."""
    deep = [dim for dim, tree in trees.items() if tree.depth > 1]
    files = {dim: path.with_name(f"{path.stem}_{re.sub(r'[^0-9A-Za-z]', '_', dim)}.hrc") for dim in deep}
    if len({file.name.casefold() for file in files.values()}) < len(files):
        files = {dim: path.with_name(f"{path.stem}_{k + 1}.hrc") for k, dim in enumerate(deep)}
    for file in (*files.values(), path.with_suffix(".rda")):
        check_folder(file)
    if _describes_records(path.with_suffix(".rda")):
        raise InputError(
            f"{path}: {path.stem}.rda is there and describes records; choose another name, or take it away"
        )
    return files


def _describes_records(path: Path) -> bool:
    try:
        return path.exists() and read_rda(path).kind != "table"
    except InputError:
        return False


def write_metadata(written: Written, options: Options, path: Path) -> list[Path]:
    """Write the ``.rda`` and the ``.hrc`` files of a table, so that a τ-ARGUS user can open it."""
    trees = written.hierarchies
    files = check_metadata(path, trees)
    dims = [
        Variable(name=dim, recodable=True, total=tree.total, hierarchy_file=files[dim].name if dim in files else None)
        for dim, tree in trees.items()
    ]
    for dim, file in files.items():
        write_hrc(trees[dim], file)
    metadata = Metadata(
        path=path.with_suffix(".rda"),
        kind="table",
        variables=(*dims, *(variable for variable, _ in columns(written, options))),
    )
    return [*files.values(), write_rda(metadata, path.with_suffix(".rda"))]


def write_tab(table: Table, path: str | os.PathLike[str]) -> Path:
    """Write a confidential table as a ``.tab`` with its ``.rda`` and ``.hrc`` files; what the format has no place for is refused."""
    path = Path(path)
    s = table.sensitivity
    if s.spl.any():
        raise InputError(
            f"{path}: the table asks for sliding levels, which a .tab file has no column for; write it as .jj or .csv"
        )
    lost = np.flatnonzero(((s.lpl > 0) | (s.upl > 0)) & (s.status != 1))
    if len(lost):
        raise InputError(
            f"{path}: {table.labels.name(int(lost[0]))} asks for levels and is not unsafe, which a .tab file cannot say; write it as .csv"
        )
    usual = 0 if not (table.scaled < 0).any() else -NO_BOUND
    if (table.lower != usual).any() or (table.upper != NO_BOUND).any():
        raise InputError(
            f"{path}: the table has bounds of its own, which a .tab file has no columns for; write it as .jj or .csv"
        )
    written, options = Written(table=table, cost=False), Options(skip_empty=True)
    text = intermediate(written, options)
    write_metadata(written, options, path)
    return write_whole(path, text.encode(), confidential=True)
