"""Minimum-cost flow by levels: agrees with enumeration and with OR-tools wherever it answers, and answers where rounding needs it."""

from __future__ import annotations

from dataclasses import replace

import numpy as np
import pytest

from cellward import ControlledRounding, Table
from cellward.protect.lattice.flow_in_worker import FlowInWorker
from cellward.protect.lattice.staged_flow import StagedFlow
from cellward.solve.flow import residual, solve_flow
from cellward.solve.model import FlowModel
from cellward.solve.staged_flow import LARGEST, solve_levels


def random_flow(seed, nodes, arcs, most_cost, *, promised=True):
    """At most one arc from a node to another, capacities up to 2; supplies that some flow meets where that is promised."""
    rng = np.random.default_rng(seed)
    key = np.unique(rng.integers(0, nodes, arcs) * nodes + rng.integers(0, nodes, arcs))
    tail, head = key // nodes, key % nodes
    capacity, cost = rng.integers(0, 3, len(key)), rng.integers(0, most_cost + 1, len(key))
    supply = np.zeros(nodes, np.int64)
    if promised:
        x = np.minimum(rng.integers(0, 3, len(key)), capacity)
        np.add.at(supply, tail, x)
        np.subtract.at(supply, head, x)
    else:
        supply[:2] = 2, -2
    return FlowModel(tail=tail, head=head, capacity=capacity, cost=cost, supply=supply)


@pytest.mark.parametrize("most_cost", [0, 1, 3])
@pytest.mark.parametrize("promised", [True, False])
def test_agrees_with_ortools(most_cost, promised):
    answered = 0
    for seed in range(60):
        model = random_flow(seed, 12, 30 if seed % 2 else 100, most_cost, promised=promised)
        outcome = solve_levels(model)
        if outcome.x is None:
            assert outcome.status == "unknown"
            continue
        answered += 1
        assert outcome.status == "optimal" and outcome.objective == outcome.bound == solve_flow(model).objective
        assert residual(model, outcome.x.astype(np.int64)) == outcome.residual == 0
        assert int(model.cost @ outcome.x.astype(np.int64)) == outcome.objective
    assert answered


def test_what_it_is_not_made_for_is_left_alone():
    model = random_flow(1, 12, 100, 3)
    for other in (
        replace(model, cost=model.cost - 1),
        replace(model, cost=model.cost + LARGEST),
        replace(model, supply=model.supply + np.array([LARGEST, -LARGEST, *[0] * 10])),
        FlowModel(**dict.fromkeys(("tail", "head", "capacity", "cost", "supply"), np.zeros(0, np.int64))),
    ):
        assert solve_levels(other).status == "unknown"


def test_parallel_arcs_are_left_alone():
    two = np.array([1, 1])
    model = FlowModel(tail=two - 1, head=two, capacity=two, cost=two, supply=np.array([2, -2]))
    assert solve_levels(model).status == "unknown"


@pytest.mark.parametrize("base", [2, 3, 5, 7, 10])
def test_large_tables_are_rounded_by_levels(base):
    class ByLevels(ControlledRounding):
        engines = (StagedFlow(),)

    class ByWorker(ControlledRounding):
        engines = (FlowInWorker(),)

    table = Table.from_array(np.random.default_rng(base).poisson(30, (100, 100)))
    found = ByLevels(base).protect(table)
    assert found.status == "optimal" and found.engine == "minimum-cost flow"
    assert found.objective == ByWorker(base).protect(table).objective
    assert ControlledRounding(base).protect(table).values.tolist() == found.values.tolist()
