"""Senses: what choosing the senses of an adjustment gains, how far its bound is off, and how far it gets in large tables.

python benchmarks/senses.py                   all figures, two hours; writes RESULTS.md part by part and senses.svg; exits 1 when one falls short
python benchmarks/senses.py --part csplib     one part: hier13, csplib, brute, starts or large
python benchmarks/senses.py --limit 60        seconds for each table of csplib and large, in place of 600
python benchmarks/senses.py --quick           the same on small tables; times are not judged; writes nothing

The rival is HiGHS on the program of paper 001, (2a) to (2e), in the same run, on the same threads and as long.
"""

from __future__ import annotations

import argparse
import math
import resource
import sys
import time
from collections import Counter
from collections.abc import Iterable
from dataclasses import replace
from pathlib import Path
from typing import Any

import numpy as np
from scipy.sparse import csr_matrix, diags, hstack, vstack

import measure  # noqa: F401  # isort: skip (finds the oracles)
import additive
import best_senses
import hard_senses
import random_one_sided
from fixed_keys import key_of
from one_hierarchy import PAPER_001, Structure, one_hierarchy
from results import SHARED, Report, run_parts, table

import cellward as cw
from cellward.instance import Instance
from cellward.protect.adjustment import engines, turning
from cellward.protect.adjustment.attempt import AdjustmentAttempt
from cellward.protect.adjustment.choice.choose import STEEP
from cellward.protect.adjustment.choice.descent import Standing, Trials
from cellward.protect.adjustment.choice.dive import dive
from cellward.protect.adjustment.choice.envelope import Envelope
from cellward.protect.adjustment.choice.nearby import Nearby, Order
from cellward.protect.adjustment.choice.sides import Sides
from cellward.protect.adjustment.needs import Room
from cellward.solve.budget import Budget
from cellward.solve.highs import solve_mip
from cellward.solve.model import LinearModel
from cellward.solve.watch import Watch
from cellward.table.sensitivity import Sensitivity

CSPLIB = SHARED / "instances" / "csplib"
SIX = ("HIER13", "HIER16", "TWO5IN6", "NINE5D", "NINENEW", "NINE12")
HIER13, PROOF_S = 12.756248, 60.0
"""Its least distance, and how long the proof may take."""
LIMIT_S, FIRST_S, NEAR, THREADS = 600.0, 60.0, 0.01, 2
TABLES, QUICK_TABLES, MOST_AT_RISK = 3000, 60, 10
PLAIN: dict[str, Any] = {"jitter": 0, "grid": None, "keep": "nothing"}
QUICK_STRUCTURE = Structure(columns=9, rows=90, parents=8, at_risk=90)
PICTURE = Path(__file__).with_name("senses.svg")
Curve = list[tuple[float, float]]
"""Seconds and loss of each better table."""


def watched(curve: Curve, limit_s: float) -> Budget:
    """A budget whose better tables go into the curve."""
    began = time.perf_counter()

    def tell(standing: Any) -> None:
        if standing.incumbent is not None and (not curve or standing.incumbent < curve[-1][1] * (1 - 1e-9)):
            curve.append((time.perf_counter() - began, standing.incumbent))

    return Budget(time_limit_s=limit_s, threads=THREADS, watch=Watch(tell))


def papers_form(attempt: AdjustmentAttempt) -> tuple[LinearModel, float]:
    """(2a) to (2e) of paper 001: columns z⁺, z⁻ and y, in units of the largest level; with that unit."""
    p, s = attempt.problem(Room(*attempt.free)), attempt.senses()
    r, n, many = p.relations, p.relations.cells, len(s.cell)
    up, down = s.up / attempt.factor, s.down / attempt.factor
    unit = float(max(up.max(), down.max()))
    most = float(np.abs(attempt.instance.a).sum())
    plus, minus = np.minimum(p.hi, most), np.minimum(-p.lo, most)
    m = csr_matrix((r.coefs.astype(float), r.indices, r.indptr), (r.equations, n))
    pick, none = csr_matrix((np.ones(many), (np.arange(many), s.cell)), (many, n)), csr_matrix((many, n))
    rows = vstack(
        (
            hstack((m, -m, csr_matrix((r.equations, many)))),
            hstack((pick, none, -diags(plus[s.cell] / unit))),
            hstack((pick, none, -diags(up / unit))),
            hstack((none, pick, diags(minus[s.cell] / unit))),
            hstack((none, pick, diags(down / unit))),
        )
    ).tocsr()
    zero, no_end = np.zeros(many), np.full(many, np.inf)
    balance = np.zeros(r.equations)
    model = LinearModel(
        cost=np.concatenate((p.costs.absolute * unit, p.costs.absolute * unit, zero)),
        lower=np.zeros(2 * n + many),
        upper=np.concatenate((plus / unit, minus / unit, np.ones(many))),
        indptr=rows.indptr.astype(np.int64),
        indices=rows.indices.astype(np.int64),
        coefs=rows.data.astype(np.float64),
        row_lower=np.concatenate((balance, -no_end, zero, -no_end, down / unit)),
        row_upper=np.concatenate((balance, zero, no_end, minus[s.cell] / unit, no_end)),
        integer=np.arange(2 * n + many) >= 2 * n,
    )
    return model, unit


