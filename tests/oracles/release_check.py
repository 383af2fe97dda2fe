"""Cellward's audits of random releases beside the true intervals: ends and verdicts."""

from __future__ import annotations

from collections.abc import Callable, Iterable
from fractions import Fraction

from random_releases import Released, random_release
from tally import Tally
from true_intervals import true_intervals

import cellward as cw


def compare(case: Released) -> tuple[int, list[str]]:
    """How many ends were compared, and what differs: intervals, or verdicts on the cells with levels."""
    found = cw.audit(case.release, table=case.table, attackers=case.attackers)
    faults: list[str] = []
    ends = 0
    n = case.table.cells
    for k, attacker in enumerate(case.attackers):
        truth = true_intervals(case, attacker)
        for i in range(n):
            row = k * n + i
            ends += 2
            if found.ends[row] != truth[i] or not found.intervals["exact"][row]:
                faults.append(f"{case.rule}, {attacker!r}, cell {i}: {found.ends[row]} for {truth[i]}")
            verdict = verdict_of(case, attacker, i, *truth[i])
            if verdict != found.intervals["verdict"][row]:
                faults.append(
                    f"{case.rule}, {attacker!r}, cell {i}: {found.intervals['verdict'][row]!r} for {verdict!r} ({truth[i]})"
                )
    return ends, faults


def verdict_of(case: Released, attacker: cw.Attacker, i: int, low: Fraction | None, high: Fraction | None) -> str:
    s, unit = case.table.sensitivity, 10**case.table.decimals
    if i in attacker.known.tolist():
        return "known to the attacker"
    if i not in s.unsafe.tolist():
        return ""
    if low is not None and low == high:
        return "exactly disclosed"
    a = Fraction(int(case.table.scaled[i]), unit)
    lpl, upl, spl = (Fraction(int(x[i]), unit) for x in (s.lpl, s.upl, s.spl))
    reaches = (low is None or a - low >= lpl) and (high is None or high - a >= upl)
    wide = low is None or high is None or high - low >= spl
    return "protected" if reaches and wide else "under-protected"


def summary(seeds: Iterable[int], *, tell: Callable[[str], None] | None = None) -> Tally:
    """What these seeds show; ``tell`` takes the differences as they come."""
    seen = Tally()
    for seed in seeds:
        case = random_release(seed)
        ends, faults = compare(case)
        seen.count["tables"] += 1
        seen.by["rule"][case.rule] += 1
        seen.by["ends"][case.rule] += ends
        seen.differ([f"seed {seed}: {fault}" for fault in faults], tell)
    return seen
