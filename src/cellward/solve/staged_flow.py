"""Minimum-cost flow level by level, in this process: maximum flows (scipy) over the arcs that are tight in the dual; for models with few costs.

The primal–dual method (Ford and Fulkerson 1962, chapter III). Potentials π give reduced costs r = c + π[tail] − π[head], with r ≥ 0 on arcs with
room and r ≤ 0 on arcs with flow. What is supplied is sent over arcs with r = 0, as much as fits: a maximum flow. What is left reaches a set R of
nodes, and π rises outside R until one more arc is tight. Once all is sent, flow and potentials prove each other optimal. The first potentials need no
search: a path has at least one arc, so nothing is sent for less than the least cost.

With costs from a small range nearly all is sent in the first round, and a further one is a few looks at the arcs. A model that is not like that is
given up at once, for a general method to solve.
"""

from __future__ import annotations

from dataclasses import dataclass
from time import perf_counter
from typing import Final

import numpy as np
from numpy.typing import NDArray
from scipy.sparse import csr_array
from scipy.sparse.csgraph import maximum_flow

from cellward.errors import SolverError
from cellward.exact import Bools, Ints
from cellward.solve.flow import residual
from cellward.solve.model import FlowModel
from cellward.solve.outcome import Outcome

Small = NDArray[np.int32]

SOLVER: Final = "maximum flows by levels"
LARGEST: Final = 2**30
"""Everything counts in 32 bits, as scipy's maximum flow does."""
MANY, THINNED = 100, 4
"""With so many ways for each unit that waits, every fourth is tried first."""


def solve_levels(model: FlowModel) -> Outcome:
    """Solve the flow, or answer ``unknown`` at once: this is not the method for the model, or there is no flow.

    >>> import numpy as np
    >>> one, cost, supply = np.array([1, 0]), np.array([2, 3]), np.array([1, -1])
    >>> outcome = solve_levels(FlowModel(tail=1 - one, head=one, capacity=one, cost=cost, supply=supply))
    >>> outcome.status, outcome.x.tolist(), outcome.objective
    ('optimal', [1.0, 0.0], 2.0)
    """
    began = perf_counter()
    found = _levels(model)
    if found is None:
        return Outcome(status="unknown", seconds=perf_counter() - began, solver=SOLVER)
    flow, potential = found
    objective = int(model.cost @ flow)
    reduced = model.cost + potential.take(model.tail)
    reduced -= potential.take(model.head)
    bound = int(np.minimum(reduced, 0) @ model.capacity) - int(potential @ model.supply)
    if residual(model, flow) or bound != objective:
        raise SolverError(f"The flow on {model.arcs} arcs costs {objective} but is proven to cost {bound} at least.")
    return Outcome(
        status="optimal",
        x=flow.astype(np.float64),
        objective=float(objective),
        bound=float(bound),
        residual=0.0,
        seconds=perf_counter() - began,
        solver=SOLVER,
    )


def _levels(model: FlowModel) -> tuple[Ints, Ints] | None:
    """An optimal flow and the potentials that prove it."""
    if not model.arcs:
        return None
    tail, head, most = model.tail, model.head, int(np.maximum(model.supply, 0).sum())
    least, dearest = int(model.cost.min()), int(model.cost.max())
    if least < 0 or max(most, max(dearest, 1) * (model.nodes + 1)) > LARGEST:
        return None
    room, flow = np.minimum(model.capacity, most).astype(np.int32), np.zeros(model.arcs, np.int32)
    left, cost, waiting = model.supply.astype(np.int32), model.cost.astype(np.int32), most
    potential = np.where(left > 0, 0, least).astype(np.int32)
    reduced = cost + potential.take(tail)
    reduced -= potential.take(head)
    while True:
        ways = _Ways.of(tail, head, reduced == 0, flow, room)
        if (sent := _sent(ways, left, waiting)) is None:
            return None
        used = np.flatnonzero(sent)
        flow[ways.arc[used]] += np.where(used < ways.back, sent[used], -sent[used])
        waiting = int(np.maximum(left, 0).sum())
        if not waiting:
            return flow.astype(np.int64), potential.astype(np.int64)
        most //= 2
        if waiting > most:
            return None
        reached = ways.reach(left > 0, sent)
        leaves = reached.take(tail).view(np.int8) - reached.take(head).view(np.int8)
        gaps = reduced[(leaves > 0) & (flow < room)], -reduced[(leaves < 0) & (flow > 0)]
        rise = min((int(gap.min()) for gap in gaps if len(gap)), default=None)
        if rise is None:
            return None  # nothing can leave the set, so there is no flow
        potential[~reached] += rise
        reduced -= rise * leaves


