"""Random perturbations: small tables with protection levels and attackers, and cellward's perturbations of them beside the least ones.

The oracle (least_perturbation.py) reads a table's integers and equations and shares nothing else with the package.

    python benchmarks/random_perturbations.py --cases 500 --start 0

Legend: a true values, v a perturbation, y a table that an attacker must still think possible; amounts are in scaled units of the table.
"""

from __future__ import annotations

import argparse
import hashlib
import itertools
import math
import sys
import time
from collections import Counter
from collections.abc import Callable, Iterable, Iterator
from dataclasses import dataclass, replace
from decimal import Decimal
from fractions import Fraction
from functools import cached_property
from random import Random
from typing import Any

import numpy as np
import random_roundings as roundings
import random_tables
from least_perturbation import (
    End,
    Form,
    Knowledge,
    Objective,
    Problem,
    Program,
    Truth,
    Values,
    ends_exist,
    exists_in_decimals,
    exists_on_grid,
    intervals,
    least_cost,
    left,
    missed,
    truth,
)
from random_roundings import Level, Spy, TooManyError

import cellward as cw
from cellward.table.sensitivity import Sensitivity

KINDS = (
    "2-D",
    "hierarchical",
    "3-D",
    "equations",
    "2-D, mixed bases",
    "overlapping",
    "coefficients",
    "linked",
    "2×2×2",
    "levels",
)
"""``levels``: one base (or distance) a level of sums."""
PAPER, DISTANCE, NEAREST, ON_GRID = 0.5, 0.35, 0.3, 0.2
"""Shares of the cases whose attackers read as the paper's do; that stay within a distance; that aim at the nearest multiple; on a grid."""
MOST_CELLS = 40
KEPT_PLAIN = 0.35
"""Share of the cases whose least perturbation without levels may keep all of them."""
FRACTIONAL = {"coefficients": 0.5, "3-D": 0.3, "2×2×2": 0.5, "equations": 0.3}
"""Shares of the cases that are to have an optimum with fractions of a unit; elsewhere they are rare."""
WITHOUT = 0.06
"""Share of the cases without any level."""
PATIENCE = 30
"""Draws until a case is taken that is not quite what was wanted."""
WHOLLY_AUDITED = 4
"""The intervals of all cells are compared in one case of so many, those of the cells with levels in the others."""
CLOSE = Fraction(1, 10**6)
"""Objectives are compared to this difference, relative where they exceed 1."""


# ---- generator -----------------------------------------------------------------------------------------------------------------------------------


@dataclass(frozen=True, eq=False)
class Case:
    """A problem, and the same for cellward: ``case.method().protect(case.table, attackers=case.attackers, weights=case.weights, key=case.key)``."""

    seed: int
    kind: str
    problem: Problem
    table: cw.Table
    amount: Any
    weights: Any
    grid: int | None

    @cached_property
    def truth(self) -> Truth:
        return truth(self.problem)

    @property
    def attackers(self) -> list[cw.Attacker]:
        return [roundings._attacker(self.table, spy) for spy in self.problem.spies]

    @property
    def key(self) -> bytes:
        return hashlib.sha256(f"random perturbation {self.seed}".encode()).digest()

    def method(self, **options: Any) -> Any:
        p = self.problem
        by_default = (p.form, p.objective) in (("base", "between"), ("distance", "distance"))
        options = {"knowledge": p.knowledge, "grid": self.grid, **options}
        if not by_default or self.seed % 2:
            options["objective"] = p.objective
        if p.form == "distance":
            return cw.CellPerturbation(None, within=self.amount, **options)
        return cw.CellPerturbation(self.amount, **options)

    def protect(self, **options: Any) -> cw.Protection:
        made: cw.Protection = self.method(**options).protect(
            self.table, attackers=self.attackers, weights=self.weights, key=self.key
        )
        return made


