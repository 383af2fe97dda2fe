"""Neighbourhoods: columns of a large table that are decided anew together, the others kept.

A table with dimensions is cut along its codes: *families* (some children of a code with all below them, the code itself and those above it, so that
sums may change as well) and *codes* drawn at random. Where all columns of a code are too many, a second dimension is cut too. Without dimensions,
the *surroundings* of a column: those that share rows with it, and with those, and so on.
"""

from __future__ import annotations

from dataclasses import dataclass
from functools import cached_property

import numpy as np

from cellward.exact import Bools, Ints
from cellward.protect.lattice.model import LatticeModel
from cellward.solve.model import LinearModel
from cellward.table.relations import Relations, ranges

TOO_MANY = 1.5
"""A cut that leaves more than so many times the size asked for is followed by one along another dimension."""


@dataclass(frozen=True, eq=False)
class Tree:
    """The codes of one dimension: the code of every column, and for every code the one above it (−1: none)."""

    code: Ints
    above: Ints

    @cached_property
    def chains(self) -> list[Ints]:
        """For every code itself and those above it, from below."""
        out = []
        for code in range(len(self.above)):
            chain = [code]
            while (up := int(self.above[chain[-1]])) >= 0 and up not in chain:
                chain.append(up)
            out.append(np.array(chain, np.int64))
        return out

    @cached_property
    def below(self) -> Bools:
        """below[c, d]: whether d is c, or stands below it."""
        out = np.zeros((len(self.above), len(self.above)), bool)
        for code, chain in enumerate(self.chains):
            out[chain, code] = True
        return out

    @cached_property
    def parents(self) -> Ints:
        """Codes that stand above others."""
        return np.unique(self.above[self.above >= 0])

    def family(self, rng: np.random.Generator, inside: Bools, size: float) -> Bools:
        """Some children of a code, with all below them, until the columns inside are about so many; with the code and all above it."""
        many = np.bincount(self.code[inside], minlength=len(self.above))
        head = int(rng.choice(self.parents))
        chosen = np.zeros(len(self.above), bool)
        chosen[self.chains[head]] = True
        for child in rng.permutation(np.flatnonzero(self.above == head)).tolist():
            chosen |= self.below[child]
            if int(many[chosen].sum()) >= size:
                break
        return inside & chosen[self.code]

    def drawn(self, rng: np.random.Generator, inside: Bools, size: float) -> Bools:
        """Codes at random until the columns inside are about so many."""
        many = np.bincount(self.code[inside], minlength=len(self.above))
        order = rng.permutation(np.flatnonzero(many))
        enough = int(np.searchsorted(np.cumsum(many[order]), size)) + 1
        chosen = np.zeros(len(self.above), bool)
        chosen[order[:enough]] = True
        return inside & chosen[self.code]


def trees_of(model: LatticeModel, part: Ints) -> list[Tree]:
    """The dimensions with more than two codes, each with what stands above each code; empty where the table has no dimensions."""
    labels, relations = model.instance.labels, model.instance.relations
    out = []
    for index, codes in zip(labels.index, labels.codes, strict=True):
        if len(codes) > 2:
            out.append(Tree(index[model.columns.cell[part]], _above(relations, index, len(codes))))
    return out


def _above(relations: Relations, index: Ints, codes: int) -> Ints:
    """For every code of a dimension the code of the sum that it goes into, read off the equations along this dimension."""
    above = np.full(codes, -1, np.int64)
    filled = np.flatnonzero(np.diff(relations.indptr))
    if not len(filled):
        return above
    begin = relations.indptr[filled]
    code, height = index[relations.indices], relations.height[relations.indices]
    highest = np.maximum.reduceat(height, begin)
    varies = np.maximum.reduceat(code, begin) > np.minimum.reduceat(code, begin)
    many = np.diff(relations.indptr)[filled]
    at_top = height == np.repeat(highest, many)
    one_top = np.add.reduceat(at_top.astype(np.int64), begin) == 1
    top = np.zeros(len(filled), np.int64)
    top[np.repeat(np.arange(len(filled)), many)[at_top]] = code[at_top]
    entry = np.repeat(varies & one_top, many) & ~at_top
    above[code[entry]] = np.repeat(top, many)[entry]
    return np.where(above == np.arange(codes), -1, above)


class Neighbourhoods:
    """Sets of columns of one question, drawn by kind and size."""

    def __init__(self, model: LatticeModel, part: Ints, question: LinearModel, rng: np.random.Generator) -> None:
        self.question, self.rng, self.trees = question, rng, trees_of(model, part)
        self.row = np.repeat(np.arange(question.rows, dtype=np.int64), np.diff(question.indptr))
        self.by_column = np.argsort(question.indices, kind="stable")
        many = np.bincount(question.indices, minlength=question.columns)
        self.pointer = np.concatenate(([0], np.cumsum(many))).astype(np.int64)

    @property
    def kinds(self) -> list[tuple[str, int]]:
        """The kinds there are, each with the dimension it is cut along first."""
        families = [("family", d) for d, tree in enumerate(self.trees) if len(tree.parents)]
        codes = [("codes", d) for d in range(len(self.trees))]
        return [*families, *codes] or [("surroundings", -1)]

    def draw(self, kind: tuple[str, int], size: float, inside: Bools) -> Ints:
        """Columns of this kind, about so many, among those inside."""
        word, first = kind
        if word == "surroundings":
            return self.around(self.rng.choice(np.flatnonzero(inside), 1), int(size), inside)
        others = [d for d in range(len(self.trees)) if d != first]
        for d in (first, *self.rng.permutation(others).tolist()):
            tree = self.trees[d]
            cut = tree.family if word == "family" and len(tree.parents) else tree.drawn
            inside = cut(self.rng, inside, size)
            if np.count_nonzero(inside) <= TOO_MANY * size:
                break
        return np.flatnonzero(inside)

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