def attempt_of(made: cw.Table) -> AdjustmentAttempt:
    """What the method works on, beginning with senses drawn by seed."""
    method = cw.ControlledAdjustment(senses="choose", **PLAIN)
    return AdjustmentAttempt(method, Instance.of(made, weights="relative"), Budget(), key_of("senses"))


def rival(
    attempt: AdjustmentAttempt, limit_s: float, curve: Curve, start: np.ndarray | None = None
) -> tuple[float, float]:
    """Loss and bound of HiGHS on the paper's form; ``start``: deviations to begin with."""
    model, unit = papers_form(attempt)
    known = None
    if start is not None:
        risky = (start[attempt.senses().cell] > 0).astype(float)
        known = np.concatenate((np.maximum(start, 0) / unit, np.maximum(-start, 0) / unit, risky))
    budget = watched(curve, limit_s).counting(0.0, 1.0)
    found = solve_mip(model, budget=budget, start=known, stoppable=True)
    return (math.inf if found.x is None else found.objective), max(found.bound, 0.0)


def gap(loss: float, bound: float) -> float:
    """As a share of the loss; 1 where there is no table."""
    return (loss - bound) / loss if math.isfinite(loss) else 1.0


def figures_of(p: cw.Protection) -> tuple[float, float]:
    """Loss and bound; inf and 0 where nothing was found."""
    return (math.inf, 0.0) if p.objective is None else (p.objective, p.bound or 0.0)


def gained(loss: float, other: float) -> str:
    """What one loses less than another; where either found nothing, nothing is said."""
    return share(1 - loss / other) if math.isfinite(loss) and math.isfinite(other) else "–"


def share(x: float) -> str:
    return f"{x:.2%}"


# ---- HIER13 ------------------------------------------------------------------------------------------------------------------------------------


def hier13(report: Report, *, quick: bool, limit_s: float) -> None:
    """The least distance of HIER13, proven."""
    limit_s = min(limit_s, 4 * PROOF_S)
    made = one_hierarchy(QUICK_STRUCTURE) if quick else cw.read(CSPLIB / "HIER13.jj")
    began = time.perf_counter()
    p = cw.ControlledAdjustment(senses="choose", **PLAIN).protect(made, time_limit_s=limit_s, threads=THREADS)
    took = time.perf_counter() - began
    loss, bound = rival(attempt_of(made), limit_s if quick else max(took, PROOF_S), [])
    lost, least = figures_of(p)
    certified = f"{float(p.certified_bound):.6f}" if p.protected and p.certified_bound is not None else "none"
    report.add(
        table(
            ["", "loss", "bound", "gap", "s"],
            [
                ["choose", f"{lost:.6f}", f"{least:.6f}", share(gap(lost, least)), f"{took:.1f}"],
                [
                    "HiGHS, paper 001",
                    f"{loss:.6f}",
                    f"{bound:.6f}",
                    share(gap(loss, bound)),
                    f"{max(took, PROOF_S):.1f}",
                ],
            ],
        )
    )
    report.add(f"Bound that the certificate proves in exact arithmetic: {certified}.")
    report.require(p.protected and p.certificate().check(), "HIER13 is protected, and its certificate holds")
    if not quick:
        report.require(p.status == "optimal" and abs(lost - HIER13) < 1e-5, f"HIER13: {HIER13} proven")
        report.require(took <= PROOF_S, f"HIER13 within {PROOF_S:.0f} s: {took:.1f} s")
        report.require(gap(loss, bound) > 0.05, "HiGHS on the form of paper 001 is left with a gap")


