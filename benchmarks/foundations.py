"""Foundations: every figure that the table model and the first rounding owe, computed, compared, and written to RESULTS.md.

python benchmarks/foundations.py            all figures, about half an hour; writes RESULTS.md; exits 1 when one falls short
python benchmarks/foundations.py --quick    the same checks on small sizes, a minute; writes nothing
"""

from __future__ import annotations

import argparse
import subprocess
import sys
import time
from functools import partial

import numpy as np

import measure  # isort: skip (finds the oracles)
import census
import rounding_rivals as rivals
import zero_restricted_check
from enumeration import every_rounding
from fixed_keys import key_of
from paper_000 import FIGURE_1, FIGURE_2C, figure_5
from results import Report, table, write_section
from zero_restricted_check import RoundingByFlow

import cellward as cw
from cellward.instance import Instance
from cellward.protect.lattice.linear import linear
from cellward.protect.lattice.model import LatticeModel, allowed_multiples
from cellward.solve.budget import Budget
from cellward.solve.highs import solve_lp
from cellward.solve.worker import warm_up
from cellward.table.relations import Relations

ROUNDING = cw.ControlledRounding(base=5)


def figures(report: Report) -> None:
    one = ROUNDING.protect(cw.Table.from_array(FIGURE_1))
    roundings = [objective for objective, _ in every_rounding(one.instance, 5)]
    report.require((one.status, one.objective) == ("optimal", 16), "Figure 1: optimum 16")
    report.require(len(roundings) == 8 and roundings.count(16) == 1, "Figure 1: one of 8 roundings")
    report.require(one.values.reshape(4, 4).tolist() == FIGURE_2C, "Figure 1: the rounding of Figure 2(c)")
    five = ROUNDING.protect(figure_5())
    report.require((five.status, five.objective) == ("optimal", 132), "Figure 5: optimum 132")
    rows = [
        [
            "Figure 1, 4×4",
            16,
            one.objective,
            f"{len(roundings)} roundings, {roundings.count(16)} of them optimal: Figure 2(c)",
        ],
        ["Figure 5, 13×7, three partitions", 132, five.objective, f"{five.status}; the one printed costs 136"],
    ]
    report.add("### Paper 000, base 5\n\n" + table(["table", "expected Σ\\|v−a\\|", "ours", "note"], rows))


def brute_force(report: Report, cases: int, flow_cases: int) -> None:
    seen, seconds = measure.many(report, "brute force", zero_restricted_check.summary, cases, 200)
    by_flow, more = measure.many(
        report, "brute force, by flow", partial(zero_restricted_check.summary, flow=True), flow_cases, 200
    )
    mismatches = seen.differences + by_flow.differences
    counts, statuses = seen.by["kind"], ("optimal", "infeasible", "refused")
    kinds = sorted({kind for kind, _ in counts})
    rows: list[list[object]] = [[kind, *(counts[kind, status] for status in statuses)] for kind in kinds]
    rows.append(["all", *(sum(n for (_, s), n in counts.items() if s == status) for status in statuses)])
    report.add(
        f"### Random tables against brute force\n\n{cases:,} tables of at most 14 free cells, mixed bases, fixed cells, bounds, decimals, weights; "
        f"seeds 0 to {cases - 1:,}; status and optimum compared exactly, the first {flow_cases:,} again with every network sent to the flow solver: "
        f"**{len(mismatches)} mismatches** ({seconds + more:.0f} s).\n\n"
        + table(["kind", "optimal", "infeasible", "refused (off the grid)"], rows)
    )


def network_speed(report: Report, sizes: list[int], *, quick: bool = False) -> None:
    warm_up()
    method = RoundingByFlow(base=5)
    rows = []
    for size in sizes:
        rng = np.random.default_rng(size)
        values = rng.poisson(4, (size, size))
        method.protect(cw.Table.from_array(values[:2, :2]))
        instance = Instance.of(cw.Table.from_array(values))
        started = time.perf_counter()
        protection = method.solve(instance, Budget(), key_of(0))
        ours = time.perf_counter() - started
        started = time.perf_counter()
        again = method.solve(instance, Budget(), key_of(0))
        known = time.perf_counter() - started
        started = time.perf_counter()
        protection.release()
        verification = time.perf_counter() - started
        model = LatticeModel(instance, allowed_multiples(instance, np.full(instance.cells, 5)))
        network = instance.relations.network
        question, unit, _ = linear(model, network.equations, np.arange(len(model.columns)), model.columns.cost)
        started = time.perf_counter()
        outcome = solve_lp(question)
        rival = time.perf_counter() - started
        agree = round(outcome.objective) * unit + model.objective(model.allowed.lo) == protection.objective
        report.require(
            protection.status == again.status == "optimal" and agree, f"{size}×{size}: optimum equal to the LP's"
        )
        report.require(quick or ours < rival, f"{size}×{size}: faster than HiGHS LP")
        rows.append(
            [f"{size}×{size}", protection.objective, f"{ours:.2f}", f"{known:.2f}", f"{verification:.2f}", f"{rival:.2f}",
             f"**{rival / ours:.1f} ×**", f"{rival / known:.1f} ×"]
        )  # fmt: skip
    head = [
        "table",
        "Σ\\|v−a\\|",
        "Instance → Protection, s",
        "again, structure known, s",
        "verification, s",
        "HiGHS LP, s",
        "ratio",
        "ratio, structure known",
    ]
    report.add(
        "### Network tables, base 5, Poisson(4), worker warm\n\nHiGHS LP (dual simplex, one thread) solves the same model in the same run; its "
        "time is that of the solve alone.\n\n" + table(head, rows)
    )