def random_case(seed: int) -> Case:
    """The case of this seed, the same on every machine; seeds run through the kinds in turn."""
    rng, kind = Random(seed), KINDS[seed % len(KINDS)]
    form: Form = "distance" if rng.random() < DISTANCE else "base"
    knowledge: Knowledge = "paper" if rng.random() < PAPER else "strict"
    objective: Objective = "distance" if form == "distance" else "nearest" if rng.random() < NEAREST else "between"
    on_grid, plain, fractional = (rng.random() < share for share in (ON_GRID, KEPT_PLAIN, FRACTIONAL.get(kind, 0)))
    for attempt in itertools.count():
        drawn, amount = _drawn(rng, kind, form)
        if drawn.table.cells > MOST_CELLS or (on_grid and drawn.table.decimals and attempt < PATIENCE):
            continue
        unsafe = frozenset(drawn.table.sensitivity.unsafe.tolist())
        problem = _asked(rng, Problem(roundings._read(drawn), form, knowledge, objective, unsafe=unsafe))
        table = roundings._with_levels(drawn.table, problem.levels)
        step = 1 if on_grid and not table.decimals else None
        case = Case(seed, kind, problem, table, amount, drawn.weights, step)
        try:
            found = case.truth
        except TooManyError:
            continue
        wanted = (plain or found.violated or not problem.asks) and (found.fractional or not fractional)
        if wanted or attempt > PATIENCE:
            return case
    raise AssertionError("unreachable")


def _drawn(rng: Random, kind: str, form: Form) -> tuple[random_tables.Case, Any]:
    """A table of the other generators with its bases or distances, and these as a user gives them; some cells of it are fixed or at risk."""
    if kind in random_tables.KINDS:
        number = random_tables.KINDS.index(kind)
        drawn = random_tables.random_case(rng.randrange(10**6) * len(random_tables.KINDS) + number)
    else:
        drawn = roundings._table(rng, rng.choice(("2-D", "3×2×2", "hierarchical")) if kind == "levels" else kind)
    table = drawn.table
    table = table.with_sensitivity(replace(Sensitivity.none(table.cells), status=table.sensitivity.status))
    amount: Any = drawn.base
    typical = int(max(Fraction(str(b)) for b in np.atleast_1d(np.array(amount, object))) * 10**table.decimals)

    def units(scaled: int) -> Any:
        return Decimal(scaled).scaleb(-table.decimals) if table.decimals else scaled

    def some() -> Any:
        return units(rng.randint(1, typical))

    if kind == "levels":
        amount = {
            level: some() if form == "distance" else units(rng.randint(2, 10)) for level in range(rng.randint(1, 3))
        }
        each = [amount[min(level, len(amount) - 1)] for level in table.relations.height.tolist()]
    elif form == "distance":
        each = [some()] * table.cells if rng.random() < 0.6 else [some() for _ in range(table.cells)]
        amount = each[0] if len(set(each)) == 1 else each
    else:
        each = amount
    return replace(drawn, table=table, base=each), amount


def _asked(rng: Random, problem: Problem) -> Problem:
    """Attackers, and levels that each cell can meet on its own: by its own choice, or all by those of one table."""
    grid = problem.grid
    movable = [i for i, (low, high) in enumerate(problem.ends) if low < high]
    stuck = [i for i, fixed in enumerate(grid.fixed) if not fixed and i not in movable]
    eligible = movable + [i for i in stuck if problem.jumps and rng.random() < 0.1]
    many = 0 if rng.random() < WITHOUT else rng.choice((1, 1, 2, 2, 3, 4))
    cells = rng.sample(eligible, min(len(eligible), many))
    spies = [replace(spy, whole=False) for spy in roundings._spies(rng, grid, 1, cells)]
    problem = replace(problem, spies=spies)
    way, v = rng.choice(("cell", "table", "table", "interval", "interval")), _some_table(rng, problem)
    levels: dict[int, Level] = {}
    own: dict[str, dict[int, Level]] = {spy.name: {} for spy in spies if spy.levels is not None}
    for i in cells:
        if way == "cell":
            low, high = problem.box[i]
            v[i] = Fraction(rng.choice((low, high)) if rng.random() < 0.7 else rng.randint(low, high))
        rooms = {spy.name: _room(problem, spy, v, i, alone=way != "interval") for spy in spies if not spy.knows(i)}
        shared = [room for name, room in rooms.items() if name not in own]
        if shared:
            levels[i] = roundings._level(rng, min(below for below, _ in shared), min(above for _, above in shared))
        for name, mine in own.items():
            if name in rooms and rng.random() < 0.8:
                mine[i] = roundings._level(rng, *rooms[name])
            elif rng.random() < 0.3:
                mine[i] = (1, 1, 1)  # of a cell it knows, nothing can be kept; of another, a little
    return replace(
        problem,
        levels=levels,
        spies=[replace(spy, levels=own[spy.name]) if spy.name in own else spy for spy in spies],
    )


