"""What an attacker of a random release can work out, cell by cell, by exact linear programs or by enumeration of whole tables.

The release is read by its generator (``box``), straight from the definitions, so that the package's own reading is judged as well.
"""

from __future__ import annotations

from fractions import Fraction
from typing import Any

import exact_lp
import integer_points
from random_releases import Released
from rounding_grid import Bound

import cellward as cw

FAR = cw.exact.NO_BOUND


def true_intervals(case: Released, attacker: cw.Attacker) -> list[tuple[Fraction | None, Fraction | None]]:
    """Both ends of every cell by exact linear programs, or by enumeration of whole tables; in the table's units."""
    far = cw.exact.NO_BOUND
    lo: list[Bound] = []
    hi: list[Bound] = []
    known = dict(
        zip(attacker.cell.tolist(), zip(attacker.lower.tolist(), attacker.upper.tolist(), strict=True), strict=True)
    )
    for i, (down, up) in enumerate(case.box):
        lows = [down, int(case.table.lower[i]), known.get(i, (-far, far))[0]]
        highs = [up, int(case.table.upper[i]), known.get(i, (-far, far))[1]]
        lo.append(max((x for x in lows if x is not None and x > -far), default=None))
        hi.append(min((x for x in highs if x is not None and x < far), default=None))
    r = case.table.relations
    rows = [r.equation(j) for j in range(r.equations)]
    oracle: Any = integer_points if case.whole or attacker.whole else exact_lp
    unit = 10**case.table.decimals
    return [
        (None if low is None else Fraction(low) / unit, None if high is None else Fraction(high) / unit)
        for low, high in oracle.intervals(rows, lo, hi)
    ]
