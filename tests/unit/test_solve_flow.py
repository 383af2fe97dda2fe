"""Minimum-cost flow: agrees with brute force and with the LP, exact in integers, odd cases answered in a sentence."""

from __future__ import annotations

import itertools
import subprocess
import sys
from dataclasses import replace

import numpy as np
import pytest

from cellward.errors import SolverError
from cellward.solve.flow import FAILURES, STATUSES, residual, solve_flow
from cellward.solve.highs import solve_lp
from cellward.solve.model import FlowModel, LinearModel


def flow_of(arcs, supply):
    tail, head, capacity, cost = np.array(arcs, np.int64).reshape(-1, 4).T.copy()
    return FlowModel(tail=tail, head=head, capacity=capacity, cost=cost, supply=np.array(supply, np.int64))


def random_flow(seed, *, loops=False):
    """Four nodes, six arcs, some parallel, costs of either sign; every third with supplies nobody promised to meet."""
    rng = np.random.default_rng(seed)
    tail = rng.integers(0, 4, 6)
    head = rng.integers(0, 4, 6) if loops else (tail + rng.integers(1, 4, 6)) % 4
    capacity, cost = rng.integers(0, 3, 6), rng.integers(-4, 7, 6)
    supply = np.zeros(4, np.int64)
    if seed % 3:
        x = np.minimum(rng.integers(0, 3, 6), capacity)
        np.add.at(supply, tail, x)
        np.subtract.at(supply, head, x)
    else:
        supply[:] = [1, -1, 2, -2]
    return FlowModel(tail=tail, head=head, capacity=capacity, cost=cost, supply=supply)


def enumerated(model):
    costs = [
        int(model.cost @ np.array(x))
        for x in itertools.product(*(range(int(c) + 1) for c in model.capacity))
        if residual(model, np.array(x, np.int64)) == 0
    ]
    return min(costs, default=None)


def as_lp(model):
    order = np.argsort(np.concatenate([model.tail, model.head]), kind="stable")
    counts = np.bincount(np.concatenate([model.tail, model.head]), minlength=model.nodes)
    arcs = np.tile(np.arange(model.arcs), 2)
    signs = np.repeat([1.0, -1.0], model.arcs)
    supply = model.supply.astype(float)
    return LinearModel(
        cost=model.cost.astype(float),
        lower=np.zeros(model.arcs),
        upper=model.capacity.astype(float),
        indptr=np.concatenate([[0], np.cumsum(counts)]),
        indices=arcs[order],
        coefs=signs[order],
        row_lower=supply,
        row_upper=supply,
    )


@pytest.mark.parametrize("loops", [False, True])
@pytest.mark.parametrize("seed", range(18))
def test_agrees_with_enumeration(seed, loops):
    model = random_flow(seed, loops=loops)
    best = enumerated(model)
    outcome = solve_flow(model)
    if best is None:
        assert outcome.status == "infeasible" and outcome.x is None
    else:
        assert outcome.status == "optimal" and outcome.objective == outcome.bound == best
        assert residual(model, outcome.x.astype(np.int64)) == outcome.residual == 0
        assert int(model.cost @ outcome.x.astype(np.int64)) == best


def test_agrees_with_highs_in_the_same_process():
    n = 12
    rng = np.random.default_rng(0)
    tail, head = np.repeat(np.arange(n), n), n + np.tile(np.arange(n), n)
    x, supply = rng.integers(0, 2, n * n), np.zeros(2 * n, np.int64)
    np.add.at(supply, tail, x)
    np.subtract.at(supply, head, x)
    model = FlowModel(
        tail=tail, head=head, capacity=np.ones(n * n, np.int64), cost=rng.integers(1, 6, n * n), supply=supply
    )
    before, flow, after = solve_lp(as_lp(model)), solve_flow(model), solve_lp(as_lp(model))
    assert flow.status == before.status == "optimal"
    assert flow.objective == pytest.approx(before.objective) == after.objective
    assert flow.x.dtype == np.float64 and "OR-tools" in flow.solver


