"""Search: a safe pattern by closing cells one by one, the dearest first, as long as every level still holds; a bound by cuts of single equations."""

from __future__ import annotations

from dataclasses import replace

import numpy as np

from cellward.audit.evidence import Evidence, show_levels
from cellward.exact import NO_BOUND, Bools
from cellward.instance import Instance
from cellward.protect.suppression.problem import CapacityCut, Pattern, SuppressionProblem
from cellward.publication.withheld import Withheld
from cellward.solve.budget import Budget

ENGINE = "cells closed one by one"
SCALE = 10**6
"""Weights of cuts are whole numbers over this."""


def search(problem: SuppressionProblem, budget: Budget) -> Pattern:
    """A safe pattern from which no single cell can be taken."""
    judged = _judged(problem)
    withheld = problem.candidate | problem.forced
    evidence = _shown(judged, withheld, budget)
    if evidence.missing:
        if evidence.unsettled:
            return Pattern("unknown", ENGINE)
        return Pattern("infeasible", ENGINE, cuts=_bound(problem)[0], reason=evidence.missing[0])
    moved = _moved(evidence, problem.instance.cells)
    for i in sorted(np.flatnonzero(withheld & ~problem.forced).tolist(), key=lambda i: (-int(problem.cost[i]), i)):
        if budget.over:
            break
        withheld[i] = False
        if moved[i]:
            tried = _shown(judged, withheld, budget)
            if tried.missing:
                withheld[i] = True
            else:
                moved = _moved(tried, problem.instance.cells)
    cuts, weights, bound = _bound(problem)
    cost = int(problem.cost[withheld].sum())
    status = "optimal" if bound == cost else "feasible"
    return Pattern(status, ENGINE, withheld, bound, cuts, weights, SCALE)  # type: ignore[arg-type]


def _judged(problem: SuppressionProblem) -> Instance:
    """The instance with the levels that count."""
    if not problem.exact_only:
        return problem.instance
    bare = problem.instance.sensitivity.without_levels()
    attackers = tuple(replace(one, levels=None, sums=None) for one in problem.instance.attackers)
    return replace(problem.instance, sensitivity=bare, attackers=attackers)


def _shown(instance: Instance, withheld: Bools, budget: Budget) -> Evidence:
    return show_levels(instance, Withheld.of(instance.a, np.flatnonzero(withheld)), budget.part())


def _moved(evidence: Evidence, cells: int) -> Bools:
    """The cells that some witness moves: closing another leaves every witness."""
    moved = np.zeros(cells, bool)
    for one in evidence.shown:
        moved |= one.witness.shift != 0
    return moved


def _bound(problem: SuppressionProblem) -> tuple[tuple[CapacityCut, ...], tuple[int, ...], int]:
    """Cuts of single equations, each given as much weight as the costs that are left allow."""
    instance, cuts, weights, bound = problem.instance, [], [], 0
    if problem.exact_only:
        return (), (), 0
    r, left = instance.relations, problem.cost * SCALE
    of_cell: dict[int, list[int]] = {}
    for entry, i in enumerate(r.indices.tolist()):
        of_cell.setdefault(i, []).append(entry)
    row = r.row.tolist()
    free = problem.candidate & ~problem.forced
    for k, attacker in enumerate(instance.attackers):
        lo, hi = attacker.narrow(instance.lower, instance.upper)
        asked = attacker.asked(instance.sensitivity.levels)
        for p, lpl, upl in zip(asked.cell.tolist(), asked.lpl.tolist(), asked.upl.tolist(), strict=True):
            for entry in of_cell.get(p, []):
                j, own = row[entry], int(r.coefs[entry])
                if abs(own) != 1:
                    continue
                _, members, coefs = r.equation(j)
                for sense, level, way in (("up", upl, -own), ("down", lpl, own)):
                    row_of, least = {}, level
                    for i, coef in zip(members, coefs, strict=True):
                        if i == p:
                            continue
                        end, c = (hi, way * coef) if way * coef > 0 else (lo, way * coef)
                        room = (
                            NO_BOUND if abs(int(end[i])) == NO_BOUND else abs(c) * abs(int(end[i]) - int(instance.a[i]))
                        )
                        if problem.forced[i]:
                            least -= room
                        elif free[i] and room:
                            row_of[i] = room
                    if least <= 0:
                        continue
                    capped = {i: min(room, least) for i, room in row_of.items()}
                    weight = min((int(left[i]) // coef for i, coef in capped.items()), default=1)
                    if weight:
                        for i, coef in capped.items():
                            left[i] -= weight * coef
                        bound += weight * least
                        cuts.append(CapacityCut(k, p, sense, ((j, way),), 1))
                        weights.append(weight)
    return tuple(cuts), tuple(weights), -(-bound // SCALE)
