"""Cellward's protected roundings of random tables beside the least ones: status, steps, sums, objective, protection and certificate."""

from __future__ import annotations

from collections.abc import Callable, Iterable, Iterator
from dataclasses import replace
from fractions import Fraction

from least_rounding import Problem, Truth, missed, truth
from random_roundings import Case, random_case
from spies import Spy
from tally import Tally

import cellward as cw

CERTIFIED = 9
"""The certificate of one answer in so many is checked; no factor in common with the number of kinds, so that all kinds have their turn."""


def check(seed: int, *, ignore_levels: bool = False) -> list[str]:
    """What differs between cellward and the oracle, in a line each."""
    return differences(random_case(seed), ignore_levels=ignore_levels)


def differences(case: Case, *, ignore_levels: bool = False) -> list[str]:
    """The same of a case; ``ignore_levels``: of the rounding without a look at the levels."""
    problem = case.problem
    asked = replace(problem, levels={}, spies=[Spy("external")]) if ignore_levels else problem
    found = truth(asked) if ignore_levels else case.truth
    ladder = {"max_steps": problem.max_steps} if problem.max_steps > 1 else {}
    try:
        method = cw.ControlledRounding(case.base, knowledge=problem.knowledge, ignore_levels=ignore_levels, **ladder)
        p = method.protect(case.table, attackers=case.attackers, weights=case.weights)
        faults = list(_faults(case, asked, found, p))
    except cw.InputError as error:
        as_meant = found.status == "refused" and "the grid of its bases" in str(error)
        faults = [] if as_meant else [f"InputError: {error}"]
    except Exception as error:  # noqa: BLE001 (whatever it is, it is what we look for, and the other cases go on)
        faults = [f"{type(error).__name__}: {error}"]
    steps = f"{problem.max_steps} steps at most"
    head = f"seed {case.seed}, {case.kind}, {problem.knowledge}, {steps}, {found.status} (steps {found.steps}, cost {found.cost})"
    return [f"{head}: {fault}" for fault in faults]


def _faults(case: Case, asked: Problem, found: Truth, p: cw.Protection) -> Iterator[str]:
    """What is wrong with a Protection; ``asked`` is the problem that it was to solve, ``case.problem`` has the levels."""
    if p.status != found.status:
        yield f"{p.status} ({p.reason or p.objective})"
    if p.scaled is None:
        return
    grid, v, s = asked.grid, tuple(p.scaled.tolist()), int(p.method["steps"])
    if found.status == "optimal" and s != found.steps:
        yield f"{s} steps"
    if outside := [i for i, own in enumerate(grid.choices(s)) if v[i] not in own]:
        yield f"cells {outside} are no multiples less than {s} steps away"
    for j, (rhs, cells, coefs) in enumerate(grid.rows):
        if sum(c * v[i] for i, c in zip(cells, coefs, strict=True)) != rhs:
            yield f"equation {j} is missed"
    cost = Fraction(sum(w * abs(x - y) for w, x, y in zip(grid.weight, v, grid.a, strict=True)), grid.weight_unit)
    stated = Fraction(p.objective_scaled, 10**p.instance.weight_decimals)
    if stated != cost or (p.status == "optimal" and cost != found.cost):
        yield f"objective {stated} stated, {cost} of its values"
    fails = missed(case.problem, v, s)
    protected = None if not case.problem.asks else not p.ignore_levels and not fails
    if p.protected is not protected:
        yield f"protected is {p.protected}, and these requirements fail: {fails}"
    if p.status == "optimal" and fails and not p.ignore_levels:
        yield f"these requirements fail: {fails}"
    if case.seed % CERTIFIED == 0 and not (verdict := p.certificate().check()):
        yield f"the certificate does not hold: {verdict.reason}"


def summary(seeds: Iterable[int], *, product: bool = True, tell: Callable[[str], None] | None = None) -> Tally:
    """What these seeds show; ``product``: with cellward's answers, ``tell`` takes the differences as they come."""
    seen = Tally()
    for seed in seeds:
        case = random_case(seed)
        found = case.truth
        seen.count["tables"] += 1
        seen.count["requirements"] += found.requirements
        seen.count["violated by the least rounding"] += found.violated
        seen.count["tables whose least rounding violates"] += found.violated > 0
        seen.count["levels make dearer"] += found.cost is not None and found.cost != found.least
        seen.count["infeasible"] += found.status == "infeasible"
        seen.count["infeasible by levels alone"] += found.status == "infeasible" and found.least is not None
        seen.by["kind"][case.kind] += 1
        seen.by["knowledge"][case.problem.knowledge] += 1
        seen.by["steps"][f"{found.steps or 'none'} of {case.problem.max_steps}"] += 1
        seen.by["status"][found.status] += 1
        if product:
            seen.differ(differences(case), tell)
    return seen
