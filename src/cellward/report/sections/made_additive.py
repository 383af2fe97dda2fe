"""What was moved so that a table adds up, as a file. Confidential."""

from __future__ import annotations

import csv
import io

from cellward.table.table import Table


def made_additive_csv(table: Table) -> bytes | None:
    """One row for each cell that moved: its codes, what it was, what it is; None where it was not asked to be made additive."""
    if table.made_additive is None:
        return None
    columns, out = table.made_additive.columns(), io.StringIO()
    writer = csv.writer(out, lineterminator="\n")
    writer.writerow(columns)
    writer.writerows(zip(*columns.values(), strict=True))
    return out.getvalue().encode()