def peers(report: Report, cases: list[tuple[tuple[int, ...], int]], limit: float) -> None:
    report.add(
        "### Peer: the τ-ARGUS rounder (pytauargus), Poisson(4), base 5\n\nBoth prove their optimum; the peer runs in a process of its own and its "
        "time is that of its rounding call, ours from table to Protection.\n\n"
        + rivals.beside_tauargus(report, cases, limit)
    )


def structure_of(name: str, scale: str) -> None:
    """Child process: analyse one census structure and print its figures."""
    small = {"income_support": {"geography": (500, 20, 4, 1)}, "scottish_census": {"wards": 60, "authorities": 4}}
    made = getattr(census, name)(**(small[name] if scale == "quick" else {}))
    relations = Relations(made.cells, made.indptr, made.indices, made.coefs, made.rhs)
    started = time.perf_counter()
    structure = relations.structure
    blocks = len(np.unique(relations.blocks()))
    network = relations.network
    first = time.perf_counter() - started
    form = relations.leaf_form
    seconds = time.perf_counter() - started
    exact = bool(np.array_equal(form.matrix @ made.values[form.leaves] + form.constant, made.values))
    peak = measure.peak_mb()
    facts = [
        made.cells,
        made.equations,
        len(form.leaves),
        len(structure.redundant),
        blocks,
        network is not None,
        form.matrix.nnz,
        exact,
    ]
    print(*facts, f"{first:.2f}", f"{seconds:.2f}", f"{peak:.0f}", sep="\t")


def structures(report: Report, *, quick: bool) -> None:
    rows = []
    for name, expected in (("income_support", (220_040, 75_572)), ("scottish_census", (431_613, 105_960))):
        command = [sys.executable, __file__, "--structure", name, "quick" if quick else "full"]
        facts = subprocess.run(command, check=True, capture_output=True, text=True).stdout.strip().split("\t")
        cells, equations, *_, exact, _first, seconds, peak = facts
        report.require(quick or (int(cells), int(equations)) == expected, f"{name}: {expected} cells and equations")
        report.require(exact == "True", f"{name}: the leaf form reproduces the values")
        report.require(
            quick or (float(seconds) < 10 and float(peak) < 2048),
            f"{name}: seconds and under 2 GB, not {seconds} s and {peak} MB",
        )
        rows.append([name.replace("_", " "), *facts])
    head = [
        "structure",
        "cells",
        "equations",
        "leaves",
        "redundant",
        "blocks",
        "network",
        "nonzeros of N",
        "a = N·u + c",
        "structure, s",
        "with leaf form, s",
    ]
    report.add(
        "### Relations at census size\n\nPeak memory is that of the whole process.\n\n"
        + table([*head, "peak MB"], rows)
    )


def main() -> int:
    parser = argparse.ArgumentParser(description=__doc__, formatter_class=argparse.RawDescriptionHelpFormatter)
    parser.add_argument("--quick", action="store_true")
    parser.add_argument("--structure", nargs=2, help=argparse.SUPPRESS)
    options = parser.parse_args()
    if options.structure:
        structure_of(*options.structure)
        return 0
    report = Report()
    figures(report)
    if options.quick:
        brute_force(report, 600, 200)
        network_speed(report, [120], quick=True)
        peers(report, [((8, 8, 8), 1), ((30, 30), 1)], 60)
    else:
        network_speed(report, [300, 1000])
        peers(report, [(s, seed) for s in ((8, 8, 8), (30, 30), (4, 4, 4, 4), (12, 12, 12)) for seed in (1, 2, 3)], 600)
        brute_force(report, 20_000, 5_000)
    structures(report, quick=options.quick)
    if not options.quick:
        write_section(
            "foundations.py",
            "Foundations: table model and zero-restricted rounding",
            "\n\n".join([report.verdict, *report.sections]),
        )
    print(report.verdict)
    return 1 if report.short else 0


if __name__ == "__main__":
    sys.exit(main())
