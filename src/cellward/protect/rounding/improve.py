"""Improve: good roundings of blocks too large for branch and bound, by walks over pairs of layers and by neighbourhoods solved to the optimum.

All roundings of a block obey Σ m·x = d, so what they cost above the linear relaxation is Σ |reduced cost|·|x − vertex|: the *excess* of a column.
1. *Start*: the vertex, solved again around its fractional columns where they are few, else CP-SAT's first rounding.
2. *Walk* (tables with dimensions). Two codes of one dimension that stand in the same equations along it can only move against each other, position by
   position; with all else fixed, what is left is a table of one dimension less. Where that is a network, its best move is a minimum-cost
   circulation, found in microseconds. Costs are disturbed by logistic noise that cools down, so that the walk leaves local optima.
3. *Neighbourhoods*: some layers, or the surroundings of a column with excess; columns of large reduced cost that sit where the vertex has them
   stay there; CP-SAT decides the rest together. They grow while they are solved without a gain and shrink when the time is not enough.

Without a time limit the work is bounded by counts, so the same block has the same answer; at a limit the best rounding so far is given.
"""

from __future__ import annotations

import functools
import math
from dataclasses import dataclass, replace
from time import monotonic

import numpy as np
from numpy.typing import NDArray

from cellward.errors import SolverError
from cellward.protect.method import Clock, Limits
from cellward.protect.rounding.linear import leaf_costs, unit_of
from cellward.protect.rounding.model import RoundingModel
from cellward.solve import worker
from cellward.solve.ask import ask
from cellward.solve.cpsat import solve_cpsat
from cellward.solve.highs import solve_lp
from cellward.solve.model import LinearModel
from cellward.solve.outcome import Outcome
from cellward.table.relations import Relations, ranges

Ints = NDArray[np.int64]
Floats = NDArray[np.float64]
Bools = NDArray[np.bool_]

FEW_BROKEN = 0.01
"""Up to this share of fractional columns the rounding is looked for around them."""
STARTERS = 8
"""CP-SAT's threads for a first rounding: its searchers for one come in with the eighth, whatever the number of cores."""
WALK_SHARE = 0.6
"""The part of the time left that the walk may take."""
WALK_POSITIONS = 2.5e8
"""Positions that a walk without a time limit looks at: a minute or less."""
HOT, COLD = 0.125, 0.08
"""The noise at the start and at the end of the walk, in mean costs of a column: above, a walk wanders about; below, it stands still."""
BATCH = 4500
"""Positions looked at in one circulation: enough that preparing it costs less than solving it."""
ELIGIBLE = 0.5
"""The share of columns, those of the smallest reduced costs, that neighbourhoods decide anew."""
SMALLEST, LARGEST_FREE, LARGEST_LIMITED = 800, 1500, 50_000
"""Columns of a neighbourhood: at first, and at most without and with a time limit."""
GROW, SHRINK = 1.2, 0.65
PATIENCE = 60
"""Neighbourhoods of the largest size without a gain, one after the other, after which no more are tried."""
SUB_SHARE, SUB_LEAST_S = 0.1, 2.0
"""Time for one neighbourhood, as a part of the time left, and the least."""
QUICK = 0.4
"""A neighbourhood solved within this part of its time was small."""
_WHOLE = 1e-6
_FINE = 1000
"""Costs on circulations, in thousandths of the mean."""


@dataclass(frozen=True, eq=False)
class ImproveResult:
    """The best rounding found (None: none was), what found it, and whether Ctrl-C ended the search."""

    x: Ints | None
    engine: str
    interrupted: bool = False


def improve(
    model: RoundingModel,
    question: LinearModel,
    part: Ints,
    vertex: Floats,
    floor: float,
    limits: Limits,
    clock: Clock,
    duals: Floats | None = None,
) -> ImproveResult:
    """The best rounding found of one block, whole and exact.

    ``part`` are the block's columns, ``question`` its linear model with the plain costs, ``vertex`` an optimum of its relaxation, ``floor`` its
    value, and ``duals`` those of the question's rows (found again when not given).
    """
    search = _Search(model, question, part, vertex, floor, limits, clock, duals)
    search.start()
    if search.going:
        search.walk()
    if search.going:
        search.neighbourhoods()
    return ImproveResult(search.x, " + ".join(search.engines), search.interrupted)


