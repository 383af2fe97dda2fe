"""The beginning: the shadow before the first request: a twin, in which what is left of a cell without a part of it is also off its true value.

A table with totals tells what is left of a total where one of its cells is taken off. Where few respondents are left, such *rests* are at risk, and
what is published by then may stand in the way of moving them. Moving the twin beforehand leaves fewer tables to refuse. It is no promise, since
requests make other differences too: these are found when they are asked for.
"""

from __future__ import annotations

from itertools import product
from operator import gt
from typing import Any

import numpy as np
from scipy import sparse

from cellward.exact import Ints
from cellward.server.vault.records import Records
from cellward.server.vault.twin.build import LEAST, NEAR, REACH, SPREAD
from cellward.server.vault.twostage.atoms import Atoms
from cellward.server.vault.twostage.sets import Sets
from cellward.solve.budget import Budget
from cellward.solve.sum_moves import SumMoves
from cellward.table.relations import ranges

FEW_RECORDS = 6
"""Rests of at most so many records are looked for."""
ROUNDS, DEAR, DEARER_LATTICE = 400, 1e5, 1e3


def begun(value: Ints, true: Ints, lattice: Sets, rests: Sets, seed: int) -> Ints:
    """The values of a twin, moved so that rests at risk are off by their levels as far as is found, and the lattice is as it was asked to be."""
    sums = sparse.vstack([lattice.sums, rests.sums], format="csr")
    up, down, cells, rows = (
        np.concatenate((getattr(lattice, name), getattr(rests, name))) for name in ("up", "down", "value", "rows")
    )
    scale = np.maximum(np.maximum(NEAR * np.abs(cells) * np.maximum(rows, 1.0) ** -SPREAD, 2.0 * up), LEAST)
    level = np.zeros(len(value), np.int64)
    alone = np.flatnonzero(np.diff(sums.indptr) == 1)
    np.maximum.at(level, sums.indices[sums.indptr[alone]], up[alone])
    high = np.maximum(np.ceil(REACH * level).astype(np.int64), np.maximum(true, 3))
    moves = SumMoves(sums, up, down, scale, -true, np.maximum(high, value - true))
    budget = Budget(seed=seed)
    z, off = moves.run(value - true, np.zeros(len(cells), np.int64), DEAR, budget, sweeps=0, rounds=ROUNDS)
    if moves.lacking(off)[: len(lattice.value)].any():
        kept = SumMoves(lattice.sums, lattice.up, lattice.down, scale[: len(lattice.value)], moves.low, moves.high)
        z, _ = kept.run(
            z, np.zeros(len(lattice.value), np.int64), DEAR * DEARER_LATTICE, budget, sweeps=0, rounds=ROUNDS
        )
    return np.asarray(true + z)


def rests_of(records: Records, atoms: Atoms) -> tuple[Ints, Ints, int]:
    """Sets of few records that are left of a cell of the lattice without another one within it: pairs of number and atom, and how many."""
    dims, depth = records.dimensions, records.config.depth
    codes = [[own.above(level)[atoms.code[k]] for level in range(own.deepest + 1)] for k, own in enumerate(dims)]
    many = np.diff(atoms.first)
    weight = np.random.default_rng(0).integers(1, 1 << 62, atoms.many)
    number, atom, count, seen = [np.zeros(0, np.int64)], [np.zeros(0, np.int64)], 0, np.zeros(0, np.int64)
    every = list(product(*(range(own.deepest + 1) for own in dims)))
    group = {levels: _grouped([codes[k][level] for k, level in enumerate(levels)]) for levels in every}
    for levels, deeper in product(every, every):
        if levels == deeper or any(map(gt, levels, deeper)) or sum(map(bool, levels)) > depth:
            continue
        own, of = _left(group[levels], group[deeper], many)
        name = np.zeros(int(own.max(initial=-1)) + 1, np.int64)
        np.add.at(name, own, weight[of])
        first = np.zeros(len(name), bool)
        first[np.unique(name, return_index=True)[1]] = True
        first &= ~np.isin(name, seen)
        seen = np.union1d(seen, name)
        number.append((np.cumsum(first) - 1)[own[first[own]]] + count)
        atom.append(of[first[own]])
        count += int(first.sum())
    return np.concatenate(number), np.concatenate(atom), count


def _grouped(columns: list[Any]) -> Ints:
    """The number of each combination."""
    out = np.zeros(len(columns[0]), np.int64)
    for own in columns:
        out = np.unique(out * (int(own.max()) + 1) + own, return_inverse=True)[1]
    return np.asarray(out, np.int64)


def _left(above: Ints, below: Ints, many: Ints) -> tuple[Ints, Ints]:
    """What is left of each group above without one of the groups below it, where that is of several of these and of few records."""
    of = np.zeros(int(below.max()) + 1, np.int64)
    of[below] = above
    rows, all_rows = np.bincount(below, many), np.bincount(above, many)
    parts = np.bincount(of)
    left = all_rows[of] - rows
    chosen = np.flatnonzero((left > 0) & (left <= FEW_RECORDS) & (parts[of] > 2))
    small = np.flatnonzero(rows[below] <= FEW_RECORDS)
    small = small[np.argsort(above[small], kind="stable")]
    first = np.searchsorted(above[small], of[chosen])
    last = np.searchsorted(above[small], of[chosen], side="right")
    number, atom = np.repeat(np.arange(len(chosen)), last - first), small[ranges(first, last)]
    own = below[atom] != chosen[number]
    return np.unique(number[own], return_inverse=True)[1], atom[own]