# ---- CSPLIB ------------------------------------------------------------------------------------------------------------------------------------


def csplib(report: Report, *, quick: bool, limit_s: float) -> None:
    """Gaps of both, and the gain over all up and over secret senses."""
    rows = []
    for name in ("small",) if quick else SIX:
        made = one_hierarchy(QUICK_STRUCTURE) if quick else cw.read(CSPLIB / f"{name}.jj")
        loss = {}
        for senses in ("up", "secret"):
            p = cw.ControlledAdjustment(senses=senses, **PLAIN).protect(
                made, key=key_of("senses"), time_limit_s=limit_s
            )
            loss[senses] = math.inf if p.objective is None else p.objective
        p = cw.ControlledAdjustment(senses="choose", **PLAIN).protect(made, time_limit_s=limit_s, threads=THREADS)
        other, bound = rival(attempt_of(made), limit_s, [])
        lost, least = figures_of(p)
        own, theirs = gap(lost, least), gap(other, bound)
        certified = f"{float(p.certified_bound):.4f}" if p.protected and p.certified_bound is not None else "none"
        rows.append(
            [
                name,
                f"{lost:.4f}",
                f"{least:.4f}",
                certified,
                share(own),
                f"{other:.4f}",
                f"{bound:.4f}",
                share(theirs),
                gained(lost, loss["up"]),
                gained(lost, loss["secret"]),
            ]
        )
        print(rows[-1], flush=True)
        report.require(p.protected, f"{name} is protected")
        report.require(lost <= min(loss.values()) * (1 + 1e-6), f"{name}: chosen senses lose no more than others")
        if not quick:
            report.require(own <= theirs, f"{name}: a gap of {own:.2%} and not more than HiGHS' {theirs:.2%}")
    head = [
        "table",
        "choose",
        "bound",
        "certified",
        "gap",
        "HiGHS, paper 001",
        "bound",
        "gap",
        "gain over up",
        "gain over secret",
    ]
    report.add(table(head, rows))
    report.add(f"{limit_s:.0f} s each, {THREADS} threads; no jitter, no grid, no totals kept.")


# ---- all combinations --------------------------------------------------------------------------------------------------------------------------


def brute(report: Report, *, quick: bool, limit_s: float) -> None:  # noqa: ARG001
    """Small tables against all combinations of senses, each a linear or quadratic program of its own."""
    many, seen = QUICK_TABLES if quick else TABLES, Counter[str]()
    kinds = (_hard, _with_options, _hard, _with_options, _repaired)
    for seed in range(many):
        kinds[seed % len(kinds)](report, seen, seed)
        if seed % 500 == 499:
            print(f"{seed + 1:,} tables, {len(report.short)} differences", flush=True)
    report.add(table(["tables and norms", "seen"], [[what, f"{count:,}"] for what, count in sorted(seen.items())]))
    report.add(
        f"{many:,} random tables with up to {MOST_AT_RISK} cells at risk, each under L1 and L2: {len(report.short)} differences from all "
        "combinations of senses (but those of which a part costs as much as the best alone, or has no table)."
    )


def _hard(report: Report, seen: Counter[str], seed: int) -> None:
    """Tables of every kind with little room; options of which cells stay."""
    made, options, fixed = hard_senses.hard_case(seed, MOST_AT_RISK)
    weights = "equal" if seed % 2 else None
    for norm in ("l1", "l2"):
        method = cw.ControlledAdjustment(senses="choose", jitter=0, grid=None, norm=norm, **options)
        p = method.protect(made, weights=weights)
        weight = p.instance.weight / 10.0**p.instance.weight_decimals
        unit = 10.0 ** -(made.decimals * (1 if norm == "l1" else 2))
        least = unit * best_senses.least_distance(made, weight, norm, fixed=fixed, zeros_stay=options["zeros_stay"])
        if p.status == "failed" and replace(method, senses="secret").protect(made, weights=weights).status == "failed":
            # no seven decimals were found near an optimum in thirds, whoever chose the senses
            seen[
                f"little room, {norm}: not published for want of seven decimals, as with senses drawn (seed {seed})"
            ] += 1
            continue
        right = _agrees(p, least)
        report.require(
            right, f"seed {seed} {norm}: {p.status} {p.objective}, bound {p.bound}, and the least is {least}"
        )
        seen[f"little room, {norm}: {p.status}, as by all combinations"] += right
        if norm == "l1" and p.status != "failed":
            proven = p.certificate().check() and (p.values is None or _near(float(p.certified_bound or 0), least))
            report.require(proven, f"seed {seed}: certified bound {p.certified_bound}, and the least is {least}")


