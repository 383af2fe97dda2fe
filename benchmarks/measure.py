"""What the benchmarks measure alike: many random cases beside an oracle, levels that bind, certificates, seconds and sizes in words.

Importing it puts tests/oracles, where oracles and generators live, on the path.
"""

from __future__ import annotations

import multiprocessing
import sys
import time
from collections.abc import Callable, Sequence
from concurrent.futures import ProcessPoolExecutor
from dataclasses import dataclass
from pathlib import Path
from typing import TYPE_CHECKING, Any

from results import Report

import cellward as cw

ORACLES = Path(__file__).resolve().parent.parent / "tests" / "oracles"
sys.path.insert(0, str(ORACLES))

if TYPE_CHECKING:
    from tally import Tally

VIOLATED = 0.1
"""Levels bind: the cheapest table without them leaves at least this share of the requirements unmet."""
SHOWN = 20
"""Differences that are printed."""


# ---- in words ------------------------------------------------------------------------------------------------------------------------------


def wait(seconds: float) -> str:
    """Seconds in words that keep two digits."""
    return f"{seconds:.2g}" if seconds < 0.1 else f"{seconds:.2f}" if seconds < 10 else f"{seconds:.0f}"


def size(shape: tuple[int, ...]) -> str:
    return "×".join(map(str, shape))


def certified(p: cw.Protection) -> str:
    """What is wrong with a result's certificate, or nothing."""
    verdict = p.certificate().check()
    return "" if verdict else str(verdict.reason)


def peak_mb() -> float:
    """The most memory that this process has had, its parent's left aside (unlike ru_maxrss)."""
    return int(Path("/proc/self/status").read_text().split("VmHWM:")[1].split()[0]) / 1024


def timed(work: Callable[[], Any]) -> tuple[Any, float]:
    """What comes of it, and its seconds."""
    began = time.perf_counter()
    done = work()
    return done, time.perf_counter() - began


# ---- random cases --------------------------------------------------------------------------------------------------------------------------


def many(
    report: Report, name: str, summary: Callable[[Sequence[int]], Tally], cases: int, chunk: int
) -> tuple[Tally, float]:
    """The seeds 0 to ``cases``, in two processes; every difference falls short, as does a case left out. What was seen, and its seconds."""
    from tally import Tally

    seen, began = Tally(), time.perf_counter()
    with ProcessPoolExecutor(2, mp_context=multiprocessing.get_context("spawn")) as pool:
        for part in pool.map(summary, [range(k, min(k + chunk, cases)) for k in range(0, cases, chunk)]):
            seen.add(part)
    for line in seen.differences[:SHOWN]:
        print(line, flush=True)
    wrong = seen.differences
    report.require(seen.count["tables"] == cases, f"{name}: {seen.count['tables']:,} tables compared, not {cases:,}")
    report.require(not wrong, f"{name}: {len(wrong):,} differences, first {wrong[:1]}")
    return seen, time.perf_counter() - began


def unmet_share(report: Report, seen: Tally, cheapest: str) -> float:
    """The share of the requirements that the cheapest tables leave unmet; few fall short."""
    unmet, asked = seen.count[f"violated by the {cheapest}"], seen.count["requirements"]
    report.require(
        unmet >= VIOLATED * asked, f"brute force: the {cheapest} leaves only {unmet:,} of {asked:,} requirements"
    )
    return unmet / max(asked, 1)


# ---- levels that bind ----------------------------------------------------------------------------------------------------------------------


@dataclass(frozen=True, eq=False)
class Levelled:
    """A table protected with its levels (``p``) and without (``free``)."""

    free: cw.Protection
    p: cw.Protection
    seconds: float
    check_s: float
    certificate: str
    unmet: int
    """Requirements that ``free`` leaves unmet."""

    @property
    def share(self) -> str:
        requirements = self.free.evidence.requirements
        return f"{self.unmet} ({100 * self.unmet / max(requirements, 1):.0f} %)"

    @property
    def sensitive(self) -> str:
        asked = self.free.instance.sensitivity
        sides = " / ".join(str(int((side > 0).sum())) for side in (asked.lpl, asked.upl, asked.spl))
        return f"{len(asked.levels)} ({sides})"


def against_levels(
    report: Report,
    name: str,
    method: Callable[..., Any],
    table: cw.Table,
    attackers: Sequence[cw.Attacker],
    known: int,
    *,
    close: float = 0.0,
    **limits: Any,
) -> Levelled:
    """Protect a table whose levels bind: to the optimum, certified, between the optimum without levels and a table ``known`` to protect."""
    free = method(ignore_levels=True).protect(table, attackers=attackers)
    requirements, unmet = free.evidence.requirements, len(free.missing)
    report.require(
        unmet >= VIOLATED * requirements, f"{name}: the cheapest table leaves only {unmet} of {requirements}"
    )
    p, seconds = timed(lambda: method().protect(table, attackers=attackers, **limits))
    report.require(p.status == "optimal", f"{name}: {p.status}, {p.reason}")
    report.require(p.protected is True, f"{name}: not protected")
    words, check_s = "none", 0.0
    if p.scaled is not None:
        slack = close * max(1.0, free.objective)
        report.require(
            p.objective >= free.objective - slack, f"{name}: {p.objective} is less than {free.objective} without levels"
        )
        report.require(p.objective <= known + slack, f"{name}: {p.objective}, one of {known} is known")
        wrong, check_s = timed(lambda: certified(p))
        report.require(not wrong, f"{name}: certificate, {wrong}")
        words = wrong or f"holds, {p.evidence.requirements} requirements, {len(p.evidence.shown)} witnesses"
    return Levelled(free, p, seconds, check_s, words, unmet)


# ---- parts ---------------------------------------------------------------------------------------------------------------------------------


def one_of(parts: dict[str, Callable[..., None]]) -> Callable[..., None]:
    """Run a part by its name; what the package refuses falls short."""

    def figures(report: Report, part: str, *, quick: bool) -> None:
        try:
            parts[part](report, quick=quick)
        except cw.CellwardError as error:
            report.require(False, f"{part}: {type(error).__name__}: {error}")

    return figures