class _Search:
    """The best rounding so far of one block, and the ways to a better one."""

    def __init__(
        self,
        model: RoundingModel,
        question: LinearModel,
        part: Ints,
        vertex: Floats,
        floor: float,
        limits: Limits,
        clock: Clock,
        duals: Floats | None,
    ) -> None:
        self.model, self.question, self.part, self.vertex, self.floor = model, question, part, vertex, floor
        self.limits, self.clock = limits, clock
        self.rng = np.random.default_rng(limits.seed)
        self.x: Ints | None = None
        self.target = math.ceil(floor - 1e-6 * max(1.0, abs(floor)))
        self.engines: list[str] = []
        self.interrupted = False
        self.cost = question.cost.astype(np.int64)
        self.row = np.repeat(np.arange(question.rows, dtype=np.int64), np.diff(question.indptr))
        self.by_column = np.argsort(question.indices, kind="stable")
        self.pointer = np.concatenate(([0], np.cumsum(np.bincount(question.indices, minlength=question.columns))))
        self.guide = self._reduced_costs(duals)
        self.reduced = np.abs(self.guide)

    def _reduced_costs(self, duals: Floats | None) -> Floats:
        q = self.question
        if duals is None:
            outcome = ask(
                solve_lp, replace(q, integer=None), columns=q.columns, rows=q.rows, time_limit_s=self.clock.left, seed=self.limits.seed
            )  # fmt: skip
            duals = outcome.row_duals
        if duals is None:
            return q.cost.copy()
        reduced = q.cost - np.bincount(q.indices, q.coefs * duals[self.row], minlength=q.columns)
        return np.asarray(np.where(np.abs(reduced) < _WHOLE, 0.0, reduced))

    @property
    def value(self) -> int:
        assert self.x is not None
        return int(self.cost @ self.x)

    @property
    def going(self) -> bool:
        """Whether there is a rounding, a better one is possible, and nobody wants us to stop."""
        return self.x is not None and self.value > self.target and not self.clock.over and not self.interrupted

    def take(self, x: Ints, engine: str) -> bool:
        """Believe a point if it is a rounding, keep it if it costs no more than the best; whether it costs less."""
        q = self.question
        activity = np.zeros(q.rows, np.int64)
        np.add.at(activity, self.row, q.coefs.astype(np.int64) * x[q.indices])
        if np.any((activity < q.row_lower) | (activity > q.row_upper)) or np.any((x < q.lower) | (x > q.upper)):
            raise SolverError(
                f"{engine} gave a point that is no rounding of a block of {q.columns} columns; nothing is released"
            )
        better = self.x is None or int(self.cost @ x) < self.value
        if better and engine not in self.engines:
            self.engines.append(engine)
        if self.x is None:
            self._raise_target(x)
        if better or int(self.cost @ x) == self.value:
            self.x = x
        return better

    def _raise_target(self, x: Ints) -> None:
        """All roundings cost the same up to multiples of a unit (see leaf_costs), so a floor rounds up to the next of them."""
        unit = unit_of(self.model.columns.cost[self.part])
        leaf = leaf_costs(self.model)[self.part] // unit
        step = unit_of(leaf)
        away = int(self.cost @ x) - int(leaf @ x)
        self.target = max(self.target, away + step * -((away - self.target) // step))

    # ---- start -----------------------------------------------------------------------------------------------------------------------------

    def start(self) -> None:
        """A first rounding."""
        whole = np.clip(np.rint(self.vertex), self.question.lower, self.question.upper).astype(np.int64)
        broken = np.flatnonzero(np.abs(self.vertex - whole) > _WHOLE)
        if not len(broken):
            self.take(whole, "HiGHS LP")
            return
        if len(broken) <= FEW_BROKEN * len(whole):
            size = max(SMALLEST, 20 * len(broken))
            while self.x is None and not self.clock.over and not self.interrupted and size < len(whole):
                self.solve(self.around(broken, size, self.reduced >= 0), whole)
                size *= 3
        if self.x is None and not self.clock.over and not self.interrupted:
            outcome = solve_cpsat(
                self.question, time_limit_s=self.clock.left, threads=STARTERS, seed=self.limits.seed, start=self.vertex, first=True
            )  # fmt: skip
            self.interrupted |= outcome.interrupted
            if outcome.x is not None:
                self.take(np.rint(outcome.x).astype(np.int64), "CP-SAT")

    # ---- neighbourhoods --------------------------------------------------------------------------------------------------------------------

    def neighbourhoods(self) -> None:
        """Decide some columns anew, again and again."""
        assert self.x is not None
        layers = _layers(self.model, self.part)
        kinds = ["surroundings", *(["layers"] if layers is not None else [])]
        size = dict.fromkeys(kinds, float(SMALLEST))
        wins, tries = dict.fromkeys(kinds, 1.0), dict.fromkeys(kinds, 1.0)
        most = min(len(self.part), LARGEST_FREE if self.limits.time_limit_s is None else LARGEST_LIMITED)
        small = np.sort(self.reduced)[int(ELIGIBLE * (len(self.part) - 1))]
        tried = np.zeros(len(self.part))
        stale = 0
        while self.going and stale < PATIENCE:
            share = np.array([wins[kind] / tries[kind] for kind in kinds])
            kind = kinds[int(self.rng.choice(len(kinds), p=share / share.sum()))]
            excess = self.reduced * np.abs(self.x - self.vertex)
            eligible = (self.reduced <= small) | (np.abs(self.x - self.vertex) > _WHOLE)
            if kind == "layers" and layers is not None:
                free = self._some_layers(layers, eligible, int(size[kind]))
            else:
                weight = np.where(excess > _WHOLE, excess, 0.0) / (1 + tried) ** 2
                if not weight.any():
                    weight = np.ones(len(weight))
                free = self.around(self.rng.choice(len(weight), 1, p=weight / weight.sum()), int(size[kind]), eligible)
                tried[free] += 1
            before = self.value
            solved, quick = self.solve(free, self.x)
            gain = self.value < before
            wins[kind] = 0.97 * wins[kind] + gain
            tries[kind] = 0.97 * tries[kind] + 1
            full = len(free) >= most or len(free) < 0.9 * size[kind]
            stale = 0 if gain else stale + (full or not solved)
            if not solved:
                size[kind] = max(size[kind] * SHRINK, 100.0)
            elif not gain and quick:
                size[kind] = min(size[kind] * GROW, float(most))
            if gain:
                tried *= 0.5

    def _some_layers(self, layers: list[Ints], eligible: Bools, size: int) -> Ints:
        """Random layers of a random dimension until there are enough columns."""
        code = layers[int(self.rng.integers(len(layers)))]
        many = np.bincount(code[eligible], minlength=int(code.max()) + 1)
        order = self.rng.permutation(len(many))
        enough = int(np.searchsorted(np.cumsum(many[order]), size)) + 1
        chosen = np.zeros(len(many), bool)
        chosen[order[:enough]] = True
        return np.flatnonzero(eligible & chosen[code])

    def around(self, seeds: Ints, size: int, eligible: Bools) -> Ints:
        """Seeds, and eligible columns that share a row with them, or with those, and so on, about as many as asked."""
        q = self.question
        inside = np.zeros(q.columns, bool)
        inside[seeds] = True
        seen = np.zeros(q.rows, bool)
        edge, many = seeds, len(seeds)
        while len(edge) and many < size:
            rows = np.unique(self.row[self.by_column[ranges(self.pointer[edge], self.pointer[edge + 1])]])
            rows = self.rng.permutation(rows[~seen[rows]])
            found: list[Ints] = []
            for row in rows.tolist():
                seen[row] = True
                column = q.indices[q.indptr[row] : q.indptr[row + 1]]
                column = column[eligible[column] & ~inside[column]]
                inside[column] = True
                found.append(column)
                many += len(column)
                if many >= size:
                    break
            edge = np.concatenate(found) if found else edge[:0]
        return np.flatnonzero(inside)

    def solve(self, free: Ints, x: Ints) -> tuple[bool, bool]:
        """Decide the free columns anew, the others as in x; whether that was solved to the end, and quickly."""
        sub = self.restricted(free, x)
        limit = None if self.clock.left is None else min(self.clock.left, max(SUB_LEAST_S, SUB_SHARE * self.clock.left))
        outcome = solve_cpsat(sub, time_limit_s=limit, seed=self.limits.seed, start=x[free].astype(float))
        self.interrupted |= outcome.interrupted
        if outcome.x is not None:
            new = x.copy()
            new[free] = np.rint(outcome.x).astype(np.int64)
            self.take(new, "CP-SAT neighbourhoods")
        return outcome.status in ("optimal", "infeasible"), limit is None or outcome.seconds < QUICK * limit

    def restricted(self, free: Ints, x: Ints) -> LinearModel:
        """The question about some columns, the others fixed."""
        q = self.question
        rows = np.unique(self.row[self.by_column[ranges(self.pointer[free], self.pointer[free + 1])]])
        entry = ranges(q.indptr[rows], q.indptr[rows + 1])
        row = np.repeat(np.arange(len(rows)), q.indptr[rows + 1] - q.indptr[rows])
        place = np.full(q.columns, -1, np.int64)
        place[free] = np.arange(len(free))
        column, coef = place[q.indices[entry]], q.coefs[entry]
        held = np.bincount(row, np.where(column < 0, coef * x[q.indices[entry]], 0.0), minlength=len(rows))
        keep = column >= 0
        return LinearModel(
            cost=q.cost[free],
            lower=q.lower[free],
            upper=q.upper[free],
            indptr=np.concatenate(([0], np.cumsum(np.bincount(row[keep], minlength=len(rows))))).astype(np.int64),
            indices=column[keep],
            coefs=coef[keep],
            row_lower=q.row_lower[rows] - held,
            row_upper=q.row_upper[rows] - held,
            integer=np.ones(len(free), bool),
        )

    # ---- walk ------------------------------------------------------------------------------------------------------------------------------

    def walk(self) -> None:
        """Circulations on pairs of layers, in the worker."""
        assert self.x is not None
        sides = _sides(self.model, self.part, self.question)
        if not sides:
            return
        cell, first = np.unique(self.model.columns.cell[self.part], return_index=True)
        steps = np.bincount(np.searchsorted(cell, self.model.columns.cell[self.part]), self.x).astype(np.int64)
        road = _Road(
            tuple(sides), first.astype(np.int64), self.cost, self.guide, steps, self.target, self.limits.seed
        )
        limit = None if self.clock.left is None else WALK_SHARE * self.clock.left
        task = functools.partial(_walk, time_limit_s=limit, asked_at=monotonic())
        kill = None if limit is None else limit + max(5.0, 0.2 * limit)
        outcome = worker.call(task, road, time_limit_s=kill, stoppable=True)
        self.interrupted |= outcome.interrupted
        if outcome.x is not None:
            self.take(np.rint(outcome.x).astype(np.int64), "walk over pairs of layers")


@dataclass(frozen=True, eq=False)
class _Side:
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
class _Road:
    """All a walk needs: cell k has the steps first[k] to first[k + 1] of ``cost``, cheap first, and starts with ``steps[k]`` of them taken.

    ``guide`` are the reduced costs: every circulation costs the same in them, but few single steps pay, so it is found sooner.
    """

    sides: tuple[_Side, ...]
    first: Ints
    cost: Ints
    guide: Floats
    steps: Ints
    target: int
    seed: int


def _layers(model: RoundingModel, part: Ints) -> list[Ints] | None:
    """For each dimension the code of every column, where the table has dimensions."""
    labels = model.instance.labels
    if len(labels.dims) < 2:
        return None
    return [index[model.columns.cell[part]] for index in labels.index]


def _sides(model: RoundingModel, part: Ints, question: LinearModel) -> list[_Side]:
    """The dimensions along which pairs of layers are networks; none when the table is not made of dimensions, or has other rows."""
    labels, relations = model.instance.labels, model.instance.relations
    plain = model.one_step and bool(np.all(question.row_lower == question.row_upper)) and int(question.upper.max()) == 1
    if len(labels.dims) < 2 or not plain or not relations.equations or int(np.diff(relations.indptr).min()) < 1:
        return []
    index = np.stack(labels.index)
    entries = index[:, relations.indices]
    varies = np.stack(
        [
            np.maximum.reduceat(each, relations.indptr[:-1]) > np.minimum.reduceat(each, relations.indptr[:-1])
            for each in entries
        ]
    )
    if np.any(varies.sum(axis=0) != 1):
        return []
    number = np.full(relations.cells, -1, np.int64)
    mine = np.unique(model.columns.cell[part])
    number[mine] = np.arange(len(mine))
    sides = (_side(relations, index, varies[d], d, len(labels.codes[d]), number) for d in range(len(index)))
    return [side for side in sides if side is not None]


def _side(relations: Relations, index: Ints, along: Bools, d: int, codes: int, number: Ints) -> _Side | None:
    """One dimension, or None where its layers are no networks or no two of its codes stand in the same equations."""
    _, position = np.unique(np.delete(index, d, axis=0), axis=1, return_inverse=True)
    position, code = position.ravel().astype(np.int64), index[d]
    positions = int(position.max()) + 1
    mark = np.random.default_rng(20100915).integers(1, 2**62, max(positions, codes))
    layer = code[relations.indices[relations.indptr[:-1]]]
    seen = relations.sums(relations.coefs * mark[position[relations.indices]])
    print_ = np.stack((layer[~along], seen[~along]))
    known, one = np.unique(print_[1], return_index=True)
    pairs = np.unique(print_, axis=1)
    whole = np.bincount(pairs[0], minlength=codes) == len(known)
    whole &= np.bincount(code, minlength=codes) == positions
    taken = relations.take(np.flatnonzero(~along)[one])
    flat = Relations.from_entries(
        positions, taken.equations, taken.row, position[taken.indices], taken.coefs, np.zeros(taken.equations, np.int64)
    )
    network = flat.network
    if network is None:
        return None
    # Codes are alike when each equation along the dimension has both of them, up to one sign.
    alike = np.zeros(codes, np.int64)
    rule = relations.sums(relations.coefs * mark[code[relations.indices]])
    rules, at = np.unique(rule[along], return_index=True)
    weight = np.random.default_rng(20100916).integers(1, 2**62, len(rules))
    for k, equation in enumerate(np.flatnonzero(along)[at].tolist()):
        entry = slice(int(relations.indptr[equation]), int(relations.indptr[equation + 1]))
        np.add.at(alike, code[relations.indices[entry]], relations.coefs[entry] * weight[k])
    sign = np.where(alike < -alike, -1, 1)
    group = np.unique(np.where(whole, alike * sign, 0), return_inverse=True)[1].astype(np.int64)
    group[~whole] = codes + np.flatnonzero(~whole)
    if not len(rules) or int(np.bincount(group).max()) < 2:
        return None
    cell = np.full((codes, positions), -1, np.int64)
    cell[code, position] = number
    cell[:, network.tail < 0] = -1
    return _Side(cell, group, sign, np.maximum(network.tail, 0), np.maximum(network.head, 0), network.nodes)


# ---- in the worker -------------------------------------------------------------------------------------------------------------------------


def _walk(road: _Road, *, time_limit_s: float | None, asked_at: float) -> Outcome:
    """Walk, and give back the best rounding met."""
    from ortools.graph.python import min_cost_flow

    ended = False

    def stop() -> None:
        nonlocal ended
        ended = True

    rng = np.random.default_rng(road.seed)
    last = np.concatenate((road.first[1:], [len(road.cost)])) - road.first
    steps, value = road.steps.copy(), _value(road, road.steps)
    best, least = steps.copy(), value
    mean = max(float(np.abs(road.cost).mean()), 1e-9)
    # A last cell that can never move stands for positions without one.
    top = np.concatenate((last, [0]))
    cost = np.stack((np.concatenate((road.cost, [0])), np.concatenate((road.guide, [0.0])) / mean))
    first = np.concatenate((road.first, [len(road.cost)]))
    steps = np.concatenate((steps, [0]))
    sweep = sum(side.cell.size for side in road.sides)
    sweeps = max(math.ceil(WALK_POSITIONS / sweep), 20)
    done = 0
    with worker.stopping(stop):
        while not ended and least > road.target:
            progress = done / sweeps
            if time_limit_s is not None:
                progress = max(progress, (monotonic() - asked_at) / time_limit_s)
            if progress >= 1:
                break
            noise = HOT * (COLD / HOT) ** progress
            for k in rng.permutation(len(road.sides)).tolist():
                side = road.sides[k]
                for one, two in _pairs(side, rng):
                    if ended or (time_limit_s is not None and monotonic() - asked_at > time_limit_s):
                        break
                    value += _circulate(min_cost_flow, side, one, two, steps, top, first, cost, noise, rng)
                    if value < least:
                        best, least = steps[:-1].copy(), value
            done += 1
    x = np.arange(len(road.cost)) - np.repeat(road.first, last) < np.repeat(best, last)
    return Outcome(
        status="feasible", x=x.astype(np.float64), objective=float(least), solver="walk", seconds=monotonic() - asked_at
    )


def _value(road: _Road, steps: Ints) -> int:
    """The cost of so many steps of each cell."""
    total = np.concatenate(([0], np.cumsum(road.cost)))
    return int((total[road.first + steps] - total[road.first]).sum())


def _pairs(side: _Side, rng: np.random.Generator) -> list[tuple[Ints, Ints]]:
    """All codes of a dimension in random pairs within their groups, in batches."""
    order = rng.permutation(len(side.group))
    order = order[np.argsort(side.group[order], kind="stable")]
    group = side.group[order]
    start = np.searchsorted(group, group)
    odd = (np.arange(len(group)) - start) % 2 == 1
    two = np.flatnonzero(odd)
    two = rng.permutation(two)
    batch = max(BATCH // side.cell.shape[1], 1)
    return [(order[two[k : k + batch] - 1], order[two[k : k + batch]]) for k in range(0, len(two), batch)]


def _circulate(
    flow: object,
    side: _Side,
    one: Ints,
    two: Ints,
    steps: Ints,
    top: Ints,
    first: Ints,
    cost: Floats,
    noise: float,
    rng: np.random.Generator,
) -> int:
    """Move the layers ``one`` against ``two`` as is best under noise; what that costs."""
    a, b = side.cell[one].ravel(), side.cell[two].ravel()
    against = np.repeat(side.sign[one] * side.sign[two] > 0, side.cell.shape[1])
    ta, tb = steps[a], steps[b]
    a_up, a_down = ta < top[a], ta > 0
    b_up, b_down = tb < top[b], tb > 0
    up = a_up & np.where(against, b_down, b_up)
    down = a_down & np.where(against, b_up, b_down)
    # The positions that can move, once for each way.
    at = np.concatenate((np.flatnonzero(up), np.flatnonzero(down)))
    way = np.ones(len(at), np.int64)
    way[int(up.sum()) :] = -1
    other = np.where(against[at], -way, way)
    price = _price(cost[1], first[a[at]] + ta[at], way) + _price(cost[1], first[b[at]] + tb[at], other)
    z = rng.random(len(at))
    dear = np.rint(np.clip(_FINE * (price + noise * np.log(z / (1 - z))), -1e9, 1e9)).astype(np.int64)
    # Standing still costs what all the arcs that pay together bring, so no dearer arc is ever used.
    pair = at // side.cell.shape[1]
    most = np.bincount(pair, np.maximum(-dear, 0), minlength=len(one))
    use = dear < most[pair]
    at, way, dear, pair = at[use], way[use], dear[use], pair[use]
    if not len(at):
        return 0
    position = at - pair * side.cell.shape[1]
    tail, head = side.tail[position] + pair * side.nodes, side.head[position] + pair * side.nodes
    # Arcs that pay are taken at once, and offered backwards.
    taken = dear < 0
    forward = (way > 0) != taken
    start, stop = np.where(forward, tail, head), np.where(forward, head, tail)
    nodes = len(one) * side.nodes
    supply = np.bincount(start[taken], minlength=nodes) - np.bincount(stop[taken], minlength=nodes)
    problem = flow.SimpleMinCostFlow()  # type: ignore[attr-defined]
    arcs = problem.add_arcs_with_capacity_and_unit_cost(
        start.astype(np.int32), stop.astype(np.int32), np.ones(len(at), np.int64), np.abs(dear)
    )
    problem.set_nodes_supplies(np.arange(nodes, dtype=np.int32), supply)
    if problem.solve() != problem.OPTIMAL:
        raise SolverError(
            f"OR-tools' minimum-cost flow found no circulation on {nodes} nodes, where standing still is one."
        )
    moved = np.flatnonzero((problem.flows(arcs) > 0) != taken)
    if not len(moved):
        return 0
    # Up and down at one position is no move; its two prices are not those of the steps after one another, so it is not made.
    net = np.bincount(at[moved], way[moved], minlength=len(a)).astype(np.int64)
    where = np.flatnonzero(net)
    way, other = net[where], np.where(against[where], -net[where], net[where])
    spent = _price(cost[0], first[a[where]] + ta[where], way) + _price(cost[0], first[b[where]] + tb[where], other)
    steps[a[where]] += way
    steps[b[where]] += other
    return round(float(spent.sum()))


def _price(cost: Floats, place: Ints, way: Ints) -> Floats:
    """What the next step up, or the last one down, costs."""
    return np.where(way > 0, cost[np.minimum(place, len(cost) - 1)], -cost[place - 1])
