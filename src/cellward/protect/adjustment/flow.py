"""Least adjustment by flow: the cheapest deviations with senses fixed, in tables whose equations are a network, and the multipliers that prove it.

Legend: M·z = 0, lo ≤ z ≤ hi, minimise Σ w·|z|. Every cell is an arc of the network. It starts at the z nearest to 0 that it may have, its base, and
from there it goes up at cost w a unit or down at cost w a unit: one arc and its reverse, of which a sensitive cell keeps the one away from 0, and a
fixed cell none. What the bases leave unbalanced at the nodes is the supply, S in all.

No arc needs more room than S. A flow is a sum of paths from supply to demand, which carry S together, and of cycles along arcs that it uses; no cost
is negative, so without the cycles it costs no more. Arcs get S + 1 at most: one that carries more than S is on a cycle of cost 0, where all reduced
costs are 0, so that no potentials lean on a limit which the table does not have.

Few cells move. With weights such as 1/a, paths run along the cheapest arcs of the nodes, and nearly all of the table is never looked at: so we solve
the flow on a few cells of each node, and the shortest distances π over the ways in which it could be changed price all others. A cell with
|π[head] − π[tail]| ≤ w has no use for the answer. Once that is so everywhere the flow is optimal for the whole table, and λ = ±π on the equations
proves it, in whole numbers and without the solver's word (Dantzig and Wolfe's column generation; Ford and Fulkerson 1962 for the potentials).
"""

from __future__ import annotations

from dataclasses import dataclass, replace
from functools import cached_property
from typing import Final, Literal

import numpy as np

from cellward.audit.lagrangian import largest, total
from cellward.audit.potentials import distances
from cellward.errors import SolverError
from cellward.exact import LARGEST, NO_BOUND, Bools, Floats, Ints
from cellward.protect.adjustment.repair import EFFORT, Repair
from cellward.protect.engine import Adapter
from cellward.solve.ask import ask
from cellward.solve.budget import Budget
from cellward.solve.flow import CLAIMS, FAILURES, residual, solve_flow
from cellward.solve.model import FlowModel
from cellward.table.components import components
from cellward.table.network import Network
from cellward.table.relations import Relations

ENGINE: Final = "minimum-cost flow"
NEAR: Final = 0.8
"""A cell whose potentials differ by this share of its weight is taken along with those where they differ by more than the whole."""
NOT_MUCH: Final = 0.5
"""Nodes that have to send more than this share of what their cells have room for are given all of them."""
WIDEST: Final = 2**59
"""Costs times nodes stay below: distances, and OR-tools' own scaled costs, then fit into 64 bits."""


@dataclass(frozen=True, eq=False)
class FlowAnswer:
    """Deviations z of least cost, with the multipliers (one an equation, whole numbers) whose Lagrangian bound meets that cost.

    ``infeasible``: there are none with these senses. ``unknown``: the time was over first. Neither has z.
    """

    status: Literal["optimal", "infeasible", "unknown"]
    engine: str = ENGINE
    z: Ints | None = None
    cost: int | None = None
    multipliers: Ints | None = None


@dataclass(frozen=True)
class LeastFlow:
    """How the least flow is looked for: ``few`` cells a node are taken first, and once the share ``most`` of the cells is taken, all are.

    Up to ``most_wrong`` cells that turn out to be of use are repaired in this process, with so much ``effort`` (see repair.py).
    """

    few: int = 3
    most: float = 0.5
    most_wrong: int = 20
    effort: int = EFFORT
    solver: Adapter = solve_flow

    def solve(self, relations: Relations, lo: Ints, hi: Ints, weight: Ints, budget: Budget) -> FlowAnswer | None:
        """The cheapest z with M·z = 0 and lo ≤ z ≤ hi, at w ≥ 0 for each unit up or down; None: no network, or numbers that 64 bits do not hold.

        >>> import numpy as np
        >>> relations = Relations.from_rows(3, [(0, [0, 1, 2], [1, 1, -1])])
        >>> lo, hi, weight = np.array([2, -5, -9]), np.array([4, 5, 9]), np.array([7, 3, 1])
        >>> answer = LeastFlow().solve(relations, lo, hi, weight, Budget())
        >>> answer.status, answer.z.tolist(), answer.cost
        ('optimal', [2, 0, 2], 16)
        """
        network = relations.network
        if network is None:
            return None
        if np.any(lo > hi):
            return FlowAnswer("infeasible")
        base = np.clip(0, lo, hi)
        sending = _Sending.of(self, network, lo, hi, weight, base)
        if sending is None:
            return None
        try:
            moved = sending.solve(budget)
        except SolverError as error:
            if FAILURES["BAD_COST_RANGE"] in str(error) or CLAIMS in str(error):
                return None
            raise
        if not isinstance(moved, _Moved):
            return FlowAnswer(moved)
        z = base
        z[sending.cell] += moved.z
        multipliers = np.zeros(relations.equations, np.int64)
        multipliers[network.equations] = network.sign * (moved.potential[:-1] - moved.potential[-1])
        return FlowAnswer("optimal", z=z, cost=_cost(weight, z), multipliers=multipliers)


