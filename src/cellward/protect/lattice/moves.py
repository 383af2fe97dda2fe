"""Moves: a network's columns as a flow of moves away from the nearest choice: all costs ≥ 0, and only what fails to add up has to move."""

from __future__ import annotations

from dataclasses import dataclass

import numpy as np

from cellward.exact import Bools, Floats, Ints
from cellward.protect.lattice.linear import unit_of
from cellward.protect.lattice.model import LatticeModel
from cellward.solve.model import FlowModel
from cellward.table.network import Network


@dataclass(frozen=True, eq=False)
class Moves:
    """The flow, the columns that are its arcs, and which of them it moves down."""

    nearest: Ints
    flow: FlowModel
    arc: Ints | slice
    flipped: Bools

    @staticmethod
    def of(model: LatticeModel, network: Network) -> Moves:
        """Of a model whose columns are arcs of the network."""
        columns = model.columns
        tail, head = network.tail.take(columns.cell), network.head.take(columns.cell)
        arc: Ints | slice = slice(None) if int(tail.min()) >= 0 else np.flatnonzero(tail >= 0)
        tail, head, top, cost = tail[arc], head[arc], columns.top[arc], columns.cost[arc]
        flipped = cost < 0
        rest, common = model.rest[network.equations], model.common[network.equations]
        need = np.zeros(network.nodes, np.int64)
        need[:-1] = network.sign * (rest // np.maximum(common, 1))
        up = np.flatnonzero(flipped)
        many = None if int(top.max(initial=1)) == 1 else top[up]
        into, out = (np.bincount(ends[up], many, minlength=network.nodes) for ends in (head, tail))
        need -= (into - out).astype(np.int64)
        need[-1] = -int(need[:-1].sum())
        tail[up], head[up] = head[up], tail[up]
        cost = np.abs(cost)
        flow = FlowModel(tail=tail, head=head, capacity=top, cost=cost // unit_of(cost), supply=-need)
        return Moves(model.nearest, flow, arc, flipped)

    def columns(self, flow: Floats) -> Ints:
        """x of a flow."""
        x = self.nearest.copy()
        used = np.flatnonzero(flow)
        moved = np.rint(flow[used]).astype(np.int64)
        x[used if isinstance(self.arc, slice) else self.arc[used]] += np.where(self.flipped[used], -moved, moved)
        return x