def test_no_arcs_and_no_nodes():
    assert solve_flow(flow_of([], [])).status == "optimal"
    still = solve_flow(flow_of([], [0, 0]))
    assert still.status == "optimal" and still.objective == 0 and len(still.x) == 0
    assert solve_flow(flow_of([], [1, -1])).status == "infeasible"


def test_isolated_nodes():
    arcs = [(0, 1, 5, 2)]
    assert solve_flow(flow_of(arcs, [3, -3, 0, 0])).objective == 6
    assert solve_flow(flow_of(arcs, [3, -3, 1, -1])).status == "infeasible"


def test_large_numbers_stay_exact():
    big = 2**40 + 1
    outcome = solve_flow(flow_of([(0, 1, big, 3), (0, 1, big, 5)], [big + 1, -big - 1]))
    assert outcome.x.tolist() == [big, 1] and outcome.objective == 3 * big + 5


def test_residual_is_exact_beyond_64_bits():
    half = 2**53
    arcs = [(0, 1, half, 0)] * 1030
    model = flow_of(arcs, [0, 0])
    assert residual(model, np.full(1030, half)) == 1030 * half
    with pytest.raises(SolverError, match="2\\^53"):
        residual(model, np.full(1030, half + 1))


def test_residual_sees_conservation_and_capacity():
    model = flow_of([(0, 1, 2, 0), (0, 1, 2, 0)], [2, -2])
    assert residual(model, np.array([1, 1])) == 0
    assert residual(model, np.array([2, 1])) == 1
    assert residual(model, np.array([5, -3])) == 3


@pytest.mark.parametrize(
    ("change", "sentence"),
    [
        ({"supply": np.array([1, 0])}, "sum to 1"),
        ({"capacity": np.array([-1])}, "negative capacity"),
        ({"head": np.array([2])}, "nodes 0 to 1"),
        ({"tail": np.array([-1])}, "nodes 0 to 1"),
        ({"cost": np.array([1, 2])}, "cost must be int64"),
        ({"cost": np.array([1.5])}, "cost must be int64"),
        ({"cost": np.array([2**62])}, "costs are too large"),
    ],
)
def test_bad_models_are_refused_in_a_sentence(change, sentence):
    model = flow_of([(0, 1, 1, 1)], [1, -1])
    with pytest.raises(SolverError, match=sentence):
        solve_flow(replace(model, **change))
    assert solve_flow(model).status == "optimal"


def test_every_status_of_ortools_has_a_meaning():
    words = {"NOT_SOLVED", "OPTIMAL", "FEASIBLE", "INFEASIBLE", "UNBALANCED", "BAD_RESULT"}
    assert set(STATUSES) | set(FAILURES) == words | {"BAD_COST_RANGE", "BAD_CAPACITY_RANGE"}
    assert not set(STATUSES) & set(FAILURES)


CIRCULATIONS = """
import itertools
import numpy as np
from cellward.solve.flow import least_circulation

rng = np.random.default_rng(5)
for _ in range(60):
    nodes, arcs = int(rng.integers(2, 5)), int(rng.integers(1, 9))
    tail, head = rng.integers(0, nodes, (2, arcs))
    cost = rng.integers(-9, 10, arcs)
    best = 0
    for used in itertools.product([False, True], repeat=arcs):
        used = np.array(used)
        if np.array_equal(np.bincount(tail[used], minlength=nodes), np.bincount(head[used], minlength=nodes)):
            best = min(best, int(cost[used].sum()))
    found = least_circulation(tail, head, cost, nodes)
    assert np.array_equal(np.bincount(tail[found], minlength=nodes), np.bincount(head[found], minlength=nodes))
    assert cost[found].sum() == best
"""


def test_circulations_are_the_cheapest():
    subprocess.run(
        [sys.executable, "-c", CIRCULATIONS], check=True
    )  # a process of its own: this one may have loaded highspy
