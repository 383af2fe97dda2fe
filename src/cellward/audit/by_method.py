"""By method: what is left to an attacker who knows the method of a rounding too: the tables of which the release is a least rounding.

Legend: v published values, β bases, y a table that the attacker cannot rule out, E the moves e = y − v with M·e = 0 and |e| < β, D the moves
d = v′ − v between two roundings of one table: M·d = 0 and every d_i one of −β_i, 0, β_i (both are less than β_i from y_i). Blocks that share no free
cell are independent: their costs add up, their regions multiply, so each is tried by itself, all of its tables or none.
"""

from __future__ import annotations

from collections.abc import Mapping, Sequence
from dataclasses import dataclass
from functools import cached_property
from typing import Any

import numpy as np

from cellward.exact import NO_BOUND, Bools, Ints
from cellward.instance import Instance
from cellward.publication.knowledge import Knowledge
from cellward.risk.attacker import Attacker
from cellward.table.levels import Levels
from cellward.table.relations import Relations

MOST_TABLES = 400_000
"""Tables of a block that are tried at most."""
MOST_PAIRS = 100_000_000
"""Pairs of a table and another rounding of it, at most."""
MOST_CELLS = 60
"""Blocks with more cells are not begun with."""
FARTHEST = 2**40
"""Costs are compared in 64 bits: weights times bases stay below this in a block that is tried."""


@dataclass(frozen=True, eq=False)
class Explained:
    """The least and greatest value of every cell over the tables left, where all tables of its block were ``tried``; why not, in words."""

    low: Ints
    high: Ints
    tried: Bools
    reason: str = ""


def explained(
    instance: Instance,
    knowledge: Knowledge,
    method: Mapping[str, Any],
    status: str,
    attacker: Attacker,
    cells: Ints,
    most: int = MOST_TABLES,
) -> Explained:
    """What one attacker who knows the method is left with, in the blocks of some cells."""
    low, high, tried = knowledge.lo.copy(), knowledge.hi.copy(), np.zeros(instance.cells, bool)
    if reason := unknown(instance, knowledge, method, status):
        return Explained(low, high, tried, reason)
    base = np.broadcast_to(np.asarray(knowledge.stated["base"], np.int64), (instance.cells,))
    moving = base > 0
    tried[~moving] = True  # published as they are
    block = np.where(moving, instance.relations.blocks(moving), -1)
    order = np.argsort(block, kind="stable")
    ordered = block[order]
    for one in np.unique(block[cells[moving[cells]]]).tolist():
        mine = order[slice(*np.searchsorted(ordered, (one, one + 1)).tolist())]
        left = Block(instance, knowledge, method, base, mine).left(attacker, most)
        if left is None:
            continue
        low[mine], high[mine], tried[mine] = left.min(axis=0), left.max(axis=0), True
    return Explained(low, high, tried, "" if tried[cells].all() else "its block has more tables than can be tried")


def unknown(instance: Instance, knowledge: Knowledge, method: Mapping[str, Any], status: str) -> str:
    """Why nothing can be said of who knows the method, whatever the size; empty where it can."""
    if knowledge.rule != "rounded" or knowledge.stated.get("kind") != "strict":
        return "only roundings under strict knowledge are tried"
    if method.get("steps", 1) != 1 or method.get("only") or method.get("small_counts") == "only":
        return "only roundings of all cells to neighbouring multiples are tried"
    if method.get("unbiased"):
        return "which roundings an unbiased one can lead to is not known"
    if instance.sensitivity.sums:
        return "sums of cells are at risk too"
    if not method.get("keyed") and status != "optimal":
        return "the rounding is not the least one, which nobody can know"
    return ""


