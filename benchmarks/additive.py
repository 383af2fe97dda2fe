"""Additive: tables that do not add up, adjustments that cannot be, and cells that move one way only, held against brute force.

`--part additive`: 500 tables that do not add up, in L1 and L2, with cells kept; small ones against all tables and an exact linear program.
`--part repair`: 200 adjustments made infeasible by contradictory bounds: each explained by a conflict that an exact linear program confirms, and that
it cannot do without any part of; the repairs against brute force over all tables.
`--part one_sided`: random tables with levels without an end, `only_up`, `only_down`, negative values and deviations on a grid: every combination of
senses against brute force, and what is said with senses drawn.
"""

from __future__ import annotations

import sys
import time
from collections import Counter
from dataclasses import replace
from fractions import Fraction
from itertools import product
from pathlib import Path
from random import Random

import numpy as np
from results import Report, run_parts, table

sys.path.insert(0, str(Path(__file__).resolve().parents[1] / "tests" / "oracles"))

import nearest_additive
import random_one_sided
from fixed_keys import key_of

import cellward as cw

PARTS = {
    "additive": "tables that do not add up",
    "repair": "infeasible adjustments, explained and repaired",
    "one_sided": "cells that move one way only",
}
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


def repair(report: Report, *, quick: bool) -> None:
    """200 infeasible instances."""
    seen: Counter[str] = Counter()
    many, seed = (15 if quick else 200), -1
    sizes: Counter[int] = Counter()
    while seen["infeasible"] < many:
        seed += 1
        case = random_one_sided.contradictory(seed)
        made = case.table
        p = cw.ControlledAdjustment().protect(made, weights=case.weight, key=key_of(seed))
        some = any(case.goes(box) for _, box in case.senses())
        report.require(
            (p.status == "infeasible") is not some, f"seed {seed}: {p.status}, and by the exact linear program {some}"
        )
        if p.status != "infeasible":
            seen["feasible, and not counted"] += 1
            continue
        seen["infeasible"] += 1
        report.require(p.certificate().check().proven, f"seed {seed}: the certificate does not prove it")
        conflict = p.failure.conflict
        named = bool(conflict) and all(one.name in p.reason for one in conflict[:6])
        report.require(named, f"seed {seed}: not explained: {p.reason}")
        seen["explained by levels and bounds that do not go together"] += named
        sizes[len(conflict)] += 1
        report.require(not _goes(case, conflict), f"seed {seed}: what is named goes together after all")
        spare = [one for k, one in enumerate(conflict) if not _goes(case, (*conflict[:k], *conflict[k + 1 :]))]
        report.require(not spare, f"seed {seed}: {spare[:1]} could be left out")
        seen["of which nothing can be left out, by the exact linear program"] += not spare
        for which in ("bounds", "levels"):
            repaired(report, seen, case, seed, which)
    rows = [[what, f"{count:,}"] for what, count in seen.items()]
    report.add(table(["infeasible by contradictory bounds", "instances"], rows))
    report.add(
        table(["levels and bounds named", "instances"], [[size, count] for size, count in sorted(sizes.items())])
    )


def _goes(case: random_one_sided.Case, conflict: tuple) -> bool:
    """Whether some table meets these levels and bounds, and no others."""
    held = {(one.cell, one.what) for one in conflict}
    lo = [x if (i, "lower bound") in held else None for i, x in enumerate(case.lo)]
    hi = [x if (i, "upper bound") in held else None for i, x in enumerate(case.hi)]
    lpl, upl = ({i: x for i, x in own.items() if (i, "level") in held} for own in (case.lpl, case.upl))
    asked = replace(case, lo=lo, hi=hi, lpl=lpl, upl=upl, options={"zeros_stay": False})
    return any(asked.goes(box) for _, box in asked.senses())


