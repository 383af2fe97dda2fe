"""Perturbation: every figure that cell perturbation owes, computed, compared, and written to RESULTS.md.

python benchmarks/perturbation.py                 all figures, some hours; writes RESULTS.md part by part; exits 1 when one falls short
python benchmarks/perturbation.py --part cube     one part: brute, structure, cube or impossible
python benchmarks/perturbation.py --quick         the same checks on small sizes, under a minute; times are not judged; writes nothing
"""

from __future__ import annotations

import re
import sys
import time
from collections import Counter
from collections.abc import Callable, Iterator
from contextlib import ExitStack, contextmanager
from dataclasses import dataclass, replace
from functools import partial
from random import Random
from typing import Any
from unittest.mock import patch

import numpy as np
from numpy.typing import NDArray

import measure  # isort: skip (finds the oracles)
import census
import perturbation_check
import random_tables
import seeded_tables
from binding_levels import attackers, levels_beyond, reaches, rounded, sensitive_cells
from measure import certified, size, wait
from results import Report, run_parts, table
from rounding_rivals import program

import cellward as cw
from cellward.errors import CellwardError
from cellward.publication.knowledge import KINDS
from cellward.solve import cpsat, highs, warm_lp, worker
from cellward.solve import staged_flow as levels
from cellward.solve.highs import solve_lp
from cellward.table.sensitivity import CellStatus, Sensitivity

Ints = NDArray[np.int64]
BASE = 5
STRUCTURE_S, CLOSE = 60.0, 1e-6
"""Paper 000, section 5: the large structure in less than a minute, with either method; objectives are compared to this relative difference."""
LIMIT_S = 1800.0
PART, SENSITIVE = (1000, 60, 8, 1), 50
"""A part of the structure small enough for intervals to be worked out in full, which levels are drawn from, and the cells with levels in it."""


# ---- brute force -------------------------------------------------------------------------------------------------------------------------


def brute(report: Report, *, quick: bool) -> None:
    """Random tables with levels against Figure 3 of the paper, solved as it stands, and against all choices of cells on multiples."""
    cases, chunk = (60, 30) if quick else (5_000, 100)
    seen, seconds = measure.many(report, "brute force", perturbation_check.summary, cases, chunk)
    unmet = measure.unmet_share(report, seen, "least perturbation")
    report.add(
        f"{cases:,} random tables (seeds 0 to {cases - 1:,}) with levels, several attackers, mixed bases and distances, both kinds of "
        "knowledge. Beside them: Figure 3 of paper 000 with x between 0 and 1, solved as one linear program; for `strict` between multiples, "
        "all choices of the cells that sit on one, in exact arithmetic. Status, optimum, bound, protection, intervals of every attacker, "
        f"certificate and release: **{len(seen.differences):,} differences** ({seconds:.0f} s). On a share of the tables the paper's rounding is "
        "compared too: it is never cheaper, and never there without a perturbation. Levels are among those that a single cell can meet; the "
        f"least perturbation without them leaves {100 * unmet:.0f} % of the requirements unmet.\n\n"
        + table(["", "count"], seen.rows)
    )


# ---- levels that bind ----------------------------------------------------------------------------------------------------------------------


@dataclass(frozen=True, eq=False)
class Asked:
    """A table with levels, the public and a respondent as attackers, and what a rounding that protects it costs."""

    table: cw.Table
    attackers: tuple[cw.Attacker, ...]
    known: int


def asked_of(made: cw.Table, many: int, kind: str, seed: int) -> Asked | None:
    """Levels of three kinds on so many cells, a part of them beyond what the least perturbation gives; a rounding meets them all.

    A rounding is a perturbation with every cell on a multiple, and protects as one, so the levels can be met. It counts half of the cells only, hence
    is far from the least one. None where none is found.
    """
    rng = np.random.default_rng(seed)
    half = rng.integers(0, 2, made.cells)
    witness = cw.ControlledRounding(BASE, goal="any").protect(made, weights=half, time_limit_s=LIMIT_S)
    least = cw.CellPerturbation(BASE, knowledge=kind).protect(made)
    if witness.scaled is None or least.scaled is None:
        return None
    differ = np.abs(witness.scaled - least.scaled / 10**least.instance.decimals) > 1
    cells = sensitive_cells(made, BASE, differ, many, rng)
    against = attackers(made, cells, seed)[:2]
    wanted = reaches(rounded(made, witness.scaled, BASE, "paper", against), cells)
    given = reaches(cw.CellPerturbation(BASE, knowledge=kind).protect(made, attackers=against), cells)
    drawn = levels_beyond(given.min(axis=1), wanted.min(axis=1), 0.6, rng)
    asking = drawn.any(axis=0)
    sensitivity = Sensitivity.of(made.cells, cells[asking], *drawn[:, asking])
    known = int(np.abs(witness.scaled - made.scaled).sum())
    return Asked(made.with_sensitivity(sensitivity), against, known)


