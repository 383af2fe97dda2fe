"""Stretch: a part of a walk at one level of noise, pairs of layers moved against each other along circulations, in the worker process.

Two codes of one dimension that stand in the same equations along it can only move against each other, position by position; with all else fixed,
what is left is a table of one dimension less. Where that is a network, the best move is a minimum-cost circulation, found in microseconds. The costs
are disturbed by logistic noise, so that the walk leaves local optima.
"""

from __future__ import annotations

import functools
import math
from dataclasses import dataclass
from time import monotonic
from typing import Final

import numpy as np
from numpy.typing import NDArray

from cellward.exact import Bools, Floats, Ints
from cellward.solve import worker
from cellward.solve.budget import Budget
from cellward.solve.flow import least_circulation
from cellward.solve.outcome import Outcome

BATCH: Final = 4500
"""Positions in one circulation: enough that preparing it costs no more than solving it."""
FINE: Final = 1000
"""Costs in circulations are whole: thousandths of the mean."""
NOISES: Final = 2**16
"""Draws of noise, used again and again from random places on."""
SWAPPED: Final = np.array([0, 2, 1, 3], np.uint8)
"""Ways up (1) and down (2), exchanged."""
ROUNDS: Final = 6
"""Rounds after which distances that still fall are taken for a sign of a cycle."""
GRACE_S: Final = 5.0
"""A stretch ends by itself; the worker is only killed when it does not."""


@dataclass(frozen=True, eq=False)
class Side:
    """One dimension of a table, as the walk sees it: columns of each code and position, and the network of the positions.

    ``cell[code, position]`` numbers the block's cells (−1: none to decide there). Two codes of one ``group`` may move against each other, by
    ``sign`` · ``sign``.
    """

    cell: Ints
    group: Ints
    sign: Ints
    tail: Ints
    head: Ints
    nodes: int


@dataclass(frozen=True, eq=False)
class Road:
    """All a walk needs: cell k has the steps first[k] to first[k + 1] of ``cost``, cheap first, and starts with ``steps[k]`` of them taken.

    ``guide`` are the reduced costs: every circulation costs the same in them, but few single steps pay, so it is found sooner.
    """

    sides: tuple[Side, ...]
    first: Ints
    cost: Ints
    guide: Floats
    steps: Ints
    seed: int

    @property
    def many(self) -> Ints:
        """How many steps each cell has."""
        return np.diff(self.first, append=len(self.cost))


@dataclass(frozen=True, eq=False, kw_only=True)
class Stretch(Outcome):
    """Where a stretch led: ``x`` the steps of all cells and ``objective`` their cost; ``best`` and ``least``: of the best place met."""

    best: Ints
    least: int


def walk_on(
    road: Road,
    *,
    noise: float,
    sweeps: float,
    budget: Budget | None = None,
    least: int | None = None,
    lane: int = 0,
) -> Outcome:
    """Walk so many ``sweeps`` over all dimensions, or until the time is up, a cost of ``least``, or Ctrl-C (then ``interrupted``)."""
    limit = None if budget is None else budget.left
    task = functools.partial(
        _stretch, noise=noise, sweeps=sweeps, time_limit_s=limit, least=least, asked_at=monotonic()
    )
    kill_s = None if limit is None else limit + GRACE_S
    return worker.call(task, road, time_limit_s=kill_s, stoppable=lane == 0, lane=lane, budget=None if lane else budget)


def _stretch(
    road: Road, *, noise: float, sweeps: float, time_limit_s: float | None, least: int | None, asked_at: float
) -> Stretch:
    ended = False

    def stop() -> None:
        nonlocal ended
        ended = True

    end = math.inf if time_limit_s is None else asked_at + time_limit_s
    walker = _Walker(road)
    best, lowest = walker.steps.copy(), walker.value
    with worker.stopping(stop):
        sweep = 0
        while sweep < sweeps and not ended and monotonic() < end and (least is None or lowest > least):
            sweep += 1
            for k in walker.rng.permutation(len(walker.views)).tolist():
                for one, two in walker.pairs(walker.views[k]):
                    if ended or monotonic() >= end:
                        break
                    walker.circulate(walker.views[k], one, two, noise)
                    if walker.value < lowest:
                        best, lowest = walker.steps.copy(), walker.value
    return Stretch(
        status="feasible",
        x=walker.steps.astype(np.float64),
        objective=float(walker.value),
        best=best,
        least=lowest,
        solver="walk",
        seconds=monotonic() - asked_at,
    )