def repaired(
    report: Report, seen: Counter[str], case: random_one_sided.Case, seed: int, which: str, **options: str
) -> None:
    """The repair of one infeasible instance, against brute force."""
    p = cw.ControlledAdjustment(repair=which, **options).protect(case.table, weights=case.weight, key=key_of(seed))
    try:
        least = case.least_repair(which)
    except nearest_additive.TooManyError:
        seen[f"{which}: too many tables for brute force"] += 1
        return
    if p.publication is None:
        report.require(
            least is None and which == "bounds",
            f"seed {seed}: no repair of {which} was found ({p.reason}), brute force has {least}",
        )
        seen[f"{which}: none leads to a table, by brute force too"] += 1
        return
    changed, spare = p.details.repairs, Fraction(0)
    if which == "bounds":
        total = sum(case.weight[one.cell] * abs(Fraction(one.now) - Fraction(one.was)) for one in changed)
        report.require(
            p.protected and p.certificate().check().holds, f"seed {seed}: repaired bounds, and not protected"
        )
        report.require(all("bound" in one.what for one in changed), f"seed {seed}: more than bounds gave way")
    else:
        size = {i: max(case.lpl[i], case.upl[i]) for i in case.lpl}
        total = sum(Fraction(int(one.was) - int(one.now), size[one.cell]) for one in changed)
        # Of a level that is given up nothing says how far on the wrong side its cell had to go: what is missed is the level or more.
        spare = sum((1 - Fraction(int(one.was), size[one.cell]) for one in changed if not int(one.now)), spare)
        report.require(p.protected is False and not p.releasable, f"seed {seed}: lowered levels are called protected")
    right = least is not None and total <= least <= total + spare
    report.require(right, f"seed {seed}: repair of {which} costs {total} (and up to {spare}), by brute force {least}")
    seen[f"{which}: repaired, as little as by brute force"] += right


def one_sided(report: Report, *, quick: bool) -> None:
    """Random tables with options of every kind."""
    seen: Counter[str] = Counter()
    for seed in range(20 if quick else 500):
        case = random_one_sided.one_sided(seed)
        made, options = case.table, {**case.options, "keep": "nothing"}
        every = {tuple(chosen): box for chosen, box in case.senses()}
        some = any(case.goes(box) for box in every.values())
        p = cw.ControlledAdjustment(**options).protect(made, weights=case.weight, key=key_of(seed))
        seen["tables"] += 1
        whole = some and any(case.goes_whole(box) for box in every.values())
        right = {"infeasible": not some, "failed": not whole}.get(p.status, whole)
        report.require(right, f"seed {seed}: {p.status}, and by brute force {some}, {whole}")
        seen[f"senses drawn: {p.status}, as by brute force"] += bool(right)
        if p.publication is not None:
            report.require(p.protected and p.certificate().check().holds, f"seed {seed}: not protected")
            z = (p.scaled - made.scaled).tolist()
            held = all(low <= x <= high and not x % case.unit for x, low, high in zip(z, *case.room(), strict=True))
            report.require(held, f"seed {seed}: a cell moved another way, or off the grid")
        for chosen in product((1, -1), repeat=len(case.lpl)):
            for norm, power in (("l1", 1), ("l2", 2)):
                q = cw.ControlledAdjustment(senses=chosen, jitter=0, norm=norm, **options).protect(
                    made, weights=case.weight
                )
                box = every.get(chosen)
                goes = box is not None and case.goes(box)
                seen["combinations of senses"] += 1
                if q.publication is None:
                    none = not goes if q.status == "infeasible" else box is None or not case.goes_whole(box)
                    report.require(
                        none, f"seed {seed}: {chosen}, {norm}: {q.status}, and there is a table ({q.reason})"
                    )
                    seen[f"senses given: {q.status}, as by brute force"] += bool(none)
                    continue
                value = sum(w * abs(int(x)) ** power for w, x in zip(case.weight, q.scaled - made.scaled, strict=True))
                try:
                    least = case.least(box, value, power) if goes else None
                except nearest_additive.TooManyError:
                    seen[f"{norm}: too many tables for brute force"] += 1
                    continue
                near = (
                    least is not None
                    and q.bound <= least * (1 + 1e-6) + 1e-6
                    and (q.status != "optimal" or least == value)
                )
                report.require(
                    near, f"seed {seed}: {chosen}, {norm}: {q.status} {value}, bound {q.bound}, by brute force {least}"
                )
                if norm == "l1" and goes:
                    report.require(
                        q.bound <= value and (q.status == "optimal" or case.linear(box) <= value),
                        f"seed {seed}: nearer than the exact linear program",
                    )
                seen[
                    f"{norm}: {q.status}, {'the least' if least == value else 'bound below the least'} by brute force"
                ] += 1
    report.add(table(["tables with options", "seen"], [[what, f"{count:,}"] for what, count in sorted(seen.items())]))


FIGURES = {"additive": additive, "repair": repair, "one_sided": one_sided}


def figures(report: Report, part: str, *, quick: bool) -> None:
    """Of one part."""
    FIGURES[part](report, quick=quick)


if __name__ == "__main__":
    sys.exit(run_parts("additive.py", "Tables and adjustments that cannot be as they are", PARTS, figures, __doc__))
