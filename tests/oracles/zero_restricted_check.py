"""Cellward's zero-restricted roundings beside the brute force: status, sums, multiples, objective, bound and release."""

from __future__ import annotations

from collections.abc import Callable, Iterable
from dataclasses import dataclass
from fractions import Fraction

from random_tables import random_case
from tally import Tally
from zero_restricted import Answer, Case, brute_force, equations, neighbours, whole_weights

import cellward as cw
from cellward.protect.lattice.flow_in_worker import FlowInWorker
from cellward.protect.lattice.staged_flow import StagedFlow
from cellward.protect.lattice.vertex import VertexThenBlocks


@dataclass(frozen=True)
class Trial:
    """One case solved twice: the truth, the engine cellward took, and what is wrong with its answer (None: nothing)."""

    answer: Answer
    engine: str
    fault: str | None


class RoundingByFlow(cw.ControlledRounding):
    """Every network is sent to the flow solver, whatever its size."""

    engines = (StagedFlow(fewest=0), FlowInWorker(fewest=0), VertexThenBlocks())


def compare(case: Case, *, flow: bool = False) -> str | None:
    """None when cellward and the brute force agree; otherwise what differs, in a line. ``flow`` sends every network to the flow solver."""
    return solve_both_ways(case, flow=flow).fault


def solve_both_ways(case: Case, *, flow: bool = False) -> Trial:
    """The truth and cellward's answer, compared."""
    answer = brute_force(case)
    method = RoundingByFlow if flow else cw.ControlledRounding
    try:
        p = method(case.base).protect(case.table, weights=case.weights)
        engine, fault = p.engine, _fault(case, answer, p)
    except cw.InputError as error:
        as_meant = answer.status == "refused" and "the grid of its bases" in str(error)
        engine, fault = "refused", None if as_meant else f"InputError where {answer.status} is true: {error}"
    except Exception as error:  # noqa: BLE001 (whatever it is, it is what we look for, and the other cases go on)
        engine, fault = "crash", f"{type(error).__name__} where {answer.status} is true: {error}"
    return Trial(answer, engine, fault and f"seed {case.seed}, {case.kind}, {engine}: {fault}")


def _fault(case: Case, answer: Answer, p: cw.Protection) -> str | None:
    """What is wrong with a Protection, judged by the brute force's own reading of the table."""
    if p.status != answer.status:
        found = f"objective {p.objective}, bound {p.bound}" if p.values is not None else p.reason
        return f"{p.status} ({found}) where {answer.status} is true (objective {answer.objective})"
    if p.status != "optimal":
        return None if p.values is None and p.reason else "infeasible, but with values or without a reason"
    v, a = p.scaled.tolist(), case.table.scaled.tolist()
    for j, (rhs, members, coefs) in enumerate(equations(case.table)):
        if sum(c * v[i] for i, c in zip(members, coefs, strict=True)) != rhs:
            return f"equation {j} is missed"
    for i, own in enumerate(neighbours(case)):
        if v[i] not in own:
            return f"cell {i} is {v[i]}, not one of {own}"
    weight, weight_unit = whole_weights(case)
    cost = Fraction(sum(w * abs(x - y) for w, x, y in zip(weight, v, a, strict=True)), weight_unit)
    stated = Fraction(p.objective_scaled, 10**p.instance.weight_decimals)
    if not cost == stated == answer.objective * 10**case.table.decimals:
        return f"objective stated {stated}, of its values {cost}, least {answer.objective} (·10^{case.table.decimals})"
    if p.sought.bound != p.objective_scaled or p.bound != p.objective or p.gap != 0:
        return f"optimal with bound {p.bound} under objective {p.objective}"
    if p.release().publication.v.tolist() != v:
        return "the release differs from the protected values"
    return None


def summary(seeds: Iterable[int], *, flow: bool = False, tell: Callable[[str], None] | None = None) -> Tally:
    """What these seeds show; ``flow`` sends every network to the flow solver, ``tell`` takes the differences as they come."""
    seen = Tally()
    for seed in seeds:
        case = random_case(seed)
        trial = solve_both_ways(case, flow=flow)
        seen.count["tables"] += 1
        seen.by["kind"][case.kind, trial.answer.status] += 1
        seen.by["engine"][trial.engine, trial.answer.status] += 1
        seen.differ([trial.fault] if trial.fault else [], tell)
    return seen