def _some_table(rng: Random, problem: Problem) -> list[Fraction]:
    """A vertex of all perturbations."""
    n = len(problem.grid.a)
    ends = problem.box
    costs = {i: rng.randint(-9, 9) for i in range(n)}
    found = Program([low for low, _ in ends], [high for _, high in ends], list(problem.grid.rows), costs).vertex()
    assert found is not None, "a itself is a perturbation"
    return found[1][:n]


def _room(problem: Problem, spy: Spy, v: list[Fraction], i: int, *, alone: bool) -> tuple[int, int]:
    """How far below and above a the values of cell i reach that this spy must think possible; ``alone``: other cells left aside."""
    low: End
    high: End
    if alone:
        low, high = (ends[i] for ends in problem.told(v))
        lower, upper = (ends[i] for ends in problem.bounds(spy))
        low, high = (
            low if lower is None else max(low, Fraction(lower)),
            high if upper is None else min(high, Fraction(upper)),
        )
    else:
        ((low, high),) = intervals(problem, spy, v, [i])
    assert low is not None
    assert high is not None
    return math.floor(problem.grid.a[i] - low), math.floor(high - problem.grid.a[i])


# ---- comparison ----------------------------------------------------------------------------------------------------------------------------------


def check(seed: int) -> list[str]:
    """What differs between cellward and the oracle, in a line each."""
    return differences(random_case(seed))


def differences(case: Case, seen: Counter[str] | None = None) -> list[str]:
    """The same of a case; ``seen`` counts what was compared."""
    problem, found = case.problem, case.truth
    seen = Counter() if seen is None else seen
    try:
        faults = list(_faults(case, case.protect(), seen))
        if (
            problem.form == "base"
            and problem.knowledge == "paper"
            and problem.objective == "between"
            and case.grid is None
        ):
            faults += _beside_rounding(case, seen)
    except Exception as error:  # noqa: BLE001 (whatever it is, it is what we look for, and the other cases go on)
        faults = [f"{type(error).__name__}: {error}"]
    cost = None if found.cost is None else float(found.cost)
    grid = "" if case.grid is None else f", grid {case.grid}"
    said = f"{problem.form}, {problem.knowledge}, {problem.objective}{grid}"
    return [f"seed {case.seed}, {case.kind}, {said}, {found.status} (cost {cost}): {fault}" for fault in faults]


def _faults(case: Case, p: cw.Protection, seen: Counter[str]) -> Iterator[str]:
    """What is wrong with a Protection."""
    problem, grid = case.problem, case.problem.grid
    seen[p.status] += 1
    if p.scaled is None:
        yield from _without_values(case, p, seen)
        return
    dearer = p.status == "feasible" and case.grid is None
    if dearer and not coarse(problem):
        yield f"feasible only, objective {p.objective}, bound {p.bound}, {p.reason}"
    seen["dearer in decimals, coefficients beyond ±1"] += dearer
    finer = 10 ** (p.instance.decimals - case.table.decimals)
    v = [Fraction(x, finer) for x in p.scaled.tolist()]
    seen["with more decimals"] += any(x.denominator > 1 for x in v)
    if outside := [i for i, (low, high) in enumerate(problem.box) if not low <= v[i] <= high]:
        yield f"cells {outside} are outside of what is allowed"
        return
    if case.grid is not None and (off := [i for i, x in enumerate(v) if x % case.grid]):
        yield f"cells {off} are not on the grid"
    for j, (rhs, cells, coefs) in enumerate(grid.rows):
        if sum(c * v[i] for i, c in zip(cells, coefs, strict=True)) != rhs:
            yield f"equation {j} is missed"
    if not dearer:
        yield from _cost(case, p, v)
    fails = missed(problem, v)
    protected = None if not problem.asks else not fails
    if p.protected is not protected:
        yield f"protected is {p.protected}, and these requirements fail: {fails}"
    elif fails:
        yield f"these requirements fail: {fails}"
    yield from _intervals_differ(case, p, v, seen)
    if not (verdict := p.certificate().check()):
        yield f"the certificate does not hold: {verdict.reason}"
    elif p.protected is not False and p.release().scaled.tolist() != p.scaled.tolist():
        yield "the release differs from the protected values"


