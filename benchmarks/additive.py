"""Additive: tables that do not add up, adjustments that cannot be, and cells that move one way only, held against brute force.

`--part additive`: 500 tables that do not add up, in L1 and L2, with cells kept; small ones against all tables and an exact linear program.
"""

from __future__ import annotations

import sys
import time
from collections import Counter
from pathlib import Path
from random import Random

import numpy as np
from results import Report, run_parts, table

sys.path.insert(0, str(Path(__file__).resolve().parents[1] / "tests" / "oracles"))

import nearest_additive

import cellward as cw

PARTS = {"additive": "tables that do not add up"}
LARGER = ((30, 30), (8, 8, 8), (100, 40), (5, 5, 5, 5))


def additive(report: Report, *, quick: bool) -> None:
    """500 tables."""
    many = 40 if quick else 480
    seen: Counter[str] = Counter()
    for seed in range(many):
        rng = Random(seed)
        rows, a, lo, hi = nearest_additive.random_rounded(rng)
        norm, weights = ("l1", "l2")[seed % 2], ("equal", "table")[seed // 2 % 2]
        cost = [rng.randrange(1, 6) for _ in a] if weights == "table" else [1] * len(a)
        kept = sorted(rng.sample(range(len(a)), rng.choice((0, 0, 1, 3, len(a) // 2, 2 * len(a) // 3))))
        matrix = np.zeros((len(rows), len(a)), np.int64)
        for j, (_, cells, coefs) in enumerate(rows):
            matrix[j, cells] = coefs
        least = nearest_additive.linear(rows, a, lo, hi, cost, kept)
        try:
            made = cw.Table.from_equations(
                a, matrix, lower=lo, upper=hi, weight=cost, additive=norm, keep_values=kept, additive_weights=weights
            )
        except cw.InputError as refusal:
            seen["no additive table keeps the cells named: refused, with the cells"] += 1
            report.require(
                least is None and "keeps" in str(refusal),
                f"seed {seed}: refused, and the exact linear program has a table ({refusal})",
            )
            if least is None:
                seen["refused alike by the exact linear program"] += 1
            continue
        told = made.made_additive
        v = made.scaled.tolist()
        power = 1 if norm == "l1" else 2
        value = sum(w * abs(x - y) ** power for w, x, y in zip(cost, v, a, strict=True))
        sums = all(sum(c * v[i] for i, c in zip(cells, coefs, strict=True)) == rhs for rhs, cells, coefs in rows)
        inside = all(
            (low is None or x >= low) and (high is None or x <= high) for x, low, high in zip(v, lo, hi, strict=True)
        )
        stays = all(v[i] == a[i] for i in kept)
        listed = {int(i): (int(x), int(y)) for i, x, y in zip(told.cell, told.was, told.now, strict=True)}
        report.require(sums and inside and stays, f"seed {seed}: a sum, a bound or a cell kept is missed")
        report.require(
            listed == {i: (a[i], v[i]) for i in range(len(a)) if a[i] != v[i]},
            f"seed {seed}: what moved is not what is listed",
        )
        report.require(value == told.distance, f"seed {seed}: the distance told is not the distance")
        seen["made additive"] += 1
        seen["proven nearest"] += told.proven
        seen["nearest by the solver's word"] += not told.proven and told.claimed
        report.require(
            least is not None and (power == 2 or value >= least), f"seed {seed}: nearer than the exact linear program"
        )
        if power == 1 and least == value:
            seen["as near as the exact linear program"] += 1
        try:
            brute = nearest_additive.least(
                rows, a, lo, hi, cost, power, kept, value, nodes=20_000 if quick else 400_000
            )
        except nearest_additive.TooManyError:
            seen["too many tables for brute force"] += 1
            continue
        seen["as near as brute force over all tables"] += brute == value
        report.require(brute == value, f"seed {seed}: {value}, by brute force {brute}")
    report.add(table([f"of {many:,} small tables", "tables"], [[what, f"{count:,}"] for what, count in seen.items()]))
    _larger(report, quick=quick)


def _larger(report: Report, *, quick: bool) -> None:
    """Tables of hundreds and thousands of cells."""
    found = []
    for seed, shape in enumerate(LARGER[:1] if quick else LARGER):
        for norm, weights in (
            ("l1", "equal"),
            ("l2", "equal"),
            ("l1", "relative"),
            ("l2", "relative"),
            ("l1", "equal, total kept"),
        ):
            rng = np.random.default_rng(seed)
            full = rng.gamma(1.0, 20.0, shape)
            for axis in range(len(shape)):
                full = np.concatenate((full, full.sum(axis=axis, keepdims=True)), axis=axis)
            index = np.indices(full.shape).reshape(len(shape), -1)
            rows = {f"d{k}": [str(i) if i < shape[k] else "Total" for i in index[k]] for k in range(len(shape))}
            rows["value"] = np.rint(full).astype(np.int64).ravel()
            began = time.process_time()
            made = cw.Table.from_frame(
                rows, dims=[f"d{k}" for k in range(len(shape))], value="value", additive=norm,
                additive_weights=weights.partition(",")[0], keep_values="total" if "kept" in weights else (),
            )  # fmt: skip
            told = made.made_additive
            report.require(not made.relations.residual(made.scaled).any(), f"{shape} {norm}: does not add up")
            report.require(
                told.proven or told.claimed or told.bound >= 0.9 * told.distance,
                f"{shape} {norm} {weights}: a gap of more than 10 %",
            )
            gap = (
                "0, proven"
                if told.proven
                else "0 by the solver's word"
                if told.claimed
                else f"{100 * (1 - told.bound / told.distance):.2g} %"
            )
            found.append(
                [
                    " × ".join(map(str, shape)),
                    norm,
                    weights,
                    f"{made.cells:,}",
                    f"{told.missed:,}",
                    f"{len(told.cell):,}",
                    f"{told.distance:.6g}",
                    gap,
                    f"{time.process_time() - began:.1f}",
                ]
            )
    report.add(
        table(
            ["table", "norm", "weights", "cells", "equations missed", "cells moved", "distance", "gap", "processor s"],
            found,
        )
    )


FIGURES = {"additive": additive}


def figures(report: Report, part: str, *, quick: bool) -> None:
    """Of one part."""
    FIGURES[part](report, quick=quick)


if __name__ == "__main__":
    sys.exit(run_parts("additive.py", "Tables and adjustments that cannot be as they are", PARTS, figures, __doc__))
