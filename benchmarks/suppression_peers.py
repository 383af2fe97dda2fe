"""Cell suppression side by side with τ-ARGUS (pytauargus) in one run, and how time grows.

    python benchmarks/suppression_peers.py                  all parts: about an hour; writes RESULTS.md; exits 1 when one falls short
    python benchmarks/suppression_peers.py --part peers     one part; repeatable
    python benchmarks/suppression_peers.py --quick          the smallest of each, not judged by the clock; writes nothing

- peers: OPT and MOD, then ours in the time that OPT took (at least 10 s, at most 60; HIER13: 120). Cost is the value of what is withheld for the
  sake of others; whether a pattern is safe is said by our audit. Ours is always safe, and never dearer than a safe pattern of the peer.
- growth: seconds to the first safe pattern, and of interval publication to the proven least, by cells and by cells at risk, with fitted
  exponents.
"""

from __future__ import annotations

import sys
import time
from dataclasses import dataclass
from typing import Any

import numpy as np
from peer_tauargus_suppression import PeerPattern, suppress_with_tauargus, unmet
from results import SHARED, Report, run_parts, table
from suppression import at_risk, hierarchical

import cellward as cw

PARTS = {"peers": "side by side with τ-ARGUS", "growth": "growth of time with cells and cells at risk"}
PEER_S = 150.0


@dataclass(frozen=True)
class Case:
    name: str
    risk: int


CASES = (
    Case("10×10", 10), Case("20×20", 40), Case("50×50", 100), Case("100×100", 150), Case("(4·4)×10", 12), Case("(5·8)×(5·6)", 60), Case("6×6×6", 20),
    Case("8×8×8", 40), Case("HIER13", 0),
)  # fmt: skip


def made(case: Case) -> cw.Table:
    rng = np.random.default_rng(7)
    if case.name == "HIER13":
        return cw.read(SHARED / "instances" / "csplib" / "HIER13.jj")
    if case.name.startswith("("):
        shape = ((4, 4), (1, 10)) if case.name == "(4·4)×10" else ((5, 8), (5, 6))
        return at_risk(hierarchical(rng, *shape), case.risk, rng)
    shape = tuple(int(x) for x in case.name.split("×"))
    return at_risk(cw.Table.from_array(rng.integers(1, 100, shape)), case.risk, rng)


def told(peer: PeerPattern, one: cw.Table) -> tuple[list[str], int | None]:
    """Cost, seconds and verdict in words, and the cost where the pattern is safe."""
    if peer.secondary is None:
        return [peer.status, "", ""], None
    cost = int(np.maximum(one.scaled[peer.secondary], 1).sum()) if peer.secondary else 0
    open_ = unmet(one, peer.secondary)
    verdict = "safe" if not open_ else f"**{open_} levels unmet**"
    return [f"{cost:,}", f"{peer.seconds:.1f} s", verdict], None if open_ else cost


def peers(report: Report, *, quick: bool) -> None:
    rows = []
    for case in CASES[:1] if quick else CASES:
        one = made(case)
        both = [suppress_with_tauargus(one, method, PEER_S) for method in ("OPT", "MOD")]
        words = [told(peer, one) for peer in both]
        limit = min(max(both[0].seconds, 10.0), 120.0 if case.name == "HIER13" else 60.0)
        began = time.perf_counter()
        p = cw.CellSuppression().protect(one, weights="value", time_limit_s=limit)
        seconds = time.perf_counter() - began
        safe = p.publication is not None and p.protected is True and bool(p.certificate().check())
        report.require(safe, f"{case.name}: ours is not safe")
        ours = ["nothing", "", ""]
        if safe:
            free = p.publication.withheld.copy()
            free[one.sensitivity.unsafe] = False
            cost = int(np.maximum(one.scaled[free], 1).sum())
            ours = [f"{cost:,}", f"{seconds:.1f} s", f"{100 * p.gap:.1f} %"]
            for name, (_, least) in zip(("OPT", "MOD"), words, strict=True):
                report.require(
                    least is None or cost <= least,
                    f"{case.name}: {name} found {least:,} where ours costs {cost:,}" if least else "",
                )
        rows.append([case.name, f"{one.cells:,}", len(one.sensitivity.unsafe), *words[0][0], *words[1][0], *ours])
        print(" | ".join(map(str, rows[-1])), flush=True)
    head = [
        "table",
        "cells",
        "at risk",
        "OPT: cost",
        "time",
        "audit",
        "MOD: cost",
        "time",
        "audit",
        "ours: cost",
        "time",
        "gap",
    ]
    report.add(table(head, rows))


def first_s(one: cw.Table, limit_s: float) -> float | None:
    """Seconds to the first safe pattern."""
    seen: list[float] = []
    began = time.perf_counter()

    def watch(standing: Any) -> None:
        if standing.incumbent is not None and not seen:
            seen.append(time.perf_counter() - began)

    cw.CellSuppression().protect(one, weights="value", time_limit_s=limit_s, progress=watch)
    return seen[0] if seen else None


def ranges_s(one: cw.Table, limit_s: float) -> float | None:
    began = time.perf_counter()
    p = cw.IntervalPublication().protect(one, time_limit_s=limit_s)
    return time.perf_counter() - began if p.status == "optimal" else None


def fitted(sizes: list[int], seconds: list[float | None]) -> str:
    pairs = [(np.log(size), np.log(took)) for size, took in zip(sizes, seconds, strict=True) if took]
    if len(pairs) < 3:
        return ""
    slope = np.polyfit([x for x, _ in pairs], [y for _, y in pairs], 1)[0]
    return f"{slope:.2f}"


def growth(report: Report, *, quick: bool) -> None:
    rng = np.random.default_rng(7)
    rows = []
    sides = (10, 15, 20) if quick else (20, 40, 80, 160, 240)
    risks = (5, 10, 20) if quick else (25, 50, 100, 200, 400)
    by_cells = [at_risk(cw.Table.from_array(rng.integers(1, 100, (k, k))), 20, rng) for k in sides]
    by_risk = [
        at_risk(cw.Table.from_array(np.random.default_rng(8).integers(1, 100, (20, 20) if quick else (80, 80))), k, rng)
        for k in risks
    ]
    limit = 3.0 if quick else 30.0
    for what, tables, sizes in (
        ("cells (20 at risk)", by_cells, [one.cells for one in by_cells]),
        ("cells at risk", by_risk, list(risks)),
    ):
        for name, took in (("first safe pattern", first_s), ("least ranges", ranges_s)):
            found = [took(one, limit) for one in tables]
            rows.append(
                [
                    what,
                    name,
                    *(f"{size:,}: {'–' if t is None else f'{t:.2f} s'}" for size, t in zip(sizes, found, strict=True)),
                    fitted(sizes, found),
                ]
            )
            print(" | ".join(map(str, rows[-1])), flush=True)
    report.add(table(["by", "time to", *([""] * len(sides)), "exponent"], rows))


RUN = {"peers": peers, "growth": growth}


def figures(report: Report, part: str, *, quick: bool) -> None:
    RUN[part](report, quick=quick)


if __name__ == "__main__":
    sys.exit(run_parts("suppression_peers.py", "Suppression", PARTS, figures, __doc__))