def _without_values(case: Case, p: cw.Protection, seen: Counter[str]) -> Iterator[str]:
    """What is wrong with an answer without values: there is a table after all, or no reason is given."""
    problem = case.problem
    if not p.reason:
        yield f"{p.status} without a reason"
    if case.truth.status == "infeasible" and p.status == "infeasible":
        return
    if p.status == "infeasible" and problem.form == "distance":
        if ends_exist(problem):
            yield f"infeasible ({p.reason}), but some ends of {problem.held} will do"
        seen["infeasible by the ends that cells are held to"] += 1
    elif p.status == "failed" and coarse(problem):
        seen["none published, coefficients beyond ±1"] += 1
    elif case.grid is not None:
        if exists_on_grid(problem):
            yield f"{p.status} ({p.reason}), but there is a table on the grid"
        seen["none on the grid"] += 1
    elif p.status == "failed" and not exists_in_decimals(problem):
        seen["none with an end of decimals"] += 1
    else:
        yield f"{p.status} ({p.reason})"


def coarse(problem: Problem) -> bool:
    """Whether some coefficient is not ±1: the optimum, and all there is near it, may then need thirds, which have no end of decimals."""
    return any(abs(c) > 1 for _, _, coefs in problem.grid.rows for c in coefs)


def _slack(best: Fraction) -> Fraction:
    return CLOSE * max(Fraction(1), abs(best))


def _cost(case: Case, p: cw.Protection, v: Values) -> Iterator[str]:
    """What is wrong with the objective and the bound; cells held to an end are taken from the answer."""
    problem, unit = case.problem, 10**case.table.decimals
    cost, best = problem.cost(v) / unit, case.truth.cost
    stated = Fraction(p.objective_scaled) / 10 ** (p.instance.decimals + p.instance.weight_decimals)
    if stated != cost:
        yield f"objective {float(stated)} stated, {float(cost)} of its values"
    if problem.form == "distance":
        away = {i: v[i] for i in problem.held if v[i] not in left(problem, i)}
        if away:
            own = {i: left(problem, i) for i in away}
            yield f"cells { ({i: float(x) for i, x in away.items()}) } are at neither end of {own}"
            return
        best = least_cost(problem, held={i: int(v[i]) for i in problem.held})
    if best is None:
        yield f"{p.status} with objective {p.objective}, but there is no such table"
        return
    best /= unit
    slack = _slack(best)
    if (case.grid is None or p.status == "optimal") and abs(cost - best) > slack:
        yield f"objective {float(cost)}, least {float(best)}"
    if p.bound is None:
        yield "no bound"
    elif abs(Fraction(p.bound) - best) > slack:
        yield f"bound {p.bound}, least {float(best)}"
    if cost < best - slack:
        yield f"objective {float(cost)} below the least, {float(best)}"


def _intervals_differ(case: Case, p: cw.Protection, v: Values, seen: Counter[str]) -> Iterator[str]:
    """Where the audit's intervals are not the oracle's."""
    wholly = case.seed % WHOLLY_AUDITED == 0
    cells = list(range(case.table.cells)) if wholly else case.problem.sensitive
    if not cells:
        return
    audited = p.audit(cells=cells)
    if audited.open or audited.claimed:
        yield f"the audit leaves {audited.open} intervals open, {audited.claimed} claimed"
        return
    unit = 10**case.table.decimals
    found = {
        (str(who), int(i)): ends
        for who, i, ends in zip(audited.intervals["attacker"], audited.intervals["cell"], audited.ends, strict=True)
    }
    for spy in case.problem.spies:
        for i, own in zip(cells, intervals(case.problem, spy, v, cells), strict=True):
            low, high = (None if end is None else Fraction(end) * unit for end in found[spy.name, i])
            seen["intervals"] += 1
            if (low, high) != own:
                yield f"{spy.name} narrows cell {i} to {own}, the audit says {(low, high)}"
                return