def _cost(weight: Ints, z: Ints) -> int:
    used = np.flatnonzero(z)
    w, far = weight[used], np.abs(z[used])
    if largest(w) * largest(far) < 2**62:
        return total(w * far)
    return total(w.astype(object) * far)


@dataclass(frozen=True, eq=False)
class _Moved:
    """How far each cell that has a choice is from its base, and the potentials of the nodes."""

    z: Ints
    potential: Ints


@dataclass(frozen=True, eq=False)
class _Sending:
    """The cells that have a choice, with the room they have ``up`` and ``down`` from their bases, and what the bases leave to be sent."""

    how: LeastFlow
    cell: Ints
    tail: Ints
    head: Ints
    up: Ints
    down: Ints
    weight: Ints
    supply: Ints

    @staticmethod
    def of(how: LeastFlow, network: Network, lo: Ints, hi: Ints, weight: Ints, base: Ints) -> _Sending | None:
        """The problem, or None where its numbers are too large."""
        moved = np.flatnonzero(base)
        moved = moved[network.tail[moved] >= 0]
        amount = base[moved]
        if float(np.abs(amount).sum(dtype=np.float64)) > LARGEST:
            return None
        supply = np.zeros(network.nodes, np.int64)
        np.add.at(supply, network.head[moved], amount)
        np.subtract.at(supply, network.tail[moved], amount)
        cell = np.flatnonzero((lo < hi) & (network.tail >= 0))
        every = len(cell) == len(base)
        tail, head, w, start = (x if every else x[cell] for x in (network.tail, network.head, weight, base))
        least, most = (lo, hi) if every else (lo[cell], hi[cell])
        sent = int(np.maximum(supply, 0).sum())
        degree = int((np.bincount(tail, minlength=network.nodes) + np.bincount(head, minlength=network.nodes)).max())
        if largest(w) * network.nodes >= WIDEST or (sent + 1) * (degree + 1) >= 2**62:
            return None
        # A base above 0 is the least z there is and one below 0 the largest, so that neither difference overflows.
        up, down = np.minimum(most - start, sent + 1), np.minimum(start - least, sent + 1)
        return _Sending(how, cell, tail, head, up, down, w, supply)

    @property
    def nodes(self) -> int:
        return len(self.supply)

    def solve(self, budget: Budget) -> _Moved | Literal["infeasible", "unknown"]:
        """The least flow, from a few cells to as many as are of use."""
        if not self.supply.any():
            return _Moved(np.zeros(len(self.cell), np.int64), np.zeros(self.nodes, np.int64))
        taken = np.ones(len(self.cell), bool)
        if self.how.few * self.nodes < self.how.most * len(self.cell):
            taken = self._few()
        while True:
            part = _FlowPart.of(self, taken)
            found = self._ask(part.model, budget)
            if isinstance(found, str):
                if found == "unknown" or taken.all():
                    return found
                # Is there a flow at all? If so the cells of any one make it possible.
                whole = _FlowPart.of(self, np.ones(len(taken), bool))
                some = self._ask(replace(whole.model, cost=np.zeros_like(whole.model.cost)), budget)
                if isinstance(some, str):
                    return some
                new = (whole.moves(some, len(taken)) != 0) & ~taken
                taken |= new if new.any() else True
                continue
            z, potential = part.moves(found, len(taken)), part.potentials(found)
            if self._repaired(taken, z, potential):
                return _Moved(z, potential)
            taken |= self._near(potential, taken)
            if int(taken.sum()) > self.how.most * len(taken):
                taken[:] = True

    def _ask(self, model: FlowModel, budget: Budget) -> Ints | Literal["infeasible", "unknown"]:
        """The flow, or why there is none."""
        if budget.over:
            return "unknown"
        outcome = ask(self.how.solver, model, columns=model.arcs, budget=budget)
        if outcome.x is None:
            return "infeasible" if outcome.status == "infeasible" else "unknown"
        flow = np.rint(outcome.x).astype(np.int64)
        if residual(model, flow):
            raise SolverError(
                f"The flow on {model.arcs} arcs does not add up or leaves its bounds; nothing is released"
            )
        return flow

    def _repaired(self, taken: Bools, z: Ints, potential: Ints) -> bool:
        """Whether z is the least flow of all cells, or could be made so with little effort; else z and the potentials are of no further use."""
        wrong = self._wrong(z, potential)
        while 0 < len(wrong) <= self.how.most_wrong:
            taken[wrong] = True
            some = np.flatnonzero(taken)
            own = z[some]
            repair = Repair(
                self.tail[some], self.head[some], self.up[some], self.down[some], self.weight[some], own, potential,
                self.how.effort,
            )  # fmt: skip
            if not repair.run():
                return False
            z[some] = own
            wrong = self._wrong(z, potential)
        return not len(wrong)

    def _few(self) -> Bools:
        """The cells to begin with: cheap ones beside the cheapest of an end, and as many more as let nodes send what they must and join them."""
        free = np.flatnonzero((self.up > 0) & (self.down > 0))
        tail, head, w = self.tail, self.head, self.weight
        cheapest = np.full(self.nodes, NO_BOUND)
        for end in (tail, head):
            np.minimum.at(cheapest, end[free], w[free])
        ratio = w / np.maximum(np.maximum(cheapest[tail], cheapest[head]), 1)
        if np.count_nonzero(ratio <= 1) > self.how.few * self.nodes:
            return np.ones(len(tail), bool)  # equal weights: no cell stands out
        taken = self._least(ratio)
        some = np.flatnonzero(taken)
        short = self._short(some)
        if short.any():
            taken |= short[tail] | short[head]
            some = np.flatnonzero(taken)
        label = components(self.nodes, tail[some], head[some])
        while True:
            free = free[label[tail[free]] != label[head[free]]]
            if not len(free):
                return taken
            # Borůvka's step: the cheapest cell out of each set of nodes. Where an index is repeated numpy lets the last value stand.
            order = free[np.argsort(-w[free], kind="stable")]
            chosen = np.full((2, self.nodes), -1)
            chosen[0, label[tail[order]]] = order
            chosen[1, label[head[order]]] = order
            new = np.unique(chosen[chosen >= 0])
            taken[new] = True
            label = components(self.nodes, label[tail[new]], label[head[new]])[label]

    def _short(self, some: Ints) -> Bools:
        """The nodes for which these cells have not much room, beside what they have to send or take."""
        tail, head, up, down = self.tail[some], self.head[some], self.up[some], self.down[some]
        out, into = (
            np.bincount(a, up, minlength=self.nodes) + np.bincount(b, down, minlength=self.nodes)
            for a, b in ((tail, head), (head, tail))
        )
        return np.asarray((self.supply > NOT_MUCH * out) | (-self.supply > NOT_MUCH * into))

    def _wrong(self, z: Ints, potential: Ints) -> Ints:
        """The cells of which a step up or down costs less than the potentials rise on the way: none, and z is the least flow."""
        rise, w = self._rise(potential), self.weight
        wrong = (rise > w) & (z < self.up)
        wrong |= (rise < -w) & (z > -self.down)
        moved = np.flatnonzero(z)
        wrong[moved] |= np.where(z[moved] < 0, rise[moved] > -w[moved], rise[moved] < w[moved])
        return np.flatnonzero(wrong)

    def _near(self, potential: Ints, taken: Bools) -> Bools:
        """The other cells of which a first step is worth while, or nearly so; where they are many, those where it is the most."""
        rise, w = self._rise(potential), self.weight
        near = (rise > NEAR * w) & (self.up > 0)
        near |= (rise < -NEAR * w) & (self.down > 0)
        near &= ~taken
        if int(near.sum()) > self.how.few * self.nodes:
            near &= self._least(np.where(near, w / np.maximum(np.abs(rise), 1), np.inf))
        return near

    def _least(self, score: Floats) -> Bools:
        """A few cells a node, those of the least scores; among equals they are drawn, always the same."""
        score *= 1 + self._ties * 2.0**-20
        return np.asarray(score <= np.partition(score, self.how.few * self.nodes)[self.how.few * self.nodes])

    @cached_property
    def _ties(self) -> Floats:
        return np.random.default_rng(0).random(len(self.cell))

    def _rise(self, potential: Ints) -> Ints:
        rise = potential.take(self.head)
        rise -= potential.take(self.tail)
        return rise