def _with_options(report: Report, seen: Counter[str], seed: int) -> None:
    """Levels without an end, cells that move one way, negative values, deviations on a grid."""
    case = random_one_sided.one_sided(seed, random_one_sided.SHAPES, MOST_AT_RISK)
    made, step = case.table, case.unit if "grid" in case.options else 0
    options = {"grid": None, **case.options, "keep": "nothing"}
    matrix = csr_matrix(
        (made.relations.coefs.astype(float), made.relations.indices, made.relations.indptr),
        (made.relations.equations, made.cells),
    )
    low, high = (best_senses.far(np.array(end, float)) for end in case.room())
    sides = [(i, [tuple(best_senses.far(np.array(own, float))) for own in ways]) for i, ways in case.sides()]
    for norm in ("l1", "l2"):
        p = cw.ControlledAdjustment(senses="choose", jitter=0, norm=norm, **options).protect(made, weights=case.weight)
        weight = np.array(case.weight, float)
        least = best_senses.least_over(matrix, weight, norm, low, high, sides)
        words = f"seed {seed} {norm}: {p.status} {p.objective}, bound {p.bound}, and the least is {least}"
        if not step:
            right = _agrees(p, least)
        else:  # fractions bound the least on the grid, which brute force has of L1
            on_grid = best_senses.least_over(matrix, weight, "l1", low, high, sides, step)
            words += f", {on_grid} in the norm l1 on the grid"
            right = _agrees_on_grid(p, least, on_grid, norm)
        report.require(right, words)
        kind = "deviations on a grid" if step else "one way, one side, negative values"
        of = " of fractions" if step and norm == "l2" else ""
        seen[f"{kind}, {norm}: {p.status}, as by all combinations{of}"] += right
        if p.values is not None:
            z = (p.scaled - made.scaled).tolist() if step else (p.values - made.values).tolist()
            held = all(x - 1e-6 <= y <= z_ + 1e-6 for x, y, z_ in zip(low, z, high, strict=True))
            on = not step or not any(y % step for y in z)
            report.require(p.protected and held and on, f"seed {seed}: a cell moved another way, or off the grid")
            report.require(bool(p.certificate().check()), f"seed {seed}: the certificate does not hold")


def _repaired(report: Report, seen: Counter[str], seed: int) -> None:
    """Contradictory bounds: infeasible where no combination goes, and repaired as little as by brute force."""
    case = random_one_sided.contradictory(seed)
    some = any(case.goes(box) for _, box in case.senses())
    for norm in ("l1", "l2"):
        p = cw.ControlledAdjustment(senses="choose", norm=norm).protect(
            case.table, weights=case.weight, key=key_of(seed)
        )
        report.require((p.status == "infeasible") is not some, f"seed {seed} {norm}: {p.status}, and there is {some}")
        seen[f"contradictory bounds, {norm}: {'infeasible' if not some else 'feasible'}, as by all combinations"] += 1
        if p.status == "infeasible":
            report.require(p.certificate().check().proven, f"seed {seed}: the certificate does not prove it")
            for which in ("bounds", "levels"):
                counted = Counter[str]()
                additive.repaired(report, counted, case, seed, which, senses="choose", norm=norm)
                seen.update({f"contradictory bounds, {norm}: repair of {what}": n for what, n in counted.items()})


def _near(x: float, y: float) -> bool:
    return abs(x - y) <= 1e-5 * abs(y) + 1e-9


def _agrees(p: cw.Protection, least: float) -> bool:
    if math.isinf(least):
        return p.status == "infeasible"
    return p.status == "optimal" and _near(p.objective, least) and _near(p.bound, least)


