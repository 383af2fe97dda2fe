"""Finding at scale: a p % rule on a million records over a hundred thousand codes, sums that a unit dominates included, within a minute.

The table is judged in this process, tabulation not counted; twice the codes and records should take about twice as long. On a small table the sums
are compared with their definition (tests/oracles), which looks every unit up in every part of an equation.

python benchmarks/find_scale.py [--quick]
"""

from __future__ import annotations

import sys
import time
from typing import Any

import measure  # noqa: F401  # isort: skip (finds the oracles)
import numpy as np
from results import Report, run_parts, table
from slow_sums import sums_of

from cellward import PPercent, Table

PARTS = {"codes": "flat dimensions of many codes"}
SECONDS = 60.0
"""What is asked of the largest."""
RECORDS, QUICK, SMALL = 1_000_000, 20_000, 4_000
SEED = 17


def records(many: int, *, crossed: bool) -> dict[str, Any]:
    """Ten records a code and five a firm, amounts with a long tail; ``crossed``: by a second dimension of ten codes too."""
    rng = np.random.default_rng(SEED)
    out: dict[str, Any] = {
        "code": np.char.add("c", rng.integers(0, many // 10, many).astype(str)).tolist(),
        "firm": rng.integers(0, many // 5, many),
        "x": np.maximum(1, np.round(rng.lognormal(5, 1.5, many))).astype(np.int64),
    }
    if crossed:
        out["size"] = np.char.add("s", rng.integers(0, 10, many).astype(str)).tolist()
    return out


def measured(many: int, *, crossed: bool) -> tuple[Table, float, float]:
    """The table after the search, and its seconds by the clock and of this process."""
    made = Table.from_microdata(
        records(many, crossed=crossed), dims=["code", *(["size"] if crossed else [])], measure="x", contributor="firm"
    )
    clock, own = time.perf_counter(), time.process_time()
    found = made.find(PPercent(10))
    return found, time.perf_counter() - clock, time.process_time() - own


def figures(report: Report, part: str, *, quick: bool) -> None:  # noqa: ARG001 (one part)
    """Half the records and all of them, one dimension and two."""
    most = QUICK if quick else RECORDS
    rows: list[list[object]] = []
    for crossed in (False, True):
        for many in (most // 2, most):
            found, clock, own = measured(many, crossed=crossed)
            if many == most:
                report.require(
                    clock <= SECONDS, f"{many:,} records{' crossed' if crossed else ''}: {clock:.0f} s, not {SECONDS:g}"
                )
                report.require(len(found.sensitivity.sums) > 0, "no sum of cells is at risk, so nothing was shown")
            rows.append(
                [f"{many:,}", f"{many // 10:,}{' × 10' if crossed else ''}", f"{found.cells:,}", f"{len(found.sensitive):,}",
                 f"{len(found.sensitivity.sums):,}", f"**{clock:.1f} s**", f"{own:.1f} s"]
            )  # fmt: skip
    small, clock, _ = measured(SMALL, crossed=True)
    begun = time.perf_counter()
    defined = sums_of(small)
    slow = time.perf_counter() - begun
    same = [(tuple(one.cell.tolist()), one.lpl, one.upl) for one in small.sensitivity.sums] == [
        one[:3] for one in defined
    ]
    report.require(same, "the sums are not those of the definition")
    head = ["records", "codes", "cells", "at risk", "sums at risk", "find", "of which this process worked"]
    report.add(
        f"`table.find(PPercent(10))` on records of firms (five each), seed {SEED}; {SECONDS:g} s are asked of the largest. On {SMALL:,} records over "
        f"{SMALL // 10:,} × 10 codes the definition, every unit looked up in every part of an equation, takes {slow:.1f} s for the sums alone, "
        f"**{slow / clock:.0f} ×** the whole search, and finds {'the same' if same else 'OTHER'} sums.\n\n"
        + table(head, rows)
    )


if __name__ == "__main__":
    sys.exit(run_parts("find_scale.py", "Finding at scale", PARTS, figures, __doc__))
