"""Layers: the codes of a table's dimensions, and the dimensions along which pairs of layers are networks, which walks move against each other."""

from __future__ import annotations

import numpy as np

from cellward.exact import Bools, Ints
from cellward.protect.lattice.model import LatticeModel
from cellward.protect.lattice.stretch import Side
from cellward.solve.model import LinearModel
from cellward.table.relations import Relations


def codes_of(model: LatticeModel, part: Ints) -> list[Ints] | None:
    """For each dimension the code of every column, where the table has dimensions."""
    labels = model.instance.labels
    if len(labels.dims) < 2:
        return None
    return [index[model.columns.cell[part]] for index in labels.index]


def sides_of(model: LatticeModel, part: Ints, question: LinearModel) -> list[Side]:
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


def _position(index: Ints) -> Ints:
    """Equal numbers, from 0 on, for cells with equal codes."""
    out = np.zeros(index.shape[1], np.int64)
    for each in index:
        out = np.unique(out * (int(each.max(initial=0)) + 1) + each, return_inverse=True)[1].ravel().astype(np.int64)
    return out


def _side(relations: Relations, index: Ints, along: Bools, d: int, codes: int, number: Ints) -> Side | None:
    """One dimension, or None where its layers are no networks or no two of its codes stand in the same equations."""
    position, code = _position(np.delete(index, d, axis=0)), index[d]
    positions = int(position.max()) + 1
    full = np.bincount(code, minlength=codes) == positions
    if np.count_nonzero(full) < 2:
        return None  # in sparse tables no two codes have all the cells
    mark = np.random.default_rng(20100915).integers(1, 2**62, max(positions, codes))
    layer = code[relations.indices[relations.indptr[:-1]]]
    seen = relations.sums(relations.coefs * mark[position[relations.indices]])
    print_ = np.stack((layer[~along], seen[~along]))
    known, one = np.unique(print_[1], return_index=True)
    pairs = np.unique(print_, axis=1)
    whole = np.bincount(pairs[0], minlength=codes) == len(known)
    whole &= full
    if np.count_nonzero(whole) < 2:
        return None  # before the network is looked for, which takes seconds in large tables
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
    return Side(cell, group, sign, np.maximum(network.tail, 0), np.maximum(network.head, 0), network.nodes)