PROTECTED = [
    "knowledge",
    "sensitive (below / above / width)",
    "requirements",
    "unmet by the least perturbation",
    "objective without levels",
    "with levels",
    "a rounding that protects",
    "status",
    "s",
    "cuts",
    "attacker problems solved, of those listed",
    "certificate",
    "certificate and its check, s",
    "engine",
]


def protected(report: Report, name: str, asked: Asked, kind: str, *, limit: float) -> list[object]:
    """One protected perturbation: its row."""
    found = measure.against_levels(
        report, name, partial(cw.CellPerturbation, BASE, knowledge=kind), asked.table, asked.attackers, asked.known,
        close=CLOSE, time_limit_s=limit,
    )  # fmt: skip
    p, free = found.p, found.free
    cuts, solved = effort(p.engine)
    return [
        kind, found.sensitive, free.evidence.requirements, found.share, number(free.objective), number(p.objective), number(asked.known),
        p.status, wait(found.seconds), cuts, solved, found.certificate, wait(found.check_s), p.engine,
    ]  # fmt: skip


def number(x: float | None) -> str:
    return "none" if x is None else f"{x:,.2f}".rstrip("0").rstrip(".") if x % 1 else f"{x:,.0f}"


def effort(engine: str) -> tuple[str, str]:
    """Cuts and attacker problems, as the engine's sentence gives them."""
    cuts = re.search(r"([\d,]+) cuts?", engine)
    solved = re.search(r"([\d,]+) of ([\d,]+)", engine)
    return cuts[1] if cuts else "", f"{solved[1]} of {solved[2]}" if solved else ""


# ---- the large structure -------------------------------------------------------------------------------------------------------------------


def structure(report: Report, *, quick: bool) -> None:
    """The paper's Income Support structure: perturbation beside rounding, and whether its optimum is a rounding."""
    made = seeded_tables.of_census(
        census.income_support(geography=(200, 20, 4, 1)) if quick else census.income_support()
    )
    began = time.perf_counter()
    p = cw.CellPerturbation(BASE).protect(made)
    ours = time.perf_counter() - began
    began = time.perf_counter()
    r = cw.ControlledRounding(BASE).protect(made, time_limit_s=LIMIT_S)
    theirs = time.perf_counter() - began
    rival = program(made, BASE)
    relaxed = solve_lp(rival.linear)
    report.require(p.status == "optimal", f"structure: {p.status}, {p.reason}")
    report.require(r.scaled is not None, f"structure, rounding: {r.status}, {r.reason}")
    if p.scaled is None or r.scaled is None:
        return
    bound, slack = rival.constant + relaxed.objective, CLOSE * max(1.0, p.objective)
    report.require(abs(p.objective - bound) <= slack, f"structure: {p.objective}, the linear program gives {bound}")
    report.require(p.objective <= r.objective + slack, f"structure: {p.objective}, above the rounding's {r.objective}")
    report.require(quick or ours <= STRUCTURE_S, f"structure: {ours:.0f} s, not {STRUCTURE_S:.0f}")
    wrong = certified(p)
    report.require(not wrong, f"structure: certificate, {wrong}")
    fractional = int(np.count_nonzero(p.scaled % (BASE * 10**p.instance.decimals)))
    free = int(np.count_nonzero(made.scaled % BASE))
    same = "yes" if fractional == 0 else f"no: {fractional:,} of {free:,} cells lie between multiples"
    rows: list[list[object]] = [
        ["perturbation", number(p.objective), p.status, same, wait(ours), f"{theirs / ours:.1f} ×", p.engine],
        ["rounding", number(r.objective), r.status, "yes", wait(theirs), "1 ×", r.engine],
        ["HiGHS LP, the solve alone", number(bound), relaxed.status, "", wait(relaxed.seconds),
         f"{theirs / relaxed.seconds:.1f} ×", relaxed.solver],
    ]  # fmt: skip
    head = ["method", "objective", "status", "all values multiples", "s", "rounding's time / this", "engine"]
    report.add(
        f"The structure of paper 000's Income Support table: {made.cells:,} cells, {made.relations.equations:,} equations, base {BASE}, no "
        "levels. The paper found the same table by both methods, in less than a minute each (Pentium, 2.5 GHz). Seconds from table to "
        "Protection.\n\n" + table(head, rows)
    )
    smaller = made if quick else seeded_tables.of_census(census.income_support(geography=PART))
    rows = []
    for kind in KINDS:
        asked = asked_of(smaller, 20 if quick else SENSITIVE, kind, 1)
        report.require(asked is not None, f"structure, {kind}: no rounding to draw levels from")
        if asked is not None:
            rows.append(protected(report, f"structure, {kind}", asked, kind, limit=LIMIT_S))
    report.add(
        f"The same structure with fewer areas ({smaller.cells:,} cells), with levels against the public and a respondent (see the cube's part).\n\n"
        + table(PROTECTED, rows)
    )


