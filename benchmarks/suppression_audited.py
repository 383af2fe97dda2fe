"""Releases of random mid-size tables, audited: every level is met by exact tables, and every certificate holds.

    python benchmarks/suppression_audited.py           2,000 tables, withheld and as ranges in turn, about an hour; writes RESULTS.md
    python benchmarks/suppression_audited.py --quick   a few; writes nothing

Exits 1 where a level is unmet. Grids, cubes and hierarchies of 36 to 300 cells; in every third table a respondent who knows half of a cell
joins the public.
"""

from __future__ import annotations

import os
import sys
from collections import Counter
from concurrent.futures import ProcessPoolExecutor

import numpy as np
from results import Report, run_parts
from suppression import mid

import cellward as cw

TABLES, TABLES_QUICK, LIMIT_S = 2000, 4, 5.0
PARTS = {"audited": "2,000 random releases, audited"}


def one(seed: int) -> tuple[str | None, Counter[str]]:
    """What is wrong with one release, None where nothing is, and what came of it."""
    made, found = mid(seed), Counter[str]()
    known = [cw.Attacker.external()]
    if seed % 3 == 0:
        cell = int(np.random.default_rng([seed, 22]).integers(made.cells))
        known.append(cw.Attacker.knowing(made, "respondent", lower={cell: int(made.scaled[cell]) // 2}))
    method = cw.IntervalPublication() if seed % 2 else cw.CellSuppression()
    p = method.protect(made, attackers=known, time_limit_s=LIMIT_S)
    kind = "ranges" if seed % 2 else "withheld"
    found[f"{kind} tables"] += 1
    if p.publication is None:
        found[f"{kind} tables {p.status}"] += 1
        return None, found
    found[f"{kind} tables proven least"] += p.certified_bound == p.objective
    audit = p.audit()
    if not (audit.protected and p.releasable and p.certificate().check()):
        return "a level is unmet, or the certificate does not hold", found
    return None, found


def figures(report: Report, part: str, *, quick: bool) -> None:  # noqa: ARG001
    found: Counter[str] = Counter()
    wrong = []
    with ProcessPoolExecutor(os.cpu_count()) as pool:
        for seed, (fault, what) in enumerate(pool.map(one, range(TABLES_QUICK if quick else TABLES), chunksize=4)):
            found += what
            if fault:
                wrong.append(f"table {seed}: {fault}")
                print(wrong[-1], flush=True)
    said = ", ".join(f"{many:,} {what}" for what, many in sorted(found.items()))
    report.add(f"{said}; **{len(wrong)} with something unmet** ({LIMIT_S:g} s each).")
    report.require(not wrong, "; ".join(wrong[:5]))
    late = sum(many for what, many in found.items() if what.endswith("failed"))
    report.require(quick or not late, f"{late} tables without a release in time")


if __name__ == "__main__":
    sys.exit(run_parts("suppression_audited.py", "Suppression", PARTS, figures, __doc__))
