"""Findings as a file: which cells are at risk, why, and how far attackers must be kept away. Confidential."""

from __future__ import annotations

import csv
import io

from cellward import exact
from cellward.errors import InputError
from cellward.report.section import Lines, Section
from cellward.table.table import Table


def findings_section(table: Table) -> Section:
    """A table from records in a few lines, and what was found in it."""
    lines = []
    if (c := table.contributions) is not None:
        left_out = f", {c.dropped:,} left out (no value or no code)" if c.dropped else ""
        lines.append(f"{c.records:,} records added up{left_out}.")
        lines += [one.sentence for one in c.alike]
    if table.findings is not None:
        lines += table.findings.lines()
    if sums := len(table.sensitivity.sums):
        what = "1 sum of cells is" if sums == 1 else f"{sums:,} sums of cells are"
        lines.append(f"{what} dominated by one respondent, and to be protected too.")
    return Section("findings", (Lines(tuple(lines)),))


_COLUMNS = ("value", "records", "contributors", "rules", "lpl", "upl", "spl", "reasons")


def findings_csv(table: Table) -> bytes:
    """One row for each cell at risk."""
    findings, c, s = table.findings, table.contributions, table.sensitivity
    if findings is None or c is None:
        raise InputError("the table has no findings; find its cells at risk with table.find first")
    out = io.StringIO()
    writer = csv.writer(out, lineterminator="\n")
    words = table.labels.word_columns()
    writer.writerow([*table.labels.dims, *words, *_COLUMNS])
    for i in findings.unsafe.tolist():
        levels = [exact.text(int(level[i]), table.decimals) for level in (s.lpl, s.upl, s.spl)]
        rules = " ".join(rule.kind for rule in findings.rules_of(i))
        value = exact.text(int(table.scaled[i]), table.decimals)
        writer.writerow(
            [
                *table.labels.tuple_of(i), *(column[i] for column in words.values()), value, int(c.rows[i]), int(c.units[i]), rules, *levels,
                " ".join(findings.reasons(i)),
            ]
        )  # fmt: skip
    return out.getvalue().encode()