def _agrees_on_grid(p: cw.Protection, least: float, on_grid: float, norm: str) -> bool:
    if p.values is None:
        return math.isinf(least) if p.status == "infeasible" else math.isinf(on_grid)
    value, bound = float(p.objective), float(p.bound)
    right = not math.isinf(on_grid) and value >= least * (1 - 1e-9) - 1e-9
    if norm == "l2":  # the bound is that of fractions
        return right and (bound <= least * (1 + 1e-5) + 1e-9 or (p.status == "optimal" and _near(value, least)))
    right = right and value >= on_grid * (1 - 1e-9) and bound <= on_grid * (1 + 1e-6) + 1e-9
    return right and (p.status != "optimal" or _near(value, on_grid))


# ---- starts ------------------------------------------------------------------------------------------------------------------------------------


TIGHT: tuple[tuple[tuple[int, ...], float, dict[str, Any]], ...] = (
    ((8, 8, 8), 0.3, {"fixed": "margins", "max_change": 0.1}),
    ((8, 8, 8), 0.3, {"fixed": "margins", "max_change": 0.2}),
    ((8, 8, 8), 0.9, {"fixed": "margins"}),
    ((10, 10, 10), 0.4, {"fixed": "margins", "max_change": 0.25}),
    ((5, 5, 5, 5), 0.5, {"fixed": "margins"}),
    ((5, 5, 5, 5), 0.5, {"max_change": 0.1}),
    ((6, 6, 6, 6), 0.5, {"fixed": "margins"}),
)
"""Cubes, the share of inner cells at risk, and what leaves little room."""
EACH, QUICK_EACH, START_S = 4, 1, 20.0


