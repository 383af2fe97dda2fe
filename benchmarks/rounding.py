"""Rounding: every figure that controlled rounding owes, computed, compared, and written to RESULTS.md.

python benchmarks/rounding.py                 all figures, some hours; writes RESULTS.md part by part; exits 1 when one falls short
python benchmarks/rounding.py --part speed    one part: brute, paper2d, paper3d, speed, hierarchical, protected, bias or infeasible
python benchmarks/rounding.py --quick         the same checks on small sizes, a minute; times are not judged; writes nothing
"""

from __future__ import annotations

import math
import sys
import time
from collections.abc import Callable
from functools import partial
from statistics import mean, median
from typing import Any

import numpy as np
from numpy.typing import NDArray

import measure  # isort: skip (finds the oracles)
import binding_levels
import census
import rounding_check
import rounding_rivals as rivals
import seeded_tables
from bank import causey_cox_ernst
from fixed_keys import key_of
from measure import certified, size, wait
from results import Report, run_parts, table

import cellward as cw
from cellward.instance import Instance
from cellward.publication.knowledge import KINDS
from cellward.solve.budget import Budget
from cellward.solve.highs import solve_lp, solve_mip
from cellward.solve.worker import warm_up

Ints = NDArray[np.int64]
FASTER, CUBE_GAP, CUBE_S, HIERARCHY_GAP, HIERARCHY_S, BIAS = 20, 0.005, 60.0, 0.001, 300.0, 0.03
"""What is asked: 300×300 so many times faster than HiGHS LP; gaps to the LP bound and the seconds they may take; the largest deviation "
"from unbiased."""
SHARES = (0, 25, 50, 75, 90)


# ---- brute force -------------------------------------------------------------------------------------------------------------------------


def brute(report: Report, *, quick: bool) -> None:
    """Random tables with levels against all their roundings."""
    cases, chunk = (40, 20) if quick else (20_000, 250)
    seen, seconds = measure.many(report, "brute force", rounding_check.summary, cases, chunk)
    unmet = measure.unmet_share(report, seen, "least rounding")
    report.add(
        f"{cases:,} random tables (seeds 0 to {cases - 1:,}) with levels, several attackers and mixed bases, both kinds of knowledge, "
        "beside an enumeration of all "
        "their roundings with exact attacker intervals: status, steps, optimum and protection: "
        f"**{len(seen.differences):,} differences** ({seconds:.0f} s). Levels are among those that a single cell can meet; the least rounding "
        "without them leaves "
        f"{100 * unmet:.0f} % of the requirements unmet.\n\n" + table(["", "count"], seen.rows)
    )


# ---- paper 003, two dimensions -----------------------------------------------------------------------------------------------------------

PAPER_LEAST = {
    100: (1.67, 1.01, 0.59, 0.28, 0.11),
    200: (9.04, 6.92, 4.51, 2.09, 0.57),
    300: (25.28, 18.91, 12.69, 5.91, 1.83),
}
"""Paper 003, Table 1: seconds on a Pentium/75, the least rounding; by share of multiples."""
PAPER_ANY = {
    100: (0.38, 0.26, 0.18, 0.11, 0.08),
    200: (3.03, 1.91, 1.12, 0.56, 0.34),
    300: (10.06, 6.18, 3.37, 1.51, 0.81),
}
"""Paper 003, Table 2: the same, any rounding."""


def solved(method: cw.ControlledRounding, made: cw.Table, budget: Budget | None = None) -> tuple[cw.Protection, float]:
    """A result and its seconds from Instance to Protection."""
    instance = Instance.of(made)
    began = time.perf_counter()
    p = method.solve(instance, budget or Budget(), key_of(0))
    return p, time.perf_counter() - began