@dataclass(frozen=True, eq=False)
class _Ways:
    """The ways that are open at no cost: along an arc with room, and from ``back`` on the other way on one with flow."""

    arc: Ints
    back: int
    start: Ints
    end: Ints
    room: Small

    @staticmethod
    def of(tail: Ints, head: Ints, tight: Bools, flow: Small, room: Small) -> _Ways:
        up, down = np.flatnonzero(tight & (flow < room)), np.flatnonzero(tight & (flow > 0))
        return _Ways(
            np.concatenate((up, down)),
            len(up),
            np.concatenate((tail.take(up), head.take(down))),
            np.concatenate((head.take(up), tail.take(down))),
            np.concatenate((room.take(up) - flow.take(up), flow.take(down))),
        )

    def some(self, which: Ints) -> _Ways:
        """A few of them, in the same order."""
        back = int(np.searchsorted(which, self.back))
        return _Ways(self.arc[which], back, self.start[which], self.end[which], self.room[which])

    def reach(self, reached: Bools, sent: Small) -> Bools:
        """All nodes that can be reached from these once so much is sent, which opens the way back."""
        on, back = np.flatnonzero(sent < self.room), np.flatnonzero(sent)
        start = np.concatenate((self.start.take(on), self.end.take(back)))
        end = np.concatenate((self.end.take(on), self.start.take(back)))
        count = 0
        while count < (count := int(reached.sum())):
            reached[end[reached.take(start)]] = True
        return reached


def _sent(ways: _Ways, left: Small, waiting: int) -> Small | None:
    """Send as much as fits; a little that waits is sent over some of the ways, if they will do."""
    if waiting * MANY <= ways.back:
        some = np.concatenate((np.arange(0, ways.back, THINNED), np.arange(ways.back, len(ways.room))))
        few, rest = ways.some(some), left.copy()
        if (part := _send(few, rest)) is None:
            return None
        if not rest.any():
            left[:] = 0
            sent = np.zeros(len(ways.room), np.int32)
            sent[some] = part
            return sent
    return _send(ways, left)


def _send(ways: _Ways, left: Small) -> Small | None:
    """Send of what is left as much as fits, and say how much each way; None where two ways lead from one node to the same other."""
    nodes, many = len(left), len(ways.room)
    source, sink = np.flatnonzero(left > 0), np.flatnonzero(left < 0)
    tail = np.concatenate((ways.start, np.full(len(source), nodes), sink)).astype(np.int32)
    head = np.concatenate((ways.end, source, np.full(len(sink), nodes + 1))).astype(np.int32)
    room = np.concatenate((ways.room, left[source], -left[sink]))
    number = csr_array((np.arange(len(room), dtype=np.int32), (tail, head)), shape=(nodes + 2, nodes + 2))
    if number.nnz < len(room):
        return None
    graph = csr_array((room.take(number.data), number.indices, number.indptr), shape=number.shape)
    found = maximum_flow(graph, nodes, nodes + 1).flow
    used = np.flatnonzero(found.data > 0)
    row = np.searchsorted(found.indptr, used, side="right") - 1
    key = (nodes + 2) * tail.take(number.data).astype(np.int64) + number.indices
    sent = np.zeros(len(room), np.int32)
    sent[number.data[np.searchsorted(key, (nodes + 2) * row + found.indices[used])]] = found.data[used]
    left[source] -= sent[many : many + len(source)]
    left[sink] += sent[many + len(source) :]
    return sent[:many]