def tight(shape: tuple[int, ...], share_at_risk: float, seed: int) -> cw.Table:
    """A cube of lognormal values, some inner cells at risk with levels of 5 to 25 %."""
    rng = np.random.default_rng(seed)
    made = cw.Table.from_array(np.rint(rng.lognormal(4, 1.2, shape)).astype(np.int64) + 1)
    inner = np.flatnonzero(made.relations.height == 0)
    at = np.sort(rng.choice(inner, int(share_at_risk * len(inner)), replace=False))
    level = np.maximum(made.scaled[at] * rng.integers(5, 26, len(at)) // 100, 1)
    return made.with_sensitivity(Sensitivity.of(made.cells, at, level, level, 0 * level))


def starts(report: Report, *, quick: bool, limit_s: float) -> None:  # noqa: ARG001
    """Senses that go together in tables of little room: by what equations leave of them, and beside it by clauses of conflicts alone."""
    rows = []
    for shape, at_risk, options in TIGHT[::3] if quick else TIGHT:
        said: dict[str, list[tuple[str, int, float]]] = {"cuts": [], "clauses alone": []}
        for seed in range(QUICK_EACH if quick else EACH):
            method = cw.ControlledAdjustment(senses="choose", **PLAIN, **options)
            instance = Instance.of(tight(shape, at_risk, seed), weights="relative")
            attempt = AdjustmentAttempt(method, instance, Budget(), key_of("senses"))
            for how, own in said.items():
                used, hard = time.process_time(), turning.HARD
                turning.HARD = hard if how == "cuts" else turning.MOST_ROUNDS + 1
                try:
                    found = turning.turn_senses(
                        attempt.problem(Room(*attempt.free)), attempt.senses(), Budget(time_limit_s=START_S)
                    )
                finally:
                    turning.HARD = hard
                word = "found" if found.found else "none, proven" if found.tree else "unresolved"
                own.append((word, found.rounds, time.process_time() - used))
        for how, own in said.items():
            words = Counter(word for word, _, _ in own)
            many, seconds = [max(one[k] for one in own) for k in (1, 2)]
            told = ", ".join(f"{words[word]} {word}" for word in ("found", "none, proven", "unresolved") if words[word])
            room = ", ".join(f"{name} {value}" for name, value in options.items())
            rows.append([" × ".join(map(str, shape)), f"{at_risk:.0%}", room, how, told, many, f"{seconds:.2f}"])
        report.require(not any(word == "unresolved" for word, _, _ in said["cuts"]), f"{shape}, {room}: all resolved")
    head = ["cube", "at risk", "room", "senses by", "tables", "rounds at most", "processor s at most"]
    report.add(table(head, rows))


# ---- large structures --------------------------------------------------------------------------------------------------------------------------


def descent(attempt: AdjustmentAttempt, limit_s: float, order: Order, curve: Curve) -> tuple[float, float]:
    """Descent from senses that go together, by the relaxation and then in blocks; when each loss was reached goes into the curve.

    Seconds of processor time until the first table, and until the blocks begin.
    """
    began, used, budget = time.perf_counter(), _processor_s(), Budget(time_limit_s=limit_s, threads=THREADS)
    problem = attempt.problem(Room(*attempt.free))
    start = engines.solve_with_senses(problem, attempt.senses(), budget)
    first = _processor_s() - used
    if start.answer.z is None:
        return math.inf, math.inf
    standing, s = Standing(start.senses, start.answer), start.senses
    sides = Sides.of(s, attempt.factor)
    curve.append((time.perf_counter() - began, standing.cost))
    found = dive(Envelope.by_equations(problem, s.cell, sides, budget), STEEP, budget)
    if found is not None and found[1] < standing.cost:
        trials = Trials(problem, Room(*attempt.free), budget, engines.AUTO, attempt.factor)
        standing = trials.of(replace(s, sense=found[0])) or standing
        curve.append((time.perf_counter() - began, standing.cost))
    dived, loss, z = _processor_s() - used, standing.cost, standing.answer.z
    assert z is not None
    sense = standing.senses.sense.copy()
    now = Nearby(problem, s.cell, sides, sense, z.copy(), np.random.default_rng(0))
    for gained in now.gains(budget, order):
        if gained > 0:
            loss -= gained
            curve.append((time.perf_counter() - began, loss))
    return first, dived


def _processor_s() -> float:
    """Seconds of processor time of this process and of its workers that have ended."""
    spent = (resource.getrusage(who) for who in (resource.RUSAGE_SELF, resource.RUSAGE_CHILDREN))
    return sum(one.ru_utime + one.ru_stime for one in spent)


def large(report: Report, *, quick: bool, limit_s: float) -> None:
    """The four structures of paper 001: first tables, curves and gaps."""
    structures = {"small": QUICK_STRUCTURE} if quick else PAPER_001
    limit_s = 2.0 if quick else limit_s
    rows, curves = [], {}
    for name, structure in structures.items():
        made = one_hierarchy(structure)
        attempt = attempt_of(made)
        found: dict[str, Curve] = {"random": [], "tree": [], "exact from the start": [], "exact from nothing": []}
        spent = {way: descent(attempt, limit_s, way, found[way]) for way in ("random", "tree")}
        rival(attempt, limit_s, found["exact from the start"], _first(attempt))
        rival(attempt, limit_s, found["exact from nothing"])
        p = cw.ControlledAdjustment(senses="choose", **PLAIN).protect(made, time_limit_s=limit_s, threads=THREADS)
        first = min((curve[0][0] for curve in (found["tree"], found["random"]) if curve), default=math.inf)
        ends = [f"{curve[-1][1]:.2f}" if curve else "none" for curve in found.values()]
        own, least = figures_of(p)
        rows.append(
            [
                name,
                f"{made.cells:,}",
                f"{structure.at_risk:,}",
                f"{first:.1f}",
                *(f"{min(of[k] for of in spent.values()):.1f}" for k in (0, 1)),
                *ends,
                f"{own:.2f}",
                f"{least:.2f}",
                share(gap(own, least)),
            ]
        )
        print(rows[-1], flush=True)
        curves[name] = found
        report.require(p.protected, f"{name} is protected")
        if not quick:
            cpu = min(of[0] for of in spent.values())
            report.require(cpu <= FIRST_S, f"{name}: a first table after {first:.0f} s, {cpu:.0f} of a processor")
    head = [
        "structure",
        "cells",
        "at risk",
        "first, s",
        "processor s",
        "by the relaxation, processor s",
        "descent at random",
        "along the tree",
        "exact from the start",
        "exact from nothing",
        "choose",
        "bound",
        "gap",
    ]
    report.add(table(head, rows))
    report.add(
        f"{limit_s:.0f} s each. What is not within {NEAR:.0%} of the bound has its gap stated. Curves of loss over time: [senses.svg](senses.svg)."
    )
    picture = drawn(curves, limit_s)
    if not quick:
        PICTURE.write_text(picture, encoding="utf-8")


def _first(attempt: AdjustmentAttempt) -> np.ndarray | None:
    """Deviations of the senses that descent starts from."""
    budget = Budget(time_limit_s=FIRST_S, threads=THREADS)
    return engines.solve_with_senses(attempt.problem(Room(*attempt.free)), attempt.senses(), budget).answer.z


NAMES = {"random": "descent at random", "tree": "descent along the tree"}
COLOURS = {"random": "#1b6ca8", "tree": "#c2452d", "exact from the start": "#3f8f4f", "exact from nothing": "#7a6a9b"}


def drawn(curves: dict[str, dict[str, Curve]], limit_s: float) -> str:
    """Paper 001's Figure 1: a panel a structure, loss over time; a curve that leaves the panel is cut at its top."""
    wide, high, edge = 420, 260, 56
    size = f'width="{2 * wide}" height="{(len(curves) + 1) // 2 * high + 24}"'
    parts = [f'<svg xmlns="http://www.w3.org/2000/svg" {size} font-family="sans-serif" font-size="11">']
    for k, (name, found) in enumerate(curves.items()):
        x0, y0 = k % 2 * wide + edge, k // 2 * high + 24
        inner, tall = wide - edge - 16, high - 60
        losses = [loss for curve in (found["random"], found["tree"]) for _, loss in curve]
        low, top = (min(losses), max(losses)) if losses else (0.0, 1.0)
        low, top = low - 0.05 * (top - low or 1), top + 0.05 * (top - low or 1)
        parts.append(f'<text x="{x0}" y="{y0 - 8}" font-weight="bold">{name}</text>')
        parts.append(f'<rect x="{x0}" y="{y0}" width="{inner}" height="{tall}" fill="none" stroke="#999"/>')
        parts += [
            f'<text x="{x0 - 4}" y="{y0 + tall * (top - loss) / (top - low) + 4:.0f}" text-anchor="end">{loss:,.1f}</text>'
            for loss in (low, (low + top) / 2, top)
        ]
        parts += [
            f'<text x="{x0 + inner * seconds / limit_s:.0f}" y="{y0 + tall + 14}" text-anchor="middle">{seconds:.0f} s</text>'
            for seconds in (0, limit_s / 2, limit_s)
        ]
        for way, curve in found.items():
            parts += _line(curve, COLOURS[way], limit_s, (low, top), (x0, y0, inner, tall))
    y = (len(curves) + 1) // 2 * high + 14
    for k, (way, colour) in enumerate(COLOURS.items()):
        parts.append(
            f'<line x1="{edge + 180 * k}" y1="{y - 4}" x2="{edge + 24 + 180 * k}" y2="{y - 4}" stroke="{colour}" stroke-width="2"/>'
        )
        parts.append(f'<text x="{edge + 30 + 180 * k}" y="{y}">{NAMES.get(way, way)}</text>')
    return "\n".join([*parts, "</svg>", ""])


def _line(
    curve: Curve, colour: str, limit_s: float, ends: tuple[float, float], box: tuple[int, int, int, int]
) -> Iterable[str]:
    """A curve in steps."""
    (low, top), (x0, y0, wide, tall) = ends, box
    points, before = [], None
    for seconds, loss in [*curve, *((limit_s, loss) for _, loss in curve[-1:])]:
        x = x0 + wide * min(seconds / limit_s, 1)
        y = y0 + tall * (top - min(loss, top)) / (top - low)
        points += [] if before is None else [f"{x:.1f},{before:.1f}"]
        points.append(f"{x:.1f},{y:.1f}")
        before = y
    return (
        [f'<polyline points="{" ".join(points)}" fill="none" stroke="{colour}" stroke-width="1.5"/>'] if points else []
    )


PARTS = {
    "hier13": "HIER13 proven",
    "csplib": "gaps and gains on CSPLIB",
    "brute": "all combinations of senses of small tables",
    "starts": "senses that hardly go together",
    "large": "the structures of paper 001",
}


def main() -> int:
    """Run what is asked for; ``--limit`` is taken before the parts see the command line."""
    parser = argparse.ArgumentParser(add_help=False)
    parser.add_argument("--limit", type=float, default=LIMIT_S)
    given, rest = parser.parse_known_args()
    sys.argv = [sys.argv[0], *rest]
    figures = {"hier13": hier13, "csplib": csplib, "brute": brute, "starts": starts, "large": large}

    def part(report: Report, name: str, *, quick: bool) -> None:
        figures[name](report, quick=quick, limit_s=min(given.limit, 2.0) if quick else given.limit)

    return run_parts("senses.py", "Senses chosen", PARTS, part, __doc__)


if __name__ == "__main__":
    sys.exit(main())