class _Walker:
    """Where a walk is: the ``steps`` of each cell, their ``value``, and a view of each dimension."""

    def __init__(self, road: Road) -> None:
        self.rng = np.random.default_rng(road.seed)
        self.first, self.many, self.steps = road.first, road.many, road.steps.copy()
        self.several = bool(self.many.max(initial=0) > 1)
        # One step more, for cells at an end.
        self.cost = np.concatenate((road.cost, [0]))
        mean = max(float(np.abs(road.cost).mean()), 1e-9)
        self.guide = FINE * np.clip(np.concatenate((road.guide, [0.0])) / mean, -1e6, 1e6)
        self.views = [_View.of(side, len(road.first)) for side in road.sides]
        self._look(np.arange(len(road.first)))
        z = self.rng.random(NOISES + 2 * max(len(view.pair) for view in self.views))
        self.noises = FINE * np.log(z / (1 - z))
        total = np.concatenate(([0], np.cumsum(road.cost)))
        self.value = int((total[road.first + road.steps] - total[road.first]).sum())

    def _look(self, cell: Ints) -> None:
        """See where cells can go."""
        steps = self.steps[cell]
        at = self.first[cell] + steps
        can_up, can_down = steps < self.many[cell], steps > 0
        up, down = self.guide[at], -self.guide[at - 1]
        for view in self.views:
            place = view.place[cell]
            turned = view.turned[cell]
            ways = np.where(turned, 2 * can_up + can_down, can_up + 2 * can_down).astype(np.uint8)
            view.ways[place], view.contrary[place] = ways, SWAPPED[ways]
            view.up[place], view.down[place] = np.where(turned, down, up), np.where(turned, up, down)

    def pairs(self, view: _View) -> list[tuple[Ints, Ints]]:
        """The codes of a dimension in random pairs within their groups, in batches."""
        order = self.rng.permutation(len(view.group))
        if view.alike:
            one, two = order[: len(order) // 2], order[len(order) // 2 :]
            return [
                (one[k : k + view.batch], two[k : k + view.batch][: len(one) - k])
                for k in range(0, len(one), view.batch)
            ]
        order = order[np.argsort(view.group[order], kind="stable")]
        group = view.group[order]
        second = np.flatnonzero((np.arange(len(group)) - np.searchsorted(group, group)) % 2 == 1)
        second = self.rng.permutation(second)
        cuts = range(0, len(second), view.batch)
        return [(order[second[k : k + view.batch] - 1], order[second[k : k + view.batch]]) for k in cuts]

    def circulate(self, view: _View, one: Ints, two: Ints, noise: float) -> None:
        """Move the layers ``one`` against ``two`` as is best under noise."""
        shape = (-1, view.positions)
        ways = view.ways.reshape(shape)[one].ravel() & view.contrary.reshape(shape)[two].ravel()
        up, down = (np.flatnonzero(bits.view(bool)) for bits in (ways & 1, ways >> 1))
        at = np.concatenate((up, down))
        pair = view.pair[at]
        position = view.position[at]
        a, b = (one * view.positions)[pair] + position, (two * view.positions)[pair] + position
        many = len(up)
        price = np.concatenate((view.up[a[:many]] + view.down[b[:many]], view.down[a[many:]] + view.up[b[many:]]))
        offset = int(self.rng.integers(NOISES))
        dear = (price + noise * self.noises[offset : offset + len(at)]).astype(np.int64)
        # Standing still costs what all the arcs that pay bring together, so no dearer arc is ever used.
        most = np.bincount(pair, np.maximum(-dear, 0), minlength=len(one))
        use = np.flatnonzero(dear < most[pair])
        if not len(use):
            return
        use = use[_cycling(view, at[use], use < many, dear[use], pair[use], len(one))]
        if not len(use):
            return
        at, dear = at[use], dear[use]
        which, place = np.unique(pair[use], return_inverse=True)
        shift = ((place - pair[use]) * view.nodes).astype(np.int32)
        tail, head = view.tail[at] + shift, view.head[at] + shift
        rising = use < many
        start, stop = np.where(rising, tail, head), np.where(rising, head, tail)
        moved = np.flatnonzero(least_circulation(start, stop, dear, len(which) * view.nodes))
        if not len(moved):
            return
        if self.several:  # up and down at one position are no steps at all
            moved = moved[np.bincount(at[moved])[at[moved]] == 1]
        way = np.where(rising[moved], 1, -1)
        a, b = view.cell[a[use[moved]]], view.cell[b[use[moved]]]
        self._step(a, np.where(view.turned[a], -way, way))
        self._step(b, np.where(view.turned[b], way, -way))

    def _step(self, cell: Ints, way: Ints) -> None:
        """Move cells one step up (1) or down (−1)."""
        at = self.first[cell] + self.steps[cell]
        self.value += int(np.where(way > 0, self.cost[at], -self.cost[at - 1]).sum())
        self.steps[cell] += way
        self._look(cell)


def _cycling(view: _View, at: Ints, rising: Bools, dear: Ints, pair: Ints, pairs: int) -> Ints:
    """The arcs of the pairs that may have a cycle that pays: there, distances go on falling (Bellman and Ford). Most pairs have none."""
    tail, head = view.tail[at], view.head[at]
    start, stop = np.where(rising, tail, head), np.where(rising, head, tail)
    distance = np.zeros(pairs * view.nodes, np.int64)
    for _ in range(ROUNDS):
        new = distance.take(start)
        new += dear
        lower = (new < distance.take(stop)).nonzero()[0]
        if not len(lower):
            return lower
        np.minimum.at(distance, stop.take(lower), new.take(lower))
    falling = np.zeros(pairs, bool)
    falling[pair[lower]] = True
    return np.flatnonzero(falling[pair])


@dataclass(frozen=True, eq=False)
class _View:
    """The cells of a dimension, code by code and position by position: where they can go (up 1, down 2), and the price of it.

    Codes of sign −1 are seen turned around, so that two codes always move against each other. ``pair``, ``position``, ``tail`` and ``head`` are those
    of a batch of pairs.
    """

    cell: Ints
    group: Ints
    alike: bool
    positions: int
    nodes: int
    batch: int
    place: Ints
    turned: Bools
    ways: NDArray[np.uint8]
    contrary: NDArray[np.uint8]
    up: Floats
    down: Floats
    pair: Ints
    position: Ints
    tail: NDArray[np.int32]
    head: NDArray[np.int32]

    @staticmethod
    def of(side: Side, cells: int) -> _View:
        codes, positions = side.cell.shape
        batch = max(min(BATCH // positions, codes // 2), 1)
        flat = side.cell.ravel()
        known = np.flatnonzero(flat >= 0)
        place = np.full(cells, len(flat), np.int64)  # a cell that has no place here is seen in one beyond all
        place[flat[known]] = known
        turned = np.zeros(cells, bool)
        turned[flat[known]] = (side.sign < 0)[known // positions]
        pair, position = np.divmod(np.arange(batch * positions), positions)
        size = (codes + 1) * positions
        return _View(
            cell=flat,
            group=side.group,
            alike=len(np.unique(side.group)) == 1,
            positions=positions,
            nodes=side.nodes,
            batch=batch,
            place=place,
            turned=turned,
            ways=np.zeros(size, np.uint8),
            contrary=np.zeros(size, np.uint8),
            up=np.zeros(size),
            down=np.zeros(size),
            pair=pair,
            position=position,
            tail=(side.tail[position] + pair * side.nodes).astype(np.int32),
            head=(side.head[position] + pair * side.nodes).astype(np.int32),
        )