def paper2d(report: Report, *, quick: bool) -> None:
    """Tables 1 and 2 of paper 003."""
    sides, trials = ((20, 80), 1) if quick else ((100, 200, 300), 20)
    least, quickest = cw.ControlledRounding(3), cw.ControlledRounding(3, goal="any")
    warm_up()
    solved(least, cw.Table.from_array(seeded_tables.with_multiples((80, 80), 0, 3, 0)))
    rows: list[list[object]] = []
    for side in sides:
        for place, share in enumerate(SHARES):
            seconds: dict[str, list[float]] = {"least": [], "any": []}
            excess, statuses, proven, engines = [], [], "", set()
            for trial in range(trials):
                inner = seeded_tables.with_multiples((side, side), share / 100, 3, seed=[side, share, trial])
                p, took = solved(least, cw.Table.from_array(inner))
                seconds["least"].append(took)
                statuses.append(p.status)
                engines.add(p.engine)
                q, took = solved(quickest, cw.Table.from_array(inner))
                seconds["any"].append(took)
                name = f"paper 003, {side}×{side}, {share} %, trial {trial}"
                report.require(q.status in ("optimal", "feasible"), f"{name}: any rounding is {q.status}, {q.reason}")
                if p.objective and q.objective is not None:
                    excess.append(q.objective / p.objective - 1)
                if trial == 0:
                    proven = "yes" if p.certified_bound == p.objective else f"{p.certified_bound} of {p.objective}"
            optimal = statuses.count("optimal")
            report.require(optimal == trials, f"paper 003, {side}×{side}, {share} %: {optimal} of {trials} optimal")
            report.require(proven == "yes", f"paper 003, {side}×{side}, {share} %: proven {proven}")
            theirs = [f"{paper[side][place]:.2f}" if side in paper else "" for paper in (PAPER_LEAST, PAPER_ANY)]
            rows.append(
                [f"{side}×{side}", f"{share} %", f"{optimal} of {trials}", proven, wait(mean(seconds["least"])), theirs[0],
                 wait(mean(seconds["any"])), theirs[1], f"+{100 * mean(excess or [0.0]):.1f} %", ", ".join(sorted(engines))]
            )  # fmt: skip
    head = [
        "table",
        "multiples",
        "optimal",
        "first one proven by its certificate",
        "least Σ\\|v−a\\|, s",
        "Table 1, s",
        "any, s",
        "Table 2, s",
        "Σ\\|v−a\\| of any",
        "engine",
    ]
    report.add(
        f"Base 3, {trials} tables each (the paper: 200). Its generator is not given; ours: inner cells uniform among 0 to 99, the share "
        "given of them "
        "multiples of 3 and no other; margins added. Seconds are means, from Instance to Protection, worker warm; the paper's are of a "
        "Pentium/75.\n\n" + table(head, rows)
    )


# ---- paper 003, three dimensions ---------------------------------------------------------------------------------------------------------

PAPER_SIXTY = {
    (15, 2, 2): (36, 15, 18, 18, 2),
    (10, 3, 2): (37, 52, 45, 21, 7),
    (6, 5, 2): (82, 92, 81, 35, 9),
    (5, 4, 3): (140, 156, 129, 59, 12),
}
"""Paper 003, Table 3: tables of 60 cells that need branching, of 1000."""
PAPER_CUBES = {
    (4, 4, 4): ((62, 0.29), (33, 0.27), (27, 0.25), (27, 0.23), (3, 0.19)),
    (6, 6, 6): ((121, 2.32), (123, 1.57), (112, 1.16), (91, 0.66), (36, 0.28)),
    (7, 7, 7): ((162, 13.66), (159, 12.18), (152, 6.58), (134, 4.63), (78, 2.49)),
    (8, 8, 8): ((172, 64.97), (175, 46.19), (173, 30.01), (165, 15.13), (97, 3.18)),
}
"""Paper 003, Table 5: cubes that need branching, of 1000, and the mean seconds of those."""
TRIALS = {(4, 4, 4): 1000, (6, 6, 6): 200, (7, 7, 7): 100, (8, 8, 8): 100}


def fractional(made: cw.Table, base: int) -> bool:
    """Whether the vertex that HiGHS finds of the linear relaxation is not whole."""
    x = solve_lp(rivals.program(made, base).linear).x
    return x is None or bool(np.any(np.abs(x - np.rint(x)) > 1e-6))