# ---- a cube --------------------------------------------------------------------------------------------------------------------------------


def cube(report: Report, *, quick: bool) -> None:
    """A cube with a twentieth of its cells sensitive, two attackers, both kinds of knowledge."""
    shape, seeds = ((5, 5, 5), [1]) if quick else ((20, 20, 20), [1, 2, 3])
    rows: list[list[object]] = []
    for seed in seeds:
        made = seeded_tables.poisson(shape, seed)
        for kind in KINDS:
            name = f"cube {size(shape)} seed {seed} {kind}"
            asked = asked_of(made, max(made.cells // 20, 2), kind, seed)
            report.require(asked is not None, f"{name}: no rounding to draw levels from")
            if asked is not None:
                rows.append([size(shape), seed, *protected(report, name, asked, kind, limit=LIMIT_S)])
    report.add(
        f"Base {BASE}, Poisson(4). A twentieth of the cells is sensitive, none of them a multiple. Attackers: the public; a respondent with "
        "contributions to a tenth of the other cells, alone in a thirtieth. Levels of three kinds are drawn within what some rounding gives, "
        "a part of them beyond what the least perturbation gives. A requirement is all levels of one cell against one attacker.\n\n"
        + table(["table", "seed", *PROTECTED], rows)
    )


# ---- levels that cannot be met -------------------------------------------------------------------------------------------------------------


class SolverUsedError(Exception):
    """A solver was asked where none should be."""


@contextmanager
def without_solvers() -> Iterator[None]:
    """Every way into a solver raises."""

    def refuse(*_: object, **__: object) -> Any:
        raise SolverUsedError("a solver was asked")

    places: list[tuple[Any, str]] = [
        (worker, "_exchange"),
        (highs, "_solve"),
        (warm_lp.WarmLp, "_load"),
        (levels, "_levels"),
        (cpsat, "_load"),
    ]
    with ExitStack() as stack:
        for owner, name in places:
            stack.enter_context(patch.object(owner, name, refuse))
        yield


@dataclass(frozen=True, eq=False)
class Impossible:
    """A table with one level that its cell cannot meet: why, where, and against whom."""

    why: str
    table: cw.Table
    options: dict[str, Any]
    attackers: list[cw.Attacker]
    cell: int
    attacker: str


WHYS = (
    "width beyond 2h",
    "below and above together beyond 2h",
    "a multiple",
    "below a bound",
    "above a bound",
    "below 0",
)


def impossible_case(seed: int) -> Impossible | None:
    """A random table (as random_tables.py draws it) and a level that cannot be met; None where the draw has no cell for it."""
    rng = Random(seed)
    drawn = random_tables.random_case(rng.randrange(10**6))
    made, base = drawn.table.without_levels(), drawn.base
    why, kind, form, who = (
        rng.choice(WHYS),
        rng.choice(KINDS),
        rng.choice(("base", "distance")),
        rng.choice(("external", "insider")),
    )
    if made.decimals or not isinstance(base, int):
        return None
    a, half, far = (
        made.scaled.tolist(),
        2 * base if (form, kind) == ("distance", "paper") else base,
        rng.randint(2, base),
    )
    on = [form == "base" and x % base == 0 for x in a]
    cells = [
        i for i, fixed in enumerate(made.sensitivity.fixed.tolist()) if not fixed and on[i] == (why == "a multiple")
    ]
    if why == "below 0":
        cells = [i for i in cells if made.lower[i] == 0]
    if not cells or (why == "a multiple" and kind == "strict"):
        return None
    i = rng.choice(cells)
    level = {
        "width beyond 2h": (0, 0, 2 * half + far),
        "below and above together beyond 2h": (half, half + far, 0),
        "a multiple": rng.choice(((1, 0, 0), (0, 1, 0), (0, 0, 1))),
        "below a bound": (far, 0, 0),
        "above a bound": (0, far, 0),
        "below 0": (a[i] + 1, 0, 0),
    }[why]
    bounds: dict[str, Any] = {
        "below a bound": {"lower": {i: a[i] - far + 1}},
        "above a bound": {"upper": {i: a[i] + far - 1}},
    }.get(why, {})
    if bounds or who == "insider":
        insider = cw.Attacker.knowing(made, "insider", **bounds, levels={i: level})
        against, who = [cw.Attacker.external(), insider], "insider"
    else:
        column = np.zeros((3, made.cells), np.int64)
        column[:, i] = level
        lpl, upl, spl = (side.copy() for side in column)
        status = made.sensitivity.status.copy()
        status[i] = CellStatus.UNSAFE
        made = made.with_sensitivity(replace(made.sensitivity, status=status, lpl=lpl, upl=upl, spl=spl))
        against = [cw.Attacker.external()]
    options = {"base": base} if form == "base" else {"base": None, "within": base}
    return Impossible(f"{why}, {form}, {kind}", made, {**options, "knowledge": kind}, against, i, who)


def impossible(report: Report, *, quick: bool) -> None:
    """Levels beyond what a single cell can give are named, cell and attacker, before any solver runs."""
    wanted, seed = 60 if quick else 1000, 0
    seen: Counter[str] = Counter()
    longest = 0.0
    wrong: list[str] = []
    while sum(seen.values()) < wanted:
        seed += 1
        case = impossible_case(seed)
        if case is None:
            continue
        seen[case.why] += 1
        name = case.table.labels.name(case.cell)
        began = time.perf_counter()
        try:
            with without_solvers():
                p = cw.CellPerturbation(**case.options).protect(case.table, attackers=case.attackers)
        except (SolverUsedError, CellwardError) as error:
            wrong.append(f"seed {seed}, {case.why}: {type(error).__name__}: {error}")
            continue
        longest = max(longest, time.perf_counter() - began)
        if p.status != "infeasible" or name not in p.reason or case.attacker not in p.reason:
            wrong.append(f"seed {seed}, {case.why}, {name}: {p.status}, {p.reason}")
        elif case.cell not in p.conflicting_cells:
            wrong.append(f"seed {seed}, {case.why}: cell {case.cell} is not among {p.conflicting_cells}")
    for line in wrong[:20]:
        print(line, flush=True)
    report.require(not wrong, f"impossible: {len(wrong)} of {wanted}, first {wrong[:1]}")
    rows: list[list[object]] = [[why, count] for why, count in sorted(seen.items())]
    report.add(
        f"{wanted:,} random tables with one level that its cell alone cannot meet: max(SPL, UPL + LPL) > 2h, h being what attackers read around "
        "a value (0 for a multiple under `paper`), or a − LPL or a + UPL beyond an attacker's own bounds. Every way into a solver raises an "
        f"error meanwhile. **{wanted - len(wrong):,} named cell and attacker**; the longest took {1000 * longest:.0f} ms.\n\n"
        + table(["reason, form, knowledge", "tables"], rows)
    )


# ---- the programme -----------------------------------------------------------------------------------------------------------------------

RUN: dict[str, Callable[..., None]] = {"brute": brute, "structure": structure, "cube": cube, "impossible": impossible}

PARTS = {
    "brute": "random tables with levels against brute force",
    "structure": "a structure of 220,040 cells beside rounding",
    "cube": "levels in a cube",
    "impossible": "levels that no table can meet",
}
"""The parts in the order in which they are run, and what each shows."""


if __name__ == "__main__":
    sys.exit(run_parts("perturbation.py", "Perturbation", PARTS, measure.one_of(RUN), __doc__))