def _beside_rounding(case: Case, seen: Counter[str]) -> Iterator[str]:
    """The least protected rounding is a perturbation too: never cheaper, and never there without one."""
    try:
        r = cw.ControlledRounding(case.amount, knowledge="paper").protect(
            case.table, attackers=case.attackers, weights=case.weights
        )
    except cw.InputError:  # off the grid of its bases
        return
    best = case.truth.cost
    if r.scaled is None:
        seen["perturbed, not rounded"] += best is not None
        return
    seen["rounded as well"] += 1
    cost = Fraction(r.objective_scaled) / 10**r.instance.weight_decimals
    if best is None:
        yield f"no perturbation, but a rounding with {float(cost)}"
    elif cost < best - _slack(best):
        yield f"a rounding costs {float(cost)}, less than {float(best)}"
    elif cost > best + _slack(best):
        seen["cheaper than rounding"] += 1


# ---- many cases ----------------------------------------------------------------------------------------------------------------------------------


def summary(seeds: Iterable[int], *, product: bool = True, tell: Callable[[str], None] | None = None) -> dict[str, Any]:
    """Counts over these seeds; ``product``: with cellward's answers, ``tell`` takes the differences as they come."""
    count: Counter[str] = Counter()
    by: dict[str, Counter[Any]] = {name: Counter() for name in ("kind", "knowledge", "status", "answer")}
    found_differences: list[str] = []
    for seed in seeds:
        case = random_case(seed)
        problem, found = case.problem, case.truth
        count["tables"] += 1
        count["requirements"] += found.requirements
        count["violated by the least perturbation"] += found.violated
        count["tables whose least perturbation violates"] += found.violated > 0
        count["levels make dearer"] += found.cost is not None and found.cost > found.least + CLOSE
        count["optima with fractions"] += found.fractional
        count["on a grid"] += case.grid is not None
        by["kind"][case.kind] += 1
        by["knowledge"][f"{problem.form}, {problem.knowledge}, {problem.objective}"] += 1
        by["status"][found.status] += 1
        for line in differences(case, by["answer"]) if product else ():
            found_differences.append(line)
            if tell is not None:
                tell(line)
    share = count["violated by the least perturbation"] / max(count["requirements"], 1)
    return {
        **count,
        "share violated": share,
        **{f"by {k}": dict(c) for k, c in by.items()},
        "differences": found_differences,
    }


def main(arguments: list[str] | None = None) -> int:
    parser = argparse.ArgumentParser(
        description="Perturb random tables with levels by an oracle and by cellward, and compare."
    )
    parser.add_argument("--cases", type=int, default=500)
    parser.add_argument("--start", type=int, default=0, help="the first seed")
    parser.add_argument("--oracle", action="store_true", help="the oracle alone, without cellward's answers")
    options = parser.parse_args(arguments)
    began = time.perf_counter()

    def seeds() -> Iterator[int]:
        for k in range(options.cases):
            if k and k % 100 == 0:
                print(f"{k:,} cases in {time.perf_counter() - began:.0f} s", flush=True)
            yield options.start + k

    counts = summary(seeds(), product=not options.oracle, tell=lambda line: print(line, flush=True))
    wrong = counts.pop("differences")
    for name, value in counts.items():
        print(f"{name:42}{value:.1%}" if name == "share violated" else f"{name:42}{value}")
    seconds = time.perf_counter() - began
    print(f"{options.cases:,} cases in {seconds:.1f} s, {len(wrong)} differences")
    return 1 if wrong else 0


if __name__ == "__main__":
    sys.exit(main())