def paper3d(report: Report, *, quick: bool) -> None:
    """Tables 3 to 5 of paper 003."""
    shapes = [(15, 2, 2), (4, 4, 4)] if quick else [*PAPER_SIXTY, *PAPER_CUBES]
    least = cw.ControlledRounding(3)
    rows: list[list[object]] = []
    for shape in shapes:
        trials = 4 if quick else TRIALS.get(shape, 1000)
        sampled = max(trials // 20, 1)
        for place, share in enumerate(SHARES):
            name = f"paper 003, {size(shape)}, {share} %"
            seconds, branched, infeasible, unproven = [], [], 0, 0
            for trial in range(trials):
                inner = seeded_tables.with_multiples(shape, share / 100, 3, seed=[*shape, share, trial])
                made = cw.Table.from_array(inner)
                p, took = solved(least, made, Budget(time_limit_s=120))
                seconds.append(took)
                if fractional(made, 3):
                    branched.append(took)
                report.require(p.status in ("optimal", "infeasible"), f"{name}, trial {trial}: {p.status}, {p.reason}")
                if p.status == "infeasible":
                    infeasible += 1
                    report.require(p.proof.value == "infeasible", f"{name}, trial {trial}: infeasible, not proven")
                elif trial < sampled:
                    unproven += p.certified_bound != p.objective
            if shape in PAPER_CUBES:
                count, theirs = PAPER_CUBES[shape][place]
                shown = f"{theirs:.2f}"
            else:
                count, shown = PAPER_SIXTY[shape][place], "under 0.5"
            rows.append(
                [size(shape), f"{share} %", f"{trials:,}", infeasible, f"{1000 * len(branched) / trials:.0f}", count,
                 wait(mean(branched)) if branched else "", shown, wait(mean(seconds)), wait(max(seconds)), f"{sampled - unproven} of {sampled}"]
            )  # fmt: skip
    head = [
        "table",
        "multiples",
        "tables",
        "proven infeasible",
        "need branching, of 1000",
        "the paper's",
        "mean s of those",
        "the paper's",
        "mean s of all",
        "longest, s",
        "optimum proven by its certificate, of a sample",
    ]
    report.add(
        "Base 3; every table is solved to the optimum, or proven to have no zero-restricted rounding. The generator of Kelly et al. is not "
        "given; ours: "
        "inner cells uniform among 0 to 99, the share given of them multiples of 3 and no other; margins added. A table needs branching "
        "when the vertex that "
        "HiGHS finds of the linear relaxation is fractional; which of several vertices is found depends on the solver, so counts compare in "
        "size only. "
        "The paper ran 1000 tables each. Its numbers of nodes (Table 4, and Table 5's) are not comparable: presolve and cuts of today "
        "settle most of these tables at "
        "the root. The paper's seconds are of a Pentium/75.\n\n" + table(head, rows)
    )


# ---- speed -------------------------------------------------------------------------------------------------------------------------------


def speed(report: Report, *, quick: bool) -> None:
    """Networks against HiGHS LP, a cube against HiGHS MIP, small tables against τ-ARGUS."""
    network(report, 60 if quick else 300, 2 if quick else 5, least=0 if quick else FASTER)
    if quick:
        cubes(report, (5, 5, 5), [1], 5.0, judged=False)
        peers(report, [((4, 4, 4), 1), ((10, 10), 1)], 20)
    else:
        cubes(report, (20, 20, 20), [1, 2, 3], CUBE_S, judged=True)
        peers(report, [(s, seed) for s in ((8, 8, 8), (30, 30), (4, 4, 4, 4), (12, 12, 12)) for seed in (1, 2, 3)], 600)


def network(report: Report, side: int, repeats: int, *, least: float) -> None:
    """One network, ours and HiGHS LP in turn."""
    method = cw.ControlledRounding(5)
    warm_up()
    solved(method, seeded_tables.poisson((80, 80), 1))
    seconds: dict[str, list[float]] = {"ours": [], "known": [], "verification": [], "rival": []}
    statuses, objectives = set(), set()
    for _ in range(repeats):
        made = seeded_tables.poisson((side, side), side)  # anew: what is known of its structure is part of the time
        p, took = solved(method, made)
        seconds["ours"].append(took)
        seconds["known"].append(solved(method, made)[1])
        began = time.perf_counter()
        wrong = certified(p)
        seconds["verification"].append(time.perf_counter() - began)
        report.require(not wrong, f"{side}×{side}: certificate, {wrong}")
        rival = rivals.program(made, 5)
        began = time.perf_counter()
        outcome = solve_lp(rival.linear)
        seconds["rival"].append(time.perf_counter() - began)
        statuses.add(p.status)
        objectives |= {p.objective, rival.constant + round(outcome.objective)}
    report.require(
        statuses == {"optimal"} and len(objectives) == 1, f"{side}×{side}: {statuses}, objectives {objectives}"
    )
    ours, known, verification, theirs = (median(s) for s in seconds.values())
    report.require(theirs / ours >= least, f"{side}×{side}: {theirs / ours:.1f} times faster, not {least}")
    head = [
        "table",
        "Σ\\|v−a\\|",
        "Instance → Protection, ms",
        "again, structure known, ms",
        "HiGHS LP, ms",
        "ratio",
        "ratio, structure known",
        "certificate and its check, ms",
        "engine",
    ]
    row = [f"{side}×{side}", p.objective, *(f"{1000 * s:.0f}" for s in (ours, known, theirs)), f"**{theirs / ours:.1f} ×**",
           f"{theirs / known:.1f} ×", f"{1000 * verification:.0f}", p.engine]  # fmt: skip
    report.add(
        f"### A network, base 5, Poisson(4)\n\nMedians of {repeats} alternating runs, worker warm. HiGHS LP (dual simplex, one thread) "
        "solves the same model, "
        "implied equations left out; its time is that of the solve alone.\n\n" + table(head, [row])
    )


def cubes(report: Report, shape: tuple[int, ...], seeds: list[int], limit: float, *, judged: bool) -> None:
    """A table too large to prove optimal: the gap to the LP bound, and HiGHS MIP alone with the same time and threads."""
    rows: list[list[object]] = []
    for seed in seeds:
        made = seeded_tables.poisson(shape, seed)
        rival = rivals.program(made, 5)
        relaxed = solve_lp(rival.linear)
        bound = rival.least(relaxed.objective)
        began = time.perf_counter()
        p = cw.ControlledRounding(5).protect(made, time_limit_s=limit, threads=2)
        took = time.perf_counter() - began
        alone = solve_mip(rival.linear, budget=Budget(time_limit_s=limit, threads=2))
        gap = None if p.objective is None else p.objective / bound - 1
        name = f"{size(shape)} seed {seed}"
        report.require(gap is not None and gap <= CUBE_GAP, f"{name}: {gap} above the LP bound; {p.status}, {p.reason}")
        report.require(not judged or took <= 1.05 * limit, f"{name}: {took:.0f} s, not {limit:.0f}")
        theirs = None if alone.x is None else rival.constant + round(alone.objective)
        rows.append(
            [size(shape), seed, bound, p.objective, p.status, percent(gap), wait(took), theirs,
             percent(None if theirs is None else theirs / bound - 1), wait(alone.seconds), p.engine]
        )  # fmt: skip
    head = [
        "table",
        "seed",
        "LP bound",
        "ours Σ\\|v−a\\|",
        "status",
        "above the bound",
        "s",
        "HiGHS MIP alone",
        "above the bound",
        "s",
        "our engine",
    ]
    report.add(
        f"### A cube, base 5, Poisson(4)\n\n{limit:.0f} s and two threads each; at most {100 * CUBE_GAP:g} % above the bound of the linear "
        "relaxation is asked. "
        "HiGHS MIP gets the same model.\n\n" + table(head, rows)
    )


def percent(gap: float | None) -> str:
    return "none" if gap is None else f"{100 * gap:.3f} %"


def peers(report: Report, cases: list[tuple[tuple[int, ...], int]], limit: float) -> None:
    """The τ-ARGUS rounder on the same tables."""
    report.add(
        "### Peer: the τ-ARGUS rounder (pytauargus), base 5, Poisson(4)\n\nBoth prove their optimum; the peer runs in a process of its own "
        "and its time is that of its rounding call, ours from table to Protection.\n\n"
        + rivals.beside_tauargus(report, cases, limit)
    )


# ---- hierarchical tables -----------------------------------------------------------------------------------------------------------------


def hierarchical(report: Report, *, quick: bool) -> None:
    """Areas in levels by age and sex."""
    geography, ages, limit = ((24, 6, 2, 1), 4, 8.0) if quick else ((1000, 50, 5, 1), 20, HIERARCHY_S)
    made = seeded_tables.of_census(census.persons(geography=geography, ages=ages))
    rows: list[list[object]] = []
    for base in (3, 5):
        rival = rivals.program(made, base)
        relaxed = solve_lp(rival.linear)
        bound = rival.least(relaxed.objective)
        broken = int(np.sum(np.abs(relaxed.x - np.rint(relaxed.x)) > 1e-6)) if relaxed.x is not None else 0
        began = time.perf_counter()
        p = cw.ControlledRounding(base).protect(
            made, time_limit_s=0.97 * limit, threads=2
        )  # the rest is for tables and checks
        took = time.perf_counter() - began
        gap = None if p.objective is None else p.objective / bound - 1
        name = f"hierarchical, base {base}"
        report.require(
            gap is not None and gap <= HIERARCHY_GAP, f"{name}: {gap} above the LP bound; {p.status}, {p.reason}"
        )
        report.require(quick or took <= limit, f"{name}: {took:.0f} s, not {limit:.0f}")
        rows.append(
            [base, f"{len(rival.free):,}", bound, f"{broken:,}", wait(relaxed.seconds), p.objective, p.status, percent(gap), p.bound,
             wait(took), p.engine]
        )  # fmt: skip
    head = [
        "base",
        "cells to decide",
        "LP bound",
        "fractional there",
        "LP, s",
        "Σ\\|v−a\\|",
        "status",
        "above the LP bound",
        "our bound",
        "s",
        "engine",
    ]
    report.add(
        f"{' → '.join(f'{n:,}' for n in geography)} areas × {ages} ages × 2 sexes with all margins: {made.cells:,} cells, "
        f"{made.relations.equations:,} equations; "
        "Poisson counts, 5 persons a cell on average, areas of uneven size. Two threads; at most "
        f"{100 * HIERARCHY_GAP:g} % above the bound of the linear relaxation within {limit:.0f} s is asked.\n\n"
        + table(head, rows)
    )


# ---- protected rounding ------------------------------------------------------------------------------------------------------------------


def protected(report: Report, *, quick: bool) -> None:
    """Levels that bind, three attackers, both kinds of knowledge."""
    shapes, seeds = ([(8, 8), (3, 3, 3)], [1]) if quick else ([(30, 30), (8, 8, 8)], [1, 2, 3])
    rows: list[list[object]] = []
    for shape in shapes:
        for seed in seeds:
            made = seeded_tables.poisson(shape, seed)
            for kind in KINDS:
                name = f"protected {size(shape)} seed {seed} {kind}"
                least = cw.ControlledRounding(5, knowledge=kind).protect(made)
                other = rivals.another_rounding(made, 5, seed)
                report.require(
                    least.scaled is not None and other is not None, f"{name}: no rounding to draw levels from"
                )
                if least.scaled is not None and other is not None:
                    case = binding_levels.protected(made, least.scaled, other, 5, kind, seed)
                    rows.append([size(shape), seed, kind, *_protected(report, name, case, kind, quick=quick)])
    head = [
        "table",
        "seed",
        "knowledge",
        "sensitive (below / above / width)",
        "requirements",
        "unmet by the least rounding",
        "of these by other cells",
        "Σ\\|v−a\\| without levels",
        "with levels",
        "status",
        "s",
        "certificate",
        "engine",
    ]
    report.add(
        "Base 5, Poisson(4). A tenth of the cells is sensitive, none of them a multiple. Attackers: the public; a respondent with "
        "contributions to a tenth of "
        "the cells, alone in a thirtieth; one who knows nine tenths of the other cells to within one unit, most of them exactly. Levels of "
        "three kinds are drawn "
        "within what another rounding gives, a part of them beyond what the least rounding gives: one set against the public and the "
        "respondent, one "
        "against the third. A requirement is all levels of one cell against one attacker; it is unmet by other cells where the base alone "
        "would leave room around the cell's own published value.\n\n" + table(head, rows)
    )


def _protected(report: Report, name: str, case: binding_levels.Protected, kind: Any, *, quick: bool) -> list[object]:
    """One protected rounding: its row from the levels on."""
    found = measure.against_levels(
        report, name, partial(cw.ControlledRounding, 5, knowledge=kind), case.table, case.attackers,
        int(np.abs(case.witness - case.table.scaled).sum()), time_limit_s=20 if quick else 600, threads=2,
    )  # fmt: skip
    p, free = found.p, found.free
    elsewhere = found.unmet - _unmet_alone(case, free, kind)
    return [
        found.sensitive, free.evidence.requirements, found.share, elsewhere, free.objective, p.objective, p.status, wait(found.seconds),
        found.certificate, p.engine,
    ]  # fmt: skip


def _unmet_alone(case: binding_levels.Protected, free: cw.Protection, kind: str) -> int:
    """Requirements that fail by the published value of their own cell, whatever the others are: its base leaves no room."""
    half, count = 5 if kind == "paper" else 4, 0
    for attacker in case.attackers:
        levels = attacker.asked(case.table.sensitivity.levels)
        a, v = case.table.scaled[levels.cell], free.scaled[levels.cell]
        below, above = a - np.maximum(v - half, 0), v + half - a
        count += int(((below < levels.lpl) | (above < levels.upl) | (below + above < levels.spl)).sum())
    return count


# ---- bias --------------------------------------------------------------------------------------------------------------------------------

PAPER_UP = {
    1: ((33_241, 0.04, 0.14), (8_561, 0.02, 0.13), (4_906, 0.01, 0.12), (3_320, 0.02, 0.11)),
    2: ((19_535, 0.34, 0.41), (7_412, 0.26, 0.41), (4_560, 0.26, 0.39), (3_180, 0.24, 0.40)),
    3: ((13_934, 0.83, 0.66), (6_820, 0.81, 0.66), (4_076, 0.82, 0.67), (2_985, 0.83, 0.66)),
    4: ((11_406, 0.99, 0.85), (6_250, 0.99, 0.85), (3_870, 0.99, 0.86), (2_913, 0.99, 0.87)),
}
"""Paper 000, Table 1, by residue: occurrences and the proportion rounded up with objectives (2) and (13), for the counts r, r + 5, r + 10 "
"and r + 15."""


def bias(report: Report, *, quick: bool) -> None:
    """The proportion of cells rounded up, by residue."""
    base, limit, most = (5, 10, 0.1) if quick else (5, 600, BIAS)  # few cells differ from unbiased by chance
    made = seeded_tables.of_census(
        census.income_support(geography=(200, 20, 4, 1)) if quick else census.income_support()
    )
    a = made.scaled
    rows: list[list[object]] = [["unbiased", "", *(f"{r / base:.3f}" for r in range(1, base)), "0", "", "", "", ""]]
    for said, column in (("paper 000, objective (2)", 1), ("paper 000, objective (13)", 2)):
        up = [
            sum(line[0] * line[column] for line in lines) / sum(line[0] for line in lines)
            for lines in PAPER_UP.values()
        ]
        rows.append(_bias_row(said, "", up, ["", "", "", ""]))
    drawn = rivals.random_rounding(a, base, 0)
    missed = int(np.count_nonzero(made.relations.residual(drawn)))
    facts = [f"{int(np.abs(drawn - a).sum()):,}", f"{missed:,} of {made.relations.equations:,}", "", ""]
    rows.append(_bias_row("random rounding φ(a)", "not additive", rounded_up(a, drawn, base), facts))
    for said, options in (("plain", {}), ("unbiased", {"unbiased": True})):
        method = cw.ControlledRounding(base, **options)
        began = time.perf_counter()
        p = method.protect(made, time_limit_s=limit, threads=2)
        took = time.perf_counter() - began
        report.require(p.scaled is not None, f"bias, {said}: {p.status}, {p.reason}")
        if p.scaled is None:
            continue
        up = rounded_up(a, p.scaled, base)
        facts = [f"{int(np.abs(p.scaled - a).sum()):,}", "0", wait(took), p.engine]
        row = _bias_row(f"ours, {said}", p.status, up, facts)
        rows.append(row)
        largest = _deviation(up)
        if said == "unbiased":
            report.require(
                largest < most, f"bias: the largest deviation from unbiased is {largest:.3f}, not below {most}"
            )
    head = [
        "rounding",
        "status",
        *(f"residue {r}" for r in range(1, base)),
        "largest deviation",
        "Σ\\|v−a\\|",
        "equations broken",
        "s",
        "engine",
    ]
    report.add(
        f"The structure of paper 000's Income Support table: {made.cells:,} cells, {made.relations.equations:,} equations, base {base}. "
        "Proportion rounded up, pooled by "
        "residue over all cells; the paper's figures are those of its Table 1 (another table of counts, 0 to 20), pooled in the same way. "
        f"A largest deviation below {BIAS} is asked.\n\n" + table(head, rows)
    )


def rounded_up(a: Ints, v: Ints, base: int) -> list[float]:
    """The proportion of cells rounded up, by residue 1 to β − 1 (nan where there is no such cell)."""
    return [
        float(np.mean(v[a % base == r] > a[a % base == r])) if np.any(a % base == r) else math.nan
        for r in range(1, base)
    ]


def _deviation(up: list[float]) -> float:
    return max(abs(share - r / (len(up) + 1)) for r, share in enumerate(up, start=1))


def _bias_row(said: str, status: str, up: list[float], facts: list[str]) -> list[object]:
    return [said, status, *(f"{share:.3f}" for share in up), f"**{_deviation(up):.3f}**", *facts]


# ---- no rounding at all ------------------------------------------------------------------------------------------------------------------


def infeasible(report: Report, *, quick: bool) -> None:  # noqa: ARG001 (every part has this shape)
    """Causey, Cox and Ernst's table."""
    made = causey_cox_ernst()
    p = cw.ControlledRounding(2).protect(made)
    report.require(p.status == "infeasible", f"2×2×2: {p.status}, not infeasible")
    report.require(p.proof.value == "infeasible", "2×2×2: infeasibility is not proven")
    wrong = certified(p)
    report.require(not wrong, f"2×2×2: certificate, {wrong}")
    report.require(p.reason, "2×2×2: no reason is given")
    rows: list[list[object]] = [[1, p.status, f"{p.proof.nodes} nodes", wrong or "holds", "", p.reason]]
    q = cw.ControlledRounding(2, max_steps=2).protect(made)
    report.require(q.status == "optimal" and int(q.method["steps"]) == 2, f"2×2×2, s = 2: {q.status}, {q.reason}")
    if q.scaled is not None:
        wrong = certified(q)
        report.require(not wrong, f"2×2×2, s = 2: certificate, {wrong}")
        rows.append(
            [
                2,
                q.status,
                f"bound {q.certified_bound}",
                wrong or "holds",
                q.objective,
                f"values {q.scaled.reshape(3, 3, 3).tolist()}",
            ]
        )
    report.add(
        "Causey, Cox and Ernst: inner cells 1 at (1,1,1), (1,2,2), (2,1,2), (2,2,1), else 0; base 2.\n\n"
        + table(["steps", "status", "proof", "certificate", "Σ\\|v−a\\|", "in words"], rows)
    )


# ---- the programme -----------------------------------------------------------------------------------------------------------------------

RUN: dict[str, Callable[..., None]] = {
    "brute": brute,
    "paper2d": paper2d,
    "paper3d": paper3d,
    "speed": speed,
    "hierarchical": hierarchical,
    "protected": protected,
    "bias": bias,
    "infeasible": infeasible,
}

PARTS = {
    "brute": "random tables with levels against brute force",
    "paper2d": "paper 003, two dimensions",
    "paper3d": "paper 003, three dimensions",
    "speed": "speed beside HiGHS and τ-ARGUS",
    "hierarchical": "a hierarchical table",
    "protected": "levels against three attackers",
    "bias": "unbiased rounding",
    "infeasible": "a table without a rounding",
}
"""The parts in the order in which they are run, and what each shows."""


if __name__ == "__main__":
    sys.exit(run_parts("rounding.py", "Rounding", PARTS, measure.one_of(RUN), __doc__))