@dataclass(frozen=True, eq=False)
class _FlowPart:
    """The flow on some cells: their arcs up, then their arcs down."""

    up: Ints
    down: Ints
    model: FlowModel

    @staticmethod
    def of(p: _Sending, taken: Bools) -> _FlowPart:
        up, down = np.flatnonzero(taken & (p.up > 0)), np.flatnonzero(taken & (p.down > 0))
        model = FlowModel(
            tail=np.concatenate((p.tail[up], p.head[down])),
            head=np.concatenate((p.head[up], p.tail[down])),
            capacity=np.concatenate((p.up[up], p.down[down])),
            cost=np.concatenate((p.weight[up], p.weight[down])),
            supply=p.supply,
        )
        return _FlowPart(up, down, model)

    def potentials(self, flow: Ints) -> Ints:
        """Shortest distances to every node from anywhere, over the ways in which the flow can be changed."""
        m = self.model
        on, back = np.flatnonzero(flow < m.capacity), np.flatnonzero(flow)
        tail, head = np.concatenate((m.tail[on], m.head[back])), np.concatenate((m.head[on], m.tail[back]))
        found = distances(m.nodes, tail, head, np.concatenate((m.cost[on], -m.cost[back])))
        if found is None:
            raise SolverError(
                f"The flow on {m.arcs} arcs is called optimal, but it can be improved; nothing is released"
            )
        return found

    def moves(self, flow: Ints, cells: int) -> Ints:
        """How far each of the cells is moved."""
        z = np.zeros(cells, np.int64)
        z[self.up] = flow[: len(self.up)]
        z[self.down] -= flow[len(self.up) :]
        return z
