"""The audit in words and as a file, for the data holder's eyes."""

from __future__ import annotations

import csv
import io
from pathlib import Path
from typing import Any

import numpy as np

from cellward.audit.audit import NOT_TRIED, Audit
from cellward.files.whole import write_whole
from cellward.report.section import Lines, Section

_MOST_LISTED = 20


def audit_section(audit: Audit) -> Section:
    """A few lines: the verdicts counted, the widths, and the cells that fail."""
    c = audit.intervals
    width = np.asarray(c["upper"], float) - np.asarray(c["lower"], float)
    attackers = dict.fromkeys(c["attacker"].tolist())
    who = f"attacker {next(iter(attackers))}" if len(attackers) == 1 else f"{len(attackers):,} attackers"
    lines = [f"{len(width):,} intervals of {who}, {int((width == 0).sum()):,} of them a single value"]
    if not audit.tells:
        lines = [
            f"{len(width):,} cells and {who}: values were adjusted by amounts that are not published, which gives no intervals"
        ]
    counts = {word: int((c["verdict"] == word).sum()) for word in dict.fromkeys(c["verdict"].tolist()) if word}
    if counts:
        lines.append(", ".join(f"{count:,} {word}" for word, count in counts.items()))
    if audit.sums is not None:
        verdict = audit.sums.intervals["verdict"].tolist()
        found = ", ".join(f"{verdict.count(word):,} {word}" for word in dict.fromkeys(verdict))
        lines.append(f"{len(verdict):,} sums of cells that one respondent dominates: {found}")
    if audit.open:
        lines.append(f"{audit.open:,} intervals were not settled in time and may be wider than shown")
    if audit.claimed:
        lines.append(f"{audit.claimed:,} ends rest on the integer solver's word")
    lines.extend(f"  {note}" for note in audit.notes)
    worst = audit.worst(_MOST_LISTED)
    lines.extend(f"  {sentence}" for sentence in worst)
    verdicts = {True: "protected: every level is met", False: "NOT PROTECTED", None: "no verdict: no levels asked"}
    last = verdicts[audit.protected]
    if audit.protected is None and counts:
        last = "no verdict: " + (
            "not settled in time"
            if audit.open
            else "too large to try all tables that the method could have been given"
            if counts.get(NOT_TRIED)
            else "every value is as far off as its levels ask, but no intervals are published"
        )
    return Section("audit", (Lines((*lines, last)),))


def audit_summary(audit: Audit) -> dict[str, Any]:
    """The audit in the words of ``--json``."""
    verdict = audit.intervals["verdict"].tolist()
    return {
        "protected": audit.protected,
        "intervals": len(verdict),
        "verdicts": {word: verdict.count(word) for word in sorted(set(verdict)) if word},
        "sums": 0 if audit.sums is None else len(audit.sums.intervals["verdict"]),
        "open": audit.open,
        "claimed": audit.claimed,
        "notes": list(audit.notes),
    }


def audit_csv(audit: Audit, path: Path) -> Path:
    """Write the intervals with the cells' labels, whole or not at all."""
    columns = audit.columns()
    out = io.StringIO()
    writer = csv.writer(out, lineterminator="\n")
    writer.writerow(columns)
    writer.writerows(
        zip(*(column if isinstance(column, list) else column.tolist() for column in columns.values()), strict=True)
    )
    return write_whole(path, out.getvalue().encode(), confidential=True)
