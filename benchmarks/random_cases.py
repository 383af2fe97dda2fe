"""Random cases: cellward's answers on seeded small cases beside an oracle, as many as one likes; exits 1 when one differs.

python benchmarks/random_cases.py rounding --cases 2000 --start 0
python benchmarks/random_cases.py zero-restricted --flow       every network sent to the flow solver
python benchmarks/random_cases.py perturbation --oracle        the oracle alone, without cellward's answers
"""

from __future__ import annotations

import argparse
import sys
import time
from collections.abc import Iterator
from typing import Any

import measure  # noqa: F401  # isort: skip (finds the oracles)
import adjustment_check
import perturbation_check
import release_check
import rounding_check
import tabulation_check
import zero_restricted_check

CHECKS = {
    "zero-restricted": zero_restricted_check,
    "rounding": rounding_check,
    "perturbation": perturbation_check,
    "adjustment": adjustment_check,
    "release": release_check,
    "tabulation": tabulation_check,
}


def main() -> int:
    parser = argparse.ArgumentParser(description=__doc__, formatter_class=argparse.RawDescriptionHelpFormatter)
    parser.add_argument("check", choices=CHECKS)
    parser.add_argument("--cases", type=int, default=500)
    parser.add_argument("--start", type=int, default=0, help="the first seed")
    parser.add_argument("--flow", action="store_true", help="zero-restricted: send every network to the flow solver")
    parser.add_argument("--oracle", action="store_true", help="rounding, perturbation: without cellward's answers")
    options = parser.parse_args()
    began = time.perf_counter()

    def seeds() -> Iterator[int]:
        for k in range(options.cases):
            if k and k % 100 == 0:
                print(f"{k:,} cases in {time.perf_counter() - began:.0f} s", flush=True)
            yield options.start + k

    how: dict[str, Any] = ({"flow": True} if options.flow else {}) | ({"product": False} if options.oracle else {})
    seen = CHECKS[options.check].summary(seeds(), tell=lambda line: print(line, flush=True), **how)
    for name, count in seen.rows:
        print(f"{count:>10}  {name}")
    print(f"{options.cases:,} cases in {time.perf_counter() - began:.1f} s, {len(seen.differences)} differences")
    return 1 if seen.differences else 0


if __name__ == "__main__":
    sys.exit(main())
