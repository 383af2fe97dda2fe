"""Protected perturbations of random tables against an oracle, and the oracle against others; in full: benchmarks/perturbation.py."""

import numpy as np
import perturbation_check
import pytest
from least_perturbation import figure_3, intervals
from random_perturbations import random_case
from scipy.optimize import Bounds, LinearConstraint, linprog, milp

SEEDS = range(60)


@pytest.mark.parametrize("first", SEEDS[::10])
def test_the_least_protected_perturbation_is_found(first):
    assert [line for seed in range(first, first + 10) for line in perturbation_check.check(seed)] == []


def test_the_cases_are_not_the_easy_ones():
    seen = perturbation_check.summary(SEEDS, product=False)
    assert seen.count["violated by the least perturbation"] > 0.1 * seen.count["requirements"] > 10
    assert seen.count["levels make dearer"] > 10
    assert seen.by["status"]["infeasible"] > 5
    assert len(seen.by["knowledge"]) == 6


# ---- the oracle against other programs ---------------------------------------------------------------------------------------------------------


def dense(problem):
    out = np.zeros((len(problem.grid.rows), len(problem.grid.a)))
    for j, (_, cells, coefs) in enumerate(problem.grid.rows):
        np.add.at(out[j], cells, coefs)
    return out, np.array([rhs for rhs, _, _ in problem.grid.rows], float)


def floats(bounds, none):
    return np.array([none if bound is None else bound for bound in bounds], float)


def by_integer_program(problem):
    """The least cost between multiples under ``strict``: a 0–1 column for each end that a cell may sit on, two tables for each requirement."""
    matrix, right = dense(problem)
    n, eye = len(problem.grid.a), np.eye(len(problem.grid.a))
    low, high = (np.array(ends, float) for ends in zip(*problem.ends, strict=True))
    box = [np.array(ends, float) for ends in zip(*problem.box, strict=True)]
    base = np.array(problem.grid.base, float) * ~np.array(problem.grid.fixed)
    asked = [(spy, p, level) for spy in problem.spies for p, level in problem.asked(spy).items()]
    # Columns: v, on the lower multiple, on the upper one, then two tables a requirement.
    width = n * (3 + 2 * len(asked))
    least, most = np.zeros(width), np.ones(width)
    least[:n], most[:n] = box
    most[n : 2 * n], most[2 * n : 3 * n] = box[0] == low, box[1] == high
    whole = np.zeros(width)
    whole[n : 3 * n] = 1
    rows = []

    def add(blocks, lower, upper):
        count = len(next(iter(blocks.values())))
        row = np.zeros((count, width))
        for at, block in blocks.items():
            row[:, at : at + n] = block
        rows.append(LinearConstraint(row, np.broadcast_to(lower, count), np.broadcast_to(upper, count)))

    add({0: matrix}, right, right)
    add({0: eye, n: np.diag(high - low)}, -np.inf, high)
    add({0: eye, 2 * n: -np.diag(high - low)}, low, np.inf)
    # A multiple sits on both ends, and so widens to both sides.
    add({n: eye, 2 * n: eye}, -np.inf, np.where(low == high, 2, 1))
    for k, (spy, p, (lpl, upl, spl)) in enumerate(asked):
        below, above = n * (3 + 2 * k), n * (4 + 2 * k)
        for at in (below, above):
            add({at: matrix}, right, right)
            add({at: eye, n: np.diag(base)}, low, np.inf)
            add({at: eye, 2 * n: -np.diag(base)}, -np.inf, high)
            lower, upper = problem.bounds(spy)
            least[at : at + n], most[at : at + n] = floats(lower, -np.inf), floats(upper, np.inf)
        most[below + p] = min(most[below + p], problem.grid.a[p] - lpl)
        least[above + p] = max(least[above + p], problem.grid.a[p] + upl)
        add({below: -eye[[p]], above: eye[[p]]}, spl, np.inf)
    if (least > most).any():
        return None
    cost = np.zeros(width)
    cost[:n] = [slope for _, slope in problem.linear]
    found = milp(
        cost,
        integrality=whole,
        bounds=Bounds(least, most),
        constraints=rows,
        options={"mip_rel_gap": 0},
    )
    assert found.status in (0, 2), found.message
    return None if found.status == 2 else (found.fun + sum(constant for constant, _ in problem.linear)) / problem.unit


@pytest.mark.parametrize("first", range(200, 500, 50))
def test_choices_of_ends_agree_with_an_integer_program(first):
    compared = 0
    for case in map(random_case, range(first, first + 50)):
        if case.problem.jumps and case.truth.violated:
            expected = by_integer_program(case.problem)
            assert (case.truth.cost is None) == (expected is None), case.seed
            assert expected is None or float(case.truth.cost) == pytest.approx(expected, rel=1e-6, abs=1e-6), case.seed
            compared += 1
    assert compared > 5


def test_exact_and_floating_programs_agree():
    for case in map(random_case, range(100, 160)):
        program, _ = figure_3(case.problem)
        if len(program.lower) <= 250:
            exactly, by_highs = (program.least(exactly=way) for way in (True, False))
            assert (exactly is None) == (by_highs is None), case.seed
            assert exactly is None or float(exactly) == pytest.approx(float(by_highs), rel=1e-7, abs=1e-7), case.seed


def test_intervals_agree_with_plain_programs():
    for case in map(random_case, range(60)):
        problem = case.problem
        matrix, right = dense(problem)
        program, _ = figure_3(problem, levels=False)
        v = program.vertex()[1][: len(problem.grid.a)]
        lo, hi = problem.told(v)
        for spy in problem.spies:
            lower, upper = problem.bounds(spy)
            ends = np.column_stack(
                (
                    np.maximum(np.array(lo, float), floats(lower, -np.inf)),
                    np.minimum(np.array(hi, float), floats(upper, np.inf)),
                )
            )
            cells = problem.sensitive[:2]
            for i, interval in zip(cells, intervals(problem, spy, v, cells), strict=True):
                for sign, end in zip((1, -1), interval, strict=True):
                    cost = np.zeros(len(v))
                    cost[i] = sign
                    found = linprog(cost, A_eq=matrix, b_eq=right, bounds=ends)
                    assert sign * found.fun == pytest.approx(float(end), abs=1e-6), (case.seed, spy.name, i)
