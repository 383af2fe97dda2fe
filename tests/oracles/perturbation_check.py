"""Cellward's protected perturbations of random tables beside the least ones: status, objective, bound, intervals, protection, certificate."""

from __future__ import annotations

import math
from collections import Counter
from collections.abc import Callable, Iterable, Iterator
from fractions import Fraction

from least_perturbation import (
    Problem,
    Values,
    exists_in_decimals,
    exists_on_grid,
    intervals,
    least_cost,
    left,
    missed,
)
from random_perturbations import Case, random_case
from tally import Tally

import cellward as cw

WHOLLY_AUDITED = 4
"""The intervals of all cells are compared in one case of so many, those of the cells with levels in the others."""
CLOSE = Fraction(1, 10**6)
"""Objectives are compared to this difference, relative where they exceed 1."""


def check(seed: int) -> list[str]:
    """What differs between cellward and the oracle, in a line each."""
    return differences(random_case(seed))


def differences(case: Case, seen: Counter[str] | None = None) -> list[str]:
    """The same of a case; ``seen`` counts what was compared."""
    problem, found = case.problem, case.truth
    seen = Counter() if seen is None else seen
    try:
        if problem.too_near:
            seen["refused: too near"] += 1
            return _refusal(case)
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


def _refusal(case: Case) -> list[str]:
    """What is wrong where the levels leave too little to draw from: that it is protected all the same."""
    try:
        p = case.protect()
    except cw.InputError as error:
        return [] if "is too near to the levels of" in str(error) else [f"seed {case.seed}: {error}"]
    single = p.status == "infeasible" and p.engine == "levels of single cells"  # no distance could meet them
    return [] if single else [f"seed {case.seed}: {p.status}, though levels leave too little to draw from"]


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
    elif p.protected is not False and p.release().publication.v.tolist() != p.scaled.tolist():
        yield "the release differs from the protected values"


def _without_values(case: Case, p: cw.Protection, seen: Counter[str]) -> Iterator[str]:
    """What is wrong with an answer without values: there is a table after all, or no reason is given."""
    problem = case.problem
    if not p.reason:
        yield f"{p.status} without a reason"
    if case.truth.status == "infeasible" and p.status == "infeasible":
        return
    if p.status == "failed" and coarse(problem):
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
    """What is wrong with the objective and the bound; cells whose values are drawn are taken from the answer."""
    problem, unit = case.problem, 10**case.table.decimals
    cost, best = problem.cost(v) / unit, case.truth.cost
    stated = Fraction(p.objective_scaled) / 10 ** (p.instance.decimals + p.instance.weight_decimals)
    if stated != cost:
        yield f"objective {float(stated)} stated, {float(cost)} of its values"
    if problem.form == "distance":
        for i in problem.held:
            low, high = left(problem, i)
            if not low <= v[i] <= high:
                yield f"cell {i} is {float(v[i])}, and its levels leave it {low} to {high}"
                return
        best = least_cost(problem, held={i: (math.floor(v[i]), math.ceil(v[i])) for i in problem.held})
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


def summary(seeds: Iterable[int], *, product: bool = True, tell: Callable[[str], None] | None = None) -> Tally:
    """What these seeds show; ``product``: with cellward's answers, ``tell`` takes the differences as they come."""
    seen = Tally()
    for seed in seeds:
        case = random_case(seed)
        problem, found = case.problem, case.truth
        seen.count["tables"] += 1
        seen.count["requirements"] += found.requirements
        seen.count["violated by the least perturbation"] += found.violated
        seen.count["tables whose least perturbation violates"] += found.violated > 0
        seen.count["levels make dearer"] += found.cost is not None and found.cost > found.least + CLOSE
        seen.count["optima with fractions"] += found.fractional
        seen.count["on a grid"] += case.grid is not None
        seen.by["kind"][case.kind] += 1
        seen.by["knowledge"][f"{problem.form}, {problem.knowledge}, {problem.objective}"] += 1
        seen.by["status"][found.status] += 1
        if product:
            seen.differ(differences(case, seen.by["answer"]), tell)
    return seen
