"""Certificates of withheld values and of ranges with one thing changed: whatever makes a claim or its evidence false must be rejected.

    python benchmarks/suppression_certificates.py           100,000 mutations of these two kinds; writes RESULTS.md; exits 1 on a failure
    python benchmarks/suppression_certificates.py --quick   500; writes nothing

The mutations, and the judge that shares nothing with the package, are those of certificate_mutations.py.
"""

from __future__ import annotations

import sys

from certificate_mutations import run
from results import Report, run_parts

CASES, CASES_QUICK = 100_000, 500
RULES = ("suppressed", "interval")
PARTS = {"mutations": "certificates of withheld values and ranges, mutated"}


def figures(report: Report, part: str, *, quick: bool) -> None:  # noqa: ARG001
    result = run(CASES_QUICK if quick else CASES, 0, RULES)
    report.add(result.text())
    report.require(not result.failures, "; ".join(result.failures[:5]))


if __name__ == "__main__":
    sys.exit(run_parts("suppression_certificates.py", "Suppression", PARTS, figures, __doc__))