@dataclass(frozen=True, eq=False)
class Block:
    """Some cells that share free cells with no others, in their own numbering."""

    instance: Instance
    knowledge: Knowledge
    method: Mapping[str, Any]
    base_of_all: Ints
    cells: Ints

    @cached_property
    def relations(self) -> Relations:
        """M·z = 0 on the block."""
        return self.instance.relations.moves(self.cells)

    @cached_property
    def base(self) -> Ints:
        """β."""
        return np.asarray(self.base_of_all[self.cells])

    @cached_property
    def v(self) -> Ints:
        """The published values."""
        assert self.knowledge.v is not None
        return np.asarray(self.knowledge.v[self.cells])

    @cached_property
    def weight(self) -> Ints:
        """w."""
        return self.instance.weight[self.cells]

    def left(self, attacker: Attacker, most: int) -> Ints | None:
        """The tables that the attacker cannot rule out, one a row; None: too many to try, or the release is none that the method gives."""
        if len(self.cells) > MOST_CELLS or int((self.weight * self.base).sum()) > FARTHEST:
            return None
        moves = tables(self.relations, 1 - self.base, self.base - 1, np.ones_like(self.base), most)
        if moves is None:
            return None
        y = self._inside(self.v + moves, attacker)
        others = (
            tables(self.relations, -self.base, self.base, self.base, min(most, MOST_PAIRS // max(len(y), 1)))
            if not self.method.get("keyed")
            else np.zeros((0, len(self.cells)), np.int64)  # a keyed rounding can be any
        )
        if others is None:
            return None
        keeps = _Keeps(self, moves)
        kept = y[self._possible(y, others, keeps, told=attacker.levels_told)]
        truth = self.instance.a[self.cells]
        return kept if len(kept) and bool((kept == truth).all(axis=1).any()) else None

    def _possible(self, y: Ints, others: Ints, keeps: _Keeps, *, told: bool) -> Bools:
        """Which y the release is a least rounding of, among all or among those that keep the levels; ``told``: the latter only.

        v + d is a rounding of y too where y lies beyond v on the side of every d_i that is not 0; it then costs w_i·(β_i − 2·|y_i − v_i|) more there.
        """
        rounded = self._small_as_stated(self.v, y)
        nearest = rounded & (not told)
        protected = rounded & keeps.levels(self.v, y)
        binding: list[tuple[Ints, Ints]] = []
        bit, e = 1 << np.arange(len(self.cells)), y - self.v
        beyond, below = (e > 0) @ bit, (e < 0) @ bit
        more = self.weight * (self.base - 2 * np.abs(e))
        for d in others:
            other, up, down = self.v + d, int((d > 0) @ bit), int((d < 0) @ bit)
            if not d.any() or self._outside(other):
                continue
            better = np.flatnonzero(((beyond & up) == up) & ((below & down) == down) & (nearest | protected))
            better = better[more[better] @ (d != 0) < 0]
            better = better[self._small_as_stated(other, y[better])]
            nearest[better] = False
            if len(better := better[protected[better]]):
                binding.append((other, better))
        protected &= ~nearest  # the others are left anyway
        for other, better in binding:
            if len(better := better[protected[better]]):
                protected[better[keeps.levels(other, y[better])]] = False
        return np.asarray(nearest | protected)

    def _small_as_stated(self, v: Ints, y: Ints) -> Bools:
        """Whether v treats small counts of each y as the method says."""
        small = self.method.get("small_counts", "free")
        if small == "free":
            return np.ones(len(y), bool)
        count = (y > 0) & (y < self.base) & (self.instance.lower[self.cells] >= 0)
        return np.asarray(np.all(~count | ((v > 0) if small == "up" else (v == 0)), axis=1))

    def _outside(self, v: Ints) -> bool:
        i = self.instance
        return bool(np.any(v < i.lower[self.cells]) or np.any(v > i.upper[self.cells]))

    def _inside(self, y: Ints, attacker: Attacker, *, known: bool = True) -> Ints:
        """Tables within the public bounds and those of an attacker; without ``known``, but for the cells whose value it knows."""
        i = self.instance
        lo, hi = attacker.narrow(i.lower, i.upper)
        lo, hi = lo[self.cells], hi[self.cells]
        if not known:
            mine = np.isin(self.cells, attacker.known)
            lo, hi = np.where(mine, -NO_BOUND, lo), np.where(mine, NO_BOUND, hi)
        return np.asarray(y[np.all((y >= lo) & (y <= hi), axis=1)])


@dataclass(frozen=True, eq=False)
class _Keeps:
    """Whether roundings keep the levels of all attackers the method was given, whatever the true table; ``moves``: E."""

    block: Block
    moves: Ints

    def levels(self, v: Ints, y: Ints) -> Bools:
        """For each y, whether v keeps its levels, which are taken as amounts; nobody is further off below than there is room."""
        b, out = self.block, np.ones(len(y), bool)
        floor = b.instance.lower[b.cells]
        for attacker, levels, p in self._asked:
            low, high = self._ends(v, y, attacker, p)
            below = np.minimum(levels.lpl, y[:, p] - floor[p])
            met = (high - y[:, p] >= levels.upl) & (y[:, p] - low >= below) & (high - low >= levels.spl)
            out &= met.all(axis=1)
        return out

    @cached_property
    def _asked(self) -> list[tuple[Attacker, Levels, Ints]]:
        """The attackers that ask for levels in the block, these, and where their cells stand in it."""
        b, out = self.block, []
        for attacker in b.instance.attackers:
            levels = attacker.asked(b.instance.sensitivity.levels)
            levels = levels.take(np.isin(levels.cell, b.cells))
            if len(levels):
                out.append((attacker, levels, np.searchsorted(b.cells, levels.cell)))
        return out

    @cached_property
    def _farthest(self) -> tuple[Ints, Ints]:
        """The ends of every cell's moves, where no bound is in the way."""
        return self.moves.min(axis=0), self.moves.max(axis=0)

    def _ends(self, v: Ints, y: Ints, attacker: Attacker, p: Ints) -> tuple[Ints, Ints]:
        """Ends of the cells p in the region of an attacker when v is published; of those it knows, it knows what y says."""
        b = self.block
        known = np.flatnonzero(np.isin(b.cells, attacker.known))
        least, most = (v + end for end in self._farthest)
        lo, hi = (bounds[b.cells] for bounds in attacker.narrow(b.instance.lower, b.instance.upper))
        bound = bool(np.any(least < lo) or np.any(most > hi))
        region = b._inside(v + self.moves, attacker, known=False) if bound or len(known) else np.stack((least, most))
        if not len(known):
            ends = (region[:, p].min(axis=0, initial=NO_BOUND // 4), region[:, p].max(axis=0, initial=-NO_BOUND // 4))
            low, high = (np.broadcast_to(end, (len(y), len(p))) for end in ends)
            return low, high
        keys = np.concatenate((region[:, known], y[:, known]))
        group = np.unique(keys, axis=0, return_inverse=True)[1].ravel()
        many = int(group.max(initial=0)) + 1
        low, high = np.full((many, len(p)), NO_BOUND // 4), np.full((many, len(p)), -NO_BOUND // 4)
        np.minimum.at(low, group[: len(region)], region[:, p])
        np.maximum.at(high, group[: len(region)], region[:, p])
        return low[group[len(region) :]], high[group[len(region) :]]


def tables(relations: Relations, lo: Ints, hi: Ints, step: Ints, most: int) -> Ints | None:
    """All z with M·z = 0, lo ≤ z ≤ hi and z_i a multiple of step_i, one a row; None: more than ``most`` on the way.

    Leaf by leaf; a cell follows as soon as all that define it are there, and cuts off what leaves its bounds.
    """
    structure, z = relations.structure, np.zeros((1, relations.cells), np.int64)
    there = np.zeros(relations.cells, bool)
    waiting = np.flatnonzero(structure.definition >= 0)
    waiting = waiting[np.argsort(structure.level[waiting], kind="stable")].tolist()
    for leaf in _near_each_other(relations, structure.leaves):
        values = np.arange(-(-int(lo[leaf]) // int(step[leaf])) * int(step[leaf]), int(hi[leaf]) + 1, int(step[leaf]))
        if len(z) * len(values) > most:
            return None
        z = np.repeat(z, len(values), axis=0)
        z[:, leaf] = np.tile(values, len(z) // max(len(values), 1))
        there[leaf] = True
        for cell in list(waiting):
            _, members, coefs = relations.equation(int(structure.definition[cell]))
            others = [(i, c) for i, c in zip(members, coefs, strict=True) if i != cell]
            if all(there[i] for i, _ in others):
                sign = next(c for i, c in zip(members, coefs, strict=True) if i == cell)
                z[:, cell] = -sign * sum((c * z[:, i] for i, c in others), np.zeros(len(z), np.int64))
                z = z[(z[:, cell] >= lo[cell]) & (z[:, cell] <= hi[cell]) & (z[:, cell] % step[cell] == 0)]
                there[cell] = True
                waiting.remove(cell)
    residual = (
        [relations.sums(relations.coefs * row[relations.indices]).any() for row in z] if _loose(relations) else []
    )
    return z[~np.array(residual, bool)] if residual else z


def _loose(relations: Relations) -> bool:
    """Whether equations are left that define no cell."""
    return bool(len(relations.structure.remaining))


def _near_each_other(relations: Relations, leaves: Ints) -> Sequence[int]:
    """The leaves, those of one short equation after each other, so that sums cut early."""
    first = np.full(relations.cells, relations.equations, np.int64)
    by_length = np.argsort(np.diff(relations.indptr), kind="stable")
    for place, j in enumerate(by_length.tolist()):
        mine = relations.indices[relations.indptr[j] : relations.indptr[j + 1]]
        first[mine] = np.minimum(first[mine], place)
    order: list[int] = leaves[np.argsort(first[leaves], kind="stable")].tolist()
    return order
